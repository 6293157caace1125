//! Files that are no files, a git that hangs, names that are no names: answered in bounded time, and nothing of it kept.

use std::path::Path;
use std::time::Instant;

use doze_core::model::{Space, TaskRef};
use doze_engine::{
    BriefRequest, CommitRequest, ContextRequest, Forget, ListRequest, MemoryRequest, Problem, Reader,
    RecoverRequest, SessionListRequest, TaskRequest, TranscriptRef, WorkRequest,
};
use jiff::SignedDuration;

use crate::kit::{Kit, NOW, agent, git, prompt, reader, turn};

fn pipe(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// A pipe, a device and a file of a gigabyte that takes no room.
const ODD: [fn(&Path); 3] = [
    pipe,
    |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
    |path| std::fs::File::create(path).unwrap().set_len(1 << 30).unwrap(),
];

#[test]
fn what_is_no_file_is_neither_waited_for_nor_read_to_its_end() {
    let kit = Kit::new();
    for (n, make) in ODD.iter().enumerate() {
        let cwd = kit.project(&format!("app{n}"));
        let words = format!("Note: the osprey{n} queue needs Kafka.");
        kit.commit(turn(&format!("first{n}"), "a", &cwd, vec![prompt(1, &words)]));
        for name in ["CLAUDE.md", "AGENTS.md", ".git", "transcript"] {
            make(&Path::new(&cwd).join(name));
        }
        kit.pass(SignedDuration::from_mins(1));
        assert!(kit.brief(&cwd, "a").contains(&format!("osprey{n}")), "odd instruction files and .git");
        let path = format!("{cwd}/transcript");
        let mut request = turn(&format!("s{n}"), "a", &cwd, vec![prompt(2, "go on")]);
        request.transcript = Some(TranscriptRef { path: path.clone(), format: None });
        // A harness may name a file that it never writes: what the call itself brings counts.
        match kit.engine.commit(&kit.owner, request) {
            Ok(answer) => assert_eq!(answer.events.new, 1),
            Err(error) => assert_eq!((n, error.problem), (2, Problem::Invalid), "{error}"),
        }
        let error = kit.engine.preview(&path, None, true).unwrap_err();
        assert_eq!(error.problem, Problem::Invalid);
        assert!(error.message.contains(&path), "{error}");
    }
}

#[test]
fn a_git_that_hangs_holds_up_nobody_else() {
    let kit = Kit::new();
    let stuck = kit.project("stuck");
    git(Path::new(&stuck), &["init", "-q"]);
    pipe(&Path::new(&stuck).join(".git/refs/heads/main"));
    let shop = kit.project("shop");
    let (stuck_done, shop_done) = std::thread::scope(|scope| {
        let held = scope.spawn(|| {
            kit.commit(turn("held", "a", &stuck, vec![prompt(1, "Note: the heron build is slow.")]));
            Instant::now()
        });
        kit.commit(turn("quick", "a", &shop, vec![prompt(1, "Note: the shop build is quick.")]));
        let done = Instant::now();
        (held.join().unwrap(), done)
    });
    assert!(shop_done < stuck_done, "the other repository had to wait");
    assert!(kit.brief(&stuck, "a").contains("heron"), "it is a project all the same");
}

#[test]
fn two_repositories_in_turn_in_one_folder_are_two_projects() {
    let kit = Kit::new();
    let app = kit.project("app");
    let mut seen = Vec::new();
    for words in ["Note: the first lynx speaks Thrift.", "Note: the second lynx speaks SOAP."] {
        std::fs::remove_dir_all(&app).unwrap();
        std::fs::create_dir_all(&app).unwrap();
        git(Path::new(&app), &["init", "-q"]);
        git(Path::new(&app), &["commit", "-q", "--allow-empty", "-m", words]);
        kit.pass(SignedDuration::from_mins(1));
        seen.push(kit.commit(turn(words, "a", &app, vec![prompt(1, words)])).project.unwrap());
    }
    assert_ne!(seen[0], seen[1]);
    let brief = kit.brief(&app, "a");
    assert!(brief.contains("SOAP") && !brief.contains("Thrift"), "{brief}");
}

#[test]
fn a_secret_in_a_name_never_reaches_the_disk() {
    let kit = Kit::new();
    let secret = ["ghp_", "a8Fz0kQm2Lr7Yc4Wd9Xe1Vb6Nh3Tj5Us8Po2"].concat();
    let named = |name: &str| format!("{name}-{secret}");
    let cwd = kit.project(&named("folder"));
    let inside = kit.project(&format!("{}/src", named("outer")));
    for (n, cwd) in [&cwd, &inside].into_iter().enumerate() {
        let place = Reader { cwd: Some(cwd.clone()), ..Default::default() };
        let mut request =
            turn(&named("session"), &named("agent"), cwd, vec![prompt(1, "Note: ibis needs Go 1.25.")]);
        request.commit_id = Some(named("commit"));
        request.team = Some(named("team"));
        request.task = Some(TaskRef { id: named("task"), title: named("title"), ..Default::default() });
        request.transcript = Some(TranscriptRef { path: format!("{cwd}/none"), format: None });
        kit.commit(request);
        kit.engine
            .set_work(
                &kit.owner,
                &WorkRequest {
                    agent: Some(agent(&named("agent"))),
                    session: Some(named("work")),
                    task_id: Some(named("task")),
                    reader: place.clone(),
                    ..Default::default()
                },
            )
            .unwrap();
        let memory = MemoryRequest {
            body: format!("The ibis cache {n} is warm."),
            agent: Some(agent(&named("agent"))),
            space: Some(Space::Agent),
            reader: place.clone(),
            ..Default::default()
        };
        let id = kit.engine.add(&kit.owner, &memory).unwrap().memory.id;
        kit.engine.confirm(&kit.owner, &id, &named("other").into()).unwrap();
        let task = TaskRequest { id: named("task"), title: Some("t".to_owned()), ..Default::default() };
        kit.engine.set_task(&kit.owner, &place, &task).unwrap();
        let list = SessionListRequest { limit: 10, ..Default::default() };
        assert_eq!(
            kit.engine.sessions(&kit.owner, &list).unwrap().items.len(),
            1,
            "its stand-in is always the same"
        );
    }
    let mut files = vec![kit.path("doze.redb")];
    files.extend(std::fs::read_dir(kit.index_folder()).unwrap().map(|entry| entry.unwrap().path()));
    for file in files.iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", file.display());
    }
}

#[test]
fn what_is_kept_under_a_stand_in_is_found_by_the_name_it_stands_for() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let secret = ["ghp_", "a8Fz0kQm2Lr7Yc4Wd9Xe1Vb6Nh3Tj5Us8Po2"].concat();
    let named = |name: &str| format!("{name}-{secret}");
    let (session, by) = (named("session"), named("agent"));
    let reader = reader(&cwd, &by);
    let work = WorkRequest {
        agent: Some(agent(&by)),
        session: Some(session.clone()),
        summary: Some("half of the ibis migration".to_owned()),
        reader: reader.clone(),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &work).unwrap();
    let recover = |session: Option<&String>| {
        let request =
            RecoverRequest { reader: reader.clone(), session: session.cloned(), ..Default::default() };
        kit.engine.recover(&kit.owner, &request).unwrap().told.text
    };
    for named in [None, Some(&session)] {
        assert!(recover(named).contains("half of the ibis"), "{}", recover(named));
    }
    let other = named("other");
    let found = kit.engine.work(&kit.owner, &reader, Some(&session)).unwrap();
    assert_eq!(kit.engine.works(&kit.owner, &reader).unwrap(), [found]);
    assert_eq!(kit.engine.clear_work(&kit.owner, &reader, Some(&other)).unwrap(), 0);
    assert_eq!(kit.engine.clear_work(&kit.owner, &reader, Some(&session)).unwrap(), 1);

    let mut request = turn(&session, &by, &cwd, vec![prompt(1, "Note: ibis needs Go 1.25.")]);
    request.summary = Some("all of the ibis migration".to_owned());
    kit.commit(request);
    for named in [None, Some(&session)] {
        assert!(recover(named).contains("all of the ibis"), "{}", recover(named));
    }
    let list = SessionListRequest { reader: reader.clone(), limit: 10, ..Default::default() };
    let listed = kit.engine.sessions(&kit.owner, &list).unwrap().items;
    assert_eq!(listed, [kit.engine.session(&kit.owner, &session).unwrap()]);
    let roster = kit.engine.roster(&kit.owner, &reader, &[by.as_str().into()]).unwrap().told.text;
    assert!(roster.contains("all of the ibis") && !roster.contains(&secret), "{roster}");
    assert!(
        kit.engine
            .context(&kit.owner, &ContextRequest { reader: reader.clone(), ..Default::default() })
            .unwrap()
            .told
            .text
            .contains("Go 1.25")
    );
    let own = ListRequest {
        reader: Reader { spaces: vec![Space::Agent], ..reader.clone() },
        limit: 10,
        ..Default::default()
    };
    let own = kit.engine.memories(&kit.owner, &own).unwrap().items;
    assert_eq!(own.len(), 1, "{own:?}");
    let confirmed = kit.engine.confirm(&kit.owner, &own[0].id, &by.as_str().into()).unwrap();
    assert_eq!(confirmed.evidence_count, own[0].evidence_count, "nobody confirms what is their own");

    let brief = BriefRequest {
        reader: reader.clone(),
        session: Some(session.clone()),
        inject: true,
        ..Default::default()
    };
    let told = kit.engine.brief(&kit.owner, &brief).unwrap();
    assert_eq!(kit.engine.last_brief(&kit.owner, Some(&session)).unwrap().text, told.text);
    let resumed = BriefRequest { source: Some("resume".to_owned()), ..brief };
    assert_eq!(kit.engine.brief(&kit.owner, &resumed).unwrap().text, "", "it has its text already");

    let forget = Forget::Session { session: session.as_str().into(), memories: true };
    let forgotten = kit.engine.forget(&kit.owner, &forget, true).unwrap();
    assert_eq!((forgotten.sessions, forgotten.memories), (1, 1));
    assert!(kit.engine.session(&kit.owner, &session).is_err());
}

#[test]
fn an_event_from_the_future_is_not_believed() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let mut late = prompt(1, "Note: the ferret relay needs UDP 514 open.");
    late.at = Some("2036-03-01T12:00:00Z".parse().unwrap());
    kit.commit(turn("s", "a", &cwd, vec![late]));
    let now = NOW.parse().unwrap();
    assert_eq!(kit.engine.session(&kit.owner, "s").unwrap().last_event_at, now);
    let found = kit
        .engine
        .memories(&kit.owner, &doze_engine::ListRequest { limit: 9, ..Default::default() })
        .unwrap();
    assert_eq!(found.items.iter().map(|memory| memory.created_at).collect::<Vec<_>>(), [now]);
    kit.commit(turn("s", "a", &cwd, vec![prompt(2, "and now?")]));
    assert!(kit.engine.session(&kit.owner, "s").unwrap().last_event_at <= now);
}

/// A request with one name in all its places.
fn everywhere(cwd: &str, name: &str) -> CommitRequest {
    let mut request = turn(name, name, cwd, vec![prompt(1, "Note: the stork queue is FIFO.")]);
    request.agent.harness = name.to_owned();
    request.team = Some(name.to_owned());
    request.commit_id = Some(name.to_owned());
    request.task = Some(TaskRef { id: name.chars().take(500).collect(), ..Default::default() });
    request
}

#[test]
fn names_that_cannot_be_names_are_refused_and_odd_ones_harm_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let long = "x".repeat(1 << 20);
    for bad in ["", "\0", "a\nb", "a\u{7f}b", "\u{9b}31m", &long, &"ü".repeat(257)] {
        let fields = [
            CommitRequest { session: bad.to_owned(), ..turn("s", "a", &cwd, vec![]) },
            CommitRequest { agent: agent(bad), ..turn("s", "a", &cwd, vec![]) },
            CommitRequest { team: Some(bad.to_owned()), ..turn("s", "a", &cwd, vec![]) },
            CommitRequest {
                cwd: format!("/{bad}/{bad}/{bad}/{bad}/{bad}/{bad}/{bad}/{bad}"),
                ..turn("s", "a", "", vec![])
            },
        ];
        let refusable = if bad.is_empty() {
            2
        } else if bad.len() == 514 {
            3
        } else {
            4
        };
        for request in fields.into_iter().take(refusable) {
            let error = kit.engine.commit(&kit.owner, request.clone()).unwrap_err();
            assert_eq!(error.problem, Problem::Invalid);
            assert!(error.message.len() < 200, "{}", error.message.len());
            assert!(!error.message.chars().any(char::is_control), "{:?}", error.message);
            assert!(kit.engine.append(&kit.owner, request).is_err());
        }
        let work = WorkRequest { agent: Some(agent(bad)), reader: reader(&cwd, "a"), ..Default::default() };
        assert_eq!(kit.engine.set_work(&kit.owner, &work).unwrap_err().problem, Problem::Invalid);
    }
    let odd = [
        "../../etc/passwd",
        "/",
        "..",
        "a/b",
        "C:\\x",
        "\u{202e}gnp.exe",
        "*",
        "%2e%2e",
        "'; --",
        "名前",
        "#1",
        "a#2",
    ];
    for name in odd {
        let outside = std::fs::read_dir(kit.path("")).unwrap().count();
        let mut request = everywhere(&cwd, name);
        request.transcript = Some(TranscriptRef {
            path: kit.path("projects/x/none").to_string_lossy().into_owned(),
            format: None,
        });
        kit.commit(request);
        let asks = reader(&cwd, name);
        kit.engine
            .set_work(
                &kit.owner,
                &WorkRequest {
                    agent: Some(agent(name)),
                    session: Some(name.to_owned()),
                    reader: asks.clone(),
                    summary: Some("busy".to_owned()),
                    ..Default::default()
                },
            )
            .unwrap();
        let recovered = kit
            .engine
            .recover(
                &kit.owner,
                &RecoverRequest {
                    reader: asks.clone(),
                    session: Some(name.to_owned()),
                    ..Default::default()
                },
            )
            .unwrap();
        assert!(recovered.told.text.contains("busy"), "{name}: {}", recovered.told.text);
        let task = TaskRequest { id: name.to_owned(), title: Some(name.to_owned()), ..Default::default() };
        kit.engine.set_task(&kit.owner, &asks, &task).unwrap();
        let texts = [
            kit.engine.roster(&kit.owner, &asks, &[]).unwrap().told.text,
            kit.engine.roster(&kit.owner, &asks, &[name.into()]).unwrap().told.text,
            kit.brief(&cwd, name),
            recovered.told.text,
        ];
        for text in texts {
            let is_bad = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}');
            assert!(!text.contains(is_bad), "{name}: {text:?}");
        }
        let session = kit.engine.session(&kit.owner, name).unwrap();
        assert_eq!(session.agent.id.as_str(), name);
        assert_eq!(std::fs::read_dir(kit.path("")).unwrap().count(), outside, "{name} became a file");
    }
    let list = SessionListRequest {
        reader: Reader { cwd: Some(cwd), ..Default::default() },
        limit: 50,
        ..Default::default()
    };
    assert_eq!(kit.engine.sessions(&kit.owner, &list).unwrap().items.len(), odd.len());
}
