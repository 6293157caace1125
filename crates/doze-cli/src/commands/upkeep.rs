//! Pausing, backing up, completions.

use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory};
use clap_complete::Shell;
use doze_protocol::system::{BackupAnswer, PauseAnswer, Span};
use doze_protocol::{Exit, method};
use jiff::Timestamp;
use serde_json::json;

use super::Cli;
use super::draw::ago;
use crate::app::{self, App};
use crate::error::CommandResult;
use crate::screen::one_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct PauseArgs {
    /// For how long: 30m, 2h, 1d; without it until `doze resume`
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<Span>,
}

/// When a pause ends by itself, in words; `None` for one that lasts until it is ended.
pub(super) fn pause_ends(now: Timestamp, until: &str) -> Option<String> {
    let is_endless = until.parse::<Timestamp>().is_ok_and(|until| until == Timestamp::MAX);
    if is_endless { None } else { ago(now, until) }
}

/// `doze pause`.
pub(crate) fn pause(app: &mut App, args: &PauseArgs) -> CommandResult {
    let answer = app.call(method::PAUSE, json!({"for": args.duration.map(|span| span.seconds)}))?;
    app.show(&answer, |screen, answer: &PauseAnswer| {
        screen.line(
            match answer.paused_until.as_deref().and_then(|until| pause_ends(app::now(), until)) {
                Some(until) => {
                    format!("nothing is learned for now; it goes on {until}, or with  doze resume")
                }
                None => "nothing is learned until  doze resume".to_owned(),
            },
        )?;
        Ok(Exit::Done)
    })
}

/// `doze resume`.
pub(crate) fn resume(app: &mut App) -> CommandResult {
    let answer = app.call(method::RESUME, json!({}))?;
    app.show(&answer, |screen, _: &PauseAnswer| {
        screen.line("learning again")?;
        Ok(Exit::Done)
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BackupArgs {
    /// Where to; without it beside the other backups
    path: Option<PathBuf>,
}

/// `doze backup`.
pub(crate) fn backup(app: &mut App, args: &BackupArgs) -> CommandResult {
    let path = args.path.as_deref().map(app::absolute).transpose()?;
    let answer = app.call_within(app::LONG, method::BACKUP, json!({"path": path}))?;
    app.show(&answer, |screen, answer: &BackupAnswer| {
        screen.line(format!("{}  ({} KiB)", one_line(&answer.path), answer.bytes.div_ceil(1024)))?;
        Ok(Exit::Done)
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// `doze completions SHELL`.
pub(crate) fn completions(args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "doze", &mut script);
    std::io::Write::write_all(&mut std::io::stdout().lock(), &script)?;
    Ok(Exit::Done)
}
