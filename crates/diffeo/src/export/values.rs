//! Interfaces of functions for C: parameters and results by name, and the values that they consist of.

use diffeo_base::Name;
use diffeo_calculus::outside::{Asked, By};
use diffeo_calculus::term::{Binder, Term, TermKind};
use diffeo_calculus::ty::WellKnown;
use diffeo_calculus::Ty;
use diffeo_codegen::c::library::ValueNames;
use diffeo_front::interface::Type;
use diffeo_front::Entry;
use std::sync::Arc;

/// A parameter or a result.
#[derive(Clone)]
pub struct ExportedValue {
    /// Its name.
    pub name: String,
    /// Its type, with the sizes of arrays as the program calls them.
    pub ty: Type,
}

/// The parameters and results of a function.
#[derive(Clone)]
pub struct Sides {
    pub takes: Vec<ExportedValue>,
    pub gives: Vec<ExportedValue>,
    /// For each parameter of the program, how many of the parameters here it is: a record that the program takes apart is
    /// a parameter for each field.
    pub counts: Vec<usize>,
}

impl Sides {
    /// The parameters and results of a function.
    pub fn new(entry: &Entry) -> Sides {
        let interface = &entry.interface;
        let (from, to) = match &interface.ty {
            Type::Function(sides) => (Some(&sides.0), &sides.1),
            ty => (None, ty),
        };
        let part = |name: String, ty: &Type| ExportedValue { name, ty: ty.clone() };
        let names = match &entry.ty {
            Ty::Fun(sides) if interface.parameters.is_empty() => bound(entry, &sides.0),
            _ => interface.parameters.clone(),
        };
        let types: &[Type] = match from {
            None => &[],
            Some(Type::Tuple(parts)) if names.len() == parts.len() => parts,
            Some(ty) => std::slice::from_ref(ty),
        };
        let mut takes = Vec::new();
        let mut counts = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            let before = takes.len();
            let name = names.get(i).filter(|_| names.len() == types.len()).and_then(Option::as_ref);
            match (name, ty) {
                (Some(name), ty) => takes.push(part(name.to_string(), ty)),
                (None, Type::Record(fields)) => {
                    fields.iter().for_each(|(name, ty)| takes.push(part(name.to_string(), ty)));
                }
                (None, ty) if types.len() == 1 => takes.push(part("x".to_string(), ty)),
                (None, ty) => takes.push(part(format!("x{i}"), ty)),
            }
            counts.push(takes.len() - before);
        }
        Sides { takes, gives: vec![part("result".into(), to)], counts }
    }

    /// Those of a derivative.
    pub fn derivative(&self, what: Asked) -> Sides {
        let Sides { takes, gives, counts } = self.clone();
        let bars = ending(&takes, "bar");
        match what {
            Asked::Gradient => Sides { takes, gives: [gives, bars].concat(), counts },
            Asked::Gradients => {
                let each = |part: ExportedValue| ExportedValue { ty: Type::array(part.ty), ..part };
                let bars = bars.into_iter().map(each).collect();
                Sides { takes, gives: [gives, bars].concat(), counts }
            }
            Asked::Pullback => {
                let cotangents = ending(&gives, "bar");
                let counts = [counts, vec![cotangents.len()]].concat();
                let (takes, gives) = ([takes, cotangents].concat(), [gives, bars].concat());
                Sides { takes, gives, counts }
            }
            Asked::Pushforward => {
                let (dots, out) = (ending(&takes, "dot"), ending(&gives, "dot"));
                let counts = [counts.clone(), counts].concat();
                Sides { takes: [takes, dots].concat(), gives: [gives, out].concat(), counts }
            }
            Asked::Jet { .. } => {
                let jet = |part: ExportedValue| ExportedValue { ty: jet(&part.ty), ..part };
                let jets = |parts: Vec<ExportedValue>| parts.into_iter().map(jet).collect();
                Sides { takes: jets(takes), gives: jets(gives), counts }
            }
        }
    }

    /// Those of a derivative by some parameters of the program.
    pub fn derivative_by(&self, what: By, arguments: &[usize]) -> Sides {
        let Sides { takes, gives, counts } = self.clone();
        let mut chosen = Vec::new();
        for i in arguments {
            let before: usize = counts.iter().take(*i).sum();
            let count = counts.get(*i).copied().unwrap_or(0);
            chosen.extend(takes[before..before + count].iter().cloned());
        }
        let bars = ending(&chosen, "bar");
        match what {
            By::Gradient => Sides { takes, gives: bars, counts },
            By::ValueAndGradient => Sides { takes, gives: [gives, bars].concat(), counts },
            By::Vjp => {
                let takes = [takes, ending(&gives, "bar")].concat();
                Sides { takes, gives: [gives, bars].concat(), counts }
            }
            By::Jvp => {
                let out = ending(&gives, "dot");
                let takes = [takes, ending(&chosen, "dot")].concat();
                Sides { takes, gives: [gives, out].concat(), counts }
            }
        }
    }
}

/// The names of the parameters of a function that is no definition with parameters, as `def f = fn (x, y) -> …`.
fn bound(entry: &Entry, from: &Ty) -> Vec<Option<Name>> {
    let body = &entry.program.globals[entry.global.0 as usize].body;
    let TermKind::Lam(binder, body) = &body.kind else { return Vec::new() };
    let written =
        |name: &Name| name.starts_with(|c: char| c.is_ascii_alphabetic()).then(|| name.clone());
    if let (Ty::Tuple(parts), TermKind::Let(bindings, _)) = (from, &body.kind) {
        let part = |(i, (bound, term)): (usize, &(Binder, Term))| match &term.kind {
            TermKind::Proj(_, at, of) if *at == i => match &of.kind {
                TermKind::Var(var) if *var == binder.var => Some(written(&bound.var.name)),
                _ => None,
            },
            _ => None,
        };
        let names: Vec<_> = bindings.iter().take(parts.len()).enumerate().map_while(part).collect();
        if names.len() == parts.len() {
            return names;
        }
    }
    vec![written(&binder.var.name)]
}

fn ending(parts: &[ExportedValue], with: &str) -> Vec<ExportedValue> {
    let named = |part: &ExportedValue| ExportedValue {
        name: format!("{}_{with}", part.name),
        ..part.clone()
    };
    parts.iter().map(named).collect()
}

/// The type of jets: an array of coefficients for each Real.
fn jet(ty: &Type) -> Type {
    match ty {
        Type::Real => Type::array(Type::Real),
        Type::Tuple(parts) => Type::Tuple(parts.iter().map(jet).collect()),
        Type::Record(fields) => Type::Record(Arc::new(
            fields.with_types(fields.iter().map(|(_, ty)| jet(ty)).collect()),
        )),
        Type::Array(size, element) => Type::Array(size.clone(), Arc::new(jet(element))),
        Type::Variant(list, of) if ty.is(WellKnown::List) => {
            Type::Variant(list.clone(), of.iter().map(jet).collect())
        }
        Type::Unit
        | Type::Int
        | Type::Bool
        | Type::String
        | Type::Variant(..)
        | Type::Function(_)
        | Type::Parameter(_) => ty.clone(),
    }
}

/// The values that parameters or results consist of, in the order of Flat.
///
/// # Errors
/// The type that cannot be given or taken.
pub fn values(parts: &[ExportedValue]) -> Result<Vec<ValueNames>, String> {
    let mut leaves = Leaves::default();
    for part in parts {
        leaves.add(vec![part.name.clone()], &part.ty, &mut Vec::new())?;
    }
    Ok(leaves.values)
}

/// True of types with arrays or lists in them.
fn has_rows(ty: &Type) -> bool {
    match ty {
        Type::Array(..) => true,
        Type::Tuple(parts) => parts.iter().any(has_rows),
        Type::Record(fields) => fields.iter().any(|(_, ty)| has_rows(ty)),
        _ => ty.is(WellKnown::List),
    }
}

#[derive(Default)]
struct Leaves {
    values: Vec<ValueNames>,
    /// How many arrays have both the last value and the next one in them.
    shared: usize,
}

impl Leaves {
    /// The values of a type, within arrays of these sizes.
    fn add(&mut self, path: Vec<String>, ty: &Type, sizes: &mut Vec<String>) -> Result<(), String> {
        let rank = sizes.len();
        self.shared = self.shared.min(rank);
        let name = || path.join("_");
        let within = |step: String| {
            let mut path = path.clone();
            path.push(step);
            path
        };
        match ty {
            Type::Unit if rank == 0 => {}
            Type::Real | Type::Int | Type::Bool | Type::Unit | Type::String => {
                self.values.push(ValueNames { path, shared: self.shared, sizes: sizes.clone() });
                self.shared = rank;
            }
            Type::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.add(within(i.to_string()), part, sizes)?;
                }
            }
            Type::Record(fields) => {
                for (field, ty) in fields.iter() {
                    self.add(within(field.to_string()), ty, sizes)?;
                }
            }
            Type::Array(size, element) => {
                sizes.push(size.to_string());
                self.add(path, element, sizes)?;
                sizes.pop();
            }
            // A list is an array for C.
            Type::Variant(_, of) if ty.is(WellKnown::List) => {
                let what = match rank {
                    0 if !has_rows(&of[0]) => {
                        return self.add(path, &Type::array(of[0].clone()), sizes)
                    }
                    0 => "a list of arrays or of lists",
                    _ => "an array of lists",
                };
                return Err(format!("`{}` is {what}, which may differ in length", name()));
            }
            Type::Variant(..) => return Err(format!("`{}` is a variant", name())),
            Type::Function(_) => return Err(format!("`{}` is a function", name())),
            Type::Parameter(_) => return Err(format!("the type of `{}` is not known", name())),
        }
        Ok(())
    }
}
