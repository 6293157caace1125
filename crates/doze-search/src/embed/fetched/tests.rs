use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use doze_core::model::hex;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::*;

/// What a server does with a request.
#[derive(Clone)]
enum Reply {
    /// An answer with its length.
    Whole(Vec<u8>),
    /// One that ends with its connection.
    NoLength(Vec<u8>),
    Chunked(Vec<u8>),
    /// One that says it had another length.
    Claims(usize, Vec<u8>),
    /// The beginning of one, and then silence.
    Stalls(Vec<u8>),
    Redirect(String),
    Status(u16),
}

/// A server on this machine that gives one reply again and again.
struct Server {
    url: String,
    asked: Arc<AtomicUsize>,
    reply: Arc<Mutex<Reply>>,
}

impl Server {
    fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/a/mini-lm.tar.gz?token=t0k3n", listener.local_addr().unwrap());
        let (asked, reply) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(reply)));
        let (counter, current) = (Arc::clone(&asked), Arc::clone(&reply));
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let reply = current.lock().unwrap().clone();
                silent.extend(answer(stream.unwrap(), reply));
            }
        });
        Self { url, asked, reply }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers; a connection on which nothing more comes is given back, to stay open.
fn answer(stream: TcpStream, reply: Reply) -> Option<TcpStream> {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let head = |status: &str, more: &str| format!("HTTP/1.1 {status} X\r\nconnection: close\r\n{more}\r\n");
    let length = |length: usize| format!("content-length: {length}\r\n");
    let (head, body, stalls) = match reply {
        Reply::Whole(body) => (head("200", &length(body.len())), body, false),
        Reply::NoLength(body) => (head("200", ""), body, false),
        Reply::Chunked(body) => {
            let mut chunks = Vec::new();
            for chunk in body.chunks(1000) {
                chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                chunks.extend_from_slice(chunk);
                chunks.extend_from_slice(b"\r\n");
            }
            chunks.extend_from_slice(b"0\r\n\r\n");
            (head("200", "transfer-encoding: chunked\r\n"), chunks, false)
        }
        Reply::Claims(claimed, body) => (head("200", &length(claimed)), body, false),
        Reply::Stalls(body) => (head("200", &length(body.len() + 1)), body, true),
        Reply::Redirect(to) => (head("302", &format!("location: {to}\r\n{}", length(0))), Vec::new(), false),
        Reply::Status(status) => (head(&status.to_string(), &length(0)), Vec::new(), false),
    };
    let mut out = &stream;
    // Whoever has heard enough hangs up.
    let _ = out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body));
    stalls.then_some(stream)
}

/// An entry as it is, whatever name it has.
fn entry(archive: &mut Builder<impl Write>, name: &str, kind: EntryType, link: &str, body: &[u8]) {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(body.len() as u64);
    header.set_mode(0o777);
    header.set_cksum();
    archive.append(&header, body).unwrap();
}

fn tar_of(entries: &[(&str, EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (name, kind, link, body) in entries {
        entry(&mut archive, name, *kind, link, body);
    }
    archive.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

const FILE: EntryType = EntryType::Regular;
const ONNX: (&str, EntryType, &str, &[u8]) = ("mini/model.onnx", FILE, "", b"graph");
const TOKENS: (&str, EntryType, &str, &[u8]) = ("mini/tokenizer.json", FILE, "", b"{}");

/// An archive as those of models are.
fn right() -> Vec<u8> {
    let noise: Vec<u8> = (0..20_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    gzip(&tar_of(&[
        ("mini/", EntryType::Directory, "", b""),
        ("mini/._model.onnx", FILE, "", b"\0"),
        ONNX,
        ("./mini/model.onnx.data", FILE, "", &noise),
        TOKENS,
        ("mini/config.json", FILE, "", b"{\"a\":1}"),
        ("mini/run.sh", FILE, "", b"rm -rf /"),
    ]))
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn model(home: &TempDir, server: &Server, archive: &[u8]) -> FetchedModel {
    FetchedModel {
        url: server.url.clone(),
        sha256: sha256(archive),
        max_bytes: archive.len() as u64,
        folder: home.path().join("models"),
    }
}

const PATIENCE: Patience = Patience { longest: Duration::from_secs(20), silence: Duration::from_secs(20) };

fn files(model: &FetchedModel) -> Result<ModelFiles, EmbedError> {
    model.files_within(PATIENCE, &|| false)
}

/// Everything below the folder of models, with its mode.
fn kept(model: &FetchedModel) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut open = vec![model.folder.clone()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            found.push((path.strip_prefix(&model.folder).unwrap().display().to_string(), mode));
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_right_archive_is_fetched_once_and_kept_for_its_owner_alone() {
    let archive = right();
    for reply in [Reply::Whole, Reply::NoLength, Reply::Chunked] {
        let home = tempfile::tempdir().unwrap();
        let server = Server::start(reply(archive.clone()));
        let model = model(&home, &server, &archive);
        assert_eq!(
            (model.id().name.as_str(), model.id().sha256, model.id().dim),
            ("mini-lm", model.sha256.clone(), 384)
        );
        for _ in 0..3 {
            let files = files(&model).unwrap();
            assert_eq!((files.onnx.as_slice(), files.tokenizer.as_slice()), (&b"graph"[..], &b"{}"[..]));
            assert_eq!((files.config.as_slice(), files.tokenizer_config.len()), (&b"{\"a\":1}"[..], 0));
            assert_eq!((files.weights.len(), files.weights[0].0.as_str()), (1, "model.onnx.data"));
            assert_eq!(files.weights[0].1.len(), 80_000);
        }
        assert_eq!(server.asked(), 1);
        let folder = &model.sha256;
        let expected = ["config.json", "manifest.json", "model.onnx", "model.onnx.data", "tokenizer.json"];
        let expected = expected.iter().map(|name| (format!("{folder}/{name}"), 0o600));
        assert_eq!(kept(&model), [(folder.clone(), 0o700)].into_iter().chain(expected).collect::<Vec<_>>());
    }
}

#[test]
fn an_archive_without_compression_and_a_redirect_are_followed() {
    let archive = tar_of(&[ONNX, TOKENS]);
    let home = tempfile::tempdir().unwrap();
    let there = Server::start(Reply::Whole(archive.clone()));
    let here = Server::start(Reply::Redirect(there.url.clone()));
    assert_eq!(files(&model(&home, &here, &archive)).unwrap().onnx, b"graph");
    assert_eq!((here.asked(), there.asked()), (1, 1));
}

#[test]
fn of_what_is_not_the_right_archive_nothing_is_kept_and_the_reason_is_told() {
    let archive = right();
    let (half, other) = (archive[..archive.len() / 2].to_vec(), gzip(b"other"));
    let more: Vec<u8> = archive.iter().copied().chain(*b"more").collect();
    let endless = Server::start(Reply::Status(200));
    *endless.reply.lock().unwrap() = Reply::Redirect(endless.url.clone());
    let table = [
        (Reply::Whole(other), "and not the one in embedder.sha256"),
        (Reply::NoLength(half.clone()), "and not the one in embedder.sha256"),
        (Reply::Claims(archive.len() - 1, archive.clone()), "and not the one in embedder.sha256"),
        (Reply::Claims(archive.len(), half.clone()), "after"),
        (Reply::Claims(archive.len() + 1, archive.clone()), "larger than embedder.max_bytes"),
        (Reply::Whole(more.clone()), "larger than embedder.max_bytes"),
        (Reply::NoLength(more.clone()), "larger than embedder.max_bytes"),
        (Reply::Chunked(more), "larger than embedder.max_bytes"),
        (Reply::Status(404), "the server answers 404"),
        (Reply::Status(206), "the server answers 206"),
        (Reply::Redirect(endless.url.clone()), "redirects"),
        (Reply::Redirect("file:///etc/passwd".to_owned()), ""),
    ];
    for (reply, told) in table {
        let home = tempfile::tempdir().unwrap();
        let server = Server::start(reply);
        let model = model(&home, &server, &archive);
        let error = files(&model).err().unwrap().to_string();
        assert!(
            error.contains(told) && error.starts_with("the embedding model cannot be fetched"),
            "{error}"
        );
        assert!(!error.contains("t0k3n"), "{error}");
        assert_eq!(kept(&model), [], "{error}");
    }
    let home = tempfile::tempdir().unwrap();
    let gone = FetchedModel { url: "http://127.0.0.1:1/m.tar".into(), ..model(&home, &endless, &archive) };
    assert!(matches!(files(&gone), Err(EmbedError::Fetch { .. })));
}

#[test]
fn a_server_that_falls_silent_is_given_up_and_so_is_one_that_nobody_waits_for() {
    let archive = right();
    let server = Server::start(Reply::Stalls(archive[..1000].to_vec()));
    let home = tempfile::tempdir().unwrap();
    let model = FetchedModel { max_bytes: 1 << 20, ..model(&home, &server, &archive) };
    let hasty = Patience { silence: Duration::from_millis(100), ..PATIENCE };
    let error = model.files_within(hasty, &|| false).err().unwrap().to_string();
    assert!(error.contains("nothing came for") && error.contains("after 1000 bytes"), "{error}");
    assert_eq!(kept(&model), []);

    let (asked, start) = (AtomicBool::new(false), Instant::now());
    let gave_up = || asked.swap(true, Ordering::SeqCst);
    assert!(matches!(model.files_within(PATIENCE, &gave_up), Err(EmbedError::GivenUp)));
    assert!(start.elapsed() < PATIENCE.silence);
    assert_eq!(kept(&model), []);
    // Who does not want it to begin with asks nobody.
    let before = server.asked();
    assert!(matches!(model.files_within(PATIENCE, &|| true), Err(EmbedError::GivenUp)));
    assert_eq!(server.asked(), before);
    // Nor is what lies on disk loaded for them.
    *server.reply.lock().unwrap() = Reply::Whole(archive.clone());
    files(&model).unwrap();
    assert!(matches!(model.files_within(PATIENCE, &|| true), Err(EmbedError::GivenUp)));
}

#[test]
fn what_was_changed_on_disk_is_deleted_and_fetched_again() {
    let archive = right();
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(Reply::Whole(archive.clone()));
    let model = model(&home, &server, &archive);
    files(&model).unwrap();
    let before = kept(&model);
    let folder = model.folder.join(&model.sha256);
    let onnx = folder.join("model.onnx");
    let secret = home.path().join("elsewhere");
    fs::write(&secret, b"graph").unwrap();
    let tampering: [(&str, &dyn Fn()); 7] = [
        ("another text", &|| fs::write(&onnx, b"gr4ph").unwrap()),
        ("more of it", &|| fs::write(&onnx, b"graph and more").unwrap()),
        ("a missing file", &|| fs::remove_file(folder.join("tokenizer.json")).unwrap()),
        ("a link", &|| {
            fs::remove_file(&onnx).unwrap();
            std::os::unix::fs::symlink(&secret, &onnx).unwrap();
        }),
        ("no manifest", &|| fs::remove_file(folder.join("manifest.json")).unwrap()),
        ("a manifest of something else", &|| {
            fs::write(folder.join("manifest.json"), r#"{"archive":"0","files":{}}"#).unwrap();
        }),
        ("a file in place of the folder", &|| {
            fs::remove_dir_all(&folder).unwrap();
            fs::write(&folder, b"x").unwrap();
        }),
    ];
    for (round, (what, tamper)) in tampering.iter().enumerate() {
        tamper();
        assert_eq!(files(&model).unwrap().onnx, b"graph", "{what}");
        assert_eq!((server.asked(), kept(&model)), (round + 2, before.clone()), "{what}");
    }
    // A folder that says it holds more than it may is not read to its end, let alone used.
    let too_small = FetchedModel { max_bytes: 2, ..model.clone() };
    assert!(kept::read(&folder, &model.sha256, model.max_unpacked()).is_some());
    assert!(kept::read(&folder, &model.sha256, too_small.max_unpacked()).is_none());
    assert!(matches!(too_small.files_within(PATIENCE, &|| true), Err(EmbedError::GivenUp)));
    // Without the server what was changed is gone, and not used.
    fs::write(&onnx, b"gr4ph").unwrap();
    *server.reply.lock().unwrap() = Reply::Status(503);
    assert!(files(&model).is_err());
    assert_eq!(kept(&model), []);
    assert_eq!(fs::read(&secret).unwrap(), b"graph");
}

#[test]
fn the_model_before_and_what_was_never_finished_go_but_only_these() {
    let (first, second) = (right(), tar_of(&[ONNX, TOKENS]));
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(Reply::Whole(first.clone()));
    let before = model(&home, &server, &first);
    files(&before).unwrap();
    fs::create_dir(before.folder.join(".fetching-dead")).unwrap();
    fs::write(before.folder.join(".fetching-file"), b"x").unwrap();
    fs::write(before.folder.join("notes.txt"), b"mine").unwrap();
    let after = model(&home, &server, &second);
    // What cannot be fetched costs nothing that is there.
    assert!(files(&after).is_err());
    assert!(before.folder.join(&before.sha256).exists());
    *server.reply.lock().unwrap() = Reply::Whole(second);
    files(&after).unwrap();
    let names: Vec<String> = kept(&after).into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.starts_with(&before.sha256) || name.starts_with('.')), "{names:?}");
    assert!(names.contains(&"notes.txt".to_owned()), "{names:?}");
}

#[test]
fn what_was_never_finished_goes_when_nothing_is_fetched_any_more() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("models");
    clear_unfinished(&folder).unwrap();
    fs::create_dir_all(folder.join(".fetching-dead/part")).unwrap();
    fs::write(folder.join(".fetching-file"), b"x").unwrap();
    fs::write(folder.join("notes.txt"), b"mine").unwrap();
    clear_unfinished(&folder).unwrap();
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["notes.txt"]);
}

#[test]
fn an_archive_cannot_write_elsewhere_or_more_than_it_may() {
    let zeros = vec![0; 1 << 20];
    let link = |kind, to| [ONNX, TOKENS, ("mini/config.json", kind, to, &b""[..])];
    let table: Vec<(Vec<u8>, &str)> = vec![
        (
            tar_of(&[ONNX, TOKENS, ("../config.json", FILE, "", b"x")]),
            "a path that leaves it: ../config.json",
        ),
        (tar_of(&[ONNX, TOKENS, ("a/../../../tokenizer.json", FILE, "", b"x")]), "a path that leaves it"),
        (tar_of(&[ONNX, TOKENS, ("/tmp/config.json", FILE, "", b"x")]), "a path that leaves it"),
        (tar_of(&link(EntryType::Symlink, "/etc/passwd")), "something that is no file: mini/config.json"),
        (tar_of(&link(EntryType::Link, "../secret")), "something that is no file"),
        (tar_of(&link(EntryType::Fifo, "")), "something that is no file"),
        (tar_of(&[ONNX, TOKENS, ("other/tokenizer.json", FILE, "", b"x")]), "two files tokenizer.json"),
        (tar_of(&[ONNX, TOKENS, ("mini/b.onnx", FILE, "", b"x")]), "more than one *.onnx"),
        (tar_of(&[ONNX]), "no tokenizer.json"),
        (tar_of(&[TOKENS]), "no *.onnx file"),
        (b"#!/bin/sh\n".to_vec(), "damaged"),
        (b"PK\x03\x04".repeat(512), "damaged"),
        (Vec::new(), "no *.onnx file"),
        (gzip(&tar_of(&[ONNX, TOKENS]))[..60].to_vec(), "damaged"),
        (gzip(&tar_of(&[("model.onnx", FILE, "", &zeros), TOKENS])), "unpacks to more than"),
    ];
    for (archive, told) in table {
        let home = tempfile::tempdir().unwrap();
        let server = Server::start(Reply::Whole(archive.clone()));
        let model = model(&home, &server, &archive);
        let error = files(&model).err().unwrap().to_string();
        assert!(error.contains(told), "{told}: {error}");
        assert_eq!(kept(&model), [], "{error}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "{error}");
    }
}

#[test]
fn an_address_names_the_model_and_is_told_without_what_is_secret() {
    let of = |url: &str| {
        let model =
            FetchedModel { url: url.into(), sha256: String::new(), max_bytes: 0, folder: PathBuf::new() };
        (model.name(), doze_core::url::shown(&model.url))
    };
    let both = |name: &str, shown: &str| (name.to_owned(), shown.to_owned());
    assert_eq!(
        of("https://me:p@ss@h/a/all-MiniLM.tar.gz?sig=x"),
        both("all-MiniLM", "https://h/a/all-MiniLM.tar.gz")
    );
    assert_eq!(of("http://h/m.tgz#x"), both("m", "http://h/m.tgz"));
    assert_eq!(of("http://h/"), both("fetched", "http://h/"));
    assert_eq!(of("http://h/\u{1b}[2J数.tar").0, "2J");
}
