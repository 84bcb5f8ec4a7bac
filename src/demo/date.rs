//! Dates and times of day without time zones, by arithmetic alone.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub const MINUTES_PER_DAY: i64 = 24 * 60;

/// A day of the Gregorian calendar, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(i64);

/// A minute of a day, counted from 1970-01-01 00:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime(pub i64);

impl Date {
    pub fn new(year: i64, month: i64, day: i64) -> Option<Date> {
        let date = Date::unchecked(year, month, day);
        let exists = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && date.year_month_day() == (year, month, day);
        exists.then_some(date)
    }

    /// Days from the first of March of year 0, in eras of 400 years: a leap day is the last day of a year that begins in March.
    fn unchecked(year: i64, month: i64, day: i64) -> Date {
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Date(era * 146_097 + day_of_era - 719_468)
    }

    pub fn year_month_day(self) -> (i64, i64, i64) {
        let days = self.0 + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        (year, month, day)
    }

    pub fn plus_days(self, days: i64) -> Option<Date> {
        in_range(self.0.checked_add(days)?)
    }

    /// The same day of another month, or its last day where it is shorter.
    pub fn plus_months(self, months: i64) -> Option<Date> {
        let (year, month, day) = self.year_month_day();
        let months = (year * 12 + month - 1).checked_add(months)?;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        (day - 3..=day)
            .rev()
            .find_map(|day| Date::new(year, month, day))
    }

    pub fn days_until(self, other: Date) -> i64 {
        other.0 - self.0
    }

    /// 0 is Monday.
    pub fn weekday(self) -> i64 {
        (self.0 + 3).rem_euclid(7)
    }

    pub fn weekday_name(self) -> &'static str {
        ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][self.weekday() as usize]
    }

    pub fn is_weekend(self) -> bool {
        self.weekday() >= 5
    }

    pub fn at(self, minute_of_day: i64) -> DateTime {
        DateTime(self.0 * MINUTES_PER_DAY + minute_of_day)
    }
}

fn in_range(days: i64) -> Option<Date> {
    let range = Date::unchecked(0, 1, 1).0..=Date::unchecked(9999, 12, 31).0;
    range.contains(&days).then_some(Date(days))
}

impl DateTime {
    pub fn date(self) -> Date {
        Date(self.0.div_euclid(MINUTES_PER_DAY))
    }

    pub fn plus_minutes(self, minutes: i64) -> Option<DateTime> {
        let moved = DateTime(self.0.checked_add(minutes)?);
        in_range(moved.date().0).map(|_| moved)
    }

    /// Hours and minutes.
    pub fn clock(self) -> String {
        let minute = self.0.rem_euclid(MINUTES_PER_DAY);
        format!("{:02}:{:02}", minute / 60, minute % 60)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.year_month_day();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date(), self.clock())
    }
}

impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Date, String> {
        let date = digits::<3>(text, [4, 2, 2], '-')
            .and_then(|[year, month, day]| Date::new(year, month, day));
        date.ok_or_else(|| format!("`{text}` is not a date such as 2026-03-02"))
    }
}

impl FromStr for DateTime {
    type Err = String;

    fn from_str(text: &str) -> Result<DateTime, String> {
        let wrong = || format!("`{text}` is not a local date and time such as 2026-03-02T14:30");
        let (date, clock) = text.split_once('T').ok_or_else(wrong)?;
        let date: Date = date.parse().map_err(|_| wrong())?;
        // Seconds are what many clients append; the calendar counts minutes.
        let clock = clock
            .strip_suffix(":00")
            .filter(|rest| rest.len() == 5)
            .unwrap_or(clock);
        let minute = minute_of_day(clock).ok_or_else(wrong)?;
        Ok(date.at(minute))
    }
}

/// Of a text such as `09:30`.
pub fn minute_of_day(text: &str) -> Option<i64> {
    let [hour, minute] = digits(text, [2, 2], ':')?;
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Numbers of exactly so many digits each, between separators.
fn digits<const N: usize>(text: &str, lengths: [usize; N], separator: char) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(separator);
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let plain = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        if !plain {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

macro_rules! read_from_text {
    ($($type:ident $format:literal $pattern:literal),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern, "examples": [$format]})
            }
        }
    )*};
}
read_from_text!(
    Date "2026-03-02" r"^\d{4}-\d{2}-\d{2}$",
    DateTime "2026-03-02T14:30" r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:00)?$"
);

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn counts_every_day_of_four_centuries_there_and_back() {
        let mut expected = date("1970-01-01");
        assert_eq!(expected.weekday_name(), "Thu");
        for day in 0..146_097 {
            let (year, month, day_of_month) = Date(day).year_month_day();
            assert_eq!(Date::new(year, month, day_of_month), Some(expected));
            expected = expected.plus_days(1).unwrap();
        }
        assert_eq!(expected.to_string(), "2370-01-01");
    }

    #[test]
    fn adds_months_up_to_the_last_day_of_a_shorter_one() {
        let add = |text, months| date(text).plus_months(months).unwrap().to_string();
        assert_eq!(add("2024-01-31", 1), "2024-02-29");
        assert_eq!(add("2023-01-31", 1), "2023-02-28");
        assert_eq!(add("2024-03-15", -15), "2022-12-15");
        assert_eq!(date("9999-12-01").plus_months(1), None);
    }

    #[test]
    fn refuses_what_is_not_a_date() {
        for text in [
            "2023-02-29",
            "2026-13-01",
            "2026-3-2",
            "2026-03-02-",
            "0x10-01-01",
            "",
        ] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        for text in [
            "2026-03-02",
            "2026-03-02T24:00",
            "2026-03-02T10:00:30",
            "2026-03-02T10:00Z",
        ] {
            assert!(text.parse::<DateTime>().is_err(), "{text}");
        }
        let with_seconds: DateTime = "2026-03-02T10:05:00".parse().unwrap();
        assert_eq!(with_seconds.to_string(), "2026-03-02T10:05");
    }
}
