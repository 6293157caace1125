//! Work that waits for whoever is at work: sweeps, imports and what follows from them get the processor when nobody else
//! wants it.

use std::thread;

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

/// Does some work on a thread that has stepped back, and waits for it: the caller's own thread may serve others next.
pub fn behind<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let done = thread::scope(|scope| {
        scope
            .spawn(|| {
                step_back();
                work()
            })
            .join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn priority() -> i32 {
        rustix::process::getpriority_process(None).expect("every thread has a priority")
    }

    #[test]
    fn only_the_thread_that_does_the_work_steps_back() {
        let before = priority();
        assert_eq!((behind(priority), priority()), (LAST, before));
    }
}
