"""Diffeo, a differentiable programming language: programs as Python functions, with derivatives of every order.

    >>> import diffeo
    >>> m = diffeo.source("def loss(w: [k]Real, x: [k]Real) -> Real = sq(dot(w, x) - 1.0)")
    >>> m.loss([1.0, 2.0], [3.0, 4.0])
    100.0
    >>> diffeo.grad(m.loss)([1.0, 2.0], [3.0, 4.0])
    array([60., 80.])
"""

from typing import Any

from ._api import Module, enclose, grad, hessian, jacobian, jet, jvp, load, map, source, value_and_grad, vjp
from ._diffeo import Function, Plot, __version__
from ._errors import ArgumentError, Error, PlotWarning
from ._interval import Interval
from ._llvm import look_for_llvm
from ._sum import sum_over

look_for_llvm()

__all__ = [
    "ArgumentError",
    "Error",
    "Function",
    "Interval",
    "Module",
    "Plot",
    "PlotWarning",
    "__version__",
    "enclose",
    "grad",
    "hessian",
    "jacobian",
    "jax",
    "jet",
    "jvp",
    "load",
    "map",
    "sample",
    "source",
    "sum_over",
    "torch",
    "value_and_grad",
    "vjp",
]


def jax(f: Function, **options: Any) -> Any:
    """The function as one of JAX, under all its transformations: see `diffeo._jax`."""
    from ._jax import function

    return function(f, **options)


def torch(f: Function, **options: Any) -> Any:
    """The function as one of PyTorch, with double backward: see `diffeo._torch`."""
    from ._torch import function

    return function(f, **options)


def sample(log_density: Function, data: Any = None, **options: Any) -> Any:
    """Draws from the posterior distribution of a model: see `diffeo._sample`."""
    from ._sample import sample

    return sample(log_density, data, **options)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext diffeo`: cells that begin with `%%diffeo`."""
    from ._ipython import register

    register(ipython)
