import doctest
import re

import pytest


def test_the_page_of_the_book_does_what_it_says(root):
    pytest.importorskip("jax")
    pytest.importorskip("scipy")
    text = (root / "docs" / "book" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) > 5
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", "python.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert runner.run(test).failed == 0
