//! The built program, run as people and agents run it.

mod commands;
mod common;
mod hook;
mod setup;
