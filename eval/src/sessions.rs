//! A session file as events that know their line.

use std::fs;
use std::io::Cursor as Bytes;
use std::path::Path;

use doze_core::model::Event;
use doze_transcript::{Cursor, Limits};

use crate::labels::Labelled;

/// The events of a file.
pub(crate) struct Read {
    pub(crate) events: Vec<(u64, Event)>,
    /// For each physical line, how many events were told up to its end.
    told: Vec<u64>,
}

impl Read {
    /// How many events lie between an event and those that a line tells (0 when it tells that event).
    pub(crate) fn distance(&self, ordinal: u64, line: usize) -> u64 {
        let upto = |line: usize| self.told.get(line).or(self.told.last()).copied().unwrap_or_default();
        // A line that tells nothing by itself belongs to what was told next.
        let (first, end) = (upto(line.saturating_sub(1)), upto(line));
        let last = end.saturating_sub(1).max(first);
        if ordinal < first { first - ordinal } else { ordinal.saturating_sub(last) }
    }
}

/// Reads the file line by line, as it grew.
pub(crate) fn read(root: &Path, labelled: &Labelled) -> Result<Read, String> {
    let short = root.join("eval/sessions").join(&labelled.file);
    let path = if short.exists() { short } else { root.join("tests/testdata/sessions").join(&labelled.file) };
    let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut events: Vec<Event> = Vec::new();
    let (mut told, mut cursor) = (vec![0], None::<Cursor>);
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for end in ends.chain([bytes.len()]) {
        let mut sink = |event| events.push(event);
        // The first lines alone may not tell yet what wrote the file.
        if let Ok(report) =
            doze_transcript::read(Bytes::new(&bytes[..end]), cursor.clone(), &Limits::default(), &mut sink)
        {
            cursor = Some(report.cursor);
        }
        told.push(events.len() as u64);
    }
    events.extend(cursor.and_then(|mut cursor| cursor.release_answer()));
    if events.is_empty() {
        return Err(format!("{} has no events", path.display()));
    }
    Ok(Read { events: (0..).zip(events).collect(), told })
}
