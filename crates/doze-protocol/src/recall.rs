//! `recall.*`: what agents and people read.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::common::{Agent, Lines, folder_or_none};
use crate::memory::{Quote, Source};
use crate::session::CommitSummary;
use crate::work::WorkRecord;

/// `recall.search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct SearchParams {
    /// What is looked for; blank with a window lists the window, newest first. No text is ever an error.
    #[serde(default)]
    pub query: String,
    /// `user`, `project`, `agent`, `team`, `member`, `bank`; the caller's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spaces: Option<Lines>,
    /// Only these kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Lines>,
    /// `default`, `openorc`, `jiuwen`, `facts`, `lesson` or `bank`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How many hits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Not before: RFC 3339, or a date meaning that whole local day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Not after: likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Also what a newer memory replaced.
    #[serde(default)]
    pub superseded: bool,
    /// Also raw events and summaries.
    #[serde(default)]
    pub history: bool,
    /// Tell how each hit got its place.
    #[serde(default)]
    pub explain: bool,
    /// All projects of the owner, whatever `cwd` and `project` say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
    /// The folder; stands for the project. Without it and `project` all projects are searched, except for an agent,
    /// who then finds what is its own and the user's.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
}

/// How a hit got its place. Ranks count from 1 and are null where a list did not find it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Explain {
    /// Place in the list by words.
    pub lexical_rank: Option<u32>,
    /// Score in the list by words.
    pub lexical_score: Option<f64>,
    /// Place in the list by meaning.
    pub semantic_rank: Option<u32>,
    /// Score in the list by meaning.
    pub semantic_score: Option<f64>,
    /// Both lists put together.
    pub fused: f64,
    /// What the kind of memory weighs.
    pub kind_weight: f64,
    /// What its confidence weighs.
    pub confidence_factor: f64,
    /// What its age weighs.
    pub age_factor: f64,
}

/// One hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Hit {
    /// The memory, or `session#event` for raw history.
    pub id: String,
    /// One line.
    pub title: String,
    /// The knowledge itself.
    pub body: String,
    /// What sort of knowledge it is.
    pub kind: String,
    /// The label its seed gave it.
    pub native_kind: Option<String>,
    /// Whose memory it is, one word.
    pub space: String,
    /// The id of its project.
    pub project: Option<String>,
    /// The higher, the better.
    pub score: f64,
    /// 0.1–1.
    pub confidence: f64,
    /// The time of the event it came from.
    pub created_at: String,
    /// Where it came from.
    pub source: Source,
    /// The lines that matched.
    pub snippet: String,
    /// Quotations, where it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contexts: Option<Vec<Quote>>,
    /// How it got its place, when asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<Explain>,
}

/// Answer to [`SearchParams`]. No match is an empty list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SearchAnswer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// `on`, `off` or `failed`.
    pub lexical: String,
    /// `on`, `off`, `loading`, `timeout` or `failed`.
    pub semantic: String,
}

/// `recall.brief`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct BriefParams {
    /// The folder the agent starts in.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Who starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The session it starts, so that what it was shown is not learned again from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// At most this many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Why the session starts: `startup`, `resume`, `clear`, `compact` or `fork`; with `inject`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The text goes into `session`: it is remembered, and a session that resumes is not given it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inject: bool,
    /// Answer what was injected last (into `session`, else anywhere) instead of building a brief.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// The mode the agent works in, as its harness told the hook; the tools over MCP follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

/// `recall.prompt`: memories for one prompt. Empty unless `hooks.prompt_search` is on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct PromptParams {
    /// The caller's folder.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The session the text goes into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the person typed.
    #[serde(default)]
    pub prompt: String,
    /// The mode the agent works in, as its harness told the hook; the tools over MCP follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
}

/// A text to inject: answer of `brief`, `context` and `roster`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct RecallText {
    /// The text; empty when there is nothing to say.
    pub text: String,
    /// Its estimated size.
    pub tokens: u64,
    /// The memories in it.
    pub memories: Vec<String>,
}

/// `recall.context`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextParams {
    /// Whose facts.
    pub agent: Agent,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The most tokens the text may cost; 530 when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

/// Answer to [`ContextParams`]: the text, and what stands in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ContextAnswer {
    /// The text; empty when there is nothing to say.
    pub text: String,
    /// Its estimated size.
    pub tokens: u64,
    /// The memories in it.
    pub memories: Vec<String>,
    /// The agent's own facts that are shown, the most reinforced first.
    pub facts: Vec<FactLine>,
    /// The project's.
    pub shared: Vec<FactLine>,
    /// The sessions that are shown, newest first.
    pub sessions: Vec<SessionLine>,
}

/// A fact as an office's agents are told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct FactLine {
    /// The memory's id.
    pub id: String,
    /// The fact.
    pub fact: String,
    /// Its category in the words of the face that it came through.
    pub category: Option<String>,
    /// How often it was said.
    pub reinforce_count: u32,
    /// Agents that found it too.
    pub confirmed_by: Vec<String>,
}

/// A session as an office's agents are told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SessionLine {
    /// Its id.
    pub session: String,
    /// When it happened last.
    pub at: String,
    /// What it did.
    pub what: String,
    /// Files it changed.
    pub files_changed: Vec<String>,
}

/// `recall.roster`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct RosterParams {
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only these; all agents of the project when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Lines>,
}

/// Answer to [`RosterParams`]: the text, and an entry a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct RosterAnswer {
    /// The text; empty without agents.
    pub text: String,
    /// Its estimated size.
    pub tokens: u64,
    /// The agents, in the order of the lines.
    pub agents: Vec<RosterEntry>,
    /// Agents there was no line for; name them to be told of them.
    pub more: u64,
}

/// What an agent did last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct RosterEntry {
    /// The name people see.
    pub name: String,
    /// What it did last; null when it is idle.
    pub what: Option<String>,
    /// The last commit it made.
    pub commit: Option<String>,
    /// When.
    pub at: Option<String>,
    /// `success`, `failed`, `cancelled` or `interrupted`.
    pub outcome: Option<String>,
}

/// `recall.recover`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecoverParams {
    /// Whose session was lost.
    pub agent: Agent,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Which session; the newest that is not cleared when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The old RecoveryContext; read where nothing better is known, answered in the same spelling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy: Option<LegacyRecovery>,
}

/// The RecoveryContext of the original office program, in its spelling (S0.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct LegacyRecovery {
    /// What the agent was told, at most 300 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_task: Option<String>,
    /// The phase it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What it last said, at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// The last six messages, at most 400 characters each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent_messages: Option<Vec<LegacyMessage>>,
}

/// A message of a [`LegacyRecovery`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LegacyMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// What was said.
    pub text: String,
}

/// Answer to [`RecoverParams`]: the text and its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct RecoverAnswer {
    /// The text; empty when nothing is known of the agent.
    pub text: String,
    /// Its estimated size.
    pub tokens: u64,
    /// Which session it speaks of.
    pub session: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The work state, if one is not cleared; preferred over the summary.
    pub work: Option<WorkRecord>,
    /// The last summary.
    pub summary: Option<CommitSummary>,
    /// Other sessions of this agent that are not cleared, newest first.
    pub others: Vec<String>,
    /// The last six messages of that session, oldest first, of 400 tokens at most each.
    pub messages: Vec<LegacyMessage>,
    /// The RecoveryContext, when `legacy` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legacy: Option<LegacyRecovery>,
}

/// What a caller that wants only the text needs of any `recall.*` answer.
pub fn text_of(answer: &Value) -> &str {
    answer.get("text").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::parse_params;

    #[test]
    fn a_search_needs_nothing() {
        let params: SearchParams = parse_params(Value::Null).unwrap();
        assert_eq!(params, SearchParams::default());
        let params: SearchParams =
            parse_params(json!({"query": "x", "kinds": "lesson", "limit": 3})).unwrap();
        assert_eq!(params.kinds.unwrap().0, ["lesson"]);
        let error = parse_params::<SearchParams>(json!({"limit": "3"})).unwrap_err();
        assert_eq!(error.message, "limit: invalid type: string \"3\", expected u64");
    }

    #[test]
    fn a_hit_answers_every_documented_field() {
        let answer = SearchAnswer {
            hits: vec![Hit { explain: Some(Explain::default()), ..Hit::default() }],
            took_ms: 2,
            lexical: "on".into(),
            semantic: "off".into(),
        };
        insta::assert_snapshot!(to_value(answer).unwrap(), @r#"{"hits":[{"body":"","confidence":0.0,"created_at":"","explain":{"age_factor":0.0,"confidence_factor":0.0,"fused":0.0,"kind_weight":0.0,"lexical_rank":null,"lexical_score":null,"semantic_rank":null,"semantic_score":null},"id":"","kind":"","native_kind":null,"project":null,"score":0.0,"snippet":"","source":{"agent":null,"events":[],"harness":null,"session":null,"task":null,"team":null},"space":"","title":""}],"lexical":"on","semantic":"off","took_ms":2}"#);
        let bare = to_value(Hit::default()).unwrap();
        assert!(bare.get("contexts").is_none() && bare.get("explain").is_none());
    }

    #[test]
    fn the_old_recovery_context_keeps_its_spelling() {
        let old = json!({"originalTask": "t", "lastResult": "r", "recentMessages": [{"role": "user", "text": "x"}]});
        let params: RecoverParams = parse_params(json!({"agent": "a", "legacy": old})).unwrap();
        assert_eq!(to_value(params.legacy).unwrap(), old);
    }

    #[test]
    fn the_text_is_found_in_any_answer() {
        assert_eq!(
            text_of(&to_value(RecallText { text: "t".into(), ..RecallText::default() }).unwrap()),
            "t"
        );
        assert_eq!(text_of(&Value::Null), "");
    }
}
