"""Five functions that JAX has not, or has not backwards, under its transformations to the third order.

Where JAX can differentiate the same function natively, the values are JAX's own; elsewhere a formula differentiated by JAX
takes its place, or differences of the derivative before.
"""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import diffeo  # noqa: E402

jax.config.update("jax_enable_x64", True)

TEXT = """
import root
import ode
type Shape = Circle(Real) | Box(Real, Real) | Pair(Shape, Shape)

## A recursion whose depth only the run knows.
def recursion(x: Real, y: Real) -> Real =
  let rec power(n: Int) -> Real = if n == 0 then 1.0 else x * sin(y) * power(n - 1) in power(round(abs(x) * 3.0) + 2)

## A loop whose end only the run knows.
def while_loop(a: Real, b: Real) -> Real =
  (loop (x, i) = (1.0 + a * b, 0) while i < 60 and abs(x * x - a * b) > 1e-15 * a * b do (0.5 * (x + a * b / x), i + 1)).0

## Variants made of the arguments, and taken apart by a recursion.
def area(s: Shape) -> Real = case s of
  { Circle(r) -> pi * r * r | Box(a, b) -> a * b * b | Pair(s, t) -> area(s) * area(t) }
def variants(x: Real, y: Real) -> Real = area(Pair(Circle(x), if y > 0.0 then Box(x, y) else Circle(y)))

## The root of an equation.
def kepler(e: Real, m: Real) -> Real = root.newton(fn ((e, m), x) -> x - e * sin(x) - m, (e, m), 1.0)

## An ordinary differential equation, with steps as the error allows.
def flow(rate: Real, start: Real) -> Real =
  ode.solve(fn (t, y) -> rate * y * (1.0 - y), start, [0.0, 1.5])[1]
"""

m = diffeo.source(TEXT, "orders.deo")


def _power(x, y):
    return (x * jnp.sin(y)) ** 4


def _variants(x, y):
    return jnp.pi * x**2 * jnp.where(y > 0.0, x * y**2, jnp.pi * y**2)


def _root(e, m):
    # As many steps of Newton's method as are needed, so that JAX has all derivatives.
    x = 1.0
    for _ in range(12):
        x = x - (x - e * jnp.sin(x) - m) / (1.0 - e * jnp.cos(x))
    return x


def _logistic(rate, start):
    return 1.0 / (1.0 + (1.0 / start - 1.0) * jnp.exp(-1.5 * rate))


CASES = [
    ("recursion", _power, (0.7, 0.4), 1e-11),
    ("while_loop", lambda a, b: jnp.sqrt(a * b), (1.3, 0.8), 1e-9),
    ("variants", _variants, (0.7, 0.4), 1e-11),
    ("kepler", _root, (0.3, 0.9), 1e-9),
    ("flow", _logistic, (0.9, 0.2), 1e-5),
]


@pytest.mark.parametrize(("name", "native", "at", "near"), CASES, ids=[case[0] for case in CASES])
def test_orders(name, native, at, near):
    f = diffeo.jax(getattr(m, name))

    def close(g, h, *args):
        found, expected = jax.tree_util.tree_leaves(g(*args)), jax.tree_util.tree_leaves(h(*args))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=near, atol=near)

    def all_of(f):
        third = jax.grad(lambda x, y: jax.grad(lambda x, y: jax.grad(f)(x, y), 1)(x, y))
        return {
            "value": f,
            "gradient": jax.grad(f, argnums=(0, 1)),
            "hessian": jax.hessian(f, argnums=(0, 1)),
            "third": third,
            "forward third": jax.jacfwd(jax.jacfwd(jax.jacrev(f, 1), 0), 1),
            "compiled": jax.jit(jax.grad(f, 1)),
            "compiled hessian": jax.jit(jax.hessian(f, 0)),
        }

    for g, h in zip(all_of(f).values(), all_of(native).values(), strict=True):
        close(g, h, *at)
    # Rows, of values and of gradients; and the gradient of a sum over rows.
    xs, ys = at[0] * np.linspace(0.95, 1.05, 4), np.full(4, at[1])
    close(jax.vmap(f), jax.vmap(native), xs, ys)
    close(jax.jit(jax.vmap(jax.grad(f, 1), (0, None))), jax.vmap(jax.grad(native, 1), (0, None)), xs, at[1])
    rows = lambda f: jax.grad(lambda y: jnp.sum(jax.vmap(f, (0, None))(xs, y) ** 2))  # noqa: E731
    close(rows(f), rows(native), at[1])


def test_differences():
    """The third derivative where no formula is trusted: differences of the second."""
    f = diffeo.jax(m.flow)
    second = jax.grad(jax.grad(f))
    step = 1e-4
    difference = (second(0.9 + step, 0.2) - second(0.9 - step, 0.2)) / (2 * step)
    assert float(jax.grad(second)(0.9, 0.2)) == pytest.approx(float(difference), rel=1e-3)


def test_variants_are_no_arrays_but_have_derivatives():
    with pytest.raises(TypeError, match="Shape, which is no array"):
        diffeo.jax(m.area)
    shape = m.types.Shape
    point = shape.Pair(shape.Circle(2.0), shape.Box(3.0, 5.0))
    slope = diffeo.grad(m.area)(point)
    assert slope == shape.Pair(shape.Circle(4 * np.pi * 75.0), shape.Box(4 * np.pi * 25.0, 4 * np.pi * 30.0))
