//! What an agent may do in a project without asking, as the hooks of its sessions tell, and what it was shown by a tool.

use doze_core::model::{OwnerId, Permission, ProjectId, SessionKey};
use doze_store::{ChangeSet, Family, ReadError, Snapshot};
use jiff::{SignedDuration, Timestamp};

use crate::names::{check_name, safe_name};
use crate::recall::{Reader, Told};
use crate::{Engine, EngineError};

/// A mode counts for so long after its session was last heard of.
const COUNTS: SignedDuration = SignedDuration::from_hours(12);
/// A session that goes on is noted again after so long, so that not every hook costs a write.
const NOTED_AGAIN: SignedDuration = SignedDuration::from_mins(5);
/// Modes kept for one project and harness; the most careful and then the newest stay.
const MAX_MODES: usize = 256;

/// The mode that a session's hooks told.
struct Mode {
    key: String,
    harness: String,
    session: String,
    mode: Permission,
    at: Timestamp,
}

impl Mode {
    /// Reads a record: the mode and when it was told. What has another form was written by an earlier version, for all
    /// sessions at once, and counts for none.
    fn read(prefix: &str, key: String, value: &[u8]) -> Option<Self> {
        let (mode, at) = std::str::from_utf8(value).ok()?.split_once(' ')?;
        let (harness, session) = key.strip_prefix(prefix)?.split_once('\0')?;
        let (harness, session) = (harness.to_owned(), session.to_owned());
        Some(Self { key, harness, session, mode: mode.parse().ok()?, at: at.parse().ok()? })
    }
}

/// How the keys of a project's modes begin.
pub(crate) fn modes_prefix(project: &ProjectId) -> String {
    format!("permission\0{project}\0")
}

impl Engine {
    /// Notes the `permission_mode` that a hook of a session tells. Costs a write only when it changed, or a few minutes
    /// after the last one.
    pub fn note_permission(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
        session: &str,
        mode: &str,
    ) -> Result<(), EngineError> {
        check_name("session", session)?;
        let Some(prefix) = self.prefix_of(owner, reader)? else { return Ok(()) };
        let (now, session, mode) = (self.now(), safe_name(session), Permission::of_harness(mode));
        let harness = safe_name(harness);
        let snapshot = self.store().snapshot()?;
        let (mut live, dead) = self.modes(&snapshot, owner, &prefix, &harness)?;
        let known = live.iter().position(|known| known.session == session).map(|at| live.swap_remove(at));
        if known.is_some_and(|known| known.mode == mode && now.duration_since(known.at).abs() < NOTED_AGAIN) {
            return Ok(());
        }
        live.sort_by_key(|other| (other.mode, std::cmp::Reverse(other.at)));
        let surplus = live.into_iter().skip(MAX_MODES - 1).map(|other| other.key);
        let mut set = ChangeSet::new(owner.clone());
        for key in surplus.chain(dead) {
            set = set.delete_aux(Family::Setting, key);
        }
        let value = format!("{mode} {now}");
        let key = format!("{prefix}{harness}\0{session}");
        self.store().apply_soon(set.put_aux(Family::Setting, key, value))?;
        Ok(())
    }

    /// What an agent of a harness may do in a project, and where the harness is unknown (empty) one of any. Nobody tells a
    /// tool which session it is called in, so of several that go on the most careful mode holds; `None` when none does.
    pub fn permission(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
    ) -> Result<Option<Permission>, EngineError> {
        let Some(prefix) = self.prefix_of(owner, reader)? else { return Ok(None) };
        let (live, _) = self.modes(&self.store().snapshot()?, owner, &prefix, &safe_name(harness))?;
        Ok(live.into_iter().map(|told| told.mode).min())
    }

    /// The modes of a harness that count, all of them when it is empty, and the keys of the records that do not.
    fn modes(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        prefix: &str,
        harness: &str,
    ) -> Result<(Vec<Mode>, Vec<String>), ReadError> {
        let (mut live, mut dead) = (Vec::new(), Vec::new());
        let of_harness = if harness.is_empty() { prefix.to_owned() } else { format!("{prefix}{harness}\0") };
        for (key, value) in snapshot.aux_scan(owner, Family::Setting, &of_harness)? {
            match Mode::read(prefix, key.clone(), &value) {
                Some(told) if self.counts(snapshot, owner, &told)? => live.push(told),
                _ => dead.push(key),
            }
        }
        Ok((live, dead))
    }

    /// Whether a session was heard of lately and has not ended since it told its mode.
    fn counts(&self, snapshot: &Snapshot, owner: &OwnerId, told: &Mode) -> Result<bool, ReadError> {
        if self.now().duration_since(told.at).abs() >= COUNTS {
            return Ok(false);
        }
        let key = SessionKey::new(told.session.clone(), told.harness.clone());
        let session = snapshot.session(owner, &key)?;
        Ok(!session.is_some_and(|session| session.ended.is_some() && session.heard_at >= told.at))
    }

    fn prefix_of(&self, owner: &OwnerId, reader: &Reader) -> Result<Option<String>, EngineError> {
        let place = self.place_of_reader(owner, reader)?;
        Ok(place.as_ref().and_then(|place| place.id()).map(modes_prefix))
    }

    /// Why memory neither tells nor takes anything here, if so: it is off, paused, or the project is ignored.
    pub fn refusal(&self, owner: &OwnerId, reader: &Reader) -> Result<Option<String>, EngineError> {
        if !self.switches().memory_enabled {
            return Ok(Some("memory is off".to_owned()));
        }
        if self.paused_until(owner)?.is_some() {
            return Ok(Some("doze is paused".to_owned()));
        }
        let place = self.place_of_reader(owner, reader)?;
        let is_ignored = place.and_then(|place| place.project).is_some_and(|project| project.ignored);
        Ok(is_ignored.then(|| "the project is ignored".to_owned()))
    }

    /// Whether memory is on (S1.37).
    pub fn is_memory_on(&self) -> bool {
        self.switches().memory_enabled
    }

    /// Remembers what a tool put before an agent, so that it is never learned from it again (`R17`).
    pub fn note_shown(&self, owner: &OwnerId, reader: &Reader, told: &Told) -> Result<(), EngineError> {
        match self.place_of_reader(owner, reader)? {
            Some(place) if !told.text.is_empty() => self.remember_injection(owner, None, &place, told),
            _ => Ok(()),
        }
    }
}
