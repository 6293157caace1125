//! What an orchestrator learns from one project for the next (S0.38): failures that reviewers flag, technology that
//! the person approved, finished projects with the person's ratings. The numbers are the original program's.

use jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::{cut, one_line, regex, width};

/// The axes a project is rated on, in the order they are shown (S0.39).
pub const AXES: [&str; 5] = ["creativity", "visual", "interaction", "completeness", "engagement"];
/// The lowest and the highest rating.
pub const RATINGS: std::ops::RangeInclusive<f64> = 1.0..=5.0;
/// Patterns, preferences and projects that are kept.
pub const MAX_PATTERNS: usize = 20;
/// See [`MAX_PATTERNS`].
pub const MAX_PREFERENCES: usize = 10;
/// See [`MAX_PATTERNS`].
pub const MAX_PROJECTS: usize = 50;
/// Characters kept of what a project was, and of its technology and an approved one.
pub const MAX_SUMMARY: usize = 300;
/// See [`MAX_SUMMARY`].
pub const MAX_TECH: usize = 100;
/// Shortest and longest flagged issue, in characters; for the lower bound a CJK character counts twice.
const ISSUE_CHARS: std::ops::RangeInclusive<usize> = 10..=200;

static VERDICT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\bverdict\W{1,8}(\w+)"));
static ISSUE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\s*\d{1,4}[.)、．）]\s*(.+)$"));
static TECH: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?im)^[\s>*_#-]{0,8}tech[*_]{0,2}[ \t]*[:：][ \t*_]*(.+)$"));

/// A failure that reviewers flagged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewPattern {
    /// What was wrong, in the words of the first review that said so.
    pub pattern: String,
    /// How often it was flagged.
    pub count: u32,
    /// When it was flagged last.
    pub last_seen: Timestamp,
}

/// A finished project with its ratings.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectRecord {
    /// What was built.
    pub summary: String,
    /// With what.
    pub tech: String,
    /// When it was finished.
    pub completed_at: Timestamp,
    /// Whether the last review passed.
    pub review_passed: bool,
    /// Axis and rating, 1–5, in the order they are shown; empty when nobody rated it.
    pub ratings: Vec<(String, f64)>,
}

/// Everything learned from previous projects; preferences and projects oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Learned {
    /// Flagged failures, the most flagged first.
    pub review_patterns: Vec<ReviewPattern>,
    /// Approved technology.
    pub tech_preferences: Vec<String>,
    /// Finished projects.
    pub projects: Vec<ProjectRecord>,
}

/// What a review or a plan added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted {
    /// New entries.
    pub added: u64,
    /// Entries that were known.
    pub known: u64,
}

/// Whether a review failed: by the given verdict, or, where none is given, by the `VERDICT:` line of its text.
pub fn is_fail(verdict: Option<&str>, text: &str) -> bool {
    let told = |text: &str| VERDICT.captures(text).map(|found| found[1].to_owned());
    let word = match verdict.map(str::trim).filter(|word| !word.is_empty()) {
        Some(given) => told(given).unwrap_or_else(|| given.to_owned()),
        None => told(text).unwrap_or_default(),
    };
    word.eq_ignore_ascii_case("fail") || word.eq_ignore_ascii_case("failed")
}

/// The numbered lines of a review that have the length of an issue, each once.
pub fn issues(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let lines = ISSUE.captures_iter(text).map(|found| one_line(&found[1]));
    lines
        .filter(|line| width(line) >= *ISSUE_CHARS.start() && line.chars().count() <= *ISSUE_CHARS.end())
        .filter(|line| seen.insert(key(line)))
        .collect()
}

/// What the `TECH:` lines of an approved plan name.
pub fn tech_lines(text: &str) -> Vec<String> {
    let lines = TECH.captures_iter(text).map(|found| one_line(found[1].trim_matches(['*', '_', ' '])));
    lines.map(|line| cut(&line, MAX_TECH).to_owned()).filter(|line| !line.is_empty()).collect()
}

/// By what two issues are the same: lower case without punctuation, which on ASCII text is the original's rule.
pub fn key(issue: &str) -> String {
    let kept: String =
        issue.to_lowercase().chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Learned {
    /// Adds the issues of a failed review. A full list lets the least flagged go, never one that was just said.
    pub fn flag(&mut self, issues: &[String], now: Timestamp) -> Noted {
        let mut noted = Noted::default();
        for issue in issues {
            let same = key(issue);
            match self.review_patterns.iter_mut().find(|known| key(&known.pattern) == same) {
                Some(known) => {
                    known.count = known.count.saturating_add(1);
                    known.last_seen = now;
                    noted.known += 1;
                }
                None => {
                    let pattern = ReviewPattern { pattern: issue.clone(), count: 1, last_seen: now };
                    self.review_patterns.push(pattern);
                    noted.added += 1;
                }
            }
        }
        self.bound_patterns(Some(now));
        noted
    }

    /// Adds approved technology; the spelling that came first stays.
    pub fn approve(&mut self, tech: &[String]) -> Noted {
        let mut noted = Noted::default();
        for line in tech {
            let is_known =
                self.tech_preferences.iter().any(|known| known.to_lowercase() == line.to_lowercase());
            if is_known {
                noted.known += 1;
            } else {
                self.tech_preferences.push(line.clone());
                noted.added += 1;
            }
        }
        keep_last(&mut self.tech_preferences, MAX_PREFERENCES);
        noted
    }

    /// Adds a finished project.
    pub fn finish(&mut self, project: ProjectRecord) {
        self.projects.push(project);
        keep_last(&mut self.projects, MAX_PROJECTS);
    }

    /// Takes in what another store learned; what is known already changes nothing, however often it comes. Its entries
    /// count as older than ours. Answers what was new and what was known.
    pub fn absorb(&mut self, other: Self) -> Noted {
        let mut noted = Noted::default();
        let mut note = |is_new: bool| *(if is_new { &mut noted.added } else { &mut noted.known }) += 1;
        for theirs in other.review_patterns {
            let same = key(&theirs.pattern);
            let ours = self.review_patterns.iter_mut().find(|known| key(&known.pattern) == same);
            note(ours.as_ref().is_none_or(|ours| ours.count < theirs.count));
            match ours {
                Some(ours) => {
                    ours.count = ours.count.max(theirs.count);
                    ours.last_seen = ours.last_seen.max(theirs.last_seen);
                }
                None => self.review_patterns.push(theirs),
            }
        }
        self.bound_patterns(None);
        let mut tech: Vec<String> = Vec::new();
        for theirs in other.tech_preferences {
            let is_same = |known: &String| known.to_lowercase() == theirs.to_lowercase();
            let is_new = !self.tech_preferences.iter().any(is_same) && !tech.iter().any(is_same);
            note(is_new);
            if is_new {
                tech.push(theirs);
            }
        }
        self.tech_preferences.splice(0..0, tech);
        keep_last(&mut self.tech_preferences, MAX_PREFERENCES);
        for theirs in other.projects {
            let is_same = |known: &ProjectRecord| {
                known.completed_at == theirs.completed_at && known.summary == theirs.summary
            };
            let is_new = !self.projects.iter().any(is_same);
            note(is_new);
            if is_new {
                self.projects.push(theirs);
            }
        }
        self.projects.sort_by_key(|project| project.completed_at);
        keep_last(&mut self.projects, MAX_PROJECTS);
        noted
    }

    /// Drops every entry that says this, by the rule of [`key`]. Answers how many.
    pub fn forget(&mut self, text: &str) -> usize {
        let (same, before) = (key(text), self.len());
        self.review_patterns.retain(|known| key(&known.pattern) != same);
        self.tech_preferences.retain(|known| key(known) != same);
        self.projects.retain(|known| key(&known.summary) != same);
        before - self.len()
    }

    /// All entries.
    pub fn len(&self) -> usize {
        self.review_patterns.len() + self.tech_preferences.len() + self.projects.len()
    }

    /// Whether nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the most flagged: of equals the one flagged last, and what was flagged at `just` in any case.
    fn bound_patterns(&mut self, just: Option<Timestamp>) {
        self.review_patterns.sort_by_key(|known| {
            let is_new = just == Some(known.last_seen);
            (!is_new, std::cmp::Reverse(known.count), std::cmp::Reverse(known.last_seen))
        });
        self.review_patterns.truncate(MAX_PATTERNS);
        self.review_patterns
            .sort_by_key(|known| (std::cmp::Reverse(known.count), std::cmp::Reverse(known.last_seen)));
    }
}

fn keep_last<T>(list: &mut Vec<T>, max: usize) {
    let surplus = list.len().saturating_sub(max);
    list.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute)
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn only_a_failed_review_is_one() {
        let table = [
            (Some("FAIL"), "", true),
            (Some("fail"), "VERDICT: PASS", true),
            (Some("VERDICT: FAIL"), "", true),
            (Some("PASS"), "VERDICT: FAIL", false),
            (None, "All fine.\nVERDICT: FAIL\n1. x", true),
            (None, "**VERDICT:** FAIL", true),
            (None, "VERDICT: PASS", false),
            (None, "It may fail later", false),
            (Some(""), "", false),
        ];
        for (verdict, text, expected) in table {
            assert_eq!(is_fail(verdict, text), expected, "{verdict:?} {text}");
        }
    }

    #[test]
    fn issues_are_the_numbered_lines_of_a_fitting_length() {
        let text = format!(
            "VERDICT: FAIL\n1. Missing error handling in the parser\n2) short\n - not numbered at all, really\n\
             3. {}\n  4. No tests for the empty list.\n5. no tests for the empty list\n6. 缺少错误处理逻辑",
            "x".repeat(201)
        );
        assert_eq!(
            issues(&text),
            ["Missing error handling in the parser", "No tests for the empty list.", "缺少错误处理逻辑"]
        );
        assert!(issues("").is_empty());
    }

    #[test]
    fn tech_is_what_the_lines_of_a_plan_name() {
        let text = "PLAN\nTECH: PixiJS v8 + Vite\n- **TECH**: Zustand\nThe tech: is discussed below\nTECH:\nTECHNIQUE: none";
        assert_eq!(tech_lines(text), ["PixiJS v8 + Vite", "Zustand"]);
        assert_eq!(tech_lines(&format!("tech: {}", "y".repeat(300)))[0].len(), MAX_TECH);
    }

    #[test]
    fn the_same_failure_is_counted_and_the_rarest_goes_first() {
        let mut learned = Learned::default();
        let noted = learned.flag(&texts(&["Missing error handling!"]), at(0));
        assert_eq!(noted, Noted { added: 1, known: 0 });
        let noted = learned.flag(&texts(&["missing error-handling"]), at(1));
        assert_eq!(noted.added, 1, "a hyphen is dropped, not made a blank");
        let noted = learned.flag(&texts(&["MISSING error handling"]), at(2));
        assert_eq!(noted, Noted { added: 0, known: 1 });
        assert_eq!(learned.review_patterns[0].count, 2);
        for n in 0..18 {
            learned.flag(&texts(&[&format!("another failure number {n}")]), at(3 + n));
        }
        assert_eq!(learned.review_patterns.len(), MAX_PATTERNS);
        learned.flag(&texts(&["something new was flagged"]), at(60));
        assert_eq!(learned.review_patterns.len(), MAX_PATTERNS);
        let has = |text: &str| learned.review_patterns.iter().any(|known| known.pattern == text);
        assert!(has("something new was flagged") && has("Missing error handling!"));
        assert!(!has("missing error-handling"), "of the rarest the one not flagged for longest goes");
    }

    #[test]
    fn ten_preferences_and_fifty_projects_are_kept() {
        let mut learned = Learned::default();
        for n in 0..12 {
            learned.approve(&[format!("Tech {n}")]);
        }
        assert_eq!(learned.approve(&texts(&["tech 11"])), Noted { added: 0, known: 1 });
        assert_eq!((learned.tech_preferences.len(), learned.tech_preferences[0].as_str()), (10, "Tech 2"));
        for n in 0..51 {
            learned.finish(project(&format!("Game {n}"), n));
        }
        assert_eq!((learned.projects.len(), learned.projects[0].summary.as_str()), (50, "Game 1"));
    }

    fn project(summary: &str, minute: i64) -> ProjectRecord {
        ProjectRecord {
            summary: summary.to_owned(),
            tech: "Vite".to_owned(),
            completed_at: at(minute),
            review_passed: true,
            ratings: Vec::new(),
        }
    }

    #[test]
    fn taking_in_the_same_again_changes_nothing() {
        let mut theirs = Learned::default();
        theirs.flag(&texts(&["Missing error handling"]), at(1));
        theirs.flag(&texts(&["missing error handling"]), at(2));
        theirs.approve(&texts(&["Vite"]));
        theirs.finish(project("Game", 3));
        let mut ours = Learned::default();
        assert_eq!(ours.absorb(theirs.clone()), Noted { added: 3, known: 0 });
        assert_eq!(ours, theirs);
        assert_eq!(ours.absorb(theirs.clone()), Noted { added: 0, known: 3 });
        assert_eq!(ours, theirs);
        ours.approve(&texts(&["Svelte"]));
        theirs.approve(&texts(&["React"]));
        ours.absorb(theirs);
        assert_eq!(ours.tech_preferences, ["React", "Vite", "Svelte"]);
        assert_eq!((ours.forget("MISSING ERROR HANDLING"), ours.forget("game."), ours.len()), (1, 1, 3));
    }
}
