//! Folder names in one form, and folders that are never projects (`R15`).

use std::path::{Component, Path, PathBuf};

/// One spelling for a folder: drive letters and WSL mounts alike, no trailing slash, no `.` or `..`, and symlinks
/// resolved where the folder exists.
pub(crate) fn normalise(cwd: &str) -> String {
    let unix = from_drive(cwd.trim());
    let path = Path::new(&unix);
    if !path.is_absolute() {
        return unix;
    }
    let resolved = path.canonicalize().unwrap_or_else(|_| lexical(path));
    let text = resolved.to_string_lossy().into_owned();
    if text.len() > 1 { text.trim_end_matches('/').to_owned() } else { text }
}

/// `C:\Users\dev`, `C:/Users/dev` and `/mnt/c/Users/dev` are the same folder.
fn from_drive(cwd: &str) -> String {
    let bytes = cwd.as_bytes();
    let is_drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    if !is_drive || bytes.get(2).is_some_and(|b| *b != b'\\' && *b != b'/') {
        return cwd.to_owned();
    }
    let drive = cwd[..1].to_ascii_lowercase();
    let rest = cwd[2..].replace('\\', "/");
    format!("/mnt/{drive}/{}", rest.trim_start_matches('/'))
}

fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Folders of the system, in which plain folders are nobody's projects.
const SYSTEM_FOLDERS: &[&str] = &["/proc", "/sys", "/dev", "/run", "/etc", "/private/tmp", "/var/folders"];

/// Folders that hold what does not belong together: somebody may work in one, but what lies below is its own.
const SYSTEM_ROOTS: &[&str] = &[
    "/opt",
    "/srv",
    "/usr",
    "/usr/local",
    "/usr/src",
    "/var",
    "/var/lib",
    "/var/www",
    "/lib",
    "/media",
    "/Volumes",
    "/Library",
    "/Applications",
    "/System",
    "/private",
];

/// The root, the home folder and the folders for temporary files: not even a repository in one makes it a project.
pub(super) fn is_never_a_project(folder: &Path, home: Option<&str>, temp_roots: &[String]) -> bool {
    folder.parent().is_none()
        || home.is_some_and(|home| Path::new(home) == folder)
        || temp_roots.iter().any(|root| Path::new(root) == folder)
}

/// The folders above a plain folder whose project it may belong to, the nearest first: up to the home folder, a folder
/// for temporary files or one of the system's.
pub(super) fn above(folder: &str, home: Option<&str>, temp_roots: &[String]) -> Vec<String> {
    Path::new(folder)
        .ancestors()
        .skip(1)
        .map(|folder| folder.to_string_lossy().into_owned())
        .take_while(|folder| {
            may_be_project(folder, home, temp_roots) && !SYSTEM_ROOTS.contains(&folder.as_str())
        })
        .collect()
}

/// Whether a plain folder (no git work tree) can be a project: `/`, home folders, temporary folders and relative
/// names cannot. A temporary folder is a temp root or a folder made directly in one.
pub(super) fn may_be_project(folder: &str, home: Option<&str>, temp_roots: &[String]) -> bool {
    let path = Path::new(folder);
    if !path.is_absolute() || path.parent().is_none() || home == Some(folder) {
        return false;
    }
    if SYSTEM_FOLDERS.iter().any(|system| is_within(folder, system)) {
        return false;
    }
    let parent = path.parent().map(|parent| parent.to_string_lossy().into_owned()).unwrap_or_default();
    let is_temporary = temp_roots.iter().any(|root| root == folder || *root == parent);
    !is_temporary && !is_some_home(folder) && !matches!(folder, "/home" | "/Users" | "/mnt" | "/root")
}

/// Home folders of other machines, seen in imported transcripts.
fn is_some_home(folder: &str) -> bool {
    let parts: Vec<&str> = folder.split('/').skip(1).collect();
    match parts.as_slice() {
        ["mnt", drive] => drive.len() == 1,
        [homes, _] => homes.eq_ignore_ascii_case("home") || homes.eq_ignore_ascii_case("users"),
        ["mnt", drive, users] | ["mnt", drive, users, _] => {
            drive.len() == 1 && users.eq_ignore_ascii_case("users")
        }
        _ => false,
    }
}

/// Whether `folder` is `root` or lies below it; `/a/foobar` does not lie below `/a/foo`.
pub(super) fn is_within(folder: &str, root: &str) -> bool {
    folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_folder_meet() {
        for (given, expected) in [
            ("C:\\Users\\dev\\app", "/mnt/c/Users/dev/app"),
            ("c:/Users/dev/app/", "/mnt/c/Users/dev/app"),
            ("/mnt/c/Users/dev/app", "/mnt/c/Users/dev/app"),
            ("/nowhere/a/../b/./c/", "/nowhere/b/c"),
            ("/", "/"),
        ] {
            assert_eq!(normalise(given), expected, "{given}");
        }
    }

    #[test]
    fn roots_homes_and_temporary_folders_are_no_projects() {
        let temp = ["/tmp".to_owned()];
        for folder in [
            "/",
            "/tmp",
            "/tmp/x1",
            "/home/dev",
            "/home",
            "/root",
            "/Users/dev",
            "/mnt/c/Users/dev",
            "rel",
            "",
        ] {
            assert!(!may_be_project(folder, Some("/srv/me"), &temp), "{folder}");
        }
        assert!(!may_be_project("/srv/me", Some("/srv/me"), &temp));
        for folder in ["/home/dev/app", "/srv/x", "/tmp/x1/app", "/mnt/c/Users/dev/app", "/opt"] {
            assert!(may_be_project(folder, Some("/srv/me"), &temp), "{folder}");
        }
    }

    #[test]
    fn what_lies_above_ends_at_homes_and_at_what_is_the_systems() {
        let temp = ["/tmp".to_owned()];
        for (folder, expected) in [
            ("/srv/me/a/b/c", vec!["/srv/me/a/b", "/srv/me/a"]),
            ("/srv/me/a", vec![]),
            ("/home/dev/app/src", vec!["/home/dev/app"]),
            ("/tmp/x1/app/src", vec!["/tmp/x1/app"]),
            ("/opt/tool/src", vec!["/opt/tool"]),
            ("/usr/local/x", vec![]),
            ("/app/src", vec!["/app"]),
            ("/mnt/c/Users/dev/app/src", vec!["/mnt/c/Users/dev/app"]),
            ("/app", vec![]),
        ] {
            assert_eq!(above(folder, Some("/srv/me"), &temp), expected, "{folder}");
        }
    }

    #[test]
    fn siblings_with_a_common_prefix_are_apart() {
        assert!(is_within("/a/foo/x", "/a/foo") && is_within("/a/foo", "/a/foo"));
        assert!(!is_within("/a/foobar", "/a/foo"));
    }
}
