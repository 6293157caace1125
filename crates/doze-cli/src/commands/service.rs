//! `doze service install|remove`: the daemon under the system's service manager, for this user alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args as ClapArgs, Subcommand};
use doze_protocol::Exit;

use super::life::dozed;
use crate::app::App;
use crate::error::{CommandError, CommandResult};
use crate::setup::files;

const SERVICE: &str = include_str!("../../../../systemd/doze.service");
const SOCKET: &str = include_str!("../../../../systemd/doze.socket");
const AGENT: &str = include_str!("../../../../launchd/dev.doze.dozed.plist");

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Clone, Copy, Subcommand)]
enum Action {
    /// Start the daemon when it is needed, now and after every login
    Install,
    /// Undo that; what doze knows stays
    Remove,
}

/// `doze service`.
pub(crate) fn run(app: &mut App, args: &Args) -> CommandResult {
    match args.command {
        Action::Install => install(app),
        Action::Remove => remove(app),
    }
}

/// One file of the service manager: where it goes and what is in it.
struct Unit {
    path: PathBuf,
    text: String,
}

/// The units of this system, filled in.
fn units(home: &Path, config: &Path, program: &str, path: &str) -> Vec<Unit> {
    if cfg!(target_os = "macos") {
        let folder = home.join("Library/LaunchAgents");
        return vec![Unit {
            path: folder.join("dev.doze.dozed.plist"),
            text: fill(AGENT, &xml(program), &xml(path)),
        }];
    }
    let folder = config.join("systemd/user");
    // A program with a space or a quote in its path is one word only in quotes.
    let program = format!("\"{}\"", systemd(program).replace('$', "$$"));
    vec![
        Unit { path: folder.join("doze.service"), text: fill(SERVICE, &program, &systemd(path)) },
        Unit { path: folder.join("doze.socket"), text: SOCKET.to_owned() },
    ]
}

fn fill(template: &str, program: &str, path: &str) -> String {
    template.replace("{{dozed}}", program).replace("{{path}}", path)
}

/// Text inside double quotes of a unit file: `%` starts a specifier, `\` and `"` end what was meant.
fn systemd(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%")
}

/// Text of an XML element.
fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Commands that put the units into force, and those that take them out.
fn manager(is_install: bool) -> Vec<Vec<String>> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if cfg!(target_os = "macos") {
        let domain = format!("gui/{}", rustix::process::getuid().as_raw());
        return match is_install {
            true => vec![words(&format!("launchctl bootstrap {domain}"))],
            false => vec![words(&format!("launchctl bootout {domain}/dev.doze.dozed"))],
        };
    }
    match is_install {
        true => {
            vec![words("systemctl --user daemon-reload"), words("systemctl --user enable --now doze.socket")]
        }
        false => vec![words("systemctl --user disable --now doze.socket doze.service")],
    }
}

/// Writes the units and puts them into force. Without a service manager nothing is written.
pub(crate) fn install(app: &mut App) -> CommandResult {
    let units = units_here()?;
    let manager_name = if cfg!(target_os = "macos") { "launchctl" } else { "systemctl" };
    if !is_there(manager_name) {
        return Err(CommandError::new(Exit::Unreachable, format!("there is no {manager_name} here"))
            .hint("start the daemon by hand: doze up"));
    }
    let new: Vec<&Unit> = units.iter().filter(|unit| !unit.path.exists()).collect();
    for unit in &units {
        files::write(&unit.path, unit.text.as_bytes())?;
    }
    if let Err(error) = put_into_force(&units) {
        // Files that no service manager reads would only mislead.
        for unit in new {
            std::fs::remove_file(&unit.path)
                .map_err(|error| CommandError::io(unit.path.display(), &error))?;
        }
        return Err(error);
    }
    for unit in &units {
        app.say(&format!("wrote {}", unit.path.display()))?;
    }
    app.say("the daemon starts when it is needed. Look:  doze status    Undo:  doze service remove")?;
    Ok(Exit::Done)
}

fn put_into_force(units: &[Unit]) -> Result<(), CommandError> {
    for mut command in manager(true) {
        if cfg!(target_os = "macos") {
            command.extend(units.iter().map(|unit| unit.path.display().to_string()));
        }
        run_manager(&command)?;
    }
    Ok(())
}

fn remove(app: &mut App) -> CommandResult {
    let units = units_here()?;
    let present: Vec<&Unit> = units.iter().filter(|unit| unit.path.exists()).collect();
    if present.is_empty() {
        app.say("no service is installed")?;
        return Ok(Exit::Nothing);
    }
    for command in manager(false) {
        // A unit that is not loaded cannot be stopped; its file goes all the same.
        let _ = run_manager(&command);
    }
    for unit in present {
        std::fs::remove_file(&unit.path).map_err(|error| CommandError::io(unit.path.display(), &error))?;
        app.say(&format!("removed {}", unit.path.display()))?;
    }
    if !cfg!(target_os = "macos") {
        // Without a user manager there is nothing that remembers the units.
        let _ = run_manager(&["systemctl", "--user", "daemon-reload"].map(str::to_owned));
    }
    Ok(Exit::Done)
}

fn units_here() -> Result<Vec<Unit>, CommandError> {
    let base = directories::BaseDirs::new()
        .ok_or_else(|| CommandError::new(Exit::Config, "the home folder is unknown").hint("set HOME"))?;
    files::refuse_foreign_home(base.home_dir())?;
    let program = dozed()?;
    let program = program.to_str().ok_or_else(|| {
        CommandError::new(Exit::Config, format!("{} is not UTF-8", program.display()))
            .hint("install doze elsewhere")
    })?;
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    Ok(units(base.home_dir(), base.config_dir(), program, &path))
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn run_manager(command: &[String]) -> Result<(), CommandError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| CommandError::io(program, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(CommandError::new(Exit::Unreachable, format!("{}: {}", command.join(" "), said.trim()))
        .hint("without a user service manager start the daemon by hand: doze up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_and_nothing_ends_what_was_meant() {
        let path = "/opt/100% \"x\"/bin:/usr/bin&<";
        for unit in units(Path::new("/home/dev"), Path::new("/home/dev/.config"), "/a b/$x/100%/dozed", path)
        {
            assert!(!unit.text.contains("{{"), "{}", unit.text);
        }
        assert_eq!(fill("<string>{{path}}</string>", "", &xml("a&<b")), "<string>a&amp;&lt;b</string>");
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn the_program_is_one_word_of_the_unit() {
        let units =
            units(Path::new("/home/dev"), Path::new("/home/dev/.config"), "/a b/$x/100%/dozed", "/bin");
        assert_eq!(units[0].path, Path::new("/home/dev/.config/systemd/user/doze.service"));
        assert!(units[0].text.contains("ExecStart=\"/a b/$$x/100%%/dozed\"\n"), "{}", units[0].text);
        assert!(units[0].text.contains("Environment=\"PATH=/bin\"\n"));
    }
}
