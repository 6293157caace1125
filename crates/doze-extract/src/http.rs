//! Models behind HTTP: OpenAI-compatible servers, Ollama, Anthropic.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use crate::program::Said;
use crate::{Failure, Key, prompt};

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Tokens a reply may have: six memories and a summary with room to spare.
const MAX_REPLY_TOKENS: u32 = 4_096;
/// Characters of a refusal that a failure tells.
const TOLD_CHARS: usize = 300;
/// The version of Anthropic's interface this was written for.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Which language a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `POST {url}/chat/completions`, as OpenAI and most local servers have it.
    OpenAi,
    /// `POST {url}/api/chat`.
    Ollama,
    /// `POST {url}/v1/messages`.
    Anthropic,
}

impl std::str::FromStr for Api {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "openai" => Ok(Self::OpenAi),
            "ollama" => Ok(Self::Ollama),
            "anthropic" => Ok(Self::Anthropic),
            _ => Err("expected openai, ollama or anthropic"),
        }
    }
}

/// A model behind HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where the server is, without the path of the call: `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// Which language it speaks.
    pub api: Api,
    /// The model that is asked for.
    pub model: String,
    /// The key it asks for, if any.
    pub key: Option<Key>,
}

pub(crate) fn ask(endpoint: &Endpoint, prompt: &str, timeout: Duration) -> Result<Said, Failure> {
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(timeout))
        // A refusal has a body that says why.
        .http_status_as_error(false)
        // A key goes to the address that it was configured for and nowhere else.
        .max_redirects(0)
        .build()
        .into();
    let (status, answer) = match post(&agent, endpoint, &request(endpoint, prompt, true))? {
        // Not every server can hold a model to a schema.
        (400 | 404 | 422 | 501, _) => post(&agent, endpoint, &request(endpoint, prompt, false))?,
        first => first,
    };
    let body: Value = serde_json::from_str(&answer).unwrap_or_default();
    if !(200..300).contains(&status) {
        return Err(Failure::Http { url: endpoint.url.clone(), said: refusal(status, &body, &answer) });
    }
    read(endpoint.api, &body).ok_or_else(|| Failure::NoReply {
        who: endpoint.url.clone(),
        said: doze_core::text::cut(answer.trim(), TOLD_CHARS).to_owned(),
    })
}

fn post(agent: &Agent, endpoint: &Endpoint, body: &Value) -> Result<(u16, String), Failure> {
    let base = endpoint.url.trim_end_matches('/');
    let path = match endpoint.api {
        Api::OpenAi => "/chat/completions",
        Api::Ollama => "/api/chat",
        Api::Anthropic => "/v1/messages",
    };
    let failed = |error: ureq::Error| Failure::Http { url: endpoint.url.clone(), said: error.to_string() };
    let mut request = agent.post(format!("{base}{path}")).header("content-type", "application/json");
    request = match (endpoint.api, &endpoint.key) {
        (Api::Anthropic, key) => request
            .header("anthropic-version", ANTHROPIC_VERSION)
            .header("x-api-key", key.as_ref().map(Key::secret).unwrap_or_default()),
        (_, Some(key)) => request.header("authorization", format!("Bearer {}", key.secret())),
        (_, None) => request,
    };
    let mut response = request.send(body.to_string()).map_err(failed)?;
    let status = response.status().as_u16();
    let answer =
        response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string().map_err(failed)?;
    Ok((status, answer))
}

fn request(endpoint: &Endpoint, prompt: &str, with_schema: bool) -> Value {
    let mut request = json!({
        "model": endpoint.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": false,
    });
    match endpoint.api {
        Api::OpenAi => {
            request["max_tokens"] = json!(MAX_REPLY_TOKENS);
            if with_schema {
                let shape = json!({"name": "memories", "strict": true, "schema": prompt::schema()});
                request["response_format"] = json!({"type": "json_schema", "json_schema": shape});
            }
        }
        Api::Ollama => {
            request["options"] = json!({"num_predict": MAX_REPLY_TOKENS});
            if with_schema {
                request["format"] = prompt::schema();
            }
        }
        Api::Anthropic => request["max_tokens"] = json!(MAX_REPLY_TOKENS),
    }
    request
}

fn read(api: Api, body: &Value) -> Option<Said> {
    let sum = |fields: [&Value; 2]| fields.into_iter().filter_map(Value::as_u64).reduce(u64::saturating_add);
    let (text, tokens) = match api {
        Api::OpenAi => {
            let usage = &body["usage"];
            let text = body["choices"][0]["message"]["content"].as_str()?.to_owned();
            (text, sum([&usage["prompt_tokens"], &usage["completion_tokens"]]))
        }
        Api::Ollama => {
            let text = body["message"]["content"].as_str()?.to_owned();
            (text, sum([&body["prompt_eval_count"], &body["eval_count"]]))
        }
        Api::Anthropic => {
            let parts = body["content"].as_array()?;
            let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            (text, sum([&body["usage"]["input_tokens"], &body["usage"]["output_tokens"]]))
        }
    };
    Some(Said { text, tokens })
}

fn refusal(status: u16, body: &Value, answer: &str) -> String {
    let said = body["error"]["message"].as_str().or_else(|| body["error"].as_str()).unwrap_or(answer);
    format!("status {status}: {}", doze_core::text::cut(said.trim(), TOLD_CHARS))
}
