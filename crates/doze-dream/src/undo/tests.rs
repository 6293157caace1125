//! What is taken back, what stays, and that nothing else is touched.

use doze_core::duplicate::Parts;
use doze_core::model::{DreamChange, DreamOp, DreamResult, Kind, Mode, Verification};
use proptest::prelude::*;

use super::*;
use crate::testing::{any_finding, any_memory, memory, now};
use crate::{Caps, PlanInput, plan};

type World = BTreeMap<MemoryId, Memory>;

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
        left_alone: vec![],
        undone_at: None,
        undo_left: vec![],
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

fn world(memories: impl IntoIterator<Item = Memory>) -> World {
    memories.into_iter().map(|memory| (memory.id.clone(), memory)).collect()
}

/// Undoes, applies, and notes in the dream what was left, as the journal does.
fn take_back(dream: &mut Dream, world: &mut World) -> Undo {
    let undone = undo(dream, &Standing { memories: world, is_forgotten: &|_| false }).unwrap();
    for step in undone.steps.clone() {
        match step {
            UndoStep::Restore(memory) => drop(world.insert(memory.id.clone(), *memory)),
            UndoStep::Remove(id) => drop(world.remove(&id)),
        }
    }
    dream.undone_at = Some(now());
    dream.undo_left.clone_from(&undone.left);
    undone
}

fn told(undone: &Undo) -> Vec<(&str, &str)> {
    undone.left.iter().map(|left| (left.id.as_str(), left.because.as_str())).collect()
}

/// A record that changed twice, one that was added, one that was made stale and one that was counted; and how they
/// stood before.
fn case() -> (Dream, World, World) {
    let a0 = memory("a", Kind::Fact, "a", "first", 3);
    let a1 = Memory { body: "second".into(), ..a0.clone() };
    let a2 = Memory { body: "third".into(), ..a0.clone() };
    let b = memory("b", Kind::Fact, "b", "added", 0);
    let c0 = memory("c", Kind::Fact, "c", "c", 3);
    let c1 = Memory { status: Status::Stale, ..c0.clone() };
    let d0 = memory("d", Kind::Fact, "d", "d", 3);
    let d1 = Memory { reinforce_count: 2, ..d0.clone() };
    let changes = vec![
        change(Some(&a0), &a1),
        change(None, &b),
        change(Some(&a1), &a2),
        change(Some(&c0), &c1),
        change(Some(&d0), &d1),
    ];
    (dream(changes), world([a2, b, c1, d1]), world([a0, c0, d0]))
}

#[test]
fn a_dream_is_taken_back_whole() {
    let (mut dream, mut stands, before) = case();
    let undone = take_back(&mut dream, &mut stands);
    assert_eq!((undone.steps.len(), undone.left.len(), &stands), (4, 0, &before));
    assert!(dream.is_undone());
}

#[test]
fn what_changed_since_stays_and_is_told_and_the_rest_is_taken_back() {
    let (mut dream, mut stands, before) = case();
    let edited = Memory { body: "by hand".into(), ..stands[&"a".into()].clone() };
    stands.insert("a".into(), edited.clone());
    stands.get_mut(&"c".into()).unwrap().verification = Verification::Human;
    stands.get_mut(&"d".into()).unwrap().reinforce_count = 3;
    let undone = take_back(&mut dream, &mut stands);
    assert_eq!(
        told(&undone),
        [
            ("a", "its text was changed since"),
            ("c", "a person changed it, pinned it or vouched for it since"),
            ("d", "it was confirmed again since, and keeps what the dream counted"),
        ]
    );
    assert_eq!((stands.get(&"b".into()), &stands[&"a".into()]), (None, &edited));

    // Once the conflict is gone the rest can be taken back, and only the rest.
    stands.insert("a".into(), dream.changes[2].after.clone());
    let undone = take_back(&mut dream, &mut stands);
    assert_eq!(undone.steps, [UndoStep::Restore(Box::new(before[&"a".into()].clone()))]);
    assert_eq!(told(&undone).len(), 2);
    assert!(!dream.is_undone());
}

#[test]
fn what_the_dream_wrote_goes_also_when_it_was_confirmed_since() {
    let (mut dream, mut stands, before) = case();
    for (id, memory) in &mut stands {
        if id.as_str() != "d" {
            memory.reinforce_count += 1;
            memory.confidence = 0.9;
            memory.applied_count = 4;
            memory.confirmed_by.push("bert".into());
        }
    }
    let undone = take_back(&mut dream, &mut stands);
    assert_eq!(undone.confirmed_since, ["a".into(), "b".into(), "c".into()]);
    assert_eq!(stands, before);
}

#[test]
fn what_hangs_together_stays_together() {
    let topical = |id: &str, body: &str| Memory {
        topic_key: Some("port".into()),
        ..memory(id, Kind::Fact, id, body, 3)
    };
    let old = topical("old", "port 5432");
    let new = topical("new", "port 5433");
    let replaced =
        |by: &str| Memory { status: Status::Superseded, superseded_by: Some(by.into()), ..old.clone() };
    let changes = vec![change(Some(&old), &replaced("new")), change(None, &new)];

    // A person took up the new one: the old one does not come back beside it.
    let edited = Memory { body: "port 5434".into(), ..new.clone() };
    let mut stands = world([replaced("new"), edited]);
    let undone = take_back(&mut dream(changes.clone()), &mut stands);
    assert_eq!(undone.steps, []);
    assert_eq!(told(&undone), [("new", "its text was changed since"), ("old", "\"new\" stays in its place")]);

    // A later dream merged another record into the new one: taking it out would lose that one.
    let twin = Memory {
        status: Status::Superseded,
        superseded_by: Some("new".into()),
        ..memory("twin", Kind::Fact, "", "port 5433!", 1)
    };
    let mut stands = world([replaced("new"), new.clone(), twin]);
    let undone = take_back(&mut dream(changes.clone()), &mut stands);
    assert_eq!(undone.steps, []);
    assert_eq!(told(&undone)[0], ("new", "it took the place of \"port 5433!\", which stays as it is"));

    // The new one was forgotten and somebody wrote about the topic since.
    let mut stands = world([replaced("new"), topical("third", "port 5435")]);
    let undone = take_back(&mut dream(changes), &mut stands);
    assert_eq!(told(&undone), [("old", "\"third\" is what holds its topic now")]);
}

#[test]
fn what_was_forgotten_stays_forgotten() {
    let (mut dream, mut stands, _) = case();
    stands.remove(&"a".into());
    stands.remove(&"b".into());
    let is_forgotten = |memory: &Memory| memory.id.as_str() == "c";
    let undone = undo(&dream, &Standing { memories: &stands, is_forgotten: &is_forgotten }).unwrap();
    assert_eq!(undone.steps.len(), 1);
    assert_eq!(
        told(&undone),
        [
            ("a", "it is gone: forgotten, or taken back with another dream"),
            ("c", "what it said before was forgotten"),
        ]
    );
    dream.undone_at = Some(now());
    dream.undo_left = undone.left;
    assert!(dream.is_undone(), "nothing of it can be undone any more");
}

#[test]
fn only_what_happened_is_undone_and_only_once() {
    let (mut dream, stands, _) = case();
    let standing = Standing { memories: &stands, is_forgotten: &|_| false };
    dream.undone_at = Some(now());
    assert!(matches!(undo(&dream, &standing), Err(UndoError::AlreadyUndone { .. })));
    dream.dry_run = true;
    assert!(matches!(undo(&dream, &standing), Err(UndoError::DryRun { .. })));
}

/// Dreams over the memories, and leaves them as the dream does.
fn dreamt(world: &mut World, findings: &[crate::CandidateOf], prefix: &str) -> Dream {
    let existing: Vec<Memory> = world.values().cloned().collect();
    let caps = Caps::default();
    let input = PlanInput {
        existing: &existing,
        candidates: findings,
        ended: &[],
        ran: &[],
        spent: &[],
        taken_back: &[],
        now: now(),
        caps: &caps,
        take_apart: &|text| Parts::of(text).into(),
    };
    let mut minted = 0;
    let made = plan(&input, &mut || {
        minted += 1;
        MemoryId::new(format!("{prefix}{minted:04}"))
    });
    for change in &made.changes {
        world.insert(change.after.id.clone(), change.after.clone());
    }
    dream(made.changes)
}

/// Does to one record what people and agents do.
fn edit(world: &mut World, id: &MemoryId, how: u8) {
    let Some(memory) = world.get_mut(id) else { return };
    match how {
        0 => memory.body += " since Tuesday",
        1 => memory.reinforce_count += 1,
        2 => memory.pinned = true,
        3 => memory.status = Status::Retracted,
        4 => {
            memory.status = Status::Active;
            memory.superseded_by = None;
        }
        _ => drop(world.remove(id)),
    }
}

fn dangling(world: &World) -> Vec<&MemoryId> {
    let is_gone = |memory: &&Memory| {
        memory.superseded_by.as_ref().is_some_and(|successor| !world.contains_key(successor))
    };
    world.values().filter(is_gone).map(|memory| &memory.id).collect()
}

proptest! {
    #[test]
    fn every_untouched_record_is_as_it_was(
        existing in proptest::collection::vec(any_memory(), 0..14),
        findings in proptest::collection::vec(any_finding(), 0..10),
        later in proptest::collection::vec(any_finding(), 0..6),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..6), 0..6),
    ) {
        let before = world(existing);
        let mut stands = before.clone();
        let mut dream = dreamt(&mut stands, &findings, "new");
        let dreamt_world = stands.clone();
        if !later.is_empty() {
            dreamt(&mut stands, &later, "later");
        }
        let ids: Vec<MemoryId> = stands.keys().cloned().collect();
        for (which, how) in edits.iter().filter(|_| !ids.is_empty()) {
            edit(&mut stands, which.get(&ids), *how);
        }
        let edited = stands.clone();
        let is_untouched = edited == dreamt_world;
        let undone = take_back(&mut dream, &mut stands);

        let touched: Vec<&MemoryId> = dream.changes.iter().map(|change| &change.after.id).collect();
        let left: Vec<&MemoryId> = undone.left.iter().map(|left| &left.id).collect();
        for id in edited.keys().chain(before.keys()) {
            if touched.contains(&id) && !left.contains(&id) {
                prop_assert_eq!(stands.get(id), before.get(id), "taken back exactly");
            } else {
                prop_assert_eq!(stands.get(id), edited.get(id), "left exactly");
            }
        }
        if is_untouched {
            prop_assert_eq!(&undone.left, &[]);
            prop_assert_eq!(&stands, &before);
        }
        // Nothing is lost: what pointed to a record that was there still does.
        let was_dangling = dangling(&edited);
        let is_new = |id: &&&MemoryId| !was_dangling.contains(*id);
        let made: Vec<_> = dangling(&stands).into_iter().filter(|id| edited.get(*id) == stands.get(*id)).collect();
        prop_assert_eq!(made.iter().filter(is_new).count(), 0, "{:?}", made);

        // Undone again, nothing more happens unless the rest can be undone.
        if !dream.is_undone() {
            let again = take_back(&mut dream, &mut stands);
            prop_assert_eq!(&again.steps, &[]);
        }
    }
}
