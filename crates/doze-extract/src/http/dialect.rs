//! What each server is sent and what it sends back.

use doze_core::url::Address;
use serde_json::{Value, json};

use super::{Api, Endpoint};
use crate::program::Said;
use crate::told::Teller;
use crate::{Key, prompt};

/// Tokens a reply may have: six memories and a summary with room to spare.
const MAX_REPLY_TOKENS: u32 = 2_048;
/// Characters of a refusal that a failure tells.
const TOLD_CHARS: usize = 300;
/// The version of Anthropic's interface this was written for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Where a question goes. A part of the path that people copy with the address is not put there twice, and a query
/// stays behind the path.
pub(super) fn address(endpoint: &Endpoint) -> String {
    let Address { scheme, userinfo, place, query } = Address::of(&endpoint.url);
    let base = place.trim_end_matches('/');
    let parts: &[&str] = match endpoint.api {
        Api::OpenAi => &["/chat/completions"],
        Api::Ollama => &["/api", "/chat"],
        Api::Anthropic => &["/v1", "/messages"],
    };
    let all = parts.concat();
    let path = match parts {
        _ if base.ends_with(&all) => "",
        [first, rest] if base.ends_with(first) => *rest,
        _ => &all,
    };
    format!("{scheme}{userinfo}{base}{path}{query}")
}

pub(super) fn headers(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let key = endpoint.key.as_ref().map(Key::secret);
    match endpoint.api {
        Api::Anthropic => {
            let version = [("anthropic-version", ANTHROPIC_VERSION.to_owned())];
            version.into_iter().chain(key.map(|key| ("x-api-key", key.to_owned()))).collect()
        }
        Api::OpenAi | Api::Ollama => {
            key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect()
        }
    }
}

/// What a server is asked, from the most that one may understand to the least: held to a shape as OpenAI names it, as
/// llama.cpp does, and at last what every server of its kind understands.
pub(super) fn requests(endpoint: &Endpoint, prompt: &str) -> Vec<Value> {
    let mut plain = json!({"messages": [{"role": "user", "content": prompt}], "stream": false});
    // A server with one model needs no name.
    if !endpoint.model.is_empty() {
        plain["model"] = json!(endpoint.model);
    }
    let mut held = plain.clone();
    match endpoint.api {
        Api::OpenAi => {
            held["max_tokens"] = json!(MAX_REPLY_TOKENS);
            let mut named = held.clone();
            held["response_format"] = json!({"type": "json_object", "schema": prompt::bounded_schema()});
            let shape = json!({"name": "memories", "strict": true, "schema": prompt::schema()});
            named["response_format"] = json!({"type": "json_schema", "json_schema": shape});
            vec![named, held, plain]
        }
        Api::Ollama => {
            held["options"] = json!({"num_predict": MAX_REPLY_TOKENS});
            held["format"] = prompt::bounded_schema();
            vec![held, plain]
        }
        Api::Anthropic => {
            held["max_tokens"] = json!(MAX_REPLY_TOKENS);
            vec![held]
        }
    }
}

/// The text of an answer; the error says why there is none, where that is known.
pub(super) fn read(api: Api, body: &Value, teller: &Teller) -> Result<Said, Option<String>> {
    let usage = &body["usage"];
    let (message, ended, tokens) = match api {
        Api::OpenAi => {
            let choice = &body["choices"][0];
            let tokens = sum([&usage["prompt_tokens"], &usage["completion_tokens"]]);
            (&choice["message"], &choice["finish_reason"], tokens)
        }
        Api::Ollama => {
            let tokens = sum([&body["prompt_eval_count"], &body["eval_count"]]);
            (&body["message"], &body["done_reason"], tokens)
        }
        Api::Anthropic => {
            (body, &body["stop_reason"], sum([&usage["input_tokens"], &usage["output_tokens"]]))
        }
    };
    if let Some(text) = text_of(&message["content"]) {
        return Ok(Said { text, tokens });
    }
    let is_cut = matches!(ended.as_str(), Some("length" | "max_tokens"));
    let thought =
        ["reasoning_content", "reasoning", "thinking"].iter().find_map(|name| text_of(&message[*name]));
    match thought {
        // Some servers take the whole answer of a reasoning model for its thoughts.
        Some(text) if !is_cut => Ok(Said { text, tokens }),
        _ if is_cut => {
            Err(Some("the model spent its answer on thinking; choose one that thinks less".to_owned()))
        }
        _ => Err(message["refusal"].as_str().map(|said| told(said, teller))),
    }
}

/// Text, or the texts of a list of parts. A part that is a thought is none.
fn text_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| !matches!(part["type"].as_str(), Some("thinking" | "reasoning")))
            .filter_map(|part| part.as_str().or_else(|| part["text"].as_str()))
            .collect(),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Why a server refused, and what to do about it.
pub(super) fn refusal(status: u16, body: &Value, answer: &str, teller: &Teller) -> String {
    let said = body["error"]["message"].as_str().or_else(|| body["error"].as_str());
    let said = told(said.or_else(|| body["message"].as_str()).unwrap_or(answer), teller);
    let hint = match status {
        401 | 403 => "; set extractor.key",
        404 => "; check extractor.url and extractor.model",
        429 => "; it takes no more for now",
        _ => "",
    };
    format!("status {status}: {said}{hint}")
}

/// The start of what a server said, in one line.
pub(super) fn told(said: &str, teller: &Teller) -> String {
    doze_core::text::one_line(&teller.start(said, TOLD_CHARS))
}

fn sum(fields: [&Value; 2]) -> Option<u64> {
    fields.into_iter().filter_map(Value::as_u64).reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed_and_nothing_is_put_there_twice() {
        let table = [
            (Api::OpenAi, "http://h/v1", "http://h/v1/chat/completions"),
            (Api::OpenAi, "http://h/v1/chat/completions/", "http://h/v1/chat/completions"),
            (Api::OpenAi, "http://h/v1?key=k", "http://h/v1/chat/completions?key=k"),
            (Api::OpenAi, "http://me:p@h/v1/?key=a/b", "http://me:p@h/v1/chat/completions?key=a/b"),
            (Api::OpenAi, "http://h?key=k#part", "http://h/chat/completions?key=k"),
            (Api::Ollama, "http://h:11434/", "http://h:11434/api/chat"),
            (Api::Ollama, "http://h:11434/api", "http://h:11434/api/chat"),
            (Api::Anthropic, "https://h", "https://h/v1/messages"),
            (Api::Anthropic, "https://h/v1", "https://h/v1/messages"),
        ];
        for (api, url, expected) in table {
            let endpoint = Endpoint { url: url.into(), api, model: String::new(), key: None };
            assert_eq!(address(&endpoint), expected);
        }
    }

    #[test]
    fn an_answer_is_read_in_every_form() {
        let hit = |api, body: &str| {
            let said = read(api, &serde_json::from_str(body).unwrap(), &Teller::default());
            said.map(|said| (said.text, said.tokens))
        };
        let openai = |message: &str, ended: &str| {
            format!(
                r#"{{"choices":[{{"message":{message},"finish_reason":"{ended}"}}],"usage":{{"prompt_tokens":3,"completion_tokens":4}}}}"#
            )
        };
        let r = |tokens| Ok(("R".to_owned(), tokens));
        for message in [
            r#"{"content":"R"}"#,
            r#"{"content":[{"type":"text","text":"R"}],"reasoning_content":"x"}"#,
            r#"{"content":[{"type":"thinking","text":"x"},{"type":"text","text":"R"}]}"#,
            r#"{"content":["R"]}"#,
            r#"{"content":null,"reasoning_content":"R"}"#,
            r#"{"content":"","reasoning":"R"}"#,
        ] {
            assert_eq!(hit(Api::OpenAi, &openai(message, "stop")), r(Some(7)), "{message}");
        }
        let thinking = hit(Api::OpenAi, &openai(r#"{"content":null,"reasoning":"R"}"#, "length"));
        assert!(thinking.unwrap_err().unwrap().contains("thinks less"));
        let refused = hit(Api::OpenAi, &openai(r#"{"content":null,"refusal":"No."}"#, "stop"));
        assert_eq!(refused, Err(Some("No.".to_owned())));
        let ollama = r#"{"message":{"role":"assistant","content":"R"},"prompt_eval_count":1,"eval_count":2}"#;
        assert_eq!(hit(Api::Ollama, ollama), r(Some(3)));
        let anthropic =
            r#"{"content":[{"type":"text","text":"R"}],"usage":{"input_tokens":1,"output_tokens":1}}"#;
        assert_eq!(hit(Api::Anthropic, anthropic), r(Some(2)));
        for (api, body) in [
            (Api::OpenAi, "{}"),
            (Api::Ollama, "[]"),
            (Api::Anthropic, r#"{"content":7}"#),
            (Api::OpenAi, r#"{"choices":[]}"#),
        ] {
            assert_eq!(hit(api, body), Err(None), "{body}");
        }
    }
}
