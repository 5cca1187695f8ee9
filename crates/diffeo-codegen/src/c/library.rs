//! Functions of a program as a library for C: the text of its header and its source.
//!
//! What always holds: the source needs nothing but the C library; only the names of the header are exported;
//! a call uses no memory but that of its context and its results.

use super::compiler::{COptions, Compiler, Error};
use super::interface::{Interface, Unfit};
use super::literal::{comment, string};
use super::names::{unique, OTHERS, RESERVED, TAKEN};
use super::tool::TempFolder;
use super::unit::{CText, RuntimeProvider, Unit};
use crate::engine::stack_margin;
use crate::low::LowModule;
use diffeo_array::ir::{Elem, FlatTy, Site};
use diffeo_array::typing::param_types;
use diffeo_base::SourceMap;
use diffeo_calculus::eval::leftovers::{self, Leftover};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A function of a library.
pub struct Export {
    /// Its name in the program.
    pub name: String,
    /// What it is, for people: lines.
    pub about: Vec<String>,
    /// The program that it is the entry of.
    pub module: Arc<LowModule>,
    /// The parameters of the entry.
    pub params: Vec<ValueNames>,
    /// Its results.
    pub results: Vec<ValueNames>,
}

/// A parameter or a result.
#[derive(Clone, Debug)]
pub struct ValueNames {
    /// The name of the parameter or result, and of the fields on the way to the value.
    pub path: Vec<String>,
    /// If it is an array: how many of its sizes, from the first on, are those of the value before.
    pub shared: usize,
    /// If it is an array: what the program calls its sizes; empty texts where it says nothing.
    pub sizes: Vec<String>,
}

impl ValueNames {
    /// The name for C, unless it is taken.
    fn name(&self) -> String {
        self.path.join("_")
    }
}

/// The files of a library.
pub struct CLibrary {
    /// The header.
    pub header: String,
    /// The source.
    pub source: CText,
    /// What ends the name of the source of each interface, and that source.
    pub interfaces: Vec<(&'static str, String)>,
    /// What pkg-config is told.
    pub package: String,
}

/// Why a function cannot be called from C.
#[derive(Debug)]
pub enum Refused {
    /// The name of the library is no identifier of C.
    Name(String),
    /// The system has a library or a header of this name, or the runtime has it.
    Taken(String),
    /// A value of this type cannot be given or taken.
    Type {
        /// The number of the function.
        number: usize,
        /// The function.
        function: String,
        /// The parameter or the result.
        value: String,
        /// What it is.
        what: &'static str,
    },
    /// An interface does not have what is asked for.
    Interface(Unfit),
}

impl Refused {
    /// The number of the function that it is about.
    pub fn function(&self) -> Option<usize> {
        match self {
            Refused::Name(_) | Refused::Taken(_) => None,
            Refused::Type { number, .. } | Refused::Interface(Unfit { number, .. }) => {
                Some(*number)
            }
        }
    }

    /// True of a refusal of the function's result, which messages then point at.
    pub fn in_result(&self) -> bool {
        matches!(self, Refused::Interface(Unfit { in_result: true, .. }))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Name(name) => write!(
                f,
                "`{name}` cannot be the name of a library in C: it takes letters, digits and `_`, and begins with \
                 a letter"
            ),
            Refused::Taken(name) => write!(
                f,
                "`{name}` cannot be the name of a library in C: compilers would find it in the place of one of \
                 their own; choose another one with `--name`"
            ),
            Refused::Interface(Unfit { why, .. }) => f.write_str(why),
            Refused::Type { function, value, what, .. } => write!(
                f,
                "`{function}` cannot be called from C: `{value}` is {what}; numbers, truth values, texts, arrays and \
                 lists of these, records and tuples can be"
            ),
        }
    }
}

impl std::error::Error for Refused {}

/// What crosses the border.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crossing {
    Scalar(Elem),
    Text,
    Array(Elem, u8),
}

/// A parameter or a result, in C.
pub(super) struct CValue {
    pub name: String,
    /// How the program gets to it from its arguments or its result.
    pub path: Vec<String>,
    shared: usize,
    pub crossing: Crossing,
    /// What the program calls its sizes.
    pub sizes: Vec<String>,
}

impl CValue {
    /// Its name with its sizes, for people: `xs[n][3]`. Where the program has no name for a size, `shape` has it.
    fn about(&self, shape: &str) -> String {
        let mut text = self.name.clone();
        if let Crossing::Array(_, rank) = self.crossing {
            for i in 0..usize::from(rank) {
                let _ = match self.sizes.get(i).filter(|size| !size.is_empty()) {
                    Some(size) => write!(text, "[{size}]"),
                    None => write!(text, "[{}{shape}[{i}]]", self.name),
                };
            }
        }
        text
    }
}

/// A function of the library, in C.
pub(super) struct Exported {
    /// Its name in C.
    pub name: String,
    /// Its name in the program.
    pub of: String,
    pub params: Vec<CValue>,
    pub results: Vec<CValue>,
}

/// The library with this name, of these functions.
///
/// # Errors
/// A function has a type that C does not have, or the name is none of C.
pub fn library(
    name: &str,
    exports: &[Export],
    interfaces: &[Interface],
    files: &SourceMap,
) -> Result<CLibrary, Refused> {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Refused::Name(name.to_string()));
    }
    if OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name)) {
        return Err(Refused::Taken(name.to_string()));
    }
    let mut unit = Unit::new(RuntimeProvider::Own);
    let mut margin = 0;
    let mut functions = String::new();
    let mut declarations = String::new();
    let mut array_types = BTreeSet::new();
    let mut taken: HashSet<String> = RESERVED.iter().map(|n| (*n).to_string()).collect();
    let mut exported = Vec::new();
    for (place, export) in exports.iter().enumerate() {
        let number = unit.add(&export.module);
        let frames: Vec<usize> =
            export.module.functions.iter().map(|f| 4096 + 64 * f.registers.len()).collect();
        margin = margin.max(stack_margin(&export.module, &frames));
        let (params, results) = leaves(place, export)?;
        for leaf in &results {
            if let Crossing::Array(elem, rank) = leaf.crossing {
                array_types.insert((c_type(elem).0, rank));
            }
        }
        let function = format!("{name}_{}", unique(&export.name, &mut taken));
        let head = signature(name, &function, &params, &results);
        // Writing to a string does not fail.
        let _ = write!(declarations, "{}{head};\n\n", about(export, &params, &results));
        functions += &body(&head, number, &params, &results);
        exported.push(Exported { name: function, of: export.name.clone(), params, results });
    }
    let header = header(name, &array_types, &declarations);
    let has_texts = array_types.iter().any(|(ty, _)| *ty == TEXT);
    let give = if has_texts { include_str!("runtime/texts.c") } else { "" };
    let types = types(name, &array_types) + &give.replace("NAME", name);
    let face = face(name, &unit, exports, files, margin) + &types + &functions;
    let face = face + "#if defined(__GNUC__)\n#pragma GCC visibility pop\n#endif\n";
    let interfaces = interfaces.iter().map(|i| Ok((i.ending(), i.source(name, &exported)?)));
    let interfaces = interfaces.collect::<Result<_, Refused>>()?;
    let package = include_str!("runtime/package.pc").replace("NAME", name);
    Ok(CLibrary { header, source: unit.finish("", &face), interfaces, package })
}

/// What the header says of a function.
fn about(export: &Export, params: &[CValue], results: &[CValue]) -> String {
    let mut lines = export.about.clone();
    let list = |leaves: &[CValue], shape: &str| {
        leaves.iter().map(|leaf| leaf.about(shape)).collect::<Vec<_>>().join(", ")
    };
    let (takes, gives) = (list(params, "_shape"), list(results, "->shape"));
    lines.push(String::new());
    lines.push(format!("takes: {}", if takes.is_empty() { "nothing" } else { &takes }));
    lines.push(format!("gives: {gives}"));
    let lines: Vec<String> =
        lines.iter().map(|line| format!(" {}", comment(line)).trim_end().to_string()).collect();
    format!("/*{} */\n", lines.join("\n *"))
}

impl CLibrary {
    /// Writes the header and the source into a folder, and compiles them there, if that is wanted. Gives the
    /// files.
    ///
    /// # Errors
    /// A file cannot be written, or there is no compiler, or it fails.
    pub fn write(
        &self,
        name: &str,
        folder: &Path,
        compiler: Option<&Compiler>,
        options: &COptions,
    ) -> Result<Vec<PathBuf>, Error> {
        let made = CreatedFolders::folder(folder)?;
        // All files are made beside their places: others see them as a whole or not at all.
        let beside = TempFolder::within(folder)?;
        let mut files: Vec<String> = vec![format!("{name}.c"), format!("{name}.h")];
        let path = |file: &str| beside.path().join(file);
        files.push(format!("{name}.pc"));
        files.extend(self.interfaces.iter().map(|(ending, _)| format!("{name}_{ending}.c")));
        let texts = [&self.source.text, &self.header, &self.package].into_iter();
        for (file, text) in files.iter().zip(texts.chain(self.interfaces.iter().map(|(_, t)| t))) {
            let path = path(file);
            std::fs::write(&path, text).map_err(|e| Error::File(path, e))?;
        }
        if let Some(compiler) = compiler {
            let libraries = ["a", "so"].map(|ending| format!("lib{name}.{ending}"));
            let [archive, shared] = libraries.each_ref().map(|file| path(file));
            let others = TempFolder::temporary()?;
            let sources: Vec<PathBuf> =
                files.iter().filter(|f| f.ends_with(".c")).map(|file| path(file)).collect();
            compiler.libraries(&self.source, &sources, [&archive, &shared], &others, options)?;
            files.extend(libraries);
        }
        let place = |file: String| {
            let to = folder.join(&file);
            std::fs::rename(path(&file), &to).map_err(|e| Error::File(to.clone(), e))?;
            Ok(to)
        };
        let files = files.into_iter().map(place).collect::<Result<_, Error>>()?;
        made.keep();
        Ok(files)
    }
}

/// Folders that were made for a library, the innermost first.
struct CreatedFolders {
    folders: Vec<PathBuf>,
    _leftover: Leftover,
}

impl CreatedFolders {
    /// Makes a folder and those around it.
    fn folder(folder: &Path) -> Result<CreatedFolders, Error> {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let folders: Vec<PathBuf> =
            folder.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        let made = leftovers::make(
            || std::fs::create_dir_all(folder),
            |()| {
                let folders = folders.clone();
                Box::new(move || remove_empty(&folders))
            },
        );
        let ((), _leftover) = made.map_err(|e| Error::File(folder.to_path_buf(), e))?;
        Ok(CreatedFolders { folders, _leftover })
    }

    /// There is something in them.
    fn keep(mut self) {
        self.folders.clear();
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        remove_empty(&self.folders);
    }
}

/// Removes folders in which there is nothing; the others stay.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

/// The parameters and results of a function.
fn leaves(number: usize, export: &Export) -> Result<(Vec<CValue>, Vec<CValue>), Refused> {
    let flat = &export.module.flat;
    let entry = flat.functions.get(flat.entry.0 as usize);
    let (params, results) =
        entry.map_or((Vec::new(), Vec::new()), |e| (param_types(e), e.results.clone()));
    let mut taken: HashSet<String> = TAKEN.iter().map(|n| (*n).to_string()).collect();
    taken.extend(["context", "cx", "arguments", "results"].map(str::to_string));
    let mut all = |types: Vec<FlatTy>, values: &[ValueNames], other: &str| {
        let leaf = |(i, ty): (usize, FlatTy)| {
            let value = values.get(i).cloned().unwrap_or_else(|| ValueNames {
                path: vec![format!("{other}{i}")],
                shared: 0,
                sizes: Vec::new(),
            });
            let name = value.name();
            let crossing = crossing(&ty).map_err(|what| Refused::Type {
                number,
                function: export.name.clone(),
                value: name.clone(),
                what,
            })?;
            let name = unique(&name, &mut taken);
            if let Crossing::Array(..) = crossing {
                taken.insert(format!("{name}_shape"));
            }
            let ValueNames { path, shared, sizes } = value;
            Ok(CValue { name, path, shared, crossing, sizes })
        };
        types.into_iter().enumerate().map(leaf).collect::<Result<Vec<CValue>, Refused>>()
    };
    Ok((all(params, &export.params, "p")?, all(results, &export.results, "result")?))
}

fn crossing(ty: &FlatTy) -> Result<Crossing, &'static str> {
    match ty {
        FlatTy::Real => Ok(Crossing::Scalar(Elem::Real)),
        FlatTy::Int => Ok(Crossing::Scalar(Elem::Int)),
        FlatTy::Bool => Ok(Crossing::Scalar(Elem::Bool)),
        FlatTy::Text => Ok(Crossing::Text),
        FlatTy::Array(elem @ (Elem::Real | Elem::Int | Elem::Bool | Elem::Text), rank) => {
            Ok(Crossing::Array(*elem, *rank))
        }
        FlatTy::Array(Elem::Box(_), _) => {
            Err("an array of data, of functions, or of more than 32 values at once")
        }
        FlatTy::Box(_) => Err("recursive data, a function, or more than 32 values at once"),
        FlatTy::Acc(_) | FlatTy::Stack(_) => Err("something that only derivatives have"),
    }
}

/// The type of a text of an argument.
const TEXT: &str = "char *const";

/// The type of C, the field of a word, the name in the names of types, the size in bytes.
pub(super) fn c_type(elem: Elem) -> (&'static str, &'static str, &'static str, usize) {
    match elem {
        Elem::Text => (TEXT, "p", "texts", 8),
        Elem::Real => ("double", "x", "reals", 8),
        Elem::Bool => ("bool", "b", "bools", 1),
        // Boxes do not cross.
        Elem::Int | Elem::Box(_) => ("int64_t", "i", "ints", 8),
    }
}

pub(super) fn array_type(name: &str, ty: &str, rank: u8) -> String {
    let elements = match ty {
        "double" => "reals",
        "bool" => "bools",
        TEXT => "texts",
        _ => "ints",
    };
    format!("{name}_{elements}_{rank}")
}

fn signature(library: &str, function: &str, params: &[CValue], results: &[CValue]) -> String {
    let mut text = format!("int32_t {function}({library}_context *context");
    for CValue { name, crossing, .. } in params {
        let _ = match crossing {
            Crossing::Scalar(elem) => write!(text, ", {} {name}", c_type(*elem).0),
            Crossing::Text => write!(text, ", const char *{name}"),
            Crossing::Array(elem, rank) => {
                write!(
                    text,
                    ", const {} *{name}, const int64_t {name}_shape[{rank}]",
                    c_type(*elem).0
                )
            }
        };
    }
    for CValue { name, crossing, .. } in results {
        let _ = match crossing {
            Crossing::Scalar(elem) => write!(text, ", {} *{name}", c_type(*elem).0),
            Crossing::Text => write!(text, ", {library}_text *{name}"),
            Crossing::Array(elem, rank) => {
                write!(text, ", {} *{name}", array_type(library, c_type(*elem).0, *rank))
            }
        };
    }
    text.push(')');
    text
}

/// How many words a value takes.
fn words(crossing: Crossing) -> usize {
    match crossing {
        Crossing::Scalar(_) | Crossing::Text => 1,
        Crossing::Array(_, rank) => 2 + usize::from(rank),
    }
}

fn body(head: &str, number: usize, params: &[CValue], results: &[CValue]) -> String {
    let count = |leaves: &[CValue]| leaves.iter().map(|l| words(l.crossing)).sum::<usize>();
    let mut text = format!("{head} {{\n  df_context *cx = (df_context *)context;\n");
    let _ = writeln!(
        text,
        "  df_word arguments[{}], results[{}];",
        count(params) + 1,
        count(results) + 1
    );
    text += "  memset(results, 0, sizeof results);\n  df_begin(cx);\n";
    let mut previous = "NULL".to_string();
    for CValue { name, shared, crossing, .. } in params {
        if let Crossing::Array(elem, rank) = crossing {
            let shape = format!("{name}_shape");
            let other = if *shared > 0 { previous } else { "NULL".to_string() };
            let _ = writeln!(
                text,
                "  if (df_refuses(cx, \"{name}\", {shape}, {rank}, {other}, {shared})) return 10;"
            );
            if *elem == Elem::Text {
                let _ = writeln!(
                    text,
                    "  if (df_refuses_texts(cx, \"{name}\", {name}, {shape}, {rank})) return 20;"
                );
            }
            previous = shape;
        } else if let Crossing::Text = crossing {
            let _ = writeln!(text, "  if (df_refuses_text(cx, \"{name}\", {name})) return 20;");
        }
    }
    let mut at = 0;
    let mut texts = Vec::new();
    for CValue { name, crossing, .. } in params {
        let _ = match crossing {
            Crossing::Scalar(elem) => {
                writeln!(text, "  arguments[{at}].{} = {name};", c_type(*elem).1)
            }
            Crossing::Text => {
                texts.push(at);
                writeln!(
                    text,
                    "  arguments[{at}].p = df_take_text(cx, {name});\n  if (!arguments[{at}].p) return \
                     df_no_memory(cx);"
                )
            }
            Crossing::Array(elem, rank) => {
                let _ = match elem {
                    Elem::Text => {
                        texts.push(at);
                        writeln!(
                            text,
                            "  arguments[{at}].p = df_take_texts(cx, {name}, {name}_shape, {rank});\n  if \
                             (!arguments[{at}].p) return df_no_memory(cx);\n  arguments[{}].p = \
                             arguments[{at}].p + 32;",
                            at + 1
                        )
                    }
                    Elem::Real | Elem::Int | Elem::Bool | Elem::Box(_) => writeln!(
                        text,
                        "  arguments[{at}].p = NULL;\n  arguments[{}].p = (char *)(intptr_t){name};",
                        at + 1
                    ),
                };
                (0..usize::from(*rank)).try_for_each(|i| {
                    writeln!(text, "  arguments[{}].i = {name}_shape[{i}];", at + 2 + i)
                })
            }
        };
        at += words(*crossing);
    }
    let _ = writeln!(
        text,
        "  if (df_enter_{number}(cx, (char *)arguments, (char *)results)) return df_end(cx);"
    );
    for at in texts {
        let _ = writeln!(text, "  df_release(cx, arguments[{at}].p);");
    }
    let mut at = 0;
    let mut given = "true".to_string();
    let mut released = String::new();
    let mut taken_back = String::new();
    for CValue { name, crossing, .. } in results {
        match crossing {
            Crossing::Scalar(elem) => {
                let _ =
                    writeln!(text, "  if ({name}) *{name} = results[{at}].{};", c_type(*elem).1);
            }
            Crossing::Text => {
                given += &format!(
                    " &&\n      (!{name} || df_give_text(results[{at}].p, &{name}->data, &{name}->length))"
                );
            }
            Crossing::Array(Elem::Text, rank) => {
                given += &format!(
                    " &&\n      (!{name} || df_give_texts(results + {at}, {rank}, &{name}->data, {name}->shape))"
                );
            }
            Crossing::Array(elem, rank) => {
                given += &format!(
                    " &&\n      (!{name} || df_give_array(results + {at}, {rank}, {}, (void **)&{name}->data, \
                     {name}->shape))",
                    c_type(*elem).3
                );
            }
        }
        if !matches!(crossing, Crossing::Scalar(_)) {
            let _ = writeln!(text, "  if ({name}) {name}->data = NULL;");
            let _ = writeln!(released, "  df_release(cx, results[{at}].p);");
            let _ = writeln!(
                taken_back,
                "    if ({name}) {{\n      free({name}->data);\n      {name}->data = NULL;\n    }}"
            );
        }
        at += words(*crossing);
    }
    if !released.is_empty() {
        let _ = writeln!(text, "  bool given = {given};");
        text += &released;
        let _ = writeln!(text, "  if (!given) {{\n{taken_back}    return df_no_memory(cx);\n  }}");
    }
    text += "  return 0;\n}\n\n";
    text
}

/// The types of results that are arrays.
fn types(name: &str, arrays: &BTreeSet<(&'static str, u8)>) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "/* A text: UTF-8, with a byte 0 behind it. */\ntypedef struct {name}_text {{\n  char *data;\n  int64_t \
         length;\n}} {name}_text;\n\n"
    );
    for (ty, rank) in arrays {
        let array = array_type(name, ty, *rank);
        let (what, ty) = match *ty {
            TEXT => (
                "An array of texts, row after row, which are freed with it",
                format!("{name}_text"),
            ),
            ty => ("An array, row after row", ty.to_string()),
        };
        let _ = write!(
            text,
            "/* {what}. */\ntypedef struct {array} {{\n  {ty} *data;\n  int64_t \
             shape[{rank}];\n}} {array};\n\n"
        );
    }
    text
}

fn header(name: &str, arrays: &BTreeSet<(&'static str, u8)>, declarations: &str) -> String {
    let guard = format!("{}_H", name.to_ascii_uppercase());
    let upper = name.to_ascii_uppercase();
    let mut text = format!("#ifndef {guard}\n#define {guard}\n\n");
    text += &include_str!("runtime/about.h").replace("NAME", name);
    text += "\n#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    text += &types(name, arrays);
    let _ = writeln!(text, "enum {name}_status {{\n  {upper}_OK = 0,");
    for (i, code) in CODES.iter().enumerate() {
        let _ = writeln!(
            text,
            "  {upper}_{} = {},",
            code.to_ascii_uppercase().replace('-', "_"),
            i + 1
        );
    }
    text += "};\n\n";
    text += &include_str!("runtime/common.h").replace("NAME", name);
    text.push('\n');
    text += declarations;
    text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    text
}

/// The codes of errors, by status from 1 on.
pub const CODES: [&str; 20] = [
    "overflow",
    "division-by-zero",
    "negative-exponent",
    "shift-out-of-range",
    "not-an-int",
    "index-out-of-bounds",
    "slice-out-of-bounds",
    "negative-count",
    "too-large",
    "size-mismatch",
    "irregular-rows",
    "fail",
    "shape-mismatch",
    "constant-cycle",
    "too-deep",
    "interrupted",
    "out-of-memory",
    "nan-derivative",
    "derivative-order",
    "invalid-text",
];

/// What stands behind the functions of the program: places, messages, and what all libraries export.
fn face(name: &str, unit: &Unit, exports: &[Export], files: &SourceMap, margin: usize) -> String {
    let mut text = String::new();
    let mut numbers = HashMap::new();
    let mut names = Vec::new();
    let mut places = String::new();
    for (module, site) in unit.sites() {
        let flat = &exports[*module].module.flat;
        let mut at = flat.sites.get(site.0 as usize);
        // The first place on the way out that is not of the library.
        while let Some(Site { span, inlined: Some(inlined) }) = at {
            if !span.is_none() && !flat.library.contains(&span.file) {
                break;
            }
            at = flat.sites.get(inlined.at.0 as usize);
        }
        let span = at.map(|site| site.span);
        let span = span.filter(|span| !span.is_none() && !flat.library.contains(&span.file));
        let _ = match span {
            Some(span) => {
                let file = *numbers.entry(span.file).or_insert_with(|| {
                    names.push(files.name(span.file).to_string());
                    names.len() - 1
                });
                let at = files.line_column(span);
                writeln!(places, "    {{{file}, {}, {}}},", at.line, at.column)
            }
            None => writeln!(places, "    {{0, 0, 0}},"),
        };
    }
    let _ = write!(
        text,
        "#define DF_MARGIN {margin}\n\ntypedef struct df_place {{\n  int32_t file; /* an index into df_files \
         */\n  int32_t line; /* 0: within the standard library */\n  int32_t column; /* in characters, from 1 \
         */\n}} df_place;\n\nstatic const char *const df_files[] = {{"
    );
    for file in &names {
        let _ = write!(text, "{}, ", string(file));
    }
    let _ = write!(
        text,
        "\"\"}};\nstatic const df_place df_places[] = {{\n{places}    {{0, 0, 0}}}};\n{}\n",
        unit.function_names()
    );
    text += "/* The codes of errors, by status. */\nstatic const char *const df_codes[] = {\"\"";
    CODES.iter().for_each(|code| text += &format!(", \"{code}\""));
    text += "};\n\n";
    text += include_str!("runtime/messages.c");
    text.push('\n');
    text += include_str!("runtime/library.c");
    text.push('\n');
    text += &include_str!("runtime/exports.c").replace("NAME", name);
    text.push('\n');
    text
}
