"""Constants of a notebook: each is computed by the first cell that needs it, and kept as a literal of its value.

A value stands for its constant as long as the texts of all definitions that the constant reaches are the same.
"""

import re

_ITEM = re.compile(r"^(?:def|type|import)\b", re.MULTILINE)
_CONSTANT = re.compile(r"def\s+([^\W\d][\w']*)\s*(?::[^=\n]*)?=(?!=)")
_NAME = re.compile(r"(?:def|type)\s+([^\W\d][\w']*)")
_WORD = re.compile(r"[^\W\d][\w']*")

#: How many characters a literal may have: longer values are computed anew.
_MOST = 100_000


class Kept:
    """The values of constants."""

    def __init__(self):
        # The definitions that a constant reaches, and its literal; none where no literal is the value.
        self._values = {}

    def put(self, text, wanted, compute):
        """The program with values in the place of the constants that the text `wanted` reaches.

        ``compute`` gives the literal of a constant in a program, or None; ``compute(text, None)`` says whether a program is right.
        """
        items = _items(text)
        known = {match[1]: item for item in items if (match := _NAME.match(item))}
        shared = [item for item in items if not item.startswith("def")]
        for name in _reached(known, wanted):
            constant = _CONSTANT.match(known[name])
            # Constants without calls are quick to compute.
            if not constant or "(" not in (body := known[name][constant.end() :]):
                continue
            key = "".join(map(_bare, [*shared, known[name], *(known[other] for other in _reached(known, body))]))
            if self._values.get(name, ("",))[0] != key:
                literal = compute(text, name)
                if literal is None or len(literal) > _MOST or not compute(_replaced(text, known[name], constant, literal), None):
                    literal = None
                self._values[name] = (key, literal)
            literal = self._values[name][1]
            if literal is not None:
                text = _replaced(text, known[name], constant, literal)
        return text


def _items(text):
    """The definitions and imports of a program."""
    starts = [match.start() for match in _ITEM.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]


def _bare(item):
    """A definition without blank lines and lines of comments, of which some are about what follows."""
    lines = (line.rstrip() for line in item.splitlines())
    return "".join(f"{line}\n" for line in lines if line and not line.startswith("#"))


def _reached(known, text):
    """The names of the definitions that a text needs, each behind those that it needs itself."""
    order, seen, pending = [], set(), [(word, False) for word in reversed(_WORD.findall(text))]
    while pending:
        name, done = pending.pop()
        if done:
            order.append(name)
        elif name in known and name not in seen:
            seen.add(name)
            pending.append((name, True))
            pending += [(word, False) for word in reversed(_WORD.findall(known[name]))]
    return order


def _replaced(text, item, constant, literal):
    """The program with a literal as the body of a constant, in as many lines."""
    body = item[constant.end() :]
    return text.replace(item, item[: constant.end()] + f" {literal}" + "\n" * max(body.count("\n"), 1), 1)
