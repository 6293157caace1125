//! Takes the files of a model out of an archive. No name in it decides where anything is written.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use doze_core::model::hex;
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use tar::{Archive, Entry, EntryType};

/// The ending of a model's graph.
pub(super) const MODEL: &str = ".onnx";
/// The tokenizer's name.
pub(super) const TOKENIZER: &str = "tokenizer.json";
/// What a model needs or may have beside its graph.
const OTHERS: [&str; 4] = [TOKENIZER, "config.json", "special_tokens_map.json", "tokenizer_config.json"];
/// Endings of weights that lie outside the graph.
const WEIGHTS: [&str; 2] = [".onnx.data", ".onnx_data"];
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Writes the model's files into `folder`, each for its owner alone, and gives their hashes; the error completes
/// "the model cannot be fetched: …". More than `max_bytes` are not unpacked.
pub(super) fn unpack(
    mut archive: &File,
    folder: &Path,
    max_bytes: u64,
) -> Result<BTreeMap<String, String>, String> {
    let damaged = |error: io::Error| {
        format!("the archive is damaged or unpacks to more than {max_bytes} bytes: {error}")
    };
    let mut magic = [0; 2];
    archive.seek(SeekFrom::Start(0)).and_then(|_| archive.read(&mut magic)).map_err(damaged)?;
    archive.seek(SeekFrom::Start(0)).map_err(damaged)?;
    let bytes: Box<dyn Read> =
        if magic == GZIP { Box::new(MultiGzDecoder::new(archive)) } else { Box::new(archive) };
    let mut hashes = BTreeMap::new();
    for entry in Archive::new(bytes.take(max_bytes)).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let Some(name) = wanted(&entry)? else { continue };
        if hashes.contains_key(&name) {
            return Err(format!("the archive has two files {name}"));
        }
        let hash = write(&mut entry, &folder.join(&name)).map_err(damaged)?;
        hashes.insert(name, hash);
    }
    match hashes.keys().filter(|name| name.ends_with(MODEL)).count() {
        1 if hashes.contains_key(TOKENIZER) => Ok(hashes),
        1 => Err(format!("the archive has no {TOKENIZER}")),
        0 => Err(format!("the archive has no *{MODEL} file; it must be a .tar.gz or .tar")),
        _ => Err(format!("the archive has more than one *{MODEL} file")),
    }
}

/// The name under which an entry is kept, if it is; an entry that no archive of a model has is an error.
fn wanted(entry: &Entry<'_, impl Read>) -> Result<Option<String>, String> {
    let path = entry.path().map_err(|error| format!("a name in the archive cannot be read: {error}"))?;
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("the archive has a path that leaves it: {}", shown(&path)));
    }
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => {}
        EntryType::Directory | EntryType::XGlobalHeader => return Ok(None),
        _ => return Err(format!("the archive has something that is no file: {}", shown(&path))),
    }
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
    let is_wanted =
        OTHERS.contains(&name) || name.ends_with(MODEL) || WEIGHTS.iter().any(|end| name.ends_with(end));
    // What macOS puts beside files has their names with this before it.
    Ok((is_wanted && !name.starts_with('.')).then(|| name.to_owned()))
}

fn write(from: &mut impl Read, path: &Path) -> io::Result<String> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        file.write_all(&buffer[..read])?;
    }
    file.sync_all()?;
    Ok(hex(&hash.finalize()))
}

fn shown(path: &Path) -> String {
    doze_core::text::one_line(doze_core::text::cut(&path.to_string_lossy(), 100))
}
