//! Pausing, and other small settings that outlive a restart.

use doze_core::model::OwnerId;
use doze_store::{ChangeSet, Family};
use jiff::{SignedDuration, Timestamp};

use crate::{Engine, EngineError};

const PAUSED: &str = "paused_until";
/// The pauses of the past and the one that runs, so that what was said in one is not taken in later.
const PAUSES: &str = "pauses";
/// Pauses that are remembered, the newest.
const MAX_PAUSES: usize = 200;
/// The longest pause that has an end: a year. Without an end it lasts until `resume`.
const MAX_PAUSE_SECONDS: u64 = 366 * 24 * 3600;

impl Engine {
    /// Stops capture and injection for a while, or until [`Engine::resume`]. Answers when it ends.
    pub fn pause(&self, owner: &OwnerId, seconds: Option<u64>) -> Result<Timestamp, EngineError> {
        let until = match seconds {
            None => Timestamp::MAX,
            Some(seconds) if (1..=MAX_PAUSE_SECONDS).contains(&seconds) => self
                .now()
                .checked_add(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
                .unwrap_or(Timestamp::MAX),
            Some(_) => {
                return Err(EngineError::invalid(format!("for is outside 1–{MAX_PAUSE_SECONDS} seconds")));
            }
        };
        let value = until.to_string().into_bytes();
        let mut pauses = self.ended_pauses(owner)?;
        pauses.push((self.now(), until));
        let set = ChangeSet::new(owner.clone()).put_aux(Family::Setting, PAUSED, value);
        self.store().apply(set.put_aux(Family::Setting, PAUSES, written(&pauses)))?;
        Ok(until)
    }

    /// When doze was paused: from, until.
    pub(crate) fn pauses(&self, owner: &OwnerId) -> Result<Vec<(Timestamp, Timestamp)>, EngineError> {
        let value = self.store().snapshot()?.aux(owner, Family::Setting, PAUSES)?;
        Ok(value.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
    }

    /// Those, with the one that runs ended now.
    fn ended_pauses(&self, owner: &OwnerId) -> Result<Vec<(Timestamp, Timestamp)>, EngineError> {
        let now = self.now();
        let mut pauses = self.pauses(owner)?;
        if let Some((_, until)) = pauses.last_mut() {
            *until = now.min(*until);
        }
        let surplus = pauses.len().saturating_sub(MAX_PAUSES - 1);
        Ok(pauses.split_off(surplus))
    }

    /// Ends a pause; nothing happens when there is none.
    pub fn resume(&self, owner: &OwnerId) -> Result<(), EngineError> {
        if self.paused_until(owner)?.is_some() {
            let set = ChangeSet::new(owner.clone()).delete_aux(Family::Setting, PAUSED);
            let pauses = written(&self.ended_pauses(owner)?);
            self.store().apply(set.put_aux(Family::Setting, PAUSES, pauses))?;
            self.wake_workers();
        }
        Ok(())
    }

    /// When the pause ends, if doze is paused.
    pub fn paused_until(&self, owner: &OwnerId) -> Result<Option<Timestamp>, EngineError> {
        let value = self.store().snapshot()?.aux(owner, Family::Setting, PAUSED)?;
        let until = value.and_then(|bytes| String::from_utf8(bytes).ok()?.parse::<Timestamp>().ok());
        Ok(until.filter(|until| *until > self.now()))
    }
}

fn written(pauses: &[(Timestamp, Timestamp)]) -> Vec<u8> {
    serde_json::to_vec(pauses).unwrap_or_default()
}
