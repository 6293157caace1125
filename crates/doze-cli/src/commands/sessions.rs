//! Which sessions there are: their names, and what became of reading them.

use std::collections::BTreeSet;
use std::io;
use std::ops::Bound;

use clap::Args as ClapArgs;
use doze_protocol::session::{Extraction, SessionItem};
use doze_protocol::{Exit, List, method};
use jiff::Timestamp;
use serde_json::json;

use super::draw;
use super::names::Names;
use crate::app::{self, App};
use crate::error::CommandResult;
use crate::screen::{Screen, fit, one_line, short_ids, width, wrap_within};

/// Sessions that are listed when nobody says how many.
const USUAL: u64 = 20;
/// Characters of a name's beginning that are shown at least, and those of a name that is always shown whole.
const BEGINNING: usize = 8;
const WHOLE: usize = 14;
/// Columns of a cell at most, and of what a session did at least.
const WIDEST: usize = 16;
const LEAST: usize = 12;
/// Between two columns.
const GAP: &str = "  ";

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Only those of this project, by its id, name or path
    #[arg(long)]
    project: Option<String>,
    /// Only those that could not be read when they ended
    #[arg(long)]
    failed: bool,
    /// How many, 1 to 500
    #[arg(long, default_value_t = USUAL)]
    limit: u64,
}

/// `doze sessions`: the newest first.
pub(crate) fn run(app: &mut App, args: &Args) -> CommandResult {
    let params = json!({
        "project": args.project,
        "failed": args.failed,
        "extraction": true,
        "limit": args.limit,
    });
    let answer = app.call(method::SESSION_LIST, params)?;
    let names = Names::ask(app);
    app.show(&answer, |screen, list: &List<SessionItem>| {
        draw_list(screen, list, &names, args.failed, app::now())
    })
}

fn draw_list(
    screen: &mut Screen<'_>,
    list: &List<SessionItem>,
    names: &Names,
    only_failed: bool,
    now: Timestamp,
) -> io::Result<Exit> {
    if list.items.is_empty() {
        screen.line(match only_failed {
            true => "no run failed; all of them:  doze sessions",
            false => "no session yet; agents bring them once they are connected:  doze setup",
        })?;
        return Ok(Exit::Nothing);
    }
    let heads = ["SESSION", "WHEN", "AGENT", "PROJECT", "ROUNDS", "READ"].map(str::to_owned);
    let rows: Vec<[String; 6]> = short_names(&list.items)
        .into_iter()
        .zip(&list.items)
        .map(|(n, one)| cells(n, one, names, now))
        .collect();
    let widths: [usize; 6] = std::array::from_fn(|column| {
        let cells = rows.iter().chain([&heads]).map(|row| width(&row[column]));
        cells.max().unwrap_or_default()
    });
    let lead = widths.iter().map(|width| width + GAP.len()).sum::<usize>();
    let room = screen.columns().saturating_sub(lead).max(LEAST);
    screen.line(screen.dim(&format!("{}WHAT", aligned(&heads, &widths))))?;
    for (row, session) in rows.iter().zip(&list.items) {
        screen.line(format!("{}{}", aligned(row, &widths), fit(&what(session), room)))?;
        if let Some(reason) = session.extraction.as_ref().and_then(reason) {
            for line in wrap_within(reason, "    ", screen.columns(), 3) {
                screen.line(screen.dim(&line))?;
            }
        }
    }
    let has_failed =
        |one: &SessionItem| one.extraction.as_ref().is_some_and(|stands| stands.state == "failed");
    if list.items.iter().any(has_failed) {
        screen.line("read one again:  doze extract SESSION")?;
    }
    if list.next.is_some() {
        screen.line("there are more:  doze sessions --limit 500")?;
    }
    Ok(Exit::Done)
}

/// What a table's row says of a session, before what it did.
fn cells(name: String, session: &SessionItem, names: &Names, now: Timestamp) -> [String; 6] {
    let agent = &session.agent;
    let agent = if agent.harness.is_empty() { &agent.id } else { &agent.harness };
    [
        name,
        draw::ago(now, &session.last_event_at).unwrap_or_default(),
        fit(&one_line(agent), WIDEST),
        fit(
            &session.project.as_deref().map_or_else(|| "–".to_owned(), |project| names.name(project)),
            WIDEST,
        ),
        session.rounds.to_string(),
        one_line(session.extraction.as_ref().map_or("", |stands| &stands.state)),
    ]
}

/// The cells of a row below each other's; numbers end below each other.
fn aligned(cells: &[String; 6], widths: &[usize; 6]) -> String {
    let mut line = String::new();
    for (column, (cell, wide)) in cells.iter().zip(widths).enumerate() {
        let blank = " ".repeat(wide.saturating_sub(width(cell)));
        let is_number = column == 4;
        line += &if is_number { format!("{blank}{cell}{GAP}") } else { format!("{cell}{blank}{GAP}") };
    }
    line
}

/// What a session did, or what was asked for while nobody knows more.
fn what(session: &SessionItem) -> String {
    let summary = session.summary.clone().unwrap_or_default();
    let said = [summary.what, summary.request, summary.goal].into_iter().map(|said| one_line(&said));
    said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| "–".to_owned())
}

/// Why a session was not read. That one waits for a dream needs no explanation.
fn reason(stands: &Extraction) -> Option<&str> {
    let is_told = matches!(stands.state.as_str(), "failed" | "skipped");
    Some(stands.reason.as_str()).filter(|reason| is_told && !reason.is_empty())
}

/// The names as they can be typed: each as long as it takes to fit no other one of the list. Of those that begin with
/// the time the end, as everywhere.
fn short_names(sessions: &[SessionItem]) -> Vec<String> {
    let all: BTreeSet<&str> = sessions.iter().map(|session| session.session.as_str()).collect();
    let shared = |a: &str, b: Option<&&str>| {
        b.map_or(0, |b| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count())
    };
    let short = |session: &SessionItem| {
        let name = session.session.as_str();
        let before = all.range::<str, _>((Bound::Unbounded, Bound::Excluded(name))).next_back();
        let after = all.range::<str, _>((Bound::Excluded(name), Bound::Unbounded)).next();
        let needed = shared(name, before).max(shared(name, after)) + 1;
        let end = short_ids(name);
        let is_taken = || all.iter().any(|other| *other != name && other.ends_with(&end));
        if end != name && name.ends_with(&end) && !is_taken() {
            return end;
        }
        let is_short = name.chars().count() <= WHOLE;
        let length = if is_short { WHOLE } else { needed.max(BEGINNING) };
        one_line(&name.chars().take(length).collect::<String>())
    };
    sessions.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionItem {
        serde_json::from_value(json!({
            "session": name, "project": "p1", "agent": {"id": "alex", "harness": "claude-code"}, "rounds": 12,
            "last_event_at": "2026-11-20T09:00:00Z", "summary": {"what": "Moved the pool to\nforks"},
            "extraction": {"state": "done", "reason": ""},
        }))
        .unwrap()
    }

    fn drawn(items: Vec<SessionItem>, only_failed: bool) -> (String, Exit) {
        let mut out = Vec::new();
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let list = List { items, next: None };
        let exit =
            draw_list(&mut Screen::plain(&mut out), &list, &Names::default(), only_failed, now).unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn sessions_stand_in_a_table_with_the_reason_of_what_failed() {
        let mut failed = session("s-2");
        failed.rounds = 3;
        failed.extraction = Some(Extraction {
            state: "failed".into(),
            reason: "claude failed with exit status: 1: no\u{1b}[2J credit".into(),
            ..Extraction::default()
        });
        failed.summary = None;
        let (text, exit) = drawn(vec![session("0f2c6a1e-1b2c-4d3e-8f90-123456789abc"), failed], false);
        let wanted = "\
SESSION   WHEN  AGENT        PROJECT  ROUNDS  READ    WHAT
0f2c6a1e  3 h   claude-code  p1           12  done    Moved the pool to forks
s-2       3 h   claude-code  p1            3  failed  –
    claude failed with exit status: 1: no[2J credit
read one again:  doze extract SESSION
";
        assert_eq!((text.as_str(), exit), (wanted, Exit::Done));
        let (text, exit) = drawn(Vec::new(), true);
        assert!(text.starts_with("no run failed") && exit == Exit::Nothing, "{text}");
    }

    #[test]
    fn a_name_is_as_long_as_it_takes_to_fit_no_other_one() {
        let short = |names: &[&str]| short_names(&names.iter().map(|name| session(name)).collect::<Vec<_>>());
        let same = "01a229c9-5bd6-4caf-adbe-157048fcabcc";
        let names = ["01a229c9-5bd6-4caf-adbe-157048fcabcc", "01a229c9-5bff-4caf-adbe-157048fcabcc"];
        assert_eq!(short(&names), ["01a229c9-5bd", "01a229c9-5bf"]);
        let timed = ["01a229c9-5bd6-7caf-adbe-157048fcabcc", "01a229c9-5bff-7caf-adbe-157048fcabcd"];
        assert_eq!(short(&timed), ["48fcabcc", "48fcabcd"]);
        let alike = ["01a229c9-5bd6-7caf-adbe-157048fcabcc", "01a229c9-5bff-7caf-adbe-157048fcabcc"];
        assert_eq!(short(&alike), ["01a229c9-5bd", "01a229c9-5bf"]);
        // One session of two harnesses is one name.
        assert_eq!(short(&[same, same]), ["01a229c9", "01a229c9"]);
        assert_eq!(short(&["a-long-session-name", "a-long-session-name-2"])[0], "a-long-session-name");
        assert_eq!(short(&["s-81", "数据库迁移会话"]), ["s-81", "数据库迁移会话"]);
    }
}
