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

/// Where the elements of a comprehension go.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The array that is updated.
    pub array: &'a Atom,
    /// Which row of it.
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
    fn block(&mut self, block: &'a Block) {
        let mut defined: HashMap<Var, usize> = HashMap::new();
        for (at, stmt) in block.stmts.iter().enumerate() {
            regions(&stmt.op, |region| deep(|| self.block(region)));
            if let Op::Build { .. } | Op::Elements(..) = &stmt.op {
                for v in &stmt.results {
                    if let Some(row) = self.row(block, at, *v, &defined) {
                        self.rows.insert(*v, row);
                    }
                }
            }
            defined.extend(stmt.results.iter().map(|v| (*v, at)));
        }
    }

    /// Where an array of numbers goes that the statement at this position makes.
    fn row(
        &self,
        block: &'a Block,
        at: usize,
        v: Var,
        defined: &HashMap<Var, usize>,
    ) -> Option<Row<'a>> {
        let FlatTy::Array(Elem::Real | Elem::Int | Elem::Bool, 1) =
            self.function.vars[v.0 as usize].ty
        else {
            return None;
        };
        if self.whole.contains(&v) {
            return None;
        }
        let number = self.scan.number(block);
        // It is known before the statement, and belongs to the block.
        let own = |v: Var| {
            self.scan.home[v.0 as usize] == number
                && (self.scan.def[v.0 as usize].is_none() || defined.contains_key(&v))
        };
        let known = |atom: &Atom| {
            var(atom).is_none_or(|v| self.scan.home[v.0 as usize] != number || own(v))
        };
        for stmt in &block.stmts[at + 1..] {
            match &stmt.op {
                Op::Update { array, indices, value } if var(value) == Some(v) => {
                    let only = |v: Var| self.scan.count[v.0 as usize] == 1;
                    let result = *stmt.results.first()?;
                    let fits = var(array).is_some_and(|v| own(v) && only(v))
                        && only(result)
                        && block.results.contains(&Atom::Var(result))
                        && indices.iter().all(known);
                    if fits {
                        return Some(Row { array, indices, result });
                    }
                }
                op => {
                    let mut stops = matches!(op, Op::Check(_) | Op::Stop(_));
                    regions(op, |region| {
                        statements(region, &mut |stmt| {
                            stops |= matches!(stmt.op, Op::Check(_) | Op::Stop(_));
                        });
                    });
                    if stops {
                        return None;
                    }
                }
            }
        }
        None
    }
}
