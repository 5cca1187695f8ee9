//! The operations of [`low::Runtime`](crate::low::Runtime), and what records errors, as functions with the
//! calling convention of C.
//!
//! A Bool comes and goes as a word. All of them have the same condition:
//!
//! # Safety
//! The context is that of the run, which has no other reference to its fields. Blocks are live blocks of the
//! context's memory with the layouts that the operation needs (or texts of the program), and other addresses
//! have the room that the operation needs: so it is in every function of Low that follows from Flat.

use super::context::Context;
use super::failure::OpenCall;
use super::memory::word;
use super::sort;
use crate::low::{FunctionId, BYTES, DATA};
use diffeo_array::ir::SiteId;
use diffeo_array::places::Told;
use diffeo_calculus::eval::{Event, Progress};
use diffeo_calculus::prim::{real, text};
use diffeo_calculus::show;
use std::borrow::Cow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::slice;

/// The work that it is to sort an element.
const SORTED: u64 = 250;

/// The bytes of a text.
unsafe fn bytes<'a>(text: *mut u8) -> &'a [u8] {
    // SAFETY: a text has so many bytes of data.
    unsafe { slice::from_raw_parts(text.add(DATA as usize), word(text, BYTES).read() as usize) }
}

/// [`Runtime::Box`](crate::low::Runtime::Box)
pub(super) unsafe extern "C" fn new_box(context: *mut Context, layout: i64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe {
        let (memory, layouts) = Context::memory(context);
        memory.new_box(layouts, layout as usize)
    }
}

/// [`Runtime::Array`](crate::low::Runtime::Array)
pub(super) unsafe extern "C" fn array(context: *mut Context, layout: i64, bytes: i64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_array(layout as usize, bytes, false) }
}

/// [`Runtime::Zeros`](crate::low::Runtime::Zeros)
pub(super) unsafe extern "C" fn zeros(context: *mut Context, layout: i64, bytes: i64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_array(layout as usize, bytes, true) }
}

/// [`Runtime::Free`](crate::low::Runtime::Free)
pub(super) unsafe extern "C" fn free(context: *mut Context, block: *mut u8) {
    // SAFETY: see the top.
    unsafe {
        let (memory, layouts) = Context::memory(context);
        memory.free(layouts, block);
    }
}

/// [`Runtime::Copy`](crate::low::Runtime::Copy)
pub(super) unsafe extern "C" fn copy(_: *mut Context, to: *mut u8, from: *const u8, bytes: i64) {
    if bytes > 0 {
        // SAFETY: see the top.
        unsafe { to.copy_from_nonoverlapping(from, bytes as usize) }
    }
}

/// [`Runtime::RetainAll`](crate::low::Runtime::RetainAll)
pub(super) unsafe extern "C" fn retain_all(_: *mut Context, data: *const *mut u8, count: i64) {
    for i in 0..count.max(0) as usize {
        // SAFETY: see the top: so many addresses, each of a block or null.
        unsafe {
            let block = data.add(i).read();
            if !block.is_null() {
                let references = word(block, crate::low::COUNT);
                if references.read() > 0 {
                    references.write(references.read() + 1);
                }
            }
        }
    }
}

/// [`Runtime::AppendText`](crate::low::Runtime::AppendText)
pub(super) unsafe extern "C" fn append_text(
    context: *mut Context,
    a: *mut u8,
    b: *mut u8,
) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[bytes(a), bytes(b)]) }
}

/// [`Runtime::CompareText`](crate::low::Runtime::CompareText): the order of UTF-8 is that of characters.
pub(super) unsafe extern "C" fn compare_text(_: *mut Context, a: *mut u8, b: *mut u8) -> i64 {
    // SAFETY: see the top.
    unsafe { bytes(a).cmp(bytes(b)) as i64 }
}

/// [`Runtime::ShowReal`](crate::low::Runtime::ShowReal)
pub(super) unsafe extern "C" fn show_real(context: *mut Context, x: f64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[show::real(x).as_bytes()]) }
}

/// [`Runtime::ShowInt`](crate::low::Runtime::ShowInt)
pub(super) unsafe extern "C" fn show_int(context: *mut Context, n: i64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[n.to_string().as_bytes()]) }
}

/// [`Runtime::ShowBool`](crate::low::Runtime::ShowBool)
pub(super) unsafe extern "C" fn show_bool(context: *mut Context, b: i64) -> *mut u8 {
    let text: &[u8] = if b == 0 { b"false" } else { b"true" };
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[text]) }
}

/// [`Runtime::ShowText`](crate::low::Runtime::ShowText)
pub(super) unsafe extern "C" fn show_text(context: *mut Context, text: *mut u8) -> *mut u8 {
    // SAFETY: see the top.
    unsafe {
        let shown = show::string(&String::from_utf8_lossy(bytes(text)));
        (*context).memory.new_text(&[shown.as_bytes()])
    }
}

/// The characters of a text, which is not read through to see that it is UTF-8.
unsafe fn unchecked<'a>(text: *mut u8) -> &'a str {
    // SAFETY: texts are made of `str`s: by the program's text, by arguments, and by the functions here.
    unsafe { std::str::from_utf8_unchecked(bytes(text)) }
}

/// [`TextOp::Size`](diffeo_calculus::prim::TextOp::Size)
pub(super) unsafe extern "C" fn text_size(_: *mut Context, text: *mut u8) -> i64 {
    // SAFETY: see the top.
    unsafe { bytes(text).len() as i64 }
}

/// [`TextOp::Byte`](diffeo_calculus::prim::TextOp::Byte)
pub(super) unsafe extern "C" fn text_byte(_: *mut Context, text: *mut u8, i: i64) -> i64 {
    // SAFETY: see the top.
    unsafe { text::byte(bytes(text), i) }
}

/// [`TextOp::Slice`](diffeo_calculus::prim::TextOp::Slice)
pub(super) unsafe extern "C" fn text_slice(
    context: *mut Context,
    text: *mut u8,
    lo: i64,
    hi: i64,
) -> *mut u8 {
    // SAFETY: see the top.
    unsafe {
        let part = text::slice(unchecked(text), lo, hi);
        (*context).memory.new_text(&[part.as_bytes()])
    }
}

/// [`TextOp::Find`](diffeo_calculus::prim::TextOp::Find)
pub(super) unsafe extern "C" fn text_find(
    _: *mut Context,
    part: *mut u8,
    text: *mut u8,
    from: i64,
) -> i64 {
    // SAFETY: see the top.
    unsafe { text::find(unchecked(part), unchecked(text), from) }
}

/// [`TextOp::Character`](diffeo_calculus::prim::TextOp::Character)
pub(super) unsafe extern "C" fn text_character(context: *mut Context, code: i64) -> *mut u8 {
    let mut buffer = [0; 4];
    let character = text::character(code).encode_utf8(&mut buffer);
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[character.as_bytes()]) }
}

/// [`TextOp::Lower`](diffeo_calculus::prim::TextOp::Lower)
pub(super) unsafe extern "C" fn text_lower(context: *mut Context, text: *mut u8) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[text::lower(unchecked(text)).as_bytes()]) }
}

/// [`TextOp::Upper`](diffeo_calculus::prim::TextOp::Upper)
pub(super) unsafe extern "C" fn text_upper(context: *mut Context, text: *mut u8) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[text::upper(unchecked(text)).as_bytes()]) }
}

/// [`TextOp::Digits`](diffeo_calculus::prim::TextOp::Digits)
pub(super) unsafe extern "C" fn text_digits(context: *mut Context, count: i64, x: f64) -> *mut u8 {
    // SAFETY: see the top.
    unsafe { (*context).memory.new_text(&[text::digits(count, x).as_bytes()]) }
}

/// [`TextOp::Number`](diffeo_calculus::prim::TextOp::Number)
pub(super) unsafe extern "C" fn text_number(_: *mut Context, text: *mut u8) -> f64 {
    // SAFETY: see the top.
    unsafe { text::number(unchecked(text)) }
}

/// Calls what the user of the library gave. A panic must not go through compiled code: it ends the run first.
unsafe fn call_back(context: *mut Context, f: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
        // SAFETY: see the top.
        unsafe {
            (*context).panic = Some(panic);
            Context::stop(context);
        }
    }
}

/// [`Runtime::Trace`](crate::low::Runtime::Trace)
pub(super) unsafe extern "C" fn trace(context: *mut Context, label: *mut u8, value: *mut u8) {
    // SAFETY: see the top.
    unsafe {
        if !Context::may_print(context) {
            return;
        }
        let line =
            [&*String::from_utf8_lossy(bytes(label)), &*String::from_utf8_lossy(bytes(value))]
                .join(": ");
        let events = &mut (*context).events;
        call_back(context, || events(Event::Line(&line)));
    }
}

/// [`Runtime::Progress`](crate::low::Runtime::Progress)
pub(super) unsafe extern "C" fn progress(
    context: *mut Context,
    label: *mut u8,
    step: i64,
    value: f64,
) {
    // SAFETY: see the top.
    unsafe {
        if !Context::may_print(context) {
            return;
        }
        let label = &*String::from_utf8_lossy(bytes(label));
        let events = &mut (*context).events;
        call_back(context, || events(Event::Progress(Progress { label, step, value })));
    }
}

/// [`Runtime::Warn`](crate::low::Runtime::Warn)
#[cold]
pub(super) unsafe extern "C" fn warn(
    context: *mut Context,
    code: *mut u8,
    message: *mut u8,
    help: *mut u8,
    place: i64,
) {
    // SAFETY: see the top.
    unsafe {
        let texts = [code, message, help].map(|text| String::from_utf8_lossy(bytes(text)));
        Context::warn(context, Told { texts: texts.map(Cow::into_owned), place });
    }
}

impl Context {
    /// Passes a warning on; among the blocks of a loop that several threads do, keeps it until the loop is over.
    ///
    /// # Safety
    /// The context is live.
    pub(super) unsafe fn warn(context: *mut Context, told: Told) {
        // SAFETY: by the condition of the function; these are single fields.
        unsafe {
            if let Some(kept) = &mut (*context).kept {
                if !kept.iter().any(|other| other.repeats(&told)) {
                    kept.push(told);
                }
            } else if (*context).told.is_new(&told) {
                let module = &(*context).module;
                let warning = told.warning(&module.flat.sites);
                let events = &mut (*context).events;
                call_back(context, || events(Event::Warning(warning)));
            }
        }
    }
}

/// Counts the work of sorting.
unsafe fn count_sort(context: *mut Context, length: i64) {
    // SAFETY: see the top.
    unsafe { (*context).work.add(SORTED * length.max(0) as u64) };
}

/// [`Runtime::SortReals`](crate::low::Runtime::SortReals)
pub(super) unsafe extern "C" fn sort_reals(
    context: *mut Context,
    data: *const f64,
    length: i64,
    to: *mut i64,
) {
    // SAFETY: see the top.
    let (keys, to) = unsafe {
        count_sort(context, length);
        sort::parts(data, length, to)
    };
    // SAFETY: see the top.
    let stop = || unsafe { Context::poll(context) };
    sort::sort_numbers(keys.len(), |i| sort::real_key(keys[i]), to, &stop);
}

/// [`Runtime::SortInts`](crate::low::Runtime::SortInts)
pub(super) unsafe extern "C" fn sort_ints(
    context: *mut Context,
    data: *const i64,
    length: i64,
    to: *mut i64,
) {
    // SAFETY: see the top.
    let (keys, to) = unsafe {
        count_sort(context, length);
        sort::parts(data, length, to)
    };
    // SAFETY: see the top.
    let stop = || unsafe { Context::poll(context) };
    sort::sort_numbers(keys.len(), |i| sort::int_key(keys[i]), to, &stop);
}

/// [`Runtime::SortTexts`](crate::low::Runtime::SortTexts)
pub(super) unsafe extern "C" fn sort_texts(
    context: *mut Context,
    data: *const *mut u8,
    length: i64,
    to: *mut i64,
) {
    // SAFETY: see the top; the elements are texts.
    unsafe {
        count_sort(context, length);
        let (keys, to) = sort::parts(data, length, to);
        sort::sort(keys.len(), |i| bytes(keys[i]), to, &|| Context::poll(context));
    }
}

/// [`Runtime::Poll`](crate::low::Runtime::Poll); code calls it if the end of the stack is [`ASK`](super::ASK) or above.
#[cold]
pub(super) unsafe extern "C" fn poll(context: *mut Context) -> i64 {
    // SAFETY: see the top.
    unsafe { i64::from(Context::poll(context)) }
}

/// Whether the stack is used up, or the run is to end.
#[cold]
pub(super) unsafe extern "C" fn deep(context: *mut Context) -> i64 {
    let here = 0u8;
    // SAFETY: see the top.
    unsafe {
        let used_up = (std::ptr::from_ref(&here) as usize) < Context::stack_end(context);
        i64::from(Context::poll(context) || used_up)
    }
}

/// [`Runtime::PowInt`](crate::low::Runtime::PowInt)
pub(super) unsafe extern "C" fn pow_int(_: *mut Context, x: f64, n: i64) -> f64 {
    real::power(x, n)
}

/// [`Runtime::StackNew`](crate::low::Runtime::StackNew)
pub(super) unsafe extern "C" fn stack_new(context: *mut Context, layout: i64) -> *mut u8 {
    // SAFETY: see the top; a stack has three words.
    unsafe {
        let stack = new_box(context, layout);
        if !stack.is_null() {
            for i in 0..3 {
                word(stack, crate::low::FIELDS + 8 * i).write(0);
            }
        }
        stack
    }
}

/// [`Runtime::StackGrow`](crate::low::Runtime::StackGrow)
pub(super) unsafe extern "C" fn stack_grow(context: *mut Context, stack: *mut u8) -> i64 {
    // SAFETY: see the top.
    unsafe {
        let (memory, layouts) = Context::memory(context);
        i64::from(memory.grow_stack(layouts, stack))
    }
}

/// Records an error: its index in the table of the program, its place, and the words of up to three operands.
#[cold]
pub(super) unsafe extern "C" fn raise(
    context: *mut Context,
    raise: i64,
    site: i64,
    a: u64,
    b: u64,
    c: u64,
) {
    // SAFETY: see the top.
    unsafe { (*context).failure.raise(raise as u32, SiteId(site as u32), [a, b, c]) }
}

/// Records an open call of a function that failed.
#[cold]
pub(super) unsafe extern "C" fn note(context: *mut Context, function: i64, site: i64) {
    let call = OpenCall { function: FunctionId(function as u32), site: SiteId(site as u32) };
    // SAFETY: see the top.
    unsafe { (*context).failure.note(call) }
}
