//! A model on disk: its files, and the hash that each of them had when it came.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use doze_core::model::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "manifest.json";
/// Bytes of a manifest that are read.
const MAX_MANIFEST: u64 = 64 << 10;

/// What the files beside it must be.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    /// The archive's hash.
    archive: String,
    files: BTreeMap<String, String>,
}

/// Writes down what has been unpacked.
pub(super) fn write(folder: &Path, archive: &str, files: BTreeMap<String, String>) -> io::Result<()> {
    let manifest = serde_json::to_vec_pretty(&Manifest { archive: archive.to_owned(), files })?;
    let path = folder.join(MANIFEST);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(&manifest)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()
}

/// The files of this archive, if all are there, none has changed and together they have no more than `max_bytes`. The
/// bytes that are given are those that were checked.
pub(super) fn read(folder: &Path, archive: &str, max_bytes: u64) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut text = String::new();
    open(&folder.join(MANIFEST))?.take(MAX_MANIFEST).read_to_string(&mut text).ok()?;
    let manifest: Manifest =
        serde_json::from_str(&text).ok().filter(|found: &Manifest| found.archive == archive)?;
    let mut files = BTreeMap::new();
    let mut left = max_bytes;
    for (name, hash) in manifest.files {
        if name.contains('/') {
            return None;
        }
        let mut bytes = Vec::new();
        // One more than may be, so that what is too long is seen to be.
        open(&folder.join(&name))?.take(left.saturating_add(1)).read_to_end(&mut bytes).ok()?;
        left = left.checked_sub(bytes.len() as u64)?;
        if hex(&Sha256::digest(&bytes)) != hash {
            return None;
        }
        files.insert(name, bytes);
    }
    Some(files)
}

/// A file that is one, and no link to one.
fn open(path: &Path) -> Option<File> {
    fs::symlink_metadata(path).ok()?.is_file().then(|| File::open(path).ok())?
}
