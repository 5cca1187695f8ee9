//! Expressions.

use super::constraint::Constraint;
use super::error::{Because, LoneArgument};
use super::pattern::payload;
use super::{duplicate_field, Infer};
use crate::db::{DefId, Res};
use crate::types::{instantiate_params, FieldOrder, Scheme, Size, Ty, TypeClass};
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{deep, Diagnostic, Name, Span};
use diffeo_syntax::ast::{
    Binding, Clause, Control, ExprId, ExprKind, Ident, PatId, PatKind, Range, TypeId, UnaryOp,
};
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn span(&self, id: ExprId) -> Span {
        self.ast.exprs[id].span
    }

    /// Reports unless two types agree at an expression.
    pub(super) fn unify(&mut self, id: ExprId, expected: &Ty, found: &Ty, because: &Because) {
        if let Err(clash) = self.store().unify(expected, found) {
            let span = self.span(id);
            self.report_clash(span, expected, found, &clash, because);
        }
        self.solve();
    }

    /// The type of an expression.
    pub(super) fn infer(&mut self, id: ExprId) -> Ty {
        deep(|| {
            let ty = self.infer_inner(id);
            self.db.module_mut(self.module).expr_ty[id.index()] = ty.clone();
            ty
        })
    }

    /// Checks that an expression has a type.
    pub(super) fn check(&mut self, id: ExprId, expected: &Ty, because: &Because) {
        deep(|| {
            let ast = self.ast.clone();
            let wanted = self.store().shallow(expected);
            match (&ast.exprs[id].kind, &wanted) {
                (ExprKind::Fn { param, body }, Ty::Fun(f)) => {
                    self.scoped_names(|cx| {
                        let before = cx.pattern_type(*param);
                        let span = cx.ast.pats[*param].span;
                        if let Err(clash) = cx.store().unify(&f.0, &before) {
                            cx.report_clash(span, &f.0, &before, &clash, because);
                        }
                        cx.solve();
                        cx.check(*body, &f.1, &because.of_result());
                    });
                    self.set(id, &wanted);
                }
                (ExprKind::Tuple(es), Ty::Tuple(ts)) if es.len() == ts.len() => {
                    // Functions last: what they are applied to is known by then.
                    let is_fn = |e: &ExprId| matches!(ast.exprs[*e].kind, ExprKind::Fn { .. });
                    for pass in [false, true] {
                        for (e, t) in es.iter().zip(ts.iter()) {
                            if is_fn(e) == pass {
                                self.check(*e, t, because);
                            }
                        }
                    }
                    let found = self.types_of(es);
                    self.set(id, &Ty::Tuple(found.into()));
                }
                (ExprKind::Int(_), Ty::Real | Ty::Int) => {
                    self.literals.push((self.module, id));
                    self.set(id, &wanted);
                }
                (ExprKind::Let { bindings, body }, _) => {
                    self.bindings(bindings, |cx| {
                        cx.check(*body, expected, because);
                    });
                    let ty = self.type_of(*body);
                    self.set(id, &ty);
                }
                _ => {
                    let found = self.infer(id);
                    self.unify(id, expected, &found, because);
                }
            }
        });
    }

    pub(super) fn set(&mut self, id: ExprId, ty: &Ty) {
        self.db.module_mut(self.module).expr_ty[id.index()] = ty.clone();
    }

    fn type_of(&self, id: ExprId) -> Ty {
        self.db.module(self.module).expr_ty[id.index()].clone()
    }

    fn types_of(&self, ids: &[ExprId]) -> Vec<Ty> {
        ids.iter().map(|e| self.type_of(*e)).collect()
    }

    fn infer_inner(&mut self, id: ExprId) -> Ty {
        let ast = self.ast.clone();
        let node = &ast.exprs[id];
        match &node.kind {
            ExprKind::Error => Ty::Error,
            ExprKind::Int(_) => {
                self.literals.push((self.module, id));
                let why = self.why(node.span, "this literal");
                self.store().fresh_literal(why)
            }
            ExprKind::Real(_) => Ty::Real,
            ExprKind::Bool(_) => Ty::Bool,
            ExprKind::Str(_) => Ty::String,
            ExprKind::Unit => Ty::Unit,
            ExprKind::Hole => self.hole.clone().unwrap_or(Ty::Error),
            ExprKind::Var(_) | ExprKind::Con(_) => self.name(id, None),
            ExprKind::Field { base, field } => match self.res(id) {
                Some(Res::Def(_) | Res::Con(..)) => self.name(id, None),
                _ => self.infer_field(*base, field),
            },
            ExprKind::Apply { fun, arg } => self.apply(id, *fun, *arg),
            ExprKind::Tuple(es) => Ty::Tuple(es.iter().map(|e| self.infer(*e)).collect()),
            ExprKind::Record(fields) => self.record(fields),
            ExprKind::RecordWith { base, fields } => {
                let ty = self.infer(*base);
                let base_span = self.span(*base);
                for (i, (field, value)) in fields.iter().enumerate() {
                    if fields[..i].iter().any(|(f, _)| f.name == field.name) {
                        self.db.report(duplicate_field(field.span, &field.name));
                    }
                    let out = self.store().fresh();
                    self.add(Constraint::Field {
                        base: ty.clone(),
                        base_span,
                        field: field.clone(),
                        out: out.clone(),
                    });
                    self.check(*value, &out, &Because::Field { field: field.span });
                }
                ty
            }
            ExprKind::Array(es) => {
                let element = self.elements(es, false);
                Ty::array(Size::Known(es.len() as u64), element)
            }
            ExprKind::List(es) => {
                let element = self.elements(es, true);
                self.list_of(element)
            }
            ExprKind::Comprehension { body, clauses } => self.comprehension(*body, clauses),
            ExprKind::Index { base, indices } => {
                let mut ty = self.infer(*base);
                for index in indices {
                    let (size, element) = self.some_array();
                    self.indexed(*base, &ty, &Ty::array(size, element.clone()));
                    self.check(*index, &Ty::Int, &Because::Index);
                    self.negative_index(*base, *index);
                    // A mask, which was reported, would give an array.
                    let wrong = matches!(self.type_of(*index), Ty::Error);
                    ty = if wrong { Ty::Error } else { element };
                }
                ty
            }
            ExprKind::Slice { base, lo, hi } => {
                let ty = self.infer(*base);
                let (size, element) = self.some_array();
                self.indexed(*base, &ty, &Ty::array(size, element.clone()));
                self.check(*lo, &Ty::Int, &Because::Index);
                self.check(*hi, &Ty::Int, &Because::Index);
                Ty::array(Size::Unknown, element)
            }
            ExprKind::Component { base, index } => {
                let ty = self.infer(*base);
                let out = self.store().fresh();
                let base_span = self.span(*base);
                self.add(Constraint::Component {
                    base: ty,
                    base_span,
                    index: *index,
                    span: node.span,
                    out: out.clone(),
                });
                out
            }
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::Not => {
                    self.check(*operand, &Ty::Bool, &Because::Condition);
                    Ty::Bool
                }
                UnaryOp::Neg => {
                    let ty = self.infer(*operand);
                    self.must_be(node.span, &ty, TypeClass::Add, "unary `-`");
                    ty
                }
            },
            ExprKind::Binary { op, op_span, lhs, rhs } => {
                self.binary(id, *op, *op_span, *lhs, *rhs)
            }
            ExprKind::If { cond, then, otherwise } => {
                self.check(*cond, &Ty::Bool, &Because::Condition);
                let ty = self.infer(*then);
                let join = self.store().with_own_sizes(&ty);
                let other = self.span(*then);
                self.check(*otherwise, &join, &Because::Branch { other });
                join
            }
            ExprKind::Case { scrutinee, arms } => {
                let ty = self.infer(*scrutinee);
                let mut join: Option<(Ty, Span)> = None;
                for arm in arms {
                    self.pattern(arm.pat, &ty);
                    self.solve();
                    match &join {
                        None => {
                            let first = self.infer(arm.body);
                            join = Some((self.store().with_own_sizes(&first), self.span(arm.body)));
                        }
                        Some((ty, other)) => {
                            let (ty, because) = (ty.clone(), Because::Branch { other: *other });
                            self.check(arm.body, &ty, &because);
                        }
                    }
                }
                join.map_or(Ty::Error, |(ty, _)| ty)
            }
            ExprKind::Let { bindings, body } => self.bindings(bindings, |cx| cx.infer(*body)),
            ExprKind::Fn { param, body } => self.scoped_names(|cx| {
                let from = cx.pattern_type(*param);
                let to = cx.infer(*body);
                Ty::fun(from, to)
            }),
            ExprKind::Loop { pat, init, control, body } => {
                self.infer_loop(*pat, *init, control, *body)
            }
            ExprKind::Update { base, indices, value } => {
                let ty = self.infer(*base);
                let mut element = ty.clone();
                for index in indices {
                    let (size, inner) = self.some_array();
                    self.indexed(*base, &element, &Ty::array(size, inner.clone()));
                    self.check(*index, &Ty::Int, &Because::Index);
                    element = inner;
                }
                let at = self.span(*base);
                self.check(*value, &element, &Because::Element { first: at });
                ty
            }
        }
    }

    fn indexed(&mut self, base: ExprId, ty: &Ty, array: &Ty) {
        if let Err(clash) = self.store().unify(array, ty) {
            let span = self.span(base);
            self.report_clash(span, array, ty, &clash, &Because::Indexed);
        }
        self.solve();
    }

    fn infer_field(&mut self, base: ExprId, field: &Ident) -> Ty {
        if let ExprKind::Var(_) = &self.ast.exprs[base].kind {
            // A member of a module that could not be resolved was reported already.
            if self.res(base).is_none() {
                return Ty::Error;
            }
        }
        let ty = self.infer(base);
        let out = self.store().fresh();
        let base_span = self.span(base);
        self.add(Constraint::Field { base: ty, base_span, field: field.clone(), out: out.clone() });
        out
    }

    fn record(&mut self, fields: &[(Ident, ExprId)]) -> Ty {
        let mut out: Vec<(Name, Ty)> = Vec::new();
        for (field, value) in fields {
            let ty = self.infer(*value);
            if out.iter().any(|(n, _)| *n == field.name) {
                self.db.report(duplicate_field(field.span, &field.name));
                continue;
            }
            out.push((field.name.clone(), ty));
        }
        Ty::record(out, FieldOrder::Value)
    }

    /// The common type of the elements of an array or (freely sized) list.
    fn elements(&mut self, es: &[ExprId], list: bool) -> Ty {
        let Some((first, rest)) = es.split_first() else { return self.store().fresh() };
        let ty = self.infer(*first);
        let join = self.store().with_own_sizes(&ty);
        let first = self.span(*first);
        for e in rest {
            if list {
                let found = self.infer(*e);
                if let Err(clash) = self.store().unify_free(&join, &found) {
                    let span = self.span(*e);
                    self.report_clash(span, &join, &found, &clash, &Because::Element { first });
                }
                self.solve();
            } else {
                self.check(*e, &join, &Because::Element { first });
            }
        }
        join
    }

    fn comprehension(&mut self, body: ExprId, clauses: &[Clause]) -> Ty {
        let mut sizes = Vec::new();
        for clause in clauses {
            let size = match clause.range {
                Range::Count(bound) => {
                    self.check(bound, &Ty::Int, &Because::Count);
                    let size = self.static_size(bound);
                    self.pattern(clause.pat, &Ty::Int);
                    size
                }
                Range::In(source) => self.over(clause.pat, source),
            };
            sizes.push(match clause.cond {
                None => size,
                Some(cond) => {
                    self.check(cond, &Ty::Bool, &Because::Condition);
                    Size::Unknown
                }
            });
        }
        let element = self.infer(body);
        sizes.into_iter().rev().fold(element, |ty, size| Ty::array(size, ty))
    }

    /// `pat in source`: the size of the source.
    fn over(&mut self, pat: PatId, source: ExprId) -> Size {
        let ty = self.infer(source);
        let (size, element) = self.some_array();
        let array = Ty::array(size, element.clone());
        if let Err(clash) = self.store().unify(&array, &ty) {
            let span = self.span(source);
            self.report_clash(span, &array, &ty, &clash, &Because::Over);
        }
        self.solve();
        self.pattern(pat, &element);
        match self.store().shallow(&ty) {
            Ty::Array(s, _) => s,
            _ => size,
        }
    }

    fn infer_loop(&mut self, pat: PatId, init: ExprId, control: &Control, body: ExprId) -> Ty {
        let ty = self.infer(init);
        let mut state = self.store().with_own_sizes(&ty);
        if let PatKind::Annot(_, annotation) = self.ast.pats[pat].kind {
            let declared = self.annotation(annotation);
            let because = Because::Annotation(self.ast.types[annotation].span);
            self.unify(init, &declared, &state, &because);
            state = declared;
        }
        let count = match control {
            Control::Count { pat, bound } => {
                self.check(*bound, &Ty::Int, &Because::Count);
                Some((*pat, Ty::Int))
            }
            Control::In { pat, source } => {
                self.over(*pat, *source);
                None
            }
            Control::While(_) => None,
        };
        self.pattern(pat, &state);
        self.solve();
        if let Some((pat, ty)) = count {
            self.pattern(pat, &ty);
        }
        if let Control::While(cond) = control {
            self.check(*cond, &Ty::Bool, &Because::Condition);
        }
        let because = Because::LoopBody { init: self.span(init) };
        self.check(body, &state, &because);
        state
    }

    fn bindings<T>(&mut self, bindings: &[Binding], body: impl FnOnce(&mut Self) -> T) -> T {
        for binding in bindings {
            match binding {
                Binding::Value { pat, value } => self.value_binding(*pat, *value),
                Binding::Function { recursive, name, param, ret, body } => {
                    self.function_binding(*recursive, *name, *param, *ret, *body);
                }
            }
        }
        body(self)
    }

    fn value_binding(&mut self, pat: PatId, value: ExprId) {
        self.note_values(pat, value);
        match self.ast.pats[pat].kind {
            PatKind::Var(_) => {
                self.store().level += 1;
                let ty = self.infer(value);
                self.solve();
                self.store().level -= 1;
                self.set_pat(pat, &ty);
                self.generalise(pat, &ty);
            }
            PatKind::Annot(..) => {
                let declared = self.pattern_type(pat);
                let span = self.ast.pats[pat].span;
                self.check(value, &declared, &Because::Annotation(span));
            }
            _ => {
                let ty = self.infer(value);
                let ty = self.store().with_own_sizes(&ty);
                self.pattern(pat, &ty);
                self.solve();
            }
        }
    }

    fn function_binding(
        &mut self,
        recursive: bool,
        name: PatId,
        param: PatId,
        ret: Option<TypeId>,
        body: ExprId,
    ) {
        self.store().level += 1;
        let ty = self.scoped_names(|cx| {
            let from = cx.pattern_type(param);
            let to = match ret {
                Some(ret) => cx.annotation(ret),
                None => cx.store().fresh(),
            };
            let ty = Ty::fun(from, to.clone());
            if recursive {
                cx.set_pat(name, &ty);
            }
            match ret {
                Some(ret) => {
                    let because = Because::Annotation(cx.ast.types[ret].span);
                    cx.check(body, &to, &because);
                }
                None => {
                    let found = cx.infer(body);
                    cx.unify(body, &to, &found, &Because::Use);
                }
            }
            ty
        });
        self.solve();
        self.store().level -= 1;
        self.set_pat(name, &ty);
        self.generalise(name, &ty);
    }

    fn generalise(&mut self, pat: PatId, ty: &Ty) {
        let level = self.store().level;
        if self.is_too_large(self.module, ty, self.ast.pats[pat].span) {
            self.set_pat(pat, &Ty::Error);
            return;
        }
        let scheme = self.store().generalise(ty, level);
        if !scheme.vars.is_empty() || !scheme.sizes.is_empty() {
            self.db.module_mut(self.module).local_schemes.insert(pat, Rc::new(scheme));
        }
    }

    /// The type of a name where it is used; `arg` is what it is applied to.
    fn name(&mut self, id: ExprId, arg: Option<ExprId>) -> Ty {
        let span = self.span(id);
        let Some(res) = self.res(id) else { return Ty::Error };
        match res {
            Res::Local(pat) => {
                let scheme = self.db.module(self.module).local_schemes.get(&pat).cloned();
                match scheme {
                    Some(scheme) => self.instance(id, &scheme, span, None),
                    None => self.db.module(self.module).pat_ty[pat.index()].clone(),
                }
            }
            Res::Size(..) => Ty::Int,
            Res::Def(def) => self.use_of(id, def, span, arg),
            Res::Con(data, tag) => {
                let args: Vec<Ty> =
                    (0..self.db.data(data).params.len()).map(|_| self.store().fresh()).collect();
                let fields: Vec<Ty> = self.db.data(data).constructors[tag as usize]
                    .fields
                    .iter()
                    .map(|t| instantiate_params(t, &args))
                    .collect();
                let to = Ty::Data(data, args.into());
                match payload(&fields) {
                    None => to,
                    Some(from) => Ty::fun(from, to),
                }
            }
            Res::Builtin => {
                self.db.report(Diagnostic::error("builtin", span, "`builtin` must be applied"));
                Ty::Error
            }
            Res::Jet | Res::Derivatives => {
                let (name, help) = if res == Res::Jet {
                    ("jet", "write `jet(1, 2, f)`")
                } else {
                    ("derivatives", "write `derivatives(3, f)`")
                };
                self.db.report(
                    Diagnostic::error(
                        "special-application",
                        span,
                        format!("`{name}` must be applied to integer literals and a function: its type depends on them"),
                    )
                    .help(help),
                );
                Ty::Error
            }
        }
    }

    fn use_of(&mut self, id: ExprId, def: DefId, span: Span, arg: Option<ExprId>) -> Ty {
        if let Some(own) = self.own.get(&def) {
            // Within its own group a definition is monomorphic but for its sizes.
            let scheme = Scheme {
                vars: Vec::new(),
                sizes: own.sizes.sizes.clone(),
                size_params: own.sizes.size_params.clone(),
                nests: Vec::new(),
                ty: own.ty.clone(),
            };
            return self.instance(id, &scheme, span, arg);
        }
        match self.db.def(def).scheme.clone() {
            Some(scheme) => {
                let ty = self.instance(id, &scheme, span, arg);
                self.note_derivative(def, span, &ty);
                ty
            }
            None => Ty::Error,
        }
    }

    fn instance(&mut self, id: ExprId, scheme: &Scheme, span: Span, arg: Option<ExprId>) -> Ty {
        let name = match &self.ast.exprs[id].kind {
            ExprKind::Var(name) => name.clone(),
            ExprKind::Field { field, .. } => field.name.clone(),
            _ => Name::new("it"),
        };
        let why = self.why(span, &format!("`{name}`"));
        let (types, sizes, nests, ty) = self.store().instantiate(scheme, &why);
        if !scheme.vars.is_empty() {
            self.db.module_mut(self.module).instances.insert(id, types);
        }
        for nest in nests {
            self.add(Constraint::Nest { nest, span, name: name.clone() });
        }
        for (component, var) in &scheme.size_params {
            let Some(i) = scheme.sizes.iter().position(|s| s == var) else { continue };
            let given = match (component, arg) {
                (None, Some(arg)) => self.static_size(arg),
                (Some(k), Some(arg)) => match &self.ast.exprs[arg].kind {
                    ExprKind::Tuple(es) if *k < es.len() => {
                        let e = es[*k];
                        self.static_size(e)
                    }
                    _ => Size::Unknown,
                },
                (_, None) => Size::Unknown,
            };
            let _ = self.store().unify_size(sizes[i], given);
        }
        ty
    }

    fn apply(&mut self, id: ExprId, fun: ExprId, arg: ExprId) -> Ty {
        let ast = self.ast.clone();
        let holes = match &ast.exprs[arg].kind {
            ExprKind::Hole => true,
            ExprKind::Tuple(es) => es.iter().any(|e| matches!(ast.exprs[*e].kind, ExprKind::Hole)),
            _ => false,
        };
        let hole = holes.then(|| self.store().fresh());
        let outer = std::mem::replace(&mut self.hole, hole.clone());
        let to = match self.res(fun) {
            Some(Res::Builtin) => self.builtin(id, arg),
            Some(Res::Jet) => self.apply_jet(fun, arg),
            Some(Res::Derivatives) => self.apply_derivatives(fun, arg),
            _ => self.apply_function(fun, arg),
        };
        self.hole = outer;
        match (hole, to) {
            (_, Ty::Error) => Ty::Error,
            (Some(from), to) => Ty::fun(from, to),
            (None, to) => to,
        }
    }

    fn apply_function(&mut self, fun: ExprId, arg: ExprId) -> Ty {
        let ast = self.ast.clone();
        let is_name = matches!(self.res(fun), Some(Res::Def(_) | Res::Local(_)));
        let fun_ty = if is_name {
            let ty = self.name(fun, Some(arg));
            self.set(fun, &ty);
            ty
        } else {
            self.infer(fun)
        };
        let (from, to) = match self.store().shallow(&fun_ty) {
            Ty::Fun(f) => (f.0.clone(), f.1.clone()),
            Ty::Error => {
                self.infer(arg);
                return Ty::Error;
            }
            other
                if self.db.store.open_var(&other).is_some()
                    && !matches!(ast.exprs[fun].kind, ExprKind::Int(_)) =>
            {
                let (from, to) = (self.infer(arg), self.store().fresh());
                self.unify(fun, &fun_ty, &Ty::fun(from.clone(), to.clone()), &Because::Use);
                return to;
            }
            other => {
                let literal = matches!(ast.exprs[fun].kind, ExprKind::Int(_));
                let text = if literal { "Int".to_string() } else { self.show(&other) };
                let span = self.span(fun);
                let mut d = Diagnostic::error(
                    "not-a-function",
                    span,
                    format!("this is of type {text}, not a function, but it is applied"),
                )
                .label(self.span(arg), "to this");
                if self.new_line_between(fun, arg) {
                    d = d
                        .help("the argument starts on another line: is an `in` missing before it?");
                } else if matches!(other, Ty::Array(..)) {
                    d = d.help("an element of an array is taken with brackets: `xs[i]`");
                } else if matches!(ast.exprs[arg].kind, ExprKind::Unit) {
                    d = d.help("it is a value: leave out the `()`");
                } else if literal {
                    d = d.help("a multiplication is written with `*`");
                }
                self.db.report(d);
                self.infer(arg);
                return Ty::Error;
            }
        };
        let name = self.name_text(fun);
        // A function of the program is used as the program says.
        let usage = match self.res(fun) {
            Some(Res::Def(def)) if Some(self.db.def(def).module) == self.db.prelude => {
                name.as_ref().and_then(|name| replacement(Role::Function, name))
            }
            _ => None,
        };
        let because = Because::Argument { fun: self.span(fun), name, usage };
        match self.check_argument(arg, &from, &because) {
            true => to,
            false => Ty::Error,
        }
    }

    /// Checks the argument of a call. Whether there are as many arguments as the function takes.
    fn check_argument(&mut self, arg: ExprId, from: &Ty, because: &Because) -> bool {
        let ast = self.ast.clone();
        let wanted = self.store().shallow(from);
        let wanted_count = match &wanted {
            Ty::Tuple(ts) => ts.len(),
            Ty::Unit => 0,
            Ty::Var(_) | Ty::Error => {
                self.check(arg, from, because);
                return true;
            }
            _ => 1,
        };
        let (given, found) = match &ast.exprs[arg].kind {
            ExprKind::Tuple(es) => (es.len(), None),
            ExprKind::Unit => (0, None),
            // What is expected may decide the type of a form with parts that are expressions of their own.
            ExprKind::If { .. }
            | ExprKind::Case { .. }
            | ExprKind::Let { .. }
            | ExprKind::Loop { .. }
            | ExprKind::Hole
            | ExprKind::Error => (wanted_count, None),
            _ if wanted_count < 2 => (wanted_count, None),
            _ => {
                let ty = self.infer(arg);
                let found = self.store().shallow(&ty);
                if self.may_be_tuple(arg, &found, because) {
                    self.unify(arg, from, &ty, because);
                    return true;
                }
                (1, Some(found))
            }
        };
        if given == wanted_count {
            self.check(arg, from, because);
            return true;
        }
        let span = self.span(arg);
        match found {
            Some(found) => {
                if let Some(d) = self.missing_argument(span, (&wanted, &found)) {
                    self.db.report(d);
                    return false;
                }
            }
            None => {
                self.infer(arg);
            }
        }
        let words = |n: usize| match n {
            0 => "no arguments".to_string(),
            1 => "one argument".to_string(),
            n => format!("{n} arguments"),
        };
        let Because::Argument { fun, name, usage } = because else { return false };
        let who = name.as_ref().map_or("this function".to_string(), |n| format!("`{n}`"));
        let text = self.show(&wanted);
        let verb = if given == 1 { "is" } else { "are" };
        let mut d = Diagnostic::error(
            "argument-count",
            span,
            format!("{who} takes {}, but {} {verb} given", words(wanted_count), words(given)),
        )
        .label(*fun, format!("it takes {text}"));
        if let Some(usage) = usage {
            d = d.help(*usage);
        } else if let (1, 2.., Some(name)) = (given, wanted_count, name) {
            d = d.help(format!(
                "a call gives all arguments at once; `{name}(a, _)` is the function of the one left out"
            ));
        }
        self.db.report(d);
        false
    }

    /// Whether an argument of this type may be all arguments of a function of several; where that is still open,
    /// the call is kept, to be blamed if it turns out not to be.
    fn may_be_tuple(&mut self, arg: ExprId, found: &Ty, because: &Because) -> bool {
        let Some(open) = self.db.store.open_var(found) else {
            return matches!(found, Ty::Tuple(_) | Ty::Var(_) | Ty::Error);
        };
        if matches!(self.db.store.class(open).0, TypeClass::Num | TypeClass::Ord) {
            return false;
        }
        if let Because::Argument { name, .. } = because {
            let (at, name) = (self.span(arg), name.clone());
            self.lone_arguments.push(LoneArgument { at, name, ty: found.clone() });
        }
        true
    }

    /// Warns of an index that is a negative literal, which in other languages counts from the end.
    fn negative_index(&mut self, base: ExprId, index: ExprId) {
        let ExprKind::Unary { op: UnaryOp::Neg, operand } = self.ast.exprs[index].kind else {
            return;
        };
        let ExprKind::Int(n) = self.ast.exprs[operand].kind else { return };
        if n == 0 {
            return;
        }
        let xs = match &self.ast.exprs[base].kind {
            ExprKind::Var(name) => name.clone(),
            _ => "xs".into(),
        };
        let span = self.span(index);
        self.db.report(
            Diagnostic::warning(
                "negative-index",
                span,
                format!("there is no element -{n}: indices count from 0 to the length - 1"),
            )
            .help(format!("from the end it is `{xs}[length({xs}) - {n}]`")),
        );
    }

    fn name_text(&self, id: ExprId) -> Option<Name> {
        match &self.ast.exprs[id].kind {
            ExprKind::Var(name) => Some(name.clone()),
            ExprKind::Field { field, .. } => Some(field.name.clone()),
            ExprKind::Con(name) => Some(name.name.clone()),
            _ => None,
        }
    }

    fn new_line_between(&self, fun: ExprId, arg: ExprId) -> bool {
        let (f, a) = (self.span(fun), self.span(arg));
        let line = |offset: u32| self.db.sources.line_index(f.file, offset as usize);
        line(f.end) != line(a.start)
    }
}
