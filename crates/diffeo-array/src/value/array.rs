//! Arrays: flat storage behind a reference, seen through contiguous views.
//!
//! What always holds: the elements of an array lie one after the other in row-major order from its offset; a
//! size is negative (-1) only where nothing has determined it, and then the array has no elements.

use super::FlatValue;
use crate::ir::Elem;
use diffeo_calculus::eval::error::ErrorKind;
use smallvec::{smallvec, SmallVec};
use std::ops::Range;
use std::rc::Rc;

/// The sizes of an array, outermost first.
pub type Sizes = SmallVec<[i64; 3]>;

/// An array. Cloning shares the elements.
#[derive(Clone, Debug)]
pub struct FlatArray {
    sizes: Sizes,
    offset: usize,
    data: Data,
}

/// The storage of elements.
#[derive(Clone, Debug)]
pub enum Data {
    /// Of Reals.
    Reals(Rc<Vec<f64>>),
    /// Of Ints.
    Ints(Rc<Vec<i64>>),
    /// Of truth values.
    Bools(Rc<Vec<bool>>),
    /// Of texts or boxes.
    Values(Rc<Vec<FlatValue>>),
}

/// How many elements an array of these sizes has.
pub(crate) fn elements(sizes: &[i64]) -> usize {
    sizes.iter().fold(1, |n: usize, size| n.saturating_mul(usize::try_from(*size).unwrap_or(0)))
}

/// Something to do with the elements, of whatever kind.
macro_rules! each_kind {
    ($data:expr, $elements:ident => $work:expr) => {
        match $data {
            Data::Reals($elements) => $work,
            Data::Ints($elements) => $work,
            Data::Bools($elements) => $work,
            Data::Values($elements) => $work,
        }
    };
}

fn mixed() -> ErrorKind {
    ErrorKind::Internal { message: "an array of elements of different types".to_string() }
}

impl Data {
    fn empty(elem: Elem) -> Data {
        match elem {
            Elem::Real => Data::Reals(Rc::default()),
            Elem::Int => Data::Ints(Rc::default()),
            Elem::Bool => Data::Bools(Rc::default()),
            Elem::Text | Elem::Box(_) => Data::Values(Rc::default()),
        }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        each_kind!(self, xs => xs.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no other array has them.
    pub fn is_unique(&self) -> bool {
        each_kind!(self, xs => Rc::strong_count(xs) == 1)
    }

    fn get(&self, at: usize) -> FlatValue {
        match self {
            Data::Reals(xs) => FlatValue::Real(xs[at]),
            Data::Ints(xs) => FlatValue::Int(xs[at]),
            Data::Bools(xs) => FlatValue::Bool(xs[at]),
            Data::Values(xs) => xs[at].clone(),
        }
    }

    /// Puts an element at a place, one past the last at most; a copy is made if others see the elements.
    fn put(&mut self, at: usize, value: FlatValue) -> Result<(), ErrorKind> {
        fn put<T: Clone>(xs: &mut Rc<Vec<T>>, at: usize, x: T) {
            let xs = Rc::make_mut(xs);
            if at == xs.len() {
                xs.push(x);
            } else {
                xs[at] = x;
            }
        }
        match (self, value) {
            (Data::Reals(xs), FlatValue::Real(x)) => put(xs, at, x),
            (Data::Ints(xs), FlatValue::Int(x)) => put(xs, at, x),
            (Data::Bools(xs), FlatValue::Bool(x)) => put(xs, at, x),
            (Data::Values(xs), x @ (FlatValue::Text(_) | FlatValue::Box(_) | FlatValue::Null)) => {
                put(xs, at, x)
            }
            (_, _) => return Err(mixed()),
        }
        Ok(())
    }

    /// Puts elements of another array at a place: in the place of others, or at the end.
    fn put_all(&mut self, at: usize, from: &Data, range: Range<usize>) -> Result<(), ErrorKind> {
        fn put<T: Clone>(xs: &mut Rc<Vec<T>>, at: usize, from: &[T]) {
            let xs = Rc::make_mut(xs);
            if at == xs.len() {
                xs.extend_from_slice(from);
            } else {
                xs[at..at + from.len()].clone_from_slice(from);
            }
        }
        match (self, from) {
            (Data::Reals(xs), Data::Reals(from)) => put(xs, at, &from[range]),
            (Data::Ints(xs), Data::Ints(from)) => put(xs, at, &from[range]),
            (Data::Bools(xs), Data::Bools(from)) => put(xs, at, &from[range]),
            (Data::Values(xs), Data::Values(from)) => put(xs, at, &from[range]),
            (_, _) => return Err(mixed()),
        }
        Ok(())
    }

    fn copy(&self, range: Range<usize>) -> Data {
        match self {
            Data::Reals(xs) => Data::Reals(Rc::new(xs[range].to_vec())),
            Data::Ints(xs) => Data::Ints(Rc::new(xs[range].to_vec())),
            Data::Bools(xs) => Data::Bools(Rc::new(xs[range].to_vec())),
            Data::Values(xs) => Data::Values(Rc::new(xs[range].to_vec())),
        }
    }
}

impl FlatArray {
    /// An array without elements, of rows of unknown sizes.
    pub fn empty(elem: Elem, rank: u8) -> FlatArray {
        let mut sizes: Sizes = smallvec![-1; usize::from(rank)];
        if let Some(first) = sizes.first_mut() {
            *first = 0;
        }
        FlatArray { sizes, offset: 0, data: Data::empty(elem) }
    }

    /// The array of rank 1 of these elements.
    pub fn vector(data: Data) -> FlatArray {
        FlatArray { sizes: smallvec![data.len() as i64], offset: 0, data }
    }

    /// The array of these sizes with these elements; `None` if their number is not that of the sizes, or
    /// there is no size.
    pub fn new(sizes: &[i64], data: Data) -> Option<FlatArray> {
        let fits = !sizes.is_empty() && elements(sizes) == data.len();
        fits.then(|| FlatArray { sizes: sizes.into(), offset: 0, data })
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// How many elements there are in all.
    pub fn count(&self) -> usize {
        elements(&self.sizes)
    }

    /// The element at a position in row-major order.
    ///
    /// # Panics
    /// If there is none.
    pub fn element(&self, at: usize) -> FlatValue {
        assert!(at < self.count(), "the element exists");
        self.data.get(self.offset + at)
    }

    /// The storage, of which [`FlatArray::range`] belongs to this array.
    pub fn data(&self) -> &Data {
        &self.data
    }

    pub(super) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// Where its elements lie in the storage.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.count()
    }

    /// The elements, of an array of Reals.
    pub fn reals(&self) -> Option<&[f64]> {
        match &self.data {
            Data::Reals(xs) => Some(&xs[self.range()]),
            Data::Ints(_) | Data::Bools(_) | Data::Values(_) => None,
        }
    }

    /// The elements, of an array of Ints.
    pub fn ints(&self) -> Option<&[i64]> {
        match &self.data {
            Data::Ints(xs) => Some(&xs[self.range()]),
            Data::Reals(_) | Data::Bools(_) | Data::Values(_) => None,
        }
    }

    /// Where the element (or the rows) at these indices begins, and what the sizes there are; `None` if an
    /// index is out of bounds.
    pub(crate) fn locate(&self, indices: &[i64]) -> Option<(usize, &[i64])> {
        let (at, rest) = locate(&self.sizes, indices)?;
        Some((self.offset + at, rest))
    }

    /// The element at these indices; with fewer than the rank, a view of the rows.
    pub(crate) fn get(&self, indices: &[i64]) -> Option<FlatValue> {
        let (offset, rest) = self.locate(indices)?;
        if rest.is_empty() {
            return Some(self.data.get(offset));
        }
        Some(FlatValue::array(FlatArray { sizes: rest.into(), offset, data: self.data.clone() }))
    }

    /// A view of the elements from `lo` to below `hi`.
    pub(crate) fn slice(mut self, lo: i64, hi: i64) -> Option<FlatArray> {
        if lo < 0 || lo > hi || hi > self.sizes[0] {
            return None;
        }
        self.offset += lo as usize * elements(&self.sizes[1..]);
        self.sizes[0] = hi - lo;
        Some(self)
    }

    /// A view with other sizes, of as many elements.
    pub(crate) fn reshape(self, sizes: Sizes) -> Option<FlatArray> {
        (elements(&sizes) == self.count()).then_some(FlatArray { sizes, ..self })
    }

    /// Replaces what is at these indices: in place if nothing else refers to the storage, else in a copy.
    /// Gives how many elements were written and copied.
    pub(crate) fn set(&mut self, indices: &[i64], value: FlatValue) -> Result<usize, ErrorKind> {
        let wrong = || ErrorKind::Internal { message: "an update that does not fit".to_string() };
        let mut work = 1;
        if self.locate(indices).is_none() {
            return Err(wrong());
        }
        // A row of the array itself keeps it from being changed in place, but is no reason to copy all of it.
        let value = match value {
            FlatValue::Array(mut row) if !self.data.is_unique() => {
                work += row.count();
                row.data = row.data.copy(row.range());
                row.offset = 0;
                FlatValue::Array(row)
            }
            value => value,
        };
        if !self.data.is_unique() {
            work += self.count();
            self.data = self.data.copy(self.range());
            self.offset = 0;
        }
        let (at, rest) = locate(&self.sizes, indices).ok_or_else(wrong)?;
        let at = self.offset + at;
        match value {
            FlatValue::Array(row) => {
                if row.sizes.len() != rest.len() {
                    return Err(wrong());
                }
                for (expected, found) in rest.iter().zip(&row.sizes) {
                    fitting(*expected, *found).map_err(|_| wrong())?;
                }
                work += row.count();
                let range = row.range();
                // Where there are no elements, there is no place for them either.
                if !range.is_empty() {
                    self.data.put_all(at, &row.data, range)?;
                }
            }
            value if rest.is_empty() => self.data.put(at, value)?,
            _ => return Err(wrong()),
        }
        Ok(work)
    }

    /// Adds the elements of another array at the end: in place if nothing else refers to the storage, which
    /// ends where this array does. Gives how many elements were written and copied.
    pub(crate) fn append(&mut self, other: &FlatArray) -> Result<usize, ErrorKind> {
        let mut row = Sizes::new();
        for (a, b) in self.sizes[1..].iter().zip(&other.sizes[1..]) {
            row.push(fitting(*a, *b)?);
        }
        let mut work = other.count();
        if !self.data.is_unique() || self.range().end != self.data.len() {
            work += self.count();
            self.data = self.data.copy(self.range());
            self.offset = 0;
        }
        let end = self.data.len();
        self.data.put_all(end, &other.data, other.range())?;
        self.sizes[0] += other.sizes[0];
        self.sizes[1..].copy_from_slice(&row);
        Ok(work)
    }
}

/// Where the element (or the rows) at these indices begins in row-major order, and the sizes of rows there.
pub(crate) fn locate<'s>(sizes: &'s [i64], indices: &[i64]) -> Option<(usize, &'s [i64])> {
    if indices.len() > sizes.len() {
        return None;
    }
    let (outer, rest) = sizes.split_at(indices.len());
    let mut at: usize = 0;
    for (index, size) in indices.iter().zip(outer) {
        if !(0..*size).contains(index) {
            return None;
        }
        at = at * *size as usize + *index as usize;
    }
    Some((at * elements(rest), rest))
}

/// The size of rows of two sizes, one of which may be unknown.
fn fitting(expected: i64, found: i64) -> Result<i64, ErrorKind> {
    if expected < 0 || expected == found {
        Ok(found)
    } else if found < 0 {
        Ok(expected)
    } else {
        Err(ErrorKind::IrregularRows { expected: expected as usize, found: found as usize })
    }
}

/// An array in the making: elements or rows come in one by one.
#[derive(Debug)]
pub struct Collector {
    count: i64,
    /// The sizes of rows so far.
    row: Sizes,
    data: Data,
}

impl Collector {
    /// A collector of elements (of rank 0) or rows of this rank.
    pub fn new(elem: Elem, rank: u8) -> Collector {
        let row = smallvec![-1; usize::from(rank)];
        Collector { count: 0, row, data: Data::empty(elem) }
    }

    /// A collector of rows like this one.
    pub(crate) fn of_rows(row: &FlatArray) -> Collector {
        let data = match &row.data {
            Data::Reals(_) => Data::Reals(Rc::default()),
            Data::Ints(_) => Data::Ints(Rc::default()),
            Data::Bools(_) => Data::Bools(Rc::default()),
            Data::Values(_) => Data::Values(Rc::default()),
        };
        Collector { count: 0, row: smallvec![-1; row.sizes.len()], data }
    }

    /// Adds an element, or a row.
    ///
    /// # Errors
    /// [`ErrorKind::IrregularRows`] if its sizes are not those of the rows so far.
    pub fn push(&mut self, value: FlatValue) -> Result<(), ErrorKind> {
        let end = self.data.len();
        match value {
            FlatValue::Array(row) if row.sizes.len() == self.row.len() => {
                for (size, found) in self.row.iter_mut().zip(&row.sizes) {
                    *size = fitting(*size, *found)?;
                }
                self.data.put_all(end, &row.data, row.range())?;
            }
            value if self.row.is_empty() => self.data.put(end, value)?,
            _ => return Err(mixed()),
        }
        self.count += 1;
        Ok(())
    }

    /// The array.
    pub fn finish(self) -> FlatArray {
        let mut sizes: Sizes = smallvec![self.count];
        sizes.extend(self.row);
        FlatArray { sizes, offset: 0, data: self.data }
    }
}
