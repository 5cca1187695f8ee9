//! A memory that knows what may be done with it: every access is checked for bounds, for blocks that were freed
//! and for bytes that were never written; an array that is shared is not written.

use diffeo_codegen::low::{
    Layout, BYTES, CAPACITY, COUNT, DATA, FIELDS, LAYOUT, STACK_DATA, STACK_LENGTH, STACK_ROOM,
};

/// What is wrong with a program.
pub type Bug = String;

/// What a block of memory is for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AllocationKind {
    /// A block with a header, counted.
    Counted,
    /// The same, of what is written while it is shared: accumulators and stacks.
    Mutable,
    /// Words or data without a header.
    Raw,
}

struct Piece {
    bytes: Vec<u8>,
    written: Vec<bool>,
    kind: AllocationKind,
    live: bool,
}

/// The memory. An address is the number of a piece from 1 and an offset in it.
pub struct Memory {
    pieces: Vec<Piece>,
    layouts: Vec<Layout>,
    /// How many counted blocks were made in all.
    pub allocations: usize,
    /// How many are there, apart from static ones.
    pub live: usize,
    /// How many bytes were copied.
    pub copied: usize,
}

fn split(address: u64) -> Option<(usize, usize)> {
    let piece = (address >> 40).checked_sub(1)?;
    Some((piece as usize, (address & 0xFF_FFFF_FFFF) as usize))
}

impl Memory {
    pub fn new(layouts: Vec<Layout>) -> Memory {
        Memory { pieces: Vec::new(), layouts, allocations: 0, live: 0, copied: 0 }
    }

    /// A new piece, with zeros if `zeros`.
    pub fn piece(&mut self, bytes: usize, kind: AllocationKind, zeros: bool) -> u64 {
        let (written, live) = (vec![zeros; bytes], true);
        self.pieces.push(Piece { bytes: vec![0; bytes], written, kind, live });
        (self.pieces.len() as u64) << 40
    }

    fn header(
        &mut self,
        bytes: usize,
        layout: i64,
        kind: AllocationKind,
        zeros: bool,
    ) -> Result<u64, Bug> {
        let block = self.piece(bytes, kind, zeros);
        self.allocations += 1;
        self.live += 1;
        self.put(block, COUNT, 1)?;
        self.put(block, LAYOUT, layout)?;
        Ok(block)
    }

    /// A block of an array or text.
    pub fn array(&mut self, layout: i64, bytes: i64, zeros: bool) -> Result<u64, Bug> {
        match self.layouts.get(layout as usize) {
            Some(Layout::Plain | Layout::Text | Layout::References) => {}
            other => return Err(format!("an array of layout {other:?}")),
        }
        let bytes = usize::try_from(bytes).map_err(|_| format!("an array of {bytes} bytes"))?;
        let kind = if zeros { AllocationKind::Mutable } else { AllocationKind::Counted };
        let block = self.header(DATA as usize + bytes, layout, kind, zeros)?;
        self.put(block, BYTES, bytes as i64)?;
        self.put(block, CAPACITY, bytes as i64)?;
        Ok(block)
    }

    /// A block of a box.
    pub fn object(&mut self, layout: i64) -> Result<u64, Bug> {
        let Some(Layout::Fields(fields)) = self.layouts.get(layout as usize) else {
            return Err(format!("a box of layout {layout}"));
        };
        let bytes = FIELDS as usize + 8 * fields.len();
        self.header(bytes, layout, AllocationKind::Counted, false)
    }

    /// A block of a stack.
    pub fn stack(&mut self, layout: i64) -> Result<u64, Bug> {
        let Some(Layout::Stack(_)) = self.layouts.get(layout as usize) else {
            return Err(format!("a stack of layout {layout}"));
        };
        let block = self.header(STACK_DATA as usize + 8, layout, AllocationKind::Mutable, true)?;
        self.put(block, COUNT, 1)?;
        self.put(block, LAYOUT, layout)?;
        Ok(block)
    }

    /// Makes room for more tuples.
    pub fn grow(&mut self, block: u64) -> Result<(), Bug> {
        let layout = self.layout(block)?;
        let Layout::Stack(fields) = layout else { return Err("no stack grows".to_string()) };
        let length = self.get(block, STACK_LENGTH)?;
        let old = self.get(block, STACK_DATA)? as u64;
        let room = 2 * length + 1;
        let new = self.piece(8 * fields.len() * room as usize, AllocationKind::Raw, false);
        if old != 0 {
            // Components of one byte leave the rest of their words as it is.
            let (from, bytes) = (self.range(old, 0)?.0, 8 * fields.len() * length as usize);
            let (data, written) = (&self.pieces[from].bytes, &self.pieces[from].written);
            let (data, written) = (data[..bytes].to_vec(), written[..bytes].to_vec());
            let to = self.range(new, bytes)?.0;
            self.pieces[to].bytes[..bytes].copy_from_slice(&data);
            self.pieces[to].written[..bytes].copy_from_slice(&written);
            self.kill(old)?;
        }
        self.put(block, STACK_ROOM, room)?;
        self.put(block, STACK_DATA, new as i64)
    }

    /// A block that is never freed.
    pub fn fixed(&mut self, layout: i64, text: Option<&str>) -> Result<u64, Bug> {
        let block = match text {
            Some(text) => {
                let block = self.array(layout, text.len() as i64, false)?;
                self.write(block + DATA as u64, text.as_bytes())?;
                block
            }
            None => self.object(layout)?,
        };
        self.live -= 1;
        self.allocations -= 1;
        self.put(block, COUNT, -1)?;
        Ok(block)
    }

    fn kill(&mut self, address: u64) -> Result<(), Bug> {
        let (piece, _) = split(address).ok_or("null is freed")?;
        let piece = self.pieces.get_mut(piece).ok_or("what is no address is freed")?;
        if !std::mem::replace(&mut piece.live, false) {
            return Err("freed twice".to_string());
        }
        Ok(())
    }

    fn range(&self, address: u64, bytes: usize) -> Result<(usize, usize), Bug> {
        let (piece, offset) = split(address).ok_or("an access to null")?;
        let found = self.pieces.get(piece).ok_or("an access to no address")?;
        if !found.live {
            return Err("an access to a block that was freed".to_string());
        }
        if offset + bytes > found.bytes.len() {
            let size = found.bytes.len();
            return Err(format!("an access of {bytes} bytes at {offset} of {size}"));
        }
        Ok((piece, offset))
    }

    pub fn read(&self, address: u64, bytes: usize) -> Result<&[u8], Bug> {
        let (piece, offset) = self.range(address, bytes)?;
        let piece = &self.pieces[piece];
        if piece.written[offset..offset + bytes].contains(&false) {
            return Err(format!("what lies at {offset} was never written"));
        }
        Ok(&piece.bytes[offset..offset + bytes])
    }

    /// Writes without a look at who shares the block.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Bug> {
        let (piece, offset) = self.range(address, bytes.len())?;
        let piece = &mut self.pieces[piece];
        piece.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        piece.written[offset..offset + bytes.len()].fill(true);
        Ok(())
    }

    /// Writes as a program may: not to blocks that are shared.
    pub fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), Bug> {
        let (piece, offset) = self.range(address, bytes.len())?;
        let base = (piece as u64 + 1) << 40;
        if self.pieces[piece].kind == AllocationKind::Counted
            && offset > 0
            && self.get(base, COUNT)? != 1
        {
            return Err("a store to a block that is shared".to_string());
        }
        self.write(address, bytes)
    }

    pub fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<(), Bug> {
        if bytes == 0 {
            return Ok(());
        }
        if to < from + bytes as u64 && from < to + bytes as u64 {
            return Err("a copy that overlaps".to_string());
        }
        self.copied += bytes;
        let bytes = self.read(from, bytes)?.to_vec();
        self.store(to, &bytes)
    }

    /// A word of a block.
    pub fn get(&self, base: u64, offset: i64) -> Result<i64, Bug> {
        let bytes = self.read(base.wrapping_add(offset as u64), 8)?;
        Ok(i64::from_le_bytes(bytes.try_into().map_err(|_| "no word")?))
    }

    pub fn put(&mut self, base: u64, offset: i64, word: i64) -> Result<(), Bug> {
        self.write(base.wrapping_add(offset as u64), &word.to_le_bytes())
    }

    pub fn layout(&self, block: u64) -> Result<Layout, Bug> {
        let layout = self.get(block, LAYOUT)?;
        self.layouts.get(layout as usize).cloned().ok_or_else(|| format!("layout {layout}"))
    }

    /// Adds a reference.
    pub fn retain(&mut self, block: u64) -> Result<(), Bug> {
        if block == 0 {
            return Ok(());
        }
        let count = self.get(block, COUNT)?;
        if count >= 0 {
            self.put(block, COUNT, count + 1)?;
        }
        Ok(())
    }

    /// Takes a reference away.
    pub fn release(&mut self, block: u64) -> Result<(), Bug> {
        if block == 0 {
            return Ok(());
        }
        match self.get(block, COUNT)? {
            1 => self.free(block),
            0 => Err("a count of 0".to_string()),
            count if count > 1 => self.put(block, COUNT, count - 1),
            _ => Ok(()),
        }
    }

    /// Frees a block and releases what it refers to.
    pub fn free(&mut self, block: u64) -> Result<(), Bug> {
        let mut work = vec![block];
        while let Some(block) = work.pop() {
            if block == 0 {
                continue;
            }
            let count = self.get(block, COUNT)?;
            if count > 1 {
                self.put(block, COUNT, count - 1)?;
            }
            if count != 1 {
                continue;
            }
            match self.layout(block)? {
                Layout::Plain | Layout::Text => {}
                Layout::References => {
                    for i in 0..self.get(block, BYTES)? / 8 {
                        work.push(self.get(block, DATA + 8 * i)? as u64);
                    }
                }
                Layout::Fields(fields) => {
                    for (i, _) in fields.iter().enumerate().filter(|(_, counted)| **counted) {
                        work.push(self.get(block, FIELDS + 8 * i as i64)? as u64);
                    }
                }
                Layout::Stack(fields) => {
                    let data = self.get(block, STACK_DATA)? as u64;
                    let length = self.get(block, STACK_LENGTH)?;
                    for i in 0..length * fields.len() as i64 {
                        if fields[i as usize % fields.len()] {
                            work.push(self.get(data, 8 * i)? as u64);
                        }
                    }
                    if data != 0 {
                        self.kill(data)?;
                    }
                }
            }
            self.kill(block)?;
            self.live -= 1;
        }
        Ok(())
    }

    /// The characters of a text.
    pub fn text(&self, block: u64) -> Result<String, Bug> {
        if self.layout(block)? != Layout::Text {
            return Err("what is read as a text is none".to_string());
        }
        let bytes = self.get(block, BYTES)? as usize;
        let bytes = self.read(block + DATA as u64, bytes)?.to_vec();
        String::from_utf8(bytes).map_err(|e| e.to_string())
    }

    /// A new text.
    pub fn new_text(&mut self, text: &str) -> Result<u64, Bug> {
        let block = self.array(1, text.len() as i64, false)?;
        self.write(block + DATA as u64, text.as_bytes())?;
        Ok(block)
    }
}
