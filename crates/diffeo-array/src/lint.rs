//! The lint of Flat: a module in, its violations out (none for every module that the lowering or a pass makes).
//!
//! - Types name types of boxes that exist; arrays have a rank; boxes, constants and the entry's parameters and results
//!   are no accumulators or stacks.
//! - Functions, initialisers of constants, and sites that are named exist. Names of functions are unique.
//! - Calls that were inlined do not stand within themselves.
//! - A variable is defined once in its function, and used where it is in scope.
//! - Operands, results, blocks and functions have the types that [`crate::typing`] gives, in the numbers that are
//!   needed; accumulators and stacks are no results of branches, and a step of a loop leaves the same ones that it was
//!   given.
//!
//! What needs a proof is not checked: that accesses lie within their arrays, that what is reshaped has as many
//! elements, that there is an arm for each value.

use crate::ir::walk::{binders, operands, regions};
use crate::ir::{Atom, Block, Elem, FlatTy, Function, Module, Op, Stmt, Var};
use crate::print::{op_text, type_text};
use crate::typing::{atom_type, results};
use diffeo_base::deep;
use hashbrown::HashSet;

/// What is wrong with a module, in words.
pub fn lint(module: &Module) -> Vec<String> {
    let mut violations = Vec::new();
    declarations(module, &mut violations);
    if !violations.is_empty() {
        // Functions cannot be checked against declarations that are wrong.
        return violations;
    }
    for function in &module.functions {
        let mut checker = FlatChecker {
            module,
            function,
            defined: vec![false; function.vars.len()],
            scope: vec![false; function.vars.len()],
            violations: &mut violations,
        };
        checker.function();
    }
    violations
}

/// What is wrong with a type.
fn type_violation(module: &Module, ty: &FlatTy) -> Option<&'static str> {
    let elem = |elem: &Elem| match elem {
        Elem::Box(id) if id.0 as usize >= module.boxes.len() => {
            Some("a type of boxes that does not exist")
        }
        Elem::Real | Elem::Int | Elem::Bool | Elem::Text | Elem::Box(_) => None,
    };
    match ty {
        FlatTy::Real | FlatTy::Int | FlatTy::Bool | FlatTy::Text | FlatTy::Acc(_) => None,
        FlatTy::Array(_, 0) => Some("an array of rank 0"),
        FlatTy::Array(e, _) => elem(e),
        FlatTy::Box(id) => elem(&Elem::Box(*id)),
        FlatTy::Stack(elems) => elems.iter().find_map(elem),
    }
}

fn declarations(module: &Module, violations: &mut Vec<String>) {
    for ty in &module.boxes {
        for (variant, field) in
            ty.variants.iter().flat_map(|v| v.fields.iter().map(move |f| (v, f)))
        {
            let violation = match type_violation(module, field) {
                None if field.is_mutable() => Some("a field that is mutable"),
                other => other,
            };
            if let Some(violation) = violation {
                violations.push(format!("box {}.{}: {violation}", ty.name, variant.name));
            }
        }
    }
    let mut names = HashSet::new();
    for function in &module.functions {
        let types = function.vars.iter().map(|info| &info.ty).chain(&function.results);
        let found = types.filter_map(|ty| type_violation(module, ty));
        violations.extend(found.map(|violation| format!("fn {}: {violation}", function.name)));
        if !names.insert(&function.name) {
            violations.push(format!("fn {}: another function has this name", function.name));
        }
        if function.params.iter().any(|var| var.0 as usize >= function.vars.len()) {
            violations.push(format!("fn {}: a parameter that does not exist", function.name));
        }
    }
    for constant in &module.constants {
        let violation = match module.functions.get(constant.init.0 as usize) {
            None => Some("nothing computes it"),
            Some(init) if !init.params.is_empty() => Some("what computes it has parameters"),
            Some(init) if init.results.iter().any(FlatTy::is_mutable) => Some("it is mutable"),
            Some(_) => None,
        };
        if let Some(violation) = violation {
            violations.push(format!("constant {}: {violation}", constant.name));
        }
    }
    match module.functions.get(module.entry.0 as usize) {
        None => violations.push("the entry does not exist".to_string()),
        Some(entry) => {
            let params = entry.params.iter().filter_map(|var| entry.vars.get(var.0 as usize));
            if params.map(|info| &info.ty).chain(&entry.results).any(FlatTy::is_mutable) {
                violations.push("the entry takes or gives what is mutable".to_string());
            }
        }
    }
    sites(module, violations);
}

/// Checks that following the calls that were inlined ends.
fn sites(module: &Module, violations: &mut Vec<String>) {
    // Those of which that is known.
    let mut ends = vec![false; module.sites.len()];
    for start in 0..module.sites.len() {
        let mut path = Vec::new();
        let mut at = start;
        while !ends[at] && path.len() <= module.sites.len() {
            path.push(at);
            let Some(inlined) = &module.sites[at].inlined else { break };
            at = inlined.at.0 as usize;
            if at >= module.sites.len() {
                violations
                    .push(format!("site {start}: the call stands at a site that does not exist"));
                return;
            }
        }
        if path.len() > module.sites.len() {
            violations.push(format!("site {start}: the call stands within itself"));
            return;
        }
        path.into_iter().for_each(|at| ends[at] = true);
    }
}

struct FlatChecker<'m> {
    module: &'m Module,
    function: &'m Function,
    /// The variables that have been defined.
    defined: Vec<bool>,
    /// Those of them that are in scope.
    scope: Vec<bool>,
    violations: &'m mut Vec<String>,
}

impl FlatChecker<'_> {
    fn report(&mut self, message: &str, op: Option<&Op>) {
        let name = &self.function.name;
        self.violations.push(match op {
            Some(op) => {
                let text = op_text(self.module, &self.function.vars, op);
                format!("fn {name}: {message}, in {text}")
            }
            None => format!("fn {name}: {message}"),
        });
    }

    fn function(&mut self) {
        let function = self.function;
        let mut entered = Vec::new();
        function.params.iter().for_each(|var| self.define(*var, None, &mut entered));
        self.block(&function.body, None);
        let found: Vec<Option<FlatTy>> =
            function.body.results.iter().map(|atom| atom_type(&function.vars, atom)).collect();
        let expected: Vec<Option<FlatTy>> = function.results.iter().cloned().map(Some).collect();
        if found != expected {
            self.report("the results have other types than it says", None);
        }
    }

    fn define(&mut self, var: Var, op: Option<&Op>, entered: &mut Vec<Var>) {
        match self.defined.get_mut(var.0 as usize) {
            None => self.report("a variable that does not exist is defined", op),
            Some(true) => self.report("a variable is defined again", op),
            Some(defined) => {
                *defined = true;
                self.scope[var.0 as usize] = true;
                entered.push(var);
            }
        }
    }

    fn leave(&mut self, entered: Vec<Var>) {
        entered.into_iter().for_each(|var| self.scope[var.0 as usize] = false);
    }

    fn atom(&mut self, atom: &Atom, op: Option<&Op>) {
        match atom {
            Atom::Var(var) => {
                if self.scope.get(var.0 as usize) != Some(&true) {
                    self.report("a variable is not in scope", op);
                }
            }
            Atom::Unused(ty) => {
                if let Some(violation) = type_violation(self.module, ty) {
                    self.report(violation, op);
                }
                if ty.is_mutable() {
                    self.report("an unused value that is mutable", op);
                }
            }
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) => {}
        }
    }

    /// A block, and its results; `op` is what it belongs to.
    fn block(&mut self, block: &Block, op: Option<&Op>) {
        let mut entered = Vec::new();
        for stmt in &block.stmts {
            self.stmt(stmt, &mut entered);
        }
        block.results.iter().for_each(|atom| self.atom(atom, op));
        self.leave(entered);
    }

    fn stmt(&mut self, stmt: &Stmt, entered: &mut Vec<Var>) {
        let op = Some(&stmt.op);
        if stmt.site.0 as usize >= self.module.sites.len() {
            self.report("the site does not exist", op);
        }
        operands(&stmt.op, |atom| self.atom(atom, op));
        let mut inner = Vec::new();
        binders(&stmt.op, |var| self.define(var, op, &mut inner));
        let mut blocks = Vec::new();
        regions(&stmt.op, |block| blocks.push(block));
        if !blocks.is_empty() {
            deep(|| blocks.into_iter().for_each(|block| self.block(block, op)));
        }
        self.leave(inner);
        match results(self.module, &self.function.vars, &stmt.op) {
            Err(message) => self.report(&message, op),
            Ok(None) => {}
            Ok(Some(types)) => {
                let vars = &self.function.vars;
                let types: Vec<Option<FlatTy>> = types.into_iter().map(Some).collect();
                let found: Vec<Option<FlatTy>> =
                    stmt.results.iter().map(|var| atom_type(vars, &Atom::Var(*var))).collect();
                if found != types {
                    let show = |ty: &Option<FlatTy>| {
                        ty.as_ref().map_or("?".to_string(), |ty| type_text(self.module, ty))
                    };
                    let list = |types: &[Option<FlatTy>]| {
                        types.iter().map(show).collect::<Vec<String>>().join(", ")
                    };
                    let (found, types) = (list(&found), list(&types));
                    let message = format!("results of types ({found}) should be ({types})");
                    self.report(&message, op);
                }
            }
        }
        for var in &stmt.results {
            self.define(*var, op, entered);
        }
    }
}
