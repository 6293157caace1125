//! Schedules by the clock.

use tokio_cron_scheduler::Job;

/// The schedule with its seconds, as the scheduler wants it: `0 3 * * *` becomes `0 0 3 * * *`. Empty stays empty.
pub(super) fn six_fields(text: &str) -> Result<String, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let schedule = match fields.len() {
        0 => return Ok(String::new()),
        5 => format!("0 {}", fields.join(" ")),
        6 => fields.join(" "),
        count => return Err(format!("expected five fields (minute hour day month weekday), found {count}")),
    };
    // The scheduler's own parser decides, so that what is accepted here is accepted there.
    match Job::new(schedule.as_str(), |_, _| ()) {
        Ok(_) => Ok(schedule),
        Err(error) => Err(format!("{text:?} is no schedule: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::six_fields;

    #[test]
    fn five_fields_are_enough_and_nonsense_is_told() {
        assert_eq!(six_fields("0 3 * * *").unwrap(), "0 0 3 * * *");
        assert_eq!(six_fields("30 0 3 * * 1-5").unwrap(), "30 0 3 * * 1-5");
        assert_eq!(six_fields("  ").unwrap(), "");
        assert!(six_fields("at night").unwrap_err().contains("five fields"));
        assert!(six_fields("99 3 * * *").is_err());
    }
}
