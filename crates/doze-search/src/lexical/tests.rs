use std::fs;

use doze_core::model::{Kind, SessionKey, Status};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn open() -> (TempDir, Lexical) {
    let dir = tempfile::tempdir().unwrap();
    let index = Lexical::open(dir.path()).unwrap();
    (dir, index)
}

fn doc(id: &str, title: &str, body: &str) -> Doc {
    Doc {
        id: id.into(),
        owner: "o".into(),
        scope_key: "user".into(),
        project: None,
        kind: DocKind::Memory,
        status: Some(Status::Active),
        memory_kind: Some(Kind::Fact),
        title: title.into(),
        body: body.into(),
        at_ms: 0,
    }
}

fn put(index: &Lexical, docs: &[Doc], seq: u64) {
    index.apply(docs.iter().cloned().map(DocChange::Put).collect(), seq).unwrap();
}

fn query(text: &str) -> LexicalQuery {
    LexicalQuery::new(text, "o".into(), vec!["user".into()], 10)
}

fn find(index: &Lexical, text: &str) -> Vec<String> {
    ids(index.search(&query(text)).unwrap())
}

fn ids(hits: Vec<LexicalHit>) -> Vec<String> {
    hits.into_iter().map(|hit| hit.id).collect()
}

/// The same must hold in memory, on disk, and with a part in each.
fn everywhere(docs: &[Doc], check: impl Fn(&Lexical)) {
    for committed in 0..=docs.len() {
        let (_dir, index) = open();
        put(&index, &docs[..committed], 1);
        index.commit().unwrap();
        put(&index, &docs[committed..], 2);
        check(&index);
    }
}

#[test]
fn a_write_is_read_at_once_and_after_the_commit() {
    let (_dir, index) = open();
    put(&index, &[doc("m:1", "Database", "The port is 5433")], 7);
    assert_eq!((index.seq(), index.visible_seq(), index.pending()), (0, 7, 1));
    assert_eq!(find(&index, "port"), ["m:1"]);
    index.commit().unwrap();
    assert_eq!((index.seq(), index.visible_seq(), index.pending()), (7, 7, 0));
    assert_eq!(find(&index, "port"), ["m:1"]);
    assert_eq!(index.len(), 1);
}

#[test]
fn one_term_is_enough_and_more_are_better() {
    let docs = [
        doc("m:1", "", "redis runs on port 6380"),
        doc("m:2", "", "postgres runs on port 5433"),
        doc("m:3", "", "the cat sat"),
    ];
    everywhere(&docs, |index| {
        assert_eq!(find(index, "postgres port zebra unknown"), ["m:2", "m:1"]);
        assert_eq!(find(index, "Where does POSTGRES run?"), ["m:2", "m:1"]);
        assert!(find(index, "zebra").is_empty());
        assert!(
            find(index, "").is_empty() && find(index, " \t\n").is_empty() && find(index, "?!*").is_empty()
        );
    });
}

#[test]
fn stems_identifiers_paths_scripts_and_pictures_are_found() {
    let docs = [
        doc("m:1", "Migrations", "run parseHttpRequest in src/main.rs"),
        doc("m:2", "", "MAX_RETRY_COUNT 用于缓存服务 caf\u{e9} 🦀"),
        doc("m:3", "", "データベースのポート"),
    ];
    everywhere(&docs, |index| {
        for (text, id) in [
            ("migrating", "m:1"),
            ("http", "m:1"),
            ("parsehttprequest", "m:1"),
            ("main.rs", "m:1"),
            ("src/main.rs", "m:1"),
            ("retry", "m:2"),
            ("max_retry_count", "m:2"),
            ("缓存", "m:2"),
            ("服", "m:2"),
            ("CAFE", "m:2"),
            ("🦀", "m:2"),
            ("ポート", "m:3"),
        ] {
            assert_eq!(find(index, text).first().map(String::as_str), Some(id), "{text}");
        }
    });
}

#[test]
fn pairs_of_characters_rank_above_single_ones() {
    let docs = [doc("m:1", "", "数缓据存"), doc("m:2", "", "数据缓存")];
    everywhere(&docs, |index| assert_eq!(find(index, "缓存"), ["m:2", "m:1"]));
}

#[test]
fn the_title_counts_twice() {
    let docs = [doc("m:1", "alpha", "beta"), doc("m:2", "beta", "alpha")];
    everywhere(&docs, |index| {
        assert_eq!(find(index, "alpha"), ["m:1", "m:2"]);
        assert_eq!(find(index, "beta"), ["m:2", "m:1"]);
    });
}

#[test]
fn memory_and_disk_score_alike() {
    let docs: Vec<Doc> = (0..12)
        .map(|n| {
            doc(&format!("m:{n:02}"), &"port ".repeat(n % 3), &format!("port {}", "word ".repeat(n * 4)))
        })
        .collect();
    let hits = |index: &Lexical| index.search(&query("port word")).unwrap();
    let (_dir, on_disk) = open();
    put(&on_disk, &docs, 1);
    let in_memory = hits(&on_disk);
    on_disk.commit().unwrap();
    let committed = hits(&on_disk);
    assert_eq!(in_memory.len(), 10);
    everywhere(&docs, |index| {
        for (mixed, expected) in hits(index).iter().zip(&committed) {
            assert_eq!(mixed.id, expected.id);
            assert!((mixed.score - expected.score).abs() < 1e-4, "{mixed:?} {expected:?}");
        }
    });
    for (memory, disk) in in_memory.iter().zip(&committed) {
        assert_eq!(memory.id, disk.id);
        assert!((memory.score - disk.score).abs() < 1e-4, "{memory:?} {disk:?}");
    }
}

#[test]
fn an_update_hides_the_old_text_and_a_delete_hides_all() {
    let (_dir, index) = open();
    put(&index, &[doc("m:1", "", "old words"), doc("m:2", "", "old words too")], 1);
    index.commit().unwrap();
    put(&index, &[doc("m:1", "", "new text")], 2);
    assert_eq!(find(&index, "old"), ["m:2"]);
    assert_eq!(find(&index, "new"), ["m:1"]);
    assert_eq!(index.len(), 2);
    index.apply(vec![DocChange::Delete { owner: "o".into(), id: "m:2".into() }], 3).unwrap();
    assert!(find(&index, "old").is_empty());
    index.commit().unwrap();
    assert!(find(&index, "old").is_empty());
    assert_eq!(find(&index, "new"), ["m:1"]);
    // Deleted in memory before it was ever on disk.
    put(&index, &[doc("m:3", "", "fleeting")], 4);
    index.apply(vec![DocChange::Delete { owner: "o".into(), id: "m:3".into() }], 5).unwrap();
    assert!(find(&index, "fleeting").is_empty());
    index.commit().unwrap();
    assert!(find(&index, "fleeting").is_empty());
    assert_eq!(index.len(), 1);
}

#[test]
fn updates_never_take_the_place_of_good_hits() {
    let (_dir, index) = open();
    let docs: Vec<Doc> = (0..40).map(|n| doc(&format!("m:{n:02}"), "needle", "needle")).collect();
    put(&index, &docs, 1);
    put(&index, &[doc("m:z", "", "needle in a hay stack of words")], 2);
    index.commit().unwrap();
    let emptied: Vec<Doc> = (0..40).map(|n| doc(&format!("m:{n:02}"), "", "hay")).collect();
    put(&index, &emptied, 3);
    assert_eq!(find(&index, "needle"), ["m:z"]);
}

#[test]
fn a_session_leaves_whole() {
    let session = SessionKey::new("s1", "codex");
    let other = SessionKey::new("s1", "claude-code");
    let of =
        |id: String| Doc { kind: DocKind::Event, status: None, memory_kind: None, ..doc(&id, "", "token") };
    let docs = [
        of(summary_doc_id(&session)),
        of(event_doc_id(&session, 0)),
        of(event_doc_id(&other, 0)),
        Doc { owner: "p".into(), ..of(event_doc_id(&session, 0)) },
        of(event_doc_id(&session, 1)),
    ];
    everywhere(&docs, |index| {
        index
            .apply(vec![DocChange::DeleteSession { owner: "o".into(), session: session.clone() }], 3)
            .unwrap();
        let check = |index: &Lexical| {
            assert_eq!(find(index, "token"), [event_doc_id(&other, 0)]);
            let theirs = LexicalQuery { owner: "p".into(), ..query("token") };
            assert_eq!(ids(index.search(&theirs).unwrap()), [event_doc_id(&session, 0)]);
        };
        check(index);
        index.commit().unwrap();
        check(index);
        // The session may come back.
        put(index, &[of(event_doc_id(&session, 0))], 4);
        assert_eq!(find(index, "token").len(), 2);
    });
}

#[test]
fn owners_and_spaces_are_apart() {
    let docs = [
        doc("m:1", "", "secret"),
        Doc { owner: "p".into(), ..doc("m:1", "", "secret") },
        Doc { scope_key: "bank".into(), ..doc("m:2", "", "secret") },
        Doc { scope_key: "project\0x".into(), ..doc("m:3", "", "secret") },
    ];
    everywhere(&docs, |index| {
        let search = |owner: &str, scopes: &[&str]| {
            let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
            ids(index.search(&LexicalQuery::new("secret", owner.into(), scopes, 10)).unwrap())
        };
        assert_eq!(search("o", &["user"]), ["m:1"]);
        assert_eq!(search("o", &["user", "project\0x"]), ["m:1", "m:3"]);
        assert_eq!(search("p", &["user", "bank", "project\0x"]), ["m:1"]);
        assert!(search("q", &["user"]).is_empty() && search("o", &[]).is_empty());
        // Deleting one owner's document leaves the other's.
        index.apply(vec![DocChange::Delete { owner: "p".into(), id: "m:1".into() }], 3).unwrap();
        assert_eq!(search("o", &["user"]), ["m:1"]);
        assert!(search("p", &["user"]).is_empty());
    });
}

#[test]
fn every_filter_is_heard() {
    let active = Doc { at_ms: 10, ..doc("m:active", "", "word") };
    let stale = Doc {
        at_ms: 20,
        status: Some(Status::Stale),
        memory_kind: Some(Kind::Lesson),
        project: Some("p".into()),
        ..doc("m:stale", "", "word")
    };
    let event = Doc {
        at_ms: 30,
        kind: DocKind::Event,
        status: None,
        memory_kind: None,
        ..doc("e:s\0h\x000", "", "word")
    };
    everywhere(&[active, stale, event], |index| {
        let search = |change: &dyn Fn(&mut LexicalQuery)| {
            let mut query = query("word");
            change(&mut query);
            let mut ids = ids(index.search(&query).unwrap());
            ids.sort();
            ids
        };
        assert_eq!(search(&|_| {}), ["e:s\0h\x000", "m:active", "m:stale"]);
        assert_eq!(search(&|q| q.kinds = DocKindSet::MEMORIES), ["m:active", "m:stale"]);
        assert_eq!(search(&|q| q.kinds = DocKindSet::of(&[DocKind::Event])), ["e:s\0h\x000"]);
        assert!(search(&|q| q.kinds = DocKindSet::of(&[])).is_empty());
        assert_eq!(search(&|q| q.statuses = vec![Status::Active]), ["e:s\0h\x000", "m:active"]);
        assert_eq!(search(&|q| q.memory_kinds = vec![Kind::Lesson]), ["e:s\0h\x000", "m:stale"]);
        assert_eq!(search(&|q| q.since_ms = Some(20)), ["e:s\0h\x000", "m:stale"]);
        assert_eq!(search(&|q| q.until_ms = Some(20)), ["m:active"]);
        assert_eq!(search(&|q| (q.since_ms, q.until_ms) = (Some(11), Some(30))), ["m:stale"]);
        assert!(search(&|q| (q.since_ms, q.until_ms) = (Some(30), Some(10))).is_empty());
        assert_eq!(search(&|q| q.project = Some("p".into())), ["m:stale"]);
        assert_eq!(search(&|q| q.limit = 1).len(), 1);
        assert!(search(&|q| q.limit = 0).is_empty());
        assert_eq!(search(&|q| q.limit = usize::MAX).len(), 3);
    });
}

#[test]
fn openorc_completes_the_last_word() {
    let docs = [
        doc("m:1", "", "the migration ran"),
        doc("m:2", "", "configuration of redis"),
        doc("m:3", "", "tea"),
    ];
    everywhere(&docs, |index| {
        let search = |text: &str| {
            ids(index.search(&LexicalQuery { syntax: QuerySyntax::Openorc, ..query(text) }).unwrap())
        };
        assert_eq!(search("migr"), ["m:1"]);
        assert_eq!(search("migrati"), ["m:1"]);
        assert_eq!(search("zebra conf"), ["m:2"]);
        assert_eq!(search("te"), ["m:3"]);
        assert_eq!(search("\"redis\" AND (mig*").len(), 2);
        assert!(search("conf zebra").is_empty());
        assert!(search("x").is_empty());
    });
}

#[test]
fn a_reopened_index_goes_on_where_the_last_commit_was() {
    let (dir, index) = open();
    put(&index, &[doc("m:1", "", "durable")], 41);
    index.commit().unwrap();
    put(&index, &[doc("m:2", "", "lost")], 42);
    drop(index);
    let index = Lexical::open(dir.path()).unwrap();
    assert_eq!((index.seq(), index.visible_seq()), (41, 41));
    assert_eq!(find(&index, "durable lost"), ["m:1"]);
    // A change that only moves the number is kept too.
    index.apply(Vec::new(), 50).unwrap();
    index.commit().unwrap();
    drop(index);
    assert_eq!(Lexical::open(dir.path()).unwrap().seq(), 50);
}

#[test]
fn a_full_tail_commits_by_itself_and_the_writer_leaves_with_the_idle_commit() {
    let (dir, index) = open();
    let docs: Vec<Doc> = (0..COMMIT_CHANGES).map(|n| doc(&format!("m:{n}"), "", "bulk")).collect();
    put(&index, &docs, 9);
    assert_eq!((index.seq(), index.pending()), (9, 0));
    assert!(index.writer.lock().unwrap().is_some());
    index.commit().unwrap();
    assert!(index.writer.lock().unwrap().is_none());
    assert_eq!(index.len(), COMMIT_CHANGES);
    drop(index);
    assert_eq!(Lexical::open(dir.path()).unwrap().len(), COMMIT_CHANGES);
}

#[test]
fn clearing_begins_anew() {
    let (dir, index) = open();
    put(&index, &[doc("m:1", "", "word")], 5);
    index.commit().unwrap();
    put(&index, &[doc("m:2", "", "word")], 6);
    index.clear().unwrap();
    assert_eq!((index.seq(), index.visible_seq(), index.len()), (0, 0, 0));
    assert!(find(&index, "word").is_empty());
    put(&index, &[doc("m:3", "", "word")], 1);
    index.commit().unwrap();
    drop(index);
    assert_eq!(find(&Lexical::open(dir.path()).unwrap(), "word"), ["m:3"]);
}

/// A committed index, closed.
fn committed() -> TempDir {
    let (dir, index) = open();
    put(&index, &(0..50).map(|n| doc(&format!("m:{n}"), "title", "some words here")).collect::<Vec<_>>(), 3);
    index.commit().unwrap();
    dir
}

#[test]
fn an_index_that_was_tampered_with_is_begun_anew() {
    let names: Vec<_> = fs::read_dir(committed().path())
        .unwrap()
        .map(|file| file.unwrap().path().extension().unwrap_or_default().to_owned())
        .filter(|extension| extension != "lock")
        .collect();
    assert!(names.len() >= 6, "{names:?}");
    for extension in names {
        for damage in [
            |_: Vec<u8>| Vec::new(),
            |_| b"garbage".to_vec(),
            |mut bytes: Vec<u8>| {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0xff;
                bytes
            },
        ] {
            let dir = committed();
            let files = fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path());
            for file in files.filter(|file| file.extension().unwrap_or_default() == extension) {
                let bytes = fs::read(&file).unwrap();
                fs::write(&file, damage(bytes)).unwrap();
            }
            let index = Lexical::open(dir.path()).unwrap();
            // Bookkeeping files may be made again from the others; then nothing is lost.
            if index.seq() == 0 {
                assert_eq!(index.len(), 0, "{extension:?}");
            } else {
                assert_eq!(find(&index, "words").len(), 10, "{extension:?}");
            }
            put(&index, &[doc("m:new", "", "fresh")], 4);
            index.commit().unwrap();
            assert_eq!(find(&index, "fresh"), ["m:new"], "{extension:?}");
        }
    }
}

#[test]
fn deleted_files_foreign_versions_and_files_in_the_way_begin_anew() {
    let damages: [&dyn Fn(&Path); 4] = [
        &|dir| fs::remove_file(dir.join("meta.json")).unwrap(),
        &|dir| {
            let meta = fs::read_to_string(dir.join("meta.json")).unwrap();
            fs::write(dir.join("meta.json"), meta.replace("doze 3 3", "doze 999 3")).unwrap();
        },
        &|dir| {
            let meta = fs::read_to_string(dir.join("meta.json")).unwrap();
            fs::write(dir.join("meta.json"), meta.replace("\"body\"", "\"text\"")).unwrap();
        },
        &|dir| {
            fs::remove_dir_all(dir).unwrap();
            fs::write(dir, "a file").unwrap();
        },
    ];
    for damage in damages {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("index");
        fs::rename(committed().keep(), &dir).unwrap();
        damage(&dir);
        let index = Lexical::open(&dir).unwrap();
        assert_eq!((index.seq(), index.len()), (0, 0));
        put(&index, &[doc("m:new", "", "fresh")], 4);
        index.commit().unwrap();
        assert_eq!(Lexical::open(&dir).unwrap().seq(), 4);
    }
}

#[test]
fn a_folder_that_vanishes_is_an_error_and_clearing_heals_it() {
    let (dir, index) = open();
    put(&index, &[doc("m:1", "", "word")], 1);
    index.commit().unwrap();
    fs::remove_dir_all(dir.path()).unwrap();
    put(&index, &[doc("m:2", "", "word")], 2);
    assert!(index.commit().is_err());
    assert_eq!(index.visible_seq(), 2);
    index.clear().unwrap();
    put(&index, &[doc("m:1", "", "word"), doc("m:2", "", "word")], 2);
    index.commit().unwrap();
    assert_eq!(find(&index, "word"), ["m:1", "m:2"]);
}

#[test]
fn searches_go_on_while_changes_are_applied_and_committed() {
    let (_dir, index) = open();
    put(&index, &[doc("m:fixed", "", "anchor")], 1);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..5u64 {
                let docs: Vec<Doc> =
                    (0..20).map(|n| doc(&format!("m:{n}"), "", &format!("round{round} anchor"))).collect();
                put(&index, &docs, round + 2);
                index.commit().unwrap();
            }
        });
        while !writer.is_finished() {
            let hits = index.search(&LexicalQuery { limit: 100, ..query("anchor") }).unwrap();
            assert!(hits.len() == 1 || hits.len() == 21, "{}", hits.len());
        }
    });
}

/// One index for every string the generator thinks of.
fn shared() -> &'static Lexical {
    static INDEX: std::sync::OnceLock<(TempDir, Lexical)> = std::sync::OnceLock::new();
    let (_, index) = INDEX.get_or_init(|| {
        let (dir, index) = open();
        put(
            &index,
            &(0..30)
                .map(|n| doc(&format!("m:{n}"), "the AND title", "a body: foo_bar 数据"))
                .collect::<Vec<_>>(),
            1,
        );
        index.commit().unwrap();
        put(&index, &[doc("m:tail", "NOT", "OR \"quoted\" *")], 2);
        (dir, index)
    });
    index
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_query_is_an_error(text in any::<String>(), openorc in any::<bool>(), limit in 0usize..50) {
        let syntax = if openorc { QuerySyntax::Openorc } else { QuerySyntax::Default };
        let hits = shared().search(&LexicalQuery { syntax, limit, ..query(&text) }).unwrap();
        prop_assert!(hits.len() <= limit);
        prop_assert!(hits.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()));
    }

    #[test]
    fn no_operator_is_an_error(text in "([a-z\"*():^~+\\-!&|\\[\\]{}/\\\\ ]|AND|OR|NOT|NEAR|body:|\u{0}){0,40}") {
        shared().search(&query(&text)).unwrap();
        shared().search(&LexicalQuery { syntax: QuerySyntax::Openorc, ..query(&text) }).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_was_written_is_found_by_any_of_its_words(body in "\\PC{0,80}", committed in any::<bool>()) {
        let (_dir, index) = open();
        put(&index, &[doc("m:1", "", &body)], 1);
        if committed {
            index.commit().unwrap();
        }
        for term in crate::text::terms(&body) {
            // A stem is not always its own stem; the word it came from is what people type.
            let word = body.split_whitespace().find(|word| crate::text::terms(word).contains(&term));
            if let Some(word) = word {
                prop_assert_eq!(find(&index, word), ["m:1"], "{} of {}", word, body);
            }
        }
    }
}
