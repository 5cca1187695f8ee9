//! Types: Hindley–Milner with let-generalisation, sizes, and the operators decided by their uses.
//!
//! In: resolved trees. Out: the type of every expression and pattern, the schemes of definitions and
//! local functions, and the type arguments of every use of a polymorphic name, in the tables of the
//! modules. Definitions are inferred in groups of mutually recursive ones, callees first.

mod constraint;
mod division;
mod error;
mod expr;
mod lower;
mod nest;
mod operator;
mod pattern;
mod record;
mod special;

use crate::db::{def_item, Db, DefId, ModuleId, Res};
use crate::types::{Nest, Scheme, Size, Store, Ty, Why};
use constraint::Constraint;
use diffeo_base::{Components, Diagnostic, Name, Span};
use diffeo_syntax::ast::{Def, ExprId, ExprKind, Module, PatId, PatKind};
pub use error::Because;
use error::LoneArgument;
use lower::most_parts;
pub use lower::{alias, declared, duplicate_field, mark_function_holders};
pub use record::MOST_FIELDS;
pub use special::GRADIENTS;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Infers every definition that is resolved and has no type yet.
pub fn infer(db: &mut Db) {
    for group in groups(db) {
        let due = |def: &DefId| db.def(*def).uses.is_some() && db.def(*def).scheme.is_none();
        if group.iter().any(due) {
            infer_group(db, &group);
        }
    }
}

/// The definitions in groups that mention each other, each group after those that it mentions.
fn groups(db: &Db) -> Vec<Vec<DefId>> {
    let mention = |def: usize, i: usize| {
        let uses = db.defs[def].uses.as_ref()?;
        uses.get(i).map(|used| used.0 as usize)
    };
    let mut groups = Components::new(db.defs.len(), mention).members;
    groups.iter_mut().for_each(|group| group.sort_unstable());
    let ids = |group: Vec<usize>| group.into_iter().map(|def| DefId(def as u32)).collect();
    groups.into_iter().map(ids).collect()
}

/// The type of a definition within its own group.
struct Own {
    ty: Ty,
    sizes: Scheme,
}

pub(super) struct Infer<'a> {
    pub db: &'a mut Db,
    module: ModuleId,
    ast: Rc<Module>,
    type_names: HashMap<Name, Ty>,
    named_sizes: HashMap<(PatId, Name), Size>,
    in_signature: bool,
    constraints: Vec<Constraint>,
    /// Types of Jacobians that are decided where the definition is used.
    nests: Vec<Nest>,
    own: HashMap<DefId, Own>,
    hole: Option<Ty>,
    /// Integer literals above the largest Int and divisions of literals, looked at in the end.
    literals: Vec<(ModuleId, ExprId)>,
    /// By variable without an annotation, its value.
    values: HashMap<(ModuleId, PatId), ExprId>,
    lone_arguments: Vec<LoneArgument>,
    /// Derivatives that are taken: the place, the operator, the type by which.
    derivatives: Vec<(Span, Name, Ty)>,
}

struct Context {
    module: ModuleId,
    ast: Rc<Module>,
    type_names: HashMap<Name, Ty>,
    named_sizes: HashMap<(PatId, Name), Size>,
}

fn infer_group(db: &mut Db, group: &[DefId]) {
    let first = db.def(group[0]).module;
    let ast = db.module(first).ast.clone();
    db.store.classed.clear();
    db.store.released.clear();
    db.store.level = 1;
    let mut cx = Infer {
        db,
        module: first,
        ast,
        type_names: HashMap::new(),
        named_sizes: HashMap::new(),
        in_signature: false,
        constraints: Vec::new(),
        nests: Vec::new(),
        own: HashMap::new(),
        hole: None,
        literals: Vec::new(),
        values: HashMap::new(),
        lone_arguments: Vec::new(),
        derivatives: Vec::new(),
    };
    let mut contexts = Vec::new();
    for id in group {
        cx.enter(*id);
        cx.signature(*id);
        contexts.push(Context {
            module: cx.module,
            ast: cx.ast.clone(),
            type_names: std::mem::take(&mut cx.type_names),
            named_sizes: std::mem::take(&mut cx.named_sizes),
        });
    }
    for (id, context) in group.iter().zip(contexts) {
        cx.module = context.module;
        cx.ast = context.ast;
        cx.type_names = context.type_names;
        cx.named_sizes = context.named_sizes;
        cx.definition(*id);
    }
    cx.settle();
    cx.finish(group);
}

impl Infer<'_> {
    fn store(&mut self) -> &mut Store {
        &mut self.db.store
    }

    fn enter(&mut self, id: DefId) {
        self.module = self.db.def(id).module;
        self.ast = self.db.module(self.module).ast.clone();
        let m = self.db.module_mut(self.module);
        if m.expr_ty.is_empty() {
            m.expr_ty = vec![Ty::Error; m.ast.exprs.len()];
            m.pat_ty = vec![Ty::Error; m.ast.pats.len()];
        }
    }

    fn def(&self, id: DefId) -> Def {
        def_item(&self.ast, self.db.def(id).item).clone()
    }

    /// What the annotations of a definition say of its type.
    fn signature(&mut self, id: DefId) {
        let def = self.def(id);
        self.in_signature = true;
        let ty = match def.param {
            Some(param) => {
                let from = self.pattern_type(param);
                let to = match def.ret {
                    Some(ret) => self.annotation(ret),
                    None => self.store().fresh(),
                };
                Ty::fun(from, to)
            }
            None => match def.ret {
                Some(ret) => self.annotation(ret),
                None => self.store().fresh(),
            },
        };
        self.in_signature = false;
        let size_params = def.param.map_or(Vec::new(), |p| self.size_params(p));
        let sizes = self
            .named_sizes
            .values()
            .chain(self.db.module(self.module).local_sizes.values())
            .filter_map(|s| match s {
                Size::Var(v) => Some(*v),
                Size::Known(_) | Size::Unknown => None,
            })
            .collect();
        let sizes = Scheme { sizes, size_params, ..Scheme::mono(ty.clone()) };
        self.own.insert(id, Own { ty, sizes });
    }

    /// The Int parameters that name sizes.
    fn size_params(&self, param: PatId) -> Vec<(Option<usize>, crate::types::SizeVar)> {
        let sizes = &self.db.module(self.module).local_sizes;
        let of = |p: PatId| match sizes.get(&self.variable_of(p)?) {
            Some(Size::Var(v)) => Some(*v),
            Some(Size::Known(_) | Size::Unknown) | None => None,
        };
        match &self.ast.pats[param].kind {
            PatKind::Tuple(ps) => {
                ps.iter().enumerate().filter_map(|(i, p)| of(*p).map(|v| (Some(i), v))).collect()
            }
            _ => of(param).map(|v| (None, v)).into_iter().collect(),
        }
    }

    /// The variable of a pattern that is one, annotated or not.
    fn variable_of(&self, pat: PatId) -> Option<PatId> {
        match &self.ast.pats[pat].kind {
            PatKind::Var(_) => Some(pat),
            PatKind::Annot(p, _) => self.variable_of(*p),
            _ => None,
        }
    }

    /// The size that is the value of an Int variable.
    fn local_size(&mut self, pat: PatId, name: &Name, span: Span) -> Size {
        if let Some(size) = self.db.module(self.module).local_sizes.get(&pat) {
            return *size;
        }
        let ty = self.db.module(self.module).pat_ty[pat.index()].clone();
        let pat_span = self.ast.pats[pat].span;
        if self.in_signature {
            // The parameter's own annotation may follow; it is compared when it is seen.
        } else if self.store().unify(&ty, &Ty::Int).is_err() {
            let text = crate::display::TypePrinter::new(self.db).ty(&ty);
            self.db.report(
                Diagnostic::error(
                    "size-not-int",
                    span,
                    format!("the size `{name}` names a variable of type {text}, not an Int"),
                )
                .label(pat_span, "this variable")
                .help("give the size another name"),
            );
        }
        let size = self.db.store.rigid_size(name.clone(), pat_span);
        self.db.module_mut(self.module).local_sizes.insert(pat, size);
        size
    }

    fn definition(&mut self, id: DefId) {
        let def = self.def(id);
        let ty = self.own[&id].ty.clone();
        let expected = match (&ty, def.param) {
            (Ty::Fun(f), Some(param)) => {
                self.check_size_parameters(param);
                f.1.clone()
            }
            _ => ty,
        };
        match def.ret {
            Some(ret) => {
                let because = Because::Annotation(self.ast.types[ret].span);
                self.check(def.body, &expected, &because);
            }
            None => {
                let found = self.infer(def.body);
                self.unify(def.body, &expected, &found, &Because::Use);
            }
        }
        self.solve();
    }

    /// Parameters that name sizes are Ints.
    fn check_size_parameters(&mut self, param: PatId) {
        let ast = self.ast.clone();
        let mut pending = vec![param];
        while let Some(pat) = pending.pop() {
            match &ast.pats[pat].kind {
                PatKind::Error
                | PatKind::Wild
                | PatKind::Int(_)
                | PatKind::Real(_)
                | PatKind::Bool(_)
                | PatKind::Str(_)
                | PatKind::Unit => {}
                PatKind::Var(_) => self.check_size_variable(pat, "parameter"),
                PatKind::Tuple(ps) => pending.extend(ps.iter().rev()),
                PatKind::Record(fields) => pending.extend(fields.iter().rev().map(|(_, p)| p)),
                PatKind::Con { path: _, arg } => pending.extend(arg),
                PatKind::Cons(head, tail) => pending.extend([tail, head]),
                PatKind::Annot(p, _) => pending.push(*p),
            }
        }
    }

    /// A variable that names a size is an Int.
    fn check_size_variable(&mut self, var: PatId, what: &str) {
        if !self.db.module(self.module).local_sizes.contains_key(&var) {
            return;
        }
        let ty = self.db.module(self.module).pat_ty[var.index()].clone();
        if self.store().unify(&ty, &Ty::Int).is_err() {
            let text = crate::display::TypePrinter::new(self.db).ty(&ty);
            let span = self.ast.pats[var].span;
            self.db.report(
                Diagnostic::error(
                    "size-not-int",
                    span,
                    format!("this {what} names a size, but its type is {text}, not Int"),
                )
                .help("give the size another name"),
            );
        }
    }

    /// Quantifies the types of a group.
    fn finish(&mut self, group: &[DefId]) {
        let own = group.iter().map(|d| self.own[d].ty.clone());
        let known = self.nests.iter().flat_map(|n| [n.of.clone(), n.with.clone(), n.out.clone()]);
        let all = Ty::Tuple(own.chain(known).collect());
        let joint = self.store().generalise(&all, 0);
        for id in group {
            self.own_extent(*id);
            let own = &self.own[id];
            let scheme = Scheme {
                vars: joint.vars.clone(),
                sizes: joint.sizes.clone(),
                size_params: own.sizes.size_params.clone(),
                nests: self.nests.clone(),
                ty: own.ty.clone(),
            };
            self.db.defs[id.0 as usize].scheme = Some(Rc::new(scheme));
        }
    }

    /// Gives up the type of a definition that has grown by itself.
    fn own_extent(&mut self, id: DefId) {
        let (module, span) = (self.db.def(id).module, self.db.def(id).span);
        let ty = self.own[&id].ty.clone();
        if self.is_too_large(module, &ty, span) {
            self.own.insert(id, Own { ty: Ty::Error, sizes: Scheme::mono(Ty::Error) });
        }
    }

    /// Whether the type of a name has more parts than there may be, which is told.
    fn is_too_large(&mut self, module: ModuleId, ty: &Ty, name: Span) -> bool {
        let most = most_parts(self.db, module);
        let is_too_large = self.db.store.extent(ty, most) >= most;
        if is_too_large {
            let text = self.db.sources.slice(name);
            let message = format!("the type of `{text}` has more than {most} different parts");
            self.db.report(Diagnostic::error("type-too-large", name, message).help(
                "what uses a function twice, the second time on what the first use gave, can have a type twice as deep: \
                 annotate its parameter",
            ));
        }
        is_too_large
    }

    fn res(&self, id: ExprId) -> Option<Res> {
        self.db.module(self.module).res.get(&id).cloned()
    }

    fn why(&self, span: Span, what: &str) -> Why {
        Why { span, what: Name::new(what) }
    }

    /// The size that an expression stands for, where its value is known to be one.
    fn static_size(&mut self, id: ExprId) -> Size {
        match &self.ast.exprs[id].kind {
            ExprKind::Int(n) => Size::Known(*n),
            ExprKind::Var(_) => match self.res(id) {
                Some(Res::Local(pat)) => {
                    let known = self.db.module(self.module).local_sizes.get(&pat);
                    known.copied().unwrap_or(Size::Unknown)
                }
                Some(Res::Size(owner, name)) => {
                    self.named_sizes.get(&(owner, name)).copied().unwrap_or(Size::Unknown)
                }
                Some(Res::Def(_) | Res::Con(..) | Res::Builtin | Res::Jet | Res::Derivatives)
                | None => Size::Unknown,
            },
            _ => Size::Unknown,
        }
    }

    /// The names of the current annotations' types that local functions add are forgotten after them.
    fn scoped_names<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let before: HashSet<Name> = self.type_names.keys().cloned().collect();
        let result = f(self);
        self.type_names.retain(|n, _| before.contains(n));
        result
    }
}
