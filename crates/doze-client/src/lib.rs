//! How a program reaches `dozed`: where everything lies, connecting, calling with a deadline, and the spool for when
//! the daemon is away.
//!
//! Hooks pay for every millisecond of this crate, so it may not depend on anything heavy: no runtime, no argument
//! parser, no HTTP. It blocks, but never longer than the caller allows. Redaction rules are only touched when
//! something is spooled.

mod client;
mod commit_id;
mod connect;
mod error;
mod paths;
mod private_dir;
mod spool;

pub use client::Client;
pub use commit_id::{commit_id, ensure_commit_id};
pub use connect::connect_path;
pub use error::CallError;
pub use paths::{Environment, Paths, PathsError, SOCKET_PATH_BYTES_MAX};
pub use private_dir::{PrivateDirError, check_private_dir, create_private_dir};
pub use spool::{
    Drained, SPOOL_BYTES_MAX, SPOOL_FILES_MAX, Spool, SpoolError, SpoolLevel, SpooledRequest, Verdict,
};
