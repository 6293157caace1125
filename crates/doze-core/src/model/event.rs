//! One thing that happened in an agent's session.

use jiff::Timestamp;

use super::{EventId, words};

words! {
    /// What happened.
    EventKind {
        /// A person, or a caller in a person's place, asked for something.
        Prompt = "prompt",
        /// The agent said something.
        Answer = "answer",
        /// The agent used a tool; the result is in [`Event::tool`].
        Tool = "tool",
        /// A file of the project changed; its path is in [`Event::path`].
        File = "file",
        /// A commit was made; `text` is `<hash> <subject>`.
        Commit = "commit",
        /// Something the harness told (a compaction, a plan, an away summary).
        Notice = "notice",
    }
}

words! {
    /// Who spoke. Trust follows from it.
    Origin {
        /// A person.
        Person = "person",
        /// The agent.
        Agent = "agent",
        /// A tool's output.
        Tool = "tool",
        /// Text fetched from the web.
        Web = "web",
        /// Text the harness or doze put there; never learned from.
        Injected = "injected",
    }
}

/// A tool call together with its result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolUse {
    /// The tool's name as the harness spells it.
    pub name: String,
    /// The input, as compact JSON text (for raw inputs the text itself).
    pub input: String,
    /// What the tool answered, as text.
    pub output: String,
    /// Whether the call failed or was refused.
    pub failed: bool,
}

/// One thing that happened, in the order it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Unique within the session; the harness's own id where it has one.
    pub id: EventId,
    /// When it happened, if the harness says.
    pub at: Option<Timestamp>,
    /// What happened.
    pub kind: EventKind,
    /// Who spoke.
    pub origin: Origin,
    /// What was said; empty for tool events whose text is in `tool`.
    pub text: String,
    /// The tool call, for [`EventKind::Tool`].
    pub tool: Option<ToolUse>,
    /// The file, for [`EventKind::File`].
    pub path: Option<String>,
    /// The folder it happened in, where it differs from the session's.
    pub cwd: Option<String>,
}

impl Event {
    /// An event with only its kind, origin and text; the rest is set by the caller.
    pub fn new(id: impl Into<EventId>, kind: EventKind, origin: Origin, text: impl Into<String>) -> Self {
        Self { id: id.into(), at: None, kind, origin, text: text.into(), tool: None, path: None, cwd: None }
    }

    /// The name of this event across sessions, see [`super::fingerprint`].
    pub fn fingerprint(&self) -> [u8; 16] {
        let text = match &self.tool {
            Some(tool) => format!("{}\0{}\0{}\0{}", self.text, tool.name, tool.input, tool.output),
            None => self.text.clone(),
        };
        super::fingerprint(self.id.as_str(), self.at.map(Timestamp::as_millisecond), &text)
    }
}
