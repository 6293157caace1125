//! What an agent is told after its session was lost (S0.21–S0.24).

use super::{Rendered, line, line_of};
use crate::model::{Event, EventKind, Origin, Outcome, Summary, WorkState, WorkStatus, words};
use crate::summary::short_paths;
use crate::text;
use crate::tokens::{Room, cut};

/// S0.21, to the letter.
pub const FIRST_LINE: &str =
    "[Session recovered] Your previous session was lost. Here's what you were doing:";
/// S0.23, to the letter.
pub const LAST_LINE: &str =
    "Note: You don't have full conversation history. Ask the user if unsure about details.";

/// Tokens between the two fixed lines. The document aims at about 150 for the whole text; our estimate reads a
/// quarter too high on such lines, and its own example must come out whole.
const MAX_TOKENS: usize = 190;
/// Tokens of one bullet's text, so that a long one leaves room for the others.
const MAX_FIELD_TOKENS: usize = 75;
/// The parts of the room that a bullet may take, and the least tokens of one part when everything is long.
const LARGE: usize = 2;
const SMALL: usize = 1;
const LEAST_LEVEL: usize = 4;
/// Items of a list that are shown; the rest is counted.
const MAX_ITEMS: usize = 5;
/// Bounds of the old raw form (S0.7).
const MAX_LEGACY_TASK: usize = 300;
const MAX_LEGACY_RESULT: usize = 200;
const MAX_LEGACY_MESSAGE: usize = 400;
const MAX_LEGACY_MESSAGES: usize = 6;

/// Messages of a running conversation that are kept at hand, and tokens of each: about 2,400 in all (S0.2).
pub const WINDOW_MESSAGES: usize = 6;
const WINDOW_MESSAGE_TOKENS: usize = 400;

words! {
    /// Where the parts of a recovery come from.
    RecoverySource {
        /// The snapshot of a task that had not ended (S0.19).
        WorkState = "work_state",
        /// The summary of the last session that ended.
        Summary = "summary",
        /// Raw messages of the old form; only when nothing structured is there (S0.24).
        Legacy = "legacy",
    }
}

/// A message of the old form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyMessage {
    /// The person said it, else the agent.
    pub from_user: bool,
    /// What was said.
    pub text: String,
}

/// The old `RecoveryContext` (S0.7).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LegacyRecovery {
    /// What was asked for.
    pub original_task: Option<String>,
    /// The phase of the team's work.
    pub phase: Option<String>,
    /// What the agent answered last.
    pub last_result: Option<String>,
    /// The last messages, oldest first.
    pub recent_messages: Vec<LegacyMessage>,
}

/// The last messages of a conversation, oldest first (S0.2): what the person and the agent said, without tools.
pub fn window(events: &[Event]) -> Vec<LegacyMessage> {
    let said = events.iter().rev().filter_map(|event| {
        let from_user = match (event.kind, event.origin) {
            (EventKind::Prompt, Origin::Person) => true,
            (EventKind::Answer, Origin::Agent) => false,
            _ => return None,
        };
        let text = cut(&text::clean(event.text.trim()), WINDOW_MESSAGE_TOKENS);
        (!text.is_empty()).then_some(LegacyMessage { from_user, text })
    });
    let mut window: Vec<LegacyMessage> = said.take(WINDOW_MESSAGES).collect();
    window.reverse();
    window
}

/// What is known of the session that was lost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The snapshot of a task that had not ended.
    pub work: Option<&'a WorkState>,
    /// What the session did, if a turn of it ended.
    pub summary: Option<&'a Summary>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What it was asked to do.
    pub task: Option<&'a str>,
    /// The old form.
    pub legacy: Option<&'a LegacyRecovery>,
}

/// The parts of a recovery text; empty parts are not shown. Values are as recorded, cut only when shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Where the parts come from.
    pub source: RecoverySource,
    /// How the task stood, for a work state.
    pub status: Option<WorkStatus>,
    /// What the agent was asked to do.
    pub task: String,
    /// What it did.
    pub what: String,
    /// Files changed or touched.
    pub files_changed: Vec<String>,
    /// Short hashes.
    pub commits: Vec<String>,
    /// Decisions made.
    pub decisions: Vec<String>,
    /// What is left.
    pub unfinished: Vec<String>,
    /// What comes next.
    pub next_steps: Vec<String>,
    /// The last thing seen.
    pub last_activity: String,
    /// The folder it worked in.
    pub cwd: String,
    /// The phase of the team's work (legacy).
    pub phase: String,
    /// Raw messages, shown for [`RecoverySource::Legacy`] only.
    pub messages: Vec<LegacyMessage>,
}

impl Recovery {
    fn new(source: RecoverySource) -> Self {
        Self {
            source,
            status: None,
            task: String::new(),
            what: String::new(),
            files_changed: Vec::new(),
            commits: Vec::new(),
            decisions: Vec::new(),
            unfinished: Vec::new(),
            next_steps: Vec::new(),
            last_activity: String::new(),
            cwd: String::new(),
            phase: String::new(),
            messages: Vec::new(),
        }
    }

    /// Chooses what to recover from: the work state before the summary, raw messages only without either. `None` when
    /// there is nothing to tell.
    pub fn choose(known: &Known<'_>) -> Option<Self> {
        let mut recovery = match (known.work, known.summary, known.legacy) {
            (Some(work), _, _) => Self::from_work(work),
            (None, Some(summary), _) => Self::from_summary(summary, known.task, known.outcome),
            (None, None, Some(legacy)) => Self::from_legacy(legacy),
            (None, None, None) => return None,
        };
        if let Some(legacy) = known.legacy {
            recovery.phase = legacy.phase.clone().unwrap_or_default();
            if recovery.task.is_empty() {
                recovery.task = legacy.original_task.clone().unwrap_or_default();
            }
        }
        (!recovery.bullets().is_empty()).then_some(recovery)
    }

    fn from_work(work: &WorkState) -> Self {
        let task = work.task_prompt.clone().unwrap_or_default();
        // Callers often repeat the prompt as the summary; saying it twice helps nobody.
        let what = if line(&work.summary) == line(&task) { String::new() } else { work.summary.clone() };
        Self {
            status: Some(work.status),
            task,
            what,
            files_changed: short_paths(&work.files_touched),
            unfinished: work.unfinished.clone(),
            next_steps: work.next_steps.clone(),
            last_activity: work.last_activity.clone().unwrap_or_default(),
            cwd: work.cwd.clone().unwrap_or_default(),
            ..Self::new(RecoverySource::WorkState)
        }
    }

    fn from_summary(summary: &Summary, task: Option<&str>, outcome: Option<Outcome>) -> Self {
        let task = [task.unwrap_or_default(), &summary.request, &summary.goal]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .unwrap_or_default();
        Self {
            status: outcome.and_then(WorkStatus::of),
            task: task.to_owned(),
            what: summary.what.clone(),
            files_changed: summary.files_changed.clone(),
            commits: summary.commits.clone(),
            decisions: summary.decisions.clone(),
            unfinished: summary.unfinished.clone(),
            ..Self::new(RecoverySource::Summary)
        }
    }

    fn from_legacy(legacy: &LegacyRecovery) -> Self {
        Self {
            what: legacy.last_result.clone().unwrap_or_default(),
            messages: legacy.recent_messages.clone(),
            ..Self::new(RecoverySource::Legacy)
        }
    }

    /// The old form (S0.7), each part cut as it always was. `window` are the last messages of the session.
    pub fn old_form(&self, window: &[LegacyMessage]) -> LegacyRecovery {
        let part = |text: &str, max: usize| {
            Some(text::cut(text.trim(), max).to_owned()).filter(|text| !text.is_empty())
        };
        let messages = if self.messages.is_empty() { window } else { &self.messages };
        let first = messages.len().saturating_sub(MAX_LEGACY_MESSAGES);
        LegacyRecovery {
            original_task: part(&self.task, MAX_LEGACY_TASK),
            phase: part(&self.phase, MAX_LEGACY_RESULT),
            last_result: part(&self.what, MAX_LEGACY_RESULT),
            recent_messages: messages[first..]
                .iter()
                .map(|message| LegacyMessage {
                    text: text::cut(&message.text, MAX_LEGACY_MESSAGE).to_owned(),
                    ..message.clone()
                })
                .collect(),
        }
    }

    /// The text: the fixed first line, a bullet a part, the fixed last line. Empty when no part has anything.
    pub fn render(&self) -> Rendered {
        let bullets = self.bullets();
        if bullets.is_empty() {
            return Rendered::default();
        }
        let mut lines = vec![FIRST_LINE.to_owned()];
        lines.extend(bullets);
        lines.push(LAST_LINE.to_owned());
        Rendered::new(lines.join("\n"), Vec::new())
    }

    fn bullets(&self) -> Vec<String> {
        match self.source {
            RecoverySource::Legacy => self.legacy_bullets(),
            _ => self.structured_bullets(),
        }
    }

    /// The bullets in the order of the document, what it does not know after them. All of them share the room, the task
    /// and what was done with a larger part; none is left out for want of it.
    fn structured_bullets(&self) -> Vec<String> {
        let status = match self.status {
            Some(WorkStatus::Running) => "in progress",
            Some(other) => other.as_str(),
            None => "",
        };
        let parts = [
            (LARGE, Part::Text("Task", &self.task)),
            (LARGE, Part::Text("What you did", &self.what)),
            (SMALL, Part::List("Files changed", &self.files_changed, ", ")),
            (SMALL, Part::List("Commits", &self.commits, ", ")),
            (SMALL, Part::List("Decisions", &self.decisions, "; ")),
            (SMALL, Part::List("Unfinished", &self.unfinished, "; ")),
            (SMALL, Part::List("Next steps", &self.next_steps, "; ")),
            (SMALL, Part::Text("Last activity", &self.last_activity)),
            (SMALL, Part::Text("Status", status)),
            (SMALL, Part::Text("Phase", &self.phase)),
            (SMALL, Part::Text("Working directory", &self.cwd)),
        ];
        let written = |level: usize| -> Vec<String> {
            let bullet =
                |(share, part): &(usize, Part<'_>)| part.bullet((share * level).min(MAX_FIELD_TOKENS));
            parts.iter().filter_map(bullet).collect()
        };
        // As much of everything as fits: what is short stays whole, what is long is cut alike.
        let levels = (LEAST_LEVEL..=MAX_FIELD_TOKENS).rev();
        let mut fitting = levels.map(written).filter(|bullets| {
            let mut room = Room::new(MAX_TOKENS, usize::MAX);
            bullets.iter().all(|bullet| room.take(bullet, 1))
        });
        fitting.next().unwrap_or_else(|| written(LEAST_LEVEL))
    }

    fn legacy_bullets(&self) -> Vec<String> {
        let field = |name: &str, text: &str, max: usize| {
            let text = line_of(text, max);
            (!text.is_empty()).then(|| format!("- {name}: {text}"))
        };
        let mut bullets: Vec<String> = [
            field("Task", &self.task, MAX_LEGACY_TASK),
            field("Phase", &self.phase, MAX_LEGACY_RESULT),
            field("Last result", &self.what, MAX_LEGACY_RESULT),
        ]
        .into_iter()
        .flatten()
        .collect();
        let first = self.messages.len().saturating_sub(MAX_LEGACY_MESSAGES);
        let messages: Vec<String> = self.messages[first..]
            .iter()
            .map(|message| {
                (if message.from_user { "User" } else { "You" }, line_of(&message.text, MAX_LEGACY_MESSAGE))
            })
            .filter(|(_, text)| !text.is_empty())
            .map(|(who, text)| format!("  [{who}]: {text}"))
            .collect();
        if !messages.is_empty() {
            bullets.push("- Recent conversation:".to_owned());
            bullets.extend(messages);
        }
        bullets
    }
}

/// A part of the text: one value, or a list with what stands between its items.
enum Part<'a> {
    Text(&'static str, &'a str),
    List(&'static str, &'a [String], &'static str),
}

impl Part<'_> {
    /// Its line, its words within so many tokens; none for an empty part.
    fn bullet(&self, max: usize) -> Option<String> {
        match self {
            Self::Text(name, text) => {
                let text = cut(&line(text), max);
                (!text.is_empty()).then(|| format!("- {name}: {text}"))
            }
            Self::List(name, items, separator) => {
                Some(format!("- {name}: {}", listed(items, separator, max)?))
            }
        }
    }
}

/// Whole items as far as they fit, then how many are missing; the first one is cut rather than left out.
fn listed(items: &[String], separator: &str, max: usize) -> Option<String> {
    let items: Vec<String> = items.iter().map(|item| line(item)).filter(|item| !item.is_empty()).collect();
    let mut room = Room::new(max, usize::MAX);
    let mut shown: Vec<String> =
        items.iter().take(MAX_ITEMS).take_while(|item| room.take(item, separator.len())).cloned().collect();
    if shown.is_empty() {
        shown.push(cut(items.first()?, max));
    }
    let missing = items.len() - shown.len();
    let more = if missing == 0 { String::new() } else { format!(" (+{missing} more)") };
    Some(format!("{}{more}", shown.join(separator)))
}
