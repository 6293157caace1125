//! Gemini CLI's sessions: one document that is rewritten at every message, or since 0.40 a line a message.
//!
//! Ids are the harness's in both, so that three snapshots of one session give every event once. Nothing tells the
//! folder; its hash is in [`crate::SessionMeta::project_hash`].

use serde_json::Value;

use crate::json::{items, number, string, texts};
use crate::out::{Out, Stamp};
use crate::tally::{Usage, set_first};
use crate::text::typed;

/// Tools that change a file.
const EDIT_TOOLS: [&str; 2] = ["write_file", "replace"];

/// Reads one message, or one change of the session's data.
pub(crate) fn record(value: &Value, out: &mut Out<'_>) {
    if let Some(set) = value.get("$set") {
        header(set, out);
        items(set, "messages").iter().for_each(|message| self::message(message, out));
        return;
    }
    match string(value, "type") {
        "" => header(value, out),
        _ => message(value, out),
    }
}

/// Reads a record that a rewind took back: only what it tells of the session itself still holds.
pub(crate) fn taken_back(value: &Value, out: &mut Out<'_>) {
    match value.get("$set") {
        Some(set) => header(set, out),
        None if string(value, "type").is_empty() => header(value, out),
        None => {}
    }
}

/// Reads what is known of the session.
pub(crate) fn header(value: &Value, out: &mut Out<'_>) {
    let tally = &mut out.tally;
    tally.session(string(value, "sessionId"));
    tally.time(string(value, "startTime"));
    tally.time(string(value, "lastUpdated"));
    tally.meta.subagent |= string(value, "kind") == "subagent";
    set_first(&mut tally.meta.project_hash, string(value, "projectHash"));
}

fn message(value: &Value, out: &mut Out<'_>) {
    let time = string(value, "timestamp");
    out.tally.time(time);
    let stamp = Stamp::new(time, "");
    match string(value, "type") {
        "user" => prompt(value, time, out, stamp),
        "gemini" => answer(value, time, out, stamp),
        _ => {}
    }
}

fn prompt(value: &Value, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    out.flush();
    let shown = value.get("displayContent").filter(|content| !content.is_null());
    let Some(text) = shown.or(value.get("content")).and_then(|content| typed(&texts(content))) else {
        return;
    };
    let id = id(value, time, "prompt", &text, out);
    // A message is told again when the session is migrated to the newer format or set anew.
    if out.tally.records.insert(&id) {
        out.tally.prompt(&text);
    }
    out.prompt(&id, &text, stamp);
}

fn answer(value: &Value, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let text = value.get("content").map(texts).unwrap_or_default();
    let id = id(value, time, "answer", &text, out);
    out.tally.turns.insert(&id);
    set_first(&mut out.tally.meta.model, string(value, "model"));
    if let Some(tokens) = value.get("tokens") {
        let usage = Usage {
            input: number(tokens, "input"),
            output: number(tokens, "output").saturating_add(number(tokens, "thoughts")),
            cache_write: 0,
            cache_read: number(tokens, "cached"),
        };
        out.tally.usage(&id, usage);
    }
    out.flush_unless(&id);
    // The message is told again when its tools have finished; what it said was told before.
    if out.state.answered.0 != id {
        out.replace_piece(&id, &text, stamp);
    }
    for call in items(value, "toolCalls") {
        tool(call, out, stamp);
    }
}

/// The message's own id, or one made of what it says.
fn id(value: &Value, time: &str, kind: &str, text: &str, out: &mut Out<'_>) -> String {
    match string(value, "id") {
        "" => out.timed_id(time, &[kind, text]),
        id => id.to_owned(),
    }
}

/// Reads a tool call; one that still runs waits until its message is told again.
fn tool(call: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let (id, status) = (string(call, "id"), string(call, "status"));
    if id.is_empty() {
        return;
    }
    out.tally.tools.insert(id);
    let args = call.get("args").unwrap_or(&Value::Null);
    let name = string(call, "name");
    let waiting = out.state.take_call(id);
    if !matches!(status, "success" | "error" | "cancelled") {
        match waiting {
            Some(call) => out.state.push_call(call),
            None => out.call(id, name, args, Vec::new()),
        }
        return;
    }
    out.flush();
    let time = string(call, "timestamp");
    let stamp = if time.is_empty() { stamp } else { Stamp::new(time, "") };
    let input = out.cut(&args.to_string(), out.limits.input);
    out.tool(name.to_owned(), input, id, &output(call), status != "success", stamp);
    if status == "success" && EDIT_TOOLS.contains(&name) {
        out.file(id, string(args, "file_path"), stamp);
    }
}

/// What a tool answered.
fn output(call: &Value) -> String {
    let told: Vec<&str> = items(call, "result")
        .iter()
        .filter_map(|part| part.get("functionResponse")?.get("response"))
        .filter_map(|response| response.get("output").or(response.get("error"))?.as_str())
        .collect();
    if told.is_empty() { string(call, "resultDisplay").to_owned() } else { told.join("\n") }
}
