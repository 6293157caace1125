//! Our hooks in a settings file: adding them, knowing them again, taking them out. Pure: text in, text out.
//!
//! All three agents nest alike: `{"hooks": {"Event": [{"matcher", "hooks": [{"type", "command", "timeout"}]}]}}`.

use serde_json::{Value, json};

use super::agent::{Agent, Registration};
use super::edit;
use super::jsonc::{self, Node};

/// Why a settings file is left as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HooksError {
    #[error("it is not valid JSON")]
    Syntax(#[from] jsonc::SyntaxError),
    #[error("{0}")]
    Shape(&'static str),
}

/// A word that every shell reads as `text`, whatever is in it.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command of a hook. Its text stays the same as long as the program stays where it is: Codex trusts a hook by a
/// hash of it.
fn command(agent: &Agent, event: &str, program: &str) -> String {
    format!("{} hook {} {event}", shell_word(program), agent.harness.name())
}

/// The program of a command that runs our hook of that agent, still quoted; nothing for other tools' commands.
fn own_program<'a>(agent: &Agent, command: &'a str) -> Option<&'a str> {
    let (program, event) = command.trim().rsplit_once(&format!(" hook {}", agent.harness.name()))?;
    let is_event = event.is_empty() || (event.starts_with(' ') && !event.trim().contains(' '));
    let name = program.trim_end_matches(['\'', '"']).rsplit(['/', ' ', '\'', '"']).next()?;
    (is_event && (name == "doze" || name.starts_with("doze-"))).then_some(program)
}

/// The path of the program that runs our hooks in a file, when it stands there as setup writes it.
pub(crate) fn own_program_path(agent: &Agent, text: &str) -> Option<String> {
    let root = jsonc::parse(text).ok()?;
    let own = own_handlers(agent, &root).next()?;
    own_program(agent, own.command.text()?).filter(|program| is_bare(program)).map(unquoted)
}

/// What a shell reads for a word that [`shell_word`] wrote.
fn unquoted(word: &str) -> String {
    let inside = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inside.map_or_else(|| word.to_owned(), |inside| inside.replace(r"'\''", "'"))
}

/// Whether a program is one word as [`shell_word`] writes it, so that it may be replaced by another.
fn is_bare(program: &str) -> bool {
    shell_word(&unquoted(program)) == program
}

/// One handler of ours in a file.
struct Own<'a> {
    event: &'a str,
    group: usize,
    handler: usize,
    command: &'a Node,
}

/// Finds our handlers. What has another shape than a hook is other tools' business and passed over.
fn own_handlers<'a>(agent: &'a Agent, root: &'a Node) -> impl Iterator<Item = Own<'a>> {
    let events = root.get("hooks").map(Node::members).unwrap_or_default();
    events.iter().flat_map(move |member| {
        member.value.items().iter().enumerate().flat_map(move |(group, node)| {
            let handlers = node.get("hooks").map(Node::items).unwrap_or_default();
            handlers.iter().enumerate().filter_map(move |(handler, node)| {
                let command = node.get("command")?;
                own_program(agent, command.text()?)?;
                Some(Own { event: &member.key, group, handler, command })
            })
        })
    })
}

/// Whether the file holds any hook of ours.
pub(crate) fn has_own(agent: &Agent, text: &str) -> bool {
    jsonc::parse(text).is_ok_and(|root| own_handlers(agent, &root).next().is_some())
}

/// The events of our hooks in a file, each once, as they stand there.
pub(crate) fn own_events(agent: &Agent, text: &str) -> Vec<String> {
    let Ok(root) = jsonc::parse(text) else { return Vec::new() };
    let mut events: Vec<String> = own_handlers(agent, &root).map(|own| own.event.to_owned()).collect();
    events.dedup();
    events
}

/// The file with all our hooks in it, each once, run by `program`. An empty file counts as an empty object.
pub(crate) fn add(agent: &Agent, text: &str, program: &str) -> Result<String, HooksError> {
    let mut text = if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() {
        format!("{text}{{}}\n")
    } else {
        text.to_owned()
    };
    for registration in agent.hooks {
        text = add_one(agent, registration, text, program)?;
    }
    Ok(text)
}

fn add_one(agent: &Agent, hook: &Registration, text: String, program: &str) -> Result<String, HooksError> {
    let root = jsonc::parse(&text)?;
    if !root.is_object() {
        return Err(HooksError::Shape("it is not a JSON object"));
    }
    let command = command(agent, hook.event, program);
    if let Some(own) = own_handlers(agent, &root).find(|own| own.event == hook.event) {
        let present = own.command.text().unwrap_or_default();
        let is_ours_alone = own_program(agent, present).is_some_and(is_bare);
        return Ok(if present == command || !is_ours_alone {
            text
        } else {
            edit::replace_string(&text, own.command, &command)
        });
    }
    let mut group = json!({"hooks": [{"type": "command", "command": command, "timeout": hook.timeout}]});
    if let (Some(matcher), Value::Object(fields)) = (hook.matcher, &mut group) {
        fields.insert("matcher".into(), matcher.into());
    }
    let Some(hooks) = root.get("hooks") else {
        return Ok(edit::insert_member(&text, &root, "hooks", &json!({hook.event: [group]})));
    };
    if !hooks.is_object() {
        return Err(HooksError::Shape("its \"hooks\" is not an object"));
    }
    match hooks.get(hook.event) {
        None => Ok(edit::insert_member(&text, hooks, hook.event, &json!([group]))),
        Some(event) if event.is_array() => Ok(edit::insert_item(&text, event, &group)),
        Some(_) => Err(HooksError::Shape("an event in its \"hooks\" is not a list")),
    }
}

/// The file without our hooks, and without the groups and events that held nothing else.
pub(crate) fn remove(agent: &Agent, text: &str) -> Result<String, HooksError> {
    let mut text = text.to_owned();
    loop {
        let root = jsonc::parse(&text)?;
        let Some(own) = own_handlers(agent, &root).next() else { return Ok(text) };
        text = remove_one(&text, &root, &own);
    }
}

fn remove_one(text: &str, root: &Node, own: &Own<'_>) -> String {
    let position = |node: &Node, key: &str| node.members().iter().rposition(|member| member.key == key);
    // From the file down to the handler: each container and which of its elements leads on. What holds nothing but
    // our handler goes as a whole.
    let mut way = Vec::new();
    let mut node = root;
    for step in [Err("hooks"), Err(own.event), Ok(own.group), Err("hooks"), Ok(own.handler)] {
        let index = match step {
            Ok(index) => Some(index),
            Err(key) => position(node, key),
        };
        let Some(index) = index else { return text.to_owned() };
        way.push((node, index));
        let next = match step {
            Ok(index) => node.items().get(index),
            Err(_) => node.members().get(index).map(|member| &member.value),
        };
        let Some(next) = next else { return text.to_owned() };
        node = next;
    }
    // The handler list and the groups above it are dropped while they hold a single element; a group's matcher does
    // not keep it.
    let mut cut = way.pop();
    while let Some((container, index)) = cut {
        let is_group = way.len() == 3;
        let holds_others = container.items().len() + container.members().len() > 1 && !is_group;
        if holds_others || way.is_empty() {
            return edit::remove(text, container, index);
        }
        cut = way.pop();
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::agent::AGENTS;

    const DOZE: &str = "/usr/local/bin/doze";

    fn agent(name: &str) -> &'static Agent {
        Agent::from_name(name).unwrap()
    }

    fn commands(text: &str) -> Vec<String> {
        let root: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
        let mut commands = Vec::new();
        for groups in root["hooks"].as_object().unwrap().values() {
            for group in groups.as_array().unwrap() {
                for handler in group["hooks"].as_array().unwrap() {
                    commands.push(handler["command"].as_str().unwrap().to_owned());
                }
            }
        }
        commands
    }

    #[test]
    fn an_empty_file_gets_all_hooks() {
        for agent in AGENTS.iter().filter(|agent| !agent.hooks.is_empty()) {
            let text = add(agent, "", DOZE).unwrap();
            assert_eq!(commands(&text).len(), agent.hooks.len());
            assert!(
                commands(&text).iter().all(|command| command.starts_with("/usr/local/bin/doze hook ")),
                "{text}"
            );
        }
        let text = add(agent("codex"), "{}\n", DOZE).unwrap();
        let start = "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          {\n            \"command\": \
                     \"/usr/local/bin/doze hook codex SessionStart\",\n";
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn adding_twice_changes_nothing_and_removing_gives_the_first_bytes() {
        let files = [
            "{}",
            "{\n}\n",
            "{\n  \"model\": \"opus\"\n}\n",
            "\u{feff}{\r\n\t\"model\": \"opus\"\r\n}\r\n",
            "{\"model\":\"opus\"}",
            "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n    ]\n  },\n  \"z\": 1\n}\n",
            "{\n  // mine\n  \"hooks\": {\n    \"SessionStart\": [\n      { \"matcher\": \"startup\", \"hooks\": [] }, // keep\n    ],\n  },\n}\n",
        ];
        for agent in AGENTS.iter().filter(|agent| !agent.hooks.is_empty()) {
            for file in files {
                let once = add(agent, file, DOZE).unwrap();
                assert_ne!(once, file);
                assert_eq!(add(agent, &once, DOZE).unwrap(), once, "twice: {file}");
                assert!(has_own(agent, &once) && !has_own(agent, file));
                let removed = remove(agent, &once).unwrap();
                assert!(!has_own(agent, &removed));
                let same = |text: &str| text.replace(char::is_whitespace, "");
                assert_eq!(same(&removed), same(file), "{}: {once}", agent.name);
            }
        }
    }

    #[test]
    fn other_tools_hooks_stay_byte_for_byte() {
        let file = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"x\", // odd\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"/opt/dozer hook claude-code Stop\"}\n        ]\n      }\n    ]\n  }\n}\n";
        let once = add(agent("claude-code"), file, DOZE).unwrap();
        let kept = file.lines().skip(2).take(7).collect::<Vec<_>>().join("\n");
        assert!(once.contains(&kept), "{once}");
        assert_eq!(remove(agent("claude-code"), &once).unwrap(), file);
    }

    #[test]
    fn a_group_shared_with_another_tool_loses_only_ours() {
        let file = r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"'/x y/doze' hook codex Stop"},{"command":"b"}]}]}}"#;
        assert_eq!(
            remove(agent("codex"), file).unwrap(),
            r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"},{"command":"b"}]}]}}"#
        );
        assert_eq!(remove(agent("gemini"), file).unwrap(), file);
    }

    #[test]
    fn a_program_that_moved_is_corrected_in_place_unless_the_person_changed_the_command() {
        let old = add(agent("codex"), "{}", "/old place/doze").unwrap();
        let new = add(agent("codex"), &old, DOZE).unwrap();
        assert_eq!(new, add(agent("codex"), "{}", DOZE).unwrap());
        let own = old
            .replace("'/old place/doze' hook codex Stop", "DOZE_HOME=/x '/old place/doze' hook codex Stop");
        let kept = add(agent("codex"), &own, DOZE).unwrap();
        assert!(kept.contains("DOZE_HOME=/x '/old place/doze' hook codex Stop"));
        assert!(!has_own(agent("codex"), &remove(agent("codex"), &kept).unwrap()));
    }

    #[test]
    fn a_file_of_another_shape_is_refused() {
        let cases = [
            ("[]", "it is not a JSON object"),
            ("{\"hooks\": []}", "its \"hooks\" is not an object"),
            ("{\"hooks\": {\"SessionStart\": {}}}", "an event in its \"hooks\" is not a list"),
            ("{\"hooks\": ", "it is not valid JSON"),
            ("not json", "it is not valid JSON"),
        ];
        for (file, reason) in cases {
            assert_eq!(add(agent("claude-code"), file, DOZE).unwrap_err().to_string(), reason, "{file}");
        }
    }

    #[test]
    fn a_shell_reads_the_word_back_whatever_is_in_it() {
        for text in [
            "/usr/bin/doze",
            "/a b/doze",
            "/o'brien's/doze",
            "/$HOME/`x`/\"q\"/doze",
            "/a\\b/doze",
            "/ünï/doze",
            "~",
            "",
        ] {
            let out = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", shell_word(text))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
            assert!(is_bare(&shell_word(text)), "{text}");
        }
    }

    #[test]
    fn our_own_commands_are_known_again() {
        let known = |command: &str| own_program(agent("claude-code"), command).is_some();
        for command in [
            "doze hook claude-code Stop",
            "'/a b/doze' hook claude-code",
            "\"/x/doze\" hook claude-code Stop",
            "A=1 /x/doze hook claude-code Stop",
        ] {
            assert!(known(command), "{command}");
        }
        for command in [
            "undoze hook claude-code Stop",
            "dozer hook claude-code Stop",
            "doze hook codex Stop",
            "doze hook claude-code Stop && x",
            "doze status",
            "doze hook claude-codex Stop",
        ] {
            assert!(!known(command), "{command}");
        }
    }
}
