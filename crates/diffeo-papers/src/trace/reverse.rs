//! W.R_V(x:T. C), the symbolic differentiation of trace terms, as it is printed (Figure 6).
//!
//! What comes in: a trace term C with the variable x, and trace terms V and W. What goes out: a trace term.
//! The body of a `let` is differentiated twice, so the size is exponential in the number of `let`s:
//! [`super::linear`] is what programs are run with.

use super::operations::Result;
use super::partial::partial;
use super::record::TraceShared;
use super::syntax::{internal, part_term, part_ty, parts, structure_term, C, X};
use diffeo_base::Name;
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::value::Value;
use std::collections::HashSet;
use std::rc::Rc;

/// What stays the same in a derivative: V, x and T; and where new variables come from.
pub(super) struct Reverse<'a> {
    pub cx: &'a TraceShared,
    /// V
    pub v: C,
    /// x:T
    pub x: X,
    /// The variables that count as constant here (ours): see [`super::syntax::Binding::held`].
    pub held: &'a HashSet<u32>,
}

impl Reverse<'_> {
    /// W.R_V(x:T. C)
    pub fn derivative(&self, w: C, c: &C) -> Result<C> {
        diffeo_base::deep(|| self.rule(w, c))
    }

    fn rule(&self, w: C, c: &C) -> Result<C> {
        match c {
            // W.R_V(x:T. y) = W if y = x, 0_T if not
            C::Var(y) if y.id == self.x.id => Ok(w),
            C::Var(_) => self.zero(),

            // W.R_V(x:T. r) = 0_T, and W.R_V(x:T. *) = 0_T
            C::Closed(..) => self.zero(),

            // W.R_V(x:T. D + E) = W.R_V(x:T. D) +_T W.R_V(x:T. E)
            C::Op(RealOp::Add, operands) => {
                let [d, e] = operands.as_slice() else { return Err(internal("a sum of two")) };
                self.share("w", w, Ty::Real, |w| {
                    let (d, e) = (self.derivative(w.clone(), d)?, self.derivative(w, e)?);
                    self.plus(&self.x.ty, &self.x.value, d, e)
                })
            }

            // W.R_V(x:T. op(D)) = let x:T = V in let y:S = W.op_r(D) in y.R_V(x:T. D)
            C::Op(op, operands) => {
                let slope = self.op_r(*op, w, operands)?;
                let derivative = match operands.as_slice() {
                    [d] => self.share("y", slope, Ty::Real, |y| self.derivative(y, d))?,
                    _ => {
                        let ty = Ty::tuple(vec![Ty::Real; operands.len()]);
                        let d = C::Tuple(ty.clone(), operands.clone());
                        self.share("y", slope, ty, |y| self.derivative(y, &d))?
                    }
                };
                Ok(self.let_x(derivative))
            }

            // W.R_V(x:T. let y:S = D in E) = let x:T = V in let y:S = D in
            //     W.R_V(x:T. E) +_T (let ȳ:S = W.R_y(y:S. E) in ȳ.R_V(x:T. D))
            C::Let(y, d, e) => {
                let direct = self.derivative(w.clone(), e)?;
                if self.held.contains(&y.id) {
                    return Ok(self.let_x(C::Let(y.clone(), d.clone(), Box::new(direct))));
                }
                let (v, x) = (C::Var(y.clone()), y.clone());
                let at_y = Reverse { cx: self.cx, v, x, held: self.held };
                let y_bar = at_y.derivative(w, e)?;
                let through =
                    self.share("y_bar", y_bar, y.ty.clone(), |y_bar| self.derivative(y_bar, d))?;
                let sum = self.plus(&self.x.ty, &self.x.value, direct, through)?;
                Ok(self.let_x(C::Let(y.clone(), d.clone(), Box::new(sum))))
            }

            // W.R_V(x:T. ⟨M, N⟩_{U,S}) = let y:U, z:S = W in y.R_V(x:T. M) +_T z.R_V(x:T. N)
            C::Tuple(ty, components) => self.parts(ty, w, c, components),
            // (ours) the same for the parts of constructors and arrays
            C::Con(data, args, _, fields) => {
                self.parts(&Ty::Data(*data, args.clone()), w, c, fields)
            }
            C::Array(element, elements) => self.parts(&Ty::array(element.clone()), w, c, elements),

            // W.R_V(x:T. fst_{U,S}(D)) = let x:T = V in let y:U×S = D in ⟨W, 0_S⟩.R_V(x:T. D)
            // W.R_V(x:T. snd_{U,S}(D)) = let x:T = V in let y:U×S = D in ⟨0_U, W⟩.R_V(x:T. D)
            C::Proj(ty, i, d) => self.one_part(ty, *i, w, d),
            // (ours) the same for fields and elements
            C::Field(data, args, _, i, d) => self.field(*data, args, *i, w, d),
            C::Element(element, i, d) => self.one_part(&Ty::array(element.clone()), *i, w, d),
        }
    }

    fn field(&self, data: DataId, args: &Rc<[Ty]>, i: usize, w: C, d: &C) -> Result<C> {
        self.one_part(&Ty::Data(data, args.clone()), i, w, d)
    }

    /// The rule for structures of type U: each part of W goes to a part of the structure.
    fn parts(&self, ty: &Ty, w: C, c: &C, components: &[C]) -> Result<C> {
        let like = c.value()?;
        self.share("w", w, ty.clone(), |w| {
            let mut sum = None;
            for (i, component) in components.iter().enumerate() {
                if !self.cx.traced(&part_ty(&self.cx.program, ty, &like, i)?) {
                    continue;
                }
                let w = part_term(ty, &like, i, w.clone())?;
                let next = self.derivative(w, component)?;
                sum = Some(match sum {
                    None => next,
                    Some(sum) => self.plus(&self.x.ty, &self.x.value, sum, next)?,
                });
            }
            sum.map_or_else(|| self.zero(), Ok)
        })
    }

    /// The rule for part i of D of type U: W at its place, and 0 elsewhere.
    fn one_part(&self, ty: &Ty, i: usize, w: C, d: &C) -> Result<C> {
        let value = d.value()?;
        let mut all = Vec::new();
        for j in 0..parts(&value) {
            let part = part_ty(&self.cx.program, ty, &value, j)?;
            let zero = zero_of(&super::syntax::part_of(&value, j)?)?;
            all.push(if i == j { w.clone() } else { C::Closed(zero, part) });
        }
        let w = structure_term(ty, &value, all)?;
        let derivative = self.share("w", w, ty.clone(), |w| self.derivative(w, d))?;
        let y = self.variable("y", ty.clone(), value);
        Ok(self.let_x(C::Let(y, Box::new(d.clone()), Box::new(derivative))))
    }

    /// let x:T = V in C
    fn let_x(&self, c: C) -> C {
        match &self.v {
            // x:T = x
            C::Var(v) if v.id == self.x.id => c,
            v => C::Let(self.x.clone(), Box::new(v.clone()), Box::new(c)),
        }
    }

    fn variable(&self, name: &str, ty: Ty, value: Value) -> X {
        self.cx.variable(&Name::new(name), &ty, value, super::syntax::Influence::NONE)
    }

    /// let y:S = C in D, so that y and not C is what occurs several times.
    fn share(&self, name: &str, c: C, ty: Ty, d: impl FnOnce(C) -> Result<C>) -> Result<C> {
        if let C::Var(_) | C::Closed(..) = c {
            return d(c);
        }
        let y = self.variable(name, ty, c.value()?);
        *y.influence.borrow_mut() = c.influence();
        let body = d(C::Var(y.clone()))?;
        Ok(C::Let(y, Box::new(c), Box::new(body)))
    }

    /// W.op_r(D): the product of W with each partial derivative.
    fn op_r(&self, op: RealOp, w: C, operands: &[C]) -> Result<C> {
        self.share("w", w, Ty::Real, |w| self.op_r_at(op, w, operands, Vec::new()))
    }

    /// The same with the first operands bound to variables.
    fn op_r_at(&self, op: RealOp, w: C, operands: &[C], mut bound: Vec<C>) -> Result<C> {
        if let Some(next) = operands.get(bound.len()) {
            return self.share("d", next.clone(), Ty::Real, |d| {
                bound.push(d);
                self.op_r_at(op, w, operands, bound)
            });
        }
        self.share("r", C::Op(op, bound.clone()), Ty::Real, |r| {
            let mut slopes = Vec::new();
            for i in 0..bound.len() {
                slopes.push(match partial(op, i, &bound, &r)? {
                    None => C::real(0.0),
                    Some(slope) => C::Op(RealOp::Mul, vec![w.clone(), slope]),
                });
            }
            match slopes.len() {
                1 => Ok(slopes.remove(0)),
                n => Ok(C::Tuple(Ty::tuple(vec![Ty::Real; n]), slopes)),
            }
        })
    }

    /// 0_T
    fn zero(&self) -> Result<C> {
        Ok(C::Closed(zero_of(&self.x.value)?, self.x.ty.clone()))
    }

    /// M +_T N, by induction on T; `like` has the constructors and lengths.
    fn plus(&self, ty: &Ty, like: &Value, m: C, n: C) -> Result<C> {
        // M +_real N = M + N
        if *ty == Ty::Real {
            return Ok(C::Op(RealOp::Add, vec![m, n]));
        }
        // M +_unit N = let x:unit = M in let y:unit = N in *, and (ours) the same at leaf types
        if !self.cx.traced(ty) || parts(like) == 0 {
            return Ok(m);
        }
        // M +_{T×U} N = let ⟨x₁:T, x₂:U⟩ = M in let ⟨y₁:T, y₂:U⟩ = N in ⟨x₁ +_T y₁, x₂ +_U y₂⟩
        diffeo_base::deep(|| {
            self.share("m", m, ty.clone(), |m| {
                self.share("n", n, ty.clone(), |n| {
                    let mut sums = Vec::new();
                    for i in 0..parts(like) {
                        let part = part_ty(&self.cx.program, ty, like, i)?;
                        let like_part = super::syntax::part_of(like, i)?;
                        let m = part_term(ty, like, i, m.clone())?;
                        let n = part_term(ty, like, i, n.clone())?;
                        sums.push(self.plus(&part, &like_part, m, n)?);
                    }
                    structure_term(ty, like, sums)
                })
            })
        })
    }
}

/// 0_T in the shape of a value: its Reals are 0.
pub(super) fn zero_of(value: &Value) -> Result<Value> {
    map_leaves(value, &mut |_| Ok(Value::Real(0.0)))
}
