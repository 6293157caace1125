//! Keeping the history within its bounds (`R6`): raw events and summaries, the oldest go first.

use std::collections::HashSet;
use std::ops::Range;

use doze_core::model::{Event, OwnerId, Session, SessionKey};
use doze_store::{ChangeSet, SessionFilter, Snapshot};
use jiff::SignedDuration;

use crate::{Engine, EngineError};

/// Sessions deleted in one change set.
const SESSION_PAGE: usize = 50;
/// Events of a session that are read back: the newest ones (S1.9), and bytes of them.
const MAX_EVENTS: u64 = doze_core::digest::MAX_EVENTS as u64;
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Events read back at once.
pub(crate) const EVENTS_READ: u64 = 256;

impl Engine {
    /// Drops the sessions that are older than `history.max_age_days`, and of the rest the oldest until it fits into
    /// `history.max_bytes`. For room, those go last that a dream has not read yet or that a memory cites. Answers how
    /// many went; what was learned from them stays.
    pub(crate) fn shorten_history(&self, owner: &OwnerId) -> Result<u64, EngineError> {
        let switches = self.switches();
        let oldest = (switches.history_max_age_days > 0)
            .then(|| {
                self.now().checked_sub(SignedDuration::from_hours(24 * switches.history_max_age_days)).ok()
            })
            .flatten();
        // The history is a part of the file, so most of the time nothing has to be counted.
        let is_large = self.store().stats()?.file_bytes > switches.history_max_bytes;
        if !is_large && oldest.is_none() {
            return Ok(0);
        }
        let snapshot = self.store().snapshot()?;
        let mut sessions = snapshot.sessions(owner, &SessionFilter::default(), None, usize::MAX)?.items;
        sessions.reverse();
        let is_old = |session: &Session| oldest.is_some_and(|oldest| session.last_event_at < oldest);
        let (mut gone, mut kept): (Vec<_>, Vec<_>) = sessions.into_iter().partition(is_old);
        if is_large {
            self.put_needed_last(&snapshot, owner, &mut kept)?;
            let sizes = snapshot.history_sizes(owner)?;
            let size = |session: &Session| sizes.get(&session.key).copied().unwrap_or_default();
            let mut total: u64 = kept.iter().map(size).sum();
            for session in kept {
                if total <= switches.history_max_bytes {
                    break;
                }
                total -= size(&session);
                gone.push(session);
            }
        }
        drop(snapshot);
        for page in gone.chunks(SESSION_PAGE) {
            let set =
                page.iter().fold(ChangeSet::new(owner.clone()), |set, s| set.delete_session(s.key.clone()));
            self.store().apply(set)?;
        }
        Ok(gone.len() as u64)
    }

    /// The newest events of a range, within [`MAX_EVENTS`] and [`MAX_BYTES`], in their order.
    pub(crate) fn newest_events(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
        range: Range<u64>,
    ) -> Result<Vec<(u64, Event)>, EngineError> {
        let mut newest: Vec<(u64, Event)> = Vec::new();
        let (mut end, mut bytes) = (range.end, 0);
        let oldest = range.start.max(range.end.saturating_sub(MAX_EVENTS));
        while end > oldest && bytes < MAX_BYTES {
            let start = end.saturating_sub(EVENTS_READ).max(oldest);
            let mut page = snapshot.events(owner, key, start..end)?;
            bytes += page.iter().map(|(_, event)| size(event)).sum::<usize>();
            page.append(&mut newest);
            newest = page;
            end = start;
        }
        Ok(newest)
    }

    /// Moves the sessions that a dream has not read yet or that a memory cites behind the others.
    fn put_needed_last(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        sessions: &mut Vec<Session>,
    ) -> Result<(), EngineError> {
        let mut cited = HashSet::new();
        for scope in snapshot.scopes(owner)? {
            for memory in snapshot.memories(owner, &scope)? {
                let events = memory.source.events.iter().filter_map(|event| event.rsplit_once('#'));
                cited.extend(events.map(|(session, _)| session.to_owned()));
                cited.extend(memory.source.session);
            }
        }
        let (mut free, mut needed) = (Vec::new(), Vec::new());
        for session in std::mem::take(sessions) {
            let is_unread = session.kind.is_learned_from()
                && self.dreamt(snapshot, owner, &session.key)?.ordinal < session.event_count;
            let is_needed = is_unread || cited.contains(&session.key.session);
            if is_needed { needed.push(session) } else { free.push(session) }
        }
        free.append(&mut needed);
        *sessions = free;
        Ok(())
    }
}

fn size(event: &Event) -> usize {
    event.text.len() + event.tool.as_ref().map_or(0, |tool| tool.input.len() + tool.output.len())
}
