//! Waiting for something that another process does.

use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take before a test calls it broken. Generous, since a busy machine is no failure; tests of
/// deadlines measure time themselves.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks `probe` again and again, first at once and then at growing distances, until it answers.
///
/// Panics after [`PATIENCE`] with `what`, which completes "waited … for".
#[track_caller]
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(answer) = probe() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
