//! What the library and the language have: entries by name, by module, by words.
//!
//! What it says of the library comes from the texts that the program holds: what a module begins with, the doc comments;
//! of the language from a table, `docs/language.rs`; of words that others use from `docs/synonyms.rs`.

mod language;
mod search;
mod synonyms;

use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{closest, Diagnostic, Span};
use diffeo_front::query::SymbolKind;
use diffeo_front::{library, Session};
use language::form;
pub use language::{Form, FORMS};
pub use search::search;
use serde_json::{json, Value as Json};

/// The characters of a line for people.
const WIDTH: usize = 98;

/// The module name that entries of the language have.
const LANGUAGE: &str = "language";

/// A documented name.
pub struct DocEntry {
    /// Its module.
    module: String,
    name: String,
    kind: SymbolKind,
    /// The definition without its value.
    signature: String,
    /// The lines of its doc comment.
    lines: Vec<String>,
}

impl DocEntry {
    /// The name with that of its module, if it needs one.
    fn qualified(&self) -> String {
        match self.module.as_str() {
            "prelude" | LANGUAGE => self.name.clone(),
            module => format!("{module}.{}", self.name),
        }
    }

    /// Whether it needs no import.
    fn is_everywhere(&self) -> bool {
        ["prelude", LANGUAGE].contains(&self.module.as_str())
    }

    /// Its doc comment.
    pub fn comment(&self) -> String {
        self.lines.join("\n")
    }

    /// The first sentence.
    fn first(&self) -> String {
        let text = self.text().join(" ");
        let end = text.find(". ").map_or(text.len(), |at| at + 1);
        text[..end].to_string()
    }

    /// The lines before the examples.
    fn text(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(|line| line.trim());
        lines.take_while(|line| !line.starts_with("> ")).collect()
    }

    /// Expressions and their values.
    fn examples(&self) -> Vec<(String, String)> {
        examples(&self.lines).into_iter().map(|(_, e, value)| (e, value)).collect()
    }

    /// The definition without its value, with its module if it needs one.
    fn written(&self) -> String {
        match self.kind {
            SymbolKind::Type => self.signature.clone(),
            _ if self.is_everywhere() => self.signature.clone(),
            _ => format!("{}.{}", self.module, self.signature),
        }
    }

    /// The definition as it is to be written, and its first sentence.
    fn brief(&self, written: &str) -> String {
        let mut out = format!("\n{written}\n");
        for line in wrapped(&self.first(), WIDTH) {
            out += &format!("  {line}\n");
        }
        out
    }

    /// All that is known of it, for people.
    pub fn shown(&self) -> String {
        let mut out = format!("{}\n", self.written());
        for line in self.text() {
            out += &format!("  {line}\n");
        }
        for (e, value) in self.examples() {
            out += &format!("\n  > {e}\n  {value}\n");
        }
        if !self.is_everywhere() {
            out += &format!("\n  In a program: import {}\n", self.module);
        }
        out
    }

    /// The same as data.
    pub fn json(&self) -> Json {
        let examples = self.examples();
        let examples = examples.iter().map(|(e, v)| json!({ "expression": e, "value": v }));
        json!({
            "module": self.module,
            "name": self.name,
            "kind": match self.kind {
                _ if self.module == LANGUAGE => "form",
                SymbolKind::Function => "function",
                SymbolKind::Constant | SymbolKind::Variable => "constant",
                SymbolKind::Type => "type",
                SymbolKind::Constructor => "constructor",
                SymbolKind::Module => "module",
            },
            "signature": self.signature,
            "doc": self.text().join("\n"),
            "examples": examples.collect::<Vec<Json>>(),
        })
    }
}

/// The examples of a doc comment: the number of the line, the expression, its value.
pub fn examples(lines: &[String]) -> Vec<(usize, String, String)> {
    let examples = lines.iter().enumerate().filter_map(|(i, line)| {
        let e = line.trim().strip_prefix("> ")?.trim().to_string();
        Some((i, e, lines.get(i + 1).map_or(String::new(), |value| value.trim().to_string())))
    });
    examples.collect()
}

/// A text in lines of so many characters, as far as its words allow.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < width => {
                *line += &format!(" {word}")
            }
            Some(_) | None => lines.push(word.to_string()),
        }
    }
    lines
}

/// An entry of the language.
fn entry(form: &Form) -> DocEntry {
    let mut lines = wrapped(form.about, WIDTH);
    for (expression, value) in form.examples {
        lines.extend([format!("> {expression}"), value.to_string()]);
    }
    DocEntry {
        module: LANGUAGE.to_string(),
        name: form.names[0].to_string(),
        kind: SymbolKind::Function,
        signature: form.written.to_string(),
        lines,
    }
}

/// The documented names of a module of the library, or of the language.
pub fn entries(session: &mut Session, module: &str) -> Vec<DocEntry> {
    if module == LANGUAGE {
        return FORMS.iter().map(entry).collect();
    }
    let Some(id) = session.library_module(module) else { return Vec::new() };
    session.check();
    let symbols = session.symbols(id).into_iter().filter_map(|symbol| {
        let doc = symbol.doc?;
        let name = symbol.name.to_string();
        let signature = session.written(id, &name).unwrap_or_else(|| name.clone());
        let lines = doc.lines().map(str::to_string).collect();
        Some(DocEntry { module: module.to_string(), name, kind: symbol.kind, signature, lines })
    });
    symbols.collect()
}

/// What the text of a module begins with: its first sentence.
fn about(module: &str) -> String {
    if module == LANGUAGE {
        return "The words and signs of the language, which need no import.".to_string();
    }
    let text = library::source(module).unwrap_or_default();
    let lines = text.lines().map_while(|line| line.strip_prefix('#'));
    let text = lines.map(str::trim).collect::<Vec<&str>>().join(" ");
    let end = text.find(". ").map_or(text.trim_end().len(), |at| at + 1);
    text[..end].to_string()
}

/// The definitions of the prelude and of modules that have a name, given with its module or without.
pub fn named(session: &mut Session, name: &str) -> Vec<DocEntry> {
    let (module, last) = name.rsplit_once('.').map_or((None, name), |(m, n)| (Some(m), n));
    let modules = library::MODULES.iter().map(|(m, _)| *m);
    let modules = modules.filter(|m| module.is_none_or(|wanted| wanted == *m));
    let found = modules.flat_map(|m| entries(session, m)).filter(|entry| entry.name == last);
    form(name).map(entry).into_iter().chain(found).collect()
}

/// What to write instead of a name that others have.
fn foreign(name: &str) -> Option<&'static str> {
    let roles: &[Role] = match name.starts_with("plot.") {
        true => &[Role::Plot],
        false => &[
            Role::Value,
            Role::Plot,
            Role::Word,
            Role::Infix,
            Role::Item,
            Role::Sign,
            Role::Constructor,
            Role::Type,
            Role::Member,
        ],
    };
    let last = name.rsplit('.').next().unwrap_or(name);
    roles.iter().find_map(|role| replacement(*role, if *role == Role::Sign { name } else { last }))
}

/// What to say of a name that is not there.
fn unknown(session: &mut Session, name: &str) -> Diagnostic {
    let mut all: Vec<String> = library::MODULES.iter().map(|(m, _)| m.to_string()).collect();
    for (module, _) in library::MODULES {
        for entry in entries(session, module) {
            all.push(entry.qualified());
        }
    }
    let last = |full: &str| full.rsplit('.').next().unwrap_or(full).to_string();
    let wanted = last(name);
    if let Some(help) = foreign(name) {
        let message = format!("the library has nothing called `{name}`");
        return Diagnostic::error("unknown-name", Span::NONE, message).help(help);
    }
    let mut near: Vec<&String> = Vec::new();
    let words = FORMS.iter().flat_map(|form| form.names);
    all.extend(words.filter(|word| word.len() > 2).map(|word| word.to_string()));
    let lasts: Vec<String> = all.iter().map(|full| last(full)).collect();
    if let Some(hit) = closest(&wanted, lasts.iter().map(String::as_str)) {
        near.extend(all.iter().filter(|full| last(full) == hit));
    }
    if wanted.len() > 2 {
        let lower = wanted.to_lowercase();
        near.extend(all.iter().filter(|full| full.to_lowercase().contains(&lower)));
    }
    near.dedup();
    let message = format!("the library has nothing called `{name}`");
    let d = Diagnostic::error("unknown-name", Span::NONE, message);
    let some: Vec<String> = near.iter().take(5).map(|full| format!("`{full}`")).collect();
    match some.is_empty() {
        true => d.help("`diffeo doc` lists the modules, `diffeo doc MODULE` what is in one"),
        false => d.help(format!("did you mean {}?", some.join(", "))),
    }
}

/// The modules of the library, and the language.
fn modules_and_language() -> impl Iterator<Item = &'static str> {
    library::MODULES.iter().map(|(module, _)| *module).chain([LANGUAGE])
}

/// The list of modules.
fn modules() -> String {
    let width = library::MODULES.iter().map(|(m, _)| m.len()).max().unwrap_or(0);
    let mut out = String::new();
    for module in modules_and_language() {
        out += &format!("{module:width$}  {}\n", about(module));
    }
    out
}

/// A module: what it is for, its names, its documented definitions.
fn module(session: &mut Session, name: &str) -> String {
    let all = entries(session, name);
    let mut out = format!("{}\n\n", about(name));
    let mut line = String::new();
    for entry in &all {
        if line.chars().count() + entry.name.chars().count() > WIDTH {
            out += &format!("{}\n", line.trim_end());
            line.clear();
        }
        line += &format!("{}  ", entry.name);
    }
    out += &format!("{}\n", line.trim_end());
    for entry in &all {
        out += &entry.brief(&entry.signature);
    }
    out
}

/// What there is to say of words.
pub struct Answer {
    /// For people.
    pub text: String,
    /// For tools.
    pub data: Json,
}

/// The answer to a question: a module or a name, or words that are looked for; nothing asks for the modules.
///
/// # Errors
/// Nothing fits; the message says what is near.
pub fn answer(session: &mut Session, question: &str) -> Result<Answer, Box<Diagnostic>> {
    let question = question.trim();
    let data = |entries: &[DocEntry]| entries.iter().map(DocEntry::json).collect();
    if question.is_empty() {
        let all = modules_and_language().map(|m| json!({ "module": m, "about": about(m) }));
        return Ok(Answer { text: modules(), data: all.collect() });
    }
    if modules_and_language().any(|module| module == question) {
        let all = entries(session, question);
        return Ok(Answer { text: module(session, question), data: data(&all) });
    }
    let found = named(session, question);
    if !found.is_empty() {
        let shown: Vec<String> = found.iter().map(DocEntry::shown).collect();
        return Ok(Answer { text: shown.join("\n"), data: data(&found) });
    }
    let found = search(session, question);
    if found.is_empty() {
        return Err(Box::new(unknown(session, question)));
    }
    let mut text = match foreign(question) {
        Some(help) => format!("The library has nothing called `{question}`: {help}.\n"),
        None => String::new(),
    };
    for entry in &found {
        text += &entry.brief(&entry.written());
    }
    text += "\n`diffeo doc NAME` says more.\n";
    Ok(Answer { text: text.trim_start().to_string(), data: data(&found) })
}
