"""Cells of a notebook as programs: later ones see earlier ones, and may define their names anew."""

import re

from ._diffeo import is_unfinished

_TYPE = re.compile(r"^type\s+[^\W\d][\w']*[^=]*=((?:.|\n(?=[\s|]))*)", re.MULTILINE)
_CONSTRUCTOR = re.compile(r"(?:^|\|)\s*([A-Z][\w']*)")
_DEFINED = re.compile(r"^(?:def|type)\s+([^\W\d][\w']*)", re.MULTILINE)
_WORD = re.compile(r"[^\W\d][\w']*")
_ITEM = re.compile(r"(?:def|type|import)\b")
_INNER = re.compile(r"[\s#)\]}|]")


def defined(text):
    """The names that a cell defines."""
    return _DEFINED.findall(text)


def constructors(text):
    """The constructors of the types that a cell defines, as far as its text tells."""
    return [name for alternatives in _TYPE.findall(text) for name in _CONSTRUCTOR.findall(alternatives)]


class Cells:
    """The texts of the cells so far."""

    def __init__(self):
        self._texts = {}
        self._numbers = {}

    def before(self, cell):
        """The cells that a new one builds on: those whose names it does not define anew."""
        own = set(defined(cell))
        return [text for names, text in self._texts.items() if not own & set(names)]

    def names(self):
        """All that the cells define, constructors too."""
        return {name for text in self._texts.values() for name in (*defined(text), *constructors(text))}

    def users(self, cell):
        """The names and constructors that a cell defines, and those that may use them."""
        changed, count = {*defined(cell), *constructors(cell)}, 0
        while count < len(changed):
            count = len(changed)
            for text in self._texts.values():
                if not changed.isdisjoint(_WORD.findall(text)):
                    changed |= {*defined(text), *constructors(text)}
        texts = self._texts.values()
        kinds = [name for text in texts for name in constructors(text) if name in changed]
        return [name for text in texts for name in defined(text) if name in changed], kinds

    def numbered(self, cell):
        """The cells that a new one builds on, with their numbers."""
        return [(self._numbers.get(text), text) for text in self.before(cell)]

    def add(self, cell, number=None):
        """Keeps a cell in the place of those that define one of its names."""
        self._numbers[cell] = number
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
    return Placed([(None, cell), *((None, text) for text in before)]).text


class Placed:
    """Cells as one program, the last one first; it knows where each line comes from."""

    def __init__(self, cells):
        (number, cell), *before = cells
        own = {line.strip() for line in cell.splitlines()}
        lines = [(text, number, i) for number, cell in before for i, text in enumerate(cell.splitlines(), 1)]
        imports = {}
        for line in lines:
            if line[0].startswith("import ") and line[0].strip() not in own:
                imports.setdefault(line[0], line)
        first = [(text, number, i) for i, text in enumerate(cell.split("\n"), 1)]
        self._lines = [*first, *imports.values(), *(line for line in lines if not line[0].startswith("import "))]
        self.text = "\n".join(text for text, _, _ in self._lines)

    def place(self, line):
        """The name of the cell that a line comes from, the line there, and its text."""
        text, number, i = self._lines[min(line, len(self._lines)) - 1]
        return f"cell {number}", i, text


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
