"""Habits from JAX and NumPy: argnums, what is cached, what is refused."""

import functools
import gc
import weakref

import numpy as np
import pytest

import diffeo

TEXT = """
def f(x: Real, w: [n]Real) = x ^ 2 * sum([sq(v) for v in w])
def pick(xs: [n]Real, at: [k]Int, b: Bool, name: String) = sum([xs[i] for i in at])
def t(x: (Real, Int)) = x.0 * real(x.1)
def c = [1, 2]
def d = {z = [1.0], rows = [{a = 1.0}]}
def at(i: Int) = c[i]
"""


@pytest.fixture(scope="module")
def h():
    return diffeo.source(TEXT, "habits.deo")


def test_the_same_derivative_is_made_once(h):
    assert diffeo.grad(h.f) is diffeo.grad(h.f, argnums=(0,)) is diffeo.grad(h.f, -2)
    assert diffeo.grad(h.f) is not diffeo.grad(h.f, 1)
    assert diffeo.value_and_grad(h.f, (0, 1)) is diffeo.value_and_grad(h.f, (0, 1))
    own = h.function("f")
    gone = weakref.ref(diffeo.grad(own))
    assert gone() is diffeo.grad(own) and gone() is not diffeo.grad(h.f)
    del own
    gc.collect()
    assert gone() is None


def test_argnums_count_from_the_end_and_may_be_several(h):
    w = np.array([1.0, 2.0])
    np.testing.assert_allclose(diffeo.grad(h.f, argnums=-1)(3.0, w), 18.0 * w)
    by = diffeo.jacobian(h.f, argnums=(0, 1))(3.0, w)
    assert by[0] == 30.0
    np.testing.assert_allclose(by[1], 18.0 * w)
    (xx, xw), (wx, ww) = diffeo.hessian(h.f, argnums=(0, 1))(3.0, w)
    assert xx == 10.0
    np.testing.assert_allclose(xw, 12.0 * w)
    np.testing.assert_allclose(wx, 12.0 * w)
    np.testing.assert_allclose(ww, 18.0 * np.eye(2))
    np.testing.assert_allclose(diffeo.hessian(h.f, argnums=-1)(3.0, w), ww)
    for derive in [diffeo.grad, diffeo.value_and_grad, diffeo.jacobian, diffeo.hessian]:
        with pytest.raises(diffeo.ArgumentError, match="f has 2 arguments, and none of number -3"):
            derive(h.f, argnums=-3)


def test_what_is_no_function_of_a_program_is_told(h):
    for derive in [diffeo.grad, diffeo.value_and_grad, diffeo.jacobian, diffeo.hessian, diffeo.enclose]:
        with pytest.raises(TypeError, match="takes a function of a Diffeo program, not <lambda> of type function; .*expression"):
            derive(lambda x: x)
        with pytest.raises(TypeError, match="of type partial; take the function itself and name the arguments by `argnums`"):
            derive(functools.partial(h.f, 1.0))
    with pytest.raises(TypeError, match=r"take the derivative first: `diffeo.map\(diffeo.grad\(f\)\)`"):
        diffeo.grad(diffeo.map(h.f))
    with pytest.raises(TypeError, match="vjp takes a function"):
        diffeo.vjp(np.sin, 1.0)


def test_the_cotangent_of_what_holds_no_real_is_none(h):
    _, back = diffeo.vjp(h.pick, [1.0, 2.0, 3.0], [0, 2, 2], True, "x")
    bars = back(1.0)
    np.testing.assert_array_equal(bars[0], [1.0, 0.0, 2.0])
    assert bars[1:] == (None, None, None)


def test_nobody_changes_a_constant(h):
    with pytest.raises(ValueError, match="read-only"):
        h.c[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        h.d["z"][0] = 5.0
    h.d["rows"].append(1)
    h.d["rows"][0]["a"] = 2.0
    assert h.d["rows"] == [{"a": 1.0}] and h.c.tolist() == [1, 2] and h.at(0) == 1
    own = h.c.copy()
    own[0] = 5
    assert own[0] == 5


def test_a_tuple_keeps_its_name(h):
    assert h.t((2.0, 3)) == h.t([2.0, 3]) == h.t(2.0, 3) == h.t(x=(2.0, 3)) == 6.0
    with pytest.raises(diffeo.ArgumentError, match="it takes the tuple `x` or its 2 components"):
        h.t(1.0)
    with pytest.raises(diffeo.ArgumentError, match=r"argument `x\[1\]` of t: expected Int"):
        h.t(1.0, 2.0)


def test_shapes_of_cotangents_and_tangents_are_told(h):
    m = diffeo.source("def f(xs: [n]Real) = [2.0 * x for x in xs]")
    _, back = diffeo.vjp(m.f, np.ones(4))
    with pytest.raises(diffeo.ArgumentError, match=r"vjp: the cotangent of f has shape \(3,\), its value \(4,\)"):
        back(np.ones(3))
    with pytest.raises(diffeo.ArgumentError, match=r"jvp: the tangent of `xs` has shape \(3,\), the argument \(4,\)"):
        diffeo.jvp(m.f, (np.ones(4),), (np.ones(3),))
