//! What a git repository says about its identity. git is only read: no hook, pager, helper or transport that a
//! repository names is ever run, `GIT_*` variables are ignored, and nothing in `.git` is written.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, UNIX_EPOCH};

use doze_core::redact;

use crate::files::read_start;

/// Bytes read of a file of git's.
const MAX_GIT_FILE: u64 = 1024 * 1024;
/// How long git may take to name the first commits, and bytes it may say.
const GIT_TIME: Duration = Duration::from_secs(2);
const MAX_GIT_OUTPUT: u64 = 64 * 1024;

/// The identity of a repository as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Repository {
    /// The top folder of the work tree the caller stands in (the common folder for a bare repository).
    pub(super) top: String,
    /// The folder all work trees of the repository share.
    pub(super) common: String,
    /// The deciding remote, normalised: `origin`, else the only or first one by name.
    pub(super) remote: Option<String>,
    /// Root commits, sorted; empty before the first commit and in a shallow clone.
    pub(super) roots: Vec<String>,
    /// A shallow clone knows no root commits and is matched by its remote.
    pub(super) shallow: bool,
    /// Device, inode and birth time of the common folder: survives a rename.
    pub(super) file_identity: Option<String>,
}

/// Finds the repository a folder lies in, if any, below the first folder at which to stop.
pub(super) fn find(folder: &Path, stop: &dyn Fn(&Path) -> bool) -> Option<Repository> {
    let (top, git_dir) = folder
        .ancestors()
        .take_while(|dir| !stop(dir))
        .find_map(|dir| Some((dir.to_path_buf(), git_dir_of(dir)?)))?;
    let common = common_dir(&git_dir);
    let config = read_start(&common.join("config"), MAX_GIT_FILE);
    let shallow = common.join("shallow").exists();
    Some(Repository {
        top: top.to_string_lossy().into_owned(),
        remote: deciding_remote(&config, &top),
        roots: if shallow { Vec::new() } else { root_commits(&git_dir) },
        shallow,
        file_identity: file_identity(&common),
        common: common.to_string_lossy().into_owned(),
    })
}

/// The git folder of a work tree (`.git` folder, or the file that names it), or of a bare repository.
fn git_dir_of(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    if dot_git.join("HEAD").is_file() {
        return dot_git.canonicalize().ok();
    }
    if dot_git.is_file() {
        let text = read_start(&dot_git, MAX_GIT_FILE);
        let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
        return dir.join(named).canonicalize().ok().filter(|git_dir| git_dir.join("HEAD").is_file());
    }
    let is_bare = dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir();
    is_bare.then(|| dir.to_path_buf())
}

fn common_dir(git_dir: &Path) -> PathBuf {
    Some(read_start(&git_dir.join("commondir"), MAX_GIT_FILE))
        .filter(|text| !text.trim().is_empty())
        .and_then(|text| git_dir.join(text.trim()).canonicalize().ok())
        .unwrap_or_else(|| git_dir.to_path_buf())
}

/// Reads `[remote "x"] url` entries; `origin` decides, else the first by name. A remote that is a local folder is
/// resolved to the repository it names.
fn deciding_remote(config: &str, top: &Path) -> Option<String> {
    let mut remotes = std::collections::BTreeMap::new();
    let mut current: Option<String> = None;
    for line in config.lines().map(str::trim) {
        let entry = match line.strip_prefix('[').and_then(|section| section.split_once(']')) {
            Some((section, rest)) => {
                let name = section.strip_prefix("remote \"").and_then(|rest| rest.strip_suffix('"'));
                current = name.map(str::to_owned);
                rest
            }
            None => line,
        };
        if let (Some(name), Some((key, value))) = (&current, entry.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
        {
            let value = value.split([' ', '\t']).find(|part| !part.is_empty()).unwrap_or_default();
            remotes.entry(name.clone()).or_insert_with(|| value.trim_matches('"').to_owned());
        }
    }
    let url = remotes.remove("origin").or_else(|| remotes.into_values().next())?;
    Some(normalise_remote(&url, top))
}

/// `git@host:a/b.git`, `https://user@host/a/b` and `ssh://git@host:22/a/b/` are the same remote.
fn normalise_remote(url: &str, top: &Path) -> String {
    let without_scheme = match url.split_once("://") {
        Some(("file", path)) => return local_remote(path, top),
        Some((_, rest)) => rest.to_owned(),
        None if url.starts_with(['/', '.']) => return local_remote(url, top),
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => format!("{host}/{path}"),
            _ => return local_remote(url, top),
        },
    };
    // Credentials may stand in front of the host, in a query and in the path: none of them names the repository.
    let without_scheme = without_scheme.rsplit('@').next().unwrap_or_default();
    let without_scheme = without_scheme.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = without_scheme.split_once('/').unwrap_or((without_scheme, ""));
    let host = host.split(':').next().unwrap_or(host).to_ascii_lowercase();
    let path = path.trim_matches('/');
    let name = format!("{host}/{}", path.strip_suffix(".git").unwrap_or(path));
    redact::redact(&name).text.into_owned()
}

fn local_remote(path: &str, top: &Path) -> String {
    let path = top.join(path);
    let folder = path.canonicalize().unwrap_or(path);
    let common = git_dir_of(&folder).map(|git_dir| common_dir(&git_dir)).unwrap_or(folder);
    format!("dir:{}", common.to_string_lossy())
}

/// Asks git for the commits without parents. An unborn branch, a missing git and a broken repository give none.
fn root_commits(git_dir: &Path) -> Vec<String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let child = command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .args(["--no-pager", "--no-replace-objects"])
        .args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        .args(["-c", "protocol.allow=never", "-c", "log.showSignature=false"])
        .arg("--git-dir")
        .arg(git_dir)
        .args(["rev-list", "--max-parents=0", "HEAD", "--"])
        .env("GIT_ALLOW_PROTOCOL", "none")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else { return Vec::new() };
    let (said, hears) = sync_channel(1);
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stdout.take(MAX_GIT_OUTPUT).read_to_string(&mut text);
            let _ = said.send(text);
        });
    }
    // Something in the repository may hold git up for ever; then its history stays unknown.
    let text = hears.recv_timeout(GIT_TIME).unwrap_or_default();
    let _ = child.kill();
    let _ = child.wait();
    let mut roots: Vec<String> = text.lines().map(str::to_owned).filter(|line| line.len() >= 40).collect();
    roots.sort();
    roots
}

/// What stays the same when a folder is renamed on its file system.
pub(super) fn file_identity(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::metadata(folder).ok()?;
    let born = meta.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}-{}-{}", meta.dev(), meta.ino(), born.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_remote_meet() {
        let top = Path::new("/nowhere");
        for url in [
            "git@example.com:a/b.git",
            "https://example.com/a/b",
            "https://user:pw@Example.com/a/b.git/",
            "ssh://git@example.com:2222/a/b.git",
        ] {
            assert_eq!(normalise_remote(url, top), "example.com/a/b", "{url}");
        }
        assert_ne!(normalise_remote("https://example.com/c/b", top), "example.com/a/b");
    }

    #[test]
    fn origin_decides_between_remotes() {
        let config =
            "[remote \"fork\"]\n\turl = https://h/f/x\n[remote \"origin\"]\n\turl = https://h/o/x.git\n";
        assert_eq!(deciding_remote(config, Path::new("/")).as_deref(), Some("h/o/x"));
        assert_eq!(deciding_remote("[core]\n\tbare = false\n", Path::new("/")), None);
    }
}
