//! The tables of a session: modules, definitions, variant types, and what the phases found out about
//! each node of the syntax trees.

use crate::types::{DataIdx, Scheme, Size, SizeVar, Store, Ty};
use diffeo_base::{closest, Diagnostic, FileId, Name, SourceMap, Span, MOST_SHOWN};
use diffeo_calculus::ty::WellKnown;
use diffeo_syntax::ast::{self, ExprId, Module, PatId, TypeId};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;

/// The index of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ModuleId(pub u32);

/// The index of a top-level definition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DefId(pub u32);

/// What a name in an expression means.
#[derive(Clone, PartialEq, Debug)]
pub enum Res {
    /// The variable that this pattern binds.
    Local(PatId),
    /// A size that an annotation names, as an Int; the pattern whose value determines it.
    Size(PatId, Name),
    /// A top-level definition.
    Def(DefId),
    /// A constructor.
    Con(DataIdx, u32),
    /// `builtin`, in the standard library.
    Builtin,
    /// `jet`, whose type depends on its literals.
    Jet,
    /// `derivatives`, likewise.
    Derivatives,
}

/// What a name in the brackets of an array type means.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeRes {
    /// An Int variable.
    Local(PatId),
    /// A name bound by the annotation of this pattern.
    Name(PatId, Name),
    /// A name that stands only where it has no value (in a result or a function type).
    Free(PatId, Name),
}

/// What an unqualified type name means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TypeRef {
    /// A variant type.
    Data(DataIdx),
    /// An alias, by index.
    Alias(u32),
}

/// The names of a module's top level.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Definitions and imported values.
    pub values: HashMap<Name, (DefId, Span)>,
    /// Types.
    pub types: HashMap<Name, (TypeRef, Span)>,
    /// Constructors.
    pub constructors: HashMap<Name, (DataIdx, u32, Span)>,
    /// Imported modules.
    pub modules: HashMap<Name, ModuleId>,
}

/// A module.
#[derive(Clone, Debug)]
pub struct ModuleData {
    /// The name under which it is imported.
    pub name: Name,
    /// Its file.
    pub file: FileId,
    /// Where it was read from.
    pub path: Option<PathBuf>,
    /// Whether it belongs to the standard library.
    pub std: bool,
    /// Its tree.
    pub ast: Rc<Module>,
    /// Its top-level names.
    pub scope: Scope,
    /// Its definitions in source order.
    pub defs: Vec<DefId>,
    /// What the names in expressions mean.
    pub res: HashMap<ExprId, Res>,
    /// What the constructors in patterns mean.
    pub con_pats: HashMap<PatId, (DataIdx, u32)>,
    /// What the sizes in array types mean.
    pub size_res: HashMap<TypeId, SizeRes>,
    /// The types of expressions.
    pub expr_ty: Vec<Ty>,
    /// The types of patterns.
    pub pat_ty: Vec<Ty>,
    /// The type arguments at uses of polymorphic names.
    pub instances: HashMap<ExprId, Vec<Ty>>,
    /// The quantified variables of polymorphic local names.
    pub local_schemes: HashMap<PatId, Rc<Scheme>>,
    /// The types that annotations of patterns give.
    pub annotations: HashMap<TypeId, Ty>,
    /// Sizes that are the values of Int variables.
    pub local_sizes: HashMap<PatId, Size>,
    /// What the size variables of annotations are at run time.
    pub size_values: HashMap<SizeVar, SizeRes>,
}

/// A top-level definition.
#[derive(Clone, Debug)]
pub struct DefInfo {
    /// Its module.
    pub module: ModuleId,
    /// Its position among the module's items.
    pub item: usize,
    /// Its name.
    pub name: Name,
    /// Where the name stands.
    pub span: Span,
    /// The definitions it mentions, in order of mention, once its names are resolved.
    pub uses: Option<Vec<DefId>>,
    /// Its type, once inferred.
    pub scheme: Option<Rc<Scheme>>,
}

/// A variant type.
#[derive(Clone, Debug)]
pub struct DataInfo {
    /// Its module.
    pub module: ModuleId,
    /// Its name.
    pub name: Name,
    /// Which type of the library it is, where that matters.
    pub known: Option<WellKnown>,
    /// Its parameters.
    pub params: Vec<Name>,
    /// Its constructors.
    pub constructors: Vec<ConstructorInfo>,
}

/// A constructor.
#[derive(Clone, Debug)]
pub struct ConstructorInfo {
    /// Its name.
    pub name: Name,
    /// Its field types, over parameters.
    pub fields: Vec<Ty>,
}

/// A type alias.
#[derive(Clone, Debug)]
pub struct AliasInfo {
    /// Its module.
    pub module: ModuleId,
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Name>,
    /// The right-hand side, in the module's tree.
    pub body: TypeId,
    /// The type, once known.
    pub ty: Option<Ty>,
    /// Whether it is being expanded, for cycles.
    pub expanding: bool,
}

/// The tables.
#[derive(Clone, Debug, Default)]
pub struct Db {
    /// The source files.
    pub sources: SourceMap,
    /// The modules, which copies of a session share.
    pub modules: Vec<Rc<ModuleData>>,
    /// The definitions.
    pub defs: Vec<DefInfo>,
    /// The variant types.
    pub datas: Vec<DataInfo>,
    /// The aliases.
    pub aliases: Vec<AliasInfo>,
    /// The type variables.
    pub store: Store,
    /// The messages so far.
    pub diagnostics: Vec<Diagnostic>,
    /// The prelude, once loaded.
    pub prelude: Option<ModuleId>,
    /// Where programs name `with_derivative` and `with_exact_derivative` with rules that may not be linear.
    pub unseen_rules: HashSet<Span>,
    /// The module that looks at them while programs run, once loaded.
    pub rule_checks: Option<ModuleId>,
    /// The prelude's `List`.
    pub list: Option<DataIdx>,
}

impl Db {
    /// A module.
    pub fn module(&self, id: ModuleId) -> &ModuleData {
        &self.modules[id.0 as usize]
    }

    /// A module, to change.
    pub fn module_mut(&mut self, id: ModuleId) -> &mut ModuleData {
        Rc::make_mut(&mut self.modules[id.0 as usize])
    }

    /// A definition.
    pub fn def(&self, id: DefId) -> &DefInfo {
        &self.defs[id.0 as usize]
    }

    /// Whether a definition has no parameter.
    pub fn is_constant(&self, id: DefId) -> bool {
        let def = self.def(id);
        def_item(&self.module(def.module).ast, def.item).param.is_none()
    }

    /// The place of the body of a definition.
    pub fn def_span(&self, id: DefId) -> Span {
        let def = self.def(id);
        let ast = &self.module(def.module).ast;
        ast.exprs[def_item(ast, def.item).body].span
    }

    /// A variant type.
    pub fn data(&self, d: DataIdx) -> &DataInfo {
        &self.datas[d.0 as usize]
    }

    /// What to say where a module lacks something, if it stands before one of the standard library.
    pub fn hidden_library(&self, module: ModuleId) -> Option<String> {
        let module = self.module(module);
        let hides = !module.std && crate::library::source(&module.name).is_some();
        hides.then(|| {
            let file = self.sources.name(module.file);
            format!(
                "this is the module of the file {file}, which hides that of the standard library"
            )
        })
    }

    /// Whether the next error is shown. Help for others is not worth its time: with many errors, each of which looks
    /// through a line or all names, that time would grow with the square of the program.
    pub fn shows_more(&self) -> bool {
        self.diagnostics.iter().filter(|d| d.is_error()).take(MOST_SHOWN).count() < MOST_SHOWN
    }

    /// The name that may have been meant, if the error that tells is shown.
    pub fn closest<'a>(&self, name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
        if !self.shows_more() {
            return None;
        }
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        closest(name, names).map(str::to_string)
    }

    /// The definitions of the prelude that take rules of derivatives.
    pub fn rule_takers(&self) -> Vec<DefId> {
        let Some(prelude) = self.prelude else { return Vec::new() };
        let scope = &self.module(prelude).scope.values;
        let named = ["with_derivative", "with_exact_derivative"].map(|name| scope.get(name));
        named.into_iter().flatten().map(|(id, _)| *id).collect()
    }

    /// Adds a message.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

/// The definition that is an item.
pub fn def_item(ast: &Module, item: usize) -> &ast::Def {
    match &ast.items[item] {
        ast::Item::Def(def) => def,
        ast::Item::Import(_) | ast::Item::Type(_) => unreachable!("the item of a definition"),
    }
}
