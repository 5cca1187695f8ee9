//! The book's page on the way of a gradient: what it shows of `diffeo show` is what that prints.
//!
//! A block `sh` with `diffeo show`, followed by `text`: each part of the text, up to a blank line, is a definition as the
//! command prints it. With `DIFFEO_PAGES=1` the page is written anew from what is printed.

use crate::common::Folder;
use std::path::PathBuf;

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/gradient.md")
}

/// The definitions that are printed: apart by blank lines, those of LLVM by their ends.
fn definitions(printed: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in printed.lines() {
        let last = all.last_mut().expect("one");
        match line {
            "" => all.push(String::new()),
            "}" => {
                last.push('}');
                all.push(String::new());
            }
            line => {
                last.push_str(line);
                last.push('\n');
            }
        }
    }
    all.iter().map(|text| text.trim_end().to_string()).filter(|text| !text.is_empty()).collect()
}

/// What tells a definition from others: its first line up to its parameters or its type.
fn head(definition: &str) -> &str {
    let line = definition.lines().next().unwrap_or_default();
    let ends = [line.find('('), line.find(" :")];
    &line[..ends.into_iter().flatten().min().unwrap_or(line.len())]
}

#[test]
fn the_page_shows_what_is_printed() {
    let text = std::fs::read_to_string(page()).expect("the page");
    let program = text.split("```diffeo\n").nth(1).and_then(|rest| rest.split("```").next());
    let folder = Folder::new().with("slope.deo", program.expect("the program"));
    let (mut made, mut rest, mut shown) = (String::new(), text.as_str(), 0);
    while let Some(start) = rest.find("```sh\ndiffeo show ") {
        let (before, command) = rest.split_at(start + "```sh\n".len());
        let (command, after) = command.split_once("\n```\n```text\n").expect("what it prints");
        let (expected, after) = after.split_once("\n```\n").expect("an end");
        let args: Vec<&str> = command.split(' ').skip(1).collect();
        let done = folder.run(&args);
        assert_eq!((done.status, &*done.err), (0, ""), "{command}");
        let printed = definitions(&done.out);
        let wanted = definitions(expected);
        let found = wanted.iter().map(|wanted| {
            let same = printed.iter().find(|definition| head(definition) == head(wanted));
            same.unwrap_or_else(|| panic!("`{command}` prints no `{}`", head(wanted))).clone()
        });
        let found: Vec<String> = found.collect();
        made.push_str(&format!("{before}{command}\n```\n```text\n{}\n```\n", found.join("\n\n")));
        (rest, shown) = (after, shown + 1);
    }
    made.push_str(rest);
    assert!(shown >= 5, "the page has only {shown} commands");
    if std::env::var_os("DIFFEO_PAGES").is_some() {
        std::fs::write(page(), &made).expect("the page is written");
    } else {
        assert!(made == text, "run with DIFFEO_PAGES=1 and read what has changed in {:?}", page());
    }
}
