//! What programs cost, by counting operations: values are changed in place, nothing is copied, and a
//! gradient costs a constant times its function.

use crate::support::*;
use diffeo_calculus::prim::{Prim, RealOp};
use diffeo_calculus::term::{GlobalId, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::Ty;

/// The operations grow in proportion to n.
fn assert_linear(what: &str, main: impl Fn(i64) -> Vec<(&'static str, Ty, Term)>) {
    let (small, large) = (operations(main(1000)), operations(main(10_000)));
    assert!(large < 11 * small, "{what}: {small} operations, then {large}");
}

fn alone(ty: Ty, main: impl Fn(i64) -> Term) -> impl Fn(i64) -> Vec<(&'static str, Ty, Term)> {
    move |n| vec![("main", ty.clone(), main(n))]
}

fn numbers(n: i64) -> Term {
    build(Ty::Real, int(n), to_real)
}

/// `a with [i] = sin(a[i])`
fn step(a: Term, i: Term) -> Term {
    update(reals_ty(), a.clone(), i.clone(), sin(index(Ty::Real, a, i)))
}

#[test]
fn an_array_is_updated_in_place() {
    assert_linear("a loop", alone(reals_ty(), |n| loop_(reals_ty(), numbers(n), int(n), step)));
    assert_linear(
        "a loop over a variable",
        alone(reals_ty(), |n| {
            let_(reals_ty(), numbers(n), |xs| loop_(reals_ty(), xs, int(n), step))
        }),
    );
    assert_linear(
        "a chain of lets",
        alone(reals_ty(), |n| {
            loop_(reals_ty(), numbers(n), int(n), |a, i| {
                let_(reals_ty(), step(a, i.clone()), |b| {
                    let_(Ty::Real, index(Ty::Real, b.clone(), i.clone()), |x| {
                        update(reals_ty(), b, i, x)
                    })
                })
            })
        }),
    );
    assert_linear(
        "branches",
        alone(reals_ty(), |n| {
            loop_(reals_ty(), numbers(n), int(n), |a, i| {
                if_(ilt(i.clone(), int(500)), step(a.clone(), i.clone()), {
                    case_maybe(Ty::Int, just(Ty::Int, i), a.clone(), |j| step(a, j))
                })
            })
        }),
    );
}

#[test]
fn what_a_branch_does_not_need_is_given_back_where_it_begins() {
    // Views of the array that only the other branch reads would keep it from being changed in place. There
    // are many of them, as their registers are soon used for something else.
    let views = |a: Term, body: &dyn Fn(Term) -> Term| {
        let mut sum = real(0.0);
        let mut lets = Vec::new();
        for _ in 0..8 {
            let (b, v) = binder("view", reals_ty());
            lets.push((b, slice(Ty::Real, a.clone(), int(0), int(1))));
            sum = add(sum, index(Ty::Real, v, int(0)));
        }
        term(TermKind::Let(lets, Box::new(body(sum))))
    };
    assert_linear(
        "a conditional",
        alone(reals_ty(), |n| {
            loop_(reals_ty(), numbers(n), int(n), |a, i| {
                views(a.clone(), &|sum| {
                    let other = update(reals_ty(), a.clone(), int(0), sum);
                    if_(ilt(i.clone(), int(0)), other, step(a.clone(), i.clone()))
                })
            })
        }),
    );
    assert_linear(
        "a case distinction",
        alone(reals_ty(), |n| {
            loop_(reals_ty(), numbers(n), int(n), |a, i| {
                views(a.clone(), &|sum| {
                    let other = update(reals_ty(), a.clone(), int(0), sum);
                    case_maybe(Ty::Int, just(Ty::Int, i.clone()), other, |j| step(a.clone(), j))
                })
            })
        }),
    );
}

#[test]
fn an_array_in_a_state_is_updated_in_place() {
    let state = || [Ty::Real, reals_ty()];
    assert_linear(
        "a tuple",
        alone(tuple_ty(&state()), move |n| {
            loop_of(&state(), vec![real(0.0), numbers(n)], int(n), |v, i| {
                let x = index(Ty::Real, v[1].clone(), i.clone());
                tuple(&state(), vec![add(v[0].clone(), x), step(v[1].clone(), i)])
            })
        }),
    );
    let ty = tuple_ty(&state());
    assert_linear(
        "a tuple by projections, the array first",
        alone(tuple_ty(&[reals_ty(), Ty::Real]), |n| {
            let tys = [reals_ty(), Ty::Real];
            let ty = tuple_ty(&tys);
            loop_(ty.clone(), tuple(&tys, vec![numbers(n), real(0.0)]), int(n), |s, i| {
                let a = step(proj(&ty, 0, s.clone()), i);
                tuple(&tys, vec![a, add(proj(&ty, 1, s), real(1.0))])
            })
        }),
    );
    assert_linear(
        "a tuple that one branch needs in one piece",
        alone(ty.clone(), |n| {
            let init = tuple(&state(), vec![real(0.0), numbers(n)]);
            loop_(ty.clone(), init, int(n), |s, i| {
                let shown = prim(Prim::Show(ty.clone()), vec![s.clone()]);
                let a = step(proj(&ty, 1, s.clone()), i.clone());
                let next = tuple(&state(), vec![proj(&ty, 0, s.clone()), a]);
                if_(ieq(i, int(-1)), let_(Ty::String, shown, |_| s), next)
            })
        }),
    );
    assert_linear(
        "a field that is replaced before the others are read",
        alone(tuple_ty(&[reals_ty(), Ty::Real]), |n| {
            let tys = [reals_ty(), Ty::Real];
            let ty = tuple_ty(&tys);
            loop_(ty.clone(), tuple(&tys, vec![numbers(n), real(0.0)]), int(n), |s, i| {
                let shown = prim(Prim::Show(ty.clone()), vec![s.clone()]);
                let a = step(proj(&ty, 0, s.clone()), i.clone());
                let next = tuple(&tys, vec![a, proj(&ty, 1, s.clone())]);
                if_(ieq(i, int(-1)), let_(Ty::String, shown, |_| s), next)
            })
        }),
    );
    assert_linear(
        "a tuple in a tuple",
        alone(tuple_ty(&[ty.clone(), Ty::Int]), |n| {
            let tys = [ty.clone(), Ty::Int];
            let init = vec![tuple(&state(), vec![real(0.0), numbers(n)]), int(0)];
            loop_of(&tys, init, int(n), |v, i| {
                split(&ty, v[0].clone(), |w| {
                    let inner = tuple(&state(), vec![w[0].clone(), step(w[1].clone(), i)]);
                    tuple(&tys, vec![inner, iadd(v[1].clone(), int(1))])
                })
            })
        }),
    );
}

#[test]
fn an_array_is_updated_in_place_through_calls() {
    let arg = [reals_ty(), Ty::Int];
    let stepped = || lam_of(&arg, |v| step(v[0].clone(), v[1].clone()));
    let ty = Ty::fun(tuple_ty(&arg), reals_ty());
    assert_linear("a definition", |n| {
        let looped =
            loop_(reals_ty(), numbers(n), int(n), |a, i| app(global(0), tuple(&arg, vec![a, i])));
        vec![("step", ty.clone(), stepped()), ("main", reals_ty(), looped)]
    });
    assert_linear(
        "a function value",
        alone(reals_ty(), |n| {
            let_(ty.clone(), stepped(), |f| {
                loop_(reals_ty(), numbers(n), int(n), |a, i| app(f, tuple(&arg, vec![a, i])))
            })
        }),
    );
    assert_linear(
        "a function value that takes the array in one piece, captured by a closure",
        alone(reals_ty(), |n| {
            loop_(reals_ty(), numbers(n), int(n), |a, i| {
                let read = lam(Ty::Int, |j| index(Ty::Real, a.clone(), j));
                let_(Ty::fun(Ty::Int, Ty::Real), read, |read| {
                    update(reals_ty(), a, i.clone(), app(read, i))
                })
            })
        }),
    );
    let state = [reals_ty(), Ty::Int];
    assert_linear(
        "tail calls",
        alone(reals_ty(), |n| {
            letrec(
                tuple_ty(&state),
                reals_ty(),
                |go, p| {
                    split(&tuple_ty(&state), p, |v| {
                        let i = isub(v[1].clone(), int(1));
                        let next = vec![step(v[0].clone(), i.clone()), i];
                        if_(ieq(v[1].clone(), int(0)), v[0].clone(), app(go, tuple(&state, next)))
                    })
                },
                |go| app(go, tuple(&state, vec![numbers(n), int(n)])),
            )
        }),
    );
    assert_linear("a call that returns a state", |n| {
        let pair = [reals_ty(), Ty::Int];
        let ty = tuple_ty(&pair);
        let f = lam_of(&pair, |v| {
            tuple(&pair, vec![step(v[0].clone(), v[1].clone()), iadd(v[1].clone(), int(1))])
        });
        let looped = loop_(ty.clone(), tuple(&pair, vec![numbers(n), int(0)]), int(n), |s, _| {
            app(global(0), s)
        });
        vec![("f", Ty::fun(ty.clone(), ty.clone()), f), ("main", reals_ty(), proj(&ty, 0, looped))]
    });
}

#[test]
fn a_matrix_is_updated_in_place() {
    let ty = Ty::array(reals_ty());
    assert_linear(
        "elements",
        alone(ty.clone(), |n| {
            let matrix = build(reals_ty(), int(n), |_| build(Ty::Real, int(2), to_real));
            loop_(ty.clone(), matrix, int(n), |a, i| {
                prim(Prim::Update(ty.clone()), vec![a, i, int(1), real(7.0)])
            })
        }),
    );
    assert_linear(
        "rows",
        alone(ty.clone(), |n| {
            let matrix = build(reals_ty(), int(n), |_| build(Ty::Real, int(2), to_real));
            loop_(ty.clone(), matrix, int(n), |a, i| {
                update(ty.clone(), a.clone(), int(0), index(reals_ty(), a, i))
            })
        }),
    );
}

#[test]
fn an_array_that_is_needed_later_is_copied() {
    let both = alone(Ty::Real, |n| {
        let_(reals_ty(), numbers(n), |xs| {
            let changed = update(reals_ty(), xs.clone(), int(0), real(5.0));
            let_(reals_ty(), changed, |ys| {
                add(index(Ty::Real, xs, int(0)), index(Ty::Real, ys, int(0)))
            })
        })
    });
    let program = program(both(1000));
    let mut machine = machine(&program);
    let value = machine.eval_global(GlobalId(0)).expect("a value");
    assert!(matches!(value, Value::Real(x) if x == 5.0));
    assert!(machine.operations() > 4000, "{}", machine.operations());
}

#[test]
fn views_and_arguments_are_not_copied() {
    let ty = Ty::fun(tuple_ty(&[reals_ty(), Ty::Int]), Ty::Real);
    let get = || lam_of(&[reals_ty(), Ty::Int], |v| index(Ty::Real, v[0].clone(), v[1].clone()));
    let main = |n: i64| {
        let_(reals_ty(), numbers(100_000), |xs| {
            loop_(Ty::Real, real(0.0), int(n), |s, i| {
                let arg = tuple(&[reals_ty(), Ty::Int], vec![xs.clone(), i]);
                add(s, app(global(0), arg))
            })
        })
    };
    let count = |n| operations(vec![("get", ty.clone(), get()), ("main", Ty::Real, main(n))]);
    let calls = count(100_000) - count(1);
    assert!(calls < 10 * 100_000, "{calls}");
    let sliced = |n: i64| {
        let_(reals_ty(), numbers(100_000), |xs| {
            loop_(Ty::Int, int(0), int(n), |s, i| {
                iadd(s, length(Ty::Real, slice(Ty::Real, xs, i, int(100_000))))
            })
        })
    };
    let count = |n| operations(vec![("main", Ty::Int, sliced(n))]);
    let slices = count(100_000) - count(1);
    assert!(slices < 10 * 100_000, "{slices}");
}

#[test]
fn a_list_is_read_many_times() {
    let ints = list_ty(Ty::Int);
    let total = letrec(
        tuple_ty(&[ints.clone(), Ty::Int]),
        Ty::Int,
        |go, p| {
            let ty = tuple_ty(&[ints.clone(), Ty::Int]);
            split(&ty, p, |v| {
                case_list(Ty::Int, v[0].clone(), v[1].clone(), |h, t| {
                    app(go, tuple(&[ints.clone(), Ty::Int], vec![t, iadd(v[1].clone(), h)]))
                })
            })
        },
        |go| {
            let list = loop_(ints.clone(), nil(Ty::Int), int(1000), |s, i| cons(Ty::Int, i, s));
            let_(ints.clone(), list, |list| {
                loop_(Ty::Int, int(0), int(100), |s, _| {
                    iadd(s, app(go, tuple(&[ints.clone(), Ty::Int], vec![list, int(0)])))
                })
            })
        },
    );
    assert_eq!(show(Ty::Int, total.clone()), "49950000");
    let count = operations(vec![("main", Ty::Int, total)]);
    assert!(count < 10 * 100_000, "{count}");
}

#[test]
fn sizes_of_a_tuple_do_not_make_it() {
    use diffeo_calculus::prim::{SizePattern, SizeRef, SizeShape};
    let pair = [reals_ty(), reals_ty()];
    let shape = || SizeShape::Array(SizeRef::Name(0), Box::new(SizeShape::Any));
    let pattern = || SizePattern {
        names: vec!["n".into()],
        given: 0,
        parts: Vec::new(),
        shape: SizeShape::Tuple(vec![shape(), shape()]),
    };
    let ty = tuple_ty(&pair);
    // The sizes of a parameter whose components are taken apart, or of a tuple that stands there.
    let f = |checked: bool, literal: bool| {
        lam(ty.clone(), |p| {
            split(&ty, p.clone(), |v| {
                let value = if literal { tuple(&pair, v.to_vec()) } else { p };
                let n = match checked {
                    true => sizes(pattern(), ty.clone(), value, vec![]),
                    false => int(1),
                };
                iadd(n, int(1))
            })
        })
    };
    let count = |checked, literal| {
        let args = tuple(&pair, vec![numbers(1), numbers(1)]);
        operations(vec![
            ("f", Ty::fun(ty.clone(), Ty::Int), f(checked, literal)),
            ("main", Ty::Int, app(global(0), args)),
        ])
    };
    for literal in [false, true] {
        // Without the look-up the addition has a constant operand, and two arguments are given back.
        assert!(count(true, literal) <= count(false, literal) + 1);
    }
}

#[test]
fn a_gradient_costs_a_constant_times_the_function() {
    // sum of sin(x_i) x_i² over an array, by a loop.
    let f = |xs: Term| {
        let n = length(Ty::Real, xs.clone());
        loop_(Ty::Real, real(0.0), n, |s, i| {
            let_(Ty::Real, index(Ty::Real, xs, i), |x| {
                add(s, mul(sin(x.clone()), mul(x.clone(), x)))
            })
        })
    };
    let primal = |n: i64| operations(vec![("main", Ty::Real, let_(reals_ty(), numbers(n), f))]);
    let both = |n: i64| {
        let main = value_and_grad(reals_ty(), lam(reals_ty(), f), numbers(n));
        operations(vec![("main", tuple_ty(&[Ty::Real, reals_ty()]), main)])
    };
    for n in [100, 1000, 10_000] {
        let (primal, both) = (primal(n), both(n));
        assert!(both < 6 * primal, "n = {n}: {primal} operations, with the gradient {both}");
    }
}

#[test]
fn gradients_of_updates_and_builds_are_linear() {
    let f = |xs: Term| {
        let n = length(Ty::Real, xs.clone());
        let stepped = loop_(reals_ty(), xs, n, step);
        sum(Ty::Real, stepped)
    };
    assert_linear(
        "the gradient of an update loop",
        alone(reals_ty(), |n| grad(reals_ty(), lam(reals_ty(), f), numbers(n))),
    );
    let g = |xs: Term| {
        let n = length(Ty::Real, xs.clone());
        sum(
            Ty::Real,
            build(Ty::Real, n, |i| {
                let x = index(Ty::Real, xs, i);
                real2(RealOp::Mul, x.clone(), x)
            }),
        )
    };
    assert_linear(
        "the gradient of a comprehension",
        alone(reals_ty(), |n| grad(reals_ty(), lam(reals_ty(), g), numbers(n))),
    );
}
