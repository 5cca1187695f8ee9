"""Diffeo, a differentiable programming language: programs as Python functions, with derivatives of every order.

    >>> import diffeo
    >>> m = diffeo.source("def loss(w: [k]Real, x: [k]Real) -> Real = sq(dot(w, x) - 1.0)")
    >>> m.loss([1.0, 2.0], [3.0, 4.0])
    100.0
    >>> diffeo.grad(m.loss)([1.0, 2.0], [3.0, 4.0])
    array([60., 80.])
"""

from typing import Any, Literal

from ._api import Module, enclose, grad, hessian, jacobian, jet, jvp, load, map, source, value_and_grad, vjp
from ._diffeo import Function, Plot, __version__
from ._errors import ArgumentError, Error, PlotWarning
from ._interval import Interval
from ._llvm import look_for_llvm
from ._ravel import ravel
from ._sample import SamplingWarning, sample
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
    "SamplingWarning",
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
    "ravel",
    "sample",
    "source",
    "sum_over",
    "torch",
    "value_and_grad",
    "vjp",
]


def jax(
    f: Function,
    *,
    out: Any = None,
    engine: Literal["xla"] | None = None,
    checks: Literal["report", "nan"] = "report",
    precision: Literal["f64", "f32"] | None = None,
) -> Any:
    """The function as one of JAX, under all its transformations: ``jit``, ``grad``, ``jvp``, ``vmap``, ``hessian`` and others.

    Parameters
    ----------
    f : Function
        It takes and gives numbers, arrays of them, and tuples and dictionaries of these.
    out : jax.ShapeDtypeStruct, structure of these, or callable, optional
        The shapes of the results, where sizes of results are none of those that the type of the function names; or a
        function from the shapes of the arguments to that.
    engine : "xla", optional
        Makes it operations of XLA, which can be spread over devices. On devices that are no CPU it always is.
    checks : {"report", "nan"}
        Whether what fails under XLA is an exception, or makes results nan.
    precision : {"f64", "f32"}, optional
        The Reals under XLA: of 64 bits, and by default of 32 on TPUs.
    """
    from ._jax import function

    return function(f, out=out, engine=engine, checks=checks, precision=precision)


def torch(f: Function) -> Any:
    """The function as one of PyTorch's tensors on the CPU, with ``backward`` and derivatives of derivatives."""
    from ._torch import function

    return function(f)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext diffeo`: cells that begin with `%%diffeo`."""
    from ._ipython import register

    register(ipython)
