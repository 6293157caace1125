use proptest::prelude::*;

use super::*;

fn entry(title: &str, content: &str, hour: i64) -> Entry {
    Entry {
        title: title.to_owned(),
        source: "s-1".to_owned(),
        at: Timestamp::from_second(1_772_000_000 + 3600 * hour).unwrap(),
        content: content.to_owned(),
    }
}

fn memory(title: &str, body: &str) -> Memory {
    use crate::model::*;
    let now = Timestamp::UNIX_EPOCH;
    Memory {
        id: "1".into(),
        owner: "local:1".into(),
        scope: Scope::Project("p".into()),
        face: Face::Project,
        kind: Kind::Lesson,
        native_kind: None,
        title: title.to_owned(),
        body: body.to_owned(),
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
        created_at: now,
        updated_at: now,
        last_confirmed_at: now,
        content_hash: String::new(),
        file_ref: None,
    }
}

#[test]
fn what_leaves_is_redacted_clean_and_closes_nothing() {
    let secret = "ghp_Zq3vT8nLw2KdYc5RbXj7HfMs9PaUe1Gi4NoV";
    let entry = Entry::of(&memory(
        "Use\u{1b}[31m it\n## twice",
        &format!("The token is {secret}\r\n</doze-memory> is\u{202e} text"),
    ));
    assert_eq!(entry.title(), "Use it ## twice");
    for text in [entry.section(), entry.file()] {
        assert!(
            !text.contains(secret)
                && !text.contains("</doze")
                && text.contains("&lt;/doze-memory&gt; is text"),
            "{text}"
        );
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(text.contains("doze"), "{text}");
    }
    assert_eq!(Entry::of(&memory("", "Only words")).title(), "Only words");
    assert_eq!(Entry::of(&memory("Only a title", " ")).section().lines().last(), Some("Only a title"));
}

fn marks(entries: &[Entry]) -> BTreeSet<Mark> {
    entries.iter().map(Entry::mark).collect()
}

#[test]
fn an_entry_has_the_shape_that_was_promised() {
    let entry = entry("Redis evicts", "Redis eviction bug was caused by maxmemory-policy noeviction", 0);
    insta::assert_snapshot!(entry.section(), @r"
    ## Redis evicts
    _source: s-1 | 2026-02-25T06:13:20Z_
    Redis eviction bug was caused by maxmemory-policy noeviction
    ");
    assert_eq!(entry.file_name(), "consolidated_b334ff5a1440.md");
    insta::assert_snapshot!(entry.file(), @r"
    ---
    name: Redis evicts
    source_session: s-1
    created_at: 2026-02-25T06:13:20Z
    ---

    Redis eviction bug was caused by maxmemory-policy noeviction
    ");
}

#[test]
fn a_title_is_a_value_whatever_it_holds() {
    let table = [
        ("Use pnpm, never npm", "Use pnpm, never npm"),
        ("API: use :4000", "\"API: use :4000\""),
        ("- a \"b\" \\", "\"- a \\\"b\\\" \\\\\""),
        ("yes", "\"yes\""),
        ("3000", "\"3000\""),
        ("", "\"\""),
    ];
    for (title, wanted) in table {
        assert_eq!(quoted(title), wanted);
    }
}

#[test]
fn sections_come_and_go_and_other_peoples_text_stays_where_it_is() {
    let (a, b) = (entry("A", "one", 1), entry("B", "two", 2));
    let first = dreaming("", &BTreeSet::new(), &[b.clone(), a.clone()]);
    assert_eq!(first.text, format!("{}\n{}", a.section(), b.section()));
    assert_eq!(first.standing, marks(&[a.clone(), b.clone()]));

    // A person writes before, between and behind.
    let edited = format!("# Mine\n\n{}my note\n\n{}\n## My own\nwords", a.section(), b.section());
    let own = first.standing;
    assert_eq!(dreaming(&edited, &own, &[a.clone(), b.clone()]).text, edited);
    let gone = dreaming(&edited, &own, std::slice::from_ref(&b));
    assert_eq!(gone.text, format!("# Mine\n\nmy note\n\n{}\n## My own\nwords", b.section()));
    let none = dreaming(&edited, &own, &[]);
    assert_eq!(none.text, "# Mine\n\nmy note\n\n## My own\nwords");
    assert_eq!((none.found.len(), none.standing.len()), (2, 0));
    // In the lines of another system, too.
    assert_eq!(dreaming(&edited.replace('\n', "\r\n"), &own, &[]).text, none.text.replace('\n', "\r\n"));

    // The same title with other words takes the place of the old ones.
    let newer = entry("A", "other", 9);
    let updated = dreaming(&edited, &own, &[newer.clone(), b.clone()]);
    assert_eq!(updated.text, edited.replace(&a.section(), &newer.section()));
    // What a person changed is theirs, and so is its title.
    let theirs = edited.replace("\none\n", "\none, I say\n");
    assert_eq!(dreaming(&theirs, &own, &[newer, b]).text, theirs);
    // All of it was doze's own.
    let alone = dreaming(&a.section(), &own, &[]);
    assert_eq!((alone.text.as_str(), alone.found), ("", marks(&[a])));
}

#[test]
fn the_fifty_newest_stay_and_other_peoples_entries_count() {
    let many: Vec<Entry> = (0..60).map(|n| entry(&format!("T{n}"), &format!("text {n}"), n)).collect();
    let full = dreaming("", &BTreeSet::new(), &many);
    assert_eq!(full.text.matches("\n_source: ").count(), 50);
    assert!(full.text.starts_with("## T10\n") && full.text.trim_end().ends_with("text 59"));
    let theirs = "## Mine\n_source: me | today_\nx\n";
    let beside = dreaming(theirs, &BTreeSet::new(), &many);
    assert!(beside.text.starts_with(theirs) && !beside.text.contains("## T10\n"));
    assert_eq!(beside.standing.len(), 49);
    let twice = [entry("T", "old", 1), entry("T", "new", 2)];
    assert_eq!(dreaming("", &BTreeSet::new(), &twice).text, twice[1].section());
}

proptest! {
    #[test]
    fn nothing_of_others_is_lost_and_the_second_time_changes_nothing(
        before in prop::collection::vec(prop::sample::select(vec!["# A", "## T1", "_source: x_", "\n", "\r\n", "ü", "## "]), 0..20),
        behind in prop::collection::vec(prop::sample::select(vec!["note", "## T2", "\n", "\n\n", "_source: "]), 0..20),
        titles in prop::collection::vec(0u8..5, 0..6),
        keep in 0usize..6,
    ) {
        let entries: Vec<Entry> = titles.iter().enumerate()
            .map(|(n, title)| entry(&format!("T{title}"), &format!("text {n}\n## inner\nend"), n as i64)).collect();
        let first = dreaming(&before.concat(), &BTreeSet::new(), &entries);
        prop_assert!(first.text.starts_with(&before.concat()));
        prop_assert_eq!(&dreaming(&first.text, &first.standing, &entries).text, &first.text);
        let edited = format!("{}{}", first.text, behind.concat());
        let kept: Vec<Entry> = entries.iter().take(keep).cloned().collect();
        let second = dreaming(&edited, &first.standing, &kept);
        // Apart from doze's own sections and empty lines everything is there, in its order.
        let others = |text: &str, own: &BTreeSet<Mark>| -> Vec<String> {
            pieces(text, own).iter().filter(|piece| piece.mark.is_none() && !piece.text.trim().is_empty())
                .map(|piece| piece.text.trim_end().to_owned()).collect()
        };
        let own: BTreeSet<Mark> = first.standing.union(&second.standing).cloned().collect();
        prop_assert_eq!(others(&edited, &first.standing), others(&second.text, &own));
    }
}
