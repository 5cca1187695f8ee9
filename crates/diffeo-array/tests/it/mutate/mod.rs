//! Changes that make a module wrong.

use diffeo_array::ir::walk::{operands_mut, regions_mut};
use diffeo_array::ir::{Atom, Block, FlatTy, Module, Op, SiteId, Stmt, Var, VarInfo};

/// A place where something can be made wrong, by its number; counts down to it.
struct Mutator {
    left: usize,
    vars: Vec<VarInfo>,
    sites: usize,
    done: Option<String>,
}

/// Makes one thing wrong, whichever the number says; gives what. `None` if there is nothing.
pub fn mutate(module: &mut Module, number: usize) -> Option<String> {
    let mut counting = Mutator { left: usize::MAX, vars: Vec::new(), sites: 0, done: None };
    counting.module(&mut module.clone());
    let count = usize::MAX - counting.left;
    let left = number.checked_rem(count)?;
    let mut mutator = Mutator { left, vars: Vec::new(), sites: module.sites.len(), done: None };
    mutator.module(module);
    mutator.done
}

impl Mutator {
    /// Whether this is the place.
    fn here(&mut self) -> bool {
        let here = self.left == 0 && self.done.is_none();
        self.left = self.left.wrapping_sub(1);
        here
    }

    fn module(&mut self, module: &mut Module) {
        for function in &mut module.functions {
            self.vars = function.vars.clone();
            if self.here() {
                function.results.push(FlatTy::Real);
                self.done = Some("a result more than the function says".into());
            }
            self.block(&mut function.body);
            function.vars = std::mem::take(&mut self.vars);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut removed = None;
        for i in 0..block.stmts.len() {
            self.stmt(&mut block.stmts[i]);
            // A statement whose results are used is missing.
            let used = block.stmts[i].results.iter().any(|var| uses(block, *var));
            if used && self.here() {
                removed = Some(i);
                self.done = Some(format!("{:?} is missing", block.stmts[i]));
            }
        }
        if let Some(i) = removed {
            block.stmts.remove(i);
        }
        for atom in &mut block.results {
            self.atom(atom);
        }
        if !block.results.is_empty() && self.here() {
            block.results.pop();
            self.done = Some("a block has a result less".into());
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        if self.here() {
            stmt.site = SiteId(self.sites as u32);
            self.done = Some("a site that does not exist".into());
        }
        if self.here() {
            let ty = self.vars.first().map_or(FlatTy::Int, |info| info.ty.clone());
            self.vars.push(VarInfo { ty, name: None });
            stmt.results.push(Var(self.vars.len() as u32 - 1));
            // What stops the program has results of any types.
            let any = matches!(stmt.op, Op::Stop(_));
            self.done = Some("a result more than the operation has".into());
            if any {
                stmt.site = SiteId(self.sites as u32);
            }
        }
        for i in 0..stmt.results.len() {
            if i > 0 && self.here() {
                stmt.results[i] = stmt.results[0];
                self.done = Some("a variable is defined twice".into());
            }
        }
        operands_mut(&mut stmt.op, |atom| self.atom(atom));
        regions_mut(&mut stmt.op, |block| self.block(block));
    }

    fn atom(&mut self, atom: &mut Atom) {
        if self.here() {
            let was = atom.clone();
            *atom = match &was {
                Atom::Var(_) => {
                    let var = Var(self.vars.len() as u32);
                    let ty = self.vars.first().map_or(FlatTy::Int, |info| info.ty.clone());
                    self.vars.push(VarInfo { ty, name: None });
                    Atom::Var(var)
                }
                Atom::Real(_) => Atom::Int(0),
                Atom::Int(_) => Atom::Bool(true),
                Atom::Bool(_) => Atom::Real(0.0),
                Atom::Unused(_) => Atom::Unused(FlatTy::Acc(0)),
            };
            self.done = Some(format!("{was:?} became {atom:?}"));
        }
    }
}

/// Whether a block uses a variable.
fn uses(block: &Block, var: Var) -> bool {
    // The text of a use of a variable is unlike that of anything else.
    format!("{block:?}").contains(&format!("Var({var:?})"))
}
