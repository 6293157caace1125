//! The tasks of a project: what an orchestrator, or a person, has planned (S1.33).

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use doze_protocol::work::TaskRecord;
use doze_protocol::{Exit, List, method};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::draw;
use super::memory::done;
use crate::app::{self, App};
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, one_line, wrap};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add a task, or change one; what is not given stays as it was
    Set(SetArgs),
    /// List the tasks that are open, the latest first
    List(ListArgs),
    /// Show one task with its specification
    Show(OneArgs),
    /// Say that a task is being worked on
    Start(OneArgs),
    /// Say that a task is done
    Done(OneArgs),
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Status {
    Todo,
    InProgress,
    Review,
    Done,
    Dropped,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::InProgress => "in_progress",
            Self::Review => "review",
            Self::Done => "done",
            Self::Dropped => "dropped",
        }
    }
}

#[derive(Debug, ClapArgs)]
struct SetArgs {
    /// The task's id, as its tracker calls it
    id: String,
    /// A short title; a new task needs one
    title: Vec<String>,
    /// What was specified; `-` reads it from the standard input
    #[arg(long, value_name = "TEXT")]
    spec: Option<String>,
    /// How it stands
    #[arg(long)]
    status: Option<Status>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
struct ListArgs {
    /// Only tasks that stand so
    #[arg(long)]
    status: Option<Status>,
    /// Also those that are done or dropped
    #[arg(long, conflicts_with = "status")]
    all: bool,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
struct OneArgs {
    /// The task's id
    id: String,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze task …`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command {
        Command::Set(args) => set(app, args),
        Command::List(args) => {
            let status = args.status.map(Status::word);
            let answer = tasks(app, status, args.cwd)?;
            app.show(&answer, |screen, list: &List<TaskRecord>| {
                draw_list(screen, list, args.all || status.is_some(), app::now())
            })
        }
        Command::Show(args) => show(app, args),
        Command::Start(args) => stands(app, args, Status::InProgress),
        Command::Done(args) => stands(app, args, Status::Done),
    }
}

fn set(app: &mut App, args: SetArgs) -> CommandResult {
    let spec = match args.spec.as_deref() {
        Some("-") => Some(
            io::read_to_string(io::stdin()).map_err(|error| CommandError::io("standard input", &error))?,
        ),
        _ => args.spec,
    };
    let params = json!({
        "id": args.id,
        "title": (!args.title.is_empty()).then(|| args.title.join(" ")),
        "spec": spec,
        "status": args.status.map(Status::word),
        "cwd": folder(args.cwd.as_deref())?,
    });
    let answer = app.call(method::TASK_SET, params)?;
    told(app, &answer)
}

fn stands(app: &mut App, args: OneArgs, status: Status) -> CommandResult {
    // Without its title an unknown task would be refused for the want of one, which is not what is wrong.
    let cwd = folder(args.cwd.as_deref())?;
    find(app, &args.id, args.cwd)?;
    let answer = app.call(method::TASK_SET, json!({"id": args.id, "status": status.word(), "cwd": cwd}))?;
    told(app, &answer)
}

fn told(app: &App, answer: &Value) -> CommandResult {
    let task: TaskRecord = app::read(answer)?;
    done(app, answer, &format!("{} is {}: {}", task.id, in_words(&task.status), task.title))
}

fn show(app: &mut App, args: OneArgs) -> CommandResult {
    let answer = find(app, &args.id, args.cwd)?;
    app.show(&answer, |screen, task: &TaskRecord| {
        for line in wrap(&task.title, "", screen.columns()) {
            screen.line(screen.bold(&line))?;
        }
        let age = draw::ago(app::now(), &task.updated_at);
        let details = [Some(task.id.clone()), Some(in_words(&task.status)), age];
        screen.line(screen.dim(&draw::joined(details)))?;
        if let Some(spec) = task.spec.as_deref().filter(|spec| !spec.is_empty()) {
            screen.blank()?;
            screen.text(spec)?;
        }
        Ok(Exit::Done)
    })
}

/// The folder that stands for the project. One that is not there is a mistake, and must not become a project.
fn folder(cwd: Option<&Path>) -> Result<String, CommandError> {
    let folder = app::folder(cwd)?;
    if Path::new(&folder).is_dir() {
        return Ok(folder);
    }
    Err(CommandError::bad_input(format!("there is no folder {}", one_line(&folder)))
        .hint("name one that is there with --cwd, or go to it"))
}

/// The tasks of the project, the latest first.
fn tasks(app: &mut App, status: Option<&str>, cwd: Option<PathBuf>) -> Result<Value, CommandError> {
    app.call_all(method::TASK_LIST, json!({"status": status, "cwd": folder(cwd.as_deref())?}))
}

/// The task of that id, as the list has it.
fn find(app: &mut App, id: &str, cwd: Option<PathBuf>) -> Result<Value, CommandError> {
    let params = json!({"cwd": folder(cwd.as_deref())?, "limit": 1_000});
    let all = app.call(method::TASK_LIST, params)?;
    let items = all.get("items").and_then(Value::as_array).into_iter().flatten();
    items.into_iter().find(|task| task["id"] == id).cloned().ok_or_else(|| {
        CommandError::new(Exit::Nothing, format!("no task {} here", one_line(id)))
            .hint("see which there are:  doze task list --all")
    })
}

fn in_words(status: &str) -> String {
    one_line(&status.replace('_', " "))
}

fn draw_list(
    screen: &mut Screen<'_>,
    list: &List<TaskRecord>,
    with_closed: bool,
    now: Timestamp,
) -> io::Result<Exit> {
    let is_closed = |task: &&TaskRecord| matches!(task.status.as_str(), "done" | "dropped");
    let (closed, open): (Vec<_>, Vec<_>) = list.items.iter().partition(is_closed);
    let shown = if with_closed { list.items.iter().collect() } else { open };
    for task in &shown {
        let right = draw::joined([Some(in_words(&task.status)), draw::ago(now, &task.updated_at)]);
        draw::headline_rows(screen, "", &task.title, &right)?;
        let spec = task.spec.as_deref().unwrap_or_default();
        let spec = spec.lines().map(one_line).find(|line| !line.is_empty());
        for line in crate::screen::wrap_within(
            &draw::joined([Some(task.id.clone()), spec]),
            "    ",
            screen.columns(),
            1,
        ) {
            screen.line(screen.dim(&line))?;
        }
    }
    if shown.is_empty() {
        screen.line(match (with_closed, closed.len()) {
            (false, 1..) => "no task is open here; the others:  doze task list --all",
            _ => "no task here; add one:  doze task set ID TITLE",
        })?;
    }
    Ok(draw::found(shown.is_empty()))
}
