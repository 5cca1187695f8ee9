//! Frozen blocks of memory: while several threads read them, nothing writes their reference counts.
//!
//! Counting is not atomic. So the counts of all reachable blocks are replaced by those of blocks that are never freed,
//! which are read but not written, and put back afterwards.

use super::memory::{stack_tuples, word, STATIC};
use crate::low::{Layout, BYTES, COUNT, DATA, FIELDS, LAYOUT, STACK_LENGTH};

/// More blocks are not frozen: it would take longer than it is worth.
const MOST: usize = 1 << 12;

/// Blocks whose counts are put back when this goes.
pub(super) struct Frozen(Vec<(*mut u8, i64)>);

impl Frozen {
    /// Freezes these blocks, some perhaps null, and all that can be reached from them; none if that is too much.
    ///
    /// # Safety
    /// They are live, and as long as this lives, nothing frees them or relies on their counts.
    pub unsafe fn new(layouts: &[Layout], roots: impl Iterator<Item = *mut u8>) -> Option<Frozen> {
        let mut frozen = Frozen(Vec::new());
        for root in roots {
            // SAFETY: by the condition of the function.
            if unsafe { !frozen.add(root) } {
                return None;
            }
        }
        let mut next = 0;
        while let Some((block, _)) = frozen.0.get(next).copied() {
            next += 1;
            // SAFETY: live blocks have the words that their layouts say, and refer to live blocks or null.
            let all = unsafe {
                match &layouts[word(block, LAYOUT).read() as usize] {
                    Layout::Plain | Layout::Text => true,
                    Layout::References => {
                        let bytes = word(block, BYTES).read();
                        (0..bytes).step_by(8).all(|at| frozen.add_at(block, DATA + at))
                    }
                    Layout::Fields(fields) => {
                        let references = fields.iter().enumerate().filter(|(_, counted)| **counted);
                        references
                            .map(|(i, _)| FIELDS + 8 * i as i64)
                            .all(|at| frozen.add_at(block, at))
                    }
                    Layout::Stack(components) => {
                        let tuples = stack_tuples(block);
                        let words = word(block, STACK_LENGTH).read() * components.len() as i64;
                        tuples.is_null()
                            || (0..words)
                                .filter(|i| components[*i as usize % components.len()])
                                .all(|i| frozen.add_at(tuples, DATA + 8 * i))
                    }
                }
            };
            if !all {
                return None;
            }
        }
        Some(frozen)
    }

    /// Freezes the block that a word refers to; false if there are too many.
    ///
    /// # Safety
    /// As for [`Frozen::add`].
    unsafe fn add_at(&mut self, block: *mut u8, offset: i64) -> bool {
        // SAFETY: by the condition of the function.
        unsafe { self.add(word(block, offset).read() as *mut u8) }
    }

    /// Freezes a block; false if there are too many.
    ///
    /// # Safety
    /// It is a live block, or null.
    unsafe fn add(&mut self, block: *mut u8) -> bool {
        if block.is_null() {
            return true;
        }
        // SAFETY: the first word of a block is its count.
        unsafe {
            let count = word(block, COUNT);
            let references = count.read();
            if references < 0 {
                return true;
            }
            if self.0.len() == MOST {
                return false;
            }
            self.0.push((block, references));
            count.write(STATIC);
        }
        true
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for (block, references) in &self.0 {
            // SAFETY: they are live (`Frozen::new`).
            unsafe { word(*block, COUNT).write(*references) };
        }
    }
}
