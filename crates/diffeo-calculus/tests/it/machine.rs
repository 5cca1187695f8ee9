//! Programs run: every form of term, calls of every kind, constants, sizes, errors with their place.

use crate::support::*;
use diffeo_base::Name;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::Event;
use diffeo_calculus::prim::{Comparison, IntOp, Prim, Rounding, SizePattern, SizeRef, SizeShape};
use diffeo_calculus::term::{Arm, Case, GlobalId, Term, TermKind};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;
use std::rc::Rc;

fn int_to_int() -> Ty {
    Ty::fun(Ty::Int, Ty::Int)
}

/// `fib`, for the definition with this number.
fn fib(me: u32) -> Term {
    lam(Ty::Int, |n| {
        if_(
            ilt(n.clone(), int(2)),
            n.clone(),
            iadd(app(global(me), isub(n.clone(), int(1))), app(global(me), isub(n, int(2)))),
        )
    })
}

#[test]
fn arithmetic() {
    assert_eq!(show(Ty::Real, add(real(1.0), mul(real(2.0), real(3.5)))), "8.0");
    assert_eq!(show(Ty::Int, isub(int(3), imul(int(4), int(5)))), "-17");
    assert_eq!(show(Ty::Int, int2(IntOp::Div, int(-7), int(2))), "-3");
    assert_eq!(show(Ty::Int, prim(Prim::Int(IntOp::Neg), vec![int(7)])), "-7");
    assert_eq!(show(Ty::Real, div(sin(real(0.0)), to_real(int(3)))), "0.0");
    assert_eq!(show(Ty::Real, prim(Prim::PowInt, vec![real(2.0), int(-2)])), "0.25");
    assert_eq!(show(Ty::Int, prim(Prim::Round(Rounding::Round), vec![real(2.5)])), "3");
    assert_eq!(show(Ty::Bool, prim(Prim::IsNan, vec![real(f64::NAN)])), "true");
    assert_eq!(show(Ty::Bool, prim(Prim::Not, vec![ilt(int(1), int(2))])), "false");
    assert_eq!(show(Ty::Bool, lt(real(f64::NAN), real(2.0))), "false");
    assert_eq!(show(Ty::String, prim(Prim::AppendStrings, vec![text("a"), text("b")])), "\"ab\"");
    let shown = prim(Prim::Show(Ty::Real), vec![real(1.0)]);
    assert_eq!(show(Ty::String, shown), "\"1.0\"");
    assert_eq!(show(Ty::Unit, unit()), "()");
}

#[test]
fn errors_of_operations() {
    let overflow = int2(IntOp::Mul, int(i64::MAX), int(2));
    assert!(show(Ty::Int, overflow).starts_with("overflow:"));
    assert!(show(Ty::Int, iadd(int(i64::MAX), int(1))).starts_with("overflow:"));
    assert!(show(Ty::Int, int2(IntOp::Rem, int(1), int(0))).starts_with("division-by-zero:"));
    let floor = prim(Prim::Round(Rounding::Floor), vec![real(f64::INFINITY)]);
    assert!(show(Ty::Int, floor).starts_with("not-an-int:"));
    assert!(show(Ty::Int, int2(IntOp::ShiftLeft, int(1), int(64))).starts_with("shift-out"));
    let xs = || array(Ty::Real, vec![real(1.0), real(2.0)]);
    for i in [-1, 2] {
        assert!(show(Ty::Real, index(Ty::Real, xs(), int(i))).starts_with("index-out-of-bounds"));
        let updated = update(reals_ty(), xs(), int(i), real(0.0));
        assert!(show(reals_ty(), updated).starts_with("index-out-of-bounds"));
    }
    assert!(show(reals_ty(), slice(Ty::Real, xs(), int(1), int(3))).starts_with("slice-out"));
    assert!(show(ints_ty(), build(Ty::Int, int(-1), |i| i)).starts_with("negative-count"));
    assert_eq!(show(Ty::Int, fail(Ty::Int, "no")), "fail: no");
    let three = array(Ty::Real, vec![real(1.0), real(2.0), real(3.0)]);
    assert_eq!(
        show(reals_ty(), prim(Prim::Add(reals_ty()), vec![xs(), three])),
        "size-mismatch: the sizes 2 and 3 differ: `+` of arrays"
    );
    let irregular = build(ints_ty(), int(3), |i| build(Ty::Int, i, |j| j));
    assert!(show(Ty::array(ints_ty()), irregular).starts_with("irregular-rows"));
}

#[test]
fn recursion_and_calls() {
    let shown = show_in(vec![("fib", int_to_int(), fib(0))], Ty::Int, app(global(0), int(20)));
    assert_eq!(shown, "6765");
    // even and odd call each other.
    let other = |me: u32, base: bool| {
        lam(Ty::Int, move |n| {
            let smaller = isub(n.clone(), int(1));
            if_(ieq(n, int(0)), boolean(base), app(global(1 - me), smaller))
        })
    };
    let ty = Ty::fun(Ty::Int, Ty::Bool);
    let definitions = vec![("even", ty.clone(), other(0, true)), ("odd", ty, other(1, false))];
    assert_eq!(show_in(definitions, Ty::Bool, app(global(0), int(1_000_001))), "false");
}

#[test]
fn ten_million_tail_calls_take_no_space() {
    let state = [Ty::Int, Ty::Int];
    let sum_to = letrec(
        tuple_ty(&state),
        Ty::Int,
        |go, p| {
            split(&tuple_ty(&state), p, |v| {
                let next = vec![isub(v[0].clone(), int(1)), iadd(v[1].clone(), v[0].clone())];
                if_(ieq(v[0].clone(), int(0)), v[1].clone(), app(go, tuple(&state, next)))
            })
        },
        |go| app(go, tuple(&state, vec![int(10_000_000), int(0)])),
    );
    assert_eq!(show(Ty::Int, sum_to), "50000005000000");
}

#[test]
fn a_million_calls_nest() {
    let sum_to = lam(Ty::Int, |n| {
        let rest = app(global(0), isub(n.clone(), int(1)));
        if_(ieq(n.clone(), int(0)), int(0), iadd(n, rest))
    });
    let definitions = vec![("sum_to", int_to_int(), sum_to)];
    assert_eq!(show_in(definitions, Ty::Int, app(global(0), int(1_000_000))), "500000500000");
}

#[test]
fn recursion_without_end_is_an_error() {
    let down = lam(Ty::Int, |n| iadd(int(1), app(global(0), n)));
    let main = at(7, app(global(0), int(0)));
    let program = program(vec![("down", int_to_int(), down), ("main", Ty::Int, main)]);
    let mut machine = machine(&program);
    let error = machine.eval_global(GlobalId(1)).expect_err("no end");
    let ErrorKind::TooDeep { depth, function } = &error.kind else { panic!("{error:?}") };
    assert!(*depth > 5_000_000, "{depth}");
    assert_eq!(function, "down");
    assert_eq!(error.trace.len(), 64);
    // The machine can go on.
    assert!(machine.eval_global(GlobalId(1)).is_err());
}

#[test]
fn functions_are_values() {
    // compose(fn x -> x + 1, fn x -> x * 2)(5)
    let fun = int_to_int();
    let compose = lam_of(&[fun.clone(), fun.clone()], |fs| {
        let (f, g) = (fs[0].clone(), fs[1].clone());
        lam(Ty::Int, |x| app(g, app(f, x)))
    });
    let ty = Ty::fun(tuple_ty(&[fun.clone(), fun.clone()]), fun.clone());
    let plus = lam(Ty::Int, |x| iadd(x, int(1)));
    let both = app(global(0), tuple(&[fun.clone(), fun.clone()], vec![plus, global(1)]));
    let definitions =
        vec![("compose", ty, compose), ("twice", fun.clone(), lam(Ty::Int, |x| imul(x, int(2))))];
    assert_eq!(show_in(definitions, Ty::Int, app(both, int(5))), "12");
    // Arguments in one piece for a function that takes them apart, and the other way round.
    let pair = [Ty::Int, Ty::Int];
    let ty = tuple_ty(&pair);
    let minus = || lam_of(&pair, |v| isub(v[0].clone(), v[1].clone()));
    let whole = lam(ty.clone(), |p| p);
    let called = let_(Ty::fun(ty.clone(), ty.clone()), whole, |whole| {
        let_(Ty::fun(ty.clone(), Ty::Int), minus(), |minus| {
            app(minus, app(whole, tuple(&pair, vec![int(7), int(2)])))
        })
    });
    assert_eq!(show(Ty::Int, called), "5");
}

#[test]
fn a_nested_parameter_is_taken_apart() {
    let inner = [Ty::Int, Ty::Int];
    let outer = [tuple_ty(&inner), Ty::Int];
    let f = lam_of(&outer, |v| {
        let (first, last) = (v[0].clone(), v[1].clone());
        split(&tuple_ty(&inner), first, |w| {
            iadd(imul(w[0].clone(), int(100)), iadd(imul(w[1].clone(), int(10)), last))
        })
    });
    let ty = Ty::fun(tuple_ty(&outer), Ty::Int);
    let arg = || tuple(&outer, vec![tuple(&inner, vec![int(1), int(2)]), int(3)]);
    let definitions = || vec![("f", ty.clone(), f.clone())];
    assert_eq!(show_in(definitions(), Ty::Int, app(global(0), arg())), "123");
    // As a value it is called with a tuple, and with a tuple in a tuple.
    let called = let_(ty.clone(), global(0), |f| app(f, arg()));
    assert_eq!(show_in(definitions(), Ty::Int, called), "123");
    let called = let_(tuple_ty(&outer), arg(), |arg| {
        let_(ty.clone(), global(0), |f| iadd(app(f, arg.clone()), proj(&tuple_ty(&outer), 1, arg)))
    });
    assert_eq!(show_in(definitions(), Ty::Int, called), "126");
}

#[test]
fn recursive_closures() {
    // let rec count(n) = if n == 0 then k else count(n - 1), with k captured, used in an inner function.
    let body = let_(Ty::Int, int(5), |k| {
        letrec(
            Ty::Int,
            Ty::Int,
            |go, n| {
                let inner = lam(Ty::Int, |m| app(go, m));
                let_(int_to_int(), inner, |inner| {
                    let next = iadd(int(1), app(inner, isub(n.clone(), int(1))));
                    if_(ieq(n, int(0)), k.clone(), next)
                })
            },
            |go| app(go, int(10)),
        )
    });
    assert_eq!(show(Ty::Int, body), "15");
    // The function as a value inside itself.
    let applied = |f: Term, x: Term| {
        let ty = tuple_ty(&[int_to_int(), Ty::Int]);
        app(
            lam(ty.clone(), |p| app(proj(&ty, 0, p.clone()), proj(&ty, 1, p))),
            tuple(&[int_to_int(), Ty::Int], vec![f, x]),
        )
    };
    let body = letrec(
        Ty::Int,
        Ty::Int,
        |go, n| {
            let next = iadd(int(2), applied(go, isub(n.clone(), int(1))));
            if_(ieq(n, int(0)), int(0), next)
        },
        |go| app(go, int(10)),
    );
    assert_eq!(show(Ty::Int, body), "20");
}

#[test]
fn tail_calls_through_closures() {
    let body = letrec(
        tuple_ty(&[Ty::Int, int_to_int()]),
        Ty::Int,
        |go, p| {
            split(&tuple_ty(&[Ty::Int, int_to_int()]), p, |v| {
                let (n, k) = (v[0].clone(), v[1].clone());
                let again =
                    lam(Ty::Int, |m| app(go, tuple(&[Ty::Int, int_to_int()], vec![m, k.clone()])));
                let_(int_to_int(), again, |again| {
                    let next = app(again, isub(n.clone(), int(1)));
                    if_(ieq(n.clone(), int(0)), app(k, n), next)
                })
            })
        },
        |go| {
            let last = lam(Ty::Int, |n| iadd(n, int(3)));
            app(go, tuple(&[Ty::Int, int_to_int()], vec![int(1_000_000), last]))
        },
    );
    let program = program(vec![("main", Ty::Int, body)]);
    let options = diffeo_calculus::eval::Options { max_stack: 10_000, ..Default::default() };
    let mut machine = diffeo_calculus::eval::Machine::new(program, options);
    assert!(matches!(machine.eval_global(GlobalId(0)), Ok(Value::Int(3))));
}

#[test]
fn data_and_cases() {
    let list = || cons(Ty::Int, int(1), cons(Ty::Int, int(2), nil(Ty::Int)));
    assert_eq!(show(list_ty(Ty::Int), list()), "list[1, 2]");
    let total = letrec(
        list_ty(Ty::Int),
        Ty::Int,
        |go, l| case_list(Ty::Int, l, int(0), |h, t| iadd(h, app(go, t))),
        |go| app(go, list()),
    );
    assert_eq!(show(Ty::Int, total), "3");
    let from = |m: Term| case_maybe(Ty::Int, m, int(-1), |x| x);
    assert_eq!(show(Ty::Int, from(just(Ty::Int, int(4)))), "4");
    assert_eq!(show(Ty::Int, from(nothing(Ty::Int))), "-1");
    let with_default = |scrutinee: Term| {
        let data = (DataId(1), Rc::new([Ty::Int]) as Rc<[Ty]>);
        let arms = vec![Arm { tag: 0, binders: vec![], body: int(10) }];
        let default = Some(int(20));
        term(TermKind::Case(Box::new(Case { scrutinee, data, arms, default })))
    };
    assert_eq!(show(Ty::Int, with_default(nothing(Ty::Int))), "10");
    assert_eq!(show(Ty::Int, with_default(just(Ty::Int, int(1)))), "20");
}

#[test]
fn loops() {
    let power = loop_(Ty::Int, int(1), int(10), |s, _| imul(s, int(2)));
    assert_eq!(show(Ty::Int, power), "1024");
    let none = loop_(Ty::Int, int(1), int(-3), |s, _| imul(s, int(2)));
    assert_eq!(show(Ty::Int, none), "1");
    let below = while_(Ty::Int, int(1), |s| ilt(s, int(100)), |s| imul(s, int(3)));
    assert_eq!(show(Ty::Int, below), "243");
    // The components of the state change places.
    let pair = [Ty::Int, Ty::Int];
    let swapped = loop_of(&pair, vec![int(1), int(2)], int(3), |v, _| {
        tuple(&pair, vec![v[1].clone(), v[0].clone()])
    });
    assert_eq!(show(tuple_ty(&pair), swapped), "(2, 1)");
    let fibonacci = loop_of(&pair, vec![int(0), int(1)], int(50), |v, _| {
        tuple(&pair, vec![v[1].clone(), iadd(v[0].clone(), v[1].clone())])
    });
    assert_eq!(show(Ty::Int, proj(&tuple_ty(&pair), 0, fibonacci)), "12586269025");
    // The next state comes from a call, from a branch, and is the old one.
    let ty = tuple_ty(&pair);
    let step = lam_of(&pair, |v| tuple(&pair, vec![iadd(v[0].clone(), v[1].clone()), int(3)]));
    let called = loop_(ty.clone(), tuple(&pair, vec![int(0), int(1)]), int(4), |s, i| {
        let moved =
            app(global(0), tuple(&pair, vec![proj(&ty, 0, s.clone()), proj(&ty, 1, s.clone())]));
        if_(ieq(i, int(2)), s, moved)
    });
    let definitions = vec![("step", Ty::fun(ty.clone(), ty.clone()), step)];
    assert_eq!(show_in(definitions, ty.clone(), called), "(7, 3)");
    // A state that is needed in one piece.
    let whole = loop_(ty.clone(), tuple(&pair, vec![int(0), int(1)]), int(4), |s, _| {
        let_(Ty::String, prim(Prim::Show(ty.clone()), vec![s.clone()]), |_| {
            tuple(&pair, vec![proj(&ty, 1, s.clone()), proj(&ty, 0, s)])
        })
    });
    assert_eq!(show(ty, whole), "(0, 1)");
}

/// A part of a component that is also needed in one piece.
#[test]
fn a_variable_names_a_part_of_a_component() {
    let (inner, outer) = ([Ty::Int, Ty::Int], [Ty::Int, tuple_ty(&[Ty::Int, Ty::Int])]);
    let (inner_ty, outer_ty) = (tuple_ty(&inner), tuple_ty(&outer));
    let types = [Ty::Int, outer_ty.clone()];
    let ty = tuple_ty(&types);
    let start = tuple(&outer, vec![int(1), tuple(&inner, vec![int(2), int(3)])]);
    let looped = loop_(ty.clone(), tuple(&types, vec![int(0), start]), int(3), |s, _| {
        let part = proj(&outer_ty, 1, proj(&ty, 1, s.clone()));
        let sum = let_(inner_ty.clone(), part, |part| {
            iadd(proj(&inner_ty, 0, part.clone()), proj(&inner_ty, 1, part))
        });
        let whole = let_(Ty::Unit, unit(), |_| proj(&ty, 1, s.clone()));
        tuple(&types, vec![iadd(proj(&ty, 0, s), sum), whole])
    });
    assert_eq!(show(ty, looped), "(15, (1, (2, 3)))");
}

#[test]
fn nested_states_and_inner_loops() {
    let inner = [Ty::Int, Ty::Int];
    let outer = [tuple_ty(&inner), Ty::Int];
    let looped =
        loop_of(&outer, vec![tuple(&inner, vec![int(0), int(1)]), int(0)], int(5), |v, i| {
            split(&tuple_ty(&inner), v[0].clone(), |w| {
                let sum = loop_(Ty::Int, w[0].clone(), i, iadd);
                let both = tuple(&inner, vec![w[1].clone(), sum]);
                tuple(&outer, vec![both, iadd(v[1].clone(), w[0].clone())])
            })
        });
    // (0,1) 0 -> (1,0) 0 -> (0,1) 1 -> (1,1) 1 -> (1,4) 2 -> (4,7) 3
    assert_eq!(show(tuple_ty(&outer), looped), "((4, 7), 3)");
}

#[test]
fn arrays() {
    let squares = || build(Ty::Int, int(4), |i| imul(i.clone(), i));
    assert_eq!(show(ints_ty(), squares()), "[0, 1, 4, 9]");
    assert_eq!(show(ints_ty(), build(Ty::Int, int(0), |i| i)), "[]");
    assert_eq!(show(Ty::Int, length(Ty::Int, squares())), "4");
    assert_eq!(show(ints_ty(), slice(Ty::Int, squares(), int(1), int(3))), "[1, 4]");
    assert_eq!(show(ints_ty(), update(ints_ty(), squares(), int(1), int(7))), "[0, 7, 4, 9]");
    assert_eq!(show(Ty::Int, sum(Ty::Int, squares())), "14");
    let both = prim(Prim::Append(Ty::Int), vec![squares(), squares()]);
    assert_eq!(show(ints_ty(), both), "[0, 1, 4, 9, 0, 1, 4, 9]");
    let order = prim(Prim::ArgSort(Ty::Int), vec![array(Ty::Int, vec![int(3), int(1), int(2)])]);
    assert_eq!(show(ints_ty(), order), "[1, 2, 0]");
    let words = array(Ty::String, vec![text("b"), text("a")]);
    assert_eq!(show(ints_ty(), prim(Prim::ArgSort(Ty::String), vec![words])), "[1, 0]");
    let order = prim(
        Prim::ArgSort(Ty::Real),
        vec![array(Ty::Real, vec![real(f64::NAN), real(2.0), real(-1.0)])],
    );
    assert_eq!(show(ints_ty(), order), "[2, 1, 0]");
    let matrix = || {
        build(ints_ty(), int(2), |i| build(Ty::Int, int(3), |j| iadd(imul(i.clone(), int(3)), j)))
    };
    let ty = Ty::array(ints_ty());
    assert_eq!(show(ints_ty(), index(ints_ty(), matrix(), int(1))), "[3, 4, 5]");
    let changed = prim(Prim::Update(ty.clone()), vec![matrix(), int(1), int(0), int(9)]);
    assert_eq!(show(ty.clone(), changed), "[[0, 1, 2], [9, 4, 5]]");
    let changed = prim(Prim::Update(ty.clone()), vec![matrix(), int(1), int(-1), int(9)]);
    assert!(show(ty.clone(), changed).starts_with("index-out-of-bounds: index -1 "));
    let own_row = let_(ty.clone(), matrix(), |m| {
        update(ty.clone(), m.clone(), int(0), index(ints_ty(), m, int(1)))
    });
    assert_eq!(show(ty, own_row), "[[3, 4, 5], [3, 4, 5]]");
}

#[test]
fn sums_start_from_the_left_and_keep_the_shape_of_nothing() {
    let xs = array(Ty::Real, vec![real(1e100), real(1.0), real(-1e100)]);
    assert_eq!(show(Ty::Real, sum(Ty::Real, xs)), "0.0");
    assert_eq!(show(Ty::Real, sum(Ty::Real, build(Ty::Real, int(0), to_real))), "0.0");
    let matrix =
        || build(reals_ty(), int(2), |i| build(Ty::Real, int(3), |j| to_real(iadd(i.clone(), j))));
    assert_eq!(show(reals_ty(), sum(reals_ty(), matrix())), "[1.0, 3.0, 5.0]");
    let no_rows = slice(reals_ty(), matrix(), int(1), int(1));
    assert_eq!(show(reals_ty(), sum(reals_ty(), no_rows)), "[0.0, 0.0, 0.0]");
    let pair = tuple_ty(&[Ty::Real, reals_ty()]);
    let pairs = || {
        build(pair.clone(), int(2), |i| {
            let row = build(Ty::Real, int(2), to_real);
            tuple(&[Ty::Real, reals_ty()], vec![to_real(i), row])
        })
    };
    assert_eq!(show(pair.clone(), sum(pair.clone(), pairs())), "(1.0, [0.0, 2.0])");
    let none = slice(pair.clone(), pairs(), int(0), int(0));
    assert_eq!(show(pair.clone(), sum(pair.clone(), none)), "(0.0, [0.0, 0.0])");
    let cube = build(Ty::array(reals_ty()), int(2), |_| matrix());
    assert_eq!(
        show(Ty::array(reals_ty()), sum(Ty::array(reals_ty()), cube)),
        "[[0.0, 2.0, 4.0], [2.0, 4.0, 6.0]]"
    );
}

#[test]
fn arithmetic_on_whole_values() {
    let ty = tuple_ty(&[Ty::Real, reals_ty()]);
    let value = || {
        let row = array(Ty::Real, vec![real(1.0), real(2.0)]);
        tuple(&[Ty::Real, reals_ty()], vec![real(3.0), row])
    };
    let of = |p: Prim, args: Vec<Term>| show(ty.clone(), prim(p, args));
    assert_eq!(of(Prim::Add(ty.clone()), vec![value(), value()]), "(6.0, [2.0, 4.0])");
    assert_eq!(of(Prim::Sub(ty.clone()), vec![value(), value()]), "(0.0, [0.0, 0.0])");
    assert_eq!(of(Prim::Neg(ty.clone()), vec![value()]), "(-3.0, [-1.0, -2.0])");
    assert_eq!(of(Prim::Scale(ty.clone()), vec![real(2.0), value()]), "(6.0, [2.0, 4.0])");
    assert_eq!(of(Prim::Unscale(ty.clone()), vec![value(), real(2.0)]), "(1.5, [0.5, 1.0])");
    assert_eq!(of(Prim::ZeroOf(ty.clone()), vec![value()]), "(0.0, [0.0, 0.0])");
    let inner = prim(Prim::Inner(ty.clone()), vec![value(), value()]);
    assert_eq!(show(Ty::Real, inner), "14.0");
    let mixed = tuple_ty(&[Ty::Int, list_ty(Ty::Real)]);
    let value = |n: i64| {
        let list = cons(Ty::Real, real(1.5), nil(Ty::Real));
        tuple(&[Ty::Int, list_ty(Ty::Real)], vec![int(n), list])
    };
    let sum = prim(Prim::Add(mixed.clone()), vec![value(1), value(2)]);
    assert_eq!(show(mixed, sum), "(1, list[3.0])");
    let xs = || array(Ty::Real, vec![real(1.0), real(4.0)]);
    let product = prim(Prim::MulElements(reals_ty()), vec![xs(), xs()]);
    assert_eq!(show(reals_ty(), product), "[1.0, 16.0]");
    let ratio = prim(Prim::DivElements(reals_ty()), vec![xs(), xs()]);
    assert_eq!(show(reals_ty(), ratio), "[1.0, 1.0]");
    let shapes = prim(
        Prim::Add(list_ty(Ty::Real)),
        vec![nil(Ty::Real), cons(Ty::Real, real(1.0), nil(Ty::Real))],
    );
    assert!(show(list_ty(Ty::Real), shapes).starts_with("shape-mismatch"));
}

#[test]
fn equality() {
    let eq = |ty: Ty, a: Term, b: Term| show(Ty::Bool, compare(Comparison::Eq, ty, a, b));
    let ty = tuple_ty(&[Ty::String, reals_ty(), list_ty(Ty::Bool)]);
    let value = |x: f64| {
        let list = cons(Ty::Bool, boolean(true), nil(Ty::Bool));
        let parts = vec![text("a"), array(Ty::Real, vec![real(x)]), list];
        tuple(&[Ty::String, reals_ty(), list_ty(Ty::Bool)], parts)
    };
    assert_eq!(eq(ty.clone(), value(1.0), value(1.0)), "true");
    assert_eq!(eq(ty.clone(), value(1.0), value(2.0)), "false");
    assert_eq!(eq(ty.clone(), value(0.0), value(-0.0)), "true");
    assert_eq!(eq(ty.clone(), value(f64::NAN), value(f64::NAN)), "false");
    let ne = compare(Comparison::Ne, ty, value(f64::NAN), value(f64::NAN));
    assert_eq!(show(Ty::Bool, ne), "true");
    assert_eq!(eq(Ty::Unit, unit(), unit()), "true");
    // Long lists are compared without recursion.
    let long = |last: i64| {
        loop_(list_ty(Ty::Int), cons(Ty::Int, int(last), nil(Ty::Int)), int(1_000_000), |s, i| {
            cons(Ty::Int, i, s)
        })
    };
    assert_eq!(eq(list_ty(Ty::Int), long(1), long(1)), "true");
    assert_eq!(eq(list_ty(Ty::Int), long(1), long(2)), "false");
    let less = compare(Comparison::Lt, Ty::String, text("a"), text("b"));
    assert_eq!(show(Ty::Bool, less), "true");
}

#[test]
fn constants_are_evaluated_once() {
    let slow = loop_(Ty::Int, int(0), int(1000), |s, _| iadd(s, int(1)));
    let once = operations(vec![("slow", Ty::Int, slow.clone()), ("main", Ty::Int, global(0))]);
    let twice = operations(vec![
        ("slow", Ty::Int, slow),
        ("main", Ty::Int, iadd(global(0), iadd(global(0), global(0)))),
    ]);
    assert!(twice < once + 10, "{once} {twice}");
    // One that is not needed is not evaluated.
    let definitions = vec![("bad", Ty::Int, fail(Ty::Int, "never"))];
    assert_eq!(show_in(definitions, Ty::Int, int(1)), "1");
}

#[test]
fn constants_that_need_themselves() {
    let definitions = vec![
        ("a", Ty::Int, iadd(global(1), int(1))),
        ("b", Ty::Int, app(global(2), int(1))),
        ("f", int_to_int(), lam(Ty::Int, |x| iadd(x, global(0)))),
    ];
    assert_eq!(
        show_in(definitions, Ty::Int, global(0)),
        "constant-cycle: the value of a constant depends on itself: `a` needs `b` needs `a`"
    );
    let program = program(vec![("a", Ty::Int, global(0))]);
    let mut machine = machine(&program);
    for _ in 0..2 {
        let error = machine.eval_global(GlobalId(0)).expect_err("a cycle");
        let ErrorKind::ConstantCycle { names } = error.kind else { panic!("{error:?}") };
        assert_eq!(names, ["a", "a"]);
    }
}

#[test]
fn errors_have_a_place_and_the_open_calls() {
    let inner = lam(Ty::Int, |x| at(1, int2(IntOp::Div, int(1), x)));
    let outer = lam(Ty::Int, |x| iadd(int(1), at(2, app(global(0), x))));
    let constant = iadd(int(1), at(3, app(global(1), int(0))));
    let main = iadd(int(1), at(4, global(2)));
    let program = program(vec![
        ("inner", int_to_int(), inner),
        ("outer", int_to_int(), outer),
        ("constant", Ty::Int, constant),
        ("main", Ty::Int, main),
    ]);
    let error = machine(&program).eval_global(GlobalId(3)).expect_err("division by zero");
    assert!(matches!(error.kind, ErrorKind::DivisionByZero { op: "/", dividend: 1 }));
    assert_eq!(error.span, place(1));
    let name = |text: &str| Name::new(text);
    assert_eq!(
        error.trace,
        [(name("inner"), place(2)), (name("outer"), place(3)), (name("constant"), place(4))]
    );
}

#[test]
fn arguments_are_evaluated_from_left_to_right() {
    let pair = [Ty::Int, Ty::Int];
    let bad = |n: &str| fail(Ty::Int, n);
    assert_eq!(show(tuple_ty(&pair), tuple(&pair, vec![bad("1"), bad("2")])), "fail: 1");
    assert_eq!(show(Ty::Int, iadd(bad("1"), bad("2"))), "fail: 1");
    let called = app(fail(int_to_int(), "f"), bad("x"));
    assert_eq!(show(Ty::Int, called), "fail: f");
    let looped = loop_(Ty::Int, bad("init"), bad("count"), |s, _| s);
    assert_eq!(show(Ty::Int, looped), "fail: init");
}

fn size_pattern(names: &[&str], given: usize, shape: SizeShape) -> SizePattern {
    let names = names.iter().map(|n| Name::new(n)).collect();
    SizePattern { names, given, parts: Vec::new(), shape }
}

#[test]
fn sizes_are_bound_and_checked() {
    let array_of = |size: SizeRef| SizeShape::Array(size, Box::new(SizeShape::Any));
    let n = || SizeRef::Name(0);
    let xs = |k: i64| build(Ty::Real, int(k), to_real);
    let one = sizes(size_pattern(&["n"], 0, array_of(n())), reals_ty(), xs(3), vec![]);
    assert_eq!(show(Ty::Int, one), "3");
    // Two arrays of one size, in a tuple that is not made.
    let pair = [reals_ty(), reals_ty()];
    let both = |a: i64, b: i64| {
        let shape = SizeShape::Tuple(vec![array_of(n()), array_of(n())]);
        let value = tuple(&pair, vec![xs(a), xs(b)]);
        sizes(size_pattern(&["n"], 0, shape), tuple_ty(&pair), value, vec![])
    };
    assert_eq!(show(Ty::Int, both(2, 2)), "2");
    assert_eq!(show(Ty::Int, both(2, 5)), "size-mismatch: the sizes 2 and 5 differ: the size `n`");
    // A given size and a literal one.
    let given =
        |k: i64| sizes(size_pattern(&["n"], 1, array_of(n())), reals_ty(), xs(3), vec![int(k)]);
    assert_eq!(show(Ty::Unit, given(3)), "()");
    assert!(show(Ty::Unit, given(4)).starts_with("size-mismatch: the sizes 4 and 3 differ"));
    let literal = |k: u64| {
        let shape = array_of(SizeRef::Literal(k));
        sizes(size_pattern(&[], 0, shape), reals_ty(), xs(3), vec![])
    };
    assert_eq!(show(Ty::Unit, literal(3)), "()");
    assert!(show(Ty::Unit, literal(2)).starts_with("size-mismatch: the sizes 2 and 3 differ"));
    // Rows, also where there are none.
    let rows = SizeShape::Array(SizeRef::Name(0), Box::new(array_of(SizeRef::Name(1))));
    let matrix = |k: i64| {
        let rows = build(reals_ty(), int(3), |_| xs(4));
        slice(reals_ty(), rows, int(0), int(k))
    };
    for (k, shown) in [(3, "(3, 4)"), (0, "(0, 4)")] {
        let pattern = size_pattern(&["n", "m"], 0, rows.clone());
        let found = sizes(pattern, Ty::array(reals_ty()), matrix(k), vec![]);
        assert_eq!(show(tuple_ty(&[Ty::Int, Ty::Int]), found), shown);
    }
    // What nothing determines is 0, and fits.
    let none = build(reals_ty(), int(0), |_| xs(4));
    let pattern = size_pattern(&["n", "m"], 0, rows);
    let found = sizes(pattern, Ty::array(reals_ty()), none, vec![]);
    assert_eq!(show(tuple_ty(&[Ty::Int, Ty::Int]), found), "(0, 0)");
    // In constructors.
    let shape = SizeShape::Data(vec![vec![], vec![array_of(n())]]);
    let pattern =
        || size_pattern(&["n"], 0, SizeShape::Array(SizeRef::Any, Box::new(shape.clone())));
    let ty = Ty::Data(DataId(1), Rc::new([reals_ty()]));
    let maybes = |a: i64, b: i64| {
        let items = vec![nothing(reals_ty()), just(reals_ty(), xs(a)), just(reals_ty(), xs(b))];
        sizes(pattern(), Ty::array(ty.clone()), array(ty.clone(), items), vec![])
    };
    assert_eq!(show(Ty::Int, maybes(2, 2)), "2");
    assert!(show(Ty::Int, maybes(2, 3)).starts_with("size-mismatch"));
}

#[test]
fn what_trace_prints() {
    let lines = Rc::new(std::cell::RefCell::new(Vec::new()));
    let main = prim(Prim::Trace(Ty::Real), vec![text("x"), real(1.0)]);
    let program = program(vec![("main", Ty::Real, main)]);
    let sink = lines.clone();
    let events = Box::new(move |event: Event<'_>| sink.borrow_mut().push(format!("{event:?}")));
    let options = diffeo_calculus::eval::Options { events, ..Default::default() };
    let mut machine = diffeo_calculus::eval::Machine::new(program, options);
    assert!(matches!(machine.eval_global(GlobalId(0)), Ok(Value::Real(x)) if x == 1.0));
    assert_eq!(*lines.borrow(), ["Line(\"x: 1.0\")"]);
}

#[test]
fn deep_terms_are_compiled() {
    let mut sum = int(0);
    let mut condition = int(0);
    let mut list = nil(Ty::Int);
    for i in 0..50_000 {
        sum = let_(Ty::Int, iadd(int(i), int(1)), |v| iadd(v, sum));
        condition = if_(ieq(int(i), int(-1)), int(i), condition);
        list = cons(Ty::Int, int(i), list);
    }
    let total = iadd(sum, iadd(condition, case_list(Ty::Int, list, int(0), |h, _| h)));
    // Printing, linting and dropping it is not what is tested.
    let program = program(vec![("main", Ty::Int, total)]);
    let options = diffeo_calculus::eval::Options::default();
    let mut machine = diffeo_calculus::eval::Machine::new(program, options);
    let value = machine.eval_global(GlobalId(0)).expect("a value");
    assert!(matches!(value, Value::Int(1_250_074_999)), "{value:?}");
}
