//! Writes the golden store of the current layout to the path given: run it once when the layout changes, and commit
//! the file as `tests/testdata/golden-v<N>.redb`. Older golden files stay as they are.

use std::path::PathBuf;

use doze_store::{Change, ChangeSet, Family, KnownIn, Options, Store};

#[path = "../tests/support/golden.rs"]
mod golden;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: write_golden FILE")?;
    let store = Store::open(&path, Options::default())?;
    let session = golden::session();
    let events = Change::AppendEvents {
        session: session.key.clone(),
        known_in: KnownIn::Project(session.project.clone()),
        first: 0,
        events: golden::events(),
    };
    let vectors = Change::PutVectors {
        doc: golden::memory().id.as_str().to_owned(),
        model: "mini@8199be6f".to_owned(),
        vectors: golden::vectors(),
    };
    let set = ChangeSet::new(golden::owner())
        .put_memory(golden::memory())
        .put_session(session)
        .with(events)
        .with(Change::PutProject(Box::new(golden::project())))
        .with(Change::PutWork(Box::new(golden::work())))
        .with(Change::PutDream(Box::new(golden::dream())))
        .with(vectors)
        .put_aux(Family::Receipt, "s-1\0claude-code\0c-1", "{\"seq\":1}");
    store.apply(set)?;
    store.compact()?;
    store.close();
    Ok(())
}
