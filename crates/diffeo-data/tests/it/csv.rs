//! CSV and TSV files, good ones and bad ones.

use super::*;

#[test]
fn csv_with_a_header_is_read_by_column_name() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", maybe(Ty::Int))]));
    let rows = r#"[{"a":1.5,"b":{"Just":2}},{"a":"inf","b":{"Nothing":null}}]"#;
    assert_eq!(folder.read("t.csv", "b,zz,a\n2,x,1.5\n,y,inf\n", &ty), rows);
    assert_eq!(
        folder.read("t.csv", "\u{feff}b, zz ,a\r\n2,x, 1.5\r\n\r\n,\"y\nz\",inf", &ty),
        rows
    );
    assert_eq!(folder.read("t.csv", "a,b\n", &ty), "[]");
    for (text, message) in [
        ("a,c\n1,2\n", "FILE:1: the header has no column `b` (of type `Maybe[Int]`)"),
        ("a,b,a\n1,2,3\n", "FILE:1: the header has the column `a` twice"),
        ("a,b\n1,2\n1\n", "FILE:3: expected 2 fields as in the header, found 1"),
        ("a,b\n1,2.5\n", "FILE:2: column 2 (`b`) must be of type `Maybe[Int]`, found `2.5`"),
        (
            "a,b\r\n\r\n1,2\r\n,2\r\n",
            "FILE:4: column 1 (`a`) must be of type `Real`, but it is empty",
        ),
        ("a;b\n1;2\n", "FILE:1: the line has one field; it seems to be separated by semicolons"),
        ("", "FILE: there is nothing in it, not even a header"),
        ("\n \n", "FILE: there is nothing in it, not even a header"),
    ] {
        assert_eq!(folder.read("t.csv", text, &ty), message);
    }
    assert_eq!(folder.read("t.csv", b"a,b,c\n1,2,\xff\n", &ty), r#"[{"a":1.0,"b":{"Just":2}}]"#);
    assert_eq!(folder.read("t.csv", b"a,b\n\xff,2\n", &ty), "FILE:2: column 1 (`a`) is not UTF-8");
}

#[test]
fn csv_without_a_header_is_read_by_position() {
    let folder = Folder::new();
    let pairs = Ty::array(pair(Ty::String, Ty::Bool));
    assert_eq!(
        folder.read("t.csv", "\"a, b\",true\n\"\"\"\",False\n", &pairs),
        r#"[["a, b",true],["\"",false]]"#
    );
    let matrix = Ty::array(Ty::array(Ty::Real));
    assert_eq!(folder.read("t.csv", "1,2\n3,4\n", &matrix), "[[1.0,2.0],[3.0,4.0]]");
    assert_eq!(
        folder.read("t.csv", "1,2\n3\n", &matrix),
        "FILE:2: expected 2 fields on the line, found 1"
    );
    assert_eq!(folder.read("t.csv", "1\n2\n", &Ty::array(Ty::Int)), "[1,2]");
    assert!(folder.read("t.csv", "1\n", &Ty::Real).contains("cannot hold a value of type `Real`"));
    let path = folder.file("t.csv", "about,this\nfile\n1\n2\n");
    let ints = Ty::array(Ty::Int);
    assert_eq!(read(&format!("{path}:skip=2"), &ints), "[1,2]");
    assert!(read(&format!("{path}:skip=3,4"), &ints)
        .ends_with("`:skip=3,4` is no value of the option `skip`"));
    assert!(read(&format!("{path}:skip=9"), &ints).ends_with("`skip=9` leaves no line of it"));
    let path = folder.file("t.csv", "about\n1\nx\n");
    assert!(read(&format!("{path}:skip=1"), &ints)
        .ends_with(":3: column 1 must be of type `Int`, found `x`"));
    assert!(help(&path, &ints).is_some_and(|h| h.contains(":header=yes")));
}

#[test]
fn missing_cells_are_nothing() {
    let folder = Folder::new();
    let cells = Ty::array(record([
        ("b", maybe(Ty::Bool)),
        ("i", maybe(Ty::Int)),
        ("r", maybe(Ty::Real)),
        ("s", maybe(Ty::String)),
    ]));
    let none = r#"{"b":{"Nothing":null},"i":{"Nothing":null},"r":{"Nothing":null}"#;
    let text = "r,i,b,s\n1,2,TRUE,x\nnan,0,false,NA\n,,,\n NA , n/a,NULL,\"\"\n";
    assert_eq!(
        folder.read("t.csv", text, &cells),
        [
            r#"[{"b":{"Just":true},"i":{"Just":2},"r":{"Just":1.0},"s":{"Just":"x"}}"#,
            r#"{"b":{"Just":false},"i":{"Just":0},"r":{"Nothing":null},"s":{"Nothing":null}}"#,
            &format!(r#"{none},"s":{{"Nothing":null}}}}"#),
            &format!(r#"{none},"s":{{"Just":""}}}}]"#),
        ]
        .join(",")
    );
    // A line with one cell.
    let three = r#"[{"Just":1},{"Nothing":null},{"Just":2}]"#;
    assert_eq!(folder.read("t.csv", "1\n\n2\n", &Ty::array(maybe(Ty::Int))), three);
    assert_eq!(folder.read("t.csv", "1\nNA\n2\n", &Ty::array(maybe(Ty::Int))), three);
    let column = Ty::array(record([("i", maybe(Ty::Int))]));
    assert_eq!(
        folder.read("t.csv", "i\n\n2\n", &column),
        r#"[{"i":{"Nothing":null}},{"i":{"Just":2}}]"#
    );
    let row = Ty::array(Ty::array(maybe(Ty::Int)));
    assert_eq!(
        folder.read("t.csv", "1,\n\n,2\n", &row),
        r#"[[{"Just":1},{"Nothing":null}],[{"Nothing":null},{"Just":2}]]"#
    );
}

#[test]
fn what_is_missing_where_it_must_not_be_is_named() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", Ty::Real), ("b", Ty::Int)]));
    for (text, message) in [
        ("a,b\n1,\n", "FILE:2: column 2 (`b`) must be of type `Int`, but it is empty"),
        (
            "a,b\n1,2\nna,2\n",
            "FILE:3: column 1 (`a`) must be of type `Real`, but it is `na`, a missing value",
        ),
        (
            "a,b\n1,9223372036854775808\n",
            "FILE:2: column 2 (`b`) must be of type `Int`, found `9223372036854775808`",
        ),
        ("a,b\n1,2,3\n", "FILE:2: expected 2 fields as in the header, found 3"),
    ] {
        assert_eq!(folder.read("t.csv", text, &ty), message);
    }
    let path = folder.file("t.csv", "a,b\n1,\n");
    assert_eq!(
        help(&path, &ty).as_deref(),
        Some("a column with missing cells has the type `Maybe[Int]`")
    );
    let path = folder.file("t.csv", "a,b\n1,2.5\n");
    assert!(help(&path, &ty).is_some_and(|help| help.starts_with("an Int is a whole number from")));
    assert_eq!(folder.read("t.csv", "NA\n", &Ty::array(Ty::String)), r#"["NA"]"#);
}

#[test]
fn quoted_cells_hold_anything() {
    let folder = Folder::new();
    let texts = Ty::array(pair(Ty::String, Ty::Int));
    for (text, read) in [
        ("\"a,\"\"b\"\"\",\"1\"\n", r#"[["a,\"b\"",1]]"#),
        ("\"a\r\n\nb\",1\r\nc,2", r#"[["a\r\n\nb",1],["c",2]]"#),
        ("a \"b\" c,1\n", r#"[["a \"b\" c",1]]"#),
        ("\"a\"  ,\"1\" \n", r#"[["a",1]]"#),
        ("a,1\n\"a\"b,1\n", "FILE:2: column 1 goes on with `b` behind its closing quote"),
        ("a,\"1\"2", "FILE:1: column 2 goes on with `2` behind its closing quote"),
        ("\"a\",\"1\"\r\"b\r\n\",\"2\"", r#"[["a",1],["b\r\n",2]]"#),
        ("\"\"\"\",1\n\"\",2\n,3\n", r#"[["\"",1],["",2],["",3]]"#),
        // Lines are counted within quotes and over empty lines.
        ("\"a\n\nb\",1\n\n\r\nc,x\n", "FILE:6: column 2 must be of type `Int`, found `x`"),
        ("a,1\nb,\"2\nc,3\n", "FILE:2: the quote that opens column 2 is not closed"),
        ("a,1\n\"", "FILE:2: the quote that opens column 1 is not closed"),
    ] {
        assert_eq!(folder.read("t.csv", text, &texts), read, "{text:?}");
    }
}

#[test]
fn numbers_beyond_the_reals_are_refused() {
    let folder = Folder::new();
    let row = Ty::array(Ty::array(Ty::Real));
    assert_eq!(
        folder.read("t.csv", "inf,-inf,1e-400,1e308\n", &row),
        r#"[["inf","-inf",0.0,1e+308]]"#
    );
    let text = "1\n-1e400\n";
    for ty in [Ty::Real, maybe(Ty::Real)] {
        let message = folder.read("t.csv", text, &Ty::array(ty));
        assert!(message.starts_with("FILE:2: column 1 must be of type"), "{message}");
        assert!(message.ends_with("found `-1e400`"), "{message}");
    }
    let path = folder.file("t.csv", text);
    assert!(help(&path, &Ty::array(Ty::Real)).is_some_and(|h| h.contains("written `inf`")));
    assert!(read("1e400", &Ty::Real).contains("number out of range"));
}

#[test]
fn a_table_of_no_rows_needs_no_line() {
    let folder = Folder::new();
    for ty in [Ty::Real, Ty::String, maybe(Ty::Int), pair(Ty::Real, Ty::Int), Ty::array(Ty::Real)] {
        for text in ["", "\u{feff}"] {
            assert_eq!(folder.read("t.csv", text, &Ty::array(ty.clone())), "[]", "{ty:?}");
        }
        let path = folder.file("t.csv", "title\n");
        assert_eq!(read(&format!("{path}:skip=1"), &Ty::array(ty.clone())), "[]");
        assert!(read(&format!("{path}:skip=2"), &Ty::array(ty)).ends_with("leaves no line of it"));
    }
}

#[test]
fn lines_may_be_very_long() {
    let folder = Folder::new();
    let long = "1,".repeat(5 << 20);
    let row = Ty::array(Ty::array(Ty::Int));
    assert_eq!(
        folder.read("t.csv", &long, &row),
        "FILE:1: column 5242881 must be of type `Int`, but it is empty"
    );
    let sum = folder.read("t.csv", format!("{long}1\n"), &row);
    assert_eq!(sum.len(), "[[]]".len() + long.len() + 1);
    let word = format!("1\n{}\n", "x".repeat(10 << 20));
    assert_eq!(
        folder.read("t.csv", word, &Ty::array(Ty::Int)),
        format!("FILE:2: column 1 must be of type `Int`, found `{}…`", "x".repeat(60))
    );
}

#[test]
fn other_texts_are_recognised() {
    let folder = Folder::new();
    let ty = Ty::array(pair(Ty::Int, Ty::Int));
    assert_eq!(folder.read("t.tsv", "1\t2\n\"3\"\t4\n", &ty), "[[1,2],[3,4]]");
    let tabs = folder.file("t.csv", "1\t2\n");
    assert!(read(&tabs, &ty).ends_with("it seems to be separated by tabs"));
    assert!(help(&tabs, &ty).is_some_and(|help| help.contains(":sep=tab`")));
    for (name, text, message) in [
        (
            "t.tsv",
            &b"1,2\n"[..],
            "FILE:1: the line has one field; it seems to be separated by commas",
        ),
        ("t.csv", b"\xff\xfe1\0,\x002\0\n\0", "[[1,2]]"),
        ("t.csv", b"1,2\n3,\xe4\n", "FILE:2: column 2 is not UTF-8"),
    ] {
        assert_eq!(folder.read(name, text, &ty), message);
    }
}

#[test]
fn an_invisible_character_is_written_out() {
    let folder = Folder::new();
    for (cell, shown, code) in [
        ("2.0\u{200b}", "2.0\\u{200b}", "U+200B"),
        ("2\u{a0}000.0", "2\\u{a0}000.0", ":thousands=space`"),
        ("2.0\u{7}", "2.0\\u{7}", "U+0007"),
    ] {
        let path = folder.file("x.csv", format!("1.0\n{cell}\n"));
        let ty = Ty::array(Ty::Real);
        assert!(read(&path, &ty).ends_with(&format!("found `{shown}`")), "{}", read(&path, &ty));
        assert!(help(&path, &ty).is_some_and(|help| help.contains(code)), "{code}");
    }
}

#[test]
fn line_breaks_are_of_one_kind() {
    let folder = Folder::new();
    let ty = Ty::array(pair(Ty::Int, Ty::String));
    for text in [
        "1,a\r2,b\r3,c\r",
        "1,a\r2,b\r\r3,c",
        "1,a\r\n2,b\r\n3,c\r\n",
        "1,a\r\r\n2,b\r\r\n3,c\r\r\n",
        "1,a\r\n2,b\n3,c",
        "1,\"a\"\r2,b\r3,c",
    ] {
        assert_eq!(folder.read("t.csv", text, &ty), r#"[[1,"a"],[2,"b"],[3,"c"]]"#, "{text:?}");
    }
    let path = folder.file("t.csv", "title\ra,b # c\r# d\r1,x\r");
    let named = Ty::array(record([("a", Ty::Int), ("b", Ty::String)]));
    assert_eq!(read(&format!("{path}:skip=1:comment=#"), &named), r#"[{"a":1,"b":"x"}]"#);
    // The line of a message.
    assert_eq!(
        folder.read("t.csv", "1,a\r\r2,b\rx,c\r", &ty),
        "FILE:4: column 1 must be of type `Int`, found `x`"
    );
    let mixed = "the file has two kinds of line breaks: some are a carriage return alone";
    for (text, line) in [
        ("1,a\n2,b\r3,c\n", 2),
        ("1,a\r2,b\n3,c\r", 2),
        ("1,a\n2,\"b\"\r3,c\n", 2),
        ("1,a\r\n2,b\r3,c\r\n", 2),
    ] {
        assert_eq!(folder.read("t.csv", text, &ty), format!("FILE:{line}: {mixed}"), "{text:?}");
    }
}

#[test]
fn empty_lines_are_no_rows_but_between_cells_of_one_column() {
    let folder = Folder::new();
    let (reals, maybes) = (Ty::array(Ty::Real), Ty::array(maybe(Ty::Real)));
    let pairs = Ty::array(pair(maybe(Ty::Real), maybe(Ty::Real)));
    let column = Ty::array(record([("a", maybe(Ty::Real))]));
    let (just, nothing) = (r#"{"Just":1.0}"#, r#"{"Nothing":null}"#);
    for (text, ty, value) in [
        ("1\n\n1\n", &reals, "[1.0,1.0]".to_string()),
        ("1\n1\n\n\n", &maybes, format!("[{just},{just}]")),
        ("1\n1\n \t\r\n", &maybes, format!("[{just},{just}]")),
        ("1\n\n  \n1\n\n", &maybes, format!("[{just},{nothing},{nothing},{just}]")),
        ("1\nNA\n\n", &maybes, format!("[{just},{nothing}]")),
        ("1\n\n\"\"\n", &maybes, format!("[{just},{nothing},{nothing}]")),
        ("a\n\n1\n\n", &column, format!(r#"[{{"a":{nothing}}},{{"a":{just}}}]"#)),
        ("\n\n", &maybes, "[]".to_string()),
        // A row of separators alone is a row; a line of blanks is none.
        (
            "1,1\n,\n  \n1,\n\n",
            &pairs,
            format!("[[{just},{just}],[{nothing},{nothing}],[{just},{nothing}]]"),
        ),
    ] {
        assert_eq!(folder.read("t.csv", text, ty), value, "{text:?}");
    }
    let tabs = folder.read("t.tsv", "1\t1\n\t\n  \n", &pairs);
    assert_eq!(tabs, format!("[[{just},{just}],[{nothing},{nothing}]]"));
    let path = folder.file("t.csv", "1\n\n1\n");
    assert_eq!(read(&format!("{path}:rows=2"), &maybes), format!("[{just},{nothing}]"));
    let path = folder.file("t.csv", "a,b\n1,1\n,\n1,1\n");
    let records = Ty::array(record([("a", Ty::Real), ("b", Ty::Real)]));
    assert!(read(&path, &records).ends_with("but it is empty"));
    assert!(help(&path, &records).is_some_and(|help| help.starts_with("the row is empty")));
}

#[test]
fn text_that_is_not_in_its_encoding_is_refused_with_the_line() {
    let folder = Folder::new();
    let ty = Ty::array(Ty::String);
    let bytes = |units: &[u16], big: bool| -> Vec<u8> {
        let unit = move |u: &u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        units.iter().flat_map(unit).collect()
    };
    let text = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
    let malformed = "the text is malformed UTF-16: half of a character stands on this line";
    for big in [false, true] {
        // Far behind the first buffer, too.
        for rows in [1, 50_000] {
            let good = text(&format!("\u{feff}{}", "å𝄞\n".repeat(rows)));
            let read = folder.read("t.csv", bytes(&good, big), &ty);
            assert_eq!(read.len(), "[]".len() + rows * "\"å𝄞\",".len() - 1);
            for half in [&[0xd800][..], &[0xdc00], &[0xdc00, 0xd800], &[0xd800, 0x41]] {
                let bad = [&good, half, &text("x\nb\n")[..]].concat();
                let found = folder.read("t.csv", bytes(&bad, big), &ty);
                assert_eq!(found, format!("FILE:{}: {malformed}", rows + 1), "{half:x?}");
            }
            let odd = [&bytes(&good, big)[..], &[0]].concat();
            assert_eq!(folder.read("t.csv", odd, &ty), format!("FILE:{}: {malformed}", rows + 1));
        }
    }
    let mut utf32 = vec![0xff, 0xfe, 0, 0];
    utf32.extend("1\n".chars().flat_map(|c| u32::from(c).to_le_bytes()));
    for (name, bytes, message) in [
        ("t.csv", &utf32[..], "FILE: the text is UTF-32, which is not read"),
        ("t.json", &utf32, "FILE: the text is UTF-32, which is not read"),
        ("t.csv", &utf32[4..], "FILE:1: the text seems to be UTF-32, which is not read"),
        ("t.csv", b"\xef\xbb\xbfa\n\xff\n", "FILE:2: column 1 is not UTF-8"),
    ] {
        let ty = if name == "t.csv" && bytes[0] == 0xef { &ty } else { &Ty::array(Ty::Real) };
        assert_eq!(folder.read(name, bytes, ty), message);
        let path = folder.file(name, bytes);
        let help = help(&path, ty).unwrap_or_default();
        assert!(help.contains("save it") && !help.contains("encoding="), "{message}: {help}");
    }
    // What the option says cannot be said again.
    let path = folder.file("t.csv", &utf32[4..]);
    let again = help(&format!("{path}:encoding=utf-16"), &Ty::array(Ty::Real));
    assert!(again.is_some_and(|help| help.contains("save it as UTF-8")));
}
