//! Looking projects up by name, and putting them right by hand.

use doze_core::model::{Memory, OwnerId, Project, ProjectId, Scope, Status};
use doze_store::{ChangeSet, SessionFilter, Snapshot, Subject};

use super::{paths, seen_at};
use crate::names::check_path;
use crate::{Engine, EngineError};

/// Sessions moved in one change set.
const SESSION_PAGE: usize = 500;

/// A project with what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectCard {
    /// The project.
    pub project: Project,
    /// Active memories in its own space and its agents'.
    pub memories: u64,
    /// The newest sessions, counted up to a bound.
    pub sessions: u64,
}

impl Engine {
    /// All projects, by name.
    pub fn projects(&self, owner: &OwnerId) -> Result<Vec<ProjectCard>, EngineError> {
        let snapshot = self.store().snapshot()?;
        let mut cards = Vec::new();
        for project in snapshot.projects(owner)? {
            cards.push(card(&snapshot, owner, project)?);
        }
        cards.sort_by(|a, b| {
            a.project.name.cmp(&b.project.name).then_with(|| a.project.id.cmp(&b.project.id))
        });
        Ok(cards)
    }

    /// One project with what it holds.
    pub fn project_card(&self, owner: &OwnerId, name: &str) -> Result<ProjectCard, EngineError> {
        let project = self.find_project(owner, name)?;
        card(&self.store().snapshot()?, owner, project)
    }

    /// A project by id, name or path. A name that several share is refused, with their ids.
    pub fn find_project(&self, owner: &OwnerId, name: &str) -> Result<Project, EngineError> {
        let snapshot = self.store().snapshot()?;
        if let Some(project) = snapshot.project(owner, &ProjectId::new(name))? {
            return Ok(project);
        }
        if name.contains(['/', '\\']) {
            let place = self.known_project_of(owner, name)?;
            return place.project.ok_or_else(|| EngineError::not_found("project in", name));
        }
        let mut named: Vec<Project> =
            snapshot.projects(owner)?.into_iter().filter(|project| project.name == name).collect();
        match (named.pop(), named.is_empty()) {
            (Some(project), true) => Ok(project),
            (Some(project), false) => {
                let ids: Vec<&str> =
                    named.iter().chain([&project]).map(|project| project.id.as_str()).collect();
                Err(EngineError::invalid(format!("several projects are called {name}"))
                    .hint(format!("use one of the ids {}", ids.join(", "))))
            }
            (None, _) => Err(EngineError::not_found("project", name).hint("run `doze project list`")),
        }
    }

    /// Ignores a project from now on, or heeds it again.
    pub fn ignore_project(&self, owner: &OwnerId, name: &str, ignored: bool) -> Result<Project, EngineError> {
        let place = if name.contains(['/', '\\']) { self.project_of(owner, name)?.project } else { None };
        let mut project = place.map_or_else(|| self.find_project(owner, name), Ok)?;
        project.ignored = ignored;
        self.put_project(owner, project)
    }

    /// Tells that a project's folder is another one now.
    pub fn move_project(&self, owner: &OwnerId, name: &str, to: &str) -> Result<Project, EngineError> {
        let mut project = self.find_project(owner, name)?;
        check_path("path", to)?;
        let folder = paths::normalise(to);
        let place = self
            .place_of(&folder)
            .ok_or_else(|| EngineError::invalid(format!("{to} cannot be a project")))?;
        let snapshot = self.store().snapshot()?;
        project.root = place.main_folder().to_owned();
        let project = seen_at(project, &place, &mut |alias| snapshot.project_by_alias(owner, alias))?;
        self.put_project(owner, project)
    }

    /// Puts everything of `from` into `into`; `from` is gone afterwards, its folders belong to `into`.
    pub fn merge_projects(&self, owner: &OwnerId, from: &str, into: &str) -> Result<Project, EngineError> {
        let from = self.find_project(owner, from)?;
        let mut into = self.find_project(owner, into)?;
        if from.id == into.id {
            return Err(EngineError::invalid("the two are the same project"));
        }
        self.move_records(owner, &from.id, &into.id)?;
        into.aliases.extend(from.aliases);
        into.aliases.push(format!("was:{}", from.id));
        self.store().apply(ChangeSet::new(owner.clone()).delete_project(from.id))?;
        self.put_project(owner, into)
    }

    /// Takes a folder, with the sessions that ran in it and what was learned from them, out of a project that holds
    /// several, and makes it a project of its own.
    pub fn split_project(&self, owner: &OwnerId, name: &str, folder: &str) -> Result<Project, EngineError> {
        let mut project = self.find_project(owner, name)?;
        check_path("path", folder)?;
        let folder = paths::normalise(folder);
        let place = self
            .place_of(&folder)
            .ok_or_else(|| EngineError::invalid(format!("{folder} cannot be a project")))?;
        let own = place.aliases();
        project.aliases.retain(|alias| !own.contains(alias));
        let mut part = self.new_project(owner, &place);
        part.root = folder.clone();
        part.name = folder.rsplit('/').next().unwrap_or(&folder).to_owned();
        part.aliases = own;
        let snapshot = self.store().snapshot()?;
        let filter = SessionFilter { project: Some(Some(project.id.clone())), ..SessionFilter::default() };
        let mut moved = std::collections::BTreeSet::new();
        let mut set = ChangeSet::new(owner.clone()).put_project(project.clone()).put_project(part.clone());
        for mut session in snapshot.sessions(owner, &filter, None, usize::MAX)?.items {
            if paths::is_within(&paths::normalise(&session.cwd), &folder) {
                moved.insert(session.key.session.clone());
                session.project = Some(part.id.clone());
                set = set.put_session(session);
            }
        }
        for mut memory in memories_of(&snapshot, owner, &project.id)? {
            if memory.source.session.as_ref().is_some_and(|session| moved.contains(session)) {
                memory.scope = in_project(&memory.scope, &part.id);
                set = set.put_memory(memory);
            }
        }
        self.store().apply(set)?;
        self.inner.folders.clear();
        Ok(part)
    }

    fn put_project(&self, owner: &OwnerId, project: Project) -> Result<Project, EngineError> {
        self.store().apply(ChangeSet::new(owner.clone()).put_project(project.clone()))?;
        self.inner.folders.clear();
        Ok(project)
    }

    fn move_records(&self, owner: &OwnerId, from: &ProjectId, into: &ProjectId) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let subject = Subject::Scope(Scope::Project(into.clone()));
        let mut set =
            ChangeSet::new(owner.clone()).expect(subject.clone(), snapshot.revision(owner, &subject)?);
        for mut memory in memories_of(&snapshot, owner, from)? {
            memory.scope = in_project(&memory.scope, into);
            set = set.put_memory(memory);
        }
        self.store().apply(set)?;
        let filter = SessionFilter { project: Some(Some(from.clone())), ..SessionFilter::default() };
        loop {
            let page = self.store().snapshot()?.sessions(owner, &filter, None, SESSION_PAGE)?.items;
            if page.is_empty() {
                return Ok(());
            }
            let set = page.into_iter().fold(ChangeSet::new(owner.clone()), |set, mut session| {
                session.project = Some(into.clone());
                set.put_session(session)
            });
            self.store().apply(set)?;
        }
    }
}

fn memories_of(
    snapshot: &Snapshot,
    owner: &OwnerId,
    project: &ProjectId,
) -> Result<Vec<Memory>, EngineError> {
    let mut memories = Vec::new();
    for scope in snapshot.scopes(owner)?.into_iter().filter(|scope| scope.project() == Some(project)) {
        memories.extend(snapshot.memories(owner, &scope)?);
    }
    Ok(memories)
}

fn in_project(scope: &Scope, project: &ProjectId) -> Scope {
    match scope {
        Scope::Agent { agent, .. } => Scope::Agent { project: Some(project.clone()), agent: agent.clone() },
        _ => Scope::Project(project.clone()),
    }
}

fn card(snapshot: &Snapshot, owner: &OwnerId, project: Project) -> Result<ProjectCard, EngineError> {
    // What recall can tell, not what is kept as history.
    let memories = memories_of(snapshot, owner, &project.id)?;
    let memories = memories.iter().filter(|memory| memory.status == Status::Active).count() as u64;
    let filter = SessionFilter { project: Some(Some(project.id.clone())), ..SessionFilter::default() };
    let sessions = snapshot.sessions(owner, &filter, None, SESSION_PAGE)?.items.len() as u64;
    Ok(ProjectCard { project, memories, sessions })
}
