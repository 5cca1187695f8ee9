//! Parts of the library that no file or value shows by itself.

#![allow(dead_code, reason = "each part is tested in one respect")]

#[path = "../../src/read/column.rs"]
mod column;
#[path = "../../src/read/folded.rs"]
mod folded;
#[path = "../../src/read/time.rs"]
mod time;

use column::push;
use diffeo_calculus::ty::Ty;
use diffeo_data::show_type;
use folded::folded;
use time::{Moment, MomentKind};

#[test]
fn growing_takes_less_than_three_times_the_elements() {
    let mut elements = Vec::new();
    for n in 0..100_000_usize {
        let before = elements.capacity();
        push(&mut elements, 0.0);
        let after = elements.capacity();
        if before != after && n > 8 {
            assert!(2 * (before + after) <= 5 * n, "{before} and {after} for {n} elements");
        }
    }
}

#[test]
fn names_are_compared_without_case_blanks_and_punctuation() {
    for (column, field) in [
        ("Dose (µM)", "dose_um"),
        ("Dose (μM)", "doseUM"),
        ("  Mean temp. [°C] ", "mean_temp_c"),
        ("Area/m²", "area_m2"),
        ("CO₂ (ppm)", "co2_ppm"),
        ("first\nname", "first_name"),
    ] {
        assert_eq!(folded(column), folded(field));
    }
    assert_ne!(folded("Dose"), folded("Dose (µM)"));
    assert_ne!(folded("größe"), folded("grosse"));
}

#[test]
fn days_are_those_of_the_calendar() {
    for (year, month, day, seconds, text) in [
        (1970, 1, 1, 0, "1970-01-01"),
        (2000, 2, 29, 951_782_400, "2000-02-29"),
        (2024, 12, 31, 1_735_603_200, "2024-12-31"),
        (1900, 3, 1, -2_203_891_200, "1900-03-01"),
        (1600, 1, 1, -11_676_096_000, "1600-01-01"),
    ] {
        let moment = Moment::day(year, month, day);
        assert_eq!((moment.seconds, &*moment.text()), (seconds, text));
    }
}

#[test]
fn times_have_the_digits_that_they_need() {
    let of = |count, units, kind| Moment::of(count, units, kind);
    assert_eq!(of(-1, 1000, MomentKind::Utc).text(), "1969-12-31T23:59:59.999Z");
    assert_eq!(of(-1, 1000, MomentKind::Utc).real(), -0.001);
    assert_eq!(of(3_661, 1, MomentKind::Clock).text(), "01:01:01");
    assert_eq!(of(1_500_000, 1_000_000, MomentKind::Local).text(), "1970-01-01T00:00:01.5");
    assert_eq!(of(1_500, 1_000, MomentKind::Duration).text(), "1.5");
    let _ = of(i64::MAX, 1, MomentKind::Utc).text();
    let _ = of(i64::MIN, 1, MomentKind::Utc).text();
}

#[test]
fn types_are_written_as_in_programs() {
    let pair = Ty::tuple(vec![Ty::Int, Ty::fun(Ty::Real, Ty::Bool)]);
    let row = Ty::Record([("x".into(), Ty::Real), ("y".into(), pair)].into());
    assert_eq!(show_type(&Ty::array(row), &[]), "[]{x: Real, y: (Int, Real -> Bool)}");
    let functions = Ty::array(Ty::fun(Ty::fun(Ty::Unit, Ty::Real), Ty::String));
    assert_eq!(show_type(&functions, &[]), "[]((() -> Real) -> String)");
}
