//! Sessions that agents left on disk, read as if they had just ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use doze_core::model::{AgentId, AgentRef, OwnerId, SessionEnd, SessionKey, SessionKind, hex};
use doze_transcript::{Format, Report, SessionMeta};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::commit::{CommitRequest, Run, TranscriptRef};
use crate::office::root_of;
use crate::{Engine, EngineError, Problem};

/// Files of one call, and folders below the one that was named.
const MAX_FILES: usize = 20_000;
const MAX_DEPTH: usize = 8;
/// Files named of those that could not be read.
const MAX_PROBLEMS: usize = 20;
/// Endings of files that may be sessions.
const ENDINGS: &[&str] = &["jsonl", "json", "traj"];

/// What a path holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// An office's memory if it looks like one, else session files.
    #[default]
    Auto,
    /// Session files.
    Transcripts,
    /// The memory of the original office program.
    Office,
}

/// `import`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportRequest {
    /// A session file, or a folder of them; or an office's memory.
    pub path: String,
    /// What that is.
    pub form: Form,
    /// The project's folder, for formats that do not tell it.
    pub cwd: Option<String>,
    /// The agent, for formats that do not tell it.
    pub agent: Option<AgentRef>,
    /// Only files that changed at or after this time.
    pub since: Option<Timestamp>,
}

/// What an import found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Session files read.
    pub read: u64,
    /// Sessions with something new.
    pub added: u64,
    /// Sessions that were known already.
    pub known: u64,
    /// Files that are no sessions or could not be read, and damaged lines.
    pub damaged: u64,
    /// Folders and files that were not looked at: unreadable, too deep, or beyond the number of one call.
    pub left_out: u64,
    /// What could not be read, with its place and the reason.
    pub problems: Vec<String>,
    /// How often each redaction rule struck.
    pub redacted: BTreeMap<String, u64>,
}

impl Engine {
    /// Reads session files, or an office's memory. What is known already changes nothing, so that an import can be repeated or resumed.
    pub fn import(&self, owner: &OwnerId, request: &ImportRequest) -> Result<Imported, EngineError> {
        // What is read while nothing is kept would count as read afterwards.
        if let Some(silence) = self.silence(owner, None)? {
            return Err(silence.refusal());
        }
        let root = Path::new(&request.path);
        if !root.is_absolute() {
            return Err(EngineError::invalid("path: expected the whole path of a file or folder"));
        }
        if !root.exists() {
            return Err(EngineError::new(
                Problem::NotFound,
                format!("there is no file or folder {}", root.display()),
            ));
        }
        let is_office = match request.form {
            Form::Office => true,
            Form::Auto => root.is_dir() && root_of(root).is_some(),
            Form::Transcripts => false,
        };
        if is_office {
            return self.import_office(owner, request);
        }
        let mut found = Found::default();
        collect(root, 0, request.since, &mut found);
        // As they were written: the older ones first.
        found.files.sort_by_cached_key(|file| {
            (std::fs::metadata(file).and_then(|meta| meta.modified()).ok(), file.clone())
        });
        let is_single = root.is_file();
        let mut done = Imported { left_out: found.left_out, ..Imported::default() };
        for file in found.files {
            match self.import_file(owner, request, &file, &mut done) {
                Ok(()) => {}
                Err(error) if is_single => return Err(error),
                Err(error)
                    if matches!(error.problem, Problem::Busy | Problem::Unavailable | Problem::Internal) =>
                {
                    return Err(error);
                }
                Err(error) => {
                    tracing::info!(file = %file.display(), error = %crate::chain(&error), "not imported");
                    done.damaged += 1;
                    if done.problems.len() < MAX_PROBLEMS {
                        done.problems.push(format!("{}: it is no session that can be read", file.display()));
                    }
                }
            }
        }
        Ok(done)
    }

    fn import_file(
        &self,
        owner: &OwnerId,
        request: &ImportRequest,
        file: &Path,
        done: &mut Imported,
    ) -> Result<(), EngineError> {
        let path = file.to_string_lossy().into_owned();
        let Report { format, meta, counts, .. } = self.preview(&path, None, false)?.report;
        done.read += 1;
        done.damaged += counts.bad_lines + counts.skipped_long_lines;
        if counts.user_prompts + counts.assistant_turns + counts.queued_prompts + counts.slash_commands == 0 {
            return Ok(());
        }
        let cwd = match &request.cwd {
            Some(cwd) => cwd.clone(),
            None => self.folder_of(owner, &meta)?,
        };
        let commit = CommitRequest {
            session: session_name(&meta, file),
            commit_id: None,
            end: SessionEnd::Session,
            agent: request.agent.clone().unwrap_or_else(|| agent_of(format)),
            cwd,
            project: None,
            mode: None,
            kind: Some(kind_of(&meta)),
            outcome: None,
            summary: None,
            output: None,
            changed_files: Vec::new(),
            tokens: None,
            task: None,
            team: None,
            events: Vec::new(),
            transcript: Some(TranscriptRef { path, format: None }),
        };
        if self.ended_before_it_was_forgotten(owner, &commit, &meta)? {
            done.known += 1;
            return Ok(());
        }
        let answer = self.commit_of(owner, commit, Run::Past)?;
        if answer.events.new > 0 && !answer.is_repeat {
            done.added += 1;
        } else {
            done.known += 1;
        }
        for (rule, count) in answer.redacted.into_iter().filter(|_| !answer.is_repeat) {
            *done.redacted.entry(rule).or_default() += count;
        }
        Ok(())
    }

    /// Whether a file tells nothing but what was forgotten with its session.
    fn ended_before_it_was_forgotten(
        &self,
        owner: &OwnerId,
        commit: &CommitRequest,
        meta: &SessionMeta,
    ) -> Result<bool, EngineError> {
        let key = SessionKey::new(commit.session.as_str(), commit.agent.harness.as_str());
        let snapshot = self.store().snapshot()?;
        let forgotten = self.session_forgotten_at(&snapshot, owner, &key, &commit.agent.id, None)?;
        let end = meta.end.parse::<Timestamp>().ok();
        Ok(forgotten.is_some_and(|forgotten| end.is_none_or(|end| end <= forgotten)))
    }

    /// The folder a session ran in. Gemini tells only the hash of it, which known folders are compared with.
    fn folder_of(&self, owner: &OwnerId, meta: &SessionMeta) -> Result<String, EngineError> {
        if !meta.cwd.is_empty() || meta.project_hash.is_empty() {
            return Ok(meta.cwd.clone());
        }
        let projects = self.store().snapshot()?.projects(owner)?;
        let folders = projects.iter().flat_map(|project| {
            project
                .aliases
                .iter()
                .filter_map(|alias| alias.strip_prefix("path:"))
                .chain([project.root.as_str()])
        });
        Ok(folders
            .map(str::to_owned)
            .find(|folder| hex(&Sha256::digest(folder.as_bytes())) == meta.project_hash)
            .unwrap_or_default())
    }
}

/// How a file ends that only tells of the session file beside it.
const BESIDE: &str = ".meta.json";

/// Session files below a folder, and what was not looked at.
#[derive(Default)]
struct Found {
    files: Vec<PathBuf>,
    left_out: u64,
}

impl Found {
    fn leave_out(&mut self, path: &Path, why: &str) {
        tracing::info!(path = %path.display(), why, "left out of an import");
        self.left_out += 1;
    }
}

fn collect(path: &Path, depth: usize, since: Option<Timestamp>, found: &mut Found) {
    if path.is_dir() {
        if depth > MAX_DEPTH {
            return found.leave_out(path, "too deep");
        }
        let Ok(entries) = std::fs::read_dir(path) else { return found.leave_out(path, "unreadable") };
        for entry in entries {
            let Ok(entry) = entry else {
                found.leave_out(path, "an entry is unreadable");
                continue;
            };
            // Links are not followed: they could lead anywhere, or round in circles.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                collect(&entry.path(), depth + 1, since, found);
            }
        }
        return;
    }
    let is_named = depth == 0;
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_beside = path.to_string_lossy().ends_with(BESIDE);
    let is_wanted = path.is_file()
        && (is_named || ENDINGS.contains(&ending) && !is_beside)
        && since.is_none_or(|since| changed_since(path, since));
    match is_wanted {
        true if found.files.len() >= MAX_FILES => found.leave_out(path, "too many files"),
        true => found.files.push(path.to_path_buf()),
        false => {}
    }
}

fn changed_since(path: &Path, since: Timestamp) -> bool {
    let modified = std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let seconds = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|age| age.as_secs());
    seconds.is_some_and(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX) >= since.as_second())
}

fn session_name(meta: &SessionMeta, file: &Path) -> String {
    if meta.session_id.is_empty() {
        file.file_stem().map_or_else(|| "session".to_owned(), |stem| stem.to_string_lossy().into_owned())
    } else {
        meta.session_id.clone()
    }
}

fn agent_of(format: Format) -> AgentRef {
    let harness = match format {
        Format::ClaudeCode => "claude-code",
        Format::Codex => "codex",
        Format::Gemini | Format::GeminiJsonl => "gemini",
        Format::OpenaiMessages => "openai",
        Format::AnthropicMessages => "anthropic",
    };
    AgentRef { id: AgentId::new(harness), name: harness.to_owned(), harness: harness.to_owned() }
}

/// Sub-agents' files are kept and not learned from; runs of scripts are learned from like a person's.
fn kind_of(meta: &SessionMeta) -> SessionKind {
    match meta.entrypoint.as_str() {
        _ if meta.subagent => SessionKind::Subagent,
        "codex_exec" => SessionKind::Headless,
        entry if entry.starts_with("sdk") => SessionKind::Headless,
        _ => SessionKind::Interactive,
    }
}
