//! Brings in what clients put into the spool while the daemon was away, frozen or out of disk.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use doze_client::{Spool, SpooledRequest, Verdict};
use doze_protocol::{ErrorKind, WireError};
use serde_json::Value;
use tracing::{error, info, warn};

use crate::dispatch::Dispatch;

/// How often the spool is looked at. One `stat` of a folder, so that what was spooled arrives within seconds.
const LOOK: Duration = Duration::from_secs(3);

/// How often the first request in line may fail while the store is well, before it is put aside: a minute of looks. A
/// fault that lasts, such as a damaged record of its session, must not hold up everything behind it.
const TRIES: u32 = 20;

/// The draining thread as others see it.
pub(super) struct Drain {
    stop: Mutex<Option<SyncSender<()>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Drain {
    /// Starts the thread; it drains at once.
    pub(super) fn start(spool: Spool, dispatch: Arc<Dispatch>) -> std::io::Result<Self> {
        let (stop, stopped) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("spool".into())
            .spawn(move || run(&spool, &dispatch, &stopped))?;
        Ok(Self { stop: Mutex::new(Some(stop)), thread: Mutex::new(Some(thread)) })
    }

    /// Ends the thread after the request it is at.
    pub(super) fn stop(&self) {
        drop(self.stop.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
            && thread.join().is_err()
        {
            warn!("The spool's thread had panicked");
        }
    }
}

fn run(spool: &Spool, dispatch: &Dispatch, stopped: &Receiver<()>) {
    if let Err(error) = spool.prepare() {
        warn!(error = %doze_engine::chain(&error), "The spool cannot be prepared");
    }
    let (call, can_write) =
        (|method: &str, params: Value| dispatch.call(method, params.into()), || dispatch.can_write());
    let mut intake = Intake { call: &call, can_write: &can_write, failing: None };
    loop {
        if spool.level().files > 0 {
            drain(spool, &mut intake);
        }
        if !matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}

fn drain(spool: &Spool, intake: &mut Intake<'_>) {
    match spool.drain(|request| intake.take(request)) {
        Ok(drained) if drained.removed + drained.quarantined > 0 => {
            info!(
                arrived = drained.removed,
                waiting = drained.kept,
                put_aside = drained.quarantined,
                "Commits arrived from the spool"
            );
        }
        Ok(_) => {}
        Err(error) => warn!(error = %doze_engine::chain(&error), "The spool cannot be read"),
    }
}

/// Decides what becomes of each request.
struct Intake<'a> {
    call: &'a dyn Fn(&str, Value) -> Result<Value, WireError>,
    /// Whether the store takes anything at all.
    can_write: &'a dyn Fn() -> bool,
    /// The commit that is first in line and fails, and how often it has.
    failing: Option<(Value, u32)>,
}

impl Intake<'_> {
    /// What can be tried again stays; what can never be accepted is put aside for a look. A request that makes a call
    /// panic would do so at every start, so it is put aside at once.
    fn take(&mut self, request: SpooledRequest) -> Verdict {
        let SpooledRequest { method, params } = request;
        let id = params.get("commit_id").cloned().unwrap_or_default();
        let call = self.call;
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| call(&method, params))) else {
            error!(method, "A spooled commit broke off the call; it is put aside");
            return Verdict::Quarantine;
        };
        match outcome {
            Ok(_) => Verdict::Remove,
            Err(error) if error.kind == ErrorKind::Busy => Verdict::Keep,
            Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Internal) => {
                self.after_fault(id, &method, &error)
            }
            Err(error) => {
                warn!(method, error = %error, "A spooled commit was not accepted");
                Verdict::Quarantine
            }
        }
    }

    /// A store that takes nothing is nobody's fault and is waited for; otherwise the fault lies with this request.
    fn after_fault(&mut self, id: Value, method: &str, error: &WireError) -> Verdict {
        if !(self.can_write)() {
            return Verdict::Keep;
        }
        let tries = match self.failing.take() {
            Some((failing, tries)) if failing == id => tries + 1,
            _ => 1,
        };
        if tries >= TRIES {
            warn!(method, %error, tries, "A spooled commit fails again and again; it is put aside");
            return Verdict::Quarantine;
        }
        self.failing = Some((id, tries));
        Verdict::Keep
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spool_with(sessions: &[&str]) -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::new(dir.path().join("spool"));
        spool.prepare().unwrap();
        for (at, session) in sessions.iter().enumerate() {
            let params = json!({"session": session, "commit_id": format!("c-{session}")});
            let request = SpooledRequest { method: "session.commit".into(), params };
            let file = dir.path().join(format!("spool/{at:03}-x.json"));
            std::fs::write(file, serde_json::to_vec(&request).unwrap()).unwrap();
        }
        (dir, spool)
    }

    fn answer(_: &str, params: Value) -> Result<Value, WireError> {
        match params["session"].as_str().unwrap() {
            "panics" => panic!("on purpose"),
            "faulty" => Err(WireError::internal("a fault")),
            "unreadable" => Err(WireError::unavailable("the store could not be read")),
            "busy" => Err(WireError::busy("later")),
            "wrong" => Err(WireError::invalid("session", "no")),
            _ => Ok(Value::Null),
        }
    }

    fn left_after(looks: u32, sessions: &[&str], can_write: bool) -> (usize, usize) {
        let (_dir, spool) = spool_with(sessions);
        let can_write = || can_write;
        let mut intake = Intake { call: &answer, can_write: &can_write, failing: None };
        for _ in 0..looks {
            drain(&spool, &mut intake);
        }
        (spool.level().files, spool.level().quarantined)
    }

    #[test]
    fn a_request_that_panics_is_put_aside_and_those_behind_it_arrive() {
        assert_eq!(left_after(1, &["a", "panics", "wrong", "b"], true), (0, 2));
    }

    #[test]
    fn a_fault_that_lasts_holds_up_the_others_for_a_while_only() {
        for session in ["faulty", "unreadable"] {
            assert_eq!(left_after(TRIES - 1, &[session, "a"], true), (2, 0), "{session}");
            assert_eq!(left_after(TRIES, &[session, "a"], true), (0, 1), "{session}");
            assert_eq!(left_after(2 * TRIES, &[session, "faulty", "a"], true), (0, 2), "{session}");
        }
    }

    #[test]
    fn what_has_to_wait_is_never_put_aside() {
        assert_eq!(left_after(3 * TRIES, &["busy", "a"], true), (2, 0));
        assert_eq!(left_after(3 * TRIES, &["unreadable", "a"], false), (2, 0));
    }
}
