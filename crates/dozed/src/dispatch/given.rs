//! Parameters in the engine's types, with errors that name the field.

use doze_core::model::{AgentId, AgentRef, Space};
use doze_engine::Reader;
use doze_protocol::{Agent, Lines, List, WireError, parse_field};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// An agent; the id stands for a missing name.
pub(super) fn agent(agent: &Agent) -> AgentRef {
    let harness = if agent.harness.is_empty() { harness_of(&agent.id) } else { agent.harness.clone() };
    AgentRef {
        id: AgentId::new(agent.id.clone()),
        name: if agent.name.is_empty() { agent.id.clone() } else { agent.name.clone() },
        harness,
    }
}

/// Hooks call an agent `<harness>` or `<harness>/<agent_type>`; other ids name no harness.
fn harness_of(id: &str) -> String {
    const HARNESSES: &[&str] = &["claude-code", "codex", "gemini", "opencode", "copilot-cli", "cursor", "pi"];
    let head = id.split('/').next().unwrap_or(id);
    if HARNESSES.contains(&head) { head.to_owned() } else { String::new() }
}

/// Who asks, from where, for which spaces.
pub(super) fn reader(
    agent: Option<&Agent>,
    cwd: Option<String>,
    project: Option<String>,
    spaces: Option<&Lines>,
) -> Result<Reader, WireError> {
    Ok(Reader {
        project,
        cwd,
        agent: agent.map(|agent| AgentId::new(agent.id.clone())),
        spaces: words::<Space>("spaces", spaces)?,
    })
}

/// Words of a closed set.
pub(super) fn words<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    given: Option<&Lines>,
) -> Result<Vec<T>, WireError> {
    given.map(|lines| lines.0.iter().map(|word| parse_field(field, word)).collect()).unwrap_or(Ok(Vec::new()))
}

/// A word of a closed set.
pub(super) fn word<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    given: Option<&String>,
) -> Result<Option<T>, WireError> {
    given.map(|word| parse_field(field, word)).transpose()
}

/// The beginning of a window: a time, or the beginning of a local day.
pub(super) fn since(given: Option<&String>) -> Result<Option<Timestamp>, WireError> {
    given.map(|text| moment("since", text, false)).transpose()
}

/// The end of a window: a time, or the end of a local day.
pub(super) fn until(given: Option<&String>) -> Result<Option<Timestamp>, WireError> {
    given.map(|text| moment("until", text, true)).transpose()
}

/// A time with its offset.
pub(super) fn time(field: &str, text: &str) -> Result<Timestamp, WireError> {
    let is_offset_given = text.len() > 10 && text.contains(['T', 't', ' ']);
    let parsed = if is_offset_given { text.parse::<Timestamp>().ok() } else { None };
    parsed.ok_or_else(|| WireError::invalid(field, "expected a time like 2026-01-31T09:30:00+01:00"))
}

fn moment(field: &str, text: &str, is_end: bool) -> Result<Timestamp, WireError> {
    let Some(date) = is_date(text).then(|| text.parse::<Date>().ok()).flatten() else {
        return time(field, text);
    };
    let day = if is_end { date.checked_add(1.day()).unwrap_or(date) } else { date };
    let start = day.to_zoned_datetime(TimeZone::system());
    start.map(|zoned| zoned.timestamp()).map_err(|_| WireError::invalid(field, "the date is out of range"))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// How many records of a list, within a bound that an error names.
pub(super) fn limit(given: Option<u64>, default: usize, max: usize) -> Result<usize, WireError> {
    doze_protocol::check_limit("limit", given, default, max)
}

/// A page of a list that is short enough to be made whole; its cursor is how many came before.
pub(super) fn page<T, R>(
    all: &[T],
    limit: usize,
    cursor: Option<&str>,
    record: impl Fn(&T) -> R,
) -> Result<List<R>, WireError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| WireError::invalid("cursor", "it is not one that a list answered"))?,
    };
    let rest = all.get(start..).unwrap_or_default();
    let next = (rest.len() > limit).then(|| (start + limit).to_string());
    Ok(List { items: rest.iter().take(limit).map(record).collect(), next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_bring_every_item_once() {
        let all = ["a", "b", "c", "d", "e"];
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = page(&all, 2, cursor.as_deref(), |item| (*item).to_owned()).unwrap();
            seen.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert_eq!(page(&all, 2, Some("9"), |item| *item).unwrap(), List { items: Vec::new(), next: None });
        for bad in ["-1", "x", ""] {
            assert!(
                page(&all, 2, Some(bad), |item| *item).unwrap_err().message.starts_with("cursor"),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_window_is_told_in_times_or_whole_days() {
        let at = |text: &str| since(Some(&text.to_owned()));
        assert_eq!(at("2026-01-31T09:30:00+01:00").unwrap(), Some("2026-01-31T08:30:00Z".parse().unwrap()));
        let day = "2026-01-31".to_owned();
        let (start, end) = (since(Some(&day)).unwrap().unwrap(), until(Some(&day)).unwrap().unwrap());
        assert_eq!(end.duration_since(start).as_hours(), 24);
        for bad in ["yesterday", "2026-13-01", "2026-01-31T09:30:00", "", "1700000000"] {
            assert!(at(bad).unwrap_err().message.starts_with("since: "), "{bad}");
        }
    }

    #[test]
    fn a_hooks_agent_names_its_harness() {
        assert_eq!(agent(&Agent::new("claude-code/Explore")).harness, "claude-code");
        assert_eq!(agent(&Agent::new("alex-2")).harness, "");
        assert_eq!(agent(&Agent::new("alex-2")).name, "alex-2");
    }
}
