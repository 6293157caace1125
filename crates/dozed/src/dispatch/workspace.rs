//! `workspace.*`.

use doze_core::model::Mode;
use doze_engine::Workspace;
use doze_protocol::workspace::{AddParams, ListParams, RemoveParams, WorkspaceRecord};
use doze_protocol::{Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told};

impl Dispatch {
    pub(super) fn workspace_add(&self, params: Params) -> Result<Value, WireError> {
        let params: AddParams = parse_params(params)?;
        let mode = given::word::<Mode>("mode", params.mode.as_ref())?;
        let added = self.engine.add_workspace(&self.owner, &params.path, mode).map_err(told)?;
        answer(&record(&added))
    }

    pub(super) fn workspace_list(&self, params: Params) -> Result<Value, WireError> {
        let params: ListParams = parse_params(params)?;
        let limit = given::limit(params.limit, 100, 1_000)?;
        let all = self.engine.workspaces(&self.owner).map_err(told)?;
        answer(&given::page(&all, limit, params.cursor.as_deref(), record)?)
    }

    pub(super) fn workspace_remove(&self, params: Params) -> Result<Value, WireError> {
        let params: RemoveParams = parse_params(params)?;
        let removed = self.engine.remove_workspace(&self.owner, &params.path).map_err(told)?;
        answer(&record(&removed))
    }
}

fn record(workspace: &Workspace) -> WorkspaceRecord {
    WorkspaceRecord {
        path: workspace.path.clone(),
        mode: workspace.mode.map(|mode| mode.to_string()),
        project: workspace.project.as_ref().map(ToString::to_string),
        added_at: workspace.added_at.to_string(),
        entries: workspace.entries,
        problem: workspace.problem.clone(),
    }
}
