//! `workspace.*`: folders of the user's in which dreams leave Markdown.

use serde::{Deserialize, Serialize};

/// `workspace.add`. Answers the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddParams {
    /// The folder, as a whole path. It has to be there.
    pub path: String,
    /// `agent`: all goes into `memory/DREAMING.md`; `code`: each memory into a file of `coding_memory`. Without it the
    /// session that a memory came from decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// `workspace.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ListParams {
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `workspace.remove`: nothing is written there any more, what stands there stays. Answers the workspace as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoveParams {
    /// The folder.
    pub path: String,
}

/// A workspace as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct WorkspaceRecord {
    /// The folder, without links.
    pub path: String,
    /// `agent` or `code`; null when sessions decide.
    pub mode: Option<String>,
    /// The id of its project; null until doze has seen one there.
    pub project: Option<String>,
    /// When it was added.
    pub added_at: String,
    /// Entries of doze's own that stand there now.
    pub entries: u64,
    /// Why the last attempt to write there failed.
    pub problem: Option<String>,
}
