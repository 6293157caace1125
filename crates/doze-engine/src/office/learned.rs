//! `office.*`: reviews, plans and finished projects, for the projects to come (S0.38, S0.39).

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Origin, OwnerId};
use doze_core::office::{
    self, AXES, Learned, MAX_SUMMARY, MAX_TECH, Noted, ProjectRecord, RATINGS, ReviewPattern,
};
use doze_core::{injected, redact, text};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::record::Foreign;
use crate::names::check_chars;
use crate::{Engine, EngineError, encoded};

/// The keys of the record, and of what a foreign file said of its entries beyond that, in the family `other`.
const KEY: &str = "office:learned";
pub(crate) const TOLD: &str = "office:learned-foreign";
/// Characters of a review or a plan, of a project's summary, of its technology.
const MAX_TEXT: usize = 1_000_000;
const MAX_GIVEN_SUMMARY: usize = 20_000;
const MAX_GIVEN_TECH: usize = 2_000;

/// What a review or a plan taught.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotedLearning {
    /// New and known entries.
    pub noted: Noted,
    /// Entries left alone because they had been forgotten, or because there was no room for them.
    pub left_out: u64,
    /// How often each redaction rule struck.
    pub redacted: BTreeMap<String, u64>,
}

/// `office.project`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProjectRequest {
    /// What was built; `None` to rate the last project.
    pub summary: Option<String>,
    /// With what.
    pub tech: Option<String>,
    /// Axis and rating.
    pub ratings: BTreeMap<String, f64>,
    /// Whether the last review passed.
    pub review_passed: bool,
}

/// What foreign files said of entries, by the entry's key.
pub(super) type Told = BTreeMap<String, Foreign>;

/// The record as it is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    patterns: Vec<KeptPattern>,
    tech: Vec<String>,
    projects: Vec<KeptProject>,
    last_is_gone: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptPattern {
    pattern: String,
    count: u32,
    last_seen: Timestamp,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptProject {
    summary: String,
    tech: String,
    completed_at: Timestamp,
    review_passed: bool,
    ratings: Vec<(String, f64)>,
}

impl From<Kept> for Learned {
    fn from(kept: Kept) -> Self {
        let pattern = |kept: KeptPattern| ReviewPattern {
            pattern: kept.pattern,
            count: kept.count,
            last_seen: kept.last_seen,
        };
        let project = |kept: KeptProject| ProjectRecord {
            summary: kept.summary,
            tech: kept.tech,
            completed_at: kept.completed_at,
            review_passed: kept.review_passed,
            ratings: kept.ratings,
        };
        Self {
            review_patterns: kept.patterns.into_iter().map(pattern).collect(),
            tech_preferences: kept.tech,
            projects: kept.projects.into_iter().map(project).collect(),
            last_is_gone: kept.last_is_gone,
        }
    }
}

impl From<&Learned> for Kept {
    fn from(learned: &Learned) -> Self {
        let pattern = |known: &ReviewPattern| KeptPattern {
            pattern: known.pattern.clone(),
            count: known.count,
            last_seen: known.last_seen,
        };
        let project = |known: &ProjectRecord| KeptProject {
            summary: known.summary.clone(),
            tech: known.tech.clone(),
            completed_at: known.completed_at,
            review_passed: known.review_passed,
            ratings: known.ratings.clone(),
        };
        Self {
            patterns: learned.review_patterns.iter().map(pattern).collect(),
            tech: learned.tech_preferences.clone(),
            projects: learned.projects.iter().map(project).collect(),
            last_is_gone: learned.last_is_gone,
        }
    }
}

impl Engine {
    /// Keeps what a failed review flagged; a review that passed teaches nothing.
    pub fn office_review(
        &self,
        owner: &OwnerId,
        verdict: Option<&str>,
        text: &str,
    ) -> Result<NotedLearning, EngineError> {
        check_chars("verdict", verdict.unwrap_or_default(), MAX_GIVEN_TECH)?;
        let (text, redacted) = self.taught(owner, text)?;
        let issues = if office::is_fail(verdict, &text) { office::issues(&text) } else { Vec::new() };
        let now = self.now();
        let (noted, left_out) =
            self.learn_office(owner, &issues, str::to_owned, |learned, issues| learned.flag(issues, now))?;
        Ok(NotedLearning { noted, left_out, redacted })
    }

    /// Keeps the technology of a plan that the person approved.
    pub fn office_plan(&self, owner: &OwnerId, text: &str) -> Result<NotedLearning, EngineError> {
        let (text, redacted) = self.taught(owner, text)?;
        let tech = office::tech_lines(&text);
        let (noted, left_out) = self.learn_office(owner, &tech, grave_of_tech, Learned::approve)?;
        Ok(NotedLearning { noted, left_out, redacted })
    }

    /// Keeps a finished project, or the ratings of the last one. Answers the project as it is kept; none when it had
    /// been forgotten.
    pub fn office_project(
        &self,
        owner: &OwnerId,
        request: &ProjectRequest,
    ) -> Result<(Option<ProjectRecord>, BTreeMap<String, u64>), EngineError> {
        self.note_activity();
        self.refuse_in_silence(owner)?;
        let ratings = checked(&request.ratings)?;
        let mut redacted = BTreeMap::new();
        let mut part = |field: &str, given: &Option<String>, max: usize, keep: usize| {
            let given = given.as_deref().unwrap_or_default();
            check_chars(field, given, max)?;
            let clean = cleaned(given, &mut redacted);
            Ok::<_, EngineError>(text::cut(&text::one_line(&clean), keep).to_owned())
        };
        let summary = part("summary", &request.summary, MAX_GIVEN_SUMMARY, MAX_SUMMARY)?;
        let tech = part("tech", &request.tech, MAX_GIVEN_TECH, MAX_TECH)?;
        if request.summary.is_some() && summary.is_empty() {
            return Err(EngineError::invalid("summary is empty"));
        }
        let project = self.change_learned(owner, |snapshot, learned| {
            if request.summary.is_none() {
                return Ok((rated(learned, &ratings)?, Vec::new()));
            }
            if self.is_forgotten_anywhere(snapshot, owner, &summary, Origin::Agent)? {
                learned.last_is_gone = true;
                return Ok((None, Vec::new()));
            }
            let record = ProjectRecord {
                summary: summary.clone(),
                tech: tech.clone(),
                completed_at: self.now(),
                review_passed: request.review_passed,
                ratings: ratings.clone(),
            };
            learned.finish(record.clone());
            Ok((Some(record), vec![summary.clone()]))
        })?;
        Ok((project, redacted))
    }

    /// Everything learned so far.
    pub fn learned(&self, owner: &OwnerId) -> Result<Learned, EngineError> {
        self.learned_in(&self.store().snapshot()?, owner)
    }

    pub(crate) fn learned_in(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<Learned, EngineError> {
        let bytes = snapshot.aux(owner, Family::Other, KEY)?;
        let kept = bytes.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        Ok(kept.unwrap_or_default().into())
    }

    /// A given text without what doze put into it and without secrets.
    fn taught(&self, owner: &OwnerId, given: &str) -> Result<(String, BTreeMap<String, u64>), EngineError> {
        self.note_activity();
        check_chars("text", given, MAX_TEXT)?;
        self.refuse_in_silence(owner)?;
        let mut redacted = BTreeMap::new();
        Ok((cleaned(given, &mut redacted), redacted))
    }

    fn refuse_in_silence(&self, owner: &OwnerId) -> Result<(), EngineError> {
        match self.silence(owner, None)? {
            Some(silence) => Err(silence.refusal()),
            None => Ok(()),
        }
    }

    /// Adds entries that were not forgotten; answers what became of them and how many were left out.
    fn learn_office(
        &self,
        owner: &OwnerId,
        entries: &[String],
        grave: impl Fn(&str) -> String,
        add: impl Fn(&mut Learned, &[String]) -> Noted,
    ) -> Result<(Noted, u64), EngineError> {
        if entries.is_empty() {
            return Ok((Noted::default(), 0));
        }
        self.change_learned(owner, |snapshot, learned| {
            let (mut fresh, mut graves) = (Vec::new(), Vec::new());
            for entry in entries {
                if !self.is_forgotten_anywhere(snapshot, owner, &grave(entry), Origin::Agent)? {
                    fresh.push(entry.clone());
                    graves.push(grave(entry));
                }
            }
            let noted = add(learned, &fresh);
            Ok(((noted, (entries.len() - fresh.len()) as u64 + noted.dropped), graves))
        })
    }

    /// Changes what was learned. `change` answers also what it must not be kept under, should that be forgotten meanwhile.
    fn change_learned<T>(
        &self,
        owner: &OwnerId,
        mut change: impl FnMut(&Snapshot, &mut Learned) -> Result<(T, Vec<String>), EngineError>,
    ) -> Result<T, EngineError> {
        self.decide("others keep writing what the office learned", |snapshot| {
            let before = self.learned_in(snapshot, owner)?;
            let mut learned = before.clone();
            let (answer, graves) = change(snapshot, &mut learned)?;
            let mut set = ChangeSet::new(owner.clone());
            if learned != before {
                set = with_learned(snapshot, set, &learned)?;
                for grave in graves {
                    set = self.unless_forgotten(snapshot, set, None, &grave, Origin::Agent)?.0;
                }
            }
            Ok((set, answer))
        })
    }
}

/// Adds the record to a change set that holds only while nobody else changes it.
pub(super) fn with_learned(
    snapshot: &Snapshot,
    set: ChangeSet,
    learned: &Learned,
) -> Result<ChangeSet, EngineError> {
    let set = set.expect_seen(snapshot, Subject::Aux(Family::Other, KEY.to_owned()))?;
    Ok(set.put_aux(Family::Other, KEY, encoded(&Kept::from(learned))?))
}

/// As [`with_learned`], with what foreign files said added to what they had said.
pub(super) fn with_told(
    snapshot: &Snapshot,
    set: ChangeSet,
    learned: &Learned,
    more: &Told,
) -> Result<ChangeSet, EngineError> {
    let mut told = told_in(snapshot, &set.owner)?;
    told.extend(more.iter().map(|(key, foreign)| (key.clone(), foreign.clone())));
    let kept = names_in(learned);
    told.retain(|key, _| kept.contains(key));
    Ok(with_learned(snapshot, set, learned)?.put_aux(Family::Other, TOLD, encoded(&told)?))
}

/// The keys of all entries of which foreign files may have said more.
pub(super) fn names_in(learned: &Learned) -> BTreeSet<String> {
    let patterns = learned.review_patterns.iter().map(pattern_key);
    patterns.chain(learned.projects.iter().map(project_key)).collect()
}

/// What foreign files said of the entries that are kept.
pub(super) fn told_in(snapshot: &Snapshot, owner: &OwnerId) -> Result<Told, EngineError> {
    let bytes = snapshot.aux(owner, Family::Other, TOLD)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// Under which text it is remembered that the name of a technology was forgotten: words alone do not tell `.NET` from
/// `net`.
pub(super) fn grave_of_tech(name: &str) -> String {
    format!("technology{}", doze_core::model::hex(office::tech_key(name).as_bytes()))
}

pub(super) fn pattern_key(known: &ReviewPattern) -> String {
    format!("pattern\0{}", office::key(&known.pattern))
}

pub(super) fn project_key(known: &ProjectRecord) -> String {
    format!("project\0{}\0{}", office::key(&known.summary), known.completed_at.as_millisecond())
}

pub(super) fn cleaned(given: &str, redacted: &mut BTreeMap<String, u64>) -> String {
    let stripped = injected::strip_injected(given);
    let clean = text::clean(&stripped);
    let redaction = redact::redact(&clean);
    for (rule, count) in &redaction.hits {
        *redacted.entry((*rule).to_owned()).or_default() += count;
    }
    redaction.text.into_owned()
}

/// Ratings within their bounds, in the order of the axes.
fn checked(given: &BTreeMap<String, f64>) -> Result<Vec<(String, f64)>, EngineError> {
    for (axis, rating) in given {
        if !AXES.contains(&axis.as_str()) {
            let axis = text::cut(axis, 40);
            return Err(EngineError::invalid(format!("ratings.{axis} is none of {}", AXES.join(", "))));
        }
        if !RATINGS.contains(rating) {
            return Err(EngineError::invalid(format!("ratings.{axis} is outside 1 to 5")));
        }
    }
    Ok(AXES.iter().filter_map(|axis| Some(((*axis).to_owned(), *given.get(*axis)?))).collect())
}

/// The last project with these ratings; those it had on other axes stay. None when that one was forgotten: they are not
/// those of the project before it.
fn rated(learned: &mut Learned, ratings: &[(String, f64)]) -> Result<Option<ProjectRecord>, EngineError> {
    if ratings.is_empty() {
        return Err(EngineError::invalid("summary and ratings are both missing"));
    }
    if learned.last_is_gone {
        return Ok(None);
    }
    let Some(last) = learned.projects.last_mut() else {
        return Err(
            EngineError::invalid("there is no project to rate").hint("give a summary with the ratings")
        );
    };
    last.ratings.retain(|(axis, _)| ratings.iter().all(|(given, _)| given != axis));
    last.ratings.extend(ratings.iter().cloned());
    let place = |axis: &str| AXES.iter().position(|known| *known == axis);
    last.ratings.sort_by_key(|(axis, _)| place(axis).unwrap_or(AXES.len()));
    Ok(Some(last.clone()))
}
