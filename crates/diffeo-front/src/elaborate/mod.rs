//! Typed trees to Core: monomorphic, patterns compiled, operators decided, sizes checked.
//!
//! In: modules that inference accepted. Out: the Core program of what one entry point reaches, one
//! definition for each instance of a polymorphic one. Records become tuples in the order of their
//! field names, comprehensions `build`, `and`/`or` conditionals, sizes of annotations explicit checks.

mod builtin;
mod expr;
mod function;
mod nest;
mod operator;
mod pattern;
mod rule;
mod types;

use crate::db::{def_item, Db, DefId, ModuleId};
use crate::types::{DataIdx, Ty as Inferred, TyVar};
use diffeo_base::{Diagnostic, Name, Span};
use diffeo_calculus::print::print_type;
use diffeo_calculus::term::{Binder, Global, GlobalId, Lit, Term, TermKind, Var};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::{Prim, Program, Ty};
use diffeo_syntax::ast::{Module, PatId};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// The term in the place of what no accepted module has. It stops the program.
fn never(what: &str, span: Span) -> Term {
    diffeo_base::never!("elaboration of {what}");
    let message = TermKind::Lit(Lit::String(format!("a bug of Diffeo: {what}").into()));
    Term::new(TermKind::Prim(Prim::Fail(Ty::Unit), vec![Term::new(message, span)]), span)
}

/// Why a program has no Core.
#[derive(Clone, Copy, Debug)]
pub(super) enum TooLarge {
    /// A type of too many nodes, written out.
    Type,
    /// Too many instances of definitions.
    Instances,
}

/// How many instances of definitions a program may have.
const MOST_INSTANCES: usize = 1 << 16;

/// How many nodes a type may have that is written in the name of an instance.
const LONG: u64 = 1 << 10;

/// How many nodes a type may have, written out, if the program has not as many itself. A value has as many parts.
const MOST_NODES: usize = 1 << 16;

/// The Core program that several definitions need, each at types for what its scheme quantifies, and
/// the definitions in it.
///
/// # Errors
/// The program is too large.
pub fn elaborate(
    db: &Db,
    wanted: &[(DefId, Vec<Inferred>)],
) -> Result<(Program, Vec<GlobalId>), Box<Diagnostic>> {
    let words = db.modules.iter().filter(|m| !m.std).map(|m| m.ast.exprs.len() + m.ast.types.len());
    let mut cx = Elaborator {
        db,
        program: Program::default(),
        globals: HashMap::new(),
        pending: VecDeque::new(),
        datas: HashMap::new(),
        next_var: 0,
        most: words.sum::<usize>().max(MOST_NODES) as u64,
        sizes: HashMap::new(),
        too_large: None,
    };
    cx.program.library = db.modules.iter().filter(|m| m.std).map(|m| m.file).collect();
    let mut ids = Vec::new();
    for (def, args) in wanted {
        let args = args.iter().map(|ty| cx.ty(ty, &HashMap::new())).collect();
        ids.push(cx.instance(*def, args));
        cx.allowed(*def)?;
    }
    while let Some((global, def, args)) = cx.pending.pop_front() {
        cx.definition(global, def, &args);
        cx.allowed(def)?;
    }
    Ok((cx.program, ids))
}

struct Elaborator<'a> {
    db: &'a Db,
    program: Program,
    globals: HashMap<(DefId, Vec<Ty>), GlobalId>,
    pending: VecDeque<(GlobalId, DefId, Vec<Ty>)>,
    datas: HashMap<DataIdx, DataId>,
    next_var: u32,
    /// How many nodes a type may have, and how many the larger ones have.
    most: u64,
    sizes: HashMap<usize, (Ty, u64)>,
    too_large: Option<TooLarge>,
}

/// A local name.
enum Local {
    /// A variable.
    Var(Binder),
    /// A polymorphic name: the instances asked for so far.
    Poly(Vec<(Vec<Ty>, Binder)>),
}

/// One definition being elaborated.
struct Body<'c, 'a> {
    cx: &'c mut Elaborator<'a>,
    module: ModuleId,
    ast: Rc<Module>,
    types: HashMap<TyVar, Ty>,
    locals: HashMap<PatId, Local>,
    /// The values of sizes named by annotations, and whether they were used.
    sizes: HashMap<(PatId, Name), (Binder, bool)>,
    hole: Option<Binder>,
}

impl Elaborator<'_> {
    /// Whether what a definition needs is not too large.
    fn allowed(&self, def: DefId) -> Result<(), Box<Diagnostic>> {
        let Some(why) = self.too_large else { return Ok(()) };
        let info = self.db.def(def);
        let (name, code) = (&info.name, "type-too-large");
        let told = match why {
            TooLarge::Type => {
                let most = self.most;
                let message = format!("a value in `{name}` has more than {most} parts by its type");
                Diagnostic::error(code, info.span, message).help(
                    "a type that holds another one twice is twice as large: use arrays or lists",
                )
            }
            TooLarge::Instances => {
                let message = format!(
                    "`{name}` and what it calls are used at more than {MOST_INSTANCES} types"
                );
                Diagnostic::error(code, info.span, message)
                    .help("each function is compiled for each type that it is used at: annotate parameters")
            }
        };
        Err(Box::new(told))
    }

    /// The instance of a definition at type arguments.
    fn instance(&mut self, def: DefId, args: Vec<Ty>) -> GlobalId {
        if self.too_large.is_some() {
            // The program is given up, and whoever looked for such a type would write it out.
            return GlobalId(0);
        }
        if let Some(id) = self.globals.get(&(def, args.clone())) {
            return *id;
        }
        if self.globals.len() >= MOST_INSTANCES {
            self.too_large.get_or_insert(TooLarge::Instances);
        }
        let info = self.db.def(def);
        let id = GlobalId(self.program.globals.len() as u32);
        let module = self.db.module(info.module);
        let mut name = if Some(info.module) == self.db.prelude || !module.std {
            info.name.to_string()
        } else {
            format!("{}.{}", module.name, info.name)
        };
        self.globals.insert((def, args.clone()), id);
        let scheme = info.scheme.clone();
        let types: HashMap<TyVar, Ty> = scheme
            .as_ref()
            .map(|s| s.vars.iter().copied().zip(args.iter().cloned()).collect())
            .unwrap_or_default();
        let ty = scheme.map_or(Ty::Unit, |s| self.ty(&s.ty, &types));
        if !args.is_empty() {
            let is_long = args.iter().any(|ty| self.size(ty) > LONG);
            let texts: Vec<String> = match is_long {
                true => vec![format!("…{}", id.0)],
                false => args.iter().map(|t| print_type(t, &self.program)).collect(),
            };
            name = format!("{name}[{}]", texts.join(", "));
        }
        self.program.globals.push(Rc::new(Global {
            name: name.into(),
            ty,
            body: Term::new(TermKind::Lit(Lit::Unit), Span::NONE),
            span: info.span,
        }));
        self.pending.push_back((id, def, args));
        id
    }

    fn definition(&mut self, global: GlobalId, def: DefId, args: &[Ty]) {
        let info = self.db.def(def);
        let module = info.module;
        let ast = self.db.module(module).ast.clone();
        let item = def_item(&ast, info.item).clone();
        let types = info
            .scheme
            .as_ref()
            .map(|s| s.vars.iter().copied().zip(args.iter().cloned()).collect())
            .unwrap_or_default();
        let mut body = Body {
            cx: self,
            module,
            ast,
            types,
            locals: HashMap::new(),
            sizes: HashMap::new(),
            hole: None,
        };
        let term = match item.param {
            Some(param) => body.function(param, item.ret, item.body, item.span),
            None => {
                let term = body.expr(item.body);
                body.checked_result(term, item.body, item.ret)
            }
        };
        Rc::make_mut(&mut self.program.globals[global.0 as usize]).body = term;
    }

    fn var(&mut self, name: &str) -> Var {
        self.next_var += 1;
        Var { name: Name::new(name), id: self.next_var }
    }

    fn binder(&mut self, name: &str, ty: Ty) -> Binder {
        Binder { var: self.var(name), ty }
    }
}

/// A variable as a term.
fn var(binder: &Binder, span: Span) -> Term {
    Term::new(TermKind::Var(binder.var.clone()), span)
}

/// Lets around a body; none where there is nothing to bind.
fn lets(bindings: Vec<(Binder, Term)>, body: Term) -> Term {
    if bindings.is_empty() {
        return body;
    }
    let span = body.span;
    match body.kind {
        TermKind::Let(inner, rest) => {
            Term::new(TermKind::Let(bindings.into_iter().chain(inner).collect(), rest), span)
        }
        kind => Term::new(TermKind::Let(bindings, Box::new(Term::new(kind, span))), span),
    }
}
