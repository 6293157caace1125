//! What a person noted of a session.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// Whether the rules were tuned on a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// They were.
    Tuned,
    /// It is looked at by its counts alone.
    Blind,
}

/// A labelled session: the file and what a reader found in it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Labelled {
    pub(crate) id: String,
    /// Below `tests/testdata/sessions`, or `eval/sessions` where it was shortened.
    pub(crate) file: String,
    pub(crate) language: String,
    pub(crate) notes: Vec<Note>,
    pub(crate) negatives: Vec<Negative>,
    #[serde(default)]
    pub(crate) questions: Vec<Asked>,
    #[serde(skip, default = "tuned")]
    pub(crate) part: Part,
}

/// A thing worth remembering.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Note {
    pub(crate) kind: String,
    pub(crate) text: String,
    /// Physical lines of the file, from 1, that prove it.
    pub(crate) evidence: Vec<usize>,
}

/// A question that a later session may ask.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Asked {
    pub(crate) q: String,
    /// The note that answers it, if the session answers it.
    pub(crate) note: Option<usize>,
}

/// A sentence that looks like a memory and is none.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Negative {
    /// The line where it stands.
    pub(crate) line: usize,
    pub(crate) text: String,
}

fn tuned() -> Part {
    Part::Tuned
}

/// All labelled sessions, the tuned ones first.
pub(crate) fn all(root: &Path) -> Result<Vec<Labelled>, String> {
    let mut all = Vec::new();
    for (folder, part) in [("tuned", Part::Tuned), ("blind", Part::Blind)] {
        let folder = root.join("eval/extraction").join(folder);
        let said = |error: std::io::Error| format!("{}: {error}", folder.display());
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).map_err(said)? {
            paths.push(entry.map_err(said)?.path());
        }
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let labelled: Labelled =
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            all.push(Labelled { part, ..labelled });
        }
    }
    Ok(all)
}
