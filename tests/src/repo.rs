//! Git repositories to be remembered in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A git repository made by this test.
#[derive(Debug)]
pub struct Repo {
    path: PathBuf,
}

impl Repo {
    /// A repository with one commit. Its root commit names the path, so no two are alike.
    pub fn init(path: &Path) -> Self {
        fs::create_dir_all(path).expect("the folder can be made");
        let repo = Self { path: path.to_owned() };
        repo.git(&["init", "-q", "-b", "main"]);
        repo.commit("README.md", &format!("# {}\n", path.display()));
        repo
    }

    /// Its work tree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and commits it.
    pub fn commit(&self, file: &str, text: &str) {
        let path = self.path.join(file);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).expect("the folder can be made");
        }
        fs::write(path, text).expect("the file can be written");
        self.git(&["add", "--", file]);
        self.git(&["commit", "-q", "-m", &format!("Change {file}")]);
    }

    /// A second work tree on a branch of its own.
    pub fn worktree(&self, path: &Path, branch: &str) {
        self.git(&["worktree", "add", "-q", "-b", branch, path.to_str().expect("test paths are UTF-8")]);
    }

    /// Moves the whole repository.
    pub fn rename(&mut self, to: &Path) {
        fs::rename(&self.path, to).expect("the repository can be moved");
        self.path = to.to_owned();
    }

    /// Runs git with an identity of its own and none of the developer's settings.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Dev")
            .env("GIT_AUTHOR_EMAIL", "dev@example.org")
            .env("GIT_COMMITTER_NAME", "Dev")
            .env("GIT_COMMITTER_EMAIL", "dev@example.org")
            .output()
            .expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
