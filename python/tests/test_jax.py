import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import diffeo  # noqa: E402

jax.config.update("jax_enable_x64", True)

TEXT = """
import root
def power(x: Real, n: Int) -> Real = if n == 0 then 1.0 else x * power(x, n - 1)
def newton(a: Real) -> Real = (loop (x, i) = (a, 0) while i < 60 and abs(x * x - a) > 1e-15 do (0.5 * (x + a / x), i + 1)).0
def kepler(e: Real, m: Real) -> Real = root.newton(fn ((e, m), x) -> x - e * sin(x) - m, (e, m), 1.0)
def loss(w: [k]Real, xs: [n][k]Real) -> Real = sum([sq(sin(dot(w, x))) for x in xs])
def image(xs: [n]Real, a: Real) -> [n]Real = [sin(a * x) * x for x in xs]
def pair(p: {a: Real, b: [n]Real}) = {s = p.a * p.b, t = sum(p.b) ^ 2}
"""


@pytest.fixture(scope="module")
def m():
    return diffeo.source(TEXT, "jax.deo")


def loss(w, xs):
    return jnp.sum(jnp.sin(xs @ w) ** 2)


W, XS = np.array([0.3, -0.7]), np.arange(8.0).reshape(4, 2) / 5


def test_all_transformations_equal_native_ones(m):
    f = diffeo.jax(m.loss)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)  # noqa: E731
    for g, h in [
        (f, loss),
        (jax.jit(f), loss),
        (jax.grad(f), jax.grad(loss)),
        (jax.grad(f, argnums=1), jax.grad(loss, argnums=1)),
        (jax.jit(jax.grad(f)), jax.grad(loss)),
        (jax.jacfwd(f), jax.jacfwd(loss)),
        (jax.jacrev(f), jax.jacrev(loss)),
        (jax.hessian(f), jax.hessian(loss)),
        (jax.jacfwd(jax.jacfwd(jax.jacfwd(f))), jax.jacfwd(jax.jacfwd(jax.jacfwd(loss)))),
        (jax.grad(lambda w, xs: jax.grad(f)(w, xs)[0] ** 2), jax.grad(lambda w, xs: jax.grad(loss)(w, xs)[0] ** 2)),
    ]:
        close(g(W, XS), h(W, XS))


def test_rows_under_vmap(m):
    f = diffeo.jax(m.image)
    xs = np.random.default_rng(1).random((5, 3))
    native = lambda x, a: jnp.sin(a * x) * x  # noqa: E731
    a = np.arange(5.0)
    np.testing.assert_allclose(jax.vmap(f)(xs, a), jax.vmap(native)(xs, a), rtol=1e-13)
    np.testing.assert_allclose(jax.vmap(f, (0, None))(xs, 2.0), native(xs, 2.0), rtol=1e-13)
    nested = jax.vmap(jax.vmap(f, (None, 0)), (0, None))
    np.testing.assert_allclose(nested(xs, a)[2, 3], native(xs[2], a[3]), rtol=1e-13)
    total = lambda g: lambda x: jnp.sum(jax.vmap(g, (0, None))(x, 2.0) ** 2)  # noqa: E731
    np.testing.assert_allclose(jax.grad(total(f))(xs), jax.grad(total(native))(xs), rtol=1e-12)


def test_what_jax_has_not(m):
    # A recursion, a loop whose end only the run knows, a solver.
    power = diffeo.jax(m.power)
    assert jax.grad(power)(1.5, 4) == pytest.approx(4 * 1.5**3, rel=1e-14)
    assert jax.grad(jax.grad(power))(1.5, 4) == pytest.approx(12 * 1.5**2, rel=1e-14)
    newton = diffeo.jax(m.newton)
    assert jax.jit(jax.grad(newton))(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-9)
    kepler = diffeo.jax(m.kepler)
    x = m.kepler(0.3, 1.0)
    assert jax.grad(kepler, argnums=1)(0.3, 1.0) == pytest.approx(1 / (1 - 0.3 * np.cos(x)), rel=1e-12)
    assert jax.hessian(lambda m: kepler(0.3, m))(1.0) == pytest.approx(
        -0.3 * np.sin(x) / (1 - 0.3 * np.cos(x)) ** 3, rel=1e-10
    )


def test_trees(m):
    f = diffeo.jax(m.pair)
    p = {"a": 2.0, "b": np.array([1.0, 2.0, 3.0])}
    out = jax.jit(f)(p)
    np.testing.assert_allclose(out["s"], 2.0 * p["b"])
    gradient = jax.grad(lambda p: f(p)["t"] + f(p)["s"][0])(p)
    assert gradient["a"] == 1.0
    np.testing.assert_allclose(gradient["b"], [14.0, 12.0, 12.0])


def test_errors_name_what_is_wrong(m):
    f = diffeo.jax(m.loss)
    with pytest.raises(TypeError, match="has 1 indices"):
        f(np.ones((2, 2)), XS)
    with pytest.raises(TypeError, match="takes 2 arrays"):
        f(W)
    with pytest.raises(Exception, match="the sizes"):
        f(np.ones(3), XS)


def test_single_precision():
    code = """
import jax, numpy as np, diffeo
m = diffeo.source("def f(x: [n]Real) -> Real = sum([sin(a) for a in x])")
f = diffeo.jax(m.f)
x = np.arange(3, dtype="f4")
y, g = jax.value_and_grad(f)(x)
assert y.dtype == np.float32 and g.dtype == np.float32, (y, g)
np.testing.assert_allclose(g, np.cos(x), rtol=1e-6)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shard_map(m):
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy as np, diffeo
jax.config.update("jax_enable_x64", True)
from jax.sharding import Mesh, PartitionSpec as P
f = diffeo.jax(diffeo.source("def f(x: [n]Real, a: Real) -> Real = sum([sin(a * b) for b in x])").f)
mesh = Mesh(np.array(jax.devices()), ("rows",))
def part(x, a):
    return jax.lax.psum(f(x, a), "rows")
total = jax.shard_map(part, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P())
x = np.linspace(0.0, 1.0, 8)
y, g = jax.value_and_grad(lambda a: jax.jit(total)(x, a))(2.0)
np.testing.assert_allclose([y, g], [np.sin(2.0 * x).sum(), (x * np.cos(2.0 * x)).sum()], rtol=1e-12)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
