import csv
import doctest
import re

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
