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
/// The most flagged of them never make room for what is flagged for the first time, however much that is.
const RECURRING: usize = 15;
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

static VERDICT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bverdict(?:\W{1,8}|\s+(?:is|was|stays|remains):?\s+\W{0,4})(\w+)"));
static VERDICT_LINE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?im)^[\s>*_#-]{0,8}(?:final\s+)?verdict[*_]{0,2}(?:\s*[:：=-]|\s*$)\W{0,8}(\w+)")
});
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
    /// The project that was finished last is none of them, because it was forgotten: ratings that come without a name
    /// are its own.
    pub last_is_gone: bool,
}

/// What a review or a plan added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted {
    /// New entries.
    pub added: u64,
    /// Entries that were known.
    pub known: u64,
    /// New entries for which there was no room.
    pub dropped: u64,
}

/// Whether a review failed: by the given verdict, or, where none is given, by the last verdict of its text; what stands
/// before it tells of earlier rounds or repeats what was asked for. A verdict at the beginning of a line comes before one
/// that is only spoken of.
pub fn is_fail(verdict: Option<&str>, text: &str) -> bool {
    let last =
        |pattern: &Regex, text: &str| pattern.captures_iter(text).last().map(|found| found[1].to_owned());
    let told = |text: &str| last(&VERDICT_LINE, text).or_else(|| last(&VERDICT, text));
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

/// By what two names of technology are the same: lower case, with every sign, however they are spaced.
pub fn tech_key(name: &str) -> String {
    name.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Learned {
    /// Adds the issues of a failed review. A full list lets the least flagged go; what was just said stays as long as
    /// that leaves the most flagged their places.
    pub fn flag(&mut self, issues: &[String], now: Timestamp) -> Noted {
        let mut noted = Noted::default();
        let mut new = BTreeSet::new();
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
                    new.insert(same);
                }
            }
        }
        self.bound_patterns(Some(now));
        noted.count(&new, &self.review_patterns, |known| key(&known.pattern));
        noted
    }

    /// Adds approved technology; the spelling that came first stays.
    pub fn approve(&mut self, tech: &[String]) -> Noted {
        let mut noted = Noted::default();
        let mut new = BTreeSet::new();
        for line in tech {
            let is_known =
                self.tech_preferences.iter().any(|known| known.to_lowercase() == line.to_lowercase());
            if is_known {
                noted.known += 1;
            } else {
                self.tech_preferences.push(line.clone());
                new.insert(line.to_lowercase());
            }
        }
        keep_last(&mut self.tech_preferences, MAX_PREFERENCES);
        noted.count(&new, &self.tech_preferences, |known| known.to_lowercase());
        noted
    }

    /// Adds a finished project.
    pub fn finish(&mut self, project: ProjectRecord) {
        self.projects.push(project);
        self.last_is_gone = false;
        keep_last(&mut self.projects, MAX_PROJECTS);
    }

    /// Takes in what another store learned; what is known already changes nothing, however often it comes. Its entries
    /// count as older than ours, and what there is no room for is told as dropped. Answers what was new and what was
    /// known.
    pub fn absorb(&mut self, other: Self) -> Noted {
        let mut noted = Noted::default();
        let mut new = BTreeSet::new();
        for theirs in other.review_patterns {
            let same = key(&theirs.pattern);
            let ours = self.review_patterns.iter_mut().find(|known| key(&known.pattern) == same);
            match ours {
                Some(ours) => {
                    *(if ours.count < theirs.count { &mut noted.added } else { &mut noted.known }) += 1;
                    ours.count = ours.count.max(theirs.count);
                    ours.last_seen = ours.last_seen.max(theirs.last_seen);
                }
                None => {
                    new.insert(same);
                    self.review_patterns.push(theirs);
                }
            }
        }
        self.bound_patterns(None);
        noted.count(&new, &self.review_patterns, |known| key(&known.pattern));
        let mut tech: Vec<String> = Vec::new();
        new.clear();
        for theirs in other.tech_preferences {
            let is_same = |known: &String| known.to_lowercase() == theirs.to_lowercase();
            if self.tech_preferences.iter().any(is_same) || tech.iter().any(is_same) {
                noted.known += 1;
            } else {
                new.insert(theirs.to_lowercase());
                tech.push(theirs);
            }
        }
        self.tech_preferences.splice(0..0, tech);
        keep_last(&mut self.tech_preferences, MAX_PREFERENCES);
        noted.count(&new, &self.tech_preferences, |known| known.to_lowercase());
        let name = |known: &ProjectRecord| format!("{} {}", known.completed_at, known.summary);
        new.clear();
        for theirs in other.projects {
            if self.projects.iter().any(|known| name(known) == name(&theirs)) {
                noted.known += 1;
            } else {
                new.insert(name(&theirs));
                self.projects.push(theirs);
            }
        }
        self.projects.sort_by_key(|project| project.completed_at);
        keep_last(&mut self.projects, MAX_PROJECTS);
        noted.count(&new, &self.projects, name);
        noted
    }

    /// Drops every entry that says this, also one that was cut at its bound. Of sentences punctuation does not count, by
    /// the rule of [`key`]; of the name of a technology every sign does (`C#` is not `C++`). Answers how many.
    pub fn forget(&mut self, text: &str) -> usize {
        let line = one_line(text);
        let (summary, tech) = (key(cut(&line, MAX_SUMMARY)), tech_key(cut(&line, MAX_TECH)));
        let (same, name, before) = (key(text), tech_key(text), self.len());
        self.review_patterns.retain(|known| key(&known.pattern) != same);
        self.tech_preferences.retain(|known| ![&name, &tech].contains(&&tech_key(known)));
        let is_gone = |known: &ProjectRecord| [&same, &summary].contains(&&key(&known.summary));
        self.last_is_gone |= self.projects.last().is_some_and(is_gone);
        self.projects.retain(|known| !is_gone(known));
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

    /// Keeps the most flagged, of equals the one flagged last; in the last places what was flagged at `just`.
    fn bound_patterns(&mut self, just: Option<Timestamp>) {
        let by_count =
            |known: &ReviewPattern| (std::cmp::Reverse(known.count), std::cmp::Reverse(known.last_seen));
        self.review_patterns.sort_by_key(by_count);
        let last = RECURRING.min(self.review_patterns.len());
        self.review_patterns[last..].sort_by_key(|known| just != Some(known.last_seen));
        self.review_patterns.truncate(MAX_PATTERNS);
        self.review_patterns.sort_by_key(by_count);
    }
}

impl Noted {
    /// Tells of new entries, by their names, which were kept.
    fn count<T>(&mut self, new: &BTreeSet<String>, kept: &[T], name: impl Fn(&T) -> String) {
        let added = kept.iter().filter(|entry| new.contains(&name(entry))).count();
        self.added += added as u64;
        self.dropped += (new.len() - added) as u64;
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
            (None, "Earlier: VERDICT: PASS (round 1)\nNow VERDICT: FAIL\n1. x", true),
            (None, "Earlier: VERDICT: FAIL (round 1)\nNow VERDICT: PASS\n1. x", false),
            (None, "End with VERDICT: PASS or VERDICT: FAIL.\n1. x\nVERDICT: PASS", false),
            (None, "End with VERDICT: FAIL or VERDICT: PASS.\n1. x\n**Final verdict:** FAIL", true),
            (None, "The last time my verdict was FAIL, now\nVERDICT: PASS", false),
            (None, "VERDICT: PASS\nThe last time my verdict was FAIL.", false),
            (None, "# VERDICT\nFAIL\n1. x", true),
            (None, "结论：不通过\nVERDICT：FAIL", true),
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
        assert_eq!(noted, Noted { added: 1, ..Noted::default() });
        let noted = learned.flag(&texts(&["missing error-handling"]), at(1));
        assert_eq!(noted.added, 1, "a hyphen is dropped, not made a blank");
        let noted = learned.flag(&texts(&["MISSING error handling"]), at(2));
        assert_eq!(noted, Noted { known: 1, ..Noted::default() });
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
    fn a_long_review_leaves_what_recurs_its_place_and_tells_what_it_added() {
        let mut learned = Learned::default();
        let many = |name: &str, n: usize| -> Vec<String> {
            (0..n).map(|at| format!("{name} failure number {at}")).collect()
        };
        for minute in 0..3 {
            learned.flag(&many("recurring", 18), at(minute));
        }
        let noted = learned.flag(&many("brand new", 30), at(9));
        assert_eq!(noted, Noted { added: 5, known: 0, dropped: 25 });
        let recurring = learned.review_patterns.iter().filter(|known| known.count == 3).count();
        assert_eq!((learned.review_patterns.len(), recurring), (MAX_PATTERNS, 15));
        let pattern =
            |n| ReviewPattern { pattern: format!("case {n} is missing"), count: n, last_seen: at(0) };
        let other = Learned {
            review_patterns: (0..25).map(pattern).collect(),
            tech_preferences: many("tech", 12),
            ..Learned::default()
        };
        let mut ours = Learned::default();
        assert_eq!(ours.absorb(other.clone()), Noted { added: 30, known: 0, dropped: 7 });
        assert_eq!(ours.absorb(other), Noted { added: 0, known: 30, dropped: 7 }, "however often");
    }

    #[test]
    fn ten_preferences_and_fifty_projects_are_kept() {
        let mut learned = Learned::default();
        for n in 0..12 {
            learned.approve(&[format!("Tech {n}")]);
        }
        assert_eq!(learned.approve(&texts(&["tech 11"])), Noted { known: 1, ..Noted::default() });
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
        assert_eq!(ours.absorb(theirs.clone()), Noted { added: 3, ..Noted::default() });
        assert_eq!(ours, theirs);
        assert_eq!(ours.absorb(theirs.clone()), Noted { known: 3, ..Noted::default() });
        assert_eq!(ours, theirs);
        ours.approve(&texts(&["Svelte"]));
        theirs.approve(&texts(&["React"]));
        ours.absorb(theirs);
        assert_eq!(ours.tech_preferences, ["React", "Vite", "Svelte"]);
        assert_eq!((ours.forget("MISSING ERROR HANDLING"), ours.forget("game."), ours.len()), (1, 1, 3));
        ours.approve(&texts(&["C", "C++", "C#", ".NET", "net"]));
        assert_eq!((ours.forget("c#"), ours.forget(".Net"), ours.forget("Svelte!")), (1, 1, 0));
        assert_eq!(ours.tech_preferences, ["React", "Vite", "Svelte", "C", "C++", "net"]);
    }

    #[test]
    fn an_entry_that_was_cut_is_forgotten_by_the_whole_text_and_ratings_stay_with_their_project() {
        let (game, tech) = ("a very long summary ".repeat(20), "Very Long Technology ".repeat(10));
        let mut learned = Learned::default();
        learned.finish(project("old", 1));
        learned.finish(project(cut(&game, MAX_SUMMARY), 2));
        learned.approve(&texts(&[cut(&tech, MAX_TECH)]));
        assert_eq!((learned.forget("old"), learned.last_is_gone), (1, false));
        assert_eq!((learned.forget(&game), learned.forget(&tech), learned.last_is_gone), (1, 1, true));
        assert!(learned.is_empty());
        learned.finish(project("new", 3));
        assert!(!learned.last_is_gone);
    }
}
