//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Parser;
use doze_client::{Paths, PathsError};

/// The daemon that remembers for the coding agents of this machine. Runs in the foreground.
#[derive(Debug, Clone, Default, Parser)]
#[command(name = "dozed", version)]
pub struct Args {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One folder for configuration, data, state, cache, socket, logs and spool
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Where to put the socket
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Set a configuration key for this run
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Read the configuration, say whether it is right, and end
    #[arg(long)]
    pub check_config: bool,
    /// Print the JSON schema of the configuration and end
    #[arg(long)]
    pub print_schema: bool,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.to_owned())),
        None => Err("expected KEY=VALUE".to_owned()),
    }
}

impl Args {
    /// Where everything lies, the command line being stronger than the variables.
    pub fn paths(&self) -> Result<Paths, PathsError> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|_| PathsError::Relative { path: path.clone() })
        };
        let uid = rustix::process::geteuid().as_raw();
        let mut paths = match &self.home {
            Some(home) => Paths::in_home(&absolute(home)?, uid),
            None => Paths::discover()?,
        };
        if let Some(socket) = &self.socket {
            paths.set_socket(&absolute(socket)?, uid);
        }
        if let Some(config) = &self.config {
            paths.config = absolute(config)?;
        }
        Ok(paths)
    }

    /// The keys set by `--set`; the last one of a name counts.
    pub fn flags(&self) -> BTreeMap<String, String> {
        self.set.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from([&["dozed"], args].concat())
    }

    #[test]
    fn the_command_line_moves_things() {
        let args =
            parse(&["--home", "/h", "--socket", "/s/x", "--config", "/c.toml", "--set", "log.level=debug"])
                .unwrap();
        let paths = args.paths().unwrap();
        assert_eq!(paths.data, PathBuf::from("/h/data"));
        assert_eq!(paths.sockets, [PathBuf::from("/s/x")]);
        assert_eq!(paths.config, PathBuf::from("/c.toml"));
        assert_eq!(args.flags()["log.level"], "debug");
        assert!(parse(&["--set", "nothing"]).is_err());
    }
}
