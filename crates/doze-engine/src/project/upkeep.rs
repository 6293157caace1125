//! Looking projects up by name, and putting them right by hand.

use std::collections::BTreeMap;

use doze_core::model::{Memory, OwnerId, Project, ProjectId, Scope, Session, Status};
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject};

use super::{paths, seen_at};
use crate::commit::is_learned_in;
use crate::names::check_path;
use crate::permission::modes_prefix;
use crate::task::moved_tasks;
use crate::{Engine, EngineError};

/// Sessions or memories moved in one change set, and sessions counted.
const PAGE: usize = 500;
/// What is told when others never stop.
const KEEP_CHANGING: &str = "others keep changing the same project";

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

    /// A project by id, also by one that was merged into it, by name or by path. A name that several share is refused,
    /// with their ids.
    pub fn find_project(&self, owner: &OwnerId, name: &str) -> Result<Project, EngineError> {
        let snapshot = self.store().snapshot()?;
        if let Some(project) = snapshot.project(owner, &ProjectId::new(name))? {
            return Ok(project);
        }
        if let Some(project) = snapshot.project_by_alias(owner, &former(name))? {
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
        let project = place.map_or_else(|| self.find_project(owner, name), Ok)?;
        self.change_project(owner, &project.id, |_, project| Ok(Project { ignored, ..project }))
    }

    /// Tells that a project's folder is another one now.
    pub fn move_project(&self, owner: &OwnerId, name: &str, to: &str) -> Result<Project, EngineError> {
        let project = self.find_project(owner, name)?;
        check_path("path", to)?;
        let folder = paths::normalise(to);
        let place = self
            .place_of(&folder)
            .ok_or_else(|| EngineError::invalid(format!("{to} cannot be a project")))?;
        self.change_project(owner, &project.id, |snapshot, mut project| {
            project.root = place.main_folder().to_owned();
            Ok(seen_at(project, &place, &mut |alias| snapshot.project_by_alias(owner, alias))?)
        })
    }

    fn change_project(
        &self,
        owner: &OwnerId,
        id: &ProjectId,
        change: impl Fn(&Snapshot, Project) -> Result<Project, EngineError>,
    ) -> Result<Project, EngineError> {
        let changed = self.decide(KEEP_CHANGING, |snapshot| {
            let project = change(snapshot, standing(snapshot, owner, id)?)?;
            let set = ChangeSet::new(owner.clone()).expect_seen(snapshot, Subject::Projects)?;
            Ok((set.put_project(project.clone()), project))
        })?;
        self.inner.folders.clear();
        Ok(changed)
    }

    /// Puts everything of `from` into `into`; `from` is gone afterwards, its folders belong to `into`.
    pub fn merge_projects(&self, owner: &OwnerId, from: &str, into: &str) -> Result<Project, EngineError> {
        let from = self.find_project(owner, from)?.id;
        let into = self.find_project(owner, into)?.id;
        if from == into {
            return Err(EngineError::invalid("the two are the same project"));
        }
        // Until the last record has moved both projects stand, so that a merge that breaks off is done again.
        self.move_records(owner, &from, &into)?;
        let merged = self.decide(KEEP_CHANGING, |snapshot| {
            merged(snapshot, ChangeSet::new(owner.clone()), &from, &into)
        })?;
        self.inner.folders.clear();
        // What was committed meanwhile; nothing is committed to a project that is gone.
        self.move_records(owner, &from, &into)?;
        Ok(merged)
    }

    /// Takes a folder, with the sessions that ran in it and what was learned from them, out of a project that holds
    /// several, and makes it a project of its own.
    pub fn split_project(&self, owner: &OwnerId, name: &str, folder: &str) -> Result<Project, EngineError> {
        let id = self.find_project(owner, name)?.id;
        check_path("path", folder)?;
        let folder = paths::normalise(folder);
        let place = self
            .place_of(&folder)
            .ok_or_else(|| EngineError::invalid(format!("{folder} cannot be a project")))?;
        let mut part = self.new_project(owner, &place);
        part.root = folder.clone();
        part.name = folder.rsplit('/').next().unwrap_or(&folder).to_owned();
        part.aliases = place.aliases();
        self.decide(KEEP_CHANGING, |snapshot| {
            Ok((without_part(snapshot, ChangeSet::new(owner.clone()), &id, &part, &folder)?, ()))
        })?;
        self.inner.folders.clear();
        Ok(part)
    }

    /// Moves sessions and memories, a page at a time, until none are left.
    fn move_records(&self, owner: &OwnerId, from: &ProjectId, into: &ProjectId) -> Result<(), EngineError> {
        let filter = SessionFilter { project: Some(Some(from.clone())), ..SessionFilter::default() };
        while self.decide(KEEP_CHANGING, |snapshot| {
            let mut set = ChangeSet::new(owner.clone());
            for mut session in snapshot.sessions(owner, &filter, None, PAGE)?.items {
                session.project = Some(into.clone());
                set = set.expect_seen(snapshot, Subject::Session(session.key.clone()))?.put_session(session);
            }
            let is_more = !set.changes.is_empty();
            Ok((set, is_more))
        })? {}
        while self.decide(KEEP_CHANGING, |snapshot| {
            let mut set = ChangeSet::new(owner.clone());
            for scope in snapshot.scopes(owner)?.into_iter().filter(|scope| scope.project() == Some(from)) {
                let target = in_project(&scope, into);
                for mut memory in snapshot.memory_page(owner, &scope, None, PAGE)? {
                    memory.scope = target.clone();
                    if let Some(older) = give_way(snapshot, &mut memory)? {
                        set = set.put_memory(older);
                    }
                    set = set.put_memory(memory);
                }
                for scope in [scope, target] {
                    set = set.expect_seen(snapshot, Subject::Scope(scope))?;
                }
                if set.changes.len() >= PAGE {
                    break;
                }
            }
            let is_more = !set.changes.is_empty();
            Ok((set, is_more))
        })? {}
        Ok(())
    }
}

/// Of two that hold one topic, the one that comes and the one that is there, the newer stays, and a person's word before
/// any other (S1.18). Answers the one that was there when it gives way.
fn give_way(snapshot: &Snapshot, comes: &mut Memory) -> Result<Option<Memory>, EngineError> {
    let Some(topic) = comes.topic_key.as_ref().filter(|_| comes.status == Status::Active) else {
        return Ok(None);
    };
    let holder = snapshot.memory_by_topic(&comes.owner, &comes.scope, topic)?;
    let holder = holder.map(|id| snapshot.memory(&comes.owner, &id)).transpose()?.flatten();
    let Some(mut holder) = holder else { return Ok(None) };
    let rank = |memory: &Memory| (memory.is_protected(), memory.last_confirmed_at);
    if rank(comes) > rank(&holder) {
        holder.status = Status::Superseded;
        holder.superseded_by = Some(comes.id.clone());
        return Ok(Some(holder));
    }
    comes.status = Status::Superseded;
    comes.superseded_by = Some(holder.id);
    Ok(None)
}

/// The alias under which a project that was merged into another is still known by its id.
fn former(id: &str) -> String {
    format!("was:{id}")
}

fn standing(snapshot: &Snapshot, owner: &OwnerId, id: &ProjectId) -> Result<Project, EngineError> {
    snapshot.project(owner, id)?.ok_or_else(|| EngineError::not_found("project", id))
}

/// The last step of a merge, whole or not at all: the projects themselves, tasks and work states.
fn merged(
    snapshot: &Snapshot,
    set: ChangeSet,
    from: &ProjectId,
    into: &ProjectId,
) -> Result<(ChangeSet, Project), EngineError> {
    let owner = set.owner.clone();
    let mut project = standing(snapshot, &owner, into)?;
    project.aliases.extend(standing(snapshot, &owner, from)?.aliases);
    project.aliases.push(former(from.as_str()));
    let mut set = set
        .expect_seen(snapshot, Subject::Projects)?
        .delete_project(from.clone())
        .put_project(project.clone());
    set = moved_tasks(snapshot, set, from, into)?;
    // The hooks tell the modes of its sessions again.
    for (key, _) in snapshot.aux_scan(&owner, Family::Setting, &modes_prefix(from))? {
        set = set.delete_aux(Family::Setting, key);
    }
    for mut work in snapshot.works(&owner)?.into_iter().filter(|work| work.project.as_ref() == Some(from)) {
        let (agent, session) = (work.agent.id.clone(), work.session.clone());
        let other = snapshot.work(&owner, &agent, Some(into), session.as_deref())?;
        for place in [from, into] {
            let subject = Subject::Work(agent.clone(), Some(place.clone()), session.clone());
            set = set.expect_seen(snapshot, subject)?;
        }
        set = set.clear_work(agent, Some(from.clone()), session);
        if other.is_none_or(|other| other.updated_at < work.updated_at) {
            work.project = Some(into.clone());
            set = set.put_work(work);
        }
    }
    Ok((set, project))
}

/// A part becomes a project of its own, with its sessions and what was learned from them.
fn without_part(
    snapshot: &Snapshot,
    set: ChangeSet,
    id: &ProjectId,
    part: &Project,
    folder: &str,
) -> Result<ChangeSet, EngineError> {
    let owner = set.owner.clone();
    let mut project = standing(snapshot, &owner, id)?;
    project.aliases.retain(|alias| !part.aliases.contains(alias));
    let mut set =
        set.expect_seen(snapshot, Subject::Projects)?.put_project(project).put_project(part.clone());
    let filter = SessionFilter { project: Some(Some(id.clone())), ..SessionFilter::default() };
    let mut moved: BTreeMap<String, Vec<Session>> = BTreeMap::new();
    for mut session in snapshot.sessions(&owner, &filter, None, usize::MAX)?.items {
        if paths::is_within(&paths::normalise(&session.cwd), folder) {
            moved.entry(session.key.session.clone()).or_default().push(session.clone());
            session.project = Some(part.id.clone());
            set = set.expect_seen(snapshot, Subject::Session(session.key.clone()))?.put_session(session);
        }
    }
    for mut memory in memories_of(snapshot, &owner, id)? {
        let named = memory.source.session.as_ref().and_then(|session| moved.get(session));
        if named.into_iter().flatten().any(|session| is_learned_in(&memory, session)) {
            set = set.expect_seen(snapshot, Subject::Scope(memory.scope.clone()))?;
            memory.scope = in_project(&memory.scope, &part.id);
            set = set.put_memory(memory);
        }
    }
    Ok(set)
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
    let sessions = snapshot.sessions(owner, &filter, None, PAGE)?.items.len() as u64;
    Ok(ProjectCard { project, memories, sessions })
}
