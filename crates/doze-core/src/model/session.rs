//! Sessions, their summaries, and the work state of a task that still runs.

use jiff::Timestamp;

use super::{AgentId, OwnerId, ProjectId, SessionKey, words};

words! {
    /// How a session is driven; decides what a round is and which dream reads it.
    Mode {
        /// A coding agent: a round is an assistant turn.
        Code = "code",
        /// An assistant in conversation: a round is a prompt with its answer.
        Agent = "agent",
    }
}

words! {
    /// Where a session comes from.
    SessionKind {
        /// A person works with the agent.
        Interactive = "interactive",
        /// A helper run inside another session.
        Subagent = "subagent",
        /// Started by a timer.
        Cron = "cron",
        /// Started by a script (`-p`, `exec`).
        Headless = "headless",
        /// Agents talking about a task; never distilled.
        Discussion = "discussion",
        /// A task assigned by an orchestrator.
        Assignment = "assignment",
    }
}

impl SessionKind {
    /// Whether rules and dreams may learn from such a session.
    pub fn is_learned_from(self) -> bool {
        matches!(self, Self::Interactive | Self::Headless | Self::Assignment)
    }
}

words! {
    /// What a commit ends.
    SessionEnd {
        /// The session is over.
        Session = "session",
        /// A turn is over, the session goes on.
        Turn = "turn",
        /// The application quits; nothing is extracted.
        Quit = "quit",
    }
}

words! {
    /// How a run went.
    Outcome {
        /// It did what was asked.
        Success = "success",
        /// It failed.
        Failed = "failed",
        /// Somebody called it off.
        Cancelled = "cancelled",
        /// It was cut short.
        Interrupted = "interrupted",
    }
}

/// An agent as a caller names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentRef {
    /// The id its facts are keyed by.
    pub id: AgentId,
    /// The name people see; the id when none was given.
    pub name: String,
    /// The program that runs it, empty when unknown.
    pub harness: String,
}

/// Token counts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
}

/// The task a session worked on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskRef {
    /// The orchestrator's id.
    pub id: String,
    /// A short title.
    pub title: String,
    /// What was specified.
    pub spec: String,
    /// What the agent was told.
    pub prompt: String,
}

/// What a session did: one record, three renderers (office, project, working).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// One or two sentences (office; ≤ 200 characters).
    pub what: String,
    /// Decisions with their reason (≤ 5 × 150 characters).
    pub decisions: Vec<String>,
    /// Changed files, shortened to their last three segments.
    pub files_changed: Vec<String>,
    /// What is left (≤ 3 × 150 characters).
    pub unfinished: Vec<String>,
    /// Short commit hashes (≤ 5).
    pub commits: Vec<String>,
    /// Token counts as given.
    pub tokens: Tokens,
    /// What was asked for (project).
    pub request: String,
    /// What was done (project).
    pub work_done: String,
    /// How it ended, in words (project; `unknown` when nothing tells).
    pub outcome: String,
    /// Open items (project).
    pub open_items: Vec<String>,
    /// The goal (working).
    pub goal: String,
    /// The progress (working).
    pub progress: String,
    /// What comes next (working, office work state).
    pub next_steps: Vec<String>,
}

/// A session as it is kept: who, where, how far, and what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub key: SessionKey,
    /// Whose it is.
    pub owner: OwnerId,
    /// The project it ran in, if any.
    pub project: Option<ProjectId>,
    /// The agent that ran it.
    pub agent: AgentRef,
    /// The folder it started in.
    pub cwd: String,
    /// How it is driven.
    pub mode: Mode,
    /// Where it comes from.
    pub kind: SessionKind,
    /// The last way it was ended; `None` while it runs.
    pub ended: Option<SessionEnd>,
    /// How it went.
    pub outcome: Outcome,
    /// The first event's time, else the first commit's.
    pub started_at: Timestamp,
    /// The last event's time, else the last commit's: the age of the session.
    pub last_event_at: Timestamp,
    /// When doze last heard of it (wall clock): decides when a silent session counts as closed.
    pub heard_at: Timestamp,
    /// Events kept so far; the next one gets this ordinal.
    pub event_count: u64,
    /// Rounds so far (what counts as one depends on the mode).
    pub rounds: u64,
    /// Finished turns so far.
    pub turns: u64,
    /// What it did; `None` until a turn ended.
    pub summary: Option<Summary>,
    /// The task it worked on.
    pub task: Option<TaskRef>,
    /// The team it belonged to.
    pub team: Option<String>,
    /// The session file it is read from.
    pub transcript: Option<String>,
}

words! {
    /// The state of a run that has not ended cleanly.
    WorkStatus {
        /// It runs, or its process died without a word.
        Running = "running",
        /// It was cut short.
        Interrupted = "interrupted",
        /// It failed.
        Failed = "failed",
        /// Somebody called it off.
        Cancelled = "cancelled",
    }
}

impl WorkStatus {
    /// How a run that ended so stands; nothing of one that did what was asked.
    pub fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::Success => None,
            Outcome::Failed => Some(Self::Failed),
            Outcome::Cancelled => Some(Self::Cancelled),
            Outcome::Interrupted => Some(Self::Interrupted),
        }
    }
}

/// The crash-safe snapshot of a task that still runs (S0.17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkState {
    /// Whose it is.
    pub owner: OwnerId,
    /// The agent at work.
    pub agent: AgentRef,
    /// The project, if any.
    pub project: Option<ProjectId>,
    /// The session, if the caller named one.
    pub session: Option<String>,
    /// When the task began.
    pub started_at: Timestamp,
    /// When it was last told.
    pub updated_at: Timestamp,
    /// How it stands.
    pub status: WorkStatus,
    /// The orchestrator's task id.
    pub task_id: Option<String>,
    /// What the agent was told (≤ 500 characters).
    pub task_prompt: Option<String>,
    /// The folder.
    pub cwd: Option<String>,
    /// What was done so far.
    pub summary: String,
    /// What comes next (≤ 3).
    pub next_steps: Vec<String>,
    /// What is left (≤ 3).
    pub unfinished: Vec<String>,
    /// Files touched so far.
    pub files_touched: Vec<String>,
    /// The last thing seen (≤ 160 characters).
    pub last_activity: Option<String>,
}
