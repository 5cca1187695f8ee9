//! Tests of arrays: regularity, views, updates in place, and agreement with plain vectors.

use super::{Array, ArrayBuilder, Column};
use crate::eval::error::ErrorKind;
use crate::value::Value;
use proptest::prelude::*;

fn reals(xs: &[f64]) -> Value {
    Value::array(Array::from_reals(xs.to_vec()))
}

fn array(elements: impl IntoIterator<Item = Value>) -> Array {
    Array::from_values(elements).unwrap()
}

fn rows(xs: &[&[f64]]) -> Array {
    array(xs.iter().map(|x| reals(x)))
}

fn dual(primal: f64) -> Value {
    Value::Dual { level: 1, id: 1, primal }
}

fn irregular(result: Result<Array, ErrorKind>) -> (usize, usize) {
    match result {
        Err(ErrorKind::IrregularRows { expected, found }) => (expected, found),
        other => panic!("{other:?}"),
    }
}

fn size_mismatch(result: Result<(), ErrorKind>) -> (usize, usize) {
    match result {
        Err(ErrorKind::SizeMismatch { expected, found, .. }) => (expected, found),
        other => panic!("{other:?}"),
    }
}

/// The elements as text, active reals with a mark.
fn text(value: &Value) -> String {
    match value {
        Value::Real(x) => format!("{x}"),
        Value::Dual { primal, .. } => format!("{primal}'"),
        Value::Int(n) => format!("{n}i"),
        Value::Bool(b) => format!("{b}"),
        Value::String(s) => format!("{s:?}"),
        Value::Tuple(t) => format!("({})", texts(t.0.iter())),
        Value::Data(d) => format!("C{}({})", d.tag, texts(d.fields.iter())),
        Value::Array(a) => format!("[{}]", texts(a.iter().collect::<Vec<_>>().iter())),
        other => format!("{other:?}"),
    }
}

fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    values.map(text).collect::<Vec<_>>().join(" ")
}

fn show(a: &Array) -> String {
    text(&Value::array(a.clone()))
}

#[test]
fn rows_of_different_length_are_found() {
    assert_eq!(irregular(Array::from_values([reals(&[1.0]), reals(&[])])), (1, 0));
    // In rows of rows, even if the rows between are empty.
    let (a, b) = (Array::nested(3, Array::empty()), Array::nested(2, Array::empty()));
    assert_eq!(irregular(Array::from_values([Value::array(a), Value::array(b)])), (3, 2));
    // In tuples, and in tuples in rows.
    let pair = |xs: &[f64]| Value::tuple([Value::Int(1), reals(xs)]);
    assert_eq!(irregular(Array::from_values([pair(&[1.0]), pair(&[1.0, 2.0])])), (1, 2));
    let row = |xs: &[f64]| Value::array(array([pair(xs)]));
    assert_eq!(irregular(Array::from_values([row(&[1.0]), row(&[1.0, 2.0])])), (1, 2));
    // Variants are free.
    let just = |xs: &[f64]| Value::data(1, [reals(xs)]);
    assert_eq!(show(&array([just(&[]), just(&[1.0])])), "[C1([]) C1([1])]");
}

#[test]
fn arrays_of_arrays_are_flat() {
    let a = rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    assert_eq!(a.width(), Some(2));
    let (_, flat) = a.slice(1, 2).flat().unwrap();
    assert_eq!(flat.reals(), Some(&[3.0, 4.0][..]));
    let a = Array::nested(2, Array::from_ints((0..6).collect()).slice(2, 6));
    assert_eq!(show(&a), "[[2i 3i] [4i 5i]]");
    let a = Array::nested(2, Array::from_ints((0..6).collect()).slice(1, 5));
    assert_eq!(show(&a), "[[1i 2i] [3i 4i]]");
    let a = Array::rows(3, 0, Array::empty());
    assert_eq!((a.len(), a.width(), show(&a).as_str()), (3, Some(0), "[[] [] []]"));
}

#[test]
fn rows_and_slices_are_views() {
    let a = rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    let start = a.flat().unwrap().1.reals().unwrap().as_ptr();
    let Value::Array(row) = a.get(1) else { panic!("a row") };
    assert_eq!(row.reals(), Some(&[3.0, 4.0][..]));
    assert_eq!(row.reals().unwrap().as_ptr(), start.wrapping_add(2));
    assert_eq!(row.slice(1, 2).reals().unwrap().as_ptr(), start.wrapping_add(3));
    let pairs = Array::tuples(vec![Array::from_ints(vec![1, 2]), a]);
    assert_eq!(show(&pairs), "[(1i [1 2]) (2i [3 4])]");
    assert_eq!(pairs.field(1).unwrap().flat().unwrap().1.reals().unwrap().as_ptr(), start);
    assert!(pairs.field(2).is_none());
}

#[test]
fn tuples_of_columns_from_different_places() {
    let xs = Array::from_ints((0..5).collect());
    let pairs = Array::tuples(vec![xs.slice(0, 3), xs.slice(2, 5)]);
    assert_eq!(show(&pairs.slice(1, 3)), "[(1i 3i) (2i 4i)]");
    let pairs = Array::tuples(vec![xs.slice(1, 3), xs.slice(1, 3)]);
    assert_eq!(show(&pairs), "[(1i 1i) (2i 2i)]");
}

#[test]
fn shape_survives_emptiness() {
    let none = rows(&[&[1.0, 2.0]]).slice(1, 1);
    assert_eq!((none.len(), none.width()), (0, Some(2)));
    // Rows of no rows of width 2, then one of width 3.
    let outer = array([Value::array(none.clone()), Value::array(none.clone())]);
    let (_, flat) = outer.slice(0, 0).flat().unwrap();
    assert_eq!(flat.width(), Some(2));
    let other = Array::nested(3, Array::from_reals(vec![]));
    assert_eq!(irregular(Array::append(&none, &other)), (2, 3));
    let three = rows(&[&[1.0, 2.0, 3.0]]);
    assert_eq!(irregular(Array::append(&none, &three)), (2, 3));
    // What nothing determined fits any.
    assert_eq!(Array::append(&Array::empty(), &none).unwrap().width(), Some(2));
    assert_eq!(Array::append(&none, &Array::empty()).unwrap().width(), Some(2));
    let outer = array([Value::array(Array::empty()), Value::array(none)]);
    assert_eq!(outer.flat().unwrap().1.width(), Some(2));
    // An empty array of plain elements says nothing about rows.
    let mut builder = ArrayBuilder::new(2);
    builder.extend(&Array::from_reals(vec![])).unwrap();
    builder.push(Value::tuple([Value::Int(1), Value::Bool(true)])).unwrap();
    assert_eq!(show(&builder.finish()), "[(1i true)]");
}

#[test]
fn an_update_loop_does_not_copy() {
    let mut a = Array::from_reals(vec![0.0; 100]);
    let start = a.reals().unwrap().as_ptr();
    for i in 0..100 {
        a.set(&[i], Value::Real(i as f64)).unwrap();
    }
    assert_eq!(a.reals().unwrap().as_ptr(), start);
    assert_eq!(a.reals().unwrap()[99], 99.0);

    // Through tuples and rows, single elements and whole rows.
    let mut a = array((0..4).map(|_| {
        Value::array(array((0..3).map(|_| Value::tuple([Value::Int(0), reals(&[0.0, 0.0])]))))
    }));
    let place = |a: &Array| {
        let ints = a.flat().unwrap().1.field(0).unwrap();
        let reals = a.flat().unwrap().1.field(1).unwrap().flat().unwrap().1;
        (ints.ints().unwrap().as_ptr(), reals.reals().unwrap().as_ptr())
    };
    let start = place(&a);
    for i in 0..4 {
        for j in 0..3 {
            let n = (3 * i + j) as i64;
            a.set(&[i, j], Value::tuple([Value::Int(n), reals(&[n as f64, 0.5])])).unwrap();
        }
    }
    let row = (0..3).map(|_| Value::tuple([Value::Int(9), reals(&[9.0, 9.0])]));
    a.set(&[1], Value::array(array(row))).unwrap();
    assert_eq!(place(&a), start);
    assert_eq!(text(&a.get(1)), "[(9i [9 9]) (9i [9 9]) (9i [9 9])]");
    assert_eq!(text(&a.get(3)), "[(9i [9 0.5]) (10i [10 0.5]) (11i [11 0.5])]");
}

#[test]
fn an_update_leaves_other_views_alone() {
    let original = rows(&[&[1.0, 2.0], &[3.0, 4.0], &[5.0, 6.0]]);
    let mut view = original.slice(1, 3);
    view.set(&[0, 1], Value::Real(9.0)).unwrap();
    assert_eq!(show(&view), "[[3 9] [5 6]]");
    assert_eq!(show(&original), "[[1 2] [3 4] [5 6]]");
    // Only the view was copied, and from now on it is changed in place.
    let (column, off, _) = view.parts();
    let Column::Nested(_, inner) = column else { panic!("rows") };
    let Column::Reals(xs) = &**inner else { panic!("reals") };
    assert_eq!((off, xs.len()), (0, 4));
    let start = xs.as_ptr();
    view.set(&[1, 1], Value::Real(8.0)).unwrap();
    assert_eq!(view.flat().unwrap().1.reals().unwrap().as_ptr(), start);
    // Columns shared by the components of tuples.
    let xs = Array::from_ints(vec![1, 2]);
    let mut pairs = Array::tuples(vec![xs.clone(), xs.clone()]);
    pairs.set(&[0], Value::tuple([Value::Int(5), Value::Int(6)])).unwrap();
    assert_eq!((show(&pairs).as_str(), show(&xs).as_str()), ("[(5i 6i) (2i 2i)]", "[1i 2i]"));
    // The array stored in itself.
    let mut a = rows(&[&[1.0, 2.0], &[3.0, 4.0]]);
    let row = a.get(1);
    a.set(&[0], row).unwrap();
    assert_eq!(show(&a), "[[3 4] [3 4]]");
}

#[test]
fn what_cannot_be_stored() {
    let mut a = rows(&[&[1.0, 2.0]]);
    assert_eq!(size_mismatch(a.set(&[0], reals(&[1.0]))), (2, 1));
    let message = a.set(&[0], reals(&[1.0])).unwrap_err().message();
    assert_eq!(message, "the sizes 2 and 1 differ: the rows of the array and the new row");
    let out = |r: Result<(), ErrorKind>| match r {
        Err(ErrorKind::IndexOutOfBounds { index, length }) => (index, length),
        other => panic!("{other:?}"),
    };
    assert_eq!(out(a.set(&[1], reals(&[1.0, 2.0]))), (1, 1));
    assert_eq!(out(a.set(&[0, 2], Value::Real(1.0))), (2, 2));
    assert_eq!(show(&a), "[[1 2]]");
    // The shape of the elements of an empty row counts, too.
    let mut a = array([Value::array(Array::nested(3, Array::empty()))]);
    assert_eq!(size_mismatch(a.set(&[0], Value::array(Array::nested(2, Array::empty())))), (3, 2));
    a.set(&[0], Value::array(Array::empty())).unwrap();
}

#[test]
fn active_reals_make_a_column_of_values() {
    let mut a = Array::from_reals(vec![1.0, 2.0]);
    a.set(&[1], dual(3.0)).unwrap();
    assert_eq!((show(&a).as_str(), a.reals()), ("[1 3']", None));
    let start = a.values().unwrap().as_ptr();
    a.set(&[0], Value::Real(4.0)).unwrap();
    assert_eq!(a.values().unwrap().as_ptr(), start);
    let mut m = rows(&[&[1.0], &[2.0]]);
    m.set(&[1], Value::array(a.slice(1, 2))).unwrap();
    m.set(&[0], reals(&[7.0])).unwrap();
    assert_eq!(show(&m), "[[7] [3']]");
    let m = array([reals(&[1.0]), Value::array(a.slice(1, 2)), reals(&[2.0])]);
    assert_eq!(show(&m), "[[1] [3'] [2]]");
    let m = Array::append(&a, &Array::from_reals(vec![5.0])).unwrap();
    assert_eq!(show(&m), "[4 3' 5]");
    assert_eq!(show(&Array::append(&Array::from_reals(vec![5.0]), &a).unwrap()), "[5 4 3']");
    // Without active elements it is plain again.
    let none = a.slice(1, 1);
    let plain = Array::append(&none, &Array::from_reals(vec![5.0])).unwrap();
    assert_eq!(plain.reals(), Some(&[5.0][..]));
}

#[test]
fn elements_of_different_types_are_a_bug() {
    let mixed = Array::from_values([Value::Real(1.0), Value::Int(1)]).unwrap_err();
    assert_eq!(mixed.code(), "internal");
    let mixed = Array::from_ints(vec![1]).set(&[0], Value::Real(1.0)).unwrap_err();
    assert_eq!(mixed.code(), "internal");
}

#[test]
fn a_capacity_beyond_the_memory_is_only_a_hint() {
    let mut builder = ArrayBuilder::new(usize::MAX);
    builder.push(reals(&[1.0, 2.0])).unwrap();
    assert_eq!(show(&builder.finish()), "[[1 2]]");
}

/// The shape of an element.
#[derive(Clone, Debug)]
enum ElementShape {
    Real,
    Int,
    Text,
    Tuple(Vec<ElementShape>),
    Rows(usize, Box<ElementShape>),
}

fn shapes() -> impl Strategy<Value = ElementShape> {
    let leaf =
        prop_oneof![Just(ElementShape::Real), Just(ElementShape::Int), Just(ElementShape::Text)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(ElementShape::Tuple),
            (0..3usize, inner).prop_map(|(n, s)| ElementShape::Rows(n, Box::new(s))),
        ]
    })
}

/// An element of a shape, its leaves numbered on; every third Real is active.
fn element(shape: &ElementShape, next: &mut i64) -> Value {
    *next += 1;
    match shape {
        ElementShape::Real if *next % 3 == 0 => dual(*next as f64),
        ElementShape::Real => Value::Real(*next as f64),
        ElementShape::Int => Value::Int(*next),
        ElementShape::Text => Value::string(&next.to_string()),
        ElementShape::Tuple(shapes) => {
            let elements: Vec<Value> = shapes.iter().map(|s| element(s, next)).collect();
            Value::tuple(elements)
        }
        ElementShape::Rows(n, shape) => {
            let elements: Vec<Value> = (0..*n).map(|_| element(shape, next)).collect();
            Value::array(array(elements))
        }
    }
}

proptest! {
    #[test]
    fn arrays_agree_with_vectors(
        shape in shapes(),
        len in 1..6usize,
        lo in 0..6usize,
        hi in 0..6usize,
        at in 0..6usize,
    ) {
        let next = &mut 0;
        let mut model: Vec<Value> = (0..len).map(|_| element(&shape, next)).collect();
        let all = array(model.clone());
        prop_assert_eq!(show(&all), format!("[{}]", texts(model.iter())));
        let (lo, hi) = (lo.min(hi).min(len), lo.max(hi).min(len));
        let mut part = all.slice(lo, hi);
        let model = &mut model[lo..hi];
        prop_assert_eq!(show(&part), format!("[{}]", texts(model.iter())));
        let before = show(&all);
        if at < model.len() {
            let new = element(&shape, next);
            part.set(&[at], new.clone()).unwrap();
            model[at] = new;
        }
        prop_assert_eq!(show(&part), format!("[{}]", texts(model.iter())));
        prop_assert_eq!(show(&all), before);
        let both = Array::append(&part, &all).unwrap();
        let joined = model.iter().cloned().chain(all.iter()).collect::<Vec<_>>();
        prop_assert_eq!(show(&both), format!("[{}]", texts(joined.iter())));
    }
}
