//! How a running task stands.

use std::io;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::work::{ClearAnswer, WorkRecord};
use doze_protocol::{Exit, List, method};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::draw;
use super::memory::done;
use super::recall::some;
use crate::app::{self, App};
use crate::caller;
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, one_line};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell how a task stands; what is not given stays as it was
    Set(SetArgs),
    /// Show all tasks that run
    Show(SelectArgs),
    /// Forget a task's state
    Clear(SelectArgs),
}

#[derive(Debug, ClapArgs)]
struct SelectArgs {
    /// The agent
    #[arg(long)]
    agent: Option<String>,
    /// Its session
    #[arg(long)]
    session: Option<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
struct SetArgs {
    #[command(flatten)]
    of: SelectArgs,
    /// running, interrupted, failed or cancelled
    #[arg(long)]
    status: Option<String>,
    /// What was done so far
    #[arg(long)]
    summary: Option<String>,
    /// What comes next
    #[arg(long = "next")]
    next_steps: Vec<String>,
    /// What is left undone
    #[arg(long)]
    unfinished: Vec<String>,
    /// Files touched
    #[arg(long = "file")]
    files: Vec<String>,
    /// The task's id
    #[arg(long)]
    task: Option<String>,
    /// The task's prompt
    #[arg(long)]
    prompt: Option<String>,
    /// What is being done right now
    #[arg(long)]
    activity: Option<String>,
}

/// `doze work set|show|clear`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command {
        Command::Set(args) => set(app, args),
        Command::Show(of) => {
            let answer = app.call(method::WORK_LIST, selection(&of, None)?)?;
            app.show(&answer, |screen, list: &List<WorkRecord>| draw_all(screen, list, app::now()))
        }
        Command::Clear(of) => {
            let answer = app.call(method::WORK_CLEAR, selection(&of, Some(&agent(&of)?))?)?;
            app.show(&answer, |screen, answer: &ClearAnswer| {
                screen.line(if answer.cleared == 0 { "nothing was there to clear" } else { "cleared" })?;
                Ok(draw::found(answer.cleared == 0))
            })
        }
    }
}

fn agent(of: &SelectArgs) -> Result<String, CommandError> {
    let agent = caller::agent_or(of.agent.as_deref());
    agent.ok_or_else(|| CommandError::usage("whose work is it?").hint("name the agent: --agent NAME"))
}

fn selection(of: &SelectArgs, agent: Option<&str>) -> Result<Value, CommandError> {
    let cwd = app::folder(of.cwd.as_deref())?;
    Ok(json!({"agent": agent.or(of.agent.as_deref()), "session": of.session, "cwd": cwd}))
}

fn set(app: &mut App, args: SetArgs) -> CommandResult {
    let params = json!({
        "agent": agent(&args.of)?,
        "session": args.of.session,
        "cwd": app::folder(args.of.cwd.as_deref())?,
        "status": args.status,
        "summary": args.summary,
        "next_steps": some(args.next_steps),
        "unfinished": some(args.unfinished),
        "files_touched": some(args.files),
        "task_id": args.task,
        "task_prompt": args.prompt,
        "last_activity": args.activity,
    });
    let answer = app.call(method::WORK_SET, params)?;
    match answer.get("skipped").and_then(Value::as_str) {
        Some(reason) => done(app, &answer, &format!("not kept: {reason}")),
        None => done(app, &answer, "noted"),
    }
}

fn draw_all(screen: &mut Screen<'_>, list: &List<WorkRecord>, now: Timestamp) -> io::Result<Exit> {
    for work in &list.items {
        let what = [work.task_prompt.as_deref().unwrap_or_default(), &work.summary]
            .into_iter()
            .find(|text| !text.is_empty());
        let age = draw::ago(now, &work.updated_at).unwrap_or_default();
        screen.row(
            &format!("{}  {}", one_line(&work.agent.id), one_line(what.unwrap_or("(no word yet)"))),
            &format!("{} · {age}", work.status),
        )?;
        let lists =
            [("next", &work.next_steps), ("unfinished", &work.unfinished), ("files", &work.files_touched)];
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            screen.line(format!("    {name:<12}{}", one_line(&list.join(", "))))?;
        }
        if let Some(activity) = &work.last_activity {
            screen.line(format!("    {:<12}{}", "last", one_line(activity)))?;
        }
        if let Some(session) = &work.session {
            screen.line(screen.dim(&format!("    session {}", one_line(session))))?;
        }
    }
    if list.items.is_empty() {
        screen.line("no task is running here")?;
    }
    Ok(draw::found(list.items.is_empty()))
}
