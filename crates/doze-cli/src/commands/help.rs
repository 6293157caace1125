//! What `doze`, `doze --help` and every command's `--help` say beyond the arguments: commands in groups, examples.

use clap::{Command, CommandFactory};

use super::Cli;

/// Commands by what they are for, in the order in which a newcomer meets them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Begin", &["try", "setup", "up", "status"]),
    ("Ask", &["search", "brief", "recover", "context", "roster"]),
    (
        "Memories",
        &[
            "remember",
            "list",
            "show",
            "why",
            "edit",
            "pin",
            "review",
            "feedback",
            "confirm",
            "promote",
            "forget",
            "reinstate",
        ],
    ),
    ("Sleep on it", &["dream"]),
    (
        "Sessions and work",
        &[
            "sessions",
            "import",
            "export",
            "commit",
            "transcript",
            "digest",
            "extract",
            "mcp",
            "task",
            "work",
            "project",
            "office",
            "workspace",
        ],
    ),
    ("The daemon", &["start", "stop", "service", "pause", "resume", "backup", "config", "completions"]),
];

/// What `doze` alone says, after its first line.
pub(super) const OVERVIEW: &str = "
  doze try                what it would learn from your sessions
  doze setup              connect your agents
  doze up                 start the daemon
  doze brief              what an agent that starts here is told
  doze search \"…\"         ask what is known
  doze dream show         what the last dream learned, and why

All commands:  doze --help        One of them:  doze COMMAND --help";

const EXIT: &str = "Exit status: 0 done or found, 1 nothing found, 2 usage, 65 bad input,
69 daemon not reachable, 70 internal, 75 busy, 76 protocol mismatch, 77 refused,
78 configuration.";

/// A line or two of each command, by its words.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("try", &["doze try", "doze try ~/old/session.jsonl"]),
    ("setup", &["doze setup --dry-run", "doze setup claude-code", "doze setup --remove"]),
    (
        "search",
        &[
            "doze search \"staging port\"",
            "doze search --kind lesson --since 2026-01-01 migrations",
            "doze search --everywhere pnpm",
        ],
    ),
    ("brief", &["doze brief", "doze brief --last"]),
    ("recover", &["doze recover claude-code"]),
    ("context", &["doze context claude-code"]),
    ("roster", &["doze roster", "doze roster alex sam"]),
    (
        "remember",
        &[
            "doze remember \"Use pnpm, not npm\" --kind preference",
            "doze remember - --topic release < notes.md",
        ],
    ),
    ("list", &["doze list", "doze list --kind decision --query staging", "doze list --status all"]),
    ("show", &["doze show ID"]),
    ("edit", &["doze edit ID", "doze edit ID --body \"Staging listens on 5433\""]),
    ("pin", &["doze pin ID", "doze pin ID --off"]),
    ("review", &["doze review", "doze review ID --accept"]),
    ("feedback", &["doze feedback ID helpful", "doze feedback ID wrong"]),
    ("confirm", &["doze confirm ID --agent sam"]),
    ("office", &["doze office", "doze office review review.txt"]),
    ("office learned", &["doze office learned"]),
    ("office review", &["doze office review review.txt", "doze office review --verdict FAIL < review.txt"]),
    ("office plan", &["doze office plan plan.md"]),
    (
        "office project",
        &[
            "doze office project --summary \"A card game\" --tech PixiJS",
            "doze office project --rating visual=4",
        ],
    ),
    ("office forget", &["doze office forget \"Buttons overlap on small screens\""]),
    ("promote", &["doze promote ID --to CLAUDE.md", "doze promote ID --to web/AGENTS.md"]),
    (
        "forget",
        &[
            "doze forget ID",
            "doze forget --session SESSION --memories",
            "doze forget --session 1 --agent alex",
            "doze forget --project shop",
        ],
    ),
    ("reinstate", &["doze reinstate ID"]),
    ("why", &["doze why ID"]),
    ("dream", &["doze dream --dry-run", "doze dream", "doze dream show"]),
    ("dream status", &["doze dream status"]),
    ("dream log", &["doze dream log -n 5"]),
    ("dream show", &["doze dream show", "doze dream show DREAM"]),
    ("dream undo", &["doze dream undo DREAM"]),
    ("sessions", &["doze sessions", "doze sessions --failed", "doze sessions --project shop --limit 50"]),
    (
        "commit",
        &[
            "doze commit session.json",
            "doze commit --session s-81 --agent alex --summary \"moved staging to 5433\"",
        ],
    ),
    (
        "import",
        &[
            "doze import",
            "doze import ~/.codex/sessions --since 2026-01-01",
            "doze import ~/.bit-office/memory --format office",
        ],
    ),
    ("export", &["doze export ~/office-memory", "doze export ~/office-memory --cwd ~/code/shop"]),
    ("mcp", &["doze mcp", "doze mcp --mode accept"]),
    ("extract", &["doze extract 0f2c6a1e"]),
    ("transcript", &["doze transcript session.jsonl", "doze transcript session.jsonl --events"]),
    ("digest", &["doze digest 0f2c6a1e", "doze digest 0f2c6a1e --json"]),
    ("task", &["doze task list"]),
    (
        "task set",
        &["doze task set T-7 \"Move the port\" --status in_progress", "doze task set T-7 --spec - < spec.md"],
    ),
    ("task list", &["doze task list", "doze task list --all"]),
    ("task show", &["doze task show T-7"]),
    ("task start", &["doze task start T-7"]),
    ("task done", &["doze task done T-7"]),
    ("work", &["doze work show"]),
    ("work set", &["doze work set --agent alex --summary \"port moved\" --next \"run the tests\""]),
    ("work show", &["doze work show", "doze work show --agent alex"]),
    ("work clear", &["doze work clear --agent alex"]),
    ("project", &["doze project list", "doze project show"]),
    ("project list", &["doze project list"]),
    ("project show", &["doze project show", "doze project show shop"]),
    ("project merge", &["doze project merge shop-old shop"]),
    ("project split", &["doze project split shop ~/code/shop/api"]),
    ("project move", &["doze project move shop ~/code/shop"]),
    ("project ignore", &["doze project ignore secret-client", "doze project ignore secret-client --off"]),
    ("project forget", &["doze project forget shop"]),
    ("workspace", &["doze workspace add ~/code/shop", "doze workspace list"]),
    ("workspace add", &["doze workspace add .", "doze workspace add ~/notes --mode agent"]),
    ("workspace list", &["doze workspace list"]),
    ("workspace remove", &["doze workspace remove ~/notes"]),
    ("start", &["doze start"]),
    ("stop", &["doze stop"]),
    ("up", &["doze up", "doze up && doze import"]),
    ("status", &["doze status", "doze status --json"]),
    ("pause", &["doze pause --for 2h", "doze pause"]),
    ("resume", &["doze resume"]),
    ("backup", &["doze backup", "doze backup ~/doze.backup"]),
    ("config", &["doze config show dream", "doze config set dream.cron \"0 3 * * *\""]),
    ("config show", &["doze config show", "doze config show dream"]),
    ("config check", &["doze config check", "doze config check --config new.toml"]),
    ("config schema", &["doze config schema"]),
    ("config set", &["doze config set dream.cron \"0 3 * * *\"", "doze config set embedder off"]),
    ("service", &["doze service install", "doze service remove"]),
    ("service install", &["doze service install"]),
    ("service remove", &["doze service remove"]),
    ("completions", &["doze completions zsh > ~/.zfunc/_doze"]),
];

/// The command line with its groups and examples.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    let groups = groups(&command);
    for (path, examples) in EXAMPLES {
        let text = format!("Examples:\n  {}", examples.join("\n  "));
        let words: Vec<&str> = path.split(' ').collect();
        command = with_after_help(command, &words, &text);
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\n{EXIT}\n"
    ))
}

/// Gives the command that these words lead to a text after its help.
fn with_after_help(command: Command, words: &[&str], text: &str) -> Command {
    match words {
        [] => command.after_help(text.to_owned()),
        [first, rest @ ..] => command.mut_subcommand(first, |inner| with_after_help(inner, rest, text)),
    }
}

fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (name, members) in GROUPS {
        text += &format!("{name}:\n");
        for member in *members {
            let about = command.find_subcommand(member).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text += &format!("  {member:<12}{about}\n");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of every command, those of commands' commands included.
    fn paths(command: &Command, before: &str) -> Vec<String> {
        let inner = command.get_subcommands().flat_map(|inner| {
            let path = format!("{before} {}", inner.get_name()).trim().to_owned();
            let mut all = paths(inner, &path);
            all.push(path);
            all
        });
        inner.collect()
    }

    #[test]
    fn every_command_stands_in_one_group_and_has_an_example() {
        let all = paths(&Cli::command(), "");
        let mut known: Vec<String> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        let mut wanted = all.clone();
        known.sort();
        wanted.sort();
        assert_eq!(known, wanted);
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, members)| *members).copied().collect();
        let mut outer: Vec<&str> =
            all.iter().map(String::as_str).filter(|path| !path.contains(' ')).collect();
        grouped.sort_unstable();
        outer.sort_unstable();
        assert_eq!(grouped, outer);
    }

    #[test]
    fn every_example_is_a_command_line() {
        for (path, examples) in EXAMPLES {
            for example in *examples {
                let line = example.split(['>', '<', '&']).next().unwrap().trim();
                // What stands in quotes is one word.
                let words: Vec<String> = line
                    .split('"')
                    .enumerate()
                    .flat_map(|(index, part)| match index % 2 {
                        1 => vec![part.to_owned()],
                        _ => part.split_whitespace().map(str::to_owned).collect(),
                    })
                    .collect();
                assert!(line.starts_with(&format!("doze {path}")), "{example}");
                if let Err(error) = command().try_get_matches_from(words) {
                    panic!("{example}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_help_is_no_wider_than_a_screen() {
        let help = command().render_help().to_string();
        for line in help.lines().chain(OVERVIEW.lines()) {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(help.contains("Begin:\n  try ") && help.contains("Exit status: 0"), "{help}");
    }
}
