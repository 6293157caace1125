//! What a read answers.

use std::collections::BTreeMap;

use crate::cursor::Cursor;
use crate::detect::Format;

/// What one call of [`crate::read`] found, beside the events it handed out.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What wrote the source.
    pub format: Format,
    /// Where the next read goes on.
    pub cursor: Cursor,
    /// Whether this read began at the start although a cursor was given: the source had shrunk, was rewritten, or
    /// is a document that is always rewritten whole.
    pub restarted: bool,
    /// Whose session it is.
    pub meta: SessionMeta,
    /// What was counted in the part that this call read.
    pub counts: Counts,
    /// Secrets that were taken out of long texts before these were cut: rule → number. Shorter texts come as they are.
    pub redacted: BTreeMap<&'static str, u64>,
}

/// Whose session it is, as far as the part just read tells. Texts are as the harness spells them; what it does not
/// tell is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionMeta {
    /// The first session id met.
    pub session_id: String,
    /// How many different session ids were met: after a resume two may alternate.
    pub sessions: u64,
    /// The harness's version, the first met.
    pub version: String,
    /// The model, the first met.
    pub model: String,
    /// The earliest time in the source.
    pub start: String,
    /// The latest time in the source.
    pub end: String,
    /// The first folder met.
    pub cwd: String,
    /// How many different folders were met.
    pub cwds: u64,
    /// The git branch: the first met (Claude Code), the last told (Codex).
    pub git_branch: String,
    /// How many different branches were met.
    pub branches: u64,
    /// How the harness was started, in its own word (`cli`, `sdk-ts`, `codex_exec`, …).
    pub entrypoint: String,
    /// Whether the whole source is the run of a helper inside another session.
    pub subagent: bool,
    /// The SHA-256 of the project's root folder (Gemini CLI, which does not tell the folder).
    pub project_hash: String,
}

/// What was counted. Names and meanings are the columns of the table of expected values beside the sample sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// JSON objects read; one line can hold several.
    pub records: u64,
    /// Lines with a rest that is not JSON; blank lines are none.
    pub bad_lines: u64,
    /// Lines or messages above [`crate::Limits::record`].
    pub skipped_long_lines: u64,
    /// What a person, or a caller in a person's place, sent in the main thread.
    pub user_prompts: u64,
    /// Slash commands.
    pub slash_commands: u64,
    /// Prompts that were typed while the agent worked, and logged apart.
    pub queued_prompts: u64,
    /// Different answers of the model in the main thread.
    pub assistant_turns: u64,
    /// Different tool calls in the main thread.
    pub tool_calls: u64,
    /// Different tool calls of helpers.
    pub sidechain_tools: u64,
    /// Compactions of the context.
    pub compactions: u64,
    /// Different files changed by edit tools; not counted for message arrays, whose tools are their caller's own.
    pub files_changed: u64,
    /// Different commit hashes in git's own words in tool output.
    pub commits: u64,
    /// Tokens read by the model. With the cached ones for Codex and Gemini, without for Claude.
    pub tokens_in: u64,
    /// Tokens written by the model, thinking included.
    pub tokens_out: u64,
    /// Tokens written to the cache.
    pub tokens_cache_write: u64,
    /// Tokens read from the cache.
    pub tokens_cache_read: u64,
    /// The first prompt on one line, at most 160 characters.
    pub first_prompt: String,
}
