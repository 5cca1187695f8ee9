import dataclasses
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import diffeo


def test_values_go_in_and_come_out(m):
    w, xs = np.array([1.0, 2.0]), np.arange(10.0).reshape(5, 2)
    assert m.loss(w, xs) == ((xs @ w) ** 2).sum()
    assert m.loss([1, 2], xs.tolist()) == m.loss(w, xs)
    assert m.answer == 42 and m.unit() == 42
    np.testing.assert_array_equal(m.table, [[1.0, 2.0], [3.0, 4.0]])
    out = m.scaled({"by": 2.0, "x": [1.0, 2.0], "n": 3})
    np.testing.assert_array_equal(out["y"], [2.0, 4.0])
    assert out["n"] == 4 and isinstance(out["n"], int)
    assert m.hello("you") == "hello you"
    assert m.two(0.5, 1.0) == (np.sin(0.5), 1.5)
    assert m.flags(np.array([True, False, True])) == 2
    assert m.total([1.0, 2.0, 3.0]) == 6.0 and m.total([]) == 0.0
    assert m.collatz(27) == 111


def test_dataclasses_are_records(m):
    @dataclasses.dataclass
    class Given:
        by: float
        x: list
        n: int

    np.testing.assert_array_equal(m.scaled(Given(3.0, [1.0], 0))["y"], [3.0])


def test_variants_of_imported_modules():
    best = "import optim\ndef best(a: Real) = optim.newton(fn x -> sq(x - a), 0.0)\n"
    m, plain = diffeo.source(best + "type Reason = Own(Real)"), diffeo.source(best)
    reason, again = m.best(3.0)["reason"], plain.best(3.0)["reason"]
    assert reason.name == "GradientSmall" and repr(reason) == "GradientSmall"
    assert isinstance(again, plain.types.Reason.GradientSmall) and again == reason == plain.types.Reason.GradientSmall
    assert again != plain.types.Reason.StepSmall and plain.types.Reason.StepSmall != again and reason != "GradientSmall"
    assert {reason: 1}[plain.types.Reason.GradientSmall] == 1
    # Own types come first.
    assert m.types.Reason.Own(2.0) == m.types.Reason.Own(2.0) != m.types.Reason.Own(3.0)
    assert m.types.Reason.Own != m.types.Reason.Own(2.0)


def test_variants_are_classes(m):
    shape = m.types.Shape
    assert m.area(shape.Box(2.0, 3.0)) == 6.0 and m.area(shape.Dot()) == 0.0
    slope = diffeo.grad(m.area)(shape.Box(2.0, 3.0))
    match slope:
        case shape.Box(a, b):
            assert (a, b) == (3.0, 2.0)
        case _:
            raise AssertionError(slope)
    assert m.plus_one(None) is None and m.plus_one(1.0) == 2.0


def test_arrays_of_other_kinds_are_converted(m):
    xs = np.arange(20.0).reshape(10, 2)
    w = np.array([1.0, 2.0])
    expected = m.loss(w, xs[::2])
    for given in [xs[::2], np.asfortranarray(xs[::2]), xs[::2].astype(">f8"), xs[::2].astype("f4"), xs[::2].astype("i4")]:
        assert m.loss(w, given) == expected
    frozen = xs[::2].copy()
    frozen.flags.writeable = False
    assert m.loss(w, frozen) == expected
    assert m.image(np.empty(0), 1.0).shape == (0,)
    assert m.cube(np.float32(2.0)) == 8.0 and m.cube(np.array(2.0)) == 8.0 and m.cube(2) == 8.0
    assert m.power(2.0, np.int32(3)) == 8.0


def test_frames_are_arrays_of_records(m):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in [pandas.DataFrame, polars.DataFrame]:
        assert m.rows(frame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [0, 0]})) == 5.0
        assert m.mean_of(frame({"a": [1.0, None]})) == 1.0
    structured = np.array([(1.0, "x"), (2.0, "y")], dtype=[("a", "f8"), ("b", "U1")])
    assert m.rows(structured) == 5.0


def test_missing_cells_need_a_type_for_them(m):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    texts = ["x", "y"]
    for frame, said in [
        (pandas.DataFrame({"a": [1.0, float("nan")], "b": texts}), "it is `nan`, a missing value"),
        (pandas.DataFrame({"a": pandas.array([1.0, None], dtype="Float64"), "b": texts}), "it is `<NA>`, a missing value"),
        (polars.DataFrame({"a": [1.0, None], "b": texts}), "it is empty"),
    ]:
        with pytest.raises(diffeo.ArgumentError) as caught:
            m.rows(frame)
        (message,) = caught.value.messages
        assert message["message"] == f"argument `t[1].a` of rows: column `a` must be of type `Real`, but {said}"
        assert message["help"] == "a column with missing cells has the type `Maybe[Real]`"
        assert message["line"] is None and message["text"] == str(caught.value)
        assert m.mean_of(frame) == 1.0
    with pytest.raises(diffeo.ArgumentError, match="column `b` must be of type `String`"):
        m.rows(pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", None]}))
    # A nan is a number where the frame has another mark for what is missing, and in arrays.
    assert np.isnan(m.rows(polars.DataFrame({"a": [1.0, float("nan")], "b": texts})))
    assert np.isnan(m.rows(np.array([(float("nan"), "x")], dtype=[("a", "f8"), ("b", "U1")])))
    # pandas has made floats of whole numbers where some are missing.
    counts = diffeo.source("def f(t: [n]{k: Maybe[Int]}) = sum([from_maybe(10, r.k) for r in t])").f
    assert counts(pandas.DataFrame({"k": [1, None]})) == counts(polars.DataFrame({"k": [1, None]})) == 11
    with pytest.raises(diffeo.ArgumentError, match="expected Int, found a value of type float"):
        counts(pandas.DataFrame({"k": [1.5, None]}))


def test_threads_give_the_same_digits(m):
    gradient = diffeo.grad(m.loss)
    xs = np.random.default_rng(0).random((30, 2))

    def all_of_them():
        return np.array([gradient([i * 1e-3, 0.5], xs) for i in range(1000)])

    alone, found = all_of_them(), []
    threads = [threading.Thread(target=lambda: found.append(all_of_them())) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert len(found) == 8 and all((x == alone).all() for x in found)


def test_rows_of_different_lengths(m):
    rows = [np.ones(n) for n in range(1, 6)]
    found = diffeo.map(m.image, in_axes=(0, None), threads=3)(rows, 0.5)
    assert [len(row) for row in found] == [1, 2, 3, 4, 5]
    assert diffeo.map(m.cube)(np.arange(4.0)).tolist() == [0.0, 1.0, 8.0, 27.0]


def test_functions_pickle_by_source(m):
    w, xs = [1.0, 2.0], [[1.0, 0.0]]
    for f in [m.loss, diffeo.grad(m.loss), m.function("loss", engine="jit")]:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(w, xs), f(w, xs))
    assert pickle.loads(pickle.dumps(m)).answer == 42


def test_a_fork_can_call():
    # In a process of its own: others have threads that a fork would lose.
    code = """
import diffeo, os
f = diffeo.source("def f(x: Real) = x ^ 3").f
f(2.0)
child = os.fork()
if child == 0:
    os._exit(0 if f(3.0) == 27.0 and diffeo.grad(f)(1.0) == 3.0 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_engines_agree(m):
    xs = np.linspace(0.0, 1.0, 7)
    expected = m.function("image", engine="interp")(xs, 2.0)
    for engine in ["auto", "jit", "llvm", "c"]:
        np.testing.assert_allclose(m.function("image", engine=engine)(xs, 2.0), expected, rtol=1e-13)


def test_what_programs_print_goes_to_a_function(m):
    lines = []
    noted = m.function("noted", trace=lines.append)
    assert noted(1.5) == 3.0 and lines == ["x: 1.5"]


def test_documentation_is_there(m):
    assert m.loss.__doc__.startswith("loss : ([k]Real, [n][k]Real) -> Real")
    assert "The sum of squares" in m.loss.__doc__
    assert "loss" in repr(m.loss) and "loss" in dir(m)


def test_files_are_loaded(root):
    iris = diffeo.load(root / "examples" / "descend.deo")
    assert "descend" in repr(iris)


def test_kinks_are_decided_by_directions():
    m = diffeo.source("def f(x: Real, y: Real) = max(x, y) + min(x, y)\ndef step(x: Real) = if x < 0.0 then 0.0 else 1.0\n", "k.deo")
    assert diffeo.grad(m.f, argnums=(0, 1))(1.0, 1.0) == (2.0, 0.0)
    exact = m.function("f", kinks="exact")
    assert diffeo.grad(exact, argnums=(0, 1))(1.0, 1.0) == (1.0, 1.0)
    with pytest.raises(diffeo.Error, match="the function jumps where 0.0 < 0.0 is decided"):
        diffeo.grad(m.function("step", kinks="exact"))(0.0)
    with pytest.raises(ValueError, match="kinks is ignore, warn, error or exact"):
        m.function("f", kinks="exactly")


def test_expressions_are_functions(m):
    f = m.expression("fn x -> cube(x) + 1.0")
    assert f(2.0) == 9.0 and diffeo.grad(f)(2.0) == 12.0


def test_documentation_is_read_while_another_thread_prints(m):
    lines = []
    noted = m.function("noted", engine="interp", trace=lines.append)
    thread = threading.Thread(target=lambda: [noted(1.0) for _ in range(300)], daemon=True)
    thread.start()
    for _ in range(300):
        assert m.loss.__doc__ and m._program.variants()
    thread.join(60)
    assert not thread.is_alive() and len(lines) == 300


def test_a_rule_that_stops_where_nothing_varies_is_not_taken():
    text = "import root\ndef solved(x: Real) -> Real = let c = (if x > 0.0 then 2.0 else x) in root.newton(fn (c, z) -> sq(z - c), c, 2.0) * x\n"
    m = diffeo.source(text, "solved.deo")
    assert diffeo.grad(m.solved)(0.5) == 2.0
    assert diffeo.value_and_grad(m.solved)(0.5) == (1.0, 2.0)
    with pytest.raises(diffeo.Error, match="has no derivative"):
        diffeo.grad(m.solved)(-0.5)


def test_enclosures_contain_exact_values():
    m = diffeo.source("def f(x: Real, ys: []Real) = x * sum(ys)\ndef third(x: Real) = x / 3.0")
    f = diffeo.enclose(m.f)
    assert f(diffeo.Interval(1, 2), [0.5, diffeo.Interval(1.0, 1.5)]) == diffeo.Interval(1.5, 4.0)
    assert f(2.0, [0.5, 0.25]) == 1.5
    assert diffeo.grad(f)(2.0, [0.5, diffeo.Interval(1.0, 1.5)]) == diffeo.Interval(1.5, 2.0)
    third = diffeo.enclose(m.third)(1.0)
    assert 0 < third.width < 1e-15 and 1 / 3 in third
    assert pickle.loads(pickle.dumps(diffeo.enclose(m.third)))(1.0) == third
    with pytest.raises(diffeo.ArgumentError, match="interval"):
        m.third(diffeo.Interval(1.0, 2.0))
    with pytest.raises(ValueError, match="between"):
        diffeo.Interval(2.0, 1.0)
