//! `office.*`: what an orchestrator learns from one project for the next (S0.38, S0.39).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `office.review`: what a reviewer said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewParams {
    /// `FAIL` or anything else; taken from the `VERDICT:` line of the text when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The review. Its numbered lines are what was wrong.
    pub text: String,
}

/// `office.plan`: a plan that the person approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanParams {
    /// The plan. Its `TECH:` lines are what was approved.
    pub text: String,
}

/// `office.project`: a project that is finished. Without a `summary` the ratings are those of the last one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ProjectParams {
    /// What was built; 300 characters of it are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// With what; 100 characters of it are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tech: Option<String>,
    /// 1 to 5 for any of `creativity`, `visual`, `interaction`, `completeness` and `engagement`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ratings: BTreeMap<String, f64>,
    /// Whether the last review passed; true when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_passed: Option<bool>,
}

/// `office.learned` takes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LearnedParams {}

/// `office.forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetParams {
    /// The words of what is dropped: a pattern, a technology, or the summary of a project.
    pub text: String,
}

/// Answer to `office.review` and `office.plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct NotedAnswer {
    /// What was new.
    pub added: u64,
    /// What was known.
    pub known: u64,
    /// What was left alone because it had been forgotten.
    pub left_out: u64,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
}

/// Answer to `office.project`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ProjectAnswer {
    /// The project as it is kept now; null when a forgotten one was not taken in.
    pub project: Option<Project>,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
}

/// Answer to `office.learned`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct LearnedAnswer {
    /// The 20 most flagged failures, the most flagged first.
    pub review_patterns: Vec<Pattern>,
    /// The last ten approved technologies, oldest first.
    pub tech_preferences: Vec<String>,
    /// The last fifty projects, oldest first.
    pub projects: Vec<Project>,
}

/// A failure that reviewers flagged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Pattern {
    /// What was wrong.
    pub pattern: String,
    /// How often it was flagged.
    pub count: u32,
    /// When it was flagged last.
    pub last_seen: String,
}

/// A finished project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Project {
    /// What was built.
    pub summary: String,
    /// With what.
    pub tech: String,
    /// When it was finished.
    pub completed_at: String,
    /// Whether the last review passed.
    pub review_passed: bool,
    /// Axis and rating; empty when nobody rated it.
    pub ratings: BTreeMap<String, f64>,
}

/// Answer to `office.forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ForgetAnswer {
    /// How many entries were dropped; 0 is no error.
    pub forgotten: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parse_params;

    #[test]
    fn ratings_alone_are_enough_and_a_wrong_one_is_named() {
        let params: ProjectParams = parse_params(json!({"ratings": {"visual": 2}})).unwrap();
        assert_eq!((params.summary, params.ratings["visual"]), (None, 2.0));
        let error = parse_params::<ProjectParams>(json!({"ratings": {"visual": "good"}})).unwrap_err();
        assert_eq!(error.message, "ratings.visual: invalid type: string \"good\", expected f64");
        assert_eq!(
            parse_params::<ReviewParams>(json!({"verdict": "FAIL"})).unwrap_err().message,
            "missing field `text`"
        );
    }
}
