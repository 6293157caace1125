//! The configuration: what holds and why, whether a file is right, and changing a key.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::system::ConfigAnswer;
use doze_protocol::{Exit, method};
use serde_json::{Value, json};

use super::life::dozed;
use crate::app::{self, App};
use crate::error::{CommandError, CommandResult};
use crate::screen::{one_line, tilde};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Every key with its value and where it comes from
    Show {
        /// Only this key, or those that start with it
        key: Option<String>,
    },
    /// Whether the configuration file is right; needs no daemon
    Check {
        /// Another file than the one in use
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// The schema of the file; needs no daemon
    Schema,
    /// Change a key; in force when this ends, or from the next start on where it says so
    Set {
        /// The key, as `config show` spells it
        key: String,
        /// The value: a number, true, false, a list as JSON, or a text
        value: String,
    },
}

/// `doze config`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command.unwrap_or(Command::Show { key: None }) {
        Command::Show { key } => {
            let answer = app.call(method::CONFIG, json!({}))?;
            show(app, &answer, |known| key.as_deref().is_none_or(|key| is_in(known, key)))
        }
        Command::Set { key, value } => {
            let answer = app.call(method::CONFIG, json!({"set": {&key: value_of(&value)}}))?;
            let exit = show(app, &answer, |known| known == key)?;
            let config: ConfigAnswer = app::read(&answer)?;
            if config.get(&key).is_some_and(|value| value.restart) {
                app.say("in force from the next start on:  doze stop  and then  doze up")?;
            }
            Ok(exit)
        }
        Command::Check { config } => {
            let file = config.map(|file| ["--config".into(), file.into_os_string()]);
            run_dozed(file.into_iter().flatten().chain(["--check-config".into()]))
        }
        Command::Schema => run_dozed(["--print-schema".into()]),
    }
}

/// Whether a key is the given one or one of those below it.
fn is_in(key: &str, given: &str) -> bool {
    key.strip_prefix(given).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn show(app: &App, answer: &Value, is_wanted: impl Fn(&str) -> bool) -> CommandResult {
    app.show(answer, |screen, config: &ConfigAnswer| {
        let mut is_empty = true;
        for (key, value) in config.iter().filter(|(key, _)| is_wanted(key)) {
            is_empty = false;
            screen.row(
                &format!("{} = {}", one_line(key), one_line(&value.value.to_string())),
                &tilde(Path::new(&value.origin)),
            )?;
        }
        Ok(super::draw::found(is_empty))
    })
}

/// A value from the command line: what reads as JSON is that, all else is a text.
fn value_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::String(_))) => value,
        _ => text.into(),
    }
}

/// Asks the daemon's program itself, which knows the configuration whether it runs or not.
fn run_dozed(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> CommandResult {
    let program = dozed()?;
    let status = Process::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| CommandError::io(program.display(), &error))?;
    match status.code() {
        Some(0) => Ok(Exit::Done),
        Some(code) => {
            let exit = Exit::ALL
                .iter()
                .copied()
                .find(|exit| i32::from(exit.status()) == code)
                .unwrap_or(Exit::Config);
            Err(CommandError::new(exit, ""))
        }
        None => Err(CommandError::new(Exit::Internal, "dozed was stopped by a signal")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_it_reads_as() {
        let cases = [
            ("3600", json!(3600)),
            ("true", json!(true)),
            ("[\"a\", \"b\"]", json!(["a", "b"])),
            ("\"5\"", json!("5")),
            ("rules", json!("rules")),
            ("0 3 * * *", json!("0 3 * * *")),
            ("null", json!("null")),
            ("{\"a\":1}", json!("{\"a\":1}")),
        ];
        for (text, wanted) in cases {
            assert_eq!(value_of(text), wanted);
        }
    }
}
