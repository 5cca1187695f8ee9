//! The functions of the WebAssembly module, and those that it is lent.
//!
//! A page writes a request to the memory that [`room`] gives, calls [`answer`], and reads as many bytes at [`text`].
//! Nothing is freed by the page, and nothing points into a memory that has moved: each call asks anew.

use crate::{Engine, Host};
use std::cell::RefCell;

/// Counts the bytes in use.
#[global_allocator]
static MEMORY: diffeo_memory::Counting = diffeo_memory::Counting;

mod lent {
    #[link(wasm_import_module = "page")]
    extern "C" {
        pub fn now() -> f64;
        pub fn tell(text: *const u8, length: usize);
        pub fn panicked(text: *const u8, length: usize);
    }
}

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static ENGINE: RefCell<Option<Engine>> = const { RefCell::new(None) };
}

fn host() -> Host {
    Host {
        // SAFETY: it takes and gives a number.
        now: || unsafe { lent::now() },
        memory: diffeo_memory::in_use,
        // SAFETY: the page reads the bytes of a text that lives until the call ends.
        tell: |line| unsafe { lent::tell(line.as_ptr(), line.len()) },
    }
}

/// Makes the engine, which loads the library of the language.
#[no_mangle]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        // SAFETY: as for `tell`.
        unsafe { lent::panicked(text.as_ptr(), text.len()) }
    }));
    ENGINE.with_borrow_mut(|engine| *engine = Some(Engine::new(host())));
}

/// Where a request of this many bytes is to be written.
#[no_mangle]
pub extern "C" fn room(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request that was written; the length of the answer.
#[no_mangle]
pub extern "C" fn answer() -> usize {
    let request = REQUEST.take();
    let request = String::from_utf8_lossy(&request);
    let text = ENGINE.with_borrow_mut(|engine| {
        engine.get_or_insert_with(|| Engine::new(host())).answer(&request)
    });
    let length = text.len();
    ANSWER.set(text);
    length
}

/// Where the answer is.
#[no_mangle]
pub extern "C" fn text() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
