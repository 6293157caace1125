//! `doze try`: what doze would make of your own sessions, told by a private daemon that leaves nothing behind.

mod private;
mod samples;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args as ClapArgs;
use doze_protocol::dream::DreamRecord;
use doze_protocol::project::ProjectRecord;
use doze_protocol::recall::{RecallText, SearchAnswer};
use doze_protocol::system::ImportAnswer;
use doze_protocol::{Exit, List, method};
use serde_json::{Value, json};

use private::Private;

use crate::app::{self, App};
use crate::commands::{brief_text, hit_rows, import_all, import_line, parts};
use crate::error::{CommandError, CommandResult};
use crate::screen::{count, fit, one_line};
use crate::setup::agent_folders;

/// Days of an agent's past that are read first; all of it is read when there is nothing in them.
const DAYS: i64 = 30;

/// Projects whose brief is shown.
const BRIEFS: usize = 3;

/// What a newcomer to any project would ask.
const QUESTIONS: [&str; 2] = ["how do I run the tests?", "what went wrong, and how was it fixed?"];

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// A session file or a folder of them, instead of your agents' own
    path: Option<PathBuf>,
}

/// `doze try`.
pub(crate) fn run(app: &mut App, args: &Args) -> CommandResult {
    let version = env!("CARGO_PKG_VERSION");
    tell(
        app,
        &format!("doze {version} · a private daemon in a temporary home; nothing of yours is changed"),
    )?;
    if let Some(path) = args.path.as_deref().filter(|path| !path.exists()) {
        return Err(CommandError::bad_input(format!("{}: no such file or folder", path.display())));
    }
    let private = Private::start()?;
    let mut trial = Trial { app: app.at(private.paths().clone()), document: json!({}) };
    let read = trial.read_sessions(args.path.as_deref(), private.home())?;
    if read.read == 0 {
        return Err(CommandError::new(Exit::Nothing, "no session was found there").hint("doze try PATH"));
    }
    trial.dream()?;
    let projects = trial.briefs()?;
    trial.questions(projects.first())?;
    let document = trial.document;
    drop(private);
    if app.is_json() {
        app.draw(|screen| screen.document(&document))?;
    }
    tell(app, "\nKeep it:  doze setup        Look closer then:  doze list, doze why ID")?;
    Ok(Exit::Done)
}

fn tell(app: &App, line: &str) -> io::Result<()> {
    if app.is_json() { Ok(()) } else { app.say(line) }
}

struct Trial {
    app: App,
    /// All answers, for `--json`.
    document: Value,
}

impl Trial {
    fn read_sessions(&mut self, path: Option<&Path>, home: &Path) -> Result<ImportAnswer, CommandError> {
        let started = Instant::now();
        let own: Vec<PathBuf> = agent_folders();
        let (what, paths) = match path {
            Some(path) => (path.display().to_string(), vec![path.to_owned()]),
            None if own.is_empty() => ("a few sample sessions".to_owned(), vec![samples::write(home)?]),
            None => {
                let names: Vec<String> = own.iter().map(|folder| folder.display().to_string()).collect();
                (names.join(", "), own.iter().flat_map(|folder| parts(folder)).collect())
            }
        };
        tell(&self.app, &format!("\nReading   {what}"))?;
        let since = app::days_ago(DAYS);
        let mut read = ImportAnswer::default();
        if path.is_none() && !own.is_empty() {
            read = import_all(&mut self.app, &paths, &|path| json!({"path": path, "since": since}))?;
        }
        if read.read == 0 {
            read = import_all(&mut self.app, &paths, &|path| json!({"path": path}))?;
        }
        tell(
            &self.app,
            &format!("          {}   {:.1} s", import_line(&read), started.elapsed().as_secs_f64()),
        )?;
        self.document["import"] = serde_json::to_value(&read).unwrap_or_default();
        Ok(read)
    }

    fn dream(&mut self) -> Result<(), CommandError> {
        let started = Instant::now();
        let answer = self.app.call_within(app::LONG, method::DREAM_RUN, json!({}))?;
        let dream: DreamRecord = app::read(&answer)?;
        let (sessions, changes) = (dream.sessions.len() as u64, dream.changes.len() as u64);
        let took = started.elapsed().as_secs_f64();
        tell(
            &self.app,
            &format!("Dreaming  {} · {}   {took:.1} s", count(sessions, "session"), count(changes, "change")),
        )?;
        self.document["dream"] = answer;
        Ok(())
    }

    /// Shows what an agent would be told in the projects of which most is known, best first.
    fn briefs(&mut self) -> Result<Vec<ProjectRecord>, CommandError> {
        let answer = self.app.call(method::PROJECT_LIST, json!({}))?;
        let mut projects = app::read::<List<ProjectRecord>>(&answer)?.items;
        projects.sort_by_key(|project| std::cmp::Reverse(project.memories));
        projects.truncate(BRIEFS);
        let mut briefs = Vec::new();
        for project in &projects {
            let answer = self.app.call(method::RECALL_BRIEF, json!({"project": project.id}))?;
            let brief: RecallText = app::read(&answer)?;
            briefs.push(json!({"project": project.name, "brief": answer}));
            if !brief.text.trim().is_empty() && !self.app.is_json() {
                self.app.draw(|screen| {
                    screen.blank()?;
                    let place = if project.root.is_empty() { &project.name } else { &project.root };
                    let heading =
                        format!("What it would tell an agent that starts in  {}  now", one_line(place));
                    screen.line(screen.bold(&fit(&heading, crate::screen::WIDTH)))?;
                    screen.blank()?;
                    brief_text(screen, &brief.text)?;
                    let known = count(brief.memories.len() as u64, "memory");
                    screen.line(
                        screen.dim(&format!(
                            "  {known}, {} tokens of {} known",
                            brief.tokens, project.memories
                        )),
                    )
                })?;
            }
        }
        self.document["briefs"] = briefs.into();
        Ok(projects)
    }

    fn questions(&mut self, project: Option<&ProjectRecord>) -> Result<(), CommandError> {
        let mut answers = Vec::new();
        for question in QUESTIONS {
            let params =
                json!({"query": question, "limit": 3, "project": project.map(|project| &project.id)});
            let answer = self.app.call(method::RECALL_SEARCH, params)?;
            let found: SearchAnswer = app::read(&answer)?;
            if !self.app.is_json() {
                self.app.draw(|screen| {
                    screen.blank()?;
                    screen
                        .line(format!("Ask it something:   {}", screen.bold(&format!("\"{question}\""))))?;
                    if found.hits.is_empty() {
                        screen.line("  nothing found")?;
                    }
                    hit_rows(screen, &found.hits, app::now())
                })?;
            }
            answers.push(json!({"question": question, "answer": answer}));
        }
        self.document["answers"] = answers.into();
        Ok(())
    }
}
