//! Ids as people type them: whole, or some characters of the beginning or the end. An id begins with the time, so it is
//! the end that tells two apart, and the end is what screens show.

use doze_core::model::{DreamId, MemoryId, OwnerId};
use doze_core::text;

use crate::{Engine, EngineError};

/// Characters of a whole id, and the fewest that stand for one.
const WHOLE: usize = 36;
const SHORTEST: usize = 4;
/// Candidates that an error names, and characters of what it says of each.
const MAX_CANDIDATES: usize = 5;
const CANDIDATE_CHARS: usize = 40;

impl Engine {
    /// The memory that somebody means by an id or by a part of one. Whether a whole id exists is not looked up.
    pub fn memory_id(&self, owner: &OwnerId, given: &str) -> Result<MemoryId, EngineError> {
        let Some(part) = part_of_id(given) else { return Ok(MemoryId::new(given)) };
        let is_wanted = |id: &str| is_part(&part, id);
        let found = self.store().snapshot()?.memories_with_id(owner, &is_wanted, MAX_CANDIDATES + 1)?;
        let candidates = found.into_iter().map(|memory| {
            let says = if memory.title.trim().is_empty() { memory.body } else { memory.title };
            (memory.id, says)
        });
        the_one("memory", "memories", given, candidates.collect())
    }

    /// The dream that somebody means by an id or by a part of one. Whether a whole id exists is not looked up.
    pub fn dream_id(&self, owner: &OwnerId, given: &str) -> Result<DreamId, EngineError> {
        let Some(part) = part_of_id(given) else { return Ok(DreamId::new(given)) };
        let snapshot = self.store().snapshot()?;
        let ids = snapshot.dream_ids(owner)?.into_iter().filter(|id| is_part(&part, id.as_str()));
        let mut candidates = Vec::new();
        for id in ids.take(MAX_CANDIDATES + 1) {
            let began = snapshot.dream(owner, &id)?.map(|dream| dream.started_at.to_string());
            candidates.push((id, began.unwrap_or_default()));
        }
        the_one("dream", "dreams", given, candidates)
    }
}

/// Whether this has the form of a whole id.
pub(crate) fn is_whole(id: &str) -> bool {
    id.len() == WHOLE && is_of_ids(id)
}

/// What may be a part of an id, spelled as ids are.
fn part_of_id(given: &str) -> Option<String> {
    let may_be = (SHORTEST..WHOLE).contains(&given.len()) && is_of_ids(given);
    may_be.then(|| given.to_ascii_lowercase())
}

fn is_of_ids(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_part(part: &str, id: &str) -> bool {
    id.starts_with(part) || id.ends_with(part)
}

fn the_one<T: std::fmt::Display>(
    what: &str,
    many: &str,
    given: &str,
    mut candidates: Vec<(T, String)>,
) -> Result<T, EngineError> {
    match candidates.len() {
        0 => Err(EngineError::not_found(what, given).hint(match what {
            "dream" => "see  doze dream log",
            _ => "see  doze list --everywhere",
        })),
        1 => Ok(candidates.swap_remove(0).0),
        count => {
            let named = candidates.iter().take(MAX_CANDIDATES).map(|(id, says)| {
                let says = text::one_line(says);
                format!("{id} ({})", text::cut_ellipsis(&says, CANDIDATE_CHARS))
            });
            let more = if count > MAX_CANDIDATES { " and more" } else { "" };
            let named: Vec<String> = named.collect();
            Err(EngineError::invalid(format!("id: {given} fits several {many}: {}{more}", named.join(", ")))
                .hint("type more of its end"))
        }
    }
}
