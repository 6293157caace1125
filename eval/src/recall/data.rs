//! What is asked, and the sessions it is asked of: LongMemEval-oracle, pooled (every session of every question in one store),
//! and the coding sessions that readers labelled.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use doze_core::model::{Event, EventKind, Origin};
use serde::Deserialize;

use crate::labels::{self, Part};
use crate::sessions;

/// Events around a line that proves a note within which a finding tells it.
const NEAR: u64 = 2;
/// Characters of what a tool was given and printed that are compared.
const TOOL_CHARS: usize = 1_500;

/// A question, and where its answer stands.
pub(super) struct Question {
    pub(super) text: String,
    /// The sessions that hold the answer.
    pub(super) sessions: BTreeSet<String>,
    /// The turns that do, as `session#ordinal`.
    pub(super) turns: BTreeSet<String>,
}

/// All sessions by their name, each with its events in order, and the questions.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) sessions: BTreeMap<String, Vec<Event>>,
    pub(super) questions: Vec<Question>,
    /// Turns and sessions that say what another one says, word for word, and that one's name: who finds one has found both.
    same: HashMap<String, String>,
}

impl Pool {
    /// The names that a ranking finds, each text once.
    pub(super) fn distinct(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = names.into_iter().map(|name| self.same.get(&name).cloned().unwrap_or(name));
        names.filter(|name| seen.insert(name.clone())).collect()
    }

    /// Notes which texts stand there twice, and names what answers by its first name.
    fn compared(mut self) -> Self {
        let (mut turns, mut sessions) = (HashMap::new(), HashMap::new());
        let mut same = HashMap::new();
        for (session, events) in &self.sessions {
            let texts: Vec<String> = events.iter().map(text_of).collect();
            let first: &mut String = sessions.entry(texts.join("\n")).or_insert_with(|| session.clone());
            same.insert(session.clone(), first.clone());
            for (at, text) in texts.into_iter().enumerate() {
                let name = name_of_turn(session, at);
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                same.insert(name.clone(), turns.entry(text).or_insert(name).clone());
            }
        }
        same.retain(|name, first| name != first);
        self.same = same;
        let mut questions = std::mem::take(&mut self.questions);
        for question in &mut questions {
            question.sessions = self.distinct(std::mem::take(&mut question.sessions)).into_iter().collect();
            question.turns = self.distinct(std::mem::take(&mut question.turns)).into_iter().collect();
        }
        self.questions = questions;
        self
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: bool,
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
pub(super) fn conversations(file: &Path, dev: Option<&Path>) -> Result<Pool, String> {
    let entries: Vec<Entry> = parsed(file)?;
    let half: Option<Half> = dev.map(parsed).transpose()?;
    let mut pool = Pool::default();
    for entry in entries {
        let (mut sessions, mut turns) = (BTreeSet::new(), BTreeSet::new());
        for (id, session) in entry.haystack_session_ids.iter().zip(entry.haystack_sessions) {
            if entry.answer_session_ids.contains(id) {
                sessions.insert(id.clone());
            }
            let answers = (0..).zip(&session).filter(|(_, turn)| turn.has_answer);
            turns.extend(answers.map(|(ordinal, _): (usize, _)| name_of_turn(id, ordinal)));
            pool.sessions.entry(id.clone()).or_insert_with(|| events(id, &session));
        }
        let is_asked = half.as_ref().is_none_or(|half| half.question_ids.contains(&entry.question_id));
        if is_asked && !entry.question_id.ends_with("_abs") {
            pool.questions.push(Question { text: entry.question, sessions, turns });
        }
    }
    Ok(pool.compared())
}

fn events(session: &str, turns: &[Turn]) -> Vec<Event> {
    let event = |(at, turn): (usize, &Turn)| {
        let (kind, origin) = match turn.role.as_str() {
            "user" => (EventKind::Prompt, Origin::Person),
            _ => (EventKind::Answer, Origin::Agent),
        };
        Event::new(name_of_turn(session, at), kind, origin, turn.content.as_str())
    };
    turns.iter().enumerate().map(event).collect()
}

/// All labelled sessions, and the questions that readers wrote down to one part of them.
pub(super) fn coding(root: &Path, part: Part) -> Result<Pool, String> {
    let mut pool = Pool::default();
    for labelled in labels::all(root)? {
        let read = sessions::read(root, &labelled)?;
        let asked = labelled.questions.iter().filter(|_| labelled.part == part);
        for (asked, note) in asked.filter_map(|asked| Some((asked, labelled.notes.get(asked.note?)?))) {
            let tells = |ordinal: u64| note.evidence.iter().any(|line| read.distance(ordinal, *line) <= NEAR);
            let turns = (0..read.events.len()).filter(|at| tells(*at as u64));
            pool.questions.push(Question {
                text: asked.q.clone(),
                sessions: BTreeSet::from([labelled.id.clone()]),
                turns: turns.map(|at| name_of_turn(&labelled.id, at)).collect(),
            });
        }
        pool.sessions.insert(labelled.id, read.events.into_iter().map(|(_, event)| event).collect());
    }
    Ok(pool.compared())
}

/// What a turn is called.
pub(super) fn name_of_turn(session: &str, ordinal: usize) -> String {
    format!("{session}#{ordinal}")
}

/// What an event says.
pub(super) fn text_of(event: &Event) -> String {
    match &event.tool {
        Some(tool) => {
            format!("{}\n{}\n{}", tool.name, tool.input, tool.output).chars().take(TOOL_CHARS).collect()
        }
        None => event.text.clone(),
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(file: &Path) -> Result<T, String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", file.display()))
}
