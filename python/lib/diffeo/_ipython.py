"""Cells of a notebook in Diffeo.

    %load_ext diffeo

    %%diffeo model            # the program is bound to the name `model`
    def f(x: Real) -> Real = x * x

Without a name, the definitions of the cell become names of the notebook. Later cells see those of earlier ones.
"""

import html

from . import _api
from ._cells import Cells, defined, joined
from ._errors import Error

_cells = Cells()


def register(ipython):
    """Adds the magic `%%diffeo`."""

    def diffeo(line, cell):
        name = line.strip()
        text = joined(cell) if name else _cells.joined(cell)
        try:
            module = _api.Module("cell.deo", text)
        except Error as error:
            _show(error)
            return None
        for warning in module.warnings:
            print(warning["text"])
        if name:
            ipython.push({name: module})
            return None
        _cells.add(cell)
        ipython.push({name: getattr(module, name) for name in defined(cell) if name in dir(module)})
        return None

    ipython.register_magic_function(diffeo, magic_kind="cell", magic_name="diffeo")


def _show(error):
    """Shows messages as a notebook shows them."""
    text = "\n".join(message["text"] for message in error.messages)
    try:
        from IPython.display import HTML, display
    except ImportError:
        print(text)
        return
    display({"text/plain": text, "text/html": HTML(f"<pre style='color: #b00'>{html.escape(text)}</pre>").data}, raw=True)
