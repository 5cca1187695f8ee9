"""Dictionaries, tuples and lists of numbers as one array, for optimizers that take arrays."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import ArgumentError


def ravel(x: Any) -> tuple[np.ndarray, Callable[[Any], Any]]:
    """The numbers of a value as one array of float64, and the function that makes such a value of an array again.

    The value is a number, an array, or dictionaries, tuples, lists and dataclasses of these. Its numbers are in the order in
    which it has them, that of a dictionary's keys; all are floats after. Texts, truth values and None are no numbers, and stay.

    >>> x, unravel = ravel({"v": 200.0, "k": [0.05, 0.1]})
    >>> x
    array([2.e+02, 5.e-02, 1.e-01])
    >>> unravel(x)
    {'v': 200.0, 'k': [0.05, 0.1]}
    """
    parts = _Parts()
    make = _part(x, parts)
    flat = np.concatenate(parts.all) if parts.all else np.zeros(0)
    count = flat.size

    def unravel(array: Any) -> Any:
        """The value of the structure that was ravelled."""
        array = np.asarray(array, dtype=float)
        if array.shape != (count,):
            raise ArgumentError(f"unravel: expected an array of shape ({count},), found one of shape {array.shape}")
        return make(array)

    return flat, unravel


class _Parts:
    """The arrays of numbers so far, and how many numbers these are."""

    def __init__(self) -> None:
        self.all: list[np.ndarray] = []
        self.count = 0

    def add(self, array: np.ndarray) -> int:
        """The place where the numbers of one more array begin."""
        self.all.append(array.reshape(-1))
        self.count += array.size
        return self.count - array.size


def _part(x: Any, parts: _Parts) -> Callable[[np.ndarray], Any]:
    """Adds the numbers of a value; gives the function from all numbers to such a value."""
    if isinstance(x, dict):
        keys = {key: _part(value, parts) for key, value in x.items()}
        return lambda flat: {key: make(flat) for key, make in keys.items()}
    if isinstance(x, (tuple, list)):
        makes, kind = [_part(value, parts) for value in x], type(x)
        if hasattr(kind, "_fields"):
            return lambda flat: kind(*[make(flat) for make in makes])
        return lambda flat: kind([make(flat) for make in makes])
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = {field.name: _part(getattr(x, field.name), parts) for field in dataclasses.fields(x)}
        return lambda flat: dataclasses.replace(x, **{name: make(flat) for name, make in fields.items()})
    if x is None or isinstance(x, (str, bool, np.bool_)):
        return lambda flat: x
    array = np.asarray(x)
    if array.dtype.kind not in "fiu":
        raise ArgumentError(f"ravel: {type(x).__name__} is no number, array, dictionary, tuple or list")
    array = array.astype(float)
    begin = parts.add(array)
    end, shape = begin + array.size, array.shape
    if not shape:
        return lambda flat: float(flat[begin])
    return lambda flat: flat[begin:end].reshape(shape)
