//! The command line: one file a family of commands.

mod config;
mod draw;
mod dream;
mod editor;
mod help;
mod life;
mod memory;
mod names;
mod office;
mod project;
mod recall;
mod report;
mod service;
mod session;
mod sessions;
mod task;
mod upkeep;
mod work;
mod workspace;

use clap::{FromArgMatches, Parser, Subcommand};
use doze_protocol::Exit;

use crate::app::App;
use crate::error::CommandResult;
use crate::{mcp, setup, try_it};

pub(crate) use draw::{Row, brief_text, entry, import_line};
pub(crate) use life::{spawn, wait_ready};
pub(crate) use memory::{WITH_YES, ask, confirm};
pub(crate) use service::install as install_service;
pub(crate) use session::{import_all, parts};

/// Memory for every coding agent: learns while you work, tidies up while you sleep.
#[derive(Debug, Parser)]
#[command(name = "doze", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print the daemon's answer unchanged, as one JSON document
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try it on your own sessions; nothing of yours is changed
    Try(try_it::Args),
    /// Connect the agents on this machine, or disconnect them
    Setup(setup::Args),
    /// Search what is known
    Search(recall::SearchArgs),
    /// Show what an agent that starts here is told
    Brief(recall::BriefArgs),
    /// Show what an agent is told whose session was lost
    Recover(recall::RecoverArgs),
    /// Show an agent's own facts and its project's
    Context(recall::ContextArgs),
    /// Show one line an agent of this project
    Roster(recall::RosterArgs),
    /// Remember something
    Remember(memory::RememberArgs),
    /// List memories, what changed last first
    List(memory::ListArgs),
    /// Show one memory
    Show(memory::IdArgs),
    /// Change a memory
    Edit(memory::EditArgs),
    /// Keep a memory from being changed or retired
    Pin(memory::PinArgs),
    /// Accept or reject what waits for a decision
    Review(memory::ReviewArgs),
    /// Say what a memory was worth
    Feedback(memory::FeedbackArgs),
    /// Note that an agent found the same on its own
    Confirm(memory::ConfirmArgs),
    /// Copy a memory into CLAUDE.md or AGENTS.md
    Promote(memory::PromoteArgs),
    /// Delete for good
    Forget(memory::ForgetArgs),
    /// Bring back a stale, retracted or superseded memory
    Reinstate(memory::IdArgs),
    /// Show where a memory came from and what would retire it
    Why(memory::IdArgs),
    /// Tidy up now, or show what earlier sweeps did
    Dream(dream::Args),
    /// List sessions, and what became of reading them
    Sessions(sessions::Args),
    /// Hand over a session, as JSON or by its parts
    Commit(session::CommitArgs),
    /// Read past sessions; with no path those of all agents
    Import(session::ImportArgs),
    /// Write an office's memory as the original program keeps it
    Export(office::ExportArgs),
    /// Show or tell what an office learned across its projects
    Office(office::Args),
    /// Count what is in a session file; nothing is stored
    Transcript(session::TranscriptArgs),
    /// Have a session read again, also when that failed before
    Extract(session::ExtractArgs),
    /// Show what an extractor would be given of a session
    Digest(session::DigestArgs),
    /// List the tasks of a project, or tell how one stands
    Task(task::Args),
    /// Offer the memory of a project as tools to an agent, over MCP
    Mcp(mcp::Args),
    /// Show or tell how a running task stands
    Work(work::Args),
    /// List, repair or ignore projects
    Project(project::Args),
    /// Name the folders into which dreams write Markdown
    Workspace(workspace::Args),
    /// Start the daemon
    Start,
    /// Stop the daemon
    Stop,
    /// Start the daemon unless it runs, and wait until it is ready
    Up,
    /// Show how the daemon is
    Status,
    /// Stop learning for a while
    Pause(upkeep::PauseArgs),
    /// Learn again
    Resume,
    /// Write a backup of the store
    Backup(upkeep::BackupArgs),
    /// Show, check or set the configuration
    Config(config::Args),
    /// Let the service manager run the daemon
    Service(service::Args),
    /// Print the completions of a shell
    Completions(upkeep::CompletionsArgs),
}

impl Cli {
    /// Reads the command line of this process. A wrong one, `--help` and `--version` end it.
    pub(crate) fn read() -> Self {
        let matches = help::command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Runs the command; without one says what there is.
    pub(crate) fn run(self) -> CommandResult {
        let mut app = App::new(self.json);
        let Some(command) = self.command else {
            let version = env!("CARGO_PKG_VERSION");
            app.say(&format!("doze {version} · memory for every coding agent on this machine"))?;
            app.say(help::OVERVIEW)?;
            return Ok(Exit::Done);
        };
        let app = &mut app;
        match command {
            Command::Try(args) => try_it::run(app, &args),
            Command::Setup(args) => setup::run(app, &args),
            Command::Search(args) => recall::search(app, args),
            Command::Brief(args) => recall::brief(app, &args),
            Command::Recover(args) => recall::recover(app, &args),
            Command::Context(args) => recall::context(app, &args),
            Command::Roster(args) => recall::roster(app, args),
            Command::Remember(args) => memory::remember(app, args),
            Command::List(args) => memory::list(app, args),
            Command::Show(args) => memory::show(app, &args),
            Command::Edit(args) => memory::edit(app, args),
            Command::Pin(args) => memory::pin(app, &args),
            Command::Review(args) => memory::review(app, &args),
            Command::Feedback(args) => memory::feedback(app, &args),
            Command::Confirm(args) => memory::confirmed(app, &args),
            Command::Promote(args) => memory::promote(app, &args),
            Command::Forget(args) => memory::forget(app, &args),
            Command::Reinstate(args) => memory::reinstate(app, &args),
            Command::Why(args) => memory::why(app, &args),
            Command::Dream(args) => dream::run(app, args),
            Command::Sessions(args) => sessions::run(app, &args),
            Command::Commit(args) => session::commit(app, &args),
            Command::Import(args) => session::import(app, &args),
            Command::Export(args) => office::export(app, &args),
            Command::Office(args) => office::run(app, &args),
            Command::Mcp(args) => mcp::run(&args),
            Command::Extract(args) => session::extract(app, &args),
            Command::Transcript(args) => session::transcript(app, &args),
            Command::Digest(args) => session::digest(app, &args),
            Command::Task(args) => task::run(app, args),
            Command::Work(args) => work::run(app, args),
            Command::Project(args) => project::run(app, args),
            Command::Workspace(args) => workspace::run(app, args),
            Command::Start => life::start(app),
            Command::Stop => life::stop(app),
            Command::Up => life::up(app),
            Command::Status => life::status(app),
            Command::Pause(args) => upkeep::pause(app, &args),
            Command::Resume => upkeep::resume(app),
            Command::Backup(args) => upkeep::backup(app, &args),
            Command::Config(args) => config::run(app, args),
            Command::Service(args) => service::run(app, &args),
            Command::Completions(args) => upkeep::completions(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_of_the_contract_parses() {
        for line in [
            "try",
            "try /x",
            "commit",
            "commit -",
            "commit f.json",
            "import",
            "import --format office --cwd /x",
            "export /x --format office",
            "import a b --format transcripts --agent x --since 2026-01-01",
            "transcript f",
            "setup",
            "setup codex --remove --dry-run --yes",
            "search a b",
            "search --everywhere a",
            "brief",
            "brief --last",
            "recover alex",
            "context alex",
            "roster",
            "work set --summary x",
            "sessions",
            "sessions --project shop --failed --limit 50",
            "commit --session s --agent a --harness claude-code",
            "config set extractor.calls_per_day -1",
            "digest s",
            "digest s --extractor claude",
            "task set T-1 Move the port --status in_progress",
            "task set T-1 --spec -",
            "task list",
            "task list --all",
            "task list --status review",
            "task show T-1",
            "task start T-1",
            "task done T-1",
            "work show",
            "work clear",
            "remember it --kind lesson --title t --topic k --space user",
            "list",
            "show i",
            "edit i --body b",
            "edit i",
            "pin i",
            "review",
            "review i --accept",
            "review --reject i",
            "feedback i helpful",
            "confirm i --agent sam",
            "office",
            "office review f.txt --verdict FAIL",
            "office plan -",
            "office project --summary s --tech t --rating visual=4 --failed",
            "office forget words",
            "promote i --to CLAUDE.md",
            "forget i",
            "forget --session s",
            "forget --project p",
            "forget --all --yes",
            "reinstate i",
            "why i",
            "dream",
            "dream --dry-run",
            "dream status",
            "dream log",
            "dream show i",
            "dream undo i",
            "project list",
            "project show",
            "project merge a b",
            "project split a /x",
            "project move a /x",
            "project ignore a",
            "project forget a --yes",
            "workspace add /x",
            "workspace add /x --mode agent",
            "workspace list",
            "workspace remove /x",
            "pause",
            "pause --for 2h",
            "resume",
            "backup",
            "start",
            "stop",
            "up",
            "status",
            "status --json",
            "config show",
            "config check",
            "config schema",
            "config set a.b 1",
            "service install",
            "service remove",
            "completions bash",
        ] {
            let arguments = std::iter::once("doze").chain(line.split(' '));
            if let Err(error) = Cli::try_parse_from(arguments) {
                panic!("{line}: {error}");
            }
        }
        assert!(Cli::try_parse_from(["doze", "feedback", "i", "nice"]).is_err());
        assert!(Cli::try_parse_from(["doze", "forget"]).is_err());
    }

    /// The `doze …` between backticks and after two blanks in the lines that are no comments.
    fn hints(text: &str) -> Vec<String> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let starts = lines.flat_map(|line| line.split("`doze ").skip(1).chain(line.split("  doze ").skip(1)));
        let end = |rest: &str| {
            let line = rest.split(['`', '#', '&', '"', ';', '(', ')', ',', '\\']).next().unwrap_or_default();
            line.split("  ").next().unwrap_or_default().to_owned()
        };
        starts.map(end).collect()
    }

    /// Whether the words that start a hint lead to a command; what follows them are arguments.
    fn exists(hint: &str) -> bool {
        let root = help::command();
        let mut command = &root;
        for word in hint.split_whitespace() {
            match command.find_subcommand(word) {
                Some(below) => command = below,
                // A name that the command at hand takes, or the place for one.
                None => {
                    let takes = command.get_positionals().next().is_some();
                    return takes
                        || word.starts_with(['-', '{', '[', '…'])
                        || matches!(word, "help" | "COMMAND");
                }
            }
        }
        true
    }

    #[test]
    fn every_command_that_a_hint_names_exists() {
        let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders = vec![repository.join("crates"), repository.join("docs")];
        let mut files = vec![repository.join("README.md"), repository.join("CONTRIBUTING.md")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_text = path.extension().is_some_and(|ending| ending == "rs" || ending == "md");
                if path.is_dir() {
                    folders.push(path);
                } else if is_text {
                    files.push(path);
                }
            }
        }
        let mut seen = 0;
        for file in files {
            for hint in hints(&std::fs::read_to_string(&file).unwrap()) {
                assert!(exists(&hint), "{}: doze {hint}", file.display());
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
        for wrong in ["doctor", "repair", "dream now", "project remove x"] {
            assert!(!exists(wrong), "{wrong}");
        }
    }
}
