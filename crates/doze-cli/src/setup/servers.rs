//! Our MCP server in an agent's settings: adding it, knowing it again, taking it out. Pure: text in, text out.
//!
//! Claude Code and Gemini CLI keep servers in JSON under `mcpServers`, OpenCode under `mcp`, Codex in TOML under
//! `mcp_servers`. What the person registered by hand under our name is theirs and stays.

use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use super::agent::{Agent, Servers};
use super::edit;
use super::hooks::HooksError;
use super::jsonc::{self, Node};

/// The server's name, and the key of all servers in TOML.
const NAME: &str = "doze";
const TOML_KEY: &str = "mcp_servers";
/// What stands above our entry in TOML.
const COMMENT: &str = "\n# Written by `doze setup`, and taken out by `doze setup --remove`.\n";

/// How the server is called. The person may add to it: what begins so is ours.
fn arguments(agent: &Agent) -> [&str; 3] {
    ["mcp", "--harness", agent.harness.name()]
}

/// Whether a command with these arguments is one that setup has written.
fn is_own(agent: &Agent, command: &str, given: &[&str]) -> bool {
    let name = command.rsplit('/').next().unwrap_or_default();
    (name == "doze" || name.starts_with("doze-")) && given.starts_with(&arguments(agent))
}

/// The program of our server in a file; nothing when it is not there.
pub(crate) fn own_program(agent: &Agent, text: &str) -> Option<String> {
    match agent.servers {
        Servers::Json(_) | Servers::JsonCommand(_) => {
            let root = jsonc::parse(text).ok()?;
            Some(own_command(agent, &root)?.text()?.to_owned())
        }
        Servers::Toml(_) => own_table(agent, &text.parse().ok()?).map(str::to_owned),
    }
}

/// The file with our server in it, run by `program`. One that the person registered by hand is left as it is.
pub(crate) fn add(agent: &Agent, text: &str, program: &str) -> Result<String, HooksError> {
    match agent.servers {
        Servers::Json(_) | Servers::JsonCommand(_) => add_json(agent, text, program),
        Servers::Toml(_) => add_toml(agent, text, program),
    }
}

/// The file without our server, and without the list of servers if it held nothing else.
pub(crate) fn remove(agent: &Agent, text: &str) -> Result<String, HooksError> {
    match agent.servers {
        Servers::Json(_) | Servers::JsonCommand(_) => remove_json(agent, text),
        Servers::Toml(_) => remove_toml(agent, text),
    }
}

/// The key of all servers in JSON.
fn json_key(agent: &Agent) -> &'static str {
    match agent.servers {
        Servers::JsonCommand(_) => "mcp",
        Servers::Json(_) | Servers::Toml(_) => "mcpServers",
    }
}

/// Our server as JSON.
fn json_server(agent: &Agent, program: &str) -> Value {
    let arguments = arguments(agent);
    match agent.servers {
        Servers::JsonCommand(_) => {
            let command: Vec<&str> = std::iter::once(program).chain(arguments).collect();
            json!({"type": "local", "command": command, "enabled": true})
        }
        Servers::Json(_) | Servers::Toml(_) => json!({"command": program, "args": arguments}),
    }
}

/// Where the program of our server stands, if the entry of its name is ours.
fn own_command<'a>(agent: &Agent, root: &'a Node) -> Option<&'a Node> {
    let node = root.get(json_key(agent))?.get(NAME)?;
    let command = node.get("command")?;
    let (program, arguments) = match agent.servers {
        Servers::JsonCommand(_) => command.items().split_first()?,
        Servers::Json(_) | Servers::Toml(_) => (command, node.get("args")?.items()),
    };
    let given: Vec<&str> = arguments.iter().filter_map(Node::text).collect();
    is_own(agent, program.text()?, &given).then_some(program)
}

fn add_json(agent: &Agent, text: &str, program: &str) -> Result<String, HooksError> {
    let text = if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() {
        format!("{text}{{}}\n")
    } else {
        text.to_owned()
    };
    let root = jsonc::parse(&text)?;
    if !root.is_object() {
        return Err(HooksError::Shape("it is not a JSON object"));
    }
    if let Some(command) = own_command(agent, &root) {
        let is_there = command.text() == Some(program);
        return Ok(if is_there { text } else { edit::replace_string(&text, command, program) });
    }
    let server = json_server(agent, program);
    match root.get(json_key(agent)) {
        None => Ok(edit::insert_member(&text, &root, json_key(agent), &json!({ NAME: server }))),
        Some(servers) if !servers.is_object() => Err(HooksError::Shape(match agent.servers {
            Servers::JsonCommand(_) => "its \"mcp\" is not an object",
            Servers::Json(_) | Servers::Toml(_) => "its \"mcpServers\" is not an object",
        })),
        Some(servers) if servers.get(NAME).is_some() => Ok(text),
        Some(servers) => Ok(edit::insert_member(&text, servers, NAME, &server)),
    }
}

fn remove_json(agent: &Agent, text: &str) -> Result<String, HooksError> {
    let root = jsonc::parse(text)?;
    if own_command(agent, &root).is_none() {
        return Ok(text.to_owned());
    }
    let position = |node: &Node, key: &str| node.members().iter().rposition(|member| member.key == key);
    let Some(list) = position(&root, json_key(agent)) else { return Ok(text.to_owned()) };
    let servers = &root.members()[list].value;
    Ok(match position(servers, NAME) {
        Some(_) if servers.members().len() == 1 => edit::remove(text, &root, list),
        Some(at) => edit::remove(text, servers, at),
        None => text.to_owned(),
    })
}

fn parsed(text: &str) -> Result<DocumentMut, HooksError> {
    text.parse().map_err(|_| HooksError::Shape("it is not valid TOML"))
}

/// The program of our server, if the entry of its name is ours.
fn own_table<'a>(agent: &Agent, document: &'a DocumentMut) -> Option<&'a str> {
    let entry = document.get(TOML_KEY)?.as_table_like()?.get(NAME)?.as_table_like()?;
    let command = entry.get("command")?.as_str()?;
    let given: Vec<&str> = entry.get("args")?.as_array()?.iter().filter_map(|item| item.as_str()).collect();
    is_own(agent, command, &given).then_some(command)
}

fn add_toml(agent: &Agent, text: &str, program: &str) -> Result<String, HooksError> {
    let mut document = parsed(text)?;
    let own = own_table(agent, &document).map(str::to_owned);
    if own.as_deref() == Some(program) {
        return Ok(text.to_owned());
    }
    let list = document.entry(TOML_KEY).or_insert_with(|| {
        let mut list = Table::new();
        list.set_implicit(true);
        Item::Table(list)
    });
    let list = list.as_table_like_mut().ok_or(HooksError::Shape("its \"mcp_servers\" is not a table"))?;
    match own {
        Some(_) => {
            let command = list.get_mut(NAME).and_then(|entry| entry.get_mut("command"));
            if let Some(command) = command {
                *command = value(program);
            }
        }
        None if list.get(NAME).is_some() => return Ok(text.to_owned()),
        None => insert(list, agent, program),
    }
    Ok(document.to_string())
}

fn insert(list: &mut dyn TableLike, agent: &Agent, program: &str) {
    let mut entry = Table::new();
    entry.insert("command", value(program));
    entry.insert("args", value(Array::from_iter(arguments(agent))));
    entry.decor_mut().set_prefix(COMMENT);
    list.insert(NAME, Item::Table(entry));
}

fn remove_toml(agent: &Agent, text: &str) -> Result<String, HooksError> {
    let mut document = parsed(text)?;
    if own_table(agent, &document).is_none() {
        return Ok(text.to_owned());
    }
    let Some(list) = document.get_mut(TOML_KEY).and_then(Item::as_table_like_mut) else {
        return Ok(text.to_owned());
    };
    list.remove(NAME);
    if list.is_empty() {
        document.remove(TOML_KEY);
    }
    Ok(document.to_string())
}

/// What a person is shown of our server in a file: how it is called.
pub(crate) fn told(agent: &Agent, text: &str) -> Option<String> {
    Some(format!("{} {}", own_program(agent, text)?, arguments(agent).join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::agent::AGENTS;

    const DOZE: &str = "/usr/local/bin/doze";

    fn agent(name: &str) -> &'static Agent {
        Agent::from_name(name).unwrap()
    }

    #[test]
    fn an_empty_file_gets_the_server_alone() {
        assert_eq!(
            add(agent("gemini"), "", DOZE).unwrap().replace(char::is_whitespace, ""),
            r#"{"mcpServers":{"doze":{"args":["mcp","--harness","gemini"],"command":"/usr/local/bin/doze"}}}"#
        );
        assert_eq!(
            add(agent("opencode"), "", DOZE).unwrap().replace(char::is_whitespace, ""),
            r#"{"mcp":{"doze":{"command":["/usr/local/bin/doze","mcp","--harness","opencode"],"enabled":true,"type":"local"}}}"#
        );
        assert_eq!(
            add(agent("codex"), "", DOZE).unwrap(),
            "\n# Written by `doze setup`, and taken out by `doze setup --remove`.\n[mcp_servers.doze]\n\
             command = \"/usr/local/bin/doze\"\nargs = [\"mcp\", \"--harness\", \"codex\"]\n"
        );
    }

    #[test]
    fn adding_twice_changes_nothing_and_removing_gives_back_what_was_there() {
        let json = [
            "{}",
            "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
            "{\"a\":1}",
            "{\r\n\t// mine\r\n\t\"theme\": \"dark\",\r\n}\r\n",
        ];
        let toml = [
            "",
            "model = \"o\" # mine\n",
            "[mcp_servers.other]\ncommand = \"x\"\n\n[profiles.a]\nmodel = \"y\"\n",
            "mcp_servers = { other = { command = \"x\" } }\n",
            "# only a comment\n",
            "[tui]\nx = 1",
        ];
        for agent in &AGENTS {
            let files: &[&str] = if matches!(agent.servers, Servers::Toml(_)) { &toml } else { &json };
            for file in files {
                let once = add(agent, file, DOZE).unwrap();
                assert_eq!(own_program(agent, &once).as_deref(), Some(DOZE), "{file}: {once}");
                assert_eq!(add(agent, &once, DOZE).unwrap(), once, "twice: {file}");
                let removed = remove(agent, &once).unwrap();
                assert_eq!(own_program(agent, &removed), None);
                let same = |text: &str| text.replace(char::is_whitespace, "");
                assert_eq!(same(&removed), same(file), "{}: {once}", agent.name);
                for line in file.lines().filter(|line| !line.contains("mcp_servers = ")) {
                    assert!(once.contains(line.trim_matches(['{', '}', ','])), "{line} in {once}");
                }
            }
        }
    }

    #[test]
    fn a_program_that_moved_is_corrected_and_what_the_person_added_stays() {
        for name in ["claude-code", "codex", "opencode"] {
            let agent = agent(name);
            let old = add(agent, "", "/old place/doze").unwrap();
            let own = old.replace(&format!("\"{name}\""), &format!("\"{name}\", \"--mode\", \"accept\""));
            let new = add(agent, &own, DOZE).unwrap();
            assert_eq!(new, own.replace("/old place/doze", DOZE));
            assert!(new.contains("accept"), "{new}");
        }
    }

    #[test]
    fn what_a_person_registered_under_our_name_is_theirs() {
        let json = r#"{"mcpServers":{"doze":{"command":"doze","args":["mcp"]}}}"#;
        let toml = "[mcp_servers.doze]\ncommand = \"doze\"\nargs = [\"mcp\"]\n";
        let command = r#"{"mcp":{"doze":{"type":"local","command":["doze","mcp"]}}}"#;
        for (name, file) in [("claude-code", json), ("gemini", json), ("codex", toml), ("opencode", command)]
        {
            assert_eq!(add(agent(name), file, DOZE).unwrap(), file);
            assert_eq!(remove(agent(name), file).unwrap(), file);
        }
    }

    #[test]
    fn a_file_of_another_shape_is_refused() {
        for (name, file, reason) in [
            ("gemini", "[]", "it is not a JSON object"),
            ("gemini", "{\"mcpServers\": []}", "its \"mcpServers\" is not an object"),
            ("gemini", "{", "it is not valid JSON"),
            ("opencode", "{\"mcp\": 1}", "its \"mcp\" is not an object"),
            ("codex", "mcp_servers = 1", "its \"mcp_servers\" is not a table"),
            ("codex", "= x", "it is not valid TOML"),
        ] {
            assert_eq!(add(agent(name), file, DOZE).unwrap_err().to_string(), reason, "{file}");
        }
    }
}
