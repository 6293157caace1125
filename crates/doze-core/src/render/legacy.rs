//! What an orchestrator learned from earlier projects (S0.38, S0.39): recurring review failures, technology that was
//! approved, ratings the person gave.

use super::{context, line_of};

/// A pattern must have been flagged this often to be shown.
const MIN_FLAGGED: u32 = 2;
const MAX_PATTERNS: usize = 5;
const MAX_PREFERENCES: usize = 3;
const MAX_PROJECTS: usize = 3;
const MAX_PATTERN: usize = 200;
const MAX_PREFERENCE: usize = 100;
const MAX_SUMMARY: usize = 60;
/// An axis rated below this (of five) is one to improve.
const LOW_RATING: f64 = 4.0;
/// Axes named as ones to improve.
const MAX_IMPROVE: usize = 2;

/// A failure that reviewers flagged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPattern {
    /// What was wrong.
    pub pattern: String,
    /// How often it was flagged.
    pub count: u32,
}

/// A finished project with its ratings.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectRecord {
    /// What was built.
    pub summary: String,
    /// Axis and rating, 1–5, in the order they are shown; empty when nobody rated it.
    pub ratings: Vec<(String, f64)>,
}

/// Everything learned from previous projects; each list oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Legacy {
    /// Flagged failures.
    pub review_patterns: Vec<ReviewPattern>,
    /// Approved technology.
    pub tech_preferences: Vec<String>,
    /// Finished projects.
    pub projects: Vec<ProjectRecord>,
}

fn lines(legacy: &Legacy) -> Vec<String> {
    let mut lines = Vec::new();
    let mut patterns: Vec<&ReviewPattern> =
        legacy.review_patterns.iter().filter(|pattern| pattern.count >= MIN_FLAGGED).collect();
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.count));
    if !patterns.is_empty() {
        lines.push("Common review issues to avoid:".to_owned());
        lines.extend(patterns.iter().take(MAX_PATTERNS).map(|pattern| {
            format!("- {} (flagged {}x)", line_of(&pattern.pattern, MAX_PATTERN), pattern.count)
        }));
    }
    let recent = legacy.tech_preferences.len().saturating_sub(MAX_PREFERENCES);
    let preferences: Vec<String> =
        legacy.tech_preferences[recent..].iter().map(|text| line_of(text, MAX_PREFERENCE)).collect();
    if !preferences.is_empty() {
        lines.push(format!("Technology the person approved: {}", preferences.join("; ")));
    }
    let mut rated: Vec<&ProjectRecord> = legacy
        .projects
        .iter()
        .rev()
        .filter(|project| !project.ratings.is_empty())
        .take(MAX_PROJECTS)
        .collect();
    rated.reverse();
    if !rated.is_empty() {
        lines.push("Ratings of recent projects:".to_owned());
        lines.extend(rated.iter().map(|project| rating_line(project)));
    }
    lines
}

/// The section, or nothing when there is nothing to show.
pub(super) fn section(legacy: &Legacy) -> Option<String> {
    context::section("LEARNED FROM PREVIOUS PROJECTS", lines(legacy).into_iter())
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
        "- \"{}\" [{}] avg={average:.1}{improve}",
        line_of(&project.summary, MAX_SUMMARY),
        axes.join(", ")
    )
}
