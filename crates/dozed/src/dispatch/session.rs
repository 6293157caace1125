//! `session.*`.

use doze_core::model::{
    Event, EventId, EventKind, Mode, Origin, Outcome, SessionEnd, SessionKind, TaskRef, Tokens, ToolUse,
};
use doze_engine::{CommitRequest, Preview, SessionListRequest, SessionName, TranscriptRef, Who};
use doze_protocol::session as wire_session;
use doze_protocol::session::{
    AppendAnswer, AppendParams, CommitAnswer, CommitParams, DigestAnswer, DigestParams, ExtractAnswer,
    ExtractParams, GetParams, ListParams, PreviewAnswer, PreviewParams,
};
use doze_protocol::{Agent, List, Params, WireError, parse_field, parse_params};
use serde_json::{Map, Value, json};

use super::{Dispatch, answer, given, told, wire};

impl Dispatch {
    pub(super) fn session_append(&self, params: Params) -> Result<Value, WireError> {
        let params: AppendParams = parse_params(params)?;
        let commit = CommitParams {
            project: params.project,
            mode: params.mode,
            kind: params.kind,
            events: params.events,
            ..CommitParams::new(params.session, params.agent, params.cwd)
        };
        let appended = self.engine.append(&self.owner, commit_request(commit)?).map_err(told)?;
        answer(&AppendAnswer {
            session: appended.session,
            project: appended.project,
            seq: appended.seq,
            events: event_counts(appended.events),
            redacted: appended.redacted,
            cut: appended.cut,
        })
    }

    pub(super) fn session_commit(&self, params: Params) -> Result<Value, WireError> {
        let params: CommitParams = parse_params(params)?;
        let done = self.engine.commit(&self.owner, commit_request(params)?).map_err(told)?;
        answer(&CommitAnswer {
            session: done.session,
            project: done.project,
            seq: done.seq,
            summary: wire::commit_summary(&done.summary),
            facts: wire_session::FactCounts {
                added: done.facts.added,
                reinforced: done.facts.reinforced,
                promoted: done.facts.promoted,
            },
            events: event_counts(done.events),
            redacted: done.redacted,
            cut: done.cut,
            extraction: done.extraction,
        })
    }

    pub(super) fn session_list(&self, params: Params) -> Result<Value, WireError> {
        let params: ListParams = parse_params(params)?;
        let office = match params.face.as_deref() {
            None => false,
            Some("office") => true,
            Some(other) => {
                return Err(WireError::invalid(
                    "face",
                    format!("{other:?} has no sessions of its own, only office"),
                ));
            }
        };
        let request = SessionListRequest {
            reader: given::reader(params.agent.as_ref(), params.cwd, params.project, None)?,
            office,
            since: given::since(params.since.as_ref())?,
            until: given::until(params.until.as_ref())?,
            failed: params.failed,
            limit: given::limit(params.limit, 30, 500)?,
            cursor: params.cursor,
        };
        let page = self.engine.sessions(&self.owner, &request).map_err(told)?;
        let mut items: Vec<_> = page.items.iter().map(wire::session_item).collect();
        if params.extraction {
            let stand = self.engine.extractions_of(&self.owner, &page.items).map_err(told)?;
            for (item, extraction) in items.iter_mut().zip(stand) {
                item.extraction = Some(wire::extraction(extraction));
            }
        }
        answer(&List { items, next: page.next })
    }

    pub(super) fn session_get(&self, params: Params) -> Result<Value, WireError> {
        let params: GetParams = parse_params(params)?;
        let named = meant(params.session, params.agent, params.harness, params.cwd, params.in_project);
        let session = self.engine.session(&self.owner, named).map_err(told)?;
        let stand = self.engine.extractions_of(&self.owner, std::slice::from_ref(&session)).map_err(told)?;
        let extraction = stand.into_iter().next().map(wire::extraction).unwrap_or_default();
        answer(&wire::session(&session, extraction))
    }

    pub(super) fn session_digest(&self, params: Params) -> Result<Value, WireError> {
        let params: DigestParams = parse_params(params)?;
        if let Some(Err(expected)) = params.extractor.as_deref().map(str::parse::<Who>) {
            return Err(WireError::invalid("extractor", expected));
        }
        let session = params.session.clone();
        let named = meant(params.session, params.agent, params.harness, params.cwd, params.in_project);
        let text = self.engine.digest(&self.owner, named).map_err(told)?;
        let tokens = doze_core::tokens::estimate(&text) as u64;
        answer(&DigestAnswer { session, text, tokens })
    }

    pub(super) fn session_extract(&self, params: Params) -> Result<Value, WireError> {
        let params: ExtractParams = parse_params(params)?;
        let named = meant(params.session, params.agent, params.harness, params.cwd, params.in_project);
        let queued = self.engine.extract_again(&self.owner, named).map_err(told)?;
        answer(&ExtractAnswer {
            session: queued.session,
            extraction: queued.extraction,
            paused_until: queued.paused_until.map(|until| until.to_string()),
            spent_until: queued.spent_until.map(|until| until.to_string()),
        })
    }

    pub(super) fn session_preview(&self, params: Params) -> Result<Value, WireError> {
        let params: PreviewParams = parse_params(params)?;
        let preview =
            self.engine.preview(&params.path, params.format.as_deref(), params.events).map_err(told)?;
        let events = preview.events.as_ref().map(|events| events.iter().map(wire::event).collect());
        answer(&PreviewAnswer { counts: counts(&preview), events })
    }
}

/// A session as the parameters of a call name it.
fn meant(
    session: String,
    agent: Option<Agent>,
    harness: Option<String>,
    cwd: Option<String>,
    project: Option<String>,
) -> SessionName {
    SessionName { session, harness, agent: agent.map(|agent| agent.id.into()), project, cwd }
}

fn event_counts(counts: doze_engine::EventCounts) -> wire_session::EventCounts {
    wire_session::EventCounts { new: counts.new, known: counts.known, skipped: counts.skipped }
}

fn commit_request(params: CommitParams) -> Result<CommitRequest, WireError> {
    let events = params
        .events
        .into_iter()
        .enumerate()
        .map(|(at, event)| read_event(event, at))
        .collect::<Result<_, _>>()?;
    Ok(CommitRequest {
        session: params.session,
        commit_id: params.commit_id,
        end: given::word::<SessionEnd>("end", params.end.as_ref())?.unwrap_or(SessionEnd::Session),
        agent: given::agent(&params.agent),
        cwd: params.cwd,
        project: params.project,
        mode: given::word::<Mode>("mode", params.mode.as_ref())?,
        kind: given::word::<SessionKind>("kind", params.kind.as_ref())?,
        outcome: given::word::<Outcome>("outcome", params.outcome.as_ref())?,
        summary: params.summary,
        output: params.output,
        changed_files: params.changed_files,
        tokens: params.tokens.map(|tokens| Tokens { input: tokens.input, output: tokens.output }),
        task: params.task.map(|task| TaskRef {
            id: task.id,
            title: task.title,
            spec: task.spec,
            prompt: task.prompt,
        }),
        team: params.team,
        events,
        transcript: params
            .transcript
            .map(|transcript| TranscriptRef { path: transcript.path, format: transcript.format }),
    })
}

fn read_event(event: wire_session::Event, at: usize) -> Result<Event, WireError> {
    let field = |name: &str| format!("events[{at}].{name}");
    let kind: EventKind = parse_field(&field("type"), &event.kind)?;
    let usual = match kind {
        EventKind::Prompt => Origin::Person,
        EventKind::Tool => Origin::Tool,
        _ => Origin::Agent,
    };
    let origin = match &event.origin {
        Some(origin) => parse_field(&field("origin"), origin)?,
        None => usual,
    };
    let time = event.at.as_deref().map(|text| given::time(&field("at"), text)).transpose()?;
    let tool = event.tool.map(|tool| {
        let input = tool.input.into_text();
        let input = input.map_err(|error| WireError::invalid(&field("tool.input"), error.to_string()))?;
        Ok(ToolUse { name: tool.name, input, output: tool.output, failed: tool.failed })
    });
    Ok(Event {
        id: EventId::new(event.id.unwrap_or_default()),
        at: time,
        kind,
        origin,
        text: event.text,
        tool: tool.transpose()?,
        path: event.path,
        cwd: event.cwd,
    })
}

/// The counts under the column names that outsiders know.
fn counts(preview: &Preview) -> Map<String, Value> {
    let (meta, counts) = (&preview.report.meta, &preview.report.counts);
    let value = json!({
        "format": preview.report.format.as_str(),
        "records": counts.records,
        "bad_lines": counts.bad_lines,
        "skipped_long_lines": counts.skipped_long_lines,
        "session_id": meta.session_id,
        "sessions": meta.sessions,
        "version": meta.version,
        "user_prompts": counts.user_prompts,
        "slash_commands": counts.slash_commands,
        "queued_prompts": counts.queued_prompts,
        "assistant_turns": counts.assistant_turns,
        "tool_calls": counts.tool_calls,
        "sidechain_tools": counts.sidechain_tools,
        "compactions": counts.compactions,
        "files_changed": counts.files_changed,
        "commits": counts.commits,
        "tokens_in": counts.tokens_in,
        "tokens_out": counts.tokens_out,
        "tokens_cache_write": counts.tokens_cache_write,
        "tokens_cache_read": counts.tokens_cache_read,
        "model": meta.model,
        "start": meta.start,
        "end": meta.end,
        "cwd": meta.cwd,
        "cwds": meta.cwds,
        "git_branch": meta.git_branch,
        "branches": meta.branches,
        "first_prompt": counts.first_prompt,
    });
    match value {
        Value::Object(counts) => counts,
        _ => Map::new(),
    }
}
