# The steps and values of Ipopt, by CasADi, on the problems of nlp.deo, and on larger ones of the table in docs/book/optim.md.
# python nlp.py
import math
import pathlib
import re

import casadi as ca
import numpy as np

QUIET = {"print_time": 0, "ipopt.print_level": 0, "ipopt.sb": "yes"}


def ipopt(name, x, f, g, x0, low, high, g_low, g_high):
    solver = ca.nlpsol("s", "ipopt", {"x": x, "f": f, "g": g}, QUIET)
    r = solver(x0=x0, lbx=low, ubx=high, lbg=g_low, ubg=g_high)
    print(name, solver.stats()["iter_count"], float(r["f"]), solver.stats()["return_status"])


def hock_schittkowski():
    text = pathlib.Path(__file__).with_name("nlp.deo").read_text()
    for block in re.findall(r"number = .*?steps = \d+", text, re.S):
        field = dict(re.findall(r"(\w+) =\s+(.*?)(?=,\n    \w+ =|\Z)", block, re.S))
        start = eval(field["start"])
        x = ca.SX.sym("x", len(start))
        scope = {
            "x": x, "sq": lambda a: a * a, "norm_sq": ca.sumsqr, "exp": ca.exp, "log": ca.log,
            "sin": ca.sin, "cos": ca.cos, "sqrt": math.sqrt, "pi": math.pi, "inf": math.inf,
        }
        value = lambda name: eval("(" + field[name].replace("fn x ->", "").replace("^", "**") + ")", scope)
        (low, high), (g_low, g_high) = value("bounds"), value("limits")
        ipopt(field["number"], x, value("f"), ca.vertcat(*value("g")), start, low, high, g_low, g_high)


# M. Kelly, "An Introduction to Trajectory Optimization", 2017: the swing-up of a cart-pole by trapezoids.
def cart_pole(n):
    m1, m2, l, g = 1.0, 0.3, 0.5, 9.81
    z = ca.SX.sym("z", 5 * n)
    state, u, h = ca.reshape(z[: 4 * n], 4, n), z[4 * n :], 2.0 / (n - 1)

    def dynamics(x, u):
        s, c = ca.sin(x[1]), ca.cos(x[1])
        den = m1 + m2 * (1 - c * c)
        return ca.vertcat(
            x[2], x[3], (l * m2 * s * x[3] ** 2 + u + m2 * g * c * s) / den,
            -(l * m2 * c * s * x[3] ** 2 + u * c + (m1 + m2) * g * s) / (l * den),
        )

    f = [dynamics(state[:, k], u[k]) for k in range(n)]
    gaps = [state[:, k + 1] - state[:, k] - h / 2 * (f[k] + f[k + 1]) for k in range(n - 1)]
    gaps += [state[:, 0], state[:, n - 1] - ca.DM([1.0, math.pi, 0.0, 0.0])]
    effort = h / 2 * sum(u[k] ** 2 + u[k + 1] ** 2 for k in range(n - 1))
    high = np.concatenate([np.tile([2.0, np.inf, np.inf, np.inf], n), np.full(n, 20.0)])
    t = np.linspace(0, 1, n)
    start = np.concatenate([np.stack([t, t * math.pi, 0 * t, 0 * t], 1).ravel(), np.zeros(n)])
    ipopt(f"cart-pole, {n} knots", z, effort, ca.vertcat(*gaps), start, -high, high, 0, 0)


# A double integrator from rest to rest in the least time, with |w| <= 1.
def double_integrator(n):
    q, t, v, w = ca.SX.sym("q", n), ca.SX.sym("t"), ca.SX.sym("v", n), ca.SX.sym("w", n)
    h = t / (n - 1)
    g = ca.vertcat(q[1:] - q[:-1] - h / 2 * (v[:-1] + v[1:]), v[1:] - v[:-1] - h / 2 * (w[:-1] + w[1:]))
    free = np.full(n - 2, np.inf)
    low = np.concatenate([[0], -free, [1], [0], [0], -free, [0], np.full(n, -1.0)])
    high = np.concatenate([[0], free, [1], [np.inf], [0], free, [0], np.full(n, 1.0)])
    start = np.concatenate([np.linspace(0, 1, n), [1], np.zeros(2 * n)])
    ipopt(f"double integrator, {n} knots", ca.vertcat(q, t, v, w), t, g, start, low, high, 0, 0)


# A chain of n links between two points, as low as it hangs.
def chain(n):
    z, link, t = ca.SX.sym("z", 2 * n - 2), 1.5 / n, np.arange(1, n) / n
    x, y = ca.vertcat(0, z[0::2], 1), ca.vertcat(0, z[1::2], 0)
    g = ((x[1:] - x[:-1]) ** 2 + (y[1:] - y[:-1]) ** 2) / link**2
    start = np.stack([t, -2 * t * (1 - t)], 1).ravel()
    ipopt(f"chain, {n} links", z, ca.sum1(z[1::2]) / n, g, start, -np.inf, np.inf, 1, 1)


# A membrane over an obstacle.
def obstacle(n):
    z, x = ca.SX.sym("z", n * n), np.arange(1, n + 1) / (n + 1) - 0.5
    u = ca.SX.zeros(n + 2, n + 2)
    u[1:-1, 1:-1] = ca.reshape(z, n, n)
    f = 0.5 * (ca.sumsqr(u[1:, 1:-1] - u[:-1, 1:-1]) + ca.sumsqr(u[1:-1, 1:] - u[1:-1, :-1]))
    low = (0.3 - 4 * (x[:, None] ** 2 + x[None, :] ** 2)).ravel()
    ipopt(f"obstacle, {n * n} unknowns", z, f, ca.SX.zeros(0, 1), 0, low, np.inf, [], [])


# The second fit between bounds of tests/lang/library/optim_bounds.deo.
def fit():
    ts = np.linspace(0, 5, 12)
    ys = [2.6, 1.9, 1.45, 1.2, 0.9, 0.72, 0.55, 0.48, 0.4, 0.31, 0.27, 0.26]
    x = ca.SX.sym("x", 3)
    f = sum((x[0] + x[1] * ca.exp(-x[2] * t) - y) ** 2 for t, y in zip(ts, ys))
    ipopt("fit", x, f, ca.SX.zeros(0, 1), [0.5, 1, 1], [0.2, 0, 0], [5, 10, 5], [], [])


hock_schittkowski()
for n in (31, 101, 301):
    cart_pole(n)
double_integrator(101)
chain(1000)
obstacle(100)
fit()
