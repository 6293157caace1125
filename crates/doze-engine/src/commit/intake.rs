//! The gate for everything a commit brings: injected text out, secrets out, control characters out, bounds kept.

use std::collections::{BTreeMap, HashMap};

use doze_core::model::{Event, EventId, EventKind, Origin, TaskRef};
use doze_core::{injected, redact, text};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::CommitRequest;
use crate::names::{MAX_NAME_BYTES, MAX_PATH_BYTES};

/// Bytes kept of one prompt or answer, of a tool's input, and of its output (head and tail).
const MAX_TEXT: usize = 64 * 1024;
const MAX_INPUT: usize = 8 * 1024;
const MAX_OUTPUT: usize = 16 * 1024;
/// How a block of doze's own begins, also when a tool printed it.
const OWN_BLOCK: &str = "<doze-memory";
/// What stands where the middle of a long text stood.
const CUT: &str = "\n[… cut …]\n";

/// What the gate did to the texts of a call; told in the answer.
#[derive(Default)]
pub(super) struct Changes {
    /// How often each redaction rule struck.
    pub(super) redacted: BTreeMap<String, u64>,
    /// Texts that lost their middle because they were too long to keep.
    pub(super) cut: u64,
}

/// What a call brought, fit to be stored.
pub(super) struct Intake {
    /// What happened: first what a session file told, then what the call itself did.
    pub(super) events: Vec<Event>,
    /// How many of them the file told.
    pub(super) read: usize,
    pub(super) skipped: u64,
    pub(super) summary: Option<String>,
    pub(super) output: Option<String>,
    pub(super) changed_files: Vec<String>,
    pub(super) task: Option<TaskRef>,
}

impl Intake {
    /// Cleans what a request brings. What a run printed last is stored as an answer, so that what is learned from it has
    /// a source, unless a session file or one of its answers has it.
    pub(super) fn of(request: &CommitRequest, admission: &Admission, changes: &mut Changes) -> Self {
        let mut gate = Gate { changes, admission };
        let mut events = gate.told(&request.events);
        let skipped = (request.events.len() - events.len()) as u64;
        let summary =
            request.summary.as_deref().map(|text| gate.text(text, MAX_TEXT)).filter(|text| !text.is_empty());
        let output = request.output.as_deref().map(|text| gate.said(text)).filter(|text| !text.is_empty());
        let task = request.task.as_ref().map(|task| gate.task(task));
        // The same words in another session, or of another agent, are another sighting of what they say.
        let made = |kind: &str, text: &str| {
            made_id(kind, &format!("{}\0{}\0{text}", request.session, request.agent.id))
        };
        if request.events.is_empty() && request.transcript.is_none() {
            let prompt = task.as_ref().map(|task| task.prompt.clone());
            let prompt = prompt.filter(|text| !text.is_empty());
            events.extend(
                prompt.map(|text| Event::new(made("prompt", &text), EventKind::Prompt, Origin::Person, text)),
            );
        }
        if let Some(output) = output.as_ref().filter(|_| request.transcript.is_none()) {
            let said = text::one_line(output);
            let has_it = |event: &Event| {
                event.kind == EventKind::Answer && text::one_line(&event.text).contains(&said)
            };
            if !events.iter().any(has_it) {
                let id = made("output", output);
                events.push(Event::new(id, EventKind::Answer, Origin::Agent, output.clone()));
            }
        }
        let changed_files = request
            .changed_files
            .iter()
            .map(|file| gate.text(&text::one_line(file), MAX_PATH_BYTES))
            .filter(|file| !file.is_empty())
            .collect();
        Self { events, read: 0, skipped, summary, output, changed_files, task }
    }

    /// Puts events that were read from the session's file in front.
    pub(super) fn prepend(&mut self, mut events: Vec<Event>) {
        self.read = events.len();
        events.append(&mut self.events);
        self.events = events;
    }
}

/// One event, fit to be stored; `None` when nothing worth storing is left.
pub(super) fn clean_event(event: &Event, admission: &Admission, changes: &mut Changes) -> Option<Event> {
    Gate { changes, admission }.event(event)
}

/// Which events may come in, by their time.
#[derive(Debug, Clone, Default)]
pub(super) struct Admission {
    /// An event that claims to be later is one without a time.
    latest: Timestamp,
    /// What happened within these, both ends included, was said while doze was paused, or was forgotten.
    closed: Vec<(Timestamp, Timestamp)>,
}

impl Admission {
    /// A day ahead is still believed: clocks differ, but nothing happens next year.
    pub(super) fn new(now: Timestamp, closed: Vec<(Timestamp, Timestamp)>) -> Self {
        Self { latest: now.checked_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX), closed }
    }

    fn is_closed(&self, at: Timestamp) -> bool {
        self.closed.iter().any(|(from, until)| (*from..=*until).contains(&at))
    }
}

struct Gate<'a> {
    changes: &'a mut Changes,
    admission: &'a Admission,
}

impl Gate<'_> {
    /// The events that a call tells. Whoever says the same twice in one call without ids and times has said it twice.
    fn told(&mut self, events: &[Event]) -> Vec<Event> {
        let mut said = HashMap::<EventId, usize>::new();
        let mut kept = Vec::new();
        for event in events {
            let Some(mut clean) = self.event(event) else { continue };
            if event.id.as_str().is_empty() && event.at.is_none() {
                let before = said.entry(clean.id.clone()).or_default();
                if *before > 0 {
                    clean.id = EventId::new(format!("{}:{before}", clean.id));
                }
                *before += 1;
            }
            kept.push(clean);
        }
        kept
    }

    fn event(&mut self, event: &Event) -> Option<Event> {
        if event.origin == Origin::Injected || event.at.is_some_and(|at| self.admission.is_closed(at)) {
            return None;
        }
        let mut out = event.clone();
        out.at = event.at.filter(|at| *at <= self.admission.latest);
        out.text = match event.kind {
            EventKind::Prompt | EventKind::Answer | EventKind::Notice => self.said(&event.text),
            _ => self.text(&event.text, MAX_TEXT),
        };
        out.path = event.path.as_deref().map(|path| self.text(&text::one_line(path), MAX_PATH_BYTES));
        out.cwd = event.cwd.as_deref().map(|path| self.text(&text::one_line(path), MAX_PATH_BYTES));
        if let Some(tool) = &mut out.tool {
            tool.name = self.text(&text::one_line(&tool.name), MAX_PATH_BYTES);
            tool.input = self.text(&tool.input, MAX_INPUT);
            tool.output = self.said_by_tool(&tool.output);
        }
        let is_empty =
            out.text.is_empty() && out.tool.is_none() && out.path.as_ref().is_none_or(String::is_empty);
        if is_empty {
            return None;
        }
        let is_secret = !redact::redact(out.id.as_str()).hits.is_empty();
        if out.id.as_str().is_empty() || out.id.as_str().len() > MAX_NAME_BYTES || is_secret {
            let at = out.at.map(|at| at.as_millisecond().to_string()).unwrap_or_default();
            out.id = made_id(
                out.kind.as_str(),
                &format!("{at}\0{}\0{}", if is_secret { "" } else { event.id.as_str() }, out.text),
            );
        }
        Some(out)
    }

    fn task(&mut self, task: &TaskRef) -> TaskRef {
        TaskRef {
            id: self.text(&text::one_line(&task.id), MAX_NAME_BYTES),
            title: self.text(&text::one_line(&task.title), MAX_TEXT),
            spec: self.text(&task.spec, MAX_TEXT),
            prompt: self.text(&task.prompt, MAX_TEXT),
        }
    }

    /// What somebody said, without what doze or the harness put into it.
    fn said(&mut self, said: &str) -> String {
        self.text(&injected::strip_injected(said), MAX_TEXT)
    }

    fn said_by_tool(&mut self, output: &str) -> String {
        if output.contains(OWN_BLOCK) {
            return self.text(&injected::strip_injected(output), MAX_OUTPUT);
        }
        self.text(output, MAX_OUTPUT)
    }

    /// Redacts first, so that a cut never halves a secret before it is recognised.
    fn text(&mut self, given: &str, max: usize) -> String {
        let clean = text::clean(given);
        let redaction = redact::redact(&clean);
        for (rule, count) in &redaction.hits {
            *self.changes.redacted.entry((*rule).to_owned()).or_default() += count;
        }
        let kept = middle_cut(redaction.text.trim(), max);
        self.changes.cut += u64::from(kept.is_some());
        kept.unwrap_or_else(|| redaction.text.trim().to_owned())
    }
}

/// A long text without its middle: beginnings say what was asked, ends say how it went. `None` when it is short.
fn middle_cut(text: &str, max: usize) -> Option<String> {
    if text.len() <= max {
        return None;
    }
    let half = max / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    Some(format!("{}{CUT}{}", &text[..head], &text[tail..]))
}

/// The id of an event that came without one: the same words at the same time are the same event.
fn made_id(kind: &str, text: &str) -> EventId {
    let mut hash = Sha256::new();
    hash.update(kind.as_bytes());
    hash.update(b"\0");
    hash.update(text.as_bytes());
    EventId::new(format!("{kind}:{}", doze_core::model::hex(&hash.finalize()[..12])))
}
