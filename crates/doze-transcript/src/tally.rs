//! Counting while reading, in bounded memory.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::limits::{NAME, SEEN};
use crate::report::{Counts, SessionMeta};
use crate::text::{Hits, head, one_line};

/// A short hash of what names a thing; the same in every run, so it may be stored.
pub(crate) fn short_hash(parts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A set of names that stops growing; what it cannot remember counts as new.
#[derive(Default)]
pub(crate) struct Seen(HashSet<u64>);

impl Seen {
    /// Whether the name is new.
    pub(crate) fn insert(&mut self, name: &str) -> bool {
        let hash = short_hash(&[name]);
        if self.0.len() >= SEEN { !self.0.contains(&hash) } else { self.0.insert(hash) }
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Token counts of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_write: u64,
    pub(crate) cache_read: u64,
}

/// Everything that is counted in one read.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    pub(crate) meta: SessionMeta,
    /// Secrets that were taken out before something was cut.
    pub(crate) redacted: Hits,
    /// Record ids of the harness: a copy made by a resume is not counted again.
    pub(crate) records: Seen,
    pub(crate) turns: Seen,
    pub(crate) tools: Seen,
    pub(crate) sidechain_tools: Seen,
    /// Event ids handed out.
    pub(crate) events: Seen,
    files: Seen,
    commits: Seen,
    sessions: Seen,
    cwds: Seen,
    branches: Seen,
    usage: HashMap<u64, Usage>,
    main_thread: bool,
    sidechain: bool,
}

impl Tally {
    /// A session id.
    pub(crate) fn session(&mut self, id: &str) {
        if !id.is_empty() {
            self.sessions.insert(id);
            set_first(&mut self.meta.session_id, id);
        }
    }

    /// A folder.
    pub(crate) fn cwd(&mut self, cwd: &str) {
        if !cwd.is_empty() {
            self.cwds.insert(cwd);
            set_first(&mut self.meta.cwd, cwd);
        }
    }

    /// A git branch.
    pub(crate) fn branch(&mut self, branch: &str) {
        if !branch.is_empty() {
            self.branches.insert(branch);
            set_first(&mut self.meta.git_branch, branch);
        }
    }

    /// The time of a record.
    pub(crate) fn time(&mut self, time: &str) {
        let time = head(time, 64);
        if time.is_empty() {
            return;
        }
        if self.meta.start.is_empty() || time < self.meta.start.as_str() {
            time.clone_into(&mut self.meta.start);
        }
        if time > self.meta.end.as_str() {
            time.clone_into(&mut self.meta.end);
        }
    }

    /// A person's prompt.
    pub(crate) fn prompt(&mut self, text: &str) {
        self.counts.user_prompts += 1;
        if self.counts.first_prompt.is_empty() {
            self.counts.first_prompt = one_line(text, 160);
        }
    }

    /// A file that was changed.
    pub(crate) fn file(&mut self, path: &str) {
        self.files.insert(path);
    }

    /// A commit that was made.
    pub(crate) fn commit(&mut self, hash: &str) {
        self.commits.insert(hash);
    }

    /// Which thread a record belongs to.
    pub(crate) fn thread(&mut self, sidechain: bool) {
        self.sidechain |= sidechain;
        self.main_thread |= !sidechain;
    }

    /// The usage of one answer; told again, the last one counts.
    pub(crate) fn usage(&mut self, message: &str, usage: Usage) {
        let hash = short_hash(&[message]);
        if self.usage.len() >= SEEN / 4 && !self.usage.contains_key(&hash) {
            return;
        }
        let before = self.usage.insert(hash, usage).unwrap_or_default();
        let counts = &mut self.counts;
        for (sum, new, old) in [
            (&mut counts.tokens_in, usage.input, before.input),
            (&mut counts.tokens_out, usage.output, before.output),
            (&mut counts.tokens_cache_write, usage.cache_write, before.cache_write),
            (&mut counts.tokens_cache_read, usage.cache_read, before.cache_read),
        ] {
            *sum = sum.saturating_sub(old).saturating_add(new);
        }
    }

    /// The sums of a whole session, which replace what was told before.
    pub(crate) fn total_usage(&mut self, usage: Usage) {
        self.counts.tokens_in = usage.input;
        self.counts.tokens_out = usage.output;
        self.counts.tokens_cache_write = usage.cache_write;
        self.counts.tokens_cache_read = usage.cache_read;
    }

    /// The counts and whose session it is.
    pub(crate) fn finish(mut self) -> (SessionMeta, Counts) {
        self.counts.assistant_turns = self.turns.len();
        self.counts.tool_calls = self.tools.len();
        self.counts.sidechain_tools = self.sidechain_tools.len();
        self.counts.files_changed = self.files.len();
        self.counts.commits = self.commits.len();
        self.meta.sessions = self.sessions.len();
        self.meta.cwds = self.cwds.len();
        self.meta.branches = self.branches.len();
        self.meta.subagent |= self.sidechain && !self.main_thread;
        (self.meta, self.counts)
    }
}

/// Sets a name that is not set yet.
pub(crate) fn set_first(name: &mut String, value: &str) {
    if name.is_empty() {
        *name = crate::text::name(value, NAME).into_owned();
    }
}
