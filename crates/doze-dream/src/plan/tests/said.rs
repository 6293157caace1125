//! What is said against what is known: kept apart until it is decided, or decided by the person's word.

use super::*;

fn by_agent(session: &str, body: &str, hours: i64) -> CandidateOf {
    let mut said = finding(session, 4, Kind::Fact, "", body, hours);
    said.candidate.origin = Origin::Agent;
    said
}

#[test]
fn one_agents_word_against_several_sessions_is_kept_apart_until_another_session_says_so() {
    let known = Memory {
        evidence_count: 2,
        source: Source { events: vec!["s1#1".into(), "s2#1".into()], ..Source::default() },
        ..memory("known", Kind::Fact, "", "The cache of the API is shared by all workers.", 9)
    };
    let against =
        |session: &str, hours| by_agent(session, "The cache of the API is not shared by all workers.", hours);
    let caps = Caps::default();
    let (plan, apart) = run(std::slice::from_ref(&known), &[against("s3", 9)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Add, "new0002")]);
    assert_eq!(
        (by_id(&apart, "known").status, by_id(&apart, "new0002").status),
        (Status::Active, Status::Proposed)
    );
    assert!(plan.changes[0].because.starts_with("contradicts \"The cache of the API is shared"), "{plan:?}");
    let (again, same) = run(&apart, &[against("s3", 8)], &[], &caps);
    assert_eq!((ops(&again), same), (vec![], apart.clone()), "the same session counts once");

    let (plan, decided) = run(&apart, &[against("s4", 7)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Supersede, "known"), (DreamOp::Supersede, "new0002")]);
    let new = by_id(&decided, "new0002");
    assert_eq!((new.status, new.evidence_count, new.tags.as_slice()), (Status::Active, 2, [].as_slice()));
    assert_eq!(by_id(&decided, "known").superseded_by.as_ref(), Some(&new.id));
    assert!(run(&decided, &[against("s4", 7)], &[], &caps).0.changes.is_empty());

    // The other way round: what was known is said again.
    let known_again = by_agent("s5", "The cache of the API is shared by all workers.", 6);
    let (plan, decided) = run(&apart, &[known_again], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Reinforce, "known"), (DreamOp::Retire, "new0002")]);
    assert_eq!(by_id(&decided, "new0002").status, Status::Stale);

    // The person decides at once, and what was seen once gives way at once.
    let person = finding("s6", 4, Kind::Fact, "", "The cache of the API is not shared by all workers.", 5);
    let (plan, _) = run(std::slice::from_ref(&known), &[person], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Supersede, "known"), (DreamOp::Add, "new0002")]);
    // Also in the session that the agent said it in.
    let here = finding("s3", 6, Kind::Fact, "", "The cache of the API is not shared by all workers.", 5);
    let (plan, _) = run(&apart, &[here], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Supersede, "known"), (DreamOp::Supersede, "new0002")]);
    // An agent that was shown it says nothing new.
    let mut echo = against("s4", 7);
    echo.shown = vec!["new0002".into()];
    assert!(run(&apart, &[echo], &[], &caps).0.changes.is_empty());
    // What it contradicts was marked wrong meanwhile: one more session is enough.
    let mut alone = apart.clone();
    alone.iter_mut().find(|memory| memory.id.as_str() == "known").unwrap().status = Status::Retracted;
    let (plan, after) = run(&alone, &[against("s4", 7)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Reinforce, "new0002")]);
    assert_eq!(by_id(&after, "new0002").status, Status::Active);
    let once = Memory { evidence_count: 1, ..known };
    let (plan, _) = run(&[once], &[against("s3", 9)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Supersede, "known"), (DreamOp::Add, "new0002")]);
}

#[test]
fn what_a_person_says_against_what_they_wrote_waits_for_them_and_is_told() {
    let port = |number: &str| format!("The API listens on port {number}");
    let written =
        Memory { verification: Verification::Human, ..memory("own", Kind::Fact, "", &port("3000"), 9) };
    let says = |session: &str, number: &str, hours| finding(session, 1, Kind::Fact, "", &port(number), hours);
    let caps = Caps::default();
    let (plan, after) = run(std::slice::from_ref(&written), &[says("s1", "4000", 48)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Add, "new0002")]);
    assert!(plan.changes[0].because.contains("a person vouches for; it waits for doze review"), "{plan:?}");
    assert_eq!((by_id(&after, "own"), by_id(&after, "new0002").contradicts()), (&written, Some("own")));
    assert!(run(&after, &[says("s1", "4000", 48)], &[], &caps).0.changes.is_empty());

    // The last word waits, one before it no longer; saying the old again settles it.
    let (plan, later) = run(&after, &[says("s2", "5000", 24)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Retire, "new0002"), (DreamOp::Add, "new0003")]);
    let (plan, settled) = run(&later, &[says("s3", "3000", 12)], &[], &caps);
    assert_eq!(ops(&plan), [(DreamOp::Retire, "new0003")]);
    assert_eq!(by_id(&settled, "own"), &written);

    // What they had said before they wrote it is old news, and an agent's word is none.
    let old = says("s0", "2000", 24 * 30);
    assert_eq!(ops(&run(std::slice::from_ref(&written), &[old], &[], &caps).0), []);
    let agent = by_agent("s4", &port("4000"), 12);
    assert_eq!(ops(&run(&[written], &[agent], &[], &caps).0), []);
}

/// The sweep reads one sentence of the person's that may end something.
fn end(existing: &[Memory], sentence: &CandidateOf) -> (Plan, Vec<Memory>) {
    let mut minted = 0;
    let mut new_id = || {
        minted += 1;
        MemoryId::new(format!("new{minted}"))
    };
    let take_apart: TakeApart<'_> = &|text| Parts::of(text).into();
    let ended = std::slice::from_ref(sentence);
    let caps = Caps::default();
    let input = PlanInput {
        existing,
        candidates: &[],
        ended,
        ran: &[],
        spent: &[],
        taken_back: &[],
        now: now(),
        caps: &caps,
        take_apart,
    };
    let plan = plan(&input, &mut new_id);
    let mut after: BTreeMap<MemoryId, Memory> = existing.iter().map(|m| (m.id.clone(), m.clone())).collect();
    after.extend(plan.changes.iter().map(|change| (change.after.id.clone(), change.after.clone())));
    (plan, after.into_values().collect())
}

fn says(session: &str, sentence: &str, hours: i64) -> CandidateOf {
    finding(session, 3, Kind::Convention, sentence.trim_end_matches('.'), sentence, hours)
}

#[test]
fn what_a_person_ends_gives_way_in_all_spaces_of_its_project_and_nowhere_else() {
    let rule = memory("rule", Kind::Convention, "", "Never push to main.", 9);
    let twin = office("twin", "claude-code", "never push to main", 1);
    let elsewhere = Memory {
        scope: Scope::Project("q".into()),
        ..memory("else", Kind::Convention, "", "Never push to main.", 9)
    };
    let other = memory("other", Kind::Convention, "", "Never push to the release branch.", 9);
    let known = [rule, twin, elsewhere, other];
    let (plan, after) = end(&known, &says("s1", "You may push to main from now on.", 24));
    let status = |id: &str| by_id(&after, id).status;
    assert_eq!(status("rule"), Status::Superseded, "{plan:#?}");
    assert_eq!(
        [status("twin"), status("else"), status("other")],
        [Status::Superseded, Status::Active, Status::Active]
    );
    let new = by_id(&after, by_id(&after, "rule").superseded_by.as_ref().unwrap().as_str());
    assert_eq!((new.body.as_str(), new.status), ("You may push to main from now on.", Status::Active));
    assert!(
        end(&after, &says("s1", "You may push to main from now on.", 24)).0.changes.is_empty(),
        "a fixed point"
    );
    // What was said after it stands.
    assert!(end(&known, &says("s0", "You may push to main from now on.", 24 * 30)).0.changes.is_empty());
}

#[test]
fn what_a_person_takes_back_by_name_rests_and_nothing_takes_its_place() {
    let known = [memory("rule", Kind::Convention, "", "Use Deno for scripts.", 9)];
    let (plan, after) = end(&known, &says("s1", "I take back the Deno rule.", 24));
    assert_eq!(ops(&plan), [(DreamOp::Retire, "rule")]);
    assert_eq!(plan.changes[0].because, "taken back; said by the person in s1 #3");
    assert_eq!(by_id(&after, "rule").status, Status::Stale);
    assert!(end(&after, &says("s1", "I take back the Deno rule.", 24)).0.changes.is_empty(), "a fixed point");
}

#[test]
fn what_may_be_meant_or_is_vouched_for_waits_beside_it() {
    let rule = memory("rule", Kind::Convention, "", "Never use default exports.", 9);
    let said = says("s1", "Default exports are allowed in page components.", 24);
    let (plan, after) = end(std::slice::from_ref(&rule), &said);
    assert_eq!(ops(&plan), [(DreamOp::Add, "new1")]);
    assert_eq!((by_id(&after, "rule"), by_id(&after, "new1").contradicts()), (&rule, Some("rule")));
    assert!(end(&after, &said).0.changes.is_empty(), "a fixed point");
    let own = Memory {
        verification: Verification::Human,
        ..memory("own", Kind::Convention, "", "Use Deno for scripts.", 9)
    };
    let (_, after) = end(std::slice::from_ref(&own), &says("s1", "Stop using Deno.", 24));
    assert_eq!((by_id(&after, "own"), by_id(&after, "new1").contradicts()), (&own, Some("own")));
}

#[test]
fn what_takes_the_place_of_a_rule_takes_that_of_its_copies_with_the_agents() {
    let rule = memory("rule", Kind::Fact, "", "The API listens on port 3000", 9);
    let twin = office("twin", "alex", "the API listens on port 3000", 1);
    let news = finding("s2", 1, Kind::Fact, "", "The API listens on port 4000", 24);
    let (plan, after) = run(&[rule, twin], &[news], &[], &Caps::default());
    let new = by_id(&after, "rule").superseded_by.clone().unwrap();
    assert_eq!(by_id(&after, "twin").superseded_by, Some(new), "{plan:#?}");
}
