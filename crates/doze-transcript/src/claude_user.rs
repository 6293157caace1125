//! Lines in the role of the user in Claude Code's files: few of them are what a person typed.

use doze_core::model::Origin;
use serde_json::Value;

use crate::json::{flag, string, texts};
use crate::out::{Out, Stamp};
use crate::text::{between, is_bare_command, slash_command, typed};

/// How the harness words a call that the person refused.
const REFUSED: &str = "The user doesn't want to proceed with this tool use";

/// Where the person's words begin in a refusal.
const SAID: &str = "the user said:";

/// Commands that steer the harness and ask nothing of the agent.
const CONTROL: [&str; 22] = [
    "/clear",
    "/compact",
    "/exit",
    "/quit",
    "/login",
    "/logout",
    "/model",
    "/config",
    "/help",
    "/cost",
    "/status",
    "/mcp",
    "/memory",
    "/permissions",
    "/hooks",
    "/agents",
    "/doctor",
    "/context",
    "/usage",
    "/resume",
    "/rewind",
    "/effort",
];

/// Reads one line.
pub(crate) fn record(value: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let Some(content) = value.get("message").and_then(|message| message.get("content")) else { return };
    let mut has_result = false;
    for block in content.as_array().map_or(&[][..], Vec::as_slice) {
        if string(block, "type") == "tool_result" {
            has_result = true;
            result(value, block, out, stamp);
        }
    }
    let is_machine =
        ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].iter().any(|key| flag(value, key));
    if !has_result && !is_machine && !is_from_other(value) {
        prompt(string(value, "uuid"), &texts(content), out, stamp);
    }
}

/// Whether the record says that it comes from somebody else than a person.
pub(crate) fn is_from_other(value: &Value) -> bool {
    value.get("origin").is_some_and(|origin| origin.is_object() && string(origin, "kind") != "human")
}

fn prompt(id: &str, text: &str, out: &mut Out<'_>, stamp: Stamp<'_>) {
    if let Some((name, args)) = slash_command(text) {
        out.tally.counts.slash_commands += 1;
        if !args.is_empty() || !CONTROL.contains(&name.as_str()) {
            out.prompt(id, format!("{name} {args}").trim(), stamp);
        }
        return;
    }
    let Some(text) = typed(text) else { return };
    if is_bare_command(&text) {
        return;
    }
    out.tally.prompt(&text);
    out.prompt(id, &text, stamp);
}

/// Reads a tool's result, and what a person said by it.
fn result(value: &Value, block: &Value, out: &mut Out<'_>, stamp: Stamp<'_>) {
    let id = string(block, "tool_use_id");
    if id.is_empty() {
        return;
    }
    let output = block.get("content").map(texts).unwrap_or_default();
    let failed = flag(block, "is_error");
    let call = out.state.calls.iter().find(|call| call.id == id);
    let tool = call.map(|call| call.name.clone()).unwrap_or_default();
    let plan = call.filter(|call| call.name == "ExitPlanMode").map(|call| call.input.clone());
    out.result(id, id, &output, failed, stamp);
    if failed {
        if let Some(said) = words_of_refusal(&output).and_then(typed) {
            out.prompt(&format!("{id}:said"), &said, stamp);
        }
    } else if tool == "AskUserQuestion" {
        if let Some(answers) = answers(value.get("toolUseResult"), &output) {
            out.prompt(&format!("{id}:answer"), &answers, stamp);
        }
    } else if let Some(plan) = plan {
        out.notice(&format!("{id}:plan"), Origin::Person, &format!("Approved plan:\n{plan}"), stamp);
    }
}

/// What the person said when refusing a call.
fn words_of_refusal(output: &str) -> Option<&str> {
    let (_, said) = output.split_once(REFUSED)?.1.split_once(SAID)?;
    Some(said.trim()).filter(|said| !said.is_empty())
}

/// What the person chose, a line a question: `question: answer`.
fn answers(result: Option<&Value>, output: &str) -> Option<String> {
    let told = result.and_then(|result| result.get("answers")).and_then(Value::as_object);
    let lines: Vec<String> = match told {
        Some(answers) => {
            answers.iter().map(|(question, answer)| format!("{question}: {}", chosen(answer))).collect()
        }
        None => between(output, "have been answered: ", ". You can now")?
            .split("\", \"")
            .map(|pair| pair.trim_matches('"').replacen("\"=\"", ": ", 1))
            .collect(),
    };
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// An answer is a text, or a list of them.
fn chosen(answer: &Value) -> String {
    match answer {
        Value::Array(answers) => answers.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        Value::String(answer) => answer.clone(),
        _ => String::new(),
    }
}
