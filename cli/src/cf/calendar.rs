//! The calendars of CF: from a date to a number of days, and back.

/// A calendar. Days are counted from an origin of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calendar {
    /// Julian before 1582-10-15, Gregorian from then on. Year 0, to which the times of climatologies refer, is the leap
    /// year before year 1, as in `ncdump -t`. There are no earlier years.
    Standard,
    /// Gregorian for all years.
    ProlepticGregorian,
    /// Years of 365 days.
    NoLeap,
    /// Months of 30 days.
    Days360,
}

/// A day of a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

/// The days before each month of a year of 365 days.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// 1582-10-15, the first day of the Gregorian calendar, counted from 1970-01-01.
const REFORM: i64 = -141_427;

impl Calendar {
    /// The calendar of this name; `None` if it is none of these.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "" | "standard" | "gregorian" => Calendar::Standard,
            "proleptic_gregorian" => Calendar::ProlepticGregorian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "360_day" => Calendar::Days360,
            _ => return None,
        })
    }

    /// The number of a day; `None` if the calendar has no such day.
    pub(super) fn days(self, date: Date) -> Option<i64> {
        let Date { year, month, day } = date;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year.abs() > 1_000_000 {
            return None;
        }
        let days = match self {
            Calendar::Standard => {
                let gregorian = gregorian(date);
                if gregorian >= REFORM { gregorian } else { julian(date) }
            }
            Calendar::ProlepticGregorian => gregorian(date),
            Calendar::NoLeap => 365 * year + BEFORE[month as usize - 1] + day - 1,
            Calendar::Days360 => 360 * year + 30 * (month - 1) + day - 1,
        };
        // A day that the month does not have is one of another month.
        self.date(days).filter(|found| *found == date).map(|_| days)
    }

    /// The day with this number; `None` if it has no date.
    pub(super) fn date(self, days: i64) -> Option<Date> {
        match self {
            Calendar::Standard if days < REFORM => Some(of_julian(days)).filter(|date| date.year >= 0),
            Calendar::Standard | Calendar::ProlepticGregorian => Some(of_gregorian(days)),
            Calendar::NoLeap => {
                let (year, day) = (days.div_euclid(365), days.rem_euclid(365));
                let month = BEFORE.partition_point(|before| *before <= day);
                Some(Date { year, month: month as i64, day: day - BEFORE[month - 1] + 1 })
            }
            Calendar::Days360 => {
                let (year, day) = (days.div_euclid(360), days.rem_euclid(360));
                Some(Date { year, month: day / 30 + 1, day: day % 30 + 1 })
            }
        }
    }
}

// A year begins with March here, so that its last day may be a leap day.

/// The year that begins with March, and the day in it.
fn of_march(Date { year, month, day }: Date) -> (i64, i64) {
    (year - i64::from(month <= 2), (153 * ((month + 9) % 12) + 2) / 5 + day - 1)
}

fn from_march(year: i64, day_of_year: i64) -> Date {
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    Date { year: year + i64::from(month <= 2), month, day }
}

/// Days from 1970-01-01 in the Gregorian calendar.
fn gregorian(date: Date) -> i64 {
    let (year, day) = of_march(date);
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day - 719_468
}

/// The day of the Gregorian calendar that is so many days after 1970-01-01.
pub fn of_gregorian(days: i64) -> Date {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    from_march(era * 400 + year, day - (365 * year + year / 4 - year / 100))
}

/// Days from 1970-01-01 of the Gregorian calendar to a day of the Julian one.
fn julian(date: Date) -> i64 {
    let (year, day) = of_march(date);
    365 * year + year.div_euclid(4) + day - 719_470
}

fn of_julian(days: i64) -> Date {
    let days = days + 719_470;
    let (era, day) = (days.div_euclid(1461), days.rem_euclid(1461));
    let year = (day - day / 1460) / 365;
    from_march(era * 4 + year, day - 365 * year)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: i64, day: i64) -> Date {
        Date { year, month, day }
    }

    /// Julian day numbers of the Astronomical Almanac and of cftime.
    #[test]
    fn known_days_have_known_numbers() {
        let standard = Calendar::Standard;
        for (day, number) in [
            (date(1970, 1, 1), 0),
            (date(2000, 2, 29), 11_016),
            (date(1900, 3, 1), -25_508),
            (date(1582, 10, 15), -141_427),
            (date(1582, 10, 4), -141_428),
            (date(1, 1, 1), -719_164),
            (date(0, 2, 29), -719_471),
            (date(0, 1, 1), -719_530),
        ] {
            assert_eq!((standard.days(day), standard.date(number)), (Some(number), Some(day)));
        }
        assert_eq!(Calendar::ProlepticGregorian.days(date(1, 1, 1)), Some(-719_162));
        assert_eq!(Calendar::ProlepticGregorian.days(date(0, 1, 1)), Some(-719_528));
        for none in [date(1582, 10, 10), date(1900, 2, 29), date(-1, 12, 31), date(2000, 13, 1), date(2000, 4, 31)] {
            assert_eq!(standard.days(none), None, "{none:?}");
        }
        // A leap day of the Julian calendar.
        assert!(standard.days(date(1500, 2, 29)).is_some());
        assert_eq!(Calendar::NoLeap.days(date(2000, 2, 29)), None);
        assert!(Calendar::Days360.days(date(2001, 2, 30)).is_some());
        assert_eq!(Calendar::Days360.days(date(2001, 1, 31)), None);
    }

    #[test]
    fn every_day_follows_the_one_before() {
        for calendar in [Calendar::Standard, Calendar::ProlepticGregorian, Calendar::NoLeap, Calendar::Days360] {
            let mut last = calendar.date(-719_000).unwrap();
            for days in -718_999..20_000 {
                let date = calendar.date(days).unwrap();
                assert_eq!(calendar.days(date), Some(days), "{calendar:?}");
                let is_next = (date.year, date.month, date.day) == (last.year, last.month, last.day + 1)
                    || date.day == 1 && (date.year * 12 + date.month) == (last.year * 12 + last.month) + 1
                    || days == REFORM && calendar == Calendar::Standard;
                assert!(is_next, "{calendar:?} {last:?} {date:?}");
                last = date;
            }
        }
    }
}
