//! The operators: nesting, shapes, kinks, reports of nan, rules of the program, checkpoints.

use super::*;
use crate::eval::error::WarningKind;
use crate::prim::{Comparison, Rounding};
use diffeo_base::deep;

fn tuple2(a: Value, b: Value) -> Value {
    Value::tuple([a, b])
}

fn part(v: &Value, i: usize) -> Value {
    v.fields()[i].clone()
}

#[test]
fn perturbations_are_not_confused() {
    let mut t = Eval::new(Kinks::Ignore);
    // rd(fn x -> x * rd(fn y -> x + y, 1, 1), 1, 1) = 1, in all four combinations.
    for modes in 0..4 {
        let [outer, inner] = [modes & 1 == 0, modes & 2 == 0].map(|forwards| {
            if forwards {
                forward as fn(Fun) -> Fun
            } else {
                backward
            }
        });
        let f: Fun = Rc::new(move |t, x| {
            let y = x.clone();
            let slope = inner(Rc::new(move |t, z| t.bin(RealOp::Add, &y, &z)))(t, real(1.0))?;
            t.bin(RealOp::Mul, &x, &slope)
        });
        assert_eq!(number(outer(f)(&mut t, real(1.0))), 1.0);
        // d/dx x · d/dy (x y²) at y = 2 is 2·x·2·y: 16 at x = 2.
        let f: Fun = Rc::new(move |t, x| {
            let z = x.clone();
            let g: Fun = Rc::new(move |t, y| {
                let square = t.bin(RealOp::Mul, &y, &y)?;
                t.bin(RealOp::Mul, &z, &square)
            });
            let slope = inner(g)(t, real(2.0))?;
            t.bin(RealOp::Mul, &x, &slope)
        });
        assert_eq!(number(outer(f)(&mut t, real(2.0))), 16.0);
    }
}

#[test]
fn a_pullback_is_linear_and_serves_any_number_of_times() {
    let mut t = Eval::new(Kinks::Ignore);
    let f = t.function(|t, p| {
        let xy = t.bin(RealOp::Mul, &part(&p, 0), &part(&p, 1))?;
        let s = t.un(RealOp::Sin, &part(&p, 0))?;
        Ok(tuple2(xy, s))
    });
    let point = tuple2(real(0.5), real(3.0));
    let y = t.diff(DiffOp::Vjp, [f, point]).unwrap();
    let p = part(&y, 1);
    assert_eq!(numbers(&part(&y, 0)), [1.5, 0.5f64.sin()]);
    for _ in 0..2 {
        let g = t.call(&p, tuple2(real(1.0), real(0.0))).unwrap();
        assert_eq!(numbers(&g), [3.0, 0.5]);
        let g = t.call(&p, tuple2(real(0.0), real(2.0))).unwrap();
        assert_eq!(numbers(&g), [2.0 * 0.5f64.cos(), 0.0]);
    }
    // The pullback itself is differentiated, in both modes: it is linear.
    for mode in [forward as fn(Fun) -> Fun, backward] {
        let p = p.clone();
        let f: Fun = Rc::new(move |t, c| {
            let g = t.call(&p, tuple2(c.clone(), real(0.0)))?;
            let square = t.bin(RealOp::Mul, &c, &part(&g, 0))?;
            Ok(square)
        });
        assert_eq!(number(mode(f)(&mut t, real(2.0))), 12.0);
    }
}

#[test]
fn a_pullback_depends_on_what_its_point_depends_on() {
    let mut t = Eval::new(Kinks::Ignore);
    // d/dx of the pullback of y³ at x is 6x; the pullback is called two levels further in.
    for mode in [forward as fn(Fun) -> Fun, backward] {
        let f: Fun = Rc::new(move |t, x| {
            let cube = t.function(|t, y| t.pow(&y, 3));
            let p = part(&t.diff(DiffOp::Vjp, [cube, x])?, 1);
            // d/dc c·p(1) + 0·p(c)
            let g: Fun = Rc::new(move |t, c| {
                let one = t.call(&p, real(1.0))?;
                t.bin(RealOp::Mul, &c, &one)
            });
            mode(g)(t, real(5.0))
        });
        assert_eq!(number(backward(f.clone())(&mut t, real(2.0))), 12.0);
        assert_eq!(number(forward(f)(&mut t, real(2.0))), 12.0);
    }
}

#[test]
fn gradients_have_the_shape_of_the_point() {
    let mut t = Eval::new(Kinks::Ignore);
    let f = t.function(|t, p| {
        let Value::Array(xs) = part(&p, 0) else { panic!() };
        t.bin(RealOp::Mul, &xs.get(0), &xs.get(2))
    });
    let point = Value::tuple([reals(&[2.0, 3.0, 4.0]), Value::Int(7), real(1.0)]);
    let g = t.diff(DiffOp::Rd, [f.clone(), point.clone(), real(1.0)]).unwrap();
    assert_eq!(numbers(&g), [4.0, 0.0, 2.0, 0.0]);
    assert!(matches!(g.fields()[1], Value::Int(7)));
    let tangent = Value::tuple([reals(&[1.0, 1.0]), Value::Int(0), real(1.0)]);
    let e = t.diff(DiffOp::Jvp, [f.clone(), point.clone(), tangent]).unwrap_err();
    assert!(
        matches!(&e.kind, ErrorKind::ShapeMismatch { op, .. } if *op == "the tangent"),
        "{e:?}"
    );
    let tangent = Value::tuple([reals(&[1.0, 1.0, 0.0]), Value::Int(0), real(1.0)]);
    let y = t.diff(DiffOp::Jvp, [f, point.clone(), tangent]).unwrap();
    assert_eq!(numbers(&y), [8.0, 4.0]);
    let f = t.function(|_, p| Ok(part(&p, 0)));
    let e = t.diff(DiffOp::Rd, [f, point, reals(&[1.0])]).unwrap_err();
    assert!(
        matches!(&e.kind, ErrorKind::ShapeMismatch { op, .. } if *op == "the cotangent"),
        "{e:?}"
    );
    assert_eq!(t.reals.depth(), 0);
}

#[test]
fn long_lists_and_long_loops() {
    let mut t = Eval::new(Kinks::Ignore);
    let mut list = Value::data(0, []);
    for _ in 0..1_000_000 {
        list = Value::data(1, [real(1.5), list]);
    }
    let f = t.function(|t, list| {
        let (mut sum, mut rest) = (real(1.0), list);
        while let [head, tail] = rest.fields() {
            sum = t.bin(RealOp::Mul, &sum, head)?;
            sum = t.bin(RealOp::Div, &sum, &real(1.5))?;
            rest = tail.clone();
        }
        Ok(sum)
    });
    let g = t.diff(DiffOp::Rd, [f, list, real(1.0)]).unwrap();
    assert!(numbers(&g).iter().all(|x| close(*x, 1.0 / 1.5, 1e-9)));
    let mut jets = Value::data(0, []);
    for _ in 0..100_000 {
        jets = Value::data(1, [reals(&[1.0, 1.0]), jets]);
    }
    let f = t.function(|_, list| Ok(list));
    let y = t.diff(DiffOp::Jet { k: 1, r: 1 }, [f, jets]).unwrap();
    assert_eq!(numbers(&y).len(), 200_000);
}

#[test]
fn powers_at_zero() {
    let mut t = Eval::new(Kinks::Ignore);
    let real_power = |e: f64| -> Fun { Rc::new(move |t, x| t.bin(RealOp::Pow, &x, &real(e))) };
    let int_power = |n: i64| -> Fun { Rc::new(move |t, x| t.pow(&x, n)) };
    let inf = f64::INFINITY;
    for (f, x, expected) in [
        (real_power(2.0), 0.0, [0.0, 0.0, 2.0, 0.0, 0.0]),
        (int_power(2), 0.0, [0.0, 0.0, 2.0, 0.0, 0.0]),
        (int_power(1), 0.0, [0.0, 1.0, 0.0, 0.0, 0.0]),
        (real_power(1.0), 0.0, [0.0, 1.0, 0.0, 0.0, 0.0]),
        (int_power(0), 0.0, [1.0, 0.0, 0.0, 0.0, 0.0]),
        (real_power(0.0), 0.0, [1.0, 0.0, 0.0, 0.0, 0.0]),
        (int_power(0), f64::NAN, [1.0, 0.0, 0.0, 0.0, 0.0]),
        (int_power(3), -2.0, [-8.0, 12.0, -12.0, 6.0, 0.0]),
        (real_power(3.0), -2.0, [-8.0, 12.0, -12.0, 6.0, 0.0]),
        (int_power(-1), 0.5, [2.0, -4.0, 16.0, -96.0, 768.0]),
        (real_power(-1.0), 0.5, [2.0, -4.0, 16.0, -96.0, 768.0]),
        (int_power(-2), 0.0, [inf, -inf, inf, -inf, inf]),
        (int_power(-2), inf, [0.0; 5]),
    ] {
        assert_eq!(derivatives(&mut t, &f, 4, x), expected, "jets at {x}");
        for mode in [forward as fn(Fun) -> Fun, backward] {
            let mut g = f.clone();
            for d in expected {
                let got = number(g(&mut t, real(x)));
                assert_eq!(got, d, "nested, of {expected:?}");
                g = mode(g);
            }
        }
    }
    // ∂/∂y x^y = x^y log x, and 0 at x = 0 with y > 0.
    let f: Fun = Rc::new(|t, y| t.bin(RealOp::Pow, &real(0.0), &y));
    assert_eq!(derivatives(&mut t, &f, 2, 2.0), [0.0; 3]);
    assert_eq!(number(backward(f)(&mut t, real(2.0))), 0.0);
    let f: Fun = Rc::new(|t, y| t.bin(RealOp::Pow, &real(-2.0), &y));
    assert!(number(backward(f)(&mut t, real(2.0))).is_nan());
    // Only the derivative that is asked for is computed: no nan from log(-2).
    let f = t.function(|t, x| t.bin(RealOp::Pow, &x, &real(2.0)));
    assert_eq!(number(t.diff(DiffOp::Rd, [f, real(-2.0), real(1.0)])), -4.0);
}

#[test]
fn choices() {
    let mut t = Eval::new(Kinks::Ignore);
    let abs: Fun = Rc::new(|t, x| t.un(RealOp::Abs, &x));
    for (x, d) in [(-2.0, -1.0), (0.0, 0.0), (3.0, 1.0)] {
        assert_eq!(derivatives(&mut t, &abs, 2, x), [x.abs(), d, 0.0]);
        assert_eq!(number(backward(abs.clone())(&mut t, real(x))), d);
        assert_eq!(number(backward(forward(abs.clone()))(&mut t, real(x))), 0.0);
    }
    let sign: Fun = Rc::new(|t, x| t.un(RealOp::Sign, &x));
    assert_eq!(derivatives(&mut t, &sign, 2, -3.0), [-1.0, 0.0, 0.0]);
    assert_eq!(number(backward(sign)(&mut t, real(-3.0))), 0.0);
    for op in [RealOp::Min, RealOp::Max] {
        let f = t.function(move |t, p| t.bin(op, &part(&p, 0), &part(&p, 1)));
        let mut gradient = |x, y| {
            let y = t.diff(DiffOp::Rd, [f.clone(), tuple2(real(x), real(y)), real(1.0)]);
            numbers(&y.unwrap())
        };
        assert_eq!(gradient(1.0, 1.0), [1.0, 0.0]);
        let first = if op == RealOp::Min { [1.0, 0.0] } else { [0.0, 1.0] };
        assert_eq!(gradient(1.0, 2.0), first);
        for (a, b) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(number(t.bin(op, &real(a), &real(b))).is_nan());
        }
    }
    // The number that was chosen depends on the variable that made the choice.
    let mut t = Eval::new(Kinks::Error);
    let seen: Fun = Rc::new(|t, x| {
        let y = t.bin(RealOp::Max, &x, &real(5.0))?;
        let equal = t.reals.compare(Comparison::Eq, &y, &real(5.0), site(9));
        equal.map(|_| y).map_err(|kind| t.error(kind, site(9)))
    });
    for f in [backward(seen.clone()), forward(seen.clone()), forward(backward(seen.clone()))] {
        let e = f(&mut t, real(1.0)).unwrap_err();
        assert!(matches!(e.kind, ErrorKind::Kink { op: "==", .. }), "{e:?}");
        assert_eq!(t.reals.depth(), 0, "an error leaves no level open");
    }
    assert_eq!(number(seen(&mut t, real(1.0))), 5.0);
}

#[test]
fn stop_gradient_stops_all_levels() {
    let mut t = Eval::new(Kinks::Ignore);
    for mode in [forward as fn(Fun) -> Fun, backward] {
        let f: Fun = Rc::new(|t, x| {
            let c = t.diff(DiffOp::StopGradient, [x.clone()])?;
            let y = t.bin(RealOp::Mul, &x, &c)?;
            t.bin(RealOp::Mul, &y, &x)
        });
        assert_eq!(number(mode(f.clone())(&mut t, real(3.0))), 18.0);
        assert_eq!(number(mode(backward(f))(&mut t, real(3.0))), 6.0);
    }
    let xs = reals(&[1.0, 2.0]);
    let ys = t.diff(DiffOp::StopGradient, [xs.clone()]).unwrap();
    match (&xs, &ys) {
        (Value::Array(a), Value::Array(b)) => assert!(Rc::ptr_eq(a, b)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kinks_are_reported_once_and_with_their_operands() {
    use RealOp::{Acos, Asin, Atan2, Div, Hypot, Log, Max, Pow, Rem, Sqrt};
    let mut t = Eval::new(Kinks::Error);
    let one = |op: RealOp| -> Fun { Rc::new(move |t, x| t.un(op, &x)) };
    let two = |op: RealOp, b: f64| -> Fun { Rc::new(move |t, x| t.bin(op, &x, &real(b))) };
    for (f, x) in [
        (one(RealOp::Abs), 0.0),
        (one(RealOp::Sign), 0.0),
        (one(Sqrt), 0.0),
        (one(Asin), 1.0),
        (one(Acos), -1.0),
        (two(Max, 2.0), 2.0),
        (two(Rem, 1.5), 3.0),
        (two(Pow, 0.5), 0.0),
        (two(Atan2, 0.0), 0.0),
        (two(Hypot, 0.0), 0.0),
    ] {
        assert!(f(&mut t, real(x)).is_ok(), "nothing is differentiated");
        for g in [forward(f.clone()), backward(f.clone()), backward(forward(f.clone()))] {
            let e = g(&mut t, real(x)).unwrap_err();
            assert!(matches!(e.kind, ErrorKind::Kink { .. }), "{e:?}");
        }
    }
    for (f, x) in [
        (one(Log), 0.0),
        (one(Sqrt), -1.0),
        (one(Asin), 1.5),
        (one(RealOp::Acosh), 0.5),
        (one(RealOp::Log1p), -1.0),
        (one(RealOp::Lgamma), -2.0),
        (one(RealOp::Polygamma(0)), 0.0),
        (two(Div, 0.0), 1.0),
        (two(Rem, 0.0), 1.0),
        (two(Pow, 0.5), -1.0),
        (two(Pow, -1.0), 0.0),
    ] {
        let e = f(&mut t, real(x)).unwrap_err();
        assert!(matches!(e.kind, ErrorKind::OutsideDomain { .. }), "{e:?}");
    }
    // Not outside: smooth there, or nan already.
    for (f, x) in [(two(Rem, 1.5), 0.0), (two(Pow, 2.0), 0.0), (one(Log), f64::NAN)] {
        assert!(backward(f)(&mut t, real(x)).is_ok());
    }
    let rounds = [(Rounding::Floor, 2.0), (Rounding::Round, 2.5), (Rounding::Trunc, -1.0)];
    for (r, x) in rounds {
        let f: Fun = Rc::new(move |t, x| {
            let n = t.reals.round(r, &x, site(1)).map_err(|kind| t.error(kind, site(1)))?;
            Ok(real(n as f64))
        });
        assert!(matches!(
            backward(f.clone())(&mut t, real(x)).unwrap_err().kind,
            ErrorKind::Kink { .. }
        ));
        assert_eq!(number(backward(f)(&mut t, real(0.25))), 0.0);
    }
    let mut t = Eval::new(Kinks::Warn);
    let f: Fun = Rc::new(|t, x| {
        let y = t.at(RealOp::Abs, &x, &Value::Unit, 5)?;
        let y = t.at(RealOp::Abs, &y, &Value::Unit, 5)?;
        t.at(RealOp::Max, &y, &x, 6)
    });
    assert_eq!(number(forward(backward(f))(&mut t, real(0.0))), 0.0);
    let seen: Vec<_> = t.reals.warnings.iter().map(|(k, s)| (format!("{k:?}"), s.start)).collect();
    let expected = [
        ("Kink { op: \"abs\", operands: [0.0] }", 5),
        ("Kink { op: \"max\", operands: [0.0, 0.0] }", 6),
    ];
    assert_eq!(seen, expected.map(|(k, s)| (k.to_string(), s)));
}

#[test]
fn rounding_and_sorting() {
    let mut t = Eval::new(Kinks::Error);
    let mut round = |r, x| t.reals.round(r, &real(x), site(0));
    assert_eq!(round(Rounding::Round, -2.5).unwrap(), -3);
    assert_eq!(round(Rounding::Floor, -2.5).unwrap(), -3);
    assert_eq!(round(Rounding::Ceil, -2.5).unwrap(), -2);
    assert_eq!(round(Rounding::Trunc, -2.5).unwrap(), -2);
    assert_eq!(round(Rounding::Trunc, -2f64.powi(63)).unwrap(), i64::MIN);
    for x in [f64::NAN, f64::INFINITY, 2f64.powi(63)] {
        assert!(matches!(round(Rounding::Floor, x), Err(ErrorKind::NotAnInt { op: "floor", .. })));
    }
    let xs = Array::from_reals(vec![2.0, f64::NAN, 1.0, 2.0, -0.0, 0.0]);
    assert_eq!(t.reals.argsort(&xs, site(0)).unwrap(), [4, 5, 2, 0, 3, 1]);
    let f: Fun = Rc::new(|t, x| {
        let xs = Array::from_values([x.clone(), real(1.0), real(1.0)]).unwrap();
        let order = t.reals.argsort(&xs, site(0)).map_err(|kind| t.error(kind, site(0)))?;
        Ok(xs.get(order[0] as usize))
    });
    assert_eq!(number(backward(f.clone())(&mut t, real(0.5))), 1.0);
    let e = backward(f)(&mut t, real(1.0)).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::Kink { op: "sort", .. }));
}

#[test]
fn the_cause_of_a_nan_is_named() {
    // sqrt(x * x) at 0, in every mode.
    let f: Fun = Rc::new(|t, x| {
        let square = t.at(RealOp::Mul, &x, &x, 1)?;
        t.at(RealOp::Sqrt, &square, &Value::Unit, 2)
    });
    let named = |t: &Eval| match t.reals.warnings.as_slice() {
        [(WarningKind::NanDerivative { op, operands }, s)] => (*op, operands.clone(), s.start),
        other => panic!("{other:?}"),
    };
    for g in [forward(f.clone()), backward(f.clone())] {
        let mut t = Eval::new(Kinks::Ignore);
        assert!(number(g(&mut t, real(0.0))).is_nan());
        assert_eq!(named(&t), ("sqrt", vec![0.0], 2));
    }
    let mut t = Eval::new(Kinks::Ignore);
    assert!(derivatives(&mut t, &f, 3, 0.0)[1].is_nan());
    assert_eq!(named(&t), ("sqrt", vec![0.0], 2));
    // Under checkpoint, too.
    let mut t = Eval::new(Kinks::Ignore);
    let h = f.clone();
    let g: Fun = Rc::new(move |t, x| {
        let h = h.clone();
        let h = t.function(move |t, x| h(t, x));
        t.diff(DiffOp::Checkpoint, [h, x])
    });
    assert!(number(backward(g)(&mut t, real(0.0))).is_nan());
    assert_eq!(named(&t), ("sqrt", vec![0.0], 2));
    // No warning where the value is not finite, or the branch does not count.
    let mut t = Eval::new(Kinks::Ignore);
    let dead: Fun = Rc::new(move |t, x| {
        f(t, x.clone())?;
        t.un(RealOp::Sin, &x)
    });
    assert_eq!(number(backward(dead.clone())(&mut t, real(0.0))), 1.0);
    assert_eq!(number(forward(dead)(&mut t, real(0.0))), 1.0);
    let log: Fun = Rc::new(|t, x| {
        let y = t.bin(RealOp::Mul, &x, &x)?;
        t.un(RealOp::Log, &y)
    });
    assert!(number(backward(log)(&mut t, real(0.0))).is_nan());
    assert!(t.reals.warnings.is_empty());
}

/// x³ by a rule with the wrong factor 10 in it, so that its use shows.
fn with_rule(t: &mut Eval, c: Value, x: Value) -> Res {
    let f = t.closure(vec![c.clone()], |t, c, x| {
        let y = t.pow(&x, 3)?;
        t.bin(RealOp::Mul, &c[0], &y)
    });
    let rule = t.closure(vec![c], |t, c, p| {
        let (x, v) = (part(&p, 0), part(&p, 1));
        let y = t.pow(&x, 3)?;
        let y = t.bin(RealOp::Mul, &c[0], &y)?;
        let w = t.pow(&x, 2)?;
        let w = t.bin(RealOp::Mul, &w, &v)?;
        let w = t.bin(RealOp::Mul, &real(30.0), &w)?;
        let w = t.bin(RealOp::Mul, &c[0], &w)?;
        Ok(tuple2(y, w))
    });
    t.diff(DiffOp::WithDerivative, [f, rule, x])
}

#[test]
fn a_rule_of_the_program_is_used_and_transposed() {
    let mut t = Eval::new(Kinks::Ignore);
    let f: Fun = Rc::new(|t, x| with_rule(t, real(1.0), x));
    assert_eq!(number(f(&mut t, real(2.0))), 8.0);
    for mode in [forward as fn(Fun) -> Fun, backward] {
        assert_eq!(number(mode(f.clone())(&mut t, real(2.0))), 120.0);
        // The rule's second component is differentiated: d/dx 30 x².
        assert_eq!(number(forward(mode(f.clone()))(&mut t, real(2.0))), 120.0);
        assert_eq!(number(backward(mode(f.clone()))(&mut t, real(2.0))), 120.0);
        // What f captures is differentiated through the first component: d/dc c·8.
        let captured: Fun = Rc::new(|t, c| with_rule(t, c, real(2.0)));
        assert_eq!(number(mode(captured)(&mut t, real(1.0))), 8.0);
        // Both at once: d/dx x·x³ is x³ + x·30x².
        let both: Fun = Rc::new(|t, x| with_rule(t, x.clone(), x));
        assert_eq!(number(mode(both)(&mut t, real(2.0))), 8.0 + 240.0);
    }
    // 8, 30x², 60x, 60 by one Taylor pass.
    assert_eq!(derivatives(&mut t, &f, 4, 2.0), [8.0, 120.0, 120.0, 60.0, 0.0]);
    // y = c x³ with c = x: y' = x³ + c·30x² = 31 x³; y'' = 93 x², …
    let both: Fun = Rc::new(|t, x| with_rule(t, x.clone(), x));
    let got = derivatives(&mut t, &both, 4, 2.0);
    for (got, expected) in got.iter().zip([16.0, 248.0, 372.0, 372.0, 186.0]) {
        assert_close("c and x", *got, expected, 1e-14);
    }
    assert_eq!(t.reals.depth(), 0);
}

/// n times x ← sin(c x), under checkpoints of m steps.
fn steps(t: &mut Eval, c: Value, x: Value, n: usize, m: usize) -> Res {
    let mut x = x;
    for _ in 0..n / m {
        let block = t.closure(vec![c.clone()], move |t, c, x| {
            let mut x = x;
            for _ in 0..m {
                x = t.bin(RealOp::Mul, &c[0], &x)?;
                x = t.un(RealOp::Sin, &x)?;
            }
            Ok(x)
        });
        x = match m {
            1 => t.call(&block, x)?,
            _ => t.diff(DiffOp::Checkpoint, [block, x])?,
        };
    }
    Ok(x)
}

#[test]
fn a_checkpoint_keeps_fewer_entries_and_changes_no_derivative() {
    let plain = |n| -> Fun { Rc::new(move |t, x| steps(t, x.clone(), x, n, 1)) };
    let saving = |n, m| -> Fun { Rc::new(move |t, x| steps(t, x.clone(), x, n, m)) };
    let mut t = Eval::new(Kinks::Ignore);
    let expected = number(backward(plain(900))(&mut t, real(1.2)));
    assert_eq!(t.reals.longest_tape(), 1800);
    let mut t = Eval::new(Kinks::Ignore);
    assert_eq!(number(backward(saving(900, 30))(&mut t, real(1.2))), expected);
    assert_eq!(t.reals.longest_tape(), 60);
    // Higher orders in every combination, and a checkpoint within a checkpoint.
    let f = plain(12);
    let nested: Fun = Rc::new(|t, x| {
        let block = t.closure(vec![x.clone()], |t, c, x| steps(t, c[0].clone(), x, 12, 4));
        t.diff(DiffOp::Checkpoint, [block, x])
    });
    for g in [saving(12, 4), nested] {
        for modes in 0..8 {
            let (mut f, mut g) = (f.clone(), g.clone());
            for i in 0..3 {
                let mode = if modes >> i & 1 == 0 { forward } else { backward };
                (f, g) = (mode(f), mode(g));
                let [f, g] = [&f, &g].map(|f| number(f(&mut t, real(1.2))));
                assert_close(&format!("order {}, modes {modes:b}", i + 1), f, g, 1e-12);
            }
        }
    }
    // A pullback that depends on the variable is captured by the block.
    let f = |checkpoint: bool| -> Fun {
        Rc::new(move |t, x| {
            let h = x.clone();
            let cube = t.closure(vec![h], |t, c, y| {
                let y = t.bin(RealOp::Mul, &y, &c[0])?;
                t.diff_checkpointed_cube(y)
            });
            let p = part(&t.diff(DiffOp::Vjp, [cube, x.clone()])?, 1);
            let block = t.closure(vec![p], |t, c, x| t.call(&c[0], x));
            match checkpoint {
                true => t.diff(DiffOp::Checkpoint, [block, x]),
                false => t.call(&block, x),
            }
        })
    };
    // The pullback of (c y)³ at y = x with c = x is 3 x⁵ c̄, with c̄ = x: 3 x⁶.
    for modes in 0..4 {
        let mode = |i: u32| if modes >> i & 1 == 0 { forward } else { backward };
        for checkpointed in [false, true] {
            let once = mode(0)(f(checkpointed));
            assert_close("first", number(once(&mut t, real(1.1))), 18.0 * 1.1f64.powi(5), 1e-12);
            let twice = number(mode(1)(once)(&mut t, real(1.1)));
            assert_close("second", twice, 90.0 * 1.1f64.powi(4), 1e-12);
        }
    }
    assert_eq!(t.reals.depth(), 0);
}

impl Eval {
    fn diff_checkpointed_cube(&mut self, y: Value) -> Res {
        let cube = self.function(|t, y| t.pow(&y, 3));
        self.diff(DiffOp::Checkpoint, [cube, y])
    }
}

#[test]
fn jets_of_several_variables_agree_with_nested_pushforwards() {
    let mut t = Eval::new(Kinks::Ignore);
    // exp(x y) · sin(z) + x / (y + 2) ^ z
    let body = |t: &mut Eval, v: &[Value]| -> Res {
        let [x, y, z] = v else { panic!() };
        let a = t.bin(RealOp::Mul, x, y)?;
        let a = t.un(RealOp::Exp, &a)?;
        let b = t.un(RealOp::Sin, z)?;
        let a = t.bin(RealOp::Mul, &a, &b)?;
        let c = t.bin(RealOp::Add, y, &real(2.0))?;
        let c = t.bin(RealOp::Pow, &c, z)?;
        let c = t.bin(RealOp::Div, x, &c)?;
        t.bin(RealOp::Add, &a, &c)
    };
    let point = [0.3, 0.8, 1.7];
    for (k, r) in [(2usize, 2u32), (3, 3), (1, 4), (2, 0)] {
        let f = t.function(move |t, p| {
            let mut v = p.fields().to_vec();
            v.extend(point[v.len()..].iter().map(|x| real(*x)));
            body(t, &v)
        });
        let indices: Vec<Vec<u32>> = indices(k, r);
        let input = (0..3).map(|i| {
            let seed = indices.iter().map(|alpha| match alpha.iter().sum::<u32>() {
                0 => point[i],
                1 if i < k && alpha[i] == 1 => 1.0,
                _ => 0.0,
            });
            reals(&seed.collect::<Vec<_>>())
        });
        let input: Vec<Value> = input.collect();
        let jet = t.diff(DiffOp::Jet { k: k as u32, r }, [f, Value::tuple(input)]).unwrap();
        let jet = numbers(&jet);
        assert_eq!(jet.len(), indices.len());
        for (alpha, got) in indices.iter().zip(jet) {
            let mut g: Body = Rc::new(move |t, v, _| body(t, v));
            for (i, n) in alpha.iter().enumerate() {
                for _ in 0..*n {
                    let h = g.clone();
                    g = Rc::new(move |t, v, _| {
                        let (h, v) = (h.clone(), v.to_vec());
                        let x = v[i].clone();
                        let along = t.closure(v, move |t, v, x| {
                            let mut v = v.to_vec();
                            v[i] = x;
                            h(t, &v, Value::Unit)
                        });
                        Ok(part(&t.diff(DiffOp::Jvp, [along, x, real(1.0)])?, 1))
                    });
                }
            }
            let expected = number(g(&mut t, &point.map(real), Value::Unit));
            assert_close(&format!("∂^{alpha:?}"), got, expected, 1e-12);
        }
    }
    // A wrong number of derivatives is an error, and arrays of Reals are arrays of rows.
    let id = t.function(|_, x| Ok(x));
    let e = t.diff(DiffOp::Jet { k: 1, r: 2 }, [id.clone(), reals(&[1.0, 2.0])]).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::SizeMismatch { expected: 3, found: 2, .. }));
    let flat = Array::from_reals((0..12).map(f64::from).collect());
    let rows = Value::array(Array::rows(2, 2, Array::rows(4, 3, flat)));
    let point = Value::tuple([rows, Value::Int(3), Value::array(Array::from_ints(vec![1]))]);
    let y = t.diff(DiffOp::Jet { k: 1, r: 2 }, [id, point]).unwrap();
    assert_eq!(numbers(&y), (0..12).map(f64::from).collect::<Vec<_>>());
    let Value::Array(a) = part(&y, 0) else { panic!() };
    assert_eq!((a.len(), a.width()), (2, Some(2)));
}

/// Multi-indices in lexicographic order.
fn indices(k: usize, r: u32) -> Vec<Vec<u32>> {
    if k == 0 {
        return vec![vec![]];
    }
    let mut out = vec![];
    for first in 0..=r {
        for mut rest in indices(k - 1, r - first) {
            rest.insert(0, first);
            out.push(rest);
        }
    }
    out
}

#[test]
fn a_derivative_costs_a_constant_times_the_function() {
    // y ← y + y, n times: the entries are shared, not copied.
    let mut costs = vec![];
    for n in [100, 200] {
        let mut t = Eval::new(Kinks::Ignore);
        let f: Fun = Rc::new(move |t, x| {
            let mut y = x;
            for _ in 0..n {
                y = t.bin(RealOp::Add, &y, &y)?;
            }
            Ok(y)
        });
        assert_eq!(number(backward(f)(&mut t, real(1.0))), 2f64.powi(n));
        costs.push(t.reals.operations);
    }
    assert!(costs[0] < 1000 && costs[1] < 2 * costs[0] + 10, "{costs:?}");
}

#[test]
fn levels_nest_deeply() {
    let mut t = Eval::new(Kinks::Ignore);
    fn nested(t: &mut Eval, n: usize, x: Value) -> Res {
        if n == 0 {
            return t.bin(RealOp::Mul, &x, &x);
        }
        let f = t.function(move |t, x| deep(|| nested(t, n - 1, x)));
        Ok(part(&t.diff(DiffOp::Jvp, [f, x, real(0.0)])?, 0))
    }
    assert_eq!(number(nested(&mut t, 5_000, real(3.0))), 9.0);
    let e = nested(&mut t, 10_001, real(3.0)).unwrap_err();
    assert!(matches!(e.kind, ErrorKind::TooDeep { .. }), "{e:?}");
    assert_eq!(t.reals.depth(), 0);
}
