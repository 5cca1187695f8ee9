//! The messages of inference: both types or sizes that disagree, where each comes from, what to do.

use super::{Infer, GRADIENTS};
use crate::display::{mismatch, TypePrinter};
use crate::types::{Clash, Size, Ty};
use diffeo_base::{closest, field_name, Diagnostic, Help, Name, Span};
use diffeo_calculus::ty::WellKnown;
use std::rc::Rc;

/// A call of a function of several arguments with a single one of a type still unknown.
#[derive(Clone, Debug)]
pub(super) struct LoneArgument {
    /// The argument.
    pub(super) at: Span,
    /// The function's name.
    pub(super) name: Option<Name>,
    /// The type of the argument.
    pub(super) ty: Ty,
}

/// Why a type was expected.
#[derive(Clone, Debug)]
pub enum Because {
    /// Nothing in particular.
    Use,
    /// An annotation says so.
    Annotation(Span),
    /// The function takes it.
    Argument {
        /// The function.
        fun: Span,
        /// Its name.
        name: Option<Name>,
        /// How it is used, where it is one of the prelude that is often taken for another.
        usage: Option<&'static str>,
    },
    /// A function that is an argument gives it.
    Given {
        /// The function that takes the other.
        fun: Span,
        /// Its name.
        name: Option<Name>,
        /// As above.
        usage: Option<&'static str>,
    },
    /// The other branch has it.
    Branch {
        /// The branch before.
        other: Span,
    },
    /// The other elements have it.
    Element {
        /// The first element.
        first: Span,
    },
    /// Conditions are Bool.
    Condition,
    /// Indices are Int.
    Index,
    /// Only arrays are indexed.
    Indexed,
    /// Counts are Int.
    Count,
    /// Only arrays are iterated over.
    Over,
    /// The other operand has it.
    Operator {
        /// The operator.
        op: &'static str,
        /// The other operand.
        other: Span,
    },
    /// The operator works elementwise at arrays of Real only.
    Elementwise {
        /// The operator.
        op: &'static str,
    },
    /// The value on the left of `|>` goes into it.
    Piped {
        /// The value.
        value: Span,
    },
    /// The head of the list has it.
    Cons {
        /// The head.
        head: Span,
    },
    /// The loop starts with it.
    LoopBody {
        /// The first value.
        init: Span,
    },
    /// The record's field has it.
    Field {
        /// The field's name.
        field: Span,
    },
    /// The pattern is for it.
    Pattern,
}

impl Because {
    /// Why the type of the body of a function was expected, if this is why that of the function was.
    pub(super) fn of_result(&self) -> Because {
        match self {
            Because::Argument { fun, name, usage } => {
                Because::Given { fun: *fun, name: name.clone(), usage: *usage }
            }
            other => other.clone(),
        }
    }
}

impl Infer<'_> {
    pub(super) fn show(&self, ty: &Ty) -> String {
        TypePrinter::new(self.db).ty(ty)
    }

    pub(super) fn report_clash(
        &mut self,
        span: Span,
        expected: &Ty,
        found: &Ty,
        clash: &Clash,
        because: &Because,
    ) {
        let diagnostic = match clash {
            Clash::Types(a, b) => self.types(span, expected, found, (a, b), because),
            Clash::Sizes(a, b) => self.sizes(span, expected, found, (*a, *b), because),
            Clash::Infinite => {
                let mut p = TypePrinter::new(self.db);
                let (e, f) = (p.ty(expected), p.ty(found));
                Diagnostic::error(
                    "infinite-type",
                    span,
                    format!("this would have a type that contains itself: {f} within {e}"),
                )
                .help("a function is perhaps applied to itself, or an argument is missing")
            }
            Clash::Class(ty, class, why) => {
                let text = self.show(ty);
                let rigid = matches!(ty, Ty::Var(v) if self.db.store.is_rigid(*v));
                let mut d = Diagnostic::error(
                    "type-mismatch",
                    why.span,
                    format!("{} works at {}, not at {text}", why.what, class.words()),
                );
                if why.span != span {
                    d = d.label(span, format!("{text} comes from here"));
                }
                let joined = match ty {
                    Ty::String => true,
                    Ty::Data(data, _) => Some(*data) == self.db.list,
                    _ => false,
                };
                let elements = matches!(ty, Ty::Array(..));
                let of_ints = match ty {
                    Ty::Array(_, element) => matches!(self.db.store.shallow(element), Ty::Int),
                    _ => false,
                };
                if of_ints && ["`+`", "`-`", "`*`", "`/`"].contains(&why.what.as_str()) {
                    d = d.help("arithmetic goes by element over Reals; over Ints it is `[2 * i for i in xs]`, or for Reals `[2.0 * real(i) for i < n]`");
                } else if elements && why.what == "`^`" {
                    d = d.help("it goes by element in a comprehension: `[x ^ 2 for x in xs]`");
                } else if joined && matches!(why.what.as_str(), "`+`" | "`^`") {
                    d = d.help("strings, lists and arrays are joined with `++`");
                } else if rigid {
                    d = d.help(format!(
                        "the annotation says that `{text}` can be any type: write a type such as Real instead"
                    ));
                }
                d
            }
            Clash::NotFirstOrder(ty, why) => {
                let text = self.show(ty);
                let mut d = Diagnostic::error(
                    "not-first-order",
                    why.span,
                    format!("{} needs first-order types, but {text} holds a function", why.what),
                )
                .note("derivatives, comparisons and texts are of values that hold no functions")
                .help("take the function from outside by a closure, or apply it first");
                if why.span != span {
                    d = d.label(span, "the function comes from here");
                }
                d
            }
        };
        // Two arguments of one call that say the same are said once.
        let said = |d: &Diagnostic| {
            let calls =
                [d, &diagnostic].map(|d| d.labels.iter().map(|l| l.span).collect::<Vec<_>>());
            d.code == diagnostic.code && d.help == diagnostic.help && calls[0] == calls[1]
        };
        let of_usage = matches!(because, Because::Argument { usage: Some(_), .. });
        if !(of_usage && self.db.diagnostics.last().is_some_and(said)) {
            self.db.report(diagnostic);
        }
    }

    fn types(
        &mut self,
        span: Span,
        expected: &Ty,
        found: &Ty,
        inner: (&Ty, &Ty),
        because: &Because,
    ) -> Diagnostic {
        if let Some(d) = self.missing_argument(span, inner) {
            return d;
        }
        let path = mismatch(self.db, expected, found).filter(|path| !path.is_empty());
        let mut p = TypePrinter::new(self.db);
        if p.ty(inner.0) == p.ty(inner.1) {
            // Types of different modules may have the same name, and aliases stand for types that differ in sizes.
            p = TypePrinter::qualified(self.db);
        }
        let (ie, if_) = (p.ty(inner.0), p.ty(inner.1));
        let (mut e, mut f) = (p.ty(expected), p.ty(found));
        if path.is_some() {
            // The path says what a long type would have to be searched for.
            (e, f) = (p.brief(expected), p.brief(found));
        }
        if e == f {
            let mut p = TypePrinter::plain(self.db);
            (e, f) = (p.ty(expected), p.ty(found));
        }
        let code = "type-mismatch";
        let mut d = match because {
            Because::Use | Because::Pattern => {
                let message = if matches!(because, Because::Pattern) {
                    format!("this pattern is for {f}, but the value is of type {e}")
                } else {
                    format!("expected {e}, found {f}")
                };
                Diagnostic::error(code, span, message)
            }
            Because::Annotation(at) => {
                Diagnostic::error(code, span, format!("expected {e}, found {f}"))
                    .primary_text(format!("this is of type {f}"))
                    .label(*at, format!("annotated as {e} here"))
            }
            Because::Argument { fun, name, usage } => {
                let who = name.as_ref().map_or("the function".to_string(), |n| format!("`{n}`"));
                let mut d = Diagnostic::error(
                    code,
                    span,
                    format!("{who} takes {e} here, but the argument is of type {f}"),
                )
                .primary_text(format!("this is of type {f}"))
                .label(*fun, format!("{who} is applied here"));
                let numbers = matches!(inner, (Ty::Int, Ty::Real) | (Ty::Real, Ty::Int));
                let whole = matches!(self.db.store.shallow(expected), Ty::Real | Ty::Int);
                let function = matches!((inner.0, inner.1), (Ty::Fun(_), _));
                let derivative = name.as_ref().filter(|name| GRADIENTS.contains(&name.as_str()));
                let text = self.db.sources.slice(span);
                let short = text.len() < 40 && !text.contains('\n');
                if let (true, true, false, Some(name)) =
                    (function, short, matches!(inner.1, Ty::Fun(_)), derivative)
                {
                    d = d.help(format!("`{name}` takes a function: write `{name}(fn x -> {text})`"));
                } else if let (Some(usage), false) = (usage, numbers) {
                    d = d.help(*usage);
                } else if let (true, true) = (f == "Int" && short, self.is_key(inner.0)) {
                    d = d.help(format!("a key is made of a seed: `random.key({text})`"));
                } else if let (true, Ty::Array(..), Some(name)) = (whole, inner.1, name) {
                    d = d.help(format!(
                        "a function is applied to each element in a comprehension: `[{name}(x) for x in xs]`"
                    ));
                }
                d
            }
            Because::Given { fun, name, usage } => {
                let who = name.as_ref().map_or("the function".to_string(), |n| format!("`{n}`"));
                let mut d = Diagnostic::error(
                    code,
                    span,
                    format!("{who} takes a function that gives {e} here, but this is of type {f}"),
                )
                .label(*fun, format!("{who} is applied here"));
                let numbers = matches!(inner, (Ty::Int, Ty::Real) | (Ty::Real, Ty::Int));
                if let (Some(usage), false) = (usage, numbers) {
                    d = d.help(*usage);
                }
                d
            }
            Because::Branch { other } => Diagnostic::error(
                code,
                span,
                format!("the branches differ in type: {e} and {f}"),
            )
            .primary_text(format!("this is of type {f}"))
            .label(*other, format!("this is of type {e}")),
            Because::Element { first } => Diagnostic::error(
                code,
                span,
                format!("this element is of type {f}, but the array or list is of {e}"),
            )
            .primary_text(format!("this is of type {f}"))
            .label(*first, format!("{e} comes from here")),
            Because::Condition => {
                Diagnostic::error(code, span, format!("a condition is a Bool, but this is {f}"))
            }
            Because::Index => {
                Diagnostic::error(code, span, format!("an index is an Int, but this is {f}"))
            }
            Because::Count => {
                Diagnostic::error(code, span, format!("a count is an Int, but this is {f}"))
            }
            Because::Indexed => Diagnostic::error(
                code,
                span,
                format!("only arrays are indexed, but this is of type {f}"),
            )
            .help("a list's elements are taken with `nth(xs, i)`, a tuple's with `.0`, a record's with `.name`"),
            Because::Over => Diagnostic::error(
                code,
                span,
                format!("`for … in` goes over an array, but this is of type {f}"),
            )
            .help(match (inner.1, self.is_list(found)) {
                (_, true) => {
                    "over a list goes `map_list(fn x -> …, xs)`, which gives a list; `list_to_array(xs)` is an array of it, where all elements are of one size"
                }
                (Ty::Int | Ty::Real, _) => "a count is `for i < n`",
                _ => "`for i < n` counts, `for x in xs` goes over an array",
            }),
            Because::Operator { op, other } => Diagnostic::error(
                code,
                span,
                format!("the operands of `{op}` differ in type: {e} and {f}"),
            )
            .primary_text(format!("this is of type {f}"))
            .label(*other, format!("expected {e} because of this")),
            Because::Elementwise { op } => Diagnostic::error(
                code,
                span,
                format!("`{op}` of arrays works elementwise on Reals, but the elements are of type {f}"),
            )
            .help("map over the arrays: `map2(fn (a, b) -> …, xs, ys)`"),
            Because::Piped { value } => Diagnostic::error(
                code,
                span,
                format!("the value is piped into {e}, but this is of type {f}"),
            )
            .label(*value, "this value"),
            Because::Cons { head } => Diagnostic::error(
                code,
                span,
                format!("the rest of the list is of type {f}, but with this head it must be {e}"),
            )
            .label(*head, "the head"),
            Because::LoopBody { init } => Diagnostic::error(
                code,
                span,
                format!("the loop's body is of type {f}, but its variable is of type {e}"),
            )
            .primary_text(format!("this is of type {f}"))
            .label(*init, format!("the loop starts with this, of type {e}")),
            Because::Field { field } => Diagnostic::error(
                code,
                span,
                format!("this field is of type {e}, but the new value is of type {f}"),
            )
            .label(*field, "this field"),
        };
        if let (Ty::Record(wanted), Ty::Record(given)) = inner {
            d = fields_apart(d, path.as_deref(), wanted, given);
        } else if let Some(path) = path {
            d = d.note(format!("{path}: {ie} differs from {if_}"));
        } else if (ie != e || if_ != f) && ie != "_" {
            d = d.note(format!("{ie} differs from {if_}"));
        }
        let tuple = matches!(inner, (Ty::Tuple(_), _) | (_, Ty::Tuple(_)));
        if tuple && d.help.is_none() && self.db.sources.slice(span).contains("grad(") {
            d = d.help("the gradient is by all arguments of the function, a tuple; by the first alone it is `grad(fn p -> f(p, …))(p)`");
        }
        if d.help.is_none() {
            d.help = conversion(inner.0, inner.1, because).map(Help::from);
        }
        for ty in [inner.0, inner.1] {
            if let Ty::Var(v) = ty {
                if self.db.store.is_rigid(*v) && d.help.is_none() {
                    let name = self.show(ty);
                    d = d.help(format!(
                        "the annotation says that `{name}` can be any type; name a type there, or leave it out"
                    ));
                }
            }
        }
        d
    }

    /// True of the type of lists.
    pub(super) fn is_list(&self, ty: &Ty) -> bool {
        matches!(self.db.store.shallow(ty), Ty::Data(data, _) if Some(data) == self.db.list)
    }

    /// True of the type of keys of random numbers.
    fn is_key(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Data(data, _) if self.db.data(*data).known == Some(WellKnown::Key))
    }

    /// Where a function of several arguments was given one variable, which so became a tuple, and what stands for
    /// the variable is none: the call is to blame that lacks arguments.
    pub(super) fn missing_argument(&self, span: Span, inner: (&Ty, &Ty)) -> Option<Diagnostic> {
        let (Ty::Tuple(wanted), given) = inner else { return None };
        let is_tuple = matches!(given, Ty::Tuple(_) | Ty::Var(_));
        let call = self.lone_arguments.iter().find(|call| {
            matches!(self.db.store.shallow(&call.ty), Ty::Tuple(ts) if Rc::ptr_eq(&ts, wanted))
        });
        let call = call.filter(|_| !is_tuple)?;
        let mut p = TypePrinter::new(self.db);
        let (tuple, found) = (p.brief(inner.0), p.brief(given));
        let who = call.name.as_ref().map_or("this function".to_string(), |n| format!("`{n}`"));
        let message = format!("{who} takes {} arguments, but one is given", wanted.len());
        Some(
            Diagnostic::error("argument-count", call.at, message)
                .primary_text(format!("taken for all of {tuple}"))
                .label(span, format!("but here it is of type {found}")),
        )
    }

    fn sizes(
        &mut self,
        span: Span,
        expected: &Ty,
        found: &Ty,
        sizes: (Size, Size),
        because: &Because,
    ) -> Diagnostic {
        let path = mismatch(self.db, expected, found).filter(|path| !path.is_empty());
        let mut p = TypePrinter::new(self.db);
        let (mut e, mut f) = match path {
            Some(_) => (p.brief(expected), p.brief(found)),
            None => (p.ty(expected), p.ty(found)),
        };
        if e == f {
            p = TypePrinter::plain(self.db);
            (e, f) = (p.ty(expected), p.ty(found));
        }
        let (a, b) = (p.size(sizes.0), p.size(sizes.1));
        let mut d = Diagnostic::error(
            "size-mismatch",
            span,
            format!("the sizes {a} and {b} differ: expected {e}, found {f}"),
        );
        if let Some(path) = path {
            d = d.note(format!("{path}: size {a} differs from {b}"));
        }
        match because {
            Because::Annotation(at) => d = d.label(*at, format!("annotated as {e} here")),
            Because::Argument { fun, name, .. } | Because::Given { fun, name, .. } => {
                let who = name.as_ref().map_or("the function".to_string(), |n| format!("`{n}`"));
                d = d.label(*fun, format!("{who} is applied here"));
            }
            Because::Branch { other }
            | Because::Element { first: other }
            | Because::Operator { other, .. }
            | Because::Piped { value: other }
            | Because::Cons { head: other }
            | Because::LoopBody { init: other } => {
                d = d.label(*other, format!("this is of type {e}"));
            }
            Because::Field { field } => d = d.label(*field, format!("this is of type {e}")),
            Because::Use
            | Because::Condition
            | Because::Index
            | Because::Indexed
            | Because::Count
            | Because::Over
            | Because::Elementwise { .. }
            | Because::Pattern => {}
        }
        for size in [sizes.0, sizes.1] {
            if let Some((name, at)) = self.db.store.size_origin(size) {
                if !at.is_none() && at != span {
                    d = d.label(at, format!("the size `{name}` is named here"));
                }
            }
        }
        if matches!((sizes.0, sizes.1), (Size::Var(_), _) | (_, Size::Var(_))) {
            d = d.help("a named size stands for any size: use the same name for sizes that must be equal, or `[]` for an unknown one");
        } else if matches!(because, Because::LoopBody { .. }) {
            d = d.help("annotate a loop variable whose size changes: `loop (acc: []Real) = …`");
        } else if matches!(because, Because::Branch { .. }) {
            d = d.help("where the branches decide the length, let one be of any length: `let (xs: []Real) = … in xs`");
        }
        d
    }
}

/// Which fields two records do not have in common.
fn fields_apart(
    d: Diagnostic,
    path: Option<&str>,
    wanted: &[(Name, Ty)],
    given: &[(Name, Ty)],
) -> Diagnostic {
    let lacking = |of: &[(Name, Ty)], in_: &[(Name, Ty)]| -> Vec<Name> {
        of.iter().map(|(n, _)| n).filter(|n| !in_.iter().any(|(m, _)| m == *n)).cloned().collect()
    };
    let (missing, extra) = (lacking(wanted, given), lacking(given, wanted));
    let list = |names: &[Name]| {
        names.iter().map(|n| format!("`{}`", field_name(n))).collect::<Vec<_>>().join(", ")
    };
    let text = match (missing.as_slice(), extra.as_slice()) {
        ([], extra) => format!("there should be no field {}", list(extra)),
        (missing, []) => format!("the field {} is missing", list(missing)),
        (missing, extra) => {
            format!(
                "the field {} is missing, and there should be no {}",
                list(missing),
                list(extra)
            )
        }
    };
    let mut d = match path {
        Some(path) => d.note(format!("{path}: {text}")),
        None => d.note(text),
    };
    if let ([missing], [extra], None) = (missing.as_slice(), extra.as_slice(), &d.help) {
        if closest(extra, [missing.as_str()]).is_some() {
            d = d.help(Help::did_you_mean(field_name(missing)));
        }
    }
    d
}

/// How to get from one type to another.
fn conversion(expected: &Ty, found: &Ty, because: &Because) -> Option<&'static str> {
    match (expected, found) {
        (Ty::Real, Ty::Int) => Some("`real(n)` makes a Real of an Int"),
        (Ty::Int, Ty::Real) => Some(
            "`real(n)` makes a Real of an Int; `floor`, `round` or `trunc` make an Int of a Real",
        ),
        (Ty::Array(..), Ty::Real | Ty::Int) | (Ty::Real | Ty::Int, Ty::Array(..)) => {
            match because {
                Because::Operator { op: "++", .. } => {
                    Some("`++` joins two arrays: one of a single element is `[x]`")
                }
                Because::Operator { .. } => {
                    Some("an operation on each element is a comprehension: `[x + 1 for x in xs]`")
                }
                Because::Use
                | Because::Annotation(_)
                | Because::Argument { .. }
                | Because::Given { .. }
                | Because::Branch { .. }
                | Because::Element { .. }
                | Because::Condition
                | Because::Index
                | Because::Indexed
                | Because::Count
                | Because::Over
                | Because::Elementwise { .. }
                | Because::Piped { .. }
                | Because::Cons { .. }
                | Because::LoopBody { .. }
                | Because::Field { .. }
                | Because::Pattern => None,
            }
        }
        (Ty::Array(..), Ty::Data(..)) => Some("`list_to_array(xs)` makes an array of a list"),
        (Ty::Data(..), Ty::Array(..)) => Some("`to_list(xs)` makes a list of an array"),
        (Ty::String, Ty::Real | Ty::Int | Ty::Bool) => Some("`show(x)` makes a String of a value"),
        (Ty::Fun(_), _) => None,
        (_, Ty::Fun(_)) => Some("this is a function: is its argument missing?"),
        _ => None,
    }
}
