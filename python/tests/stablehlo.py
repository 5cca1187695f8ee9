"""Programs as StableHLO, compiled by XLA and called: what `diffeo show --as stablehlo` prints is run as it stands."""

import subprocess

import built
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)


def lower(file, entry, shapes):
    """The text of an entry for arrays of these sizes, or what is said instead."""
    options = [word for name, sizes in shapes.items() for word in ("--shape", f"{name}={sizes}")]
    command = [built.program(), "show", file, entry, "--as", "stablehlo", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def compiled(text, devices=1):
    """A module as XLA compiles it, for its arguments on so many devices."""
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib._jax import DeviceList
    from jaxlib.mlir import ir

    client = jax.devices()[0].client
    with mlir.make_ir_context():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    options = xla_client.CompileOptions()
    if devices > 1:
        options.num_partitions = devices
        build = options.executable_build_options
        build.use_spmd_partitioning, build.num_partitions = True, devices
        build.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices))
    return client.compile_and_load(code, DeviceList(tuple(client.devices()[:devices])), options)


def call(text, *arguments):
    """Results, the number of the check that failed or -1, and its operands."""
    *results, status, operands = compiled(text).execute([jax.device_put(np.asarray(x)) for x in arguments])
    return [np.asarray(x) for x in results], int(status), np.asarray(operands)
