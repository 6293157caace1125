//! Replacing files that belong to somebody else: settings, configuration, instructions for agents. A file is there
//! whole or not at all, a link stays a link, and an existing file keeps its mode.
//!
//! This crate decides nothing: not where a file lies, not what stands in it, and it makes no folder.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Links followed one after another before a chain counts as endless.
const MAX_LINKS: usize = 16;

/// Tells the temporary files of one process apart.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// The file behind a link, which need not exist yet.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => break,
        }
    }
    fs::canonicalize(&target).unwrap_or(target)
}

/// Replaces a file, or makes it with the mode `new_mode`, in a folder that exists. The file is synced before it takes
/// its name. A file that its owner has made read-only is [`io::ErrorKind::PermissionDenied`].
pub fn replace(path: &Path, bytes: &[u8], new_mode: u32) -> io::Result<()> {
    let target = behind_links(path);
    let mode = match fs::metadata(&target) {
        Ok(metadata) if metadata.permissions().mode() & 0o200 == 0 => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => new_mode,
    };
    let folder = target.parent().unwrap_or(Path::new("/"));
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    // Not made of the target's name, which may be as long as names can be.
    let temporary = folder.join(format!(".doze-{}-{write}", std::process::id()));
    let written = fill(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The first error is the one that counts.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The rename is durable with its folder; where folders cannot be synced it is as durable as it gets.
    File::open(folder).and_then(|folder| folder.sync_all()).or(Ok(()))
}

fn fill(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    // Left over by a process of the same number that was killed; a link that somebody put there is not followed.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_has_the_mode_it_is_given_and_an_old_one_keeps_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        replace(&file, b"1", 0o600).unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"2", 0o600).unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o640, b"2".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_link_stays_a_link_whether_its_file_is_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("real")).unwrap();
        symlink("second", path("first")).unwrap();
        symlink("real/file", path("second")).unwrap();
        for text in [b"made", b"anew"] {
            replace(&path("first"), text, 0o600).unwrap();
            assert_eq!(fs::read(path("real/file")).unwrap(), text);
        }
        assert!(
            ["first", "second"].iter().all(|name| fs::symlink_metadata(path(name)).unwrap().is_symlink())
        );
    }

    #[test]
    fn what_cannot_be_written_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "kept").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        assert_eq!(replace(&file, b"x", 0o600).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        assert_eq!(
            replace(&folder.path().join("none/a"), b"x", 0o600).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        let inner = folder.path().join("folder");
        fs::create_dir(&inner).unwrap();
        assert!(replace(&inner, b"x", 0o600).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside them");
    }
}
