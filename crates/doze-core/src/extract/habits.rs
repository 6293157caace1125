//! Commands that a project runs on: how it is built, checked and tested. What ran is told once, put together, so that
//! it leaves room for what was learned.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

use super::rounds::rounds;
use super::shape::{MAX_BODY, MAX_TITLE, capitalised, short};
use super::shell::{self, Call};
use super::{Extracted, MAX_EVIDENCE};
use crate::model::{Event, Kind, Origin};
use crate::text;

/// Times a command must have worked to count as one the project runs on, unless it is a task the project has named.
const MIN_RUNS: usize = 2;
/// Commands told of one session, the most used first.
const MAX_HABITS: usize = 4;
/// Lines of a closing answer in which it may tell what it ran.
const MAX_TOLD: usize = 200;

/// The order in which one speaks of purposes, and the words for it.
const PURPOSES: [(&str, &str); 7] = [
    ("install", "Install dependencies"),
    ("build", "Build"),
    ("format", "Format"),
    ("lint", "Check"),
    ("test", "Test"),
    ("migrate", "Migrate"),
    ("start", "Start"),
];

/// A run that went well: when, and in which event.
#[derive(Debug, Clone, Copy)]
struct Run {
    ordinal: u64,
    at: Option<Timestamp>,
}

/// A command with a purpose, and its runs.
struct Habit<'a> {
    purpose: &'static str,
    command: &'a str,
    runs: Vec<Run>,
}

/// The commands that worked more than once, or whose names the project has given.
pub(super) fn find(events: &[&(u64, Event)], calls: &[Call<'_>]) -> Vec<Extracted> {
    let told = told(events);
    let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
    // Of several commands in a row nobody knows which one was meant.
    let is_one = |command: &str| !command.contains("||") && !command.contains(';');
    let is_habit = |call: &&Call<'_>| call.worked && shell::is_tool(&call.command) && is_one(&call.command);
    for call in calls.iter().filter(is_habit) {
        runs.entry(&call.command).or_default().push(Run { ordinal: call.ordinal, at: call.at });
    }
    for (command, run) in &told {
        runs.entry(command).or_default().push(*run);
    }
    let mut habits: Vec<Habit<'_>> = runs
        .into_iter()
        .filter(|(command, runs)| runs.len() >= MIN_RUNS || shell::is_named_task(command))
        .filter(|(command, _)| !names_single_case(command))
        .filter_map(|(command, runs)| Some(Habit { purpose: shell::purpose(command)?, command, runs }))
        // How a language formats is no news.
        .filter(|habit| habit.purpose != "format" || shell::is_named_task(habit.command))
        .collect();
    let commands: Vec<&str> = habits.iter().map(|habit| habit.command).collect();
    // What is a part of another habit is told with it.
    habits.retain(|habit| !commands.iter().any(|other| is_part_of(habit.command, other)));
    habits
        .sort_by(|a, b| b.runs.len().cmp(&a.runs.len()).then_with(|| a.command.len().cmp(&b.command.len())));
    let mut seen: Vec<&str> = Vec::new();
    habits.retain(|habit| {
        !seen.contains(&habit.purpose) && {
            seen.push(habit.purpose);
            true
        }
    });
    habits.truncate(MAX_HABITS);
    habits.sort_by_key(|habit| PURPOSES.iter().position(|(purpose, _)| *purpose == habit.purpose));
    match habits.as_slice() {
        [] => Vec::new(),
        [habit] => vec![alone(habit)],
        habits => vec![together(habits)],
    }
}

/// What a closing answer says it has run, with success.
fn told(events: &[&(u64, Event)]) -> Vec<(String, Run)> {
    static RAN: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:verified|validated|validation|verification|pass(?:es|ed)?|green|clean|succeed(?:s|ed)?|successful(?:ly)?)\b|[✓✅✔]|통과|通过|通過|成功",
        )
    });
    static FAILED: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)\b(?:fail(?:s|ed|ing|ures?)?|not\s+run|could(?:n['’]t|\s+not)|unable|skipped|blocked|missing)\b",
        )
    });
    static CODE: LazyLock<Regex> = LazyLock::new(|| text::regex(r"`([^`\n]{3,120})`"));
    let mut told = Vec::new();
    for (ordinal, event) in rounds(events).iter().filter_map(super::rounds::Round::closing) {
        let mut is_list = false;
        for line in event.text.lines().take(MAX_TOLD) {
            let bullet = line.trim_start().starts_with(['-', '*', '•']);
            let says = RAN.is_match(line) && !FAILED.is_match(line);
            if says || (is_list && bullet && !FAILED.is_match(line)) {
                told.extend(
                    CODE.captures_iter(line)
                        .map(|found| found[1].to_owned())
                        .filter(|command| shell::is_tool(command) && shell::purpose(command).is_some())
                        .filter(|command| shell::core(command).as_deref() == Some(command))
                        .map(|command| (command, Run { ordinal: *ordinal, at: event.at })),
                );
            }
            if !line.trim().is_empty() && !bullet {
                is_list = says && line.trim_end().ends_with(':');
            }
        }
    }
    told
}

/// The one command of a session.
fn alone(habit: &Habit<'_>) -> Extracted {
    let command = habit.command;
    Extracted {
        kind: Kind::Command,
        title: short(&format!("{} with `{command}`", verb(habit)), MAX_TITLE),
        // No count: the same command of another session is the same memory.
        body: short(&format!("`{command}` ran successfully."), MAX_BODY),
        topic_key: Some(format!("command:{command}")),
        files: Vec::new(),
        confidence: confidence(habit.runs.len()),
        evidence: ends(&habit.runs),
        origin: Origin::Agent,
        at: habit.runs.last().and_then(|run| run.at),
        everywhere: false,
    }
}

/// All commands of a session as one memory.
fn together(habits: &[Habit<'_>]) -> Extracted {
    let each: Vec<String> =
        habits.iter().map(|habit| format!("{} with `{}`", verb(habit), habit.command)).collect();
    let title = each.iter().enumerate().fold(String::new(), |title, (at, part)| {
        let part = if at == 0 { part.clone() } else { format!(", {}", lower_first(part)) };
        let fits = at == 0 || title.chars().count() + part.chars().count() <= MAX_TITLE;
        if fits { title + &part } else { title }
    });
    let told: Vec<String> =
        habits.iter().map(|habit| format!("{}: `{}`", verb(habit), habit.command)).collect();
    let mut runs: Vec<Run> = habits.iter().flat_map(|habit| habit.runs.iter().copied()).collect();
    runs.sort_by_key(|run| run.ordinal);
    runs.dedup_by_key(|run| run.ordinal);
    let purposes: Vec<&str> = habits.iter().map(|habit| habit.purpose).collect();
    // The first run of each command, and the last ones of all.
    let mut evidence: Vec<u64> =
        habits.iter().filter_map(|habit| habit.runs.iter().map(|run| run.ordinal).min()).collect();
    evidence
        .extend(runs.iter().rev().take(MAX_EVIDENCE.saturating_sub(evidence.len())).map(|run| run.ordinal));
    evidence.sort_unstable();
    evidence.dedup();
    Extracted {
        kind: Kind::Command,
        title: short(&title, MAX_TITLE),
        body: short(&format!("Commands that ran successfully. {}.", told.join("; ")), MAX_BODY),
        topic_key: Some(format!("commands:{}", purposes.join("+"))),
        files: Vec::new(),
        confidence: confidence(runs.len()),
        evidence,
        origin: Origin::Agent,
        at: runs.last().and_then(|run| run.at),
        everywhere: false,
    }
}

fn confidence(runs: usize) -> f64 {
    (0.4 + 0.05 * runs as f64).min(0.7)
}

fn verb(habit: &Habit<'_>) -> String {
    let known = PURPOSES.iter().find(|(purpose, _)| *purpose == habit.purpose);
    known.map_or_else(|| capitalised(habit.purpose), |(_, verb)| (*verb).to_owned())
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Whether each step of a command is a step of another, longer one.
fn is_part_of(command: &str, other: &str) -> bool {
    let steps =
        |command: &str| -> Vec<String> { command.split("&&").map(|step| step.trim().to_owned()).collect() };
    let (own, all) = (steps(command), steps(other));
    own.len() < all.len() && own.iter().all(|step| all.contains(step))
}

/// The first and the last runs: where the session turned to it, and that it still does.
fn ends(runs: &[Run]) -> Vec<u64> {
    let half = MAX_EVIDENCE / 2;
    let mut ordinals: Vec<u64> = runs.iter().map(|run| run.ordinal).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    let late = ordinals.len().saturating_sub(half).max(half.min(ordinals.len()));
    ordinals.iter().take(half).chain(&ordinals[late..]).copied().collect()
}

/// A folder at the top, or all that lies below one.
fn names_folder(word: &str) -> bool {
    let word = word.trim_start_matches("./");
    word.ends_with("...") || !word.trim_end_matches('/').contains(['/', '.'])
}

/// A run of one test, one file or one package: useful in that hour only.
pub(super) fn names_single_case(command: &str) -> bool {
    // `cargo test some_name`: a bare word behind the task of such a runner names a case.
    let words: Vec<&str> = shell::words(command);
    let names_case = match words.as_slice() {
        ["cargo", "nextest", "run", rest @ ..] | ["cargo", "test" | "t", rest @ ..] => {
            rest.first().is_some_and(|word| !word.starts_with('-'))
        }
        _ => false,
    };
    names_case
        || shell::words(command).iter().skip(1).any(|word| {
            word.contains("::")
                || (word.contains('/') && !names_folder(word))
                || word.contains('*')
                || *word == "--"
                || matches!(*word, "-k" | "-t" | "--run" | "-run" | "--filter" | "--grep" | "-g")
        })
}
