//! Conversions of tangents of values of any type: each coefficient of the result is one of the given coefficients,
//! perhaps times a number. So tangents become values and values tangents, and Taylor coefficients move to other orders.
//!
//! For Reals and arrays of them, this takes a few statements; for each type of boxes there is a function.

use super::helpers::{self, Helper};
use super::nan_guard::watch;
use super::shadow::{each, field, make_helper, shadow, tangents, varies, zero_tag, zeroed};
use super::sparse_adjoint::AdjointCx;
use super::{differentiable, Deriver};
use crate::build::Builder;
use crate::ir::{Atom, BoxId, Elem, FlatTy, FunctionId, Module, Op, Var, Variant};
use diffeo_calculus::prim::RealOp;

/// In which form tangents are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum TangentForm {
    /// One coefficient for each Real, in its place in a value of the type.
    Value,
    /// Tangents, with so many coefficients for each Real; at least one.
    Tangents(usize),
}

impl TangentForm {
    fn types(self, module: &mut Module, cache: &mut Deriver, ty: &FlatTy) -> Vec<FlatTy> {
        match self {
            TangentForm::Value => vec![ty.clone()],
            TangentForm::Tangents(order) => tangents(module, cache, ty, order),
        }
    }
}

/// A coefficient: `times / over` of one that is given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScaledCoefficient {
    /// Of which it is.
    pub of: usize,
    /// Its place there.
    pub place: usize,
    pub times: u32,
    pub over: u32,
}

impl ScaledCoefficient {
    /// The one in this place of what is given first.
    pub fn at(place: usize) -> ScaledCoefficient {
        ScaledCoefficient { of: 0, place, times: 1, over: 1 }
    }
}

/// What is made of what.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Recipe {
    pub given: Vec<TangentForm>,
    pub made: TangentForm,
    /// By coefficient of what is made.
    pub from: Vec<ScaledCoefficient>,
    /// Whether the program stops if there is a nan in a box that is made, a value. Who asks for that looks at Reals and
    /// arrays itself.
    pub watched: bool,
}

impl Recipe {
    pub fn new(given: Vec<TangentForm>, made: TangentForm, from: Vec<ScaledCoefficient>) -> Recipe {
        Recipe { given, made, from, watched: false }
    }

    /// What functions of boxes take: a value from which the rest is taken, and what is given.
    fn arguments(&self, value: &Atom, given: &[Vec<Atom>]) -> Vec<Atom> {
        let own = (!self.given.contains(&TangentForm::Value)).then(|| value.clone());
        own.into_iter().chain(given.iter().flatten().cloned()).collect()
    }
}

/// What a recipe makes of what is given, of a value; what is no Real is that of the value. Nothing is made for tangents
/// of what has no Reals.
pub(super) fn make(
    (b, module, cache): AdjointCx<'_>,
    value: &Atom,
    given: &[Vec<Atom>],
    recipe: &Recipe,
) -> Vec<Atom> {
    let ty = b.ty(value);
    if !differentiable(module, &ty) {
        return match recipe.made {
            TangentForm::Value => vec![value.clone()],
            TangentForm::Tangents(_) => Vec::new(),
        };
    }
    match (value, ty) {
        (Atom::Unused(_), ty) => {
            recipe.made.types(module, cache, &ty).into_iter().map(Atom::Unused).collect()
        }
        (_, FlatTy::Box(id)) => {
            let function = of_box(module, cache, id, recipe);
            vec![b.one(module, Op::Call(function, recipe.arguments(value, given)))]
        }
        (_, FlatTy::Array(Elem::Box(id), rank)) => {
            let function = of_box(module, cache, id, recipe);
            vec![each(b, module, &recipe.arguments(value, given), rank, function)]
        }
        (
            _,
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_),
        ) => {
            let mut made = Vec::new();
            for c in &recipe.from {
                let x = given[c.of][c.place].clone();
                let x = scaled(b, module, x, (RealOp::Mul, c.times));
                made.push(scaled(b, module, x, (RealOp::Div, c.over)));
            }
            made
        }
    }
}

/// A Real or an array of them times a number, or over it.
fn scaled(b: &mut Builder, module: &Module, x: Atom, (op, by): (RealOp, u32)) -> Atom {
    if by == 1 || matches!(x, Atom::Real(0.0)) {
        return x;
    }
    if let FlatTy::Array(..) = b.ty(&x) {
        let count = b.one(module, Op::Dim(x.clone(), 0));
        let index: Var = b.var(FlatTy::Int, None);
        b.open();
        let element = b.one(module, Op::Get(x, vec![Atom::Var(index)]));
        let element = scaled(b, module, element, (op, by));
        let body = b.close(vec![element]);
        return b.one(module, Op::Build { count, index, body });
    }
    b.one(module, Op::Real(op, vec![x, Atom::Real(f64::from(by))]))
}

/// The function that does what a recipe says with boxes of a type.
fn of_box(module: &mut Module, cache: &mut Deriver, id: BoxId, recipe: &Recipe) -> FunctionId {
    let key = Helper::Convert(id, recipe.clone());
    if let Some(known) = cache.helpers.get(&key) {
        return *known;
    }
    let mut params = Vec::new();
    if !recipe.given.contains(&TangentForm::Value) {
        params.push(FlatTy::Box(id));
    }
    for form in &recipe.given {
        params.extend(form.types(module, cache, &FlatTy::Box(id)));
    }
    let (name, made) = match recipe.made {
        TangentForm::Value => ("from_dot", id),
        TangentForm::Tangents(order) => ("to_dot", shadow(module, cache, id, order)),
    };
    let (mut b, function) = make_helper(module, name, (id, &params), made);
    cache.helpers.insert(key, function);
    let params: Vec<Atom> = (0..params.len() as u32).map(|i| Atom::Var(Var(i))).collect();
    let mut switch = Switch { made, recipe, object: params[0].clone(), given: params };
    if let Some(place) = recipe.given.iter().position(|form| *form == TangentForm::Value) {
        switch.object = switch.given[place].clone();
    } else {
        switch.given.remove(0);
    }
    let only = matches!(recipe.given[..], [TangentForm::Tangents(_)]);
    // Tangents say themselves whether there are any.
    let on = if only { &switch.given[0] } else { &switch.object };
    let on = b.one(module, Op::Tag(on.clone()));
    let mut arms = Vec::new();
    for (tag, variant) in (0..).zip(module.boxes[id.0 as usize].variants.clone()) {
        b.open();
        let made = switch.arm((&mut b, module, cache), (tag, &variant), only);
        arms.push((i64::from(tag), b.close(vec![made])));
    }
    let mut default = None;
    if only {
        b.open();
        let made = match recipe.made {
            TangentForm::Value => {
                let zeroed = zeroed(module, cache, id);
                b.one(module, Op::Call(zeroed, vec![switch.object.clone()]))
            }
            TangentForm::Tangents(_) => {
                b.one(module, Op::New(made, zero_tag(module, id), Vec::new()))
            }
        };
        default = Some(b.close(vec![made]));
    }
    let made = b.one(module, Op::Switch { on, arms, default });
    helpers::complete(module, function, b, vec![made]);
    function
}

/// What a function of boxes has.
struct Switch<'a> {
    /// The type of what is made.
    made: BoxId,
    recipe: &'a Recipe,
    /// The value whose alternative it is.
    object: Atom,
    given: Vec<Atom>,
}

impl Switch<'_> {
    /// What is made of an alternative; whether the tangents are known to be of it.
    fn arm(
        &self,
        (b, module, cache): AdjointCx<'_>,
        (tag, variant): (u32, &Variant),
        known: bool,
    ) -> Atom {
        if self.recipe.made == TangentForm::Value && !varies(module, variant) {
            return self.object.clone();
        }
        let mut first = vec![0; self.given.len()];
        let (mut fields, mut numbers) = (Vec::new(), Vec::new());
        for (index, ty) in (0..).zip(&variant.fields) {
            let differentiable = differentiable(module, ty);
            if !differentiable && self.recipe.made != TangentForm::Value {
                continue;
            }
            let value = b.one(module, Op::Field { object: self.object.clone(), tag, index });
            if !differentiable {
                fields.push(value);
                continue;
            }
            let mut parts = Vec::new();
            for ((given, form), first) in self.given.iter().zip(&self.recipe.given).zip(&mut first)
            {
                parts.push(match form {
                    TangentForm::Value if *given == self.object => vec![value.clone()],
                    TangentForm::Value => {
                        vec![b.one(module, Op::Field { object: given.clone(), tag, index })]
                    }
                    TangentForm::Tangents(order) if known => {
                        let count = tangents(module, cache, ty, *order).len() as u32;
                        let places = *first..*first + count;
                        *first += count;
                        let get = |index| Op::Field { object: given.clone(), tag, index };
                        places.map(|index| b.one(module, get(index))).collect()
                    }
                    TangentForm::Tangents(order) => {
                        let of = (&self.object, given, &value);
                        field(b, module, cache, of, (tag, index), *order)
                    }
                });
            }
            let made = make((b, module, cache), &value, &parts, self.recipe);
            numbers.extend_from_slice(&made);
            fields.extend(made);
        }
        if self.recipe.watched {
            watch(b, module, &numbers);
        }
        b.one(module, Op::New(self.made, tag, fields))
    }
}

/// What a value with tangents in the place of its Reals is as a tangent; none of what has no Reals.
pub(super) fn to_tangent(cx: AdjointCx<'_>, value: &Atom) -> Option<Atom> {
    let recipe = Recipe::new(
        vec![TangentForm::Value],
        TangentForm::Tangents(1),
        vec![ScaledCoefficient::at(0)],
    );
    make(cx, value, &[vec![value.clone()]], &recipe).pop()
}

/// The value with the Reals of its tangent in the place of its own.
pub(super) fn from_tangent(cx: AdjointCx<'_>, value: &Atom, dot: &Atom) -> Atom {
    let recipe = Recipe::new(
        vec![TangentForm::Tangents(1)],
        TangentForm::Value,
        vec![ScaledCoefficient::at(0)],
    );
    make(cx, value, &[vec![dot.clone()]], &recipe).pop().unwrap_or(value.clone())
}
