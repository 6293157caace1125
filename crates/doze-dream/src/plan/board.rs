//! The memories as they stand while a plan is made, with the journal of what was changed and the cap on it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use doze_core::duplicate::{Parts, Relation, Subject};
use doze_core::model::{DreamChange, DreamOp, Kind, LeftAlone, Memory, MemoryId, Scope, SessionKey, Status};
use doze_core::promote::text_of;
use jiff::{SignedDuration, Timestamp};

use super::taken::Vetoes;
use super::{Plan, PlanInput, TakeApart};
use crate::Caps;

/// A memory with its text taken apart for comparison.
pub(super) struct Entry {
    pub(super) memory: Memory,
    parts: Texts,
    /// What it is about, once somebody asks.
    subject: OnceCell<Subject>,
}

/// A text as it is compared: the body alone, and title and body together where the title says more.
pub(super) struct Texts {
    body: Arc<Parts>,
    whole: Option<Arc<Parts>>,
}

impl Texts {
    pub(super) fn of(title: &str, body: &str) -> Self {
        Self::with(&|text| Arc::new(Parts::of(text)), title, body)
    }

    fn with(take_apart: TakeApart<'_>, title: &str, body: &str) -> Self {
        let (title, body) = (title.trim(), body.trim());
        if body.is_empty() {
            return Self { body: take_apart(title), whole: None };
        }
        let says_more = !body.starts_with(title.trim_end_matches('…'));
        Self { body: take_apart(body), whole: says_more.then(|| take_apart(&format!("{title}. {body}"))) }
    }

    /// How `newer` stands to this text: by the bodies, and where these leave it open by all that is said.
    pub(super) fn relation_to(&self, newer: &Self) -> Relation {
        let whole = |texts: &Self| texts.whole.as_ref().unwrap_or(&texts.body).clone();
        match self.body.relation_to(&newer.body) {
            Relation::Distinct if self.whole.is_some() || newer.whole.is_some() => {
                whole(self).relation_to(&whole(newer))
            }
            decided => decided,
        }
    }
}

pub(super) struct Board<'a> {
    pub(super) now: Timestamp,
    pub(super) entries: Vec<Entry>,
    new_id: &'a mut dyn FnMut() -> MemoryId,
    changes: Vec<DreamChange>,
    left_alone: Vec<LeftAlone>,
    /// Active memories whose text has stood for a day, by space. The cap is a share of these, so that no sweep raises
    /// its own cap by adding.
    settled: BTreeMap<Scope, usize>,
    /// What the day's earlier sweeps and this plan took of the cap.
    spent_before: BTreeMap<Scope, usize>,
    spent: BTreeMap<Scope, usize>,
    /// Records that took of the cap in this plan, or began in it: what is done to them further is free, so that of many
    /// words the last one is heard.
    charged: BTreeSet<MemoryId>,
    /// Sessions with findings that the cap had no room for.
    pub(super) postponed: BTreeSet<SessionKey>,
    caps: Caps,
    pub(super) vetoes: Vetoes,
}

/// What is left undone when the cap of a space is used up.
pub(super) const CAP_IS_USED_UP: &str =
    "as much of its space was changed as may be in a day; a later sweep goes on";
/// The time over which sweeps share one cap.
const DAY: SignedDuration = SignedDuration::from_hours(24);

impl<'a> Board<'a> {
    pub(super) fn new(input: &PlanInput<'_>, new_id: &'a mut dyn FnMut() -> MemoryId) -> Self {
        let mut entries: Vec<Entry> = input
            .existing
            .iter()
            .map(|memory| {
                let parts = Texts::with(input.take_apart, &memory.title, &memory.body);
                Entry { parts, memory: memory.clone(), subject: OnceCell::new() }
            })
            .collect();
        // The order of the input must not matter.
        entries.sort_by(|a, b| a.memory.id.cmp(&b.memory.id));
        let mut settled: BTreeMap<Scope, usize> = BTreeMap::new();
        let stands = |memory: &&Memory| {
            memory.status == Status::Active && input.now.duration_since(memory.updated_at) >= DAY
        };
        for memory in entries.iter().map(|entry| &entry.memory).filter(stands) {
            *settled.entry(memory.scope.clone()).or_default() += 1;
        }
        Self {
            now: input.now,
            entries,
            new_id,
            changes: Vec::new(),
            left_alone: Vec::new(),
            settled,
            spent_before: input.spent.iter().cloned().collect(),
            spent: BTreeMap::new(),
            charged: BTreeSet::new(),
            postponed: BTreeSet::new(),
            caps: *input.caps,
            vetoes: Vetoes::of(input.taken_back, input.existing),
        }
    }

    /// Forgets what the last pass left alone; answers how much was changed so far.
    pub(super) fn begin_pass(&mut self) -> usize {
        self.left_alone.clear();
        self.postponed.clear();
        self.changed()
    }

    /// How much was changed so far.
    pub(super) fn changed(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn mint(&mut self) -> MemoryId {
        (self.new_id)()
    }

    /// Takes one change of the cap of a space; says no when it is used up.
    pub(super) fn may_change(&mut self, memory: &Memory, title: &str) -> bool {
        let scope = &memory.scope;
        if self.charged.contains(&memory.id) {
            return true;
        }
        let of = |counts: &BTreeMap<Scope, usize>| counts.get(scope).copied().unwrap_or_default();
        let share = (self.caps.max_changed_share * of(&self.settled) as f64).floor() as usize;
        if of(&self.spent_before) + of(&self.spent) >= share.max(self.caps.min_changed) {
            self.leave(scope, title, CAP_IS_USED_UP);
            return false;
        }
        *self.spent.entry(scope.clone()).or_default() += 1;
        self.charged.insert(memory.id.clone());
        true
    }

    /// Notes what is not kept or not done in a space, and why.
    pub(super) fn leave(&mut self, scope: &Scope, title: &str, reason: &str) {
        self.left_alone.push(LeftAlone {
            title: title.to_owned(),
            project: scope.project().cloned(),
            reason: reason.to_owned(),
        });
    }

    /// Adds a record.
    pub(super) fn add(&mut self, op: DreamOp, memory: Memory, because: String, evidence: Vec<String>) {
        let parts = Texts::of(&memory.title, &memory.body);
        self.entries.push(Entry { parts, memory: memory.clone(), subject: OnceCell::new() });
        self.charged.insert(memory.id.clone());
        self.changes.push(DreamChange { op, before: None, after: memory, because, evidence });
    }

    /// Replaces the record at a place.
    pub(super) fn change(
        &mut self,
        at: usize,
        op: DreamOp,
        after: Memory,
        because: String,
        evidence: Vec<String>,
    ) {
        let Some(entry) = self.entries.get_mut(at) else { return };
        if entry.memory.title != after.title || entry.memory.body != after.body {
            entry.parts = Texts::of(&after.title, &after.body);
            entry.subject = OnceCell::new();
        }
        let before = std::mem::replace(&mut entry.memory, after.clone());
        self.changes.push(DreamChange { op, before: Some(before), after, because, evidence });
    }

    /// What the record at a place is about.
    pub(super) fn subject(&self, at: usize) -> &Subject {
        let Entry { memory, subject, .. } = &self.entries[at];
        subject.get_or_init(|| Subject::of(text_of(memory)))
    }

    /// How a text stands to the record at a place.
    pub(super) fn relation(&self, at: usize, newer: &Texts) -> Relation {
        self.entries.get(at).map_or(Relation::Distinct, |entry| entry.parts.relation_to(newer))
    }

    /// Whether a person took back that this text was shared with a space, and nothing since a time speaks for it anew.
    pub(super) fn is_kept_private(&self, at: usize, scope: &Scope, found_at: Timestamp) -> bool {
        self.entries.get(at).is_some_and(|entry| self.vetoes.keeps_private(scope, &entry.parts, found_at))
    }

    /// How the record at `newer` stands to the one at `older`.
    pub(super) fn relation_between(&self, older: usize, newer: usize) -> Relation {
        self.entries.get(newer).map_or(Relation::Distinct, |entry| self.relation(older, &entry.parts))
    }

    /// The places of a space's records that satisfy a condition.
    pub(super) fn places(&self, scope: &Scope, is_wanted: impl Fn(&Memory) -> bool) -> Vec<usize> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.memory.scope == *scope && is_wanted(&entry.memory))
            .map(|(at, _)| at)
            .collect()
    }

    pub(super) fn into_plan(self) -> Plan {
        Plan {
            changes: self.changes,
            left_alone: self.left_alone,
            spent: self.spent.into_iter().collect(),
            postponed: self.postponed,
        }
    }
}

/// Kinds that state how something shall be: one of them can take the place of another.
const RULES: &[Kind] = &[
    Kind::Convention,
    Kind::Preference,
    Kind::Decision,
    Kind::Spec,
    Kind::Command,
    Kind::Fact,
    Kind::Profile,
];

/// Whether a memory of one kind can say the same as, or replace, one of another.
pub(super) fn comparable(a: Kind, b: Kind) -> bool {
    a == b || (RULES.contains(&a) && RULES.contains(&b))
}
