"""Programs as modules, and derivatives as functions of functions."""

import functools
import inspect
import operator
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _diffeo
from ._diffeo import Function
from ._errors import ArgumentError
from ._jacobian import Jacobian
from ._variants import Types, Variant


class Module:
    """A checked program: its definitions are attributes.

    ``types`` has a class for each constructor of its variant types. ``warnings`` has the warnings about it.
    """

    def __init__(self, name: str, text: str | None = None, timeout: float | None = None) -> None:
        self._classes: dict[str, Any] = {}
        self._program = _diffeo.Program(name, text, self._classes, timeout)
        self._definitions = dict(self._program.definitions())
        self.types = Types(self._program.variants())
        self._classes.update(self.types._classes)
        self._made: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._definitions:
            known = ", ".join(self._definitions) or "nothing"
            raise AttributeError(f"the program {self._program.source[0]} has no definition {name}; it has {known}")
        if name not in self._made:
            make = self._program.function if self._definitions[name] else self._program.constant
            self._made[name] = make(name) if self._definitions[name] else _frozen(make(name))
        made = self._made[name]
        return made if self._definitions[name] else _fresh(made)

    def __dir__(self) -> list[str]:
        return [*filter(str.isidentifier, self._definitions), "types", "warnings", "function", "expression"]

    def function(self, name: str, /, **options: Any) -> Function:
        """A function, run with options: engine, kinks, timeout (seconds), threads, trace, progress."""
        return self._program.function(name, **options)

    def expression(self, text: str, /, **options: Any) -> Function:
        """The function that an expression of the language is, in the scope of the program."""
        return self._program.expression(text, **options)

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """The warnings about the program, a dictionary each."""
        return self._program.warnings()

    def __repr__(self) -> str:
        return f"<diffeo program {self._program.source[0]}: {', '.join(self._definitions)}>"

    def __reduce__(self) -> Any:
        from . import _rebuild

        return (_rebuild.module, self._program.source)


def _frozen(value: Any) -> Any:
    """A constant, whose arrays nobody writes to."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        [_frozen(part) for part in value.values()]
    elif isinstance(value, (list, tuple, Variant)):
        [_frozen(part) for part in value]
    return value


def _fresh(value: Any) -> Any:
    """A constant with dictionaries and lists of its own."""
    if isinstance(value, dict):
        return {key: _fresh(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_fresh(part) for part in value])
    return value


def load(path: str | os.PathLike[str], *, timeout: float | None = None) -> Module:
    """The program in a file. It can import files beside it and the standard library. ``timeout`` bounds the seconds of its check."""
    return Module(os.fspath(path), timeout=timeout)


def source(text: str, name: str = "source.deo", *, timeout: float | None = None) -> Module:
    """A program from its text; ``name`` stands for it in messages. It can import the standard library. ``timeout`` bounds the seconds
    of its check."""
    return Module(name, text, timeout)


def _checked(f: Any, what: str) -> Any:
    """The function, if it is one of a program or of Diffeo's own."""
    if hasattr(f, "_grad"):
        return f
    name = getattr(f, "__name__", type(f).__name__)
    if isinstance(f, functools.partial):
        how = "take the function itself and name the arguments by `argnums`, or write an expression: `m.expression(\"fn x -> …\")`"
    elif getattr(f, "_diffeo_mapped", False):
        how = f"take the derivative first: `diffeo.map(diffeo.{what}(f))`"
    elif isinstance(f, Jacobian):
        how = "further derivatives of Jacobians are those of a definition with `jacobian` in the program"
    else:
        how = "a function of Python is none: write a definition, or an expression of a program: `m.expression(\"fn x -> …\")`"
    raise TypeError(f"{what} takes a function of a Diffeo program, not {name} of type {type(f).__name__}; {how}")


def _numbers(f: Any, argnums: int | Sequence[int], what: str) -> tuple[int, ...]:
    """The numbers of arguments, which count from the end where they are negative."""
    try:
        given = [operator.index(argnums)]  # type: ignore[arg-type]
    except TypeError:
        given = [operator.index(i) for i in argnums]  # type: ignore[union-attr]
    count = f.arity
    for i in given:
        if not -count <= i < count:
            raise ArgumentError(f"{what}: {f.__name__} has {count} argument{'' if count == 1 else 's'}, and none of number {i}")
    return tuple(i % count for i in given)


# The derivatives that calls have asked for, by function.
_derivatives: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def _cached(f: Any, what: str, numbers: tuple[int, ...]) -> Any:
    """The derivative of a function, which is made and compiled once for as long as the function is there."""
    key = (what, numbers)
    made = _derivatives.setdefault(f, {})
    if key not in made:
        made.setdefault(key, getattr(f, what)(list(numbers)))
    return made[key]


def grad(f: Any, argnums: int | Sequence[int] = 0) -> Any:
    """The gradient of a function to Real by these arguments: shaped as the argument, a tuple for several.

    A dictionary has the keys in the order of the one that is given. Numbers below 0 count from the last argument. The same
    gradient of the same function is the same object, which is compiled once.
    """
    return _cached(_checked(f, "grad"), "_grad", _numbers(f, argnums, "grad"))


def value_and_grad(f: Any, argnums: int | Sequence[int] = 0) -> Any:
    """The function that gives the pair of value and gradient, of a function to Real."""
    return _cached(_checked(f, "value_and_grad"), "_value_and_grad", _numbers(f, argnums, "value_and_grad"))


def jvp(f: Any, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value at ``primals`` and its derivative along ``tangents``, both tuples: forward mode."""
    primals, tangents = tuple(primals), tuple(tangents)
    if len(primals) != len(tangents):
        raise TypeError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    forward = _cached(_checked(f, "jvp"), "_jvp", tuple(range(f.arity)))
    for i, (primal, tangent) in enumerate(zip(primals, tangents)):
        _same_shape(lambda: f"jvp: the tangent of {_parameter(f, i)}", tangent, "the argument", primal)
    one = f.arity == 1
    return forward(primals[0] if one else primals, tangents[0] if one else tangents)


def vjp(f: Any, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value, and a function from a cotangent of it to the cotangents of the arguments: reverse mode.

    The cotangents are a tuple, also of one argument, as JAX has it. That of an argument without Reals is None.
    """
    backward = _cached(_checked(f, "vjp"), "_vjp", tuple(range(f.arity)))
    point = primals[0] if f.arity == 1 else primals

    def pull(cotangent: Any) -> tuple[Any, ...]:
        _same_shape(lambda: f"vjp: the cotangent of {f.__name__}", cotangent, "its value", value)
        bars = backward(point, cotangent)[1]
        bars = (bars,) if f.arity == 1 else bars
        return tuple(bar if holds else None for bar, holds in zip(bars, f._holds_real()))

    value = f(*primals)
    return value, pull


def _parameter(f: Any, i: int) -> str:
    names = list(inspect.signature(f).parameters)
    return f"`{names[i]}`" if i < len(names) else f"argument {i}"


def _same_shape(what: Callable[[], str], given: Any, other: str, value: Any) -> None:
    """Refuses an array of another shape than the one that it belongs to."""
    if isinstance(value, np.ndarray) and isinstance(given, np.ndarray) and value.shape != given.shape:
        raise ArgumentError(f"{what()} has shape {given.shape}, {other} {value.shape}")


def enclose(f: Function) -> Function:
    """The function of intervals whose values certainly contain the exact ones: numbers or ``Interval``s go in, intervals come
    out where a number is not exact. Its derivatives are enclosed as well."""
    checked: Function = _checked(f, "enclose")
    return checked._enclose()


def jet(f: Function, k: int, r: int) -> Function:
    """All derivatives in ``k`` variables up to order ``r``: arrays of derivatives in the place of each Real."""
    checked: Function = _checked(f, "jet")
    return checked._jet((k, r))


def jacobian(f: Any, argnums: int | Sequence[int] = 0) -> Jacobian:
    """The Jacobian by one argument: of an array of shape S by one of shape T, an array of shape S + T.

    Where the result or the argument is a tuple or a dictionary, so is the Jacobian: the parts of the result with the parts of
    the argument within, and None for what is no Real. By several arguments it has a tuple in the place of the argument.
    """
    return _jacobian(_checked(f, "jacobian"), _numbers(f, argnums, "jacobian"), f"jacobian({f.__name__})")


def hessian(f: Any, argnums: int | Sequence[int] = 0) -> Jacobian:
    """The Hessian of a function to Real by one argument of shape T: of shape T + T. Of a dictionary it is one of dictionaries,
    by several arguments a tuple of tuples."""
    numbers = _numbers(_checked(f, "hessian"), argnums, "hessian")
    return _jacobian(_cached(f, "_grad", numbers), numbers, f"hessian({f.__name__})")


def _jacobian(f: Any, numbers: tuple[int, ...], name: str) -> Jacobian:
    return Jacobian(f, numbers, lambda: _cached(f, "_jvp", numbers), name)


def map(  # noqa: A001
    f: Callable[..., Any], in_axes: int | None | Sequence[int | None] = 0, threads: int | None = None
) -> Callable[..., Any]:
    """The function applied to each row of the arguments that have an axis, on several threads.

    ``in_axes`` is 0 or None for each argument: rows, or the same for all. Rows may have different lengths. Results are
    stacked where they are numbers or arrays of one shape.
    """
    import concurrent.futures

    def mapped(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(axes) != len(args) or not any(axis == 0 for axis in axes):
            raise TypeError(f"map: in_axes {tuple(axes)} for {len(args)} arguments: 0 for rows, None for the others")
        counts = {len(arg) for arg, axis in zip(args, axes) if axis == 0}
        if len(counts) != 1:
            raise TypeError(f"map: the arguments have {sorted(counts)} rows")
        count = counts.pop()

        def row(i: int) -> Any:
            return f(*(arg[i] if axis == 0 else arg for arg, axis in zip(args, axes)))

        workers = threads or os.cpu_count() or 1
        if workers == 1 or count < 2:
            rows = [row(i) for i in range(count)]
        else:
            with concurrent.futures.ThreadPoolExecutor(workers) as pool:
                rows = list(pool.map(row, range(count)))
        return _stacked(rows)

    mapped._diffeo_mapped = True  # type: ignore[attr-defined]
    return mapped


def _stacked(rows: list[Any]) -> Any:
    if rows and isinstance(rows[0], tuple):
        return tuple(_stacked([row[i] for row in rows]) for i in range(len(rows[0])))
    if rows and isinstance(rows[0], dict):
        return {key: _stacked([row[key] for row in rows]) for key in rows[0]}
    if rows and isinstance(rows[0], (int, float, np.ndarray)) and len({np.shape(row) for row in rows}) == 1:
        return np.stack([np.asarray(row) for row in rows])
    return rows
