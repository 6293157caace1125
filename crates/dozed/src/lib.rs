//! The daemon process: command line, configuration, lock, socket, signals, logs, readiness and drain.
//!
//! It may not hold logic: what a method does is the business of a [`Handler`], which this crate calls and whose
//! panics it survives. Idle means idle: nothing here wakes up unless somebody calls or sends a signal.

pub mod config;

mod args;
mod daemon;
mod dispatch;
mod file_system;
mod lock;
mod logs;
mod run;
mod server;
mod signals;
mod socket;

pub use args::Args;
pub use daemon::Daemon;
pub use lock::{Lock, LockError};
pub use run::{Opening, StartError, run};
pub use server::{Handler, Limits, Peer, Server, Shutdown};
pub use socket::{SocketError, listen};
