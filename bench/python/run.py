"""Measures one case of a kernel in NumPy, JAX or CasADi: run.py FOLDER KERNEL LIBRARY BUDGET

The folder holds `case.json` (for each array its name, shape and type) and the arrays as NAME.bin. The result goes to
`result.bin`, the times in seconds to standard output as JSON.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path

import numpy

import kernels

SAMPLE = 500e-6
SAMPLES = 51


class NumPy:
    np = numpy
    numpy = numpy
    compiles = False

    @staticmethod
    def put(array, place, values):
        array[place] = values
        return array

    @staticmethod
    def each(function, *arrays):
        return numpy.stack([function(*rows) for rows in zip(*arrays)])

    @staticmethod
    def scan(step, state, sequence):
        for x in zip(*sequence) if isinstance(sequence, tuple) else sequence:
            state = step(state, x)
        return state

    @staticmethod
    def repeat(n, step, state):
        for _ in range(n):
            state = step(state)
        return state

    @staticmethod
    def compiled(function, static, arguments):
        # One thing that NumPy does and JAX does not: warn of what `where` discards.
        numpy.seterr(all="ignore")
        return lambda: function(**static, **arguments)


class Jax:
    numpy = numpy
    compiles = True

    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self.jax = jax
        self.np = jax.numpy

    @staticmethod
    def put(array, place, values):
        return array.at[place].set(values)

    def each(self, function, *arrays):
        return self.jax.vmap(function)(*arrays)

    def scan(self, step, state, sequence):
        return self.jax.lax.scan(lambda state, x: (step(state, x), None), state, sequence)[0]

    def repeat(self, n, step, state):
        return self.jax.lax.fori_loop(0, n, lambda _, state: step(state), state)

    def compiled(self, function, static, arguments):
        on_device = {name: self.np.asarray(array) for name, array in arguments.items()}
        program = self.jax.jit(partial(function, **static)).lower(**on_device).compile()
        return lambda: program(**on_device).block_until_ready()


def status(name):
    """A number of bytes from /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return None


def with_peak(call):
    """The result of a call, and the bytes that it needed at most beyond what there was before, where that is told."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
    except OSError:
        return call(), None
    result = call()
    return result, max(status("VmHWM") - before, 0)


def missing():
    """There is no such kernel."""
    print(json.dumps({"missing": True}))
    sys.exit()


def main(folder, kernel, library, budget):
    function = getattr(kernels, kernel, None)
    if function is None or (library == "numpy" and kernel in kernels.DERIVATIVES):
        missing()
    folder, budget = Path(folder), float(budget)
    static, arguments = {}, {}
    for array in json.loads((folder / "case.json").read_text()):
        name, shape = array["name"], array["shape"]
        data = numpy.fromfile(folder / f"{name}.bin", dtype=array["type"]).reshape(shape)
        if array["type"] == "int64" and not shape:
            static[name] = int(data)
        elif name in kernels.STATIC.get(kernel, []):
            static[name] = tuple(data.tolist())
        else:
            arguments[name] = data if shape else numpy.float64(data)
    if library == "casadi":
        import casadi_kernels

        start = time.perf_counter()
        call = casadi_kernels.compiled(kernel, static, arguments)
        if call is None:
            missing()
        compile_time = time.perf_counter() - start
    else:
        lib = {"numpy": NumPy, "jax": Jax}[library]()
        start = time.perf_counter()
        call = lib.compiled(partial(function, lib), static, arguments)
        compile_time = time.perf_counter() - start if lib.compiles else 0

    start = time.perf_counter()
    result, peak = with_peak(call)
    first = time.perf_counter() - start
    numpy.asarray(result, dtype="float64").tofile(folder / "result.bin")

    calls = max(1, min(10**6, int(SAMPLE / first) + 1))
    samples, spent = ([first], first) if first > budget else ([], 0.0)
    while spent < budget and len(samples) < SAMPLES:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        elapsed = time.perf_counter() - start
        spent += elapsed
        samples.append(elapsed / calls)
    print(json.dumps({"samples": samples, "compile": compile_time, "peak": peak}))


main(*sys.argv[1:])
