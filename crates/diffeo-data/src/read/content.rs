//! What a file is by how it begins, for messages about one that is something else than its name says.

use crate::error::Content;
use crate::format::Format;

/// How many bytes tell most.
pub(super) const START: usize = 1 << 9;

/// What a file seems to be that begins so.
pub(super) fn content(start: &[u8]) -> Content {
    const OLE: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    let start = &start[..start.len().min(START)];
    let begins = |mark: &[u8]| start.starts_with(mark);
    if is_html(start) {
        Content::Html
    } else if is_text(start) {
        Content::Text
    } else if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
        Content::Zip
    } else if begins(OLE) {
        Content::OldExcel
    } else {
        Format::beginning(start).map_or(Content::Other, Content::Of)
    }
}

fn is_html(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let begins =
        |word: &[u8]| start.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Whether these bytes may begin a text in UTF-8, UTF-16 or Latin-1.
fn is_text(start: &[u8]) -> bool {
    if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    let control = |b: &u8| *b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r' | 0x0c);
    !start.is_empty() && !start.iter().any(control)
}
