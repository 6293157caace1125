//! Reads the labelled sessions as a dream reads them and compares what the rules find with what a person noted.
//!
//! `cargo run -p doze-eval -- extraction` prints the table; `--show` adds every memory and every missed note of the
//! tuned sessions. The blind sessions were labelled by somebody who had not seen the rules, and nobody tunes on them:
//! `--show` is silent about them.
//!
//! `cargo run -p doze-eval -- recall FILE` asks a store of its own the questions of LongMemEval-oracle, the development
//! half unless `--all` is said; `recall coding` those that the readers of the sessions wrote down. It may not touch anybody's home or socket.

mod labels;
mod recall;
mod score;
mod sessions;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use labels::Part;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let dev = root().join("eval/recall/dev.json");
    let made = match args.as_slice() {
        ["extraction"] => extraction(false),
        ["extraction", "--show"] => extraction(true),
        ["recall", "coding"] => recall::coding(&root()),
        ["recall", file] => recall::conversations(Path::new(file), Some(&dev)),
        ["recall", file, "--all"] => recall::conversations(Path::new(file), None),
        _ => {
            eprintln!("usage: doze-eval extraction [--show] | recall coding | recall FILE [--all]");
            return ExitCode::from(64);
        }
    };
    match made {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("doze-eval: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

fn extraction(shows: bool) -> Result<String, String> {
    let mut scores = Vec::new();
    for labelled in labels::all(&root())? {
        scores.push(score::of(&labelled, &sessions::read(&root(), &labelled)?));
    }
    let shown = scores.iter().filter(|score| shows && score.part == Part::Tuned).map(table::shown);
    Ok(format!("{}{}", table::summary(&scores), shown.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::Labelled;
    use crate::score::Score;

    fn scores(part: Part) -> Vec<Score> {
        let labelled: Vec<Labelled> = labels::all(&root()).unwrap();
        let of_part = labelled.iter().filter(|labelled| labelled.part == part);
        of_part.map(|labelled| score::of(labelled, &sessions::read(&root(), labelled).unwrap())).collect()
    }

    #[test]
    fn the_rules_find_what_they_found_before() {
        let scores = scores(Part::Tuned);
        let memories: Vec<_> = scores.iter().flat_map(|score| &score.memories).collect();
        let notes: Vec<_> = scores.iter().flat_map(|score| &score.notes).collect();
        let right = memories.iter().filter(|memory| memory.points).count();
        let found = notes.iter().filter(|note| note.pointed_at).count();
        assert!(right * 20 >= memories.len() * 17, "{right} of {} memories point at a note", memories.len());
        assert!(found * 5 >= notes.len() * 3, "{found} of {} notes are pointed at", notes.len());
    }

    #[test]
    fn nothing_that_only_looks_like_a_memory_is_kept() {
        for score in [scores(Part::Tuned), scores(Part::Blind)].concat() {
            assert_eq!(score.trapped, Vec::<String>::new(), "{}", score.id);
        }
    }
}
