//! Where programs are.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Folders in which installers put programs of a person and which a service's search path often lacks, in the home.
const OF_A_PERSON: &[&str] = &[
    ".local/bin",
    "bin",
    ".claude/local",
    ".bun/bin",
    ".npm-global/bin",
    ".volta/bin",
    ".opencode/bin",
    ".local/share/pnpm",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".cargo/bin",
];
const OF_THE_MACHINE: &[&str] =
    &["/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/bin"];
/// Where nvm keeps versions of node, each with the programs that were installed by it.
const OF_NVM: &str = ".nvm/versions/node";

/// A program that was looked for and is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// No folder has it.
    #[error(
        "{name} was not found on the search path nor where installers put programs; install it, link it into ~/.local/bin, or name a program by its whole path in `command`"
    )]
    Nowhere {
        /// What was looked for.
        name: String,
    },
    /// Nothing is there, or a folder, or it was not named by its whole path.
    #[error("{name} was not found as a program: it must be a file, named by its whole path")]
    NoProgram {
        /// What was named.
        name: String,
    },
    /// It is there, but may not be run.
    #[error("{name} is there but may not be executed; run  chmod +x {name}")]
    NotExecutable {
        /// What was named.
        name: String,
    },
}

/// The program of this name: a whole path is taken as it is, a name is looked for on the search path and then where
/// installers usually put programs.
pub fn find(name: &str) -> Result<PathBuf, NotFound> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    find_in(name, env::var_os("PATH").as_deref(), home.as_deref())
}

fn find_in(name: &str, path: Option<&OsStr>, home: Option<&Path>) -> Result<PathBuf, NotFound> {
    if name.contains('/') {
        let whole = match (name.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(name),
        };
        // A relative path would mean another program in every folder.
        let name = name.to_owned();
        return match whole.is_absolute() && whole.is_file() {
            true if is_program(&whole) => Ok(whole),
            true => Err(NotFound::NotExecutable { name }),
            false => Err(NotFound::NoProgram { name }),
        };
    }
    let on_path = path.map(env::split_paths).into_iter().flatten();
    let of_a_person = home.into_iter().flat_map(|home| OF_A_PERSON.iter().map(|folder| home.join(folder)));
    let of_nvm = home.into_iter().flat_map(of_nvm);
    let of_the_machine = OF_THE_MACHINE.iter().map(PathBuf::from);
    on_path
        .chain(of_a_person)
        .chain(of_nvm)
        .chain(of_the_machine)
        // So would a relative folder on the path.
        .filter(|folder| folder.is_absolute() && !name.is_empty())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
        .ok_or_else(|| NotFound::Nowhere { name: name.to_owned() })
}

/// The newest version first.
fn of_nvm(home: &Path) -> Vec<PathBuf> {
    let version = |path: &PathBuf| -> Vec<u64> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.trim_start_matches('v').split('.').map(|part| part.parse().unwrap_or_default()).collect()
    };
    let entries = home.join(OF_NVM).read_dir().into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).take(100).collect();
    folders.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    folders.into_iter().map(|folder| folder.join("bin")).collect()
}

/// A search path on which a program also finds what was installed beside it, as node is beside the programs it runs.
pub(crate) fn path_with(program: &Path, path: Option<&OsStr>) -> Option<OsString> {
    let mut folders: Vec<PathBuf> = path.map(env::split_paths).into_iter().flatten().collect();
    let beside = program.parent().filter(|folder| folder.is_absolute());
    if let Some(beside) = beside.filter(|beside| !folders.iter().any(|folder| folder == beside)) {
        folders.insert(0, beside.to_owned());
    }
    if path.is_none() {
        folders.extend(OF_THE_MACHINE.iter().map(PathBuf::from));
    }
    env::join_paths(folders).ok()
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn put(folder: &Path, mode: u32) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join("claude");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_search_path_comes_first_then_the_homes_folders() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let path = env::join_paths([elsewhere.path(), Path::new("relative")]).unwrap();
        let found = || find_in("claude", Some(&path), Some(home.path()));
        assert!(found().unwrap_err().to_string().starts_with("claude was not found on the search path"));
        put(&home.path().join(".nvm/versions/node/v9.1.0/bin"), 0o755);
        let newest = put(&home.path().join(".nvm/versions/node/v20.2.1/bin"), 0o755);
        assert_eq!(found(), Ok(newest));
        let local = put(&home.path().join(".local/bin"), 0o755);
        assert_eq!(found(), Ok(local.clone()));
        // What cannot be executed is no program.
        put(elsewhere.path(), 0o644);
        assert_eq!(found(), Ok(local));
        let first = put(elsewhere.path(), 0o755);
        assert_eq!(found(), Ok(first));
    }

    #[test]
    fn a_path_is_taken_as_it_is_when_it_can_be_run() {
        let home = tempfile::tempdir().unwrap();
        let program = put(home.path(), 0o755);
        let link = home.path().join("link");
        symlink(&program, &link).unwrap();
        let found = |name: &str| find_in(name, None, Some(home.path()));
        assert_eq!(found(program.to_str().unwrap()), Ok(program.clone()));
        assert_eq!(found(link.to_str().unwrap()), Ok(link));
        assert_eq!(found("~/claude"), Ok(program));
        let plain = put(&home.path().join("plain"), 0o644);
        let dangling = home.path().join("dangling");
        symlink(home.path().join("gone"), &dangling).unwrap();
        let told = found(plain.to_str().unwrap()).unwrap_err().to_string();
        assert!(told.contains("may not be executed") && told.contains("chmod +x"), "{told}");
        for unusable in [home.path(), &dangling, Path::new("./claude"), Path::new("/no/such")] {
            let name = unusable.to_str().unwrap();
            let told = found(name).unwrap_err().to_string();
            assert!(
                told.starts_with(&format!("{name} was not found")) && told.contains("whole path"),
                "{told}"
            );
        }
        assert!(find_in("", Some(OsStr::new("/usr/bin")), None).is_err());
    }

    #[test]
    fn what_lies_beside_a_program_is_found_by_it() {
        let with = |program: &str, path: Option<&str>| {
            path_with(Path::new(program), path.map(OsStr::new)).unwrap().into_string().unwrap()
        };
        assert_eq!(with("/n/bin/codex", Some("/usr/bin:/bin")), "/n/bin:/usr/bin:/bin");
        // An order that the person chose stays.
        assert_eq!(with("/bin/codex", Some("/usr/bin:/bin")), "/usr/bin:/bin");
        assert!(with("/n/bin/codex", None).starts_with("/n/bin:/usr/local/bin:"));
    }
}
