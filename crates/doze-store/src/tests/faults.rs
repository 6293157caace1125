//! A disk that fails: clear answers, reads that go on, writing that resumes by itself.

use std::io::ErrorKind;

use super::disk::Disk;
use super::{in_memory, me};
use crate::{ApplyError, ChangeSet, Family, Options, ReadError, Store};

fn put(store: &Store, key: &str) -> Result<(), ApplyError> {
    store.apply(ChangeSet::new(me()).put_aux(Family::Other, key, vec![1; 3000])).map(drop)
}

fn keys(store: &Store) -> Vec<String> {
    let found = store.snapshot().unwrap().aux_scan(&me(), Family::Other, "").unwrap();
    found.into_iter().map(|(key, _)| key).collect()
}

/// Lets the disk fail after every possible number of writes, and then heals it.
#[test]
fn a_full_disk_is_said_reads_go_on_and_writing_resumes() {
    for writes in 0..24 {
        let (disk, store) = in_memory();
        put(&store, "a").unwrap();
        let before = store.snapshot().unwrap();
        disk.fail_after(writes, ErrorKind::StorageFull);
        let mut written = vec!["a".to_owned()];
        let mut refused = Vec::new();
        for index in 0..20 {
            let key = format!("b{index:02}");
            match put(&store, &key) {
                Ok(()) => written.push(key),
                Err(ApplyError::StorageFull) => refused.push(key),
                Err(other) => panic!("after {writes} writes: {other:?}"),
            }
        }
        assert!(refused.len() > 10, "after {writes} writes: {refused:?}");
        assert_eq!(keys(&store), written, "reads go on, and show what was acknowledged");
        assert!(store.stats().unwrap().not_writable.unwrap().contains("full"));

        disk.heal();
        put(&store, "c").unwrap();
        assert_eq!(store.stats().unwrap().not_writable, None);
        let now = keys(&store);
        assert!(written.iter().all(|key| now.contains(key)) && now.contains(&"c".to_owned()));
        assert!(store.check().unwrap().is_clean());
        match before.aux_scan(&me(), Family::Other, "") {
            Ok(old) => assert_eq!(old.len(), 1),
            Err(error) => assert!(matches!(error, ReadError::Expired), "{error:?}"),
        }
        store.close();
        let again = Store::open_with_backend(Disk::holding(disk.bytes()), Options::default()).unwrap();
        assert_eq!(keys(&again), now);
    }
}

#[test]
fn everybody_in_a_failed_batch_is_told() {
    let (disk, store) = in_memory();
    put(&store, "a").unwrap();
    disk.fail_after(0, ErrorKind::StorageFull);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let store = &store;
            scope.spawn(move || {
                assert!(matches!(put(store, &format!("{thread}")), Err(ApplyError::StorageFull)))
            });
        }
    });
    disk.heal();
    assert_eq!(keys(&store), ["a"]);
    put(&store, "b").unwrap();
}

#[test]
fn another_fault_is_told_apart_from_a_full_disk() {
    let (disk, store) = in_memory();
    disk.fail_after(0, ErrorKind::PermissionDenied);
    assert!(matches!(put(&store, "a"), Err(ApplyError::Storage(_))));
    disk.heal();
    put(&store, "a").unwrap();
}

#[test]
fn a_disk_without_the_reserve_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { min_free_bytes: u64::MAX, ..Options::default() };
    let store = Store::open(&folder.path().join("s.redb"), options).unwrap();
    assert!(matches!(put(&store, "a"), Err(ApplyError::StorageFull)));
    assert_eq!(store.snapshot().unwrap().seq().unwrap(), 0);
}
