//! Where programs are.

use std::env;
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
    ".cargo/bin",
];
const OF_THE_MACHINE: &[&str] =
    &["/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin"];

/// The program of this name: a path is taken as it is, a name is looked for on the search path and then where
/// installers usually put programs. `None` when nothing there can be executed.
pub fn find(name: &str) -> Option<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    find_in(name, env::var_os("PATH").as_deref(), home.as_deref())
}

fn find_in(name: &str, path: Option<&std::ffi::OsStr>, home: Option<&Path>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| is_program(path));
    }
    let on_path = path.map(env::split_paths).into_iter().flatten();
    let of_a_person = home.into_iter().flat_map(|home| OF_A_PERSON.iter().map(|folder| home.join(folder)));
    let of_the_machine = OF_THE_MACHINE.iter().map(PathBuf::from);
    on_path
        .chain(of_a_person)
        .chain(of_the_machine)
        // A relative folder on the path means another program in every folder.
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_search_path_comes_first_then_the_homes_folders() {
        let home = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let put = |folder: &Path, mode: u32| {
            fs::create_dir_all(folder).unwrap();
            let path = folder.join("claude");
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let local = put(&home.path().join(".local/bin"), 0o755);
        let path = env::join_paths([elsewhere.path(), Path::new("relative")]).unwrap();
        let found = || find_in("claude", Some(&path), Some(home.path()));
        assert_eq!(found(), Some(local.clone()));
        // What cannot be executed is no program.
        put(elsewhere.path(), 0o644);
        assert_eq!(found(), Some(local.clone()));
        let first = put(elsewhere.path(), 0o755);
        assert_eq!(found(), Some(first));
        assert_eq!(find_in(local.to_str().unwrap(), None, None), Some(local));
        assert_eq!(find_in("no-such-program-anywhere", Some(&path), Some(home.path())), None);
    }
}
