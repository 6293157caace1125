//! Copying a memory into a file of instructions that agents read by themselves (S1.38).

use std::path::{Path, PathBuf};
use std::{fs, io};

use doze_core::instructions;
use doze_core::model::{Memory, MemoryId, OwnerId, Status};
use doze_store::{ChangeSet, Family, Snapshot};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::files::read_text;
use crate::names::check_path;
use crate::recall::Reader;
use crate::{Engine, EngineError, Problem, encoded, lock};

/// The files that a memory may be copied into.
const NAMES: &[&str] = &["CLAUDE.md", "AGENTS.md"];
/// The largest file that is changed, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The mode of a file that is made, as an editor would make it.
const NEW_MODE: u32 = 0o644;
/// How often a file is read anew because somebody else has just changed it.
const ATTEMPTS: usize = 3;
/// Files remembered for one memory, the last ones.
const MAX_COPIES: usize = 20;

/// What became of a promotion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promoted {
    /// The file.
    pub path: String,
    /// The line in it.
    pub line: String,
    /// The file was changed; else the line stood in it already.
    pub is_new: bool,
}

/// A file that a memory was copied into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) path: String,
    pub(super) at: Timestamp,
}

impl Engine {
    /// Copies an active memory into a file of instructions: CLAUDE.md or AGENTS.md, at the top of the work tree that the
    /// reader stands in (else of the memory's project), or by its whole path. Only a person may, because every agent
    /// that starts there obeys the file.
    pub fn promote(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        path: &str,
        reader: &Reader,
        by_person: bool,
    ) -> Result<Promoted, EngineError> {
        if !by_person {
            return Err(EngineError::refused("only a person copies a memory into a file of instructions")
                .hint("run `doze promote` in a terminal"));
        }
        let memory = self.memory(owner, id)?;
        if memory.status != Status::Active {
            return Err(EngineError::invalid(format!("memory {id} is {}, not active", memory.status)));
        }
        if !memory.scope.is_recalled() {
            return Err(EngineError::refused(format!(
                "memory {id} is never told unasked, so no file may hold it"
            )));
        }
        let path = self.file_for(owner, &memory, path, reader)?;
        let line = instructions::line(&memory);
        let is_new = {
            let _one_at_a_time = lock(&self.inner.promoting);
            put_line(&path, &line)?
        };
        let path = path.to_string_lossy().into_owned();
        self.note_copy(owner, id, &path)?;
        Ok(Promoted { path, line, is_new })
    }

    fn file_for(
        &self,
        owner: &OwnerId,
        memory: &Memory,
        path: &str,
        reader: &Reader,
    ) -> Result<PathBuf, EngineError> {
        check_path("path", path)?;
        let given = Path::new(path);
        let name = given.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !NAMES.contains(&name) {
            return Err(EngineError::invalid(
                "path is neither CLAUDE.md nor AGENTS.md, nor a path that ends so",
            ));
        }
        let place = match (given.is_absolute(), &reader.cwd) {
            (true, _) => {
                let folder = given.parent().unwrap_or(Path::new("/")).to_string_lossy();
                self.known_project_of(owner, &folder)?
            }
            (false, _) if path != name => {
                return Err(EngineError::invalid("path is neither a bare name nor a whole path"));
            }
            (false, Some(cwd)) => self.known_project_of(owner, cwd)?,
            (false, None) => {
                let project = memory.scope.project();
                let project = project.ok_or_else(|| EngineError::invalid("cwd is missing"))?;
                let reader = Reader { project: Some(project.to_string()), ..Reader::default() };
                let place = self.place_of_reader(owner, &reader)?;
                place.ok_or_else(|| EngineError::invalid("cwd is missing"))?
            }
        };
        // What is the user's goes anywhere; what is a project's stays in it.
        if let Some(project) = memory.scope.project()
            && place.id() != Some(project)
        {
            return Err(EngineError::refused(format!(
                "{path} is not in the project of memory {}",
                memory.id
            ))
            .hint("go to that project, or name the file there by its whole path"));
        }
        let file = if given.is_absolute() { given.to_owned() } else { Path::new(&place.top).join(name) };
        self.check_target(owner, memory, &file)?;
        Ok(file)
    }

    /// A link may lead elsewhere: what is a project's stays in it there too, and nothing goes into a repository's own
    /// folder.
    fn check_target(&self, owner: &OwnerId, memory: &Memory, file: &Path) -> Result<(), EngineError> {
        let target = doze_files::behind_links(file);
        let is_of_git = |path: &Path| {
            path.components().any(|part| part.as_os_str().to_string_lossy().eq_ignore_ascii_case(".git"))
        };
        let folder = target.parent().unwrap_or(Path::new("/"));
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        if is_of_git(file) || is_of_git(&folder) {
            return Err(EngineError::refused(format!(
                "{} lies in a repository's own folder, where no agent reads it",
                file.display()
            ))
            .hint("name the file beside .git"));
        }
        let Some(project) = memory.scope.project() else { return Ok(()) };
        let place = self.known_project_of(owner, &folder.to_string_lossy());
        if place.is_ok_and(|place| place.id() == Some(project)) {
            return Ok(());
        }
        Err(EngineError::refused(format!(
            "{} leads to {}, which is not in the project of memory {}",
            file.display(),
            target.display(),
            memory.id
        ))
        .hint("put a file in the place of the link, or add the line by hand"))
    }

    /// Remembers where a memory was copied to, for `why`.
    fn note_copy(&self, owner: &OwnerId, id: &MemoryId, path: &str) -> Result<(), EngineError> {
        self.change_memory(owner, id, |snapshot, _| {
            let mut copies = copies_of(snapshot, owner, id)?;
            copies.retain(|copy| copy.path != path);
            copies.push(Copy { path: path.to_owned(), at: self.now() });
            let surplus = copies.len().saturating_sub(MAX_COPIES);
            let kept = encoded(&copies[surplus..].to_vec())?;
            Ok((ChangeSet::new(owner.clone()).put_aux(Family::Other, copies_key(id), kept), ()))
        })
    }
}

/// The files that a memory was copied into, the last one last.
pub(super) fn copies_of(
    snapshot: &Snapshot,
    owner: &OwnerId,
    id: &MemoryId,
) -> Result<Vec<Copy>, EngineError> {
    let bytes = snapshot.aux(owner, Family::Other, &copies_key(id))?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default())
}

/// The key of the record that tells where a memory was copied to.
pub(crate) fn copies_key(id: &MemoryId) -> String {
    format!("promoted:{id}")
}

/// Puts the line into the file. False when it stood there.
fn put_line(path: &Path, line: &str) -> Result<bool, EngineError> {
    let target = doze_files::behind_links(path);
    // A link may lead anywhere, and a line must not become a command of somebody's shell.
    if !target.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md")) {
        return Err(EngineError::refused(format!("{} is a link to no Markdown file", path.display())));
    }
    for _ in 0..ATTEMPTS {
        let before = read(&target)?;
        let Some(after) = instructions::with_line(before.as_deref().unwrap_or_default(), line) else {
            return Ok(false);
        };
        // Somebody may have saved the file meanwhile: then their text is what the line goes into.
        if read(&target)? != before {
            continue;
        }
        return match doze_files::replace(&target, after.as_bytes(), NEW_MODE) {
            Ok(()) => Ok(true),
            Err(error) => Err(failed("written", &target, &error)),
        };
    }
    Err(EngineError::new(Problem::Busy, format!("{} keeps changing", target.display())).hint("try again"))
}

/// The file's text; nothing when there is none.
fn read(path: &Path) -> Result<Option<String>, EngineError> {
    match read_text(path, MAX_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.parent().is_some_and(Path::is_dir) => {
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().unwrap_or(path).display();
            Err(EngineError::invalid(format!("there is no folder {folder}"))
                .hint("make it first, or name a file in a folder that is there"))
        }
        Err(error) => Err(failed("read", path, &error)),
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> EngineError {
    let problem = match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::Refused,
        io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Problem::Invalid
        }
        _ => Problem::Unavailable,
    };
    EngineError::new(problem, format!("{} was left as it is: it cannot be {what} ({error})", path.display()))
        .hint("put that right, or add the line by hand")
}
