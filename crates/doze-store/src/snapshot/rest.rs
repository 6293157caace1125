//! Projects, work states, dreams, bookkeeping.

use std::ops::ControlFlow;

use doze_core::model::{AgentId, Dream, DreamId, OwnerId, Project, ProjectId, WorkState};

use super::Snapshot;
use crate::change::Family;
use crate::envelope::{Damage, unseal, unseal_record};
use crate::error::ReadError;
use crate::quarantine::guarded_read;
use crate::tables::{ALIASES, AUX, DREAMS, PROJECTS, WORKS};

impl Snapshot {
    /// A project.
    pub fn project(&self, owner: &OwnerId, id: &ProjectId) -> Result<Option<Project>, ReadError> {
        let own = |project: &Project| project.owner == *owner && project.id == *id;
        self.record(PROJECTS, (owner.as_str(), id.as_str()), own)
    }

    /// All projects of an owner.
    pub fn projects(&self, owner: &OwnerId) -> Result<Vec<Project>, ReadError> {
        let mut projects = Vec::new();
        let read = |(o, id): (&str, &str), value: &[u8]| {
            if o != owner.as_str() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(unseal_record::<Project>(value).map_err(|damage| (id.to_owned(), damage)))
        };
        self.scan(PROJECTS, (owner.as_str(), ""), read, |project| {
            match project {
                Ok(project) => projects.push(project),
                Err((id, damage)) => {
                    self.quarantine.add("projects", format!("{:?}", (owner.as_str(), id)), &damage);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(projects)
    }

    /// The project that has this alias.
    pub fn project_by_alias(&self, owner: &OwnerId, alias: &str) -> Result<Option<Project>, ReadError> {
        let key = (owner.as_str(), alias);
        let id = self.decoded(ALIASES, key, format!("{key:?}"), |value| {
            let id = unseal(value)?.to_vec();
            String::from_utf8(id).map_err(|error| Damage::Shape(error.to_string()))
        })?;
        let Some(id) = id else { return Ok(None) };
        self.project(owner, &ProjectId::from(id))
    }

    /// The work state of an agent in a project and session.
    pub fn work(
        &self,
        owner: &OwnerId,
        agent: &AgentId,
        project: Option<&ProjectId>,
        session: Option<&str>,
    ) -> Result<Option<WorkState>, ReadError> {
        let project = project.map_or("", ProjectId::as_str);
        let key = (owner.as_str(), agent.as_str(), project, session.unwrap_or(""));
        self.record(WORKS, key, |work: &WorkState| work.owner == *owner && work.agent.id == *agent)
    }

    /// All work states of an owner.
    pub fn works(&self, owner: &OwnerId) -> Result<Vec<WorkState>, ReadError> {
        let mut works = Vec::new();
        let read = |(o, agent, project, session): (&str, &str, &str, &str), value: &[u8]| {
            if o != owner.as_str() {
                return ControlFlow::Break(());
            }
            let work = unseal_record::<WorkState>(value);
            ControlFlow::Continue(
                work.map_err(|damage| (format!("{:?}", (o, agent, project, session)), damage)),
            )
        };
        self.scan(WORKS, (owner.as_str(), "", "", ""), read, |work| {
            match work {
                Ok(work) => works.push(work),
                Err((key, damage)) => self.quarantine.add("works", key, &damage),
            }
            ControlFlow::Continue(())
        })?;
        Ok(works)
    }

    /// A dream.
    pub fn dream(&self, owner: &OwnerId, id: &DreamId) -> Result<Option<Dream>, ReadError> {
        let own = |dream: &Dream| dream.owner == *owner && dream.id == *id;
        self.record(DREAMS, (owner.as_str(), id.as_str()), own)
    }

    /// The newest dreams of an owner, newest first: their ids, which begin with the time, decide.
    pub fn dreams(&self, owner: &OwnerId, limit: usize) -> Result<Vec<Dream>, ReadError> {
        self.dreams_before(owner, None, limit)
    }

    /// As [`Snapshot::dreams`], those that are older than one.
    pub fn dreams_before(
        &self,
        owner: &OwnerId,
        before: Option<&DreamId>,
        limit: usize,
    ) -> Result<Vec<Dream>, ReadError> {
        let table = self.table(DREAMS)?;
        // The smallest owner name that is greater: everything before it and from the owner on is the owner's.
        let next_owner = format!("{}\0", owner.as_str());
        let end = match before {
            Some(before) => (owner.as_str(), before.as_str()),
            None => (next_owner.as_str(), ""),
        };
        let mut rows = guarded_read(|| Ok(table.range::<(&str, &str)>((owner.as_str(), "")..end)?))?;
        let mut dreams = Vec::new();
        while dreams.len() < limit {
            let id = guarded_read(|| match rows.next_back() {
                None => Ok(None),
                Some(row) => Ok(Some(DreamId::new(row?.0.value().1))),
            })?;
            let Some(id) = id else { break };
            dreams.extend(self.dream(owner, &id)?);
        }
        Ok(dreams)
    }

    /// The ids of an owner's dreams, oldest first.
    pub fn dream_ids(&self, owner: &OwnerId) -> Result<Vec<DreamId>, ReadError> {
        let mut ids = Vec::new();
        let read = |(o, id): (&str, &str), _: &[u8]| {
            if o == owner.as_str() { ControlFlow::Continue(DreamId::new(id)) } else { ControlFlow::Break(()) }
        };
        self.scan(DREAMS, (owner.as_str(), ""), read, |id| {
            ids.push(id);
            ControlFlow::Continue(())
        })?;
        Ok(ids)
    }

    /// The bytes of a bookkeeping record.
    pub fn aux(&self, owner: &OwnerId, family: Family, key: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let key = (owner.as_str(), family.as_str(), key);
        self.decoded(AUX, key, format!("{key:?}"), |value| unseal(value).map(<[u8]>::to_vec))
    }

    /// The bookkeeping records of a family whose keys begin with `prefix`, in the order of their keys.
    pub fn aux_scan(
        &self,
        owner: &OwnerId,
        family: Family,
        prefix: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, ReadError> {
        let mut found = Vec::new();
        let here = (owner.as_str(), family.as_str());
        let read = |(o, word, key): (&str, &str, &str), value: &[u8]| {
            if (o, word) != here || !key.starts_with(prefix) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue((key.to_owned(), unseal(value).map(<[u8]>::to_vec)))
        };
        self.scan(AUX, (here.0, here.1, prefix), read, |(key, value)| {
            match value {
                Ok(value) => found.push((key, value)),
                Err(damage) => self.quarantine.add("aux", format!("{:?}", (here.0, here.1, key)), &damage),
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}
