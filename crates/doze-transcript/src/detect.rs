//! What wrote a file, told by its content alone: names, folders and extensions lie.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cursor::Layout;
use crate::document::{Part, Splitter};
use crate::json::{items, objects, string};
use crate::limits::MEMBER;

/// [`detect`] wants this much of a file's head, or all of a shorter one.
pub const HEAD_BYTES: usize = 256 << 10;

/// Lines or messages looked at.
const LOOKED_AT: usize = 64;

/// What wrote a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Claude Code's session file.
    ClaudeCode,
    /// Codex CLI's rollout, old or new.
    Codex,
    /// Gemini CLI's document.
    Gemini,
    /// Gemini CLI's newer line format.
    GeminiJsonl,
    /// Messages as OpenAI's interface takes them, bare or wrapped.
    OpenaiMessages,
    /// Messages as Anthropic's interface takes them, bare or wrapped, and the stream of its agent SDK.
    AnthropicMessages,
}

impl Format {
    /// Every format that can be read.
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::GeminiJsonl,
        Self::OpenaiMessages,
        Self::AnthropicMessages,
    ];

    /// The word that stands for it on the wire and on a screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::GeminiJsonl => "gemini-jsonl",
            Self::OpenaiMessages => "openai-messages",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a file's head tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// A format that can be read, and how it is laid out.
    Known(Format, Layout),
    /// A format that is recognised and cannot be read; its name.
    Unsupported(&'static str),
    /// JSON that is nobody's session, or no JSON.
    Unknown,
    /// Nothing yet.
    Empty,
}

/// Tells what wrote a file from its first [`HEAD_BYTES`].
pub fn detect(head: &[u8]) -> Detected {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let head = &head[..head.len().min(HEAD_BYTES)];
    let Some(first) = head.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0)) else {
        return Detected::Empty;
    };
    let mut signs = Signs::default();
    let is_lines = *first != b'[' && signs.look_at_lines(head);
    if !is_lines || signs.keys.is_empty() || signs.is_document {
        let mut whole = Signs::default();
        whole.look_at_document(head);
        if matches!(first, b'[' | b'{') && whole.is_document || signs.keys.is_empty() {
            signs = whole;
        }
    }
    signs.judge()
}

/// What was met in a file's head.
#[derive(Default)]
struct Signs {
    /// Names of members of lines and of a root object.
    keys: BTreeSet<String>,
    /// Names of members of messages in a list.
    message_keys: BTreeSet<String>,
    types: BTreeSet<String>,
    roles: BTreeSet<String>,
    blocks: BTreeSet<String>,
    is_document: bool,
}

impl Signs {
    /// Looks at the head as lines of objects; answers whether the first line is one.
    fn look_at_lines(&mut self, head: &[u8]) -> bool {
        let whole = head.len() < HEAD_BYTES;
        let mut lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').take(LOOKED_AT).collect();
        if !whole && lines.len() < LOOKED_AT {
            lines.pop();
        }
        let mut first_is_json = None;
        for line in lines.into_iter().filter(|line| !line.trim_ascii().is_empty()) {
            let is_json = objects(&mut line.to_vec(), &mut |value| {
                self.is_document |= ["messages", "history", "items", "trajectory"]
                    .iter()
                    .any(|list| value.get(list).is_some_and(Value::is_array));
                self.keys.extend(names(&value));
                self.value(&value);
            });
            first_is_json.get_or_insert(is_json);
        }
        first_is_json == Some(true)
    }

    /// Looks at the head as one document.
    fn look_at_document(&mut self, head: &[u8]) {
        let mut splitter = Splitter::new(head.len(), MEMBER);
        let mut looked_at = 0;
        for byte in head {
            let Some(part) = splitter.feed(*byte) else { continue };
            objects(&mut splitter.part, &mut |value| match part {
                Part::Record(_) => {
                    self.is_document = true;
                    self.message_keys.extend(names(&value));
                    self.value(&value);
                }
                _ => self.keys.extend(names(&value)),
            });
            splitter.part.clear();
            looked_at += 1;
            if looked_at == LOOKED_AT {
                return;
            }
        }
        // An empty list, or one whose first message is longer than the head, shows the layout too.
        self.is_document |= splitter.has_list();
    }

    fn value(&mut self, value: &Value) {
        let inner = value.get("message").unwrap_or(value);
        for (set, text) in
            [(&mut self.types, string(value, "type")), (&mut self.roles, string(inner, "role"))]
        {
            if !text.is_empty() {
                set.insert(text.to_owned());
            }
        }
        self.blocks.extend(items(inner, "content").iter().map(|block| string(block, "type").to_owned()));
    }

    fn judge(&self) -> Detected {
        if let Some(name) = self.unsupported() {
            return Detected::Unsupported(name);
        }
        let layout = if self.is_document { Layout::Document } else { Layout::Lines };
        match self.format(layout) {
            Some(format) => Detected::Known(format, layout),
            None => Detected::Unknown,
        }
    }

    fn unsupported(&self) -> Option<&'static str> {
        let typed =
            |prefixes: &[&str]| self.types.iter().any(|kind| prefixes.iter().any(|p| kind.starts_with(p)));
        if self.has("data") && typed(&["session.", "user.message", "assistant.", "tool.execution_", "hook."])
        {
            return Some("GitHub Copilot CLI");
        }
        if self.message_keys.contains("parts") || self.has("sessionID") || self.has("projectID") {
            return Some("OpenCode");
        }
        if typed(&["thread.started", "turn.started", "turn.completed", "item.completed"]) {
            return Some("codex exec --json");
        }
        let is_pi = self.types.contains("session") && self.has("id") && self.has("cwd");
        if is_pi || self.roles.contains("toolResult") {
            return Some("pi");
        }
        let bare = self.types.is_empty() && self.has("role") && self.has("message");
        bare.then_some("Cursor")
    }

    fn format(&self, layout: Layout) -> Option<Format> {
        let any_type = |kinds: &[&str]| kinds.iter().any(|kind| self.types.contains(*kind));
        if ["projectHash", "$set", "$rewindTo"].iter().any(|key| self.has(key)) || any_type(&["gemini"]) {
            let in_lines = layout == Layout::Lines;
            return Some(if in_lines { Format::GeminiJsonl } else { Format::Gemini });
        }
        if ["parentUuid", "isSidechain", "leafUuid", "isSnapshotUpdate", "sessionId", "agentId"]
            .iter()
            .any(|key| self.has(key))
        {
            return Some(Format::ClaudeCode);
        }
        let wrapped =
            ["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
        let bare = ["function_call", "function_call_output", "reasoning"];
        let old =
            self.has("record_type") || (self.has("instructions") && self.has("id") && self.has("timestamp"));
        if (self.has("payload") && any_type(&wrapped)) || any_type(&bare) || old {
            return Some(Format::Codex);
        }
        let is_stream = any_type(&["user", "assistant", "result", "system"]) && self.roles_or_message();
        let is_blocks =
            ["tool_use", "tool_result", "thinking"].iter().any(|kind| self.blocks.contains(*kind));
        if is_stream || is_blocks || (self.has("system") && self.has("messages")) {
            return Some(Format::AnthropicMessages);
        }
        (!self.roles.is_empty()).then_some(Format::OpenaiMessages)
    }

    /// Whether a member of this name was met outside messages of a list.
    fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    fn roles_or_message(&self) -> bool {
        self.has("message") || self.message_keys.contains("message") || self.has("session_id")
    }
}

fn names(value: &Value) -> impl Iterator<Item = String> + '_ {
    value.as_object().into_iter().flatten().map(|(key, _)| key.clone())
}
