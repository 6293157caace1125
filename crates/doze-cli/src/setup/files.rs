//! Reading and writing files that belong to other programs: whole or not at all, through links, with their mode.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use doze_files::behind_links;
use doze_protocol::Exit;

use super::jsonc::MAX_BYTES;
use crate::error::CommandError;

/// The mode of a file that did not exist: settings may hold tokens.
const NEW_MODE: u32 = 0o600;

/// Reads a settings file; nothing when there is none. What cannot be read is left alone.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        CommandError::new(Exit::Config, format!("{} was left as it is: {why}", path.display()))
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !metadata.is_file() {
        return Err(unreadable(&"it is not a file"));
    }
    if metadata.len() > MAX_BYTES as u64 {
        return Err(unreadable(&"it is larger than 4 MiB"));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map(Some).map_err(|_| unreadable(&"it is not UTF-8"))
}

/// Writes a file whole or not at all, in a folder that is made if it is not there. A file that its owner has made
/// read-only is refused.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let target = behind_links(path);
    let made = fs::create_dir_all(target.parent().unwrap_or(Path::new("/")));
    match made.and_then(|()| doze_files::replace(&target, bytes, NEW_MODE)) {
        Err(error) if fs::metadata(&target).is_ok_and(|meta| meta.mode() & 0o200 == 0) => {
            Err(CommandError::new(Exit::Refused, format!("{}: {error}", target.display()))
                .hint("make it writable, or add the hooks by hand: doze setup --dry-run shows them"))
        }
        result => result.map_err(|error| CommandError::io(target.display(), &error)),
    }
}

/// Removes a file, and what a link points to rather than the link; one that is not there is removed already.
pub(crate) fn remove(path: &Path) -> Result<(), CommandError> {
    let target = behind_links(path);
    match fs::remove_file(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CommandError::io(target.display(), &error))
        }
        _ => Ok(()),
    }
}

/// Refuses to go on as root where a folder, or the nearest one above it that exists, belongs to another user: files
/// written there would lock their owner out.
pub(crate) fn refuse_foreign_home(folder: &Path) -> Result<(), CommandError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner =
        folder.ancestors().find_map(|folder| fs::metadata(folder).ok()).map(|metadata| metadata.uid());
    match owner {
        Some(owner) if owner != 0 => Err(CommandError::new(
            Exit::Refused,
            format!("{} belongs to user {owner}, not to root", folder.display()),
        )
        .hint("run doze as that user; nothing was written")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/settings.json");
        write(&file, b"1").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        write(&file, b"2").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(read(&file).unwrap().as_deref(), Some("2"));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (link, target) = (folder.path().join("settings.json"), folder.path().join("dotfiles/s.json"));
        symlink("dotfiles/s.json", &link).unwrap();
        assert_eq!(read(&link).unwrap(), None);
        write(&link, b"{}").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"{}");
        remove(&link).unwrap();
        assert!(!target.exists() && fs::symlink_metadata(&link).is_ok());
    }

    #[test]
    fn what_cannot_be_read_or_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        fs::write(&file, b"\xFF").unwrap();
        let error = read(&file).unwrap_err();
        assert_eq!(error.exit, Exit::Config);
        assert!(
            error.message.contains("settings.json") && error.message.contains("not UTF-8"),
            "{}",
            error.message
        );
        assert_eq!(read(folder.path()).unwrap_err().exit, Exit::Config);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(write(&file, b"x").unwrap_err().exit, Exit::Refused);
        assert_eq!(fs::read(&file).unwrap(), b"\xFF");
    }
}
