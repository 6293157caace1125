//! `project.*`: what belongs together.

use serde::{Deserialize, Serialize};

use crate::common::folder_or_none;

/// `project.list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ListParams {
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Names one project: `project.show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct NameParams {
    /// Its id, name or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A folder of it.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// `project.forget`: deletes everything of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ForgetParams {
    /// Its id, name or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A folder of it.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A person asks; nobody else forgets more than one memory at once.
    #[serde(default)]
    pub human: bool,
}

/// `project.merge`: `from` becomes part of `into`. Answers `into`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeParams {
    /// The project that goes away, by id, name or path.
    pub from: String,
    /// The project that stays, by id, name or path.
    pub into: String,
}

/// `project.split`: the folder `path` becomes a project of its own. Answers the new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitParams {
    /// The project it is taken out of, by id, name or path.
    pub project: String,
    /// The folder, or an alias, that becomes a project.
    pub path: String,
}

/// `project.move`: the project's folder is now `path`. Answers the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveParams {
    /// The project, by id, name or path.
    pub project: String,
    /// Its new folder.
    pub path: String,
}

/// `project.ignore`: nothing is captured from it and nothing injected into it. Answers the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoreParams {
    /// The project, by id, name or path.
    pub project: String,
    /// False ends it.
    #[serde(default = "yes")]
    pub ignored: bool,
}

fn yes() -> bool {
    true
}

/// A project as it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ProjectRecord {
    /// Minted once.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The folder it was last seen in.
    pub root: String,
    /// What it can be recognised by.
    pub aliases: Vec<String>,
    /// When it was first seen.
    pub created_at: String,
    /// Nothing is captured from it.
    pub ignored: bool,
    /// Its active memories.
    pub memories: u64,
    /// Its sessions.
    pub sessions: u64,
}
