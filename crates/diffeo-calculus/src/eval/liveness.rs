//! Liveness of variables, while a function is compiled from its end to its beginning.
//!
//! Code is generated backwards: what stands later in the function is generated first, so at every moment [`Live`] knows
//! what the rest of the function reads. A read of a variable that is not live is its last use. For a variable in one
//! register, the components that are still needed count one by one, so that the last use of a component can move it out
//! of the tuple.
//!
//! Where the code branches, each arm starts from what is live after the branch; [`Live::join`] says what is live before
//! it, and what each arm has to release at its start because only other arms need it.

/// All of the value is needed.
pub(crate) const WHOLE: u64 = u64::MAX;

/// The set of live slots.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// What is needed of each slot: nothing (0), some components (a bit for each), or [`WHOLE`].
    masks: Vec<u64>,
    /// What was overwritten.
    trail: Vec<(u32, u64)>,
}

/// What a branch changed: the slots with what is needed before it.
#[derive(Debug)]
pub(crate) struct ArmChanges(Vec<(u32, u64)>);

/// The effect of all arms of a branch.
#[derive(Debug)]
pub(crate) struct Join {
    /// What each arm gives back at its start.
    pub drops: Vec<Vec<u32>>,
    /// What all arms write for what comes after.
    pub written: Vec<u32>,
}

impl Live {
    /// What is needed of a slot.
    pub fn get(&self, slot: u32) -> u64 {
        self.masks.get(slot as usize).copied().unwrap_or(0)
    }

    /// Whether anything of it is needed.
    pub fn is_live(&self, slot: u32) -> bool {
        self.get(slot) != 0
    }

    /// Sets what is needed of a slot.
    pub fn set(&mut self, slot: u32, mask: u64) {
        let i = slot as usize;
        if i >= self.masks.len() {
            self.masks.resize(i + 1, 0);
        }
        if self.masks[i] != mask {
            self.trail.push((slot, self.masks[i]));
            self.masks[i] = mask;
        }
    }

    /// A moment to come back to.
    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Goes back to a moment; what has changed since.
    pub fn rollback(&mut self, mark: usize) -> ArmChanges {
        let mut changed: Vec<u32> = self.trail[mark..].iter().map(|(slot, _)| *slot).collect();
        changed.sort_unstable();
        changed.dedup();
        let changes = changed.into_iter().map(|slot| (slot, self.get(slot))).collect();
        while self.trail.len() > mark {
            if let Some((slot, old)) = self.trail.pop() {
                self.masks[slot as usize] = old;
            }
        }
        ArmChanges(changes)
    }

    /// Goes to what is live before a branch with these arms.
    pub fn join(&mut self, arms: &[ArmChanges]) -> Join {
        let mut changed: Vec<u32> =
            arms.iter().flat_map(|arm| arm.0.iter().map(|(slot, _)| *slot)).collect();
        changed.sort_unstable();
        changed.dedup();
        let mut drops = vec![Vec::new(); arms.len()];
        let mut written = Vec::new();
        let mut merged = Vec::with_capacity(changed.len());
        let mut next = vec![0; arms.len()];
        for slot in changed {
            let after = self.get(slot);
            let mut all = 0;
            let before: Vec<u64> = arms
                .iter()
                .zip(&mut next)
                .map(|(arm, next)| match arm.0.get(*next) {
                    Some((s, mask)) if *s == slot => {
                        *next += 1;
                        *mask
                    }
                    _ => after,
                })
                .collect();
            before.iter().for_each(|mask| all |= mask);
            if all == 0 {
                if after != 0 {
                    written.push(slot);
                }
            } else {
                for (drops, mask) in drops.iter_mut().zip(&before) {
                    if *mask == 0 {
                        drops.push(slot);
                    }
                }
            }
            merged.push((slot, all));
        }
        for (slot, mask) in merged {
            self.set(slot, mask);
        }
        Join { drops, written }
    }
}

#[cfg(test)]
mod tests {
    use super::{Live, WHOLE};

    #[test]
    fn an_arm_gives_back_what_only_the_other_needs() {
        let mut live = Live::default();
        live.set(9, WHOLE);
        let mark = live.mark();
        live.set(9, 0);
        live.set(1, WHOLE);
        let first = live.rollback(mark);
        live.set(9, 0);
        live.set(2, 1);
        let second = live.rollback(mark);
        assert!(live.is_live(9));
        let join = live.join(&[first, second]);
        assert_eq!(join.drops, [vec![2], vec![1]]);
        assert_eq!(join.written, [9]);
        assert_eq!((live.get(1), live.get(2), live.get(9)), (WHOLE, 1, 0));
    }
}
