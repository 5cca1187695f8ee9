"""Frames, series and masked arrays: what is missing needs a type for it."""

import numpy as np
import pytest

import diffeo

TEXT = """
def mr(r: {a: [n]Maybe[Real]}) = sum([from_maybe(0.0, v) for v in r.a])
def rr(r: {a: [n]Real}) = sum(r.a)
def sized(r: {size: [n]Real, index: [n]Int, name: [n]String}) = sum(r.size) + real(sum(r.index))
def ms(xs: [n]Maybe[Real]) = sum([from_maybe(0.0, x) for x in xs])
def mi(xs: [n]Maybe[Int]) = sum([from_maybe(0, x) for x in xs])
def mm(xs: [n][k]Maybe[Real]) = sum([sum([from_maybe(0.0, x) for x in row]) for row in xs])
def ss(xs: [n]Real) = sum(xs)
def matrix(xs: [n][k]Real) = sum([sum(row) for row in xs])
def one(x: Real) = x
def maybe(x: Maybe[Real]) = from_maybe(0.0, x)
def row(r: {size: Real, b: Maybe[Real]}) = r.size + from_maybe(10.0, r.b)
def listed(rows: List[{a: Real}]) = fold_left_list(fn (s, r) -> s + r.a, 0.0, rows)
def pairs(rows: [n](Real, Real)) = sum([a * b for (a, b) in rows])
def text(xs: [n]Real, ys: [n]Int) = sum(xs)
"""


@pytest.fixture(scope="module")
def t():
    return diffeo.source(TEXT, "tables.deo")


def refused(call, *said):
    with pytest.raises(diffeo.ArgumentError) as caught:
        call()
    for text in said:
        assert text in str(caught.value)


NAN = float("nan")


def test_a_record_of_arrays_is_read_by_columns(t):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = [
        pandas.DataFrame({"a": [1.0, NAN]}),
        pandas.DataFrame({"a": pandas.array([1.0, None], dtype="Float64")}),
        polars.DataFrame({"a": [1.0, None]}),
    ]
    for frame in frames:
        assert t.mr(frame) == 1.0
        refused(
            lambda: t.rr(frame),
            "argument `r.a[1]` of rr: column `a` must be of type `Real`",
            "a column with missing cells has the type `Maybe[Real]`",
        )
    assert t.mr(frames[0].to_records()) == 1.0
    columns = {"size": [1.0, 2.0], "index": [3, 4], "name": ["x", "y"]}
    for frame in [pandas.DataFrame, polars.DataFrame]:
        assert t.sized(frame(columns)) == 10.0
        assert t.rr(frame({"a": [1.0, 2.0]})) == 3.0
        refused(lambda: t.rr(frame({"aa": [1.0], "b": [2.0]})), "no column `a`", "the columns are aa, b")
    # A nan of a dictionary is a number, None and NA are missing.
    assert np.isnan(t.mr({"a": [1.0, NAN]})) and t.mr({"a": [1.0, None]}) == t.mr({"a": [1.0, pandas.NA]}) == 1.0
    refused(lambda: t.rr({"a": [1.0, pandas.NA]}), "argument `r.a[1]` of rr: expected Real, found `<NA>`, a missing value", "Maybe[Real]")
    refused(lambda: t.rr({"a": [1.0, None]}), "argument `r.a[1]` of rr: expected Real, found a value of type NoneType", "Maybe[Real]")


def test_rows_of_frames_are_records(t):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": [1.0, 2.0], "b": [NAN, 5.0]})
    assert [t.row(frame.iloc[i]) for i in range(2)] == [11.0, 7.0]
    assert [t.row(row) for row in frame.to_records()] == [11.0, 7.0]
    refused(lambda: t.row(pandas.Series({"size": NAN, "b": 1.0})), "argument `r.size` of row: column `size` must be of type `Real`")
    assert t.listed(pandas.DataFrame({"a": [1.0, 2.0]})) == 3.0
    refused(lambda: t.listed(pandas.DataFrame({"a": [1.0, NAN]})), "column `a` must be of type `Real`")
    refused(lambda: t.pairs(frame), "the rows of a frame are records of its columns")


def test_series_are_columns(t):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for series in [
        pandas.Series([1.0, NAN]),
        pandas.Series([1.0, None], dtype="Float64"),
        pandas.array([1.0, None], dtype="Float64"),
        polars.Series([1.0, None]),
    ]:
        assert t.ms(series) == 1.0
        refused(lambda: t.ss(series), "argument `xs[1]` of ss: expected Real, found ", "has the type `Maybe[Real]`")
    assert t.mi(pandas.Series([1, None])) == t.mi(pandas.Series([1, None], dtype="Int64")) == 1
    for whole in [pandas.Series([1.0, 2.0]), pandas.Series([1, 2]), pandas.Series([1.0, 2.0], dtype="Float64"), polars.Series([1, 2])]:
        assert t.ss(whole) == t.ms(whole) == 3.0
    assert t.maybe(pandas.NA) == 0.0
    refused(lambda: t.one(pandas.NA), "expected Real, found `<NA>`, a missing value")


def test_frames_are_matrices_where_nothing_is_missing(t):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in [pandas.DataFrame, polars.DataFrame]:
        assert t.matrix(frame({"a": [1.0, 2.0], "b": [3.0, 4.0]})) == 10.0
        refused(lambda: t.matrix(frame({"a": [1.0, 2.0], "b": [3.0, None]})), "argument `xs[1].b` of matrix: column `b`")


def test_masked_elements_are_missing(t):
    masked = np.ma.array([1.0, -999.0, 2.0], mask=[0, 1, 0])
    assert t.ms(masked) == 3.0 and t.mi(masked.astype(int)) == 3
    refused(lambda: t.ss(masked), "argument `xs[1]` of ss: expected Real, found a masked element", "what may be missing has the type `Maybe[Real]`")
    assert t.ss(np.ma.array([1.0, 2.0])) == 3.0
    square = np.ma.array([[1.0, -999.0], [2.0, 3.0]], mask=[[0, 1], [0, 0]])
    assert t.mm(square) == 6.0 and t.matrix(square[1:]) == 5.0
    refused(lambda: t.matrix(square), "argument `xs[0][1]` of matrix", "found a masked element")
    assert t.maybe(np.ma.masked) == 0.0
    refused(lambda: t.one(np.ma.masked), "argument `x` of one", "found a masked element")
    assert t.mr({"a": masked}) == 3.0
    refused(lambda: t.rr({"a": masked}), "argument `r.a[1]` of rr")


def test_messages_say_where_and_what_to_do(t):
    refused(lambda: t.matrix([[1.0, 2.0], [3.0]]), "argument `xs[1]` of matrix: this row has 1 elements, that before it 2")
    refused(lambda: t.ss([1.0, "x"]), "argument `xs[1]` of ss: expected Real, found a value of type str")
    refused(lambda: t.text([1.0], np.array([1.0])), "found an array of float64 with shape (1,): `astype(int)` makes Ints of them")
    refused(lambda: t.rr({"a": [1.0], "aa": [1.0]}), "there is no field aa: did you mean `a`?")
