//! What messages advise, followed: the place that they name is read, in the end with success.

use super::*;

fn diagnostic(text: &str, ty: &Ty) -> Option<diffeo_base::Diagnostic> {
    let datas = datas();
    let field = Field { name: "x", ty, written: None, interface: None };
    read_argument(text, &field, &datas, &|| Ok(())).err().map(|e| e.to_diagnostic(&datas))
}

/// The places that a help names for this file, without the quotes of a shell.
fn advised(help: &str, path: &str) -> Vec<String> {
    let words = help.split('`').skip(1).step_by(2);
    let words = words.map(|word| word.trim_matches('\''));
    words.filter(|word| word.starts_with(path)).map(str::to_string).collect()
}

/// Reads a file with options, and then as messages advise, by the first place that each names.
fn follow(place: &str, path: &str, ty: &Ty) -> String {
    let mut place = place.to_string();
    for _ in 0..4 {
        let Some(diagnostic) = diagnostic(&place, ty) else { return read(&place, ty) };
        let help = diagnostic.help.unwrap_or_default().written(Spelling::CommandLine);
        let Some(next) = advised(&help, path).into_iter().next() else {
            return format!("{}; {help}", diagnostic.message);
        };
        place = next;
    }
    format!("{place} leads to no end")
}

#[test]
fn what_is_advised_reads_the_file() {
    let folder = Folder::new();
    let ab = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    let (pairs, rows) = (Ty::array(pair(Ty::Real, Ty::Real)), Ty::array(Ty::array(Ty::Real)));
    let (reals, maybes) = (Ty::array(Ty::Real), Ty::array(maybe(Ty::Real)));
    let named = Ty::array(pair(Ty::String, Ty::Real));
    let one = r#"[{"a":1.5,"b":2.0}]"#;
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let unit = move |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    };
    for (name, text, options, ty, value) in [
        // Numbers of other countries.
        ("t.csv", b"a,b\n\"1,5\",2\n".to_vec(), "", &ab, one),
        ("t.txt", b"a,b\n\"1,5\",2\n".to_vec(), "", &ab, one),
        ("t.csv", b"a;b\n1,5;2\n".to_vec(), "", &ab, one),
        ("t.csv", b"a;b\n1,5;2\n".to_vec(), ":sep=semicolon", &ab, one),
        ("t.csv", b"a;b\n1,5;2\n".to_vec(), ":decimal=comma", &ab, one),
        ("t.csv", b"1,5;2,5\n".to_vec(), "", &pairs, "[[1.5,2.5]]"),
        ("t.csv", b"\"1,234\"\n".to_vec(), "", &reals, "[1234.0]"),
        ("t.tsv", b"1,5\n2,25\n".to_vec(), "", &reals, "[1.5,2.25]"),
        (
            "t.csv",
            b"0.123\n".to_vec(),
            ":sep=semicolon:decimal=comma:thousands=point",
            &reals,
            "[0.123]",
        ),
        ("t.csv", b"1 234.5\n".to_vec(), "", &reals, "[1234.5]"),
        ("t.csv", b"1.5;2\n".to_vec(), ":sep=semicolon:decimal=comma", &pairs, "[[1.5,2.0]]"),
        // Separators.
        ("t.csv", b"a|b\n1.5|2\n".to_vec(), "", &ab, one),
        ("t.txt", b"a|b\n1.5|2\n".to_vec(), "", &ab, one),
        ("t.csv", b"1.5;2\n".to_vec(), "", &rows, "[[1.5,2.0]]"),
        ("t.csv", b"1.5\t2\n".to_vec(), "", &pairs, "[[1.5,2.0]]"),
        ("t.csv", b"a  b\n1.5 2\n".to_vec(), "", &ab, one),
        // Lines that are no data.
        ("t.csv", b"Doses\na,b\n1.5,2\n".to_vec(), "", &ab, one),
        ("t.csv", b"Doses\nof 2020\na,b\n1.5,2\n".to_vec(), ":skip=1", &ab, one),
        ("t.csv", b"Doses\nx,y\n1.5,2\n".to_vec(), ":skip=1", &pairs, "[[1.5,2.0]]"),
        ("t.csv", b"Doses\nof 2020\n1.5,2\n".to_vec(), "", &pairs, "[[1.5,2.0]]"),
        ("t.csv", b"name,value\nA,1\n".to_vec(), "", &named, "[[\"A\",1.0]]"),
        ("t.csv", b"a,b\n1.5,2\nTotal,2\n".to_vec(), "", &ab, one),
        ("t.csv", b"a,b\n1.5,2\nGrand total,\n".to_vec(), "", &ab, one),
        ("t.csv", b"A,1\nSum,\n".to_vec(), "", &named, "[[\"A\",1.0]]"),
        ("t.csv", b"a,b\n1.5,2\n,\n".to_vec(), "", &ab, one),
        ("t.csv", b"a,b\n1.5,2\nSource: WHO\n".to_vec(), "", &ab, one),
        ("t.csv", b"a,b\n1.5,2\n# a note\n".to_vec(), "", &ab, one),
        ("t.csv", b"a,b\n1.5,2\n# a, b\n".to_vec(), ":skip=0", &ab, one),
        // Words for nothing.
        ("t.csv", b"1\nn.d.\n".to_vec(), "", &maybes, "[{\"Just\":1.0},{\"Nothing\":null}]"),
        (
            "t.csv",
            b"1\nn.d.\n?\n".to_vec(),
            ":na=?",
            &maybes,
            "[{\"Just\":1.0},{\"Nothing\":null},{\"Nothing\":null}]",
        ),
        // Encodings.
        ("t.csv", utf16("a,b\n1.5,2\n", false), "", &ab, one),
        ("t.csv", utf16("a,b\r\n1.5,2\r\n", true), "", &ab, one),
        ("t.csv", utf16("1.5\n", false), "", &reals, "[1.5]"),
        ("t.csv", b"a,b,\xb5\n1.5,2,3\n".to_vec(), "", &ab, one),
        // Files that are something else.
        ("t.xlsx", b"a,b\n1.5,2\n".to_vec(), "", &ab, one),
        ("t.parquet", b"a,b\n1.5,2\n".to_vec(), "", &ab, one),
        ("t.arrow", b"a,b\n1.5,2\n".to_vec(), "", &ab, one),
        ("t.npy", b"1.5\n".to_vec(), "", &reals, "[1.5]"),
        // Names that a shell would take apart.
        ("my data; (2).csv", b"a|b\n1.5|2\n".to_vec(), "", &ab, one),
    ] {
        let path = folder.file(name, &text);
        let shown = String::from_utf8_lossy(&text);
        assert!(
            diagnostic(&format!("{path}{options}"), ty).is_some(),
            "{name} {shown:?} {options}"
        );
        let found = follow(&format!("{path}{options}"), &path, ty);
        assert_eq!(found, value, "{name} {shown:?} {options}");
    }
}

#[test]
fn each_way_that_is_advised_reads_the_number() {
    let folder = Folder::new();
    let ty = Ty::array(record([("x", Ty::Real)]));
    for (cell, options, values) in [
        ("1,234", "", &["1234.0", "1.234"][..]),
        ("1,234", ":sep=semicolon", &["1234.0", "1.234"]),
        ("1.234,5", "", &["1234.5"]),
        ("1,5", "", &["1.5"]),
        ("1'234", "", &["1234.0"]),
        ("1.5", ":sep=semicolon:decimal=comma", &["1.5"]),
        ("0.123", ":sep=semicolon:decimal=comma:thousands=point", &["0.123"]),
    ] {
        let path = folder.file("t.csv", format!("x\n1\n\"{cell}\"\n"));
        let help = help(&format!("{path}{options}"), &ty).unwrap_or_default();
        let read = |place: &String| read(place, &ty);
        let found: Vec<String> = advised(&help, &path).iter().map(read).collect();
        let wanted: Vec<String> =
            values.iter().map(|value| format!("[{{\"x\":1.0}},{{\"x\":{value}}}]")).collect();
        assert_eq!(found, wanted, "{cell} {options}: {help}");
    }
}

#[test]
fn advice_is_only_given_where_it_can_be_followed() {
    let folder = Folder::new();
    let ab = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    let (reals, pairs) = (Ty::array(Ty::Real), Ty::array(pair(Ty::Real, Ty::Real)));
    for (text, ty, not, word) in [
        // No line of data is left out.
        ("5%\n6\n", &reals, "skip", "`text.parse_real(text.replace(\"%\", \"\", s))`"),
        ("5%\n6\n", &reals, "header", "Strings"),
        ("1,x\n2,3\n", &pairs, "header", "`Maybe[Real]`"),
        ("a,b\nmg,ml\n1,2\n", &ab, "skip", "delete it"),
        ("a,b\na note\n1,2\n", &ab, "skip", "delete it"),
        // A version is no date, and a sum no missing cell.
        ("a,b\n1.2.3,2\n", &ab, "time.parse", "Strings"),
        ("a,b\n1,2\nTotal,2\n", &ab, ":na=", ":rows=1`"),
        ("a,b\n1,2\n//note,2\n", &ab, ":comment", ":na=//note`"),
        ("a,b\n1.5,2\n3\u{a0}mg,2\n", &ab, ":na=", "text"),
        ("#DIV/0!\n1\n", &reals, ":comment", ":header=yes"),
        ("1\n#DIV/0!\n", &reals, ":comment", ":na=#DIV/0!'"),
        ("1;5\n", &reals, "Strings", "tuples or rows, with `"),
        ("5-\n", &reals, "text.replace", "`text.parse_real`"),
        ("(5)\n", &reals, "text.replace", "`text.parse_real`"),
        ("-5 mg\n", &reals, ":na=", "`text.parse_real(text.replace(\" mg\", \"\", s))`"),
        ("$5.00\n", &reals, ":na=", "`text.parse_real(text.replace(\"$\", \"\", s))`"),
        ("a,b\n1,2,\n", &ab, "quotes", "the line ends with a separator"),
        ("1,2,3\n", &pairs, "quotes", "a tuple has a component for each column"),
    ] {
        let path = folder.file("t.csv", text);
        let help = help(&path, ty).unwrap_or_default();
        assert!(!help.contains(not) && help.contains(word), "{text:?}: {help}");
    }
    for (cell, format) in [
        ("2024-02-30", "%Y-%m-%d"),
        ("28.02.2024", "%d.%m.%Y"),
        ("2/28/2024", "%m/%d/%Y"),
        ("28/02/24", "%d/%m/%y"),
        ("12:30:15", "%H:%M:%S"),
        ("12:30:15.25", "%H:%M:%S.%f"),
        ("2024-02-28T12:30", "%Y-%m-%dT%H:%M"),
        ("2024-02-28 12:30:00Z", "%Y-%m-%d %H:%M:%S%z"),
    ] {
        let path = folder.file("t.csv", format!("{cell},1\n"));
        let help = help(&path, &pairs).unwrap_or_default();
        assert!(help.contains(&format!("`time.parse(\"{format}\", text)`")), "{cell}: {help}");
    }
}

#[test]
fn a_message_about_a_cell_says_what_is_missing() {
    let folder = Folder::new();
    for text in ["5%\n", "1\nx\n", "1\n\"1,5\"\n", "1\nNA\n"] {
        let path = folder.file("t.csv", text);
        let notes = diagnostic(&path, &Ty::array(Ty::Real)).expect("no number").notes;
        assert!(notes.iter().any(|note| note.contains("`N/A`")), "{text:?}: {notes:?}");
    }
}

#[cfg(feature = "binary-tables")]
#[test]
fn options_are_not_advised_to_files_without_any() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/data");
    let one = |name, ty| Ty::array(record([(name, ty)]));
    let parquet = [
        one("value", Ty::Real),
        one("price", Ty::Int),
        one("site", Ty::Real),
        one("day", Ty::Real),
        one("weight", Ty::Real),
        Ty::array(pair(Ty::Real, Ty::Real)),
        Ty::array(Ty::Real),
    ];
    for ty in parquet {
        let found = diagnostic(&format!("{folder}/sensor.parquet"), &ty).expect("no fit");
        let help = found.help.unwrap_or_default().written(Spelling::CommandLine);
        let all = format!("{help} {:?}", found.notes);
        assert!(!all.contains('=') && !all.contains("quotes"), "{ty:?}: {all}");
    }
    // Excel files have no comments and no quotes.
    let path = format!("{folder}/lab.xlsx");
    for ty in [Ty::array(pair(Ty::Real, Ty::Real)), one("weight", Ty::Real)] {
        let found = diagnostic(&path, &ty).expect("no fit");
        let help = found.help.unwrap_or_default().written(Spelling::CommandLine);
        assert!(!help.contains("comment") && !help.contains("quotes"), "{ty:?}: {help}");
    }
}

#[test]
fn a_file_with_both_decimal_signs_is_read_with_strings() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    let path = folder.file("t.csv", "a;b\n6,9;0.89\n");
    let help = help(&format!("{path}:sep=semicolon:decimal=comma"), &ty).unwrap_or_default();
    assert!(help.contains("both signs, read one of the columns as Strings"), "{help}");
}
