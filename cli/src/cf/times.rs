//! Times of CF: numbers with units such as `days since 1990-01-01`, as dates.

use std::fmt::Write;

use super::calendar::{Calendar, Date};
use crate::element::Number;

/// How numbers are times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    calendar: Calendar,
    /// The reference time: a day, and microseconds within it or beside it.
    day: i64,
    micros: i128,
    /// The microseconds of a unit.
    unit: i128,
}

const SECOND: i128 = 1_000_000;
const DAY: i128 = 86_400 * SECOND;

impl Times {
    /// What the attributes `units` and `calendar` say; `None` if the units are none of time since a reference.
    ///
    /// # Errors
    /// Why such numbers cannot be shown as dates.
    pub(super) fn parse(units: &str, calendar: &str) -> Result<Option<Times>, String> {
        let lower = units.to_ascii_lowercase();
        let Some((unit, reference)) = lower.split_once(" since ") else { return Ok(None) };
        let unit = match unit.trim() {
            "weeks" | "week" => 7 * DAY,
            "days" | "day" | "d" => DAY,
            "hours" | "hour" | "hrs" | "hr" | "h" => 3600 * SECOND,
            "minutes" | "minute" | "mins" | "min" => 60 * SECOND,
            "seconds" | "second" | "secs" | "sec" | "s" => SECOND,
            "milliseconds" | "millisecond" | "millisecs" | "millisec" | "msecs" | "msec" | "ms" => SECOND / 1000,
            "microseconds" | "microsecond" | "microsecs" | "microsec" => 1,
            other => return Err(format!("the unit '{other}' is unknown or has no fixed length")),
        };
        let Some(calendar_of) = Calendar::named(calendar.trim()) else {
            return Err(format!("the calendar '{calendar}' is unknown"));
        };
        let wrong = || format!("the reference time is not valid in the calendar: '{}'", reference.trim());
        let (day, micros) = reference_time(reference.trim(), calendar_of).ok_or_else(wrong)?;
        Ok(Some(Times { calendar: calendar_of, day, micros, unit }))
    }

    /// Adds the date and time that a number is, without a time of day at midnight; `false` if it is none.
    pub(super) fn push(&self, text: &mut String, number: Number) -> bool {
        let Some((date, of_day)) = self.date(number) else { return false };
        // Writing to a text does not fail.
        let _ = write!(text, "{:04}-{:02}-{:02}", date.year, date.month, date.day);
        let (seconds, micros) = (of_day / SECOND, of_day % SECOND);
        if of_day != 0 {
            let _ = write!(text, "T{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
        }
        if of_day % (60 * SECOND) != 0 {
            let _ = write!(text, ":{:02}", seconds % 60);
        }
        if micros != 0 {
            let decimals = format!("{micros:06}");
            let _ = write!(text, ".{}", decimals.trim_end_matches('0'));
        }
        true
    }

    /// The day, and the microseconds in it.
    fn date(&self, number: Number) -> Option<(Date, i128)> {
        let since = match number {
            Number::Integer(integer) => integer.checked_mul(self.unit)?,
            Number::Float(float) => {
                let step = self.step(float);
                let steps = (float * self.unit as f64 / step as f64).round();
                if steps.abs() < 1e18 { steps as i128 * step } else { return None }
            }
        };
        let micros = since.checked_add(self.micros)?;
        let day = i64::try_from(micros.div_euclid(DAY)).ok()?.checked_add(self.day)?;
        // Beyond these a year has more than six digits.
        let day = Some(day).filter(|day| day.unsigned_abs() < 365_000_000)?;
        Some((self.calendar.date(day)?, micros.rem_euclid(DAY)))
    }

    /// The microseconds to which a floating-point number of units is rounded. A day's fractions have no more digits
    /// than milliseconds. A second's have as many as numbers of that size, which may have been those of 4 bytes.
    fn step(&self, float: f64) -> i128 {
        match self.unit {
            ..SECOND => 1,
            SECOND => {
                let is_single = f64::from(float as f32) == float;
                let spacing = float.abs() * if is_single { f32::EPSILON.into() } else { f64::EPSILON };
                [1, 10, 100].into_iter().find(|step| spacing * SECOND as f64 <= *step as f64).unwrap_or(1000)
            }
            _ => 1000,
        }
    }
}

/// A date, a time of day and a time zone, of which the last two may be missing: the day, and the microseconds from its
/// midnight in UTC.
fn reference_time(text: &str, calendar: Calendar) -> Option<(i64, i128)> {
    let (date, rest) = text.split_at(text.find([' ', 't']).unwrap_or(text.len()));
    let (sign, unsigned) = date.strip_prefix('-').map_or((1, date), |unsigned| (-1, unsigned));
    let mut fields = unsigned.split('-').map(|field| digits(field).and_then(|digits| digits.parse::<i64>().ok()));
    let date = Date { year: sign * fields.next()??, month: fields.next()??, day: fields.next()?? };
    if fields.next().is_some() {
        return None;
    }
    let rest = rest.trim_start_matches([' ', 't']);
    let (time, zone) = rest.split_at(rest.find(|c: char| !matches!(c, '0'..='9' | ':' | '.')).unwrap_or(rest.len()));
    let of_day = if time.is_empty() { 0 } else { time_of_day(time)? };
    Some((calendar.days(date)?, of_day - zone_offset(zone.trim())?))
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.len() <= 6 && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// Hours, minutes and seconds, of which those at the end may be missing, as microseconds.
fn time_of_day(text: &str) -> Option<i128> {
    let mut fields = text.split(':');
    let mut field = |most: i128| match fields.next() {
        Some(field) => digits(field)?.parse::<i128>().ok().filter(|value| *value <= most),
        None => Some(0),
    };
    let (hours, minutes) = (field(24)?, field(59)?);
    let seconds = fields.next().unwrap_or("0");
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let whole: i128 = digits(whole)?.parse().ok()?;
    let part = if part.is_empty() { "0" } else { digits(part.get(..6.min(part.len()))?)? };
    let micros: i128 = format!("{part:0<6}").parse().ok()?;
    let is_whole = fields.next().is_none() && whole <= 60;
    is_whole.then_some(((hours * 60 + minutes) * 60 + whole) * SECOND + micros)
}

/// How far a time zone is ahead of UTC.
fn zone_offset(text: &str) -> Option<i128> {
    let (sign, offset) = match text.as_bytes().first() {
        None => return Some(0),
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        Some(_) => return matches!(text, "z" | "utc" | "gmt").then_some(0),
    };
    let (hours, minutes) = match offset.split_once(':') {
        Some((hours, minutes)) => (hours, minutes),
        None if offset.len() > 2 => offset.split_at_checked(offset.len() - 2)?,
        None => (offset, "0"),
    };
    let (hours, minutes): (i128, i128) = (digits(hours)?.parse().ok()?, digits(minutes)?.parse().ok()?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60 * SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(units: &str, calendar: &str, number: Number) -> String {
        let times = Times::parse(units, calendar).unwrap().unwrap();
        let mut text = String::new();
        if times.push(&mut text, number) { text } else { "none".to_owned() }
    }

    /// What `ncdump -t` and cftime say.
    #[test]
    fn numbers_are_dates() {
        for (units, calendar, number, date) in [
            ("days since 1990-01-01", "", Number::Integer(59), "1990-03-01"),
            ("days since 1990-01-01", "standard", Number::Float(0.25), "1990-01-01T06:00"),
            ("hours since 1900-01-01 00:00:0.0", "gregorian", Number::Integer(1_043_136), "2019-01-01"),
            ("days since 2000-02-28", "noleap", Number::Integer(1), "2000-03-01"),
            ("days since 2000-2-28", "proleptic_gregorian", Number::Integer(1), "2000-02-29"),
            ("days since 2001-02-30", "360_day", Number::Integer(1), "2001-03-01"),
            ("days since 1582-10-04", "standard", Number::Integer(1), "1582-10-15"),
            ("seconds since 1970-01-01T00:00:00Z", "standard", Number::Float(1.5), "1970-01-01T00:00:01.5"),
            ("seconds since 1970-01-01", "standard", Number::Float(0.000001), "1970-01-01T00:00:00.000001"),
            ("seconds since 1970-01-01", "standard", Number::Float(1.6e9 + 0.123457), "2020-09-13T12:26:40.123457"),
            ("seconds since 1970-01-01", "standard", Number::Float(100.1f32.into()), "1970-01-01T00:01:40.1"),
            ("seconds since 1970-01-01", "standard", Number::Float(1e11 + 0.1), "5138-11-16T09:46:40.1"),
            ("days since 2020-01-01", "standard", Number::Float(1.1 + 2.2), "2020-01-04T07:12"),
            ("Minutes Since 1970-01-01 12:00 UTC", "standard", Number::Integer(-721), "1969-12-31T23:59"),
            ("days since 2000-01-01 00:00:00 -6:00", "standard", Number::Integer(0), "2000-01-01T06:00"),
            ("days since 2000-01-01 00:00:00 +0530", "standard", Number::Integer(0), "1999-12-31T18:30"),
            ("days since 0000-01-01", "proleptic_gregorian", Number::Integer(0), "0000-01-01"),
            ("hour since 0000-01-01 00:00:00", "", Number::Float(1826.97), "0000-03-17T02:58:12"),
            ("microseconds since 1970-01-01", "standard", Number::Float(1.0), "1970-01-01T00:00:00.000001"),
            ("microseconds since 1970-01-01", "standard", Number::Float(1500.0), "1970-01-01T00:00:00.0015"),
            ("milliseconds since 1970-01-01", "standard", Number::Float(0.25), "1970-01-01T00:00:00.00025"),
            ("days since 0001-01-01", "standard", Number::Integer(-1), "0000-12-31"),
            ("days since 0001-01-01", "standard", Number::Integer(-367), "none"),
            ("days since 2000-01-01", "standard", Number::Float(f64::NAN), "none"),
            ("days since 2000-01-01", "standard", Number::Float(1e300), "none"),
            ("days since 2000-01-01", "standard", Number::Integer(i128::MAX), "none"),
            ("days since 1970-01-01", "standard", Number::Integer(i64::MAX.into()), "none"),
            ("days since 1970-01-01", "standard", Number::Integer(i64::MIN.into()), "none"),
        ] {
            assert_eq!(shown(units, calendar, number), date, "{units} {calendar} {number:?}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_shown_as_one() {
        assert_eq!(Times::parse("K", ""), Ok(None));
        assert_eq!(Times::parse("days", ""), Ok(None));
        for (units, calendar, words) in [
            ("months since 2000-01-01", "", "unit 'months'"),
            ("days since 2000-01-01", "julian", "calendar 'julian'"),
            ("days since 0000-01-32", "standard", "the reference time is not valid in the calendar: '0000-01-32'"),
            ("days since 2000-02-30", "standard", "the reference time is not valid"),
            ("days since yesterday", "standard", "the reference time is not valid"),
            ("days since 2000-01-01 25:00", "standard", "the reference time is not valid"),
            ("days since 2000-01-01 00:00 CEST", "standard", "the reference time is not valid"),
            ("days since 2000-01-01-01", "standard", "the reference time is not valid"),
        ] {
            let note = Times::parse(units, calendar).unwrap_err();
            assert!(note.contains(words), "{note}");
        }
    }
}
