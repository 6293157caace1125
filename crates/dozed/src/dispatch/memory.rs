//! `memory.*`.

use doze_core::model::{AgentId, Face, Kind, MemoryId, Space, Status};
use doze_engine::{
    AddOutcome, EditRequest, Forget, ListRequest, MemoryRequest, SessionName, StatusFilter, Verdict,
};
use doze_protocol::memory::{
    AddAnswer, AddParams, ConfirmParams, EditParams, FeedbackParams, ForgetParams, IdParams, ListParams,
    PinParams, PromoteAnswer, PromoteParams, ReinstateParams, ReviewParams, WhyAnswer, WhyChange, WhyEvent,
};
use doze_protocol::{List, Params, WireError, bounds, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    /// The memory that a caller means.
    fn memory_id(&self, given: &str) -> Result<MemoryId, WireError> {
        self.engine.memory_id(&self.owner, given).map_err(told)
    }

    pub(super) fn memory_add(&self, params: Params) -> Result<Value, WireError> {
        let params: AddParams = parse_params(params)?;
        let request = MemoryRequest {
            title: params.title,
            body: params.body,
            kind: given::word::<Kind>("kind", params.kind.as_ref())?,
            native_kind: params.native_kind,
            face: given::word::<Face>("face", params.face.as_ref())?,
            space: given::word::<Space>("space", params.space.as_ref())?,
            agent: params.agent.as_ref().map(given::agent),
            reader: given::reader(params.agent.as_ref(), params.cwd, params.project, None)?,
            topic_key: params.topic_key,
            files: params.files.map(|lines| lines.0).unwrap_or_default(),
            tags: params.tags.map(|lines| lines.0).unwrap_or_default(),
            confidence: params.confidence,
            by_person: params.human,
            propose: false,
        };
        let added = self.engine.add(&self.owner, &request).map_err(told)?;
        let outcome = match added.outcome {
            AddOutcome::Added => "added",
            AddOutcome::Reinforced => "reinforced",
            AddOutcome::Superseded => "superseded",
            AddOutcome::Merged => "merged",
            AddOutcome::Proposed => "proposed",
        };
        answer(&AddAnswer {
            id: added.memory.id.to_string(),
            outcome: outcome.to_owned(),
            memory: wire::memory(&added.memory),
            redacted: added.redacted,
            silence: added.silence.map(|silence| silence.as_str().to_owned()),
        })
    }

    pub(super) fn memory_get(&self, params: Params) -> Result<Value, WireError> {
        let params: IdParams = parse_params(params)?;
        let memory = self.engine.memory(&self.owner, &self.memory_id(&params.id)?).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_list(&self, params: Params) -> Result<Value, WireError> {
        let params: ListParams = parse_params(params)?;
        let status = match params.status.as_deref() {
            None => StatusFilter::Active,
            Some("all") => StatusFilter::All,
            Some(word) => StatusFilter::Only(doze_protocol::parse_field::<Status>("status", word)?),
        };
        let request = ListRequest {
            reader: given::reader(params.agent.as_ref(), params.cwd, params.project, params.spaces.as_ref())?,
            everywhere: params.everywhere,
            kinds: given::words::<Kind>("kinds", params.kinds.as_ref())?,
            status,
            text: params.q.filter(|text| !text.trim().is_empty()),
            since: given::since(params.since.as_ref())?,
            until: given::until(params.until.as_ref())?,
            limit: given::limit(params.limit, bounds::LIST_LIMIT_DEFAULT, bounds::LIST_LIMIT_MAX)?,
            cursor: params.cursor,
        };
        let page = self.engine.memories(&self.owner, &request).map_err(told)?;
        answer(&List { items: page.items.iter().map(wire::memory).collect(), next: page.next })
    }

    pub(super) fn memory_edit(&self, params: Params) -> Result<Value, WireError> {
        let params: EditParams = parse_params(params)?;
        let request = EditRequest {
            title: params.title,
            body: params.body,
            kind: given::word::<Kind>("kind", params.kind.as_ref())?,
            topic_key: params.topic_key,
            tags: params.tags.map(|lines| lines.0),
            files: params.files.map(|lines| lines.0),
        };
        let id = self.memory_id(&params.id)?;
        let memory = self.engine.edit(&self.owner, &id, &request, params.human).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_pin(&self, params: Params) -> Result<Value, WireError> {
        let params: PinParams = parse_params(params)?;
        let id = self.memory_id(&params.id)?;
        let memory = self.engine.pin(&self.owner, &id, params.pinned, params.human).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_feedback(&self, params: Params) -> Result<Value, WireError> {
        let params: FeedbackParams = parse_params(params)?;
        let verdict = match params.verdict.as_str() {
            "helpful" => Verdict::Helpful,
            "wrong" => Verdict::Wrong,
            "stale" => Verdict::Stale,
            _ => return Err(WireError::invalid("verdict", "expected helpful, wrong or stale")),
        };
        let id = self.memory_id(&params.id)?;
        let memory = self.engine.feedback(&self.owner, &id, verdict, params.human).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_confirm(&self, params: Params) -> Result<Value, WireError> {
        let params: ConfirmParams = parse_params(params)?;
        let agent = AgentId::new(params.agent.id.clone());
        let memory = match (params.id, params.body) {
            (Some(id), _) => self.engine.confirm(&self.owner, &self.memory_id(&id)?, &agent),
            (None, Some(body)) => {
                let reader = given::reader(None, params.cwd, params.project, None)?;
                self.engine.confirm_words(&self.owner, &reader, &body, &agent)
            }
            (None, None) => return Err(WireError::invalid("id", "expected id or body")),
        };
        answer(&wire::memory(&memory.map_err(told)?))
    }

    pub(super) fn memory_review(&self, params: Params) -> Result<Value, WireError> {
        let params: ReviewParams = parse_params(params)?;
        let id = self.memory_id(&params.id)?;
        let memory = self.engine.review(&self.owner, &id, params.accept, params.human).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_promote(&self, params: Params) -> Result<Value, WireError> {
        let params: PromoteParams = parse_params(params)?;
        let id = self.memory_id(&params.id)?;
        let reader = given::reader(None, params.cwd, None, None)?;
        let done =
            self.engine.promote(&self.owner, &id, &params.path, &reader, params.human).map_err(told)?;
        answer(&PromoteAnswer {
            id: id.to_string(),
            path: done.path,
            outcome: if done.is_new { "added" } else { "known" }.to_owned(),
            line: done.line,
        })
    }

    pub(super) fn memory_forget(&self, params: Params) -> Result<Value, WireError> {
        let params: ForgetParams = parse_params(params)?;
        let what = match (params.id, params.session, params.project, params.all) {
            (Some(id), None, None, false) => Forget::Memory(self.memory_id(&id)?),
            (None, Some(session), None, false) => {
                let agent = params.agent.map(Into::into);
                let (harness, project) = (params.harness, params.in_project);
                let session = SessionName { session, harness, agent, project, cwd: None };
                Forget::Session { session, memories: params.memories }
            }
            (None, None, Some(project), false) => Forget::Project(project),
            (None, None, None, true) => Forget::All,
            _ => return Err(WireError::invalid("id", "expected exactly one of id, session, project, all")),
        };
        let gone = self.engine.forget(&self.owner, &what, params.human).map_err(told)?;
        answer(&wire::forgotten(gone))
    }

    pub(super) fn memory_reinstate(&self, params: Params) -> Result<Value, WireError> {
        let params: ReinstateParams = parse_params(params)?;
        let id = self.memory_id(&params.id)?;
        let memory = self.engine.reinstate(&self.owner, &id, params.human).map_err(told)?;
        answer(&wire::memory(&memory))
    }

    pub(super) fn memory_why(&self, params: Params) -> Result<Value, WireError> {
        let params: IdParams = parse_params(params)?;
        let why = self.engine.why(&self.owner, &self.memory_id(&params.id)?).map_err(told)?;
        answer(&WhyAnswer {
            memory: wire::memory(&why.memory),
            events: why
                .evidence
                .into_iter()
                .map(|line| WhyEvent {
                    event: line.event,
                    at: line.at.map(|at| at.to_string()),
                    kind: line.kind,
                    origin: line.origin,
                    text: line.quote,
                })
                .collect(),
            merges: why
                .history
                .into_iter()
                .map(|step| WhyChange {
                    at: Some(step.at.to_string()),
                    op: step.op.to_string(),
                    dream: step.dream.map(|id| id.to_string()),
                    because: step.because,
                })
                .collect(),
            injections: why.shown,
            scores: why.scores,
            retires: why.retires,
        })
    }
}
