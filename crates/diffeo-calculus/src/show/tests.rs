//! Tests of the text of values.

use super::{real, show, string};
use crate::array::Array;
use crate::ty::{ConstructorDecl, DataDecl, DataId, Ty, WellKnown};
use crate::value::{Active, Parts, Value};
use proptest::prelude::*;
use std::rc::Rc;

const LIST: DataId = DataId(0);
const MAYBE: DataId = DataId(1);
const TREE: DataId = DataId(2);

fn data(id: DataId, arg: Ty) -> Ty {
    Ty::Data(id, [arg].into())
}

fn datas() -> Vec<DataDecl> {
    let decl = |name: &str, constructors: &[(&str, &[Ty])]| DataDecl {
        name: name.into(),
        known: WellKnown::ALL.into_iter().find(|known| format!("{known:?}") == name),
        params: 1,
        constructors: constructors
            .iter()
            .map(|(name, fields)| ConstructorDecl { name: (*name).into(), fields: fields.to_vec() })
            .collect(),
    };
    let tree = data(TREE, Ty::Param(0));
    vec![
        decl("List", &[("Nil", &[]), ("Cons", &[Ty::Param(0), data(LIST, Ty::Param(0))])]),
        decl("Maybe", &[("Nothing", &[]), ("Just", &[Ty::Param(0)])]),
        decl("Tree", &[("Leaf", &[Ty::Param(0)]), ("Node", &[tree.clone(), tree])]),
    ]
}

fn text(value: &Value, ty: &Ty) -> String {
    show(value, ty, &datas())
}

fn list(elements: impl DoubleEndedIterator<Item = Value>) -> Value {
    elements.rev().fold(Value::data(0, []), |tail, head| Value::data(1, [head, tail]))
}

#[test]
fn numbers() {
    let cases: [(f64, &str); 13] = [
        (3.0, "3.0"),
        (-1.0, "-1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e-9, "1e-9"),
        (1.5e-9, "1.5e-9"),
        (1e100, "1e100"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (5e-324, "5e-324"),
        (f64::NAN, "nan"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    for (x, text) in cases {
        assert_eq!(real(x), text);
    }
    assert_eq!(real(-f64::NAN), "nan");
}

#[test]
fn texts() {
    assert_eq!(string("a\n\t\"\\é√"), r#""a\n\t\"\\é√""#);
    assert_eq!(string("\u{1}\u{7f}\u{202e}"), r#""\u{1}\u{7f}\u{202e}""#);
}

#[test]
fn every_kind_of_value() {
    let record = Ty::Record([("x".into(), Ty::Real), ("y".into(), Ty::Int)].into());
    let point = Value::tuple([Value::Real(1.0), Value::Int(-2)]);
    assert_eq!(text(&point, &record), "{x = 1.0, y = -2}");
    let tuple = Ty::tuple(vec![record.clone(), Ty::Bool, Ty::Unit, Ty::String]);
    let value = Value::tuple([point.clone(), Value::Bool(true), Value::Unit, Value::string("s")]);
    assert_eq!(text(&value, &tuple), r#"({x = 1.0, y = -2}, true, (), "s")"#);
    let array = Value::array(Array::from_values([point.clone(), point]).unwrap());
    assert_eq!(text(&array, &Ty::array(record)), "[{x = 1.0, y = -2}, {x = 1.0, y = -2}]");
    let matrix = Array::nested(2, Array::from_reals(vec![1.0, 2.5, -3.0, f64::NAN]));
    let ty = Ty::array(Ty::array(Ty::Real));
    assert_eq!(text(&Value::array(matrix), &ty), "[[1.0, 2.5], [-3.0, nan]]");
    assert_eq!(text(&Value::array(Array::rows(2, 0, Array::empty())), &ty), "[[], []]");
    assert_eq!(text(&Value::array(Array::empty()), &ty), "[]");
}

#[test]
fn variants_and_lists() {
    let maybe = data(MAYBE, Ty::Real);
    let just = |x| Value::data(1, [Value::Real(x)]);
    assert_eq!(text(&just(-1.0), &maybe), "Just(-1.0)");
    assert_eq!(text(&Value::data(0, []), &maybe), "Nothing");
    let leaf = |n| Value::data(0, [Value::Int(n)]);
    let tree = Value::data(1, [Value::data(1, [leaf(1), leaf(2)]), leaf(3)]);
    assert_eq!(text(&tree, &data(TREE, Ty::Int)), "Node(Node(Leaf(1), Leaf(2)), Leaf(3))");
    assert_eq!(text(&Value::data(0, []), &data(LIST, Ty::Real)), "list[]");
    let lists = list([list([just(1.0), just(2.0)].into_iter()), list([].into_iter())].into_iter());
    assert_eq!(
        text(&lists, &data(LIST, data(LIST, maybe))),
        "list[list[Just(1.0), Just(2.0)], list[]]"
    );
}

#[test]
fn active_reals_show_their_primal() {
    let dual = Value::Dual { level: 1, id: 3, primal: 2.0 };
    let jet = Parts::Jet([dual, Value::Real(9.0)].into());
    let inner = Value::Active(Rc::new(Active { level: 2, parts: jet }));
    let outer = Parts::Tape { id: 1, primal: inner };
    let outer = Value::Active(Rc::new(Active { level: 3, parts: outer }));
    let array = Array::from_values([Value::Real(1.0), outer, Value::Zero]).unwrap();
    assert_eq!(text(&Value::array(array), &Ty::array(Ty::Real)), "[1.0, 2.0, 0.0]");
}

#[test]
fn depth_costs_no_stack() {
    let n = 1_000_000;
    let long = text(&list((0..n).map(Value::Int)), &data(LIST, Ty::Int));
    assert!(long.starts_with("list[0, 1, 2, ") && long.ends_with(", 999998, 999999]"));
    let deep = (0..n).fold(Value::data(0, [Value::Int(0)]), |tree, _| {
        Value::data(1, [tree, Value::data(0, [Value::Int(1)])])
    });
    let deep = text(&deep, &data(TREE, Ty::Int));
    assert!(deep.starts_with("Node(Node(") && deep.ends_with("Leaf(1)), Leaf(1))"));
}

proptest! {
    #[test]
    fn reals_read_back_exactly(bits: u64) {
        let x = f64::from_bits(bits);
        let text = real(x);
        let back: f64 = text.parse().unwrap();
        prop_assert!(back.to_bits() == bits || x.is_nan() && back.is_nan(), "{}", text);
        prop_assert!(!x.is_finite() || text.contains(['.', 'e']), "{}", text);
    }
}
