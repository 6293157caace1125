//! Workspaces: the folders in which dreams leave what they learned as Markdown.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::workspace::WorkspaceRecord;
use doze_protocol::{Exit, List, method};
use serde_json::json;

use super::draw;
use super::memory::done;
use crate::app::{self, App};
use crate::error::CommandResult;
use crate::screen::{Screen, count, one_line, tilde};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Let dreams write what they learned into a folder
    Add {
        /// The folder
        path: PathBuf,
        /// agent: all into memory/DREAMING.md; code: a file each in coding_memory; as each session was, unless told
        #[arg(long, value_parser = ["agent", "code"])]
        mode: Option<String>,
    },
    /// All workspaces
    List,
    /// Write nothing into a folder any more; what stands there stays
    Remove {
        /// The folder
        path: PathBuf,
    },
}

/// `doze workspace …`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command {
        Command::Add { path, mode } => {
            let path = app::absolute(&path)?;
            let answer = app.call(method::WORKSPACE_ADD, json!({"path": path, "mode": mode}))?;
            done(app, &answer, &format!("{path} is a workspace now; the next sweep writes to it"))
        }
        Command::List => {
            let answer = app.call_all(method::WORKSPACE_LIST, json!({}))?;
            app.show(&answer, draw_list)
        }
        Command::Remove { path } => {
            let path = app::absolute(&path)?;
            let answer = app.call(method::WORKSPACE_REMOVE, json!({ "path": path }))?;
            done(app, &answer, &format!("{path} is no workspace any more; what stands there stays"))
        }
    }
}

fn draw_list(screen: &mut Screen<'_>, list: &List<WorkspaceRecord>) -> io::Result<Exit> {
    for workspace in &list.items {
        let mode = workspace.mode.as_deref().map(|mode| format!(" · {mode}")).unwrap_or_default();
        let right = format!("{}{mode}", count(workspace.entries, "entry"));
        screen.row(&one_line(&tilde(Path::new(&workspace.path))), &right)?;
        if let Some(problem) = &workspace.problem {
            screen.line(format!("  {}; the next sweep tries again", one_line(problem)))?;
        }
    }
    if list.items.is_empty() {
        screen.line("no workspace; make a folder one with  doze workspace add FOLDER")?;
    }
    Ok(draw::found(list.items.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_what_stands_there_and_what_went_wrong() {
        let list = json!({"items": [
            {"path": "/home/dev/shop", "mode": "code", "entries": 1},
            {"path": "/home/dev/notes", "mode": null, "entries": 2, "problem": "the folder is not there"},
        ], "next": null});
        let list: List<WorkspaceRecord> = serde_json::from_value(list).unwrap();
        let mut out = Vec::new();
        assert_eq!(draw_list(&mut Screen::plain(&mut out), &list).unwrap(), Exit::Done);
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["/home/dev/shop", "1", "entry", "·", "code"]);
        assert_eq!(lines[1], ["/home/dev/notes", "2", "entries"]);
        assert_eq!(out.lines().nth(2).unwrap(), "  the folder is not there; the next sweep tries again");
    }
}
