//! `dream.*`.

use doze_core::model::{DreamId, Mode};
use doze_engine::DreamRequest;
use doze_protocol::dream::{DreamStatus, IdParams, LogParams, RunParams, UndoAnswer};
use doze_protocol::{List, Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    pub(super) fn dream_run(&self, params: Params) -> Result<Value, WireError> {
        let params: RunParams = parse_params(params)?;
        let request = DreamRequest {
            mode: given::word::<Mode>("mode", params.mode.as_ref())?,
            project: params.project.or(params.cwd),
            dry_run: params.dry_run,
            by_hand: true,
            because: String::new(),
            max_age_days: params.max_age_days,
        };
        let (engine, owner) = (self.engine.clone(), self.owner.clone());
        let dream = self.sweeps.run(move || engine.dream(&owner, &request)).map_err(told)?;
        answer(&wire::dream(&dream))
    }

    pub(super) fn dream_status(&self, _: Params) -> Result<Value, WireError> {
        answer(&self.dream_state()?)
    }

    pub(super) fn dream_state(&self) -> Result<DreamStatus, WireError> {
        let status = self.engine.dream_status(&self.owner).map_err(told)?;
        Ok(DreamStatus {
            last: status.last.map(|at| at.to_string()),
            next: status.next.map(|at| at.to_string()),
            last_result: status.last_result.map(|result| result.to_string()),
            last_why: status.last_why,
            why_not: status.why_not,
            last_id: status.last_id.map(|id| id.to_string()),
            running: status.running,
            waiting: status.waiting,
            broke_off: status.broke_off,
        })
    }

    pub(super) fn dream_log(&self, params: Params) -> Result<Value, WireError> {
        let params: LogParams = parse_params(params)?;
        let limit = given::limit(params.limit, 20, 500)?;
        let page = self.engine.dream_log(&self.owner, limit, params.cursor.as_deref()).map_err(told)?;
        answer(&List { items: page.items.iter().map(wire::dream_item).collect(), next: page.next })
    }

    /// The dream that a caller means, if it names one.
    fn dream_id(&self, given: Option<String>) -> Result<Option<DreamId>, WireError> {
        given.map(|given| self.engine.dream_id(&self.owner, &given)).transpose().map_err(told)
    }

    pub(super) fn dream_show(&self, params: Params) -> Result<Value, WireError> {
        let params: IdParams = parse_params(params)?;
        let id = self.dream_id(params.id)?;
        let dream = self.engine.dream_record(&self.owner, id.as_ref()).map_err(told)?;
        answer(&wire::dream(&dream))
    }

    pub(super) fn dream_undo(&self, params: Params) -> Result<Value, WireError> {
        let params: IdParams = parse_params(params)?;
        if params.human == Some(false) {
            return Err(WireError::refused("only a person takes a dream back")
                .with_hint("run the command yourself in a terminal"));
        }
        // Undoing is never a guess: the newest dream may be another one by now.
        let id = self.dream_id(params.id)?;
        let id = id.ok_or_else(|| WireError::invalid("id", "expected the id of a dream"))?;
        let undone = self.engine.undo_dream(&self.owner, Some(&id)).map_err(told)?;
        answer(&UndoAnswer {
            id: undone.id.to_string(),
            undone_at: undone.undone_at.map(|at| at.to_string()),
            restored: undone.restored.iter().map(ToString::to_string).collect(),
            confirmed_since: undone.confirmed_since.iter().map(ToString::to_string).collect(),
            left: wire::undo_left(&undone.left),
        })
    }
}
