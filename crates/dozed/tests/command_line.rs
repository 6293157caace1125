//! What the daemon's binary says when it is not to start. That this package has an integration test also makes
//! `cargo test --workspace` build the binary, which the end-to-end tests start.

use std::process::{Command, Output};

fn dozed(argument: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dozed")).env_clear().arg(argument).output().expect("the binary runs")
}

#[test]
fn it_tells_its_version() {
    let output = dozed("--version");
    assert!(output.status.success());
    let expected = format!("dozed {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn its_help_names_the_options_that_others_rely_on() {
    let output = dozed("--help");
    assert!(output.status.success());
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for option in ["--config", "--home", "--socket"] {
        assert!(help.contains(option), "{help}");
    }
}
