//! What asking costs: calls and tokens of a day, with a hard stop.

use doze_core::model::OwnerId;
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock::{day_of, next_day};
use crate::{Engine, EngineError, encoded};

/// The counter of the day.
const USAGE: &str = "extraction";

/// What was spent today, by the local calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    day: String,
    /// Times that somebody was asked.
    pub calls: u64,
    /// Tokens that asking cost: as told, else estimated; what failed counts with what it was asked.
    pub tokens: u64,
    /// Replies that could not be read.
    pub unreadable: u64,
}

impl Engine {
    /// What was spent today.
    pub(crate) fn usage(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<Usage, EngineError> {
        let bytes = snapshot.aux(owner, Family::Counter, USAGE)?;
        let usage: Usage = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let day = day_of(self.now());
        Ok(if usage.day == day { usage } else { Usage { day, ..Usage::default() } })
    }

    /// When there is something to spend again, if the budget of the day is spent.
    pub(crate) fn spent_until(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<Option<Timestamp>, EngineError> {
        let usage = self.usage(snapshot, owner)?;
        let extractors = self.switches().extractors;
        let is_over = |limit: u64, used: u64| limit > 0 && used >= limit;
        let is_spent = is_over(extractors.calls_per_day, usage.calls)
            || is_over(extractors.tokens_per_day, usage.tokens);
        Ok(is_spent.then(|| next_day(self.now())))
    }

    /// Counts a call before it is made, so that no crash makes one that is not counted. Answers when there is something
    /// to spend again if the budget is spent.
    pub(super) fn take_call(&self, owner: &OwnerId) -> Result<Option<Timestamp>, EngineError> {
        self.decide("the budget keeps changing", |snapshot| {
            if let Some(until) = self.spent_until(snapshot, owner)? {
                return Ok((ChangeSet::new(owner.clone()), Some(until)));
            }
            let set = self.counted(snapshot, owner, |usage| usage.calls = usage.calls.saturating_add(1))?;
            Ok((set, None))
        })
    }

    /// Counts what an answer cost, and whether it could be read.
    pub(super) fn count_answer(
        &self,
        owner: &OwnerId,
        tokens: u64,
        is_readable: bool,
    ) -> Result<(), EngineError> {
        self.decide("the budget keeps changing", |snapshot| {
            let set = self.counted(snapshot, owner, |usage| {
                usage.tokens = usage.tokens.saturating_add(tokens);
                usage.unreadable = usage.unreadable.saturating_add(u64::from(!is_readable));
            })?;
            Ok((set, ()))
        })
    }

    /// A change of today's counts, alone.
    fn counted(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        count: impl FnOnce(&mut Usage),
    ) -> Result<ChangeSet, EngineError> {
        let mut usage = self.usage(snapshot, owner)?;
        count(&mut usage);
        let set = ChangeSet::new(owner.clone())
            .expect_seen(snapshot, Subject::Aux(Family::Counter, USAGE.to_owned()))?;
        Ok(set.put_aux(Family::Counter, USAGE, encoded(&usage)?))
    }
}
