//! A project is the repository, not its path: what was learned follows it and stays out of all others.

use std::path::Path;

use doze_tests::{Client, Home};
use serde_json::json;

const FACT: &str = "The test server listens on port 5433";

fn remember(client: &mut Client, cwd: &Path) {
    client.call("memory.add", json!({"body": FACT, "kind": "fact", "space": "project", "cwd": cwd}));
}

fn brief(client: &mut Client, cwd: &Path) -> String {
    client.call("recall.brief", json!({ "cwd": cwd }))["text"].as_str().expect("a brief is a text").to_owned()
}

#[test]
fn a_worktree_and_a_folder_inside_have_the_memories_of_their_repository() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let repo = home.repo("app");
    remember(&mut client, repo.path());
    let tree = home.path().join("projects/app-feature");
    repo.worktree(&tree, "feature");
    repo.commit("src/lib.rs", "pub fn f() {}\n");
    for place in [repo.path(), &repo.path().join("src"), &tree] {
        let text = brief(&mut client, place);
        assert!(text.contains(FACT), "{}: {text:?}", place.display());
    }
}

#[test]
fn a_renamed_repository_keeps_its_memories() {
    let home = Home::new();
    let daemon = home.start();
    let mut repo = home.repo("before");
    remember(&mut home.client(), repo.path());
    // A restart, so that nothing the daemon only kept in memory helps.
    assert_eq!(daemon.terminate().code, Some(0));
    repo.rename(&home.path().join("projects/after"));
    let _daemon = home.start();
    let text = brief(&mut home.client(), repo.path());
    assert!(text.contains(FACT), "{text:?}");
}

#[test]
fn nothing_shows_up_in_another_project() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let repo = home.repo("foo");
    remember(&mut client, repo.path());
    // The same prefix, a plain folder, and a repository inside the other one's folder.
    let sibling = home.repo("foobar");
    let plain = home.project("plain");
    let nested = home.repo("foo/vendor/lib");
    for place in [sibling.path(), &plain, nested.path()] {
        let text = brief(&mut client, place);
        assert!(!text.contains("5433"), "{}: {text:?}", place.display());
        let answer = client.call("recall.search", json!({"query": "test server port", "cwd": place}));
        assert_eq!(answer["hits"], json!([]), "{}", place.display());
    }
}

#[test]
fn a_repository_is_only_read() {
    let home = Home::new();
    let _daemon = home.start();
    let repo = home.repo("app");
    // Programs that a repository's configuration names must not run.
    let trap = home.path().join("trap");
    let command = format!("touch {}", trap.display());
    for key in ["core.fsmonitor", "core.sshCommand", "diff.external", "core.pager"] {
        repo.git(&["config", key, &command]);
    }
    let before = repo.git(&["status", "--porcelain=v2", "--branch"]);
    std::fs::remove_file(&trap).ok();
    let listing = |path: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    };
    let (tree, git) = (listing(repo.path()), listing(&repo.path().join(".git")));
    let mut client = home.client();
    remember(&mut client, repo.path());
    brief(&mut client, repo.path());
    client
        .call("session.commit", json!({"session": "s", "agent": "a", "cwd": repo.path(), "summary": "Done"}));
    assert!(!trap.exists(), "a program from the repository's configuration was run");
    assert_eq!((listing(repo.path()), listing(&repo.path().join(".git"))), (tree, git));
    for key in ["core.fsmonitor", "core.sshCommand", "diff.external", "core.pager"] {
        repo.git(&["config", "--unset", key]);
    }
    assert_eq!(repo.git(&["status", "--porcelain=v2", "--branch"]), before);
}

#[test]
fn only_a_person_forgets_a_project_by_either_name_of_the_call() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let repo = home.repo("app");
    remember(&mut client, repo.path());
    for (method, params) in [
        ("project.forget", json!({"project": "app"})),
        ("project.forget", json!({"cwd": repo.path()})),
        ("memory.forget", json!({"project": "app"})),
    ] {
        assert_eq!(client.fail(method, params).kind, "refused", "{method}");
    }
    assert!(brief(&mut client, repo.path()).contains(FACT));
    let gone = client.call("project.forget", json!({"project": "app", "human": true}));
    assert_eq!(gone["memories"], 1);
}
