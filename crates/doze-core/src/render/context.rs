//! What an office agent is told before every task (S0.30, S0.31, S0.36), within a budget of tokens (S0.41).

use jiff::Timestamp;

use super::{Rendered, age, legacy, line, line_of};
use crate::model::{Kind, Memory, MemoryId, Status, Summary};
use crate::office::Learned;
use crate::tokens::{Room, cut};

/// Tokens of the whole text unless the caller says otherwise (S0.41).
pub const DEFAULT_TOKENS: usize = 530;
/// How those are shared out: what previous projects taught, the agent's facts, the shared ones. Sessions get what the
/// others left.
const LEARNED_TOKENS: usize = 200;
const FACT_TOKENS: usize = 200;
const SHARED_TOKENS: usize = 100;
/// A line that does not fit is cut rather than left out where it is the first and so much of it can stand.
const LEAST_TOKENS: usize = 12;

/// Facts of the agent that are shown (S0.30).
const MAX_FACTS: usize = 10;
/// Shared facts that are shown (S0.36).
const MAX_SHARED: usize = 5;
/// Sessions that are shown, files of each, and characters of what each did.
const MAX_SESSIONS: usize = 10;
const MAX_FILES: usize = 5;
const MAX_WHAT: usize = 120;
/// Characters of one fact (the bound of a candidate).
const MAX_FACT: usize = 200;

/// A session that ended, as far as the context shows it.
#[derive(Debug, Clone, Copy)]
pub struct RecentSession<'a> {
    /// When it happened last.
    pub at: Timestamp,
    /// What it did.
    pub summary: &'a Summary,
}

/// What a context is made of.
#[derive(Debug, Clone, Copy)]
pub struct ContextInput<'a> {
    /// What was learned from previous projects.
    pub learned: &'a Learned,
    /// The agent's own facts.
    pub facts: &'a [Memory],
    /// Those of its project.
    pub shared: &'a [Memory],
    /// Its recent sessions, newest first.
    pub sessions: &'a [RecentSession<'a>],
    /// Tokens that the text may cost.
    pub max_tokens: usize,
    /// The time.
    pub now: Timestamp,
}

/// A context, and how many of the sessions stand in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    /// The text.
    pub text: Rendered,
    /// The first so many of the sessions that were given are in it.
    pub sessions: usize,
}

/// Builds the context: what was learned from previous projects, the agent's own facts, the shared ones, its recent
/// sessions (newest first). Facts that are not active are passed over; an empty section is left out, and without any
/// the text is empty. Whole lines stand in it, as many as its budget and its section's part of that allow.
pub fn context(input: &ContextInput<'_>) -> Context {
    let mut page =
        Page { room: Room::new(input.max_tokens, usize::MAX), max: input.max_tokens, text: String::new() };
    page.section("LEARNED FROM PREVIOUS PROJECTS", LEARNED_TOKENS, &legacy::blocks(input.learned));
    let facts = most_reinforced(input.facts, MAX_FACTS);
    let lines: Vec<_> = facts.iter().map(|fact| vec![format!("{}: {}", label(fact), text(fact))]).collect();
    let mut shown = ids(&facts, &page.section("AGENT KNOWLEDGE", FACT_TOKENS, &lines));
    let shared = most_reinforced(input.shared, MAX_SHARED);
    let lines: Vec<_> = shared.iter().map(|fact| vec![format!("- {}", text(fact))]).collect();
    shown.extend(ids(&shared, &page.section("PROJECT KNOWLEDGE", SHARED_TOKENS, &lines)));
    let sessions = input.sessions.iter().take(MAX_SESSIONS);
    let lines: Vec<_> =
        sessions.map(|session| session_line(session, input.now).into_iter().collect()).collect();
    let told = page.section("RECENT SESSIONS", DEFAULT_TOKENS, &lines);
    Context { text: Rendered::new(page.text, shown), sessions: told.last().map_or(0, |last| last + 1) }
}

fn ids(facts: &[&Memory], shown: &[usize]) -> Vec<MemoryId> {
    shown.iter().filter_map(|at| facts.get(*at)).map(|fact| fact.id.clone()).collect()
}

/// A text that grows section by section within its budget.
struct Page {
    room: Room,
    max: usize,
    text: String,
}

impl Page {
    /// Adds a section with the blocks that fit into `part` of [`DEFAULT_TOKENS`]; nothing when none does. The first line
    /// of a block stands only with its second. Answers which blocks are in it.
    fn section(&mut self, heading: &str, part: usize, blocks: &[Vec<String>]) -> Vec<usize> {
        let mut own = Room::new(self.max.saturating_mul(part) / DEFAULT_TOKENS, usize::MAX);
        let before = self.room;
        let mut section = format!("===== {heading} =====");
        let breaks = if self.text.is_empty() { 0 } else { 2 };
        let mut shown = Vec::new();
        if !self.take(&mut own, &section, breaks) {
            self.room = before;
            return shown;
        }
        for (at, block) in blocks.iter().enumerate() {
            let lines = self.block(&mut own, block, shown.is_empty());
            if !lines.is_empty() {
                shown.push(at);
            }
            for line in lines {
                section = section + "\n" + &line;
            }
        }
        if shown.is_empty() {
            self.room = before;
            return shown;
        }
        self.text.push_str(&"\n".repeat(breaks));
        self.text.push_str(&section);
        shown
    }

    /// The lines of a block that fit; a single one that is the first of its section is cut if it has to be.
    fn block(&mut self, own: &mut Room, block: &[String], is_first: bool) -> Vec<String> {
        match block {
            [] => Vec::new(),
            [line] if self.take(own, line, 1) => vec![line.clone()],
            [line] => {
                let left = own.tokens_left().min(self.room.tokens_left()).saturating_sub(1);
                let short = cut(line, left);
                let fits = is_first && left >= LEAST_TOKENS && self.take(own, &short, 1);
                if fits { vec![short] } else { Vec::new() }
            }
            [head, first, rest @ ..] => {
                if !self.take(own, &format!("{head}\n{first}"), 1) {
                    return Vec::new();
                }
                let rest = rest.iter().filter(|line| self.take(own, line, 1)).cloned();
                [head.clone(), first.clone()].into_iter().chain(rest).collect()
            }
        }
    }

    fn take(&mut self, own: &mut Room, text: &str, breaks: usize) -> bool {
        let mut trial = *own;
        let fits = trial.take(text, breaks) && self.room.take(text, breaks);
        if fits {
            *own = trial;
        }
        fits
    }
}

/// S0.30: what was said most often first; among equals what was seen last.
fn most_reinforced(facts: &[Memory], max: usize) -> Vec<&Memory> {
    let mut facts: Vec<&Memory> =
        facts.iter().filter(|fact| fact.status == Status::Active && fact.scope.is_recalled()).collect();
    facts.sort_by(|a, b| {
        b.reinforce_count
            .cmp(&a.reinforce_count)
            .then_with(|| b.last_confirmed_at.cmp(&a.last_confirmed_at))
            .then_with(|| a.id.cmp(&b.id))
    });
    facts.truncate(max);
    facts
}

fn text(fact: &Memory) -> String {
    let text = if fact.body.trim().is_empty() { &fact.title } else { &fact.body };
    line_of(text, MAX_FACT)
}

/// S0.31. The category a fact came with decides; for kinds that document does not know, their own name.
fn label(fact: &Memory) -> &'static str {
    match (fact.native_kind.as_deref(), fact.kind) {
        (Some("user_preference"), _) => "Preference",
        (Some("codebase_pattern"), _) => "Codebase",
        (Some("workflow_habit"), _) => "Workflow",
        (Some("lesson_learned"), _) => "Lesson",
        (_, Kind::Preference) => "Preference",
        (_, Kind::Convention) => "Codebase",
        (_, Kind::Lesson) => "Lesson",
        (_, Kind::Command) => "Command",
        (_, Kind::Decision) => "Decision",
        (_, Kind::EnvQuirk) => "Environment",
        (_, Kind::Spec) => "Spec",
        (_, Kind::Ownership) => "Ownership",
        (_, Kind::Profile) => "Person",
        (_, Kind::Member) => "Member",
        (_, Kind::Fact | Kind::Context | Kind::Log) => "Fact",
    }
}

fn session_line(session: &RecentSession<'_>, now: Timestamp) -> Option<String> {
    let what = session.summary.what.lines().map(line).find(|text| !text.is_empty())?;
    let files: Vec<String> =
        session.summary.files_changed.iter().take(MAX_FILES).map(|file| line(file)).collect();
    let files = if files.is_empty() { String::new() } else { format!(" [{}]", files.join(", ")) };
    Some(format!("- {}: {}{files}", age::office(session.at, now), line_of(&what, MAX_WHAT)))
}
