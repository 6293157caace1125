//! Opening files that somebody else may have put in the way: only regular files, never waiting, never without end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file. A pipe or device is refused instead of waited for.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// The beginning of a regular file as text; empty when it cannot be read.
pub(crate) fn read_start(path: &Path, max_bytes: u64) -> String {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|file| file.take(max_bytes).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
