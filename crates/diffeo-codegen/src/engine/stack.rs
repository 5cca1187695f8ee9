//! The stack that programs run on.
//!
//! Recursive functions test whether there is room left. Between two tests, at most as many calls nest as there are
//! functions, and [`stack_margin`] says how many bytes they need. The test leaves that much, so the program never
//! reaches the guard page.

use crate::low::visit::calls;
use crate::low::LowModule;
use corosensei::stack::{DefaultStack, Stack};
use std::cell::Cell;

/// What the functions of the runtime, the C library and callbacks may need.
const RUNTIME: usize = 256 << 10;

/// Room for the guard page, however large pages are.
const GUARD: usize = 64 << 10;

/// The smallest stack that is worth trying.
const SMALLEST: usize = 1 << 20;

thread_local! {
    /// The stack of the last run, to be used again, and its size.
    static FREE: Cell<Option<(usize, DefaultStack)>> = const { Cell::new(None) };
}

/// Calls a function on a stack with so much room for open calls; it gets the address that the stack pointer of
/// functions that test it must not be below.
///
/// # Errors
/// There is no memory for the stack.
pub(crate) fn on_stack<R>(
    size: usize,
    margin: usize,
    f: impl FnOnce(usize) -> R,
) -> std::io::Result<R> {
    let whole = size.max(SMALLEST).saturating_add(margin).saturating_add(GUARD);
    let (whole, mut stack) = match FREE.take() {
        // One that is larger would allow more calls than it should.
        Some((found, stack)) if found == whole => (found, stack),
        Some(_) | None => (whole, new_stack(whole, margin)?),
    };
    let end = stack.limit().get() + GUARD + margin;
    let result = corosensei::on_stack(&mut stack, || f(end));
    FREE.set(Some((whole, stack)));
    Ok(result)
}

/// A stack of this size; of half the size, and so on, if the system does not give it.
fn new_stack(size: usize, margin: usize) -> std::io::Result<DefaultStack> {
    let mut wanted = size;
    loop {
        match DefaultStack::new(wanted) {
            Ok(stack) => return Ok(stack),
            Err(error) if wanted / 2 < margin + GUARD + SMALLEST => return Err(error),
            Err(_) => wanted /= 2,
        }
    }
}

/// How many bytes of the stack a function takes that passes the test of a recursive function, with everything
/// that it calls up to the next test, and the runtime. `frames` has what each function takes, at least.
pub fn stack_margin(module: &LowModule, frames: &[usize]) -> usize {
    let frame = |f: usize| frames.get(f).copied().unwrap_or(0);
    // By function: what it takes with what it calls. 0 while that is not known.
    let mut needs = vec![0; module.functions.len()];
    let callees: Vec<Vec<usize>> = module.functions.iter().map(calls).collect();
    for first in 0..module.functions.len() {
        // A function, and how many of its callees are known.
        let mut path = vec![(first, 0)];
        while let Some((function, known)) = path.last_mut() {
            let f = *function;
            if needs[f] > 0 {
                path.pop();
                continue;
            }
            match callees[f].get(*known) {
                Some(callee) => {
                    *known += 1;
                    let callee = *callee;
                    let tested = module.functions[callee].recursive.is_some();
                    if !tested && needs[callee] == 0 && path.iter().all(|(open, _)| *open != callee)
                    {
                        path.push((callee, 0));
                    }
                }
                None => {
                    let deepest = callees[f].iter().map(|callee| {
                        if module.functions[*callee].recursive.is_some() {
                            frame(*callee)
                        } else {
                            needs[*callee]
                        }
                    });
                    needs[f] = frame(f).max(1) + deepest.max().unwrap_or(0);
                    path.pop();
                }
            }
        }
    }
    RUNTIME + frames.last().copied().unwrap_or(0) + needs.into_iter().max().unwrap_or(0)
}
