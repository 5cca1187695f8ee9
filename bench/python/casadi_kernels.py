"""The kernels in CasADi, as C that it generates: a function of one point or step, mapped over the others.

Each takes the arrays of a case by their names, as symbols whose columns are the rows of the array, with `data` for what
is known when the program is made, and gives the result. What has too many operations a point is left out.
"""

import math
import os
import subprocess
import tempfile
from functools import reduce

import casadi as ca
import numpy


def summed(function, n, shared):
    """The sum of a function over n points; the inputs of these numbers are the same for all."""
    return function.map("sum", "serial", n, shared, [0])


def log_sum_exp(x):
    top = reduce(ca.fmax, ca.vertsplit(x)) if isinstance(x, ca.SX) else ca.mmax(x)
    return top + ca.log(ca.sum1(ca.exp(x - top)))


def lse(data, x):
    return log_sum_exp(x)


def lse_gradient(data, x):
    return ca.gradient(lse(data, x), x)


def llsq(data, x):
    n, m = data["n"], x.numel()
    t, s, c = ca.SX.sym("t"), ca.SX.sym("s"), ca.SX.sym("c", m)
    value = reduce(lambda value, j: value * t + c[j], reversed(range(m)), ca.SX(0))
    residual = ca.Function("residual", [t, s, c], [0.5 * (s - value) ** 2])
    ts = -1 + 2 * numpy.arange(n) / (n - 1)
    return summed(residual, n, [2])(ca.DM(ts).T, ca.DM(numpy.sign(ts)).T, x)


def llsq_gradient(data, x):
    return ca.gradient(llsq(data, x), x)


def kmeans(data, points, centroids):
    (d, n), k = points.shape, centroids.shape[1]
    p, c = ca.SX.sym("p", d), ca.SX.sym("c", d, k)
    distances = [ca.sumsqr(p - c[:, j]) for j in range(k)]
    nearest = ca.Function("nearest", [p, c], [reduce(ca.fmin, distances)])
    return summed(nearest, n, [1])(points, centroids)


def kmeans_dir(data, points, centroids):
    if centroids.numel() > 500:
        # The C compiler takes minutes.
        return None
    slope = ca.gradient(kmeans(data, points, centroids), centroids)
    return slope / ca.jtimes(slope, centroids, ca.DM.ones(*centroids.shape))


def gmm(data, alpha, mu, q, l, x, gamma):
    (d, n), k = x.shape, alpha.numel()
    if d * d * k > 5000:
        return None
    m, t = data["m"], d * (d - 1) // 2
    a, u = ca.SX.sym("a", k), ca.SX.sym("u", d, k)
    e, s, f = ca.SX.sym("e", d, k), ca.SX.sym("s", k), ca.SX.sym("f", t, k)
    p = ca.SX.sym("p", d)
    columns, rows = numpy.triu_indices(d, 1)

    def norm(c):
        y = p - u[:, c]
        z = [e[i, c] * y[i] for i in range(d)]
        for place, (i, j) in enumerate(zip(rows, columns)):
            z[i] += f[place, c] * y[j]
        return ca.sumsqr(ca.vertcat(*z))

    terms = ca.vertcat(*[a[c] + s[c] - 0.5 * norm(c) for c in range(k)])
    of_point = ca.Function("of_point", [p, a, u, e, s, f], [log_sum_exp(terms)])
    diagonals, sums = ca.exp(q), ca.sum1(q).T
    likelihood = summed(of_point, n, [1, 2, 3, 4, 5])(x, alpha, mu, diagonals, sums, l)
    dof = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * (dof - j)) for j in range(d))
    prior = (
        k * (dof * d * ca.log(gamma / math.sqrt(2)) - log_gamma)
        - 0.5 * gamma * gamma * (ca.sumsqr(diagonals) + ca.sumsqr(l))
        + m * ca.sum1(sums)
    )
    return -n * (0.5 * d * math.log(2 * math.pi) + log_sum_exp(alpha)) + likelihood + prior


def gmm_gradient(data, alpha, mu, q, l, x, gamma):
    value = gmm(data, alpha, mu, q, l, x, gamma)
    if value is None:
        return None
    return ca.vertcat(*[ca.vec(ca.gradient(value, by)) for by in (alpha, l, mu, q)])


def error():
    """The errors of one observation, with its camera, point and weight in one vector."""
    v, feature = ca.SX.sym("v", 15), ca.SX.sym("feature", 2)
    rotation, centre, focal, principal, radial = v[0:3], v[3:6], v[6], v[7:9], v[9:11]
    p = v[11:14] - centre
    angle_sq = ca.sumsqr(rotation)
    still = angle_sq == 0
    angle = ca.sqrt(ca.if_else(still, 1, angle_sq))
    axis = rotation / angle
    turned = ca.cos(angle) * p + ca.sin(angle) * ca.cross(axis, p) + ca.dot(axis, p) * (1 - ca.cos(angle)) * axis
    p = ca.if_else(still, p + ca.cross(rotation, p), turned)
    image = p[0:2] / p[2]
    r_sq = ca.sumsqr(image)
    image = focal * image * (1 + radial[0] * r_sq + radial[1] * r_sq * r_sq) + principal
    return v, feature, v[14] * (image - feature)


def observed(cameras, points, weights, observations):
    return ca.vertcat(cameras[:, observations[:, 0].tolist()], points[:, observations[:, 1].tolist()], weights.T)


def ba(data, cameras, points, weights, features):
    v, feature, errors = error()
    of = ca.Function("error", [v, feature], [errors]).map(weights.numel())
    found = of(observed(cameras, points, weights, data["observations"]), features)
    return ca.vertcat(ca.vec(found), 1 - weights * weights)


def ba_jacobian(data, cameras, points, weights, features):
    v, feature, errors = error()
    of = ca.Function("block", [v, feature], [ca.vec(ca.jacobian(errors, v).T)]).map(weights.numel())
    blocks = of(observed(cameras, points, weights, data["observations"]), features)
    return ca.vertcat(ca.vec(blocks), -2 * weights)


def lstm(data, weights, biases, extra, hidden, cell, sequence):
    b, l = hidden.shape
    c = sequence.shape[1]

    def sigmoid(x):
        return 1 / (1 + ca.exp(-x))

    states, total = ca.SX.sym("states", 2 * b * l), ca.SX.sym("total")
    w, given, expected = ca.SX.sym("w", b, 8 * l + 3), ca.SX.sym("given", b), ca.SX.sym("expected", b)
    x, new = given * w[:, 8 * l], []
    for k in range(l):
        h, s = states[2 * b * k : 2 * b * k + b], states[2 * b * k + b : 2 * b * k + 2 * b]
        weight, bias = w[:, 4 * k : 4 * k + 4], w[:, 4 * l + 4 * k : 4 * l + 4 * k + 4]
        forget = sigmoid(x * weight[:, 0] + bias[:, 0])
        ingate = sigmoid(h * weight[:, 1] + bias[:, 1])
        outgate = sigmoid(x * weight[:, 2] + bias[:, 2])
        s = s * forget + ingate * ca.tanh(h * weight[:, 3] + bias[:, 3])
        x = outgate * ca.tanh(s)
        new += [x, s]
    output = x * w[:, 8 * l + 1] + w[:, 8 * l + 2]
    normaliser = ca.log(2 + ca.sum1(ca.exp(output)))
    after = ca.vertcat(*new, total + ca.sum1(expected * (output - normaliser)), ca.vec(w))
    before = ca.vertcat(states, total, ca.vec(w))
    step = ca.Function("step", [before, given, expected], [after])
    start = ca.vertcat(ca.vec(ca.vertcat(hidden, cell)), 0, ca.vec(weights), ca.vec(biases), ca.vec(extra))
    end = step.fold(c - 1)(start, sequence[:, : c - 1], sequence[:, 1:])
    return -end[2 * b * l] / ((c - 1) * b)


def lstm_gradient(data, weights, biases, extra, hidden, cell, sequence):
    value = lstm(data, weights, biases, extra, hidden, cell, sequence)
    of_weights, of_biases, of_extra = (ca.gradient(value, by) for by in (weights, biases, extra))
    layers = [
        by[:, 4 * k : 4 * k + 4] for k in range(hidden.shape[1]) for by in (of_weights, of_biases)
    ]
    return ca.vertcat(*[ca.vec(layer) for layer in layers], ca.vec(of_extra))


def ode(data, x):
    n, s = x.numel(), data["s"]
    h = 2 / s
    state = ca.MX.sym("state", 2 * n)
    y, c = state[:n], state[n:]

    def slope(y):
        return c * ca.vertcat(1, y[: n - 1])

    k1 = slope(y)
    k2 = slope(y + 0.5 * h * k1)
    k3 = slope(y + 0.5 * h * k2)
    k4 = slope(y + h * k3)
    step = ca.Function("step", [state], [ca.vertcat(y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), c)])
    return step.fold(s)(ca.vertcat(ca.DM.zeros(n), x))[:n]


def ode_gradient(data, x):
    return ca.gradient(ode(data, x)[-1], x)


def compiled(kernel, static, arguments):
    """A function that computes the result, or nothing where there is no such kernel."""
    build = globals().get(kernel)
    if build is None:
        return None
    data = {**static, **{name: array for name, array in arguments.items() if numpy.asarray(array).dtype.kind == "i"}}
    arrays = {name: array for name, array in arguments.items() if name not in data}
    symbols = {
        name: ca.MX.sym(name, array.shape[-1] if array.ndim else 1, math.prod(array.shape[:-1]))
        for name, array in arrays.items()
    }
    result = build(data, **symbols)
    if result is None:
        return None
    function = ca.Function(kernel, list(symbols.values()), [ca.densify(ca.vec(result))])
    folder = tempfile.mkdtemp()
    name = function.generate(f"{kernel}.c")
    source, target = os.path.join(folder, name), os.path.join(folder, f"{kernel}.so")
    os.rename(name, source)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", target, "-lm"], check=True)
    buffer, call = ca.external(kernel, target).buffer()
    values = [numpy.ascontiguousarray(array, dtype="float64").reshape(-1) for array in arrays.values()]
    out = numpy.zeros(function.numel_out(0))
    for i, array in enumerate(values):
        buffer.set_arg(i, memoryview(array))
    buffer.set_res(0, memoryview(out))

    def run(kept=(values, buffer)):
        call()
        return out

    return run
