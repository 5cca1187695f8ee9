import pytest


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
    assert "cell.deo:1:28: error[unknown-name]" in said, said
