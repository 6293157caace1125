//! Ages in words, in the two styles the faces promise. A time that lies ahead counts as now.

use jiff::Timestamp;

use crate::rank::days;

/// The office style (S0.37): `just now`, `10 min ago`, `3h ago`, `2d ago`.
pub fn office(then: Timestamp, now: Timestamp) -> String {
    let minutes = now.as_second().saturating_sub(then.as_second()).max(0) / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{}h ago", minutes / 60),
        _ => format!("{}d ago", minutes / 1_440),
    }
}

/// The project style (S1.32): `today`, `yesterday`, `5d ago`, `2mo ago`; days and months are rounded.
pub fn project(then: Timestamp, now: Timestamp) -> String {
    match days(then, now).round() as i64 {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days @ 2..30 => format!("{days}d ago"),
        days => format!("{}mo ago", (days as f64 / 30.0).round() as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[test]
    fn ages_read_as_the_documents_print_them() {
        let now: Timestamp = "2026-03-18T12:00:00Z".parse().unwrap();
        let minute = 60;
        let day = 24 * 60 * minute;
        let table = [
            (-day, "just now", "today"),
            (59, "just now", "today"),
            (minute, "1 min ago", "today"),
            (10 * minute, "10 min ago", "today"),
            (90 * minute, "1h ago", "today"),
            (13 * 60 * minute, "13h ago", "yesterday"),
            (day, "1d ago", "yesterday"),
            (29 * day, "29d ago", "29d ago"),
            (30 * day, "30d ago", "1mo ago"),
            (44 * day, "44d ago", "1mo ago"),
            (46 * day, "46d ago", "2mo ago"),
        ];
        for (seconds, in_office, in_project) in table {
            let then = now - SignedDuration::from_secs(seconds);
            assert_eq!(office(then, now), in_office);
            assert_eq!(project(then, now), in_project);
        }
    }
}
