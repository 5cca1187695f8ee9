"""Exceptions and warnings."""

from collections.abc import Iterable
from typing import Any

from ._excerpt import located


class Error(Exception):
    """A program was refused or stopped.

    ``messages`` has a dictionary for each message: severity, code, message, file, line, column, end_line, end_column,
    label (a short text for the place), labels (further places with their messages), notes, help, and text, which is all of it
    as one text.
    """

    def __init__(self, messages: str | Iterable[dict[str, Any]] = (), help: str | None = None) -> None:
        if isinstance(messages, str):
            text = messages if help is None else f"{messages}\n  help: {help}"
            own = {"severity": "error", "code": "argument", "message": messages, "notes": [], "help": help, "text": text}
            own |= {"label": "", "labels": []}
            messages = [own | dict.fromkeys(("file", "line", "column", "end_line", "end_column"))]
        self.messages: list[dict[str, Any]] = [located(message) for message in messages]
        super().__init__("\n".join(message["text"] for message in self.messages))

    def __reduce__(self):
        return (type(self), (self.messages,))


class ArgumentError(Error, TypeError):
    """An argument does not fit the type that a function takes."""


class PlotWarning(UserWarning):
    """A plot leaves something out."""
