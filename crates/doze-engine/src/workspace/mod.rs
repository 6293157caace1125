//! Workspaces: folders of the user's in which dreams leave what they learned as Markdown (S3.9, S3.10). A folder
//! becomes one only because somebody names it, and nothing is ever learned from these files.

mod outputs;
mod record;

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use doze_core::model::{Dream, DreamResult, LeftAlone, Mode, OwnerId, ProjectId};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;

use crate::names::{check_path, safe_name};
use crate::{Engine, EngineError, Problem, encoded, lock};
use record::Record;

/// What the keys of the records begin with.
const PREFIX: &str = "workspace:";
/// Workspaces of one owner.
const MAX_WORKSPACES: usize = 100;

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The folder, without links.
    pub path: String,
    /// The one form in which all is written; `None` for each in the form of its session's mode.
    pub mode: Option<Mode>,
    /// The project whose memories are written there, once doze knows it.
    pub project: Option<ProjectId>,
    /// When it was added.
    pub added_at: Timestamp,
    /// Entries of doze's own that stand there now.
    pub entries: u64,
    /// Why the last attempt to write failed; the next sweep tries again.
    pub problem: Option<String>,
}

impl Engine {
    /// Makes a folder a workspace, or gives one another mode. The first sweep after that writes to it.
    pub fn add_workspace(
        &self,
        owner: &OwnerId,
        path: &str,
        mode: Option<Mode>,
    ) -> Result<Workspace, EngineError> {
        let path = self.workspace_folder(path)?;
        let _one_at_a_time = lock(&self.inner.writing_workspaces);
        self.decide("the workspaces keep changing", |snapshot| {
            refuse_others(snapshot, owner, &path)?;
            let known = records(snapshot, owner)?;
            if known.len() >= MAX_WORKSPACES && known.iter().all(|record| record.path != path) {
                return Err(EngineError::invalid(format!("there are {MAX_WORKSPACES} workspaces already"))
                    .hint("take one out with `doze workspace remove`"));
            }
            let mut record = known
                .into_iter()
                .find(|record| record.path == path)
                .unwrap_or_else(|| Record::new(path.clone(), self.now()));
            record.mode = mode.map(|mode| mode.to_string());
            let set = ChangeSet::new(owner.clone()).expect_seen(snapshot, subject(&path))?;
            Ok((set.put_aux(Family::Setting, key(&path), encoded(&record)?), record))
        })
        .and_then(|record| self.workspace(owner, &record))
    }

    /// All workspaces, by their paths.
    pub fn workspaces(&self, owner: &OwnerId) -> Result<Vec<Workspace>, EngineError> {
        let records = records(&self.store().snapshot()?, owner)?;
        records.iter().map(|record| self.workspace(owner, record)).collect()
    }

    /// Writes nothing there any more. What stands there stays, and is the user's from now on.
    pub fn remove_workspace(&self, owner: &OwnerId, path: &str) -> Result<Workspace, EngineError> {
        check_path("path", path)?;
        // The folder itself may be gone.
        let real = Path::new(path).canonicalize().map_or_else(|_| path.to_owned(), |real| text_of(&real));
        let _one_at_a_time = lock(&self.inner.writing_workspaces);
        let record = self.decide("the workspaces keep changing", |snapshot| {
            let mut known = records(snapshot, owner)?;
            let at = known.iter().position(|record| record.path == real || record.path == path);
            let at = at
                .ok_or_else(|| EngineError::not_found("workspace", path).hint("see `doze workspace list`"))?;
            let record = known.swap_remove(at);
            Ok((ChangeSet::new(owner.clone()).delete_aux(Family::Setting, key(&record.path)), record))
        })?;
        self.workspace(owner, &record)
    }

    fn workspace(&self, owner: &OwnerId, record: &Record) -> Result<Workspace, EngineError> {
        Ok(Workspace {
            path: record.path.clone(),
            mode: record.mode(),
            project: self.known_project_of(owner, &record.path)?.id().cloned(),
            added_at: record.added_at,
            entries: record.entries(),
            problem: record.problem.clone(),
        })
    }

    /// The folder that a path names, if it may become a workspace.
    fn workspace_folder(&self, path: &str) -> Result<String, EngineError> {
        check_path("path", path)?;
        let given = Path::new(path);
        if !given.is_absolute() {
            return Err(EngineError::invalid("path is not a whole path"));
        }
        let real = given.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| EngineError::invalid(format!("{path} is no folder")))?;
        let refused =
            |why: &str| Err(EngineError::refused(format!("{path} {why}")).hint("name a folder of a project"));
        let folder = text_of(&real);
        if safe_name(&folder) != folder {
            return refused("has a name that holds a secret, or is no text");
        }
        let surroundings = &self.inner.options.surroundings;
        let is_shared =
            surroundings.home.as_deref() == Some(&*folder) || surroundings.temp_roots.contains(&folder);
        if is_shared || real.parent().is_none() {
            return refused("holds everything of yours, not one workspace");
        }
        if real.components().any(|part| part == Component::Normal(".git".as_ref())) {
            return refused("belongs to git");
        }
        let own = self.inner.options.store.parent().and_then(|data| data.canonicalize().ok());
        if own.is_some_and(|own| real == own) {
            return refused("belongs to doze itself");
        }
        let is_ours = real.metadata().is_ok_and(|folder| folder.uid() == rustix::process::geteuid().as_raw());
        if !is_ours {
            return refused("belongs to another user");
        }
        Ok(folder)
    }

    /// Brings what stands in the workspaces in line with the memories. Never fails: what could not be written is told
    /// in the log and by the workspace, and answered as path and reason.
    pub(crate) fn write_workspaces(&self, owner: &OwnerId) -> Vec<(String, String)> {
        let _one_at_a_time = lock(&self.inner.writing_workspaces);
        let known = self.store().snapshot().map_err(EngineError::from).and_then(|now| records(&now, owner));
        let known = known.unwrap_or_else(|error| {
            tracing::warn!(error = %crate::chain(&error), "The workspaces cannot be read");
            Vec::new()
        });
        let mut troubles = Vec::new();
        for record in known {
            let path = record.path.clone();
            if let Err(error) = self.write_workspace(owner, record) {
                tracing::warn!(error = %crate::chain(&error), workspace = path, "A workspace was not written");
                self.note_problem(owner, &path, &error.message);
                troubles.push((path, error.message));
            }
        }
        troubles
    }

    fn note_problem(&self, owner: &OwnerId, path: &str, problem: &str) {
        let noted = self.decide("the workspaces keep changing", |snapshot| {
            let mut set = ChangeSet::new(owner.clone()).expect_seen(snapshot, subject(path))?;
            let is_new = |record: &Record| record.path == path && record.problem.as_deref() != Some(problem);
            for mut record in records(snapshot, owner)?.into_iter().filter(is_new) {
                record.problem = Some(problem.to_owned());
                set = set.put_aux(Family::Setting, key(path), encoded(&record)?);
            }
            Ok((set, ()))
        });
        if let Err(error) = noted {
            tracing::warn!(error = %crate::chain(&error), workspace = path, "The problem was not noted");
        }
    }

    /// Writes the workspaces after a sweep, and what could not be written into its journal.
    pub(crate) fn write_dreamt(&self, owner: &OwnerId, mut dream: Dream) -> Dream {
        let troubles = self.write_workspaces(owner);
        // A sweep that found nothing would tell the same trouble again each time.
        if troubles.is_empty() || dream.result == DreamResult::Nothing {
            return dream;
        }
        let told = troubles.into_iter().map(|(path, why)| LeftAlone {
            title: format!("the workspace {path}"),
            project: None,
            reason: format!("{why}; the next sweep tries again"),
        });
        dream.left_alone.extend(told);
        let noted = self.decide("the journal keeps changing", |snapshot| {
            let set = ChangeSet::new(owner.clone()).expect_seen(snapshot, Subject::Dreams)?;
            let Some(mut kept) = snapshot.dream(owner, &dream.id)? else { return Ok((set, ())) };
            kept.left_alone.clone_from(&dream.left_alone);
            Ok((set.put_dream(kept), ()))
        });
        if let Err(error) = noted {
            tracing::warn!(error = %crate::chain(&error), "The journal does not tell what was not written");
        }
        dream
    }
}

/// No owner writes into another's workspace, nor round it.
fn refuse_others(snapshot: &Snapshot, owner: &OwnerId, path: &str) -> Result<(), EngineError> {
    for other in snapshot.owners()?.into_iter().filter(|other| other != owner) {
        for record in records(snapshot, &other)? {
            let (theirs, ours) = (Path::new(&record.path), Path::new(path));
            if theirs.starts_with(ours) || ours.starts_with(theirs) {
                return Err(EngineError::new(
                    Problem::Refused,
                    format!("{path} is a workspace of somebody else"),
                ));
            }
        }
    }
    Ok(())
}

fn records(snapshot: &Snapshot, owner: &OwnerId) -> Result<Vec<Record>, EngineError> {
    let found = snapshot.aux_scan(owner, Family::Setting, PREFIX)?;
    Ok(found.into_iter().filter_map(|(_, bytes)| serde_json::from_slice(&bytes).ok()).collect())
}

fn key(path: &str) -> String {
    format!("{PREFIX}{path}")
}

fn subject(path: &str) -> Subject {
    Subject::Aux(Family::Setting, key(path))
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A folder in a workspace.
fn within(path: &str, folder: &str) -> PathBuf {
    Path::new(path).join(folder)
}
