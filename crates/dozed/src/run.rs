//! The life of the process, in order: places, configuration, log, lock, handler, socket, ready, drain, end.

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use doze_client::{Paths, PathsError};
use doze_protocol::Exit;
use sd_notify::NotifyState;
use tracing::{debug, error, info, warn};

use crate::config::{ConfigError, Live, Settings};
use crate::logs::LogLevel;
use crate::signals::Request;
use crate::socket::SocketError;
use crate::{Args, Handler, Limits, Lock, LockError, Server, Shutdown, file_system, logs, signals, socket};

/// Threads that answer connections; the calls themselves run on threads of their own.
const WORKERS: usize = 2;
/// Blocking threads beyond those for calls: `status`, and long lines being read.
const SPARE_THREADS: usize = 16;
/// How long threads that are still blocked are waited for after the drain.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// What a handler is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Where everything lies.
    pub paths: Paths,
    /// The configuration in force; changes while the process runs.
    pub config: Arc<Live>,
    /// Its values at the start.
    pub settings: Settings,
    /// Ends the process when asked.
    pub shutdown: Shutdown,
    /// Changes what is logged.
    pub(crate) level: LogLevel,
}

/// Why the daemon does not start.
#[derive(Debug)]
pub struct StartError {
    /// The exit status.
    pub exit: Exit,
    /// What went wrong.
    pub message: String,
    /// What to do about it; empty when the message says it all.
    pub hint: String,
}

impl StartError {
    /// An error with the whole chain of its sources in the message.
    pub fn new(exit: Exit, error: &dyn std::error::Error) -> Self {
        Self { exit, message: doze_engine::chain(error), hint: String::new() }
    }

    /// Says what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\n  → {}", self.hint) }
    }
}

impl std::error::Error for StartError {}

impl From<PathsError> for StartError {
    fn from(error: PathsError) -> Self {
        Self::new(Exit::Config, &error)
    }
}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> Self {
        Self::new(Exit::Config, &error)
            .with_hint("correct the configuration; `doze config check` looks at it again")
    }
}

impl From<SocketError> for StartError {
    fn from(error: SocketError) -> Self {
        match error {
            SocketError::Taken { .. } => Self::new(Exit::Busy, &error)
                .with_hint("stop that process, or choose another place with --socket or DOZE_SOCKET"),
            SocketError::NotASocket { .. } => Self::new(Exit::Refused, &error)
                .with_hint("move it away, or choose another place with --socket"),
            _ => Self::new(Exit::Internal, &error)
                .with_hint("choose another place with --socket or DOZE_SOCKET"),
        }
    }
}

/// Runs the daemon until its end is asked for. `open` makes the handler once the lock is held.
pub fn run<H: Handler>(args: &Args, open: impl FnOnce(&Opening) -> Result<H, StartError>) -> Exit {
    match try_run(args, open) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("dozed: {error}");
            error.exit
        }
    }
}

fn try_run<H: Handler>(
    args: &Args,
    open: impl FnOnce(&Opening) -> Result<H, StartError>,
) -> Result<Exit, StartError> {
    // Whatever this process makes is for its user alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    if args.print_schema {
        // A reader that has seen enough is no fault.
        let _ = writeln!(std::io::stdout(), "{:#}", crate::config::schema());
        return Ok(Exit::Done);
    }
    let paths = args.paths()?;
    if args.check_config {
        Live::load(paths.config.clone(), args.flags(), &|name| std::env::var(name).ok())?;
        println!("{} is right", paths.config.display());
        return Ok(Exit::Done);
    }
    if let Some(owner) = paths.foreign_owner() {
        let message = format!("this home belongs to user {owner}, not to root; nothing was written");
        return Err(StartError { exit: Exit::Refused, message, hint: "run dozed as that user".to_owned() });
    }
    let config = Arc::new(Live::load(paths.config.clone(), args.flags(), &|name| std::env::var(name).ok())?);
    let settings = config.current().settings();
    let level =
        logs::start(&settings, &paths.logs).map_err(|error| StartError::new(Exit::Internal, &error))?;
    log_panics();
    let _lock = match Lock::take(&lock_path(&paths)) {
        Ok(lock) => lock,
        Err(LockError::Held { holder }) => {
            eprintln!("dozed: already running ({holder})");
            return Ok(Exit::Done);
        }
        Err(error) => return Err(StartError::new(Exit::Internal, &error)),
    };
    let opening = Opening { paths, config, settings, shutdown: Shutdown::default(), level };
    let handler: Arc<dyn Handler> = Arc::new(open(&opening)?);
    serve(&opening, handler)
}

fn serve(opening: &Opening, handler: Arc<dyn Handler>) -> Result<Exit, StartError> {
    let limits = Limits::default();
    let failed = |error: std::io::Error| StartError::new(Exit::Internal, &error);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(limits.calls + limits.tools + SPARE_THREADS)
        .thread_name("dozed")
        .enable_all()
        .build()
        .map_err(failed)?;
    let (listener, path) = {
        let _inside = runtime.enter();
        socket::listen(&opening.paths)?
    };
    let signals = {
        let (opening, handler) = (opening.clone(), Arc::clone(&handler));
        signals::watch(move |request| obey(request, &opening, handler.as_ref())).map_err(failed)?
    };
    let place =
        path.map_or_else(|| "the service manager's socket".to_owned(), |path| path.display().to_string());
    info!(version = env!("CARGO_PKG_VERSION"), pid = std::process::id(), socket = %place, "Ready");
    notify(&[NotifyState::Ready, NotifyState::Status("ready")]);
    let drained = runtime.block_on(async {
        let server = Server::new(Arc::clone(&handler), limits, opening.shutdown.clone());
        let stopping = async {
            opening.shutdown.begun().await;
            notify(&[NotifyState::Stopping, NotifyState::Status("finishing what was begun")]);
        };
        tokio::join!(server.serve(listener), stopping).0
    });
    handler.close();
    signals.close();
    runtime.shutdown_timeout(LAST_WAIT);
    if drained {
        info!("Ended");
        Ok(Exit::Done)
    } else {
        warn!(
            seconds = limits.drain_time.as_secs(),
            "Ended with calls still running; they were not acknowledged"
        );
        Ok(Exit::Busy)
    }
}

/// Does what a signal asks for. Runs on the thread of the signals.
fn obey(request: Request, opening: &Opening, handler: &dyn Handler) {
    match request {
        Request::Drain => opening.shutdown.begin(),
        Request::Now => {
            warn!("Ended at once");
            std::process::exit(i32::from(Exit::Busy.status()));
        }
        Request::Reload => match opening.config.reload(|config| handler.reload(&config.settings())) {
            Ok(_) => info!("Configuration read again"),
            Err(error) => {
                warn!(error = %doze_engine::chain(&error), "The configuration is wrong; the old one stays in force")
            }
        },
    }
}

/// A lock on a network file system may not be one: then it lies on a file system of this machine.
fn lock_path(paths: &Paths) -> PathBuf {
    match file_system::network(&paths.state) {
        None => paths.lock(),
        Some(kind) => {
            warn!(kind, path = %paths.state.display(), "The home lies on a network file system; lock and socket are kept local");
            paths.local.join("lock")
        }
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!(error = %error, "The service manager could not be told");
    }
}

/// A panic goes to the log with its place. Its message may quote what somebody said, so it is only shown on request.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        error!(place, "A fault in dozed");
        debug!(message = panic.payload_as_str().unwrap_or_default(), "The fault says");
    }));
}
