import inspect
import warnings

import numpy as np
import pytest

import diffeo

TEXT = """
import bayes
import random
import stats (half_cauchy_logpdf, normal_logpdf, normal_sample)

def parameters({y}: {y: [n]Real}) = {mu = bayes.Free, tau = bayes.Positive, z = bayes.Array(length(y), bayes.Free)}
def log_density({mu, tau, z}: {mu: Real, tau: Real, z: [n]Real}, {y, sigma}: {y: [n]Real, sigma: [n]Real}) -> Real =
  normal_logpdf(mu, 0.0, 5.0) + half_cauchy_logpdf(tau, 5.0) + sum([normal_logpdf(v, 0.0, 1.0) for v in z])
  + sum([normal_logpdf(y[i], mu + tau * z[i], sigma[i]) for i < n])
def replicate({mu, tau, z}: {mu: Real, tau: Real, z: [n]Real}, {sigma}: {sigma: [n]Real}, key: random.Key) =
  {y_new = [normal_sample(mu + tau * z[i], sigma[i], k) for (i, k) in enumerate(random.split_many(n, key))]}
def normal({x}: {x: Real}) -> Real = -0.5 * x * x
def flat({x}: {x: Real}) -> Real = -sqrt(x - 10.0)
def growing({x}: {x: Real}) -> Real = x
def free = {x = bayes.Free}
"""

DATA = {"y": [28.0, 8, -3, 7, -1, 1, 18, 12], "sigma": np.array([15.0, 10, 16, 11, 9, 11, 10, 18])}


@pytest.fixture(scope="module")
def model():
    return diffeo.source(TEXT, "schools.deo")


def test_draws_are_arrays(model):
    found = diffeo.sample(model.log_density, DATA, convert=False, chains=2, draws=300, warmup=300, predict="replicate")
    posterior = found["posterior"]
    assert posterior["mu"].shape == (2, 300) and posterior["z"].shape == (2, 300, 8)
    assert found["predictions"]["y_new"].shape == (2, 300, 8)
    assert (posterior["tau"] > 0).all() and not found["sample_stats"]["diverging"].all()
    row = found["summary"]["mu"]
    assert np.isclose(row["mean"], posterior["mu"].mean()) and abs(row["mean"] - 4.4) < 1.0
    again = diffeo.sample(model.log_density, DATA, convert=False, chains=2, draws=300, warmup=300)
    np.testing.assert_array_equal(again["posterior"]["z"], posterior["z"])


def test_the_seed_decides(model):
    def draws(seed, **options):
        f = model.function("normal", **options)
        return diffeo.sample(f, convert=False, parameters="free", seed=seed, draws=50)["posterior"]["x"]

    np.testing.assert_array_equal(draws(1), draws(1, threads=1))
    assert not np.array_equal(draws(1), draws(2))


def test_approximations(model):
    def draws(method, **options):
        return diffeo.sample(model.normal, parameters="free", method=method, convert=False, draws=500, **options)

    near = draws("laplace", chains=2)
    x, stats = near["posterior"]["x"], near["sample_stats"]
    assert x.shape == (2, 500) and set(stats) == {"lp", "log_q"}
    # The density is a normal one without its constant.
    np.testing.assert_allclose(stats["lp"], -0.5 * x**2)
    np.testing.assert_allclose(stats["lp"] - stats["log_q"], 0.5 * np.log(2 * np.pi), atol=1e-9)
    assert near["approximation"]["converged"]
    assert np.isclose(near["approximation"]["log_evidence"], 0.5 * np.log(2 * np.pi))
    assert abs(draws("meanfield")["approximation"]["log_evidence"] - 0.5 * np.log(2 * np.pi)) < 0.05
    np.testing.assert_array_equal(draws("nuts")["posterior"]["x"], draws("nuts")["posterior"]["x"])
    assert "approximation" not in draws("nuts")
    with pytest.raises(ValueError, match='no method "vi".*meanfield'):
        draws("vi")
    with pytest.raises(diffeo.Error, match="no maximum"):
        diffeo.sample(model.growing, parameters="free", method="laplace")


def test_an_approximation_is_told_to_arviz(model):
    pytest.importorskip("arviz")
    found = diffeo.sample(model.normal, parameters="free", method="laplace", draws=100)
    assert found["posterior"].attrs["method"] == "laplace" and found["posterior"].attrs["pareto_k"] < 0.7
    assert "log_q" in found["sample_stats"]


def test_arviz_takes_them(model):
    arviz = pytest.importorskip("arviz")
    found = diffeo.sample(model.log_density, DATA, chains=4, draws=500, predict="replicate")
    raw = diffeo.sample(model.log_density, DATA, chains=4, draws=500, convert=False)["summary"]
    table = arviz.summary(found, var_names=["mu", "tau", "z"], round_to="none")
    for name in ["mu", "tau", "z[3]"]:
        assert np.isclose(table.loc[name, "mean"], raw[name]["mean"])
        assert np.isclose(table.loc[name, "ess_bulk"], raw[name]["ess_bulk"], rtol=1e-6)
        assert np.isclose(table.loc[name, "ess_tail"], raw[name]["ess_tail"], rtol=1e-6)
        assert np.isclose(table.loc[name, "r_hat"], raw[name]["r_hat"], rtol=1e-6)


def test_without_arviz_there_is_a_dictionary(model, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("arviz", "xarray") else find(name))
    found = diffeo.sample(model.normal, parameters="free", draws=100, chains=2)
    assert found["posterior"]["x"].shape == (2, 100)


def test_what_is_wrong_is_told(model):
    with pytest.raises(diffeo.Error, match="no chain can start"):
        diffeo.sample(model.flat, parameters="free")
    with pytest.raises(diffeo.ArgumentError, match="sigma"):
        diffeo.sample(model.log_density, {"y": [1.0]})
    with pytest.raises(TypeError, match="no option"):
        diffeo.sample(model.normal, parameters="free", steps=3)
    with pytest.raises(TypeError, match="function of a program"):
        diffeo.sample(lambda x: x)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        diffeo.sample(model.normal, parameters="free", draws=20, warmup=50)
    assert any("effective" in str(w.message) or "agree" in str(w.message) for w in told)


def test_options_are_known(model):
    options = inspect.signature(diffeo.sample).parameters
    assert {"draws", "warmup", "predict", "dims", "log_likelihood"} <= set(options)
    assert options["chains"].default == 4 and all(name in diffeo.sample.__doc__ for name in options)
    elsewhere = {"tune": "warmup=", "num_samples": "draws=", "cores": "threads=4", "drows": "draws=", "steps": "it has method"}
    for given, told in elsewhere.items():
        with pytest.raises(TypeError, match=f"no option {given}.*{told}"):
            diffeo.sample(model.normal, parameters="free", **{given: 3})
    for options, told in [
        ({"draws": -1}, "draws=-1"),
        ({"draws": 0}, "draws=0"),
        ({"chains": 2.0}, "chains=2.0"),
        ({"progress": 3}, "progress=3"),
        ({"predict": print}, "predict is the name"),
        ({"predict": diffeo.source("def f(x: Real) = x").f}, "predict=.*no definition"),
        ({"convert": False, "dims": {}}, "convert=False"),
    ]:
        with pytest.raises((TypeError, ValueError), match=told):
            diffeo.sample(model.normal, **{"parameters": "free", **options})


def test_definitions_are_given_as_functions(model):
    few = {"chains": 1, "draws": 20, "warmup": 50, "convert": False}
    found = diffeo.sample(model.log_density, DATA, parameters=model.parameters, predict=model.replicate, **few)
    assert found["predictions"]["y_new"].shape == (1, 20, 8)


def test_seeds_may_be_new(model):
    few = {"parameters": "free", "chains": 1, "draws": 20, "warmup": 50, "convert": False}
    first, second = (diffeo.sample(model.normal, seed=None, **few) for _ in range(2))
    assert not np.array_equal(first["posterior"]["x"], second["posterior"]["x"])
    again = diffeo.sample(model.normal, seed=first["seed"], **few)
    np.testing.assert_array_equal(again["posterior"]["x"], first["posterior"]["x"])


def test_progress_is_a_line(model, capfd):
    few = {"parameters": "free", "chains": 2, "draws": 300, "warmup": 50, "convert": False}
    diffeo.sample(model.normal, progress=True, **few)
    last = capfd.readouterr().err.split("\r")[-1]
    assert last.rstrip() == "chain 0: 350/350, chain 1: 350/350" and last.endswith("\n")
    diffeo.sample(model.normal, progress=False, **few)
    assert capfd.readouterr().err == ""


def test_what_progress_raises_ends_the_draws(model, capfd):
    def stop(chain, draw, total, divergences):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        diffeo.sample(model.normal, parameters="free", draws=10**7, progress=stop)
    assert capfd.readouterr().err == ""


def test_a_nan_of_the_data_is_named(model):
    y = np.array(DATA["y"])
    y[3] = np.nan
    with pytest.raises(diffeo.Error, match=r"the data hold a nan: `y\[3\]`") as told:
        diffeo.sample(model.log_density, {**DATA, "y": y})
    assert "<expression>" not in str(told.value) and "leave out of the data" in str(told.value)


LIKELIHOOD = """
import bayes
import stats (normal_logpdf)
type P = {mu: Real, z: [2]Real}
def parameters = {mu = bayes.Free, z = bayes.Array(2, bayes.Free)}
def log_lik({mu}: {mu: Real}, {y}: {y: [n]Real}) = [normal_logpdf(v, mu, 1.0) for v in y]
def log_density(p: P, {y, scale}: {y: [n]Real, scale: Real}) -> Real =
  sum(log_lik({mu = p.mu}, {y = y})) + normal_logpdf(p.mu, 0.0, scale) + sum([normal_logpdf(v, 0.0, 1.0) for v in p.z])
def other(p: P, {y}: {y: [n]Real}) = {a = 2.0 * log_lik({mu = p.mu}, {y = y}), b = p.mu}
def predicted(p: P, {y}: {y: [n]Real}) = {y = [p.mu for _ in y], ll = log_lik({mu = p.mu}, {y = y})}
def unfit(x: Real) = x
"""


def test_the_log_density_of_observations():
    m = diffeo.source(LIKELIHOOD, "likelihood.deo")
    few = {"data": {"y": [1.0, 2.0, 4.0], "scale": 10}, "chains": 2, "draws": 30, "warmup": 100}
    found = diffeo.sample(m.log_density, convert=False, **few)
    mu = found["posterior"]["mu"][..., None]
    expected = -0.5 * (np.array([1.0, 2.0, 4.0]) - mu) ** 2 - 0.5 * np.log(2.0 * np.pi)
    np.testing.assert_allclose(found["log_likelihood"]["log_lik"], expected)
    named = diffeo.sample(m.log_density, convert=False, log_likelihood=m.other, **few)["log_likelihood"]
    np.testing.assert_allclose(named["a"], 2.0 * expected)
    assert named["b"].shape == (2, 30)
    moved = diffeo.sample(m.log_density, convert=False, predict="predicted", log_likelihood="ll", **few)
    np.testing.assert_allclose(moved["log_likelihood"]["ll"], expected)
    assert set(moved["predictions"]) == {"y"}
    for name, told in [("unfit", "takes? a record"), ("nothing", "neither a function")]:
        with pytest.raises(ValueError, match=told):
            diffeo.sample(m.log_density, log_likelihood=name, **few)


def test_arviz_has_all_groups():
    arviz = pytest.importorskip("arviz")
    m = diffeo.source(LIKELIHOOD, "likelihood.deo")
    few = {"data": {"y": [1.0, 2.0, 4.0], "scale": 10}, "chains": 2, "draws": 200, "warmup": 200}
    names = {"dims": {"z": "side", "y": ["row"]}, "coords": {"side": ["left", "right"]}}
    found = diffeo.sample(m.log_density, predict="predicted", **few, **names)
    assert found["posterior"]["z"].dims == ("chain", "draw", "side") and found["posterior"].attrs["seed"] == 0
    assert list(found["posterior"]["z"].coords["side"].values) == ["left", "right"]
    assert found["posterior_predictive"]["y"].dims == ("chain", "draw", "row")
    observed = found["observed_data"]["y"]
    assert observed.dims == ("row",) and observed.values.tolist() == [1.0, 2.0, 4.0]
    assert found["constant_data"]["scale"].values.item() == 10.0
    assert "3 observations" in str(arviz.loo(found))
    plain = diffeo.sample(m.log_density, observed="y", **few)
    assert "y" in plain["observed_data"] and "scale" in plain["constant_data"]
    wrong = [
        ({"dims": {"zz": ["side"]}}, "zz.*mu"),
        ({"dims": {"z": ["side"]}, "coords": {"side": ["a"]}}, r"side \(1\)"),
        ({"observed": "x"}, "observed='x'"),
    ]
    for options, told in wrong:
        with pytest.raises(ValueError, match=told):
            diffeo.sample(m.log_density, **few, **options)


def test_variants_in_the_data_of_any_definition():
    # Each definition numbers and knows the types that it mentions by itself.
    text = """
import bayes
type Low = Low(Real)
type Kind = Plain | Scaled(Real)
def log_density({x}: {x: Real}, {low}: {low: Low}) -> Real = case low of { Low(m) -> -0.5 * sq(x - m) }
def replicate({x}: {x: Real}, {kind}: {kind: Kind}) = {y = case kind of { Plain -> x | Scaled(by) -> by * x }}
def parameters = {x = bayes.Free}
"""
    m = diffeo.source(text, "kinds.deo")
    data = {"low": m.types.Low.Low(1.0), "kind": m.types.Kind.Scaled(2.0)}
    found = diffeo.sample(m.log_density, data, convert=False, chains=1, draws=50, warmup=50, predict="replicate")
    np.testing.assert_array_equal(found["predictions"]["y"], 2.0 * found["posterior"]["x"])
