//! The daemon.

use std::process::ExitCode;

use clap::Parser;
use dozed::{Args, Daemon, run};

fn main() -> ExitCode {
    run(&Args::parse(), Daemon::open).into()
}
