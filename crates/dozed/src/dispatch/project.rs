//! `project.*`.

use doze_engine::Forget;
use doze_protocol::project::{
    ForgetParams, IgnoreParams, ListParams, MergeParams, MoveParams, NameParams, SplitParams,
};
use doze_protocol::{Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    pub(super) fn project_list(&self, params: Params) -> Result<Value, WireError> {
        let params: ListParams = parse_params(params)?;
        let limit = given::limit(params.limit, 100, 1_000)?;
        let cards = self.engine.projects(&self.owner).map_err(told)?;
        answer(&given::page(&cards, limit, params.cursor.as_deref(), wire::project)?)
    }

    pub(super) fn project_show(&self, params: Params) -> Result<Value, WireError> {
        let params: NameParams = parse_params(params)?;
        self.card(&named(params.project, params.cwd)?)
    }

    pub(super) fn project_merge(&self, params: Params) -> Result<Value, WireError> {
        let params: MergeParams = parse_params(params)?;
        let merged = self.engine.merge_projects(&self.owner, &params.from, &params.into).map_err(told)?;
        self.card(merged.id.as_str())
    }

    pub(super) fn project_split(&self, params: Params) -> Result<Value, WireError> {
        let params: SplitParams = parse_params(params)?;
        let part = self.engine.split_project(&self.owner, &params.project, &params.path).map_err(told)?;
        self.card(part.id.as_str())
    }

    pub(super) fn project_move(&self, params: Params) -> Result<Value, WireError> {
        let params: MoveParams = parse_params(params)?;
        let moved = self.engine.move_project(&self.owner, &params.project, &params.path).map_err(told)?;
        self.card(moved.id.as_str())
    }

    pub(super) fn project_ignore(&self, params: Params) -> Result<Value, WireError> {
        let params: IgnoreParams = parse_params(params)?;
        let project =
            self.engine.ignore_project(&self.owner, &params.project, params.ignored).map_err(told)?;
        self.card(project.id.as_str())
    }

    pub(super) fn project_forget(&self, params: Params) -> Result<Value, WireError> {
        let params: ForgetParams = parse_params(params)?;
        let project = named(params.project, params.cwd)?;
        let gone = self.engine.forget(&self.owner, &Forget::Project(project), params.human).map_err(told)?;
        answer(&wire::forgotten(gone))
    }

    fn card(&self, name: &str) -> Result<Value, WireError> {
        let card = self.engine.project_card(&self.owner, name).map_err(told)?;
        answer(&wire::project(&card))
    }
}

fn named(project: Option<String>, cwd: Option<String>) -> Result<String, WireError> {
    project.or(cwd).ok_or_else(|| WireError::invalid("project", "expected project or cwd"))
}
