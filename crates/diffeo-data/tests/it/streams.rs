//! Compressed files, pipes, and reading piece by piece.

use super::*;
use diffeo_data::{Format, Target};
use flate2::{write::GzEncoder, Compression};
use std::cell::Cell;
use std::io::{self, Write};

fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes.as_ref()).and_then(|()| encoder.finish()).expect("memory")
}

#[test]
fn places_are_told_from_other_texts() {
    let csv = |name: &str, options: &[&str]| Place {
        target: match name {
            "-" => Target::Standard,
            _ => Target::File(name.into()),
        },
        format: Format::Csv,
        gzip: name.ends_with("gz"),
        options: options.iter().map(|option| option.to_string()).collect(),
    };
    for (text, place) in [
        ("a.csv", Some(csv("a.csv", &[]))),
        ("a.CSV.gz", Some(csv("a.CSV.gz", &[]))),
        ("a.csv:skip=1", Some(csv("a.csv", &["skip=1"]))),
        ("a.csv.gz:skip=1", Some(csv("a.csv.gz", &["skip=1"]))),
        ("a.log:csv", Some(csv("a.log", &[]))),
        ("a.log:csv:skip=1", Some(csv("a.log", &["skip=1"]))),
        ("a.txt:csv", Some(csv("a.txt", &[]))),
        ("a.txt:csv:skip=1", Some(csv("a.txt", &["skip=1"]))),
        // Colons in names: behind them an ending, a format or an option that is known.
        ("10:30.csv", Some(csv("10:30.csv", &[]))),
        ("10:30.csv:skip=1", Some(csv("10:30.csv", &["skip=1"]))),
        ("10:30:csv:skip=1", Some(csv("10:30", &["skip=1"]))),
        ("a.csv:skip=1:csv", Some(csv("a.csv", &["skip=1", "csv"]))),
        ("a.csv:b.csv:foo=1", Some(csv("a.csv:b.csv", &["foo=1"]))),
        ("a.csv:na=b.csv", Some(csv("a.csv", &["na=b.csv"]))),
        ("a.csv:sep=::skip=1", Some(csv("a.csv", &["sep=:", "skip=1"]))),
        ("a.csv:comment=:", Some(csv("a.csv", &["comment=:"]))),
        ("-:csv", Some(csv("-", &[]))),
        ("-:csv:skip=1", Some(csv("-", &["skip=1"]))),
        ("-:csv.gz", Some(Place { gzip: true, ..csv("-", &[]) })),
        ("/dev/fd/63:csv", Some(csv("/dev/fd/63", &[]))),
        ("C:\\a.csv", Some(csv("C:\\a.csv", &[]))),
        ("[\"a:csv\"]", None),
        ("{\"a\":csv", None),
        (":csv", None),
        ("a.csv.gz.gz", None),
        ("a.gz", None),
        ("1.5", None),
        ("-", None),
        ("a:b:c", None),
    ] {
        assert_eq!(Place::of(text), place, "{text}");
    }
}

#[test]
fn gzip_files_are_read_whatever_their_name() {
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    let csv = gzip("made up\n1\n2\n");
    assert_eq!(folder.read("t.csv.gz", gzip("1\n2\n"), &ints), "[1,2]");
    assert_eq!(folder.read("t.csv", gzip("1\n2\n"), &ints), "[1,2]");
    assert!(folder.read("t.csv.gz", "", &ints).contains("it is empty"));
    assert_eq!(read(&format!("{}:skip=1", folder.file("t.csv.gz", csv)), &ints), "[1,2]");
    assert_eq!(folder.read("t.csv.gz", "1\n2\n", &ints), "[1,2]");
    assert_eq!(folder.read("t.json.gz", gzip("[1, 2]"), &ints), "[1,2]");
    // Several members, one after the other.
    let members = [gzip("1\n2"), gzip(""), gzip("3\n4\n")].concat();
    assert_eq!(folder.read("t.csv.gz", members, &ints), "[1,23,4]");
    assert_eq!(folder.read("t.csv.gz", gzip(""), &ints), "[]");
    assert_eq!(
        folder.read("t.csv.gz", gzip("1\n2\nx\n"), &ints),
        "FILE:3: column 1 must be of type `Int`, found `x`"
    );
}

#[test]
fn zeros_after_gzip_data_are_padding() {
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    for zeros in [1, 511, 1 << 20] {
        let padded = [gzip("1\n"), gzip("2\n"), vec![0; zeros]].concat();
        assert_eq!(folder.read("t.csv.gz", &padded, &ints), "[1,2]");
        let followed = [padded, gzip("3\n")].concat();
        assert_eq!(folder.read("t.csv.gz", &followed, &ints), "[1,2,3]");
    }
    let other = folder.read("t.json.gz", [&gzip("[1]")[..], b"\0\0other text"].concat(), &ints);
    assert!(other.starts_with("FILE: its gzip data is damaged near byte"), "{other}");
}

#[test]
fn damaged_gzip_files_are_named_with_the_place() {
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    // Numbers that do not compress well, in many blocks.
    let mut state = 1_u64;
    let text: String = (0..100_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("{}\n", state >> 40)
        })
        .collect();
    let whole = gzip(&text);
    let half = folder.read("t.csv.gz", &whole[..whole.len() / 2], &ints);
    let (place, problem) = half.split_once(": ").expect("a place");
    let line: usize = place.strip_prefix("FILE:").expect("the file").parse().expect("a line");
    assert!((30_000..60_000).contains(&line), "{half}");
    assert_eq!(problem, format!("its gzip data ends too early, after {} bytes", whole.len() / 2));
    let mut changed = whole.clone();
    let end = changed.len() - 6;
    changed[end] ^= 1;
    let sum = folder.read("t.csv.gz", changed, &ints);
    assert!(sum.starts_with("FILE:100001: its gzip data is damaged near byte"), "{sum}");
    let followed = [&gzip("1\n")[..], b"more"].concat();
    let followed = folder.read("t.json.gz", followed, &ints);
    assert!(followed.starts_with("FILE: its gzip data ends too early"), "{followed}");
    let npy = folder.read("t.npy.gz", &whole[..15], &ints);
    assert_eq!(npy, "FILE: its gzip data ends too early, after 15 bytes");
}

/// What is read when reading is checked with this, `FILE` standing for the file.
fn checked(path: &str, ty: &Ty, check: &dyn Fn() -> io::Result<()>) -> String {
    let (datas, field) = (datas(), Field { name: "x", ty, written: None, interface: None });
    match read_argument(path, &field, &datas, check) {
        Ok(_) => "read".to_string(),
        Err(error) => error.to_diagnostic(&datas).message.replace(path, "FILE"),
    }
}

#[test]
fn reading_can_be_stopped() {
    let folder = Folder::new();
    let reals = Ty::array(Ty::Real);
    let rows = "1\n".repeat(200_000);
    let array = format!("[{}1]", "1,".repeat(200_000));
    let numbers = folder.write("t.npy", &array, &reals).expect("a file written");
    let named =
        folder.write("t.npz", &format!("{{\"a\":{array}}}"), &record([("a", reals.clone())]));
    for path in [
        folder.file("t.csv", &rows),
        folder.file("t.csv.gz", gzip(&rows)),
        folder.file("t.json", &array),
        numbers,
        named.expect("a file written"),
        array,
    ] {
        let count = Cell::new(0);
        let check = |last: usize| {
            count.set(0);
            checked(&path, &reals, &|| {
                count.set(count.get() + 1);
                match count.get() {
                    n if n > last => Err(io::ErrorKind::Interrupted.into()),
                    _ => Ok(()),
                }
            })
        };
        assert_eq!(check(usize::MAX), "read");
        let all = count.get();
        assert!(all > 3, "{all}");
        for last in [1, all - 1] {
            let stopped = check(last);
            assert!(stopped.contains("operation interrupted"), "{stopped}");
            assert_eq!(count.get(), last + 1);
        }
    }
}

#[test]
fn tables_are_read_piece_by_piece() {
    let folder = Folder::new();
    let path = folder.file("t.csv", format!("1\nx\n{}", "1\n".repeat(5 << 20)));
    let count = Cell::new(0);
    let message = checked(&path, &Ty::array(Ty::Int), &|| {
        count.set(count.get() + 1);
        Ok(())
    });
    assert!(message.ends_with("FILE:2: column 1 must be of type `Int`, found `x`"), "{message}");
    assert!(count.get() <= 3, "of 10 MB, no more than the first buffer is read: {}", count.get());
}

#[cfg(unix)]
#[test]
fn pipes_are_read_and_written() {
    use std::process::Command;
    let folder = Folder::new();
    let ints = Ty::array(Ty::Int);
    let pipe = folder.0.join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    let archive = folder.write("t.npz", r#"{"a":[1,2]}"#, &record([("a", ints.clone())]));
    let archive = std::fs::read(archive.expect("a file written")).expect("the file");
    for (format, bytes) in [
        ("csv", b"1\n2\n".to_vec()),
        ("csv:skip=1", b"x\n1\n2\n".to_vec()),
        ("csv", gzip("1\n2\n")),
        ("json", b"[1, 2]".to_vec()),
        ("npz", archive.clone()),
        ("npz", gzip(&archive)),
    ] {
        let found = std::thread::scope(|scope| {
            scope.spawn(|| std::fs::write(&pipe, &bytes));
            read(&format!("{pipe}:{format}"), &ints)
        });
        assert_eq!(found, "[1,2]", "{format}");
    }
    let named = read(&pipe, &ints);
    assert_eq!(named, format!("the argument's text: the name `{pipe}` tells no format"));
    let written = std::thread::scope(|scope| {
        let reader = scope.spawn(|| std::fs::read_to_string(&pipe));
        write(&format!("{pipe}:csv"), "[1, 2]", &ints).expect("the pipe is read");
        reader.join().expect("no panic")
    });
    assert_eq!(written.expect("what was written"), "1\n2\n");
}
