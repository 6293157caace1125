//! The stores that doze is measured against.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use redb::{Database, Durability, TableDefinition};
use rusqlite::{Connection, TransactionBehavior, params};

/// About 200 bytes that differ from one event to the next.
pub fn text(number: u64, ordinal: u64) -> String {
    format!(
        "Event {ordinal} of session {number}: the port of the test server is {}, the suite passes with \
         {} tests and takes {} seconds; the migration runs before the first query and verifies its schema afterwards.",
        1024 + number % 60_000,
        number % 977,
        ordinal * 7 + number % 13,
    )
}

fn record(number: u64, ordinal: u64) -> String {
    format!(
        r#"{{"session":"session-{number}","ordinal":{ordinal},"kind":"answer","text":"{}"}}"#,
        text(number, ordinal)
    )
}

/// A connection a thread, each commit a transaction of its own.
pub struct Sqlite {
    connections: Vec<Mutex<Connection>>,
}

impl Sqlite {
    pub fn open(folder: &Path, threads: usize) -> Self {
        let path = folder.join("peer.sqlite");
        let connections = (0..threads).map(|_| {
            let connection = Connection::open(&path).expect("SQLite opens");
            connection.busy_timeout(Duration::from_secs(60)).expect("the time-out is set");
            connection
                .execute_batch(
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                     CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, project TEXT, at INTEGER, record TEXT);
                     CREATE INDEX IF NOT EXISTS session_at ON session (project, at);
                     CREATE TABLE IF NOT EXISTS event (session TEXT, ordinal INTEGER, record TEXT,
                         PRIMARY KEY (session, ordinal)) WITHOUT ROWID;",
                )
                .expect("the tables are made");
            Mutex::new(connection)
        });
        Self { connections: connections.collect() }
    }

    pub fn commit(&self, thread: usize, number: u64, events: u64) {
        // Never contended: a thread uses its own connection, the lock only makes it shareable.
        let mut connection = self.connections[thread].lock().expect("no thread panicked");
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .expect("the write lock is had");
        {
            let session = format!("session-{number}");
            let mut put = transaction
                .prepare_cached("INSERT INTO session VALUES (?1, 'project', ?2, ?3)")
                .expect("the statement is sound");
            put.execute(params![session, number as i64, record(number, 9)]).expect("the row is new");
            let mut add = transaction
                .prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3)")
                .expect("the statement is sound");
            for ordinal in 0..events {
                add.execute(params![session, ordinal as i64, record(number, ordinal)])
                    .expect("the row is new");
            }
        }
        transaction.commit().expect("the commit is durable");
    }
}

const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");

struct Waiting {
    number: u64,
    events: u64,
    done: Sender<()>,
}

/// One writer thread that takes all that waits into one transaction.
pub struct GroupedRedb {
    queue: Option<Sender<Waiting>>,
    writer: Option<JoinHandle<()>>,
}

impl GroupedRedb {
    pub fn open(folder: &Path) -> Self {
        let database = Database::create(folder.join("peer.redb")).expect("redb opens");
        let (queue, waiting) = channel();
        let writer = std::thread::spawn(move || write_all(&database, &waiting));
        Self { queue: Some(queue), writer: Some(writer) }
    }

    pub fn commit(&self, number: u64, events: u64) {
        let (done, answer) = channel();
        let queue = self.queue.as_ref().expect("the queue lives as long as this");
        queue.send(Waiting { number, events, done }).expect("the writer lives");
        answer.recv().expect("the writer answers");
    }
}

fn write_all(database: &Database, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter().take(255)).collect();
        let mut transaction = database.begin_write().expect("one writer");
        transaction.set_durability(Durability::Immediate).expect("no savepoint is open");
        transaction.set_quick_repair(true);
        {
            let mut table = transaction.open_table(RECORDS).expect("the table opens");
            for commit in &batch {
                let mut put = |ordinal| {
                    let key = format!("session-{}/{ordinal}", commit.number);
                    let value = record(commit.number, ordinal);
                    table.insert(key.as_str(), value.as_bytes()).expect("the record is written");
                };
                (0..commit.events).for_each(&mut put);
                put(9);
            }
        }
        transaction.commit().expect("the commit is durable");
        for commit in batch {
            // A caller that went away waits for nothing.
            let _ = commit.done.send(());
        }
    }
}

impl Drop for GroupedRedb {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(writer) = self.writer.take() {
            writer.join().expect("the writer does not panic");
        }
    }
}
