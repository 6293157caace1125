//! The journal read backwards.

use std::collections::HashMap;

use doze_core::model::{Dream, Memory, MemoryId};

/// One step back.
#[derive(Debug, Clone, PartialEq)]
pub enum UndoStep {
    /// Puts a record back as it was.
    Restore(Box<Memory>),
    /// Takes out a record that the dream made.
    Remove(MemoryId),
}

/// Why a dream cannot be undone. Nothing is undone in part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// It was undone before.
    #[error("dream {dream} was undone already")]
    AlreadyUndone {
        /// The dream.
        dream: String,
    },
    /// It only told what it would have done.
    #[error("dream {dream} was a dry run and changed nothing")]
    DryRun {
        /// The dream.
        dream: String,
    },
    /// A record is no longer as the dream left it.
    #[error("memory {id} ({title:?}) changed after the dream; edit it or mark it wrong instead")]
    Changed {
        /// The record.
        id: MemoryId,
        /// Its title now.
        title: String,
    },
}

/// The steps that take a dream back, last change first, so that a record which changed twice ends as it began. A
/// record that was forgotten since stays forgotten. `current` tells how a record stands now.
pub fn undo(
    dream: &Dream,
    current: &dyn Fn(&MemoryId) -> Option<Memory>,
) -> Result<Vec<UndoStep>, UndoError> {
    if dream.undone_at.is_some() {
        return Err(UndoError::AlreadyUndone { dream: dream.id.to_string() });
    }
    if dream.dry_run {
        return Err(UndoError::DryRun { dream: dream.id.to_string() });
    }
    // How each record stands once the steps so far are taken; `None` for one that is gone.
    let mut stands: HashMap<&MemoryId, Option<Memory>> = HashMap::new();
    let mut steps = Vec::new();
    for change in dream.changes.iter().rev() {
        let id = &change.after.id;
        let now = stands.entry(id).or_insert_with(|| current(id));
        let Some(record) = now else { continue };
        if *record != change.after {
            return Err(UndoError::Changed { id: id.clone(), title: record.title.clone() });
        }
        steps.push(match &change.before {
            Some(before) => UndoStep::Restore(Box::new(before.clone())),
            None => UndoStep::Remove(id.clone()),
        });
        *now = change.before.clone();
    }
    Ok(steps)
}
