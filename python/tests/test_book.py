import csv
import doctest
import os
import re
import subprocess
import sys

import pytest

import diffeo


def examples(text, name):
    """Runs the blocks `python` of a page."""
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    results = runner.run(test)
    assert results.failed == 0
    return results.attempted


def test_the_page_of_the_book_does_what_it_says(root):
    pytest.importorskip("jax")
    pytest.importorskip("scipy")
    text = (root / "docs" / "book" / "python.md").read_text()
    assert examples(text, "python.md") > 20


def test_the_page_on_models_does_what_it_says(root):
    pytest.importorskip("arviz")
    assert examples((root / "docs" / "book" / "bayes.md").read_text(), "bayes.md") > 6


def test_the_page_on_accelerators_does_what_it_says_on_eight_devices(root):
    pytest.importorskip("jax")
    page = root / "docs" / "book" / "accelerators.md"
    script = f"import test_book; print(test_book.examples(open({str(page)!r}).read(), 'accelerators.md'))"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **flags})
    assert done.returncode == 0 and int(done.stdout) == 17, done.stdout + done.stderr[-2000:]


def test_the_tutorial_goes_on_in_python(root, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    text = (root / "docs" / "book" / "tutorial.md").read_text()
    for name, program in re.findall(r"```diffeo (\S+)\n(.*?)```", text, re.S):
        (tmp_path / name).write_text(program)
    number = lambda cell: None if cell == "n.d." else float(cell.replace(",", "."))
    with open(root / "docs" / "book" / "data" / "enzyme.csv", newline="") as file:
        rows = [[number(cell) for cell in row] for row in list(csv.reader(file, delimiter=";"))[2:]]
    fields = ["substrate_ppm", "treated_counts_min2", "untreated_counts_min2"]
    enzyme = diffeo.load(str(tmp_path / "enzyme.deo"))
    samples = enzyme.main({"table": [dict(zip(fields, row)) for row in rows]})
    with open(tmp_path / "samples.csv", "w", newline="") as file:
        table = csv.DictWriter(file, ["conc", "rate", "treated"])
        table.writeheader()
        table.writerows(samples)
    monkeypatch.chdir(tmp_path)
    assert examples(text, "tutorial.md") == 7
