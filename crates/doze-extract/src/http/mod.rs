//! Models behind HTTP: OpenAI-compatible servers, Ollama, Anthropic.

mod dialect;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use doze_core::url;
use serde_json::Value;
use ureq::{Agent, Error};

use crate::program::Said;
use crate::told::Teller;
use crate::{Failure, Key, Wish, json};

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

/// What the thread that asks reports.
enum Step {
    /// The server refused more than it understands: may it be asked for less?
    Again,
    Answered(Result<Said, Failure>),
}

/// Asks on a thread of its own, which nobody waits for any longer once the answer is not wanted or does not come.
pub(crate) fn ask(
    endpoint: &Endpoint,
    teller: &Arc<Teller>,
    prompt: &str,
    timeout: Duration,
    wish: &Wish<'_>,
) -> Result<Said, Failure> {
    let (send, steps) = channel();
    let (permit, permitted) = channel();
    let (asked, prompt, known) = (endpoint.clone(), prompt.to_owned(), Arc::clone(teller));
    thread::spawn(move || {
        // Without a permit, and without anybody who waits, it ends.
        let again = || send.send(Step::Again).is_ok() && permitted.recv().is_ok();
        let said = asked.ask(&prompt, &known, timeout, &again);
        let _ = send.send(Step::Answered(said));
    });
    let deadline = Instant::now() + timeout;
    loop {
        match steps.recv_timeout(ASKED_EVERY) {
            Ok(Step::Answered(said)) => return said,
            Ok(Step::Again) if (wish.again)() => _ = permit.send(()),
            Ok(Step::Again) => return Err(Failure::Spent),
            Err(RecvTimeoutError::Timeout) if (wish.gave_up)() => return Err(Failure::GivenUp),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline + ASKED_EVERY => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(endpoint.too_late(timeout));
            }
        }
    }
}

impl Endpoint {
    fn ask(
        &self,
        prompt: &str,
        teller: &Teller,
        timeout: Duration,
        again: &dyn Fn() -> bool,
    ) -> Result<Said, Failure> {
        let deadline = Instant::now() + timeout;
        let agent = self.agent();
        let (mut status, mut answer) = (0, String::new());
        for (turn, request) in dialect::requests(self, prompt).into_iter().enumerate() {
            if turn > 0 && !again() {
                return Err(Failure::GivenUp);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            (status, answer) = self.post(&agent, &request, teller, left).map_err(|failed| match failed {
                Failure::TimedOut { .. } => self.too_late(timeout),
                failed => failed,
            })?;
            if !TOO_MUCH_ASKED.contains(&status) {
                break;
            }
        }
        let body: Value = serde_json::from_str(&json::whole_characters(&answer)).unwrap_or_default();
        if !(200..300).contains(&status) {
            return Err(self.failed(dialect::refusal(status, &body, &answer, teller)));
        }
        dialect::read(self.api, &body, teller).map_err(|said| Failure::NoReply {
            who: url::shown(&self.url),
            said: said.unwrap_or_else(|| dialect::told(&answer, teller)),
        })
    }

    fn agent(&self) -> Agent {
        let config = Agent::config_builder()
            // A refusal has a body that says why.
            .http_status_as_error(false)
            // A key goes to the address that it was configured for and nowhere else.
            .max_redirects(0);
        // What is said to this machine does not leave it, whatever proxy the environment names.
        if url::is_loopback(&self.url) { config.proxy(None).build().into() } else { config.build().into() }
    }

    fn post(
        &self,
        agent: &Agent,
        body: &Value,
        teller: &Teller,
        timeout: Duration,
    ) -> Result<(u16, String), Failure> {
        let failed = |error: Error| match error {
            Error::Timeout(_) => self.too_late(timeout),
            error if was_reached(&error) => self.failed(meaning(&error)),
            error => Failure::Unreached { url: url::shown(&self.url), said: meaning(&error) },
        };
        // No packing: it would be one more way in which an answer can be broken.
        let mut request = agent.post(dialect::address(self)).header("content-type", "application/json");
        request = request.header("accept-encoding", "identity");
        for (name, value) in dialect::headers(self) {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(timeout)).build();
        let mut response = request.send(body.to_string()).map_err(failed)?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).map(|value| value.as_bytes().to_vec());
        let header = |name: &str| header(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if let Some(place) = header("location").filter(|_| (300..400).contains(&status)) {
            let place = dialect::told(&url::shown(&place), teller);
            return Err(self.failed(format!(
                "it only points to {place}; set extractor.url to the address that answers itself"
            )));
        }
        if let Some(packing) =
            header("content-encoding").filter(|name| !name.eq_ignore_ascii_case("identity"))
        {
            let packing = dialect::told(&packing, teller);
            return Err(self.failed(format!(
                "its answer is packed ({packing}) although plain text was asked for; turn compression off there"
            )));
        }
        let body = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).lossy_utf8(true);
        Ok((status, body.read_to_string().map_err(failed)?))
    }

    fn failed(&self, said: String) -> Failure {
        Failure::Http { url: url::shown(&self.url), said }
    }

    fn too_late(&self, timeout: Duration) -> Failure {
        Failure::TimedOut { who: url::shown(&self.url), seconds: timeout.as_secs() }
    }
}

/// Whether a request got as far as the server.
fn was_reached(error: &Error) -> bool {
    let is_refused = matches!(error, Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused);
    let is_before =
        matches!(error, Error::ConnectionFailed | Error::HostNotFound | Error::BadUri(_) | Error::Http(_));
    !is_refused && !is_before
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
