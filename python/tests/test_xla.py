"""Programs as StableHLO against the package's own machine code; spread over eight devices."""

import json
import os
import pathlib
import subprocess
import sys

import built
import diffeo
import numpy as np
import pytest
import stablehlo
from built import ROOT

GRADBENCH = ROOT / "examples" / "gradbench"
random = np.random.default_rng(0)
normal = random.normal

MIXTURE = {
    "alpha": normal(size=5),
    "gamma": 1.0,
    "l": normal(size=(5, 3)),
    "m": 0,
    "mu": normal(size=(5, 3)),
    "q": 0.1 * normal(size=(5, 3)),
    "x": normal(size=(20, 3)),
}
NETWORK = {
    "main_params": normal(size=(4, 12)),
    "extra_params": normal(size=(3, 3)),
    "state": normal(size=(4, 3)),
    "sequence": normal(size=(4, 3)),
}
SCENE = {
    "cams": normal(size=(2, 11)),
    "x": normal(size=(4, 3)),
    "w": normal(size=6),
    "obs": np.stack([random.integers(0, 2, 6), random.integers(0, 4, 6)], 1),
    "feats": normal(size=(6, 2)),
}
BONES, VERTICES, POINTS = 22, 30, 12
HAND = {
    "theta": 0.3 * normal(size=26),
    "us": random.random((POINTS, 2)),
    "data": {
        "correspondences": random.integers(0, 20, POINTS),
        "model": {
            "base_positions": normal(size=(VERTICES, 4)),
            "base_relatives": 0.3 * normal(size=(BONES, 4, 4)),
            "inverse_base_absolutes": 0.3 * normal(size=(BONES, 4, 4)),
            "is_mirrored": True,
            "parents": np.array([-1] + [i - 1 if (i - 1) % 4 else 0 for i in range(1, BONES)]),
            "triangles": random.integers(0, VERTICES, (20, 3)),
            "weights": random.random((VERTICES, BONES)),
        },
        "points": normal(size=(POINTS, 3)),
    },
}
CASES = [
    ("ht", "objective", HAND),
    ("ht", "jacobian", HAND),
    ("ht", "objective", {**HAND, "us": np.zeros((0, 2))}),
    ("ht", "jacobian", {**HAND, "us": np.zeros((0, 2))}),
    ("gmm", "objective", MIXTURE),
    ("gmm", "jacobian", MIXTURE),
    ("lse", "primal", {"x": normal(size=7)}),
    ("lse", "gradient", {"x": normal(size=7)}),
    ("llsq", "primal", {"x": normal(size=6), "n": 15}),
    ("llsq", "gradient", {"x": normal(size=6), "n": 15}),
    ("ode", "primal", {"x": normal(size=4), "s": 10}),
    ("ode", "gradient", {"x": normal(size=4), "s": 10}),
    ("kmeans", "cost", {"points": normal(size=(12, 2)), "centroids": normal(size=(3, 2))}),
    ("lstm", "objective", NETWORK),
    ("lstm", "jacobian", NETWORK),
    ("ba", "objective", SCENE),
    ("ba", "jacobian", SCENE),
]


def named(given, path=""):
    """The numbers and arrays of arguments by their names, in order."""
    for name, x in sorted(given.items()):
        if isinstance(x, dict):
            yield from named(x, f"{path}{name}.")
        else:
            yield path + name, x


def is_int(x):
    return isinstance(x, int) and not isinstance(x, bool)


def sizes(given):
    """What `--shape` says of arguments: sizes of arrays, and Ints, which are fixed."""
    return {
        name: x if is_int(x) else "x".join(map(str, x.shape))
        for name, x in named(given)
        if is_int(x) or isinstance(x, np.ndarray)
    }


def numbers(value):
    """All numbers of a value, records by the names of their fields."""
    if isinstance(value, dict):
        return np.concatenate([numbers(value[name]) for name in sorted(value)])
    return np.ravel(np.asarray(value, dtype=float))


@pytest.mark.parametrize(("file", "entry", "given"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_gradbench(file, entry, given):
    path = GRADBENCH / f"{file}.deo"
    text = stablehlo.lower(path, entry, sizes(given))
    arguments = [x for _, x in named(given) if not is_int(x)]
    results, status, _ = stablehlo.call(text, *arguments)
    expected = numbers(getattr(diffeo.load(path), entry)(given))
    found = np.concatenate([numbers(result) for result in results])
    assert status == -1
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * np.abs(expected).max())


SHARDED = """
import re, sys
import stablehlo
text = stablehlo.lower(sys.argv[1], "jacobian", {"alpha": "5", "mu": "5x3", "q": "5x3", "l": "5x3", "x": "800x3", "m": 0})
rows = "%arg5: tensor<800x3xf64>"
text = text.replace(rows, rows + ' {mhlo.sharding = "{devices=[8,1]<=[8]}"}')
program = stablehlo.compiled(text, devices=8).hlo_modules()[0].to_string()
print(*re.findall(r" (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\\(", program))
"""


def test_a_gradient_over_rows_on_eight_devices_has_one_all_reduce():
    """And none of the rows is sent to other devices."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "PYTHONPATH": str(pathlib.Path(__file__).parent)}
    command = [sys.executable, "-c", SHARDED, GRADBENCH / "gmm.deo"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **flags})
    assert done.stdout.split() == ["all-reduce"], done.stderr[-2000:]


PROGRAM = """
def pick({xs, at}: {xs: [n]Real, at: [m]Int}) -> [m]Real = [xs[i] for i in at]
def quotient({a, b}: {a: [n]Int, b: [n]Int}) -> [n]Int = [a[i] / b[i] for i < n]
def fall({n, x}: {n: Int, x: Real}) -> Real = loop x = x for i < n do x * 0.5
def halve({xs}: {xs: [n]Real}) -> [n]Real =
  [loop x = x while x > 1 do x / 2 for x in xs]
def within({ns, xs}: {ns: [k]Int, xs: [n]Real}) -> [k]Real =
  [if m > 0 then (loop x = 1.0 for i < m do x * xs[i]) else 0.0 for m in ns]
def depth({n}: {n: Int}) -> Int = if n == 0 then 0 else 1 + depth({n = n - 1})
def positive({xs}: {xs: [n]Real}) -> Real = sum([x for x in xs if x > 0])
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("xla") / "p.deo"
    path.write_text(PROGRAM)
    return path


def test_checks_are_results(program):
    text = stablehlo.lower(program, "pick", {"xs": "4", "at": "3"})
    xs = np.arange(4.0)
    (found,), status, _ = stablehlo.call(text, np.array([3, 0, 2]), xs)
    assert status == -1 and found.tolist() == [3.0, 0.0, 2.0]
    _, status, operands = stablehlo.call(text, np.array([1, 4, -1]), xs)
    # The first step that failed: the index, and the length.
    assert status >= 0 and operands[:2].tolist() == [4, 4]
    text = stablehlo.lower(program, "quotient", {"a": "2", "b": "2"})
    (found,), status, _ = stablehlo.call(text, np.array([-7, 7]), np.array([2, -2]))
    assert status == -1 and found.tolist() == [-3, -3]
    _, status, operands = stablehlo.call(text, np.array([1, 5]), np.array([1, 0]))
    assert status >= 0 and operands[0] == 5


def test_loops(program):
    text = stablehlo.lower(program, "fall", {})
    (found,), status, _ = stablehlo.call(text, 10, 1.0)
    assert status == -1 and found == 0.5**10
    text = stablehlo.lower(program, "halve", {"xs": "3"})
    (found,), status, _ = stablehlo.call(text, np.array([0.5, 12.0, 5.0]))
    assert status == -1 and found.tolist() == [0.5, 0.75, 0.625]
    text = stablehlo.lower(program, "within", {"ns": "4", "xs": "3"})
    xs = np.array([2.0, 3.0, 5.0])
    (found,), status, _ = stablehlo.call(text, np.array([2, 0, -3, 3]), xs)
    assert status == -1 and found.tolist() == [6.0, 0.0, 0.0, 30.0]
    _, status, operands = stablehlo.call(text, np.array([2, 0, 4, 5]), xs)
    assert status >= 0 and operands[:2].tolist() == [3, 3]


MASKED = """
def before({ys}: {ys: [t][n]Real}) -> Real =
  loop s = 0.0 for i < t do sin(s) + sum([if j == 0 then 0.5 else ys[i][j - 1] * real(j) for j < n])
def slope({ys}: {ys: [t][n]Real}) -> [t][n]Real = grad(fn ys -> before({ys}))(ys)
def sorted({xs}: {xs: [n]Real}) -> ([n]Real, [n]Int, [n]Real) =
  (sort(xs), argsort(xs), grad(fn x -> sum([real(i) * sort(x)[i] for i < n]))(xs))
"""


@pytest.mark.parametrize(("entry", "name"), [("before", "ys"), ("slope", "ys"), ("sorted", "xs")])
def test_steps_that_are_not_taken_do_not_move_others(tmp_path, entry, name):
    """XLA moves a window that begins before an array, as that of row 0's element j - 1 for all j does."""
    path = tmp_path / "m.deo"
    path.write_text(MASKED)
    given = normal(size=(7, 300)) if name == "ys" else np.array([2.0, -1.0, np.nan, 0.5, 2.0, -0.0, 0.0])
    results, status, _ = stablehlo.call(stablehlo.lower(path, entry, {name: "x".join(map(str, given.shape))}), given)
    expected = diffeo.load(path).function(entry, engine="interp")({name: given})
    assert status == -1
    for found, wanted in zip(results, expected if entry == "sorted" else [expected], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_modules_are_built(program):
    """``diffeo build --interface stablehlo`` writes what ``diffeo show`` prints, behind what it takes and its checks."""
    folder = program.parent / "lib"
    command = [built.program(), "build", program, "--entry", "pick", "--entry", "pick:vjp", "--interface", "stablehlo"]
    shapes = ["--shape", "xs=4", "--shape", "at=3"]
    subprocess.run([*command, *shapes, "-o", folder], check=True)
    text = (folder / "pick.mlir").read_text()
    assert text.endswith(stablehlo.lower(program, "pick", {"xs": "4", "at": "3"}))
    assert "// takes at\n// takes xs\n" in text and f"// check 0: index-out-of-bounds at {program}:2:" in text
    results, status, _ = stablehlo.call((folder / "pick_vjp.mlir").read_text(), np.array([3, 0, 3]), np.arange(4.0), np.array([1.0, 2.0, 4.0]))
    assert status == -1 and results[0].tolist() == [3.0, 0.0, 3.0] and results[-1].tolist() == [2.0, 0.0, 0.0, 5.0]
    both = [*command, "--entry", "fall", *shapes, "--shape", "n=3", "-o", folder]
    subprocess.run(both, check=True)
    assert "// n is 3\n" in (folder / "fall.mlir").read_text()
    wrong = subprocess.run([*both, "--shape", "ns=4"], capture_output=True, text=True)
    assert wrong.returncode == 1
    assert "none of the functions has an array or Int `ns`" in wrong.stderr
    wrong = subprocess.run([*command, "--shape", "xs=4", "--shape", "xs=5", "-o", folder], capture_output=True, text=True)
    assert wrong.returncode == 1 and "the shape of `xs` is given twice" in wrong.stderr


TRIANGLE = """
def lower({l, x, b}: {l: [n][n]Real, x: [n]Real, b: [n][m]Real}) -> [n][m]Real =
  [[sum([b[k][j] * x[k] * l[i][k] for k < i]) for j < m] for i < n]
"""


def test_products_that_the_program_does_not_take_are_not_taken(tmp_path):
    """They may overflow, and 0 times infinity is nan."""
    path = tmp_path / "t.deo"
    path.write_text(TRIANGLE)
    text = stablehlo.lower(path, "lower", {"l": "2x2", "x": 2, "b": "2x1"})
    (found,), status, _ = stablehlo.call(text, np.array([[1.0], [1e200]]), np.ones((2, 2)), np.array([1.0, 1e200]))
    assert status == -1 and found.tolist() == [[0.0], [1.0]]


TWICE = """
def step(ys: [n]Real, j: Int, w: [k]Real) -> [n]Real =
  let y = ys[j]
  let a = sin(y * w[0]) + cos(w[1] * y)
  let b = exp(-a * a) * w[0] + tanh(a + y)
  let c = sqrt(1.0 + b * b) + sin(a * b) * w[1]
  let d = atan(c + a) * w[0] - log(2.0 + c * c)
  let e = sin(d) * cos(c) + tanh(b * d) * w[1]
  let g = exp(-e * e) + sin(d * e) + w[0] * w[1] in
  ys with [j] = 0.5 * tanh(g + e + d)
def loss(w: [k]Real) -> Real =
  sum(loop ys = [1.0, 2.0] for t < 20 do (loop zs = ys for j < 2 do step(zs, j, w)))
def slope({w}: {w: [k]Real}) -> [k]Real = grad(loss)(w)
"""


def test_calls_at_one_place_are_told_apart(tmp_path):
    path = tmp_path / "t.deo"
    path.write_text(TWICE)
    w = np.array([0.7, -0.4])
    (found,), status, _ = stablehlo.call(stablehlo.lower(path, "slope", {"w": 2}), w)
    assert status == -1
    np.testing.assert_allclose(found, diffeo.load(path).function("slope", engine="interp")({"w": w}), rtol=1e-12)


MATRICES = """
import linalg
def solution({l, b}: {l: [n][n]Real, b: [n]Real}) -> [n]Real =
  loop x = b for i < n do x with [i] = (x[i] - dot(l[i][0..i], x[0..i])) / l[i, i]
def values({l, b}: {l: [n][n]Real, b: [n]Real}) -> [n]Real = linalg.eigh(l).values + b
"""


@pytest.mark.parametrize("entry", ["solution", "values"])
def test_sums_to_the_index_of_a_loop(tmp_path, entry):
    path = tmp_path / "m.deo"
    path.write_text(MATRICES)
    half = normal(size=(7, 7))
    given = {"l": half @ half.T + np.eye(7), "b": normal(size=7)}
    (found,), status, _ = stablehlo.call(stablehlo.lower(path, entry, sizes(given)), given["b"], given["l"])
    assert status == -1
    np.testing.assert_allclose(found, diffeo.load(path).function(entry, engine="interp")(given), rtol=1e-9)


SPECIAL = """
import stats (normal_cdf)
def main({xs}: {xs: [n]Real}) = (map(lgamma, xs), map(digamma, xs), map(erf, xs), map(erfc, xs), jacfwd(fn x -> map(erf, x))(xs), map(sinh, xs), map(cosh, xs), map(asinh, xs), map(tanh, xs), map(sigmoid, xs), map(softplus, xs), map(atan, xs), map(expm1, xs))
"""


def test_functions_have_their_digits(tmp_path):
    path = tmp_path / "special.deo"
    path.write_text(SPECIAL)
    xs = np.array([-170.3, -20.7, -5.5, -2.3, -0.7, -1e-3, -1e-9, 1e-12, 1e-4, 0.3, 0.5, 0.9, 1.4, 1.6, 2.7, 3.5, 7.2, 19.9, 25.5, 140.0])
    results, status, _ = stablehlo.call(stablehlo.lower(path, "main", {"xs": len(xs)}), xs)
    expected = diffeo.load(path).function("main", engine="interp")({"xs": xs})
    assert status == -1
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-13, atol=1e-300)


@pytest.mark.parametrize(
    ("entry", "shapes", "message"),
    [
        ("depth", {}, "recursion through `depth`"),
        ("positive", {"xs": "3"}, "no form in XLA"),
        ("pick", {"xs": "4"}, "the sizes of `at` are missing"),
        ("pick", {"xs": "4x2", "at": "3"}, "`xs` has one size, not 2"),
        ("pick", {"xs": "4", "at": "3", "xz": "3"}, "it has at, xs"),
        ("fall", {"n": "3x4"}, "`n` is an Int, which has one number"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(program, entry, shapes, message):
    said = stablehlo.lower(program, entry, shapes)
    assert message in said, said


# Cases of the corpus whose values are others on XLA.
NAN = "the evaluator decides what 0 times infinity is"
DIGITS = "last digits, and what XLA simplifies, as (a / b) / c to a / (b * c): huge and tiny numbers overflow"
TOWER = "an order of derivatives that only the run knows: the check fails"
OTHERS = {
    "tangents and cotangents that are zero": NAN,
    "what is chosen has the derivative, not what is not": NAN,
    "a slope that vanishes": NAN,
    "symmetric functions of equal eigenvalues": NAN,
    "the quotient that a remainder leaves out is constant, also where the divisor is 0": NAN,
    "jets at the ends of domains": NAN,
    "bisection to the last bit": DIGITS,
    "heavy tails, far out": DIGITS,
    "bisection between the largest numbers": DIGITS,
    "correlation and spread of huge, tiny and equal numbers": DIGITS,
    "derivatives of the correlation do not depend on the scale": DIGITS,
    "the inverse of the error function": DIGITS,
    "a derivative within a recursive function of the function itself": TOWER,
    "a recursive tower of derivatives": TOWER,
    "pullbacks among the functions that they are taken of": TOWER,
    "a pullback within the function that it is taken of, in one of two branches": TOWER,
    "pullbacks of functions that grow as they recur": TOWER,
}


@pytest.mark.skipif("DIFFEO_XLA" not in os.environ, reason="DIFFEO_XLA names no file of `stablehlo_of_the_corpus`")
def test_the_corpus():
    """``DIFFEO_XLA=FILE cargo test --release -p diffeo --test it stablehlo -- --ignored`` writes the file."""
    differ = set()
    for line in pathlib.Path(os.environ["DIFFEO_XLA"]).read_text().splitlines():
        case = json.loads(line)
        results, status, _ = stablehlo.call(case["text"])
        found = np.concatenate([numbers(result) for result in results] or [np.zeros(0)])
        if case["code"] is not None or status >= 0:
            same = case["code"] is not None and status >= 0
        else:
            wanted = np.array([float(x) for x in case["value"]])
            size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
            same = found.shape == wanted.shape and np.allclose(found, wanted, rtol=0, atol=1e-11 * size, equal_nan=True)
        if not same:
            differ.add(case["name"])
    assert differ == set(OTHERS)
