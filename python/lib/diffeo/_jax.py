"""Functions as functions of JAX.

One primitive calls a function of Diffeo: by XLA's foreign function interface, or as operations of XLA, which run on any
device and are spread over several. Its rules for differentiation ask Diffeo for the derivative as another function and call
that by the same primitive: so every transformation of JAX works, to any order. Rows under ``vmap`` go through Diffeo's
threads, or are another dimension for XLA.
"""

import ctypes
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir.dialects import func

from . import _diffeo
from ._errors import ArgumentError

_TARGET = "diffeo_call"
jax.ffi.register_ffi_target(
    _TARGET, jax.ffi.pycapsule(ctypes.CDLL(_diffeo.__file__).diffeo_xla_call), platform="cpu"
)


class _Xla(NamedTuple):
    """How XLA runs a function: what becomes of a failed check, "report" or "nan", and the numbers that Reals are."""

    checks: str
    precision: str | None


class _Call:
    """A function of Diffeo on flat operands, and what JAX has to know of it.

    ``every`` gives the shapes of all results of the function for those of the operands; ``select`` are the results that
    JAX sees. ``base`` is the call of which this one is the derivative along tangents.
    """

    def __init__(self, function, leaves_in, leaves_out, select, every, base=None, xla=None):
        self.function, self.leaves_in, self.leaves_out = function, leaves_in, leaves_out
        self.select, self.every, self.base = select, every, base
        # How XLA runs it; none where Diffeo does.
        self.xla = xla
        self.id = function._registered()
        self.derived, self.modules = {}, {}

    def module(self, inputs, batch, precision):
        """The function for operands of these sizes, or these Ints, as a module of StableHLO."""
        key = (inputs, batch, precision)
        if key not in self.modules:
            self.modules[key] = self.function._stablehlo(inputs, batch, precision)
        return self.modules[key]

    def shapes(self, operands):
        """The shapes of the selected results for those of the operands."""
        every = self.every(operands)
        return [every[i] for i in self.select]

    @property
    def kinds(self):
        return [self.leaves_out[i][1] for i in self.select]


def _leaves(described, path=""):
    """The leaves of a type: the sizes, as names or numbers, and the scalar of each."""
    what = described[0]
    if what == "tuple":
        return [leaf for i, part in enumerate(described[1]) for leaf in _leaves(part, f"{path}[{i}]")]
    if what == "record":
        return [leaf for name, part in described[1] for leaf in _leaves(part, f"{path}.{name}")]
    if what == "array":
        return [(described[1], described[2])]
    if what == "other":
        raise ArgumentError(f"diffeo.jax: {path or 'it'} is of type {described[1]}, which is no array of numbers")
    return [((), what)]


def _structure(described, leaves):
    """The value of a type that has these leaves."""
    what = described[0]
    if what == "tuple":
        return tuple(_structure(part, leaves) for part in described[1])
    if what == "record":
        return {name: _structure(part, leaves) for name, part in described[1]}
    return next(leaves)


primitive = Primitive("diffeo_call")
primitive.multiple_results = True


def _varies(x):
    """The axes of a mesh over which an operand varies, under ``shard_map``."""
    return _axes(jax.typeof(x))


def _axes(aval):
    kind = getattr(aval, "mat", None)
    return getattr(aval, "vma", frozenset()) if kind is None else kind.varying


def _bind(*operands, **params):
    """Binds the primitive to operands that vary over the same axes of a mesh, as JAX's own operations do."""
    axes = frozenset().union(*map(_varies, operands))
    if axes:
        cast = [(x, tuple(axes - _varies(x))) for x in operands]
        operands = [jax.lax.pcast(x, missing, to="varying") if missing else x for x, missing in cast]
    return primitive.bind(*operands, **params)


def _dtype(call, kind, operands):
    narrow = call.xla and call.xla.precision == "f32" or any(x.dtype == jnp.float32 for x in operands)
    wide = jax.config.jax_enable_x64 and not narrow
    long = jnp.int64 if jax.config.jax_enable_x64 else jnp.int32
    return {"Real": jnp.float64 if wide else jnp.float32, "Int": long, "Bool": jnp.bool_}[kind]


@primitive.def_abstract_eval
def _abstract(*operands, call, linear, batch, fixed):
    rows = operands[0].shape[:batch] if operands else ()
    shapes = call.shapes([x.shape[batch:] for x in operands])
    return [
        _array(rows + tuple(shape), _dtype(call, kind, operands), operands) for shape, kind in zip(shapes, call.kinds)
    ]


def _array(shape, dtype, operands):
    """The type of an array that varies over a mesh as the operands do."""
    varying = next((x for x in operands if _axes(x)), None)
    if varying is None:
        return jax.core.ShapedArray(shape, dtype)
    spec = jax.sharding.PartitionSpec(*[None] * len(shape))
    sharding = jax.sharding.NamedSharding(varying.sharding.mesh, spec)
    return varying.update(shape=shape, dtype=np.dtype(dtype), weak_type=False, sharding=sharding)


@functools.lru_cache(maxsize=None)
def _compiled(call, linear, batch, fixed):
    return jax.jit(lambda *operands: _bind(*operands, call=call, linear=linear, batch=batch, fixed=fixed))


@primitive.def_impl
def _implementation(*operands, call, linear, batch, fixed):
    return _compiled(call, linear, batch, fixed)(*operands)


def _lowering(context, *operands, call, linear, batch, fixed):
    rows = context.avals_in[0].shape[:batch] if operands else ()
    shapes = call.every([x.shape[batch:] for x in context.avals_in])
    if call.xla or context.module_context.platforms != ("cpu",):
        return _operations(context, *operands, call=call, batch=batch, fixed=fixed)
    # Results that are not selected have a buffer, too.
    avals = [
        jax.core.ShapedArray(rows + tuple(shape), _dtype(call, kind, context.avals_in))
        for shape, (_, kind) in zip(shapes, call.leaves_out)
    ]
    lower = jax.ffi.ffi_lowering(_TARGET)
    results = lower(
        context.replace(avals_out=avals), *operands, id=np.int64(call.id), batch=np.int64(batch)
    )
    return [results[i] for i in call.select]


try:
    _enable_x64 = jax.enable_x64
except AttributeError:  # before JAX 0.8
    from jax.experimental import enable_x64 as _enable_x64


def _operations(context, *operands, call, batch, fixed):
    """The function as operations of XLA, in i64 and f64 (or f32) within."""
    shapes = [x.shape for x in context.avals_in]
    rows = shapes[0][:batch] if shapes else ()
    how = call.xla or _Xla("report", None)
    precision = how.precision or ("f32" if "tpu" in context.module_context.platforms else "f64")
    inputs = tuple(tuple(shape[batch:]) if n is None else n for shape, n in zip(shapes, fixed))
    found = call.module(inputs, tuple(rows), precision)
    types = {"Real": np.float32 if precision == "f32" else np.float64, "Int": np.int64, "Bool": np.bool_}

    def work(*arguments):
        given = [
            x.astype(types[kind])
            for x, n, (_, kind) in zip(arguments, fixed, call.leaves_in)
            if n is None
        ]
        *results, status, failed = module_primitive.bind(*given, found=found)
        if how.checks == "nan":
            ok = status < 0
            results = [jnp.where(ok, x, jnp.nan) if kind == "Real" else x for x, (_, kind) in zip(results, call.leaves_out)]
        elif found.can_fail:
            jax.debug.callback(functools.partial(_report, found), status, failed)
        return [results[i].astype(aval.dtype) for i, aval in zip(call.select, context.avals_out)]

    with _enable_x64(True):
        return mlir.lower_fun(work, multiple_results=True)(context, *operands)


def _report(found, status, failed):
    found.check(int(status), [int(x) for x in failed])


# A module gives so many operands of a failed check.
_OPERANDS = 4

module_primitive = Primitive("diffeo_module")
module_primitive.multiple_results = True


@module_primitive.def_abstract_eval
def _module_abstract(*arguments, found):
    operands = [((), "int64"), ((_OPERANDS,), "int64")]
    results = [(shape, kind) for kind, shape in found.results] + operands
    return [jax.core.ShapedArray(tuple(shape), np.dtype(kind)) for shape, kind in results]


def _module_lowering(context, *arguments, found):
    with context.module_context.context:
        module = mlir.ir.Module.parse(found.text)
    types = list(module.body.operations[0].type.results)
    name = mlir.merge_mlir_modules(
        context.module_context.module,
        "diffeo",
        module,
        dst_symtab=context.module_context.symbol_table,
    )
    symbol = mlir.ir.FlatSymbolRefAttr.get(name)
    return func.CallOp(types, symbol, arguments).results


mlir.register_lowering(module_primitive, _module_lowering)
mlir.register_lowering(primitive, _lowering)


def _batched(operands, axes, *, call, linear, batch, fixed):
    count = next(x.shape[axis] for x, axis in zip(operands, axes) if axis is not None)
    rows = [
        jnp.broadcast_to(x, (count, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes)
    ]
    results = _bind(*rows, call=call, linear=linear, batch=batch + 1, fixed=fixed)
    return results, [0] * len(results)


batching.primitive_batchers[primitive] = _batched


def _forward(call):
    """The call of primals and tangents that gives the derivative along these."""
    if "forward" not in call.derived:
        arity = call.function.arity
        function = call.function._jvp(list(range(arity)))
        count = len(call.leaves_out)
        half = len(call.leaves_in)
        call.derived["forward"] = _Call(
            function,
            call.leaves_in * 2,
            call.leaves_out * 2,
            tuple(count + i for i in call.select),
            lambda shapes: list(call.every(shapes[:half])) * 2,
            base=call,
            xla=call.xla,
        )
    return call.derived["forward"]


def _backward(call):
    """The call of primals and a cotangent of all results that gives the cotangents of the primals."""
    if "backward" not in call.derived:
        arity = call.function.arity
        function = call.function._vjp(list(range(arity)))
        count, half = len(call.leaves_out), len(call.leaves_in)
        call.derived["backward"] = _Call(
            function,
            call.leaves_in + call.leaves_out,
            call.leaves_out + call.leaves_in,
            tuple(count + i for i in range(half)),
            lambda shapes: [*call.every(shapes[:half]), *shapes[:half]],
            xla=call.xla,
        )
    return call.derived["backward"]


def _zeros(x, like):
    return jnp.zeros(like.shape, like.dtype) if isinstance(x, ad.Zero) else x


def _jvp(primals, tangents, *, call, linear, batch, fixed):
    out = _bind(*primals, call=call, linear=linear, batch=batch, fixed=fixed)
    # The tangent of what is no Real is the value itself.
    filled = [
        _zeros(t, p) if kind == "Real" else p
        for p, t, (_, kind) in zip(primals, tangents, call.leaves_in)
    ]
    forward = _forward(call)
    count = len(primals)
    along = tuple(count + i for i, (_, kind) in enumerate(call.leaves_in) if kind == "Real")
    slopes = _bind(*primals, *filled, call=forward, linear=along, batch=batch, fixed=fixed * 2)
    dots = [
        slope if kind == "Real" else ad.Zero(jax.typeof(y).to_tangent_aval())
        for y, slope, kind in zip(out, slopes, call.kinds)
    ]
    return out, dots


ad.primitive_jvps[primitive] = _jvp


def _transpose(cotangents, *operands, call, linear, batch, fixed):
    asked = [i for i, x in enumerate(operands) if ad.is_undefined_primal(x)]
    if not set(asked) <= set(linear):
        raise ArgumentError(f"diffeo.jax: {call.function.__name__} is not linear in what is transposed")
    base = call.base
    half = len(base.leaves_in)
    primals = operands[:half]
    dtype = next(jax.typeof(x).dtype for x, (_, kind) in zip(primals, base.leaves_in) if kind == "Real")
    rows = primals[0].shape[:batch]
    shapes = base.every([x.shape[batch:] for x in primals])
    bars = []
    selected = dict(zip(base.select, cotangents))
    for i, (shape, (_, kind)) in enumerate(zip(shapes, base.leaves_out)):
        bar = selected.get(i)
        if bar is None or isinstance(bar, ad.Zero) or kind != "Real":
            kind_dtype = _dtype(base, kind, [jax.core.ShapedArray((), dtype)]) if kind != "Real" else dtype
            bar = jnp.zeros(rows + tuple(shape), kind_dtype)
        bars.append(bar)
    found = _bind(*primals, *bars, call=_backward(base), linear=(), batch=batch, fixed=fixed[:half] + (None,) * len(bars))
    return [found[i - half] if i in asked else None for i in range(len(operands))]


ad.primitive_transposes[primitive] = _transpose


def _agree(f, leaves, arrays):
    """Sizes that the type gives one name, or a number, are equal."""
    known = {}
    for i, ((names, _), x) in enumerate(zip(leaves, arrays)):
        for name, size in zip(names, x.shape):
            wanted = int(name) if name.isdigit() else known.setdefault(name, size)
            if name and wanted != size:
                raise ArgumentError(
                    f"array {i} of {f.__name__} : {f.type_} has size {size} where `{name}` is {wanted}"
                )


def function(f, out=None, engine=None, checks="report", precision=None):
    """The function as one of JAX: under ``jit``, ``grad``, ``jvp``, ``vmap``, ``jacfwd``, ``hessian`` and the others.

    It takes numbers and arrays of them, tuples and dictionaries of these. ``out`` gives the shapes of its results, as
    ``jax.ShapeDtypeStruct`` in the structure of the result or a function from those of the arguments to that, where
    sizes of results are none of those that the type of the function names.

    With ``engine="xla"``, and on devices that are no CPU, it is operations of XLA, which can be spread over devices. What
    fails there is an exception (``checks="report"``), or makes results nan (``checks="nan"``). An Int that is given as an
    ``int`` is part of the program, as static arguments of JAX are: sizes and numbers of steps may depend on it. Reals are
    of 64 bits, and of 32 with ``precision="f32"`` and on TPUs.
    """
    if engine not in (None, "xla"):
        raise ArgumentError(f"diffeo.jax: there is no engine {engine!r}: it is 'xla', or none for machine code of Diffeo")
    if checks not in ("report", "nan"):
        raise ArgumentError(f"diffeo.jax: checks are 'report' or 'nan', not {checks!r}")
    if precision not in (None, "f32", "f64"):
        raise ArgumentError(f"diffeo.jax: precision is 'f64' or 'f32', not {precision!r}")
    if precision and engine != "xla":
        raise ArgumentError("diffeo.jax: the precision is that of engine='xla'")
    taken, gives = f._types()
    leaves_in, leaves_out = _leaves(taken), _leaves(gives)

    def shapes(given):
        known = {}
        for (names, _), shape in zip(leaves_in, given):
            known.update(zip(names, shape))
        known.pop("", None)
        found = []
        for names, _ in leaves_out:
            shape = [int(name) if name.isdigit() else known.get(name) for name in names]
            if None in shape:
                if out is None:
                    raise ArgumentError(
                        f"diffeo.jax: the sizes of the result of {f.__name__} : {f.type_} are not those of arguments: "
                        "give out=jax.ShapeDtypeStruct(…)"
                    )
                structs = out([jax.ShapeDtypeStruct(s, jnp.float64) for s in given]) if callable(out) else out
                return [leaf.shape for leaf in jax.tree_util.tree_leaves(structs)]
            found.append(tuple(shape))
        return found

    xla = _Xla(checks, precision) if engine == "xla" else None
    call = _Call(f, leaves_in, leaves_out, tuple(range(len(leaves_out))), shapes, xla=xla)

    def called(*args):
        operands = jax.tree_util.tree_leaves(args)
        if len(operands) != len(leaves_in):
            raise ArgumentError(f"{f.__name__} : {f.type_} takes {len(leaves_in)} arrays, {len(operands)} were given")
        arrays, fixed = [], []
        static = xla or jax.default_backend() != "cpu"
        for i, (x, (names, kind)) in enumerate(zip(operands, leaves_in)):
            is_fixed = static and kind == "Int" and isinstance(x, (int, np.integer))
            fixed.append(int(x) if is_fixed else None)
            x = jnp.asarray(x)
            if x.ndim != len(names):
                raise ArgumentError(
                    f"array {i} of {f.__name__} : {f.type_} has {len(names)} indices, an array of shape {x.shape} was given"
                )
            if kind == "Real" and jnp.issubdtype(x.dtype, jnp.complexfloating):
                raise ArgumentError(f"array {i} of {f.__name__} : {f.type_} is of Reals, {x.dtype} was given")
            if kind == "Int" and not jnp.issubdtype(x.dtype, jnp.integer):
                raise ArgumentError(f"array {i} of {f.__name__} : {f.type_} is of Ints, {x.dtype} was given")
            real = jnp.float32 if precision == "f32" else jnp.result_type(float)
            wanted = {"Real": real, "Int": jnp.result_type(int), "Bool": jnp.bool_}[kind]
            arrays.append(x.astype(wanted) if x.dtype != wanted else x)
        if static:
            _agree(f, leaves_in, arrays)
        results = _bind(*arrays, call=call, linear=(), batch=0, fixed=tuple(fixed))
        return _structure(gives, iter(results))

    called.__name__ = f.__name__
    called.__doc__ = f.__doc__
    return called
