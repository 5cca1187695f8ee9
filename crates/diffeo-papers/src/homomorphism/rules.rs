//! `with_derivative` under the translations (ours): the value of a function, and the displacement that its rule gives.

use super::super::expansion::expansion;
use super::super::polytypic::Traversal;
use super::super::{dual, jet, numbers, System};
use super::HomomorphismTranslator;
use super::{captures, inert, lower_function, same_shapes_of_rule, tangent};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{Diff, DiffOp, Prim};
use diffeo_calculus::term::{Term, TermKind};
use diffeo_calculus::ty::Ty;

impl HomomorphismTranslator<'_> {
    /// (ours) See [`HomomorphismTranslator::by_constant_point`] and [`HomomorphismTranslator::by_environment`].
    pub(super) fn with_derivative(&mut self, s: &Ty, t: &Ty, xs: &[Term]) -> Term {
        match self.system {
            System::Forward | System::Taylor { .. } if self.w.dynamic => {
                self.by_environment(s, t, xs)
            }
            _ => self.by_constant_point(s, t, xs),
        }
    }

    /// At a point that does not vary, as a rule calls its own function, the function, with its rule for whatever
    /// else is still to be translated or differentiated; else what the rule says.
    fn by_constant_point(&mut self, s: &Ty, t: &Ty, xs: &[Term]) -> Term {
        let constant = self.is_constant(s, &xs[2]);
        let kept = Diff { op: DiffOp::WithDerivative, from: self.ty(s), to: self.ty(t) };
        let kept = Term::new(TermKind::Diff(kept, xs.to_vec()), diffeo_base::Span::NONE);
        match constant {
            None => self.by_rule(s, t, xs),
            Some(_) if inert(self.w, s) => kept,
            Some(constant) => if_(constant, kept, self.by_rule(s, t, xs)),
        }
    }

    /// Whether no number in a value varies, for the systems where that is seen.
    fn is_constant(&mut self, a: &Ty, x: &Term) -> Option<Term> {
        let system = self.system;
        let family = Traversal {
            name: "constant",
            shared: Ty::Unit,
            state: Ty::Bool,
            inputs: vec![Some(system.clone())],
            output: None,
            function: None,
            step: &|w, _, before, xs| {
                let constant = numbers::is_constant(w, system, &xs[0]);
                if_(before.clone(), constant.unwrap_or_else(|| truth(false)), truth(false))
            },
        };
        numbers::is_constant(self.w, system, x)?;
        Some(family.apply(self.w, a, None, truth(true), vec![x.clone()]))
    }

    /// At a point x with displacement dx, the rule gives `(t, dt)`, which are the value and its displacement; a rule
    /// that captured numbers that vary gives them a part in the displacement, too. One that did not is called as it
    /// was before translation, so that it may be defined by its own derivative.
    fn by_environment(&mut self, s: &Ty, t: &Ty, xs: &[Term]) -> Term {
        let general = self.by_rule(s, t, xs);
        if *self.system != System::Forward {
            return general;
        }
        let rule =
            Ty::fun(Ty::tuple(vec![s.clone(), s.clone()]), Ty::tuple(vec![t.clone(), t.clone()]));
        let translated = self.ty(&rule);
        let plain = lower_function(self.w, self.system, &rule, xs[1].clone());
        let point = self.primal(s, xs[2].clone());
        let tangent = dual::delta(self.w, self.system, s, xs[2].clone());
        let pair = self.w.binder("p", Ty::tuple(vec![t.clone(), t.clone()]));
        let both = Ty::tuple(vec![t.clone(), t.clone()]);
        let (y, dy) = (proj(&both, 0, var(&pair)), proj(&both, 1, var(&pair)));
        let check = same_shapes_of_rule(self.w, t, t, [y.clone(), dy.clone()]);
        let value = dual::zip(self.w, self.system, t, y, dy);
        let value = bind_all(check.into_iter().collect(), value);
        let args = tuple(vec![s.clone(), s.clone()], vec![point, tangent]);
        let simple = bind(pair, app(plain, args), value);
        let captures = captures(self.system, translated, xs[1].clone(), xs[0].clone());
        if_(captures, general, simple)
    }

    /// At a point x with displacement dx, `rule(x, dx) = (t, dt)`, and the value is t ⊕ dt where dt,
    /// linear in dx, is 0 with the displacement that the rule gives: the rule is called at the point as a
    /// constant, and at the displacement as a number that is 0.
    fn by_rule(&mut self, s: &Ty, t: &Ty, xs: &[Term]) -> Term {
        if let System::Taylor { k, r } = self.system {
            return jet::with_derivative(self.w, (*k, *r), s, t, xs);
        }
        let x = xs[2].clone();
        let point = self.primal(s, x.clone());
        let point = self.lift(s, point);
        let tangent = tangent(self.w, self.system, s, x);
        let (ds, dt) = (self.ty(s), self.ty(t));
        let both = Ty::tuple(vec![dt.clone(), dt.clone()]);
        let value = app(xs[1].clone(), tuple(vec![ds.clone(), ds], vec![point, tangent]));
        let pair = self.w.binder("p", both.clone());
        let [y, dy] = [0, 1].map(|i| proj(&both, i, var(&pair)));
        let check = same_shapes_of_rule(self.w, t, &dt, [y, dy]);
        // dt is 0, but may have been computed as nan.
        let change = super::tangent(self.w, self.system, t, proj(&both, 1, var(&pair)));
        let parts = vec![proj(&both, 0, var(&pair)), change];
        let sum = expansion(self.w, &Prim::Add(t.clone()));
        let sum = self.w.translated(self.system, sum);
        let sum = match &self.zero {
            Some(zero) => app(global(sum), zero.clone()),
            None => global(sum),
        };
        let sum = app(sum, tuple(vec![dt.clone(), dt], parts));
        bind(pair, value, bind_all(check.into_iter().collect(), sum))
    }
}
