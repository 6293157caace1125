//! How far a source was read, and what the rest of it needs to be understood.

use doze_core::model::{Event, EventKind, ToolUse};
use serde::{Deserialize, Serialize};

use crate::detect::Format;
use crate::limits::{CALLS, OCCURRENCES, QUEUE};

/// How a source is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One record a line, appended to.
    Lines,
    /// One JSON document, rewritten as a whole.
    Document,
}

/// Where a read ended. Opaque but for its offset; kept by the caller (any serde format) and given to the next read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// What wrote the source.
    pub format: Format,
    /// How it is laid out.
    pub layout: Layout,
    /// Everything before this byte is read; always the end of a complete record.
    pub offset: u64,
    /// A hash of the bytes just before the offset, by which a rewritten source is recognised.
    pub(crate) check: u64,
    /// What the following records need to be understood.
    pub(crate) state: State,
}

/// What a record needs to know of the ones before it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    /// The session's first folder.
    pub(crate) cwd: String,
    /// An answer that may still grow.
    pub(crate) held: Option<Held>,
    /// The message last told as an answer, and in how many pieces.
    pub(crate) answered: (String, u32),
    /// Tool calls without a result, oldest first.
    pub(crate) calls: Vec<Call>,
    /// Prompts in the harness's queue, oldest first.
    pub(crate) queue: Vec<Queued>,
    /// Queued prompts told lately, so that the second log of the same one is not told again.
    pub(crate) unqueued: Vec<u64>,
    /// How often a text was met, where nothing else names it.
    pub(crate) occurrences: Vec<(u64, u32)>,
    /// Codex: the interface's own log is in the file, so prompts are taken from there.
    pub(crate) has_ui_log: bool,
    /// Codex: applied patches are told apart, so files are taken from there.
    pub(crate) has_patch_log: bool,
    /// SWE-agent: the call that the last message wrote as text; the next user message is its output.
    pub(crate) awaits_observation: Option<String>,
    /// Documents: the list that holds the messages.
    pub(crate) list: Option<String>,
}

/// An answer that is being told in pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) message: String,
    pub(crate) text: String,
    pub(crate) at: Option<i64>,
    pub(crate) cwd: String,
}

/// A tool call that waits for its result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: String,
    /// The files it changes if it succeeds.
    pub(crate) paths: Vec<String>,
    /// A helper's: it is not told.
    #[serde(default)]
    pub(crate) quiet: bool,
}

/// A prompt in the harness's queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Queued {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Of the text as it was read: by it the second log of the same prompt is known.
    pub(crate) hash: u64,
}

impl State {
    /// Remembers a call; the oldest is given up when too many wait.
    pub(crate) fn push_call(&mut self, call: Call) {
        if self.calls.len() >= CALLS {
            self.calls.remove(0);
        }
        self.calls.push(call);
    }

    /// The call a result belongs to.
    pub(crate) fn take_call(&mut self, id: &str) -> Option<Call> {
        let at = self.calls.iter().position(|call| call.id == id)?;
        Some(self.calls.remove(at))
    }

    /// Remembers a queued prompt.
    pub(crate) fn push_queued(&mut self, queued: Queued) {
        if self.queue.len() >= QUEUE {
            self.queue.remove(0);
        }
        self.queue.push(queued);
    }

    /// Whether a queued prompt was not told lately; remembers it.
    pub(crate) fn unqueue(&mut self, hash: u64) -> bool {
        if self.unqueued.contains(&hash) {
            return false;
        }
        if self.unqueued.len() >= QUEUE {
            self.unqueued.remove(0);
        }
        self.unqueued.push(hash);
        true
    }

    /// How often this was met before; counts it.
    pub(crate) fn occurrence(&mut self, hash: u64) -> u32 {
        match self.occurrences.binary_search_by_key(&hash, |(known, _)| *known) {
            Ok(at) => {
                let count = &mut self.occurrences[at].1;
                *count += 1;
                *count
            }
            Err(at) => {
                if self.occurrences.len() < OCCURRENCES {
                    self.occurrences.insert(at, (hash, 0));
                }
                0
            }
        }
    }
}

impl Cursor {
    /// Rewrites every text that waits in here for what follows it. Whoever keeps a cursor takes secrets out by this: no
    /// event was made of these texts yet, so nothing else has seen them.
    pub fn rewrite(&mut self, rewritten: &mut dyn FnMut(&str) -> String) {
        let State { calls, queue, held, cwd, .. } = &mut self.state;
        let inputs = calls.iter_mut().map(|call| &mut call.input);
        let queued = queue.iter_mut().map(|queued| &mut queued.text);
        let held = held.iter_mut().flat_map(|held| [&mut held.text, &mut held.cwd]);
        for text in inputs.chain(queued).chain(held).chain([cwd]) {
            *text = rewritten(text);
        }
        for path in calls.iter_mut().flat_map(|call| &mut call.paths) {
            *path = rewritten(path);
        }
    }

    /// Takes out the last answer when it is still held because its message might go on. A caller that knows the turn
    /// to be over (a Stop hook, the end of the session) tells it with the others; should the message go on after
    /// all, the rest becomes an answer of its own.
    pub fn release_answer(&mut self) -> Option<Event> {
        let (mut event, cwd) = crate::out::release(&mut self.state)?;
        event.cwd = (!cwd.is_empty() && cwd != self.state.cwd).then_some(cwd);
        Some(event)
    }

    /// Takes out the tool calls that got no result, oldest first. A caller that knows the session to be over tells
    /// them with the others: they were cut short, and so they count as failed.
    pub fn release_calls(&mut self) -> Vec<Event> {
        let calls = std::mem::take(&mut self.state.calls);
        calls
            .into_iter()
            .filter(|call| !call.quiet)
            .map(|call| {
                let id = match self.format {
                    Format::OpenaiMessages | Format::AnthropicMessages => {
                        crate::messages::event_id(&call.id, &mut self.state)
                    }
                    _ => call.id,
                };
                let origin = crate::out::tool_origin(&call.name);
                let mut event = Event::new(id, EventKind::Tool, origin, "");
                event.tool =
                    Some(ToolUse { name: call.name, input: call.input, output: String::new(), failed: true });
                event
            })
            .collect()
    }
}
