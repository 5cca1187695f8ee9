//! Operators at the types that inference decided.

use super::{lets, never, var, Body};
use diffeo_base::Span;
use diffeo_calculus::prim::{Comparison, IntOp, RealOp};
use diffeo_calculus::term::{Lit, Term, TermKind};
use diffeo_calculus::{Prim, Ty};
use diffeo_syntax::ast::{BinaryOp, ExprId, ExprKind, UnaryOp};

impl Body<'_, '_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: ExprId, span: Span) -> Term {
        let ty = self.expr_ty(operand);
        if let (UnaryOp::Neg, ExprKind::Int(n)) = (op, &self.ast.exprs[operand].kind) {
            let lit = match ty {
                Ty::Real => Lit::Real(-(*n as f64)),
                _ => Lit::Int((*n as i64).wrapping_neg()),
            };
            return Term::new(TermKind::Lit(lit), span);
        }
        let term = self.expr(operand);
        let prim = match (op, ty) {
            (UnaryOp::Not, _) => Prim::Not,
            (UnaryOp::Neg, Ty::Real) => Prim::Real(RealOp::Neg),
            (UnaryOp::Neg, Ty::Int) => Prim::Int(IntOp::Neg),
            (UnaryOp::Neg, ty) => Prim::Neg(ty),
        };
        Term::new(TermKind::Prim(prim, vec![term]), span)
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        lhs: ExprId,
        rhs: ExprId,
        span: Span,
        op_span: Span,
    ) -> Term {
        let (lt, rt) = (self.expr_ty(lhs), self.expr_ty(rhs));
        let prim = match op {
            BinaryOp::Pipe => return self.pipe(lhs, rhs, span),
            BinaryOp::And => {
                let (l, r) = (self.expr(lhs), self.expr(rhs));
                let no = Term::new(TermKind::Lit(Lit::Bool(false)), op_span);
                return Term::new(TermKind::If(Box::new(l), Box::new(r), Box::new(no)), span);
            }
            BinaryOp::Or => {
                let (l, r) = (self.expr(lhs), self.expr(rhs));
                let yes = Term::new(TermKind::Lit(Lit::Bool(true)), op_span);
                return Term::new(TermKind::If(Box::new(l), Box::new(yes), Box::new(r)), span);
            }
            BinaryOp::Eq => Prim::Compare(Comparison::Eq, lt),
            BinaryOp::Ne => Prim::Compare(Comparison::Ne, lt),
            BinaryOp::Lt => Prim::Compare(Comparison::Lt, lt),
            BinaryOp::Le => Prim::Compare(Comparison::Le, lt),
            BinaryOp::Gt => Prim::Compare(Comparison::Gt, lt),
            BinaryOp::Ge => Prim::Compare(Comparison::Ge, lt),
            BinaryOp::Cons => {
                let Ty::Data(data, args) = rt else {
                    return never("a list", span);
                };
                let parts = vec![self.expr(lhs), self.expr(rhs)];
                return Term::new(TermKind::Con(data, args, 1, parts), span);
            }
            BinaryOp::Append => match lt {
                Ty::String => Prim::AppendStrings,
                Ty::Array(element) => Prim::Append((*element).clone()),
                ty => return self.append_lists(ty, lhs, rhs, span),
            },
            BinaryOp::Add => match lt {
                Ty::Real => Prim::Real(RealOp::Add),
                Ty::Int => Prim::Int(IntOp::Add),
                ty => Prim::Add(ty),
            },
            BinaryOp::Sub => match lt {
                Ty::Real => Prim::Real(RealOp::Sub),
                Ty::Int => Prim::Int(IntOp::Sub),
                ty => Prim::Sub(ty),
            },
            BinaryOp::Mul => match (lt, rt) {
                (Ty::Real, Ty::Real) => Prim::Real(RealOp::Mul),
                (Ty::Int, _) => Prim::Int(IntOp::Mul),
                (Ty::Real, ty) => Prim::Scale(ty),
                (ty, Ty::Real) => {
                    // The left operand is evaluated first all the same.
                    let vector = self.cx.binder("v", ty.clone());
                    let l = self.expr(lhs);
                    let r = self.expr(rhs);
                    let scalar = self.cx.binder("r", Ty::Real);
                    let args = vec![var(&scalar, span), var(&vector, span)];
                    let scaled = Term::new(TermKind::Prim(Prim::Scale(ty), args), span);
                    return lets(vec![(vector, l), (scalar, r)], scaled);
                }
                (ty, _) => Prim::MulElements(ty),
            },
            BinaryOp::Div => match (lt, rt) {
                (Ty::Real, _) => Prim::Real(RealOp::Div),
                (Ty::Int, _) => Prim::Int(IntOp::Div),
                (ty, Ty::Real) => Prim::Unscale(ty),
                (ty, _) => Prim::DivElements(ty),
            },
            BinaryOp::Rem => match lt {
                Ty::Int => Prim::Int(IntOp::Rem),
                _ => Prim::Real(RealOp::Rem),
            },
            BinaryOp::Pow => match (lt, rt) {
                (Ty::Int, _) => Prim::Int(IntOp::Pow),
                (_, Ty::Int) => Prim::PowInt,
                _ => Prim::Real(RealOp::Pow),
            },
        };
        let args = vec![self.expr(lhs), self.expr(rhs)];
        Term::new(TermKind::Prim(prim, args), span)
    }

    /// `value |> function`
    fn pipe(&mut self, lhs: ExprId, rhs: ExprId, span: Span) -> Term {
        let fun = self.expr(rhs);
        let arg = self.expr(lhs);
        Term::new(TermKind::App(Box::new(fun), Box::new(arg)), span)
    }

    /// Lists are joined by the prelude's `append`.
    fn append_lists(&mut self, ty: Ty, lhs: ExprId, rhs: ExprId, span: Span) -> Term {
        let db = self.cx.db;
        let append =
            db.prelude.and_then(|p| db.module(p).scope.values.get("append")).map(|(def, _)| *def);
        let (Some(append), Ty::Data(_, args)) = (append, &ty) else {
            return never("`++` of lists", span);
        };
        let global = self.cx.instance(append, args.to_vec());
        let parts = vec![self.expr(lhs), self.expr(rhs)];
        let pair = Term::new(TermKind::Tuple(Ty::tuple(vec![ty.clone(), ty]), parts), span);
        let fun = Term::new(TermKind::Global(global), span);
        Term::new(TermKind::App(Box::new(fun), Box::new(pair)), span)
    }
}
