//! How answers look: plain text in 80 columns, ages instead of times, colour only where it helps and is wanted.

mod age;
mod text;

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

pub(crate) use age::age;
pub(crate) use doze_core::text::count;
pub(crate) use text::{clean, fit, one_line, short_ids, tilde, width, wrap, wrap_within};

/// Columns of a screen that is no terminal.
const WIDTH: usize = 80;

/// Columns of a terminal that are made use of: below, lines are folded by the terminal; above, they are hard to read.
const TERMINAL: std::ops::RangeInclusive<usize> = 60..=110;

/// Where a command's answer goes, and how it may look there.
pub(crate) struct Screen<'a> {
    out: Box<dyn Write + 'a>,
    colour: bool,
    columns: usize,
}

impl Screen<'static> {
    /// The standard output: as wide as its terminal, and in colour where that is taken and nobody asked for none.
    pub(crate) fn stdout() -> Self {
        let is_unwanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = io::stdout().is_terminal() && !is_unwanted("NO_COLOR") && !is_dumb;
        let columns = match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).clamp(*TERMINAL.start(), *TERMINAL.end()),
            _ => WIDTH,
        };
        Self { out: Box::new(io::stdout().lock()), colour, columns }
    }
}

impl<'a> Screen<'a> {
    /// A screen without colour that writes to `out`.
    pub(crate) fn plain(out: impl Write + 'a) -> Self {
        Self { out: Box::new(out), colour: false, columns: WIDTH }
    }

    /// How wide it is.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Prints a line. What came from outside must have gone through [`clean`], [`one_line`] or [`fit`] before.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        writeln!(self.out, "{}", line.as_ref().trim_end())
    }

    /// Prints an empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Prints `left` and, at the right edge, a dimmed `right`; `left` is cut when both do not fit.
    pub(crate) fn row(&mut self, left: &str, right: &str) -> io::Result<()> {
        self.row_after("", left, right)
    }

    /// As [`Screen::row`], after a few columns of our own, which may be painted.
    pub(crate) fn row_after(&mut self, lead: &str, left: &str, right: &str) -> io::Result<()> {
        let room = self.columns.saturating_sub(width(&unpainted(lead)));
        if right.is_empty() {
            return self.line(format!("{lead}{}", fit(left, room)));
        }
        let right = fit(right, self.columns / 2);
        let room = room.saturating_sub(width(&right) + 2);
        let left = fit(left, room);
        let gap = room.saturating_sub(width(&left)) + 2;
        writeln!(self.out, "{lead}{left}{:gap$}{}", "", self.dim(&right))
    }

    /// Prints texts that belong to a person's own words or files as they are, without control characters.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        let text = clean(text);
        self.out.write_all(text.as_bytes())?;
        if text.ends_with('\n') || text.is_empty() { Ok(()) } else { writeln!(self.out) }
    }

    /// Prints one JSON document.
    pub(crate) fn document(&mut self, document: &Value) -> io::Result<()> {
        writeln!(self.out, "{document:#}")
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn red(&self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn green(&self, text: &str) -> String {
        self.paint("32", text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The text without what [`Screen::paint`] put round it.
fn unpainted(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    parts.fold(first.to_owned(), |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(draw: impl FnOnce(&mut Screen<'_>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        draw(&mut Screen::plain(&mut out)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_fits_the_width_whatever_stands_in_it() {
        for left in ["short", &"long ".repeat(40), &"数据库".repeat(40)] {
            let line = shown(|screen| screen.row(left, "2 d · from you"));
            assert_eq!(width(line.trim_end_matches('\n')), WIDTH, "{line}");
            assert!(line.ends_with("2 d · from you\n"));
        }
        assert_eq!(shown(|screen| screen.row("alone", "")), "alone\n");
    }

    #[test]
    fn a_painted_lead_takes_no_more_room_than_a_plain_one() {
        let mut out = Vec::new();
        let mut screen = Screen { colour: true, ..Screen::plain(&mut out) };
        let lead = format!("  {} ", screen.green("+"));
        screen.row_after(&lead, "Use pnpm", "web").unwrap();
        drop(screen);
        let line = String::from_utf8(out).unwrap();
        assert!(line.starts_with("  \u{1b}[32m+\u{1b}[0m Use pnpm"), "{line:?}");
        assert_eq!(width(unpainted(&line).trim_end_matches('\n')), WIDTH);
    }

    #[test]
    fn colour_is_off_unless_switched_on() {
        let mut out = Vec::new();
        assert_eq!(Screen::plain(&mut out).bold("x"), "x");
        assert_eq!(Screen { colour: true, ..Screen::plain(&mut out) }.bold("x"), "\u{1b}[1mx\u{1b}[0m");
    }

    #[test]
    fn a_text_ends_with_one_newline_and_carries_no_escape() {
        assert_eq!(shown(|screen| screen.text("a\u{1b}]0;t\u{7}\nb")), "a]0;t\nb\n");
        assert_eq!(shown(|screen| screen.text("a\n")), "a\n");
        assert_eq!(shown(|screen| screen.text("")), "");
    }
}
