//! Results into files.

use super::*;
use diffeo_calculus::array::Array;
use diffeo_calculus::value::Value;

#[test]
fn what_is_written_is_read_back() {
    let folder = Folder::new();
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
        ("o.csv", r#"[{"Just":""},{"Nothing":null}]"#, Ty::array(maybe(Ty::String))),
        (
            "o.csv",
            r#"[[{"Nothing":null}],[{"Just":"\r"}]]"#,
            Ty::array(Ty::array(maybe(Ty::String))),
        ),
        ("o.csv", "[]", Ty::array(Ty::Real)),
        ("o.csv", "[]", Ty::array(Ty::array(Ty::Real))),
        ("o.csv", "[]", Ty::array(pair(Ty::Real, Ty::Int))),
        ("o.csv", "[]", Ty::array(record([("a", Ty::Real)]))),
        ("o.csv.gz", "[]", Ty::array(pair(Ty::Real, Ty::Int))),
        ("o.tsv", r#"[["a\tb",1],["c,d",2]]"#, Ty::array(pair(Ty::String, Ty::Int))),
        ("o.csv", r#"["","NA"," a "]"#, Ty::array(Ty::String)),
        (
            "o.csv",
            r#"[{"Just":"NA"},{"Just":" - "},{"Nothing":null}]"#,
            Ty::array(maybe(Ty::String)),
        ),
        ("o.csv", r#"[{"Just":1.5},{"Nothing":null}]"#, Ty::array(maybe(Ty::Real))),
        (
            "o.csv",
            r#"[{"a":{"Nothing":null}},{"a":{"Nothing":null}}]"#,
            Ty::array(record([("a", maybe(Ty::Int))])),
        ),
        (
            "o.csv",
            r#"[[{"Nothing":null}],[{"Just":true}],[{"Nothing":null}]]"#,
            Ty::array(Ty::array(maybe(Ty::Bool))),
        ),
        ("o.csv", r#"["","  ","\t","a"]"#, Ty::array(Ty::String)),
        ("o.csv", r#"["\ufeffa"]"#, Ty::array(Ty::String)),
        ("o.csv", r#"["<html>"]"#, Ty::array(Ty::String)),
        (
            "o.csv",
            r#"{"a":[1.5,2.0],"b":["x, y","\""]}"#,
            record([("a", Ty::array(Ty::Real)), ("b", Ty::array(Ty::String))]),
        ),
        ("o.txt", r#"[["a\tb",1],["c,d",2]]"#, Ty::array(pair(Ty::String, Ty::Int))),
        ("o.txt", "[[0.1,\"nan\"],[2.0,\"-inf\"]]", Ty::array(Ty::array(Ty::Real))),
        ("o.dat", r#"[{"a c":"x y"},{"a c":"z;"}]"#, Ty::array(record([("a c", Ty::String)]))),
        ("o.csv.gz", "[[1,true],[2,false]]", Ty::array(pair(Ty::Int, Ty::Bool))),
        ("o.json.gz", r#"{"Just":"x"}"#, maybe(Ty::String)),
        ("o.npy.gz", "[1,2,3]", Ty::array(Ty::Int)),
        (
            "o.npz",
            r#"{"a":[1,2],"b":[[true]]}"#,
            record([("a", Ty::array(Ty::Int)), ("b", Ty::array(Ty::array(Ty::Bool)))]),
        ),
        ("o.npz.gz", r#"{"a":1.5}"#, record([("a", Ty::Real)])),
    ] {
        let path = folder.write(name, text, &ty).expect("a file written");
        assert_eq!(read(&path, &ty), text);
    }
    // A nan is missing where a cell may be.
    let nan = folder.write("o.csv", r#"[{"Just":"nan"}]"#, &Ty::array(maybe(Ty::Real)));
    let read = read(&nan.expect("a file written"), &Ty::array(maybe(Ty::Real)));
    assert_eq!(read, r#"[{"Nothing":null}]"#);
    let left = std::fs::read_dir(&folder.0).expect("the folder").count();
    assert_eq!(left, 11, "nothing but the results is left");
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
        assert_eq!(check_writable(&place, "", ty, &datas).is_ok(), fits, "{name}");
    }
}

/// The message of what cannot be written, and the help.
fn refusal(name: &str, part: &str, ty: &Ty) -> (String, String) {
    let datas = datas();
    let place = Place::of(name).expect("a name with a format");
    let refused = check_writable(&place, part, ty, &datas).expect_err("a type that does not fit");
    let diagnostic = refused.to_diagnostic(&datas);
    let (_, why) = diagnostic.message.split_once("`: ").expect("a reason");
    let help = diagnostic.help.expect("help").written(Spelling::CommandLine);
    (why.to_string(), help)
}

#[test]
fn what_does_not_fit_is_named_with_what_to_do() {
    let reals = Ty::array(Ty::Real);
    let nested = record([("c", reals.clone())]);
    let columns = record([("a", reals.clone()), ("b", nested.clone()), ("n", Ty::Int)]);
    let many = record([("k", Ty::Int), ("l", Ty::Int), ("m", Ty::Int), ("n", reals.clone())]);
    let rows = |ty: &Ty| Ty::array(record([("a", Ty::Real), ("b", ty.clone())]));
    let cell = "a cell is a Real, Int, Bool or String, or a `Maybe` of one of these; ";
    let all = ".json holds every value";
    for (name, part, ty, why, help) in [
        // No table at all
        (
            "o.csv", "", Ty::Real, "it is one number, no table",
            "an array, `[x]`, is a table with a line for each element; this type fits into .npy and .json",
        ),
        ("o.csv", "", Ty::String, "it is a text, no table", "a String is written to a .txt file as it is"),
        (
            "o.txt", "", pair(Ty::Real, Ty::Int), "it is a tuple, no table",
            "an array of such tuples, `[t]`, is a table of one row; .json holds every value",
        ),
        (
            "o.csv", "", pair(reals.clone(), reals.clone()), "it is a tuple, no table",
            "a record has them by name, `{a = …, b = …}`; .json holds every value",
        ),
        ("o.csv", "", tree(Ty::Real), "it is a value of a variant type, no table", all),
        ("o.csv", "", maybe(reals.clone()), "it is a value that may be missing, no table", "`case` takes it out of `Just`"),
        // Fields that are no columns
        (
            "o.csv", "", columns.clone(), "the fields `b: {c: []Real}` and `n: Int` of it are no columns",
            "`--out a=a.csv` writes the field `a` alone; .json holds every value",
        ),
        (
            "o.tsv", "fit.rate", columns.clone(), "the fields `b: {c: []Real}` and `n: Int` of it are no columns",
            "`--out fit.rate.a=a.tsv` writes the field `a` alone; .json holds every value",
        ),
        (
            "o.csv", "", many, "the fields `k: Int`, `l: Int` and `m: Int` of it are no columns",
            "`--out n=n.csv` writes the field `n` alone; this type fits into .npz and .json",
        ),
        (
            "o.csv", "", record([("a", Ty::Real), ("b", Ty::Int)]),
            "the fields `a: Real` and `b: Int` of it are no columns",
            "an array of such records, `[r]`, is a table of one row; this type fits into .npz and .json",
        ),
        // Rows with parts that are no cells
        (
            "o.csv", "", rows(&nested), "the field `b: {c: []Real}` of its rows is no cell",
            "put the fields of `b` beside the others of a row; .json holds every value",
        ),
        (
            "o.csv", "", rows(&reals), "the field `b: []Real` of its rows is no cell",
            "give each element of `b` a field of its own, or a row of its own; .json holds every value",
        ),
        (
            "o.csv", "", Ty::array(pair(Ty::Real, pair(Ty::Int, Ty::Int))),
            "the component 1 of its rows, of type `(Int, Int)`, is no cell",
            "a row of single components, `(a, b, c)`, holds them; .json holds every value",
        ),
        (
            "o.csv", "", Ty::array(Ty::array(reals.clone())),
            "the elements of its rows, of type `[]Real`, are no cells", "this type fits into .npy and .json",
        ),
        // NumPy's
        (
            "o.npy", "", columns.clone(), "it is a record, no array of numbers",
            "it holds a Real, Int or Bool, or an array of them of any rank; .json holds every value",
        ),
        (
            "o.npy", "", rows(&Ty::Int), "its elements, of type `{a: Real, b: Int}`, are not Real, Int or Bool",
            "a record of arrays in place of an array of records fits into .npz; .json holds every value",
        ),
        ("o.npz", "", Ty::Real, "it is one number, no record of arrays", "a record, `{x = …}`, gives it a name"),
        (
            "o.npz", "", columns, "the field `b: {c: []Real}` of it is no array of numbers",
            "`--out a=a.npy` writes the field `a` alone; .json holds every value",
        ),
    ] {
        let (told, advised) = refusal(name, part, &ty);
        assert!(told.starts_with(why), "{told}\n{why}");
        let help = help.replace("fit.rate.a.tsv", "a.tsv");
        assert!(advised.contains(&help), "{advised}\n{help}");
        let of_cells = advised.starts_with(cell);
        assert_eq!(of_cells, told.ends_with("no cell") || told.ends_with("no cells"), "{advised}");
    }
}

#[test]
fn columns_of_different_lengths_are_named_with_what_to_do() {
    let folder = Folder::new();
    let ty = |second: Ty| record([("a", Ty::array(Ty::Real)), ("b", Ty::array(second))]);
    for (text, ty, npz) in [
        (r#"{"a":[1.0,2.0],"b":[true]}"#, ty(Ty::Bool), true),
        (r#"{"a":[1.0,2.0],"b":["x"]}"#, ty(Ty::String), false),
    ] {
        let place =
            Place::of(folder.0.join("o.csv.gz").to_str().expect("a path")).expect("a place");
        let field = Field { name: "x", ty: &ty, written: None, interface: None };
        let value = read_argument(text, &field, &datas(), &|| Ok(())).expect("sound JSON");
        let output = Output { place: &place, part: "fit", value: &value, ty: &ty, interface: None };
        let refused = write_results(&[output], &datas(), &|| Ok(())).expect_err("no table");
        let diagnostic = refused.to_diagnostic(&datas());
        let why = "the columns of a table have the same length, but `a` has 2 and `b` has 1";
        assert!(diagnostic.message.ends_with(why), "{}", diagnostic.message);
        let help = diagnostic.help.expect("help").written(Spelling::CommandLine);
        let others = if npz { ".npz and .json hold" } else { ".json holds" };
        assert!(help.contains("`--out fit.a=a.csv --out fit.b=b.csv` writes each"), "{help}");
        assert!(help.ends_with(&format!("{others} arrays of different lengths")), "{help}");
        assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 0);
    }
}

#[test]
fn every_text_is_written_so_that_it_is_read_back() {
    let folder = Folder::new();
    let mut texts = vec![String::new()];
    for length in 0..3 {
        let longer = texts.iter().filter(|t| t.len() == length);
        let longer = longer.flat_map(|t| "a ,\t\"\n\r".chars().map(move |c| format!("{t}{c}")));
        let longer: Vec<String> = longer.collect();
        texts.extend(longer);
    }
    assert_eq!(texts.len(), 1 + 7 + 49 + 343);
    let quoted: Vec<String> =
        texts.iter().map(|t| serde_json::to_string(t).expect("a text")).collect();
    let column = format!("[{}]", quoted.join(","));
    let pairs: Vec<String> = quoted
        .iter()
        .map(|t| format!(r#"[{t},{{"Just":{t}}}],[{t},{{"Nothing":null}}]"#))
        .collect();
    let table = format!("[{}]", pairs.join(","));
    for (text, ty) in
        [(column, Ty::array(Ty::String)), (table, Ty::array(pair(Ty::String, maybe(Ty::String))))]
    {
        for name in ["o.csv", "o.tsv", "o.txt"] {
            let path = folder.write(name, &text, &ty).expect("a file written");
            assert_eq!(read(&path, &ty), text, "{name}");
        }
    }
}

#[test]
fn a_missing_cell_is_written_as_an_empty_one() {
    let folder = Folder::new();
    let ty = Ty::array(record([("a", maybe(Ty::Real)), ("b", maybe(Ty::String))]));
    let text = r#"[{"a":null,"b":null},{"a":"inf","b":""},{"a":0.5,"b":"\"x\", y"}]"#;
    let path = folder.write("o.csv", text, &ty).expect("a file written");
    let written = std::fs::read_to_string(path).expect("the file");
    assert_eq!(written, "a,b\n,\ninf,\"\"\n0.5,\"\"\"x\"\", y\"\n");
}

#[test]
fn what_cannot_be_written_leaves_the_old_file() {
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    std::fs::create_dir(folder.0.join("d.json")).expect("a folder");
    assert!(folder
        .write("d.json", "[1]", &ints)
        .is_err_and(|e| e.ends_with("this is a directory")));
    assert!(folder.write("no/o.json", "[1]", &ints).is_err_and(|e| e.ends_with("no such folder")));
    let old = PathBuf::from(folder.file("old.json", "old"));
    let mut permissions = std::fs::metadata(&old).expect("the file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&old, permissions).expect("permissions");
    assert!(folder
        .write("old.json", "[1]", &ints)
        .is_err_and(|e| e.ends_with("permission denied")));
    assert_eq!(std::fs::read_to_string(&old).expect("the file"), "old");
    assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 2);
    let option = folder.write("o.csv:skip=1", "[1]", &ints);
    assert!(option.is_err_and(|e| e.ends_with("`:skip=1` has no meaning for a result")));
}

#[test]
fn rows_without_elements_are_no_table() {
    let folder = Folder::new();
    let ty = Ty::array(Ty::array(Ty::Real));
    let refused = folder.write("o.csv", "[[],[]]", &ty).expect_err("nothing to be read back");
    assert!(refused.contains("o.csv: rows without elements are lines without cells"), "{refused}");
    assert_eq!(std::fs::read_dir(&folder.0).expect("the folder").count(), 0);
    let path = folder.write("o.json", "[[],[]]", &ty).expect("a file written");
    assert_eq!(read(&path, &ty), "[[],[]]");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_yet_is_written_through() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    let at = |name: &str| folder.0.join(name);
    let is_link = |name| std::fs::symlink_metadata(at(name)).is_ok_and(|m| m.is_symlink());
    for (to, link) in [
        ("sub/new.json", "second.json"),
        ("second.json", "first.json"),
        ("none/new.json", "lost.json"),
        ("b.json", "a.json"),
        ("a.json", "b.json"),
    ] {
        symlink(to, at(link)).expect("a link");
    }
    std::fs::create_dir(at("sub")).expect("a folder");
    folder.write("first.json", "[1]", &ints).expect("a file written");
    assert_eq!(std::fs::read_to_string(at("sub/new.json")).expect("the file"), "[1]\n");
    assert!(is_link("first.json") && is_link("second.json"));
    let lost = folder.write("lost.json", "[1]", &ints);
    assert!(lost.is_err_and(|e| e.ends_with("there is no such folder")) && is_link("lost.json"));
    let circle = folder.write("a.json", "[1]", &ints);
    assert!(circle.is_err_and(|e| e.contains("links")) && is_link("a.json"));
}

#[cfg(unix)]
#[test]
fn links_and_their_permissions_stay() {
    use std::os::unix::fs::{symlink, PermissionsExt};
    let folder = Folder::new();
    let target = folder.file("target.json", "old");
    std::fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).expect("permissions");
    symlink(&target, folder.0.join("link.json")).expect("a link");
    let link = folder.write("link.json", "[1]", &Ty::array(Ty::Int)).expect("a file written");
    assert!(std::fs::symlink_metadata(link).expect("the link").is_symlink());
    assert_eq!(std::fs::read_to_string(&target).expect("the file"), "[1]\n");
    let mode = std::fs::metadata(&target).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_a_message() {
    let rows = format!("[{}1]", "1,".repeat(100_000));
    let record = record([("a", Ty::array(Ty::Int))]);
    for (format, text, ty) in [
        ("json", &rows, Ty::array(Ty::Int)),
        ("csv", &rows, Ty::array(Ty::Int)),
        ("csv.gz", &rows, Ty::array(Ty::Int)),
        ("npy", &rows, Ty::array(Ty::Int)),
        ("npz", &format!("{{\"a\":{rows}}}"), record.clone()),
        ("json", &"1".to_string(), Ty::Int),
    ] {
        let failed = write(&format!("/dev/full:{format}"), text, &ty);
        assert_eq!(
            failed,
            Err("cannot write /dev/full: there is no space left".into()),
            "{format}"
        );
    }
}

/// 500,000 numbers in rows of five.
fn many() -> (Value, Ty) {
    let reals: Vec<f64> = (0..500_000).map(|i| f64::from(i).sqrt()).collect();
    let rows = Value::array(Array::nested(5, Array::from_reals(reals)));
    (rows, Ty::array(Ty::array(Ty::Real)))
}

#[test]
fn results_are_written_piece_by_piece() {
    let folder = Folder::new();
    let (rows, ty) = many();
    let record = Ty::Record([("a".into(), ty.clone())].into());
    let fields = Value::tuple([rows.clone()]);
    for (name, value, ty) in [
        ("a.json", &rows, &ty),
        ("a.csv", &rows, &ty),
        ("a.csv.gz", &rows, &ty),
        ("a.npy", &rows, &ty),
        ("a.npz", &fields, &record),
    ] {
        let path = folder.0.join(name);
        let place = Place::of(path.to_str().expect("a path")).expect("a name with a format");
        let pieces = std::cell::Cell::new(0);
        let check = || {
            pieces.set(pieces.get() + 1);
            Ok(())
        };
        let output = Output { place: &place, part: "", value, ty, interface: None };
        write_results(&[output], &[], &check).expect("nothing fails");
        let size = std::fs::metadata(&path).expect("the file").len();
        let piece = size / pieces.get();
        assert!(pieces.get() > 20 && piece <= 1 << 17, "{name}: {size} in {}", pieces.get());
    }
}

#[test]
fn a_failure_in_writing_leaves_the_old_file() {
    let folder = Folder::new();
    let (rows, ty) = many();
    for kind in [std::io::ErrorKind::StorageFull, std::io::ErrorKind::Interrupted] {
        let path = folder.0.join("old.csv");
        std::fs::write(&path, "old").expect("a file for the test");
        let place = Place::of(path.to_str().expect("a path")).expect("a name with a format");
        let asked = std::cell::Cell::new(0);
        let check = || {
            asked.set(asked.get() + 1);
            if asked.get() < 3 {
                Ok(())
            } else {
                Err(kind.into())
            }
        };
        let output = Output { place: &place, part: "", value: &rows, ty: &ty, interface: None };
        assert!(write_results(&[output], &[], &check).is_err());
        let left = std::fs::read_dir(&folder.0).expect("the folder").count();
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!((asked.get(), left, &*text), (3, 1, "old"));
    }
}
