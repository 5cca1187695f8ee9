//! The allocator: blocks as [`low`](crate::low) describes them.
//!
//! Small blocks come from chunks that belong to the run, by size class, each with a list of free blocks; large ones
//! come from the allocator of the program and are kept in a list. So after an error everything is freed at once,
//! whatever refers to it. Nothing is atomic: a block belongs to one run.

use super::stack_end::StackEnd;
use crate::low::{
    Layout, BYTES, CAPACITY, COUNT, DATA, FIELDS, LAYOUT, STACK_DATA, STACK_LENGTH, STACK_ROOM,
};
use diffeo_calculus::eval::MemoryLimit;
use std::alloc;
use std::ptr::{null_mut, NonNull};

/// The sizes of small blocks are multiples of this; data are aligned to it.
pub const GRAIN: usize = 32;
/// How many size classes there are; block of class `c` have `c * GRAIN` bytes.
pub const CLASSES: usize = 32;
/// The first chunk has so many bytes, each further one twice as many as the one before …
const FIRST_CHUNK: usize = 1 << 16;
/// … up to this.
const LARGEST_CHUNK: usize = 1 << 22;
/// Maximum number of free large blocks that are kept: as many as the arrays of a tape that grows.
const KEPT: usize = 32;
/// Maximum size of a free block that is kept, in bytes: larger ones are rare, and the system clears them anyway.
const LARGEST_KEPT: usize = 8 << 20;
/// Maximum size of all free blocks that are kept, in bytes, so that they are a small part of the memory.
const ALL_KEPT: usize = 64 << 20;
/// The index of [`Layout::Plain`], [`Layout::Text`] and [`Layout::References`] in every module.
pub const PLAIN: usize = 0;
/// See [`PLAIN`].
pub const TEXT: usize = 1;
/// See [`PLAIN`].
pub const REFERENCES: usize = 2;
/// The count of references of a block that is never freed: so far from 0 that counting never gets there.
pub const STATIC: i64 = i64::MIN / 2;

/// What stands before a large block: the list of all of them.
#[repr(C)]
struct Large {
    previous: *mut Large,
    next: *mut Large,
    /// What the allocator gave …
    start: *mut u8,
    /// … and how many bytes.
    size: usize,
}

const _: () = assert!(std::mem::size_of::<Large>() == GRAIN);

/// Whether every block is allocated by itself, so that valgrind and AddressSanitizer see what compiled code does
/// with it.
const SEPARATE: bool = cfg!(feature = "separate-blocks");

/// The alignment that the allocator of the program is asked for: more would cost it its fast paths.
const ALIGN: usize = if SEPARATE { GRAIN } else { 16 };

/// What a large block takes besides: room for the list, and for aligning the block.
const BESIDES: usize = if SEPARATE { GRAIN } else { 2 * GRAIN };

/// The size class of a block; of a large one, more than [`CLASSES`].
fn class(size: usize) -> usize {
    if SEPARATE {
        CLASSES + 1
    } else {
        size.div_ceil(GRAIN)
    }
}

/// The memory of a run.
#[repr(C)]
pub struct Memory {
    /// By size class, the first free block; its first word is the next one.
    free: [*mut u8; CLASSES + 1],
    /// Where the unused part of the last chunk begins …
    unused: *mut u8,
    /// … and ends.
    end: *mut u8,
    chunks: Vec<(NonNull<u8>, alloc::Layout)>,
    large: *mut Large,
    /// Large blocks that are free, the latest last: what a loop makes and drops in each step needs the system once.
    kept: Vec<(*mut u8, usize)>,
    /// How many blocks there are.
    live: usize,
    /// How many there ever were.
    made: u64,
    /// How many there have ever been.
    allocated: u64,
    /// The bound, and how to know what is in use.
    limit: Option<MemoryLimit>,
    /// The stack of the run, which has the same bound.
    stack: Option<Stack>,
}

/// The stack of a run.
struct Stack {
    /// Where it begins …
    top: usize,
    /// … how far down it has been seen …
    deepest: usize,
    /// … and how far it may go, whatever memory there is.
    lowest: usize,
    /// The word that the program compares the stack pointer with.
    end: *const StackEnd,
}

impl Stack {
    /// How many bytes it takes, at least; it does not give them back.
    fn used(&mut self) -> usize {
        let here = 0u8;
        self.deepest = self.deepest.min(std::ptr::from_ref(&here) as usize);
        self.top.saturating_sub(self.deepest)
    }

    /// Lets it have so many bytes at most.
    fn bound(&self, bytes: usize) {
        let end = self.lowest.max(self.top.saturating_sub(bytes));
        // SAFETY: it lives as long as the run.
        unsafe { (*self.end).set(end) };
    }
}

/// The word of a block at an offset.
///
/// # Safety
/// There is a word there.
pub(super) unsafe fn word(block: *mut u8, offset: i64) -> *mut i64 {
    // SAFETY: by the condition of the function; blocks and their offsets are multiples of 8.
    unsafe { block.offset(offset as isize).cast() }
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory {
            free: [null_mut(); CLASSES + 1],
            unused: null_mut(),
            end: null_mut(),
            chunks: Vec::new(),
            large: null_mut(),
            kept: Vec::new(),
            live: 0,
            made: 0,
            allocated: 0,
            limit: None,
            stack: None,
        }
    }

    /// How many blocks there are.
    pub fn live(&self) -> usize {
        self.live
    }

    /// How many blocks were made so far.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// How many blocks have been allocated.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    pub(super) fn limit(&self) -> Option<MemoryLimit> {
        self.limit
    }

    pub(crate) fn set_limit(&mut self, limit: Option<MemoryLimit>) {
        self.limit = limit;
    }

    /// A run begins on a stack that begins at `top` and may go down to `lowest`, which is the value of `end` now.
    pub(super) fn begin(&mut self, top: usize, lowest: usize, end: &StackEnd) {
        if let Some(limit) = self.limit {
            let stack = Stack { top, deepest: top, lowest, end };
            stack.bound(limit.bytes.saturating_sub((limit.in_use)()));
            self.stack = Some(stack);
        }
    }

    /// The run is over; whether its stack was bounded by what other memory there was, if it had this end.
    pub(crate) fn end(&mut self, end: usize) -> bool {
        self.stack.take().is_some_and(|stack| end != stack.lowest)
    }

    /// A block of this size, header and all; null if memory is used up.
    pub(super) fn allocate(&mut self, size: usize, zeros: bool) -> *mut u8 {
        let class = class(size);
        let block = if class > CLASSES {
            self.allocate_large(size, zeros)
        } else {
            let block = self.allocate_small(class);
            if zeros && !block.is_null() {
                // SAFETY: the block has at least `size` bytes.
                unsafe { block.write_bytes(0, size) };
            }
            block
        };
        self.live += usize::from(!block.is_null());
        self.made += 1;
        self.allocated += 1;
        block
    }

    fn allocate_small(&mut self, class: usize) -> *mut u8 {
        let block = self.free[class];
        if !block.is_null() {
            // SAFETY: the first word of a free block is the next one.
            self.free[class] = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let size = class * GRAIN;
        if (self.end as usize) - (self.unused as usize) < size && !self.add_chunk() {
            return null_mut();
        }
        let block = self.unused;
        // SAFETY: the unused part of the chunk has at least `size` bytes; a chunk is larger than any class.
        self.unused = unsafe { block.add(size) };
        block
    }

    /// A new chunk; false if memory is used up. What is left of the last one is lost: less than a block.
    #[cold]
    fn add_chunk(&mut self) -> bool {
        let size = (FIRST_CHUNK << self.chunks.len().min(6)).min(LARGEST_CHUNK);
        let Ok(layout) = alloc::Layout::from_size_align(size, GRAIN) else { return false };
        if !self.fits(size) {
            return false;
        }
        // SAFETY: the size is not 0.
        let Some(chunk) = NonNull::new(unsafe { alloc::alloc(layout) }) else { return false };
        self.chunks.push((chunk, layout));
        self.unused = chunk.as_ptr();
        // SAFETY: the end of what was allocated.
        self.end = unsafe { chunk.as_ptr().add(size) };
        true
    }

    /// Whether so many bytes more are within the bound, perhaps after free blocks were given back.
    fn fits(&mut self, size: usize) -> bool {
        let Some(limit) = self.limit else { return true };
        let used = self.stack.as_mut().map_or(0, Stack::used);
        let with = || (limit.in_use)().saturating_add(size);
        let mut wanted = with();
        if wanted.saturating_add(used) > limit.bytes {
            self.free_kept(0);
            wanted = with();
        }
        let fits = wanted.saturating_add(used) <= limit.bytes;
        if let (true, Some(stack)) = (fits, &self.stack) {
            stack.bound(limit.bytes - wanted);
        }
        fits
    }

    #[cold]
    fn allocate_large(&mut self, size: usize, zeros: bool) -> *mut u8 {
        let Some(whole) = size.checked_add(BESIDES) else { return null_mut() };
        let Ok(layout) = alloc::Layout::from_size_align(whole, ALIGN) else { return null_mut() };
        if let Some(block) = self.take_kept(whole) {
            if zeros {
                // SAFETY: the block has at least `size` bytes.
                unsafe { block.write_bytes(0, size) };
            }
            return block;
        }
        if !self.fits(whole) {
            return null_mut();
        }
        // SAFETY: the size is not 0.
        let start = unsafe {
            if zeros {
                alloc::alloc_zeroed(layout)
            } else {
                alloc::alloc(layout)
            }
        };
        if start.is_null() {
            return null_mut();
        }
        // SAFETY: the block begins at most `BESIDES` bytes behind the start, which is a multiple of `ALIGN`, with room for `Large` before it,
        // aligned as `Large` needs it. The next of the list is a live large block.
        unsafe {
            let block = start.add(GRAIN + (start.add(GRAIN)).align_offset(GRAIN));
            self.enlist(block, start, whole);
            block
        }
    }

    /// Puts a large block into the list of those that are live.
    ///
    /// # Safety
    /// It is a large block with `Large` before it, which is not in the list; it begins in `whole` bytes at `start`.
    unsafe fn enlist(&mut self, block: *mut u8, start: *mut u8, whole: usize) {
        // SAFETY: by the condition of the function; the next of the list is a live large block.
        unsafe {
            let large = block.sub(GRAIN).cast::<Large>();
            large.write(Large { previous: null_mut(), next: self.large, start, size: whole });
            if !self.large.is_null() {
                (*self.large).previous = large;
            }
            self.large = large;
        }
    }

    /// The smallest free block that is large enough, and not much larger.
    fn take_kept(&mut self, whole: usize) -> Option<*mut u8> {
        let sizes = whole..=whole.saturating_mul(2);
        let kept = self.kept.iter().enumerate().rev();
        let (at, _) = kept
            .filter(|(_, (_, size))| sizes.contains(size))
            .min_by_key(|(_, (_, size))| *size)?;
        let (block, _) = self.kept.remove(at);
        // SAFETY: before a large block stands `Large`; what is kept is not in the list.
        unsafe {
            let Large { start, size, .. } = block.sub(GRAIN).cast::<Large>().read();
            self.enlist(block, start, size);
        }
        Some(block)
    }

    /// Keeps a large block that is free, if it is not too large, and the latest others up to the maximum.
    fn keep(&mut self, block: *mut u8, size: usize) {
        self.kept.push((block, size));
        let mut all = 0;
        let fits = |(_, size): &&(*mut u8, usize)| {
            all += *size;
            *size <= LARGEST_KEPT && all <= ALL_KEPT
        };
        let but = self.kept.iter().rev().take(KEPT).take_while(fits).count();
        self.free_kept(but);
    }

    /// Gives all free large blocks back but for the latest ones.
    fn free_kept(&mut self, but: usize) {
        for (block, _) in self.kept.drain(..self.kept.len().saturating_sub(but)) {
            // SAFETY: before a large block stands `Large`, which says how it was allocated; nothing refers to it.
            unsafe {
                let large = block.sub(GRAIN).cast::<Large>().read();
                let layout = alloc::Layout::from_size_align_unchecked(large.size, ALIGN);
                alloc::dealloc(large.start, layout);
            }
        }
    }

    /// Gives back a block of this size.
    ///
    /// # Safety
    /// [`Memory::allocate`] gave it with this size, and it is not used any more.
    unsafe fn deallocate(&mut self, block: *mut u8, size: usize) {
        self.live -= 1;
        let class = class(size);
        if class <= CLASSES {
            // SAFETY: the block has at least a word, and it is free.
            unsafe { block.cast::<*mut u8>().write(self.free[class]) };
            self.free[class] = block;
            return;
        }
        // SAFETY: before a large block stands `Large`, whose neighbours in the list are live or null.
        let whole = unsafe {
            let large = block.sub(GRAIN).cast::<Large>().read();
            if large.previous.is_null() {
                self.large = large.next;
            } else {
                (*large.previous).next = large.next;
            }
            if !large.next.is_null() {
                (*large.next).previous = large.previous;
            }
            large.size
        };
        self.keep(block, whole);
    }

    /// A box of this layout with a count of one; its fields are not set.
    pub(crate) fn new_box(&mut self, layouts: &[Layout], layout: usize) -> *mut u8 {
        let size = match &layouts[layout] {
            Layout::Fields(fields) => FIELDS as usize + 8 * fields.len(),
            Layout::Stack(_) => FIELDS as usize + 24,
            Layout::Plain | Layout::Text | Layout::References => DATA as usize,
        };
        let block = self.allocate(size, false);
        if !block.is_null() {
            // SAFETY: every block has its first two words.
            unsafe {
                word(block, COUNT).write(1);
                word(block, LAYOUT).write(layout as i64);
            }
        }
        block
    }

    /// An array or a text of this layout with a count of one.
    pub(crate) fn new_array(&mut self, layout: usize, bytes: i64, zeros: bool) -> *mut u8 {
        let Some(size) = usize::try_from(bytes).ok().and_then(|n| n.checked_add(DATA as usize))
        else {
            return null_mut();
        };
        let block = self.allocate(size, zeros);
        if !block.is_null() {
            // SAFETY: every array has the four words before its data.
            unsafe {
                word(block, COUNT).write(1);
                word(block, LAYOUT).write(layout as i64);
                word(block, BYTES).write(bytes);
                word(block, CAPACITY).write(bytes);
            }
        }
        block
    }

    /// A text.
    pub(crate) fn new_text(&mut self, text: &[&[u8]]) -> *mut u8 {
        let bytes: usize = text.iter().map(|part| part.len()).sum();
        let block = self.new_array(TEXT, bytes as i64, false);
        if !block.is_null() {
            let mut offset = DATA as usize;
            for part in text {
                // SAFETY: the data have room for all parts.
                unsafe { block.add(offset).copy_from_nonoverlapping(part.as_ptr(), part.len()) };
                offset += part.len();
            }
        }
        block
    }

    /// Frees a block whose last reference is gone, and releases what it refers to.
    ///
    /// # Safety
    /// It is a live block with a count of at most one that nothing uses any more; what it refers to are
    /// live blocks of this memory or null.
    pub(super) unsafe fn free(&mut self, layouts: &[Layout], block: *mut u8) {
        // The blocks to free are linked by their first words, which have no other use any more.
        let mut todo = block;
        // SAFETY: `todo` is a list of blocks that only it refers to; fields and elements are where the layout
        // says, and were set.
        unsafe {
            word(todo, COUNT).write(0);
            while !todo.is_null() {
                let block = todo;
                todo = word(block, COUNT).read() as *mut u8;
                let mut release = |at: *mut i64| {
                    let reference = at.read() as *mut u8;
                    if !reference.is_null() && drop_reference(reference) {
                        word(reference, COUNT).write(todo as i64);
                        todo = reference;
                    }
                };
                let size = match &layouts[word(block, LAYOUT).read() as usize] {
                    Layout::Plain | Layout::Text => array_size(block),
                    Layout::References => {
                        let bytes = word(block, BYTES).read();
                        for at in (0..bytes).step_by(8) {
                            release(word(block, DATA + at));
                        }
                        array_size(block)
                    }
                    Layout::Fields(fields) => {
                        for (i, _) in fields.iter().enumerate().filter(|(_, reference)| **reference)
                        {
                            release(word(block, FIELDS + 8 * i as i64));
                        }
                        FIELDS as usize + 8 * fields.len()
                    }
                    Layout::Stack(components) => {
                        let tuples = stack_tuples(block);
                        if components.iter().any(|reference| *reference) {
                            let n = word(block, STACK_LENGTH).read() * components.len() as i64;
                            for i in 0..n {
                                if components[i as usize % components.len()] {
                                    release(word(tuples, DATA + 8 * i));
                                }
                            }
                        }
                        if !tuples.is_null() {
                            self.deallocate(tuples, array_size(tuples));
                        }
                        FIELDS as usize + 24
                    }
                };
                self.deallocate(block, size);
            }
        }
    }

    /// Gives up a reference to a block, or null.
    ///
    /// # Safety
    /// It is a live block, and the reference was counted.
    pub(crate) unsafe fn release(&mut self, layouts: &[Layout], block: *mut u8) {
        // SAFETY: by the condition of the function.
        unsafe {
            if !block.is_null() && drop_reference(block) {
                self.free(layouts, block);
            }
        }
    }

    /// Makes room for one more tuple on a stack; false if memory is used up.
    ///
    /// # Safety
    /// It is a live stack.
    pub(super) unsafe fn grow_stack(&mut self, layouts: &[Layout], stack: *mut u8) -> bool {
        // SAFETY: a stack has these words, and the tuples, if there are any, lie in an array of their own.
        unsafe {
            let Layout::Stack(components) = &layouts[word(stack, LAYOUT).read() as usize] else {
                return false;
            };
            let (count, room) = (word(stack, STACK_LENGTH).read(), word(stack, STACK_ROOM).read());
            if count < room {
                return true;
            }
            let room = (room * 2).max(16);
            let bytes = room.checked_mul(8 * components.len() as i64);
            let new = bytes.map_or(null_mut(), |bytes| self.new_array(PLAIN, bytes, false));
            if new.is_null() {
                return false;
            }
            let old = stack_tuples(stack);
            if !old.is_null() {
                let bytes = word(old, BYTES).read() as usize;
                new.add(DATA as usize).copy_from_nonoverlapping(old.add(DATA as usize), bytes);
                self.deallocate(old, array_size(old));
            }
            word(stack, STACK_ROOM).write(room);
            word(stack, STACK_DATA).write(new.add(DATA as usize) as i64);
            true
        }
    }

    /// Frees every block.
    ///
    /// # Safety
    /// Nothing uses any of them any more.
    pub(super) unsafe fn free_all(&mut self) {
        self.free_kept(0);
        // SAFETY: the list has the large blocks that are live, the chunks were allocated with their layouts.
        unsafe {
            while !self.large.is_null() {
                let large = self.large.read();
                self.large = large.next;
                alloc::dealloc(
                    large.start,
                    alloc::Layout::from_size_align_unchecked(large.size, ALIGN),
                );
            }
            for (chunk, layout) in self.chunks.drain(..) {
                alloc::dealloc(chunk.as_ptr(), layout);
            }
        }
        self.free = [null_mut(); CLASSES + 1];
        (self.unused, self.end) = (null_mut(), null_mut());
        self.live = 0;
    }
}

/// Counts one reference less; whether it was the last.
///
/// # Safety
/// It is a live block.
unsafe fn drop_reference(block: *mut u8) -> bool {
    // SAFETY: the first word of a block is its count.
    unsafe {
        let count = word(block, COUNT);
        let references = count.read();
        if references == 1 {
            return true;
        }
        if references > 1 {
            count.write(references - 1);
        }
        false
    }
}

/// How many bytes an array or a text has, header and all.
///
/// # Safety
/// It is one.
unsafe fn array_size(block: *mut u8) -> usize {
    // SAFETY: by the condition of the function.
    DATA as usize + unsafe { word(block, CAPACITY).read() } as usize
}

/// The array with the tuples of a stack, or null.
///
/// # Safety
/// It is a live stack.
pub(super) unsafe fn stack_tuples(stack: *mut u8) -> *mut u8 {
    // SAFETY: the third word of a stack is null or the address of the data of an array.
    unsafe {
        let data = word(stack, STACK_DATA).read() as *mut u8;
        if data.is_null() {
            null_mut()
        } else {
            data.sub(DATA as usize)
        }
    }
}
