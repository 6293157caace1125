//! Folders that nobody else may look into.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Why a folder is not private.
#[derive(Debug, thiserror::Error)]
pub enum PrivateDirError {
    /// It cannot be made or looked at.
    #[error("cannot use the folder {}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else made it.
    #[error("{} belongs to user {owner}, not to {uid}", path.display())]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        uid: u32,
    },
    /// It is a link or a file.
    #[error("{} is not a folder", path.display())]
    NotADir {
        /// The path.
        path: PathBuf,
    },
    /// Others may enter it.
    #[error("{} can be entered by others (mode {mode:03o})", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

/// Makes the folder and its parents with mode 0700, or closes one of ours that was open to others.
pub fn create_private_dir(path: &Path) -> Result<(), PrivateDirError> {
    let failed = |source| PrivateDirError::Io { path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
    match check_private_dir(path) {
        Err(PrivateDirError::Open { .. }) => {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
            check_private_dir(path)
        }
        other => other,
    }
}

/// Whether the folder is ours alone. A link is no folder: in a place such as `/tmp` anybody may have put it there.
pub fn check_private_dir(path: &Path) -> Result<(), PrivateDirError> {
    let meta = std::fs::symlink_metadata(path)
        .map_err(|source| PrivateDirError::Io { path: path.to_owned(), source })?;
    if !meta.is_dir() {
        return Err(PrivateDirError::NotADir { path: path.to_owned() });
    }
    let uid = rustix::process::geteuid().as_raw();
    if meta.uid() != uid {
        return Err(PrivateDirError::Owner { path: path.to_owned(), owner: meta.uid(), uid });
    }
    match meta.mode() & 0o777 {
        mode if mode & 0o077 != 0 => Err(PrivateDirError::Open { path: path.to_owned(), mode }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_private_and_links_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join("a/b");
        create_private_dir(&made).unwrap();
        assert_eq!(std::fs::metadata(&made).unwrap().mode() & 0o777, 0o700);

        std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(check_private_dir(&made), Err(PrivateDirError::Open { mode: 0o755, .. })));
        create_private_dir(&made).unwrap();
        check_private_dir(&made).unwrap();

        let link = root.path().join("link");
        std::os::unix::fs::symlink(&made, &link).unwrap();
        assert!(matches!(check_private_dir(&link), Err(PrivateDirError::NotADir { .. })));
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(create_private_dir(&file).is_err());
    }
}
