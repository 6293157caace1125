//! What is told: search, the brief, recovery, context, the roster.

mod brief;
mod context;
mod hydrate;
mod newest;
mod roster;
mod search;

use std::collections::HashSet;

use doze_core::model::{AgentId, Memory, OwnerId, Scope, Space, Status};
use doze_core::render::Rendered;
use doze_store::Snapshot;

use crate::names::safe_name;
use crate::project::Resolved;
use crate::{Engine, EngineError};

pub use brief::BriefRequest;
pub(crate) use brief::{said_by_person, shown_at, shown_key, shows, with_shown};
pub use context::{ContextAnswer, ContextRequest, RecoverRequest, Recovered};
pub(crate) use newest::Cache as NewestCache;
pub use roster::Roster;
pub use search::{Hit, SearchAnswer, SearchRequest, SemanticState};

/// A text to inject, what it costs and the memories in it.
pub type Told = Rendered;

/// Who asks, and from where: decides which spaces are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reader {
    /// A project by id, name or path.
    pub project: Option<String>,
    /// The folder the caller stands in.
    pub cwd: Option<String>,
    /// The agent that asks.
    pub agent: Option<AgentId>,
    /// The spaces to read; empty for the caller's user, project and agent.
    pub spaces: Vec<Space>,
}

impl Reader {
    /// The agent's id as records name it: one that holds a secret is known by its stand-in.
    pub(crate) fn agent_id(&self) -> Option<AgentId> {
        self.agent.as_ref().map(|agent| AgentId::new(safe_name(agent.as_str())))
    }
}

impl Engine {
    /// The project a caller means, `None` when it stands in none.
    pub(crate) fn place_of_reader(
        &self,
        owner: &OwnerId,
        reader: &Reader,
    ) -> Result<Option<Resolved>, EngineError> {
        if let Some(name) = &reader.project {
            let project = self.find_project(owner, name)?;
            let top = project.root.clone();
            return Ok(Some(Resolved {
                project: Some(project),
                is_project: true,
                top,
                subfolder: String::new(),
            }));
        }
        match &reader.cwd {
            Some(cwd) => self.known_project_of(owner, cwd).map(Some),
            None => Ok(None),
        }
    }

    /// The scopes a caller reads. Without an agent, every agent's space of the project is the person's to read. A
    /// caller that names neither project nor folder reads everywhere; an agent then only what is its own.
    pub(crate) fn scopes_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        place: Option<&Resolved>,
        reader: &Reader,
    ) -> Result<Vec<Scope>, EngineError> {
        let by = reader.agent_id();
        let Some(place) = place else {
            let mut scopes = self.scopes_everywhere(snapshot, owner, reader)?;
            scopes.retain(|scope| match (&by, scope) {
                (Some(_), Scope::Project(_)) => false,
                (Some(by), Scope::Agent { agent, .. }) => agent == by,
                _ => true,
            });
            return Ok(scopes);
        };
        let wants = |space: Space| reader.spaces.is_empty() || reader.spaces.contains(&space);
        let reads = place.reads();
        let project = reads.as_ref();
        let mut scopes = Vec::new();
        if wants(Space::User) {
            scopes.push(Scope::User);
        }
        if let Some(project) = project.filter(|_| wants(Space::Project)) {
            scopes.push(Scope::Project(project.clone()));
        }
        if wants(Space::Agent) {
            match by {
                Some(agent) => scopes.push(Scope::Agent { project: project.cloned(), agent }),
                None => scopes.extend(
                    snapshot
                        .scopes(owner)?
                        .into_iter()
                        .filter(|scope| scope.space() == Space::Agent && scope.project() == project),
                ),
            }
        }
        if reader.spaces.contains(&Space::Bank) {
            scopes.push(Scope::Bank);
        }
        if reader.spaces.contains(&Space::Team) || reader.spaces.contains(&Space::Member) {
            scopes.extend(snapshot.scopes(owner)?.into_iter().filter(|scope| {
                matches!(scope, Scope::Team(_) | Scope::Member { .. })
                    && reader.spaces.contains(&scope.space())
            }));
        }
        Ok(scopes)
    }

    /// All scopes of the owner that are recalled unasked, or those of the spaces that were asked for.
    pub(crate) fn scopes_everywhere(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        reader: &Reader,
    ) -> Result<Vec<Scope>, EngineError> {
        let mut scopes = snapshot.scopes(owner)?;
        // A project that has no memory yet has a history.
        let known: HashSet<String> = scopes.iter().map(Scope::key).collect();
        let projects = snapshot.projects(owner)?.into_iter().map(|project| Scope::Project(project.id));
        scopes.extend(projects.filter(|scope| !known.contains(&scope.key())));
        scopes.retain(|scope| match reader.spaces.as_slice() {
            [] => scope.is_recalled(),
            spaces => spaces.contains(&scope.space()),
        });
        Ok(scopes)
    }

    /// The active memories of some scopes.
    pub(crate) fn active_memories(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        scopes: &[Scope],
    ) -> Result<Vec<Memory>, EngineError> {
        let mut all = Vec::new();
        for scope in scopes {
            all.extend(
                snapshot.memories(owner, scope)?.into_iter().filter(|memory| memory.status == Status::Active),
            );
        }
        Ok(all)
    }
}
