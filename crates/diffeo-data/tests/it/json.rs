//! JSON into values, and values into JSON.

use super::*;

#[test]
fn numbers_read_back_exactly() {
    for text in ["9223372036854775807", "-9223372036854775808", "0"] {
        assert_eq!(read(text, &Ty::Int), text);
    }
    for r in [0.1, -0.0, 5e-324, f64::MAX, 1.0 / 3.0, 9007199254740993.0, 1e300] {
        let written = read(&format!("{r:e}"), &Ty::Real);
        assert_eq!(written.parse::<f64>().map(f64::to_bits), Ok(r.to_bits()), "{written}");
    }
    assert_eq!(read("3", &Ty::Real), "3.0");
    for text in ["\"nan\"", "\"inf\"", "\"-inf\""] {
        assert_eq!(read(text, &Ty::Real), text);
    }
}

#[test]
fn values_of_every_type_are_read_and_written() {
    let row = record([("a", Ty::Real), ("b", Ty::Bool)]);
    for (text, ty) in [
        ("null", Ty::Unit),
        ("[1.5,true]", pair(Ty::Real, Ty::Bool)),
        ("[[1,2],[3,4],[5,6]]", Ty::array(Ty::array(Ty::Int))),
        ("[]", Ty::array(Ty::array(Ty::Int))),
        ("[[],[]]", Ty::array(Ty::array(Ty::Int))),
        (r#"[{"a":1.0,"b":true},{"a":2.0,"b":false}]"#, Ty::array(row)),
        (r#"["","ä\n\"\\"]"#, Ty::array(Ty::String)),
        ("[[1],[2,3],[]]", list(Ty::array(Ty::Int))),
        ("[[1],[2,3],[]]", Ty::array(list(Ty::Int))),
        (r#"[{"Just":1.0},{"Nothing":null}]"#, Ty::array(maybe(Ty::Real))),
        (r#"{"Just":[1,2]}"#, maybe(pair(Ty::Int, Ty::Int))),
        (r#"{"Just":{"Nothing":null}}"#, maybe(maybe(Ty::Int))),
        (r#"{"Node":[{"Leaf":1},{"Node":[{"Leaf":2},{"Leaf":3}]}]}"#, tree(Ty::Int)),
        (r#"{"Just":null}"#, maybe(Ty::Unit)),
    ] {
        assert_eq!(read(text, &ty), text);
    }
    assert_eq!(
        read(r#" { "b" : true , "a" : 1 } "#, &record([("a", Ty::Real), ("b", Ty::Bool)])),
        r#"{"a":1.0,"b":true}"#
    );
}

#[test]
fn a_string_is_the_text_itself_unless_it_is_a_json_string() {
    assert_eq!(read("hello", &Ty::String), "\"hello\"");
    assert_eq!(read("\"hello\"", &Ty::String), "\"hello\"");
    assert_eq!(read("\"hello\" you", &Ty::String), r#""\"hello\" you""#);
    assert_eq!(read("17", &Ty::String), "\"17\"");
    assert_eq!(read("", &Ty::String), "\"\"");
    assert_eq!(read("notes.csv", &Ty::String), "\"notes.csv\"");
}

#[test]
fn json_of_another_type_is_refused_with_its_place() {
    let text = "the argument's text, column";
    let ab = record([("alpha", Ty::Real), ("b", Ty::Int)]);
    for (json, ty, message) in [
        ("1.0", Ty::Int, "3: expected `Int`, found the number 1.0"),
        ("9223372036854775808", Ty::Int, "19: expected `Int`, found the number 9223372036854775808"),
        ("1", Ty::Bool, "1: expected `Bool`, found the number 1"),
        ("true", Ty::Real, "4: expected `Real`, found true"),
        ("1e999", Ty::Real, "5: this is not JSON: number out of range"),
        ("[1,[2]]", Ty::array(Ty::Real), "4: at `x[1]`, expected `Real`, found an array"),
        ("[\"ä\", \"b\"]", Ty::array(Ty::Real), "4: at `x[0]`, expected `Real`, found the string \"ä\""),
        ("[1]", pair(Ty::Int, Ty::Int), "3: expected the 2 components of `(Int, Int)`, found 1 element"),
        ("[1,2,3]", pair(Ty::Int, Ty::Int), "7: expected the 2 components of `(Int, Int)`, found 3 elements"),
        ("{\"b\":1}", ab.clone(), "7: field `alpha` of `{alpha: Real, b: Int}` is missing"),
        ("{\"b\":1,\"b\":2}", ab.clone(), "10: `b` is given twice"),
        ("[{\"alhpa\":1}]", Ty::array(ab), "12: at `x[0]`, fields `alpha`, `b` of `{alpha: Real, b: Int}` are missing"),
        ("[true]", Ty::array(maybe(Ty::Int)), "5: at `x[0]`, expected `Maybe[Int]`, found true"),
        ("[[1],[true]]", Ty::array(maybe(list(Ty::Int))), "10: at `x[1][0]`, expected `Int`, found true"),
        ("null", maybe(Ty::Unit), "4: expected `Maybe[()]`, found null"),
        ("null", maybe(maybe(Ty::Int)), "4: expected `Maybe[Maybe[Int]]`, found null"),
        ("{\"x\": 1}", maybe(Ty::Int), "4: `x` is no constructor of `Maybe[Int]`"),
        ("null", tree(Ty::Int), "4: expected `Tree[Int]`, found null"),
        ("[[1,2],[3]]", Ty::array(Ty::array(Ty::Int)), "10: at `x[1]`, the rows of an array have the same length, but this one has 1 element and the first has 2"),
        ("[1, 2", Ty::array(Ty::Int), "5: this is not JSON: it ends within an array"),
        ("1 2", Ty::Int, "3: this is not JSON: there is more behind the value"),
    ] {
        let found = read(json, &ty);
        assert_eq!(found.strip_prefix(text).map(str::trim), Some(message), "{json}: {found}");
    }
    assert!(help("{\"Jsut\": 1}", &maybe(Ty::Int)).is_some_and(|h| h.contains("`Just`")));
    assert!(help("{\"alhpa\": 1}", &record([("alpha", Ty::Int)]))
        .is_some_and(|h| h.contains("`alpha`")));
}

#[test]
fn deep_trees_are_read_and_deeper_ones_refused() {
    let spine = |n: usize| {
        format!("{}{{\"Leaf\":1}}{}", "{\"Node\":[{\"Leaf\":1},".repeat(n), "]}".repeat(n))
    };
    let text = spine(2_000);
    assert_eq!(read(&text, &tree(Ty::Int)), text);
    assert!(read(&spine(15_000), &tree(Ty::Int)).ends_with("more than 20000 levels deep"));
    assert!(read(&"[".repeat(1_000_000), &Ty::String).starts_with("\"[[["));
}

#[test]
fn json_files_name_the_line() {
    let folder = Folder::new();
    let ty = Ty::array(Ty::Int);
    assert_eq!(folder.read("a.json", "\u{feff}[1,\n 2]\n", &ty), "[1,2]");
    assert_eq!(
        folder.read("a.json", "[1,\n true]", &ty),
        "FILE:2:5: at `x[1]`, expected `Int`, found true"
    );
    assert_eq!(folder.read("a.json", b"[1,\n \xff]", &ty), "FILE:2: the text is not UTF-8");
    assert_eq!(folder.read("a.json", b"\xff\xfe[\x001\x00]\x00", &ty), "FILE: the text is UTF-16");
    assert_eq!(folder.read("a.json", " \n", &ty), "FILE: there is nothing in it");
    assert!(read("no-such-file.json", &ty).ends_with("there is no such file"));
}

#[test]
fn what_may_be_missing_needs_no_constructors() {
    let point = record([("x", Ty::Real), ("y", maybe(Ty::Int))]);
    for (text, ty, same) in [
        ("null", maybe(Ty::Int), r#"{"Nothing":null}"#),
        ("3", maybe(Ty::Int), r#"{"Just":3}"#),
        (
            "[1, null, \"nan\"]",
            Ty::array(maybe(Ty::Real)),
            r#"[{"Just":1.0},{"Nothing":null},{"Just":"nan"}]"#,
        ),
        ("[true, null]", Ty::array(maybe(Ty::Bool)), r#"[{"Just":true},{"Nothing":null}]"#),
        ("[\"a\", null]", Ty::array(maybe(Ty::String)), r#"[{"Just":"a"},{"Nothing":null}]"#),
        ("[[1, 2]]", Ty::array(maybe(pair(Ty::Int, Ty::Int))), r#"[{"Just":[1,2]}]"#),
        ("[-1, 2]", maybe(list(Ty::Int)), r#"{"Just":[-1,2]}"#),
        (r#"{"x": 1}"#, point.clone(), r#"{"x":1.0,"y":{"Nothing":null}}"#),
        (r#"{"x": 1, "y": 2}"#, maybe(point.clone()), r#"{"Just":{"x":1.0,"y":{"Just":2}}}"#),
        (r#"{"Just": {"x": 1}}"#, maybe(point), r#"{"Just":{"x":1.0,"y":{"Nothing":null}}}"#),
        ("{}", maybe(record([("y", maybe(Ty::Int))])), r#"{"Just":{"y":{"Nothing":null}}}"#),
    ] {
        assert_eq!(read(text, &ty), same, "{text}");
    }
    // Further fields are passed over, however deep they are.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for further in ["2", r#"{"y": [null, {}]}"#, &deep] {
        let text = format!(r#"{{"z": {further}, "y": 1, "zz": {further}}}"#);
        assert_eq!(read(&text, &record([("y", Ty::Int)])), r#"{"y":1}"#);
        assert_eq!(read(&text, &maybe(record([("y", Ty::Int)]))), r#"{"Just":{"y":1}}"#);
    }
}

#[test]
fn what_is_no_json_is_named_with_what_json_has_for_it() {
    let folder = Folder::new();
    for (text, found, words) in [
        ("[1.0, NaN]", "NaN", "write \"nan\""),
        ("[1.0, nan]", "nan", "write \"nan\""),
        ("[1.0,\n -Infinity]", "-Infinity", "\"-inf\""),
        ("[Infinity]", "Infinity", "\"inf\""),
        ("[None]", "None", "`null`"),
        ("[True]", "True", "`true`"),
        ("['a']", "'", "double quotation marks"),
        ("[.5]", ".5", "`0.5`"),
    ] {
        let ty = Ty::array(Ty::Real);
        for place in [text.to_string(), folder.file("x.json", text)] {
            let message = read(&place, &ty);
            assert!(message.ends_with(&format!(", found `{found}`")), "{message}");
            let help = help(&place, &ty).unwrap_or_default();
            assert!(help.contains(words), "{text}: {help}");
        }
    }
}
