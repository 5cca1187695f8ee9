//! Writing traces: every redex becomes a `let` with a variable of its own (Figure 5).
//!
//! What comes in: trace terms of values. What goes out: values, usually the variable that was bound. What
//! always holds: a part of a closed value and a structure of closed values are closed values, without a
//! `let`; tuples of values are values, as in the paper; other structures that hold a trace variable get
//! a `let` (ours), so terms are as deep as types.

use super::syntax::{
    internal, part_of, part_term, part_ty, parts, structure_term, Binding, Influence, Variable, C,
    V, X,
};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::derivative::sweep::Watch;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::Limits;
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::term::Program;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::{first_order, mentions_real};
use diffeo_calculus::value::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// After how many steps the limits are checked again.
const CHECK: u64 = 1024;

/// What an evaluation shares with the traces that it gives.
pub(super) struct TraceShared {
    pub program: Rc<Program>,
    /// What the evaluation may take.
    pub limits: Limits,
    /// Bindings and steps so far.
    pub steps: Cell<u64>,
    /// Operations on Reals so far, in both modes.
    pub operations: Cell<u64>,
    /// The place of the redex at hand.
    pub site: Cell<Span>,
    /// What derivatives that are nan come from.
    pub watch: RefCell<Watch>,
    /// The number of the next trace variable.
    next: Cell<u32>,
    traced: RefCell<HashMap<Ty, bool>>,
}

impl TraceShared {
    pub fn new(program: Rc<Program>, limits: Limits) -> TraceShared {
        TraceShared {
            program,
            limits,
            steps: Cell::new(0),
            operations: Cell::new(0),
            site: Cell::new(Span::NONE),
            watch: RefCell::default(),
            next: Cell::new(1),
            traced: RefCell::default(),
        }
    }

    /// Whether values of the type take part in traces: it is first-order, and there is a Real in it.
    pub fn traced(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Real => true,
            Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Fun(_) | Ty::Param(_) => false,
            Ty::Tuple(_) | Ty::Record(_) | Ty::Array(_) | Ty::Data(..) => {
                if let Some(known) = self.traced.borrow().get(ty) {
                    return *known;
                }
                let traced = first_order(ty, &self.program) && mentions_real(ty, &self.program);
                self.traced.borrow_mut().insert(ty.clone(), traced);
                traced
            }
        }
    }

    /// One step more.
    pub fn step(&self) -> Result<(), ErrorKind> {
        let steps = self.steps.get() + 1;
        self.steps.set(steps);
        if steps.is_multiple_of(CHECK) {
            self.limits.check().map_err(ErrorKind::Exceeded)?;
        }
        Ok(())
    }

    /// So many operations on Reals more.
    pub fn count(&self, operations: u64) {
        self.operations.set(self.operations.get() + operations);
    }

    /// A new trace variable.
    pub fn variable(&self, name: &Name, ty: &Ty, value: Value, influence: Influence) -> X {
        let id = self.next.get();
        self.next.set(id + 1);
        let influence = RefCell::new(influence);
        Rc::new(Variable { id, name: name.clone(), ty: ty.clone(), value, influence })
    }
}

/// Writes bindings at the end of a trace.
pub(super) struct TraceWriter<'a> {
    pub cx: &'a TraceShared,
    pub out: &'a mut Vec<Binding>,
}

/// What becomes of a Real.
pub(super) type Map<'f> = &'f mut dyn FnMut(&mut TraceWriter<'_>, V) -> Result<V, ErrorKind>;

/// What becomes of two Reals at one place of two structures.
pub(super) type Zip<'f> = &'f mut dyn FnMut(&mut TraceWriter<'_>, V, V) -> Result<V, ErrorKind>;

impl TraceWriter<'_> {
    /// `let x:T = C in`, where C is a term of values; x.
    pub fn bind(&mut self, name: &Name, ty: &Ty, term: C) -> Result<V, ErrorKind> {
        let value = term.value()?;
        self.bind_to(name, ty, term, value)
    }

    /// The same with the value of C.
    pub fn bind_to(&mut self, name: &Name, ty: &Ty, term: C, value: Value) -> Result<V, ErrorKind> {
        self.cx.step()?;
        if let C::Op(..) = term {
            self.cx.count(1);
        }
        let x = self.cx.variable(name, ty, value, term.influence());
        self.out.push(Binding { x: x.clone(), term, held: None, site: self.cx.site.get() });
        Ok(V::Var(x))
    }

    /// `let t:T = C in`
    fn temporary(&mut self, ty: &Ty, term: C) -> Result<V, ErrorKind> {
        let name = Name::new("t");
        self.bind(&name, ty, term)
    }

    /// A Real that the traces of `mask` influence, too, whatever it was made of: with derivative zero (ours).
    pub fn influenced(&mut self, v: V, mask: u128) -> Result<V, ErrorKind> {
        let x = match v {
            V::Var(x) => x,
            V::Closed(_) | V::Tuple(_) | V::Data(..) | V::Array(_) | V::Closure(..) => {
                let term = v.term(&Ty::Real)?;
                match self.temporary(&Ty::Real, term)? {
                    V::Var(x) => x,
                    other => return Ok(other),
                }
            }
        };
        let all = x.influence.borrow().mask() | mask;
        *x.influence.borrow_mut() = Influence::All(all);
        Ok(V::Var(x))
    }

    /// op(V, …) ⇝ op(V, …)
    pub fn op(&mut self, op: RealOp, operands: &[&V]) -> Result<V, ErrorKind> {
        let operands: Result<Vec<C>, ErrorKind> =
            operands.iter().map(|v| v.term(&Ty::Real)).collect();
        self.temporary(&Ty::Real, C::Op(op, operands?))
    }

    /// V.i ⇝ V.i, and so for fields and elements, of a value of this type.
    pub fn part(&mut self, v: &V, ty: &Ty, i: usize) -> Result<V, ErrorKind> {
        match v {
            V::Closed(value) => part_of(value, i).map(V::Closed),
            V::Var(x) => {
                let part = part_ty(&self.cx.program, ty, &x.value, i)?;
                if self.cx.traced(&part) {
                    let term = part_term(ty, &x.value, i, C::Var(x.clone()))?;
                    self.temporary(&part, term)
                } else {
                    part_of(&x.value, i).map(V::Closed)
                }
            }
            V::Tuple(parts) if self.cx.traced(ty) => {
                let types = ty.components().unwrap_or_default();
                match (parts.0.get(i), types.get(i)) {
                    (Some(_), Some(part)) if self.cx.traced(part) => {
                        let term = C::Proj(ty.clone(), i, Box::new(v.term(ty)?));
                        self.temporary(part, term)
                    }
                    (Some(part), _) => Ok(part.clone()),
                    (None, _) => Err(internal("a component that is not there")),
                }
            }
            // At types with functions in them.
            V::Tuple(parts) | V::Data(_, parts) | V::Array(parts) => {
                parts.0.get(i).cloned().ok_or_else(|| internal("a part that is not there"))
            }
            V::Closure(..) => Err(internal("a part of a function")),
        }
    }

    /// A structure like this value, of this type, from its parts.
    pub fn structure(&mut self, ty: &Ty, like: &Value, parts: Vec<V>) -> Result<V, ErrorKind> {
        if !parts.iter().all(V::is_closed) && !matches!(like, Value::Tuple(_)) && self.cx.traced(ty)
        {
            let mut terms = Vec::with_capacity(parts.len());
            for (i, v) in parts.iter().enumerate() {
                terms.push(v.term(&part_ty(&self.cx.program, ty, like, i)?)?);
            }
            return self.temporary(ty, structure_term(ty, like, terms)?);
        }
        match like {
            Value::Data(data) => V::structure(
                parts,
                |open| V::Data(data.tag, open),
                |closed| Ok(Value::data(data.tag, closed)),
            ),
            Value::Array(_) => V::structure(parts, V::Array, |closed| {
                Ok(Value::array(Array::from_values(closed)?))
            }),
            Value::Unit
            | Value::Real(_)
            | Value::Int(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Tuple(_)
            | Value::Function(_)
            | Value::Dual { .. }
            | Value::Active(_)
            | Value::Zero => V::structure(parts, V::Tuple, |closed| Ok(Value::tuple(closed))),
        }
    }

    /// All parts of a value of this type.
    pub fn parts(&mut self, v: &V, ty: &Ty) -> Result<Vec<V>, ErrorKind> {
        let n = match v {
            V::Tuple(parts) | V::Data(_, parts) | V::Array(parts) => parts.0.len(),
            V::Closed(value) => parts(value),
            V::Var(x) => parts(&x.value),
            V::Closure(..) => 0,
        };
        (0..n).map(|i| self.part(v, ty, i)).collect()
    }

    /// The structure with its Reals replaced.
    pub fn map(&mut self, v: &V, ty: &Ty, f: Map) -> Result<V, ErrorKind> {
        if *ty == Ty::Real {
            return f(self, v.clone());
        }
        let like = v.close();
        if !self.cx.traced(ty) || parts(&like) == 0 {
            return Ok(v.clone());
        }
        deep(|| {
            let mut out = Vec::new();
            for i in 0..parts(&like) {
                let part = self.part(v, ty, i)?;
                out.push(self.map(&part, &part_ty(&self.cx.program, ty, &like, i)?, f)?);
            }
            self.structure(ty, &like, out)
        })
    }

    /// The structure of the first with its Reals replaced by what is made of those of both.
    pub fn zip(&mut self, a: &V, b: &V, ty: &Ty, f: Zip) -> Result<V, ErrorKind> {
        if *ty == Ty::Real {
            return f(self, a.clone(), b.clone());
        }
        let like = a.close();
        if !self.cx.traced(ty) || parts(&like) == 0 {
            return Ok(a.clone());
        }
        deep(|| {
            let mut out = Vec::new();
            for i in 0..parts(&like) {
                let (a, b) = (self.part(a, ty, i)?, self.part(b, ty, i)?);
                out.push(self.zip(&a, &b, &part_ty(&self.cx.program, ty, &like, i)?, f)?);
            }
            self.structure(ty, &like, out)
        })
    }

    /// φ | ρ ⊢ C ⇝ D for a trace term C: a `let` for every redex in it, in new variables. ρ has the values of
    /// variables that are not those of C.
    pub fn symbolic(&mut self, c: &C, rho: &mut HashMap<u32, V>) -> Result<V, ErrorKind> {
        let mut all = |this: &mut Self, terms: &[C]| -> Result<Vec<V>, ErrorKind> {
            deep(|| terms.iter().map(|c| this.symbolic(c, rho)).collect())
        };
        match c {
            C::Var(x) => Ok(rho.get(&x.id).cloned().unwrap_or_else(|| V::Var(x.clone()))),
            C::Closed(value, _) => Ok(V::Closed(value.clone())),
            C::Op(op, operands) => {
                let operands = all(self, operands)?;
                self.op(*op, &operands.iter().collect::<Vec<_>>())
            }
            C::Let(x, c, d) => deep(|| {
                let v = self.symbolic(c, rho)?;
                let bound = self.bind_to(&x.name, &x.ty, v.term(&x.ty)?, v.close())?;
                let outer = rho.insert(x.id, bound);
                let result = self.symbolic(d, rho)?;
                match outer {
                    Some(outer) => rho.insert(x.id, outer),
                    None => rho.remove(&x.id),
                };
                Ok(result)
            }),
            C::Tuple(ty, components) => {
                let components = all(self, components)?;
                self.structure(ty, &Value::tuple([]), components)
            }
            C::Con(data, args, tag, fields) => {
                let fields = all(self, fields)?;
                let ty = Ty::Data(*data, args.clone());
                self.structure(&ty, &Value::data(*tag, []), fields)
            }
            C::Array(element, elements) => {
                let elements = all(self, elements)?;
                self.structure(&Ty::array(element.clone()), &Value::array(Array::empty()), elements)
            }
            C::Proj(ty, i, c) => {
                let v = deep(|| self.symbolic(c, rho))?;
                self.part(&v, ty, *i)
            }
            C::Field(data, args, _, i, c) => {
                let v = deep(|| self.symbolic(c, rho))?;
                self.part(&v, &Ty::Data(*data, args.clone()), *i)
            }
            C::Element(element, i, c) => {
                let v = deep(|| self.symbolic(c, rho))?;
                self.part(&v, &Ty::array(element.clone()), *i)
            }
        }
    }
}
