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


def test_jets(m):
    coefficients = diffeo.jet(m.cube, 1, 3)([2.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(coefficients, [8.0, 12.0, 12.0, 6.0])


def test_scipy_minimises(m):
    optimize = pytest.importorskip("scipy.optimize")
    bowl = diffeo.source("def f(x: [n]Real) -> Real = sum([sq(a - 3.0) for a in x]) + sq(x[0] * x[1])").f
    found = optimize.minimize(diffeo.value_and_grad(bowl), np.zeros(3), jac=True, hess=diffeo.hessian(bowl), method="trust-ncg")
    assert found.success and abs(found.x[2] - 3.0) < 1e-4
