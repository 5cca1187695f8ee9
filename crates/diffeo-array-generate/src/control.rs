//! Blocks, calls and boxes, in bounded numbers: what makes programs long.

use super::ModuleGenerator;
use diffeo_array::ir::{Atom, BoxId, Carried, FlatTy, FunctionId, Op, Reduction};
use diffeo_array::typing::param_types;

/// How many loops may be open.
const DEEPEST: usize = 3;

impl ModuleGenerator<'_> {
    pub(super) fn chosen(&mut self) {
        let cond = self.atom(&FlatTy::Bool);
        let types = self.types(0, 3);
        let then = self.region(&types, |g| g.statements(4));
        let otherwise = self.region(&types, |g| g.statements(4));
        self.emit(Op::If { cond, then, otherwise });
    }

    pub(super) fn switch(&mut self) {
        let on = self.atom(&FlatTy::Int);
        let types = self.types(0, 3);
        let count = self.below(3);
        let arms = (0..count)
            .map(|i| (2 * i as i64 - 1, self.region(&types, |g| g.statements(3))))
            .collect();
        let default = Some(self.region(&types, |g| g.statements(3)));
        self.emit(Op::Switch { on, arms, default });
    }

    /// A new box, or the fields of one.
    pub(super) fn boxed(&mut self) {
        let found: Vec<(Atom, BoxId)> = self
            .scope
            .iter()
            .rev()
            .filter_map(|(atom, ty)| match ty {
                FlatTy::Box(id) => Some((atom.clone(), *id)),
                _ => None,
            })
            .collect();
        if found.is_empty() || self.below(3) == 0 {
            let id = BoxId(self.below(2) as u32);
            self.new_box(id);
            return;
        }
        let (object, id) = self.pick(&found);
        let on = self.one(Op::Tag(object.clone()));
        let types = self.types(0, 3);
        let variants = self.module.boxes[id.0 as usize].variants.clone();
        let arms = variants.iter().enumerate().map(|(tag, variant)| {
            let block = self.region(&types, |g| {
                for index in 0..variant.fields.len() as u32 {
                    let object = object.clone();
                    g.emit(Op::Field { object, tag: tag as u32, index });
                }
                g.statements(2);
            });
            (tag as i64, block)
        });
        let arms = arms.collect();
        self.emit(Op::Switch { on, arms, default: None });
    }

    /// How often: seldom more than a few times.
    fn count(&mut self) -> Atom {
        let array = self.scope.iter().rev().find(|(_, ty)| matches!(ty, FlatTy::Array(..)));
        match array.map(|(atom, _)| atom.clone()) {
            Some(array) if self.below(2) == 1 => self.one(Op::Dim(array, 0)),
            _ => Atom::Int(self.below(5) as i64),
        }
    }

    /// The variables that a loop carries: with first values.
    fn carried(&mut self) -> Vec<(Carried, FlatTy)> {
        let types = self.types(0, 4);
        types
            .into_iter()
            .map(|ty| {
                let init = self.atom(&ty);
                let name = self.variable_name();
                (Carried { param: self.b.var(ty.clone(), name), init }, ty)
            })
            .collect()
    }

    /// Runs with these variables in scope; gives the types.
    fn with_carried(&mut self, carried: &[(Carried, FlatTy)]) {
        let vars = carried.iter().map(|(c, ty)| (Atom::Var(c.param), ty.clone()));
        self.scope.extend(vars);
    }

    pub(super) fn counted(&mut self) {
        if self.depth == DEEPEST {
            return self.scalar();
        }
        let count = self.count();
        let name = self.variable_name();
        let index = self.b.var(FlatTy::Int, name);
        let mut carried = self.carried();
        // An accumulator is carried as it is.
        let acc = self.accs.last().cloned().filter(|_| !self.parallel && self.below(2) == 0);
        let types: Vec<FlatTy> = carried.iter().map(|(_, ty)| ty.clone()).collect();
        self.depth += 1;
        let mut own = None;
        let scope = self.scope.len();
        let mut body = self.region(&types, |g| {
            g.scope.push((Atom::Var(index), FlatTy::Int));
            g.with_carried(&carried);
            if let Some((acc, sizes)) = acc {
                let ty = g.b.ty(&acc);
                let param = g.b.var(ty.clone(), Some("a_bar".into()));
                g.accs.push((Atom::Var(param), sizes));
                own = Some((Carried { param, init: acc }, ty));
            }
            g.statements(5);
        });
        debug_assert_eq!(scope, self.scope.len());
        if let Some(own) = own {
            body.results.push(Atom::Var(own.0.param));
            carried.push(own);
        }
        self.depth -= 1;
        let carried = carried.into_iter().map(|(carried, _)| carried).collect();
        self.emit(Op::For { count, index, carried, body });
    }

    /// A loop that counts down.
    pub(super) fn conditional(&mut self) {
        if self.depth == DEEPEST {
            return self.scalar();
        }
        let start = Atom::Int(self.below(5) as i64);
        let left = self.b.var(FlatTy::Int, Some("left".into()));
        let carried = self.carried();
        let types: Vec<FlatTy> = carried.iter().map(|(_, ty)| ty.clone()).collect();
        self.depth += 1;
        let cond = self.region(&[], |g| {
            g.with_carried(&carried);
            g.statements(2);
        });
        self.b.reopen(cond);
        let scope = self.scope.len();
        let more = self.positive(&Atom::Var(left));
        self.scope.truncate(scope);
        let cond = self.b.close(vec![more]);
        let body = self.region(&types, |g| {
            g.with_carried(&carried);
            g.statements(4);
        });
        self.b.reopen(body.clone());
        let less = self.less(&Atom::Var(left));
        self.scope.truncate(scope);
        let mut results = vec![less];
        results.extend(body.results);
        let body = self.b.close(results);
        self.depth -= 1;
        let mut all = vec![Carried { param: left, init: start }];
        all.extend(carried.into_iter().map(|(carried, _)| carried));
        self.emit(Op::While { carried: all, cond, body });
    }

    /// Steps that do not depend on each other: what they share is only read.
    fn independent(&mut self, types: &[FlatTy], index: Atom) -> diffeo_array::ir::Block {
        self.depth += 1;
        let outer = std::mem::replace(&mut self.parallel, true);
        let (scope, accs) = (self.scope.clone(), std::mem::take(&mut self.accs));
        self.scope.retain(|(_, ty)| !ty.is_mutable());
        let body = self.region(types, |g| {
            g.scope.push((index, FlatTy::Int));
            g.statements(4);
        });
        (self.scope, self.accs, self.parallel) = (scope, accs, outer);
        self.depth -= 1;
        body
    }

    pub(super) fn build(&mut self) {
        if self.depth == DEEPEST {
            return self.scalar();
        }
        let count = self.count();
        let name = self.variable_name();
        let index = self.b.var(FlatTy::Int, name);
        let mut types = self.types(1, 3);
        for ty in &mut types {
            // Ranks stay low.
            if let FlatTy::Array(_, rank) = ty {
                *rank = (*rank).min(2);
            }
        }
        let body = self.independent(&types, Atom::Var(index));
        self.emit(Op::Build { count, index, body });
    }

    pub(super) fn reduce(&mut self) {
        if self.depth == DEEPEST {
            return self.scalar();
        }
        let count = self.count();
        let index = self.b.var(FlatTy::Int, None);
        let number = 1 + self.below(3);
        let how: Vec<Reduction> = (0..number)
            .map(|_| self.pick(&[Reduction::Add, Reduction::Max, Reduction::Min]))
            .collect();
        let body = self.independent(&vec![FlatTy::Real; number], Atom::Var(index));
        self.emit(Op::Reduce { how, count, index, body });
    }

    /// A call of a function that was made before.
    pub(super) fn call(&mut self) {
        if self.recursion.is_some() && self.depth == 0 {
            return self.call_itself();
        }
        // The last one is in the making.
        let others = self.module.functions.len() - 1;
        // Within loops within functions that are called within loops, there would be no end.
        if others == 0 || self.depth > 1 {
            return self.scalar();
        }
        let id = FunctionId(self.below(others) as u32);
        self.call_function(id, Atom::Int(2));
    }

    /// A call of the function in the making with less fuel.
    pub(super) fn call_itself(&mut self) {
        if let Some((id, less)) = self.recursion.clone() {
            if self.budget > 0 {
                self.budget -= 1;
                self.call_function(id, less);
            }
        }
    }

    fn call_function(&mut self, id: FunctionId, fuel: Atom) {
        let function = &self.module.functions[id.0 as usize];
        let first = function.params.first().and_then(|p| function.vars[p.0 as usize].name.clone());
        let fueled = first.is_some_and(|name| name == "fuel");
        let types = param_types(function);
        let mut args: Vec<Atom> = types
            .iter()
            .map(|ty| match ty {
                FlatTy::Acc(0) => self.single_accumulator(),
                ty => self.atom(ty),
            })
            .collect();
        if fueled {
            args[0] = fuel;
        }
        self.emit(Op::Call(id, args));
    }

    /// An accumulator of a single number: a new one, or a view of none.
    fn single_accumulator(&mut self) -> Atom {
        let single = self.accs.iter().rev().find(|(_, sizes)| sizes.is_empty());
        match single.map(|(acc, _)| acc.clone()) {
            Some(acc) => acc,
            None => self.one(Op::AccNew(Vec::new())),
        }
    }
}
