//! Functions as custom calls of XLA, for JAX: the handler that XLA calls with buffers.
//!
//! The structures are those of XLA's foreign function interface, version 0.1 and later
//! (`xla/ffi/api/c_api.h`, which JAX carries; fields behind those that are read here may be more). A call has the
//! attributes `id`, a function that was registered, and `batch`, how many leading sizes of each buffer count rows.

use diffeo::{Array, Function, Spelling, Type, Value};
use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_void, CString};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The functions that were registered, by number.
static FUNCTIONS: Mutex<Vec<Function>> = Mutex::new(Vec::new());

/// The number of a function, by which calls name it.
pub fn register(function: Function) -> i64 {
    let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    functions.push(function);
    functions.len() as i64 - 1
}

fn registered(id: i64) -> Option<Function> {
    let functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    usize::try_from(id).ok().and_then(|id| functions.get(id).cloned())
}

#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

/// The kind of the extension by which XLA asks for metadata.
const METADATA: c_int = 1;

#[repr(C)]
struct Version {
    struct_size: usize,
    extension: *mut Extension,
    major: c_int,
    minor: c_int,
}

#[repr(C)]
struct Metadata {
    struct_size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

#[repr(C)]
struct ErrorArgs {
    struct_size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

/// `XLA_FFI_Error_Code_INVALID_ARGUMENT`
const INVALID: c_int = 3;
/// `XLA_FFI_Error_Code_INTERNAL`
const INTERNAL: c_int = 13;

#[repr(C)]
struct Api {
    struct_size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    error: Option<unsafe extern "C" fn(*mut ErrorArgs) -> *mut c_void>,
}

#[repr(C)]
struct Buffer {
    struct_size: usize,
    extension: *mut Extension,
    dtype: c_int,
    data: *mut c_void,
    rank: i64,
    dims: *mut i64,
}

#[repr(C)]
struct List {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    types: *mut c_int,
    items: *mut *mut c_void,
}

#[repr(C)]
struct ByteSpan {
    text: *const u8,
    length: usize,
}

#[repr(C)]
struct Attributes {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    types: *mut c_int,
    names: *mut *mut ByteSpan,
    values: *mut *mut c_void,
}

#[repr(C)]
struct Scalar {
    dtype: c_int,
    value: *mut c_void,
}

/// What XLA gives to a handler.
#[repr(C)]
pub struct CallFrame {
    struct_size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    args: List,
    results: List,
    attributes: Attributes,
}

const PRED: c_int = 1;
const S32: c_int = 4;
const S64: c_int = 5;
const F32: c_int = 11;
const F64: c_int = 12;

impl CallFrame {
    /// An attribute that is a number of 64 bits.
    ///
    /// # Safety
    /// The frame is XLA's.
    unsafe fn number(&self, name: &str) -> Option<i64> {
        let all = &self.attributes;
        // SAFETY: there are as many names and values as the frame says.
        unsafe {
            (0..all.size as usize).find_map(|i| {
                let span = &**all.names.add(i);
                let found = std::slice::from_raw_parts(span.text, span.length);
                let scalar = &*(*all.values.add(i)).cast::<Scalar>();
                let is = found == name.as_bytes() && scalar.dtype == S64;
                is.then(|| *scalar.value.cast::<i64>())
            })
        }
    }

    /// The buffers of a list.
    ///
    /// # Safety
    /// The list is XLA's.
    unsafe fn buffers(list: &List) -> Vec<&Buffer> {
        // SAFETY: there are as many items, all of them buffers.
        (0..list.size as usize)
            .map(|i| unsafe { &*(*list.items.add(i)).cast::<Buffer>() })
            .collect()
    }

    /// An error for XLA.
    fn error(&self, code: c_int, message: &str) -> *mut c_void {
        let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
        let size = size_of::<ErrorArgs>();
        let (extension, message) = (std::ptr::null_mut(), message.as_ptr());
        let mut args = ErrorArgs { struct_size: size, extension, message, code };
        // SAFETY: XLA copies the message.
        unsafe { (*self.api).error.map_or(std::ptr::null_mut(), |make| make(&raw mut args)) }
    }
}

impl Buffer {
    fn sizes(&self) -> &[i64] {
        match self.rank {
            0 => &[],
            // SAFETY: there are as many sizes as indices.
            rank => unsafe { std::slice::from_raw_parts(self.dims, rank as usize) },
        }
    }

    /// How many elements each row has, behind the leading `batch` sizes.
    fn width(&self, batch: usize) -> usize {
        self.sizes()[batch..].iter().product::<i64>() as usize
    }

    /// The elements of a row.
    ///
    /// # Safety
    /// The buffer has elements of the type.
    unsafe fn row<T>(&self, batch: usize, row: usize) -> &[T] {
        let width = self.width(batch);
        match width {
            0 => &[],
            // SAFETY: a buffer has all its elements; rows lie one behind the other.
            _ => unsafe {
                std::slice::from_raw_parts(self.data.cast::<T>().add(row * width), width)
            },
        }
    }

    /// The elements of a row, to be written.
    ///
    /// # Safety
    /// As for [`Buffer::row`]; nobody else has the row.
    #[allow(clippy::mut_from_ref)]
    unsafe fn row_mut<T>(&self, batch: usize, row: usize) -> &mut [T] {
        let width = self.width(batch);
        match width {
            0 => &mut [],
            // SAFETY: a buffer has all its elements, and the row is this thread's.
            _ => unsafe {
                std::slice::from_raw_parts_mut(self.data.cast::<T>().add(row * width), width)
            },
        }
    }

    fn reals(&self, batch: usize, row: usize) -> Option<Cow<'_, [f64]>> {
        // SAFETY: the buffer says what its elements are.
        unsafe {
            match self.dtype {
                F64 => Some(Cow::Borrowed(self.row::<f64>(batch, row))),
                F32 => Some(self.row::<f32>(batch, row).iter().map(|x| f64::from(*x)).collect()),
                _ => None,
            }
        }
    }

    fn ints(&self, batch: usize, row: usize) -> Option<Cow<'_, [i64]>> {
        // SAFETY: the buffer says what its elements are.
        unsafe {
            match self.dtype {
                S64 => Some(Cow::Borrowed(self.row::<i64>(batch, row))),
                S32 => Some(self.row::<i32>(batch, row).iter().map(|n| i64::from(*n)).collect()),
                _ => None,
            }
        }
    }

    fn bools(&self, batch: usize, row: usize) -> Option<Cow<'_, [bool]>> {
        // SAFETY: the buffer says what its elements are: bytes that are 0 or 1.
        (self.dtype == PRED)
            .then(|| unsafe { self.row::<u8>(batch, row).iter().map(|b| *b != 0).collect() })
    }
}

/// The value of a type in a row of the next buffers.
fn given<'b>(
    ty: &Type,
    buffers: &mut dyn Iterator<Item = &'b Buffer>,
    batch: usize,
    row: usize,
) -> Option<Value<'b>> {
    let mut rank = 0;
    let mut scalar = ty;
    while let Type::Array(_, inner) = scalar {
        (rank, scalar) = (rank + 1, inner);
    }
    if rank > 0 {
        let buffer = buffers.next()?;
        let sizes: Vec<usize> = buffer.sizes()[batch..].iter().map(|n| *n as usize).collect();
        return Some(match scalar {
            Type::Real => Value::Reals(Array { data: buffer.reals(batch, row)?, sizes }),
            Type::Int => Value::Ints(Array { data: buffer.ints(batch, row)?, sizes }),
            Type::Bool => Value::Bools(Array { data: buffer.bools(batch, row)?, sizes }),
            _ => return None,
        });
    }
    Some(match ty {
        Type::Unit => Value::Unit,
        Type::Real => Value::Real(*buffers.next()?.reals(batch, row)?.first()?),
        Type::Int => Value::Int(*buffers.next()?.ints(batch, row)?.first()?),
        Type::Bool => Value::Bool(*buffers.next()?.bools(batch, row)?.first()?),
        Type::Tuple(types) => {
            let parts: Option<Vec<_>> =
                types.iter().map(|ty| given(ty, buffers, batch, row)).collect();
            Value::Tuple(parts?)
        }
        Type::Record(fields) => {
            let parts: Option<Vec<_>> = fields
                .iter()
                .map(|(name, ty)| {
                    given(ty, buffers, batch, row).map(|v| (Cow::Owned(name.to_string()), v))
                })
                .collect();
            Value::Record(parts?)
        }
        _ => return None,
    })
}

/// How elements are written as each of two types of XLA.
type Writers<T> = [(c_int, fn(&mut [u8], T)); 2];

/// Writes a value into a row of the next buffers. Gives what does not fit.
fn take(
    value: &Value<'_>,
    buffers: &mut dyn Iterator<Item = &Buffer>,
    batch: usize,
    row: usize,
) -> Result<(), String> {
    /// Writes elements as those of a buffer.
    fn put<T: Copy>(
        buffer: &Buffer,
        (batch, row): (usize, usize),
        elements: &[T],
        sizes: &[usize],
        kinds: Writers<T>,
    ) -> Result<(), String> {
        let expected: Vec<usize> = buffer.sizes()[batch..].iter().map(|n| *n as usize).collect();
        if expected != sizes {
            return Err(format!(
                "the result has the shape {sizes:?}, and {expected:?} was promised"
            ));
        }
        for (dtype, write) in kinds {
            if buffer.dtype == dtype {
                let bytes = match dtype {
                    F64 | S64 => 8,
                    F32 | S32 => 4,
                    _ => 1,
                };
                let from = row * elements.len() * bytes;
                // SAFETY: the buffer has all its elements, and the row is this thread's.
                let to = unsafe {
                    std::slice::from_raw_parts_mut(
                        buffer.data.cast::<u8>().add(from),
                        elements.len() * bytes,
                    )
                };
                elements.iter().zip(to.chunks_exact_mut(bytes)).for_each(|(x, to)| write(to, *x));
                return Ok(());
            }
        }
        Err("the result is of another kind of numbers".to_string())
    }
    let at = (batch, row);
    let reals: Writers<f64> = [
        (F64, |to, x| to.copy_from_slice(&x.to_ne_bytes())),
        (F32, |to, x| to.copy_from_slice(&(x as f32).to_ne_bytes())),
    ];
    let ints: Writers<i64> = [
        (S64, |to, n| to.copy_from_slice(&n.to_ne_bytes())),
        (S32, |to, n| to.copy_from_slice(&(n as i32).to_ne_bytes())),
    ];
    let bools: Writers<bool> =
        [(PRED, |to, b| to[0] = u8::from(b)), (PRED, |to, b| to[0] = u8::from(b))];
    let few = || "there are more results than promised".to_string();
    match value {
        Value::Unit => Ok(()),
        Value::Reals(array) => match buffers.next().ok_or_else(few)? {
            // The usual case is one copy.
            buffer if buffer.dtype == F64 && buffer.width(batch) == array.data.len() => {
                // SAFETY: the row is this thread's.
                unsafe { buffer.row_mut::<f64>(batch, row).copy_from_slice(&array.data) };
                Ok(())
            }
            buffer => put(buffer, at, &array.data, &array.sizes, reals),
        },
        Value::Ints(array) => {
            put(buffers.next().ok_or_else(few)?, at, &array.data, &array.sizes, ints)
        }
        Value::Bools(array) => {
            put(buffers.next().ok_or_else(few)?, at, &array.data, &array.sizes, bools)
        }
        Value::Real(x) => put(buffers.next().ok_or_else(few)?, at, &[*x], &[], reals),
        Value::Int(n) => put(buffers.next().ok_or_else(few)?, at, &[*n], &[], ints),
        Value::Bool(b) => put(buffers.next().ok_or_else(few)?, at, &[*b], &[], bools),
        Value::Tuple(parts) => parts.iter().try_for_each(|part| take(part, buffers, batch, row)),
        Value::Record(fields) => {
            fields.iter().try_for_each(|(_, part)| take(part, buffers, batch, row))
        }
        Value::String(_) | Value::Array(_) | Value::Variant(..) | Value::Interval(..) => {
            Err("texts, lists, variants and intervals are no arrays".to_string())
        }
    }
}

/// Buffers that several threads look at, each at rows of its own.
struct SharedBuffers<'f>(Vec<&'f Buffer>);

// SAFETY: arguments are only read, and of results each row is written by one thread.
unsafe impl Sync for SharedBuffers<'_> {}

fn row(
    function: &Function,
    args: &SharedBuffers<'_>,
    results: &SharedBuffers<'_>,
    batch: usize,
    row: usize,
) -> Result<(), String> {
    let (from, _) = function.sides();
    let argument = given(from, &mut args.0.iter().copied(), batch, row)
        .ok_or("the buffers are not of the function's type")?;
    let value = function.evaluate(&argument).map_err(|error| error.written(Spelling::Python))?;
    take(&value, &mut results.0.iter().copied(), batch, row)
}

/// The handler.
///
/// # Safety
/// XLA calls it, with a frame of its own.
#[no_mangle]
pub unsafe extern "C" fn diffeo_xla_call(frame: *mut CallFrame) -> *mut c_void {
    // SAFETY: by the condition of the function.
    let frame = unsafe { &*frame };
    let mut extension = frame.extension;
    while !extension.is_null() {
        // SAFETY: extensions are a list, and the kind says what one is.
        unsafe {
            if (*extension).kind == METADATA {
                let metadata = (*extension.cast::<MetadataExtension>()).metadata;
                (*metadata).version.major = 0;
                (*metadata).version.minor = 1;
                return std::ptr::null_mut();
            }
            extension = (*extension).next;
        }
    }
    let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the frame is XLA's.
        let (id, batch) = unsafe { (frame.number("id"), frame.number("batch")) };
        let function =
            id.and_then(registered).ok_or("no function has been registered under this number")?;
        let batch = batch.unwrap_or(0) as usize;
        // SAFETY: the frame is XLA's.
        let (args, results) =
            unsafe { (CallFrame::buffers(&frame.args), CallFrame::buffers(&frame.results)) };
        let (args, results) = (SharedBuffers(args), SharedBuffers(results));
        let some = args.0.first().or(results.0.first());
        let rows: usize = some.map_or(1, |b| b.sizes()[..batch].iter().product::<i64>() as usize);
        // Asking how many processors there are takes longer than a small function.
        static PROCESSORS: OnceLock<usize> = OnceLock::new();
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
        let threads = if rows < 2 { 1 } else { (*PROCESSORS.get_or_init(processors)).min(rows) };
        if threads < 2 {
            return (0..rows).try_for_each(|i| row(&function, &args, &results, batch, i));
        }
        let (args, results, function) = (&args, &results, &function);
        std::thread::scope(|scope| {
            let work = |thread: usize| {
                let of = move |part: usize| part * rows / threads;
                (of(thread)..of(thread + 1))
                    .try_for_each(|i| row(function, args, results, batch, i))
            };
            let threads: Vec<_> = (0..threads).map(|t| scope.spawn(move || work(t))).collect();
            // The first error of the rows in order.
            threads
                .into_iter()
                .try_for_each(|t| t.join().map_err(|_| "a thread has panicked".to_string())?)
        })
    }));
    match called {
        Ok(Ok(())) => std::ptr::null_mut(),
        Ok(Err(message)) => frame.error(INVALID, &message),
        Err(_) => frame.error(INTERNAL, "a bug of Diffeo: please report it"),
    }
}
