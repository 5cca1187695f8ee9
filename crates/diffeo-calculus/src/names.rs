//! The names in the text of Core: of the operations, and of things that are known by their position
//! (definitions, variant types, constructors). Shared by the printer and the parser, so that the two agree.

pub use crate::prim::table::listed_prims;
pub(crate) use crate::prim::table::{plain_prim, typed_prim};
use crate::prim::{real, Comparison, DiffOp, IntOp, Prim, RealOp, Rounding, TextOp};
use crate::show::is_escaped;
use crate::ty::Ty;
use crate::Program;
use diffeo_base::Name;
use std::collections::HashMap;
use std::fmt::Write;

/// Words that an unquoted name cannot be.
pub const KEYWORDS: &[&str] = &[
    "data", "def", "fn", "let", "letrec", "in", "if", "then", "else", "case", "of", "build",
    "loop", "for", "while", "do", "tuple", "proj", "con", "array", "true", "false", "nan", "inf",
    "is", "Real", "Int", "Bool", "String", "_",
];

/// A name as the text shows it: in backquotes unless it is an identifier.
pub fn quote(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(starts_identifier)
        && chars.all(continues_identifier)
        && !KEYWORDS.contains(&name);
    if plain {
        name.to_string()
    } else {
        escape(name, '`')
    }
}

/// A text between two `quote` characters, on one line.
pub fn escape(text: &str, quote: char) -> String {
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if is_escaped(c) => {
                write!(out, "\\u{{{:x}}}", c as u32).expect("a String takes all text")
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// The text that [`escape`] wrote, which starts after the quote, and how many bytes it takes with the second
/// quote.
///
/// # Errors
/// What is wrong, and after how many bytes.
pub fn unescape(rest: &str, quote: char) -> Result<(String, usize), (String, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Ok((out, at + c.len_utf8()));
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => out.push('\n'),
            Some((_, 't')) => out.push('\t'),
            Some((_, c)) if c == '\\' || c == quote => out.push(c),
            Some((at, 'u')) => {
                let digits = rest[at + 1..].strip_prefix('{').and_then(|r| r.split_once('}'));
                let number = digits.and_then(|(digits, _)| u32::from_str_radix(digits, 16).ok());
                match (digits, number.and_then(char::from_u32)) {
                    (Some((digits, _)), Some(c)) => {
                        out.push(c);
                        chars.nth(digits.chars().count() + 1);
                    }
                    (_, _) => return Err(("no character has this number".to_string(), at)),
                }
            }
            Some((at, _)) => return Err(("unknown escape".to_string(), at)),
            None => break,
        }
    }
    Err((format!("a `{quote}` is missing"), rest.len()))
}

/// Whether an identifier may start with this.
pub fn starts_identifier(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Whether an identifier may go on with this.
pub fn continues_identifier(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Things that are known by their position and have names: a name that only one of them has stands for
/// it, otherwise `name.position` does.
pub struct Names {
    list: Vec<Name>,
    positions: HashMap<Name, Vec<u32>>,
}

impl Names {
    /// The names of the things, by position.
    pub fn new(names: impl IntoIterator<Item = Name>) -> Names {
        let list: Vec<Name> = names.into_iter().collect();
        let mut positions: HashMap<Name, Vec<u32>> = HashMap::new();
        for (i, name) in list.iter().enumerate() {
            positions.entry(name.clone()).or_default().push(i as u32);
        }
        Names { list, positions }
    }

    /// What stands for the thing at this position in the text.
    pub fn label(&self, position: usize) -> String {
        match self.list.get(position) {
            // Only in programs that do not lint; the parser finds nothing of this name.
            None => format!("`?`.{position}"),
            Some(name) if self.positions[name].len() == 1 => quote(name),
            Some(name) => format!("{}.{position}", quote(name)),
        }
    }

    /// The position of the thing that `name` or `name.number` stands for.
    pub fn find(&self, name: &Name, number: Option<u32>) -> Option<usize> {
        let positions = self.positions.get(name)?;
        match number {
            Some(number) => positions.contains(&number).then_some(number as usize),
            None => (positions.len() == 1).then(|| positions[0] as usize),
        }
    }
}

/// The names of a program.
pub(crate) struct ProgramNames {
    pub(crate) datas: Names,
    pub(crate) constructors: Vec<Names>,
    pub(crate) globals: Names,
}

impl ProgramNames {
    pub(crate) fn new(program: &Program) -> ProgramNames {
        ProgramNames {
            datas: Names::new(program.datas.iter().map(|d| d.name.clone())),
            constructors: program
                .datas
                .iter()
                .map(|d| Names::new(d.constructors.iter().map(|c| c.name.clone())))
                .collect(),
            globals: Names::new(program.globals.iter().map(|g| g.name.clone())),
        }
    }
}

/// Operations with a name.
pub trait Named: Copy + 'static {
    /// Those that the name alone determines, because they have no parameters.
    const ALL: &'static [Self];

    /// The name.
    fn name(self) -> &'static str;

    /// The operation of this name, if it has no parameters.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }
}

macro_rules! names {
    ($ty:ident { $($variant:ident => $name:literal,)* } with parameters { $($more:ident => $text:literal,)* }) => {
        impl Named for $ty {
            const ALL: &'static [$ty] = &[$($ty::$variant,)*];

            fn name(self) -> &'static str {
                match self {
                    $($ty::$variant => $name,)*
                    $($ty::$more { .. } => $text,)*
                }
            }
        }
    };
}

impl Named for RealOp {
    const ALL: &'static [RealOp] = real::PLAIN;

    #[allow(clippy::misnamed_getters)] // The table's `name` is that of users.
    fn name(self) -> &'static str {
        real::row(self).symbol
    }
}
names! {
    IntOp {
        Add => "add",
        Sub => "sub",
        Mul => "mul",
        Div => "div",
        Rem => "rem",
        Neg => "neg",
        Pow => "pow",
        Abs => "abs",
        Sign => "sign",
        Min => "min",
        Max => "max",
        BitAnd => "bit_and",
        BitOr => "bit_or",
        BitXor => "bit_xor",
        ShiftLeft => "shift_left",
        ShiftRight => "shift_right",
        WrappingAdd => "wrapping_add",
        WrappingMul => "wrapping_mul",
    } with parameters {}
}

names! {
    TextOp {
        Size => "size",
        Byte => "byte",
        Slice => "slice",
        Find => "find",
        Character => "character",
        Lower => "lower",
        Upper => "upper",
        Digits => "digits",
        Number => "number",
    } with parameters {}
}

names! {
    Comparison {
        Eq => "eq",
        Ne => "ne",
        Lt => "lt",
        Le => "le",
        Gt => "gt",
        Ge => "ge",
    } with parameters {}
}

names! {
    Rounding {
        Floor => "floor",
        Ceil => "ceil",
        Round => "round",
        Trunc => "trunc",
    } with parameters {}
}

names! {
    DiffOp {
        Rd => "rd",
        RdAlong => "rd_along",
        Vjp => "vjp",
        Jvp => "jvp",
        StopGradient => "stop_gradient",
        Checkpoint => "checkpoint",
        WithDerivative => "with_derivative",
        WithExactDerivative => "with_exact_derivative",
        Decisions => "decisions",
        Deciding => "deciding",
        Enclose => "enclose",
        Dependence => "dependence",
        AllPaths => "all_paths",
    } with parameters {
        Jet => "jet",
    }
}

/// The name of an operation, and the type that stands in brackets after it.
pub fn prim_name(prim: &Prim) -> (String, Option<&Ty>) {
    match prim {
        Prim::Real(op) => (format!("real.{}", op.name()), None),
        Prim::Int(op) => (format!("int.{}", op.name()), None),
        Prim::Text(op) => (format!("text.{}", op.name()), None),
        Prim::Compare(comparison, ty) => (comparison.name().to_string(), Some(ty)),
        Prim::Round(rounding) => (rounding.name().to_string(), None),
        Prim::Sizes(_, ty) => ("sizes".to_string(), Some(ty)),
        Prim::Lift(lift) => ("lift".to_string(), Some(&lift.from)),
        prim => prim.row().map_or_else(Default::default, |(row, ty)| (row.word.to_string(), ty)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prim::{Diff, SizePattern, SizeRef, SizeShape};
    use crate::term::{Global, GlobalId, Lit, Term, TermKind};
    use crate::{alpha_eq_programs, lint, parse, print, type_of, Env};
    use diffeo_base::Span;
    use std::rc::Rc;

    fn global(name: &str, ty: Ty, kind: TermKind) -> Global {
        Global { name: name.into(), ty, body: Term::new(kind, Span::NONE), span: Span::NONE }
    }

    /// A program that applies an operation to constants of the types that it needs.
    fn program(signature: (Vec<Ty>, Ty), apply: impl FnOnce(Vec<Term>) -> TermKind) -> Program {
        let (params, result) = signature;
        let arguments = (0..params.len() as u32)
            .map(|i| Term::new(TermKind::Global(GlobalId(i)), Span::NONE))
            .collect();
        let message = || Term::new(TermKind::Lit(Lit::String("none".into())), Span::NONE);
        let mut globals: Vec<Global> = params
            .into_iter()
            .map(|ty| global("c", ty.clone(), TermKind::Prim(Prim::Fail(ty), vec![message()])))
            .collect();
        globals.push(global("main", result, apply(arguments)));
        Program {
            datas: Vec::new(),
            globals: globals.into_iter().map(Rc::new).collect(),
            library: Vec::new(),
        }
    }

    fn reads_back(program: &Program) {
        let text = print(program);
        let parsed = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert!(alpha_eq_programs(program, &parsed), "{text}");
        assert_eq!(print(&parsed), text);
    }

    /// Every operation, those with a type at this one.
    fn prims(ty: &Ty) -> Vec<Prim> {
        let sizes = SizePattern {
            names: vec!["n".into(), "m".into(), "let".into()],
            given: 1,
            parts: vec!["x".into(), "let".into()],
            shape: SizeShape::Array(SizeRef::Name(2), Box::new(SizeShape::Any)),
        };
        let mut all = listed_prims(ty);
        all.extend(RealOp::ALL.iter().map(|op| Prim::Real(*op)));
        all.push(Prim::Real(RealOp::Polygamma(3)));
        all.extend(IntOp::ALL.iter().map(|op| Prim::Int(*op)));
        all.extend(TextOp::ALL.iter().map(|op| Prim::Text(*op)));
        all.extend(Comparison::ALL.iter().map(|c| Prim::Compare(*c, ty.clone())));
        all.extend(Rounding::ALL.iter().map(|rounding| Prim::Round(*rounding)));
        all.push(Prim::Sizes(Rc::new(sizes), Ty::array(ty.clone())));
        all
    }

    #[test]
    fn every_operation_reads_back_and_has_its_types() {
        let rows = Ty::array(Ty::array(Ty::Real));
        let mut linted = std::collections::HashSet::new();
        for prim in prims(&Ty::Real).into_iter().chain(prims(&rows)) {
            let name = prim_name(&prim).0;
            for arguments in [1, 4] {
                let (params, result) = prim.signature(arguments);
                let program =
                    program((params, result.clone()), |args| TermKind::Prim(prim.clone(), args));
                reads_back(&program);
                let main = &program.globals[program.globals.len() - 1].body;
                assert_eq!(type_of(main, &program, &Env::new()), Some(result), "{name}");
                let violations = lint(&program);
                match prim.restriction(&program) {
                    Some(why) => assert!(violations.iter().any(|v| v.contains(why)), "{name}"),
                    None => {
                        assert_eq!(violations, Vec::<String>::new());
                        linted.insert(name.clone());
                    }
                }
            }
        }
        // Each is right at one of the two types.
        assert_eq!(linted.len(), prims(&Ty::Real).len());
    }

    #[test]
    fn every_derivative_reads_back_and_has_its_types() {
        let record = Ty::Record(vec![("a".into(), Ty::Real), ("b'".into(), Ty::Int)].into());
        let ops = DiffOp::ALL.iter().copied().chain([DiffOp::Jet { k: 2, r: 3 }]);
        for op in ops {
            let to = if op == DiffOp::StopGradient { record.clone() } else { Ty::array(Ty::Real) };
            let diff = Diff { op, from: record.clone(), to };
            let signature = diff.signature();
            let program = program(signature.clone(), |args| TermKind::Diff(diff, args));
            reads_back(&program);
            assert_eq!(lint(&program), Vec::<String>::new());
            let main = &program.globals[program.globals.len() - 1].body;
            assert_eq!(type_of(main, &program, &Env::new()), Some(signature.1));
        }
    }

    #[test]
    fn an_operation_has_one_name() {
        let mut seen = std::collections::HashSet::new();
        let prims = prims(&Ty::Real);
        let names = prims.iter().map(|prim| prim_name(prim).0);
        for name in names.chain(DiffOp::ALL.iter().map(|op| op.name().to_string())) {
            assert!(seen.insert(name.clone()), "{name}");
        }
    }
}
