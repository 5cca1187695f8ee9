//! Expressions.

use super::{lets, never, var, Body, Local};
use crate::db::Res;
use crate::types::Scheme;
use diffeo_base::{deep, Name, Span};
use diffeo_calculus::prim::{Comparison, IntOp};
use diffeo_calculus::term::{Binder, Build, Control, Lit, Loop, Term, TermKind, Var};
use diffeo_calculus::{Prim, Ty};
use diffeo_syntax::ast::{self, Binding, Clause, ExprId, ExprKind, PatId, PatKind, Range};
use std::rc::Rc;

impl Body<'_, '_> {
    pub(super) fn expr(&mut self, id: ExprId) -> Term {
        deep(|| self.expr_inner(id))
    }

    pub(super) fn at(&self, id: ExprId) -> Span {
        self.ast.exprs[id].span
    }

    fn boxed(&mut self, id: ExprId) -> Box<Term> {
        Box::new(self.expr(id))
    }

    fn expr_inner(&mut self, id: ExprId) -> Term {
        let ast = self.ast.clone();
        let node = &ast.exprs[id];
        let span = node.span;
        let kind = match &node.kind {
            ExprKind::Error => return never("an expression with an error", span),
            ExprKind::Int(n) => match self.expr_ty(id) {
                Ty::Real => TermKind::Lit(Lit::Real(*n as f64)),
                _ => TermKind::Lit(Lit::Int(*n as i64)),
            },
            ExprKind::Real(x) => TermKind::Lit(Lit::Real(*x)),
            ExprKind::Bool(b) => TermKind::Lit(Lit::Bool(*b)),
            ExprKind::Str(s) => TermKind::Lit(Lit::String(s.clone())),
            ExprKind::Unit => TermKind::Lit(Lit::Unit),
            ExprKind::Hole => match &self.hole {
                Some(binder) => TermKind::Var(binder.var.clone()),
                None => return never("a hole", span),
            },
            ExprKind::Var(_) | ExprKind::Con(_) => return self.name(id),
            ExprKind::Field { base, field } => {
                if let Some(Res::Def(_) | Res::Con(..)) = self.res(id) {
                    return self.name(id);
                }
                let ty = self.expr_ty(*base);
                let index = match &ty {
                    Ty::Record(fs) => fs.iter().position(|(n, _)| *n == field.name),
                    _ => None,
                };
                let Some(index) = index else { return never("a field", span) };
                TermKind::Proj(ty, index, self.boxed(*base))
            }
            ExprKind::Component { base, index } => {
                let ty = self.expr_ty(*base);
                TermKind::Proj(ty, *index, self.boxed(*base))
            }
            ExprKind::Apply { fun, arg } => return self.apply(id, *fun, *arg),
            ExprKind::Tuple(es) => {
                let ty = self.expr_ty(id);
                TermKind::Tuple(ty, es.iter().map(|e| self.expr(*e)).collect())
            }
            ExprKind::Record(fields) => return self.record(id, fields),
            ExprKind::RecordWith { base, fields } => return self.record_with(*base, fields, span),
            ExprKind::Array(es) => {
                let element = self.element(id);
                TermKind::Array(element, es.iter().map(|e| self.expr(*e)).collect())
            }
            ExprKind::List(es) => {
                let Ty::Data(data, args) = self.expr_ty(id) else {
                    return never("a list", span);
                };
                let mut terms: Vec<Term> = es.iter().map(|e| self.expr(*e)).collect();
                let mut list = Term::new(TermKind::Con(data, args.clone(), 0, vec![]), span);
                while let Some(head) = terms.pop() {
                    list = Term::new(TermKind::Con(data, args.clone(), 1, vec![head, list]), span);
                }
                return list;
            }
            ExprKind::Comprehension { body, clauses } => {
                let ty = self.expr_ty(id);
                return self.comprehension(*body, clauses, &ty, span);
            }
            ExprKind::Index { base, indices } => {
                let mut ty = self.expr_ty(*base);
                let mut term = self.expr(*base);
                for index in indices {
                    let Ty::Array(element) = &ty else { break };
                    let element = (**element).clone();
                    let index = self.expr(*index);
                    term = Term::new(
                        TermKind::Prim(Prim::Index(element.clone()), vec![term, index]),
                        span,
                    );
                    ty = element;
                }
                return term;
            }
            ExprKind::Slice { base, lo, hi } => {
                let element = self.element(id);
                let args = vec![self.expr(*base), self.expr(*lo), self.expr(*hi)];
                TermKind::Prim(Prim::Slice(element), args)
            }
            ExprKind::Unary { op, operand } => return self.unary(*op, *operand, span),
            ExprKind::Binary { op, lhs, rhs, op_span } => {
                return self.binary(*op, *lhs, *rhs, span, *op_span);
            }
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.boxed(*cond);
                let then = self.boxed(*then);
                TermKind::If(cond, then, self.boxed(*otherwise))
            }
            ExprKind::Case { scrutinee, arms } => {
                let ty = self.expr_ty(id);
                return self.case(*scrutinee, arms, &ty, span);
            }
            ExprKind::Let { bindings, body } => return self.bindings(bindings, *body),
            ExprKind::Fn { param, body } => return self.function(*param, None, *body, span),
            ExprKind::Loop { pat, init, control, body } => {
                return self.loop_term(*pat, *init, control, *body, span);
            }
            ExprKind::Update { base, indices, value } => {
                let ty = self.expr_ty(*base);
                let mut args = vec![self.expr(*base)];
                args.extend(indices.iter().map(|i| self.expr(*i)).collect::<Vec<_>>());
                args.push(self.expr(*value));
                TermKind::Prim(Prim::Update(ty), args)
            }
        };
        Term::new(kind, span)
    }

    pub(super) fn res(&self, id: ExprId) -> Option<Res> {
        self.cx.db.module(self.module).res.get(&id).cloned()
    }

    /// The element type of an array expression.
    fn element(&mut self, id: ExprId) -> Ty {
        match self.expr_ty(id) {
            Ty::Array(element) => (*element).clone(),
            _ => Ty::Unit,
        }
    }

    /// The type arguments at a use of a polymorphic name.
    fn type_arguments(&mut self, id: ExprId) -> Option<Vec<Ty>> {
        let args = self.cx.db.module(self.module).instances.get(&id).cloned()?;
        Some(args.iter().map(|t| self.core(t)).collect())
    }

    fn name(&mut self, id: ExprId) -> Term {
        let span = self.at(id);
        let kind = match self.res(id) {
            Some(Res::Local(pat)) => {
                let args = self.type_arguments(id).unwrap_or_default();
                let ty = self.expr_ty(id);
                let name = self.pattern_name(pat);
                match self.locals.get_mut(&pat) {
                    Some(Local::Var(binder)) => TermKind::Var(binder.var.clone()),
                    Some(Local::Poly(instances)) => {
                        match instances.iter().find(|(a, _)| *a == args) {
                            Some((_, binder)) => TermKind::Var(binder.var.clone()),
                            None => {
                                let binder = self.cx.binder(&name, ty);
                                let kind = TermKind::Var(binder.var.clone());
                                instances.push((args, binder));
                                kind
                            }
                        }
                    }
                    None => return never("a local name", span),
                }
            }
            Some(Res::Size(owner, name)) => match self.sizes.get_mut(&(owner, name)) {
                Some((binder, used)) => {
                    *used = true;
                    TermKind::Var(binder.var.clone())
                }
                None => return never("a size", span),
            },
            Some(Res::Def(def)) => {
                let args = match self.type_arguments(id) {
                    Some(args) => args,
                    None => {
                        // Within its own group a definition is used at the types it is defined at.
                        let vars =
                            self.cx.db.def(def).scheme.as_ref().map_or(vec![], |s| s.vars.clone());
                        vars.iter()
                            .map(|v| self.types.get(v).cloned().unwrap_or(Ty::Unit))
                            .collect()
                    }
                };
                let global = Term::new(TermKind::Global(self.cx.instance(def, args)), span);
                return self.ruled(def, global, |body| body.expr_ty(id));
            }
            Some(Res::Con(..)) => return self.constructor_value(id, span),
            Some(Res::Builtin | Res::Jet | Res::Derivatives) | None => {
                return never("a name", span)
            }
        };
        Term::new(kind, span)
    }

    /// A constructor that stands alone: a constant, or a function.
    fn constructor_value(&mut self, id: ExprId, span: Span) -> Term {
        match self.expr_ty(id) {
            Ty::Data(data, args) => {
                let Some(Res::Con(_, tag)) = self.res(id) else {
                    return never("a constructor", span);
                };
                Term::new(TermKind::Con(data, args, tag, vec![]), span)
            }
            Ty::Fun(f) => {
                let x = self.cx.binder("x", f.0.clone());
                let body = self.construct(id, &f.1, var(&x, span), span);
                Term::new(TermKind::Lam(x, Box::new(body)), span)
            }
            _ => never("a constructor", span),
        }
    }

    /// A constructor applied to its one argument.
    fn construct(&mut self, con: ExprId, ty: &Ty, arg: Term, span: Span) -> Term {
        let (Some(Res::Con(_, tag)), Ty::Data(data, args)) = (self.res(con), ty) else {
            return never("a constructor", span);
        };
        let fields = self.cx.program.datas[data.0 as usize].fields(tag, args);
        if fields.len() == 1 {
            return Term::new(TermKind::Con(*data, args.clone(), tag, vec![arg]), span);
        }
        if let TermKind::Tuple(_, parts) = arg.kind {
            return Term::new(TermKind::Con(*data, args.clone(), tag, parts), span);
        }
        let ty = Ty::tuple(fields);
        let n = ty.components().map_or(0, |c| c.len());
        let all = self.cx.binder("p", ty.clone());
        let parts = (0..n)
            .map(|i| Term::new(TermKind::Proj(ty.clone(), i, Box::new(var(&all, span))), span))
            .collect();
        lets(vec![(all, arg)], Term::new(TermKind::Con(*data, args.clone(), tag, parts), span))
    }

    fn apply(&mut self, id: ExprId, fun: ExprId, arg: ExprId) -> Term {
        let span = self.at(id);
        let ast = self.ast.clone();
        let holes: Vec<ExprId> = match &ast.exprs[arg].kind {
            ExprKind::Hole => vec![arg],
            ExprKind::Tuple(es) => es
                .iter()
                .copied()
                .filter(|e| matches!(ast.exprs[*e].kind, ExprKind::Hole))
                .collect(),
            _ => Vec::new(),
        };
        if let Some(hole) = holes.first() {
            let ty = self.expr_ty(*hole);
            let binder = self.cx.binder("hole", ty);
            let outer = self.hole.replace(binder.clone());
            let result = match self.expr_ty(id) {
                Ty::Fun(f) => f.1.clone(),
                ty => ty,
            };
            let body = self.applied(fun, arg, &result, span);
            self.hole = outer;
            return Term::new(TermKind::Lam(binder, Box::new(body)), span);
        }
        let result = self.expr_ty(id);
        self.applied(fun, arg, &result, span)
    }

    fn applied(&mut self, fun: ExprId, arg: ExprId, result: &Ty, span: Span) -> Term {
        match self.res(fun) {
            Some(Res::Con(..)) => {
                let arg = self.expr(arg);
                return self.construct(fun, result, arg, span);
            }
            Some(Res::Builtin) => return self.builtin(arg, result, span),
            Some(Res::Jet) => return self.jet(arg, result, span),
            Some(Res::Derivatives) => return self.derivatives(arg, span),
            Some(Res::Def(def)) => {
                if let Some(term) = self.inlined(def, arg, result, span) {
                    return term;
                }
            }
            Some(Res::Local(_) | Res::Size(..)) | None => {}
        }
        let fun = self.boxed(fun);
        let arg = self.boxed(arg);
        Term::new(TermKind::App(fun, arg), span)
    }

    /// Fields are evaluated as written and stored in the order of their names.
    fn record(&mut self, id: ExprId, fields: &[(ast::Ident, ExprId)]) -> Term {
        let span = self.at(id);
        let ty = self.expr_ty(id);
        let Ty::Record(types) = &ty else { return never("a record", span) };
        let sorted = fields.windows(2).all(|w| w[0].0.name < w[1].0.name);
        if sorted {
            let parts = fields.iter().map(|(_, e)| self.expr(*e)).collect();
            return Term::new(TermKind::Tuple(ty.clone(), parts), span);
        }
        let mut bindings = Vec::new();
        for (field, value) in fields {
            let value_ty = self.expr_ty(*value);
            let binder = self.cx.binder(&field.name, value_ty);
            let term = self.expr(*value);
            bindings.push((binder, term));
        }
        let parts = types
            .iter()
            .filter_map(|(n, _)| fields.iter().position(|(f, _)| f.name == *n))
            .map(|i| var(&bindings[i].0, span))
            .collect();
        lets(bindings, Term::new(TermKind::Tuple(ty.clone(), parts), span))
    }

    fn record_with(&mut self, base: ExprId, fields: &[(ast::Ident, ExprId)], span: Span) -> Term {
        let ty = self.expr_ty(base);
        let Ty::Record(types) = ty.clone() else { return self.expr(base) };
        let record = self.cx.binder("r", ty.clone());
        let mut bindings = vec![(record.clone(), self.expr(base))];
        for (field, value) in fields {
            let value_ty = self.expr_ty(*value);
            let binder = self.cx.binder(&field.name, value_ty);
            let term = self.expr(*value);
            bindings.push((binder, term));
        }
        let parts = types
            .iter()
            .enumerate()
            .map(|(i, (n, _))| match fields.iter().rposition(|(f, _)| f.name == *n) {
                Some(k) => var(&bindings[k + 1].0, span),
                None => {
                    Term::new(TermKind::Proj(ty.clone(), i, Box::new(var(&record, span))), span)
                }
            })
            .collect();
        lets(bindings, Term::new(TermKind::Tuple(ty.clone(), parts), span))
    }

    /// Clauses nest, the first outermost.
    fn comprehension(&mut self, body: ExprId, clauses: &[Clause], ty: &Ty, span: Span) -> Term {
        let Some((clause, rest)) = clauses.split_first() else { return self.expr(body) };
        let element = match ty {
            Ty::Array(element) => (**element).clone(),
            _ => Ty::Unit,
        };
        let Clause { pat, range, cond } = *clause;
        // The steps that a condition leaves are elements of an array.
        let array = match (range, cond) {
            (_, Some(cond)) => Some(self.filtered(pat, range, cond, span)),
            (Range::In(source), None) => Some(self.source(source)),
            (Range::Count(_), None) => None,
        };
        let (outer, count, index, bindings) = match array {
            None => {
                let count = self.expr(range.expr());
                let name = self.pattern_name(pat);
                let index = self.cx.binder(&name, Ty::Int);
                let mut bindings = Vec::new();
                self.bind(pat, &index, &mut bindings, span);
                (Vec::new(), count, index, bindings)
            }
            // `[x for x in xs if c]`
            Some((_, (_, kept))) if cond.is_some() && rest.is_empty() && self.is(body, pat) => {
                return kept;
            }
            Some((array, binding)) => {
                let at = self.at(range.expr());
                let (index, bindings) = self.element_of(pat, &array, at);
                (vec![binding], self.length(&array, span), index, bindings)
            }
        };
        let inner = self.comprehension(body, rest, &element, span);
        let width = row_width(&inner, &element, &index, &bindings);
        let body = lets(bindings, inner);
        let array = match width {
            Some(width) => self.rows(count, width, index, body, element, span),
            None => {
                Term::new(TermKind::Build(Box::new(Build { count, index, body, element })), span)
            }
        };
        lets(outer, array)
    }

    /// Whether an expression is the variable that a pattern is.
    fn is(&self, e: ExprId, pat: PatId) -> bool {
        matches!(self.res(e), Some(Res::Local(found)) if found == pat)
    }

    /// The elements of an array, or the numbers below a bound, for which the condition of a clause holds: what the
    /// prelude's `filter` gives.
    fn filtered(
        &mut self,
        pat: PatId,
        range: Range,
        cond: ExprId,
        span: Span,
    ) -> (Binder, (Binder, Term)) {
        let (ty, all) = match range {
            Range::In(source) => (self.expr_ty(source), self.expr(source)),
            Range::Count(bound) => {
                let index = self.cx.binder("i", Ty::Int);
                let body = var(&index, span);
                let count = self.expr(bound);
                let build = Build { count, index, body, element: Ty::Int };
                (Ty::array(Ty::Int), Term::new(TermKind::Build(Box::new(build)), self.at(bound)))
            }
        };
        let element = match &ty {
            Ty::Array(t) => (**t).clone(),
            _ => Ty::Unit,
        };
        let name = self.pattern_name(pat);
        let x = self.cx.binder(&name, element.clone());
        let mut bindings = Vec::new();
        self.bind(pat, &x, &mut bindings, span);
        self.check_sizes(pat, &x, &mut bindings);
        let holds = lets(bindings, self.expr(cond));
        let holds = Term::new(TermKind::Lam(x, Box::new(holds)), span);
        let db = self.cx.db;
        let prelude = db.prelude.map(|p| &db.module(p).scope.values);
        let Some((filter, _)) = prelude.and_then(|values| values.get("filter")) else {
            unreachable!("the prelude has `filter`")
        };
        let filter = self.cx.instance(*filter, vec![element.clone()]);
        let filter = Term::new(TermKind::Global(filter), span);
        let from = Ty::Tuple([Ty::fun(element, Ty::Bool), ty.clone()].into());
        let arg = Term::new(TermKind::Tuple(from, vec![holds, all]), span);
        let kept = self.cx.binder("kept", ty);
        (kept.clone(), (kept, Term::new(TermKind::App(Box::new(filter), Box::new(arg)), span)))
    }

    /// An array of rows whose width is known beforehand: without rows it still has that width.
    fn rows(
        &mut self,
        count: Term,
        width: Term,
        index: Binder,
        body: Term,
        element: Ty,
        span: Span,
    ) -> Term {
        let int = |n: i64| Term::new(TermKind::Lit(Lit::Int(n)), span);
        let Ty::Array(scalar) = element.clone() else {
            let build = Build { count, index, body, element };
            return Term::new(TermKind::Build(Box::new(build)), span);
        };
        let zero = match &*scalar {
            Ty::Real => Lit::Real(0.0),
            Ty::Bool => Lit::Bool(false),
            _ => Lit::Int(0),
        };
        let number = self.cx.binder("count", Ty::Int);
        let row = Build {
            count: Term::new(TermKind::Prim(Prim::Int(IntOp::Max), vec![width, int(0)]), span),
            index: self.cx.binder("j", Ty::Int),
            body: Term::new(TermKind::Lit(zero), span),
            element: (*scalar).clone(),
        };
        let row = Term::new(TermKind::Build(Box::new(row)), span);
        let one = Term::new(TermKind::Array(element.clone(), vec![row]), span);
        let none = TermKind::Prim(Prim::Slice(element.clone()), vec![one, int(0), int(0)]);
        let is_empty = TermKind::Prim(
            Prim::Compare(Comparison::Eq, Ty::Int),
            vec![var(&number, span), int(0)],
        );
        let build = Build { count: var(&number, span), index, body, element };
        let choice = TermKind::If(
            Box::new(Term::new(is_empty, span)),
            Box::new(Term::new(none, span)),
            Box::new(Term::new(TermKind::Build(Box::new(build)), span)),
        );
        lets(vec![(number, count)], Term::new(choice, span))
    }

    fn source(&mut self, source: ExprId) -> (Binder, (Binder, Term)) {
        let ty = self.expr_ty(source);
        let array = self.cx.binder("xs", ty);
        let term = self.expr(source);
        (array.clone(), (array, term))
    }

    fn length(&mut self, array: &Binder, span: Span) -> Term {
        let element = match &array.ty {
            Ty::Array(t) => (**t).clone(),
            _ => Ty::Unit,
        };
        Term::new(TermKind::Prim(Prim::Length(element), vec![var(array, span)]), span)
    }

    /// An index variable, and the bindings of a pattern to the element there.
    fn element_of(
        &mut self,
        pat: PatId,
        array: &Binder,
        span: Span,
    ) -> (Binder, Vec<(Binder, Term)>) {
        let element = match &array.ty {
            Ty::Array(t) => (**t).clone(),
            _ => Ty::Unit,
        };
        let index = self.cx.binder("i", Ty::Int);
        let name = self.pattern_name(pat);
        let x = self.cx.binder(&name, element.clone());
        let args = vec![var(array, span), var(&index, span)];
        let term = Term::new(TermKind::Prim(Prim::Index(element), args), span);
        let mut bindings = vec![(x.clone(), term)];
        self.bind(pat, &x, &mut bindings, span);
        self.check_sizes(pat, &x, &mut bindings);
        (index, bindings)
    }

    fn loop_term(
        &mut self,
        pat: PatId,
        init: ExprId,
        control: &ast::Control,
        body: ExprId,
        span: Span,
    ) -> Term {
        let ty = self.expr_ty(init);
        let first = self.expr(init);
        let name = self.pattern_name(pat);
        let state = self.cx.binder(&name, ty.clone());
        let (outer, init, array) = match control {
            ast::Control::In { source, .. } => {
                let start = self.cx.binder("start", ty);
                let (array, binding) = self.source(*source);
                (vec![(start.clone(), first), binding], var(&start, span), Some(array))
            }
            ast::Control::Count { .. } | ast::Control::While(_) => (Vec::new(), first, None),
        };
        let count = match control {
            ast::Control::Count { bound, .. } => Some(self.expr(*bound)),
            ast::Control::In { .. } | ast::Control::While(_) => None,
        };
        let mut parts = Vec::new();
        self.bind(pat, &state, &mut parts, span);
        let sizes = self.declare_sizes(pat);
        let cond = match control {
            ast::Control::While(cond) => {
                // The condition is a scope of its own: it projects the state again.
                let copies: Vec<(Binder, Term)> = parts.clone();
                let term = self.expr(*cond);
                Some(self.rebound(copies, term))
            }
            ast::Control::Count { .. } | ast::Control::In { .. } => None,
        };
        let mut bindings = parts;
        let control = match control {
            ast::Control::While(_) => Control::While(
                cond.unwrap_or_else(|| Term::new(TermKind::Lit(Lit::Bool(false)), span)),
            ),
            ast::Control::Count { pat, .. } => {
                let name = self.pattern_name(*pat);
                let index = self.cx.binder(&name, Ty::Int);
                self.bind(*pat, &index, &mut bindings, span);
                let zero = || Term::new(TermKind::Lit(Lit::Int(0)), span);
                Control::Count { index, count: count.unwrap_or_else(zero) }
            }
            ast::Control::In { pat, source } => {
                let Some(array) = &array else { unreachable!("the source was bound above") };
                let (index, element) = self.element_of(*pat, array, self.at(*source));
                bindings.extend(element);
                Control::Count { index, count: self.length(array, span) }
            }
        };
        let term = self.expr(body);
        if let Some(sizes) = sizes {
            self.emit_sizes(sizes, &state, &mut bindings);
        }
        let body = lets(bindings, term);
        let result = self.cx.binder("state", state.ty.clone());
        let term = Term::new(TermKind::Loop(Box::new(Loop { state, init, control, body })), span);
        // The last state is checked as those before it were.
        let mut checks = Vec::new();
        self.check_sizes(pat, &result, &mut checks);
        if checks.is_empty() {
            return lets(outer, term);
        }
        let value = var(&result, span);
        let checked = lets(std::iter::once((result, term)).chain(checks).collect(), value);
        lets(outer, checked)
    }

    /// The bindings around a term, with binders of their own.
    fn rebound(&mut self, bindings: Vec<(Binder, Term)>, body: Term) -> Term {
        let mut renamed = Vec::new();
        let mut map = std::collections::HashMap::new();
        for (binder, mut term) in bindings {
            super::types::rename(&mut term, &map);
            let fresh = self.cx.binder(&binder.var.name, binder.ty);
            map.insert(binder.var.id, fresh.var.clone());
            renamed.push((fresh, term));
        }
        let mut body = body;
        super::types::rename(&mut body, &map);
        lets(renamed, body)
    }

    fn bindings(&mut self, bindings: &[Binding], body: ExprId) -> Term {
        let mut segments: Vec<Segment> = Vec::new();
        let mut rest = None;
        for (i, binding) in bindings.iter().enumerate() {
            let name = match binding {
                Binding::Value { pat, .. } => *pat,
                Binding::Function { name, .. } => *name,
            };
            let scheme = self.cx.db.module(self.module).local_schemes.get(&name).cloned();
            if let Some(scheme) = scheme.filter(|s| !s.vars.is_empty()) {
                // Which instances are needed is known after what follows.
                self.locals.insert(name, Local::Poly(Vec::new()));
                rest = Some(self.bindings(&bindings[i + 1..], body));
                self.instances(binding, name, &scheme, &mut segments);
                break;
            }
            self.binding(binding, &mut segments);
        }
        let mut term = match rest {
            Some(term) => term,
            None => self.expr(body),
        };
        for segment in segments.into_iter().rev() {
            term = match segment {
                Segment::Let(bindings) => lets(bindings, term),
                Segment::Rec(binder, lam) => {
                    let span = term.span;
                    Term::new(TermKind::LetRec(binder, Box::new(lam), Box::new(term)), span)
                }
            };
        }
        term
    }

    fn instances(
        &mut self,
        binding: &Binding,
        name: PatId,
        scheme: &Rc<Scheme>,
        segments: &mut Vec<Segment>,
    ) {
        let Some(Local::Poly(mut wanted)) = self.locals.remove(&name) else { return };
        if wanted.is_empty() {
            // A value that nothing uses is still evaluated: it may fail.
            let is_value = match binding {
                Binding::Function { .. } => true,
                Binding::Value { value, .. } => {
                    matches!(self.ast.exprs[*value].kind, ExprKind::Fn { .. })
                }
            };
            if is_value {
                return;
            }
            let ty = self.pat_ty(name);
            let text = self.pattern_name(name);
            wanted.push((vec![Ty::Unit; scheme.vars.len()], self.cx.binder(&text, ty)));
        }
        for (args, binder) in wanted {
            let outer = self.types.clone();
            self.types.extend(scheme.vars.iter().copied().zip(args));
            self.bound(binding, binder, segments);
            self.types = outer;
        }
    }

    fn binding(&mut self, binding: &Binding, segments: &mut Vec<Segment>) {
        match binding {
            Binding::Value { pat, value } => {
                let mut out = Vec::new();
                self.value_binding(*pat, *value, &mut out);
                push(segments, out);
            }
            Binding::Function { name, .. } => {
                let ty = self.pat_ty(*name);
                let text = self.pattern_name(*name);
                let binder = self.cx.binder(&text, ty);
                self.bound(binding, binder, segments);
            }
        }
    }

    /// A function or polymorphic value, bound to this variable.
    fn bound(&mut self, binding: &Binding, binder: Binder, segments: &mut Vec<Segment>) {
        match binding {
            Binding::Function { recursive, name, param, ret, body } => {
                let span = self.ast.pats[*name].span;
                if *recursive {
                    self.locals.insert(*name, Local::Var(binder.clone()));
                    let lam = self.function(*param, *ret, *body, span);
                    segments.push(Segment::Rec(binder, lam));
                } else {
                    let lam = self.function(*param, *ret, *body, span);
                    self.locals.insert(*name, Local::Var(binder.clone()));
                    push(segments, vec![(binder, lam)]);
                }
            }
            Binding::Value { pat, value } => {
                let term = self.expr(*value);
                self.locals.insert(*pat, Local::Var(binder.clone()));
                push(segments, vec![(binder, term)]);
            }
        }
    }

    fn value_binding(&mut self, pat: PatId, value: ExprId, out: &mut Vec<(Binder, Term)>) {
        let ast = self.ast.clone();
        if let (PatKind::Tuple(ps), ExprKind::Tuple(es)) =
            (&ast.pats[pat].kind, &ast.exprs[value].kind)
        {
            if ps.len() == es.len() {
                for (p, e) in ps.iter().zip(es) {
                    self.value_binding(*p, *e, out);
                }
                return;
            }
        }
        let span = self.at(value);
        let ty = self.expr_ty(value);
        let name: Name = self.pattern_name(pat);
        let binder = self.cx.binder(&name, ty);
        let term = self.expr(value);
        out.push((binder.clone(), term));
        self.bind(pat, &binder, out, span);
        self.check_sizes(pat, &binder, out);
    }
}

/// The width of the rows that `inner` makes for each index, where it does not depend on the index.
fn row_width(
    inner: &Term,
    element: &Ty,
    index: &Binder,
    bindings: &[(Binder, Term)],
) -> Option<Term> {
    match element {
        Ty::Array(scalar) if matches!(**scalar, Ty::Real | Ty::Int | Ty::Bool) => {}
        _ => return None,
    }
    let free = |v: &Var| *v != index.var && bindings.iter().all(|(b, _)| b.var != *v);
    let (renamed, build) = match &inner.kind {
        TermKind::Build(build) => (None, build),
        TermKind::Let(inner, body) => match (inner.as_slice(), &body.kind) {
            ([(b, Term { kind: TermKind::Var(v), .. })], TermKind::Build(build)) => {
                (Some((&b.var, v)), build)
            }
            _ => return None,
        },
        _ => return None,
    };
    let outer = |v: &Var| match renamed {
        Some((from, to)) if from == v => to.clone(),
        _ => v.clone(),
    };
    let at = build.count.span;
    let kind = match &build.count.kind {
        TermKind::Lit(lit) => TermKind::Lit(lit.clone()),
        TermKind::Var(v) if free(&outer(v)) => TermKind::Var(outer(v)),
        TermKind::Prim(Prim::Length(ty), args) => match &args[0].kind {
            TermKind::Var(v) if free(&outer(v)) => {
                let array = Term::new(TermKind::Var(outer(v)), at);
                TermKind::Prim(Prim::Length(ty.clone()), vec![array])
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(Term::new(kind, at))
}

enum Segment {
    Let(Vec<(Binder, Term)>),
    Rec(Binder, Term),
}

fn push(segments: &mut Vec<Segment>, bindings: Vec<(Binder, Term)>) {
    match segments.last_mut() {
        Some(Segment::Let(last)) => last.extend(bindings),
        Some(Segment::Rec(..)) | None => segments.push(Segment::Let(bindings)),
    }
}
