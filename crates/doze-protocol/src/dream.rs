//! `dream.*`: sweeps and their journal.

use serde::{Deserialize, Serialize};

use crate::common::folder_or_none;
use crate::memory::MemoryRecord;

/// `dream.run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct RunParams {
    /// `code` or `agent`; every mode that is on when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Only this project, by id, name or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only the project of this folder.
    #[serde(default, deserialize_with = "folder_or_none", skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Tell what would happen, change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Sessions older than this many days are left out; 30 unless told (S3.12).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_days: Option<u32>,
}

/// What a sweep did with one session it chose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DreamSession {
    /// The session.
    pub session: String,
    /// The id of its project.
    pub project: Option<String>,
    /// `extracted`, `empty`, `retry` or `skipped`.
    pub outcome: String,
    /// Why, in one sentence.
    pub reason: String,
}

/// One change of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DreamChange {
    /// `add`, `reinforce`, `merge`, `supersede`, `promote` or `retire`.
    pub op: String,
    /// The memory's id.
    pub memory: String,
    /// The record before; null for one that was added.
    pub before: Option<MemoryRecord>,
    /// The record after.
    pub after: Option<MemoryRecord>,
    /// Why, in one sentence.
    pub because: String,
    /// What speaks for it, each as `session#event`.
    pub evidence: Vec<String>,
}

/// What a sweep left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct LeftAlone {
    /// The title of the finding or the memory.
    pub title: String,
    /// The id of its project.
    pub project: Option<String>,
    /// Why, in one sentence.
    pub reason: String,
}

/// One sweep: answer of `dream.run` and `dream.show`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DreamRecord {
    /// Minted once.
    pub id: String,
    /// `code` or `agent`.
    pub mode: String,
    /// It changed nothing.
    pub dry_run: bool,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: String,
    /// `done`, `nothing`, `skipped` or `failed`.
    pub result: String,
    /// Why, in one sentence.
    pub reason: String,
    /// The sessions it chose.
    pub sessions: Vec<DreamSession>,
    /// What it changed, in order.
    pub changes: Vec<DreamChange>,
    /// What it found and did not keep, or was due and did not do; at most 50.
    pub left_alone: Vec<LeftAlone>,
    /// When it was taken back, in whole or but for `left`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<String>,
    /// What the undo could not take back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<UndoLeft>,
}

/// `dream.log`, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct LogParams {
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A sweep in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DreamItem {
    /// Minted once.
    pub id: String,
    /// `code` or `agent`.
    pub mode: String,
    /// It changed nothing.
    pub dry_run: bool,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: String,
    /// `done`, `nothing`, `skipped` or `failed`.
    pub result: String,
    /// Why, in one sentence.
    pub reason: String,
    /// How many sessions it chose.
    pub sessions: u64,
    /// How many changes it made.
    pub changes: u64,
    /// When it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<String>,
}

/// `dream.show` and `dream.undo`: which sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct IdParams {
    /// The sweep; the newest when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Of `dream.undo`: a person asks for it. An agent that says it is none is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<bool>,
}

/// A memory that an undo left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct UndoLeft {
    /// The memory.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Why, in one sentence.
    pub because: String,
}

/// Answer to `dream.undo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct UndoAnswer {
    /// The sweep.
    pub id: String,
    /// When it was taken back; absent when all of it is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<String>,
    /// Memories that are as they were before; what the sweep had added is gone.
    pub restored: Vec<String>,
    /// Those of `restored` that had been confirmed or shown since the sweep; that went with them.
    pub confirmed_since: Vec<String>,
    /// Memories left as they are, because they were changed or forgotten since.
    pub left: Vec<UndoLeft>,
}

/// Answer to `dream.status`; also part of `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct DreamStatus {
    /// When the last sweep ended.
    pub last: Option<String>,
    /// When the next is due.
    pub next: Option<String>,
    /// How the last one ended.
    pub last_result: Option<String>,
    /// Why the last one ran and what came of it, in one sentence.
    pub last_why: Option<String>,
    /// Why none runs now, in one sentence.
    pub why_not: Option<String>,
    /// The last sweep's id.
    pub last_id: Option<String>,
    /// A sweep runs now.
    pub running: bool,
    /// Sessions that wait to be read.
    pub waiting: u64,
    /// Where the last sweep broke off, if it did, in one sentence.
    pub broke_off: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn a_sweep_answers_every_documented_field() {
        let dream = DreamRecord {
            id: "d".into(),
            changes: vec![DreamChange { op: "add".into(), ..DreamChange::default() }],
            sessions: vec![DreamSession::default()],
            ..DreamRecord::default()
        };
        assert_eq!(
            to_value(dream).unwrap(),
            json!({
                "id": "d", "mode": "", "dry_run": false, "started_at": "", "ended_at": "", "result": "", "reason": "",
                "sessions": [{"session": "", "project": null, "outcome": "", "reason": ""}],
                "changes": [
                    {"op": "add", "memory": "", "before": null, "after": null, "because": "", "evidence": []}
                ],
                "left_alone": []
            })
        );
    }
}
