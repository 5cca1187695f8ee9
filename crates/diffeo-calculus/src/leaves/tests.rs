//! Tests of the walks over leaves: order, sharing, shapes and depth.

use super::{any_active, each_leaf, each_leaf_pair, map_leaves, zip_leaves};
use crate::array::Array;
use crate::eval::error::ErrorKind;
use crate::value::Value;
use std::convert::Infallible;
use std::rc::Rc;

fn real(x: f64) -> Value {
    Value::Real(x)
}

fn dual(primal: f64) -> Value {
    Value::Dual { level: 1, id: 7, primal }
}

fn array(elements: impl IntoIterator<Item = Value>) -> Value {
    Value::array(Array::from_values(elements).unwrap())
}

fn reals(xs: &[f64]) -> Value {
    Value::array(Array::from_reals(xs.to_vec()))
}

/// `[f(0), …, f(n - 1)]` as a list.
fn list(n: usize, f: impl Fn(usize) -> Value) -> Value {
    (0..n).rev().fold(Value::data(0, []), |tail, i| Value::data(1, [f(i), tail]))
}

/// A tree that is deep through arrays of tuples.
fn rose(depth: usize) -> Value {
    (0..depth).fold(Value::data(0, []), |tree, i| {
        let children = array([Value::tuple([real(i as f64), tree])]);
        Value::data(1, [children])
    })
}

fn number(v: &Value) -> f64 {
    match v {
        Value::Real(x) | Value::Dual { primal: x, .. } => *x,
        other => panic!("{other:?} is not a leaf"),
    }
}

/// The Real leaves in order.
fn leaves(v: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    let Ok(()) = each_leaf::<Infallible>(v, &mut |x| {
        out.push(number(x));
        Ok(())
    });
    out
}

fn double(v: &Value) -> Value {
    let Ok(v) = map_leaves::<Infallible>(v, &mut |x| Ok(real(2.0 * number(x))));
    v
}

fn add(a: &Value, b: &Value) -> Result<Value, ErrorKind> {
    let mut pairs = Vec::new();
    each_leaf_pair("add", a, b, &mut |a, b| {
        pairs.push(number(a) + number(b));
        Ok(())
    })?;
    let sum = zip_leaves("add", a, b, &mut |a, b| Ok(real(number(a) + number(b))))?;
    assert_eq!(leaves(&sum), pairs);
    Ok(sum)
}

fn mismatch(a: &Value, b: &Value) -> String {
    let each = each_leaf_pair("add", a, b, &mut |_, _| Ok(())).unwrap_err();
    match zip_leaves("add", a, b, &mut |a, _| Ok(a.clone())) {
        Err(error @ ErrorKind::ShapeMismatch { .. }) => {
            assert_eq!(error.message(), each.message());
            error.message()
        }
        other => panic!("{other:?}"),
    }
}

/// A value with leaves everywhere, in order 1, 2, ….
fn mixed() -> Value {
    let element = |x: f64, n: i64, y: Value, zs: &[f64], s: &str| {
        Value::tuple([real(x), Value::Int(n), y, reals(zs), Value::string(s)])
    };
    Value::tuple([
        real(1.0),
        array([
            element(2.0, 20, dual(3.0), &[4.0, 5.0], "a"),
            element(6.0, 60, real(7.0), &[8.0, 9.0], "b"),
        ]),
        list(2, |i| Value::tuple([real(10.0 + i as f64), Value::Bool(true)])),
        array([
            Value::tuple([real(12.0), Value::data(1, [real(13.0)])]),
            Value::tuple([real(14.0), Value::data(0, [])]),
        ]),
        array([reals(&[15.0, 16.0]), reals(&[17.0, 18.0])]),
    ])
}

#[test]
fn leaves_come_from_left_to_right() {
    let expected: Vec<f64> = (1..=18).map(f64::from).collect();
    assert_eq!(leaves(&mixed()), expected);
    let mut seen = Vec::new();
    let Ok(mapped) = map_leaves::<Infallible>(&mixed(), &mut |x| {
        seen.push(number(x));
        Ok(real(-number(x)))
    });
    assert_eq!(seen, expected);
    assert_eq!(leaves(&mapped), expected.iter().map(|x| -x).collect::<Vec<_>>());
    let mut seen = Vec::new();
    let zipped = zip_leaves("add", &mixed(), &mapped, &mut |a, b| {
        seen.push((number(a), number(b)));
        Ok(dual(number(b)))
    });
    assert_eq!(seen, expected.iter().map(|x| (*x, -x)).collect::<Vec<_>>());
    assert_eq!(leaves(&zipped.unwrap()), leaves(&mapped));
}

#[test]
fn other_leaves_stay_and_are_shared() {
    let value = mixed();
    let ints = Value::array(Array::from_ints(vec![1, 2, 3]));
    let words = array([Value::string("a"), Value::string("b")]);
    let choices = array([Value::data(0, []), Value::data(1, [Value::Int(1)])]);
    let all = Value::tuple([ints.clone(), words.clone(), choices.clone(), real(1.0)]);
    let (Value::Tuple(t), Value::Tuple(z)) = (double(&all), add(&all, &all).unwrap()) else {
        panic!("tuples")
    };
    for (old, (new, zipped)) in [ints, words, choices].iter().zip(t.0.iter().zip(&z.0)) {
        match (old, new, zipped) {
            (Value::Array(a), Value::Array(b), Value::Array(c)) => {
                assert!(Rc::ptr_eq(a, b) && Rc::ptr_eq(a, c));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((number(&t.0[3]), number(&z.0[3])), (2.0, 2.0));
    // A column of Ints beside Reals is shared as well.
    let pairs = |v: &Value| match v {
        Value::Array(a) => a.field(0).unwrap().ints().unwrap().as_ptr(),
        other => panic!("{other:?}"),
    };
    let v = array((0..3).map(|i| Value::tuple([Value::Int(i), real(i as f64)])));
    assert_eq!(pairs(&double(&v)), pairs(&v));
    // And the second value of a zip lends nothing but its Real leaves.
    let (a, b) = (
        Value::tuple([Value::Int(1), real(1.0), Value::string("a")]),
        Value::tuple([Value::Int(2), real(2.0), Value::string("b")]),
    );
    let sum = add(&a, &b).unwrap();
    assert!(
        matches!(sum.fields(), [Value::Int(1), Value::Real(3.0), Value::String(s)] if &***s == "a")
    );
    assert!(any_active(&value) && !any_active(&double(&value)));
}

#[test]
fn views_give_the_leaves_they_show() {
    let Value::Array(a) = array((0..4).map(|i| {
        let x = i as f64;
        Value::tuple([reals(&[x, x + 0.5]), Value::Int(i), dual(x)])
    })) else {
        panic!("an array")
    };
    let part = Value::array(a.slice(1, 3));
    assert_eq!(leaves(&part), [1.0, 1.5, 1.0, 2.0, 2.5, 2.0]);
    let Value::Array(doubled) = double(&part) else { panic!("an array") };
    assert_eq!(leaves(&Value::Array(doubled.clone())), [2.0, 3.0, 2.0, 4.0, 5.0, 4.0]);
    assert_eq!(doubled.field(1).unwrap().ints(), Some(&[1, 2][..]));
    let other = Value::array(a.slice(2, 4));
    assert_eq!(leaves(&add(&part, &other).unwrap()), [3.0, 4.0, 3.0, 5.0, 6.0, 5.0]);
    assert!(any_active(&part));
    let fields = a.field(0).unwrap();
    assert!(!any_active(&Value::array(fields)));
    let Value::Array(half) = array([real(1.0), dual(2.0)]) else { panic!("an array") };
    assert!(!any_active(&Value::array(half.slice(0, 1))));
    assert_eq!(leaves(&add(&Value::array(half.slice(0, 1)), &reals(&[3.0])).unwrap()), [4.0]);
}

#[test]
fn mapped_leaves_are_stored_as_what_they_are() {
    let reals_of = |v: &Value| match v {
        Value::Array(a) => a.reals().map(<[f64]>::to_vec),
        other => panic!("{other:?}"),
    };
    let Ok(active) = map_leaves::<Infallible>(&reals(&[1.0, 2.0]), &mut |x| {
        Ok(if number(x) > 1.0 { dual(number(x)) } else { x.clone() })
    });
    assert_eq!((reals_of(&active), leaves(&active)), (None, vec![1.0, 2.0]));
    assert_eq!(reals_of(&double(&active)), Some(vec![2.0, 4.0]));
    // A leaf may become an array.
    let Ok(rows) = map_leaves::<Infallible>(
        &array([
            Value::tuple([Value::Int(1), real(5.0)]),
            Value::tuple([Value::Int(2), real(6.0)]),
        ]),
        &mut |x| Ok(reals(&[number(x), 1.0])),
    );
    let Value::Array(a) = &rows else { panic!("an array") };
    assert_eq!(a.field(1).unwrap().width(), Some(2));
    assert_eq!(leaves(&rows), [5.0, 1.0, 6.0, 1.0]);
}

#[test]
fn shapes_that_differ_are_told() {
    assert_eq!(
        mismatch(&reals(&[1.0, 2.0, 3.0]), &reals(&[1.0, 2.0])),
        "add: arrays of length 3 and 2"
    );
    let none = |width| Value::array(Array::nested(width, Array::empty()));
    assert_eq!(mismatch(&none(3), &none(2)), "add: rows of length 3 and 2");
    let pair = |v| Value::tuple([real(1.0), v]);
    assert_eq!(
        mismatch(&array([pair(reals(&[1.0]))]), &array([pair(reals(&[]))])),
        "add: rows of length 1 and 0"
    );
    let constructors = "add: the first is constructor 1 of its type, the second constructor 0";
    assert_eq!(mismatch(&Value::data(1, [real(1.0)]), &Value::data(0, [])), constructors);
    assert_eq!(mismatch(&list(3, |_| real(0.0)), &list(2, |_| real(0.0))), constructors);
    assert_eq!(
        mismatch(&array([Value::data(1, [real(1.0)])]), &array([Value::data(0, [])])),
        constructors
    );
    let ints = |xs: &[i64]| Value::array(Array::from_ints(xs.to_vec()));
    assert_eq!(mismatch(&ints(&[1]), &ints(&[])), "add: arrays of length 1 and 0");
    assert_eq!(mismatch(&reals(&[1.0]), &array([])), "add: arrays of length 1 and 0");
}

#[test]
fn an_undetermined_array_agrees_with_empty_ones() {
    let none = Value::array(Array::nested(3, Array::empty()));
    for (a, b) in [(&none, &array([])), (&array([]), &none), (&reals(&[]), &array([]))] {
        let (Value::Array(old), Value::Array(new)) = (a, add(a, b).unwrap()) else {
            panic!("arrays")
        };
        assert_eq!((new.len(), new.width()), (0, old.width()));
    }
    let rows = |row: Value| array([row.clone(), row]);
    add(&rows(reals(&[])), &rows(array([]))).unwrap();
    add(&rows(array([])), &rows(reals(&[]))).unwrap();
}

#[test]
fn the_first_error_ends_the_walk() {
    let mut calls = 0;
    let result = map_leaves(&mixed(), &mut |x| {
        calls += 1;
        if number(x) == 4.0 {
            Err("four")
        } else {
            Ok(x.clone())
        }
    });
    assert_eq!((result.unwrap_err(), calls), ("four", 4));
}

#[test]
fn depth_costs_no_stack() {
    let n = 1_000_000;
    let long = list(n, |i| real(i as f64));
    assert_eq!(double(&long).fields()[1].fields()[0].fields().len(), 0);
    assert_eq!(leaves(&double(&long))[n - 1], 2.0 * (n - 1) as f64);
    assert_eq!(leaves(&add(&long, &long).unwrap())[n - 1], 2.0 * (n - 1) as f64);
    assert!(!any_active(&long));
    let nested = list(n, |i| reals(&[i as f64]));
    assert_eq!(leaves(&add(&nested, &nested).unwrap())[n - 1], 2.0 * (n - 1) as f64);

    let n = n / 5;
    let deep = rose(n);
    assert_eq!(leaves(&double(&deep))[0], 2.0 * (n - 1) as f64);
    assert_eq!(leaves(&add(&deep, &deep).unwrap())[n - 1], 0.0);
    assert!(!any_active(&deep));
    assert!(mismatch(&deep, &rose(n - 1)).contains("constructor"));
}
