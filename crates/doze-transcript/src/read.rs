//! One read: find the format, go on where the last one ended, hand records to the format's reader.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use doze_core::model::Event;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::cursor::{Cursor, Layout, State};
use crate::detect::{Detected, Format, HEAD_BYTES, detect};
use crate::document::{Part, Splitter};
use crate::json::objects;
use crate::limits::{Limits, MEMBER};
use crate::lines::{Line, Lines};
use crate::out::Out;
use crate::report::Report;
use crate::rewind::Rewinds;
use crate::tally::short_hash;
use crate::{claude, codex, gemini, messages};

/// This many bytes before the offset tell whether the source is still the one that was read.
const CHECKED: u64 = 256;

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed.
    #[error("the session file cannot be read; check that it exists and may be read")]
    Io(#[from] io::Error),
    /// There is nothing in it yet.
    #[error("the session file is empty; read it again when the agent has written to it")]
    Empty,
    /// It is a session of a tool whose files are not read.
    #[error("this is a session of {0}, whose files cannot be read; commit its events or messages instead")]
    Unsupported(&'static str),
    /// It is no session.
    #[error("this is no session file of a known agent and no list of messages")]
    Unknown,
}

/// Reads a session, from where `cursor` ended or from the start, and hands every event to `sink` in the order told.
///
/// A line that is still being written is left for the next read. A source that shrank or was rewritten is read from
/// its start; the ids of its events are the same, so what is already kept stays as it is. An answer that may still
/// grow stays in the cursor, see [`Cursor::release_answer`].
///
/// # Errors
/// When the source fails, is empty, or is nothing that can be read. Damage inside it is counted, not an error.
pub fn read<R: Read + Seek>(
    mut source: R,
    cursor: Option<Cursor>,
    limits: &Limits,
    sink: &mut dyn FnMut(Event),
) -> Result<Report, ReadError> {
    let resumed = cursor.as_ref().is_some_and(|cursor| cursor.offset > 0);
    let start = match cursor {
        Some(cursor) if can_go_on(&mut source, &cursor)? => cursor,
        _ => from_start(&mut source)?,
    };
    let restarted = resumed && start.offset == 0;
    let Cursor { format, layout, offset, mut state, .. } = start;
    source.seek(SeekFrom::Start(offset))?;
    let rewinds = match format {
        Format::GeminiJsonl => Rewinds::find(BufReader::new(&mut source), offset, limits.record)?,
        _ => Rewinds::default(),
    };
    if rewinds.reaches_back {
        state.held = None;
    }
    source.seek(SeekFrom::Start(offset))?;
    let mut reader = Reader { format, rewinds, out: Out::new(state, limits, sink) };
    let end = match layout {
        Layout::Lines => reader.lines(BufReader::new(&mut source), offset)?,
        Layout::Document => reader.document(BufReader::new(&mut source))?,
    };
    let check = checked(&mut source, end)?;
    let Out { state, tally, .. } = reader.out;
    let redacted = tally.redacted.clone();
    let (meta, mut counts) = tally.finish();
    if matches!(format, Format::OpenaiMessages | Format::AnthropicMessages) {
        counts.files_changed = 0;
    }
    let cursor = Cursor { format, layout, offset: end, check, state };
    Ok(Report { format, cursor, restarted, meta, counts, redacted })
}

/// Whether the source still begins with what the cursor has read. A document is always read anew, and so is a source
/// of which nothing was complete: its format may have been guessed from half a line.
fn can_go_on<R: Read + Seek>(source: &mut R, cursor: &Cursor) -> io::Result<bool> {
    let len = source.seek(SeekFrom::End(0))?;
    if cursor.layout == Layout::Document || cursor.offset == 0 || len < cursor.offset {
        return Ok(false);
    }
    Ok(checked(source, cursor.offset)? == cursor.check)
}

/// A hash of the bytes before `offset`.
fn checked<R: Read + Seek>(source: &mut R, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(CHECKED);
    source.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    source.take(offset - from).read_to_end(&mut bytes)?;
    Ok(short_hash(&[&doze_core::model::hex(&bytes)]))
}

/// A cursor at the start of a source whose format is found out.
fn from_start<R: Read + Seek>(source: &mut R) -> Result<Cursor, ReadError> {
    source.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    source.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    match detect(&head) {
        Detected::Known(format, layout) => {
            Ok(Cursor { format, layout, offset: 0, check: 0, state: State::default() })
        }
        Detected::Unsupported(name) => Err(ReadError::Unsupported(name)),
        Detected::Unknown => Err(ReadError::Unknown),
        Detected::Empty => Err(ReadError::Empty),
    }
}

struct Reader<'a> {
    format: Format,
    rewinds: Rewinds,
    out: Out<'a>,
}

impl Reader<'_> {
    /// Reads lines; answers with the end of the last complete record.
    fn lines(&mut self, source: impl BufRead, offset: u64) -> io::Result<u64> {
        let mut lines = Lines::new(source, offset, self.out.limits.record);
        let mut done = offset;
        while let Some(line) = lines.step()? {
            match line {
                Line::Whole => {
                    self.line(&mut lines.bytes, lines.start);
                    done = lines.end;
                }
                Line::TooLong => {
                    self.out.tally.counts.skipped_long_lines += 1;
                    done = lines.end;
                }
                Line::TooLongTail => self.out.tally.counts.skipped_long_lines += 1,
                // An object is complete by its last brace, also when no line end follows.
                Line::Tail if is_whole(&lines.bytes) => {
                    self.line(&mut lines.bytes, lines.start);
                    done = lines.end;
                }
                Line::Tail => self.out.tally.counts.bad_lines += 1,
            }
        }
        Ok(done)
    }

    /// Reads the records of the line that begins at `start`.
    fn line(&mut self, bytes: &mut Vec<u8>, start: u64) {
        let padding = bytes.iter().take_while(|byte| matches!(byte, 0 | 0xef | 0xbb | 0xbf)).count();
        let is_padded = bytes.first() == Some(&0);
        bytes[..padding].fill(b' ');
        let Self { format, rewinds, out } = self;
        let was_taken_back = rewinds.has_taken_back(start);
        let is_json = objects(bytes, &mut |value| {
            out.tally.counts.records += 1;
            match was_taken_back {
                true => gemini::taken_back(&value, out),
                false => record(*format, &value, out),
            }
        });
        if !is_json || is_padded {
            out.tally.counts.bad_lines += 1;
        }
    }

    /// Reads a document; answers with its length.
    fn document(&mut self, mut source: impl BufRead) -> io::Result<u64> {
        let mut splitter = Splitter::new(self.out.limits.record, MEMBER);
        let mut len = 0;
        loop {
            let bytes = source.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            for byte in bytes {
                if let Some(part) = splitter.feed(*byte) {
                    self.part(part, &mut splitter.part);
                }
            }
            let read = bytes.len();
            len += read as u64;
            source.consume(read);
        }
        if !splitter.is_complete() {
            self.out.tally.counts.bad_lines += 1;
        }
        self.out.flush();
        Ok(len)
    }

    /// Reads one part of a document.
    fn part(&mut self, part: Part, bytes: &mut Vec<u8>) {
        let Self { format, out, .. } = self;
        let is_json = objects(bytes, &mut |value| match part {
            Part::Record(list) if belongs(list, &value, &mut out.state) => {
                out.tally.counts.records += 1;
                record(*format, &value, out);
            }
            Part::Member => member(*format, &value, out),
            _ => {}
        });
        match part {
            Part::TooLong => out.tally.counts.skipped_long_lines += 1,
            _ if !is_json => out.tally.counts.bad_lines += 1,
            _ => {}
        }
        bytes.clear();
    }
}

/// Whether a line without a line end is complete nevertheless.
fn is_whole(bytes: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<IgnoredAny>();
    bytes.trim_ascii_end().ends_with(b"}") && values.all(|value| value.is_ok())
}

/// Whether an item is a message of the list that the document's messages stand in: the first with a message in it.
fn belongs(list: &'static str, value: &Value, state: &mut State) -> bool {
    let is_message = ["role", "type", "message"].iter().any(|key| value.get(key).is_some());
    is_message && state.list.get_or_insert_with(|| list.to_owned()) == list
}

fn record(format: Format, value: &Value, out: &mut Out<'_>) {
    match format {
        Format::ClaudeCode => claude::record(value, out),
        Format::Codex => codex::record(value, out),
        Format::Gemini | Format::GeminiJsonl => gemini::record(value, out),
        Format::OpenaiMessages | Format::AnthropicMessages => messages::record(value, out),
    }
}

fn member(format: Format, value: &Value, out: &mut Out<'_>) {
    match format {
        Format::ClaudeCode => {}
        Format::Codex => codex::member(value, out),
        Format::Gemini | Format::GeminiJsonl => gemini::header(value, out),
        Format::OpenaiMessages | Format::AnthropicMessages => messages::header(value, out),
    }
}
