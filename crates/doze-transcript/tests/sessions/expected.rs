//! Every sample against the table of what an independent reader found in it.

use std::collections::HashMap;

use doze_transcript::{Counts, SessionMeta};

use crate::{read_all, sample, sessions};

type Row<'t> = HashMap<&'t str, &'t str>;

/// What the table says differently on purpose, by file and column: a `None` that stands for "not told" there, and a
/// model that an SDK stream tells and the table leaves out.
const DIFFERENT: [(&str, &str); 2] = [
    ("claude-code/39-subagent-parent/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl", "model"),
    ("anthropic-messages/01-action-turns.json", "model"),
];

#[test]
fn every_sample_gives_the_expected_figures() {
    let table = std::fs::read_to_string(sessions().join("EXPECTED.tsv")).unwrap();
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let mut read = 0;
    let mut wrong = Vec::new();
    for line in lines {
        let row: Row<'_> = columns.iter().copied().zip(line.split('\t')).collect();
        let is_readable = !matches!(row["format"], "cursor" | "copilot-cli");
        if is_readable && sessions().join(row["file"]).exists() {
            read += 1;
            wrong.extend(differences(&row));
        }
    }
    assert!(read >= 30, "only {read} samples found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differences(row: &Row<'_>) -> Vec<String> {
    let file = row["file"];
    let (report, _) = read_all(&sample(file));
    assert_eq!(report.format.as_str(), row["format"], "{file}");
    let found = columns(&report.meta, &report.counts);
    let differs = |(column, found): &(&'static str, String)| {
        *found != row[column].replace("\\ud83d", "\u{fffd}") && !DIFFERENT.contains(&(file, *column))
    };
    let found = found.into_iter().filter(differs);
    found
        .map(|(column, found)| format!("{file}: {column} is {found:?}, expected {:?}", row[column]))
        .collect()
}

/// The figures under the table's names.
fn columns(meta: &SessionMeta, counts: &Counts) -> Vec<(&'static str, String)> {
    vec![
        ("records", counts.records.to_string()),
        ("bad_lines", counts.bad_lines.to_string()),
        ("session_id", meta.session_id.clone()),
        ("sessions", meta.sessions.to_string()),
        ("version", meta.version.clone()),
        ("user_prompts", counts.user_prompts.to_string()),
        ("slash_commands", counts.slash_commands.to_string()),
        ("queued_prompts", counts.queued_prompts.to_string()),
        ("assistant_turns", counts.assistant_turns.to_string()),
        ("tool_calls", counts.tool_calls.to_string()),
        ("sidechain_tools", counts.sidechain_tools.to_string()),
        ("compactions", counts.compactions.to_string()),
        ("files_changed", counts.files_changed.to_string()),
        ("commits", counts.commits.to_string()),
        ("tokens_in", counts.tokens_in.to_string()),
        ("tokens_out", counts.tokens_out.to_string()),
        ("tokens_cache_write", counts.tokens_cache_write.to_string()),
        ("tokens_cache_read", counts.tokens_cache_read.to_string()),
        ("model", meta.model.clone()),
        ("start", meta.start.clone()),
        ("end", meta.end.clone()),
        ("cwd", meta.cwd.clone()),
        ("cwds", meta.cwds.to_string()),
        ("git_branch", meta.git_branch.clone()),
        ("branches", meta.branches.to_string()),
        ("first_prompt", counts.first_prompt.clone()),
    ]
}
