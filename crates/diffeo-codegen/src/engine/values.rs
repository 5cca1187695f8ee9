//! Conversion between values of Flat and words of compiled code.
//!
//! Arrays of numbers among the arguments are borrowed; texts, boxes and arrays of them are made in the memory of the
//! run, and released after the call. Results are copied, then released. Shared boxes stay shared, and long chains of
//! them take no recursion.

use crate::low::{LowModule, BYTES, COUNT, DATA, FIELDS, LAYOUT};
use crate::runtime::{Owned, REFERENCES};
use diffeo_array::ir::{BoxId, Elem, FlatTy};
use diffeo_array::typing::param_types;
use diffeo_array::value::{Data, FlatArray, FlatValue, Object};
use hashbrown::HashMap;
use std::rc::Rc;

/// The interface of a program: the types of its parameters and results, and where the layouts of each type of boxes
/// begin.
pub(super) struct Face {
    pub params: Vec<FlatTy>,
    pub results: Vec<FlatTy>,
    /// By type of boxes: the layout of its first tag.
    layouts: Vec<usize>,
}

/// There is no memory for a value.
#[derive(Debug)]
pub(super) struct NoMemory;

/// How many words a value of a type takes.
pub(super) fn words(ty: &FlatTy) -> usize {
    match ty {
        FlatTy::Array(_, rank) => 2 + usize::from(*rank),
        FlatTy::Real
        | FlatTy::Int
        | FlatTy::Bool
        | FlatTy::Text
        | FlatTy::Box(_)
        | FlatTy::Acc(_)
        | FlatTy::Stack(_) => 1,
    }
}

/// The word of a value that refers to a block, if there is one: the first.
pub(super) fn refers(ty: &FlatTy) -> bool {
    match ty {
        FlatTy::Text | FlatTy::Array(..) | FlatTy::Box(_) => true,
        FlatTy::Real | FlatTy::Int | FlatTy::Bool | FlatTy::Acc(_) | FlatTy::Stack(_) => false,
    }
}

impl Face {
    pub fn new(module: &LowModule) -> Face {
        let flat = &module.flat;
        let (params, results) = match flat.functions.get(flat.entry.0 as usize) {
            Some(entry) => (param_types(entry), entry.results.clone()),
            None => (Vec::new(), Vec::new()),
        };
        let mut next = REFERENCES + 1;
        let layouts = flat
            .boxes
            .iter()
            .map(|ty| {
                next += ty.variants.len();
                next - ty.variants.len()
            })
            .collect();
        Face { params, results, layouts }
    }

    fn layout(&self, id: BoxId, tag: u32) -> usize {
        self.layouts[id.0 as usize] + tag as usize
    }
}

/// An argument of a program: a value, or numbers that belong to the caller.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A value of Flat.
    Value(&'a FlatValue),
    /// A Real.
    Real(f64),
    /// An Int.
    Int(i64),
    /// A Bool.
    Bool(bool),
    /// An array of Reals, by rows, and its sizes.
    Reals(&'a [f64], &'a [i64]),
    /// An array of Ints, likewise.
    Ints(&'a [i64], &'a [i64]),
    /// An array of Bools, likewise.
    Bools(&'a [bool], &'a [i64]),
}

impl Arg<'_> {
    pub(super) fn has_type(&self, ty: &FlatTy) -> bool {
        let array = |elem: Elem, len: usize, sizes: &[i64]| {
            let count = sizes.iter().try_fold(1, |n: usize, size| {
                usize::try_from(*size).ok().and_then(|size| n.checked_mul(size))
            });
            *ty == FlatTy::Array(elem, sizes.len() as u8) && count == Some(len)
        };
        match self {
            Arg::Value(value) => value.has_type(ty),
            Arg::Real(_) => *ty == FlatTy::Real,
            Arg::Int(_) => *ty == FlatTy::Int,
            Arg::Bool(_) => *ty == FlatTy::Bool,
            Arg::Reals(xs, sizes) => array(Elem::Real, xs.len(), sizes),
            Arg::Ints(xs, sizes) => array(Elem::Int, xs.len(), sizes),
            Arg::Bools(xs, sizes) => array(Elem::Bool, xs.len(), sizes),
        }
    }

    /// Writes the words of the argument.
    ///
    /// # Errors
    /// As for [`write`].
    ///
    /// # Safety
    /// As for [`write`].
    pub(super) unsafe fn write(
        &self,
        module: &LowModule,
        face: &Face,
        context: &mut Owned,
        ty: &FlatTy,
        to: *mut u64,
    ) -> Result<(), NoMemory> {
        // The block is null: the elements belong to the caller, and nothing is written to them.
        let array = |data: *const u8, sizes: &[i64]| {
            // SAFETY: by the condition of the function.
            unsafe {
                to.write(0);
                to.add(1).write(data as u64);
                for (i, size) in sizes.iter().enumerate() {
                    to.add(2 + i).write(*size as u64);
                }
            }
        };
        match self {
            // SAFETY: by the condition of the function.
            Arg::Value(value) => return unsafe { write(module, face, context, value, ty, to) },
            // SAFETY: by the condition of the function.
            Arg::Real(x) => unsafe { to.write(x.to_bits()) },
            // SAFETY: by the condition of the function.
            Arg::Int(n) => unsafe { to.write(*n as u64) },
            // SAFETY: by the condition of the function.
            Arg::Bool(b) => unsafe { to.write(u64::from(*b)) },
            Arg::Reals(xs, sizes) => array(xs.as_ptr().cast(), sizes),
            Arg::Ints(xs, sizes) => array(xs.as_ptr().cast(), sizes),
            Arg::Bools(xs, sizes) => array(xs.as_ptr().cast(), sizes),
        }
        Ok(())
    }
}

/// The results of a call, which live until it is over.
pub struct Results<'r> {
    module: &'r LowModule,
    face: &'r Face,
    words: &'r [u64],
}

impl<'r> Results<'r> {
    /// The results of a program.
    ///
    /// # Safety
    /// The words are those of the program's results, whose blocks live as long as these results.
    pub(super) unsafe fn new(
        module: &'r LowModule,
        face: &'r Face,
        words: &'r [u64],
    ) -> Results<'r> {
        Results { module, face, words }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.face.results.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.face.results.is_empty()
    }

    /// The words of a result.
    fn at(&self, i: usize) -> &'r [u64] {
        let before: usize = self.face.results[..i].iter().map(words).sum();
        &self.words[before..]
    }

    /// A result as a value of Flat.
    pub fn value(&self, i: usize) -> FlatValue {
        // SAFETY: the words are those of a value of the type.
        unsafe { read(self.module, self.face, &self.face.results[i], self.at(i).as_ptr()) }
    }

    /// A result that is a Real.
    pub fn real(&self, i: usize) -> Option<f64> {
        (self.face.results[i] == FlatTy::Real).then(|| f64::from_bits(self.at(i)[0]))
    }

    /// A result that is an Int.
    pub fn int(&self, i: usize) -> Option<i64> {
        (self.face.results[i] == FlatTy::Int).then(|| self.at(i)[0] as i64)
    }

    /// A result that is a Bool: its byte.
    pub fn bool(&self, i: usize) -> Option<bool> {
        (self.face.results[i] == FlatTy::Bool).then(|| self.at(i)[0] as u8 != 0)
    }

    fn elements<T>(&self, i: usize, elem: Elem) -> Option<(&'r [T], &'r [i64])> {
        let FlatTy::Array(found, rank) = &self.face.results[i] else { return None };
        if *found != elem {
            return None;
        }
        let words = self.at(i);
        // SAFETY: the words behind the first two are the sizes, and as many elements lie at the second.
        unsafe {
            let sizes = slice(words[2..].as_ptr().cast::<i64>(), usize::from(*rank));
            let count = sizes.iter().map(|size| (*size).max(0) as usize).product();
            Some((slice(words[1] as *const T, count), sizes))
        }
    }

    /// A result that is an array of Reals: elements and sizes.
    pub fn reals(&self, i: usize) -> Option<(&'r [f64], &'r [i64])> {
        self.elements(i, Elem::Real)
    }

    /// A result that is an array of Ints.
    pub fn ints(&self, i: usize) -> Option<(&'r [i64], &'r [i64])> {
        self.elements(i, Elem::Int)
    }

    /// A result that is an array of Bools, a byte each, which is 0 or not.
    pub fn bools(&self, i: usize) -> Option<(&'r [u8], &'r [i64])> {
        self.elements(i, Elem::Bool)
    }
}

/// What is still to be written: a value of a type, at an address.
struct WriteTask<'v> {
    value: &'v FlatValue,
    ty: FlatTy,
    to: *mut u64,
}

/// Writes the words of a value of a type. What it refers to is new, or belongs to the value.
///
/// # Errors
/// There is no memory for it; then there are blocks that are not complete.
///
/// # Safety
/// There is room for the words at the address.
pub(super) unsafe fn write(
    module: &LowModule,
    face: &Face,
    context: &mut Owned,
    value: &FlatValue,
    ty: &FlatTy,
    to: *mut u64,
) -> Result<(), NoMemory> {
    // Boxes that are shared, with their blocks.
    let mut shared: HashMap<*const Object, *mut u8> = HashMap::new();
    let mut tasks = vec![WriteTask { value, ty: ty.clone(), to }];
    let some = |block: *mut u8| if block.is_null() { Err(NoMemory) } else { Ok(block) };
    while let Some(WriteTask { value, ty, to }) = tasks.pop() {
        // SAFETY: every task has room for the words of its type: the caller's, or that of a field or an
        // element of a new block.
        unsafe {
            match (value, &ty) {
                (FlatValue::Real(x), _) => to.write(x.to_bits()),
                (FlatValue::Int(n), _) => to.write(*n as u64),
                (FlatValue::Bool(b), _) => to.write(u64::from(*b)),
                (FlatValue::Text(text), _) => {
                    to.write(some(context.memory().new_text(&[text.as_bytes()]))? as u64);
                }
                (FlatValue::Box(object), FlatTy::Box(id)) => {
                    let layout = face.layout(*id, object.tag);
                    let key = Rc::as_ptr(object);
                    if object.fields.is_empty() {
                        to.write(context.static_block(layout) as u64);
                        continue;
                    }
                    if let Some(block) = shared.get(&key) {
                        let count = block.offset(COUNT as isize).cast::<i64>();
                        count.write(count.read() + 1);
                        to.write(*block as u64);
                        continue;
                    }
                    let (memory, layouts) = context.memory_and_layouts();
                    let block = some(memory.new_box(layouts, layout))?;
                    if Rc::strong_count(object) > 1 {
                        shared.insert(key, block);
                    }
                    to.write(block as u64);
                    let types = &module.flat.boxes[id.0 as usize].variants[object.tag as usize];
                    let mut at = block.offset(FIELDS as isize).cast::<u64>();
                    for (field, ty) in object.fields.iter().zip(&types.fields) {
                        tasks.push(WriteTask { value: field, ty: ty.clone(), to: at });
                        at = at.add(words(ty));
                    }
                }
                (FlatValue::Array(array), _) => {
                    let (block, data) = match array.data() {
                        Data::Reals(xs) => (0, xs[array.range()].as_ptr().cast::<u8>()),
                        Data::Ints(xs) => (0, xs[array.range()].as_ptr().cast()),
                        Data::Bools(xs) => (0, xs[array.range()].as_ptr().cast()),
                        Data::Values(xs) => {
                            let elements = &xs[array.range()];
                            let bytes = 8 * elements.len() as i64;
                            let block = some(context.memory().new_array(REFERENCES, bytes, true))?;
                            let data = block.offset(DATA as isize);
                            for (i, value) in elements.iter().enumerate() {
                                let ty = match &ty {
                                    FlatTy::Array(elem, _) => elem.ty(),
                                    ty => ty.clone(),
                                };
                                tasks.push(WriteTask { value, ty, to: data.cast::<u64>().add(i) });
                            }
                            (block as u64, data.cast_const())
                        }
                    };
                    to.write(block);
                    to.add(1).write(data as u64);
                    for (i, size) in array.sizes().iter().enumerate() {
                        to.add(2 + i).write(*size as u64);
                    }
                }
                // Nothing looks at it, but it may be copied and read: an array has no elements.
                (
                    FlatValue::Box(_) | FlatValue::Null | FlatValue::Acc(_) | FlatValue::Stack(_),
                    ty,
                ) => {
                    to.write_bytes(0, words(ty));
                }
            }
        }
    }
    Ok(())
}

/// A value that is being read.
enum PartialValue<'m> {
    /// A box: the block, its tag, the types of the fields that are to come and where they lie.
    Object { block: *mut u8, tag: u32, types: &'m [FlatTy], at: *const u64, fields: Vec<FlatValue> },
    /// An array of references: the type of elements, those that are to come, the sizes.
    Elements { elem: FlatTy, at: *const u64, left: usize, sizes: Vec<i64>, values: Vec<FlatValue> },
}

/// A step of reading.
enum ReadStep<'m> {
    /// A value is complete.
    Done(FlatValue),
    /// A value has components that are to be read.
    Begun(PartialValue<'m>),
}

/// Reads the value of a type.
///
/// # Safety
/// The words at the address are those of a value of the type.
pub(super) unsafe fn read(
    module: &LowModule,
    face: &Face,
    ty: &FlatTy,
    from: *const u64,
) -> FlatValue {
    let mut shared = HashMap::new();
    let mut open: Vec<PartialValue<'_>> = Vec::new();
    // SAFETY: by the condition of the function.
    let mut step = unsafe { begin(module, face, ty, from, &shared) };
    loop {
        match step {
            ReadStep::Begun(begun) => open.push(begun),
            ReadStep::Done(value) => match open.last_mut() {
                Some(top) => top.push(value),
                None => return value,
            },
        }
        step = match open.last_mut().and_then(PartialValue::next) {
            // SAFETY: what live blocks refer to has the types that Flat gives.
            Some((ty, at)) => unsafe { begin(module, face, &ty, at, &shared) },
            None => ReadStep::Done(open.pop().map_or(FlatValue::Null, |top| top.end(&mut shared))),
        };
    }
}

/// Reads a value, or its beginning.
///
/// # Safety
/// As for [`read`].
unsafe fn begin<'m>(
    module: &'m LowModule,
    face: &Face,
    ty: &FlatTy,
    from: *const u64,
    shared: &HashMap<*mut u8, FlatValue>,
) -> ReadStep<'m> {
    // SAFETY: by the condition of the function.
    unsafe {
        let word = from.read();
        let block = word as *mut u8;
        ReadStep::Done(match ty {
            FlatTy::Real => FlatValue::Real(f64::from_bits(word)),
            FlatTy::Int => FlatValue::Int(word as i64),
            // A Bool is a byte.
            FlatTy::Bool => FlatValue::Bool(from.cast::<u8>().read() != 0),
            // Nothing looks at it.
            FlatTy::Text if block.is_null() => FlatValue::text(""),
            FlatTy::Text => {
                let length = block.offset(BYTES as isize).cast::<u64>().read() as usize;
                let bytes = slice(block.offset(DATA as isize), length);
                FlatValue::text(&String::from_utf8_lossy(bytes))
            }
            FlatTy::Array(elem, rank) => {
                let data = from.add(1).read() as *const u8;
                let sizes = slice(from.add(2).cast::<i64>(), usize::from(*rank));
                let count = sizes.iter().map(|size| (*size).max(0) as usize).product();
                let data = match elem {
                    Elem::Real => Data::Reals(Rc::new(slice(data.cast(), count).to_vec())),
                    Elem::Int => Data::Ints(Rc::new(slice(data.cast(), count).to_vec())),
                    Elem::Bool => {
                        Data::Bools(Rc::new(slice(data, count).iter().map(|b| *b != 0).collect()))
                    }
                    Elem::Text | Elem::Box(_) => {
                        return ReadStep::Begun(PartialValue::Elements {
                            elem: elem.ty(),
                            at: data.cast(),
                            left: count,
                            sizes: sizes.to_vec(),
                            values: Vec::with_capacity(count),
                        });
                    }
                };
                array(sizes, data)
            }
            FlatTy::Box(_) if block.is_null() => FlatValue::Null,
            FlatTy::Box(id) => {
                if let Some(value) = shared.get(&block) {
                    return ReadStep::Done(value.clone());
                }
                let layout = block.offset(LAYOUT as isize).cast::<u64>().read() as usize;
                let tag = layout - face.layouts[id.0 as usize];
                return ReadStep::Begun(PartialValue::Object {
                    block,
                    tag: tag as u32,
                    types: &module.flat.boxes[id.0 as usize].variants[tag].fields,
                    at: block.offset(FIELDS as isize).cast(),
                    fields: Vec::new(),
                });
            }
            // Programs do not give these.
            FlatTy::Acc(_) | FlatTy::Stack(_) => FlatValue::Null,
        })
    }
}

/// Elements that lie one after the other; without any, the address may be null.
///
/// # Safety
/// So many elements lie there.
unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: by the condition of the function.
    unsafe { std::slice::from_raw_parts(data, count) }
}

/// An array of as many elements as its sizes say.
fn array(sizes: &[i64], data: Data) -> FlatValue {
    FlatArray::new(sizes, data).map_or(FlatValue::Null, FlatValue::array)
}

impl PartialValue<'_> {
    fn push(&mut self, value: FlatValue) {
        match self {
            PartialValue::Object { fields, .. } => fields.push(value),
            PartialValue::Elements { values, .. } => values.push(value),
        }
    }

    /// The type and the address of its next component.
    fn next(&mut self) -> Option<(FlatTy, *const u64)> {
        match self {
            PartialValue::Object { types, at, .. } => {
                let (ty, rest) = types.split_first()?;
                let from = *at;
                *types = rest;
                *at = at.wrapping_add(words(ty));
                Some((ty.clone(), from))
            }
            PartialValue::Elements { elem, at, left, .. } => {
                *left = left.checked_sub(1)?;
                let from = *at;
                *at = at.wrapping_add(1);
                Some((elem.clone(), from))
            }
        }
    }

    /// The value, when all components are there.
    fn end(self, shared: &mut HashMap<*mut u8, FlatValue>) -> FlatValue {
        match self {
            PartialValue::Elements { sizes, values, .. } => {
                array(&sizes, Data::Values(Rc::new(values)))
            }
            PartialValue::Object { block, tag, fields, .. } => {
                let value = FlatValue::Box(Rc::new(Object { tag, fields: fields.into() }));
                // SAFETY: the block of a box that is read is live.
                if unsafe { block.offset(COUNT as isize).cast::<i64>().read() } > 1 {
                    shared.insert(block, value.clone());
                }
                value
            }
        }
    }
}
