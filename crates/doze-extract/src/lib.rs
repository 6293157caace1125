//! Asks somebody for the memories of a digest, and reads the reply: an agent's command line, a model behind HTTP, or
//! any program of the person's own. Used by run-end jobs and by dreams.
//!
//! It decides nothing: what is kept, merged or refused is the engine's business, and the rules that need no model live
//! in `doze-core`. It never puts text of a session on a command line. What it starts is gone when it answers, with all
//! that this started in turn: everywhere what stays in its process group, on Linux also what leaves it, unless it also clears
//! its environment.

mod agents;
mod find;
mod http;
mod json;
mod program;
mod prompt;
mod remains;
pub mod reply;
mod told;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use doze_core::tokens;

pub use find::{NotFound, find};
pub use http::{Api, Endpoint};
pub use prompt::{Subject, prompt};
pub use remains::clear_remains;

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

/// What whoever asks still wants.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    /// The answer is not wanted any more.
    pub gave_up: &'a dyn Fn() -> bool,
    /// Whether one more request may be made: a server that refused a question as too much is asked for less, and each
    /// time may cost. The first needs no leave.
    pub again: &'a dyn Fn() -> bool,
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
    /// The caller does not want to pay for another request.
    #[error("the server refused what it was asked, and asking for less would go beyond the budget")]
    Spent,
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

    /// Asks one question, and looks at what the caller wishes while the answer is waited for.
    pub fn ask(&self, prompt: &str, timeout: Duration, wish: &Wish<'_>) -> Result<Answer, Failure> {
        let teller = Arc::new(told::Teller::of(self));
        let answer = match self {
            Self::Agent { agent, program, model, key } => {
                let asked =
                    agents::Asked { agent: *agent, program, model: model.as_deref(), key: key.as_ref() };
                agents::ask(&asked, &teller, prompt, timeout, wish.gave_up)?
            }
            Self::Http(endpoint) => http::ask(endpoint, &teller, prompt, timeout, wish)?,
            Self::Command { program, arguments } => {
                let run = program::Run {
                    program: program.clone(),
                    arguments: arguments.iter().map(Into::into).collect(),
                    input: prompt.to_owned(),
                    environment: Vec::new(),
                    timeout,
                };
                let folder = program::Folder::new()?;
                program::Said { text: run.answer(folder.path(), wish.gave_up)?.reply(&teller)?, tokens: None }
            }
        };
        let estimated = tokens::estimate(prompt) + tokens::estimate(&answer.text);
        let text = teller.blanked(&answer.text).into_owned();
        Ok(Answer { tokens: answer.tokens.unwrap_or(estimated as u64), text })
    }
}
