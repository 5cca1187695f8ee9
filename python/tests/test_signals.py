"""Calls end when they are told to, by signals and by their bound on the time, whatever runs and whoever handles them."""

import asyncio
import os
import signal
import threading
import time

import pytest

import diffeo

ENGINES = ["auto", "llvm", "jit", "c", "interp"]

#: So many steps take longer than a test; an array may have no more than 2^34 elements.
LONG = 10**10

#: How soon a call has to end; other tests run beside these.
SOON = 4.0

PROGRAM = """
def carried(n: Int) -> Real = loop a = 0.0 for i < n do a + sin(real(i))
def total(n: Int) -> Real = sum([sin(real(i)) for i < n])
def lanes(n: Int) -> Real =
  let m = n % 7 + 3 in
  sum([sum([sin(real(i * j)) * real(j) for j < m]) for i < n])
def waits(n: Int) -> Real = loop x = real(n) while x > 0.0 do x * 0.5 + 1.0
def fib(n: Int) -> Int = if n < 2 then n else fib(n - 1) + fib(n - 2)
def recursion(n: Int) -> Int = fib(80 + n % 7)
def sorts(n: Int) -> Real =
  let m = n % 7 + 20000 in
  loop a = 0.5 for i < n do sort([sin(real(j) * a) for j < m])[0]
def g(x: Real) = loop a = x for i < 1000 do sin(a) + x
def backward(n: Int) -> Real = loop a = 0.5 for i < n do grad(g)(a) * 0.1
def posterior({theta}: {theta: Real}) -> Real = -0.5 * theta * theta + 0.0 * carried(100000)
"""

SHAPES = ["carried", "total", "lanes", "waits", "recursion", "sorts", "backward"]


@pytest.fixture(scope="module")
def p():
    return diffeo.source(PROGRAM)


@pytest.fixture
def handled():
    """Sets handlers, and puts back those that were there."""
    before = {}

    def handle(number, handler):
        before.setdefault(number, signal.signal(number, handler))

    yield handle
    for number, handler in before.items():
        signal.signal(number, handler)


def after(seconds, number=signal.SIGINT):
    """Sends a signal to the process after a while, as a terminal does; gives when."""
    sent = []

    def send():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    threading.Thread(target=send).start()
    return sent


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES)
def test_ctrl_c_ends_every_loop(p, engine, shape):
    f = p.function(shape, engine=engine)
    f.compile()
    sent = after(0.1)
    with pytest.raises(KeyboardInterrupt):
        f(LONG)
    assert time.perf_counter() - sent[0] < SOON


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_bound_on_the_time_ends_every_loop(p, engine, shape):
    f = p.function(shape, engine=engine, timeout=0.1)
    f.compile()
    start = time.perf_counter()
    with pytest.raises(diffeo.Error, match="timeout"):
        f(LONG)
    assert time.perf_counter() - start < SOON


@pytest.mark.parametrize("engine", ENGINES)
def test_a_handler_that_raises_ends_a_call_with_its_exception(p, engine, handled):
    class Enough(Exception):
        pass

    def raises(number, frame):
        raise Enough(number)

    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGALRM]:
        handled(number, raises)
        f = p.function("total", engine=engine)
        f.compile()
        sent = after(0.1, number)
        with pytest.raises(Enough, match=str(int(number))):
            f(LONG)
        assert time.perf_counter() - sent[0] < SOON


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_goes_on_after_a_handler_that_does_not_raise(p, engine, handled):
    seen = []
    handled(signal.SIGINT, lambda number, frame: seen.append(time.perf_counter()))
    f = p.function("carried", engine=engine)
    n, took = 10**5, 0.0
    while took < 0.4:
        n *= 4
        start = time.perf_counter()
        expected = f(n)
        took = time.perf_counter() - start
    after(took / 8)
    assert f(n) == expected
    # The handler has run meanwhile, not after the call.
    end = time.perf_counter()
    assert len(seen) == 1 and seen[0] < end


def test_a_task_is_cancelled_and_then_ended(p):
    f = p.function("total")

    async def main():
        f(LONG)

    # The first one has asyncio cancel the task, which only happens behind the call; the second one raises.
    after(0.2)
    sent = after(0.6)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert time.perf_counter() - sent[0] < SOON


def test_a_call_of_another_thread_goes_on(p):
    f = p.function("carried")
    n = 3 * 10**7
    expected = f(n)
    found = []
    thread = threading.Thread(target=lambda: found.append(f(n)))
    thread.start()
    after(0.1)
    with pytest.raises(KeyboardInterrupt):
        while thread.is_alive():
            time.sleep(0.01)
        time.sleep(5.0)
    thread.join()
    assert found == [expected]


def test_a_call_within_a_handler(p, handled):
    g = p.function("carried")
    seen = []
    handled(signal.SIGINT, lambda number, frame: seen.append(g(10)))
    f = p.function("total", timeout=1.0)
    after(0.2)
    with pytest.raises(diffeo.Error, match="timeout"):
        f(LONG)
    assert seen == [g(10)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_calls_of_a_fork_end(p):
    f = p.function("total", timeout=0.2)
    with pytest.raises(diffeo.Error, match="timeout"):
        f(LONG)
    child = os.fork()
    if child == 0:
        try:
            f(LONG)
        except diffeo.Error:
            os._exit(0)
        os._exit(1)
    start = time.perf_counter()
    while time.perf_counter() - start < SOON:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the call of the fork has not ended")


def test_ctrl_c_ends_draws(p):
    sent = after(1.0)
    with pytest.raises(KeyboardInterrupt):
        diffeo.sample(p.posterior, None, draws=10**7, chains=2)
    assert time.perf_counter() - sent[0] < SOON
