//! Wall-clock schedules in cron syntax. The scheduler's job only says that it is time; the sweeper does the rest.

use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};
use tracing::warn;

use super::sweeper::Wake;

/// A running schedule; dropping it ends it.
pub(super) struct Clock {
    schedule: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    /// Starts a schedule (with seconds). It runs on a thread of its own, which exists only while one is configured:
    /// the scheduler looks at its clock twice a second.
    pub(super) fn start(schedule: String, wake: SyncSender<Wake>) -> Option<Self> {
        let (stop, stopped) = oneshot::channel();
        let plan = schedule.clone();
        let thread = std::thread::Builder::new().name("cron".into()).spawn(move || {
            if let Err(error) = run(&plan, wake, stopped) {
                warn!(error = %error, schedule = plan, "The schedule does not run");
            }
        });
        match thread {
            Ok(thread) => Some(Self { schedule, stop: Some(stop), thread: Some(thread) }),
            Err(error) => {
                warn!(error = %error, "The schedule cannot be started");
                None
            }
        }
    }

    /// The schedule it runs.
    pub(super) fn schedule(&self) -> &str {
        &self.schedule
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("The schedule's thread had panicked");
        }
    }
}

/// Why a schedule does not run.
#[derive(Debug, thiserror::Error)]
enum CronError {
    #[error("there is no runtime for it")]
    Runtime(#[from] std::io::Error),
    #[error("the scheduler refuses it")]
    Scheduler(#[from] JobSchedulerError),
}

fn run(schedule: &str, wake: SyncSender<Wake>, stopped: oneshot::Receiver<()>) -> Result<(), CronError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut scheduler = JobScheduler::new().await?;
        let job = Job::new_tz(schedule, chrono::Local, move |_, _| {
            // A full queue has a wake-up in it already.
            let _ = wake.try_send(Wake::Due);
        })?;
        scheduler.add(job).await?;
        scheduler.start().await?;
        let _ = stopped.await;
        scheduler.shutdown().await?;
        Ok(())
    })
}
