//! One thing worth knowing later.

use jiff::Timestamp;

use super::{AgentRef, MemoryId, OwnerId, Scope, words};

words! {
    /// What sort of knowledge a memory is.
    Kind {
        /// A choice that was made, with its reason.
        Decision = "decision",
        /// How something must be.
        Spec = "spec",
        /// What failed and why.
        Lesson = "lesson",
        /// What the person likes.
        Preference = "preference",
        /// How this code base does things.
        Convention = "convention",
        /// A command that works.
        Command = "command",
        /// A peculiarity of the machine or environment.
        EnvQuirk = "env_quirk",
        /// Who owns what.
        Ownership = "ownership",
        /// A plain fact.
        Fact = "fact",
        /// About the person.
        Profile = "profile",
        /// A diary line.
        Log = "log",
        /// About a team member.
        Member = "member",
        /// Background of a team's work.
        Context = "context",
    }
}

words! {
    /// The API through which a memory came.
    Face {
        /// S0: agents' facts and shared knowledge.
        Office = "office",
        /// S1: typed project memory.
        Project = "project",
        /// S2: working memory.
        Working = "working",
        /// S3: workspace files.
        Workspace = "workspace",
        /// S4: the verified bank.
        Bank = "bank",
    }
}

words! {
    /// Whether a memory counts.
    Status {
        /// Waits for a person (`doze review`); nothing recalls it.
        Proposed = "proposed",
        /// In force.
        Active = "active",
        /// No longer sure; kept, not recalled.
        Stale = "stale",
        /// Marked wrong.
        Retracted = "retracted",
        /// Replaced by a newer one.
        Superseded = "superseded",
    }
}

words! {
    /// Who vouches for a memory.
    Verification {
        /// A person at a terminal or in the page.
        Human = "human",
        /// An agent.
        Agent = "agent",
        /// A model that read a session.
        Extraction = "extraction",
        /// A rule that read a session.
        Rule = "rule",
        /// It was imported.
        Import = "import",
    }
}

/// Where a memory came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// The agent, if one was involved.
    pub agent: Option<AgentRef>,
    /// The session's id as its harness spells it.
    pub session: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// The team.
    pub team: Option<String>,
    /// Evidence, each as `session#event` (the event's ordinal in its session).
    pub events: Vec<String>,
}

/// A quotation that shows where a memory came from (bank).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// The quoted text.
    pub snippet: String,
    /// The conversation it stood in.
    pub conversation_id: Option<String>,
    /// The message it stood in.
    pub message_id: Option<String>,
    /// How it was found; of a pattern the id of a memory that it cites, of what is kept apart that of the one it
    /// contradicts.
    pub origin: Option<String>,
}

/// One thing worth knowing later.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// UUIDv7, minted once.
    pub id: MemoryId,
    /// Whose it is.
    pub owner: OwnerId,
    /// The space it lies in.
    pub scope: Scope,
    /// The API it came through.
    pub face: Face,
    /// What sort of knowledge it is.
    pub kind: Kind,
    /// The label a seed gave it, verbatim.
    pub native_kind: Option<String>,
    /// One line.
    pub title: String,
    /// The knowledge itself.
    pub body: String,
    /// Free labels.
    pub tags: Vec<String>,
    /// One active memory per key and scope; a newer one with the same key replaces it.
    pub topic_key: Option<String>,
    /// Files it speaks of, relative to the project where possible.
    pub files: Vec<String>,
    /// 0.1–1; changed by evidence and feedback only, never by age.
    pub confidence: f64,
    /// How many independent pieces of evidence it has.
    pub evidence_count: u32,
    /// How often it was said again (S0).
    pub reinforce_count: u32,
    /// How often it was applied (lessons).
    pub applied_count: u32,
    /// Agents that found it independently (S0.33).
    pub confirmed_by: Vec<String>,
    /// Never changed by a dream.
    pub pinned: bool,
    /// Whether it counts.
    pub status: Status,
    /// The memory that replaced it, when superseded.
    pub superseded_by: Option<MemoryId>,
    /// Who vouches for it.
    pub verification: Verification,
    /// Where it came from.
    pub source: Source,
    /// Quotations.
    pub contexts: Vec<Context>,
    /// The time of the event it came from.
    pub created_at: Timestamp,
    /// The last change of its content.
    pub updated_at: Timestamp,
    /// The last time evidence or a person confirmed it.
    pub last_confirmed_at: Timestamp,
    /// See [`super::content_hash`].
    pub content_hash: String,
    /// The file and line that is its truth, for workspace memory.
    pub file_ref: Option<String>,
}

/// The tag of a memory that is kept apart, see [`Memory::contradicts`].
pub const CONTRADICTS: &str = "contradicts";
/// The topic key of a pattern is this and what its lessons are about.
pub const PATTERN_KEY: &str = "pattern/";

impl Memory {
    /// A dream made it of other memories of its project, which it cites in `contexts`, each by its id in `origin`.
    pub fn is_pattern(&self) -> bool {
        self.verification == Verification::Rule && self.cited().next().is_some()
    }

    /// The ids of the memories that a pattern cites, also of one that a person has taken over.
    pub fn cited(&self) -> impl Iterator<Item = &str> {
        let is_of_pattern = self.topic_key.as_deref().is_some_and(|key| key.starts_with(PATTERN_KEY));
        self.contexts.iter().filter(move |_| is_of_pattern).filter_map(|cited| cited.origin.as_deref())
    }

    /// The id of the memory that this one contradicts, when a dream keeps it apart until there is more evidence.
    pub fn contradicts(&self) -> Option<&str> {
        let is_apart = self.status == Status::Proposed
            && self.tags.iter().any(|tag| tag == CONTRADICTS)
            && matches!(self.verification, Verification::Rule | Verification::Extraction);
        self.contexts.first().filter(|_| is_apart)?.origin.as_deref()
    }

    /// A person wrote, verified or pinned it: no dream and no extraction may change it.
    pub fn is_protected(&self) -> bool {
        self.pinned || self.verification == Verification::Human
    }
}
