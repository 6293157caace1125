//! `recall.*`.

use doze_core::model::{AgentId, Kind, Memory, Session};
use doze_core::promote::text_of;
use doze_core::rank::Profile;
use doze_core::render::recovery;
use doze_core::render::roster::RosterAgent;
use doze_engine::{BriefRequest, ContextRequest, RecoverRequest, SearchRequest, SemanticState};
use doze_protocol::recall::{
    BriefParams, ContextAnswer, ContextParams, FactLine, LegacyMessage, LegacyRecovery, PromptParams,
    RecoverAnswer, RecoverParams, RosterAnswer, RosterEntry, RosterParams, SearchAnswer, SearchParams,
    SessionLine,
};
use doze_protocol::{Params, WireError, bounds, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    pub(super) fn recall_search(&self, params: Params) -> Result<Value, WireError> {
        let params: SearchParams = parse_params(params)?;
        let request = SearchRequest {
            reader: given::reader(params.agent.as_ref(), params.cwd, params.project, params.spaces.as_ref())?,
            everywhere: params.everywhere,
            query: params.query,
            kinds: given::words::<Kind>("kinds", params.kinds.as_ref())?,
            profile: given::word::<Profile>("profile", params.profile.as_ref())?,
            limit: given::limit(params.limit, bounds::SEARCH_LIMIT_DEFAULT, bounds::SEARCH_LIMIT_MAX)?,
            since: given::since(params.since.as_ref())?,
            until: given::until(params.until.as_ref())?,
            superseded: params.superseded,
            history: params.history,
        };
        let found = self.engine.search(&self.owner, &request).map_err(told)?;
        let semantic = match found.semantic {
            SemanticState::On => "on",
            SemanticState::Off => "off",
            SemanticState::Loading => "loading",
            SemanticState::Timeout => "timeout",
            SemanticState::Failed => "failed",
        };
        answer(&SearchAnswer {
            hits: found.hits.iter().map(|hit| wire::hit(hit, params.explain)).collect(),
            took_ms: u64::try_from(found.took.as_millis()).unwrap_or(u64::MAX),
            lexical: if found.lexical_failed { "failed" } else { "on" }.to_owned(),
            semantic: semantic.to_owned(),
        })
    }

    pub(super) fn recall_brief(&self, params: Params) -> Result<Value, WireError> {
        let params: BriefParams = parse_params(params)?;
        if params.last {
            let told = self.engine.last_brief(&self.owner, params.session.as_deref()).map_err(told)?;
            return answer(&wire::text(&told));
        }
        let budget = params.budget.map(budget).transpose()?;
        let reader = given::reader(params.agent.as_ref(), params.cwd, params.project, None)?;
        self.note_mode(
            &reader,
            params.agent.as_ref(),
            params.session.as_deref(),
            params.permission_mode.as_deref(),
        )?;
        let request = BriefRequest {
            reader,
            budget,
            session: params.session,
            source: params.source,
            inject: params.inject,
        };
        let brief = self.engine.brief(&self.owner, &request).map_err(told)?;
        answer(&wire::text(&brief))
    }

    pub(super) fn recall_prompt(&self, params: Params) -> Result<Value, WireError> {
        let params: PromptParams = parse_params(params)?;
        let reader = given::reader(params.agent.as_ref(), params.cwd, None, None)?;
        self.note_mode(
            &reader,
            params.agent.as_ref(),
            params.session.as_deref(),
            params.permission_mode.as_deref(),
        )?;
        let found = self
            .engine
            .prompt(&self.owner, &reader, params.session.as_deref(), &params.prompt)
            .map_err(told)?;
        answer(&wire::text(&found))
    }

    pub(super) fn recall_recover(&self, params: Params) -> Result<Value, WireError> {
        let params: RecoverParams = parse_params(params)?;
        let wants_legacy = params.legacy.is_some();
        let request = RecoverRequest {
            reader: given::reader(Some(&params.agent), params.cwd, params.project, None)?,
            session: params.session,
            legacy: params.legacy.map(legacy),
        };
        let found = self.engine.recover(&self.owner, &request).map_err(told)?;
        let old = found.parts.as_ref().filter(|_| wants_legacy);
        let legacy = old.map(|parts| old_form(parts.old_form(&found.messages)));
        answer(&RecoverAnswer {
            text: found.told.text,
            tokens: found.told.tokens as u64,
            session: found.session,
            task: found.parts.map(|parts| parts.task).filter(|task| !task.is_empty()),
            work: found.work.as_ref().map(wire::work),
            summary: found.summary.as_ref().map(wire::commit_summary),
            others: found.others,
            messages: messages(&found.messages),
            legacy,
        })
    }

    pub(super) fn recall_context(&self, params: Params) -> Result<Value, WireError> {
        let params: ContextParams = parse_params(params)?;
        let request = ContextRequest {
            reader: given::reader(Some(&params.agent), params.cwd, params.project, None)?,
            budget: params.budget.map(budget).transpose()?,
        };
        let context = self.engine.context(&self.owner, &request).map_err(told)?;
        let text = wire::text(&context.told);
        answer(&ContextAnswer {
            text: text.text,
            tokens: text.tokens,
            memories: text.memories,
            facts: context.facts.iter().map(fact_line).collect(),
            shared: context.shared.iter().map(fact_line).collect(),
            sessions: context.sessions.into_iter().filter_map(session_line).collect(),
        })
    }

    pub(super) fn recall_roster(&self, params: Params) -> Result<Value, WireError> {
        let params: RosterParams = parse_params(params)?;
        let reader = given::reader(None, params.cwd, params.project, None)?;
        let agents: Vec<AgentId> =
            params.agents.map(|lines| lines.0).unwrap_or_default().into_iter().map(AgentId::new).collect();
        let roster = self.engine.roster(&self.owner, &reader, &agents).map_err(told)?;
        answer(&RosterAnswer {
            text: roster.told.text,
            tokens: roster.told.tokens as u64,
            agents: roster.agents.into_iter().map(roster_entry).collect(),
            more: roster.more as u64,
        })
    }
}

/// A budget in tokens, of a brief or a context.
fn budget(given: u64) -> Result<usize, WireError> {
    let (min, max) = (bounds::BUDGET_TOKENS_MIN, bounds::BUDGET_TOKENS_MAX);
    let budget = usize::try_from(given).ok().filter(|budget| (min..=max).contains(budget));
    budget.ok_or_else(|| WireError::invalid("budget", format!("{given} is outside {min} to {max}")))
}

fn legacy(given: LegacyRecovery) -> recovery::LegacyRecovery {
    recovery::LegacyRecovery {
        original_task: given.original_task,
        phase: given.phase,
        last_result: given.last_result,
        recent_messages: given
            .recent_messages
            .unwrap_or_default()
            .into_iter()
            .map(|message| recovery::LegacyMessage { from_user: message.role == "user", text: message.text })
            .collect(),
    }
}

/// The old RecoveryContext, made of what is known now.
fn old_form(known: recovery::LegacyRecovery) -> LegacyRecovery {
    LegacyRecovery {
        original_task: known.original_task,
        phase: known.phase,
        last_result: known.last_result,
        recent_messages: Some(messages(&known.recent_messages)).filter(|messages| !messages.is_empty()),
    }
}

fn messages(known: &[recovery::LegacyMessage]) -> Vec<LegacyMessage> {
    known
        .iter()
        .map(|message| LegacyMessage {
            role: if message.from_user { "user" } else { "assistant" }.to_owned(),
            text: message.text.clone(),
        })
        .collect()
}

fn fact_line(memory: &Memory) -> FactLine {
    FactLine {
        id: memory.id.to_string(),
        fact: text_of(memory).to_owned(),
        category: memory.native_kind.clone(),
        reinforce_count: memory.reinforce_count,
        confirmed_by: memory.confirmed_by.clone(),
    }
}

fn session_line(session: Session) -> Option<SessionLine> {
    let summary = session.summary?;
    Some(SessionLine {
        session: session.key.session,
        at: session.last_event_at.to_string(),
        what: summary.what,
        files_changed: summary.files_changed,
    })
}

fn roster_entry(agent: RosterAgent) -> RosterEntry {
    let last = agent.last;
    RosterEntry {
        name: agent.name,
        at: last.as_ref().map(|last| last.at.to_string()),
        outcome: last.as_ref().map(|last| last.outcome.to_string()),
        commit: last.as_ref().and_then(|last| last.commit.clone()),
        what: last.map(|last| last.what),
    }
}
