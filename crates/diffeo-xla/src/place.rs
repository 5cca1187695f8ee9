//! Elements of arrays and accumulators by their place in row-major order.
//!
//! A place that is affine in dimensions is read by cutting and folding the array, and written by the inverse, so that XLA
//! can fuse and partition it: `xs[i * columns + j]` is a reshape. Other places are gathered and scattered.

use crate::emit::union;
use crate::lift::Lift;
use crate::value::{Affine, Dim, Tensor, Val};
use diffeo_array::ir::Elem;

/// A place in row-major order.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Known but for dimensions.
    Affine(Affine),
    /// An affine distance from a place that all dimensions share and only the run knows, such as the index of a loop.
    From(Tensor, Affine),
    /// Any other.
    Any(Tensor),
}

/// How many elements there are.
pub(crate) fn product(sizes: &[i64]) -> i64 {
    sizes.iter().product()
}

/// A term of an affine place: the dimension, how far a step goes, how many there are.
type Term = (Dim, i64, i64);

impl Lift<'_> {
    /// The place of indices into an array of these sizes, in rows.
    pub fn place(&mut self, indices: &[Val], sizes: &[i64]) -> Place {
        let (mut affine, mut base, mut others) = (Affine::default(), None, Vec::new());
        for (i, index) in indices.iter().enumerate() {
            let stride = product(&sizes[i + 1..indices.len()]);
            match index {
                Val::Int(index) => match affine.plus(stride, index) {
                    Some(sum) => affine = sum,
                    None => others.push((index.clone().into(), stride)),
                },
                Val::Tensor(t) if t.dims.is_empty() => {
                    let step = self.times(t, stride);
                    base = Some(match base {
                        Some(base) => self.each("add", &[base, step]),
                        None => step,
                    });
                }
                other => others.push((other.clone(), stride)),
            }
        }
        if others.is_empty() {
            return match base {
                Some(base) => Place::From(base, affine),
                None => Place::Affine(affine),
            };
        }
        let mut sum = self.ints(&affine.into());
        for (index, stride) in others {
            let index = self.ints(&index);
            let step = self.times(&index, stride);
            sum = self.each("add", &[sum, step]);
        }
        if let Some(base) = base {
            sum = self.each("add", &[sum, base]);
        }
        Place::Any(sum)
    }

    pub fn times(&mut self, t: &Tensor, factor: i64) -> Tensor {
        if factor == 1 {
            return t.clone();
        }
        let factor = self.int(factor);
        self.each("multiply", &[t.clone(), factor])
    }

    /// The place as a tensor.
    pub fn place_tensor(&mut self, place: &Place) -> Tensor {
        match place {
            Place::Affine(affine) => self.ints(&affine.clone().into()),
            Place::From(base, affine) => {
                let affine = self.ints(&affine.clone().into());
                self.each("add", &[base.clone(), affine])
            }
            Place::Any(t) => t.clone(),
        }
    }

    /// The place further on by an affine number of elements.
    pub fn further(&mut self, place: &Place, by: &Affine) -> Place {
        match place {
            Place::Affine(affine) => match affine.plus(1, by) {
                Some(sum) => Place::Affine(sum),
                None => Place::Any(self.place_tensor(place)),
            },
            Place::From(base, affine) => match affine.plus(1, by) {
                Some(sum) => Place::From(base.clone(), sum),
                None => Place::Any(self.place_tensor(place)),
            },
            Place::Any(t) => {
                let by = self.ints(&by.clone().into());
                Place::Any(self.each("add", &[t.clone(), by]))
            }
        }
    }

    /// A place as far behind another as a third one behind the first element.
    pub fn sum(&mut self, a: &Place, b: &Place) -> Place {
        match (a, b) {
            (_, Place::Affine(by)) => self.further(a, by),
            (Place::Affine(by), _) => self.further(b, by),
            (Place::From(one, by), Place::From(other, rest)) => {
                let base = self.each("add", &[one.clone(), other.clone()]);
                let place = Place::From(base, by.clone());
                self.further(&place, rest)
            }
            _ => {
                let (a, b) = (self.place_tensor(a), self.place_tensor(b));
                Place::Any(self.each("add", &[a, b]))
            }
        }
    }

    /// New dimensions for the sizes of an array, and the place of its elements.
    pub fn virtual_dims(&mut self, sizes: &[i64]) -> (Vec<Dim>, Affine) {
        let mut place = Affine::default();
        let mut dims = Vec::new();
        for (i, size) in sizes.iter().enumerate() {
            let dim = self.new_dim(*size);
            dims.push(dim);
            place.terms.push((dim, product(&sizes[i + 1..])));
        }
        (dims, place)
    }

    /// The rows of these sizes at a place in rows of an array.
    pub fn take(&mut self, t: &Tensor, place: &Place, window: &[i64]) -> Tensor {
        let whole = product(&t.shape);
        let width = product(window);
        if whole == 0 || width == 0 {
            // No step reads an empty array: its check failed.
            return self.zeros(t.elem, window);
        }
        let affine = match place {
            Place::Affine(affine) => Some((None, affine)),
            Place::From(base, affine) => Some((Some(base), affine)),
            Place::Any(_) => None,
        };
        if let Some((base, affine)) = affine {
            let (virtual_dims, within) = self.virtual_dims(window);
            let scaled = Affine::default().plus(width, affine).and_then(|a| a.plus(1, &within));
            let overlap = affine.terms.iter().any(|(dim, _)| t.dims.contains(dim));
            if let Some(scaled) = scaled.filter(|_| !overlap) {
                let flat = self.reshape(t, t.dims.clone(), vec![whole]);
                let found = match base {
                    None => self.take_affine(&flat, &scaled),
                    Some(base) => {
                        let base = self.times(base, width);
                        self.take_from(&flat, &base, &scaled)
                    }
                };
                if let Some(found) = found {
                    let mut dims = union([&found.dims[..], &virtual_dims].into_iter());
                    let found = self.broadcast(&found, &dims);
                    dims.truncate(dims.len() - virtual_dims.len());
                    return Tensor { dims, shape: window.to_vec(), ..found };
                }
            }
        }
        let at = self.place_tensor(place);
        self.take_any(t, &at, window)
    }

    fn take_from(&mut self, flat: &Tensor, base: &Tensor, affine: &Affine) -> Option<Tensor> {
        let (low, span) = self.extent(affine);
        let length = flat.shape[0];
        let flat = if span > length { self.pad(flat, 0, span - length) } else { flat.clone() };
        let low_tensor = self.int(low);
        let start = self.each("add", &[base.clone(), low_tensor]);
        let part = self.dynamic_slice(&flat, &start, span);
        let part = self.moved(&part, 1, &start, flat.shape[0]);
        self.take_affine(&part, &affine.plus(1, &Affine::known(-low))?)
    }

    /// A window of an array of this length, moved forward or backward by how far XLA moves its start to have all of it
    /// within the array: steps that are masked may lie outside.
    pub fn moved(&mut self, window: &Tensor, sign: i64, start: &Tensor, length: i64) -> Tensor {
        let span = window.shape[0];
        if self.mask.is_none() || span == 1 {
            return window.clone();
        }
        let (zero, last, span_tensor) = (self.int(0), self.int(length - span), self.int(span));
        let within = self.each("maximum", &[start.clone(), zero]);
        let within = self.each("minimum", &[within, last]);
        let by = match sign > 0 {
            true => self.each("subtract", &[start.clone(), within]),
            false => self.each("subtract", &[within, start.clone()]),
        };
        let from = self.each("add", &[span_tensor, by]);
        let wide = self.pad(window, span, span);
        self.dynamic_slice(&wide, &from, span)
    }

    /// The lowest value, and how many there are from that to the largest.
    pub fn extent(&self, affine: &Affine) -> (i64, i64) {
        let (mut low, mut span) = (affine.constant, 1);
        for (dim, a) in &affine.terms {
            let last = a * (self.sizes[*dim as usize] - 1).max(0);
            low += last.min(0);
            span += last.abs();
        }
        (low, span)
    }

    /// The terms by falling steps, all forward, with the first place; and the dimensions that run backward. None if
    /// numbers of different steps meet.
    pub fn terms(&self, affine: &Affine) -> Option<(i64, Vec<Term>, Vec<Dim>)> {
        let (mut constant, mut backward) = (affine.constant, Vec::new());
        let mut terms: Vec<Term> = Vec::new();
        for (dim, a) in &affine.terms {
            let n = self.sizes[*dim as usize];
            if *a < 0 {
                constant += a * (n - 1);
                backward.push(*dim);
            }
            terms.push((*dim, a.abs(), n));
        }
        terms.sort_by_key(|(dim, a, _)| (std::cmp::Reverse(*a), *dim));
        let mut inner = 1;
        for (_, a, n) in terms.iter().rev() {
            if inner > *a {
                return None;
            }
            inner += a * (n - 1);
        }
        Some((constant, terms, backward))
    }

    /// The elements of an array of one axis at affine places.
    fn take_affine(&mut self, flat: &Tensor, affine: &Affine) -> Option<Tensor> {
        let (constant, terms, backward) = self.terms(affine)?;
        let own = flat.dims.len();
        let Some((_, a, n)) = terms.first() else {
            let one = self.cut(flat, constant, constant + 1);
            return Some(self.reshape(&one, flat.dims.clone(), Vec::new()));
        };
        let mut t = self.cut(flat, constant, constant + a * n);
        let mut shape = vec![*n, *a];
        t = self.reshape(&t, flat.dims.clone(), shape.clone());
        for (_, a, n) in &terms[1..] {
            t = self.cut(&t, 0, a * n);
            shape.pop();
            shape.extend([*n, *a]);
            t = self.reshape(&t, flat.dims.clone(), shape.clone());
        }
        t = self.cut(&t, 0, 1);
        let dims: Vec<Dim> =
            flat.dims.iter().copied().chain(terms.iter().map(|term| term.0)).collect();
        t = self.reshape(&t, dims, Vec::new());
        let axes: Vec<usize> =
            (own..t.dims.len()).filter(|axis| backward.contains(&t.dims[*axis])).collect();
        t = self.reverse(&t, &axes);
        Some(self.sorted(&t))
    }

    /// An array of one axis of zeros, with the elements of a tensor at affine places. The tensor depends on all dimensions
    /// of the place.
    pub fn put_affine(&mut self, t: &Tensor, affine: &Affine, length: i64) -> Option<Tensor> {
        let (constant, terms, backward) = self.terms(affine)?;
        let placed: Vec<Dim> = terms.iter().map(|term| term.0).collect();
        let own: Vec<Dim> = t.dims.iter().copied().filter(|dim| !placed.contains(dim)).collect();
        let dims: Vec<Dim> = own.iter().chain(&placed).copied().collect();
        let order: Vec<usize> =
            dims.iter().map(|dim| t.dims.iter().position(|d| d == dim)).collect::<Option<_>>()?;
        let mut t = self.transpose(t, &order, dims, Vec::new());
        let axes: Vec<usize> =
            (own.len()..t.dims.len()).filter(|axis| backward.contains(&t.dims[*axis])).collect();
        t = self.reverse(&t, &axes);
        let mut shape: Vec<i64> = terms.iter().map(|term| term.2).collect();
        shape.push(1);
        t = self.reshape(&t, own.clone(), shape.clone());
        for (i, (_, a, n)) in terms.iter().enumerate().rev() {
            // Steps of `a` elements, of which the last axis has some.
            let has = t.shape.last().copied().unwrap_or(1);
            t = self.pad(&t, 0, a - has);
            shape.truncate(i);
            shape.push(a * n);
            t = self.reshape(&t, own.clone(), shape.clone());
        }
        let has = t.shape.last().copied().unwrap_or(1);
        Some(self.pad(&t, constant, length - constant - has))
    }

    /// Rows at any places.
    fn take_any(&mut self, t: &Tensor, at: &Tensor, window: &[i64]) -> Tensor {
        let width = product(window).max(1);
        let rows = product(&t.shape) / width;
        let overlap = t.dims.iter().any(|dim| at.dims.contains(dim));
        if !overlap {
            let mut rows_first = vec![rows];
            rows_first.extend(window);
            let folded = self.reshape(t, t.dims.clone(), rows_first.clone());
            let own = t.dims.len();
            let mut order = vec![own];
            order.extend((0..own).chain(own + 1..own + rows_first.len()));
            let sizes = self.sizes_of(&t.dims, &[]);
            let mut shape = vec![rows];
            shape.extend(sizes.iter().chain(window));
            let operand = self.transpose(&folded, &order, Vec::new(), shape.clone());
            let dims: Vec<Dim> = at.dims.iter().chain(&t.dims).copied().collect();
            let found = self.gather(&operand, at, &shape[1..], dims, window.to_vec());
            return self.sorted(&found);
        }
        // An array that depends on a dimension of the places is flattened together with that dimension.
        let mut all = Tensor { elem: Elem::Int, ..at.clone() };
        let mut stride = rows;
        for dim in t.dims.iter().rev() {
            let index = self.iota(*dim);
            let step = self.times(&index, stride);
            all = self.each("add", &[all, step]);
            stride *= self.sizes[*dim as usize];
        }
        let mut shape = vec![stride];
        shape.extend(window);
        let operand = self.reshape(t, Vec::new(), shape);
        let dims = all.dims.clone();
        self.gather(&operand, &all, window, dims, window.to_vec())
    }

    /// The sum over dimensions; as many times the value, where it does not depend on one.
    pub fn sum_over(&mut self, value: &Tensor, over: &[Dim]) -> Tensor {
        let missing = over.iter().filter(|dim| !value.dims.contains(dim));
        let times: i64 = missing.map(|dim| self.sizes[*dim as usize]).product();
        if times == 0 {
            return self.zeros(value.elem, &value.shape);
        }
        let mut value = value.clone();
        if over.iter().any(|dim| value.dims.contains(dim)) {
            value = match self.contracted(&value, over) {
                Some(found) => found,
                None => {
                    let zero = self.real(0.0);
                    self.reduce_dims(&value, over, "add", &zero)
                }
            };
        }
        if times != 1 {
            let factor = self.reals(times as f64, &value.shape);
            value = self.each("multiply", &[value, factor]);
        }
        value
    }
}

impl From<Affine> for Val {
    fn from(affine: Affine) -> Val {
        Val::Int(affine)
    }
}
