//! Translated programs made readable: what a definition needs of a workspace comes in, a program of its own with
//! short terms goes out. It has the same values, and prints and parses as every program of Core.
//!
//! | file | what it does |
//! |---|---|
//! | `derivatives.rs` | translates the derivatives within the program first |
//! | `simplify.rs` | reduces what the translations wrote: calls of auxiliary functions, components of tuples, `let`s |
//! | `names.rs` | names the components of variables, and gives each variable of a definition a name of its own |
//! | `reach.rs` | leaves out what is not needed |

mod derivatives;
mod names;
mod reach;
mod simplify;

pub use derivatives::in_place;

use super::Workspace;
use diffeo_base::Span;
use diffeo_calculus::prim::Prim;
use diffeo_calculus::term::{GlobalId, Program, TermKind};

/// The program that a definition needs, in short; the definition is the last one.
pub fn readable(w: &mut Workspace, entry: GlobalId) -> Program {
    w.finish();
    let mut program = reach::needed(w, entry);
    simplify::simplify(&mut program);
    names::name(&mut program);
    simplify::simplify(&mut program);
    names::tell_apart(&mut program.part.globals);
    program.part.into_program()
}

/// The program without the variant types that its last definition does not need, and with different names for
/// the variables of a definition.
pub fn pruned(program: &Program) -> Program {
    needed_by(program, GlobalId(program.globals.len() as u32 - 1))
}

/// The part of a program that a definition needs, itself last, with different names for the variables of a definition.
pub fn needed_by(program: &Program, entry: GlobalId) -> Program {
    let part = reach::Reached { datas: program.datas.clone(), globals: program.globals.clone() };
    let mut part = reach::prune(&part, entry).0;
    names::tell_apart(&mut part.globals);
    part.into_program()
}

/// A place at which the code of a function value is not known before the program runs, so that the program has
/// no text that can be read back.
pub fn dynamic(program: &Program) -> Option<Span> {
    for global in program.globals.iter().rev() {
        let mut pending = vec![&global.body];
        while let Some(e) = pending.pop() {
            if matches!(&e.kind, TermKind::Prim(Prim::Lift(_), _)) {
                return Some(e.span);
            }
            e.each_child(|child| pending.push(child));
        }
    }
    None
}
