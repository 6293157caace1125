//! Events in, understood and kept: `session.append` and `session.commit`.
//!
//! Everything a call brings passes [`intake`] (injected text out, secrets out, bounds) before it can reach the store.
//! A commit is one change set; only a long transcript is stored in pieces first, each idempotent.

mod appended;
mod fellows;
mod fresh;
mod identity;
mod intake;
mod keeping;
mod known;
mod learn;
mod meant;
mod preview;
mod sharing;
mod tasks;
mod transcript;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use doze_core::model::{
    AgentRef, Event, EventKind, Mode, Origin, Outcome, OwnerId, Session, SessionEnd, SessionKey, SessionKind,
    Summary, TaskRef, Tokens, WorkState, WorkStatus,
};
use doze_core::summary::{self, SummaryInput};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use crate::asking::Who;
use crate::dream::{NOBODY, checkpointed};
use crate::jobs::QUEUED;
use crate::names::{
    MAX_NAME_BYTES, MAX_PATH_BYTES, check_agent, check_chars, check_count, check_given, check_name,
    check_path, safe_agent, safe_name,
};
use crate::project::Resolved;
use crate::work::safe;
use crate::{Engine, EngineError, Problem, encoded};
pub(crate) use fellows::facts_saying;
use fresh::Fresh;
pub(crate) use identity::{
    called, former_ids, given_name, is_learned_in, is_of_harness, is_work_in, is_work_of, marked, names_of,
    own_name,
};
use identity::{commit_id, key_of};
use intake::{Changes, Intake};
use keeping::{Receipt, receipt_key};
pub(crate) use known::Cache as KnownFacts;
use learn::Learned;
pub use meant::SessionName;
pub(crate) use meant::called_so;
pub use preview::{Preview, SessionListRequest};
pub(crate) use sharing::{Finds, Found};
pub(crate) use tasks::tasks_of;

/// Events of one call, files it may name as changed, characters of its task's title. More events go in pieces.
const MAX_EVENTS: usize = 50_000;
const MAX_CHANGED_FILES: usize = 1_000;
const MAX_TASK_TITLE: usize = 1_000;

/// A session file to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRef {
    /// Where it lies.
    pub path: String,
    /// Its format, `None` to find out by content.
    pub format: Option<String>,
}

/// `session.append` and `session.commit`.
#[derive(Debug, Clone)]
pub struct CommitRequest {
    /// The session's id as its harness spells it.
    pub session: String,
    /// Names this call; the same id again changes nothing.
    pub commit_id: Option<String>,
    /// What ends.
    pub end: SessionEnd,
    /// Who ran it.
    pub agent: AgentRef,
    /// Where it ran.
    pub cwd: String,
    /// The project it belongs to, by id, name or path; `None` for the one of `cwd`.
    pub project: Option<String>,
    /// How it is driven; `None` keeps what is known, `code` for a new session.
    pub mode: Option<Mode>,
    /// Where it comes from; `None` keeps what is known, `interactive` for a new session.
    pub kind: Option<SessionKind>,
    /// How it went.
    pub outcome: Option<Outcome>,
    /// The agent's own summary.
    pub summary: Option<String>,
    /// What the run printed last.
    pub output: Option<String>,
    /// Files it changed.
    pub changed_files: Vec<String>,
    /// Token counts.
    pub tokens: Option<Tokens>,
    /// The task.
    pub task: Option<TaskRef>,
    /// The team.
    pub team: Option<String>,
    /// What happened.
    pub events: Vec<Event>,
    /// The session file.
    pub transcript: Option<TranscriptRef>,
}

/// What became of the events a call brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventCounts {
    /// Stored.
    pub new: u64,
    /// Known already: in this session, and those of a session file in another of the project too.
    pub known: u64,
    /// Left out: nothing but injected text, or damaged.
    pub skipped: u64,
}

/// What became of the facts found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FactCounts {
    /// New facts.
    pub added: u64,
    /// Facts said again.
    pub reinforced: u64,
    /// Facts that became project knowledge.
    pub promoted: u64,
}

/// What a commit did; told when it is durable.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitAnswer {
    /// The session's id.
    pub session: String,
    /// The project's id, if there is one.
    pub project: Option<String>,
    /// The change-log number of the commit.
    pub seq: u64,
    /// The session's summary so far.
    pub summary: Summary,
    /// Facts.
    pub facts: FactCounts,
    /// Events.
    pub events: EventCounts,
    /// How often each redaction rule struck.
    pub redacted: BTreeMap<String, u64>,
    /// Texts too long to keep whole: the middle is left out, with a mark where it stood.
    pub cut: u64,
    /// `queued`, `off` or `skipped: <reason>`.
    pub extraction: String,
    /// The commit had been taken in before: this is what was answered then, and nothing changed.
    pub is_repeat: bool,
}

/// What an append did; told when it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendAnswer {
    /// The session's id.
    pub session: String,
    /// The project's id, if there is one.
    pub project: Option<String>,
    /// The change-log number.
    pub seq: u64,
    /// Events.
    pub events: EventCounts,
    /// How often each redaction rule struck.
    pub redacted: BTreeMap<String, u64>,
    /// Texts too long to keep whole: the middle is left out, with a mark where it stood.
    pub cut: u64,
}

impl Engine {
    /// Adds events to a running session.
    pub fn append(&self, owner: &OwnerId, request: CommitRequest) -> Result<AppendAnswer, EngineError> {
        let mut request = without_secret_names(request);
        check(&request)?;
        self.note_activity();
        let mut changes = Changes::default();
        if self.capture_refusal(owner, &request)?.is_some() {
            let events = EventCounts { skipped: request.events.len() as u64, ..EventCounts::default() };
            return Ok(AppendAnswer {
                session: request.session,
                project: None,
                seq: self.store().seq(),
                events,
                redacted: changes.redacted,
                cut: 0,
            });
        }
        let place = self.place_of_commit(owner, &request, true)?;
        let asked = request.session.clone();
        request.session = self.own_name_of(owner, &request, &place)?;
        let work = Work::new(self, owner, &place, &request, Run::Ends);
        let admission = self.admission(owner, &work.key(&self.store().snapshot()?)?, &request, &place)?;
        let intake = Intake::of(&request, &admission, &mut changes);
        let (seq, events) = work.retry(|snapshot| {
            let mut session = work.session(snapshot, &request)?;
            let set = ChangeSet::new(owner.clone());
            let (set, began) = work.with_task(snapshot, set, &mut session, intake.task.as_ref())?;
            let fresh = work.fresh(snapshot, &intake.events, intake.read)?;
            let set = work.with_events(snapshot, set, &mut session, &fresh, began)?;
            let mut set = set;
            if !fresh.events.is_empty() {
                // It goes on.
                session.ended = None;
                let first = session.event_count - fresh.events.len() as u64;
                set = work.teaches_later(snapshot, set, &session.key, first)?;
            }
            let counts = fresh.counts(intake.skipped);
            Ok((set.put_session(session), counts))
        })?;
        Ok(AppendAnswer {
            session: asked,
            project: place.id().map(ToString::to_string),
            seq,
            events,
            redacted: changes.redacted,
            cut: changes.cut,
        })
    }

    /// Ends a turn or a session: events, summary, facts, promotion, and the work state cleared in the same step.
    pub fn commit(&self, owner: &OwnerId, request: CommitRequest) -> Result<CommitAnswer, EngineError> {
        self.commit_of(owner, request, Run::Ends)
    }

    /// A commit of a run that ends now, or of one that is long past.
    pub(crate) fn commit_of(
        &self,
        owner: &OwnerId,
        mut request: CommitRequest,
        run: Run,
    ) -> Result<CommitAnswer, EngineError> {
        request = without_secret_names(request);
        check(&request)?;
        self.note_activity();
        let asked = request.session.clone();
        if let Some(reason) = self.capture_refusal(owner, &request)? {
            self.skip_transcript(owner, &request)?;
            // Nothing of it is kept, but the run has ended all the same.
            let place = self.place_of_commit(owner, &request, false)?;
            request.session = self.own_name_of(owner, &request, &place)?;
            let work = Work::new(self, owner, &place, &request, run);
            work.retry(|snapshot| Ok((work.repeated(snapshot)?, ())))?;
            return Ok(nothing_kept(asked, self.store().seq(), &reason));
        }
        let place = self.place_of_commit(owner, &request, true)?;
        request.session = self.own_name_of(owner, &request, &place)?;
        let answer = self.commit_in(owner, request, run, &place)?;
        if answer.extraction == QUEUED && !answer.is_repeat {
            self.wake_workers();
        }
        Ok(CommitAnswer { session: asked, ..answer })
    }

    /// Takes a commit in, whose place and session are known.
    fn commit_in(
        &self,
        owner: &OwnerId,
        mut request: CommitRequest,
        run: Run,
        place: &Resolved,
    ) -> Result<CommitAnswer, EngineError> {
        let commit_id = commit_id(&request);
        let work = Work::new(self, owner, place, &request, run);
        let nothing = || ChangeSet::new(owner.clone());
        let repeated = work.retry(|snapshot| {
            Ok(match work.answered(snapshot, &commit_id)? {
                Some(answer) => (work.repeated(snapshot)?, Some(answer)),
                None => (nothing(), None),
            })
        })?;
        if let Some(answer) = repeated.1 {
            return Ok(answer);
        }
        let key = work.key(&self.store().snapshot()?)?;
        let mut changes = Changes::default();
        let mut counts = EventCounts::default();
        let mut tail = transcript::Tail::default();
        if request.transcript.is_some() {
            tail = self.read_transcript(owner, place, &mut request, &mut counts, &mut changes)?;
            if tail.is_missing
                && brings_nothing(&request)
                && self.store().snapshot()?.session(owner, &key)?.is_none()
            {
                // A path that is wrong is no end of a run: its work state stays.
                let path = request.transcript.as_ref().map_or("", |transcript| &transcript.path);
                let reason = format!("there is no {path}, and nothing else was told of the session");
                return Ok(nothing_kept(request.session.clone(), self.store().seq(), &reason));
            }
        }
        let admission = self.admission(owner, &key, &request, place)?;
        let mut intake = Intake::of(&request, &admission, &mut changes);
        intake.prepend(std::mem::take(&mut tail.events));
        let work = Work::new(self, owner, place, &request, run);
        work.keep(&commit_id, |snapshot| {
            // The same commit may have been taken in by another call since: it counts once.
            match work.answered(snapshot, &commit_id)? {
                Some(answer) => Ok((work.repeated(snapshot)?, answer)),
                None => work.commit(snapshot, &intake, &tail, counts, &commit_id, &changes),
            }
        })
    }

    /// What the agent calls the session that a call names.
    fn own_name_of(
        &self,
        owner: &OwnerId,
        request: &CommitRequest,
        place: &Resolved,
    ) -> Result<String, EngineError> {
        let snapshot = self.store().snapshot()?;
        Ok(own_name(&snapshot, owner, request.session.clone(), &request.agent, place)?)
    }

    /// Why nothing may be captured from this call, if so.
    fn capture_refusal(
        &self,
        owner: &OwnerId,
        request: &CommitRequest,
    ) -> Result<Option<String>, EngineError> {
        if let Some(reason) = self.silence_told(owner, None)? {
            return Ok(Some(reason));
        }
        self.silence_told(owner, self.place_of_commit(owner, request, false)?.project.as_ref())
    }

    /// The project a call belongs to: the one it names, else its folder's, minted when it is new.
    fn place_of_commit(
        &self,
        owner: &OwnerId,
        request: &CommitRequest,
        mint: bool,
    ) -> Result<Resolved, EngineError> {
        match &request.project {
            Some(name) => {
                let project = Some(self.find_project(owner, name)?);
                let folder = self.known_project_of(owner, &request.cwd)?;
                Ok(Resolved { project, is_project: true, ..folder })
            }
            None if mint => self.project_of(owner, &request.cwd),
            None => self.known_project_of(owner, &request.cwd),
        }
    }
}

/// One call at work: what the steps of a commit share.
struct Work<'a> {
    engine: &'a Engine,
    owner: &'a OwnerId,
    place: &'a Resolved,
    request: &'a CommitRequest,
    run: Run,
    /// What the last decision taught.
    learned: RefCell<Learned>,
}

/// Whose commit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// A run that ends now: whoever is chosen reads it.
    Ends,
    /// One that is read in from its file: dreams read it, and nobody is asked about a thousand of them at once.
    Past,
}

impl<'a> Work<'a> {
    fn new(
        engine: &'a Engine,
        owner: &'a OwnerId,
        place: &'a Resolved,
        request: &'a CommitRequest,
        run: Run,
    ) -> Self {
        Self { engine, owner, place, request, run, learned: RefCell::default() }
    }

    /// Decides on a snapshot and applies; starts over when somebody changed what was read. Answers also the number of the
    /// change.
    fn retry<T>(
        &self,
        decide: impl FnMut(&Snapshot) -> Result<(ChangeSet, T), EngineError>,
    ) -> Result<(u64, T), EngineError> {
        self.engine.decide_at("others kept changing the same session", decide)
    }

    /// The key of the session that the call speaks of.
    fn key(&self, snapshot: &Snapshot) -> Result<SessionKey, EngineError> {
        Ok(key_of(snapshot, self.owner, &self.request.session, &self.request.agent, self.place)?)
    }

    /// How the run ended: as the caller says; else one that broke off was interrupted, one that brings something did what
    /// was asked, and a bare end leaves what was said before.
    fn outcome(&self, before: Option<&Session>) -> Outcome {
        let request = self.request;
        let known =
            before.filter(|before| before.ended != Some(SessionEnd::Quit)).map(|before| before.outcome);
        let brings = request.summary.is_some()
            || request.output.is_some()
            || request.transcript.is_some()
            || !request.events.is_empty();
        match (request.outcome, known.unwrap_or(Outcome::Success)) {
            (Some(given), _) => given,
            (None, Outcome::Success) if request.end == SessionEnd::Quit => Outcome::Interrupted,
            (None, known) if request.end == SessionEnd::Quit || !brings => known,
            (None, _) => Outcome::Success,
        }
    }

    /// The session as it is known, or a new one.
    fn session(&self, snapshot: &Snapshot, request: &CommitRequest) -> Result<Session, EngineError> {
        let now = self.engine.now();
        let key = self.key(snapshot)?;
        let mut session = match snapshot.session(self.owner, &key)? {
            Some(session) => session,
            None => Session {
                key,
                owner: self.owner.clone(),
                project: self.place.id().cloned(),
                agent: request.agent.clone(),
                cwd: request.cwd.clone(),
                mode: Mode::Code,
                kind: SessionKind::Interactive,
                ended: None,
                outcome: Outcome::Success,
                started_at: now,
                last_event_at: Timestamp::UNIX_EPOCH,
                heard_at: now,
                event_count: 0,
                rounds: 0,
                turns: 0,
                summary: None,
                task: None,
                team: None,
                transcript: None,
            },
        };
        session.heard_at = now;
        session.mode = request.mode.unwrap_or(session.mode);
        session.kind = request.kind.unwrap_or(session.kind);
        session.outcome = request.outcome.unwrap_or(session.outcome);
        session.team = request.team.clone().or(session.team);
        if let Some(transcript) = &request.transcript {
            session.transcript = Some(safe_name(&transcript.path));
        }
        Ok(session)
    }

    /// Appends fresh events to the session, whose task began at that event.
    fn with_events(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &mut Session,
        fresh: &Fresh,
        began: u64,
    ) -> Result<ChangeSet, EngineError> {
        let key = session.key.clone();
        let mut set = set.expect_seen(snapshot, Subject::Session(key.clone()))?;
        if let Some(id) = self.place.id() {
            // Nothing is kept under the id of a project that was merged or forgotten meanwhile.
            if snapshot.project(self.owner, id)?.is_none() {
                self.engine.inner.folders.clear();
                return Err(EngineError::new(Problem::Busy, "the project was merged or forgotten meanwhile")
                    .hint("try again"));
            }
            set = set.expect_seen(snapshot, Subject::Projects)?;
        }
        let first = session.event_count;
        let events = &fresh.events;
        let times = || events.iter().filter_map(|event| event.at);
        if first == 0 {
            session.started_at = times().min().unwrap_or(session.started_at);
        }
        let silent = if first == began { session.heard_at } else { session.last_event_at };
        session.last_event_at = session.last_event_at.max(times().max().unwrap_or(silent));
        session.event_count += events.len() as u64;
        session.rounds += rounds(session.mode, events, first > 0);
        if self.becomes_work(snapshot, session)? {
            // What was said while it was a discussion stays unread (S1.5), also in what is told of the session.
            let rounds = session.rounds - rounds(session.mode, events, first > 0);
            for ledger in Who::LEDGERS.into_iter().chain([NOBODY]) {
                set = checkpointed(set, &key, ledger, first, rounds)?;
            }
        }
        Ok(fresh.appended(set, &key, &self.request.agent.id, self.place.id(), first))
    }

    /// Whether a session that nobody learned from so far is one that is learned from.
    fn becomes_work(&self, snapshot: &Snapshot, session: &Session) -> Result<bool, EngineError> {
        let before = snapshot.session(self.owner, &session.key)?;
        Ok(session.kind.is_learned_from() && before.is_some_and(|before| !before.kind.is_learned_from()))
    }

    /// The whole commit on one snapshot, and its answer but for the number that it gets.
    fn commit(
        &self,
        snapshot: &Snapshot,
        intake: &Intake,
        tail: &transcript::Tail,
        stored: EventCounts,
        commit_id: &str,
        changes: &Changes,
    ) -> Result<(ChangeSet, CommitAnswer), EngineError> {
        let request = self.request;
        let mut session = self.session(snapshot, request)?;
        session.outcome = self.outcome(snapshot.session(self.owner, &session.key)?.as_ref());
        let set = ChangeSet::new(self.owner.clone());
        let (set, began) = self.with_task(snapshot, set, &mut session, intake.task.as_ref())?;
        let first = session.event_count;
        let fresh = self.fresh(snapshot, &intake.events, intake.read)?;
        let mut set = self.with_events(snapshot, set, &mut session, &fresh, began)?;
        let (agent, name) = (&request.agent.id, Some(request.session.as_str()));
        if let Some(work) = snapshot.work(self.owner, agent, self.place.id(), name)? {
            // Whoever tells only how it ended has told before that it runs.
            session.started_at = session.started_at.min(work.started_at);
        }
        let events = EventCounts {
            new: stored.new + fresh.events.len() as u64,
            known: stored.known + fresh.known,
            skipped: stored.skipped + intake.skipped,
        };
        session.turns += 1;
        session.ended = (request.end != SessionEnd::Turn).then_some(request.end);
        let summary = self.summarise(snapshot, &session, began..first, &fresh.events, intake)?;
        session.summary = Some(summary.clone());
        let (facts, extraction);
        (set, facts, extraction) = self.taught(snapshot, set, &session, &fresh.events, first, tail)?;
        let answer = CommitAnswer {
            session: request.session.clone(),
            project: self.place.id().map(ToString::to_string),
            seq: 0,
            summary,
            facts,
            events,
            redacted: changes.redacted.clone(),
            cut: changes.cut,
            extraction,
            is_repeat: false,
        };
        set = set.put_aux(
            Family::Receipt,
            receipt_key(&session.key, commit_id),
            encoded(&Receipt::of(&answer))?,
        );
        let outcome = session.outcome;
        set = set.put_session(session);
        set = self.with_work(snapshot, set, outcome)?;
        if let Some((key, value)) = &tail.cursor {
            set = set.put_aux(Family::Cursor, key.clone(), value.clone());
        }
        Ok((set, answer))
    }

    /// A run that did what was asked has no work state any more (S0.20), also none that was told without a session; one
    /// that did not keeps it, marked by how it ended (S0.17). That of another task stays as it is: it runs.
    fn with_work(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        outcome: Outcome,
    ) -> Result<ChangeSet, EngineError> {
        let (agent, project) = (self.request.agent.id.clone(), self.place.id().cloned());
        let is_cut_short = self.request.end == SessionEnd::Quit;
        let status = WorkStatus::of(outcome).or(is_cut_short.then_some(WorkStatus::Interrupted));
        let task = self.request.task.as_ref().map(|task| safe(&task.id, MAX_NAME_BYTES));
        let task = task.filter(|id| !id.is_empty());
        for session in [Some(self.request.session.clone()), None] {
            let work = snapshot.work(self.owner, &agent, project.as_ref(), session.as_deref())?;
            let running = work.as_ref().and_then(|work| work.task_id.as_ref()).filter(|id| !id.is_empty());
            if running.zip(task.as_ref()).is_some_and(|(running, ended)| running != ended) {
                continue;
            }
            let subject = Subject::Work(agent.clone(), project.clone(), session.clone());
            if task.is_some() || status.is_some() {
                // Another task may begin at this moment.
                set = set.expect_seen(snapshot, subject)?;
            }
            match (status, work) {
                (None, _) => set = set.clear_work(agent.clone(), project.clone(), session),
                (Some(status), Some(work)) => {
                    set = set.put_work(WorkState { status, updated_at: self.engine.now(), ..work });
                }
                (Some(_), None) => {}
            }
        }
        Ok(set)
    }

    /// What the new events teach by rule, and whether somebody reads the run: said as a commit's answer says it.
    fn taught(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
        fresh: &[Event],
        first: u64,
        tail: &transcript::Tail,
    ) -> Result<(ChangeSet, FactCounts, String), EngineError> {
        if let Some(reason) = self.not_learned_from(session) {
            let set = self.appended(snapshot, set, session, first)?.0;
            let set = match self.request.end {
                SessionEnd::Quit => self.engine.unqueued(snapshot, set, session)?,
                _ => set,
            };
            return Ok((set, FactCounts::default(), format!("skipped: {reason}")));
        }
        let (set, facts) = self.learn(snapshot, set, session, fresh, first, &tail.facts)?;
        if self.run == Run::Past {
            return Ok((set, facts, "off".to_owned()));
        }
        let (set, extraction) = self.engine.queued(snapshot, set, session, self.request.end)?;
        Ok((set, facts, extraction))
    }

    /// The summary of the session's task: its newest stored events and the ones just arriving.
    fn summarise(
        &self,
        snapshot: &Snapshot,
        session: &Session,
        stored: std::ops::Range<u64>,
        fresh: &[Event],
        intake: &Intake,
    ) -> Result<Summary, EngineError> {
        let unread = match self.becomes_work(snapshot, session)? {
            true => stored.end,
            false => self.engine.checkpoint(snapshot, self.owner, &session.key, NOBODY)?.ordinal,
        };
        let unread = unread.max(stored.start);
        let stored = Session { event_count: stored.end, ..session.clone() };
        let stored = self.engine.events_of_run(snapshot, self.owner, &stored, unread)?;
        let mut events: Vec<Event> = stored.into_iter().map(|(_, event)| event).collect();
        events.extend_from_slice(fresh);
        let before = session.summary.clone().unwrap_or_default();
        let tokens = match self.request.tokens {
            Some(tokens) => Tokens {
                input: before.tokens.input.saturating_add(tokens.input),
                output: before.tokens.output.saturating_add(tokens.output),
            },
            None => before.tokens,
        };
        let mut files = before.files_changed;
        files.extend(intake.changed_files.iter().cloned());
        let (mut told, mut output) = (intake.summary.clone(), intake.output.clone());
        if let Some(graves) = self.engine.graves_in(snapshot, self.owner, self.place.id())? {
            told.iter_mut().chain(&mut output).try_for_each(|text| graves.blank(text, None))?;
        }
        Ok(summary::summarise(&SummaryInput {
            events: &events,
            task: session.task.as_ref(),
            summary: told.as_deref(),
            output: output.as_deref(),
            changed_files: &files,
            tokens,
            outcome: session.outcome,
        }))
    }

    /// Why nobody learns from this commit, if so (S1.5, S1.7).
    fn not_learned_from(&self, session: &Session) -> Option<String> {
        if self.request.end == SessionEnd::Quit {
            return Some("the application quits".into());
        }
        (!session.kind.is_learned_from()).then(|| format!("{} sessions are not learned from", session.kind))
    }
}

fn check(request: &CommitRequest) -> Result<(), EngineError> {
    check_given("session", &request.session)?;
    check_agent(&request.agent)?;
    check_path("cwd", &request.cwd)?;
    check_path("project", request.project.as_deref().unwrap_or(""))?;
    check_name("commit_id", request.commit_id.as_deref().unwrap_or(""))?;
    check_name("team", request.team.as_deref().unwrap_or(""))?;
    check_count("events", request.events.len(), MAX_EVENTS)?;
    check_count("changed_files", request.changed_files.len(), MAX_CHANGED_FILES)?;
    for file in &request.changed_files {
        check_chars("changed_files", file, MAX_PATH_BYTES)?;
    }
    if let Some(task) = &request.task {
        check_chars("task.id", &task.id, MAX_NAME_BYTES)?;
        check_chars("task.title", &task.title, MAX_TASK_TITLE)?;
    }
    let Some(transcript) = &request.transcript else { return Ok(()) };
    if !Path::new(&transcript.path).is_absolute() {
        return Err(EngineError::invalid("transcript.path is no whole path"));
    }
    check_path("transcript.path", &transcript.path)
}

/// Whether a commit tells nothing itself of what was done.
fn brings_nothing(request: &CommitRequest) -> bool {
    let is_blank = |text: &Option<String>| text.as_deref().is_none_or(|text| text.trim().is_empty());
    request.events.is_empty()
        && request.changed_files.is_empty()
        && request.outcome.is_none()
        && is_blank(&request.summary)
        && is_blank(&request.output)
}

/// A caller may put a secret even into a name; it never reaches the disk there either.
fn without_secret_names(request: CommitRequest) -> CommitRequest {
    CommitRequest {
        session: safe_name(&request.session),
        commit_id: request.commit_id.as_deref().map(safe_name),
        agent: safe_agent(request.agent),
        cwd: safe_name(&request.cwd),
        team: request.team.as_deref().map(safe_name),
        ..request
    }
}

/// Rounds in new events: assistant turns in mode `code`, prompts with their answer in mode `agent`. `is_begun`: the
/// session has events already, so an answer that comes first belongs to a prompt that was stored before.
fn rounds(mode: Mode, events: &[Event], is_begun: bool) -> u64 {
    let mut rounds = 0;
    let mut is_asked = is_begun;
    for event in events {
        match event.kind {
            EventKind::Prompt if event.origin == Origin::Person => is_asked = true,
            EventKind::Answer if mode == Mode::Code => rounds += 1,
            EventKind::Answer if is_asked => {
                rounds += 1;
                is_asked = false;
            }
            _ => {}
        }
    }
    rounds
}

fn nothing_kept(session: String, seq: u64, reason: &str) -> CommitAnswer {
    CommitAnswer {
        session,
        project: None,
        seq,
        summary: Summary::default(),
        facts: FactCounts::default(),
        events: EventCounts::default(),
        redacted: BTreeMap::new(),
        cut: 0,
        extraction: format!("skipped: {reason}"),
        is_repeat: false,
    }
}
