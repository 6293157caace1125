//! The configuration: what holds and why, whether a file is right, and changing a key.

use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::system::ConfigAnswer;
use doze_protocol::{Exit, method};
use serde_json::{Value, json};

use super::life::{dozed, last_words};
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
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
}

/// `doze config`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command.unwrap_or(Command::Show { key: None }) {
        Command::Show { key } => {
            let answer = app.call(method::CONFIG, json!({}))?;
            let Some(key) = key else { return show(app, &answer, |_| true) };
            let is_known = answer.as_object().is_some_and(|keys| keys.keys().any(|known| is_in(known, &key)));
            if !is_known {
                return Err(CommandError::new(Exit::Nothing, format!("there is no key {}", one_line(&key)))
                    .hint("all of them:  doze config show"));
            }
            show(app, &answer, |known| is_in(known, &key))
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
            check(app, file.into_iter().flatten().chain(["--check-config".into()]))
        }
        Command::Schema => run_dozed(["--print-schema".into()]),
    }
}

/// Whether a key is the given one or one of those below it.
fn is_in(key: &str, given: &str) -> bool {
    key.strip_prefix(given).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Shows the keys that are wanted, also as JSON: a script that asks for one key is given no other one.
fn show(app: &App, answer: &Value, is_wanted: impl Fn(&str) -> bool) -> CommandResult {
    let mut answer = answer.clone();
    if let Some(keys) = answer.as_object_mut() {
        keys.retain(|key, _| is_wanted(key));
    }
    app.show(&answer, |screen, config: &ConfigAnswer| {
        for (key, value) in config {
            screen.row(
                &format!("{} = {}", one_line(key), one_line(&value.value.to_string())),
                &tilde(Path::new(&value.origin)),
            )?;
        }
        Ok(super::draw::found(config.is_empty()))
    })
}

/// A value from the command line: what reads as JSON is that, all else is a text.
fn value_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::String(_))) => value,
        _ => text.into(),
    }
}

/// Whether a file is right, in the program's own words, or with `--json` as a document.
fn check(app: &App, arguments: impl IntoIterator<Item = std::ffi::OsString>) -> CommandResult {
    if !app.is_json() {
        return run_dozed(arguments);
    }
    let program = dozed()?;
    let output = Process::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| CommandError::io(program.display(), &error))?;
    let is_right = output.status.success();
    let said = if is_right { &output.stdout } else { &output.stderr };
    let (said, hint) = last_words(&String::from_utf8_lossy(said));
    let answer = json!({"right": is_right, "said": said, "hint": hint.unwrap_or_default()});
    let exit = exit_of(output.status.code())?;
    app.show(&answer, |_, _: &Value| Ok(exit))
}

/// The status with which the daemon's program ended, as one of ours.
fn exit_of(code: Option<i32>) -> Result<Exit, CommandError> {
    let code = code.ok_or_else(|| CommandError::new(Exit::Internal, "dozed was stopped by a signal"))?;
    let known = Exit::ALL.iter().copied().find(|exit| i32::from(exit.status()) == code);
    Ok(known.unwrap_or(Exit::Config))
}

/// Asks the daemon's program itself, which knows the configuration whether it runs or not.
fn run_dozed(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> CommandResult {
    let program = dozed()?;
    let status = Process::new(&program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| CommandError::io(program.display(), &error))?;
    exit_of(status.code())
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
