//! Flat as text that [`mod@crate::parse`] reads back: a module in, text out.
//!
//! ```text
//! entry main
//!
//! box List { Nil, Cons(Real, &List) }
//!
//! constant table = init_table
//!
//! fn main(xs: []Real, l: &List) -> (Real, Int) at 0:4-8 {
//!   n: Int = dim[0](xs) @1
//!   s: Real = for i < n with (t = 0.0) @2 {
//!     %1: Real = get(xs, i) @3
//!     %2: Real = real.add(t, %1) @4
//!     yield %2
//!   }
//!   %3: Int = tag(l) @5
//!   return s, %3
//! }
//!
//! library 1
//!
//! site 0 = none
//! site 1 = 0:20-30
//! site 2 = 1:7-9 in sum library at 1
//! ```
//!
//! A variable is its name in the source; where another one of its function has that name, too, the later ones
//! are `name.2`, `name.3` …, in the order of the text; one without name is `%number`. Types of boxes and
//! constants are their names, with the position (`name.3`) where others have that name. Names that are not
//! identifiers stand in backquotes. What a form needs besides operands stands in brackets after it. Behind a
//! statement, before its blocks, stands its place: `@` and the number of the site. The same module always
//! prints the same.

use crate::ir::ops::row;
use crate::ir::walk::{binders, has_regions, operands, regions};
use crate::ir::{
    Atom, Block, BoxType, Carried, Check, Elem, FlatTy, Function, Inlined, Module, Op, Reduction,
    Site, SiteId, Stmt, Stop, Var, VarInfo,
};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::names::{escape, quote, Named, Names};
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::print::print_real;
use hashbrown::HashMap;

/// How long lines are, where they can be broken.
const WIDTH: usize = 100;

/// Where a line can be broken; no text that is printed contains it.
const BREAK: char = '\u{1}';

/// The text of a module, complete.
pub fn print(module: &Module) -> String {
    FlatPrinter::new(module, true).module()
}

/// The text of a module for people: without places.
pub fn print_plain(module: &Module) -> String {
    FlatPrinter::new(module, false).module()
}

/// The text of a function of a module, without places.
pub fn print_function(module: &Module, function: &Function) -> String {
    let mut printer = FlatPrinter::new(module, false);
    printer.function(function);
    printer.out
}

/// The text of a type.
pub fn type_text(module: &Module, ty: &FlatTy) -> String {
    FlatPrinter::new(module, false).ty(ty).replace(BREAK, " ")
}

/// The text of an operation of a function with these variables, without its blocks.
pub fn op_text(module: &Module, vars: &[VarInfo], op: &Op) -> String {
    let mut printer = FlatPrinter::new(module, false);
    printer.labels = vars.iter().enumerate().map(|(i, info)| by_index(i, info)).collect();
    printer.head(op).replace(BREAK, " ")
}

/// What stands for a variable where its function's text is not at hand.
fn by_index(index: usize, info: &VarInfo) -> String {
    match &info.name {
        Some(name) => quote(name),
        None => format!("%{index}"),
    }
}

/// Goes over the variables that a function defines, in the order of its text.
pub(crate) fn definitions(function: &Function, each: &mut dyn FnMut(Var)) {
    function.params.iter().for_each(|var| each(*var));
    block_definitions(&function.body, each);
}

fn block_definitions(block: &Block, each: &mut dyn FnMut(Var)) {
    for stmt in &block.stmts {
        stmt.results.iter().for_each(|var| each(*var));
        binders(&stmt.op, &mut *each);
        if has_regions(&stmt.op) {
            deep(|| regions(&stmt.op, |block| block_definitions(block, each)));
        }
    }
}

struct FlatPrinter<'m> {
    module: &'m Module,
    boxes: Names,
    variants: Vec<Names>,
    constants: Names,
    /// Whether places are printed.
    sites: bool,
    /// What stands for the variables of the function.
    labels: Vec<String>,
    indent: usize,
    out: String,
}

impl<'m> FlatPrinter<'m> {
    fn new(module: &'m Module, sites: bool) -> FlatPrinter<'m> {
        let variants = |ty: &BoxType| Names::new(ty.variants.iter().map(|v| v.name.clone()));
        FlatPrinter {
            module,
            boxes: Names::new(module.boxes.iter().map(|ty| ty.name.clone())),
            variants: module.boxes.iter().map(variants).collect(),
            constants: Names::new(module.constants.iter().map(|c| c.name.clone())),
            sites,
            labels: Vec::new(),
            indent: 0,
            out: String::new(),
        }
    }

    /// A line, in which [`BREAK`] stands for a space; if it is too long, for the breaks that are needed.
    fn line(&mut self, text: &str) {
        let indent = 2 * self.indent;
        let mut column = indent;
        self.out.extend(std::iter::repeat_n(' ', indent));
        for (i, piece) in text.split(BREAK).enumerate() {
            let length = piece.chars().count();
            if i > 0 && column + 1 + length > WIDTH {
                self.out.push('\n');
                self.out.extend(std::iter::repeat_n(' ', indent + 4));
                column = indent + 4;
            } else if i > 0 {
                self.out.push(' ');
                column += 1;
            }
            self.out.push_str(piece);
            column += length;
        }
        self.out.push('\n');
    }

    fn module(mut self) -> String {
        let module = self.module;
        let entry = self.function_name(module.entry.0);
        self.line(&format!("entry {entry}"));
        self.section(&module.boxes, |p, i, ty| {
            let variants = ty.variants.iter().map(|v| match &v.fields[..] {
                [] => quote(&v.name),
                fields => format!("{}({})", quote(&v.name), list(fields, |ty| p.ty(ty))),
            });
            let variants: Vec<String> = variants.collect();
            let space = if variants.is_empty() { "" } else { " " };
            let variants = list(&variants, String::clone);
            p.line(&format!("box {} {{{space}{variants}{space}}}", p.boxes.label(i)));
        });
        self.section(&module.constants, |p, i, constant| {
            let init = p.function_name(constant.init.0);
            p.line(&format!("constant {} = {init}", p.constants.label(i)));
        });
        for function in &module.functions {
            self.out.push('\n');
            self.function(function);
        }
        if !module.library.is_empty() {
            self.out.push('\n');
            self.line(&format!("library {}", list(&module.library, |file| file.0.to_string())));
        }
        if self.sites {
            self.section(&module.sites, |p, i, site| p.line(&site_text(i, site)));
        }
        self.out
    }

    fn section<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, usize, &T)) {
        if !items.is_empty() {
            self.out.push('\n');
        }
        items.iter().enumerate().for_each(|(i, item)| each(self, i, item));
    }

    fn function_name(&self, id: u32) -> String {
        // Only in modules that do not lint is there no such function; the parser finds none either.
        let function = self.module.functions.get(id as usize);
        function.map_or("`?`".to_string(), |f| quote(&f.name))
    }

    fn function(&mut self, function: &Function) {
        self.labels = labels(function);
        let params = list(&function.params, |var| self.definition(function, *var));
        let results = list(&function.results, |ty| self.ty(ty));
        let mut head = format!("fn {}({params}) ->{BREAK}({results})", quote(&function.name));
        if function.shown != function.name {
            head += &format!("{BREAK}shown {}", quote(&function.shown));
        }
        if function.library {
            head += &format!("{BREAK}library");
        }
        if self.sites && !function.span.is_none() {
            head += &format!("{BREAK}at {}", span_text(function.span));
        }
        self.line(&(head + " {"));
        self.block(function, &function.body, "return");
        self.line("}");
    }

    /// The statements of a block and its results after this word.
    fn block(&mut self, function: &Function, block: &Block, word: &str) {
        deep(|| {
            self.indent += 1;
            for stmt in &block.stmts {
                self.stmt(function, stmt);
            }
            if !block.results.is_empty() {
                self.line(&format!("{word} {}", self.atoms(&block.results)));
            }
            self.indent -= 1;
        });
    }

    fn stmt(&mut self, function: &Function, stmt: &Stmt) {
        let mut text = list(&stmt.results, |var| self.definition(function, *var));
        if !text.is_empty() {
            text += " = ";
        }
        text += &self.head(&stmt.op);
        if self.sites {
            text += &format!(" @{}", stmt.site.0);
        }
        let mut blocks = Vec::new();
        regions(&stmt.op, |block| blocks.push(block));
        if blocks.is_empty() {
            self.line(&text);
            return;
        }
        self.line(&(text + " {"));
        match &stmt.op {
            Op::Switch { arms, default, .. } => {
                self.indent += 1;
                let values = arms.iter().map(|(value, block)| (value.to_string(), block));
                let default = default.iter().map(|block| ("else".to_string(), block));
                for (value, block) in values.chain(default) {
                    self.line(&format!("{value} {{"));
                    self.block(function, block, "yield");
                    self.line("}");
                }
                self.indent -= 1;
            }
            op => {
                let between = if matches!(op, Op::If { .. }) { "} else {" } else { "} do {" };
                for (i, block) in blocks.into_iter().enumerate() {
                    if i > 0 {
                        self.line(between);
                    }
                    self.block(function, block, "yield");
                }
            }
        }
        self.line("}");
    }

    // Types and operands

    fn ty(&self, ty: &FlatTy) -> String {
        match ty {
            FlatTy::Real => "Real".to_string(),
            FlatTy::Int => "Int".to_string(),
            FlatTy::Bool => "Bool".to_string(),
            FlatTy::Text => "Text".to_string(),
            FlatTy::Array(elem, rank) => "[]".repeat(usize::from(*rank)) + &self.elem(*elem),
            FlatTy::Box(id) => format!("&{}", self.boxes.label(id.0 as usize)),
            FlatTy::Acc(rank) => format!("Acc[{rank}]"),
            FlatTy::Stack(elems) => format!("Stack[{}]", list(elems, |elem| self.elem(*elem))),
        }
    }

    fn elem(&self, elem: Elem) -> String {
        self.ty(&elem.ty())
    }

    fn var(&self, var: Var) -> String {
        // Only in functions that do not lint is there none.
        let label = self.labels.get(var.0 as usize).filter(|label| !label.is_empty());
        label.cloned().unwrap_or_else(|| format!("`?`.{}", var.0))
    }

    /// A variable with its type, where it is defined.
    fn definition(&self, function: &Function, var: Var) -> String {
        match function.vars.get(var.0 as usize) {
            Some(info) => format!("{}: {}", self.var(var), self.ty(&info.ty)),
            None => self.var(var),
        }
    }

    fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Var(var) => self.var(*var),
            Atom::Real(x) => print_real(*x),
            Atom::Int(n) => n.to_string(),
            Atom::Bool(b) => b.to_string(),
            Atom::Unused(ty) => format!("_[{}]", self.ty(ty)),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        list(atoms, |atom| self.atom(atom))
    }

    fn carried(&self, carried: &[Carried]) -> String {
        list(carried, |Carried { param, init }| {
            // A variable of a loop has the type of its first value.
            format!("{} = {}", self.var(*param), self.atom(init))
        })
    }

    /// An operation, up to its blocks.
    fn head(&self, op: &Op) -> String {
        let word = row(op).word;
        match op {
            Op::Text(text) => format!("{word} {}", escape(text, '"')),
            Op::New(id, tag, fields) => {
                let variants = self.variants.get(id.0 as usize);
                let variant = match variants {
                    Some(names) => names.label(*tag as usize),
                    None => Names::new([]).label(*tag as usize),
                };
                let ty = self.boxes.label(id.0 as usize);
                format!("{word} {ty}:{variant}({})", self.atoms(fields))
            }
            Op::Call(id, args) => {
                format!("{word} {}({})", self.function_name(id.0), self.atoms(args))
            }
            Op::Constant(id) => format!("{word} {}", self.constants.label(id.0 as usize)),
            Op::If { cond: on, then: _, otherwise: _ } | Op::Switch { on, arms: _, default: _ } => {
                format!("{word} {}", self.atom(on))
            }
            Op::For { count, index, carried, body: _ } => {
                let head = format!("{word} {} < {}", self.var(*index), self.atom(count));
                match &carried[..] {
                    [] => head,
                    carried => format!("{head} with{BREAK}({})", self.carried(carried)),
                }
            }
            Op::While { carried, cond: _, body: _ } => {
                format!("{word} ({})", self.carried(carried))
            }
            Op::Build { count, index, body: _ } => {
                format!("{word} {} < {}", self.var(*index), self.atom(count))
            }
            Op::Reduce { how, count, index, body: _ } => {
                let how = list(how, |how| reduction_name(*how).to_string());
                format!("{word}[{how}] {} < {}", self.var(*index), self.atom(count))
            }
            op => {
                let mut atoms = Vec::new();
                operands(op, |atom| atoms.push(self.atom(atom)));
                format!("{}({})", self.name(op), atoms.join(&format!(",{BREAK}")))
            }
        }
    }

    /// The word of an operation, with what it has besides operands.
    fn name(&self, op: &Op) -> String {
        let word = row(op).word;
        match op {
            Op::Real(RealOp::Polygamma(order), _) => format!("{word}.polygamma[{order}]"),
            Op::Real(op, _) => format!("{word}.{}", op.name()),
            Op::Int(op, _) | Op::IntFits(op, _) => format!("{word}.{}", op.name()),
            Op::TextOp(op, _) => format!("{word}.{}", op.name()),
            Op::Compare(comparison, scalar, ..) => {
                format!("{}[{}]", comparison.name(), self.ty(&scalar.ty()))
            }
            Op::Round(rounding, _) => rounding.name().to_string(),
            Op::RoundFits(rounding, _) => format!("{word}.{}", rounding.name()),
            Op::Show(scalar, _) => format!("{word}[{}]", self.ty(&scalar.ty())),
            Op::Check(Check::Size { what, .. }) | Op::Stop(Stop::Shape { what, .. }) => {
                format!("{word}[{}]", escape(what, '"'))
            }
            Op::Dim(_, dim) => format!("{word}[{dim}]"),
            Op::Elements(elem, _) => format!("{word}[{}]", self.elem(*elem)),
            Op::Empty(elem, rank) => format!("{word}[{}, {rank}]", self.elem(*elem)),
            Op::Field { tag, index, .. } => format!("{word}[{tag}, {index}]"),
            Op::StackNew(elems) => format!("{word}[{}]", list(elems, |elem| self.elem(*elem))),
            _ => word.to_string(),
        }
    }
}

/// Texts with commas, and possible breaks, between them.
fn list<T>(items: &[T], each: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(each).collect();
    items.join(&format!(",{BREAK}"))
}

pub(crate) fn reduction_name(how: Reduction) -> &'static str {
    match how {
        Reduction::Add => "add",
        Reduction::Max => "max",
        Reduction::Min => "min",
    }
}

/// What stands for the variables of a function, by index; empty for those that it does not define.
fn labels(function: &Function) -> Vec<String> {
    let mut labels = vec![String::new(); function.vars.len()];
    let mut seen: HashMap<Option<&Name>, u32> = HashMap::new();
    definitions(function, &mut |var| {
        let Some(info) = function.vars.get(var.0 as usize) else { return };
        let count = seen.entry(info.name.as_ref()).or_default();
        *count += 1;
        labels[var.0 as usize] = match &info.name {
            None => format!("%{count}"),
            Some(name) if *count == 1 => quote(name),
            Some(name) => format!("{}.{count}", quote(name)),
        };
    });
    labels
}

fn span_text(span: Span) -> String {
    if span.is_none() {
        "none".to_string()
    } else {
        format!("{}:{}-{}", span.file.0, span.start, span.end)
    }
}

fn site_text(position: usize, site: &Site) -> String {
    let place = format!("site {position} = {}", span_text(site.span));
    match &site.inlined {
        None => place,
        Some(Inlined { function, library, at: SiteId(at) }) => {
            let library = if *library { " library" } else { "" };
            format!("{place} in {}{library} at {at}", quote(function))
        }
    }
}
