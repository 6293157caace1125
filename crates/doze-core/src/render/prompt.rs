//! What is put beside a prompt: the memories that fit it best, within a budget of its own.

use super::{Rendered, line_of};
use crate::model::{Memory, MemoryId};
use crate::tokens::estimate;

/// Tokens of the whole text: it comes with every prompt, so it stays a fraction of a brief.
pub const MAX_TOKENS: usize = 400;
/// Characters of one memory.
const MAX_LINE: usize = 400;

/// One line a memory, the best first; a line that no longer fits is left out, and so is its memory from the answer.
pub fn prompt(best: &[&Memory]) -> Rendered {
    let (mut text, mut shown) = (String::new(), Vec::<MemoryId>::new());
    for memory in best {
        let longer = format!("{text}{}{}", if text.is_empty() { "" } else { "\n" }, entry(memory));
        if estimate(&longer) <= MAX_TOKENS {
            text = longer;
            shown.push(memory.id.clone());
        }
    }
    Rendered::new(text, shown)
}

fn entry(memory: &Memory) -> String {
    let (title, body) = (memory.title.trim(), memory.body.trim());
    let start = title.trim_end_matches(['…', '.', ' ']);
    let said = match (title.is_empty(), body.is_empty()) {
        (_, true) => title.to_owned(),
        (true, _) => body.to_owned(),
        _ if body.starts_with(start) => body.to_owned(),
        _ => format!("{title}: {body}"),
    };
    format!("- {}", line_of(&said, MAX_LINE))
}
