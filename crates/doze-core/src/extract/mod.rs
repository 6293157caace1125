//! Memories found in a session by rules, without any model.
//!
//! Nine detectors look at events, not only at sentences: what the person demanded ([`speech`], [`cjk`]), what was
//! chosen and why ([`choices`]), what failed and what then worked ([`fixes`]), what the project runs on ([`habits`]),
//! what the machine proved about itself ([`environment`]), what the agent found out on the way ([`findings`]) or
//! worked out ([`diagnosis`], by the [`signs`] in its sentences), and what the person brought up, agreed to or found
//! bad ([`wishes`]), and what became of it ([`outcomes`], [`closed`]). Precision comes first: a wrong memory costs every later session, a
//! missed one costs a repetition. What passes is a candidate; duplicates and conflicts with what is known are not decided here.

mod choices;
mod cjk;
mod closed;
mod diagnosis;
mod environment;
mod findings;
mod fixes;
mod gate;
mod habits;
mod outcomes;
mod plain;
mod rounds;
mod said;
mod script;
mod shape;
mod shell;
mod signs;
mod speech;
mod standing;
#[cfg(test)]
mod tests;
mod wishes;

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::duplicate::Ended;
use crate::injected::strip_injected;
use crate::model::{Event, EventKind, Kind, Origin};
use crate::text::{join_wrapped, one_line, sentences};

/// Most that one call returns, the surest first: beyond this a session was misread.
const MAX_EXTRACTED: usize = 24;
/// More than this is not compared with each other.
const MAX_COMPARED: usize = 200;
/// Programs told of one session, and bytes of their names.
const MAX_PROGRAMS: usize = 500;
const MAX_PROGRAM: usize = 40;
/// Ordinals kept as evidence of one memory.
const MAX_EVIDENCE: usize = 8;
/// Bytes of a sentence from which on it is no chance that a tool printed the same.
const MIN_COPIED: usize = 24;

/// A memory that a rule found.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// What sort of knowledge.
    pub kind: Kind,
    /// One line of at most 80 characters.
    pub title: String,
    /// At most 400 characters.
    pub body: String,
    /// What it is about, where a newer memory about the same must replace it.
    pub topic_key: Option<String>,
    /// Files it names.
    pub files: Vec<String>,
    /// 0.3–0.9 (S1.11).
    pub confidence: f64,
    /// Ordinals of the events that speak for it, ascending.
    pub evidence: Vec<u64>,
    /// Who vouches for it; decides what it may become (`R18`).
    pub origin: Origin,
    /// When the last of these events happened, if the harness told.
    pub at: Option<Timestamp>,
    /// The person said that it holds in every project.
    pub everywhere: bool,
}

/// Reads the events of one session, in their order, and answers what is worth keeping, the surest first.
pub fn extract(events: &[(u64, Event)]) -> Vec<Extracted> {
    let events: Vec<(u64, Event)> =
        events.iter().filter(|(_, event)| may_teach(event)).map(own_words).collect();
    let events: Vec<&(u64, Event)> = events.iter().collect();
    let calls = shell::calls(&events);
    let said = said::said(&events);
    let mut found = speech::find(&said);
    found.extend(choices::find(&events, &said));
    found.extend(fixes::find(&calls));
    found.extend(fixes::narrow_runs(&calls));
    found.extend(habits::find(&events, &calls));
    found.extend(fixes::causes(&events, &calls));
    found.extend(findings::find(&events));
    found.extend(diagnosis::find(&events, &calls));
    found.extend(wishes::find(&events));
    found.extend(outcomes::find(&events, &found));
    let quirks = environment::find(&calls);
    // What the machine proved need not be told in the agent's words as well.
    found.retain(|told| !quirks.iter().any(|quirk| is_about(told, quirk)));
    found.extend(quirks);
    found.retain(|found| may_become(found.kind, found.origin) && !is_copied(&events, found));
    let found = closed::close(&events, unite(found));
    let mut found = without_parts(found);
    found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then_with(|| a.evidence.cmp(&b.evidence)));
    found.truncate(MAX_EXTRACTED);
    found
}

/// What ends or changes something that was said before, in the person's words; see [`Ended`].
pub fn ended(events: &[(u64, Event)]) -> Vec<Extracted> {
    let events: Vec<(u64, Event)> =
        events.iter().filter(|(_, event)| may_teach(event)).map(own_words).collect();
    let events: Vec<&(u64, Event)> = events.iter().collect();
    let ends = |said: &said::Said<'_>| {
        Ended::of(&said.unquoted()).is_some_and(|ended| said.is_meant() || ended.is_withdrawal())
    };
    said::said(&events).iter().filter(|said| ends(said)).take(MAX_EXTRACTED).map(said::Said::told).collect()
}

/// The scripts that the agent gave to a shell and that certainly did what they should.
pub fn commands_that_worked(events: &[(u64, Event)]) -> Vec<String> {
    let events: Vec<&(u64, Event)> = events.iter().collect();
    shell::calls(&events).into_iter().filter(|call| call.worked).map(|call| call.raw).collect()
}

/// The programs that certainly ran, each by its name as it is called: proof that they are there.
pub fn programs_that_ran(events: &[(u64, Event)]) -> BTreeSet<String> {
    let events: Vec<&(u64, Event)> = events.iter().collect();
    let calls = shell::calls(&events);
    let worked = calls.iter().filter(|call| call.worked).flat_map(|call| call.raw.split("&&"));
    let programs = worked.filter_map(shell::program).map(str::to_lowercase);
    programs.filter(|name| name.len() <= MAX_PROGRAM).take(MAX_PROGRAMS).collect()
}

/// A text without what it asks; a polite order is none of that.
pub fn stated(text: &str) -> String {
    let told: Vec<&str> = sentences(text).into_iter().filter(|sentence| !gate::asks(sentence)).collect();
    told.join("\n")
}

/// Whether what the agent found names the thing of a quirk, and rests on the same failure or heads with the want of it.
fn is_about(told: &Extracted, quirk: &Extracted) -> bool {
    let name = quirk.topic_key.as_deref().and_then(|topic| topic.rsplit(':').next()).unwrap_or_default();
    let name = format!("`{name}`");
    let (title, body) = (told.title.to_lowercase(), told.body.to_lowercase());
    let wants =
        ["missing", "not installed", "not found", "not set", "in use"].iter().any(|want| body.contains(want));
    matches!(told.kind, Kind::Lesson | Kind::Fact)
        && told.origin == Origin::Agent
        && body.contains(&name)
        && (told.evidence.iter().any(|event| quirk.evidence.contains(event))
            || wants && (title.contains(&name) || body.matches('`').count() <= 4))
}

/// Whether the agent only gives back what a file or a page told it: how things shall be is not for them to say (`R18`).
fn is_copied(events: &[&(u64, Event)], found: &Extracted) -> bool {
    let is_rule = matches!(
        found.kind,
        Kind::Decision | Kind::Convention | Kind::Preference | Kind::Ownership | Kind::Fact
    );
    if found.origin != Origin::Agent || !is_rule {
        return false;
    }
    let plain = |text: &str| one_line(text).to_lowercase();
    let body = plain(&found.body);
    let Some(told) = sentences(&body).first().map(|told| told.trim_end_matches(['.', '…', '!']).to_owned())
    else {
        return false;
    };
    let last = found.evidence.last().copied().unwrap_or(u64::MAX);
    let outputs =
        events.iter().filter(|(ordinal, _)| *ordinal <= last).filter_map(|(_, event)| event.tool.as_ref());
    told.len() >= MIN_COPIED && outputs.into_iter().any(|tool| plain(&tool.output).contains(&told))
}

/// Nothing is learned from what the harness or doze itself put into a session.
fn may_teach(event: &Event) -> bool {
    event.origin != Origin::Injected && event.kind != EventKind::Notice
}

/// The event without text that was put into it, its broken sentences whole.
fn own_words((ordinal, event): &(u64, Event)) -> (u64, Event) {
    let mut event = event.clone();
    event.text = join_wrapped(&strip_injected(&event.text)).into_owned();
    if let Some(saved) = saved_by_hand(&event) {
        event.text = format!("Remember: {saved}");
    }
    event.text = match event.kind {
        EventKind::Answer => plain::plain(&event.text),
        _ => plain::unlinked(&event.text),
    };
    (*ordinal, event)
}

/// What a person had their harness keep: a prompt that begins with `#` becomes this.
fn saved_by_hand(event: &Event) -> Option<&str> {
    let inner =
        event.text.trim().strip_prefix("<user-memory-input>")?.strip_suffix("</user-memory-input>")?;
    let is_one_line = !inner.trim().is_empty() && inner.trim().lines().count() == 1;
    (event.kind == EventKind::Prompt && event.origin == Origin::Person && is_one_line)
        .then(|| inner.trim().trim_start_matches('#').trim())
}

/// Whether something of this origin may become a memory of this kind: text from tools and web pages can prove an
/// environment quirk or a lesson, nothing else (`R18`).
pub fn may_become(kind: Kind, origin: Origin) -> bool {
    match origin {
        Origin::Person | Origin::Agent => true,
        Origin::Tool | Origin::Web => matches!(kind, Kind::EnvQuirk | Kind::Lesson),
        Origin::Injected => false,
    }
}

/// What another memory of the same speaker says word for word, and more, is left to it.
fn without_parts(found: Vec<Extracted>) -> Vec<Extracted> {
    let is_part = |at: usize| {
        let part = found[at].body.trim_end_matches('…');
        found.iter().enumerate().any(|(other, whole)| {
            other != at
                && whole.origin == found[at].origin
                && whole.body.contains(part)
                && (whole.body.len() > found[at].body.len() || other < at)
        })
    };
    let parts: Vec<bool> = (0..found.len()).map(|at| found.len() <= MAX_COMPARED && is_part(at)).collect();
    found.into_iter().zip(parts).filter(|(_, is_part)| !is_part).map(|(found, _)| found).collect()
}

/// What was found twice in this session is one memory with more evidence: the person's wording before the agent's,
/// the later before the earlier.
fn unite(found: Vec<Extracted>) -> Vec<Extracted> {
    let mut by_subject: HashMap<String, usize> = HashMap::new();
    let mut united: Vec<Extracted> = Vec::new();
    for next in found {
        let subject = next.topic_key.clone().unwrap_or_else(|| next.title.to_lowercase());
        let Some(&place) = by_subject.get(&subject) else {
            by_subject.insert(subject, united.len());
            united.push(next);
            continue;
        };
        let known = &mut united[place];
        let mut evidence: Vec<u64> = known.evidence.iter().chain(&next.evidence).copied().collect();
        evidence.sort_unstable();
        evidence.dedup();
        let better = (next.origin == Origin::Person, next.confidence, next.evidence.last())
            >= (known.origin == Origin::Person, known.confidence, known.evidence.last());
        if better {
            *known = next;
        }
        known.evidence = evidence.split_off(evidence.len().saturating_sub(MAX_EVIDENCE));
    }
    united
}
