//! Versions of the layout.

use redb::{Database, ReadableDatabase};

use super::disk::Disk;
use super::{in_memory, me};
use crate::schema::{Found, Migration, SCHEMA_VERSION, bring_up, found};
use crate::tables::{self, AUX, EVENTS, META, META_SCHEMA};
use crate::{ChangeSet, Family, OpenError, Options, Store};

fn stored() -> Disk {
    let (disk, store) = in_memory();
    store.apply(ChangeSet::new(me()).put_aux(Family::Other, "k", "v")).unwrap();
    store.close();
    disk
}

fn database(disk: &Disk) -> Database {
    Database::builder().create_with_backend(disk.clone()).unwrap()
}

fn version(db: &Database) -> u64 {
    tables::number(&db.begin_read().unwrap().open_table(META).unwrap(), META_SCHEMA).unwrap()
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let disk = stored();
    let db = database(&disk);
    let txn = db.begin_write().unwrap();
    txn.open_table(META).unwrap().insert(META_SCHEMA, SCHEMA_VERSION + 1).unwrap();
    txn.commit().unwrap();
    drop(db);
    let error = Store::open_with_backend(disk.clone(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found, known } if found == known + 1));
    assert!(error.to_string().contains("newer doze"), "{error}");
    assert_eq!(version(&database(&disk)), SCHEMA_VERSION + 1);
}

#[test]
fn steps_run_once_in_order_before_anything_reads() {
    fn two(txn: &redb::WriteTransaction) -> Result<(), redb::Error> {
        txn.open_table(AUX)?.insert((me().as_str(), "other", "two"), b"2".as_slice())?;
        Ok(())
    }
    fn three(txn: &redb::WriteTransaction) -> Result<(), redb::Error> {
        let mut table = txn.open_table(AUX)?;
        let done = table.remove((me().as_str(), "other", "two"))?.is_some();
        assert!(done, "the step before has run");
        Ok(())
    }
    let steps = [Migration { to: 2, run: two }, Migration { to: 3, run: three }];
    let db = database(&stored());
    bring_up(&db, &found(&db).unwrap(), &steps, 3).unwrap();
    assert_eq!(version(&db), 3);
    bring_up(&db, &found(&db).unwrap(), &steps, 3).unwrap();
    assert_eq!(found(&db).unwrap(), Found::Version(3));
}

#[test]
fn a_step_that_fails_leaves_the_version_before() {
    fn breaks(txn: &redb::WriteTransaction) -> Result<(), redb::Error> {
        txn.open_table(AUX)?.insert((me().as_str(), "other", "half"), b"x".as_slice())?;
        Err(redb::Error::Corrupted("no".into()))
    }
    let disk = stored();
    let db = database(&disk);
    let steps = [Migration { to: 2, run: breaks }];
    assert!(bring_up(&db, &found(&db).unwrap(), &steps, 2).is_err());
    assert_eq!(version(&db), 1);
    drop(db);
    let store = Store::open_with_backend(disk, Options::default()).unwrap();
    assert_eq!(store.snapshot().unwrap().aux(&me(), Family::Other, "half").unwrap(), None);
}

/// The version says one thing, the tables another: the tables count.
#[test]
fn the_tables_that_are_really_there_are_checked() {
    let disk = stored();
    let db = database(&disk);
    let txn = db.begin_write().unwrap();
    txn.delete_table(EVENTS).unwrap();
    txn.commit().unwrap();
    drop(db);
    let error = Store::open_with_backend(disk, Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Schema { table: "events", .. }), "{error:?}");
}
