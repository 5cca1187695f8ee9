"""Cells of a notebook as programs: later ones see earlier ones, and may define their names anew."""

import re

from ._diffeo import is_unfinished

_DEFINED = re.compile(r"^(?:def|type)\s+([^\W\d][\w']*)", re.MULTILINE)
_ITEM = re.compile(r"(?:def|type|import)\b")
_INNER = re.compile(r"[\s#)\]}|]")


def defined(text):
    """The names that a cell defines."""
    return _DEFINED.findall(text)


class Cells:
    """The texts of the cells so far."""

    def __init__(self):
        self._texts = {}

    def before(self, cell):
        """The cells that a new one builds on: those whose names it does not define anew."""
        own = set(defined(cell))
        return [text for names, text in self._texts.items() if not own & set(names)]

    def add(self, cell):
        """Keeps a cell in the place of those that define one of its names."""
        own = defined(cell)
        for names in [names for names in self._texts if set(names) & set(own)]:
            del self._texts[names]
        imports = "" if own else cell
        self._texts[tuple(own) or (imports,)] = cell

    def joined(self, cell):
        """The program of a cell."""
        return joined(cell, self.before(cell))


def joined(cell, before=()):
    """The cell with earlier ones behind it, so that lines of messages are those of the cell."""
    own = {line.strip() for line in cell.splitlines()}
    lines = [line for text in before for line in text.splitlines()]
    imports = [line for line in dict.fromkeys(lines) if line.startswith("import ") and line.strip() not in own]
    return "\n".join([cell, *imports, *(line for line in lines if not line.startswith("import "))])


def commands(cell):
    """The commands at the beginning of a cell, a line each, without their colons; and the cell with blank lines in their place."""
    lines = cell.split("\n")
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(":")), len(lines))
    found = [line.strip().removeprefix(":").strip() for line in lines[:count] if line.strip()]
    return found, "\n".join([""] * count + lines[count:])


def split(cell):
    """The definitions of a cell, and the expression behind them: how many lines stand before it, and its text.

    The expression begins at the first letter of a line, where what stands before is whole.
    """
    lines = cell.splitlines()
    start = None
    for i, line in enumerate(lines):
        if not line.strip() or _INNER.match(line):
            continue
        if _ITEM.match(line):
            start = None
        elif start is None and not is_unfinished("\n".join(lines[:i])):
            start = i
    if start is None:
        return cell, len(lines), ""
    return "\n".join(lines[:start]), start, "\n".join(lines[start:])
