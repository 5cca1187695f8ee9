//! Times that a file marks as such: as ISO 8601 text and as seconds.

use diffeo_base::calendar::{date_of, days_to};

/// A moment, in seconds since 1970 in UTC or as clocks show it; a time of day or a duration from 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Moment {
    pub seconds: i64,
    pub nanoseconds: u32,
    pub kind: MomentKind,
}

/// What a moment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MomentKind {
    /// A day.
    Date,
    /// A day and a time, of no known zone.
    Local,
    /// A day and a time in UTC.
    Utc,
    /// A time of day.
    Clock,
    /// A time that has passed.
    Duration,
}

const DAY: i64 = 86_400;

impl Moment {
    /// The moment of so many units, of which a second has this many.
    pub fn of(count: i64, units: i64, kind: MomentKind) -> Moment {
        let (seconds, rest) = (count.div_euclid(units), count.rem_euclid(units));
        Moment { seconds, nanoseconds: (rest * (1_000_000_000 / units)) as u32, kind }
    }

    /// The first moment of a day of the Gregorian calendar.
    pub fn day(year: i64, month: i64, day: i64) -> Moment {
        let days = days_to(year, month, day);
        Moment { seconds: days * DAY, nanoseconds: 0, kind: MomentKind::Date }
    }

    /// The seconds.
    pub fn real(self) -> f64 {
        match self.seconds {
            // Without cancellation, which would add the error of the fraction.
            seconds @ ..0 if self.nanoseconds > 0 => {
                (seconds + 1) as f64 - f64::from(1_000_000_000 - self.nanoseconds) / 1e9
            }
            seconds => seconds as f64 + f64::from(self.nanoseconds) / 1e9,
        }
    }

    /// The text.
    pub fn text(self) -> String {
        let days = self.seconds.div_euclid(DAY);
        match self.kind {
            MomentKind::Date => date(days),
            MomentKind::Local => format!("{}T{}", date(days), self.clock()),
            MomentKind::Utc => format!("{}T{}Z", date(days), self.clock()),
            MomentKind::Clock => self.clock(),
            MomentKind::Duration => format!("{}", self.real()),
        }
    }

    fn clock(self) -> String {
        let seconds = self.seconds.rem_euclid(DAY);
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = format!("{hours:02}:{minutes:02}:{seconds:02}");
        if self.nanoseconds > 0 {
            let fraction = format!(".{:09}", self.nanoseconds);
            text += fraction.trim_end_matches('0');
        }
        text
    }
}

/// The day so many days after 1 January 1970.
fn date(days: i64) -> String {
    let (year, month, day) = date_of(days);
    format!("{year:04}-{month:02}-{day:02}")
}
