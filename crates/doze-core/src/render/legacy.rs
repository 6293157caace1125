//! What an orchestrator learned from earlier projects (S0.39), as its agents are told: recurring review failures,
//! technology that was approved, ratings the person gave.

use super::line_of;
use crate::office::{Learned, MAX_TECH, ProjectRecord, ReviewPattern};

/// A pattern must have been flagged this often to be shown.
const MIN_FLAGGED: u32 = 2;
const MAX_PATTERNS: usize = 5;
const MAX_PREFERENCES: usize = 3;
const MAX_PROJECTS: usize = 3;
const MAX_PATTERN: usize = 200;
const MAX_SUMMARY: usize = 60;
/// An axis rated below this (of five) is one to improve.
const LOW_RATING: f64 = 4.0;
/// Axes named as ones to improve.
const MAX_IMPROVE: usize = 2;

/// Blocks of lines, the most flagged failures first; none when there is nothing to show. The first line of a block is
/// its heading, unless it is the only one.
pub(super) fn blocks(learned: &Learned) -> Vec<Vec<String>> {
    let mut patterns: Vec<&ReviewPattern> =
        learned.review_patterns.iter().filter(|pattern| pattern.count >= MIN_FLAGGED).collect();
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.count));
    let patterns = patterns
        .iter()
        .take(MAX_PATTERNS)
        .map(|pattern| format!("- {} (flagged {}x)", line_of(&pattern.pattern, MAX_PATTERN), pattern.count));
    let recent = learned.tech_preferences.len().saturating_sub(MAX_PREFERENCES);
    let tech: Vec<String> =
        learned.tech_preferences[recent..].iter().map(|text| line_of(text, MAX_TECH)).collect();
    let tech = (!tech.is_empty()).then(|| format!("Technology the person approved: {}", tech.join("; ")));
    let rated = learned.projects.iter().filter(|project| !project.ratings.is_empty());
    let mut rated: Vec<&ProjectRecord> = rated.rev().take(MAX_PROJECTS).collect();
    rated.reverse();
    [
        under("Common review issues to avoid:", patterns),
        tech.into_iter().collect(),
        under("Ratings of recent projects:", rated.into_iter().map(rating_line)),
    ]
    .into_iter()
    .filter(|block: &Vec<String>| !block.is_empty())
    .collect()
}

/// The lines under their heading; nothing without lines.
fn under(heading: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { lines } else { std::iter::once(heading.to_owned()).chain(lines).collect() }
}

fn rating_line(project: &ProjectRecord) -> String {
    let axes: Vec<String> =
        project.ratings.iter().map(|(axis, n)| format!("{}:{n}/5", line_of(axis, 30))).collect();
    let average = project.ratings.iter().map(|(_, n)| n).sum::<f64>() / project.ratings.len() as f64;
    let mut low: Vec<&(String, f64)> = project.ratings.iter().filter(|(_, n)| *n < LOW_RATING).collect();
    low.sort_by(|a, b| a.1.total_cmp(&b.1));
    let low: Vec<String> = low.iter().take(MAX_IMPROVE).map(|(axis, _)| line_of(axis, 30)).collect();
    let improve = if low.is_empty() { String::new() } else { format!(" → improve: {}", low.join(", ")) };
    format!(
        "- \"{}\" [{}] avg={}{improve}",
        line_of(&project.summary, MAX_SUMMARY),
        axes.join(", "),
        one_decimal(average)
    )
}

/// A positive number as the original's language writes it with one decimal: what lies exactly between two of them goes
/// up, where Rust takes the even one. Of all numbers only odd quarters lie so.
fn one_decimal(number: f64) -> String {
    let is_between = (number * 4.0).fract() == 0.0 && (number * 2.0).fract() != 0.0;
    format!("{:.1}", if is_between { number + 0.05 } else { number })
}

#[cfg(test)]
mod tests {
    use super::one_decimal;

    #[test]
    fn numbers_are_rounded_as_the_original_rounds_them() {
        for (number, expected) in [
            (3.25, "3.3"),
            (1.25, "1.3"),
            (4.25, "4.3"),
            (4.75, "4.8"),
            (3.75, "3.8"),
            (3.5, "3.5"),
            (4.0, "4.0"),
            (0.35, "0.3"),
            (1.05, "1.1"),
            (1.15, "1.1"),
            (2.449_999, "2.4"),
            (11.0 / 3.0, "3.7"),
        ] {
            assert_eq!(one_decimal(number), expected, "{number}");
        }
    }
}
