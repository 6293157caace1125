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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use doze_core::model::{DreamChange, DreamOp, DreamResult, Kind, Mode, Status};

    use super::*;
    use crate::testing::{memory, now};

    fn dream(changes: Vec<DreamChange>) -> Dream {
        Dream {
            id: "d1".into(),
            owner: "local:1".into(),
            mode: Mode::Code,
            dry_run: false,
            started_at: now(),
            ended_at: now(),
            result: DreamResult::Done,
            reason: String::new(),
            sessions: vec![],
            changes,
            undone_at: None,
        }
    }

    fn change(before: Option<&Memory>, after: &Memory) -> DreamChange {
        DreamChange {
            op: DreamOp::Merge,
            before: before.cloned(),
            after: after.clone(),
            because: String::new(),
            evidence: vec![],
        }
    }

    /// A record that changed twice, one that was added and one that was made stale; and how they stood before.
    fn case() -> (Dream, BTreeMap<MemoryId, Memory>, Vec<Memory>) {
        let a0 = memory("a", Kind::Fact, "a", "first", 3);
        let a1 = Memory { body: "second".into(), ..a0.clone() };
        let a2 = Memory { body: "third".into(), ..a0.clone() };
        let b = memory("b", Kind::Fact, "b", "added", 0);
        let c0 = memory("c", Kind::Fact, "c", "c", 3);
        let c1 = Memory { status: Status::Stale, ..c0.clone() };
        let changes =
            vec![change(Some(&a0), &a1), change(None, &b), change(Some(&a1), &a2), change(Some(&c0), &c1)];
        let stands = [a2, b, c1].into_iter().map(|memory| (memory.id.clone(), memory)).collect();
        (dream(changes), stands, vec![a0, c0])
    }

    fn apply(steps: Vec<UndoStep>, stands: &mut BTreeMap<MemoryId, Memory>) {
        for step in steps {
            match step {
                UndoStep::Restore(memory) => drop(stands.insert(memory.id.clone(), *memory)),
                UndoStep::Remove(id) => drop(stands.remove(&id)),
            }
        }
    }

    #[test]
    fn a_dream_is_taken_back_whole() {
        let (dream, mut stands, before) = case();
        let steps = undo(&dream, &|id| stands.get(id).cloned()).unwrap();
        assert_eq!(steps.len(), 4);
        apply(steps, &mut stands);
        assert_eq!(stands.into_values().collect::<Vec<_>>(), before);
    }

    #[test]
    fn a_record_that_changed_since_stops_it_by_name() {
        let (dream, mut stands, _) = case();
        stands.get_mut(&"a".into()).unwrap().reinforce_count += 1;
        let error = undo(&dream, &|id| stands.get(id).cloned()).unwrap_err();
        assert_eq!(error, UndoError::Changed { id: "a".into(), title: "a".into() });
        assert_eq!(
            error.to_string(),
            "memory a (\"a\") changed after the dream; edit it or mark it wrong instead"
        );
    }

    #[test]
    fn what_was_forgotten_stays_forgotten() {
        let (dream, mut stands, before) = case();
        stands.remove(&"a".into());
        stands.remove(&"b".into());
        let steps = undo(&dream, &|id| stands.get(id).cloned()).unwrap();
        assert_eq!(steps, [UndoStep::Restore(Box::new(before[1].clone()))]);
    }

    #[test]
    fn only_what_happened_is_undone_and_only_once() {
        let (mut dream, stands, _) = case();
        dream.dry_run = true;
        assert!(matches!(undo(&dream, &|id| stands.get(id).cloned()), Err(UndoError::DryRun { .. })));
        dream.undone_at = Some(now());
        assert!(matches!(undo(&dream, &|id| stands.get(id).cloned()), Err(UndoError::AlreadyUndone { .. })));
    }
}
