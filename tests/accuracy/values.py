"""Writes values.txt: elementary and special functions and their derivatives, by high-precision arithmetic.

    python3 values.py > values.txt        (with mpmath 1.3.0)

A line `= NAME` begins a function of x, and perhaps of a second number that stays the same. The lines after it hold
a point each: x, the second number if there is one, `|`, and the derivatives of order 0 to 4 by x (of NAME.mixed, the
one derivative by both numbers). `~k` after a number says that a relative change of x makes one 10^k times as large
in it, for k from 2: nobody can compute such a number to all its digits without those of x that are not there.

Derivatives are power series, computed with 800 digits, so that no form of a formula loses any that count.
"""

import math
import random
import struct

from mpmath import mp, mpf

mp.dps = 800
ORDER = 5  # one more than is written: for the conditions


# Power series: lists of coefficients.

def product(a, b):
    return [sum(a[i] * b[n - i] for i in range(n + 1)) for n in range(len(a))]


def quotient(a, b):
    y = []
    for n in range(len(a)):
        y.append((a[n] - sum(y[k] * b[n - k] for k in range(n))) / b[0])
    return y


def power(a, p):
    y = [a[0] ** p]
    for n in range(1, len(a)):
        y.append(sum((p * k - (n - k)) * a[k] * y[n - k] for k in range(1, n + 1)) / (n * a[0]))
    return y


def exponential(a):
    y = [mp.exp(a[0])]
    for n in range(1, len(a)):
        y.append(sum(k * a[k] * y[n - k] for k in range(1, n + 1)) / n)
    return y


def integral(slope, value):
    return [value] + [c / (n + 1) for n, c in enumerate(slope[:-1])]


def variable(x):
    return [x, mpf(1)] + [mpf(0)] * (ORDER - 1)


def number(x):
    return [mpf(x)] + [mpf(0)] * ORDER


def plus(a, b):
    return [x + y for x, y in zip(a, b)]


def times(c, a):
    return [mpf(c) * x for x in a]


def square(a):
    return product(a, a)


ONE = number(1)


def gamma_like(order):
    # The digits of polygamma take long.
    def series(x):
        with mp.workdps(60):
            return [mp.psi(order + n, x) / mp.factorial(n) for n in range(ORDER + 1)]
    return series


def lgamma(x):
    with mp.workdps(60):
        value = mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))
        return integral(gamma_like(0)(x), value)


def sigmoid(x):
    e = exponential(times(-1, variable(x)))
    return quotient(ONE, plus(ONE, e))


def circle(x):
    return plus(ONE, times(-1, square(variable(x))))


def bell(x):
    return times(2 / mp.sqrt(mp.pi), exponential(times(-1, square(variable(x)))))


def erfc(x):
    # mpmath's does not know when to stop.
    return mp.erfc(x) if abs(x) < 100 else mpf(0 if x > 0 else 2)


def sine(x):
    s, c = mp.sin(x), mp.cos(x)
    return [[s, c, -s, -c][n % 4] / mp.factorial(n) for n in range(ORDER + 1)]


def hyperbolic(sign):
    def series(x):
        up, down = exponential(variable(x)), exponential(times(-1, variable(x)))
        return times(0.5, plus(up, times(sign, down)))
    return series


def cosine(x):
    s, c = mp.sin(x), mp.cos(x)
    return [[c, -s, -c, s][n % 4] / mp.factorial(n) for n in range(ORDER + 1)]


def cube_root(x):
    root = power(variable(abs(x)), mpf(1) / 3)
    return root if x > 0 else [-((-1) ** n) * c for n, c in enumerate(root)]


UNARY = {
    "exp": lambda x: exponential(variable(x)),
    "log": lambda x: integral(quotient(ONE, variable(x)), mp.log(x)),
    "sqrt": lambda x: power(variable(x), mpf(0.5)),
    "cbrt": cube_root,
    "sin": sine,
    "cos": cosine,
    "tan": lambda x: quotient(sine(x), cosine(x)),
    "asin": lambda x: integral(power(circle(x), mpf(-0.5)), mp.asin(x)),
    "acos": lambda x: integral(times(-1, power(circle(x), mpf(-0.5))), mp.acos(x)),
    "atan": lambda x: integral(quotient(ONE, plus(ONE, square(variable(x)))), mp.atan(x)),
    "sinh": hyperbolic(-1),
    "cosh": hyperbolic(1),
    "tanh": lambda x: quotient(hyperbolic(-1)(x), hyperbolic(1)(x)),
    "asinh": lambda x: integral(power(plus(ONE, square(variable(x))), mpf(-0.5)), mp.asinh(x)),
    "acosh": lambda x: integral(power(times(-1, circle(x)), mpf(-0.5)), mp.acosh(x)),
    "atanh": lambda x: integral(quotient(ONE, circle(x)), mp.atanh(x)),
    "expm1": lambda x: plus(exponential(variable(x)), number(-1)),
    "log1p": lambda x: integral(quotient(ONE, plus(ONE, variable(x))), mp.log(1 + x)),
    "sigmoid": sigmoid,
    "softplus": lambda x: integral(sigmoid(x), mp.log(1 + mp.exp(x))),
    "erf": lambda x: integral(bell(x), 1 - erfc(x)),
    "erfc": lambda x: integral(times(-1, bell(x)), erfc(x)),
    "lgamma": lgamma,
    "digamma": gamma_like(0),
}


def hypot(a, b):
    return power(plus(square(variable(a)), number(b * b)), mpf(0.5))


def atan2_first(a, b):
    r = plus(square(variable(a)), number(b * b))
    return integral(quotient(number(b), r), mp.atan2(a, b))


def atan2_second(b, a):
    r = plus(square(variable(b)), number(a * a))
    return integral(quotient(number(-a), r), mp.atan2(a, b))


def int_power(x, n):
    return power(variable(x), n)


# Of x and a number that stays the same; in the order of these two.
BINARY = {
    "hypot": hypot,
    "atan2.first": atan2_first,
    "atan2.second": atan2_second,
    "pow": lambda x, p: power(variable(x), p),
    "pow.exponent": lambda p, x: exponential(times(mp.log(x), variable(p))),
    "power": int_power,
    "divided": lambda x, b: quotient(variable(x), number(b)),
    "divisor": lambda x, a: quotient(number(a), variable(x)),
}

MIXED = {
    "hypot.mixed": lambda a, b: -a * b / mp.sqrt(a * a + b * b) ** 3,
    "atan2.mixed": lambda a, b: (a * a - b * b) / (a * a + b * b) ** 2,
    "pow.mixed": lambda x, p: x ** (p - 1) * (1 + p * mp.log(x)),
    "quotient.mixed": lambda a, b: -1 / b**2,
}

TINY = [1e-300, 1e-160, 1e-100, 1e-40, 1e-20, 1e-10, 1e-7, 1e-5, 1e-3, 0.01, 0.1, 0.3]
PLAIN = [0.5, 0.9, 1.0, 1.3, 2.0, 3.7, 5.0]
TAILS = [8.0, 12.0, 15.0, 19.0, 19.5, 25.0, 37.0, 45.0, 90.0, 180.0, 300.0, 360.0, 700.0, 709.0, 740.0, 800.0]
HUGE = [1e4, 1e8, 1e16, 1e20, 1e77, 1e100, 1e154, 1.4e154, 1e160, 1e200, 1e300]
ENDS = [1 - 2.0**-k for k in (3, 5, 8, 10, 15, 20, 27, 30, 40, 50, 52, 53)]


def both(xs):
    return [s * x for x in xs for s in (1.0, -1.0)]


LINE = [0.0] + both(TINY[::2] + [0.5, 0.9, 1.3, 2.0, 3.7, 5.0] + TAILS[::2] + HUGE[1::2])
SOFT = [0.0] + both([1e-300, 1e-20, 1e-10, 1e-3, 0.1] + PLAIN + TAILS)
ANGLES = [0.0] + both(TINY + PLAIN + [0.785398, 1.57, 1.5707963, 3.14, 8.0, 12.0, 25.0, 90.0])
INSIDE = [0.0] + both(TINY + [0.5, 0.7, 0.9] + ENDS)
POSITIVE = TINY + PLAIN + TAILS + HUGE + [1e-308, 1e-77, 1e-50]
BELLS = [0.0] + both(TINY + PLAIN + [0.8, 2.5, 4.2, 6.0, 8.5, 12.0, 19.0, 25.0, 26.5, 30.0, 1e4, 1e160])
POLES = [x + d for x in (0, -1, -2, -5) for d in (0.5, 0.3, 0.01, -0.01)] + [-1e-10, -1e-5, -20.25]

POINTS = {
    "exp": [0.0] + both(TINY[::2] + PLAIN + TAILS[:13]),
    "log": POSITIVE, "sqrt": POSITIVE,
    "cbrt": both(TINY[3:] + PLAIN + TAILS + [1e8, 1e20, 1e100, 1e200, 1e300]),
    "sin": ANGLES, "cos": ANGLES, "tan": ANGLES,
    "asin": INSIDE, "acos": INSIDE, "atanh": INSIDE,
    "atan": LINE, "asinh": LINE,
    "sinh": [0.0] + both(TINY + PLAIN + TAILS[:13]), "cosh": [0.0] + both(TINY + PLAIN + TAILS[:13]),
    "tanh": SOFT, "sigmoid": SOFT, "softplus": SOFT,
    "acosh": [1 + 2.0**-k for k in (52, 50, 40, 30, 20, 10, 5, 3, 1)] + PLAIN[3:] + TAILS + HUGE,
    "expm1": [0.0] + both(TINY + PLAIN + TAILS[:13]),
    "log1p": [0.0] + both(TINY + [0.5, 0.9]) + [-x for x in ENDS] + PLAIN + HUGE,
    "erf": BELLS, "erfc": BELLS,
    "lgamma": POSITIVE[:-3] + POLES, "digamma": POSITIVE[:-3] + POLES,
}

SIZES = [1e-200, 1e-100, 1e-20, 1e-8, 0.01, 0.7, 2.0, 30.0, 1e8, 1e20, 1e100, 1e200]
PAIRS = [(x, y) for x in SIZES[::2] for y in SIZES[1::2]] + [(-x, y) for x in SIZES[1::3] for y in (2.0, -1e8)]
# Below, fourth derivatives have parts that overflow.
PAIRS = [(x, y) for x, y in PAIRS if math.hypot(x, y) > 1e-77]
PAIRS += [(0.0, 2.0), (0.0, -2.0), (2.0, 0.0), (-2.0, 1e-20), (-2.0, -1e-20)]
POWERS = [
    (x, p)
    for p in (1.5, -0.5, 2.5, 3.5, 0.1, -3.0, 3.0, 7.25)
    for x in (1e-220, 1e-214, 1e-110, 1e-90, 1e-30, 0.3, 1.7, 1e30, 1e90, 1e154, 1e220)
]
BASES = [1e-160, 1e-100, 1e-78, 1e-20, 0.3, -1.7, 20.0, -1e50, 1e85, 1e100, 1e160]
INT_POWERS = [(x, n) for n in (2, 3, 8, -1, -2, -4, -5) for x in BASES]
QUOTIENTS = [(x, y) for x in SIZES[::2] for y in SIZES[::2]] + [(-3.0, 7.0), (5.0, -1e-5)]

PAIRED = {
    "hypot": PAIRS, "hypot.mixed": PAIRS, "atan2.first": PAIRS,
    "atan2.second": [(b, a) for a, b in PAIRS if not (a == 0.0 and b < 0.0)],
    "atan2.mixed": PAIRS,
    "pow": POWERS, "pow.mixed": POWERS,
    # By the exponent they are multiples of the power, which has lost digits where it is subnormal.
    "pow.exponent": [(p, x) for x, p in POWERS if p * math.log10(x) > -290],
    "power": INT_POWERS, "divided": QUOTIENTS, "divisor": QUOTIENTS, "quotient.mixed": QUOTIENTS,
}

# At ±∞, where derivatives have limits; at ends of domains, from inside.
INF = math.inf
LIMITS = {
    "exp": {-INF: [0, 0, 0, 0, 0]},
    "log": {INF: [INF, 0, 0, 0, 0]},
    "sqrt": {INF: [INF, 0, 0, 0, 0], 0.0: [0, INF, -INF, INF, -INF]},
    "asin": {1.0: [math.pi / 2, INF, INF, INF, INF], -1.0: [-math.pi / 2, INF, -INF, INF, -INF]},
    "acos": {1.0: [0, -INF, -INF, -INF, -INF], -1.0: [math.pi, -INF, INF, -INF, INF]},
    "acosh": {1.0: [0, INF, -INF, INF, -INF], INF: [INF, 0, 0, 0, 0]},
    "atan": {INF: [math.pi / 2, 0, 0, 0, 0], -INF: [-math.pi / 2, 0, 0, 0, 0]},
    "asinh": {INF: [INF, 0, 0, 0, 0], -INF: [-INF, 0, 0, 0, 0]},
    "tanh": {INF: [1, 0, 0, 0, 0], -INF: [-1, 0, 0, 0, 0]},
    "log1p": {INF: [INF, 0, 0, 0, 0]},
    "sigmoid": {INF: [1, 0, 0, 0, 0], -INF: [0, 0, 0, 0, 0]},
    "softplus": {INF: [INF, 1, 0, 0, 0], -INF: [0, 0, 0, 0, 0]},
    "erf": {INF: [1, 0, 0, 0, 0], -INF: [-1, 0, 0, 0, 0]},
    "erfc": {INF: [0, 0, 0, 0, 0], -INF: [2, 0, 0, 0, 0]},
    "lgamma": {INF: [INF, INF, 0, 0, 0]},
    "digamma": {INF: [INF, 0, 0, 0, 0]},
}


def shown(x):
    text = repr(float(x))
    return text[:-2] if text.endswith(".0") else text.replace("e+", "e")


def entry(x, value, slope):
    """A value, and its condition in x if that counts."""
    text = shown(value)
    if value != 0 and x != 0:
        condition = abs(x * slope / value)
        if condition >= 100:
            text += f"~{int(mp.floor(mp.log10(condition)))}"
    return text


def line(point, series):
    derivatives = [c * mp.factorial(n) for n, c in enumerate(series)]
    x = mpf(point[0])
    entries = [entry(x, derivatives[n], derivatives[n + 1]) for n in range(ORDER)]
    print(*map(shown, point), "|", *entries)


def filled(name, points):
    """60 points, those that are wanted first."""
    points = list(dict.fromkeys(points))
    rng = random.Random(name)
    if len(points) > 60:
        keep = points[:1] + rng.sample(points[1:], 59)
        points = [p for p in points if p in keep]
    while len(points) < 60:
        x = float(f"{rng.choice(points) * rng.uniform(0.6, 1.0):.4g}")
        low = {"acosh": 1.0}.get(name)
        if x in points or (low is not None and x <= low) or not math.isfinite(x):
            x = float(f"{rng.uniform(1.0, 10.0):.4g}") if low else x
        if x not in points:
            points.append(x)
    return points


for name, function in UNARY.items():
    print("=", name)
    for x in filled(name, POINTS[name]):
        line([x], function(mpf(x)))
    for x, values in LIMITS.get(name, {}).items():
        print(shown(x), "|", *map(shown, values))
for name, function in BINARY.items():
    print("=", name)
    for point in PAIRED[name]:
        line(point, function(mpf(point[0]), mpf(point[1]) if name != "power" else point[1]))
for name, function in MIXED.items():
    print("=", name)
    for a, b in PAIRED[name]:
        print(shown(a), shown(b), "|", shown(function(mpf(a), mpf(b))))


# Distributions: logarithms of tails, large shapes. Series of densities, integrated.

def logarithm(a):
    slope = [(n + 1) * c for n, c in enumerate(a[1:])] + [mpf(0)]
    return integral(quotient(slope, a), mp.log(a[0]))


def scaled(a, c):
    """The series in u of one in c u."""
    return [x * c**n for n, x in enumerate(a)]


def gauss(f, end, pieces):
    """The integral from 0 to `end` of a series."""
    sums = [mpf(0)] * (ORDER + 1)
    half = mpf(end) / pieces / 2
    for piece in range(pieces):
        for x, w in NODES:
            t = half * (2 * piece + 1 + x)
            sums = [s + half * w * y for s, y in zip(sums, f(t))]
    return sums


def legendre(n):
    nodes = []
    for i in range(1, n + 1):
        x = mp.cos(mp.pi * (i - mpf(1) / 4) / (n + mpf(1) / 2))
        for _ in range(12):
            before, p = mpf(1), x
            for k in range(2, n + 1):
                before, p = p, ((2 * k - 1) * x * p - (k - 1) * before) / k
            slope = n * (x * p - before) / (x * x - 1)
            x -= p / slope
        nodes.append((x, 2 / ((1 - x * x) * slope**2)))
    return nodes


def gamma_tails(a, x):
    """Series in x of the lower and the upper tail of the gamma distribution of shape a."""
    density = product(power(variable(x), a - 1), exponential(times(-1, variable(x))))
    density = times(mp.exp(-mp.loggamma(a)), density)
    if a < 1e4:
        with mp.workdps(300):
            low = mp.gammainc(a, 0, x, regularized=True)
            high = mp.gammainc(a, x, mp.inf, regularized=True)
    else:
        # t = x exp(v / sqrt(x))
        w = mp.sqrt(x)
        weight = mp.exp(a * mp.log(x) - x - mp.loggamma(a)) / w
        high = weight * gauss(lambda v: number(mp.exp((a - x) * v / w - x * (mp.expm1(v / w) - v / w))), 24, 24)[0]
        low = 1 - high
    return integral(density, low), integral(times(-1, density), high)


def gamma_by_shape(a, x):
    """The series in a of the upper tail, by that of the integrand with t = x exp(v / sqrt(a))."""
    w = mp.sqrt(a)
    log_gamma = integral(gamma_like(0)(a), mp.loggamma(a))

    def integrand(v):
        l = mp.log(x) + v / w
        exponent = plus(times(l, variable(a)), times(-1, log_gamma))
        return times(1 / w, exponential(plus(exponent, number(-x * mp.exp(v / w)))))

    return gauss(integrand, 24, 24)


def arc(x):
    """atan"""
    return integral(quotient(ONE, plus(ONE, square(variable(x)))), mp.atan(x))


def composed(outer, inner):
    """outer(inner), where inner[0] is where outer begins."""
    step = [mpf(0)] + inner[1:]
    y = number(0)
    for c in reversed(outer):
        y = plus(product(y, step), number(c))
    return y


def angle(y, x):
    """Series of atan(y / x) for two series, of which x is not 0."""
    q = quotient(y, x)
    return composed(arc(q[0]), q)


def t_by_df(df, z):
    """The series in df of the probability of less than z > 0 of Student's distribution: 1/2 and the integral from 0."""
    half = times(0.5, variable(df))
    def log_gamma(shift):
        u = half[0] + shift
        return scaled(integral(gamma_like(0)(u), mp.loggamma(u)), mpf(0.5))
    const = plus(log_gamma(mpf(0.5)), times(-1, log_gamma(0)))
    const = plus(const, times(mpf(-0.5), plus(logarithm(variable(df)), number(mp.log(mp.pi)))))

    def density(t):
        ratio = times(t * t, quotient(ONE, variable(df)))
        bent = product(plus(half, number(mpf(0.5))), logarithm(plus(ONE, ratio)))
        return exponential(plus(const, times(-1, bent)))

    return plus(number(mpf(0.5)), gauss(density, z, 8))


def t_by_scale(scale, d):
    """The series in the scale of the probability of less than d < 0 for 2.75 degrees of freedom."""
    df = mpf(2.75)
    size = mp.gamma((df + 1) / 2) / mp.gamma(df / 2) / mp.sqrt(mp.pi * df)
    z = times(d, power(variable(scale), -1))
    density = power(plus(ONE, times(1 / df, square(z))), -(df + 1) / 2)
    slope = times(-d * size, product(density, power(variable(scale), -2)))
    x = df / (df + z[0] ** 2)
    with mp.workdps(60):
        value = x ** (df / 2) / df / mp.beta(df / 2, mpf(0.5)) * mp.hyp2f1(df / 2, mpf(0.5), df / 2 + 1, x)
    return integral(slope, value)


def beta_lower(x, a, b):
    """The series in x of the beta distribution's lower tail, next to 1/2 for a = b."""
    density = product(power(variable(x), a - 1), power(plus(ONE, times(-1, variable(x))), b - 1))
    size = mp.exp(mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b))
    if a == b:
        d = x - mpf(0.5)
        value = mpf(0.5) + size * gauss(lambda t: number((mpf(0.25) - t * t) ** (a - 1)), d, 24)[0]
    else:
        with mp.workdps(60):
            value = mp.betainc(a, b, 0, x, regularized=True)
    return integral(times(size, density), value)


def cauchy_log(x, s):
    # The angle is small or next to pi.
    if x < 0:
        a = angle(number(s), times(-1, variable(x)))
    else:
        a = plus(number(mp.pi), times(-1, angle(number(s), variable(x))))
    return logarithm(times(1 / mp.pi, a))


RATE = mpf(1.5)
SHAPES = [(1000500.0, 1e6), (1e12, 1e12), (1000001e6, 1e12), (1e15, 1e15), (1e15 + 4e7, 1e15)]
DISTRIBUTIONS = {
    "gamma_logsf": (
        lambda u, a: scaled(logarithm(gamma_tails(a, RATE * u)[1]), RATE),
        [(1e-70, 0.5), (1e-20, 0.5), (1e-20, 1.75), (0.3, 0.5), (0.9, 0.01), (0.5, 0.01), (2.0, 3.0), (50.0, 2.0),
         (500.0, 400.0), (1000.0, 2000.0)],
    ),
    "gamma_logcdf": (
        lambda u, a: scaled(logarithm(gamma_tails(a, RATE * u)[0]), RATE),
        [(1e-70, 0.5), (1e-20, 1.75), (0.3, 0.5), (0.9, 0.01), (2.0, 3.0), (20.0, 2.0), (200.0, 400.0)],
    ),
    "gamma_sf.large": (lambda x, a: gamma_tails(a, x)[1], SHAPES),
    "gamma_sf.shape": (gamma_by_shape, [(1e6, 1000500.0), (999000.0, 1e6), (1e12, 1e12), (1e12 - 1e6, 1e12), (1e15, 1e15)]),
    "beta_cdf.large": (
        lambda x, a: beta_lower(x, a, a),
        [(0.5003, 1e6), (0.5000004, 1e12)],
    ),
    "half_cauchy_logsf.scale": (
        lambda s, x: logarithm(times(2 / mp.pi, angle(variable(s), number(x)))),
        [(1.3, 1e300), (1e-5, 1e300), (1.3, 2.0), (200.0, 1.0), (0.05, 7.0), (1e70, 1e77)],
    ),
    "half_cauchy_logcdf.scale": (
        lambda s, x: logarithm(times(2 / mp.pi, angle(number(x), variable(s)))),
        [(1e200, 1e-300), (1e60, 1e-10), (1.3, 2.0), (200.0, 1.0), (0.05, 7.0)],
    ),
    "cauchy_logcdf": (cauchy_log, [(-1e250, 1.3), (-1e70, 1e-3), (-250.0, 1.3), (-5.0, 1.3), (0.5, 2.0), (30.0, 1.0)]),
    "student_t_cdf.df": (t_by_df, [(1e10, 0.9), (1e10, 3.5), (1e6, 5.0), (1e20, 2.0), (2000.0, 1.5), (30.0, 1.2)]),
    "student_t_cdf.scale": (t_by_scale, [(1.3, -1.3e100), (1e-10, -1e60), (1.3, -1.0), (0.7, -30.0)]),
}

mp.dps = 160
NODES = legendre(60)
for name, (function, points) in DISTRIBUTIONS.items():
    print("=", name)
    for u, p in points:
        line([u, p], function(mpf(u), mpf(p)))
