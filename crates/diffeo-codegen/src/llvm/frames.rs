//! How much of the stack the functions of an object take.
//!
//! The frame of a function is at most what its code subtracts from the stack pointer by constants, with the registers
//! that it pushes. Bytes that only look like such an instruction make a frame larger than it is, which is safe.

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// Registers that a function pushes, the place to return to, and what aligns its frame.
const PUSHED: usize = 256;
/// Larger ones are taken for other bytes.
const LARGEST: u32 = 64 << 20;

/// The functions whose frames are larger than this, by their indices.
pub(super) fn large_frames(object: &[u8], small: usize) -> Result<Vec<(usize, usize)>, String> {
    let file = object::File::parse(object).map_err(|error| error.to_string())?;
    let mut frames = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let Some(function) = symbol.name().ok().and_then(index) else { continue };
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let Some(section) = section else { continue };
        let data = section.data().map_err(|error| error.to_string())?;
        let start = symbol.address().saturating_sub(section.address()) as usize;
        // Mach-O does not say how long functions are.
        let end = if symbol.size() == 0 { data.len() } else { start + symbol.size() as usize };
        let frame = frame(data.get(start..end.min(data.len())).unwrap_or_default());
        if frame > small {
            frames.push((function, frame));
        }
    }
    Ok(frames)
}

/// The index of a function. What a task calls may have been inlined there.
fn index(name: &str) -> Option<usize> {
    let name = name.strip_prefix('_').unwrap_or(name);
    name.strip_prefix("task").or(name.strip_prefix('f'))?.parse().ok()
}

#[cfg(target_arch = "x86_64")]
fn frame(code: &[u8]) -> usize {
    // sub rsp, imm32
    let subtracted = code.windows(7).filter_map(|bytes| match bytes {
        [0x48, 0x81, 0xec, size @ ..] => {
            let size = u32::from_le_bytes(size.try_into().ok()?);
            (size % 8 == 0 && size < LARGEST).then_some(size as usize)
        }
        _ => None,
    });
    subtracted.max().unwrap_or(0) + PUSHED
}

#[cfg(not(target_arch = "x86_64"))]
fn frame(code: &[u8]) -> usize {
    // sub sp, sp, #imm12, perhaps shifted by 12 bits; two of them for one frame.
    let subtracted = code.chunks_exact(4).filter_map(|bytes| {
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        let size = (word >> 10 & 0xfff) << (if word >> 22 & 1 == 1 { 12 } else { 0 });
        (word & 0xff80_03ff == 0xd100_03ff && size < LARGEST).then_some(size as usize)
    });
    subtracted.sum::<usize>() + PUSHED
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::{frame, index, PUSHED};

    #[test]
    fn frames_are_read_from_code() {
        // push rbp; mov rbp, rsp; and rsp, -64; sub rsp, 32128
        let code =
            [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x81, 0xec, 0x80, 0x7d, 0, 0];
        assert_eq!(frame(&code), 32128 + PUSHED);
        assert_eq!(frame(&code[..8]), PUSHED);
    }

    #[test]
    fn functions_are_known_by_their_names() {
        assert_eq!(
            [index("f12"), index("task3"), index("entry"), index("_f2")],
            [Some(12), Some(3), None, Some(2)]
        );
    }
}
