//! Where every format's reader puts what it found: events to the sink, counts to the tally.

use doze_core::model::{Event, EventKind, Origin, ToolUse};
use jiff::Timestamp;
use serde_json::Value;

use crate::commits::{MAX_FILES, commits, is_harness_memory};
use crate::cursor::{Call, Held, State};
use crate::limits::{Limits, NAME};
use crate::tally::{Tally, short_hash};
use crate::text::{cut, name, strip_injected};

/// When and where a record was written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp<'v> {
    pub(crate) at: Option<Timestamp>,
    pub(crate) cwd: &'v str,
}

impl<'v> Stamp<'v> {
    /// From the texts a record carries; a time that is none is left out.
    pub(crate) fn new(time: &str, cwd: &'v str) -> Self {
        Self { at: time.parse().ok(), cwd }
    }
}

/// One read in progress.
pub(crate) struct Out<'a> {
    pub(crate) state: State,
    pub(crate) tally: Tally,
    pub(crate) limits: &'a Limits,
    sink: &'a mut dyn FnMut(Event),
}

impl<'a> Out<'a> {
    pub(crate) fn new(state: State, limits: &'a Limits, sink: &'a mut dyn FnMut(Event)) -> Self {
        Self { state, tally: Tally::default(), limits, sink }
    }

    /// A text that is kept, at most `max` bytes of it.
    pub(crate) fn cut(&mut self, text: &str, max: usize) -> String {
        cut(text, max, &mut self.tally.redacted)
    }

    /// A folder a record was written in; the first one is the session's.
    pub(crate) fn cwd(&mut self, cwd: &str) {
        self.tally.cwd(cwd);
        crate::tally::set_first(&mut self.state.cwd, cwd);
    }

    /// What a person said.
    pub(crate) fn prompt(&mut self, id: &str, text: &str, stamp: Stamp<'_>) {
        let text = self.cut(text, self.limits.text);
        self.emit(Event::new(id, EventKind::Prompt, Origin::Person, text), stamp);
    }

    /// What the agent said, whole.
    pub(crate) fn answer(&mut self, id: &str, text: &str, stamp: Stamp<'_>) {
        let text = self.cut(text.trim(), self.limits.text);
        if !text.is_empty() {
            self.emit(Event::new(id, EventKind::Answer, Origin::Agent, text), stamp);
        }
    }

    /// Something the harness told.
    pub(crate) fn notice(&mut self, id: &str, origin: Origin, text: &str, stamp: Stamp<'_>) {
        let text = self.cut(text.trim(), self.limits.text);
        self.emit(Event::new(id, EventKind::Notice, origin, text), stamp);
    }

    /// A piece of what the agent said in `message`; told as one answer once the message is over.
    pub(crate) fn piece(&mut self, message: &str, text: &str, stamp: Stamp<'_>) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.flush_unless(message);
        let text = self.cut(text, self.limits.text);
        match &mut self.state.held {
            Some(held) => {
                held.text.push_str("\n\n");
                held.text.push_str(&text);
                held.text = cut(&held.text, self.limits.text, &mut self.tally.redacted);
            }
            None => {
                let at = stamp.at.map(Timestamp::as_millisecond);
                let message = name(message, NAME).into_owned();
                self.state.held = Some(Held { message, text, at, cwd: stamp.cwd.to_owned() });
            }
        }
    }

    /// Replaces what is held of `message`, for formats that tell a message again when it has grown.
    pub(crate) fn replace_piece(&mut self, message: &str, text: &str, stamp: Stamp<'_>) {
        if self.state.held.as_ref().is_some_and(|held| held.message == message) {
            self.state.held = None;
        }
        self.piece(message, text, stamp);
    }

    /// Tells the held answer unless it belongs to `message`.
    pub(crate) fn flush_unless(&mut self, message: &str) {
        if self.state.held.as_ref().is_some_and(|held| held.message != message) {
            self.flush();
        }
    }

    /// Tells the held answer: its message is over.
    pub(crate) fn flush(&mut self) {
        let Some((event, cwd)) = release(&mut self.state) else { return };
        self.emit(event, Stamp { at: None, cwd: &cwd });
    }

    /// A tool was called; it is told with its result.
    pub(crate) fn call(&mut self, id: &str, name: &str, input: &Value, paths: Vec<String>) {
        self.push_call(id, name, input, paths, false);
    }

    /// A helper called a tool: only the files it changes are told, with its result.
    pub(crate) fn quiet_call(&mut self, id: &str, name: &str, paths: Vec<String>) {
        self.push_call(id, name, &Value::Null, paths, true);
    }

    fn push_call(&mut self, id: &str, tool: &str, input: &Value, paths: Vec<String>, quiet: bool) {
        let input = match input {
            Value::String(text) => self.cut(text, self.limits.input),
            Value::Null => String::new(),
            other => self.cut(&other.to_string(), self.limits.input),
        };
        let (id, tool) = (name(id, NAME).into_owned(), name(tool, NAME).into_owned());
        self.state.push_call(Call { id, name: tool, input, paths, quiet });
    }

    /// A tool answered. The call is told as the event `event_id`, with the commits its output names and the files
    /// it was to change.
    pub(crate) fn result(&mut self, id: &str, event_id: &str, output: &str, failed: bool, stamp: Stamp<'_>) {
        let Some(call) = self.state.take_call(id) else {
            return self.commits(event_id, output, stamp);
        };
        self.tool(call.name, call.input, event_id, output, failed, stamp);
        self.files(event_id, &call.paths, failed, stamp);
    }

    /// A helper's tool answered: only the files it changed and the commits it made are told.
    pub(crate) fn quiet_result(&mut self, id: &str, output: &str, failed: bool, stamp: Stamp<'_>) {
        self.commits(id, output, stamp);
        if let Some(call) = self.state.take_call(id) {
            self.files(id, &call.paths, failed, stamp);
        }
    }

    fn files(&mut self, id: &str, paths: &[String], failed: bool, stamp: Stamp<'_>) {
        for path in paths.iter().take(MAX_FILES).filter(|_| !failed) {
            self.file(id, path, stamp);
        }
    }

    /// A tool call whose parts are all at hand.
    pub(crate) fn tool(
        &mut self,
        name: String,
        input: String,
        id: &str,
        output: &str,
        failed: bool,
        stamp: Stamp<'_>,
    ) {
        let origin = tool_origin(&name);
        let output_text = self.cut(strip_injected(output).trim_end(), self.limits.output);
        let mut event = Event::new(id, EventKind::Tool, origin, "");
        event.tool = Some(ToolUse { name, input, output: output_text, failed });
        self.emit(event, stamp);
        self.commits(id, output, stamp);
    }

    /// A file of the project was changed by the call `id`.
    pub(crate) fn file(&mut self, id: &str, path: &str, stamp: Stamp<'_>) {
        let path = &*name(path, NAME);
        if path.is_empty() || is_harness_memory(path) {
            return;
        }
        self.tally.file(path);
        let id = format!("{id}:file:{:016x}", short_hash(&[path]));
        let mut event = Event::new(id, EventKind::File, Origin::Agent, "");
        event.path = Some(path.to_owned());
        self.emit(event, stamp);
    }

    fn commits(&mut self, id: &str, output: &str, stamp: Stamp<'_>) {
        for commit in commits(output).take(MAX_FILES) {
            self.tally.commit(commit.hash);
            let text = format!("{} {}", commit.hash, name(commit.subject, NAME));
            let id = format!("{id}:commit:{}", commit.hash);
            self.emit(Event::new(id, EventKind::Commit, Origin::Tool, text), stamp);
        }
    }

    /// The id of something that has none: a hash of what it says, and how often that was said before.
    pub(crate) fn made_id(&mut self, parts: &[&str]) -> String {
        let hash = short_hash(parts);
        match self.state.occurrence(hash) {
            0 => format!("{hash:016x}"),
            again => format!("{hash:016x}#{}", again + 1),
        }
    }

    /// The id of something that has none but a time: the same in every copy of the record.
    pub(crate) fn timed_id(&mut self, time: &str, parts: &[&str]) -> String {
        if time.is_empty() {
            return self.made_id(parts);
        }
        format!("{:016x}", short_hash(&[&[time], parts].concat()))
    }

    /// Hands an event on unless one of this id was handed on in this read.
    fn emit(&mut self, mut event: Event, stamp: Stamp<'_>) {
        if event.id.as_str().is_empty() {
            event.id = self.made_id(&[event.kind.as_str(), &event.text]).into();
        }
        event.at = event.at.or(stamp.at);
        event.cwd = (!stamp.cwd.is_empty() && stamp.cwd != self.state.cwd)
            .then(|| name(stamp.cwd, NAME).into_owned());
        if self.tally.events.insert(event.id.as_str()) {
            (self.sink)(event);
        }
    }
}

/// Takes the held answer out of a state, as an event and the folder it was given in.
pub(crate) fn release(state: &mut State) -> Option<(Event, String)> {
    let held = state.held.take()?;
    let (message, pieces) = &mut state.answered;
    if *message == held.message {
        *pieces += 1;
    } else {
        (*message, *pieces) = (held.message.clone(), 1);
    }
    let id = if *pieces == 1 { held.message } else { format!("{}#{pieces}", held.message) };
    let mut event = Event::new(id, EventKind::Answer, Origin::Agent, held.text);
    event.at = held.at.and_then(|at| Timestamp::from_millisecond(at).ok());
    Some((event, held.cwd))
}

/// Where the text comes from that a tool brings.
pub(crate) fn tool_origin(name: &str) -> Origin {
    if is_web(name) { Origin::Web } else { Origin::Tool }
}

/// Whether a tool brings text from the web.
fn is_web(name: &str) -> bool {
    const WEB: [&str; 7] =
        ["webfetch", "websearch", "web_fetch", "web_search", "browser", "fetch_url", "url_fetch"];
    let name = name.to_ascii_lowercase();
    WEB.iter().any(|web| name.contains(web)) || (name.starts_with("mcp__") && name.ends_with("fetch"))
}
