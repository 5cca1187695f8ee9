//! Names: what every name of a definition means.
//!
//! In: a module's tree and the scopes of its imports and of the prelude. Out: the tables
//! [`ModuleData::res`](crate::db::ModuleData::res), `con_pats` and `size_res`, and which definitions
//! each definition mentions. A name that means nothing is reported and left out of the tables.

mod help;

use crate::db::{def_item, Db, DefId, ModuleId, Res, SizeRes};
use crate::infer::GRADIENTS;
use crate::library;
use crate::types::DataIdx;
use diffeo_base::foreign::{density, distribution, replacement, Role};
use diffeo_base::{deep, Diagnostic, Help, Name, Span};
use diffeo_syntax::ast::{
    Binding, Control, ExprId, ExprKind, Ident, Module, PatId, PatKind, Path, SizeExpr, TypeId,
    TypeKind,
};
use help::{lower_case, no_constructor, short};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Resolves definitions and all that they lead to, each once.
pub fn resolve(db: &mut Db, roots: impl IntoIterator<Item = DefId>) {
    let mut pending: VecDeque<DefId> = roots.into_iter().collect();
    while let Some(id) = pending.pop_front() {
        if db.def(id).uses.is_none() {
            let uses = resolve_definition(db, id);
            pending.extend(&uses);
            db.defs[id.0 as usize].uses = Some(uses);
        }
    }
}

/// Resolves one definition; gives those that it mentions.
fn resolve_definition(db: &mut Db, id: DefId) -> Vec<DefId> {
    let module = db.def(id).module;
    let ast = db.module(module).ast.clone();
    let def = def_item(&ast, db.def(id).item);
    let mut cx = Resolver {
        db,
        module,
        ast: ast.clone(),
        locals: HashMap::new(),
        undo: Vec::new(),
        uses: Vec::new(),
        defining: Vec::new(),
        differentiated: None,
    };
    match def.param {
        Some(param) => cx.function(param, def.ret, def.body),
        None => {
            if let Some(ret) = def.ret {
                cx.free_sizes(ret, PatId::new(u32::MAX as usize));
            }
            cx.expr(def.body);
        }
    }
    cx.uses
}

#[derive(Clone)]
enum Local {
    Var(PatId),
    Size(SizeRes),
    /// Meant as a variable, but written as a constructor: that is said where it is bound.
    Capital,
}

/// True of an operator that takes the derivative of a function.
fn is_derivative(ast: &Module, fun: ExprId) -> bool {
    let ExprKind::Var(name) = &ast.exprs[fun].kind else { return false };
    GRADIENTS.contains(&name.as_str())
}

struct Resolver<'a> {
    db: &'a mut Db,
    module: ModuleId,
    ast: Rc<Module>,
    locals: HashMap<Name, Vec<Local>>,
    undo: Vec<Name>,
    uses: Vec<DefId>,
    /// The patterns of the `let`s whose values are being resolved, and whether those are functions.
    defining: Vec<(PatId, bool)>,
    /// The application whose derivative of an expression, not of a function, is being resolved.
    differentiated: Option<(ExprId, ExprId)>,
}

impl Resolver<'_> {
    fn set(&mut self, expr: ExprId, res: Res) {
        if let Res::Def(id) = res {
            self.uses.push(id);
        }
        self.db.module_mut(self.module).res.insert(expr, res);
    }

    fn push(&mut self, name: &Name, local: Local) {
        self.locals.entry(name.clone()).or_default().push(local);
        self.undo.push(name.clone());
    }

    fn pop_to(&mut self, mark: usize) {
        for name in self.undo.drain(mark..).rev() {
            if let Some(stack) = self.locals.get_mut(&name) {
                stack.pop();
            }
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name).and_then(|stack| stack.last())
    }

    fn scoped(&mut self, f: impl FnOnce(&mut Self)) {
        let mark = self.undo.len();
        f(self);
        self.pop_to(mark);
    }

    fn function(&mut self, param: PatId, ret: Option<TypeId>, body: ExprId) {
        self.scoped(|cx| {
            cx.bind(param);
            if let Some(ret) = ret {
                cx.free_sizes(ret, param);
            }
            cx.expr(body);
        });
    }

    /// Declares the variables of a pattern that stands where most are variables.
    fn bind(&mut self, pat: PatId) {
        self.bind_pattern(pat, true);
    }

    /// Declares the variables of a pattern, then the sizes of its annotations.
    fn bind_pattern(&mut self, pat: PatId, of_variables: bool) {
        self.capitals(pat, of_variables);
        let mut vars: Vec<(Name, Span, PatId)> = Vec::new();
        let mut annotations = Vec::new();
        self.pattern(pat, &mut vars, &mut annotations);
        let mut seen: HashMap<Name, Span> = HashMap::new();
        for (name, span, id) in vars {
            if let Some(first) = seen.insert(name.clone(), span) {
                self.db.report(
                    Diagnostic::error(
                        "duplicate-variable",
                        span,
                        format!("`{name}` is bound twice in this pattern"),
                    )
                    .label(first, "first bound here")
                    .help("give one of them another name"),
                );
            }
            self.push(&name, Local::Var(id));
        }
        for ty in annotations {
            self.sizes(ty, pat, true);
        }
    }

    /// Reports the names of constructors that are none, and were likely meant as variables. Where they are used, no
    /// more is said.
    fn capitals(&mut self, pat: PatId, of_variables: bool) {
        deep(|| {
            let ast = self.ast.clone();
            let mut all = |pats: &mut dyn Iterator<Item = &PatId>| {
                pats.for_each(|p| self.capitals(*p, of_variables));
            };
            match &ast.pats[pat].kind {
                PatKind::Tuple(ps) => all(&mut ps.iter()),
                PatKind::Record(fs) => all(&mut fs.iter().map(|(_, p)| p)),
                PatKind::Con { arg: Some(arg), .. } => all(&mut [*arg].iter()),
                PatKind::Cons(head, tail) => all(&mut [*head, *tail].iter()),
                PatKind::Annot(p, _) => all(&mut [*p].iter()),
                PatKind::Con { path: Path { module: None, name }, arg: None } => {
                    let known = self.constructor_of(&name.name).is_some();
                    let type_name =
                        matches!(name.name.as_str(), "Real" | "Int" | "Bool" | "String");
                    // The names of the library are looked through last, because all of it is read for them.
                    let meant = || !of_variables && self.meant_constructor(&name.name).is_some();
                    if known || type_name || meant() {
                        return;
                    }
                    let mut d = no_constructor(name);
                    d.help = Some(lower_case(&name.name).into());
                    self.db.report(d);
                    self.push(&name.name, Local::Capital);
                }
                PatKind::Con { arg: None, .. }
                | PatKind::Error
                | PatKind::Wild
                | PatKind::Int(_)
                | PatKind::Real(_)
                | PatKind::Bool(_)
                | PatKind::Str(_)
                | PatKind::Unit
                | PatKind::Var(_) => {}
            }
        });
    }

    fn pattern(
        &mut self,
        pat: PatId,
        vars: &mut Vec<(Name, Span, PatId)>,
        annotations: &mut Vec<TypeId>,
    ) {
        deep(|| {
            let ast = self.ast.clone();
            let node = &ast.pats[pat];
            match &node.kind {
                PatKind::Error
                | PatKind::Wild
                | PatKind::Int(_)
                | PatKind::Real(_)
                | PatKind::Bool(_)
                | PatKind::Str(_)
                | PatKind::Unit => {}
                PatKind::Var(name) => vars.push((name.clone(), node.span, pat)),
                PatKind::Tuple(ps) => {
                    ps.iter().for_each(|p| self.pattern(*p, vars, annotations));
                }
                PatKind::Record(fs) => {
                    fs.iter().for_each(|(_, p)| self.pattern(*p, vars, annotations));
                }
                PatKind::Con { path, arg } => {
                    if let Some((data, tag)) = self.constructor(path) {
                        self.db.module_mut(self.module).con_pats.insert(pat, (data, tag));
                    }
                    if let Some(arg) = arg {
                        self.pattern(*arg, vars, annotations);
                    }
                }
                PatKind::Cons(head, tail) => {
                    if let Some(list) = self.db.list {
                        self.db.module_mut(self.module).con_pats.insert(pat, (list, 1));
                    }
                    self.pattern(*head, vars, annotations);
                    self.pattern(*tail, vars, annotations);
                }
                PatKind::Annot(p, ty) => {
                    annotations.push(*ty);
                    self.pattern(*p, vars, annotations);
                }
            }
        });
    }

    fn free_sizes(&mut self, ty: TypeId, owner: PatId) {
        self.sizes(ty, owner, false);
    }

    /// Gives the sizes of a type their meaning; `valued` where a value determines them.
    fn sizes(&mut self, ty: TypeId, owner: PatId, valued: bool) {
        let ast = self.ast.clone();
        match &ast.types[ty].kind {
            TypeKind::Error | TypeKind::Unit | TypeKind::Var(_) => {}
            TypeKind::Named { args, .. } => {
                args.iter().for_each(|t| self.sizes(*t, owner, valued));
            }
            TypeKind::Tuple(ts) => ts.iter().for_each(|t| self.sizes(*t, owner, valued)),
            TypeKind::Record(fs) => fs.iter().for_each(|(_, t)| self.sizes(*t, owner, valued)),
            TypeKind::Array(size, element) => {
                if let SizeExpr::Named(name) = size {
                    let res = match self.local(&name.name) {
                        Some(Local::Var(pat)) => SizeRes::Local(*pat),
                        Some(Local::Size(SizeRes::Free(o, _))) if valued && *o == owner => {
                            // First seen in a function type of the same signature.
                            let res = SizeRes::Name(owner, name.name.clone());
                            self.push(&name.name, Local::Size(res.clone()));
                            res
                        }
                        Some(Local::Size(res)) => res.clone(),
                        Some(Local::Capital) | None => {
                            let res = if valued {
                                SizeRes::Name(owner, name.name.clone())
                            } else {
                                SizeRes::Free(owner, name.name.clone())
                            };
                            self.push(&name.name, Local::Size(res.clone()));
                            res
                        }
                    };
                    self.db.module_mut(self.module).size_res.insert(ty, res);
                }
                self.sizes(*element, owner, valued);
            }
            TypeKind::Fun(from, to) => {
                self.sizes(*from, owner, false);
                self.sizes(*to, owner, false);
            }
        }
    }

    fn exprs(&mut self, ids: &[ExprId]) {
        ids.iter().for_each(|e| self.expr(*e));
    }

    fn expr(&mut self, id: ExprId) {
        deep(|| self.expr_inner(id));
    }

    fn expr_inner(&mut self, id: ExprId) {
        let ast = self.ast.clone();
        let node = &ast.exprs[id];
        match &node.kind {
            ExprKind::Error
            | ExprKind::Int(_)
            | ExprKind::Real(_)
            | ExprKind::Bool(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Hole => {}
            ExprKind::Var(name) => self.variable(id, name, node.span),
            ExprKind::Con(name) => {
                if self.constructor_of(&name.name).is_none() {
                    // A definition of such a name was reported where it stands.
                    if let Some(def) = self.global(&name.name) {
                        return self.set(id, Res::Def(def));
                    }
                    let lower = name.name.to_lowercase();
                    let bound = self.local(&lower).is_some() || self.global(&lower).is_some();
                    let capital = matches!(self.local(&name.name), Some(Local::Capital));
                    if bound && !capital && self.meant_constructor(&name.name).is_none() {
                        let mut d = no_constructor(name);
                        d.help = Some(Help::did_you_mean(lower));
                        return self.db.report(d);
                    }
                }
                let path = Path { module: None, name: name.clone() };
                if let Some((data, tag)) = self.constructor(&path) {
                    self.set(id, Res::Con(data, tag));
                }
            }
            ExprKind::Apply { fun, arg } => {
                self.expr(*fun);
                let outer = self.differentiated;
                if is_derivative(&ast, *fun) {
                    let is_function = matches!(ast.exprs[*arg].kind, ExprKind::Fn { .. });
                    self.differentiated = (!is_function).then_some((*fun, *arg));
                }
                self.expr(*arg);
                self.differentiated = outer;
            }
            ExprKind::Tuple(es) | ExprKind::Array(es) | ExprKind::List(es) => self.exprs(es),
            ExprKind::Record(fs) => fs.iter().for_each(|(_, e)| self.expr(*e)),
            ExprKind::RecordWith { base, fields } => {
                self.expr(*base);
                fields.iter().for_each(|(_, e)| self.expr(*e));
            }
            ExprKind::Comprehension { body, clauses } => self.scoped(|cx| {
                for clause in clauses {
                    cx.expr(clause.range.expr());
                    cx.bind(clause.pat);
                    if let Some(cond) = clause.cond {
                        cx.expr(cond);
                    }
                }
                cx.expr(*body);
            }),
            ExprKind::Index { base, indices } => {
                self.expr(*base);
                self.exprs(indices);
            }
            ExprKind::Slice { base, lo, hi } => self.exprs(&[*base, *lo, *hi]),
            ExprKind::Field { base, field } => self.field(id, *base, field),
            ExprKind::Component { base, .. } => self.expr(*base),
            ExprKind::Unary { operand, .. } => self.expr(*operand),
            ExprKind::Binary { lhs, rhs, .. } => self.exprs(&[*lhs, *rhs]),
            ExprKind::If { cond, then, otherwise } => self.exprs(&[*cond, *then, *otherwise]),
            ExprKind::Case { scrutinee, arms } => {
                self.expr(*scrutinee);
                for arm in arms {
                    self.scoped(|cx| {
                        cx.bind_pattern(arm.pat, false);
                        cx.expr(arm.body);
                    });
                }
            }
            ExprKind::Let { bindings, body } => self.scoped(|cx| {
                for binding in bindings {
                    cx.binding(binding);
                }
                cx.expr(*body);
            }),
            ExprKind::Fn { param, body } => self.function(*param, None, *body),
            ExprKind::Loop { pat, init, control, body } => {
                self.expr(*init);
                match &**control {
                    Control::Count { bound, .. } => self.expr(*bound),
                    Control::In { source, .. } => self.expr(*source),
                    Control::While(_) => {}
                }
                self.scoped(|cx| {
                    cx.bind(*pat);
                    match &**control {
                        Control::Count { pat, .. } | Control::In { pat, .. } => cx.bind(*pat),
                        Control::While(cond) => cx.expr(*cond),
                    }
                    cx.expr(*body);
                });
            }
            ExprKind::Update { base, indices, value } => {
                self.expr(*base);
                self.exprs(indices);
                self.expr(*value);
            }
        }
    }

    fn binding(&mut self, binding: &Binding) {
        match binding {
            Binding::Value { pat, value } => {
                if self.is_capital_function(*pat) {
                    return self.scoped_function(*pat, *value);
                }
                let is_function = matches!(self.ast.exprs[*value].kind, ExprKind::Fn { .. });
                self.defining.push((*pat, is_function));
                self.expr(*value);
                self.defining.pop();
                self.bind(*pat);
            }
            Binding::Function { recursive, name, param, ret, body } => {
                if *recursive {
                    self.bind(*name);
                    self.function(*param, *ret, *body);
                } else {
                    self.defining.push((*name, true));
                    self.function(*param, *ret, *body);
                    self.defining.pop();
                    self.bind(*name);
                }
            }
        }
    }

    /// True of `F(x)` of a `let` where there is no constructor `F`, nor one of nearly that name: a function is meant.
    fn is_capital_function(&self, pat: PatId) -> bool {
        let PatKind::Con { path: Path { module: None, name }, arg: Some(_) } =
            &self.ast.pats[pat].kind
        else {
            return false;
        };
        self.constructor_of(&name.name).is_none() && self.meant_constructor(&name.name).is_none()
    }

    /// `let F(x) = e`, where `F` is no constructor: a function.
    fn scoped_function(&mut self, pat: PatId, value: ExprId) {
        let ast = self.ast.clone();
        let PatKind::Con { path, arg: Some(arg) } = &ast.pats[pat].kind else { return };
        let mut d = no_constructor(&path.name);
        d.help = Some(lower_case(&path.name.name).replace("variables", "functions").into());
        self.db.report(d);
        self.function(*arg, None, value);
        self.push(&path.name.name, Local::Capital);
    }

    fn variable(&mut self, id: ExprId, name: &Name, span: Span) {
        match self.local(name) {
            Some(Local::Var(pat)) => {
                let res = Res::Local(*pat);
                return self.set(id, res);
            }
            Some(Local::Size(SizeRes::Name(owner, name))) => {
                let res = Res::Size(*owner, name.clone());
                return self.set(id, res);
            }
            Some(Local::Size(SizeRes::Free(..))) if self.global(name).is_none() => {
                return self.db.report(
                    Diagnostic::error(
                        "size-without-value",
                        span,
                        format!("the size `{name}` has no value here"),
                    )
                    .note("a size is usable as an Int if it occurs in the type of a parameter, outside function types")
                    .help(format!("take an array of that size as a parameter, or `{name}: Int`")),
                );
            }
            Some(Local::Size(_) | Local::Capital) | None => {}
        }
        if let Some(def) = self.global(name) {
            self.deprecated(def, span);
            return self.set(id, Res::Def(def));
        }
        let module = self.db.module(self.module);
        if module.std && name == "builtin" {
            return self.set(id, Res::Builtin);
        }
        match name.as_str() {
            "jet" => return self.set(id, Res::Jet),
            "derivatives" => return self.set(id, Res::Derivatives),
            _ => {}
        }
        let module = self.db.module(self.module);
        if module.scope.modules.contains_key(name) {
            return self.db.report(
                Diagnostic::error("module-as-value", span, format!("`{name}` is a module"))
                    .help(format!("name what you want from it: `{name}.something`")),
            );
        }
        let mut diagnostic =
            Diagnostic::error("unknown-name", span, format!("there is no `{}` here", short(name)));
        diagnostic.help = if self.db.shows_more() { self.meant(name, span) } else { None };
        self.db.report(diagnostic);
    }

    /// Warns of a use of another module's definition whose documentation has a line that begins with `Deprecated:`.
    fn deprecated(&mut self, def: DefId, span: Span) {
        let info = self.db.def(def);
        if info.module == self.module {
            return;
        }
        let doc = &def_item(&self.db.module(info.module).ast, info.item).doc;
        let advice = doc.iter().find_map(|line| line.trim().strip_prefix("Deprecated:"));
        if let Some(advice) = advice {
            let message = format!("`{}` is deprecated", info.name);
            let warning = Diagnostic::warning("deprecated", span, message);
            let advice = advice.trim().trim_end_matches('.').to_string();
            self.db.report(if advice.is_empty() { warning } else { warning.help(advice) });
        }
    }

    fn global(&self, name: &str) -> Option<DefId> {
        let own = self.db.module(self.module).scope.values.get(name);
        let prelude = || self.db.module(self.db.prelude?).scope.values.get(name);
        own.or_else(prelude).map(|(id, _)| *id)
    }

    /// `base.field`: a member of a module where `base` is the name of one.
    fn field(&mut self, id: ExprId, base: ExprId, field: &Ident) {
        let ast = self.ast.clone();
        if let ExprKind::Var(name) = &ast.exprs[base].kind {
            if self.local(name).is_none() && !self.own_or_imported(name) {
                let is_module = self.db.module(self.module).scope.modules.contains_key(name);
                let upper = field.name.starts_with(char::is_uppercase);
                if upper && (is_module || self.global(name).is_none()) {
                    let module = Ident { name: name.clone(), span: ast.exprs[base].span };
                    let path = Path { module: Some(module), name: field.clone() };
                    if let Some((data, tag)) = self.constructor(&path) {
                        self.set(id, Res::Con(data, tag));
                    }
                    return;
                }
                if let Some(module) = self.db.module(self.module).scope.modules.get(name).copied() {
                    let members = &self.db.module(module).scope.values;
                    match members.get(&field.name) {
                        Some((def, _)) => {
                            let def = *def;
                            self.deprecated(def, field.span);
                            self.set(id, Res::Def(def));
                        }
                        None => {
                            let hint =
                                self.db.closest(&field.name, members.keys().map(Name::as_str));
                            let mut d = Diagnostic::error(
                                "unknown-member",
                                field.span,
                                format!("the module `{name}` has no `{}`", field.name),
                            );
                            let is_library = library::source(name).is_some();
                            let role = if name == "plot" { Role::Plot } else { Role::Value };
                            let known = replacement(role, &field.name).filter(|_| is_library);
                            let has = |member: &String| members.contains_key(member.as_str());
                            let of = distribution(&field.name);
                            let mut densities =
                                ["logpdf", "logpmf"].map(|f| format!("{of}_{f}")).into_iter();
                            if let Some(found) = density(&field.name).filter(has) {
                                d = d.help(Help::did_you_mean_member(name, found));
                            } else if let Some(found) = densities.find(has) {
                                d = d.help(format!(
                                    "the functions of a distribution are members: `{name}.{found}`"
                                ));
                            } else if let Some(help) = known {
                                d = d.help(help);
                            } else if let Some(found) = hint {
                                d = d.help(Help::did_you_mean_member(name, found));
                            }
                            d.notes.extend(self.db.hidden_library(module));
                            self.db.report(d);
                        }
                    }
                    return;
                }
                if self.global(name).is_none() && library::source(name).is_none() {
                    return self.foreign_member(name, ast.exprs[base].span, field);
                }
            }
        }
        if let ExprKind::Con(name) = &ast.exprs[base].kind {
            let bound = self.local(&name.name).is_some() || self.global(&name.name).is_some();
            if self.constructor_of(&name.name).is_none() && !bound {
                return self.foreign_member(&name.name, name.span, field);
            }
        }
        self.expr(base);
    }

    /// `np.sum`, `List.map`: a member of a module that is not there.
    fn foreign_member(&mut self, module: &Name, span: Span, field: &Ident) {
        let name = &field.name;
        let mut diagnostic = Diagnostic::error(
            "unknown-name",
            span,
            format!("there is no `{}` here", short(module)),
        );
        diagnostic.help = if self.global(name).is_some() {
            Some(format!("`{name}` needs no module: write `{name}`").into())
        } else if replacement(Role::Module, module).is_some() {
            let foreign = [Role::Value, Role::Constructor]
                .iter()
                .find_map(|role| replacement(*role, name).map(Help::from));
            foreign.or_else(|| library::import_of(name)).or_else(|| self.meant(module, span))
        } else {
            self.near_module(module).or_else(|| self.meant(module, span))
        };
        self.db.report(diagnostic);
    }

    fn own_or_imported(&self, name: &str) -> bool {
        self.db.module(self.module).scope.values.contains_key(name)
    }

    fn constructor(&mut self, path: &Path) -> Option<(DataIdx, u32)> {
        let name = &path.name.name;
        let module = self.db.module(self.module);
        let found = match &path.module {
            Some(m) => match module.scope.modules.get(&m.name) {
                Some(id) => self.db.module(*id).scope.constructors.get(name),
                None => {
                    let message = format!("there is no module `{}` here", m.name);
                    let help = replacement(Role::Constructor, name)
                        .filter(|_| replacement(Role::Module, &m.name).is_some())
                        .map(Help::from)
                        .or_else(|| self.near_module(&m.name))
                        .unwrap_or_else(|| format!("add `import {}`", m.name).into());
                    self.db.report(Diagnostic::error("unknown-module", m.span, message).help(help));
                    return None;
                }
            }
            .map(|(data, tag, _)| (*data, *tag)),
            None => self.constructor_of(name),
        };
        let capital = path.module.is_none() && matches!(self.local(name), Some(Local::Capital));
        if found.is_some() || capital {
            return found;
        }
        let mut d = no_constructor(&path.name);
        d.help = match &path.module {
            None => self.meant_constructor(name),
            Some(m) => module.scope.modules.get(&m.name).and_then(|id| {
                let names = self.db.module(*id).scope.constructors.keys().map(Name::as_str);
                library::import_of(name).or(self.db.closest(name, names).map(Help::did_you_mean))
            }),
        };
        self.db.report(d);
        None
    }

    fn constructor_of(&self, name: &str) -> Option<(DataIdx, u32)> {
        let own = self.db.module(self.module).scope.constructors.get(name);
        let prelude = || self.db.module(self.db.prelude?).scope.constructors.get(name);
        own.or_else(prelude).map(|(data, tag, _)| (*data, *tag))
    }
}
