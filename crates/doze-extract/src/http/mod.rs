//! Models behind HTTP: OpenAI-compatible servers, Ollama, Anthropic.

mod dialect;

use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::Uri;
use ureq::{Agent, Error};

use crate::program::Said;
use crate::{Failure, Key};

/// Bytes of an answer that are read.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// How often the caller is asked whether it still wants the answer.
const ASKED_EVERY: Duration = Duration::from_millis(50);
/// Refusals after which less is asked for: not every server can hold a model to a schema or knows every bound.
const TOO_MUCH_ASKED: &[u16] = &[400, 404, 415, 422, 500, 501];

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
    /// Where the server is, as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// What it speaks.
    pub api: Api,
    /// The model that is asked for.
    pub model: String,
    /// The key it asks for, if any.
    pub key: Option<Key>,
}

/// Asks on a thread of its own, which nobody waits for any longer once the answer is not wanted or does not come.
pub(crate) fn ask(
    endpoint: &Endpoint,
    prompt: &str,
    timeout: Duration,
    gave_up: &dyn Fn() -> bool,
) -> Result<Said, Failure> {
    let (send, answer) = channel();
    let (asked, prompt) = (endpoint.clone(), prompt.to_owned());
    thread::spawn(move || {
        let _ = send.send(asked.ask(&prompt, timeout));
    });
    let deadline = Instant::now() + timeout;
    loop {
        match answer.recv_timeout(ASKED_EVERY) {
            Ok(said) => return said,
            Err(RecvTimeoutError::Timeout) if gave_up() => return Err(Failure::GivenUp),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline + ASKED_EVERY => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(endpoint.too_late(timeout));
            }
        }
    }
}

impl Endpoint {
    fn ask(&self, prompt: &str, timeout: Duration) -> Result<Said, Failure> {
        let deadline = Instant::now() + timeout;
        let agent = self.agent();
        let (mut status, mut answer) = (0, String::new());
        for request in dialect::requests(self, prompt) {
            let left = deadline.saturating_duration_since(Instant::now());
            (status, answer) = self.post(&agent, &request, left).map_err(|failed| match failed {
                Failure::TimedOut { .. } => self.too_late(timeout),
                failed => failed,
            })?;
            if !TOO_MUCH_ASKED.contains(&status) {
                break;
            }
        }
        let body: Value = serde_json::from_str(&answer).unwrap_or_default();
        if !(200..300).contains(&status) {
            return Err(self.failed(dialect::refusal(status, &body, &answer)));
        }
        dialect::read(self.api, &body).map_err(|said| Failure::NoReply {
            who: self.shown(),
            said: said.unwrap_or_else(|| dialect::told(&answer)),
        })
    }

    fn agent(&self) -> Agent {
        let config = Agent::config_builder()
            // A refusal has a body that says why.
            .http_status_as_error(false)
            // A key goes to the address that it was configured for and nowhere else.
            .max_redirects(0);
        // What is said to this machine does not leave it, whatever proxy the environment names.
        if is_loopback(&self.url) { config.proxy(None).build().into() } else { config.build().into() }
    }

    fn post(&self, agent: &Agent, body: &Value, timeout: Duration) -> Result<(u16, String), Failure> {
        let failed = |error: Error| match error {
            Error::Timeout(_) => self.too_late(timeout),
            error => self.failed(meaning(&error)),
        };
        let mut request = agent.post(dialect::address(self)).header("content-type", "application/json");
        for (name, value) in dialect::headers(self) {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(timeout)).build();
        let mut response = request.send(body.to_string()).map_err(failed)?;
        let status = response.status().as_u16();
        if let Some(place) = response.headers().get("location").filter(|_| (300..400).contains(&status)) {
            let place = doze_core::text::cut(place.to_str().unwrap_or_default(), 200).to_owned();
            return Err(self.failed(format!(
                "it only points to {place}; set extractor.url to the address that answers itself"
            )));
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true);
        Ok((status, body.read_to_string().map_err(failed)?))
    }

    fn failed(&self, said: String) -> Failure {
        Failure::Http { url: self.shown(), said }
    }

    fn too_late(&self, timeout: Duration) -> Failure {
        Failure::TimedOut { who: self.shown(), seconds: timeout.as_secs() }
    }

    /// The address without a name and a password in it.
    fn shown(&self) -> String {
        match self.url.split_once("://") {
            Some((scheme, rest)) => {
                let host = rest.split('/').next().unwrap_or_default();
                format!("{scheme}://{}", host.rfind('@').map_or(rest, |at| &rest[at + 1..]))
            }
            None => self.url.clone(),
        }
    }
}

/// What a failed connection means to the person.
fn meaning(error: &Error) -> String {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "nobody answers there; start the server or correct extractor.url".to_owned()
        }
        Error::ConnectionFailed | Error::HostNotFound => {
            format!("{error}; check extractor.url and the network")
        }
        Error::BodyExceedsLimit(_) => format!("its answer is larger than {MAX_ANSWER_BYTES} bytes"),
        Error::BadUri(_) => "extractor.url is no address; write it as http://127.0.0.1:8080/v1".to_owned(),
        Error::Http(_) => {
            "extractor.url or extractor.key holds a character that no request may have".to_owned()
        }
        error => error.to_string(),
    }
}

fn is_loopback(url: &str) -> bool {
    let uri: Option<Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default().to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.is_ok_and(|address| address.is_loopback()) || host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to_without_a_proxy() {
        for url in [
            "http://127.0.0.1:80/v1",
            "http://LOCALHOST/v1",
            "http://[::1]:8080",
            "http://me:pw@127.1.2.3",
            "http://a.localhost",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in
            ["https://api.openai.com/v1", "http://127.0.0.1.example.com", "http://10.0.0.1", "nonsense", ""]
        {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn an_address_is_told_without_a_password() {
        let at = |url: &str| {
            Endpoint { url: url.into(), api: Api::OpenAi, model: String::new(), key: None }.shown()
        };
        assert_eq!(at("http://me:p@ss@127.0.0.1:8080/v1"), "http://127.0.0.1:8080/v1");
        assert_eq!(at("https://h/a@b"), "https://h/a@b");
    }
}
