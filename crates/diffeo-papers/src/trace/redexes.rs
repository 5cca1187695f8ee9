//! Redexes R: ordinary evaluation R ⇒ V (Figures 2 and 8) and symbolic evaluation R ⇝ C (Figures 4 and 8).
//!
//! What comes in: a redex, that is, a form whose parts are values. What goes out: its value, or the term that
//! goes on. What always holds: while a trace is open the same rules also write it, and conditionals,
//! calls, definitions and derivatives leave nothing of themselves in it. The operations are in
//! `operations.rs`.

use super::contexts::{Next, E};
use super::linear::{self, Taken};
use super::prepare::{Bind, Id, PreparedProgram, PreparedTerm, VarSlot};
use super::record::TraceWriter;
use super::reverse::Reverse;
use super::syntax::{closure, internal, same_constants, C, V};
use super::{Activation, OpenTrace, Origin, TraceEvaluator, TraceFailure};
use diffeo_base::{Name, Span};
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::derivative::{
    from_derivatives, jet_coefficients, to_derivatives, JetShape,
};
use diffeo_calculus::eval::error::{written, ErrorKind};
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::leaves::{each_leaf, each_leaf_pair};
use diffeo_calculus::prim::{Diff, DiffOp, Prim, RealOp};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::value::{FunctionValue, Value};
use std::collections::{HashMap, HashSet};

/// How deep derivatives may nest.
const DEEPEST: usize = 128;

impl TraceEvaluator {
    /// Writes to the innermost trace. In ordinary evaluation there is none, and nothing is written.
    pub(super) fn writer(&mut self) -> TraceWriter<'_> {
        let here = self.code.spans.get(self.site as usize).copied().unwrap_or(Span::NONE);
        self.cx.site.set(self.at.place(here));
        let out = self.open.last_mut().map_or(&mut self.nothing, |open| &mut open.bindings);
        TraceWriter { cx: &self.cx, out }
    }

    /// ρ(x)
    pub(super) fn lookup(&self, place: VarSlot) -> Result<V, TraceFailure> {
        let found = match place {
            VarSlot::Local(i) => self.rho.get(self.at.base + i as usize).cloned(),
            VarSlot::Captured(i) => captured(&self.at.this, i as usize),
        };
        found.ok_or_else(|| internal("a variable has no value").into())
    }

    /// ρ[V/x], where scopes that were left end.
    pub(super) fn set(&mut self, place: u32, v: V) {
        self.rho.truncate(self.at.base + place as usize);
        self.rho.push(v);
    }

    /// let x:T = V in N
    ///
    /// ```text
    /// φ | ρ ⊢ V ⇒ V′    φ | ρ[V′/x] ⊢ N ⇒ W           φ | ρ ⊢ V ⇒ V′    φ | ρ[V′/x] ⊢ N ⇝ C
    /// ──────────────────────────────────────           ─────────────────────────────────────────────
    ///    φ | ρ ⊢ let x:T = V in N ⇒ W                   φ | ρ ⊢ let x:T = V in N ⇝ let x:T = V in C
    /// ```
    ///
    /// Where T is no type of traces (ours), x is V.
    pub(super) fn bind(&mut self, bind: &Bind, v: V) -> Result<(), ErrorKind> {
        let v = if bind.traced && !self.open.is_empty() {
            let (term, value) = (v.term(&bind.ty)?, v.close());
            self.writer().bind_to(&bind.name, &bind.ty, term, value)?
        } else {
            v
        };
        self.set(bind.place, v);
        Ok(())
    }

    /// clo_φ(f(x:T):U. M), with the values of the free variables of M (ours).
    pub(super) fn closure(
        &mut self,
        code: &PreparedProgram,
        number: u32,
    ) -> Result<V, TraceFailure> {
        let function = &code.functions[number as usize];
        let mut parts = Vec::with_capacity(function.captures.len());
        for place in &function.captures {
            parts.push(self.lookup(*place)?);
        }
        if let Some(fuel) = self.fuel {
            parts.push(V::Closed(Value::Int(self.at.fuel as i64)));
            if function.recursive {
                parts.push(V::Closed(Value::Int(fuel as i64)));
            }
        }
        let closed = |values| Ok(closure(number, values));
        Ok(V::structure(parts, |open| V::Closure(number, open), closed)?)
    }

    /// φ(f) of a definition.
    pub(super) fn definition(&mut self, global: u32, function: u32) -> V {
        if let Some(fuel) = self.fuel {
            let group = self.groups[global as usize];
            if group.is_none() {
                return V::Closed(closure(function, Vec::new()));
            }
            let same = group == self.groups.get(self.at.definition as usize).copied().flatten();
            let left = if same { self.at.fuel } else { fuel };
            return V::Closed(closure(function, vec![Value::Int(left as i64)]));
        }
        let known = &mut self.values[global as usize];
        V::Closed(known.get_or_insert_with(|| closure(function, Vec::new())).clone())
    }

    /// The constant of a definition (ours): evaluated once, outside all traces.
    pub(super) fn constant(&mut self, global: u32, body: Id) -> Result<Next, TraceFailure> {
        if let Some(value) = &self.values[global as usize] {
            return Ok(Next::Value(V::Closed(value.clone())));
        }
        if let Some(first) = self.constants.iter().position(|open| *open == global) {
            let names = self.constants[first..].iter().chain([&global]);
            let name = |global: &u32| self.cx.program.globals[*global as usize].name.clone();
            return Err(ErrorKind::ConstantCycle { names: names.map(name).collect() }.into());
        }
        let span = self.code.spans[body as usize];
        let library = self.cx.program.library.contains(&span.file);
        let entered = library && !self.at.library;
        let activation = Activation {
            base: self.rho.len(),
            this: V::Closed(Value::Unit),
            definition: global,
            library,
            origin: if entered { self.origin(None) } else { self.at.origin.clone() },
            fuel: self.fuel.unwrap_or(0),
        };
        let outer = std::mem::replace(&mut self.at, activation);
        let open = std::mem::take(&mut self.open);
        self.constants.push(global);
        self.stack.push(E::Constant(global, Box::new((outer, open))));
        Ok(Next::Term(body))
    }

    /// f(V)
    ///
    /// ```text
    /// φ | ρ ⊢ V ⇒ V′    φ′[φ(f)/f] | {x ↦ V′} ⊢ M ⇒ W        φ | ρ ⊢ V ⇒ V′    φ′[φ(f)/f] | {x ↦ V′} ⊢ M ⇝ C
    /// ───────────────────────────────────────────────        ───────────────────────────────────────────────
    ///    φ | ρ ⊢ f(V) ⇒ W                                       φ | ρ ⊢ f(V) ⇝ let x:T = V in C
    /// ```
    ///
    /// where φ(f) = clo_φ′(f(x:T):U. M); with limited recursion φ(f) = clo_{n+1,φ′}, and clo_{n,φ′} is what f is
    /// in M.
    pub(super) fn call(
        &mut self,
        code: &PreparedProgram,
        f: &V,
        argument: V,
    ) -> Result<Next, TraceFailure> {
        let number = match f {
            V::Closed(Value::Function(rc)) => match &**rc {
                FunctionValue::Closure { code, .. } => *code,
                FunctionValue::Pullback(_) => return Err(internal("a pullback").into()),
            },
            V::Closure(number, _) => *number,
            V::Closed(_) | V::Var(_) | V::Tuple(_) | V::Data(..) | V::Array(_) => {
                return Err(internal("a call of what is no function").into());
            }
        };
        let function = &code.functions[number as usize];
        let (fuel, itself) = self.unfold(code, f, number)?;
        let entered = function.library && !self.at.library;
        // A pullback is of no place, and none of the library's functions.
        let called = Some(number).filter(|_| !self.code.spans[function.body as usize].is_none());
        let origin = if entered { self.origin(called) } else { self.at.origin.clone() };
        if let Some(E::Return(_)) = self.stack.last() {
            self.rho.truncate(self.at.base);
        } else {
            self.stack.push(E::Return(self.at.clone()));
            self.depth += 1;
            self.room(function.name.clone())?;
        }
        self.at = Activation {
            base: self.rho.len(),
            this: f.clone(),
            definition: function.definition,
            library: function.library,
            origin,
            fuel,
        };
        if function.recursive {
            self.rho.push(itself.unwrap_or_else(|| f.clone()));
        }
        self.bind(&function.param, argument)?;
        Ok(Next::Term(function.body))
    }

    /// With limited recursion: how often definitions may still unfold in the function, and what a recursive
    /// function is in itself.
    fn unfold(
        &self,
        code: &PreparedProgram,
        f: &V,
        number: u32,
    ) -> Result<(u64, Option<V>), TraceFailure> {
        let Some(limit) = self.fuel else { return Ok((0, None)) };
        let function = &code.functions[number as usize];
        let left = |i: usize| match captured(f, i) {
            Some(V::Closed(Value::Int(n))) => n as u64,
            _ => limit,
        };
        let n = function.captures.len();
        if function.top {
            if self.groups[function.definition as usize].is_none() {
                return Ok((limit, None));
            }
            return Ok((left(0).checked_sub(1).ok_or(TraceFailure::OutOfFuel)?, None));
        }
        if !function.recursive {
            return Ok((left(n), None));
        }
        let own = left(n + 1).checked_sub(1).ok_or(TraceFailure::OutOfFuel)?;
        let mut parts: Vec<V> = (0..=n).filter_map(|i| captured(f, i)).collect();
        parts.push(V::Closed(Value::Int(own as i64)));
        let closed = |values| Ok(closure(number, values));
        let itself = V::structure(parts, |open| V::Closure(number, open), closed)?;
        Ok((left(n), Some(itself)))
    }

    /// The call at hand as the one that led into the standard library.
    fn origin(&self, function: Option<u32>) -> Origin {
        Origin { span: self.code.spans[self.site as usize], function }
    }

    /// Whether open calls have not used up the memory that they may take.
    fn room(&self, function: Name) -> Result<(), TraceFailure> {
        let size = self.stack.len() * size_of::<E>()
            + (self.rho.len() + self.operands.len()) * size_of::<V>();
        if size > self.max_stack {
            let function = written(&function);
            return Err(ErrorKind::TooDeep { depth: self.depth, function }.into());
        }
        Ok(())
    }

    /// W.rd_V(x:T. N)
    ///
    /// ```text
    /// φ | ρ ⊢ W.rd_V(x:T. N) ⇝ C    φ | ρ ⊢ C ⇒ X        φ | ρ ⊢ V ⇒ V′    φ | ρ[V′/x] ⊢ N ⇝ C
    /// ───────────────────────────────────────────        ─────────────────────────────────────────────
    ///      φ | ρ ⊢ W.rd_V(x:T. N) ⇒ X                     φ | ρ ⊢ W.rd_V(x:T. N) ⇝ W.R_V(x:T. C)
    /// ```
    ///
    /// N is f(x). Here a trace for C is opened; [`TraceEvaluator::taken`] has the rest.
    pub(super) fn rd(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        diff: &Diff,
        operands: &[V],
    ) -> Result<Next, TraceFailure> {
        let [f, v, w] = operands else { return Err(internal("three operands").into()) };
        let traced = self.cx.traced(&diff.from);
        self.stack.push(E::Taken(id, Box::new((v.clone(), w.clone(), traced))));
        if !traced {
            return self.call(code, f, v.clone());
        }
        self.open_trace(code, f, &diff.from, v, code.is_forward(id))
    }

    /// φ | ρ[V′/x] ⊢ f(x), in a trace of its own.
    fn open_trace(
        &mut self,
        code: &PreparedProgram,
        f: &V,
        ty: &Ty,
        v: &V,
        forward: bool,
    ) -> Result<Next, TraceFailure> {
        let level = self.open.len();
        if level >= DEEPEST {
            let function = Name::new("derivatives");
            return Err(ErrorKind::TooDeep { depth: level, function }.into());
        }
        let influence = v.influence().with(level as u32);
        let x = self.cx.variable(&parameter(code, f), ty, v.close(), influence);
        self.open.push(OpenTrace { x: x.clone(), bindings: Vec::new(), forward });
        self.call(code, f, V::Var(x))
    }

    /// Ends the innermost trace, of which y is the value.
    fn close_trace(&mut self, y: &V, ty: &Ty) -> Result<Taken, TraceFailure> {
        let OpenTrace { x, bindings, .. } = self.open.pop().ok_or_else(|| internal("a trace"))?;
        let level = self.open.len() as u32;
        Ok(Taken { x, level, bindings, result: y.term(ty)?, ty: ty.clone() })
    }

    /// W.R_V(x:T. C), when C, which gives y, was taken.
    pub(super) fn taken(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        y: &V,
        v: &V,
        w: &V,
        open: bool,
    ) -> Result<V, TraceFailure> {
        let PreparedTerm::Diff(diff, ..) = &code.nodes[id as usize] else {
            return Err(internal("a derivative").into());
        };
        each_leaf_pair("the cotangent", &y.close(), &w.close(), &mut |_, _| Ok(()))?;
        if !open {
            return Ok(v.clone());
        }
        let taken = self.close_trace(y, &diff.to)?;
        let w = &self.cotangent(&y.close(), w, &diff.to)?;
        if self.quiet == 0 {
            self.cx.watch.take();
        }
        let ordinary = self.open.is_empty();
        let mut evaluated = Vec::new();
        let out = self.open.last_mut().map_or(&mut evaluated, |open| &mut open.bindings);
        let mut writer = TraceWriter { cx: &self.cx, out };
        let x_bar = match self.printed {
            true => printed(&mut writer, &taken, v, w)?,
            false => linear::reverse(&mut writer, &taken, v, w)?,
        };
        let closed = x_bar.close();
        self.warn(&y.close(), &closed);
        Ok(if ordinary { V::Closed(closed) } else { x_bar })
    }

    /// Warns of a derivative that is nan where the value is finite, if it is not part of another one's definition.
    fn warn(&mut self, y: &Value, derivative: &Value) {
        let nan = each_leaf(derivative, &mut |x| if primal(x).is_nan() { Err(()) } else { Ok(()) });
        if self.quiet == 0 && nan.is_err() && is_finite(y) {
            let culprit = self.cx.watch.take().culprit();
            culprit.into_iter().for_each(|culprit| self.reals.warn_nan(culprit));
            self.collect_warnings();
        }
    }

    /// Value and tangent, of which the definition has been evaluated.
    pub(super) fn pushed(&mut self, pair: &V, finite: bool) -> Result<(), TraceFailure> {
        self.quiet -= 1;
        if finite {
            let (y, tangent) = untuple(pair)?;
            self.warn(&y.close(), &tangent.close());
        }
        Ok(())
    }

    /// W with the leaf constants of y: its own do not count (ours).
    fn cotangent(&mut self, y: &Value, w: &V, ty: &Ty) -> Result<V, ErrorKind> {
        if same_constants(y, &w.close()) {
            return Ok(w.clone());
        }
        self.writer().zip(&V::Closed(y.clone()), w, ty, &mut |_, _, w| Ok(w))
    }

    /// The value of x as a constant of every trace (ours).
    pub(super) fn stop_gradient(&mut self, operands: &[V]) -> Result<Next, TraceFailure> {
        let [x] = operands else { return Err(internal("one operand").into()) };
        Ok(Next::Value(V::Closed(x.close())))
    }

    /// Decisions of f (ours): where f captured what is traced, the evaluator, which knows, is to run the program.
    pub(super) fn decisions(&mut self, operands: &[V]) -> Result<Next, TraceFailure> {
        match operands {
            [f, ..] if f.influence().mask() == 0 => {
                Ok(Next::Value(V::Closed(Value::array(Array::from_reals(Vec::new())))))
            }
            _ => Err(ErrorKind::NanDerivative.into()),
        }
    }

    /// `vjp`, `jvp` and `jet`, by their definitions over `rd` (ours). The value f(x) of the first two is that
    /// of the trace of f at x, so that a rule of [`TraceEvaluator::with_derivative`] gives it where there is one.
    pub(super) fn defined(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        diff: &Diff,
        operands: Vec<V>,
        first: u32,
        body: Id,
    ) -> Result<Next, TraceFailure> {
        let operands = match (diff.op, operands.as_slice()) {
            (DiffOp::Vjp | DiffOp::Jvp, [f, x, tangent @ ..]) => {
                for v in tangent {
                    each_leaf_pair("the tangent", &x.close(), &v.close(), &mut |_, _| Ok(()))?;
                }
                let traced = self.cx.traced(&diff.from);
                let (f, x) = (f.clone(), x.clone());
                self.stack.push(E::Value(id, Box::new((operands, traced))));
                let forward = diff.op == DiffOp::Jvp || code.is_forward(id);
                return match traced {
                    true => self.open_trace(code, &f, &diff.from, &x, forward),
                    false => self.call(code, &f, x),
                };
            }
            (DiffOp::Jet { k, r }, [f, coefficients]) => {
                let shape = JetShape::new(k, r);
                let first = &mut |derivatives: Vec<Value>| Ok(derivatives[0].clone());
                let like = from_derivatives(&coefficients.close(), &shape, first)?;
                let ravel = Prim::Ravel(jet_type(&diff.from));
                let xs = self.prim(&ravel, vec![coefficients.clone()])?;
                let (influence, mut absent) = (xs.influence(), Vec::new());
                each_leaf(&xs.close(), &mut |x| {
                    let constant = influence.part(absent.len()).mask() == 0;
                    absent.push(constant && primal(x) == 0.0);
                    Ok::<(), TraceFailure>(())
                })?;
                let absent = V::Closed(Value::array(Array::from_bools(absent)));
                self.stack.push(E::Jet(id));
                vec![f.clone(), V::Closed(like), xs, absent]
            }
            _ => operands,
        };
        Ok(self.begin(first, operands, body))
    }

    /// A definition, with its operands from this place on.
    fn begin(&mut self, first: u32, operands: Vec<V>, body: Id) -> Next {
        for (place, v) in (first..).zip(operands) {
            self.set(place, v);
        }
        Next::Term(body)
    }

    /// The definition of `vjp` or `jvp`, when y = f(x) was traced: let x:T = V in C, and then the rest.
    pub(super) fn value_taken(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        y: V,
        mut operands: Vec<V>,
        open: bool,
    ) -> Result<Next, TraceFailure> {
        let PreparedTerm::Diff(diff, _, Some((first, body))) = &code.nodes[id as usize] else {
            return Err(internal("a derivative").into());
        };
        let y = if open {
            let taken = self.close_trace(&y, &diff.to)?;
            if self.open.is_empty() {
                V::Closed(y.close())
            } else {
                linear::splice(&mut self.writer(), &taken, &operands[1])?;
                y
            }
        } else {
            y
        };
        operands.push(y);
        if diff.op == DiffOp::Jvp {
            if self.quiet == 0 {
                self.cx.watch.take();
            }
            self.quiet += 1;
            let finite = operands.get(2).is_some_and(|v| is_finite(&v.close()));
            self.stack.push(E::Jvp(id, finite));
        }
        Ok(self.begin(*first, operands, *body))
    }

    /// The value of J(T) from f(x) and the rows of derivatives.
    pub(super) fn jet_result(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        pair: &V,
    ) -> Result<V, TraceFailure> {
        let (PreparedTerm::Diff(diff, ..), V::Tuple(_) | V::Closed(_)) =
            (&code.nodes[id as usize], pair)
        else {
            return Err(internal("a jet").into());
        };
        let DiffOp::Jet { k, r } = diff.op else { return Err(internal("a jet").into()) };
        let (y, rows) = untuple(pair)?;
        let count = jet_coefficients(u64::from(k), u64::from(r)) as usize;
        let all = &mut |leaf: &Value| Ok(vec![leaf.clone(); count]);
        let like = V::Closed(to_derivatives(&y.close(), count, all)?);
        let leaves = self.prim(&Prim::Flatten(Ty::Real), vec![rows])?;
        Ok(self.prim(&Prim::Unravel(jet_type(&diff.to)), vec![like, leaves])?)
    }

    /// The call of a function of which the backward pass keeps no more than the call (ours): all Reals in its value are
    /// influenced by the traces that influence it, as far as none of these is of a forward derivative.
    pub(super) fn checkpoint(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        operands: &[V],
    ) -> Result<Next, TraceFailure> {
        let [f, x] = operands else { return Err(internal("two operands").into()) };
        let mask = f.influence().mask() | x.influence().mask();
        let forward = (0..self.open.len()).rev().filter(|level| mask >> level & 1 == 1);
        let kept = forward.take_while(|level| !self.open[*level].forward);
        let kept = kept.fold(0, |kept, level| kept | 1 << level);
        if kept != 0 {
            self.stack.push(E::Checkpoint(id, kept));
        }
        self.call(code, f, x.clone())
    }

    /// The value of a checkpoint, which the traces of `mask` influence.
    pub(super) fn checkpoint_result(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        mask: u128,
        y: &V,
    ) -> Result<V, TraceFailure> {
        let PreparedTerm::Diff(diff, ..) = &code.nodes[id as usize] else {
            return Err(internal("a derivative").into());
        };
        Ok(self.writer().zip(y, y, &diff.to, &mut |w, y, _| {
            if y.influence().mask() & mask == mask {
                return Ok(y);
            }
            let t = w.bind_to(&Name::new("t"), &Ty::Real, y.term(&Ty::Real)?, y.close())?;
            w.influenced(t, mask)
        })?)
    }

    /// A function with a rule of its own (ours): where nothing that is traced influences it, f(x); else
    /// `let z = x in let ⟨t, dt⟩ = rule(z, x - z) in t + dt`, where z is constant in the innermost trace
    /// that influences it, and in that trace only. So the tangent x - z is 0, with the derivative of x.
    pub(super) fn with_derivative(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        diff: &Diff,
        operands: &[V],
    ) -> Result<Next, TraceFailure> {
        let [f, rule, x] = operands else { return Err(internal("three operands").into()) };
        let mask = [f, rule, x].iter().fold(0, |mask, v| mask | v.influence().mask());
        if mask == 0 {
            return self.call(code, f, x.clone());
        }
        let level = mask.ilog2();
        let mut writer = self.writer();
        let z = if writer.cx.traced(&diff.from) {
            let z = writer.bind_to(&Name::new("z"), &diff.from, x.term(&diff.from)?, x.close())?;
            if let (V::Var(z), Some(last)) = (&z, writer.out.last_mut()) {
                let influence = z.influence.borrow().without(level);
                *z.influence.borrow_mut() = influence;
                last.held = Some(level);
            }
            z
        } else {
            x.clone()
        };
        let v = writer.zip(x, &z, &diff.from, &mut |w, x, z| w.op(RealOp::Sub, &[&x, &z]))?;
        self.stack.push(E::Rule(id, level));
        let parts = vec![z, v];
        let argument = V::structure(parts, V::Tuple, |closed| Ok(Value::tuple(closed)))?;
        self.call(code, rule, argument)
    }

    /// t + dt, which the innermost trace that influences x influences, whatever the rule makes of x.
    pub(super) fn rule_result(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        level: u32,
        pair: &V,
    ) -> Result<V, TraceFailure> {
        let PreparedTerm::Diff(diff, ..) = &code.nodes[id as usize] else {
            return Err(internal("a derivative").into());
        };
        let ty = Ty::tuple(vec![diff.to.clone(), diff.to.clone()]);
        let mut writer = self.writer();
        let (t, dt) = (writer.part(pair, &ty, 0)?, writer.part(pair, &ty, 1)?);
        let rule = "the rule of `with_derivative`";
        each_leaf_pair(rule, &t.close(), &dt.close(), &mut |_, _| Ok(()))?;
        Ok(writer.zip(&t, &dt, &diff.to, &mut |w, t, dt| {
            // dt is 0, but may have been computed as nan.
            let sum = C::Op(RealOp::Add, vec![t.term(&Ty::Real)?, dt.term(&Ty::Real)?]);
            let sum = w.bind_to(&Name::new("t"), &Ty::Real, sum, t.close())?;
            w.influenced(sum, 1 << level)
        })?)
    }
}

/// Whether all numbers in a value are finite.
fn is_finite(v: &Value) -> bool {
    each_leaf(v, &mut |x| if primal(x).is_finite() { Ok(()) } else { Err(()) }).is_ok()
}

/// W.R_V(x:T. C) as in Figure 6.
pub(super) fn printed(
    writer: &mut TraceWriter<'_>,
    taken: &Taken,
    v: &V,
    w: &V,
) -> Result<V, ErrorKind> {
    let held = taken.bindings.iter().filter(|b| b.held == Some(taken.level));
    let held: HashSet<u32> = held.map(|b| b.x.id).collect();
    // What depended on x depends on what V does.
    linear::splice(&mut TraceWriter { cx: writer.cx, out: &mut Vec::new() }, taken, v)?;
    let mut c = taken.result.clone();
    for binding in taken.bindings.iter().rev() {
        c = C::Let(binding.x.clone(), Box::new(binding.term.clone()), Box::new(c));
    }
    let v = v.term(&taken.x.ty)?;
    let reverse = Reverse { cx: writer.cx, v, x: taken.x.clone(), held: &held };
    let derivative = reverse.derivative(w.term(&taken.ty)?, &c)?;
    writer.symbolic(&derivative, &mut HashMap::new())
}

/// A value that a function captured.
fn captured(f: &V, i: usize) -> Option<V> {
    match f {
        V::Closed(Value::Function(rc)) => match &**rc {
            FunctionValue::Closure { captured, .. } => captured.get(i).cloned().map(V::Closed),
            FunctionValue::Pullback(_) => None,
        },
        V::Closure(_, parts) => parts.0.get(i).cloned(),
        V::Closed(_) | V::Var(_) | V::Tuple(_) | V::Data(..) | V::Array(_) => None,
    }
}

/// The name of the parameter of a function.
pub(super) fn parameter(code: &PreparedProgram, f: &V) -> Name {
    let number = match f {
        V::Closed(Value::Function(rc)) => match &**rc {
            FunctionValue::Closure { code, .. } => Some(*code),
            FunctionValue::Pullback(_) => None,
        },
        V::Closure(number, _) => Some(*number),
        V::Closed(_) | V::Var(_) | V::Tuple(_) | V::Data(..) | V::Array(_) => None,
    };
    let function = number.and_then(|number| code.functions.get(number as usize));
    function.map_or_else(|| Name::new("x"), |function| function.param.name.clone())
}

/// The components of a pair that is no variable of a trace.
fn untuple(pair: &V) -> Result<(V, V), ErrorKind> {
    match pair {
        V::Tuple(parts) if parts.0.len() == 2 => Ok((parts.0[0].clone(), parts.0[1].clone())),
        V::Closed(Value::Tuple(parts)) if parts.0.len() == 2 => {
            Ok((V::Closed(parts.0[0].clone()), V::Closed(parts.0[1].clone())))
        }
        _ => Err(internal("a pair")),
    }
}
