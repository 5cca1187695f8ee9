//! Options of tables, and tables as other people write them.

use super::*;
use diffeo_data::read_argument as argument;
use diffeo_front::interface::Type;

fn real() -> Ty {
    Ty::array(Ty::Real)
}

/// Reads a file with options.
fn with(folder: &Folder, name: &str, text: impl AsRef<[u8]>, options: &str, ty: &Ty) -> String {
    let path = folder.file(name, text);
    read(&format!("{path}{options}"), ty).replace(&path, "FILE")
}

#[test]
fn each_option_changes_how_a_table_is_read() {
    let folder = Folder::new();
    let rows = Ty::array(Ty::array(Ty::Real));
    let two = "[[1.5,2.0],[3.0,4.0]]";
    for (name, text, options) in [
        ("t.csv", "1.5,2\n3,4\n", ""),
        ("t.csv", "1.5;2\n3;4\n", ":sep=semicolon"),
        ("t.csv", "1.5;2\n3;4\n", ":sep=;"),
        ("t.csv", "1.5\t2\n3\t4\n", ":sep=tab"),
        ("t.csv", "1.5|2\n3|4\n", ":sep=|"),
        ("t.csv", "1.5:2\n3:4\n", ":sep=:"),
        ("t.csv", "1.5§2\n3§4\n", ":sep=§"),
        ("t.csv", "  1.5   2\n3 \t 4  \n\n   \n", ":sep=space"),
        ("t.csv", "1,5;2\n3;4,0\n", ":sep=semicolon:decimal=comma"),
        ("t.csv", "1,5;2\n3;4,0\n", ":decimal=comma:sep=semicolon"),
        ("t.csv", "# a comment\n1.5,2 # here\n  # and there\n3,4#\n", ":comment=#"),
        ("t.csv", "% a\n1.5,\"2\" % b\n3,4\n", ":comment=%"),
        ("t.csv", "title\n\n1.5,2\n3,4\n", ":skip=2"),
        ("t.csv", "a,b\n1.5,2\n3,4\n", ":header=yes"),
        ("t.csv", "1.5,2\n3,4\nSource: \"them\", or not\n", ":rows=2"),
        ("t.csv", "title\na,b\n1.5,2\n3,4\n5\n", ":rows=2:header=yes:skip=1"),
        ("t.csv", "1.5,2\n3,4\n", ":rows=9"),
        ("t.csv", "title\na;b\n1,5;2\n3;4\n", ":skip=1:header=yes:sep=semicolon:decimal=comma"),
        ("t.tsv", "1.5\t2\n3\t4\n", ""),
        ("t.txt", "1.5\t2\n3\t4\n", ""),
        ("t.txt", "1.5;2\n3;4\n", ""),
        ("t.txt", "1.5,2\n3,4\n", ""),
        ("t.dat", " 1.5  2\n 3.0  4\n", ""),
        ("t.dat", "1,5  2\n3,0  4\n", ":decimal=comma"),
        ("t.dat", "# x y\n1.5 2\n\n\n3 4\n", ":comment=#"),
        ("t.csv", "\u{feff}1.5,2\r\n3,4\r\n", ":encoding=utf-8"),
        ("t.csv", "\"1,5\",2\n3,\"4,0\"\n", ":sep=comma:decimal=comma"),
    ] {
        assert_eq!(with(&folder, name, text, options, &rows), two, "{text:?} {options}");
    }
}

#[test]
fn a_wrong_option_is_answered_with_what_there_is() {
    let folder = Folder::new();
    let path = folder.file("t.csv", "1,2\n");
    let npy = folder.file("t.npy", "");
    let all = [
        "`sep`",
        "`decimal`",
        "`thousands`",
        "`na`",
        "`comment`",
        "`skip`",
        "`rows`",
        "`header`",
        "`encoding`",
    ];
    for (place, message, helps) in [
        (format!("{path}:delimiter=;"), "`:delimiter=;` is no option of a CSV file", &all[..]),
        (format!("{path}:skip=1:foo"), "`:foo` is no option of a CSV file", &all),
        (format!("{path}:sheet=A"), "`:sheet=A` is no option of a CSV file", &all),
        (
            format!("{path}:sep=semi"),
            "`:sep=semi` is no value of the option `sep`",
            &["`comma`", "`semicolon`", "`tab`", "`space`", "a character"],
        ),
        (format!("{path}:sep=\""), "`:sep=\"` is no value of the option `sep`", &["other than"]),
        (
            format!("{path}:decimal=,5"),
            "`:decimal=,5` is no value of the option `decimal`",
            &["`point`", "`comma`"],
        ),
        (
            format!("{path}:thousands=dot"),
            "`:thousands=dot` is no value of the option `thousands`",
            &["`none`", "`apostrophe`"],
        ),
        (format!("{path}:header=maybe"), "no value of the option `header`", &["`yes`", "`no`"]),
        (format!("{path}:skip=-1"), "no value of the option `skip`", &["number of lines"]),
        (format!("{path}:encoding=ebcdic"), "no value of the option `encoding`", &["`latin-1`"]),
        (format!("{path}:comment=//"), "no value of the option `comment`", &["one character"]),
        (format!("{path}:skip=1:skip=2"), "the option `skip` is given twice", &["once"]),
        (format!("{path}:na=?:na=x"), "the option `na` is given twice", &["`|`"]),
        (
            format!("{path}:decimal=comma"),
            "the comma is the separator and the decimal sign at once",
            &[":decimal=comma:sep=semicolon`", ":decimal=comma:sep=comma`"],
        ),
        (
            format!("{path}:sep=;:decimal=comma:thousands=comma"),
            "the comma is the sign between thousands and the decimal sign at once",
            &["`apostrophe`"],
        ),
        (
            format!("{path}:sep=#:comment=#"),
            "the # is the beginning of a comment and the separator at once",
            &["one character"],
        ),
        (format!("{npy}:skip=1"), "`:skip=1` is no option of an NPY file", &["has no options"]),
    ] {
        let found = read(&place, &Ty::array(Ty::array(Ty::Real)));
        assert!(found.ends_with(message), "{place}: {found}");
        let help = help(&place, &Ty::array(Ty::array(Ty::Real))).unwrap_or_default();
        assert!(helps.iter().all(|word| help.contains(word)), "{place}: {help}");
    }
    // Whatever is wrong with options is wrong usage.
    let ty = real();
    let field = Field { name: "x", ty: &ty, written: None, interface: None };
    for place in [":foo=1", ":skip=x", ":skip=1:skip=1", ":decimal=comma"] {
        let error = argument(&format!("{path}{place}"), &field, &datas(), &|| Ok(()));
        assert!(error.expect_err("wrong").is_usage(), "{place}");
    }
}

#[test]
fn numbers_are_read_as_the_options_say() {
    let folder = Folder::new();
    let one = |cell: &str, options: &str, ty: &Ty| {
        let text = format!("\"{cell}\"\n");
        with(&folder, "t.csv", text, &format!(":sep=;{options}"), &Ty::array(ty.clone()))
    };
    for (cell, options, value) in [
        ("1,5", ":decimal=comma", "[1.5]"),
        ("-1,5e-3", ":decimal=comma", "[-0.0015]"),
        (",5", ":decimal=comma", "[0.5]"),
        ("1,234,567.25", ":thousands=comma", "[1234567.25]"),
        ("12,34,567", ":thousands=comma", "[1234567.0]"),
        ("1,23,45,678.5", ":thousands=comma", "[12345678.5]"),
        ("0.5", ":thousands=comma", "[0.5]"),
        ("-0", ":thousands=comma", "[-0.0]"),
        ("007", ":thousands=comma", "[7.0]"),
        ("-123,456", ":thousands=comma", "[-123456.0]"),
        ("1.234.567,25", ":thousands=point:decimal=comma", "[1234567.25]"),
        ("1 234,5", ":thousands=space:decimal=comma", "[1234.5]"),
        ("1\u{202f}234\u{a0}567", ":thousands=space", "[1234567.0]"),
        ("1'234.5", ":thousands=apostrophe", "[1234.5]"),
        ("1\u{2019}234", ":thousands=apostrophe", "[1234.0]"),
        ("1234.5", ":thousands=comma", "[1234.5]"),
        ("nan", ":decimal=comma", "[\"nan\"]"),
        ("-inf", ":thousands=comma", "[\"-inf\"]"),
    ] {
        assert_eq!(one(cell, options, &Ty::Real), value, "{cell} {options}");
    }
    // No digit is lost in silence.
    for (cell, options) in [
        ("1,5", ":thousands=comma"),
        ("1,2345", ":thousands=comma"),
        ("1,,234", ":thousands=comma"),
        ("1.5", ":decimal=comma"),
        ("1,5,2", ":decimal=comma"),
        ("0.123", ":decimal=comma:thousands=point"),
        ("0,123", ":thousands=comma"),
        ("012,345", ":thousands=comma"),
        ("00,123", ":thousands=comma"),
        ("1234,567", ":thousands=comma"),
        ("1,23,4567", ":thousands=comma"),
        ("1,234,56", ":thousands=comma"),
        ("12,345,67,890", ":thousands=comma"),
        ("123,45,678", ":thousands=comma"),
        ("1,23", ":thousands=comma"),
        (",123", ":thousands=comma"),
        ("1,234,", ":thousands=comma"),
        ("-0,123", ":thousands=comma"),
        ("1 5", ":thousands=space"),
        ("0x1F", ""),
        ("5 mg", ""),
        ("12%", ""),
    ] {
        let found = one(cell, options, &Ty::Real);
        assert!(found.ends_with(&format!("found `{cell}`")), "{cell} {options}: {found}");
    }
    for (cell, options, value) in [
        ("3.0", "", "[3]"),
        ("3.", "", "[3]"),
        ("-3,00", ":decimal=comma", "[-3]"),
        ("1,234,567", ":thousands=comma", "[1234567]"),
    ] {
        assert_eq!(one(cell, options, &Ty::Int), value, "{cell} {options}");
    }
    assert!(one("3.5", "", &Ty::Int).ends_with("found `3.5`"));
    for (cell, value) in [
        ("TRUE", "true"),
        ("Yes", "true"),
        ("t", "true"),
        ("y", "true"),
        ("1", "true"),
        ("false", "false"),
        ("NO", "false"),
        ("F", "false"),
        ("N", "false"),
        ("0", "false"),
    ] {
        assert_eq!(one(cell, "", &Ty::Bool), format!("[{value}]"));
    }
    assert!(one("2", "", &Ty::Bool).ends_with("found `2`"));
}

#[test]
fn a_number_of_another_country_is_named() {
    let folder = Folder::new();
    for (cell, options, hint) in [
        ("1,5", ":sep=;", ":decimal=comma'"),
        ("1,234", ":sep=;", ":thousands=comma'"),
        ("1.234,5", ":sep=;", ":decimal=comma:thousands=point'"),
        ("1,234.5", ":sep=;", ":thousands=comma'"),
        ("1.5", ":sep=;:decimal=comma", ":sep=;:decimal=point'"),
        ("1 234", ":sep=;", ":thousands=space'"),
        ("1'234", "", ":thousands=apostrophe`"),
    ] {
        let path = folder.file("t.csv", format!("x\n1\n\"{cell}\"\n"));
        let ty = Ty::array(record([("x", Ty::Real)]));
        let place = format!("{path}{options}");
        assert!(read(&place, &ty)
            .ends_with(&format!(":3: column 1 (`x`) must be of type `Real`, found `{cell}`")));
        let help = help(&place, &ty).unwrap_or_default();
        assert!(help.contains(hint), "{cell}: {help}");
    }
}

#[test]
fn what_stands_for_a_missing_cell_is_nothing() {
    let folder = Folder::new();
    let cells = "NA N/A #N/A NaN nan -nan +NaN null None <NA> NaT -".split(' ');
    let text: String = cells.map(|cell| format!("{cell}\n")).collect();
    for ty in [Ty::Real, Ty::Int, Ty::Bool, Ty::String] {
        let found = folder.read("t.csv", &text, &Ty::array(maybe(ty.clone())));
        assert_eq!(found, format!("[{}]", [r#"{"Nothing":null}"#; 12].join(",")), "{ty:?}");
    }
    assert_eq!(folder.read("t.csv", "NaN\n-nan\n+1\n", &real()), r#"["nan","nan",1.0]"#);
    assert_eq!(
        folder.read("t.csv", "\"NA\"\n", &Ty::array(maybe(Ty::String))),
        r#"[{"Just":"NA"}]"#
    );
    let marks = |text: &str, ty: &Ty| with(&folder, "t.csv", text, ":na=?|999|n. d.", ty);
    let found = marks("?\n999\n n. d. \n998\n", &Ty::array(maybe(Ty::Int)));
    assert_eq!(found, r#"[{"Nothing":null},{"Nothing":null},{"Nothing":null},{"Just":998}]"#);
    // What the user calls missing is no number.
    assert!(marks("1\n999\n", &real()).ends_with("but it is `999`, a missing value"));
    assert!(folder.read("t.csv", "1\n-\n", &real()).ends_with("but it is `-`, a missing value"));
    let path = folder.file("t.csv", "a\n1\n?\n");
    let ty = Ty::array(record([("a", Ty::Real)]));
    let field = Field { name: "x", ty: &ty, written: None, interface: None };
    let error = argument(&path, &field, &datas(), &|| Ok(())).expect_err("no number");
    let message = error.to_diagnostic(&datas());
    assert!(message.notes.iter().any(|note| note.contains("`N/A`") && note.contains("`:na=…`")));
}

#[test]
fn columns_are_found_by_name_up_to_case_blanks_and_punctuation() {
    let folder = Folder::new();
    let ty = Ty::array(record([("dose_um", Ty::Real), ("response", Ty::Real)]));
    let rows = r#"[{"dose_um":1.0,"response":2.0}]"#;
    assert_eq!(folder.read("t.csv", "Dose (µM),Response\n1,2\n", &ty), rows);
    assert_eq!(folder.read("t.csv", "RESPONSE ,extra,\"Dose\n(μM)\"\n2,x,1\n", &ty), rows);
    // The exact name comes first.
    assert_eq!(folder.read("t.csv", "Dose (µM),dose_um,response\n9,1,2\n", &ty), rows);
    assert_eq!(
        folder.read("t.csv", "Dose (µM),DOSE UM,response\n9,1,2\n", &ty),
        "FILE:1: the columns `Dose (µM)` and `DOSE UM` may both be the field `dose_um`"
    );
    let both = Ty::array(record([("A b", Ty::Real), ("ab", Ty::Real)]));
    assert_eq!(
        folder.read("t.csv", "a_b,c\n1,2\n", &both),
        "FILE:1: the column `a_b` may be the field `A b` and `ab`"
    );
    assert_eq!(folder.read("t.csv", "A b,ab\n1,2\n", &both), r#"[{"A b":1.0,"ab":2.0}]"#);
    // A column that another field names is not taken for this one.
    assert!(folder.read("t.csv", "ab,c\n1,2\n", &both).contains("no column `A b`"));
    let odd = Ty::array(record([("%", Ty::Real)]));
    assert!(folder.read("t.csv", "&,c\n1,2\n", &odd).contains("no column `%`"));
}

#[test]
fn a_table_is_read_by_columns() {
    let folder = Folder::new();
    let ty = record([
        ("day", Ty::array(maybe(Ty::String))),
        ("dose", Ty::array(Ty::Real)),
        ("n", Ty::array(Ty::Int)),
        ("ok", Ty::array(Ty::Bool)),
    ]);
    let columns =
        r#"{"day":[{"Just":"Mon"},{"Nothing":null}],"dose":[0.5,1.0],"n":[1,2],"ok":[true,false]}"#;
    assert_eq!(
        folder.read("t.csv", "OK,Dose,n,x,Day\nyes,0.5,1,,Mon\nno,1,2.0,,NA\n", &ty),
        columns
    );
    let none = r#"{"day":[],"dose":[],"n":[],"ok":[]}"#;
    assert_eq!(folder.read("t.csv", "ok,dose,n,day\n", &ty), none);
    assert_eq!(
        folder.read("t.csv", "ok,dose,n,day\nyes,0.5,1,\nyes,x,1,\n", &ty),
        "FILE:3: column 2 (`dose`) must be of type `Real`, found `x`"
    );
    let path = folder.write("o.csv", columns, &ty).expect("a file written");
    assert_eq!(
        std::fs::read_to_string(&path).expect("the file"),
        "day,dose,n,ok\nMon,0.5,1,true\n,1.0,2,false\n"
    );
    assert_eq!(read(&path, &ty), columns);
    let uneven = folder.write("u.csv", r#"{"day":[],"dose":[1],"n":[],"ok":[]}"#, &ty);
    let message = uneven.expect_err("no table");
    assert!(message.contains("`day` has 0 and `dose` has 1"), "{message}");
    assert!(!folder.0.join("u.csv").exists());
}

#[test]
fn a_table_may_be_given_where_it_may_be_left_out() {
    let folder = Folder::new();
    let ty = maybe(record([("a", Ty::array(Ty::Int))]));
    assert_eq!(folder.read("t.csv", "a\n1\n2\n", &ty), r#"{"Just":{"a":[1,2]}}"#);
    assert!(folder.read("t.csv", "b\n1\n", &ty).contains("no column `a`"));
}

#[test]
fn columns_stand_in_the_order_of_the_declaration() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    let fields = ["b", "a"].map(|name| (Name::new(name), Type::Real));
    let interface = Type::array(Type::record(fields.to_vec()));
    let interface = Some(&interface);
    let field = Field { name: "x", ty: &ty, written: None, interface };
    let path = folder.file("t.csv", "1,2\n");
    let read_as =
        |field: &Field<'_>| argument(&format!("{path}:header=no"), field, &datas(), &|| Ok(()));
    let value = read_as(&field).expect("two columns");
    let mut json = Vec::new();
    to_json(&mut json, &value, &ty, &datas()).expect("memory");
    assert_eq!(String::from_utf8_lossy(&json), r#"[{"a":2.0,"b":1.0}]"#);
    let unknown = read_as(&Field { interface: None, ..field }).expect_err("no order");
    assert!(unknown.to_diagnostic(&datas()).message.ends_with("which column is which field"));
    let out = folder.0.join("o.csv").display().to_string();
    let place = Place::of(&out).expect("a place");
    let output = Output { place: &place, part: "", value: &value, ty: &ty, interface };
    write_results(&[output], &datas(), &|| Ok(())).expect("a file");
    assert_eq!(std::fs::read_to_string(out).expect("the file"), "b,a\n1.0,2.0\n");
}

#[test]
fn encodings_are_those_of_the_option_or_of_the_mark() {
    let folder = Folder::new();
    let ty = Ty::array(record([("dose_um", Ty::Real), ("name", Ty::String)]));
    let rows = r#"[{"dose_um":1.5,"name":"Zoë €"}]"#;
    let text = "Dose (µM),name\n1.5,Zoë €\n";
    let utf16 = |big: bool| -> Vec<u8> {
        let unit = move |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    };
    let marked = |mark: [u8; 2], big| [&mark[..], &utf16(big)].concat();
    let latin = b"Dose (\xb5M),name\n1.5,Zo\xeb \x80\n";
    assert_eq!(with(&folder, "t.csv", text, "", &ty), rows);
    assert_eq!(with(&folder, "t.csv", latin, ":encoding=latin-1", &ty), rows);
    assert_eq!(with(&folder, "t.csv", marked([0xff, 0xfe], false), "", &ty), rows);
    assert_eq!(with(&folder, "t.csv", marked([0xfe, 0xff], true), "", &ty), rows);
    assert_eq!(with(&folder, "t.csv", utf16(false), ":encoding=utf-16", &ty), rows);
    assert_eq!(with(&folder, "t.csv", format!("\u{feff}{text}"), ":encoding=latin-1", &ty), rows);
    let big = marked([0xfe, 0xff], true);
    assert_eq!(with(&folder, "t.csv", big, ":encoding=utf-16", &ty), rows);
    let path = folder.file("t.csv", latin);
    assert_eq!(read(&path, &ty).replace(&path, "FILE"), "FILE:1: column 1 is not UTF-8");
    assert!(help(&path, &ty).is_some_and(|help| help.contains(":encoding=latin-1`")));
}

#[test]
fn another_separator_is_named_with_its_option() {
    let folder = Folder::new();
    let ty = Ty::array(record([("dose", Ty::Real), ("response", Ty::Real)]));
    let pairs = Ty::array(pair(Ty::Real, Ty::Real));
    for (text, ty, message, option) in [
        (
            "dose;response\n1;2\n",
            &ty,
            "FILE:1: the line has one field; it seems to be separated by semicolons",
            ":sep=semicolon`",
        ),
        (
            "dose response\n1 2\n",
            &ty,
            "FILE:1: the line has one field; it seems to be separated by blanks",
            ":sep=space`",
        ),
        (
            "1,5;2,5\n",
            &pairs,
            "FILE:1: the line seems to be separated by semicolons",
            ":sep=semicolon:decimal=comma`",
        ),
        (
            "1,5;2\n",
            &pairs,
            "FILE:1: the line seems to be separated by semicolons",
            ":sep=semicolon:decimal=comma`",
        ),
        (
            "1 2\n",
            &pairs,
            "FILE:1: the line has one field; it seems to be separated by blanks",
            ":sep=space`",
        ),
    ] {
        let path = folder.file("t.csv", text);
        assert_eq!(read(&path, ty).replace(&path, "FILE"), message, "{text:?}");
        let help = help(&path, ty).unwrap_or_default();
        assert!(help.contains(option), "{text:?}: {help}");
    }
}

#[test]
fn cells_that_are_no_numbers_are_answered_with_what_to_do() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", Ty::Int)]));
    for (text, words) in [
        ("2024-02-30,1", &["`time.parse("][..]),
        ("1,28.02.2024", &["`time.parse("]),
        ("12:30:15,1", &["`time.parse("]),
        ("2024-02-28T12:30,1", &["`time.parse("]),
        ("−3,1", &["`-3`"]),
        ("3 mg,1", &["`text.parse_real(text.replace(\" mg\", \"\", s))`"]),
        ("<0.5,1", &["`text.parse_real`"]),
        ("n.d.,1", &[":na=n.d.`", "`Maybe[Real]`"]),
    ] {
        let path = folder.file("t.csv", format!("a,b\n{text}\n"));
        assert!(read(&path, &ty).contains("must be of type"), "{text}");
        let help = help(&path, &ty).unwrap_or_default();
        assert!(words.iter().all(|word| help.contains(word)), "{text}: {help}");
    }
    let path = folder.file("t.csv", "a,a,b\n1,2,3\n");
    assert!(read(&path, &ty).ends_with("the header has the column `a` twice"));
    assert!(help(&path, &ty).is_some_and(|help| help.contains("rename one")));
}

#[test]
fn notes_around_a_table_are_named_with_what_to_do() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    for (text, message, word) in [
        (
            "a,b\n1,2\n# from the lab\n",
            "FILE:3: expected 2 fields as in the header, found 1",
            ":comment=#`",
        ),
        (
            "a,b\n1,2\n# a, b\n",
            "FILE:3: column 1 (`a`) must be of type `Real`, found `# a`",
            ":comment=#`",
        ),
        (
            "a,b\n1,2\nSource: WHO\n",
            "FILE:3: expected 2 fields as in the header, found 1",
            "read the row above it with",
        ),
        (
            "Doses of 2020\na,b\n1,2\n",
            "FILE:1: the header has no column `a` (of type `Real`)",
            ":skip=1`",
        ),
        ("a,b\n1,2,3\n", "FILE:2: expected 2 fields as in the header, found 3", "in quotes"),
    ] {
        let path = folder.file("t.csv", text);
        assert_eq!(read(&path, &ty).replace(&path, "FILE"), message, "{text:?}");
        let help = help(&path, &ty).unwrap_or_default();
        assert!(help.contains(word), "{text:?}: {help}");
    }
}

#[test]
fn a_text_is_written_as_it_is() {
    let folder = Folder::new();
    let path = folder.write("o.txt", r#""a\n\"b\", c""#, &Ty::String).expect("a file");
    assert_eq!(std::fs::read_to_string(path).expect("the file"), "a\n\"b\", c");
    let refused = folder.write("o.csv", r#""a""#, &Ty::String).expect_err("no table");
    assert!(refused
        .ends_with("a CSV file cannot hold a value of type `String`: it is a text, no table"));
    let refused = folder.write("o.parquet", "[1]", &Ty::array(Ty::Int)).expect_err("not written");
    assert!(refused.ends_with("a Parquet file can be read, but not written"), "{refused}");
}

#[test]
fn files_are_written_all_or_none() {
    let folder = Folder::new();
    let (path, old) = (folder.0.join("a.csv"), folder.file("old.json", "old"));
    let place = |path: &std::path::Path| Place::of(&path.display().to_string()).expect("a place");
    let ty = Ty::array(Ty::Int);
    let field = Field { name: "x", ty: &ty, written: None, interface: None };
    let value = argument("[1, 2]", &field, &datas(), &|| Ok(())).expect("numbers");
    let places = [place(&path), place(old.as_ref()), place(&folder.0.join("none/b.csv"))];
    let outputs = places.each_ref().map(|place| Output {
        place,
        part: "",
        value: &value,
        ty: &ty,
        interface: None,
    });
    assert!(write_results(&outputs, &datas(), &|| Ok(())).is_err());
    assert_eq!(std::fs::read_to_string(&old).expect("the file"), "old");
    assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 1);
    write_results(&outputs[..2], &datas(), &|| Ok(())).expect("two files");
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "1\n2\n");
    assert_eq!(std::fs::read_to_string(&old).expect("the file"), "[1,2]\n");
}

#[cfg(not(feature = "binary-tables"))]
#[test]
fn what_the_program_was_built_without_is_named() {
    for (name, article) in [
        ("x.xlsx", "an Excel file"),
        ("x.parquet", "a Parquet file"),
        ("x.feather", "an Arrow file"),
    ] {
        let found = read(name, &real());
        assert!(
            found.ends_with(&format!("this diffeo was built without what reads {article}")),
            "{found}"
        );
        assert!(help(name, &real()).is_some_and(|help| help.contains("`binary-tables`")));
    }
}
