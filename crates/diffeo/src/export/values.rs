//! What functions for C take and give: parameters and results by name, and the values that they consist of.

use diffeo_base::Name;
use diffeo_calculus::outside::{Asked, By};
use diffeo_calculus::term::{Binder, Term, TermKind};
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::Ty;
use diffeo_codegen::c::library::ValueNames;
use diffeo_front::{Entry, Signature, SizeNames};

/// A parameter or a result.
#[derive(Clone)]
pub struct ExportedValue {
    /// Its name.
    pub name: String,
    pub ty: Ty,
    /// The sizes of each of its values, as the program calls them.
    pub sizes: Vec<SizeNames>,
}

/// What a function takes and gives.
#[derive(Clone)]
pub struct Sides {
    pub takes: Vec<ExportedValue>,
    pub gives: Vec<ExportedValue>,
    /// For each parameter of the program, how many of the parameters here it is: a record that the program takes apart is
    /// a parameter for each field.
    pub counts: Vec<usize>,
}

impl Sides {
    /// What a function takes and gives.
    pub fn new(entry: &Entry, signature: &Signature) -> Sides {
        let (from, to) = match &entry.ty {
            Ty::Fun(sides) => (Some(&sides.0), &sides.1),
            ty => (None, ty),
        };
        let mut sizes = signature.takes.iter().cloned();
        let mut part = |name: String, ty: &Ty| {
            let sizes = sizes.by_ref().take(leaf_count(ty)).collect();
            ExportedValue { name, ty: ty.clone(), sizes }
        };
        let names = match from {
            Some(from) if signature.parameters.is_empty() => bound(entry, from),
            _ => signature.parameters.clone(),
        };
        let types: &[Ty] = match from {
            None => &[],
            Some(Ty::Tuple(parts)) if names.len() == parts.len() => parts,
            Some(ty) => std::slice::from_ref(ty),
        };
        let mut takes = Vec::new();
        let mut counts = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            let before = takes.len();
            let name = names.get(i).filter(|_| names.len() == types.len()).and_then(Option::as_ref);
            match (name, ty) {
                (Some(name), ty) => takes.push(part(name.to_string(), ty)),
                (None, Ty::Record(fields)) => {
                    fields.iter().for_each(|(name, ty)| takes.push(part(name.to_string(), ty)));
                }
                (None, ty) if types.len() == 1 => takes.push(part("x".to_string(), ty)),
                (None, ty) => takes.push(part(format!("x{i}"), ty)),
            }
            counts.push(takes.len() - before);
        }
        let gives =
            ExportedValue { name: "result".into(), ty: to.clone(), sizes: signature.gives.clone() };
        Sides { takes, gives: vec![gives], counts }
    }

    /// Those of a derivative.
    pub fn derivative(&self, what: Asked) -> Sides {
        let Sides { takes, gives, counts } = self.clone();
        let bars = ending(&takes, "bar");
        match what {
            Asked::Gradient => Sides { takes, gives: [gives, bars].concat(), counts },
            Asked::Gradients => {
                let each = |part: ExportedValue| {
                    let sizes = part.sizes.into_iter();
                    let sizes = sizes.map(|s| [vec![String::new()], s].concat()).collect();
                    ExportedValue { ty: Ty::array(part.ty), sizes, ..part }
                };
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
                let jet = |part: ExportedValue| {
                    let add = |s: SizeNames| [s, vec![String::new()]].concat();
                    let sizes = part.sizes.into_iter().map(add).collect();
                    ExportedValue { ty: jet_type(&part.ty), sizes, ..part }
                };
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

/// What a function that is no definition with parameters, as `def f = fn (x, y) -> …`, calls its parameters.
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

/// How many values the values of a type consist of.
fn leaf_count(ty: &Ty) -> usize {
    fn count(ty: &Ty, rank: usize) -> usize {
        match ty {
            Ty::Unit if rank == 0 => 0,
            Ty::Tuple(parts) => parts.iter().map(|part| count(part, rank)).sum(),
            Ty::Record(fields) => fields.iter().map(|(_, part)| count(part, rank)).sum(),
            Ty::Array(element) => count(element, rank + 1),
            _ => 1,
        }
    }
    count(ty, 0)
}

/// The values that parameters or results consist of, in the order of Flat.
///
/// # Errors
/// What cannot be given or taken.
pub fn values(parts: &[ExportedValue]) -> Result<Vec<ValueNames>, String> {
    let mut leaves = Leaves::default();
    for part in parts {
        let mut sizes = part.sizes.iter();
        leaves.add(vec![part.name.clone()], &part.ty, 0, &mut sizes)?;
    }
    Ok(leaves.values)
}

#[derive(Default)]
struct Leaves {
    values: Vec<ValueNames>,
    /// How many arrays have both the last value and the next one in them.
    shared: usize,
}

impl Leaves {
    /// The values of a type, below so many arrays.
    fn add(
        &mut self,
        path: Vec<String>,
        ty: &Ty,
        rank: usize,
        sizes: &mut std::slice::Iter<'_, SizeNames>,
    ) -> Result<(), String> {
        self.shared = self.shared.min(rank);
        let name = || path.join("_");
        let within = |step: String| {
            let mut path = path.clone();
            path.push(step);
            path
        };
        match ty {
            Ty::Unit if rank == 0 => {}
            Ty::String if rank > 0 => return Err(format!("`{}` is an array of texts", name())),
            Ty::Real | Ty::Int | Ty::Bool | Ty::Unit | Ty::String => {
                let sizes = sizes.next().cloned().unwrap_or_default();
                self.values.push(ValueNames { path, shared: self.shared, sizes });
                self.shared = rank;
            }
            Ty::Tuple(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    self.add(within(i.to_string()), part, rank, sizes)?;
                }
            }
            Ty::Record(fields) => {
                for (field, ty) in fields.iter() {
                    self.add(within(field.to_string()), ty, rank, sizes)?;
                }
            }
            Ty::Array(element) => self.add(path, element, rank + 1, sizes)?,
            Ty::Data(..) => return Err(format!("`{}` is a variant", name())),
            Ty::Fun(_) => return Err(format!("`{}` is a function", name())),
            Ty::Param(_) => return Err(format!("the type of `{}` is not known", name())),
        }
        Ok(())
    }
}
