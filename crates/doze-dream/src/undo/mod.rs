//! The journal read backwards, record by record.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use doze_core::model::{Dream, Memory, MemoryId, Scope, Status, UndoLeft};
use doze_core::text;

/// Characters of a title that a sentence quotes.
const QUOTED: usize = 60;

/// How the memories stand now.
#[derive(Clone, Copy)]
pub struct Standing<'a> {
    /// Every memory of the spaces that the dream touched, whatever its status.
    pub memories: &'a BTreeMap<MemoryId, Memory>,
    /// Whether the words of a record were forgotten: they never come back.
    pub is_forgotten: &'a dyn Fn(&Memory) -> bool,
}

/// What taking a dream back means.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Undo {
    /// The steps: removals first. Every record is in one step at most.
    pub steps: Vec<UndoStep>,
    /// Records of these steps that were confirmed, counted or shown since; that goes with them.
    pub confirmed_since: Vec<MemoryId>,
    /// What stays as it is, and why.
    pub left: Vec<UndoLeft>,
}

/// One step back.
#[derive(Debug, Clone, PartialEq)]
pub enum UndoStep {
    /// Puts a record back as it was.
    Restore(Box<Memory>),
    /// Takes out a record that the dream made.
    Remove(MemoryId),
}

/// Why a dream cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// It was undone before.
    #[error("dream {dream} was undone already")]
    AlreadyUndone {
        /// The dream.
        dream: String,
    },
    /// It only told what it would have done.
    #[error("dream {dream} was a dry run and changed nothing")]
    DryRun {
        /// The dream.
        dream: String,
    },
}

/// All that a dream did to one record.
#[derive(Clone, Copy)]
struct Net<'a> {
    before: Option<&'a Memory>,
    after: &'a Memory,
}

/// What becomes of one record.
enum Fate {
    Take { is_confirmed: bool },
    Leave { because: String, is_final: bool },
    Settled,
}

/// Takes a dream back, record by record. What stands as the dream left it is restored exactly. Whoever undoes a dream
/// wants its work gone, so what the dream wrote goes also when it was merely confirmed or shown since; what anybody
/// changed since, a person vouched for, or was only counted by the dream and then counted again stays and is told.
/// What hangs together stays together: a record is not restored beside the one that replaced it and stays, none is
/// removed that another one points to, and no topic gets two holders. What was forgotten stays forgotten.
///
/// A dream that was undone in part is undone again for the rest.
pub fn undo(dream: &Dream, standing: &Standing<'_>) -> Result<Undo, UndoError> {
    if dream.dry_run {
        return Err(UndoError::DryRun { dream: dream.id.to_string() });
    }
    if dream.is_undone() {
        return Err(UndoError::AlreadyUndone { dream: dream.id.to_string() });
    }
    let nets = nets(dream);
    let mut left: BTreeMap<&MemoryId, UndoLeft> = BTreeMap::new();
    let mut taken: BTreeMap<&MemoryId, (Net<'_>, bool)> = BTreeMap::new();
    for (id, net) in &nets {
        match fate(id, net, standing) {
            Fate::Take { is_confirmed } => drop(taken.insert(id, (*net, is_confirmed))),
            Fate::Leave { because, is_final } => drop(left.insert(id, left_because(net, because, is_final))),
            Fate::Settled => {}
        }
    }
    let links = Links::of(standing.memories);
    loop {
        let held: Vec<(Net<'_>, String)> = taken
            .iter()
            .filter_map(|(id, (net, _))| Some((*net, links.holds(id, net, &nets, &taken, &left)?)))
            .collect();
        if held.is_empty() {
            break;
        }
        for (net, because) in held {
            taken.remove(&net.after.id);
            left.insert(&net.after.id, left_because(&net, because, false));
        }
    }
    let (removed, restored): (Vec<_>, Vec<_>) = taken.values().partition(|(net, _)| net.before.is_none());
    let steps = removed.into_iter().chain(restored).map(|(net, _)| match net.before {
        Some(before) => UndoStep::Restore(Box::new(before.clone())),
        None => UndoStep::Remove(net.after.id.clone()),
    });
    let confirmed_since = taken.iter().filter(|(_, (_, is_confirmed))| *is_confirmed);
    Ok(Undo {
        steps: steps.collect(),
        confirmed_since: confirmed_since.map(|(id, _)| (*id).clone()).collect(),
        left: left.into_values().collect(),
    })
}

/// Each record as it was before the first and after the last change to it. Of a dream that was undone in part only
/// the records that were left.
fn nets(dream: &Dream) -> BTreeMap<&MemoryId, Net<'_>> {
    let is_open = |id: &MemoryId| {
        dream.undone_at.is_none() || dream.undo_left.iter().any(|left| left.id == *id && !left.is_final)
    };
    let mut nets: BTreeMap<&MemoryId, Net<'_>> = BTreeMap::new();
    for change in dream.changes.iter().filter(|change| is_open(&change.after.id)) {
        nets.entry(&change.after.id)
            .and_modify(|net| net.after = &change.after)
            .or_insert(Net { before: change.before.as_ref(), after: &change.after });
    }
    nets
}

fn fate(id: &MemoryId, net: &Net<'_>, standing: &Standing<'_>) -> Fate {
    let leave = |because: &str, is_final: bool| Fate::Leave { because: because.to_owned(), is_final };
    let Some(now) = standing.memories.get(id) else {
        return match net.before {
            Some(_) => leave("it is gone: forgotten, or taken back with another dream", true),
            None => Fate::Settled,
        };
    };
    if net.before == Some(now) {
        return Fate::Settled;
    }
    if net.before.is_some_and(|before| (standing.is_forgotten)(before)) {
        return leave("what it said before was forgotten", true);
    }
    if now == net.after {
        return Fate::Take { is_confirmed: false };
    }
    if !differs_in_counts_alone(now, net.after) {
        return Fate::Leave { because: changed_since(now, net.after), is_final: false };
    }
    let is_written = net.before.is_none_or(|before| !differs_in_counts_alone(before, net.after));
    if is_written {
        return Fate::Take { is_confirmed: true };
    }
    leave("it was confirmed again since, and keeps what the dream counted", false)
}

/// Two states of a record that differ in nothing but how often and by whom it was confirmed or used.
fn differs_in_counts_alone(now: &Memory, then: &Memory) -> bool {
    let mut now = now.clone();
    now.confidence = then.confidence;
    now.evidence_count = then.evidence_count;
    now.reinforce_count = then.reinforce_count;
    now.applied_count = then.applied_count;
    now.last_confirmed_at = then.last_confirmed_at;
    now.confirmed_by.clone_from(&then.confirmed_by);
    now.source.events.clone_from(&then.source.events);
    now == *then
}

fn changed_since(now: &Memory, then: &Memory) -> String {
    if now.is_protected() && !then.is_protected() {
        return "a person changed it, pinned it or vouched for it since".to_owned();
    }
    if (&now.title, &now.body) != (&then.title, &then.body) {
        return "its text was changed since".to_owned();
    }
    if now.status != then.status {
        return format!("it has become {} since", now.status);
    }
    "it was changed since".to_owned()
}

fn left_because(net: &Net<'_>, because: String, is_final: bool) -> UndoLeft {
    UndoLeft { id: net.after.id.clone(), title: quoted(net.after), because, is_final }
}

fn quoted(memory: &Memory) -> String {
    let says = if memory.title.trim().is_empty() { &memory.body } else { &memory.title };
    text::cut_ellipsis(&text::one_line(says), QUOTED).into_owned()
}

/// Which records point to each other, and who holds a topic.
struct Links<'a> {
    pointing_to: BTreeMap<&'a MemoryId, Vec<&'a Memory>>,
    holders: BTreeMap<(&'a Scope, &'a str), Vec<&'a Memory>>,
}

impl<'a> Links<'a> {
    fn of(memories: &'a BTreeMap<MemoryId, Memory>) -> Self {
        let mut links = Self { pointing_to: BTreeMap::new(), holders: BTreeMap::new() };
        for memory in memories.values() {
            if let Some(successor) = &memory.superseded_by {
                links.pointing_to.entry(successor).or_default().push(memory);
            }
            if let Some(topic) = memory.topic_key.as_deref().filter(|_| memory.status == Status::Active) {
                links.holders.entry((&memory.scope, topic)).or_default().push(memory);
            }
        }
        links
    }

    /// Why a record that could be taken back has to stay, because of one that stays.
    fn holds(
        &self,
        id: &MemoryId,
        net: &Net<'_>,
        nets: &BTreeMap<&MemoryId, Net<'_>>,
        taken: &BTreeMap<&MemoryId, (Net<'_>, bool)>,
        left: &BTreeMap<&MemoryId, UndoLeft>,
    ) -> Option<String> {
        let successor = net.after.superseded_by.as_ref();
        if let Some((successor, theirs)) = successor.and_then(|id| Some((id, nets.get(id)?)))
            && left.get(successor).is_some_and(|left| !left.is_final)
            && theirs.before.is_none_or(|before| before.body != theirs.after.body)
        {
            return Some(format!("\"{}\" stays in its place", quoted(theirs.after)));
        }
        let stays = |other: &&&Memory| other.id != *id && !taken.contains_key(&other.id);
        let Some(before) = net.before else {
            let follower = self.pointing_to.get(id)?.iter().find(stays)?;
            return Some(format!("it took the place of \"{}\", which stays as it is", quoted(follower)));
        };
        let topic = before.topic_key.as_deref().filter(|_| before.status == Status::Active)?;
        let holder = self.holders.get(&(&before.scope, topic))?.iter().find(stays)?;
        Some(format!("\"{}\" is what holds its topic now", quoted(holder)))
    }
}
