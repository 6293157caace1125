//! From the wire to the engine and back: reads parameters, calls one operation, writes its answer. No logic lives
//! here; wire types and engine types only meet in this folder.

mod dream;
mod given;
mod mcp;
mod memory;
mod office;
mod project;
mod recall;
mod session;
mod system;
mod wire;
mod work;
mod workspace;

use std::sync::Arc;

use doze_core::model::OwnerId;
use doze_engine::background::Lane;
use doze_engine::{Engine, EngineError, Problem};
use doze_protocol::{ErrorKind, Params, WireError, method};
use serde::Serialize;
use serde_json::Value;

pub(crate) use system::{Process, ProcessFacts};

/// Answers the methods of the protocol with an engine.
pub(crate) struct Dispatch {
    engine: Engine,
    owner: OwnerId,
    process: Arc<dyn Process>,
    /// Where sweeps by hand and imports are done.
    sweeps: Lane,
    imports: Lane,
}

impl Dispatch {
    /// Serves one owner: over the socket that is the user the daemon runs as.
    pub(crate) fn new(engine: Engine, owner: OwnerId, process: Arc<dyn Process>) -> Self {
        Self { engine, owner, process, sweeps: Lane::default(), imports: Lane::default() }
    }

    /// The methods it answers.
    pub(crate) fn methods() -> impl Iterator<Item = &'static str> {
        METHODS.iter().map(|(name, _)| *name)
    }

    /// Whether the store takes changes. A store that cannot even tell does not.
    pub(crate) fn can_write(&self) -> bool {
        self.engine.status(&self.owner).is_ok_and(|status| status.not_writable.is_none())
    }

    /// Calls one method. Blocks until the answer is final; what it answers about is durable.
    pub(crate) fn call(&self, name: &str, params: Params) -> Result<Value, WireError> {
        match METHODS.iter().find(|(known, _)| *known == name) {
            Some((_, operation)) => operation(self, params),
            None => Err(WireError::unknown_method(name)),
        }
    }
}

type Operation = fn(&Dispatch, Params) -> Result<Value, WireError>;

/// Every method with what answers it. `hello`, `stop` and `mcp.open` are the server's own.
const METHODS: &[(&str, Operation)] = &[
    (method::SESSION_APPEND, Dispatch::session_append),
    (method::SESSION_COMMIT, Dispatch::session_commit),
    (method::SESSION_LIST, Dispatch::session_list),
    (method::SESSION_GET, Dispatch::session_get),
    (method::SESSION_PREVIEW, Dispatch::session_preview),
    (method::SESSION_DIGEST, Dispatch::session_digest),
    (method::SESSION_EXTRACT, Dispatch::session_extract),
    (method::WORK_SET, Dispatch::work_set),
    (method::WORK_GET, Dispatch::work_get),
    (method::WORK_LIST, Dispatch::work_list),
    (method::WORK_CLEAR, Dispatch::work_clear),
    (method::TASK_SET, Dispatch::task_set),
    (method::TASK_LIST, Dispatch::task_list),
    (method::RECALL_SEARCH, Dispatch::recall_search),
    (method::RECALL_BRIEF, Dispatch::recall_brief),
    (method::RECALL_PROMPT, Dispatch::recall_prompt),
    (method::RECALL_RECOVER, Dispatch::recall_recover),
    (method::RECALL_CONTEXT, Dispatch::recall_context),
    (method::RECALL_ROSTER, Dispatch::recall_roster),
    (method::MEMORY_ADD, Dispatch::memory_add),
    (method::MEMORY_GET, Dispatch::memory_get),
    (method::MEMORY_LIST, Dispatch::memory_list),
    (method::MEMORY_EDIT, Dispatch::memory_edit),
    (method::MEMORY_PIN, Dispatch::memory_pin),
    (method::MEMORY_FEEDBACK, Dispatch::memory_feedback),
    (method::MEMORY_CONFIRM, Dispatch::memory_confirm),
    (method::MEMORY_REVIEW, Dispatch::memory_review),
    (method::MEMORY_PROMOTE, Dispatch::memory_promote),
    (method::MEMORY_FORGET, Dispatch::memory_forget),
    (method::MEMORY_REINSTATE, Dispatch::memory_reinstate),
    (method::MEMORY_WHY, Dispatch::memory_why),
    (method::OFFICE_REVIEW, Dispatch::office_review),
    (method::OFFICE_PLAN, Dispatch::office_plan),
    (method::OFFICE_PROJECT, Dispatch::office_project),
    (method::OFFICE_LEARNED, Dispatch::office_learned),
    (method::OFFICE_FORGET, Dispatch::office_forget),
    (method::DREAM_RUN, Dispatch::dream_run),
    (method::DREAM_STATUS, Dispatch::dream_status),
    (method::DREAM_LOG, Dispatch::dream_log),
    (method::DREAM_SHOW, Dispatch::dream_show),
    (method::DREAM_UNDO, Dispatch::dream_undo),
    (method::PROJECT_LIST, Dispatch::project_list),
    (method::PROJECT_SHOW, Dispatch::project_show),
    (method::PROJECT_MERGE, Dispatch::project_merge),
    (method::PROJECT_SPLIT, Dispatch::project_split),
    (method::PROJECT_MOVE, Dispatch::project_move),
    (method::PROJECT_IGNORE, Dispatch::project_ignore),
    (method::PROJECT_FORGET, Dispatch::project_forget),
    (method::WORKSPACE_ADD, Dispatch::workspace_add),
    (method::WORKSPACE_LIST, Dispatch::workspace_list),
    (method::WORKSPACE_REMOVE, Dispatch::workspace_remove),
    (method::PAUSE, Dispatch::pause),
    (method::RESUME, Dispatch::resume),
    (method::STATUS, Dispatch::status),
    (method::CONFIG, Dispatch::config),
    (method::IMPORT, Dispatch::import),
    (method::EXPORT, Dispatch::export),
    (method::BACKUP, Dispatch::backup),
    (method::EVENTS, Dispatch::events),
];

/// An answer as JSON.
fn answer<T: Serialize>(value: &T) -> Result<Value, WireError> {
    serde_json::to_value(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        WireError::internal("the answer cannot be written")
    })
}

/// An engine's error in the words of the wire. Details go to the log.
fn told(error: EngineError) -> WireError {
    let kind = match error.problem {
        Problem::NotFound => ErrorKind::NotFound,
        Problem::Invalid => ErrorKind::Invalid,
        Problem::TooLarge => ErrorKind::TooLarge,
        Problem::Refused => ErrorKind::Refused,
        Problem::Busy => ErrorKind::Busy,
        Problem::Unavailable => ErrorKind::Unavailable,
        Problem::Internal => ErrorKind::Internal,
    };
    if matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable) {
        tracing::warn!(error = %doze_engine::chain(&error), "an operation failed");
    }
    let wire = WireError::new(kind, error.message);
    if error.hint.is_empty() { wire } else { wire.with_hint(error.hint) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_method_of_the_protocol_is_answered() {
        let mut answered: Vec<&str> =
            Dispatch::methods().chain([method::HELLO, method::STOP, method::MCP_OPEN]).collect();
        let mut known = method::ALL.to_vec();
        answered.sort_unstable();
        known.sort_unstable();
        assert_eq!(answered, known);
    }

    /// The names of the fields of each `…Params` in a file of the protocol.
    fn parameters(text: &str) -> Vec<(String, Vec<String>)> {
        let structs = text.split("pub struct ").skip(1);
        structs
            .filter_map(|rest| {
                let (name, rest) = rest.split_once(" {")?;
                let (body, _) = rest.split_once("\n}")?;
                let fields =
                    body.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
                let fields = fields.map(|(field, _)| field.to_owned()).collect();
                name.ends_with("Params").then(|| (name.to_owned(), fields))
            })
            .collect()
    }

    #[test]
    fn every_parameter_that_is_taken_is_read() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut seen = 0;
        for file in [
            "dream",
            "mcp",
            "memory",
            "office",
            "project",
            "recall",
            "session",
            "system",
            "work",
            "workspace",
        ] {
            let read = |path: &str| std::fs::read_to_string(here.join(path)).unwrap();
            let protocol = read(&format!("../doze-protocol/src/{file}.rs"));
            let source = read(&format!("src/dispatch/{file}.rs"));
            for (name, fields) in parameters(&protocol) {
                let readers: Vec<&str> =
                    source.split("fn ").filter(|function| function.contains(&format!(": {name}"))).collect();
                assert!(!readers.is_empty(), "nobody reads {name}");
                for field in fields {
                    let access = format!("params.{field}");
                    let is_read = readers.iter().any(|function| {
                        function.match_indices(&access).any(|(at, _)| {
                            let after = function[at + access.len()..].chars().next();
                            after.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                        }) || function.replace([' ', '\n'], "").contains(&format!("params.{field}."))
                    });
                    assert!(is_read, "{name}.{field} is taken and never read");
                    seen += 1;
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
