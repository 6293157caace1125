//! What the binary does before it talks to anybody. That this package has an integration test also makes
//! `cargo test --workspace` build the binary, which the end-to-end tests run.

use std::process::{Command, Output, Stdio};

fn doze(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_doze"))
        .env_clear()
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs")
}

#[test]
fn it_tells_its_version() {
    let output = doze(&["--version"]);
    assert!(output.status.success());
    let expected = format!("doze {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn an_unknown_command_is_a_usage_error_except_for_a_hook() {
    let output = doze(&["no-such-command"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    let output = doze(&["hook", "no-such-agent", "--no-such-flag"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}
