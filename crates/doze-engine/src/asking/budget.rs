//! What asking costs: calls and tokens of a day, with a hard stop.

use doze_core::model::OwnerId;
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::clock::{day_of, next_day};
use crate::{Engine, EngineError, encoded};

/// The counter of the day.
const USAGE: &str = "extraction";

/// Days beside today whose counts are kept: a clock that is set back and forth again finds them.
const OTHER_DAYS: usize = 8;

/// What was spent today, by the local calendar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    day: String,
    /// Requests that were made.
    pub calls: u64,
    /// Tokens that asking cost: as told, else estimated; what failed counts with what it was asked.
    pub tokens: u64,
    /// Replies that could not be read.
    pub unreadable: u64,
    /// Other days, the one that was today last behind the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Usage>,
}

impl Usage {
    /// The counts with another day as today. A clock that was wrong for a while makes no day anew.
    fn on(mut self, day: String) -> Self {
        if self.day == day {
            return self;
        }
        let mut others = std::mem::take(&mut self.others);
        let at = others.iter().position(|other| other.day == day);
        let today = at.map(|at| others.remove(at)).unwrap_or_else(|| Self { day, ..Self::default() });
        if !self.day.is_empty() {
            others.push(self);
        }
        others.drain(..others.len().saturating_sub(OTHER_DAYS));
        Self { others, ..today }
    }
}

/// What was set aside for a question before it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reserved {
    day: String,
    tokens: u64,
}

impl Engine {
    /// What was spent today.
    pub(crate) fn usage(&self, snapshot: &Snapshot, owner: &OwnerId) -> Result<Usage, EngineError> {
        let bytes = snapshot.aux(owner, Family::Counter, USAGE)?;
        let usage: Usage = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Ok(usage.on(day_of(self.now())))
    }

    /// When there is something to spend again, if the budget of the day is spent.
    pub(crate) fn spent_until(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
    ) -> Result<Option<Timestamp>, EngineError> {
        let usage = self.usage(snapshot, owner)?;
        let limit = self.switches().extractors.tokens_per_day;
        let is_spent = self.are_calls_spent(&usage) || (limit > 0 && usage.tokens >= limit);
        Ok(is_spent.then(|| next_day(self.now())))
    }

    fn are_calls_spent(&self, usage: &Usage) -> bool {
        let limit = self.switches().extractors.calls_per_day;
        limit > 0 && usage.calls >= limit
    }

    /// Counts a question before it is asked, with the tokens that it may cost, so that no crash makes one that is not
    /// counted and no two that are asked at once spend the same rest. The error says when there is something to spend
    /// again.
    pub(super) fn take_call(
        &self,
        owner: &OwnerId,
        tokens: u64,
    ) -> Result<Result<Reserved, Timestamp>, EngineError> {
        self.decide("the budget keeps changing", |snapshot| {
            let limit = self.switches().extractors.tokens_per_day;
            let is_too_much = limit > 0 && self.usage(snapshot, owner)?.tokens.saturating_add(tokens) > limit;
            let until = self.spent_until(snapshot, owner)?;
            if let Some(until) = until.or_else(|| is_too_much.then(|| next_day(self.now()))) {
                return Ok((ChangeSet::new(owner.clone()), Err(until)));
            }
            let mut day = String::new();
            let set = self.counted(snapshot, owner, |usage| {
                usage.calls = usage.calls.saturating_add(1);
                usage.tokens = usage.tokens.saturating_add(tokens);
                day.clone_from(&usage.day);
            })?;
            Ok((set, Ok(Reserved { day, tokens })))
        })
    }

    /// Counts one more request of a question that was taken. False when the calls of the day are spent.
    pub(super) fn take_again(&self, owner: &OwnerId) -> Result<bool, EngineError> {
        self.decide("the budget keeps changing", |snapshot| {
            if self.are_calls_spent(&self.usage(snapshot, owner)?) {
                return Ok((ChangeSet::new(owner.clone()), false));
            }
            let set = self.counted(snapshot, owner, |usage| usage.calls = usage.calls.saturating_add(1))?;
            Ok((set, true))
        })
    }

    /// Puts what a question cost in the place of what was set aside for it, on the day on which it was, and counts a
    /// reply that could not be read.
    pub(super) fn settle_call(
        &self,
        owner: &OwnerId,
        reserved: &Reserved,
        tokens: u64,
        is_readable: bool,
    ) -> Result<(), EngineError> {
        self.decide("the budget keeps changing", |snapshot| {
            let set = self.counted(snapshot, owner, |usage| {
                usage.unreadable = usage.unreadable.saturating_add(u64::from(!is_readable));
                let mut days = std::iter::once((&usage.day, &mut usage.tokens))
                    .chain(usage.others.iter_mut().map(|other| (&other.day, &mut other.tokens)));
                if let Some((_, spent)) = days.find(|(day, _)| **day == reserved.day) {
                    *spent = spent.saturating_sub(reserved.tokens).saturating_add(tokens);
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_back_and_forth_finds_each_days_counts() {
        let spend = |usage: Usage, day: &str| {
            let usage = usage.on(day.to_owned());
            Usage { calls: usage.calls + 1, ..usage }
        };
        let mut usage = Usage::default();
        for (day, calls) in [("2026-03-02", 1), ("2026-03-01", 1), ("2026-03-02", 2), ("2099-01-01", 1)] {
            usage = spend(usage, day);
            assert_eq!((usage.day.as_str(), usage.calls), (day, calls));
        }
        // A day far ahead, once seen, holds nothing up, and the past does not grow.
        for day in 3..30 {
            usage = spend(usage, &format!("2026-03-{day:02}"));
            assert_eq!(usage.calls, 1);
        }
        assert_eq!(usage.others.len(), OTHER_DAYS);
        let stored = serde_json::to_vec(&usage).unwrap();
        assert_eq!(serde_json::from_slice::<Usage>(&stored).unwrap(), usage);
    }
}
