//! A file of C: the runtime, the tables of one or several modules, and their functions.
//!
//! What always holds: everything in it is static, except what the end of the file (its face) exports; the same modules
//! give the same text; writing it takes time linear in its size.

use super::function::{function, letter, type_of};
use super::letter_case::letter_case;
use super::literal::{comment, string};
use crate::low::{FunctionId, Layout, LowFunction, LowModule, LowTy, Raise};
use diffeo_array::ir::SiteId;
use diffeo_base::Name;
use diffeo_calculus::prim::{int, IntOp, Rounding};
use hashbrown::{HashMap, HashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What every program needs.
const COMMON: [&str; 2] = [include_str!("runtime/common.c"), include_str!("runtime/math.c")];

/// The parts of the runtime that need the tables.
const RUNTIME: [&str; 4] = [
    include_str!("runtime/memory.c"),
    include_str!("runtime/text.c"),
    include_str!("runtime/sort.c"),
    include_str!("runtime/errors.c"),
];

/// Who provides the runtime: memory and the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeProvider {
    /// The file itself: it needs nothing else.
    Own,
    /// The process that loads it: [`runtime`](crate::runtime). Numbers of places, texts and constants are those
    /// of each module.
    Process,
}

/// A file that is being written.
pub struct Unit {
    host: RuntimeProvider,
    /// The most statements that a function has.
    pub largest: usize,
    modules: Vec<Placed>,
    functions: String,
    prototypes: String,
    result_types: BTreeMap<String, String>,
    text_table: Vec<Name>,
    text_numbers: HashMap<Name, usize>,
    statics: BTreeSet<u32>,
    raises: Vec<Raise>,
    /// The rows of the table of errors.
    raise_rows: String,
    raise_numbers: HashMap<(String, usize), u32>,
    sites: Vec<(usize, SiteId)>,
    site_numbers: HashMap<(usize, SiteId), u32>,
    constant_words: usize,
    function_count: usize,
}

/// A module in a file.
struct Placed {
    /// The number of each text of the module.
    texts: Vec<usize>,
    /// Where its constants begin among those of the context.
    first_constant: usize,
    /// The number of its first function.
    first_function: usize,
    layouts: Vec<Layout>,
    constant_references: Vec<bool>,
    /// The name of the function that callers enter by, and whether it can fail.
    entry: (String, bool),
    /// The number of its first place, if all of them have numbers.
    first_place: Option<u32>,
    /// What messages call the functions and the constants.
    names: Vec<Name>,
    constants: Vec<Name>,
}

/// A file of C, and what its numbers mean.
#[derive(Debug)]
pub struct CText {
    /// The text.
    pub text: String,
    /// What the numbers of errors mean.
    pub raises: Vec<Raise>,
    /// What the numbers of places mean: the module, and the place there.
    pub sites: Vec<(usize, SiteId)>,
    /// The most statements that a function has.
    pub largest: usize,
}

impl Unit {
    /// An empty file.
    pub fn new(host: RuntimeProvider) -> Unit {
        Unit {
            host,
            largest: 0,
            modules: Vec::new(),
            functions: String::new(),
            prototypes: String::new(),
            result_types: BTreeMap::new(),
            text_table: Vec::new(),
            text_numbers: HashMap::new(),
            statics: BTreeSet::new(),
            raises: Vec::new(),
            raise_rows: String::new(),
            raise_numbers: HashMap::new(),
            sites: Vec::new(),
            site_numbers: HashMap::new(),
            constant_words: 0,
            function_count: 0,
        }
    }

    /// Adds a module; gives its number.
    pub fn add(&mut self, module: &LowModule) -> usize {
        let number = self.modules.len();
        let texts = module.texts.iter().map(|text| self.add_text(text)).collect();
        for (i, layout) in module.layouts.iter().enumerate() {
            if matches!(layout, Layout::Fields(fields) if fields.is_empty()) {
                self.statics.insert(i as u32);
            }
        }
        let flat = &module.flat.functions;
        let names = module.functions.iter().enumerate().map(|(i, function)| {
            flat.get(i).map_or_else(|| Name::new(&function.name), |f| f.shown.clone())
        });
        self.modules.push(Placed {
            texts,
            first_constant: self.constant_words,
            first_function: self.function_count,
            layouts: module.layouts.clone(),
            constant_references: module.constant_references.clone(),
            entry: (String::new(), false),
            first_place: None,
            names: names.collect(),
            constants: module.flat.constants.iter().map(|c| c.name.clone()).collect(),
        });
        self.constant_words += module.constant_words;
        self.function_count += module.functions.len();
        // Blocks of loops are done one after the other here, so nobody calls their tasks.
        let tasks: HashSet<u32> =
            module.functions.iter().filter_map(|f| Some(f.blocks.as_ref()?.task.0)).collect();
        let functions = module.functions.iter().enumerate();
        for (i, declared) in functions.filter(|(i, _)| !tasks.contains(&(*i as u32))) {
            let prototype = self.prototype(number, declared);
            self.prototypes += &prototype;
            self.prototypes.push_str(";\n");
            let text = function(self, module, number, FunctionId(i as u32));
            self.functions += &text;
        }
        let entry = &module.functions[module.entry.0 as usize];
        self.modules[number].entry = (self.function_name(number, entry), entry.fallible);
        number
    }

    fn add_text(&mut self, text: &Name) -> usize {
        if let Some(number) = self.text_numbers.get(text) {
            return *number;
        }
        let number = self.text_table.len();
        self.text_table.push(text.clone());
        self.text_numbers.insert(text.clone(), number);
        number
    }

    // What the functions refer to

    /// The name of a function.
    pub(super) fn function_name(&self, module: usize, function: &LowFunction) -> String {
        match module {
            0 => format!("f_{}", function.name),
            module => format!("f{module}_{}", function.name),
        }
    }

    /// The number of a function in the file.
    pub(super) fn function_number(&self, module: usize, function: FunctionId) -> usize {
        if self.host == RuntimeProvider::Process {
            return function.0 as usize;
        }
        self.modules[module].first_function + function.0 as usize
    }

    /// The number of a text of a module.
    pub(super) fn text_number(&self, module: usize, text: u32) -> usize {
        if self.host == RuntimeProvider::Process {
            return text as usize;
        }
        self.modules[module].texts[text as usize]
    }

    /// The number of a word of the constants.
    pub(super) fn constant(&self, module: usize, word: u32) -> usize {
        if self.host == RuntimeProvider::Process {
            return word as usize;
        }
        self.modules[module].first_constant + word as usize
    }

    /// The number of a place.
    pub(super) fn site(&mut self, module: usize, site: SiteId) -> u32 {
        if self.host == RuntimeProvider::Process {
            return site.0;
        }
        let sites = &mut self.sites;
        *self.site_numbers.entry((module, site)).or_insert_with(|| {
            sites.push((module, site));
            sites.len() as u32 - 1
        })
    }

    /// The number of the first place of a module, whose others follow: for numbers that are known when it runs.
    pub(super) fn places(&mut self, number: usize, module: &LowModule) -> u32 {
        if self.host == RuntimeProvider::Process {
            return 0;
        }
        let sites = &mut self.sites;
        *self.modules[number].first_place.get_or_insert_with(|| {
            let first = sites.len() as u32;
            let all = (0..module.flat.sites.len() as u32).map(SiteId);
            sites.extend(all.map(|site| (number, site)));
            first
        })
    }

    /// The number of an error.
    pub(super) fn raise(&mut self, module: usize, error: &Raise) -> u32 {
        // Only a cycle says something of its module.
        let of = if matches!(error, Raise::Cycle(_)) { module } else { 0 };
        let key = (format!("{error:?}"), of);
        if let Some(number) = self.raise_numbers.get(&key) {
            return *number;
        }
        let (kind, what) = kind_of(error, &self.modules[module].constants);
        // Writing to a string does not fail.
        let _ = writeln!(self.raise_rows, "    {{{kind}, {}}},", string(&what));
        let number = self.raises.len() as u32;
        self.raises.push(error.clone());
        self.raise_numbers.insert(key, number);
        number
    }

    /// The head of a function.
    pub(super) fn prototype(&mut self, module: usize, function: &LowFunction) -> String {
        let ty = match (function.results.as_slice(), function.fallible) {
            ([], true) => "bool".to_string(),
            ([], false) => "void".to_string(),
            ([ty], false) => type_of(*ty).trim_end().to_string(),
            (types, fallible) => self.result_type(types, fallible),
        };
        let mut text =
            format!("static {ty} {}(df_context *cx", self.function_name(module, function));
        for param in &function.params {
            let ty = function.registers[param.0 as usize];
            // Writing to a string does not fail.
            let _ = write!(text, ", {}{}{}", type_of(ty), letter(ty), param.0);
        }
        text.push(')');
        text
    }

    /// The type of several results, or of a result with the status.
    pub(super) fn result_type(&mut self, types: &[LowTy], fallible: bool) -> String {
        let mut name = "struct df".to_string();
        let mut fields = String::new();
        for (i, ty) in types.iter().enumerate() {
            if i == 0 || types[i - 1] != *ty {
                let run = types[i..].iter().take_while(|t| *t == ty).count();
                name += &format!("_{}{run}", letter(*ty));
            }
            fields += &format!(" {}r{i};", type_of(*ty));
        }
        if fallible {
            name += "_f";
            fields += " bool failed;";
        }
        if !self.result_types.contains_key(&name) {
            self.result_types.insert(name.clone(), fields);
        }
        name
    }

    // The file

    /// The whole file, with `imports` before the program and `face`, what is exported, behind it.
    pub fn finish(self, imports: &str, face: &str) -> CText {
        let mut out =
            String::with_capacity(self.functions.len() + self.prototypes.len() + (1 << 17));
        out += "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n";
        out += include_str!("runtime/base.h");
        match self.host {
            RuntimeProvider::Own => {
                out += include_str!("runtime/context.h");
                self.tables(&mut out);
                for part in COMMON.iter().chain(&RUNTIME) {
                    out.push('\n');
                    out += part;
                }
                // The tables are long.
                if ["df_text_lower(", "df_text_upper("].iter().any(|f| self.functions.contains(f)) {
                    letter_case(&mut out);
                }
            }
            RuntimeProvider::Process => {
                out += include_str!("runtime/hosted.h");
                out += imports;
                for part in COMMON {
                    out.push('\n');
                    out += part;
                }
            }
        }
        out += "\n/* The program. */\n\n";
        out += "#ifdef __GNUC__\n#pragma omp declare reduction(df_max : double : omp_out = df_max(omp_out, omp_in)) \
                initializer(omp_priv = -INFINITY)\n#pragma omp declare reduction(df_min : double : omp_out = \
                df_min(omp_out, omp_in)) initializer(omp_priv = INFINITY)\n#endif\n\n";
        for (name, fields) in &self.result_types {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{name} {{{fields} }};");
        }
        out.push('\n');
        out += &self.prototypes;
        out.push('\n');
        out += &self.functions;
        for (number, placed) in self.modules.iter().enumerate() {
            let (name, fallible) = &placed.entry;
            let call = format!("{name}(cx, arguments, results)");
            let body = if *fallible {
                format!("return {call};")
            } else {
                format!("{call};\n  return false;")
            };
            let layouts = match self.host {
                RuntimeProvider::Own => format!("cx->layouts = df_programs[{number}].layouts;\n  "),
                RuntimeProvider::Process => String::new(),
            };
            let _ = write!(
                out,
                "static bool df_enter_{number}(df_context *cx, char *arguments, char *results) {{\n  \
                 {layouts}{body}\n}}\n\n"
            );
        }
        out += face;
        CText { text: out, raises: self.raises, sites: self.sites, largest: self.largest }
    }

    fn tables(&self, out: &mut String) {
        // Writing to a string does not fail.
        let mut flags = vec![0u8];
        let mut layouts = String::new();
        let mut programs = String::new();
        for (number, placed) in self.modules.iter().enumerate() {
            let _ = writeln!(layouts, "static const df_layout df_layouts_{number}[] = {{");
            for layout in &placed.layouts {
                let (kind, words): (_, &[bool]) = match layout {
                    Layout::Plain => ("DF_PLAIN", &[]),
                    Layout::Text => ("DF_TEXT", &[]),
                    Layout::References => ("DF_REFERENCES", &[]),
                    Layout::Fields(words) => ("DF_FIELDS", words),
                    Layout::Stack(words) => ("DF_STACK", words),
                };
                let first = flags.len();
                flags.extend(words.iter().map(|flag| u8::from(*flag)));
                let _ = writeln!(layouts, "    {{{kind}, {}, df_flags + {first}}},", words.len());
            }
            layouts += "};\n";
            let references = flags.len();
            flags.extend(placed.constant_references.iter().map(|flag| u8::from(*flag)));
            let _ = writeln!(
                programs,
                "    {{df_layouts_{number}, {}, {}, df_flags + {references}}},",
                placed.first_constant,
                placed.constant_references.len()
            );
        }
        let _ = write!(
            out,
            "\n/* The tables of the program. */\n\n#define DF_CONSTANT_WORDS {}\n#define DF_PROGRAMS {}\n",
            self.constant_words,
            self.modules.len()
        );
        out.push_str("static const unsigned char df_flags[] = {");
        for (i, flag) in flags.iter().enumerate() {
            out.push_str(if i % 40 == 0 { "\n    " } else { "" });
            let _ = write!(out, "{flag},");
        }
        out.push_str("};\n");
        out.push_str(&layouts);
        let _ = writeln!(out, "static const df_program df_programs[] = {{\n{programs}}};");
        for (i, text) in self.text_table.iter().enumerate() {
            let bytes = text.len();
            let _ = writeln!(
                out,
                "static const struct {{ df_array head; char data[{}]; }} df_text_{i} = {{{{DF_STATIC, DF_TEXT, \
                 {bytes}, {bytes}}}, {}}};",
                bytes.max(1),
                string(text)
            );
        }
        for layout in &self.statics {
            let _ =
                writeln!(out, "DF_FN const df_block df_static_{layout} = {{DF_STATIC, {layout}}};");
        }
        let _ = writeln!(
            out,
            "static const df_raise_t df_raises[] = {{\n{}    {{DF_STOPPED, \"\"}}}};",
            self.raise_rows
        );
    }

    /// The names of the functions, as a table in C.
    pub fn function_names(&self) -> String {
        let mut out = "static const char *const df_functions[] = {\n".to_string();
        for placed in &self.modules {
            for name in &placed.names {
                let _ = writeln!(out, "    {},", string(name));
            }
        }
        out += "    \"\"};\n";
        out
    }

    /// The places that the functions refer to, by their numbers.
    pub fn sites(&self) -> &[(usize, SiteId)] {
        &self.sites
    }

    /// How many modules there are.
    pub fn modules(&self) -> usize {
        self.modules.len()
    }

    /// A comment of one line.
    pub fn comment(text: &str) -> String {
        format!("/* {} */\n", comment(text))
    }
}

/// The kind of an error in C, and the name that its message has.
fn kind_of(raise: &Raise, constants: &[Name]) -> (&'static str, String) {
    match raise {
        Raise::Int(op) => {
            let kind = match op {
                IntOp::Div | IntOp::Rem => "DF_DIVISION",
                IntOp::Pow => "DF_EXPONENT",
                IntOp::ShiftLeft | IntOp::ShiftRight => "DF_SHIFT",
                IntOp::Neg | IntOp::Abs | IntOp::Sign => "DF_OVERFLOW_UNARY",
                IntOp::Add | IntOp::Sub | IntOp::Mul => "DF_OVERFLOW_INFIX",
                IntOp::Min
                | IntOp::Max
                | IntOp::BitAnd
                | IntOp::BitOr
                | IntOp::BitXor
                | IntOp::WrappingAdd
                | IntOp::WrappingMul => "DF_OVERFLOW_CALL",
            };
            (kind, int::name(*op).to_string())
        }
        Raise::Round(rounding) => {
            let name = match rounding {
                Rounding::Floor => "floor",
                Rounding::Ceil => "ceil",
                Rounding::Round => "round",
                Rounding::Trunc => "trunc",
            };
            ("DF_ROUND", name.to_string())
        }
        Raise::Index => ("DF_INDEX", String::new()),
        Raise::Slice => ("DF_SLICE", String::new()),
        Raise::Count => ("DF_COUNT", String::new()),
        Raise::Size(what) => ("DF_SIZE", what.to_string()),
        Raise::Rows => ("DF_ROWS", String::new()),
        Raise::Fail => ("DF_FAIL", String::new()),
        Raise::Shape(what) => ("DF_SHAPE", what.to_string()),
        Raise::Nan => ("DF_NAN", String::new()),
        Raise::Order => ("DF_ORDER", String::new()),
        Raise::Cycle(constant) => {
            ("DF_CYCLE", constants.get(*constant as usize).map_or(String::new(), Name::to_string))
        }
        Raise::Memory => ("DF_MEMORY", String::new()),
        Raise::Stopped => ("DF_STOPPED", String::new()),
    }
}
