//! Dates and times as numpy writes them.

use std::fmt::Write;

use nczchunk::TimeUnit;

use crate::cf::{Date, of_gregorian};

/// The integer that stands for no time.
pub const NOT_A_TIME: i64 = i64::MIN;

/// Adds the date and time that is `value` times `count` units from 1970, to the unit.
pub fn push(text: &mut String, value: i64, unit: TimeUnit, count: u32) {
    let value = i128::from(value) * i128::from(count);
    // Writing to a text does not fail.
    let _ = match unit {
        TimeUnit::Year => write!(text, "{:04}", 1970 + value),
        TimeUnit::Month => write!(text, "{:04}-{:02}", 1970 + value.div_euclid(12), value.rem_euclid(12) + 1),
        TimeUnit::Week => return push_date(text, value * 7),
        TimeUnit::Day => return push_date(text, value),
        TimeUnit::Hour => return push_time(text, value * 3600, 1),
        TimeUnit::Minute => return push_time(text, value * 60, 2),
        TimeUnit::Second => return push_time(text, value, 3),
        _ => match decimals(unit) {
            Some(decimals) => {
                let second = 10i128.pow(decimals);
                push_time(text, value.div_euclid(second), 3);
                write!(text, ".{:0width$}", value.rem_euclid(second), width = decimals as usize)
            }
            None => write!(text, "{value}"),
        },
    };
}

/// How many decimals of a second the unit is; `None` if it is none of them.
fn decimals(unit: TimeUnit) -> Option<u32> {
    Some(match unit {
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
        TimeUnit::Picosecond => 12,
        TimeUnit::Femtosecond => 15,
        TimeUnit::Attosecond => 18,
        _ => return None,
    })
}

/// Adds the date that is so many days after 1970-01-01.
fn push_date(text: &mut String, days: i128) {
    // The calendar repeats after eras of 400 years.
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let Date { year, month, day } = of_gregorian(day_of_era as i64);
    let _ = write!(text, "{:04}-{month:02}-{day:02}", 400 * era + i128::from(year));
}

/// Adds a date and a time of day to hours, minutes or seconds, which are 1, 2 or 3 fields.
fn push_time(text: &mut String, seconds: i128, fields: usize) {
    push_date(text, seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let values = [of_day / 3600, of_day / 60 % 60, of_day % 60];
    for (separator, value) in ['T', ':', ':'].iter().zip(values).take(fields) {
        let _ = write!(text, "{separator}{value:02}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_agrees() {
        for (value, unit, count, expected) in [
            (50, TimeUnit::Year, 1, "2020"),
            (-1, TimeUnit::Month, 1, "1969-12"),
            (601, TimeUnit::Month, 1, "2020-02"),
            (2609, TimeUnit::Week, 1, "2020-01-02"),
            (18321, TimeUnit::Day, 1, "2020-02-29"),
            (-719_528, TimeUnit::Day, 1, "0000-01-01"),
            (-25509, TimeUnit::Day, 1, "1900-02-28"),
            (-25508, TimeUnit::Day, 1, "1900-03-01"),
            (438_300, TimeUnit::Hour, 1, "2020-01-01T12"),
            (-1, TimeUnit::Minute, 10, "1969-12-31T23:50"),
            (1_582_934_400, TimeUnit::Second, 1, "2020-02-29T00:00:00"),
            (-1, TimeUnit::Millisecond, 1, "1969-12-31T23:59:59.999"),
            (1_000_000_001, TimeUnit::Nanosecond, 1, "1970-01-01T00:00:01.000000001"),
            (i64::MAX, TimeUnit::Attosecond, 1, "1970-01-01T00:00:09.223372036854775807"),
            (5, TimeUnit::Generic, 2, "10"),
        ] {
            let mut text = String::new();
            push(&mut text, value, unit, count);
            assert_eq!(text, expected);
        }
    }
}
