//! What the operations of Core take and give, the kinds of types that they are restricted to, and the type
//! of a term. [`crate::lint`] checks terms against this; here types are taken from the annotations.

use crate::prim::real;
use crate::prim::table::{Slot, Types};
use crate::prim::text::{self, TextType};
use crate::prim::{Comparison, Diff, DiffOp, IntOp, Prim, RealOp};
use crate::term::{Lit, Program, Term, TermKind};
use crate::ty::{DataId, Ty};
use diffeo_base::deep;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The types of variables, by their ids.
pub type Env = HashMap<u32, Ty>;

/// The type of a term that lints, whose free variables have the types of `env`. It follows annotations down
/// one path of the term and checks nothing. None for a term that has no type, as far as that path shows.
pub fn type_of(term: &Term, program: &Program, env: &Env) -> Option<Ty> {
    synthesise(term, program, env, &mut Env::new())
}

/// `local` has the types of the variables bound on the way; binders are unique, so they can stay.
fn synthesise(term: &Term, program: &Program, env: &Env, local: &mut Env) -> Option<Ty> {
    deep(|| match &term.kind {
        TermKind::Var(var) => local.get(&var.id).or_else(|| env.get(&var.id)).cloned(),
        TermKind::Global(id) => program.globals.get(id.0 as usize).map(|global| global.ty.clone()),
        TermKind::Lit(literal) => Some(literal_type(literal)),
        TermKind::Lam(binder, body) => {
            local.insert(binder.var.id, binder.ty.clone());
            Some(Ty::fun(binder.ty.clone(), synthesise(body, program, env, local)?))
        }
        TermKind::App(function, _) => match synthesise(function, program, env, local)? {
            Ty::Fun(fun) => Some(fun.1.clone()),
            Ty::Real
            | Ty::Int
            | Ty::Bool
            | Ty::String
            | Ty::Unit
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Data(..)
            | Ty::Param(_) => None,
        },
        TermKind::Let(bindings, body) => {
            for (binder, _) in bindings {
                local.insert(binder.var.id, binder.ty.clone());
            }
            synthesise(body, program, env, local)
        }
        TermKind::LetRec(binder, _, body) => {
            local.insert(binder.var.id, binder.ty.clone());
            synthesise(body, program, env, local)
        }
        TermKind::Tuple(ty, _) => Some(ty.clone()),
        TermKind::Proj(ty, index, _) => component(ty, *index).cloned(),
        TermKind::Con(data, args, _, _) => Some(Ty::Data(*data, args.clone())),
        TermKind::Case(case) => match (case.arms.first(), &case.default) {
            (Some(arm), _) => {
                for binder in &arm.binders {
                    local.insert(binder.var.id, binder.ty.clone());
                }
                synthesise(&arm.body, program, env, local)
            }
            (None, Some(default)) => synthesise(default, program, env, local),
            (None, None) => None,
        },
        TermKind::If(_, yes, _) => synthesise(yes, program, env, local),
        TermKind::Array(element, _) => Some(Ty::array(element.clone())),
        TermKind::Build(build) => Some(Ty::array(build.element.clone())),
        TermKind::Loop(l) => Some(l.state.ty.clone()),
        TermKind::Prim(prim, args) => Some(prim.signature(args.len()).1),
        TermKind::Diff(diff, _) => Some(diff.signature().1),
    })
}

/// The type of a literal.
pub fn literal_type(literal: &Lit) -> Ty {
    match literal {
        Lit::Real(_) => Ty::Real,
        Lit::Int(_) => Ty::Int,
        Lit::Bool(_) => Ty::Bool,
        Lit::String(_) => Ty::String,
        Lit::Unit => Ty::Unit,
    }
}

/// The type of a component of a tuple or record type.
pub(crate) fn component(ty: &Ty, index: usize) -> Option<&Ty> {
    match ty {
        Ty::Tuple(types) => types.get(index),
        Ty::Record(fields) => fields.get(index).map(|(_, ty)| ty),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}

impl RealOp {
    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        real::row(self).arity
    }
}

impl IntOp {
    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        match self {
            IntOp::Add
            | IntOp::Sub
            | IntOp::Mul
            | IntOp::Div
            | IntOp::Rem
            | IntOp::Pow
            | IntOp::Min
            | IntOp::Max
            | IntOp::BitAnd
            | IntOp::BitOr
            | IntOp::BitXor
            | IntOp::ShiftLeft
            | IntOp::ShiftRight
            | IntOp::WrappingAdd
            | IntOp::WrappingMul => 2,
            IntOp::Neg | IntOp::Abs | IntOp::Sign => 1,
        }
    }
}

impl Prim {
    /// The types of the arguments and of the result. The number of arguments matters to `Update` alone,
    /// which has as many indices as arguments less two.
    pub fn signature(&self, arguments: usize) -> (Vec<Ty>, Ty) {
        match self {
            Prim::Real(op) => (vec![Ty::Real; op.arity()], Ty::Real),
            Prim::Int(op) => (vec![Ty::Int; op.arity()], Ty::Int),
            Prim::Compare(_, t) => (vec![t.clone(), t.clone()], Ty::Bool),
            Prim::Round(_) => (vec![Ty::Real], Ty::Int),
            Prim::Update(t) => {
                let indices = arguments.saturating_sub(2).max(1).min(dimensions(t).max(1));
                let mut params = vec![t.clone()];
                params.extend(std::iter::repeat_n(Ty::Int, indices));
                params.push(row(t, indices));
                (params, t.clone())
            }
            Prim::Sizes(pattern, t) => {
                let given = pattern.given.min(pattern.names.len());
                let mut params = vec![t.clone()];
                params.extend(std::iter::repeat_n(Ty::Int, given));
                (params, Ty::tuple(vec![Ty::Int; pattern.names.len() - given]))
            }
            Prim::Text(op) => {
                let ty = |leaf: &TextType| match leaf {
                    TextType::Int => Ty::Int,
                    TextType::Real => Ty::Real,
                    TextType::Text => Ty::String,
                };
                let (params, result) = text::signature(*op);
                (params.iter().map(ty).collect(), ty(&result))
            }
            Prim::Lift(lift) => (vec![lift.from.clone(); arguments], lift.to.clone()),
            prim => prim.row().map_or((Vec::new(), Ty::Unit), |(row, t)| {
                let ty = |slot: &Slot| slot.at(t.unwrap_or(&Ty::Unit));
                (row.params.iter().map(ty).collect(), ty(&row.result))
            }),
        }
    }

    /// What is wrong with the type that the operation is given, if anything.
    pub(crate) fn restriction(&self, program: &Program) -> Option<&'static str> {
        let (fits, what) = match (self, self.row()) {
            (Prim::Compare(Comparison::Eq | Comparison::Ne, t), _) => {
                (first_order(t, program), "equality needs a first-order type")
            }
            (Prim::Compare(_, t), _) => {
                (is_ordered(t), "an order comparison needs Int, Real or String")
            }
            (_, Some((row, Some(t)))) => match row.types {
                Types::All => return None,
                Types::FirstOrder => {
                    (first_order(t, program), "the operation needs a first-order type")
                }
                Types::Vector => (is_vector(t), "the operation needs a vector type"),
                Types::Summable => {
                    (*t == Ty::Int || is_vector(t), "a sum needs Int, Real or a vector type")
                }
                Types::Ordered => (is_ordered(t), "sorting needs Int, Real or String"),
                Types::Array => (dimensions(t) > 0, "an update needs an array type"),
                Types::RealArray => (
                    dimensions(t) > 0 && self::row(t, dimensions(t)) == Ty::Real,
                    "the operation needs an array type of Real",
                ),
            },
            (_, _) => return None,
        };
        (!fits).then_some(what)
    }
}

impl Diff {
    /// The types of the arguments and of the result.
    pub fn signature(&self) -> (Vec<Ty>, Ty) {
        let (s, t) = (&self.from, &self.to);
        let fun = Ty::fun(s.clone(), t.clone());
        let pair = |a: &Ty, b: &Ty| Ty::tuple(vec![a.clone(), b.clone()]);
        match self.op {
            DiffOp::Rd => (vec![fun, s.clone(), t.clone()], s.clone()),
            DiffOp::RdAlong => (vec![fun, Ty::array(s.clone()), s.clone(), t.clone()], s.clone()),
            DiffOp::Vjp => {
                let pullback = Ty::fun(t.clone(), s.clone());
                (vec![fun, s.clone()], pair(t, &pullback))
            }
            DiffOp::Jvp => (vec![fun, s.clone(), s.clone()], pair(t, t)),
            DiffOp::Jet { k: _, r: _ } => (vec![fun, jet_type(s)], jet_type(t)),
            DiffOp::StopGradient => (vec![s.clone()], s.clone()),
            DiffOp::Checkpoint | DiffOp::AllPaths => (vec![fun, s.clone()], t.clone()),
            DiffOp::WithDerivative | DiffOp::WithExactDerivative => {
                let rule = Ty::fun(pair(s, s), pair(t, t));
                (vec![fun, rule, s.clone()], t.clone())
            }
            DiffOp::Deciding => {
                let told = Ty::fun(Ty::Unit, Ty::array(Ty::Real));
                (vec![fun, told, s.clone()], t.clone())
            }
            DiffOp::Decisions => (vec![fun, s.clone(), Ty::String], Ty::array(Ty::Real)),
            DiffOp::Dependence => (vec![fun, s.clone(), s.clone()], t.clone()),
            DiffOp::Enclose => {
                (vec![fun, s.clone(), s.clone()], pair(&Ty::array(t.clone()), &Ty::String))
            }
        }
    }
}

/// `J(T)`: every Real is an array of derivatives (`D_(k,R)` of Huot et al.). Within a variant type these are
/// the Reals of its arguments; one whose declaration itself mentions Real has no such type, see
/// [`declares_real`].
pub fn jet_type(ty: &Ty) -> Ty {
    match ty {
        Ty::Real => Ty::array(Ty::Real),
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => ty.clone(),
        Ty::Tuple(types) => Ty::Tuple(types.iter().map(jet_type).collect()),
        Ty::Record(fields) => {
            Ty::Record(fields.iter().map(|(name, t)| (name.clone(), jet_type(t))).collect())
        }
        Ty::Array(element) => Ty::array(jet_type(element)),
        Ty::Data(data, args) => Ty::Data(*data, args.iter().map(jet_type).collect()),
        Ty::Fun(fun) => Ty::fun(jet_type(&fun.0), jet_type(&fun.1)),
    }
}

/// Whether a type has a variant type in it that has Reals beside those of its arguments.
pub fn declares_real(ty: &Ty, program: &Program) -> bool {
    let mut declared = Vec::new();
    parts(ty, &mut |part| {
        if let Ty::Data(data, _) = part {
            declared.push(*data);
        }
    });
    let mut found = false;
    in_declarations(declared, program, &mut |part| found |= *part == Ty::Real);
    found
}

/// Whether a type mentions Real, itself or in a declaration.
pub fn mentions_real(ty: &Ty, program: &Program) -> bool {
    let mut found = false;
    parts(ty, &mut |part| found |= *part == Ty::Real);
    found || declares_real(ty, program)
}

/// Whether no function is in values of the type. The arguments of a variant type count even if it
/// makes no use of them.
pub fn first_order(ty: &Ty, program: &Program) -> bool {
    let mut declared = Vec::new();
    let mut found = false;
    parts(ty, &mut |part| {
        found |= matches!(part, Ty::Fun(_));
        if let Ty::Data(data, _) = part {
            declared.push(*data);
        }
    });
    in_declarations(declared, program, &mut |part| found |= matches!(part, Ty::Fun(_)));
    !found
}

/// A variant type whose values hold values of infinitely many types, as those of `type T[a] = E | C(a, T[(a, a)])` do:
/// a parameter comes back to itself within a larger type (Kennedy and Pierce, On Decidability of Nominal Subtyping with
/// Variance, section 4).
pub fn growing(program: &Program) -> Option<DataId> {
    type Parameter = (DataId, u32);
    // From each parameter, those that a type with it in it is given for, and whether that type is larger.
    let mut given: BTreeMap<Parameter, Vec<(Parameter, bool)>> = BTreeMap::new();
    for (data, decl) in (0..).map(DataId).zip(&program.datas) {
        for field in decl.constructors.iter().flat_map(|c| &c.fields) {
            parts(field, &mut |part| {
                let Ty::Data(inner, args) = part else { return };
                for (i, arg) in (0..).zip(args.iter()) {
                    parts(arg, &mut |within| {
                        let Ty::Param(p) = within else { return };
                        let larger = !matches!(arg, Ty::Param(_));
                        given.entry((data, *p)).or_default().push(((*inner, i), larger));
                    });
                }
            });
        }
    }
    let comes_back = |to: Parameter, from: Parameter| {
        let (mut seen, mut pending) = (HashSet::new(), vec![from]);
        while let Some(next) = pending.pop() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                pending.extend(given.get(&next).into_iter().flatten().map(|(next, _)| *next));
            }
        }
        false
    };
    let mut larger = given.iter().flat_map(|(from, all)| {
        all.iter().filter(|(_, larger)| *larger).map(move |(to, _)| (*from, *to))
    });
    larger.find(|(from, to)| comes_back(*from, *to)).map(|((data, _), _)| data)
}

/// Shows all parts of a type, itself included.
pub fn parts<'t>(ty: &'t Ty, see: &mut dyn FnMut(&'t Ty)) {
    see(ty);
    match ty {
        Ty::Real | Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => {}
        Ty::Tuple(types) => types.iter().for_each(|t| parts(t, see)),
        Ty::Record(fields) => fields.iter().for_each(|(_, t)| parts(t, see)),
        Ty::Array(element) => parts(element, see),
        Ty::Data(_, args) => args.iter().for_each(|t| parts(t, see)),
        Ty::Fun(fun) => {
            parts(&fun.0, see);
            parts(&fun.1, see);
        }
    }
}

/// Shows all parts of the field types of these declarations and of those that they refer to.
fn in_declarations(mut pending: Vec<DataId>, program: &Program, see: &mut dyn FnMut(&Ty)) {
    let mut seen = HashSet::new();
    while let Some(data) = pending.pop() {
        let Some(decl) = program.datas.get(data.0 as usize) else { continue };
        if seen.insert(data) {
            for field in decl.constructors.iter().flat_map(|c| &c.fields) {
                parts(field, &mut |part| {
                    see(part);
                    if let Ty::Data(data, _) = part {
                        pending.push(*data);
                    }
                });
            }
        }
    }
}

/// Whether the type is built from Real alone with tuples, records and arrays.
pub fn is_vector(ty: &Ty) -> bool {
    match ty {
        Ty::Real => true,
        Ty::Tuple(types) => types.iter().all(is_vector),
        Ty::Record(fields) => !fields.is_empty() && fields.iter().all(|(_, t)| is_vector(t)),
        Ty::Array(element) => is_vector(element),
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            false
        }
    }
}

fn is_ordered(ty: &Ty) -> bool {
    matches!(ty, Ty::Int | Ty::Real | Ty::String)
}

/// How many arrays are directly in one another.
fn dimensions(mut ty: &Ty) -> usize {
    let mut count = 0;
    while let Ty::Array(element) = ty {
        ty = element;
        count += 1;
    }
    count
}

/// The type without this many arrays around it.
fn row(ty: &Ty, dimensions: usize) -> Ty {
    let mut ty = ty;
    for _ in 0..dimensions {
        if let Ty::Array(element) = ty {
            ty = element;
        }
    }
    ty.clone()
}
