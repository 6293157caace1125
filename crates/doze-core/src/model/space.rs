//! Whose memory a record is.

use super::{AgentId, ProjectId, words};

words! {
    /// The kind of space, as one word.
    Space {
        /// Everything the person carries between projects.
        User = "user",
        /// Shared by all agents of one project.
        Project = "project",
        /// One agent in one project.
        Agent = "agent",
        /// A team's shared memory.
        Team = "team",
        /// One member of a team.
        Member = "member",
        /// The person's verified bank; only ever searched explicitly.
        Bank = "bank",
    }
}

/// A space with its name: the address under which records are kept and read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The owner's user space.
    User,
    /// A project's space.
    Project(ProjectId),
    /// An agent's space in a project; `None` where the agent ran outside any project.
    Agent {
        /// The project, if the agent ran in one.
        project: Option<ProjectId>,
        /// The agent.
        agent: AgentId,
    },
    /// A team's space.
    Team(String),
    /// A member's space in a team.
    Member {
        /// The team.
        team: String,
        /// The member.
        member: String,
    },
    /// The owner's bank.
    Bank,
}

impl Scope {
    /// The kind of space this is.
    pub fn space(&self) -> Space {
        match self {
            Self::User => Space::User,
            Self::Project(_) => Space::Project,
            Self::Agent { .. } => Space::Agent,
            Self::Team(_) => Space::Team,
            Self::Member { .. } => Space::Member,
            Self::Bank => Space::Bank,
        }
    }

    /// The project this space lies in, if any.
    pub fn project(&self) -> Option<&ProjectId> {
        match self {
            Self::Project(project) => Some(project),
            Self::Agent { project, .. } => project.as_ref(),
            _ => None,
        }
    }

    /// The agent whose space this is, if any.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent { agent, .. } => Some(agent),
            _ => None,
        }
    }

    /// One string that names the scope uniquely; parts are separated by a NUL, which no name may hold.
    pub fn key(&self) -> String {
        match self {
            Self::User => "user".into(),
            Self::Project(project) => format!("project\0{project}"),
            Self::Agent { project, agent } => {
                format!("agent\0{}\0{agent}", project.as_ref().map_or("", ProjectId::as_str))
            }
            Self::Team(team) => format!("team\0{team}"),
            Self::Member { team, member } => format!("member\0{team}\0{member}"),
            Self::Bank => "bank".into(),
        }
    }

    /// Reads what [`Scope::key`] wrote.
    pub fn from_key(key: &str) -> Option<Self> {
        let mut parts = key.splitn(3, '\0');
        let scope = match (parts.next()?, parts.next(), parts.next()) {
            ("user", None, None) => Self::User,
            ("bank", None, None) => Self::Bank,
            ("project", Some(project), None) => Self::Project(project.into()),
            ("team", Some(team), None) => Self::Team(team.into()),
            ("agent", Some(project), Some(agent)) => {
                Self::Agent { project: (!project.is_empty()).then(|| project.into()), agent: agent.into() }
            }
            ("member", Some(team), Some(member)) => Self::Member { team: team.into(), member: member.into() },
            _ => return None,
        };
        Some(scope)
    }

    /// Whether records of this space may enter a brief or an injection (`R2`).
    pub fn is_recalled(&self) -> bool {
        !matches!(self, Self::Bank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_survives_its_key() {
        let scopes = [
            Scope::User,
            Scope::Bank,
            Scope::Project("p".into()),
            Scope::Agent { project: None, agent: "codex".into() },
            Scope::Agent { project: Some("p".into()), agent: "claude-code/Explore".into() },
            Scope::Team("t".into()),
            Scope::Member { team: "t".into(), member: "m".into() },
        ];
        for scope in scopes {
            assert_eq!(Scope::from_key(&scope.key()).as_ref(), Some(&scope));
        }
        assert_eq!(Scope::from_key("project"), None);
    }
}
