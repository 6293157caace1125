//! A hundred agents at once that tell how their task stands and end their sessions: over the daemon's socket, and as the
//! original office program did it, a JSON file an agent, written under another name and renamed. Without arguments every
//! kind of call is measured for ten seconds; `office SECONDS` for as many.
//!
//! The files are written in the measuring process itself, which spares them a socket; and they are not synced, as in the
//! original, so that a power failure may lose them. The third row syncs them, which is what the daemon promises for a commit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use doze_tests::Home;
use serde_json::{Value, json};

const AGENTS: usize = 100;
/// Summaries of an agent that its file keeps (S0.3).
const HISTORY: usize = 30;

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(10);
    let time = Duration::from_secs(seconds);
    println!("{AGENTS} agents, {seconds} s each; calls a second, median and 99th percentile of one call");
    println!("{:<50} {:>10} {:>10} {:>10}", "", "calls/s", "p50 ms", "p99 ms");
    let calls: [(&str, &str, fn(usize, usize, &Path) -> Value); 3] = [
        ("work.set", "work.set", work),
        ("session.commit", "session.commit", commit),
        ("the same, teaching nothing", "session.commit", quiet_commit),
    ];
    for (name, method, call) in calls {
        let home = Home::new();
        let daemon = home.start();
        let project = home.project("shop");
        row(&format!("{name}: dozed over its socket"), time, |agent| {
            let (mut client, project) = (home.client(), project.clone());
            move |number| {
                client.call(method, call(agent, number, &project));
            }
        });
        daemon.terminate();
        for (how, is_synced) in [("as the original", false), ("synced", true)] {
            let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder on a real disk");
            let root = folder.path();
            row(&format!("{name}: JSON file, {how}"), time, |agent| {
                let files = Files { root: root.to_owned(), agent, is_synced };
                move |number| match method {
                    "work.set" => files.work(&call(agent, number, root)),
                    _ => files.commit(&call(agent, number, root)),
                }
            });
        }
    }
    ExitCode::SUCCESS
}

/// Lets every agent call for so long and prints how that went.
fn row<C: FnMut(usize) + Send>(name: &str, time: Duration, agent: impl Fn(usize) -> C) {
    let mut agents: Vec<C> = (0..AGENTS).map(agent).collect();
    let start = Barrier::new(AGENTS);
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = agents
            .iter_mut()
            .map(|call| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    let (begin, mut took) = (Instant::now(), Vec::new());
                    while begin.elapsed() < time {
                        let one = Instant::now();
                        call(took.len());
                        took.push(one.elapsed());
                    }
                    took
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no call fails")).collect()
    });
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    let rate = took.len() as f64 / time.as_secs_f64();
    println!("{name:<50} {rate:>10.0} {:>10.2} {:>10.2}", at(0.5), at(0.99));
}

fn work(agent: usize, number: usize, cwd: &Path) -> Value {
    json!({
        "agent": format!("agent-{agent}"),
        "cwd": cwd,
        "session": format!("s-{agent}"),
        "status": "running",
        "task_id": format!("T-{agent}"),
        "task_prompt": "Optimize the pagination of the search page, and keep its tests green",
        "summary": format!("step {number} of the migration is in place"),
        "next_steps": ["run the tests", "look at the page on a small screen"],
        "unfinished": [],
        "files_touched": ["src/components/Pagination.tsx", "src/pages/Search.tsx"],
        "last_activity": format!("Edit src/pages/Search.tsx ({number})"),
    })
}

/// What facts speak of: four of these say something that four others do not.
const WORDS: [&str; 24] = [
    "adapter",
    "billing",
    "cache",
    "database",
    "editor",
    "firewall",
    "gateway",
    "header",
    "index",
    "journal",
    "kernel",
    "ledger",
    "mailer",
    "network",
    "orders",
    "parser",
    "queue",
    "router",
    "scheduler",
    "tenant",
    "upload",
    "vendor",
    "webhook",
    "zone",
];

/// Every session teaches one fact, another one each time.
fn fact(agent: usize, number: usize) -> String {
    let mut state = (agent * 1_000_003 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = || {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        WORDS[(state >> 40) % WORDS.len()]
    };
    format!("Note: the {} {} waits for the {} of the {}.", word(), word(), word(), word())
}

fn commit(agent: usize, number: usize, cwd: &Path) -> Value {
    json!({
        "agent": format!("agent-{agent}"),
        "cwd": cwd,
        "session": format!("s-{agent}-{number}"),
        "output": format!("{}\nChanged borders from dashed to solid.\nCommitted `{:07x}`\nSUMMARY: redesigned page {number}",
                          fact(agent, number), agent * 100_003 + number),
        "changed_files": ["src/components/Pagination.tsx", "src/pages/Search.tsx"],
        "tokens": {"input": 45_000, "output": 12_000},
    })
}

/// A session from which there is nothing to learn, which are most.
fn quiet_commit(agent: usize, number: usize, cwd: &Path) -> Value {
    let mut session = commit(agent, number, cwd);
    session["output"] = json!(format!("Committed `{number:07x}`\nSUMMARY: redesigned page {number}"));
    session
}

/// The files of one agent.
struct Files {
    root: PathBuf,
    agent: usize,
    is_synced: bool,
}

impl Files {
    fn work(&self, state: &Value) {
        self.write("work-state", state);
    }

    /// The session's summary to the front of the history, its fact to the agent's, and the work state cleared. The rules
    /// that find them are left out: this is what writing them costs.
    fn commit(&self, session: &Value) {
        let summary = json!({
            "timestamp": "2026-03-17T14:30:00.000Z",
            "what": session["session"],
            "decisions": ["Changed borders from dashed to solid."],
            "filesChanged": session["changed_files"],
            "unfinished": [],
            "commits": ["ad8ed51"],
            "tokens": session["tokens"],
        });
        let mut sessions = self.read("sessions");
        let mut history = sessions["history"].as_array().cloned().unwrap_or_default();
        history.insert(0, summary.clone());
        history.truncate(HISTORY);
        sessions["latest"] = summary;
        sessions["history"] = Value::Array(history);
        self.write("sessions", &sessions);
        let mut facts = self.read("agents");
        let mut list = facts["facts"].as_array().cloned().unwrap_or_default();
        list.push(json!({"id": "0123456789ab", "category": "lesson_learned", "fact": session["output"], "reinforceCount": 1}));
        let surplus = list.len().saturating_sub(50);
        list.drain(..surplus);
        facts["facts"] = Value::Array(list);
        self.write("agents", &facts);
        self.write("work-state", &Value::Null);
    }

    fn path(&self, folder: &str) -> PathBuf {
        self.root.join(folder).join(format!("agent-{}.json", self.agent))
    }

    fn read(&self, folder: &str) -> Value {
        let bytes = fs::read(self.path(folder)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_else(|_| json!({}))
    }

    fn write(&self, folder: &str, value: &Value) {
        let path = self.path(folder);
        let parent = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(parent).expect("the disk has room");
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, serde_json::to_vec_pretty(value).expect("a value is JSON"))
            .expect("the disk has room");
        if self.is_synced {
            File::open(&temporary).and_then(|file| file.sync_all()).expect("the disk syncs");
        }
        fs::rename(&temporary, &path).expect("the disk has room");
        if self.is_synced {
            File::open(parent).and_then(|folder| folder.sync_all()).expect("the disk syncs");
        }
    }
}
