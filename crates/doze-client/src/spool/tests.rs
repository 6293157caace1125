//! The spool against a real folder.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use super::*;

fn spool() -> (tempfile::TempDir, Spool) {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::new(dir.path().join("spool"));
    (dir, spool)
}

fn commit(session: &str) -> Value {
    json!({"session": session, "agent": "a", "cwd": "/x", "summary": "did it"})
}

fn drained(spool: &Spool) -> Vec<String> {
    let mut sessions = Vec::new();
    spool
        .drain(|request| {
            sessions.push(request.params["session"].as_str().unwrap().to_owned());
            Verdict::Remove
        })
        .unwrap();
    sessions
}

#[test]
fn what_was_put_comes_out_once_in_order_and_private() {
    let (_dir, spool) = spool();
    let paths: Vec<PathBuf> =
        (0..5).map(|n| spool.put("session.commit", commit(&format!("s{n}"))).unwrap()).collect();
    assert_eq!(fs::metadata(&paths[0]).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&spool.dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(spool.level().files, 5);
    let mut sessions = drained(&spool);
    // Within one millisecond the order is that of the ids.
    sessions.sort();
    assert_eq!(sessions, ["s0", "s1", "s2", "s3", "s4"]);
    assert_eq!(drained(&spool), Vec::<String>::new());
    assert_eq!(spool.level(), SpoolLevel::default());
}

#[test]
fn older_commits_come_first() {
    let (_dir, spool) = spool();
    let new = spool.put("session.commit", commit("new")).unwrap();
    let name = new.file_name().unwrap().to_str().unwrap().replace("0001", "0000");
    let old = SpooledRequest { method: "session.commit".into(), params: commit("old") };
    fs::write(spool.dir.join(format!("{:015}-{}", 7, &name[16..])), serde_json::to_vec(&old).unwrap())
        .unwrap();
    assert_eq!(drained(&spool), ["old", "new"]);
}

#[test]
fn the_same_commit_is_kept_once_under_the_id_it_had_on_the_first_attempt() {
    let (_dir, spool) = spool();
    let mut params = commit("s");
    let id = ensure_commit_id(&mut params);
    let first = spool.put("session.commit", params).unwrap();
    assert_eq!(spool.put("session.commit", commit("s")).unwrap(), first);
    spool
        .drain(|request| {
            assert_eq!(request.params["commit_id"], json!(id));
            Verdict::Keep
        })
        .unwrap();
    assert_eq!(spool.level().files, 1);
}

#[test]
fn no_secret_reaches_the_disk() {
    let (_dir, spool) = spool();
    let key = ["AKIA", "QWERTYUIOPASDFGH"].concat();
    let mut params = commit("s");
    params["output"] = json!(format!("aws_access_key_id = {key}"));
    let path = spool.put("session.commit", params).unwrap();
    let text = fs::read_to_string(path).unwrap();
    assert!(!text.contains(&key) && text.contains("[redacted:"), "{text}");
}

#[test]
fn a_full_spool_refuses_and_keeps_what_it_has() {
    let (_dir, spool) = spool();
    let narrow = spool.clone().with_bounds(2, SPOOL_BYTES_MAX);
    narrow.put("session.commit", commit("a")).unwrap();
    narrow.put("session.commit", commit("b")).unwrap();
    let error = narrow.put("session.commit", commit("c")).unwrap_err();
    assert!(matches!(error, SpoolError::Full { files: 2, .. }), "{error}");
    narrow.put("session.commit", commit("a")).unwrap();
    let small = spool.clone().with_bounds(SPOOL_FILES_MAX, 10);
    assert!(matches!(small.put("session.commit", commit("d")), Err(SpoolError::Full { .. })));
    assert_eq!(drained(&spool).len(), 2);
}

#[test]
fn only_what_may_come_twice_is_spooled() {
    let (_dir, spool) = spool();
    for (method, params) in [("memory.add", json!({"body": "b"})), ("session.commit", json!("x"))] {
        assert!(matches!(spool.put(method, params), Err(SpoolError::NotSpoolable { .. })), "{method}");
    }
    let mut large = commit("s");
    large["output"] = json!("x".repeat(MAX_FRAME_BYTES));
    assert!(matches!(spool.put("session.commit", large), Err(SpoolError::TooLarge { .. })));
}

#[test]
fn torn_and_foreign_files_are_put_aside_and_the_rest_is_read() {
    let (_dir, spool) = spool();
    let good = spool.put("session.commit", commit("good")).unwrap();
    let whole = fs::read(&good).unwrap();
    fs::write(spool.dir.join("000-torn.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(spool.dir.join("001-empty.json"), b"").unwrap();
    fs::write(spool.dir.join("002-bytes.json"), b"\xff\xfe\0").unwrap();
    fs::write(spool.dir.join("003-other.json"), br#"{"method":"memory.forget","params":{"all":true}}"#)
        .unwrap();
    fs::write(spool.dir.join("notes.txt"), b"not ours").unwrap();
    fs::write(spool.dir.join(".tmp-1-1"), b"being written").unwrap();
    let mut seen = 0;
    let drained = spool
        .drain(|request| {
            seen += 1;
            assert_eq!(request.params["session"], "good");
            Verdict::Remove
        })
        .unwrap();
    assert_eq!((seen, drained), (1, Drained { removed: 1, kept: 0, quarantined: 4 }));
    assert_eq!(spool.level().quarantined, 4);
    assert!(spool.dir.join("notes.txt").exists() && spool.dir.join(".tmp-1-1").exists());
}

#[test]
fn a_request_that_has_to_wait_holds_back_those_behind_it() {
    let (_dir, spool) = spool();
    for n in 0..3 {
        let request = SpooledRequest { method: "session.append".into(), params: commit(&format!("s{n}")) };
        fs::create_dir_all(&spool.dir).unwrap();
        fs::write(spool.dir.join(format!("{n}-x.json")), serde_json::to_vec(&request).unwrap()).unwrap();
    }
    let drained = spool
        .drain(|request| if request.params["session"] == "s0" { Verdict::Remove } else { Verdict::Keep })
        .unwrap();
    assert_eq!(drained, Drained { removed: 1, kept: 2, quarantined: 0 });
    assert_eq!(spool.level().files, 2);
}

#[test]
fn the_quarantine_does_not_grow_without_end() {
    let (_dir, spool) = spool();
    for n in 0..QUARANTINE_MAX + 10 {
        fs::create_dir_all(&spool.dir).unwrap();
        fs::write(spool.dir.join(format!("{n:04}-bad.json")), b"{").unwrap();
    }
    spool.drain(|_| Verdict::Remove).unwrap();
    assert_eq!(spool.level().quarantined, QUARANTINE_MAX);
    assert!(!spool.quarantine_dir().join("0000-bad.json").exists());
}

#[test]
fn room_is_reserved_once_and_given_up_when_needed() {
    let (_dir, spool) = spool();
    spool.prepare().unwrap();
    let made = fs::metadata(spool.reserve()).unwrap();
    assert_eq!(made.len(), RESERVE_BYTES);
    spool.prepare().unwrap();
    assert_eq!(fs::metadata(spool.reserve()).unwrap().ino(), made.ino());
    assert_eq!(spool.level().files, 0, "the reserve is no commit");
    assert!(spool.release_reserve());
    assert!(!spool.release_reserve());
    assert!(is_disk_full(&io::Error::from_raw_os_error(28)));
}

#[test]
fn a_link_in_the_spool_is_not_followed() {
    let (dir, spool) = spool();
    spool.prepare().unwrap();
    let outside = dir.path().join("outside.json");
    fs::write(
        &outside,
        serde_json::to_vec(&SpooledRequest { method: "session.commit".into(), params: commit("x") }).unwrap(),
    )
    .unwrap();
    std::os::unix::fs::symlink(&outside, spool.dir.join("0-link.json")).unwrap();
    assert_eq!(drained(&spool), Vec::<String>::new());
    assert!(outside.exists());
}

#[test]
fn losses_are_counted_within_bounds_and_told_for_a_week() {
    let (_dir, spool) = spool();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..5).for_each(|_| spool.note_lost()));
        }
    });
    assert_eq!(spool.level(), SpoolLevel { lost: 20, ..SpoolLevel::default() });
    let file = spool.dir.join(".lost");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);

    let week_ago = SystemTime::now() - Duration::from_secs(7 * 24 * 3600 + 60);
    File::options().write(true).open(&file).unwrap().set_modified(week_ago).unwrap();
    assert_eq!(spool.level().lost, 0);
    spool.note_lost();
    assert_eq!(spool.level().lost, 1);

    fs::write(&file, vec![b'.'; 20_000]).unwrap();
    spool.note_lost();
    assert_eq!((spool.level().lost, fs::metadata(&file).unwrap().len()), (9_999, 20_000));
}
