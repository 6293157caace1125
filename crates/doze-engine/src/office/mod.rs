//! The office face beyond sessions and facts: what an orchestrator learns from project to project (S0.38), and the
//! folder in which the original program kept its memory (S0.7, S0.8, S0.42), read and written.

mod export;
mod forget;
mod import;
mod learned;
mod read;
mod record;
mod seen;
mod tree;

use doze_core::model::{ProjectId, SessionKey};
use doze_store::session_aux_key;

pub use export::Exported;
pub(crate) use learned::TOLD;
pub use learned::{NotedLearning, ProjectRequest};
pub(crate) use seen::seen_prefix;
pub(crate) use tree::root_of;

/// Facts of an agent and of a project that are in force at once (S0.4, S0.5), sessions of an agent that are written
/// (S0.3).
const AGENT_FACTS: usize = doze_core::promote::AGENT_FACTS;
const SHARED_FACTS: usize = doze_core::promote::SHARED_FACTS;
const AGENT_SESSIONS: usize = 30;
/// Problems that an answer names; the rest is counted in the last of them.
const MAX_PROBLEMS: usize = 200;

/// The key of what a session's entry in a foreign file said beyond what a session holds. It goes with the session.
pub(crate) fn foreign_session_key(key: &SessionKey) -> String {
    session_aux_key(key, "foreign")
}

/// The keys of what foreign files of a project said beyond what records hold begin so. They go with the project.
pub(crate) fn foreign_prefix(project: &ProjectId) -> String {
    format!("foreign-in:{project}\0")
}

pub(crate) fn foreign_work_key(project: &ProjectId, agent: &str) -> String {
    format!("{}work\0{agent}", foreign_prefix(project))
}

fn foreign_file_key(project: &ProjectId, file: &str) -> String {
    format!("{}file\0{file}", foreign_prefix(project))
}

/// What could not be read or written, as an answer names it.
#[derive(Debug, Default)]
struct Problems {
    named: Vec<String>,
    more: usize,
}

impl Problems {
    fn name(&mut self, place: &str, reason: impl std::fmt::Display) {
        if self.named.len() < MAX_PROBLEMS - 1 {
            self.named.push(doze_core::text::one_line(&format!("{place}: {reason}")));
        } else {
            self.more += 1;
        }
    }

    fn count(&self) -> u64 {
        (self.named.len() + self.more) as u64
    }

    fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.named.push(format!("and {} more", self.more));
        }
        self.named
    }
}
