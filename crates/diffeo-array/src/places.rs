//! The places of warnings: what the standard library warns of stands at the user's call that led there, as errors do.
//!
//! What comes in: a module whose [`Op::Warn`]s have the place -1. What goes out: the same with the number of a site. It is
//! known where the statement, or a call that was inlined around it, is in a function of the user; elsewhere it is a
//! parameter of the library's function, which its callers give: no code is asked for its open calls.

use crate::ir::walk::{regions_mut, statements};
use crate::ir::{
    Atom, Block, FlatTy, Function, FunctionId, Module, Op, Site, SiteId, Var, VarInfo,
};
use diffeo_base::deep;
use diffeo_base::Span;
use diffeo_calculus::eval::error::WarningKind;
use diffeo_calculus::eval::RuntimeWarning;
use std::collections::HashSet;

/// What a program warned of by [`Op::Warn`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Code, message and help.
    pub texts: [String; 3],
    /// The number of the place.
    pub place: i64,
}

impl Told {
    /// Whether it is of the same kind and place.
    pub fn repeats(&self, other: &Told) -> bool {
        (&self.texts[0], self.place) == (&other.texts[0], other.place)
    }

    /// The warning.
    pub fn warning(&self, sites: &[Site]) -> RuntimeWarning {
        let site = usize::try_from(self.place).ok().and_then(|place| sites.get(place));
        let span = site.map_or(Span::NONE, |site| site.span);
        let [code, message, help] = &self.texts;
        RuntimeWarning { kind: WarningKind::told(code, message, help), span, function: None }
    }
}

/// What a run has warned of so far.
#[derive(Default)]
pub struct ToldOnce(HashSet<(String, i64)>);

impl ToldOnce {
    /// Whether it is the first of its kind at its place.
    pub fn is_new(&mut self, told: &Told) -> bool {
        self.0.insert((told.texts[0].clone(), told.place))
    }

    /// Another run begins.
    pub fn begin(&mut self) {
        self.0.clear();
    }
}

/// Gives all warnings their places.
pub fn place_warnings(mut module: Module) -> Module {
    let asks = asking(&module);
    for i in 0..module.functions.len() {
        let function = &mut module.functions[i];
        let mut body = std::mem::take(&mut function.body);
        let parameter = asks[i].then(|| {
            let var = Var(function.vars.len() as u32);
            function.vars.push(VarInfo { ty: FlatTy::Int, name: None });
            function.params.push(var);
            Atom::Var(var)
        });
        let function = &module.functions[i];
        let place = |site: SiteId| match (users(&module, function, site), &parameter) {
            (Some(site), _) => Atom::Int(i64::from(site.0)),
            (None, Some(parameter)) => parameter.clone(),
            (None, None) => Atom::Int(i64::from(outermost(&module, site).0)),
        };
        placed(&mut body, &asks, &place);
        module.functions[i].body = body;
    }
    module
}

/// By function, whether it warns at a place that only its callers know.
fn asking(module: &Module) -> Vec<bool> {
    let mut callers: Vec<Vec<FunctionId>> = vec![Vec::new(); module.functions.len()];
    let mut asks = vec![false; module.functions.len()];
    let mut pending = Vec::new();
    for (id, function) in (0..).map(FunctionId).zip(&module.functions) {
        statements(&function.body, &mut |stmt| match &stmt.op {
            Op::Warn(..) if users(module, function, stmt.site).is_none() => pending.push(id),
            Op::Call(callee, _) if users(module, function, stmt.site).is_none() => {
                callers[callee.0 as usize].push(id);
            }
            _ => {}
        });
    }
    let fixed = |id: FunctionId| {
        id == module.entry || module.constants.iter().any(|constant| constant.init == id)
    };
    while let Some(id) = pending.pop() {
        if !fixed(id) && !std::mem::replace(&mut asks[id.0 as usize], true) {
            pending.extend(callers[id.0 as usize].iter().copied());
        }
    }
    asks
}

/// The innermost place that a user has written, among that of a statement and of the calls that were inlined around it.
fn users(module: &Module, function: &Function, site: SiteId) -> Option<SiteId> {
    let mut id = site;
    while let Some(inlined) = &module.sites.get(id.0 as usize)?.inlined {
        if !inlined.library && !inlined.function.is_empty() {
            return Some(id);
        }
        id = inlined.at;
    }
    (!function.library && !function.shown.is_empty()).then_some(id)
}

/// The place of the outermost call that was inlined around a statement.
fn outermost(module: &Module, mut site: SiteId) -> SiteId {
    let inlined = |id: SiteId| module.sites.get(id.0 as usize)?.inlined.as_ref();
    while let Some(inlined) = inlined(site) {
        site = inlined.at;
    }
    site
}

/// Writes the places into warnings, and into calls of functions that ask for one.
fn placed(block: &mut Block, asks: &[bool], place: &dyn Fn(SiteId) -> Atom) {
    for stmt in &mut block.stmts {
        match &mut stmt.op {
            Op::Warn(.., at) => *at = place(stmt.site),
            Op::Call(callee, args) if asks[callee.0 as usize] => args.push(place(stmt.site)),
            op => regions_mut(op, |region| deep(|| placed(region, asks, place))),
        }
    }
}
