"""Processes that are made by a fork after the parent has compiled and run code: they have none of its threads."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")

#: What parent and children compute: compiled as several parts, and with loops that several threads run.
HEAD = """
import functools, multiprocessing, os, threading, time
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import diffeo

m = diffeo.source('''
def f(w: [k]Real, xs: [n][k]Real) -> Real = sum([logsumexp(tanh(dot(w, x)) * w) for x in xs])
def long(n: Int) -> Real = sum([sin(real(i)) for i < n])
def spin(x: Real) -> Real = spin(x + 1.0)
''')
f, w, xs = m.f, np.ones(5) / 3, np.random.default_rng(0).normal(size=(2000, 5))
fork = multiprocessing.get_context("fork")
expected = diffeo.grad(f)(w, xs)

def ends_well(child):
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""


def ends(script):
    """Runs a script, whose processes are to end in time."""
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", HEAD + script]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"a process has not ended; said: {process.communicate()[0]}")
    assert process.returncode == 0, said


def test_workers_compile_what_the_parent_has_compiled():
    ends("""
with ProcessPoolExecutor(2, mp_context=fork) as executor:
    value, slope = diffeo.value_and_grad(diffeo.sum_over(xs, f, executor=executor))(w)
np.testing.assert_allclose(slope, expected)
with fork.Pool(2) as pool:
    slopes = pool.map(functools.partial(diffeo.grad(f), w), [xs] * 3)
np.testing.assert_array_equal(slopes, [expected] * 3)
""")


def test_a_fork_runs_loops_on_threads_of_its_own():
    ends("""
long = m.function("long", threads=4)
parts = long(10**6)

def child():
    assert long(10**6) == parts
    np.testing.assert_array_equal(diffeo.grad(f)(w, xs), expected)

ends_well(child)
# Also one of a fork of a fork.
ends_well(lambda: ends_well(child))
""")


def test_calls_of_a_fork_are_watched_whatever_the_parent_runs():
    # The thread that watches is busy with the parent's calls, and may hold its lock at a fork.
    ends("""
spin = m.function("spin", timeout=20.0)

def spins():
    try:
        spin(0.0)
    except diffeo.Error:
        pass

for _ in range(3):
    threading.Thread(target=spins, daemon=True).start()
time.sleep(0.5)

def child():
    try:
        m.function("spin", timeout=0.2)(0.0)
    except diffeo.Error as error:
        assert "timeout" in str(error)
        return
    raise AssertionError("the call has ended")

for _ in range(20):
    ends_well(child)
os._exit(0)
""")
