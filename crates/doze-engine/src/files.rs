//! Opening files that somebody else may have put in the way: only regular files, never waiting, never without end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// A regular file as text, whole. A longer one than `max_bytes` is an error and not read to its end.
pub fn read_text(path: &Path, max_bytes: u64) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.take(max_bytes.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is longer than {max_bytes} bytes"),
        ));
    }
    Ok(text)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_of_bounded_length_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("short"), "ü = 1").unwrap();
        assert_eq!(read_text(&path("short"), 6).unwrap(), "ü = 1");
        assert_eq!(read_text(&path("short"), 5).unwrap_err().to_string(), "it is longer than 5 bytes");
        assert_eq!(read_start(&path("short"), 3), "ü ");
        assert_eq!(read_text(&path("none"), 9).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A hole: a gigabyte that costs no disk.
        File::create(path("huge")).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(read_text(&path("huge"), 100).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("device")).unwrap();
        for odd in [path("pipe"), path("device"), folder.path().to_path_buf()] {
            assert_eq!(read_text(&odd, 9).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{odd:?}");
            assert_eq!(read_start(&odd, 9), "");
        }
    }
}
