//! Asks somebody for the memories of a digest, and reads the reply: an agent's command line, a model behind HTTP, or
//! any program of the person's own. Used by run-end jobs and by dreams.
//!
//! It decides nothing: what is kept, merged or refused is the engine's business, and the rules that need no model live
//! in `doze-core`. It never puts text of a session on a command line, and what it starts is gone when it answers.

mod agents;
mod find;
mod http;
mod program;
mod prompt;
pub mod reply;

use std::path::PathBuf;
use std::time::Duration;

use doze_core::tokens;

pub use find::{NotFound, find};
pub use http::{Api, Endpoint};
pub use prompt::{Subject, prompt};

/// How long an agent or a model may take (S1.13).
pub const TIMEOUT: Duration = Duration::from_secs(180);

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extractor {
    /// An agent's command line, run once without tools.
    Agent {
        /// Which one.
        agent: Agent,
        /// Where its program is, see [`find`].
        program: PathBuf,
        /// The model it is asked to use; `None` is the agent's own choice, see [`Agent::default_model`].
        model: Option<String>,
        /// The key of the account that pays, for those who take one; else the agent's own login (S1.13).
        key: Option<Key>,
    },
    /// A model behind HTTP.
    Http(Endpoint),
    /// Any program: the prompt on stdin, the reply on stdout, 0 for success.
    Command {
        /// The program, found on the path or named by its own.
        program: PathBuf,
        /// What it is called with.
        arguments: Vec<String>,
    },
}

/// A secret that pays for an answer. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Keeps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Agents that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

/// What somebody replied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The reply, out of whatever envelope it came in.
    pub text: String,
    /// Tokens that asking cost: as told, else estimated from both texts.
    pub tokens: u64,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The program is not there or does not start.
    #[error("{who} cannot be run; install it or choose another extractor")]
    NotStarted {
        /// The program.
        who: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no room or no right for a temporary folder.
    #[error("no temporary folder for the extractor")]
    Folder {
        /// What the system says.
        source: std::io::Error,
    },
    /// It took too long.
    #[error("{who} did not answer within {seconds} s")]
    TimedOut {
        /// The program or address.
        who: String,
        /// The limit.
        seconds: u64,
    },
    /// It ended with a failure.
    #[error("{who} failed with {status}: {said}")]
    Program {
        /// The program.
        who: String,
        /// How it ended.
        status: String,
        /// The end of what it said.
        said: String,
    },
    /// A server could not be reached: it was given nothing.
    #[error("{url}: {said}")]
    Unreached {
        /// Who was to be asked.
        url: String,
        /// What went wrong.
        said: String,
    },
    /// A server refused, or broke off.
    #[error("{url}: {said}")]
    Http {
        /// Whom was asked.
        url: String,
        /// What went wrong.
        said: String,
    },
    /// It answered in a form that the agent does not have.
    #[error("{who} answered without a reply in it: {said}")]
    NoReply {
        /// The program or address.
        who: String,
        /// The start of what it said.
        said: String,
    },
    /// The caller no longer wants the answer.
    #[error("given up because extraction was switched off or doze is ending")]
    GivenUp,
}

impl Failure {
    /// Whether the prompt may have reached a model, which costs what it costs though nobody says how much.
    pub fn was_sent(&self) -> bool {
        !matches!(self, Self::NotStarted { .. } | Self::Folder { .. } | Self::Unreached { .. })
    }
}

impl Extractor {
    /// What it is called in a configuration, and its model, for telling people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agent { agent, .. } => agent.name(),
            Self::Http(_) => "http",
            Self::Command { .. } => "command",
        }
    }

    /// The model it is asked for, where that is known.
    pub fn model(&self) -> Option<String> {
        match self {
            Self::Agent { agent, model, .. } => model.clone().or_else(|| agent.default_model()),
            Self::Http(endpoint) => Some(endpoint.model.clone()),
            Self::Command { .. } => None,
        }
    }

    /// Asks once. `gave_up` is looked at while the answer is waited for.
    pub fn ask(
        &self,
        prompt: &str,
        timeout: Duration,
        gave_up: &dyn Fn() -> bool,
    ) -> Result<Answer, Failure> {
        let answer = match self {
            Self::Agent { agent, program, model, key } => {
                let asked =
                    agents::Asked { agent: *agent, program, model: model.as_deref(), key: key.as_ref() };
                agents::ask(&asked, prompt, timeout, gave_up)?
            }
            Self::Http(endpoint) => http::ask(endpoint, prompt, timeout, gave_up)?,
            Self::Command { program, arguments } => {
                let run = program::Run {
                    program: program.clone(),
                    arguments: arguments.iter().map(Into::into).collect(),
                    input: prompt.to_owned(),
                    environment: Vec::new(),
                    timeout,
                };
                let folder = program::Folder::new()?;
                program::Said { text: run.answer(folder.path(), gave_up)?.reply()?, tokens: None }
            }
        };
        let estimated = tokens::estimate(prompt) + tokens::estimate(&answer.text);
        Ok(Answer { tokens: answer.tokens.unwrap_or(estimated as u64), text: answer.text })
    }
}
