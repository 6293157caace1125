//! Asking what is known: `search`, and the texts that agents are given.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use doze_protocol::recall::{RecallText, SearchAnswer};
use doze_protocol::{Exit, method};
use serde_json::{Value, json};

use super::draw;
use super::names::Names;
use crate::app::{self, App};
use crate::caller;
use crate::error::{CommandError, CommandResult};

#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArgs {
    /// What to look for, in your own words
    #[arg(required = true)]
    query: Vec<String>,
    /// How many at most
    #[arg(long, short = 'n')]
    limit: Option<u64>,
    /// Only these kinds: decision, lesson, preference, command, …
    #[arg(long = "kind")]
    kinds: Vec<String>,
    /// Only these spaces: user, project, agent, team, bank
    #[arg(long = "space")]
    spaces: Vec<String>,
    /// Only what happened since then: a date or an RFC 3339 time
    #[arg(long)]
    since: Option<String>,
    /// Only what happened until then
    #[arg(long)]
    until: Option<String>,
    /// How to rank: default, openorc, jiuwen, facts, lesson, bank
    #[arg(long)]
    profile: Option<String>,
    /// Also what a newer memory replaced
    #[arg(long)]
    superseded: bool,
    /// Also the raw events of sessions
    #[arg(long)]
    history: bool,
    /// Tell how each was ranked
    #[arg(long)]
    explain: bool,
    /// In all your projects, not only in this one
    #[arg(long, conflicts_with = "cwd")]
    everywhere: bool,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze search QUERY`.
pub(crate) fn search(app: &mut App, args: SearchArgs) -> CommandResult {
    let params = json!({
        "query": args.query.join(" "),
        "limit": args.limit,
        "kinds": some(args.kinds),
        "spaces": some(args.spaces),
        "since": args.since,
        "until": args.until,
        "profile": args.profile,
        "superseded": args.superseded,
        "history": args.history,
        "explain": args.explain,
        "everywhere": args.everywhere,
        "cwd": app::folder(args.cwd.as_deref())?,
        "agent": caller::agent(),
    });
    let answer = app.call(method::RECALL_SEARCH, params)?;
    let names = Names::ask(app);
    app.show(&answer, |screen, answer: &SearchAnswer| draw::hits(screen, answer, &names, app::now()))
}

/// A list that was given at all.
pub(super) fn some(list: Vec<String>) -> Option<Vec<String>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Shows a text for an agent, alone; that there is none goes to stderr.
fn text(app: &mut App, answer: &Value) -> CommandResult {
    let exit = app.show(answer, |screen, answer: &RecallText| draw::text(screen, &answer.text))?;
    if exit == Exit::Nothing && !app.is_json() {
        let state = app.call(method::STATUS, json!({})).unwrap_or_default();
        if state["paused_until"].is_string() {
            return Err(
                CommandError::new(exit, "doze is paused, so nothing is told").hint("go on: doze resume")
            );
        }
        return Err(CommandError::new(exit, "there is nothing to tell here yet")
            .hint("agents fill it as they work, or you with  doze remember …  or  doze import"));
    }
    Ok(exit)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BriefArgs {
    /// Show what an agent was given last, instead of what one would be given now
    #[arg(long)]
    last: bool,
    /// For this agent
    #[arg(long)]
    agent: Option<String>,
    /// At most so many tokens
    #[arg(long)]
    budget: Option<u64>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze brief`: the text alone.
pub(crate) fn brief(app: &mut App, args: &BriefArgs) -> CommandResult {
    let params = json!({
        "cwd": app::folder(args.cwd.as_deref())?,
        "agent": caller::agent_or(args.agent.as_deref()),
        "budget": args.budget,
        "last": args.last.then_some(true),
    });
    let answer = app.call(method::RECALL_BRIEF, params)?;
    text(app, &answer)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecoverArgs {
    /// The agent whose session was lost
    agent: String,
    /// That session, when the agent has several
    #[arg(long)]
    session: Option<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze recover AGENT`: the text alone.
pub(crate) fn recover(app: &mut App, args: &RecoverArgs) -> CommandResult {
    let cwd = app::folder(args.cwd.as_deref())?;
    let params = json!({"agent": args.agent, "session": args.session, "cwd": cwd});
    let answer = app.call(method::RECALL_RECOVER, params)?;
    text(app, &answer)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ContextArgs {
    /// The agent
    agent: String,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze context AGENT`: the text alone.
pub(crate) fn context(app: &mut App, args: &ContextArgs) -> CommandResult {
    let params = json!({"agent": args.agent, "cwd": app::folder(args.cwd.as_deref())?});
    let answer = app.call(method::RECALL_CONTEXT, params)?;
    text(app, &answer)
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RosterArgs {
    /// Only these agents
    agents: Vec<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

/// `doze roster`: the text alone.
pub(crate) fn roster(app: &mut App, args: RosterArgs) -> CommandResult {
    let params = json!({"agents": some(args.agents), "cwd": app::folder(args.cwd.as_deref())?});
    let answer = app.call(method::RECALL_ROSTER, params)?;
    text(app, &answer)
}
