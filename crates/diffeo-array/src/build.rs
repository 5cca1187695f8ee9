//! Making functions statement by statement.
//!
//! What comes in: operations, at the current place. What goes out: variables for their results, of the types
//! that [`crate::typing`] gives; at the end the [`Function`]. Blocks within statements are opened and closed
//! around what belongs to them.
//!
//! ```
//! use diffeo_array::build::Builder;
//! use diffeo_array::ir::{Atom, Module, Op, Reduction, SiteId, FlatTy, Elem};
//! use diffeo_calculus::prim::RealOp;
//!
//! let module = Module::default();
//! let mut b = Builder::new(SiteId(0));
//! let xs = b.param(FlatTy::Array(Elem::Real, 1), Some("xs".into()));
//! let n = b.one(&module, Op::Dim(xs.clone(), 0));
//! let index = b.var(FlatTy::Int, Some("i".into()));
//! b.open();
//! let x = b.one(&module, Op::Get(xs, vec![Atom::Var(index)]));
//! let square = b.one(&module, Op::Real(RealOp::Mul, vec![x.clone(), x]));
//! let body = b.close(vec![square]);
//! let sum = b.one(&module, Op::Reduce { how: vec![Reduction::Add], count: n, index, body });
//! let function = b.finish("squares", vec![sum]).unwrap();
//! assert_eq!(function.results, [FlatTy::Real]);
//! ```

use crate::ir::walk::Copier;
use crate::ir::{Atom, Block, FlatTy, Function, Module, Op, SiteId, Stmt, Stop, Var, VarInfo};
use crate::typing::{atom_type, results};
use diffeo_base::{Name, Span};
use hashbrown::HashMap;

/// A function in the making.
#[derive(Clone, Debug)]
pub struct Builder {
    vars: Vec<VarInfo>,
    params: Vec<Var>,
    /// The open blocks, innermost last.
    blocks: Vec<Vec<Stmt>>,
    site: SiteId,
    /// The first operation whose operands were wrong.
    error: Option<String>,
}

impl Builder {
    /// Adds nothing: a copy of a statement of another function, whose variables are these, with new variables; what
    /// stands for variables of outside is given.
    pub(crate) fn copy(
        &mut self,
        stmt: &Stmt,
        source: &[VarInfo],
        map: HashMap<Var, Atom>,
    ) -> Stmt {
        Copier { source: Some(source), vars: &mut self.vars, map, site: |site| site }.stmt(stmt)
    }

    /// A function without statements; the first ones stand at this place.
    pub fn new(site: SiteId) -> Builder {
        Builder {
            vars: Vec::new(),
            params: Vec::new(),
            blocks: vec![Vec::new()],
            site,
            error: None,
        }
    }

    /// The body of a function that was declared: with its variables and parameters.
    pub fn resume(declared: &Function, site: SiteId) -> Builder {
        Builder {
            vars: declared.vars.clone(),
            params: declared.params.clone(),
            ..Builder::new(site)
        }
    }

    /// A new parameter.
    pub fn param(&mut self, ty: FlatTy, name: Option<Name>) -> Atom {
        let var = self.var(ty, name);
        self.params.push(var);
        Atom::Var(var)
    }

    /// A new variable: an index or a carried variable.
    pub fn var(&mut self, ty: FlatTy, name: Option<Name>) -> Var {
        self.vars.push(VarInfo { ty, name });
        Var(self.vars.len() as u32 - 1)
    }

    /// Sets the place of the statements that follow; gives the one before.
    pub fn set_site(&mut self, site: SiteId) -> SiteId {
        std::mem::replace(&mut self.site, site)
    }

    /// The place of the statements that follow.
    pub fn site(&self) -> SiteId {
        self.site
    }

    /// The type of an operand.
    pub fn ty(&self, atom: &Atom) -> FlatTy {
        // Only after an error is there a variable that the function does not have.
        atom_type(&self.vars, atom).unwrap_or(FlatTy::Int)
    }

    /// The operation that a variable is the result of, if it stands in the open block.
    pub fn made(&self, atom: &Atom) -> Option<&Op> {
        let Atom::Var(var) = atom else { return None };
        let stmts = self.blocks.last()?.iter().rev();
        stmts.into_iter().find(|stmt| stmt.results.contains(var)).map(|stmt| &stmt.op)
    }

    /// The name of a variable, if it has one.
    pub fn name_of(&self, var: Var) -> Option<&Name> {
        self.vars.get(var.0 as usize)?.name.as_ref()
    }

    /// Gives a variable a name, if it has none.
    pub fn name(&mut self, atom: &Atom, name: &Name) {
        if let Atom::Var(var) = atom {
            if let Some(info) = self.vars.get_mut(var.0 as usize) {
                info.name.get_or_insert_with(|| name.clone());
            }
        }
    }

    /// Adds a statement and gives its results, new variables. None if the operands are wrong, which
    /// [`Builder::finish`] reports.
    pub fn emit(&mut self, module: &Module, op: Op) -> Vec<Atom> {
        match results(module, &self.vars, &op) {
            Ok(types) => self.push(op, types.unwrap_or_default()),
            Err(error) => {
                let error =
                    || format!("{error}, in {}", crate::print::op_text(module, &self.vars, &op));
                self.error.get_or_insert_with(error);
                Vec::new()
            }
        }
    }

    /// As [`Builder::emit`], of an operation with one result.
    pub fn one(&mut self, module: &Module, op: Op) -> Atom {
        self.emit(module, op).pop().unwrap_or(Atom::Unused(FlatTy::Int))
    }

    /// Adds a [`Op::Stop`] with results of these types.
    pub fn stop(&mut self, stop: Stop, types: Vec<FlatTy>) -> Vec<Atom> {
        self.push(Op::Stop(stop), types)
    }

    fn push(&mut self, op: Op, types: Vec<FlatTy>) -> Vec<Atom> {
        let results: Vec<Var> = types.into_iter().map(|ty| self.var(ty, None)).collect();
        let atoms = results.iter().map(|var| Atom::Var(*var)).collect();
        let site = self.site;
        self.push_stmt(Stmt { results, op, site });
        atoms
    }

    /// Adds a statement as it is, whose results are variables of this function.
    pub fn push_stmt(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    /// Begins a block: what is added until [`Builder::close`] belongs to it.
    pub fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Ends the innermost block, with these results.
    pub fn close(&mut self, results: Vec<Atom>) -> Block {
        if self.blocks.len() < 2 {
            self.error.get_or_insert_with(|| "a block is closed that was not opened".to_string());
            return Block { stmts: Vec::new(), results };
        }
        Block { stmts: self.blocks.pop().unwrap_or_default(), results }
    }

    /// Opens a block that was closed, to add to it; its results are those given when it is closed again.
    pub fn reopen(&mut self, block: Block) {
        self.blocks.push(block.stmts);
    }

    /// The block of what `fill` adds, which gives its results.
    pub fn block(&mut self, fill: impl FnOnce(&mut Builder) -> Vec<Atom>) -> Block {
        self.open();
        let results = fill(self);
        self.close(results)
    }

    /// The function of this name with these results. It is shown by its name, belongs to no library and
    /// stands nowhere; the caller knows better.
    ///
    /// # Errors
    /// The first operation that had wrong operands; a block that was not closed.
    pub fn finish(mut self, name: impl Into<Name>, results: Vec<Atom>) -> Result<Function, String> {
        let name = name.into();
        let types: Option<Vec<FlatTy>> = results.iter().map(|r| atom_type(&self.vars, r)).collect();
        let stmts = self.blocks.pop().unwrap_or_default();
        match (self.error, types) {
            (Some(error), _) => Err(format!("in {name}: {error}")),
            (None, None) => Err(format!("in {name}: there is no such variable")),
            (None, Some(_)) if !self.blocks.is_empty() => {
                Err(format!("in {name}: a block is not closed"))
            }
            (None, Some(types)) => Ok(Function {
                shown: name.clone(),
                name,
                library: false,
                span: Span::NONE,
                vars: self.vars,
                params: self.params,
                results: types,
                body: Block { stmts, results },
            }),
        }
    }
}
