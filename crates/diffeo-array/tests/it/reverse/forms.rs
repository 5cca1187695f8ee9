//! The forms of Flat, one by one.

use super::support::{check, matrix, reals};
use diffeo_array::value::FlatValue;

/// A function of this head and body.
fn body(head: &str, body: &str, args: &[FlatValue]) {
    check(&format!("entry main fn main{head} {{ {body} }}"), args);
}

fn real(x: f64) -> FlatValue {
    FlatValue::Real(x)
}

#[test]
fn straight_lines() {
    body(
        "(x: Real, y: Real) -> (Real, Real)",
        "a: Real = real.mul(x, y)
         b: Real = real.sin(a)
         c: Real = real.div(b, x)
         d: Real = real.pow(x, y)
         e: Real = real.add(c, d)
         f: Real = pow_int(e, 3)
         g: Real = real.max(f, y)
         h: Real = real.abs(c)
         p: Bool = lt[Real](x, y)
         s: Real = select(p, h, g)
         return g, s",
        &[real(1.3), real(0.7)],
    );
}

#[test]
fn branches() {
    let text = "p: Bool = lt[Real](x, y)
         a: Real, b: []Real = if p {
           u: Real = real.exp(x)
           v: Real = real.mul(u, y)
           e: []Real = elements[Real](u, v, 2.0)
           yield v, e
         } else {
           u: Real = real.sin(y)
           w: Real = real.mul(u, x)
           yield w, xs
         }
         k: Int = dim[0](b)
         c: Real = switch k {
           3 { q: Real = get(b, 1) s: Real = real.mul(q, q) yield s }
           else { q: Real = get(b, 0) s: Real = real.mul(q, a) yield s }
         }
         return a, b, c";
    let head = "(x: Real, y: Real, xs: []Real) -> (Real, []Real, Real)";
    body(head, text, &[real(0.5), real(0.7), reals(&[1.0, 2.0])]);
    body(head, text, &[real(0.9), real(0.7), reals(&[1.0, 2.0])]);
}

#[test]
fn arrays() {
    body(
        "(x: Real, xs: []Real, m: [][]Real) -> (Real, []Real, [][]Real)",
        "a: Real = get(xs, 1)
         r: []Real = get(m, 1)
         b: Real = get(r, 2)
         s: []Real = slice(xs, 1, 3)
         t: []Real = append(s, r)
         u: []Real = update(t, 3, x)
         c: Real = get(u, 4)
         d: Real = real.mul(a, b)
         e: Real = real.mul(c, d)
         w: [][]Real = rows(u, t)
         v: [][]Real = update(w, 0, t)
         f: [][]Real = reshape(v, 5, 2)
         g: []Real = get(f, 1)
         h: Real = get(g, 1)
         o: Real = real.mul(h, h)
         z: [][]Real = append(f, f)
         return o, u, z",
        &[real(2.0), reals(&[1.0, 2.0, 3.0]), matrix(2, 3, &[1.0, -2.0, 3.0, 4.0, 5.0, 6.0])],
    );
}

#[test]
fn comprehensions_and_sums() {
    body(
        "(x: Real, xs: []Real, m: [][]Real) -> (Real, []Real, [][]Real)",
        "n: Int = dim[0](xs)
         k: Int = dim[0](m)
         s: Real = reduce[add] i < n {
           a: Real = get(xs, i)
           b: Real = real.mul(a, x)
           c: Real = real.sin(b)
           yield c
         }
         ys: []Real = build i < k {
           t: Real = reduce[add] j < n {
             a: Real = get(m, i, j)
             b: Real = get(xs, j)
             c: Real = real.mul(a, b)
             yield c
           }
           u: Real = real.tanh(t)
           v: Real = real.mul(u, s)
           yield v
         }
         zs: [][]Real = build i < k {
           r: []Real = build j < n {
             a: Real = get(m, i, j)
             b: Real = get(ys, i)
             c: Real = real.mul(a, b)
             yield c
           }
           w: []Real = update(r, 0, s)
           yield w
         }
         rs: [][]Real = build i < k {
           r: []Real = get(m, i)
           yield r
         }
         q: Real = get(rs, 1, 1)
         p: Real = reduce[add] i < n {
           a: Real = get(xs, i)
           t: Real = reduce[add] j < k {
             b: Real = get(ys, j)
             c: Real = real.mul(a, b)
             yield c
           }
           d: Real = real.exp(t)
           yield d
         }
         o: Real = real.mul(p, q)
         return o, ys, zs",
        &[real(0.3), reals(&[1.0, 2.0, 3.0]), matrix(2, 3, &[0.1, -0.2, 0.3, 0.4, 0.5, 0.6])],
    );
}

#[test]
fn extrema() {
    body(
        "(x: Real, xs: []Real) -> (Real, Real)",
        "n: Int = dim[0](xs)
         s: Real, l: Real, t: Real = reduce[max, min, add] i < n {
           a: Real = get(xs, i)
           b: Real = real.mul(a, x)
           c: Real = real.sin(b)
           yield c, b, a
         }
         u: Real = real.mul(s, t)
         return u, l",
        &[real(0.3), reals(&[1.0, 2.0, 3.0, -1.0])],
    );
}

#[test]
fn calls() {
    check(
        "entry main
         fn main(x: Real, xs: []Real) -> (Real, []Real) {
           a: Real, b: []Real = call f(x, xs)
           c: Real, d: []Real = call f(a, b)
           e: Real, g: []Real = call f(2.0, d)
           h: Real = real.mul(e, c)
           return h, g
         }
         fn f(x: Real, xs: []Real) -> (Real, []Real) {
           a: Real = get(xs, 0)
           b: Real = real.mul(a, x)
           c: []Real = update(xs, 1, b)
           return b, c
         }",
        &[real(1.5), reals(&[0.5, 2.0, 3.0])],
    );
}

#[test]
fn counted_loops() {
    body(
        "(x: Real, xs: []Real) -> (Real, []Real, []Real)",
        "n: Int = dim[0](xs)
         s: Real, t: Real = for i < n with (a = x, b = 1.0) {
           c: Real = get(xs, i)
           d: Real = real.mul(a, c)
           e: Real = real.sin(d)
           f: Real = real.mul(b, e)
           g: Real = real.add(f, x)
           yield e, g
         }
         ys: []Real = for i < n with (a = xs) {
           c: Real = get(a, i)
           d: Real = real.sin(c)
           e: []Real = update(a, i, d)
           yield e
         }
         zs: []Real = for i < 3 with (a = ys) {
           b: []Real = build j < n {
             c: Real = get(a, j)
             d: Real = real.mul(c, c)
             e: Real = real.mul(d, s)
             yield e
           }
           yield b
         }
         u: Real = real.mul(s, t)
         return u, ys, zs",
        &[real(0.8), reals(&[0.5, 2.0, 3.0])],
    );
}

#[test]
fn arrays_in_loops() {
    body(
        "(x: Real, xs: []Real) -> (Real, []Real, []Real, []Real)",
        "n: Int = dim[0](xs)
         e: []Real = empty[Real, 1]()
         ys: []Real = for i < n with (a = e) {
           c: Real = get(xs, i)
           d: Real = real.mul(c, c)
           p: Bool = gt[Real](c, 1.0)
           r: []Real = if p {
             o: []Real = elements[Real](d, c)
             b: []Real = append(a, o)
             yield b
           } else { yield a }
           yield r
         }
         us: []Real, vs: []Real = for i < 3 with (a = xs, b = ys) {
           c: Real = get(a, 0)
           d: Real = get(b, 1)
           f: Real = real.mul(c, d)
           g: []Real = update(a, 0, f)
           yield b, g
         }
         ws: []Real = for i < 2 with (a = us) {
           p: Bool = eq[Int](i, 0)
           r: []Real = if p {
             g: []Real = update(a, 0, x)
             yield g
           } else {
             y: Real = get(a, 0)
             z: Real = real.mul(y, y)
             g: []Real = update(a, 1, z)
             yield g
           }
           k: Real = get(r, 1)
           q: []Real = update(r, 0, k)
           yield q
         }
         o: Real = get(us, 0)
         return o, vs, ws, ys",
        &[real(0.8), reals(&[0.5, 2.0, 3.0])],
    );
}

#[test]
fn conditional_loops() {
    body(
        "(x: Real, xs: []Real) -> (Real, []Real)",
        "s: Real, ys: []Real, k: Int = while (a = x, b = xs, i = 0) {
           p: Bool = lt[Real](a, 50.0)
           yield p
         } do {
           c: Real = real.mul(a, 1.7)
           j: Int = int.rem(i, 3)
           d: Real = get(b, j)
           e: Real = real.mul(d, c)
           f: Real = real.add(e, c)
           g: []Real = update(b, j, e)
           l: Int = int.add(i, 1)
           yield f, g, l
         }
         return s, ys",
        &[real(0.8), reals(&[0.5, 2.0, 3.0])],
    );
}

#[test]
fn loops_in_loops() {
    body(
        "(x: Real, xs: []Real) -> (Real, []Real)",
        "n: Int = dim[0](xs)
         s: Real, ys: []Real = for i < n with (a = x, b = xs) {
           c: Real, d: []Real = for j < i with (e = a, f = b) {
             g: Real = get(f, j)
             h: Real = real.mul(g, e)
             k: Real = real.sin(h)
             l: []Real = update(f, i, k)
             yield k, l
           }
           t: []Real = build j < n {
             u: Real = get(d, j)
             v: Real = real.exp(u)
             yield v
           }
           w: Real = while (z = c) { p: Bool = lt[Real](z, 3.0) yield p } do {
             q: Real = get(t, 1)
             r: Real = real.add(q, z)
             yield r
           }
           o: Real = real.mul(w, c)
           m: Real = real.cos(o)
           yield m, d
         }
         return s, ys",
        &[real(0.8), reals(&[0.5, 2.0, 3.0])],
    );
}

#[test]
fn recursion() {
    check(
        "entry main
         fn main(x: Real, xs: []Real, n: Int) -> (Real, Real) {
           a: Real = call f(x, xs, n)
           b: Real = call g(x, xs)
           return a, b
         }
         fn f(x: Real, xs: []Real, n: Int) -> (Real) {
           p: Bool = le[Int](n, 0)
           r: Real = if p { yield x } else {
             m: Int = int.sub(n, 1)
             y: Real = get(xs, m)
             z: Real = real.mul(y, x)
             a: Real = call h(z, xs, m)
             b: Real = real.mul(a, y)
             yield b
           }
           return r
         }
         fn h(x: Real, xs: []Real, n: Int) -> (Real) {
           a: Real = call f(x, xs, n)
           b: Real = real.sin(a)
           return b
         }
         fn g(x: Real, xs: []Real) -> (Real) {
           n: Int = dim[0](xs)
           p: Bool = eq[Int](n, 0)
           r: Real = if p { yield x } else {
             s: []Real = slice(xs, 1, n)
             a: Real = call g(x, s)
             b: Real = get(xs, 0)
             c: Real = real.mul(a, b)
             yield c
           }
           return r
         }",
        &[real(0.9), reals(&[0.5, 2.0, 3.0]), FlatValue::Int(3)],
    );
}

#[test]
fn calls_that_change_arrays() {
    check(
        "entry main
         fn main(x: Real, xs: []Real, n: Int) -> (Real, []Real, []Real) {
           ys: []Real = for i < n with (a = xs) {
             b: []Real = call set(a, i, x)
             c: []Real, d: []Real = call two(b, b, i)
             e: []Real = append(c, d)
             yield e
           }
           zs: []Real = call grow(ys, x, 3)
           us: []Real = call set(zs, 1, x)
           s: Real = get(zs, 1)
           vs: []Real = call perhaps(us, s)
           return s, vs, ys
         }
         fn set(a: []Real, i: Int, x: Real) -> ([]Real) {
           y: Real = get(a, i)
           z: Real = real.mul(x, y)
           b: []Real = update(a, i, z)
           return b
         }
         fn two(a: []Real, b: []Real, i: Int) -> ([]Real, []Real) {
           x: Real = get(a, i)
           y: Real = real.sin(x)
           c: []Real = update(b, 0, y)
           return c, a
         }
         fn grow(a: []Real, x: Real, n: Int) -> ([]Real) {
           p: Bool = eq[Int](n, 0)
           r: []Real = if p { yield a } else {
             y: Real = get(a, n)
             z: Real = real.mul(x, y)
             e: []Real = elements[Real](z)
             b: []Real = append(a, e)
             m: Int = int.sub(n, 1)
             c: []Real = call grow(b, z, m)
             yield c
           }
           return r
         }
         fn perhaps(a: []Real, s: Real) -> ([]Real) {
           p: Bool = gt[Real](s, 0.5)
           r: []Real = if p {
             b: []Real = call set(a, 0, s)
             yield b
           } else {
             b: []Real = elements[Real](s, s)
             yield b
           }
           return r
         }",
        &[real(0.9), reals(&[0.5, 2.0, 3.0]), FlatValue::Int(3)],
    );
}

#[test]
fn boxes() {
    check(
        "entry main
         box List { Nil, Cons(Real, Int, &List) }
         box State { State(Real, []Real, &List), Other(Int) }
         fn main(x: Real, xs: []Real, n: Int) -> (Real, Real, []Real) {
           l: &List = call upto(x, n)
           s: Real = call sum(l)
           h: Real = call head(l)
           e: &State = new State:State(s, xs, l)
           t: &State = for i < n with (a = e) {
             y: Real = field[0, 0](a)
             ys: []Real = field[0, 1](a)
             k: &List = field[0, 2](a)
             c: Real = call head(k)
             z: Real = get(ys, i)
             w: Real = real.mul(z, c)
             u: Real = real.add(w, y)
             p: Bool = gt[Real](u, 1.0)
             b: &State = if p {
               v: []Real = update(ys, 0, u)
               g: &State = new State:State(w, v, k)
               yield g
             } else {
               m: &List = new List:Cons(u, 3, k)
               g: &State = new State:State(x, ys, m)
               yield g
             }
             yield b
           }
           q: Real = field[0, 0](t)
           r: []Real = field[0, 1](t)
           k: &List = field[0, 2](t)
           c: Real = call sum(k)
           d: Real = real.mul(c, h)
           return d, q, r
         }
         fn upto(x: Real, n: Int) -> (&List) {
           p: Bool = le[Int](n, 0)
           l: &List = if p { e: &List = new List:Nil() yield e } else {
             m: Int = int.sub(n, 1)
             y: Real = real.sin(x)
             t: &List = call upto(y, m)
             c: &List = new List:Cons(x, n, t)
             yield c
           }
           return l
         }
         fn head(l: &List) -> (Real) {
           g: Int = tag(l)
           s: Real = switch g {
             0 { yield 0.5 }
             1 { x: Real = field[1, 0](l) yield x }
           }
           return s
         }
         fn sum(l: &List) -> (Real) {
           g: Int = tag(l)
           s: Real = switch g {
             0 { yield 0.0 }
             1 {
               x: Real = field[1, 0](l)
               t: &List = field[1, 2](l)
               r: Real = call sum(t)
               y: Real = real.mul(x, x)
               a: Real = real.add(y, r)
               yield a
             }
           }
           return s
         }",
        &[real(0.9), reals(&[0.5, 2.0, 3.0]), FlatValue::Int(3)],
    );
}
