//! What dreams leave in a workspace, and what they leave alone.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use doze_core::model::{Dream, DreamResult, Mode, OwnerId, SessionOutcome};
use doze_engine::{DreamRequest, Forget, Problem};

use crate::kit::{Kit, answer, long_session, prompt, tool, turn};

const RULE: &str = "No, use pnpm instead of npm in this repository.";

fn dream(kit: &Kit) -> Dream {
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap()
}

/// A project with a session to learn from.
fn shop(kit: &Kit) -> String {
    let shop = kit.project("shop");
    kit.commit(turn("s", "a", &shop, long_session(RULE)));
    shop
}

fn text(folder: &str, name: &str) -> String {
    fs::read_to_string(Path::new(folder).join(name)).unwrap()
}

/// The files of a folder, by name.
fn files(folder: &str, below: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(folder).join(below)).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_a_person_changed_is_theirs_and_what_is_forgotten_goes() {
    let kit = Kit::new();
    let shop = shop(&kit);
    let added = kit.engine.add_workspace(&kit.owner, &shop, Some(Mode::Agent)).unwrap();
    assert_eq!((added.path.as_str(), added.entries), (shop.as_str(), 0));
    assert!(added.project.is_some());
    assert!(files(&shop, "").is_empty(), "nothing is written before a sweep");

    let learned = dream(&kit);
    let file = text(&shop, "memory/DREAMING.md");
    assert!(file.starts_with("## ") && file.contains("\n_source: s | 2026-"), "{file}");
    assert!(file.contains("pnpm") && file.contains("just itest"), "{file}");
    assert!(!Path::new(&shop).join("coding_memory").exists());
    let entries = kit.engine.workspaces(&kit.owner).unwrap()[0].entries;
    assert_eq!(file.matches("\n_source: ").count() as u64, entries);

    // A person writes round it, and changes the entry of a command.
    let edited = format!("# Ours\n\n{}\nOur own line.\n", file.replace("just itest", "just itest --all"));
    fs::write(Path::new(&shop).join("memory/DREAMING.md"), &edited).unwrap();
    dream(&kit);
    assert_eq!(text(&shop, "memory/DREAMING.md"), edited);
    let forgotten =
        learned.changes.iter().map(|change| &change.after).filter(|memory| memory.body.contains("pnpm"));
    for memory in forgotten {
        kit.engine.forget(&kit.owner, &Forget::Memory(memory.id.clone()), true).unwrap();
    }
    let left = text(&shop, "memory/DREAMING.md");
    assert!(!left.contains("pnpm") && left.contains("just itest --all"), "{left}");
    assert!(left.starts_with("# Ours\n") && left.ends_with("\nOur own line.\n"), "{left}");

    kit.engine.undo_dream(&kit.owner, Some(&learned.id)).unwrap();
    assert!(text(&shop, "memory/DREAMING.md").contains("just itest --all"), "it is the person's");
    assert_eq!(kit.engine.workspaces(&kit.owner).unwrap()[0].entries, 0);
}

#[test]
fn each_content_has_its_file_once_and_nothing_is_learned_from_it() {
    let kit = Kit::new();
    let shop = shop(&kit);
    kit.engine.add_workspace(&kit.owner, &shop, None).unwrap();
    let learned = dream(&kit);
    assert!(!Path::new(&shop).join("memory").exists(), "the session was one of code");
    let names = files(&shop, "coding_memory");
    assert!(names.len() > 1 && names.iter().all(|name| name.starts_with("consolidated_")), "{names:?}");
    let with_pnpm = names.iter().find(|name| text(&shop, &format!("coding_memory/{name}")).contains("pnpm"));
    let with_pnpm = format!("coding_memory/{}", with_pnpm.unwrap());
    let words = text(&shop, &with_pnpm);
    assert!(
        words.starts_with("---\nname: ") && words.contains("\nsource_session: s\ncreated_at: 2026-"),
        "{words}"
    );

    // What an agent reads there, and says again, is nothing new.
    let body = words.rsplit("---\n\n").next().unwrap();
    let mut events = vec![prompt(100, "Have a look at the notes")];
    for round in 0..6 {
        events.push(tool(101 + 3 * round, &format!("cat {with_pnpm}"), &words, false));
        events.push(answer(102 + 3 * round, &format!("Round {round}:\n{body}")));
        events.push(prompt(103 + 3 * round, &format!("go on, {round}")));
    }
    kit.commit(turn("s2", "a", &shop, events));
    let second = dream(&kit);
    assert_eq!(second.sessions[0].outcome, SessionOutcome::Empty, "{second:?}");
    assert_eq!(second.result, DreamResult::Nothing, "{second:?}");

    // What somebody took out stays out; what somebody changed stays.
    fs::remove_file(Path::new(&shop).join(&with_pnpm)).unwrap();
    let other =
        names.iter().map(|name| format!("coding_memory/{name}")).find(|name| *name != with_pnpm).unwrap();
    fs::write(Path::new(&shop).join(&other), "mine").unwrap();
    dream(&kit);
    kit.engine.undo_dream(&kit.owner, Some(&learned.id)).unwrap();
    assert_eq!(files(&shop, "coding_memory"), [other.rsplit('/').next().unwrap()]);
    assert_eq!(text(&shop, &other), "mine");
}

#[test]
fn undoing_brings_back_the_folder_as_it_was() {
    let kit = Kit::new();
    let shop = shop(&kit);
    let other = kit.project("other");
    for (folder, mode) in [(&shop, None), (&other, None)] {
        kit.engine.add_workspace(&kit.owner, folder, mode).unwrap();
    }
    let learned = dream(&kit);
    assert!(!files(&shop, "coding_memory").is_empty());
    assert!(files(&other, "").is_empty(), "it is another project's");
    kit.engine.undo_dream(&kit.owner, Some(&learned.id)).unwrap();
    assert!(files(&shop, "").is_empty(), "{:?}", files(&shop, ""));
}

#[test]
fn what_cannot_be_written_is_told_and_tried_again() {
    let kit = Kit::new();
    let shop = shop(&kit);
    let outside = kit.project("outside");
    kit.engine.add_workspace(&kit.owner, &shop, Some(Mode::Agent)).unwrap();
    symlink(&outside, Path::new(&shop).join("memory")).unwrap();
    let learned = dream(&kit);
    assert_eq!(learned.result, DreamResult::Done, "the sweep itself is over");
    let kept = kit.engine.dream_record(&kit.owner, Some(&learned.id)).unwrap();
    let told = &kept.left_alone.last().unwrap().reason;
    assert!(told.contains("is a link") && told.ends_with("the next sweep tries again"), "{told}");
    assert!(kit.engine.workspaces(&kit.owner).unwrap()[0].problem.is_some());
    assert!(files(&outside, "").is_empty());

    fs::remove_file(Path::new(&shop).join("memory")).unwrap();
    dream(&kit);
    assert!(text(&shop, "memory/DREAMING.md").contains("pnpm"));
    assert_eq!(kit.engine.workspaces(&kit.owner).unwrap()[0].problem, None);

    // Nobody follows what is no workspace any more.
    kit.engine.remove_workspace(&kit.owner, &shop).unwrap();
    kit.engine.undo_dream(&kit.owner, Some(&learned.id)).unwrap();
    assert!(text(&shop, "memory/DREAMING.md").contains("pnpm"));
    let again = kit.engine.remove_workspace(&kit.owner, &shop).unwrap_err();
    assert_eq!(again.problem, Problem::NotFound);
}

#[test]
fn only_a_folder_of_the_users_own_becomes_a_workspace() {
    let kit = Kit::at_home();
    let shop = kit.project("shop");
    let folder = |name: &str| {
        let path = kit.path(name);
        fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().to_string_lossy().into_owned()
    };
    fs::write(kit.path("file"), "").unwrap();
    let problem = |path: &str| {
        kit.engine.add_workspace(&kit.owner, path, None).err().map(|error| (error.problem, error.message))
    };
    let table = [
        (folder("home"), Problem::Refused),
        (folder("tmp"), Problem::Refused),
        (folder("code/shop/.git/hooks"), Problem::Refused),
        ("/".to_owned(), Problem::Refused),
        (folder("at-home"), Problem::Refused),
        (kit.path("file").to_string_lossy().into_owned(), Problem::Invalid),
        (kit.path("none").to_string_lossy().into_owned(), Problem::Invalid),
        ("code/shop".to_owned(), Problem::Invalid),
        ("/a\nb".to_owned(), Problem::Invalid),
    ];
    for (path, wanted) in table {
        assert_eq!(problem(&path).map(|(problem, _)| problem), Some(wanted), "{path}");
    }
    assert_eq!(problem(&shop), None);
    assert_eq!(problem(&shop), None, "twice is once");
    assert_eq!(kit.engine.workspaces(&kit.owner).unwrap().len(), 1);
    // Neither in a workspace of another owner nor round it.
    let other = OwnerId::new("local:2");
    for path in [shop.clone(), folder("code/shop/web"), folder("code")] {
        let error = kit.engine.add_workspace(&other, &path, None).unwrap_err();
        assert_eq!(error.problem, Problem::Refused, "{path}");
    }
    assert!(kit.engine.workspaces(&other).unwrap().is_empty());
}
