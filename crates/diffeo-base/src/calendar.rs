//! Days of the Gregorian calendar, by Howard Hinnant, "chrono-compatible low-level date algorithms" (2013).
//!
//! The crate chrono ends 262,000 years from now; axes of plots go on to ten million.

/// The days from the beginning of 1970 to a day; months count from 1.
pub fn days_to(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin with March end with their leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day so many days after the beginning of 1970: year, month from 1, day.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + era * 400 + next, month, day)
}
