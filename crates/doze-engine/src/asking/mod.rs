//! Who reads sessions: the choice of an extractor, one sentence about it, its daily budget, and asking it.

mod budget;

use std::str::FromStr;

use doze_core::model::{OwnerId, Session, Verification};
use doze_core::{redact, text};
use doze_dream::Proposal;
use doze_extract::reply::{self, RunSummary};
use doze_extract::{Agent, Api, Endpoint, Extractor, Failure, Key, Subject, TIMEOUT};
use jiff::Timestamp;

use crate::{Engine, EngineError, chain};
pub use budget::Usage;

/// Characters of the title of what was worked on.
const MAX_TITLE: usize = 200;

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
    /// `extractor.model`: empty for each extractor's own.
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
                None => return Err(format!("{} cannot be asked about its own runs", named(harness))),
            },
            Who::Agent(agent) => agent_of(agent, &self.model, self.key.clone())?,
            Who::Http if self.url.is_empty() => {
                return Err("no address is set; run  doze config set extractor.url URL".to_owned());
            }
            Who::Http => Extractor::Http(Endpoint {
                url: self.url.clone(),
                api: self.api.unwrap_or(Api::OpenAi),
                model: self.model.clone(),
                key: self.key.clone(),
            }),
            Who::Command => self.program()?,
        };
        Ok(Asked::Somebody(Box::new(extractor)))
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

    /// One sentence that says who summarises runs (S1.15).
    pub(crate) fn sentence(&self) -> String {
        match self.jobs {
            Who::Off => {
                "Facts are found by rules at each commit and in dreams; no run is summarised.".to_owned()
            }
            Who::Rules => "Rules read each run when it ends; no model reads your sessions.".to_owned(),
            Who::Auto => {
                let agents = Agent::ALL.into_iter().filter(|agent| summarises_itself(*agent));
                let found: Vec<String> = agents
                    .filter_map(|agent| agent_of(agent, "", None).ok())
                    .map(|extractor| told(&extractor))
                    .collect();
                if found.is_empty() {
                    return "Each run would be summarised by the agent that did it, but none was found on this machine."
                        .to_owned();
                }
                let found = found.join(", ");
                format!(
                    "Each run is summarised by the agent that did it: {found}; other runs are not summarised."
                )
            }
            who => match self.reader(who, "") {
                Ok(Asked::Somebody(extractor)) => format!("Every run is summarised by {}.", told(&extractor)),
                Ok(Asked::Rules) => "Every run is summarised by rules.".to_owned(),
                Err(reason) => format!("Every run would be summarised by {}, but {reason}.", who.as_str()),
            },
        }
    }

    /// The model that is asked, where one is known for every run.
    pub(crate) fn model_of_jobs(&self) -> Option<String> {
        match self.reader(self.jobs, "") {
            Ok(Asked::Somebody(extractor)) => extractor.model().filter(|model| !model.is_empty()),
            _ => None,
        }
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

/// An extractor as people read of it: what it is, its model, where it is.
fn told(extractor: &Extractor) -> String {
    let model = extractor.model().filter(|model| !model.is_empty());
    let with = model.as_deref().map(|model| format!(" with {model}")).unwrap_or_default();
    match extractor {
        Extractor::Agent { program, .. } => {
            format!("{}{with} ({})", extractor.name(), program.display())
        }
        Extractor::Command { program, .. } => format!("the command {}", program.display()),
        Extractor::Http(endpoint) => {
            format!("{} at {}", model.as_deref().unwrap_or("the model"), doze_core::url::shown(&endpoint.url))
        }
    }
}

fn named(harness: &str) -> &str {
    if harness.is_empty() { "an unnamed agent" } else { harness }
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
        if let Some(until) = self.take_call(owner)? {
            return Ok(Err(Unanswered::Spent(until)));
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
        let answer = match extractor.ask(&prompt, TIMEOUT, gave_up) {
            Ok(answer) => answer,
            Err(Failure::GivenUp) => return Ok(Err(Unanswered::GivenUp)),
            // What a program says may quote what it was given.
            Err(failure) => return Ok(Err(Unanswered::Failed(hidden(&chain(&failure))))),
        };
        let reply = reply::parse(&answer.text);
        self.count_answer(owner, answer.tokens, reply.is_ok())?;
        Ok(reply.map(replied).map_err(|_| Unanswered::Unparsable))
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
        assert_eq!(reason(&of("auto"), ""), "an unnamed agent cannot be asked about its own runs");
        assert!(reason(&of("http"), "").contains("doze config set extractor.url"));
        assert!(reason(&of("command"), "").contains("`command`"));
        let absent = Extractors { command: vec!["no-such-program-anywhere".into()], ..of("command") };
        assert!(reason(&absent, "").contains("no-such-program-anywhere was not found"));
        assert_eq!(of("rules").reader(Who::Rules, ""), Ok(Asked::Rules));
    }

    #[test]
    fn one_sentence_says_who_summarises() {
        assert!(of("off").sentence().ends_with("no run is summarised."));
        assert!(of("rules").sentence().starts_with("Rules read each run"));
        let http = Extractors {
            url: "http://me:pass@127.0.0.1:8080/v1".into(),
            model: "gemma".into(),
            key: Some(Key::new("sk-1")),
            ..of("http")
        };
        assert_eq!(http.sentence(), "Every run is summarised by gemma at http://127.0.0.1:8080/v1.");
        assert_eq!(http.model_of_jobs().as_deref(), Some("gemma"));
        let program = Extractors { command: vec!["/bin/sh".into(), "x".into()], ..of("command") };
        assert_eq!(program.sentence(), "Every run is summarised by the command /bin/sh.");
        let absent = Extractors { command: vec!["no-such-program".into()], ..of("command") };
        assert!(
            absent
                .sentence()
                .starts_with("Every run would be summarised by command, but no-such-program was not found")
        );
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
