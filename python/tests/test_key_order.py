"""The keys of dictionaries: those of a gradient as in the argument, those of other results as the program declares them."""

import dataclasses

import numpy as np
import pytest

import diffeo

TEXT = """
type Rates = {v: Real, k: Real}
def sse(p: {v: Real, k: Real}, xs: [n]Real) -> Real = sum([sq(p.v * x + p.k) for x in xs])
def deep(p: {z: {v: Real, k: Real}, b: [n]{v: Real, k: Real}}) = p.z.v ^ 2 * p.z.k + sum([r.v * r.k for r in p.b])
def made(x: Real) -> {zeta: Real, alpha: {y: Real, b: Real}} = {zeta = x, alpha = {y = x, b = x}}
def table(n: Int) -> []{zeta: Int, alpha: Int} = [{zeta = i, alpha = 2 * i} for i < n]
def constant : {zeta: Int, alpha: Int} = {zeta = 1, alpha = 2}
def scaled(p: {v: Real, k: Real}, by: Real) -> {v: Real, k: Real} = {v = by * p.v, k = by * p.k}
"""


@pytest.fixture(scope="module")
def o():
    return diffeo.source(TEXT, "order.deo")


def test_gradients_have_the_order_of_what_was_given(o):
    xs = [1.0, 2.0]
    gradient, both = diffeo.grad(o.sse), diffeo.value_and_grad(o.sse, argnums=(0, 1))
    for keys in [("v", "k"), ("k", "v")]:
        p = {key: {"v": 3.0, "k": 0.5}[key] for key in keys}
        assert list(gradient(p, xs)) == list(keys) and gradient(p, xs)["v"] == 33.0
        assert list(both(p, xs)[1][0]) == list(keys)
        assert list(gradient(xs=xs, p=p)) == list(keys)
        _, back = diffeo.vjp(o.sse, p, xs)
        assert list(back(1.0)[0]) == list(keys)
        second = diffeo.hessian(o.sse)(p, xs)
        assert list(second) == list(keys) and all(list(row) == list(keys) for row in second.values())
        by = diffeo.jacobian(o.scaled)(p, 2.0)
        assert list(by) == ["v", "k"] and list(by["v"]) == list(keys)
        value, tangent = diffeo.jvp(gradient, (p, xs), (p, xs))
        assert list(value) == list(tangent) == list(keys)
        nested = {"z": dict(p), "b": [dict(p), {"k": 1.0, "v": 2.0}]}
        found = diffeo.grad(o.deep)(nested)
        assert list(found) == ["z", "b"] and list(found["z"]) == list(found["b"][0]) == list(keys)
        assert list(found["b"][1]) == ["k", "v"]


def test_other_records_have_the_declared_order(o):
    @dataclasses.dataclass
    class Given:
        k: float
        v: float

    assert list(diffeo.grad(o.sse)(Given(0.5, 3.0), [1.0])) == ["v", "k"]
    assert list(o.made(1.0)) == ["zeta", "alpha"] and list(o.made(1.0)["alpha"]) == ["y", "b"]
    assert [list(row) for row in o.table(2)] == [["zeta", "alpha"]] * 2
    assert list(o.constant) == ["zeta", "alpha"]
    assert list(diffeo.jvp(o.made, (1.0,), (1.0,))[1]) == ["zeta", "alpha"]
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(o.table(2)).columns) == ["zeta", "alpha"]
    with pytest.raises(diffeo.ArgumentError, match=r"expected \{v: Real, k: Real\}"):
        o.sse(1.0, [1.0])
    assert "{v: Real, k: Real}" in diffeo.grad(o.sse).type_


def test_draws_have_the_declared_order():
    m = diffeo.source("""
def log_density(p: {zeta: Real, alpha: Real}) -> Real = -sq(p.zeta) - sq(p.alpha)
""")
    found = diffeo.sample(m.log_density, chains=2, warmup=200, draws=400, convert=False)
    assert list(found["posterior"]) == list(found["summary"])[:2] == ["zeta", "alpha"]


def test_records_go_into_scipy_by_ravel(o):
    optimize = pytest.importorskip("scipy.optimize")
    xs, both = np.array([1.0, 2.0]), diffeo.value_and_grad(o.sse)
    start, unravel = diffeo.ravel({"v": 3, "k": 0.5})
    np.testing.assert_array_equal(start, [3.0, 0.5])

    def objective(x):
        value, slope = both(unravel(x), xs)
        return value, diffeo.ravel(slope)[0]

    found = unravel(optimize.minimize(objective, start, jac=True).x)
    assert list(found) == ["v", "k"] and abs(found["v"]) < 1e-5 and abs(found["k"]) < 1e-5
    with pytest.raises(diffeo.ArgumentError, match=r"the field k is missing.*diffeo\.ravel"):
        both(start, xs)


def test_ravel_and_back():
    @dataclasses.dataclass
    class Given:
        w: np.ndarray
        name: str

    x = {"b": Given(np.arange(4.0).reshape(2, 2), "n"), "a": (1.5, [2, None]), "c": np.float32(0.5)}
    flat, unravel = diffeo.ravel(x)
    np.testing.assert_array_equal(flat, [0.0, 1.0, 2.0, 3.0, 1.5, 2.0, 0.5])
    back = unravel(flat + 1.0)
    assert list(back) == ["b", "a", "c"] and back["a"] == (2.5, [3.0, None]) and back["c"] == 1.5
    np.testing.assert_array_equal(back["b"].w, [[1.0, 2.0], [3.0, 4.0]])
    assert back["b"].name == "n"
    with pytest.raises(diffeo.ArgumentError, match=r"expected an array of shape \(7,\), found one of shape \(2,\)"):
        unravel([1.0, 2.0])
    with pytest.raises(diffeo.ArgumentError, match="object is no number"):
        diffeo.ravel({"a": object()})
    assert diffeo.ravel({})[0].shape == (0,)
