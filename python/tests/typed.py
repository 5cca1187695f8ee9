"""A program with types, for test_types.py: mypy reads it and does not run it."""

import diffeo

m: diffeo.Module = diffeo.source("def cube(x: Real) = x ^ 3")
f: diffeo.Function = m.function("cube", timeout=1.0)
name: str = f.__name__
count: int = f.arity
slope: float = diffeo.grad(f)(2.0)
value, back = diffeo.vjp(f, 2.0)
bars: tuple[float, ...] = back(1.0)
second = diffeo.hessian(f)
ends: diffeo.Interval = diffeo.enclose(f)(diffeo.Interval(1.0, 2.0))
text: str = ends.width  # wrong: a number
loaded: int = diffeo.load("m.deo", timeout="soon")  # wrong, twice: a text, and a program


def picture(plot: diffeo.Plot) -> bytes:
    return plot.svg()  # wrong: a text
