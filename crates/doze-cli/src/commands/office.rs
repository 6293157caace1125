//! What an orchestrator's office learned across its projects, and the memory of the original program: where it lies, and
//! writing one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::office::{ForgetAnswer, LearnedAnswer, NotedAnswer, ProjectAnswer};
use doze_protocol::system::ExportAnswer;
use doze_protocol::{Exit, method};
use serde_json::json;

use super::{draw, session};
use crate::app::{self, App};
use crate::error::{CommandError, CommandResult};
use crate::screen::{count, one_line};

/// Where the program kept its memory, below the home folder, under its names of then and now.
const ROOTS: [&str; 4] = [
    ".open-office/data/memory",
    ".open-office-dev/data/memory",
    ".bit-office/memory",
    ".bit-office-dev/memory",
];

/// The folders of that program that are on this machine.
pub(super) fn folders() -> Vec<PathBuf> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return Vec::new() };
    ROOTS.iter().map(|root| home.join(root)).filter(|root| root.is_dir()).collect()
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// A folder that is empty or not there yet
    path: PathBuf,
    /// What to write: office, the memory of an office's agents in this project
    #[arg(long, default_value = "office")]
    format: String,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze export PATH`.
pub(crate) fn export(app: &mut App, args: &ExportArgs) -> CommandResult {
    let params = json!({
        "path": app::absolute(&args.path)?,
        "format": args.format,
        "cwd": app::folder(args.cwd.as_deref())?,
    });
    let answer = app.call_within(app::LONG, method::EXPORT, params)?;
    app.show(&answer, |screen, answer: &ExportAnswer| {
        let (files, records) = (count(answer.files, "file"), count(answer.records, "record"));
        screen.line(format!("{}  ({records} in {files})", one_line(&answer.path)))?;
        draw::problems(screen, &answer.problems)?;
        Ok(if answer.records == 0 { Exit::Nothing } else { Exit::Done })
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Office>,
}

#[derive(Debug, Subcommand)]
enum Office {
    /// Show what was learned (the default)
    Learned,
    /// Note what a review that failed found
    Review {
        /// The review's text; - is the standard input
        #[arg(default_value = "-")]
        file: PathBuf,
        /// How it ended, where the text does not say it: PASS or FAIL
        #[arg(long)]
        verdict: Option<String>,
    },
    /// Note the technologies of a plan that was approved
    Plan {
        /// The plan's text; - is the standard input
        #[arg(default_value = "-")]
        file: PathBuf,
    },
    /// Note a project that is finished, or rate the last one
    Project {
        /// What was built
        #[arg(long)]
        summary: Option<String>,
        /// With what
        #[arg(long)]
        tech: Option<String>,
        /// 1 to 5 on creativity, visual, interaction, completeness or engagement
        #[arg(long = "rating", value_name = "AXIS=N", value_parser = rating)]
        ratings: Vec<(String, f64)>,
        /// The last review did not pass
        #[arg(long)]
        failed: bool,
    },
    /// Drop what says this
    Forget {
        /// The words of a pattern, a technology or a project's summary
        text: String,
    },
}

fn rating(given: &str) -> Result<(String, f64), String> {
    let (axis, number) = given.split_once('=').ok_or("it is written AXIS=N, as in visual=4")?;
    let number = number.trim().parse().map_err(|_| format!("{number} is no number"))?;
    Ok((axis.trim().to_owned(), number))
}

/// `doze office …`.
pub(crate) fn run(app: &mut App, args: &Args) -> CommandResult {
    match args.command.as_ref().unwrap_or(&Office::Learned) {
        Office::Learned => learned(app),
        Office::Review { file, verdict } => {
            let text = text_of(file)?;
            noted(app, method::OFFICE_REVIEW, json!({"text": text, "verdict": verdict}), "numbered line")
        }
        Office::Plan { file } => {
            noted(app, method::OFFICE_PLAN, json!({"text": text_of(file)?}), "TECH: line")
        }
        Office::Project { summary, tech, ratings, failed } => {
            let ratings: BTreeMap<_, _> = ratings.iter().cloned().collect();
            let passed = if *failed { Some(false) } else { None };
            let params =
                json!({"summary": summary, "tech": tech, "ratings": ratings, "review_passed": passed});
            let answer = app.call(method::OFFICE_PROJECT, params)?;
            app.show(&answer, |screen, answer: &ProjectAnswer| match &answer.project {
                Some(project) => {
                    screen.line(format!(
                        "noted: {}{}",
                        one_line(&project.summary),
                        told(&project.ratings)
                    ))?;
                    Ok(Exit::Done)
                }
                None => {
                    screen.line("that project was forgotten, and is not noted again")?;
                    Ok(Exit::Nothing)
                }
            })
        }
        Office::Forget { text } => {
            let answer = app.call(method::OFFICE_FORGET, json!({"text": text}))?;
            app.show(&answer, |screen, answer: &ForgetAnswer| {
                screen.line(match answer.forgotten {
                    0 => "nothing says that; see:  doze office".to_owned(),
                    dropped => format!("dropped {}", count(dropped, "entry")),
                })?;
                Ok(if answer.forgotten == 0 { Exit::Nothing } else { Exit::Done })
            })
        }
    }
}

fn text_of(file: &Path) -> Result<String, CommandError> {
    if file == Path::new("-") {
        return session::read_text(std::io::stdin().lock(), "standard input");
    }
    let opened = std::fs::File::open(file).map_err(|error| CommandError::io(file.display(), &error))?;
    session::read_text(opened, &file.display().to_string())
}

fn told(ratings: &BTreeMap<String, f64>) -> String {
    let told: Vec<String> = ratings.iter().map(|(axis, number)| format!("{axis} {number}")).collect();
    if told.is_empty() { String::new() } else { format!("  ({})", told.join(", ")) }
}

/// Tells what became of a text whose lines of a sort are kept.
fn noted(app: &mut App, method: &str, params: serde_json::Value, sort: &str) -> CommandResult {
    let answer = app.call(method, params)?;
    app.show(&answer, |screen, answer: &NotedAnswer| {
        if answer.added + answer.known + answer.left_out == 0 {
            screen.line(format!("nothing noted: it has no {sort}, or is no review that failed"))?;
            return Ok(Exit::Nothing);
        }
        screen.line(format!("{} new, {} known, {} left out", answer.added, answer.known, answer.left_out))?;
        Ok(Exit::Done)
    })
}

fn learned(app: &mut App) -> CommandResult {
    let answer = app.call(method::OFFICE_LEARNED, json!({}))?;
    app.show(&answer, |screen, answer: &LearnedAnswer| {
        if answer.review_patterns.is_empty()
            && answer.tech_preferences.is_empty()
            && answer.projects.is_empty()
        {
            screen.line("nothing learned across projects yet; see:  doze office --help")?;
            return Ok(Exit::Nothing);
        }
        for known in &answer.review_patterns {
            screen.line(format!("{:>3} x  {}", known.count, one_line(&known.pattern)))?;
        }
        if !answer.tech_preferences.is_empty() {
            screen.line(format!("approved:  {}", one_line(&answer.tech_preferences.join(", "))))?;
        }
        for project in &answer.projects {
            let tech = if project.tech.is_empty() {
                String::new()
            } else {
                format!(" with {}", one_line(&project.tech))
            };
            screen.line(format!("built:  {}{tech}{}", one_line(&project.summary), told(&project.ratings)))?;
        }
        Ok(Exit::Done)
    })
}
