"""The kernels in the style of NumPy, for NumPy and for JAX.

Each takes a library (see `run.py`: `np` is the namespace of NumPy or of jax.numpy, `each` maps over the rows of arrays,
`scan` and `repeat` are loops) and the arrays of a case by their names. Single Ints, and what STATIC names, are known
when the function is compiled.
"""

import math

STATIC = {"ht": ["parents"], "ht_jacobian": ["parents"]}
# What NumPy does not do.
DERIVATIVES = [
    "gmm_gradient",
    "ba_jacobian",
    "ht_jacobian",
    "lstm_gradient",
    "llsq_gradient",
    "lse_gradient",
    "kmeans_dir",
    "ode_gradient",
]


def log_sum_exp(np, x, axis):
    top = np.max(x, axis=axis, keepdims=True)
    return np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis))


def gmm(lib, alpha, mu, q, l, x, gamma, m):
    np = lib.np
    (n, d), k = x.shape, alpha.shape[0]
    # The elements below the diagonal, column by column: the upper triangle by rows, transposed.
    columns, rows = lib.numpy.triu_indices(d, 1)
    diagonal = np.exp(q)
    factors = lib.put(np.zeros((k, d, d)), (slice(None), rows, columns), l)
    factors = lib.put(factors, (slice(None), lib.numpy.arange(d), lib.numpy.arange(d)), diagonal)

    def component(weight, mean, factor):
        scaled = np.matmul(x - mean, factor.T)
        return weight - 0.5 * np.sum(scaled * scaled, axis=1)

    terms = lib.each(component, alpha + np.sum(q, axis=1), mu, factors)
    likelihood = np.sum(log_sum_exp(np, terms, 0))
    dof = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * (dof - j)) for j in range(d))
    prior = (
        k * (dof * d * np.log(gamma / math.sqrt(2)) - log_gamma)
        - 0.5 * gamma * gamma * np.sum(factors * factors)
        + m * np.sum(q)
    )
    return -n * (0.5 * d * math.log(2 * math.pi) + log_sum_exp(np, alpha, 0)) + likelihood + prior


def ba(lib, cameras, points, weights, observations, features):
    np = lib.np
    camera = cameras[observations[:, 0]]
    p = points[observations[:, 1]] - camera[:, 3:6]
    rotation = camera[:, 0:3]
    # Of a camera that is not turned, no derivative takes the square root of 0.
    angle_sq = np.sum(rotation * rotation, axis=1, keepdims=True)
    still = angle_sq == 0
    angle = np.sqrt(np.where(still, 1.0, angle_sq))
    axis = rotation / angle
    cosine, sine = np.where(still, 1.0, np.cos(angle)), np.where(still, 1.0, np.sin(angle))
    along = np.sum(axis * p, axis=1, keepdims=True) * (1 - cosine)
    p = cosine * p + sine * np.cross(axis, p) + along * axis
    image = p[:, 0:2] / p[:, 2:3]
    r_sq = np.sum(image * image, axis=1, keepdims=True)
    image = image * (1 + camera[:, 9:10] * r_sq + camera[:, 10:11] * r_sq * r_sq)
    image = camera[:, 6:7] * image + camera[:, 7:9]
    reprojection = weights[:, None] * (image - features)
    return np.concatenate([np.reshape(reprojection, -1), 1 - weights * weights])


def euler(np, x, z):
    """The rotation about x, then z."""
    cx, sx, cz, sz = np.cos(x), np.sin(x), np.cos(z), np.sin(z)
    o, i = np.zeros_like(x), np.ones_like(x)
    rows = [[cz, -sz * cx, sz * sx, o], [sz, cz * cx, -cz * sx, o], [o, sx, cx, o], [o, o, o, i]]
    return np.moveaxis(np.stack([np.stack(row) for row in rows]), -1, 0)


def rotation(np, axis):
    angle = np.sqrt(np.sum(axis * axis))
    small = angle < 0.0001
    x, y, z = axis / np.where(small, 1.0, angle)
    s, c = np.sin(angle), np.cos(angle)
    t = 1 - c
    rows = [
        [x * x + (1 - x * x) * c, x * y * t - z * s, x * z * t + y * s],
        [x * y * t + z * s, y * y + (1 - y * y) * c, y * z * t - x * s],
        [x * z * t - y * s, y * z * t + x * s, z * z + (1 - z * z) * c],
    ]
    return np.where(small, np.eye(3), np.stack([np.stack(row) for row in rows]))


def ht(lib, theta, us, parents, base_relatives, inverse_base_absolutes, positions, weights, triangles, mirrored,
       correspondences, points):
    np = lib.np
    bones = len(parents)
    # Which number of theta turns a bone about x and z; 26 stands for none.
    about_x, about_z = [26] * bones, [26] * bones
    for bone in range(1, min(bones, 21)):
        finger, joint = divmod(bone - 1, 4)
        if joint > 0:
            about_x[bone] = 6 + 4 * finger + (0 if joint == 1 else joint)
        if joint == 1:
            about_z[bone] = 7 + 4 * finger
    angles = np.concatenate([theta, np.zeros(1)])
    relatives = np.matmul(base_relatives, euler(np, angles[lib.numpy.array(about_x)], angles[lib.numpy.array(about_z)]))
    absolutes = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent < 0 else np.matmul(absolutes[parent], relatives[bone]))
    transforms = np.matmul(np.stack(absolutes), inverse_base_absolutes)
    blended = np.reshape(np.matmul(weights, np.reshape(transforms, (bones, 16))), (-1, 4, 4))
    placed = np.sum(blended[:, 0:3] * positions[:, None], axis=2)
    if mirrored:
        placed = placed * lib.numpy.array([-1.0, 1.0, 1.0])
    placed = np.matmul(placed, rotation(np, theta[0:3]).T) + theta[3:6]
    if us.shape[0] == 0:
        return np.reshape(points - placed[correspondences], -1)
    corners = triangles[correspondences]
    u, v = us[:, 0:1], us[:, 1:2]
    on = u * placed[corners[:, 0]] + v * placed[corners[:, 1]] + (1 - u - v) * placed[corners[:, 2]]
    return np.reshape(points - on, -1)


def lstm(lib, weights, biases, extra, hidden, cell, sequence):
    np = lib.np
    layers = weights.shape[0]

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def step(state, character):
        hiddens, cells, total = state
        given, expected = character
        x, new_hiddens, new_cells = given * extra[0], [], []
        for k in range(layers):
            weight, bias, hidden, cell = weights[k], biases[k], hiddens[k], cells[k]
            forget = sigmoid(x * weight[0] + bias[0])
            ingate = sigmoid(hidden * weight[1] + bias[1])
            outgate = sigmoid(x * weight[2] + bias[2])
            change = np.tanh(hidden * weight[3] + bias[3])
            cell = cell * forget + ingate * change
            x = outgate * np.tanh(cell)
            new_hiddens.append(x)
            new_cells.append(cell)
        output = x * extra[1] + extra[2]
        normaliser = np.log(2 + np.sum(np.exp(output)))
        return np.stack(new_hiddens), np.stack(new_cells), total + np.sum(expected * (output - normaliser))

    (_, _, total) = lib.scan(step, (hidden, cell, np.zeros(())), (sequence[:-1], sequence[1:]))
    return -total / ((sequence.shape[0] - 1) * sequence.shape[1])


def llsq(lib, x, n):
    np = lib.np
    t = -1 + 2 * np.arange(n) / (n - 1)
    value = lib.scan(lambda value, coefficient: value * t + coefficient, np.zeros(n), x[::-1])
    residual = np.sign(t) - value
    return 0.5 * np.sum(residual * residual)


def lse(lib, x):
    return log_sum_exp(lib.np, x, 0)


def kmeans(lib, points, centroids):
    np = lib.np
    distances = (
        np.sum(points * points, axis=1)[:, None]
        - 2 * np.matmul(points, centroids.T)
        + np.sum(centroids * centroids, axis=1)
    )
    return np.sum(np.min(distances, axis=1))


def ode(lib, x, s):
    np = lib.np
    h = 2 / s

    def slope(y):
        return x * np.concatenate([np.ones(1), y[:-1]])

    def step(y):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lib.repeat(s, step, np.zeros_like(x))


def dot(lib, x, y):
    return lib.np.dot(x, y)


def matvec(lib, a, x):
    return lib.np.matmul(a, x)


def mixture(lib, x, alpha, mu, r):
    np = lib.np
    precision = r * r
    norms = (
        np.matmul(x * x, precision.T) - 2 * np.matmul(x, (precision * mu).T) + np.sum(precision * mu * mu, axis=1)
    )
    terms = alpha + np.sum(np.log(r), axis=1) - 0.5 * norms
    return np.sum(log_sum_exp(np, terms, 1)) - x.shape[0] * log_sum_exp(np, alpha, 0)


def sort(lib, x):
    return lib.np.sort(x)


# Derivatives, in JAX


def gradient(lib, function, order, **arguments):
    """The gradient by the arguments of these names, one after the other; of the others nothing is differentiated."""

    def of(parameters):
        return function(lib, **{**arguments, **parameters})

    found = lib.jax.grad(of)({name: arguments[name] for name in order})
    return lib.np.concatenate([lib.np.reshape(found[name], -1) for name in order])


def gmm_gradient(lib, **arguments):
    return gradient(lib, gmm, ["alpha", "l", "mu", "q"], **arguments)


def ba_jacobian(lib, cameras, points, weights, observations, features):
    jax, np = lib.jax, lib.np

    def error(v, feature):
        one = lib.numpy.zeros((1, 2), dtype=int)
        return ba(lib, v[None, 0:11], v[None, 11:14], v[14:15], one, feature[None])[0:2]

    of = np.concatenate([cameras[observations[:, 0]], points[observations[:, 1]], weights[:, None]], axis=1)
    blocks = jax.vmap(jax.jacrev(error))(of, features)
    return np.concatenate([np.reshape(blocks, -1), jax.vmap(jax.grad(lambda w: 1 - w * w))(weights)])


def ht_jacobian(lib, theta, us, points, **data):
    jax, np = lib.jax, lib.np
    by_theta = jax.jacfwd(lambda theta: ht(lib, theta=theta, us=us, points=points, **data))(theta)
    if us.shape[0] == 0:
        return by_theta
    # Each point has a u and a v of its own, so one direction serves all.
    by_us = [
        jax.jvp(
            lambda us: ht(lib, theta=theta, us=us, points=points, **data),
            (us,),
            (np.zeros_like(us).at[:, i].set(1.0),),
        )[1]
        for i in range(2)
    ]
    return np.concatenate([np.stack(by_us, axis=1), by_theta], axis=1)


def lstm_gradient(lib, **arguments):
    found = lib.jax.grad(lambda p: lstm(lib, **{**arguments, **p}))(
        {name: arguments[name] for name in ["weights", "biases", "extra"]}
    )
    layers = lib.np.stack([found["weights"], found["biases"]], axis=1)
    return lib.np.concatenate([lib.np.reshape(layers, -1), lib.np.reshape(found["extra"], -1)])


def llsq_gradient(lib, x, n):
    return lib.jax.grad(lambda x: llsq(lib, x, n))(x)


def lse_gradient(lib, x):
    return lib.jax.grad(lambda x: lse(lib, x))(x)


def kmeans_dir(lib, points, centroids):
    slope = lib.jax.grad(lambda c: kmeans(lib, points, c))
    by, diagonal = lib.jax.jvp(slope, (centroids,), (lib.np.ones_like(centroids),))
    return by / diagonal


def ode_gradient(lib, x, s):
    return lib.jax.grad(lambda x: ode(lib, x, s)[-1])(x)
