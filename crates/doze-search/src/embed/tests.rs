use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn id() -> ModelId {
    ModelId { name: "test".into(), sha256: "0".into(), dim: 1 }
}

/// A model that tells what it is given and waits for leave to go on.
struct Gated {
    id: ModelId,
    seen: Sender<String>,
    go: Receiver<()>,
}

impl Embedder for Gated {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.seen.send(text.to_owned()).unwrap();
        self.go.recv().unwrap();
        match text {
            "fail" => Err(EmbedError::Run("no".into())),
            "panic" => panic!("no"),
            _ => Ok(vec![text.len() as f32]),
        }
    }
}

/// A service over a [`Gated`] model, what it sees, and the gate.
fn gated(options: EmbedOptions) -> (EmbedService, Receiver<String>, Sender<()>) {
    let (seen_by, seen) = channel();
    let (gate, go) = channel();
    let slot = std::sync::Mutex::new(Some(Gated { id: id(), seen: seen_by, go }));
    let factory: Factory =
        Box::new(move || Ok(Box::new(slot.lock().unwrap().take().unwrap()) as Box<dyn Embedder>));
    (EmbedService::start(factory, options), seen, gate)
}

/// A model that answers at once, with a count of how often it was loaded and dropped.
struct Counted {
    id: ModelId,
    dropped: Sender<()>,
}

impl Embedder for Counted {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(vec![text.len() as f32])
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Nobody may listen any more.
        let _ = self.dropped.send(());
    }
}

#[test]
fn queries_overtake_documents_between_two_chunks() {
    let (service, seen, gate) = gated(EmbedOptions::new(id()));
    let (done_by, done) = channel();
    let docs = ["a", "b"].map(|doc| (doc.to_owned(), vec![format!("{doc}1"), format!("{doc}2")]));
    let submitted =
        service.submit(docs.into(), Box::new(move |doc, vectors| done_by.send((doc, vectors)).unwrap()));
    assert_eq!(submitted, Submitted::Accepted);
    assert_eq!(seen.recv_timeout(LONG).unwrap(), "a1");
    assert!(!service.is_idle());
    std::thread::scope(|scope| {
        let query = scope.spawn(|| service.query("query", LONG));
        while service.state().queries == 0 {
            std::thread::yield_now();
        }
        for expected in ["query", "a2", "b1", "b2"] {
            gate.send(()).unwrap();
            assert_eq!(seen.recv_timeout(LONG).unwrap(), expected);
        }
        assert_eq!(query.join().unwrap(), QueryEmbedding::Ready(vec![5.0]));
    });
    gate.send(()).unwrap();
    assert_eq!(done.recv_timeout(LONG).unwrap(), ("a".into(), vec![vec![2.0]; 2]));
    assert_eq!(done.recv_timeout(LONG).unwrap(), ("b".into(), vec![vec![2.0]; 2]));
}

#[test]
fn a_query_that_is_not_answered_in_time_is_not_waited_for() {
    let (service, seen, gate) = gated(EmbedOptions::new(id()));
    assert_eq!(service.query("slow", Duration::from_millis(1)), QueryEmbedding::Timeout);
    // It may have been taken up before its time was over; either way the next one is answered.
    gate.send(()).unwrap();
    gate.send(()).unwrap();
    assert_eq!(service.query("next", LONG), QueryEmbedding::Ready(vec![4.0]));
    assert!(seen.try_iter().any(|text| text == "next"));
}

#[test]
fn a_model_that_takes_long_to_load_is_told_apart_from_a_busy_one() {
    let (started_by, started) = channel();
    let (gate, go) = channel::<()>();
    let go = std::sync::Mutex::new(go);
    let factory: Factory = Box::new(move || {
        started_by.send(()).unwrap();
        go.lock().unwrap().recv().unwrap();
        let (dropped, _) = channel();
        Ok(Box::new(Counted { id: id(), dropped }) as Box<dyn Embedder>)
    });
    let service = EmbedService::start(factory, EmbedOptions::new(id()));
    assert_eq!(service.state().state, ModelPhase::Unloaded);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| service.query("one", LONG));
        started.recv_timeout(LONG).unwrap();
        assert_eq!(service.state().state, ModelPhase::Loading);
        assert_eq!(service.query("two", Duration::from_millis(1)), QueryEmbedding::Loading);
        gate.send(()).unwrap();
        assert_eq!(first.join().unwrap(), QueryEmbedding::Ready(vec![3.0]));
    });
    assert_eq!(service.state().state, ModelPhase::Ready);
    assert_eq!(service.query("three", LONG), QueryEmbedding::Ready(vec![5.0]));
}

#[test]
fn an_idle_model_is_unloaded_and_loaded_again_when_needed() {
    let loads = Arc::new(AtomicUsize::new(0));
    let (dropped_by, dropped) = channel();
    let counter = Arc::clone(&loads);
    let factory: Factory = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Counted { id: id(), dropped: dropped_by.clone() }) as Box<dyn Embedder>)
    });
    let options = EmbedOptions { idle: Duration::from_millis(20), ..EmbedOptions::new(id()) };
    let service = EmbedService::start(factory, options);
    for round in 1..=3 {
        assert_eq!(service.query("text", LONG), QueryEmbedding::Ready(vec![4.0]));
        dropped.recv_timeout(LONG).unwrap();
        assert_eq!(loads.load(Ordering::SeqCst), round);
    }
    while service.state().state != ModelPhase::Unloaded {
        std::thread::yield_now();
    }
    assert!(service.is_idle());
}

#[test]
fn a_failed_load_is_told_and_not_tried_again_at_once() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&loads);
    let factory: Factory = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        Err(EmbedError::Load { name: "test".into(), reason: "gone".into() })
    });
    let service = EmbedService::start(factory, EmbedOptions::new(id()));
    for _ in 0..3 {
        let QueryEmbedding::Failed(reason) = service.query("text", LONG) else { panic!("no failure") };
        assert!(reason.contains("gone"), "{reason}");
    }
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    let state = service.state();
    assert_eq!((state.state, state.reason.contains("gone")), (ModelPhase::Failed, true));

    let panics: Factory = Box::new(|| panic!("no"));
    let service =
        EmbedService::start(panics, EmbedOptions { retry: Duration::ZERO, ..EmbedOptions::new(id()) });
    for _ in 0..2 {
        assert!(matches!(service.query("text", LONG), QueryEmbedding::Failed(_)));
    }
}

#[test]
fn documents_wait_for_a_model_that_can_only_be_loaded_later() {
    let loads = AtomicUsize::new(0);
    let factory: Factory = Box::new(move || match loads.fetch_add(1, Ordering::SeqCst) {
        0..3 => Err(EmbedError::Load { name: "test".into(), reason: "not yet".into() }),
        _ => Ok(Box::new(Counted { id: id(), dropped: channel().0 }) as Box<dyn Embedder>),
    });
    let retry = Duration::from_millis(5);
    let service = EmbedService::start(factory, EmbedOptions { retry, ..EmbedOptions::new(id()) });
    let (done_by, done) = channel();
    let docs = ["a", "bc"].map(|doc| (doc.to_owned(), vec![doc.to_owned()]));
    service.submit(docs.into(), Box::new(move |doc, vectors| done_by.send((doc, vectors)).unwrap()));
    assert_eq!(done.recv_timeout(LONG).unwrap(), ("a".into(), vec![vec![1.0]]));
    assert_eq!(done.recv_timeout(LONG).unwrap(), ("bc".into(), vec![vec![2.0]]));
}

#[test]
fn while_it_is_switched_off_nothing_is_embedded_and_what_waits_is_embedded_afterwards() {
    let (loads, dropped) = (Arc::new(AtomicUsize::new(0)), channel());
    let (counter, dropped_by) = (Arc::clone(&loads), std::sync::Mutex::new(dropped.0));
    let factory: Factory = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
        let dropped = dropped_by.lock().unwrap().clone();
        Ok(Box::new(Counted { id: id(), dropped }) as Box<dyn Embedder>)
    });
    let service = EmbedService::start(factory, EmbedOptions::new(id()));
    service.switch(false);
    let (done_by, done) = channel();
    let submit = |text: &str| {
        let done_by = done_by.clone();
        let docs = vec![(text.to_owned(), vec![text.to_owned()])];
        service.submit(docs, Box::new(move |doc, _| done_by.send(doc).unwrap()))
    };
    assert_eq!(submit("a"), Submitted::Accepted);
    assert_eq!(service.query("q", LONG), QueryEmbedding::Off);
    assert_eq!((loads.load(Ordering::SeqCst), service.state().waiting), (0, 1));
    service.switch(true);
    assert_eq!(done.recv_timeout(LONG).unwrap(), "a");
    // The model leaves memory at once, and not when it has been idle for long enough.
    service.switch(false);
    dropped.1.recv_timeout(LONG).unwrap();
    while service.state().state != ModelPhase::Unloaded {
        std::thread::yield_now();
    }
    assert_eq!(submit("b"), Submitted::Accepted);
    service.switch(true);
    assert_eq!(done.recv_timeout(LONG).unwrap(), "b");
    assert_eq!(loads.load(Ordering::SeqCst), 2);
}

#[test]
fn what_is_switched_off_in_the_middle_of_a_document_is_not_handed_out() {
    let (service, seen, gate) = gated(EmbedOptions::new(id()));
    let (done_by, done) = channel();
    let docs = vec![("doc".to_owned(), vec!["one".to_owned(), "three".to_owned()])];
    service.submit(docs, Box::new(move |doc, vectors| done_by.send((doc, vectors)).unwrap()));
    for chunk in ["one", "three"] {
        assert_eq!(seen.recv_timeout(LONG).unwrap(), chunk);
        if chunk == "three" {
            service.switch(false);
        }
        gate.send(()).unwrap();
    }
    // Its last chunk was embedded, and nobody is told: it waits again as a whole.
    while service.state().waiting == 0 {
        std::thread::yield_now();
    }
    assert!(done.try_recv().is_err());
    service.stop();
    assert!(done.recv_timeout(LONG).is_err(), "and is dropped with the service");
}

#[test]
fn a_failure_is_forgotten_when_it_is_switched_off() {
    let loads = AtomicUsize::new(0);
    let factory: Factory = Box::new(move || match loads.fetch_add(1, Ordering::SeqCst) {
        0 => Err(EmbedError::Load { name: "test".into(), reason: "not yet".into() }),
        _ => Ok(Box::new(Counted { id: id(), dropped: channel().0 }) as Box<dyn Embedder>),
    });
    let service = EmbedService::start(factory, EmbedOptions::new(id()));
    assert!(matches!(service.query("q", LONG), QueryEmbedding::Failed(_)));
    assert_eq!(service.state().state, ModelPhase::Failed);
    service.switch(false);
    let state = service.state();
    assert_eq!((state.state, state.reason.as_str()), (ModelPhase::Unloaded, ""));
    service.switch(true);
    assert_eq!(service.query("q", LONG), QueryEmbedding::Ready(vec![1.0]), "and it is tried again at once");
}

#[test]
fn nobody_waits_for_a_model_that_takes_long_to_come() {
    let (started_by, started) = channel();
    let (gate, go) = channel::<()>();
    let go = std::sync::Mutex::new(go);
    let factory: Factory = Box::new(move || {
        started_by.send(()).unwrap();
        go.lock().unwrap().recv().unwrap();
        Ok(Box::new(Counted { id: id(), dropped: channel().0 }) as Box<dyn Embedder>)
    });
    let options = EmbedOptions { soon_loaded: Duration::ZERO, ..EmbedOptions::new(id()) };
    let service = EmbedService::start(factory, options);
    service.submit(vec![("d".into(), vec!["c".into()])], Box::new(|_, _| {}));
    started.recv_timeout(LONG).unwrap();
    // It would be an hour.
    assert_eq!(service.query("text", Duration::from_secs(3600)), QueryEmbedding::Loading);
    assert_eq!(service.state().queries, 0);
    gate.send(()).unwrap();
    while service.state().state != ModelPhase::Ready {
        std::thread::yield_now();
    }
    assert_eq!(service.query("text", LONG), QueryEmbedding::Ready(vec![4.0]));
}

#[test]
fn a_text_that_fails_spoils_nothing_else() {
    let (service, _seen, gate) = gated(EmbedOptions::new(id()));
    (0..6).for_each(|_| gate.send(()).unwrap());
    let (done_by, done) = channel();
    let docs = [("x", vec!["a", "fail"]), ("y", vec!["panic"]), ("z", vec!["b"])];
    let docs = docs.map(|(doc, chunks)| (doc.to_owned(), chunks.into_iter().map(str::to_owned).collect()));
    service.submit(docs.into(), Box::new(move |doc, vectors| done_by.send((doc, vectors.len())).unwrap()));
    let all: Vec<_> = (0..3).map(|_| done.recv_timeout(LONG).unwrap()).collect();
    assert_eq!(all, [("x".into(), 0), ("y".into(), 0), ("z".into(), 1)]);
    assert!(matches!(service.query("fail", LONG), QueryEmbedding::Failed(_)));
}

#[test]
fn the_queue_is_bounded_and_stopping_drops_what_waits() {
    let (service, seen, gate) = gated(EmbedOptions { queue: 2, ..EmbedOptions::new(id()) });
    let submit = |names: &[&str]| {
        let docs = names.iter().map(|name| ((*name).to_owned(), vec![(*name).to_owned()])).collect();
        service.submit(docs, Box::new(|_, _| {}))
    };
    assert_eq!(submit(&["a"]), Submitted::Accepted);
    assert_eq!(seen.recv_timeout(LONG).unwrap(), "a");
    assert_eq!(submit(&["b", "c"]), Submitted::Accepted);
    assert_eq!(submit(&["d"]), Submitted::Full);
    assert_eq!(service.state().waiting, 2);
    gate.send(()).unwrap();
    drop(gate);
    service.stop();
    assert!(!seen.iter().any(|text| text == "c"));
}

#[test]
fn a_service_that_is_off_says_so() {
    let service = EmbedService::off();
    assert_eq!(service.query("x", LONG), QueryEmbedding::Off);
    assert_eq!(service.submit(Vec::new(), Box::new(|_, _| {})), Submitted::Off);
    assert_eq!(service.state().state, ModelPhase::Off);
    assert!(service.is_idle());
}

/// A model like the built-in one, but not it, is held to its vectors' length.
#[test]
fn another_model_is_loaded_from_its_files() {
    let other = ModelId { name: "other".into(), ..RtenEmbedder::model_id() };
    let mut model = RtenEmbedder::open(other.clone(), ModelFiles::built_in()).unwrap();
    assert_eq!(model.id(), &other);
    assert_eq!(model.embed(TEXTS[0]).unwrap(), RtenEmbedder::load().unwrap().embed(TEXTS[0]).unwrap());
    let table = [
        ModelFiles { onnx: b"graph".to_vec(), ..ModelFiles::built_in() },
        ModelFiles { weights: Vec::new(), ..ModelFiles::built_in() },
        ModelFiles { tokenizer: b"{}".to_vec(), ..ModelFiles::built_in() },
    ];
    for files in table {
        let error = RtenEmbedder::open(other.clone(), files).err().unwrap();
        assert!(error.to_string().starts_with("the embedding model other cannot be loaded"), "{error}");
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

const TEXTS: [&str; 6] = [
    "The database listens on port 5433.",
    "Postgres is reachable at port 5433",
    "My cat likes to sleep in the sun",
    "Always run the tests before you push",
    "数据库的端口是 5433",
    "x",
];

#[test]
fn the_built_in_model_knows_what_is_alike() {
    let mut model = RtenEmbedder::load().unwrap();
    assert_eq!(model.id(), &RtenEmbedder::model_id());
    let vectors: Vec<Vec<f32>> = TEXTS.iter().map(|text| model.embed(text).unwrap()).collect();
    for vector in &vectors {
        assert_eq!(vector.len(), 384);
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5);
    }
    assert!(cosine(&vectors[0], &vectors[1]) > 0.6);
    assert!(cosine(&vectors[0], &vectors[2]) < 0.2);
    // The same text gives the same vector, and words after the 256th token change nothing.
    assert_eq!(model.embed(TEXTS[0]).unwrap(), vectors[0]);
    let long = "word ".repeat(300);
    assert_eq!(model.embed(&long).unwrap(), model.embed(&(long.clone() + "other end")).unwrap());
    assert!(model.embed("").is_ok());
    assert!(model.embed(&"\u{0}\u{fffd}🦀".repeat(100)).is_ok());
}

#[test]
fn the_id_of_the_built_in_model_is_that_of_its_files() {
    assert_eq!(ModelFiles::built_in().sha256(), RtenEmbedder::model_id().sha256);
}

#[test]
fn a_library_that_is_none_is_a_typed_error() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.so");
    let garbage = dir.path().join("garbage.so");
    std::fs::write(&garbage, "not a library").unwrap();
    let empty = dir.path().join("empty.so");
    std::fs::write(&empty, "").unwrap();
    for library in [missing.as_path(), &garbage, &empty, dir.path()] {
        let error = OrtEmbedder::open(library, ModelFiles::built_in()).err().unwrap();
        assert!(matches!(error, EmbedError::Library { .. }), "{error}");
        assert!(error.to_string().contains(&library.display().to_string()), "{error}");
    }
    // A real library that is not ONNX Runtime.
    #[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
    {
        let libc = std::path::Path::new("/lib/x86_64-linux-gnu/libc.so.6");
        if libc.exists() {
            let error = OrtEmbedder::open(libc, ModelFiles::built_in()).err().unwrap();
            assert!(error.to_string().contains("OrtGetApiBase"), "{error}");
        }
    }
}

#[test]
fn both_engines_agree_on_the_built_in_model() {
    let Some(library) = std::env::var_os("DOZE_TEST_ORT_LIB") else {
        assert_ne!(
            std::env::var("DOZE_REQUIRE_ORT").as_deref(),
            Ok("1"),
            "DOZE_TEST_ORT_LIB names no library"
        );
        println!("SKIPPED: set DOZE_TEST_ORT_LIB to an ONNX Runtime 1.24 or newer to compare both engines");
        return;
    };
    let library = std::path::PathBuf::from(library);
    let mut ort = OrtEmbedder::open(&library, ModelFiles::built_in()).unwrap();
    assert_eq!(ort.id(), &RtenEmbedder::model_id());
    let mut rten = RtenEmbedder::load().unwrap();
    let long = "some words that go on ".repeat(100);
    let lines = include_str!("../../model/README.md").lines().filter(|line| !line.is_empty());
    let similarities: Vec<f32> = (TEXTS.into_iter().chain([long.as_str()]).chain(lines))
        .map(|text| cosine(&ort.embed(text).unwrap(), &rten.embed(text).unwrap()))
        .collect();
    // Where the last bit of a float tips a rounding to eight bits, a component moves by a whole step; ONNX Runtime
    // differs as much from itself at another optimisation level. It is a fifth of what the quantisation itself costs.
    let mean = similarities.iter().sum::<f32>() / similarities.len() as f32;
    assert!(mean >= 0.999 && similarities.iter().all(|&cosine| cosine >= 0.997), "{similarities:?}");
    // It can be opened again, another library cannot be opened beside it, a broken model is a typed error.
    OrtEmbedder::open(&library, ModelFiles::built_in()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("copy.so");
    std::fs::write(&copy, "other").unwrap();
    let error = OrtEmbedder::open(&copy, ModelFiles::built_in()).err().unwrap();
    assert!(error.to_string().contains("in use"), "{error}");
    let broken = ModelFiles { onnx: b"broken".to_vec(), ..ModelFiles::built_in() };
    assert!(matches!(OrtEmbedder::open(&library, broken), Err(EmbedError::Load { .. })));
}
