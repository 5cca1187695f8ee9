import pathlib

import pytest

import diffeo

TEXT = """
type Shape = Dot | Circle(Real) | Box(Real, Real)

## The sum of squares of what the rows give.
def loss(w: [k]Real, xs: [n][k]Real) -> Real = sum([sq(dot(w, x)) for x in xs])
def area(s: Shape) -> Real = case s of { Dot -> 0.0 | Circle(r) -> pi * r * r | Box(a, b) -> a * b }
def scaled({by, x, n}: {by: Real, x: [m]Real, n: Int}) = {y = by * x, n = n + 1}
def plus_one(m: Maybe[Real]) -> Maybe[Real] = map_maybe(fn x -> x + 1.0, m)
def total(xs: List[Real]) -> Real = fold_left_list(fn (s, x) -> s + x, 0.0, xs)
def cube(x: Real) -> Real = x ^ 3
def two(x: Real, y: Real) -> (Real, Real) = (sin(x * y), x + y)
def image(xs: [n]Real, a: Real) -> [n]Real = [sin(a * x) for x in xs]
def collatz(n: Int) -> Int = if n == 1 then 0 else 1 + collatz(if n % 2 == 0 then n / 2 else 3 * n + 1)
def power(x: Real, n: Int) -> Real = if n == 0 then 1.0 else x * power(x, n - 1)
def newton(a: Real) -> Real = (loop (x, i) = (a, 0) while i < 60 and abs(x * x - a) > 1e-15 do (0.5 * (x + a / x), i + 1)).0
def rows(t: [n]{a: Real, b: String}) -> Real = sum([if r.b == "x" then r.a else 2.0 * r.a for r in t])
def mean_of(t: [n]{a: Maybe[Real]}) -> Real = sum([from_maybe(0.0, r.a) for r in t])
def flags(xs: [n]Bool) -> Int = sum([if b then 1 else 0 for b in xs])
def hello(name: String) -> String = "hello " ++ name
def spin(x: Real) -> Real = spin(x + 1.0)
def at(xs: [n]Real, i: Int) -> Real = xs[i]
def root(x: Real) -> Real = grad(fn z -> sqrt(z * z))(x)
def noted(x: Real) -> Real = trace("x", x) * 2.0
def unit() = 42
def answer = 42
def table = [[1.0, 2.0], [3.0, 4.0]]
"""


@pytest.fixture(scope="session")
def m():
    return diffeo.source(TEXT, "test.deo")


@pytest.fixture(scope="session")
def root():
    return pathlib.Path(__file__).resolve().parents[2]
