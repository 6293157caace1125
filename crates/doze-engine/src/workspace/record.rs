//! What doze remembers of a workspace: which memories belong there, and what of its own stands there.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::Mode;
use doze_core::workspace::Mark;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Memories that one workspace shows at most, the newest.
const MAX_MEMBERS: usize = 5_000;

/// A workspace as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) path: String,
    #[serde(default)]
    pub(super) mode: Option<String>,
    pub(super) added_at: Timestamp,
    /// Memories that dreams changed, each with the mode of the session it came from.
    #[serde(default)]
    pub(super) members: BTreeMap<String, String>,
    /// Sections of doze's own in `DREAMING.md`.
    #[serde(default)]
    pub(super) sections: Vec<Section>,
    /// Files of doze's own, by name.
    #[serde(default)]
    pub(super) files: BTreeMap<String, Written>,
    /// Sections and files that somebody took out or changed. They are not written again.
    #[serde(default)]
    pub(super) declined: BTreeSet<String>,
    /// Folders that doze made, which go when they are empty.
    #[serde(default)]
    pub(super) folders: BTreeSet<String>,
    #[serde(default)]
    pub(super) problem: Option<String>,
}

/// A section that doze wrote, or was about to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Section {
    pub(super) lines: usize,
    pub(super) hash: String,
    /// It stood there for sure.
    pub(super) is_sure: bool,
}

/// A file that doze wrote, or was about to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Written {
    /// The SHA-256 of its bytes.
    pub(super) hash: String,
    /// It stood there for sure.
    pub(super) is_sure: bool,
}

impl Record {
    pub(super) fn new(path: String, added_at: Timestamp) -> Self {
        Self {
            path,
            mode: None,
            added_at,
            members: BTreeMap::new(),
            sections: Vec::new(),
            files: BTreeMap::new(),
            declined: BTreeSet::new(),
            folders: BTreeSet::new(),
            problem: None,
        }
    }

    pub(super) fn mode(&self) -> Option<Mode> {
        self.mode.as_deref().and_then(|mode| mode.parse().ok())
    }

    pub(super) fn entries(&self) -> u64 {
        (self.sections.len() + self.files.len()) as u64
    }

    /// The form in which a member is shown.
    pub(super) fn form_of(&self, id: &str) -> Mode {
        let own = || self.members.get(id).and_then(|mode| mode.parse().ok());
        self.mode().or_else(own).unwrap_or(Mode::Code)
    }

    /// Drops the oldest members beyond the bound: ids begin with the time.
    pub(super) fn bound(&mut self) {
        while self.members.len() > MAX_MEMBERS {
            self.members.pop_first();
        }
    }

    /// The marks of all sections that may stand in the file.
    pub(super) fn marks(&self) -> BTreeSet<Mark> {
        self.sections.iter().map(|one| Mark { lines: one.lines, hash: one.hash.clone() }).collect()
    }

    /// Notes sections: those that are new stand there only once the file is written.
    pub(super) fn note_sections(&mut self, marks: &BTreeSet<Mark>, is_sure: bool) {
        let section = |mark: &Mark| Section { lines: mark.lines, hash: mark.hash.clone(), is_sure };
        if is_sure {
            self.sections = marks.iter().map(section).collect();
            return;
        }
        let known = self.marks();
        self.sections.extend(marks.difference(&known).map(section));
    }
}
