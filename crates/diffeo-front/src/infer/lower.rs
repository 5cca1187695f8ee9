//! Type expressions to types.

use super::Infer;
use crate::db::{Db, ModuleId, SizeRes, TypeRef};
use crate::library;
use crate::types::{
    instantiate, DataIdx, FieldOrder, Made, Shared, Size, Store, Ty, TypeClass, Walk,
};
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{deep, field_name, Diagnostic, Help, Name, Span};
use diffeo_syntax::ast::{Module, Path, SizeExpr, TypeId, TypeKind};

/// What the variables and sizes of a type expression mean.
trait Meaning {
    fn db(&mut self) -> &mut Db;
    fn variable(&mut self, name: &Name, span: Span) -> Ty;
    fn size(&mut self, ty: TypeId, name: &Name, span: Span) -> Size;
}

/// The tree of a type expression, and the types that were made for it: what is written twice is there once.
struct Lowering<'a> {
    module: ModuleId,
    ast: &'a Module,
    shared: Shared,
}

fn lower(cx: &mut dyn Meaning, module: ModuleId, ast: &Module, id: TypeId) -> Ty {
    lowered(cx, &mut Lowering { module, ast, shared: Shared::default() }, id)
}

fn lowered(cx: &mut dyn Meaning, of: &mut Lowering<'_>, id: TypeId) -> Ty {
    let ty = deep(|| {
        let node = &of.ast.types[id];
        match &node.kind {
            TypeKind::Error => Ty::Error,
            TypeKind::Unit => Ty::Unit,
            TypeKind::Var(name) => cx.variable(name, node.span),
            TypeKind::Tuple(ts) => Ty::Tuple(ts.iter().map(|t| lowered(cx, of, *t)).collect()),
            TypeKind::Record(fields) => {
                let mut out: Vec<(Name, Ty)> = Vec::new();
                for (field, t) in fields {
                    if out.iter().any(|(n, _)| *n == field.name) {
                        cx.db().report(duplicate_field(field.span, &field.name));
                        continue;
                    }
                    let t = lowered(cx, of, *t);
                    out.push((field.name.clone(), t));
                }
                Ty::record(out, FieldOrder::Type)
            }
            TypeKind::Array(size, element) => {
                let size = match size {
                    SizeExpr::Named(n) => cx.size(id, &n.name, n.span),
                    SizeExpr::Literal(n, _) => Size::Known(*n),
                    SizeExpr::Unknown => Size::Unknown,
                };
                Ty::array(size, lowered(cx, of, *element))
            }
            TypeKind::Fun(from, to) => {
                let from = lowered(cx, of, *from);
                Ty::fun(from, lowered(cx, of, *to))
            }
            TypeKind::Named { path, args } => {
                let args: Vec<Ty> = args.iter().map(|t| lowered(cx, of, *t)).collect();
                named(cx, of, path, args, node.span)
            }
        }
    });
    of.shared.one(ty)
}

/// The message for a field given twice.
pub fn duplicate_field(span: Span, name: &str) -> Diagnostic {
    let name = field_name(name);
    Diagnostic::error("duplicate-field", span, format!("the field `{name}` is given twice"))
}

fn named(
    cx: &mut dyn Meaning,
    of: &mut Lowering<'_>,
    path: &Path,
    args: Vec<Ty>,
    span: Span,
) -> Ty {
    let module = of.module;
    let name = &path.name.name;
    let builtin = match name.as_str() {
        "Real" => Some(Ty::Real),
        "Int" => Some(Ty::Int),
        "Bool" => Some(Ty::Bool),
        "String" => Some(Ty::String),
        _ => None,
    };
    if let (Some(ty), None) = (builtin, &path.module) {
        if !args.is_empty() {
            cx.db().report(arity(span, name, 0, args.len()));
        }
        return ty;
    }
    let db = cx.db();
    let found = match &path.module {
        Some(m) => match db.module(module).scope.modules.get(&m.name) {
            Some(id) => db.module(*id).scope.types.get(name),
            None => {
                db.report(
                    Diagnostic::error(
                        "unknown-module",
                        m.span,
                        format!("there is no module `{}` here", m.name),
                    )
                    .help(format!("add `import {}`", m.name)),
                );
                return Ty::Error;
            }
        },
        None => db
            .module(module)
            .scope
            .types
            .get(name)
            .or_else(|| db.module(db.prelude?).scope.types.get(name)),
    };
    match found.copied_ref() {
        Some(TypeRef::Data(d)) => {
            let wanted = db.data(d).params.len();
            if wanted != args.len() {
                db.report(arity(span, name, wanted, args.len()));
                return Ty::Error;
            }
            Ty::Data(d, args.into())
        }
        Some(TypeRef::Alias(a)) => {
            let wanted = db.aliases[a as usize].params.len();
            if wanted != args.len() {
                db.report(arity(span, name, wanted, args.len()));
                return Ty::Error;
            }
            let ty = alias(db, a, span);
            instantiate(&ty, &args, &mut Made::default(), &mut |ty| of.shared.one(ty))
        }
        None => {
            let scopes = [Some(module), db.prelude].into_iter().flatten();
            let types = scopes.flat_map(|id| db.module(id).scope.types.keys().map(Name::as_str));
            let names = ["Real", "Int", "Bool", "String"].into_iter().chain(types);
            let help = replacement(Role::Type, name)
                .map(Help::from)
                .or_else(|| library::import_of(name))
                .or_else(|| db.closest(name, names).map(Help::did_you_mean));
            let mut d =
                Diagnostic::error("unknown-type", span, format!("there is no type `{name}` here"));
            d.help = help;
            db.report(d);
            Ty::Error
        }
    }
}

trait CopiedRef {
    fn copied_ref(self) -> Option<TypeRef>;
}

impl CopiedRef for Option<&(TypeRef, Span)> {
    fn copied_ref(self) -> Option<TypeRef> {
        self.map(|(t, _)| *t)
    }
}

fn arity(span: Span, name: &str, wanted: usize, found: usize) -> Diagnostic {
    let wanted_words = match wanted {
        0 => "no type arguments".to_string(),
        1 => "one type argument".to_string(),
        n => format!("{n} type arguments"),
    };
    let d = Diagnostic::error(
        "type-arity",
        span,
        format!("the type `{name}` takes {wanted_words}, but {found} are given"),
    );
    match wanted {
        0 => d,
        1 => d.help(format!("write `{name}[Real]`, for instance")),
        _ => d.help(format!("write `{name}[A, B]` with one type for each")),
    }
}

/// The type an alias stands for, over its parameters.
pub fn alias(db: &mut Db, index: u32, use_site: Span) -> Ty {
    let info = &mut db.aliases[index as usize];
    if let Some(ty) = &info.ty {
        return ty.clone();
    }
    if info.expanding {
        let name = info.name.clone();
        db.report(
            Diagnostic::error(
                "cyclic-alias",
                use_site,
                format!("the type `{name}` is an alias of itself"),
            )
            .help("a type that contains itself needs a constructor: `type T = Leaf | Node(T, T)`"),
        );
        return Ty::Error;
    }
    info.expanding = true;
    let (module, body) = (info.module, info.body);
    let params = info.params.clone();
    let mut ty = declared(db, module, body, &params);
    let most = most_parts(db, module);
    if db.store.extent(&ty, most) >= most {
        let info = &db.aliases[index as usize];
        let span = db.module(module).ast.types[body].span;
        db.report(
            Diagnostic::error(
                "type-too-large",
                span,
                format!("the type `{}` has more than {most} different parts", info.name),
            )
            .help("an alias of an alias of itself, `T[T[a]]`, is twice as deep: name fewer"),
        );
        ty = Ty::Error;
    }
    let info = &mut db.aliases[index as usize];
    info.expanding = false;
    info.ty = Some(ty.clone());
    ty
}

/// How many different parts a type of a module may have: as many as people write, or as the module has words. Beyond that
/// they grow by themselves, twofold with each line.
pub fn most_parts(db: &Db, module: ModuleId) -> usize {
    const MOST: usize = 1 << 14;
    let ast = &db.module(module).ast;
    MOST.max(ast.exprs.len() + ast.types.len())
}

/// A type within a type declaration with these parameters.
pub fn declared(db: &mut Db, module: ModuleId, ty: TypeId, params: &[Name]) -> Ty {
    struct Declaration<'a> {
        db: &'a mut Db,
        params: &'a [Name],
    }
    impl Meaning for Declaration<'_> {
        fn db(&mut self) -> &mut Db {
            self.db
        }
        fn variable(&mut self, name: &Name, span: Span) -> Ty {
            match self.params.iter().position(|p| p == name) {
                Some(i) => Ty::Param(i as u32),
                None => {
                    self.db.report(
                        Diagnostic::error(
                            "unknown-type-variable",
                            span,
                            format!("the type variable `{name}` is not a parameter of this type"),
                        )
                        .help(format!("add it: `type Name[{name}] = …`")),
                    );
                    Ty::Error
                }
            }
        }
        fn size(&mut self, _: TypeId, name: &Name, span: Span) -> Size {
            self.db.report(
                Diagnostic::error(
                    "size-in-type-declaration",
                    span,
                    format!("the size `{name}` cannot be named in a type declaration"),
                )
                .help("write `[]T` for any size, or a number"),
            );
            Size::Unknown
        }
    }
    let ast = db.module(module).ast.clone();
    lower(&mut Declaration { db, params }, module, &ast, ty)
}

impl Infer<'_> {
    /// The type that an annotation in the current definition gives.
    pub(super) fn annotation(&mut self, id: TypeId) -> Ty {
        if let Some(ty) = self.db.module(self.module).annotations.get(&id) {
            return ty.clone();
        }
        let (module, ast) = (self.module, self.ast.clone());
        let ty = lower(self, module, &ast, id);
        self.db.module_mut(module).annotations.insert(id, ty.clone());
        ty
    }
}

impl Meaning for Infer<'_> {
    fn db(&mut self) -> &mut Db {
        self.db
    }

    fn variable(&mut self, name: &Name, span: Span) -> Ty {
        if let Some(ty) = self.type_names.get(name) {
            return ty.clone();
        }
        if let Some(help) = replacement(Role::Type, name) {
            self.db.report(
                Diagnostic::warning(
                    "type-variable",
                    span,
                    format!("`{name}` is a type variable here: it stands for any type"),
                )
                .help(help),
            );
        }
        let std = self.db.module(self.module).std;
        let var = if self.in_signature {
            self.db.store.rigid(name.clone())
        } else {
            self.db.store.named(name.clone())
        };
        if std {
            // The overloaded functions of the standard library say so by the names of their type
            // variables: `num`, `vec`, `ord`.
            let class = match name.as_str() {
                "num" => Some(TypeClass::Num),
                "vec" => Some(TypeClass::Add),
                "ord" => Some(TypeClass::Ord),
                _ => None,
            };
            if let Some(class) = class {
                self.db.store.set_class(var, class);
            }
        }
        let ty = Ty::Var(var);
        self.type_names.insert(name.clone(), ty.clone());
        ty
    }

    fn size(&mut self, id: TypeId, name: &Name, span: Span) -> Size {
        let Some(res) = self.db.module(self.module).size_res.get(&id).cloned() else {
            return Size::Unknown;
        };
        match &res {
            SizeRes::Local(pat) => {
                let size = self.local_size(*pat, name, span);
                if let Size::Var(v) = size {
                    self.db.module_mut(self.module).size_values.insert(v, res);
                }
                size
            }
            SizeRes::Name(owner, name) | SizeRes::Free(owner, name) => {
                let key = (*owner, name.clone());
                if let Some(size) = self.named_sizes.get(&key) {
                    // First met where it has no value, in a function type: now it has one.
                    if let (Size::Var(v), SizeRes::Name(..)) = (*size, &res) {
                        self.db.module_mut(self.module).size_values.insert(v, res);
                    }
                    return self.named_sizes[&key];
                }
                let size = if self.in_signature {
                    self.db.store.rigid_size(name.clone(), span)
                } else {
                    self.db.store.named_size(name.clone(), span)
                };
                self.named_sizes.insert(key, size);
                if let Size::Var(v) = size {
                    self.db.module_mut(self.module).size_values.insert(v, res);
                }
                size
            }
        }
    }
}

/// Whether the declarations hold functions, directly or through one another: then their types are not
/// first-order.
pub fn mark_function_holders(db: &mut Db) {
    let holds = |store: &Store, ty: &Ty, known: &[bool]| {
        let mut walk = Walk::of(ty);
        std::iter::from_fn(|| walk.next(store)).any(|ty| match ty {
            Ty::Fun(_) => true,
            Ty::Data(DataIdx(d), _) => known[d as usize],
            _ => false,
        })
    };
    let mut known = std::mem::take(&mut db.store.data_has_function);
    known.resize(db.datas.len(), false);
    loop {
        let mut changed = false;
        for (i, data) in db.datas.iter().enumerate() {
            let mut fields = data.constructors.iter().flat_map(|c| &c.fields);
            let has = fields.any(|t| holds(&db.store, t, &known));
            if has && !known[i] {
                known[i] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    db.store.data_has_function = known;
}
