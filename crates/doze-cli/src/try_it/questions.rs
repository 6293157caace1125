//! Questions that what was learned can answer, made of its own words.

use doze_protocol::memory::MemoryRecord;

use crate::screen::one_line;

/// Questions that are asked.
const MOST: usize = 2;

/// Words of a title that make a question.
const WORDS: usize = 3;

/// Characters below which a word says too little.
const MIN_CHARS: usize = 4;

/// Words that say nothing of what a title is about.
const EMPTY: &[&str] = &[
    "after", "again", "always", "been", "because", "before", "cause", "change", "decided", "directly",
    "does", "doesn", "during", "every", "from", "have", "instead", "into", "just", "make", "must", "need",
    "needs", "never", "only", "over", "prefer", "root", "running", "should", "start", "starts", "support",
    "than", "that", "their", "them", "then", "there", "these", "this", "those", "until", "used", "uses",
    "using", "when", "where", "which", "while", "will", "with", "without", "would", "your",
];

/// A question, and the project in which it is asked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) project: Option<String>,
}

/// One question a kind of knowledge, from the memories as they come, the best first.
pub(super) fn about(memories: &[MemoryRecord]) -> Vec<Question> {
    let mut kinds: Vec<&str> = Vec::new();
    let mut questions = Vec::new();
    for memory in memories {
        if kinds.contains(&memory.kind.as_str()) {
            continue;
        }
        let Some(text) =
            ask(&memory.kind, if memory.title.is_empty() { &memory.body } else { &memory.title })
        else {
            continue;
        };
        kinds.push(&memory.kind);
        questions.push(Question { text, project: memory.project.clone() });
        if questions.len() == MOST {
            break;
        }
    }
    questions
}

fn ask(kind: &str, title: &str) -> Option<String> {
    if let Some((doing, _)) = title.split_once(" with `").filter(|_| kind == "command") {
        return Some(format!("how do I {}?", one_line(doing).to_lowercase()));
    }
    let words = words(title);
    if words.is_empty() {
        return None;
    }
    let words = words.join(", ");
    Some(match kind {
        "decision" => format!("what was decided about {words}?"),
        "lesson" => format!("what went wrong with {words}?"),
        "command" => format!("which command is it: {words}?"),
        "env_quirk" => format!("what is needed for {words}?"),
        "convention" | "preference" => format!("how do we do it here: {words}?"),
        _ => format!("what is known about {words}?"),
    })
}

/// The first words that say what a title is about.
fn words(title: &str) -> Vec<String> {
    let title = one_line(title);
    let mut words: Vec<String> = Vec::new();
    for word in title.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        let is_latin = word.is_ascii();
        let says_nothing = EMPTY.contains(&word.to_lowercase().as_str())
            || (is_latin && word.chars().count() < MIN_CHARS)
            || word.chars().all(|c| c.is_numeric() || c == '_');
        if !says_nothing && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words.truncate(WORDS);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(kind: &str, title: &str) -> MemoryRecord {
        MemoryRecord {
            kind: kind.to_owned(),
            title: title.to_owned(),
            project: Some("p".to_owned()),
            ..MemoryRecord::default()
        }
    }

    #[test]
    fn questions_are_made_of_what_titles_are_about() {
        let cases = [
            (
                "decision",
                "We decided to use testcontainers instead of docker compose",
                "what was decided about testcontainers, docker, compose?",
            ),
            ("command", "Migrate with `pnpm run migrate`", "how do I migrate?"),
            (
                "env_quirk",
                "Set QUARTZ_PORT before running `make test`",
                "what is needed for QUARTZ_PORT, test?",
            ),
            ("command", "cargo nextest run", "which command is it: cargo, nextest?"),
            ("fact", "数据库 연결", "what is known about 数据库, 연결?"),
        ];
        for (kind, title, wanted) in cases {
            assert_eq!(about(&[memory(kind, title)])[0].text, wanted);
        }
    }

    #[test]
    fn each_kind_is_asked_about_once_and_two_are_enough() {
        let known = [
            memory("lesson", "the of 12"),
            memory("lesson", "The broker never starts without QUARTZ_PORT"),
            memory("lesson", "another lesson"),
            memory("decision", "testcontainers"),
            memory("fact", "staging port"),
        ];
        let asked: Vec<String> = about(&known).into_iter().map(|question| question.text).collect();
        assert_eq!(
            asked,
            ["what went wrong with broker, QUARTZ_PORT?", "what was decided about testcontainers?"]
        );
        assert!(about(&[]).is_empty());
    }
}
