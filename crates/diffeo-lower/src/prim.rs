//! Primitive operations.

use super::polytypic::{Map, Zip};
use super::sym::Sym;
use super::Lower;
use diffeo_array::ir::{Atom, Op, Scalar, SiteId, Stop};
use diffeo_calculus::prim::{text, Comparison, Prim};
use diffeo_calculus::term::{Term, TermKind};
use diffeo_calculus::typing::is_vector;
use diffeo_calculus::Ty;

impl<'p> Lower<'p> {
    pub(super) fn prim(&mut self, prim: &'p Prim, args: &'p [Term], at: SiteId) -> Sym {
        if let (Prim::Sum(Ty::Real), [array]) = (prim, args) {
            match &array.kind {
                TermKind::Build(build) => return self.sum_of(build, at),
                TermKind::Let(bindings, body) => {
                    if let TermKind::Build(build) = &body.kind {
                        return match self.bindings(bindings) {
                            true => self.sum_of(build, at),
                            false => Sym::Never,
                        };
                    }
                }
                _ => {}
            }
        }
        if let (Prim::Sizes(pattern, ty), Some((value, given))) = (prim, args.split_first()) {
            let value = self.term(value);
            let Some(given) = self.terms(given) else { return Sym::Never };
            if value.is_never() {
                return Sym::Never;
            }
            return self.sizes(pattern, ty, &value, &given, at);
        }
        let Some(values) = self.terms(args) else { return Sym::Never };
        self.operation(prim, &values, at)
    }

    fn operation(&mut self, prim: &Prim, values: &[Sym], at: SiteId) -> Sym {
        // The operands of operations on scalars.
        let atom = |cx: &mut Self, i: usize| -> Atom {
            match values.get(i) {
                Some(Sym::Leaf(atom)) => atom.clone(),
                _ => {
                    cx.bug("a scalar operand was expected");
                    Atom::Int(0)
                }
            }
        };
        let value = |i: usize| values.get(i).unwrap_or(&Sym::Never);
        match prim {
            Prim::Real(op) => {
                let atoms = (0..op.arity()).map(|i| atom(self, i)).collect();
                Sym::Leaf(self.one(at, Op::Real(*op, atoms)))
            }
            Prim::Int(op) => {
                let atoms = (0..op.arity()).map(|i| atom(self, i)).collect();
                Sym::Leaf(self.one(at, Op::Int(*op, atoms)))
            }
            Prim::PowInt => {
                let op = Op::PowInt(atom(self, 0), atom(self, 1));
                Sym::Leaf(self.one(at, op))
            }
            Prim::Compare(comparison, ty) => match (comparison, scalar(ty)) {
                (Comparison::Eq, _) => Sym::Leaf(self.equal(ty, value(0), value(1), at)),
                (Comparison::Ne, _) => {
                    let equal = self.equal(ty, value(0), value(1), at);
                    Sym::Leaf(self.one(at, Op::Not(equal)))
                }
                (comparison, Some(scalar)) => {
                    let op = Op::Compare(*comparison, scalar, atom(self, 0), atom(self, 1));
                    Sym::Leaf(self.one(at, op))
                }
                (Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge, None) => {
                    self.bug("an order of what has none");
                    Sym::Never
                }
            },
            Prim::Not => {
                let op = Op::Not(atom(self, 0));
                Sym::Leaf(self.one(at, op))
            }
            Prim::ToReal => {
                let op = Op::ToReal(atom(self, 0));
                Sym::Leaf(self.one(at, op))
            }
            Prim::Round(rounding) => {
                let op = Op::Round(*rounding, atom(self, 0));
                Sym::Leaf(self.one(at, op))
            }
            Prim::IsNan => {
                let op = Op::IsNan(atom(self, 0));
                Sym::Leaf(self.one(at, op))
            }

            Prim::Add(ty) => {
                // At types that are no vectors it was written `add(x, y)`.
                let name = if is_vector(ty) { "+" } else { "add" };
                self.zip(Zip::Add(name), ty, value(0), value(1), at)
            }
            Prim::Sub(ty) => self.zip(Zip::Sub, ty, value(0), value(1), at),
            Prim::MulElements(ty) => self.zip(Zip::Mul, ty, value(0), value(1), at),
            Prim::DivElements(ty) => self.zip(Zip::Div, ty, value(0), value(1), at),
            Prim::Neg(ty) => self.map(Map::Neg, ty, None, value(0), at),
            Prim::Scale(ty) => {
                let factor = atom(self, 0);
                self.map(Map::Scale, ty, Some(&factor), value(1), at)
            }
            Prim::Unscale(ty) => {
                let divisor = atom(self, 1);
                self.map(Map::Unscale, ty, Some(&divisor), value(0), at)
            }
            Prim::ZeroOf(ty) => self.map(Map::Zero, ty, None, value(0), at),
            Prim::Inner(ty) => Sym::Leaf(self.inner(ty, value(0), value(1), at)),
            Prim::Ravel(ty) => self.ravel(ty, value(0), at),
            Prim::Unravel(ty) => self.unravel(ty, value(0), value(1), at),

            Prim::Length(_) => Sym::Leaf(self.length(value(0), at)),
            Prim::Index(ty) => {
                let index = atom(self, 1);
                self.index(ty, value(0), &index, at)
            }
            Prim::Slice(_) => {
                let (lo, hi) = (atom(self, 1), atom(self, 2));
                self.slice(value(0), &lo, &hi, at)
            }
            Prim::Update(ty) => {
                let last = values.len().saturating_sub(1);
                let indices: Vec<Atom> = (1..last).map(|i| atom(self, i)).collect();
                self.update(ty, value(0), &indices, value(last), at)
            }
            Prim::Append(_) => self.append(value(0), value(1), at),
            Prim::Flatten(_) => self.flatten(value(0), at),
            Prim::Sum(ty) => self.sum(ty, value(0), at),
            Prim::ArgSort(_) => self.argsort(value(0), at),
            Prim::Sizes(..) | Prim::Lift(_) => {
                self.bug("an operation that is lowered elsewhere");
                Sym::Never
            }

            Prim::AppendStrings => {
                let op = Op::AppendText(atom(self, 0), atom(self, 1));
                Sym::Leaf(self.one(at, op))
            }
            Prim::Text(op) => {
                let atoms = (0..text::signature(*op).0.len()).map(|i| atom(self, i)).collect();
                Sym::Leaf(self.one(at, Op::TextOp(*op, atoms)))
            }
            Prim::Labels(ty) => self.labels(ty, value(0), at),
            Prim::Show(ty) => Sym::Leaf(self.show(ty, value(0), at)),
            Prim::Fail(_) => {
                let message = atom(self, 0);
                self.stop(Stop::Fail(message), at)
            }
            Prim::Trace(ty) => {
                let label = atom(self, 0);
                let text = self.show(ty, value(1), at);
                self.ops(at, Op::Trace(label, text));
                value(1).clone()
            }
            Prim::Progress(_) => {
                let op = Op::Progress(atom(self, 0), atom(self, 1), atom(self, 2));
                self.ops(at, op);
                value(3).clone()
            }
            Prim::Warn => {
                let [code, message, help] = [0, 1, 2].map(|i| atom(self, i));
                self.ops(at, Op::Warn(code, message, help, Atom::Int(-1)));
                Sym::Unit
            }
        }
    }

    /// The program stops.
    pub(super) fn stop(&mut self, stop: Stop, at: SiteId) -> Sym {
        self.f.builder.set_site(at);
        self.f.builder.stop(stop, Vec::new());
        Sym::Never
    }
}

/// The type as one of scalars.
pub(super) fn scalar(ty: &Ty) -> Option<Scalar> {
    match ty {
        Ty::Real => Some(Scalar::Real),
        Ty::Int => Some(Scalar::Int),
        Ty::Bool => Some(Scalar::Bool),
        Ty::String => Some(Scalar::Text),
        Ty::Unit
        | Ty::Tuple(_)
        | Ty::Record(_)
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}
