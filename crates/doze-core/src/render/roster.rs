//! One line about each agent of a team (S0.37).

use jiff::Timestamp;

use super::{Rendered, age, line_of};
use crate::model::Outcome;

/// Characters of a name and tokens of what an agent did: a line costs about thirty tokens, at most fifty or so (S0.41).
const MAX_NAME: usize = 40;
const MAX_WHAT: usize = 140;
const MAX_WHAT_TOKENS: usize = 36;
const MAX_COMMIT: usize = 12;

/// What an agent did last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastSession {
    /// What it did.
    pub what: String,
    /// The last commit it made.
    pub commit: Option<String>,
    /// When.
    pub at: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
}

/// An agent of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterAgent {
    /// The name people see.
    pub name: String,
    /// Its last session; `None` when it has none.
    pub last: Option<LastSession>,
}

/// What an agent did last, without its name: `Last: "…" (commit ad8ed51) — 10 min ago`, or that it is idle. One that did
/// not do what was asked is told with how it ended: `Last: "…" — failed, 10 min ago`.
pub fn l0(last: Option<&LastSession>, now: Timestamp) -> String {
    let Some(last) = last else { return "idle (no recent activity)".to_owned() };
    let commit = match &last.commit {
        Some(commit) => format!(" (commit {})", line_of(commit, MAX_COMMIT)),
        None => String::new(),
    };
    let what = crate::tokens::cut(&line_of(&last.what, MAX_WHAT), MAX_WHAT_TOKENS);
    let outcome = match last.outcome {
        Outcome::Success => String::new(),
        other => format!("{other}, "),
    };
    format!("Last: \"{what}\"{commit} — {outcome}{}", age::office(last.at, now))
}

/// The roster: a line an agent, the latest first, idle ones last by name; the agents are put into that order. Of `more`
/// agents there is only the number. Empty without agents.
pub fn roster(agents: &mut [RosterAgent], more: usize, now: Timestamp) -> Rendered {
    agents.sort_by(|a, b| {
        let at = |agent: &RosterAgent| agent.last.as_ref().map(|last| last.at);
        at(b).cmp(&at(a)).then_with(|| a.name.cmp(&b.name))
    });
    let mut lines: Vec<String> = agents
        .iter()
        .map(|agent| format!("[{}] {}", line_of(&agent.name, MAX_NAME), l0(agent.last.as_ref(), now)))
        .collect();
    if more > 0 {
        lines.push(format!("(+{})", crate::text::count(more as u64, "more agent")));
    }
    Rendered::new(lines.join("\n"), Vec::new())
}
