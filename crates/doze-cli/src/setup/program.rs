//! Where this program is, in words that outlive an upgrade.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use doze_protocol::Exit;

use crate::error::CommandError;

/// The path to register: one in `PATH` that leads to this program, since package managers keep that while the folder
/// behind it changes with every version; else the way in which the program was called; else where it is.
pub(crate) fn lasting_path() -> Result<String, CommandError> {
    let own = std::env::current_exe().map_err(|error| CommandError::io("the own program", &error))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let lasting = choose(&own, &path, std::env::args_os().next().map(PathBuf::from));
    lasting.into_os_string().into_string().map_err(|path| {
        CommandError::new(Exit::Config, format!("{} is not UTF-8", path.display()))
            .hint("install doze elsewhere")
    })
}

fn choose(own: &Path, path: &OsStr, called: Option<PathBuf>) -> PathBuf {
    let real = fs::canonicalize(own).ok();
    let leads_here = |candidate: &PathBuf| real.is_some() && fs::canonicalize(candidate).ok() == real;
    let in_path =
        std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("doze"));
    // Called by its bare name it was found in PATH, which was looked through above.
    let called = called
        .filter(|called| called.components().count() > 1)
        .and_then(|called| std::path::absolute(called).ok());
    in_path.chain(called).find(leads_here).unwrap_or_else(|| own.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_path_is_preferred_to_the_versioned_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["cellar/1.0", "bin", "other"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("cellar/1.0/doze"), "x").unwrap();
        fs::write(at("other/doze"), "another program").unwrap();
        symlink(at("cellar/1.0/doze"), at("bin/doze")).unwrap();
        let path = std::env::join_paths([at("other"), PathBuf::from("relative"), at("bin")]).unwrap();
        assert_eq!(choose(&at("cellar/1.0/doze"), &path, None), at("bin/doze"));
        assert_eq!(choose(&at("cellar/1.0/doze"), OsStr::new(""), Some(at("bin/doze"))), at("bin/doze"));
        assert_eq!(
            choose(&at("cellar/1.0/doze"), OsStr::new(""), Some("doze".into())),
            at("cellar/1.0/doze")
        );
    }
}
