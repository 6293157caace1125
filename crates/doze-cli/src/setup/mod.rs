//! `doze setup`: our hooks and our MCP server in the agents' settings, with the person's consent, and out again without
//! a trace.

mod agent;
mod edit;
pub(crate) mod files;
mod hooks;
mod jsonc;
mod plan;
mod program;
mod servers;

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use doze_protocol::recall::RecallText;
use doze_protocol::{Exit, method};
use serde_json::{Value, json};

use agent::{AGENTS, Agent};
use plan::{Plan, Target};

use crate::app::{self, App};
use crate::caller;
use crate::commands::{WITH_YES, ask, brief_text, confirm, import_all, import_line, install_service, parts};
use crate::error::{CommandError, CommandResult};
use crate::screen::{one_line, tilde, wrap};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only this agent: claude-code, codex, gemini or opencode
    agent: Option<String>,
    /// Take everything out again
    #[arg(long)]
    remove: bool,
    /// Leave out the MCP server, which offers the agent memory as tools
    #[arg(long, conflicts_with = "remove")]
    no_mcp: bool,
    /// Show what would be changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Show every line that would be changed
    #[arg(long)]
    diff: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// The home folder of this user.
fn home() -> Result<PathBuf, CommandError> {
    std::env::home_dir()
        .filter(|home| home.is_absolute())
        .ok_or_else(|| CommandError::new(Exit::Config, "the home folder is unknown").hint("set HOME"))
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

/// The agents that are meant: the named one, else all whose folder is there.
fn wanted(name: Option<&str>) -> Result<Vec<(&'static Agent, PathBuf)>, CommandError> {
    let home = home()?;
    let place = |agent: &'static Agent| (agent, agent.folder(&home, &variable));
    if let Some(name) = name {
        let agent = Agent::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = AGENTS.iter().map(|agent| agent.harness.name()).collect();
            CommandError::usage(format!("no agent goes by the name {name}"))
                .hint(format!("one of {}", names.join(", ")))
        })?;
        return Ok(vec![place(agent)]);
    }
    Ok(AGENTS.iter().map(place).filter(|(_, folder)| folder.is_dir()).collect())
}

/// The folders in which the agents on this machine keep their sessions.
pub(crate) fn agent_folders() -> Vec<PathBuf> {
    let wanted = wanted(None).unwrap_or_default();
    wanted
        .iter()
        .filter_map(|(agent, folder)| agent.sessions(folder))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// `doze setup`.
pub(crate) fn run(app: &mut App, args: &Args) -> CommandResult {
    let agents = wanted(args.agent.as_deref())?;
    if agents.is_empty() {
        return Err(CommandError::new(Exit::Nothing, "no agent was found on this machine")
            .hint("name the one you are going to use: doze setup claude-code"));
    }
    for (_, folder) in &agents {
        files::refuse_foreign_home(folder)?;
    }
    let program = program::lasting_path()?;
    let planned = plans(agents, args, &program);
    if planned.is_empty() {
        return Err(CommandError::usage("this agent has no hooks that doze could use, only tools")
            .hint("doze setup opencode"));
    }
    if !app.is_json() {
        show_changes(app, &planned, args)?;
    }
    let changes = planned.iter().any(Planned::changes_anything);
    if changes && !args.dry_run && !args.yes {
        confirm(if args.remove { "Take this out?" } else { "Write this?" }, WITH_YES)?;
    }
    let outcomes = carry_out(planned, args.dry_run);
    report(app, args, &outcomes)?;
    let failed = outcomes.into_iter().find_map(|outcome| outcome.error);
    if let Some(error) = failed {
        return Err(error);
    }
    if changes && !args.remove && !args.dry_run && !app.is_json() {
        go_on(app, args.yes)?;
    }
    Ok(Exit::Done)
}

/// What is to become of each file, the hooks' before the server's.
fn plans(agents: Vec<(&'static Agent, PathBuf)>, args: &Args, program: &str) -> Vec<Planned> {
    let of_agent = |(agent, folder): (&'static Agent, PathBuf)| {
        let servers = (!args.no_mcp).then(|| agent.servers_file(&folder, &variable));
        Target::of(agent.settings(&folder), servers).into_iter().map(move |target| {
            let is_server = !target.parts.contains(&plan::Part::Hooks);
            let plan =
                if args.remove { plan::remove(agent, target) } else { plan::install(agent, target, program) };
            Planned { agent, is_server, plan }
        })
    };
    agents.into_iter().flat_map(of_agent).collect()
}

/// One file of one agent, and what is to become of it.
struct Planned {
    agent: &'static Agent,
    /// It holds the MCP server and no hooks.
    is_server: bool,
    plan: Result<Plan, CommandError>,
}

impl Planned {
    fn changes_anything(&self) -> bool {
        self.plan.as_ref().is_ok_and(Plan::changes_anything)
    }
}

/// What would be changed, in a few lines for each agent or line by line.
fn show_changes(app: &App, planned: &[Planned], args: &Args) -> Result<(), CommandError> {
    app.draw(|screen| {
        for Planned { agent, plan, .. } in planned {
            let Ok(plan) = plan else { continue };
            screen.line(screen.bold(&one_line(&format!("{} · {}", agent.name, tilde(&plan.path)))))?;
            if args.diff {
                screen.text(&plan.diff())?;
                continue;
            }
            for line in plan.summary(agent) {
                for line in wrap(&line, "  ", screen.columns()) {
                    screen.line(line)?;
                }
            }
        }
        if !args.diff && planned.iter().any(Planned::changes_anything) {
            screen.line(match args.remove {
                true => "Line by line:  doze setup --remove --dry-run --diff",
                false => "Line by line:  doze setup --dry-run --diff",
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// What became of one file of an agent.
struct Outcome {
    agent: &'static Agent,
    is_server: bool,
    path: Option<PathBuf>,
    diff: String,
    changed: bool,
    error: Option<CommandError>,
}

fn carry_out(planned: Vec<Planned>, dry_run: bool) -> Vec<Outcome> {
    let outcome = |Planned { agent, is_server, plan }: Planned| match plan {
        Err(error) => {
            Outcome { agent, is_server, path: None, diff: String::new(), changed: false, error: Some(error) }
        }
        Ok(plan) => {
            let changed = plan.changes_anything();
            let error = if changed && !dry_run { plan::apply(&plan).err() } else { None };
            Outcome { agent, is_server, diff: plan.diff(), path: Some(plan.path), changed, error }
        }
    };
    planned.into_iter().map(outcome).collect()
}

fn report(app: &App, args: &Args, outcomes: &[Outcome]) -> Result<(), CommandError> {
    let state = |outcome: &Outcome| match outcome {
        Outcome { error: Some(_), .. } => "failed",
        Outcome { changed: false, .. } => "unchanged",
        _ if args.dry_run => "would change",
        _ if args.remove => "removed",
        _ => "installed",
    };
    if app.is_json() {
        let agents: Vec<Value> = outcomes
            .iter()
            .map(|outcome| {
                json!({
                    "agent": outcome.agent.harness.name(),
                    "file": if outcome.is_server { "mcp" } else { "hooks" },
                    "path": outcome.path.as_ref().map(|path| path.display().to_string()),
                    "state": state(outcome),
                    "diff": outcome.diff,
                    "error": outcome.error.as_ref().map(|error| error.message.clone()),
                })
            })
            .collect();
        app.draw(|screen| screen.document(&json!({"agents": agents})))?;
        return Ok(());
    }
    for outcome in outcomes {
        let said = match state(outcome) {
            "failed" if outcome.is_server => "'s MCP servers were left as they are",
            "unchanged" if outcome.is_server && args.remove => "'s MCP servers hold none of doze",
            "unchanged" if outcome.is_server => " has the tools already",
            "would change" if outcome.is_server => "'s MCP servers would be changed; nothing was written",
            "removed" if outcome.is_server => " has the tools no more",
            _ if outcome.is_server => {
                " has the tools: memory_search, memory_record, memory_feedback, task_context"
            }
            "failed" => " was left as it is",
            "unchanged" if args.remove => " has no hooks of doze",
            "unchanged" => " is connected already",
            "would change" => " would be changed; nothing was written",
            "removed" => " is disconnected",
            _ => " is connected",
        };
        app.say(&format!("{}{said}", outcome.agent.name))?;
        if outcome.is_server {
            continue;
        }
        let folder = outcome.path.as_deref().and_then(Path::parent);
        let caution = folder.and_then(|folder| outcome.agent.caution(folder)).unwrap_or_default();
        for said in [outcome.agent.afterwards, caution].into_iter().filter(|said| !said.is_empty()) {
            if state(outcome) == "installed" {
                app.say(&format!("  {said}"))?;
            }
        }
    }
    Ok(())
}

/// What comes after the hooks: the service, the past, and a first look.
fn go_on(app: &mut App, is_silent: bool) -> Result<(), CommandError> {
    if is_silent || !caller::can_be_asked() {
        app.say("Next:  doze service install  (or doze up)    Read your past sessions:  doze import")?;
        return Ok(());
    }
    let is_yes = |question: &str| ask(question).map(|answer| matches!(answer.as_str(), "" | "y" | "yes"));
    if is_yes("Start the daemon now and after every login? [Y/n] ")?
        && let Err(error) = install_service(app)
    {
        app.say(&format!("{}\n  → {}", error.message, error.hint))?;
    }
    if app.call(method::STATUS, json!({})).is_err() {
        app.say("Next:  doze up    Read your past sessions:  doze import")?;
        return Ok(());
    }
    if is_yes("Read your sessions of the last 30 days? [Y/n] ")? {
        let since = app::days_ago(30);
        let parts: Vec<PathBuf> = agent_folders().iter().flat_map(|folder| parts(folder)).collect();
        let total = import_all(app, &parts, &|path| json!({"path": path, "since": since}))?;
        app.say(&import_line(&total))?;
    }
    let answer = app.call(method::RECALL_BRIEF, json!({"cwd": app::folder(None)?}))?;
    let brief: RecallText = app::read(&answer)?;
    if brief.text.trim().is_empty() {
        app.say("Nothing is known of this folder yet. Work as usual; then look with  doze brief")?;
        return Ok(());
    }
    app.draw(|screen| {
        screen.line(screen.bold("What an agent that starts here is told now"))?;
        brief_text(screen, &brief.text)
    })?;
    Ok(())
}
