//! Real sessions of every format, read whole, in pieces, damaged and at their bounds.

// Helpers of tests may unwrap as tests do; the lint knows only the test functions themselves.
#![allow(clippy::unwrap_used)]

mod damage;
mod events;
mod expected;
mod pieces;

use std::io::Cursor as Bytes;
use std::path::PathBuf;

use doze_core::model::Event;
use doze_transcript::{Cursor, Limits, ReadError, Report, read};

/// Where the sample sessions are.
fn sessions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/sessions")
}

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(sessions().join(name)).unwrap()
}

/// Reads bytes from a cursor; the last answer is released when `release`.
fn read_from(bytes: &[u8], cursor: Option<Cursor>) -> Result<(Report, Vec<Event>), ReadError> {
    let mut events = Vec::new();
    let report = read(Bytes::new(bytes), cursor, &Limits::default(), &mut |event| events.push(event))?;
    Ok((report, events))
}

/// Reads bytes whole, as at the end of a session.
fn read_all(bytes: &[u8]) -> (Report, Vec<Event>) {
    let (mut report, mut events) = read_from(bytes, None).unwrap();
    events.extend(report.cursor.release_answer());
    (report, events)
}
