"""Work and precision of the solvers of differential equations, beside those of SciPy and diffsol, as Markdown:

    pip install scipy pydiffsol mpmath
    python bench/python/work_precision.py --diffeo target/release/diffeo [--problems HIRES,E5] [--check]

Each solver solves each problem at each relative tolerance. A cell has the largest relative error at the end, of the Reals
that are larger than the absolute tolerance; how often f was evaluated, or for diffsol, which does not tell, the number of
steps; and milliseconds: the least of some runs, without compiling. Diffeo runs on `jit` with `sensitivities = false`, f for
SciPy is a function in Python and its Jacobian by differences, as users have them, diffsol compiles f in its own language by
LLVM, with derivatives. `--check` computes what can be computed with more digits, instead of measuring.
"""

import argparse
import importlib.metadata
import json
import math
import re
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy
from scipy.integrate import solve_ivp

MU = 0.012277471


def lotka(t, y):
    return [2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]


def kepler(t, y):
    r3 = (y[0] * y[0] + y[1] * y[1]) ** 1.5
    return [y[2], y[3], -y[0] / r3, -y[1] / r3]


def kepler_at(t, eccentricity):
    """Kepler's equation, u - e sin u = t, by Newton's method; then the place and the velocity."""
    u = t
    for _ in range(100):
        u -= (u - eccentricity * math.sin(u) - t) / (1 - eccentricity * math.cos(u))
    c, s, root = math.cos(u), math.sin(u), math.sqrt(1 - eccentricity**2)
    return [c - eccentricity, root * s, -s / (1 - eccentricity * c), root * c / (1 - eccentricity * c)]


def brusselator(t, y):
    return [1.0 + y[0] * y[0] * y[1] - 4.0 * y[0], 3.0 * y[0] - y[0] * y[0] * y[1]]


def arenstorf(t, y):
    d1 = ((y[0] + MU) ** 2 + y[1] * y[1]) ** 1.5
    d2 = ((y[0] - 1.0 + MU) ** 2 + y[1] * y[1]) ** 1.5
    return [
        y[2],
        y[3],
        y[0] + 2.0 * y[3] - (1.0 - MU) * (y[0] + MU) / d1 - MU * (y[0] - 1.0 + MU) / d2,
        y[1] - 2.0 * y[2] - (1.0 - MU) * y[1] / d1 - MU * y[1] / d2,
    ]


def robertson(t, y):
    slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
    return [back - slow, slow - back - fast, fast]


def van_der_pol(t, y):
    return [y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6]


def hires(t, y):
    a = 280.0 * y[5] * y[7]
    return [
        -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
        1.71 * y[0] - 8.75 * y[1],
        -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
        8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
        -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
        -a + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
        a - 1.81 * y[6],
        -a + 1.81 * y[6],
    ]


def oregonator(t, y):
    return [
        77.27 * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1])),
        (y[2] - (1.0 + y[0]) * y[1]) / 77.27,
        0.161 * (y[0] - y[2]),
    ]


def e5(t, y):
    a, b, c, d = 7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3]
    return [-a - b, a - c, (a - c) - (b - d), b - d]


# A problem: f in the three languages (`y` has the Reals of the state), the start, the end, the absolute tolerance over the
# relative one, and the state at the end, with None for a Real that is not compared.
#
# The first four are not stiff: problems B1 and D5 of DETEST (Hull, Enright, Fellen & Sedgwick, SIAM J. Numer. Anal. 9,
# 1972), and two of Hairer, Norsett & Wanner, "Solving Ordinary Differential Equations I". The others are from Hairer &
# Wanner, "Solving Ordinary Differential Equations II", section IV.10; their solutions at the end are those of the Test Set
# for Initial Value Problem Solvers (Mazzia & Magherini, 2008), where Radau agrees to 12 digits; that of E5 is from Radau.
PROBLEMS = {
    "DETEST B1": dict(
        f=lotka, y0=[1.0, 3.0], end=20.0, atol=1.0,
        diffeo="[2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])]",
        diffsl="2.0 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])",
        at_end=[0.6761876008576606, 0.1860816099640030],
    ),
    "DETEST D5": dict(
        f=kepler, y0=[0.1, 0.0, 0.0, math.sqrt(1.9 / 0.1)], end=20.0, atol=1.0,
        diffeo="let r3 = pow(y[0] * y[0] + y[1] * y[1], 1.5) in [y[2], y[3], -y[0] / r3, -y[1] / r3]",
        diffsl="y[2], y[3], -y[0] / pow(y[0] * y[0] + y[1] * y[1], 1.5), -y[1] / pow(y[0] * y[0] + y[1] * y[1], 1.5)",
        at_end=kepler_at(20.0, 0.9),
    ),
    "Brusselator": dict(
        f=brusselator, y0=[1.5, 3.0], end=20.0, atol=1.0,
        diffeo="[1.0 + y[0] * y[0] * y[1] - 4.0 * y[0], 3.0 * y[0] - y[0] * y[0] * y[1]]",
        diffsl="1.0 + y[0] * y[0] * y[1] - 4.0 * y[0], 3.0 * y[0] - y[0] * y[0] * y[1]",
        at_end=[0.4986370712683478, 4.596780349452011],
    ),
    "Arenstorf orbit": dict(
        f=arenstorf, y0=[0.994, 0.0, 0.0, -2.00158510637908252240537862224], end=17.0652165601579625588917206249, atol=1.0,
        diffeo=f"""let (m, n) = ({MU}, 1.0 - {MU})
  let d1 = pow(sq(y[0] + m) + y[1] * y[1], 1.5)
  let d2 = pow(sq(y[0] - n) + y[1] * y[1], 1.5) in
  [y[2], y[3], y[0] + 2.0 * y[3] - n * (y[0] + m) / d1 - m * (y[0] - n) / d2, y[1] - 2.0 * y[2] - n * y[1] / d1 - m * y[1] / d2]""",
        diffsl="y[2], y[3], "
        "y[0] + 2.0 * y[3] - (1.0 - m) * (y[0] + m) / pow((y[0] + m) * (y[0] + m) + y[1] * y[1], 1.5)"
        " - m * (y[0] - 1.0 + m) / pow((y[0] - 1.0 + m) * (y[0] - 1.0 + m) + y[1] * y[1], 1.5), "
        "y[1] - 2.0 * y[2] - (1.0 - m) * y[1] / pow((y[0] + m) * (y[0] + m) + y[1] * y[1], 1.5)"
        " - m * y[1] / pow((y[0] - 1.0 + m) * (y[0] - 1.0 + m) + y[1] * y[1], 1.5)",
        at_end=[0.994, None, None, -2.00158510637908252240537862224],
    ),
    "Robertson": dict(
        f=robertson, y0=[1.0, 0.0, 0.0], end=1e11, atol=1e-10, stiff=True,
        diffeo="let (a, b, c) = (0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]) in [b - a, a - b - c, c]",
        diffsl="1e4 * y[1] * y[2] - 0.04 * y[0], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] * y[1], 3e7 * y[1] * y[1]",
        at_end=[0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050],
    ),
    "van der Pol": dict(
        f=van_der_pol, y0=[2.0, 0.0], end=2.0, atol=1.0, stiff=True,
        diffeo="[y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6]",
        diffsl="y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6",
        at_end=[1.706167732170483, -0.8928097010247975],
    ),
    "HIRES": dict(
        f=hires, y0=[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057], end=321.8122, atol=1e-4, stiff=True,
        diffeo="""let a = 280.0 * y[5] * y[7] in [-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
   -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
   -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -a + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
   a - 1.81 * y[6], -a + 1.81 * y[6]]""",
        diffsl="""-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
   -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
   -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
   -280.0 * y[5] * y[7] + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
   280.0 * y[5] * y[7] - 1.81 * y[6], -280.0 * y[5] * y[7] + 1.81 * y[6]""",
        at_end=[
            0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
            0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2,
        ],
    ),
    "Oregonator": dict(
        f=oregonator, y0=[1.0, 2.0, 3.0], end=360.0, atol=1e-2, stiff=True,
        diffeo="[77.27 * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1])), (y[2] - (1.0 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])]",
        diffsl="77.27 * (y[1] + y[0] * (1.0 - 8.375e-6 * y[0] - y[1])), (y[2] - (1.0 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])",
        at_end=[0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3],
    ),
    "E5": dict(
        f=e5, y0=[1.76e-3, 0.0, 0.0, 0.0], end=1e7, atol=1e-20, stiff=True,
        diffeo="let (a, b, c, d) = (7.89e-10 * y[0], 1.1e7 * y[0] * y[2], 1.13e9 * y[1] * y[2], 1.13e3 * y[3]) in [-a - b, a - c, (a - c) - (b - d), b - d]",
        diffsl="-7.89e-10 * y[0] - 1.1e7 * y[0] * y[2], 7.89e-10 * y[0] - 1.13e9 * y[1] * y[2], "
        "(7.89e-10 * y[0] - 1.13e9 * y[1] * y[2]) - (1.1e7 * y[0] * y[2] - 1.13e3 * y[3]), 1.1e7 * y[0] * y[2] - 1.13e3 * y[3]",
        at_end=[4.7150333631e-10, 1.8188895861e-14, 1.8188812377e-14, 8.3484020297e-20],
    ),
}


def relative_error(problem, y, atol):
    """The largest relative error of the Reals that are compared and larger than the absolute tolerance."""
    pairs = [(a, b) for a, b in zip(y, problem["at_end"]) if b is not None and abs(b) > atol]
    return max(abs(a - b) / abs(b) for a, b in pairs)


def diffeo(program, name, problem, rtol, atol, budget):
    """The state at the end, the number of evaluations and the time of a solution."""
    solver = "solve_stiff_with" if problem.get("stiff") else "solve_with"
    text = f"""import ode
def f(t: Real, y: [{len(problem["y0"])}]Real) =
  {problem["diffeo"]}
def y0 = {problem["y0"]}
def main({{rtol, atol, times}}: {{rtol: Real, atol: Real, times: Int}}) =
  let options = {{ode.defaults with rtol = rtol, atol = atol, sensitivities = false, max_steps = 10000000}}
  # Each time from another start, so that no solution is one of before.
  let solved(i: Int) = ode.{solver}(options, f, y0 * (1.0 + 3e-16 * real(i)), [0.0, {problem["end"]!r}])
  let sums = loop s = 0.0 for i < times do s + solved(i).states[1][0]
  let r = solved(0) in
  (r.states[1], r.evaluations, sums)
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.deo"
        path.write_text(text)

        def run(times):
            command = [program, "run", path, "--engine", "jit", "--json", "-v"]
            for field, value in dict(rtol=rtol, atol=atol, times=times).items():
                command += ["--arg", f"{field}={value!r}"]
            r = subprocess.run(command, capture_output=True, text=True)
            if r.returncode != 0:
                raise RuntimeError(f"{name}: {r.stderr}")
            seconds = float(re.search(r"evaluate ([0-9.]+) s", r.stderr)[1])
            return json.loads(r.stdout), seconds

        (y, evaluations, _), _ = run(0)
        base = min(run(0)[1] for _ in range(3))
        times = 1
        while (spent := run(times)[1] - base) < 0.1 * budget and times < 2**20:
            times *= 4
        times = max(1, int(times * budget / max(spent, 1e-3)))
        spent = min(run(times)[1] for _ in range(3)) - base
    return y, evaluations, spent / times


def timed(solve, budget):
    result = solve()
    least, spent, runs = math.inf, 0.0, 0
    while runs < 3 or spent < budget:
        start = time.perf_counter()
        solve()
        seconds = time.perf_counter() - start
        least, spent, runs = min(least, seconds), spent + seconds, runs + 1
    return result, least


def scipy(method, problem, rtol, atol, budget):
    def solve():
        return solve_ivp(problem["f"], (0.0, problem["end"]), problem["y0"], method, t_eval=[problem["end"]], rtol=rtol, atol=atol)

    r, seconds = timed(solve, budget)
    if not r.success:
        raise RuntimeError(r.message)
    return r.y[:, -1], r.nfev, seconds


def diffsol(method, problem, rtol, atol, budget):
    import pydiffsol

    code = "\n".join(["in_i { m = %r }" % MU, "u_i {", *[f"  x{i} = {y!r}," for i, y in enumerate(problem["y0"])], "}", "F_i {"])
    body = re.sub(r"y\[(\d)\]", r"x\1", problem["diffsl"])
    code += "\n" + body + "\n}\n"
    ode = pydiffsol.Ode(code, jit_backend=pydiffsol.llvm, ode_solver=getattr(pydiffsol, method))
    ode.rtol, ode.atol = rtol, atol
    ode.options.max_error_test_failures = 100000
    params = numpy.array([MU])
    r, seconds = timed(lambda: ode.solve(params, problem["end"]), budget)
    return r.ys[:, -1], len(r.ts) - 1, seconds


def number(x):
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def milliseconds(seconds):
    ms = 1000.0 * seconds
    return f"{ms:.3f}" if ms < 0.1 else f"{ms:.2g}" if ms < 100.0 else f"{ms:.0f}"


def table(arguments, stiff):
    ours = "`solve_stiff`" if stiff else "`solve`"
    others = ["Radau", "BDF", "LSODA"] if stiff else ["RK45", "DOP853", "LSODA"]
    crates = ["bdf", "esdirk34"] if stiff else ["tsit45"]
    columns = [ours, *others, *crates]
    print("| problem | `rtol` | " + " | ".join(columns) + " |")
    print("|---|---|" + "---|" * len(columns))
    for name, problem in PROBLEMS.items():
        if bool(problem.get("stiff")) != stiff or name not in arguments.problems:
            continue
        for i, rtol in enumerate([1e-4, 1e-7, 1e-10]):
            atol = rtol * problem["atol"]
            runs = [lambda: diffeo(arguments.diffeo, name, problem, rtol, atol, arguments.budget)]
            runs += [lambda m=m: scipy(m, problem, rtol, atol, arguments.budget) for m in others]
            runs += [lambda m=m: diffsol(m, problem, rtol, atol, arguments.budget) for m in crates]
            cells = []
            for run in runs:
                try:
                    y, work, seconds = run()
                    cells.append(f"{number(relative_error(problem, y, atol))}, {work}, {milliseconds(seconds)}")
                except Exception as e:
                    if arguments.verbose:
                        print(name, rtol, type(e), e)
                    cells.append("none")
            print(f"| {name if i == 0 else ''} | {number(rtol)} | " + " | ".join(cells) + " |", flush=True)
    print()


def check():
    """The solutions at the end by Taylor's method in more digits, or else by Radau with small tolerances."""
    import mpmath

    for name, problem in PROBLEMS.items():
        if problem.get("stiff"):
            atol = 1e-13 * problem["atol"]
            y = solve_ivp(problem["f"], (0.0, problem["end"]), problem["y0"], "Radau", rtol=1e-12, atol=atol).y[:, -1]
        elif name in ("DETEST B1", "Brusselator"):
            mpmath.mp.dps = 25
            y = mpmath.odefun(problem["f"], 0, problem["y0"])(problem["end"])
        else:
            y = solve_ivp(problem["f"], (0.0, problem["end"]), problem["y0"], "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
        print(name, [f"{float(x):.16g}" for x in y], problem["at_end"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--diffeo", default="diffeo", help="the program diffeo")
    parser.add_argument("--problems", default=",".join(PROBLEMS), help="names of problems, separated by commas")
    parser.add_argument("--budget", type=float, default=0.3, help="for how many seconds each cell is measured")
    parser.add_argument("--check", action="store_true", help="compute the solutions at the end with more digits")
    parser.add_argument("--verbose", action="store_true", help="say why a solver gave nothing")
    arguments = parser.parse_args()
    arguments.problems = arguments.problems.split(",")
    if arguments.check:
        return check()
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    print(", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("scipy", "pydiffsol")) + "\n")
    table(arguments, stiff=False)
    table(arguments, stiff=True)


if __name__ == "__main__":
    main()
