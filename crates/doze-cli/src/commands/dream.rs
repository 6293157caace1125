//! Sweeps: one now, or what earlier ones did.

use std::io;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::dream::{DreamItem, DreamRecord, DreamStatus, UndoAnswer};
use doze_protocol::{Exit, List, method};
use jiff::Timestamp;
use serde_json::json;

use super::names::Names;
use super::{draw, report};
use crate::app::{self, App};
use crate::caller;
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, count, one_line, short_ids};

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Show what it would do; nothing is changed
    #[arg(long)]
    dry_run: bool,
    /// Only this sort of sessions: code or agent
    #[arg(long)]
    mode: Option<String>,
    /// Only this project
    #[arg(long)]
    project: Option<String>,
    /// Only the project of this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "project")]
    cwd: Option<PathBuf>,
    /// Also read sessions that ended this many days ago, instead of 30 at most
    #[arg(long, value_name = "DAYS")]
    max_age: Option<u32>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Sweeps among which the last one that changed something is looked for.
const LOOKED_BACK: u64 = 100;

#[derive(Debug, Subcommand)]
enum Command {
    /// When the next sweep is due, and why not now
    Status,
    /// All sweeps, newest first
    Log {
        /// How many at most
        #[arg(long, short = 'n')]
        limit: Option<u64>,
        /// Go on where an earlier log ended
        #[arg(long)]
        cursor: Option<String>,
    },
    /// What a sweep did and why
    Show {
        /// The sweep's id; without one the last
        id: Option<String>,
    },
    /// Take back what a sweep did
    Undo {
        /// The sweep's id
        id: String,
    },
}

/// `doze dream`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command {
        None => {
            let cwd = args.cwd.as_deref().map(app::absolute).transpose()?;
            let params = json!({
                "mode": args.mode, "project": args.project, "cwd": cwd, "dry_run": args.dry_run,
                "max_age_days": args.max_age,
            });
            let sign = app.bar(1).with_message("dreaming …");
            let answer = app.call_within(app::LONG, method::DREAM_RUN, params)?;
            sign.finish_and_clear();
            let names = Names::ask(app);
            app.show(&answer, |screen, dream: &DreamRecord| report::page(screen, dream, &names, app::now()))
        }
        Some(Command::Status) => {
            let answer = app.call(method::DREAM_STATUS, json!({}))?;
            app.show(&answer, |screen, state: &DreamStatus| status(screen, state, app::now()))
        }
        Some(Command::Log { limit, cursor }) => {
            let answer = app.call(method::DREAM_LOG, json!({"limit": limit, "cursor": cursor}))?;
            app.show(&answer, |screen, list: &List<DreamItem>| log(screen, list, app::now()))
        }
        Some(Command::Show { id }) => {
            let answer = app.call(method::DREAM_SHOW, json!({"id": id}))?;
            let names = Names::ask(app);
            let last: DreamRecord = app::read(&answer)?;
            let is_idle = id.is_none() && last.changes.is_empty() && !app.is_json();
            let earlier = if is_idle { last_with_changes(app).unwrap_or_default() } else { None };
            app.show(&answer, |screen, dream: &DreamRecord| {
                let exit = report::page(screen, dream, &names, app::now())?;
                if let Some(id) = &earlier {
                    screen.blank()?;
                    screen.line(format!("The last one that changed something:  doze dream show {id}"))?;
                }
                Ok(exit)
            })
        }
        Some(Command::Undo { id }) => {
            let answer = app.call(method::DREAM_UNDO, json!({"id": id, "human": !caller::is_agent()}))?;
            app.show(&answer, undone)
        }
    }
}

/// The short id of the newest sweep that changed something, among the last of the log.
fn last_with_changes(app: &mut App) -> Result<Option<String>, CommandError> {
    let answer = app.call(method::DREAM_LOG, json!({"limit": LOOKED_BACK}))?;
    let log: List<DreamItem> = app::read(&answer)?;
    Ok(log
        .items
        .iter()
        .find(|dream| dream.changes > 0 && dream.undone_at.is_none())
        .map(|dream| one_line(&short_ids(&dream.id))))
}

/// What an undo took back, and what it left.
fn undone(screen: &mut Screen<'_>, answer: &UndoAnswer) -> io::Result<Exit> {
    let id = one_line(&short_ids(&answer.id));
    let restored = count(answer.restored.len() as u64, "memory");
    screen.line(match (answer.restored.is_empty(), answer.left.is_empty()) {
        (true, true) => format!("nothing of dream {id} was left to take back"),
        (true, false) => format!("nothing of dream {id} is taken back"),
        (false, _) => format!("dream {id} is taken back, with what it did to {restored}"),
    })?;
    let confirmed = answer.confirmed_since.len() as u64;
    if confirmed > 0 {
        screen
            .line(format!("  {confirmed} of them had been confirmed or shown since; that went with them"))?;
    }
    report::left(screen, &answer.left)?;
    if !answer.restored.is_empty() {
        screen.line("  what its sessions say is not learned again, unless another session says it")?;
    }
    Ok(draw::found(answer.restored.is_empty()))
}

fn log(screen: &mut Screen<'_>, list: &List<DreamItem>, now: Timestamp) -> io::Result<Exit> {
    for dream in &list.items {
        let what = match dream.result.as_str() {
            "done" => format!("{} in {}", count(dream.changes, "change"), count(dream.sessions, "session")),
            result => format!("{result}: {}", dream.reason),
        };
        let undone = if dream.undone_at.is_some() { " · taken back" } else { "" };
        let right = format!("{}{undone}", draw::ago(now, &dream.started_at).unwrap_or_default());
        screen.row(&format!("{}  {}", one_line(&short_ids(&dream.id)), one_line(&what)), &right)?;
    }
    if list.items.is_empty() {
        screen.line("no sweep yet; one now:  doze dream")?;
    }
    if let Some(cursor) = &list.next {
        screen.line(format!("more:  doze dream log --cursor {}", one_line(cursor)))?;
    }
    Ok(draw::found(list.items.is_empty()))
}

fn status(screen: &mut Screen<'_>, state: &DreamStatus, now: Timestamp) -> io::Result<Exit> {
    let age = |time: &Option<String>| time.as_deref().and_then(|time| draw::ago(now, time));
    let last = match age(&state.last) {
        Some(age) => format!("{age}, {}", state.last_result.as_deref().unwrap_or("no result")),
        None => "never".to_owned(),
    };
    let next = if state.running {
        "running now".to_owned()
    } else {
        age(&state.next).unwrap_or_else(|| "not planned".to_owned())
    };
    screen.line(format!("last     {}", one_line(&last)))?;
    if let Some(why) = &state.last_why {
        screen.line(format!("         {}", one_line(why)))?;
    }
    screen.line(format!("next     {}", one_line(&next)))?;
    screen.line(format!("waiting  {}", count(state.waiting, "session")))?;
    if let Some(broke_off) = &state.broke_off {
        screen.line(format!("broken   {}", one_line(broke_off)))?;
    }
    if let Some(why_not) = &state.why_not {
        screen.line(format!("why not  {}", one_line(why_not)))?;
    }
    Ok(Exit::Done)
}
