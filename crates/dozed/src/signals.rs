//! Signals, each turned into one call.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// TERM or INT: finish what was begun, then end.
    Drain,
    /// QUIT, or TERM or INT a second time: end at once. The store is safe at every moment.
    Now,
    /// HUP: read the configuration again.
    Reload,
}

/// Calls `act` from a thread of its own for every signal, until the handle is closed. The thread sleeps in between.
pub(crate) fn watch(mut act: impl FnMut(Request) + Send + 'static) -> io::Result<Handle> {
    // A file that may not grow is a full disk, which the store tells; the signal beside it would end the process.
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGQUIT, SIGHUP])?;
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            act(request(signal, &mut asked));
        }
    })?;
    Ok(handle)
}

fn request(signal: i32, asked: &mut bool) -> Request {
    match signal {
        SIGHUP => Request::Reload,
        SIGQUIT => Request::Now,
        _ if std::mem::replace(asked, true) => Request::Now,
        _ => Request::Drain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_grow_does_not_end_the_process() {
        let (asked, asks) = std::sync::mpsc::channel();
        let handle = watch(move |request| asked.send(request).unwrap()).unwrap();
        // Without its handler the first signal would end this very process.
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::XFSZ).unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::HUP).unwrap();
        assert_eq!(asks.recv().unwrap(), Request::Reload);
        handle.close();
    }

    #[test]
    fn the_second_request_to_end_means_now() {
        let mut asked = false;
        let answers = [SIGHUP, SIGTERM, SIGHUP, SIGINT].map(|signal| request(signal, &mut asked));
        assert_eq!(answers, [Request::Reload, Request::Drain, Request::Reload, Request::Now]);
        assert_eq!(request(SIGQUIT, &mut false), Request::Now);
    }
}
