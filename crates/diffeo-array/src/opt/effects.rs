//! The effects of statements, and which statements may be computed speculatively.

use super::graph::{call_graph, CallGraph};
use super::shapes::Shapes;
use crate::ir::ops::row;
pub(crate) use crate::ir::ops::Effect;
use crate::ir::walk::{binders, deep, has_regions, operands, regions, statements, var};
use crate::ir::{Atom, Block, FlatTy, Module, Op, Scalar, Stmt, Var, VarInfo};
use diffeo_calculus::prim::{real, IntOp};
use hashbrown::HashSet;

/// The effects of functions and constants.
pub(crate) struct Effects {
    functions: Vec<Effect>,
    constants: Vec<Effect>,
}

impl Effects {
    /// The effects in a module.
    pub fn of(module: &Module) -> Effects {
        Effects::with(module, &call_graph(module))
    }

    /// The effects in a module with this call graph.
    pub fn with(module: &Module, graph: &CallGraph) -> Effects {
        let mut effects = Effects {
            functions: vec![Effect::NONE; module.functions.len()],
            constants: vec![Effect::NONE; module.constants.len()],
        };
        for component in &graph.components {
            let mut effect = Effect::NONE;
            for f in component {
                let function = &module.functions[*f];
                let shapes = Shapes::of_rows(function);
                statements(&function.body, &mut |stmt| {
                    effect = effect.and(if let Op::Constant(c) = &stmt.op {
                        effects.functions[module.constants[c.0 as usize].init.0 as usize]
                    } else {
                        effects.own(stmt, &shapes, &function.vars)
                    });
                });
                effect.stops |= graph.recursive[*f];
            }
            for f in component {
                effects.functions[*f] = effect;
            }
        }
        for (i, constant) in module.constants.iter().enumerate() {
            effects.constants[i] = effects.functions[constant.init.0 as usize];
        }
        effects
    }

    /// The effect of a block.
    pub fn block(&self, block: &Block, shapes: &Shapes, vars: &[VarInfo]) -> Effect {
        block.stmts.iter().fold(Effect::NONE, |e, stmt| e.and(self.stmt(stmt, shapes, vars)))
    }

    /// The effect of a statement, with its regions. State that it makes for itself alone is none.
    pub fn stmt(&self, stmt: &Stmt, shapes: &Shapes, vars: &[VarInfo]) -> Effect {
        let mut effect = self.own(stmt, shapes, vars);
        if has_regions(&stmt.op) {
            deep(|| regions(&stmt.op, |r| effect = effect.and(self.block(r, shapes, vars))));
            effect.state = effect.state && !owns_state(stmt, vars);
        }
        effect
    }

    /// The effect of a statement, without its regions.
    pub fn own(&self, stmt: &Stmt, shapes: &Shapes, vars: &[VarInfo]) -> Effect {
        match &stmt.op {
            Op::Int(op, args) if !int_can_fail(*op, args) => Effect::NONE,
            Op::Call(f, _) => self.functions[f.0 as usize],
            Op::Constant(c) => self.constants[c.0 as usize],
            // Rows of different sizes.
            Op::Build { .. } => {
                let irregular = stmt.results.iter().any(|v| {
                    matches!(vars[v.0 as usize].ty, FlatTy::Array(_, rank) if rank > 1)
                        && !shapes.is_regular(*v)
                });
                if irregular {
                    Effect::STOPS
                } else {
                    Effect::NONE
                }
            }
            op => row(op).effect,
        }
    }
}

/// The statement makes all mutable state that it reads and writes, and the state ends with it.
fn owns_state(stmt: &Stmt, vars: &[VarInfo]) -> bool {
    let is_mutable = |v: &Var| vars[v.0 as usize].ty.is_mutable();
    let (mut own, mut used) = (HashSet::new(), HashSet::new());
    let mut each = |stmt: &Stmt| {
        own.extend(stmt.results.iter().copied().filter(is_mutable));
        binders(&stmt.op, |v| own.extend(Some(v).filter(is_mutable)));
        operands(&stmt.op, |a| used.extend(var(a).filter(is_mutable)));
        regions(&stmt.op, |r| used.extend(r.results.iter().filter_map(var).filter(is_mutable)));
    };
    each(stmt);
    regions(&stmt.op, |r| statements(r, &mut each));
    used.is_subset(&own) && !stmt.results.iter().any(is_mutable)
}

/// Whether an operation on Ints can fail, given the constants among its operands.
pub(crate) fn int_can_fail(op: IntOp, args: &[Atom]) -> bool {
    match op {
        IntOp::Add | IntOp::Sub | IntOp::Mul | IntOp::Neg | IntOp::Abs | IntOp::Pow => true,
        // The smallest Int divided by -1 does not fit; its remainder is 0.
        IntOp::Div => !matches!(args.get(1), Some(Atom::Int(n)) if *n != 0 && *n != -1),
        IntOp::Rem => !matches!(args.get(1), Some(Atom::Int(n)) if *n != 0),
        IntOp::ShiftLeft | IntOp::ShiftRight => {
            !matches!(args.get(1), Some(Atom::Int(n)) if (0..64).contains(n))
        }
        IntOp::Sign
        | IntOp::Min
        | IntOp::Max
        | IntOp::BitAnd
        | IntOp::BitOr
        | IntOp::BitXor
        | IntOp::WrappingAdd
        | IntOp::WrappingMul => false,
    }
}

/// Whether the partial derivatives of an operation with a [`speculative_cost`] are bounded (0, 1 and -1). Then its
/// operands have derivative 0 wherever its result does not matter. The partial derivatives of other operations are
/// infinite somewhere, and 0 times that is nan.
pub(crate) fn has_bounded_partials(op: &Op) -> bool {
    use diffeo_calculus::prim::RealOp;
    match op {
        Op::Real(op, _) => matches!(
            op,
            RealOp::Add
                | RealOp::Sub
                | RealOp::Neg
                | RealOp::Abs
                | RealOp::Sign
                | RealOp::Min
                | RealOp::Max
        ),
        op => !matches!(op, Op::PowInt(..)),
    }
}

/// The cost of computing an operation speculatively, in additions. `None` where that is not allowed: it has effects, or
/// a check or branch guards it.
pub(crate) fn speculative_cost(op: &Op) -> Option<u32> {
    match op {
        Op::Real(op, _) => Some(real::row(*op).cost),
        Op::PowInt(_, Atom::Int(n)) if (-8..=8).contains(n) => Some(5),
        Op::PowInt(..) => Some(12),
        Op::Int(op, args) if !int_can_fail(*op, args) => {
            Some(if matches!(op, IntOp::Div | IntOp::Rem) { 4 } else { 1 })
        }
        Op::IntFits(IntOp::Add | IntOp::Sub | IntOp::Mul | IntOp::Neg, _) => Some(1),
        Op::Compare(_, Scalar::Text, ..) => Some(12),
        op => row(op).cost,
    }
}
