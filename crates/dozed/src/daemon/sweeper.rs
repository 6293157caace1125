//! The thread that dreams: asks the engine whether it is time, sweeps, and sleeps until it is worth asking again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use doze_core::model::OwnerId;
use doze_engine::background::step_back;
use doze_engine::{DreamRequest, DreamVerdict, Engine, Problem};
use jiff::Timestamp;
use tracing::{debug, error, info, warn};

/// The longest sleep: after a suspended night the question is asked again within minutes.
const LONGEST: Duration = Duration::from_secs(600);
/// The shortest sleep, so that a wrong clock never makes the thread spin.
const SHORTEST: Duration = Duration::from_secs(1);

/// What wakes the sweeper.
pub(super) enum Wake {
    /// The configuration changed.
    Look,
    /// The process ends.
    Stop,
}

/// The sweeping thread as others see it.
pub(super) struct Sweeper {
    wake: SyncSender<Wake>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Sweeper {
    /// Starts the thread.
    pub(super) fn start(engine: Engine, owner: OwnerId) -> std::io::Result<Self> {
        let (wake, woken) = sync_channel(16);
        let thread = std::thread::Builder::new().name("dream".into()).spawn(move || {
            step_back();
            Loop { engine, owner, busy_times: 0 }.run(&woken);
        })?;
        Ok(Self { wake, thread: Mutex::new(Some(thread)) })
    }

    /// Looks again whether it is time: the configuration changed.
    pub(super) fn look(&self) {
        self.send(Wake::Look);
    }

    /// Ends the thread; a sweep in the making is finished first, or left to the next start.
    pub(super) fn stop(&self) {
        self.send(Wake::Stop);
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
            && thread.join().is_err()
        {
            warn!("The dreaming thread had panicked");
        }
    }

    fn send(&self, wake: Wake) {
        match self.wake.try_send(wake) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(wake)) => {
                // Only an end is worth waiting for; the rest says what is queued already.
                if matches!(wake, Wake::Stop) {
                    let _ = self.wake.send(wake);
                }
            }
        }
    }
}

struct Loop {
    engine: Engine,
    owner: OwnerId,
    /// Times in a row that a due sweep met a busy agent.
    busy_times: u32,
}

impl Loop {
    fn run(mut self, woken: &Receiver<Wake>) {
        loop {
            let sleep = self.look();
            match woken.recv_timeout(sleep) {
                Ok(Wake::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Wake::Look) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Asks, sweeps if it is time, and answers how long to sleep.
    fn look(&mut self) -> Duration {
        let verdict = match self.engine.dream_verdict(&self.owner, self.busy_times) {
            Ok(verdict) => verdict,
            Err(error) => {
                warn!(error = %doze_engine::chain(&error), "It is not known whether to dream");
                return LONGEST;
            }
        };
        match verdict {
            DreamVerdict::Run { because } => {
                self.busy_times = 0;
                self.sweep(because);
                self.tidy();
                SHORTEST
            }
            DreamVerdict::Wait { until, why_not, busy } => {
                debug!(why_not, "No dream now");
                if busy {
                    self.busy_times = self.busy_times.saturating_add(1);
                } else {
                    self.tidy();
                    self.engine.rest();
                }
                until.map_or(LONGEST, |until| self.time_to(until)).clamp(SHORTEST, LONGEST)
            }
        }
    }

    fn sweep(&self, because: String) {
        let started = self.engine.now();
        let dreamt = catch_unwind(AssertUnwindSafe(|| {
            let request = DreamRequest { because, ..self.engine.next_dream(&self.owner)? };
            self.engine.dream(&self.owner, &request)
        }));
        let Ok(dreamt) = dreamt else {
            error!("A dream broke off, which is a defect of doze");
            return self.note_failure(started, "a defect of doze");
        };
        match dreamt {
            Ok(dream) => {
                info!(
                    id = dream.id.as_str(),
                    result = dream.result.as_str(),
                    reason = dream.reason,
                    "Dreamt"
                );
            }
            // Somebody dreams by hand, or paused meanwhile: nothing failed.
            Err(error) if matches!(error.problem, Problem::Busy | Problem::Refused) => {
                debug!(error = %doze_engine::chain(&error), "No dream for now");
            }
            Err(error) => {
                warn!(error = %doze_engine::chain(&error), "A dream broke off");
                self.note_failure(started, &error.message);
            }
        }
    }

    fn note_failure(&self, started: Timestamp, why: &str) {
        if let Err(error) = self.engine.note_failed_dream(&self.owner, started, why) {
            warn!(error = %doze_engine::chain(&error), "The failed dream was not noted");
        }
    }
}

impl Loop {
    fn time_to(&self, until: Timestamp) -> Duration {
        Duration::try_from(until.duration_since(self.engine.now())).unwrap_or_default()
    }

    fn tidy(&self) {
        match self.engine.tidy(&self.owner) {
            Ok(0) => {}
            Ok(sessions) => info!(
                sessions,
                "The oldest history went, to stay within history.max_bytes and history.max_age_days"
            ),
            Err(error) => warn!(error = %doze_engine::chain(&error), "The store was not tidied"),
        }
    }
}
