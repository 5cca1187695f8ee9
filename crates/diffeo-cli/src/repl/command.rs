//! The commands of a session: what begins with a colon.

use super::{Next, Repl};
use crate::printable::printable;
use crate::{print, Stop};
use diffeo::console::{self, Command, Console};
use diffeo_ide::docs;
use std::time::Instant;

impl Repl {
    pub(super) fn command(&mut self, text: &str) -> Result<Next, Stop> {
        let (command, rest) = match Command::of(text, |_| true) {
            Ok(found) => found,
            Err(d) => return self.guarded(|repl| Err(repl.refuse(*d).into())),
        };
        match command.name {
            "quit" => Ok(Next::Ends),
            "help" => {
                let intro =
                    "An expression is evaluated; `def`, `let`, `type` and `import` define names.\n\
                    `it` is the last expression. Modules need no import: linalg.solve(a, b).";
                print::text(&format!("{intro}\n\n{}", console::help(|_| true)))?;
                Ok(Next::Goes)
            }
            "doc" => self.guarded(|repl| repl.doc(rest)),
            "load" => self.guarded(|repl| repl.load(rest.trim_matches('"'))),
            "data" => self.guarded(|repl| {
                let given = repl.data(rest)?;
                repl.defined(given.module)
            }),
            "look" => self.guarded(|repl| print::text(&printable(&repl.look(rest)?))),
            // The value is only looked at: `it` stays what it was.
            "type" => self.guarded(|repl| print::text(&printable(&repl.type_of(rest)?))),
            "time" => self.guarded(|repl| repl.time(rest)),
            _ => self.guarded(|repl| print::text(&repl.gradient(rest)?)),
        }
    }

    /// The arguments of the command line. The type of one that `main` of the program takes is the one that it has there.
    pub(super) fn arguments(&mut self, args: &[(String, String)]) -> Result<(), Stop> {
        for (name, value) in args {
            let ty = self.parameter(name);
            let given = console::given(self, name, ty, value)?;
            self.defined(given.module)?;
        }
        Ok(())
    }

    /// The type of a parameter of `main`, if there is one.
    fn parameter(&mut self, name: &str) -> Option<String> {
        let context = self.context?;
        let names = self.shell.session.names_at(context, usize::MAX);
        names.iter().find(|symbol| &*symbol.name == "main")?;
        let entry = self.shell.session.callable(context, "main");
        _ = self.shell.session.take_diagnostics();
        let entry = entry?;
        let mut fields = entry.interface.fields.iter();
        fields.find(|(field, _)| *field == *name).map(|(_, ty)| ty.clone())
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
