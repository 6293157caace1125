//! `work.*` and `task.*`.

use doze_core::model::WorkStatus;
use doze_engine::{TaskRequest, TaskStatus, WorkRequest};
use doze_protocol::work::{ClearAnswer, SelectParams, SetParams, TaskListParams, TaskSetParams, WorkRecord};
use doze_protocol::{Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    pub(super) fn work_set(&self, params: Params) -> Result<Value, WireError> {
        let params: SetParams = parse_params(params)?;
        let reader = given::reader(Some(&params.agent), params.cwd, params.project, None)?;
        self.note_mode(
            &reader,
            Some(&params.agent),
            params.session.as_deref(),
            params.permission_mode.as_deref(),
        )?;
        let request = WorkRequest {
            agent: Some(given::agent(&params.agent)),
            reader,
            session: params.session,
            status: given::word::<WorkStatus>("status", params.status.as_ref())?,
            summary: params.summary,
            next_steps: params.next_steps,
            unfinished: params.unfinished,
            files_touched: params.files_touched,
            touch: params.touch,
            task_id: params.task_id,
            task_prompt: params.task_prompt,
            last_activity: params.last_activity,
        };
        let done = self.engine.set_work(&self.owner, &request).map_err(told)?;
        answer(&WorkRecord { skipped: done.skipped, ..wire::work(&done.work) })
    }

    pub(super) fn work_get(&self, params: Params) -> Result<Value, WireError> {
        let params: SelectParams = parse_params(params)?;
        let reader = given::reader(params.agent.as_ref(), params.cwd, params.project, None)?;
        let work = self.engine.work(&self.owner, &reader, params.session.as_deref()).map_err(told)?;
        answer(&wire::work(&work))
    }

    pub(super) fn work_list(&self, params: Params) -> Result<Value, WireError> {
        let params: SelectParams = parse_params(params)?;
        let reader = given::reader(params.agent.as_ref(), params.cwd, params.project, None)?;
        let works = self.engine.works(&self.owner, &reader).map_err(told)?;
        let limit = given::limit(params.limit, 100, 500)?;
        answer(&given::page(&works, limit, params.cursor.as_deref(), wire::work)?)
    }

    pub(super) fn work_clear(&self, params: Params) -> Result<Value, WireError> {
        let params: SelectParams = parse_params(params)?;
        let reader = given::reader(params.agent.as_ref(), params.cwd, params.project, None)?;
        let cleared =
            self.engine.clear_work(&self.owner, &reader, params.session.as_deref()).map_err(told)?;
        answer(&ClearAnswer { cleared: cleared as u64 })
    }

    pub(super) fn task_set(&self, params: Params) -> Result<Value, WireError> {
        let params: TaskSetParams = parse_params(params)?;
        let reader = given::reader(None, params.cwd, params.project, None)?;
        let request = TaskRequest {
            id: params.id,
            title: params.title,
            spec: params.spec,
            status: given::word::<TaskStatus>("status", params.status.as_ref())?,
        };
        let task = self.engine.set_task(&self.owner, &reader, &request).map_err(told)?;
        answer(&wire::task(&task))
    }

    pub(super) fn task_list(&self, params: Params) -> Result<Value, WireError> {
        let params: TaskListParams = parse_params(params)?;
        let reader = given::reader(None, params.cwd, params.project, None)?;
        let status = given::word::<TaskStatus>("status", params.status.as_ref())?;
        let limit = given::limit(params.limit, 100, 1_000)?;
        let mut tasks = self.engine.tasks(&self.owner, &reader).map_err(told)?;
        tasks.retain(|task| status.is_none_or(|status| task.status == status));
        answer(&given::page(&tasks, limit, params.cursor.as_deref(), wire::task)?)
    }
}
