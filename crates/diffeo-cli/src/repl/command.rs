//! The commands of a session: what begins with a colon.

use super::{Next, Repl};
use crate::printable::printable;
use crate::{print, Stop};
use diffeo_base::{closest, Diagnostic, Span};
use diffeo_ide::docs;
use diffeo_syntax::ast::{ExprKind, Item};
use std::time::Instant;

/// The commands: name, what follows it, what it does.
pub const COMMANDS: [(&str, &str, &str); 9] = [
    ("type", "EXPR", "the type of an expression, which is not evaluated"),
    (
        "doc",
        "[WORDS]",
        "what a function of the library, or of the session, does; or what words lead to",
    ),
    ("grad", "F at X", "value and gradient of a function at a point; also F(X)"),
    ("time", "EXPR", "the value, and how long it took"),
    ("data", "NAME = FILE", "names what a file holds, as `run --arg`; also NAME: TYPE = FILE"),
    (
        "look",
        "EXPR",
        "a table: types, missing cells and five numbers of each column, the first rows",
    ),
    ("load", "FILE", "adds the definitions of a program, read anew"),
    ("help", "", "this list"),
    ("quit", "", "ends the session; Ctrl-D, too"),
];

impl Repl {
    pub(super) fn command(&mut self, text: &str) -> Result<Next, Stop> {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        // The beginning of a name will do.
        let named =
            COMMANDS.iter().find(|(known, _, _)| !name.is_empty() && known.starts_with(name));
        let Some((name, needs, _)) = named else {
            let d = Diagnostic::error("command", Span::NONE, format!("there is no `:{name}`"));
            let near = closest(name, COMMANDS.iter().map(|(known, _, _)| *known));
            return self.refuse(d.help(match near {
                Some(near) => format!("did you mean `:{near}`? `:help` lists the commands"),
                None => "`:help` lists the commands".to_string(),
            }));
        };
        if rest.is_empty() && !needs.is_empty() && !needs.starts_with('[') {
            let d = Diagnostic::error("command", Span::NONE, format!("`:{name}` needs {needs}"));
            return self.refuse(d.help(format!("write `:{name} {needs}`")));
        }
        match *name {
            "quit" => return Ok(Next::Ends),
            "help" => print::text(&help())?,
            "doc" => return self.guarded(|repl| repl.doc(rest)),
            "load" => return self.guarded(|repl| repl.load(rest.trim_matches('"'))),
            "data" => return self.guarded(|repl| repl.data(rest)),
            "look" => return self.guarded(|repl| repl.look(rest)),
            "type" => return self.guarded(|repl| repl.type_of(rest)),
            "time" => return self.guarded(|repl| repl.time(rest)),
            _ => return self.guarded(|repl| repl.grad(rest)),
        }
        Ok(Next::Goes)
    }

    fn refuse(&mut self, d: Diagnostic) -> Result<Next, Stop> {
        self.guarded(|repl| {
            repl.shell.report(&[d]);
            Err(Stop::Refused)
        })
    }

    fn type_of(&mut self, text: &str) -> Result<(), Stop> {
        let module = self.checked(text)?;
        let ty = self.shell.session.type_of(module, "it").unwrap_or_default();
        // It was only looked at: `it` stays what it was.
        print::text(&printable(&ty))
    }

    fn time(&mut self, text: &str) -> Result<(), Stop> {
        let start = Instant::now();
        let module = self.checked(text)?;
        let checked = start.elapsed();
        let shown = self.value(module)?;
        let all = start.elapsed();
        self.context = Some(module);
        let engine = self.shell.account.engine.take().map_or("", |engine| engine.name());
        let by = if engine.is_empty() { String::new() } else { format!(", engine {engine}") };
        print::text(&shown)?;
        print::text(&format!(
            "{:.6} s: {:.6} to check, {:.6} to compile and run{by}",
            all.as_secs_f64(),
            checked.as_secs_f64(),
            (all - checked).as_secs_f64()
        ))
    }

    /// `F at X`, or an application.
    fn grad(&mut self, text: &str) -> Result<(), Stop> {
        let parts = match text.rsplit_once(" at ") {
            Some((f, x)) => Some((f.trim().to_string(), x.trim().to_string())),
            None => application(text),
        };
        let Some((f, x)) = parts else {
            let d =
                Diagnostic::error("command", Span::NONE, "`:grad` needs a function and a point");
            let d = d.help("write `:grad f at 2.0`, or `:grad f(2.0)`");
            self.shell.report(&[d]);
            return Err(Stop::Refused);
        };
        let module = self.checked(&format!("value_and_grad({f})({x})"))?;
        let entry = self.shell.entry(module, "it")?;
        let (entry, pair) = self.evaluate(entry)?;
        let ty = crate::commands::result_type(&entry);
        let (diffeo_calculus::Ty::Tuple(types), [value, gradient]) = (ty, pair.fields()) else {
            return Err(Stop::Refused);
        };
        let datas = &entry.program.datas;
        let shown = |value, ty| diffeo_calculus::show::show(value, ty, datas);
        print::text(&format!("value     {}", shown(value, &types[0])))?;
        print::text(&format!("gradient  {}", shown(gradient, &types[1])))
    }

    fn doc(&mut self, name: &str) -> Result<(), Stop> {
        if let Some(module) = self.context {
            let end = usize::MAX;
            let names = self.shell.session.names_at(module, end);
            let own = names.into_iter().find(|symbol| symbol.name == name);
            let library = docs::named(&mut self.shell.session, name);
            let is_library = own.as_ref().is_some_and(|own| {
                library.iter().any(|entry| own.doc.as_deref() == Some(&entry.comment()))
            });
            if let (Some(symbol), false) = (own, is_library) {
                let ty = symbol.ty.map_or(String::new(), |ty| format!(" : {ty}"));
                let lines = symbol.doc.unwrap_or_default();
                let lines = lines.lines().map(|line| format!("\n  {}", line.trim()));
                let text = format!("{}{ty}{}", symbol.name, lines.collect::<String>());
                return print::text(&printable(&text));
            }
        }
        match docs::answer(&mut self.shell.session, name) {
            Ok(answer) => print::text(&answer.text),
            Err(d) => {
                self.shell.report(&[*d]);
                Err(Stop::Refused)
            }
        }
    }
}

/// The function and the argument of an application.
fn application(text: &str) -> Option<(String, String)> {
    let (ast, _) = diffeo_syntax::parse_expression(diffeo_base::FileId(0), text);
    let Some(Item::Def(def)) = ast.items.first() else { return None };
    let ExprKind::Apply { fun, arg } = &ast.exprs[def.body].kind else { return None };
    let part = |span: Span| text.get(span.start as usize..span.end as usize).map(str::to_string);
    let argument = part(ast.exprs[*arg].span)?;
    Some((part(ast.exprs[*fun].span)?, argument))
}

fn help() -> String {
    let mut out = "An expression is evaluated; `def`, `let`, `type` and `import` define names.\n\
                   `it` is the last expression. Modules need no import: linalg.solve(a, b).\n\n"
        .to_string();
    for (name, needs, what) in COMMANDS {
        out += &format!("  {:18} {what}\n", format!(":{name} {needs}"));
    }
    out
}
