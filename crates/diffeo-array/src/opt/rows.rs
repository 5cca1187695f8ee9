//! Flat matrices: a matrix whose elements are written out is one array from the start, instead of rows that are put
//! together.
//!
//! `rows(elements(a, b), elements(c, d))` becomes `reshape(elements(a, b, c, d), 2, 2)`, which makes one block of
//! memory instead of three. It runs late, because other passes understand rows.

use crate::ir::walk::{deep, has_regions, regions_mut, var};
use crate::ir::{Atom, Block, Elem, FlatTy, Module, Op, Stmt, Var, VarInfo};
use hashbrown::HashMap;

/// Maximum number of elements of a matrix that becomes one array.
const LARGE: usize = 64;

/// Flat matrices: see the head of the file.
pub fn rows(mut module: Module) -> Module {
    for function in &mut module.functions {
        let mut cx = Rows { vars: std::mem::take(&mut function.vars), elements: HashMap::new() };
        let mut body = std::mem::take(&mut function.body);
        cx.block(&mut body);
        function.body = body;
        function.vars = cx.vars;
    }
    module
}

struct Rows {
    vars: Vec<VarInfo>,
    /// The elements of arrays that are written out.
    elements: HashMap<Var, (Elem, Vec<Atom>)>,
}

impl Rows {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for mut stmt in std::mem::take(&mut block.stmts) {
            if has_regions(&stmt.op) {
                deep(|| regions_mut(&mut stmt.op, |r| self.block(r)));
            } else if let (Op::Elements(elem, xs), [v]) = (&stmt.op, &stmt.results[..]) {
                self.elements.insert(*v, (*elem, xs.clone()));
            } else if let Op::Rows(rows) = &stmt.op {
                if let Some((elem, xs)) = self.written(rows) {
                    let sizes = [rows.len(), xs.len() / rows.len()];
                    self.vars.push(VarInfo { ty: FlatTy::Array(elem, 1), name: None });
                    let all = Var(self.vars.len() as u32 - 1);
                    let op = Op::Elements(elem, xs);
                    out.push(Stmt { results: vec![all], op, site: stmt.site });
                    let sizes = sizes.map(|n| Atom::Int(n as i64)).to_vec();
                    stmt.op = Op::Reshape(Atom::Var(all), sizes);
                }
            }
            out.push(stmt);
        }
        block.stmts = out;
    }

    /// All elements of rows that are written out, of which there are some in each.
    fn written(&self, rows: &[Atom]) -> Option<(Elem, Vec<Atom>)> {
        let mut all = Vec::new();
        let mut kind = None;
        for row in rows {
            let (elem, xs) = self.elements.get(&var(row)?)?;
            kind = Some(*elem);
            all.extend(xs.iter().cloned());
        }
        (!all.is_empty() && all.len() <= LARGE).then_some((kind?, all))
    }
}
