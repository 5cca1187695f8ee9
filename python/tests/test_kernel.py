"""The kernel as Jupyter drives it."""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from built import program

pytest.importorskip("ipykernel")
jupyter_client = pytest.importorskip("jupyter_client")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run([sys.executable, "-m", "diffeo.kernel", "install", "--prefix", str(prefix)], check=True, capture_output=True)
    folder = prefix / "share" / "jupyter"
    assert json.loads((folder / "kernels" / "diffeo" / "kernel.json").read_text())["display_name"] == "Diffeo"
    for name, start in [("logo-32x32.png", b"\x89PNG"), ("logo-64x64.png", b"\x89PNG"), ("logo-svg.svg", b"<svg ")]:
        assert (folder / "kernels" / "diffeo" / name).read_bytes().startswith(start)
    os.environ["JUPYTER_PATH"] = str(folder)
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="diffeo", startup_timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def client(kernel):
    return kernel[1]


def run(client, code, timeout=60):
    """The reply, and what was shown: pairs of the kind of message and its content.

    `stop_on_error=False`: after an error, Jupyter aborts what waits in the queue, and the next cell may already be there.
    """
    shown = []
    hook = lambda m: shown.append((m["msg_type"], m["content"]))
    reply = client.execute_interactive(code, timeout=timeout, output_hook=hook, stop_on_error=False)
    return reply["content"], shown


def value(client, code):
    reply, shown = run(client, code)
    assert reply["status"] == "ok", reply
    return next(content["data"] for kind, content in shown if kind == "execute_result")


def test_cells_build_on_each_other_and_define_anew(client):
    assert value(client, "import stats\ndef f(x: Real) -> Real = x * x")["text/plain"] == "f : Real -> Real"
    assert value(client, "def g(x: Real) = f(x) + 1.0\n\ng(2.0)")["text/plain"] == "5.0"
    assert value(client, "def f(x: Real) -> Real = x * 3.0\ngrad(g)(2.0)")["text/plain"] == "3.0"
    assert value(client, "g(2.0)")["text/plain"] == "7.0"
    assert value(client, "type Shape = Dot | Circle(Real)\nlist[Dot, Circle(1.0)]")["text/plain"] == "list[Dot, Circle(1.0)]"
    assert value(client, "Circle(2.0)")["text/plain"] == "Circle(2.0)"
    assert value(client, "f")["text/plain"] == "<function : Real -> Real>"


def test_errors_name_their_place_in_the_cell(client):
    reply, shown = run(client, "def bad(x: Real) -> Real =\n  y")
    assert reply["status"] == "error" and reply["ename"] == "unknown-name"
    assert reply["traceback"][0].startswith("2:3: error[unknown-name]")
    assert reply["traceback"][1:3] == ["2 │   y", "  │   ^"], reply
    reply, _ = run(client, "def k = 1\n\n[1, 2][5]")
    assert reply["ename"] == "index-out-of-bounds"
    assert reply["traceback"][0].startswith("3:1: "), reply
    assert value(client, "1 + 1")["text/plain"] == "2"
    # An error in another cell names that.
    run(client, "def inner(x: Real) = x")
    number = run(client, "\ndef outer(x: Real) = inner(x)")[0]["execution_count"]
    reply, _ = run(client, "def inner(x: Bool) = x")
    assert reply["traceback"][0].startswith(f"cell {number}:2:"), reply
    run(client, "def inner(x: Real) = x")


def test_tables_and_plots(client):
    data = value(client, '[{x = real(i), name = "<" ++ show(i)} for i < 3]')
    assert "<th>x</th><th>name</th>" in data["text/html"]
    assert "<td>1.0</td><td>&lt;1</td>" in data["text/html"]
    run(client, "type Row = {t: Real, level: Real, at: String}\ndef rows: [2]Row = [{at = show(i), level = 1.0, t = real(i)} for i < 2]")
    assert "<th>t</th><th>level</th><th>at</th>" in value(client, "rows")["text/html"]
    assert data["text/plain"].startswith("[{name = ")
    assert "<td>4.0</td>" in value(client, "[[1.0, 2.0], [3.0, 4.0]]")["text/html"]
    data = value(client, r'"{\"$schema\": \"https://vega.github.io/schema/vega-lite/v6.json\", \"mark\": \"line\"}"')
    assert data["application/vnd.vegalite.v6+json"]["mark"] == "line"


def test_lines_and_progress_come_while_it_runs(client):
    _, shown = run(client, 'trace("x", 1.5) * 2.0')
    assert ("stream", {"name": "stdout", "text": "x: 1.5\n"}) in shown
    slow = "x + sum([sin(real(j) * x) for j < 200000])"
    _, shown = run(client, f'loop x = 0.1 for i < 200 do progress("fit", i, x, {slow})')
    kinds = [kind for kind, _ in shown if "display" in kind]
    assert kinds[:2] == ["display_data", "update_display_data"] and set(kinds[1:]) == {"update_display_data"}
    assert len(kinds) < 150
    content = next(content for kind, content in shown if kind == "display_data")
    assert content["data"]["text/plain"].startswith("fit: step 0, ")


def test_a_constant_is_computed_once(client):
    """Its lines of `trace` show when it is computed."""

    def lines(code):
        reply, shown = run(client, code)
        assert reply["status"] == "ok", reply
        text = next((content["data"]["text/plain"] for kind, content in shown if kind == "execute_result"), "")
        return text, [content["text"] for kind, content in shown if kind == "stream"]

    lines("def slow(x: Real) -> Real = trace(\"slow\", x) * 2.0")
    lines("## About it.\ndef fit =\n  {a = slow(1.0), b = [-inf, 1.0]}\ndef of_it(x) = fit.a + x")
    assert lines("fit.a") == ("2.0", ["slow: 1.0\n"])
    assert lines("fit") == ("{a = 2.0, b = [-inf, 1.0]}", [])
    assert lines("def more = slow(fit.a)\n\nof_it(more)") == ("6.0", ["slow: 2.0\n"])
    assert lines("(of_it(more), more)") == ("(6.0, 4.0)", [])
    # Definitions that it reaches are new, so it is computed anew; others change nothing.
    assert lines("def other = 1\n\nfit.a") == ("2.0", [])
    lines("def slow(x: Real) -> Real = trace(\"slow\", x) * 3.0")
    assert lines("fit.a") == ("3.0", ["slow: 1.0\n"])
    # The type of a value is among them.
    lines("type Way = Left | Right")
    lines('def way = if slow(1.0) > 0.0 then Left else Right\ndef same = trace("same", 1)')
    assert lines("(way, same)") == ("(Left, 1)", ["slow: 1.0\n", "same: 1\n"])
    lines("type Way = Right | Left")
    assert lines("(way, same)") == ("(Left, 1)", ["slow: 1.0\n"])
    # One that fails is told by the cells that need it.
    lines("def bad = [1.0][int_of(slow(1.0))]\ndef int_of(x: Real) -> Int = round(x)\ndef either(x) = if x > 0.0 then x else bad")
    assert lines("either(1.0)")[0] == "1.0"
    assert run(client, "either(-1.0)")[0]["ename"] == "index-out-of-bounds"
    # Places are those of the cell.
    reply, _ = run(client, "def k = slow(\n  1.0)\ndef g = 1\n\n[k][g]")
    assert reply["traceback"][0].startswith("5:1: "), reply


def test_commands(client, tmp_path):
    table = tmp_path / "points.csv"
    table.write_text("day,t,wet\na,1.5,yes\nb,,no\n")

    def said(code):
        reply, shown = run(client, code)
        assert reply["status"] == "ok", reply
        return "".join(content["text"] for kind, content in shown if kind == "stream" and content["name"] == "stdout")

    def refused(code):
        reply, _ = run(client, code)
        assert reply["status"] == "error", reply
        return "\n".join(reply["traceback"])

    assert said(f":data points = {table}") == "points : []{day: String, t: Maybe[Real], wet: Bool}\n"
    assert value(client, "def dry = [day.day for day in points if not day.wet]\ndry")["text/plain"] == '["b"]'
    assert said(":look points").startswith("2 rows\n\ncolumn  type         missing  min")
    assert said(":type map") == "(a -> b, [n]a) -> [n]b\n"
    assert said(":type trace(points[0].day, 1)") == "Int\n"
    assert said("def cube(x: Real) = x ^ 3\n") == ""
    assert said(":grad cube at 2.0") == "value     8.0\ngradient  12.0\n"
    # Commands stand before what a cell has else.
    reply, shown = run(client, "\n:type cube\n:type points[0]\ndef places = length(points)\nplaces")
    assert [content["text"] for kind, content in shown if kind == "stream"][0] == "Real -> Real\n"
    assert next(content["data"]["text/plain"] for kind, content in shown if kind == "execute_result") == "2"
    # Data that are read again take the place of those before.
    table.write_text("day,t,wet\nz,1.5,no\n")
    assert value(client, "dry")["text/plain"] == '["b"]'
    assert said(f":data points: []{{day: String, wet: Bool}} = {table}") == "points : []{day: String, wet: Bool}\n"
    assert value(client, "dry")["text/plain"] == '["z"]'
    for name, needs in [("type", "EXPR"), ("data", "NAME = FILE"), ("look", "EXPR"), ("grad", "F at X")]:
        assert f":{name} {needs}" in said(":help")
    assert ":quit" not in said(":help")
    assert "there is no `:quit`" in refused(":quit")
    assert "did you mean `:look`?" in refused(":loook points")
    assert "`:type` needs EXPR" in refused(":type")
    assert "`:look` needs a table, and this is []Real" in refused(":look [1.0]")
    assert "there is no such file" in refused(":data none = none.csv")
    assert "there is no `nowhere` here" in refused(":type nowhere")
    # A program of which the data are no longer.
    run(client, "type Kind = Low | High")
    (tmp_path / "kinds.json").write_text('[{"High": null}, {"Low": null}]')
    assert said(f":data kinds: []Kind = {tmp_path / 'kinds.json'}") == "kinds : []Kind\n"
    assert value(client, "kinds")["text/plain"] == "[High, Low]"
    run(client, "type Kind = High | Low | Other")
    assert "are to be read again" in refused("kinds")


def test_the_page_of_the_book_does_what_it_says(client, root):
    page = (root / "docs" / "book" / "notebooks.md").read_text()
    first, second = re.findall(r"```jupyter\n(.*?)```", page, re.S)
    assert value(client, first)["text/plain"] == "([60.0, 80.0], [20.0, 40.0])"
    reply, shown = run(client, second.replace("docs/book", str(root / "docs" / "book")))
    said = [content["text"] for kind, content in shown if kind == "stream"]
    assert said[0] == "days : []{date: String, rain: Maybe[Real], t_max: Maybe[Real], t_min: Maybe[Real]}\n"
    assert said[1].startswith("5 rows\n\ncolumn  type") and said[2:] == ["Maybe[Real]\n"]
    assert next(content["data"]["text/plain"] for kind, content in shown if kind == "execute_result") == "1.6"


def test_long_values_are_kept_and_an_interrupt_ends_them(kernel):
    manager, client = kernel

    def lines(code):
        reply, shown = run(client, code)
        assert reply["status"] == "ok", reply
        return [content["text"] for kind, content in shown if kind == "stream"]

    lines('def many = iota(200000 + trace("many", 0))')
    assert lines("many[3]") == ["many: 0\n"]
    assert lines("many[4] + length(many)") == []
    lines("def endless(x: Real) -> Real = endless(x + 1.0)\ndef never = endless(0.0)")
    client.execute("never", stop_on_error=False)
    time.sleep(2.0)
    manager.interrupt_kernel()
    content = client.get_shell_msg(timeout=30)["content"]
    assert (content["status"], content["ename"]) == ("error", "KeyboardInterrupt")


def test_completion_and_inspection(client):
    run(client, "import stats\ndef squared(x: Real) -> Real = x * x")

    def reply(message):
        return client.get_shell_msg(timeout=20)["content"]

    found = reply(client.complete("squa", 4))
    assert found["matches"] == ["squared"] and (found["cursor_start"], found["cursor_end"]) == (0, 4)
    found = reply(client.complete("def h(x) =\n  stats.norm", 23))
    assert any(name.startswith("normal") for name in found["matches"])
    found = reply(client.inspect("def t = 1\n\nsquared(2.0)", 14))
    assert found["found"] and "squared : Real -> Real" in found["data"]["text/plain"]
    for code, status in [("def f(x) =", "incomplete"), ("f(1.0,", "incomplete"), ("1 + 1", "complete"), ("def q = 1\nq", "complete")]:
        assert reply(client.is_complete(code))["status"] == status, code


def test_an_interrupt_ends_a_run_and_the_kernel_goes_on(kernel):
    manager, client = kernel
    client.execute("def spin(x: Real) -> Real = spin(x + 1.0)\nspin(0.0)", stop_on_error=False)
    time.sleep(2.0)
    manager.interrupt_kernel()
    content = client.get_shell_msg(timeout=30)["content"]
    assert (content["status"], content["ename"]) == ("error", "KeyboardInterrupt")
    assert value(client, "2 + 2")["text/plain"] == "4"


def test_a_notebook_is_executed(client, tmp_path):
    pytest.importorskip("nbconvert")
    import nbformat

    cells = [nbformat.v4.new_code_cell(code) for code in ["def f(x: Real) = x ^ 3", "grad(f)(2.0)"]]
    metadata = {"kernelspec": {"name": "diffeo", "display_name": "Diffeo", "language": "diffeo"}}
    path = tmp_path / "a.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "b", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    done = nbformat.read(tmp_path / "b.ipynb", as_version=4)
    assert done.cells[1].outputs[0]["data"]["text/plain"] == "12.0"


def test_the_protocol(client):
    """What `jupyter_kernel_test` asks of every kernel."""
    tests = pytest.importorskip("jupyter_kernel_test")
    import unittest

    class Diffeo(tests.KernelTests):
        kernel_name = "diffeo"
        language_name = "diffeo"
        file_extension = ".deo"
        code_hello_world = 'let _ = trace("hello, world", 1.0) in ()'
        completion_samples = [{"text": "wrapping_m", "matches": {"wrapping_mul"}}]
        complete_code_samples = ["1 + 1"]
        incomplete_code_samples = ["def f(x) ="]
        code_page_something = None
        code_execute_result = [{"code": "1 + 2", "result": "3"}]
        code_generate_error = "[1][2]"
        code_inspect_sample = "length"

        def test_execute_stdout(self):
            self.flush_channels()
            reply, output = self.execute_helper(code=self.code_hello_world)
            self.assertEqual(reply["content"]["status"], "ok")
            self.assertIn("hello, world", output[0]["content"]["text"])

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Diffeo).run(result)
    assert result.testsRun > 3
    assert not result.errors and not result.failures, [*result.errors, *result.failures]


def test_the_command_line_installs_and_removes_it(tmp_path):
    def jupyter(*arguments):
        command = [program(), "jupyter", *arguments, "--python", sys.executable]
        environment = {**os.environ, "JUPYTER_DATA_DIR": str(tmp_path / "data"), "JUPYTER_PATH": ""}
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    prefix = tmp_path / "prefix"
    for place, folder in [
        ([], tmp_path / "data" / "kernels" / "diffeo"),
        (["--prefix", str(prefix)], prefix / "share" / "jupyter" / "kernels" / "diffeo"),
    ]:
        for _ in range(2):
            done = jupyter("install", *place)
            assert (done.returncode, done.stdout) == (0, f"the kernel is in {folder}\n"), done
        specification = json.loads((folder / "kernel.json").read_text())
        assert specification["argv"][:3] == [sys.executable, "-m", "diffeo.kernel"]
        done = jupyter("remove", *place)
        assert (done.returncode, done.stdout) == (0, f"the kernel is no longer in {folder}\n"), done
        assert not folder.exists()
        done = jupyter("remove", *place)
        assert done.returncode == 1 and f"the kernel is not removed: there is no {folder}" in done.stderr, done
    jupyter("install")
    done = jupyter("remove", "--prefix", str(prefix))
    assert f"; Jupyter finds the kernel in {tmp_path / 'data'}" in done.stderr, done
    (tmp_path / "file").write_text("")
    done = jupyter("install", "--prefix", str(tmp_path / "file"))
    assert done.returncode == 1 and "the kernel is not installed: " in done.stderr and "Not a directory" in done.stderr, done
