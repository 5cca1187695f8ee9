//! Evaluation contexts E and the rules that look into them (Figures 3 and 5).
//!
//! A term is E[R]. E is kept as a stack of frames, the innermost production last: [`TraceEvaluator::decompose`]
//! goes into a term up to the next redex or value, [`TraceEvaluator::plug`] puts a value into the innermost frame.
//! What always holds: nothing here recurses, so terms and calls nest as deep as the memory allows; a call
//! in tail position takes no frame. Whether evaluation is ordinary or symbolic matters to redexes alone
//! (`redexes.rs`): in both modes E[R] becomes E[V], where in a trace V is the variable x of
//! `let x:T_V = C in` for R ⇝ C.

use super::prepare::{Id, PreparedDefinition, PreparedProgram, PreparedTerm};
use super::syntax::V;
use super::{Activation, OpenTrace, TraceEvaluator, TraceFailure};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::value::Value;
use std::rc::Rc;

/// A production of E. Operands before the hole lie on the stack of operands.
pub(super) enum E {
    /// E + N | V + E | op(E), at this operand
    Op(Id, u32),
    /// let x:T = E in N, at this binding
    Let(Id, u32),
    /// ⟨E, N⟩ | ⟨V, E⟩
    Tuple(Id, u32),
    /// fst(E) | snd(E)
    Proj(Id),
    /// if E_bool then M else N
    If(Id),
    /// M.rd_E(x:T. N) | E.rd_V(x:T. N), and (ours) the other derivative terms
    Rd(Id, u32),

    /// E(N) (ours: the paper's functions are no values)
    Function(Id),
    /// f(E)
    Argument(Id),
    /// con(V, …, E, N, …) (ours)
    Con(Id, u32),
    /// case E of … (ours)
    Case(Id),
    /// [V, …, E, N, …] (ours)
    Array(Id, u32),
    /// build E (λi. M) (ours)
    BuildCount(Id),
    /// build n (λi. M) at this i of so many (ours)
    Build(Id, i64, i64),
    /// loop x = E … (ours)
    LoopInit(Id),
    /// loop x = V for i < E do M (ours)
    LoopCount(Id),
    /// loop x = V for i < n do E, at this i of so many (ours)
    Count(Id, i64, i64),
    /// loop x = V while E do M (ours)
    WhileCondition(Id),
    /// loop x = V while M do E (ours)
    While(Id),

    /// φ and ρ of the caller, for the end of a call.
    Return(Activation),
    /// The same for the end of a definition's constant (ours), with the traces that it does not belong to.
    Constant(u32, Box<(Activation, Vec<OpenTrace>)>),
    /// W.rd_V(x:T. □): N is being traced.
    Taken(Id, Box<(V, V, bool)>),
    /// f(x) is being traced for a `vjp` or `jvp` with these operands (ours).
    Value(Id, Box<(Vec<V>, bool)>),
    /// The definition of a `jvp` is being evaluated, of a tangent that is finite or not (ours).
    Jvp(Id, bool),
    /// The definition of a `jet` is being evaluated (ours).
    Jet(Id),
    /// The rule of a `with_derivative` is being applied (ours).
    Rule(Id, u32),
    /// A `checkpoint` is being applied, whose value these traces influence (ours).
    Checkpoint(Id, u128),
}

/// What comes next.
pub(super) enum Next {
    /// E[M]
    Term(Id),
    /// E[V]
    Value(V),
}

fn mistyped(what: &str) -> TraceFailure {
    super::syntax::internal(what).into()
}

fn int(v: &V) -> Result<i64, TraceFailure> {
    match v {
        V::Closed(Value::Int(n)) => Ok(*n),
        _ => Err(mistyped("an Int is expected")),
    }
}

fn truth(v: &V) -> Result<bool, TraceFailure> {
    match v {
        V::Closed(Value::Bool(b)) => Ok(*b),
        _ => Err(mistyped("a Bool is expected")),
    }
}

impl TraceEvaluator {
    /// The value of E[M] or E[V] for the whole stack E.
    pub(super) fn run(&mut self, mut next: Next) -> Result<V, TraceFailure> {
        let code = self.code.clone();
        loop {
            self.cx.step()?;
            next = match next {
                Next::Term(id) => self.decompose(&code, id)?,
                Next::Value(v) => match self.stack.pop() {
                    Some(frame) => self.plug(&code, frame, v)?,
                    None => return Ok(v),
                },
            };
        }
    }

    /// Goes into a term: a value, or the first subterm, with the rest as a frame.
    fn decompose(&mut self, code: &PreparedProgram, id: Id) -> Result<Next, TraceFailure> {
        self.site = id;
        Ok(match &code.nodes[id as usize] {
            // φ | ρ ⊢ V ⇒ ρ(V)
            PreparedTerm::Variable(place) => Next::Value(self.lookup(*place)?),
            PreparedTerm::Literal(value) => Next::Value(V::Closed(value.clone())),
            PreparedTerm::Lambda(function) => Next::Value(self.closure(code, *function)?),
            PreparedTerm::Global(global) => match &code.definitions[*global as usize] {
                PreparedDefinition::Function(function) => {
                    Next::Value(self.definition(*global, *function))
                }
                PreparedDefinition::Constant(body) => self.constant(*global, *body)?,
            },

            PreparedTerm::Prim(_, args) => self.operands(E::Op, id, args, 0)?,
            PreparedTerm::Tuple(_, args) => self.operands(E::Tuple, id, args, 0)?,
            PreparedTerm::Con(_, _, _, args) => self.operands(E::Con, id, args, 0)?,
            PreparedTerm::Array(_, args) => self.operands(E::Array, id, args, 0)?,
            PreparedTerm::Diff(_, args, _) => self.operands(E::Rd, id, args, 0)?,

            PreparedTerm::App(f, _) => self.within(E::Function(id), *f),
            PreparedTerm::Let(bindings, body) => match bindings.first() {
                Some((_, value)) => self.within(E::Let(id, 0), *value),
                None => Next::Term(*body),
            },
            PreparedTerm::Proj(_, _, tuple) => self.within(E::Proj(id), *tuple),
            PreparedTerm::If(condition, _, _) => self.within(E::If(id), *condition),
            PreparedTerm::Case(scrutinee, ..) => self.within(E::Case(id), *scrutinee),
            PreparedTerm::Build { count, .. } => self.within(E::BuildCount(id), *count),
            PreparedTerm::Count { init, .. } | PreparedTerm::While { init, .. } => {
                self.within(E::LoopInit(id), *init)
            }

            // φ[clo_φ(f(x:T):U. M)/f] | ρ ⊢ N ⇒ V
            // ───────────────────────────────────────────
            // φ | ρ ⊢ letrec f(x:T):U = M in N ⇒ V           (and the same with ⇝)
            PreparedTerm::LetRec(function, place, body) => {
                let closure = self.closure(code, *function)?;
                self.set(*place, closure);
                Next::Term(*body)
            }
        })
    }

    fn within(&mut self, frame: E, id: Id) -> Next {
        self.stack.push(frame);
        Next::Term(id)
    }

    /// The operand `at` of a term next; the redex, if there is none.
    fn operands(
        &mut self,
        frame: impl Fn(Id, u32) -> E,
        id: Id,
        args: &[Id],
        at: u32,
    ) -> Result<Next, TraceFailure> {
        match args.get(at as usize) {
            Some(arg) => Ok(self.within(frame(id, at), *arg)),
            None => {
                let operands = self.operands.split_off(self.operands.len() - args.len());
                self.redex(id, operands)
            }
        }
    }

    /// E[R] with R ⇒ V becomes E[V]:
    ///
    /// ```text
    /// φ | ρ ⊢ R ⇒ V    φ | ρ[V/x] ⊢ E[x] ⇒ W         φ | ρ ⊢ R ⇝ C    φ | ρ ⊢ C ⇒ V    φ | ρ[V/x] ⊢ E[x] ⇝ D
    /// ────────────────────────────────────────         ──────────────────────────────────────────────────────
    ///         φ | ρ ⊢ E[R] ⇒ W                                 φ | ρ ⊢ E[R] ⇝ let x:T_V = C in D
    /// ```
    fn plug(&mut self, code: &PreparedProgram, frame: E, v: V) -> Result<Next, TraceFailure> {
        match frame {
            E::Op(id, at) => self.operand(code, E::Op, id, at, v),
            E::Tuple(id, at) => self.operand(code, E::Tuple, id, at, v),
            E::Con(id, at) => self.operand(code, E::Con, id, at, v),
            E::Array(id, at) => self.operand(code, E::Array, id, at, v),
            E::Rd(id, at) => self.operand(code, E::Rd, id, at, v),
            E::Let(id, at) => {
                self.site = id;
                let PreparedTerm::Let(bindings, body) = &code.nodes[id as usize] else {
                    return Err(mistyped("a let is expected"));
                };
                // let x:T = V in N
                self.bind(&bindings[at as usize].0, v)?;
                Ok(match bindings.get(at as usize + 1) {
                    Some((_, value)) => self.within(E::Let(id, at + 1), *value),
                    None => Next::Term(*body),
                })
            }
            E::Proj(id) => {
                self.site = id;
                let PreparedTerm::Proj(ty, i, _) = &code.nodes[id as usize] else {
                    return Err(mistyped("a projection is expected"));
                };
                // fst_{T,U}(V) and snd_{T,U}(V)
                Ok(Next::Value(self.writer().part(&v, ty, *i)?))
            }
            E::If(id) => {
                let PreparedTerm::If(_, yes, no) = &code.nodes[id as usize] else {
                    return Err(mistyped("a conditional is expected"));
                };
                // if true then M else N, if false then M else N
                Ok(Next::Term(if truth(&v)? { *yes } else { *no }))
            }
            E::Function(id) => {
                let PreparedTerm::App(_, argument) = &code.nodes[id as usize] else {
                    return Err(mistyped("a call is expected"));
                };
                self.operands.push(v);
                Ok(self.within(E::Argument(id), *argument))
            }
            E::Argument(id) => {
                self.site = id;
                let f = self.operands.pop().ok_or_else(|| mistyped("a function is expected"))?;
                self.call(code, &f, v)
            }
            E::Case(id) => self.case(code, id, &v),

            E::BuildCount(id) => {
                self.site = id;
                let count = int(&v)?;
                if count < 0 {
                    return Err(ErrorKind::NegativeCount { count }.into());
                }
                if count > diffeo_calculus::eval::MOST_ELEMENTS {
                    return Err(ErrorKind::TooLarge { count }.into());
                }
                self.element(code, id, 0, count)
            }
            E::Build(id, i, count) => {
                self.operands.push(v);
                self.element(code, id, i + 1, count)
            }
            E::LoopInit(id) => {
                self.site = id;
                match &code.nodes[id as usize] {
                    PreparedTerm::Count { count, .. } => {
                        self.operands.push(v);
                        Ok(self.within(E::LoopCount(id), *count))
                    }
                    PreparedTerm::While { state, condition, .. } => {
                        self.bind(state, v)?;
                        Ok(self.within(E::WhileCondition(id), *condition))
                    }
                    _ => Err(mistyped("a loop is expected")),
                }
            }
            E::LoopCount(id) => {
                let count = int(&v)?;
                let init = self.operands.pop().ok_or_else(|| mistyped("a state is expected"))?;
                self.iteration(code, id, 0, count, init)
            }
            E::Count(id, i, count) => self.iteration(code, id, i + 1, count, v),
            E::WhileCondition(id) => {
                let PreparedTerm::While { state, body, .. } = &code.nodes[id as usize] else {
                    return Err(mistyped("a loop is expected"));
                };
                if truth(&v)? {
                    return Ok(self.within(E::While(id), *body));
                }
                let last = self.at.base + state.place as usize;
                Ok(Next::Value(self.rho[last].clone()))
            }
            E::While(id) => {
                self.site = id;
                let PreparedTerm::While { state, condition, .. } = &code.nodes[id as usize] else {
                    return Err(mistyped("a loop is expected"));
                };
                self.bind(state, v)?;
                Ok(self.within(E::WhileCondition(id), *condition))
            }

            E::Return(activation) => {
                self.rho.truncate(self.at.base);
                self.at = activation;
                self.depth -= 1;
                Ok(Next::Value(v))
            }
            E::Constant(global, outer) => {
                self.rho.truncate(self.at.base);
                let (activation, open) = *outer;
                self.at = activation;
                self.open = open;
                self.constants.pop();
                self.values[global as usize] = Some(v.close());
                Ok(Next::Value(v))
            }
            E::Taken(id, operands) => {
                self.site = id;
                let (point, w, open) = *operands;
                Ok(Next::Value(self.taken(code, id, &v, &point, &w, open)?))
            }
            E::Value(id, taken) => {
                self.site = id;
                let (operands, open) = *taken;
                self.value_taken(code, id, v, operands, open)
            }
            E::Jvp(id, finite) => {
                self.site = id;
                self.pushed(&v, finite)?;
                Ok(Next::Value(v))
            }
            E::Jet(id) => {
                self.site = id;
                Ok(Next::Value(self.jet_result(code, id, &v)?))
            }
            E::Rule(id, level) => {
                self.site = id;
                Ok(Next::Value(self.rule_result(code, id, level, &v)?))
            }
            E::Checkpoint(id, mask) => {
                self.site = id;
                Ok(Next::Value(self.checkpoint_result(code, id, mask, &v)?))
            }
        }
    }

    fn operand(
        &mut self,
        code: &PreparedProgram,
        frame: impl Fn(Id, u32) -> E,
        id: Id,
        at: u32,
        v: V,
    ) -> Result<Next, TraceFailure> {
        self.operands.push(v);
        let args = match &code.nodes[id as usize] {
            PreparedTerm::Prim(_, args)
            | PreparedTerm::Tuple(_, args)
            | PreparedTerm::Con(_, _, _, args)
            | PreparedTerm::Array(_, args)
            | PreparedTerm::Diff(_, args, _) => args,
            _ => return Err(mistyped("operands are expected")),
        };
        self.site = id;
        self.operands(frame, id, args, at + 1)
    }

    /// Element i of a `build`, or the array.
    fn element(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        i: i64,
        count: i64,
    ) -> Result<Next, TraceFailure> {
        let PreparedTerm::Build { index, body, ty, .. } = &code.nodes[id as usize] else {
            return Err(mistyped("a build is expected"));
        };
        if i < count {
            self.set(*index, V::Closed(Value::Int(i)));
            return Ok(self.within(E::Build(id, i, count), *body));
        }
        // Where rows that differ in length come from.
        self.site = *body;
        let elements = self.operands.split_off(self.operands.len() - count as usize);
        let like = Value::array(diffeo_calculus::array::Array::empty());
        Ok(Next::Value(self.writer().structure(ty, &like, elements)?))
    }

    /// Step i of a counted loop, or the last state.
    fn iteration(
        &mut self,
        code: &PreparedProgram,
        id: Id,
        i: i64,
        count: i64,
        v: V,
    ) -> Result<Next, TraceFailure> {
        let PreparedTerm::Count { state, index, body, .. } = &code.nodes[id as usize] else {
            return Err(mistyped("a loop is expected"));
        };
        if i >= count {
            return Ok(Next::Value(v));
        }
        self.site = id;
        self.bind(state, v)?;
        self.set(*index, V::Closed(Value::Int(i)));
        Ok(self.within(E::Count(id, i, count), *body))
    }

    /// case V of …, whose constructor is known.
    fn case(&mut self, code: &PreparedProgram, id: Id, v: &V) -> Result<Next, TraceFailure> {
        self.site = id;
        let PreparedTerm::Case(_, ty, arms, default) = &code.nodes[id as usize] else {
            return Err(mistyped("a case is expected"));
        };
        let tag = match v {
            V::Data(tag, _) => Some(*tag),
            V::Closed(Value::Data(data)) => Some(data.tag),
            V::Var(x) => match &x.value {
                Value::Data(data) => Some(data.tag),
                _ => None,
            },
            V::Closed(_) | V::Tuple(_) | V::Array(_) | V::Closure(..) => None,
        };
        let tag = tag.ok_or_else(|| mistyped("a variant is expected"))?;
        match arms.iter().find(|(arm, _, _)| *arm == tag) {
            Some((_, binds, body)) => {
                for (i, bind) in binds.iter().enumerate() {
                    let field = self.writer().part(v, ty, i)?;
                    self.bind(bind, field)?;
                }
                Ok(Next::Term(*body))
            }
            None => match default {
                Some(default) => Ok(Next::Term(*default)),
                None => Err(mistyped("no arm fits")),
            },
        }
    }

    /// A redex over values: the operands of a form that has a list of them.
    fn redex(&mut self, id: Id, operands: Vec<V>) -> Result<Next, TraceFailure> {
        self.site = id;
        let code = Rc::clone(&self.code);
        match &code.nodes[id as usize] {
            PreparedTerm::Prim(prim, _) => Ok(Next::Value(self.prim(prim, operands)?)),
            PreparedTerm::Tuple(ty, _) => {
                let like = Value::tuple([]);
                Ok(Next::Value(self.writer().structure(ty, &like, operands)?))
            }
            PreparedTerm::Con(data, args, tag, _) => {
                let ty = diffeo_calculus::ty::Ty::Data(*data, args.clone());
                let like = Value::data(*tag, []);
                Ok(Next::Value(self.writer().structure(&ty, &like, operands)?))
            }
            PreparedTerm::Array(ty, _) => {
                let like = Value::array(diffeo_calculus::array::Array::empty());
                Ok(Next::Value(self.writer().structure(ty, &like, operands)?))
            }
            PreparedTerm::Diff(diff, _, definition) => match diff.op {
                DiffOp::Rd => self.rd(&code, id, diff, &operands),
                DiffOp::StopGradient => self.stop_gradient(&operands),
                DiffOp::Checkpoint => self.checkpoint(&code, id, &operands),
                DiffOp::WithDerivative | DiffOp::WithExactDerivative => {
                    self.with_derivative(&code, id, diff, &operands)
                }
                DiffOp::Deciding => match operands.as_slice() {
                    [f, _, x] => self.call(&code, f, x.clone()),
                    _ => Err(mistyped("three operands are expected")),
                },
                DiffOp::Decisions => self.decisions(&operands),
                // The evaluator knows directions, intervals and sets.
                DiffOp::RdAlong | DiffOp::Enclose | DiffOp::Dependence | DiffOp::AllPaths => {
                    Err(ErrorKind::NanDerivative.into())
                }
                DiffOp::Vjp | DiffOp::Jvp | DiffOp::Jet { .. } => {
                    let (first, body) =
                        definition.ok_or_else(|| mistyped("a definition is expected"))?;
                    self.defined(&code, id, diff, operands, first, body)
                }
            },
            _ => Err(mistyped("a redex is expected")),
        }
    }
}
