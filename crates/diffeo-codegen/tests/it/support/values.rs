//! Values of Flat in the memory of the interpreter and back; whole runs, compared with Flat's evaluator.

use super::memory::{AllocationKind, Bug};
use super::{LowMachine, Trouble};
use diffeo_array::eval::FlatEvaluator;
use diffeo_array::ir::{Elem, FlatTy, Module as Flat};
use diffeo_array::typing::param_types;
use diffeo_array::value::{Data, FlatArray, FlatValue};
use diffeo_codegen::low::{LowModule, Raise, COUNT, DATA, FIELDS};
use diffeo_codegen::memory::Splitting;
use diffeo_codegen::{low, memory};
use std::fmt::Write;
use std::sync::Arc;

/// What a run leaves besides its results.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// How many blocks were allocated.
    pub allocations: usize,
    /// How many bytes were copied.
    pub copied: usize,
    /// How many statements were carried out.
    pub steps: u64,
}

/// The words of a type.
fn words(ty: &FlatTy) -> usize {
    match ty {
        FlatTy::Real
        | FlatTy::Int
        | FlatTy::Bool
        | FlatTy::Text
        | FlatTy::Box(_)
        | FlatTy::Stack(_) => 1,
        FlatTy::Array(_, rank) | FlatTy::Acc(rank) => 2 + usize::from(*rank),
    }
}

fn width(elem: Elem) -> usize {
    if elem == Elem::Bool {
        1
    } else {
        8
    }
}

impl LowMachine<'_> {
    /// Puts a value into memory. Arrays are counted or belong to the caller, by `counted`.
    pub fn give(
        &mut self,
        flat: &Flat,
        value: &FlatValue,
        ty: &FlatTy,
        counted: bool,
    ) -> Result<Vec<u64>, Bug> {
        Ok(match (value, ty) {
            (FlatValue::Real(x), _) => vec![x.to_bits()],
            (FlatValue::Int(n), _) => vec![*n as u64],
            (FlatValue::Bool(b), _) => vec![u64::from(*b)],
            (FlatValue::Text(text), _) => vec![self.memory.new_text(text)?],
            (FlatValue::Null, _) => vec![0],
            (FlatValue::Box(object), FlatTy::Box(id)) => {
                let boxes = &flat.boxes;
                let first: usize = boxes[..id.0 as usize].iter().map(|b| b.variants.len()).sum();
                let layout = 3 + first as i64 + i64::from(object.tag);
                let fields = &boxes[id.0 as usize].variants[object.tag as usize].fields;
                if fields.is_empty() {
                    return Ok(vec![self.statics[layout as usize]]);
                }
                let mut words = Vec::new();
                for (field, ty) in object.fields.iter().zip(fields) {
                    words.extend(self.give(flat, field, ty, true)?);
                }
                let block = self.memory.object(layout)?;
                for (i, word) in words.into_iter().enumerate() {
                    self.memory.put(block, FIELDS + 8 * i as i64, word as i64)?;
                }
                vec![block]
            }
            (FlatValue::Array(array), FlatTy::Array(elem, _)) => {
                let bytes = width(*elem) * array.count();
                let counted = counted || matches!(elem, Elem::Text | Elem::Box(_));
                let (block, data) = if counted {
                    let layout = if matches!(elem, Elem::Text | Elem::Box(_)) { 2 } else { 0 };
                    let block = self.memory.array(layout, bytes as i64, false)?;
                    (block, block + DATA as u64)
                } else {
                    (0, self.memory.piece(bytes, AllocationKind::Raw, false))
                };
                for i in 0..array.count() {
                    let word = self.give(flat, &array.element(i), &elem.ty(), true)?[0];
                    let at = data + (i * width(*elem)) as u64;
                    self.memory.write(at, &word.to_le_bytes()[..width(*elem)])?;
                }
                let mut words = vec![block, data];
                words.extend(array.sizes().iter().map(|size| *size as u64));
                words
            }
            (value, ty) => return Err(format!("{value:?} is no value of {ty:?}")),
        })
    }

    /// Reads a value.
    pub fn take(&self, flat: &Flat, words: &[u64], ty: &FlatTy) -> Result<FlatValue, Bug> {
        Ok(match ty {
            FlatTy::Real => FlatValue::Real(f64::from_bits(words[0])),
            FlatTy::Int => FlatValue::Int(words[0] as i64),
            FlatTy::Bool => FlatValue::Bool(words[0] & 0xFF != 0),
            FlatTy::Text if words[0] == 0 => FlatValue::Null,
            FlatTy::Text => FlatValue::text(&self.memory.text(words[0])?),
            FlatTy::Box(_) if words[0] == 0 => FlatValue::Null,
            FlatTy::Box(id) => {
                let block = words[0];
                let first: usize =
                    flat.boxes[..id.0 as usize].iter().map(|b| b.variants.len()).sum();
                let tag = self.memory.get(block, low::LAYOUT)? - 3 - first as i64;
                let variant = &flat.boxes[id.0 as usize].variants[tag as usize];
                let (mut fields, mut at) = (Vec::new(), FIELDS);
                for field in &variant.fields {
                    let words = words_at(self, block, &mut at, field)?;
                    fields.push(stacker::maybe_grow(1 << 20, 8 << 20, || {
                        self.take(flat, &words, field)
                    })?);
                }
                FlatValue::object(tag as u32, fields)
            }
            FlatTy::Array(elem, _) => {
                let sizes: Vec<i64> = words[2..].iter().map(|word| *word as i64).collect();
                let count: i64 = sizes.iter().map(|size| (*size).max(0)).product();
                let mut elements = Vec::new();
                for i in 0..count {
                    let at = words[1] + i as u64 * width(*elem) as u64;
                    let mut word = [0; 8];
                    word[..width(*elem)].copy_from_slice(self.memory.read(at, width(*elem))?);
                    elements.push(self.take(flat, &[u64::from_le_bytes(word)], &elem.ty())?);
                }
                FlatValue::array(
                    FlatArray::new(&sizes, data(*elem, elements)).ok_or("other sizes")?,
                )
            }
            FlatTy::Acc(_) | FlatTy::Stack(_) => return Err("no value".to_string()),
        })
    }

    /// Gives up a value.
    pub fn drop_value(&mut self, words: &[u64], ty: &FlatTy) -> Result<(), Bug> {
        match ty {
            FlatTy::Real | FlatTy::Int | FlatTy::Bool => Ok(()),
            FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => self.memory.release(words[0]),
        }
    }
}

/// The words of a value that lies there.
fn words_at(machine: &LowMachine, block: u64, at: &mut i64, ty: &FlatTy) -> Result<Vec<u64>, Bug> {
    let mut found = Vec::new();
    for _ in 0..words(ty) {
        found.push(match ty {
            // The rest of its word was perhaps never written.
            FlatTy::Bool => u64::from(machine.memory.read(block + *at as u64, 1)?[0]),
            FlatTy::Real
            | FlatTy::Int
            | FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Box(_)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => machine.memory.get(block, *at)? as u64,
        });
        *at += 8;
    }
    Ok(found)
}

fn data(elem: Elem, elements: Vec<FlatValue>) -> Data {
    match elem {
        Elem::Real => Data::Reals(elements.iter().filter_map(real).collect::<Vec<_>>().into()),
        Elem::Int => Data::Ints(elements.iter().filter_map(int).collect::<Vec<_>>().into()),
        Elem::Bool => Data::Bools(elements.iter().filter_map(truth).collect::<Vec<_>>().into()),
        Elem::Text | Elem::Box(_) => Data::Values(elements.into()),
    }
}

fn real(value: &FlatValue) -> Option<f64> {
    if let FlatValue::Real(x) = value {
        Some(*x)
    } else {
        None
    }
}

fn int(value: &FlatValue) -> Option<i64> {
    if let FlatValue::Int(n) = value {
        Some(*n)
    } else {
        None
    }
}

fn truth(value: &FlatValue) -> Option<bool> {
    if let FlatValue::Bool(b) = value {
        Some(*b)
    } else {
        None
    }
}

/// A value as text, the same for the same value.
pub fn text(value: &FlatValue) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &FlatValue, out: &mut String) {
    let _ = match value {
        // The sign and the payload of nan mean nothing.
        FlatValue::Real(x) if x.is_nan() => write!(out, "nan"),
        FlatValue::Real(x) => write!(out, "{x:?}"),
        FlatValue::Int(n) => write!(out, "{n}"),
        FlatValue::Bool(b) => write!(out, "{b}"),
        FlatValue::Text(text) => write!(out, "{text:?}"),
        FlatValue::Array(array) => {
            let _ = write!(out, "{:?}[", array.sizes());
            for i in 0..array.count() {
                write(&array.element(i), out);
                out.push(' ');
            }
            write!(out, "]")
        }
        FlatValue::Box(object) => {
            let _ = write!(out, "#{}(", object.tag);
            for field in &object.fields {
                stacker::maybe_grow(1 << 20, 8 << 20, || write(field, out));
                out.push(' ');
            }
            write!(out, ")")
        }
        FlatValue::Null => write!(out, "null"),
        FlatValue::Acc(_) | FlatValue::Stack(_) => write!(out, "?"),
    };
}

/// What a program gives: the texts of its results, or the code of its error.
pub type Outcome = Result<Vec<String>, String>;

/// Lowers a module, without loops done block by block, and complains if the result does not lint.
pub fn lowered(flat: &Arc<Flat>) -> LowModule {
    lowered_with(flat, Splitting::NEVER)
}

fn lowered_with(flat: &Arc<Flat>, splitting: Splitting) -> LowModule {
    let reuse = splitting != Splitting::NEVER;
    let mut options =
        memory::MemoryOptions { splitting, reuse, ..memory::MemoryOptions::default() };
    if reuse {
        options.long = 8;
    }
    let low = memory::lower_with(Arc::clone(flat), options);
    let errors = low::lint::lint(&low);
    assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), low::print::print(&low));
    low
}

/// Runs a program of Low on a memory that checks; every block must be gone in the end.
pub fn run_low(
    low: &LowModule,
    args: &[FlatValue],
    counted: bool,
) -> Result<(Outcome, Costs), Bug> {
    let flat = &*low.flat;
    let entry = &flat.functions[flat.entry.0 as usize];
    let mut machine = LowMachine::new(low)?;
    let mut given = Vec::new();
    for (arg, ty) in args.iter().zip(param_types(entry)) {
        given.push((machine.give(flat, arg, &ty, counted)?, ty));
    }
    let arg_words: Vec<u64> = given.iter().flat_map(|(words, _)| words.clone()).collect();
    let arguments = machine.memory.piece(8 * arg_words.len(), AllocationKind::Raw, true);
    for (i, word) in arg_words.iter().enumerate() {
        machine.memory.put(arguments, 8 * i as i64, *word as i64)?;
    }
    let count: usize = entry.results.iter().map(words).sum();
    let results = machine.memory.piece(8 * count, AllocationKind::Raw, true);
    let before = (machine.memory.allocations, machine.memory.copied);
    let outcome = machine.call(low.entry, &[arguments, results]);
    let costs = Costs {
        allocations: machine.memory.allocations - before.0,
        copied: machine.memory.copied - before.1,
        steps: machine.steps,
    };
    let outcome = match outcome {
        Err(Trouble::Bug(bug)) => return Err(bug),
        Err(Trouble::Raised(error, operands, _)) => {
            return Ok((Err(code(&error, &operands)), costs))
        }
        Ok(_) => {
            let mut texts = Vec::new();
            let mut at = 0;
            for ty in &entry.results {
                let words = words_at(&machine, results, &mut at, ty)?;
                texts.push(text(&machine.take(flat, &words, ty)?));
                machine.drop_value(&words, ty)?;
            }
            Ok(texts)
        }
    };
    // The caller still has the arguments.
    for (words, ty) in &given {
        let block = words[0];
        if matches!(ty, FlatTy::Text | FlatTy::Box(_) | FlatTy::Array(..)) && block != 0 {
            let count = machine.memory.get(block, COUNT)?;
            if count != 1 && count >= 0 {
                return Err(format!("an argument has {count} references in the end"));
            }
        }
        machine.drop_value(words, ty)?;
    }
    for (i, counted) in low.constant_references.iter().enumerate() {
        if *counted {
            let block = machine.memory.get(machine.constants, 8 * i as i64)? as u64;
            machine.memory.release(block)?;
        }
    }
    if machine.memory.live != 0 {
        return Err(format!("{} blocks are left", machine.memory.live));
    }
    Ok((outcome, costs))
}

/// The code of the error, as that of the evaluator's errors.
fn code(error: &Raise, operands: &[u64]) -> String {
    use diffeo_calculus::prim::int;
    let op = |i: usize| operands[i] as i64;
    match error {
        Raise::Int(of) => match int::apply(*of, op(0), op(1)) {
            Err(kind) => kind.code().to_string(),
            Ok(_) => "an error without reason".to_string(),
        },
        Raise::Round(_) => "not-an-int".to_string(),
        Raise::Index => "index-out-of-bounds".to_string(),
        Raise::Slice => "slice-out-of-bounds".to_string(),
        Raise::Count if op(0) < 0 => "negative-count".to_string(),
        Raise::Count => "too-large".to_string(),
        Raise::Size(_) => "size-mismatch".to_string(),
        Raise::Rows => "irregular-rows".to_string(),
        Raise::Fail => "fail".to_string(),
        Raise::Shape(_) => "shape-mismatch".to_string(),
        Raise::Nan => "nan-derivative".to_string(),
        Raise::Order => "derivative-order".to_string(),
        Raise::Cycle(_) => "constant-cycle".to_string(),
        Raise::Memory => "memory".to_string(),
        Raise::Stopped => "stopped".to_string(),
    }
}

/// What the evaluator of Flat gives.
pub fn run_flat(flat: &Arc<Flat>, args: &[FlatValue]) -> Outcome {
    let mut evaluator =
        FlatEvaluator::new(Arc::clone(flat), diffeo_calculus::eval::Options::default());
    match evaluator.run(args.to_vec()) {
        Ok(results) => Ok(results.iter().map(text).collect()),
        Err(error) => Err(error.kind.code().to_string()),
    }
}

/// Runs a program on the evaluator and in Low, with arguments of both kinds, and compares; gives what it
/// cost in Low with arguments that are counted.
pub fn check(flat: &Arc<Flat>, args: &[FlatValue]) -> (Outcome, Costs) {
    check_with(flat, args, Splitting::NEVER)
}

/// The same, with loops done block by block.
pub fn check_with(flat: &Arc<Flat>, args: &[FlatValue], splitting: Splitting) -> (Outcome, Costs) {
    let low = lowered_with(flat, splitting);
    let expected = run_flat(flat, args);
    let run = |counted| match run_low(&low, args, counted) {
        Ok(result) => result,
        Err(bug) => panic!(
            "{bug}, of\n{}\n{}",
            diffeo_array::print::print_plain(flat),
            low::print::print(&low)
        ),
    };
    let (lent, _) = run(false);
    let (found, costs) = run(true);
    let program = || diffeo_array::print::print_plain(flat) + &low::print::print(&low);
    assert_eq!(expected, found, "{}", program());
    assert_eq!(expected, lent, "{}", program());
    (found, costs)
}
