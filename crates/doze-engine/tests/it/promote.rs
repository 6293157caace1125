//! Copying a memory into CLAUDE.md or AGENTS.md (S1.38).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use doze_core::model::{DreamOp, Memory, MemoryId, Space};
use doze_engine::{Forget, MemoryRequest, Problem, Promoted, Reader, Verdict};

use crate::kit::{Kit, git, reader};

const HEADING: &str = "## Project memory (from OpenOrc)";

fn remember(kit: &Kit, cwd: &str, title: &str, body: &str) -> Memory {
    let request = MemoryRequest {
        title: Some(title.to_owned()),
        body: body.to_owned(),
        reader: reader(cwd, "a"),
        by_person: true,
        ..Default::default()
    };
    kit.engine.add(&kit.owner, &request).unwrap().memory
}

fn promote(kit: &Kit, id: &MemoryId, path: &str, cwd: &str) -> Result<Promoted, (Problem, String)> {
    let reader = Reader { cwd: Some(cwd.to_owned()), ..Default::default() };
    let done = kit.engine.promote(&kit.owner, id, path, &reader, true);
    done.map_err(|error| (error.problem, error.message))
}

fn text(folder: &str, name: &str) -> String {
    fs::read_to_string(Path::new(folder).join(name)).unwrap()
}

#[test]
fn a_promoted_memory_stands_in_the_file_once_and_the_brief_is_silent_about_it() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let pnpm = remember(&kit, &shop, "Use `pnpm`", "npm breaks the lock file");
    let port = remember(&kit, &shop, "Staging", "on 5433");
    remember(&kit, &shop, "Broker", "export QUARTZ_PORT before the tests");
    assert!(kit.brief(&shop, "a").contains("npm breaks the lock file"));

    let done = promote(&kit, &pnpm.id, "CLAUDE.md", &shop).unwrap();
    assert_eq!(done.line, "- Use `pnpm`: npm breaks the lock file");
    assert_eq!((done.path.as_str(), done.is_new), (format!("{shop}/CLAUDE.md").as_str(), true));
    assert_eq!(text(&shop, "CLAUDE.md"), format!("{HEADING}\n- Use `pnpm`: npm breaks the lock file\n"));
    assert!(!promote(&kit, &pnpm.id, "CLAUDE.md", &shop).unwrap().is_new);
    promote(&kit, &port.id, "CLAUDE.md", &shop).unwrap();
    assert_eq!(
        text(&shop, "CLAUDE.md"),
        format!("{HEADING}\n- Staging: on 5433\n- Use `pnpm`: npm breaks the lock file\n")
    );
    let brief = kit.brief(&shop, "a");
    assert!(brief.contains("QUARTZ_PORT") && !brief.contains("5433") && !brief.contains("pnpm"), "{brief}");
    assert_eq!(kit.found(&shop, "pnpm lock").len(), 1, "a search still finds it");

    let why = kit.engine.why(&kit.owner, &pnpm.id).unwrap();
    let step = &why.history[0];
    assert_eq!((step.op, step.dream.is_none(), why.history.len()), (DreamOp::Promote, true, 1));
    assert_eq!(step.because, format!("you copied it into {shop}/CLAUDE.md"));
    kit.engine.forget(&kit.owner, &Forget::Memory(pnpm.id), true).unwrap();
    assert!(text(&shop, "CLAUDE.md").contains("pnpm"), "the file is the person's");
}

#[test]
fn a_bare_name_is_at_the_top_of_the_work_tree_one_stands_in() {
    let kit = Kit::new();
    let repo = kit.project("app");
    git(Path::new(&repo), &["init", "-q"]);
    git(Path::new(&repo), &["commit", "-q", "--allow-empty", "-m", "c"]);
    git(Path::new(&repo), &["worktree", "add", "-q", "../app-feature"]);
    let tree = format!("{repo}-feature");
    let inner = format!("{tree}/web/src");
    fs::create_dir_all(&inner).unwrap();
    let memory = remember(&kit, &repo, "Lint", "run the linter first");
    let path = |path: &str, cwd: &str| promote(&kit, &memory.id, path, cwd).unwrap().path;
    assert_eq!(path("AGENTS.md", &inner), format!("{tree}/AGENTS.md"));
    assert_eq!(path("AGENTS.md", &repo), format!("{repo}/AGENTS.md"));
    // A whole path may lie anywhere in the project, and needs no folder to stand in.
    let whole = format!("{tree}/web/CLAUDE.md");
    assert_eq!(path(&whole, "/"), whole);
    let at_root = kit.engine.promote(&kit.owner, &memory.id, "CLAUDE.md", &Reader::default(), true).unwrap();
    assert_eq!(at_root.path, format!("{repo}/CLAUDE.md"));
}

#[test]
fn only_a_person_promotes_and_only_what_is_in_force_and_belongs_there() {
    let kit = Kit::new();
    let (shop, other) = (kit.project("shop"), kit.project("other"));
    let memory = remember(&kit, &shop, "Lint", "run the linter first");
    remember(&kit, &other, "x", "something else entirely");
    let refused = |path: &str, cwd: &str| promote(&kit, &memory.id, path, cwd).unwrap_err().0;
    let by_agent = kit.engine.promote(&kit.owner, &memory.id, "CLAUDE.md", &reader(&shop, "a"), false);
    assert_eq!(by_agent.unwrap_err().problem, Problem::Refused);
    assert_eq!(refused("CLAUDE.md", &other), Problem::Refused);
    assert_eq!(refused(&format!("{other}/CLAUDE.md"), &shop), Problem::Refused);
    for path in ["README.md", "web/CLAUDE.md", "../CLAUDE.md", "claude.md", "", "/", "CLAUDE.md/.."] {
        assert_eq!(refused(path, &shop), Problem::Invalid, "{path}");
    }
    assert_eq!(refused(&format!("{shop}/none/CLAUDE.md"), &shop), Problem::Invalid);
    let stranger = doze_core::model::OwnerId::new("local:2");
    let by_stranger = kit.engine.promote(&stranger, &memory.id, "CLAUDE.md", &reader(&shop, "a"), true);
    assert_eq!(by_stranger.unwrap_err().problem, Problem::NotFound);
    kit.engine.feedback(&kit.owner, &memory.id, Verdict::Wrong, true).unwrap();
    assert_eq!(refused("CLAUDE.md", &shop), Problem::Invalid);
    assert!(!Path::new(&shop).join("CLAUDE.md").exists() && !Path::new(&other).join("CLAUDE.md").exists());

    // What is the user's own goes wherever the person says.
    let request = MemoryRequest {
        body: "Prefer British spelling".to_owned(),
        space: Some(Space::User),
        by_person: true,
        ..Default::default()
    };
    let own = kit.engine.add(&kit.owner, &request).unwrap().memory;
    assert!(promote(&kit, &own.id, "CLAUDE.md", &other).unwrap().is_new);
    let nowhere = kit.engine.promote(&kit.owner, &own.id, "CLAUDE.md", &Reader::default(), true);
    assert_eq!(nowhere.unwrap_err().message, "cwd is missing");
}

#[test]
fn a_file_that_cannot_be_read_is_left_alone() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let memory = remember(&kit, &shop, "Lint", "run the linter first");
    let path = Path::new(&shop).join("CLAUDE.md");
    let refused = || promote(&kit, &memory.id, "CLAUDE.md", &shop).unwrap_err();

    fs::write(&path, b"caf\xe9\n").unwrap();
    assert_eq!(refused().0, Problem::Invalid);
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\n");
    fs::File::create(&path).unwrap().set_len(1024 * 1024 + 1).unwrap();
    assert!(refused().1.contains("it is longer than 1048576 bytes"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused().1.contains("not a regular file"));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "kept\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    assert_eq!(refused().0, Problem::Refused);
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n");
    fs::remove_file(&path).unwrap();
    // A link to somebody's shell is no place for a line.
    fs::write(Path::new(&shop).join("bashrc"), "alias l=ls\n").unwrap();
    symlink("bashrc", &path).unwrap();
    assert_eq!(refused().0, Problem::Refused);
    assert_eq!(text(&shop, "bashrc"), "alias l=ls\n");
    assert!(kit.engine.why(&kit.owner, &memory.id).unwrap().history.is_empty());
}

#[test]
fn a_link_is_written_through_and_the_mode_stays() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let memory = remember(&kit, &shop, "Lint", "run the linter first");
    let path = |name: &str| Path::new(&shop).join(name);
    fs::write(path("AGENTS.md"), "# Rules\r\n\r\n- be kind").unwrap();
    fs::set_permissions(path("AGENTS.md"), fs::Permissions::from_mode(0o664)).unwrap();
    symlink("AGENTS.md", path("CLAUDE.md")).unwrap();
    promote(&kit, &memory.id, "CLAUDE.md", &shop).unwrap();
    assert!(fs::symlink_metadata(path("CLAUDE.md")).unwrap().is_symlink());
    assert_eq!(
        text(&shop, "AGENTS.md"),
        format!("# Rules\r\n\r\n- be kind\r\n\r\n{HEADING}\r\n- Lint: run the linter first")
    );
    assert_eq!(fs::metadata(path("AGENTS.md")).unwrap().permissions().mode() & 0o777, 0o664);
    assert_eq!(fs::read_dir(&shop).unwrap().count(), 2, "nothing is left beside them");
}

#[test]
fn promotions_side_by_side_lose_no_line() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let words = ["linter", "broker", "spelling", "branches", "fixtures", "migrations", "ports", "caches"];
    let memories: Vec<Memory> = words
        .iter()
        .map(|word| remember(&kit, &shop, word, &format!("mind the {word} of this project")))
        .collect();
    std::thread::scope(|scope| {
        for memory in &memories {
            scope.spawn(|| promote(&kit, &memory.id, "AGENTS.md", &shop).unwrap());
        }
    });
    assert_eq!(text(&shop, "AGENTS.md").lines().count(), 1 + words.len());
}

#[test]
fn a_short_line_that_was_copied_is_told_no_more_and_a_missing_folder_is_named() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let tabs = remember(&kit, &shop, "Use tabs", "Use tabs");
    remember(&kit, &shop, "Broker", "export QUARTZ_PORT before the tests");
    assert!(kit.brief(&shop, "a").contains("Use tabs"));
    let missing = promote(&kit, &tabs.id, &format!("{shop}/sub/AGENTS.md"), &shop).unwrap_err();
    assert_eq!(missing, (Problem::Invalid, format!("there is no folder {shop}/sub")));
    promote(&kit, &tabs.id, "AGENTS.md", &shop).unwrap();
    assert!(!kit.brief(&shop, "a").contains("Use tabs"));
}

#[test]
fn a_link_carries_no_memory_out_of_its_project_and_none_goes_into_git() {
    let kit = Kit::new();
    let (shop, other) = (kit.project("shop"), kit.project("other"));
    let note = remember(&kit, &shop, "Staging", "on 5433");
    remember(&kit, &other, "Other", "has its own");
    let at = |folder: &str, name: &str| Path::new(folder).join(name);
    fs::create_dir(at(&shop, "docs")).unwrap();
    fs::create_dir(at(&shop, ".git")).unwrap();
    let outside = kit.path("outside");
    fs::create_dir(&outside).unwrap();
    // A file link, a chain of them, and a folder link.
    symlink(at(&other, "CLAUDE.md"), at(&shop, "AGENTS.md")).unwrap();
    symlink(at(&shop, "AGENTS.md"), at(&shop, "docs").join("AGENTS.md")).unwrap();
    symlink(&other, at(&shop, "theirs")).unwrap();
    symlink(outside.join("CLAUDE.md"), at(&shop, "docs").join("CLAUDE.md")).unwrap();
    symlink(".git", at(&shop, "hidden")).unwrap();
    for path in [
        "AGENTS.md",
        "docs/AGENTS.md",
        "theirs/CLAUDE.md",
        "docs/CLAUDE.md",
        ".git/AGENTS.md",
        "hidden/AGENTS.md",
    ] {
        let whole = at(&shop, path).to_string_lossy().into_owned();
        let (problem, told) = promote(&kit, &note.id, &whole, &shop).unwrap_err();
        assert_eq!(problem, Problem::Refused, "{path}: {told}");
    }
    assert!(!at(&other, "CLAUDE.md").exists() && !outside.join("CLAUDE.md").exists());
    assert_eq!(fs::read_dir(at(&shop, ".git")).unwrap().count(), 0);
    // A link within the project leads where it leads.
    symlink("docs/RULES.md", at(&shop, "CLAUDE.md")).unwrap();
    promote(&kit, &note.id, "CLAUDE.md", &shop).unwrap();
    assert!(text(&shop, "docs/RULES.md").contains("- Staging: on 5433"));
}
