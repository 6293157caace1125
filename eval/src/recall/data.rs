//! LongMemEval-oracle, pooled: every session of every question in one store (940 sessions, 10,866 turns), asked the 470
//! questions that have an answer there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A question, and where its answer stands.
pub(super) struct Question {
    pub(super) text: String,
    /// The sessions that hold the answer.
    pub(super) sessions: BTreeSet<String>,
    /// The turns that do, as `session#ordinal`.
    pub(super) turns: BTreeSet<String>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Turn {
    pub(super) role: String,
    pub(super) content: String,
    #[serde(default)]
    has_answer: bool,
}

/// All sessions by their name, each with its turns in order, and the questions.
pub(super) struct Pool {
    pub(super) sessions: BTreeMap<String, Vec<Turn>>,
    pub(super) questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Entry {
    question_id: String,
    question: String,
    haystack_session_ids: Vec<String>,
    haystack_sessions: Vec<Vec<Turn>>,
    answer_session_ids: Vec<String>,
}

#[derive(Deserialize)]
struct Half {
    question_ids: BTreeSet<String>,
}

/// Reads the file; with `dev` only the questions of the development half, and the sessions of all.
pub(super) fn read(file: &Path, dev: Option<&Path>) -> Result<Pool, String> {
    let entries: Vec<Entry> = parsed(file)?;
    let half: Option<Half> = dev.map(parsed).transpose()?;
    let mut pool = Pool { sessions: BTreeMap::new(), questions: Vec::new() };
    for entry in entries {
        let (mut sessions, mut turns) = (BTreeSet::new(), BTreeSet::new());
        for (id, session) in entry.haystack_session_ids.iter().zip(entry.haystack_sessions) {
            if entry.answer_session_ids.contains(id) {
                sessions.insert(id.clone());
            }
            let answers = (0..).zip(&session).filter(|(_, turn)| turn.has_answer);
            turns.extend(answers.map(|(ordinal, _): (usize, _)| name_of_turn(id, ordinal)));
            pool.sessions.entry(id.clone()).or_insert(session);
        }
        let is_asked = half.as_ref().is_none_or(|half| half.question_ids.contains(&entry.question_id));
        if is_asked && !entry.question_id.ends_with("_abs") {
            pool.questions.push(Question { text: entry.question, sessions, turns });
        }
    }
    Ok(pool)
}

/// What a turn is called.
pub(super) fn name_of_turn(session: &str, ordinal: usize) -> String {
    format!("{session}#{ordinal}")
}

fn parsed<T: for<'a> Deserialize<'a>>(file: &Path) -> Result<T, String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", file.display()))
}
