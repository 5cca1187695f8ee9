//! Sparse adjoints, called bags: adjoints as values, of arrays of boxes, and of arrays of Reals whose origin is not
//! known, such as those in boxes, or those that a branch chooses.
//!
//! A read of an element adds to the adjoint of that element alone, and a loop may read one in each of its steps. So
//! such an adjoint is a *bag* of what is added to it: a box with
//!
//! | tag | | what it is |
//! |---|---|---|
//! | 0 | `All(array)` | the adjoint of every element |
//! | 1 | `Part(index, adjoint, bag)` | that of the element there, or of the rows there (a bag again), and a bag of the rest |
//! | 2 | `From(lo, bag, bag)` | that of the elements from `lo` on, and a bag of the rest |
//! | 3 | `Both(bag, bag)` | the sum |
//! | 4 | `Zero` | |
//!
//! Additions to `All` are in place: no other bag holds an `All` of the same array. Every other variant is scattered into
//! an array or an accumulator once, where the array was made. So the total time is that of the reads plus that of the
//! allocation.

use super::helpers::{complete, declare, Helper};
use super::sum::sum;
use super::Deriver;
use crate::build::Builder;
use crate::ir::{
    Atom, BoxId, BoxType, Carried, Elem, FlatTy, FunctionId, Module, Op, Scalar, SiteId, Var,
    Variant,
};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, IntOp};

const ALL: u32 = 0;
const PART: u32 = 1;
const FROM: u32 = 2;
const BOTH: u32 = 3;
const ZERO: u32 = 4;

/// What operations are added to.
pub(super) type AdjointCx<'a> = (&'a mut Builder, &'a mut Module, &'a mut Deriver);

/// The type of the adjoints of arrays of this rank of elements whose adjoints are of this type.
pub(super) fn bag(module: &mut Module, cache: &mut Deriver, element: Elem, rank: u8) -> BoxId {
    if let Some(known) = cache.bags.get(&(element, rank)) {
        return *known;
    }
    let rows = match rank {
        0 | 1 => element.ty(),
        _ => FlatTy::Box(bag(module, cache, element, rank - 1)),
    };
    let made = BoxId(module.boxes.len() as u32);
    let variant = |name, fields: Vec<FlatTy>| Variant { name: Name::new(name), fields };
    let variants = vec![
        variant("All", vec![FlatTy::Array(element, rank)]),
        variant("Part", vec![FlatTy::Int, rows, FlatTy::Box(made)]),
        variant("From", vec![FlatTy::Int, FlatTy::Box(made), FlatTy::Box(made)]),
        variant("Both", vec![FlatTy::Box(made), FlatTy::Box(made)]),
        variant("Zero", Vec::new()),
    ];
    let name = match element {
        Elem::Box(id) => Name::from(format!("{} bag", module.boxes[id.0 as usize].name)),
        Elem::Real | Elem::Int | Elem::Bool | Elem::Text => Name::from(format!("bag {rank}")),
    };
    module.boxes.push(BoxType { name, variants });
    cache.bags.insert((element, rank), made);
    cache.bag_types.insert(made, (element, rank));
    made
}

/// The bag in which all is zero.
pub(super) fn nothing(b: &mut Builder, module: &Module, bag: BoxId) -> Atom {
    b.one(module, Op::New(bag, ZERO, Vec::new()))
}

/// The bag of the adjoints of all elements.
pub(super) fn all(b: &mut Builder, module: &Module, bag: BoxId, array: Atom) -> Atom {
    b.one(module, Op::New(bag, ALL, vec![array]))
}

/// A bag, if it is not zero, and the adjoint of the element, or the rows, at these indices.
pub(super) fn part(
    cx: AdjointCx<'_>,
    bag: BoxId,
    old: Option<Atom>,
    at: &[Atom],
    of: Atom,
) -> Atom {
    let sum = |cx: AdjointCx<'_>, old: Atom| sum(cx.0, cx.1, cx.2, [old, of.clone()]);
    part_by(cx, bag, (old, at), of.clone(), &sum)
}

/// The same, where something adds it to the adjoint of an element.
pub(super) fn part_by(
    (b, module, cache): AdjointCx<'_>,
    bag: BoxId,
    (old, at): (Option<Atom>, &[Atom]),
    of: Atom,
    sum: &dyn Fn(AdjointCx<'_>, Atom) -> Atom,
) -> Atom {
    let Some((first, rest)) = at.split_first() else { return of };
    let (_, rank) = cache.bag_types.get(&bag).copied().unwrap_or((Elem::Real, 1));
    let new = |(b, module, cache): AdjointCx<'_>, old: Atom| {
        let of = match module.boxes[bag.0 as usize].variants[PART as usize].fields[1] {
            FlatTy::Box(rows) if rank > 1 => part((b, module, cache), rows, None, rest, of.clone()),
            _ => of.clone(),
        };
        b.one(module, Op::New(bag, PART, vec![first.clone(), of, old]))
    };
    let Some(old) = old else {
        let old = nothing(b, module, bag);
        return new((b, module, cache), old);
    };
    let cond = has_tag(b, module, &old, ALL);
    b.open();
    let mut array = field(b, module, &old, ALL, 0);
    array = match b.ty(&of) {
        FlatTy::Box(rows) if usize::from(rank) > at.len() => {
            let put = put_function(module, cache, rows, at.len() as u8);
            let args =
                [array].into_iter().chain(at.iter().cloned()).chain([of.clone(), Atom::Int(0)]);
            b.one(module, Op::Call(put, args.collect()))
        }
        _ => {
            let element = b.one(module, Op::Get(array.clone(), at.to_vec()));
            let value = sum((&mut *b, &mut *module, &mut *cache), element);
            b.one(module, Op::Update { array, indices: at.to_vec(), value })
        }
    };
    let made = all(b, module, bag, array);
    let then = b.close(vec![made]);
    b.open();
    let made = new((b, module, cache), old.clone());
    let otherwise = b.close(vec![made]);
    b.one(module, Op::If { cond, then, otherwise })
}

/// A bag, if it is not zero, and the adjoint of a slice that begins there.
pub(super) fn from(
    (b, module, cache): AdjointCx<'_>,
    bag: BoxId,
    old: Option<Atom>,
    lo: Atom,
    slice: Atom,
) -> Atom {
    let Some(old) = old else {
        let old = nothing(b, module, bag);
        return b.one(module, Op::New(bag, FROM, vec![lo, slice, old]));
    };
    let cond = has_tag(b, module, &old, ALL);
    b.open();
    let array = field(b, module, &old, ALL, 0);
    let put = put_function(module, cache, bag, 0);
    let array = b.one(module, Op::Call(put, vec![array, slice.clone(), lo.clone()]));
    let made = all(b, module, bag, array);
    let then = b.close(vec![made]);
    let otherwise = b.block(|b| vec![b.one(module, Op::New(bag, FROM, vec![lo, slice, old]))]);
    b.one(module, Op::If { cond, then, otherwise })
}

/// The adjoints of all elements of an array of these sizes.
pub(super) fn unfold((b, module, cache): AdjointCx<'_>, of: &Atom, sizes: &[Atom]) -> Atom {
    let FlatTy::Box(bag) = b.ty(of) else { return of.clone() };
    let cond = has_tag(b, module, of, ALL);
    b.open();
    let array = field(b, module, of, ALL, 0);
    let then = b.close(vec![array]);
    b.open();
    let array = zeros(b, module, cache, bag, sizes);
    let put = put_function(module, cache, bag, 0);
    let array = b.one(module, Op::Call(put, vec![array, of.clone(), Atom::Int(0)]));
    let otherwise = b.close(vec![array]);
    b.one(module, Op::If { cond, then, otherwise })
}

/// The adjoint of an element that is zero, of arrays whose adjoints are of this type.
pub(super) fn zero_element(b: &mut Builder, module: &Module, cache: &Deriver, bag: BoxId) -> Atom {
    match cache.bag_types.get(&bag) {
        Some((Elem::Box(element), _)) => {
            let zero = (module.boxes[element.0 as usize].variants.len() as u32).saturating_sub(1);
            b.one(module, Op::New(*element, zero, Vec::new()))
        }
        Some((Elem::Real | Elem::Int | Elem::Bool | Elem::Text, _)) | None => Atom::Real(0.0),
    }
}

/// An array of zeros.
pub(super) fn zeros(
    b: &mut Builder,
    module: &Module,
    cache: &Deriver,
    bag: BoxId,
    sizes: &[Atom],
) -> Atom {
    let Some((count, rest)) = sizes.split_first() else {
        return zero_element(b, module, cache, bag);
    };
    let count = b.one(module, Op::IntFits(IntOp::Max, vec![count.clone(), Atom::Int(0)]));
    let index = b.var(FlatTy::Int, None);
    b.open();
    let element = zeros(b, module, cache, bag, rest);
    let body = b.close(vec![element]);
    b.one(module, Op::Build { count, index, body })
}

fn has_tag(b: &mut Builder, module: &Module, object: &Atom, tag: u32) -> Atom {
    let found = b.one(module, Op::Tag(object.clone()));
    b.one(module, Op::Compare(Comparison::Eq, Scalar::Int, found, Atom::Int(i64::from(tag))))
}

fn field(b: &mut Builder, module: &Module, object: &Atom, tag: u32, index: u32) -> Atom {
    b.one(module, Op::Field { object: object.clone(), tag, index })
}

fn shifted(b: &mut Builder, module: &Module, lo: &Atom, by: Atom) -> Atom {
    b.one(module, Op::IntFits(IntOp::Add, vec![lo.clone(), by]))
}

/// The sum of two bags.
pub(super) fn both((b, module, cache): AdjointCx<'_>, bag: BoxId, [x, y]: [&Atom; 2]) -> Atom {
    let put = put_function(module, cache, bag, 0);
    let into = |b: &mut Builder, module: &Module, x: &Atom, y: &Atom| {
        let array = field(b, module, x, ALL, 0);
        let array = b.one(module, Op::Call(put, vec![array, y.clone(), Atom::Int(0)]));
        all(b, module, bag, array)
    };
    let zero = has_tag(b, module, y, ZERO);
    let same = b.block(|_| vec![x.clone()]);
    b.open();
    let on = b.one(module, Op::Tag(x.clone()));
    b.open();
    let made = into(b, module, x, y);
    let first = b.close(vec![made]);
    let other = b.block(|_| vec![y.clone()]);
    b.open();
    let whole = has_tag(b, module, y, ALL);
    b.open();
    let made = into(b, module, y, x);
    let then = b.close(vec![made]);
    b.open();
    let made = b.one(module, Op::New(bag, BOTH, vec![x.clone(), y.clone()]));
    let otherwise = b.close(vec![made]);
    let made = b.one(module, Op::If { cond: whole, then, otherwise });
    let default = Some(b.close(vec![made]));
    let arms = vec![(i64::from(ALL), first), (i64::from(ZERO), other)];
    let made = b.one(module, Op::Switch { on, arms, default });
    let otherwise = b.close(vec![made]);
    b.one(module, Op::If { cond: zero, then: same, otherwise })
}

/// The function that adds a bag to an array, of whose indices so many come first: of the array, those indices, the
/// bag, and the index that its elements begin at, it gives the array.
fn put_function(module: &mut Module, cache: &mut Deriver, bag: BoxId, before: u8) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::AddToArray(bag, before)) {
        return *known;
    }
    let (element, rank) = cache.bag_types.get(&bag).copied().unwrap_or((Elem::Real, 1));
    let name = Name::from(format!("{}.put.{}.{before}", module.boxes[bag.0 as usize].name, bag.0));
    let mut b = Builder::new(SiteId(0));
    let ty = FlatTy::Array(element, rank + before);
    let first = b.param(ty.clone(), Some("array".into()));
    let prefix: Vec<Atom> = (0..before).map(|_| b.param(FlatTy::Int, None)).collect();
    let of = b.param(FlatTy::Box(bag), Some("bag".into()));
    let lo = b.param(FlatTy::Int, Some("lo".into()));
    let function = declare(module, &b, name, vec![ty.clone()]);
    cache.helpers.insert(Helper::AddToArray(bag, before), function);
    let call = |array: Atom, of: Atom, lo: Atom| {
        let args = [array].into_iter().chain(prefix.iter().cloned()).chain([of, lo]);
        Op::Call(function, args.collect())
    };
    let array = b.var(ty, Some("array".into()));
    let made =
        walk((&mut b, module, cache), (of, bag), Some((array, first)), &mut |cx, tag, at| {
            let (b, module, cache) = cx;
            let array = Atom::Var(array);
            match tag {
                ALL => {
                    let other = field(b, module, at, ALL, 0);
                    let place = (prefix.clone(), lo.clone());
                    Some(put_all((b, module, cache), array, &other, place, (rank, &[])))
                }
                PART => {
                    let index = field(b, module, at, PART, 0);
                    let part = field(b, module, at, PART, 1);
                    let mut indices = prefix.clone();
                    indices.push(shifted(b, module, &lo, index));
                    Some(match b.ty(&part) {
                        FlatTy::Box(rows) if rank > 1 => {
                            let put = put_function(module, cache, rows, before + 1);
                            let args =
                                [array].into_iter().chain(indices).chain([part, Atom::Int(0)]);
                            b.one(module, Op::Call(put, args.collect()))
                        }
                        _ => add(b, module, cache, array, indices, part),
                    })
                }
                FROM => {
                    let by = field(b, module, at, FROM, 0);
                    let slice = field(b, module, at, FROM, 1);
                    let by = shifted(b, module, &lo, by);
                    Some(b.one(module, call(array, slice, by)))
                }
                _ => {
                    let first = field(b, module, at, BOTH, 0);
                    Some(b.one(module, call(array, first, lo.clone())))
                }
            }
        });
    complete(module, function, b, made.into_iter().collect());
    function
}

/// The function that adds a bag to an accumulator: of the accumulator, the bag, and the index that its elements begin
/// at.
pub(super) fn scatter_function(module: &mut Module, cache: &mut Deriver, bag: BoxId) -> FunctionId {
    if let Some(known) = cache.helpers.get(&Helper::Scatter(bag)) {
        return *known;
    }
    let (_, rank) = cache.bag_types.get(&bag).copied().unwrap_or((Elem::Real, 1));
    let name = Name::from(format!("{}.scatter.{}", module.boxes[bag.0 as usize].name, bag.0));
    let mut b = Builder::new(SiteId(0));
    let acc = b.param(FlatTy::Acc(rank), Some("acc".into()));
    let of = b.param(FlatTy::Box(bag), Some("bag".into()));
    let lo = b.param(FlatTy::Int, Some("lo".into()));
    let function = declare(module, &b, name, Vec::new());
    cache.helpers.insert(Helper::Scatter(bag), function);
    walk((&mut b, module, cache), (of, bag), None, &mut |cx, tag, at| {
        let (b, module, cache) = cx;
        match tag {
            ALL => {
                let array = field(b, module, at, ALL, 0);
                let count = b.one(module, Op::Dim(array.clone(), 0));
                let some = Op::Compare(Comparison::Gt, Scalar::Int, count.clone(), Atom::Int(0));
                let cond = b.one(module, some);
                b.open();
                let hi = shifted(b, module, &lo, count);
                let part = Op::AccSlice { acc: acc.clone(), lo: lo.clone(), hi };
                let part = b.one(module, part);
                b.emit(module, Op::AccAddArray(part, array));
                let then = b.close(Vec::new());
                b.emit(module, Op::If { cond, then, otherwise: Default::default() });
            }
            PART => {
                let index = field(b, module, at, PART, 0);
                let part = field(b, module, at, PART, 1);
                let index = shifted(b, module, &lo, index);
                match b.ty(&part) {
                    FlatTy::Box(rows) => {
                        let scatter = scatter_function(module, cache, rows);
                        let row = b.one(module, Op::AccView(acc.clone(), vec![index]));
                        b.emit(module, Op::Call(scatter, vec![row, part, Atom::Int(0)]));
                    }
                    _ => {
                        b.emit(module, Op::AccAdd(acc.clone(), vec![index], part));
                    }
                }
            }
            FROM => {
                let by = field(b, module, at, FROM, 0);
                let slice = field(b, module, at, FROM, 1);
                let by = shifted(b, module, &lo, by);
                b.emit(module, Op::Call(function, vec![acc.clone(), slice, by]));
            }
            _ => {
                let first = field(b, module, at, BOTH, 0);
                b.emit(module, Op::Call(function, vec![acc.clone(), first, lo.clone()]));
            }
        }
        None
    });
    complete(module, function, b, Vec::new());
    function
}

/// Goes over all that is in a bag: what is done with each, by its tag, gives the state, if there is one.
fn walk(
    (b, module, cache): AdjointCx<'_>,
    (of, bag): (Atom, BoxId),
    state: Option<(Var, Atom)>,
    each: &mut dyn FnMut(AdjointCx<'_>, u32, &Atom) -> Option<Atom>,
) -> Option<Atom> {
    let rest = b.var(FlatTy::Box(bag), Some("rest".into()));
    let at = Atom::Var(rest);
    let zero = nothing(b, module, bag);
    b.open();
    let tag = b.one(module, Op::Tag(at.clone()));
    let op = Op::Compare(Comparison::Ne, Scalar::Int, tag, Atom::Int(i64::from(ZERO)));
    let more = b.one(module, op);
    let cond = b.close(vec![more]);
    b.open();
    let on = b.one(module, Op::Tag(at.clone()));
    let mut blocks = Vec::new();
    // Which field is the rest.
    for (tag, next) in [(ALL, None), (PART, Some(2)), (FROM, Some(2)), (BOTH, Some(1))] {
        b.open();
        let made = each((&mut *b, &mut *module, &mut *cache), tag, &at);
        let next = match next {
            Some(index) => field(b, module, &at, tag, index),
            None => zero.clone(),
        };
        blocks.push(b.close([next].into_iter().chain(made).collect()));
    }
    let default = blocks.pop();
    let arms = (0..).zip(blocks).collect();
    let next = b.emit(module, Op::Switch { on, arms, default });
    let body = b.close(next);
    let mut carried = vec![Carried { param: rest, init: of }];
    carried.extend(state.map(|(param, init)| Carried { param, init }));
    b.emit(module, Op::While { carried, cond, body }).into_iter().nth(1)
}

/// Adds to an element of an array.
fn add(
    b: &mut Builder,
    module: &mut Module,
    cache: &mut Deriver,
    array: Atom,
    indices: Vec<Atom>,
    part: Atom,
) -> Atom {
    let old = b.one(module, Op::Get(array.clone(), indices.clone()));
    let value = sum(b, module, cache, [old, part]);
    b.one(module, Op::Update { array, indices, value })
}

/// Adds all elements of an array to those of another one that begin there. The indices of the other one so far.
fn put_all(
    (b, module, cache): AdjointCx<'_>,
    array: Atom,
    other: &Atom,
    (prefix, lo): (Vec<Atom>, Atom),
    (rank, at): (u8, &[Atom]),
) -> Atom {
    if usize::from(rank) == at.len() {
        let part = b.one(module, Op::Get(other.clone(), at.to_vec()));
        return add(b, module, cache, array, prefix, part);
    }
    let count = b.one(module, Op::Dim(other.clone(), at.len() as u8));
    let (index, param) = (b.var(FlatTy::Int, None), b.var(b.ty(&array), None));
    b.open();
    let mut next = prefix;
    next.push(shifted(b, module, &lo, Atom::Var(index)));
    let at = [at, &[Atom::Var(index)]].concat();
    let cx = (&mut *b, &mut *module, &mut *cache);
    let made = put_all(cx, Atom::Var(param), other, (next, Atom::Int(0)), (rank, &at));
    let body = b.close(vec![made]);
    let carried = vec![Carried { param, init: array }];
    b.one(module, Op::For { count, index, carried, body })
}
