//! Projects, work states, dreams, bookkeeping, vectors.

use redb::{ReadableTable, StorageError};

use super::Writing;
use crate::change::{Family, Subject, work_subject};
use crate::envelope::{seal, unseal};
use crate::stored::{aliases, remove_alias};
use crate::tables::COUNT_PROJECTS;

impl Writing<'_, '_> {
    pub(super) fn put_project(&mut self, id: &str, new: &[String], value: &[u8]) -> Result<(), StorageError> {
        if !self.drop_aliases(id)? {
            self.count(COUNT_PROJECTS, 1);
        }
        self.tables.projects.insert((self.owner, id), value)?;
        let sealed = seal(id.as_bytes());
        for alias in new {
            let before = match self.tables.aliases.insert((self.owner, alias.as_str()), sealed.as_slice())? {
                None => None,
                Some(before) => {
                    unseal(before.value()).ok().map(|id| String::from_utf8_lossy(id).into_owned())
                }
            };
            if let Some(before) = before.filter(|before| before != id) {
                self.take_alias_from(&before, alias)?;
            }
        }
        self.touch(Subject::Projects.key());
        Ok(())
    }

    pub(super) fn delete_project(&mut self, id: &str) -> Result<(), StorageError> {
        if !self.drop_aliases(id)? {
            return Ok(());
        }
        self.tables.projects.remove((self.owner, id))?;
        self.count(COUNT_PROJECTS, -1);
        self.touch(Subject::Projects.key());
        Ok(())
    }

    /// Takes the aliases of a project out of the table; answers whether there was such a project.
    fn drop_aliases(&mut self, id: &str) -> Result<bool, StorageError> {
        let old = match self.tables.projects.get((self.owner, id))? {
            None => return Ok(false),
            Some(old) => aliases(old.value()),
        };
        let old = old.unwrap_or_else(|damage| {
            self.quarantine.add("projects", format!("{} {id}", self.owner), &damage);
            Vec::new()
        });
        for alias in old {
            let key = (self.owner, alias.as_str());
            let ours = match self.tables.aliases.get(key)? {
                None => false,
                Some(target) => unseal(target.value()).is_ok_and(|target| target == id.as_bytes()),
            };
            if ours {
                self.tables.aliases.remove(key)?;
            }
        }
        Ok(true)
    }

    /// Another project had the alias: it loses it, in its record too.
    fn take_alias_from(&mut self, id: &str, alias: &str) -> Result<(), StorageError> {
        let without = match self.tables.projects.get((self.owner, id))? {
            None => return Ok(()),
            Some(project) => remove_alias(project.value(), alias),
        };
        match without {
            Ok(value) => drop(self.tables.projects.insert((self.owner, id), value.as_slice())?),
            Err(damage) => self.quarantine.add("projects", format!("{} {id}", self.owner), &damage),
        }
        Ok(())
    }

    pub(super) fn put_work(
        &mut self,
        agent: &str,
        project: &str,
        session: &str,
        value: &[u8],
    ) -> Result<(), StorageError> {
        self.tables.works.insert((self.owner, agent, project, session), value)?;
        self.touch(work_subject(agent, project, session));
        Ok(())
    }

    pub(super) fn clear_work(
        &mut self,
        agent: &str,
        project: &str,
        session: &str,
    ) -> Result<(), StorageError> {
        self.tables.works.remove((self.owner, agent, project, session))?;
        self.untouch(work_subject(agent, project, session));
        Ok(())
    }

    pub(super) fn put_dream(&mut self, id: &str, value: &[u8]) -> Result<(), StorageError> {
        self.tables.dreams.insert((self.owner, id), value)?;
        self.touch(Subject::Dreams.key());
        Ok(())
    }

    pub(super) fn delete_dream(&mut self, id: &str) -> Result<(), StorageError> {
        self.tables.dreams.remove((self.owner, id))?;
        self.touch(Subject::Dreams.key());
        Ok(())
    }

    pub(super) fn put_aux(&mut self, family: Family, key: &str, value: &[u8]) -> Result<(), StorageError> {
        self.tables.aux.insert((self.owner, family.as_str(), key), value)?;
        self.touch(Subject::Aux(family, key.to_owned()).key());
        Ok(())
    }

    pub(super) fn delete_aux(&mut self, family: Family, key: &str) -> Result<(), StorageError> {
        self.tables.aux.remove((self.owner, family.as_str(), key))?;
        self.untouch(Subject::Aux(family, key.to_owned()).key());
        Ok(())
    }

    pub(super) fn put_vectors(&mut self, doc: &str, model: &str, value: &[u8]) -> Result<(), StorageError> {
        self.tables.vectors.insert((self.owner, doc, model), value)?;
        Ok(())
    }

    pub(super) fn delete_vectors(&mut self, doc: &str) -> Result<(), StorageError> {
        let mut models = Vec::new();
        for row in self.tables.vectors.range((self.owner, doc, "")..)? {
            let (row, _) = row?;
            let (owner, other, model) = row.value();
            if (owner, other) != (self.owner, doc) {
                break;
            }
            models.push(model.to_owned());
        }
        for model in models {
            self.tables.vectors.remove((self.owner, doc, model.as_str()))?;
        }
        Ok(())
    }
}
