//! Vectors of raw history: what a person said in a session, page by page, made while nobody is at work. They are kept as
//! a record of the session, so that they go with it and are made once.
//!
//! Answers have none of their own: they are long, so that a vector of them costs ten times that of a prompt, and are as
//! near to a question as what they answer (`eval/results/recall.md`).

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use doze_core::model::{Event, EventKind, Origin, OwnerId, Session, SessionKey, hex};
use doze_search::{DocKind, DocRef, VectorMeta, chunks, event_doc_id, pack, unpack};
use doze_store::{ChangeSet, Family, ReadError, Snapshot, Subject, session_aux_key};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::doc;
use crate::lock;

/// Events of a page. Small, so that what a person asks for meanwhile waits for few texts.
pub(crate) const PAGE: u64 = 16;
/// Prompts that have vectors: the newest. One takes 600 bytes of memory usually, 3,500 at most.
pub(super) const MAX_TURNS: usize = 20_000;
/// Chunks of a prompt that get a vector; what comes after them is found by its words.
const MAX_CHUNKS: usize = 8;
/// Shorter prompts (`go on`) say nothing that meaning could find; in characters.
const MIN_CHARS: usize = 24;

/// Events between a prompt and the last that belongs to it, at most.
const LONGEST_REPLY: u64 = 64;

/// A page of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) owner: OwnerId,
    pub(super) key: SessionKey,
    pub(super) page: u64,
}

/// A text as the model takes it: its name and its chunks.
type Chunked = (String, Vec<String>);

/// The pages that wait, the newest in front, and the one the model has.
#[derive(Default)]
pub(super) struct Waiting {
    pages: VecDeque<Place>,
    known: HashSet<Place>,
    pub(super) in_hand: Option<InHand>,
}

/// A page that the model has.
pub(super) struct InHand {
    pub(super) place: Place,
    /// The events the page reaches to.
    upto: u64,
    /// Each turn with its time and the hash of its text.
    turns: BTreeMap<u64, (i64, String)>,
    /// What has been made of them, by ordinal.
    made: Arc<Mutex<BTreeMap<u64, Vec<Vec<f32>>>>>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.pages.len() + usize::from(self.in_hand.is_some())
    }

    /// Adds the pages of a range of events behind those that wait.
    pub(super) fn add_old(&mut self, place: Place) {
        if self.known.insert(place.clone()) {
            self.pages.push_back(place);
        }
    }

    /// Adds the pages of events that came just now.
    pub(super) fn add_new(&mut self, owner: &OwnerId, key: &SessionKey, first: u64, end: u64) {
        for page in first / PAGE..end.div_ceil(PAGE) {
            let place = Place { owner: owner.clone(), key: key.clone(), page };
            if self.known.insert(place.clone()) {
                self.pages.push_front(place);
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Place> {
        let place = self.pages.pop_front()?;
        self.known.remove(&place);
        Some(place)
    }

    /// Takes out what waits of a session that is gone.
    pub(super) fn forget(&mut self, owner: &OwnerId, key: &SessionKey) {
        self.pages.retain(|place| place.owner != *owner || place.key != *key);
        self.known.retain(|place| place.owner != *owner || place.key != *key);
    }

    pub(super) fn clear(&mut self) {
        self.pages.clear();
        self.known.clear();
    }

    /// The page the model is through with.
    pub(super) fn finished(&mut self) -> Option<InHand> {
        self.in_hand.take_if(|page| lock(&page.made).len() >= page.turns.len())
    }
}

impl InHand {
    /// Begins a page: what is to be embedded, as the model wants it, and the place its answers go to.
    pub(super) fn begin(
        snapshot: &Snapshot,
        place: Place,
        model: &str,
        dim: usize,
    ) -> Result<Option<(Self, Vec<Chunked>)>, ReadError> {
        let Some(session) = snapshot.session(&place.owner, &place.key)? else { return Ok(None) };
        let upto = session.event_count.min((place.page + 1) * PAGE);
        let done =
            Record::read(snapshot, &place, model, dim)?.map_or(place.page * PAGE, |record| record.upto);
        if done >= upto {
            return Ok(None);
        }
        let (mut turns, mut docs) = (BTreeMap::new(), Vec::new());
        for (ordinal, event) in snapshot.events(&place.owner, &place.key, done..upto)? {
            let Some(text) = said(&event) else { continue };
            let at = event.at.unwrap_or(session.last_event_at).as_millisecond();
            turns.insert(ordinal, (at, hash(text)));
            docs.push((ordinal.to_string(), chunks("", text).into_iter().take(MAX_CHUNKS).collect()));
        }
        let made = Arc::default();
        Ok(Some((Self { place, upto, turns, made }, docs)))
    }

    /// Takes what the model made of a turn.
    pub(super) fn taker(&self) -> impl Fn(String, Vec<Vec<f32>>) + Send + 'static {
        let made = Arc::clone(&self.made);
        move |ordinal, vectors| {
            if let Ok(ordinal) = ordinal.parse() {
                lock(&made).insert(ordinal, vectors);
            }
        }
    }

    /// The record that keeps the page, unless its session is gone; what says something else by now is left out. Refused
    /// when the session changes meanwhile.
    pub(super) fn kept(
        &self,
        snapshot: &Snapshot,
        model: &str,
        dim: usize,
    ) -> Result<Option<(ChangeSet, Vec<Turn>)>, ReadError> {
        let place = &self.place;
        let Some(session) = snapshot.session(&place.owner, &place.key)? else { return Ok(None) };
        let mut record = Record::read(snapshot, place, model, dim)?.unwrap_or_default();
        let made = lock(&self.made);
        for (ordinal, event) in snapshot.events(&place.owner, &place.key, place.page * PAGE..self.upto)? {
            let (Some((at, hashed)), Some(vectors)) = (self.turns.get(&ordinal), made.get(&ordinal)) else {
                continue;
            };
            if said(&event).is_some_and(|text| hash(text) == *hashed) && !vectors.is_empty() {
                let bytes = pack(vectors);
                record.turns.push(Turn {
                    ordinal,
                    at: *at,
                    vectors: unpack(&bytes, dim).unwrap_or_default(),
                });
            }
        }
        record.upto = self.upto;
        let set = ChangeSet::new(place.owner.clone())
            .expect_seen(snapshot, Subject::Session(session.key.clone()))?
            .put_aux(Family::Vectors, place.record(), record.bytes(model));
        Ok(Some((set, record.turns)))
    }
}

impl Place {
    fn record(&self) -> String {
        session_aux_key(&self.key, &format!("{:08}", self.page))
    }
}

/// Where the record stands that holds what was made of an event; it goes when the event is blanked.
pub(crate) fn record_of(key: &SessionKey, ordinal: u64) -> String {
    session_aux_key(key, &format!("{:08}", ordinal / PAGE))
}

/// The turns of a page with their vectors.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record {
    /// Events before this one are through.
    pub(super) upto: u64,
    pub(super) turns: Vec<Turn>,
}

/// A turn and the vectors of its chunks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    ordinal: u64,
    at: i64,
    pub(super) vectors: Vec<Vec<f32>>,
}

/// What stands in front of the vectors, one line of JSON.
#[derive(Serialize, Deserialize)]
struct Head {
    model: String,
    upto: u64,
    /// Ordinal, time in milliseconds since 1970, and how many vectors.
    turns: Vec<(u64, i64, usize)>,
}

impl Record {
    /// The record of a page that this model made; what another model made, or what is damaged, is as if it were not there.
    pub(super) fn read(
        snapshot: &Snapshot,
        place: &Place,
        model: &str,
        dim: usize,
    ) -> Result<Option<Self>, ReadError> {
        let bytes = snapshot.aux(&place.owner, Family::Vectors, &place.record())?;
        Ok(bytes.and_then(|bytes| Self::parse(&bytes, model, dim)))
    }

    fn parse(bytes: &[u8], model: &str, dim: usize) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head: Head =
            serde_json::from_slice(&bytes[..end]).ok().filter(|head: &Head| head.model == model)?;
        let mut vectors = unpack(&bytes[end + 1..], dim)?.into_iter();
        let mut turns = Vec::new();
        for (ordinal, at, count) in head.turns {
            let vectors: Vec<Vec<f32>> = vectors.by_ref().take(count).collect();
            turns.push(Turn { ordinal, at, vectors });
        }
        Some(Self { upto: head.upto, turns })
    }

    fn bytes(&self, model: &str) -> Vec<u8> {
        let turns = self.turns.iter().map(|turn| (turn.ordinal, turn.at, turn.vectors.len())).collect();
        let head = Head { model: model.to_owned(), upto: self.upto, turns };
        // Strings and numbers always become JSON.
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        self.turns.iter().for_each(|turn| bytes.extend(pack(&turn.vectors)));
        bytes
    }
}

/// What a person said in an event, when it is long enough to mean something.
fn said(event: &Event) -> Option<&str> {
    let text = event.text.trim();
    let is_prompt = event.kind == EventKind::Prompt && event.origin == Origin::Person;
    (is_prompt && text.chars().nth(MIN_CHARS).is_some()).then_some(text)
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The documents whose vectors tell how near one is: itself, and for a part of a session the nearest prompt before it.
pub(super) fn told_by(id: &str) -> Vec<String> {
    let mut names = vec![id.to_owned()];
    if let Some(DocRef::Event(key, ordinal)) = DocRef::parse(id) {
        let before = ordinal.saturating_sub(LONGEST_REPLY)..ordinal;
        names.extend(before.rev().map(|ordinal| event_doc_id(&key, ordinal)));
    }
    names
}

/// A turn as the vector search knows it.
pub(super) fn meta(session: &Session, turn: &Turn) -> VectorMeta {
    VectorMeta {
        id: event_doc_id(&session.key, turn.ordinal),
        owner: session.owner.clone(),
        scope_key: doc::history_scope(session).key(),
        project: session.project.clone(),
        kind: DocKind::Event,
        status: None,
        memory_kind: None,
        at_ms: turn.at,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_record() -> impl Strategy<Value = Record> {
        let turn = (
            0_u64..99,
            0_i64..9,
            proptest::collection::vec(proptest::collection::vec(-1.0_f32..1.0, 4), 1..3),
        );
        (0_u64..99, proptest::collection::vec(turn, 0..4)).prop_map(|(upto, turns)| Record {
            upto,
            turns: turns
                .into_iter()
                .map(|(ordinal, at, vectors)| {
                    // As they are kept.
                    Turn { ordinal, at, vectors: unpack(&pack(&vectors), 4).expect("even") }
                })
                .collect(),
        })
    }

    proptest! {
        #[test]
        fn a_record_comes_back_and_another_models_or_a_damaged_one_does_not(record in any_record(), cut in 1_usize..40) {
            let bytes = record.bytes("m@1");
            let back = Record::parse(&bytes, "m@1", 4).expect("whole");
            prop_assert_eq!((back.upto, back.turns.len()), (record.upto, record.turns.len()));
            prop_assert_eq!(Record::parse(&back.bytes("m@1"), "m@1", 4), Some(back));
            prop_assert_eq!(Record::parse(&bytes, "n@1", 4), None);
            let cut = bytes.len().saturating_sub(cut);
            if (bytes.len() - cut) % 8 != 0 {
                prop_assert_eq!(Record::parse(&bytes[..cut], "m@1", 4), None);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(Record::parse(&bytes, "m@1", 4));
        }
    }

    #[test]
    fn pages_wait_once_the_newest_in_front() {
        let mut waiting = Waiting::default();
        let (owner, key) = (OwnerId::new("o"), SessionKey::new("s", "h"));
        let place = |page| Place { owner: owner.clone(), key: key.clone(), page };
        waiting.add_old(place(7));
        waiting.add_old(place(7));
        waiting.add_new(&owner, &key, 15, 33);
        waiting.add_new(&owner, &key, 33, 34);
        assert_eq!(waiting.len(), 4);
        assert_eq!(waiting.next(), Some(place(2)));
        waiting.add_new(&owner, &key, 33, 34);
        assert_eq!(waiting.next(), Some(place(2)), "it may wait again");
        waiting.forget(&owner, &key);
        assert_eq!((waiting.next(), waiting.len()), (None, 0));
    }
}
