//! The wire of doze: newline-delimited JSON-RPC 2.0 between `dozed` and everybody who calls it.
//!
//! Here are the requests, answers, versions, error kinds, exit codes and bounds that other programs rely on.
//! This crate may not know the engine, the store or the vocabulary of `doze-core`: wire types are types of their
//! own, words of a closed set travel as strings, and whoever receives them checks them with [`parse_field`].
//! Adding a field or a method is free; changing or removing one needs a higher [`PROTOCOL`].

mod bounds_check;
mod common;
mod envelope;
mod error;
mod exit;
mod hello;
mod params;

pub mod bounds;
pub mod dream;
pub mod mcp;
pub mod memory;
pub mod method;
pub mod office;
pub mod project;
pub mod recall;
pub mod session;
pub mod system;
pub mod work;
pub mod workspace;

pub use bounds_check::check_limit;
pub use common::{Agent, Json, Lines, List};
pub use envelope::{BadRequest, Id, Incoming, Request, Response, parse_request};
pub use error::{ErrorKind, WireError, code};
pub use exit::Exit;
pub use hello::{Capabilities, Hello, HelloAnswer, Negotiation, negotiate};
pub use params::{Params, parse_field, parse_params};

/// The version of the wire this build speaks. Raise it when a shape changes or goes away.
pub const PROTOCOL: u32 = 1;

/// The oldest version of the wire this build still answers.
pub const PROTOCOL_MIN: u32 = 1;

/// The most bytes one line may have, its newline not counted. Told in [`Capabilities::max_frame_bytes`].
pub const MAX_FRAME_BYTES: usize = 8 * 1024 * 1024;
