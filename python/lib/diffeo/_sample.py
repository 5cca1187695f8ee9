"""Draws from posterior distributions, as ArviZ and xarray have them."""

import importlib.util
import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import _options
from ._diffeo import Function
from ._progress import Line


class SamplingWarning(UserWarning):
    """What draws do not tell, and what to do."""


_OF_FUNCTION = 'it belongs to the function, diffeo.sample(m.function("log_density", {}), …)'

#: What others call the options.
_ELSEWHERE = {
    **dict.fromkeys(["tune", "num_warmup", "n_warmup", "iter_warmup", "burn_in", "burnin", "n_tune"], "warmup"),
    **dict.fromkeys(["num_chains", "n_chains", "nchains"], "chains"),
    **dict.fromkeys(["num_samples", "n_samples", "samples", "iter_sampling", "num_draws", "n_draws", "iter"], "draws"),
    **dict.fromkeys(["random_seed", "rng", "rng_key", "key", "random_state"], "seed"),
    **dict.fromkeys(["adapt_delta", "target_accept_prob", "delta"], "target_accept"),
    **dict.fromkeys(["max_treedepth", "max_tree_depth"], "max_depth"),
    **dict.fromkeys(["progressbar", "progress_bar", "show_progress", "show_progress_bar"], "progress"),
    **dict.fromkeys(["inits", "init_radius", "initvals", "start"], "init"),
    **dict.fromkeys(["generated", "generated_quantities", "posterior_predictive", "var_names"], "predict"),
    **dict.fromkeys(["log_lik", "loglik", "idata_kwargs"], "log_likelihood"),
    **dict.fromkeys(["cores", "n_jobs", "parallel_chains", "threads"], _OF_FUNCTION.format("threads=4")),
    "timeout": _OF_FUNCTION.format("timeout=60"),
    "engine": _OF_FUNCTION.format('engine="jit"'),
}

#: The definition of this name gives the log density of each observation.
_LOG_LIKELIHOOD = "log_lik"


@_options.known(_ELSEWHERE)
def sample(
    log_density: Function,
    data: Any = None,
    *,
    method: Literal["nuts", "laplace", "meanfield"] = "nuts",
    chains: int = 4,
    warmup: int = 1000,
    draws: int = 1000,
    seed: int | None = 0,
    target_accept: float = 0.8,
    max_depth: int = 10,
    init: float = 2.0,
    parameters: str | Function = "parameters",
    predict: str | Function | None = None,
    log_likelihood: str | Function | None = None,
    observed: str | Sequence[str] | None = None,
    dims: Mapping[str, str | Sequence[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
    progress: bool | Callable[[int, int, int, int], Any] | None = None,
    convert: bool = True,
) -> Any:
    """Draws from the posterior distribution of a model.

    Parameters
    ----------
    log_density : Function
        The definition that gives the log density of a record of parameters, and perhaps a record of data. Threads, engine
        and a timeout are those of the function: ``m.function("log_density", threads=2, timeout=60)``.
    data : dict, optional
        What the definitions of the model take, by name.
    method : {"nuts", "laplace", "meanfield"}
        The no-U-turn sampler; or draws of an approximation: the normal distribution of the unconstrained parameters at the
        mode, with the curvature there, or the nearest independent normal distributions. These have no warm-up.
    chains, warmup, draws : int
        How many chains, and how many draws of each: to adapt, which are thrown away, and to keep.
    seed : int or None
        What the draws depend on. With None it is a new one each time; the result tells which.
    target_accept : float
        The mean acceptance that step sizes aim at, between 0 and 1.
    max_depth : int
        How often a trajectory doubles at most.
    init : float
        First points lie within this distance from 0, before the transforms of the parameters.
    parameters : str or Function
        The definition that says what values parameters take.
    predict : str or Function, optional
        The definition that makes predictions of parameters, data and a key: a record.
    log_likelihood : str or Function, optional
        The definition that gives the log density of each observation, of parameters and data: an array, or a record of
        arrays. Or the name of a prediction that is that. By default the definition or prediction ``log_lik``, where there
        is one.
    observed : str or list of str, optional
        The data that are observations. By default those that have the name of a prediction.
    dims, coords : dict, optional
        Names of dimensions, by variable, and the labels of dimensions, as ArviZ takes them:
        ``dims={"theta": ["school"]}, coords={"school": names}``.
    progress : bool or callable, optional
        True shows how far the chains are, in a line on standard error. A function is called with chain, draw, total and
        divergences, on any thread; what it raises ends the draws.
    convert : bool
        Whether the result is that of ArviZ.

    Returns
    -------
    arviz.InferenceData, xarray.DataTree or dict
        What ArviZ has for draws (from ArviZ 1 on an ``xarray.DataTree``), an ``xarray.DataTree`` where only xarray is
        installed, else a dictionary of dictionaries of arrays: chains, draws, and the sizes of the variable. Its groups are
        ``posterior``, ``sample_stats``, ``posterior_predictive``, ``log_likelihood``, ``observed_data`` and
        ``constant_data``, as far as there is something in them. The attributes of ``posterior`` tell the seed and, of an
        approximation, the method, ``log_evidence`` (of ``meanfield`` a lower bound), ``converged`` and ``pareto_k``, above
        0.7 for a poor one.

        With ``convert=False`` it is a dictionary in any case, of ``posterior``, ``sample_stats``, ``predictions`` (what
        ArviZ calls ``posterior_predictive``), ``log_likelihood``, ``summary``, ``warnings``, ``seed`` and, of an
        approximation, ``approximation``.

    Warns
    -----
    SamplingWarning
        What the draws do not tell, such as divergences or an R-hat above 1.01.
    """
    if not isinstance(log_density, Function):
        raise TypeError(f"sample takes a function of a program, not {type(log_density).__name__}")
    if not convert and (dims is not None or coords is not None or observed is not None):
        raise TypeError("sample: dims, coords and observed are for ArviZ, but with convert=False there are only arrays")
    if seed is None:
        seed = secrets.randbits(32)
    line = Line(_whole("warmup", warmup, 0)) if progress is True else None
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(
            f"sample: progress={progress!r}: it is True, False or a function of chain, draw, total and divergences"
        )
    try:
        found = log_density._sample(
            data,
            method=method,
            chains=_whole("chains", chains, 1),
            warmup=_whole("warmup", warmup, 0),
            draws=_whole("draws", draws, 1),
            seed=_whole("seed", seed, 0),
            target_accept=target_accept,
            max_depth=_whole("max_depth", max_depth, 1),
            init=init,
            parameters=_name(log_density, "parameters", parameters),
            predict=None if predict is None else _name(log_density, "predict", predict),
            progress=line or progress or None,
        )
    finally:
        if line:
            line.close()
    for message in found["warnings"]:
        text = message["text"].split(": ", 1)[-1] if message["file"] is None else message["text"]
        warnings.warn(text, SamplingWarning, stacklevel=3)
    found["seed"] = seed
    _add_log_likelihood(found, log_density, data, log_likelihood)
    if not convert:
        return found
    known = found.get("approximation")
    attributes = {"seed": seed}
    if known is not None:
        # Files have no attributes that are truth values.
        attributes.update(known, method=method, converged=int(known["converged"]))
    groups = {
        "posterior": found["posterior"],
        "sample_stats": found["sample_stats"],
        "posterior_predictive": found["predictions"],
        "log_likelihood": found["log_likelihood"],
        **_data_groups(data, observed, found["predictions"]),
    }
    groups = {name: group for name, group in groups.items() if group}
    return _converted(groups, dims or {}, coords or {}, attributes)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"sample: {name}={value!r}: it is a whole number from {least} on")
    if value < least:
        raise ValueError(f"sample: {name}={value!r}: it is a whole number from {least} on")
    return int(value)


def _name(log_density: Function, option: str, given: Any) -> str:
    """The name of a definition that is given by it, or as a function of the same program."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Function):
        raise TypeError(
            f"sample: {option} is the name of a definition or a function of the program, not {type(given).__name__}"
        )
    program, name = log_density.program, given.__name__
    if given.program.source != program.source or name not in dict(program.definitions()):
        raise ValueError(f"sample: {option}={given!r} is no definition of the program of {log_density.__name__}")
    return name


def _add_log_likelihood(found: dict[str, Any], log_density: Function, data: Any, given: Any) -> None:
    """Adds the group of the log densities of observations: of predictions, or by a definition."""
    name = _LOG_LIKELIHOOD if given is None else _name(log_density, "log_likelihood", given)
    found["log_likelihood"] = {}
    if name in found["predictions"]:
        found["log_likelihood"][name] = found["predictions"].pop(name)
        return
    is_function = dict(log_density.program.definitions()).get(name)
    if not is_function:
        if given is None:
            return
        raise ValueError(f"sample: log_likelihood={name!r} is neither a function of the program nor a prediction")
    options = {
        key: value for key, value in (log_density.__reduce__()[1][2] or {}).items() if key not in ("trace", "progress")
    }
    f = log_density.program.function(name, **options)
    taken = _records(f._types()[0])
    fields = _fields(data)
    if (
        taken is None
        or not set(taken[0]) <= set(found["posterior"])
        or not all(set(more) <= set(fields) for more in taken[1:])
    ):
        if given is None:
            return
        raise ValueError(
            f"sample: log_likelihood={name!r} is {f.type_}, but it is to take a record of the parameters, and perhaps one of "
            "the data"
        )
    rest = [{field: fields[field] for field in more} for more in taken[1:]]
    found["log_likelihood"] = _of_each_draw(f, {field: found["posterior"][field] for field in taken[0]}, rest)


def _records(type_: Any) -> list[list[str]] | None:
    """The names of the fields of one or two records that a function takes."""
    parts = type_[1] if type_[0] == "tuple" else (type_,)
    if not 1 <= len(parts) <= 2 or any(part[0] != "record" for part in parts):
        return None
    return [[name for name, _ in part[1]] for part in parts]


def _of_each_draw(f: Function, posterior: dict[str, Any], rest: list[Any]) -> dict[str, Any]:
    chains, draws = next(iter(posterior.values())).shape[:2]
    values: dict[str, list[Any]] = {}
    for chain in range(chains):
        for draw in range(draws):
            value = f({field: array[chain, draw] for field, array in posterior.items()}, *rest)
            for key, part in (value if isinstance(value, dict) else {f.__name__: value}).items():
                values.setdefault(key, []).append(part)
    arrays = {}
    for key, parts in values.items():
        if len({np.shape(part) for part in parts}) > 1 or np.asarray(parts[0]).dtype.kind != "f":
            raise ValueError(f"sample: log_likelihood: {f.__name__} is {f.type_}, but it is to give arrays of Reals")
        arrays[key] = np.reshape(np.asarray(parts), (chains, draws, *np.shape(parts[0])))
    return arrays


def _fields(data: Any) -> dict[str, Any]:
    """The data by name; what is an array of numbers, as one."""
    named = data if isinstance(data, Mapping) else getattr(data, "__dict__", {})
    return {name: value if (array := _numbers(value)) is None else array for name, value in named.items()}


def _numbers(value: Any) -> Any:
    if isinstance(value, (str, bytes)) or hasattr(value, "columns"):
        return None
    try:
        array = np.asarray(value)
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def _data_groups(data: Any, observed: Any, predictions: Any) -> dict[str, dict[str, Any]]:
    fields = {name: value for name, value in _fields(data).items() if isinstance(value, np.ndarray)}
    names = [observed] if isinstance(observed, str) else predictions if observed is None else observed
    for name in names:
        if observed is not None and name not in fields:
            raise ValueError(
                f"sample: observed={name!r} is no number or array of the data: {', '.join(fields) or 'nothing'}"
            )
    return {
        "observed_data": {name: array for name, array in fields.items() if name in names},
        "constant_data": {name: array for name, array in fields.items() if name not in names},
    }


def _converted(
    groups: dict[str, Any], dims: Mapping[str, Any], coords: Mapping[str, Any], attributes: dict[str, Any]
) -> Any:
    dims = {name: [names] if isinstance(names, str) else list(names) for name, names in dims.items()}
    _check_dims(groups, dims, coords)
    coords = {name: np.asarray(labels) for name, labels in coords.items()}
    draws = None
    if importlib.util.find_spec("arviz") is not None:
        import arviz

        if int(arviz.__version__.split(".")[0]) >= 1:
            draws = arviz.from_dict(groups, dims=dims, coords=coords)
        else:
            draws = arviz.from_dict(**groups, dims=dims, coords=coords)
    elif importlib.util.find_spec("xarray") is not None:
        import xarray

        if hasattr(xarray, "DataTree"):
            all_groups = {name: _dataset(xarray, name, group, dims, coords) for name, group in groups.items()}
            draws = xarray.DataTree.from_dict(all_groups)
    if draws is None:
        if dims or coords:
            raise ImportError("sample: dims and coords need ArviZ (pip install arviz)")
        return groups
    draws["posterior"].attrs.update(attributes)
    return draws


def _check_dims(groups: dict[str, Any], dims: Mapping[str, list[str]], coords: Mapping[str, Any]) -> None:
    for name, own in dims.items():
        arrays = [(group, array[name]) for group, array in groups.items() if name in array]
        if not arrays:
            known = ", ".join(
                dict.fromkeys(name for group in groups for name in groups[group] if group != "sample_stats")
            )
            raise ValueError(f"sample: dims are for {name}, but the variables are {known}")
        for group, array in arrays:
            sizes = array.shape if group.endswith("_data") else array.shape[2:]
            labelled = [size for dim, size in zip(own, sizes) if dim in coords and len(coords[dim]) != size]
            if len(own) != len(sizes) or labelled:
                raise ValueError(
                    f"sample: {name} in {group} has the sizes {tuple(sizes)}, but the dims "
                    + ", ".join(f"{dim} ({len(coords[dim])})" if dim in coords else dim for dim in own)
                )


def _dataset(xarray: Any, of: str, group: Any, dims: Mapping[str, list[str]], coords: Mapping[str, Any]) -> Any:
    first = [] if of.endswith("_data") else ["chain", "draw"]

    def names(name: str, array: Any) -> list[str]:
        return [*first, *dims.get(name, [f"{name}_dim_{i}" for i in range(array.ndim - len(first))])]

    variables = {name: (names(name, array), array) for name, array in group.items()}
    used = {dim for own, _ in variables.values() for dim in own}
    return xarray.Dataset(variables, {name: labels for name, labels in coords.items() if name in used})
