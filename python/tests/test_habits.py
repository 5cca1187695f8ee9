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


def test_shapes_of_cotangents_and_tangents_are_told(h):
    m = diffeo.source("def f(xs: [n]Real) = [2.0 * x for x in xs]")
    _, back = diffeo.vjp(m.f, np.ones(4))
    with pytest.raises(diffeo.ArgumentError, match=r"vjp: the cotangent of f has shape \(3,\), its value \(4,\)"):
        back(np.ones(3))
    with pytest.raises(diffeo.ArgumentError, match=r"jvp: the tangent of `xs` has shape \(3,\), the argument \(4,\)"):
        diffeo.jvp(m.f, (np.ones(4),), (np.ones(3),))
