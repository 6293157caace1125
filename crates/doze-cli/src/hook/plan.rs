//! From an agent's event to the one call it causes. Pure: the commit's id is handed in.

use std::borrow::Cow;

use doze_core::redact::redact;
use serde_json::{Map, Value, json};

use super::Harness;
use super::payload::{Payload, ToolInput};

/// Longest note on what an agent is doing, in characters (S0 caps it there).
const MAX_ACTIVITY_CHARS: usize = 160;

/// Most files that one tool call is noted to have changed.
const MAX_TOUCHED: usize = 50;

/// Longest file name noted, in characters, as `work.set` takes it; a longer one is left out of the note.
const MAX_TOUCHED_CHARS: usize = 512;

/// Longest last words that a commit carries, in bytes; the session's file holds all of them.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// What an event means to doze, whatever the agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A session starts or goes on: the place to give it its brief.
    Start,
    /// A person sent a prompt.
    Prompt,
    /// A tool call ended.
    Tool {
        /// Whether it ended in an error.
        failed: bool,
    },
    /// The agent ended a turn, or is about to forget its context.
    TurnEnd,
    /// An agent started by the agent ended.
    SubagentEnd,
    /// The session is over.
    SessionEnd,
}

/// The one call that an event causes.
#[derive(Debug, PartialEq)]
pub(crate) enum Call {
    /// `recall.brief`: its text is injected.
    Brief(Value),
    /// `recall.prompt`: its text is injected.
    Recall(Value),
    /// `work.set` as a notification: nobody waits for it.
    Note(Value),
    /// `session.commit`: spooled when it cannot be handed over.
    Commit(Value),
}

/// The call for an event, or nothing when the payload lacks what it needs. `fallback_cwd` stands for a `cwd` that
/// is missing or no whole path.
pub(crate) fn plan(
    harness: Harness,
    moment: Moment,
    payload: &Payload,
    fallback_cwd: &dyn Fn() -> Option<String>,
    mint: &dyn Fn() -> String,
) -> Option<Call> {
    let cwd = payload.cwd.get().filter(|cwd| cwd.starts_with('/'));
    let cwd = cwd.map(str::to_owned).or_else(fallback_cwd)?;
    let agent = agent(harness, payload.agent_type.get());
    match moment {
        Moment::Start => {
            let mut params = params(&agent, &cwd, payload.session_id.get());
            params.insert("source".into(), payload.source.get().unwrap_or("startup").into());
            params.insert("inject".into(), true.into());
            add_mode(&mut params, payload);
            Some(Call::Brief(params.into()))
        }
        Moment::Prompt => {
            let prompt =
                payload.prompt.get().filter(|prompt| is_from_a_person(payload.source.get(), prompt))?;
            let mut params = params(&agent, &cwd, payload.session_id.get());
            params.insert("prompt".into(), prompt.into());
            add_mode(&mut params, payload);
            Some(Call::Recall(params.into()))
        }
        Moment::Tool { failed } => {
            let tool = payload.tool_name.get()?;
            let session = payload.agent_id.get().or(payload.session_id.get())?;
            let mut params = params(&agent, &cwd, Some(session));
            params.insert("status".into(), "running".into());
            params.insert("last_activity".into(), activity(tool, &payload.tool_input, failed).into());
            let touched = if failed { Vec::new() } else { touched(tool, &payload.tool_input) };
            params.insert("touch".into(), touched.into());
            add_mode(&mut params, payload);
            Some(Call::Note(params.into()))
        }
        Moment::TurnEnd => commit(payload, &agent, &cwd, "turn", mint),
        Moment::SessionEnd => commit(payload, &agent, &cwd, "session", mint),
        Moment::SubagentEnd => {
            // Releases that do not name the subagent's session give only the parent's, which has its own commits.
            let mut params = params(&agent, &cwd, Some(payload.agent_id.get()?));
            params.insert("kind".into(), "subagent".into());
            add_commit(&mut params, "session", mint);
            add_said(&mut params, payload.agent_transcript_path.get(), payload.last_assistant_message.get());
            Some(Call::Commit(params.into()))
        }
    }
}

fn commit(payload: &Payload, agent: &Value, cwd: &str, end: &str, mint: &dyn Fn() -> String) -> Option<Call> {
    let mut params = params(agent, cwd, Some(payload.session_id.get()?));
    add_commit(&mut params, end, mint);
    let output = payload.last_assistant_message.get().or(payload.prompt_response.get());
    add_said(&mut params, payload.transcript_path.get(), output);
    Some(Call::Commit(params.into()))
}

/// Who works: the harness, or the harness and the type of agent it runs.
pub(crate) fn agent(harness: Harness, agent_type: Option<&str>) -> Value {
    let harness = harness.name();
    match agent_type {
        Some(agent_type) => json!({"id": format!("{harness}/{agent_type}"), "harness": harness}),
        None => json!({"id": harness, "harness": harness}),
    }
}

fn params(agent: &Value, cwd: &str, session: Option<&str>) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("agent".into(), agent.clone());
    params.insert("cwd".into(), cwd.into());
    if let Some(session) = session {
        params.insert("session".into(), session.into());
    }
    params
}

/// What the agent may do without asking: the tools it is offered follow it.
fn add_mode(params: &mut Map<String, Value>, payload: &Payload) {
    if let Some(mode) = payload.permission_mode.get() {
        params.insert("permission_mode".into(), mode.into());
    }
}

fn add_commit(params: &mut Map<String, Value>, end: &str, mint: &dyn Fn() -> String) {
    params.insert("commit_id".into(), mint().into());
    params.insert("end".into(), end.into());
}

fn add_said(params: &mut Map<String, Value>, transcript: Option<&str>, output: Option<&str>) {
    if let Some(path) = transcript {
        params.insert("transcript".into(), json!({"path": path}));
    }
    if let Some(output) = output {
        params.insert("output".into(), last_words(output).into());
    }
}

/// The end of what was said last, from the start of a line where there is one. Secrets go before the cut: the half of
/// one, or a key without the line that announces it, would be recognised by nobody after it.
fn last_words(output: &str) -> Cow<'_, str> {
    if output.len() <= MAX_OUTPUT_BYTES {
        return output.into();
    }
    let clean = redact(output).text;
    let cut = clean.ceil_char_boundary(clean.len().saturating_sub(MAX_OUTPUT_BYTES));
    let end = clean.get(cut..).unwrap_or_default();
    if end.len() == clean.len() {
        return clean;
    }
    let from_a_line = end.split_once('\n').map_or(end, |(_, rest)| rest);
    from_a_line.to_owned().into()
}

/// Whether a prompt was typed, and not sent by the harness itself.
fn is_from_a_person(source: Option<&str>, prompt: &str) -> bool {
    let sender_is_person = source.is_none_or(|source| matches!(source, "user" | "sdk"));
    sender_is_person && !prompt.trim_start().starts_with("<task-notification>")
}

/// A short note on a tool call: its name and what it was about, on one line.
fn activity(tool: &str, input: &ToolInput, failed: bool) -> String {
    let about =
        input.path.get().or(input.command.get().filter(|command| !is_patch(command))).unwrap_or_default();
    let separator = if about.is_empty() { "" } else { ": " };
    let failed = if failed { " (failed)" } else { "" };
    let room = MAX_ACTIVITY_CHARS.saturating_sub(failed.len());
    // Secrets go before the cut, as above; what is not cut the daemon reads whole. Making the rules ready costs some
    // milliseconds of every tool call.
    let fits = about.len() + tool.len() + separator.len() <= room;
    let about = if fits { about.into() } else { redact(about).text };
    let words = tool.chars().chain(separator.chars()).chain(about.chars());
    let line: String = words.map(|c| if c.is_control() { ' ' } else { c }).take(room).collect();
    line + failed
}

/// The files that a tool call changed, as far as its input tells.
fn touched(tool: &str, input: &ToolInput) -> Vec<String> {
    let files = match tool {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "write_file" | "replace" | "edit" => {
            input.path.get().into_iter().collect()
        }
        _ => input.command.get().filter(|command| is_patch(command)).map(patched).unwrap_or_default(),
    };
    let short = files.into_iter().filter(|path| path.chars().nth(MAX_TOUCHED_CHARS).is_none());
    short.take(MAX_TOUCHED).map(str::to_owned).collect()
}

fn is_patch(command: &str) -> bool {
    command.contains("*** Begin Patch")
}

/// The files named by the headings of a patch in Codex's form.
fn patched(patch: &str) -> Vec<&str> {
    const HEADINGS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    patch
        .lines()
        .filter_map(|line| HEADINGS.iter().find_map(|heading| line.strip_prefix(heading)))
        .map(str::trim)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(harness: Harness, moment: Moment, document: &str) -> Option<Call> {
        let payload = Payload::parse(document.as_bytes()).unwrap();
        plan(harness, moment, &payload, &|| Some("/fallback".to_owned()), &|| "c1".to_owned())
    }

    #[test]
    fn a_start_asks_for_the_brief() {
        let call = plan_of(
            Harness::ClaudeCode,
            Moment::Start,
            r#"{"session_id":"s","cwd":"/p","source":"compact","agent_type":"Explore"}"#,
        );
        assert_eq!(
            call,
            Some(Call::Brief(
                json!({"agent": {"id": "claude-code/Explore", "harness": "claude-code"}, "cwd": "/p",
                "session": "s", "source": "compact", "inject": true})
            ))
        );
    }

    #[test]
    fn the_mode_goes_with_what_is_asked_anyway() {
        let document =
            r#"{"session_id":"s","cwd":"/p","prompt":"why?","tool_name":"Bash","permission_mode":"plan"}"#;
        for moment in [Moment::Start, Moment::Prompt, Moment::Tool { failed: false }] {
            let call = plan_of(Harness::ClaudeCode, moment, document);
            let Some(Call::Brief(params) | Call::Recall(params) | Call::Note(params)) = call else {
                panic!()
            };
            assert_eq!(params["permission_mode"], "plan", "{moment:?}");
        }
    }

    #[test]
    fn a_missing_cwd_is_the_hooks_own() {
        for payload in ["{}", r#"{"cwd":""}"#, r#"{"cwd":"src"}"#] {
            let Some(Call::Brief(params)) = plan_of(Harness::Gemini, Moment::Start, payload) else {
                panic!()
            };
            assert_eq!(
                params,
                json!({"agent": {"id": "gemini", "harness": "gemini"}, "cwd": "/fallback", "source": "startup", "inject": true}),
                "{payload}"
            );
        }
        assert_eq!(plan(Harness::Gemini, Moment::Start, &Payload::default(), &|| None, &String::new), None);
    }

    #[test]
    fn only_a_persons_prompt_is_looked_up() {
        let of = |document: &str| plan_of(Harness::ClaudeCode, Moment::Prompt, document);
        assert_eq!(
            of(r#"{"session_id":"s","cwd":"/p","prompt":"why?","source":"user"}"#),
            Some(Call::Recall(
                json!({"agent": {"id": "claude-code", "harness": "claude-code"}, "cwd": "/p", "session": "s", "prompt": "why?"})
            ))
        );
        assert!(of(r#"{"prompt":"why?"}"#).is_some());
        for nothing in [
            r#"{"prompt":"why?","source":"system"}"#,
            r#"{"prompt":"why?","source":"loop_wakeup"}"#,
            r#"{"prompt":"<task-notification>\n…","source":"user"}"#,
            r#"{"source":"user"}"#,
        ] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_tool_call_is_noted_with_what_it_changed() {
        let note = |document: &str, failed| {
            let Some(Call::Note(params)) = plan_of(Harness::Codex, Moment::Tool { failed }, document) else {
                panic!()
            };
            (params["last_activity"].clone(), params["touch"].clone())
        };
        let cases = [
            (
                r#"{"session_id":"s","tool_name":"Edit","tool_input":{"file_path":"a.rs"}}"#,
                false,
                json!("Edit: a.rs"),
                json!(["a.rs"]),
            ),
            (
                r#"{"session_id":"s","tool_name":"Edit","tool_input":{"file_path":"a.rs"}}"#,
                true,
                json!("Edit: a.rs (failed)"),
                json!([]),
            ),
            (
                r#"{"session_id":"s","tool_name":"Read","tool_input":{"file_path":"a.rs"}}"#,
                false,
                json!("Read: a.rs"),
                json!([]),
            ),
            (
                r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"a\nb"}}"#,
                false,
                json!("Bash: a b"),
                json!([]),
            ),
            (
                r#"{"session_id":"s","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a b.rs\n@@\n-*** x\n*** Add File: c\n*** End Patch"}}"#,
                false,
                json!("apply_patch"),
                json!(["a b.rs", "c"]),
            ),
        ];
        for (document, failed, activity, touch) in cases {
            assert_eq!(note(document, failed), (activity, touch), "{document}");
        }
    }

    #[test]
    fn a_note_is_short_and_cut_at_a_character() {
        let input = ToolInput { command: "ü".repeat(500).as_str().into(), ..ToolInput::default() };
        assert_eq!(activity("Bash", &input, true).chars().count(), MAX_ACTIVITY_CHARS);
    }

    #[test]
    fn a_note_stays_within_what_the_daemon_takes() {
        let patch = |name: &str, count: usize| {
            let heads: String = (0..count).map(|at| format!("*** Add File: {name}{at}\n")).collect();
            let command = format!("*** Begin Patch\n{heads}*** End Patch");
            touched("apply_patch", &ToolInput { command: command.as_str().into(), ..ToolInput::default() })
        };
        assert_eq!(patch("a", 300).len(), MAX_TOUCHED);
        assert_eq!(patch(&"ü".repeat(600), 3), Vec::<String>::new());
        let edit = |path: &str| touched("Edit", &ToolInput { path: path.into(), ..ToolInput::default() });
        assert_eq!(edit(&"ü".repeat(512)).len(), 1);
        assert_eq!(edit(&"ü".repeat(513)).len(), 0);
    }

    #[test]
    fn of_long_last_words_the_end_is_kept_and_no_half_of_a_secret() {
        assert!(matches!(last_words("short"), Cow::Borrowed("short")));
        let long = format!("first\n{}\nlast ü", "füllen\n".repeat(MAX_OUTPUT_BYTES / 8));
        let kept = last_words(&long);
        assert!(kept.len() <= MAX_OUTPUT_BYTES && kept.starts_with("füllen\n") && kept.ends_with("last ü"));
        let one_line = "ü".repeat(MAX_OUTPUT_BYTES);
        assert_eq!(last_words(&one_line).len(), MAX_OUTPUT_BYTES);

        let key = ["AKIA", "QWERTYUIOPASDFGH"].concat();
        let block = ["-----BEGIN RSA PRIVATE", " KEY-----\n"].concat()
            + &"MIIEpAIBAAKCAQEAsecretsecretsecretsecretsecretsecretsecretsecret\n".repeat(20)
            + &["-----END RSA PRIVATE", " KEY-----"].concat();
        for (secret, half) in [(key.as_str(), "IOPASDFGH"), (block.as_str(), "secretsecret")] {
            // The cut falls into the secret, wherever in it.
            for cut in 1..secret.len().min(64) {
                let tail = "x ".repeat(MAX_OUTPUT_BYTES / 2 - (secret.len() - cut) / 2);
                let said = format!("{} {secret} {tail}", "word ".repeat(100));
                assert!(!last_words(&said).contains(half), "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_subagents_tools_and_end_belong_to_its_own_session() {
        let document = r#"{"session_id":"s","cwd":"/p","agent_id":"a1","agent_type":"Explore","tool_name":"Bash",
            "transcript_path":"/t","agent_transcript_path":"/a","last_assistant_message":"found"}"#;
        let Some(Call::Note(note)) = plan_of(Harness::ClaudeCode, Moment::Tool { failed: false }, document)
        else {
            panic!()
        };
        assert_eq!(note["session"], "a1");
        assert_eq!(
            plan_of(Harness::ClaudeCode, Moment::SubagentEnd, document),
            Some(Call::Commit(
                json!({"agent": {"id": "claude-code/Explore", "harness": "claude-code"}, "cwd": "/p",
                "session": "a1", "kind": "subagent", "commit_id": "c1", "end": "session",
                "transcript": {"path": "/a"}, "output": "found"})
            ))
        );
        assert_eq!(
            plan_of(Harness::ClaudeCode, Moment::SubagentEnd, r#"{"session_id":"s","cwd":"/p"}"#),
            None
        );
    }

    #[test]
    fn a_commit_needs_a_session_and_carries_what_there_is() {
        let of = |moment, document| plan_of(Harness::Gemini, moment, document);
        assert_eq!(
            of(Moment::SessionEnd, r#"{"session_id":"s","cwd":"/p","reason":"clear"}"#),
            Some(Call::Commit(
                json!({"agent": {"id": "gemini", "harness": "gemini"}, "cwd": "/p", "session": "s", "commit_id": "c1", "end": "session"})
            ))
        );
        let Some(Call::Commit(turn)) =
            of(Moment::TurnEnd, r#"{"session_id":"s","transcript_path":"/t","prompt_response":"done"}"#)
        else {
            panic!()
        };
        assert_eq!(
            (&turn["end"], &turn["output"], &turn["transcript"]),
            (&json!("turn"), &json!("done"), &json!({"path": "/t"}))
        );
        assert_eq!(of(Moment::TurnEnd, r#"{"cwd":"/p"}"#), None);
    }
}
