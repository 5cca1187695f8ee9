"""Cells of a notebook in Diffeo.

    %load_ext diffeo

    %%diffeo model            # the program is bound to the name `model`
    def f(x: Real) -> Real = x * x

Without a name, the definitions of the cell become names of the notebook. Later cells see those of earlier ones.
"""

import html

from . import _api
from ._errors import Error

# The texts of the cells so far, by the names that they define.
_cells = {}


def _names(text):
    return [line[4:].split("(")[0].split(":")[0].split("=")[0].strip() for line in text.splitlines() if line[:4] == "def "]


def _joined(cell, before):
    """The cell with earlier ones behind it, so that lines of messages are those of the cell; imports come first."""
    lines = [line for text in before for line in text.splitlines()]
    own = {line.strip() for line in cell.splitlines()}
    imports = [line for line in dict.fromkeys(lines) if line.startswith("import ") and line.strip() not in own]
    rest = [line for line in lines if not line.startswith("import ")]
    return "\n".join([*imports, cell, *rest])


def register(ipython):
    """Adds the magic `%%diffeo`."""

    def diffeo(line, cell):
        name = line.strip()
        before = [] if name else [text for names, text in _cells.items() if not set(names) & set(_names(cell))]
        try:
            module = _api.Module("cell.deo", _joined(cell, before))
        except Error as error:
            _show(error)
            return None
        for warning in module.warnings:
            print(warning["text"])
        if name:
            ipython.push({name: module})
            return None
        own = _names(cell)
        for names in [names for names in _cells if set(names) & set(own)]:
            del _cells[names]
        _cells[tuple(own)] = cell
        ipython.push({definition: getattr(module, definition) for definition in own})
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
