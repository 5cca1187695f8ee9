import json
import warnings

import pytest

import diffeo

SOURCE = """
import plot
def picture(xs: [n]Real, ys: [n]Real) -> plot.Plot = plot.points(xs, ys) |> plot.title("Points", _)
def both(p: plot.Plot) -> {all: plot.Plot, n: Int} = {all = plot.layers([p, plot.hline(0.0)]), n = 2}
def wrong(c: String) -> plot.Plot = plot.hline(0.0) |> plot.color(c, _)
"""


def test_notebooks_show_plots(tmp_path):
    m = diffeo.source(SOURCE)
    p = m.picture([1.0, 2.0], [3.0, float("nan")])
    assert isinstance(p, diffeo.Plot)
    bundle = p._repr_mimebundle_()
    spec = bundle["application/vnd.vegalite.v6+json"]
    assert spec["layer"][0]["data"]["values"] == [{"x": 1.0, "y": 3.0}, {"x": 2.0, "y": None}]
    assert bundle["image/svg+xml"].startswith("<svg ")
    assert bundle["text/plain"] == repr(p) == '<plot "Points": 2 points>'
    for name, start in [("p.svg", b"<svg "), ("p.png", b"\x89PNG"), ("p.json", b"{")]:
        p.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert json.loads((tmp_path / "p.json").read_text()) == spec
    with pytest.raises(ValueError, match="ends in none of"):
        p.save(tmp_path / "p.gif")


def test_plots_are_values():
    m = diffeo.source(SOURCE)
    given = m.both(m.picture([1.0], [3.0]))
    assert given["n"] == 2
    assert repr(given["all"]) == '<plot "Points": 1 point, horizontal line>'


def test_what_cannot_be_drawn_is_said():
    p = diffeo.source(SOURCE).wrong("blau")
    with pytest.raises(ValueError, match='has the colour "blau"'):
        p.svg()


def test_what_pictures_leave_out_is_a_warning():
    m = diffeo.source(SOURCE)
    p = m.picture([1.0, 2.0], [3.0, float("inf")])
    assert p.notes == ["layer 1 (points) of \"Points\": 1 of 4 numbers left out, infinite or beyond 1e300"]
    for draw in [p.png, p.svg]:
        with pytest.warns(diffeo.PlotWarning, match="1 of 4 numbers left out"):
            draw()
    boxed = diffeo.source('import plot\ndef p = plot.hline(0.0) |> plot.title("日本", _)').p
    with pytest.warns(diffeo.PlotWarning, match="the letters 日本 are boxes.*; SVG has all letters"):
        boxed.png()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boxed.svg()
        m.picture([1.0], [3.0]).png()
