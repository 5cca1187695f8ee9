//! The lengths in an Arrow file, before it is read. The library asks for memory by them at once, and where there is none
//! of it, the process is over without a message. The schema, which such a file has twice, too: nothing else tells that a
//! byte of it has changed.

use super::ARROW;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{root_as_footer, root_as_message};
use arrow_schema::Schema;

/// Whether the lengths in an Arrow file can be true, and what it has twice is the same.
pub(super) fn are_true(bytes: &[u8]) -> Option<()> {
    let Some(stream) = bytes.strip_prefix(ARROW) else {
        let (_, rest) = messages(bytes)?;
        return rest.is_empty().then_some(());
    };
    // A file is a stream, aligned, with a directory behind it. Polars writes no length before the schema.
    let mut stream = stream.get(2..)?;
    while let Some(rest) = stream.strip_prefix(&[0; 8]) {
        stream = rest;
    }
    let prefixed = |length: usize| Some((length, schema(stream.get(length..)?)?));
    let (prefix, first) = [8, 4, 0].into_iter().find_map(prefixed)?;
    let next = match prefix {
        0 => stream.chunks_exact(8).position(|word| word.starts_with(&[0xff; 4]))?,
        _ => 0,
    };
    let (count, _) = messages(&stream[8 * next..])?;
    let count = count.checked_sub(usize::from(prefix > 0))?;
    let (rest, end) = bytes.split_last_chunk::<10>()?;
    let length = u32::from_le_bytes(*end.first_chunk::<4>()?);
    let start = rest.len().checked_sub(usize::try_from(length).ok()?)?;
    // A copy, as all of these, because they have to be aligned.
    let footer = rest[start..].to_vec();
    let footer = root_as_footer(&footer).ok()?;
    if first != try_fb_to_schema(footer.schema()?).ok()? {
        return None;
    }
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries());
    let mut found = 0;
    for block in blocks.flat_map(|blocks| blocks.iter()) {
        let message = bytes.get(usize::try_from(block.offset()).ok()?..)?;
        let (message, after) =
            message.split_at_checked(usize::try_from(block.metaDataLength()).ok()?)?;
        let after = after.get(..usize::try_from(block.bodyLength()).ok()?)?;
        // Its length comes first, behind a mark in newer files.
        let message = message.strip_prefix(&[0xff; 4]).unwrap_or(message);
        let (length, message) = message.split_first_chunk::<4>()?;
        if usize::try_from(u32::from_le_bytes(*length)) != Ok(message.len()) {
            return None;
        }
        body(message, after)?;
        found += 1;
    }
    (found == count).then_some(())
}

/// The schema of a message that is one.
fn schema(message: &[u8]) -> Option<Schema> {
    let message = message.to_vec();
    try_fb_to_schema(root_as_message(&message).ok()?.header_as_schema()?).ok()
}

/// How many messages a stream has, and what is behind its end.
fn messages(stream: &[u8]) -> Option<(usize, &[u8])> {
    let (mut rest, mut count) = (stream, 0);
    loop {
        let (mut word, mut after) = match rest.split_first_chunk::<4>() {
            Some(found) => found,
            None => return rest.is_empty().then_some((count, rest)),
        };
        if *word == [0xff; 4] {
            (word, after) = after.split_first_chunk::<4>()?;
        }
        let length = usize::try_from(u32::from_le_bytes(*word)).ok()?;
        if length == 0 {
            return Some((count, after));
        }
        let (message, after) = after.split_at_checked(length)?;
        rest = after.get(body(message, after)?..)?;
        count += 1;
    }
}

/// The length of the body of a message, if it is there and its buffers can be what they are said to be.
fn body(message: &[u8], after: &[u8]) -> Option<usize> {
    /// Neither LZ4 nor Zstandard makes more of a byte.
    const MOST: u64 = 1 << 17;
    let message = message.to_vec();
    let message = root_as_message(&message).ok()?;
    let length = usize::try_from(message.bodyLength()).ok()?;
    let body = after.get(..length)?;
    // A message that is none of these ends the reading in silence.
    let batch = match message.header_as_dictionary_batch() {
        Some(dictionary) => Some(dictionary.data()?),
        None => match message.header_as_record_batch() {
            None if message.header_as_schema().is_none() => return None,
            batch => batch,
        },
    };
    let compressed = batch.filter(|batch| batch.compression().is_some());
    for buffer in compressed.and_then(|batch| batch.buffers()).iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok()?;
        let length = usize::try_from(buffer.length()).ok()?;
        let bytes = body.get(start..)?.get(..length)?;
        // -1 says that it is not compressed.
        let size = bytes.first_chunk::<8>().map_or(0, |size| i64::from_le_bytes(*size));
        if size > 0 && size.unsigned_abs() > MOST * bytes.len() as u64 {
            return None;
        }
    }
    Some(length)
}
