//! Values: their size, and that long chains of them are freed without recursion.

use diffeo_array::ir::{BoxId, Elem};
use diffeo_array::value::{Array, Collector, Data, Value};
use std::rc::Rc;

#[test]
fn a_value_is_two_words_and_long_chains_are_dropped() {
    assert_eq!(std::mem::size_of::<Value>(), 16);
    let mut chain = Value::object(0, []);
    for i in 0..1_000_000 {
        chain = Value::object(1, [Value::Int(i), chain]);
    }
    drop(chain);
}

#[test]
fn chains_through_arrays_are_dropped() {
    let mut chain = Value::object(0, []);
    for _ in 0..1_000_000 {
        let children = Array::vector(Data::Values(Rc::new(vec![chain, Value::Null])));
        chain = Value::object(1, [Value::array(children)]);
    }
    let mut outer = Collector::new(Elem::Box(BoxId(0)), 0);
    outer.push(chain).unwrap();
    drop(outer.finish());
}
