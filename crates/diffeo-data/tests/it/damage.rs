//! Files of every binary format, each byte of them changed: what is read is what was there, or a message.
//!
//! Where a format has checksums, that holds for every byte. NumPy's own has none: there it holds for the head of an array
//! but for the order of its bytes. Arrow has none; what its files have twice is compared.

use super::excel::{archive, workbook, Parts};
use super::*;
use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use flate2::write::GzEncoder;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use zip::CompressionMethod;

/// A file, and how it is read.
struct Case {
    name: &'static str,
    options: &'static str,
    ty: Ty,
    bytes: Vec<u8>,
    /// Where a change may be unseen.
    unseen: Vec<Range<usize>>,
}

fn numbers() -> Vec<u8> {
    (1..9).flat_map(|i| f64::from(i).sqrt().to_le_bytes()).collect()
}

fn npy() -> Vec<u8> {
    let mut header = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 2), }".to_string();
    header.push_str(&" ".repeat(128 - 11 - header.len()));
    header.push('\n');
    let start = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes()].concat();
    [start, header.into_bytes(), numbers()].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory")
}

/// An Arrow file, or a stream, of two batches.
fn arrow(stream: bool) -> Vec<u8> {
    let batch = |first: i32| {
        let texts = ["north", "south", "west"].map(|text| format!("{text}{first}"));
        let columns: [(&str, ArrayRef); 3] = [
            ("count", Arc::new(Int32Array::from(vec![first, first + 1, 300]))),
            ("site", Arc::new(StringArray::from_iter_values(texts))),
            ("value", Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.25)]))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).expect("rows")
    };
    let mut bytes = Vec::new();
    let schema = batch(1).schema();
    if stream {
        let mut to = StreamWriter::try_new(&mut bytes, &schema).expect("memory");
        [1, 7].iter().for_each(|i| to.write(&batch(*i)).expect("memory"));
        to.finish().expect("memory");
    } else {
        let mut to = FileWriter::try_new(&mut bytes, &schema).expect("memory");
        [1, 7].iter().for_each(|i| to.write(&batch(*i)).expect("memory"));
        to.finish().expect("memory");
    }
    bytes
}

fn cases() -> Vec<Case> {
    let plan = Ty::array(pair(Ty::String, Ty::Int));
    let book = |name: &str| std::fs::read(binary::book(name)).expect("a file of the book");
    let matrix = Ty::array(Ty::array(Ty::Real));
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" s=\"1\"><v>45352</v></c></row>\
                <row r=\"2\"><c r=\"A2\" t=\"s\"><v>1</v></c><c r=\"B2\" s=\"1\"><v>45353</v></c></row>";
    let days = Ty::array(pair(Ty::String, Ty::String));
    let case = |name, options, ty: &Ty, bytes| Case {
        name,
        options,
        ty: ty.clone(),
        bytes,
        unseen: Vec::new(),
    };
    let mut cases = vec![
        case("lab.xlsx", ":sheet=Plan B:header=yes", &plan, book("lab.xlsx")),
        case("a.parquet", "", &binary::sensor(), book("sensor.parquet")),
        case("a.csv.gz", "", &matrix, gzip(b"1.5,2\n3,4\n")),
        case("a.json.gz", "", &matrix, gzip(b"[[1.5, 2], [3, 4]]")),
        case("a.npy.gz", "", &matrix, gzip(&npy())),
        case("a.xlsx.gz", ":sheet=Plan B:header=yes", &plan, gzip(&book("lab.xlsx"))),
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let parts = Parts { rows, texts: &["one", "two"], method, ..Parts::default() };
        cases.push(case("a.xlsx", "", &days, workbook(&parts)));
        let arrays = [("x.npy", npy()), ("y.npy", npy())];
        let members = arrays.iter().map(|(name, bytes)| (*name, &bytes[..]));
        cases.push(case("a.npz", ":y", &matrix, archive(members, method)));
    }
    // The order of the bytes, and the numbers.
    let bytes = npy();
    let order = bytes.iter().position(|b| *b == b'<').expect("an order");
    let unseen = vec![order..order + 1, bytes.len() - 64..bytes.len()];
    cases.push(Case { unseen, ..case("a.npy", "", &matrix, bytes) });
    cases
}

/// Reads each file with one of so many bytes changed in these ways.
fn change(step: usize, ways: impl Fn(u8) -> Vec<u8>) {
    // What becomes a message is not told as a panic.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !diffeo_data::is_guarded() {
            hook(panic);
        }
    }));
    let folder = Folder::new();
    for Case { name, options, ty, bytes, unseen } in cases() {
        let read = |bytes: &[u8]| read(&format!("{}{options}", folder.file(name, bytes)), &ty);
        let expected = read(&bytes);
        assert!(expected.starts_with('['), "{name}: {expected}");
        for at in (0..bytes.len())
            .step_by(step)
            .filter(|at| !unseen.iter().any(|range| range.contains(at)))
        {
            for byte in ways(bytes[at]) {
                let mut changed = bytes.clone();
                changed[at] = byte;
                let found = read(&changed);
                assert!(
                    found == expected || found.contains(name),
                    "{name} with {byte:#x} for {:#x} at {at}: {found}",
                    bytes[at]
                );
            }
        }
    }
}

#[test]
fn no_other_result_is_read_where_a_byte_has_changed() {
    change(11, |byte| vec![byte ^ 1 << (byte % 8)]);
}

#[test]
#[ignore = "each bit of each byte, and other bytes: a minute or more"]
fn many_no_other_result_is_read_whatever_a_byte_becomes() {
    change(1, |byte| {
        let bits = (0..8).map(|bit| byte ^ 1 << bit);
        bits.chain([0, 0xff, !byte, byte.wrapping_add(1), byte.wrapping_sub(1)]).collect()
    });
}

#[test]
fn what_arrow_files_have_twice_is_compared() {
    let bytes = arrow(false);
    let reader = FileReader::try_new(std::io::Cursor::new(&bytes), None).expect("a file");
    assert_eq!(reader.num_batches(), 2);
    let folder = Folder::new();
    let ty = Ty::array(record([("count", Ty::Int)]));
    assert!(folder.read("a.arrow", &bytes, &ty).starts_with("[{\"count\":1}"));
    // A stream goes to its end, and no further.
    let stream = arrow(true);
    for changed in [[&stream[..], &stream].concat(), [&stream[..], b"more"].concat()] {
        let message = folder.read("a.arrow", changed, &ty);
        assert!(message.ends_with("it is damaged or cut off"), "{message}");
    }
    // Polars writes no length before the schema.
    let mut polars = bytes.clone();
    let length = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
    polars.copy_within(16..16 + length, 8);
    polars[8 + length..16 + length].fill(0);
    let found = folder.read("a.arrow", &polars, &ty);
    assert_eq!(found, folder.read("a.arrow", &bytes, &ty));
    // The name of a column stands in the first message and in the footer.
    let places: Vec<usize> =
        (0..bytes.len() - 5).filter(|at| &bytes[*at..*at + 5] == b"count").collect();
    assert_eq!(places.len(), 2);
    for at in places {
        let mut changed = bytes.clone();
        changed[at] = b'a';
        let message = folder.read("a.arrow", changed, &ty);
        assert!(message.ends_with("it is damaged or cut off"), "{message}");
    }
}
