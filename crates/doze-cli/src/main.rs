//! `doze`: what people, agents' hooks and orchestrators call.
//!
//! A thin client: it asks the daemon and shows the answer. It may not link the engine or open the store. Agents'
//! hooks are answered before the argument parser starts, because an agent waits for them.

mod app;
mod caller;
mod commands;
mod daemon;
mod error;
mod hook;
mod mcp;
mod screen;
mod setup;
mod try_it;

use std::ffi::OsStr;
use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new("hook")) {
        hook::run(arguments);
        return ExitCode::SUCCESS;
    }
    let cli = commands::Cli::read();
    match cli.run() {
        Ok(exit) => exit.into(),
        Err(error) => {
            // With stderr gone there is nobody left to tell.
            let _ = error.report(&mut io::stderr().lock());
            error.exit.into()
        }
    }
}
