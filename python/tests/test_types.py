import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import diffeo


def test_mypy_knows_the_types(tmp_path):
    pytest.importorskip("mypy")
    program = pathlib.Path(__file__).with_name("typed.py")
    run = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    said = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, timeout=120).stdout
    wrong = [line for line in said.splitlines() if ": error: " in line]
    lines = program.read_text().splitlines()
    marked = [i for i, line in enumerate(lines, 1) if "# wrong" in line]
    assert sorted({int(line.split("typed.py:")[1].split(":")[0]) for line in wrong}) == marked, said
    assert len(wrong) == 4, said


def test_stubs_are_those_of_the_compiled_part(tmp_path):
    pytest.importorskip("mypy")
    run = [sys.executable, "-m", "mypy.stubtest", "diffeo._diffeo", "--ignore-disjoint-bases"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_signatures_are_there(m):
    assert str(inspect.signature(m.loss)) == "(w: '[k]Real', xs: '[n][k]Real') -> 'Real'"
    assert str(inspect.signature(m.unit)) == "() -> 'Int'"
    assert list(inspect.signature(diffeo.grad(m.loss)).parameters) == ["w", "xs"]
    assert list(inspect.signature(diffeo.hessian(m.loss)).parameters) == ["w", "xs"]
    assert list(inspect.signature(m.scaled).parameters) == ["arg0"]
    odd = diffeo.source("def f(x': Real, lambda: Real) = x' - lambda").f
    assert list(inspect.signature(odd).parameters) == ["arg0", "arg1"]
    assert odd(**{"lambda": 1.0, "x'": 3.0}) == odd(arg1=1.0, arg0=3.0) == 2.0


def test_arguments_have_names(m):
    w, xs = [1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]
    assert m.loss(w, xs=xs) == m.loss(xs=xs, w=w) == m.loss(w, xs) == 5.0
    assert diffeo.grad(m.loss)(xs=xs, w=w).tolist() == [2.0, 4.0]
    assert diffeo.hessian(m.loss)(w, xs=xs).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert m.scaled(by=2.0, x=[1.0], n=3)["n"] == 4
    assert diffeo.sum_over(np.array(xs), m.loss)(w=w) == 5.0


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda m: m.loss([1.0], ys=[[1.0]]), "has no parameter `ys`\n  help: it takes w, xs"),
        (lambda m: m.loss([1.0], w=[1.0]), "was given `w` twice"),
        (lambda m: m.loss(xs=[[1.0]]), "was not given `w`"),
        (lambda m: m.loss([1.0], [[1.0]], [1.0], xs=[[1.0]]), "was given `xs` twice"),
        (lambda m: m.unit(x=1), "has no parameter `x`\n  help: it takes no arguments"),
        (lambda m: m.scaled(by=2.0, z=1.0), "there is no field z"),
        (lambda m: m.scaled(by=2.0), "the field n is missing"),
    ],
)
def test_names_that_do_not_fit_are_told(m, call, said):
    with pytest.raises(diffeo.ArgumentError) as caught:
        call(m)
    assert said in str(caught.value), str(caught.value)


def test_names_are_completed(m):
    assert {"loss", "area", "types", "function"} <= set(dir(m))
    assert {"Shape"} <= set(dir(m.types)) and {"Dot", "Circle", "Box"} <= set(dir(m.types.Shape))
    core = pytest.importorskip("IPython.core.completer")
    names = {"m": m, "out": m.scaled({"by": 1.0, "x": [1.0], "n": 1})}
    completer = core.Completer(namespace=names)
    assert "m.loss" in completer.attr_matches("m.lo")
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.push(names)
    assert [name.removeprefix('out["') for name in shell.complete('out["', 'out["')[1]] == ["n", "y"]
