//! Workbooks: their archives, the order of their cells, their sheets.

use super::*;
use std::io::Write;
use zip::CompressionMethod;

/// What a workbook is made of.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    /// Whether days count from 1904.
    pub is_1904: bool,
    /// The rows of its first sheet.
    pub rows: &'a str,
    /// The texts that cells have by their numbers.
    pub texts: &'a [&'a str],
    /// The sheets: names with attributes. All have these rows.
    pub sheets: &'a [(&'a str, &'a str)],
    pub method: CompressionMethod,
}

impl Default for Parts<'_> {
    fn default() -> Self {
        Parts {
            is_1904: false,
            rows: "",
            texts: &[],
            sheets: &[("A", "")],
            method: CompressionMethod::Stored,
        }
    }
}

/// A workbook; styles are 0 for plain numbers, 1 for dates, 2 for durations, 3 for times of day.
pub(super) fn workbook(parts: &Parts<'_>) -> Vec<u8> {
    const MAIN: &str = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"";
    let related = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>")
    };
    let numbered = || parts.sheets.iter().enumerate();
    let sheets: String = numbered()
        .map(|(i, (name, more))| {
            format!("<sheet name=\"{name}\" sheetId=\"{}\" {more} r:id=\"s{i}\"/>", i + 1)
        })
        .collect();
    let relations: String = numbered()
        .map(|(i, _)| related(&format!("s{i}"), "worksheet", &format!("worksheets/sheet{i}.xml")))
        .chain([
            related("styles", "styles", "styles.xml"),
            related("texts", "sharedStrings", "sharedStrings.xml"),
        ])
        .collect();
    let formats: String = [0, 14, 46, 21]
        .map(|id| format!("<xf numFmtId=\"{id}\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/>"))
        .concat();
    let texts: String = parts.texts.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
    let first = related("r1", "officeDocument", "xl/workbook.xml");
    let mut members = vec![
        ("_rels/.rels".to_string(), format!("<Relationships {PACKAGE}>{first}</Relationships>")),
        (
            "xl/workbook.xml".to_string(),
            format!(
                "<workbook {MAIN} xmlns:r=\"{OFFICE}\"><workbookPr date1904=\"{}\"/><sheets>{sheets}</sheets></workbook>",
                u8::from(parts.is_1904)
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_string(),
            format!("<Relationships {PACKAGE}>{relations}</Relationships>"),
        ),
        (
            "xl/styles.xml".to_string(),
            format!("<styleSheet {MAIN}><cellXfs count=\"4\">{formats}</cellXfs></styleSheet>"),
        ),
        ("xl/sharedStrings.xml".to_string(), format!("<sst {MAIN}>{texts}</sst>")),
    ];
    for (i, _) in numbered() {
        let text = format!("<worksheet {MAIN}><sheetData>{}</sheetData></worksheet>", parts.rows);
        members.push((format!("xl/worksheets/sheet{i}.xml"), text));
    }
    archive(members.iter().map(|(name, text)| (&name[..], text.as_bytes())), parts.method)
}

/// A ZIP archive of these members.
pub(super) fn archive<'a>(
    members: impl Iterator<Item = (&'a str, &'a [u8])>,
    method: CompressionMethod,
) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in members {
        zip.start_file(name, options).expect("a member");
        zip.write_all(bytes).expect("its data");
    }
    zip.finish().expect("the archive").into_inner()
}

/// Where a text stands in the last entry of an archive's directory that has it.
fn last(bytes: &[u8], text: &str) -> usize {
    let text = text.as_bytes();
    bytes.windows(text.len()).rposition(|found| found == text).expect("the text")
}

const ROWS: &str = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\"><v>1.25</v></c></row>\
                    <row r=\"2\"><c r=\"A2\" t=\"s\"><v>1</v></c><c r=\"B2\"><v>2.5</v></c></row>";

#[test]
fn the_checksums_of_the_parts_of_a_workbook_are_looked_at() {
    let folder = Folder::new();
    let ty = Ty::array(pair(Ty::String, Ty::Real));
    let sound = "[[\"one\",1.25],[\"two\",2.5]]";
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let parts = Parts { rows: ROWS, texts: &["one", "two"], method, ..Parts::default() };
        let whole = workbook(&parts);
        assert_eq!(folder.read("a.xlsx", &whole, &ty), sound);
        for member in [
            "_rels/.rels",
            "xl/workbook.xml",
            "xl/_rels/workbook.xml.rels",
            "xl/styles.xml",
            "xl/sharedStrings.xml",
            "xl/worksheets/sheet0.xml",
        ] {
            // The name in the directory is behind the checksum, by 30 bytes.
            let mut changed = whole.clone();
            changed[last(&whole, member) - 30] ^= 1;
            assert_eq!(
                folder.read("a.xlsx", changed, &ty),
                format!("FILE: this Excel file cannot be read: its member `{member}` is damaged")
            );
            let mut renamed = whole.clone();
            renamed[last(&whole, member)] ^= 1;
            let message = folder.read("a.xlsx", renamed, &ty);
            assert!(message.contains("that is not there"), "{message}");
        }
        // The directory may be said to have fewer members.
        let mut fewer = whole.clone();
        let end = last(&whole, "PK\x05\x06");
        (fewer[end + 8], fewer[end + 10]) = (fewer[end + 8] - 1, fewer[end + 10] - 1);
        let message = folder.read("a.xlsx", fewer, &ty);
        assert!(message.contains("the directory of its ZIP archive is damaged"), "{message}");
        if method == CompressionMethod::Stored {
            let mut changed = whole.clone();
            changed[last(&whole, "1.25")] ^= 3;
            let message = folder.read("a.xlsx", changed, &ty);
            assert!(message.ends_with("`xl/worksheets/sheet0.xml` is damaged"), "{message}");
        }
    }
}

#[test]
fn cells_stand_once_and_in_order() {
    let folder = Folder::new();
    let ty = Ty::array(Ty::array(Ty::Real));
    let row = |number: &str, cells: &[&str]| {
        let cells = cells.iter().map(|at| format!("<c {at}><v>1</v></c>")).collect::<String>();
        format!("<row {number}>{cells}</row>")
    };
    let read = |rows: String| {
        let parts = Parts { rows: &rows, ..Parts::default() };
        folder.read("a.xlsx", workbook(&parts), &ty)
    };
    let (a1, b1, a2) = ("r=\"A1\"", "r=\"B1\"", "r=\"A2\"");
    assert_eq!(read(row("r=\"1\"", &[a1, b1])), "[[1.0,1.0]]");
    // Places may be left out: the next one is meant.
    assert_eq!(read(row("", &["", ""]) + &row("", &["", ""])), "[[1.0,1.0],[1.0,1.0]]");
    assert_eq!(read(row("r=\"1048576\"", &["r=\"XFD1048576\""])), "[[1.0]]");
    for (rows, message) in [
        (
            row("r=\"2\"", &[a2]) + &row("r=\"1\"", &[a1]),
            "FILE:2: … the row 1 stands behind this one",
        ),
        (row("r=\"1\"", &[a1]) + &row("r=\"1\"", &[b1]), "FILE:1: … the row 1 is there twice"),
        (row("r=\"1\"", &[a1, a1]), "FILE:1: … the cell A1 is there twice"),
        (row("r=\"1\"", &[b1, a1]), "FILE:1: … the cell A1 stands behind one right of it"),
        (row("r=\"1\"", &[a2]), "FILE:1: … the cell A2 stands in this row"),
        (row("r=\"99999999999\"", &[""]), "FILE: … there is no row `99999999999` in Excel"),
        (row("r=\"4294967297\"", &[""]), "FILE: … there is no row `4294967297` in Excel"),
        (row("r=\"1048577\"", &[""]), "FILE: … there is no row `1048577` in Excel"),
        (row("r=\"0\"", &[""]), "FILE: … there is no row `0` in Excel"),
        (row("r=\"one\"", &[""]), "FILE: … there is no row `one` in Excel"),
        (row("", &["r=\"XFE1\""]), "FILE:1: … there is no cell `XFE1` in Excel"),
        (row("", &["r=\"AAAAAAAAB1\""]), "FILE:1: … there is no cell `AAAAAAAAB1` in Excel"),
        (row("", &["r=\"A4294967297\""]), "FILE:1: … there is no cell `A4294967297` in Excel"),
        (row("", &["t=\"s\""]).replace(">1<", ">one<"), "FILE:1: … `one` is no number of a text"),
    ] {
        let expected = message.replace('…', "this Excel file cannot be read:");
        assert_eq!(read(rows), expected);
    }
}

#[test]
fn a_hidden_sheet_is_read_where_it_is_named() {
    let folder = Folder::new();
    let ty = Ty::array(pair(Ty::String, Ty::Real));
    let sound = "[[\"one\",1.25],[\"two\",2.5]]";
    let parts = Parts { rows: ROWS, texts: &["one", "two"], ..Parts::default() };
    for state in ["hidden", "veryHidden"] {
        let state = format!("state=\"{state}\"");
        let sheets = [("Raw", &state[..]), ("Shown", "")];
        let path = folder.file("a.xlsx", workbook(&Parts { sheets: &sheets, ..parts }));
        assert!(read(&path, &ty).ends_with("a.xlsx: the first sheet, `Raw`, is hidden"));
        let help = help(&path, &ty).unwrap_or_default();
        for name in ["Shown", "Raw"] {
            let place = format!("{path}:sheet={name}");
            assert!(help.contains(&place), "{help}");
            assert_eq!(read(&place, &ty), sound);
        }
        let sheets = [("Shown", ""), ("Raw", &state[..])];
        assert_eq!(
            folder.read("a.xlsx", workbook(&Parts { sheets: &sheets, ..parts }), &ty),
            sound
        );
    }
    let twice = [("One", ""), ("One", "")];
    let message = folder.read("a.xlsx", workbook(&Parts { sheets: &twice, ..parts }), &ty);
    assert!(message.ends_with("it has two sheets `One`"), "{message}");
}
