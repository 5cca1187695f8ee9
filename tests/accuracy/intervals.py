"""Writes intervals.txt: values of the operations on Reals to 60 digits, for the enclosures by intervals.

    python3 intervals.py 40 > intervals.txt        (with mpmath 1.3.0)

A line `= NAME` begins an operation. The lines after it hold operands, `|`, and the value. The number is how many random
points there are of each operation, beside those that are always there.
"""

import random
import sys
from decimal import Decimal

from mpmath import mp, mpf

mp.dps = 90
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 40
draw = random.Random(20)

ANY = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 0.1, 0.3, 1e-5, -1e-10, 1e-300, 3.0, 10.0, -10.0, 5e-324, 1e-17, 100.5]


def spread(least, most):
    """A number of any size between these two powers of ten."""
    return draw.choice([-1, 1]) * 10 ** draw.uniform(least, most)


def anything():
    return draw.choice([lambda: draw.uniform(-3, 3), lambda: draw.uniform(-30, 30), lambda: spread(-12, 2.5)])()


def large():
    return draw.choice([anything, anything, lambda: spread(-290, 290)])()


def positive():
    return abs(large())


def moderate():
    """Where lgamma and polygamma are not too large."""
    return draw.choice([lambda: draw.uniform(0.01, 4), lambda: draw.uniform(0.9, 2.1), lambda: 10 ** draw.uniform(-6, 6)])()


def between(lo, hi):
    return lambda: draw.choice([draw.uniform(lo, hi), hi - 10 ** draw.uniform(-12, 0) * (hi - lo) / 2,
                                lo + 10 ** draw.uniform(-12, 0) * (hi - lo) / 2])


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 300 else x + mp.exp(-x)


def truncated(a, b):
    q = a / b
    n = mp.floor(q) if q >= 0 else mp.ceil(q)
    return a - n * b


def sure(f, digits=90):
    """With so many digits on the way."""
    def at(*xs):
        with mp.workdps(digits):
            return f(*xs)
    return at


UNARY = {
    "neg": (lambda x: -x, anything),
    "exp": (mp.exp, anything),
    "log": (mp.log, positive),
    "sqrt": (mp.sqrt, positive),
    "cbrt": (lambda x: mp.cbrt(x) if x >= 0 else -mp.cbrt(-x), large),
    "sin": (sure(mp.sin, 400), large),
    "cos": (sure(mp.cos, 400), large),
    "tan": (sure(mp.tan, 400), large),
    "asin": (mp.asin, between(-1, 1)),
    "acos": (mp.acos, between(-1, 1)),
    "atan": (mp.atan, large),
    "sinh": (sure(mp.sinh, 400), anything),
    "cosh": (mp.cosh, anything),
    "tanh": (sure(mp.tanh, 400), anything),
    "asinh": (sure(mp.asinh, 700), large),
    "acosh": (sure(mp.acosh, 200), lambda: 1 + abs(anything())),
    "atanh": (sure(mp.atanh, 200), between(-1, 1)),
    "expm1": (sure(mp.expm1, 400), anything),
    "log1p": (sure(mp.log1p, 400), lambda: draw.choice([between(-1, 1), positive])()),
    "sigmoid": (sure(sigmoid, 300), anything),
    "softplus": (sure(softplus, 300), anything),
    "erf": (sure(mp.erf, 150), lambda: draw.uniform(-7, 7)),
    "erfc": (sure(mp.erfc, 600), lambda: draw.uniform(-6, 27)),
    "lgamma": (sure(mp.loggamma, 120), moderate),
    "digamma": (sure(mp.digamma, 120), moderate),
    "trigamma": (sure(lambda x: mp.psi(1, x), 120), moderate),
    "tetragamma": (sure(lambda x: mp.psi(2, x), 120), moderate),
    "sech": (mp.sech, anything),
    "one_minus_square": (sure(lambda x: 1 - x * x, 700), anything),
    "abs": (abs, anything),
    "sign": (mp.sign, anything),
}

BINARY = {
    "add": (sure(lambda a, b: a + b, 700), large, large),
    "sub": (sure(lambda a, b: a - b, 700), large, large),
    "mul": (lambda a, b: a * b, large, large),
    "div": (lambda a, b: a / b, large, large),
    "rem": (sure(truncated, 700), anything, anything),
    "pow": (sure(lambda a, b: a ** b, 200), lambda: abs(anything()), lambda: draw.uniform(-40, 40)),
    "atan2": (mp.atan2, large, large),
    "hypot": (sure(lambda a, b: mp.sqrt(a * a + b * b), 700), large, large),
    "unit": (sure(lambda a, b: a / mp.sqrt(a * a + b * b), 700), anything, anything),
    "min": (min, anything, anything),
    "max": (max, anything, anything),
}


exact_sums = [BINARY[name][0] for name in ("add", "sub", "hypot")]


def line(f, *xs):
    try:
        y = f(*map(mpf, xs))
        if not isinstance(y, mpf) or not mp.isfinite(y):
            return
    except (ValueError, ZeroDivisionError, OverflowError):
        return
    # Of what is a number of 64 bits, all digits.
    exact = float(y) == y
    print(*map(repr, xs), "|", Decimal(float(y)) if exact else mp.nstr(y, 650 if f in exact_sums else 60))


for name, (f, points) in UNARY.items():
    print("=", name)
    for x in ANY + [points() for _ in range(COUNT)]:
        line(f, x)
for name, (f, first, second) in BINARY.items():
    print("=", name)
    for a in ANY[:9]:
        for b in ANY[:6]:
            line(f, a, b)
    for _ in range(COUNT):
        line(f, first(), second())
