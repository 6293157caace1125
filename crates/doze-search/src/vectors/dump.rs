//! A graph on disk, so that a start need not build it. It is derived: whatever is not exactly as it was written is
//! passed over and built anew. The library behind it panics and exits on damaged files, so none is handed to it whose
//! checksum does not hold.

use std::fs::{self, File};
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use hnsw_rs::api::AnnT;
use hnsw_rs::hnswio::HnswIo;
use serde::{Deserialize, Serialize};

use super::graph::{CosineDistance, Graph, GraphDoc, crc};
use super::table::Table;

/// Changes with the meaning of the files.
const FORMAT: u32 = 1;
/// The folder of a complete dump, inside the folder handed in.
const CURRENT: &str = "graph";
/// The folder of one that is being written.
const NEW: &str = "graph.new";
const MANIFEST: &str = "manifest.json";
/// The name the library puts before its own endings.
const BASENAME: &str = "nodes";

/// What the other files must be.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    dim: usize,
    /// Name, length and CRC-32 of every file.
    files: Vec<(String, u64, u32)>,
    /// Owner and id, CRC-32 and number of nodes of every document, in the order of their nodes.
    docs: Vec<(String, u32, u32)>,
}

/// Writes the graph into a new folder, syncs it and puts it in the place of the old one.
pub(super) fn dump(graph: &Graph, dim: usize, dir: &Path) -> io::Result<()> {
    let new = dir.join(NEW);
    remove(&new)?;
    fs::create_dir_all(&new)?;
    // The library panics when it cannot create a file.
    let written = catch_unwind(AssertUnwindSafe(|| graph.hnsw.file_dump(&new, BASENAME)));
    written.map_err(|_| io::Error::other("the graph cannot be written"))?.map_err(io::Error::other)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(&new)? {
        let entry = entry?;
        let (length, crc) = checksum(&entry.path())?;
        File::open(entry.path())?.sync_all()?;
        files.push((entry.file_name().to_string_lossy().into_owned(), length, crc));
    }
    let docs = graph.docs.iter().map(|doc| (doc.key.clone(), doc.crc, doc.nodes.len() as u32)).collect();
    let mut manifest = serde_json::to_vec(&Manifest { format: FORMAT, dim, files, docs })?;
    manifest.extend_from_slice(format!("\n{:08x}", crc32fast::hash(&manifest)).as_bytes());
    let path = new.join(MANIFEST);
    fs::write(&path, manifest)?;
    File::open(&path)?.sync_all()?;
    File::open(&new)?.sync_all()?;
    remove(&dir.join(CURRENT))?;
    fs::rename(&new, dir.join(CURRENT))?;
    File::open(dir)?.sync_all()
}

/// Loads the dump in `dir` for the vectors in the table; documents that have other vectors now are left out of it.
/// `None` when there is no dump or it is not what was written.
pub(super) fn load(dir: &Path, table: &Table) -> Option<Graph> {
    let folder = dir.join(CURRENT);
    let manifest = read_manifest(&folder.join(MANIFEST))?;
    let is_whole = manifest.format == FORMAT
        && manifest.dim == table.dim
        && manifest.files.iter().all(|(name, length, crc)| {
            // A name is one of ours, never a path.
            !name.contains(['/', '\\']) && checksum(&folder.join(name)).ok() == Some((*length, *crc))
        });
    if !is_whole {
        tracing::warn!(dir = %folder.display(), "the graph of vectors is damaged and is built anew");
        return None;
    }
    // The graph borrows its loader for good; a process loads one graph, so this is kept until it ends.
    let loader: &'static HnswIo = Box::leak(Box::new(HnswIo::new(&folder, BASENAME)));
    let loaded = catch_unwind(AssertUnwindSafe(|| loader.load_hnsw_with_dist(CosineDistance::new())));
    let hnsw = loaded.ok()?.ok()?;
    let mut docs = Vec::with_capacity(manifest.docs.len());
    let mut next = 0u32;
    for (key, stored, nodes) in manifest.docs {
        let place = table.place(&key).filter(|&place| crc(table, place) == stored);
        // No document of the table has the last serial: one that changed is never found.
        let serial = place.map_or(u64::MAX, |place| table.entry(place).serial);
        let end = next.checked_add(nodes)?;
        docs.push(GraphDoc { key, crc: stored, nodes: next..end, serial });
        next = end;
    }
    (hnsw.get_nb_point() == next as usize).then(|| Graph::new(hnsw, docs))
}

fn read_manifest(path: &Path) -> Option<Manifest> {
    let bytes = fs::read(path).ok()?;
    let (json, sum) = bytes.split_at_checked(bytes.len().checked_sub(9)?)?;
    let is_sound = sum == format!("\n{:08x}", crc32fast::hash(json)).as_bytes();
    is_sound.then(|| serde_json::from_slice(json).ok()).flatten()
}

/// Length and CRC-32 of a file.
fn checksum(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = File::open(path)?;
    let mut hash = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((length, hash.finalize()));
        }
        hash.update(&buffer[..read]);
        length += read as u64;
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
