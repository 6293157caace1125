//! Every record comes back as it was written, also after the store was closed and opened again.

use doze_core::model::{Dream, Event, Memory, Project, Session, WorkState};
use proptest::prelude::*;

use super::disk::Disk;
use super::records::{any_dream, any_event, any_memory, any_project, any_session, any_work};
use super::{in_memory, me};
use crate::envelope::{Damage, seal, unseal_record};
use crate::stored::Keep;
use crate::{Change, ChangeSet, KnownIn, Options, Store};

fn written(change: Change) -> Store {
    let (disk, store) = in_memory();
    store.apply(ChangeSet::new(me()).with(change)).unwrap();
    store.close();
    Store::open_with_backend(Disk::holding(disk.bytes()), Options::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn memory(memory in any_memory()) {
        let store = written(Change::PutMemory(Box::new(memory.clone())));
        let snapshot = store.snapshot().unwrap();
        prop_assert_eq!(snapshot.memory(&me(), &memory.id).unwrap(), Some(memory.clone()));
        prop_assert_eq!(snapshot.memories(&me(), &memory.scope).unwrap(), vec![memory.clone()]);
        prop_assert_eq!(snapshot.scopes(&me()).unwrap(), vec![memory.scope]);
    }

    #[test]
    fn session(session in any_session()) {
        let store = written(Change::PutSession(Box::new(session.clone())));
        let snapshot = store.snapshot().unwrap();
        prop_assert_eq!(snapshot.session(&me(), &session.key).unwrap(), Some(session.clone()));
        prop_assert_eq!(snapshot.sessions(&me(), &Default::default(), None, 9).unwrap().items, vec![session]);
    }

    #[test]
    fn events(session in any_session(), events in proptest::collection::vec(any_event(), 1..4), first in 0..99u64) {
        let change = Change::AppendEvents {
            session: session.key.clone(), known_in: KnownIn::Project(session.project), first, events: events.clone(),
        };
        let read = written(change).snapshot().unwrap().events(&me(), &session.key, 0..u64::MAX).unwrap();
        prop_assert_eq!(read, (first..).zip(events).collect::<Vec<_>>());
    }

    #[test]
    fn work(work in any_work()) {
        let store = written(Change::PutWork(Box::new(work.clone())));
        let snapshot = store.snapshot().unwrap();
        let read = snapshot.work(&me(), &work.agent.id, work.project.as_ref(), work.session.as_deref()).unwrap();
        prop_assert_eq!(read, Some(work));
    }

    #[test]
    fn project(project in any_project()) {
        let store = written(Change::PutProject(Box::new(project.clone())));
        let snapshot = store.snapshot().unwrap();
        for alias in &project.aliases {
            prop_assert_eq!(snapshot.project_by_alias(&me(), alias).unwrap(), Some(project.clone()));
        }
        prop_assert_eq!(snapshot.project(&me(), &project.id.clone()).unwrap(), Some(project));
    }

    #[test]
    fn dream(dream in any_dream()) {
        let store = written(Change::PutDream(Box::new(dream.clone())));
        let snapshot = store.snapshot().unwrap();
        prop_assert_eq!(snapshot.dreams(&me(), 1).unwrap(), vec![dream]);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for value in [bytes.clone(), seal(&bytes)] {
            let _ = unseal_record::<Memory>(&value);
            let _ = crate::envelope::unseal_vectors(&value);
        }
    }
}

/// A file of an older version lacks fields, one of a newer version has more.
#[test]
fn missing_fields_have_defaults_and_unknown_ones_are_ignored() {
    fn reads<T: Keep>(json: &str) -> T {
        unseal_record(&seal(json.as_bytes())).unwrap()
    }
    let memory: Memory = reads(r#"{"id":"m","owner":"o","body":"b","from_the_future":{"x":1}}"#);
    assert_eq!((memory.id.as_str(), memory.body.as_str(), memory.evidence_count), ("m", "b", 1));
    let session: Session = reads(r#"{"key":{"session":"s"}}"#);
    assert_eq!(session.key.session, "s");
    let _: (Event, WorkState, Project, Dream) = (reads("{}"), reads("{}"), reads("{}"), reads("{}"));

    let newer_word = unseal_record::<Memory>(&seal(br#"{"kind":"hunch"}"#));
    assert!(matches!(newer_word, Err(Damage::Shape(_))), "{newer_word:?}");
}
