//! Runs programs with the runtime in C, as libraries made by `diffeo build` have it, through a table of its
//! functions.
#![allow(dead_code)]

use diffeo_array::ir::SiteId;
use diffeo_codegen::c::compiler::{load, COptions, Error};
use diffeo_codegen::c::engine::compile_all;
use diffeo_codegen::c::{self, CText, Unit};
use diffeo_codegen::engine::{Instance, RunOptions};
use diffeo_codegen::low::{LowModule, Raise};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// What a program calls while it runs; as `df_host` of the runtime.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Given to each of the functions.
    pub data: *mut c_void,
    /// `(data, label, its bytes, value, its bytes)`: prints a line.
    pub trace: Option<unsafe extern "C" fn(*mut c_void, *const u8, i64, *const u8, i64)>,
    /// `(data, label, its bytes, step, value)`
    pub progress: Option<unsafe extern "C" fn(*mut c_void, *const u8, i64, i64, f64)>,
    /// Why the run is to end: 0 if it is not.
    pub stop: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
}

/// As `df_face` of the runtime.
#[repr(C)]
#[derive(Clone, Copy)]
struct Face {
    create: unsafe extern "C" fn(*const Host, i64) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    run: unsafe extern "C" fn(*mut c_void, i64, *const u64, *mut u64) -> bool,
    stack_end: unsafe extern "C" fn(*mut c_void) -> *const AtomicUsize,
    error: unsafe extern "C" fn(*const c_void, *mut i64),
    note: unsafe extern "C" fn(*const c_void, i64) -> i64,
    abandon: unsafe extern "C" fn(*mut c_void),
    release: unsafe extern "C" fn(*mut c_void, *mut u8),
    release_constants: unsafe extern "C" fn(*mut c_void),
    live: unsafe extern "C" fn(*const c_void) -> i64,
}

/// Compiled programs.
pub struct Library {
    face: Face,
    raises: Vec<Raise>,
    sites: Vec<(usize, SiteId)>,
    // The code must stay as long as it can be called.
    _code: libloading::Library,
}

/// An error of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Failed {
    /// Why.
    pub raise: Raise,
    /// The operands that the error names, as words.
    pub operands: [u64; 3],
    /// The text that the error names.
    pub text: String,
    /// Where.
    pub site: SiteId,
    /// The places of the open calls, innermost first; of many, the first and the last.
    pub calls: Vec<SiteId>,
    /// How many calls were open.
    pub depth: usize,
}

/// The text of the programs of a unit, to be run by this engine.
pub fn text(unit: Unit) -> CText {
    let names: Vec<String> = (0..unit.modules()).map(|i| format!("df_enter_{i}")).collect();
    let enter = format!("#define DF_ENTER {{{}}}\n", names.join(", "));
    unit.finish("", &(enter + include_str!("face.c")))
}

/// Compiles the programs of a unit.
pub fn compile(unit: Unit, options: &COptions) -> Result<Library, Error> {
    let text = text(unit);
    let code = load(&text, options)?;
    // SAFETY: the symbol has this type.
    let face = unsafe { **code.get::<*const Face>(b"diffeo_face\0").expect("the table") };
    Ok(Library { face, raises: text.raises, sites: text.sites, _code: code })
}

/// The state of runs, one after the other.
pub struct Run {
    library: Arc<Library>,
    context: NonNull<c_void>,
}

impl Run {
    /// A state; `limit` bytes may be in use, any number if it is 0. None if there is no memory for it.
    ///
    /// # Safety
    /// The functions of `host` can be called, with its data, as long as this lives.
    pub unsafe fn new(library: Arc<Library>, host: Host, limit: i64) -> Option<Run> {
        // SAFETY: the function has this type; it copies what `host` refers to.
        let context = NonNull::new(unsafe { (library.face.create)(&raw const host, limit) })?;
        Some(Run { library, context })
    }

    /// The end of the stack: calls that need more than down to this address are errors. Another thread ends the
    /// run by setting it to the highest address.
    pub fn stack_end(&self) -> &AtomicUsize {
        // SAFETY: the word lives as long as the context, and is only read by the program.
        unsafe { &*(self.library.face.stack_end)(self.context.as_ptr()) }
    }

    /// Runs a program, on the stack in use.
    ///
    /// # Errors
    /// That of the program. All blocks are freed then.
    ///
    /// # Safety
    /// `arguments` are the words of the entry's parameters, and what they refer to is readable; there is room
    /// for as many results as it has; the stack reaches down to its end, and some more.
    pub unsafe fn call(
        &mut self,
        program: usize,
        arguments: &[u64],
        results: &mut [u64],
    ) -> Result<(), Box<Failed>> {
        let (face, context) = (self.library.face, self.context.as_ptr());
        // SAFETY: by the condition of the function.
        unsafe {
            if !(face.run)(context, program as i64, arguments.as_ptr(), results.as_mut_ptr()) {
                return Ok(());
            }
        }
        let failed = self.failed();
        // SAFETY: no result is taken after an error.
        unsafe { (face.abandon)(context) };
        Err(Box::new(failed))
    }

    fn failed(&self) -> Failed {
        let (face, context) = (self.library.face, self.context.as_ptr());
        let mut words = [0i64; 8];
        // SAFETY: there are eight words.
        unsafe { (face.error)(context, words.as_mut_ptr()) };
        let [raise, site, a, b, c, text, bytes, depth] = words;
        let text = if text == 0 || bytes <= 0 {
            String::new()
        } else {
            // SAFETY: the text has so many bytes, and is kept until the next error.
            let bytes = unsafe { std::slice::from_raw_parts(text as *const u8, bytes as usize) };
            String::from_utf8_lossy(bytes).into_owned()
        };
        let place = |site: i64| self.library.sites[site as usize].1;
        let kept = 0..depth;
        // SAFETY: any position may be asked for.
        let calls = kept.filter(|i| *i < 64 || *i >= depth - 64);
        // SAFETY: the function of the library that made the context.
        let calls = calls.map(|i| unsafe { (face.note)(context, i) }).filter(|site| *site >= 0);
        Failed {
            raise: self.library.raises[raise as usize].clone(),
            operands: [a as u64, b as u64, c as u64],
            text,
            site: place(site),
            calls: calls.map(place).collect(),
            depth: depth as usize,
        }
    }

    /// Drops a reference to a block.
    ///
    /// # Safety
    /// The block is of this run, and the reference is not used again.
    pub unsafe fn release(&mut self, block: *mut u8) {
        // SAFETY: by the condition of the function.
        unsafe { (self.library.face.release)(self.context.as_ptr(), block) }
    }

    /// Drops the values of the constants.
    pub fn release_constants(&mut self) {
        // SAFETY: no program runs; the constants are computed again when they are needed.
        unsafe { (self.library.face.release_constants)(self.context.as_ptr()) }
    }

    /// How many blocks there are.
    pub fn live(&self) -> i64 {
        // SAFETY: it reads a word of the context.
        unsafe { (self.library.face.live)(self.context.as_ptr()) }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // SAFETY: the context was made by this library, and nobody uses it or its blocks any more.
        unsafe { (self.library.face.destroy)(self.context.as_ptr()) }
    }
}

/// Programs with either runtime.
pub enum CMachine {
    /// That in C.
    Own(Run),
    /// That of this process, one state for each program.
    Process(Vec<Instance>),
}

impl CMachine {
    /// Both kinds, of the same programs; open calls may take half a megabyte.
    pub fn both(modules: &[LowModule]) -> [CMachine; 2] {
        let options = COptions::default();
        let mut unit = Unit::new(c::RuntimeProvider::Own);
        for module in modules {
            unit.add(module);
        }
        let own = Arc::new(compile(unit, &options).unwrap_or_else(|e| panic!("{e}")));
        // SAFETY: the host has no functions.
        let own = unsafe { Run::new(own, NO_HOST, 0).expect("memory") };
        let modules: Vec<Arc<LowModule>> = modules.iter().map(|m| Arc::new(m.clone())).collect();
        let programs = compile_all(&modules, &options).unwrap_or_else(|e| panic!("{e}"));
        let instance = |program| {
            let options = RunOptions { max_stack: 1 << 19, ..RunOptions::default() };
            Instance::new(Arc::new(program), options)
        };
        [CMachine::Own(own), CMachine::Process(programs.into_iter().map(instance).collect())]
    }

    /// Calls a program.
    pub fn call<const N: usize>(
        &mut self,
        program: usize,
        arguments: &[u64],
    ) -> Result<[u64; N], Box<Failed>> {
        let mut results = [0; N];
        match self {
            CMachine::Own(run) => {
                let here = 0u8;
                let end = (&raw const here as usize) - (1 << 19);
                let _ =
                    run.stack_end().compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
                // SAFETY: the tests give what their programs read and have room for what they write; the
                // threads of tests have two megabytes of stack.
                let result = unsafe { run.call(program, arguments, &mut results) };
                run.stack_end().store(0, Ordering::Relaxed);
                result?;
            }
            CMachine::Process(instances) => {
                // SAFETY: as above.
                let result = unsafe { instances[program].call_words(arguments, &mut results) };
                result.map_err(|stopped| {
                    let calls = stopped.innermost.iter().chain(&stopped.outermost);
                    let calls: Vec<SiteId> = calls.map(|call| call.site).collect();
                    Box::new(Failed {
                        raise: stopped.raise,
                        operands: stopped.operands,
                        text: stopped.text.unwrap_or_default(),
                        site: stopped.site,
                        depth: calls.len() + stopped.skipped,
                        calls,
                    })
                })?;
            }
        }
        Ok(results)
    }

    /// Drops a result that is a block; the other runtime keeps it to its end.
    pub fn release(&mut self, block: u64) {
        match self {
            // SAFETY: the result is owned, and not used again.
            CMachine::Own(run) => unsafe { run.release(block as *mut u8) },
            CMachine::Process(_) => {}
        }
    }

    /// Whether there are so many blocks; the other runtime keeps results.
    pub fn has_live(&self, blocks: i64) -> bool {
        match self {
            CMachine::Own(run) => run.live() == blocks,
            CMachine::Process(_) => true,
        }
    }
}

/// A host without functions.
pub const NO_HOST: Host =
    Host { data: std::ptr::null_mut(), trace: None, progress: None, stop: None };
