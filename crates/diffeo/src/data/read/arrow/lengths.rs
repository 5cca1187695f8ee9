//! The lengths in an Arrow file, before it is read. The library asks for memory by them at once, and where there is none
//! of it, the process is over without a message.

use super::ARROW;
use arrow_ipc::{root_as_footer, root_as_message};

/// Whether the lengths in an Arrow file can be true.
pub(super) fn are_true(bytes: &[u8]) -> Option<()> {
    if !bytes.starts_with(ARROW) {
        let mut rest = bytes;
        loop {
            let (mut word, mut after) = match rest.split_first_chunk::<4>() {
                Some(found) => found,
                None => return rest.is_empty().then_some(()),
            };
            if *word == [0xff; 4] {
                (word, after) = after.split_first_chunk::<4>()?;
            }
            let length = usize::try_from(u32::from_le_bytes(*word)).ok()?;
            if length == 0 {
                return Some(());
            }
            let (message, after) = after.split_at_checked(length)?;
            rest = after.get(body(message, after)?..)?;
        }
    }
    let (rest, end) = bytes.split_last_chunk::<10>()?;
    let length = u32::from_le_bytes(*end.first_chunk::<4>()?);
    let start = rest.len().checked_sub(usize::try_from(length).ok()?)?;
    // A copy, as all of these, because they have to be aligned.
    let footer = rest[start..].to_vec();
    let footer = root_as_footer(&footer).ok()?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries());
    for block in blocks.flat_map(|blocks| blocks.iter()) {
        let message = bytes.get(usize::try_from(block.offset()).ok()?..)?;
        let (message, after) =
            message.split_at_checked(usize::try_from(block.metaDataLength()).ok()?)?;
        let after = after.get(..usize::try_from(block.bodyLength()).ok()?)?;
        // Its length comes first, behind a mark in newer files.
        let message = message.strip_prefix(&[0xff; 4]).unwrap_or(message);
        body(message.get(4..)?, after)?;
    }
    Some(())
}

/// The length of the body of a message, if it is there and its buffers can be what they are said to be.
fn body(message: &[u8], after: &[u8]) -> Option<usize> {
    /// Neither LZ4 nor Zstandard makes more of a byte.
    const MOST: u64 = 1 << 17;
    let message = message.to_vec();
    let message = root_as_message(&message).ok()?;
    let length = usize::try_from(message.bodyLength()).ok()?;
    let body = after.get(..length)?;
    let batch = match message.header_as_dictionary_batch() {
        Some(dictionary) => dictionary.data(),
        None => message.header_as_record_batch(),
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
