//! Rows made in their place: a comprehension whose elements an update puts into an array writes them there itself, so
//! that nothing is allocated and copied.
//!
//! Why it is right: nothing looks at the array between the comprehension and the update, or at its old row after it;
//! what is asked of the comprehension are elements and its size; and no check stands between the two, so those that
//! guard the update guard the comprehension, too. Whether the array is changed in place is known when the comprehension
//! is translated.

use super::scan::Scan;
use super::uses::{regions, statements, uses, var};
use diffeo_array::ir::{Atom, Block, Elem, FlatTy, Function, Op, Stmt, Var};
use diffeo_base::deep;
use hashbrown::{HashMap, HashSet};

/// The destination of the elements of a comprehension.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The array that is updated.
    pub array: &'a Atom,
    /// The indices of the row.
    pub indices: &'a [Atom],
    /// The array after the update.
    pub result: Var,
}

/// The comprehensions of a function that can be made in their place.
pub(super) fn rows<'a>(function: &'a Function, scan: &Scan<'a>) -> HashMap<Var, Row<'a>> {
    let mut updates = false;
    let mut whole = HashSet::new();
    statements(&function.body, &mut |stmt| {
        updates |= matches!(stmt.op, Op::Update { .. });
        see(function, stmt, &mut whole);
    });
    whole.extend(function.body.results.iter().filter_map(var));
    let mut finder = Finder { function, scan, whole, rows: HashMap::new() };
    if updates {
        finder.block(&function.body);
    }
    finder.rows
}

/// Notes of which arrays a statement asks for more than elements, sizes, or all elements as a row.
fn see(function: &Function, stmt: &Stmt, whole: &mut HashSet<Var>) {
    let mut elements = None;
    match &stmt.op {
        Op::Dim(..) => return,
        Op::Get(array, indices) => {
            let rank = |v: Var| match function.vars[v.0 as usize].ty {
                FlatTy::Array(_, rank) => usize::from(rank),
                _ => 0,
            };
            elements = var(array).filter(|v| rank(*v) == indices.len());
        }
        Op::Update { value, .. } => elements = var(value),
        Op::AccAddArray(_, array) => elements = var(array),
        _ => {}
    }
    uses(
        &function.vars,
        &stmt.op,
        |_, _| true,
        |atom, _| whole.extend(var(atom).filter(|v| Some(*v) != elements)),
    );
    regions(&stmt.op, |region| whole.extend(region.results.iter().filter_map(var)));
}

struct Finder<'f, 'a> {
    function: &'a Function,
    scan: &'f Scan<'a>,
    /// Arrays that are needed as such.
    whole: HashSet<Var>,
    rows: HashMap<Var, Row<'a>>,
}

impl<'a> Finder<'_, 'a> {
    /// Finds the comprehensions of a block and of those in it; whether anything there can stop the program.
    fn block(&mut self, block: &'a Block) -> bool {
        // Where variables are defined, which statements update an array by one, and how many before each can stop.
        let mut defined: HashMap<Var, usize> = HashMap::new();
        let mut updates: HashMap<Var, Vec<usize>> = HashMap::new();
        let mut stops = vec![0];
        for (at, stmt) in block.stmts.iter().enumerate() {
            let mut stop = matches!(stmt.op, Op::Check(_) | Op::Stop(_));
            regions(&stmt.op, |region| stop |= deep(|| self.block(region)));
            stops.push(stops[at] + usize::from(stop));
            defined.extend(stmt.results.iter().map(|v| (*v, at)));
            if let Op::Update { value: Atom::Var(v), .. } = &stmt.op {
                updates.entry(*v).or_default().push(at);
            }
        }
        let results: HashSet<Var> = block.results.iter().filter_map(var).collect();
        let number = self.scan.number(block);
        for (v, updates) in &updates {
            let Some(at) =
                defined.get(v).copied().filter(|at| self.is_candidate(*v, &block.stmts[*at]))
            else {
                continue;
            };
            // It is known before the comprehension, and belongs to the block.
            let own = |v: Var| {
                self.scan.home[v.0 as usize] == number
                    && defined.get(&v).is_none_or(|def| *def < at)
            };
            let known = |atom: &Atom| {
                var(atom).is_none_or(|v| self.scan.home[v.0 as usize] != number || own(v))
            };
            let only = |v: Var| self.scan.count[v.0 as usize] == 1;
            let row = updates.iter().find_map(|update| {
                let stmt = &block.stmts[*update];
                let Op::Update { array, indices, .. } = &stmt.op else { return None };
                let result = *stmt.results.first()?;
                let fits = stops[at + 1] == stops[*update]
                    && var(array).is_some_and(|v| own(v) && only(v))
                    && only(result)
                    && results.contains(&result)
                    && indices.iter().all(known);
                fits.then_some(Row { array, indices, result })
            });
            self.rows.extend(row.map(|row| (*v, row)));
        }
        stops.last() != Some(&0)
    }

    /// Whether a statement makes an array of numbers of which only elements, the size and rows are asked for.
    fn is_candidate(&self, v: Var, stmt: &Stmt) -> bool {
        let ty = &self.function.vars[v.0 as usize].ty;
        matches!(stmt.op, Op::Build { .. } | Op::Elements(..))
            && matches!(ty, FlatTy::Array(Elem::Real | Elem::Int | Elem::Bool, 1))
            && !self.whole.contains(&v)
    }
}
