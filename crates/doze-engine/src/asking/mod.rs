//! Who reads sessions: the choice of an extractor, one sentence about it, its daily budget, and asking it.

mod budget;
mod sentence;

use std::str::FromStr;

use doze_core::model::{OwnerId, Session, Verification};
use doze_core::{redact, text, tokens};
use doze_dream::Proposal;
use doze_extract::reply::{self, RunSummary};
use doze_extract::{Agent, Api, Endpoint, Extractor, Failure, Key, Subject, TIMEOUT, Wish};
use jiff::Timestamp;

use crate::clock::next_day;
use crate::{Engine, EngineError, chain};
pub use budget::Usage;

/// Characters of the title of what was worked on.
const MAX_TITLE: usize = 200;

/// Tokens that are set aside for a reply until it is there: six memories and a summary.
const REPLY_TOKENS: u64 = 2_048;
/// Times the estimate that an answer is taken to have cost at most.
const MOST_TIMES: u64 = 20;

/// What `extractor` and `dream.extractor` may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Who {
    /// Nobody.
    #[default]
    Off,
    /// The rules that need no model.
    Rules,
    /// The agent that did the work (S1.14).
    Auto,
    /// This agent's command line, whoever did the work.
    Agent(Agent),
    /// A model behind HTTP.
    Http,
    /// A program of the person's own.
    Command,
}

impl FromStr for Who {
    type Err = &'static str;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let agent = || Agent::ALL.into_iter().find(|agent| agent.name() == word).map(Self::Agent);
        match word {
            "off" => Ok(Self::Off),
            "rules" => Ok(Self::Rules),
            "auto" => Ok(Self::Auto),
            "http" => Ok(Self::Http),
            "command" => Ok(Self::Command),
            _ => agent().ok_or("expected off, rules, auto, claude, codex, gemini, opencode, http or command"),
        }
    }
}

impl Who {
    /// The names under which the ledger keeps what was read.
    pub(crate) const LEDGERS: [&str; 7] =
        ["rules", "claude", "codex", "gemini", "opencode", "http", "command"];

    /// Whether it says by name who is asked.
    fn is_named(self) -> bool {
        !matches!(self, Self::Off | Self::Rules | Self::Auto)
    }

    /// The word it is configured by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Rules => "rules",
            Self::Auto => "auto",
            Self::Agent(agent) => agent.name(),
            Self::Http => "http",
            Self::Command => "command",
        }
    }
}

/// The settings round extractors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extractors {
    /// `extractor`: who reads a run when it ends.
    pub jobs: Who,
    /// `dream.extractor`: who reads the sessions of a sweep.
    pub dreams: Who,
    /// `extractor.model`: empty for each extractor's own. It belongs to one of the two, as the key does.
    pub model: String,
    /// `extractor.url` and `extractor.api`, for `http`.
    pub url: String,
    /// The language that is spoken there.
    pub api: Option<Api>,
    /// `extractor.key`: for `http`, and for `claude` as the key of the account.
    pub key: Option<Key>,
    /// `command`: the program and its arguments.
    pub command: Vec<String>,
    /// `extractor.calls_per_day`; 0 for no limit.
    pub calls_per_day: u64,
    /// `extractor.tokens_per_day`; 0 for no limit.
    pub tokens_per_day: u64,
}

/// Who is to read one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The rules.
    Rules,
    /// Somebody who is asked, and the name under which the ledger keeps what they read.
    Somebody(Box<Extractor>),
}

impl Asked {
    /// The name in the ledger (`R10`).
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Rules => Who::Rules.as_str(),
            Self::Somebody(extractor) => extractor.name(),
        }
    }

    /// How what they find is marked.
    pub(crate) fn verification(&self) -> Verification {
        match self {
            Self::Rules => Verification::Rule,
            Self::Somebody(_) => Verification::Extraction,
        }
    }
}

/// What somebody who was asked replied, redacted (S1.16).
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Replied {
    pub(crate) summary: Option<RunSummary>,
    pub(crate) proposals: Vec<Proposal>,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The budget of the day is spent; there is more from this time on.
    Spent(Timestamp),
    /// Nobody wants it any more.
    GivenUp,
    /// The extractor could not be run, or failed.
    Failed(String),
    /// It answered something that cannot be read.
    Unparsable,
}

impl Extractors {
    /// Who reads a session of this harness; the error says why nobody does.
    pub(crate) fn reader(&self, who: Who, harness: &str) -> Result<Asked, String> {
        let extractor = match who {
            Who::Off => return Err("no extractor is chosen".to_owned()),
            Who::Rules => return Ok(Asked::Rules),
            Who::Auto => match Agent::of_harness(harness).filter(|agent| summarises_itself(*agent)) {
                // A model that was chosen by name belongs to one agent; each has its own here.
                Some(agent) => agent_of(agent, "", None)?,
                None => return Err(unasked(harness)),
            },
            Who::Agent(agent) => {
                let (model, key) = self.belongings(who);
                agent_of(agent, model, key)?
            }
            Who::Http if self.url.is_empty() => {
                return Err("no address is set; run  doze config set extractor.url URL".to_owned());
            }
            Who::Http => {
                let (model, key) = self.belongings(who);
                let (url, api) = (self.url.clone(), self.api.unwrap_or(Api::OpenAi));
                Extractor::Http(Endpoint { url, api, model: model.to_owned(), key })
            }
            Who::Command => self.program()?,
        };
        Ok(Asked::Somebody(Box::new(extractor)))
    }

    /// Whom the key is for: who is asked by name, and where. `None` when nobody is.
    pub fn key_holder(&self) -> Option<String> {
        let named = [self.jobs, self.dreams].into_iter().find(|who| who.is_named())?;
        Some(match named {
            Who::Http => format!("http at {}", self.url),
            other => other.as_str().to_owned(),
        })
    }

    /// The model and the key of whoever is asked, where they are theirs: they belong to `extractor`, and where that asks
    /// nobody by name to `dream.extractor`. A secret that is meant for one is never shown to another.
    fn belongings(&self, who: Who) -> (&str, Option<Key>) {
        let owner = if self.jobs.is_named() { self.jobs } else { self.dreams };
        if who == owner { (&self.model, self.key.clone()) } else { ("", None) }
    }

    /// Whether anybody but the rules may be asked.
    pub(crate) fn asks_somebody(&self) -> bool {
        [self.jobs, self.dreams].iter().any(|who| !matches!(who, Who::Off | Who::Rules))
    }

    /// The ledger's name of who reads a session of this harness for a dream. Where `auto` knows nobody to ask, and where
    /// nobody is chosen, the rules do.
    pub(crate) fn dream_ledger(&self, harness: &str) -> &'static str {
        match self.dreams {
            Who::Auto => Agent::of_harness(harness)
                .filter(|agent| summarises_itself(*agent))
                .map_or(Who::Rules.as_str(), Agent::name),
            Who::Off => Who::Rules.as_str(),
            who => who.as_str(),
        }
    }

    fn program(&self) -> Result<Extractor, String> {
        let Some((name, arguments)) = self.command.split_first() else {
            return Err("no program is set; set `command` in the configuration".to_owned());
        };
        let program = doze_extract::find(name).map_err(|missing| missing.to_string())?;
        Ok(Extractor::Command { program, arguments: arguments.to_vec() })
    }
}

/// OpenCode runs are not summarised unless OpenCode is chosen (S1.14).
fn summarises_itself(agent: Agent) -> bool {
    agent != Agent::OpenCode
}

fn agent_of(agent: Agent, model: &str, key: Option<Key>) -> Result<Extractor, String> {
    let program = doze_extract::find(agent.name()).map_err(|missing| missing.to_string())?;
    Ok(Extractor::Agent { agent, program, model: some(model), key })
}

/// Why `auto` asks nobody about a session of this harness.
fn unasked(harness: &str) -> String {
    match harness {
        "" => "its agent is unknown, so nobody can be asked about it; name the agent's program with  doze commit --harness"
            .to_owned(),
        harness => format!("{harness} cannot be asked about its own runs"),
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

impl Engine {
    /// Asks once, within the budget of the day. `gave_up` is looked at while the answer is waited for.
    pub(crate) fn ask(
        &self,
        owner: &OwnerId,
        extractor: &Extractor,
        session: &Session,
        digest: &str,
        gave_up: &dyn Fn() -> bool,
    ) -> Result<Result<Replied, Unanswered>, EngineError> {
        if gave_up() {
            return Ok(Err(Unanswered::GivenUp));
        }
        let task = session.task.as_ref();
        let title = task.map(|task| task.title.as_str()).filter(|title| !title.is_empty());
        // A conversation is called by what was asked first.
        let what = session.summary.as_ref().map(|summary| summary.request.as_str());
        let title = text::one_line(text::cut(title.or(what).unwrap_or_default(), MAX_TITLE));
        let subject = Subject {
            title: &title,
            spec: task.map(|task| task.spec.as_str()).filter(|spec| !spec.is_empty()),
        };
        let prompt = doze_extract::prompt(subject, digest);
        let asked = tokens::estimate(&prompt) as u64;
        let most = self.switches().extractors.tokens_per_day;
        if most > 0 && asked + REPLY_TOKENS > most {
            return Ok(Err(Unanswered::Failed(format!(
                "it may cost {} tokens, more than extractor.tokens_per_day allows a day",
                asked + REPLY_TOKENS
            ))));
        }
        let reserved = match self.take_call(owner, asked + REPLY_TOKENS)? {
            Ok(reserved) => reserved,
            Err(until) => return Ok(Err(Unanswered::Spent(until))),
        };
        let again = || self.take_again(owner).unwrap_or_default();
        let answer = extractor.ask(&prompt, TIMEOUT, &Wish { gave_up, again: &again });
        let cost = match &answer {
            // What a server tells is believed within reason.
            Ok(answer) => answer.tokens.min(MOST_TIMES * (asked + REPLY_TOKENS)),
            // It may cost what was asked, whatever became of the answer.
            Err(failure) if failure.was_sent() => asked,
            Err(_) => 0,
        };
        let reply = answer.map(|answer| reply::parse(&answer.text));
        let is_readable = !matches!(reply, Ok(Err(_)));
        self.settle_call(owner, &reserved, cost, is_readable)?;
        Ok(match reply {
            Ok(Ok(reply)) => Ok(replied(reply)),
            Ok(Err(_)) => Err(Unanswered::Unparsable),
            Err(Failure::GivenUp) => Err(Unanswered::GivenUp),
            Err(Failure::Spent) => Err(Unanswered::Spent(next_day(self.now()))),
            // What a program says may quote what it was given.
            Err(failure) => Err(Unanswered::Failed(hidden(&chain(&failure)))),
        })
    }
}

fn replied(reply: reply::Reply) -> Replied {
    let proposals = reply.memories.into_iter().map(|memory| Proposal {
        kind: memory.kind,
        title: hidden(&memory.title),
        body: hidden(&memory.body),
        topic_key: memory.topic_key.as_deref().map(hidden),
        files: memory.files.iter().map(|file| hidden(file)).collect(),
        confidence: memory.confidence,
    });
    let summary = reply.summary.map(|summary| RunSummary {
        request: hidden(&summary.request),
        work_done: hidden(&summary.work_done),
        outcome: hidden(&summary.outcome),
        open_items: summary.open_items.iter().map(|item| hidden(item)).collect(),
    });
    Replied { summary, proposals: proposals.collect() }
}

fn hidden(text: &str) -> String {
    redact::redact(text).text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(jobs: &str) -> Extractors {
        Extractors { jobs: jobs.parse().unwrap(), ..Extractors::default() }
    }

    #[test]
    fn every_word_of_the_configuration_is_one_choice() {
        for word in ["off", "rules", "auto", "claude", "codex", "gemini", "opencode", "http", "command"] {
            assert_eq!(word.parse::<Who>().unwrap().as_str(), word);
        }
        assert!("gpt".parse::<Who>().is_err());
    }

    #[test]
    fn nobody_reads_where_nobody_can_and_the_reason_is_told() {
        let reason = |extractors: &Extractors, harness: &str| {
            extractors.reader(extractors.jobs, harness).err().unwrap_or_default()
        };
        assert_eq!(reason(&of("off"), "codex"), "no extractor is chosen");
        assert_eq!(reason(&of("auto"), "opencode"), "opencode cannot be asked about its own runs");
        assert!(reason(&of("auto"), "").contains("doze commit --harness"));
        assert!(reason(&of("http"), "").contains("doze config set extractor.url"));
        assert!(reason(&of("command"), "").contains("`command`"));
        let absent = Extractors { command: vec!["no-such-program-anywhere".into()], ..of("command") };
        assert!(reason(&absent, "").contains("no-such-program-anywhere was not found"));
        assert_eq!(of("rules").reader(Who::Rules, ""), Ok(Asked::Rules));
    }

    #[test]
    fn key_and_model_belong_to_one_of_the_two_and_are_shown_to_no_other() {
        let key = || Some(Key::new("sk-1"));
        let asked = |jobs: &str, dreams: &str, who: &str| {
            let extractors = Extractors {
                jobs: jobs.parse().unwrap(),
                dreams: dreams.parse().unwrap(),
                model: "m".into(),
                key: key(),
                ..Extractors::default()
            };
            let (model, key) = extractors.belongings(who.parse().unwrap());
            (model.to_owned(), key)
        };
        for (jobs, dreams, theirs, others) in [
            ("http", "claude", "http", &["claude", "codex"][..]),
            ("claude", "http", "claude", &["http"]),
            ("claude", "rules", "claude", &["http", "gemini"]),
            ("command", "claude", "command", &["claude", "http"]),
            ("off", "http", "http", &["claude"]),
            ("rules", "claude", "claude", &["http"]),
            ("auto", "http", "http", &["claude"]),
            ("http", "http", "http", &["claude"]),
        ] {
            assert_eq!(asked(jobs, dreams, theirs), ("m".to_owned(), key()), "{jobs} {dreams}");
            for other in others {
                assert_eq!(asked(jobs, dreams, other), (String::new(), None), "{jobs} {dreams} {other}");
            }
        }
        // What an endpoint is given is what belongs to it.
        let extractors =
            Extractors { dreams: Who::Http, url: "http://127.0.0.1:1".into(), key: key(), ..of("command") };
        let Ok(Asked::Somebody(extractor)) = extractors.reader(Who::Http, "") else { panic!("it is set") };
        assert!(matches!(*extractor, Extractor::Http(endpoint) if endpoint.key.is_none()));
    }

    #[test]
    fn a_reply_is_redacted_in_every_part() {
        let secret = format!("ghp_{}", "a1B2".repeat(9));
        let text = format!(
            r#"{{"summary":{{"request":"{secret}","workDone":"{secret}","outcome":"{secret}","openItems":["{secret}"]}},
            "memories":[{{"type":"lesson","title":"t {secret}","body":"b {secret}","topicKey":"{secret}","files":["{secret}"]}}]}}"#
        );
        let replied = replied(reply::parse(&text).unwrap());
        assert_eq!(replied.proposals.len(), 1);
        assert!(!format!("{replied:?}").contains(&secret), "{replied:?}");
    }
}
