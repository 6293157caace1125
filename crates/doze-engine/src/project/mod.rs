//! Which project a folder belongs to, and the upkeep of projects.

mod git;
mod identity;
mod paths;
mod upkeep;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use doze_core::model::{OwnerId, Project, ProjectId, uuid_v7};
use doze_store::{ApplyError, ChangeSet, Subject};
use jiff::{SignedDuration, Timestamp};

use crate::names::{check_path, safe_name};
use crate::{Engine, EngineError, lock};
use identity::Place;
pub(crate) use paths::normalise;
pub use upkeep::ProjectCard;

/// How long an answer about a folder is trusted before the folder is looked at again.
const CACHE_SECONDS: i64 = 15;
/// Folders remembered at once; the cache starts over beyond it.
const CACHE_FOLDERS: usize = 1024;
/// Aliases kept for one project; the oldest work-tree paths go first.
const MAX_ALIASES: usize = 256;

/// The id under which an unseen project reads.
const UNSEEN: &str = "unseen";

/// The project of a folder, and where in it the folder lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The project; `None` for `/`, home and temporary folders, and for one that doze has not seen yet.
    pub project: Option<Project>,
    /// The folder is a project's, whether doze has seen it or not.
    pub is_project: bool,
    /// The top of the work tree the folder lies in.
    pub top: String,
    /// The folder relative to that top; empty at the top.
    pub subfolder: String,
}

impl Resolved {
    /// The project's id, if there is a project.
    pub fn id(&self) -> Option<&ProjectId> {
        self.project.as_ref().map(|project| &project.id)
    }

    /// The project whose records may be read from here. A project that doze has not seen yet has none, which is not
    /// the same as standing outside all projects: it reads under an id that no project has.
    pub(crate) fn reads(&self) -> Option<ProjectId> {
        self.id().cloned().or_else(|| self.is_project.then(|| ProjectId::new(UNSEEN)))
    }
}

/// Answers about folders, kept for a few seconds.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<(OwnerId, String), Seen>>);

/// An answer, when it was found, and the `.git` it was found with.
#[derive(Debug)]
struct Seen {
    at: Timestamp,
    git: Option<String>,
    resolved: Resolved,
}

impl Cache {
    fn get(&self, owner: &OwnerId, cwd: &str, now: Timestamp) -> Option<Resolved> {
        let entries = lock(&self.0);
        let seen = entries.get(&(owner.clone(), cwd.to_owned()))?;
        let is_young = now.duration_since(seen.at).abs() < SignedDuration::from_secs(CACHE_SECONDS);
        (is_young && seen.git == git_stamp(&seen.resolved)).then(|| seen.resolved.clone())
    }

    fn put(&self, owner: &OwnerId, cwd: &str, now: Timestamp, resolved: &Resolved) {
        let mut entries = lock(&self.0);
        if entries.len() >= CACHE_FOLDERS {
            entries.clear();
        }
        let seen = Seen { at: now, git: git_stamp(resolved), resolved: resolved.clone() };
        entries.insert((owner.clone(), cwd.to_owned()), seen);
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

/// What tells that another repository has come to stand in the same folder.
fn git_stamp(resolved: &Resolved) -> Option<String> {
    git::file_identity(&Path::new(&resolved.top).join(".git"))
}

impl Engine {
    /// The project of a folder, minted when it is new.
    pub fn project_of(&self, owner: &OwnerId, cwd: &str) -> Result<Resolved, EngineError> {
        self.resolve(owner, cwd, true)
    }

    /// The project of a folder if it is known; nothing is written.
    pub fn known_project_of(&self, owner: &OwnerId, cwd: &str) -> Result<Resolved, EngineError> {
        self.resolve(owner, cwd, false)
    }

    fn resolve(&self, owner: &OwnerId, cwd: &str, mint: bool) -> Result<Resolved, EngineError> {
        check_path("cwd", cwd)?;
        let now = self.now();
        if let Some(resolved) = self.inner.folders.get(owner, cwd, now)
            && (resolved.project.is_some() || !mint)
        {
            return Ok(resolved);
        }
        let resolved = self.look_at(owner, cwd, mint)?;
        if resolved.project.is_some() || !mint {
            self.inner.folders.put(owner, cwd, now, &resolved);
        }
        Ok(resolved)
    }

    fn look_at(&self, owner: &OwnerId, cwd: &str, mint: bool) -> Result<Resolved, EngineError> {
        let folder = paths::normalise(cwd);
        let Some(place) = self.place_of(&folder) else {
            return Ok(Resolved { project: None, is_project: false, top: folder, subfolder: String::new() });
        };
        let mut attempts = 0;
        loop {
            let snapshot = self.store().snapshot()?;
            let revision = snapshot.revision(owner, &Subject::Projects)?;
            let known = identity::recognise(&place, &mut |alias| snapshot.project_by_alias(owner, alias))?;
            let is_known = known.is_some();
            let Some(project) = known.or_else(|| mint.then(|| self.new_project(owner, &place))) else {
                return Ok(Resolved {
                    project: None,
                    is_project: true,
                    top: place.top().to_owned(),
                    subfolder: String::new(),
                });
            };
            let updated =
                seen_at(project.clone(), &place, &mut |alias| snapshot.project_by_alias(owner, alias))?;
            if !is_known || updated != project {
                let set = ChangeSet::new(owner.clone()).expect(Subject::Projects, revision);
                match self.store().apply(set.put_project(updated.clone())) {
                    Err(ApplyError::Conflict { .. }) if attempts < crate::CONFLICT_RETRIES => {
                        attempts += 1;
                        continue;
                    }
                    result => result?,
                };
            }
            return Ok(place_in(updated, &place, &folder));
        }
    }

    /// Reads what the folder says about itself.
    fn place_of(&self, folder: &str) -> Option<Place> {
        // A folder whose name holds a secret is no project: its name would stand in the store.
        let is_clean = |name: &str| safe_name(name) == name;
        if !Path::new(folder).is_absolute() || !is_clean(folder) {
            return None;
        }
        let surroundings = &self.inner.options.surroundings;
        let (home, temp_roots) = (surroundings.home.as_deref(), surroundings.temp_roots.as_slice());
        // A repository in the home folder itself holds somebody's settings, not everything that lies below.
        if let Some(repository) =
            git::find(Path::new(folder), &|dir| paths::is_never_a_project(dir, home, temp_roots))
        {
            return is_clean(&repository.common).then_some(Place::Repository(repository));
        }
        paths::may_be_project(folder, home, temp_roots).then(|| Place::Folder {
            path: folder.to_owned(),
            above: paths::above(folder, home, temp_roots),
            file_identity: git::file_identity(Path::new(folder)),
        })
    }

    fn new_project(&self, owner: &OwnerId, place: &Place) -> Project {
        let now = self.now();
        let folder = place.main_folder();
        Project {
            id: ProjectId::new(uuid_v7(now.as_millisecond().max(0).unsigned_abs(), self.random())),
            owner: owner.clone(),
            name: folder.rsplit('/').next().unwrap_or(folder).trim_end_matches(".git").to_owned(),
            root: folder.to_owned(),
            aliases: Vec::new(),
            created_at: now,
            ignored: false,
        }
    }
}

/// The project with the aliases of the place it was just seen in. A folder belongs to whoever is in it now; what is
/// not a folder stays with the project it was first seen with.
fn seen_at<E>(
    mut project: Project,
    place: &Place,
    by_alias: &mut dyn FnMut(&str) -> Result<Option<Project>, E>,
) -> Result<Project, E> {
    let aliases = place.aliases();
    let is_same_clone =
        aliases.iter().any(|alias| alias.starts_with("file:") && project.aliases.contains(alias));
    for alias in aliases {
        if project.aliases.contains(&alias) {
            continue;
        }
        let is_folder = alias.starts_with("dir:") || alias.starts_with("path:");
        // A second remote is the project's own only in the very clone that had the first.
        let has_remote = project.aliases.iter().any(|known| known.starts_with("remote:"));
        if alias.starts_with("remote:") && has_remote && !is_same_clone {
            continue;
        }
        if is_folder || by_alias(&alias)?.is_none_or(|other| other.id == project.id) {
            project.aliases.push(alias);
        }
    }
    while project.aliases.len() > MAX_ALIASES {
        let oldest_path = project.aliases.iter().position(|alias| alias.starts_with("path:")).unwrap_or(0);
        project.aliases.remove(oldest_path);
    }
    if project.root != place.main_folder() && !Path::new(&project.root).exists() {
        project.root = place.main_folder().to_owned();
    }
    Ok(project)
}

fn place_in(project: Project, place: &Place, folder: &str) -> Resolved {
    let top = match place {
        Place::Repository(repository) => repository.top.clone(),
        // A plain folder may lie below the project's own folder.
        Place::Folder { path, .. } if paths::is_within(path, &project.root) => project.root.clone(),
        Place::Folder { path, .. } => path.clone(),
    };
    let subfolder = folder.strip_prefix(&top).unwrap_or("").trim_matches('/').to_owned();
    Resolved { project: Some(project), is_project: true, top, subfolder }
}
