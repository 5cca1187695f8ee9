import concurrent.futures
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest

import diffeo

TEXT = """
def loss(w: [k]Real, xs: [n][k]Real, ys: [n]Real) -> Real = sum([sq(sin(dot(w, xs[i])) - ys[i]) for i < n])
def tables(p: {scale: Real, k: Int}, t: [n]{a: Real, b: Real}) -> Real = sum([p.scale * r.a * r.b ^ p.k for r in t])
def counted(xs: [n]Real) = {count = n, total = sum(xs), powers = [sum(xs), sum([x * x for x in xs])]}
def bad(xs: [n]Real) -> Real = xs[n - 2]
"""


@pytest.fixture(scope="module")
def m():
    return diffeo.source(TEXT, "sums.deo")


ROWS = 100_003
RANDOM = np.random.default_rng(7)
XS, YS, W = RANDOM.random((ROWS, 3)), RANDOM.random(ROWS), np.array([0.1, -0.2, 0.3])


def bits(result):
    if isinstance(result, tuple):
        return tuple(map(bits, result))
    return np.asarray(result).tobytes()


def test_a_sum_is_that_of_its_parts(m):
    total = diffeo.sum_over((XS, YS), m.loss)
    residual = np.sin(XS @ W) - YS
    assert total(W) == pytest.approx((residual**2).sum(), rel=1e-13)
    slope = XS.T @ (2 * residual * np.cos(XS @ W))
    np.testing.assert_allclose(diffeo.grad(total)(W), slope, rtol=1e-11)
    value, gradient = diffeo.value_and_grad(total)(W)
    assert value == total(W)
    np.testing.assert_array_equal(gradient, diffeo.grad(total)(W))
    np.testing.assert_allclose(diffeo.hessian(total)(W), diffeo.hessian(m.loss)(W, XS, YS), rtol=1e-12)
    value, back = diffeo.vjp(total, W)
    np.testing.assert_allclose(back(2.0)[0], 2 * slope, rtol=1e-11)
    along = diffeo.jvp(total, (W,), (np.array([1.0, 0.0, 2.0]),))[1]
    assert along == pytest.approx(slope[0] + 2 * slope[2], rel=1e-11)


def both(m, executor):
    return bits(diffeo.value_and_grad(diffeo.sum_over((XS, YS), m.loss, executor))(W))


def test_the_digits_do_not_depend_on_who_computes(m):
    expected = both(m, None)
    for workers in (1, 3):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            assert both(m, pool) == expected
    for workers in (1, 2):
        # JAX has threads, which a fork would leave behind.
        with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            assert both(m, pool) == expected

    # Another cut into parts rounds otherwise, in the last digits.
    other = diffeo.sum_over((XS, YS), m.loss, part=1000)(W)
    assert other == pytest.approx(diffeo.sum_over((XS, YS), m.loss)(W), rel=1e-13)


SHARE = """
import sys
import numpy as np
from mpi4py import MPI
import diffeo

m = diffeo.source(open(sys.argv[1]).read(), "sums.deo")
random = np.random.default_rng(7)
rows = random.random((int(sys.argv[2]), 3)), random.random(int(sys.argv[2]))
total = diffeo.sum_over(rows, m.loss, MPI.COMM_WORLD)
value, slope = diffeo.value_and_grad(total)(np.array([0.1, -0.2, 0.3]))
with open(f"{MPI.COMM_WORLD.Get_rank()}.txt", "w") as told:
    told.write(np.float64(value).tobytes().hex() + " " + slope.tobytes().hex())
"""


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_of_mpi(m, tmp_path, processes):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    (tmp_path / "sums.deo").write_text(TEXT)
    (tmp_path / "process.py").write_text(SHARE)
    command = [mpiexec, "-n", str(processes), sys.executable, "process.py", "sums.deo", str(ROWS)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    expected = " ".join(part.hex() for part in both(m, None))
    assert [(tmp_path / f"{rank}.txt").read_text() for rank in range(processes)] == [expected] * processes


def test_ray(m):
    ray = pytest.importorskip("ray")
    pool = pytest.importorskip("ray.util.multiprocessing")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        assert both(m, pool.Pool(2)) == both(m, None)
    finally:
        ray.shutdown()


def test_dask(m):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        assert both(m, client) == both(m, None)


def test_tables_and_structures(m):
    columns = {"a": np.arange(2000.0), "b": np.linspace(0.0, 1.0, 2000)}
    p = {"scale": 2.0, "k": 2}
    value, slope = diffeo.value_and_grad(diffeo.sum_over(_rows(columns), m.tables))(p)
    expected = (columns["a"] * columns["b"] ** 2).sum()
    assert value == pytest.approx(2 * expected, rel=1e-13)
    # An Int of a derivative is that of the point.
    assert slope["k"] == 2 and slope["scale"] == pytest.approx(expected, rel=1e-13)
    counted = diffeo.sum_over(np.ones(1001), m.counted)()
    assert counted["count"] == 1001 and counted["total"] == 1001.0
    np.testing.assert_array_equal(counted["powers"], [1001.0, 1001.0])
    assert diffeo.sum_over(np.ones(0), m.counted)()["total"] == 0.0


def _rows(columns):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(columns)


def test_errors_name_what_is_wrong(m):
    with pytest.raises(TypeError, match=r"\[2, 3\] rows"):
        diffeo.sum_over((np.ones((3, 3)), np.ones(2)), m.loss)
    with pytest.raises(TypeError, match="takes 1 arguments, 2 were given"):
        diffeo.sum_over((XS, YS), m.loss)(W, W)
    with pytest.raises(TypeError, match="sum_over.loss. has 1 argument, and none of number 1"):
        diffeo.grad(diffeo.sum_over((XS, YS), m.loss), 1)
    with pytest.raises(TypeError, match="a function of a program"):
        diffeo.sum_over(XS, np.sum)
    with pytest.raises(TypeError, match="neither submit nor map"):
        diffeo.sum_over((XS, YS), m.loss, executor=3)(W)
    with pytest.raises(diffeo.Error, match="index -1 is out of bounds"):
        diffeo.sum_over(np.ones(3), m.bad)()


PROCESS = """
import os, sys
rank, processes, port, devices = (int(word) for word in sys.argv[1:])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
import jax, numpy as np, diffeo
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
if processes > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", processes, rank)
f = diffeo.jax(diffeo.source("def f(a: Real, x: [n]Real) -> Real = sum([sin(a * b) for b in x])").f)
mesh = Mesh(np.array(jax.devices()), ("rows",))
rows = np.linspace(0.0, 1.0, 1_000_000)
x = jax.make_array_from_callback(rows.shape, NamedSharding(mesh, P("rows")), lambda part: rows[part])
total = jax.shard_map(lambda a, x: jax.lax.psum(f(a, x), "rows"), mesh=mesh, in_specs=(P(), P("rows")), out_specs=P())
y, g = jax.jit(jax.value_and_grad(total))(2.0, x)
np.testing.assert_allclose([y, g], [np.sin(2.0 * rows).sum(), (rows * np.cos(2.0 * rows)).sum()], rtol=1e-12)
print("found", float(y).hex(), float(g).hex())
"""


def test_two_processes_of_jax_give_the_digits_of_one():
    pytest.importorskip("jax")

    def found(processes, devices):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-c", PROCESS]
        words = [[str(rank), str(processes), str(port), str(devices)] for rank in range(processes)]
        running = [subprocess.Popen(command + w, stdout=subprocess.PIPE, text=True) for w in words]
        lines = [process.communicate(timeout=120)[0] for process in running]
        assert [process.returncode for process in running] == [0] * processes
        return [line for text in lines for line in text.splitlines() if line.startswith("found")]

    # As many devices, on two processes and on one.
    assert found(2, 1) == found(1, 2) * 2
