"""Programs of Diffeo through XLA beside the same functions written by hand in JAX: python bench/python/xla.py [NAME]…

Prints, by task, the milliseconds of a call and the seconds to compile of both, the ratios, and how far the results are
apart relative to the largest number. Both are called in turns; the least of each counts. Needs the package `diffeo` and JAX.
"""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import diffeo

jax.config.update("jax_enable_x64", True)
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "gradbench"
rng = np.random.default_rng(1)


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape))


def example(name, entry):
    return diffeo.jax(getattr(diffeo.load(EXAMPLES / f"{name}.deo"), entry), engine="xla")


def gmm():
    k, d, n = 25, 10, 10_000
    x, fixed = normal(n, d), {"gamma": 1.0, "m": 0}
    params = {
        "alpha": normal(k),
        "mu": normal(k, d),
        "q": 0.1 * normal(k, d),
        "l": normal(k, d * (d - 1) // 2),
    }
    ours = example("gmm", "objective")
    columns, rows = np.triu_indices(d, 1)

    def by_hand(p):
        diagonal = jnp.exp(p["q"])
        lower = jnp.zeros((k, d, d)).at[:, rows, columns].set(p["l"])
        centred = x[:, None] - p["mu"]
        scaled = diagonal * centred + jnp.einsum("kij,nkj->nki", lower, centred)
        inner = p["alpha"] + p["q"].sum(1) - 0.5 * (scaled**2).sum(2)
        constant = -n * (0.5 * d * np.log(2 * np.pi) + jax.nn.logsumexp(p["alpha"]))
        m, gamma = fixed["m"], fixed["gamma"]
        count = d + m + 1
        half = jax.scipy.special.gammaln(0.5 * count - 0.5 * jnp.arange(d)).sum()
        log_gamma = 0.25 * d * (d - 1) * np.log(np.pi) + half
        prior = k * (count * d * np.log(gamma / np.sqrt(2)) - log_gamma)
        prior -= (0.5 * gamma**2 * ((diagonal**2).sum() + (p["l"] ** 2).sum())) - m * p["q"].sum()
        return constant + jax.nn.logsumexp(inner, axis=1).sum() + prior

    return lambda p: ours({**p, "x": x, **fixed}), by_hand, params


def lstm():
    layers, b, steps = 2, 64, 300
    params = {"main": normal(2 * layers, 4 * b), "extra": normal(3, b)}
    state, sequence = normal(2 * layers, b), normal(steps, b)
    ours = example("lstm", "objective")

    def by_hand(p):
        weights = p["main"].reshape(layers, 2, 4, b)
        scale, out, bias = p["extra"]

        def step(state, pair):
            seen, expected = pair
            x, new = seen * scale, []
            for i in range(layers):
                w, (hidden, cell) = weights[i], (state[2 * i], state[2 * i + 1])
                forget = jax.nn.sigmoid(x * w[0, 0] + w[1, 0])
                ingate = jax.nn.sigmoid(hidden * w[0, 1] + w[1, 1])
                outgate = jax.nn.sigmoid(x * w[0, 2] + w[1, 2])
                change = jnp.tanh(hidden * w[0, 3] + w[1, 3])
                cell = cell * forget + ingate * change
                x = outgate * jnp.tanh(cell)
                new += [x, cell]
            output = x * out + bias
            normaliser = jnp.log(2 + jnp.exp(output).sum())
            return jnp.stack(new), (expected * (output - normaliser)).sum()

        _, losses = jax.lax.scan(step, state, (sequence[:-1], sequence[1:]))
        return -losses.sum() / ((steps - 1) * b)

    def called(p):
        return ours(
            {
                "main_params": p["main"],
                "extra_params": p["extra"],
                "state": state,
                "sequence": sequence,
            }
        )

    return called, by_hand, params


def kmeans():
    points, centroids = normal(100_000, 10), normal(20, 10)
    ours = example("kmeans", "cost")

    def by_hand(c):
        return jnp.min(((points[:, None] - c) ** 2).sum(2), 1).sum()

    return lambda c: ours({"points": points, "centroids": c}), by_hand, centroids


def llsq():
    x, n = normal(64), 50_000
    ours = example("llsq", "primal")

    def by_hand(x):
        t = -1 + 2 * jnp.arange(n) / (n - 1)
        value, power = 0.0, 1.0
        for j in range(len(x)):
            value, power = value + x[j] * power, power * t
        return 0.5 * ((jnp.sign(t) - value) ** 2).sum()

    return lambda x: ours({"x": x, "n": n}), by_hand, x


def ode():
    x, s = normal(1000), 200
    ours = example("ode", "primal")

    def by_hand(x):
        def slope(y):
            return jnp.concatenate([x[:1], x[1:] * y[:-1]])

        def step(_, y):
            h = 2 / s
            k1 = slope(y)
            k2 = slope(y + 0.5 * h * k1)
            k3 = slope(y + 0.5 * h * k2)
            k4 = slope(y + h * k3)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return jax.lax.fori_loop(0, s, step, jnp.zeros(len(x))).sum()

    return lambda x: ours({"x": x, "s": s}).sum(), by_hand, x


def dense():
    weight, bias, xs = normal(64, 128), normal(64), normal(4000, 128)
    module = diffeo.source(
        """
def layer(w: [m][d]Real, b: [m]Real, xs: [n][d]Real) -> Real =
  sum([sum([tanh(b[i] + dot(w[i], x)) for i < m]) for x in xs])
"""
    )
    ours = diffeo.jax(module.layer, engine="xla")
    return (
        lambda p: ours(p[0], p[1], xs),
        lambda p: jnp.tanh(xs @ p[0].T + p[1]).sum(),
        (weight, bias),
    )


def compiled(function, argument):
    start = time.perf_counter()
    called = jax.jit(function).lower(argument).compile()
    return called, time.perf_counter() - start


def seconds(called, argument):
    start = time.perf_counter()
    jax.block_until_ready(called(argument))
    return time.perf_counter() - start


def compare(name, ours, by_hand, argument):
    (a, compiling_a), (b, compiling_b) = compiled(ours, argument), compiled(by_hand, argument)
    x, y = a(argument), b(argument)
    apart = max(
        float(jnp.abs(p - q).max() / jnp.abs(q).max())
        for p, q in zip(jax.tree.leaves(x), jax.tree.leaves(y), strict=True)
    )
    best, end = [float("inf")] * 2, time.perf_counter() + 3
    while time.perf_counter() < end:
        for i, called in enumerate((a, b)):
            best[i] = min(best[i], seconds(called, argument))
    print(
        f"{name:14} {1e3 * best[0]:9.3f} {1e3 * best[1]:9.3f} ms {best[0] / best[1]:6.2f}   "
        f"compile {compiling_a:6.2f} {compiling_b:6.2f} s {compiling_a / compiling_b:6.2f}   "
        f"apart {apart:.0e}",
        flush=True,
    )


def main(names):
    for task in (gmm, lstm, kmeans, llsq, ode, dense):
        if not names or task.__name__ in names:
            ours, by_hand, argument = task()
            compare(task.__name__, ours, by_hand, argument)
            compare(f"{task.__name__} grad", jax.grad(ours), jax.grad(by_hand), argument)


if __name__ == "__main__":
    main(sys.argv[1:])
