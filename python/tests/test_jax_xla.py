"""Functions as operations of XLA under JAX's transformations, against native JAX; on eight devices."""

import os
import re
import socket
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
def power(x: Real, n: Int) -> Real = loop y = 1.0 for i < n do x * sin(y)
def recurrent(w: [d][d]Real, xs: [t][d]Real) -> Real =
  sum(loop h = [0.0 for _ < d] for s < t do map(tanh, [dot(row, h) for row in w] + xs[s]))
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


def test_ints_of_python_are_fixed():
    """Loops whose number of steps only the run knows have no derivative backwards."""
    power = diffeo.jax(MODULE.power, engine="xla")
    np.testing.assert_allclose(jax.jit(jax.grad(power), static_argnums=1)(0.7, 9), jax.grad(native_power)(0.7, 9), rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.grad(power), (0, None))(W, 9), jax.vmap(jax.grad(native_power), (0, None))(W, 9), rtol=1e-12)
    # An array is an argument of the module.
    np.testing.assert_allclose(jax.jit(power)(0.7, jnp.asarray(9)), native_power(0.7, 9), rtol=1e-12)


def native_power(x, n):
    y = 1.0
    for _ in range(n):
        y = x * jnp.sin(y)
    return y


def native_recurrent(w, xs):
    def step(h, x):
        return jnp.tanh(w @ h + x), None

    return jax.lax.scan(step, jnp.zeros(len(w)), xs)[0].sum()


def test_weights_of_a_loop_have_their_gradient_behind_it():
    """One product of matrices for all steps, and none in the loop."""
    w, xs = jnp.array(np.random.default_rng(1).normal(size=(5, 5))), jnp.array(np.random.default_rng(2).normal(size=(12, 5)))
    f = diffeo.jax(MODULE.recurrent, engine="xla")
    found, expected = jax.grad(f, (0, 1))(w, xs), jax.grad(native_recurrent, (0, 1))(w, xs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14), found, expected)
    np.testing.assert_allclose(jax.hessian(f)(w, xs), jax.hessian(native_recurrent)(w, xs), rtol=1e-11, atol=1e-12)
    text = jax.jit(jax.grad(f)).lower(w, xs).as_text()
    assert re.search(r"dot_general .*tensor<12x5xf64>, tensor<12x5xf64>\) -> tensor<5x5xf64>", text), text


def test_single_precision_within():
    f = diffeo.jax(MODULE.loss, engine="xla", precision="f32")
    w, xs = W.astype(jnp.float32), XS.astype(jnp.float32)
    for transformed in (lambda f: f, jax.grad, jax.hessian, lambda f: rows(jax.grad(f))):
        found = transformed(f)(w, xs)
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, transformed(native)(W, XS), rtol=1e-5, atol=1e-5)
    assert "f64" not in jax.jit(jax.grad(f)).lower(w, xs).as_text()
    # As all operations of JAX, the function gives back what it was given where that is wider.
    assert jax.grad(f)(W, XS).dtype == jnp.float64
    with pytest.raises(diffeo.ArgumentError, match="precision is 'f64' or 'f32', not 'bf16'"):
        diffeo.jax(MODULE.loss, engine="xla", precision="bf16")


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
    with pytest.raises(diffeo.ArgumentError, match="array 1 of loss .* has size 3 where `d` is 2"):
        diffeo.jax(MODULE.loss, engine="xla")(W[:2], XS)
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


def alone(script, **environment):
    """What a script prints in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": os.path.dirname(__file__), **environment}
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)


def printed(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err[-3000:]
    return [word for line in out.splitlines() if not line.startswith("[Gloo]") for word in line.split()]


EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}


def test_a_gradient_over_spread_rows_has_one_all_reduce():
    assert printed(alone(SHARDED, **EIGHT)) == ["all-reduce"]


SHARD_MAP = """
import test_jax_xla as test
from test_jax_xla import diffeo, jax, np
P, mesh = jax.P, jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
def spread(f):
    summed = lambda w, xs: jax.lax.psum(f(w, xs), "i")
    return jax.shard_map(summed, mesh=mesh, in_specs=(P(), P("i")), out_specs=P())
rows = test.XS
ours, native = spread(diffeo.jax(test.MODULE.loss, engine="xla")), spread(test.native)
for how in (lambda f: f, jax.jit, jax.grad, jax.hessian, lambda f: jax.jit(jax.grad(f, argnums=1))):
    found, expected = how(ours)(test.W, rows), how(native)(test.W, rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
"""


def test_shard_map_on_eight_devices():
    printed(alone(SHARD_MAP, **EIGHT))


def test_two_processes_share_the_rows():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    script = """
import os, re
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{os.environ['PORT']}", 2, int(os.environ["NUMBER"]))
import test_jax_xla as test
from test_jax_xla import diffeo, np
mesh = jax.make_mesh((4,), ("i",))
half = np.asarray(test.XS).reshape(2, 8, 3)[int(os.environ["NUMBER"])]
rows = jax.make_array_from_process_local_data(jax.NamedSharding(mesh, jax.P("i")), half, (16, 3))
whole = jax.NamedSharding(mesh, jax.P())
w = jax.make_array_from_process_local_data(whole, np.asarray(test.W), (3,))
gradient = jax.jit(jax.grad(diffeo.jax(test.MODULE.loss, engine="xla")), out_shardings=whole).lower(w, rows).compile()
print(*re.findall(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?[(]", gradient.as_text()))
found = np.asarray(gradient(w, rows).addressable_data(0))
np.testing.assert_allclose(found, jax.grad(test.native)(np.asarray(test.W), np.asarray(test.XS)), rtol=1e-12)
"""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PORT": str(port)}
    processes = [alone(script, NUMBER=str(number), **flags) for number in (0, 1)]
    assert [printed(process) for process in processes] == [["all-reduce"]] * 2


NARROW = """
import jax
import diffeo
f = diffeo.jax(diffeo.source("def f(x: [n]Real, k: Int) -> Real = sum(x * x) + real(k)").f, engine="xla")
x = jax.numpy.array([1.0, 2.0])
found = [f(x, 3), jax.grad(f)(x, 3), jax.jit(f)(x, jax.numpy.asarray(3))]
print(*[x.tolist() for x in found], *[x.dtype for x in found])
"""


def test_jax_without_64_bits():
    assert printed(alone(NARROW)) == ["8.0", "[2.0,", "4.0]", "8.0", "float32", "float32", "float32"]
