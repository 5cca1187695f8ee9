//! Facts on Ints, and proofs from them.
//!
//! A fact says that a [`Linear`] is not negative. It is kept as a bound of each variable in it: the variable is at
//! least, or at most, the rest. To prove that something is not negative, variables are replaced by their bounds, the
//! latest first, until a number is left. The number of replacements is bounded, so a proof takes constant time.

use super::linear::{Linear, Term};
use super::reals::Interval;
use crate::ir::{Atom, Var};
use diffeo_calculus::prim::Comparison;

/// Maximum number of replacements in a proof.
const FUEL: u32 = 48;

/// Maximum depth of a proof.
const DEPTH: u32 = 7;

/// How many bounds of a variable are tried, the latest first.
const TRIED: usize = 4;

/// What is known of a variable.
#[derive(Clone, Debug)]
struct VarFacts {
    /// What it is in terms of others.
    form: Option<Linear>,
    least: i64,
    most: i64,
    /// It is at least these.
    lower: Vec<Linear>,
    /// It is at most these.
    upper: Vec<Linear>,
    /// It is one of two, depending on a condition.
    choice: Option<(Option<Var>, Atom, Atom)>,
    /// A truth value that says this.
    says: Option<Says>,
    /// The least and the largest that a Real can be, which is no nan then.
    real: Option<Interval>,
    /// The Real that it is the absolute value of.
    absolute: Option<Var>,
    order: u32,
}

/// What the truth of a variable implies.
#[derive(Clone, Debug)]
pub(super) enum Says {
    Compare(Comparison, Atom, Atom),
    Reals(Comparison, Atom, Atom),
    Not(Atom),
    And(Atom, Atom),
    Or(Atom, Atom),
}

/// How a fact is forgotten.
enum Undo {
    Least(Var, i64),
    Most(Var, i64),
    Lower(Var),
    Upper(Var),
    Real(Var, Option<Interval>),
    /// It had no form.
    Form(Var),
}

/// The facts that hold where the pass stands.
pub(super) struct Facts {
    known: Vec<VarFacts>,
    undo: Vec<Undo>,
    now: u32,
}

/// A place to return to.
pub(super) struct UndoMark(usize);

impl Facts {
    pub fn new(vars: usize) -> Facts {
        let nothing = VarFacts {
            form: None,
            least: i64::MIN,
            most: i64::MAX,
            lower: Vec::new(),
            upper: Vec::new(),
            choice: None,
            says: None,
            real: None,
            absolute: None,
            order: 0,
        };
        Facts { known: vec![nothing; vars], undo: Vec::new(), now: 0 }
    }

    pub fn mark(&self) -> UndoMark {
        UndoMark(self.undo.len())
    }

    /// Forgets the facts since the mark.
    pub fn reset(&mut self, mark: &UndoMark) {
        while self.undo.len() > mark.0 {
            match self.undo.pop() {
                Some(Undo::Least(v, n)) => self.known[v.0 as usize].least = n,
                Some(Undo::Most(v, n)) => self.known[v.0 as usize].most = n,
                Some(Undo::Lower(v)) => drop(self.known[v.0 as usize].lower.pop()),
                Some(Undo::Upper(v)) => drop(self.known[v.0 as usize].upper.pop()),
                Some(Undo::Real(v, interval)) => self.known[v.0 as usize].real = interval,
                Some(Undo::Form(v)) => self.known[v.0 as usize].form = None,
                None => {}
            }
        }
    }

    /// Defines a new variable.
    pub fn define(&mut self, v: Var) {
        self.now += 1;
        self.known[v.0 as usize].order = self.now;
    }

    pub fn set_form(&mut self, v: Var, form: Linear) {
        // A form of itself says nothing.
        if !form.terms.iter().any(|(term, _)| *term == Term::Var(v)) {
            self.known[v.0 as usize].form = Some(form);
        }
    }

    pub fn set_choice(&mut self, v: Var, cond: Option<Var>, a: Atom, b: Atom) {
        self.known[v.0 as usize].choice = Some((cond, a, b));
    }

    pub fn set_says(&mut self, v: Var, says: Says) {
        self.known[v.0 as usize].says = Some(says);
    }

    /// The interval of a Real.
    pub fn real(&self, v: Var) -> Option<Interval> {
        self.known[v.0 as usize].real
    }

    /// Notes that a Real lies in an interval.
    pub fn note_real(&mut self, v: Var, within: Interval) {
        let known = self.known[v.0 as usize].real;
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let (low, high) = known.unwrap_or(all);
        self.undo.push(Undo::Real(v, known));
        self.known[v.0 as usize].real = Some((low.max(within.0), high.min(within.1)));
    }

    /// The Real that a variable is the absolute value of.
    pub fn absolute(&self, v: Var) -> Option<Var> {
        self.known[v.0 as usize].absolute
    }

    pub fn set_absolute(&mut self, v: Var, of: Option<Var>) {
        self.known[v.0 as usize].absolute = of;
    }

    /// The linear form of an Int in variables of which only bounds are known.
    pub fn form(&self, atom: &Atom) -> Linear {
        match atom {
            Atom::Var(v) => self.normal(Linear::var(*v)),
            Atom::Int(n) => Linear::constant(*n),
            // No Ints, or nothing looks at them.
            Atom::Real(_) | Atom::Bool(_) | Atom::Unused(_) => Linear::constant(0),
        }
    }

    /// A number in terms of variables of which nothing but bounds is known now.
    fn normal(&self, number: Linear) -> Linear {
        let form = |v: Var| self.known[v.0 as usize].form.as_ref();
        let has_form = |term: Term| match term {
            Term::Var(v) => form(v).is_some(),
            Term::Product(v, w) => form(v).is_some() || form(w).is_some(),
        };
        if !number.terms.iter().any(|(term, _)| has_form(*term)) {
            return number;
        }
        let mut sum = Linear { constant: number.constant, ..Linear::default() };
        for (term, factor) in &number.terms {
            let known = |v: Var| form(v).map_or_else(|| Linear::var(v), |f| self.normal(f.clone()));
            let value = match *term {
                Term::Var(v) => Some(known(v)),
                Term::Product(v, w) => known(v).product(&known(w)),
            };
            match value.and_then(|value| sum.plus(*factor, &value)) {
                Some(next) => sum = next,
                // Too long: what is known is not used.
                None => return number,
            }
        }
        sum
    }

    /// Notes that two forms are equal: from now on, a form in the other variables replaces the latest one.
    pub fn equate(&mut self, a: &Linear, b: &Linear) {
        let (a, b) = (self.normal(a.clone()), self.normal(b.clone()));
        let Some(difference) = a.plus(-1, &b) else { return };
        let latest = difference
            .terms
            .iter()
            .enumerate()
            .filter_map(|(i, (term, factor))| match term {
                Term::Var(v) if factor.abs() == 1 => Some((self.order(*term), i, *v, *factor)),
                Term::Var(_) | Term::Product(..) => None,
            })
            .max();
        let Some((_, i, v, factor)) = latest else { return };
        let Some(form) = difference.without(i).times(-factor) else { return };
        let known = &self.known[v.0 as usize];
        // It may occur in a product, too.
        let occurs = |(term, _): &(Term, i64)| match term {
            Term::Var(w) => *w == v,
            Term::Product(w, x) => *w == v || *x == v,
        };
        if known.form.is_some() || form.terms.iter().any(occurs) {
            return;
        }
        // What was known of the variable is known of its form.
        let (least, most) = (known.least, known.most);
        let (lower, upper) = (known.lower.clone(), known.upper.clone());
        self.known[v.0 as usize].form = Some(form.clone());
        self.undo.push(Undo::Form(v));
        if least > i64::MIN {
            self.assume_at_most(&Linear::constant(least), &form, 0);
        }
        if most < i64::MAX {
            self.assume_at_most(&form, &Linear::constant(most), 0);
        }
        for bound in lower {
            let bound = self.normal(bound);
            self.assume_at_most(&bound, &form, 0);
        }
        for bound in upper {
            let bound = self.normal(bound);
            self.assume_at_most(&form, &bound, 0);
        }
    }

    /// Notes that a form is not negative.
    pub fn assume(&mut self, fact: &Linear) {
        for (i, (term, factor)) in fact.terms.iter().enumerate() {
            let Term::Var(v) = term else { continue };
            let rest = fact.without(i);
            let known = &mut self.known[v.0 as usize];
            if rest.terms.is_empty() {
                let c = rest.constant;
                let factor = i128::from(*factor);
                // factor · v + c ≥ 0
                if factor > 0 {
                    let least = i64::try_from(
                        (-c).div_euclid(factor) + i128::from((-c).rem_euclid(factor) > 0),
                    );
                    if let Some(least) = least.ok().filter(|n| *n > known.least) {
                        self.undo.push(Undo::Least(*v, known.least));
                        known.least = least;
                    }
                } else {
                    let most = i64::try_from(c.div_euclid(-factor));
                    if let Some(most) = most.ok().filter(|n| *n < known.most) {
                        self.undo.push(Undo::Most(*v, known.most));
                        known.most = most;
                    }
                }
            } else if *factor == 1 {
                if let Some(bound) = rest.times(-1) {
                    known.lower.push(bound);
                    self.undo.push(Undo::Lower(*v));
                }
            } else if *factor == -1 {
                known.upper.push(rest);
                self.undo.push(Undo::Upper(*v));
            }
        }
    }

    /// Notes `a ≤ b + c`.
    pub fn assume_at_most(&mut self, a: &Linear, b: &Linear, c: i64) {
        if let Some(fact) = b.plus(-1, a) {
            self.assume(&fact.plus_constant(c));
        }
    }

    /// Notes what follows from a truth value.
    pub fn assume_truth(&mut self, atom: &Atom, value: bool) {
        self.truth(atom, value, 8);
    }

    fn truth(&mut self, atom: &Atom, value: bool, depth: u32) {
        let Atom::Var(v) = atom else { return };
        let Some(says) = self.known[v.0 as usize].says.clone().filter(|_| depth > 0) else {
            return;
        };
        match says {
            Says::Not(a) => self.truth(&a, !value, depth - 1),
            Says::And(a, b) if value => {
                self.truth(&a, true, depth - 1);
                self.truth(&b, true, depth - 1);
            }
            Says::Or(a, b) if !value => {
                self.truth(&a, false, depth - 1);
                self.truth(&b, false, depth - 1);
            }
            Says::Reals(comparison, a, b) if value => self.assume_reals(comparison, &a, &b),
            Says::Reals(..) | Says::And(..) | Says::Or(..) => {}
            Says::Compare(comparison, a, b) => {
                let (a, b) = (self.form(&a), self.form(&b));
                match (comparison, value) {
                    (Comparison::Lt, true) | (Comparison::Ge, false) => {
                        self.assume_at_most(&a, &b, -1)
                    }
                    (Comparison::Le, true) | (Comparison::Gt, false) => {
                        self.assume_at_most(&a, &b, 0)
                    }
                    (Comparison::Gt, true) | (Comparison::Le, false) => {
                        self.assume_at_most(&b, &a, -1)
                    }
                    (Comparison::Ge, true) | (Comparison::Lt, false) => {
                        self.assume_at_most(&b, &a, 0)
                    }
                    (Comparison::Eq, true) | (Comparison::Ne, false) => {
                        self.assume_at_most(&a, &b, 0);
                        self.assume_at_most(&b, &a, 0);
                    }
                    // At one end of what it can be, it is not there.
                    (Comparison::Ne, true) | (Comparison::Eq, false) => {
                        if self.at_most(&b, &a, 0) {
                            self.assume_at_most(&b, &a, -1);
                        } else if self.at_most(&a, &b, 0) {
                            self.assume_at_most(&a, &b, -1);
                        }
                    }
                }
            }
        }
    }

    /// For each variable of a form that is one of two values: if it is known not to be the one, it is the other.
    pub fn decide_choices(&mut self, of: &Linear) {
        for (term, _) in &of.terms {
            let Term::Var(v) = term else { continue };
            let Some((None, a, b)) = self.known[v.0 as usize].choice.clone() else { continue };
            let (v, a, b) = (Linear::var(*v), self.form(&a), self.form(&b));
            for (x, other) in [(&a, &b), (&b, &a)] {
                if self.at_most(other, &v, -1) || self.at_most(&v, other, -1) {
                    self.assume_at_most(&v, x, 0);
                    self.assume_at_most(x, &v, 0);
                }
            }
        }
    }

    /// Whether a comparison holds, if that can be proved.
    pub fn decide(&mut self, comparison: Comparison, a: &Atom, b: &Atom) -> Option<bool> {
        let (a, b) = (self.form(a), self.form(b));
        let less = |this: &mut Self| this.at_most(&a, &b, -1);
        let at_most = |this: &mut Self| this.at_most(&a, &b, 0);
        let more = |this: &mut Self| this.at_most(&b, &a, -1);
        let at_least = |this: &mut Self| this.at_most(&b, &a, 0);
        match comparison {
            Comparison::Lt if less(self) => Some(true),
            Comparison::Lt => at_least(self).then_some(false),
            Comparison::Le if at_most(self) => Some(true),
            Comparison::Le => more(self).then_some(false),
            Comparison::Gt if more(self) => Some(true),
            Comparison::Gt => at_most(self).then_some(false),
            Comparison::Ge if at_least(self) => Some(true),
            Comparison::Ge => less(self).then_some(false),
            Comparison::Eq if less(self) || more(self) => Some(false),
            Comparison::Eq => (at_most(self) && at_least(self)).then_some(true),
            Comparison::Ne if less(self) || more(self) => Some(true),
            Comparison::Ne => (at_most(self) && at_least(self)).then_some(false),
        }
    }

    /// Whether `a ≤ b + c` can be proved.
    pub fn at_most(&mut self, a: &Linear, b: &Linear, c: i64) -> bool {
        b.plus(-1, a).is_some_and(|goal| self.prove(&goal.plus_constant(c)))
    }

    /// Whether a form can be proved to be at least `n`.
    pub fn at_least(&mut self, a: &Linear, n: i64) -> bool {
        n.checked_neg().is_some_and(|n| self.prove(&a.plus_constant(n)))
    }

    /// Whether a form certainly fits an Int.
    pub fn fits(&mut self, a: &Linear) -> bool {
        self.at_most(a, &Linear::constant(i64::MAX), 0)
            && self.at_most(&Linear::constant(i64::MIN), a, 0)
    }

    /// Whether a form can be proved not to be negative.
    pub fn prove(&mut self, goal: &Linear) -> bool {
        let mut fuel = FUEL;
        self.search(goal, DEPTH, &mut fuel)
    }

    /// The least that a number can be, by the constants that bound its variables.
    fn least(&self, goal: &Linear) -> i128 {
        let mut least = goal.constant;
        for (term, factor) in &goal.terms {
            let (lo, hi) = self.interval(*term);
            let bound = if *factor > 0 { lo } else { hi };
            least = least.saturating_add(bound.saturating_mul(i128::from(*factor)));
        }
        least
    }

    fn interval(&self, term: Term) -> (i128, i128) {
        let of = |v: Var| {
            let known = &self.known[v.0 as usize];
            (i128::from(known.least), i128::from(known.most))
        };
        match term {
            Term::Var(v) => of(v),
            Term::Product(v, w) => {
                let ((a, b), (c, d)) = (of(v), of(w));
                let corners = [a * c, a * d, b * c, b * d];
                let least = corners.iter().copied().fold(i128::MAX, i128::min);
                (least, corners.iter().copied().fold(i128::MIN, i128::max))
            }
        }
    }

    fn search(&mut self, goal: &Linear, depth: u32, fuel: &mut u32) -> bool {
        let goal = &self.normal(goal.clone());
        if self.least(goal) >= 0 {
            return true;
        }
        if depth == 0 || *fuel == 0 {
            return false;
        }
        *fuel -= 1;
        let mut terms: Vec<usize> = (0..goal.terms.len()).collect();
        terms.sort_by_key(|i| std::cmp::Reverse(self.order(goal.terms[*i].0)));
        for i in terms {
            let (term, factor) = goal.terms[i];
            let rest = goal.without(i);
            let proved = match term {
                Term::Var(v) => self.by_bounds(&rest, v, factor, None, depth, fuel),
                Term::Product(v, w) => {
                    self.not_negative(w) && self.by_bounds(&rest, v, factor, Some(w), depth, fuel)
                        || self.not_negative(v)
                            && self.by_bounds(&rest, w, factor, Some(v), depth, fuel)
                }
            };
            if proved {
                return true;
            }
        }
        false
    }

    /// Whether a truth value is proved to be another one.
    fn refuted(&mut self, truth: Var, value: bool, depth: u32, fuel: &mut u32) -> bool {
        let Some(Says::Compare(comparison, a, b)) = &self.known[truth.0 as usize].says else {
            return false;
        };
        let (less, more) = (self.form(a), self.form(b));
        // What would have to be: `less ≤ more`, or `less < more`.
        let (less, more, strictly) = match (comparison, value) {
            (Comparison::Lt, true) | (Comparison::Ge, false) => (less, more, true),
            (Comparison::Le, true) | (Comparison::Gt, false) => (less, more, false),
            (Comparison::Gt, true) | (Comparison::Le, false) => (more, less, true),
            (Comparison::Ge, true) | (Comparison::Lt, false) => (more, less, false),
            (Comparison::Eq | Comparison::Ne, _) => return false,
        };
        let opposite = less.plus(-1, &more).map(|goal| goal.plus_constant(i64::from(strictly) - 1));
        opposite.is_some_and(|goal| self.search(&goal, depth, fuel))
    }

    /// If the condition of a variable that is one of two values is decided, it is that one.
    pub fn decide_choice(&mut self, v: Var) {
        let Some((Some(cond), a, b)) = self.known[v.0 as usize].choice.clone() else { return };
        for (atom, value) in [(a, false), (b, true)] {
            if self.refuted(cond, value, DEPTH, &mut FUEL.clone()) {
                let x = self.form(&atom);
                return self.equate(&Linear::var(v), &x);
            }
        }
    }

    fn order(&self, term: Term) -> u32 {
        match term {
            Term::Var(v) => self.known[v.0 as usize].order,
            Term::Product(v, w) => {
                self.known[v.0 as usize].order.max(self.known[w.0 as usize].order)
            }
        }
    }

    fn not_negative(&self, v: Var) -> bool {
        self.known[v.0 as usize].least >= 0
    }

    /// Proves `rest + factor · v (· times) ≥ 0` by a bound of `v`; `times` is not negative.
    fn by_bounds(
        &mut self,
        rest: &Linear,
        v: Var,
        factor: i64,
        times: Option<Var>,
        depth: u32,
        fuel: &mut u32,
    ) -> bool {
        let known = &self.known[v.0 as usize];
        let bounds = if factor > 0 { &known.lower } else { &known.upper };
        let constant = if factor > 0 { known.least } else { known.most };
        let mut tried: Vec<Linear> = bounds.iter().rev().take(TRIED).cloned().collect();
        if times.is_some() && constant != i64::MIN && constant != i64::MAX {
            tried.push(Linear::constant(constant));
        }
        let choice = known.choice.clone();
        for bound in tried {
            let bound = match times {
                Some(w) => bound.times_var(w),
                None => Some(bound),
            };
            let goal = bound.and_then(|bound| rest.plus(factor, &bound));
            if goal.is_some_and(|goal| self.search(&goal, depth - 1, fuel)) {
                return true;
            }
            if *fuel == 0 {
                return false;
            }
        }
        let (Some((cond, a, b)), None) = (choice, times) else { return false };
        [(a, true), (b, false)].into_iter().all(|(atom, value)| {
            let Some(goal) = rest.plus(factor, &self.form(&atom)) else { return false };
            let mark = self.mark();
            let impossible = cond.is_some_and(|cond| self.refuted(cond, value, depth - 1, fuel));
            if let Some(cond) = cond {
                self.assume_truth(&Atom::Var(cond), value);
            }
            let proved = impossible || self.search(&goal, depth - 1, fuel);
            self.reset(&mark);
            proved
        })
    }
}
