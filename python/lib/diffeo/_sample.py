"""Draws from posterior distributions, as ArviZ and xarray have them."""

import importlib.util
import warnings

from ._diffeo import Function


class SamplingWarning(UserWarning):
    """What draws do not tell, and what to do."""


def sample(log_density, data=None, *, convert=True, **options):
    """Draws from the distribution whose log density a definition of a program is, by the no-U-turn sampler.

    ``data`` is a dictionary with what the definitions of the model take. Options: ``method`` ("nuts"), ``chains`` (4),
    ``warmup`` and ``draws`` (1000 each), ``seed`` (0), ``target_accept`` (0.8), ``max_depth`` (10), ``init`` (2.0),
    ``parameters`` and ``predict`` (names of definitions), ``progress`` (a function of chain, draw, total and divergences).
    The engine, threads and a timeout are those of the function: ``m.function("log_density", threads=2, timeout=60)``.

    ``method="laplace"`` draws from the normal distribution of the unconstrained parameters at the mode, with the curvature
    there, ``method="meanfield"`` from the nearest independent normal distributions. There is no warm-up then, and
    ``sample_stats`` has ``lp`` and ``log_q``, the log densities of the posterior and of the approximation at each draw.

    Gives what ArviZ has for draws (an ``InferenceData``, from ArviZ 1 on an ``xarray.DataTree``), an ``xarray.DataTree``
    where only xarray is installed, else a dictionary of dictionaries of arrays: chains, draws, and the sizes of the
    parameter. ``convert=False`` gives that dictionary in any case, with ``summary`` and ``warnings``, and for an
    approximation ``approximation``: ``log_evidence`` (of ``meanfield`` a lower bound), ``converged`` and ``pareto_k``, above
    0.7 for a poor one. Where the result has attributes, these are attributes of ``posterior``.
    """
    if not isinstance(log_density, Function):
        raise TypeError(f"sample takes a function of a program, not {type(log_density).__name__}")
    found = log_density._sample(data, **options)
    for message in found["warnings"]:
        text = message["text"].split(": ", 1)[-1] if message["file"] is None else message["text"]
        warnings.warn(text, SamplingWarning, stacklevel=3)
    if not convert:
        return found
    groups = {"posterior": found["posterior"], "sample_stats": found["sample_stats"]}
    if found["predictions"]:
        groups["posterior_predictive"] = found["predictions"]
    draws = _converted(groups)
    known = found.get("approximation")
    if known is not None and draws is not groups:
        # Files have no attributes that are truth values.
        draws["posterior"].attrs.update(known, method=options["method"], converged=int(known["converged"]))
    return draws


def _converted(groups):
    if importlib.util.find_spec("arviz") is not None:
        import arviz

        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict(groups)
        return arviz.from_dict(**groups)
    if importlib.util.find_spec("xarray") is not None:
        import xarray

        if hasattr(xarray, "DataTree"):
            return xarray.DataTree.from_dict({name: _dataset(xarray, group) for name, group in groups.items()})
    return groups


def _dataset(xarray, group):
    def dims(name, array):
        return ["chain", "draw", *(f"{name}_dim_{i}" for i in range(array.ndim - 2))]

    return xarray.Dataset({name: (dims(name, array), array) for name, array in group.items()})
