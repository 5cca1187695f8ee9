"""Writes enclosures.txt: random functions of two numbers with their derivatives to 60 digits, for `--enclose`.

    python3 enclosures.py 200 > enclosures.txt        (with mpmath 1.3.0)

Each line holds a function's text in Diffeo, `|`, a point, `|`, and the derivatives (0,0), (0,1), (0,2), (1,0), (1,1), (2,0).
The functions of the prologue are in the test.
"""

import random
import sys

from mpmath import mp, mpf

mp.dps = 90
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 200
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 20
draw = random.Random(SEED)
ORDER = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]


class Jet:
    """Taylor coefficients of two variables up to order 2."""

    def __init__(self, c):
        self.c = [mpf(x) for x in c]

    def __add__(self, other):
        return Jet([a + b for a, b in zip(self.c, other.c)])

    def __sub__(self, other):
        return Jet([a - b for a, b in zip(self.c, other.c)])

    def __mul__(self, other):
        out = [mpf(0)] * 6
        for i, a in zip(ORDER, self.c):
            for j, b in zip(ORDER, other.c):
                k = (i[0] + j[0], i[1] + j[1])
                if k in ORDER:
                    out[ORDER.index(k)] += a * b
        return Jet(out)

    def apply(self, f0, f1, f2):
        """A function with these derivatives at the value."""
        rest = Jet([0] + self.c[1:])
        return number(f0) + number(f1) * rest + number(f2 / 2) * rest * rest


def number(x):
    return Jet([x, 0, 0, 0, 0, 0])


def inverse(a):
    v = a.c[0]
    return a.apply(1 / v, -1 / v**2, 2 / v**3)


def unary(name, f0, f1, f2):
    return lambda e: (f"{name}({e[0]})", e[1].apply(*(f(e[1].c[0]) for f in (f0, f1, f2))))


sqrtpi = mp.sqrt(mp.pi)


def sig(v):
    return 1 / (1 + mp.exp(-v))


UNARY = [
    unary("sin", mp.sin, mp.cos, lambda v: -mp.sin(v)),
    unary("cos", mp.cos, lambda v: -mp.sin(v), lambda v: -mp.cos(v)),
    unary("exp", mp.exp, mp.exp, mp.exp),
    unary("tanh", mp.tanh, lambda v: mp.sech(v) ** 2, lambda v: -2 * mp.tanh(v) * mp.sech(v) ** 2),
    unary("atan", mp.atan, lambda v: 1 / (1 + v * v), lambda v: -2 * v / (1 + v * v) ** 2),
    unary("asinh", mp.asinh, lambda v: (1 + v * v) ** mpf(-0.5), lambda v: -v * (1 + v * v) ** mpf(-1.5)),
    unary("erf", mp.erf, lambda v: 2 / sqrtpi * mp.exp(-v * v), lambda v: -4 * v / sqrtpi * mp.exp(-v * v)),
    unary("sigmoid", sig, lambda v: sig(v) * sig(-v), lambda v: sig(v) * sig(-v) * (1 - 2 * sig(v))),
    unary("softplus", lambda v: mp.log1p(mp.exp(v)), sig, lambda v: sig(v) * sig(-v)),
    unary("wave", lambda v: 2 * v * mp.sin(v) + v * v * mp.cos(v),
          lambda v: 2 * mp.sin(v) + 4 * v * mp.cos(v) - v * v * mp.sin(v),
          lambda v: 6 * mp.cos(v) - 6 * v * mp.sin(v) - v * v * mp.cos(v)),
    unary("cube", lambda v: v**3, lambda v: 3 * v * v, lambda v: 6 * v),
    unary("tenth", lambda v: v**10, lambda v: 10 * v**9, lambda v: 90 * v**8),
    unary("chords", lambda v: sum(mp.sin(k * v) for k in range(4)), lambda v: sum(k * mp.cos(k * v) for k in range(4)),
          lambda v: -sum(k * k * mp.sin(k * v) for k in range(4))),
]
POSITIVE = [
    unary("log", mp.log, lambda v: 1 / v, lambda v: -1 / v**2),
    unary("sqrt", mp.sqrt, lambda v: v ** mpf(-0.5) / 2, lambda v: -(v ** mpf(-1.5)) / 4),
    unary("lgamma", mp.loggamma, lambda v: mp.psi(0, v), lambda v: mp.psi(1, v)),
    unary("cbrt", mp.cbrt, lambda v: v ** (mpf(-2) / 3) / 3, lambda v: -2 * v ** (mpf(-5) / 3) / 9),
]


def expression(depth, leaves):
    if depth == 0 or draw.random() < 0.1:
        if draw.random() < 0.25:
            x = round(draw.uniform(-3, 3), 2)
            return (repr(x) if x >= 0 else f"({x!r})", number(x))
        return draw.choice(leaves)
    kind = draw.random()
    a = expression(depth - 1, leaves)
    if kind < 0.35:
        return draw.choice(UNARY)(a)
    if kind < 0.45:
        positive = (f"(1.25 + sq({a[0]}))", number(1.25) + a[1] * a[1])
        return draw.choice(POSITIVE)(positive)
    b = expression(depth - 1, leaves)
    if kind < 0.6:
        return (f"({a[0]} + {b[0]})", a[1] + b[1])
    if kind < 0.7:
        return (f"({a[0]} - {b[0]})", a[1] - b[1])
    if kind < 0.88:
        return (f"({a[0]} * {b[0]})", a[1] * b[1])
    return (f"({a[0]} / {b[0]})", a[1] * inverse(b[1]))


def usual(x):
    """A number of which the digits are right: a tiny one may be what rounding left of 0."""
    return mp.isfinite(x) and (x == 0 or mpf(10) ** -25 < abs(x) < mpf(10) ** 100)


made = 0
while made < COUNT:
    x, y = draw.uniform(-2, 2), draw.uniform(-2, 2)
    leaves = [("x", Jet([x, 0, 0, 1, 0, 0])), ("y", Jet([y, 1, 0, 0, 0, 0]))]
    try:
        text, jet = expression(draw.randint(2, 5), leaves)
    except (ZeroDivisionError, OverflowError, ValueError):
        continue
    if not all(map(usual, jet.c)) or not ("x" in text.replace("exp", "") and "y" in text):
        continue
    derivatives = [c * mp.factorial(i) * mp.factorial(j) for c, (i, j) in zip(jet.c, ORDER)]
    print(text, "|", repr(x), repr(y), "|", *(mp.nstr(d, 60) for d in derivatives))
    made += 1
