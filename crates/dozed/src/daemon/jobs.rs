//! The threads that run run-end jobs: take the next one, run it, sleep until something is queued or due.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use doze_core::model::OwnerId;
use doze_engine::background::step_back;
use doze_engine::{Engine, NextJob, SLOTS};
use tracing::{debug, info, warn};

/// The longest sleep: after a suspended night what is due is found within minutes.
const LONGEST: Duration = Duration::from_secs(600);
/// How soon is tried again what failed because the store could not be read or written.
const AGAIN: Duration = Duration::from_secs(60);
/// With nothing in the queue nothing becomes due, and whatever is queued wakes a worker.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// The working threads as others see them.
pub(super) struct Workers {
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// Puts jobs that an ended process left running back into the queue and starts the threads.
    pub(super) fn start(engine: &Engine, owner: &OwnerId) -> std::io::Result<Self> {
        let cleared = doze_engine::clear_remains();
        if cleared > 0 {
            info!(cleared, "What extractors of a killed daemon had left was cleared away");
        }
        if let Err(error) = engine.recover_jobs(owner) {
            warn!(error = %doze_engine::chain(&error), "Interrupted jobs were not put back");
        }
        let start = |n| {
            let (engine, owner) = (engine.clone(), owner.clone());
            std::thread::Builder::new().name(format!("job-{n}")).spawn(move || {
                step_back();
                work(&engine, &owner);
            })
        };
        let threads = (0..SLOTS).map(start).collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self { threads: Mutex::new(threads) })
    }

    /// Ends the threads, after [`Engine::stop_asking`].
    pub(super) fn stop(&self) {
        for thread in self.threads.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if thread.join().is_err() {
                warn!("A job's thread had panicked");
            }
        }
    }
}

fn work(engine: &Engine, owner: &OwnerId) {
    let mut seen = 0;
    loop {
        let sleep = match engine.next_job(owner) {
            Ok(NextJob::Run(session)) => {
                debug!(session = session.session, "A job begins");
                match engine.run_job(owner, &session) {
                    Ok(()) => Duration::ZERO,
                    Err(error) => {
                        warn!(error = %doze_engine::chain(&error), "A job broke off");
                        AGAIN
                    }
                }
            }
            Ok(NextJob::Wait(None)) => IDLE,
            Ok(NextJob::Wait(Some(until))) => {
                let left = Duration::try_from(until.duration_since(engine.now())).unwrap_or_default();
                left.min(LONGEST)
            }
            Err(error) => {
                warn!(error = %doze_engine::chain(&error), "It is not known whether a job waits");
                AGAIN
            }
        };
        match engine.await_jobs(seen, sleep) {
            Some(rings) => seen = rings,
            None => return,
        }
    }
}
