//! `mcp.open`: from its answer on the connection carries MCP messages, one JSON object a line, in both directions.

use serde::{Deserialize, Serialize};

/// Opens a face for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct OpenParams {
    /// The face: `project`.
    pub face: String,
    /// The folder the agent works in. Its project is bound for the whole connection.
    pub cwd: String,
    /// The agent's program; empty when unknown.
    pub harness: String,
    /// `plan`, `review`, `accept` or `autonomous`; without it what the agent's hooks told last, else `review`.
    pub mode: Option<String>,
}

/// Answer to [`OpenParams`]: what follows it is MCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct OpenAnswer {
    /// The face.
    pub face: String,
}
