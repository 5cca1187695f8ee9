import numpy as np
import pytest


@pytest.fixture
def shell():
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.reset()
    # IPython's module is `__main__`, which processes ask for this.
    shell.user_module.__spec__ = None
    shell.run_line_magic("load_ext", "diffeo")
    shell.extension_manager.reload_extension("diffeo")
    return shell


def run(shell, cell, line=""):
    return shell.run_cell(f"%%diffeo {line}\n{cell}", store_history=True)


def test_names_mean_the_new_program(shell, capsys):
    for cell in ["base(x: Real) = x", "twice(x: Real) = 2.0 * base(x)\n", "base(x: Real) = 7.0 * x", "k2(x: Real) = twice(x)"]:
        run(shell, "def " + cell)
    names = shell.user_ns
    assert (names["twice"](1.0), names["k2"](1.0)) == (14.0, 14.0)
    # A constant that does not use it stays as it is, computed once.
    run(shell, "def apart = [1.0, 2.0]")
    apart = names["apart"]
    run(shell, "def base(x: Real) = 7.5 * x")
    assert names["apart"] is apart and names["k2"](1.0) == 15.0
    # A name that Python has bound stays.
    names["twice"] = 3
    run(shell, "def base(x: Real) = 8.0 * x\ndef more = 1")
    assert names["twice"] == 3 and names["k2"](1.0) == 16.0
    capsys.readouterr()
    run(shell, "def more = 2")
    # The cell with `base` is gone, and what needs it.
    assert "there is no `base`" in capsys.readouterr().out


def test_messages_name_the_cell_and_show_the_line(shell, capsys):
    run(shell, "\ndef sure(x: Real) -> Real = sqrt(x)\ndef at(xs: [n]Real, i: Int) -> Real = xs[i]")
    first = shell.execution_count - 1
    capsys.readouterr()
    run(shell, "def bad(x: Real) -> Real = y")
    said = capsys.readouterr().out
    assert f"cell {first + 1}:1:28: error[unknown-name]" in said, said
    assert "1 │ def bad(x: Real) -> Real = y\n  │                            ^" in said, said
    # A place in an earlier cell.
    run(shell, "def sure(x: Int) -> Int = x\ndef at(xs: [n]Real, i: Int) -> Real = sure(xs[i])")
    run(shell, "def two(xs: [n]Real) -> Real = at(xs, 2)")
    run(shell, "def sure(x: Real) -> Real = x")
    capsys.readouterr()
    with pytest.raises(Exception) as told:
        run(shell, "def at(xs: [n]Real, i: Int) -> Real = xs[i]")
        run(shell, "def three = 3")
        shell.user_ns["at"]([1.0], 2)
    assert f"cell {shell.execution_count - 2}:1:39" in str(told.value)


def test_cells_have_expressions(shell, capsys):
    found = run(shell, "def cube(x: Real) -> Real = x ^ 3\n\nmap(cube, [1.0, 2.0])")
    np.testing.assert_array_equal(found.result, [1.0, 8.0])
    assert run(shell, "grad(cube)(2.0)").result == 12.0
    capsys.readouterr()
    run(shell, "def one = 1.0\n\n\none + z")
    said = capsys.readouterr().out
    assert f"cell {shell.execution_count - 1}:4:7: error[unknown-name]" in said and "4 │ one + z" in said, said


def test_constructors_become_names(shell):
    shares = "def share(c: Color) -> Real = case c of { Red -> 1.0 | Mixed(a, b) -> a }"
    run(shell, f"type Color =\n  | Red\n  | Mixed(Real, Real)\n{shares}")
    names = shell.user_ns
    assert names["share"](names["Mixed"](0.25, 0.5)) == 0.25 and names["share"](names["Red"]()) == 1.0


def test_the_magic_tells_what_it_takes(shell, capsys):
    magic = shell.find_cell_magic("diffeo")
    assert "expression" in magic.__doc__
    run(shell, "def f(x: Real) = x", "--engine jit")
    said = capsys.readouterr()
    assert "takes nothing, or the name" in said.err + said.out


def test_cells_define_and_redefine(capsys):
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "diffeo")
    shell.run_cell_magic("diffeo", "", "import stats\ndef f(x: Real) -> Real = x * x\n")
    shell.run_cell_magic("diffeo", "", "def g(x: Real) -> Real = f(x) + 1.0\n")
    assert shell.user_ns["g"](2.0) == 5.0
    shell.run_cell_magic("diffeo", "", "def f(x: Real) -> Real = x * 3.0\n")
    assert shell.user_ns["f"](2.0) == 6.0
    shell.run_cell_magic("diffeo", "model", "def h(x: Real) -> Real = x + 1.0\n")
    assert shell.user_ns["model"].h(2.0) == 3.0
    capsys.readouterr()
    shell.run_cell_magic("diffeo", "", "def bad(x: Real) -> Real = y\n")
    said = capsys.readouterr().out
    assert ":1:28: error[unknown-name]" in said, said
