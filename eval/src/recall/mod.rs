//! How well `doze search --history` finds the turn and the session that answer a question, beside plain BM25 over the
//! same texts in the same run.

mod bm25;
mod data;
mod score;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use doze_core::model::{AgentRef, Event, Origin, OwnerId, SessionEnd};
use doze_engine::{
    CommitRequest, EmbedderChoice, Engine, Environment, Options, Reader, SearchRequest, SemanticState,
    Surroundings, Switches, SystemEnvironment,
};

use jiff::Timestamp;

use crate::labels::Part;
use bm25::Bm25;
use data::{Pool, name_of_turn, text_of};
use score::{NAMES, Score, interval, mean};

/// Hits that are looked at; sessions are ranked by their best turn.
const HITS: usize = 100;
/// Longest wait for the indexes.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The table for the questions of a file; with `dev` for those of the development half.
pub(crate) fn conversations(file: &Path, dev: Option<&Path>) -> Result<String, String> {
    table(&data::conversations(file, dev)?)
}

/// The tables for the questions to the coding sessions, tuned and blind apart.
pub(crate) fn coding(root: &Path) -> Result<String, String> {
    let tuned = table(&data::coding(root, Part::Tuned)?)?;
    let blind = table(&data::coding(root, Part::Blind)?)?;
    Ok(format!("Tuned sessions: {tuned}\nBlind sessions: {blind}"))
}

fn table(pool: &Pool) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let ours = Ours::new(folder.path(), pool)?;
    let turns = Bm25::of(pool.sessions.iter().flat_map(|(session, events)| {
        events.iter().enumerate().map(|(at, event)| (name_of_turn(session, at), text_of(event)))
    }));
    let sessions = Bm25::of(pool.sessions.iter().map(|(session, events)| (session.clone(), asked(events))));
    let mut scores: [[Vec<Score>; 2]; 2] = Default::default();
    let (mut took, mut by_meaning) = (Vec::new(), 0);
    for question in &pool.questions {
        let begun = Instant::now();
        let (found, semantic) = ours.turns(&question.text)?;
        took.push(begun.elapsed());
        by_meaning += usize::from(semantic == SemanticState::On);
        let by_words = pool.distinct(sessions.search(&question.text, HITS));
        scores[0][0].push(Score::of(&pool.distinct(sessions_of(&found)), &question.sessions));
        scores[0][1].push(Score::of(&by_words, &question.sessions));
        if !question.turns.is_empty() {
            let by_words = pool.distinct(turns.search(&question.text, HITS));
            scores[1][0].push(Score::of(&pool.distinct(found), &question.turns));
            scores[1][1].push(Score::of(&by_words, &question.turns));
        }
    }
    let prompts = ours.engine.status(&ours.owner).map_err(|error| error.message)?.index.turns;
    ours.engine.close();
    took.sort();
    let median = took.get(took.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e3;
    let mut text = format!(
        "{} sessions, {prompts} prompts with vectors; {} questions, {by_meaning} of them answered by meaning too; a search \
         takes {median:.1} ms (median)\n\n",
        pool.sessions.len(),
        pool.questions.len()
    );
    text.push_str("| level | measure | doze | BM25 | difference | 95 % of it |\n|---|---|--:|--:|--:|--:|\n");
    for (level, [ours, theirs]) in ["session", "turn"].iter().zip(&scores) {
        for (at, name) in NAMES.iter().enumerate() {
            let (a, b) = (mean(ours).0[at] * 100.0, mean(theirs).0[at] * 100.0);
            let (low, high) = interval(ours, theirs, at);
            let (low, high) = (low * 100.0, high * 100.0);
            let _ = writeln!(
                text,
                "| {level} | {name} | {a:.1} | {b:.1} | {:+.1} | {low:+.1} … {high:+.1} |",
                a - b
            );
        }
    }
    Ok(text)
}

/// The text of a session at its level: what the user said.
fn asked(events: &[Event]) -> String {
    let said = events.iter().filter(|event| event.origin == Origin::Person);
    said.map(|event| event.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The sessions of turns, each where its best turn stands.
fn sessions_of(turns: &[String]) -> Vec<String> {
    turns.iter().filter_map(|turn| turn.rsplit_once('#').map(|(session, _)| session.to_owned())).collect()
}

/// The machine's clock, and a machine at rest, however busy this makes it.
struct AtRest(SystemEnvironment);

impl Environment for AtRest {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn random(&self) -> [u8; 10] {
        self.0.random()
    }
}

/// doze as it is installed, with all sessions committed.
struct Ours {
    engine: Engine,
    owner: OwnerId,
    cwd: String,
}

impl Ours {
    fn new(folder: &Path, pool: &Pool) -> Result<Self, String> {
        let options = Options {
            store: folder.join("doze.redb"),
            index: folder.join("index"),
            cache_bytes: 64 << 20,
            embedder: EmbedderChoice::BuiltIn,
            model: None,
            model_idle: Duration::from_secs(600),
            surroundings: Surroundings::default(),
            switches: Switches::default(),
        };
        let engine = Engine::open(options, Arc::new(AtRest(SystemEnvironment::default())))
            .map_err(|e| e.to_string())?;
        let cwd = folder.join("project");
        std::fs::create_dir(&cwd).map_err(|error| error.to_string())?;
        let ours = Self { engine, owner: OwnerId::new("local:1"), cwd: cwd.to_string_lossy().into_owned() };
        for (session, events) in &pool.sessions {
            ours.engine
                .commit(&ours.owner, ours.commit(session, events))
                .map_err(|error| format!("{session}: {}", error.message))?;
        }
        let begun = Instant::now();
        while !ours.is_indexed()? {
            if begun.elapsed() > PATIENCE {
                return Err("the indexes were not made in an hour".to_owned());
            }
            std::thread::park_timeout(Duration::from_millis(100));
        }
        Ok(ours)
    }

    fn is_indexed(&self) -> Result<bool, String> {
        let status = self.engine.status(&self.owner).map_err(|error| error.message)?;
        let index = status.index;
        let is_through = index.lexical_seq >= status.seq && index.vector_seq >= status.seq;
        Ok(is_through && index.turns > 0 && index.pages_waiting == 0)
    }

    fn commit(&self, session: &str, events: &[Event]) -> CommitRequest {
        CommitRequest {
            session: session.to_owned(),
            commit_id: None,
            end: SessionEnd::Session,
            agent: AgentRef { id: "eval".into(), name: "eval".to_owned(), harness: "eval".to_owned() },
            cwd: self.cwd.clone(),
            project: None,
            mode: None,
            kind: None,
            outcome: None,
            summary: None,
            output: None,
            changed_files: Vec::new(),
            tokens: None,
            task: None,
            team: None,
            events: events.to_vec(),
            transcript: None,
        }
    }

    /// The turns that are found for a question, best first, and how far meaning took part.
    fn turns(&self, question: &str) -> Result<(Vec<String>, SemanticState), String> {
        let request = SearchRequest {
            reader: Reader { cwd: Some(self.cwd.clone()), ..Reader::default() },
            query: question.to_owned(),
            limit: HITS,
            history: true,
            ..SearchRequest::default()
        };
        let answer = self.engine.search(&self.owner, &request).map_err(|error| error.message)?;
        let turns = answer.hits.into_iter().flat_map(|hit| {
            let session = hit.memory.source.session.unwrap_or_default();
            let events = hit.memory.source.events.into_iter();
            events.filter_map(move |event| Some(format!("{session}#{}", event.rsplit_once('#')?.1)))
        });
        Ok((turns.collect(), answer.semantic))
    }
}
