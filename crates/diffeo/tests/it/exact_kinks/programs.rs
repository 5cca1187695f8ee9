//! Random programs with kinks that many points of whole numbers meet, as text and evaluated beside a point.
//!
//! What always holds: a program is continuous and piecewise a polynomial with whole coefficients, so that it is exact in
//! both arithmetics.

use super::infinitesimal::{Number, INPUTS};
use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

/// The functions that the programs call.
pub const LIBRARY: &str = "
def largest(xs: List[Real], m: Real) -> Real = case xs of { Nil -> m | Cons(x, rest) -> largest(rest, max(x, m)) }
def lengths(xs: List[Real]) -> Real = case xs of { Nil -> 0.0 | Cons(x, rest) -> abs(x) + lengths(rest) }
def insert(x: Real, xs: List[Real]) -> List[Real] =
  case xs of { Nil -> list[x] | Cons(y, rest) -> if x <= y then Cons(x, xs) else Cons(y, insert(x, rest)) }
def sorted(xs: List[Real]) -> List[Real] = case xs of { Nil -> Nil | Cons(x, rest) -> insert(x, sorted(rest)) }
def first(xs: List[Real]) -> Real = case xs of { Nil -> 0.0 | Cons(x, _) -> x }
def steps(n: Int, x: Real, y: Real) -> Real = if n == 0 then x else steps(n - 1, max(x, y) - relu(y), min(x, y))
def wave(x: Real) -> Real = let k = real(floor(x)) in (x - k) * (k + 1.0 - x)
def grad_by_values(f: a -> Real, directions: []a) -> (a -> a) = grad(f)
";

#[derive(Clone)]
enum Expr {
    Input(usize),
    Constant(i64),
    /// `+`, `-` or `*`
    Smooth(char, [Box<Expr>; 2]),
    /// A function of the library of one or two arguments.
    Call(&'static str, Vec<Expr>),
    /// An element of a sorted array.
    Sorted(usize, Vec<Expr>),
    /// `if u < v then p + (v - u) * q else p + (u - v) * r`, by this comparison.
    If(&'static str, Box<[Expr; 5]>),
    /// `if u == v then p else p + (u - v) * q`
    Point(Box<[Expr; 4]>),
    /// `let f = fn z -> abs(z - a) + z in f(b) - f(c)`
    Closure(Box<[Expr; 3]>),
    /// `loop y = a for i < 3 do max(y, b) - abs(y - b)`
    Loop(Box<[Expr; 2]>),
}

/// A function of some Reals, the point at which it is differentiated, and directions.
#[derive(Clone)]
pub struct Program {
    body: Rc<Expr>,
    point: Vec<i64>,
    directions: Vec<Vec<i64>>,
}

/// Makes programs, the same from the same seed.
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator(seed)
    }

    /// SplitMix64.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn small(&mut self) -> i64 {
        self.below(5) as i64 - 2
    }

    /// A program of so many inputs; of any number for 0.
    pub fn program(&mut self, inputs: usize) -> Program {
        let inputs = if inputs == 0 { 1 + self.below(INPUTS as u64) as usize } else { inputs };
        let body = Rc::new(self.expr(inputs, 4));
        let point = (0..inputs).map(|_| self.small()).collect();
        let count = self.below(inputs as u64 + 1) as usize;
        let directions = (0..count).map(|_| (0..inputs).map(|_| self.small()).collect()).collect();
        Program { body, point, directions }
    }

    fn expr(&mut self, inputs: usize, depth: u32) -> Expr {
        if depth == 0 {
            return match self.below(4) {
                0 => Expr::Constant(self.small()),
                _ => Expr::Input(self.below(inputs as u64) as usize),
            };
        }
        let below = depth - 1 - self.below(u64::from(depth.min(2))) as u32;
        let e = |g: &mut Generator| g.expr(inputs, below);
        match self.below(16) {
            0..=2 => {
                Expr::Smooth(['+', '-'][self.below(2) as usize], [0, 1].map(|_| Box::new(e(self))))
            }
            3 => Expr::Smooth('*', [0, 1].map(|_| Box::new(e(self)))),
            4 => Expr::Call("abs", vec![e(self)]),
            5 => Expr::Call("relu", vec![e(self)]),
            6 => Expr::Call("max", vec![e(self), e(self)]),
            7 => Expr::Call("min", vec![e(self), e(self)]),
            8 => Expr::Call("wave", vec![e(self)]),
            9 => Expr::Call(
                ["largest", "lengths", "sorted"][self.below(3) as usize],
                vec![e(self), e(self), e(self)],
            ),
            10 => Expr::Call("steps", vec![e(self), e(self)]),
            11 => Expr::Sorted(self.below(3) as usize, vec![e(self), e(self), e(self)]),
            12 | 13 => {
                let sign = ["<", "<=", ">", ">="][self.below(4) as usize];
                Expr::If(sign, Box::new([0; 5].map(|_| e(self))))
            }
            14 => match self.below(2) {
                0 => Expr::Point(Box::new([0; 4].map(|_| e(self)))),
                _ => Expr::Loop(Box::new([0; 2].map(|_| e(self)))),
            },
            _ => Expr::Closure(Box::new([0; 3].map(|_| e(self)))),
        }
    }
}

/// A whole number as a Real of the language.
fn real(x: i64) -> String {
    if x < 0 {
        format!("({x}.0)")
    } else {
        format!("{x}.0")
    }
}

impl Expr {
    fn text(&self) -> String {
        let all = |es: &[Expr]| es.iter().map(Expr::text).collect::<Vec<_>>();
        match self {
            Expr::Input(i) => format!("x{i}"),
            Expr::Constant(x) => real(*x),
            Expr::Smooth(sign, [a, b]) => format!("({} {sign} {})", a.text(), b.text()),
            Expr::Call("largest", es) => {
                let [a, b, c] = [0, 1, 2].map(|i| es[i].text());
                format!("largest(list[{a}, {b}], {c})")
            }
            Expr::Call("sorted", es) => format!("first(sorted(list[{}]))", all(es).join(", ")),
            Expr::Call("lengths", es) => format!("lengths(list[{}])", all(es).join(", ")),
            Expr::Call("steps", es) => format!("steps(3, {})", all(es).join(", ")),
            Expr::Call(name, es) => format!("{name}({})", all(es).join(", ")),
            Expr::Sorted(i, es) => format!("sort([{}])[{i}]", all(es).join(", ")),
            Expr::If(sign, parts) => {
                let [u, v, p, q, r] = parts.each_ref().map(Expr::text);
                format!(
                    "(let (u, v, p) = ({u}, {v}, {p}) in if u {sign} v then p + (v - u) * {q} else p + (u - v) * {r})"
                )
            }
            Expr::Point(parts) => {
                let [u, v, p, q] = parts.each_ref().map(Expr::text);
                format!(
                    "(let (u, v, p) = ({u}, {v}, {p}) in if u == v then p else p + (u - v) * {q})"
                )
            }
            Expr::Closure(parts) => {
                let [a, b, c] = parts.each_ref().map(Expr::text);
                format!("(let a = {a} in let f = fn z -> abs(z - a) + z in f({b}) - f({c}))")
            }
            Expr::Loop(parts) => {
                let [a, b] = parts.each_ref().map(Expr::text);
                format!("(let b = {b} in loop y = {a} for i < 3 do max(y, b) - abs(y - b))")
            }
        }
    }

    /// The value beside the point; sets `met` where the numbers without infinitesimals tie.
    fn value(&self, xs: &[Number], met: &Cell<bool>) -> Option<Number> {
        let zero = || Number::constant(0);
        let order = |a: &Number, b: &Number| {
            met.set(met.get() || a.standard() == b.standard());
            a.order(b)
        };
        let larger =
            |a: &Number, b: &Number| if order(a, b).is_lt() { b.clone() } else { a.clone() };
        let smaller =
            |a: &Number, b: &Number| if order(a, b).is_gt() { b.clone() } else { a.clone() };
        let abs = |a: &Number| match order(a, &zero()) {
            Ordering::Less => zero().minus(a),
            Ordering::Equal | Ordering::Greater => Some(a.clone()),
        };
        let sorted = |mut all: Vec<Number>| {
            // By hand, so that it asks of neighbours that tie, too.
            for _ in 0..all.len() {
                for i in 1..all.len() {
                    let (a, b) = (smaller(&all[i - 1], &all[i]), larger(&all[i - 1], &all[i]));
                    (all[i - 1], all[i]) = (a, b);
                }
            }
            all
        };
        let all = |es: &[Expr]| es.iter().map(|e| e.value(xs, met)).collect::<Option<Vec<_>>>();
        match self {
            Expr::Input(i) => Some(xs[*i].clone()),
            Expr::Constant(x) => Some(Number::constant(*x)),
            Expr::Smooth(sign, [a, b]) => {
                let (a, b) = (a.value(xs, met)?, b.value(xs, met)?);
                match sign {
                    '+' => a.plus(&b),
                    '-' => a.minus(&b),
                    _ => a.times(&b),
                }
            }
            Expr::Call(name, es) => {
                let es = all(es)?;
                match *name {
                    "abs" => abs(&es[0]),
                    "relu" => Some(larger(&es[0], &zero())),
                    "max" => Some(larger(&es[0], &es[1])),
                    "min" => Some(smaller(&es[0], &es[1])),
                    "wave" => {
                        let x = &es[0];
                        let mut k = Number::constant(i64::try_from(x.standard()).ok()?);
                        met.set(true);
                        if x.order(&k).is_lt() {
                            k = k.minus(&Number::constant(1))?;
                        }
                        x.minus(&k)?.times(&k.plus(&Number::constant(1))?.minus(x)?)
                    }
                    "largest" => Some(larger(&larger(&es[0], &es[1]), &es[2])),
                    "lengths" => abs(&es[0])?.plus(&abs(&es[1])?)?.plus(&abs(&es[2])?),
                    "sorted" => Some(sorted(es)[0].clone()),
                    "steps" => {
                        let (mut x, mut y) = (es[0].clone(), es[1].clone());
                        for _ in 0..3 {
                            let next = larger(&x, &y).minus(&larger(&y, &zero()))?;
                            (x, y) = (next, smaller(&x, &y));
                        }
                        Some(x)
                    }
                    other => panic!("{other}"),
                }
            }
            Expr::Sorted(i, es) => Some(sorted(all(es)?)[*i].clone()),
            Expr::If(sign, parts) => {
                let [u, v, p] = [0, 1, 2].map(|i| parts[i].value(xs, met));
                let (u, v, p) = (u?, v?, p?);
                let order = order(&u, &v);
                let holds = match *sign {
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                };
                let (difference, factor) =
                    if holds { (v.minus(&u)?, &parts[3]) } else { (u.minus(&v)?, &parts[4]) };
                p.plus(&difference.times(&factor.value(xs, met)?)?)
            }
            Expr::Point(parts) => {
                let [u, v, p] = [0, 1, 2].map(|i| parts[i].value(xs, met));
                let (u, v, p) = (u?, v?, p?);
                match order(&u, &v) {
                    Ordering::Equal => Some(p),
                    _ => p.plus(&u.minus(&v)?.times(&parts[3].value(xs, met)?)?),
                }
            }
            Expr::Closure(parts) => {
                let [a, b, c] = parts.each_ref().map(|e| e.value(xs, met));
                let (a, b, c) = (a?, b?, c?);
                let f = |z: &Number| abs(&z.minus(&a)?)?.plus(z);
                f(&b)?.minus(&f(&c)?)
            }
            Expr::Loop(parts) => {
                let (mut y, b) = (parts[0].value(xs, met)?, parts[1].value(xs, met)?);
                for _ in 0..3 {
                    y = larger(&y, &b).minus(&abs(&y.minus(&b)?)?)?;
                }
                Some(y)
            }
        }
    }
}

impl Program {
    pub fn inputs(&self) -> usize {
        self.point.len()
    }

    /// The same function at the point and along the directions of another program.
    pub fn along(&self, other: &Program) -> Program {
        Program { body: self.body.clone(), ..other.clone() }
    }

    /// The sum of two functions of one point.
    pub fn plus(&self, other: &Program) -> Program {
        let parts = [&self.body, &other.body].map(|body| Box::new((**body).clone()));
        Program { body: Rc::new(Expr::Smooth('+', parts)), ..self.clone() }
    }

    /// The same with the unit vectors alone.
    pub fn without_directions(self) -> Program {
        Program { directions: Vec::new(), ..self }
    }

    /// The same along unit vectors, some of them backwards.
    pub fn turned(&self, signs: &[i64]) -> Program {
        let unit = |i: usize| (0..signs.len()).map(|j| if i == j { signs[i] } else { 0 }).collect();
        Program { directions: (0..signs.len()).map(unit).collect(), ..self.clone() }
    }

    fn beside(&self) -> Option<(Number, bool)> {
        let count = self.inputs();
        let given = self.directions.len();
        let inputs = (0..count).map(|i| {
            let along = self.directions.iter().map(|d| d[i]).enumerate();
            let along: Vec<(usize, i64)> = along.chain([(given + i, 1)]).collect();
            Number::moved(self.point[i], &along, &[(i, 1)])
        });
        let met = Cell::new(false);
        let value = self.body.value(&inputs.collect::<Vec<_>>(), &met)?;
        Some((value, met.get()))
    }

    /// The gradient beside the point, and whether something was undecided; nothing if numbers are too large.
    pub fn gradient(&self) -> Option<(Vec<i64>, bool)> {
        let (value, met) = self.beside()?;
        Some((value.gradient()[..self.inputs()].iter().map(|x| *x as i64).collect(), met))
    }

    /// The second derivatives beside the point along these unit vectors.
    pub fn hessian(&self, signs: &[i64]) -> Option<Vec<i64>> {
        let (value, _) = self.turned(signs).beside()?;
        let count = self.inputs();
        let rows = value.hessian();
        Some(rows[..count].iter().flat_map(|row| row[..count].iter().map(|x| *x as i64)).collect())
    }

    fn function(&self) -> String {
        let names: Vec<String> = (0..self.inputs()).map(|i| format!("x{i}")).collect();
        let body = self.body.text();
        format!("fn (xs: []Real) -> let ({}) = ({}) in {body}", names.join(", "), self.reads())
            .replace("let (x0) = (xs[0]) in", "let x0 = xs[0] in")
    }

    fn reads(&self) -> String {
        (0..self.inputs()).map(|i| format!("xs[{i}]")).collect::<Vec<_>>().join(", ")
    }

    fn vector(xs: &[i64]) -> String {
        format!("[{}]", xs.iter().map(|x| real(*x)).collect::<Vec<_>>().join(", "))
    }

    /// The gradient, as text; an element for each input, for lists of programs of any number of inputs.
    pub fn call(&self, by: &str) -> String {
        let directions: Vec<String> = self.directions.iter().map(|d| Program::vector(d)).collect();
        let gradient = format!(
            "{by}({}, [{}])({})",
            self.function(),
            directions.join(", "),
            Program::vector(&self.point)
        );
        format!("show({gradient})")
    }

    /// Value and derivatives up to order 2 of a function of one Real, as text.
    pub fn call_taylor(&self) -> String {
        let f = format!("fn x -> ({})([x])", self.function());
        format!("show(derivatives(2, {f})({}))", real(self.point[0]))
    }

    /// The second derivatives, as text.
    pub fn call_hessian(&self) -> String {
        format!("show(hessian({})({}))", self.function(), Program::vector(&self.point))
    }
}
