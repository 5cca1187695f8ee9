//! The layout of expressions: operators, calls, and what stands in brackets.

use super::build::DocBuilder;
use super::layout::{Hugged, LineBreak};
use crate::ast::{BinaryOp, Clause, ExprId, ExprKind, Ident};
use crate::token::TokenKind;

/// How the elements in brackets are broken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    /// One on each line.
    Lines,
    /// The same, also where they would fit on one line but the text breaks the line after the bracket.
    Kept,
    /// As many on each line as fit. Where the text breaks the line after the bracket, all its line breaks
    /// are kept: it may be a table.
    Filled,
}

/// Operators of the same group are broken together.
fn tightness(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Pipe => 1,
        BinaryOp::Or => 2,
        BinaryOp::And => 3,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            4
        }
        BinaryOp::Cons => 5,
        BinaryOp::Append => 6,
        BinaryOp::Add | BinaryOp::Sub => 7,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 8,
        BinaryOp::Pow => 9,
    }
}

impl DocBuilder<'_, '_> {
    /// An expression within a line.
    pub(super) fn expr(&mut self, id: ExprId) {
        self.deeper(|b| b.expr_here(id, false));
    }

    /// An expression that starts a line if it takes several: its operators stand below it.
    pub(super) fn expr_below(&mut self, id: ExprId) {
        self.deeper(|b| b.expr_here(id, true));
    }

    fn expr_here(&mut self, id: ExprId, below: bool) {
        let module = self.module;
        let node = &module.exprs[id];
        if self.at_parenthesis(node.span) {
            return self.parenthesised(id);
        }
        match &node.kind {
            ExprKind::Error => {}
            ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Var(_)
            | ExprKind::Con(_)
            | ExprKind::Hole => self.token(),
            ExprKind::Unit => {
                self.elements(Elements::Lines, 0, |_, _| {});
            }
            ExprKind::Apply { fun, arg } => {
                self.expr(*fun);
                self.argument(*arg);
            }
            ExprKind::Tuple(parts) => {
                self.elements(Elements::Kept, parts.len(), |b, i| b.expr(parts[i]));
            }
            ExprKind::Record(fields) => {
                self.elements(Elements::Kept, fields.len(), |b, i| b.field(&fields[i]));
            }
            ExprKind::RecordWith { base, fields } => self.record_with(*base, fields),
            ExprKind::Array(parts) => self.array(parts),
            ExprKind::List(parts) => {
                self.token();
                self.array(parts);
            }
            ExprKind::Comprehension { body, clauses } => self.comprehension(*body, clauses),
            ExprKind::Index { base, indices } => {
                self.expr(*base);
                self.elements(Elements::Lines, indices.len(), |b, i| b.expr(indices[i]));
            }
            ExprKind::Slice { base, lo, hi } => {
                self.expr(*base);
                self.bracketed(|b| {
                    b.expr(*lo);
                    b.token();
                    b.expr(*hi);
                });
            }
            ExprKind::Field { base, field: _ } => {
                self.expr(*base);
                self.tokens(2);
            }
            ExprKind::Component { base, index: _ } => {
                self.expr(*base);
                // `3 .0` is a component of 3, `3.0` is a Real. Integers that are too large for an Int are Reals.
                let base = &module.exprs[*base].kind;
                if self.after(TokenKind::Int)
                    && matches!(base, ExprKind::Int(_) | ExprKind::Real(_))
                {
                    self.space();
                }
                self.tokens(2);
            }
            ExprKind::Unary { op: _, operand } => {
                let word = self.at(TokenKind::Not);
                self.token();
                if word {
                    self.space();
                }
                self.expr(*operand);
            }
            ExprKind::Binary { .. } => self.operators(id, below),
            ExprKind::If { .. } => self.if_(id),
            ExprKind::Case { scrutinee, arms } => self.case(*scrutinee, arms),
            ExprKind::Let { bindings, body } => self.let_(bindings, *body),
            ExprKind::Fn { param, body } => {
                self.token();
                self.space();
                self.pat(*param);
                self.space();
                self.token();
                let hugs = self.hugs(*body) || self.is_bare_function(*body);
                self.body(hugs, |b| b.expr_below(*body));
            }
            ExprKind::Loop { pat, init, control, body } => {
                self.loop_(*pat, *init, control, *body);
            }
            ExprKind::Update { base, indices, value } => {
                self.group(|b| {
                    b.expr(*base);
                    b.spaced_token();
                    b.elements(Elements::Lines, indices.len(), |b, i| b.expr(indices[i]));
                    b.space();
                    b.token();
                    b.value(*value);
                });
            }
        }
    }

    /// Whether the expression at the next token is a function without parentheses around it.
    fn is_bare_function(&self, id: ExprId) -> bool {
        let node = &self.module.exprs[id];
        !self.at_parenthesis(node.span) && matches!(node.kind, ExprKind::Fn { .. })
    }

    /// Whether the expression at the next token stands in brackets of its own or ends with them, so that
    /// they may be opened at the end of a line.
    pub(super) fn hugs(&self, id: ExprId) -> bool {
        let node = &self.module.exprs[id];
        !self.at_parenthesis(node.span) && (self.is_bracketed(id) || self.is_call(id))
    }

    fn is_call(&self, id: ExprId) -> bool {
        let exprs = &self.module.exprs;
        matches!(exprs[id].kind, ExprKind::Apply { fun: _, arg }
            if !matches!(exprs[arg].kind, ExprKind::Unit))
    }

    fn is_bracketed(&self, id: ExprId) -> bool {
        let kind = &self.module.exprs[id].kind;
        matches!(
            kind,
            ExprKind::Tuple(_)
                | ExprKind::Record(_)
                | ExprKind::RecordWith { .. }
                | ExprKind::Comprehension { .. }
        ) || matches!(kind, ExprKind::Array(parts) | ExprKind::List(parts) if !parts.is_empty())
    }

    /// What follows `=` in a binding: on the same line if it fits there or is in brackets.
    pub(super) fn value(&mut self, id: ExprId) {
        let hugs = self.hugs(id);
        self.body(hugs, |b| b.expr_below(id));
    }

    /// The parentheses around an expression. Those around operators are not broken themselves.
    fn parenthesised(&mut self, id: ExprId) {
        if matches!(self.module.exprs[id].kind, ExprKind::Binary { .. } | ExprKind::Unary { .. }) {
            self.token();
            self.expr(id);
            self.token();
        } else {
            self.arguments(&[id]);
        }
    }

    /// The argument of a call, with its parentheses.
    fn argument(&mut self, id: ExprId) {
        let node = &self.module.exprs[id];
        match &node.kind {
            ExprKind::Unit if self.starts_here(node.span) => self.expr(id),
            ExprKind::Tuple(args) if self.starts_here(node.span) => self.arguments(args),
            _ => self.arguments(&[id]),
        }
    }

    fn arguments(&mut self, args: &[ExprId]) {
        self.call(|b| {
            let (last, before) = args.split_last()?;
            for arg in before {
                b.expr(*arg);
                b.token();
                b.line_kept(LineBreak::Space);
            }
            let hugged = b.hugged(*last, before).zip(b.unbroken());
            if before.is_empty() {
                b.expr_below(*last);
            } else {
                b.expr(*last);
            }
            hugged
        });
    }

    /// How the last argument, at the next token, may be hugged.
    fn hugged(&self, last: ExprId, before: &[ExprId]) -> Option<Hugged> {
        let exprs = &self.module.exprs;
        let is_function = |id: ExprId| matches!(exprs[id].kind, ExprKind::Fn { .. });
        if self.at_parenthesis(exprs[last].span) || before.iter().any(|id| is_function(*id)) {
            None
        } else if is_function(last) {
            Some(Hugged::Function)
        } else if self.is_bracketed(last) {
            Some(Hugged::Brackets)
        } else {
            (before.is_empty() && self.is_call(last)).then_some(Hugged::Call)
        }
    }

    /// Something in brackets.
    pub(super) fn bracketed(&mut self, write: impl FnOnce(&mut Self)) {
        self.group(|b| {
            b.token();
            b.indented(|b| {
                b.possible_line(LineBreak::Nothing);
                write(b);
                b.comments_inside();
            });
            b.possible_line(LineBreak::Nothing);
            b.token();
        });
    }

    /// Brackets with this many elements. Answers which group they are.
    pub(super) fn elements(
        &mut self,
        how: Elements,
        count: usize,
        mut write: impl FnMut(&mut Self, usize),
    ) -> usize {
        self.group(|b| {
            b.token();
            let kept = how != Elements::Lines && count > 0 && b.on_new_line();
            if kept {
                b.break_group();
            }
            b.indented(|b| {
                b.possible_line(LineBreak::Nothing);
                for i in 0..count {
                    if i > 0 {
                        b.token();
                    }
                    match how {
                        Elements::Filled if i > 0 && !(kept && b.on_new_line()) => {
                            b.filled(false, |b| write(b, i));
                        }
                        Elements::Lines | Elements::Kept | Elements::Filled => {
                            if i > 0 {
                                b.line_kept(LineBreak::Space);
                            }
                            write(b, i);
                        }
                    }
                }
                b.comments_inside();
            });
            b.possible_line(LineBreak::Nothing);
            b.token();
        })
    }

    fn array(&mut self, parts: &[ExprId]) {
        let exprs = &self.module.exprs;
        let is_number = |id: &ExprId| {
            let id = match exprs[*id].kind {
                ExprKind::Unary { op: _, operand } => operand,
                _ => *id,
            };
            matches!(exprs[id].kind, ExprKind::Int(_) | ExprKind::Real(_))
        };
        let numbers = parts.iter().all(|id| match &exprs[*id].kind {
            ExprKind::Tuple(parts) => parts.iter().all(is_number),
            _ => is_number(id),
        });
        let how = if numbers { Elements::Filled } else { Elements::Kept };
        self.elements(how, parts.len(), |b, i| b.expr(parts[i]));
    }

    fn field(&mut self, (_, value): &(Ident, ExprId)) {
        // `{x}` is `{x = x}`.
        let whole = self.before(TokenKind::Eq);
        self.token();
        if whole {
            self.space();
            self.token();
            self.value(*value);
        }
    }

    fn record_with(&mut self, base: ExprId, fields: &[(Ident, ExprId)]) {
        self.group(|b| {
            b.token();
            b.expr(base);
            b.space();
            b.token();
            b.indented(|b| {
                for (i, field) in fields.iter().enumerate() {
                    if i > 0 {
                        b.token();
                    }
                    b.line_kept(LineBreak::Space);
                    b.field(field);
                }
                b.comments_inside();
            });
            b.possible_line(LineBreak::Nothing);
            b.token();
        });
    }

    fn comprehension(&mut self, body: ExprId, clauses: &[Clause]) {
        self.bracketed(|b| {
            b.expr(body);
            b.possible_line(LineBreak::Space);
            b.token();
            b.space();
            b.group(|b| {
                b.indented(|b| {
                    for (i, clause) in clauses.iter().enumerate() {
                        if i > 0 {
                            b.token();
                            b.possible_line(LineBreak::Space);
                        }
                        b.clause(clause.pat, clause.range.expr());
                        if let Some(cond) = clause.cond {
                            b.possible_line(LineBreak::Space);
                            b.token();
                            b.space();
                            b.expr(cond);
                        }
                    }
                });
            });
        });
    }

    /// A chain of operators that are equally tight: broken together, each at the start of a line; but lines
    /// of factors and of `++` are filled, and those after an operand in parentheses.
    fn operators(&mut self, id: ExprId, below: bool) {
        let module = self.module;
        let ExprKind::Binary { op, .. } = module.exprs[id].kind else { return };
        let level = tightness(op);
        let same = |id: ExprId| match module.exprs[id].kind {
            ExprKind::Binary { op, op_span: _, lhs, rhs } if tightness(op) == level => {
                Some((lhs, op, rhs))
            }
            _ => None,
        };
        // From the outermost operator to the left; an operand in parentheses starts after them.
        let mut first = id;
        let mut rest = Vec::new();
        while let Some((lhs, op, rhs)) = same(first) {
            if first != id && module.exprs[first].span.start != module.exprs[id].span.start {
                break;
            }
            rest.push((op, rhs));
            first = lhs;
        }
        self.group(|b| {
            // So that a short operator stands behind the parenthesis that closes above it.
            let filled =
                matches!(op, BinaryOp::Append | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem)
                    || b.at_parenthesis(module.exprs[first].span);
            b.expr(first);
            let mut write = |b: &mut Self| {
                while let Some((op, rhs)) = rest.pop() {
                    if op == BinaryOp::Pipe && b.on_new_line() {
                        b.break_group();
                    }
                    // On the right only operators that associate to the right are of the same chain.
                    let operand = |b: &mut Self| {
                        b.token();
                        b.space();
                        match same(rhs).filter(|_| !b.at_parenthesis(module.exprs[rhs].span)) {
                            Some((lhs, op, rhs)) => {
                                b.expr(lhs);
                                Some((op, rhs))
                            }
                            None => {
                                b.expr(rhs);
                                None
                            }
                        }
                    };
                    if filled {
                        let kind = &module.exprs[rhs].kind;
                        let in_brackets = b.before_parenthesis(module.exprs[rhs].span)
                            || matches!(kind, ExprKind::Apply { .. });
                        b.filled(in_brackets, |b| rest.extend(operand(b)));
                    } else {
                        b.possible_line(LineBreak::Space);
                        rest.extend(operand(b));
                    }
                }
            };
            if below {
                write(b);
            } else {
                b.indented(write);
            }
        });
    }
}
