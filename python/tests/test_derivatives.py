import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest

import diffeo


def test_derivatives_nest(m):
    assert diffeo.grad(m.cube)(2.0) == 12.0
    assert diffeo.grad(diffeo.grad(m.cube))(2.0) == 12.0
    assert diffeo.grad(diffeo.grad(diffeo.grad(m.cube)))(2.0) == 6.0
    assert diffeo.value_and_grad(m.cube)(2.0) == (8.0, 12.0)


def test_argnums(m):
    w, xs = np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2)
    by_w, by_xs = diffeo.grad(m.loss, (0, 1))(w, xs)
    np.testing.assert_allclose(by_w, 2 * xs.T @ (xs @ w))
    np.testing.assert_allclose(by_xs, 2 * np.outer(xs @ w, w))
    np.testing.assert_array_equal(diffeo.grad(m.loss, 1)(w, xs), by_xs)


def test_forward_and_reverse(m):
    value, slope = diffeo.jvp(m.two, (0.5, 2.0), (1.0, 0.0))
    assert value == (np.sin(1.0), 2.5)
    np.testing.assert_allclose(slope, (2.0 * np.cos(1.0), 1.0))
    value, back = diffeo.vjp(m.two, 0.5, 2.0)
    np.testing.assert_allclose(back((1.0, 0.0)), (2.0 * np.cos(1.0), 0.5 * np.cos(1.0)))


def test_jacobians_and_hessians(m):
    xs = np.array([0.1, 0.7, 1.3])
    np.testing.assert_allclose(diffeo.jacobian(m.image)(xs, 2.0), np.diag(2.0 * np.cos(2.0 * xs)))
    np.testing.assert_allclose(diffeo.jacobian(m.image, 1)(xs, 2.0), xs * np.cos(2.0 * xs))
    w, rows = np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(diffeo.hessian(m.loss)(w, rows), 2 * rows.T @ rows)


def test_hessians_pickle_and_take_dictionaries():
    text = "def f(p: {a: Real, v: [n]Real, k: Int}, (x, y): (Real, Real)) -> Real = p.a ^ 2 * sum([sq(z) for z in p.v]) + x * y * p.a\n"
    m = diffeo.source(text)
    p = {"a": 2.0, "v": np.array([1.0, 3.0]), "k": 1}
    for hessian in [diffeo.hessian(m.f), pickle.loads(pickle.dumps(diffeo.hessian(m.f)))]:
        found = hessian(p, (1.0, 1.0))
        assert set(found) == set(found["a"]) == {"a", "v", "k"} and found["k"] is found["a"]["k"] is None
        assert found["a"]["a"] == 20.0
        np.testing.assert_allclose(found["a"]["v"], [8.0, 24.0])
        np.testing.assert_allclose(found["v"]["a"], [8.0, 24.0])
        np.testing.assert_allclose(found["v"]["v"], 8.0 * np.eye(2))
    assert diffeo.hessian(m.f, 1)(p, (1.0, 1.0)) == ((0.0, 2.0), (2.0, 0.0))
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(diffeo.hessian(m.f), p, (1.0, 1.0)).result()["a"]["a"] == 20.0
    jacobian = pickle.loads(pickle.dumps(diffeo.jacobian(diffeo.source("def g(x: Real, ys: [n]Real) = {s = x * sum(ys), z = ys}").g, 1)))
    found = jacobian(3.0, ys=[1.0, 2.0])
    np.testing.assert_array_equal(found["s"], [3.0, 3.0])
    np.testing.assert_array_equal(found["z"], np.eye(2))
    assert jacobian(3.0, [])["z"].shape == (0, 0)
    with pytest.raises(diffeo.ArgumentError, match="none of number 2|no argument 2"):
        diffeo.jacobian(m.f, 2)(p, (1.0, 1.0))


def test_jets(m):
    coefficients = diffeo.jet(m.cube, 1, 3)([2.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(coefficients, [8.0, 12.0, 12.0, 6.0])


def test_scipy_minimises(m):
    optimize = pytest.importorskip("scipy.optimize")
    bowl = diffeo.source("def f(x: [n]Real) -> Real = sum([sq(a - 3.0) for a in x]) + sq(x[0] * x[1])").f
    found = optimize.minimize(diffeo.value_and_grad(bowl), np.zeros(3), jac=True, hess=diffeo.hessian(bowl), method="trust-ncg")
    assert found.success and abs(found.x[2] - 3.0) < 1e-4
