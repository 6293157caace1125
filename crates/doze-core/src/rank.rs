//! How hits are ordered: one candidate list, a named profile, a score that can explain itself.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::model::{Kind, MemoryId, words};

words! {
    /// A named way to rank (`R4`).
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
/// The place of what only words found in the semantic list: behind every place of it.
pub const UNLISTED: u32 = u32::MAX;
/// The constant of reciprocal-rank fusion (S1.25).
const RRF: f64 = 60.0;
/// Hits of one source run that `openorc` shows at most (S1.28).
const MAX_PER_RUN: usize = 3;
/// Days after which the changeable part of S1.26's age factor is halved.
const OPENORC_HALF_LIFE_DAYS: f64 = 75.0;
/// What is left of a score when every file the memory speaks of is gone (`R20`): below any comparable
/// hit, yet still to be found by whoever asks for exactly this.
const FILES_GONE_FACTOR: f64 = 0.25;

/// `default`: the share of the normalised BM25 score in the fused one; the rest is cosine. This and the next are
/// measured on conversations and on coding sessions (`eval/results/recall.md`).
const LEXICAL_SHARE: f64 = 0.5;
/// `default`: what the person said comes before what was answered.
const REPLY_WEIGHT: f64 = 0.9;
/// `default`: the least cosine of a hit that no word found. Measured with the built-in model: questions and memories that
/// have nothing to do with each other stand at 0.14 and below, with few exceptions; paraphrases start at 0.18.
const SEMANTIC_FLOOR: f64 = 0.15;
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
    /// Its place in the vector list. What only words found stands at [`UNLISTED`], with its cosine; `None` when
    /// there are no vectors of it.
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
    /// Raw history that is not the person's word: an answer, or what a tool did.
    pub is_reply: bool,
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
        let words = text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
        words.trim_end_matches(['.', '!', '。']).to_owned()
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
    let typical = typical_cosine(&candidates);
    let mut scored: Vec<(Candidate, Ranked)> = candidates
        .into_iter()
        .map(|candidate| {
            let explain = match profile {
                Profile::Default => explain_default(&candidate, best_lexical, typical, now),
                Profile::OpenOrc => explain_openorc(&candidate, now),
                Profile::Facts => explain_facts(&candidate),
            };
            let ranked = Ranked { id: candidate.id.clone(), score: explain.score(), explain };
            (candidate, ranked)
        })
        .filter(|(candidate, ranked)| ranked.explain.fused > 0.0 && is_near(profile, candidate))
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

/// S1.28 knows no least similarity; ours does, so that a question about nothing in here finds nothing.
fn is_near(profile: Profile, candidate: &Candidate) -> bool {
    profile != Profile::Default
        || candidate.lexical.is_some()
        || candidate.semantic.is_some_and(|found| found.score >= SEMANTIC_FLOOR)
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
            semantic_rank: candidate.semantic.map(|f| f.rank).filter(|rank| *rank != UNLISTED),
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
/// BM25 divided by the best of this answer, cosine as it is; what has no vectors is taken for as near as others that
/// words found. Without any vectors BM25 stands alone.
fn explain_default(
    candidate: &Candidate,
    best_lexical: f64,
    typical: Option<f64>,
    now: Timestamp,
) -> Explain {
    let lexical =
        candidate.lexical.map_or(0.0, |f| if best_lexical > 0.0 { f.score / best_lexical } else { 0.0 });
    let semantic = candidate.semantic.map(cosine).or(typical);
    let share = if semantic.is_some() { LEXICAL_SHARE } else { 1.0 };
    let fused = share * lexical.max(0.0) + (1.0 - share) * semantic.unwrap_or_default();
    let mut explain = Explain::new(candidate, fused);
    explain.kind_weight = match candidate.kind {
        Kind::Log => 0.9,
        Kind::Context => 0.95,
        _ => 1.0,
    };
    if candidate.is_reply {
        explain.kind_weight *= REPLY_WEIGHT;
    }
    explain.confidence_factor = 1.0 - CONFIDENCE_SHARE * (1.0 - candidate.confidence.clamp(0.0, 1.0));
    let fresh = 0.5_f64.powf(days(candidate.last_confirmed_at, now) / AGE_HALF_LIFE_DAYS);
    explain.age_factor = 1.0 - AGE_SHARE * (1.0 - fresh);
    explain
}

fn cosine(found: Found) -> f64 {
    found.score.clamp(0.0, 1.0)
}

/// The median cosine of what words found, 0 when none of that has vectors; `None` when there are no vectors at all.
fn typical_cosine(candidates: &[Candidate]) -> Option<f64> {
    candidates.iter().find_map(|candidate| candidate.semantic)?;
    let worded = candidates.iter().filter(|candidate| candidate.lexical.is_some());
    let mut near: Vec<f64> = worded.filter_map(|candidate| candidate.semantic).map(cosine).collect();
    near.retain(|cosine| cosine.is_finite());
    near.sort_by(f64::total_cmp);
    Some(near.get(near.len() / 2).copied().unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use proptest::prelude::*;

    fn now() -> Timestamp {
        "2026-03-18T12:00:00Z".parse().unwrap()
    }

    fn candidate(
        id: &str,
        kind: Kind,
        confidence: f64,
        age_days: i64,
        lexical: Option<u32>,
        semantic: Option<u32>,
    ) -> Candidate {
        let found = |rank: u32| Found { rank, score: 10.0 / f64::from(rank) };
        Candidate {
            id: id.into(),
            lexical: lexical.map(found),
            semantic: semantic.map(|rank| Found { rank, score: 1.0 / f64::from(rank) }),
            kind,
            confidence,
            reinforce_count: 1,
            last_confirmed_at: now() - SignedDuration::from_hours(24 * age_days),
            source_run: None,
            files_gone: false,
            is_reply: false,
            text_key: String::new(),
        }
    }

    fn ids(ranked: &[Ranked]) -> Vec<&str> {
        ranked.iter().map(|hit| hit.id.as_str()).collect()
    }

    #[test]
    fn what_has_no_vectors_is_taken_for_as_near_as_the_others() {
        let lexical = |score: f64| Some(Found { rank: 1, score });
        let event =
            Candidate { lexical: lexical(10.0), ..candidate("event", Kind::Fact, 0.6, 0, None, None) };
        let memory = |id: &str, score: f64| Candidate {
            lexical: lexical(score),
            semantic: Some(Found { rank: 1, score: 0.5 }),
            ..candidate(id, Kind::Fact, 0.6, 0, None, None)
        };
        let ranked = rank(Profile::Default, vec![event, memory("a", 9.0), memory("b", 4.0)], now(), 9);
        assert_eq!(ids(&ranked), ["event", "a", "b"]);
    }

    #[test]
    fn what_no_word_found_must_be_near() {
        let near = |id: &str, score: f64| Candidate {
            semantic: Some(Found { rank: 1, score }),
            ..candidate(id, Kind::Fact, 0.6, 0, None, None)
        };
        let worded = Candidate { lexical: Some(Found { rank: 1, score: 3.0 }), ..near("worded", 0.02) };
        let all = vec![near("far", 0.14), near("near", 0.18), worded];
        assert_eq!(ids(&rank(Profile::Default, all.clone(), now(), 8)), ["worded", "near"]);
        assert_eq!(rank(Profile::Default, vec![near("far", 0.14)], now(), 8), []);
        assert_eq!(rank(Profile::OpenOrc, all, now(), 8).len(), 3, "S1.28 has no least similarity");
    }

    #[test]
    fn openorc_scores_as_the_original() {
        let table = [
            (candidate("a", Kind::Lesson, 0.6, 0, Some(1), None), 0.017_049_18),
            (candidate("a", Kind::Lesson, 0.6, 0, Some(1), Some(1)), 0.034_098_36),
            (candidate("a", Kind::Spec, 0.9, 0, Some(1), None), 0.013_237_7),
            (candidate("a", Kind::Lesson, 0.6, 75, Some(1), None), 0.011_934_43),
        ];
        for (candidate, score) in table {
            let ranked = rank(Profile::OpenOrc, vec![candidate], now(), 8);
            assert!((ranked[0].score - score).abs() < 1e-7, "{} {score}", ranked[0].score);
        }
    }

    #[test]
    fn openorc_weighs_kinds_shows_three_of_a_run_and_ignores_place_41() {
        let kinds = [
            (Kind::Lesson, 1.3),
            (Kind::EnvQuirk, 1.25),
            (Kind::Decision, 1.2),
            (Kind::Command, 1.15),
            (Kind::Convention, 1.0),
            (Kind::Ownership, 0.95),
            (Kind::Preference, 0.95),
            (Kind::Spec, 0.85),
            (Kind::Fact, 1.0),
        ];
        for (kind, weight) in kinds {
            let ranked = rank(Profile::OpenOrc, vec![candidate("a", kind, 1.0, 0, Some(3), None)], now(), 8);
            assert_eq!(ranked[0].explain.kind_weight, weight);
            assert!((ranked[0].score - weight / 63.0).abs() < 1e-12);
        }
        let run = |id: &str, place, run: Option<&str>| Candidate {
            source_run: run.map(str::to_owned),
            ..candidate(id, Kind::Lesson, 0.6, 0, Some(place), None)
        };
        let all = vec![
            run("a", 1, Some("r")),
            run("b", 2, Some("r")),
            run("c", 3, Some("r")),
            run("d", 4, Some("r")),
            run("e", 5, None),
            run("f", 6, None),
            run("g", 7, Some("q")),
            run("h", 41, None),
        ];
        assert_eq!(ids(&rank(Profile::OpenOrc, all.clone(), now(), 8)), ["a", "b", "c", "e", "f", "g"]);
        assert_eq!(rank(Profile::Default, all, now(), 20).len(), 8);
    }

    #[test]
    fn a_clock_set_back_and_odd_confidence_stay_in_bounds() {
        for profile in Profile::ALL {
            let mut odd = candidate("a", Kind::Lesson, f64::NAN, -400, Some(1), None);
            odd.semantic = Some(Found { rank: 0, score: f64::NAN });
            let fine = candidate("b", Kind::Lesson, 7.0, -400, Some(2), None);
            let ranked = rank(*profile, vec![odd, fine], now(), 8);
            let best = ranked.iter().find(|hit| hit.id.as_str() == "b").unwrap();
            assert!(
                best.score.is_finite()
                    && best.explain.age_factor <= 1.0
                    && best.explain.confidence_factor <= 1.0
            );
        }
    }

    #[test]
    fn default_lets_relevance_decide_and_the_rest_settle_ties() {
        // A clearly better match wins whatever its age; equal matches fall to the surer, then the younger.
        let old = Candidate {
            lexical: Some(Found { rank: 1, score: 9.0 }),
            ..candidate("old", Kind::Fact, 0.3, 900, None, None)
        };
        let new = Candidate {
            lexical: Some(Found { rank: 2, score: 6.0 }),
            ..candidate("new", Kind::Fact, 1.0, 0, None, None)
        };
        assert_eq!(ids(&rank(Profile::Default, vec![new, old], now(), 8)), ["old", "new"]);
        let equal = |id: &str, confidence, age| Candidate {
            lexical: Some(Found { rank: 1, score: 5.0 }),
            ..candidate(id, Kind::Fact, confidence, age, None, None)
        };
        let ranked = rank(
            Profile::Default,
            vec![equal("c", 0.5, 400), equal("b", 0.5, 3), equal("a", 0.9, 3)],
            now(),
            8,
        );
        assert_eq!(ids(&ranked), ["a", "b", "c"]);
    }

    #[test]
    fn default_finds_by_either_list_and_by_words_alone_when_there_are_no_vectors() {
        let words = candidate("words", Kind::Fact, 0.6, 0, Some(1), None);
        let sense = Candidate {
            semantic: Some(Found { rank: 1, score: 0.8 }),
            ..candidate("sense", Kind::Fact, 0.6, 0, None, None)
        };
        let both = rank(Profile::Default, vec![words.clone(), sense], now(), 8);
        assert_eq!(ids(&both), ["words", "sense"]);
        assert_eq!(both[0].explain.fused, LEXICAL_SHARE);
        assert_eq!(both[1].explain.fused, (1.0 - LEXICAL_SHARE) * 0.8);
        assert_eq!(rank(Profile::Default, vec![words], now(), 8)[0].explain.fused, 1.0);
    }

    #[test]
    fn what_the_person_said_comes_before_an_answer_that_fits_as_well() {
        let said = |id: &str, is_reply, score: f64| Candidate {
            is_reply,
            lexical: Some(Found { rank: 1, score }),
            ..candidate(id, Kind::Log, 0.5, 0, None, None)
        };
        let ranked =
            rank(Profile::Default, vec![said("answer", true, 5.0), said("prompt", false, 5.0)], now(), 8);
        assert_eq!(ids(&ranked), ["prompt", "answer"]);
        let ranked =
            rank(Profile::Default, vec![said("answer", true, 6.0), said("prompt", false, 5.0)], now(), 8);
        assert_eq!(ids(&ranked), ["answer", "prompt"], "a better match wins");
        let ranked = rank(Profile::OpenOrc, vec![said("answer", true, 5.0)], now(), 8);
        assert_eq!(ranked[0].explain.kind_weight, 1.0, "S1.26 knows no replies");
    }

    #[test]
    fn facts_go_by_reinforcement_before_match() {
        let often =
            Candidate { reinforce_count: 3, ..candidate("often", Kind::Fact, 0.1, 300, Some(9), None) };
        let best =
            Candidate { reinforce_count: 2, ..candidate("best", Kind::Fact, 1.0, 0, Some(1), Some(1)) };
        let next = Candidate { reinforce_count: 2, ..candidate("next", Kind::Fact, 1.0, 0, Some(2), None) };
        assert_eq!(ids(&rank(Profile::Facts, vec![next, best, often], now(), 8)), ["often", "best", "next"]);
    }

    #[test]
    fn gone_files_rank_below_and_a_repeated_text_is_shown_once() {
        for profile in Profile::ALL {
            let gone = Candidate {
                files_gone: true,
                text_key: "x".into(),
                ..candidate("gone", Kind::Lesson, 0.9, 0, Some(1), None)
            };
            let there =
                Candidate { text_key: "y".into(), ..candidate("there", Kind::Lesson, 0.6, 9, Some(2), None) };
            let again =
                Candidate { text_key: "y".into(), ..candidate("again", Kind::Lesson, 0.6, 9, Some(3), None) };
            let ranked = rank(*profile, vec![gone, there, again], now(), 8);
            assert_eq!(ids(&ranked), ["there", "gone"], "{profile}");
        }
        assert_eq!(text_key("Use  PNPM", "use pnpm for\ninstalls"), "use pnpm for installs");
        assert_ne!(text_key("a", "c"), text_key("b", "c"));
        assert_eq!(text_key("Use pnpm", "Use pnpm."), text_key("Use pnpm.", "Use pnpm"));
    }

    fn any_candidate() -> impl Strategy<Value = Candidate> {
        let place =
            || proptest::option::of((1u32..60, 0.0f64..20.0).prop_map(|(rank, score)| Found { rank, score }));
        (
            0u32..1000,
            place(),
            place(),
            0usize..Kind::ALL.len(),
            0.1f64..1.0,
            0i64..900,
            0u32..4,
            any::<bool>(),
        )
            .prop_map(|(id, lexical, semantic, kind, confidence, age, run, files_gone)| Candidate {
                lexical,
                semantic: semantic.map(|found| Found { score: found.score / 20.0, ..found }),
                source_run: (run > 0).then(|| format!("r{run}")),
                files_gone,
                ..candidate(&format!("{id:04}"), Kind::ALL[kind], confidence, age, None, None)
            })
    }

    proptest! {
        #[test]
        fn the_order_does_not_depend_on_the_input(mut all in proptest::collection::vec(any_candidate(), 0..30), limit in 0usize..12) {
            all.sort_by(|a, b| a.id.cmp(&b.id));
            all.dedup_by(|a, b| a.id == b.id);
            for profile in Profile::ALL {
                let forward = rank(*profile, all.clone(), now(), limit);
                let backward = rank(*profile, all.iter().rev().cloned().collect(), now(), limit);
                prop_assert_eq!(&forward, &backward);
                prop_assert!(forward.len() <= limit && forward.iter().all(|hit| hit.score > 0.0));
                prop_assert!(forward.is_sorted_by(|a, b| a.score >= b.score));
            }
        }
    }
}
