//! What a hook prints: one JSON document in the agent's own form, or nothing.

use doze_core::{injected, text};
use serde::{Deserialize, Serialize};

use super::Harness;

/// Longest text that is injected, in bytes, the marked block included. Claude Code moves what is longer than 10,000
/// characters into a file, so this stays well below (the daemon's own bound is lower still).
const MAX_CONTEXT_BYTES: usize = 9_000;

/// The daemon's answer to `recall.brief` and `recall.prompt`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Recalled {
    pub(super) text: String,
    pub(super) tokens: u64,
    pub(super) memories: Vec<serde::de::IgnoredAny>,
}

/// A text on its way into an agent's context.
#[derive(Debug)]
pub(super) struct Injection {
    pub(super) event: String,
    /// The text inside its marked block, by which it is known again as our own.
    pub(super) context: String,
    /// A line for the person.
    pub(super) notice: Option<String>,
}

impl Injection {
    /// Wraps what was recalled; nothing when there is nothing to say.
    pub(super) fn new(event: &str, recalled: &Recalled, tell_person: bool) -> Option<Self> {
        let text = recalled.text.trim();
        if text.is_empty() {
            return None;
        }
        let room = MAX_CONTEXT_BYTES.checked_sub(injected::wrap("").len())?;
        let notice = tell_person.then(|| notice(recalled.memories.len(), recalled.tokens));
        Some(Self { event: event.to_owned(), context: injected::wrap(whole_lines(text, room)), notice })
    }

    /// The document to print for `harness`.
    pub(super) fn render(&self, harness: Harness) -> Option<String> {
        let answer = Answer {
            r#continue: (harness == Harness::Codex).then_some(true),
            hook_specific_output: HookSpecificOutput {
                hook_event_name: (harness != Harness::Gemini).then_some(&self.event),
                additional_context: &self.context,
            },
            system_message: self.notice.as_deref(),
        };
        serde_json::to_string(&answer).ok()
    }
}

/// The answer that puts a text into the context. Codex refuses an answer that holds a key its schema does not know, so
/// each agent gets its own keys and no others.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    /// Codex alone has it, and wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#continue: Option<bool>,
    hook_specific_output: HookSpecificOutput<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput<'a> {
    /// Must equal the event; Gemini has no such key.
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_event_name: Option<&'a str>,
    additional_context: &'a str,
}

fn notice(memories: usize, tokens: u64) -> String {
    let memories = text::count(memories as u64, "memory");
    let tokens = text::count(tokens, "token");
    format!("doze: {memories} ({tokens}) given to this session — doze brief --last")
}

/// The longest start of `text` that ends at a line's end and fits `room` bytes; a first line that is longer alone is
/// cut at a character.
fn whole_lines(text: &str, room: usize) -> &str {
    if text.len() <= room {
        return text;
    }
    let fits = text.get(..text.floor_char_boundary(room)).unwrap_or_default();
    fits.rfind('\n').and_then(|end| fits.get(..end)).unwrap_or(fits)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn recalled(text: &str) -> Recalled {
        serde_json::from_value(json!({"text": text, "tokens": 12, "memories": ["a", "b"]})).unwrap()
    }

    fn render(harness: Harness, event: &str, tell_person: bool) -> Value {
        let injection = Injection::new(event, &recalled("- just itest (2d ago)"), tell_person).unwrap();
        serde_json::from_str(&injection.render(harness).unwrap()).unwrap()
    }

    #[test]
    fn each_agent_gets_its_own_form() {
        let context = injected::wrap("- just itest (2d ago)");
        let notice = "doze: 2 memories (12 tokens) given to this session — doze brief --last";
        assert_eq!(
            render(Harness::ClaudeCode, "SessionStart", true),
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}, "systemMessage": notice})
        );
        assert_eq!(
            render(Harness::Codex, "SessionStart", true),
            json!({"continue": true, "systemMessage": notice,
                   "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}})
        );
        assert_eq!(
            render(Harness::Gemini, "SessionStart", true),
            json!({"hookSpecificOutput": {"additionalContext": context}, "systemMessage": notice})
        );
    }

    #[test]
    fn a_prompt_answer_tells_the_person_nothing_and_names_its_own_event() {
        let context = injected::wrap("- just itest (2d ago)");
        assert_eq!(
            render(Harness::ClaudeCode, "UserPromptSubmit", false),
            json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}})
        );
    }

    #[test]
    fn nothing_recalled_is_nothing_said() {
        for text in ["", " \n\t"] {
            assert!(Injection::new("SessionStart", &recalled(text), true).is_none());
        }
    }

    #[test]
    fn one_memory_is_not_plural() {
        assert_eq!(notice(1, 5), "doze: 1 memory (5 tokens) given to this session — doze brief --last");
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_and_stays_below_the_agents_limit() {
        let long = "- ä line of some length\n".repeat(2_000);
        let injection = Injection::new("SessionStart", &recalled(&long), true).unwrap();
        assert!(injection.context.len() <= MAX_CONTEXT_BYTES);
        assert!(injection.context.matches("length").count() == injection.context.matches("- ä").count());
        let unbroken = "ä".repeat(20_000);
        assert!(
            Injection::new("SessionStart", &recalled(&unbroken), true).unwrap().context.len()
                <= MAX_CONTEXT_BYTES
        );
    }
}
