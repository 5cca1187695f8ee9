"""Signatures of functions, for ``inspect.signature``, editors and notebooks."""

import inspect
import keyword
from collections.abc import Sequence
from typing import Any


def signature(names: Sequence[str], types: Sequence[str], result: str) -> inspect.Signature:
    """The signature of a function whose parameters have these names; annotations are the types of the language, as texts."""
    parameters: list[inspect.Parameter] = []
    known: set[str] = set()
    for i, (name, annotation) in enumerate(zip(names, types)):
        # A name that Python does not allow is given by `**`, and shown by its place.
        if not name.isidentifier() or keyword.iskeyword(name) or name in known:
            name = f"arg{i}"
        known.add(name)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, annotation=annotation))
    return inspect.Signature(parameters, return_annotation=result)


def ordered(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call in their order."""
    if not named:
        return args
    return inspect.signature(f).bind(*args, **named).args
