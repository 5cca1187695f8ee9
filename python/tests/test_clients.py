"""Libraries that `diffeo build` makes, used by the programs that their interfaces are for."""

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest
from built import program


def build(folder, text, *arguments, fails=False):
    """Builds a library `model`; gives its folder, or what was printed if that fails."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    (folder / "model.deo").write_text(text)
    command = [program(), "build", "model.deo", "-o", "lib", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    if fails:
        return done.stderr
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    for source in (folder / "lib").glob("*.c"):
        for compiler in compilers:
            strict = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", "/dev/null"]
            subprocess.run([compiler, *strict, source], check=True)
    return folder / "lib"


SCHOOLS = """
import stats
## Eight schools, not centred: `y` and `sigma` are data.
def log_density(p: {mu: Real, log_tau: Real, eta: [n]Real}, {y, sigma}: {y: [n]Real, sigma: [n]Real}) -> Real =
  let tau = exp(p.log_tau) in
  stats.normal_logpdf(p.mu, 0.0, 5.0) - log1p(sq(tau / 5.0)) + p.log_tau
    + sum([stats.normal_logpdf(e, 0.0, 1.0) for e in p.eta])
    + sum([stats.normal_logpdf(y[i], p.mu + tau * p.eta[i], sigma[i]) for i < n])
def reported(p: {mu: Real, log_tau: Real, eta: [n]Real}) =
  {mu = p.mu, tau = exp(p.log_tau), theta = [p.mu + exp(p.log_tau) * e for e in p.eta]}
"""
DATA = {"y": [28.0, 8, -3, 7, -1, 1, 18, 12], "sigma": [15.0, 10, 16, 11, 9, 11, 10, 18], "name": "schools", "more": {"y": [[]]}}


def density(theta):
    """The same in NumPy, with its gradient: parameters in the order eta, log_tau, mu."""
    eta, t, mu = theta[:8], theta[8], theta[9]
    y, sigma, tau = np.array(DATA["y"]), np.array(DATA["sigma"]), np.exp(t)
    log_normal = lambda m, s, x: -0.5 * ((x - m) / s) ** 2 - np.log(s) - 0.5 * np.log(2 * np.pi)  # noqa: E731
    value = log_normal(0, 5, mu) - np.log1p((tau / 5) ** 2) + t + log_normal(0, 1, eta).sum()
    z = (y - mu - tau * eta) / sigma**2
    by_t = 1 - 2 * tau**2 / (25 + tau**2) + (z * tau * eta).sum()
    return value + log_normal(mu + tau * eta, sigma, y).sum(), np.append(-eta + tau * z, [by_t, -mu / 25 + z.sum()])


def test_bridgestan(tmp_path):
    bridgestan = pytest.importorskip("bridgestan")
    lib = build(tmp_path, SCHOOLS, "--entry", "log_density", "--interface", "bridgestan")
    model = bridgestan.StanModel(lib / "libmodel.so", json.dumps(DATA))
    names = [f"eta.{i}" for i in range(1, 9)] + ["log_tau", "mu"]
    assert model.param_unc_names() == names and model.param_names() == names
    assert model.param_unc_num() == 10 and model.name() == "model" and "STAN_THREADS=true" in model.model_info()
    theta = np.linspace(-1.0, 1.5, 10)
    value, gradient = model.log_density_gradient(theta)
    expected, slope = density(theta)
    assert value == pytest.approx(expected, rel=1e-13) and model.log_density(theta) == value
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)
    value, gradient, hessian = model.log_density_hessian(theta)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)
    step = 1e-5
    for i, unit in enumerate(np.eye(10)):
        difference = (density(theta + step * unit)[1] - density(theta - step * unit)[1]) / (2 * step)
        np.testing.assert_allclose(hessian[i], difference, rtol=1e-6, atol=1e-7)
    along = model.log_density_hessian_vector_product(theta, np.ones(10))[1]
    np.testing.assert_allclose(along, hessian.sum(0), rtol=1e-12)
    np.testing.assert_array_equal(model.param_unconstrain(model.param_constrain(theta)), theta)
    point = {"eta": theta[:8].tolist(), "log_tau": theta[8], "mu": theta[9]}
    np.testing.assert_array_equal(model.param_unconstrain_json(point), theta)
    start = model.param_initialize(model.new_rng(3))
    assert (np.abs(start) <= 2).all() and len(set(start)) == 10
    for data, message in [
        ({"y": [1.0]}, "`sigma` is missing"),
        ({"y": [1.0], "sigma": [1.0, 2.0]}, "the size `n` is 1, and 2 in `sigma`|the size `n` is 2, and 1 in `y`"),
        ({"y": 1.0, "sigma": [1.0]}, "`y` has 0 indices, and 1 are expected"),
        ({"y": [[1.0]], "sigma": [1.0]}, "`y` has more than 1 indices"),
        ('{"y": [1.0, x]}', "`y` is no number at `x"),
        ('{"y": [1.0', "a comma is expected"),
        ("[1]", "an object is expected"),
        ('{"a":' * 100_000, "nested too deep"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            bridgestan.StanModel(lib / "libmodel.so", data, warn=False)


def test_what_bridgestan_reports(tmp_path):
    bridgestan = pytest.importorskip("bridgestan")
    lib = build(tmp_path, SCHOOLS, "--entry", "log_density", "--entry", "reported", "--interface", "bridgestan")
    model = bridgestan.StanModel(lib / "libmodel.so", DATA)
    assert model.param_names() == ["mu", "tau", *(f"theta.{i}" for i in range(1, 9))]
    theta = np.linspace(-1.0, 1.5, 10)
    tau = np.exp(theta[8])
    expected = [theta[9], tau, *(theta[9] + tau * theta[:8])]
    np.testing.assert_allclose(model.param_constrain(theta), expected, rtol=1e-14)
    with pytest.raises(RuntimeError, match="is not inverted"):
        model.param_unconstrain(np.ones(10))


def test_arrays_of_two_indices_are_named_by_columns(tmp_path):
    bridgestan = pytest.importorskip("bridgestan")
    text = """
def f(m: [2][3]Real, k: Int) -> Real = sum([sum([real(k) * m[i, j] ^ (i + 2 * j + 1) for j < 3]) for i < 2])
"""
    lib = build(tmp_path, text, "--entry", "f", "--interface", "bridgestan")
    model = bridgestan.StanModel(lib / "libmodel.so", {"k": 3})
    assert model.param_names() == ["m.1.1", "m.2.1", "m.1.2", "m.2.2", "m.1.3", "m.2.3"]
    assert model.param_unc_names() == ["m.1.1", "m.1.2", "m.1.3", "m.2.1", "m.2.2", "m.2.3"]
    theta = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(model.param_constrain(theta), [1, 4, 2, 5, 3, 6])
    np.testing.assert_array_equal(model.param_unconstrain(model.param_constrain(theta)), theta)
    m = theta.reshape(2, 3)
    assert model.log_density(theta) == pytest.approx(3 * sum(m[i, j] ** (i + 2 * j + 1) for i in range(2) for j in range(3)))


def test_nutpie(tmp_path):
    nutpie = pytest.importorskip("nutpie")
    pytest.importorskip("bridgestan")
    compiled = pytest.importorskip("nutpie.compile_stan")
    lib = build(tmp_path, SCHOOLS, "--entry", "log_density", "--entry", "reported", "--interface", "bridgestan")
    library = compiled._lib.StanLibrary(str(lib / "libmodel.so"))
    model = compiled.CompiledStanModel(
        code="", library=library, dims={}, _coords={}, model_name="model", model=None, data=None
    ).with_data(**{name: np.array(DATA[name]) for name in ("y", "sigma")})
    trace = nutpie.sample(model, draws=1000, tune=500, chains=4, seed=1, progress_bar=False)
    draws = trace.posterior
    # The posterior of reference: posteriordb, eight_schools_noncentered.
    assert float(draws["mu"].mean()) == pytest.approx(4.41, abs=0.4)
    assert float(draws["tau"].mean()) == pytest.approx(3.6, abs=0.4)
    assert draws["theta"].shape == (4, 1000, 8)
    np.testing.assert_allclose(draws["theta"].mean(axis=(0, 1))[[0, 2]], [6.15, 3.85], atol=0.6)


MODEL = """
## The squared error, and its residuals.
def loss(w: [k]Real, xs: [n][k]Real, flip: Bool) -> (Real, [n]Real) =
  let r = [sin(dot(w, x)) * (if flip then -1.0 else 1.0) for x in xs] in (sum([a * a for a in r]), r)
def rosenbrock(x: [2]Real) -> Real = sq(1.0 - x[0]) + 100.0 * sq(x[1] - x[0] * x[0])
def power(x: Real, n: Int) -> Real = if n == 0 then 1.0 else x * power(x, n - 1)
"""


def test_casadi(tmp_path):
    casadi = pytest.importorskip("casadi")
    entries = ["--entry", "loss", "--entry", "rosenbrock", "--entry", "power", "--entry", "loss:vjp(w)"]
    lib = build(tmp_path, MODEL, *entries, "--interface", "casadi", "--size", "k=2", "--size", "n=3")
    external = lambda name: casadi.external(f"model_{name}_casadi", str(lib / "libmodel.so"))  # noqa: E731
    loss = external("loss")
    assert [loss.name_in(i) for i in range(3)] == ["w", "xs", "flip"] and loss.size_in("xs") == (3, 2)
    w, xs = np.array([0.3, -0.7]), np.arange(6.0).reshape(3, 2) / 5
    value, residuals = loss(w, xs, 1)
    r = -np.sin(xs @ w)
    np.testing.assert_allclose([float(value)], [(r**2).sum()], rtol=1e-14)
    np.testing.assert_allclose(np.array(residuals).ravel(), r, rtol=1e-14)
    # Derivatives by both modes, of both orders.
    W, X = casadi.MX.sym("w", 2), casadi.MX.sym("xs", 3, 2)
    both = casadi.Function("both", [W, X], [casadi.jacobian(loss(W, X, 0)[1], W), casadi.gradient(loss(W, X, 0)[0], X)])
    jacobian, by_rows = both(w, xs)
    inner = xs @ w
    np.testing.assert_allclose(np.array(jacobian), np.cos(inner)[:, None] * xs, rtol=1e-13)
    np.testing.assert_allclose(np.array(by_rows), np.outer(2 * np.sin(inner) * np.cos(inner), w), rtol=1e-13)
    hessian = casadi.Function("hessian", [W, X], [casadi.hessian(loss(W, X, 0)[0], W)[0]])
    np.testing.assert_allclose(np.array(hessian(w, xs)), (2 * np.cos(2 * inner) * xs.T) @ xs, rtol=1e-12)
    power = external("power")
    a = casadi.MX.sym("a")
    assert float(casadi.Function("p", [a], [casadi.gradient(power(a, 4), a)])(1.5)) == pytest.approx(4 * 1.5**3)
    # A derivative by one parameter is a function of its own.
    bar = external("loss_vjp_w")(w, xs, 0, 1.0, np.zeros(3))[2]
    np.testing.assert_allclose(np.array(bar).ravel(), 2 * (np.sin(inner) * np.cos(inner)) @ xs, rtol=1e-13)
    # Newton's method needs the second derivatives.
    f, x = external("rosenbrock"), casadi.MX.sym("x", 2)
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": f(x)}, {"ipopt.print_level": 0, "print_time": False})
    np.testing.assert_allclose(np.array(solver(x0=[-1.2, 1.0])["x"]).ravel(), [1.0, 1.0], rtol=1e-6)
    assert solver.stats()["success"]


def test_xla(tmp_path):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    entries = ["--entry", "loss", "--entry", "power", "--entry", "loss:vjp(w)"]
    lib = build(tmp_path, MODEL, *entries, "--interface", "xla-ffi")
    library = ctypes.CDLL(str(lib / "libmodel.so"))
    for name in ("loss", "power", "loss_vjp_w"):
        handler = getattr(library, f"model_{name}_xla")
        jax.ffi.register_ffi_target(f"test_{name}", jax.ffi.pycapsule(handler), platform="cpu")
    w, xs = np.array([0.3, -0.7]), np.arange(6.0).reshape(3, 2) / 5
    real = lambda *shape: jax.ShapeDtypeStruct(shape, np.float64)  # noqa: E731
    loss = jax.ffi.ffi_call("test_loss", (real(), real(3)))
    value, residuals = jax.jit(loss)(w, xs, np.array(False))
    np.testing.assert_allclose(residuals, np.sin(xs @ w), rtol=1e-14)
    assert float(value) == pytest.approx((np.sin(xs @ w) ** 2).sum(), rel=1e-14)
    power = jax.ffi.ffi_call("test_power", real())
    assert float(jax.jit(power)(1.5, np.int64(4))) == 1.5**4
    pull = jax.ffi.ffi_call("test_loss_vjp_w", (real(), real(3), real(2)))
    bar = pull(w, xs, np.array(False), np.float64(1.0), np.zeros(3))[2]
    native = jax.grad(lambda w: (jax.numpy.sin(xs @ w) ** 2).sum())(w)
    np.testing.assert_allclose(bar, native, rtol=1e-13)
    for call, arguments, message in [
        (loss, (w, xs), "3 buffers are expected, not 2"),
        (loss, (w, w, np.array(False)), "xs is expected as an array of f64 with 2 dimensions"),
        (loss, (w, xs[:, :1], np.array(False)), "the sizes"),
        (jax.ffi.ffi_call("test_loss", (real(), real(4))), (w, xs, np.array(False)), "a result has other sizes"),
    ]:
        with pytest.raises(Exception, match=message):
            jax.block_until_ready(call(*arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--entry", "lost"], "did you mean `loss`"),
        (["--entry", "loss:gradient"], "`loss` has no gradient"),
        (["--entry", "rosenbrock:gradient(y)"], "`rosenbrock` has no parameter `y`"),
        (["--entry", "loss:slope"], "it is gradient, vjp, jvp, or jet:K,R"),
        (["--entry", "loss", "--interface", "stan"], "it is xla-ffi, bridgestan, casadi"),
        (["--entry", "loss", "--interface", "casadi"], "say it by `--size k=8`"),
        (["--entry", "loss", "--interface", "casadi", "--size", "k"], "it is written n=3"),
        (["--entry", "loss", "--interface", "bridgestan"], "`loss` is no log density"),
        (["--entry", "power", "--entry", "loss", "--interface", "bridgestan"], "`loss` cannot report what `power` takes"),
        (["--entry", "hello", "--interface", "xla-ffi"], "XLA has no texts"),
        (["--entry", "count", "--interface", "bridgestan"], "has parameters that are Reals, and `k` is none"),
        (["--entry", "many", "--interface", "bridgestan"], "no data have the size `n` of `w`"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, arguments, message):
    more = """
def hello(name: String) -> Real = 1.0
def count(k: Int) -> Real = real(k)
def many(w: [n]Real) -> Real = sum(w)
"""
    assert message in build(tmp_path, MODEL + more, *arguments, fails=True)
    assert not (tmp_path / "lib").exists()
