//! Backups, tidying, the change log for outsiders, and what became of a session's extraction.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use doze_core::model::{Memory, MemoryId, OwnerId, Session, hex};
use doze_store::{BackupError, ChangeSet, Changed, Family, LoggedChange, Snapshot, Subject};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::commit::is_learned_in;
use crate::{Engine, EngineError, Problem};

/// Injections, and lines of them, that are remembered.
const MAX_INJECTIONS: usize = 2_000;
const MAX_SHOWN_LINES: usize = 400_000;
/// Work states that are kept, and how long after they were told last.
const MAX_WORKS: usize = 5_000;
const MAX_WORK_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Bytes of a store that is compacted at an orderly end: a second's work.
const MAX_COMPACTED_AT_THE_END: u64 = 128 << 20;
/// The setting that says that a compaction is due.
const FREED: &str = "compaction_due";

/// A backup that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its length.
    pub bytes: u64,
    /// The last change in it.
    pub seq: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// One change as outsiders hear of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventItem {
    /// Its number; changes made together share one.
    pub seq: u64,
    /// `memory`, `session`, `project` or `dream`.
    pub record: &'static str,
    /// `put` or `delete`.
    pub op: &'static str,
    /// Which one.
    pub id: String,
}

/// A part of the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// The changes.
    pub items: Vec<EventItem>,
    /// The number to go on from.
    pub next: u64,
    /// Changes before these are gone from the log.
    pub missed: bool,
}

/// How the extraction of a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// `queued`, `running`, `done`, `empty`, `skipped` or `failed`.
    pub state: String,
    /// Why, in one sentence; empty when done.
    pub reason: String,
    /// Who extracts.
    pub extractor: String,
    /// The memories learned from it.
    pub memories: Vec<MemoryId>,
}

impl Engine {
    /// Writes a consistent copy of the store to a new file.
    pub fn backup(&self, to: &Path) -> Result<Backup, EngineError> {
        let failed =
            || EngineError::new(Problem::Unavailable, format!("cannot write the backup {}", to.display()));
        if !to.is_absolute() {
            return Err(EngineError::invalid("path must be absolute: the daemon stands elsewhere"));
        }
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| failed().caused_by(error))?;
        }
        let seq = self.store().backup(to).map_err(|error| match error {
            BackupError::Exists(path) => EngineError::refused(format!("{} exists already", path.display()))
                .hint("name another file; one that ends in .part is left of a backup that broke off"),
            error => failed().caused_by(error),
        })?;
        let mut file = std::fs::File::open(to).map_err(|error| failed().caused_by(error))?;
        let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 64 * 1024]);
        loop {
            let read = file.read(&mut buffer).map_err(|error| failed().caused_by(error))?;
            if read == 0 {
                return Ok(Backup { bytes, seq, sha256: hex(&hash.finalize()) });
            }
            hash.update(&buffer[..read]);
            bytes += read as u64;
        }
    }

    /// The owner's changes after a number.
    pub fn events_since(&self, owner: &OwnerId, since: u64, limit: usize) -> Result<EventPage, EngineError> {
        let snapshot = self.store().snapshot()?;
        let missed = snapshot.oldest_change()? > since.saturating_add(1);
        let mut items = Vec::new();
        let mut next = since;
        while items.len() < limit {
            let changes = snapshot.changes(next, limit)?;
            let Some(last) = changes.last().map(|change| change.seq) else { break };
            items.extend(changes.into_iter().filter(|change| change.owner == *owner).filter_map(item));
            next = last;
        }
        Ok(EventPage { items, next, missed })
    }

    /// How the extraction of each of these sessions stands, in their order.
    pub fn extractions_of(
        &self,
        owner: &OwnerId,
        sessions: &[Session],
    ) -> Result<Vec<Extraction>, EngineError> {
        let snapshot = self.store().snapshot()?;
        let mut learned: HashMap<&str, Vec<Memory>> =
            sessions.iter().map(|session| (session.key.session.as_str(), Vec::new())).collect();
        for scope in snapshot.scopes(owner)? {
            for memory in snapshot.memories(owner, &scope)? {
                let from = memory.source.session.as_deref().unwrap_or_default();
                if let Some(memories) = learned.get_mut(from) {
                    memories.push(memory);
                }
            }
        }
        let stands = |session: &Session| {
            // Sessions of two harnesses may have one name.
            let named = learned.get(session.key.session.as_str()).into_iter().flatten();
            let memories = named.filter(|memory| is_learned_in(memory, session));
            let memories = memories.map(|memory| memory.id.clone()).collect();
            self.extraction_with(&snapshot, owner, session, memories)
        };
        sessions.iter().map(stands).collect()
    }

    /// How the extraction of a session from which these memories were learned stands.
    fn extraction_with(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
        memories: Vec<MemoryId>,
    ) -> Result<Extraction, EngineError> {
        if let Some(outcome) = self.job_outcome(snapshot, owner, &session.key)? {
            let (state, reason, extractor) = (outcome.state, outcome.reason, outcome.extractor);
            return Ok(Extraction { state, reason, extractor, memories });
        }
        let checkpoint = self.dreamt(snapshot, owner, &session.key)?;
        let (state, reason) = if !session.kind.is_learned_from() {
            ("skipped", format!("{} sessions are not learned from", session.kind))
        } else if checkpoint.ordinal < session.event_count {
            ("queued", "a dream will read it".to_owned())
        } else if memories.is_empty() {
            ("empty", "nothing worth keeping was found".to_owned())
        } else {
            ("done", String::new())
        };
        let extractor = self.dream_ledger(&session.key).to_owned();
        Ok(Extraction { state: state.to_owned(), reason, extractor, memories })
    }
}

impl Engine {
    /// For times when nobody is at work: gives back memory that is only worth holding while somebody is.
    pub fn rest(&self) {
        self.inner.known_facts.rest();
    }

    /// Upkeep for quiet times: keeps the history within its bounds (`R6`) and gives the space of what was deleted
    /// back to the disk. Answers how many sessions went.
    pub fn tidy(&self, owner: &OwnerId) -> Result<u64, EngineError> {
        let dropped = self.shorten_history(owner)?;
        self.shorten_shown(owner)?;
        self.drop_old_works(owner)?;
        // What a crash left there goes, also while no sweep runs.
        self.write_workspaces(owner);
        if dropped > 0 || self.owes_compaction(owner)? {
            self.compact(owner)?;
        }
        Ok(dropped)
    }

    /// What an orderly end still does: a store of ordinary size gives up the pages that hold what was forgotten, so that
    /// nobody finds it in the file of a program that has ended. A large one does so in the first quiet time after the next
    /// start: an end may not take long.
    pub fn leave_nothing_forgotten(&self, owner: &OwnerId) -> Result<(), EngineError> {
        let size = std::fs::metadata(&self.inner.options.store).map_or(0, |file| file.len());
        if size <= MAX_COMPACTED_AT_THE_END && self.owes_compaction(owner)? {
            self.compact(owner)?;
        }
        Ok(())
    }

    fn compact(&self, owner: &OwnerId) -> Result<(), EngineError> {
        match self.store().compact() {
            Ok(_) => {
                self.store().apply(ChangeSet::new(owner.clone()).delete_aux(Family::Setting, FREED))?;
            }
            Err(error) => {
                tracing::debug!(%error, "the store was not compacted; the next quiet time tries again")
            }
        }
        Ok(())
    }

    /// Notes that something was deleted whose pages still hold its words: they go with the compaction that follows when
    /// idle, also after a restart.
    pub(crate) fn owe_compaction(&self, owner: &OwnerId) -> Result<(), EngineError> {
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(Family::Setting, FREED, Vec::new()))?;
        Ok(())
    }

    fn owes_compaction(&self, owner: &OwnerId) -> Result<bool, EngineError> {
        Ok(self.store().snapshot()?.aux(owner, Family::Setting, FREED)?.is_some())
    }

    /// Drops the work states nobody has told anything of for long, and beyond a number the oldest.
    fn drop_old_works(&self, owner: &OwnerId) -> Result<(), EngineError> {
        let oldest = self.now().checked_sub(MAX_WORK_AGE).unwrap_or(Timestamp::MIN);
        self.decide("work states keep changing", |snapshot| {
            let mut works = snapshot.works(owner)?;
            works.sort_by_key(|work| std::cmp::Reverse(work.updated_at));
            let mut set = ChangeSet::new(owner.clone());
            for (n, work) in works.into_iter().enumerate() {
                if n >= MAX_WORKS || work.updated_at < oldest {
                    let (agent, project, session) = (work.agent.id, work.project, work.session);
                    let subject = Subject::Work(agent.clone(), project.clone(), session.clone());
                    set = set.expect_seen(snapshot, subject)?.clear_work(agent, project, session);
                }
            }
            Ok((set, ()))
        })
    }

    /// Keeps the record of what was injected within its bounds, the oldest go first.
    fn shorten_shown(&self, owner: &OwnerId) -> Result<(), EngineError> {
        for (family, most) in [(Family::Injection, MAX_INJECTIONS), (Family::Shown, MAX_SHOWN_LINES)] {
            let mut records = self.store().snapshot()?.aux_scan(owner, family, "")?;
            if records.len() <= most {
                continue;
            }
            records.sort_by_cached_key(|(_, bytes)| std::cmp::Reverse(crate::recall::shown_at(bytes)));
            let set = records
                .into_iter()
                .skip(most)
                .fold(ChangeSet::new(owner.clone()), |set, (key, _)| set.delete_aux(family, key));
            self.store().apply(set)?;
        }
        Ok(())
    }
}

fn item(change: LoggedChange) -> Option<EventItem> {
    let (record, op, id) = match change.what {
        Changed::Memory(id) => ("memory", "put", id.to_string()),
        Changed::MemoryGone(id) => ("memory", "delete", id.to_string()),
        Changed::Session(key) => ("session", "put", key.session),
        Changed::SessionGone(key) => ("session", "delete", key.session),
        Changed::Project(id) => ("project", "put", id.to_string()),
        Changed::ProjectGone(id) => ("project", "delete", id.to_string()),
        Changed::Dream(id) => ("dream", "put", id.to_string()),
        Changed::Events { .. } | Changed::EventReplaced { .. } | Changed::Vectors { .. } | Changed::Other => {
            return None;
        }
    };
    Some(EventItem { seq: change.seq, record, op, id })
}
