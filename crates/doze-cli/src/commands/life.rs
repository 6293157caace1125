//! The daemon's life: `start`, `stop`, `up`, `status`.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use doze_client::{Paths, create_private_dir};
use doze_protocol::system::{ExtractionStatus, StatusAnswer, StopAnswer};
use doze_protocol::{Exit, method};
use jiff::Timestamp;
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use super::draw::ago;
use super::upkeep::pause_ends;
use crate::app::{self, App};
use crate::daemon;
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, count, one_line, wrap};

/// Longest wait for a daemon that starts: it may have to repair its store.
const READY: Duration = Duration::from_secs(60);

/// Longest wait for a daemon that ends: it finishes what it has begun.
const GONE: Duration = Duration::from_secs(30);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Longest wait for one look.
const LOOK: Duration = Duration::from_secs(2);

/// The daemon's program: beside this one, else in `PATH`.
pub(super) fn dozed() -> Result<PathBuf, CommandError> {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("dozed"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("dozed"));
    beside.into_iter().chain(in_path).find(|program| program.is_file()).ok_or_else(|| {
        CommandError::new(Exit::Unreachable, "the program dozed was not found")
            .hint("install it beside doze, or into a folder of PATH")
    })
}

fn look(paths: &Paths) -> Option<Value> {
    daemon::call_any_version(paths, method::STATUS, json!({}), LOOK).ok()
}

fn is_ready(status: &Value) -> bool {
    status.get("ready").and_then(Value::as_bool) == Some(true)
}

/// `doze start`.
pub(crate) fn start(app: &mut App) -> CommandResult {
    let paths = daemon::paths()?;
    let running = look(&paths);
    let was_running = running.is_some();
    let status = match running {
        Some(status) if is_ready(&status) => status,
        Some(_) => wait_ready(&paths, None)?,
        None => wait_ready(&paths, Some(&mut spawn(&paths, |_| {})?))?,
    };
    app.show(&status, |screen, status: &StatusAnswer| {
        let said = if was_running { "runs already" } else { "started" };
        screen.line(format!("dozed {} {said} (pid {})", one_line(&status.version), status.pid))?;
        Ok(Exit::Done)
    })
}

/// `doze up`: as `start`, for scripts that go on when it is ready.
pub(crate) fn up(app: &mut App) -> CommandResult {
    start(app)
}

/// Waits until a daemon at these places is ready and answers its status. `child` is the one just started, if any: when
/// it ends with an error there is nothing to wait for.
pub(crate) fn wait_ready(paths: &Paths, mut child: Option<&mut Child>) -> Result<Value, CommandError> {
    let deadline = Instant::now() + READY;
    while Instant::now() < deadline {
        if let Some(status) = look(paths).filter(is_ready) {
            return Ok(status);
        }
        if let Some(ended) = child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            // One that ends well lost a race against another, which will be ready soon.
            if !ended.success() {
                return Err(failed_start(paths, ended.code()));
            }
            child = None;
        }
        thread::sleep(PAUSE);
    }
    Err(CommandError::new(Exit::Busy, format!("dozed was not ready within {} s", READY.as_secs()))
        .hint(format!("its log: {}", log_file(paths).display())))
}

fn failed_start(paths: &Paths, code: Option<i32>) -> CommandError {
    let exit = Exit::ALL.iter().copied().find(|exit| Some(i32::from(exit.status())) == code);
    let log = log_file(paths);
    let (said, hint) = last_words(&std::fs::read_to_string(&log).unwrap_or_default());
    let hint = hint.unwrap_or_else(|| format!("its log: {}", log.display()));
    CommandError::new(exit.unwrap_or(Exit::Unreachable), format!("dozed did not start: {said}")).hint(hint)
}

/// What a daemon said last: why it does not start, from the line that begins with its name, and what to do about it.
pub(super) fn last_words(log: &str) -> (String, Option<String>) {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first =
        lines.iter().rposition(|line| line.starts_with("dozed: ")).unwrap_or(lines.len().saturating_sub(1));
    let (hints, said): (Vec<&str>, Vec<&str>) =
        lines.iter().skip(first).partition(|line| line.starts_with('→'));
    let said = said.join(" ");
    let said = said.strip_prefix("dozed: ").unwrap_or(&said);
    let hint = hints.first().map(|hint| hint.trim_start_matches(['→', ' ']).to_owned());
    (if said.is_empty() { "it said nothing".to_owned() } else { said.to_owned() }, hint)
}

fn log_file(paths: &Paths) -> PathBuf {
    paths.logs.join("start.log")
}

/// Starts the program in a process group of its own, so that it outlives this terminal. `prepare` adds what a caller
/// wants otherwise.
pub(crate) fn spawn(paths: &Paths, prepare: impl FnOnce(&mut Command)) -> Result<Child, CommandError> {
    create_private_dir(&paths.logs).map_err(|error| CommandError::new(Exit::Refused, error.to_string()))?;
    let log = open_log(paths).map_err(|error| CommandError::io(log_file(paths).display(), &error))?;
    let program = dozed()?;
    let mut command = Command::new(&program);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).process_group(0);
    prepare(&mut command);
    command.spawn().map_err(|error| CommandError::io(program.display(), &error))
}

/// What the daemon says before its own log is open; only of the last start.
fn open_log(paths: &Paths) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(log_file(paths))
}

/// `doze stop`: asks it to end and waits until it has.
pub(crate) fn stop(app: &mut App) -> CommandResult {
    let paths = daemon::paths()?;
    let answer = match daemon::call_any_version(&paths, method::STOP, json!({}), LOOK) {
        Ok(answer) => answer,
        Err(error) if look(&paths).is_none() => {
            let error = CommandError::from(error);
            return Err(CommandError::new(error.exit, "dozed is not running").hint("start it:  doze up"));
        }
        Err(error) => return Err(error.into()),
    };
    let typed: StopAnswer = app::read(&answer)?;
    let process = i32::try_from(typed.pid).ok().and_then(Pid::from_raw);
    let deadline = Instant::now() + GONE;
    // Asking its socket would make a service manager that listens there start it again.
    while process.is_some_and(|process| test_kill_process(process).is_ok()) {
        if Instant::now() > deadline {
            return Err(CommandError::new(
                Exit::Busy,
                format!("dozed has not ended within {} s", GONE.as_secs()),
            ));
        }
        thread::sleep(PAUSE);
    }
    app.show(&answer, |screen, answer: &StopAnswer| {
        screen.line(format!("dozed has stopped (pid {})", answer.pid))?;
        Ok(Exit::Done)
    })
}

/// `doze status`.
pub(crate) fn status(app: &mut App) -> CommandResult {
    let paths = daemon::paths()?;
    let answer = daemon::call_any_version(&paths, method::STATUS, json!({}), Duration::from_secs(10))?;
    app.show(&answer, |screen, status: &StatusAnswer| draw_status(screen, status, app::now()))
}

/// The one thing to do, if there is one.
fn trouble(status: &StatusAnswer) -> Option<String> {
    let queue = &status.queue;
    if let Some(problem) = &status.problem {
        Some(problem.clone())
    } else if !status.ready {
        Some("it is starting; look again in a moment".to_owned())
    } else if status.spool.quarantined > 0 {
        Some(format!("{} could not be read; see the log", count(status.spool.quarantined, "spooled commit")))
    } else if status.spool.lost > 0 {
        Some(format!(
            "{} lost in the last week: refused, or the spool was full; see the log",
            count(status.spool.lost, "commit")
        ))
    } else if queue.failed > 0 {
        Some(format!(
            "{} not extracted today;  doze sessions --failed  says why, and  doze extract SESSION  tries again",
            count(queue.failed, "run")
        ))
    } else if matches!(status.model.state.as_str(), "failed" | "missing") {
        Some("the model cannot be loaded, so search goes by words alone; see the log".to_owned())
    } else {
        None
    }
}

/// One line when all is well; otherwise first what to do.
fn draw_status(screen: &mut Screen<'_>, status: &StatusAnswer, now: Timestamp) -> io::Result<Exit> {
    let knows = format!(
        "{}, {}, {}",
        count(status.memories, "memory"),
        count(status.sessions, "session"),
        count(status.projects, "project"),
    );
    let next = match (status.dream.running, status.dream.next.as_deref().and_then(|next| ago(now, next))) {
        (true, _) => "dreaming now".to_owned(),
        (false, Some(next)) => format!("next dream {next}"),
        (false, None) if status.dream.why_not.as_deref().is_some_and(|why| why.starts_with("dream.cron")) => {
            "dreams by the clock (dream.cron)".to_owned()
        }
        (false, None) => "no dream planned".to_owned(),
    };
    let trouble = trouble(status);
    if let Some(trouble) = &trouble {
        screen.line(screen.red(&one_line(trouble)))?;
    }
    if let Some(until) = &status.paused_until {
        screen.line(match pause_ends(now, until) {
            Some(until) => format!("paused, goes on {until}; sooner with  doze resume"),
            None => "paused until  doze resume".to_owned(),
        })?;
    }
    let well = if trouble.is_none() { "is well" } else { "runs" };
    screen.line(one_line(&format!("dozed {} {well}: {knows} · {next}", status.version)))?;
    if status.queue.pending + status.queue.running + status.spool.pending > 0 {
        screen.line(format!(
            "  {} waiting, {} running, oldest {} s · {} spooled",
            status.queue.pending, status.queue.running, status.queue.oldest_s, status.spool.pending
        ))?;
    }
    draw_extraction(screen, &status.extraction, now)?;
    if let Some(offset) = status.clock_offset {
        screen.line(format!("  the clock is shifted by {offset} s for a trial"))?;
    }
    if let Some(http) = &status.http {
        screen.line(format!("  page and API at {}", one_line(&http.url)))?;
    }
    Ok(Exit::Done)
}

/// Who reads sessions, what that cost today, and whether it goes on.
fn draw_extraction(screen: &mut Screen<'_>, extraction: &ExtractionStatus, now: Timestamp) -> io::Result<()> {
    if extraction.sentence.is_empty() {
        return Ok(());
    }
    for line in wrap(&extraction.sentence, "  ", screen.columns()) {
        screen.line(line)?;
    }
    let asks = |who: &str| !matches!(who, "" | "off" | "rules");
    if asks(&extraction.extractor) || asks(&extraction.dream_extractor) || extraction.calls_today > 0 {
        let of = |spent: u64, limit: Option<u64>, thing: &str| match limit {
            Some(limit) => format!("{spent} of {}", count(limit, thing)),
            None => count(spent, thing),
        };
        let unreadable = match extraction.unreadable_today {
            0 => String::new(),
            unreadable => format!(", {} could not be read", count(unreadable, "reply")),
        };
        screen.line(screen.dim(&format!(
            "  today: {}, {}{unreadable}",
            of(extraction.calls_today, extraction.budget, "call"),
            of(extraction.tokens_today, extraction.token_budget, "token"),
        )))?;
    }
    if let Some(until) = extraction.spent_until.as_deref().and_then(|until| ago(now, until)) {
        screen.line(format!(
            "  the budget of the day is spent; what waits is read when it begins anew, {until}"
        ))?;
        screen.line("  more a day:  doze config set extractor.calls_per_day N  (or tokens_per_day)")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(status: Value) -> (String, Exit) {
        let status: StatusAnswer = serde_json::from_value(status).unwrap();
        let mut out = Vec::new();
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let exit = draw_status(&mut Screen::plain(&mut out), &status, now).unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    fn well() -> Value {
        json!({"version": "0.1.0", "pid": 7, "ready": true, "memories": 42, "sessions": 1, "projects": 4,
               "dream": {"next": "2026-11-20T17:30:00Z"}})
    }

    #[test]
    fn one_line_when_all_is_well() {
        let (text, exit) = drawn(well());
        assert_eq!(text, "dozed 0.1.0 is well: 42 memories, 1 session, 4 projects · next dream in 5 h\n");
        assert_eq!(exit, Exit::Done);
    }

    #[test]
    fn who_summarises_and_what_it_cost_is_told_where_somebody_does() {
        let mut status = well();
        status["extraction"] = json!({"extractor": "claude", "sentence": "Every run is summarised by claude.",
                                      "calls_today": 3, "budget": 200, "tokens_today": 4711, "unreadable_today": 2,
                                      "spent_until": "2026-11-21T00:00:00Z"});
        status["queue"] = json!({"failed": 1});
        let (text, _) = drawn(status);
        assert!(
            text.starts_with(
                "1 run not extracted today; doze sessions --failed says why, and doze extract SESSION"
            ),
            "{text}"
        );
        let wanted = "\n  Every run is summarised by claude.\n  today: 3 of 200 calls, 4711 tokens, 2 replies could not be read\n  \
                      the budget of the day is spent; what waits is read when it begins anew, in 12 h\n  \
                      more a day:  doze config set extractor.calls_per_day N  (or tokens_per_day)\n";
        assert!(text.ends_with(wanted), "{text}");
        // Who reads is told where nobody is asked, too.
        let mut status = well();
        status["extraction"] =
            json!({"extractor": "off", "dream_extractor": "rules", "sentence": "Facts are found by rules."});
        assert!(drawn(status).0.ends_with("in 5 h\n  Facts are found by rules.\n"));
    }

    #[test]
    fn the_last_words_of_a_daemon_keep_the_line_that_names_the_key() {
        let config = "dozed: /x/doze.toml: dream.cron: expected a text, found 5\n  → correct the configuration; `doze config check` looks at it again\n";
        let (said, hint) = last_words(config);
        assert_eq!(said, "/x/doze.toml: dream.cron: expected a text, found 5");
        assert_eq!(hint.as_deref(), Some("correct the configuration; `doze config check` looks at it again"));
        let before = format!("2026-11-20 INFO Opening\n{config}");
        assert_eq!(last_words(&before).0, said);
        assert_eq!(last_words("Segmentation fault\n\n"), ("Segmentation fault".to_owned(), None));
        assert_eq!(last_words(""), ("it said nothing".to_owned(), None));
    }

    #[test]
    fn what_to_do_comes_first() {
        let mut status = well();
        status["problem"] = json!("the disk is full\u{1b}[2J");
        status["paused_until"] = json!("2026-11-20T12:30:00Z");
        status["spool"] = json!({"pending": 3});
        let (text, exit) = drawn(status);
        let wanted = "the disk is full[2J\n\
                      paused, goes on in 30 min; sooner with  doze resume\n\
                      dozed 0.1.0 runs: 42 memories, 1 session, 4 projects · next dream in 5 h\n  \
                      0 waiting, 0 running, oldest 0 s · 3 spooled\n";
        assert_eq!(text, wanted);
        assert_eq!(exit, Exit::Done);

        let mut status = well();
        status["spool"] = json!({"lost": 2});
        assert!(drawn(status).0.starts_with("2 commits lost in the last week: "));
    }
}
