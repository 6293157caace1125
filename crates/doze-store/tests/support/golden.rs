//! The records of the golden store: written once by `examples/write_golden.rs`, read by every later version.

use doze_core::model::{
    AgentRef, Context, Dream, DreamChange, DreamOp, DreamResult, DreamedSession, Event, EventKind, Face,
    Kind, Memory, Mode, Origin, Outcome, OwnerId, Project, Scope, Session, SessionEnd, SessionKey,
    SessionKind, SessionOutcome, Source, Status, Summary, TaskRef, Tokens, ToolUse, Verification, WorkState,
    WorkStatus,
};
use jiff::Timestamp;

pub(crate) fn owner() -> OwnerId {
    OwnerId::new("local:1000")
}

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_764_000_000 + second, 123_456_789).expect("a time of this century")
}

fn agent() -> AgentRef {
    AgentRef { id: "claude-code/Explore".into(), name: "Explore".into(), harness: "claude-code".into() }
}

pub(crate) fn memory() -> Memory {
    Memory {
        id: "019abc00-0000-7000-8000-000000000001".into(),
        owner: owner(),
        scope: Scope::Agent { project: Some("p-1".into()), agent: "claude-code/Explore".into() },
        face: Face::Office,
        kind: Kind::EnvQuirk,
        native_kind: Some("lesson_learned".into()),
        title: "Postgres listens on 5433".into(),
        body: "数据库 is on port 5433, \"not\" 5432.\nSee compose.yaml.".into(),
        tags: vec!["db".into()],
        topic_key: Some("db-port".into()),
        files: vec!["compose.yaml".into()],
        confidence: 0.85,
        evidence_count: 2,
        reinforce_count: 3,
        applied_count: 4,
        confirmed_by: vec!["codex".into()],
        pinned: true,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Human,
        source: Source {
            agent: Some(agent()),
            session: Some("s-1".into()),
            task: Some("t-1".into()),
            team: Some("crew".into()),
            events: vec!["s-1#0".into()],
        },
        contexts: vec![Context {
            snippet: "port 5433".into(),
            conversation_id: Some("c".into()),
            message_id: Some("m".into()),
            origin: Some("search".into()),
        }],
        created_at: at(0),
        updated_at: at(1),
        last_confirmed_at: at(2),
        content_hash: "00ff".into(),
        file_ref: Some("MEMORY.md:3".into()),
    }
}

pub(crate) fn session() -> Session {
    Session {
        key: SessionKey::new("s-1", "claude-code"),
        owner: owner(),
        project: Some("p-1".into()),
        agent: agent(),
        cwd: "/home/dev/app".into(),
        mode: Mode::Agent,
        kind: SessionKind::Assignment,
        ended: Some(SessionEnd::Turn),
        outcome: Outcome::Interrupted,
        started_at: at(10),
        last_event_at: at(20),
        heard_at: at(30),
        event_count: 2,
        rounds: 1,
        turns: 1,
        summary: Some(Summary {
            what: "moved the port".into(),
            decisions: vec!["keep 5433".into()],
            tokens: Tokens { input: 10, output: 20 },
            next_steps: vec!["tell the team".into()],
            ..Summary::default()
        }),
        task: Some(TaskRef {
            id: "t-1".into(), title: "port".into(), spec: "…".into(), prompt: "do".into()
        }),
        team: Some("crew".into()),
        transcript: Some("/home/dev/.claude/s-1.jsonl".into()),
    }
}

pub(crate) fn events() -> Vec<Event> {
    let mut asked = Event::new("e-0", EventKind::Prompt, Origin::Person, "Which port?");
    asked.at = Some(at(15));
    let mut looked = Event::new("e-1", EventKind::Tool, Origin::Tool, "");
    looked.tool = Some(ToolUse {
        name: "Bash".into(),
        input: "{\"command\":\"ss -ltn\"}".into(),
        output: "5433".into(),
        failed: false,
    });
    looked.cwd = Some("/home/dev".into());
    vec![asked, looked]
}

pub(crate) fn project() -> Project {
    Project {
        id: "p-1".into(),
        owner: owner(),
        name: "app".into(),
        root: "/home/dev/app".into(),
        aliases: vec!["dir:/home/dev/app/.git".into(), "remote:example.org/app".into()],
        created_at: at(5),
        ignored: true,
    }
}

pub(crate) fn work() -> WorkState {
    WorkState {
        owner: owner(),
        agent: agent(),
        project: Some("p-1".into()),
        session: Some("s-1".into()),
        started_at: at(10),
        updated_at: at(20),
        status: WorkStatus::Interrupted,
        task_id: Some("t-1".into()),
        task_prompt: Some("do".into()),
        cwd: Some("/home/dev/app".into()),
        summary: "half".into(),
        next_steps: vec!["the rest".into()],
        unfinished: vec!["docs".into()],
        files_touched: vec!["compose.yaml".into()],
        last_activity: Some("ss -ltn".into()),
    }
}

pub(crate) fn dream() -> Dream {
    Dream {
        id: "019abc00-0000-7000-8000-000000000002".into(),
        owner: owner(),
        mode: Mode::Code,
        dry_run: false,
        started_at: at(40),
        ended_at: at(41),
        result: DreamResult::Done,
        reason: "it was due".into(),
        sessions: vec![DreamedSession {
            session: "s-1".into(),
            project: Some("p-1".into()),
            outcome: SessionOutcome::Extracted,
            reason: String::new(),
        }],
        changes: vec![DreamChange {
            op: DreamOp::Reinforce,
            before: Some(memory()),
            after: memory(),
            because: "said again".into(),
            evidence: vec!["s-1#0".into()],
        }],
        undone_at: Some(at(50)),
        // Younger than the golden file, which shows how a file without them reads.
        left_alone: vec![],
        undo_left: vec![],
    }
}

pub(crate) fn vectors() -> Vec<Vec<f32>> {
    vec![vec![0.25, -1.0, 0.5], vec![f32::MIN_POSITIVE, 0.0, 3.0]]
}
