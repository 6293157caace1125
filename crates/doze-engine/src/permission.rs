//! What an agent may do in a project without asking, as its hooks told last, and what it was shown by a tool.

use doze_core::model::{OwnerId, Permission};
use doze_store::{ChangeSet, Family};

use crate::recall::{Reader, Told};
use crate::{Engine, EngineError};

impl Engine {
    /// Notes the `permission_mode` of a hook. Costs a write only when it changed.
    pub fn note_permission(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
        mode: &str,
    ) -> Result<(), EngineError> {
        let Some(key) = self.permission_key(owner, reader, harness)? else { return Ok(()) };
        let word = Permission::of_harness(mode).as_str().as_bytes();
        if self.store().snapshot()?.aux(owner, Family::Setting, &key)?.as_deref() != Some(word) {
            self.store().apply_soon(ChangeSet::new(owner.clone()).put_aux(Family::Setting, key, word))?;
        }
        Ok(())
    }

    /// What hooks of a harness told last of a project.
    pub fn permission(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
    ) -> Result<Option<Permission>, EngineError> {
        let Some(key) = self.permission_key(owner, reader, harness)? else { return Ok(None) };
        let bytes = self.store().snapshot()?.aux(owner, Family::Setting, &key)?;
        Ok(bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok()?.parse().ok()))
    }

    fn permission_key(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        harness: &str,
    ) -> Result<Option<String>, EngineError> {
        let place = self.place_of_reader(owner, reader)?;
        let project = place.as_ref().and_then(|place| place.id()).cloned();
        Ok(project.map(|project| format!("permission\0{project}\0{}", crate::names::safe_name(harness))))
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
