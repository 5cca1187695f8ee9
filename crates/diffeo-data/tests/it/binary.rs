//! Excel, Parquet and Arrow files, as other programs write them (`docs/book/data/make.py`).

use super::*;

/// A file of the book.
pub(super) fn book(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/data");
    format!("{folder}/{name}")
}

pub(super) fn sensor() -> Ty {
    Ty::array(record([
        ("count", Ty::Int),
        ("day", maybe(Ty::String)),
        ("ok", Ty::Bool),
        ("price", Ty::Real),
        ("site", Ty::String),
        ("time", maybe(Ty::String)),
        ("value", maybe(Ty::Real)),
    ]))
}

const ROWS: [&str; 3] = [
    r#"{"count":3,"day":{"Just":"2024-03-01"},"ok":true,"price":10.5,"site":"north","time":{"Just":"2024-03-01T12:00:00Z"},"value":{"Just":1.5}}"#,
    r#"{"count":4,"day":{"Just":"2024-03-02"},"ok":false,"price":20.25,"site":"south","time":{"Just":"2024-03-01T12:00:30Z"},"value":{"Nothing":null}}"#,
    r#"{"count":5,"day":{"Nothing":null},"ok":true,"price":0.99,"site":"north","time":{"Nothing":null},"value":{"Nothing":null}}"#,
];

#[test]
fn parquet_and_arrow_files_are_read_by_column_name() {
    let rows = format!("[{}]", ROWS.join(","));
    for name in ["sensor.parquet", "sensor.feather"] {
        assert_eq!(read(&book(name), &sensor()), rows, "{name}");
    }
    let columns = record([("COUNT", Ty::array(Ty::Real)), ("time", Ty::array(maybe(Ty::Real)))]);
    assert_eq!(
        read(&book("sensor.parquet"), &columns),
        r#"{"COUNT":[3.0,4.0,5.0],"time":[{"Just":1709294400.0},{"Just":1709294430.0},{"Nothing":null}]}"#
    );
    let folder = Folder::new();
    let bytes = std::fs::read(book("sensor.parquet")).expect("the file");
    let renamed = folder.file("x.data", bytes);
    assert_eq!(read(&format!("{renamed}:parquet"), &sensor()), rows);
}

#[test]
fn what_does_not_fit_a_column_is_named() {
    let one = |name, ty| Ty::array(record([(name, ty)]));
    for (ty, message) in [
        (
            one("value", Ty::Real),
            "sensor.parquet:2: column 3 (`value`) must be of type `Real`, but it is empty",
        ),
        (
            one("price", Ty::Int),
            "sensor.parquet:1: column 5 (`price`) must be of type `Int`, found `10.5`",
        ),
        (
            one("site", Ty::Real),
            "sensor.parquet:1: column 6 (`site`) must be of type `Real`, found `north`",
        ),
        (
            one("count", Ty::String),
            "sensor.parquet:1: column 4 (`count`) must be of type `String`, found `3`",
        ),
        (
            one("parts", Ty::Real),
            "sensor.parquet: column 8 (`parts`) must be of type `Real`, but holds lists",
        ),
        (
            one("weight", Ty::Real),
            "sensor.parquet: the header has no column `weight` (of type `Real`)",
        ),
        (Ty::Real, "sensor.parquet: a Parquet file cannot hold a value of type `Real`: it is one number, no table"),
    ] {
        let message_found = read(&book("sensor.parquet"), &ty);
        assert!(message_found.ends_with(message), "{message_found}");
    }
    let option = read(&book("sensor.parquet:skip=1"), &sensor());
    assert!(option.ends_with("`:skip=1` is no option of a Parquet file"), "{option}");
}

#[test]
fn sheets_of_excel_are_read_as_tables() {
    let ty = Ty::array(record([
        ("day", Ty::String),
        ("dose_um", Ty::Real),
        ("signal", maybe(Ty::Int)),
        ("used", Ty::Bool),
    ]));
    let rows = concat!(
        r#"[{"day":"2024-03-01","dose_um":0.5,"signal":{"Just":12},"used":true},"#,
        r#"{"day":"2024-03-02","dose_um":1.0,"signal":{"Just":25},"used":true},"#,
        r#"{"day":"2024-03-03","dose_um":2.0,"signal":{"Nothing":null},"used":false},"#,
        r#"{"day":"2024-03-04","dose_um":4.0,"signal":{"Just":81},"used":true}]"#
    );
    assert_eq!(read(&book("lab.xlsx:skip=2"), &ty), rows);
    assert_eq!(read(&book("lab.xlsx:sheet=Doses:skip=2"), &ty), rows);
    // The options say how texts write numbers; numbers of the sheet are none.
    assert_eq!(read(&book("lab.xlsx:skip=2:decimal=comma:thousands=point"), &ty), rows);
    let days = record([("day", Ty::array(Ty::Real))]);
    assert_eq!(
        read(&book("lab.xlsx:skip=2"), &days),
        r#"{"day":[1709251200.0,1709337600.0,1709424000.0,1709510400.0]}"#
    );
    let plan = Ty::array(pair(Ty::String, Ty::Int));
    assert_eq!(
        read(&book("lab.xlsx:sheet=Plan B:header=yes"), &plan),
        r#"[["mix",5],["wait",90],["all",95]]"#
    );
    for (options, ty, message) in [
        (":sheet=Plan C", &plan, "there is no sheet `Plan C`; there are `Doses`, `Plan B`"),
        (":sheet=Plan B", &plan, "lab.xlsx:1: column 2 must be of type `Int`, found `minutes`"),
        (":sep=tab", &plan, "`:sep=tab` is no option of an Excel file"),
        ("", &ty, "lab.xlsx:1: the header has no column `day` (of type `String`)"),
    ] {
        let found = read(&book(&format!("lab.xlsx{options}")), ty);
        assert!(found.ends_with(message), "{options}: {found}");
    }
    assert!(help(&book("lab.xlsx:sheet=Plan C"), &plan).is_some_and(|h| h.contains("`Plan B`")));
    assert!(help(&book("lab.xlsx"), &ty).is_some_and(|h| h.contains(":skip=1`")));
    let names = Ty::array(record([("signal", Ty::Int)]));
    assert!(read(&book("lab.xlsx:skip=2"), &names)
        .ends_with("lab.xlsx:6: column 3 (`Signal`) must be of type `Int`, but it is empty"));
}

#[test]
fn a_file_that_is_cut_off_or_changed_is_a_message() {
    let folder = Folder::new();
    let plan = Ty::array(pair(Ty::String, Ty::Int));
    for (name, ty) in
        [("sensor.parquet", sensor()), ("sensor.feather", sensor()), ("lab.xlsx", plan)]
    {
        let bytes = std::fs::read(book(name)).expect("the file");
        assert!(folder.read(name, "", &ty).ends_with("there is nothing in it"), "{name}");
        assert!(folder.read(name, "a,b\n1,2\n", &ty).ends_with(", but text"), "{name}");
        for length in (1..bytes.len()).step_by(37) {
            let found = folder.read(name, &bytes[..length], &ty);
            assert!(found.contains("FILE"), "{name} of {length} bytes: {found}");
            are_plain_words(&found);
        }
        // Whatever comes of it, it comes to an end.
        for at in (0..bytes.len()).step_by(7) {
            for change in [0xff, 0x01, 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                are_plain_words(&folder.read(name, bytes, &ty));
            }
        }
    }
}

/// A message is none of a library's.
fn are_plain_words(message: &str) {
    let raw = [
        "EOCD",
        "EOF",
        "Thrift",
        "error:",
        "Error",
        "os error",
        "Xml",
        "Zip ",
        "Parquet error",
        "Arrow:",
        "NYI",
        "deflate",
        "Corrupt",
        "I/O",
        "checksum",
    ];
    assert!(!raw.iter().any(|word| message.contains(word)), "{message}");
}

/// A workbook whose days count from 1904 or 1900, with these cells of one column: numbers with a style, of which 1 is a
/// date, 2 a duration, 3 a time of day. The row of a nan is empty.
fn workbook(is_1904: bool, cells: &[(f64, u32)]) -> Vec<u8> {
    let rows: String = cells
        .iter()
        .enumerate()
        .filter(|(_, (value, _))| !value.is_nan())
        .map(|(i, (value, style))| {
            let row = i + 1;
            format!("<row r=\"{row}\"><c r=\"A{row}\" s=\"{style}\"><v>{value}</v></c></row>")
        })
        .collect();
    excel::workbook(&excel::Parts { is_1904, rows: &rows, ..excel::Parts::default() })
}

#[test]
fn days_of_excel_are_those_of_the_calendar() {
    let folder = Folder::new();
    let (texts, reals) = (Ty::array(Ty::String), Ty::array(Ty::Real));
    for (is_1904, days, text, seconds) in [
        (false, 1.0, "1900-01-01", "-2208988800.0"),
        (false, 59.0, "1900-02-28", "-2203977600.0"),
        (false, 61.0, "1900-03-01", "-2203891200.0"),
        (false, 45352.5, "2024-03-01T12:00:00", "1709294400.0"),
        (false, 2958465.0, "9999-12-31", "253402214400.0"),
        (true, 1.0, "1904-01-02", "-2082758400.0"),
        (true, 43890.25, "2024-03-01T06:00:00", "1709272800.0"),
        (true, 2957003.0, "9999-12-31", "253402214400.0"),
    ] {
        let bytes = workbook(is_1904, &[(days, 1)]);
        assert_eq!(folder.read("t.xlsx", &bytes, &texts), format!("[\"{text}\"]"), "{days}");
        assert_eq!(folder.read("t.xlsx", &bytes, &reals), format!("[{seconds}]"), "{days}");
    }
    // Times of day and durations are no days.
    let bytes = workbook(true, &[(0.25, 3), (1.5, 2), (-0.25, 2)]);
    assert_eq!(folder.read("t.xlsx", &bytes, &reals), "[21600.0,129600.0,-21600.0]");
    for (is_1904, days) in [
        (true, -1.0),
        (true, -0.25),
        (true, -20000.0),
        (false, -1.0),
        (false, 60.0),
        (false, 60.5),
        (false, 2958466.0),
        (true, 2957004.0),
        (false, 1e10),
    ] {
        let bytes = workbook(is_1904, &[(1.0, 1), (days, 1)]);
        for (ty, name) in [(&texts, "String"), (&reals, "Real")] {
            assert_eq!(
                folder.read("t.xlsx", &bytes, ty),
                format!("FILE:2: column 1 must be of type `{name}`, but is day {days}, which is no date of Excel")
            );
        }
    }
    let path = folder.file("t.xlsx", workbook(true, &[(-1.0, 1)]));
    assert!(help(&path, &reals).is_some_and(|help| help.contains("1 January 1900 or 1904")));
}

#[test]
fn an_empty_row_between_others_is_a_missing_cell_of_a_column() {
    let folder = Folder::new();
    let bytes = workbook(false, &[(1.0, 0), (f64::NAN, 0), (3.0, 0), (f64::NAN, 0)]);
    assert_eq!(folder.read("t.xlsx", &bytes, &Ty::array(Ty::Int)), "[1,3]");
    assert_eq!(
        folder.read("t.xlsx", &bytes, &Ty::array(maybe(Ty::Int))),
        r#"[{"Just":1},{"Nothing":null},{"Just":3}]"#
    );
}

#[test]
fn a_file_that_is_something_else_is_named_with_what_to_do() {
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    let old = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0, 0, 0];
    let zip = workbook(false, &[(1.0, 0)]);
    let parquet = std::fs::read(book("sensor.parquet")).expect("the file");
    for (name, bytes, message, word) in [
        ("t.xlsx", &b"1\n2\n"[..], "this is not an Excel file, but text", ":csv`"),
        (
            "t.xlsx",
            &old,
            "this is not an Excel file, but a file of Excel before 2007, or one with a password",
            ".xlsx",
        ),
        ("t.csv", &old, "this is a file of Excel before 2007, or one with a password", ".xlsx"),
        (
            "t.xlsx",
            b"<!DOCTYPE html><html>",
            "this is not an Excel file, but a page of the web",
            "fetch",
        ),
        ("t.json", b" <html>", "this is a page of the web", "fetch"),
        ("t.csv", &zip, "this is a ZIP archive, as .xlsx and .npz files are", ":xlsx`"),
        ("t.json", &zip, "this is a ZIP archive, as .xlsx and .npz files are", ":xlsx`"),
        ("t.csv", &parquet, "this is a Parquet file", ":parquet`"),
        ("t.arrow", &parquet, "this is not an Arrow file, but a Parquet file", ":parquet`"),
        ("t.npz", &parquet, "this is not an NPZ file, but a Parquet file", ":parquet`"),
        ("t.npz", b"", "there is nothing in it", ""),
        ("t.npy", b"", "there is nothing in it", ""),
        ("t.parquet", b"\x00\x01\x02", "this is not a Parquet file, but something else", "anew"),
        (
            "t.xlsx",
            &zip[..zip.len() / 2],
            "this Excel file cannot be read: its ZIP archive is damaged or cut off",
            "anew",
        ),
        (
            "t.npz",
            &zip[..zip.len() / 2],
            "this NPZ file cannot be read: its ZIP archive is damaged or cut off",
            "anew",
        ),
        (
            "t.parquet",
            &parquet[..parquet.len() / 2],
            "this Parquet file cannot be read: it is damaged or cut off",
            "anew",
        ),
    ] {
        assert_eq!(folder.read(name, bytes, &ints), format!("FILE: {message}"));
        let help = help(&folder.file(name, bytes), &ints).unwrap_or_default();
        assert!(help.contains(word), "{name}, {message}: {help}");
    }
    for (name, word) in
        [("a.xls", ".xlsx"), ("a.zip", "unpack"), ("a.mat", ".npz"), ("a.rds", ".parquet")]
    {
        let help = help(&folder.file(name, "x"), &ints).unwrap_or_default();
        assert!(help.contains(word) && !help.contains(":csv"), "{name}: {help}");
    }
}
