use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::lexical::{DocKind, DocKindSet, LexicalQuery};

/// A small generator, so that every run sees the same vectors (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Roughly normal, mean 0.
    fn normal(&mut self) -> f32 {
        (0..4).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32 - 0.5).sum()
    }

    fn unit(&mut self, dim: usize, around: Option<&[f32]>) -> Vec<f32> {
        let mut vector: Vec<f32> = (0..dim).map(|_| self.normal()).collect();
        if let Some(centre) = around {
            vector.iter_mut().zip(centre).for_each(|(x, c)| *x = *x * 0.05 + c);
        }
        let norm = dot_f32(&vector, &vector).sqrt();
        vector.iter().map(|x| x / norm).collect()
    }
}

type Stored = HashMap<String, Vec<Vec<f32>>>;

fn meta(id: &str, owner: &str, scope: &str) -> VectorMeta {
    VectorMeta {
        id: id.into(),
        owner: owner.into(),
        scope_key: scope.into(),
        project: None,
        kind: DocKind::Memory,
        status: None,
        memory_kind: None,
        at_ms: 0,
    }
}

fn filter(owner: &str, scopes: &[&str]) -> VectorFilter {
    let scopes = scopes.iter().map(|&scope| scope.to_owned()).collect();
    VectorFilter::from(&LexicalQuery::new("", owner.into(), scopes, 0))
}

/// `docs` documents with one to three chunks round a few centres.
fn filled(vectors: &Vectors, docs: usize, seed: u64) -> Stored {
    let mut random = Random(seed);
    let centres: Vec<Vec<f32>> = (0..40).map(|_| random.unit(vectors.dim(), None)).collect();
    let mut stored = Stored::new();
    for number in 0..docs {
        let id = format!("m:{number}");
        let centre = &centres[random.next() as usize % centres.len()];
        let chunks: Vec<_> = (0..=number % 3).map(|_| random.unit(vectors.dim(), Some(centre))).collect();
        vectors.put(&meta(&id, "o", "user"), &chunks).unwrap();
        stored.insert(id, chunks);
    }
    stored
}

fn naive(stored: &Stored, query: &[f32], limit: usize) -> Vec<String> {
    let score =
        |chunks: &Vec<Vec<f32>>| chunks.iter().map(|chunk| dot_f32(query, chunk)).fold(f32::MIN, f32::max);
    let mut ranked: Vec<(&String, f32)> = stored.iter().map(|(id, chunks)| (id, score(chunks))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    ranked.into_iter().take(limit).map(|(id, _)| id.clone()).collect()
}

fn ids(hits: Vec<VectorHit>) -> Vec<String> {
    hits.into_iter().map(|hit| hit.id).collect()
}

/// The share of the true ten that 50 queries find.
fn recall(vectors: &Vectors, stored: &Stored, seed: u64) -> f64 {
    let mut random = Random(seed);
    let keys: Vec<&String> = {
        let mut keys: Vec<_> = stored.keys().collect();
        keys.sort();
        keys
    };
    let mut found = 0;
    for _ in 0..50 {
        let near = &stored[keys[random.next() as usize % keys.len()]][0];
        let query = random.unit(vectors.dim(), Some(near));
        let truth = naive(stored, &query, 10);
        let hits = ids(vectors.search(&query, &filter("o", &["user"]), 10, &|id| stored.get(id).cloned()));
        found += hits.iter().filter(|id| truth.contains(id)).count();
    }
    found as f64 / 500.0
}

#[test]
fn the_scan_finds_what_full_precision_finds() {
    let vectors = Vectors::new(96);
    let stored = filled(&vectors, 2_000, 7);
    assert_eq!(recall(&vectors, &stored, 8), 1.0);
}

#[test]
fn scores_are_cosines_of_the_nearest_chunk() {
    let vectors = Vectors::new(2);
    let chunks = vec![vec![1.0, 0.0], vec![0.0, 1.0]];
    vectors.put(&meta("m:1", "o", "user"), &chunks).unwrap();
    let hits = vectors.search(&[0.0, 5.0], &filter("o", &["user"]), 5, &|_| Some(chunks.clone()));
    assert_eq!(hits, [VectorHit { id: "m:1".into(), score: 1.0 }]);
    let approximate = vectors.search(&[0.0, 5.0], &filter("o", &["user"]), 5, &|_| None);
    assert!((approximate[0].score - 1.0).abs() < 0.01);
}

#[test]
fn other_owners_and_spaces_are_never_found() {
    let vectors = Vectors::new(2);
    for (owner, scope) in [("a", "user"), ("b", "user"), ("a", "bank")] {
        vectors.put(&meta(&format!("m:{owner}{scope}"), owner, scope), &[vec![1.0, 0.0]]).unwrap();
    }
    let search =
        |owner, scopes: &[&str]| ids(vectors.search(&[1.0, 0.0], &filter(owner, scopes), 9, &|_| None));
    assert_eq!(search("a", &["user"]), ["m:auser"]);
    assert_eq!(search("b", &["user", "bank"]), ["m:buser"]);
    assert_eq!(search("a", &["user", "bank"]), ["m:abank", "m:auser"]);
    assert!(search("a", &[]).is_empty() && search("c", &["user"]).is_empty());
}

#[test]
fn every_filter_is_heard() {
    use doze_core::model::{Kind, Status};
    let vectors = Vectors::new(2);
    let mut active = meta("m:active", "o", "user");
    (active.status, active.memory_kind, active.at_ms) = (Some(Status::Active), Some(Kind::Lesson), 10);
    let mut stale = meta("m:stale", "o", "user");
    (stale.status, stale.memory_kind, stale.at_ms) = (Some(Status::Stale), Some(Kind::Fact), 20);
    stale.project = Some("p".into());
    let mut event = meta("e:s\0h\x000", "o", "user");
    (event.kind, event.at_ms) = (DocKind::Event, 30);
    for meta in [&active, &stale, &event] {
        vectors.put(meta, &[vec![1.0, 0.0]]).unwrap();
    }
    let search = |change: &dyn Fn(&mut VectorFilter)| {
        let mut filter = filter("o", &["user"]);
        change(&mut filter);
        ids(vectors.search(&[1.0, 0.0], &filter, 9, &|_| None))
    };
    assert_eq!(search(&|_| {}), ["e:s\0h\x000", "m:active", "m:stale"]);
    assert_eq!(search(&|f| f.kinds = DocKindSet::MEMORIES), ["m:active", "m:stale"]);
    assert_eq!(search(&|f| f.statuses = vec![Status::Active]), ["e:s\0h\x000", "m:active"]);
    assert_eq!(search(&|f| f.memory_kinds = vec![Kind::Fact]), ["e:s\0h\x000", "m:stale"]);
    assert_eq!(search(&|f| f.since_ms = Some(20)), ["e:s\0h\x000", "m:stale"]);
    assert_eq!(search(&|f| f.until_ms = Some(20)), ["m:active"]);
    assert_eq!(search(&|f| f.project = Some("p".into())), ["m:stale"]);
    assert!(search(&|f| f.project = Some("q".into())).is_empty());
}

#[test]
fn vectors_that_do_not_fit_are_refused_and_change_nothing() {
    let vectors = Vectors::new(2);
    let one = meta("m:1", "o", "user");
    vectors.put(&one, &[vec![1.0, 0.0]]).unwrap();
    assert_eq!(vectors.put(&one, &[vec![1.0]]), Err(VectorError::Dimension { expected: 2, found: 1 }));
    for bad in [vec![0.0, 0.0], vec![f32::NAN, 0.0], vec![f32::INFINITY, 0.0]] {
        assert_eq!(vectors.put(&one, std::slice::from_ref(&bad)), Err(VectorError::NoDirection));
        assert!(vectors.search(&bad, &filter("o", &["user"]), 5, &|_| None).is_empty());
    }
    assert!(vectors.search(&[1.0], &filter("o", &["user"]), 5, &|_| None).is_empty());
    assert_eq!(vectors.len(), 1);
}

#[test]
fn replaced_and_removed_documents_leave_and_their_rows_are_swept() {
    let vectors = Vectors::new(8);
    let mut stored = filled(&vectors, 3_000, 3);
    let full = vectors.bytes();
    for number in 0..2_000 {
        assert!(vectors.remove(&"o".into(), &format!("m:{number}")));
        stored.remove(&format!("m:{number}"));
    }
    assert!(!vectors.remove(&"o".into(), "m:0"));
    assert!(vectors.bytes() < full);
    assert_eq!(vectors.len(), 1_000);
    assert_eq!(recall(&vectors, &stored, 4), 1.0);
    vectors.put(&meta("m:2500", "o", "user"), &[]).unwrap();
    assert_eq!(vectors.len(), 999);
}

#[test]
fn the_graph_finds_what_the_scan_finds_and_knows_what_came_and_went() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::with_graph(48, dir.path(), 1_000);
    let mut stored = filled(&vectors, 3_000, 11);
    assert_eq!(vectors.maintain_graph().unwrap(), GraphWork::Built);
    assert!(vectors.read().graph.is_some());
    assert!(recall(&vectors, &stored, 12) >= 0.95);

    // Fresh, replaced and removed documents, and a sweep of the table in between.
    let mut random = Random(13);
    for number in 0..2_000 {
        let id = format!("m:{number}");
        if number % 2 == 0 {
            vectors.remove(&"o".into(), &id);
            stored.remove(&id);
        } else {
            let chunks = vec![random.unit(48, None)];
            vectors.put(&meta(&id, "o", "user"), &chunks).unwrap();
            stored.insert(id, chunks);
        }
    }
    assert!(recall(&vectors, &stored, 14) >= 0.95);
    assert_eq!(vectors.maintain_graph().unwrap(), GraphWork::Built);
    assert_eq!(vectors.maintain_graph().unwrap(), GraphWork::Nothing);
    assert!(recall(&vectors, &stored, 15) >= 0.95);
}

#[test]
fn a_dump_is_loaded_for_the_same_vectors_only() {
    let dir = tempfile::tempdir().unwrap();
    let first = Vectors::with_graph(32, dir.path(), 500);
    filled(&first, 1_000, 21);
    assert_eq!(first.maintain_graph().unwrap(), GraphWork::Built);

    let second = Vectors::with_graph(32, dir.path(), 500);
    let stored = filled(&second, 1_000, 21);
    assert_eq!(second.maintain_graph().unwrap(), GraphWork::Loaded);
    assert!(recall(&second, &stored, 22) >= 0.95);

    // Other vectors under the same names: the dump is of no use, the answers stay right.
    let other = Vectors::with_graph(32, dir.path(), 500);
    let stored = filled(&other, 1_000, 99);
    assert_eq!(other.maintain_graph().unwrap(), GraphWork::Built);
    assert!(recall(&other, &stored, 23) >= 0.95);
}

#[test]
fn a_damaged_dump_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::with_graph(16, dir.path(), 100);
    filled(&vectors, 300, 31);
    vectors.maintain_graph().unwrap();
    let files: Vec<_> =
        std::fs::read_dir(dir.path().join("graph")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3);
    for file in &files {
        let good = std::fs::read(file).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 1;
        for bad in [flipped, good[..good.len() - 1].to_vec(), Vec::new(), b"garbage".to_vec()] {
            std::fs::write(file, bad).unwrap();
            assert!(dump::load(dir.path(), &vectors.read().table).is_none(), "{}", file.display());
        }
        std::fs::remove_file(file).unwrap();
        assert!(dump::load(dir.path(), &vectors.read().table).is_none());
        std::fs::write(file, good).unwrap();
    }
    assert!(dump::load(dir.path(), &vectors.read().table).is_some());
}

#[test]
fn a_selective_filter_never_goes_through_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let vectors = Vectors::with_graph(16, dir.path(), 100);
    filled(&vectors, 500, 41);
    let mut random = Random(42);
    for number in 0..5 {
        vectors.put(&meta(&format!("m:rare{number}"), "o", "bank"), &[random.unit(16, None)]).unwrap();
    }
    vectors.maintain_graph().unwrap();
    let hits = vectors.search(&random.unit(16, None), &filter("o", &["bank"]), 10, &|_| None);
    assert_eq!(hits.len(), 5);
    assert!(hits.iter().all(|hit| hit.id.starts_with("m:rare")));
}

#[test]
fn a_busy_project_crowds_nobody_out() {
    let vectors = Vectors::new(2);
    for number in 0..500 {
        vectors.put(&meta(&format!("m:busy{number}"), "o", "project:busy"), &[vec![1.0, 0.0]]).unwrap();
    }
    vectors.put(&meta("m:own", "o", "project:quiet"), &[vec![0.1, 1.0]]).unwrap();
    let hits = vectors.search(&[1.0, 0.0], &filter("o", &["project:quiet"]), 40, &|_| None);
    assert_eq!(ids(hits), ["m:own"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_order_of_puts_and_removes_ends_in_the_same_set(
        steps in prop::collection::vec((0u8..20, prop::option::of(prop::collection::vec(-1.0f32..1.0, 3))), 0..80),
    ) {
        let vectors = Vectors::new(3);
        let mut stored = Stored::new();
        for (number, vector) in steps {
            let id = format!("m:{number}");
            match vector {
                Some(vector) => {
                    if vectors.put(&meta(&id, "o", "user"), std::slice::from_ref(&vector)).is_ok() {
                        stored.insert(id, vec![vector]);
                    }
                }
                None => prop_assert_eq!(vectors.remove(&"o".into(), &id), stored.remove(&id).is_some()),
            }
        }
        let mut found = ids(vectors.search(&[1.0, 0.5, 0.2], &filter("o", &["user"]), 100, &|_| None));
        let mut expected: Vec<String> = stored.into_keys().collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}
