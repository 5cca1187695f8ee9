"""The LLVM of llvmlite, beside another one where there is one."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import diffeo, numpy as np
m = diffeo.source('''
def mixture(a: [k]Real, xs: [n]Real) -> Real = sum([logsumexp([w - sq(x - w) for w in a]) for x in xs])
def deep(n: Int, x: Real) -> Real = if n == 0 then x else 1.0 + deep(n - 1, x) * 0.5
''')
a, xs = np.linspace(-1, 1, 5), np.sin(np.arange(200.0))
mixture = m.function("mixture", engine="llvm")
print(mixture(a, xs).hex(), *(x.hex() for x in diffeo.grad(mixture)(a, xs)))
print(m.function("deep", engine="llvm")(1000000, 0.3).hex())
"""


def results(llvm):
    env = dict(os.environ)
    env.pop("DIFFEO_LLVM", None)
    if llvm:
        env["DIFFEO_LLVM"] = llvm
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else run.stderr


def numbers(text):
    return [float.fromhex(word) for word in text.split()]


def test_llvmlite():
    binding = pytest.importorskip("llvmlite.binding")
    folder = os.path.dirname(binding.__file__)
    ours = numbers(results(folder))
    assert len(ours) == 7
    other = results(None)
    assert numbers(other) == pytest.approx(ours, rel=1e-14)


def test_a_broken_llvmlite_is_named(tmp_path):
    library = tmp_path / "libllvmlite.so"
    library.write_bytes(b"\x7fELF, but not really")
    message = results(str(library))
    assert str(library) in message and "cannot be used" in message
