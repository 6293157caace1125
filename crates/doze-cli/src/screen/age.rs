//! Ages in words.

use jiff::Timestamp;

/// How long ago something was: `just now`, `5 min`, `3 h`, `2 d`, `7 wk`, `3 y`. What lies ahead is `in 5 min`,
/// and `in a moment` when it is less than one.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    let size = match seconds.unsigned_abs() {
        1..60 if seconds < 0 => return "in a moment".to_owned(),
        0..60 => return "just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds @ 86_400..2_419_200 => format!("{} d", seconds / 86_400),
        seconds @ 2_419_200..31_536_000 => format!("{} wk", seconds / 604_800),
        seconds => format!("{} y", seconds / 31_536_000),
    };
    if seconds < 0 { format!("in {size}") } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let now = Timestamp::from_second(1_000_000_000).unwrap();
        let cases = [
            (0, "just now"),
            (59, "just now"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (86_399, "23 h"),
            (86_400, "1 d"),
            (27 * 86_400, "27 d"),
            (28 * 86_400, "4 wk"),
            (364 * 86_400, "52 wk"),
            (800 * 86_400, "2 y"),
            (-1, "in a moment"),
            (-59, "in a moment"),
            (-60, "in 1 min"),
            (-7_200, "in 2 h"),
        ];
        for (seconds, wanted) in cases {
            let then = Timestamp::from_second(1_000_000_000 - seconds).unwrap();
            assert_eq!(age(now, then), wanted, "{seconds} s");
        }
        assert_eq!(age(Timestamp::MIN, Timestamp::MAX).split(' ').next(), Some("in"));
    }
}
