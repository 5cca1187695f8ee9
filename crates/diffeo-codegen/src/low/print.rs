//! Low as text for people: a module or a function in, text out. Nothing reads it back.
//!
//! ```text
//! fn squares_0(r0: Ptr, r1: Ptr, r2: Int) -> Real {
//!   r3 = 0.0
//!   for r4 in 0..r2 independent, add r3 {
//!     r5 = load Real [r1 + r4 * 8]
//!     r6 = r5 * r5
//!     r3 = r3 + r6
//!   }
//!   return r3
//! }
//! ```

use super::{
    Address, Binary, Blocks, Checked, Compare, Expr, For, Layout, LowFunction, LowModule, LowTy,
    Operand, Reg, Runtime, Stmt, Unary,
};
use diffeo_array::ir::Reduction;
use diffeo_base::deep;
use diffeo_calculus::prim::TextOp;
use diffeo_calculus::prim::{real, Rounding};
use std::fmt::{Display, Write};

/// The text of a module: its layouts and texts, then its functions.
pub fn print(module: &LowModule) -> String {
    let mut out = String::new();
    for (i, layout) in module.layouts.iter().enumerate() {
        let text = match layout {
            Layout::Plain => "plain".to_string(),
            Layout::Text => "text".to_string(),
            Layout::References => "references".to_string(),
            Layout::Fields(fields) => format!("fields({})", kinds(fields)),
            Layout::Stack(fields) => format!("stack({})", kinds(fields)),
        };
        line(&mut out, 0, format_args!("layout {i} = {text}"));
    }
    for (i, text) in module.texts.iter().enumerate() {
        line(&mut out, 0, format_args!("text {i} = {:?}", text.as_str()));
    }
    if module.constant_words > 0 {
        let references = kinds(&module.constant_references);
        line(&mut out, 0, format_args!("constants({references})"));
    }
    for function in &module.functions {
        if !out.is_empty() {
            out.push('\n');
        }
        print_into(module, function, &mut out);
    }
    out
}

/// The text of a function.
pub fn print_function(module: &LowModule, function: &LowFunction) -> String {
    let mut out = String::new();
    print_into(module, function, &mut out);
    out
}

fn kinds(references: &[bool]) -> String {
    let kinds: Vec<&str> = references.iter().map(|r| if *r { "ref" } else { "word" }).collect();
    kinds.join(", ")
}

fn line(out: &mut String, depth: usize, text: impl Display) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "{:1$}{text}", "", depth * 2);
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn print_into(module: &LowModule, function: &LowFunction, out: &mut String) {
    let params = list(&function.params, |p| {
        let ty = function.registers.get(p.0 as usize);
        format!("{}: {}", reg(p), ty.map_or("?", |ty| ty_name(*ty)))
    });
    let mut head = format!("fn {}({params})", function.name);
    if !function.results.is_empty() {
        let _ = write!(head, " -> {}", list(&function.results, |ty| ty_name(*ty).to_string()));
    }
    if function.fallible {
        head.push_str(" fallible");
    }
    if function.recursive.is_some() {
        head.push_str(" recursive");
    }
    if let Some(Blocks { task, shared, constants, how: _, site: _ }) = &function.blocks {
        let task = module.functions.get(task.0 as usize).map_or("?", |task| &task.name);
        let constants = if *constants { ", constants" } else { "" };
        let _ = write!(head, " blocks by {task}, shared {shared}{constants}");
    }
    line(out, 0, format_args!("{head} {{"));
    stmts(module, &function.body, 1, out);
    line(out, 0, "}");
}

fn ty_name(ty: LowTy) -> &'static str {
    match ty {
        LowTy::Int => "Int",
        LowTy::Real => "Real",
        LowTy::Bool => "Bool",
        LowTy::Ptr => "Ptr",
    }
}

fn reg(reg: &Reg) -> String {
    format!("r{}", reg.0)
}

fn operand(operand: &Operand) -> String {
    match operand {
        Operand::Reg(r) => reg(r),
        Operand::Int(n) => n.to_string(),
        Operand::Real(x) => format!("{x:?}"),
        Operand::Bool(b) => b.to_string(),
        Operand::Null => "null".to_string(),
        Operand::Text(i) => format!("text {i}"),
        Operand::Static(layout) => format!("static {layout}"),
        Operand::Constant(i) => format!("constant {i}"),
    }
}

fn address(at: &Address) -> String {
    let mut text = operand(&at.base);
    match (at.index, at.scale) {
        (Operand::Int(0), _) => {}
        (index, 1) => _ = write!(text, " + {}", operand(&index)),
        (index, scale) => _ = write!(text, " + {} * {scale}", operand(&index)),
    }
    if at.offset != 0 {
        let _ = write!(text, " + {}", at.offset);
    }
    text
}

fn expr(expr: &Expr) -> String {
    match expr {
        Expr::Copy(a) => operand(a),
        Expr::Unary(op, a) => {
            let name = match op {
                Unary::Neg => "-",
                Unary::Abs => "abs ",
                Unary::Sqrt => "sqrt ",
                Unary::Integral(Rounding::Floor) => "floor ",
                Unary::Integral(Rounding::Ceil) => "ceil ",
                Unary::Integral(Rounding::Round) => "nearest ",
                Unary::Integral(Rounding::Trunc) => "trunc ",
                Unary::ToReal => "real ",
                Unary::ToInt => "int ",
                Unary::Bits => "bits ",
                Unary::FromBits => "from_bits ",
                Unary::FromBool => "from_bool ",
                Unary::Not => "not ",
            };
            format!("{name}{}", operand(a))
        }
        Expr::Binary(op, a, b) => {
            let name = match op {
                Binary::Add => "+.",
                Binary::Sub => "-.",
                Binary::Mul => "*.",
                Binary::Div => "/.",
                Binary::IntAdd => "+",
                Binary::IntSub => "-",
                Binary::IntMul => "*",
                Binary::IntDiv => "/",
                Binary::IntRem => "%",
                Binary::And => "&",
                Binary::Or => "|",
                Binary::Xor => "xor",
                Binary::ShiftLeft => "<<",
                Binary::ShiftRight => ">>>",
                Binary::ShiftRightSigned => ">>",
            };
            format!("{} {name} {}", operand(a), operand(b))
        }
        Expr::Fma(a, b, c) => format!("fma({}, {}, {})", operand(a), operand(b), operand(c)),
        Expr::Math(op, a, b) => match real::row(*op).arity {
            1 => format!("{op:?}({})", operand(a)),
            _ => format!("{op:?}({}, {})", operand(a), operand(b)),
        },
        Expr::Compare(op, a, b) => {
            let name = match op {
                Compare::IntEq => "==",
                Compare::IntNe => "!=",
                Compare::IntLt => "<",
                Compare::IntLe => "<=",
                Compare::Below => "below",
                Compare::Eq => "==.",
                Compare::Ne => "!=.",
                Compare::Lt => "<.",
                Compare::Le => "<=.",
            };
            format!("{} {name} {}", operand(a), operand(b))
        }
        Expr::Select(c, a, b) => {
            format!("select({}, {}, {})", operand(c), operand(a), operand(b))
        }
        Expr::Load(ty, at) => format!("load {} [{}]", ty_name(*ty), address(at)),
        Expr::Offset(at) => format!("&[{}]", address(at)),
    }
}

fn stmts(module: &LowModule, body: &[Stmt], depth: usize, out: &mut String) {
    for stmt in body {
        deep(|| print_stmt(module, stmt, depth, out));
    }
}

/// `a, b = `, or nothing.
fn set(results: &[Reg]) -> String {
    if results.is_empty() {
        String::new()
    } else {
        format!("{} = ", list(results, reg))
    }
}

fn print_stmt(module: &LowModule, stmt: &Stmt, depth: usize, out: &mut String) {
    match stmt {
        Stmt::Set(r, e) => line(out, depth, format_args!("{} = {}", reg(r), expr(e))),
        Stmt::Checked { op, result, overflow, a, b } => {
            let name = match op {
                Checked::Add => "+",
                Checked::Sub => "-",
                Checked::Mul => "*",
            };
            let (a, b) = (operand(a), operand(b));
            let results = set(&[*result, *overflow]);
            line(out, depth, format_args!("{results}checked {a} {name} {b}"));
        }
        Stmt::Store(ty, at, a) => {
            let (ty, at, a) = (ty_name(*ty), address(at), operand(a));
            line(out, depth, format_args!("store {ty} [{at}] = {a}"));
        }
        Stmt::If(c, then, otherwise) => {
            line(out, depth, format_args!("if {} {{", operand(c)));
            stmts(module, then, depth + 1, out);
            if !otherwise.is_empty() {
                line(out, depth, "} else {");
                stmts(module, otherwise, depth + 1, out);
            }
            line(out, depth, "}");
        }
        Stmt::Switch(on, arms, default) => {
            line(out, depth, format_args!("switch {} {{", operand(on)));
            for (value, body) in arms {
                line(out, depth, format_args!("{value}:"));
                stmts(module, body, depth + 1, out);
            }
            line(out, depth, "else:");
            stmts(module, default, depth + 1, out);
            line(out, depth, "}");
        }
        Stmt::Loop(body) => {
            line(out, depth, "loop {");
            stmts(module, body, depth + 1, out);
            line(out, depth, "}");
        }
        Stmt::Break => line(out, depth, "break"),
        Stmt::For(repeat) => print_for(module, repeat, depth, out),
        Stmt::Call { results, function, args, site: _ } => {
            let name = module.functions.get(function.0 as usize).map_or("?", |f| &f.name);
            let args = list(args, operand);
            line(out, depth, format_args!("{}call {name}({args})", set(results)));
        }
        Stmt::Runtime { results, op, args } => {
            let args = list(args, operand);
            line(out, depth, format_args!("{}{}({args})", set(results), runtime_name(*op)));
        }
        Stmt::Raise { error, args, site: _ } => {
            line(out, depth, format_args!("raise {error:?}({})", list(args, operand)));
        }
        Stmt::Return(results) => {
            let text = format!("return {}", list(results, operand));
            line(out, depth, text.trim_end());
        }
    }
}

fn print_for(module: &LowModule, repeat: &For, depth: usize, out: &mut String) {
    let For {
        index,
        from,
        to,
        body,
        independent,
        separate: _,
        reductions,
        most: _,
        every,
        site: _,
    } = repeat;
    let mut head = format!("for {} in {}..{}", reg(index), operand(from), operand(to));
    if *independent {
        head.push_str(" independent");
    }
    for (r, how) in reductions {
        let how = match how {
            Reduction::Add => "add",
            Reduction::Max => "max",
            Reduction::Min => "min",
        };
        let _ = write!(head, ", {how} {}", reg(r));
    }
    if *every > 0 {
        let _ = write!(head, ", polls every {every}");
    }
    line(out, depth, format_args!("{head} {{"));
    stmts(module, body, depth + 1, out);
    line(out, depth, "}");
}

fn runtime_name(op: Runtime) -> &'static str {
    match op {
        Runtime::Box => "box",
        Runtime::Array => "array",
        Runtime::Zeros => "zeros",
        Runtime::Free => "free",
        Runtime::Copy => "copy",
        Runtime::RetainAll => "retain_all",
        Runtime::AppendText => "append_text",
        Runtime::CompareText => "compare_text",
        Runtime::ShowReal => "show_real",
        Runtime::ShowInt => "show_int",
        Runtime::ShowBool => "show_bool",
        Runtime::ShowText => "show_text",
        Runtime::Text(op) => match op {
            TextOp::Size => "text_size",
            TextOp::Byte => "text_byte",
            TextOp::Slice => "text_slice",
            TextOp::Find => "text_find",
            TextOp::Character => "text_character",
            TextOp::Lower => "text_lower",
            TextOp::Upper => "text_upper",
            TextOp::Digits => "text_digits",
            TextOp::Number => "text_number",
        },
        Runtime::Trace => "trace",
        Runtime::Progress => "progress",
        Runtime::Warn => "warn",
        Runtime::SortReals => "sort_reals",
        Runtime::SortInts => "sort_ints",
        Runtime::SortTexts => "sort_texts",
        Runtime::Poll => "poll",
        Runtime::PowInt => "pow_int",
        Runtime::StackNew => "stack_new",
        Runtime::StackGrow => "stack_grow",
    }
}
