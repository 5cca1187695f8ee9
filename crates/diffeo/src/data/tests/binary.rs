//! Excel, Parquet and Arrow files, as other programs write them (`docs/book/data/make.py`).

use super::*;

/// A file of the book.
fn book(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book/data");
    format!("{folder}/{name}")
}

fn sensor() -> Ty {
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
        (one("value", Ty::Real), "sensor.parquet:2: column 3 (`value`) must be of type `Real`, but it is empty"),
        (one("price", Ty::Int), "sensor.parquet:1: column 5 (`price`) must be of type `Int`, found `10.5`"),
        (one("site", Ty::Real), "sensor.parquet:1: column 6 (`site`) must be of type `Real`, found `north`"),
        (one("count", Ty::String), "sensor.parquet:1: column 4 (`count`) must be of type `String`, found `3`"),
        (one("parts", Ty::Real), "sensor.parquet: column 8 (`parts`) must be of type `Real`, but holds values of the type List(Int64, field: 'element')"),
        (one("weight", Ty::Real), "sensor.parquet: the header has no column `weight` (of type `Real`)"),
        (Ty::Real, "sensor.parquet: a Parquet file cannot hold a value of type `Real`"),
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
    assert!(help(&book("lab.xlsx"), &ty).is_some_and(|h| h.contains("`:skip=1`")));
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
        assert!(folder.read(name, "a,b\n1,2\n", &ty).contains("file cannot be read: "), "{name}");
        for length in (1..bytes.len()).step_by(37) {
            let found = folder.read(name, &bytes[..length], &ty);
            assert!(found.contains("FILE"), "{name} of {length} bytes: {found}");
        }
        // Whatever comes of it, it comes to an end.
        for at in (0..bytes.len()).step_by(7) {
            for change in [0xff, 0x01, 0x80] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                let _ = folder.read(name, bytes, &ty);
            }
        }
    }
}
