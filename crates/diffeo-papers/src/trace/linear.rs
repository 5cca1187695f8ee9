//! W.R_V(x:T. C) in linear size (ours): one adjoint ȳ for each variable y of the trace, the bindings in reverse.
//!
//! What comes in: a flat trace `let y₁ = D₁ in … let yₙ = Dₙ in D`, and V and W. What goes out: at the end of
//! another trace, `let x:T = V in` the bindings of C, and the bindings that compute the adjoints; x̄ is the
//! value. What always holds: the adjoint of a structure is kept part by part, and only the parts that
//! something was added to, so reading one element of an array costs the same whatever its length;
//! variables that do not depend on x have no adjoint.

use super::operations::Result;
use super::partial::partial;
use super::record::TraceWriter;
use super::reverse::zero_of;
use super::syntax::{internal, part_of, part_ty, parts, Binding, C, V, X};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::derivative::jet::Culprit;
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::prim::real::row;
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use std::collections::{BTreeMap, HashMap};

/// The sum of what was added to the adjoint of a value.
#[derive(Default)]
enum Adjoint {
    /// Nothing.
    #[default]
    Zero,
    /// A value of the type.
    Whole(V),
    /// The sums for some of the parts.
    Parts(Tree),
}

#[derive(Default)]
struct Tree(BTreeMap<usize, Adjoint>);

impl Drop for Tree {
    /// Lists are deep.
    fn drop(&mut self) {
        let mut pending: Vec<Adjoint> = std::mem::take(&mut self.0).into_values().collect();
        while let Some(adjoint) = pending.pop() {
            if let Adjoint::Parts(mut tree) = adjoint {
                pending.extend(std::mem::take(&mut tree.0).into_values());
            }
        }
    }
}

/// A trace that was taken, x ↦ C.
pub(super) struct Taken {
    /// x
    pub x: X,
    /// The number of the trace: its bit in influences.
    pub level: u32,
    pub bindings: Vec<Binding>,
    /// What C gives.
    pub result: C,
    /// Its type.
    pub ty: Ty,
}

/// let x:T = V in the bindings of C, at the end of another trace. What depended on x depends on what V does.
pub(super) fn splice(w: &mut TraceWriter<'_>, taken: &Taken, v: &V) -> Result<()> {
    *taken.x.influence.borrow_mut() = v.influence();
    let site = w.cx.site.get();
    w.out.push(Binding { x: taken.x.clone(), term: v.term(&taken.x.ty)?, held: None, site });
    for binding in &taken.bindings {
        w.cx.step()?;
        let mut influence = binding.term.influence();
        let held = binding.held.filter(|level| *level != taken.level);
        if let Some(level) = held {
            influence = influence.without(level);
        }
        *binding.x.influence.borrow_mut() = influence;
        w.out.push(Binding { held, ..binding.clone() });
    }
    Ok(())
}

/// The adjoint of a result: where a closed cotangent is 0, nothing.
fn seed(w: &V) -> Result<Adjoint> {
    let tree = match w {
        V::Closed(Value::Real(x)) if *x == 0.0 => return Ok(Adjoint::Zero),
        V::Closed(Value::Real(_)) | V::Var(_) | V::Data(..) | V::Array(_) | V::Closure(..) => {
            return Ok(Adjoint::Whole(w.clone()));
        }
        V::Closed(value) => deep(|| {
            let part = |i| Ok((i, seed(&V::Closed(part_of(value, i)?))?));
            (0..parts(value)).map(part).collect::<Result<BTreeMap<usize, Adjoint>>>()
        }),
        V::Tuple(ws) => ws.0.iter().enumerate().map(|(i, w)| Ok((i, seed(w)?))).collect(),
    };
    Ok(Adjoint::Parts(Tree(tree?)))
}

/// W.R_V(x:T. C)
pub(super) fn reverse(out: &mut TraceWriter<'_>, taken: &Taken, v: &V, w: &V) -> Result<V> {
    let depends = |x: &X| x.influence.borrow().mask() & (1 << taken.level) != 0;
    let mut live: HashMap<u32, bool> =
        taken.bindings.iter().map(|binding| (binding.x.id, depends(&binding.x))).collect();
    live.insert(taken.x.id, true);
    splice(out, taken, v)?;
    let mut sweep = Sweep { out, live, adjoints: HashMap::new() };
    sweep.add_to(&taken.result, &taken.ty, seed(w)?)?;
    for binding in taken.bindings.iter().rev() {
        sweep.out.cx.step()?;
        let Some(adjoint) = sweep.adjoints.remove(&binding.x.id) else { continue };
        if binding.held != Some(taken.level) {
            sweep.binding(binding, adjoint)?;
        }
    }
    let x_bar = sweep.adjoints.remove(&taken.x.id).unwrap_or_default();
    sweep.whole(x_bar, &taken.x.ty, &taken.x.value)
}

struct Sweep<'w, 'o> {
    out: &'w mut TraceWriter<'o>,
    /// Which variables depend on x.
    live: HashMap<u32, bool>,
    /// The adjoints of the variables that are still to come.
    adjoints: HashMap<u32, Adjoint>,
}

impl Sweep<'_, '_> {
    /// What ȳ adds to the adjoints of the variables of D, for y = D.
    fn binding(&mut self, binding: &Binding, y_bar: Adjoint) -> Result<()> {
        let y = &binding.x;
        match &binding.term {
            // y = op(d, …):  d̄ += ȳ · ∂op
            C::Op(op, operands) => {
                let Adjoint::Whole(y_bar) = y_bar else { return Ok(()) };
                for (i, d) in operands.iter().enumerate() {
                    if !self.is_live(d) {
                        continue;
                    }
                    if let Some(slope) = partial(*op, i, operands, &C::Var(y.clone()))? {
                        let product = self.times(y, &y_bar, slope)?;
                        self.watch(*op, operands, [&y_bar, &product], binding.site);
                        self.add_to(d, &Ty::Real, Adjoint::Whole(product))?;
                    }
                }
                Ok(())
            }
            // y = z:  z̄ += ȳ;  y = ⟨d, …⟩:  d̄ += ȳ.i;  and so for constructors and arrays
            C::Var(_) | C::Closed(..) | C::Tuple(..) | C::Con(..) | C::Array(..) => {
                self.add_to(&binding.term, &y.ty, y_bar)
            }
            // y = d.i:  d̄.i += ȳ;  and so for fields and elements
            C::Proj(ty, i, d) => self.add_to_part(d, ty, *i, y_bar),
            C::Field(data, args, _, i, d) => {
                self.add_to_part(d, &Ty::Data(*data, args.clone()), *i, y_bar)
            }
            C::Element(element, i, d) => {
                self.add_to_part(d, &Ty::array(element.clone()), *i, y_bar)
            }
            C::Let(..) => Err(internal("a trace that is not flat")),
        }
    }

    /// Notes the operation if it made an adjoint that is not finite.
    fn watch(&self, op: RealOp, operands: &[C], [y_bar, product]: [&V; 2], site: Span) {
        let [y_bar, product] = [y_bar, product].map(|v| primal(&v.close()));
        if product.is_finite() {
            return;
        }
        let number = |d: &C| d.value().map_or(f64::NAN, |value| primal(&value));
        let culprit =
            || Culprit { op: row(op).name, operands: operands.iter().map(number).collect(), site };
        self.out.cx.watch.borrow_mut().see(y_bar, product, culprit);
    }

    fn is_live(&self, d: &C) -> bool {
        match d {
            C::Var(x) => self.live.get(&x.id).copied().unwrap_or(false),
            C::Tuple(_, parts) | C::Con(_, _, _, parts) | C::Array(_, parts) => {
                parts.iter().any(|d| self.is_live(d))
            }
            C::Closed(..) => false,
            C::Op(..) | C::Let(..) | C::Proj(..) | C::Field(..) | C::Element(..) => true,
        }
    }

    /// ȳ · ∂op
    fn times(&mut self, y: &X, y_bar: &V, slope: C) -> Result<V> {
        let name = Name::from(format!("{}_bar", y.name));
        let w = y_bar.term(&Ty::Real)?;
        let term = match (&slope, &w) {
            (C::Closed(Value::Real(one), _), _) if *one == 1.0 => return Ok(y_bar.clone()),
            (C::Closed(Value::Real(one), _), _) if *one == -1.0 => C::Op(RealOp::Neg, vec![w]),
            (_, C::Closed(Value::Real(one), _)) if *one == 1.0 => {
                return self.out.symbolic(&slope, &mut HashMap::new());
            }
            _ => {
                let slope = self.out.symbolic(&slope, &mut HashMap::new())?;
                C::Op(RealOp::Mul, vec![w, slope.term(&Ty::Real)?])
            }
        };
        self.out.bind(&name, &Ty::Real, term)
    }

    /// d̄ += W, for a value d of this type.
    fn add_to(&mut self, d: &C, ty: &Ty, w: Adjoint) -> Result<()> {
        if matches!(w, Adjoint::Zero) || !self.out.cx.traced(ty) || !self.is_live(d) {
            return Ok(());
        }
        match d {
            C::Var(x) => {
                let old = self.adjoints.remove(&x.id).unwrap_or_default();
                let new = self.sum(ty, &x.value, old, w)?;
                self.adjoints.insert(x.id, new);
                Ok(())
            }
            C::Tuple(_, ds) | C::Con(_, _, _, ds) | C::Array(_, ds) => {
                let like = d.value()?;
                let Tree(split) = &mut self.split(ty, &like, w)?;
                for (i, w) in std::mem::take(split) {
                    let part = part_ty(&self.out.cx.program, ty, &like, i)?;
                    let d = ds.get(i).ok_or_else(|| internal("a part that is not there"))?;
                    self.add_to(d, &part, w)?;
                }
                Ok(())
            }
            C::Closed(..) => Ok(()),
            C::Op(..) | C::Let(..) | C::Proj(..) | C::Field(..) | C::Element(..) => {
                Err(internal("a trace that is not flat"))
            }
        }
    }

    /// d̄.i += W
    fn add_to_part(&mut self, d: &C, ty: &Ty, i: usize, w: Adjoint) -> Result<()> {
        self.add_to(d, ty, Adjoint::Parts(Tree(BTreeMap::from([(i, w)]))))
    }

    /// The sum of two adjoints of a value of this type: +_T.
    fn sum(&mut self, ty: &Ty, like: &Value, a: Adjoint, b: Adjoint) -> Result<Adjoint> {
        match (a, b) {
            (Adjoint::Zero, sum) | (sum, Adjoint::Zero) => Ok(sum),
            (Adjoint::Whole(a), Adjoint::Whole(b)) if *ty == Ty::Real => {
                self.out.op(RealOp::Add, &[&a, &b]).map(Adjoint::Whole)
            }
            (a, b) => deep(|| {
                let (mut a, mut b) = (self.split(ty, like, a)?, self.split(ty, like, b)?);
                // The smaller goes into the larger one.
                if a.0.len() < b.0.len() {
                    std::mem::swap(&mut a, &mut b);
                }
                for (i, w) in std::mem::take(&mut b.0) {
                    let old = a.0.remove(&i).unwrap_or_default();
                    let part = part_ty(&self.out.cx.program, ty, like, i)?;
                    a.0.insert(i, self.sum(&part, &part_of(like, i)?, old, w)?);
                }
                Ok(Adjoint::Parts(a))
            }),
        }
    }

    /// The adjoints of the parts.
    fn split(&mut self, ty: &Ty, like: &Value, adjoint: Adjoint) -> Result<Tree> {
        match adjoint {
            Adjoint::Zero => Ok(Tree::default()),
            Adjoint::Parts(tree) => Ok(tree),
            Adjoint::Whole(w) => {
                let mut tree = Tree::default();
                for i in 0..parts(like) {
                    let part = part_ty(&self.out.cx.program, ty, like, i)?;
                    if self.out.cx.traced(&part) {
                        let w = match &w {
                            V::Tuple(ws) => ws.0.get(i).cloned(),
                            w => Some(self.out.part(w, ty, i)?),
                        };
                        tree.0.extend(w.map(|w| (i, Adjoint::Whole(w))));
                    }
                }
                Ok(tree)
            }
        }
    }

    /// The adjoint as a value, 0_T where nothing was added.
    fn whole(&mut self, adjoint: Adjoint, ty: &Ty, like: &Value) -> Result<V> {
        match adjoint {
            Adjoint::Zero => zero_of(like).map(V::Closed),
            Adjoint::Whole(w) => Ok(w),
            Adjoint::Parts(mut tree) => deep(|| {
                let mut all = Vec::with_capacity(parts(like));
                for i in 0..parts(like) {
                    let part = part_ty(&self.out.cx.program, ty, like, i)?;
                    let w = tree.0.remove(&i).unwrap_or_default();
                    all.push(self.whole(w, &part, &part_of(like, i)?)?);
                }
                if all.is_empty() {
                    return Ok(V::Closed(like.clone()));
                }
                self.out.structure(ty, like, all)
            }),
        }
    }
}
