//! How hits are ordered: one candidate list, a named profile, a score that can explain itself.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::model::{Kind, MemoryId, words};

words! {
    /// A named way to rank (`MODEL`, ruling 4).
    Profile {
        /// Tuned by measurement: linear fusion of normalised BM25 with cosine.
        Default = "default",
        /// S1.24–S1.28 to the letter.
        OpenOrc = "openorc",
        /// S0: what was said most often comes first.
        Facts = "facts",
    }
}

/// The longest list a profile looks at on each side (S1.24).
pub const LIST_LIMIT: u32 = 40;
/// The constant of reciprocal-rank fusion (S1.25).
const RRF: f64 = 60.0;
/// Hits of one source run that `openorc` shows at most (S1.28).
const MAX_PER_RUN: usize = 3;
/// Days after which the changeable part of S1.26's age factor is halved.
const OPENORC_HALF_LIFE_DAYS: f64 = 75.0;
/// What is left of a score when every file the memory speaks of is gone (`MODEL`, ruling 20): below any comparable
/// hit, yet still to be found by whoever asks for exactly this.
const FILES_GONE_FACTOR: f64 = 0.25;

/// `default`: the share of the normalised BM25 score in the fused one; the rest is cosine. To be tuned by evaluation.
const LEXICAL_SHARE: f64 = 0.6;
/// `default`: how much of a score depends on confidence. Small, so that it settles near-ties and no more.
const CONFIDENCE_SHARE: f64 = 0.10;
/// `default`: how much of a score depends on age.
const AGE_SHARE: f64 = 0.08;
/// `default`: days after which the part that depends on age is halved.
const AGE_HALF_LIFE_DAYS: f64 = 120.0;

/// Where one of the two searches found a memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The place in that list, from 1.
    pub rank: u32,
    /// BM25 for the lexical list (greater is better), cosine for the semantic one.
    pub score: f64,
}

/// A memory that at least one search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which memory.
    pub id: MemoryId,
    /// Its place in the full-text list.
    pub lexical: Option<Found>,
    /// Its place in the vector list.
    pub semantic: Option<Found>,
    /// Its kind.
    pub kind: Kind,
    /// Its stored confidence, 0.1–1.
    pub confidence: f64,
    /// How often it was said again.
    pub reinforce_count: u32,
    /// When evidence or a person last confirmed it.
    pub last_confirmed_at: Timestamp,
    /// The run it was learned in; memories without one are never capped (S1.28).
    pub source_run: Option<String>,
    /// All files it speaks of are gone.
    pub files_gone: bool,
    /// Two candidates with the same text are one hit; see [`text_key`]. Empty never matches.
    pub text_key: String,
}

/// How a score came about. Ranks and scores are `None` where a list did not find the memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explain {
    /// The place in the full-text list, from 1.
    pub lexical_rank: Option<u32>,
    /// The BM25 score.
    pub lexical_score: Option<f64>,
    /// The place in the vector list, from 1.
    pub semantic_rank: Option<u32>,
    /// The cosine.
    pub semantic_score: Option<f64>,
    /// What the two lists amount to.
    pub fused: f64,
    /// The weight of the kind.
    pub kind_weight: f64,
    /// The factor that confidence gives.
    pub confidence_factor: f64,
    /// The factor that age gives.
    pub age_factor: f64,
    /// 1, or less when all its files are gone.
    pub files_factor: f64,
}

/// A hit with its score: the product of the factors in [`Explain`].
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Which memory.
    pub id: MemoryId,
    /// Greater is better; only comparable within one answer.
    pub score: f64,
    /// How it came about.
    pub explain: Explain,
}

/// The text of a memory reduced to what makes two hits say the same: its words in lower case.
pub fn text_key(title: &str, body: &str) -> String {
    let words = |text: &str| {
        text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
    };
    match (words(title), words(body)) {
        (title, body) if body.starts_with(&title) => body,
        (title, body) => format!("{title}\0{body}"),
    }
}

/// Orders candidates by a profile, best first, at most `limit`. Ties fall to the younger confirmation, then to the
/// id, so that equal input gives equal output. A text that stands in the list already is left out.
pub fn rank(profile: Profile, candidates: Vec<Candidate>, now: Timestamp, limit: usize) -> Vec<Ranked> {
    let best_lexical = candidates.iter().filter_map(|c| c.lexical).map(|f| f.score).fold(0.0, f64::max);
    let any_semantic = candidates.iter().any(|c| c.semantic.is_some());
    let mut scored: Vec<(Candidate, Ranked)> = candidates
        .into_iter()
        .map(|candidate| {
            let explain = match profile {
                Profile::Default => explain_default(&candidate, best_lexical, any_semantic, now),
                Profile::OpenOrc => explain_openorc(&candidate, now),
                Profile::Facts => explain_facts(&candidate),
            };
            let ranked = Ranked { id: candidate.id.clone(), score: explain.score(), explain };
            (candidate, ranked)
        })
        .filter(|(_, ranked)| ranked.explain.fused > 0.0)
        .collect();
    scored.sort_by(|(a, x), (b, y)| {
        compare(x.score, y.score)
            .then_with(|| b.last_confirmed_at.cmp(&a.last_confirmed_at))
            .then_with(|| a.id.cmp(&b.id))
    });
    let mut runs: HashMap<String, usize> = HashMap::new();
    let mut texts: HashSet<String> = HashSet::new();
    scored
        .into_iter()
        .filter(|(candidate, _)| candidate.text_key.is_empty() || texts.insert(candidate.text_key.clone()))
        .filter(|(candidate, _)| {
            let (Profile::OpenOrc, Some(run)) = (profile, &candidate.source_run) else { return true };
            let shown = runs.entry(run.clone()).or_default();
            *shown += 1;
            *shown <= MAX_PER_RUN
        })
        .map(|(_, ranked)| ranked)
        .take(limit)
        .collect()
}

/// Greater first; a score that is not a number counts as the worst.
fn compare(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl Explain {
    fn new(candidate: &Candidate, fused: f64) -> Self {
        Self {
            lexical_rank: candidate.lexical.map(|f| f.rank),
            lexical_score: candidate.lexical.map(|f| f.score),
            semantic_rank: candidate.semantic.map(|f| f.rank),
            semantic_score: candidate.semantic.map(|f| f.score),
            fused,
            kind_weight: 1.0,
            confidence_factor: 1.0,
            age_factor: 1.0,
            files_factor: if candidate.files_gone { FILES_GONE_FACTOR } else { 1.0 },
        }
    }

    fn score(&self) -> f64 {
        self.fused * self.kind_weight * self.confidence_factor * self.age_factor * self.files_factor
    }
}

/// Equal reciprocal-rank fusion loses to plain BM25 on conversational memory, so the scores themselves are mixed:
/// BM25 divided by the best of this answer, cosine as it is. Without any vectors BM25 stands alone.
fn explain_default(candidate: &Candidate, best_lexical: f64, any_semantic: bool, now: Timestamp) -> Explain {
    let lexical = candidate.lexical.map_or(0.0, |f| if best_lexical > 0.0 { f.score / best_lexical } else { 0.0 });
    let semantic = candidate.semantic.map_or(0.0, |f| f.score.clamp(0.0, 1.0));
    let share = if any_semantic { LEXICAL_SHARE } else { 1.0 };
    let mut explain = Explain::new(candidate, share * lexical.max(0.0) + (1.0 - share) * semantic);
    explain.kind_weight = match candidate.kind {
        Kind::Log => 0.9,
        Kind::Context => 0.95,
        _ => 1.0,
    };
    explain.confidence_factor = 1.0 - CONFIDENCE_SHARE * (1.0 - candidate.confidence.clamp(0.0, 1.0));
    let fresh = 0.5_f64.powf(days(candidate.last_confirmed_at, now) / AGE_HALF_LIFE_DAYS);
    explain.age_factor = 1.0 - AGE_SHARE * (1.0 - fresh);
    explain
}

/// S1.25–S1.27. Kinds that document does not know weigh 1. A place beyond the fortieth counts for nothing (S1.24).
fn explain_openorc(candidate: &Candidate, now: Timestamp) -> Explain {
    let mut explain = Explain::new(candidate, reciprocal(candidate));
    explain.kind_weight = match candidate.kind {
        Kind::Lesson => 1.3,
        Kind::EnvQuirk => 1.25,
        Kind::Decision => 1.2,
        Kind::Command => 1.15,
        Kind::Convention => 1.0,
        Kind::Ownership | Kind::Preference => 0.95,
        Kind::Spec => 0.85,
        _ => 1.0,
    };
    explain.confidence_factor = 0.5 + candidate.confidence.clamp(0.0, 1.0) / 2.0;
    explain.age_factor =
        0.4 + 0.6 * 0.5_f64.powf(days(candidate.last_confirmed_at, now) / OPENORC_HALF_LIFE_DAYS);
    explain
}

/// Every hit with one more reinforcement comes before every hit with one less; among equals the better match wins.
/// A reciprocal-rank sum is below 1/30, so it can never bridge a whole reinforcement.
fn explain_facts(candidate: &Candidate) -> Explain {
    let fused = reciprocal(candidate);
    Explain::new(candidate, if fused > 0.0 { f64::from(candidate.reinforce_count) + fused } else { 0.0 })
}

fn reciprocal(candidate: &Candidate) -> f64 {
    [candidate.lexical, candidate.semantic]
        .into_iter()
        .flatten()
        .filter(|found| (1..=LIST_LIMIT).contains(&found.rank))
        .map(|found| 1.0 / (RRF + f64::from(found.rank)))
        .sum()
}

/// Days between two times, with their fraction; 0 when the first lies ahead (a clock that was set back).
pub(crate) fn days(then: Timestamp, now: Timestamp) -> f64 {
    (now.as_millisecond().saturating_sub(then.as_millisecond()).max(0)) as f64 / 86_400_000.0
}
