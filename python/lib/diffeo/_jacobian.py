"""Jacobians, column by column: of numbers and arrays, and of tuples and dictionaries of them."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._errors import ArgumentError
from ._signature import ordered


class Jacobian:
    """The function that gives the Jacobian of ``f`` by arguments. It pickles where ``f`` does."""

    def __init__(self, f: Any, argnums: tuple[int, ...], forward: Callable[[], Any], name: str) -> None:
        self._function, self._argnums, self._forward = f, argnums, forward
        self.__name__ = name
        self.__doc__ = f"{name}: the derivatives of {f.__name__} by argument {', '.join(map(str, argnums))}"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function).replace(return_annotation=inspect.Signature.empty)

    def __call__(self, *args: Any, **named: Any) -> Any:
        f, at = self._function, self._argnums
        args = ordered(f, args, named)
        if len(args) != f.arity:
            raise ArgumentError(f"{self.__name__} takes {f.arity} arguments, {len(args)} were given")
        forward = self._forward()
        (given, result), one = f._types(), f.arity == 1
        types = (given,) if one else given[1]
        # By one argument it is the derivative by that, by several by their tuple.
        given = types[at[0]] if len(at) == 1 else ("tuple", tuple(types[i] for i in at))
        point, x = (args[0] if one else tuple(args)), (args[at[0]] if len(at) == 1 else tuple(args[i] for i in at))
        leaves = _reals(given, x, self.__name__)
        columns: list[list[list[np.ndarray]]] = []
        y: Any = None
        for leaf in leaves:
            units = [np.zeros(other.shape) for other in leaves]
            unit = units[len(columns)].reshape(-1)
            columns.append([])
            for i in range(leaf.size):
                unit[i] = 1.0
                y = forward(point, _again(given, x, iter(units), keep=True))[1]
                columns[-1].append(_reals(result, y, self.__name__))
                unit[i] = 0.0
        if y is None:
            y = f(*args)
        rows = []
        for k, row in enumerate(_reals(result, y, self.__name__)):
            blocks = [_block([column[k] for column in some], row, leaf) for some, leaf in zip(columns, leaves)]
            rows.append(_again(given, x, iter(blocks), keep=False))
        return _again(result, y, iter(rows), keep=False)

    def __reduce__(self) -> Any:
        from . import _api

        return (_api._jacobian, (self._function, self._argnums, self.__name__))

    def __repr__(self) -> str:
        return f"<diffeo {self.__name__}>"


def _block(columns: list[np.ndarray], row: np.ndarray, leaf: np.ndarray) -> Any:
    """The derivatives of one array by another, or of numbers."""
    shape = row.shape + leaf.shape
    block = np.stack(columns, axis=-1).reshape(shape) if columns else np.zeros(shape)
    return block if block.ndim else float(block)


def _reals(described: Any, value: Any, name: str) -> list[np.ndarray]:
    """The numbers and arrays of Reals in a value of a type."""
    what = described[0]
    if what == "tuple":
        return [leaf for part, x in zip(described[1], value or ()) for leaf in _reals(part, x, name)]
    if what == "record":
        return [leaf for field, part in described[1] for leaf in _reals(part, _field(value, field), name)]
    if what == "Real" or what == "array" and described[2] == "Real":
        return [np.asarray(value, dtype=float)]
    if what == "other":
        try:
            return [np.asarray(value, dtype=float)]
        except (TypeError, ValueError):
            raise ArgumentError(f"{name}: Reals in {described[1]} are in no array, tuple or dictionary") from None
    return []


def _again(described: Any, value: Any, leaves: Iterator[Any], keep: bool) -> Any:
    """The structure of a value with other leaves in it; what is no Real stays or is None."""
    what = described[0]
    if what == "tuple":
        return tuple(_again(part, x, leaves, keep) for part, x in zip(described[1], value or ()))
    if what == "record":
        made = {field: _again(part, _field(value, field), leaves, keep) for field, part in described[1]}
        # In the order of the value.
        return {field: made[field] for field in value if field in made} if isinstance(value, dict) else made
    if what in ("Real", "other") or what == "array" and described[2] == "Real":
        return next(leaves)
    return value if keep else None


def _field(value: Any, name: str) -> Any:
    return value[name] if isinstance(value, dict) else getattr(value, name)
