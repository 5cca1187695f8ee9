//! Elementary functions as straight-line code, so that loops over them can be vectorised.
//!
//! Goes from Low to Low: each [`Expr::Math`] that [`expands`] becomes additions, multiplications, selections
//! and operations on bits, without a branch. What always holds: the values differ from the true ones by about
//! an ulp (each file says by how much at most, as measured), and nan, ±∞, ±0 and subnormal numbers are treated
//! as the standard library of Rust does. The one branch is that of huge operands of sine, cosine and tangent
//! ([`trigonometric`]).
//!
//! The coefficients of all polynomials are minimax ones, computed by Remez' algorithm with 200 bits for a
//! relative error of the function below 2^-57, and rounded. The reductions of the arguments are the classical
//! ones (Muller, *Elementary Functions*; Cody and Waite, *Software Manual for the Elementary Functions*).
//!
//! All of it counts on a fused multiply-add of the processor.

mod builder;
mod error_function;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod power;
mod trigonometric;

use crate::low::{Expr, FunctionId, LowFunction, LowModule, LowTy, Operand, Reg, Stmt, NOWHERE};
use builder::{MathBuilder, Real};
use diffeo_base::deep;
use diffeo_calculus::prim::RealOp;

/// How many statements the functions of a module may grow by, each: what stands in a longer function is
/// compiled without optimisation, where calls are better.
const GROWTH: usize = 20_000;

/// So many of a kind are expanded each by itself, outside loops.
const FEW: usize = 2;

/// Where there are more sines, cosines or tangents outside loops, they become calls of a function each, because they
/// are long and nothing is vectorised there. Gives these functions.
pub fn share(module: &mut LowModule) -> Vec<FunctionId> {
    let mut shared = Vec::new();
    for (op, name) in [(RealOp::Sin, "sin"), (RealOp::Cos, "cos"), (RealOp::Tan, "tan")] {
        let mut count = 0;
        let is = |stmt: &Stmt| matches!(stmt, Stmt::Set(_, Expr::Math(found, ..)) if *found == op);
        for function in &mut module.functions {
            outside_loops(&mut function.body, &mut |stmt| count += usize::from(is(stmt)));
        }
        if count <= FEW {
            continue;
        }
        let id = FunctionId(module.functions.len() as u32);
        for function in &mut module.functions {
            outside_loops(&mut function.body, &mut |stmt| {
                if let Stmt::Set(result, Expr::Math(found, a, _)) = stmt {
                    if *found == op {
                        let (results, args) = (vec![*result], vec![*a]);
                        *stmt = Stmt::Call { results, function: id, args, site: NOWHERE };
                    }
                }
            });
        }
        let [x, y] = [Reg(0), Reg(1)];
        module.functions.push(LowFunction {
            name: format!("{name}_{}", id.0),
            registers: vec![LowTy::Real; 2],
            params: vec![x],
            results: vec![LowTy::Real],
            fallible: false,
            recursive: None,
            blocks: None,
            apart: false,
            body: vec![
                Stmt::Set(y, Expr::Math(op, Operand::Reg(x), Operand::Real(0.0))),
                Stmt::Return(vec![Operand::Reg(y)]),
            ],
        });
        shared.push(id);
    }
    shared
}

/// Shows the statements that stand in no loop.
fn outside_loops(stmts: &mut [Stmt], each: &mut dyn FnMut(&mut Stmt)) {
    for stmt in stmts {
        each(stmt);
        if matches!(stmt, Stmt::If(..) | Stmt::Switch(..)) {
            deep(|| stmt.blocks_mut().into_iter().for_each(|inner| outside_loops(inner, each)));
        }
    }
}

/// Expands the elementary functions in a module.
pub fn expand(module: &mut LowModule) {
    for function in &mut module.functions {
        expand_function(function);
    }
}

/// Expands the elementary functions in a function, as long as it does not grow too much.
pub fn expand_function(function: &mut LowFunction) {
    let mut registers = std::mem::take(&mut function.registers);
    let mut room = GROWTH;
    let mut pending = vec![&mut function.body];
    while let Some(stmts) = pending.pop() {
        let mut expanded = Vec::with_capacity(stmts.len());
        // Which of these were there before.
        let mut old = Vec::with_capacity(stmts.len());
        for stmt in stmts.drain(..) {
            match stmt {
                Stmt::Set(register, Expr::Math(op, a, b)) if room > 0 => {
                    let before = expanded.len();
                    let builder = MathBuilder::new(registers, expanded);
                    match value(op, builder.real(a), builder.real(b)) {
                        Some(value) => builder.set(register, value),
                        None => builder.push(stmt),
                    }
                    (registers, expanded) = builder.finish();
                    room = room.saturating_sub(expanded.len() - before);
                }
                stmt => {
                    old.push(expanded.len());
                    expanded.push(stmt);
                }
            }
        }
        *stmts = expanded;
        // Calls of the library for rare operands stay.
        let mut old = old.into_iter().peekable();
        for (i, stmt) in stmts.iter_mut().enumerate() {
            if old.next_if_eq(&i).is_some() {
                pending.extend(stmt.blocks_mut());
            }
        }
    }
    function.registers = registers;
}

/// True of functions that [`expand_straight`] makes straight-line code of.
pub(crate) fn is_straight(op: RealOp) -> bool {
    if matches!(op, RealOp::Sin | RealOp::Cos | RealOp::Tan) {
        return false;
    }
    let builder = MathBuilder::new(vec![LowTy::Real; 2], Vec::new());
    let [a, b] = [0, 1].map(|i| builder.real(Operand::Reg(Reg(i))));
    value(op, a, b).is_some()
}

/// Expands the elementary functions in a list of statements, those left out that are not straight-line code.
pub(crate) fn expand_straight(registers: &mut Vec<LowTy>, stmts: &mut Vec<Stmt>) {
    let mut types = std::mem::take(registers);
    let mut expanded = Vec::with_capacity(stmts.len());
    for stmt in stmts.drain(..) {
        let branches = |op| matches!(op, RealOp::Sin | RealOp::Cos | RealOp::Tan);
        match stmt {
            Stmt::Set(register, Expr::Math(op, a, b)) if !branches(op) => {
                let builder = MathBuilder::new(types, expanded);
                match value(op, builder.real(a), builder.real(b)) {
                    Some(value) => builder.set(register, value),
                    None => builder.push(stmt),
                }
                (types, expanded) = builder.finish();
            }
            stmt => expanded.push(stmt),
        }
    }
    (*registers, *stmts) = (types, expanded);
}

/// The value of a function, as straight-line code. None where engines have instructions, or where there is no
/// such code.
fn value<'b>(op: RealOp, a: Real<'b>, b: Real<'b>) -> Option<Real<'b>> {
    Some(match op {
        RealOp::Exp => exponential::exp(a),
        RealOp::Expm1 => exponential::expm1(a),
        RealOp::Sigmoid => exponential::sigmoid(a),
        RealOp::Softplus => exponential::softplus(a),
        RealOp::Log => logarithm::log(a),
        RealOp::Log1p => logarithm::log1p(a),
        RealOp::Pow => power::pow(a, b),
        RealOp::Hypot => power::hypot(a, b),
        RealOp::Sin => trigonometric::sin(a),
        RealOp::Cos => trigonometric::cos(a),
        RealOp::Tan => trigonometric::tan(a),
        RealOp::Asin => inverse::asin(a),
        RealOp::Acos => inverse::acos(a),
        RealOp::Atan => inverse::atan(a),
        RealOp::Atan2 => inverse::atan2(a, b),
        RealOp::Sinh => hyperbolic::sinh(a),
        RealOp::Cosh => hyperbolic::cosh(a),
        RealOp::Tanh => hyperbolic::tanh(a),
        RealOp::Asinh => hyperbolic::asinh(a),
        RealOp::Acosh => hyperbolic::acosh(a),
        RealOp::Atanh => hyperbolic::atanh(a),
        RealOp::Unit => power::unit(a, b),
        RealOp::Sech => hyperbolic::sech(a),
        RealOp::OneMinusSquare => (1.0 - a) * (1.0 + a),
        RealOp::Erf => error_function::erf(a),
        RealOp::Erfc => error_function::erfc(a),
        _ => return None,
    })
}
