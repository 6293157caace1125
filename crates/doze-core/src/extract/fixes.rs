//! What failed and what then worked: commands replaced by better ones, and causes that the agent named after a failure.

use std::cell::LazyCell;
use std::sync::LazyLock;

use regex::Regex;

use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, headline, sentences, short};
use super::shell::{self, Call};
use super::{Extracted, diagnosis, gate, habits};
use crate::model::{Event, EventKind, Kind, Origin};

/// Calls after a failure among which its remedy is looked for.
const WINDOW: usize = 12;
/// Events after a failure in which the agent may name its cause.
const CAUSE_WINDOW: u64 = 8;
/// Causes kept of one session.
const MAX_CAUSES: usize = 4;

/// Failures of the way a command was called, not of the code it worked on.
static MISUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)(?:command\ not\ found|not\ recognized|is\ not\ installed|no\ such\ (?:file|option|command|subcommand|service|task|script)|unknown\ (?:option|argument|flag|command|subcommand|task|script|recipe|shorthand)
        |unrecognized|unexpected\ argument|invalid\ (?:option|argument|value\ for)|missing\ (?:script|required|environment)|no\ rule\ to\ make\ target|(?:does\ not|doesn't)\ (?:contain|have|exist|support)\b.*(?:recipe|script|task|target|command|profile|feature)?
        |no\ (?:tests?|test\ files)\ (?:found|ran|to\ run)|permission\ denied|address\ already\ in\ use|connection\ refused|ECONNREFUSED|ERESOLVE|could\ not\ resolve|fatal\ error:\ \S+:\ no\ such|is\ not\ set|must\ be\ set|unbound\ variable|not\ found\ in|could\ not\ find|cannot\ find|can't\ find|unable\ to\ find|no\ module\ named|cannot\ be\ used|requires\ )",
    )
    .expect("a valid pattern")
});

/// Lessons from pairs of calls.
pub(super) fn find(calls: &[Call<'_>]) -> Vec<Extracted> {
    let found = calls.iter().enumerate().filter_map(|(at, failed)| {
        remedy(failed, &calls[at + 1..]).or_else(|| preparation(failed, &calls[at + 1..]))
    });
    found.collect()
}

/// Commands that make ready what others need.
static PREPARES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:sudo\s+)?(?:docker(?:-compose|\s+compose)\s+(?:\S+\s+)*?up|docker\s+(?:start|run)|podman\s+(?:start|run)|apt(?:-get)?\s+(?:-\S+\s+)*install|dnf\s+install|brew\s+(?:install|services\s+start)|apk\s+add|systemctl\s+(?:--user\s+)?start|service\s+\S+\s+start
        |(?:npm|pnpm|yarn|bun)\s+(?:ci|i|install|add)|corepack\s+enable|pip3?\s+install|uv\s+(?:sync|pip\s+install|add)|poetry\s+install|bundle\s+install|composer\s+install|go\s+(?:mod\s+download|install)|cargo\s+install|rustup\s+(?:component|target|toolchain)\s+(?:add|install)
        |cp\s+\S*(?:example|sample|template)\S*\s+\S+|createdb|git\s+submodule\s+(?:update|init)|git\s+lfs\s+pull|source\s+\S+|(?:just|make)\s+(?:setup|deps|install|bootstrap|db\S*|up))\b",
    )
    .expect("a valid pattern")
});

/// Calls between the one that made ready and the one that worked.
const SOON: usize = 3;

/// What was made ready after a failure, right before the same command worked.
fn preparation(failed: &Call<'_>, later: &[Call<'_>]) -> Option<Extracted> {
    if !failed.failed || !shell::is_tool(&failed.command) {
        return None;
    }
    let cause = shell::lines(failed.output)
        .into_iter()
        .find(|line| MISUSE.is_match(line) && !gate::is_one_off(line))?;
    let later = &later[..later.len().min(WINDOW)];
    let worked = later.iter().position(|call| call.command == failed.command && call.worked)?;
    // Another failure of it in between was mended by something else.
    let since =
        later[..worked].iter().rposition(|call| call.command == failed.command).map_or(0, |at| at + 1);
    let near = worked.saturating_sub(SOON).max(since);
    let (ready, command) = later[near..worked].iter().rev().filter(|call| !call.failed).find_map(|call| {
        let command = shell::lines(&call.raw).into_iter().next()?.trim().to_owned();
        let is_one = command.len() <= MAX_TITLE && !gate::is_one_off(&command);
        (is_one && PREPARES.is_match(&command)).then_some((call, command))
    })?;
    let cause = cause.trim_end_matches('.');
    Some(Extracted {
        kind: Kind::Lesson,
        title: short(&format!("Run `{command}` before `{}`", failed.command), MAX_TITLE),
        body: short(&format!("`{}` failed: {cause}. After `{command}` it worked.", failed.command), MAX_BODY),
        topic_key: None,
        files: Vec::new(),
        confidence: 0.65,
        evidence: vec![failed.ordinal, ready.ordinal, later[worked].ordinal],
        origin: Origin::Tool,
        at: later[worked].at.or(failed.at),
        everywhere: false,
    })
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

/// Calls before a failure among which a narrower run is looked for.
const BEFORE: usize = 30;

/// Where a run of all tests says which failed.
static FAILED_CASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"--- FAIL: (\w[\w/]*)|^FAILED \S*::(\w+)|^test (\S+) \.\.\. FAILED|^not ok \d+ (.{4,80})$|^\s*[✗✕×] (.{4,80})$")
        .expect("a valid pattern")
});

/// Runs of all tests that failed although a narrow one had passed, and that later worked: who changes this again runs
/// them all.
pub(super) fn narrow_runs(calls: &[Call<'_>]) -> Vec<Extracted> {
    let is_test =
        |call: &Call<'_>| shell::is_tool(&call.command) && shell::purpose(&call.command) == Some("test");
    let failing = calls
        .iter()
        .enumerate()
        .filter(|(_, call)| !call.worked && is_test(call) && !habits::names_single_case(&call.command));
    let mut found: Vec<Extracted> = Vec::new();
    for (at, broad) in failing {
        let narrow = calls[at.saturating_sub(BEFORE)..at]
            .iter()
            .rev()
            .find(|call| call.worked && is_test(call) && habits::names_single_case(&call.command));
        let works = calls[at + 1..].iter().any(|call| call.worked && call.command == broad.command);
        let lines = shell::lines(broad.output);
        let case = lines.iter().find_map(|line| FAILED_CASE.captures(line)?.iter().skip(1).flatten().next());
        let (Some(narrow), true, Some(case)) = (narrow, works, case) else { continue };
        let known = found.iter().any(|known| known.body.contains(case.as_str()));
        if known || found.len() == MAX_CAUSES || gate::is_one_off(case.as_str()) {
            continue;
        }
        found.push(Extracted {
            kind: Kind::Lesson,
            title: short(&format!("Run `{}` after a narrow test run passes", broad.command), MAX_TITLE),
            body: short(
                &format!(
                    "`{}` passed, but `{}` failed in `{}`; it worked after more changes.",
                    narrow.command,
                    broad.command,
                    case.as_str()
                ),
                MAX_BODY,
            ),
            topic_key: None,
            files: Vec::new(),
            confidence: 0.55,
            evidence: vec![narrow.ordinal, broad.ordinal],
            origin: Origin::Tool,
            at: broad.at,
            everywhere: false,
        });
    }
    found
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
        let body = match diagnosis::told_failure(failed) {
            Some(failure) => format!("{} {failure}", capitalised(sentence)),
            None => capitalised(sentence),
        };
        found.push(Extracted {
            kind: Kind::Lesson,
            title: headline(&capitalised(sentence.trim_end_matches(['.', ':']))),
            body: short(&body, MAX_BODY),
            topic_key: None,
            files: files(sentence),
            confidence: 0.55,
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
pub(super) fn telling_words(failed: &Call<'_>) -> Vec<String> {
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

pub(super) fn shares_word(sentence: &str, telling: &[String]) -> bool {
    sentence
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
        .map(str::to_lowercase)
        .any(|word| telling.binary_search(&word).is_ok())
}
