//! Sweeps: one now, or what earlier ones did.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::dream::{DreamChange, DreamItem, DreamRecord, DreamStatus, UndoAnswer, UndoLeft};
use doze_protocol::{Exit, List, method};
use jiff::Timestamp;
use serde_json::json;

use super::draw;
use super::names::Names;
use crate::app::{self, App};
use crate::error::CommandResult;
use crate::screen::{Screen, count, one_line, short_ids, wrap_within};

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
            app.show(&answer, |screen, dream: &DreamRecord| record(screen, dream, &names, app::now()))
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
            app.show(&answer, |screen, dream: &DreamRecord| record(screen, dream, &names, app::now()))
        }
        Some(Command::Undo { id }) => {
            let answer = app.call(method::DREAM_UNDO, json!({"id": id}))?;
            app.show(&answer, undone)
        }
    }
}

/// What an undo took back, and what it left.
fn undone(screen: &mut Screen<'_>, answer: &UndoAnswer) -> io::Result<Exit> {
    let id = one_line(&short_ids(&answer.id));
    let restored = count(answer.restored.len() as u64, "memory");
    screen.line(match (answer.restored.is_empty(), answer.left.is_empty()) {
        (true, true) => format!("nothing of dream {id} was left to take back"),
        (true, false) => format!("nothing of dream {id} is taken back"),
        (false, _) => format!("dream {id} is taken back: {restored} as they were before it"),
    })?;
    let confirmed = answer.confirmed_since.len() as u64;
    if confirmed > 0 {
        screen
            .line(format!("  {confirmed} of them had been confirmed or shown since; that went with them"))?;
    }
    left(screen, &answer.left)?;
    Ok(draw::found(answer.restored.is_empty()))
}

/// What an undo left as it is, and why.
fn left(screen: &mut Screen<'_>, left: &[UndoLeft]) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    screen.blank()?;
    screen.line(format!("  {} left as it is now:", count(left.len() as u64, "memory")))?;
    for one in left {
        draw::headline_and_reason(screen, "  · ", &one.title, &short_ids(&one.id), &one.because)?;
    }
    Ok(())
}

/// What a sweep did, change by change.
fn record(screen: &mut Screen<'_>, dream: &DreamRecord, names: &Names, now: Timestamp) -> io::Result<Exit> {
    screen.line(screen.bold(&heading(dream, names, now)))?;
    if dream.result != "done" && !dream.reason.is_empty() {
        screen.line(format!("  {}: {}", one_line(&dream.result), one_line(&dream.reason)))?;
    }
    counts(screen, dream)?;
    for one in &dream.changes {
        screen.blank()?;
        change(screen, one, names)?;
    }
    for left in &dream.left_alone {
        screen.blank()?;
        let project = left.project.as_deref().map(|project| names.name(project)).unwrap_or_default();
        let title = format!("left alone: {}", left.title);
        draw::headline_and_reason(screen, "  · ", &title, &project, &left.reason)?;
    }
    let passed: Vec<_> = dream.sessions.iter().filter(|session| !session.reason.is_empty()).collect();
    if !passed.is_empty() {
        screen.blank()?;
    }
    for session in passed {
        let project = session.project.as_deref().map(|project| names.name(project)).unwrap_or_default();
        let said = format!("session {} {}: {}", session.session, session.outcome, session.reason);
        draw::headline_rows(screen, "  · ", &short_ids(&said), &project)?;
    }
    if !dream.dry_run && !dream.changes.is_empty() {
        footer(screen, dream, now)?;
    }
    Ok(draw::found(matches!(dream.result.as_str(), "failed" | "skipped")))
}

/// That it was taken back, or how to.
fn footer(screen: &mut Screen<'_>, dream: &DreamRecord, now: Timestamp) -> io::Result<()> {
    let undo = format!("doze dream undo {}", one_line(&short_ids(&dream.id)));
    left(screen, &dream.left)?;
    screen.blank()?;
    let Some(at) = &dream.undone_at else {
        return screen.line(format!("Undo all of it:  {undo}"));
    };
    let when = draw::ago(now, at).unwrap_or_default();
    if dream.left.is_empty() {
        return screen.line(format!("Taken back · {when}"));
    }
    screen.line(format!("The rest was taken back · {when}"))?;
    screen.line(format!("Once nothing stands against it:  {undo}"))
}

/// How much there is of each sort, as far as there is any.
fn counts(screen: &mut Screen<'_>, dream: &DreamRecord) -> io::Result<()> {
    let of = |op: &str| dream.changes.iter().filter(|change| change.op == op).count();
    let sorts = [
        ("learned", of("add") + of("promote")),
        ("merged", of("merge")),
        ("updated", of("supersede")),
        ("retired", of("retire")),
        ("said again", of("reinforce")),
        ("left alone", dream.left_alone.len()),
    ];
    let told =
        sorts.iter().filter(|(_, number)| *number > 0).map(|(sort, number)| format!("{sort} {number}"));
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        return Ok(());
    }
    screen.blank()?;
    screen.line(format!("  {}", told.join("   ")))
}

/// `Dream 1d05c4fe · 7 h, took 14 s · 10 sessions of 3 projects`.
fn heading(dream: &DreamRecord, names: &Names, now: Timestamp) -> String {
    let took = match (dream.started_at.parse::<Timestamp>(), dream.ended_at.parse::<Timestamp>()) {
        (Ok(started), Ok(ended)) if ended.as_second() > started.as_second() => {
            format!(", took {} s", ended.as_second() - started.as_second())
        }
        _ => String::new(),
    };
    let when = draw::ago(now, &dream.started_at).unwrap_or_default();
    let sessions = count(dream.sessions.len() as u64, "session");
    let projects: BTreeSet<&str> =
        dream.sessions.iter().filter_map(|session| session.project.as_deref()).collect();
    let place = match projects.len() {
        0 => String::new(),
        1 => projects.iter().map(|project| format!(" of {}", names.name(project))).collect(),
        many => format!(" of {}", count(many as u64, "project")),
    };
    let dry = if dream.dry_run { " · dry run, nothing was changed" } else { "" };
    let id = if dream.dry_run { String::new() } else { format!(" {}", short_ids(&dream.id)) };
    one_line(&format!("Dream{id} · {when}{took} · {sessions}{place}{dry}"))
}

fn change(screen: &mut Screen<'_>, change: &DreamChange, names: &Names) -> io::Result<()> {
    let sign = match change.op.as_str() {
        "add" => screen.green("+"),
        "promote" => screen.green("^"),
        "retire" => screen.red("-"),
        "reinforce" => "=".to_owned(),
        "merge" | "supersede" => "~".to_owned(),
        _ => "·".to_owned(),
    };
    let shown = change.after.as_ref().or(change.before.as_ref());
    let title = shown.map_or_else(
        || change.memory.clone(),
        |memory| draw::headline_and_more(&memory.title, &memory.body).0,
    );
    let place = shown.and_then(|memory| memory.project.as_deref()).map(|project| names.name(project));
    draw::headline_rows(screen, &format!("  {sign} "), &title, &place.unwrap_or_default())?;
    if let (Some(before), Some(after)) = (&change.before, &change.after)
        && before.body != after.body
        && !change.because.starts_with("was ")
    {
        for line in wrap_within(&format!("was: {}", before.body), "    ", screen.columns(), 2) {
            screen.line(line)?;
        }
    }
    for line in wrap_within(&short_ids(&because(change)), "    ", screen.columns(), 3) {
        screen.line(screen.dim(&line))?;
    }
    Ok(())
}

/// Why a sweep changed something, and the events that speak for it unless the sentence names their session itself.
fn because(change: &DreamChange) -> String {
    let session = |event: &str| event.split('#').next().unwrap_or_default().to_owned();
    let named = change.evidence.iter().all(|event| change.because.contains(&session(event)));
    if named {
        return format!("because {}", change.because);
    }
    format!("because {} ({})", change.because, change.evidence.join(", "))
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
