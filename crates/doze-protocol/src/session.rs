//! `session.*`: what agents did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::common::{Agent, Json, folder, folder_or_none, is_zero, text_or_json, text_or_null};

/// One event as a caller tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(expecting = "struct Event")]
pub struct Event {
    /// Unique within the session; derived from the content when not given, so that the same words in a later call are the
    /// same event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it happened, RFC 3339 with an offset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// `prompt`, `answer`, `tool`, `file`, `commit` or `notice`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What was said.
    #[serde(default, deserialize_with = "text_or_null")]
    pub text: String,
    /// `person`, `agent`, `tool`, `web` or `injected`; follows from the type when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The tool call, for type `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolCall>,
    /// The file, for type `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The folder it happened in, where it differs from the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// A tool call with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ToolCall {
    /// The tool's name as the harness spells it.
    pub name: String,
    /// Its input, any JSON.
    #[serde(default)]
    pub input: Json,
    /// What it answered; anything but a string is kept as JSON text.
    #[serde(default, deserialize_with = "text_or_json")]
    pub output: String,
    /// Whether it failed or was refused.
    #[serde(default)]
    pub failed: bool,
}

/// Token counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Tokens {
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

/// The task a session worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Task {
    /// The orchestrator's id.
    #[serde(default, deserialize_with = "text_or_null")]
    pub id: String,
    /// A short title.
    #[serde(default, deserialize_with = "text_or_null")]
    pub title: String,
    /// What was specified.
    #[serde(default, deserialize_with = "text_or_null")]
    pub spec: String,
    /// What the agent was told.
    #[serde(default, deserialize_with = "text_or_null")]
    pub prompt: String,
}

/// A session file to read instead of, or beside, events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Where it lies.
    pub path: String,
    /// Its format; `auto` looks at the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// `session.append`: events of a session that goes on. Idempotent by event id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AppendParams {
    /// The session's id as its harness spells it.
    pub session: String,
    /// Who runs it.
    pub agent: Agent,
    /// The folder it runs in.
    #[serde(deserialize_with = "folder")]
    pub cwd: String,
    /// What happened, oldest first.
    #[serde(default)]
    pub events: Vec<Event>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// As in [`CommitParams::mode`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// As in [`CommitParams::kind`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Answer to [`AppendParams`], sent when durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AppendAnswer {
    /// The session.
    pub session: String,
    /// The project it ran in.
    pub project: Option<String>,
    /// The change-log number it became durable under.
    pub seq: u64,
    /// What became of the events.
    pub events: EventCounts,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
    /// Texts too long to keep whole: the middle is left out, with a mark where it stood.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
}

/// What became of the events of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct EventCounts {
    /// Not seen before.
    pub new: u64,
    /// Seen before in this project.
    pub known: u64,
    /// Left out (our own output, private, empty, unreadable).
    pub skipped: u64,
}

/// `session.commit`: the end of a turn or a session. All but `session`, `agent` and `cwd` are optional.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitParams {
    /// The session's id as its harness spells it.
    pub session: String,
    /// The same id again changes nothing; by default a hash of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_id: Option<String>,
    /// `session` (default), `turn` or `quit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Who ran it.
    pub agent: Agent,
    /// The folder it ran in.
    #[serde(deserialize_with = "folder")]
    pub cwd: String,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `code` (default) or `agent`: which dream reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `interactive` (default), `subagent`, `cron`, `headless`, `discussion` or `assignment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `success` (default), `failed`, `cancelled` or `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// What the caller says was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The run's whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The files the caller saw change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// Token counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The task it worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The team it belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What happened, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The session file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
}

impl CommitParams {
    /// A commit of `session` with nothing else said.
    pub fn new(session: impl Into<String>, agent: Agent, cwd: impl Into<String>) -> Self {
        Self {
            session: session.into(),
            commit_id: None,
            end: None,
            agent,
            cwd: cwd.into(),
            project: None,
            mode: None,
            kind: None,
            outcome: None,
            summary: None,
            output: None,
            changed_files: Vec::new(),
            tokens: None,
            task: None,
            team: None,
            events: Vec::new(),
            transcript: None,
        }
    }
}

/// What a session did, as a commit answers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct CommitSummary {
    /// One or two sentences.
    pub what: String,
    /// Decisions with their reason.
    pub decisions: Vec<String>,
    /// Changed files, shortened to three segments.
    pub files_changed: Vec<String>,
    /// What is left.
    pub unfinished: Vec<String>,
    /// Short commit hashes.
    pub commits: Vec<String>,
    /// Token counts.
    pub tokens: Tokens,
}

/// What became of the facts a commit found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct FactCounts {
    /// New ones.
    pub added: u64,
    /// Known ones that were said again.
    pub reinforced: u64,
    /// Ones that became shared knowledge.
    pub promoted: u64,
}

/// Answer to [`CommitParams`], sent when durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct CommitAnswer {
    /// The session.
    pub session: String,
    /// The project it ran in.
    pub project: Option<String>,
    /// The change-log number it became durable under.
    pub seq: u64,
    /// What the session did.
    pub summary: CommitSummary,
    /// What became of the facts.
    pub facts: FactCounts,
    /// What became of the events.
    pub events: EventCounts,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
    /// Texts too long to keep whole: the middle is left out, with a mark where it stood.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// `queued`, `off` or `skipped: reason`.
    pub extraction: String,
}

/// `session.list`: summaries, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ListParams {
    /// Only this agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Only this project's.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Only this project's, by id, name or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `office`: the agent's last 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub face: Option<String>,
    /// Not before: RFC 3339, or a date meaning that whole local day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Not after: likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only those whose last job failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Answer how the extraction of each stands, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub extraction: bool,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A summary in all three forms at once: the office's, the project's and the working memory's fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Summary {
    /// Office: one or two sentences.
    pub what: String,
    /// Office: decisions with their reason.
    pub decisions: Vec<String>,
    /// Office: changed files, shortened to three segments.
    pub files_changed: Vec<String>,
    /// Office: what is left.
    pub unfinished: Vec<String>,
    /// Office: short commit hashes.
    pub commits: Vec<String>,
    /// Office: token counts.
    pub tokens: Tokens,
    /// Project: what was asked for.
    pub request: String,
    /// Project: what was done.
    pub work_done: String,
    /// Project: how it ended, in words.
    pub outcome: String,
    /// Project: open items.
    pub open_items: Vec<String>,
    /// Working: the goal.
    pub goal: String,
    /// Working: the progress.
    pub progress: String,
    /// Working: what comes next.
    pub next_steps: Vec<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SessionItem {
    /// Its id as its harness spells it.
    pub session: String,
    /// The id of its project.
    pub project: Option<String>,
    /// Who ran it.
    pub agent: Agent,
    /// The folder it started in.
    pub cwd: String,
    /// `code` or `agent`.
    pub mode: String,
    /// Where it comes from.
    pub kind: String,
    /// `session`, `turn` or `quit`; null while it runs.
    pub ended: Option<String>,
    /// How it went.
    pub outcome: String,
    /// When it began.
    pub started_at: String,
    /// Its age: the time of its last event.
    pub last_event_at: String,
    /// How many events are kept.
    pub events: u64,
    /// How many rounds it had: answers of a coding agent, prompts with their answer in a conversation.
    pub rounds: u64,
    /// What it did; null until a turn ended.
    pub summary: Option<Summary>,
    /// How its extraction stands, when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extraction: Option<Extraction>,
}

/// `session.get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GetParams {
    /// Its id as a list shows it, at least six characters of its beginning, or what its agent calls it. Several that fit
    /// are an error that lists them.
    pub session: String,
    /// Its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The harness of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// A folder of its project. The sessions of a harness fit any, since they move.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its project, by id, name or path; empty for one of no project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_project: Option<String>,
}

/// `session.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestParams {
    /// Its id as a list shows it, at least six characters of its beginning, or what its agent calls it. Several that fit
    /// are an error that lists them.
    pub session: String,
    /// Its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The harness of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// A folder of its project. The sessions of a harness fit any, since they move.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its project, by id, name or path; empty for one of no project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_project: Option<String>,
    /// Who would be asked, as `extractor` says it; all are given the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extractor: Option<String>,
}

/// Answer to [`DigestParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DigestAnswer {
    /// The session's id.
    pub session: String,
    /// What an extractor would be given of the whole session, without the prompt round it; empty when there is nothing
    /// to distill.
    pub text: String,
    /// Its length in tokens, estimated.
    pub tokens: u64,
}

/// `session.extract`: queues a session again, also one whose last job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtractParams {
    /// Its id as a list shows it, at least six characters of its beginning, or what its agent calls it. Several that fit
    /// are an error that lists them.
    pub session: String,
    /// Its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The harness of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// A folder of its project. The sessions of a harness fit any, since they move.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its project, by id, name or path; empty for one of no project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_project: Option<String>,
}

/// Answer to [`ExtractParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ExtractAnswer {
    /// The session's id.
    pub session: String,
    /// `queued` or `skipped: reason`.
    pub extraction: String,
    /// Nothing is read before this time, because doze is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// Nobody is asked before this time, because the budget of the day is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent_until: Option<String>,
}

/// How the extraction of a session stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Extraction {
    /// `queued`, `running`, `done`, `empty`, `skipped` or `failed`.
    pub state: String,
    /// Why, in one sentence; empty when there is nothing to say.
    pub reason: String,
    /// Who extracted.
    pub extractor: String,
    /// The memories that came of it.
    pub memories: Vec<String>,
}

/// Answer to [`GetParams`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SessionRecord {
    /// Its id as its harness spells it.
    pub session: String,
    /// The id of its project.
    pub project: Option<String>,
    /// Who ran it.
    pub agent: Agent,
    /// The folder it started in.
    pub cwd: String,
    /// `code` or `agent`.
    pub mode: String,
    /// Where it comes from.
    pub kind: String,
    /// `session`, `turn` or `quit`; null while it runs.
    pub ended: Option<String>,
    /// How it went.
    pub outcome: String,
    /// When it began.
    pub started_at: String,
    /// Its age: the time of its last event.
    pub last_event_at: String,
    /// How many events are kept.
    pub events: u64,
    /// Finished turns.
    pub turns: u64,
    /// The task it worked on.
    pub task: Option<Task>,
    /// The team it belonged to.
    pub team: Option<String>,
    /// The session file it is read from.
    pub transcript: Option<String>,
    /// What it did, in all three forms; null until a turn ended.
    pub summary: Option<Summary>,
    /// How its extraction stands.
    pub extraction: Extraction,
}

/// `session.preview`: reads a session file and stores nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewParams {
    /// The file.
    pub path: String,
    /// Its format; `auto` (default) looks at the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Answer the events too.
    #[serde(default)]
    pub events: bool,
}

/// Answer to [`PreviewParams`]: the counts under their column names, beside them `events` when asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct PreviewAnswer {
    /// `format`, `records`, `bad_lines`, `user_prompts`, `assistant_turns`, `tool_calls`, `files_changed`, `commits`, …
    #[serde(flatten)]
    pub counts: Map<String, Value>,
    /// The events, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Event>>,
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::parse_params;

    #[test]
    fn the_documented_commit_reads_whole() {
        let params: CommitParams = parse_params(json!({
            "session": "s-81", "commit_id": "c", "end": "session",
            "agent": {"id": "alex-2", "name": "Alex 2", "harness": "claude-code"},
            "cwd": "/home/dev/app", "mode": "code", "kind": "interactive", "outcome": "success",
            "summary": "did it", "output": "out", "changed_files": ["a.rs"], "tokens": {"input": 1, "output": 2},
            "task": {"id": "t", "title": "T", "spec": null}, "team": "core",
            "events": [
                {"id": "1", "at": "2026-01-02T03:04:05+01:00", "type": "prompt", "text": "hi", "origin": "person"},
                {"type": "tool", "text": null, "tool": {"name": "Bash", "input": {"command": "ls"}, "output": ["a"]}},
                {"type": "file", "path": "a.rs"}
            ],
            "transcript": {"path": "/t.jsonl"}
        }))
        .unwrap();
        assert_eq!(params.agent.name, "Alex 2");
        assert_eq!(params.tokens, Some(Tokens { input: 1, output: 2 }));
        let tool = params.events[1].tool.as_ref().unwrap();
        assert_eq!((tool.output.as_str(), tool.failed), ("[\"a\"]", false));
        assert_eq!(params.task.as_ref().unwrap().spec, "");
        let again: CommitParams = parse_params(to_value(&params).unwrap()).unwrap();
        assert_eq!(again, params);
    }

    #[test]
    fn a_commit_answers_every_documented_field() {
        insta::assert_snapshot!(serde_json::to_string_pretty(&CommitAnswer {
            session: "s-81".into(),
            seq: 7,
            redacted: BTreeMap::from([("aws-key".to_owned(), 1)]),
            extraction: "queued".into(),
            ..CommitAnswer::default()
        }).unwrap(), @r#"
        {
          "session": "s-81",
          "project": null,
          "seq": 7,
          "summary": {
            "what": "",
            "decisions": [],
            "files_changed": [],
            "unfinished": [],
            "commits": [],
            "tokens": {
              "input": 0,
              "output": 0
            }
          },
          "facts": {
            "added": 0,
            "reinforced": 0,
            "promoted": 0
          },
          "events": {
            "new": 0,
            "known": 0,
            "skipped": 0
          },
          "redacted": {
            "aws-key": 1
          },
          "extraction": "queued"
        }
        "#);
    }

    #[test]
    fn a_preview_puts_its_counts_at_the_top() {
        let counts = json!({"format": "codex", "records": 3}).as_object().unwrap().clone();
        let answer = PreviewAnswer { counts, events: None };
        assert_eq!(to_value(answer).unwrap(), json!({"format": "codex", "records": 3}));
    }

    #[test]
    fn a_session_keeps_its_extraction_apart() {
        let record = to_value(SessionRecord::default()).unwrap();
        assert_eq!(record["extraction"], json!({"state": "", "reason": "", "extractor": "", "memories": []}));
        assert!(record["summary"].is_null() && record["agent"]["id"].is_string());
    }
}
