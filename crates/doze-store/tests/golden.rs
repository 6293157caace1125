//! A store that an earlier version wrote reads as it did then.

use doze_core::model::{AgentId, ProjectId};
use doze_store::{Changed, Family, Options, Store, Subject};

#[path = "support/golden.rs"]
mod golden;

#[test]
fn the_store_of_layout_1_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden-v1.redb"), &path).unwrap();
    let store = Store::open(&path, Options::default()).unwrap();
    let snapshot = store.snapshot().unwrap();
    let (owner, memory, session) = (golden::owner(), golden::memory(), golden::session());
    let project = ProjectId::from("p-1");

    assert_eq!(snapshot.memory(&owner, &memory.id).unwrap().as_ref(), Some(&memory));
    let topic = snapshot.memory_by_topic(&owner, &memory.scope, "db-port").unwrap();
    assert_eq!(topic.as_ref(), Some(&memory.id));
    assert_eq!(snapshot.memories_by_hash(&owner, &memory.scope, "00ff").unwrap(), vec![memory.id.clone()]);
    assert_eq!(snapshot.sessions(&owner, &Default::default(), None, 9).unwrap().items, vec![session.clone()]);
    let events = golden::events();
    let read = snapshot.events(&owner, &session.key, 0..9).unwrap();
    assert_eq!(read, (0..).zip(events.clone()).collect::<Vec<_>>());
    let marks: Vec<_> = events.iter().map(|event| event.fingerprint()).collect();
    let known = snapshot.known_events(&owner, Some(&project), &marks).unwrap();
    assert_eq!(known, vec![Some((session.key.clone(), 0)), Some((session.key.clone(), 1))]);
    let by_alias = snapshot.project_by_alias(&owner, "remote:example.org/app").unwrap();
    assert_eq!(by_alias, Some(golden::project()));
    let agent = AgentId::from("claude-code/Explore");
    assert_eq!(snapshot.work(&owner, &agent, Some(&project), Some("s-1")).unwrap(), Some(golden::work()));
    assert_eq!(snapshot.dreams(&owner, 9).unwrap(), vec![golden::dream()]);
    let vectors = snapshot.vectors(&owner, memory.id.as_str(), "mini@8199be6f").unwrap();
    assert_eq!(vectors, Some(golden::vectors()));
    let receipt = snapshot.aux(&owner, Family::Receipt, "s-1\0claude-code\0c-1").unwrap();
    assert_eq!(receipt.as_deref(), Some(b"{\"seq\":1}".as_slice()));
    assert_eq!(snapshot.revision(&owner, &Subject::Memory(memory.id.clone())).unwrap(), 1);
    let changes = snapshot.changes(0, 99).unwrap();
    assert_eq!(changes[0].what, Changed::Memory(memory.id));
    assert_eq!(changes.len(), 6);
    assert!(store.check().unwrap().is_clean());
}
