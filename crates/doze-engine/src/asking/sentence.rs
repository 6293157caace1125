//! Who reads sessions, in words (S1.15): whoever reads this line knows to whom their sessions go.

use doze_extract::{Agent, Extractor};

use super::{Asked, Extractors, Who, agent_of, summarises_itself};

impl Extractors {
    /// Who reads runs when they end and sessions in dreams, in a sentence each.
    pub(crate) fn sentence(&self) -> String {
        let dreams = self.of_dreams();
        let by_rules = dreams.is_none();
        let runs = match self.jobs {
            Who::Off if by_rules => {
                return "Facts are found by rules at each commit and in dreams; no run is summarised.".to_owned();
            }
            Who::Rules if by_rules => {
                return "Rules read each run when it ends; no model reads your sessions.".to_owned();
            }
            Who::Off => "Facts are found by rules at each commit; no run is summarised when it ends.".to_owned(),
            Who::Rules => "Rules read each run when it ends.".to_owned(),
            Who::Auto => match agents_found() {
                None => "Each run would be summarised by the agent that did it, but none was found on this machine."
                    .to_owned(),
                Some(found) => format!(
                    "Each run is summarised by the agent that did it: {found}; other runs are not summarised."
                ),
            },
            who => match self.reader(who, "") {
                Ok(Asked::Somebody(extractor)) => format!("Every run is summarised by {}.", told(&extractor)),
                Ok(Asked::Rules) => "Every run is summarised by rules.".to_owned(),
                Err(reason) => format!("Every run would be summarised by {}, but {reason}.", who.as_str()),
            },
        };
        let dreams = dreams.unwrap_or_else(|| "Dreams go by rules.".to_owned());
        format!("{runs} {dreams}")
    }

    /// Who reads the sessions of a dream; `None` when the rules do.
    fn of_dreams(&self) -> Option<String> {
        Some(match self.dreams {
            Who::Off | Who::Rules => return None,
            Who::Auto => match agents_found() {
                None => "In dreams each session would be read by the agent that did it, but none was found on this \
                         machine; rules read those of other agents."
                    .to_owned(),
                Some(found) => format!(
                    "In dreams each session is read by the agent that did it: {found}; rules read those of other agents."
                ),
            },
            who => match self.reader(who, "") {
                Ok(Asked::Somebody(extractor)) => {
                    format!("In dreams every session is read by {}.", told(&extractor))
                }
                Ok(Asked::Rules) => return None,
                Err(reason) => {
                    format!("In dreams every session would be read by {}, but {reason}.", who.as_str())
                }
            },
        })
    }

    /// The model that is asked, where one is known for every run.
    pub(crate) fn model_of_jobs(&self) -> Option<String> {
        match self.reader(self.jobs, "") {
            Ok(Asked::Somebody(extractor)) => extractor.model().filter(|model| !model.is_empty()),
            _ => None,
        }
    }
}

/// The agents of this machine that can be asked about their own runs.
fn agents_found() -> Option<String> {
    let agents = Agent::ALL.into_iter().filter(|agent| summarises_itself(*agent));
    let found: Vec<String> =
        agents.filter_map(|agent| agent_of(agent, "", None).ok()).map(|extractor| told(&extractor)).collect();
    (!found.is_empty()).then(|| found.join(", "))
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

#[cfg(test)]
mod tests {
    use doze_extract::Key;

    use super::*;

    fn of(jobs: &str, dreams: &str) -> Extractors {
        Extractors {
            jobs: jobs.parse().unwrap(),
            dreams: dreams.parse().unwrap(),
            url: "http://me:pass@127.0.0.1:8080/v1".into(),
            model: "gemma".into(),
            key: Some(Key::new("sk-1")),
            command: vec!["/bin/sh".into(), "x".into()],
            ..Extractors::default()
        }
    }

    #[test]
    fn one_sentence_says_who_summarises() {
        let http = of("http", "rules");
        assert_eq!(
            http.sentence(),
            "Every run is summarised by gemma at http://127.0.0.1:8080/v1. Dreams go by rules."
        );
        assert_eq!(http.model_of_jobs().as_deref(), Some("gemma"));
        assert!(
            of("command", "off").sentence().starts_with("Every run is summarised by the command /bin/sh.")
        );
        let absent = Extractors { command: vec!["no-such-program".into()], ..of("command", "rules") };
        assert!(
            absent
                .sentence()
                .starts_with("Every run would be summarised by command, but no-such-program was not found")
        );
    }

    #[test]
    fn no_sentence_says_that_no_model_reads_while_one_reads_in_dreams() {
        for (jobs, dreams, says) in [
            ("off", "rules", "Facts are found by rules at each commit and in dreams; no run is summarised."),
            ("off", "off", "Facts are found by rules at each commit and in dreams; no run is summarised."),
            ("rules", "rules", "Rules read each run when it ends; no model reads your sessions."),
        ] {
            assert_eq!(of(jobs, dreams).sentence(), says);
        }
        for jobs in ["off", "rules", "auto", "http", "command"] {
            for dreams in ["auto", "claude", "codex", "gemini", "opencode", "http", "command"] {
                let says = of(jobs, dreams).sentence();
                assert!(says.contains(" In dreams e"), "{jobs} {dreams}: {says}");
                assert!(
                    !says.contains("no model") && !says.contains("and in dreams"),
                    "{jobs} {dreams}: {says}"
                );
            }
            let says = of(jobs, "rules").sentence();
            assert!(!says.contains(" In dreams "), "{jobs}: {says}");
        }
        let two = of("command", "http").sentence();
        // The model belongs to the command, so that nothing is known of that of the server.
        assert!(
            two.ends_with(" In dreams every session is read by the model at http://127.0.0.1:8080/v1."),
            "{two}"
        );
    }
}
