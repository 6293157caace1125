//! Schedules by the wall clock, in cron syntax. Pure: the time and the time zone are handed in.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// Times of one schedule that are looked at for one that lies ahead: more than a clock that is put back repeats, a
/// time a second for two hours.
const MAX_STEPS: usize = 10_000;

/// A schedule: `0 3 * * *` is three at night, and a sixth field in front holds seconds.
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    pattern: croner::Cron,
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Cron {}

/// Why a text is no schedule.
#[derive(Debug, thiserror::Error)]
pub enum CronError {
    /// It has too few fields, or too many.
    #[error("expected five fields (minute hour day month weekday), or six with the seconds first; found {0}")]
    Fields(usize),
    /// A field cannot be read.
    #[error("{text:?} is no schedule: {source}")]
    Pattern {
        /// What was given.
        text: String,
        /// What is wrong with it.
        source: croner::errors::CronError,
    },
    /// Such a day is in no calendar.
    #[error("{0:?} names a time that never comes")]
    Never(String),
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let fields = text.split_whitespace().count();
        if !(5..=6).contains(&fields) {
            return Err(CronError::Fields(fields));
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let wrong = |source| CronError::Pattern { text: text.to_owned(), source };
        let pattern = parser.parse(text.trim()).map_err(wrong)?;
        let cron = Self { text: text.split_whitespace().collect::<Vec<_>>().join(" "), pattern };
        match cron.next_after(Timestamp::UNIX_EPOCH, &TimeZone::UTC) {
            Some(_) => Ok(cron),
            None => Err(CronError::Never(cron.text)),
        }
    }
}

impl Cron {
    /// The schedule as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first of its times after a time. The schedule is read in local time: a time that a clock which is put
    /// forward leaves out comes when that clock goes on, and one that it repeats comes once.
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // Local times are counted as if they were UTC, where every one of them comes once.
        let mut local = counted(zone.to_datetime(after))?;
        for _ in 0..MAX_STEPS {
            local = self.pattern.find_next_occurrence(&local, false).ok()?;
            let at = instant(civil_time(local)?, zone)?;
            if at > after {
                return Some(at);
            }
        }
        None
    }
}

/// When a local time is. One that is left out is when the clock goes on, so that it comes before whatever is later by
/// that clock; of one that is repeated the first.
fn instant(local: civil::DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let is_left_out = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
    let at = ambiguous.compatible().ok()?;
    if !is_left_out {
        return Some(at);
    }
    // The last change of the clock up to then.
    let up_to = at.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
    zone.preceding(up_to).next().map(|change| change.timestamp())
}

fn counted(local: civil::DateTime) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(TimeZone::UTC.to_timestamp(local).ok()?.as_second(), 0)
}

fn civil_time(local: DateTime<Utc>) -> Option<civil::DateTime> {
    Some(TimeZone::UTC.to_datetime(Timestamp::from_second(local.timestamp()).ok()?))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;

    /// Central Europe: forward on 2026-03-29 at 2:00, back on 2026-10-25 at 3:00.
    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn five_fields_are_enough_and_nonsense_is_told() {
        let cron = |text: &str| text.parse::<Cron>();
        assert_eq!(cron(" 0  3 * * * ").unwrap().as_str(), "0 3 * * *");
        assert!(cron("30 0 3 * * 1-5").is_ok() && cron("0 3 * * MON").is_ok() && cron("0 0 29 2 *").is_ok());
        let wrong = |text: &str| cron(text).unwrap_err().to_string();
        assert_eq!(
            wrong("at night"),
            "expected five fields (minute hour day month weekday), or six with the seconds first; found 2"
        );
        assert!(wrong("").ends_with("found 0") && wrong("0 0 3 * * * 2026").ends_with("found 7"));
        assert!(wrong("99 3 * * *").starts_with("\"99 3 * * *\" is no schedule: "));
        assert_eq!(wrong("0 3 30 2 *"), "\"0 3 30 2 *\" names a time that never comes");
    }

    #[test]
    fn a_schedule_keeps_local_time_when_the_clock_is_put_forward_and_back() {
        // Schedule, after, next.
        let table = [
            ("0 3 * * *", "2026-03-01T12:00:00Z", "2026-03-02T02:00:00Z"),
            ("0 3 * * *", "2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z"),
            ("0 3 * * *", "2026-03-02T01:59:59.5Z", "2026-03-02T02:00:00Z"),
            // Forward: 3:00 is the first moment of summer time, and 2:30 is left out and comes then as well.
            ("0 3 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
            ("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
            ("30 2 * * *", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
            // Back: 2:30 comes twice and counts once.
            ("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
            ("30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
            // In the hour that is repeated: what it repeats is over.
            ("*/5 * * * *", "2026-10-25T01:10:00Z", "2026-10-25T02:00:00Z"),
            ("* * * * * *", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-28T23:00:00Z"),
        ];
        for (schedule, after, wanted) in table {
            let next = schedule.parse::<Cron>().unwrap().next_after(at(after), &zone());
            assert_eq!(next, Some(at(wanted)), "{schedule} after {after}");
        }
    }

    proptest! {
        #[test]
        fn every_day_has_its_time_once_whatever_the_clock_does(
            hour in 0i8..24, minute in 0i8..60, start in 0i64..365,
        ) {
            let cron: Cron = format!("{minute} {hour} * * *").parse().unwrap();
            let mut before = at("2026-01-01T00:00:00Z") + SignedDuration::from_hours(24 * start);
            let mut day = None;
            for _ in 0..40 {
                let next = cron.next_after(before, &zone()).unwrap();
                prop_assert!(next > before);
                let local = zone().to_datetime(next);
                prop_assert!(day.is_none_or(|day: civil::Date| day.tomorrow().unwrap() == local.date()));
                let told = civil::time(hour, minute, 0, 0);
                // Only a time that is left out comes at another one.
                prop_assert!(local.time() == told || (hour == 2 && local.time() == civil::time(3, 0, 0, 0)));
                (before, day) = (next, Some(local.date()));
            }
        }
    }
}
