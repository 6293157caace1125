//! Time, randomness and what the machine tells about itself, handed in so that tests decide them.

use std::path::Path;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use doze_dream::schedule::Machine;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Where the engine takes the time, random bytes and the state of the machine from.
pub trait Environment: Send + Sync {
    /// The wall-clock time.
    fn now(&self) -> Timestamp;
    /// Ten unpredictable bytes.
    fn random(&self) -> [u8; 10];

    /// The time zone in which schedules by the clock are read.
    fn time_zone(&self) -> TimeZone {
        TimeZone::system()
    }

    /// What the machine tells about itself; nothing unless told.
    fn machine(&self) -> Machine {
        Machine::default()
    }
}

/// The machine's clock, shifted by a fixed offset (`DOZE_CLOCK_OFFSET`), and the kernel's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnvironment {
    /// Seconds added to the wall clock; may be negative.
    pub clock_offset_seconds: i64,
}

impl Environment for SystemEnvironment {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ms = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        now.checked_add(SignedDuration::from_secs(self.clock_offset_seconds)).unwrap_or(now)
    }

    fn random(&self) -> [u8; 10] {
        *uuid::Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 10])
    }

    fn machine(&self) -> Machine {
        crate::machine::read(Path::new(crate::machine::POWER), Path::new(crate::machine::LOAD))
    }
}

/// The local day of a time, by which what is bounded a day is counted.
pub(crate) fn day_of(now: Timestamp) -> String {
    now.to_zoned_datetime(TimeZone::system()).date().to_string()
}

/// When the next local day begins.
pub(crate) fn next_day(now: Timestamp) -> Timestamp {
    let tomorrow = now.to_zoned_datetime(TimeZone::system()).date().tomorrow();
    let start = tomorrow.and_then(|day| day.to_zoned_datetime(TimeZone::system()));
    start.map_or(Timestamp::MAX, |start| start.timestamp())
}

/// A clock that stands still until a test moves it, with counted "random" bytes, on a machine that is as it is told.
#[derive(Debug)]
pub struct FixedEnvironment {
    state: Mutex<(Timestamp, u64)>,
    machine: Mutex<Machine>,
}

impl FixedEnvironment {
    /// Starts at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self { state: Mutex::new((now, 0)), machine: Mutex::default() }
    }

    /// Moves the clock.
    pub fn advance(&self, by: SignedDuration) {
        let mut state = crate::lock(&self.state);
        state.0 = state.0.checked_add(by).unwrap_or(state.0);
    }

    /// Says what the machine tells from now on.
    pub fn set_machine(&self, machine: Machine) {
        *crate::lock(&self.machine) = machine;
    }
}

impl Environment for FixedEnvironment {
    fn now(&self) -> Timestamp {
        crate::lock(&self.state).0
    }

    fn random(&self) -> [u8; 10] {
        let mut state = crate::lock(&self.state);
        state.1 += 1;
        let mut bytes = [0; 10];
        bytes[2..].copy_from_slice(&state.1.to_be_bytes());
        bytes
    }

    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    fn machine(&self) -> Machine {
        *crate::lock(&self.machine)
    }
}
