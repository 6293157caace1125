//! Message arrays as the interfaces of OpenAI and Anthropic take them, SWE-agent's histories, and the stream of
//! Anthropic's agent SDK.
//!
//! Most messages have no id: theirs is made of what they say. Tool call ids may be used twice, so the second use
//! gets a number.

use serde_json::Value;

use crate::claude;
use crate::cursor::State;
use crate::json::{flag, items, string, texts};
use crate::out::{Out, Stamp};
use crate::tally::{set_first, short_hash};
use crate::text::typed;

/// The name under which an action is told that a model wrote as text.
const TEXT_ACTION: &str = "action";

/// Reads one message.
pub(crate) fn record(value: &Value, out: &mut Out<'_>) {
    header(value, out);
    let time = string(value, "timestamp");
    out.tally.time(time);
    let stamp = Stamp::new(time, "");
    let message = value.get("message").filter(|message| message.is_object()).unwrap_or(value);
    let role = match string(message, "role") {
        "" => string(value, "type"),
        role => role,
    };
    if value.get("parent_tool_use_id").is_some_and(Value::is_string) {
        return claude::sidechain(Some(message), out, stamp);
    }
    match role {
        "user" => user(value, message, out, stamp),
        "assistant" => assistant(value, message, out, stamp),
        "tool" | "function" => tool_result(message, out, stamp),
        _ => {}
    }
}

/// Reads what is known of the session: a member of the root, or a message of the stream.
pub(crate) fn header(value: &Value, out: &mut Out<'_>) {
    out.tally.session(string(value, "session_id"));
    out.cwd(string(value, "cwd"));
    set_first(&mut out.tally.meta.model, string(value, "model"));
    set_first(&mut out.tally.meta.version, string(value, "claude_code_version"));
}

fn user(value: &Value, message: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    out.flush();
    let content = message.get("content").unwrap_or(&Value::Null);
    let mut has_result = false;
    for block in content.as_array().map_or(&[][..], Vec::as_slice) {
        if string(block, "type") == "tool_result" {
            has_result = true;
            let output = block.get("content").map(texts).unwrap_or_default();
            result(string(block, "tool_use_id"), &output, flag(block, "is_error"), out, stamp);
        }
    }
    if has_result || flag(value, "is_demo") || flag(value, "isSynthetic") {
        return;
    }
    let text = texts(content);
    if let Some(id) = out.state.awaits_observation.take() {
        return out.result(&id, &id, &text, false, stamp);
    }
    let Some(text) = typed(&text) else { return };
    let id = out.made_id(&["user", &text]);
    out.tally.prompt(&text);
    out.prompt(&id, &text, stamp);
}

fn assistant(value: &Value, message: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    if flag(value, "is_demo") {
        return;
    }
    let id = match string(message, "id") {
        "" => out.made_id(&["assistant", &message.to_string()]),
        id => id.to_owned(),
    };
    out.tally.turns.insert(&id);
    set_first(&mut out.tally.meta.model, string(message, "model"));
    if let Some(usage) = message.get("usage") {
        out.tally.usage(&id, claude::usage(usage));
    }
    out.flush_unless(&id);
    claude::blocks(message, &id, out, stamp);
    for call in items(message, "tool_calls") {
        tool_call(string(call, "id"), call.get("function").unwrap_or(&Value::Null), out);
    }
    if let Some(function) = message.get("function_call").filter(|call| call.is_object()) {
        tool_call(string(function, "name"), function, out);
    }
    let action = string(message, "action");
    if !action.is_empty() && items(message, "tool_calls").is_empty() {
        let id = out.made_id(&["action", action]);
        out.call(&id, TEXT_ACTION, &Value::from(action), Vec::new());
        out.state.awaits_observation = Some(id);
    }
}

fn tool_call(id: &str, function: &Value, out: &mut Out<'_>) {
    if id.is_empty() {
        return;
    }
    out.tally.tools.insert(id);
    out.call(id, string(function, "name"), function.get("arguments").unwrap_or(&Value::Null), Vec::new());
}

/// A message in the role of a tool; the call is named by its id, by a list of one, or by the function's name.
fn tool_result(message: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    out.flush();
    let in_list = items(message, "tool_call_ids").first().and_then(Value::as_str).unwrap_or("");
    let names = [string(message, "tool_call_id"), in_list, string(message, "name")];
    let id = names.into_iter().find(|id| !id.is_empty()).unwrap_or("");
    let output = message.get("content").map(texts).unwrap_or_default();
    result(id, &output, false, out, stamp);
}

fn result(id: &str, output: &str, failed: bool, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let event_id = event_id(id, &mut out.state);
    out.result(id, &event_id, output, failed, stamp);
}

/// The id of the event that tells a call: the call's own, with a number where it was used before.
pub(crate) fn event_id(call: &str, state: &mut State) -> String {
    match state.occurrence(short_hash(&["call", call])) {
        0 => call.to_owned(),
        again => format!("{call}#{}", again + 1),
    }
}
