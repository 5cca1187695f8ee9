//! The library as far as a program reaches it: as if all of it were checked.

use diffeo_front::{library, Session};

#[test]
fn definitions_that_are_reached_have_the_types_of_the_whole() {
    let fresh = Session::new();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (module, _) in library::MODULES.iter().filter(|(module, _)| *module != "prelude") {
        let mut whole = fresh.clone();
        let id = whole.library_module(module).expect("a module of the library");
        whole.check();
        // A fifth of all.
        for name in whole.definitions(id).iter().step_by(5) {
            let mut session = fresh.clone();
            let found = session.load_text("p.deo", &format!("import {module} ({name})\n"));
            session.check();
            count += 1;
            let types = [whole.type_of(id, name), session.type_of(found, name)];
            if types[0].is_none() || types[0] != types[1] || session.has_errors() {
                wrong.push(format!("{module}.{name}: {types:?} {:?}", session.diagnostics()));
            }
        }
    }
    assert!(wrong.is_empty() && count > 100, "{count}: {}", wrong.join("\n"));
}

#[test]
fn definitions_that_are_not_reached_are_not_checked() {
    let texts = |name: &str| match name {
        "half" => Some("def good = 1\ndef bad = nothing"),
        name => library::source(name),
    };
    let errors = |text: &str, whole: bool| {
        let mut session = Session::with_library(texts);
        if whole {
            session.library_module("half");
        }
        session.load_text("p.deo", text);
        session.check();
        session.diagnostics().len()
    };
    let text = "import half\ndef main = half.good";
    assert_eq!([errors(text, false), errors(text, true)], [0, 1]);
    assert_eq!(errors("import half\ndef main = half.bad", false), 1);
}
