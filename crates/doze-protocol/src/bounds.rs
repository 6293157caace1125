//! Bounds of parameters that the daemon checks before it asks anybody: limits of lists and the size of a brief. What
//! else has a bound is checked by the engine; the reference (`docs/protocol.md`) lists all.

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
