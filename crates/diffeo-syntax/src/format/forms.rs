//! The layout of the forms that start with a keyword: `if`, `case`, `let`, `loop`.

use super::build::DocBuilder;
use super::layout::LineBreak;
use crate::ast::{Arm, Binding, Control, ExprId, ExprKind, PatId, TypeId};
use crate::token::TokenKind;

impl DocBuilder<'_, '_> {
    /// `if c then a else b` on one line; otherwise `else` starts a line, and the first branch stands where
    /// it fits. A line break before an `else` is kept.
    pub(super) fn if_(&mut self, id: ExprId) {
        let module = self.module;
        self.group(|b| {
            let mut id = id;
            while let ExprKind::If { cond, then, otherwise } = module.exprs[id].kind {
                b.group(|b| {
                    b.token();
                    b.space();
                    b.expr(cond);
                    // The body that follows is the next group.
                    let body = b.next_group();
                    b.possible_line(LineBreak::Then(body));
                    b.token();
                    b.body(false, |b| b.expr_below(then));
                });
                if b.on_new_line() {
                    b.break_group();
                }
                b.possible_line(LineBreak::Space);
                b.token();
                let next = &module.exprs[otherwise];
                if matches!(next.kind, ExprKind::If { .. }) && !b.at_parenthesis(next.span) {
                    b.space();
                    id = otherwise;
                    continue;
                }
                b.body(false, |b| b.expr_below(otherwise));
                break;
            }
        });
    }

    /// `case e of { P -> e | P -> e }` on one line; otherwise each arm starts a line.
    pub(super) fn case(&mut self, scrutinee: ExprId, arms: &[Arm]) {
        self.token();
        self.space();
        self.expr(scrutinee);
        self.spaced_token();
        self.group(|b| {
            b.token();
            if b.on_new_line() {
                b.break_group();
            }
            for (i, arm) in arms.iter().enumerate() {
                if i > 0 {
                    b.line_kept(LineBreak::Space);
                    b.token();
                    b.space();
                }
                b.indented(|b| {
                    if i == 0 {
                        b.possible_line(LineBreak::Space);
                    }
                    b.pat(arm.pat);
                    b.space();
                    b.token();
                    b.value(arm.body);
                    b.comments_inside();
                });
            }
            b.possible_line(LineBreak::Space);
            b.token();
        });
    }

    /// One binding on each line, then the body; a single short one may stand on one line with its body,
    /// unless the text breaks the line between them.
    pub(super) fn let_(&mut self, bindings: &[Binding], body: ExprId) {
        self.group(|b| {
            for binding in bindings {
                b.token();
                b.space();
                b.binding(binding);
                if b.at(TokenKind::In) {
                    b.space();
                    b.token();
                }
                if bindings.len() > 1 || b.on_new_line() {
                    b.break_group();
                }
                b.line_kept(LineBreak::Space);
            }
            b.expr_below(body);
        });
    }

    fn binding(&mut self, binding: &Binding) {
        match binding {
            Binding::Value { pat, value } => {
                self.pat(*pat);
                self.space();
                self.token();
                self.value(*value);
            }
            Binding::Function { recursive: _, name: _, param, ret, body } => {
                if self.token_if(TokenKind::Rec) {
                    self.space();
                }
                self.token();
                self.function(Some(*param), *ret, *body);
            }
        }
    }

    /// What follows the name of a function or constant: parameters, type and body.
    pub(super) fn function(&mut self, param: Option<PatId>, ret: Option<TypeId>, body: ExprId) {
        let head = param.map(|param| self.params(param));
        if let Some(ret) = ret {
            if self.at(TokenKind::Arrow) {
                self.space();
            }
            self.token();
            self.space();
            self.type_(ret);
        }
        self.space();
        self.token();
        // Rather than the type of the result, the parameters are broken.
        if let Some(head) = head {
            self.extend(head);
        }
        self.value(body);
    }

    /// All on one line, or the body indented below `do`; a line break between them is kept.
    pub(super) fn loop_(&mut self, pat: PatId, init: ExprId, control: &Control, body: ExprId) {
        self.group(|b| {
            b.group(|b| {
                b.token();
                b.space();
                b.pat(pat);
                b.spaced_token();
                b.expr(init);
                b.possible_line(LineBreak::Space);
                b.token();
                b.space();
                match control {
                    Control::Count { pat, bound: e } | Control::In { pat, source: e } => {
                        b.clause(*pat, *e);
                    }
                    Control::While(cond) => b.expr(*cond),
                }
                b.space();
                b.token();
            });
            if b.on_new_line() {
                b.break_group();
            }
            b.indented(|b| {
                b.possible_line(LineBreak::Space);
                b.expr_below(body);
            });
        });
    }

    /// `i < n`, `x in xs`.
    pub(super) fn clause(&mut self, pat: PatId, expr: ExprId) {
        self.pat(pat);
        self.spaced_token();
        self.expr(expr);
    }
}
