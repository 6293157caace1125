//! What an extractor answered, read as leniently as can be done without guessing (S1.17).
//!
//! Models wrap JSON in fences and prose, think aloud before it, forget the outer object, write numbers as text and
//! stop in the middle. All of that is read. What cannot be read is told apart from an answer that says there is
//! nothing to keep.

mod coerce;
mod scan;
#[cfg(test)]
mod tests;

use doze_core::model::Kind;

/// Memories of one reply (S1.17). Counted before any is checked, as the original does.
pub const MAX_MEMORIES: usize = 6;
/// Characters of a title.
pub const TITLE_CHARS: usize = 120;
/// Characters of a body.
pub const BODY_CHARS: usize = 800;
/// Characters of a topic key (S1.36).
pub const TOPIC_CHARS: usize = 80;
/// Files of one memory.
pub const MAX_FILES: usize = 20;
/// The confidence of a memory whose reply names none.
pub const DEFAULT_CONFIDENCE: f64 = 0.6;
/// Open items of a summary, and characters of each of its texts.
const MAX_OPEN_ITEMS: usize = 12;
const SUMMARY_CHARS: usize = 800;

/// A reply that could be read. Without memories and summary it says that nothing is worth keeping.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What the run was about, if the reply told.
    pub summary: Option<RunSummary>,
    /// At most [`MAX_MEMORIES`].
    pub memories: Vec<Finding>,
    /// The reply broke off; what was complete in it is here.
    pub cut_off: bool,
}

/// What a run was about (S1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// What was asked.
    pub request: String,
    /// What was done.
    pub work_done: String,
    /// How it ended; `unknown` when the reply does not say.
    pub outcome: String,
    /// What is left.
    pub open_items: Vec<String>,
}

/// A memory that an extractor proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What sort of knowledge; a kind that nobody knows is a lesson.
    pub kind: Kind,
    /// One line of at most [`TITLE_CHARS`].
    pub title: String,
    /// At most [`BODY_CHARS`].
    pub body: String,
    /// What it is about, if a newer one about the same replaces it.
    pub topic_key: Option<String>,
    /// At most [`MAX_FILES`].
    pub files: Vec<String>,
    /// 0.1–1.
    pub confidence: f64,
}

/// Nothing in a reply has the shape that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the reply holds no JSON of the shape that was asked for")]
pub struct Unparsable;

/// Reads a reply. What it says comes without the secrets in it, which are taken out before anything is cut.
pub fn parse(text: &str) -> Result<Reply, Unparsable> {
    let text = &*crate::json::whole_characters(text);
    // What is JSON as a whole may speak of a tag that elsewhere stands for a thought.
    if let Some(coerce::Shape::Whole(reply)) = scan::whole(text).as_ref().and_then(coerce::shape) {
        return Ok(reply);
    }
    let answer = scan::without_thoughts(text);
    let mut best: Option<Reply> = None;
    let mut loose = Reply::default();
    for piece in scan::pieces(&answer) {
        match coerce::shape(&piece.value) {
            // One that broke off before anything was complete says nothing, not even that there is nothing.
            Some(coerce::Shape::Whole(reply)) if piece.cut_off && worth(&reply) == (0, false) => {}
            Some(coerce::Shape::Whole(reply)) => {
                let reply = Reply { cut_off: piece.cut_off, ..reply };
                // Of two that say as much the later is the final one.
                if best.as_ref().is_none_or(|best| worth(&reply) >= worth(best)) {
                    best = Some(reply);
                }
            }
            Some(coerce::Shape::Single(finding)) if loose.memories.len() < MAX_MEMORIES => {
                loose.memories.push(finding);
                loose.cut_off |= piece.cut_off;
            }
            _ => {}
        }
    }
    // Memories one behind the other, without the object round them, say more than an empty one among them.
    match best {
        Some(reply) if worth(&reply) > (0, false) || loose.memories.is_empty() => Ok(reply),
        None if loose.memories.is_empty() && !is_empty_list(&answer) => Err(Unparsable),
        _ => Ok(loose),
    }
}

/// A list of nothing, and nothing else: there is nothing to keep.
fn is_empty_list(answer: &str) -> bool {
    let bare: String = answer.chars().filter(|c| !c.is_whitespace() && *c != '`').collect();
    matches!(bare.as_str(), "[]" | "json[]")
}

fn worth(reply: &Reply) -> (usize, bool) {
    (reply.memories.len(), reply.summary.is_some())
}
