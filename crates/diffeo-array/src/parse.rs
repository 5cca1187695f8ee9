//! Text to Flat: the inverse of [`mod@crate::print`], for tests and for looking at programs. It reads what
//! the printer writes, with any white space, and without places, too (then every statement is at site 0);
//! it checks that names are known, and no types.
//!
//! Variables are numbered in the order of their definitions in the text. Of several that are written the same,
//! the last one before is meant; the printer writes no such.

mod lexer;
mod ops;

use crate::ir::{
    Atom, Block, BoxId, BoxType, Constant, Elem, FlatTy, Function, FunctionId, Inlined, Module, Op,
    Site, SiteId, Stmt, Var, VarInfo, Variant,
};
use crate::typing::atom_type;
use diffeo_base::{deep, on_large_stack};
use diffeo_base::{FileId, Name, Span};
use diffeo_calculus::names::Names;
pub use diffeo_calculus::parse::ParseError;
use hashbrown::HashMap;
use lexer::{lex, FlatToken};
use std::str::FromStr;

/// The module of a text.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    let tokens = lex(text)?;
    let mut parser = FlatParser {
        functions: declared(&tokens, "fn").into_iter().zip((0..).map(FunctionId)).collect(),
        boxes: Names::new(declared(before_functions(&tokens), "box")),
        constants: Names::new(declared(before_functions(&tokens), "constant")),
        variants: Vec::new(),
        vars: Vec::new(),
        scope: HashMap::new(),
        without_site: false,
        at: 0,
        tokens: &tokens,
    };
    // What was read before an error may be nested deeply, too.
    on_large_stack(|| parser.module())
        .map_err(|Wrong { offset, message }| ParseError::at(text, offset, message))
}

/// The names that follow a keyword.
fn declared(tokens: &[(FlatToken, usize)], keyword: &str) -> Vec<Name> {
    let pairs = tokens.windows(2).filter_map(|pair| match (&pair[0].0, &pair[1].0) {
        (FlatToken::Word(word), FlatToken::Word(name) | FlatToken::Quoted(name))
            if *word == *keyword =>
        {
            Some(name.clone())
        }
        _ => None,
    });
    pairs.collect()
}

fn before_functions(tokens: &[(FlatToken, usize)]) -> &[(FlatToken, usize)] {
    let first = tokens.iter().position(|(token, _)| *token == FlatToken::Word("fn".into()));
    &tokens[..first.unwrap_or(tokens.len())]
}

/// What is wrong at a byte.
struct Wrong {
    offset: usize,
    message: String,
}

type Parsed<T> = Result<T, Wrong>;

/// A variable as it is written: its name, if it has one, and the number.
type Label = (Option<Name>, u32);

struct FlatParser<'t> {
    tokens: &'t [(FlatToken, usize)],
    at: usize,
    functions: HashMap<Name, FunctionId>,
    boxes: Names,
    constants: Names,
    /// The alternatives of the types of boxes read so far.
    variants: Vec<Names>,
    /// The variables of the function.
    vars: Vec<VarInfo>,
    /// By how they are written.
    scope: HashMap<Label, Var>,
    /// Whether a statement had no place.
    without_site: bool,
}

impl FlatParser<'_> {
    // Tokens

    fn peek(&self) -> &FlatToken {
        &self.tokens[self.at].0
    }

    fn peek_after(&self) -> &FlatToken {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(Wrong { offset: self.tokens[self.at].1, message: message.into() })
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = match self.peek() {
            FlatToken::Mark(found) => *found == mark,
            FlatToken::Word(found) => *found == *mark,
            FlatToken::Quoted(_)
            | FlatToken::Position(_)
            | FlatToken::Unnamed(_)
            | FlatToken::Number(_)
            | FlatToken::Text(_)
            | FlatToken::End => false,
        };
        if found {
            self.advance();
        }
        found
    }

    fn sees(&mut self, mark: &str) -> bool {
        let at = self.at;
        let found = self.eat(mark);
        self.at = at;
        found
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) {
            Ok(())
        } else {
            self.wrong(format!("expected `{mark}`"))
        }
    }

    fn name(&mut self) -> Parsed<Name> {
        match self.peek() {
            FlatToken::Word(name) | FlatToken::Quoted(name) => {
                let name = name.clone();
                self.advance();
                Ok(name)
            }
            FlatToken::Position(_)
            | FlatToken::Unnamed(_)
            | FlatToken::Number(_)
            | FlatToken::Text(_)
            | FlatToken::Mark(_)
            | FlatToken::End => self.wrong("expected a name"),
        }
    }

    /// A name with the number behind it.
    fn numbered(&mut self) -> Parsed<(Name, Option<u32>)> {
        let name = self.name()?;
        let number = match self.peek() {
            FlatToken::Position(number) => Some(*number),
            _ => None,
        };
        if number.is_some() {
            self.advance();
        }
        Ok((name, number))
    }

    fn number<N: FromStr>(&mut self) -> Parsed<N> {
        if let FlatToken::Number(digits) = self.peek() {
            if let Ok(number) = digits.parse() {
                self.advance();
                return Ok(number);
            }
        }
        self.wrong("expected a number that fits")
    }

    fn text(&mut self) -> Parsed<Name> {
        if let FlatToken::Text(text) = self.peek() {
            let text = text.clone();
            self.advance();
            return Ok(text);
        }
        self.wrong("expected a text")
    }

    /// Items with commas between them, up to a mark.
    fn until<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(end) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(end)?;
                return Ok(items);
            }
        }
    }

    fn list<T>(
        &mut self,
        start: &str,
        end: &str,
        item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(start)?;
        self.until(end, item)
    }

    /// The position of the thing whose name is next.
    fn position(&mut self, what: &str, names: impl Fn(&Self) -> Option<&Names>) -> Parsed<u32> {
        let at = self.at;
        let (name, number) = self.numbered()?;
        match names(self).and_then(|names| names.find(&name, number)) {
            Some(position) => Ok(position as u32),
            None => {
                self.at = at;
                self.wrong(format!("no {what} is called `{name}`, or several are"))
            }
        }
    }

    fn function_id(&mut self) -> Parsed<FunctionId> {
        let at = self.at;
        let name = self.name()?;
        match self.functions.get(&name) {
            Some(id) => Ok(*id),
            None => {
                self.at = at;
                self.wrong(format!("no function is called `{name}`"))
            }
        }
    }

    // Declarations

    fn module(&mut self) -> Parsed<Module> {
        let mut module = Module::default();
        self.expect("entry")?;
        module.entry = self.function_id()?;
        while self.eat("box") {
            let box_type = self.box_type(module.boxes.len())?;
            let names = box_type.variants.iter().map(|variant| variant.name.clone());
            self.variants.push(Names::new(names));
            module.boxes.push(box_type);
        }
        while self.eat("constant") {
            let at = self.at;
            let name = self.numbered()?.0;
            self.at = at;
            self.declared_here("constant", module.constants.len(), |p| &p.constants)?;
            self.expect("=")?;
            module.constants.push(Constant { name, init: self.function_id()? });
        }
        while self.eat("fn") {
            if self.functions.len() <= module.functions.len() {
                return self.wrong("another function has this name");
            }
            module.functions.push(self.function()?);
        }
        if self.eat("library") {
            loop {
                module.library.push(FileId(self.number()?));
                if !self.eat(",") {
                    break;
                }
            }
        }
        while self.eat("site") {
            if self.number::<usize>()? != module.sites.len() {
                return self.wrong("sites are numbered in order from 0");
            }
            self.expect("=")?;
            module.sites.push(self.site()?);
        }
        if *self.peek() != FlatToken::End {
            return self.wrong("expected the end, or something that stands before this");
        }
        if self.without_site && module.sites.is_empty() {
            module.sites.push(Site { span: Span::NONE, inlined: None });
        }
        Ok(module)
    }

    /// Takes the name of a declaration, which must stand for what is declared here.
    fn declared_here(
        &mut self,
        what: &str,
        expected: usize,
        names: fn(&Self) -> &Names,
    ) -> Parsed<()> {
        let at = self.at;
        if self.position(what, |p| Some(names(p)))? as usize == expected {
            return Ok(());
        }
        self.at = at;
        self.wrong("the number is not that of the declaration")
    }

    fn box_type(&mut self, position: usize) -> Parsed<BoxType> {
        let at = self.at;
        let name = self.numbered()?.0;
        self.at = at;
        self.declared_here("type of boxes", position, |p| &p.boxes)?;
        let variants = self.list("{", "}", |p| {
            let name = p.name()?;
            let fields = if p.sees("(") { p.list("(", ")", FlatParser::ty)? } else { Vec::new() };
            Ok(Variant { name, fields })
        })?;
        Ok(BoxType { name, variants })
    }

    fn span(&mut self) -> Parsed<Span> {
        if self.eat("none") {
            return Ok(Span::NONE);
        }
        let file = FileId(self.number()?);
        self.expect(":")?;
        let start = self.number()?;
        self.expect("-")?;
        Ok(Span { file, start, end: self.number()? })
    }

    fn site(&mut self) -> Parsed<Site> {
        let span = self.span()?;
        if !self.eat("in") {
            return Ok(Site { span, inlined: None });
        }
        let function = self.name()?;
        let library = self.eat("library");
        self.expect("at")?;
        let at = SiteId(self.number()?);
        Ok(Site { span, inlined: Some(Inlined { function, library, at }) })
    }

    fn function(&mut self) -> Parsed<Function> {
        self.vars.clear();
        self.scope.clear();
        let name = self.name()?;
        let params = self.list("(", ")", FlatParser::definition)?;
        self.expect("->")?;
        let results = self.list("(", ")", FlatParser::ty)?;
        let shown = if self.eat("shown") { self.name()? } else { name.clone() };
        let library = self.eat("library");
        let span = if self.eat("at") { self.span()? } else { Span::NONE };
        let body = self.block("return")?;
        let vars = std::mem::take(&mut self.vars);
        Ok(Function { name, shown, library, span, vars, params, results, body })
    }

    // Types

    fn ty(&mut self) -> Parsed<FlatTy> {
        let mut rank: u8 = 0;
        while self.eat("[") {
            self.expect("]")?;
            match rank.checked_add(1) {
                Some(more) => rank = more,
                None => return self.wrong("the rank of an array is too high"),
            }
        }
        if rank > 0 {
            return Ok(FlatTy::Array(self.elem()?, rank));
        }
        if self.eat("Acc") {
            self.expect("[")?;
            let rank = self.number()?;
            self.expect("]")?;
            return Ok(FlatTy::Acc(rank));
        }
        if self.eat("Stack") {
            return Ok(FlatTy::Stack(self.list("[", "]", FlatParser::elem)?.into()));
        }
        Ok(self.elem()?.ty())
    }

    fn elem(&mut self) -> Parsed<Elem> {
        let leaves =
            [("Real", Elem::Real), ("Int", Elem::Int), ("Bool", Elem::Bool), ("Text", Elem::Text)];
        for (name, elem) in leaves {
            if self.eat(name) {
                return Ok(elem);
            }
        }
        if self.eat("&") {
            return Ok(Elem::Box(self.box_id()?));
        }
        self.wrong("expected a type")
    }

    fn box_id(&mut self) -> Parsed<BoxId> {
        Ok(BoxId(self.position("type of boxes", |p| Some(&p.boxes))?))
    }

    // Variables and operands

    /// A variable as it is written, where it is defined or used.
    fn label(&mut self) -> Parsed<Label> {
        if let FlatToken::Unnamed(number) = *self.peek() {
            self.advance();
            return Ok((None, number));
        }
        let (name, number) = self.numbered()?;
        Ok((Some(name), number.unwrap_or(1)))
    }

    /// A new variable, as it is written.
    fn define(&mut self, ty: Option<FlatTy>) -> Parsed<Var> {
        let label = self.label()?;
        let ty = match ty {
            Some(ty) => ty,
            None => {
                self.expect(":")?;
                self.ty()?
            }
        };
        let var = Var(self.vars.len() as u32);
        self.vars.push(VarInfo { ty, name: label.0.clone() });
        self.scope.insert(label, var);
        Ok(var)
    }

    /// `variable: type`
    fn definition(&mut self) -> Parsed<Var> {
        self.define(None)
    }

    fn atom(&mut self) -> Parsed<Atom> {
        let atom = match self.peek() {
            FlatToken::Number(text) if text.contains(['.', 'e', 'i']) => Atom::Real(self.number()?),
            FlatToken::Number(_) => Atom::Int(self.number()?),
            FlatToken::Word(word) => match word.as_str() {
                "true" => self.literal(Atom::Bool(true)),
                "false" => self.literal(Atom::Bool(false)),
                "nan" => self.literal(Atom::Real(f64::NAN)),
                "inf" => self.literal(Atom::Real(f64::INFINITY)),
                "_" => {
                    self.advance();
                    self.expect("[")?;
                    let ty = self.ty()?;
                    self.expect("]")?;
                    Atom::Unused(ty)
                }
                _ => Atom::Var(self.variable()?),
            },
            FlatToken::Quoted(_)
            | FlatToken::Position(_)
            | FlatToken::Unnamed(_)
            | FlatToken::Text(_)
            | FlatToken::Mark(_)
            | FlatToken::End => Atom::Var(self.variable()?),
        };
        Ok(atom)
    }

    fn literal(&mut self, atom: Atom) -> Atom {
        self.advance();
        atom
    }

    fn variable(&mut self) -> Parsed<Var> {
        let at = self.at;
        let label = self.label()?;
        match self.scope.get(&label) {
            Some(var) => Ok(*var),
            None => {
                self.at = at;
                self.wrong("there is no such variable before this")
            }
        }
    }

    fn atom_type(&self, atom: &Atom) -> Parsed<FlatTy> {
        match atom_type(&self.vars, atom) {
            Some(ty) => Ok(ty),
            None => self.wrong("an operand without a type"),
        }
    }

    // Statements

    /// The statements of a block, and its results after this word.
    fn block(&mut self, word: &str) -> Parsed<Block> {
        self.expect("{")?;
        deep(|| {
            let mut block = Block::default();
            loop {
                if self.eat("}") {
                    return Ok(block);
                }
                let statement =
                    matches!(self.peek_after(), FlatToken::Mark(":") | FlatToken::Position(_));
                if !statement && self.eat(word) {
                    block.results = self.until("}", FlatParser::atom)?;
                    return Ok(block);
                }
                block.stmts.push(self.stmt()?);
            }
        })
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let mut results = Vec::new();
        let named = match self.peek() {
            FlatToken::Unnamed(_) => true,
            FlatToken::Word(_) | FlatToken::Quoted(_) => {
                matches!(self.peek_after(), FlatToken::Mark(":") | FlatToken::Position(_))
            }
            FlatToken::Position(_)
            | FlatToken::Number(_)
            | FlatToken::Text(_)
            | FlatToken::Mark(_)
            | FlatToken::End => false,
        };
        if named {
            results = self.until("=", FlatParser::definition)?;
        }
        let (op, site) = self.op()?;
        Ok(Stmt { results, op, site })
    }

    /// The place of a statement.
    fn place(&mut self) -> Parsed<SiteId> {
        if self.eat("@") {
            return Ok(SiteId(self.number()?));
        }
        self.without_site = true;
        Ok(SiteId(0))
    }

    /// An operation that stands before its place.
    fn op(&mut self) -> Parsed<(Op, SiteId)> {
        match self.with_blocks()? {
            Some(found) => Ok(found),
            None => {
                let op = self.plain()?;
                Ok((op, self.place()?))
            }
        }
    }
}
