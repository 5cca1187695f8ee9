//! Whether the rules of `with_derivative` and `with_exact_derivative` are linear in their tangents.
//!
//! What comes in: a program, and the definitions in it that take rules. What goes out: for each rule a verdict, with the
//! reason. A rule `(x, dx) -> (value, tangent)` is linear if dx, and what is made of it, goes into the tangent by linear
//! operations alone: sums, differences, products with what is free of dx, quotients by it, choices and loops that do not
//! depend on dx, derivatives along dx. The value has to be free of dx.
//!
//! An abstract interpreter evaluates the program without its numbers ([`value`]), from each of its definitions on, so that
//! functions are followed to where they are called. At a function that takes a rule, the rule is called with
//! a point and a tangent ([`number`]). A verdict "not linear" is certain: some branch of the rule is not. What cannot be
//! seen (a function that is not known, numbers that may or may not be made of dx, a constant that may be 0) is left to
//! the run.
//!
//! | file | what |
//! |---|---|
//! | `number.rs` | numbers: the part that is free of the tangent, and how they depend on it |
//! | `value.rs` | values |
//! | `walk.rs`, `operations.rs` | evaluation: terms and calls; operations and derivatives |

mod number;
mod operations;
mod value;
mod walk;

use crate::eval::error::written;
use crate::term::{GlobalId, Term, TermKind};
use crate::typing::first_order;
use crate::{Program, Ty};
use diffeo_base::{Diagnostic, FileId, Name, Span};
use number::{Constant, Dependence, Number};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use value::{Closure, Value};
use walk::Calls;

/// How many terms are evaluated at most.
const FUEL: u64 = 4_000_000;
/// How many rules within rules are looked at.
const MOST_NESTED: usize = 16;
/// How many functions that give functions are called.
const MOST_CURRIED: usize = 4;

/// Why a rule is not linear, or may not be.
#[derive(Clone, PartialEq, Debug)]
pub enum Why {
    /// An operation or function of what is made of the tangent.
    Operation(Name),
    /// A product of two numbers that are made of it.
    Product,
    /// A quotient by such a number.
    Quotient,
    /// A comparison with such a number, on which a result depends.
    Comparison,
    /// A part of the tangent that the rule gives is free of the one that it takes.
    Constant,
    /// The value depends on the tangent.
    Value,
    /// A function that is not known.
    Function,
    /// A function of what is made of the tangent, which has a rule that need not be its derivative.
    Rule,
    /// A derivative where the function or the point is made of the tangent.
    Derivative,
    /// The program is too large.
    Size,
}

/// Why and where.
#[derive(Clone, PartialEq, Debug)]
pub struct Reason {
    /// Why.
    pub why: Why,
    /// Where.
    pub span: Span,
}

/// Linearity of a rule in its tangent.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It is linear.
    Linear,
    /// The analysis cannot tell; the run checks it.
    Unseen(Reason),
    /// It is not linear.
    Nonlinear(Reason),
}

impl Verdict {
    /// Keeps the worse of two verdicts, of equally bad ones the first.
    fn add(&mut self, new: Verdict) {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Linear => 0,
            Verdict::Unseen(_) => 1,
            Verdict::Nonlinear(_) => 2,
        };
        if rank(&new) > rank(self) {
            *self = new;
        }
    }
}

/// A rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Where the function that takes it is named, and its name.
    pub at: (Span, Name),
    /// Where it is written, and its name.
    pub rule: (Span, Option<Name>),
    /// Whether it is linear, wherever it is given there.
    pub verdict: Verdict,
    /// Whether the program leads there, as far as functions that are given from outside are no part of it.
    pub reached: bool,
}

/// Linearity of all rules of a program.
pub struct Findings {
    /// The rules, in the order in which they were met.
    pub rules: Vec<Finding>,
    /// Whether some may not have been met.
    pub lost: bool,
}

/// The part of a program whose rules are checked.
pub struct Search<'p> {
    /// The program.
    pub program: &'p Program,
    /// The definitions that take rules.
    pub takers: &'p [GlobalId],
    /// The definitions from which on rules are looked for.
    pub roots: &'p [GlobalId],
    /// The file of the library whose functions are no more than their formulas.
    pub prelude: Option<FileId>,
    /// Whether the library's own rules are looked at.
    pub library: bool,
}

/// The rules that definitions of a program lead to.
pub fn rules(search: &Search) -> Findings {
    let Search { program, roots, .. } = *search;
    let mut rules = Rules {
        search,
        program,
        free: HashMap::new(),
        calls: Calls::default(),
        judging: Vec::new(),
        findings: Vec::new(),
        in_rule: false,
        reached: true,
        lost: Cell::new(false),
        fuel: FUEL,
    };
    let ty = |id: &GlobalId| &program.globals[id.0 as usize].ty;
    let data = |id: &&GlobalId| match ty(id) {
        Ty::Fun(f) => first_order(&f.0, program),
        _ => true,
    };
    let (own, given): (Vec<&GlobalId>, Vec<&GlobalId>) = roots.iter().partition(data);
    let values: Vec<Value> = own.iter().map(|id| rules.root(**id)).collect();
    let lost = rules.lost.get();
    // From here on functions are called that the program may not call, with arguments that it may not have.
    rules.reached = false;
    let others: Vec<Value> = given.iter().map(|id| rules.root(**id)).collect();
    for value in values.iter().chain(&others) {
        rules.explore(value, MOST_CURRIED);
    }
    Findings { rules: rules.findings, lost }
}

/// The analysis under way.
struct Rules<'p> {
    search: &'p Search<'p>,
    program: &'p Program,
    /// What functions capture.
    free: HashMap<*const Term, Rc<[u32]>>,
    calls: Calls<'p>,
    /// The rules that are being looked at.
    judging: Vec<Closure<'p>>,
    findings: Vec<Finding>,
    in_rule: bool,
    reached: bool,
    lost: Cell<bool>,
    fuel: u64,
}

impl<'p> Rules<'p> {
    /// The value of a definition, or what it gives for any argument.
    fn root(&mut self, id: GlobalId) -> Value<'p> {
        let global = &self.program.globals[id.0 as usize];
        let f = self.global(id, Span::NONE);
        match &global.ty {
            Ty::Fun(_) => self.apply(&f, &Value::Any(Number::FREE), global.span),
            _ => f,
        }
    }

    /// Calls the functions in a value with any argument.
    fn explore(&mut self, value: &Value<'p>, depth: usize) {
        if depth == 0 || !value.has_functions() {
            return;
        }
        match value {
            Value::Never | Value::Any(_) | Value::Plain(..) | Value::Within => {}
            Value::Tuple(parts) => parts.iter().for_each(|part| self.explore(part, depth)),
            Value::Array(element, _) => self.explore(element, depth),
            Value::Data(data) => {
                for field in data.cells.iter().flat_map(|cell| cell.fields.iter()) {
                    self.explore(field, depth);
                }
            }
            Value::Fun(..) => {
                let result = self.apply(value, &Value::Any(Number::FREE), Span::NONE);
                self.explore(&result, depth - 1);
            }
        }
    }

    /// A function and a rule are given to the one that is named here.
    fn given(&mut self, arg: &Value<'p>, taker: GlobalId, at: Span) {
        let rule = arg.part(1).captured();
        let functions: Vec<Closure> = match &rule {
            Value::Fun(functions, _) => functions.to_vec(),
            Value::Never => Vec::new(),
            _ => vec![Closure::Unknown(Number::FREE)],
        };
        for rule in functions {
            if self.judging.contains(&rule) {
                continue;
            }
            let (name, span, lam) = match &rule {
                Closure::Lam { lam, name, .. } => (name.clone(), lam.span, Some(*lam)),
                Closure::Global(id, _) => {
                    let global = &self.program.globals[id.0 as usize];
                    (Some(written(&global.name)), global.span, Some(&global.body))
                }
                Closure::Pullback(_) | Closure::Unknown(_) => (None, at, None),
            };
            let span = if self.in_library(span) { at } else { span };
            let verdict = if self.judging.len() < MOST_NESTED {
                self.judging.push(rule.clone());
                let in_rule = std::mem::replace(&mut self.in_rule, true);
                let pair = [Number::POINT, Number::TANGENT].map(Value::Any);
                let mut result = self.call(&rule, &Value::tuple(pair), span);
                if let Some(to) = self.result_type(taker) {
                    result = result.typed(&Ty::Tuple([to.clone(), to].into()), self.program);
                }
                self.in_rule = in_rule;
                self.judging.pop();
                judge(&result, lam.map_or([span; 2], |lam| parts(lam, span)))
            } else {
                self.lost.set(true);
                Verdict::Unseen(Reason { why: Why::Size, span })
            };
            let taker = written(&self.program.globals[taker.0 as usize].name);
            let finding =
                Finding { at: (at, taker), rule: (span, name), verdict, reached: self.reached };
            self.record(finding);
        }
    }

    /// What the function gives whose derivative the rule is.
    fn result_type(&self, taker: GlobalId) -> Option<Ty> {
        let Ty::Fun(taker) = &self.program.globals[taker.0 as usize].ty else { return None };
        match &taker.1 {
            Ty::Fun(function) => Some(function.1.clone()),
            _ => None,
        }
    }

    fn record(&mut self, new: Finding) {
        let same = |old: &&mut Finding| old.at == new.at && old.rule == new.rule;
        let Some(old) = self.findings.iter_mut().find(same) else {
            self.findings.push(new);
            return;
        };
        // A call that the program does not reach leaves open nothing that its own calls have shown.
        let shown = old.reached && !new.reached && old.verdict == Verdict::Linear;
        old.reached |= new.reached;
        if !(shown && matches!(new.verdict, Verdict::Unseen(_))) {
            old.verdict.add(new.verdict);
        }
    }
}

/// Where the value and the tangent stand that a rule gives, if it ends with a pair.
fn parts(lam: &Term, otherwise: Span) -> [Span; 2] {
    let mut term = lam;
    loop {
        term = match &term.kind {
            TermKind::Lam(_, body) | TermKind::Let(_, body) | TermKind::LetRec(_, _, body) => body,
            TermKind::Tuple(_, terms) if terms.len() == 2 => {
                return [&terms[0], &terms[1]].map(|t| t.span)
            }
            _ => return [otherwise; 2],
        };
    }
}

/// The verdict on a rule that gives this; where its value and its tangent are written.
fn judge(result: &Value, [value, tangent]: [Span; 2]) -> Verdict {
    let mut verdict = Verdict::Linear;
    if *result == Value::Never {
        return verdict;
    }
    let reason = |why, span| Reason { why, span };
    let shape = |on: &Dependence| match on {
        Dependence::Free | Dependence::Linear | Dependence::Either => Verdict::Linear,
        Dependence::Unseen(reason) => Verdict::Unseen(reason.clone()),
        Dependence::Nonlinear(reason) => Verdict::Nonlinear(reason.clone()),
    };
    verdict.add(match result.part(0).dependence(true) {
        Dependence::Free => Verdict::Linear,
        Dependence::Linear => Verdict::Nonlinear(reason(Why::Value, value)),
        Dependence::Either => Verdict::Unseen(reason(Why::Value, value)),
        other => shape(&other),
    });
    let mut verdicts = Vec::new();
    let mut shapes = Vec::new();
    result.part(1).leaves(
        &mut |n| {
            verdicts.push(match (&n.on, n.constant) {
                (Dependence::Unseen(_) | Dependence::Nonlinear(_), _) => shape(&n.on),
                (_, constant) if constant.is_seen() => {
                    Verdict::Nonlinear(reason(Why::Constant, tangent))
                }
                (Dependence::Free | Dependence::Linear, Constant::Zero) => Verdict::Linear,
                (Dependence::Free | Dependence::Linear | Dependence::Either, _) => {
                    Verdict::Unseen(reason(Why::Constant, tangent))
                }
            });
        },
        &mut |on| shapes.push(shape(on)),
        // Other data in a tangent is not looked at.
        &mut |_| {},
    );
    verdicts.into_iter().chain(shapes).for_each(|new| verdict.add(new));
    verdict
}

impl Finding {
    /// The message for a rule that is not linear.
    pub fn to_diagnostic(&self, reason: &Reason) -> Diagnostic {
        let ((at, taker), (rule, name)) = (&self.at, &self.rule);
        let name = name.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
        let message = match reason.why {
            Why::Value => {
                format!("the value that the rule{name} of `{taker}` gives depends on its tangent")
            }
            _ => format!("the rule{name} of `{taker}` is not linear in its tangent"),
        };
        let text = match &reason.why {
            Why::Operation(op) => format!("`{op}` of what is made of the tangent"),
            Why::Product => "both factors are made of the tangent".to_string(),
            Why::Quotient => "the divisor is made of the tangent".to_string(),
            Why::Comparison => "what is made of the tangent decides this".to_string(),
            Why::Constant => "not 0 where the tangent is 0".to_string(),
            Why::Value => "made of the tangent".to_string(),
            Why::Function | Why::Rule | Why::Derivative | Why::Size => {
                "what becomes of the tangent here cannot be seen".to_string()
            }
        };
        let mut d = Diagnostic::error("nonlinear-rule", reason.span, message).primary_text(text);
        let within = |outer: &Span, inner: Span| {
            outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
        };
        if !within(rule, reason.span) {
            d = d.label(*rule, "the rule");
        }
        if rule != at {
            d = d.label(*at, "given here");
        }
        let help = match reason.why {
            Why::Constant => {
                "a rule `fn (x, dx) -> (value, tangent)` gives the derivative along dx: multiply the slope by dx"
            }
            Why::Value => "the first component is the function's value at the point alone",
            _ => {
                "what is made of the tangent may only be added, selected, and multiplied or divided by what is free \
                 of it, so that reverse mode can transpose the rule"
            }
        };
        d.help(help)
    }
}
