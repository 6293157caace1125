//! `work.*` and `task.*`: what is being done right now, and what a project has to do.

use serde::{Deserialize, Serialize};

use crate::common::{Agent, folder_or_none};

/// `work.set`: how a task stands. Fields that are given replace, the others stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetParams {
    /// The agent at work.
    pub agent: Agent,
    /// The folder it works in; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `running` (default for a new one), `interrupted`, `failed` or `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What was done so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<Vec<String>>,
    /// What is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Vec<String>>,
    /// Files touched so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_touched: Option<Vec<String>>,
    /// Files touched, in addition to those known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touch: Vec<String>,
    /// The orchestrator's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// What the agent was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_prompt: Option<String>,
    /// The last thing seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_activity: Option<String>,
    /// The mode the agent works in, as its harness told the hook; the tools over MCP follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

/// `work.get`, `work.list` and `work.clear`: which work is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct SelectParams {
    /// The agent; needed by `get` and `clear`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session; the newest that is not cleared when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How many, for `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on, for `list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A work state as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct WorkRecord {
    /// The agent at work.
    pub agent: Agent,
    /// The id of its project.
    pub project: Option<String>,
    /// The session, if one was named.
    pub session: Option<String>,
    /// `running`, `interrupted`, `failed` or `cancelled`.
    pub status: String,
    /// When the task began.
    pub started_at: String,
    /// When it was last told.
    pub updated_at: String,
    /// The orchestrator's task.
    pub task_id: Option<String>,
    /// What the agent was told.
    pub task_prompt: Option<String>,
    /// The folder.
    pub cwd: Option<String>,
    /// What was done so far.
    pub summary: String,
    /// What comes next.
    pub next_steps: Vec<String>,
    /// What is left.
    pub unfinished: Vec<String>,
    /// Files touched so far.
    pub files_touched: Vec<String>,
    /// The last thing seen.
    pub last_activity: Option<String>,
    /// Why the state was not kept, in the answer to `work.set` while doze keeps nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// Answer to `work.clear`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ClearAnswer {
    /// How many were cleared; 0 is no error.
    pub cleared: u64,
}

/// `task.set`: a task of a project (S1.33). Fields that are given replace, the others stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSetParams {
    /// The orchestrator's id.
    pub id: String,
    /// A short title; needed the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What was specified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// `todo` (default for a new one), `in_progress`, `review`, `done` or `dropped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// `task.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct TaskListParams {
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only tasks in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A task as it is answered, also by `task.set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct TaskRecord {
    /// The orchestrator's id.
    pub id: String,
    /// The id of its project.
    pub project: Option<String>,
    /// A short title.
    pub title: String,
    /// What was specified.
    pub spec: Option<String>,
    /// `todo`, `in_progress`, `review`, `done` or `dropped`.
    pub status: String,
    /// When it was first told.
    pub created_at: String,
    /// When it was last told.
    pub updated_at: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parse_params;

    #[test]
    fn what_is_not_given_is_told_apart_from_what_is_emptied() {
        let params: SetParams =
            parse_params(json!({"agent": "a", "cwd": "/x", "next_steps": [], "unfinished": null})).unwrap();
        assert_eq!(params.next_steps, Some(vec![]));
        assert_eq!(params.unfinished, None);
        assert_eq!(
            parse_params::<SetParams>(json!({"cwd": "/x"})).unwrap_err().message,
            "missing field `agent`"
        );
    }
}
