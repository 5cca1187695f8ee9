//! Data in, data out: values are compared as the JSON that is written for them.

use super::{check_writable, read_argument, to_json, write_result, Field, Place};
use diffeo_base::Name;
use diffeo_calculus::ty::{ConstructorDecl, DataDecl, DataId, Ty};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `Maybe`, `List` and a type of trees.
fn datas() -> Vec<DataDecl> {
    let constructor = |name: &str, fields| ConstructorDecl { name: Name::new(name), fields };
    let param = Ty::Param(0);
    let of = |id| Ty::Data(DataId(id), [Ty::Param(0)].into());
    let decl =
        |name: &str, constructors| DataDecl { name: Name::new(name), params: 1, constructors };
    vec![
        decl(
            "Maybe",
            vec![constructor("Nothing", vec![]), constructor("Just", vec![param.clone()])],
        ),
        decl(
            "List",
            vec![constructor("Nil", vec![]), constructor("Cons", vec![param.clone(), of(1)])],
        ),
        decl(
            "Tree",
            vec![constructor("Leaf", vec![param]), constructor("Node", vec![of(2), of(2)])],
        ),
    ]
}

fn maybe(ty: Ty) -> Ty {
    Ty::Data(DataId(0), [ty].into())
}

fn list(ty: Ty) -> Ty {
    Ty::Data(DataId(1), [ty].into())
}

fn tree(ty: Ty) -> Ty {
    Ty::Data(DataId(2), [ty].into())
}

fn record<const N: usize>(fields: [(&str, Ty); N]) -> Ty {
    Ty::Record(fields.into_iter().map(|(name, ty)| (Name::new(name), ty)).collect())
}

fn pair(a: Ty, b: Ty) -> Ty {
    Ty::tuple(vec![a, b])
}

/// The JSON of what is read, or the message without the part that all messages have.
fn read(text: &str, ty: &Ty) -> String {
    let datas = datas();
    match read_argument(text, &Field { name: "x", ty, written: None }, &datas, &|| Ok(())) {
        Ok(value) => {
            let mut out = Vec::new();
            to_json(&mut out, &value, ty, &datas).expect("writing to memory");
            String::from_utf8(out).expect("JSON is UTF-8")
        }
        Err(error) => {
            let message = error.to_diagnostic(&datas).message;
            let (_, rest) = message.split_once(" from ").expect("where from");
            rest.to_string()
        }
    }
}

fn help(text: &str, ty: &Ty) -> Option<String> {
    let datas = datas();
    let read = read_argument(text, &Field { name: "x", ty, written: None }, &datas, &|| Ok(()));
    read.err().and_then(|error| error.to_diagnostic(&datas).help)
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name =
            format!("diffeo-data-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a file for the test");
        path.display().to_string()
    }

    /// What is read from a file with these bytes, `FILE` standing for its name in a message.
    fn read(&self, name: &str, bytes: impl AsRef<[u8]>, ty: &Ty) -> String {
        let path = self.file(name, bytes);
        read(&path, ty).replace(&path, "FILE")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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
        ("[{\"alhpa\":1}]", Ty::array(ab), "9: at `x[0]`, there is no field `alhpa`; the fields are `alpha`, `b`"),
        ("null", maybe(Ty::Int), "4: expected `Maybe[Int]`, found null"),
        ("[[1,2],[3]]", Ty::array(Ty::array(Ty::Int)), "10: at `x[1]`, the rows of an array have the same length, but this one has 1 element and the first has 2"),
        ("[1, 2", Ty::array(Ty::Int), "5: this is not JSON: EOF while parsing a list"),
        ("1 2", Ty::Int, "3: this is not JSON: trailing characters"),
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
    assert_eq!(folder.read("a.json", " \n", &ty), "FILE: there is nothing in it");
    assert!(read("no-such-file.json", &ty).ends_with("there is no such file"));
}

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
        ("a,b\n1,2.0\n", "FILE:2: column 2 (`b`) must be of type `Maybe[Int]`, found `2.0`"),
        (
            "a,b\r\n\r\n1,2\r\n,2\r\n",
            "FILE:4: column 1 (`a`) must be of type `Real`, but it is empty",
        ),
        ("a;b\n1;2\n", "FILE:1: the line has one field; it seems to be separated by semicolons"),
        ("", "FILE: there is nothing in it"),
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
        .ends_with("`:skip=3,4` is no option of a CSV file"));
    assert!(read(&format!("{path}:skip=9"), &ints).ends_with("`skip=9` leaves no line of it"));
    let path = folder.file("t.csv", "about\n1\nx\n");
    assert!(read(&format!("{path}:skip=1"), &ints)
        .ends_with(":3: column 1 must be of type `Int`, found `x`"));
    assert!(help(&path, &ints).is_some_and(|h| h.contains(":skip=1")));
}

/// An NPY file with this header and data.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16 + 1).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.push(b'\n');
    bytes.extend(data);
    bytes
}

#[test]
fn npy_files_are_read_whatever_their_byte_and_index_order() {
    let folder = Folder::new();
    let matrix = Ty::array(Ty::array(Ty::Real));
    let numbers: Vec<u8> = (0..6).flat_map(|i| f64::from(i).to_le_bytes()).collect();
    let header = |order| format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': (2, 3), }}");
    assert_eq!(
        folder.read("a.npy", npy(&header("False"), &numbers), &matrix),
        "[[0.0,1.0,2.0],[3.0,4.0,5.0]]"
    );
    assert_eq!(
        folder.read("a.npy", npy(&header("True"), &numbers), &matrix),
        "[[0.0,2.0,4.0],[1.0,3.0,5.0]]"
    );
    let big = "{'shape': (2,), 'fortran_order': False, 'descr': '>i2'}";
    assert_eq!(
        folder.read("a.npy", npy(big, &[1, 0, 0xff, 0xfe]), &Ty::array(Ty::Int)),
        "[256,-2]"
    );
    let scalar = "{'descr': '|b1', 'fortran_order': False, 'shape': ()}";
    assert_eq!(folder.read("a.npy", npy(scalar, &[1]), &Ty::Bool), "true");
    for (ty, message) in [
        (
            Ty::array(Ty::Real),
            "FILE: the array has the shape 2×3 (2 dimensions), the type has 1 dimension",
        ),
        (
            Ty::array(Ty::array(Ty::Int)),
            "FILE: the elements have the dtype `<f8`, the type wants `Int`",
        ),
        (Ty::Unit, "FILE: an NPY file cannot hold a value of type `()`"),
    ] {
        assert_eq!(folder.read("a.npy", npy(&header("False"), &numbers), &ty), message);
    }
    let unsound = "FILE: this is not a sound NPY file: it ends too early";
    assert_eq!(folder.read("a.npy", npy(&header("False"), &numbers[..40]), &matrix), unsound);
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999)}";
    assert!(folder.read("a.npy", npy(huge, &[]), &matrix).ends_with("is too large"));
    assert!(folder.read("a.npy", b"1,2,3,4,5", &matrix).contains("does not begin with the mark"));
}

#[test]
fn arrays_of_npz_files_are_found_by_name() {
    use std::io::Write;
    let folder = Folder::new();
    let path = folder.0.join("w.npz");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    for (name, byte) in [("x", 1), ("weights", 2)] {
        zip.start_file(format!("{name}.npy"), options).expect("a member");
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}";
        zip.write_all(&npy(header, &[byte])).expect("its data");
    }
    zip.finish().expect("the archive");
    let path = path.display().to_string();
    let ints = Ty::array(Ty::Int);
    assert_eq!(read(&path, &ints), "[1]");
    assert_eq!(read(&format!("{path}:weights"), &ints), "[2]");
    assert!(read(&format!("{path}:weihgts"), &ints)
        .ends_with("there is no array `weihgts`; there is `weights`, `x`"));
    assert!(help(&format!("{path}:weihgts"), &ints).is_some_and(|h| h.contains("`weights`")));
    assert!(folder.read("w.npz", b"no archive", &ints).contains("not a sound NPZ file"));
}

#[test]
fn what_is_written_is_read_back() {
    let folder = Folder::new();
    let datas = datas();
    let cells = record([("a", maybe(Ty::Real)), ("b", Ty::String)]);
    for (name, text, ty) in [
        ("o.json", r#"{"Node":[{"Leaf":1.5},{"Leaf":"nan"}]}"#, tree(Ty::Real)),
        ("o.npy", "[[[0.1,2.0]],[[\"inf\",-0.0]]]", Ty::array(Ty::array(Ty::array(Ty::Real)))),
        ("o.npy", "-9223372036854775808", Ty::Int),
        ("o.npy", "[]", Ty::array(Ty::array(Ty::Bool))),
        (
            "o.csv",
            r#"[{"a":{"Just":1e+300},"b":"x, y"},{"a":{"Nothing":null},"b":"\"\n"}]"#,
            Ty::array(cells),
        ),
        ("o.csv", "[[1,true],[2,false]]", Ty::array(pair(Ty::Int, Ty::Bool))),
        ("o.csv", "[[0.1,\"nan\"],[2.0,\"-inf\"]]", Ty::array(Ty::array(Ty::Real))),
        ("o.csv", r#"[{"Nothing":null},{"Just":1}]"#, Ty::array(maybe(Ty::Int))),
    ] {
        let field = Field { name: "x", ty: &ty, written: None };
        let value = read_argument(text, &field, &datas, &|| Ok(())).expect("sound JSON");
        let path = folder.0.join(name).display().to_string();
        let place = Place::of(&path).expect("a name with a format");
        write_result(&place, &value, &ty, &datas).expect("a file written");
        assert_eq!(read(&path, &ty), text);
    }
    let left = std::fs::read_dir(&folder.0).expect("the folder").count();
    assert_eq!(left, 3, "nothing but the results is left");
}

#[test]
fn a_type_that_the_format_cannot_hold_is_known_before() {
    let datas = datas();
    let nested = Ty::array(pair(Ty::array(Ty::Int), Ty::Int));
    for (name, ty, fits) in [
        ("o.csv", &Ty::Real, false),
        ("o.csv", &nested, false),
        ("o.npy", &nested, false),
        ("o.npy", &Ty::String, false),
        ("o.JSON", &nested, true),
        ("o.npy", &Ty::Real, true),
    ] {
        let place = Place::of(name).expect("a name with a format");
        assert_eq!(check_writable(&place, ty, &datas).is_ok(), fits, "{name}");
    }
}
