//! What every command has at hand: the daemon, the clock, and the way answers are shown.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use doze_client::Paths;
use doze_protocol::Exit;
use indicatif::{ProgressBar, ProgressStyle};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::daemon::Daemon;
use crate::error::{CommandError, CommandResult};
use crate::screen::{Screen, clean};

/// Longest wait for an answer that needs no more than a look into the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest wait for work that reads many files or asks a model.
pub(crate) const LONG: Duration = Duration::from_secs(3_600);

/// Pages of a list that are put together at most.
const MAX_PAGES: usize = 1_000;

/// Between two turns of a sign of life.
const TICK: Duration = Duration::from_millis(100);

/// One run of a command.
pub(crate) struct App {
    daemon: Daemon,
    json: bool,
}

impl App {
    pub(crate) fn new(json: bool) -> Self {
        Self { daemon: Daemon::default(), json }
    }

    /// The same, speaking to the daemon at `paths` instead of the user's own.
    pub(crate) fn at(&self, paths: Paths) -> Self {
        Self { daemon: Daemon::at(paths), json: self.json }
    }

    /// Whether the answer is wanted as the daemon gave it.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Calls the daemon and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: impl Serialize) -> Result<Value, CommandError> {
        self.call_within(PATIENCE, method, params)
    }

    /// Calls the daemon and waits for its answer for at most `patience`.
    pub(crate) fn call_within(
        &mut self,
        patience: Duration,
        method: &str,
        params: impl Serialize,
    ) -> Result<Value, CommandError> {
        let params = serde_json::to_value(params).map_err(|error| {
            CommandError::new(Exit::Internal, format!("cannot write the question: {error}"))
        })?;
        self.daemon.call(method, params, patience)
    }

    /// Calls a list's method until its last page and answers all pages as one. With `--json` the first page is
    /// answered as it is, and whoever reads it goes on by its `next`.
    pub(crate) fn call_all(&mut self, method: &str, mut params: Value) -> Result<Value, CommandError> {
        let mut all = self.call(method, params.clone())?;
        let mut pages = 1;
        while let Some(next) = all.get("next").filter(|next| next.is_string() && !self.json).cloned() {
            params["cursor"] = next;
            let mut page = self.call(method, params.clone())?;
            let (Some(items), Some(more)) = (
                all.get_mut("items").and_then(Value::as_array_mut),
                page.get_mut("items").and_then(Value::as_array_mut),
            ) else {
                break;
            };
            items.append(more);
            all["next"] = page["next"].take();
            pages += 1;
            // A cursor that does not move must not keep a person waiting for ever.
            if pages == MAX_PAGES {
                break;
            }
        }
        Ok(all)
    }

    /// Says a line of what is going on: on the standard output, or on stderr with `--json`, where the standard output
    /// holds one document only.
    pub(crate) fn say(&self, line: &str) -> io::Result<()> {
        if self.json {
            return self.note(line);
        }
        Screen::stdout().line(clean(line))
    }

    /// A bar for work in `steps` steps, or a sign of life for work in one; not drawn off a terminal or with `--json`.
    pub(crate) fn bar(&self, steps: u64) -> ProgressBar {
        if self.json || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        if steps < 2 {
            let sign = ProgressBar::new_spinner();
            sign.enable_steady_tick(TICK);
            return sign;
        }
        let bar = ProgressBar::new(steps);
        match ProgressStyle::with_template("{bar:40}  {pos}/{len}  {elapsed}") {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    }

    fn note(&self, line: &str) -> io::Result<()> {
        writeln!(io::stderr().lock(), "{}", clean(line))
    }

    /// Draws something that is no answer of the daemon.
    pub(crate) fn draw(&self, draw: impl FnOnce(&mut Screen<'_>) -> io::Result<()>) -> io::Result<()> {
        draw(&mut Screen::stdout())
    }

    /// Shows an answer: unchanged as one document with `--json`, else as `draw` draws it. `draw` also says how the
    /// command ends, so that the exit status is the same in both forms.
    pub(crate) fn show<T: DeserializeOwned>(
        &self,
        answer: &Value,
        draw: impl FnOnce(&mut Screen<'_>, &T) -> io::Result<Exit>,
    ) -> CommandResult {
        let typed: T = read(answer)?;
        if !self.json {
            return Ok(draw(&mut Screen::stdout(), &typed)?);
        }
        Screen::stdout().document(answer)?;
        Ok(draw(&mut Screen::plain(io::sink()), &typed)?)
    }
}

/// Reads an answer into its type.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, CommandError> {
    T::deserialize(answer).map_err(|error| {
        CommandError::new(Exit::Protocol, format!("the daemon's answer cannot be read: {error}"))
            .hint("install the same version of doze and dozed, then doze stop && doze start")
    })
}

/// The time by which ages are told: the clock, shifted for trials as the daemon's is.
pub(crate) fn now() -> Timestamp {
    let offset =
        std::env::var("DOZE_CLOCK_OFFSET").ok().and_then(|seconds| seconds.trim().parse::<i64>().ok());
    let now = Timestamp::now();
    offset.and_then(|seconds| now.checked_add(SignedDuration::from_secs(seconds)).ok()).unwrap_or(now)
}

/// The time so many days ago, as the daemon reads it.
pub(crate) fn days_ago(days: i64) -> String {
    now().saturating_sub(SignedDuration::from_hours(24 * days)).unwrap_or(Timestamp::MIN).to_string()
}

/// The folder that a command speaks of: the given one, made absolute, else the current one.
pub(crate) fn folder(given: Option<&Path>) -> Result<String, CommandError> {
    absolute(given.unwrap_or_else(|| Path::new(".")))
}

/// A path as the daemon needs it: absolute, because it runs elsewhere. A leading `./` or `.` is dropped.
pub(crate) fn absolute(path: &Path) -> Result<String, CommandError> {
    let path: PathBuf =
        std::path::absolute(path).map_err(|error| CommandError::io(path.display(), &error))?;
    let path: PathBuf = path.components().collect();
    path.into_os_string().into_string().map_err(|path| {
        CommandError::bad_input(format!("{} is not UTF-8", path.display()))
            .hint("rename it, or give another path")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_becomes_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Path::new(".")).unwrap(), here.to_str().unwrap());
        assert_eq!(absolute(Path::new("./a/b")).unwrap(), here.join("a/b").to_str().unwrap());
        assert_eq!(folder(Some(Path::new("/x/"))).unwrap(), "/x");
        assert_eq!(folder(None).unwrap(), here.to_str().unwrap());
    }
}
