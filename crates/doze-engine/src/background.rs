//! Work that waits for whoever is at work: sweeps, imports and what follows from them get the processor when nobody else
//! wants it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{SendError, Sender, channel, sync_channel};
use std::thread;

use crate::lock;

/// The least of what the system gives a thread, as `nice` counts it.
#[cfg(target_os = "linux")]
const LAST: i32 = 19;

/// The calling thread steps back behind all others, for good: no thread may raise itself again. Only Linux knows the
/// priority of a single thread by this name; elsewhere it stays as it is.
pub fn step_back() {
    // The call means the calling thread, where POSIX means its process. Who is refused it works on as before.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, LAST);
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that has stepped back, for work that callers wait for: their own threads serve others next. It starts with the
/// first work and stays: whatever is kept for each thread, the states of patterns above all, would else be made anew every
/// time, and be left behind.
#[derive(Default)]
pub struct Lane(Mutex<Option<Sender<Job>>>);

impl Lane {
    /// Does some work on the thread of this lane, after what was handed in before, and waits for it.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (reply, done) = sync_channel(1);
        // Whoever waits cannot have gone away.
        let job: Job = Box::new(move || drop(reply.send(catch_unwind(AssertUnwindSafe(work)))));
        let sent = lock(&self.0).get_or_insert_with(start).send(job);
        if let Err(SendError(job)) = sent {
            // There was no thread to be had: better in the way than not at all.
            job();
        }
        match done.recv() {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(lost) => resume_unwind(Box::new(lost)),
        }
    }
}

fn start() -> Sender<Job> {
    let (sender, jobs) = channel::<Job>();
    let work = move || {
        step_back();
        jobs.into_iter().for_each(|job| job());
    };
    // Without a thread the receiver is gone, which whoever sends is told.
    if let Err(error) = thread::Builder::new().name("behind".into()).spawn(work) {
        tracing::warn!(%error, "there is no thread for work in the background");
    }
    sender
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn priority() -> i32 {
        rustix::process::getpriority_process(None).expect("every thread has a priority")
    }

    #[test]
    fn only_the_thread_that_does_the_work_steps_back_and_it_is_always_the_same() {
        let (lane, before) = (Lane::default(), priority());
        let named = || (priority(), thread::current().id());
        let (first, second) = (lane.run(named), lane.run(named));
        assert_eq!((first.0, priority()), (LAST, before));
        assert_eq!(first, second);
    }

    #[test]
    fn a_panic_is_the_callers_and_the_lane_goes_on() {
        let lane = Lane::default();
        let panicked = catch_unwind(AssertUnwindSafe(|| lane.run(|| panic!("no"))));
        assert!(panicked.is_err());
        assert_eq!(lane.run(|| 7), 7);
    }
}
