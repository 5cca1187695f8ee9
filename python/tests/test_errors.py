import signal
import threading
import time

import numpy as np
import pytest

import diffeo


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda m: m.loss([1.0]), "takes 2 arguments, 1 were given"),
        (lambda m: m.loss("x", [[1.0]]), "argument `w` of loss: expected [k]Real, found a value of type str"),
        (lambda m: m.loss([1.0], [1.0]), "it has 1 indices, not 2"),
        (lambda m: m.loss(np.array([1j]), [[1.0]]), "an array of complex128 with shape (1,)"),
        (lambda m: m.loss(np.array(["a"]), [[1.0]]), "expected [k]Real, found an array of <U1"),
        (lambda m: m.loss(np.array([object()]), [[1.0]]), "expected [k]Real"),
        (lambda m: m.image(np.array([True]), 1.0), "expected [n]Real, found an array of bool"),
        (lambda m: m.power(1.0, 2.5), "argument `n` of power: expected Int, found a value of type float"),
        (lambda m: m.power(1.0, 2**70), "an Int has 64 bits"),
        (lambda m: m.cube(True), "expected Real, found a value of type bool"),
        (lambda m: m.cube(None), "expected Real, found a value of type NoneType"),
        (lambda m: m.scaled({"by": 1.0, "x": [1.0]}), "the field n is missing"),
        (lambda m: m.scaled({"by": 1.0, "x": [1.0], "n": 1, "z": 2}), "there is no field z"),
        (lambda m: m.scaled({"by": 1.0, "x": ["a"], "n": 1}), "argument 0 of scaled, at .x[0]: expected Real, found a value of type str"),
        (lambda m: m.area(3.0), "a Shape is one of Dot, Circle, Box"),
        (lambda m: m.types.Shape.Box(1.0), "Box takes 2 fields"),
        (lambda m: m.flags([1, 0]), "expected [n]Bool"),
        (lambda m: diffeo.grad(m.two), "a gradient needs a function to Real"),
        (lambda m: diffeo.grad(m.cube, 1), "none of number 1"),
        (lambda m: diffeo.grad(m.power, 1), "no Real to differentiate by is in argument 1"),
        (lambda m: m.rows([{"a": 1.0}]), "the field b is missing"),
    ],
)
def test_what_does_not_fit_is_named(m, call, said):
    with pytest.raises(TypeError) as caught:
        call(m)
    assert said in str(caught.value), str(caught.value)


def test_errors_of_programs_have_places(m):
    with pytest.raises(diffeo.Error) as caught:
        m.at([1.0, 2.0], 5)
    (message,) = caught.value.messages
    assert (message["code"], message["file"]) == ("index-out-of-bounds", "test.deo") and message["line"] > 1
    assert m.at([1.0, 2.0], 1) == 2.0
    with pytest.raises(diffeo.Error, match="the sizes"):
        m.loss([1.0], [[1.0, 2.0]])
    with pytest.raises(diffeo.Error, match="type-mismatch"):
        diffeo.source("def f(x: Int) -> Real = x")
    with pytest.raises(diffeo.Error, match="unreadable-file"):
        diffeo.load("no/such/file.deo")
    with pytest.raises(AttributeError, match="no definition nope"):
        m.nope


def test_nan_derivatives_warn(m):
    root = m.function("root")
    assert np.isnan(root(0.0))
    assert [warning["code"] for warning in root.take_warnings()] == ["nan-derivative"]


def test_calls_are_bounded(m):
    start = time.perf_counter()
    with pytest.raises(diffeo.Error, match="timeout"):
        m.function("spin", timeout=0.2)(0.0)
    assert time.perf_counter() - start < 5.0


def test_checks_are_bounded():
    text = "".join(f"def f{i}(x: Real) -> Real = sin(x) * {i}.0 + (if x > {i}.0 then cos(x) else exp(x))\n" for i in range(100_000))
    start = time.perf_counter()
    with pytest.raises(diffeo.Error, match="timeout"):
        diffeo.source(text, timeout=0.1)
    assert time.perf_counter() - start < 5.0
    assert diffeo.source("def f(x: Real) = x", timeout=10).f(2.0) == 2.0


def test_ctrl_c_ends_a_call(m):
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        m.spin(0.0)
    assert time.perf_counter() - start < 5.0
    assert m.cube(2.0) == 8.0


def test_options_are_checked(m):
    with pytest.raises(ValueError, match="there is no engine"):
        m.function("cube", engine="gpu")
    with pytest.raises(TypeError, match="there is no option"):
        m.function("cube", speed=3)
