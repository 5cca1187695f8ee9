//! Boxes, texts, calls and constants.

use super::emit::at;
use super::function::Lower;
use super::{word_types, words};
use crate::low::{self, Compare, LowTy, Operand, Raise, Runtime, Stmt, FIELDS, LAYOUT};
use diffeo_array::ir::{Atom, BoxId, ConstantId, FlatTy, FunctionId, Scalar, Var};
use diffeo_calculus::prim::text::{self, TextType};
use diffeo_calculus::prim::TextOp;

impl Lower<'_, '_> {
    /// A new box; one without fields is always the same.
    pub fn new_box(&mut self, id: BoxId, tag: u32, fields: &[Atom]) -> Operand {
        let layout = self.cx.layout(id, tag);
        if fields.is_empty() {
            return Operand::Static(layout);
        }
        self.effects += 1;
        let block = self.fresh(Runtime::Box, vec![Operand::Int(i64::from(layout))]);
        let mut offset = FIELDS;
        for field in fields {
            let types = word_types(&self.atom_ty(field));
            for (word, ty) in self.words(field).into_iter().zip(types) {
                self.store(ty, at(block, offset), word);
                offset += 8;
            }
        }
        block
    }

    /// The tag of a box.
    pub fn tag(&mut self, object: &Atom) -> Operand {
        let block = self.word(object);
        let FlatTy::Box(id) = self.atom_ty(object) else { return Operand::Int(0) };
        let layout = self.load(LowTy::Int, at(block, LAYOUT));
        let first = self.cx.layout(id, 0);
        self.sub(layout, Operand::Int(i64::from(first)))
    }

    /// A field of a box.
    pub fn field(&mut self, results: &[Var], object: &Atom, tag: u32, index: u32) -> Vec<Operand> {
        let block = self.word(object);
        let FlatTy::Box(id) = self.atom_ty(object) else { return Vec::new() };
        let fields = &self.cx.flat.boxes[id.0 as usize].variants[tag as usize].fields;
        let before: usize = fields[..index as usize].iter().map(|ty| words(ty).len()).sum();
        let types = word_types(&fields[index as usize]);
        let offset = FIELDS + 8 * before as i64;
        let loads = types.into_iter().enumerate();
        let values: Vec<Operand> =
            loads.map(|(i, ty)| self.load(ty, at(block, offset + 8 * i as i64))).collect();
        self.own(results, &values);
        values
    }

    /// Adds a reference to what was taken out of something, if the result is not borrowed from that.
    pub fn own(&mut self, results: &[Var], values: &[Operand]) {
        let mut values = values.iter();
        for v in results {
            let block = values.as_slice().first().copied();
            if let (true, Some(block)) = (self.owners.owns(*v), block) {
                self.retain(block);
            }
            let count = words(self.ty(*v)).len();
            values.by_ref().take(count).for_each(drop);
        }
    }

    /// One text after the other.
    pub fn append_text(&mut self, a: &Atom, b: &Atom) -> Operand {
        let args = vec![self.word(a), self.word(b)];
        self.effects += 1;
        self.fresh(Runtime::AppendText, args)
    }

    /// An operation on texts.
    pub fn text_operation(&mut self, op: TextOp, args: &[Atom]) -> Operand {
        let words = args.iter().map(|arg| self.word(arg)).collect();
        match text::signature(op).1 {
            TextType::Text => {
                self.effects += 1;
                self.fresh(Runtime::Text(op), words)
            }
            TextType::Int | TextType::Real => self.runtime_one(Runtime::Text(op), words),
        }
    }

    /// A value as text.
    pub fn show(&mut self, scalar: Scalar, a: &Atom) -> Operand {
        let op = match scalar {
            Scalar::Real => Runtime::ShowReal,
            Scalar::Int => Runtime::ShowInt,
            Scalar::Bool => Runtime::ShowBool,
            Scalar::Text => Runtime::ShowText,
        };
        let args = vec![self.word(a)];
        self.effects += 1;
        self.fresh(op, args)
    }

    /// Something that is printed.
    pub fn print(&mut self, op: Runtime, args: &[&Atom]) {
        let args = self.first_words(args);
        self.effects += 1;
        self.runtime(op, args);
    }

    fn first_words(&self, atoms: &[&Atom]) -> Vec<Operand> {
        atoms.iter().map(|atom| self.word(atom)).collect()
    }

    /// A call.
    pub fn call_function(&mut self, callee: FunctionId, args: &[Atom]) -> Vec<Operand> {
        let args = self.all_words(args);
        self.call_with(callee, args)
    }

    /// A call of a function of the program; the site is that of the statement.
    fn call_with(&mut self, callee: FunctionId, args: Vec<Operand>) -> Vec<Operand> {
        let types = &self.cx.flat.functions[callee.0 as usize].results;
        let types: Vec<LowTy> = types.iter().flat_map(word_types).collect();
        let results = self.regs(types);
        let (function, site) = (low::FunctionId(callee.0), self.site);
        self.push(Stmt::Call { results: results.clone(), function, args, site });
        // What is not translated yet is recursive.
        let callee = callee.0 as usize;
        let fallible = self.cx.functions[callee].as_ref().is_none_or(|f| f.fallible);
        self.fails |= fallible;
        self.effects += u64::from(!self.cx.quiet[callee]);
        results.into_iter().map(Operand::Reg).collect()
    }

    /// The value of a constant, which the context holds.
    pub fn constant(&mut self, id: ConstantId) -> Vec<Operand> {
        let first = self.cx.constant(id);
        let init = self.cx.flat.constants[id.0 as usize].init;
        let types: Vec<LowTy> =
            self.cx.flat.functions[init.0 as usize].results.iter().flat_map(word_types).collect();
        let word = |i: usize| at(Operand::Constant(first + 1 + i as u32), 0);
        let state_word = at(Operand::Constant(first), 0);
        self.effects += 1;
        let state = self.load(LowTy::Int, state_word);
        let known = self.compare(Compare::IntEq, state, Operand::Int(2));
        let outer = self.begin();
        let open = self.compare(Compare::IntEq, state, Operand::Int(1));
        self.refuse(open, Raise::Cycle(id.0), Vec::new());
        self.store(LowTy::Int, state_word, Operand::Int(1));
        let values = self.call_with(init, Vec::new());
        for (i, (value, ty)) in values.into_iter().zip(&types).enumerate() {
            self.store(*ty, word(i), value);
        }
        self.store(LowTy::Int, state_word, Operand::Int(2));
        let compute = self.end(outer);
        self.push(Stmt::If(known, Vec::new(), compute));
        types.into_iter().enumerate().map(|(i, ty)| self.load(ty, word(i))).collect()
    }
}
