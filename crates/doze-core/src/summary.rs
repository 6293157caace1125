//! What a session did, read from its events and output by rules (S0.10–S0.16).
//!
//! [`summarise`] is called at every end of a turn with the events of the whole session and makes the summary anew:
//! it is linear in the text it reads, and the caller bounds how many events it hands over. What it is not given, it
//! cannot know: of a session too long for memory hand over its first prompt and its newest events.

mod lines;

use std::collections::BTreeSet;

use crate::injected::strip_injected;
use crate::model::{Event, EventKind, Origin, Outcome, Summary, TaskRef, Tokens};
use crate::text::{cut_ellipsis, join_wrapped, one_line, prose_lines};

/// Longest `what`, in characters (S0 fact 14; the others below too).
pub const MAX_WHAT: usize = 200;
/// Most decisions.
pub const MAX_DECISIONS: usize = 5;
/// Most unfinished or open items.
pub const MAX_UNFINISHED: usize = 3;
/// Most next steps.
pub const MAX_NEXT_STEPS: usize = 3;
/// Most commits; of more the newest are kept.
pub const MAX_COMMITS: usize = 5;
/// Longest decision, unfinished item or next step, in characters.
pub const MAX_ITEM: usize = 150;
/// Most changed files that are named.
pub const MAX_FILES: usize = 500;
/// Longest request, goal, progress and account of the work, in characters.
pub const MAX_TEXT: usize = 500;

/// What a summary is made of.
#[derive(Debug, Clone, Copy)]
pub struct SummaryInput<'a> {
    /// The caller's own summary, already parsed.
    pub summary: Option<&'a str>,
    /// What the agent printed.
    pub output: Option<&'a str>,
    /// Files the caller saw change.
    pub changed_files: &'a [String],
    /// Token counts as given.
    pub tokens: Tokens,
    /// How the run went.
    pub outcome: Outcome,
    /// The task, if the caller named one.
    pub task: Option<&'a TaskRef>,
    /// The events of the session, in their order.
    pub events: &'a [Event],
}

/// Makes the summary of a session.
pub fn summarise(input: &SummaryInput<'_>) -> Summary {
    let answers: Vec<String> = input.events.iter().filter_map(answer).collect();
    let output = input.output.map(own_words).filter(|output| !output.trim().is_empty());
    // The newest text speaks of the state at the end; earlier ones speak of what is done by now.
    let last: Vec<&str> = output.as_deref().into_iter().chain(answers.last().map(String::as_str)).collect();
    let all: Vec<&str> =
        output.as_deref().into_iter().chain(answers.iter().rev().map(String::as_str)).collect();

    let request = request(input);
    let what = what(input, &last, &all);
    let unfinished = items(&last, MAX_UNFINISHED, lines::unfinished);
    let files_changed = files(input);
    let commits = commits(input, &output, &answers);
    let told =
        input.summary.is_some() || !last.is_empty() || !files_changed.is_empty() || !commits.is_empty();
    Summary {
        decisions: items(&all, MAX_DECISIONS, lines::decisions),
        next_steps: items(&last, MAX_NEXT_STEPS, lines::next_steps),
        outcome: if told || input.outcome != Outcome::Success { in_words(input.outcome) } else { "unknown" }
            .into(),
        work_done: work_done(input, &last, &what),
        progress: progress(&what, &files_changed, &commits),
        goal: request.clone(),
        open_items: unfinished.clone(),
        tokens: input.tokens,
        request,
        what,
        unfinished,
        files_changed,
        commits,
    }
}

/// What an agent said, without what was injected into it.
fn answer(event: &Event) -> Option<String> {
    let said = event.kind == EventKind::Answer && event.origin == Origin::Agent;
    said.then(|| own_words(&event.text)).filter(|text| !text.trim().is_empty())
}

/// A text without what was injected into it, its broken sentences whole.
fn own_words(text: &str) -> String {
    join_wrapped(&strip_injected(text)).into_owned()
}

/// The first thing that a person asked for, else the task as the orchestrator put it.
fn request(input: &SummaryInput<'_>) -> String {
    let prompts = input.events.iter().filter(|e| e.kind == EventKind::Prompt && e.origin == Origin::Person);
    let prompt = prompts.map(|e| one_line(&strip_injected(&e.text))).find(|text| !text.is_empty());
    let task = || {
        input
            .task
            .into_iter()
            .flat_map(|task| [&task.prompt, &task.title, &task.spec])
            .map(|text| one_line(text))
            .find(|text| !text.is_empty())
    };
    cut_ellipsis(&prompt.or_else(task).unwrap_or_default(), MAX_TEXT).into_owned()
}

/// S0.11 with the fallbacks of fact 15.
fn what(input: &SummaryInput<'_>, last: &[&str], all: &[&str]) -> String {
    const SHORTEST: usize = 10;
    let given = input.summary.map(one_line).filter(|summary| crate::text::width(summary) > SHORTEST);
    let found = given
        .or_else(|| last.iter().find_map(|text| lines::summary_line(text)))
        .or_else(|| last.iter().find_map(|text| lines::what_i_did(&prose_lines(text))))
        // The last answer may be a mere "Done.".
        .or_else(|| all.iter().find_map(|text| lines::last_substantial(&prose_lines(text))))
        // Better a few words of the caller's than none of anybody's.
        .or_else(|| input.summary.map(one_line).filter(|summary| !summary.is_empty()))
        .unwrap_or_else(|| {
            format!(
                "Task {}",
                if input.outcome == Outcome::Success { "completed" } else { in_words(input.outcome) }
            )
        });
    cut_ellipsis(&found, MAX_WHAT).into_owned()
}

fn in_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "completed",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
        Outcome::Interrupted => "interrupted",
    }
}

/// The end of the story in the agent's own words, else `what`.
fn work_done(input: &SummaryInput<'_>, last: &[&str], what: &str) -> String {
    let given = input.summary.map(one_line).filter(|summary| summary.chars().count() > what.chars().count());
    let told = given.or_else(|| last.iter().find_map(|text| lines::account(&prose_lines(text))));
    cut_ellipsis(&told.unwrap_or_else(|| what.to_owned()), MAX_TEXT).into_owned()
}

fn progress(what: &str, files: &[String], commits: &[String]) -> String {
    let mut progress = what.trim_end_matches('.').to_owned();
    match files.len() {
        0 => {}
        1 => progress.push_str("; 1 file changed"),
        n => progress.push_str(&format!("; {n} files changed")),
    }
    if !commits.is_empty() {
        progress.push_str(&format!("; committed {}", commits.join(", ")));
    }
    cut_ellipsis(&progress, MAX_TEXT).into_owned()
}

/// Collects items from texts until `max` different ones are found.
fn items(texts: &[&str], max: usize, find: impl Fn(&[&str], &mut Vec<String>)) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for text in texts {
        let mut found = Vec::new();
        find(&prose_lines(text), &mut found);
        for item in found {
            if kept.len() < max && seen.insert(item.to_lowercase()) {
                kept.push(cut_ellipsis(&item, MAX_ITEM).into_owned());
            }
        }
    }
    kept
}

/// S0.12: the paths told by the caller and by events, each once, cut to their last three segments.
fn files(input: &SummaryInput<'_>) -> Vec<String> {
    let told = input.changed_files.iter().map(String::as_str);
    let seen = input.events.iter().filter(|e| e.kind == EventKind::File).filter_map(|e| e.path.as_deref());
    let mut files = short_paths(told.chain(seen));
    files.truncate(MAX_FILES);
    files
}

/// Paths as they are told (S0.12), each once.
pub(crate) fn short_paths<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let short = paths.into_iter().map(|path| short_path(&one_line(path.as_ref())));
    short.filter(|path| !path.is_empty() && known.insert(path.clone())).collect()
}

/// The last three segments of a path; `/` and `\` both separate.
pub fn short_path(path: &str) -> String {
    let segments: Vec<&str> =
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").collect();
    segments[segments.len().saturating_sub(3)..].join("/")
}

/// S0.13: short hashes the agent told of, that git printed, and those of commit events; the newest last.
fn commits(input: &SummaryInput<'_>, output: &Option<String>, answers: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut answers = answers.iter();
    for event in input.events {
        match event.kind {
            EventKind::Commit => found.extend(lines::commit_event(&event.text)),
            EventKind::Tool => {
                let tool = event.tool.as_ref().filter(|tool| !tool.failed);
                found.extend(tool.into_iter().flat_map(|tool| lines::git_commits(&tool.output)));
            }
            EventKind::Answer if answer(event).is_some() => {
                found.extend(answers.next().into_iter().flat_map(|text| lines::told_commits(text)));
            }
            _ => {}
        }
    }
    if let Some(output) = output {
        found.extend(lines::all_commits(output));
    }
    let mut kept: Vec<String> = Vec::new();
    for hash in found {
        // The same commit may be told with hashes of different length.
        if !kept
            .iter()
            .rev()
            .take(200)
            .any(|known| known.starts_with(&hash) || hash.starts_with(known.as_str()))
        {
            kept.push(hash);
        }
    }
    kept.split_off(kept.len().saturating_sub(MAX_COMMITS))
}

#[cfg(test)]
mod tests;
