"""Cells of a notebook in Diffeo.

    %load_ext diffeo

    %%diffeo model            # the program is bound to the name `model`
    def f(x: Real) -> Real = x * x

Without a name, the definitions of the cell become names of the notebook. Later cells see those of earlier ones.
"""

import html

from . import _api, _diffeo
from ._cells import Cells, Placed, constructors, defined, split
from ._errors import Error
from ._excerpt import SOURCES, located

_NOT_A_NAME = "%%diffeo takes nothing, or the name that the program is to have: %%diffeo model"


class _Magic:
    """The cells of a notebook."""

    def __init__(self, ipython):
        self._ipython = ipython
        self._cells = Cells()
        self._notebook = _diffeo.Notebook()
        #: What was put into the notebook, by name.
        self._pushed = {}

    def diffeo(self, line, cell):
        """A cell in Diffeo: definitions, and behind them an expression, whose value is that of the cell.

        ::

            %%diffeo
            def loss(w: [k]Real, x: [k]Real) -> Real = sq(dot(w, x) - 1.0)

            loss([1.0, 2.0], [3.0, 4.0])

        The definitions, and the constructors of types, become names of the notebook. Later cells see those of earlier ones.
        A cell may define a name anew: it takes the place of the cell that defined it, and all names mean the new program.

        ``%%diffeo model`` binds the program of this cell alone to the name ``model``: ``model.loss``.
        """
        name = line.split("#")[0].strip()
        if name and not name.isidentifier():
            from IPython.core.error import UsageError

            raise UsageError(f"{_NOT_A_NAME}, not {name!r}")
        # As in `In [3]`; some versions of IPython have counted on by now.
        number = max(len(self._ipython.user_ns.get("In", ())) - 1, 1)
        definitions, shift, expression = split(cell)
        before = [] if name else self._cells.numbered(definitions)
        placed = Placed([(number, definitions), *before])
        file = f"cell {number}" if name else f"cells to {number}"
        SOURCES[file] = placed.place
        try:
            module = _api.Module(file, placed.text)
            for warning in module.warnings:
                print(located(warning)["text"])
            if name:
                self._ipython.push({name: module})
            elif definitions.strip():
                self._keep(definitions, number, module)
        except Error as error:
            _show(error.messages)
            return None
        if not expression.strip():
            return None

        def place(file, line):
            lines = expression.splitlines()
            if file == "<expression>" and line <= len(lines):
                return f"cell {number}", line + shift, lines[line - 1]
            return placed.place(line) if file == "cell.deo" else (file, line, None)

        try:
            self._notebook.check(placed.text)
            value, text, _ = self._notebook.evaluate(expression, module._classes, trace=print)
            for warning in self._notebook.take_warnings():
                print(located(warning, place)["text"])
        except Error as error:
            _show([located(message, place) for message in error.messages])
            return None
        if value is None and text != "()":
            print(text)
        return value

    def _keep(self, definitions, number, module):
        """Puts what the cell defines into the notebook, and anew what uses that: all of it means the new program."""
        self._cells.add(definitions, number)
        names, kinds = self._cells.users(definitions)
        new = {name: getattr(module, name) for name in names if name in module._definitions and name.isidentifier()}
        new |= {name: module._classes[name] for name in kinds if name in module._classes and name not in new}
        own = {*defined(definitions), *constructors(definitions)}
        space, known = self._ipython.user_ns, self._cells.names()
        # A name that the notebook itself has bound meanwhile stays.
        ours = {name: value for name, value in self._pushed.items() if space.get(name) is value}
        new = {name: value for name, value in new.items() if name in own or name in ours or name not in space}
        gone = [name for name in ours if name not in known]
        for name in gone:
            del space[name]
        if gone:
            print(f"no longer defined, because their cell was replaced: {', '.join(gone)}")
        self._pushed = {name: value for name, value in ours.items() if name in known} | new
        self._ipython.push(new)


def register(ipython):
    """Adds the magic `%%diffeo`."""
    ipython.register_magic_function(_Magic(ipython).diffeo, magic_kind="cell", magic_name="diffeo")


def _show(messages):
    """Shows messages as a notebook shows them."""
    text = "\n".join(message["text"] for message in messages)
    try:
        from IPython.display import display
    except ImportError:
        print(text)
        return
    display({"text/plain": text, "text/html": f"<pre style='color: #b00'>{html.escape(text)}</pre>"}, raw=True)
