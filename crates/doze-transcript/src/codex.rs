//! Codex CLI's rollouts: records with a payload (0.3x to 0.147), and the bare items of before.
//!
//! Everything is said twice there: what the model saw (`response_item`) and what the interface showed (`event_msg`).
//! Prompts are taken from the interface, answers and tools from the model's side.

use doze_core::model::Origin;
use serde_json::Value;

use crate::commits::{MAX_FILES, patched_files};
use crate::json::{number, string, texts};
use crate::out::{Out, Stamp};
use crate::tally::{Usage, set_first};
use crate::text::{between, head, typed};

/// Reads one record.
pub(crate) fn record(value: &Value, out: &mut Out<'_>) {
    let time = string(value, "timestamp");
    out.tally.time(time);
    let stamp = Stamp::new(time, "");
    let Some(payload) = value.get("payload") else {
        return bare(value, out, stamp);
    };
    out.state.has_ui_log = true;
    match string(value, "type") {
        "session_meta" => session(payload, out),
        "turn_context" => {
            out.cwd(string(payload, "cwd"));
            set_first(&mut out.tally.meta.model, string(payload, "model"));
        }
        "response_item" => item(payload, time, out, stamp),
        "event_msg" => shown(payload, time, out, stamp),
        "compacted" => {
            out.tally.counts.compactions += 1;
            let id = out.timed_id(time, &["compacted"]);
            out.notice(&id, Origin::Injected, "The conversation was compacted.", stamp);
        }
        _ => {}
    }
}

/// Reads a member of the oldest form, one document of a session and its items.
pub(crate) fn member(value: &Value, out: &mut Out<'_>) {
    if let Some(header) = value.get("session") {
        session(header, out);
    }
}

/// Who and where; said again at every resume: the first one names the session, the last one its branch.
fn session(meta: &Value, out: &mut Out<'_>) {
    out.tally.session(string(meta, "id"));
    out.cwd(string(meta, "cwd"));
    out.tally.meta.subagent |= meta.get("source").is_some_and(Value::is_object);
    set_first(&mut out.tally.meta.version, string(meta, "cli_version"));
    set_first(&mut out.tally.meta.entrypoint, string(meta, "originator"));
    let branch = meta.get("git").map(|git| string(git, "branch")).unwrap_or_default();
    if !branch.is_empty() {
        out.tally.branch(branch);
        out.tally.meta.git_branch = crate::text::name(branch, 256).into_owned();
    }
}

/// A record of the old form: the header, or an item without an envelope.
fn bare(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    match string(value, "type") {
        "" if value.get("record_type").is_none() => session(value, out),
        "" => {}
        _ => item(value, string(value, "timestamp"), out, stamp),
    }
}

/// What the model saw.
fn item(item: &Value, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    match string(item, "type") {
        "message" => message(item, time, out, stamp),
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => call(item, out),
        "function_call_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "tool_search_output" => {
            result(item, out, stamp);
        }
        "web_search_call" => {
            let id = match string(item, "id") {
                "" => out.timed_id(time, &["web_search", &item.to_string()]),
                id => id.to_owned(),
            };
            out.tally.tools.insert(&id);
            let action = item.get("action").map(Value::to_string).unwrap_or_default();
            let input = out.cut(&action, out.limits.input);
            out.tool("web_search".to_owned(), input, &id, "", string(item, "status") == "failed", stamp);
        }
        _ => {}
    }
}

fn message(item: &Value, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let content = item.get("content").unwrap_or(&Value::Null);
    match string(item, "role") {
        "assistant" => {
            let text = without_directives(&texts(content));
            let id = match string(item, "id") {
                "" => out.timed_id(time, &["answer", &text]),
                id => id.to_owned(),
            };
            out.tally.turns.insert(&id);
            out.answer(&id, &text, stamp);
        }
        "user" if !out.state.has_ui_log => {
            for part in content.as_array().map_or(&[][..], Vec::as_slice) {
                let text = string(part, "text");
                out.cwd(
                    between(text, "<cwd>", "</cwd>")
                        .filter(|_| text.starts_with("<environment"))
                        .unwrap_or(""),
                );
                prompt(text, "", time, out, stamp);
            }
        }
        _ => {}
    }
}

/// An answer ends with lines such as `::git-commit{...}` that the desktop program acts on.
fn without_directives(text: &str) -> String {
    let is_directive = |line: &&str| line.starts_with("::") && line.contains('{');
    if !text.contains("::") {
        return text.to_owned();
    }
    text.lines().filter(|line| !is_directive(line)).collect::<Vec<_>>().join("\n")
}

fn prompt(text: &str, id: &str, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let Some(text) = typed(text) else { return };
    let id = match id {
        "" => out.timed_id(time, &["prompt", &text]),
        id => id.to_owned(),
    };
    out.tally.prompt(&text);
    out.prompt(&id, &text, stamp);
}

fn call(item: &Value, out: &mut Out<'_>) {
    let id = call_id(item);
    if id.is_empty() {
        return;
    }
    out.tally.tools.insert(id);
    let name = match string(item, "name") {
        "" => string(item, "type").trim_end_matches("_call"),
        name => name,
    };
    let input = ["arguments", "input", "action"].iter().find_map(|key| item.get(key)).unwrap_or(&Value::Null);
    let patch = input.as_str().filter(|text| text.contains("*** Begin Patch")).unwrap_or("");
    let paths = patched_files(patch).into_iter().map(str::to_owned).collect();
    out.call(id, name, input, paths);
}

fn result(item: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let id = call_id(item);
    let told = item.get("output").map(texts).unwrap_or_default();
    let (output, code) = match unwrapped(&told) {
        Some((output, code)) => (output, code),
        None => {
            let code = exit_code(&told);
            (told, code)
        }
    };
    let failed = code.is_some_and(|code| code != 0) || is_refused(&output);
    if out.state.has_patch_log
        && let Some(call) = out.state.calls.iter_mut().find(|call| call.id == id)
    {
        call.paths.clear();
    }
    out.result(id, id, &output, failed, stamp);
}

fn call_id(item: &Value) -> &str {
    match string(item, "call_id") {
        "" => string(item, "id"),
        id => id,
    }
}

/// Old versions give a JSON text with the output and the exit code.
fn unwrapped(output: &str) -> Option<(String, Option<i64>)> {
    let value: Value = serde_json::from_str(output.starts_with("{\"output\"").then_some(output)?).ok()?;
    let code = value.get("metadata").and_then(|metadata| metadata.get("exit_code")).and_then(Value::as_i64);
    Some((string(&value, "output").to_owned(), code))
}

/// The exit code in the lines that newer versions put before the output.
fn exit_code(output: &str) -> Option<i64> {
    let preamble = head(output, 400).split("\nOutput:").next()?;
    let marks = ["Process exited with code ", "Exit code: "];
    let code = marks.iter().find_map(|mark| Some(preamble.split_once(mark)?.1))?;
    code.split_whitespace().next()?.parse().ok()
}

/// How the harness words a call that did not run.
fn is_refused(output: &str) -> bool {
    let start = head(output, 200);
    let marks =
        ["rejected by user", "aborted by user", "Script failed", "verification failed", "execution error:"];
    marks.iter().any(|mark| start.contains(mark))
}

/// What the interface showed.
fn shown(event: &Value, time: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    match string(event, "type") {
        "user_message" => prompt(string(event, "message"), string(event, "client_id"), time, out, stamp),
        "token_count" => {
            if let Some(total) = event.get("info").and_then(|info| info.get("total_token_usage")) {
                out.tally.total_usage(Usage {
                    input: number(total, "input_tokens"),
                    output: number(total, "output_tokens"),
                    cache_write: 0,
                    cache_read: number(total, "cached_input_tokens"),
                });
            }
        }
        "patch_apply_end" => patched(event, out, stamp),
        "item_completed" => {
            if let Some(plan) = event.get("item").filter(|item| string(item, "type") == "Plan") {
                let text = string(plan, "text");
                let id = out.timed_id(time, &["plan", text]);
                out.notice(&id, Origin::Agent, text, stamp);
            }
        }
        _ => {}
    }
}

/// A patch that was applied, or was not.
fn patched(event: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    out.state.has_patch_log = true;
    let changes = event.get("changes").and_then(Value::as_object);
    if event.get("success").and_then(Value::as_bool) == Some(false) {
        return;
    }
    for (path, change) in changes.into_iter().flatten().take(MAX_FILES) {
        let id = string(event, "call_id");
        out.file(id, path, stamp);
        let moved = string(change, "move_path");
        if !moved.is_empty() {
            out.file(id, moved, stamp);
        }
    }
}
