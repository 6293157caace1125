//! `doze try`: what doze would make of your own sessions, told by a private daemon that leaves nothing behind.

mod private;
mod questions;
mod samples;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args as ClapArgs;
use doze_protocol::dream::{DreamRecord, RunParams};
use doze_protocol::memory::MemoryRecord;
use doze_protocol::project::ProjectRecord;
use doze_protocol::recall::{Hit, RecallText, SearchAnswer};
use doze_protocol::system::ImportAnswer;
use doze_protocol::{Exit, List, method};
use serde_json::{Value, json};

use private::Private;

use crate::app::{self, App};
use crate::commands::{Row, brief_text, entry, import_all, import_line, parts};
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, count, fit, one_line, short_ids, tilde};
use crate::setup::agent_folders;

/// Days of an agent's past that are read first; all of it is read when there is nothing in them.
const DAYS: i64 = 30;

/// Age up to which sessions are dreamt of: whoever tries old ones wants to see what is in them.
const MAX_AGE_DAYS: u32 = 3_650;

/// Sweeps at most; each reads ten sessions.
const SWEEPS: usize = 5;

/// Projects whose brief is shown.
const BRIEFS: usize = 3;

/// Hits shown for a question.
const HITS: usize = 2;

/// Memories looked at for questions, of each project.
const MEMORIES: u64 = 200;

/// Kinds that make the best questions, best first.
const KINDS: [&str; 3] = ["lesson", "decision", "command"];

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
    trial.read_sessions(args.path.as_deref(), private.home())?;
    trial.dream()?;
    let known = trial.briefs()?;
    trial.questions(known)?;
    let document = trial.document;
    drop(private);
    if app.is_json() {
        app.draw(|screen| screen.document(&document))?;
    }
    tell(app, "\nKeep it:      doze setup, which shows first what it would write")?;
    tell(
        app,
        "Look closer:  doze up && doze import && doze dream --max-age 3650, then  doze list  and  doze why ID",
    )?;
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
    /// Reads the path that was given, else the agents' own sessions, else the samples.
    fn read_sessions(&mut self, path: Option<&Path>, home: &Path) -> Result<(), CommandError> {
        let started = Instant::now();
        let mut read = ImportAnswer::default();
        match path {
            Some(path) => {
                tell(&self.app, &format!("\nReading   {}", tilde(path)))?;
                read = self.import(&[path.to_owned()], None)?;
                if read.read == 0 {
                    let message = format!("no session was found in {}", path.display());
                    return Err(CommandError::new(Exit::Nothing, message)
                        .hint("give a session's file, or the folder in which an agent keeps them"));
                }
            }
            None => {
                let own = agent_folders();
                if !own.is_empty() {
                    let names: Vec<String> = own.iter().map(|folder| tilde(folder)).collect();
                    tell(&self.app, &format!("\nReading   {}", names.join(", ")))?;
                    let paths: Vec<PathBuf> = own.iter().flat_map(|folder| parts(folder)).collect();
                    read = self.import(&paths, Some(app::days_ago(DAYS)))?;
                    if read.read == 0 {
                        read = self.import(&paths, None)?;
                    }
                }
                if read.read == 0 {
                    tell(&self.app, "\nReading   two sample sessions, because no agent has worked here yet")?;
                    read = self.import(&[samples::write(home)?], None)?;
                }
            }
        }
        let took = started.elapsed().as_secs_f64();
        tell(&self.app, &format!("          {}   {took:.1} s", import_line(&read)))?;
        self.document["import"] = serde_json::to_value(&read).unwrap_or_default();
        Ok(())
    }

    fn import(&mut self, paths: &[PathBuf], since: Option<String>) -> Result<ImportAnswer, CommandError> {
        import_all(&mut self.app, paths, &|path| json!({"path": path, "since": since}))
    }

    /// Sweeps until there is nothing left to read, or enough was read to judge by.
    fn dream(&mut self) -> Result<(), CommandError> {
        let started = Instant::now();
        let params = RunParams { max_age_days: Some(MAX_AGE_DAYS), ..RunParams::default() };
        let (mut seen, mut changes, mut answers) = (BTreeSet::new(), Vec::new(), Vec::new());
        let sign = self.app.bar(1);
        for _ in 0..SWEEPS {
            let answer = self.app.call_within(app::LONG, method::DREAM_RUN, &params)?;
            let dream: DreamRecord = app::read(&answer)?;
            let before = seen.len();
            seen.extend(dream.sessions.into_iter().map(|session| (session.project, session.session)));
            changes.extend(dream.changes.into_iter().map(|change| change.op));
            answers.push(answer);
            if seen.len() == before {
                break;
            }
        }
        sign.finish_and_clear();
        let took = started.elapsed().as_secs_f64();
        let of = |op: &str| changes.iter().filter(|change| *change == op).count() as u64;
        let gone =
            if of("retire") == 0 { String::new() } else { format!(", {} of them too old", of("retire")) };
        let (sessions, learned) = (count(seen.len() as u64, "session"), count(of("add"), "thing"));
        tell(&self.app, &format!("Dreaming  {sessions} looked into, {learned} learned{gone}   {took:.1} s"))?;
        self.document["dreams"] = answers.into();
        Ok(())
    }

    /// Shows what an agent would be told in the projects of which most is known, best first, and answers what is known
    /// of these.
    fn briefs(&mut self) -> Result<Vec<MemoryRecord>, CommandError> {
        let answer = self.app.call(method::PROJECT_LIST, json!({}))?;
        let mut projects = app::read::<List<ProjectRecord>>(&answer)?.items;
        projects.sort_by_key(|project| std::cmp::Reverse(project.memories));
        let mut known = Vec::new();
        let mut briefs = Vec::new();
        for project in &projects {
            if briefs.len() == BRIEFS {
                break;
            }
            let answer = self.app.call(method::RECALL_BRIEF, json!({"project": project.id}))?;
            let brief: RecallText = app::read(&answer)?;
            if brief.text.trim().is_empty() {
                continue;
            }
            briefs.push(json!({"project": project.name, "root": project.root, "brief": answer}));
            let params = json!({"project": project.id, "limit": MEMORIES});
            let memories =
                app::read::<List<MemoryRecord>>(&self.app.call(method::MEMORY_LIST, params)?)?.items;
            if !self.app.is_json() {
                let more = memories.iter().filter(|memory| !brief.memories.contains(&memory.id)).count();
                self.app.draw(|screen| draw_brief(screen, project, &brief, more))?;
            }
            known.extend(memories);
        }
        if briefs.is_empty() {
            tell(
                &self.app,
                "\nNothing in these sessions is worth keeping: no command that failed and then worked,",
            )?;
            tell(&self.app, "no decision, no wish of yours. Longer sessions hold more:  doze try PATH")?;
        }
        self.document["briefs"] = briefs.into();
        Ok(known)
    }

    fn questions(&mut self, mut known: Vec<MemoryRecord>) -> Result<(), CommandError> {
        let rank = |kind: &str| KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
        known.sort_by_key(|memory| rank(&memory.kind));
        let mut answers = Vec::new();
        for question in questions::about(&known) {
            let params = json!({"query": question.text, "limit": HITS, "project": question.project});
            let answer = self.app.call(method::RECALL_SEARCH, params)?;
            let found: SearchAnswer = app::read(&answer)?;
            if !found.hits.is_empty() && !self.app.is_json() {
                self.app.draw(|screen| draw_answers(screen, &question.text, &found.hits))?;
            }
            answers.push(json!({"question": question.text, "answer": answer}));
        }
        self.document["answers"] = answers.into();
        Ok(())
    }
}

/// The part of a brief that tells of this project, and what the whole would cost. `more` memories are not in it.
fn draw_brief(
    screen: &mut Screen<'_>,
    project: &ProjectRecord,
    brief: &RecallText,
    more: usize,
) -> io::Result<()> {
    screen.blank()?;
    let name = one_line(&project.name);
    let heading = format!("What it would tell an agent that starts in  {name}  now");
    screen.line(screen.bold(&fit(&heading, screen.columns())))?;
    screen.line(screen.dim(&fit(&tilde(Path::new(&project.root)), screen.columns())))?;
    screen.blank()?;
    brief_text(screen, told(&brief.text))?;
    let memories = count(brief.memories.len() as u64, "memory");
    let more = if more == 0 { String::new() } else { format!("; {more} more are found by asking") };
    screen.line(screen.dim(&format!("  {memories} in {} tokens{more}", brief.tokens)))
}

/// A brief without what stands in every brief: its title, and how memory is used.
fn told(text: &str) -> &str {
    let start = text.find("\n## ").map_or(0, |at| at + 1);
    let end = text.rfind("\n## Using memory").filter(|end| *end > start).unwrap_or(text.len());
    text.get(start..end).unwrap_or(text)
}

/// A question and its answers. Their ids go with the private daemon, so they are not shown.
fn draw_answers(screen: &mut Screen<'_>, question: &str, hits: &[Hit]) -> io::Result<()> {
    screen.blank()?;
    screen.line(format!("Ask it something:   {}", screen.bold(&format!("\"{}\"", one_line(question)))))?;
    for (index, hit) in hits.iter().enumerate() {
        let agent = hit.source.agent.as_deref().map(|agent| format!("from {agent}"));
        let session = hit.source.session.as_deref().map(|session| format!("session {}", short_ids(session)));
        entry(
            screen,
            &format!("{:>3} ", index + 1),
            &Row { title: &hit.title, body: &hit.body, kind: &hit.kind, created_at: &hit.created_at },
            [agent, session],
            app::now(),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_is_shown_without_what_stands_in_every_brief() {
        let text = "# Project memory\nRecorded.\n## Lessons\n- a\n## Using memory\nSearch.";
        assert_eq!(told(text), "## Lessons\n- a");
        assert_eq!(told("plain"), "plain");
        assert_eq!(told("# T\n## Using memory\nSearch."), "## Using memory\nSearch.");
    }
}
