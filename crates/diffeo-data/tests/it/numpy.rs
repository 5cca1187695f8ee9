//! NPY and NPZ files.

use super::*;

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
        (Ty::Unit, "FILE: an NPY file cannot hold a value of type `()`: it is a value without parts, no array of numbers"),
    ] {
        assert_eq!(folder.read("a.npy", npy(&header("False"), &numbers), &ty), message);
    }
    let unsound = "FILE: this NPY file cannot be read: it ends too early";
    assert_eq!(folder.read("a.npy", npy(&header("False"), &numbers[..40]), &matrix), unsound);
    let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999)}";
    assert!(folder.read("a.npy", npy(huge, &[]), &matrix).ends_with("is too large"));
    assert!(folder
        .read("a.npy", b"1,2,3,4,5", &matrix)
        .ends_with("this is not an NPY file, but text"));
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
    assert!(folder
        .read("w.npz", b"no archive", &ints)
        .ends_with("this is not an NPZ file, but text"));
}

#[test]
fn a_record_is_read_from_the_arrays_of_its_fields() {
    let folder = Folder::new();
    let model = record([("b", Ty::Real), ("w", Ty::array(Ty::array(Ty::Real)))]);
    let wider = record([("b", Ty::Real), ("c", Ty::Int), ("d", Ty::Int), ("w", Ty::Real)]);
    let text = r#"{"b":0.5,"w":[[1.0,2.0],[3.0,4.0]]}"#;
    let path = folder.write("m.npz", text, &model).expect("a file written");
    assert_eq!(read(&path, &model), text);
    assert_eq!(read(&format!("{path}:b"), &Ty::Real), "0.5");
    for (ty, message) in [
        (wider, ": there is no array for the fields `c`, `d`; there is `b`, `w`"),
        (
            record([("w", Ty::Real)]),
            ":w: the array has the shape 2×2 (2 dimensions), the type has 0 dimensions",
        ),
        (record([("w", Ty::String)]), ": an NPZ file cannot hold a value of type `{w: String}`: the field `w: String` of it is no array of numbers"),
    ] {
        assert_eq!(read(&path, &ty), format!("{path}{message}"));
    }
    assert!(read(&format!("{path}:w"), &model).contains("an NPY file cannot hold"));
    assert!(help(&path, &record([("bb", Ty::Real)])).is_some_and(|help| help.contains("`b`")));
}

/// Each byte of a file changed, each beginning of it: what is read is what was there, or a message.
fn damage(folder: &Folder, name: &str, whole: &[u8], ty: &Ty) -> usize {
    let expected = folder.read(name, whole, ty);
    assert!(expected.starts_with('['), "{expected}");
    let mut accepted = 0;
    for at in 0..whole.len() {
        let mut changed = whole.to_vec();
        changed[at] ^= 4;
        let read = folder.read(name, changed, ty);
        assert!(read == expected || read.contains("FILE"), "{name} at {at}: {read}");
        accepted += usize::from(read == expected);
        let read = folder.read(name, &whole[..at], ty);
        assert!(read.contains("FILE"), "{name} cut off at {at}: {read}");
    }
    let longer = [whole, b"more"].concat();
    assert!(folder.read(name, longer, ty).contains("FILE"), "{name} with more behind it");
    accepted
}

#[test]
fn checksums_are_looked_at() {
    use std::io::Write;
    let folder = Folder::new();
    let reals = Ty::array(Ty::Real);
    let numbers: Vec<u8> = (1..9).flat_map(|i| f64::from(i).sqrt().to_le_bytes()).collect();
    let array = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (8,)}", &numbers);
    // One member, and two.
    let gzip = |parts: &[&[u8]]| {
        let mut all = Vec::new();
        for part in parts {
            let mut to = flate2::write::GzEncoder::new(&mut all, flate2::Compression::default());
            to.write_all(part).expect("memory");
            to.finish().expect("memory");
        }
        all
    };
    let (first, second) = array.split_at(100);
    for whole in [gzip(&[&array]), gzip(&[first, second])] {
        // Time, system and flags in the heads do not matter.
        let accepted = damage(&folder, "a.npy.gz", &whole, &reals);
        assert!(accepted <= 16, "{accepted}");
    }
    let longer = [&array[..], b"more"].concat();
    assert!(folder.read("a.npy", longer, &reals).contains("there is more behind its last element"));
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        zip.start_file("x.npy", options).expect("a member");
        zip.write_all(&array).expect("its data");
        let whole = zip.finish().expect("the archive").into_inner();
        let expected = folder.read("a.npz", &whole, &reals);
        // The data, and in the directory the checksum and the size. (Where a stream ends, the data itself says.)
        let data = whole.windows(5).position(|w| w == b"x.npy").expect("its name") + 5;
        let directory = whole.windows(4).position(|w| w == b"PK\x01\x02").expect("a directory");
        let mut same = 0;
        let [checksum, size] = [16, 24].map(|at| directory + at..directory + at + 4);
        for at in (data..directory).chain(checksum).chain(size) {
            let mut changed = whole.clone();
            changed[at] ^= 4;
            let read = folder.read("a.npz", changed, &reals);
            assert!(read.contains("FILE") || at < directory && read == expected, "{at}: {read}");
            same += usize::from(read == expected);
        }
        // Bits at the end of a deflated stream may be none of it.
        let most = if method == zip::CompressionMethod::Stored { 0 } else { 3 };
        assert!(same <= most, "{same}");
        damage_of_archive(&folder, &whole, &reals);
    }
}

#[test]
fn two_arrays_of_one_name_are_refused() {
    let folder = Folder::new();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, number) in [("x.npy", 1.0_f64), ("y.npy", 2.0)] {
        use std::io::Write;
        zip.start_file(name, options).expect("a member");
        zip.write_all(&npy(header, &number.to_le_bytes())).expect("its data");
    }
    let mut whole = zip.finish().expect("the archive").into_inner();
    for at in 0..whole.len() - 5 {
        if &whole[at..at + 5] == b"y.npy" {
            whole[at] = b'x';
        }
    }
    for name in ["a.npz", "a.npz:x"] {
        let path = folder.file("a.npz", &whole).replace("a.npz", name);
        let message = read(&path, &Ty::array(Ty::Real));
        assert!(message.ends_with("its ZIP archive has two members `x.npy`"), "{message}");
    }
}

#[test]
fn headers_say_everything_once_and_bools_are_0_or_1() {
    let folder = Folder::new();
    let twice = "{'descr': '<f8', 'descr': '<i8', 'fortran_order': False, 'shape': (1,)}";
    let message = folder.read("a.npy", npy(twice, &[0; 8]), &Ty::array(Ty::Real));
    assert!(message.ends_with("its header is malformed"), "{message}");
    let bools = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}";
    let array = Ty::array(Ty::Bool);
    assert_eq!(folder.read("a.npy", npy(bools, &[0, 1, 0]), &array), "[false,true,false]");
    let message = folder.read("a.npy", npy(bools, &[0, 1, 3]), &array);
    assert!(message.ends_with("element 2 is the byte 3, which is no Bool"), "{message}");
}

/// Wherever an archive is changed, no other numbers are read.
fn damage_of_archive(folder: &Folder, whole: &[u8], ty: &Ty) {
    let expected = folder.read("a.npz", whole, ty);
    for at in 0..whole.len() {
        let mut changed = whole.to_vec();
        changed[at] ^= 4;
        let read = folder.read("a.npz", changed, ty);
        assert!(read == expected || read.contains("FILE"), "{at}: {read}");
    }
}

#[test]
fn what_to_do_about_a_dtype_depends_on_what_it_holds() {
    let folder = Folder::new();
    let reals = Ty::array(Ty::Real);
    for (dtype, words) in [
        ("'<U5'", "CSV or JSON"),
        ("'|S3'", "CSV or JSON"),
        ("'<c16'", "`a.real` and `a.imag`"),
        ("[('x', '<f8'), ('y', '<i4')]", "each field, `a['x']`"),
        ("'|O'", "Python objects"),
        ("'<M8[ns]'", "times as numbers"),
    ] {
        let header = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': (1,)}}");
        let path = folder.file("a.npy", npy(&header, &[0; 64]));
        let help = help(&path, &reals).unwrap_or_default();
        assert!(help.contains(words) && !help.contains("astype"), "{dtype}: {help}");
    }
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
    let path = folder.file("a.npy", npy(header, &[0; 8]));
    assert!(help(&path, &Ty::array(Ty::Int)).is_some_and(|h| h.contains(".astype('int64')")));
}
