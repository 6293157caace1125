//! What the tests of the program share: a home of their own, a program to run in it, and a daemon made of a closure.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than anything in these tests takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A home folder of its own, with nothing of the machine's in the environment.
pub(crate) struct Home {
    folder: TempDir,
}

/// What a run of the program did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("doze")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("doze/run/dozed.sock")
    }

    pub(crate) fn spool(&self) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.path().join("doze/spool")) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        files.sort();
        files.iter().map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect()
    }

    /// Commits that are counted as lost.
    pub(crate) fn lost(&self) -> u64 {
        doze_client::Spool::new(self.path().join("doze/spool")).level().lost
    }

    /// The program with these arguments, in this home.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_doze"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.path())
            .env("DOZE_HOME", self.path().join("doze"))
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path());
        command
    }

    /// Runs the program with nothing to read.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments).stdin(Stdio::null()))
    }

    /// Runs the program with a document on a stdin that stays open until it has ended.
    pub(crate) fn feed(&self, arguments: &[&str], document: &[u8]) -> Ran {
        feed(&mut self.command(arguments), document)
    }
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Ran {
    let started = Instant::now();
    let output = command.output().unwrap();
    ran(output, started)
}

/// Runs a command with a document on a stdin that stays open until it has ended.
pub(crate) fn feed(command: &mut Command, document: &[u8]) -> Ran {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let document = document.to_vec();
    // The program may end without having read it all.
    let feeder = thread::spawn(move || {
        let _ = stdin.write_all(&document);
        stdin
    });
    let mut stdout = Vec::new();
    let mut stderr = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    let ran = ran(Output { status, stdout, stderr }, started);
    drop(feeder.join().unwrap());
    ran
}

fn ran(output: Output, started: Instant) -> Ran {
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        took: started.elapsed(),
    }
}

/// A daemon made of a closure: it answers `hello` itself and asks the closure for the rest.
pub(crate) struct FakeDaemon {
    calls: Receiver<(String, Value)>,
}

impl FakeDaemon {
    pub(crate) fn start(home: &Home, answer: impl Fn(&str, &Value) -> Value + Send + Sync + 'static) -> Self {
        let listener = listen(home);
        let (sender, calls) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&stream.unwrap(), &answer, &sender);
            }
        });
        Self { calls }
    }

    /// The next call that came in, `hello` left out.
    pub(crate) fn next(&self) -> (String, Value) {
        self.calls.recv_timeout(PATIENCE).expect("a call comes in")
    }

    /// Whether no call has come in.
    pub(crate) fn is_quiet(&self) -> bool {
        self.calls.try_recv().is_err()
    }
}

/// A listener at the home's socket.
pub(crate) fn listen(home: &Home) -> UnixListener {
    let folder = home.path().join("doze/run");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    UnixListener::bind(home.socket()).unwrap()
}

fn serve(stream: &UnixStream, answer: &impl Fn(&str, &Value) -> Value, calls: &Sender<(String, Value)>) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let request: Value = serde_json::from_str(&line).unwrap();
        let method = request["method"].as_str().unwrap();
        let outcome = if method == "hello" {
            json!({"result": {"protocol": 1, "server": "dozed/0.1.0", "capabilities": {"max_frame_bytes": 8_388_608, "methods": []}}})
        } else {
            let answer = answer(method, &request["params"]);
            // The test may have seen enough.
            let _ = calls.send((method.to_owned(), request["params"].clone()));
            if answer.get("code").is_some() { json!({"error": answer}) } else { json!({"result": answer}) }
        };
        if request.get("id").is_none() {
            continue;
        }
        let mut response = json!({"jsonrpc": "2.0", "id": request["id"]});
        response.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        // A client that waits for nothing may have gone.
        let _ = writeln!(writer, "{response}");
    }
}

/// An error as a daemon answers it.
pub(crate) fn error(code: i64, kind: &str, message: &str, hint: &str) -> Value {
    json!({"code": code, "message": message, "data": {"kind": kind, "hint": hint}})
}
