"""The problems of this folder by SciPy, from both starts: writes `scipy.txt`, which the test `nist` prints beside Diffeo's.

    pip install scipy
    python tests/nist/fits.py

`curve_fit` and `least_squares` have their usual options: MINPACK's Levenberg-Marquardt method and a trust region, both with
Jacobians by differences. `exact` is `least_squares` by MINPACK with exact Jacobians (by complex steps), a scale by them,
tolerances of 1e-15 and as many evaluations as it likes. A row has, for each, the digits of the parameters and of their standard errors, at least (as far as
11), or `-` where it stopped with an error or said that it had not converged.
"""

import warnings
from pathlib import Path

import numpy as np
import scipy
from numpy import cos, exp, pi, sin
from scipy.optimize import curve_fit, least_squares

FOLDER = Path(__file__).parent


def enso(x, *b):
    value = b[0] + b[1] * cos(2 * pi * x / 12) + b[2] * sin(2 * pi * x / 12)
    for period, c, s in (b[3:6], b[6:9]):
        value = value + c * cos(2 * pi * x / period) + s * sin(2 * pi * x / period)
    return value


def gauss(x, *b):
    return b[0] * exp(-b[1] * x) + b[2] * exp(-(((x - b[3]) / b[4]) ** 2)) + b[5] * exp(-(((x - b[6]) / b[7]) ** 2))


def cubics(x, *b):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def lanczos(x, *b):
    return b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x)


def rising(x, *b):
    return b[0] * (1 - exp(-b[1] * x))


def chwirut(x, *b):
    return exp(-b[0] * x) / (b[1] + b[2] * x)


MODELS = {
    "Bennett5": (3, lambda x, *b: b[0] * (b[1] + x) ** (-1 / b[2])),
    "BoxBOD": (2, rising),
    "Chwirut1": (3, chwirut),
    "Chwirut2": (3, chwirut),
    "DanWood": (2, lambda x, *b: b[0] * x ** b[1]),
    "ENSO": (9, enso),
    "Eckerle4": (3, lambda x, *b: b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) ** 2)),
    "Gauss1": (8, gauss),
    "Gauss2": (8, gauss),
    "Gauss3": (8, gauss),
    "Hahn1": (7, cubics),
    "Kirby2": (5, lambda x, *b: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)),
    "Lanczos1": (6, lanczos),
    "Lanczos2": (6, lanczos),
    "Lanczos3": (6, lanczos),
    "MGH09": (4, lambda x, *b: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])),
    "MGH10": (3, lambda x, *b: b[0] * exp(b[1] / (x + b[2]))),
    "MGH17": (5, lambda x, *b: b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4])),
    "Misra1a": (2, rising),
    "Misra1b": (2, lambda x, *b: b[0] * (1 - (1 + b[1] * x / 2) ** -2.0)),
    "Misra1c": (2, lambda x, *b: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5)),
    "Misra1d": (2, lambda x, *b: b[0] * b[1] * x / (1 + b[1] * x)),
    "Nelson": (3, lambda x, *b: b[0] - b[1] * x[0] * exp(-b[2] * x[1])),
    "Rat42": (3, lambda x, *b: b[0] / (1 + exp(b[1] - b[2] * x))),
    "Rat43": (4, lambda x, *b: b[0] / (1 + exp(b[1] - b[2] * x)) ** (1 / b[3])),
    "Roszman1": (4, lambda x, *b: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi),
    "Thurber": (7, cubics),
}


def digits(x, right):
    if not np.all(np.isfinite(x)):
        return "-"
    return f"{np.min(-np.log10(np.abs(x - right) / np.abs(right) + 1e-11)):.1f}"


def by_curve_fit(model, x, y, start):
    b, covariance = curve_fit(model, x, y, start)
    return b, np.sqrt(np.diag(covariance))


def by_least_squares(model, x, y, start, **options):
    r = least_squares(lambda b: model(x, *b) - y, start, **options)
    if not r.success:
        raise RuntimeError(r.message)
    variance = 2 * r.cost / (len(y) - len(start))
    return r.x, np.sqrt(variance * np.diag(np.linalg.inv(r.jac.T @ r.jac)))


def by_exact(model, x, y, start):
    def jacobian(b):
        steps = 1e-200j * np.eye(len(b))
        return np.array([model(x, *(b + step)).imag * 1e200 for step in steps]).T

    tight = dict(ftol=1e-15, xtol=1e-15, gtol=1e-15, max_nfev=1000000)
    return by_least_squares(model, x, y, start, jac=jacobian, method="lm", x_scale="jac", **tight)


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    rows = [f"# SciPy {scipy.__version__}: problem, start, digits and of errors by curve_fit, least_squares, exact (fits.py)"]
    for name, (n, model) in MODELS.items():
        lines = (FOLDER / f"{name}.dat").read_text().splitlines()
        given = np.array([[float(w) for w in line.split("=")[1].split()] for line in lines[40 : 40 + n]])
        data = np.array([[float(w) for w in line.split()] for line in lines[60:] if line.strip()])
        y, x = (np.log(data[:, 0]), data[:, 1:].T) if name == "Nelson" else (data[:, 0], data[:, 1])
        for start in (0, 1):
            cells = []
            for fit in (by_curve_fit, by_least_squares, by_exact):
                try:
                    b, errors = fit(model, x, y, given[:, start])
                    cells += [digits(b, given[:, 2]), digits(errors, given[:, 3])]
                except (RuntimeError, ValueError, np.linalg.LinAlgError):
                    cells += ["-", "-"]
            rows.append(f"{name} {start + 1} " + " ".join(cells))
    (FOLDER / "scipy.txt").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
