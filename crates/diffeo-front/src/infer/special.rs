//! Forms with typing rules of their own: `builtin("name", …)` of the standard library, `jet` and `derivatives`, whose
//! types depend on literals.

use super::constraint::Constraint;
use super::error::Because;
use super::Infer;
use crate::db::DefId;
use crate::types::{Clash, DataIdx, Nest, Size, Ty, Walk};
use diffeo_base::{deep, Diagnostic, Span};
use diffeo_calculus::eval::derivative::{jet_coefficients, MOST_COEFFICIENTS};
use diffeo_syntax::ast::{ExprId, ExprKind};
use std::collections::HashSet;

/// The operations that take derivatives, or the bounds, of the function that they are given.
const DERIVATIVES: [&str; 9] = [
    "vjp",
    "jvp",
    "rd",
    "checkpoint",
    "with_derivative",
    "with_exact_derivative",
    "enclose",
    "dependence",
    "all_paths",
];

/// The functions of the prelude that make a derivative of a function, by what it takes.
pub const GRADIENTS: [&str; 6] =
    ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian"];

impl Infer<'_> {
    /// `builtin("name", args)`: an operation of Core, typed by the annotations around it.
    pub(super) fn builtin(&mut self, id: ExprId, arg: ExprId) -> Ty {
        let ast = self.ast.clone();
        let parts: Vec<ExprId> = match &ast.exprs[arg].kind {
            ExprKind::Tuple(es) => es.clone(),
            _ => vec![arg],
        };
        let types: Vec<Ty> = parts.iter().map(|e| self.infer(*e)).collect();
        let ExprKind::Str(name) = &ast.exprs[parts[0]].kind else { return Ty::Error };
        let span = self.span(id);
        let why = self.why(span, &format!("`{name}`"));
        let needs: Vec<Ty> = match name.as_str() {
            name if DERIVATIVES.contains(&name) => match self.store().shallow(&types[1]) {
                Ty::Fun(f) => vec![f.0.clone(), f.1.clone()],
                _ => Vec::new(),
            },
            "zero_of" | "add" | "inner" | "ravel" | "unravel" | "labels" | "show" | "flat"
            | "basis" | "nest" => vec![types[1].clone()],
            "scale" | "trace" => vec![types[2].clone()],
            _ => Vec::new(),
        };
        let derivative = DERIVATIVES.contains(&name.as_str());
        for ty in needs {
            if derivative {
                self.store().differentiate(&ty);
            }
            if let Err(clash) = self.store().first_order(&ty, &why) {
                self.report_clash(span, &ty, &ty, &clash, &Because::Use);
            }
        }
        let (size, element) = self.some_array();
        let array = Ty::array(size, element.clone());
        match (name.as_str(), types.as_slice()) {
            ("flat", _) => {
                self.must(span, &element, &Ty::Real, &Because::Use);
                array
            }
            ("basis", [_, x, reals]) => {
                self.must(span, &element, &Ty::Real, &Because::Use);
                self.must(span, &array, reals, &Because::Use);
                x.clone()
            }
            ("nest", [_, of, rows]) => {
                self.must(span, &array, rows, &Because::Use);
                let out = self.store().fresh();
                let nest = Nest { of: of.clone(), with: element, out: out.clone() };
                self.add(Constraint::Nest { nest, span, name: name.clone() });
                out
            }
            _ => self.store().fresh(),
        }
    }

    /// Remembers by which type a function of the prelude takes a derivative.
    pub(super) fn note_derivative(&mut self, def: DefId, span: Span, ty: &Ty) {
        let info = self.db.def(def);
        let of_prelude = Some(info.module) == self.db.prelude;
        let by_reals = GRADIENTS.contains(&info.name.as_str()) || info.name == "hvp";
        if !of_prelude || !by_reals || self.db.module(self.module).std {
            return;
        }
        let name = info.name.clone();
        let Ty::Fun(takes) = self.store().shallow(ty) else { return };
        let first = match self.store().shallow(&takes.0) {
            Ty::Tuple(parts) => parts[0].clone(),
            one => one,
        };
        if let Ty::Fun(of) = self.store().shallow(&first) {
            self.derivatives.push((span, name, of.0.clone()));
        }
    }

    /// Warns of derivatives by values that hold no Real: those are the values themselves, or nothing.
    pub(super) fn check_derivatives(&mut self) {
        for (span, name, ty) in std::mem::take(&mut self.derivatives) {
            if self.may_hold_real(&ty, &mut HashSet::new()) {
                continue;
            }
            let text = self.show(&ty);
            let message =
                format!("`{name}` takes a derivative by Reals, but there is none in {text}");
            self.db.report(
                Diagnostic::warning("no-real", span, message)
                    .note("what is no Real has no derivative: it is given back as it is")
                    .help("a Real is written with a point, `3.0`, and made of an Int by `real(n)`"),
            );
        }
    }

    fn may_hold_real(&self, ty: &Ty, seen: &mut HashSet<DataIdx>) -> bool {
        let mut walk = Walk::of(ty);
        while let Some(part) = walk.next(&self.db.store) {
            match part {
                Ty::Real | Ty::Var(_) | Ty::Param(_) | Ty::Fun(_) | Ty::Error => return true,
                Ty::Data(data, _) if seen.insert(data) => {
                    let constructors = &self.db.data(data).constructors;
                    let fields = constructors.iter().flat_map(|k| &k.fields);
                    // Arguments of the type are parts of the walk themselves.
                    let mut fields = fields.filter(|ty| !matches!(ty, Ty::Param(_)));
                    if fields.any(|ty| deep(|| self.may_hold_real(ty, seen))) {
                        return true;
                    }
                }
                Ty::Data(..)
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Tuple(_)
                | Ty::Record(_)
                | Ty::Array(..) => {}
            }
        }
        false
    }

    fn literal(&mut self, id: ExprId, name: &str, max: u64) -> Option<u64> {
        match self.ast.exprs[id].kind {
            ExprKind::Int(n) if n <= max => Some(n),
            _ => {
                self.db.report(
                    Diagnostic::error(
                        "special-application",
                        self.span(id),
                        format!("`{name}` needs an integer literal from 0 to {max} here"),
                    )
                    .note("the type of the result depends on it"),
                );
                None
            }
        }
    }

    fn special_arguments(&mut self, fun: ExprId, arg: ExprId, n: usize) -> Option<Vec<ExprId>> {
        let ast = self.ast.clone();
        match &ast.exprs[arg].kind {
            ExprKind::Tuple(es) if es.len() == n => Some(es.clone()),
            _ => {
                self.infer(arg);
                let (what, how) = if n == 3 {
                    ("jet", "`jet(k, r, f)`: the number of variables and the order, integer literals, and a function")
                } else {
                    (
                        "derivatives",
                        "`derivatives(r, f)`: the order, an integer literal, and a function",
                    )
                };
                self.db.report(
                    Diagnostic::error(
                        "special-application",
                        self.span(fun),
                        format!("`{what}` takes {n} arguments"),
                    )
                    .help(format!("write {how}")),
                );
                None
            }
        }
    }

    pub(super) fn apply_jet(&mut self, fun: ExprId, arg: ExprId) -> Ty {
        let Some(parts) = self.special_arguments(fun, arg, 3) else { return Ty::Error };
        let k = self.literal(parts[0], "jet", 64);
        let r = self.literal(parts[1], "jet", 64);
        self.set(parts[0], &Ty::Int);
        self.set(parts[1], &Ty::Int);
        let (s, t) = self.function_argument(parts[2], "jet");
        let (Some(k), Some(r)) = (k, r) else { return Ty::Error };
        let c = jet_coefficients(k, r);
        if c > MOST_COEFFICIENTS {
            self.db.report(Diagnostic::error(
                "special-application",
                self.span(fun),
                format!("`jet({k}, {r}, …)` has more than a million coefficients for each Real"),
            ));
            return Ty::Error;
        }
        let (from, to) = (self.store().fresh(), self.store().fresh());
        let span = self.span(parts[2]);
        self.add(Constraint::Jet { of: s, out: from.clone(), c, span });
        self.add(Constraint::Jet { of: t, out: to.clone(), c, span });
        Ty::fun(from, to)
    }

    pub(super) fn apply_derivatives(&mut self, fun: ExprId, arg: ExprId) -> Ty {
        let Some(parts) = self.special_arguments(fun, arg, 2) else { return Ty::Error };
        // The coefficients of higher orders, which are divided by the factorial, underflow.
        let r = self.literal(parts[0], "derivatives", 128);
        self.set(parts[0], &Ty::Int);
        let because = Because::Argument {
            fun: self.span(fun),
            name: Some("derivatives".into()),
            usage: None,
        };
        self.check(parts[1], &Ty::fun(Ty::Real, Ty::Real), &because);
        let size = r.map_or(Size::Unknown, |r| Size::Known(r + 1));
        Ty::fun(Ty::Real, Ty::array(size, Ty::Real))
    }

    fn function_argument(&mut self, id: ExprId, name: &str) -> (Ty, Ty) {
        let (s, t) = (self.store().fresh(), self.store().fresh());
        let because =
            Because::Argument { fun: self.span(id), name: Some(name.into()), usage: None };
        self.check(id, &Ty::fun(s.clone(), t.clone()), &because);
        let span = self.span(id);
        let why = self.why(span, &format!("`{name}`"));
        for ty in [&s, &t] {
            self.store().differentiate(ty);
            let result: Result<(), Clash> = self.store().first_order(ty, &why);
            if let Err(clash) = result {
                self.report_clash(span, ty, ty, &clash, &Because::Use);
                return (Ty::Error, Ty::Error);
            }
        }
        (s, t)
    }
}
