//! What the single reads and writes promise.

use std::ops::ControlFlow;
use std::time::Duration;

use doze_core::model::{AgentId, DreamId, MemoryId, ProjectId, Scope, SessionKey, Status};

use super::records::{at, event, memory, project, session, work};
use super::{in_memory, me};
use crate::{
    ApplyError, Change, ChangeSet, Changed, CompactError, Family, KnownIn, OpenError, Options, SessionFilter,
    Store, Subject, session_aux_key,
};

fn set() -> ChangeSet {
    ChangeSet::new(me())
}

#[test]
fn the_loser_of_a_conflict_sees_the_winner_when_it_reads_again() {
    let (_, store) = in_memory();
    let id = MemoryId::from("m");
    store.apply(set().put_memory(memory("m", Scope::User, "first"))).unwrap();
    let seen = store.snapshot().unwrap().revision(&me(), &Subject::Memory(id.clone())).unwrap();
    let edit = |body| {
        let edited = memory("m", Scope::User, body);
        set().expect(Subject::Memory("m".into()), seen).put_memory(edited).put_aux(Family::Other, body, "x")
    };
    let winner = store.apply(edit("winner")).unwrap();
    let lost = store.apply(edit("loser")).unwrap_err();
    assert!(
        matches!(lost, ApplyError::Conflict { expected, actual, .. } if expected == seen && actual == winner.seq)
    );

    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.memory(&me(), &id).unwrap().unwrap().body, "winner");
    assert_eq!(snapshot.aux(&me(), Family::Other, "loser").unwrap(), None, "a refused set leaves nothing");
    assert_eq!(store.seq(), winner.seq);
}

#[test]
fn a_subject_that_does_not_exist_can_be_expected_to() {
    let (_, store) = in_memory();
    let create = || set().expect(Subject::Memory("m".into()), 0).put_memory(memory("m", Scope::User, "x"));
    store.apply(create()).unwrap();
    assert!(matches!(store.apply(create()), Err(ApplyError::Conflict { .. })));
    store.apply(set().with(Change::DeleteMemory("m".into()))).unwrap();
    store.apply(create()).unwrap();
}

#[test]
fn changes_touch_the_subjects_they_belong_to() {
    let (_, store) = in_memory();
    let revision = |subject: &Subject| store.snapshot().unwrap().revision(&me(), subject).unwrap();
    let (old, new) = (Scope::User, Scope::Team("t".into()));
    store.apply(set().put_memory(memory("m", old.clone(), "x"))).unwrap();
    let moved = store.apply(set().put_memory(memory("m", new.clone(), "x"))).unwrap().seq;
    assert_eq!(revision(&Subject::Scope(old.clone())), moved);
    assert_eq!(revision(&Subject::Scope(new.clone())), moved);
    assert_eq!(revision(&Subject::Memory("m".into())), moved);
    assert_eq!(store.snapshot().unwrap().scopes(&me()).unwrap(), vec![new.clone()]);
    let gone = store.apply(set().with(Change::DeleteMemory("m".into()))).unwrap().seq;
    assert_eq!(revision(&Subject::Scope(new)), gone);
    assert_eq!(revision(&Subject::Scope(old)), moved);

    let key = SessionKey::new("s", "codex");
    store.apply(set().put_session(session("s", 9))).unwrap();
    let events = vec![event("e", "hello")];
    let append =
        Change::AppendEvents { session: key.clone(), known_in: KnownIn::Project(None), first: 0, events };
    let appended = store.apply(set().with(append)).unwrap().seq;
    assert_eq!(revision(&Subject::Session(key)), appended);

    let seq = store.apply(set().with(Change::PutWork(Box::new(work("a", Some("p"), None))))).unwrap().seq;
    assert_eq!(revision(&Subject::Work("a".into(), Some("p".into()), None)), seq);
    let seq = store.apply(set().with(Change::PutProject(Box::new(project("p", &[]))))).unwrap().seq;
    assert_eq!(revision(&Subject::Projects), seq);
    let seq = store.apply(set().put_aux(Family::Task, "k", "v")).unwrap().seq;
    assert_eq!(revision(&Subject::Aux(Family::Task, "k".into())), seq);
    assert_eq!(revision(&Subject::Aux(Family::Other, "k".into())), 0);
}

#[test]
fn memories_are_found_by_topic_and_by_words() {
    let (_, store) = in_memory();
    let mut first = memory("m1", Scope::User, "same words");
    first.topic_key = Some("db-port".into());
    let mut second = memory("m2", Scope::User, "same words");
    second.topic_key = Some("db-port".into());
    store.apply(set().put_memory(first.clone()).put_memory(second.clone())).unwrap();
    let find = || store.snapshot().unwrap().memory_by_topic(&me(), &Scope::User, "db-port").unwrap();
    assert_eq!(find(), Some("m2".into()));
    let same = store.snapshot().unwrap().memories_by_hash(&me(), &Scope::User, &first.content_hash).unwrap();
    assert_eq!(same, vec![MemoryId::from("m1"), "m2".into()]);

    second.status = Status::Superseded;
    first.status = Status::Retracted;
    store.apply(set().put_memory(second)).unwrap();
    assert_eq!(find(), Some("m1".into()));
    store.apply(set().put_memory(first)).unwrap();
    assert_eq!(find(), None);
    assert_eq!(store.snapshot().unwrap().memory_by_topic(&me(), &Scope::Bank, "db-port").unwrap(), None);
}

#[test]
fn sessions_are_listed_newest_first_in_pages() {
    let (_, store) = in_memory();
    for (index, when) in [50, 10, 40, 40, 30, 20].into_iter().enumerate() {
        let mut one = session(&format!("s{index}"), when);
        one.agent.id = AgentId::new(if index % 2 == 0 { "even" } else { "odd" });
        one.project = (index != 4).then(|| ProjectId::from("p"));
        store.apply(set().put_session(one)).unwrap();
    }
    let mut moved = session("s1", 60);
    moved.agent.id = "odd".into();
    store.apply(set().put_session(moved)).unwrap();
    let snapshot = store.snapshot().unwrap();
    let list = |filter: SessionFilter| {
        let mut names = Vec::new();
        let mut cursor = None;
        loop {
            let page = snapshot.sessions(&me(), &filter, cursor.as_ref(), 2).unwrap();
            assert!(page.items.len() <= 2);
            names.extend(page.items.into_iter().map(|session| session.key.session));
            cursor = page.next;
            if cursor.is_none() {
                return names;
            }
        }
    };
    assert_eq!(list(SessionFilter::default()), ["s1", "s0", "s2", "s3", "s4", "s5"]);
    let even = SessionFilter { agent: Some("even".into()), ..Default::default() };
    assert_eq!(list(even.clone()), ["s0", "s2", "s4"]);
    assert_eq!(list(SessionFilter { project: Some(None), ..even.clone() }), ["s4"]);
    assert_eq!(list(SessionFilter { project: Some(Some("p".into())), ..even }), ["s0", "s2"]);
    let window = SessionFilter { since: Some(at(30)), until: Some(at(50)), ..Default::default() };
    assert_eq!(list(window), ["s2", "s3", "s4"]);
    assert_eq!(snapshot.sessions(&"other".into(), &Default::default(), None, 9).unwrap().items, []);
}

#[test]
fn a_forgotten_session_leaves_nothing_but_its_tombstone() {
    let (_, store) = in_memory();
    let key = SessionKey::new("s", "codex");
    let told = vec![event("e0", "zero"), event("e1", "one")];
    let marks: Vec<_> = told.iter().map(|event| event.fingerprint()).collect();
    let project = ProjectId::from("p");
    let append = Change::AppendEvents {
        session: key.clone(),
        known_in: KnownIn::Project(Some(project.clone())),
        first: 0,
        events: told,
    };
    let mut change = set().put_session(session("s", 9)).put_session(session("s2", 9)).with(append);
    change = change.with(Change::PutWork(Box::new(work("codex", Some("p"), Some("s")))));
    change = change.with(Change::PutWork(Box::new(work("codex", Some("p"), Some("s2")))));
    for family in [Family::Receipt, Family::Candidates, Family::Checkpoint, Family::Tombstone] {
        change = change.put_aux(family, session_aux_key(&key, "1"), "x");
        change = change.put_aux(family, session_aux_key(&SessionKey::new("s2", "codex"), "1"), "x");
    }
    store.apply(change).unwrap();
    let known = || store.snapshot().unwrap().known_events(&me(), Some(&project), &marks).unwrap();
    assert_eq!(known(), vec![Some((key.clone(), 0)), Some((key.clone(), 1))]);

    let blank = Change::ReplaceEvent { session: key.clone(), ordinal: 1, event: event("e1", "") };
    store.apply(set().with(blank)).unwrap();
    assert_eq!(known()[1], Some((key.clone(), 1)), "a blanked event is still recognised");
    assert_eq!(store.snapshot().unwrap().events(&me(), &key, 1..2).unwrap()[0].1.text, "");

    store.apply(set().with(Change::DeleteSession(key.clone()))).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(known(), vec![None, None]);
    assert_eq!(snapshot.events(&me(), &key, 0..9).unwrap(), vec![]);
    assert_eq!(snapshot.works(&me()).unwrap().len(), 1);
    let left = |family| snapshot.aux_scan(&me(), family, "").unwrap().len();
    assert_eq!((left(Family::Receipt), left(Family::Candidates), left(Family::Checkpoint)), (1, 1, 1));
    assert_eq!(left(Family::Tombstone), 2);
    assert_eq!(store.stats().unwrap().sessions, 1);
    assert!(store.check().unwrap().is_clean());
}

#[test]
fn an_alias_belongs_to_one_project() {
    let (_, store) = in_memory();
    let put = |id, aliases: &[&str]| set().with(Change::PutProject(Box::new(project(id, aliases))));
    store.apply(put("a", &["dir:x", "dir:y"])).unwrap();
    store.apply(put("b", &["dir:y"])).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.project_by_alias(&me(), "dir:y").unwrap().unwrap().id, "b".into());
    assert_eq!(snapshot.project(&me(), &"a".into()).unwrap().unwrap().aliases, ["dir:x"]);
    store.apply(put("b", &[])).unwrap();
    store.apply(set().with(Change::DeleteProject("a".into()))).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.project_by_alias(&me(), "dir:y").unwrap(), None);
    assert_eq!(snapshot.project_by_alias(&me(), "dir:x").unwrap(), None);
    assert_eq!(snapshot.projects(&me()).unwrap().len(), 1);
}

#[test]
fn vectors_come_back_and_go_with_their_memory() {
    let (_, store) = in_memory();
    let put = |doc: &str, model: &str, vectors| Change::PutVectors {
        doc: doc.into(),
        model: model.into(),
        vectors,
    };
    let change = set()
        .put_memory(memory("m", Scope::User, "x"))
        .with(put("m", "mini@1", vec![vec![1.0, 2.0], vec![3.0, 4.0]]))
        .with(put("m", "use@1", vec![vec![9.0]]))
        .with(put("n", "mini@1", vec![vec![5.0, 6.0]]));
    store.apply(change).unwrap();
    let all = || {
        let mut rows = Vec::new();
        store
            .snapshot()
            .unwrap()
            .all_vectors("mini@1", &mut |_, doc, chunk, v| rows.push((doc.to_owned(), chunk, v[0])))
            .unwrap();
        rows
    };
    assert_eq!(all(), [("m".into(), 0, 1.0), ("m".into(), 1, 3.0), ("n".into(), 0, 5.0)]);
    assert_eq!(store.snapshot().unwrap().vectors(&me(), "m", "use@1").unwrap(), Some(vec![vec![9.0]]));
    store.apply(set().with(Change::DeleteMemory("m".into()))).unwrap();
    assert_eq!(all(), [("n".into(), 0, 5.0)]);
    assert_eq!(store.snapshot().unwrap().vectors(&me(), "m", "use@1").unwrap(), None);
    for bad in [vec![], vec![vec![]], vec![vec![1.0], vec![1.0, 2.0]], vec![vec![f32::NAN]]] {
        assert!(matches!(store.apply(set().with(put("m", "x", bad))), Err(ApplyError::Invalid(_))));
    }
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_written() {
    let (_, store) = in_memory();
    let mut foreign = memory("m", Scope::User, "x");
    foreign.owner = "somebody".into();
    let mut nan = memory("m", Scope::User, "x");
    nan.confidence = f64::NAN;
    let split = memory("m", Scope::Agent { project: Some("p\0q".into()), agent: "a".into() }, "x");
    let mut nul = session("s\0", 1);
    nul.key.harness = "h".into();
    let sets = [
        set().put_memory(foreign),
        set().put_memory(nan),
        set().put_memory(split),
        set().put_session(nul),
        set().put_memory(memory("", Scope::User, "x")),
        set().put_aux(Family::Other, "k".repeat(20_000), "x"),
        set().with(Change::AppendEvents {
            session: SessionKey::new("s", ""),
            known_in: KnownIn::Project(None),
            first: u64::MAX,
            events: vec![event("e", "x")],
        }),
    ];
    for bad in sets {
        assert!(matches!(store.apply(bad.put_aux(Family::Other, "k", "x")), Err(ApplyError::Invalid(_))));
    }
    assert_eq!(store.seq(), 0);
    let small = Options { max_set_bytes: 1000, ..Options::default() };
    let store = Store::open_with_backend(super::disk::Disk::default(), small).unwrap();
    assert!(matches!(
        store.apply(set().put_aux(Family::Other, "k", vec![0; 1000])),
        Err(ApplyError::Invalid(_))
    ));
}

#[test]
fn owners_do_not_see_each_other() {
    let (_, store) = in_memory();
    store.apply(set().put_memory(memory("m", Scope::User, "mine"))).unwrap();
    let mut theirs = memory("m", Scope::User, "theirs");
    theirs.owner = "local:1000 ".into();
    store.apply(ChangeSet::new(theirs.owner.clone()).put_memory(theirs.clone())).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.memories(&me(), &Scope::User).unwrap()[0].body, "mine");
    assert_eq!(snapshot.memories(&theirs.owner, &Scope::User).unwrap()[0].body, "theirs");
    assert_eq!(snapshot.owners().unwrap(), vec![me(), theirs.owner]);
    let mut bodies = Vec::new();
    let mut collect = |memory: doze_core::model::Memory| {
        bodies.push(memory.body);
        ControlFlow::Continue(())
    };
    snapshot.all_memories(&mut collect).unwrap();
    assert_eq!(bodies, ["mine", "theirs"]);
}

#[test]
fn the_log_tells_what_changed_and_is_pruned_when_confirmed() {
    let (_, store) = in_memory();
    let key = SessionKey::new("s", "codex");
    store.apply(set().put_memory(memory("m", Scope::User, "x")).put_session(session("s", 1))).unwrap();
    store.apply(set().put_aux(Family::Other, "k", "v")).unwrap();
    store
        .apply(set().with(Change::DeleteMemory("m".into())).with(Change::DeleteDream(DreamId::from("d"))))
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let told: Vec<_> =
        snapshot.changes(0, 99).unwrap().into_iter().map(|change| (change.seq, change.what)).collect();
    let expected = [
        (1, Changed::Memory("m".into())),
        (1, Changed::Session(key)),
        (2, Changed::Other),
        (3, Changed::MemoryGone("m".into())),
        (3, Changed::Dream("d".into())),
    ];
    assert_eq!(told, expected);
    assert_eq!(snapshot.changes(0, 1).unwrap().len(), 2, "a set is never split");
    assert_eq!(snapshot.changes(3, 9).unwrap(), vec![]);
    assert_eq!(snapshot.changes(u64::MAX, 9).unwrap(), vec![]);

    store.prune_changes(3).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.oldest_change().unwrap(), 3);
    assert_eq!(snapshot.changes(0, 99).unwrap()[0].seq, 3);
    store.prune_changes(u64::MAX).unwrap();
    store.prune_changes(1).unwrap();
    assert_eq!(store.snapshot().unwrap().oldest_change().unwrap(), 4);
}

#[test]
fn the_log_has_a_bound_though_nobody_confirms() {
    let options = Options { max_changes: 10, ..Options::default() };
    let store = Store::open_with_backend(super::disk::Disk::default(), options).unwrap();
    for _ in 0..25 {
        store.apply(set().put_aux(Family::Other, "k", "v")).unwrap();
    }
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.oldest_change().unwrap(), 16);
    assert_eq!(snapshot.changes(0, 99).unwrap().len(), 10);
}

#[test]
fn a_follower_is_woken_and_a_closed_store_says_so() {
    let (_, store) = in_memory();
    assert_eq!(store.wait_for_change(0, Some(Duration::ZERO)), 0);
    let follower = std::thread::spawn({
        let store = store.clone();
        move || (store.wait_for_change(0, None), store.wait_for_change(1, None))
    });
    store.apply(set().put_aux(Family::Other, "k", "v")).unwrap();
    let other = store.clone();
    store.close();
    assert_eq!(follower.join().unwrap(), (1, 1));
    assert!(matches!(other.apply(set()), Err(ApplyError::Closed)));
    assert!(other.snapshot().is_err());
}

#[test]
fn a_file_is_private_opened_once_copied_and_compacted() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    let store = Store::open(&path, Options::default()).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(Store::open(&path, Options::default()), Err(OpenError::AlreadyOpen)));

    for index in 0..40 {
        store.apply(set().put_aux(Family::Other, format!("k{index}"), vec![7; 50_000])).unwrap();
    }
    let reader = store.snapshot().unwrap();
    assert!(matches!(store.compact(), Err(CompactError::Busy)));
    for index in 1..40 {
        store
            .apply(set().with(Change::DeleteAux { family: Family::Other, key: format!("k{index}") }))
            .unwrap();
    }
    assert_eq!(
        reader.aux(&me(), Family::Other, "k39").unwrap().unwrap().len(),
        50_000,
        "a snapshot stays as it is"
    );
    drop(reader);
    let before = store.stats().unwrap().file_bytes;
    assert!(store.compact().unwrap());
    let after = store.stats().unwrap().file_bytes;
    assert!(after < before / 2, "{before} to {after}");

    let copy = folder.path().join("copy.redb");
    std::fs::write(&copy, "in the way").unwrap();
    store.backup(&copy).unwrap_err();
    assert_eq!(std::fs::read(&copy).unwrap(), b"in the way");
    std::fs::remove_file(&copy).unwrap();
    store.backup(&copy).unwrap();
    assert!(store.backup(&folder.path().join("nowhere/copy.redb")).is_err());
    let seq = store.seq();
    store.close();
    for file in [path, copy] {
        let store = Store::open(&file, Options::default()).unwrap();
        assert_eq!(store.seq(), seq);
        assert_eq!(store.snapshot().unwrap().aux(&me(), Family::Other, "k0").unwrap(), Some(vec![7; 50_000]));
        assert!(store.check().unwrap().is_clean());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
