//! What was acknowledged survives the power going away, and nothing is half there.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use doze_core::model::{MemoryId, Scope};
use redb::Durability;

use super::disk::Disk;
use super::me;
use super::records::memory;
use crate::{ChangeSet, Family, Options, Store};

const THREADS: usize = 4;
const EACH: usize = 12;

/// A moment at which the power could go: what had been acknowledged, and the disks it could leave.
type Moment = (BTreeSet<String>, Vec<Vec<u8>>);

/// Several threads write; every sync is such a moment, and so is the end.
fn moments(durability: Durability) -> Vec<Moment> {
    let disk = Disk::default();
    let store = Store::open_with_backend(disk.clone(), Options { durability, ..Options::default() }).unwrap();
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    let moments = Arc::new(Mutex::new(Vec::<Moment>::new()));
    disk.on_sync({
        let (acknowledged, moments) = (Arc::clone(&acknowledged), Arc::clone(&moments));
        move |images| moments.lock().unwrap().push((acknowledged.lock().unwrap().clone(), images))
    });
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, acknowledged) = (&store, &acknowledged);
            scope.spawn(move || {
                for index in 0..EACH {
                    let id = format!("{thread}-{index}");
                    let set = ChangeSet::new(me())
                        .put_memory(memory(&id, Scope::User, &"text ".repeat(100 * index)))
                        .put_aux(Family::Receipt, id.clone(), "receipt");
                    store.apply(set).unwrap();
                    acknowledged.lock().unwrap().insert(id);
                }
            });
        }
    });
    disk.on_sync(|_| {});
    let end = (acknowledged.lock().unwrap().clone(), vec![disk.durable()]);
    store.close();
    let mut moments = std::mem::take(&mut *moments.lock().unwrap());
    moments.push(end);
    moments
}

/// What was acknowledged and is not there. Fails at once if a set is there by half or the store does not open.
fn lost(moments: Vec<Moment>) -> usize {
    let mut lost = 0;
    for (acknowledged, images) in moments {
        for image in images {
            let store = Store::open_with_backend(Disk::holding(image), Options::default()).unwrap();
            let snapshot = store.snapshot().unwrap();
            let receipts = snapshot.aux_scan(&me(), Family::Receipt, "").unwrap();
            let receipts: BTreeSet<String> = receipts.into_iter().map(|(key, _)| key).collect();
            let memories = snapshot.memories(&me(), &Scope::User).unwrap();
            let memories: BTreeSet<String> = memories.into_iter().map(|m| m.id.as_str().to_owned()).collect();
            assert_eq!(receipts, memories, "a change set is there by half");
            assert_eq!(snapshot.seq().unwrap() as usize, receipts.len());
            assert!(store.check().unwrap().is_clean());
            lost += acknowledged.difference(&receipts).count();
        }
    }
    lost
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes() {
    let moments = moments(Durability::Immediate);
    assert!(moments.len() > EACH, "every commit syncs");
    assert_eq!(lost(moments), 0);
}

/// The test above would notice: with a weaker promise it does.
#[test]
fn a_store_that_does_not_sync_is_found_out() {
    assert!(lost(moments(Durability::None)) > 0);
}

#[test]
fn a_killed_process_leaves_everything_acknowledged() {
    let (disk, store) = super::in_memory();
    store.apply(ChangeSet::new(me()).put_memory(memory("m", Scope::User, "x"))).unwrap();
    // The store is still open: nothing was closed or flushed for this copy.
    let copy = Store::open_with_backend(Disk::holding(disk.bytes()), Options::default()).unwrap();
    assert!(copy.snapshot().unwrap().memory(&me(), &MemoryId::from("m")).unwrap().is_some());
}

#[test]
fn what_may_come_soon_is_read_at_once_and_durable_in_time() {
    let (disk, store) = super::in_memory();
    let set = |key: &str| ChangeSet::new(me()).put_aux(Family::Other, key, "v");
    let on_disk = |image: Vec<u8>, key: &str| {
        let copy = Store::open_with_backend(Disk::holding(image), Options::default()).unwrap();
        assert!(copy.check().unwrap().is_clean());
        copy.snapshot().unwrap().aux(&me(), Family::Other, key).unwrap().is_some()
    };
    let first = store.apply_soon(set("first")).unwrap().seq;
    assert!(store.snapshot().unwrap().aux(&me(), Family::Other, "first").unwrap().is_some());
    assert!(!on_disk(disk.durable(), "first"), "it was synced, so it would cost what a commit costs");
    // One that must be durable takes it along, in order.
    assert_eq!(store.apply(set("second")).unwrap().seq, first + 1);
    assert!(on_disk(disk.durable(), "first") && on_disk(disk.durable(), "second"));
    // Alone it is durable in time.
    let (synced, wait) = std::sync::mpsc::channel();
    disk.on_sync(move |_| {
        // Nobody waits any longer once the first sync was seen.
        let _ = synced.send(());
    });
    store.apply_soon(set("third")).unwrap();
    wait.recv_timeout(std::time::Duration::from_secs(60)).expect("it is synced although nothing follows");
    disk.on_sync(|_| {});
    // And an orderly end keeps what came last.
    store.apply_soon(set("fourth")).unwrap();
    store.close();
    assert!(on_disk(disk.durable(), "third") && on_disk(disk.durable(), "fourth"));
}

#[test]
fn a_number_is_never_given_out_twice_though_what_it_named_is_lost() {
    let (disk, store) = super::in_memory();
    let set = |key: &str| ChangeSet::new(me()).put_aux(Family::Other, key, "v");
    let lost = store.apply_soon(set("lost")).unwrap().seq;
    disk.fail_after(0, std::io::ErrorKind::StorageFull);
    store.apply(set("refused")).unwrap_err();
    disk.heal();
    assert!(store.apply(set("kept")).unwrap().seq > lost);
}
