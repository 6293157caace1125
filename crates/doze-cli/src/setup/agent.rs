//! The agents that `doze setup` knows: where their settings are and which hooks they get.

use std::path::{Path, PathBuf};

use crate::hook::Harness;

/// What setup needs to know of an agent.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) harness: Harness,
    /// The name that people know.
    pub(crate) name: &'static str,
    /// The variable that moves the agent's folder.
    folder_variable: Option<Variable>,
    /// The agent's folder in the home folder.
    folder: &'static str,
    /// The settings file with its hooks in that folder; nothing when it has no hooks that run a program.
    file: Option<&'static str>,
    /// Where it keeps its MCP servers.
    pub(crate) servers: Servers,
    /// The folder with the sessions in that folder; nothing when doze does not read its sessions.
    sessions: Option<&'static str>,
    /// The hooks it gets.
    pub(crate) hooks: &'static [Registration],
    /// What the person has to do afterwards.
    pub(crate) afterwards: &'static str,
}

/// The file in which an agent keeps its MCP servers, and its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// JSON, `{"mcpServers": {"doze": {"command": PROGRAM, "args": [...]}}}`.
    Json(&'static str),
    /// JSON, `{"mcp": {"doze": {"type": "local", "command": [PROGRAM, ...]}}}`; the file may be named `.jsonc`.
    JsonCommand(&'static str),
    /// TOML, `[mcp_servers.doze]`.
    Toml(&'static str),
}

/// A variable that moves an agent's folder.
#[derive(Debug, Clone, Copy)]
enum Variable {
    /// It names the agent's folder.
    Folder(&'static str),
    /// It names the folder above one of this name.
    Parent(&'static str, &'static str),
}

impl Variable {
    /// The agent's folder as the variable has it. An empty variable counts as unset.
    fn folder(self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let value = |name| variable(name).filter(|folder| !folder.as_os_str().is_empty());
        match self {
            Self::Folder(name) => value(name),
            Self::Parent(name, folder) => value(name).map(|parent| parent.join(folder)),
        }
    }
}

/// One hook to register.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) event: &'static str,
    pub(crate) matcher: Option<&'static str>,
    /// In the agent's own unit.
    pub(crate) timeout: u32,
}

const fn on(event: &'static str, matcher: Option<&'static str>, timeout: u32) -> Registration {
    Registration { event, matcher, timeout }
}

/// All agents, in the order in which screens name them. Hooks are bounded below a second by themselves; the time-outs
/// (seconds; Gemini counts milliseconds) only keep a stopped machine from stopping the agent.
pub(crate) const AGENTS: [Agent; 4] = [
    Agent {
        harness: Harness::ClaudeCode,
        name: "Claude Code",
        folder_variable: Some(Variable::Folder("CLAUDE_CONFIG_DIR")),
        folder: ".claude",
        file: Some("settings.json"),
        servers: Servers::Json(".claude.json"),
        sessions: Some("projects"),
        hooks: &[
            on("SessionStart", None, 5),
            on("PostToolUse", Some("Edit|MultiEdit|Write|NotebookEdit|Bash"), 5),
            on("PreCompact", None, 5),
            on("SubagentStop", None, 5),
            on("Stop", None, 5),
            on("SessionEnd", None, 5),
        ],
        afterwards: "",
    },
    Agent {
        harness: Harness::Codex,
        name: "Codex",
        folder_variable: Some(Variable::Folder("CODEX_HOME")),
        folder: ".codex",
        file: Some("hooks.json"),
        servers: Servers::Toml("config.toml"),
        sessions: Some("sessions"),
        hooks: &[
            on("SessionStart", None, 5),
            on("PostToolUse", None, 5),
            on("PreCompact", None, 5),
            on("SubagentStop", None, 5),
            on("Stop", None, 5),
        ],
        afterwards: "Codex asks once whether it may trust these hooks: say yes when it starts.",
    },
    Agent {
        harness: Harness::Gemini,
        name: "Gemini CLI",
        folder_variable: None,
        folder: ".gemini",
        file: Some("settings.json"),
        servers: Servers::Json("settings.json"),
        sessions: Some("tmp"),
        hooks: &[
            on("SessionStart", None, 5_000),
            on("AfterTool", Some("write_file|replace|run_shell_command"), 5_000),
            on("PreCompress", None, 5_000),
            on("AfterAgent", None, 5_000),
            on("SessionEnd", None, 5_000),
        ],
        afterwards: "",
    },
    Agent {
        harness: Harness::OpenCode,
        name: "OpenCode",
        folder_variable: Some(Variable::Parent("XDG_CONFIG_HOME", "opencode")),
        folder: ".config/opencode",
        file: None,
        servers: Servers::JsonCommand("opencode.json"),
        sessions: None,
        hooks: &[],
        afterwards: "",
    },
];

impl Agent {
    /// The agent of that name.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.harness.name() == name)
    }

    /// The agent's folder: where its variable says, else in `home`. An empty variable counts as unset.
    pub(crate) fn folder(&self, home: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        self.moved_folder(variable).unwrap_or_else(|| home.join(self.folder))
    }

    fn moved_folder(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        self.folder_variable.and_then(|moved| moved.folder(variable))
    }

    /// The settings file with the hooks in the agent's folder.
    pub(crate) fn settings(&self, folder: &Path) -> Option<PathBuf> {
        self.file.map(|file| folder.join(file))
    }

    /// The file with its MCP servers. Claude Code's lies beside its folder, and in it when a variable moved the folder.
    pub(crate) fn servers_file(&self, folder: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let (Servers::Json(file) | Servers::JsonCommand(file) | Servers::Toml(file)) = self.servers;
        let path = match folder.parent() {
            Some(home) if self.harness == Harness::ClaudeCode && self.moved_folder(variable).is_none() => {
                home.join(file)
            }
            _ => folder.join(file),
        };
        let commented = path.with_extension("jsonc");
        let is_commented =
            matches!(self.servers, Servers::JsonCommand(_)) && !path.exists() && commented.exists();
        if is_commented { commented } else { path }
    }

    /// What a person should know before hooks go beside others in another file of the agent's.
    pub(crate) fn caution(&self, folder: &Path) -> Option<&'static str> {
        if self.harness != Harness::Codex {
            return None;
        }
        let config = std::fs::read_to_string(folder.join("config.toml")).ok()?;
        let mut lines = config.lines().map(str::trim_start);
        lines
            .any(|line| line.starts_with("[hooks") || line.starts_with("[[hooks"))
            .then_some("config.toml has [hooks] as well; Codex reads both files and warns about it.")
    }

    /// The folder in the agent's folder that holds its sessions.
    pub(crate) fn sessions(&self, folder: &Path) -> Option<PathBuf> {
        self.sessions.map(|sessions| folder.join(sessions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_moves_the_folder_unless_it_is_empty() {
        let home = Path::new("/home/dev");
        let folder = |agent: &str, value: Option<&str>| {
            Agent::from_name(agent).unwrap().folder(home, &|_| value.map(PathBuf::from))
        };
        assert_eq!(folder("codex", Some("/x")), Path::new("/x"));
        assert_eq!(folder("codex", Some("")), Path::new("/home/dev/.codex"));
        assert_eq!(folder("claude-code", None), Path::new("/home/dev/.claude"));
        assert_eq!(folder("gemini", Some("/x")), Path::new("/home/dev/.gemini"));
        assert_eq!(folder("opencode", Some("/x")), Path::new("/x/opencode"));
        assert_eq!(folder("opencode", Some("")), Path::new("/home/dev/.config/opencode"));
    }

    #[test]
    fn servers_lie_where_each_agent_looks_for_them() {
        for (agent, folder, variable, file) in [
            ("claude-code", "/home/dev/.claude", None, "/home/dev/.claude.json"),
            ("claude-code", "/home/dev/.claude", Some(""), "/home/dev/.claude.json"),
            ("claude-code", "/x/.claude", Some("/x/.claude"), "/x/.claude/.claude.json"),
            ("codex", "/home/dev/.codex", None, "/home/dev/.codex/config.toml"),
            ("gemini", "/home/dev/.gemini", Some("/x"), "/home/dev/.gemini/settings.json"),
            ("opencode", "/home/dev/.config/opencode", None, "/home/dev/.config/opencode/opencode.json"),
        ] {
            let agent = Agent::from_name(agent).unwrap();
            let found = agent.servers_file(Path::new(folder), &|_| variable.map(PathBuf::from));
            assert_eq!(found, Path::new(file));
        }
    }

    #[test]
    fn the_file_with_comments_is_taken_where_it_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = || Agent::from_name("opencode").unwrap().servers_file(folder.path(), &|_| None);
        std::fs::write(folder.path().join("opencode.jsonc"), "{}").unwrap();
        assert_eq!(file(), folder.path().join("opencode.jsonc"));
        std::fs::write(folder.path().join("opencode.json"), "{}").unwrap();
        assert_eq!(file(), folder.path().join("opencode.json"));
    }

    #[test]
    fn hooks_in_codexs_configuration_are_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let codex = Agent::from_name("codex").unwrap();
        assert_eq!(codex.caution(folder.path()), None);
        std::fs::write(folder.path().join("config.toml"), "model = \"x\"\n# [hooks]\n").unwrap();
        assert_eq!(codex.caution(folder.path()), None);
        std::fs::write(folder.path().join("config.toml"), "[[hooks.Stop]]\n").unwrap();
        assert!(codex.caution(folder.path()).is_some());
        assert_eq!(Agent::from_name("gemini").unwrap().caution(folder.path()), None);
    }

    #[test]
    fn every_registered_event_is_one_that_the_hook_answers() {
        for agent in &AGENTS {
            for registration in agent.hooks {
                assert!(agent.harness.answers(registration.event), "{} {}", agent.name, registration.event);
            }
        }
    }
}
