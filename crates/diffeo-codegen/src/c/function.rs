//! A function of Low as a function of C: statement by statement.
//!
//! What always holds: every register is a local variable `x7` (`i7`, `b7`, `p7` by its type); the context is
//! `cx`; a function that fails has noted why in the context and gives `failed`.

use super::literal::{int, real};
use super::scope::{scopes, Scopes};
use super::unit::Unit;
use crate::low::{
    Address, Binary, Checked, Compare, Expr, For, FunctionId, Layout, LowFunction, LowModule,
    LowTy, Operand, Raise, Reg, Runtime, Stmt, Unary, NOWHERE,
};
use diffeo_array::ir::{Reduction, SiteId};
use diffeo_base::deep;
use diffeo_calculus::prim::real::row;
use diffeo_calculus::prim::{RealOp, Rounding, TextOp};
use std::fmt::Write;

/// The C type of a register.
pub fn type_of(ty: LowTy) -> &'static str {
    match ty {
        LowTy::Int => "int64_t ",
        LowTy::Real => "double ",
        LowTy::Bool => "bool ",
        LowTy::Ptr => "char *",
    }
}

/// The letter of a type in names.
pub fn letter(ty: LowTy) -> char {
    match ty {
        LowTy::Int => 'i',
        LowTy::Real => 'x',
        LowTy::Bool => 'b',
        LowTy::Ptr => 'p',
    }
}

/// Writes the functions of a module.
pub struct CWriter<'a> {
    unit: &'a mut Unit,
    module: &'a LowModule,
    /// The number of the module in the unit.
    number: usize,
    function: &'a LowFunction,
    scopes: Scopes,
    declared: Vec<bool>,
    /// The next block, in the order of [`Scopes::declared`].
    block: usize,
    /// The open loops that a `Break` can leave.
    loops: Vec<OpenLoop>,
    /// For names that are used once.
    fresh: usize,
    indent: usize,
    out: String,
}

/// How many steps of a loop that adds up are done at once.
const SUMS: usize = 8;

struct OpenLoop {
    /// How many `switch` statements are open within it: there, `break` means something else.
    switches: usize,
    /// The number of the label behind it, if one is needed.
    label: Option<usize>,
}

/// Adds a line.
macro_rules! line {
    ($self:ident, $($arg:tt)*) => {{
        $self.begin();
        // Writing to a string does not fail.
        let _ = writeln!($self.out, $($arg)*);
    }};
}

/// The text of a function.
pub fn function(unit: &mut Unit, module: &LowModule, number: usize, id: FunctionId) -> String {
    let function = &module.functions[id.0 as usize];
    let scopes = scopes(function);
    unit.largest = unit.largest.max(scopes.statements);
    let mut declared = vec![false; function.registers.len()];
    for param in &function.params {
        declared[param.0 as usize] = true;
    }
    let mut writer = CWriter {
        unit,
        module,
        number,
        function,
        scopes,
        declared,
        block: 0,
        loops: Vec::new(),
        fresh: 0,
        indent: 1,
        out: String::new(),
    };
    let head = writer.unit.prototype(number, function);
    writer.out = format!("{head} {{\n");
    writer.function_body();
    writer.out.push_str("}\n\n");
    writer.out
}

impl CWriter<'_> {
    fn begin(&mut self) {
        for _ in 0..self.indent.min(40) {
            self.out.push_str("  ");
        }
    }

    fn function_body(&mut self) {
        let function = self.function;
        if let Some(site) = function.recursive {
            line!(self, "if (DF_STACK_LOW(cx) && df_deep(cx)) {{");
            self.indent += 1;
            self.raise(&Raise::Stopped, &[], site);
            self.indent -= 1;
            line!(self, "}}");
        }
        self.stmts(&function.body);
    }

    /// The statements of a block, without braces.
    fn stmts(&mut self, stmts: &[Stmt]) {
        let block = self.block;
        self.block += 1;
        for reg in std::mem::take(&mut self.scopes.declared[block]) {
            let zero = match self.ty(reg) {
                LowTy::Int => "0",
                LowTy::Real => "0.0",
                LowTy::Bool => "false",
                LowTy::Ptr => "NULL",
            };
            line!(self, "{}{} = {zero};", type_of(self.ty(reg)), self.reg(reg));
            self.declared[reg.0 as usize] = true;
        }
        for stmt in stmts {
            deep(|| self.stmt(stmt));
        }
    }

    fn nested(&mut self, stmts: &[Stmt]) {
        self.indent += 1;
        self.stmts(stmts);
        self.indent -= 1;
    }

    fn ty(&self, reg: Reg) -> LowTy {
        self.function.registers[reg.0 as usize]
    }

    fn reg(&self, reg: Reg) -> String {
        format!("{}{}", letter(self.ty(reg)), reg.0)
    }

    /// A register that is set here: with its type if this declares it.
    fn target(&mut self, reg: Reg) -> String {
        let declared = std::mem::replace(&mut self.declared[reg.0 as usize], true);
        let ty = if declared { "" } else { type_of(self.ty(reg)) };
        format!("{ty}{}", self.reg(reg))
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Reg(reg) => self.reg(*reg),
            Operand::Int(n) => int(*n),
            Operand::Real(x) => real(*x),
            Operand::Bool(b) => b.to_string(),
            Operand::Null => "NULL".to_string(),
            Operand::Text(text) => {
                format!("DF_TEXT_BLOCK({})", self.unit.text_number(self.number, *text))
            }
            Operand::Static(layout) => format!("DF_STATIC_BLOCK({layout})"),
            Operand::Constant(word) => {
                format!("(char *)(cx->constants + {})", self.unit.constant(self.number, *word))
            }
        }
    }

    fn operands(&self, operands: &[Operand]) -> Vec<String> {
        operands.iter().map(|o| self.operand(o)).collect()
    }

    /// What lies at an address.
    fn place(&self, ty: LowTy, address: &Address) -> String {
        let Address { base, index, scale, offset } = address;
        let size = if ty == LowTy::Bool { 1 } else { 8 };
        let base = self.operand(base);
        let pointer = format!("(({}*){base})", type_of(ty));
        let step = i64::from(*scale);
        match index {
            Operand::Int(i) => {
                let bytes = i.wrapping_mul(step).wrapping_add(*offset);
                match bytes % size {
                    0 => format!("{pointer}[{}]", int(bytes / size)),
                    _ => format!("*({}*)({base} + {})", type_of(ty), int(bytes)),
                }
            }
            index if step == size && offset % size == 0 => match offset / size {
                0 => format!("{pointer}[{}]", self.operand(index)),
                offset => format!("{pointer}[{} + {}]", self.operand(index), int(offset)),
            },
            _ => format!("*({}*)({})", type_of(ty), self.address(address)),
        }
    }

    fn address(&self, address: &Address) -> String {
        let Address { base, index, scale, offset } = address;
        let mut text = self.operand(base);
        match index {
            Operand::Int(0) => {}
            index if *scale == 1 => text += &format!(" + {}", self.operand(index)),
            index => text += &format!(" + {} * {scale}", self.operand(index)),
        }
        if *offset != 0 {
            text += &format!(" + {}", int(*offset));
        }
        text
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Copy(a) => self.operand(a),
            Expr::Unary(op, a) => unary(*op, &self.operand(a)),
            Expr::Binary(op, a, b) => binary(*op, &self.operand(a), &self.operand(b)),
            Expr::Fma(a, b, c) => {
                format!("fma({}, {}, {})", self.operand(a), self.operand(b), self.operand(c))
            }
            Expr::Math(op, a, b) => math(*op, &self.operand(a), &self.operand(b)),
            Expr::Compare(op, a, b) => compare(*op, &self.operand(a), &self.operand(b)),
            Expr::Select(c, a, b) => {
                format!("{} ? {} : {}", self.operand(c), self.operand(a), self.operand(b))
            }
            Expr::Load(ty, address) => self.place(*ty, address),
            Expr::Offset(address) => self.address(address),
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(reg, expr) => {
                let expr = self.expr(expr);
                let target = self.target(*reg);
                line!(self, "{target} = {expr};");
            }
            Stmt::Checked { op, result, overflow, a, b } => {
                let name = match op {
                    Checked::Add => "DF_CHECKED_ADD",
                    Checked::Sub => "DF_CHECKED_SUB",
                    Checked::Mul => "DF_CHECKED_MUL",
                };
                let (a, b) = (self.operand(a), self.operand(b));
                self.declare(*result);
                let target = self.target(*overflow);
                line!(self, "{target} = {name}({a}, {b}, &{});", self.reg(*result));
            }
            Stmt::Store(ty, address, value) => {
                line!(self, "{} = {};", self.place(*ty, address), self.operand(value));
            }
            Stmt::If(condition, then, otherwise) => {
                line!(self, "if ({}) {{", self.operand(condition));
                self.nested(then);
                if otherwise.is_empty() {
                    self.block += 1;
                } else {
                    line!(self, "}} else {{");
                    self.nested(otherwise);
                }
                line!(self, "}}");
            }
            Stmt::Switch(on, arms, default) => self.switch(on, arms, default),
            Stmt::Loop(body) => {
                self.loops.push(OpenLoop { switches: 0, label: None });
                line!(self, "for (;;) {{");
                self.nested(body);
                line!(self, "}}");
                if let Some(label) = self.loops.pop().and_then(|open| open.label) {
                    line!(self, "done{label}:;");
                }
            }
            Stmt::Break => {
                let fresh = self.fresh;
                match self.loops.last_mut() {
                    Some(open) if open.switches > 0 => {
                        let label = *open.label.get_or_insert(fresh);
                        self.fresh += 1;
                        line!(self, "goto done{label};");
                    }
                    Some(_) | None => line!(self, "break;"),
                }
            }
            Stmt::For(f) => self.counted(f),
            Stmt::Call { results, function, args, site } => {
                self.call(results, *function, args, *site);
            }
            Stmt::Runtime { results, op, args } => {
                let call = self.runtime(*op, args);
                match results.first() {
                    Some(reg) => {
                        let target = self.target(*reg);
                        line!(self, "{target} = {call};");
                    }
                    None => line!(self, "{call};"),
                }
            }
            Stmt::Raise { error, args, site } => self.raise(error, args, *site),
            Stmt::Return(values) => {
                let values = self.operands(values);
                let fallible = self.function.fallible;
                match (values.as_slice(), fallible) {
                    ([], true) => line!(self, "return false;"),
                    ([], false) => line!(self, "return;"),
                    ([value], false) => line!(self, "return {value};"),
                    (values, _) => {
                        let ty = self.unit.result_type(&self.function.results, fallible);
                        let failed = if fallible { ", false" } else { "" };
                        line!(self, "return ({ty}){{{}{failed}}};", values.join(", "));
                    }
                }
            }
        }
    }

    /// Declares a register, if that has not been done.
    fn declare(&mut self, reg: Reg) {
        if !std::mem::replace(&mut self.declared[reg.0 as usize], true) {
            line!(self, "{}{};", type_of(self.ty(reg)), self.reg(reg));
        }
    }

    fn switch(&mut self, on: &Operand, arms: &[(i64, Vec<Stmt>)], default: &[Stmt]) {
        if let Some(open) = self.loops.last_mut() {
            open.switches += 1;
        }
        line!(self, "switch ({}) {{", self.operand(on));
        for (value, arm) in arms {
            line!(self, "case {}: {{", int(*value));
            self.nested(arm);
            self.indent += 1;
            line!(self, "break;");
            self.indent -= 1;
            line!(self, "}}");
        }
        line!(self, "default: {{");
        self.nested(default);
        self.indent += 1;
        line!(self, "break;");
        self.indent -= 1;
        line!(self, "}}");
        line!(self, "}}");
        if let Some(open) = self.loops.last_mut() {
            open.switches -= 1;
        }
    }

    fn counted(&mut self, f: &For) {
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
            site,
        } = f;
        let mut end = self.operand(to);
        if let Operand::Reg(reg) = to {
            let is_param = self.function.params.contains(reg);
            // The end is that of the beginning, whatever the body does.
            if self.scopes.sets[reg.0 as usize] + u32::from(is_param) > 1 {
                let name = format!("end{}", self.fresh);
                self.fresh += 1;
                line!(self, "const int64_t {name} = {end};");
                end = name;
            }
        }
        let (mut from, last) = (self.operand(from), end.clone());
        let together = *independent && is_simple(self.module, body);
        if together && reductions.iter().any(|(_, how)| *how == Reduction::Add) {
            return self.summed(f, &from, &end);
        }
        // The whole, if it is done in strips: the end, and the first step of the next one.
        let whole = (*every > 0).then(|| {
            let number = self.fresh;
            self.fresh += 1;
            let (next, strip) = (format!("next{number}"), format!("strip{number}"));
            line!(self, "for (int64_t {next} = {from}, {strip}; {next} < {end};) {{");
            self.indent += 1;
            line!(self, "{strip} = DF_SUB({end}, {next}) > {every} ? {next} + {every} : {end};");
            (from, end) = (next.clone(), strip.clone());
            (next, strip)
        });
        if together {
            let mut clauses = String::new();
            for (reg, how) in reductions {
                let how = match how {
                    Reduction::Add => "+",
                    Reduction::Max => "df_max",
                    Reduction::Min => "df_min",
                };
                clauses += &format!(" reduction({how} : {})", self.reg(*reg));
            }
            line!(self, "#pragma omp simd{clauses}");
        }
        let target = self.target(*index);
        let index = self.reg(*index);
        line!(self, "for ({target} = {from}; {index} < {end}; {index}++) {{");
        self.nested(body);
        line!(self, "}}");
        if let Some((next, strip)) = whole {
            line!(self, "{next} = {strip};");
            line!(self, "if (DF_UNLIKELY({next} < {last} && df_poll(cx))) {{");
            self.indent += 1;
            self.raise(&Raise::Stopped, &[], *site);
            self.indent -= 1;
            line!(self, "}}");
            self.indent -= 1;
            line!(self, "}}");
        }
    }

    /// A loop that adds up. Blocks of steps have a sum for each step, which are combined behind them, so that the number
    /// of lanes of vectors, which the compiler chooses, makes no difference; the last steps are done one by one.
    fn summed(&mut self, f: &For, from: &str, end: &str) {
        let n = self.fresh;
        self.fresh += 1;
        let index = self.target(f.index);
        let begin = self.out.len();
        self.indent += 1;
        self.nested(&f.body);
        self.indent -= 1;
        let body = self.out.split_off(begin);
        let sums: Vec<(String, Reduction)> =
            f.reductions.iter().map(|(reg, how)| (self.reg(*reg), *how)).collect();
        line!(self, "{index} = {from};");
        let index = self.reg(f.index);
        line!(self, "if ({index} < {end} && {end} - {index} >= {SUMS}) {{");
        self.indent += 1;
        for (sum, how) in &sums {
            let neutral = match how {
                Reduction::Add => "-0.0",
                Reduction::Max => "-INFINITY",
                Reduction::Min => "INFINITY",
            };
            let all = [neutral; SUMS].join(", ");
            line!(self, "double {sum}_{n}[{SUMS}] = {{{all}}};");
        }
        // Digits do not depend on where it polls: a strip has whole blocks.
        let every = (f.every as u64).next_multiple_of(SUMS as u64);
        let stop = if every > 0 { format!("stop{n}") } else { end.to_string() };
        if every > 0 {
            line!(self, "while ({end} - {index} >= {SUMS}) {{");
            self.indent += 1;
            line!(
                self,
                "const int64_t {stop} = {end} - {index} > {every} ? {index} + {every} : {end};"
            );
        }
        line!(self, "for (; {stop} - {index} >= {SUMS}; {index} += {SUMS}) {{");
        self.indent += 1;
        line!(self, "const int64_t first{n} = {index};");
        line!(self, "#pragma omp simd");
        line!(self, "for (int64_t l{n} = 0; l{n} < {SUMS}; l{n}++) {{");
        self.indent += 1;
        line!(self, "const int64_t {index} = first{n} + l{n};");
        for (sum, _) in &sums {
            line!(self, "double {sum} = {sum}_{n}[l{n}];");
        }
        self.out.push_str(&body);
        for (sum, _) in &sums {
            line!(self, "{sum}_{n}[l{n}] = {sum};");
        }
        for _ in 0..2 {
            self.indent -= 1;
            line!(self, "}}");
        }
        if every > 0 {
            line!(self, "if (DF_UNLIKELY({end} - {index} >= {SUMS} && df_poll(cx))) {{");
            self.indent += 1;
            self.raise(&Raise::Stopped, &[], f.site);
            self.indent -= 1;
            line!(self, "}}");
            self.indent -= 1;
            line!(self, "}}");
        }
        for (sum, how) in &sums {
            let mut parts: Vec<String> = (0..SUMS).map(|l| format!("{sum}_{n}[{l}]")).collect();
            while parts.len() > 1 {
                let upper = parts.split_off(parts.len() / 2);
                let pairs = parts.iter().zip(&upper);
                parts = pairs.map(|(a, b)| combined(*how, a, b)).collect();
            }
            line!(self, "{sum} = {};", combined(*how, sum, &parts[0]));
        }
        self.indent -= 1;
        line!(self, "}}");
        line!(self, "for (; {index} < {end}; {index}++) {{");
        self.out.push_str(&body);
        line!(self, "}}");
    }

    fn fail(&mut self) {
        let function = self.function;
        if function.results.is_empty() {
            line!(self, "return true;");
        } else {
            let ty = self.unit.result_type(&function.results, true);
            line!(self, "return ({ty}){{.failed = true}};");
        }
    }

    fn call(&mut self, results: &[Reg], id: FunctionId, args: &[Operand], site: SiteId) {
        let callee = &self.module.functions[id.0 as usize];
        let mut all = vec!["cx".to_string()];
        all.extend(self.operands(args));
        let call = format!("{}({})", self.unit.function_name(self.number, callee), all.join(", "));
        let condition = match (results, callee.fallible) {
            ([], false) => {
                line!(self, "{call};");
                None
            }
            ([reg], false) => {
                let target = self.target(*reg);
                line!(self, "{target} = {call};");
                None
            }
            ([], true) => Some(call),
            (_, fallible) => {
                let name = format!("r{}", self.fresh);
                self.fresh += 1;
                let ty = self.unit.result_type(&callee.results, fallible);
                line!(self, "{ty} {name} = {call};");
                fallible.then(|| format!("{name}.failed")).or_else(|| {
                    self.take_results(results, &name);
                    None
                })
            }
        };
        let Some(condition) = condition else { return };
        line!(self, "if (DF_UNLIKELY({condition})) {{");
        self.indent += 1;
        if site != NOWHERE {
            let callee = self.unit.function_number(self.number, id);
            line!(self, "df_note(cx, {}, {callee});", self.unit.site(self.number, site));
        }
        self.fail();
        self.indent -= 1;
        line!(self, "}}");
        if let Some(name) = condition.strip_suffix(".failed") {
            self.take_results(results, name);
        }
    }

    fn take_results(&mut self, results: &[Reg], name: &str) {
        for (i, reg) in results.iter().enumerate() {
            let target = self.target(*reg);
            line!(self, "{target} = {name}.r{i};");
        }
    }

    fn operand_type(&self, operand: &Operand) -> LowTy {
        operand.ty(&self.function.registers)
    }

    fn raise(&mut self, error: &Raise, args: &[Operand], site: SiteId) {
        let number = self.unit.raise(self.number, error);
        let site = self.unit.site(self.number, site);
        if let Some(text) = args.iter().find(|a| self.operand_type(a) == LowTy::Ptr) {
            line!(self, "df_raise_text(cx, {number}, {site}, {});", self.operand(text));
        } else {
            let mut words: Vec<String> = Vec::with_capacity(3);
            for arg in args {
                let text = self.operand(arg);
                words.push(match self.operand_type(arg) {
                    LowTy::Real => format!("df_bits({text})"),
                    LowTy::Int | LowTy::Bool | LowTy::Ptr => text,
                });
            }
            words.resize(3, "0".to_string());
            line!(self, "df_raise(cx, {number}, {site}, {});", words.join(", "));
        }
        self.fail();
    }

    fn runtime(&mut self, op: Runtime, args: &[Operand]) -> String {
        let texts = self.operands(args).join(", ");
        match op {
            Runtime::Box => {
                let layout = match args.first() {
                    Some(Operand::Int(n)) => self.module.layouts.get(*n as usize),
                    Some(_) | None => None,
                };
                match layout {
                    Some(Layout::Fields(fields)) => {
                        format!("df_box(cx, {texts}, {})", fields.len())
                    }
                    Some(Layout::Plain | Layout::Text | Layout::References | Layout::Stack(_))
                    | None => {
                        format!("df_box(cx, {texts}, cx->layouts[{texts}].words)")
                    }
                }
            }
            Runtime::Array => format!("df_new_array(cx, {texts})"),
            Runtime::Zeros => format!("df_new_zeros(cx, {texts})"),
            Runtime::Free => format!("df_free(cx, {texts})"),
            Runtime::Copy => format!("df_copy({texts})"),
            Runtime::RetainAll => format!("df_retain_all({texts})"),
            Runtime::AppendText => format!("df_append_text(cx, {texts})"),
            Runtime::CompareText => format!("df_compare_text({texts})"),
            Runtime::ShowReal => format!("df_show_real(cx, {texts})"),
            Runtime::ShowInt => format!("df_show_int(cx, {texts})"),
            Runtime::ShowBool => format!("df_show_bool(cx, {texts})"),
            Runtime::ShowText => format!("df_show_text(cx, {texts})"),
            Runtime::Text(op) => match op {
                TextOp::Size => format!("df_text_size({texts})"),
                TextOp::Byte => format!("df_text_byte({texts})"),
                TextOp::Slice => format!("df_text_slice(cx, {texts})"),
                TextOp::Find => format!("df_text_find({texts})"),
                TextOp::Character => format!("df_text_character(cx, {texts})"),
                TextOp::Lower => format!("df_text_lower(cx, {texts})"),
                TextOp::Upper => format!("df_text_upper(cx, {texts})"),
                TextOp::Digits => format!("df_text_digits(cx, {texts})"),
                TextOp::Number => format!("df_text_number({texts})"),
            },
            Runtime::Trace => format!("df_trace(cx, {texts})"),
            Runtime::Progress => format!("df_progress(cx, {texts})"),
            Runtime::Warn => {
                let first = self.unit.places(self.number, self.module);
                format!("df_warn(cx, {texts} + {first})")
            }
            Runtime::SortReals => format!("df_sort_reals(cx, {texts})"),
            Runtime::SortInts => format!("df_sort_ints(cx, {texts})"),
            Runtime::SortTexts => format!("df_sort_texts(cx, {texts})"),
            Runtime::Poll => "df_poll(cx)".to_string(),
            Runtime::PowInt => format!("df_pow_int({texts})"),
            Runtime::StackNew => format!("df_stack_new(cx, {texts})"),
            Runtime::StackGrow => format!("df_stack_grow(cx, {texts})"),
        }
    }
}

/// Whether the steps of a loop are of a kind that can be done in lanes: nothing leaves them, and there are no
/// loops in them.
fn is_simple(module: &LowModule, stmts: &[Stmt]) -> bool {
    stmts.iter().all(|stmt| match stmt {
        Stmt::Set(..) | Stmt::Checked { .. } | Stmt::Store(..) => true,
        Stmt::If(_, then, otherwise) => is_simple(module, then) && is_simple(module, otherwise),
        Stmt::Call { function, .. } => !module.functions[function.0 as usize].fallible,
        Stmt::Switch(..)
        | Stmt::Loop(_)
        | Stmt::Break
        | Stmt::For(_)
        | Stmt::Runtime { .. }
        | Stmt::Raise { .. }
        | Stmt::Return(_) => false,
    })
}

/// Two numbers combined.
fn combined(how: Reduction, a: &str, b: &str) -> String {
    match how {
        Reduction::Add => format!("({a} + {b})"),
        Reduction::Max => format!("df_max({a}, {b})"),
        Reduction::Min => format!("df_min({a}, {b})"),
    }
}

fn unary(op: Unary, a: &str) -> String {
    match op {
        Unary::Neg => format!("-({a})"),
        Unary::Abs => format!("fabs({a})"),
        Unary::Sqrt => format!("sqrt({a})"),
        Unary::Integral(Rounding::Floor) => format!("floor({a})"),
        Unary::Integral(Rounding::Ceil) => format!("ceil({a})"),
        Unary::Integral(Rounding::Round) => format!("df_round_even({a})"),
        Unary::Integral(Rounding::Trunc) => format!("trunc({a})"),
        Unary::ToReal => format!("(double){a}"),
        // GCC makes a Real of the Int of -0.0 by rounding, which keeps the sign.
        Unary::ToInt => format!("(int64_t)({a} + 0.0)"),
        Unary::Bits => format!("df_bits({a})"),
        Unary::FromBits => format!("df_from_bits({a})"),
        Unary::FromBool => a.to_string(),
        Unary::Not => format!("!{a}"),
    }
}

fn binary(op: Binary, a: &str, b: &str) -> String {
    match op {
        Binary::Add => format!("{a} + {b}"),
        Binary::Sub => format!("{a} - {b}"),
        Binary::Mul => format!("{a} * {b}"),
        Binary::Div | Binary::IntDiv => format!("{a} / {b}"),
        Binary::IntAdd => format!("DF_ADD({a}, {b})"),
        Binary::IntSub => format!("DF_SUB({a}, {b})"),
        Binary::IntMul => format!("DF_MUL({a}, {b})"),
        Binary::IntRem => format!("{a} % {b}"),
        Binary::And => format!("{a} & {b}"),
        Binary::Or => format!("{a} | {b}"),
        Binary::Xor => format!("{a} ^ {b}"),
        Binary::ShiftLeft => format!("DF_SHL({a}, {b})"),
        Binary::ShiftRight => format!("DF_SHR({a}, {b})"),
        Binary::ShiftRightSigned => format!("DF_SAR({a}, {b})"),
    }
}

fn compare(op: Compare, a: &str, b: &str) -> String {
    match op {
        Compare::IntEq | Compare::Eq => format!("{a} == {b}"),
        Compare::IntNe | Compare::Ne => format!("{a} != {b}"),
        Compare::IntLt | Compare::Lt => format!("{a} < {b}"),
        Compare::IntLe | Compare::Le => format!("{a} <= {b}"),
        Compare::Below => format!("DF_BELOW({a}, {b})"),
    }
}

fn math(op: RealOp, a: &str, b: &str) -> String {
    let row = row(op);
    match op {
        RealOp::Add => binary(Binary::Add, a, b),
        RealOp::Sub => binary(Binary::Sub, a, b),
        RealOp::Mul => binary(Binary::Mul, a, b),
        RealOp::Div => binary(Binary::Div, a, b),
        RealOp::Neg => unary(Unary::Neg, a),
        RealOp::Polygamma(n) => format!("df_polygamma({n}, {a})"),
        _ if row.arity == 2 => format!("{}({a}, {b})", row.c),
        _ => format!("{}({a})", row.c),
    }
}
