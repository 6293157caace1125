//! `doze`: what people, agents' hooks and orchestrators call.
//!
//! A thin client: it asks the daemon and shows the answer. It may not link the engine or open the store. Agents'
//! hooks are answered before the argument parser starts, because an agent waits for them.

mod hook;

use std::ffi::OsStr;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new("hook")) {
        hook::run(arguments);
        return ExitCode::SUCCESS;
    }
    ExitCode::SUCCESS
}
