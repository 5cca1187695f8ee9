//! Values: their size, and that long chains of them are freed without recursion.

use diffeo_array::ir::{BoxId, Elem};
use diffeo_array::value::{Collector, Data, FlatArray, FlatValue};
use std::rc::Rc;

#[test]
fn a_value_is_two_words_and_long_chains_are_dropped() {
    assert_eq!(std::mem::size_of::<FlatValue>(), 16);
    let mut chain = FlatValue::object(0, []);
    for i in 0..1_000_000 {
        chain = FlatValue::object(1, [FlatValue::Int(i), chain]);
    }
    drop(chain);
}

#[test]
fn chains_through_arrays_are_dropped() {
    let mut chain = FlatValue::object(0, []);
    for _ in 0..1_000_000 {
        let children = FlatArray::vector(Data::Values(Rc::new(vec![chain, FlatValue::Null])));
        chain = FlatValue::object(1, [FlatValue::array(children)]);
    }
    let mut outer = Collector::new(Elem::Box(BoxId(0)), 0);
    outer.push(chain).unwrap();
    drop(outer.finish());
}
