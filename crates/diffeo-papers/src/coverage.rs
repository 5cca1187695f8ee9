//! Which system has which form of Core. The matches are exhaustive, so that a new form has to be given its row.
//!
//! `tests/it/coverage.rs` translates and runs a program for every cell, and compares the book's table with this one.

use diffeo_calculus::names::{listed_prims, prim_name, Named};
use diffeo_calculus::prim::{
    Comparison, DiffOp, IntOp, Lift, Lifting, Prim, RealOp, Rounding, SizePattern, SizeShape,
    TextOp,
};
use diffeo_calculus::term::{Term, TermKind};
use diffeo_calculus::ty::Ty;
use std::rc::Rc;

/// What a system does with a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The paper has it, here.
    Paper(&'static str),
    /// An extension of ours.
    Ours,
    /// It is refused by name, for this reason.
    Refused(&'static str),
}

use Coverage::{Ours, Paper, Refused};

/// A form and what each of [`SYSTEMS`] does with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CoverageRow {
    /// Its name, that of an operation as in the text of Core.
    pub form: String,
    /// By system.
    pub cells: [Coverage; 7],
}

/// The systems, in the order of [`CoverageRow::cells`].
pub const SYSTEMS: [&str; 7] = ["trace", "D⃗", "D_(k,R)", "(2,2)′", "D¹", "D²", "D"];

/// What the translations do with derivative terms.
const INSIDE_OUT: Coverage =
    Refused("the engines replace it first, by the operator that the system has");

/// What the papers of translations have, in the order of the systems.
const TRANSLATED: [Coverage; 6] = [
    Paper("Figure 3"),
    Paper("section 3.2"),
    Paper("section 3.2"),
    Paper("Figure 5"),
    Paper("Figure 7"),
    Paper("Figure 9"),
];

fn row(form: &str, trace: Coverage, rest: [Coverage; 6]) -> CoverageRow {
    let [a, b, c, d, e, f] = rest;
    CoverageRow { form: form.to_string(), cells: [trace, a, b, c, d, e, f] }
}

fn ours(form: &str) -> CoverageRow {
    row(form, Ours, [Ours; 6])
}

/// The row of a form.
pub fn of(kind: &TermKind) -> CoverageRow {
    let evaluated = Paper("Figures 2, 4");
    let mut sums = TRANSLATED;
    sums[1] = Paper("section 5.1");
    sums[2] = Paper("section 5.1");
    match kind {
        TermKind::Var(_) => row("variable", evaluated, TRANSLATED),
        // Separate translation.
        TermKind::Global(_) => {
            row("definition", evaluated, [Ours, Ours, Ours, Ours, Ours, Paper("section 7.5")])
        }
        TermKind::Lit(_) => row("constant", evaluated, TRANSLATED),
        TermKind::Lam(..) => row("λ", Ours, TRANSLATED),
        TermKind::App(..) => row("application", evaluated, TRANSLATED),
        TermKind::Let(..) => row("let", evaluated, TRANSLATED),
        TermKind::LetRec(..) => row("letrec", evaluated, [Ours; 6]),
        TermKind::Tuple(..) => row("tuple", evaluated, TRANSLATED),
        TermKind::Proj(..) => row("projection", evaluated, TRANSLATED),
        TermKind::Con(..) => row("constructor", Ours, sums),
        TermKind::Case(_) => row("case", Ours, sums),
        TermKind::If(..) => row("if", evaluated, [Ours; 6]),
        TermKind::Array(..) => ours("array"),
        TermKind::Build(_) => {
            row("build", Ours, [Ours, Ours, Ours, Ours, Ours, Paper("section 10.2")])
        }
        TermKind::Loop(_) => ours("loop"),
        TermKind::Prim(p, _) => of_prim(p),
        TermKind::Diff(d, _) => of_derivative(d.op),
    }
}

/// The names of the rows of forms that are no operations.
pub const FORMS: [&str; 15] = [
    "variable",
    "constant",
    "tuple",
    "projection",
    "let",
    "if",
    "definition",
    "letrec",
    "λ",
    "application",
    "constructor",
    "case",
    "array",
    "build",
    "loop",
];

fn of_prim(p: &Prim) -> CoverageRow {
    let (name, _) = prim_name(p);
    match p {
        Prim::Real(_) => {
            let mut cells = TRANSLATED;
            cells[0] = Paper("Figures 3, 14");
            cells[5] = Paper("Figures 9, 14");
            row("real.…", Paper("Figures 2, 4"), cells)
        }
        Prim::Int(_) => ours("int.…"),
        Prim::Text(_) => ours("text.…"),
        Prim::Round(_) => ours("floor, ceil, round, trunc"),
        // Predicates.
        Prim::Compare(..) => row("eq, ne, lt, le, gt, ge", Paper("Figures 2, 4"), [Ours; 6]),
        Prim::Index(_) => row(&name, Ours, [Ours, Ours, Ours, Ours, Ours, Paper("section 10.2")]),
        Prim::PowInt
        | Prim::Not
        | Prim::ToReal
        | Prim::IsNan
        | Prim::Add(_)
        | Prim::Sub(_)
        | Prim::Neg(_)
        | Prim::Scale(_)
        | Prim::Unscale(_)
        | Prim::MulElements(_)
        | Prim::DivElements(_)
        | Prim::ZeroOf(_)
        | Prim::Inner(_)
        | Prim::Ravel(_)
        | Prim::Unravel(_)
        | Prim::Length(_)
        | Prim::Slice(_)
        | Prim::Update(_)
        | Prim::Append(_)
        | Prim::Flatten(_)
        | Prim::Sum(_)
        | Prim::ArgSort(_)
        | Prim::Sizes(..)
        | Prim::AppendStrings
        | Prim::Show(_)
        | Prim::Labels(_)
        | Prim::Fail(_)
        | Prim::Trace(_)
        | Prim::Progress(_)
        | Prim::Warn => ours(&name),
        Prim::Lift(_) => {
            row(&name, Refused("only translated programs have it, which are not traced"), [Ours; 6])
        }
    }
}

fn of_derivative(op: DiffOp) -> CoverageRow {
    let name = op.name();
    match op {
        DiffOp::Rd => row(name, Paper("Figures 2, 4"), [INSIDE_OUT; 6]),
        DiffOp::Vjp | DiffOp::Jvp | DiffOp::Jet { .. } => row(name, Ours, [INSIDE_OUT; 6]),
        DiffOp::RdAlong => {
            let why = "its directions decide at kinks: the evaluator runs the program";
            row(name, Refused(why), [Refused(why); 6])
        }
        DiffOp::Dependence | DiffOp::AllPaths => {
            let why = "the evaluator finds patterns: it runs the program";
            row(name, Refused(why), [Refused(why); 6])
        }
        DiffOp::Enclose => {
            let why = "its Reals are intervals: the evaluator runs the program";
            row(name, Refused(why), [Refused(why); 6])
        }
        DiffOp::StopGradient
        | DiffOp::Checkpoint
        | DiffOp::WithDerivative
        | DiffOp::WithExactDerivative
        | DiffOp::Decisions
        | DiffOp::Deciding => ours(name),
    }
}

/// The rows of the forms in a term.
pub fn in_term(e: &Term) -> Vec<CoverageRow> {
    let mut rows = Vec::new();
    let mut pending = vec![e];
    while let Some(e) = pending.pop() {
        rows.push(of(&e.kind));
        e.each_child(|child| pending.push(child));
    }
    rows
}

/// The rows of all operations and derivative terms.
pub fn operations() -> Vec<CoverageRow> {
    let (names, parts, shape) = (Vec::new(), Vec::new(), SizeShape::Any);
    let pattern = SizePattern { names, given: 0, parts, shape };
    let lift = Lift { what: Lifting::Captures, systems: Vec::new(), from: Ty::Unit, to: Ty::Bool };
    let mut prims = listed_prims(&Ty::Real);
    prims.extend(RealOp::ALL.iter().map(|op| Prim::Real(*op)));
    prims.extend(IntOp::ALL.iter().map(|op| Prim::Int(*op)));
    prims.extend(TextOp::ALL.iter().map(|op| Prim::Text(*op)));
    prims.extend(Comparison::ALL.iter().map(|c| Prim::Compare(*c, Ty::Real)));
    prims.extend(Rounding::ALL.iter().map(|rounding| Prim::Round(*rounding)));
    prims.push(Prim::Sizes(Rc::new(pattern), Ty::Real));
    prims.push(Prim::Lift(Rc::new(lift)));
    let derivatives = DiffOp::ALL.iter().chain(&[DiffOp::Jet { k: 1, r: 1 }]);
    prims.iter().map(of_prim).chain(derivatives.map(|op| of_derivative(*op))).collect()
}

/// Rows as a table of Markdown.
pub fn table(rows: &[CoverageRow]) -> String {
    let mut out = format!("| form | {} |\n", SYSTEMS.join(" | "));
    out.push_str(&format!("|---|{}\n", "---|".repeat(SYSTEMS.len())));
    let mut reasons: Vec<&str> = Vec::new();
    for CoverageRow { form, cells } in rows {
        let mut texts = Vec::new();
        for cell in cells {
            texts.push(match cell {
                Paper(place) => (*place).to_string(),
                Ours => "ours".to_string(),
                Refused(reason) => {
                    let known = reasons.iter().position(|r| r == reason);
                    let number = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("refused ({})", number + 1)
                }
            });
        }
        out.push_str(&format!("| {form} | {} |\n", texts.join(" | ")));
    }
    for (i, reason) in reasons.iter().enumerate() {
        out.push_str(&format!("\n({}) {reason}.\n", i + 1));
    }
    out
}
