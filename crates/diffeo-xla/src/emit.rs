//! Text of StableHLO: one line an operation, with its types.

use crate::lift::Lift;
use crate::value::{Dim, Table, Tensor};
use crate::Precision;
use diffeo_array::ir::Elem;
use std::collections::HashSet;
use std::fmt::Write;
use std::rc::Rc;

fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(", ")
}

/// The values of a constant tensor, in brackets for each dimension.
fn nested(elem: Elem, sizes: &[i64], data: &[i64], out: &mut String) {
    let Some((n, rest)) = sizes.split_first() else {
        *out += &match elem {
            Elem::Bool => (data[0] != 0).to_string(),
            _ => data[0].to_string(),
        };
        return;
    };
    let width = data.len() / (*n).max(1) as usize;
    out.push('[');
    for i in 0..*n as usize {
        *out += if i == 0 { "" } else { ", " };
        nested(elem, rest, &data[i * width..(i + 1) * width], out);
    }
    out.push(']');
}

/// A region that is being written.
pub(crate) struct Region {
    /// The text around it so far.
    outside: String,
    /// The number of operations that were written before the region.
    texts: usize,
}

impl Lift<'_> {
    pub fn line(&mut self, text: &str) {
        let indent = 2 * self.depth;
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    /// Begins a region with a text; what was written before waits for its end.
    pub fn open_region(&mut self, text: String) -> Region {
        self.depth += 1;
        Region { outside: std::mem::replace(&mut self.out, text), texts: self.texts.len() }
    }

    /// The text of a region, whose operations are not seen outside of it.
    pub fn close_region(&mut self, region: Region) -> String {
        self.depth -= 1;
        self.forget(region.texts);
        std::mem::replace(&mut self.out, region.outside)
    }

    /// Forgets the operations behind the first so many.
    pub fn forget(&mut self, texts: usize) {
        for text in self.texts.drain(texts..) {
            self.seen.remove(&text);
        }
    }

    fn fresh(&mut self) -> Rc<str> {
        self.names += 1;
        format!("%{}", self.names).into()
    }

    /// A name for several results, or a parameter of a region.
    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("%{prefix}{}", self.names)
    }

    /// All sizes of a tensor: of its dimensions, then of the array.
    pub fn sizes_of(&self, dims: &[Dim], shape: &[i64]) -> Vec<i64> {
        dims.iter().map(|dim| self.sizes[*dim as usize]).chain(shape.iter().copied()).collect()
    }

    /// The type of a tensor of these sizes.
    pub fn tensor_type(&self, elem: Elem, sizes: &[i64]) -> String {
        let sizes: String = sizes.iter().map(|n| format!("{n}x")).collect();
        let word = match (elem, self.precision) {
            (Elem::Real, Precision::F64) => "f64",
            (Elem::Real, Precision::F32) => "f32",
            (Elem::Int, _) => "i64",
            (Elem::Bool, _) => "i1",
            (Elem::Text | Elem::Box(_), _) => "none",
        };
        format!("tensor<{sizes}{word}>")
    }

    /// A Real as MLIR reads it: infinities and nan by their bits.
    fn number(&self, x: f64) -> String {
        let finite = match self.precision {
            Precision::F64 => x.is_finite(),
            Precision::F32 => (x as f32).is_finite(),
        };
        match (finite, self.precision) {
            (false, Precision::F64) => format!("0x{:016X}", x.to_bits()),
            (false, Precision::F32) => format!("0x{:08X}", (x as f32).to_bits()),
            (true, _) => {
                let text = format!("{x:?}");
                match text.split_once('e') {
                    Some((digits, exponent)) if !digits.contains('.') => {
                        format!("{digits}.0e{exponent}")
                    }
                    _ => text,
                }
            }
        }
    }

    pub fn ty(&self, t: &Tensor) -> String {
        self.tensor_type(t.elem, &self.sizes_of(&t.dims, &t.shape))
    }

    /// Writes an operation with this text behind `=`, and gives its result.
    pub fn emit(&mut self, elem: Elem, dims: Vec<Dim>, shape: Vec<i64>, text: &str) -> Tensor {
        if let Some(id) = self.seen.get(text) {
            return Tensor { id: id.clone(), elem, dims, shape };
        }
        let id = self.fresh();
        self.line(&format!("{id} = {text}"));
        self.seen.insert(text.to_string(), id.clone());
        self.texts.push(text.to_string());
        let op = text.trim_start_matches('"').trim_start_matches("stablehlo.");
        let moves = MOVES.iter().any(|name| op.starts_with(name));
        if (moves || self.mask.is_none()) && names(text).all(|name| self.is_taken(name)) {
            self.taken.insert(id.clone());
        }
        Tensor { id, elem, dims, shape }
    }

    /// All numbers of a tensor are of steps that the program takes, so that 0 times each is 0.
    pub fn is_taken(&self, id: &str) -> bool {
        id.starts_with("%arg") || self.taken.contains(id)
    }

    /// A constant that is the same everywhere.
    pub fn splat(&mut self, elem: Elem, value: &str, sizes: &[i64]) -> Tensor {
        let text = format!("stablehlo.constant dense<{value}> : {}", self.tensor_type(elem, sizes));
        self.emit(elem, Vec::new(), sizes.to_vec(), &text)
    }

    pub fn real(&mut self, x: f64) -> Tensor {
        self.splat(Elem::Real, &self.number(x), &[])
    }

    pub fn reals(&mut self, x: f64, sizes: &[i64]) -> Tensor {
        self.splat(Elem::Real, &self.number(x), sizes)
    }

    pub fn zeros(&mut self, elem: Elem, sizes: &[i64]) -> Tensor {
        let zero = match elem {
            Elem::Real => "0.0",
            Elem::Bool => "false",
            Elem::Int | Elem::Text | Elem::Box(_) => "0",
        };
        self.splat(elem, zero, sizes)
    }

    pub fn int(&mut self, n: i64) -> Tensor {
        self.splat(Elem::Int, &n.to_string(), &[])
    }

    pub fn boolean(&mut self, b: bool) -> Tensor {
        self.splat(Elem::Bool, &b.to_string(), &[])
    }

    pub fn table(&mut self, table: &Table) -> Tensor {
        let sizes = self.sizes_of(&table.dims, &table.shape);
        let first = table.data.first().copied().unwrap_or(0);
        if table.data.iter().all(|n| *n == first) {
            let value =
                if table.elem == Elem::Bool { (first != 0).to_string() } else { first.to_string() };
            let splat = self.splat(table.elem, &value, &sizes);
            return Tensor { dims: table.dims.clone(), shape: table.shape.clone(), ..splat };
        }
        let mut values = String::new();
        nested(table.elem, &sizes, &table.data, &mut values);
        let text = format!(
            "stablehlo.constant dense<{values}> : {}",
            self.tensor_type(table.elem, &sizes)
        );
        self.emit(table.elem, table.dims.clone(), table.shape.clone(), &text)
    }

    /// The indices of a dimension.
    pub fn iota(&mut self, dim: Dim) -> Tensor {
        let ty = self.tensor_type(Elem::Int, &[self.sizes[dim as usize]]);
        let text = format!("stablehlo.iota dim = 0 : {ty}");
        self.emit(Elem::Int, vec![dim], Vec::new(), &text)
    }

    /// The tensor with other dimensions and sizes, as many elements in the same order.
    pub fn reshape(&mut self, t: &Tensor, dims: Vec<Dim>, shape: Vec<i64>) -> Tensor {
        let (from, to) = (self.sizes_of(&t.dims, &t.shape), self.sizes_of(&dims, &shape));
        if from == to {
            return Tensor { dims, shape, ..t.clone() };
        }
        // Of a tensor that was reshaped already, the first form.
        let (id, from) = self.reshaped.get(&t.id).cloned().unwrap_or((t.id.clone(), from));
        if from == to {
            return Tensor { id, elem: t.elem, dims, shape };
        }
        let types = (self.tensor_type(t.elem, &from), self.tensor_type(t.elem, &to));
        let text = format!("stablehlo.reshape {id} : ({}) -> {}", types.0, types.1);
        let found = self.emit(t.elem, dims, shape, &text);
        self.reshaped.insert(found.id.clone(), (id, from));
        found
    }

    /// The tensor with its axes in this order; dimensions and sizes are those of the result.
    pub fn transpose(
        &mut self,
        t: &Tensor,
        order: &[usize],
        dims: Vec<Dim>,
        shape: Vec<i64>,
    ) -> Tensor {
        if order.iter().enumerate().all(|(i, axis)| i == *axis) {
            return Tensor { dims, shape, ..t.clone() };
        }
        let (id, from) = (&t.id, self.ty(t));
        let to = self.tensor_type(t.elem, &self.sizes_of(&dims, &shape));
        let order: Vec<i64> = order.iter().map(|axis| *axis as i64).collect();
        let text =
            format!("stablehlo.transpose {id}, dims = [{}] : ({from}) -> {to}", list(&order));
        self.emit(t.elem, dims, shape, &text)
    }

    /// The tensor with these dimensions, which include its own.
    pub fn broadcast(&mut self, t: &Tensor, dims: &[Dim]) -> Tensor {
        if t.dims == dims {
            return t.clone();
        }
        let place = |dim: &Dim| dims.iter().position(|other| other == dim).unwrap_or(0) as i64;
        let mut to: Vec<i64> = t.dims.iter().map(place).collect();
        to.extend((0..t.shape.len()).map(|i| (dims.len() + i) as i64));
        let (id, from) = (&t.id, self.ty(t));
        let result = self.tensor_type(t.elem, &self.sizes_of(dims, &t.shape));
        let text = format!(
            "stablehlo.broadcast_in_dim {id}, dims = [{}] : ({from}) -> {result}",
            list(&to)
        );
        self.emit(t.elem, dims.to_vec(), t.shape.clone(), &text)
    }

    /// A tensor without sizes of its own as one of an array of these sizes with the same element everywhere.
    pub fn spread(&mut self, t: &Tensor, shape: &[i64]) -> Tensor {
        if shape.is_empty() {
            return t.clone();
        }
        let to: Vec<i64> = (0..t.dims.len() as i64).collect();
        let (id, from) = (&t.id, self.ty(t));
        let result = self.tensor_type(t.elem, &self.sizes_of(&t.dims, shape));
        let text = format!(
            "stablehlo.broadcast_in_dim {id}, dims = [{}] : ({from}) -> {result}",
            list(&to)
        );
        self.emit(t.elem, t.dims.clone(), shape.to_vec(), &text)
    }

    /// The tensors with the same dimensions: the union of theirs.
    pub fn united(&mut self, tensors: &[Tensor]) -> Vec<Tensor> {
        let dims = union(tensors.iter().map(|t| &t.dims[..]));
        tensors.iter().map(|t| self.broadcast(t, &dims)).collect()
    }

    /// An operation on elements whose result has the type of its operands.
    pub fn each(&mut self, op: &str, operands: &[Tensor]) -> Tensor {
        let all = self.united(operands);
        let names: Vec<&str> = all.iter().map(|t| &*t.id).collect();
        let (first, ty) = (all[0].clone(), self.ty(&all[0]));
        let text = format!("stablehlo.{op} {} : {ty}", names.join(", "));
        self.emit(first.elem, first.dims, first.shape, &text)
    }

    /// A comparison: `EQ`, `NE`, `LT`, `LE`, `GT` or `GE`.
    pub fn compare(&mut self, how: &str, a: &Tensor, b: &Tensor) -> Tensor {
        let all = self.united(&[a.clone(), b.clone()]);
        let kind = match a.elem {
            Elem::Real => "FLOAT",
            Elem::Bool => "UNSIGNED",
            _ => "SIGNED",
        };
        let from = self.ty(&all[0]);
        let to = self.tensor_type(Elem::Bool, &self.sizes_of(&all[0].dims, &all[0].shape));
        let (a, b) = (&all[0], &all[1]);
        let text = format!(
            "stablehlo.compare {how}, {}, {}, {kind} : ({from}, {from}) -> {to}",
            a.id, b.id
        );
        self.emit(Elem::Bool, a.dims.clone(), a.shape.clone(), &text)
    }

    /// The elements of `a` where the condition holds, of `b` elsewhere. The condition has no sizes of its own.
    pub fn select(&mut self, cond: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
        let dims = union([&cond.dims[..], &a.dims, &b.dims].into_iter());
        let (a, b) = (self.broadcast(a, &dims), self.broadcast(b, &dims));
        let cond = self.broadcast(cond, &dims);
        let cond = if cond.shape == a.shape { cond } else { self.spread(&cond, &a.shape) };
        let (from, to) = (self.ty(&cond), self.ty(&a));
        let text = format!("stablehlo.select {}, {}, {} : {from}, {to}", cond.id, a.id, b.id);
        self.emit(a.elem, a.dims, a.shape, &text)
    }

    pub fn convert(&mut self, t: &Tensor, to: Elem) -> Tensor {
        let (from, result) = (self.ty(t), self.tensor_type(to, &self.sizes_of(&t.dims, &t.shape)));
        let text = format!("stablehlo.convert {} : ({from}) -> {result}", t.id);
        self.emit(to, t.dims.clone(), t.shape.clone(), &text)
    }

    /// The bits of Reals, as Ints.
    pub fn bits(&mut self, t: &Tensor) -> Tensor {
        let (from, sizes) = (self.ty(t), self.sizes_of(&t.dims, &t.shape));
        let to = self.tensor_type(Elem::Int, &sizes);
        let bits =
            |id: &str, to: &str| format!("stablehlo.bitcast_convert {id} : ({from}) -> {to}");
        if self.precision == Precision::F64 {
            return self.emit(Elem::Int, t.dims.clone(), t.shape.clone(), &bits(&t.id, &to));
        }
        let narrow = to.replace("i64", "i32");
        let found = self.emit(Elem::Int, t.dims.clone(), t.shape.clone(), &bits(&t.id, &narrow));
        let text = format!("stablehlo.convert {} : ({narrow}) -> {to}", found.id);
        self.emit(Elem::Int, t.dims.clone(), t.shape.clone(), &text)
    }

    /// The tensor with these axes combined by an operation that begins with `init`.
    pub fn reduce(
        &mut self,
        t: &Tensor,
        axes: &[usize],
        op: &str,
        init: &Tensor,
        dims: Vec<Dim>,
        shape: Vec<i64>,
    ) -> Tensor {
        if axes.is_empty() {
            return Tensor { dims, shape, ..t.clone() };
        }
        let (from, unit) = (self.ty(t), self.ty(init));
        let to = self.tensor_type(t.elem, &self.sizes_of(&dims, &shape));
        let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        let text = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{op} across dimensions = [{}] : ({from}, {unit}) -> {to}",
            t.id,
            init.id,
            list(&axes)
        );
        self.emit(t.elem, dims, shape, &text)
    }

    /// The tensor without some of its dimensions, whose elements are combined.
    pub fn reduce_dims(&mut self, t: &Tensor, over: &[Dim], op: &str, init: &Tensor) -> Tensor {
        let axes: Vec<usize> = (0..t.dims.len()).filter(|i| over.contains(&t.dims[*i])).collect();
        let dims = t.dims.iter().copied().filter(|dim| !over.contains(dim)).collect();
        self.reduce(t, &axes, op, init, dims, t.shape.clone())
    }

    /// The elements of the last axis from `lo` to below `hi`, by steps; where that is outside, zeros.
    pub fn cut(&mut self, t: &Tensor, lo: i64, hi: i64) -> Tensor {
        let length = t.shape.last().copied().unwrap_or(1);
        let rank = t.dims.len() + t.shape.len();
        let mut t = t.clone();
        let (below, above) = ((-lo).max(0), (hi - length).max(0));
        let with_last = |shape: &[i64], n: i64| {
            let mut shape = shape.to_vec();
            if let Some(last) = shape.last_mut() {
                *last = n;
            }
            shape
        };
        if below > 0 || above > 0 {
            t = self.pad(&t, below, above);
        }
        let (lo, hi) = (lo + below, hi + below);
        if (lo, hi) == (0, length + below + above) {
            return t;
        }
        let shape = with_last(&t.shape, hi - lo);
        let sizes = self.sizes_of(&t.dims, &t.shape);
        let ranges: Vec<String> = (0..rank)
            .map(|i| if i + 1 == rank { format!("{lo}:{hi}") } else { format!("0:{}", sizes[i]) })
            .collect();
        let (from, to) = (self.ty(&t), self.tensor_type(t.elem, &self.sizes_of(&t.dims, &shape)));
        let text = format!("stablehlo.slice {} [{}] : ({from}) -> {to}", t.id, ranges.join(", "));
        self.emit(t.elem, t.dims.clone(), shape, &text)
    }

    /// Zeros before and behind the last axis; negative counts cut.
    pub fn pad(&mut self, t: &Tensor, below: i64, above: i64) -> Tensor {
        if (below, above) == (0, 0) {
            return t.clone();
        }
        let zero = self.zeros(t.elem, &[]);
        let rank = t.dims.len() + t.shape.len();
        let only_last = |n: i64| {
            let mut all = vec![0; rank];
            all[rank - 1] = n;
            list(&all)
        };
        let mut shape = t.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last += below + above;
        }
        let (from, unit) = (self.ty(t), self.ty(&zero));
        let to = self.tensor_type(t.elem, &self.sizes_of(&t.dims, &shape));
        let text = format!(
            "stablehlo.pad {}, {}, low = [{}], high = [{}], interior = [{}] : ({from}, {unit}) -> {to}",
            t.id,
            zero.id,
            only_last(below),
            only_last(above),
            only_last(0)
        );
        self.emit(t.elem, t.dims.clone(), shape, &text)
    }

    pub fn reverse(&mut self, t: &Tensor, axes: &[usize]) -> Tensor {
        if axes.is_empty() {
            return t.clone();
        }
        let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        let ty = self.ty(t);
        let text = format!("stablehlo.reverse {}, dims = [{}] : {ty}", t.id, list(&axes));
        self.emit(t.elem, t.dims.clone(), t.shape.clone(), &text)
    }

    /// So many elements of a tensor of one axis, from a place that is only known when it runs.
    pub fn dynamic_slice(&mut self, t: &Tensor, start: &Tensor, length: i64) -> Tensor {
        // Axes in front are taken whole.
        let zero = self.int(0);
        let rank = t.dims.len() + t.shape.len();
        let starts: Vec<&str> =
            (0..rank).map(|i| if i + 1 == rank { &*start.id } else { &*zero.id }).collect();
        let mut shape = t.shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = length;
        }
        let sizes = self.sizes_of(&t.dims, &shape);
        let (from, to) = (self.ty(t), self.tensor_type(t.elem, &sizes));
        let places = vec!["tensor<i64>"; rank].join(", ");
        let text = format!(
            "stablehlo.dynamic_slice {}, {}, sizes = [{}] : ({from}, {places}) -> {to}",
            t.id,
            starts.join(", "),
            list(&sizes)
        );
        self.emit(t.elem, t.dims.clone(), shape, &text)
    }

    /// A tensor with another one in the place of some of its elements, from these indices on.
    pub fn dynamic_update(&mut self, t: &Tensor, part: &Tensor, starts: &[Tensor]) -> Tensor {
        let zero = self.int(0);
        let rank = t.dims.len() + t.shape.len();
        let start = |i: usize| i.checked_sub(t.dims.len()).and_then(|axis| starts.get(axis));
        let starts: Vec<&str> = (0..rank).map(|i| &*start(i).unwrap_or(&zero).id).collect();
        let (whole, piece) = (self.ty(t), self.ty(part));
        let places = vec!["tensor<i64>"; rank].join(", ");
        let text = format!(
            "stablehlo.dynamic_update_slice {}, {}, {} : ({whole}, {piece}, {places}) -> {whole}",
            t.id,
            part.id,
            starts.join(", ")
        );
        self.emit(t.elem, t.dims.clone(), t.shape.clone(), &text)
    }

    pub fn concatenate(&mut self, parts: &[Tensor], axis: usize, shape: Vec<i64>) -> Tensor {
        let all = self.united(parts);
        let dims = all[0].dims.clone();
        let names: Vec<&str> = all.iter().map(|t| &*t.id).collect();
        let types: Vec<String> = all.iter().map(|t| self.ty(t)).collect();
        let to = self.tensor_type(all[0].elem, &self.sizes_of(&dims, &shape));
        let text = format!(
            "stablehlo.concatenate {}, dim = {} : ({}) -> {to}",
            names.join(", "),
            dims.len() + axis,
            types.join(", ")
        );
        self.emit(all[0].elem, dims, shape, &text)
    }

    /// Products of elements, summed over dimensions that both have.
    pub fn dot(&mut self, a: &Tensor, b: &Tensor, over: &[Dim]) -> Tensor {
        let both: Vec<Dim> = a.dims.iter().copied().filter(|d| b.dims.contains(d)).collect();
        let batch: Vec<Dim> = both.iter().copied().filter(|d| !over.contains(d)).collect();
        let own = |t: &Tensor| -> Vec<Dim> {
            t.dims.iter().copied().filter(|d| !both.contains(d)).collect()
        };
        let order: Vec<Dim> = batch.iter().copied().chain(own(a)).chain(own(b)).collect();
        let places = |t: &Tensor, dims: &[Dim]| {
            let place = |d: &Dim| t.dims.iter().position(|other| other == d).unwrap_or(0) as i64;
            list(&dims.iter().map(place).collect::<Vec<_>>())
        };
        let batching = match batch.is_empty() {
            true => String::new(),
            false => {
                format!("batching_dims = [{}] x [{}], ", places(a, &batch), places(b, &batch))
            }
        };
        let to = self.tensor_type(a.elem, &self.sizes_of(&order, &[]));
        let text = format!(
            "stablehlo.dot_general {}, {}, {batching}contracting_dims = [{}] x [{}], precision = [HIGHEST, HIGHEST] : ({}, {}) -> {to}",
            a.id,
            b.id,
            places(a, over),
            places(b, over),
            self.ty(a),
            self.ty(b)
        );
        let found = self.emit(a.elem, order, Vec::new(), &text);
        self.sorted(&found)
    }

    /// The tensor with its dimensions rising.
    pub fn sorted(&mut self, t: &Tensor) -> Tensor {
        let mut order: Vec<usize> = (0..t.dims.len()).collect();
        order.sort_by_key(|axis| t.dims[*axis]);
        let dims = order.iter().map(|axis| t.dims[*axis]).collect();
        order.extend(t.dims.len()..t.dims.len() + t.shape.len());
        self.transpose(t, &order, dims, t.shape.clone())
    }

    /// Rows of a tensor with the axes `[P, window…]` at places that are only known when it runs. The result has the axes of
    /// the places, then the window: these dimensions and sizes.
    pub fn gather(
        &mut self,
        t: &Tensor,
        at: &Tensor,
        window: &[i64],
        dims: Vec<Dim>,
        shape: Vec<i64>,
    ) -> Tensor {
        let places = self.sizes_of(&at.dims, &at.shape);
        let rank = places.len();
        let offset: Vec<i64> = (0..window.len()).map(|i| (rank + i) as i64).collect();
        let sizes: Vec<i64> = std::iter::once(1).chain(window.iter().copied()).collect();
        let to = self.tensor_type(t.elem, &self.sizes_of(&dims, &shape));
        let text = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {rank}>, indices_are_sorted = false, slice_sizes = array<i64: {}>}}> : ({}, {}) -> {to}",
            t.id,
            at.id,
            list(&offset),
            list(&sizes),
            self.ty(t),
            self.ty(at)
        );
        self.emit(t.elem, dims, shape, &text)
    }

    /// The stable permutation that sorts the last axis; nan comes last.
    pub fn arg_sort(&mut self, t: &Tensor) -> Tensor {
        let axis = t.dims.len();
        let count = t.shape[0];
        let dim = self.new_dim(count);
        let steps = self.iota(dim);
        let steps = self.reshape(&steps, Vec::new(), vec![count]);
        let steps = self.broadcast(&steps, &t.dims);
        let (a, b) = (self.name("a"), self.name("b"));
        let (i, j) = (self.name("i"), self.name("j"));
        let id = self.name("s");
        let (scalar, int) = (self.tensor_type(t.elem, &[]), self.tensor_type(Elem::Int, &[]));
        let (keys, places) = (self.ty(t), self.ty(&steps));
        self.line(&format!(
            "{id}:2 = \"stablehlo.sort\"({}, {}) <{{dimension = {axis} : i64, is_stable = true}}> ({{",
            t.id, steps.id
        ));
        self.line(&format!("^bb0({a}: {scalar}, {b}: {scalar}, {i}: {int}, {j}: {int}):"));
        let region = self.open_region(String::new());
        let key = |id: String| Tensor {
            id: id.into(),
            elem: t.elem,
            dims: Vec::new(),
            shape: Vec::new(),
        };
        let (a, b) = (key(a), key(b));
        let mut before = self.compare("LT", &a, &b);
        if t.elem == Elem::Real {
            let (number, nan) = (self.compare("EQ", &a, &a), self.compare("NE", &b, &b));
            let last = self.each("and", &[number, nan]);
            before = self.each("or", &[before, last]);
        }
        self.line(&format!("stablehlo.return {} : tensor<i1>", before.id));
        let text = self.close_region(region);
        self.out += &text;
        self.line(&format!("}}) : ({keys}, {places}) -> ({keys}, {places})"));
        let id = self.results(&id, 2)[1].clone();
        Tensor { id, elem: Elem::Int, dims: t.dims.clone(), shape: t.shape.clone() }
    }

    /// Adds numbers to elements of a tensor of one axis.
    pub fn scatter_add(&mut self, t: &Tensor, at: &Tensor, with: &Tensor) -> Tensor {
        let rank = at.dims.len() + at.shape.len();
        let scalar = self.tensor_type(t.elem, &[]);
        let (a, b) = (self.name("a"), self.name("b"));
        let id = self.fresh();
        let (whole, places, new) = (self.ty(t), self.ty(at), self.ty(with));
        self.line(&format!(
            "{id} = \"stablehlo.scatter\"({}, {}, {}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = {rank}>, unique_indices = false}}> ({{",
            t.id, at.id, with.id
        ));
        self.line(&format!("^bb0({a}: {scalar}, {b}: {scalar}):"));
        let c = self.name("c");
        self.line(&format!("  {c} = stablehlo.add {a}, {b} : {scalar}"));
        self.line(&format!("  stablehlo.return {c} : {scalar}"));
        self.line(&format!("}}) : ({whole}, {places}, {new}) -> {whole}"));
        Tensor { id, ..t.clone() }
    }
}

/// Operations that compute no numbers.
const MOVES: [&str; 10] = [
    "broadcast_in_dim",
    "concatenate",
    "constant",
    "dynamic_slice",
    "gather",
    "iota",
    "pad",
    "reshape",
    "slice",
    "transpose",
];

/// The names of values in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let end = |c: char| !(c.is_alphanumeric() || "_#".contains(c));
    text.match_indices('%').map(move |(at, _)| {
        let rest = &text[at..];
        &rest[..rest[1..].find(end).map_or(rest.len(), |n| n + 1)]
    })
}

/// The text without operations whose results nothing takes.
pub(crate) fn without_unused(text: &str, results: &[&str]) -> String {
    let base = |id: &str| id.split('#').next().unwrap_or_default().to_string();
    let mut used: HashSet<String> = results.iter().map(|id| base(id)).collect();
    let mut kept: Vec<&str> = Vec::new();
    for line in text.lines().rev() {
        let (defined, rest) = match line.split_once(" = ") {
            Some((id, rest)) if id.trim_start().starts_with('%') => (Some(id.trim()), rest),
            _ => (None, line),
        };
        let opens = line.ends_with('{') || rest.contains("stablehlo.while");
        if defined.is_some_and(|id| !opens && !used.contains(id)) {
            continue;
        }
        used.extend(names(rest).map(base));
        kept.push(line);
    }
    kept.reverse();
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// The union of lists of rising dimensions.
pub(crate) fn union<'d>(lists: impl Iterator<Item = &'d [Dim]>) -> Vec<Dim> {
    let mut all: Vec<Dim> = lists.flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}
