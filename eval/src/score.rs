//! What was found against what was noted.
//!
//! A memory says a note when the two are of one family of kinds, an event of its evidence lies within two events of a
//! line that proves the note, and at least half of the note's content words stand in its title and body. It *points
//! at* a note when only the words differ: readers put things in their own words, and rules can only quote.

use std::collections::BTreeSet;

use doze_core::model::{AgentRef, Kind, Mode, Outcome, Session, SessionKey, SessionKind};
use doze_dream::{Candidate, Caps, ExtractContext, candidates};
use jiff::Timestamp;

use crate::labels::{Labelled, Negative, Note, Part};
use crate::sessions::Read;

/// Events by which evidence may be off.
const NEAR: u64 = 2;
/// Words that say nothing about the thing.
const EMPTY: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "not", "must", "because", "from", "will", "says", "before",
];

/// What became of one session.
#[derive(Debug, Clone)]
pub(crate) struct Score {
    pub(crate) id: String,
    pub(crate) language: String,
    pub(crate) part: Part,
    pub(crate) memories: Vec<Judged>,
    pub(crate) notes: Vec<Noted>,
    /// Negatives that were kept.
    pub(crate) trapped: Vec<String>,
}

/// A memory, and whether it says or points at a note.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) says: bool,
    pub(crate) points: bool,
}

/// A note, and whether a memory says or points at it.
#[derive(Debug, Clone)]
pub(crate) struct Noted {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) said: bool,
    pub(crate) pointed_at: bool,
    /// The largest share of its words in what a speaker said at once, within a body's length: what quoting can reach.
    pub(crate) reachable: bool,
}

pub(crate) fn of(labelled: &Labelled, read: &Read) -> Score {
    let caps = Caps::default();
    let context = ExtractContext { was_shown: &|_, _| false, caps: &caps };
    let found = candidates(&session(&labelled.id), &read.events, &context);
    let texts: Vec<String> = found.iter().map(|found| format!("{} {}", found.title, found.body)).collect();
    let points = |candidate: &Candidate, note: &Note| {
        family(candidate.kind.as_str()) == family(&note.kind)
            && note
                .evidence
                .iter()
                .any(|line| ordinals(candidate).any(|ordinal| read.distance(ordinal, *line) <= NEAR))
    };
    let memories = found.iter().zip(&texts).map(|(candidate, text)| Judged {
        kind: candidate.kind,
        text: text.clone(),
        says: labelled.notes.iter().any(|note| points(candidate, note) && says(text, &note.text)),
        points: labelled.notes.iter().any(|note| points(candidate, note)),
    });
    let notes = labelled.notes.iter().map(|note| Noted {
        kind: note.kind.clone(),
        text: note.text.clone(),
        said: found.iter().zip(&texts).any(|(found, text)| points(found, note) && says(text, &note.text)),
        pointed_at: found.iter().any(|candidate| points(candidate, note)),
        reachable: is_reachable(read, note),
    });
    // A memory may speak of the same thing: it keeps a negative when it says nearly all of it and rests on its line.
    let kept = |negative: &Negative| {
        let said = words(&negative.text);
        found.iter().zip(&texts).any(|(found, text)| {
            said.intersection(&words(text)).count() * 10 >= said.len() * 8
                && ordinals(found).any(|ordinal| read.distance(ordinal, negative.line) <= NEAR)
        })
    };
    let trapped =
        labelled.negatives.iter().filter(|negative| kept(negative)).map(|negative| negative.text.clone());
    Score {
        id: labelled.id.clone(),
        language: labelled.language.clone(),
        part: labelled.part,
        memories: memories.collect(),
        notes: notes.collect(),
        trapped: trapped.collect(),
    }
}

/// Whether any stretch of 400 characters that was said near the evidence has half of a note's words.
fn is_reachable(read: &Read, note: &Note) -> bool {
    let near = |ordinal: u64| note.evidence.iter().any(|line| read.distance(ordinal, *line) <= NEAR);
    read.events.iter().filter(|(ordinal, event)| near(*ordinal) && !event.text.is_empty()).any(
        |(_, event)| {
            let sentences: Vec<&str> =
                event.text.lines().flat_map(|line| line.split_inclusive(". ")).collect();
            (0..sentences.len()).any(|first| {
                let mut stretch = String::new();
                for sentence in &sentences[first..] {
                    if stretch.chars().count() + sentence.chars().count() > 400 {
                        break;
                    }
                    stretch.push_str(sentence);
                    stretch.push(' ');
                }
                says(&stretch, &note.text)
            })
        },
    )
}

fn ordinals(candidate: &Candidate) -> impl Iterator<Item = u64> {
    candidate.evidence.iter().filter_map(|event| event.rsplit_once('#')?.1.parse().ok())
}

/// Kinds that a reader and a rule may well tell apart differently.
pub(crate) fn family(kind: &str) -> &'static str {
    match kind {
        "lesson" | "env_quirk" => "experience",
        "command" | "convention" | "preference" | "ownership" => "practice",
        _ => "design",
    }
}

fn says(text: &str, note: &str) -> bool {
    let note = words(note);
    note.intersection(&words(text)).count() * 2 >= note.len()
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| {
            let length = word.chars().count();
            (length > 2 || (length > 1 && !word.is_ascii())) && !EMPTY.contains(&word.as_str())
        })
        .collect()
}

fn session(id: &str) -> Session {
    Session {
        key: SessionKey::new(id.to_owned(), "eval".to_owned()),
        owner: doze_core::model::OwnerId::new("local:0"),
        project: Some(doze_core::model::ProjectId::new("eval")),
        agent: AgentRef { id: "eval".into(), name: "eval".into(), harness: "eval".into() },
        cwd: String::new(),
        mode: Mode::Code,
        kind: SessionKind::Interactive,
        ended: None,
        outcome: Outcome::Success,
        started_at: Timestamp::UNIX_EPOCH,
        last_event_at: Timestamp::UNIX_EPOCH,
        heard_at: Timestamp::UNIX_EPOCH,
        event_count: 0,
        rounds: 0,
        turns: 0,
        summary: None,
        task: None,
        team: None,
        transcript: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_content_words_are_enough_and_kinds_have_families() {
        let note = "Go regexp has no backreferences; use one regex per tag.";
        assert!(says("one regex per tag, since backreferences are missing", note));
        assert!(!says("use a parser", note));
        assert!(says("메모리는 프로젝트에 속한다", "메모리는 프로젝트에 속한다"));
        assert_eq!(
            (family("lesson"), family("spec"), family("command")),
            ("experience", "design", "practice")
        );
    }
}
