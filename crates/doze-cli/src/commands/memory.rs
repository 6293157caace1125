//! Single memories: adding, looking, changing, judging, deleting.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::{ArgGroup, Args as ClapArgs, ValueEnum};
use doze_client::Paths;
use doze_protocol::memory::{AddAnswer, ForgetAnswer, MemoryRecord, PromoteAnswer, WhyAnswer};
use doze_protocol::{Exit, List, method};
use serde_json::{Value, json};

use super::names::Names;
use super::recall::some;
use super::{draw, editor};
use crate::app::{self, App};
use crate::caller;
use crate::error::{CommandError, CommandResult};
use crate::screen::one_line;

#[derive(Debug, ClapArgs)]
pub(crate) struct RememberArgs {
    /// What to remember; `-` reads it from the standard input
    #[arg(required = true)]
    text: Vec<String>,
    /// What kind of thing it is: decision, lesson, preference, convention, command, fact, …
    #[arg(long)]
    kind: Option<String>,
    /// A title; without one the first words serve
    #[arg(long)]
    title: Option<String>,
    /// A newer memory with the same topic replaces the older one
    #[arg(long, value_name = "KEY")]
    topic: Option<String>,
    /// Whose it is: user, project, agent, team, bank
    #[arg(long)]
    space: Option<String>,
    /// Files that it is about
    #[arg(long = "file")]
    files: Vec<String>,
    /// Words to find it by
    #[arg(long = "tag")]
    tags: Vec<String>,
    /// The agent that says so
    #[arg(long)]
    agent: Option<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze remember TEXT`.
pub(crate) fn remember(app: &mut App, args: RememberArgs) -> CommandResult {
    let body = match args.text.as_slice() {
        [dash] if dash == "-" => std::io::read_to_string(std::io::stdin())
            .map_err(|error| CommandError::io("standard input", &error))?,
        words => words.join(" "),
    };
    let params = json!({
        "body": body,
        "kind": args.kind,
        "title": args.title,
        "topic_key": args.topic,
        "space": args.space,
        "files": some(args.files),
        "tags": some(args.tags),
        "agent": caller::agent_or(args.agent.as_deref()),
        "cwd": app::folder(args.cwd.as_deref())?,
        "human": caller::is_person(),
    });
    let answer = app.call(method::MEMORY_ADD, params)?;
    app.show(&answer, |screen, answer: &AddAnswer| draw::added(screen, answer))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// Only these kinds
    #[arg(long = "kind")]
    kinds: Vec<String>,
    /// Only these spaces
    #[arg(long = "space")]
    spaces: Vec<String>,
    /// Also others than active ones: proposed, stale, retracted, superseded, all
    #[arg(long)]
    status: Option<String>,
    /// Only what holds these words
    #[arg(long, short)]
    query: Option<String>,
    /// Only what happened since then: a date or an RFC 3339 time
    #[arg(long)]
    since: Option<String>,
    /// Only what happened until then
    #[arg(long)]
    until: Option<String>,
    /// How many at most
    #[arg(long, short = 'n')]
    limit: Option<u64>,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Those of all projects
    #[arg(long)]
    everywhere: bool,
}

impl ListArgs {
    /// What was asked for, as it is typed again for the next page.
    fn asked(&self) -> draw::ListAsked {
        let option = |name: &str, value: &str| format!("{name} {}", quoted(value));
        let mut filters: Vec<String> = self.kinds.iter().map(|kind| option("--kind", kind)).collect();
        filters.extend(self.spaces.iter().map(|space| option("--space", space)));
        let single = [
            ("--status", &self.status),
            ("--query", &self.query),
            ("--since", &self.since),
            ("--until", &self.until),
        ];
        filters.extend(single.into_iter().filter_map(|(name, value)| Some(option(name, value.as_deref()?))));
        let mut place: Vec<String> =
            self.cwd.iter().map(|cwd| option("--cwd", &cwd.display().to_string())).collect();
        place.extend(self.limit.map(|limit| format!("--limit {limit}")));
        place.extend(self.everywhere.then(|| draw::EVERYWHERE.to_owned()));
        draw::ListAsked { filters, place }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// `doze list`.
pub(crate) fn list(app: &mut App, args: ListArgs) -> CommandResult {
    let asked = args.asked();
    let params = json!({
        "kinds": some(args.kinds),
        "spaces": some(args.spaces),
        "status": args.status,
        "q": args.query,
        "since": args.since,
        "until": args.until,
        "limit": args.limit,
        "cursor": args.cursor,
        "cwd": app::folder(args.cwd.as_deref())?,
        "everywhere": args.everywhere,
        "agent": caller::agent(),
    });
    let answer = app.call(method::MEMORY_LIST, params)?;
    let names = Names::ask(app);
    app.show(&answer, |screen, list: &List<MemoryRecord>| {
        draw::memories(screen, list, &names, app::now(), &asked)
    })
}

#[derive(Debug, ClapArgs)]
pub(crate) struct IdArgs {
    /// The memory's id, as lists show it
    id: String,
}

/// `doze show ID`.
pub(crate) fn show(app: &mut App, args: &IdArgs) -> CommandResult {
    let answer = app.call(method::MEMORY_GET, json!({"id": args.id}))?;
    draw_memory(app, &answer)
}

fn draw_memory(app: &mut App, answer: &Value) -> CommandResult {
    let names = Names::ask(app);
    app.show(answer, |screen, memory: &MemoryRecord| draw::memory(screen, memory, &names, app::now()))
}

/// `doze why ID`.
pub(crate) fn why(app: &mut App, args: &IdArgs) -> CommandResult {
    let answer = app.call(method::MEMORY_WHY, json!({"id": args.id}))?;
    let names = Names::ask(app);
    app.show(&answer, |screen, why: &WhyAnswer| draw::why(screen, why, &names, app::now()))
}

/// `doze reinstate ID`.
pub(crate) fn reinstate(app: &mut App, args: &IdArgs) -> CommandResult {
    let answer = app.call(method::MEMORY_REINSTATE, json!({"id": args.id, "human": caller::is_person()}))?;
    done(app, &answer, &format!("{} is active again", args.id))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct EditArgs {
    /// The memory's id
    id: String,
    /// A new title
    #[arg(long)]
    title: Option<String>,
    /// A new text
    #[arg(long)]
    body: Option<String>,
    /// Another kind
    #[arg(long)]
    kind: Option<String>,
    /// Another topic
    #[arg(long, value_name = "KEY")]
    topic: Option<String>,
    /// Other files
    #[arg(long = "file")]
    files: Vec<String>,
    /// Other tags
    #[arg(long = "tag")]
    tags: Vec<String>,
}

impl EditArgs {
    /// Whether the command line says what to change.
    fn says_what(&self) -> bool {
        let texts = [&self.title, &self.body, &self.kind, &self.topic];
        texts.into_iter().any(Option::is_some) || !self.files.is_empty() || !self.tags.is_empty()
    }
}

/// `doze edit ID`: what the options say, or, at a terminal, in the person's editor.
pub(crate) fn edit(app: &mut App, mut args: EditArgs) -> CommandResult {
    if !args.says_what() {
        if !caller::can_be_asked() {
            return Err(
                CommandError::usage("what is to be changed?").hint("say it: --title, --body, --kind, …")
            );
        }
        let memory: MemoryRecord = app::read(&app.call(method::MEMORY_GET, json!({"id": args.id}))?)?;
        let Some((title, body)) = editor::change(&memory.title, &memory.body)? else {
            return Err(CommandError::new(Exit::Nothing, "nothing was changed"));
        };
        (args.title, args.body) = (Some(title), Some(body));
    }
    let params = json!({
        "id": args.id,
        "title": args.title,
        "body": args.body,
        "kind": args.kind,
        "topic_key": args.topic,
        "files": some(args.files),
        "tags": some(args.tags),
        "agent": caller::agent(),
        "human": caller::is_person(),
    });
    let answer = app.call(method::MEMORY_EDIT, params)?;
    done(app, &answer, &format!("{} is changed", args.id))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PinArgs {
    /// The memory's id
    id: String,
    /// Let it be changed and retired again
    #[arg(long)]
    off: bool,
}

/// `doze pin ID`.
pub(crate) fn pin(app: &mut App, args: &PinArgs) -> CommandResult {
    let params = json!({"id": args.id, "pinned": !args.off, "human": caller::is_person()});
    let answer = app.call(method::MEMORY_PIN, params)?;
    done(app, &answer, &format!("{} is {}pinned", args.id, if args.off { "no longer " } else { "" }))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PromoteArgs {
    /// The memory's id
    id: String,
    /// CLAUDE.md or AGENTS.md at the top of the work tree, or a path that ends so
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// The work tree, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze promote ID --to FILE`.
pub(crate) fn promote(app: &mut App, args: &PromoteArgs) -> CommandResult {
    let is_name = args.to.components().count() == 1 && !args.to.is_absolute();
    let path = if is_name { args.to.to_string_lossy().into_owned() } else { app::absolute(&args.to)? };
    let params = json!({
        "id": args.id,
        "path": path,
        "cwd": app::folder(args.cwd.as_deref())?,
        "human": caller::is_person(),
    });
    let answer = app.call(method::MEMORY_PROMOTE, params)?;
    app.show(&answer, |screen, answer: &PromoteAnswer| draw::promoted(screen, answer))
}

/// What a memory was worth.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Verdict {
    Helpful,
    Wrong,
    Stale,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FeedbackArgs {
    /// The memory's id
    id: String,
    /// What it was worth
    verdict: Verdict,
}

/// `doze feedback ID VERDICT`.
pub(crate) fn feedback(app: &mut App, args: &FeedbackArgs) -> CommandResult {
    let (verdict, said) = match args.verdict {
        Verdict::Helpful => ("helpful", "helped"),
        Verdict::Wrong => ("wrong", "was wrong"),
        Verdict::Stale => ("stale", "is out of date"),
    };
    let params = json!({"id": args.id, "verdict": verdict, "human": caller::is_person()});
    let answer = app.call(method::MEMORY_FEEDBACK, params)?;
    done(app, &answer, &format!("noted: {} {said}", args.id))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfirmArgs {
    /// The memory's id
    id: String,
    /// The agent that found the same
    #[arg(long)]
    agent: String,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze confirm ID`.
pub(crate) fn confirmed(app: &mut App, args: &ConfirmArgs) -> CommandResult {
    let params = json!({"id": args.id, "agent": args.agent, "cwd": app::folder(args.cwd.as_deref())?});
    let answer = app.call(method::MEMORY_CONFIRM, params)?;
    done(app, &answer, &format!("noted: {} found {} as well", one_line(&args.agent), args.id))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReviewArgs {
    /// The memory to decide on; without one all that wait
    id: Option<String>,
    /// Accept it
    #[arg(long, requires = "id", conflicts_with = "reject")]
    accept: bool,
    /// Reject it
    #[arg(long, requires = "id")]
    reject: bool,
}

/// `doze review`: settles what is proposed. At a terminal it asks for each; elsewhere it lists, or settles one.
pub(crate) fn review(app: &mut App, args: &ReviewArgs) -> CommandResult {
    if let Some(id) = &args.id {
        if args.accept || args.reject {
            let answer = settle(app, id, args.accept)?;
            return done(
                app,
                &answer,
                &format!("{id} is {}", if args.accept { "accepted" } else { "rejected" }),
            );
        }
        let answer = app.call(method::MEMORY_GET, json!({"id": id}))?;
        return draw_memory(app, &answer);
    }
    let params = json!({"status": "proposed", "cwd": app::folder(None)?});
    let answer = app.call_all(method::MEMORY_LIST, params)?;
    if app.is_json() || !caller::can_be_asked() {
        let names = Names::ask(app);
        return app.show(&answer, |screen, list: &List<MemoryRecord>| {
            draw::proposed(screen, list, &names, app::now())
        });
    }
    let list: List<MemoryRecord> = app::read(&answer)?;
    ask_for_each(app, &list)
}

fn settle(app: &mut App, id: &str, accept: bool) -> Result<Value, CommandError> {
    app.call(method::MEMORY_REVIEW, json!({"id": id, "accept": accept, "human": caller::is_person()}))
}

fn ask_for_each(app: &mut App, list: &List<MemoryRecord>) -> CommandResult {
    if list.items.is_empty() {
        app.say("nothing waits for a decision")?;
        return Ok(Exit::Nothing);
    }
    let names = Names::ask(app);
    for memory in &list.items {
        app.draw(|screen| draw::memory(screen, memory, &names, app::now()).map(|_| ()))?;
        match ask("accept? [y]es, [n]o, [s]kip, [q]uit ")?.as_str() {
            "y" | "yes" => settle(app, &memory.id, true)?,
            "n" | "no" => settle(app, &memory.id, false)?,
            "q" | "quit" => break,
            _ => continue,
        };
    }
    Ok(Exit::Done)
}

/// Asks the person at the terminal; the answer in lower case.
pub(crate) fn ask(question: &str) -> Result<String, CommandError> {
    let mut err = std::io::stderr().lock();
    // A terminal that takes no question gives no answer either, and the reading below says so.
    let _ = write!(err, "{question}").and_then(|()| err.flush());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| CommandError::io("the terminal", &error))?;
    Ok(line.trim().to_lowercase())
}

#[derive(Debug, ClapArgs)]
#[command(group = ArgGroup::new("what").args(["id", "session", "project", "all"]).required(true))]
pub(crate) struct ForgetArgs {
    /// The memory's id
    id: Option<String>,
    /// The events and the summary of one session, by its name or at least six characters of its beginning
    #[arg(long)]
    session: Option<String>,
    /// With --session: that of this agent
    #[arg(long, requires = "session")]
    agent: Option<String>,
    /// With --session: that of an agent of this program
    #[arg(long, requires = "session")]
    harness: Option<String>,
    /// With --session: that of this project; "" for one of no project
    #[arg(long, requires = "session")]
    in_project: Option<String>,
    /// Everything of this project
    #[arg(long)]
    project: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
    /// With --session: also the memories learned from it
    #[arg(long, requires = "session")]
    memories: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// `doze forget`: there is no way back, so more than one memory is asked about.
pub(crate) fn forget(app: &mut App, args: &ForgetArgs) -> CommandResult {
    let what = match args {
        ForgetArgs { all: true, .. } => Some("everything that doze knows".to_owned()),
        ForgetArgs { project: Some(project), .. } => Some(format!("everything of the project {project}")),
        // A person sees what is about to go; a script that names one memory or session means it.
        ForgetArgs { id: Some(id), yes: false, .. } if caller::can_be_asked() => {
            let answer = app.call(method::MEMORY_GET, json!({"id": id}))?;
            let memory: MemoryRecord = app::read(&answer)?;
            Some(format!("\"{}\"", draw::headline(&memory.title, &memory.body)))
        }
        ForgetArgs { session: Some(session), .. } if caller::can_be_asked() => {
            Some(format!("the session {session} with its events"))
        }
        _ => None,
    };
    if let Some(what) = what.filter(|_| !args.yes) {
        confirm(&format!("Delete {what} for good?"), IN_A_TERMINAL)?;
    }
    let params = json!({
        "id": args.id,
        "session": args.session,
        "agent": args.agent,
        "harness": args.harness,
        "in_project": args.in_project,
        "project": args.project,
        "all": args.all,
        "memories": args.memories,
        "human": caller::is_person(),
    });
    let answer = app.call(method::MEMORY_FORGET, params)?;
    app.show(&answer, |screen, answer: &ForgetAnswer| {
        let exit = draw::forgotten(screen, *answer)?;
        if let Some(folder) = backups().filter(|_| exit == Exit::Done) {
            let folder = one_line(&folder.display().to_string());
            screen.line(format!("backups made before still hold it: {folder}"))?;
        }
        Ok(exit)
    })
}

/// The folder of the backups, if there are any: nothing in a backup is ever forgotten.
fn backups() -> Option<PathBuf> {
    let folder = Paths::discover().ok()?.backups();
    let mut entries = std::fs::read_dir(&folder).ok()?;
    entries.next().is_some().then_some(folder)
}

/// What to do where nobody can be asked and a yes on the command line is enough.
pub(crate) const WITH_YES: &str = "go ahead without being asked: --yes";
/// And where it is not, because only a person may do it.
pub(crate) const IN_A_TERMINAL: &str = "run the command yourself in a terminal";

/// Asks whether to go on; without a terminal, or without a yes, the command ends. `hint` says what to do without one.
pub(crate) fn confirm(question: &str, hint: &str) -> Result<(), CommandError> {
    if !caller::can_be_asked() {
        return Err(
            CommandError::usage(format!("\"{question}\" cannot be asked without a terminal")).hint(hint)
        );
    }
    match ask(&format!("{question} [y/N] "))?.as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CommandError::new(Exit::Nothing, "nothing was changed")),
    }
}

/// Says in one line what was done.
pub(super) fn done(app: &App, answer: &Value, said: &str) -> CommandResult {
    app.show(answer, |screen, _: &Value| {
        screen.line(one_line(said))?;
        Ok(Exit::Done)
    })
}
