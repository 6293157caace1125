//! How a command ends when it does not end well: one message, one exit status, one thing to do next.

use std::fmt;
use std::io::{self, Write};

use doze_protocol::{ErrorKind, Exit, WireError};

/// Why a command failed, and what its caller can do about it.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The exit status.
    pub(crate) exit: Exit,
    /// What went wrong; empty when the screen has said it already.
    pub(crate) message: String,
    /// What to do next; empty when the message says it all.
    pub(crate) hint: String,
}

/// What every command answers: its exit status when it ended well.
pub(crate) type CommandResult = Result<Exit, CommandError>;

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: String::new() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(Exit::BadInput, message)
    }

    /// Something of this machine failed: a file, a process, a pipe.
    pub(crate) fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::NotFound => Exit::BadInput,
            io::ErrorKind::PermissionDenied => Exit::Refused,
            _ => Exit::Internal,
        };
        Self::new(exit, format!("{doing}: {error}"))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Writes the message and the hint to `out`. What came from outside is shown without control characters.
    pub(crate) fn report(&self, out: &mut impl Write) -> io::Result<()> {
        if !self.message.is_empty() {
            writeln!(out, "doze: {}", crate::screen::clean(&self.message))?;
        }
        if !self.hint.is_empty() {
            writeln!(out, "  → {}", crate::screen::clean(&self.hint))?;
        }
        Ok(())
    }
}

/// Writing to the standard output failed; a reader that has gone away is no fault.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::new(Exit::Internal, format!("cannot write the answer: {error}")),
        }
    }
}

impl From<WireError> for CommandError {
    fn from(error: WireError) -> Self {
        // What tells a program what to send tells a person what to type.
        let exit = error.exit();
        let hint = match error.hint == ErrorKind::Invalid.default_hint() {
            true => "the command with --help says what fits".to_owned(),
            false => error.hint,
        };
        Self { exit, message: error.message, hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(error: &CommandError) -> String {
        let mut out = Vec::new();
        error.report(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_says_what_and_what_next() {
        let error = CommandError::usage("no agent goes by that name").hint("doze setup --help");
        assert_eq!(shown(&error), "doze: no agent goes by that name\n  → doze setup --help\n");
        assert_eq!(shown(&CommandError::new(Exit::Nothing, "")), "");
    }

    #[test]
    fn the_daemons_error_keeps_its_kind() {
        let cases = [
            (ErrorKind::NotFound, Exit::Nothing),
            (ErrorKind::Invalid, Exit::BadInput),
            (ErrorKind::Busy, Exit::Busy),
            (ErrorKind::Refused, Exit::Refused),
        ];
        for (kind, exit) in cases {
            assert_eq!(CommandError::from(WireError::new(kind, "m")).exit, exit);
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(shown(&CommandError::bad_input("a\u{1b}[31mb\r")), "doze: a[31mb\n");
    }
}
