//! Search as SQLite does it: FTS5 for words, sqlite-vec for vectors.

use std::path::Path;
use std::sync::Once;

use rusqlite::{Connection, params};

static VEC: Once = Once::new();

/// Makes sqlite-vec part of every connection opened from here on.
fn register() {
    VEC.call_once(|| {
        // SAFETY: `sqlite3_vec_init` is the extension's entry point and has the signature that SQLite calls it with; the crate
        // declares it without arguments. It is linked in statically, so it outlives every connection.
        let code = unsafe {
            let init: unsafe extern "C" fn(
                *mut rusqlite::ffi::sqlite3,
                *mut *mut std::ffi::c_char,
                *const rusqlite::ffi::sqlite3_api_routines,
            ) -> std::ffi::c_int = std::mem::transmute(sqlite_vec::sqlite3_vec_init as *const ());
            rusqlite::ffi::sqlite3_auto_extension(Some(init))
        };
        assert_eq!(code, rusqlite::ffi::SQLITE_OK);
    });
}

pub struct SqliteSearch {
    connection: Connection,
}

impl SqliteSearch {
    pub fn build(folder: &Path, texts: &[(String, String)], vectors: &[Vec<f32>]) -> Self {
        register();
        let mut connection = Connection::open(folder.join("search.sqlite")).expect("SQLite opens");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 CREATE VIRTUAL TABLE words USING fts5(title, body, tokenize = 'porter unicode61');
                 CREATE VIRTUAL TABLE near USING vec0(embedding float[384]);",
            )
            .expect("the tables are made");
        let transaction = connection.transaction().expect("nobody else writes");
        {
            let mut words = transaction
                .prepare("INSERT INTO words (rowid, title, body) VALUES (?1, ?2, ?3)")
                .expect("the statement is sound");
            let mut near = transaction
                .prepare("INSERT INTO near (rowid, embedding) VALUES (?1, ?2)")
                .expect("the statement is sound");
            for (number, ((title, body), vector)) in texts.iter().zip(vectors).enumerate() {
                let id = number as i64 + 1;
                words.execute(params![id, title, body]).expect("the row is new");
                near.execute(params![id, bytes(vector)]).expect("the row is new");
            }
        }
        transaction.commit().expect("the rows are written");
        connection
            .execute("INSERT INTO words (words) VALUES ('optimize')", [])
            .expect("FTS5 merges its segments");
        Self { connection }
    }

    /// The best of both tables.
    pub fn search(&self, text: &str, vector: &[f32], limit: usize) -> (Vec<u64>, Vec<u64>) {
        let any = text.split(' ').collect::<Vec<_>>().join(" OR ");
        let words = self.ids(
            "SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY bm25(words, 2.0, 1.0) LIMIT ?2",
            params![any, limit as i64],
        );
        let near = self.ids(
            "SELECT rowid FROM near WHERE embedding MATCH ?1 AND k = ?2 ORDER BY distance",
            params![bytes(vector), limit as i64],
        );
        (words, near)
    }

    fn ids(&self, sql: &str, params: impl rusqlite::Params) -> Vec<u64> {
        let mut statement = self.connection.prepare_cached(sql).expect("the statement is sound");
        let rows = statement.query_map(params, |row| row.get::<_, i64>(0)).expect("the query runs");
        rows.map(|id| id.expect("a row has an id") as u64 - 1).collect()
    }
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}
