//! `builtin("name", …)` of the standard library, `jet` and `derivatives`.

use super::{nest, never, var, Body};
use crate::db::{def_item, DefId, Res};
use diffeo_base::Span;
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::{Diff, DiffOp, IntOp, RealOp, Rounding, TextOp};
use diffeo_calculus::term::{Lit, Term, TermKind};
use diffeo_calculus::{Prim, Ty};
use diffeo_syntax::ast::{Def, ExprId, ExprKind, Module, PatId, PatKind};

impl Body<'_, '_> {
    /// `builtin("name", args)` with a result of this type.
    pub(super) fn builtin(&mut self, arg: ExprId, result: &Ty, span: Span) -> Term {
        let ast = self.ast.clone();
        let parts: Vec<ExprId> = match &ast.exprs[arg].kind {
            ExprKind::Tuple(es) => es.clone(),
            _ => vec![arg],
        };
        let ExprKind::Str(name) = &ast.exprs[parts[0]].kind else {
            return never("an operation", span);
        };
        let types: Vec<Ty> = parts[1..].iter().map(|e| self.expr_ty(*e)).collect();
        let mut terms: Vec<Term> = parts[1..].iter().map(|e| self.expr(*e)).collect();
        match (name.as_str(), types.as_slice()) {
            ("nest", [of, rows]) => {
                let rows = (rows.clone(), terms.remove(1));
                self.nest(of, result, terms.remove(0), rows, span)
            }
            _ => operation(name, &types, result, terms, span),
        }
    }

    /// A call of a library function that only wraps a primitive operation is the operation.
    pub(super) fn inlined(
        &mut self,
        def: DefId,
        arg: ExprId,
        result: &Ty,
        span: Span,
    ) -> Option<Term> {
        let db = self.cx.db;
        let info = db.def(def);
        let module = db.module(info.module);
        if !module.std {
            return None;
        }
        let lib = module.ast.clone();
        let item = def_item(&lib, info.item);
        let (name, params) = wrapper(item, &lib, &module.res)?;
        let ast = self.ast.clone();
        let parts: Vec<ExprId> = if params == 1 {
            vec![arg]
        } else {
            match &ast.exprs[arg].kind {
                ExprKind::Tuple(es) if es.len() == params => es.clone(),
                _ => return None,
            }
        };
        let types: Vec<Ty> = parts.iter().map(|e| self.expr_ty(*e)).collect();
        let terms = parts.iter().map(|e| self.expr(*e)).collect();
        Some(operation(name, &types, result, terms, span))
    }

    /// `jet(k, r, f)`
    pub(super) fn jet(&mut self, arg: ExprId, result: &Ty, span: Span) -> Term {
        let ast = self.ast.clone();
        let ExprKind::Tuple(parts) = &ast.exprs[arg].kind else {
            return never("`jet`", span);
        };
        let number = |e: ExprId| match ast.exprs[e].kind {
            ExprKind::Int(n) => Some(n as u32),
            _ => None,
        };
        let numbers = (number(parts[0]), number(parts[1]));
        let types = (self.expr_ty(parts[2]), result);
        let ((Some(k), Some(r)), (Ty::Fun(f), Ty::Fun(lifted))) = (numbers, types) else {
            return never("`jet`", span);
        };
        let diff = Diff { op: DiffOp::Jet { k, r }, from: f.0.clone(), to: f.1.clone() };
        let fun = self.expr(parts[2]);
        let fun_binder = self.cx.binder("f", Ty::Fun(f));
        let x = self.cx.binder("x", lifted.0.clone());
        let body =
            Term::new(TermKind::Diff(diff, vec![var(&fun_binder, span), var(&x, span)]), span);
        let lam = Term::new(TermKind::Lam(x, Box::new(body)), span);
        Term::new(TermKind::Let(vec![(fun_binder, fun)], Box::new(lam)), span)
    }

    /// `derivatives(r, f)`: `fn x -> jet(1, r, f)([x, 1, 0, …])`.
    pub(super) fn derivatives(&mut self, arg: ExprId, span: Span) -> Term {
        let ast = self.ast.clone();
        let ExprKind::Tuple(parts) = &ast.exprs[arg].kind else {
            return never("`derivatives`", span);
        };
        let ExprKind::Int(r) = ast.exprs[parts[0]].kind else {
            return never("`derivatives`", span);
        };
        let r = r as u32;
        let diff = Diff { op: DiffOp::Jet { k: 1, r }, from: Ty::Real, to: Ty::Real };
        let fun = self.expr(parts[1]);
        let fun_binder = self.cx.binder("f", Ty::fun(Ty::Real, Ty::Real));
        let x = self.cx.binder("x", Ty::Real);
        let seeds = (0..=r)
            .map(|i| match i {
                0 => var(&x, span),
                1 => Term::new(TermKind::Lit(Lit::Real(1.0)), span),
                _ => Term::new(TermKind::Lit(Lit::Real(0.0)), span),
            })
            .collect();
        let seed = Term::new(TermKind::Array(Ty::Real, seeds), span);
        let body = Term::new(TermKind::Diff(diff, vec![var(&fun_binder, span), seed]), span);
        let lam = Term::new(TermKind::Lam(x, Box::new(body)), span);
        Term::new(TermKind::Let(vec![(fun_binder, fun)], Box::new(lam)), span)
    }
}

/// The operation that a library definition wraps: its parameters in order, nothing else.
fn wrapper<'m>(
    def: &Def,
    ast: &'m Module,
    res: &std::collections::HashMap<ExprId, Res>,
) -> Option<(&'m str, usize)> {
    let ExprKind::Apply { fun, arg } = &ast.exprs[def.body].kind else { return None };
    if res.get(fun) != Some(&Res::Builtin) {
        return None;
    }
    let ExprKind::Tuple(parts) = &ast.exprs[*arg].kind else { return None };
    let ExprKind::Str(name) = &ast.exprs[parts[0]].kind else { return None };
    let params: Vec<PatId> = match &ast.pats[def.param?].kind {
        PatKind::Tuple(ps) => ps.clone(),
        _ => vec![def.param?],
    };
    let variable = |p: PatId| match &ast.pats[p].kind {
        PatKind::Annot(inner, _) => *inner,
        _ => p,
    };
    let matches = params.len() == parts.len() - 1
        && params
            .iter()
            .zip(&parts[1..])
            .all(|(p, e)| res.get(e) == Some(&Res::Local(variable(*p))));
    matches.then_some((name.as_str(), params.len()))
}

/// The term of a primitive operation at the types of its arguments.
fn operation(name: &str, types: &[Ty], result: &Ty, args: Vec<Term>, span: Span) -> Term {
    let first = types.first().cloned().unwrap_or(Ty::Unit);
    let second = types.get(1).cloned().unwrap_or(Ty::Unit);
    let element = match &first {
        Ty::Array(t) => (**t).clone(),
        other => other.clone(),
    };
    let either = |int: IntOp, real: RealOp| match first {
        Ty::Int => Prim::Int(int),
        _ => Prim::Real(real),
    };
    let real = |op: RealOp| Prim::Real(op);
    let diff = |op: DiffOp| {
        let (from, to) = match &first {
            Ty::Fun(f) => (f.0.clone(), f.1.clone()),
            other => (other.clone(), other.clone()),
        };
        Diff { op, from, to }
    };
    let mut args = args;
    let prim = match name {
        "flat" => return nest::flat(first, args.remove(0), span),
        "basis" => {
            let reals = args.remove(1);
            return nest::basis(first, args.remove(0), reals, span);
        }
        "digamma" => real(RealOp::Polygamma(0)),
        "abs" => either(IntOp::Abs, RealOp::Abs),
        "sign" => either(IntOp::Sign, RealOp::Sign),
        "min" => either(IntOp::Min, RealOp::Min),
        "max" => either(IntOp::Max, RealOp::Max),
        "floor" => Prim::Round(Rounding::Floor),
        "ceil" => Prim::Round(Rounding::Ceil),
        "round" => Prim::Round(Rounding::Round),
        "trunc" => Prim::Round(Rounding::Trunc),
        "real" => Prim::ToReal,
        "is_nan" => Prim::IsNan,
        "bit_and" => Prim::Int(IntOp::BitAnd),
        "bit_or" => Prim::Int(IntOp::BitOr),
        "bit_xor" => Prim::Int(IntOp::BitXor),
        "shift_left" => Prim::Int(IntOp::ShiftLeft),
        "shift_right" => Prim::Int(IntOp::ShiftRight),
        "wrapping_add" => Prim::Int(IntOp::WrappingAdd),
        "wrapping_mul" => Prim::Int(IntOp::WrappingMul),
        "zero_of" => Prim::ZeroOf(first),
        "add" => Prim::Add(first),
        "scale" => Prim::Scale(second),
        "inner" => Prim::Inner(first),
        "ravel" => Prim::Ravel(first),
        "unravel" => Prim::Unravel(first),
        "length" => Prim::Length(element),
        "sum" => Prim::Sum(element),
        "flatten" => Prim::Flatten(match element {
            Ty::Array(t) => (*t).clone(),
            other => other,
        }),
        "argsort" => Prim::ArgSort(element),
        "show" => Prim::Show(first),
        "text_size" => Prim::Text(TextOp::Size),
        "text_byte" => Prim::Text(TextOp::Byte),
        "text_slice" => Prim::Text(TextOp::Slice),
        "text_find" => Prim::Text(TextOp::Find),
        "text_character" => Prim::Text(TextOp::Character),
        "text_lower" => Prim::Text(TextOp::Lower),
        "text_upper" => Prim::Text(TextOp::Upper),
        "text_digits" => Prim::Text(TextOp::Digits),
        "text_number" => Prim::Text(TextOp::Number),
        "labels" => Prim::Labels(first),
        "fail" => Prim::Fail(result.clone()),
        "trace" => Prim::Trace(second),
        "progress" => Prim::Progress(types.get(3).cloned().unwrap_or(Ty::Unit)),
        "warn" => Prim::Warn,
        "vjp" => return Term::new(TermKind::Diff(diff(DiffOp::Vjp), args), span),
        "jvp" => return Term::new(TermKind::Diff(diff(DiffOp::Jvp), args), span),
        "rd_along" => return Term::new(TermKind::Diff(diff(DiffOp::RdAlong), args), span),
        "rd" => return Term::new(TermKind::Diff(diff(DiffOp::Rd), args), span),
        "checkpoint" => return Term::new(TermKind::Diff(diff(DiffOp::Checkpoint), args), span),
        "with_derivative" => {
            return Term::new(TermKind::Diff(diff(DiffOp::WithDerivative), args), span)
        }
        "deciding" => return Term::new(TermKind::Diff(diff(DiffOp::Deciding), args), span),
        "decisions" => return Term::new(TermKind::Diff(diff(DiffOp::Decisions), args), span),
        "all_paths" => return Term::new(TermKind::Diff(diff(DiffOp::AllPaths), args), span),
        "dependence" => return Term::new(TermKind::Diff(diff(DiffOp::Dependence), args), span),
        "enclose" => return Term::new(TermKind::Diff(diff(DiffOp::Enclose), args), span),
        "with_exact_derivative" => {
            return Term::new(TermKind::Diff(diff(DiffOp::WithExactDerivative), args), span)
        }
        "stop_gradient" => {
            let diff = Diff { op: DiffOp::StopGradient, from: first.clone(), to: first };
            return Term::new(TermKind::Diff(diff, args), span);
        }
        // The other operations on Reals, by the table.
        other => match RealOp::named(other) {
            Some(op) => real(op),
            None => unreachable!("the standard library names an unknown operation {other}"),
        },
    };
    Term::new(TermKind::Prim(prim, args), span)
}
