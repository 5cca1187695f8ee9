//! Round numbers along an axis, and how they are written.

/// Numbers that differ in this digit of the mantissa at the earliest are written as what they are beyond the first.
const OFFSET: usize = 5;

/// A place on an axis and its text.
pub type Tick = (f64, String);

/// Ticks from `low` to `high`, about `wanted` of them, at multiples of 1, 2 or 5 times a power of ten.
pub fn linear(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    // A step is two to four of the distances between numbers of this size.
    let largest = low.abs().max(high.abs());
    let apart = largest * f64::EPSILON;
    let step = round_step(f64::max((high - low) / wanted.max(1) as f64, 2.0 * apart));
    let first = (low / step).ceil();
    let places: Vec<f64> = (0..=4 * wanted + 4)
        .map(|i| (first + i as f64) * step)
        .take_while(|at| *at <= high + 1e-9 * step)
        // What is left of a subtraction is 0.
        .map(|at| if at.abs() < 1e-9 * step { 0.0 } else { at })
        .collect();
    // Multiples of a step that is below what numbers of this size tell apart
    let mut places = places;
    places.dedup();
    written(places, step)
}

/// The step of round numbers that is next to this one.
pub fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    let factor = match rough / power {
        x if x < 1.5 => 1.0,
        x if x < 3.5 => 2.0,
        x if x < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// The places with texts of one form, which has as many digits as the step needs.
fn written(places: Vec<f64>, step: f64) -> Vec<Tick> {
    let largest = places.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let digits = (-(step * 1.0001).log10().floor()).clamp(0.0, 300.0);
    if largest < 1e5 && digits <= 4.0 || largest == 0.0 {
        return places.iter().map(|x| (*x, minus(format!("{x:.*}", digits as usize)))).collect();
    }
    let power = largest.log10().floor();
    // Digits of the mantissa behind its point.
    let digits = (power - (step * 1.0001).log10().floor()).clamp(0.0, 15.0) as usize;
    let text = |x: f64| match x {
        0.0 => "0".to_string(),
        _ => {
            let text = format!("{x:.digits$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            scientific(mantissa, exponent.parse().unwrap_or(0))
        }
    };
    let [first, rest @ ..] = &places[..] else { return Vec::new() };
    if digits < OFFSET || rest.is_empty() || places.contains(&0.0) {
        return places.iter().map(|x| (*x, text(*x))).collect();
    }
    // What the others are beyond the first, in whole steps: a difference would have the rounding of both.
    let beyond: Vec<f64> = rest.iter().map(|x| ((x - first) / step).round() * step).collect();
    let beyond = written(beyond, step).into_iter().map(|(_, text)| format!("+{text}"));
    let others = rest.iter().copied().zip(beyond);
    std::iter::once((*first, text(*first))).chain(others).collect()
}

/// `2×10⁵`
fn scientific(mantissa: &str, exponent: i32) -> String {
    let mantissa = match mantissa.trim_end_matches('0').trim_end_matches('.') {
        _ if !mantissa.contains('.') => mantissa,
        short => short,
    };
    let power = format!("10{}", superscript(exponent));
    match (mantissa, exponent) {
        (_, 0) => minus(mantissa.to_string()),
        ("1", _) => power,
        ("-1", _) => format!("\u{2212}{power}"),
        _ => format!("{}\u{d7}{power}", minus(mantissa.to_string())),
    }
}

fn superscript(n: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    n.to_string().chars().map(digit).collect()
}

/// With the sign that is as wide as a plus.
fn minus(text: String) -> String {
    text.replace('-', "\u{2212}")
}

/// Ticks of a logarithmic axis from `low` to `high`, both above 0.
pub fn logarithmic(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let (from, to) = (low.log10(), high.log10());
    if to - from < 0.8 {
        return linear(low, high, wanted);
    }
    let power = |k: i32, factor: f64| format!("{factor}e{k}").parse::<f64>().unwrap_or(f64::NAN);
    let text = |k: i32, factor: f64| match k {
        -3..=3 => format!("{}", power(k, factor)),
        _ => scientific(&format!("{factor}"), k),
    };
    let decades = to - from;
    let factors: &[f64] = match decades * 2.0 <= wanted.max(3) as f64 {
        true => &[1.0, 2.0, 5.0],
        false => &[1.0],
    };
    let every = ((decades / wanted.max(1) as f64).ceil() as i32).max(1);
    let first = (from.floor() as i32).div_euclid(every) * every;
    let mut ticks = Vec::new();
    for k in (first..=to.ceil() as i32).step_by(every as usize) {
        for factor in factors {
            let at = power(k, *factor);
            if at >= low * (1.0 - 1e-9) && at <= high * (1.0 + 1e-9) {
                ticks.push((at, text(k, *factor)));
            }
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::{linear, logarithmic};

    fn texts(ticks: Vec<(f64, String)>) -> String {
        ticks.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_round_and_written_shortly() {
        assert_eq!(texts(linear(0.0, 1.0, 5)), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(texts(linear(-12.0, 31.0, 5)), "−10 0 10 20 30");
        assert_eq!(texts(linear(0.0, 3e6, 4)), "0 10⁶ 2×10⁶ 3×10⁶");
        assert_eq!(texts(linear(0.0, 2.2e-7, 4)), "0 5×10⁻⁸ 10⁻⁷ 1.5×10⁻⁷ 2×10⁻⁷");
        assert_eq!(texts(linear(1e9, 1e9 + 2.0, 2)), "10⁹ +1 +2");
        assert_eq!(texts(linear(-1e300, 1e300, 4)), "−10³⁰⁰ −5×10²⁹⁹ 0 5×10²⁹⁹ 10³⁰⁰");
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        assert_eq!(texts(logarithmic(0.5, 60.0, 6)), "0.5 1 2 5 10 20 50");
        assert_eq!(texts(logarithmic(1e-6, 1e6, 5)), "10⁻⁶ 0.001 1 1000 10⁶");
        assert_eq!(texts(logarithmic(2.0, 3.0, 4)), "2.0 2.2 2.4 2.6 2.8 3.0");
        assert_eq!(texts(logarithmic(1e-300, 1e300, 3)), "10⁻²⁰⁰ 1 10²⁰⁰");
    }
}
