//! What went wrong in three sessions round the same thing becomes one lesson above them, which cites them.
//!
//! The thing is a file or a name in backticks that at least [`MIN_CITED`] lessons or quirks of a project speak of,
//! learned in as many sessions. The cited ones stay as they are. A pattern grows with what is learned later and is
//! retired when fewer are left to cite. Each is cited by one pattern, so that no sweep moves it back and forth.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{
    Context, DreamOp, Face, Kind, Memory, PATTERN_KEY, Scope, Source, Status, Verification, content_hash,
};
use doze_core::text;
use jiff::Timestamp;

use super::board::{Board, Texts};
use super::settle::{joined, short};

/// Fewest lessons of a pattern, and sessions they come from.
const MIN_CITED: usize = 3;
/// Longest body, and longest name that lessons can be about, in characters.
const MAX_BODY: usize = 400;
const MAX_NAME: usize = 50;
/// Titles that the body tells; of the others it tells how many they are.
const MAX_TOLD: usize = 5;

/// Whether a topic key is one of patterns, which nobody else may give.
pub(super) fn is_key(topic: &str) -> bool {
    topic.starts_with(PATTERN_KEY)
}

/// Finds, renews and retires the patterns of every project.
pub(super) fn find(board: &mut Board<'_>) {
    let scopes: BTreeSet<Scope> = board
        .entries
        .iter()
        .map(|entry| entry.memory.scope.clone())
        .filter(|scope| matches!(scope, Scope::Project(_)))
        .collect();
    for scope in scopes {
        find_in(board, &scope);
    }
}

fn find_in(board: &mut Board<'_>, scope: &Scope) {
    let known = board.places(scope, |memory| memory.topic_key.as_deref().is_some_and(is_key));
    let mut free = by_name(board, scope);
    // Fewer are no pattern, and there are many names.
    free.retain(|_, places| places.len() >= MIN_CITED);
    let standing: Vec<usize> =
        known.iter().copied().filter(|at| is_active_pattern(&board.entries[*at].memory)).collect();
    // What is cited already stays where it is, before anything new is given away.
    let mut cited: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &at in &standing {
        let ids = cited_ids(&board.entries[at].memory);
        let about = named(board, &free, at);
        let mine: BTreeSet<usize> = about
            .into_iter()
            .filter(|place| ids.contains(board.entries[*place].memory.id.as_str()))
            .collect();
        take(&mut free, &mine);
        cited.insert(at, mine);
    }
    for &at in &standing {
        let more = named(board, &free, at);
        take(&mut free, &more);
        let mut all = cited.remove(&at).unwrap_or_default();
        all.extend(more);
        renew(board, at, &all);
    }
    while let Some((name, about)) = richest(board, &free) {
        take(&mut free, &about);
        free.remove(&name);
        free.retain(|_, places| places.len() >= MIN_CITED);
        let key = format!("{PATTERN_KEY}{name}");
        match known.iter().copied().find(|at| board.entries[*at].memory.topic_key.as_ref() == Some(&key)) {
            // One that was retired wakes; one that a person marked wrong, or that waits for them, stays.
            Some(at) if is_resting_pattern(&board.entries[at].memory) => renew(board, at, &about),
            Some(_) => {}
            None => begin(board, scope, &key, &about),
        }
    }
}

fn is_active_pattern(memory: &Memory) -> bool {
    memory.is_pattern() && memory.status == Status::Active
}

fn is_resting_pattern(memory: &Memory) -> bool {
    memory.is_pattern() && memory.status == Status::Stale
}

/// The lessons and quirks of a space by what they speak of.
fn by_name(board: &Board<'_>, scope: &Scope) -> BTreeMap<String, BTreeSet<usize>> {
    let places = board.places(scope, |memory| {
        memory.status == Status::Active
            && memory.face == Face::Project
            && matches!(memory.kind, Kind::Lesson | Kind::EnvQuirk)
            && !memory.is_pattern()
            && session(memory).is_some()
    });
    let mut names: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for at in places {
        for name in names_in(&board.entries[at].memory) {
            names.entry(name).or_default().insert(at);
        }
    }
    names
}

/// The files that a memory names, and what stands in backticks in it.
fn names_in(memory: &Memory) -> BTreeSet<String> {
    let names = spellings(memory).map(text::topic_key);
    names.filter(|name| (3..=MAX_NAME).contains(&name.chars().count())).collect()
}

/// The same as they are spelled there. In a text with backticks every second piece stands between two of them.
fn spellings(memory: &Memory) -> impl Iterator<Item = &str> {
    let quoted =
        [&memory.title, &memory.body].into_iter().flat_map(|said| said.split('`').skip(1).step_by(2));
    memory.files.iter().map(String::as_str).chain(quoted)
}

/// The free lessons that speak of what the pattern at a place is about.
fn named(board: &Board<'_>, free: &BTreeMap<String, BTreeSet<usize>>, at: usize) -> BTreeSet<usize> {
    let key = board.entries[at].memory.topic_key.as_deref().unwrap_or_default();
    free.get(key.strip_prefix(PATTERN_KEY).unwrap_or_default()).cloned().unwrap_or_default()
}

fn take(free: &mut BTreeMap<String, BTreeSet<usize>>, taken: &BTreeSet<usize>) {
    for places in free.values_mut() {
        places.retain(|at| !taken.contains(at));
    }
}

/// What most lessons speak of, if they are enough; of several the first in the alphabet.
fn richest(board: &Board<'_>, free: &BTreeMap<String, BTreeSet<usize>>) -> Option<(String, BTreeSet<usize>)> {
    let enough = free.iter().filter(|(_, places)| is_enough(board, places));
    enough.rev().max_by_key(|(_, places)| places.len()).map(|(name, places)| (name.clone(), places.clone()))
}

fn is_enough(board: &Board<'_>, places: &BTreeSet<usize>) -> bool {
    places.len() >= MIN_CITED && sessions(board, places).len() >= MIN_CITED
}

/// The sessions in which lessons were learned first.
fn sessions<'a>(board: &'a Board<'_>, places: &BTreeSet<usize>) -> BTreeSet<&'a str> {
    places.iter().filter_map(|at| session(&board.entries[*at].memory)).collect()
}

/// The session in which a memory was learned first: that of its first evidence, or in which it was told.
fn session(memory: &Memory) -> Option<&str> {
    let first = memory.source.events.first().and_then(|event| event.rsplit_once('#'));
    first.map(|(session, _)| session).or(memory.source.session.as_deref())
}

/// The ids of the memories that a pattern cites.
fn cited_ids(pattern: &Memory) -> BTreeSet<&str> {
    pattern.contexts.iter().filter_map(|context| context.origin.as_deref()).collect()
}

/// What a pattern says of the lessons it cites, the last one first.
struct Said {
    title: String,
    body: String,
    contexts: Vec<Context>,
    events: Vec<String>,
    files: Vec<String>,
    confidence: f64,
    at: Timestamp,
    because: String,
}

fn said(board: &Board<'_>, key: &str, places: &BTreeSet<usize>) -> Option<Said> {
    let mut cited: Vec<&Memory> = places.iter().map(|at| &board.entries[*at].memory).collect();
    cited.sort_by(|a, b| (b.last_confirmed_at, &a.id).cmp(&(a.last_confirmed_at, &b.id)));
    let at = cited.first()?.last_confirmed_at;
    let name = key.strip_prefix(PATTERN_KEY).unwrap_or(key);
    let is_it = |spelling: &&str| text::topic_key(spelling) == name;
    let name = cited.iter().find_map(|one| spellings(one).find(is_it)).unwrap_or(name);
    let over = cited.len().saturating_sub(MAX_TOLD);
    let share = MAX_BODY / cited.len().min(MAX_TOLD) - 4;
    let told = cited.iter().take(MAX_TOLD);
    let told: Vec<String> = told.map(|one| text::cut_ellipsis(&short(one), share).into_owned()).collect();
    let more = if over > 0 { format!("; and {over} more") } else { String::new() };
    let events = cited.iter().rev().fold(Vec::new(), |events, one| joined(&events, &one.source.events));
    let sum: f64 = cited.iter().map(|one| one.confidence).sum();
    let of_sessions = text::count(sessions(board, places).len() as u64, "session");
    Some(Said {
        title: format!("Mind what went wrong with `{name}`"),
        body: text::cut_ellipsis(&format!("{}{more}", told.join("; ")), MAX_BODY).into_owned(),
        contexts: cited.iter().map(|one| citation(one)).collect(),
        because: format!("{} of {of_sessions} speak of {name}", text::count(cited.len() as u64, "lesson")),
        events,
        files: cited
            .iter()
            .find_map(|one| one.files.iter().find(|file| *file == name))
            .cloned()
            .into_iter()
            .collect(),
        confidence: (sum / cited.len() as f64 * 100.0).round() / 100.0,
        at,
    })
}

fn citation(cited: &Memory) -> Context {
    Context {
        snippet: short(cited),
        conversation_id: cited.source.session.clone(),
        message_id: cited.source.events.first().cloned(),
        origin: Some(cited.id.as_str().to_owned()),
    }
}

/// Brings a pattern to what it can cite now, or to rest when that is too little. It is doze's own word about others, so that
/// the cap, which is there for what somebody said, does not bind it.
fn renew(board: &mut Board<'_>, at: usize, places: &BTreeSet<usize>) {
    let before = board.entries[at].memory.clone();
    if before.is_protected() {
        return;
    }
    if !is_enough(board, places) {
        if !board.vetoes.keeps_awake(&before) {
            let mut after = before;
            after.status = Status::Stale;
            let evidence = after.source.events.clone();
            let because = format!("fewer than {MIN_CITED} lessons are left that it could cite");
            board.change(at, DreamOp::Retire, after, because, evidence);
        }
        return;
    }
    let key = before.topic_key.clone().unwrap_or_default();
    let Some(said) = said(board, &key, places) else { return };
    let mut after = with(before.clone(), &said);
    after.status = Status::Active;
    after.updated_at = before.updated_at;
    if after == before || board.vetoes.keeps_text(&before.id, said.at) {
        return;
    }
    after.updated_at = board.now;
    board.change(at, DreamOp::Reinforce, after, said.because, said.events);
}

/// A record that says this.
fn with(mut pattern: Memory, said: &Said) -> Memory {
    let cited = u32::try_from(said.contexts.len()).unwrap_or(u32::MAX);
    pattern.content_hash = content_hash(pattern.kind.as_str(), &said.title, &said.body);
    pattern.title.clone_from(&said.title);
    pattern.body.clone_from(&said.body);
    pattern.contexts.clone_from(&said.contexts);
    pattern.files.clone_from(&said.files);
    pattern.source.events.clone_from(&said.events);
    pattern.confidence = said.confidence;
    pattern.evidence_count = cited;
    pattern.reinforce_count = cited;
    pattern.last_confirmed_at = said.at;
    pattern
}

/// A new pattern, unless a person took it back and nothing was learned since.
fn begin(board: &mut Board<'_>, scope: &Scope, key: &str, places: &BTreeSet<usize>) {
    let Some(said) = said(board, key, places) else { return };
    let is_taken =
        |memory: &Memory| memory.status == Status::Active && memory.topic_key.as_deref() == Some(key);
    if !board.places(scope, is_taken).is_empty()
        || board.vetoes.keeps_private(scope, &Texts::of(&said.title, &said.body), said.at)
    {
        return;
    }
    let Some(owner) = places.first().map(|at| board.entries[*at].memory.owner.clone()) else { return };
    let blank = Memory {
        id: board.mint(),
        owner,
        scope: scope.clone(),
        face: Face::Project,
        kind: Kind::Lesson,
        native_kind: None,
        title: String::new(),
        body: String::new(),
        tags: Vec::new(),
        topic_key: Some(key.to_owned()),
        files: Vec::new(),
        confidence: 0.0,
        evidence_count: 0,
        reinforce_count: 0,
        applied_count: 0,
        confirmed_by: Vec::new(),
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Rule,
        source: Source::default(),
        contexts: Vec::new(),
        created_at: said.at,
        updated_at: board.now,
        last_confirmed_at: said.at,
        content_hash: String::new(),
        file_ref: None,
    };
    let memory = with(blank, &said);
    board.add(DreamOp::Promote, memory, said.because, said.events);
}
