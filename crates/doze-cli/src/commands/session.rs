//! Whole sessions: handing one over, reading past ones, looking into a file.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use doze_client::{Spool, ensure_commit_id};
use doze_protocol::session::{CommitAnswer, CommitParams, DigestAnswer, ExtractAnswer, PreviewAnswer};
use doze_protocol::system::ImportAnswer;
use doze_protocol::{Exit, method};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::upkeep::pause_ends;
use super::{draw, office};
use crate::app::{self, App};
use crate::caller;
use crate::error::{CommandError, CommandResult};
use crate::screen::{count, one_line};
use crate::setup::agent_folders;

/// Longest document that `commit` reads, in bytes.
const MAX_DOCUMENT: u64 = 64 * 1024 * 1024;

#[derive(Debug, ClapArgs)]
pub(crate) struct CommitArgs {
    /// A file with the parameters of session.commit as JSON; `-` is the standard input
    file: Option<PathBuf>,
    /// The session's name; needed, here or in the file
    #[arg(long)]
    session: Option<String>,
    /// The agent's id; needed, here or in the file, unless an agent runs this
    #[arg(long)]
    agent: Option<String>,
    /// The agent's program, as claude-code, codex or gemini; who it is that can be asked about its own runs
    #[arg(long)]
    harness: Option<String>,
    /// The folder in which it ran
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// What was done
    #[arg(long)]
    summary: Option<String>,
    /// The agent's last words
    #[arg(long)]
    output: Option<String>,
    /// The session's file
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// What ends: session, turn or quit
    #[arg(long)]
    end: Option<String>,
    /// How it ended: success, failed, cancelled or interrupted
    #[arg(long)]
    outcome: Option<String>,
}

/// `doze commit`: the document, with what the options say laid over it.
pub(crate) fn commit(app: &mut App, args: &CommitArgs) -> CommandResult {
    let mut params = match &args.file {
        None if args.session.is_some() || io::stdin().is_terminal() => Map::new(),
        file => document(file.as_deref().unwrap_or_else(|| Path::new("-")))?,
    };
    let transcript = args.transcript.as_deref().map(app::absolute).transpose()?;
    if let Some(path) = transcript.as_deref().filter(|path| !Path::new(path).is_file()) {
        return Err(CommandError::bad_input(format!("there is no file {path}"))
            .hint("the session's file is needed, as its agent keeps it"));
    }
    let given = [
        ("session", args.session.clone().map(Value::from)),
        ("agent", args.agent.clone().map(Value::from)),
        ("cwd", args.cwd.as_deref().map(app::absolute).transpose()?.map(Value::from)),
        ("summary", args.summary.clone().map(Value::from)),
        ("output", args.output.clone().map(Value::from)),
        ("end", args.end.clone().map(Value::from)),
        ("outcome", args.outcome.clone().map(Value::from)),
        ("transcript", transcript.map(|path| json!({"path": path}))),
    ];
    params.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    if !params.contains_key("cwd") {
        params.insert("cwd".to_owned(), app::folder(None)?.into());
    }
    if !params.contains_key("agent")
        && let Some(agent) = caller::agent()
    {
        params.insert("agent".to_owned(), agent.into());
    }
    if let Some(harness) = &args.harness {
        let named = params.remove("agent").unwrap_or_else(|| harness.clone().into());
        params.insert("agent".to_owned(), with_harness(named, harness));
    }
    for (name, option) in [("session", "--session NAME"), ("agent", "--agent ID")] {
        if !params.contains_key(name) {
            return Err(CommandError::bad_input(format!("the commit names no {name}"))
                .hint(format!("say it with  {option}  or in the file that is handed over")));
        }
    }
    let params = Value::Object(params);
    let answer = match app.call(method::SESSION_COMMIT, &params) {
        Err(error) if error.exit == Exit::Unreachable => return keep(app, params, error),
        answer => answer?,
    };
    app.show(&answer, |screen, answer: &CommitAnswer| {
        let (events, facts) = (answer.events, answer.facts);
        screen.line(format!(
            "committed {}: {}",
            one_line(&answer.session),
            one_line(&answer.summary.what)
        ))?;
        screen.line(format!(
            "  {} new, {} known · {} learned, {} said again, {} promoted · extraction {}",
            count(events.new, "event"),
            events.known,
            facts.added,
            facts.reinforced,
            facts.promoted,
            one_line(&answer.extraction),
        ))?;
        Ok(Exit::Done)
    })
}

/// An agent, called by its id or by its parts, with its program.
fn with_harness(agent: Value, harness: &str) -> Value {
    match agent {
        Value::Object(mut parts) => {
            parts.insert("harness".to_owned(), harness.into());
            Value::Object(parts)
        }
        id => json!({"id": id, "harness": harness}),
    }
}

/// Keeps a commit that nobody is there to take, as hooks do; what the daemon would refuse is refused at once.
fn keep(app: &App, mut params: Value, unreachable: CommandError) -> CommandResult {
    let commit = CommitParams::deserialize(&params)
        .map_err(|error| CommandError::bad_input(format!("the commit cannot be read: {error}")))?;
    let commit_id = ensure_commit_id(&mut params);
    let spool = Spool::new(crate::daemon::paths()?.spool);
    spool.put(method::SESSION_COMMIT, params).map_err(|error| {
        let message = format!("{}, and the commit could not be kept: {error}", unreachable.message);
        CommandError::new(Exit::Unreachable, message).hint(unreachable.hint)
    })?;
    let answer = json!({"session": commit.session, "commit_id": commit_id, "spooled": true});
    app.show(&answer, |screen, _: &Value| {
        let session = one_line(&commit.session);
        screen.line(format!("kept {session}; it will be read when the daemon runs:  doze up"))?;
        Ok(Exit::Done)
    })
}

/// The document from a file, or from the standard input when the file is `-`.
fn document(file: &Path) -> Result<Map<String, Value>, CommandError> {
    let text = if file == Path::new("-") {
        read_text(io::stdin().lock(), "standard input")?
    } else {
        let opened = std::fs::File::open(file).map_err(|error| {
            CommandError::io(file.display(), &error).hint(
                "give a file that can be read, or say it by parts:  doze commit --session NAME --agent ID",
            )
        })?;
        read_text(opened, &file.display().to_string())?
    };
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(CommandError::bad_input("the document is not a JSON object")),
        Err(error) => Err(CommandError::bad_input(format!("the document is not valid JSON: {error}"))),
    }
}

pub(super) fn read_text(source: impl Read, name: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    source.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes).map_err(|error| CommandError::io(name, &error))?;
    if bytes.len() as u64 > MAX_DOCUMENT {
        return Err(CommandError::bad_input(format!("{name} is larger than {} MiB", MAX_DOCUMENT >> 20))
            .hint("give the session's file with --transcript; the daemon reads it in pieces"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Session files, folders of them, or an office's memory; without any the agents' own folders
    paths: Vec<PathBuf>,
    /// What they are: auto, transcripts or office
    #[arg(long)]
    format: Option<String>,
    /// The agent that they belong to, when they do not say
    #[arg(long)]
    agent: Option<String>,
    /// Only sessions that ended since then: a date or an RFC 3339 time
    #[arg(long)]
    since: Option<String>,
    /// The project, by a folder in it, when the sessions do not say
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze import`: what is known already is skipped, so it can be run again after a stop.
pub(crate) fn import(app: &mut App, args: &ImportArgs) -> CommandResult {
    let is_office = args.format.as_deref() == Some("office");
    let paths = match args.paths.as_slice() {
        [] if is_office => office::folders(),
        [] => agent_folders().iter().flat_map(|folder| parts(folder)).collect(),
        paths => paths.to_vec(),
    };
    if paths.is_empty() && is_office {
        return Err(CommandError::new(Exit::Nothing, "no memory of an office was found on this machine")
            .hint("give its folder: doze import PATH --format office"));
    }
    if paths.is_empty() {
        return Err(CommandError::new(Exit::Nothing, "no agent's sessions were found on this machine")
            .hint("give a file or a folder: doze import PATH"));
    }
    let cwd = match &args.cwd {
        None if is_office => Some(app::folder(None)?),
        cwd => cwd.as_deref().map(app::absolute).transpose()?,
    };
    let total = import_all(
        app,
        &paths,
        &|path| json!({"path": path, "format": args.format, "agent": args.agent, "since": args.since, "cwd": cwd}),
    )?;
    let total = serde_json::to_value(&total).unwrap_or_default();
    app.show(&total, |screen, total: &ImportAnswer| {
        screen.line(match is_office {
            true => draw::import_line_of(total, "record"),
            false if total.added > 0 => {
                format!("{}. Learn from them:  doze dream", draw::import_line(total))
            }
            false => draw::import_line(total),
        })?;
        draw::problems(screen, &total.problems)?;
        Ok(draw::found(total.read == 0))
    })
}

/// Imports path after path, with a bar on a terminal, and answers the sum.
pub(crate) fn import_all(
    app: &mut App,
    paths: &[PathBuf],
    params: &dyn Fn(&str) -> Value,
) -> Result<ImportAnswer, CommandError> {
    let bar = app.bar(paths.len() as u64);
    let mut total = ImportAnswer::default();
    for path in paths {
        let answer = app.call_within(app::LONG, method::IMPORT, params(&app::absolute(path)?))?;
        add(&mut total, app::read(&answer)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(total)
}

/// A folder of sessions in parts, so that progress can be told: what lies in it, or in the one folder in it.
pub(crate) fn parts(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        // A file that is named is read whatever it is, so those that are no sessions are left out here.
        paths.retain(|path| {
            path.is_dir() || path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json")
        });
        paths.sort();
        paths
    };
    match inside(folder) {
        parts if parts.len() == 1 && parts[0].is_dir() => inside(&parts[0]),
        parts => parts,
    }
}

fn add(total: &mut ImportAnswer, part: ImportAnswer) {
    total.read += part.read;
    total.added += part.added;
    total.known += part.known;
    total.damaged += part.damaged;
    total.left_out += part.left_out;
    total.problems.extend(part.problems);
    for (rule, times) in part.redacted {
        *total.redacted.entry(rule).or_default() += times;
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TranscriptArgs {
    /// The session's file
    file: PathBuf,
    /// What it is, when its beginning does not tell
    #[arg(long)]
    format: Option<String>,
    /// Also print the events
    #[arg(long)]
    events: bool,
}

/// `doze transcript FILE`.
pub(crate) fn transcript(app: &mut App, args: &TranscriptArgs) -> CommandResult {
    let params = json!({"path": app::absolute(&args.file)?, "format": args.format, "events": args.events});
    let answer = app.call_within(app::LONG, method::SESSION_PREVIEW, params)?;
    app.show(&answer, |screen, preview: &PreviewAnswer| {
        for (name, value) in &preview.counts {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            screen.line(format!("{name:<20}{}", one_line(&value)))?;
        }
        for event in preview.events.iter().flatten() {
            let said = event.tool.as_ref().map_or(event.text.as_str(), |tool| tool.name.as_str());
            screen.row(
                &format!("{:<7} {}", event.kind, one_line(said)),
                event.at.as_deref().unwrap_or_default(),
            )?;
        }
        Ok(Exit::Done)
    })
}

/// A session, and what tells it from others of its name.
#[derive(Debug, ClapArgs)]
struct Which {
    /// The session, by its name or at least six characters of its beginning
    session: String,
    /// Where several have a session of this name: that of this agent
    #[arg(long)]
    agent: Option<String>,
    /// That of an agent of this program
    #[arg(long)]
    harness: Option<String>,
    /// That of this project; "" for one of no project
    #[arg(long)]
    in_project: Option<String>,
}

impl Which {
    fn params(&self) -> Value {
        json!({
            "session": self.session,
            "agent": self.agent,
            "harness": self.harness,
            "in_project": self.in_project,
        })
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DigestArgs {
    #[command(flatten)]
    which: Which,
    /// Who would be asked; all are given the same
    #[arg(long, value_name = "WHO")]
    extractor: Option<String>,
}

/// `doze digest SESSION`.
pub(crate) fn digest(app: &mut App, args: &DigestArgs) -> CommandResult {
    let mut params = args.which.params();
    params["extractor"] = json!(args.extractor);
    let answer = app.call_within(app::LONG, method::SESSION_DIGEST, params)?;
    app.show(&answer, |screen, answer: &DigestAnswer| {
        if answer.text.trim().is_empty() {
            screen.line("nothing to distill: neither a prompt nor a tool call of this session is kept")?;
            return Ok(Exit::Nothing);
        }
        draw::text(screen, &answer.text)
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    which: Which,
}

/// `doze extract SESSION`.
pub(crate) fn extract(app: &mut App, args: &ExtractArgs) -> CommandResult {
    let answer = app.call(method::SESSION_EXTRACT, args.which.params())?;
    app.show(&answer, |screen, answer: &ExtractAnswer| {
        if answer.extraction != "queued" {
            screen.line(one_line(&answer.extraction))?;
            return Ok(Exit::Nothing);
        }
        screen.line(format!("queued; {}", when_read(answer, app::now())))?;
        screen.line("  what became of it:  doze sessions")?;
        Ok(Exit::Done)
    })
}

/// When a session that is queued is read.
fn when_read(answer: &ExtractAnswer, now: Timestamp) -> String {
    if let Some(until) = &answer.paused_until {
        return match pause_ends(now, until) {
            Some(until) => format!("doze is paused and goes on {until}; sooner with  doze resume"),
            None => "doze is paused until  doze resume".to_owned(),
        };
    }
    match answer.spent_until.as_deref().and_then(|until| draw::ago(now, until)) {
        Some(until) => {
            format!(
                "the budget of the day is spent, and it is read when that begins anew, {}",
                one_line(&until)
            )
        }
        None => "it is read as soon as its turn comes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_up_a_queued_session_is_told() {
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let told = |paused: Option<&str>, spent: Option<&str>| {
            let answer = ExtractAnswer {
                paused_until: paused.map(str::to_owned),
                spent_until: spent.map(str::to_owned),
                ..ExtractAnswer::default()
            };
            when_read(&answer, now)
        };
        let spent = Some("2026-11-21T00:00:00Z");
        assert_eq!(told(None, None), "it is read as soon as its turn comes");
        assert!(
            told(None, spent).starts_with("the budget of the day is spent")
                && told(None, spent).ends_with("in 12 h")
        );
        assert!(told(Some("2026-11-20T12:30:00Z"), spent).contains("goes on in 30 min"));
        assert!(told(Some(&Timestamp::MAX.to_string()), spent).ends_with("until  doze resume"));
    }

    #[test]
    fn an_agents_program_is_added_to_whatever_names_it() {
        assert_eq!(with_harness(json!("alex"), "codex"), json!({"id": "alex", "harness": "codex"}));
        assert_eq!(
            with_harness(json!({"id": "alex", "name": "A"}), "codex"),
            json!({"id": "alex", "name": "A", "harness": "codex"})
        );
    }
}
