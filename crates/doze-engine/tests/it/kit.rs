//! An engine in a temporary folder, and sessions to feed it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use doze_core::model::{AgentId, AgentRef, Event, EventKind, Origin, OwnerId, SessionEnd, ToolUse};
use doze_engine::{
    BriefRequest, CommitAnswer, CommitRequest, EmbedderChoice, Engine, Environment, FixedEnvironment,
    Options, Reader, SearchRequest, Surroundings, Switches,
};
use jiff::{SignedDuration, Timestamp};

pub(crate) struct Kit {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<FixedEnvironment>,
    pub(crate) owner: OwnerId,
    folder: tempfile::TempDir,
}

pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";

impl Kit {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(FixedEnvironment::new(NOW.parse().unwrap()));
        let engine = open(folder.path().to_path_buf(), clock.clone(), Surroundings::default());
        Self { engine, clock, owner: OwnerId::new("local:1"), folder }
    }

    /// The built-in model takes part.
    pub(crate) fn with_model() -> Self {
        let mut kit = Self::new();
        kit.engine.close();
        let options = Options {
            embedder: EmbedderChoice::BuiltIn,
            ..options(kit.path("with-model"), Surroundings::default())
        };
        kit.engine = Engine::open(options, kit.clock.clone()).unwrap();
        kit
    }

    /// The person's home is the folder `home`, and `tmp` is for temporary files.
    pub(crate) fn at_home() -> Self {
        let mut kit = Self::new();
        let folder = kit.folder.path().canonicalize().unwrap();
        let place = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let surroundings = Surroundings { home: Some(place("home")), temp_roots: vec![place("tmp")] };
        kit.engine.close();
        kit.engine = open(folder.join("at-home"), kit.clock.clone(), surroundings);
        kit
    }

    /// An engine that somebody may disturb in the middle of an operation.
    pub(crate) fn disturbed() -> (Self, Arc<Meddler>) {
        let mut kit = Self::new();
        let meddler = Arc::new(Meddler::default());
        drop(meddler.clock.set(kit.clock.clone()));
        kit.engine.close();
        kit.engine = open(kit.path("disturbed"), meddler.clone(), Surroundings::default());
        (kit, meddler)
    }

    /// Closes the engine and opens it on the same files.
    pub(crate) fn reopen(&mut self) {
        self.engine.close();
        self.engine = open(self.folder.path().to_path_buf(), self.clock.clone(), Surroundings::default());
    }

    /// Closes the engine and opens it on the same files, with the model.
    pub(crate) fn reopen_with_model(&mut self) {
        self.engine.close();
        let folder = self.folder.path().to_path_buf();
        let options =
            Options { embedder: EmbedderChoice::BuiltIn, ..options(folder, Surroundings::default()) };
        self.engine = Engine::open(options, self.clock.clone()).unwrap();
    }

    /// A folder that is a project, though no repository.
    pub(crate) fn project(&self, name: &str) -> String {
        let path = self.folder.path().join("code").join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().to_string_lossy().into_owned()
    }

    /// The options of an engine whose files are in a folder of this kit.
    pub(crate) fn options(&self, name: &str) -> Options {
        options(self.path(name), Surroundings::default())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn index_folder(&self) -> PathBuf {
        self.path("index")
    }

    pub(crate) fn store_bytes(&self) -> Vec<u8> {
        std::fs::read(self.path("doze.redb")).unwrap()
    }

    pub(crate) fn commit(&self, request: CommitRequest) -> CommitAnswer {
        self.engine.commit(&self.owner, request).unwrap()
    }

    pub(crate) fn brief(&self, cwd: &str, agent: &str) -> String {
        let request = BriefRequest { reader: reader(cwd, agent), ..Default::default() };
        self.engine.brief(&self.owner, &request).unwrap().text
    }

    pub(crate) fn found(&self, cwd: &str, query: &str) -> Vec<String> {
        let reader = Reader { cwd: Some(cwd.to_owned()), ..Default::default() };
        let request = SearchRequest { reader, query: query.to_owned(), ..Default::default() };
        let hits = self.engine.search(&self.owner, &request).unwrap().hits;
        hits.into_iter().map(|hit| hit.memory.body).collect()
    }

    /// A program that is asked; what it is given goes into the file `asked`, one prompt after another.
    pub(crate) fn script(&self, name: &str, body: &str) -> Vec<String> {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\ncat >> {}\n{body}\n", self.path("asked").display()))
            .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        vec!["/bin/sh".to_owned(), path.to_string_lossy().into_owned()]
    }

    pub(crate) fn switches(&self, change: impl FnOnce(&mut Switches)) {
        let mut switches = Switches::default();
        change(&mut switches);
        self.engine.set_switches(&self.owner, switches);
    }

    /// The clock that the engine reads.
    pub(crate) fn engine_time(&self) -> Timestamp {
        doze_engine::Environment::now(&*self.clock)
    }

    pub(crate) fn pass(&self, time: SignedDuration) {
        self.clock.advance(time);
    }
}

type Meddling = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// The clock of a kit, which lets somebody else act in the middle of an operation: when it next asks for the time or
/// for randomness.
#[derive(Default)]
pub(crate) struct Meddler {
    at_now: Meddling,
    at_random: Meddling,
    clock: OnceLock<Arc<FixedEnvironment>>,
}

impl Meddler {
    pub(crate) fn at_now(&self, act: impl FnOnce() + Send + 'static) {
        *self.at_now.lock().unwrap() = Some(Box::new(act));
    }

    pub(crate) fn at_random(&self, act: impl FnOnce() + Send + 'static) {
        *self.at_random.lock().unwrap() = Some(Box::new(act));
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at_now.lock().unwrap().is_none() && self.at_random.lock().unwrap().is_none()
    }

    fn act(meddling: &Meddling) {
        let act = meddling.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

impl Environment for Meddler {
    fn now(&self) -> Timestamp {
        Self::act(&self.at_now);
        self.clock.get().unwrap().now()
    }

    fn random(&self) -> [u8; 10] {
        Self::act(&self.at_random);
        self.clock.get().unwrap().random()
    }
}

impl Drop for Kit {
    fn drop(&mut self) {
        self.engine.close();
    }
}

fn open(folder: PathBuf, clock: Arc<dyn Environment>, surroundings: Surroundings) -> Engine {
    Engine::open(options(folder, surroundings), clock).unwrap()
}

fn options(folder: PathBuf, surroundings: Surroundings) -> Options {
    std::fs::create_dir_all(&folder).unwrap();
    Options {
        store: folder.join("doze.redb"),
        index: folder.join("index"),
        cache_bytes: 1 << 20,
        embedder: EmbedderChoice::Off,
        model: None,
        model_idle: Duration::from_secs(60),
        surroundings,
        switches: Switches::default(),
    }
}

pub(crate) fn reader(cwd: &str, agent: &str) -> Reader {
    Reader { cwd: Some(cwd.to_owned()), agent: Some(AgentId::new(agent)), ..Default::default() }
}

pub(crate) fn agent(id: &str) -> AgentRef {
    AgentRef { id: AgentId::new(id), name: id.to_owned(), harness: "test".to_owned() }
}

pub(crate) fn turn(session: &str, by: &str, cwd: &str, events: Vec<Event>) -> CommitRequest {
    CommitRequest {
        session: session.to_owned(),
        commit_id: None,
        end: SessionEnd::Turn,
        agent: agent(by),
        cwd: cwd.to_owned(),
        project: None,
        mode: None,
        kind: None,
        outcome: None,
        summary: None,
        output: None,
        changed_files: Vec::new(),
        tokens: None,
        task: None,
        team: None,
        events,
        transcript: None,
    }
}

fn at(minute: i64) -> Timestamp {
    let start: Timestamp = NOW.parse().unwrap();
    start.checked_sub(SignedDuration::from_mins(600 - minute)).unwrap()
}

pub(crate) fn prompt(id: i64, text: &str) -> Event {
    Event { at: Some(at(id)), ..Event::new(id.to_string(), EventKind::Prompt, Origin::Person, text) }
}

pub(crate) fn answer(id: i64, text: &str) -> Event {
    Event { at: Some(at(id)), ..Event::new(id.to_string(), EventKind::Answer, Origin::Agent, text) }
}

pub(crate) fn tool(id: i64, command: &str, output: &str, failed: bool) -> Event {
    let tool = ToolUse {
        name: "Bash".to_owned(),
        input: format!("{{\"command\":\"{command}\"}}"),
        output: output.to_owned(),
        failed,
    };
    Event {
        at: Some(at(id)),
        tool: Some(tool),
        ..Event::new(id.to_string(), EventKind::Tool, Origin::Tool, "")
    }
}

/// A session of enough rounds for a dream, in which the person states a rule.
pub(crate) fn long_session(rule: &str) -> Vec<Event> {
    let mut events = vec![prompt(1, rule)];
    for round in 0..5 {
        events.push(tool(2 + 3 * round, "just itest", "ok, 12 passed", false));
        events.push(answer(3 + 3 * round, &format!("Step {round} of the migration is in place.")));
        events.push(prompt(4 + 3 * round, "go on"));
    }
    events
}

/// A memory as somebody who is asked replies it.
pub(crate) fn memory(topic: &str, title: &str, body: &str) -> String {
    let topic = if topic.is_empty() { "null".to_owned() } else { format!("\"{topic}\"") };
    format!(
        r#"{{"type":"lesson","title":"{title}","body":"{body}","topicKey":{topic},"files":["src/pool.ts"],"confidence":0.7}}"#
    )
}

/// A reply with these memories.
pub(crate) fn reply(memories: &[String]) -> String {
    format!(
        r#"{{"summary":{{"request":"Fix the pool","workDone":"Switched to forks","outcome":"green","openItems":["bump vitest"]}},"memories":[{}]}}"#,
        memories.join(",")
    )
}

/// Runs git without anybody's settings.
pub(crate) fn git(folder: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
