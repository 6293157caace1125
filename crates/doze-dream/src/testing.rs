//! Records for the tests of this crate.

use doze_core::model::*;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::{Candidate, CandidateOf};

pub(crate) fn now() -> Timestamp {
    "2026-03-18T12:00:00Z".parse().unwrap()
}

pub(crate) fn ago(hours: i64) -> Timestamp {
    now() - SignedDuration::from_hours(hours)
}

pub(crate) fn agent(id: &str) -> AgentRef {
    AgentRef { id: id.into(), name: id.into(), harness: "claude-code".into() }
}

pub(crate) fn session(name: &str, project: &str, rounds: u64, hours: i64) -> Session {
    Session {
        key: SessionKey::new(name, "claude-code"),
        owner: "local:1".into(),
        project: (!project.is_empty()).then(|| project.into()),
        agent: agent("claude-code"),
        cwd: "/app".into(),
        mode: Mode::Code,
        kind: SessionKind::Interactive,
        ended: Some(SessionEnd::Session),
        outcome: Outcome::Success,
        started_at: ago(hours + 1),
        last_event_at: ago(hours),
        heard_at: ago(hours),
        event_count: rounds * 3,
        rounds,
        turns: rounds,
        summary: None,
        task: None,
        team: None,
        transcript: None,
    }
}

pub(crate) fn memory(id: &str, kind: Kind, title: &str, body: &str, days: i64) -> Memory {
    Memory {
        id: id.into(),
        owner: "local:1".into(),
        scope: Scope::Project("p".into()),
        face: Face::Project,
        kind,
        native_kind: None,
        title: title.into(),
        body: body.into(),
        tags: vec![],
        topic_key: None,
        files: vec![],
        confidence: 0.6,
        evidence_count: 1,
        reinforce_count: 1,
        applied_count: 0,
        confirmed_by: vec![],
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Rule,
        source: Source::default(),
        contexts: vec![],
        created_at: ago(24 * days),
        updated_at: ago(24 * days),
        last_confirmed_at: ago(24 * days),
        content_hash: content_hash(kind.as_str(), title, body),
        file_ref: None,
    }
}

pub(crate) fn office(id: &str, agent_id: &str, body: &str, count: u32) -> Memory {
    Memory {
        scope: Scope::Agent { project: Some("p".into()), agent: agent_id.into() },
        face: Face::Office,
        reinforce_count: count,
        evidence_count: count,
        source: Source { agent: Some(agent(agent_id)), ..Source::default() },
        ..memory(id, Kind::Convention, "", body, 2)
    }
}

/// What the person said in event `n` of a session some hours ago.
pub(crate) fn finding(session: &str, n: u64, kind: Kind, title: &str, body: &str, hours: i64) -> CandidateOf {
    CandidateOf {
        session: SessionKey::new(session, "claude-code"),
        owner: "local:1".into(),
        agent: agent("claude-code"),
        task: None,
        shown: vec![],
        found_by: Verification::Rule,
        candidate: Candidate {
            kind,
            title: title.into(),
            body: body.into(),
            topic_key: None,
            files: vec![],
            confidence: 0.7,
            tags: vec![],
            evidence: vec![format!("{session}#{n}")],
            origin: Origin::Person,
            at: ago(hours),
            scope: Scope::Project("p".into()),
        },
    }
}

/// One of a small world, so that many of them say the same or contradict each other.
pub(crate) fn any_memory() -> impl Strategy<Value = Memory> {
    let subject = prop_oneof![Just("staging api"), Just("local broker"), Just("nightly build")];
    let verb =
        prop_oneof![Just("listens on port"), Just("never listens on port"), Just("prefers port number")];
    let kinds =
        prop_oneof![Just(Kind::Fact), Just(Kind::EnvQuirk), Just(Kind::Convention), Just(Kind::Lesson)];
    (0u32..400, subject, verb, 1u32..4, kinds, 0usize..7, 0i64..800, 1u32..5, any::<[bool; 3]>()).prop_map(
        |(id, subject, verb, port, kind, shape, days, count, [pinned, human, topic])| {
            let body = format!("The {subject} service {verb} {port}");
            let mut memory = match shape {
                0 | 1 => office(&format!("m{id:03}"), if shape == 0 { "alex" } else { "bert" }, &body, count),
                _ => memory(&format!("m{id:03}"), kind, "", &body, days),
            };
            memory.pinned = pinned && human;
            memory.verification = if human && !pinned { Verification::Human } else { Verification::Rule };
            memory.topic_key = topic.then(|| format!("topic:{subject}:{id}"));
            memory.status = if shape == 6 {
                Status::Stale
            } else if shape == 5 {
                Status::Retracted
            } else {
                Status::Active
            };
            memory.source.events = vec![format!("old{}#1", id % 50)];
            memory.files = vec![format!("src/{}.rs", port)];
            memory
        },
    )
}

pub(crate) fn any_finding() -> impl Strategy<Value = CandidateOf> {
    (any_memory(), 0u32..6, 0u64..40, 0usize..4, 0i64..700).prop_map(|(memory, session, n, origin, hours)| {
        let mut found = finding(&format!("s{session}"), n, memory.kind, "", &memory.body, hours);
        found.candidate.origin = [Origin::Person, Origin::Agent, Origin::Tool, Origin::Web][origin];
        found.candidate.topic_key = memory.topic_key.map(|key| key.chars().take(12).collect());
        found
    })
}
