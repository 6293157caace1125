//! Turns any agent's session file or message array into events.
//!
//! One call, [`read`], takes a seekable source, finds out from its content what wrote it ([`detect`]), and hands
//! every event to a sink while it reads. Nothing here holds a whole file: a JSONL file costs one line, a document
//! one message, and both are bounded by [`Limits`]. What was read is remembered in a [`Cursor`], so that the next
//! call reads only what was appended; event ids are stable, so reading again changes nothing.
//!
//! This crate may not open files, read a clock or the environment, decide what is worth remembering, or redact:
//! it only tells what happened and who said it.

mod claude;
mod claude_user;
mod codex;
mod commits;
mod cursor;
mod detect;
mod document;
mod gemini;
mod json;
mod limits;
mod lines;
mod messages;
mod out;
mod read;
mod report;
mod rewind;
mod tally;
mod text;

pub use cursor::{Cursor, Layout};
pub use detect::{Detected, Format, HEAD_BYTES, detect};
pub use limits::Limits;
pub use read::{ReadError, read};
pub use report::{Counts, Report, SessionMeta};
