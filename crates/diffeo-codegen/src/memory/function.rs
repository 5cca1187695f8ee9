//! Translation of a function: the words that variables stand for, and what all other files use.

use super::borrows::Owners;
use super::emit::{width, ArrayParts, CodeBuilder};
use super::helpers::Helper;
use super::place::{self, Row};
use super::scan::Scan;
use super::uses::{var, Use};
use super::{symbol, word_types, words, MemoryCx};
use crate::low::{self, Operand, Stmt};
use diffeo_array::ir::{Atom, Elem, FlatTy, Function, FunctionId, SiteId, Var};
use hashbrown::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};

/// The destination of rows of an array that is being made, instead of a block of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    /// The address of the first element.
    pub data: Operand,
}

/// The translation of a function to Low.
pub(super) struct Lower<'c, 'a> {
    /// The module.
    pub cx: &'c mut MemoryCx<'a>,
    /// The function.
    pub source: &'a Function,
    id: FunctionId,
    /// The definitions and uses of variables.
    pub scan: &'c Scan<'a>,
    /// The owners of its variables.
    pub owners: &'c Owners,
    /// The value of each variable that is defined.
    values: Vec<Box<[Operand]>>,
    /// The results of statements that have a destination.
    pub placed: HashMap<Var, Destination>,
    /// Comprehensions that can be made in their place.
    rows: HashMap<Var, Row<'a>>,
    /// Variables with a reference of their own to a block that nothing else refers to.
    pub unshared: HashSet<Var>,
    /// Whether this is within steps that may be done at once.
    pub within: bool,
    /// Whether this is within a loop.
    pub in_loop: bool,
    code: CodeBuilder,
}

impl Deref for Lower<'_, '_> {
    type Target = CodeBuilder;
    fn deref(&self) -> &CodeBuilder {
        &self.code
    }
}

impl DerefMut for Lower<'_, '_> {
    fn deref_mut(&mut self) -> &mut CodeBuilder {
        &mut self.code
    }
}

impl<'c, 'a> Lower<'c, 'a> {
    /// The translation of a function, at its beginning.
    pub fn new(
        cx: &'c mut MemoryCx<'a>,
        source: &'a Function,
        id: FunctionId,
        scan: &'c Scan<'a>,
        owners: &'c Owners,
    ) -> Self {
        let values = vec![Box::default(); source.vars.len()];
        let (placed, unshared, code) = (HashMap::new(), HashSet::new(), CodeBuilder::new());
        let rows = place::rows(source, scan);
        let (within, in_loop) = (false, false);
        Lower {
            cx,
            source,
            id,
            scan,
            owners,
            values,
            placed,
            rows,
            unshared,
            within,
            in_loop,
            code,
        }
    }

    /// The function in Low.
    pub fn function(mut self, recursive: Option<SiteId>) -> low::LowFunction {
        self.fails = recursive.is_some();
        let mut params = Vec::new();
        let mut owned = Vec::new();
        for param in &self.source.params {
            params.extend(self.define_new(*param));
            if self.owners.owns(*param) {
                owned.push(*param);
            }
        }
        if let Some(left) = self.block(&self.source.body, owned, |_, _| Use::Keep) {
            self.release_all(left.pending);
            self.push(Stmt::Return(left.results));
            self.cx.unshared[self.id.0 as usize] = left.unshared;
        }
        self.cx.quiet[self.id.0 as usize] = self.effects == 0 && !self.fails;
        let results = self.source.results.iter().flat_map(word_types).collect();
        let name = symbol(&self.source.name, low::FunctionId(self.id.0));
        let mut function = self.code.finish(name, params, results);
        function.recursive = recursive;
        function
    }

    /// Has comprehensions made in their place, where arrays that are changed in place get their elements as rows.
    pub fn place_rows(&mut self, results: &[Var]) {
        for v in results {
            let Some(row) = self.rows.get(v).copied().filter(|row| self.is_unshared(row.array))
            else {
                continue;
            };
            let FlatTy::Array(elem, _) = self.atom_ty(row.array) else { continue };
            let indices = self.word_list(row.indices);
            let array = self.array(row.array);
            let address = self.place(&array, &indices, width(elem));
            let data = self.offset(address);
            self.placed.insert(*v, Destination { data });
        }
    }

    /// Whether an update finds its row in place.
    pub fn is_in_place(&self, row: &Atom, result: Var) -> bool {
        var(row).is_some_and(|v| {
            self.placed.contains_key(&v)
                && self.rows.get(&v).is_some_and(|row| row.result == result)
        })
    }

    /// The type of a variable.
    pub fn ty(&self, v: Var) -> &'a FlatTy {
        &self.source.vars[v.0 as usize].ty
    }

    /// The type of an operand.
    pub fn atom_ty(&self, atom: &Atom) -> FlatTy {
        match atom {
            Atom::Var(v) => self.ty(*v).clone(),
            Atom::Real(_) => FlatTy::Real,
            Atom::Int(_) => FlatTy::Int,
            Atom::Bool(_) => FlatTy::Bool,
            Atom::Unused(ty) => ty.clone(),
        }
    }

    /// The elements of an array, and its rank.
    pub fn array_ty(&self, atom: &Atom) -> (Elem, usize) {
        if let FlatTy::Array(elem, rank) = self.atom_ty(atom) {
            (elem, usize::from(rank))
        } else {
            (Elem::Real, 0)
        }
    }

    /// Defines a variable as these words.
    pub fn define(&mut self, v: Var, words: Vec<Operand>) {
        self.values[v.0 as usize] = words.into();
    }

    /// Defines a variable as new registers, which the caller sets.
    pub fn define_new(&mut self, v: Var) -> Vec<low::Reg> {
        let types = word_types(self.ty(v));
        let regs = self.regs(types);
        self.define(v, regs.iter().map(|reg| Operand::Reg(*reg)).collect());
        regs
    }

    /// The words of an operand.
    pub fn words(&self, atom: &Atom) -> Vec<Operand> {
        match atom {
            Atom::Var(v) => self.values[v.0 as usize].to_vec(),
            Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) => vec![self.word(atom)],
            Atom::Unused(ty) => unused(ty),
        }
    }

    /// The words of operands, one after the other.
    pub fn all_words<'b>(&self, atoms: impl IntoIterator<Item = &'b Atom>) -> Vec<Operand> {
        atoms.into_iter().flat_map(|atom| self.words(atom)).collect()
    }

    /// The operand, of a type with one word; of others, the first one: the block.
    pub fn word(&self, atom: &Atom) -> Operand {
        match atom {
            Atom::Var(v) => self.values[v.0 as usize].first().copied().unwrap_or(Operand::Null),
            Atom::Real(x) => Operand::Real(*x),
            Atom::Int(n) => Operand::Int(*n),
            Atom::Bool(b) => Operand::Bool(*b),
            Atom::Unused(ty) => unused(ty).first().copied().unwrap_or(Operand::Null),
        }
    }

    /// The single words of operands.
    pub fn word_list(&self, atoms: &[Atom]) -> Vec<Operand> {
        atoms.iter().map(|atom| self.word(atom)).collect()
    }

    /// An array or accumulator.
    pub fn array(&self, atom: &Atom) -> ArrayParts {
        ArrayParts::of(&self.words(atom))
    }

    /// Calls a function beside those of the program.
    pub fn help(&mut self, helper: Helper, args: Vec<Operand>) -> Vec<Operand> {
        let id = self.cx.helper(helper);
        self.code.call(id, args, helper.results())
    }

    /// Adds a reference to a block.
    pub fn retain(&mut self, block: Operand) {
        if is_counted(block) {
            self.effects += 1;
            self.help(Helper::Retain, vec![block]);
        }
    }

    /// Releases a reference to a block.
    pub fn release(&mut self, block: Operand) {
        if is_counted(block) {
            self.effects += 1;
            self.help(Helper::Release, vec![block]);
        }
    }
}

/// Whether an operand can be a block that is counted.
fn is_counted(block: Operand) -> bool {
    matches!(block, Operand::Reg(_))
}

/// The words of a value that nothing reads.
pub(super) fn unused(ty: &FlatTy) -> Vec<Operand> {
    let zero = |(ty, _)| match ty {
        low::LowTy::Int => Operand::Int(0),
        low::LowTy::Real => Operand::Real(0.0),
        low::LowTy::Bool => Operand::Bool(false),
        low::LowTy::Ptr => Operand::Null,
    };
    words(ty).into_iter().map(zero).collect()
}
