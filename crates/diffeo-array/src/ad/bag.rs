//! Adjoints of arrays of boxes.
//!
//! What reads an element of an array adds to the adjoint of that element alone, and a loop may do so in each of its
//! steps. So the adjoint of an array of boxes is a *bag* of what is added to it: a box with
//!
//! | tag | | what it is |
//! |---|---|---|
//! | 0 | `All(array)` | the adjoint of every element |
//! | 1 | `Part(index, adjoint)` | of the element there, or of the rows there: a bag again |
//! | 2 | `From(lo, bag)` | of the elements from `lo` on |
//! | 3 | `Both(bag, bag)` | the sum |
//! | 4 | `Zero` | |
//!
//! What is added to `All` is put into its array, in place. Everything else is, once, where the array was made: so all
//! of it takes no longer than the reads did, and the making of the array.

use super::reverse::sum;
use super::Deriver;
use crate::build::Builder;
use crate::ir::{
    Atom, BoxId, BoxType, Carried, Elem, FunctionId, Module, Op, Scalar, SiteId, Ty, Variant,
};
use diffeo_base::Name;
use diffeo_calculus::prim::{Comparison, IntOp};

const ALL: u32 = 0;
const PART: u32 = 1;
const FROM: u32 = 2;
const BOTH: u32 = 3;
const ZERO: u32 = 4;

/// What operations are added to.
type Cx<'a> = (&'a mut Builder, &'a mut Module, &'a mut Deriver);

/// The type of the adjoints of arrays of this rank of boxes whose adjoints are of this type.
pub(super) fn bag(module: &mut Module, cache: &mut Deriver, element: BoxId, rank: u8) -> BoxId {
    if let Some(known) = cache.bags.get(&(element, rank)) {
        return *known;
    }
    let rows = if rank > 1 { bag(module, cache, element, rank - 1) } else { element };
    let made = BoxId(module.boxes.len() as u32);
    let variant = |name, fields: Vec<Ty>| Variant { name: Name::new(name), fields };
    let variants = vec![
        variant("All", vec![Ty::Array(Elem::Box(element), rank)]),
        variant("Part", vec![Ty::Int, Ty::Box(rows)]),
        variant("From", vec![Ty::Int, Ty::Box(made)]),
        variant("Both", vec![Ty::Box(made), Ty::Box(made)]),
        variant("Zero", Vec::new()),
    ];
    let name = Name::from(format!("{} bag", module.boxes[element.0 as usize].name));
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

/// The bag of an adjoint of the element, or the rows, at these indices.
pub(super) fn part((b, module, cache): Cx<'_>, bag: BoxId, at: &[Atom], of: Atom) -> Atom {
    let Some((first, rest)) = at.split_first() else { return of };
    let rows = match module.boxes[bag.0 as usize].variants[PART as usize].fields[1] {
        Ty::Box(rows) => rows,
        _ => bag,
    };
    let of = part((b, module, cache), rows, rest, of);
    b.one(module, Op::New(bag, PART, vec![first.clone(), of]))
}

/// The bag of the adjoint of a slice that begins there.
pub(super) fn from(b: &mut Builder, module: &Module, bag: BoxId, lo: Atom, slice: Atom) -> Atom {
    b.one(module, Op::New(bag, FROM, vec![lo, slice]))
}

/// The adjoints of all elements of an array of these sizes.
pub(super) fn unfold((b, module, cache): Cx<'_>, of: &Atom, sizes: &[Atom]) -> Atom {
    let Ty::Box(bag) = b.ty(of) else { return of.clone() };
    let cond = has_tag(b, module, of, ALL);
    b.open();
    let array = field(b, module, of, ALL, 0);
    let then = b.close(vec![array]);
    b.open();
    let array = zeros(b, module, cache, bag, sizes);
    let put = putter(module, cache, bag, 0);
    let array = b.one(module, Op::Call(put, vec![array, of.clone(), Atom::Int(0)]));
    let otherwise = b.close(vec![array]);
    b.one(module, Op::If { cond, then, otherwise })
}

/// The adjoint of an element that is zero, of arrays whose adjoints are of this type.
pub(super) fn zero_element(b: &mut Builder, module: &Module, cache: &Deriver, bag: BoxId) -> Atom {
    let element = cache.bag_types.get(&bag).map_or(bag, |(element, _)| *element);
    let zero = (module.boxes[element.0 as usize].variants.len() as u32).saturating_sub(1);
    b.one(module, Op::New(element, zero, Vec::new()))
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
    let index = b.var(Ty::Int, None);
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
pub(super) fn both((b, module, cache): Cx<'_>, bag: BoxId, [x, y]: [&Atom; 2]) -> Atom {
    let put = putter(module, cache, bag, 0);
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
fn putter(module: &mut Module, cache: &mut Deriver, bag: BoxId, before: u8) -> FunctionId {
    if let Some(known) = cache.putters.get(&(bag, before)) {
        return *known;
    }
    let (element, rank) = cache.bag_types.get(&bag).copied().unwrap_or((bag, 1));
    let name = Name::from(format!("{}.put.{}.{before}", module.boxes[bag.0 as usize].name, bag.0));
    let mut b = Builder::new(SiteId(0));
    let ty = Ty::Array(Elem::Box(element), rank + before);
    let array = b.param(ty.clone(), Some("array".into()));
    let prefix: Vec<Atom> = (0..before).map(|_| b.param(Ty::Int, None)).collect();
    let of = b.param(Ty::Box(bag), Some("bag".into()));
    let lo = b.param(Ty::Int, Some("lo".into()));
    let function = FunctionId(module.functions.len() as u32);
    if let Ok(mut declared) = b.clone().finish(name.clone(), vec![Atom::Unused(ty)]) {
        (declared.shown, declared.library) = (Name::new(""), true);
        module.functions.push(declared);
    }
    cache.putters.insert((bag, before), function);
    let call = |array: Atom, of: Atom, lo: Atom| {
        let args = [array].into_iter().chain(prefix.iter().cloned()).chain([of, lo]);
        Op::Call(function, args.collect())
    };
    let on = b.one(module, Op::Tag(of.clone()));
    let mut arms = Vec::new();

    b.open();
    let other = field(&mut b, module, &of, ALL, 0);
    let place = (prefix.clone(), lo.clone());
    let made = put_all((&mut b, module, cache), array.clone(), &other, place, (rank, &[]));
    arms.push((i64::from(ALL), b.close(vec![made])));

    b.open();
    let index = field(&mut b, module, &of, PART, 0);
    let part = field(&mut b, module, &of, PART, 1);
    let mut at = prefix.clone();
    at.push(shifted(&mut b, module, &lo, index));
    let made = match b.ty(&part) {
        Ty::Box(rows) if rank > 1 => {
            let put = putter(module, cache, rows, before + 1);
            let mut args = vec![array.clone()];
            args.extend(at);
            args.extend([part, Atom::Int(0)]);
            b.one(module, Op::Call(put, args))
        }
        _ => add(&mut b, module, cache, array.clone(), at, part),
    };
    arms.push((i64::from(PART), b.close(vec![made])));

    b.open();
    let by = field(&mut b, module, &of, FROM, 0);
    let slice = field(&mut b, module, &of, FROM, 1);
    let by = shifted(&mut b, module, &lo, by);
    let made = b.one(module, call(array.clone(), slice, by));
    arms.push((i64::from(FROM), b.close(vec![made])));

    b.open();
    let [x, y] = [0, 1].map(|index| field(&mut b, module, &of, BOTH, index));
    let made = b.one(module, call(array.clone(), x, lo.clone()));
    let made = b.one(module, call(made, y, lo.clone()));
    arms.push((i64::from(BOTH), b.close(vec![made])));

    let default = Some(b.block(|_| vec![array.clone()]));
    let made = b.one(module, Op::Switch { on, arms, default });
    if let Ok(made) = b.finish(name, vec![made]) {
        let declared = &mut module.functions[function.0 as usize];
        (declared.vars, declared.body) = (made.vars, made.body);
    }
    function
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
    (b, module, cache): Cx<'_>,
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
    let (index, param) = (b.var(Ty::Int, None), b.var(b.ty(&array), None));
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
