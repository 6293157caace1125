//! What agents print round a reply.

use serde_json::Value;

use crate::program::Said;
use crate::told::Teller;

/// Characters of a refusal that a failure tells.
const TOLD_CHARS: usize = 300;

/// `{"type":"result","is_error":false,"result":"…","usage":{…}}`, alone, last of a list, or on the last line.
pub(super) fn of_claude(printed: &str) -> Option<Said> {
    let envelope = result_of_claude(printed)?;
    if envelope["is_error"] == Value::Bool(true) {
        return None;
    }
    let usage = &envelope["usage"];
    let counts = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Some(Said { text: some(envelope["result"].as_str()?)?, tokens: sum(usage, &counts) })
}

fn result_of_claude(printed: &str) -> Option<Value> {
    match serde_json::from_str(printed).ok() {
        Some(Value::Array(items)) => items.into_iter().rev().find(|item| item["type"] == "result"),
        Some(object) => Some(object),
        None => objects(printed).filter(|item| item["type"] == "result").last(),
    }
}

/// The last message that was written to a file; else the last one among the events that were printed, which also tell
/// the cost; else all that was printed.
pub(super) fn of_codex(printed: &str, written: Option<String>) -> Option<Said> {
    let (mut last, mut tokens, mut events) = (None, None, false);
    for event in objects(printed) {
        events |= event["type"].is_string();
        if event["item"]["type"] == "agent_message" {
            last = event["item"]["text"].as_str().map(str::to_owned);
        }
        if event["type"] == "turn.completed" {
            tokens = sum(&event["usage"], &["input_tokens", "output_tokens"]);
        }
    }
    let bare = || Some(printed.to_owned()).filter(|_| !events);
    let text = written.as_deref().and_then(some).or(last).or_else(bare)?;
    Some(Said { text: some(&text)?, tokens })
}

/// `{"response":"…","stats":{"models":{NAME:{"tokens":{"total":N}}}}}`, behind whatever was printed before.
pub(super) fn of_gemini(printed: &str) -> Option<Said> {
    let envelope: Value = serde_json::from_str(&printed[printed.find('{')?..]).ok()?;
    let models = envelope["stats"]["models"].as_object();
    let tokens = models.and_then(|all| {
        all.values().filter_map(|model| model["tokens"]["total"].as_u64()).reduce(u64::saturating_add)
    });
    Some(Said { text: some(envelope["response"].as_str()?)?, tokens })
}

/// A JSON object a line; the answer is in those of type `text`.
pub(super) fn of_opencode(printed: &str) -> Option<Said> {
    let (mut text, mut tokens) = (String::new(), None);
    for event in objects(printed) {
        if event["type"] == "text" {
            text.push_str(event["part"]["text"].as_str().unwrap_or_default());
        }
        let spent = sum(&event["part"]["tokens"], &["input", "output"]);
        tokens = [tokens, spent].into_iter().flatten().reduce(u64::saturating_add);
    }
    Some(Said { text: some(&text)?, tokens })
}

/// What an agent says went wrong, in the forms in which they do: `{"is_error":true,"result":"…"}`,
/// `{"error":{"message":"…"}}`, `{"type":"error","message":"…"}`, `{"error":{"data":{"message":"…"}}}`.
pub(super) fn refusal(printed: &str, teller: &Teller) -> Option<String> {
    let whole = printed.find('{').and_then(|at| serde_json::from_str::<Value>(&printed[at..]).ok());
    let said = whole.into_iter().chain(objects(printed)).filter_map(|object| {
        let error = &object["error"];
        let said = [
            &error["message"],
            &error["data"]["message"],
            error,
            Some(&object["message"]).filter(|_| object["type"] == "error").unwrap_or(&Value::Null),
            Some(&object["result"]).filter(|_| object["is_error"] == true).unwrap_or(&Value::Null),
            Some(&object["subtype"]).filter(|_| object["is_error"] == true).unwrap_or(&Value::Null),
        ];
        said.into_iter().find_map(|said| said.as_str().and_then(some))
    });
    said.last().map(|said| teller.start(&said, TOLD_CHARS))
}

fn objects(printed: &str) -> impl Iterator<Item = Value> {
    let lines = printed.lines().filter(|line| line.trim_start().starts_with('{'));
    lines.filter_map(|line| serde_json::from_str(line).ok())
}

fn sum(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().filter_map(|name| usage[*name].as_u64()).reduce(u64::saturating_add)
}

fn some(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: Option<Said>) -> Option<(String, Option<u64>)> {
        said.map(|said| (said.text, said.tokens))
    }

    #[test]
    fn an_answer_is_found_in_each_envelope() {
        let hit = |text: &str, tokens| Some((text.to_owned(), tokens));
        let claude = r#"{"type":"result","is_error":false,"result":"R","usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5}}"#;
        for printed in [
            claude.to_owned(),
            format!("[{{\"type\":\"system\"}},{claude}]"),
            format!("warning\n{{\"type\":\"system\"}}\n{claude}\n"),
        ] {
            assert_eq!(read(of_claude(&printed)), hit("R", Some(12)), "{printed}");
        }
        let codex = "{\"type\":\"thread.started\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"R\"}}\n{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}\n";
        assert_eq!(read(of_codex(codex, None)), hit("R", Some(3)));
        assert_eq!(read(of_codex(codex, Some("W".into()))), hit("W", Some(3)));
        assert_eq!(read(of_codex(r#"{"memories":[]}"#, Some(" ".into()))), hit(r#"{"memories":[]}"#, None));
        let gemini = "Loaded.\n{\"response\":\"R\",\"stats\":{\"models\":{\"a\":{\"tokens\":{\"total\":5}},\"b\":{\"tokens\":{\"total\":2}}}}}";
        assert_eq!(read(of_gemini(gemini)), hit("R", Some(7)));
        let opencode = "{\"type\":\"step_start\"}\n{\"type\":\"text\",\"part\":{\"text\":\"R\"}}\n{\"type\":\"step_finish\",\"part\":{\"tokens\":{\"input\":1,\"output\":2}}}";
        assert_eq!(read(of_opencode(opencode)), hit("R", Some(3)));
    }

    #[test]
    fn an_envelope_without_an_answer_holds_none_and_what_it_says_is_told() {
        let table = [
            (
                r#"{"type":"result","is_error":true,"result":"Credit balance is too low"}"#,
                "Credit balance is too low",
            ),
            (r#"{"type":"result","is_error":true,"subtype":"error_max_turns"}"#, "error_max_turns"),
            ("{\n \"error\": {\"type\":\"ApiError\",\"message\":\"quota\"}\n}", "quota"),
            ("{\"type\":\"turn.started\"}\n{\"type\":\"error\",\"message\":\"no login\"}", "no login"),
            (r#"{"type":"error","error":{"name":"X","data":{"message":"bad model"}}}"#, "bad model"),
        ];
        for (printed, said) in table {
            for found in
                [of_claude(printed), of_codex(printed, None), of_gemini(printed), of_opencode(printed)]
            {
                if !printed.contains("\n \"error\"") {
                    assert!(found.is_none(), "{printed}");
                }
            }
            assert_eq!(refusal(printed, &Teller::default()).as_deref(), Some(said), "{printed}");
        }
        for printed in ["", "{", "}", "null", "7", "\u{feff}", r#"{"result":7}"#, "{\"type\":\"text\"}"] {
            assert!(of_claude(printed).is_none() && of_gemini(printed).is_none(), "{printed}");
            assert!(of_opencode(printed).is_none(), "{printed}");
            assert!(refusal(printed, &Teller::default()).is_none(), "{printed}");
        }
    }
}
