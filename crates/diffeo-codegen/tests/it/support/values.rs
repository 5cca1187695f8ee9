//! Values of Flat in the memory of the interpreter and back; whole runs, compared with Flat's evaluator.

use super::memory::{Bug, Kind};
use super::{Machine, Trouble};
use diffeo_array::eval::Evaluator;
use diffeo_array::ir::{Elem, Module as Flat, Ty};
use diffeo_array::typing::param_types;
use diffeo_array::value::{Array, Data, Value};
use diffeo_codegen::low::{Module, Raise, COUNT, DATA, FIELDS};
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
fn words(ty: &Ty) -> usize {
    match ty {
        Ty::Real | Ty::Int | Ty::Bool | Ty::Text | Ty::Box(_) | Ty::Stack(_) => 1,
        Ty::Array(_, rank) | Ty::Acc(rank) => 2 + usize::from(*rank),
    }
}

fn width(elem: Elem) -> usize {
    if elem == Elem::Bool {
        1
    } else {
        8
    }
}

impl Machine<'_> {
    /// Puts a value into memory. Arrays are counted or belong to the caller, by `counted`.
    pub fn give(
        &mut self,
        flat: &Flat,
        value: &Value,
        ty: &Ty,
        counted: bool,
    ) -> Result<Vec<u64>, Bug> {
        Ok(match (value, ty) {
            (Value::Real(x), _) => vec![x.to_bits()],
            (Value::Int(n), _) => vec![*n as u64],
            (Value::Bool(b), _) => vec![u64::from(*b)],
            (Value::Text(text), _) => vec![self.memory.new_text(text)?],
            (Value::Null, _) => vec![0],
            (Value::Box(object), Ty::Box(id)) => {
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
            (Value::Array(array), Ty::Array(elem, _)) => {
                let bytes = width(*elem) * array.count();
                let counted = counted || matches!(elem, Elem::Text | Elem::Box(_));
                let (block, data) = if counted {
                    let layout = if matches!(elem, Elem::Text | Elem::Box(_)) { 2 } else { 0 };
                    let block = self.memory.array(layout, bytes as i64, false)?;
                    (block, block + DATA as u64)
                } else {
                    (0, self.memory.piece(bytes, Kind::Raw, false))
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
    pub fn take(&self, flat: &Flat, words: &[u64], ty: &Ty) -> Result<Value, Bug> {
        Ok(match ty {
            Ty::Real => Value::Real(f64::from_bits(words[0])),
            Ty::Int => Value::Int(words[0] as i64),
            Ty::Bool => Value::Bool(words[0] & 0xFF != 0),
            Ty::Text if words[0] == 0 => Value::Null,
            Ty::Text => Value::text(&self.memory.text(words[0])?),
            Ty::Box(_) if words[0] == 0 => Value::Null,
            Ty::Box(id) => {
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
                Value::object(tag as u32, fields)
            }
            Ty::Array(elem, _) => {
                let sizes: Vec<i64> = words[2..].iter().map(|word| *word as i64).collect();
                let count: i64 = sizes.iter().map(|size| (*size).max(0)).product();
                let mut elements = Vec::new();
                for i in 0..count {
                    let at = words[1] + i as u64 * width(*elem) as u64;
                    let mut word = [0; 8];
                    word[..width(*elem)].copy_from_slice(self.memory.read(at, width(*elem))?);
                    elements.push(self.take(flat, &[u64::from_le_bytes(word)], &elem.ty())?);
                }
                Value::array(Array::new(&sizes, data(*elem, elements)).ok_or("other sizes")?)
            }
            Ty::Acc(_) | Ty::Stack(_) => return Err("no value".to_string()),
        })
    }

    /// Gives up a value.
    pub fn drop_value(&mut self, words: &[u64], ty: &Ty) -> Result<(), Bug> {
        match ty {
            Ty::Real | Ty::Int | Ty::Bool => Ok(()),
            Ty::Text | Ty::Array(..) | Ty::Box(_) | Ty::Acc(_) | Ty::Stack(_) => {
                self.memory.release(words[0])
            }
        }
    }
}

/// The words of a value that lies there.
fn words_at(machine: &Machine, block: u64, at: &mut i64, ty: &Ty) -> Result<Vec<u64>, Bug> {
    let mut found = Vec::new();
    for _ in 0..words(ty) {
        found.push(match ty {
            // The rest of its word was perhaps never written.
            Ty::Bool => u64::from(machine.memory.read(block + *at as u64, 1)?[0]),
            Ty::Real
            | Ty::Int
            | Ty::Text
            | Ty::Array(..)
            | Ty::Box(_)
            | Ty::Acc(_)
            | Ty::Stack(_) => machine.memory.get(block, *at)? as u64,
        });
        *at += 8;
    }
    Ok(found)
}

fn data(elem: Elem, elements: Vec<Value>) -> Data {
    match elem {
        Elem::Real => Data::Reals(elements.iter().filter_map(real).collect::<Vec<_>>().into()),
        Elem::Int => Data::Ints(elements.iter().filter_map(int).collect::<Vec<_>>().into()),
        Elem::Bool => Data::Bools(elements.iter().filter_map(truth).collect::<Vec<_>>().into()),
        Elem::Text | Elem::Box(_) => Data::Values(elements.into()),
    }
}

fn real(value: &Value) -> Option<f64> {
    if let Value::Real(x) = value {
        Some(*x)
    } else {
        None
    }
}

fn int(value: &Value) -> Option<i64> {
    if let Value::Int(n) = value {
        Some(*n)
    } else {
        None
    }
}

fn truth(value: &Value) -> Option<bool> {
    if let Value::Bool(b) = value {
        Some(*b)
    } else {
        None
    }
}

/// A value as text, the same for the same value.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    let _ = match value {
        // The sign and the payload of nan mean nothing.
        Value::Real(x) if x.is_nan() => write!(out, "nan"),
        Value::Real(x) => write!(out, "{x:?}"),
        Value::Int(n) => write!(out, "{n}"),
        Value::Bool(b) => write!(out, "{b}"),
        Value::Text(text) => write!(out, "{text:?}"),
        Value::Array(array) => {
            let _ = write!(out, "{:?}[", array.sizes());
            for i in 0..array.count() {
                write(&array.element(i), out);
                out.push(' ');
            }
            write!(out, "]")
        }
        Value::Box(object) => {
            let _ = write!(out, "#{}(", object.tag);
            for field in &object.fields {
                stacker::maybe_grow(1 << 20, 8 << 20, || write(field, out));
                out.push(' ');
            }
            write!(out, ")")
        }
        Value::Null => write!(out, "null"),
        Value::Acc(_) | Value::Stack(_) => write!(out, "?"),
    };
}

/// What a program gives: the texts of its results, or the code of its error.
pub type Outcome = Result<Vec<String>, String>;

/// Lowers a module, without loops done block by block, and complains if the result does not lint.
pub fn lowered(flat: &Arc<Flat>) -> Module {
    lowered_with(flat, Splitting::NEVER)
}

fn lowered_with(flat: &Arc<Flat>, splitting: Splitting) -> Module {
    let reuse = splitting != Splitting::NEVER;
    let mut options = memory::Options { splitting, reuse, ..memory::Options::default() };
    if reuse {
        options.long = 8;
    }
    let low = memory::lower_with(Arc::clone(flat), options);
    let errors = low::lint::lint(&low);
    assert!(errors.is_empty(), "{}\n{}", errors.join("\n"), low::print::print(&low));
    low
}

/// Runs a program of Low on a memory that checks; every block must be gone in the end.
pub fn run_low(low: &Module, args: &[Value], counted: bool) -> Result<(Outcome, Costs), Bug> {
    let flat = &*low.flat;
    let entry = &flat.functions[flat.entry.0 as usize];
    let mut machine = Machine::new(low)?;
    let mut given = Vec::new();
    for (arg, ty) in args.iter().zip(param_types(entry)) {
        given.push((machine.give(flat, arg, &ty, counted)?, ty));
    }
    let arg_words: Vec<u64> = given.iter().flat_map(|(words, _)| words.clone()).collect();
    let arguments = machine.memory.piece(8 * arg_words.len(), Kind::Raw, true);
    for (i, word) in arg_words.iter().enumerate() {
        machine.memory.put(arguments, 8 * i as i64, *word as i64)?;
    }
    let count: usize = entry.results.iter().map(words).sum();
    let results = machine.memory.piece(8 * count, Kind::Raw, true);
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
        if matches!(ty, Ty::Text | Ty::Box(_) | Ty::Array(..)) && block != 0 {
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
pub fn run_flat(flat: &Arc<Flat>, args: &[Value]) -> Outcome {
    let mut evaluator = Evaluator::new(Arc::clone(flat), diffeo_calculus::eval::Options::default());
    match evaluator.run(args.to_vec()) {
        Ok(results) => Ok(results.iter().map(text).collect()),
        Err(error) => Err(error.kind.code().to_string()),
    }
}

/// Runs a program on the evaluator and in Low, with arguments of both kinds, and compares; gives what it
/// cost in Low with arguments that are counted.
pub fn check(flat: &Arc<Flat>, args: &[Value]) -> (Outcome, Costs) {
    check_with(flat, args, Splitting::NEVER)
}

/// The same, with loops done block by block.
pub fn check_with(flat: &Arc<Flat>, args: &[Value], splitting: Splitting) -> (Outcome, Costs) {
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
