//! Polytypic operations (Krawiec et al., Figures 1 and 15): families of ordinary functions, one for each type,
//! made by induction on the type.
//!
//! ```text
//! f_ℝ(x)      = what the operation does to a number
//! f_L(x)      = x
//! f_{A×B}(x)  = (f_A(fst x), f_B(snd x))
//! f_{A+B}(x)  = case x of inl y → inl f_A(y), inr y → inr f_B(y)
//! f_{[]A}(x)  = build (length x) (λi. f_A(x[i]))                                   (ours)
//! ```
//!
//! An operation of several structures takes leaves, constructors and lengths from the first. A recursive
//! variant type gives a recursive definition.

use super::delta::split;
use super::{empty, homomorphism, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Diff, DiffOp, Prim, RealOp};
use diffeo_calculus::term::{Arm, Binder, Case, GlobalId, Term, TermKind};
use diffeo_calculus::ty::{DataId, Ty};
use std::rc::Rc;

/// What stands where a type has Real: a number, or what a system makes of one.
pub(crate) type At = Option<System>;

/// What an operation does to a number: `shared` is what it is given beside the structures.
type LeafOp<'a> = &'a dyn Fn(&mut Workspace, &Term, &[Term]) -> Term;

/// What an operation with a state does to a number.
type StatefulOp<'a> = &'a dyn Fn(&mut Workspace, &Term, &Term, &[Term]) -> Term;

/// What an operation with a state does to a function of a type: the new state.
type FunctionOp<'a> = &'a dyn Fn(&mut Workspace, &Ty, &Term, &Term) -> Term;

/// A family of functions that work number by number.
pub(crate) struct Pointwise<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of what it is given beside the structures; `()` for nothing.
    pub shared: Ty,
    /// Its structures.
    pub inputs: Vec<At>,
    /// Its result.
    pub output: At,
    /// What it does to a number.
    pub leaf: LeafOp<'a>,
}

/// A family of functions that go through the numbers from left to right with a state:
/// `(shared, state, structures…) → (result, state)`, or only the state.
pub(crate) struct Traversal<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of what it is given beside the structures; `()` for nothing.
    pub shared: Ty,
    /// The type of the state.
    pub state: Ty,
    /// Its structures.
    pub inputs: Vec<At>,
    /// Its result, if it has one.
    pub output: Option<At>,
    /// What it does to a number: the new state, or the pair of result and new state.
    pub step: StatefulOp<'a>,
    /// What it does to a function of this type: the new state; none where functions stop the program.
    pub function: Option<FunctionOp<'a>>,
}

/// The type with another one in the place of Real.
pub(crate) fn at(w: &mut Workspace, place: &At, ty: &Ty) -> Ty {
    match place {
        None => ty.clone(),
        Some(system) => homomorphism::ty(w, system, ty),
    }
}

/// An element of an array at a place.
fn element_at(w: &mut Workspace, place: &At, element: &Ty, xs: &Term, i: &Term) -> Term {
    match place {
        Some(system) if system.splits(element) => split::element(w, system, xs, i),
        _ => index(&at(w, place, element), xs.clone(), i.clone()),
    }
}

/// The length of an array at a place.
pub(crate) fn length_at(w: &mut Workspace, place: &At, element: &Ty, xs: &Term) -> Term {
    match place {
        Some(system) if system.splits(element) => split::length(w, system, xs),
        _ => length(&at(w, place, element), xs.clone()),
    }
}

/// The array at a place, from that of what stands for its elements there.
fn array_at(w: &mut Workspace, place: &At, element: &Ty, elements: Term) -> Term {
    match place {
        Some(system) if system.splits(element) => split::unzipped(w, system, elements),
        _ => elements,
    }
}

fn suffix(w: &Workspace, inputs: &[At], output: Option<&At>) -> String {
    let name = |at: &At| match at {
        None => "ℝ".to_string(),
        Some(System::Vector(s)) => format!("D¹({})", w.type_text(s)),
        Some(system) => system.symbol(),
    };
    let ins: Vec<String> = inputs.iter().map(name).collect();
    format!("{}→{}", ins.join(","), output.map_or(String::new(), name))
}

/// The result of a constructor, of the tag, the types of its fields, and their variables for each structure.
type MakeArm<'a> = &'a mut dyn FnMut(&mut Workspace, u32, Vec<Ty>, Vec<Vec<Binder>>) -> Term;

/// A variant case of several structures with the same constructor.
fn same_constructor(
    w: &mut Workspace,
    (id, args): (DataId, &[Ty]),
    inputs: &[At],
    xs: &[Term],
    result: &Ty,
    make: MakeArm<'_>,
) -> Term {
    let count = w.datas[id.0 as usize].constructors.len();
    let mut arms = Vec::new();
    for tag in 0..count as u32 {
        let fields = w.datas[id.0 as usize].fields(tag, args);
        let mut bound = Vec::new();
        for input in inputs {
            let mut binders = Vec::new();
            for field in &fields {
                let ty = at(w, input, field);
                binders.push(w.binder("x", ty));
            }
            bound.push(binders);
        }
        let mut body = make(w, tag, fields, bound.clone());
        for (i, x) in xs.iter().enumerate().skip(1).rev() {
            let data = type_arguments(w, &inputs[i], id, args);
            let arm = Arm { tag, binders: bound[i].clone(), body };
            let fail = prim(Prim::Fail(result.clone()), vec![text("the shapes differ")]);
            let default = (count > 1).then_some(fail);
            body = case(x.clone(), data, vec![arm], default);
        }
        arms.push(Arm { tag, binders: bound[0].clone(), body });
    }
    let data = type_arguments(w, &inputs[0], id, args);
    case(xs[0].clone(), data, arms, None)
}

fn type_arguments(w: &mut Workspace, place: &At, id: DataId, args: &[Ty]) -> (DataId, Rc<[Ty]>) {
    match place {
        None => (id, args.into()),
        Some(system) => homomorphism::variant(w, system, id, args),
    }
}

fn case(scrutinee: Term, data: (DataId, Rc<[Ty]>), arms: Vec<Arm>, default: Option<Term>) -> Term {
    term(TermKind::Case(Box::new(Case { scrutinee, data, arms, default })))
}

/// A structure that may be mentioned several times.
fn named(w: &mut Workspace, x: Term, ty: Ty, bindings: &mut Vec<(Binder, Term)>) -> Term {
    if is_atom(&x) {
        return x;
    }
    let binder = w.binder("x", ty);
    let name = var(&binder);
    bindings.push((binder, x));
    name
}

impl Pointwise<'_> {
    /// The function at a type: of the tuple `(shared, structures…)`, without `shared` if that is `()`.
    pub fn function(&self, w: &mut Workspace, ty: &Ty) -> GlobalId {
        let key = format!(
            "{}[{}; {}]",
            self.name,
            w.type_text(ty),
            suffix(w, &self.inputs, Some(&self.output))
        );
        let params = self.parameters(w, ty);
        let result = at(w, &self.output, ty);
        let signature = Ty::fun(Ty::tuple(params.clone()), result);
        w.made(&key, signature, |w| {
            let p = w.binder("p", Ty::tuple(params.clone()));
            let mut parts: Vec<Term> =
                (0..params.len()).map(|i| part(&params, i, var(&p))).collect();
            let shared = if self.shared == Ty::Unit { unit() } else { parts.remove(0) };
            let body = match ty {
                Ty::Data(id, args) => self.data(w, (*id, args), &shared, &parts),
                _ => self.at_type(w, ty, &shared, &parts),
            };
            lam(p, body)
        })
    }

    /// Its value.
    pub fn apply(&self, w: &mut Workspace, ty: &Ty, shared: Option<Term>, xs: Vec<Term>) -> Term {
        if *ty == Ty::Real && xs.iter().chain(&shared).all(is_atom) {
            return (self.leaf)(w, &shared.unwrap_or_else(unit), &xs);
        }
        let function = self.function(w, ty);
        let params = self.parameters(w, ty);
        call(function, params, shared.into_iter().chain(xs).collect())
    }

    fn parameters(&self, w: &mut Workspace, ty: &Ty) -> Vec<Ty> {
        let mut params = Vec::new();
        if self.shared != Ty::Unit {
            params.push(self.shared.clone());
        }
        params.extend(self.inputs.iter().map(|input| at(w, input, ty)));
        params
    }

    fn at_type(&self, w: &mut Workspace, ty: &Ty, shared: &Term, xs: &[Term]) -> Term {
        match ty {
            Ty::Real => {
                let mut bindings = Vec::new();
                let mut names = Vec::new();
                for (x, input) in xs.iter().zip(&self.inputs) {
                    let ty = at(w, input, ty);
                    names.push(named(w, x.clone(), ty, &mut bindings));
                }
                let value = (self.leaf)(w, shared, &names);
                bind_all(bindings, value)
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => xs[0].clone(),
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                let inputs: Vec<Ty> = self.inputs.iter().map(|input| at(w, input, ty)).collect();
                let mut bindings = Vec::new();
                let mut names = Vec::new();
                for (x, t) in xs.iter().zip(&inputs) {
                    names.push(named(w, x.clone(), t.clone(), &mut bindings));
                }
                let mut components = Vec::new();
                for (i, t) in types.iter().enumerate() {
                    let parts: Vec<Term> =
                        names.iter().zip(&inputs).map(|(x, of)| proj(of, i, x.clone())).collect();
                    components.push(self.at_type(w, t, shared, &parts));
                }
                let result = at(w, &self.output, ty);
                bind_all(bindings, term(TermKind::Tuple(result, components)))
            }
            Ty::Array(element) => {
                let mut bindings = Vec::new();
                let mut names = Vec::new();
                for (x, input) in xs.iter().zip(&self.inputs) {
                    let array = at(w, input, ty);
                    names.push(named(w, x.clone(), array, &mut bindings));
                }
                let i = w.binder("i", Ty::Int);
                let mut parts = Vec::new();
                for (x, input) in names.iter().zip(&self.inputs) {
                    parts.push(element_at(w, input, element, x, &var(&i)));
                }
                let body = self.at_type(w, element, shared, &parts);
                let count = length_at(w, &self.inputs[0], element, &names[0]);
                let out = at(w, &self.output, element);
                let array = array_at(w, &self.output, element, build(count, i, out, body));
                let systems = (&self.inputs[0], &self.output);
                bind_all(bindings, empty::kept(w, systems, element, &names[0], array))
            }
            Ty::Data(..) => {
                let mut args = Vec::new();
                if self.shared != Ty::Unit {
                    args.push(shared.clone());
                }
                args.extend_from_slice(xs);
                let function = self.function(w, ty);
                let params = self.parameters(w, ty);
                call(function, params, args)
            }
            Ty::Fun(_) => match (&self.inputs[..], &self.output) {
                // The embedding of a plain function: its code is translated.
                ([None], Some(system)) => homomorphism::lift_function(w, system, ty, xs[0].clone()),
                // And the way back.
                ([Some(system)], None) if self.name == "primal" => {
                    homomorphism::lower_function(w, system, ty, xs[0].clone())
                }
                // Embedded again, without what varied, where the code of functions is known.
                ([Some(system)], Some(_)) if self.name == "stop" && w.dynamic => {
                    let plain = homomorphism::lower_function(w, system, ty, xs[0].clone());
                    let (op, [from, to]) = (DiffOp::StopGradient, [ty.clone(), ty.clone()]);
                    let plain = homomorphism::stopped(&Diff { op, from, to }, plain);
                    homomorphism::lift_function(w, system, ty, plain)
                }
                // Nothing is done to it.
                ([from], to) if from == to => xs[0].clone(),
                _ => {
                    let result = at(w, &self.output, ty);
                    prim(Prim::Fail(result), vec![text("a function has no such operation")])
                }
            },
        }
    }

    fn data(
        &self,
        w: &mut Workspace,
        (id, args): (DataId, &[Ty]),
        shared: &Term,
        xs: &[Term],
    ) -> Term {
        let result = at(w, &self.output, &Ty::Data(id, args.into()));
        let (out, out_args) = type_arguments(w, &self.output, id, args);
        same_constructor(w, (id, args), &self.inputs, xs, &result, &mut |w, tag, fields, bound| {
            let mut values = Vec::new();
            for (i, field) in fields.iter().enumerate() {
                let parts: Vec<Term> = bound.iter().map(|binders| var(&binders[i])).collect();
                values.push(self.at_type(w, field, shared, &parts));
            }
            term(TermKind::Con(out, out_args.clone(), tag, values))
        })
    }
}

impl Traversal<'_> {
    /// The function at a type: of the tuple `(shared, state, structures…)`, without `shared` if that is `()`.
    pub fn function(&self, w: &mut Workspace, ty: &Ty) -> GlobalId {
        let key = format!(
            "{}[{}; {}]",
            self.name,
            w.type_text(ty),
            suffix(w, &self.inputs, self.output.as_ref())
        );
        let params = self.parameters(w, ty);
        let result = self.result(w, ty);
        let signature = Ty::fun(Ty::tuple(params.clone()), result);
        w.made(&key, signature, |w| {
            let p = w.binder("p", Ty::tuple(params.clone()));
            let mut parts: Vec<Term> =
                (0..params.len()).map(|i| part(&params, i, var(&p))).collect();
            let shared = if self.shared == Ty::Unit { unit() } else { parts.remove(0) };
            let state = parts.remove(0);
            let body = match ty {
                Ty::Data(id, args) => self.data(w, (*id, args), &shared, &state, &parts),
                _ => self.at_type(w, ty, &shared, &state, &parts),
            };
            lam(p, body)
        })
    }

    /// Its value.
    pub fn apply(
        &self,
        w: &mut Workspace,
        ty: &Ty,
        shared: Option<Term>,
        state: Term,
        xs: Vec<Term>,
    ) -> Term {
        let function = self.function(w, ty);
        let params = self.parameters(w, ty);
        call(function, params, shared.into_iter().chain([state]).chain(xs).collect())
    }

    /// The type of its value: of the state, or of result and state.
    pub fn result(&self, w: &mut Workspace, ty: &Ty) -> Ty {
        match &self.output {
            None => self.state.clone(),
            Some(output) => Ty::tuple(vec![at(w, output, ty), self.state.clone()]),
        }
    }

    fn parameters(&self, w: &mut Workspace, ty: &Ty) -> Vec<Ty> {
        let mut params = Vec::new();
        if self.shared != Ty::Unit {
            params.push(self.shared.clone());
        }
        params.push(self.state.clone());
        params.extend(self.inputs.iter().map(|input| at(w, input, ty)));
        params
    }

    /// A result with the state.
    fn pair(&self, w: &mut Workspace, ty: &Ty, value: Term, state: Term) -> Term {
        match &self.output {
            None => state,
            Some(output) => {
                let types = vec![at(w, output, ty), self.state.clone()];
                tuple(types, vec![value, state])
            }
        }
    }

    /// Result (`()` if there is none) and state of what [`Traversal::at_type`] gives, bound to a variable.
    fn split(
        &self,
        w: &mut Workspace,
        ty: &Ty,
        both: Term,
        bindings: &mut Vec<(Binder, Term)>,
    ) -> (Term, Term) {
        let result = self.result(w, ty);
        let both = named(w, both, result.clone(), bindings);
        match self.output {
            None => (unit(), both),
            Some(_) => (proj(&result, 0, both.clone()), proj(&result, 1, both)),
        }
    }

    fn at_type(
        &self,
        w: &mut Workspace,
        ty: &Ty,
        shared: &Term,
        state: &Term,
        xs: &[Term],
    ) -> Term {
        match ty {
            Ty::Real => {
                let mut bindings = Vec::new();
                let mut names = Vec::new();
                for (x, input) in xs.iter().zip(&self.inputs) {
                    let ty = at(w, input, ty);
                    names.push(named(w, x.clone(), ty, &mut bindings));
                }
                let value = (self.step)(w, shared, state, &names);
                bind_all(bindings, value)
            }
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => {
                self.pair(w, ty, xs[0].clone(), state.clone())
            }
            Ty::Tuple(_) | Ty::Record(_) => {
                let types = ty.components().unwrap_or_default();
                let inputs: Vec<Ty> = self.inputs.iter().map(|input| at(w, input, ty)).collect();
                let mut bindings = Vec::new();
                let mut names = Vec::new();
                for (x, t) in xs.iter().zip(&inputs) {
                    names.push(named(w, x.clone(), t.clone(), &mut bindings));
                }
                let mut state = state.clone();
                let mut components = Vec::new();
                for (i, t) in types.iter().enumerate() {
                    let parts: Vec<Term> =
                        names.iter().zip(&inputs).map(|(x, of)| proj(of, i, x.clone())).collect();
                    let both = self.at_type(w, t, shared, &state, &parts);
                    let (value, next) = self.split(w, t, both, &mut bindings);
                    components.push(value);
                    state = next;
                }
                let value = match &self.output {
                    None => unit(),
                    Some(output) => {
                        let result = at(w, output, ty);
                        term(TermKind::Tuple(result, components))
                    }
                };
                let both = self.pair(w, ty, value, state);
                bind_all(bindings, both)
            }
            Ty::Array(element) => self.array(w, element, shared, state, xs),
            Ty::Data(..) => {
                let mut args = Vec::new();
                if self.shared != Ty::Unit {
                    args.push(shared.clone());
                }
                args.push(state.clone());
                args.extend_from_slice(xs);
                let function = self.function(w, ty);
                let params = self.parameters(w, ty);
                call(function, params, args)
            }
            Ty::Fun(_) => match self.function {
                Some(function) => function(w, ty, state, &xs[0]),
                None => {
                    let result = self.result(w, ty);
                    prim(Prim::Fail(result), vec![text("a function has no such operation")])
                }
            },
        }
    }

    fn array(
        &self,
        w: &mut Workspace,
        element: &Ty,
        shared: &Term,
        state: &Term,
        xs: &[Term],
    ) -> Term {
        let mut bindings = Vec::new();
        let mut names = Vec::new();
        let array = Ty::array(element.clone());
        for (x, input) in xs.iter().zip(&self.inputs) {
            let ty = at(w, input, &array);
            names.push(named(w, x.clone(), ty, &mut bindings));
        }
        let i = w.binder("i", Ty::Int);
        let mut parts = Vec::new();
        for (x, input) in names.iter().zip(&self.inputs) {
            parts.push(element_at(w, input, element, x, &var(&i)));
        }
        let count = length_at(w, &self.inputs[0], element, &names[0]);
        let Some(output) = &self.output else {
            let both = w.binder("s", self.state.clone());
            let body = self.at_type(w, element, shared, &var(&both), &parts);
            return bind_all(bindings, count_loop(both, state.clone(), i, count, body));
        };
        let out = at(w, output, element);
        let types = vec![Ty::array(out.clone()), self.state.clone()];
        let grown = Ty::tuple(types.clone());
        let both = w.binder("s", grown.clone());
        let empty = term(TermKind::Array(out.clone(), Vec::new()));
        let init = tuple(types.clone(), vec![empty, state.clone()]);
        let mut inner = Vec::new();
        let before = proj(&grown, 1, var(&both));
        let step = self.at_type(w, element, shared, &before, &parts);
        let (value, next) = self.split(w, element, step, &mut inner);
        let one = term(TermKind::Array(out.clone(), vec![value]));
        let more = prim(Prim::Append(out), vec![proj(&grown, 0, var(&both)), one]);
        let body = bind_all(inner, tuple(types, vec![more, next]));
        let all = named(w, count_loop(both, init, i, count, body), grown.clone(), &mut bindings);
        let elements = array_at(w, output, element, proj(&grown, 0, all.clone()));
        let systems = (&self.inputs[0], output);
        let elements = empty::kept(w, systems, element, &names[0], elements);
        let pair = self.pair(w, &array, elements, proj(&grown, 1, all));
        bind_all(bindings, pair)
    }

    fn data(
        &self,
        w: &mut Workspace,
        (id, args): (DataId, &[Ty]),
        shared: &Term,
        state: &Term,
        xs: &[Term],
    ) -> Term {
        let ty = Ty::Data(id, args.into());
        let result = self.result(w, &ty);
        same_constructor(w, (id, args), &self.inputs, xs, &result, &mut |w, tag, fields, bound| {
            let mut state = state.clone();
            let mut values = Vec::new();
            let mut bindings = Vec::new();
            for (i, field) in fields.iter().enumerate() {
                let parts: Vec<Term> = bound.iter().map(|binders| var(&binders[i])).collect();
                let both = self.at_type(w, field, shared, &state, &parts);
                let (value, next) = self.split(w, field, both, &mut bindings);
                values.push(value);
                state = next;
            }
            let value = match &self.output {
                None => unit(),
                Some(output) => {
                    let (out, out_args) = type_arguments(w, output, id, args);
                    term(TermKind::Con(out, out_args, tag, values))
                }
            };
            let both = self.pair(w, &ty, value, state);
            bind_all(bindings, both)
        })
    }
}

// The operations on plain structures

/// `x ⊕ y`
pub(crate) fn add(w: &mut Workspace, ty: &Ty, x: Term, y: Term) -> Term {
    binary(w, "⊕", RealOp::Add, ty, x, y)
}

/// The operation on the numbers of two structures.
pub(crate) fn binary(
    w: &mut Workspace,
    name: &str,
    operation: RealOp,
    ty: &Ty,
    x: Term,
    y: Term,
) -> Term {
    let family = Pointwise {
        name,
        shared: Ty::Unit,
        inputs: vec![None, None],
        output: None,
        leaf: &|_, _, xs| op(operation, xs.to_vec()),
    };
    family.apply(w, ty, None, vec![x, y])
}

/// `r ⊗ x`
pub(crate) fn scale(w: &mut Workspace, ty: &Ty, r: Term, x: Term) -> Term {
    let family = Pointwise {
        name: "⊗",
        shared: Ty::Real,
        inputs: vec![None],
        output: None,
        leaf: &|_, r, xs| op(RealOp::Mul, vec![r.clone(), xs[0].clone()]),
    };
    family.apply(w, ty, Some(r), vec![x])
}

/// The structure with another number in the place of each one.
pub(crate) fn each(
    w: &mut Workspace,
    name: &str,
    ty: &Ty,
    x: Term,
    leaf: &dyn Fn(&Term) -> Term,
) -> Term {
    let family = Pointwise {
        name,
        shared: Ty::Unit,
        inputs: vec![None],
        output: None,
        leaf: &|_, _, xs| leaf(&xs[0]),
    };
    family.apply(w, ty, None, vec![x])
}

/// `zero_of(x)`
pub(crate) fn zero_of(w: &mut Workspace, ty: &Ty, x: Term) -> Term {
    each(w, "zero", ty, x, &|_| real(0.0))
}

/// `x ⊙ y`, the sum of the products of the numbers from left to right: of two numbers their product, of tuples the sum of
/// those of the components.
pub(crate) fn inner(w: &mut Workspace, ty: &Ty, x: Term, y: Term) -> Term {
    let mut bindings = Vec::new();
    let [x, y] = [x, y].map(|x| named(w, x, ty.clone(), &mut bindings));
    let sum = products(w, ty, None, [x, y]).unwrap_or_else(|| real(0.0));
    bind_all(bindings, sum)
}

/// A sum with the products of the numbers; nothing if there are none at all.
fn products(w: &mut Workspace, ty: &Ty, sum: Option<Term>, [x, y]: [Term; 2]) -> Option<Term> {
    let step = |sum: Option<Term>, x: Term, y: Term| {
        let product = op(RealOp::Mul, vec![x, y]);
        match sum {
            None => product,
            Some(sum) => op(RealOp::Add, vec![sum, product]),
        }
    };
    match ty {
        Ty::Real => Some(step(sum, x, y)),
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit => sum,
        Ty::Tuple(_) | Ty::Record(_) => {
            let parts = ty.components().unwrap_or_default();
            parts.iter().enumerate().fold(sum, |sum, (i, part)| {
                products(w, part, sum, [proj(ty, i, x.clone()), proj(ty, i, y.clone())])
            })
        }
        Ty::Array(_) | Ty::Data(..) | Ty::Fun(_) | Ty::Param(_) => {
            let family = Traversal {
                name: "⊙",
                shared: Ty::Unit,
                state: Ty::Real,
                inputs: vec![None, None],
                output: None,
                function: None,
                step: &|_, _, sum, xs| step(Some(sum.clone()), xs[0].clone(), xs[1].clone()),
            };
            Some(family.apply(w, ty, None, sum.unwrap_or_else(|| real(0.0)), vec![x, y]))
        }
    }
}

/// The numbers from left to right.
pub(crate) fn ravel(w: &mut Workspace, ty: &Ty, x: Term) -> Term {
    let family = Traversal {
        name: "ravel",
        shared: Ty::Unit,
        state: Ty::array(Ty::Real),
        inputs: vec![None],
        output: None,
        function: None,
        step: &|_, _, numbers, xs| {
            let one = term(TermKind::Array(Ty::Real, xs.to_vec()));
            prim(Prim::Append(Ty::Real), vec![numbers.clone(), one])
        },
    };
    family.apply(w, ty, None, term(TermKind::Array(Ty::Real, Vec::new())), vec![x])
}

/// The structure with these numbers.
pub(crate) fn unravel(w: &mut Workspace, ty: &Ty, x: Term, numbers: Term) -> Term {
    let state = Ty::Int;
    let family = Traversal {
        name: "unravel",
        shared: Ty::array(Ty::Real),
        state: state.clone(),
        inputs: vec![None],
        output: Some(None),
        function: None,
        step: &|_, numbers, i, _| {
            let value = index(&Ty::Real, numbers.clone(), i.clone());
            let next = prim(Prim::Int(diffeo_calculus::prim::IntOp::Add), vec![i.clone(), int(1)]);
            tuple(vec![Ty::Real, Ty::Int], vec![value, next])
        },
    };
    let result = family.result(w, ty);
    let both = family.apply(w, ty, Some(numbers), int(0), vec![x]);
    proj(&result, 0, both)
}
