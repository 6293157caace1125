//! The kit of the end-to-end tests: starts the real binaries in a temporary home, speaks the wire as any program
//! would, and cleans up when dropped.
//!
//! It may not use the daemon's, the engine's or the client's own code: what is tested is what other programs meet.
//! Everything here panics with a message that says what was expected, as a test would.

mod client;
mod command;
mod daemon;
mod home;
mod repo;
mod wait;

pub use client::{Client, Failure};
pub use command::{Command, Ran};
pub use daemon::{Daemon, Exited};
pub use home::{Home, testdata};
pub use repo::Repo;
pub use wait::{PATIENCE, until};
