//! One line about what each agent of a project did last (S0.37).

use doze_core::model::{AgentId, OwnerId, Session};
use doze_core::render::roster::{LastSession, RosterAgent, roster};
use doze_store::SessionFilter;

use super::{Reader, Told};
use crate::names::{check_count, safe_name};
use crate::project::Resolved;
use crate::{Engine, EngineError};

/// Agents in one roster.
const MAX_AGENTS: usize = 50;

/// The roster, and what its lines are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Roster {
    /// The text.
    pub told: Told,
    /// The agents of its lines.
    pub agents: Vec<RosterAgent>,
    /// Agents there was no line for.
    pub more: usize,
}

impl Engine {
    /// The roster of the named agents, or of the fifty that worked in the project last.
    pub fn roster(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        agents: &[AgentId],
    ) -> Result<Roster, EngineError> {
        check_count("agents", agents.len(), MAX_AGENTS)?;
        let place = self.place_of_reader(owner, reader)?;
        let project = place.as_ref().map(Resolved::reads);
        let snapshot = self.store().snapshot()?;
        let filter = SessionFilter { project, ..Default::default() };
        let named: Vec<AgentId> = match agents {
            [] => snapshot.session_agents(owner, filter.project.as_ref().map(Option::as_ref))?,
            named => named.iter().map(|agent| AgentId::new(safe_name(agent.as_str()))).collect(),
        };
        let mut lines: Vec<RosterAgent> = Vec::new();
        for agent in named {
            let filter = SessionFilter { agent: Some(agent.clone()), ..filter.clone() };
            let last = snapshot.sessions(owner, &filter, None, 1)?.items.into_iter().next();
            let name = last.as_ref().map_or_else(|| agent.to_string(), |session| session.agent.name.clone());
            lines.push(line(&name, last));
        }
        if agents.is_empty() {
            lines.sort_by_key(|line| std::cmp::Reverse(line.last.as_ref().map(|last| last.at)));
        }
        let more = lines.len().saturating_sub(MAX_AGENTS);
        lines.truncate(MAX_AGENTS);
        let told = roster(&mut lines, more, self.now());
        Ok(Roster { told, agents: lines, more })
    }
}

fn line(name: &str, last: Option<Session>) -> RosterAgent {
    let last = last.and_then(|session| {
        let summary = session.summary?;
        Some(LastSession {
            what: summary.what,
            commit: summary.commits.last().cloned(),
            at: session.last_event_at,
            outcome: session.outcome,
        })
    });
    RosterAgent { name: name.to_owned(), last }
}
