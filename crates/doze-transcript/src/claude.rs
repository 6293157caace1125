//! Claude Code's session files, 1.0 to 2.1.
//!
//! A file is a tree of records told in the order of writing. Of helpers (side chains) only the files they changed
//! and the commits they made are told: those are the project's, what was said is not the main thread's. One message of the model is spread over several lines; a call and its result are lines apart.

use doze_core::model::Origin;
use serde_json::Value;

use crate::claude_user;
use crate::cursor::Queued;
use crate::json::{flag, items, number, string, texts};
use crate::out::{Out, Stamp};
use crate::tally::{Usage, set_first, short_hash};
use crate::text::typed;

/// Tools that change a file, and the member of their input that names it.
const EDIT_TOOLS: [(&str, &str); 4] = [
    ("Write", "file_path"),
    ("Edit", "file_path"),
    ("MultiEdit", "file_path"),
    ("NotebookEdit", "notebook_path"),
];

/// Reads one record.
pub(crate) fn record(value: &Value, out: &mut Out<'_>) {
    envelope(value, out);
    let uuid = string(value, "uuid");
    if !uuid.is_empty() && !out.tally.records.insert(uuid) {
        return;
    }
    let kind = string(value, "type");
    let stamp = Stamp::new(string(value, "timestamp"), string(value, "cwd"));
    if kind == "progress" {
        return progress(value, out);
    }
    if matches!(kind, "user" | "assistant") {
        out.tally.thread(flag(value, "isSidechain"));
    }
    if flag(value, "isSidechain") {
        return sidechain(value.get("message"), out, stamp);
    }
    match kind {
        "user" => {
            out.flush();
            claude_user::record(value, out, stamp);
        }
        "assistant" => assistant(value, out, stamp),
        "system" => {
            out.flush();
            system(value, out, stamp);
        }
        "attachment" => attachment(value, out, stamp),
        "queue-operation" => queue(value, out, stamp),
        _ => {}
    }
}

/// The members that every kind of record may carry.
fn envelope(value: &Value, out: &mut Out<'_>) {
    let tally = &mut out.tally;
    tally.session(string(value, "sessionId"));
    tally.branch(string(value, "gitBranch"));
    // Records without an id, such as the queue's, may be older than the session they stand in.
    if value.get("uuid").is_some() {
        tally.time(string(value, "timestamp"));
    }
    set_first(&mut tally.meta.version, string(value, "version"));
    set_first(&mut tally.meta.entrypoint, string(value, "entrypoint"));
    out.cwd(string(value, "cwd"));
}

/// Reads a helper's message: its tools and tokens are counted, its files and commits told.
pub(crate) fn sidechain(message: Option<&Value>, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let Some(message) = message else { return };
    out.flush();
    if let (id, Some(spent)) = (string(message, "id"), message.get("usage"))
        && !id.is_empty()
    {
        out.tally.usage(id, usage(spent));
    }
    for block in items(message, "content") {
        let (id, result_of) = (string(block, "id"), string(block, "tool_use_id"));
        match string(block, "type") {
            "tool_use" | "server_tool_use" if !id.is_empty() => {
                out.tally.sidechain_tools.insert(id);
                let name = string(block, "name");
                out.quiet_call(id, name, edited(name, block.get("input").unwrap_or(&Value::Null)));
            }
            "tool_result" => {
                let output = block.get("content").map(texts).unwrap_or_default();
                out.quiet_result(result_of, &output, flag(block, "is_error"), stamp);
            }
            _ => {}
        }
    }
}

/// From 2.1.12 to 2.1.72 a helper's messages stand in the parent's progress records, in excerpts: its tools are
/// counted, the rest is in the helper's own file.
fn progress(value: &Value, out: &mut Out<'_>) {
    let Some(data) = value.get("data").filter(|data| string(data, "type") == "agent_progress") else {
        return;
    };
    let Some(message) = data.get("message").and_then(|line| line.get("message")) else { return };
    for block in items(message, "content").iter().filter(|block| string(block, "type") == "tool_use") {
        out.tally.sidechain_tools.insert(string(block, "id"));
    }
}

fn assistant(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let Some(message) = value.get("message") else { return };
    let model = string(message, "model");
    if model == "<synthetic>" || flag(value, "isApiErrorMessage") {
        return;
    }
    let own = [string(message, "id"), string(value, "uuid")].into_iter().find(|id| !id.is_empty());
    let id = &match own {
        Some(id) => id.to_owned(),
        None => out.timed_id(string(value, "timestamp"), &["assistant", &message.to_string()]),
    };
    out.tally.turns.insert(id);
    set_first(&mut out.tally.meta.model, model);
    if let Some(usage) = message.get("usage") {
        out.tally.usage(id, self::usage(usage));
    }
    out.flush_unless(id);
    blocks(message, id, out, stamp);
    if matches!(string(message, "stop_reason"), "end_turn" | "stop_sequence" | "max_tokens" | "refusal") {
        out.flush();
    }
}

/// Reads the blocks of an answer: what was said, and which tools were called.
pub(crate) fn blocks(message: &Value, id: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    if let Some(text) = message.get("content").and_then(Value::as_str) {
        out.piece(id, text, stamp);
    }
    for block in items(message, "content") {
        match string(block, "type") {
            "text" => out.piece(id, string(block, "text"), stamp),
            "tool_use" | "server_tool_use" => call(block, out),
            kind if kind.ends_with("_tool_result") => {
                let id = string(block, "tool_use_id");
                out.result(id, id, &titles(block), false, stamp);
            }
            _ => {}
        }
    }
}

/// What a search of the model's own found, a line a hit.
fn titles(block: &Value) -> String {
    let hits = items(block, "content").iter();
    hits.map(|hit| format!("{} {}\n", string(hit, "title"), string(hit, "url"))).collect()
}

fn call(block: &Value, out: &mut Out<'_>) {
    let (id, name) = (string(block, "id"), string(block, "name"));
    if id.is_empty() {
        return;
    }
    out.tally.tools.insert(id);
    let input = block.get("input").unwrap_or(&Value::Null);
    let paths = edited(name, input);
    // A plan is the input of the tool that asks for its approval; it is told as text.
    match string(input, "plan") {
        plan if name == "ExitPlanMode" && !plan.is_empty() => out.call(id, name, &Value::from(plan), paths),
        _ => out.call(id, name, input, paths),
    }
}

/// The file that a call of an edit tool changes.
fn edited(name: &str, input: &Value) -> Vec<String> {
    let tool = EDIT_TOOLS.iter().find(|(tool, _)| *tool == name);
    tool.map(|(_, member)| string(input, member))
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .into_iter()
        .collect()
}

/// Token counts as Anthropic's interface tells them.
pub(crate) fn usage(usage: &Value) -> Usage {
    Usage {
        input: number(usage, "input_tokens"),
        output: number(usage, "output_tokens"),
        cache_write: number(usage, "cache_creation_input_tokens"),
        cache_read: number(usage, "cache_read_input_tokens"),
    }
}

fn system(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let (uuid, content) = (string(value, "uuid"), string(value, "content"));
    match string(value, "subtype") {
        "compact_boundary" => {
            out.tally.counts.compactions += 1;
            out.notice(uuid, Origin::Injected, "The conversation was compacted.", stamp);
        }
        "away_summary" if !content.is_empty() => out.notice(uuid, Origin::Agent, content, stamp),
        _ => {}
    }
}

/// A prompt that was typed while the agent worked, as newer versions log it.
fn attachment(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let Some(attachment) = value.get("attachment").filter(|it| string(it, "type") == "queued_command") else {
        return;
    };
    if claude_user::is_from_other(attachment)
        || flag(attachment, "isMeta")
        || string(attachment, "commandMode") == "task-notification"
    {
        return;
    }
    let Some(text) = attachment.get("prompt").and_then(|prompt| typed(&texts(prompt))) else { return };
    out.tally.counts.queued_prompts += 1;
    if out.state.unqueue(short_hash(&[&text])) {
        out.flush();
        out.prompt(string(value, "uuid"), &text, stamp);
    }
}

/// The queue of prompts typed while the agent works. One that is dequeued follows as a line of its own; one that is
/// removed was handed to the model in the middle of its work, and is told nowhere else by versions before 2.1.104.
fn queue(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    match string(value, "operation") {
        "enqueue" => {
            let text = value.get("content").map(texts).unwrap_or_default();
            let id = format!("queued:{:016x}", short_hash(&[string(value, "timestamp"), &text]));
            let hash = short_hash(&[typed(&text).as_deref().unwrap_or_default()]);
            let text = out.cut(&text, out.limits.text);
            out.state.push_queued(Queued { id, text, hash });
        }
        "dequeue" if !out.state.queue.is_empty() => {
            out.state.queue.remove(0);
        }
        "remove" if !out.state.queue.is_empty() => {
            let queued = out.state.queue.remove(0);
            let Some(text) = typed(&queued.text) else { return };
            if out.state.unqueue(queued.hash) {
                out.flush();
                out.prompt(&queued.id, &text, stamp);
            }
        }
        "popAll" => out.state.queue.clear(),
        _ => {}
    }
}
