//! From Flat to Low: arrays become addresses, references are counted.
//!
//! What comes in lints as Flat; what goes out lints as Low. What always holds of the result:
//! - every block has a reference counted for each variable, array, box or constant that keeps it, and when the entry
//!   returns, its results and the constants are all that is left;
//! - an array is changed in place only while nothing else refers to its block.
//!
//! The steps: [`scan`] looks at each function by itself; [`borrows`] decides which parameters are kept and which
//! variables are counted (borrow inference); [`function`] translates statement by statement, callees first ([`calls`]).
//! [`helpers`] are functions that the result needs beside those of the program. [`parallel`] lets large loops be done
//! block by block. The passes of [`low::opt`] follow.

mod array;
mod block;
mod borrows;
mod boxes;
mod build;
mod calls;
mod control;
mod cost;
mod derivative;
mod emit;
mod entry;
mod function;
mod helpers;
mod int;
mod once;
mod parallel;
mod place;
mod privatise;
mod scalar;
mod scan;
mod unique;
mod uses;

pub(crate) use control::neutral;
pub(crate) use cost::simple as simple_cost;
pub use parallel::constants_print;

use crate::low::{self, FunctionId, Layout, LowFunction, Operand};
use borrows::{Owners, Signatures};
use diffeo_array::ir::{Block, BoxId, ConstantId, FlatTy, Module as Flat};
use diffeo_base::Name;
use emit::CodeBuilder;
use function::Lower;
use hashbrown::{HashMap, HashSet};
use helpers::Helper;
use parallel::Effects;
use scan::Scan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The loops that are done block by block, so that several blocks can be done at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Splitting {
    /// The least work of a loop, in simple operations.
    pub threshold: f64,
    /// The least work of a block, unless that would make too many blocks.
    pub block: f64,
    /// The least work of a block for each element of accumulators that it has for itself.
    pub private: f64,
}

impl Splitting {
    /// No loop.
    pub const NEVER: Splitting =
        Splitting { threshold: f64::INFINITY, block: f64::INFINITY, private: 0.0 };
    /// Every loop with steps that may be done at once, with few steps in each block.
    pub const ALWAYS: Splitting = Splitting { threshold: 0.0, block: 1.0, private: 0.0 };
}

impl Default for Splitting {
    /// Where there is work for some 10 microseconds (as vector instructions) to 100: asking a thread for help takes a
    /// few. An element is made, and added up, in the time of two to eight operations.
    fn default() -> Splitting {
        Splitting { threshold: (1 << 18) as f64, block: (1 << 15) as f64, private: 256.0 }
    }
}

/// Options of the lowering to Low.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryOptions {
    /// The loops that are done block by block.
    pub splitting: Splitting,
    /// Whether loops reuse arrays that each step makes for itself (`low/opt/scratch.rs`).
    pub reuse: bool,
    /// Loops that may be done block by block stand beside that, too, if they have no more statements: where there is
    /// little to do, nothing is called.
    pub beside: usize,
    /// The number of statements from which on functions are outlined, if they have parts of a quarter of that.
    pub long: usize,
}

impl Default for MemoryOptions {
    fn default() -> MemoryOptions {
        MemoryOptions { splitting: Splitting::default(), reuse: false, beside: 48, long: 1200 }
    }
}

/// The module in Low.
pub fn lower(flat: Arc<Flat>) -> low::LowModule {
    lower_with(flat, MemoryOptions::default())
}

/// The module in Low, after all passes.
pub fn lower_with(flat: Arc<Flat>, options: MemoryOptions) -> low::LowModule {
    lower_seeing(flat, options, &mut |_, _| {})
}

/// The names of the steps that [`lower_seeing`] shows.
pub fn steps() -> impl Iterator<Item = &'static str> {
    std::iter::once("memory").chain(low::opt::PASSES.iter().map(|pass| pass.name))
}

/// As [`lower_with`]; `see` is shown the module as it is made, and after each pass.
pub fn lower_seeing(
    flat: Arc<Flat>,
    options: MemoryOptions,
    see: &mut dyn FnMut(&'static str, &low::LowModule),
) -> low::LowModule {
    let calls = calls::calls(&flat);
    let scans: Vec<Scan> = flat.functions.iter().map(Scan::new).collect();
    let signatures = Signatures::new(&flat, &scans);
    let mut cx = MemoryCx::new(&flat, signatures, options);
    let count = flat.functions.len();
    cx.functions.resize_with(count, || None);
    for id in calls.order {
        let function = &flat.functions[id.0 as usize];
        let scan = &scans[id.0 as usize];
        let owners = Owners::new(function, id, scan, &cx.signatures);
        let recursive = calls.recursive[id.0 as usize];
        let lowered = Lower::new(&mut cx, function, id, scan, &owners).function(recursive);
        cx.costs[id.0 as usize] = cost::of_function(&cx.costs, &lowered);
        cx.functions[id.0 as usize] = Some(lowered);
    }
    let entry = entry::entry(&mut cx);
    let MemoryCx { functions, layouts, texts, constant_references, .. } = cx;
    let mut module = low::LowModule {
        functions: functions.into_iter().flatten().collect(),
        layouts,
        texts,
        constant_words: constant_references.len(),
        constant_references,
        entry,
        flat: Arc::clone(&flat),
    };
    see("memory", &module);
    let MemoryOptions { long, reuse, .. } = options;
    let of = low::opt::PassOptions { program: count, long, reuse };
    for pass in low::opt::PASSES {
        (pass.run)(&mut module, &of);
        see(pass.name, &module);
    }
    module
}

/// The facts about the module while its functions are translated.
struct MemoryCx<'a> {
    flat: &'a Flat,
    options: MemoryOptions,
    signatures: Signatures,
    /// The functions so far; of recursive ones that are not translated yet, what is known is in `ahead`.
    functions: Vec<Option<LowFunction>>,
    /// Whether translated functions have no effects at all: they cannot fail and write nothing.
    quiet: Vec<bool>,
    /// Of each result of translated functions, whether nothing else refers to its block.
    unshared: Vec<Vec<bool>>,
    layouts: Vec<Layout>,
    /// The layout of the first tag, by type of boxes.
    first_layout: Vec<u32>,
    stacks: HashMap<Box<[bool]>, u32>,
    texts: Vec<Name>,
    text_ids: HashMap<Name, u32>,
    constant_references: Vec<bool>,
    /// The word of the state, by constant.
    constants: Vec<u32>,
    helpers: BTreeMap<Helper, FunctionId>,
    effects: Effects,
    /// The steps of loops that are done once in a run.
    once: HashSet<*const Block>,
    /// The costs of the functions.
    costs: Vec<f64>,
}

impl<'a> MemoryCx<'a> {
    fn new(flat: &'a Flat, signatures: Signatures, options: MemoryOptions) -> MemoryCx<'a> {
        let mut layouts = vec![Layout::Plain, Layout::Text, Layout::References];
        let mut first_layout = Vec::new();
        for ty in &flat.boxes {
            first_layout.push(layouts.len() as u32);
            for variant in &ty.variants {
                let fields = variant.fields.iter().flat_map(words).map(|(_, counted)| counted);
                layouts.push(Layout::Fields(fields.collect()));
            }
        }
        let mut constant_references = Vec::new();
        let mut constants = Vec::new();
        for constant in &flat.constants {
            constants.push(constant_references.len() as u32);
            constant_references.push(false);
            let results = &flat.functions[constant.init.0 as usize].results;
            constant_references.extend(results.iter().flat_map(words).map(|(_, counted)| counted));
        }
        MemoryCx {
            flat,
            options,
            signatures,
            functions: Vec::new(),
            quiet: vec![false; flat.functions.len()],
            unshared: vec![Vec::new(); flat.functions.len()],
            layouts,
            first_layout,
            stacks: HashMap::new(),
            texts: Vec::new(),
            text_ids: HashMap::new(),
            constant_references,
            constants,
            helpers: BTreeMap::new(),
            effects: Effects::new(flat),
            once: once::loops(flat),
            costs: vec![cost::UNKNOWN; flat.functions.len()],
        }
    }

    /// The layout of a tag.
    fn layout(&self, id: BoxId, tag: u32) -> u32 {
        self.first_layout[id.0 as usize] + tag
    }

    /// The layout of stacks of such tuples.
    fn stack(&mut self, counted: Box<[bool]>) -> u32 {
        let MemoryCx { stacks, layouts, .. } = self;
        *stacks.entry(counted).or_insert_with_key(|counted| {
            layouts.push(Layout::Stack(counted.clone()));
            layouts.len() as u32 - 1
        })
    }

    /// The block of a text.
    fn text(&mut self, text: &Name) -> Operand {
        let texts = &mut self.texts;
        Operand::Text(*self.text_ids.entry(text.clone()).or_insert_with(|| {
            texts.push(text.clone());
            texts.len() as u32 - 1
        }))
    }

    /// The words of a constant: that of its state, and of its value.
    fn constant(&self, id: ConstantId) -> u32 {
        self.constants[id.0 as usize]
    }

    /// A function beside those of the program.
    fn helper(&mut self, helper: Helper) -> FunctionId {
        if let Some(id) = self.helpers.get(&helper) {
            return *id;
        }
        let uses_release = !matches!(
            helper,
            Helper::Retain | Helper::Release | Helper::Power | Helper::BlockSteps
        );
        let release = if uses_release { self.helper(Helper::Release) } else { FunctionId(0) };
        let function = helper.function(|code: &mut CodeBuilder, block| {
            code.call(release, vec![block], Vec::new());
        });
        let id = self.add(function);
        self.helpers.insert(helper, id);
        id
    }

    fn add(&mut self, function: LowFunction) -> FunctionId {
        self.costs.push(cost::of_function(&self.costs, &function));
        self.functions.push(Some(function));
        FunctionId(self.functions.len() as u32 - 1)
    }
}

/// The registers of a type in Low, each with whether it refers to a block.
fn words(ty: &FlatTy) -> Vec<(low::LowTy, bool)> {
    let (first, sizes) = match ty {
        FlatTy::Real => (vec![(low::LowTy::Real, false)], 0),
        FlatTy::Int => (vec![(low::LowTy::Int, false)], 0),
        FlatTy::Bool => (vec![(low::LowTy::Bool, false)], 0),
        FlatTy::Text | FlatTy::Box(_) | FlatTy::Stack(_) => (vec![(low::LowTy::Ptr, true)], 0),
        FlatTy::Array(_, rank) | FlatTy::Acc(rank) => {
            (vec![(low::LowTy::Ptr, true), (low::LowTy::Ptr, false)], *rank)
        }
    };
    let sizes = std::iter::repeat_n((low::LowTy::Int, false), usize::from(sizes));
    first.into_iter().chain(sizes).collect()
}

/// The types of the registers of a type.
fn word_types(ty: &FlatTy) -> Vec<low::LowTy> {
    words(ty).into_iter().map(|(ty, _)| ty).collect()
}

/// A name of letters, digits and `_` that no other function has.
fn symbol(name: &str, id: FunctionId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{}_{}", name.chars().map(plain).collect::<String>(), id.0)
}
