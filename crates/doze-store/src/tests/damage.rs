//! Damage is noticed, skipped, counted and said; it never panics and never takes the rest with it.

use std::ops::ControlFlow;

use doze_core::model::{Scope, SessionKey};
use redb::{Database, Key, ReadableTable, TableDefinition};

use super::disk::Disk;
use super::records::{event, memory, project, session};
use super::{in_memory, me};
use crate::tables::{AUX, CHANGES, EVENTS, MEMORIES, SESSIONS, VECTORS};
use crate::{Change, ChangeSet, Family, KnownIn, OpenError, Options, Store};

/// A store with some of everything, as bytes.
fn filled() -> Vec<u8> {
    let (disk, store) = in_memory();
    let key = SessionKey::new("s1", "codex");
    for index in 0..30 {
        let body = format!("memory number {index} {}", "padding ".repeat(40));
        let set = ChangeSet::new(me())
            .put_memory(memory(&format!("m{index:02}"), Scope::User, &body))
            .put_session(session(&format!("s{index}"), index))
            .with(Change::PutProject(Box::new(project(&format!("p{index}"), &[&format!("dir:{index}")]))))
            .with(Change::PutVectors {
                doc: format!("m{index:02}"),
                model: "m@1".into(),
                vectors: vec![vec![0.5; 64]],
            })
            .with(Change::AppendEvents {
                session: key.clone(),
                known_in: KnownIn::Project(None),
                first: index as u64,
                events: vec![event(&format!("e{index}"), &body)],
            })
            .put_aux(Family::Other, format!("k{index:02}"), body);
        store.apply(set).unwrap();
    }
    store.close();
    disk.bytes()
}

/// Flips a byte in the middle of the value of one row, with redb itself, so that its page is whole.
fn flip<K: Key + 'static>(
    bytes: Vec<u8>,
    table: TableDefinition<K, &'static [u8]>,
    key: K::SelfType<'_>,
) -> Vec<u8> {
    let disk = Disk::holding(bytes);
    let db = Database::builder().create_with_backend(disk.clone()).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut table = txn.open_table(table).unwrap();
        let mut value = table.get(&key).unwrap().unwrap().value().to_vec();
        let middle = value.len() / 2;
        value[middle] ^= 0x20;
        table.insert(&key, value.as_slice()).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    disk.bytes()
}

#[test]
fn a_damaged_value_is_skipped_counted_and_named() {
    let owner = me();
    let me_ = owner.as_str();
    let mut bytes = flip(filled(), MEMORIES, (me_, "m07"));
    bytes = flip(bytes, SESSIONS, (me_, "s3", "codex"));
    bytes = flip(bytes, EVENTS, (me_, "s1", "codex", 5));
    bytes = flip(bytes, AUX, (me_, "other", "k09"));
    bytes = flip(bytes, VECTORS, (me_, "m01", "m@1"));
    bytes = flip(bytes, CHANGES, 12);
    let store = Store::open_with_backend(Disk::holding(bytes), Options::default()).unwrap();
    let snapshot = store.snapshot().unwrap();

    let read = snapshot.memories(&me(), &Scope::User).unwrap();
    assert_eq!(read.len(), 29);
    assert_eq!(snapshot.memory(&me(), &"m07".into()).unwrap(), None);
    assert_eq!(snapshot.sessions(&me(), &Default::default(), None, 99).unwrap().items.len(), 29);
    assert_eq!(snapshot.events(&me(), &SessionKey::new("s1", "codex"), 0..99).unwrap().len(), 29);
    assert_eq!(snapshot.aux_scan(&me(), Family::Other, "").unwrap().len(), 29);
    let mut vectors = 0;
    snapshot.all_vectors("m@1", &mut |_, _, _, _| vectors += 1).unwrap();
    assert_eq!(vectors, 29);
    let mut all = 0;
    let mut count = |_| {
        all += 1;
        ControlFlow::Continue(())
    };
    snapshot.all_memories(&mut count).unwrap();
    assert_eq!(all, 29);
    assert!(snapshot.changes(0, 9999).unwrap().iter().all(|change| change.seq != 12));

    let named = store.stats().unwrap().quarantined;
    let tables: Vec<&str> = named.iter().map(|bad| bad.table.as_str()).collect();
    assert_eq!(tables, ["aux", "changes", "events", "memories", "sessions", "vectors"], "{named:?}");
    assert!(named[3].key.contains("m07") && named[3].why.contains("checksum"));
    drop(snapshot);

    // What is damaged can be written and deleted again, and then nothing is wrong any more.
    let set = ChangeSet::new(me())
        .put_memory(memory("m07", Scope::Bank, "whole again"))
        .put_session(session("s3", 3))
        .put_aux(Family::Other, "k09", "whole again")
        .with(Change::ReplaceEvent {
            session: SessionKey::new("s1", "codex"),
            ordinal: 5,
            event: event("e5", ""),
        })
        .with(Change::DeleteVectors { doc: "m01".into() });
    store.apply(set).unwrap();
    store.prune_changes(13).unwrap();
    assert_eq!(store.snapshot().unwrap().memories(&me(), &Scope::User).unwrap().len(), 29);
    assert_eq!(store.snapshot().unwrap().memories(&me(), &Scope::Bank).unwrap().len(), 1);
    assert!(store.check().unwrap().is_clean(), "{:?}", store.check());
}

#[test]
fn a_value_under_a_foreign_key_is_no_record() {
    let disk = Disk::holding(filled());
    let db = Database::builder().create_with_backend(disk.clone()).unwrap();
    let txn = db.begin_write().unwrap();
    {
        let mut table = txn.open_table(MEMORIES).unwrap();
        let value = table.get((me().as_str(), "m00")).unwrap().unwrap().value().to_vec();
        table.insert(("local:2", "m00"), value.as_slice()).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    let store = Store::open_with_backend(disk, Options::default()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.memory(&"local:2".into(), &"m00".into()).unwrap(), None);
    assert_eq!(store.stats().unwrap().quarantined.len(), 1);
}

/// Reads and writes everything; only whether it returns counts.
fn use_everything(store: &Store) {
    let key = SessionKey::new("s1", "codex");
    if let Ok(snapshot) = store.snapshot() {
        let _ = snapshot.memories(&me(), &Scope::User);
        let _ = snapshot.scopes(&me());
        let _ = snapshot.sessions(&me(), &Default::default(), None, 99);
        let _ = snapshot.events(&me(), &key, 0..99);
        let _ = snapshot.projects(&me());
        let _ = snapshot.project_by_alias(&me(), "dir:3");
        let _ = snapshot.dreams(&me(), 9);
        let _ = snapshot.works(&me());
        let _ = snapshot.aux_scan(&me(), Family::Other, "");
        let _ = snapshot.all_vectors("m@1", &mut |_, _, _, _| {});
        let _ = snapshot.changes(0, 9999);
    }
    let _ = store.check();
    let _ = store.stats();
    for index in 0..3 {
        let set = ChangeSet::new(me()).put_memory(memory(&format!("m{index:02}"), Scope::User, "new"));
        let _ = store.apply(set);
    }
    let _ = store.apply(ChangeSet::new(me()).with(Change::DeleteSession(key)));
}

#[test]
fn no_damaged_page_panics_or_blocks() {
    let bytes = filled();
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut opened = 0;
    for _ in 0..60 {
        let mut bad = bytes.clone();
        for _ in 0..8 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The first page is the header: damage there is told when opening.
            let at = 4096 + random as usize % (bad.len() - 4096);
            let run = 1 + (random >> 50) as usize % 64;
            for byte in bad.iter_mut().skip(at).take(run) {
                *byte ^= 0xa5;
            }
        }
        if let Ok(store) = Store::open_with_backend(Disk::holding(bad), Options::default()) {
            opened += 1;
            use_everything(&store);
            store.close();
        }
    }
    assert!(opened > 20, "only {opened} opened: the test looks at nothing");
}

#[test]
fn a_file_that_is_no_store_is_refused_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.redb");
    std::fs::write(&path, "not a store at all, but long enough to look at".repeat(200)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged(_)), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let nowhere = Store::open(&folder.path().join("no/folder/x.redb"), Options::default()).unwrap_err();
    assert!(matches!(nowhere, OpenError::Io { .. }), "{nowhere:?}");
}
