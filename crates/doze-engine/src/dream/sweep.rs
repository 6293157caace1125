//! One sweep: choose, read each session and keep what it yields, plan, apply. Each step is on record (`running`), so
//! that a sweep which breaks off anywhere is gone on with.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{
    Dream, DreamId, DreamResult, DreamedSession, LeftAlone, Memory, Mode, Origin, OwnerId, ProjectId, Scope,
    SessionOutcome, steps,
};
use doze_core::{redact, text};
use doze_dream::{Caps, Choice, ChoiceOutcome, Plan, PlanInput, Ran, TakenBack, plan, taken_back};
use doze_store::{ApplyError, ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use super::DreamRequest;
use super::breaks::{Break, reach};
use super::reading::{Read, Reading};
use super::running::{RUNNING, Running, Step};
use super::state::{Checkpoint, Kept, SWEEP_STATE, checkpointed, session_record};
use crate::asking::Asked;
use crate::clock::{day_of, next_day};
use crate::{Engine, EngineError, Problem, encoded};

/// How often a plan is made anew because a record changed under it.
const PLAN_RETRIES: u32 = 5;
/// Skipped sessions that a journal lists.
const MAX_SKIPPED_TOLD: usize = 20;
/// Findings left alone that a journal lists, and characters of their titles.
const MAX_LEFT_ALONE_TOLD: usize = 50;
const MAX_TITLE_TOLD: usize = 120;
/// Dreams the journal keeps, and those among them that changed nothing.
const MAX_DREAMS: usize = 500;
const MAX_IDLE_DREAMS: usize = 100;

impl Engine {
    /// Runs one sweep and answers its journal. Two never run at once.
    pub fn dream(&self, owner: &OwnerId, request: &DreamRequest) -> Result<Dream, EngineError> {
        let Some(_alone) = self.alone() else {
            return Err(EngineError::new(Problem::Busy, "a dream is running").hint("see `doze dream status`"));
        };
        if let Some(silence) = self.silence(owner, None)? {
            return Err(silence.refusal());
        }
        let project = request.project.as_deref().map(|name| self.find_project(owner, name)).transpose()?;
        let project = project.map(|project| project.id);
        let modes = match request.mode {
            Some(mode) => vec![mode],
            None => self.switches().schedule.modes,
        };
        let (mut running, left) = self.begin(owner, request)?;
        reach(Break::Begun);
        let chosen = self.chosen(owner, &modes, project.as_ref(), request)?;
        reach(Break::Chosen);
        let hint = if let Some(left) = left {
            format!("; it goes on with what one kept that broke off at {}", left.started_at)
        } else if request.by_hand {
            self.too_old(owner, project.as_ref(), request)?
        } else {
            String::new()
        };
        let (sessions, readings) = self.read_chosen(owner, chosen, request, &mut running)?;
        running.step = Step::Planning;
        self.note_running(owner, &running)?;
        let mode =
            readings.first().map(|reading| reading.session.mode).or(request.mode).unwrap_or(Mode::Code);
        let dream = Dream {
            id: DreamId::new(self.new_id()),
            owner: owner.clone(),
            mode,
            dry_run: request.dry_run,
            started_at: running.started_at,
            ended_at: running.started_at,
            result: DreamResult::Nothing,
            reason: hint,
            sessions,
            changes: Vec::new(),
            left_alone: Vec::new(),
            undone_at: None,
            undo_left: Vec::new(),
        };
        let dream = self.finish(owner, dream, &readings, project.as_ref(), request)?;
        Ok(if dream.dry_run { dream } else { self.write_dreamt(owner, dream) })
    }

    /// Reads the chosen sessions one after another, each kept before the next is begun. Answers what became of each,
    /// and what those yielded that were read.
    fn read_chosen(
        &self,
        owner: &OwnerId,
        chosen: Vec<Choice>,
        request: &DreamRequest,
        running: &mut Running,
    ) -> Result<(Vec<DreamedSession>, Vec<Reading>), EngineError> {
        let is_read = |choice: &&Choice| matches!(choice.outcome, ChoiceOutcome::Read { .. });
        running.chosen = chosen.iter().filter(is_read).count() as u64;
        let mut sessions = Vec::new();
        let mut readings = Vec::new();
        let (mut skipped, mut told) = (0, Vec::new());
        for choice in chosen {
            // What is read by now is planned and applied; the next sweep goes on with the others.
            if self.is_closing() {
                break;
            }
            match choice.outcome {
                ChoiceOutcome::Skip { ref reason, is_lasting } => {
                    if skipped < MAX_SKIPPED_TOLD {
                        skipped += 1;
                        sessions.push(dreamed(&choice, SessionOutcome::Skipped, reason));
                        if is_lasting {
                            told.push(choice.key);
                        }
                    }
                }
                ChoiceOutcome::Read { from_ordinal } => {
                    let key = &choice.key;
                    running.step =
                        Step::Reading { harness: key.harness.clone(), session: key.session.clone() };
                    self.note_running(owner, running)?;
                    // One session that cannot be read does not hold up the others.
                    let read = self.read(owner, &choice, from_ordinal, request.dry_run).unwrap_or_else(|error| {
                        tracing::warn!(error = %crate::chain(&error), "a session could not be read for a dream");
                        Read::Retry { reason: error.message, counts: true }
                    });
                    running.read += 1;
                    match read {
                        Read::Gone => {}
                        Read::Retry { reason, counts } => {
                            if counts && !request.dry_run {
                                self.note_failure(owner, &choice.key)?;
                            }
                            sessions.push(dreamed(&choice, SessionOutcome::Retry, &reason));
                        }
                        Read::Reading(reading) => {
                            let yielded = &reading.yielded;
                            let (outcome, reason) = match yielded.candidates.is_empty() {
                                _ if yielded.is_unreadable => {
                                    (SessionOutcome::Skipped, "the reply could not be read")
                                }
                                true => (SessionOutcome::Empty, "nothing in it is worth keeping"),
                                false => (SessionOutcome::Extracted, ""),
                            };
                            sessions.push(dreamed(&choice, outcome, reason));
                            readings.push(*reading);
                        }
                    }
                }
            }
        }
        if !request.dry_run {
            self.note_told(owner, &told)?;
        }
        sessions.sort_by_key(|session| session.outcome == SessionOutcome::Skipped);
        Ok((sessions, readings))
    }

    /// Plans on a snapshot and applies plan, journal and checkpoints as one change set. A record that changed
    /// meanwhile means planning anew.
    fn finish(
        &self,
        owner: &OwnerId,
        mut dream: Dream,
        readings: &[Reading],
        project: Option<&ProjectId>,
        request: &DreamRequest,
    ) -> Result<Dream, EngineError> {
        let hint = std::mem::take(&mut dream.reason);
        for _ in 0..PLAN_RETRIES {
            let snapshot = self.store().snapshot()?;
            let readings = &self.standing(&snapshot, owner, readings)?;
            let mut state = self.sweep_state(&snapshot, owner)?;
            let scopes = self.touched_scopes(&snapshot, owner, readings, project)?;
            let journal = snapshot.dreams(owner, usize::MAX)?;
            let taken = self.taken_back(&snapshot, owner)?;
            let made = self.plan(&snapshot, owner, readings, &scopes, &state, &taken)?;
            dream.ended_at = self.now();
            dream.result = if made.changes.is_empty() { DreamResult::Nothing } else { DreamResult::Done };
            let failed = dream.sessions.iter().filter(|told| told.outcome == SessionOutcome::Retry).count();
            dream.reason = reason(readings.len(), failed, &made) + &hint;
            dream.changes = made.changes.clone();
            dream.left_alone = made.left_alone.iter().take(MAX_LEFT_ALONE_TOLD).map(told_of).collect();
            if let Some(silence) = self.silence(owner, None)? {
                // What was extracted waits for the next sweep.
                return Err(silence.refusal());
            }
            if dream.dry_run {
                return Ok(dream);
            }
            reach(Break::Planned);
            let mut set = self.planned(&snapshot, owner, &scopes, readings, &made)?;
            note(&mut state, &dream, request, &made, self.random());
            state.last_why = Some(why(request, &dream.reason));
            set = set.put_aux(Family::Setting, SWEEP_STATE, encoded(&state)?).put_dream(dream.clone());
            set = set.delete_aux(Family::Setting, RUNNING);
            for old in superfluous(journal) {
                set = set.delete_dream(old);
            }
            drop(snapshot);
            match self.store().apply(set) {
                Ok(_) => {
                    reach(Break::Applied);
                    return Ok(dream);
                }
                Err(ApplyError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::new(Problem::Busy, "memories kept changing while the dream was planned")
            .hint("try again"))
    }

    /// What a plan changes, and what the sessions it was made of are noted as; refused when any of that has changed since.
    fn planned(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scopes: &[Scope],
        readings: &[Reading],
        made: &Plan,
    ) -> Result<ChangeSet, EngineError> {
        let mut set = ChangeSet::new(owner.clone());
        for scope in scopes {
            set = set.expect_seen(snapshot, Subject::Scope(scope.clone()))?;
        }
        set = self.put_learned(snapshot, set, last_states(made))?;
        for reading in readings {
            let key = &reading.session.key;
            let ledger = session_record(key, reading.asked.name());
            set = set.expect_seen(snapshot, Subject::Aux(Family::Checkpoint, ledger.clone()))?;
            if made.postponed.contains(key) {
                let known = self.checkpoint(snapshot, owner, key, reading.asked.name())?;
                let put_off = Checkpoint { put_off: Some(next_day(self.now())), ..known };
                set = set.put_aux(Family::Checkpoint, ledger, encoded(&put_off)?);
                continue;
            }
            let (ordinal, rounds) = (reading.yielded.upto, reading.yielded.rounds);
            set = set.expect_seen(snapshot, Subject::Session(key.clone()))?;
            set = checkpointed(set, key, reading.asked.name(), ordinal, rounds)?;
        }
        Ok(set)
    }

    /// Puts what was learned or changed; refused when words of it are forgotten before the set is applied, in whatever
    /// space.
    pub(crate) fn put_learned(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        memories: Vec<Memory>,
    ) -> Result<ChangeSet, EngineError> {
        for memory in memories {
            for said in [&memory.title, &memory.body] {
                set = self.unless_forgotten(snapshot, set, memory.scope.project(), said, Origin::Agent)?.0;
            }
            set = set.put_memory(memory);
        }
        Ok(set)
    }

    /// The spaces a sweep may change: those of the findings, and of the projects with anything new.
    fn touched_scopes(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        readings: &[Reading],
        project: Option<&ProjectId>,
    ) -> Result<Vec<Scope>, EngineError> {
        let mut touched: BTreeMap<String, Scope> = BTreeMap::new();
        let mut add = |scope: Scope| {
            touched.insert(scope.key(), scope);
        };
        for candidate in readings.iter().flat_map(|reading| &reading.yielded.candidates) {
            if let Some(candidate) = candidate.clone().restore() {
                add(candidate.scope);
            }
        }
        let swept: BTreeSet<ProjectId> = match project {
            Some(project) => BTreeSet::from([project.clone()]),
            None => snapshot.projects(owner)?.into_iter().map(|project| project.id).collect(),
        };
        for scope in snapshot.scopes(owner)? {
            if scope.project().is_some_and(|project| swept.contains(project)) {
                add(scope);
            }
        }
        for project in readings.iter().filter_map(|reading| reading.session.project.clone()) {
            add(Scope::Project(project));
        }
        Ok(touched.into_values().collect())
    }

    /// What the journal says was taken back.
    pub(crate) fn taken_back(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<Vec<TakenBack>, EngineError> {
        Ok(snapshot.dreams(owner, MAX_DREAMS)?.iter().flat_map(taken_back).collect())
    }

    fn plan(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        readings: &[Reading],
        scopes: &[Scope],
        state: &super::state::SweepState,
        taken_back: &[TakenBack],
    ) -> Result<Plan, EngineError> {
        let mut existing: Vec<Memory> = Vec::new();
        for scope in scopes {
            existing.extend(snapshot.memories(owner, scope)?);
        }
        let (mut findings, mut ended) = (Vec::new(), Vec::new());
        let restored = |kept: &[Kept]| kept.iter().cloned().filter_map(Kept::restore).collect::<Vec<_>>();
        for Reading { session, asked, yielded, .. } in readings {
            findings.extend(self.findings(
                snapshot,
                owner,
                session,
                &restored(&yielded.candidates),
                asked,
            )?);
            ended.extend(self.findings(
                snapshot,
                owner,
                session,
                &restored(&yielded.ended),
                &Asked::Rules,
            )?);
        }
        let ran: Vec<Ran> = readings.iter().map(Reading::ran).collect();
        let now = self.now();
        let spent: Vec<(Scope, usize)> = if state.day == day_of(now) {
            state.spent.iter().filter_map(|(key, count)| Some((Scope::from_key(key)?, *count))).collect()
        } else {
            Vec::new()
        };
        let caps = Caps::default();
        let input = PlanInput {
            existing: &existing,
            candidates: &findings,
            ended: &ended,
            ran: &ran,
            spent: &spent,
            taken_back,
            now,
            caps: &caps,
            take_apart: &|text| self.inner.known_facts.parts(text),
        };
        let mut made = plan(&input, &mut || self.new_memory_id());
        let mut forgotten = BTreeSet::new();
        for change in made.changes.iter().filter(|change| change.after.is_pattern()) {
            let place = change.after.scope.project();
            if self.is_forgotten(snapshot, owner, place, &change.after.title, Origin::Agent)? {
                forgotten.insert(change.after.id.clone());
            }
        }
        made.changes.retain(|change| !forgotten.contains(&change.after.id));
        Ok(made)
    }
}

fn dreamed(choice: &Choice, outcome: SessionOutcome, reason: &str) -> DreamedSession {
    DreamedSession {
        session: choice.key.session.clone(),
        project: choice.project.clone(),
        outcome,
        reason: reason.to_owned(),
    }
}

/// Each changed record as the plan leaves it.
pub(crate) fn last_states(made: &Plan) -> Vec<Memory> {
    let mut last: BTreeMap<&str, &Memory> = BTreeMap::new();
    for change in &made.changes {
        last.insert(change.after.id.as_str(), &change.after);
    }
    last.into_values().cloned().collect()
}

/// Counts a sweep that ended.
fn note(
    state: &mut super::state::SweepState,
    dream: &Dream,
    request: &DreamRequest,
    made: &Plan,
    random: [u8; 10],
) {
    let day = day_of(dream.ended_at);
    if state.day != day {
        state.day = day;
        state.spent.clear();
    }
    for (scope, count) in &made.spent {
        *state.spent.entry(scope.key()).or_default() += count;
    }
    state.last_run = Some(dream.started_at);
    state.last_result = Some(dream.result.to_string());
    state.failed = 0;
    // A sweep that had nothing to read; one that a person asked for tells nothing of the next.
    if !request.by_hand {
        state.empty = if dream.sessions.is_empty() { state.empty.saturating_add(1) } else { 0 };
    }
    let [a, b, c, d, ..] = random;
    state.random = u32::from_be_bytes([a, b, c, d]);
}

/// The sweeps that leave a journal, the newest first, so that it stays within its bound: of those that changed nothing only
/// the newest stay, since what a person took back is remembered by the others.
fn superfluous(journal: Vec<Dream>) -> Vec<DreamId> {
    let (mut kept, mut idle) = (1, 0);
    let mut leaves = |dream: &Dream| {
        idle += usize::from(dream.changes.is_empty());
        let stays = kept < MAX_DREAMS && (idle <= MAX_IDLE_DREAMS || !dream.changes.is_empty());
        kept += usize::from(stays);
        !stays
    };
    journal.into_iter().filter(|dream| leaves(dream)).map(|dream| dream.id).collect()
}

/// Why a sweep ran and what came of it.
fn why(request: &DreamRequest, reason: &str) -> String {
    let because = if request.because.is_empty() { "somebody asked for it" } else { &request.because };
    format!("it ran because {because}: {reason}")
}

/// What was left alone, as the journal keeps it.
fn told_of(left: &LeftAlone) -> LeftAlone {
    let clean = text::one_line(&left.title);
    let redacted = redact::redact(&clean);
    let title = text::cut_ellipsis(redacted.text.trim(), MAX_TITLE_TOLD).into_owned();
    LeftAlone { title, ..left.clone() }
}

fn reason(read: usize, failed: usize, made: &Plan) -> String {
    let changes = text::count(steps(&made.changes) as u64, "change");
    let left = text::count(made.left_alone.len() as u64, "finding");
    let sessions = text::count(read as u64, "session");
    match (read, made.changes.len(), made.left_alone.len()) {
        (0, 0, _) if failed > 0 => {
            format!("{} could not be read and wait for a later sweep", text::count(failed as u64, "session"))
        }
        (0, 0, _) => "no session has anything new".to_owned(),
        (_, 0, 0) => format!("{sessions} read, nothing worth keeping"),
        (_, 0, _) => format!("{sessions} read, {left} left alone"),
        (_, _, 0) => format!("{sessions} read, {changes}"),
        (_, _, _) => format!("{sessions} read, {changes}, {left} left alone"),
    }
}

impl Engine {
    /// Notes a sweep that broke off, so that the next one waits longer.
    pub fn note_failed_dream(&self, owner: &OwnerId, at: Timestamp, why: &str) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let mut state = self.sweep_state(&snapshot, owner)?;
        state.last_run = Some(at);
        state.last_result = Some(DreamResult::Failed.to_string());
        state.last_why = Some(format!("it broke off: {why}"));
        state.failed = state.failed.saturating_add(1);
        let value = encoded(&state)?;
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(Family::Setting, SWEEP_STATE, value))?;
        Ok(())
    }
}
