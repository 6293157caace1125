//! What the output of a failed command proves about the machine: a missing program, a missing variable, a taken port.

use std::sync::LazyLock;

use regex::Regex;

use super::shape::{MAX_BODY, MAX_TITLE, short};
use super::shell::{self, Call};
use super::{Extracted, gate};
use crate::model::{Kind, Origin};

/// Failed calls looked at, and calls after each that may show that the trouble passed.
const MAX_FAILURES: usize = 200;
const MAX_LATER: usize = 400;

/// What is said of a quirk.
struct Quirk {
    title: String,
    body: String,
    confidence: f64,
}

/// How an output tells of a quirk, and what is made of it.
struct Sign {
    pattern: LazyLock<Regex>,
    make: fn(name: &str, failed: &Call<'_>, later: &[Call<'_>]) -> Option<Quirk>,
}

/// The first group of each pattern names the thing.
static SIGNS: [Sign; 3] = [
    Sign {
        pattern: LazyLock::new(|| {
            Regex::new(
                r"(?xi)(?:^|[:\s])(?:([\w.+-]{2,40}):\ (?:command\ )?not\ found$|command\ not\ found:\ ([\w.+-]{2,40})$
                |'([\w.+-]{2,40})'\ is\ not\ recognized\ as|(?:missing|requires|needs|install)\ (?:GNU\ )?`([\w.+-]{2,40})`)",
            )
            .expect("a valid pattern")
        }),
        make: missing_program,
    },
    Sign {
        pattern: LazyLock::new(|| {
            Regex::new(
                r"(?x)(?:(?i:environment\ variable)\ [`'\x22]?([A-Z][A-Z0-9_]{2,50})[`'\x22]?\ (?i:is\ not\ set|not\ set|is\ required|must\ be\ set|is\ missing|not\ found)
                |\b([A-Z][A-Z0-9]*_[A-Z0-9_]{1,50})\b[`'\x22]?:?\ (?i:is\ not\ set|not\ set|must\ be\ set|is\ required|unbound\ variable|parameter\ not\ set)
                |(?i:missing\ (?:required\ )?environment\ variables?):?\ [`'\x22]?([A-Z][A-Z0-9_]{2,50})
                |(?i:set|export)\ [`'\x22]?([A-Z][A-Z0-9]*_[A-Z0-9_]{1,50})[`'\x22]?\ (?i:first|before|to\ continue))",
            )
            .expect("a valid pattern")
        }),
        make: missing_variable,
    },
    Sign {
        pattern: LazyLock::new(|| {
            Regex::new(
                r"(?xi)(?:address\ already\ in\ use[^0-9]{0,30}(?:[\d.]+:|:+|\s|port\ )(\d{2,5})\b|port\ (\d{2,5})\ is\ (?:already\ )?(?:in\ use|allocated|taken)|EADDRINUSE[^0-9]{0,30}:+(\d{2,5})\b)",
            )
            .expect("a valid pattern")
        }),
        make: taken_port,
    },
];

/// One quirk a sign and name, told by the first failure that shows it.
pub(super) fn find(calls: &[Call<'_>]) -> Vec<Extracted> {
    let mut found: Vec<Extracted> = Vec::new();
    for (at, failed) in calls.iter().enumerate().filter(|(_, call)| call.failed).take(MAX_FAILURES) {
        let later = &calls[at + 1..calls.len().min(at + 1 + MAX_LATER)];
        for line in shell::lines(failed.output) {
            for (kind, sign) in ["program", "variable", "port"].iter().zip(&SIGNS) {
                let Some(groups) = sign.pattern.captures(&line) else { continue };
                let Some(name) = groups.iter().skip(1).flatten().next() else { continue };
                let topic = format!("env:{kind}:{}", name.as_str().to_lowercase());
                if found.iter().any(|known| known.topic_key.as_deref() == Some(&topic)) {
                    continue;
                }
                let Some(quirk) = (sign.make)(name.as_str(), failed, later) else {
                    continue;
                };
                found.push(Extracted {
                    kind: Kind::EnvQuirk,
                    title: short(&quirk.title, MAX_TITLE),
                    body: short(&quirk.body, MAX_BODY),
                    topic_key: Some(topic),
                    files: Vec::new(),
                    confidence: quirk.confidence,
                    evidence: vec![failed.ordinal],
                    origin: Origin::Tool,
                    at: failed.at,
                    everywhere: false,
                });
            }
        }
    }
    found
}

/// A program that no later command could run either, and that is no file of the project.
fn missing_program(name: &str, failed: &Call<'_>, later: &[Call<'_>]) -> Option<Quirk> {
    let runs = |call: &Call<'_>| {
        call.raw
            .split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('))
            .any(|word| word == name)
    };
    // What a script complains of may be one of its own functions; programs hardly ever have an underscore.
    let was_called = runs(failed) || !name.contains('_');
    let looks_real =
        name.chars().any(|c| c.is_ascii_alphabetic()) && !name.contains('.') && !is_shell_word(name);
    if !was_called || !looks_real || gate::is_one_off(name) {
        return None;
    }
    let only_asks = |call: &Call<'_>| call.raw.contains("which") || call.raw.contains("command -v");
    if later.iter().any(|call| !call.failed && runs(call) && !only_asks(call)) {
        return None;
    }
    let command = if failed.command.is_empty() {
        String::new()
    } else {
        format!(" `{}` failed for want of it.", failed.command)
    };
    Some(Quirk {
        title: format!("`{name}` is not installed on this machine"),
        body: format!("The shell does not find `{name}`.{command}"),
        confidence: 0.6,
    })
}

fn is_shell_word(name: &str) -> bool {
    matches!(
        name,
        "bash"
            | "sh"
            | "zsh"
            | "line"
            | "file"
            | "command"
            | "not"
            | "module"
            | "page"
            | "error"
            | "env"
            | "exit"
    )
}

/// A variable that a command asks for. What was set later, and worked, is worth more than the complaint.
fn missing_variable(name: &str, failed: &Call<'_>, later: &[Call<'_>]) -> Option<Quirk> {
    let command = &failed.command;
    if command.is_empty() || !shell::is_tool(command) {
        return None;
    }
    let worked = later.iter().any(|call| {
        call.worked
            && (shell::assignments(&call.command).contains(&name)
                || call.raw.contains(&format!("export {name}=")))
    });
    let (rest, confidence) = if worked { ("; with it set, the command worked.", 0.75) } else { (".", 0.55) };
    Some(Quirk {
        title: format!("Set {name} before running `{command}`"),
        body: format!("`{command}` fails while {name} is not set{rest}"),
        confidence,
    })
}

/// A port that something else holds: only when it was met again, or when the agent had to take another one.
fn taken_port(port: &str, failed: &Call<'_>, later: &[Call<'_>]) -> Option<Quirk> {
    let again = later
        .iter()
        .filter(|call| {
            call.failed && call.output.contains(port) && call.output.to_lowercase().contains("in use")
        })
        .count();
    let other = later.iter().any(|call| {
        !call.failed
            && !call.command.is_empty()
            && call.command != failed.command
            && shell::program(&call.command) == shell::program(&failed.command)
            && call.command.to_lowercase().contains("port")
    });
    if again == 0 && !other {
        return None;
    }
    Some(Quirk {
        title: format!("Port {port} is already in use on this machine"),
        body: format!("`{}` could not bind port {port}: something else listens there.", failed.command),
        confidence: 0.5,
    })
}
