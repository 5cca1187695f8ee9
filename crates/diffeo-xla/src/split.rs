//! Loop distribution: sums of a sequential loop are computed behind it, for all its steps at once.
//!
//! A loop backwards carries adjoints from step to step, and adds to the derivatives of parameters, which no step reads. The
//! loop is written twice. First without these additions, and the numbers that carry over from step to step are kept for
//! each step. Then behind it, with a dimension for the steps: what carries over is taken from there, and only the
//! additions are done. So a gradient of weights is one product of matrices for all steps, not one for each, and the loop
//! has less to do.

use crate::control::{CountedLoop, UNROLLED};
use crate::lift::{Lift, Outcome};
use crate::place::product;
use crate::value::{Dim, Tensor, Val};
use crate::Reason;
use diffeo_array::ir::Op;
use std::collections::HashSet;
use std::rc::Rc;

/// The most statements of a loop that is written twice.
const LONGEST: usize = 20_000;

/// The most bytes that are kept for all steps.
const LARGEST: i64 = 1 << 30;

/// The source of a number that carries over from step to step: a variable of the loop, or a read of an accumulator, by the statement and the calls
/// and steps that are open around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Param(usize),
    Read(*const Op, Vec<usize>),
}

/// A number or an array of each step, for the second loop.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    key: Key,
    tensor: Tensor,
    /// The dimensions within the step that were open.
    inner: Vec<Dim>,
    /// Its place among the rooms of the loop; equal tensors share one.
    room: usize,
}

/// A loop that is being distributed.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    /// The second loop is being written, all steps at once.
    replays: bool,
    /// The accumulators that only the second loop adds to.
    deferred: HashSet<usize>,
    /// The number of accumulators from outside of the loop, which come first.
    roots: usize,
    /// The depth of regions in the body.
    depth: usize,
    /// The number of open dimensions around the loop.
    open: usize,
    records: Vec<Record>,
    /// The records that have a room of their own, then the values of all steps in each, one after the other in one axis.
    rooms: Vec<usize>,
    kept: Vec<Tensor>,
    /// A read lies in a region within the step, or two reads cannot be told apart.
    failed: bool,
    /// The number of steps.
    count: i64,
}

impl<'m> Lift<'m> {
    /// A loop of a known number of steps whose accumulators of derivatives are summed behind it, where that can be.
    pub fn split_loop(&mut self, count: i64, of: &CountedLoop<'_>) -> Outcome<Vec<Val>> {
        let known = Val::int(count);
        if self.split.is_some() || count <= UNROLLED {
            return self.sequential(&known, of);
        }
        let (out, texts, accesses) = (self.out.len(), self.texts.len(), self.accesses.len());
        let (state, checks, walked) = (self.state.clone(), self.checks.len(), self.count);
        let plain = self.sequential(&known, of)?;
        let all = &self.accesses[accesses..];
        let roots = state.len();
        let read: HashSet<usize> = all.iter().filter(|a| a.reads).map(|a| a.root).collect();
        let deferred: HashSet<usize> =
            all.iter().map(|a| a.root).filter(|r| *r < roots && !read.contains(r)).collect();
        if deferred.is_empty() || self.count - walked > LONGEST {
            return Ok(plain);
        }
        // The plain loop, in case that it cannot be distributed.
        self.forget(texts);
        let plain_text = self.out.split_off(out);
        let plain_state = std::mem::replace(&mut self.state, state.clone());
        let plain_accesses = self.accesses.split_off(accesses);
        let plain_checks = self.checks.split_off(checks);
        let site = self.site;

        self.split = Some(Split {
            replays: false,
            deferred,
            roots,
            depth: self.depth + 1,
            open: self.open.len(),
            records: Vec::new(),
            rooms: Vec::new(),
            kept: Vec::new(),
            failed: false,
            count,
        });
        let written = self.count;
        let distributed = self.distributed(count, of);
        (self.split, self.count) = (None, written);
        self.accesses.truncate(accesses);
        self.accesses.extend(plain_accesses);
        if let Ok(values) = distributed {
            return Ok(values);
        }
        self.forget(texts);
        self.out.truncate(out);
        self.out += &plain_text;
        self.checks.truncate(checks);
        self.checks.extend(plain_checks);
        (self.state, self.site) = (plain_state, site);
        Ok(plain)
    }

    fn distributed(&mut self, count: i64, of: &CountedLoop<'_>) -> Outcome<Vec<Val>> {
        let CountedLoop { index, carried, body } = *of;
        let inits = self.inits(carried);
        let known = Val::int(count);
        let values = self.sequential(&known, of)?;
        let fails = self.split.as_ref().is_none_or(|split| split.failed);
        if fails {
            return Err(self.refuse(Reason::Stacks));
        }
        if let Some(split) = &mut self.split {
            split.replays = true;
        }
        self.steps(&known, index, |lift| {
            for (i, (c, init)) in carried.iter().zip(&inits).enumerate() {
                let value = match init {
                    Val::Acc(_) => init.clone(),
                    _ => Val::Tensor(lift.replayed(&Key::Param(i))?),
                };
                lift.env[c.param.0 as usize] = Some(value);
            }
            lift.block(body)
        })?;
        Ok(values)
    }

    /// The loop whose body is written at this depth keeps the numbers that carry over.
    pub fn keeps_steps(&self, depth: usize) -> bool {
        self.split.as_ref().is_some_and(|split| !split.replays && split.depth == depth)
    }

    /// Begins to write a step, with these variables of the loop by their numbers.
    pub fn begin_step(&mut self, params: Vec<(usize, Tensor)>) {
        if let Some(split) = &mut self.split {
            split.failed = false;
            let record =
                |(i, tensor)| Record { key: Key::Param(i), tensor, inner: Vec::new(), room: 0 };
            split.records = params.into_iter().map(record).collect();
        }
    }

    /// The other of the two loops adds to this accumulator.
    pub fn leaves(&self, root: usize) -> bool {
        self.split.as_ref().is_some_and(|split| {
            root < split.roots && split.replays != split.deferred.contains(&root)
        })
    }

    /// The steps of a loop are being computed a second time.
    pub fn replays(&self) -> bool {
        self.split.as_ref().is_some_and(|split| split.replays)
    }

    /// A read of an accumulator: what `make` gives, or what was kept of it.
    pub fn read(
        &mut self,
        op: &Op,
        root: usize,
        make: impl FnOnce(&mut Self) -> Tensor,
    ) -> Outcome<Tensor> {
        let key = Key::Read(op, self.context.clone());
        match &self.split {
            Some(split) if root < split.roots && split.replays => return self.replayed(&key),
            _ => {}
        }
        let tensor = make(self);
        let (depth, open) = (self.depth, self.open.clone());
        if let Some(split) = self.split.as_mut().filter(|split| root < split.roots) {
            let again = split.records.iter().any(|record| record.key == key);
            split.failed |= depth != split.depth || again;
            let inner = open[split.open..].to_vec();
            split.records.push(Record { key, tensor: tensor.clone(), inner, room: 0 });
        }
        Ok(tensor)
    }

    /// The numbers of a source, in all steps.
    fn replayed(&mut self, key: &Key) -> Outcome<Tensor> {
        let found = self.split.as_ref().and_then(|split| {
            let record = split.records.iter().find(|record| record.key == *key)?;
            let (dim, inner) = self.open[split.open..].split_first()?;
            let sizes = |dims: &[Dim]| self.sizes_of(dims, &[]);
            let same = inner.len() == record.inner.len() && sizes(inner) == sizes(&record.inner);
            let kept = split.kept.get(record.room).filter(|_| same)?;
            Some((kept.clone(), record.clone(), *dim, inner.to_vec()))
        });
        let Some((kept, record, dim, inner)) = found else {
            return Err(self.refuse(Reason::Stacks));
        };
        let mut dims = kept.dims.clone();
        dims.push(dim);
        for (old, new) in record.inner.iter().zip(inner) {
            if record.tensor.dims.contains(old) {
                dims.push(new);
            }
        }
        Ok(self.reshape(&kept, dims, record.tensor.shape))
    }

    /// Zeros in the rooms of all steps, before the loop.
    pub fn room_for_steps(&mut self) -> Outcome<Vec<Tensor>> {
        let Some(split) = &mut self.split else { return Ok(Vec::new()) };
        let mut distinct: Vec<(Rc<str>, Vec<Dim>)> = Vec::new();
        split.rooms.clear();
        for (i, record) in split.records.iter_mut().enumerate() {
            // A read along an outer dimension and one along an inner one may have the same name.
            let own = (record.tensor.id.clone(), outer(record));
            record.room = distinct.iter().position(|other| *other == own).unwrap_or_else(|| {
                distinct.push(own);
                split.rooms.push(i);
                split.rooms.len() - 1
            });
        }
        let count = split.count;
        let mut zeros = Vec::new();
        let mut bytes = 0_i64;
        for record in self.with_rooms() {
            let outer = outer(&record);
            let size = product(&self.sizes_of(&record.tensor.dims, &record.tensor.shape));
            bytes = bytes.saturating_add(size.saturating_mul(count).saturating_mul(8));
            let length = size / product(&self.sizes_of(&outer, &[])).max(1) * count;
            let zero = self.zeros(record.tensor.elem, &[length]);
            zeros.push(self.broadcast(&zero, &outer));
        }
        match bytes > LARGEST {
            true => Err(self.refuse(Reason::Stacks)),
            false => Ok(zeros),
        }
    }

    /// The records that have rooms of their own.
    fn with_rooms(&self) -> Vec<Record> {
        let rooms = |split: &Split| split.rooms.iter().map(|i| split.records[*i].clone()).collect();
        self.split.as_ref().map(rooms).unwrap_or_default()
    }

    /// Puts the numbers that carry over from this step into the rooms of all steps, within the loop.
    pub fn keep_step(&mut self, at: &Tensor, rooms: &[Tensor]) -> Vec<Tensor> {
        let records = self.with_rooms();
        let mut put = |(record, room): (Record, &Tensor)| {
            let outer = outer(&record);
            let inner = &record.tensor.dims[outer.len()..];
            let size = product(&self.sizes_of(inner, &record.tensor.shape));
            let flat = self.reshape(&record.tensor, outer, vec![size]);
            let width = self.int(size);
            let start = self.each("multiply", &[at.clone(), width]);
            self.dynamic_update(room, &flat, &[start])
        };
        records.into_iter().zip(rooms).map(&mut put).collect()
    }

    /// Takes note of the rooms of all steps, behind the loop.
    pub fn kept_steps(&mut self, kept: Vec<Tensor>) {
        if let Some(split) = &mut self.split {
            split.kept = kept;
        }
    }
}

/// The dimensions of a record that are from outside of the loop.
fn outer(record: &Record) -> Vec<Dim> {
    let dims = record.tensor.dims.iter().copied();
    dims.filter(|dim| !record.inner.contains(dim)).collect()
}
