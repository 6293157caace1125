//! One finding against what is known: add, reinforce, replace, or leave alone.

use doze_core::duplicate::Relation;
use doze_core::extract::may_become;
use doze_core::model::{
    DreamOp, Face, Kind, Memory, Origin, Scope, SessionKey, Source, Status, Verification, content_hash,
};
use doze_core::{promote, text};

use super::board::{Board, Texts, comparable};
use super::pattern::is_key;
use super::tidy::{is_due, lifetime_days};
use super::{CandidateOf, contest};

/// Confidence gained by independent evidence (S1.18).
const CONFIDENCE_STEP: f64 = 0.1;
const MAX_CONFIDENCE: f64 = 1.0;
/// The range a rule's finding begins in (S1.11), and that of a reply (S1.17).
const OF_RULES: std::ops::RangeInclusive<f64> = 0.3..=0.9;
const OF_REPLIES: std::ops::RangeInclusive<f64> = 0.1..=1.0;
/// Evidence kept of one memory; a fact proved this often needs no more.
pub(super) const MAX_EVIDENCE: usize = 64;
/// Bounds of what is kept (S1.17), in characters and items.
const MAX_TITLE: usize = 120;
const MAX_BODY: usize = 800;
const MAX_TOPIC: usize = 80;
const MAX_FILES: usize = 20;

/// Why what a person undid is not learned from the same events again.
pub(super) const TAKEN_BACK: &str = "it was taken back; another session has to say it";

/// The records that a finding can stand to.
struct Known {
    texts: Texts,
    topic: Option<String>,
    /// All of its space but the patterns, and those among them of a comparable kind.
    everywhere: Vec<usize>,
    places: Vec<usize>,
}

impl Known {
    fn of(board: &Board<'_>, finding: &CandidateOf) -> Self {
        let candidate = &finding.candidate;
        let everywhere = board.places(&candidate.scope, |memory| !memory.is_pattern());
        let is_comparable = |at: &usize| comparable(board.entries[*at].memory.kind, candidate.kind);
        Self {
            texts: Texts::of(&candidate.title, &candidate.body),
            topic: candidate.topic_key.as_deref().map(text::topic_key),
            places: everywhere.iter().copied().filter(is_comparable).collect(),
            everywhere,
        }
    }

    /// The oldest record of this standing that stands so to the finding.
    fn find(&self, board: &Board<'_>, status: Status, relation: Relation) -> Option<usize> {
        let fits = |at: &usize| {
            board.entries[*at].memory.status == status && board.relation(*at, &self.texts) == relation
        };
        self.places.iter().copied().find(fits)
    }

    /// The record of this standing under the finding's topic.
    fn by_topic(&self, board: &Board<'_>, status: Status) -> Option<usize> {
        let topic = self.topic.as_ref()?;
        self.everywhere.iter().copied().find(|at| {
            let memory = &board.entries[*at].memory;
            memory.status == status
                && memory.topic_key.as_deref().is_some_and(|known| text::topic_key(known) == *topic)
        })
    }

    /// Whether a record names all events of the finding already and says the same: several things can be said in one
    /// event, so that the words decide as well.
    fn has_evidence_of(&self, board: &Board<'_>, finding: &CandidateOf) -> bool {
        let evidence = &finding.candidate.evidence;
        let names_it = |at: &usize| {
            let events = &board.entries[*at].memory.source.events;
            evidence.iter().all(|event| events.contains(event))
                && board.relation(*at, &self.texts) == Relation::Duplicate
        };
        !evidence.is_empty() && self.everywhere.iter().any(names_it)
    }
}

/// Settles one finding.
pub(super) fn settle(board: &mut Board<'_>, finding: &CandidateOf, all: &[&CandidateOf]) {
    let candidate = &finding.candidate;
    if candidate.title.trim().is_empty() && candidate.body.trim().is_empty() {
        return;
    }
    if !may_become(candidate.kind, candidate.origin) {
        let reason = "only a tool or a page says so; say it yourself if it holds: doze remember";
        return leave(board, finding, reason);
    }
    if matches!(candidate.scope, Scope::Bank) {
        return leave(board, finding, "nothing is learned into the bank");
    }
    let known = Known::of(board, finding);
    if known.has_evidence_of(board, finding) {
        return;
    }
    if let Some(at) = known.by_topic(board, Status::Active) {
        return settle_topic(board, finding, at, &known.texts);
    }
    if let Some(at) = known.find(board, Status::Active, Relation::Duplicate) {
        return reinforce(board, at, finding);
    }
    let is_retracted = known.find(board, Status::Retracted, Relation::Duplicate).is_some()
        || known.by_topic(board, Status::Retracted).is_some();
    if is_retracted {
        return leave(board, finding, "it was marked wrong");
    }
    let contradicted = known.find(board, Status::Active, Relation::Update);
    if let Some(proposed) = known.find(board, Status::Proposed, Relation::Duplicate) {
        return match contradicted {
            Some(at) if board.entries[proposed].memory.contradicts().is_some() => {
                contest::decide(board, at, proposed, finding);
            }
            None if board.entries[proposed].memory.contradicts().is_some() => {
                // In other words it may not contradict any more what it was kept apart against, and that still stands.
                let against = board.entries[proposed].memory.contradicts().map(str::to_owned);
                let standing = |memory: &Memory| {
                    memory.status == Status::Active && against.as_deref() == Some(memory.id.as_str())
                };
                match board.places(&candidate.scope, standing).first() {
                    Some(at) => contest::decide(board, *at, proposed, finding),
                    None => contest::uphold(board, proposed, finding),
                }
            }
            _ => leave(board, finding, "it waits for doze review"),
        };
    }
    // What rests comes back, unless something in force says otherwise by now.
    let resting = known.find(board, Status::Stale, Relation::Duplicate).filter(|_| contradicted.is_none());
    if let Some(at) = resting {
        return reinforce(board, at, finding);
    }
    match contradicted {
        Some(at) if contest::is_contested(board, at, finding) => contest::keep_apart(board, at, finding),
        Some(at) => supersede(board, at, finding),
        None => add(board, finding, &known, all),
    }
}

/// A finding under the topic of a record.
fn settle_topic(board: &mut Board<'_>, finding: &CandidateOf, at: usize, texts: &Texts) {
    let is_replied = finding.found_by == Verification::Extraction;
    match board.relation(at, texts) {
        Relation::Update if !is_replied && contest::is_contested(board, at, finding) => {
            contest::keep_apart(board, at, finding);
        }
        // What a model words anew under a key is the newer text (S1.18), unless it was shown it.
        Relation::Duplicate if !is_replied || is_repeated(finding, &board.entries[at].memory) => {
            reinforce(board, at, finding);
        }
        relation => replace_text(board, at, finding, relation),
    }
}

/// Adds what nothing known says or contradicts, unless it is old news.
fn add(board: &mut Board<'_>, finding: &CandidateOf, known: &Known, all: &[&CandidateOf]) {
    let candidate = &finding.candidate;
    let replaced = known.find(board, Status::Superseded, Relation::Duplicate);
    let is_newer = |at: usize| {
        let confirmed = board.entries[at].memory.last_confirmed_at;
        confirmed >= candidate.at && confirmed <= board.now
    };
    if replaced.is_some_and(is_newer) {
        return leave(board, finding, "something newer replaced it");
    }
    let memory = memory_of(board, finding);
    if board.vetoes.keeps_out(&memory, &known.texts) {
        return leave(board, finding, TAKEN_BACK);
    }
    if is_due(&memory, board.now) && !is_said_elsewhere(finding, &known.texts, all) {
        let days = lifetime_days(memory.kind);
        let reason = format!("it is older than {days} days, and nothing has confirmed it since");
        return leave(board, finding, &reason);
    }
    board.add(DreamOp::Add, memory, because(finding), candidate.evidence.clone());
}

/// Whether a finding gives back a memory's own words, or those of one that was put before the agent.
fn is_repeated(finding: &CandidateOf, memory: &Memory) -> bool {
    is_shown(finding, memory) || finding.candidate.body.trim() == memory.body
}

/// Whether the agent had the memory before it when it said this.
pub(super) fn is_shown(finding: &CandidateOf, memory: &Memory) -> bool {
    finding.shown.contains(&memory.id)
}

/// Notes that a finding is not kept.
pub(super) fn leave(board: &mut Board<'_>, finding: &CandidateOf, reason: &str) {
    board.leave(&finding.candidate.scope, said(finding), reason);
}

/// What a finding is called.
fn said(finding: &CandidateOf) -> &str {
    let candidate = &finding.candidate;
    if candidate.title.trim().is_empty() { &candidate.body } else { &candidate.title }
}

/// Whether another session of the sweep says the same, which keeps it from being retired at once.
fn is_said_elsewhere(finding: &CandidateOf, texts: &Texts, all: &[&CandidateOf]) -> bool {
    all.iter().any(|other| {
        other.session != finding.session
            && other.candidate.scope == finding.candidate.scope
            && comparable(other.candidate.kind, finding.candidate.kind)
            && texts.relation_to(&Texts::of(&other.candidate.title, &other.candidate.body))
                == Relation::Duplicate
    })
}

/// Whether a memory has evidence from a session already.
pub(super) fn is_heard_of(memory: &Memory, session: &SessionKey) -> bool {
    let is_of_it = |event: &String| event.rsplit_once('#').is_some_and(|(name, _)| name == session.session);
    memory.source.events.iter().any(is_of_it)
}

/// Another session says the same.
fn reinforce(board: &mut Board<'_>, at: usize, finding: &CandidateOf) {
    let candidate = &finding.candidate;
    let known = &board.entries[at].memory;
    let counted = is_heard_of(known, &finding.session);
    let echo = is_shown(finding, known) && !matches!(candidate.origin, Origin::Person | Origin::Tool);
    let reason = if known.is_protected() {
        if candidate.origin == Origin::Person {
            contest::settle_for(board, at, finding);
        }
        "it is known, and a person vouches for it"
    } else if counted {
        "it is known already"
    } else if echo {
        "the agent repeats what it was shown"
    } else {
        let mut after = known.clone();
        if after.status != Status::Active && !may_spend(board, &after, finding) {
            return;
        }
        after.status = Status::Active;
        promote::reinforce(&mut after, candidate.at);
        after.confidence = (after.confidence + CONFIDENCE_STEP).min(MAX_CONFIDENCE);
        after.source.events = joined(&after.source.events, &candidate.evidence);
        let because = format!(
            "said again, now {}; {}",
            text::count(after.reinforce_count.into(), "time"),
            because(finding)
        );
        board.vetoes.renew(&after.id);
        board.change(at, DreamOp::Reinforce, after, because, candidate.evidence.clone());
        return contest::settle_for(board, at, finding);
    };
    leave(board, finding, reason);
}

/// A finding under a known topic: the record keeps its id and takes the new text; the old text stays as history
/// (`R5`; S1.18).
fn replace_text(board: &mut Board<'_>, at: usize, finding: &CandidateOf, relation: Relation) {
    let candidate = &finding.candidate;
    if !may_replace(board, at, finding) {
        return;
    }
    let before = board.entries[at].memory.clone();
    let fresh = memory_of(board, finding);
    let mut history = before.clone();
    history.id = fresh.id.clone();
    history.status = Status::Superseded;
    history.superseded_by = Some(before.id.clone());
    let mut after = before.clone();
    after.title = fresh.title;
    after.body = fresh.body;
    after.files = fresh.files;
    after.content_hash = content_hash(after.kind.as_str(), &after.title, &after.body);
    after.confidence = (before.confidence + CONFIDENCE_STEP).min(MAX_CONFIDENCE);
    after.evidence_count = before.evidence_count.saturating_add(1);
    after.last_confirmed_at = before.last_confirmed_at.max(candidate.at);
    after.updated_at = board.now;
    after.source.events = joined(&before.source.events, &candidate.evidence);
    let op = if relation == Relation::Update { DreamOp::Supersede } else { DreamOp::Merge };
    let was = format!("was \"{}\"; {}", short(&before), because(finding));
    board.vetoes.renew(&after.id);
    board.change(at, op, after.clone(), was, candidate.evidence.clone());
    board.add(
        DreamOp::Supersede,
        history,
        "the former text is kept as history".to_owned(),
        candidate.evidence.clone(),
    );
    if relation == Relation::Update {
        supersede_twins(board, &before, &after, finding);
    }
}

/// A finding that says something newer about the same thing.
fn supersede(board: &mut Board<'_>, at: usize, finding: &CandidateOf) {
    let candidate = &finding.candidate;
    if !may_replace(board, at, finding) {
        return;
    }
    let mut old = board.entries[at].memory.clone();
    let mut new = memory_of(board, finding);
    // The key goes over, so that one active record holds it.
    new.topic_key = new.topic_key.or_else(|| old.topic_key.clone());
    let because = format!("was \"{}\"; {}", short(&old), because(finding));
    old.status = Status::Superseded;
    old.superseded_by = Some(new.id.clone());
    let replaced = format!("replaced by \"{}\"", short(&new));
    board.change(at, DreamOp::Supersede, old.clone(), replaced, candidate.evidence.clone());
    board.add(DreamOp::Add, new.clone(), because, candidate.evidence.clone());
    supersede_twins(board, &old, &new, finding);
}

/// What agents of the project keep for themselves of a text that was replaced makes way as well.
pub(super) fn supersede_twins(board: &mut Board<'_>, old: &Memory, new: &Memory, finding: &CandidateOf) {
    let Some(project) = old.scope.project() else { return };
    let (replaced, texts) = (Texts::of(&old.title, &old.body), Texts::of(&new.title, &new.body));
    let is_private = |memory: &Memory| {
        memory.status == Status::Active
            && matches!(memory.scope, Scope::Agent { .. })
            && memory.scope.project() == Some(project)
            && memory.scope != old.scope
    };
    let private: Vec<usize> =
        (0..board.entries.len()).filter(|at| is_private(&board.entries[*at].memory)).collect();
    for at in private {
        let says_so = board.relation(at, &replaced) == Relation::Duplicate
            || board.relation(at, &texts) == Relation::Update;
        if !says_so || refusal(board, at, finding).is_some() {
            continue;
        }
        let mut twin = board.entries[at].memory.clone();
        // What the cap has no room for stays: the session itself is read, and nothing of it waits.
        if !board.may_change(&twin, said(finding)) {
            continue;
        }
        twin.status = Status::Superseded;
        twin.superseded_by = Some(new.id.clone());
        let told = format!("replaced by \"{}\"", short(new));
        board.change(at, DreamOp::Supersede, twin, told, finding.candidate.evidence.clone());
    }
}

/// Why a finding may not replace the memory at a place: a person vouches for that, or it is newer, or it is a rule and the
/// finding nobody's word.
pub(super) fn refusal(board: &Board<'_>, at: usize, finding: &CandidateOf) -> Option<&'static str> {
    let (old, candidate) = (&board.entries[at].memory, &finding.candidate);
    if old.is_protected() {
        Some("it contradicts what a person vouches for; only they can change that")
    } else if !may_become(old.kind, candidate.origin) {
        Some("it contradicts a rule, and comes from what a tool or a page printed")
    } else if is_older(board, at, finding) {
        Some("something newer is known")
    } else {
        None
    }
}

/// Whether a finding was said before the memory at a place was said last. A time ahead was told by a clock that was put
/// back since.
pub(super) fn is_older(board: &Board<'_>, at: usize, finding: &CandidateOf) -> bool {
    let said_last = board.entries[at].memory.last_confirmed_at;
    said_last > finding.candidate.at && said_last <= board.now
}

/// Whether a finding may replace the memory at a place, also by the cap.
fn may_replace(board: &mut Board<'_>, at: usize, finding: &CandidateOf) -> bool {
    if let Some(reason) = refusal(board, at, finding) {
        leave(board, finding, reason);
        return false;
    }
    let old = board.entries[at].memory.clone();
    may_spend(board, &old, finding)
}

/// Whether a finding may change a memory by the cap; where not, its session is read again when there is room.
pub(super) fn may_spend(board: &mut Board<'_>, memory: &Memory, finding: &CandidateOf) -> bool {
    let may = board.may_change(memory, said(finding));
    if !may {
        board.postponed.insert(finding.session.clone());
    }
    may
}

pub(super) fn memory_of(board: &mut Board<'_>, finding: &CandidateOf) -> Memory {
    let candidate = &finding.candidate;
    let title = text::cut_ellipsis(&text::one_line(&candidate.title), MAX_TITLE).into_owned();
    let body = text::cut_ellipsis(text::clean(&candidate.body).trim(), MAX_BODY).into_owned();
    let range = if finding.found_by == Verification::Extraction { OF_REPLIES } else { OF_RULES };
    Memory {
        id: board.mint(),
        owner: finding.owner.clone(),
        scope: candidate.scope.clone(),
        face: Face::Project,
        kind: candidate.kind,
        native_kind: None,
        content_hash: content_hash(candidate.kind.as_str(), &title, &body),
        title,
        body,
        tags: candidate.tags.clone(),
        topic_key: candidate
            .topic_key
            .as_ref()
            .filter(|key| !is_key(&text::topic_key(key)))
            .map(|key| text::cut(key, MAX_TOPIC).to_owned()),
        files: candidate.files.iter().take(MAX_FILES).cloned().collect(),
        confidence: if candidate.confidence.is_finite() {
            candidate.confidence.clamp(*range.start(), *range.end())
        } else {
            0.6
        },
        evidence_count: 1,
        reinforce_count: 1,
        applied_count: 0,
        confirmed_by: Vec::new(),
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: finding.found_by,
        source: Source {
            agent: Some(finding.agent.clone()),
            session: Some(finding.session.session.clone()),
            task: finding.task.clone(),
            team: None,
            events: candidate.evidence.iter().take(MAX_EVIDENCE).cloned().collect(),
        },
        contexts: Vec::new(),
        created_at: candidate.at,
        updated_at: board.now,
        last_confirmed_at: candidate.at,
        file_ref: None,
    }
}

/// The events of both, without repetition, the later ones kept when there are too many.
pub(super) fn joined(old: &[String], new: &[String]) -> Vec<String> {
    let mut events = old.to_vec();
    events.extend(new.iter().filter(|event| !old.contains(event)).cloned());
    events.split_off(events.len().saturating_sub(MAX_EVIDENCE))
}

/// Where a finding comes from, in one sentence.
pub(super) fn because(finding: &CandidateOf) -> String {
    let candidate = &finding.candidate;
    let is_concluded = finding.found_by == Verification::Extraction;
    let who = match (candidate.origin, candidate.kind) {
        (Origin::Person, _) => "said by the person",
        (Origin::Agent, Kind::Command) => "run successfully",
        (Origin::Agent, _) => "stated by the agent",
        // A model cites nothing: what it makes of outputs and pages is its own conclusion.
        (Origin::Tool | Origin::Web | Origin::Injected, _) if is_concluded => "concluded from what was read",
        (Origin::Tool, Kind::EnvQuirk) => "proved by a command's output",
        (Origin::Tool, _) => "seen to fail and then to work",
        (Origin::Web | Origin::Injected, _) => "read on a page",
    };
    let places: Vec<&str> =
        candidate.evidence.iter().filter_map(|event| event.rsplit_once('#')).map(|(_, n)| n).collect();
    let places = if places.is_empty() { String::new() } else { format!(" #{}", places.join(", #")) };
    format!("{who} in {}{places}", finding.session.session)
}

pub(super) fn short(memory: &Memory) -> String {
    let says = if memory.title.trim().is_empty() { &memory.body } else { &memory.title };
    text::cut_ellipsis(&text::one_line(says), 80).into_owned()
}
