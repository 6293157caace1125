//! Projects: which there are, and repairs when two are one or one is two.

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::memory::ForgetAnswer;
use doze_protocol::project::ProjectRecord;
use doze_protocol::{Exit, List, method};
use serde_json::json;

use super::draw;
use super::memory::{IN_A_TERMINAL, confirm, done};
use crate::app::{self, App};
use crate::caller;
use crate::error::CommandResult;
use crate::screen::{Screen, count, one_line, tilde};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All projects
    List,
    /// One project; without a name that of the current folder
    Show {
        /// Its id, name or path
        project: Option<String>,
    },
    /// Make two projects one
    Merge {
        /// The project that goes
        from: String,
        /// The project that stays
        into: String,
    },
    /// Make a folder of a project a project of its own
    Split {
        /// The project
        project: String,
        /// The folder
        path: PathBuf,
    },
    /// Tell that a project's folder is somewhere else now
    Move {
        /// The project
        project: String,
        /// Where it is now
        path: PathBuf,
    },
    /// Learn nothing from a project and tell nobody about it
    Ignore {
        /// The project
        project: String,
        /// Learn from it again
        #[arg(long)]
        off: bool,
    },
    /// Delete everything of a project for good
    Forget {
        /// The project
        project: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// `doze project …`.
pub(crate) fn run(app: &mut App, args: Args) -> CommandResult {
    match args.command {
        Command::List => {
            let answer = app.call_all(method::PROJECT_LIST, json!({}))?;
            app.show(&answer, draw_list)
        }
        Command::Show { project } => {
            let cwd = if project.is_none() { Some(app::folder(None)?) } else { None };
            let answer = app.call(method::PROJECT_SHOW, json!({"project": project, "cwd": cwd}))?;
            app.show(&answer, draw_one)
        }
        Command::Merge { from, into } => {
            let answer = app.call(method::PROJECT_MERGE, json!({"from": from, "into": into}))?;
            done(app, &answer, &format!("{from} is part of {into} now"))
        }
        Command::Split { project, path } => {
            let path = app::absolute(&path)?;
            let answer = app.call(method::PROJECT_SPLIT, json!({"project": project, "path": path}))?;
            done(app, &answer, &format!("{path} is a project of its own now"))
        }
        Command::Move { project, path } => {
            let path = app::absolute(&path)?;
            let answer = app.call(method::PROJECT_MOVE, json!({"project": project, "path": path}))?;
            done(app, &answer, &format!("{project} is at {path} now"))
        }
        Command::Ignore { project, off } => {
            let answer = app.call(method::PROJECT_IGNORE, json!({"project": project, "ignored": !off}))?;
            done(app, &answer, &format!("{project} is {}ignored", if off { "no longer " } else { "" }))
        }
        Command::Forget { project, yes } => {
            if !yes {
                confirm(&format!("Delete everything of the project {project} for good?"), IN_A_TERMINAL)?;
            }
            let answer =
                app.call(method::PROJECT_FORGET, json!({"project": project, "human": caller::is_person()}))?;
            app.show(&answer, |screen, answer: &ForgetAnswer| draw::forgotten(screen, *answer))
        }
    }
}

fn draw_list(screen: &mut Screen<'_>, list: &List<ProjectRecord>) -> io::Result<Exit> {
    for project in &list.items {
        let ignored = if project.ignored { " · ignored" } else { "" };
        let right = format!(
            "{} · {}{ignored}",
            count(project.memories, "memory"),
            count(project.sessions, "session")
        );
        screen.row(
            &format!("{:<20}  {}", one_line(&project.name), one_line(&tilde(Path::new(&project.root)))),
            &right,
        )?;
    }
    if list.items.is_empty() {
        screen.line("no project yet; the first session in a repository makes one")?;
    }
    Ok(draw::found(list.items.is_empty()))
}

fn draw_one(screen: &mut Screen<'_>, project: &ProjectRecord) -> io::Result<Exit> {
    screen.line(screen.bold(&one_line(&project.name)))?;
    screen.line(format!("  root      {}", one_line(&project.root)))?;
    screen.line(format!(
        "  knows     {}, {}",
        count(project.memories, "memory"),
        count(project.sessions, "session")
    ))?;
    for (index, alias) in project.aliases.iter().enumerate() {
        screen.line(format!("  {:<10}{}", if index == 0 { "also" } else { "" }, one_line(alias)))?;
    }
    if project.ignored {
        screen.line("  ignored   nothing is learned here;  doze project ignore NAME --off")?;
    }
    screen.line(format!("  id        {}", one_line(&project.id)))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_what_each_project_holds() {
        let list = json!({"items": [
            {"id": "p1", "name": "shop", "root": "/home/dev/shop", "memories": 12, "sessions": 1, "ignored": true},
        ], "next": null});
        let list: List<ProjectRecord> = serde_json::from_value(list).unwrap();
        let mut out = Vec::new();
        assert_eq!(draw_list(&mut Screen::plain(&mut out), &list).unwrap(), Exit::Done);
        let wanted = "shop                  /home/dev/shop           12 memories · 1 session · ignored\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
