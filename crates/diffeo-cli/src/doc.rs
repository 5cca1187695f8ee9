//! `diffeo doc`: the modules of the library, what is in them, what a name means, and what words lead to.

use crate::args::DocArgs;
use crate::commands::{Setting, Shell};
use crate::{print, Stop};
use diffeo_ide::docs;

/// `diffeo doc`
pub fn doc(args: &DocArgs, setting: Setting) -> Result<(), Stop> {
    let mut shell = Shell::new(setting);
    match docs::answer(&mut shell.session, &args.words.join(" ")) {
        Ok(answer) if args.json => print::text(&answer.data.to_string()),
        Ok(answer) => print::text(&answer.text),
        Err(d) => {
            shell.report(&[*d]);
            Err(Stop::Refused)
        }
    }
}

#[cfg(test)]
mod tests {
    use diffeo::{Kinks, Session};
    use diffeo_calculus::show::show;
    use diffeo_ide::docs::FORMS;

    #[test]
    fn examples_of_the_language_have_their_values() {
        let fresh = Session::new();
        for (expression, wanted) in FORMS.iter().flat_map(|form| form.examples) {
            let mut session = fresh.clone();
            let it = session.expression(None, expression);
            let entry = it.and_then(|it| session.entry(it, "it"));
            let Some(entry) = entry else { panic!("{expression}: {:?}", session.diagnostics()) };
            let value = session.run(&entry, None, Kinks::Ignore).result;
            let value = value.unwrap_or_else(|e| panic!("{expression}: {}", e.message));
            assert_eq!(show(&value, &entry.ty, &entry.program.datas), *wanted, "{expression}");
        }
    }
}
