//! Any sequence of change sets, with reopening in between, does to the store what it does to a map.

use std::collections::BTreeMap;

use doze_core::model::{Event, Memory, MemoryId, Scope, Session, SessionKey, Status};
use proptest::collection::vec;
use proptest::prelude::*;

use super::disk::Disk;
use super::me;
use super::records::{at, event, memory, session};
use crate::{Change, ChangeSet, Family, KnownIn, Options, Store, Subject};

#[derive(Debug, Clone)]
enum Step {
    Apply(Vec<Move>),
    /// Applies under an expectation that is right or wrong.
    Expect(u8, bool, Vec<Move>),
    Reopen,
    Prune,
}

#[derive(Debug, Clone)]
enum Move {
    PutMemory { id: u8, scope: u8, topic: Option<u8>, active: bool, body: u8 },
    DeleteMemory(u8),
    PutSession { name: u8, time: i64, agent: u8 },
    DeleteSession(u8),
    Append { name: u8, first: u64, texts: Vec<u8> },
    PutAux(u8, u8),
    DeleteAux(u8),
}

fn any_move() -> impl Strategy<Value = Move> {
    let small = 0..6u8;
    prop_oneof![
        (small.clone(), 0..3u8, proptest::option::of(0..2u8), any::<bool>(), 0..3u8)
            .prop_map(|(id, scope, topic, active, body)| Move::PutMemory { id, scope, topic, active, body }),
        small.clone().prop_map(Move::DeleteMemory),
        (0..4u8, -3..4i64, 0..2u8).prop_map(|(name, time, agent)| Move::PutSession { name, time, agent }),
        (0..4u8).prop_map(Move::DeleteSession),
        (0..4u8, 0..4u64, vec(0..9u8, 1..3)).prop_map(|(name, first, texts)| Move::Append {
            name,
            first,
            texts
        }),
        (small.clone(), any::<u8>()).prop_map(|(key, value)| Move::PutAux(key, value)),
        small.prop_map(Move::DeleteAux),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => vec(any_move(), 1..5).prop_map(Step::Apply),
        2 => (0..6u8, any::<bool>(), vec(any_move(), 1..3)).prop_map(|(id, right, moves)| Step::Expect(id, right, moves)),
        1 => Just(Step::Reopen),
        1 => Just(Step::Prune),
    ]
}

#[derive(Default, Debug)]
struct Model {
    memories: BTreeMap<String, Memory>,
    sessions: BTreeMap<SessionKey, Session>,
    events: BTreeMap<(SessionKey, u64), Event>,
    aux: BTreeMap<String, Vec<u8>>,
    seq: u64,
}

fn scope(number: u8) -> Scope {
    [Scope::User, Scope::Project("p".into()), Scope::Team("t".into())][number as usize].clone()
}

fn key(name: u8) -> SessionKey {
    SessionKey::new(format!("s{name}"), "codex")
}

impl Model {
    /// Does a move here and answers the change that does it there.
    fn go(&mut self, step: &Move) -> Change {
        match step {
            Move::PutMemory { id, scope: number, topic, active, body } => {
                let mut new = memory(&format!("m{id}"), scope(*number), &format!("body {body}"));
                new.topic_key = topic.map(|topic| format!("topic {topic}"));
                new.status = if *active { Status::Active } else { Status::Stale };
                self.memories.insert(format!("m{id}"), new.clone());
                Change::PutMemory(Box::new(new))
            }
            Move::DeleteMemory(id) => {
                self.memories.remove(&format!("m{id}"));
                Change::DeleteMemory(MemoryId::new(format!("m{id}")))
            }
            Move::PutSession { name, time, agent } => {
                let mut new = session(&format!("s{name}"), *time);
                new.agent.id = format!("agent {agent}").into();
                self.sessions.insert(key(*name), new.clone());
                Change::PutSession(Box::new(new))
            }
            Move::DeleteSession(name) => {
                self.sessions.remove(&key(*name));
                self.events.retain(|(session, _), _| *session != key(*name));
                Change::DeleteSession(key(*name))
            }
            Move::Append { name, first, texts } => {
                let events: Vec<Event> = texts
                    .iter()
                    .map(|text| event(&format!("s{name} e{text}"), &format!("text {text}")))
                    .collect();
                for (ordinal, event) in (*first..).zip(&events) {
                    self.events.insert((key(*name), ordinal), event.clone());
                }
                Change::AppendEvents {
                    session: key(*name),
                    known_in: KnownIn::Project(None),
                    first: *first,
                    events,
                }
            }
            Move::PutAux(number, value) => {
                self.aux.insert(format!("k{number}"), vec![*value]);
                Change::PutAux { family: Family::Other, key: format!("k{number}"), value: vec![*value] }
            }
            Move::DeleteAux(number) => {
                self.aux.remove(&format!("k{number}"));
                Change::DeleteAux { family: Family::Other, key: format!("k{number}") }
            }
        }
    }

    fn compare(&self, store: &Store) {
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.seq().unwrap(), self.seq);
        for number in 0..3 {
            let scope = scope(number);
            let here: Vec<Memory> = self.memories.values().filter(|m| m.scope == scope).cloned().collect();
            assert_eq!(snapshot.memories(&me(), &scope).unwrap(), here);
            for topic in ["topic 0", "topic 1"] {
                let active =
                    |m: &&Memory| m.status == Status::Active && m.topic_key.as_deref() == Some(topic);
                let found = here.iter().rfind(active).map(|m| m.id.clone());
                assert_eq!(snapshot.memory_by_topic(&me(), &scope, topic).unwrap(), found);
            }
            for hash in here.iter().map(|m| &m.content_hash) {
                let same: Vec<MemoryId> =
                    here.iter().filter(|m| m.content_hash == *hash).map(|m| m.id.clone()).collect();
                assert_eq!(snapshot.memories_by_hash(&me(), &scope, hash).unwrap(), same);
            }
        }
        let mut listed: Vec<Session> = self.sessions.values().cloned().collect();
        listed.sort_by(|a, b| b.last_event_at.cmp(&a.last_event_at).then(a.key.cmp(&b.key)));
        assert_eq!(snapshot.sessions(&me(), &Default::default(), None, 99).unwrap().items, listed);
        listed.retain(|session| session.agent.id.as_str() == "agent 1" && session.last_event_at >= at(0));
        let filter = crate::SessionFilter {
            agent: Some("agent 1".into()),
            project: Some(Some("p".into())),
            since: Some(at(0)),
            until: None,
        };
        assert_eq!(snapshot.sessions(&me(), &filter, None, 99).unwrap().items, listed);
        for name in 0..4 {
            let here = self.events.iter().filter(|((session, _), _)| *session == key(name));
            let here: Vec<(u64, Event)> =
                here.map(|((_, ordinal), event)| (*ordinal, event.clone())).collect();
            assert_eq!(snapshot.events(&me(), &key(name), 0..99).unwrap(), here);
        }
        let aux: Vec<_> = self.aux.clone().into_iter().collect();
        assert_eq!(snapshot.aux_scan(&me(), Family::Other, "").unwrap(), aux);
        let report = store.check().unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_store_does_what_a_map_does(steps in vec(any_step(), 1..14)) {
        let disk = Disk::default();
        let mut store = Store::open_with_backend(disk.clone(), Options::default()).unwrap();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Apply(moves) => {
                    let set = moves.iter().fold(ChangeSet::new(me()), |set, step| set.with(model.go(step)));
                    model.seq += 1;
                    prop_assert_eq!(store.apply(set).unwrap().seq, model.seq);
                }
                Step::Expect(id, right, moves) => {
                    let subject = Subject::Memory(MemoryId::new(format!("m{id}")));
                    let revision = store.snapshot().unwrap().revision(&me(), &subject).unwrap();
                    prop_assert_eq!(revision > 0, model.memories.contains_key(&format!("m{id}")));
                    let set = ChangeSet::new(me()).expect(subject, if right { revision } else { revision + 1 });
                    if right {
                        let set = moves.iter().fold(set, |set, step| set.with(model.go(step)));
                        model.seq += 1;
                        prop_assert_eq!(store.apply(set).unwrap().seq, model.seq);
                    } else {
                        let mut elsewhere = Model::default();
                        let set = moves.iter().fold(set, |set, step| set.with(elsewhere.go(step)));
                        prop_assert!(store.apply(set).is_err());
                    }
                }
                Step::Reopen => {
                    store.close();
                    store = Store::open_with_backend(disk.clone(), Options::default()).unwrap();
                }
                Step::Prune => store.prune_changes(model.seq).unwrap(),
            }
            model.compare(&store);
        }
    }
}
