//! What failed and what then worked: commands replaced by better ones, commands that a project runs on, and causes
//! that the agent named after a failure.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, sentences, short};
use super::shell::{self, Call};
use super::{Extracted, MAX_EVIDENCE, gate};
use crate::model::{Event, EventKind, Kind, Origin};

/// Calls after a failure among which its remedy is looked for.
const WINDOW: usize = 12;
/// Times a command must have worked to count as one the project runs on, unless it is a task the project has named.
const MIN_RUNS: usize = 2;
/// Commands of that sort kept, the most used first.
const MAX_HABITS: usize = 3;
/// Events after a failure in which the agent may name its cause.
const CAUSE_WINDOW: u64 = 8;
/// Causes kept of one session.
const MAX_CAUSES: usize = 4;

/// Failures of the way a command was called, not of the code it worked on.
static MISUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)(?:command\ not\ found|not\ recognized|is\ not\ installed|no\ such\ (?:file|option|command|subcommand|service|task|script)|unknown\ (?:option|argument|flag|command|subcommand|task|script|recipe|shorthand)
        |unrecognized|unexpected\ argument|invalid\ (?:option|argument|value\ for)|missing\ (?:script|required|environment)|no\ rule\ to\ make\ target|(?:does\ not|doesn't)\ (?:contain|have|exist|support)\b.*(?:recipe|script|task|target|command|profile|feature)?
        |no\ (?:tests?|test\ files)\ (?:found|ran|to\ run)|permission\ denied|address\ already\ in\ use|connection\ refused|is\ not\ set|must\ be\ set|unbound\ variable|not\ found\ in|could\ not\ find|cannot\ find|can't\ find|unable\ to\ find|no\ module\ named|cannot\ be\ used|requires\ )",
    )
    .expect("a valid pattern")
});

/// Lessons and commands from pairs of calls, and the commands a project runs on.
pub(super) fn find(calls: &[Call<'_>]) -> Vec<Extracted> {
    let mut found: Vec<Extracted> =
        calls.iter().enumerate().filter_map(|(at, failed)| remedy(failed, &calls[at + 1..])).collect();
    found.extend(habits(calls));
    found
}

/// The first call after a misuse that does the same job in another way and works.
fn remedy(failed: &Call<'_>, later: &[Call<'_>]) -> Option<Extracted> {
    if !failed.failed || !shell::is_tool(&failed.command) {
        return None;
    }
    let cause = shell::lines(failed.output)
        .into_iter()
        .find(|line| MISUSE.is_match(line) && !gate::is_one_off(line))?;
    let worked = later.iter().take(WINDOW).find(|call| {
        call.worked
            && shell::is_tool(&call.command)
            && call.command != failed.command
            && same_job(failed, call)
    })?;
    Some(Extracted {
        kind: Kind::Lesson,
        title: short(&format!("Run `{}`, not `{}`", worked.command, failed.command), MAX_TITLE),
        body: short(
            &format!(
                "`{}` failed: {cause}. `{}` worked.",
                failed.command,
                worked.command,
                cause = cause.trim_end_matches('.')
            ),
            MAX_BODY,
        ),
        topic_key: None,
        files: Vec::new(),
        confidence: 0.65,
        evidence: vec![failed.ordinal, worked.ordinal],
        origin: Origin::Tool,
        at: worked.at.or(failed.at),
        everywhere: false,
    })
}

/// Two commands do the same job when they serve the same purpose, or call the same program with the same first word.
fn same_job(a: &Call<'_>, b: &Call<'_>) -> bool {
    let purposes = (shell::purpose(&a.command), shell::purpose(&b.command));
    if let (Some(first), Some(second)) = purposes {
        return first == second;
    }
    let head = |command: &str| -> Option<(String, String)> {
        let words = shell::words(command);
        let task = words.iter().skip(1).find(|word| !word.starts_with('-'))?;
        Some((shell::program(command)?.to_owned(), (*task).to_owned()))
    };
    head(&a.command).is_some_and(|first| head(&b.command) == Some(first))
}

/// Commands with a purpose that worked at least twice: how this project is tested, checked, built.
fn habits(calls: &[Call<'_>]) -> Vec<Extracted> {
    let mut runs: BTreeMap<&str, Vec<&Call<'_>>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.worked && shell::is_tool(&call.command)) {
        runs.entry(&call.command).or_default().push(call);
    }
    let mut habits: Vec<(&str, &str, Vec<&Call<'_>>)> = runs
        .into_iter()
        .filter(|(command, runs)| {
            (runs.len() >= MIN_RUNS || shell::is_named_task(command)) && !names_single_case(command)
        })
        .filter_map(|(command, runs)| Some((shell::purpose(command)?, command, runs)))
        .collect();
    let commands: Vec<&str> = habits.iter().map(|(_, command, _)| *command).collect();
    // What is a part of another habit is told with it.
    habits.retain(|(_, command, _)| !commands.iter().any(|other| is_part_of(command, other)));
    habits.sort_by(|a, b| b.2.len().cmp(&a.2.len()).then_with(|| a.1.len().cmp(&b.1.len())));
    let mut seen: Vec<&str> = Vec::new();
    habits.retain(|(purpose, ..)| {
        !seen.contains(purpose) && {
            seen.push(purpose);
            true
        }
    });
    habits
        .into_iter()
        .take(MAX_HABITS)
        .map(|(purpose, command, runs)| habit(purpose, command, &runs))
        .collect()
}

fn habit(purpose: &str, command: &str, runs: &[&Call<'_>]) -> Extracted {
    let verb = match purpose {
        "lint" => "Check",
        "install" => "Install dependencies",
        other => other,
    };
    let times = if runs.len() > 1 { format!(" {} times in one session", runs.len()) } else { String::new() };
    Extracted {
        kind: Kind::Command,
        title: short(&format!("{} with `{command}`", capitalised(verb)), MAX_TITLE),
        body: short(&format!("`{command}` ran successfully{times}."), MAX_BODY),
        topic_key: Some(format!("command:{command}")),
        files: Vec::new(),
        confidence: (0.4 + 0.05 * runs.len() as f64).min(0.7),
        evidence: ends(runs),
        origin: Origin::Agent,
        at: runs.last().and_then(|call| call.at),
        everywhere: false,
    }
}

/// Whether each step of a command is a step of another, longer one.
fn is_part_of(command: &str, other: &str) -> bool {
    let steps =
        |command: &str| -> Vec<String> { command.split("&&").map(|step| step.trim().to_owned()).collect() };
    let (own, all) = (steps(command), steps(other));
    own.len() < all.len() && own.iter().all(|step| all.contains(step))
}

/// The first and the last runs: where the session turned to it, and that it still does.
fn ends(runs: &[&Call<'_>]) -> Vec<u64> {
    let half = MAX_EVIDENCE / 2;
    let late = runs.len().saturating_sub(half).max(half.min(runs.len()));
    runs.iter().take(half).chain(&runs[late..]).map(|call| call.ordinal).collect()
}

/// A run of one test, one file or one package: useful in that hour only.
fn names_single_case(command: &str) -> bool {
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
                || (word.contains('/') && !word.starts_with("./..."))
                || word.contains('*')
                || *word == "--"
                || matches!(*word, "-k" | "-t" | "--run" | "-run" | "--filter" | "--grep" | "-g")
        })
}

static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(?:(?:root\ )?cause\ (?:is|was)|(?:issue|problem|failure|error|reason|culprit|bug|hang)\ (?:is|was|comes\ from|came\ from)\ (?:that\ |because\ |due\ to\ )?
        |because|due\ to|doesn['’]t\ support|does\ not\ support|don['’]t\ support|requires|only\ works|must\ be|(?:machine|system|environment)\ is\ missing|(?:is|are)\ not\ installed|which\ explains|never\ (?:stops|starts|runs|returns|exits|closes))\b",
    )
    .expect("a valid pattern")
});

/// What the agent said right after a failure about why it failed: a sentence that names a cause and shares a telling
/// word with the failed command or its output.
pub(super) fn causes(events: &[&(u64, Event)], calls: &[Call<'_>]) -> Vec<Extracted> {
    let answers: Vec<&(u64, Event)> = events
        .iter()
        .copied()
        .filter(|(_, e)| e.kind == EventKind::Answer && e.origin == Origin::Agent)
        .collect();
    let mut found = Vec::new();
    for failed in calls.iter().filter(|call| call.failed) {
        let first = answers.partition_point(|(ordinal, _)| *ordinal <= failed.ordinal);
        let after =
            answers[first..].iter().take_while(|(ordinal, _)| *ordinal <= failed.ordinal + CAUSE_WINDOW);
        let telling = LazyCell::new(|| telling_words(failed));
        let cause = after.copied().find_map(|(ordinal, event)| {
            let sentence = sentences(&event.text, true).into_iter().find(|sentence| {
                CAUSE.is_match(sentence) && gate::is_asserted(sentence) && shares_word(sentence, &telling)
            })?;
            Some((*ordinal, event, sentence))
        });
        let Some((ordinal, event, sentence)) = cause else { continue };
        found.push(Extracted {
            kind: Kind::Lesson,
            title: short(&capitalised(sentence.trim_end_matches(['.', ':'])), MAX_TITLE),
            body: short(sentence, MAX_BODY),
            topic_key: None,
            files: files(sentence),
            confidence: 0.5,
            evidence: vec![failed.ordinal, ordinal],
            origin: Origin::Agent,
            at: event.at.or(failed.at),
            everywhere: false,
        });
        if found.len() == MAX_CAUSES {
            break;
        }
    }
    found
}

/// Words of a failure that are rare enough to connect a sentence with it.
fn telling_words(failed: &Call<'_>) -> Vec<String> {
    let mut words: Vec<String> = shell::lines(failed.output)
        .iter()
        .map(String::as_str)
        .chain([failed.raw.as_str()])
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')))
        .filter(|word| word.chars().count() >= 6)
        .map(str::to_lowercase)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn shares_word(sentence: &str, telling: &[String]) -> bool {
    sentence
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
        .map(str::to_lowercase)
        .any(|word| telling.binary_search(&word).is_ok())
}
