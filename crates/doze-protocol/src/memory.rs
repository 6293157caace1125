//! `memory.*`: single memories.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::common::{Agent, Lines, folder_or_none};

/// Where a memory came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Source {
    /// The agent's id.
    pub agent: Option<String>,
    /// The program that ran it.
    pub harness: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// Evidence, each as `session#event`.
    pub events: Vec<String>,
}

/// A quotation that shows where a memory came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Quote {
    /// The quoted text.
    pub snippet: String,
    /// The conversation it stood in.
    pub conversation_id: Option<String>,
    /// The message it stood in.
    pub message_id: Option<String>,
    /// How it was found.
    pub origin: Option<String>,
}

/// A memory as it is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct MemoryRecord {
    /// Minted once.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// `user`, `project`, `agent`, `team`, `member` or `bank`.
    pub space: String,
    /// The id of its project, for spaces in a project.
    pub project: Option<String>,
    /// The agent's id, for space `agent`.
    pub agent: Option<String>,
    /// The team, for spaces `team` and `member`.
    pub team: Option<String>,
    /// The member, for space `member`.
    pub member: Option<String>,
    /// The API it came through.
    pub face: String,
    /// What sort of knowledge it is.
    pub kind: String,
    /// The label its seed gave it.
    pub native_kind: Option<String>,
    /// One line.
    pub title: String,
    /// The knowledge itself.
    pub body: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// One active memory per key and space.
    pub topic_key: Option<String>,
    /// Files it speaks of.
    pub files: Vec<String>,
    /// 0.1–1.
    pub confidence: f64,
    /// Independent pieces of evidence.
    pub evidence_count: u32,
    /// How often it was said again.
    pub reinforce_count: u32,
    /// How often it was applied.
    pub applied_count: u32,
    /// Agents that found it independently.
    pub confirmed_by: Vec<String>,
    /// Never changed by a dream.
    pub pinned: bool,
    /// `proposed`, `active`, `stale`, `retracted` or `superseded`.
    pub status: String,
    /// The memory that replaced it.
    pub superseded_by: Option<String>,
    /// `human`, `agent`, `extraction`, `rule` or `import`.
    pub verification: String,
    /// Where it came from.
    pub source: Source,
    /// Quotations.
    pub contexts: Vec<Quote>,
    /// The time of the event it came from.
    pub created_at: String,
    /// The last change of its content.
    pub updated_at: String,
    /// The last time evidence or a person confirmed it.
    pub last_confirmed_at: String,
    /// The hash of kind, title and body.
    pub content_hash: String,
    /// The file and line that is its truth, for workspace memory.
    pub file_ref: Option<String>,
}

/// `memory.add`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct AddParams {
    /// One line; made from the body when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The knowledge itself.
    pub body: String,
    /// One of the kinds; `fact` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A seed's own label; its kind follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_kind: Option<String>,
    /// `office` is the default in space `agent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub face: Option<String>,
    /// Where it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Who adds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A memory with the same key in the same space is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_key: Option<String>,
    /// Files it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Lines>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Lines>,
    /// 0.1–1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// A person typed this at a terminal with no agent round it; makes it `verification: human`.
    #[serde(default)]
    pub human: bool,
}

/// Answer to [`AddParams`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct AddAnswer {
    /// The memory that now holds the knowledge.
    pub id: String,
    /// `added`, `reinforced`, `superseded`, `merged` or `proposed`.
    pub outcome: String,
    /// That memory.
    pub memory: MemoryRecord,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
    /// Why no agent is told of it for now, although a person's word was taken: `off` or `paused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
}

/// Names one memory: `memory.get`, `memory.why`, `memory.reinstate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdParams {
    /// The memory.
    pub id: String,
}

/// `memory.reinstate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReinstateParams {
    /// Which one.
    pub id: String,
    /// A person asks, and vouches for it again.
    #[serde(default)]
    pub human: bool,
}

/// `memory.list`, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ListParams {
    /// The caller's own by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spaces: Option<Lines>,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Only these kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Lines>,
    /// A status or `all`; active ones by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Only with these words in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// All projects of the owner, for a person who stands in none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everywhere: bool,
    /// Not before: RFC 3339, or a date meaning that whole local day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Not after: likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `memory.edit`: fields that are given replace, the others stay. Answers the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EditParams {
    /// The memory.
    pub id: String,
    /// One line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The knowledge itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What sort of knowledge it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Free labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Lines>,
    /// Files it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Lines>,
    /// The topic key; empty takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_key: Option<String>,
    /// As in [`AddParams::human`].
    #[serde(default)]
    pub human: bool,
}

/// `memory.pin`. Answers the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinParams {
    /// The memory.
    pub id: String,
    /// False takes the pin out.
    #[serde(default = "yes")]
    pub pinned: bool,
    /// As in [`AddParams::human`].
    #[serde(default)]
    pub human: bool,
}

fn yes() -> bool {
    true
}

/// `memory.feedback`. Answers the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackParams {
    /// The memory.
    pub id: String,
    /// `helpful`, `wrong` or `stale`.
    pub verdict: String,
    /// As in [`AddParams::human`].
    #[serde(default)]
    pub human: bool,
}

/// `memory.confirm`: another agent found the same. Answers the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmParams {
    /// The memory; or
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Who found it.
    pub agent: Agent,
    /// The folder; stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// `memory.review`: settles a proposed memory. Answers the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewParams {
    /// The memory.
    pub id: String,
    /// Whether it comes into force.
    pub accept: bool,
    /// As in [`AddParams::human`].
    #[serde(default)]
    pub human: bool,
}

/// `memory.promote`: copies a memory into a file of instructions that agents read by themselves (S1.38).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteParams {
    /// The memory; it is active.
    pub id: String,
    /// `CLAUDE.md` or `AGENTS.md`, at the top of the work tree; or a whole path that ends so.
    pub path: String,
    /// The folder that says which work tree; without one the project's own.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A person asks; nobody else may.
    #[serde(default)]
    pub human: bool,
}

/// Answer to [`PromoteParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct PromoteAnswer {
    /// The memory.
    pub id: String,
    /// The file.
    pub path: String,
    /// `added`, or `known` when the line stood there already.
    pub outcome: String,
    /// The line.
    pub line: String,
}

/// `memory.forget`: exactly one of `id`, `session`, `project` and `all`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ForgetParams {
    /// One memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A session: its id as a list shows it, at least six characters of its beginning, or what its agent calls it. Several
    /// that fit are an error that lists them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// With `session`: its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// With `session`: the harness of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// With `session`: its project, by id, name or path; empty for one of no project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_project: Option<String>,
    /// A project, by id, name or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Everything of the caller's.
    #[serde(default)]
    pub all: bool,
    /// With `session`: also the memories learned from it.
    #[serde(default)]
    pub memories: bool,
    /// A person asks; an agent cannot forget what a person wrote or pinned.
    #[serde(default)]
    pub human: bool,
}

/// Answer to [`ForgetParams`] and `project.forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ForgetAnswer {
    /// Memories that are gone.
    pub memories: u64,
    /// Sessions that are gone.
    pub sessions: u64,
    /// Events that are gone with their sessions.
    pub events: u64,
    /// Sentences elsewhere that said it and are blanked: in events, summaries, tasks and work states.
    pub lines: u64,
}

/// A line a memory came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct WhyEvent {
    /// `session#event`.
    pub event: String,
    /// When.
    pub at: Option<String>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// Who spoke.
    pub origin: String,
    /// The very line.
    pub text: String,
}

/// Something that was done to a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct WhyChange {
    /// When.
    pub at: Option<String>,
    /// `add`, `reinforce`, `merge`, `supersede`, `promote`, `retire`, `edit`, …
    pub op: String,
    /// The sweep, if it was one.
    pub dream: Option<String>,
    /// Why, in one sentence.
    pub because: String,
}

/// Answer to `memory.why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct WhyAnswer {
    /// The memory.
    pub memory: MemoryRecord,
    /// The very lines it came from.
    pub events: Vec<WhyEvent>,
    /// What was done to it, oldest first.
    pub merges: Vec<WhyChange>,
    /// How often it was put into a brief or an injection.
    pub injections: u64,
    /// The factors that rank it now, by name.
    pub scores: BTreeMap<String, f64>,
    /// What would retire it, in one sentence.
    pub retires: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::parse_params;

    #[test]
    fn a_record_has_every_field_of_the_model() {
        let record = to_value(MemoryRecord::default()).unwrap();
        let names: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names.join(" "),
            "agent applied_count body confidence confirmed_by content_hash contexts created_at evidence_count face \
             file_ref files id kind last_confirmed_at member native_kind owner pinned project reinforce_count source \
             space status superseded_by tags team title topic_key updated_at verification"
        );
    }

    #[test]
    fn adding_needs_only_a_body() {
        let params: AddParams = parse_params(json!({"body": "b", "tags": "one", "title": null})).unwrap();
        assert_eq!(
            params,
            AddParams { body: "b".into(), tags: Some(Lines(vec!["one".into()])), ..AddParams::default() }
        );
        assert_eq!(parse_params::<AddParams>(json!({})).unwrap_err().message, "missing field `body`");
    }

    #[test]
    fn pinning_is_the_default_of_pin() {
        assert!(parse_params::<PinParams>(json!({"id": "x"})).unwrap().pinned);
        assert!(!parse_params::<PinParams>(json!({"id": "x", "pinned": false})).unwrap().pinned);
    }
}
