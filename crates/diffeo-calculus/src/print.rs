//! Core as text that [`crate::parse`] reads back: a program, a term or a type in, text out.
//!
//! ```text
//! data Maybe[$0] is maybe = Nothing | Just($0)
//!
//! def half : Real -> Maybe[Real] = fn (x : Real) -> con Maybe[Real].Just(#real.div(x, 2.0))
//!
//! def main : () -> Real =
//!   fn (u : ()) ->
//!     case @half 3.0 of Maybe[Real] { | Nothing() -> 0.0 | Just(y : Real) -> #real.sin(y) }
//! ```
//!
//! Definitions are marked with `@`, primitive operations and derivatives with `#`, parameters of a
//! declaration with `$`; `is` says which type of the library one is. What a form needs of types stands in
//! brackets after it: `tuple[T](M, …)`, `proj[T, 0](M)`, `#index[T](M, N)`. A variable is its name, or `name.id` where another variable of the
//! same definition has that name; likewise a definition, variant type or constructor, with its position.
//! Names that are not identifiers stand in backquotes. The same program always prints the same.

mod layout;

use crate::names::{escape, prim_name, quote, Named, Names, ProgramNames};
use crate::prim::{Diff, DiffOp, Prim, RealOp, SizePattern, SizeRef, SizeShape};
use crate::term::{Binder, Case, Control, Lit, Loop, Program, Term, TermKind, Var};
use crate::ty::{DataDecl, DataId, Ty};
use diffeo_base::deep;
use diffeo_base::Name;
use layout::{render, Piece};
use std::borrow::Cow;
use std::collections::HashMap;

/// The text of a program.
pub fn print(program: &Program) -> String {
    let names = ProgramNames::new(program);
    let mut out = Vec::new();
    for (i, decl) in program.datas.iter().enumerate() {
        let mut printer = CorePrinter::new(&names);
        printer.declaration(i, decl);
        out.push(printer.finish() + "\n");
    }
    for (i, global) in program.globals.iter().enumerate() {
        let mut printer = CorePrinter::new(&names);
        printer.open(2);
        printer.text(format!("def {} : ", names.globals.label(i)));
        printer.ty(&global.ty);
        printer.text(" =");
        printer.line();
        printer.term(&global.body);
        printer.close();
        out.push(printer.finish() + "\n");
    }
    out.join("\n")
}

/// The text of a term of a program.
pub fn print_term(term: &Term, program: &Program) -> String {
    let names = ProgramNames::new(program);
    let mut printer = CorePrinter::new(&names);
    printer.term(term);
    printer.finish()
}

/// The text of a type of a program.
pub fn print_type(ty: &Ty, program: &Program) -> String {
    let names = ProgramNames::new(program);
    let mut printer = CorePrinter::new(&names);
    printer.ty(ty);
    printer.finish()
}

/// The text of a real number: the shortest that reads back the same, with a point.
pub fn print_real(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_string();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let shortest = format!("{x:?}");
    match shortest.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
        Some(_) | None => shortest,
    }
}

/// How far the lines of a form are indented.
fn indentation(kind: &TermKind) -> usize {
    match kind {
        TermKind::Lam(..) | TermKind::App(..) | TermKind::Case(_) | TermKind::If(..) => 2,
        TermKind::Build(_) | TermKind::Loop(_) => 2,
        // The body of a `let` stands below it.
        TermKind::Let(..) | TermKind::LetRec(..) => 0,
        // The lists in these are indented.
        TermKind::Tuple(..) | TermKind::Proj(..) | TermKind::Con(..) | TermKind::Array(..) => 0,
        TermKind::Prim(..) | TermKind::Diff(..) => 0,
        TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => 0,
    }
}

struct CorePrinter<'p> {
    names: &'p ProgramNames,
    pieces: Vec<Piece>,
    /// The pieces that stand for variables, filled in at the end, when all names are known.
    variables: Vec<(usize, Var)>,
}

impl<'p> CorePrinter<'p> {
    fn new(names: &'p ProgramNames) -> Self {
        CorePrinter { names, pieces: Vec::new(), variables: Vec::new() }
    }

    fn finish(mut self) -> String {
        // The variable that has a name, and whether another one has it, too.
        let mut owners: HashMap<Name, (u32, bool)> = HashMap::new();
        for (_, var) in &self.variables {
            let (owner, shared) = owners.entry(var.name.clone()).or_insert((var.id, false));
            *shared |= *owner != var.id;
        }
        for (position, var) in self.variables {
            let mut label = quote(&var.name);
            if owners[&var.name].1 {
                label += &format!(".{}", var.id);
            }
            self.pieces[position] = Piece::Text(label.into());
        }
        render(&self.pieces)
    }

    fn text(&mut self, text: impl Into<Cow<'static, str>>) {
        self.pieces.push(Piece::Text(text.into()));
    }

    fn line(&mut self) {
        self.pieces.push(Piece::Line(" "));
    }

    fn open(&mut self, indent: usize) {
        self.pieces.push(Piece::Open(indent));
    }

    fn close(&mut self) {
        self.pieces.push(Piece::Close);
    }

    /// Items between brackets, with commas.
    fn list<T>(
        &mut self,
        (left, right): (&'static str, &'static str),
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        self.open(2);
        self.text(left);
        for (i, x) in items.into_iter().enumerate() {
            if i > 0 {
                self.text(",");
            }
            self.pieces.push(Piece::Line(if i > 0 { " " } else { "" }));
            item(self, x);
        }
        self.text(right);
        self.close();
    }

    fn declaration(&mut self, position: usize, decl: &DataDecl) {
        self.open(2);
        self.text(format!("data {}", self.names.datas.label(position)));
        if decl.params > 0 {
            self.list(("[", "]"), 0..decl.params, |p, i| p.text(format!("${i}")));
        }
        if let Some(known) = decl.known {
            self.text(format!(" is {}", known.word()));
        }
        self.text(" =");
        for (tag, constructor) in decl.constructors.iter().enumerate() {
            self.line();
            self.text(if tag > 0 { "| " } else { "" });
            self.text(self.names.constructors[position].label(tag));
            if !constructor.fields.is_empty() {
                self.list(("(", ")"), &constructor.fields, CorePrinter::ty);
            }
        }
        self.close();
    }

    // Types

    fn ty(&mut self, ty: &Ty) {
        deep(|| match ty {
            Ty::Real => self.text("Real"),
            Ty::Int => self.text("Int"),
            Ty::Bool => self.text("Bool"),
            Ty::String => self.text("String"),
            Ty::Unit => self.text("()"),
            // Types of fewer than two components do not lint, but are told from the others.
            Ty::Tuple(types) if types.is_empty() => self.text("(,)"),
            Ty::Tuple(types) => {
                let right = if types.len() == 1 { ",)" } else { ")" };
                self.list(("(", right), types.iter(), CorePrinter::ty);
            }
            Ty::Record(fields) => self.list(("{", "}"), fields.iter(), |p, (name, ty)| {
                p.text(quote(name) + " : ");
                p.ty(ty);
            }),
            Ty::Array(element) => {
                self.text("[]");
                self.argument_type(element);
            }
            Ty::Data(id, args) => self.data(*id, args),
            Ty::Fun(fun) => {
                self.argument_type(&fun.0);
                self.text(" -> ");
                self.ty(&fun.1);
            }
            Ty::Param(i) => self.text(format!("${i}")),
        })
    }

    fn argument_type(&mut self, ty: &Ty) {
        let parentheses = matches!(ty, Ty::Fun(_));
        self.text(if parentheses { "(" } else { "" });
        self.ty(ty);
        self.text(if parentheses { ")" } else { "" });
    }

    fn data(&mut self, id: DataId, args: &[Ty]) {
        self.text(self.names.datas.label(id.0 as usize));
        if !args.is_empty() {
            self.list(("[", "]"), args, CorePrinter::ty);
        }
    }

    fn constructor(&mut self, data: DataId, tag: u32) {
        let label = match self.names.constructors.get(data.0 as usize) {
            Some(names) => names.label(tag as usize),
            None => Names::new([]).label(tag as usize),
        };
        self.text(label);
    }

    // Terms

    fn variable(&mut self, var: &Var) {
        self.variables.push((self.pieces.len(), var.clone()));
        self.text("");
    }

    fn binder(&mut self, binder: &Binder) {
        self.variable(&binder.var);
        self.text(" : ");
        self.ty(&binder.ty);
    }

    /// `x : T = M`
    fn binding(&mut self, binder: &Binder, value: &Term) {
        self.open(2);
        self.binder(binder);
        self.text(" =");
        self.line();
        self.term(value);
        self.close();
    }

    /// A term where juxtaposition would bind its last part.
    fn atom(&mut self, term: &Term) {
        match &term.kind {
            TermKind::Var(_)
            | TermKind::Global(_)
            | TermKind::Lit(_)
            | TermKind::Tuple(..)
            | TermKind::Proj(..)
            | TermKind::Con(..)
            | TermKind::Array(..)
            | TermKind::Prim(..)
            | TermKind::Diff(..) => self.term(term),
            TermKind::Lam(..)
            | TermKind::App(..)
            | TermKind::Let(..)
            | TermKind::LetRec(..)
            | TermKind::Case(_)
            | TermKind::If(..)
            | TermKind::Build(_)
            | TermKind::Loop(_) => {
                self.open(1);
                self.text("(");
                self.term(term);
                self.text(")");
                self.close();
            }
        }
    }

    fn arguments(&mut self, args: &[Term]) {
        self.list(("(", ")"), args, CorePrinter::term);
    }

    fn term(&mut self, term: &Term) {
        deep(|| {
            self.open(indentation(&term.kind));
            self.kind(&term.kind);
            self.close();
        })
    }

    /// The form, in a block of its own.
    fn kind(&mut self, kind: &TermKind) {
        match kind {
            TermKind::Var(var) => self.variable(var),
            TermKind::Global(id) => {
                self.text(format!("@{}", self.names.globals.label(id.0 as usize)))
            }
            TermKind::Lit(literal) => self.text(match literal {
                Lit::Real(x) => print_real(*x),
                Lit::Int(i) => i.to_string(),
                Lit::Bool(b) => b.to_string(),
                Lit::String(s) => escape(s, '"'),
                Lit::Unit => "()".to_string(),
            }),
            TermKind::Lam(binder, body) => {
                self.text("fn (");
                self.binder(binder);
                self.text(") ->");
                self.line();
                self.term(body);
            }
            TermKind::App(function, argument) => {
                // `f x y` is `(f x) y`.
                let (mut head, mut arguments) = (&**function, vec![&**argument]);
                while let TermKind::App(function, argument) = &head.kind {
                    head = function;
                    arguments.push(argument);
                }
                self.atom(head);
                for argument in arguments.into_iter().rev() {
                    self.line();
                    self.atom(argument);
                }
            }
            TermKind::Let(bindings, body) => {
                self.text("let ");
                self.open(4);
                for (i, (binder, value)) in bindings.iter().enumerate() {
                    if i > 0 {
                        self.text(";");
                        self.line();
                    }
                    self.binding(binder, value);
                }
                self.close();
                self.text(if bindings.is_empty() { "in" } else { " in" });
                self.line();
                self.term(body);
            }
            TermKind::LetRec(binder, value, body) => {
                self.text("letrec ");
                self.binding(binder, value);
                self.text(" in");
                self.line();
                self.term(body);
            }
            TermKind::Tuple(ty, components) => {
                self.text("tuple");
                self.list(("[", "]"), [ty], CorePrinter::ty);
                self.arguments(components);
            }
            TermKind::Proj(ty, index, tuple) => {
                self.text("proj[");
                self.ty(ty);
                self.text(format!(", {index}]"));
                self.list(("(", ")"), [&**tuple], CorePrinter::term);
            }
            TermKind::Con(data, args, tag, fields) => {
                self.text("con ");
                self.data(*data, args);
                self.text(".");
                self.constructor(*data, *tag);
                self.arguments(fields);
            }
            TermKind::Case(case) => self.case(case),
            TermKind::If(condition, yes, no) => self.conditional(condition, yes, no),
            TermKind::Array(element, items) => {
                self.text("array");
                self.list(("[", "]"), [element], CorePrinter::ty);
                self.arguments(items);
            }
            TermKind::Build(build) => {
                self.text("build");
                self.list(("[", "]"), [&build.element], CorePrinter::ty);
                self.text(" ");
                self.binder(&build.index);
                self.text(" < ");
                self.term(&build.count);
                self.text(" do");
                self.line();
                self.term(&build.body);
            }
            TermKind::Loop(l) => self.loop_(l),
            TermKind::Prim(prim, args) => self.prim(prim, args),
            TermKind::Diff(Diff { op, from, to }, args) => {
                self.text(format!("#{}[", op.name()));
                match op {
                    DiffOp::Jet { k, r } => self.text(format!("{k}, {r}, ")),
                    DiffOp::Rd
                    | DiffOp::RdAlong
                    | DiffOp::Vjp
                    | DiffOp::Jvp
                    | DiffOp::StopGradient
                    | DiffOp::Checkpoint
                    | DiffOp::WithDerivative
                    | DiffOp::WithExactDerivative
                    | DiffOp::Decisions
                    | DiffOp::Deciding
                    | DiffOp::Enclose
                    | DiffOp::Dependence
                    | DiffOp::AllPaths => {}
                }
                self.ty(from);
                self.text(", ");
                self.ty(to);
                self.text("]");
                self.arguments(args);
            }
        }
    }

    /// A chain of `else if` is one block, so that it is not indented more and more.
    fn conditional(&mut self, condition: &Term, yes: &Term, no: &Term) {
        let (mut condition, mut yes, mut no) = (condition, yes, no);
        loop {
            self.text("if ");
            self.term(condition);
            self.text(" then");
            self.line();
            self.term(yes);
            self.pieces.push(Piece::Back(" "));
            self.text("else");
            let TermKind::If(next_condition, next_yes, next_no) = &no.kind else { break };
            self.text(" ");
            (condition, yes, no) = (next_condition, next_yes, next_no);
        }
        self.line();
        self.term(no);
    }

    fn case(&mut self, case: &Case) {
        self.text("case ");
        self.term(&case.scrutinee);
        self.text(" of ");
        self.data(case.data.0, &case.data.1);
        self.text(" {");
        for arm in &case.arms {
            self.line();
            self.open(2);
            self.text("| ");
            self.constructor(case.data.0, arm.tag);
            self.list(("(", ")"), &arm.binders, CorePrinter::binder);
            self.text(" ->");
            self.line();
            self.term(&arm.body);
            self.close();
        }
        if let Some(default) = &case.default {
            self.line();
            self.open(2);
            self.text("| else ->");
            self.line();
            self.term(default);
            self.close();
        }
        self.pieces.push(Piece::Back(" "));
        self.text("}");
    }

    fn loop_(&mut self, l: &Loop) {
        self.text("loop ");
        self.binding(&l.state, &l.init);
        self.line();
        match &l.control {
            Control::Count { index, count } => {
                self.text("for ");
                self.binder(index);
                self.text(" < ");
                self.term(count);
            }
            Control::While(condition) => {
                self.text("while ");
                self.term(condition);
            }
        }
        self.text(" do");
        self.line();
        self.term(&l.body);
    }

    fn prim(&mut self, prim: &Prim, args: &[Term]) {
        let (name, ty) = prim_name(prim);
        self.text(format!("#{name}"));
        if let Prim::Real(RealOp::Polygamma(order)) = prim {
            self.text(format!("[{order}]"));
        } else if let Some(ty) = ty {
            self.text("[");
            if let Prim::Sizes(pattern, _) = prim {
                self.size_pattern(pattern);
            }
            self.ty(ty);
            self.text("]");
        }
        self.arguments(args);
    }

    /// `{n, m}, 1: {x}, [n][m]_, `
    fn size_pattern(&mut self, pattern: &SizePattern) {
        let names = Names::new(pattern.names.iter().cloned());
        self.list(("{", "}"), 0..pattern.names.len(), |p, i| p.text(names.label(i)));
        self.text(format!(", {}", pattern.given));
        if !pattern.parts.is_empty() {
            let parts = Names::new(pattern.parts.iter().cloned());
            self.text(": ");
            self.list(("{", "}"), 0..pattern.parts.len(), |p, i| p.text(parts.label(i)));
        }
        self.text(", ");
        self.shape(&pattern.shape, &names);
        self.text(", ");
    }

    fn shape(&mut self, shape: &SizeShape, names: &Names) {
        deep(|| match shape {
            SizeShape::Any => self.text("_"),
            SizeShape::Array(size, row) => {
                self.text(match size {
                    SizeRef::Any => "[_]".to_string(),
                    SizeRef::Literal(length) => format!("[{length}]"),
                    SizeRef::Name(position) => format!("[{}]", names.label(*position)),
                });
                self.shape(row, names);
            }
            SizeShape::Tuple(shapes) => self.list(("(", ")"), shapes, |p, s| p.shape(s, names)),
            SizeShape::Data(constructors) => self.list(("{", "}"), constructors, |p, fields| {
                p.list(("(", ")"), fields, |p, s| p.shape(s, names))
            }),
        })
    }
}
