//! Concurrent commits share a sync.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use super::disk::Disk;
use super::me;
use crate::{ApplyError, ChangeSet, Family, Options, Store, Subject};

const THREADS: usize = 64;
const EACH: usize = 10;

#[test]
fn sixty_four_writers_share_syncs_and_all_get_an_answer() {
    let disk = Disk::default();
    let store = Store::open_with_backend(disk.clone(), Options::default()).unwrap();
    let before = disk.syncs();
    // The first sync waits until every thread is about to write, so that there is something to share.
    let started = Arc::new(Barrier::new(THREADS));
    let mut gate = Some(Arc::clone(&started));
    disk.on_sync(move |_| {
        if let Some(gate) = gate.take() {
            gate.wait();
        }
    });
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, answered, started) = (&store, &answered, &started);
            scope.spawn(move || {
                if thread > 0 {
                    started.wait();
                }
                for index in 0..EACH {
                    let set = ChangeSet::new(me()).put_aux(Family::Other, format!("{thread}-{index}"), "x");
                    let applied = store.apply(set).unwrap();
                    let snapshot = store.snapshot().unwrap();
                    assert!(snapshot.seq().unwrap() >= applied.seq);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let applies = THREADS * EACH;
    assert_eq!(answered.load(Ordering::Relaxed), applies);
    assert_eq!(store.seq() as usize, applies);
    let syncs = (disk.syncs() - before) as usize;
    assert!(syncs < applies, "{syncs} syncs for {applies} change sets");
}

/// Everybody increments one counter and tries again after a conflict: no increment is lost.
#[test]
fn conflicting_writers_in_one_batch_lose_nothing() {
    let (_, store) = super::in_memory();
    let subject = || Subject::Aux(Family::Counter, "n".into());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for _ in 0..10 {
                    loop {
                        let snapshot = store.snapshot().unwrap();
                        let revision = snapshot.revision(&me(), &subject()).unwrap();
                        let value = snapshot.aux(&me(), Family::Counter, "n").unwrap();
                        let count: u64 = value.map_or(0, |v| String::from_utf8(v).unwrap().parse().unwrap());
                        let set = ChangeSet::new(me()).expect(subject(), revision);
                        match store.apply(set.put_aux(Family::Counter, "n", (count + 1).to_string())) {
                            Ok(_) => break,
                            Err(ApplyError::Conflict { .. }) => {
                                let again = store.snapshot().unwrap().revision(&me(), &subject()).unwrap();
                                assert!(again > revision, "a loser that reads again sees the winner");
                            }
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                }
            });
        }
    });
    let value = store.snapshot().unwrap().aux(&me(), Family::Counter, "n").unwrap().unwrap();
    assert_eq!(value, b"80");
}
