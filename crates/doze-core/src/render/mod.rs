//! The texts that go to an agent: brief, prompt, recovery, context, roster. Every line is made here and nowhere else, so that
//! no control character leaves, a memory is one line, and text that looks like a tag cannot close the block it stands
//! in.

pub mod age;
pub mod brief;
pub mod context;
pub mod legacy;
pub mod prompt;
pub mod recovery;
pub mod roster;
#[cfg(test)]
mod tests;

use crate::model::MemoryId;
use crate::text;

/// A text to inject, with what it costs and what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// The text, without a final line break; empty when there is nothing to say.
    pub text: String,
    /// What it costs, see [`crate::tokens::estimate`].
    pub tokens: usize,
    /// The memories whose lines stand in it, in their order.
    pub memories: Vec<MemoryId>,
}

impl Rendered {
    fn new(text: String, memories: Vec<MemoryId>) -> Self {
        Self { tokens: crate::tokens::estimate(&text), text, memories }
    }
}

/// Any text as one harmless line: see [`text::one_line`] and [`text::escape_tags`].
pub(crate) fn line(text: &str) -> String {
    text::escape_tags(&text::one_line(text)).into_owned()
}

/// The first `max` characters of a text as such a line; a cut one ends in `…`. Escapes come on top of `max`.
fn line_of(text: &str, max: usize) -> String {
    text::escape_tags(&text::cut_ellipsis(&text::one_line(text), max)).into_owned()
}
