//! Pausing, and other small settings that outlive a restart.

use doze_core::model::OwnerId;
use doze_store::{ChangeSet, Family};
use jiff::{SignedDuration, Timestamp};

use crate::{Engine, EngineError};

const PAUSED: &str = "paused_until";
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
        self.store().apply(ChangeSet::new(owner.clone()).put_aux(Family::Setting, PAUSED, value))?;
        Ok(until)
    }

    /// Ends a pause; nothing happens when there is none.
    pub fn resume(&self, owner: &OwnerId) -> Result<(), EngineError> {
        if self.paused_until(owner)?.is_some() {
            self.store().apply(ChangeSet::new(owner.clone()).delete_aux(Family::Setting, PAUSED))?;
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
