//! Pausing, and other small settings that outlive a restart.

use doze_core::model::{OwnerId, Project};
use doze_store::{ChangeSet, Family};
use jiff::{SignedDuration, Timestamp};

use crate::{Engine, EngineError, encoded};

const PAUSED: &str = "paused_until";
/// The pauses of the past and the one that runs, so that what was said in one is not taken in later.
const PAUSES: &str = "pauses";
/// Pauses that are remembered, the newest.
const MAX_PAUSES: usize = 200;
/// The longest pause that has an end: a year. Without an end it lasts until `resume`.
const MAX_PAUSE_SECONDS: u64 = 366 * 24 * 3600;

/// Why nothing is captured for now, and nobody is told anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// `memory.enabled` is off.
    Off,
    /// Somebody paused doze.
    Paused,
    /// The project is ignored.
    Ignored,
}

impl Silence {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Paused => "paused",
            Self::Ignored => "ignored",
        }
    }

    /// What a caller is told who may not write now.
    pub(crate) fn refusal(self) -> EngineError {
        let (why, hint) = match self {
            Self::Off => ("memory is off", "doze config set memory.enabled true"),
            Self::Paused => ("doze is paused", "doze resume"),
            Self::Ignored => ("the project is ignored", "doze project ignore NAME --off"),
        };
        EngineError::refused(why).hint(format!("the person ends that with  {hint}"))
    }
}

impl Engine {
    /// Why nothing is captured or told now, everywhere or in this project.
    pub(crate) fn silence(
        &self,
        owner: &OwnerId,
        project: Option<&Project>,
    ) -> Result<Option<Silence>, EngineError> {
        if !self.switches().memory_enabled {
            return Ok(Some(Silence::Off));
        }
        if project.is_some_and(|project| project.ignored) {
            return Ok(Some(Silence::Ignored));
        }
        Ok(self.paused_until(owner)?.map(|_| Silence::Paused))
    }

    /// Why nothing is kept of what callers tell, if so, as an answer says it.
    pub(crate) fn silence_told(
        &self,
        owner: &OwnerId,
        project: Option<&Project>,
    ) -> Result<Option<String>, EngineError> {
        Ok(match self.silence(owner, project)? {
            None => None,
            Some(Silence::Off) => Some("memory is off".to_owned()),
            Some(Silence::Ignored) => Some("the project is ignored".to_owned()),
            Some(Silence::Paused) => Some(match self.paused_until(owner)? {
                Some(until) if until < Timestamp::MAX => format!("paused until {until:.0}"),
                _ => "paused until  doze resume".to_owned(),
            }),
        })
    }

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
        self.store().apply(set.put_aux(Family::Setting, PAUSES, encoded(&pauses)?))?;
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
            let pauses = encoded(&self.ended_pauses(owner)?)?;
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
