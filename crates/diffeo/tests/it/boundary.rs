//! Rules of the repository: facts are data until a host prints them, so nothing is searched for in a message that is made;
//! the tables of dependencies in READMEs are those of Cargo.

use std::path::{Path, PathBuf};

/// Names of finished texts: messages, what to do, types and signatures.
const MADE: [&str; 6] =
    ["message", "help", "note", "signature()", "interface.text", "to_diagnostic()"];

/// Ways to search a text.
const SEARCHES: [&str; 9] = [
    "contains",
    "starts_with",
    "ends_with",
    "find",
    "rfind",
    "split",
    "split_once",
    "strip_prefix",
    "matches",
];

/// Texts of other programs, which have no other form, and a message of a file of Arrow that is bytes.
const OTHERS: [&str; 3] = ["cli/src/render.rs", "diffeo-data/src/read/json.rs", "arrow/lengths.rs"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" && name != "target" {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The searches in the text of a source before its tests, a line each.
fn searches(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    let joined = text.replace('\n', " ");
    let packed: String = joined.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".");
    let mut found = Vec::new();
    for made in MADE {
        for search in SEARCHES {
            let wanted = format!("{made}.{search}(");
            found.extend(packed.match_indices(&wanted).filter_map(|(at, _)| {
                let before = packed[..at].chars().next_back().unwrap_or(' ');
                (!before.is_alphanumeric() && before != '_').then(|| wanted.clone())
            }));
        }
    }
    found
}

#[test]
fn no_source_searches_a_message_that_is_made() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["crates", "python/src"] {
        sources(&root.join(folder), &mut all);
    }
    assert!(all.len() > 300, "{} sources", all.len());
    for path in all {
        let text = std::fs::read_to_string(&path).expect("a source");
        let shown = path.display().to_string();
        if !OTHERS.iter().any(|other| shown.ends_with(other)) {
            assert_eq!(searches(&text), Vec::<String>::new(), "{shown}");
        }
    }
    // It is seen if there is one.
    let text = "if found.message\n    .starts_with(\"x\") {}";
    assert_eq!(searches(text), ["message.starts_with("]);
}

/// The words of the first column of the table of dependencies in a README.
fn listed(readme: &str) -> Vec<String> {
    let heads = ["| crate | for |", "| dependency | for |"];
    let rows = readme.lines().skip_while(|line| !heads.iter().any(|head| line.starts_with(head)));
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    let words = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
    words.filter_map(|word| word.split_whitespace().next().map(String::from)).collect()
}

#[test]
fn tables_of_dependencies_name_what_cargo_has() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut seen, mut stale) = (0, Vec::new());
    for entry in std::fs::read_dir(crates).expect("the crates").flatten() {
        let text = |name| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let manifest = text("Cargo.toml");
        let names: Vec<&str> =
            manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();
        for word in listed(&text("README.md")) {
            seen += 1;
            // As in `cranelift-codegen, -frontend`.
            if !names
                .iter()
                .any(|name| *name == word || name.ends_with(&word) && word.starts_with('-'))
            {
                stale.push(format!("{}: {word}", entry.file_name().display()));
            }
        }
    }
    assert!(seen > 40, "the tables are found: {seen}");
    assert_eq!(stale, Vec::<String>::new());
}
