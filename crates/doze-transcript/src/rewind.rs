//! Gemini CLI's rewinds: a record `{"$rewindTo":"<id>"}` takes back the message of that id and all after it. What was
//! taken back is found out before anything is told, since what was told cannot be.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::ops::Range;

use crate::json::{items, objects, string};
use crate::limits::SEEN;
use crate::lines::{Line, Lines};
use crate::tally::short_hash;

/// What the rewinds in the unread part of a file take back.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewinds {
    /// Lines that hold messages taken back, as ranges of offsets in ascending order.
    taken_back: Vec<Range<u64>>,
    /// A rewind reaches back to what an earlier read has told.
    pub(crate) reaches_back: bool,
}

impl Rewinds {
    /// Looks through the lines from `offset`, where `source` stands.
    pub(crate) fn find(source: impl BufRead, offset: u64, max_line: usize) -> io::Result<Self> {
        let mut lines = Lines::new(source, offset, max_line);
        let mut found = Self::default();
        // The messages that stand so far, each with the line it was first told in.
        let mut standing: Vec<(u64, u64)> = Vec::new();
        // Where a message stands; what a rewind took back may still be in here.
        let mut places: HashMap<u64, usize> = HashMap::new();
        while let Some(line) = lines.step()? {
            if !matches!(line, Line::Whole | Line::Tail) {
                continue;
            }
            let start = lines.start;
            // Padding would hide the object behind it.
            let padding =
                lines.bytes.iter().take_while(|byte| matches!(byte, 0 | 0xef | 0xbb | 0xbf)).count();
            lines.bytes[..padding].fill(b' ');
            objects(&mut lines.bytes, &mut |value| {
                if let Some(target) = value.get("$rewindTo") {
                    let target = short_hash(&[target.as_str().unwrap_or_default()]);
                    let at = place(&places, &standing, target);
                    found.take_back(at.map_or(offset, |at| standing[at].1)..start);
                    found.reaches_back |= at.is_none();
                    standing.truncate(at.unwrap_or(0));
                    return;
                }
                if string(&value, "type").is_empty() && value.get("$set").is_none() {
                    return;
                }
                let set = value.get("$set").map_or(&[][..], |set| items(set, "messages"));
                let ids = [&value].into_iter().chain(set).map(|message| string(message, "id"));
                for id in ids.filter(|id| !id.is_empty()) {
                    let id = short_hash(&[id]);
                    // A message told again stays where it was.
                    if place(&places, &standing, id).is_none() && standing.len() < SEEN {
                        places.insert(id, standing.len());
                        standing.push((id, start));
                    }
                }
            });
        }
        Ok(found)
    }

    fn take_back(&mut self, lines: Range<u64>) {
        while self.taken_back.last().is_some_and(|last| last.start >= lines.start) {
            self.taken_back.pop();
        }
        self.taken_back.push(lines);
    }

    /// Whether what the line at `start` says was taken back.
    pub(crate) fn has_taken_back(&self, start: u64) -> bool {
        let after = self.taken_back.partition_point(|range| range.start <= start);
        after > 0 && self.taken_back[after - 1].contains(&start)
    }
}

fn place(places: &HashMap<u64, usize>, standing: &[(u64, u64)], message: u64) -> Option<usize> {
    let at = *places.get(&message)?;
    standing.get(at).is_some_and(|(id, _)| *id == message).then_some(at)
}
