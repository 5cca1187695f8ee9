//! How operations use the references among their operands (borrow, keep, change), and the blocks of operations.

use diffeo_array::ir::ops::{named_operands, OperandKind};
use diffeo_array::ir::{Atom, Block, FlatTy, FunctionId, Module, Op, Stmt, Var, VarInfo};
use diffeo_base::deep;
use diffeo_calculus::prim::text::{self, TextType};

/// The use of an operand that is a reference by its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// Looks at it.
    Read,
    /// Changes it in place if nothing else refers to it, else copies it.
    Change,
    /// Keeps it: a reference goes over to the operation.
    Keep,
}

/// The operands of an operation, each with its use, in order, without those in its blocks. Scalars are left out where
/// that is easy. `keeps` says whether a function keeps its parameter at a position.
pub(super) fn uses(
    vars: &[VarInfo],
    op: &Op,
    keeps: impl Fn(FunctionId, usize) -> bool,
    mut each: impl FnMut(&Atom, Use),
) {
    match op {
        Op::TextOp(op, args) => {
            for (leaf, arg) in text::signature(*op).0.iter().zip(args) {
                if *leaf == TextType::Text {
                    each(arg, Use::Read);
                }
            }
        }
        Op::Update { array, indices: _, value } => {
            each(array, Use::Change);
            // Rows are copied.
            let rows =
                matches!(value, Atom::Var(v) if matches!(vars[v.0 as usize].ty, FlatTy::Array(..)));
            each(value, if rows { Use::Read } else { Use::Keep });
        }
        Op::Call(callee, args) => {
            for (i, arg) in args.iter().enumerate() {
                each(arg, if keeps(*callee, i) { Use::Keep } else { Use::Read });
            }
        }
        op => named_operands(op, |_, operand, atom| match operand {
            OperandKind::Real | OperandKind::Int | OperandKind::Bool => {}
            OperandKind::Text | OperandKind::Read => each(atom, Use::Read),
            OperandKind::Change => each(atom, Use::Change),
            OperandKind::Keep => each(atom, Use::Keep),
        }),
    }
}

/// The blocks of an operation.
pub(super) fn regions<'a>(op: &'a Op, mut each: impl FnMut(&'a Block)) {
    if let Op::If { then, otherwise, .. } = op {
        each(then);
        each(otherwise);
    } else if let Op::Switch { arms, default, .. } = op {
        arms.iter().map(|(_, arm)| arm).chain(default).for_each(each);
    } else if let Op::While { cond, body, .. } = op {
        each(cond);
        each(body);
    } else if let Op::For { body, .. } | Op::Build { body, .. } | Op::Reduce { body, .. } = op {
        each(body);
    }
}

/// All statements of a block and the blocks in it.
pub(super) fn statements<'a>(block: &'a Block, each: &mut dyn FnMut(&'a Stmt)) {
    for stmt in &block.stmts {
        each(stmt);
        deep(|| regions(&stmt.op, |region| statements(region, each)));
    }
}

/// The function that an operation calls.
pub(super) fn called(module: &Module, op: &Op) -> Option<FunctionId> {
    if let Op::Call(callee, _) = op {
        Some(*callee)
    } else if let Op::Constant(id) = op {
        Some(module.constants[id.0 as usize].init)
    } else {
        None
    }
}

/// The array or box from which an operation takes its result: a view of it, or something that it refers to.
pub(super) fn container(op: &Op) -> Option<&Atom> {
    if let Op::Get(a, _)
    | Op::Slice { array: a, .. }
    | Op::Reshape(a, _)
    | Op::Field { object: a, .. }
    | Op::AccView(a, _)
    | Op::AccSlice { acc: a, .. }
    | Op::AccReshape(a, _)
    | Op::StackGet(a, _) = op
    {
        Some(a)
    } else {
        None
    }
}

/// Whether the result of an operation, of this type, lies in the same block as its [`container`].
pub(super) fn is_view(op: &Op, result: &FlatTy) -> bool {
    matches!(result, FlatTy::Array(..) | FlatTy::Acc(_))
        && !matches!(op, Op::Field { .. } | Op::StackGet(..))
}

/// Whether values of a type are counted.
pub(super) fn is_reference(ty: &FlatTy) -> bool {
    match ty {
        FlatTy::Real | FlatTy::Int | FlatTy::Bool => false,
        FlatTy::Text | FlatTy::Array(..) | FlatTy::Box(_) | FlatTy::Acc(_) | FlatTy::Stack(_) => {
            true
        }
    }
}

/// The variable of an operand.
pub(super) fn var(atom: &Atom) -> Option<Var> {
    match atom {
        Atom::Var(v) => Some(*v),
        Atom::Real(_) | Atom::Int(_) | Atom::Bool(_) | Atom::Unused(_) => None,
    }
}
