//! Tests of the whole store, from inside, so that they can damage it and lower its promises.

mod damage;
mod disk;
mod durability;
mod faults;
mod group;
mod migration;
mod model;
mod reads;
mod records;
mod round_trip;

use doze_core::model::OwnerId;

use crate::{Options, Store};

/// The owner most tests write for.
fn me() -> OwnerId {
    OwnerId::new("local:1000")
}

/// A store in memory.
fn in_memory() -> (disk::Disk, Store) {
    let disk = disk::Disk::default();
    let store = Store::open_with_backend(disk.clone(), Options::default()).unwrap();
    (disk, store)
}
