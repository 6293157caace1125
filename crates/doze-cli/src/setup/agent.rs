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
    folder_variable: Option<&'static str>,
    /// The agent's folder in the home folder.
    folder: &'static str,
    /// The settings file in that folder.
    file: &'static str,
    /// Where it keeps its MCP servers.
    pub(crate) servers: Servers,
    /// The folder with the sessions in that folder.
    sessions: &'static str,
    /// The hooks it gets.
    pub(crate) hooks: &'static [Registration],
    /// What the person has to do afterwards.
    pub(crate) afterwards: &'static str,
}

/// The file in which an agent keeps its MCP servers, and its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    /// JSON.
    Json(&'static str),
    /// TOML.
    Toml(&'static str),
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
pub(crate) const AGENTS: [Agent; 3] = [
    Agent {
        harness: Harness::ClaudeCode,
        name: "Claude Code",
        folder_variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        file: "settings.json",
        servers: Servers::Json(".claude.json"),
        sessions: "projects",
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
        folder_variable: Some("CODEX_HOME"),
        folder: ".codex",
        file: "hooks.json",
        servers: Servers::Toml("config.toml"),
        sessions: "sessions",
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
        file: "settings.json",
        servers: Servers::Json("settings.json"),
        sessions: "tmp",
        hooks: &[
            on("SessionStart", None, 5_000),
            on("AfterTool", Some("write_file|replace|run_shell_command"), 5_000),
            on("PreCompress", None, 5_000),
            on("AfterAgent", None, 5_000),
            on("SessionEnd", None, 5_000),
        ],
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
        self.folder_variable
            .and_then(variable)
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or_else(|| home.join(self.folder))
    }

    /// The settings file in the agent's folder.
    pub(crate) fn settings(&self, folder: &Path) -> PathBuf {
        folder.join(self.file)
    }

    /// The file with its MCP servers. Claude Code's lies beside its folder, and in it when a variable moved the folder.
    pub(crate) fn servers_file(&self, folder: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> PathBuf {
        let (Servers::Json(file) | Servers::Toml(file)) = self.servers;
        let is_moved =
            self.folder_variable.and_then(variable).is_some_and(|moved| !moved.as_os_str().is_empty());
        match folder.parent() {
            Some(home) if self.harness == Harness::ClaudeCode && !is_moved => home.join(file),
            _ => folder.join(file),
        }
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
    pub(crate) fn sessions(&self, folder: &Path) -> PathBuf {
        folder.join(self.sessions)
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
    }

    #[test]
    fn servers_lie_where_each_agent_looks_for_them() {
        for (agent, folder, variable, file) in [
            ("claude-code", "/home/dev/.claude", None, "/home/dev/.claude.json"),
            ("claude-code", "/home/dev/.claude", Some(""), "/home/dev/.claude.json"),
            ("claude-code", "/x/.claude", Some("/x/.claude"), "/x/.claude/.claude.json"),
            ("codex", "/home/dev/.codex", None, "/home/dev/.codex/config.toml"),
            ("gemini", "/home/dev/.gemini", Some("/x"), "/home/dev/.gemini/settings.json"),
        ] {
            let agent = Agent::from_name(agent).unwrap();
            let found = agent.servers_file(Path::new(folder), &|_| variable.map(PathBuf::from));
            assert_eq!(found, Path::new(file));
        }
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
