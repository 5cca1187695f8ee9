//! Uniqueness analysis: which arrays that a loop carries are never shared within it.
//!
//! An array that a loop only reads and changes in place has one reference at each step if it has one at the first. Then
//! the steps need not test the count, and the array stays where it is, so that loops over arrays can be vectorised.

use super::scan::Scan;
use super::uses::{regions, uses, var, Use};
use diffeo_array::ir::{Atom, Block, Carried, FlatTy, Function, Op, Var};
use diffeo_base::deep;
use hashbrown::HashSet;

/// Whether a carried array is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stays {
    /// It may be shared in the end of a step.
    No,
    /// If it is not shared in the beginning, it never is.
    Unshared,
    /// The same, and every step changes it: so if there is a step, it may be copied before.
    Changed,
}

/// The fate of each carried variable of a loop with this body.
pub(super) fn stays(
    function: &Function,
    scan: &Scan,
    carried: &[Carried],
    body: &Block,
) -> Vec<Stays> {
    let stays = |(i, c): (usize, &Carried)| {
        if !matches!(function.vars[c.param.0 as usize].ty, FlatTy::Array(..)) {
            return Stays::No;
        }
        let mut way = Way {
            scan,
            function,
            body,
            on: HashSet::from([c.param]),
            results: HashSet::from([(body as *const Block, i)]),
            changed: false,
        };
        match body.results[i] {
            // Nothing is won.
            Atom::Var(v) if v == c.param => Stays::No,
            _ if !way.leads(&body.results[i], true) || !way.clean(body, None) => Stays::No,
            _ if way.changed => Stays::Changed,
            _ => Stays::Unshared,
        }
    };
    carried.iter().enumerate().map(stays).collect()
}

/// The way of an array through a step.
struct Way<'a> {
    scan: &'a Scan<'a>,
    function: &'a Function,
    body: &'a Block,
    /// The variables on it, carried variables of inner loops among them.
    on: HashSet<Var>,
    /// The results of blocks on it.
    results: HashSet<(*const Block, usize)>,
    /// Whether the array is changed in every step.
    changed: bool,
}

impl Way<'_> {
    /// Whether a value is the parameter after changes in place. `always`: whether each step comes here.
    fn leads(&mut self, atom: &Atom, always: bool) -> bool {
        let mut next = atom.clone();
        loop {
            let Some(v) = var(&next) else { return false };
            // What is on the way was followed, or is the beginning of it.
            if !self.on.insert(v) {
                return true;
            }
            let Some((stmt, i)) = self.scan.def[v.0 as usize] else { return false };
            if let Op::Update { array, .. } = &stmt.op {
                self.changed |=
                    always && self.scan.home[v.0 as usize] == self.scan.number(self.body);
                next = array.clone();
            } else if let Op::Append(array, _) = &stmt.op {
                next = array.clone();
            } else if let Op::If { then, otherwise, .. } = &stmt.op {
                return deep(|| self.branch(then, i) && self.branch(otherwise, i));
            } else if let Op::Switch { arms, default, .. } = &stmt.op {
                let mut blocks = arms.iter().map(|(_, arm)| arm).chain(default);
                return deep(|| blocks.all(|block| self.branch(block, i)));
            } else if let Op::For { carried, body, .. } | Op::While { carried, body, .. } = &stmt.op
            {
                self.on.insert(carried[i].param);
                if !deep(|| self.branch(body, i)) {
                    return false;
                }
                next = carried[i].init.clone();
            } else {
                return matches!(stmt.op, Op::Stop(_));
            }
        }
    }

    fn branch(&mut self, block: &Block, i: usize) -> bool {
        self.results.insert((block, i));
        self.leads(&block.results[i], false)
    }

    fn is_on(&self, atom: &Atom) -> bool {
        var(atom).is_some_and(|v| self.on.contains(&self.scan.root[v.0 as usize]))
    }

    /// Whether nothing in a block of the operation `of` keeps a reference to the array beside the way.
    fn clean(&self, block: &Block, of: Option<&Op>) -> bool {
        let clean = block.stmts.iter().all(|stmt| {
            let mut clean = true;
            let carries = if let Op::For { carried, .. } | Op::While { carried, .. } = &stmt.op {
                &carried[..]
            } else {
                &[]
            };
            let mut position = 0;
            uses(
                &self.function.vars,
                &stmt.op,
                |_, _| true,
                |atom, how| {
                    let carried = carries.get(position).is_some_and(|c| self.on.contains(&c.param));
                    clean &= match how {
                        Use::Read | Use::Change => true,
                        Use::Keep => carried || !self.is_on(atom),
                    };
                    position += 1;
                },
            );
            regions(&stmt.op, |region| {
                clean = clean && deep(|| self.clean(region, Some(&stmt.op)));
            });
            clean
        });
        // Rows are copied.
        let copies = matches!(of, Some(Op::Build { .. }));
        clean
            && block.results.iter().enumerate().all(|(i, result)| {
                copies || self.results.contains(&(block as *const Block, i)) || !self.is_on(result)
            })
    }
}
