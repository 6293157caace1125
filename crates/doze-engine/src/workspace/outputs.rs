//! Bringing the files of one workspace in line with the memories. What is about to be written is noted first, so that
//! a process that is killed in between knows its own again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use doze_core::injected;
use doze_core::model::{Memory, Mode, OwnerId, ProjectId, Scope, Status, hex};
use doze_core::workspace::{Entry, dreaming};
use doze_store::{ChangeSet, Family, Snapshot};
use sha2::{Digest, Sha256};

use super::record::{Record, Written};
use super::{key, subject, within};
use crate::files::read_text;
use crate::recall::with_shown;
use crate::{Engine, EngineError, Problem, encoded};

/// The folders in a workspace, and the file of the one.
const MEMORY: &str = "memory";
const CODING: &str = "coding_memory";
const DREAMING: &str = "DREAMING.md";
/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// The mode of a file that is made, as an editor would make it.
const NEW_MODE: u32 = 0o644;
/// How often a file is read anew because somebody else has just changed it.
const ATTEMPTS: usize = 3;

impl Engine {
    /// Brings one workspace in line with the memories.
    pub(super) fn write_workspace(&self, owner: &OwnerId, mut record: Record) -> Result<(), EngineError> {
        let before = record.clone();
        let snapshot = self.store().snapshot()?;
        let project = self.known_project_of(owner, &record.path)?.id().cloned();
        let mut entries: BTreeMap<Mode, Vec<Entry>> = BTreeMap::new();
        for memory in self.members_of(&snapshot, owner, &mut record, project.as_ref())? {
            entries.entry(record.form_of(memory.id.as_str())).or_default().push(Entry::of(&memory));
        }
        drop(snapshot);
        let (code, agent) = (entries.remove(&Mode::Code), entries.remove(&Mode::Agent));
        let (code, agent) = (code.unwrap_or_default(), agent.unwrap_or_default());
        let wanted: BTreeSet<String> =
            code.iter().map(Entry::file_name).chain(agent.iter().map(|entry| entry.mark().hash)).collect();
        record.declined.retain(|name| wanted.contains(name));
        self.write_dreaming(owner, &mut record, &agent)?;
        self.write_consolidated(owner, &mut record, &code)?;
        for folder in std::mem::take(&mut record.folders) {
            // One that holds anything stays.
            if fs::remove_dir(within(&record.path, &folder)).is_err()
                && within(&record.path, &folder).is_dir()
            {
                record.folders.insert(folder);
            }
        }
        record.problem = None;
        if record == before { Ok(()) } else { self.keep_record(owner, &record, &[]) }
    }

    /// The active memories that the workspace shows: what any dream of the journal changed, and what is known of
    /// earlier ones. Forgotten ones go.
    fn members_of(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        record: &mut Record,
        project: Option<&ProjectId>,
    ) -> Result<Vec<Memory>, EngineError> {
        for dream in snapshot.dreams(owner, usize::MAX)?.iter().rev() {
            for change in dream.changes.iter().filter(|_| !dream.dry_run) {
                let memory = &change.after;
                if !record.members.contains_key(memory.id.as_str()) && belongs(&memory.scope, project) {
                    let mode = mode_of(snapshot, owner, memory)?;
                    record.members.insert(memory.id.to_string(), mode.to_string());
                }
            }
        }
        record.bound();
        let mut shown = Vec::new();
        for id in record.members.keys().cloned().collect::<Vec<_>>() {
            let Some(memory) = snapshot.memory(owner, &id.as_str().into())? else {
                record.members.remove(&id);
                continue;
            };
            // What has no project is no project's: it is shown to assistants, and not in a code base.
            let is_here = match record.form_of(&id) {
                Mode::Code => memory.scope.project().is_some(),
                Mode::Agent => true,
            };
            if memory.status == Status::Active && is_here && belongs(&memory.scope, project) {
                shown.push(memory);
            }
        }
        Ok(shown)
    }

    fn write_dreaming(
        &self,
        owner: &OwnerId,
        record: &mut Record,
        entries: &[Entry],
    ) -> Result<(), EngineError> {
        if entries.is_empty() && record.sections.is_empty() {
            return Ok(());
        }
        let folder = within(&record.path, MEMORY);
        for _ in 0..ATTEMPTS {
            let before = read(&record.path, MEMORY, DREAMING)?;
            let own = record.marks();
            let found = dreaming(before.as_deref().unwrap_or_default(), &own, &[]).found;
            for section in record.sections.iter().filter(|section| section.is_sure) {
                let is_there = found.iter().any(|mark| mark.hash == section.hash);
                if !is_there && entries.iter().any(|entry| entry.mark().hash == section.hash) {
                    record.declined.insert(section.hash.clone());
                }
            }
            let wanted: Vec<Entry> = entries
                .iter()
                .filter(|entry| !record.declined.contains(&entry.mark().hash))
                .cloned()
                .collect();
            let after = dreaming(before.as_deref().unwrap_or_default(), &own, &wanted);
            if before.as_deref().unwrap_or_default() == after.text {
                record.note_sections(&after.standing, true);
                return Ok(());
            }
            record.note_sections(&after.standing, false);
            if !after.text.is_empty() {
                make_folder(record, MEMORY)?;
            }
            self.keep_record(owner, record, &wanted)?;
            // Somebody may have saved the file meanwhile: then their text is what the sections go into.
            if read(&record.path, MEMORY, DREAMING)? != before {
                continue;
            }
            put(&folder.join(DREAMING), &after.text)?;
            record.note_sections(&after.standing, true);
            return Ok(());
        }
        let file = folder.join(DREAMING);
        Err(EngineError::new(Problem::Busy, format!("{} keeps changing", file.display())))
    }

    fn write_consolidated(
        &self,
        owner: &OwnerId,
        record: &mut Record,
        entries: &[Entry],
    ) -> Result<(), EngineError> {
        let wanted: BTreeMap<String, &Entry> =
            entries.iter().map(|entry| (entry.file_name(), entry)).collect();
        let mut due = Vec::new();
        for (name, entry) in &wanted {
            let text = entry.file();
            let known = record.files.get(name);
            match read(&record.path, CODING, name)? {
                // Existing content is not written again; as doze would write it, it is doze's own.
                Some(there) if there == text => {
                    record.files.insert(name.clone(), Written { hash: hash(&there), is_sure: true });
                }
                Some(there) if known.is_some_and(|known| known.hash == hash(&there)) => {}
                Some(_) => {
                    record.files.remove(name);
                }
                None if known.is_some_and(|known| known.is_sure) => {
                    record.files.remove(name);
                    record.declined.insert(name.clone());
                }
                None if record.declined.contains(name) => {}
                None => due.push((name.clone(), *entry, text)),
            }
        }
        if !due.is_empty() {
            make_folder(record, CODING)?;
            for (name, _, text) in &due {
                record.files.insert(name.clone(), Written { hash: hash(text), is_sure: false });
            }
            let entries: Vec<Entry> = due.iter().map(|(_, entry, _)| (*entry).clone()).collect();
            self.keep_record(owner, record, &entries)?;
        }
        for (name, _, text) in &due {
            put(&within(&record.path, CODING).join(name), text)?;
            record.files.insert(name.clone(), Written { hash: hash(text), is_sure: true });
        }
        let surplus: Vec<String> =
            record.files.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
        for name in surplus {
            let there = read(&record.path, CODING, &name)?;
            let known = record.files.remove(&name);
            match there {
                Some(there) if known.is_some_and(|known| known.hash == hash(&there)) => {
                    put(&within(&record.path, CODING).join(&name), "")?;
                }
                Some(_) => {
                    tracing::info!(file = name, workspace = record.path, "Somebody changed a file; it stays")
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Keeps the record, and the words of what is about to be written as words of doze's own.
    fn keep_record(&self, owner: &OwnerId, record: &Record, entries: &[Entry]) -> Result<(), EngineError> {
        let now = self.now();
        let words: String = entries.iter().map(|entry| entry.section() + &entry.file()).collect();
        let hashes = injected::line_hashes(&words);
        let place = self.known_project_of(owner, &record.path)?;
        self.decide("the workspaces keep changing", |snapshot| {
            let mut set = ChangeSet::new(owner.clone()).expect_seen(snapshot, subject(&record.path))?;
            if snapshot.aux(owner, Family::Setting, &key(&record.path))?.is_none() {
                return Err(EngineError::not_found("workspace", &record.path));
            }
            set = with_shown(snapshot, set, &hashes, place.id(), now)?;
            Ok((set.put_aux(Family::Setting, key(&record.path), encoded(record)?), ()))
        })
    }
}

/// Whether a workspace of this project shows what lies in a scope.
fn belongs(scope: &Scope, project: Option<&ProjectId>) -> bool {
    match scope {
        Scope::Project(of) => Some(of) == project,
        Scope::Agent { project: None, .. } | Scope::User => true,
        Scope::Agent { .. } | Scope::Team(_) | Scope::Member { .. } | Scope::Bank => false,
    }
}

/// The mode of the session that a memory came from.
fn mode_of(snapshot: &Snapshot, owner: &OwnerId, memory: &Memory) -> Result<Mode, EngineError> {
    let Some(session) = &memory.source.session else { return Ok(Mode::Code) };
    let harness = memory.source.agent.as_ref().map(|agent| agent.harness.as_str());
    let sessions = snapshot.sessions_named(owner, session)?;
    let of_harness = sessions.iter().find(|session| Some(session.key.harness.as_str()) == harness);
    Ok(of_harness.or(sessions.first()).map_or(Mode::Code, |session| session.mode))
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// A file of a workspace; nothing when there is none. A link leads who knows where, so none is followed.
fn read(path: &str, folder: &str, name: &str) -> Result<Option<String>, EngineError> {
    if !Path::new(path).is_dir() {
        return Err(EngineError::new(Problem::Unavailable, format!("the folder {path} is not there")));
    }
    let folder = within(path, folder);
    let file = folder.join(name);
    for place in [&folder, &file] {
        if fs::symlink_metadata(place).is_ok_and(|place| place.is_symlink()) {
            return Err(EngineError::refused(format!(
                "{} is a link, which is not followed",
                place.display()
            )));
        }
    }
    match read_text(&file, MAX_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", &file, &error)),
    }
}

/// Makes a folder of a workspace where there is none.
fn make_folder(record: &mut Record, folder: &str) -> Result<(), EngineError> {
    let place = within(&record.path, folder);
    match fs::create_dir(&place) {
        Ok(()) => {
            record.folders.insert(folder.to_owned());
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed("made", &place, &error)),
    }
}

/// Writes a file, or takes it away when nothing is left in it.
fn put(file: &Path, text: &str) -> Result<(), EngineError> {
    if !text.is_empty() {
        return doze_files::replace(file, text.as_bytes(), NEW_MODE)
            .map_err(|error| failed("written", file, &error));
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("removed", file, &error)),
        _ => Ok(()),
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> EngineError {
    EngineError::new(Problem::Unavailable, format!("{} cannot be {what} ({error})", path.display()))
}
