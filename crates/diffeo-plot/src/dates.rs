//! Times on an axis: seconds since the beginning of 1970 in UTC without leap seconds, as `std/time.deo` has them, in
//! the Gregorian calendar.

use crate::ticks::{round_step, Tick};
use diffeo_base::calendar::{date_of, days_to};

/// The largest time, in seconds: about ten million years.
pub const LARGEST: f64 = 3e14;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Steps of one length, in seconds.
const STEPS: [i64; 21] = [
    1,
    2,
    5,
    10,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
];

/// A Monday: weeks begin with it.
const MONDAY: i64 = 4 * DAY;

/// Steps by the calendar, in months.
const MONTHS: [i64; 3] = [1, 3, 6];

/// The days from 1 January 1970 to the first of a month; months count from 0, also beyond a year.
fn month_begins(month: i64) -> i64 {
    days_to(month.div_euclid(12), month.rem_euclid(12) + 1, 1)
}

fn year_text(year: i64) -> String {
    match year {
        0.. => format!("{year:04}"),
        _ => format!("\u{2212}{:04}", -year),
    }
}

fn month_text(days: i64) -> String {
    let (year, month, _) = date_of(days);
    format!("{}-{month:02}", year_text(year))
}

fn day_text(days: i64) -> String {
    format!("{}-{:02}", month_text(days), date_of(days).2)
}

/// The time of the day, with so many digits of the second; without seconds for none.
fn clock(of_day: f64, digits: Option<usize>) -> String {
    let minutes = (of_day / 60.0) as i64;
    let text = format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let second = of_day - (60 * minutes) as f64;
    match digits {
        None => text,
        Some(0) => format!("{text}:{:02}", second as i64),
        Some(digits) => format!("{text}:{second:0width$.digits$}", width = digits + 3),
    }
}

/// The day of a time, and the seconds since its beginning.
fn split(t: f64) -> (i64, f64) {
    let days = (t / DAY as f64).floor();
    let rest = t - days * DAY as f64;
    match rest < 0.0 {
        // The quotient may have been rounded up.
        true => (days as i64 - 1, rest + DAY as f64),
        false => (days as i64, rest),
    }
}

/// A time as a text.
pub fn text(t: f64) -> String {
    if t.abs() > LARGEST || t.is_nan() {
        return format!("{t:e}");
    }
    let (days, of_day) = split(t);
    match of_day {
        0.0 => day_text(days),
        _ if of_day % 60.0 == 0.0 => format!("{} {}", day_text(days), clock(of_day, None)),
        _ => format!("{} {}", day_text(days), clock(of_day, Some(0))),
    }
}

/// Ticks from `low` to `high`, about `wanted` of them. Those within days have the date where a day begins, and the
/// first one has it, too.
pub fn ticks(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let apart = (high - low) / wanted.max(1) as f64;
    // Of the steps that are listed, the next one above.
    let rough = 0.75 * apart;
    let most = 4 * wanted + 8;
    if rough > STEPS[STEPS.len() - 1] as f64 {
        return by_calendar(low, high, apart, most);
    }
    if rough <= 0.5 {
        return of_seconds(low, high, round_step(apart), most);
    }
    let step = STEPS.into_iter().find(|step| *step as f64 >= rough).unwrap_or(14 * DAY);
    let offset = if step % (7 * DAY) == 0 { MONDAY } else { 0 };
    let first = ((low - offset as f64) / step as f64).ceil() as i64;
    let places = (first..).map(|i| i * step + offset).take_while(|t| *t as f64 <= high).take(most);
    if step >= DAY {
        return places.map(|t| (t as f64, day_text(t.div_euclid(DAY)))).collect();
    }
    let digits = (step < MINUTE).then_some(0);
    within_days(places.map(|t| t as f64), digits)
}

/// Ticks at parts of seconds.
fn of_seconds(low: f64, high: f64, step: f64, most: usize) -> Vec<Tick> {
    let digits = (-(step * 1.0001).log10().floor()).clamp(0.0, 6.0) as usize;
    // From a whole second, for a part of one is not exact beside all the seconds since 1970.
    let from = low.floor();
    let first = ((low - from) / step).ceil();
    let places = (0..most).map(|i| from + (first + i as f64) * step).take_while(|t| *t <= high);
    within_days(places, Some(digits))
}

fn within_days(places: impl Iterator<Item = f64>, digits: Option<usize>) -> Vec<Tick> {
    let tick = |(i, t): (usize, f64)| {
        let (days, of_day) = split(t);
        let text = match i {
            _ if of_day == 0.0 => day_text(days),
            0 => format!("{} {}", day_text(days), clock(of_day, digits)),
            _ => clock(of_day, digits),
        };
        (t, text)
    };
    places.enumerate().map(tick).collect()
}

/// Ticks at beginnings of months or years.
fn by_calendar(low: f64, high: f64, apart: f64, most: usize) -> Vec<Tick> {
    let month = 30.436_875 * DAY as f64;
    let step = MONTHS.into_iter().find(|months| *months as f64 * month >= 0.75 * apart);
    let step = step.unwrap_or_else(|| 12 * round_step(apart / (12.0 * month)).max(1.0) as i64);
    let (year, of_year, _) = date_of(split(low).0);
    let first = (12 * year + of_year - 1).div_euclid(step);
    let places = (first..first + most as i64).map(|i| month_begins(i * step));
    let within = |days: &i64| (low..=high).contains(&((days * DAY) as f64));
    let text = |days: i64| match step % 12 {
        0 => year_text(date_of(days).0),
        _ => month_text(days),
    };
    places.filter(within).map(|days| ((days * DAY) as f64, text(days))).collect()
}

#[cfg(test)]
mod tests {
    use super::{date_of, month_begins, text, ticks, DAY};

    fn texts(low: f64, high: f64) -> String {
        ticks(low, high, 5).into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(month_begins(12 * 1970), 0);
        assert_eq!(month_begins(12 * 2024 + 1) + 28, 1_709_164_800 / DAY);
        let mut days = month_begins(12 * -5);
        for year in -5..=2400 {
            for month in 0..12 {
                assert_eq!(days, month_begins(12 * year + month));
                let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let length = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
                for day in 1..=length[month as usize] {
                    assert_eq!(date_of(days), (year, month + 1, day));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn ticks_of_dates_are_round() {
        let start = 1_709_164_800.0;
        let day = DAY as f64;
        let whole = |n: f64| texts(start, start + n);
        assert_eq!(whole(3600.0), "2024-02-29 00:10 00:20 00:30 00:40 00:50 01:00");
        assert_eq!(whole(2.0 * day), "2024-02-29 12:00 2024-03-01 12:00 2024-03-02");
        assert_eq!(whole(4.0 * day), "2024-02-29 2024-03-01 2024-03-02 2024-03-03 2024-03-04");
        assert_eq!(
            whole(40.0 * day),
            "2024-03-04 2024-03-11 2024-03-18 2024-03-25 2024-04-01 2024-04-08"
        );
        assert_eq!(whole(200.0 * day), "2024-03 2024-04 2024-05 2024-06 2024-07 2024-08 2024-09");
        assert_eq!(whole(3000.0 * day), "2026 2028 2030 2032");
        assert_eq!(
            texts(start + 3.0, start + 5.0),
            "2024-02-29 00:00:03.0 00:00:03.5 00:00:04.0 00:00:04.5 00:00:05.0"
        );
        assert_eq!(
            texts(start + 3.0, start + 20.0),
            "2024-02-29 00:00:05 00:00:10 00:00:15 00:00:20"
        );
        assert_eq!(texts(-1e11, 1e11), "\u{2212}1000 0000 1000 2000 3000 4000 5000");
        assert_eq!(text(start + 90.0), "2024-02-29 00:01:30");
        assert_eq!(text(start - 3600.0), "2024-02-28 23:00");
        assert!(ticks(-3e14, 3e14, 5).len() < 10);
    }
}
