use std::path::Path;

use doze_core::model::Space;
use doze_engine::{Forget, MemoryRequest, Problem, Reader, Verdict};

use crate::kit::{Kit, agent, git, prompt, turn};

fn id(kit: &Kit, folder: &Path) -> String {
    let place = kit.engine.project_of(&kit.owner, &folder.to_string_lossy()).unwrap();
    place.project.unwrap().id.to_string()
}

#[test]
fn work_trees_subfolders_links_renames_and_clones_are_one_project() {
    let kit = Kit::new();
    let app = kit.path("code/app");
    std::fs::create_dir_all(app.join("src/deep")).unwrap();
    git(&app, &["init", "-q"]);
    let first = id(&kit, &app);
    git(&app, &["commit", "-q", "--allow-empty", "-m", "one"]);
    kit.pass(jiff::SignedDuration::from_mins(1));
    assert_eq!(id(&kit, &app), first, "the id from before the first commit stays");
    assert_eq!(id(&kit, &app.join("src/deep")), first);
    let tree = kit.path("code/app-feature");
    git(&app, &["worktree", "add", "-q", &tree.to_string_lossy()]);
    assert_eq!(id(&kit, &tree), first);
    std::os::unix::fs::symlink(&app, kit.path("link")).unwrap();
    assert_eq!(id(&kit, &kit.path("link")), first);
    let clone = kit.path("code/clone");
    git(&kit.path("code"), &["clone", "-q", &app.to_string_lossy(), "clone"]);
    assert_eq!(id(&kit, &clone), first);
    let renamed = kit.path("code/renamed");
    std::fs::rename(&app, &renamed).unwrap();
    assert_eq!(id(&kit, &renamed), first);
    git(&renamed, &["remote", "add", "origin", "https://example.com/o/app.git"]);
    kit.pass(jiff::SignedDuration::from_mins(1));
    assert_eq!(id(&kit, &renamed), first, "adding a remote changes nothing");

    let sibling = kit.path("code/app2");
    std::fs::create_dir_all(&sibling).unwrap();
    git(&sibling, &["init", "-q"]);
    assert_ne!(id(&kit, &sibling), first);
    let fork = kit.path("code/fork");
    git(&kit.path("code"), &["clone", "-q", &renamed.to_string_lossy(), "fork"]);
    git(&fork, &["remote", "set-url", "origin", "https://example.com/me/app.git"]);
    assert_ne!(id(&kit, &fork), first, "a fork is another project");
}

#[test]
fn temporary_folders_and_roots_are_no_projects() {
    let kit = Kit::new();
    for folder in ["/", ""] {
        assert!(kit.engine.project_of(&kit.owner, folder).unwrap().project.is_none(), "{folder}");
    }
    kit.commit(turn("s", "a", "/", vec![prompt(1, "Note: this belongs to nobody's project.")]));
    assert!(kit.brief(&kit.project("shop"), "a").is_empty());
    assert!(kit.engine.projects(&kit.owner).unwrap().iter().all(|card| card.project.root != "/"));
}

#[test]
fn of_two_that_hold_one_topic_in_merged_projects_the_newer_stays_and_a_persons_before_all() {
    for (by_person, first, stays) in [(false, "web", "6000"), (false, "shop", "5000"), (true, "web", "5000")]
    {
        let kit = Kit::new();
        let say = |project: &str, port: &str, by_person: bool| {
            let request = MemoryRequest {
                body: format!("The gateway listens on port {port}."),
                topic_key: Some("gateway/port".to_owned()),
                reader: Reader { cwd: Some(kit.project(project)), ..Default::default() },
                agent: Some(agent("a")),
                by_person,
                ..Default::default()
            };
            kit.engine.add(&kit.owner, &request).unwrap();
            kit.pass(jiff::SignedDuration::from_hours(1));
        };
        // Into the shop, which says 5000, comes the web, which says 6000.
        let says = |project: &str| if project == "shop" { ("5000", by_person) } else { ("6000", false) };
        let second = if first == "shop" { "web" } else { "shop" };
        for project in [second, first] {
            let (port, by_person) = says(project);
            say(project, port, by_person);
        }
        kit.engine.merge_projects(&kit.owner, "web", "shop").unwrap();
        let request = doze_engine::ListRequest { everywhere: true, limit: 9, ..Default::default() };
        let active: Vec<String> = kit
            .engine
            .memories(&kit.owner, &request)
            .unwrap()
            .items
            .into_iter()
            .map(|memory| memory.body)
            .collect();
        assert_eq!(active, [format!("The gateway listens on port {stays}.")], "{first} said it last");
    }
}

#[test]
fn projects_are_named_merged_split_and_forgotten() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(turn("s1", "a", &shop, vec![prompt(1, "Remember: the shop speaks gRPC to billing.")]));
    kit.commit(turn("s2", "a", &web, vec![prompt(2, "Remember: the web app uses island rendering.")]));
    assert_eq!(kit.engine.find_project(&kit.owner, "shop").unwrap().root, shop);
    assert_eq!(kit.engine.find_project(&kit.owner, "nope").unwrap_err().problem, Problem::NotFound);
    let merged = kit.engine.merge_projects(&kit.owner, "web", "shop").unwrap();
    let brief = kit.brief(&web, "a");
    assert!(brief.contains("gRPC") && brief.contains("island"), "{brief}");
    assert_eq!(kit.engine.projects(&kit.owner).unwrap().len(), 1);

    let part = kit.engine.split_project(&kit.owner, "shop", &web).unwrap();
    assert_ne!(part.id, merged.id);
    let (in_web, in_shop) = (kit.brief(&web, "a"), kit.brief(&shop, "a"));
    assert!(in_web.contains("island") && !in_web.contains("gRPC"), "{in_web}");
    assert!(in_shop.contains("gRPC") && !in_shop.contains("island"), "{in_shop}");

    kit.engine.forget(&kit.owner, &Forget::Project("web".to_owned()), true).unwrap();
    assert!(kit.brief(&web, "a").is_empty());
    assert_eq!(kit.engine.session(&kit.owner, "s2").unwrap_err().problem, Problem::NotFound);
    assert!(kit.brief(&shop, "a").contains("gRPC"));
}

#[test]
fn a_project_counts_its_memories_in_force_and_no_others() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |body: &str, by: Option<&str>| {
        let request = MemoryRequest {
            body: body.to_owned(),
            agent: by.map(agent),
            space: by.map(|_| Space::Agent),
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    };
    let counted = || {
        let cards = kit.engine.projects(&kit.owner).unwrap();
        assert_eq!(kit.engine.project_card(&kit.owner, "shop").unwrap(), cards[0]);
        cards[0].memories
    };
    let wrong = add("The shop speaks gRPC to billing.", None);
    let stale = add("Invoices leave on Mondays.", Some("alex"));
    let gone = add("Herons eat three fish a day.", None);
    add("The web app uses island rendering.", Some("bert"));
    assert_eq!(counted(), 4);
    kit.engine.feedback(&kit.owner, &wrong, Verdict::Wrong, true).unwrap();
    assert_eq!(counted(), 3);
    kit.engine.feedback(&kit.owner, &stale, Verdict::Stale, true).unwrap();
    assert_eq!(counted(), 2);
    kit.engine.forget(&kit.owner, &Forget::Memory(gone), true).unwrap();
    assert_eq!(counted(), 1);
    kit.engine.reinstate(&kit.owner, &wrong, true).unwrap();
    assert_eq!(counted(), 2);
}

#[test]
fn what_lies_in_the_home_folder_does_not_belong_to_it() {
    let kit = Kit::at_home();
    let place = |name: &str| {
        let path = kit.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let (home, temp) = (place("home"), place("tmp"));
    let (notes, deep, other) = (place("home/notes"), place("home/notes/a/b"), place("home/other"));
    for folder in [&home, &temp] {
        git(folder, &["init", "-q"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "settings"]);
        let seen = kit.engine.project_of(&kit.owner, &folder.to_string_lossy()).unwrap();
        assert_eq!((seen.is_project, seen.project), (false, None), "{folder:?}");
    }
    let first = id(&kit, &notes);
    assert_eq!(id(&kit, &deep), first);
    assert_ne!(id(&kit, &other), first);
    let app = place("tmp/x1");
    git(&app, &["init", "-q"]);
    assert_ne!(id(&kit, &app), first, "a work tree inside is a project");
}

#[test]
fn a_merged_project_is_still_known_by_its_former_id() {
    let kit = Kit::new();
    let at = |name: &str| {
        let folder = kit.project(name);
        id(&kit, Path::new(&folder))
    };
    let [first, second, third] = ["first", "second", "third"].map(at);
    for (from, into) in [(&first, &second), (&second, &third)] {
        kit.engine.merge_projects(&kit.owner, from, into).unwrap();
    }
    for former in [&first, &second, &third] {
        assert_eq!(kit.engine.find_project(&kit.owner, former).unwrap().id.as_str(), third);
    }
    let nobody = kit.engine.find_project(&kit.owner, "fourth").unwrap_err();
    assert_eq!(nobody.problem, Problem::NotFound);
}
