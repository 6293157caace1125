//! Brings in what clients put into the spool while the daemon was away, frozen or out of disk.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use doze_client::{Spool, SpooledRequest, Verdict};
use doze_protocol::ErrorKind;
use tracing::{info, warn};

use crate::dispatch::Dispatch;

/// How often the spool is looked at. One `stat` of a folder, so that what was spooled arrives within seconds.
const LOOK: Duration = Duration::from_secs(3);

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
    loop {
        if spool.level().files > 0 {
            drain(spool, dispatch);
        }
        if !matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}

fn drain(spool: &Spool, dispatch: &Dispatch) {
    match spool.drain(|request| bring_in(dispatch, request)) {
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

/// What can be tried again stays; what can never be accepted is put aside for a look.
fn bring_in(dispatch: &Dispatch, request: SpooledRequest) -> Verdict {
    match dispatch.call(&request.method, request.params) {
        Ok(_) => Verdict::Remove,
        Err(error)
            if matches!(error.kind, ErrorKind::Busy | ErrorKind::Unavailable | ErrorKind::Internal) =>
        {
            Verdict::Keep
        }
        Err(error) => {
            warn!(method = request.method, error = %error, "A spooled commit was not accepted");
            Verdict::Quarantine
        }
    }
}
