//! Text to Core: the inverse of [`crate::print`], for tests and for looking at programs. It reads exactly
//! what the printer writes (with any white space), checks that names are known, and no types.
//!
//! Every span of the result is [`Span::NONE`]. A variable written without a number gets one that the text
//! does not use. No parsing function returns an error: the first one is noted and the input skipped, so
//! that every term, however deep, ends up in a [`Program`], which drops it on a stack that is large enough.

mod lexer;
mod terms;

use crate::names::Names;
use crate::term::{Binder, Global, Lit, Program, TermKind, Var};
use crate::ty::{ConstructorDecl, DataDecl, DataId, Ty, WellKnown};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use lexer::{lex, CoreToken};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// Why and where a text is not a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl ParseError {
    /// An error at a byte of the text.
    pub fn at(text: &str, offset: usize, message: String) -> ParseError {
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The program of a text.
pub fn parse(text: &str) -> Result<Program, ParseError> {
    let tokens = lex(text)?;
    let used = tokens.iter().filter_map(|(token, _)| match token {
        CoreToken::Name(_, number) => *number,
        CoreToken::Mark(_)
        | CoreToken::Op(_)
        | CoreToken::Number(_)
        | CoreToken::Text(_)
        | CoreToken::End => None,
    });
    // Definitions and variant types may be used before they are declared.
    let declared = |keyword| {
        let pairs = tokens.windows(2).filter_map(move |pair| {
            let [(CoreToken::Mark(mark), _), (CoreToken::Name(name, _), _)] = pair else {
                return None;
            };
            (*mark == keyword).then(|| name.clone())
        });
        Names::new(pairs)
    };
    let mut parser = CoreParser {
        datas: declared("data"),
        globals: declared("def"),
        constructors: Vec::new(),
        used: used.collect(),
        next_id: 0,
        scope: HashMap::new(),
        at: 0,
        error: None,
        tokens: &tokens,
    };
    let mut program = Program::default();
    parser.program(&mut program);
    match parser.error {
        None => Ok(program),
        Some((offset, message)) => Err(ParseError::at(text, offset, message)),
    }
}

struct CoreParser<'t> {
    tokens: &'t [(CoreToken, usize)],
    at: usize,
    /// The first error.
    error: Option<(usize, String)>,
    datas: Names,
    globals: Names,
    /// The constructors of the types declared so far.
    constructors: Vec<Names>,
    /// The variables in scope, by how they are written; the last of a list is the innermost.
    scope: HashMap<(Name, Option<u32>), Vec<Var>>,
    /// The numbers in the text.
    used: HashSet<u32>,
    /// Where to look for a free one.
    next_id: u32,
}

impl CoreParser<'_> {
    // Tokens

    fn peek(&self) -> &CoreToken {
        &self.tokens[self.at].0
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    /// Notes an error here, if it is the first, and skips the rest.
    fn fail(&mut self, message: impl Into<String>) {
        if self.error.is_none() {
            self.error = Some((self.tokens[self.at].1, message.into()));
        }
        self.at = self.tokens.len() - 1;
    }

    fn sees(&self, mark: &str) -> bool {
        matches!(self.peek(), CoreToken::Mark(found) if *found == mark)
    }

    fn eat(&mut self, mark: &str) -> bool {
        let found = self.sees(mark);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, mark: &str) {
        if !self.eat(mark) {
            self.fail(format!("expected `{mark}`"));
        }
    }

    /// A name with its number.
    fn numbered_name(&mut self) -> (Name, Option<u32>) {
        if let CoreToken::Name(name, number) = self.peek().clone() {
            self.advance();
            return (name, number);
        }
        self.fail("expected a name");
        (Name::new(""), None)
    }

    fn name(&mut self) -> Name {
        if let CoreToken::Name(_, Some(_)) = self.peek() {
            self.fail("a number does not belong here");
        }
        self.numbered_name().0
    }

    fn number<N: FromStr + Default>(&mut self) -> N {
        if let CoreToken::Number(digits) = self.peek() {
            if let Ok(number) = digits.parse() {
                self.advance();
                return number;
            }
        }
        self.fail("expected a number that fits");
        N::default()
    }

    /// Items between brackets, with commas.
    fn list<T>(&mut self, left: &str, right: &str, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        self.expect(left);
        let mut items = Vec::new();
        if self.eat(right) {
            return items;
        }
        loop {
            items.push(item(self));
            if !self.eat(",") {
                break;
            }
        }
        self.expect(right);
        items
    }

    /// The position of the thing whose name is next.
    fn position(
        &mut self,
        what: &str,
        find: impl Fn(&Self, &Name, Option<u32>) -> Option<usize>,
    ) -> usize {
        let start = self.at;
        let (name, number) = self.numbered_name();
        if let Some(position) = find(self, &name, number) {
            return position;
        }
        self.at = start;
        self.fail(format!("no {what} is called `{name}`, or several are"));
        0
    }

    // Declarations

    fn program(&mut self, program: &mut Program) {
        while self.eat("data") {
            self.declared_position("variant type", program.datas.len(), |p| &p.datas);
            let declaration = self.declaration();
            let names = declaration.constructors.iter().map(|c| c.name.clone());
            self.constructors.push(Names::new(names));
            program.datas.push(declaration);
        }
        while self.eat("def") {
            let position = program.globals.len();
            self.declared_position("definition", position, |p| &p.globals);
            let name = self.numbered_name().0;
            self.expect(":");
            let ty = self.ty();
            self.expect("=");
            let body = self.term();
            program.globals.push(Rc::new(Global { name, ty, body, span: Span::NONE }));
        }
        if *self.peek() != CoreToken::End {
            self.fail("expected a definition or the end");
        }
    }

    /// Checks, without taking it, that the name of a declaration stands for what is declared here.
    fn declared_position(&mut self, what: &str, expected: usize, names: fn(&Self) -> &Names) {
        let start = self.at;
        let found = self.position(what, |p, name, n| names(p).find(name, n));
        if self.error.is_none() {
            self.at = start;
            if found != expected {
                self.fail("the number is not that of the declaration");
            }
        }
    }

    fn declaration(&mut self) -> DataDecl {
        let name = self.numbered_name().0;
        let mut params = 0;
        if self.sees("[") {
            let found = self.list("[", "]", |p| {
                p.expect("$");
                p.number::<usize>()
            });
            params = found.len();
            if found.into_iter().ne(0..params) {
                self.fail("parameters are numbered from 0");
            }
        }
        let mut known = None;
        if self.eat("is") {
            let (word, _) = self.numbered_name();
            known = WellKnown::ALL.into_iter().find(|known| *known.word() == *word);
            if known.is_none() {
                self.fail("expected a type of the library");
            }
        }
        self.expect("=");
        let mut constructors = Vec::new();
        while matches!(self.peek(), CoreToken::Name(..)) {
            // Its number, if it has one, is its position.
            let (name, number) = self.numbered_name();
            if number.is_some_and(|n| n as usize != constructors.len()) {
                self.fail("the number is not that of the constructor");
            }
            let fields =
                if self.sees("(") { self.list("(", ")", CoreParser::ty) } else { Vec::new() };
            constructors.push(ConstructorDecl { name, fields });
            if !self.eat("|") {
                break;
            }
        }
        DataDecl { name, known, params, constructors }
    }

    // Types

    fn ty(&mut self) -> Ty {
        deep(|| {
            let from = self.argument_type();
            if self.eat("->") {
                Ty::fun(from, self.ty())
            } else {
                from
            }
        })
    }

    fn argument_type(&mut self) -> Ty {
        let leaves =
            [("Real", Ty::Real), ("Int", Ty::Int), ("Bool", Ty::Bool), ("String", Ty::String)];
        for (name, ty) in leaves {
            if self.eat(name) {
                return ty;
            }
        }
        if self.eat("$") {
            return Ty::Param(self.number());
        }
        if self.eat("[") {
            self.expect("]");
            return Ty::array(deep(|| self.argument_type()));
        }
        if self.sees("{") {
            let fields = self.list("{", "}", |p| {
                let name = p.name();
                p.expect(":");
                (name, p.ty())
            });
            return Ty::Record(fields.into());
        }
        if self.eat("(") {
            return self.tuple_type();
        }
        let (data, args) = self.data();
        Ty::Data(data, args)
    }

    /// The rest of a type in parentheses. `(,)` and `(T,)` are tuples of less than two components, `(T)` is T.
    fn tuple_type(&mut self) -> Ty {
        if self.eat(")") {
            return Ty::Unit;
        }
        let mut types = Vec::new();
        if self.eat(",") {
            self.expect(")");
            return Ty::Tuple(types.into());
        }
        let mut comma = false;
        while self.error.is_none() && !self.sees(")") {
            types.push(self.ty());
            comma = self.eat(",");
            if !comma {
                break;
            }
        }
        self.expect(")");
        match (types.len(), comma) {
            (1, false) => types.remove(0),
            (_, _) => Ty::Tuple(types.into()),
        }
    }

    /// A variant type at its arguments.
    fn data(&mut self) -> (DataId, Rc<[Ty]>) {
        let position = self.position("variant type", |p, name, n| p.datas.find(name, n));
        let args = if self.sees("[") { self.list("[", "]", CoreParser::ty) } else { Vec::new() };
        (DataId(position as u32), args.into())
    }

    /// The tag of a constructor of this type.
    fn constructor(&mut self, data: DataId) -> u32 {
        self.position("constructor", |p, name, n| {
            p.constructors.get(data.0 as usize)?.find(name, n)
        }) as u32
    }

    /// `[T]`
    fn type_argument(&mut self) -> Ty {
        self.expect("[");
        let ty = self.ty();
        self.expect("]");
        ty
    }

    // Variables

    /// A binder, not in scope yet.
    fn binder(&mut self) -> Declared {
        let (name, number) = self.numbered_name();
        let id = number.unwrap_or_else(|| self.fresh_id());
        self.expect(":");
        let binder = Binder { var: Var { name, id }, ty: self.ty() };
        Declared { binder, number }
    }

    fn fresh_id(&mut self) -> u32 {
        while self.used.contains(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    fn enter(&mut self, declared: &Declared) {
        let var = declared.binder.var.clone();
        self.scope.entry((var.name.clone(), declared.number)).or_default().push(var);
    }

    fn leave(&mut self, declared: Declared) -> Binder {
        let written = (declared.binder.var.name.clone(), declared.number);
        self.scope.entry(written).or_default().pop();
        declared.binder
    }

    fn variable(&mut self) -> TermKind {
        let start = self.at;
        let written = self.numbered_name();
        if let Some(var) = self.scope.get(&written).and_then(|vars| vars.last()) {
            return TermKind::Var(var.clone());
        }
        self.at = start;
        self.fail(format!("no variable `{}` is in scope", written.0));
        TermKind::Lit(Lit::Unit)
    }
}

/// A binder with the number that the text gives its variable.
struct Declared {
    binder: Binder,
    number: Option<u32>,
}
