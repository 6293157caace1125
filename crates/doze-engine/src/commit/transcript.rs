//! Reading a session file as far as it has grown: bounded memory, a piece at a time, safe to repeat.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use doze_core::facts::FactCandidate;
use doze_core::model::{Event, OwnerId, SessionEnd, SessionKey, SessionKind, Tokens};
use doze_core::redact;
use doze_store::{ChangeSet, Family, session_aux_key};
use doze_transcript::{Cursor, Detected, Format, HEAD_BYTES, Limits, ReadError, detect, read};

use jiff::Timestamp;

use super::intake::{Admission, Changes, clean_event};
use super::learn::dated_facts;
use super::{CommitRequest, EventCounts, Work, key_of};
use crate::files::open_regular;
use crate::names::safe_name;
use crate::project::Resolved;
use crate::{Engine, EngineError, Problem, encoded};

/// Bytes of text, and events, gathered before they are stored.
const PIECE_BYTES: usize = 4 * 1024 * 1024;
const PIECE_EVENTS: usize = 2_000;
/// Fact candidates remembered from the pieces of one read.
const MAX_FACTS: usize = 10;
/// Folders searched for a session file that is not where it was said to be.
const MAX_FOLDERS: usize = 2_000;

/// A fact found in a piece that is stored already.
#[derive(Clone)]
pub(super) struct Earlier {
    /// The ordinal its piece began at.
    pub(super) first: u64,
    /// When it was said.
    pub(super) at: Timestamp,
    /// The fact.
    pub(super) candidate: FactCandidate,
}

/// What is left after the pieces: the last events, facts found in the pieces, and where to go on next time.
#[derive(Default)]
pub(super) struct Tail {
    pub(super) events: Vec<Event>,
    pub(super) facts: Vec<Earlier>,
    pub(super) cursor: Option<(String, Vec<u8>)>,
    /// There is no such file.
    pub(super) is_missing: bool,
}

impl Engine {
    /// Reads what a session file has gained since the last time. All but the last piece is stored on the way.
    pub(super) fn read_transcript(
        &self,
        owner: &OwnerId,
        place: &Resolved,
        request: &mut CommitRequest,
        counts: &mut EventCounts,
        changes: &mut Changes,
    ) -> Result<Tail, EngineError> {
        let Some(path) =
            request.transcript.as_ref().and_then(|transcript| found(&transcript.path, &request.session))
        else {
            // The harness may not have written it yet, or keeps none; what the call itself brought still counts.
            return Ok(Tail { is_missing: true, ..Tail::default() });
        };
        let file = open_regular(&path).map_err(|error| {
            EngineError::new(Problem::Invalid, format!("cannot read the transcript {}", path.display()))
                .caused_by(error)
        })?;
        let format = request.transcript.as_ref().and_then(|transcript| transcript.format.as_deref());
        let file = of_format(file, format, &path)?;
        let (cursor_key, before) = self.cursor(owner, place, request, &path)?;
        let key = key_of(&self.store().snapshot()?, owner, &request.session, &request.agent, place)?;
        let admission = self.admission(owner, &key, request, place)?;
        let mut pieces = Pieces {
            admission: &admission,
            engine: self,
            owner,
            place,
            request: &*request,
            counts,
            changes,
            facts: Vec::new(),
            events: Vec::new(),
            bytes: 0,
            failed: None,
        };
        let report = read(file, before, &Limits::default(), &mut |event| pieces.take(event));
        let Pieces { mut events, facts, failed, .. } = pieces;
        if let Some(error) = failed {
            return Err(error);
        }
        let report = match report {
            Ok(report) => report,
            Err(ReadError::Empty) => return Ok(Tail::default()),
            Err(error) => {
                return Err(EngineError::new(
                    Problem::Invalid,
                    format!("cannot read the transcript {}", path.display()),
                )
                .caused_by(error));
            }
        };
        for (rule, count) in &report.redacted {
            *changes.redacted.entry((*rule).to_owned()).or_default() += count;
        }
        let mut cursor = report.cursor;
        if let Some(answer) =
            cursor.release_answer().and_then(|event| clean_event(&event, &admission, changes))
        {
            events.push(answer);
        }
        if request.end == SessionEnd::Session {
            let calls = cursor.release_calls();
            events.extend(calls.iter().filter_map(|event| clean_event(event, &admission, changes)));
        }
        // What waits for the rest of the file is kept too, and was never an event that would have been cleaned.
        cursor.rewrite(&mut |text| redact::redact(text).text.into_owned());
        if report.meta.subagent && request.kind.is_none() {
            request.kind = Some(SessionKind::Subagent);
        }
        if request.tokens.is_none() && report.format != Format::Codex && report.counts.tokens_out > 0 {
            // Codex tells running totals, which would be added up here again and again.
            request.tokens =
                Some(Tokens { input: report.counts.tokens_in, output: report.counts.tokens_out });
        }
        Ok(Tail { events, facts, cursor: Some((cursor_key, encoded(&cursor)?)), is_missing: false })
    }
}

impl Engine {
    /// Reads past what a file holds now without keeping anything: what was said while nothing is captured must not come
    /// in with the first commit afterwards.
    pub(super) fn skip_transcript(
        &self,
        owner: &OwnerId,
        request: &CommitRequest,
    ) -> Result<(), EngineError> {
        let Some(transcript) = &request.transcript else { return Ok(()) };
        let Some(path) = found(&transcript.path, &request.session) else { return Ok(()) };
        let Ok(file) = open_regular(&path) else { return Ok(()) };
        let place = self.place_of_commit(owner, request, false)?;
        let (key, before) = self.cursor(owner, &place, request, &path)?;
        let Ok(report) = read(file, before, &Limits::default(), &mut |_| {}) else { return Ok(()) };
        let mut cursor = report.cursor;
        cursor.release_answer();
        cursor.release_calls();
        cursor.rewrite(&mut |text| redact::redact(text).text.into_owned());
        let value = encoded(&cursor)?;
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(Family::Cursor, key, value))?;
        Ok(())
    }

    /// Under which name a file's cursor is kept, and how far the file was read.
    fn cursor(
        &self,
        owner: &OwnerId,
        place: &Resolved,
        request: &CommitRequest,
        path: &Path,
    ) -> Result<(String, Option<Cursor>), EngineError> {
        let snapshot = self.store().snapshot()?;
        let session = key_of(&snapshot, owner, &request.session, &request.agent, place)?;
        let key = session_aux_key(&session, &safe_name(&path.to_string_lossy()));
        let before = snapshot.aux(owner, Family::Cursor, &key)?;
        Ok((key, before.and_then(|bytes| serde_json::from_slice(&bytes).ok())))
    }

    /// Which events may come into a session now: none from a pause, and none that was forgotten with it.
    pub(super) fn admission(
        &self,
        owner: &OwnerId,
        key: &SessionKey,
        request: &CommitRequest,
        place: &Resolved,
    ) -> Result<Admission, EngineError> {
        let mut closed = self.pauses(owner)?;
        let snapshot = self.store().snapshot()?;
        let forgotten = self.session_forgotten_at(&snapshot, owner, key, &request.agent.id, place.id())?;
        closed.extend(forgotten.map(|at| (Timestamp::MIN, at)));
        Ok(Admission::new(self.now(), closed))
    }
}

/// Events on their way into the store.
struct Pieces<'a> {
    admission: &'a Admission,
    engine: &'a Engine,
    owner: &'a OwnerId,
    place: &'a Resolved,
    request: &'a CommitRequest,
    counts: &'a mut EventCounts,
    changes: &'a mut Changes,
    facts: Vec<Earlier>,
    events: Vec<Event>,
    bytes: usize,
    failed: Option<EngineError>,
}

impl Pieces<'_> {
    fn take(&mut self, event: Event) {
        if self.failed.is_some() {
            return;
        }
        let Some(event) = clean_event(&event, self.admission, self.changes) else {
            self.counts.skipped += 1;
            return;
        };
        self.bytes +=
            event.text.len() + event.tool.as_ref().map_or(0, |tool| tool.input.len() + tool.output.len());
        self.events.push(event);
        if self.bytes >= PIECE_BYTES || self.events.len() >= PIECE_EVENTS {
            let events = std::mem::take(&mut self.events);
            self.bytes = 0;
            if let Err(error) = self.store(&events) {
                self.failed = Some(error);
            }
        }
    }

    fn store(&mut self, events: &[Event]) -> Result<(), EngineError> {
        let (place, request) = (self.place, self.request);
        let work = Work::new(self.engine, self.owner, place, request, super::Run::Past);
        let (_, (fresh, first)) = work.retry(|snapshot| {
            let mut session = work.session(snapshot, self.request)?;
            let first = session.event_count;
            let fresh = work.fresh(snapshot, events, events.len())?;
            let set = ChangeSet::new(self.owner.clone());
            let set = work.with_events(snapshot, set, &mut session, &fresh, 0)?;
            Ok((set.put_session(session), (fresh, first)))
        })?;
        self.counts.new += fresh.events.len() as u64;
        self.counts.known += fresh.known;
        let room = MAX_FACTS.saturating_sub(self.facts.len());
        self.facts.extend(dated_facts(&fresh.events, first, self.engine.now()).take(room));
        Ok(())
    }
}

/// The file, unless the caller says that it is of another format than its beginning shows.
fn of_format(mut file: File, given: Option<&str>, path: &Path) -> Result<File, EngineError> {
    let Some(given) = given.filter(|format| !matches!(*format, "auto" | "")) else { return Ok(file) };
    let cannot = |error| {
        EngineError::new(Problem::Invalid, format!("cannot read the transcript {}", path.display()))
            .caused_by(error)
    };
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(cannot)?;
    file.rewind().map_err(cannot)?;
    match detect(&head) {
        Detected::Known(format, _) if format.as_str() != given => Err(EngineError::invalid(format!(
            "transcript.format: {} is {format}, not {given}",
            path.display()
        ))),
        _ => Ok(file),
    }
}

/// The file, or the session's file in a sibling folder when the harness named one that is not there.
fn found(path: &str, session: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if path.is_file() {
        return Some(path.to_path_buf());
    }
    let name = format!("{session}.jsonl");
    if session.contains(['/', '\\']) || session.starts_with('.') {
        return None;
    }
    let projects = path.parent()?.parent()?;
    if projects.file_name()? != "projects" {
        return None;
    }
    let folders = std::fs::read_dir(projects).ok()?;
    folders
        .take(MAX_FOLDERS)
        .filter_map(Result::ok)
        .map(|folder| folder.path().join(&name))
        .find(|file| file.is_file())
}

/// Length and time of a file, so that the same call after it grew is another commit.
pub(super) fn state_of(path: &str) -> String {
    match std::fs::metadata(path) {
        Ok(meta) => format!("{}:{:?}", meta.len(), meta.modified().ok()),
        Err(_) => "absent".to_owned(),
    }
}
