//! Rules of `with_derivative` and `with_exact_derivative`: whether they are linear in their tangents.
//!
//! In: modules that inference accepted. Out: errors for rules that are not linear; where it cannot be seen, the places
//! where the rules are given, at which elaboration puts a check of each point into the program. The library's rules are
//! known to be linear, by a test.

use super::{lint, Session};
use crate::db::{DefId, ModuleData, Res};
use crate::elaborate;
use crate::types::Ty as Inferred;
use diffeo_base::Span;
use diffeo_calculus::linear::{rules, Findings, Search, Verdict};
use diffeo_calculus::term::GlobalId;
use std::collections::HashSet;

/// What looks at a rule while a program runs, in the scope of the standard library.
const CHECKS: &str = include_str!("rules.deo");

/// The name of its module; no import can name it.
const MODULE: &str = "rule check";

impl Session {
    /// Looks at the rules of all programs loaded so far.
    pub(super) fn check_rules(&mut self) {
        let uses = self.rule_uses(|module| !module.std);
        self.db.unseen_rules.clear();
        if uses.is_empty() || self.has_errors() {
            return;
        }
        let found = self.rules_of(|module| !module.std);
        for finding in &found.rules {
            if let Verdict::Nonlinear(reason) = &finding.verdict {
                self.db.report(finding.to_diagnostic(reason));
            }
        }
        let unseen = |at: &Span| {
            let here = || found.rules.iter().filter(|finding| finding.at.0 == *at);
            let reached = here().any(|finding| finding.reached);
            let mut known = here().filter(|finding| finding.reached == reached).peekable();
            let is_linear = known.peek().is_some() && known.all(|f| f.verdict == Verdict::Linear);
            found.lost || !is_linear
        };
        self.db.unseen_rules = uses.into_iter().filter(unseen).collect();
        if !self.db.unseen_rules.is_empty() && self.db.rule_checks.is_none() {
            let id = self.module(MODULE, "std/rules.deo", CHECKS.to_string(), None, true);
            self.check_whole(id);
            self.db.rule_checks = Some(id);
            self.check_modules();
        }
    }

    /// Where rules are given that are looked at while programs run, for tests.
    #[doc(hidden)]
    pub fn unseen_rules(&self) -> &HashSet<Span> {
        &self.db.unseen_rules
    }

    /// The verdicts on the rules that the library's definitions lead to, for tests.
    #[doc(hidden)]
    pub fn library_rules(&mut self, modules: &[&str]) -> (HashSet<Span>, Findings) {
        for name in modules {
            self.library_module(name);
        }
        self.check();
        (self.rule_uses(|module| module.std), self.rules_of(|module| module.std))
    }

    /// Where modules name what takes rules.
    fn rule_uses(&self, within: fn(&ModuleData) -> bool) -> HashSet<Span> {
        let takers = self.db.rule_takers();
        let mut uses = HashSet::new();
        for module in self.db.modules.iter().filter(|module| within(module)) {
            let named = module.res.iter().filter(|(_, res)| match res {
                Res::Def(def) => takers.contains(def),
                _ => false,
            });
            uses.extend(named.map(|(id, _)| module.ast.exprs[*id].span));
        }
        uses
    }

    /// The verdicts on the rules that the definitions of modules lead to. What their types leave open is taken to be Real.
    fn rules_of(&self, within: fn(&ModuleData) -> bool) -> Findings {
        let takers = self.db.rule_takers();
        let modules = self.db.modules.iter().filter(|module| within(module));
        let wanted: Vec<(DefId, Vec<Inferred>)> = modules
            .flat_map(|module| &module.defs)
            .filter(|def| !takers.contains(def))
            .filter_map(|def| {
                let open = self.db.def(*def).scheme.as_ref()?.vars.len();
                Some((*def, vec![Inferred::Real; open]))
            })
            .collect();
        // What is too large for Core, no rule of it is seen, and elaboration tells it.
        let Ok((program, roots)) = elaborate::elaborate(&self.db, &wanted) else {
            return Findings { rules: Vec::new(), lost: true };
        };
        lint(&program);
        let takers: Vec<Span> = takers.into_iter().map(|def| self.db.def(def).span).collect();
        let instances = (0..).map(GlobalId).zip(&program.globals);
        let takers: Vec<GlobalId> = instances
            .filter(|(_, global)| takers.contains(&global.span))
            .map(|(id, _)| id)
            .collect();
        let prelude = self.db.prelude.map(|prelude| self.db.module(prelude).file);
        let library = self.db.prelude.is_some_and(|id| within(self.db.module(id)));
        rules(&Search { program: &program, takers: &takers, roots: &roots, prelude, library })
    }
}
