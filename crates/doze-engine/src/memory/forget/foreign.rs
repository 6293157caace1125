//! Forgotten words in what files of another program said beyond what records hold: such a record goes as a whole, since
//! it is kept only to be written back as it stood.

use std::collections::{BTreeSet, HashSet};

use doze_core::model::{ProjectId, Session};
use doze_core::text::{self, Statements};
use doze_store::{ChangeSet, Family, Snapshot, Subject, foreign_key};
use serde_json::{Map, Value};

use super::words::taken_out;
use crate::office::{TOLD, foreign_prefix, seen_prefix};
use crate::{EngineError, encoded};

/// How the keys of what was said of memories begin.
const OF_MEMORIES: &str = "foreign:";

/// Adds the deletion of what was said of places, of the memories there, and beside what the office learned, in the words
/// of statements.
pub(super) fn without(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    places: &BTreeSet<Option<ProjectId>>,
    statements: &Statements,
) -> Result<ChangeSet, EngineError> {
    for project in places.iter().flatten() {
        set = without_in(snapshot, set, project, statements)?;
    }
    let owner = set.owner.clone();
    if let Some(bytes) = snapshot.aux(&owner, Family::Other, TOLD)?
        && let Ok(mut told) = serde_json::from_slice::<Map<String, Value>>(&bytes)
    {
        let before = told.len();
        told.retain(|_, beside| !says(statements, beside));
        if told.len() < before {
            set = set.expect_seen(snapshot, Subject::Aux(Family::Other, TOLD.to_owned()))?;
            set = set.put_aux(Family::Other, TOLD, encoded(&told)?);
        }
    }
    let mut saying = snapshot.aux_scan(&owner, Family::Other, OF_MEMORIES)?;
    saying.retain(|(_, bytes)| are_said_in(statements, bytes));
    if saying.is_empty() {
        return Ok(set);
    }
    let mut there = HashSet::new();
    for scope in snapshot.scopes(&owner)? {
        if places.contains(&None) || places.contains(&scope.project().cloned()) {
            let memories = snapshot.memories(&owner, &scope)?;
            there.extend(memories.iter().map(|memory| foreign_key(&memory.id)));
        }
    }
    for (key, _) in saying {
        if there.contains(&key) {
            set = set.delete_aux(Family::Other, key);
        }
    }
    Ok(set)
}

/// Adds the deletion of what files of a session's project said in the words of its summary.
pub(super) fn without_session(
    snapshot: &Snapshot,
    set: ChangeSet,
    session: &Session,
) -> Result<ChangeSet, EngineError> {
    let told = session.summary.as_ref().map(|summary| summary.what.as_str());
    match (&session.project, told.filter(|told| text::is_telling(told))) {
        (Some(project), Some(told)) => without_in(snapshot, set, project, &Statements::of([told])),
        _ => Ok(set),
    }
}

/// The same, of what was said beside the records of a project.
fn without_in(
    snapshot: &Snapshot,
    mut set: ChangeSet,
    project: &ProjectId,
    statements: &Statements,
) -> Result<ChangeSet, EngineError> {
    // Of what was read before only hashes are kept.
    let seen = seen_prefix(project);
    for (key, bytes) in snapshot.aux_scan(&set.owner, Family::Other, &foreign_prefix(project))? {
        if !key.starts_with(&seen) && are_said_in(statements, &bytes) {
            set = set.delete_aux(Family::Other, key);
        }
    }
    Ok(set)
}

/// Whether a record holds a text that says one of the statements.
pub(crate) fn are_said_in(statements: &Statements, record: &[u8]) -> bool {
    serde_json::from_slice(record).is_ok_and(|value| says(statements, &value))
}

fn says(statements: &Statements, value: &Value) -> bool {
    match value {
        Value::String(text) => taken_out(statements, text).is_some(),
        Value::Array(list) => list.iter().any(|value| says(statements, value)),
        Value::Object(object) => object.values().any(|value| says(statements, value)),
        _ => false,
    }
}
