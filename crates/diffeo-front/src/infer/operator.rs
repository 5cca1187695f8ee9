//! Infix operators, and checks that wait until the types are decided.

use super::constraint::{Constraint, Operands};
use super::error::Because;
use super::Infer;
use crate::types::{Ty, TypeClass};
use diffeo_base::{Diagnostic, Span};
use diffeo_syntax::ast::{BinaryOp, ExprId, ExprKind, UnaryOp};

impl Infer<'_> {
    pub(super) fn binary(
        &mut self,
        id: ExprId,
        op: BinaryOp,
        op_span: Span,
        lhs: ExprId,
        rhs: ExprId,
    ) -> Ty {
        let other = self.span(lhs);
        let because = Because::Operator { op: op.symbol(), other };
        match op {
            BinaryOp::Pipe => {
                let from = self.infer(lhs);
                let to = self.store().fresh();
                let because = Because::Piped { value: other };
                self.check(rhs, &Ty::fun(from, to.clone()), &because);
                to
            }
            BinaryOp::And | BinaryOp::Or => {
                self.check(lhs, &Ty::Bool, &Because::Condition);
                self.check(rhs, &Ty::Bool, &Because::Condition);
                Ty::Bool
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let ty = self.infer(lhs);
                let number =
                    matches!(self.ast.exprs[rhs].kind, ExprKind::Int(_) | ExprKind::Real(_));
                if number && self.compares_array(op, op_span, [lhs, rhs], &ty) {
                    return Ty::Error;
                }
                self.agrees(&ty, rhs, &because);
                let ty = self.db.module(self.module).expr_ty[lhs.index()].clone();
                let why = self.why(op_span, &format!("`{}`", op.symbol()));
                if let Err(clash) = self.store().require_equality(&ty, &why) {
                    self.report_clash(op_span, &ty, &ty, &clash, &Because::Use);
                }
                Ty::Bool
            }
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let ty = self.infer(lhs);
                if self.compares_array(op, op_span, [lhs, rhs], &ty) {
                    return Ty::Error;
                }
                let ty = self.agrees(&ty, rhs, &because);
                self.must_be(op_span, &ty, TypeClass::Ord, &format!("`{}`", op.symbol()));
                Ty::Bool
            }
            BinaryOp::Cons => {
                let head = self.infer(lhs);
                let head = self.store().with_own_sizes(&head);
                let list = self.list_of(head);
                let found = self.infer(rhs);
                if let Err(clash) = self.store().unify_free(&list, &found) {
                    let span = self.span(rhs);
                    self.report_clash(span, &list, &found, &clash, &Because::Cons { head: other });
                }
                self.solve();
                list
            }
            BinaryOp::Append => {
                let (l, r, at) = self.operands(op_span, lhs, rhs);
                let out = self.store().fresh();
                self.add(Constraint::Append { l, r, out: out.clone(), at });
                out
            }
            BinaryOp::Add | BinaryOp::Sub => {
                let ty = self.same(lhs, rhs, &because);
                self.must_be(op_span, &ty, TypeClass::Add, &format!("`{}`", op.symbol()));
                ty
            }
            BinaryOp::Rem => {
                let ty = self.same(lhs, rhs, &because);
                self.must_be(op_span, &ty, TypeClass::Num, "`%`");
                ty
            }
            BinaryOp::Mul | BinaryOp::Div => {
                let (l, r, at) = self.operands(op_span, lhs, rhs);
                let out = self.store().fresh();
                let what = format!("`{}`", op.symbol());
                let numbers = [(at.l, &l), (at.r, &r)];
                if !numbers.iter().all(|(at, ty)| self.must_be(*at, ty, TypeClass::Add, &what)) {
                    return Ty::Error;
                }
                let out_ty = out.clone();
                if op == BinaryOp::Mul {
                    self.add(Constraint::Mul { l, r, out, at });
                } else {
                    self.literals.push((self.module, id));
                    self.add(Constraint::Div { l, r, out, at });
                }
                self.solve();
                out_ty
            }
            BinaryOp::Pow => {
                let (base, exponent, at) = self.operands(op_span, lhs, rhs);
                self.must_be(at.l, &base, TypeClass::Num, "`^`");
                self.must_be(at.r, &exponent, TypeClass::Num, "the exponent of `^`");
                self.add(Constraint::Pow { base: base.clone(), exponent, at });
                self.solve();
                base
            }
        }
    }

    fn operands(&mut self, op: Span, lhs: ExprId, rhs: ExprId) -> (Ty, Ty, Operands) {
        let (l, r) = (self.infer(lhs), self.infer(rhs));
        (l, r, Operands { op, l: self.span(lhs), r: self.span(rhs) })
    }

    /// Reports a comparison whose left side is an array, as others compare all elements.
    fn compares_array(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        [lhs, rhs]: [ExprId; 2],
        ty: &Ty,
    ) -> bool {
        let Ty::Array(_, element) = self.store().shallow(ty) else { return false };
        let of_rows = matches!(self.store().shallow(&element), Ty::Array(..));
        let other = self.infer(rhs);
        let both = matches!(self.store().shallow(&other), Ty::Array(..));
        let op = op.symbol();
        let shown = self.show(ty);
        let written = |e: ExprId| {
            let text = self.db.sources.slice(self.span(e));
            Some(text).filter(|text| text.len() < 30 && !text.contains('\n'))
        };
        let (xs, y) = (written(lhs).unwrap_or("xs"), written(rhs).unwrap_or("y"));
        let x = if xs == "x" { "y" } else { "x" };
        let help = match (both, of_rows) {
            (true, _) => {
                format!("element by element it is `map2(fn (a, b) -> a {op} b, {xs}, {y})`")
            }
            (false, true) => {
                format!("element by element it is `[[{x} {op} {y} for {x} in row] for row in {xs}]`")
            }
            (false, false) => format!(
                "element by element it is `[{x} {op} {y} for {x} in {xs}]`; the elements of which it is true are `[{x} for {x} in {xs} if {x} {op} {y}]`"
            ),
        };
        let message = format!("`{op}` compares two numbers, but this is of type {shown}");
        let at = self.span(lhs);
        self.db.report(
            Diagnostic::error("type-mismatch", op_span, message)
                .label(at, format!("this is of type {shown}"))
                .help(help),
        );
        true
    }

    /// Two operands of one type.
    fn same(&mut self, lhs: ExprId, rhs: ExprId, because: &Because) -> Ty {
        let ty = self.infer(lhs);
        self.agrees(&ty, rhs, because)
    }

    /// The right operand of one of this type.
    fn agrees(&mut self, ty: &Ty, rhs: ExprId, because: &Because) -> Ty {
        let join = self.store().with_own_sizes(ty);
        self.check(rhs, &join, because);
        join
    }

    /// Literals that are too large for the type they got; inexact divisions of Int literals.
    pub(super) fn check_literals(&mut self) {
        for (module, id) in std::mem::take(&mut self.literals) {
            let ast = self.db.module(module).ast.clone();
            let ty = self.db.module(module).expr_ty[id.index()].clone();
            let is_int = matches!(self.store().shallow(&ty), Ty::Int);
            let span = ast.exprs[id].span;
            match &ast.exprs[id].kind {
                ExprKind::Int(n) if is_int && *n > i64::MAX as u64 => {
                    let negated = *n == 1 << 63 && self.is_negated(&ast, id);
                    if !negated {
                        self.db.report(
                            Diagnostic::error(
                                "literal-too-large",
                                span,
                                format!("{n} is larger than the largest Int, {}", i64::MAX),
                            )
                            .help("write it as a Real, with a point"),
                        );
                    }
                }
                ExprKind::Binary { op: BinaryOp::Div, lhs, rhs, .. } if is_int => {
                    self.check_division(module, [id, *lhs, *rhs]);
                }
                _ => {}
            }
        }
    }

    fn is_negated(&self, ast: &diffeo_syntax::ast::Module, literal: ExprId) -> bool {
        ast.exprs.iter().any(|(_, e)| {
            matches!(e.kind, ExprKind::Unary { op: UnaryOp::Neg, operand } if operand == literal)
        })
    }
}
