//! Low to the text of LLVM's intermediate representation, statement by statement.
//!
//! Every function of Low is a function with the context as its first parameter; it returns its results as a structure,
//! the status (`true`: it failed) before them. A register that is set once, before everything that reads it, is a
//! value; the others are stack slots, which LLVM promotes to values.
//!
//! LLVM is told more than the statements say: that the steps of an independent loop do not touch the same memory
//! (`llvm.loop.parallel_accesses`), which branches are rare, and which memory has no other reference. Nothing allows it to
//! compute other numbers: sums are regrouped and products fused here, alike for every processor.

mod expr;
mod lanes;
mod parts;
mod stmt;
mod vector;

use crate::engine::Raises;
use crate::low::facts::{facts, Facts};
use crate::low::lanes::{plans, Plans};
use crate::low::opt::scratch::{helper, release_of};
use crate::low::{self, Blocks, FunctionId, LowFunction, LowModule, LowTy, Operand, Reg, Stmt};
use crate::runtime;
use diffeo_base::deep;
use hashbrown::HashSet;
use lanes::Lanes;
use parts::ProgramParts;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A program as text.
pub(super) struct ProgramText {
    /// The modules that it is compiled as.
    pub parts: Vec<ModuleText>,
    /// The errors, by the index that the code gives.
    pub raises: Raises,
    /// The functions of the runtime that the code calls.
    pub imports: Vec<runtime::RuntimeFunction>,
}

/// A module as text.
pub(super) struct ModuleText {
    /// The text.
    pub text: String,
    /// Whether a function is so long that optimisation would take too much time.
    pub huge: bool,
}

/// The name of the function that callers of the program call.
pub(super) const ENTRY: &str = "diffeo_entry";

/// The largest frame of a function, in bytes, that LLVM does not report.
pub(super) const SMALL_FRAME: usize = 1024;

/// Vectors of so many bits are wide.
const WIDE: u32 = 512;

/// What the functions of a module share.
pub(super) struct EmitShared<'m> {
    module: &'m LowModule,
    raises: Raises,
    imports: BTreeMap<&'static str, runtime::RuntimeFunction>,
    /// The declarations of the intrinsic functions that are called, by name.
    intrinsics: BTreeMap<String, String>,
    /// Functions of the library that rare operands are left to.
    rare: BTreeMap<&'static str, runtime::RuntimeFunction>,
    /// The numbers of lanes that they are called for by name.
    widths: BTreeSet<u32>,
    /// The functions that are not to be inlined.
    apart: &'m HashSet<FunctionId>,
    /// Those that other modules call.
    shared: &'m HashSet<usize>,
    /// Those that are called here.
    called: BTreeSet<usize>,
    /// The metadata, by number.
    metadata: Vec<String>,
}

impl EmitShared<'_> {
    /// The number of a new piece of metadata.
    fn metadata(&mut self, text: String) -> usize {
        self.metadata.push(text);
        self.metadata.len() - 1
    }
}

/// Metadata with fixed numbers: nothing, and weights of branches of which the first or the second is rare.
const NOTHING: usize = 0;
const FIRST_RARE: usize = 1;
const SECOND_RARE: usize = 2;

/// The loops that are run in lanes, by function and index.
pub(super) fn planned(module: &LowModule, eager: bool) -> HashSet<(usize, Reg)> {
    let mut found = HashSet::new();
    for (i, function) in module.functions.iter().enumerate() {
        let once = facts(function).once;
        for (step, _) in plans(module, function, &once, &lanes::target(false, eager)).values() {
            found.insert((i, *step));
        }
    }
    found
}

/// The text of a program, in which some functions are not to be inlined; code with vectors of `width` bits at most is
/// preferred. `eager`: loops run in lanes wherever that is possible, and the program is cut into parts however small it
/// is.
pub(super) fn emit(
    module: &LowModule,
    shared: &[FunctionId],
    width: u32,
    eager: bool,
) -> ProgramText {
    let calls: Vec<Vec<usize>> = module.functions.iter().map(low::visit::calls).collect();
    let apart = apart(module, &calls).into_iter().chain(shared.iter().copied()).collect();
    let ProgramParts { parts, shared } = ProgramParts::new(module, &calls, &apart, eager);
    let (mut raises, mut imports) = (Raises::default(), BTreeMap::new());
    let parts = parts.iter().map(|functions| {
        let mut shared = EmitShared {
            module,
            raises: std::mem::take(&mut raises),
            imports: BTreeMap::new(),
            intrinsics: BTreeMap::new(),
            rare: BTreeMap::new(),
            widths: BTreeSet::new(),
            apart: &apart,
            shared: &shared,
            called: BTreeSet::new(),
            metadata: vec![
                "!{}".into(),
                "!{!\"branch_weights\", i32 1, i32 2000}".into(),
                "!{!\"branch_weights\", i32 2000, i32 1}".into(),
            ],
        };
        let part = emit_part(&mut shared, functions, width, eager);
        raises = shared.raises;
        imports.append(&mut shared.imports);
        part
    });
    let parts = parts.collect();
    ProgramText { parts, raises, imports: imports.into_values().collect() }
}

/// The text of the module of some functions.
fn emit_part(
    shared: &mut EmitShared<'_>,
    functions: &BTreeSet<usize>,
    width: u32,
    eager: bool,
) -> ModuleText {
    let module = shared.module;
    let mut text = String::new();
    let mut huge = false;
    for index in functions.iter().copied() {
        let function = &module.functions[index];
        let facts = facts(function);
        huge |= facts.statements > low::HUGE;
        let target = lanes::target(width >= WIDE, eager);
        let plans = plans(module, function, &facts.once, &target);
        Emitter::new(shared, index, facts, plans, &mut text).function();
        if let Some(blocks) = &function.blocks {
            task(module, blocks, &mut text);
        }
    }
    if functions.contains(&(module.entry.0 as usize)) {
        entry(module, &mut text);
    }
    vector::define(shared, &mut text);
    for declaration in shared.intrinsics.values() {
        let _ = writeln!(text, "{declaration}");
    }
    for function in shared.imports.values() {
        declare(function, &mut text);
    }
    for index in shared.called.difference(functions) {
        let head = head(module, *index);
        let _ = writeln!(text, "declare hidden {head}) #3");
    }
    let _ = writeln!(
        text,
        "attributes #0 = {{ nounwind \"prefer-vector-width\"=\"{width}\" }}\n\
         attributes #1 = {{ nounwind willreturn memory(none) }}\n\
         attributes #2 = {{ nounwind cold }}\n\
         attributes #3 = {{ nounwind }}\n\
         attributes #4 = {{ nounwind alwaysinline }}\n\
         attributes #5 = {{ nounwind cold memory(argmem: readwrite, inaccessiblemem: readwrite) }}"
    );
    for (i, metadata) in shared.metadata.iter().enumerate() {
        let _ = writeln!(text, "!{i} = {metadata}");
    }
    ModuleText { text, huge }
}

/// The head of a function, up to its last parameter.
fn head(module: &LowModule, index: usize) -> String {
    let function = &module.functions[index];
    let mut head = format!(
        "fastcc {} @f{index}(ptr noalias nonnull align 8 dereferenceable(64) %context",
        returned(function)
    );
    for (i, (ty, _)) in taken(function).iter().enumerate() {
        let _ = write!(head, ", {ty} %p{i}");
    }
    head
}

/// How many calls of `release` may be replaced by what it does.
const FEW_RELEASES: usize = 12;

/// The functions that are not to be inlined: those that do loops block by block, which are executed where that makes no
/// difference, and the one that says how long the blocks are; those of the steps, where they are called beside it, too;
/// the one that takes references away, if there are many calls of it; and parts of long functions.
fn apart(module: &LowModule, calls: &[Vec<usize>]) -> HashSet<FunctionId> {
    let mut sites = vec![0usize; module.functions.len()];
    for (function, callees) in module.functions.iter().zip(calls) {
        if function.blocks.is_none() {
            callees.iter().for_each(|callee| sites[*callee] += 1);
        }
    }
    let release = release_of(module).filter(|f| sites[f.0 as usize] > FEW_RELEASES);
    let steps = helper(module, "block_steps");
    let parts = (0..).zip(&module.functions).filter(|(_, function)| function.apart);
    let parts = parts.map(|(i, _)| FunctionId(i));
    let mut found: HashSet<FunctionId> = parts.chain(release).chain(steps).collect();
    for (i, function) in module.functions.iter().enumerate() {
        let Some(blocks) = &function.blocks else { continue };
        found.insert(FunctionId(i as u32));
        for stmt in &module.functions[blocks.task.0 as usize].body {
            if let Stmt::Call { function: steps, .. } = stmt {
                found.extend((sites[steps.0 as usize] > 1).then_some(*steps));
            }
        }
    }
    found
}

/// Whether there are loops.
fn loops(stmts: &[Stmt]) -> bool {
    let is_loop = |stmt: &Stmt| matches!(stmt, Stmt::For(_) | Stmt::Loop(_));
    stmts.iter().any(|stmt| is_loop(stmt) || deep(|| stmt.blocks().into_iter().any(loops)))
}

/// A type as LLVM writes it.
fn llvm_type(ty: LowTy) -> &'static str {
    match ty {
        LowTy::Int => "i64",
        LowTy::Real => "double",
        LowTy::Bool => "i1",
        LowTy::Ptr => "ptr",
    }
}

/// So many Reals next to each other make a vector where functions take or give [`MANY`] of them, such as the elements
/// of a matrix: they stay in registers, and what is computed alike of them is found by LLVM.
const PACK: usize = 4;
const MANY: usize = 8;

/// Parameters or results of these types in the groups that are handed over together: the type of each, and how many
/// values it has.
fn packs(types: impl IntoIterator<Item = LowTy>) -> Vec<(String, usize)> {
    let types: Vec<LowTy> = types.into_iter().collect();
    let mut packs = Vec::new();
    for run in types.chunk_by(|a, b| a == b) {
        let vectors = if run[0] == LowTy::Real && run.len() >= MANY { run.len() / PACK } else { 0 };
        packs.extend((0..vectors).map(|_| (format!("<{PACK} x double>"), PACK)));
        packs.extend(run[vectors * PACK..].iter().map(|ty| (llvm_type(*ty).to_string(), 1)));
    }
    packs
}

/// The types of the parameters of a function.
fn taken(function: &LowFunction) -> Vec<(String, usize)> {
    packs(function.params.iter().map(|param| function.registers[param.0 as usize]))
}

/// The type of the results of a function, its status first.
fn returned(function: &LowFunction) -> String {
    let status = function.fallible.then(|| "i1".to_string());
    let results = packs(function.results.iter().copied()).into_iter().map(|(ty, _)| ty);
    let types: Vec<_> = status.into_iter().chain(results).collect();
    match &types[..] {
        [] => "void".into(),
        [one] => one.clone(),
        _ => format!("{{ {} }}", types.join(", ")),
    }
}

/// The function that callers have, with the convention of C; its status is an Int.
fn entry(module: &LowModule, text: &mut String) {
    let index = module.entry.0;
    let function = &module.functions[index as usize];
    let result = returned(function);
    let _ = write!(
        text,
        "define i64 @{ENTRY}(ptr %context, ptr %args, ptr %results) #0 {{\n  \
         %status = call fastcc {result} @f{index}(ptr %context, ptr %args, ptr %results)\n"
    );
    // The entry has no results, so that its status stands alone.
    let status = if function.fallible { "%status" } else { "false" };
    let _ = writeln!(text, "  %word = zext i1 {status} to i64\n  ret i64 %word\n}}");
    if result == "void" {
        let at = text.rfind("%status = call").unwrap_or(text.len());
        text.replace_range(at..at + "%status = ".len(), "");
    }
}

/// The function by which the runtime calls a task.
fn task(module: &LowModule, blocks: &Blocks, text: &mut String) {
    let index = blocks.task.0;
    let args = "ptr %context, ptr %frame, i64 %from, i64 %to, ptr %results";
    let _ = writeln!(text, "define internal i64 @task{index}({args}) #0 {{");
    let _ = if module.functions[index as usize].fallible {
        writeln!(
            text,
            "  %status = call fastcc i1 @f{index}({args})\n  %word = zext i1 %status to i64\n  ret i64 %word\n}}"
        )
    } else {
        writeln!(text, "  call fastcc void @f{index}({args})\n  ret i64 0\n}}")
    };
}

/// Declares a function of the runtime.
fn declare(function: &runtime::RuntimeFunction, text: &mut String) {
    let context = function.context.then_some("ptr");
    let params: Vec<_> =
        context.into_iter().chain(function.params.iter().map(|ty| llvm_type(*ty))).collect();
    // What the runtime gives is new memory; what needs no context computes a number.
    let result = match function.result {
        None => "void",
        Some(LowTy::Ptr) => "noalias ptr",
        Some(ty) => llvm_type(ty),
    };
    let attributes = match function.name {
        "diffeo_raise" | "diffeo_note" => "#2",
        // What they ask does not see the program's memory.
        "diffeo_poll" | "diffeo_deep" => "#5",
        _ if !function.context => "#1",
        _ => "#3",
    };
    let _ =
        writeln!(text, "declare {result} @{}({}) {attributes}", function.name, params.join(", "));
}

/// A function in translation.
struct Emitter<'e, 'm> {
    shared: &'e mut EmitShared<'m>,
    index: usize,
    function: &'m LowFunction,
    facts: Facts,
    /// By register that is set once: its value here.
    values: Vec<String>,
    out: &'e mut String,
    /// How many names have been given.
    names: u32,
    /// The block that is being written; none after a statement that does not go on.
    block: Option<String>,
    /// The exits of the open loops, and whether something goes there.
    exits: Vec<(String, bool)>,
    /// The groups of accesses of the open independent loops.
    groups: Vec<usize>,
    /// Their list as metadata, once it has been needed.
    access: Option<usize>,
    /// The loops that are run in lanes.
    plans: Plans,
    /// The lanes of the open one.
    lanes: Option<Lanes>,
    /// In what is done instead where there are few steps.
    plain: bool,
    /// Whether nothing of it is done in a loop of its own or of a caller's that it is put into.
    single: bool,
    /// Where calls failed: the call and the block.
    failures: Vec<(runtime::OpenCall, String)>,
    /// The blocks that record errors without operands, by their indices and places.
    raised: BTreeMap<(i64, u32), String>,
    /// Whether the function is left with an error somewhere.
    fails: bool,
}

impl<'e, 'm> Emitter<'e, 'm> {
    fn new(
        shared: &'e mut EmitShared<'m>,
        index: usize,
        facts: Facts,
        plans: Plans,
        out: &'e mut String,
    ) -> Emitter<'e, 'm> {
        let function = &shared.module.functions[index];
        let single = shared.apart.contains(&FunctionId(index as u32)) && !loops(&function.body);
        Emitter {
            shared,
            single,
            index,
            function,
            values: vec![String::new(); function.registers.len()],
            facts,
            out,
            names: 0,
            block: None,
            exits: Vec::new(),
            groups: Vec::new(),
            access: None,
            plans,
            lanes: None,
            plain: false,
            failures: Vec::new(),
            raised: BTreeMap::new(),
            fails: false,
        }
    }

    /// Writes a line of a block.
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.push_str("  ");
        let _ = self.out.write_fmt(text);
        self.out.push('\n');
    }

    /// A new name for a value.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }

    /// Writes an instruction; the name of its value.
    fn compute(&mut self, instruction: std::fmt::Arguments<'_>) -> String {
        let name = self.name();
        self.line(format_args!("{name} = {instruction}"));
        name
    }

    /// A new name for a block.
    fn label(&mut self) -> String {
        self.names += 1;
        format!("b{}", self.names)
    }

    /// Begins a block.
    fn begin(&mut self, label: String) {
        let _ = writeln!(self.out, "{label}:");
        self.block = Some(label);
    }

    /// Goes on in a block, if the present one goes on.
    fn jump(&mut self, label: &str) {
        if self.block.take().is_some() {
            self.line(format_args!("br label %{label}"));
        }
    }

    /// The name of a function of the runtime that is called.
    fn import(&mut self, function: runtime::RuntimeFunction) -> &'static str {
        self.shared.imports.insert(function.name, function);
        function.name
    }

    fn ty(&self, register: Reg) -> LowTy {
        self.function.registers[register.0 as usize]
    }

    /// The type of an operand.
    fn operand_ty(&self, operand: Operand) -> LowTy {
        operand.ty(&self.function.registers)
    }

    /// Gives a register its value.
    fn set(&mut self, register: Reg, value: String) {
        let i = register.0 as usize;
        if self.facts.once[i] {
            self.values[i] = value;
        } else {
            let ty = llvm_type(self.ty(register));
            self.line(format_args!("store {ty} {value}, ptr %r{i}"));
        }
    }

    /// Values that are handed over together, as one.
    fn pack(&mut self, ty: &str, values: &[String]) -> String {
        if let [value] = values {
            return value.clone();
        }
        let mut whole = "poison".to_string();
        for (i, value) in values.iter().enumerate() {
            whole =
                self.compute(format_args!("insertelement {ty} {whole}, double {value}, i64 {i}"));
        }
        whole
    }

    /// The values that were handed over together.
    fn unpack(&mut self, ty: &str, whole: &str, count: usize) -> Vec<String> {
        if count == 1 {
            return vec![whole.to_string()];
        }
        let part = |i| self.compute(format_args!("extractelement {ty} {whole}, i64 {i}"));
        (0..count).map(part).collect()
    }

    fn function(mut self) {
        let head = head(self.shared.module, self.index);
        let seen = self.shared.shared.contains(&self.index);
        let seen = if seen { "hidden" } else { "internal" };
        let apart = self.shared.apart.contains(&FunctionId(self.index as u32));
        let apart = if apart { "noinline " } else { "" };
        let _ = writeln!(self.out, "define {seen} {head}) {apart}#0 {{ ; {}", self.function.name);
        self.begin("start".into());
        for (i, ty) in self.function.registers.iter().enumerate() {
            if !self.facts.once[i] && self.facts.used[i] {
                let _ = writeln!(self.out, "  %r{i} = alloca {}", llvm_type(*ty));
            }
        }
        self.room_for_lanes();
        let mut params = self.function.params.iter();
        for (i, (ty, count)) in taken(self.function).iter().enumerate() {
            let values = self.unpack(ty, &format!("%p{i}"), *count);
            for (value, param) in values.into_iter().zip(params.by_ref()) {
                self.set(*param, value);
            }
        }
        self.test_stack();
        let function = self.function;
        match &function.blocks {
            Some(blocks) => self.split(blocks),
            None => self.list(&function.body),
        }
        if self.block.is_some() {
            self.line(format_args!("unreachable"));
        }
        self.leave_failed();
        self.out.push_str("}\n");
    }
}

/// A number as its bits.
fn real(x: f64) -> String {
    format!("0x{:016X}", x.to_bits())
}
