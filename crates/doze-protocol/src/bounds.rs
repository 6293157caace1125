//! Bounds that callers may rely on. Outside a bound is `invalid` and the message names it; nothing is cut silently.

/// Bytes of an id: session, agent, commit, event, task, project.
pub const ID_BYTES_MAX: usize = 512;
/// Bytes of a path or of `cwd`.
pub const PATH_BYTES_MAX: usize = 4_096;
/// Characters of a memory's title (S1.36).
pub const TITLE_CHARS_MAX: usize = 120;
/// Characters of a memory's body in faces whose seed names no narrower bound (S4's bound on content).
pub const BODY_CHARS_MAX: usize = 8_000;
/// Characters of a topic key (S1.36).
pub const TOPIC_KEY_CHARS_MAX: usize = 80;
/// Files a memory may name.
pub const FILES_MAX: usize = 20;
/// Tags of a memory (S4).
pub const TAGS_MAX: usize = 32;
/// Characters of a tag (S4).
pub const TAG_CHARS_MAX: usize = 64;
/// Events of one `session.append` or `session.commit`; more go in pieces.
pub const EVENTS_MAX: usize = 50_000;
/// Hits of a search unless asked otherwise.
pub const SEARCH_LIMIT_DEFAULT: usize = 10;
/// Hits of a search at most.
pub const SEARCH_LIMIT_MAX: usize = 100;
/// Items of a list unless asked otherwise.
pub const LIST_LIMIT_DEFAULT: usize = 50;
/// Items of a list at most.
pub const LIST_LIMIT_MAX: usize = 500;
/// The smallest brief that can be asked for, in tokens.
pub const BUDGET_TOKENS_MIN: usize = 16;
/// The largest brief that can be asked for, in tokens.
pub const BUDGET_TOKENS_MAX: usize = 20_000;
/// Names and titles: agent names, task titles, team names, in characters.
pub const NAME_CHARS_MAX: usize = 200;
/// Characters of a task's specification.
pub const SPEC_CHARS_MAX: usize = 20_000;
/// The longest pause, in days.
pub const PAUSE_DAYS_MAX: u64 = 365;
