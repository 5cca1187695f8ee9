//! Operations in the text of Flat.

use super::{FlatParser, FlatToken, Parsed};
use crate::ir::ops::read;
use crate::ir::{
    Atom, Block, Carried, Check, ConstantId, FlatTy, Op, Reduction, Scalar, SiteId, Stop,
};
use crate::print::reduction_name;
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::{Comparison, IntOp, RealOp, Rounding, TextOp};

impl FlatParser<'_> {
    /// An operation with blocks, if that is what follows.
    pub(super) fn with_blocks(&mut self) -> Parsed<Option<(Op, SiteId)>> {
        let found = if self.eat("if") {
            let cond = self.atom()?;
            let site = self.place()?;
            let then = self.block("yield")?;
            self.expect("else")?;
            (Op::If { cond, then, otherwise: self.block("yield")? }, site)
        } else if self.eat("switch") {
            self.switch()?
        } else if self.eat("for") {
            let (index, count) = self.range()?;
            let carried = if self.eat("with") { self.carried()? } else { Vec::new() };
            let site = self.place()?;
            (Op::For { count, index, carried, body: self.block("yield")? }, site)
        } else if self.eat("while") {
            let carried = self.carried()?;
            let site = self.place()?;
            let cond = self.block("yield")?;
            self.expect("do")?;
            (Op::While { carried, cond, body: self.block("yield")? }, site)
        } else if self.eat("build") {
            let (index, count) = self.range()?;
            let site = self.place()?;
            (Op::Build { count, index, body: self.block("yield")? }, site)
        } else if self.eat("reduce") {
            let how = self.list("[", "]", FlatParser::reduction)?;
            let (index, count) = self.range()?;
            let site = self.place()?;
            (Op::Reduce { how, count, index, body: self.block("yield")? }, site)
        } else {
            return Ok(None);
        };
        Ok(Some(found))
    }

    fn switch(&mut self) -> Parsed<(Op, SiteId)> {
        let on = self.atom()?;
        let site = self.place()?;
        let mut arms: Vec<(i64, Block)> = Vec::new();
        let mut default = None;
        self.expect("{")?;
        while !self.eat("}") {
            if self.eat("else") {
                default = Some(self.block("yield")?);
                self.expect("}")?;
                break;
            }
            let value = self.number()?;
            arms.push((value, self.block("yield")?));
        }
        Ok((Op::Switch { on, arms, default }, site))
    }

    /// `index < count`
    fn range(&mut self) -> Parsed<(crate::ir::Var, Atom)> {
        let index = self.define(Some(FlatTy::Int))?;
        self.expect("<")?;
        Ok((index, self.atom()?))
    }

    fn carried(&mut self) -> Parsed<Vec<Carried>> {
        self.list("(", ")", |p| {
            // The type of the variable is that of its first value, which stands behind it.
            let at = p.at;
            p.label()?;
            p.expect("=")?;
            let init = p.atom()?;
            let end = p.at;
            let ty = p.atom_type(&init)?;
            p.at = at;
            let param = p.define(Some(ty))?;
            p.at = end;
            Ok(Carried { param, init })
        })
    }

    fn reduction(&mut self) -> Parsed<Reduction> {
        for how in [Reduction::Add, Reduction::Max, Reduction::Min] {
            if self.eat(reduction_name(how)) {
                return Ok(how);
            }
        }
        self.wrong("expected a way to combine")
    }

    /// What stands in brackets.
    fn bracketed<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.expect("[")?;
        let inner = inner(self)?;
        self.expect("]")?;
        Ok(inner)
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        self.bracketed(|p| {
            let scalars = [Scalar::Real, Scalar::Int, Scalar::Bool, Scalar::Text];
            let ty = p.ty()?;
            match scalars.into_iter().find(|scalar| scalar.ty() == ty) {
                Some(scalar) => Ok(scalar),
                None => p.wrong("expected the type of a scalar"),
            }
        })
    }

    /// Operands in parentheses.
    fn operands(&mut self) -> Parsed<Vec<Atom>> {
        self.list("(", ")", FlatParser::atom)
    }

    /// So many operands.
    fn exactly<const N: usize>(&mut self) -> Parsed<[Atom; N]> {
        let at = self.at;
        let operands = self.operands()?;
        operands.try_into().or_else(|_| {
            self.at = at;
            self.wrong(format!("expected {N} operands"))
        })
    }

    /// An operation without blocks.
    pub(super) fn plain(&mut self) -> Parsed<Op> {
        let at = self.at;
        let FlatToken::Word(word) = self.peek().clone() else {
            return self.wrong("expected an operation");
        };
        self.advance();
        if let Some(op) = self.table(&word)? {
            return Ok(op);
        }
        Ok(match word.as_str() {
            "text" => Op::Text(self.text()?),
            "show" => {
                let scalar = self.scalar()?;
                let [a] = self.exactly()?;
                Op::Show(scalar, a)
            }
            "check_size" => {
                let what = self.bracketed(FlatParser::text)?;
                let [expected, found] = self.exactly()?;
                Op::Check(Check::Size { what, expected, found })
            }
            "fail_shape" => {
                let what = self.bracketed(FlatParser::text)?;
                let [difference] = self.exactly()?;
                Op::Stop(Stop::Shape { what, difference })
            }
            "dim" => {
                let dim = self.bracketed(FlatParser::number)?;
                let [array] = self.exactly()?;
                Op::Dim(array, dim)
            }
            "elements" => {
                let elem = self.bracketed(FlatParser::elem)?;
                Op::Elements(elem, self.operands()?)
            }
            "empty" => {
                let (elem, rank) = self.bracketed(|p| {
                    let elem = p.elem()?;
                    p.expect(",")?;
                    Ok((elem, p.number()?))
                })?;
                let [] = self.exactly()?;
                Op::Empty(elem, rank)
            }
            "new" => {
                let id = self.box_id()?;
                self.expect(":")?;
                let tag = self.position("alternative", |p| p.variants.get(id.0 as usize))?;
                Op::New(id, tag, self.operands()?)
            }
            "field" => {
                let (tag, index) = self.bracketed(|p| {
                    let tag = p.number()?;
                    p.expect(",")?;
                    Ok((tag, p.number()?))
                })?;
                let [object] = self.exactly()?;
                Op::Field { object, tag, index }
            }
            "call" => {
                let function = self.function_id()?;
                Op::Call(function, self.operands()?)
            }
            "constant" => {
                Op::Constant(ConstantId(self.position("constant", |p| Some(&p.constants))?))
            }
            "stack_new" => {
                let elems = self.list("[", "]", FlatParser::elem)?;
                let [] = self.exactly()?;
                Op::StackNew(elems.into())
            }
            _ => {
                if let Err(None) = read(&word, &[]) {
                    self.at = at;
                    return self.wrong(format!("no operation is called `{word}`"));
                }
                let behind = self.at;
                let operands = self.operands()?;
                read(&word, &operands).or_else(|names| {
                    self.at = behind;
                    let names = names.unwrap_or_default();
                    self.wrong(format!("the operands of `{word}` are ({names})"))
                })?
            }
        })
    }

    /// An operation of a table, by its name.
    fn table(&mut self, word: &str) -> Parsed<Option<Op>> {
        if word == "real.polygamma" {
            let order = self.bracketed(FlatParser::number)?;
            return Ok(Some(Op::Real(RealOp::Polygamma(order), self.operands()?)));
        }
        if let Some(op) = word.strip_prefix("real.").and_then(RealOp::named) {
            return Ok(Some(Op::Real(op, self.operands()?)));
        }
        if let Some(op) = word.strip_prefix("text.").and_then(TextOp::named) {
            return Ok(Some(Op::TextOp(op, self.operands()?)));
        }
        if let Some(op) = word.strip_prefix("int.").and_then(IntOp::named) {
            return Ok(Some(Op::Int(op, self.operands()?)));
        }
        if let Some(rounding) = word.strip_prefix("fits.").and_then(Rounding::named) {
            let [a] = self.exactly()?;
            return Ok(Some(Op::RoundFits(rounding, a)));
        }
        if let Some(op) = word.strip_prefix("fits.").and_then(IntOp::named) {
            return Ok(Some(Op::IntFits(op, self.operands()?)));
        }
        if let Some(comparison) = Comparison::named(word) {
            let scalar = self.scalar()?;
            let [a, b] = self.exactly()?;
            return Ok(Some(Op::Compare(comparison, scalar, a, b)));
        }
        if let Some(rounding) = Rounding::named(word) {
            let [a] = self.exactly()?;
            return Ok(Some(Op::Round(rounding, a)));
        }
        Ok(None)
    }
}
