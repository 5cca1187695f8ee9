//! Divisions of Ints that were likely meant as divisions of Reals: of a number that is made of integer literals alone.
//!
//! A number is made of literals if arithmetic, choices and variables without an annotation lead to nothing else. A
//! variable that counts, indexes, has a remainder or is an argument somewhere is meant as an Int, and its divisions are not
//! looked at.

use super::Infer;
use crate::db::{def_item, Db, ModuleData, ModuleId, Res};
use diffeo_base::{deep, Diagnostic, SourceMap, Span};
use diffeo_syntax::ast::{
    BinaryOp, Binding, Clause, Control, ExprId, ExprKind, Module, PatId, PatKind, Range, UnaryOp,
};
use std::cell::OnceCell;
use std::collections::HashMap;

impl Infer<'_> {
    /// Remembers the values of the variables of a pattern, where these are written.
    pub(super) fn note_values(&mut self, pat: PatId, value: ExprId) {
        let ast = self.ast.clone();
        match (&ast.pats[pat].kind, &ast.exprs[value].kind) {
            (PatKind::Var(_), _) => {
                self.values.insert((self.module, pat), value);
            }
            (PatKind::Tuple(pats), ExprKind::Tuple(parts)) if pats.len() == parts.len() => {
                pats.iter().zip(parts).for_each(|(pat, part)| self.note_values(*pat, *part));
            }
            _ => {}
        }
    }

    /// Warns of a division of Ints if it is one of literals with a remainder, or of literals by an unknown number.
    pub(super) fn check_division(&mut self, module: ModuleId, [id, lhs, rhs]: [ExprId; 3]) {
        let cx = Literals {
            ast: &self.db.module(module).ast,
            id: module,
            module: self.db.module(module),
            db: self.db,
            values: &self.values,
            parents: OnceCell::new(),
        };
        let Some(dividend) = cx.made(lhs, MOST_STEPS) else { return };
        // Of an unknown divisor only the quotient of 0 is sure to be exact.
        let quotient = match (dividend, cx.made(rhs, MOST_STEPS).flatten()) {
            (Some(0), _) | (_, Some(-1..=1)) => return,
            (Some(a), Some(b)) if a % b == 0 => return,
            (Some(a), Some(b)) => Some((a / b, a as f64 / b as f64)),
            (_, None) | (None, _) => None,
        };
        let message = match quotient {
            Some((truncated, _)) => format!("this division of Ints is truncated to {truncated}"),
            None => "this division of Ints is truncated to an Int".to_string(),
        };
        let real =
            |e: ExprId| as_real(&cx.ast.exprs[e].kind, cx.ast.exprs[e].span, &self.db.sources);
        let help = match (quotient, cx.written(lhs), cx.written(rhs)) {
            (Some((_, x)), Some(a), Some(b)) => format!("write `{a}.0 / {b}` for the Real {x}"),
            (_, Some(a), _) => format!("write `{a}.0 / {}` for the quotient as a Real", real(rhs)),
            (_, None, Some(b)) => {
                format!("write `{} / {b}.0` for the quotient as a Real", real(lhs))
            }
            (_, None, None) => {
                format!("write `{} / {}` for the quotient as a Real", real(lhs), real(rhs))
            }
        };
        let span = cx.ast.exprs[id].span;
        self.db.report(Diagnostic::warning("inexact-division", span, message).help(help));
    }
}

/// `real(n)` for an expression of this text, if that is short.
fn as_real(kind: &ExprKind, span: Span, sources: &SourceMap) -> String {
    let text = sources.slice(span);
    if text.len() >= 40 || text.contains('\n') {
        return "real(…)".to_string();
    }
    let grouped = matches!(kind, ExprKind::Binary { .. } | ExprKind::If { .. });
    match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
        Some(inner) if grouped && !inner.contains(['(', ')']) => format!("real({inner})"),
        Some(_) | None => format!("real({text})"),
    }
}

/// Variables lead to variables at most so often.
const MOST_STEPS: usize = 16;

/// Numbers made of literals in a module.
struct Literals<'a> {
    ast: &'a Module,
    id: ModuleId,
    module: &'a ModuleData,
    db: &'a Db,
    values: &'a HashMap<(ModuleId, PatId), ExprId>,
    /// By expression, the one that it is a part of.
    parents: OnceCell<Vec<Option<ExprId>>>,
}

impl<'a> Literals<'a> {
    fn parent(&self, id: ExprId) -> Option<ExprId> {
        let parents = self.parents.get_or_init(|| {
            let mut parents = vec![None; self.ast.exprs.len()];
            for (id, expr) in self.ast.exprs.iter() {
                expr.kind.each_child(&mut |child| parents[child.index()] = Some(id));
            }
            parents
        });
        parents[id.index()]
    }

    fn kind(&self, id: ExprId) -> &'a ExprKind {
        &self.ast.exprs[id].kind
    }

    /// The literal that stands here, with its sign.
    fn written(&self, id: ExprId) -> Option<i64> {
        match self.kind(id) {
            ExprKind::Int(n) => i64::try_from(*n).ok(),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => match self.kind(*operand) {
                ExprKind::Int(n) => i64::try_from(*n).ok().map(|n| -n),
                _ => None,
            },
            _ => None,
        }
    }

    /// Of a number that is made of literals, its value, if it has a single one.
    fn made(&self, id: ExprId, steps: usize) -> Option<Option<i64>> {
        deep(|| self.made_within(id, steps))
    }

    fn made_within(&self, id: ExprId, steps: usize) -> Option<Option<i64>> {
        match self.kind(id) {
            ExprKind::Int(n) => Some(i64::try_from(*n).ok()),
            ExprKind::Unary { op: UnaryOp::Neg, operand } => {
                Some(self.made(*operand, steps)?.and_then(i64::checked_neg))
            }
            ExprKind::Binary { op, lhs, rhs, .. } => {
                let compute = arithmetic(*op)?;
                let (a, b) = (self.made(*lhs, steps)?, self.made(*rhs, steps)?);
                Some(a.zip(b).and_then(|(a, b)| compute(a, b)))
            }
            ExprKind::If { then, otherwise, .. } => {
                let (a, b) = (self.made(*then, steps)?, self.made(*otherwise, steps)?);
                Some(a.filter(|_| a == b))
            }
            ExprKind::Let { body, .. } => self.made(*body, steps),
            ExprKind::Var(_) => {
                let res = self.module.res.get(&id)?;
                let value = self.value(res)?;
                let left = steps.checked_sub(1)?;
                (!self.meant_as_int(res, left)).then(|| self.made(value, left)).flatten()
            }
            _ => None,
        }
    }

    /// The value of a variable or a constant of the module, unless its type is annotated.
    fn value(&self, res: &Res) -> Option<ExprId> {
        match res {
            Res::Local(pat) => self.values.get(&(self.id, *pat)).copied(),
            Res::Def(id) if self.module.defs.contains(id) => {
                let def = def_item(self.ast, self.db.def(*id).item);
                (def.param.is_none() && def.ret.is_none()).then_some(def.body)
            }
            Res::Def(_)
            | Res::Size(..)
            | Res::Con(..)
            | Res::Builtin
            | Res::Jet
            | Res::Derivatives => None,
        }
    }

    fn meant_as_int(&self, res: &Res, steps: usize) -> bool {
        self.module.res.iter().any(|(id, other)| other == res && self.asks_for_int(*id, steps))
    }

    /// Whether a number is used as one that is an Int and no Real.
    fn asks_for_int(&self, id: ExprId, steps: usize) -> bool {
        deep(|| self.asks_for_int_within(id, steps))
    }

    fn asks_for_int_within(&self, id: ExprId, steps: usize) -> bool {
        let Some(parent) = self.parent(id) else { return false };
        match self.kind(parent) {
            ExprKind::Binary { op, lhs, rhs, .. } => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => self.asks_for_int(parent, steps),
                BinaryOp::Rem => true,
                BinaryOp::Pow => id == *rhs || self.asks_for_int(parent, steps),
                BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Lt
                | BinaryOp::Le
                | BinaryOp::Gt
                | BinaryOp::Ge => {
                    let other = if id == *lhs { *rhs } else { *lhs };
                    steps == 0 || self.made(other, steps - 1).is_none()
                }
                BinaryOp::Pipe => id == *lhs,
                BinaryOp::Div
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Cons
                | BinaryOp::Append => false,
            },
            ExprKind::Unary { .. } => self.asks_for_int(parent, steps),
            ExprKind::If { cond, .. } => id != *cond && self.asks_for_int(parent, steps),
            ExprKind::Case { scrutinee, .. } => {
                id == *scrutinee || self.asks_for_int(parent, steps)
            }
            ExprKind::Let { bindings, body } => {
                if id == *body {
                    return self.asks_for_int(parent, steps);
                }
                bindings.iter().any(|binding| match binding {
                    Binding::Value { pat, value } if *value == id => {
                        steps > 0
                            && self.values.contains_key(&(self.id, *pat))
                            && self.meant_as_int(&Res::Local(*pat), steps - 1)
                    }
                    Binding::Value { .. } | Binding::Function { .. } => false,
                })
            }
            ExprKind::Apply { arg, .. } => id == *arg,
            ExprKind::Tuple(_) => self.parent(parent).is_some_and(
                |call| matches!(self.kind(call), ExprKind::Apply { arg, .. } if *arg == parent),
            ),
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => id != *base,
            ExprKind::Update { indices, .. } => indices.contains(&id),
            ExprKind::Comprehension { clauses, .. } => {
                clauses.iter().any(|Clause { range, .. }| *range == Range::Count(id))
            }
            ExprKind::Loop { control, .. } => {
                matches!(&**control, Control::Count { bound, .. } if *bound == id)
            }
            _ => false,
        }
    }
}

/// The value of an operation on Ints, if it is arithmetic.
fn arithmetic(op: BinaryOp) -> Option<fn(i64, i64) -> Option<i64>> {
    match op {
        BinaryOp::Add => Some(i64::checked_add),
        BinaryOp::Sub => Some(i64::checked_sub),
        BinaryOp::Mul => Some(i64::checked_mul),
        BinaryOp::Div => Some(i64::checked_div),
        BinaryOp::Rem => Some(i64::checked_rem),
        BinaryOp::Pow => Some(|a, n| a.checked_pow(u32::try_from(n).ok()?)),
        BinaryOp::Pipe
        | BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::Cons
        | BinaryOp::Append => None,
    }
}
