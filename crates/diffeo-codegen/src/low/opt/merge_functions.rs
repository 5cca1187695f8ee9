//! Function merging: of helper functions that do the same, the first is left. A comprehension may stand in several
//! places, and the functions for its steps and its blocks are then the same each time.

use crate::low::{FunctionId, LowFunction, LowModule, LowTy, Stmt};
use diffeo_base::deep;
use hashbrown::HashMap;

/// A function is compared with so many that look like it, at most.
const ALIKE: usize = 8;

/// What functions that do the same have in common at least: parameters, registers, statements and results.
type Looks = (usize, usize, usize, Vec<LowTy>);

/// Merges functions that do the same, among those behind the first `program`.
pub(super) fn merge_functions(module: &mut LowModule, program: usize) {
    let mut alike: HashMap<Looks, Vec<usize>> = HashMap::new();
    let mut first: Vec<usize> = (0..module.functions.len()).collect();
    for i in program..first.len() {
        // What does blocks is made behind what it calls.
        rename(&mut module.functions[i], &|f| first[f]);
        let function = &module.functions[i];
        let looks = (
            function.params.len(),
            function.registers.len(),
            function.statements(),
            function.results.clone(),
        );
        let others = alike.entry(looks).or_default();
        if let Some(other) = others.iter().find(|f| same(&module.functions[**f], function)) {
            first[i] = *other;
        } else if others.len() < ALIKE {
            others.push(i);
        }
    }
    let mut new: Vec<usize> = Vec::with_capacity(first.len());
    let mut count = 0;
    for (i, f) in first.iter().enumerate() {
        new.push(if *f == i { count } else { new[*f] });
        count += usize::from(*f == i);
    }
    if count == first.len() {
        return;
    }
    let mut kept = Vec::with_capacity(count);
    for (i, mut function) in std::mem::take(&mut module.functions).into_iter().enumerate() {
        if first[i] == i {
            rename(&mut function, &|f| new[f]);
            kept.push(function);
        }
    }
    module.functions = kept;
    module.entry = FunctionId(new[module.entry.0 as usize] as u32);
}

/// Whether two functions do the same, to the last bit: the sign of a zero is seen as text only.
fn same(a: &LowFunction, b: &LowFunction) -> bool {
    let parts = |f: &LowFunction| (f.fallible, f.recursive, f.blocks.clone());
    a.registers == b.registers
        && a.params == b.params
        && parts(a) == parts(b)
        && a.body == b.body
        && format!("{:?}", a.body) == format!("{:?}", b.body)
}

/// Changes which functions a function refers to.
fn rename(function: &mut LowFunction, new: &dyn Fn(usize) -> usize) {
    let renamed = |f: FunctionId| FunctionId(new(f.0 as usize) as u32);
    if let Some(blocks) = &mut function.blocks {
        blocks.task = renamed(blocks.task);
    }
    calls(&mut function.body, &renamed);
}

fn calls(stmts: &mut [Stmt], renamed: &dyn Fn(FunctionId) -> FunctionId) {
    for stmt in stmts {
        if let Stmt::Call { function, .. } = stmt {
            *function = renamed(*function);
        }
        for inner in stmt.blocks_mut() {
            deep(|| calls(inner, renamed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::merge_functions;
    use crate::low::{FunctionId, LowFunction, LowModule, LowTy, Operand, Stmt, NOWHERE};
    use std::sync::Arc;

    fn function(name: &str, results: Vec<LowTy>, body: Vec<Stmt>) -> LowFunction {
        LowFunction {
            name: name.into(),
            registers: Vec::new(),
            params: Vec::new(),
            results,
            fallible: false,
            recursive: None,
            blocks: None,
            apart: false,
            body,
        }
    }

    fn number(name: &str, x: f64) -> LowFunction {
        function(name, vec![LowTy::Real], vec![Stmt::Return(vec![Operand::Real(x)])])
    }

    fn calls(callees: &[u32]) -> Vec<Stmt> {
        let call = |f: &u32| Stmt::Call {
            results: Vec::new(),
            function: FunctionId(*f),
            args: Vec::new(),
            site: NOWHERE,
        };
        callees.iter().map(call).chain([Stmt::Return(Vec::new())]).collect()
    }

    #[test]
    fn what_does_the_same_is_one_function() {
        let entry = function("entry", Vec::new(), calls(&[1, 2, 3, 4, 5, 6]));
        let mut module = LowModule {
            functions: vec![
                entry,
                number("zero", 0.0),
                number("minus_zero", -0.0),
                number("zero_again", 0.0),
                function("calls", Vec::new(), calls(&[1])),
                function("calls_again", Vec::new(), calls(&[3])),
                function("calls_another", Vec::new(), calls(&[2])),
            ],
            layouts: Vec::new(),
            texts: Vec::new(),
            constant_words: 0,
            constant_references: Vec::new(),
            entry: FunctionId(0),
            flat: Arc::default(),
        };
        merge_functions(&mut module, 1);
        let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["entry", "zero", "minus_zero", "calls", "calls_another"]);
        assert_eq!(module.functions[0].body, calls(&[1, 2, 1, 3, 3, 4]));
        assert_eq!(module.functions[4].body, calls(&[2]));
    }
}
