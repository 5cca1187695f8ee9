"""Functions that come out of a pickle: made again of the program's source, not of code."""

from functools import lru_cache


@lru_cache(maxsize=64)
def _program(name, text):
    from . import _api

    return _api.Module(name, text)


def function(source, steps, options):
    """The function that these steps make of a program; the same one for the same steps, so that it is compiled once."""
    if not options:
        return _plain(source, tuple((what, name, tuple(numbers)) for what, name, numbers in steps))
    return _made(source, steps, options)


@lru_cache(maxsize=64)
def _plain(source, steps):
    return _made(source, steps, None)


def _made(source, steps, options):
    module = _program(*source)
    made = None
    for what, name, numbers in steps:
        if what in ("function", "expression"):
            made = getattr(module._program, what)(name, **(options or {}))
        elif what == "jet":
            made = made._jet(tuple(numbers))
        elif what == "enclose":
            made = made._enclose()
        else:
            made = getattr(made, f"_{what}")(list(numbers))
    return made


def module(name, text):
    """A program."""
    return _program(name, text)
