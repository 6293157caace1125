//! What a memory, a session and a space are, and every pure rule of doze: extraction, redaction, duplicates,
//! promotion, ranking, rendering, token estimates.
//!
//! This crate is the ground floor. It may not do I/O, read a clock or the environment, or know a wire or storage
//! format: time, randomness and text are handed in, values come back. Everything here is a function a table test
//! can reach.

pub mod digest;
pub mod duplicate;
pub mod extract;
pub mod facts;
pub mod injected;
pub mod instructions;
pub mod model;
pub mod office;
pub mod promote;
pub mod rank;
pub mod redact;
pub mod render;
mod report;
pub mod summary;
mod tags;
pub mod text;
pub mod tokens;
pub mod url;
pub mod workspace;
