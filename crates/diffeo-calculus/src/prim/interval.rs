//! The interval extension of each operation on Reals: sets that certainly have the values of an operation at all numbers
//! of its operands.
//!
//! What comes in: intervals. What goes out: an interval that contains the exact values, or why there is none. Arithmetic
//! and the square root are rounded outward by error-free transformations: each end is the nearest number on its side, and
//! exact results are points. Elementary functions are those of the crate `libm`, the same code on every platform, whose
//! sources state errors below 1 ulp ([`SMALL`]) or 2 ulp ([`LARGE`]), widened by twice as much and more. An infinite end
//! is no bound; the point infinity is the number `inf` of a program. What always holds: no end is nan, the lower one is not
//! above the upper one, zeros are positive.

use super::special::polygamma;
use super::RealOp;
use std::f64::consts::{FRAC_PI_2, PI};

/// The numbers between two.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

/// Why an operation has no certain value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncertain {
    /// Some of the operands lie outside the domain.
    Outside,
    /// The operation has no interval extension there.
    Unknown,
}

/// An interval that contains the values.
pub type Enclosed = Result<Interval, Uncertain>;

/// The ulp by which results are widened whose error is below 1 ulp.
const SMALL: u32 = 2;
/// The ulp by which results are widened whose error is below 2 ulp.
const LARGE: u32 = 4;
/// The ulp by which the logarithm of the gamma function is widened.
const GAMMA: u32 = 64;
/// The relative error of polygamma functions of positive numbers, and near the zero of digamma the absolute one.
const POLYGAMMA: f64 = 1e-12;

fn down(x: f64, ulps: u32) -> f64 {
    (0..ulps).fold(x, |x, _| x.next_down())
}

fn up(x: f64, ulps: u32) -> f64 {
    (0..ulps).fold(x, |x, _| x.next_up())
}

/// Below this, what rounding has lost may be too small for a number.
const TINY: f64 = 1e-280;

/// The bounds of a number that was rounded to the nearest, where the exact one is above (1), below (-1), or this (0).
fn bounds(rounded: f64, exact_is: f64) -> [f64; 2] {
    if rounded.is_infinite() || !exact_is.is_finite() {
        [rounded.next_down(), rounded.next_up()]
    } else if exact_is > 0.0 {
        [rounded, rounded.next_up()]
    } else if exact_is < 0.0 {
        [rounded.next_down(), rounded]
    } else {
        [rounded; 2]
    }
}

/// The bounds of `a + b`.
fn sum(a: f64, b: f64) -> [f64; 2] {
    let s = a + b;
    if a.is_infinite() || b.is_infinite() {
        return [s; 2];
    }
    let t = s - a;
    bounds(s, (a - (s - t)) + (b - t))
}

/// The bounds of `a * b`; 0 where one is 0, for an infinite end is no number.
fn product(a: f64, b: f64) -> [f64; 2] {
    if a == 0.0 || b == 0.0 {
        return [0.0; 2];
    }
    let p = a * b;
    if a.is_infinite() || b.is_infinite() {
        return [p; 2];
    }
    let error = match p.abs() {
        0.0 => a.signum() * b.signum(),
        size if size < TINY => f64::NAN,
        _ => a.mul_add(b, -p),
    };
    bounds(p, error)
}

/// The bounds of `a / b`, b not 0.
fn quotient(a: f64, b: f64) -> [f64; 2] {
    if a == 0.0 {
        return [0.0; 2];
    }
    if b.is_infinite() {
        // Two infinite ends: any quotient of the numbers before them.
        return if a.is_infinite() { [0.0, a * b.signum()].map(ordered_zero) } else { [0.0; 2] };
    }
    let q = a / b;
    if a.is_infinite() {
        return [q; 2];
    }
    let tiny = q.abs() < TINY || a.abs() < TINY;
    let rest = if tiny { f64::NAN } else { (-q).mul_add(b, a) };
    bounds(q, rest * b.signum())
}

/// A zero is positive.
fn ordered_zero(x: f64) -> f64 {
    x + 0.0
}

fn root(x: f64) -> [f64; 2] {
    let s = x.sqrt();
    if x == 0.0 || x.is_infinite() {
        return [s; 2];
    }
    let rest = if x < TINY { f64::NAN } else { (-s).mul_add(s, x) };
    bounds(s, rest)
}

/// A result that is this number up to so many ulp.
fn near(x: f64, ulps: u32) -> [f64; 2] {
    [down(x, ulps), up(x, ulps)]
}

impl Interval {
    /// All numbers.
    pub const ALL: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    /// One number; none of nan.
    pub fn point(x: f64) -> Option<Interval> {
        Interval::new(x, x)
    }

    /// The numbers between two; none if there are none, or an end is nan.
    pub fn new(lo: f64, hi: f64) -> Option<Interval> {
        (lo <= hi).then(|| Interval { lo: ordered_zero(lo), hi: ordered_zero(hi) })
    }

    /// The lower end.
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The upper end.
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// One number.
    pub fn is_point(self) -> bool {
        self.lo == self.hi
    }

    /// A number lies in it.
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// A number in the middle, finite unless the interval is infinite.
    pub fn middle(self) -> f64 {
        if self.is_point() {
            self.lo
        } else {
            self.lo.clamp(-f64::MAX, f64::MAX) / 2.0 + self.hi.clamp(-f64::MAX, f64::MAX) / 2.0
        }
    }

    /// The smallest interval that contains both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The nearest numbers below and above, as the only bounds of one that is rounded.
    pub fn around(x: f64, ulps: u32) -> Option<Interval> {
        Interval::new(down(x, ulps), up(x, ulps))
    }

    /// An Int.
    pub fn of_int(n: i64) -> Interval {
        let x = n as f64;
        let exact_is = (i128::from(n) - x as i128) as f64;
        let [lo, hi] = bounds(x, exact_is);
        Interval { lo, hi }
    }

    /// The least absolute value.
    fn least(self) -> f64 {
        if self.contains(0.0) {
            0.0
        } else {
            self.lo.abs().min(self.hi.abs())
        }
    }

    /// The greatest absolute value.
    fn greatest(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    fn of(ends: [f64; 2]) -> Enclosed {
        Interval::new(ends[0], ends[1]).ok_or(Uncertain::Outside)
    }

    /// The hull of the bounds of a value at each of some corners.
    fn over(corners: impl IntoIterator<Item = [f64; 2]>) -> Enclosed {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for [l, h] in corners {
            if l.is_nan() || h.is_nan() {
                return Err(Uncertain::Outside);
            }
            (lo, hi) = (lo.min(l), hi.max(h));
        }
        Interval::of([lo, hi])
    }

    /// The values of a monotone function, by its bounds at the ends.
    fn monotone(self, f: impl Fn(f64) -> [f64; 2]) -> Enclosed {
        Interval::over([f(self.lo), f(self.hi)])
    }

    /// The values of an even function that grows with the absolute value, or falls with it.
    fn even(self, f: impl Fn(f64) -> [f64; 2]) -> Enclosed {
        Interval::over([f(self.least()), f(self.greatest())])
    }

    /// The part that lies in the range of a function: rounding may have left it.
    fn within(self, lo: f64, hi: f64) -> Interval {
        Interval { lo: self.lo.clamp(lo, hi), hi: self.hi.clamp(lo, hi) }
    }

    /// The interval, if it lies in the domain of a function.
    fn inside(self, inside: bool) -> Enclosed {
        if inside {
            Ok(self)
        } else {
            Err(Uncertain::Outside)
        }
    }

    fn is_infinite_point(self) -> bool {
        self.is_point() && self.lo.is_infinite()
    }
}

/// The bounds of a function of `libm`, exact where it is known to be.
fn elementary(f: fn(f64) -> f64, ulps: u32, exact_at: f64) -> impl Fn(f64) -> [f64; 2] {
    move |x| {
        let y = f(x);
        match x == exact_at || x.is_infinite() {
            true => [y; 2],
            false => near(y, ulps),
        }
    }
}

/// The values of an operation at all operands in these intervals; a unary one ignores `b`.
///
/// # Errors
/// The operands do not all lie in the domain.
pub fn enclose(op: RealOp, a: Interval, b: Interval) -> Enclosed {
    let unit = |y: Interval| y.within(-1.0, 1.0);
    let positive = |y: Interval| y.within(0.0, f64::INFINITY);
    match op {
        RealOp::Add => add(a, b),
        RealOp::Sub => add(a, negative(b)),
        RealOp::Mul => multiply(a, b),
        RealOp::Div => divide(a, b),
        RealOp::Neg => Ok(negative(a)),
        RealOp::Rem => remainder(a, b),
        RealOp::Pow => power(a, b),
        RealOp::Exp => a.monotone(elementary(libm::exp, SMALL, 0.0)).map(positive),
        RealOp::Log => a.inside(a.lo > 0.0)?.monotone(elementary(libm::log, SMALL, 1.0)),
        RealOp::Sqrt => a.inside(a.lo >= 0.0)?.monotone(root),
        RealOp::Cbrt => a.monotone(elementary(libm::cbrt, SMALL, 0.0)),
        RealOp::Sin => wave(libm::sin, a, 1, 3),
        RealOp::Cos => wave(libm::cos, a, 0, 2),
        RealOp::Tan => {
            // No number of 64 bits is a pole.
            let pole = |quarter| turns(a, quarter).is_none_or(|is| is);
            let defined = a.is_point() && a.lo.is_finite() || !pole(1) && !pole(3);
            a.inside(defined)?.monotone(elementary(libm::tan, SMALL, 0.0))
        }
        RealOp::Asin => {
            let a = a.inside(a.greatest() <= 1.0)?;
            a.monotone(elementary(libm::asin, SMALL, 0.0))
        }
        RealOp::Acos => {
            let a = a.inside(a.greatest() <= 1.0)?;
            a.monotone(elementary(libm::acos, SMALL, 1.0)).map(positive)
        }
        RealOp::Atan => a.monotone(|x| near(libm::atan(x), if x == 0.0 { 0 } else { SMALL })),
        RealOp::Sinh => a.monotone(elementary(libm::sinh, LARGE, 0.0)),
        RealOp::Cosh => {
            a.even(elementary(libm::cosh, LARGE, 0.0)).map(|y| y.within(1.0, f64::INFINITY))
        }
        RealOp::Tanh => a.monotone(elementary(libm::tanh, LARGE, 0.0)).map(unit),
        RealOp::Asinh => a.monotone(elementary(libm::asinh, LARGE, 0.0)),
        RealOp::Acosh => {
            let a = a.inside(a.lo >= 1.0)?;
            a.monotone(elementary(libm::acosh, LARGE, 1.0)).map(positive)
        }
        RealOp::Atanh => {
            a.inside(a.greatest() < 1.0)?.monotone(elementary(libm::atanh, LARGE, 0.0))
        }
        RealOp::Expm1 => {
            a.monotone(elementary(libm::expm1, SMALL, 0.0)).map(|y| y.within(-1.0, f64::INFINITY))
        }
        RealOp::Log1p => a.inside(a.lo > -1.0)?.monotone(elementary(libm::log1p, SMALL, 0.0)),
        RealOp::Sigmoid => a.ends(sigmoid).map(|y| y.within(0.0, 1.0)),
        RealOp::Softplus => a.ends(softplus).map(positive),
        RealOp::Erf => a.monotone(elementary(libm::erf, LARGE, 0.0)).map(unit),
        RealOp::Erfc => a.monotone(elementary(libm::erfc, LARGE, 0.0)).map(|y| y.within(0.0, 2.0)),
        RealOp::Lgamma => log_gamma(a),
        RealOp::Polygamma(n) => polygammas(n, a),
        RealOp::Atan2 => angle(a, b),
        RealOp::Hypot => length(a, b),
        RealOp::Unit => cosine(a, b).map(unit),
        RealOp::Sech => {
            let [least, greatest] = [a.least(), a.greatest()].map(sech);
            Ok(least?.hull(greatest?).within(0.0, 1.0))
        }
        RealOp::OneMinusSquare => {
            let square = a.even(|x| product(x, x))?;
            add(Interval { lo: 1.0, hi: 1.0 }, negative(square))
        }
        RealOp::Abs => a.even(|x| [x; 2]),
        RealOp::Sign => {
            let sign = |x: f64| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0));
            a.monotone(|x| [sign(x); 2])
        }
        RealOp::Min => Interval::of([a.lo.min(b.lo), a.hi.min(b.hi)]),
        RealOp::Max => Interval::of([a.lo.max(b.lo), a.hi.max(b.hi)]),
    }
}

/// The values of an operation whose two operands are one number in this interval.
///
/// # Errors
/// As for [`enclose`].
pub fn enclose_twice(op: RealOp, a: Interval) -> Enclosed {
    match op {
        RealOp::Mul => power_int(a, 2),
        RealOp::Sub => Ok(ZERO),
        RealOp::Div if !a.contains(0.0) => Ok(ONE),
        RealOp::Min | RealOp::Max => Ok(a),
        op => enclose(op, a, a),
    }
}

impl Interval {
    /// The values of a monotone function, by its intervals at the ends.
    fn ends(self, f: impl Fn(f64) -> Enclosed) -> Enclosed {
        Ok(f(self.lo)?.hull(f(self.hi)?))
    }
}

fn negative(a: Interval) -> Interval {
    Interval { lo: ordered_zero(-a.hi), hi: ordered_zero(-a.lo) }
}

fn add(a: Interval, b: Interval) -> Enclosed {
    // `inf` of a program and an end that is no bound; of opposite signs there is no sum.
    let [points, others] = [[a, b].map(Interval::is_infinite_point), [a, b].map(|x| !x.is_point())];
    if points == [true; 2] && a.lo != b.lo {
        return Err(Uncertain::Outside);
    }
    for (i, x) in [a, b].into_iter().enumerate() {
        if points[i] && others[1 - i] {
            return Ok(x);
        }
    }
    Interval::of([sum(a.lo, b.lo)[0], sum(a.hi, b.hi)[1]])
}

fn multiply(a: Interval, b: Interval) -> Enclosed {
    let infinite = a.is_infinite_point() && b.contains(0.0);
    if infinite || (b.is_infinite_point() && a.contains(0.0)) {
        return Err(Uncertain::Outside);
    }
    let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
    Interval::over(corners.map(|(x, y)| product(x, y)))
}

fn divide(a: Interval, b: Interval) -> Enclosed {
    if b.contains(0.0) || (a.is_infinite_point() && b.is_infinite_point()) {
        return Err(Uncertain::Outside);
    }
    let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
    Interval::over(corners.map(|(x, y)| {
        let [p, q] = quotient(x, y);
        [p.min(q), p.max(q)]
    }))
}

/// `x` to an Int, its powers being positive factors that grow with the absolute value or fall with it.
pub fn power_int(x: Interval, n: i64) -> Enclosed {
    if n == 0 {
        return Ok(Interval { lo: 1.0, hi: 1.0 });
    }
    if n < 0 {
        let positive = power_int(x, n.checked_neg().ok_or(Uncertain::Unknown)?)?;
        return divide(Interval { lo: 1.0, hi: 1.0 }, positive).or_else(|why| {
            // The power of a small number is 0 to the nearest, though the number is not.
            if x.contains(0.0) {
                Err(why)
            } else {
                Ok(Interval {
                    lo: if n % 2 == 0 { 0.0 } else { f64::NEG_INFINITY },
                    hi: f64::INFINITY,
                })
            }
        });
    }
    // The power of a number that is not negative.
    let of = |x: f64| -> [f64; 2] {
        if n > 64 {
            let y = libm::pow(x, n as f64);
            let exact = x == 0.0 || x == 1.0 || x.is_infinite();
            return if exact { [y; 2] } else { near(y, SMALL).map(|y| y.max(0.0)) };
        }
        let (mut power, mut base, mut left) = ([1.0; 2], [x; 2], n);
        while left > 0 {
            if left & 1 == 1 {
                power = [product(power[0], base[0])[0], product(power[1], base[1])[1]];
            }
            left >>= 1;
            if left > 0 {
                base = [product(base[0], base[0])[0], product(base[1], base[1])[1]];
            }
        }
        [power[0].max(0.0), power[1]]
    };
    if n > 1 << 53 {
        return Err(Uncertain::Unknown);
    }
    if n % 2 == 0 {
        x.even(of)
    } else {
        x.monotone(|x| match x < 0.0 {
            true => {
                let [lo, hi] = of(-x);
                [-hi, -lo]
            }
            false => of(x),
        })
    }
}

fn power(a: Interval, b: Interval) -> Enclosed {
    if b.is_point() && b.lo.fract() == 0.0 && b.lo.abs() <= 9e15 {
        return power_int(a, b.lo as i64);
    }
    let defined = a.lo > 0.0 || (a.lo == 0.0 && b.lo > 0.0);
    if !defined || a.is_infinite_point() || b.is_infinite_point() {
        return Err(Uncertain::Outside);
    }
    // On each edge it is monotone, so the extrema are at corners.
    let corners = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
    let of = |(x, e): (f64, f64)| {
        // The limit along an end that is no bound, where there is one.
        let limitless = (x == 1.0 && e.is_infinite()) || (x.is_infinite() && e == 0.0);
        if limitless {
            return [0.0, f64::INFINITY];
        }
        let y = libm::pow(x, e);
        let exact = x == 0.0 || x == 1.0 || e == 0.0 || x.is_infinite() || e.is_infinite();
        if exact {
            [y; 2]
        } else {
            near(y, SMALL)
        }
    };
    Interval::over(corners.map(of)).map(|y| y.within(0.0, f64::INFINITY))
}

/// The quotient of `a % b` truncated towards zero, if it is one for all operands.
pub fn whole_quotient(a: Interval, b: Interval) -> Option<f64> {
    let q = divide(a, b).ok()?;
    let n = q.lo.trunc();
    (n == q.hi.trunc() && n.abs() < 9e15).then_some(ordered_zero(n))
}

fn remainder(a: Interval, b: Interval) -> Enclosed {
    if b.contains(0.0) || a.is_infinite_point() {
        return Err(Uncertain::Outside);
    }
    if a.is_point() && b.is_point() {
        // Exact.
        return Interval::of([a.lo % b.lo; 2]);
    }
    // It has the sign of a, is no more than |a|, and less than |b|.
    let most = b.greatest();
    let bounded = Interval { lo: a.lo.min(0.0).max(-most), hi: a.hi.max(0.0).min(most) };
    match whole_quotient(a, b) {
        None => Ok(bounded),
        Some(n) => {
            let n = Interval { lo: n, hi: n };
            let rest = add(a, negative(multiply(n, b)?))?;
            let (lo, hi) = (rest.lo.max(bounded.lo), rest.hi.min(bounded.hi));
            Interval::of([lo, hi]).or(Ok(bounded))
        }
    }
}

/// A number `(n + quarter / 4) 2π` may lie in the interval; nothing where that is not known.
fn turns(a: Interval, quarter: u32) -> Option<bool> {
    if !a.lo.is_finite() || !a.hi.is_finite() {
        return None;
    }
    let turn = Interval { lo: 2.0 * PI, hi: (2.0 * PI).next_up() };
    let q = divide(a, turn).ok()?;
    let shift = Interval { lo: f64::from(quarter) / 4.0, hi: f64::from(quarter) / 4.0 };
    let q = add(q, negative(shift)).ok()?;
    Some(q.lo.ceil() <= q.hi.floor())
}

/// Sine or cosine: with 1 at this quarter of a turn, and -1 at the other.
fn wave(f: fn(f64) -> f64, a: Interval, top: u32, bottom: u32) -> Enclosed {
    if a.is_infinite_point() {
        return Err(Uncertain::Outside);
    }
    if a.is_point() {
        return a.monotone(elementary(f, SMALL, 0.0)).map(|y| y.within(-1.0, 1.0));
    }
    let ends = match a.lo.is_finite() && a.hi.is_finite() {
        true => a.monotone(elementary(f, SMALL, 0.0))?,
        false => Interval { lo: -1.0, hi: 1.0 },
    };
    let lo = if turns(a, bottom).is_none_or(|is| is) { -1.0 } else { ends.lo };
    let hi = if turns(a, top).is_none_or(|is| is) { 1.0 } else { ends.hi };
    Ok(Interval { lo, hi }.within(-1.0, 1.0))
}

const ZERO: Interval = Interval { lo: 0.0, hi: 0.0 };
const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

fn exp(x: f64) -> Enclosed {
    enclose(RealOp::Exp, Interval::of([x; 2])?, ZERO)
}

/// `1 / (1 + exp(-x))`
fn sigmoid(x: f64) -> Enclosed {
    if x == f64::INFINITY {
        return Ok(ONE);
    }
    divide(ONE, add(ONE, exp(-x)?)?)
}

/// `max(x, 0) + log1p(exp(-|x|))`
fn softplus(x: f64) -> Enclosed {
    let small = enclose(RealOp::Log1p, exp(-x.abs())?, ZERO)?;
    add(Interval::of([x.max(0.0); 2])?, small)
}

/// `2 t / (1 + t²)`, t being `exp(-|x|)`, which grows with t.
fn sech(x: f64) -> Enclosed {
    let at = |t: f64| -> Enclosed {
        let t = Interval::of([t; 2])?;
        divide(add(t, t)?, add(ONE, multiply(t, t)?)?)
    };
    let t = exp(-x.abs())?.within(0.0, 1.0);
    Ok(at(t.lo)?.hull(at(t.hi)?))
}

/// The logarithm of the gamma function of positive numbers, whose only minimum is between 1.46 and 1.47.
fn log_gamma(a: Interval) -> Enclosed {
    if a.lo <= 0.0 {
        // Between the poles its values are not accurate enough.
        return Err(if a.lo.floor() == a.lo || a.contains(0.0) {
            Uncertain::Outside
        } else {
            Uncertain::Unknown
        });
    }
    let of = |x: f64| match x == 1.0 || x == 2.0 || x.is_infinite() {
        true => [libm::lgamma(x); 2],
        false => near(libm::lgamma(x), GAMMA),
    };
    let ends = a.monotone(of)?;
    let bottom = a.lo < 1.47 && a.hi > 1.46;
    Ok(Interval { lo: if bottom { ends.lo.min(-0.121_486_290_535_9) } else { ends.lo }, ..ends })
}

/// Polygamma functions of positive numbers, where each is monotone.
fn polygammas(n: u32, a: Interval) -> Enclosed {
    if a.lo <= 0.0 {
        let outside = a.lo.floor() == a.lo || a.contains(0.0);
        return Err(if outside { Uncertain::Outside } else { Uncertain::Unknown });
    }
    a.monotone(|x| {
        let y = polygamma(n, x);
        if x.is_infinite() || y.is_infinite() {
            return if x.is_infinite() { [y; 2] } else { near(y, 1) };
        }
        let error = POLYGAMMA * y.abs() + if n == 0 { POLYGAMMA } else { f64::MIN_POSITIVE };
        [y - error, y + error]
    })
}

/// `atan2(a, b)`: the angles of a rectangle are those between its corners, unless it meets the cut.
fn angle(y: Interval, x: Interval) -> Enclosed {
    if y.contains(0.0) && x.contains(0.0) && (y.is_point() && x.is_point()) {
        return Err(Uncertain::Outside);
    }
    let pi = PI.next_up();
    if x.lo < 0.0 && y.lo < 0.0 && y.hi >= 0.0 || (y.contains(0.0) && x.contains(0.0)) {
        return Ok(Interval { lo: -pi, hi: pi });
    }
    let corners = [(y.lo, x.lo), (y.lo, x.hi), (y.hi, x.lo), (y.hi, x.hi)];
    let of = |(y, x): (f64, f64)| {
        if y.is_infinite() && x.is_infinite() {
            // Any angle of the quarter.
            let near_pi = if x > 0.0 { [0.0, FRAC_PI_2] } else { [FRAC_PI_2, PI] };
            let [lo, hi] = [near_pi[0], near_pi[1].next_up()];
            return if y > 0.0 { [lo, hi] } else { [-hi, -lo] };
        }
        near(libm::atan2(y, x), if y == 0.0 && x > 0.0 { 0 } else { LARGE })
    };
    Interval::over(corners.map(of)).map(|angle| angle.within(-pi, pi))
}

fn length(a: Interval, b: Interval) -> Enclosed {
    let of = |x: f64, y: f64| match x == 0.0 || y == 0.0 || x.is_infinite() || y.is_infinite() {
        true => [libm::hypot(x, y); 2],
        false => near(libm::hypot(x, y), SMALL),
    };
    Interval::over([of(a.least(), b.least()), of(a.greatest(), b.greatest())])
        .map(|y| y.within(0.0, f64::INFINITY))
}

/// `a / hypot(a, b)`, which grows with a, and whose absolute value falls with that of b.
fn cosine(a: Interval, b: Interval) -> Enclosed {
    if a.contains(0.0) && b.contains(0.0) {
        return Err(Uncertain::Outside);
    }
    let of = |a: f64, b: f64| -> Enclosed {
        if a == 0.0 {
            Ok(ZERO)
        } else if a.is_infinite() {
            // The quotient of two ends that are no bounds may be any up to 1.
            let most = if b.is_infinite() { 0.0 } else { 1.0 };
            Interval::of(if a > 0.0 { [most, 1.0] } else { [-1.0, -most] })
        } else {
            let [x, y] = [Interval::of([a; 2])?, Interval::of([b; 2])?];
            divide(x, length(x, y)?)
        }
    };
    let (least, greatest) = (b.least(), b.greatest());
    let low = of(a.lo, if a.lo > 0.0 { greatest } else { least })?;
    let high = of(a.hi, if a.hi > 0.0 { least } else { greatest })?;
    Ok(low.hull(high))
}

/// An operation may have no derivative somewhere in these intervals, of which the given ones vary.
pub fn may_kink(op: RealOp, a: Interval, b: Interval, [_, second]: [bool; 2]) -> bool {
    match op {
        RealOp::Sqrt | RealOp::Cbrt | RealOp::Abs | RealOp::Sign => a.contains(0.0),
        RealOp::Asin | RealOp::Acos => a.greatest() >= 1.0,
        RealOp::Acosh => a.lo <= 1.0,
        RealOp::Min | RealOp::Max => a.lo <= b.hi && b.lo <= a.hi,
        RealOp::Atan2 => y_meets_cut(a, b),
        RealOp::Hypot | RealOp::Unit => a.contains(0.0) && b.contains(0.0),
        RealOp::Rem => {
            let quotient = divide(a, b);
            quotient.is_err() || whole_quotient(a, b).is_none() || {
                // At a multiple of b, other than 0, the quotient jumps.
                quotient
                    .is_ok_and(|q| [q.lo, q.hi].into_iter().any(|q| q.fract() == 0.0 && q != 0.0))
            }
        }
        RealOp::Pow => {
            let whole = b.is_point() && b.lo.fract() == 0.0;
            (a.contains(0.0) && (!whole || second)) || (a.lo < 0.0 && second)
        }
        RealOp::Add
        | RealOp::Sub
        | RealOp::Mul
        | RealOp::Div
        | RealOp::Neg
        | RealOp::Exp
        | RealOp::Log
        | RealOp::Sin
        | RealOp::Cos
        | RealOp::Tan
        | RealOp::Atan
        | RealOp::Sinh
        | RealOp::Cosh
        | RealOp::Tanh
        | RealOp::Asinh
        | RealOp::Atanh
        | RealOp::Expm1
        | RealOp::Log1p
        | RealOp::Sigmoid
        | RealOp::Softplus
        | RealOp::Erf
        | RealOp::Erfc
        | RealOp::Lgamma
        | RealOp::Polygamma(_)
        | RealOp::Sech
        | RealOp::OneMinusSquare => false,
    }
}

/// A rectangle meets the half-line where angles jump, or the origin.
fn y_meets_cut(y: Interval, x: Interval) -> bool {
    y.contains(0.0) && x.lo <= 0.0
}
