//! How much of a source is held and kept.

/// Bounds of one read, in bytes. The defaults are what the daemon uses; tests pass smaller ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A line of a JSONL file, or a message of a document, longer than this is skipped and counted.
    pub record: usize,
    /// A prompt, an answer or a notice keeps this much, head and tail.
    pub text: usize,
    /// A tool's input keeps this much, head and tail.
    pub input: usize,
    /// A tool's output keeps this much, head and tail.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record: 16 << 20, text: 64 << 10, input: 8 << 10, output: 16 << 10 }
    }
}

/// One string inside a record keeps this much while the record is looked at.
pub(crate) const STRING: usize = 1 << 20;
/// All strings of a record together keep this much.
pub(crate) const STRINGS: usize = 8 << 20;
/// A record keeps this many values; the rest of it is passed over.
pub(crate) const NODES: usize = 100_000;
/// A member of a document's root that is not the message list is looked at up to this size.
pub(crate) const MEMBER: usize = 64 << 10;
/// Tool calls that still wait for their result; beyond it the oldest is given up.
pub(crate) const CALLS: usize = 128;
/// Prompts that wait in the harness's queue.
pub(crate) const QUEUE: usize = 32;
/// Different texts counted to tell repeated ones apart in formats without ids.
pub(crate) const OCCURRENCES: usize = 4096;
/// Different ids remembered in one read to drop copies; later ones are taken as new.
pub(crate) const SEEN: usize = 200_000;
/// A name, path, id or time that is remembered as such.
pub(crate) const NAME: usize = 4096;
