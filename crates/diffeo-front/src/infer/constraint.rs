//! Constraints on types still unknown: operators and field accesses that cannot be decided when they are met.
//!
//! A constraint waits on the open variables that would decide it and is tried again when one of them is bound. At the
//! end of a top-level definition the defaults are taken, then what is left is reported.

use super::error::Because;
use super::Infer;
use crate::types::{
    Clash, DataIdx, FieldOrder, Made, Nest, Size, Touch, Ty, TyVar, TypeClass, Walk, Why,
};
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{deep, field_name, Diagnostic, Help, Name, Span};
use diffeo_syntax::ast::Ident;

/// Why a type has no type of jets.
enum NoJet {
    /// It is not known.
    Open(TyVar),
    /// This declared type in it has Reals that are not its arguments.
    Declared(DataIdx),
    /// A function is in it.
    Function,
}

/// A constraint that waits.
#[derive(Clone, Debug)]
pub(super) enum Constraint {
    /// Solved.
    Done,
    /// `out = l * r`
    Mul { l: Ty, r: Ty, out: Ty, at: Operands },
    /// `out = l / r`
    Div { l: Ty, r: Ty, out: Ty, at: Operands },
    /// `base ^ exponent`, of the type of the base.
    Pow { base: Ty, exponent: Ty, at: Operands },
    /// `out = l ++ r`
    Append { l: Ty, r: Ty, out: Ty, at: Operands },
    /// `out = base.field`
    Field { base: Ty, base_span: Span, field: Ident, out: Ty },
    /// `out = base.index`
    Component { base: Ty, base_span: Span, index: usize, span: Span, out: Ty },
    /// A record of exactly these fields unless its type is known.
    RecordPattern { ty: Ty, fields: Vec<(Name, Ty)> },
    /// `out = J(of)` with `c` coefficients.
    Jet { of: Ty, out: Ty, c: u64, span: Span },
    /// The type of a Jacobian, which a function of this name gives.
    Nest { nest: Nest, span: Span, name: Name },
}

impl Constraint {
    fn types(&self) -> Vec<&Ty> {
        match self {
            Constraint::Done => Vec::new(),
            Constraint::Mul { l, r, out, .. }
            | Constraint::Div { l, r, out, .. }
            | Constraint::Append { l, r, out, .. } => vec![l, r, out],
            Constraint::Pow { base, exponent, .. } => vec![base, exponent],
            Constraint::Field { base, out, .. } | Constraint::Component { base, out, .. } => {
                vec![base, out]
            }
            Constraint::RecordPattern { ty, fields } => {
                std::iter::once(ty).chain(fields.iter().map(|(_, t)| t)).collect()
            }
            Constraint::Jet { of, out, .. } => vec![of, out],
            Constraint::Nest { nest, .. } => vec![&nest.of, &nest.with, &nest.out],
        }
    }
}

/// Where an operator and its operands stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    pub op: Span,
    pub l: Span,
    pub r: Span,
}

pub(super) enum SolveStatus {
    Done,
    Wait(Vec<TyVar>),
}

impl Infer<'_> {
    /// Adds a constraint and tries it.
    pub(super) fn add(&mut self, constraint: Constraint) {
        self.constraints.push(constraint);
        let id = self.constraints.len() - 1;
        self.attempt(id as u32);
    }

    fn attempt(&mut self, id: u32) {
        let constraint = std::mem::replace(&mut self.constraints[id as usize], Constraint::Done);
        if let SolveStatus::Wait(vars) = self.try_solve(&constraint) {
            for ty in constraint.types() {
                self.store().hold(ty);
            }
            self.constraints[id as usize] = constraint;
            for v in vars {
                self.store().wait(v, id);
            }
        }
    }

    /// Tries the constraints whose variables were bound.
    pub(super) fn solve(&mut self) {
        while let Some(id) = self.store().released.pop() {
            self.attempt(id);
        }
    }

    pub(super) fn must(&mut self, span: Span, expected: &Ty, found: &Ty, because: &Because) {
        if let Err(clash) = self.store().unify(expected, found) {
            self.report_clash(span, expected, found, &clash, because);
        }
    }

    /// Reports unless a type is of a class. Whether it is.
    pub(super) fn must_be(&mut self, span: Span, ty: &Ty, class: TypeClass, what: &str) -> bool {
        let why = self.why(span, what);
        let result = self.store().require(ty, class, &why);
        if let Err(clash) = &result {
            self.report_clash(span, ty, ty, clash, &Because::Use);
        }
        result.is_ok()
    }

    /// Whether an open variable is a number (Int or Real, no vector).
    fn is_number(&self, v: TyVar) -> bool {
        self.db.store.class(v).0 == TypeClass::Num
    }

    fn try_solve(&mut self, constraint: &Constraint) -> SolveStatus {
        match constraint {
            Constraint::Done => SolveStatus::Done,
            Constraint::Mul { l, r, out, at } => self.product(l, r, out, *at),
            Constraint::Div { l, r, out, at } => self.quotient(l, r, out, *at),
            Constraint::Pow { base, exponent, at } => self.power(base, exponent, *at),
            Constraint::Append { l, r, out, at } => self.append(l, r, out, *at),
            Constraint::Field { base, base_span, field, out } => {
                self.field(base, *base_span, field, out)
            }
            Constraint::Component { base, base_span, index, span, out } => {
                self.component(base, *base_span, *index, *span, out)
            }
            Constraint::RecordPattern { ty, .. } => match self.db.store.open_var(ty) {
                Some(v) => SolveStatus::Wait(vec![v]),
                None => SolveStatus::Done,
            },
            Constraint::Jet { of, out, c, span } => self.jet(of, out, *c, *span),
            Constraint::Nest { nest, span, name } => self.nest(nest, *span, name),
        }
    }

    fn product(&mut self, l: &Ty, r: &Ty, out: &Ty, at: Operands) -> SolveStatus {
        let (lt, rt) = (self.store().shallow(l), self.store().shallow(r));
        let (lv, rv) = (self.db.store.open_var(&lt), self.db.store.open_var(&rt));
        let because = Because::Operator { op: "*", other: at.l };
        let becauser = Because::Operator { op: "*", other: at.r };
        match (&lt, &rt) {
            (Ty::Error, _) | (_, Ty::Error) => {
                let _ = self.store().unify(out, &Ty::Error);
            }
            // One of them has to become a Real.
            (Ty::Real, Ty::Int) => {
                self.must(at.r, &Ty::Real, r, &because);
                self.must(at.op, out, &Ty::Real, &because);
            }
            (Ty::Int, Ty::Real) => {
                self.must(at.l, &Ty::Real, l, &becauser);
                self.must(at.op, out, &Ty::Real, &because);
            }
            (Ty::Int, _) => {
                self.must(at.r, &Ty::Int, r, &because);
                self.must(at.op, out, &Ty::Int, &because);
            }
            (_, Ty::Int) => {
                self.must(at.l, &Ty::Int, l, &becauser);
                self.must(at.op, out, &Ty::Int, &because);
            }
            (Ty::Real, _) => {
                self.must_be(at.r, r, TypeClass::Vec, "`*` with a Real");
                self.must(at.op, out, r, &because);
            }
            (_, Ty::Real) => {
                self.must_be(at.l, l, TypeClass::Vec, "`*` with a Real");
                self.must(at.op, out, l, &because);
            }
            (Ty::Array(..), Ty::Array(..)) => {
                let join = self.store().with_own_sizes(l);
                self.must(at.r, &join, r, &because);
                self.elements_are_real(&join, at, "*");
                self.must(at.op, out, &join, &because);
            }
            (Ty::Array(..), _) if rv.is_some() => {
                if let Some(v) = rv.filter(|v| !self.is_number(*v)) {
                    return SolveStatus::Wait(vec![v]);
                }
                self.must(at.r, &Ty::Real, r, &because);
                self.must(at.op, out, l, &because);
                self.must_be(at.l, l, TypeClass::Vec, "`*` with a Real");
            }
            (_, Ty::Array(..)) if lv.is_some() => {
                if let Some(v) = lv.filter(|v| !self.is_number(*v)) {
                    return SolveStatus::Wait(vec![v]);
                }
                self.must(at.l, &Ty::Real, l, &because);
                self.must(at.op, out, r, &because);
                self.must_be(at.r, r, TypeClass::Vec, "`*` with a Real");
            }
            (Ty::Tuple(_) | Ty::Record(_), Ty::Tuple(_) | Ty::Record(_)) => {
                let (lt, rt) = (self.show(&lt), self.show(&rt));
                self.db.report(
                    Diagnostic::error(
                        "type-mismatch",
                        at.op,
                        "`*` multiplies two numbers, a Real and a vector, or two arrays elementwise",
                    )
                    .label(at.l, format!("this is of type {lt}"))
                    .label(at.r, format!("this is of type {rt}"))
                    .help("`inner(x, y)` is the sum of the products of corresponding Reals"),
                );
                let _ = self.store().unify(out, &Ty::Error);
            }
            (Ty::Tuple(_) | Ty::Record(_), _) => {
                self.must(at.r, &Ty::Real, r, &because);
                self.must_be(at.l, l, TypeClass::Vec, "`*` with a Real");
                self.must(at.op, out, l, &because);
            }
            (_, Ty::Tuple(_) | Ty::Record(_)) => {
                self.must(at.l, &Ty::Real, l, &becauser);
                self.must_be(at.r, r, TypeClass::Vec, "`*` with a Real");
                self.must(at.op, out, r, &because);
            }
            _ => return self.undecided(l, r, out, at, "*"),
        }
        SolveStatus::Done
    }

    fn quotient(&mut self, l: &Ty, r: &Ty, out: &Ty, at: Operands) -> SolveStatus {
        let (lt, rt) = (self.store().shallow(l), self.store().shallow(r));
        let rv = self.db.store.open_var(&rt);
        let because = Because::Operator { op: "/", other: at.l };
        let becauser = Because::Operator { op: "/", other: at.r };
        match (&lt, &rt) {
            (Ty::Error, _) | (_, Ty::Error) => {
                let _ = self.store().unify(out, &Ty::Error);
            }
            (Ty::Int, Ty::Real) => {
                self.must(at.l, &Ty::Real, l, &becauser);
                self.must(at.op, out, &Ty::Real, &because);
            }
            (Ty::Int | Ty::Real, _) => {
                self.must(at.r, &lt, r, &because);
                self.must(at.op, out, &lt, &because);
            }
            (_, Ty::Int) => {
                self.must(at.l, &Ty::Int, l, &becauser);
                self.must(at.op, out, &Ty::Int, &because);
            }
            (_, Ty::Real) => {
                self.must_be(at.l, l, TypeClass::Vec, "`/` by a Real");
                self.must(at.op, out, l, &because);
            }
            (Ty::Array(..), Ty::Array(..)) => {
                let join = self.store().with_own_sizes(l);
                self.must(at.r, &join, r, &because);
                self.elements_are_real(&join, at, "/");
                self.must(at.op, out, &join, &because);
            }
            (Ty::Array(..), _) if rv.is_some() => {
                if let Some(v) = rv.filter(|v| !self.is_number(*v)) {
                    return SolveStatus::Wait(vec![v]);
                }
                self.must(at.r, &Ty::Real, r, &because);
                self.must_be(at.l, l, TypeClass::Vec, "`/` by a Real");
                self.must(at.op, out, l, &because);
            }
            (Ty::Tuple(_) | Ty::Record(_), _) => {
                self.must(at.r, &Ty::Real, r, &because);
                self.must_be(at.l, l, TypeClass::Vec, "`/` by a Real");
                self.must(at.op, out, l, &because);
            }
            (_, Ty::Array(..)) => {
                // Only an array of the same type is divided elementwise.
                self.must(at.l, r, l, &becauser);
                self.elements_are_real(r, at, "/");
                self.must(at.op, out, l, &because);
            }
            _ => return self.undecided(l, r, out, at, "/"),
        }
        SolveStatus::Done
    }

    /// A product or quotient of operands of which neither decides it.
    fn undecided(
        &mut self,
        l: &Ty,
        r: &Ty,
        out: &Ty,
        at: Operands,
        op: &'static str,
    ) -> SolveStatus {
        let because = Because::Operator { op, other: at.l };
        match (self.db.store.open_var(l), self.db.store.open_var(r)) {
            (Some(v), Some(w)) if v == w => {}
            // Two numbers are of one type.
            (Some(v), Some(w)) if self.is_number(v) && self.is_number(w) => {
                self.must(at.r, l, r, &because);
            }
            (Some(v), Some(w)) => return SolveStatus::Wait(vec![v, w]),
            _ => {
                self.must_be(at.l, l, TypeClass::Add, &format!("`{op}`"));
                self.must(at.r, l, r, &because);
            }
        }
        self.must(at.op, out, l, &because);
        SolveStatus::Done
    }

    /// Elementwise operations work at arrays (of arrays) of Real.
    fn elements_are_real(&mut self, ty: &Ty, at: Operands, op: &'static str) {
        let mut element = self.store().shallow(ty);
        while let Ty::Array(_, t) = &element {
            element = self.store().shallow(&t.clone());
        }
        if let Err(clash) = self.store().unify(&Ty::Real, &element) {
            let because = Because::Elementwise { op };
            self.report_clash(at.op, &Ty::Real, &element, &clash, &because);
        }
    }

    fn power(&mut self, base: &Ty, exponent: &Ty, at: Operands) -> SolveStatus {
        let (bt, et) = (self.store().shallow(base), self.store().shallow(exponent));
        match (&bt, &et) {
            (Ty::Int, _) => {
                let because = Because::Operator { op: "^", other: at.l };
                self.must(at.r, &Ty::Int, exponent, &because);
            }
            (_, Ty::Real) => {
                let because = Because::Operator { op: "^", other: at.r };
                self.must(at.l, &Ty::Real, base, &because);
            }
            _ => {
                let open: Vec<TyVar> =
                    [&bt, &et].iter().filter_map(|t| self.db.store.open_var(t)).collect();
                if self.db.store.open_var(&bt).is_some() {
                    return SolveStatus::Wait(open);
                }
            }
        }
        SolveStatus::Done
    }

    fn append(&mut self, l: &Ty, r: &Ty, out: &Ty, at: Operands) -> SolveStatus {
        let (lt, rt) = (self.store().shallow(l), self.store().shallow(r));
        let because = Because::Operator { op: "++", other: at.l };
        let becauser = Because::Operator { op: "++", other: at.r };
        let known = if self.db.store.open_var(&lt).is_none() { &lt } else { &rt };
        match known {
            Ty::Array(..) => {
                let ((m, a), (n, b)) = (self.some_array(), self.some_array());
                self.must(at.l, &Ty::array(m, a.clone()), l, &becauser);
                self.must(at.r, &Ty::array(n, b.clone()), r, &because);
                self.must(at.r, &a, &b, &because);
                let size = match (self.store().size(m), self.store().size(n)) {
                    (Size::Known(x), Size::Known(y)) => Size::Known(x + y),
                    _ => Size::Unknown,
                };
                self.must(at.op, out, &Ty::array(size, a), &because);
                SolveStatus::Done
            }
            Ty::String => {
                self.must(at.l, &Ty::String, l, &becauser);
                self.must(at.r, &Ty::String, r, &because);
                self.must(at.op, out, &Ty::String, &because);
                SolveStatus::Done
            }
            Ty::Data(d, _) if Some(*d) == self.db.list => {
                let join = self.store().with_own_sizes(known);
                for (side, span) in [(l, at.l), (r, at.r)] {
                    if let Err(clash) = self.store().unify_free(&join, side) {
                        self.report_clash(span, &join, side, &clash, &because);
                    }
                }
                self.must(at.op, out, &join, &because);
                SolveStatus::Done
            }
            Ty::Error => {
                let _ = self.store().unify(out, &Ty::Error);
                SolveStatus::Done
            }
            Ty::Var(v) if !self.db.store.is_rigid(*v) => {
                let open = [&lt, &rt].iter().filter_map(|t| self.db.store.open_var(t)).collect();
                SolveStatus::Wait(open)
            }
            other => {
                let text = self.show(other);
                self.db.report(
                    Diagnostic::error(
                        "type-mismatch",
                        at.op,
                        format!("`++` joins arrays, lists or strings, but this is of type {text}"),
                    )
                    .help("`+` adds numbers and vectors; `x :: xs` puts an element before a list"),
                );
                SolveStatus::Done
            }
        }
    }

    fn field(&mut self, base: &Ty, base_span: Span, field: &Ident, out: &Ty) -> SolveStatus {
        match self.store().shallow(base) {
            Ty::Error => {
                let _ = self.store().unify(out, &Ty::Error);
            }
            Ty::Record(fields) => match fields.iter().find(|(n, _)| *n == field.name) {
                Some((_, t)) => self.must(field.span, out, t, &Because::Use),
                None => {
                    let names = fields.iter().map(|(n, _)| n.as_str());
                    let hint = self.db.closest(&field.name, names);
                    let text = self.show(base);
                    let mut d = Diagnostic::error(
                        "unknown-field",
                        field.span,
                        format!("there is no field `{}` in {text}", field_name(&field.name)),
                    )
                    .label(base_span, format!("this is of type {text}"));
                    d.help = hint.map(|hint| Help::did_you_mean(field_name(&hint)));
                    self.db.report(d);
                    let _ = self.store().unify(out, &Ty::Error);
                }
            },
            Ty::Var(v) if !self.db.store.is_rigid(v) => return SolveStatus::Wait(vec![v]),
            other => {
                let text = self.show(&other);
                let mut d = Diagnostic::error(
                    "not-a-record",
                    field.span,
                    format!(
                        "`.{}` needs a record, but this is of type {text}",
                        field_name(&field.name)
                    ),
                )
                .label(base_span, format!("this is of type {text}"));
                d.help = self.method(&other, base_span, &field.name).map(Help::from);
                self.db.report(d);
                let _ = self.store().unify(out, &Ty::Error);
            }
        }
        SolveStatus::Done
    }

    /// What to write for a field of a value that has none: most often the method of another language.
    fn method(&self, base: &Ty, base_span: Span, name: &Name) -> Option<String> {
        if let Some(help) = replacement(Role::Member, name) {
            return Some(help.into());
        }
        if matches!(base, Ty::Fun(_)) {
            return Some("functions are composed by hand: `fn x -> f(g(x))`".into());
        }
        let prelude = self.db.prelude.map(|p| &self.db.module(p).scope.values)?;
        let Some((def, _)) = prelude.get(name) else {
            return replacement(Role::Value, name).map(str::to_owned);
        };
        let takes = self.db.def(*def).scheme.as_ref().map(|s| self.db.store.shallow(&s.ty));
        let Some(Ty::Fun(takes)) = takes else { return None };
        let this = match self.db.sources.slice(base_span) {
            text if text.len() < 30 && !text.contains('\n') => text,
            _ => "x",
        };
        let parameters = match self.db.store.shallow(&takes.0) {
            Ty::Tuple(ts) => ts.to_vec(),
            one => vec![one],
        };
        let alike = |t: &Ty| {
            std::mem::discriminant(&self.db.store.shallow(t)) == std::mem::discriminant(base)
        };
        let place = parameters.iter().position(alike).unwrap_or(0);
        let arguments: Vec<&str> =
            (0..parameters.len()).map(|i| if i == place { this } else { "…" }).collect();
        Some(format!("`{name}` is a function: write `{name}({})`", arguments.join(", ")))
    }

    fn component(
        &mut self,
        base: &Ty,
        base_span: Span,
        index: usize,
        span: Span,
        out: &Ty,
    ) -> SolveStatus {
        let message = match self.store().shallow(base) {
            Ty::Error => {
                let _ = self.store().unify(out, &Ty::Error);
                return SolveStatus::Done;
            }
            Ty::Tuple(ts) => match ts.get(index) {
                Some(t) => {
                    self.must(span, out, t, &Because::Use);
                    return SolveStatus::Done;
                }
                None => format!(
                    "there is no component {index} in a tuple of {}: they are 0 to {}",
                    ts.len(),
                    ts.len() - 1
                ),
            },
            Ty::Var(v) if !self.db.store.is_rigid(v) => return SolveStatus::Wait(vec![v]),
            other => {
                format!("`.{index}` needs a tuple, but this is of type {}", self.show(&other))
            }
        };
        let text = self.show(base);
        self.db.report(
            Diagnostic::error("unknown-component", span, message)
                .label(base_span, format!("this is of type {text}")),
        );
        let _ = self.store().unify(out, &Ty::Error);
        SolveStatus::Done
    }

    /// `J(of)`: every Real replaced by the array of its `c` coefficients.
    fn jet(&mut self, of: &Ty, out: &Ty, c: u64, span: Span) -> SolveStatus {
        match self.jet_type(of, c, &mut Made::default()) {
            Ok(ty) => {
                self.must(span, out, &ty, &Because::Use);
                SolveStatus::Done
            }
            Err(NoJet::Open(v)) if !self.db.store.is_rigid(v) => SolveStatus::Wait(vec![v]),
            Err(why) => {
                let text = self.show(of);
                let message = format!("`jet` cannot be taken at type {text}");
                let error = Diagnostic::error("jet-type", span, message);
                self.db.report(match why {
                    NoJet::Declared(data) => {
                        let name = self.db.data(data).name.clone();
                        error
                            .note(format!(
                                "`jet` gives arrays of derivatives for Reals, and a `{name}` has no place for them: its declaration says Real"
                            ))
                            .help(format!(
                                "make the Real a parameter, `type {name}[r] = …` with r for Real, and write `{name}[Real]` for `{name}`; \
                                 its jets then are values of `{name}[[]Real]`"
                            ))
                    }
                    NoJet::Open(_) | NoJet::Function => error
                        .note("every Real of the type becomes an array of derivatives, so the type must be known here, and data")
                        .help("annotate the function"),
                });
                let _ = self.store().unify(out, &Ty::Error);
                SolveStatus::Done
            }
        }
    }

    fn jet_type(&mut self, ty: &Ty, c: u64, made: &mut Made<Ty>) -> Result<Ty, NoJet> {
        let ty = self.store().shallow(ty);
        if let Some(made) = made.get(&ty) {
            return Ok(made);
        }
        let jet = deep(|| match &ty {
            Ty::Real => Ok(Ty::array(Size::Known(c), Ty::Real)),
            Ty::Data(d, _) if self.declares_real(*d) => Err(NoJet::Declared(*d)),
            Ty::Var(v) => Err(NoJet::Open(*v)),
            Ty::Fun(_) | Ty::Param(_) => Err(NoJet::Function),
            _ => ty.with_parts(&mut |t| self.jet_type(t, c, made)),
        })?;
        made.put(&ty, &jet);
        Ok(jet)
    }

    /// Whether the declaration of a type holds a Real of its own.
    fn declares_real(&self, data: DataIdx) -> bool {
        let mut fields = self.db.data(data).constructors.iter().flat_map(|k| &k.fields);
        fields.any(|ty| {
            let mut walk = Walk::of(ty);
            std::iter::from_fn(|| walk.next(&self.db.store))
                .any(|ty| matches!(ty, Ty::Real | Ty::Fun(_)))
        })
    }

    /// Takes the defaults at the end of a group of definitions and reports what stays open.
    pub(super) fn settle(&mut self) {
        loop {
            self.solve();
            if self.close_nest() || self.take_defaults() || self.close_one() {
                continue;
            }
            break;
        }
        let classed: Vec<TyVar> = self.db.store.classed.clone();
        for v in classed {
            if let (Some(v), Some(why)) =
                (self.db.store.open_var(&Ty::Var(v)), self.db.store.equality(v))
            {
                self.db.report(
                    Diagnostic::error(
                        "open-equality",
                        why.span,
                        format!("{} compares values of a type that nothing determines", why.what),
                    )
                    .help("annotate one of the operands, for instance a parameter: `(x: Real)`"),
                );
                let _ = self.store().unify(&Ty::Var(v), &Ty::Error);
            }
        }
        self.open_records();
        for constraint in std::mem::take(&mut self.constraints) {
            if let Constraint::Nest { nest, .. } = constraint {
                self.nests.push(nest);
                continue;
            }
            // What stays open agrees with everything, so that one mistake is reported once.
            let open: Vec<Ty> = constraint.types().into_iter().cloned().collect();
            for ty in &open {
                self.store().give_up(ty);
            }
            let (span, message, help) = match constraint {
                Constraint::Append { at, .. } => (
                    at.op,
                    "`++` joins values of a type that nothing determines".to_string(),
                    "annotate one of the operands, for instance a parameter: `(xs: []Real)`",
                ),
                Constraint::Component { base_span, index, .. } => (
                    base_span,
                    format!(
                        "the type of this tuple is not known when its component {index} is taken"
                    ),
                    "annotate it, for instance as a parameter: `(p: (Real, Real))`",
                ),
                Constraint::Jet { span, .. } => (
                    span,
                    "`jet` needs a function whose type is known".to_string(),
                    "annotate the function's parameter and result",
                ),
                // Fields were reported, or their record was.
                Constraint::Field { .. } => continue,
                Constraint::Done
                | Constraint::Nest { .. }
                | Constraint::Mul { .. }
                | Constraint::Div { .. }
                | Constraint::Pow { .. }
                | Constraint::RecordPattern { .. } => continue,
            };
            self.db.report(Diagnostic::error("annotation-needed", span, message).help(help));
        }
        self.check_literals();
        self.check_derivatives();
    }

    /// Decides open variables: Real, and where there are none of those left, Int for those that only
    /// integer literals had to do with. Whether there was one.
    fn take_defaults(&mut self) -> bool {
        let types: Vec<Ty> = self.own.values().map(|own| own.ty.clone()).collect();
        types.iter().for_each(|ty| self.store().mark_parameters(ty, false));
        self.mark_patterns();
        let mut open = std::mem::take(&mut self.store().classed);
        open.retain(|v| {
            let store = &self.db.store;
            store
                .open_var(&Ty::Var(*v))
                .is_some_and(|v| store.class(v).0 != TypeClass::Any || store.equality(v).is_some())
        });
        for real in [true, false] {
            let mut taken = false;
            for v in &open {
                let Some(v) = self.db.store.open_var(&Ty::Var(*v)) else { continue };
                let class = self.db.store.class(v).0;
                let literal = self.db.store.touch(v) == Touch::Literal && class != TypeClass::Vec;
                if class == TypeClass::Any || literal == real {
                    continue;
                }
                let ty = if literal { Ty::Int } else { Ty::Real };
                if let Err(clash) = self.store().unify(&Ty::Var(v), &ty) {
                    if let Clash::Class(_, _, Why { span, .. })
                    | Clash::NotFirstOrder(_, Why { span, .. }) = &clash
                    {
                        self.report_clash(*span, &ty, &ty, &clash, &Because::Use);
                    }
                }
                self.solve();
                taken = true;
            }
            if taken {
                self.store().classed.extend(open);
                return true;
            }
        }
        self.store().classed.extend(open);
        false
    }

    /// Marks the fields of what is taken from outside, where only record patterns tell that these are records.
    fn mark_patterns(&mut self) {
        let mut patterns: Vec<(Ty, Vec<Ty>)> = Vec::new();
        for constraint in &self.constraints {
            if let Constraint::RecordPattern { ty, fields } = constraint {
                patterns.push((ty.clone(), fields.iter().map(|(_, ty)| ty.clone()).collect()));
            }
        }
        // The pattern within a pattern may come first.
        let mut marked = true;
        while std::mem::take(&mut marked) {
            patterns.retain(|(ty, fields)| {
                let open = self.db.store.open_var(ty);
                let given = open.is_some_and(|v| self.db.store.touch(v) == Touch::Parameter);
                if given {
                    fields.iter().for_each(|field| self.db.store.mark_parameters(field, true));
                    marked = true;
                }
                !given
            });
        }
    }

    /// Takes a record pattern at its word.
    fn close_one(&mut self) -> bool {
        for i in 0..self.constraints.len() {
            if let Constraint::RecordPattern { ty, fields } = &self.constraints[i] {
                let (ty, fields) = (ty.clone(), fields.clone());
                if self.db.store.open_var(&ty).is_some() {
                    self.constraints[i] = Constraint::Done;
                    let _ = self.store().unify(&ty, &Ty::record(fields, FieldOrder::Value));
                    return true;
                }
            }
        }
        false
    }
}
