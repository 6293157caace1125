//! Two sample sessions for machines on which no agent has worked yet.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::CommandError;

/// Files in Claude Code's own form: what goes wrong, what a person wants, what is decided.
const SESSIONS: [(&str, &str); 2] = [
    ("b7c1f0de-0001-4000-8000-000000000001.jsonl", include_str!("../../samples/first-day.jsonl")),
    ("b7c1f0de-0002-4000-8000-000000000002.jsonl", include_str!("../../samples/second-day.jsonl")),
];

/// Writes the samples into a folder of the private home and answers that folder.
pub(super) fn write(home: &Path) -> Result<PathBuf, CommandError> {
    let folder = home.join("samples");
    fs::create_dir_all(&folder).map_err(|error| CommandError::io(folder.display(), &error))?;
    for (name, text) in SESSIONS {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| CommandError::io(path.display(), &error))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_samples_is_a_record_of_their_session() {
        for (name, text) in SESSIONS {
            assert!(text.lines().count() > 5);
            for line in text.lines() {
                let record: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(format!("{}.jsonl", record["sessionId"].as_str().unwrap()), name);
                assert_eq!(record["cwd"], "/home/dev/shop");
            }
        }
    }
}
