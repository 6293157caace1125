//! Sessions, and everything that goes with one when it is deleted.

use doze_core::model::{SessionKey, WorkState};
use redb::{ReadableTable, StorageError};

use super::Writing;
use crate::change::{Family, Subject, session_aux_key, work_subject};
use crate::envelope::{unseal_json, unseal_record};
use crate::stored::SessionFacts;
use crate::tables::COUNT_SESSIONS;

impl Writing<'_, '_> {
    pub(super) fn put_session(
        &mut self,
        key: &SessionKey,
        facets: &[String; 4],
        down: u64,
        value: &[u8],
    ) -> Result<(), StorageError> {
        let (owner, name, harness) = (self.owner, key.session.as_str(), key.harness.as_str());
        let old = self
            .tables
            .sessions
            .insert((owner, name, harness), value)?
            .map(|old| unseal_json::<SessionFacts>(old.value()));
        match old {
            None => self.count(COUNT_SESSIONS, 1),
            Some(Ok(old)) if old.entries() == (facets.clone(), down) => {
                self.touch(Subject::Session(key.clone()).key());
                return Ok(());
            }
            Some(Ok(old)) => self.remove_times(key, &old)?,
            Some(Err(damage)) => {
                self.quarantine.add("sessions", format!("{owner} {name} {harness}"), &damage)
            }
        }
        for facet in facets {
            self.tables.session_times.insert((owner, facet.as_str(), down, name, harness), ())?;
        }
        self.touch(Subject::Session(key.clone()).key());
        Ok(())
    }

    fn remove_times(&mut self, key: &SessionKey, facts: &SessionFacts) -> Result<(), StorageError> {
        let (facets, down) = facts.entries();
        for facet in &facets {
            let entry = (self.owner, facet.as_str(), down, key.session.as_str(), key.harness.as_str());
            self.tables.session_times.remove(entry)?;
        }
        Ok(())
    }

    pub(super) fn delete_session(&mut self, key: &SessionKey) -> Result<(), StorageError> {
        let (owner, name, harness) = (self.owner, key.session.as_str(), key.harness.as_str());
        let old = self
            .tables
            .sessions
            .remove((owner, name, harness))?
            .map(|old| unseal_json::<SessionFacts>(old.value()));
        match &old {
            None => {}
            Some(Ok(facts)) => {
                self.remove_times(key, facts)?;
                self.count(COUNT_SESSIONS, -1);
            }
            Some(Err(damage)) => {
                self.quarantine.add("sessions", format!("{owner} {name} {harness}"), damage);
                self.count(COUNT_SESSIONS, -1);
            }
        }
        self.delete_events(key)?;
        self.delete_session_aux(key)?;
        self.delete_session_works(key, old.and_then(Result::ok).as_ref())?;
        self.untouch(Subject::Session(key.clone()).key());
        Ok(())
    }

    /// Bookkeeping of the session goes with it. What was forgotten stays known, and settings are no session's.
    fn delete_session_aux(&mut self, key: &SessionKey) -> Result<(), StorageError> {
        let prefix = session_aux_key(key, "");
        for family in
            Family::ALL.iter().filter(|family| !matches!(family, Family::Tombstone | Family::Setting))
        {
            let from = (self.owner, family.as_str(), prefix.as_str());
            let mut keys = Vec::<String>::new();
            for row in self.tables.aux.range(from..)? {
                let (row, _) = row?;
                let (owner, word, aux) = row.value();
                if (owner, word) != (self.owner, family.as_str()) || !aux.starts_with(&prefix) {
                    break;
                }
                keys.push(aux.to_owned());
            }
            for aux in keys {
                self.delete_aux(*family, &aux)?;
            }
        }
        Ok(())
    }

    /// The work states of the session. Another program's session of the same name has its own, and so has another
    /// agent's, or one of the same agent in another project, save the helpers of one harness.
    fn delete_session_works(
        &mut self,
        key: &SessionKey,
        facts: Option<&SessionFacts>,
    ) -> Result<(), StorageError> {
        let is_helper = |agent: &str| {
            let rest = agent.strip_prefix(key.harness.as_str()).filter(|_| !key.harness.is_empty());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut gone = Vec::new();
        for row in self.tables.works.range((self.owner, "", "", "")..)? {
            let (row, value) = row?;
            let (owner, agent, project, session) = row.value();
            if owner != self.owner {
                break;
            }
            let same_program = || {
                unseal_record::<WorkState>(value.value()).map_or(true, |work| {
                    let harness = &work.agent.harness;
                    harness.is_empty() || key.harness.is_empty() || *harness == key.harness
                })
            };
            let same_agent = is_helper(agent) || facts.is_none_or(|facts| facts.is_of(agent, project));
            if session == key.session && same_agent && same_program() {
                gone.push((agent.to_owned(), project.to_owned()));
            }
        }
        for (agent, project) in gone {
            self.tables.works.remove((self.owner, agent.as_str(), project.as_str(), key.session.as_str()))?;
            self.untouch(work_subject(&agent, &project, &key.session));
        }
        Ok(())
    }
}
