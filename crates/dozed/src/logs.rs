//! Where messages go: the standard error, the journal's way when it is the journal, or files of which a week is kept.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::{Event, Level, Subscriber};
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::config::Settings;

/// Days of which a log file is kept.
const DAYS: usize = 7;
/// Bytes a day: what goes beyond is dropped, since a log that fills the disk is worse than one with a gap.
const BYTES_A_DAY: u64 = 8 * 1024 * 1024;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The files cannot be written.
    #[error("cannot write log files")]
    Files(#[from] tracing_appender::rolling::InitError),
    /// The folder cannot be made.
    #[error("cannot make the log folder")]
    Dir(#[from] doze_client::PrivateDirError),
    /// Another log is in place.
    #[error("a log is already in place")]
    Again(#[from] tracing_subscriber::util::TryInitError),
}

/// Changes the level while the program runs.
#[derive(Debug, Clone)]
pub(crate) struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
}

impl LogLevel {
    /// Puts `level` in force.
    pub(crate) fn set(&self, level: &str) {
        if let Ok(filter) = filter(level) {
            // Fails only when the log is gone, and then there is nothing to change.
            let _ = self.handle.reload(filter);
        }
    }
}

/// Starts the log of this process.
pub(crate) fn start(settings: &Settings, folder: &Path) -> Result<LogLevel, LogError> {
    let (filter, handle) =
        reload::Layer::new(filter(&settings.log_level).unwrap_or_else(|_| EnvFilter::new("info")));
    let layer: Box<dyn Layer<_> + Send + Sync> = if settings.log_target == "file" {
        doze_client::create_private_dir(folder)?;
        let files = RollingFileAppender::builder()
            .rotation(Rotation::DAILY)
            .filename_prefix("dozed")
            .filename_suffix("log")
            .max_log_files(DAYS)
            .build(folder)?;
        let writer = std::sync::Mutex::new(DailyBudget::new(files, BYTES_A_DAY));
        Box::new(tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer))
    } else if is_journal() {
        Box::new(tracing_subscriber::fmt::layer().event_format(Journal::new()).with_writer(io::stderr))
    } else {
        let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Box::new(tracing_subscriber::fmt::layer().with_ansi(colour).with_writer(io::stderr))
    };
    tracing_subscriber::registry().with(filter).with(layer).try_init()?;
    Ok(LogLevel { handle })
}

/// Libraries speak up only when something is wrong, unless everything is wanted.
fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    match level {
        "debug" | "info" => EnvFilter::try_new(format!(
            "warn,dozed={level},doze_engine={level},doze_store={level},doze_search={level},doze_dream={level}"
        )),
        other => EnvFilter::try_new(other),
    }
}

/// Whether the standard error is the journal: `JOURNAL_STREAM` holds its device and inode. The variable alone proves
/// nothing, it is inherited.
fn is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    rustix::fs::fstat(io::stderr()).is_ok_and(|stat| names_stream(&stream, stat.st_dev, stat.st_ino))
}

fn names_stream(stream: &str, device: u64, inode: u64) -> bool {
    stream.split_once(':').is_some_and(|(d, i)| d.parse() == Ok(device) && i.parse() == Ok(inode))
}

/// One line an event with the priority in front, as the journal reads it; time and name come from the journal.
struct Journal {
    inner: Format<Full, ()>,
}

impl Journal {
    fn new() -> Self {
        Self { inner: Format::default().without_time().with_level(false).with_ansi(false) }
    }
}

impl<S, N> FormatEvent<S, N> for Journal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        self.inner.format_event(context, writer, event)
    }
}

/// The numbers of syslog.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// A writer that passes on so many bytes a day and drops the rest, saying so once.
struct DailyBudget<W> {
    inner: W,
    budget: u64,
    day: u64,
    left: u64,
}

impl<W: Write> DailyBudget<W> {
    fn new(inner: W, budget: u64) -> Self {
        Self { inner, budget, day: today(), left: budget }
    }

    fn write_on(&mut self, day: u64, bytes: &[u8]) -> io::Result<usize> {
        if day != self.day {
            self.day = day;
            self.left = self.budget;
        }
        let size = bytes.len() as u64;
        if self.left == 0 {
            return Ok(bytes.len());
        }
        if size > self.left {
            self.left = 0;
            self.inner.write_all(b"The log of this day is full; nothing more is written until tomorrow\n")?;
            return Ok(bytes.len());
        }
        self.left -= size;
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }
}

impl<W: Write> Write for DailyBudget<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_on(today(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_is_told_by_device_and_inode() {
        assert!(names_stream("8:42", 8, 42));
        for stream in ["", "8", "8:43", "9:42", "8:42:1", "a:b"] {
            assert!(!names_stream(stream, 8, 42), "{stream}");
        }
    }

    #[test]
    fn a_day_of_messages_has_a_bound() {
        let mut log = DailyBudget { inner: Vec::new(), budget: 10, day: 1, left: 10 };
        for _ in 0..4 {
            assert_eq!(log.write_on(1, b"12345\n").unwrap(), 6);
        }
        let text = String::from_utf8(log.inner.clone()).unwrap();
        assert_eq!(text.matches("12345").count(), 1);
        assert_eq!(text.matches("is full").count(), 1);
        log.write_on(2, b"12345\n").unwrap();
        assert!(String::from_utf8(log.inner).unwrap().ends_with("12345\n"));
    }

    #[test]
    fn every_level_of_the_table_is_a_filter() {
        for level in ["info", "error", "warn", "debug", "trace"] {
            filter(level).unwrap();
        }
        assert_eq!([Level::ERROR, Level::WARN, Level::INFO, Level::TRACE].map(priority), [3, 4, 6, 7]);
    }
}
