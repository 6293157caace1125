//! Upkeep: `status`, `stop`, `pause`, `resume`, `config`, `import`, `backup`, `events`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::common::folder_or_none;
use crate::dream::DreamStatus;

/// Work that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct QueueStatus {
    /// Jobs that wait.
    pub pending: u64,
    /// Jobs that run.
    pub running: u64,
    /// Age of the oldest that waits, in seconds.
    pub oldest_s: u64,
    /// Runs whose last job failed, and did so today.
    pub failed: u64,
}

/// Who summarises runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ExtractionStatus {
    /// In one sentence (S1.15).
    pub sentence: String,
    /// The configured extractor.
    pub extractor: String,
    /// The one of dreams.
    pub dream_extractor: String,
    /// Its model, if it has one.
    pub model: Option<String>,
    /// Calls made today.
    pub calls_today: u64,
    /// Calls allowed a day; null when nothing limits them.
    pub budget: Option<u64>,
    /// Tokens that asking cost today: as told, else estimated.
    pub tokens_today: u64,
    /// Tokens allowed a day; null when nothing limits them.
    pub token_budget: Option<u64>,
    /// Replies of today that could not be read.
    pub unreadable_today: u64,
    /// When somebody is asked again; null unless the budget of the day is spent.
    pub spent_until: Option<String>,
}

/// How far the indexes follow the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct IndexStatus {
    /// The change the full-text index has reached.
    pub lexical_seq: u64,
    /// The change the vectors have reached.
    pub vector_seq: u64,
    /// The newest change.
    pub seq: u64,
    /// Prompts of raw history with vectors.
    pub turns: u64,
    /// Pages of raw history, of sixteen events each, that wait for vectors.
    pub pages_waiting: u64,
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ModelStatus {
    /// Its name; null when there is none.
    pub id: Option<String>,
    /// `off`, `idle`, `loading`, `ready` or `failed`.
    pub state: String,
    /// Dimensions of a vector.
    pub dim: Option<u32>,
    /// The checksum of its file.
    pub sha256: Option<String>,
}

/// The engines behind recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct EngineStatus {
    /// The built-in one: `on` or `off`.
    pub builtin: String,
    /// The external one; null when none is configured.
    pub external: Option<String>,
}

/// The HTTP face, when it is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct HttpStatus {
    /// Where it listens.
    pub url: String,
}

/// Commits that wait in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct SpoolStatus {
    /// How many wait.
    pub pending: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// Files that could not be read and were put aside.
    pub quarantined: u64,
    /// Commits of hooks within the last week that were refused for good or found the spool full.
    pub lost: u64,
}

/// Answer to `status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct StatusAnswer {
    /// The daemon's version.
    pub version: String,
    /// The newest protocol it speaks.
    pub protocol: u32,
    /// Its process.
    pub pid: u32,
    /// The store is open and calls are answered.
    pub ready: bool,
    /// Active memories.
    pub memories: u64,
    /// Sessions.
    pub sessions: u64,
    /// Projects.
    pub projects: u64,
    /// Work that waits.
    pub queue: QueueStatus,
    /// Who summarises runs.
    pub extraction: ExtractionStatus,
    /// The sweeps.
    pub dream: DreamStatus,
    /// The indexes.
    pub index: IndexStatus,
    /// The embedding model.
    pub model: ModelStatus,
    /// The engines.
    pub engine: EngineStatus,
    /// Commits that wait to be taken in.
    pub spool: SpoolStatus,
    /// Size of the store's file.
    pub store_bytes: u64,
    /// Memory in use.
    pub rss_bytes: u64,
    /// The one thing to do, when all is not well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The HTTP face.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpStatus>,
    /// Nothing is captured until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// Seconds by which the wall clock is shifted for a trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset: Option<i64>,
}

/// Answer to `stop`; the daemon then drains and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct StopAnswer {
    /// Always true.
    pub stopping: bool,
    /// The process that ends.
    pub pid: u32,
}

/// `pause`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct PauseParams {
    /// `30m`, `2h`, `1d`, or a number of seconds; until `resume` when not given.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

/// A length of time, as a number of seconds or as `90s`, `30m`, `2h`, `1d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its length.
    pub seconds: u64,
}

impl std::str::FromStr for Span {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected seconds, or a number with s, m, h or d";
        let text = text.trim();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let seconds = match unit.trim() {
            "" | "s" => 1,
            "m" | "min" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return Err(EXPECTED),
        };
        let number: u64 = number.parse().map_err(|_| EXPECTED)?;
        number.checked_mul(seconds).map(|seconds| Self { seconds }).ok_or("too long")
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.seconds)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text,
            _ => return Err(serde::de::Error::custom("expected seconds, or a number with s, m, h or d")),
        };
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Answer to `pause` and `resume`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct PauseAnswer {
    /// Nothing is captured and nothing swept.
    pub paused: bool,
    /// Until then; null with `paused` means until `resume`.
    pub paused_until: Option<String>,
}

/// `config`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct ConfigParams {
    /// Keys to set; in force when answered, but for those marked `restart` in the answer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

/// A key of the answer to `config`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigValue {
    /// The value in force; secrets masked.
    pub value: Value,
    /// Where it comes from.
    pub origin: String,
    /// A change is in force from the daemon's next start on, not at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
}

/// Answer to [`ConfigParams`]: every key.
pub type ConfigAnswer = BTreeMap<String, ConfigValue>;

/// `import`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportParams {
    /// A file or a folder.
    pub path: String,
    /// `auto` (default), `transcripts`, or `office` for the memory folder of the original office program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The folder that stands for the project, where the source names none.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent, where the source names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<crate::Agent>,
    /// Nothing older: RFC 3339, or a date meaning that whole local day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// Answer to [`ImportParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ImportAnswer {
    /// Sessions or records read.
    pub read: u64,
    /// New ones.
    pub added: u64,
    /// Known ones.
    pub known: u64,
    /// Ones that could not be read.
    pub damaged: u64,
    /// Folders and files not looked at: unreadable, too deep, or beyond the number of one call. Of an office's memory,
    /// records that had been forgotten.
    pub left_out: u64,
    /// What could not be read of an office's memory, each with its place and the reason; 200 at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// How often each redaction rule fired.
    pub redacted: BTreeMap<String, u64>,
}

/// `export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportParams {
    /// A folder that is empty or not there yet.
    pub path: String,
    /// `office`: the memory folder of the original office program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The folder that stands for the project.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// A project's id, name or path in place of `cwd`'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// Answer to [`ExportParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ExportAnswer {
    /// The folder.
    pub path: String,
    /// Files written.
    pub files: u64,
    /// Sessions, facts, shared facts, work states and lessons of the orchestrator in them.
    pub records: u64,
    /// Work states that were left out: the file of an agent holds one. `problems` names them.
    pub left_out: u64,
    /// What could not be written, each with the reason; 200 at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// `backup`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct BackupParams {
    /// Where to write; the backup folder when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Answer to [`BackupParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct BackupAnswer {
    /// The file.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The last change in it.
    pub seq: u64,
    /// Its checksum.
    pub sha256: String,
}

/// `events`: what changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct EventsParams {
    /// Changes after this number; the newest ones when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// One change of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct ChangeItem {
    /// Its number.
    pub seq: u64,
    /// What sort of record changed: `memory`, `session`, `project`, `dream`, …
    pub record: String,
    /// `put` or `delete`.
    pub op: String,
    /// Its id.
    pub id: String,
}

/// Answer to [`EventsParams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct EventsAnswer {
    /// Oldest first.
    pub items: Vec<ChangeItem>,
    /// The number to ask from next time.
    pub next: u64,
    /// Changes after `since` that are no longer kept.
    pub missed: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::parse_params;

    #[test]
    fn status_answers_every_documented_field() {
        insta::assert_snapshot!(serde_json::to_string(&StatusAnswer::default()).unwrap(), @r#"{"version":"","protocol":0,"pid":0,"ready":false,"memories":0,"sessions":0,"projects":0,"queue":{"pending":0,"running":0,"oldest_s":0,"failed":0},"extraction":{"sentence":"","extractor":"","dream_extractor":"","model":null,"calls_today":0,"budget":null,"tokens_today":0,"token_budget":null,"unreadable_today":0,"spent_until":null},"dream":{"last":null,"next":null,"last_result":null,"last_why":null,"why_not":null,"last_id":null,"running":false,"waiting":0,"broke_off":null},"index":{"lexical_seq":0,"vector_seq":0,"seq":0,"turns":0,"pages_waiting":0},"model":{"id":null,"state":"","dim":null,"sha256":null},"engine":{"builtin":"","external":null},"spool":{"pending":0,"bytes":0,"quarantined":0,"lost":0},"store_bytes":0,"rss_bytes":0}"#);
    }

    #[test]
    fn a_pause_is_told_in_seconds_or_words() {
        for (given, seconds) in [
            (json!(90), 90),
            (json!("90"), 90),
            (json!("90s"), 90),
            (json!("30m"), 1800),
            (json!("2h"), 7200),
            (json!("1 d"), 86400),
        ] {
            let params: PauseParams = parse_params(json!({ "for": given })).unwrap();
            assert_eq!(params.duration, Some(Span { seconds }), "{given}");
        }
        assert_eq!(parse_params::<PauseParams>(json!({})).unwrap().duration, None);
        for bad in [
            json!("2w"),
            json!("h"),
            json!(-1),
            json!(1.5),
            json!([]),
            json!("99999999999999999999d"),
            json!("ä"),
        ] {
            let error = parse_params::<PauseParams>(json!({ "for": bad })).unwrap_err();
            assert!(error.message.starts_with("for: "), "{}", error.message);
        }
        assert_eq!(to_value(PauseParams { duration: Some(Span { seconds: 5 }) }).unwrap(), json!({"for": 5}));
    }

    #[test]
    fn a_setting_may_have_any_type() {
        let params: ConfigParams =
            parse_params(json!({"set": {"dream.enabled": false, "command": ["a"]}})).unwrap();
        assert_eq!(params.set.len(), 2);
        assert!(parse_params::<ConfigParams>(json!({"set": 1})).unwrap_err().message.starts_with("set: "));
    }
}
