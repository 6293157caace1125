//! The memory of the original office program: where it lies, and writing one.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use doze_protocol::system::ExportAnswer;
use doze_protocol::{Exit, method};
use serde_json::json;

use super::draw;
use crate::app::{self, App};
use crate::error::CommandResult;
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
