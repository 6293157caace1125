//! The folder in which the original office program keeps its memory (S0.8): `memory.json`, `shared.json`, and a file an
//! agent in `sessions/`, `agents/` and `work-state/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Problems;
use super::read::read;
use super::record::Object;

pub(super) const LEGACY: &str = "memory.json";
pub(super) const SHARED: &str = "shared.json";
pub(super) const SESSIONS: &str = "sessions";
pub(super) const AGENTS: &str = "agents";
pub(super) const WORK: &str = "work-state";
/// Files of one folder.
const MAX_FILES: usize = 10_000;
/// Bytes of a file's name.
const MAX_FILE_NAME: usize = 255;

/// The folder itself, or where the program keeps it below its own folder, `~/.bit-office` or `~/.open-office`.
pub(crate) fn root_of(path: &Path) -> Option<PathBuf> {
    places_in(path).into_iter().find(|place| is_root(place))
}

/// The same of a folder that somebody says is one: a part of it is enough.
pub(super) fn root_in(path: &Path) -> Option<PathBuf> {
    let has_part = |place: &PathBuf| [AGENTS, SESSIONS].iter().any(|name| place.join(name).is_dir());
    root_of(path).or_else(|| places_in(path).into_iter().find(has_part))
}

fn places_in(path: &Path) -> [PathBuf; 3] {
    [path.to_owned(), path.join("memory"), path.join("data/memory")]
}

fn is_root(place: &Path) -> bool {
    let has = |name: &str| place.join(name).is_dir();
    // Sessions of other agents lie in folders of that name too, never beside one of these.
    let is_old = || std::fs::metadata(place.join(LEGACY)).is_ok_and(|file| file.is_file());
    place.join(SHARED).is_file() || has(WORK) || (has(AGENTS) && has(SESSIONS)) || is_old()
}

/// A file of the folder.
#[derive(Debug)]
pub(super) struct File {
    /// Its place in the folder, for whoever is told of it.
    pub(super) place: String,
    /// The agent, by the name of the file.
    pub(super) agent: String,
    pub(super) value: Value,
}

/// Everything that could be read of a folder.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) legacy: Option<File>,
    pub(super) shared: Option<File>,
    pub(super) sessions: Vec<File>,
    pub(super) agents: Vec<File>,
    pub(super) works: Vec<File>,
    pub(super) redacted: BTreeMap<String, u64>,
}

impl Tree {
    pub(super) fn read(root: &Path, problems: &mut Problems) -> Self {
        let mut tree = Self::default();
        tree.legacy = tree.file(root, LEGACY, problems);
        tree.shared = tree.file(root, SHARED, problems);
        tree.sessions = tree.folder(root, SESSIONS, problems);
        tree.agents = tree.folder(root, AGENTS, problems);
        tree.works = tree.folder(root, WORK, problems);
        tree
    }

    fn file(&mut self, root: &Path, place: &str, problems: &mut Problems) -> Option<File> {
        let path = root.join(place);
        // A link could lead anywhere.
        let is_there = std::fs::symlink_metadata(&path).ok()?;
        if is_there.is_symlink() {
            problems.name(place, "it is a link and was not followed");
            return None;
        }
        let read = read(&path, &mut self.redacted);
        for problem in read.problems {
            problems.name(place, problem);
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Some(File { place: place.to_owned(), agent: agent_of(stem), value: read.value? })
    }

    fn folder(&mut self, root: &Path, name: &str, problems: &mut Problems) -> Vec<File> {
        let folder = root.join(name);
        if folder.is_symlink() {
            problems.name(name, "it is a link and was not followed");
            return Vec::new();
        }
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                problems.name(name, format!("it cannot be read ({error})"));
                return Vec::new();
            }
        };
        let mut names: Vec<String> = Vec::new();
        for entry in entries.flatten() {
            match entry.file_name().into_string() {
                // The program's own unfinished files end otherwise.
                Ok(file) if file.ends_with(".json") => names.push(file),
                Ok(_) => {}
                Err(file) => problems.name(name, format!("{} is not UTF-8", file.display())),
            }
        }
        names.sort();
        if names.len() > MAX_FILES {
            problems.name(name, format!("only {MAX_FILES} of {} files were read", names.len()));
            names.truncate(MAX_FILES);
        }
        names.iter().filter_map(|file| self.file(root, &format!("{name}/{file}"), problems)).collect()
    }
}

impl File {
    /// The list in a field, its entries with their places; what is no object is named.
    pub(super) fn list<'a>(&'a self, field: &str, problems: &mut Problems) -> Vec<(usize, &'a Object)> {
        let list = match &self.value {
            // An older form held nothing but the list.
            Value::Array(list) => list,
            Value::String(_) | Value::Number(_) | Value::Bool(_) => {
                problems.name(&self.place, "it is no object");
                return Vec::new();
            }
            value => match value.get(field) {
                None | Some(Value::Null) => return Vec::new(),
                Some(Value::Array(list)) => list,
                Some(_) => {
                    problems.name(&self.place, format!("{field} is no list"));
                    return Vec::new();
                }
            },
        };
        let mut found = Vec::new();
        for (at, value) in list.iter().enumerate() {
            match value.as_object() {
                Some(object) => found.push((at, object)),
                None => problems.name(&self.entry(field, at), "it is no object"),
            }
        }
        found
    }

    pub(super) fn entry(&self, field: &str, at: usize) -> String {
        format!("{}: {field}[{at}]", self.place)
    }

    /// What the file says beside these fields.
    pub(super) fn beside(&self, fields: &[&str]) -> Object {
        let mut rest = self.value.as_object().cloned().unwrap_or_default();
        rest.retain(|field, _| !fields.contains(&field.as_str()));
        rest
    }
}

/// The name of an agent's file. Letters that a file's name cannot have, or that would lead elsewhere, are written as
/// `%` and two digits. `None` when the name is too long.
pub(super) fn file_name(agent: &str) -> Option<String> {
    let mut name = String::with_capacity(agent.len() + 5);
    for (at, c) in agent.char_indices() {
        let is_harmless = !(matches!(c, '/' | '\\' | '%') || c.is_control() || (at == 0 && c == '.'));
        if is_harmless {
            name.push(c);
        } else {
            name.extend(c.to_string().bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    name.push_str(".json");
    (name.len() <= MAX_FILE_NAME).then_some(name)
}

/// Turns [`file_name`] round. A name that it would not have made is taken as it is.
fn agent_of(stem: &str) -> String {
    let mut bytes = Vec::with_capacity(stem.len());
    let mut rest = stem.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'%').then(|| std::str::from_utf8(tail.get(..2)?).ok()).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    let agent = String::from_utf8(bytes).unwrap_or_default();
    if file_name(&agent).is_some_and(|name| name.strip_suffix(".json") == Some(stem)) {
        agent
    } else {
        stem.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_an_agent_leads_out_of_its_folder() {
        let table = [
            ("alex-2", "alex-2.json"),
            ("claude-code/Explore", "claude-code%2FExplore.json"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.json"),
            (".", "%2E.json"),
            ("a\\b", "a%5Cb.json"),
            ("50%", "50%25.json"),
            ("亚历克斯", "亚历克斯.json"),
        ];
        for (agent, file) in table {
            assert_eq!(file_name(agent).unwrap(), file);
            assert_eq!(agent_of(file.strip_suffix(".json").unwrap()), agent);
        }
        assert_eq!(file_name(&"a".repeat(251)), None);
        for own in ["50%", "a%zz", "%E4", "100%25x%2"] {
            assert_eq!(agent_of(own), own, "no name of ours");
        }
    }
}
