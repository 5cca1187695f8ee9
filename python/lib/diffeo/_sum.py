"""Sums over many rows, on threads, processes and machines, with the same digits on any number of them.

Rows are cut into parts whose size depends on the number of rows alone. Whoever computes them, the results of the parts
are added by pairs in their order, as a tree that depends on the number of parts alone.
"""

import concurrent.futures
import inspect
import os
from typing import Any

import numpy as np

from . import _diffeo
from ._errors import ArgumentError
from ._signature import ordered

# How many parts there are at most, unless the caller says how many rows a part has.
_PARTS = 256


class SumOver:
    """The sum of a function over parts of rows, which are its last arguments: a function of the first ones."""

    def __init__(self, function, rows, executor, part, paired=False, slopes=False):
        self._function, self._rows, self._executor, self._part = function, rows, executor, part
        # Whether arguments are a point and what is given with it; whether Ints in the second component are those of the
        # point, which are not added.
        self._paired, self._slopes = paired, slopes
        self.__name__ = f"sum_over({function.__name__})"
        self.__doc__ = f"The sum over {len(rows[0])} rows of {function.__name__} : {function.type_}"

    @property
    def arity(self):
        """How many arguments it takes."""
        return self._function.arity if self._paired else self._function.arity - len(self._rows)

    @property
    def __signature__(self):
        known = inspect.signature(self._function)
        return known.replace(parameters=list(known.parameters.values())[: self.arity])

    def _types(self):
        given, result = self._function._types()
        own = given[1][: self.arity]
        return (own[0] if self.arity == 1 else ("tuple", own)), result

    def _holds_real(self):
        return self._function._holds_real()[: self.arity]

    def __call__(self, *args, **named):
        args = ordered(self, args, named)
        if len(args) != self.arity:
            raise ArgumentError(f"{self.__name__} takes {self.arity} arguments, {len(args)} were given")
        count = len(self._rows[0])
        size = self._part or max(1, -(-count // _PARTS))
        cuts = [(i, min(i + size, count)) for i in range(0, count, size)] or [(0, 0)]
        found = _spread(self._executor, self._function, self._paired, args, self._rows, cuts)
        while len(found) > 1:
            pairs = [_added(a, b, self._slopes) for a, b in zip(found[::2], found[1::2])]
            found = pairs + found[len(pairs) * 2 :]
        return found[0]

    def _derived(self, what, numbers, slopes, paired=False):
        if self._paired:
            raise ArgumentError(f"{self.__name__} has derivatives as a function of its arguments, not of a point and a tangent")
        if wrong := [i for i in numbers if not 0 <= i < self.arity]:
            raise ArgumentError(f"{self.__name__} has no argument {wrong[0]} to differentiate by: it takes {self.arity}")
        made = getattr(self._function, what)(list(numbers))
        return SumOver(made, self._rows, self._executor, self._part, paired, slopes)

    def _grad(self, numbers):
        return self._derived("_grad", numbers, "all")

    def _value_and_grad(self, numbers):
        return self._derived("_value_and_grad", numbers, "second")

    def _vjp(self, numbers):
        return self._derived("_vjp", numbers, "second", True)

    def _jvp(self, numbers):
        return self._derived("_jvp", numbers, "second", True)

    def __repr__(self):
        return f"<diffeo {self.__name__}, {len(self._rows[0])} rows>"


def sum_over(rows: Any, f: _diffeo.Function, executor: Any = None, part: int | None = None) -> SumOver:
    """The sum of ``f`` over rows: the function of the first arguments of ``f``, whose last one takes rows.

    ``rows`` is an array, a dictionary of arrays or a frame, or a tuple of these for several arguments of ``f``. ``f`` gives
    the sum over the rows that it is given: numbers, arrays, tuples and dictionaries of them are added. The sum is a
    function for ``grad``, ``value_and_grad``, ``vjp``, ``jvp`` and ``hessian``.

    ``executor`` computes the parts: threads of this process by default; else any object with ``submit`` or ``map``, such as
    those of ``concurrent.futures``, a client of Dask, ``ray.util.multiprocessing.Pool`` or ``mpi4py.futures``; or a
    communicator of MPI, whose processes all call the sum, with the same rows. ``part`` is how many rows a part has.
    """
    if not isinstance(f, _diffeo.Function):
        raise TypeError(f"sum_over: the second argument is a function of a program, not {type(f).__name__}")
    several = tuple(rows) if isinstance(rows, (tuple, list)) else (rows,)
    if part is not None and part < 1:
        raise ValueError("sum_over: a part has at least 1 row")
    if not several or len(several) > f.arity:
        raise ArgumentError(f"sum_over: rows for {len(several)} arguments, and {f.__name__} : {f.type_} takes {f.arity}")
    tables = [_Fields(table) if isinstance(table, dict) else _table(table) for table in several]
    counts = {len(table) for table in tables}
    if len(counts) != 1:
        raise ArgumentError(f"sum_over: the arguments have {sorted(counts)} rows")
    return SumOver(f, tables, executor, part)


class _Fields:
    """Rows as a dictionary of columns."""

    def __init__(self, columns):
        self._columns = {name: _table(column) for name, column in columns.items()}
        counts = {len(column) for column in self._columns.values()}
        if len(counts) != 1:
            raise ArgumentError(f"sum_over: the columns have {sorted(counts)} rows")

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, rows):
        return {name: column[rows] for name, column in self._columns.items()}


def _table(rows):
    """Something that has slices of rows."""
    if hasattr(rows, "__getitem__") and hasattr(rows, "__len__") and not isinstance(rows, (list, tuple)):
        return rows
    if isinstance(rows, (list, tuple)):
        return np.asarray(rows, dtype=float)
    raise TypeError(f"sum_over: {type(rows).__name__} has no rows")


def _one(function, paired, args, rows):
    """The function at the rows of a part."""
    if not paired:
        return function(*args, *rows)
    point, along = args
    point = point if isinstance(point, tuple) else (point,)
    return function((*point, *rows), along)


def _some(task):
    """The results of several parts, on whatever machine this is."""
    function, paired, args, parts = task
    return [_one(function, paired, args, rows) for rows in parts]


def _spread(executor, function, paired, args, rows, cuts):
    """The results of all parts, in their order."""

    def cut(a, b):
        return [table[a:b] for table in rows]

    def task(places):
        return (function, paired, args, [cut(a, b) for a, b in places])

    if hasattr(executor, "allgather"):
        # Each process computes its share and tells it to the others.
        rank, size = executor.Get_rank(), executor.Get_size()
        own = cuts[rank * len(cuts) // size : (rank + 1) * len(cuts) // size]
        found = executor.allgather(_some(task(own)))
        return [result for share in found for result in share]
    if executor is None:
        workers = os.cpu_count() or 1
        if workers == 1 or len(cuts) == 1:
            return [_one(function, paired, args, cut(a, b)) for a, b in cuts]
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda place: _one(function, paired, args, cut(*place)), cuts))
    # Several parts are one task, so that the function and its arguments travel less often.
    tasks = [task(cuts[i : i + 8]) for i in range(0, len(cuts), 8)]
    if hasattr(executor, "submit"):
        found = [executor.submit(_some, task) for task in tasks]
    elif hasattr(executor, "map"):
        found = list(executor.map(_some, tasks))
    else:
        raise TypeError(f"sum_over: {type(executor).__name__} has neither submit nor map nor allgather")
    found = [share.result() if hasattr(share, "result") else share for share in found]
    return [result for share in found for result in share]


def _added(a, b, slopes):
    """The sum of results; Ints of a derivative are those of the point."""
    if slopes == "second":
        return (_added(a[0], b[0], None), _added(a[1], b[1], "all"))
    if isinstance(a, tuple):
        return tuple(_added(x, y, slopes) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return {name: _added(x, b[name], slopes) for name, x in a.items()}
    if isinstance(a, np.ndarray) and a.shape != np.shape(b):
        raise ArgumentError(f"sum_over: parts have results of the shapes {a.shape} and {np.shape(b)}")
    if not isinstance(a, (int, float, np.ndarray)) or np.asarray(a).dtype == bool:
        raise ArgumentError(f"sum_over: results of type {type(a).__name__} have no sum")
    whole = isinstance(a, int) or (isinstance(a, np.ndarray) and a.dtype.kind == "i")
    return a if slopes == "all" and whole else a + b
