"""Functions as operations of XLA under JAX's transformations, against native JAX; on eight devices."""

import os
import subprocess
import sys

import diffeo
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

MODULE = diffeo.source("""
def loss(w: [d]Real, xs: [n][d]Real) -> Real = sum([tanh(sum([w[j] * x[j] for j < d])) for x in xs]) + sum(w * w)
def pick(xs: [n]Real, i: Int) -> Real = xs[i]
def recursive(n: Int) -> Int = if n == 0 then 0 else 1 + recursive(n - 1)
def settle(x: [n]Real) -> [n]Real = map(fn y -> loop z = y while abs(z) > 1 do z / 2, x)
def counts(xs: [n]Real) -> {above: Int, mean: Real} = {above = length([x for x in xs]), mean = sum(xs) / real(n)}
""")
W = jnp.array([0.3, -0.2, 0.5])
XS = jnp.array(np.random.default_rng(0).normal(size=(16, 3)))


def native(w, xs):
    return jnp.sum(jnp.tanh(xs @ w)) + jnp.sum(w * w)


def rows(f):
    """Over rows of four."""
    return lambda w, xs: jax.vmap(f, (None, 0))(w, xs.reshape(4, 4, 3))


TRANSFORMATIONS = {
    "jit": jax.jit,
    "grad": jax.grad,
    "by xs": lambda f: jax.grad(f, argnums=1),
    "vmap": rows,
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "hessian": jax.hessian,
    "vmap of grad": lambda f: rows(jax.grad(f)),
    "grad of vmap": lambda f: jax.grad(lambda w, xs: rows(f)(w, xs).sum()),
    "jit of hessian": lambda f: jax.jit(jax.hessian(f)),
    "jacfwd of grad of vmap": lambda f: jax.jacfwd(jax.grad(lambda w, xs: rows(f)(w, xs).sum())),
    "third order": lambda f: jax.jacfwd(jax.jacrev(jax.grad(f))),
    "jvp": lambda f: lambda w, xs: jax.jvp(f, (w, xs), (w, 2 * xs)),
    "remat": lambda f: jax.grad(jax.checkpoint(f)),
    "scan": lambda f: lambda w, xs: jax.lax.scan(lambda w, x: (w - 0.1 * jax.grad(f)(w, x[None]), f(w, x[None])), w, xs),
}


@pytest.mark.parametrize("how", TRANSFORMATIONS)
def test_transformations(how):
    transformed = TRANSFORMATIONS[how]
    found = transformed(diffeo.jax(MODULE.loss, engine="xla"))(W, XS)
    expected = transformed(native)(W, XS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13), found, expected)


def test_single_precision_comes_back_as_it_went_in():
    found = diffeo.jax(MODULE.loss, engine="xla")(W.astype(jnp.float32), XS.astype(jnp.float32))
    np.testing.assert_allclose(found, native(W, XS), rtol=1e-5)


def test_loops_end_each_for_itself():
    found = diffeo.jax(MODULE.settle, engine="xla")(jnp.array([0.5, 12.0, -5.0]))
    assert found.tolist() == [0.5, 0.75, -0.625]


def test_failed_checks_are_exceptions_or_nan():
    pick = diffeo.jax(MODULE.pick, engine="xla")
    assert pick(W, 1) == -0.2
    for f in (pick, jax.jit(pick)):
        with pytest.raises(Exception, match="index 7 is out of bounds: the array has length 3"):
            f(W, 7).block_until_ready()
            jax.effects_barrier()
    quiet = diffeo.jax(MODULE.pick, engine="xla", checks="nan")
    assert np.isnan(quiet(W, 7)) and quiet(W, 2) == 0.5


def test_what_xla_lacks_is_refused_with_its_place():
    with pytest.raises(diffeo.Error, match="source.deo:4.*recursion through `recursive` has no form in XLA"):
        diffeo.jax(MODULE.recursive, engine="xla")(3)
    with pytest.raises(diffeo.ArgumentError, match="no engine 'gpu'"):
        diffeo.jax(MODULE.loss, engine="gpu")


SHARDED = """
import re
import test_jax_xla as test
from test_jax_xla import diffeo, jax, np
mesh = jax.make_mesh((8,), ("i",))
spread = jax.device_put(test.XS, jax.NamedSharding(mesh, jax.P("i")))
f = diffeo.jax(test.MODULE.loss, engine="xla")
compiled = jax.jit(jax.grad(f)).lower(test.W, spread).compile()
print(*re.findall(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?[(]", compiled.as_text()))
np.testing.assert_allclose(compiled(test.W, spread), jax.grad(test.native)(test.W, test.XS), rtol=1e-12)
"""


def test_a_gradient_over_spread_rows_has_one_all_reduce():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", SHARDED], capture_output=True, text=True, env={**os.environ, **flags})
    assert done.stdout.split() == ["all-reduce"] and done.returncode == 0, done.stdout + done.stderr[-2000:]
