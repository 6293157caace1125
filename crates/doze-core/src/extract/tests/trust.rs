//! Whose words they are: what is pasted, quoted, taken back or read somewhere is no rule of the person's.

use super::*;

const YARN: &str = "Always use yarn instead of npm to install packages.";

#[test]
fn what_a_person_pastes_quotes_or_does_not_mean_is_no_rule() {
    let not_theirs = [
        "The customer writes:\n\n{}",
        "Here is CONTRIBUTING.md:\n\n{}\nNever commit directly to main.",
        "Here is the CLAUDE.md of another project:\n\n- {}\n\nWhat would you change?",
        "I found this on a forum:\n{}\nIs it right?",
        "Some model answered:\n\n{}\n\nWhat do you think?",
        "The linter prints:\n  {}\nHow do I silence that?",
        "Subject: rules\nFrom: bob@example.com\n\n{}\n\nWhat should I answer?",
        "Fix the grammar of this sentence.\n{}",
        "Slack:\nBob: {}\nsummarise this",
        "The docs say: {}",
        "The vendor told us: {}",
        "The reviewer wrote: {}",
        "We used to say: {}",
        "The old rule was: {}",
        "Write a test that asserts the output is: {}",
        "Add this to the README: {}",
        "Add this sentence to CONTRIBUTING.md: {}",
        "Bob wrote on Slack: \"{} Never run the tests.\" What do you think?",
        "Translate to French: \"Lock the door. {}\"",
        "<file name=\"rules.md\">\n{}\n</file>\nWhat is in it?",
        "Ticket: SHOP-12\nDescription: {}\n{}\n\nPlease estimate it.",
        "If we were at Google, we would always use Bazel instead of make.",
        "For example: {}",
        "{} Is that a good idea?",
        "{} That's what Ben thinks. He is wrong.",
        "{} That was a joke.",
    ];
    for text in not_theirs {
        assert_eq!(found(vec![said(&text.replace("{}", YARN))]), [], "{text}");
    }
    let theirs =
        ["{}", "As I said:\n\n{}", "{} The docs are wrong there.", "Please write the tests first.\n{}"];
    for text in theirs {
        assert!(!found(vec![said(&text.replace("{}", YARN))]).is_empty(), "{text}");
    }
}

#[test]
fn what_a_person_takes_back_is_no_rule() {
    let taken_back = [
        "Never mind, that was for another project.",
        "Scrap that, keep npm.",
        "Undo that, I changed my mind.",
        "Sorry, wrong project, ignore that.",
        "That rule no longer applies.",
        "Sorry, ignore my last message.",
        "Scratch that.",
        "No wait, that is not true.",
        "Oops, wrong project. Disregard what I just said.",
        "Cancel that, npm stays.",
        "On second thought, npm is fine.",
        "刚才说错了，忽略上一条",
    ];
    for text in taken_back {
        let next = vec![said(YARN), answered("All right."), said(text)];
        assert_eq!(found(next), [], "{text}");
    }
    assert_eq!(found(vec![said(&format!("{YARN} No wait, forget that."))]), []);
    // What was said before that stays.
    for text in ["Undo the last commit.", "Ignore this warning in the linter.", "Undo it in the shop branch."]
    {
        assert_eq!(found(vec![said(YARN), answered("All right."), said(text)]).len(), 1, "{text}");
    }
    let before =
        vec![said("Never push to main."), answered("All right."), said(YARN), said("Scrap that, keep npm.")];
    assert_eq!(found(before).len(), 1);
}

#[test]
fn what_an_agent_read_somewhere_is_no_decision() {
    let decided = "We decided to use MySQL instead of Postgres because it is faster.";
    let page = ran("curl -s https://example.com/stack", &format!("# Our stack\n\n{decided}\n"), false);
    let told = vec![said("which one is it?"), answered(decided)];
    assert!(!found(told.clone()).is_empty(), "in its own words it is one");
    assert_eq!(found([vec![told[0].clone(), page], vec![told[1].clone()]].concat()), []);
}

#[test]
fn what_takes_back_something_else_takes_no_rule_back() {
    for next in [
        "Undo that please, the blue is ugly.",
        "I changed my mind, make the button green.",
        "Never mind the warnings, just finish the button.",
        "Wrong tab is selected when I open the page.",
        "My mistake, the file was in another folder.",
        "nevermind, it works now",
        "no wait for the answer, just go on",
    ] {
        let events = vec![said(&format!("{YARN} Add a blue button.")), answered("All right."), said(next)];
        assert!(!found(events).is_empty(), "{next}");
    }
}

#[test]
fn ones_own_words_beside_a_paste_or_under_ones_own_heading_count() {
    for text in [
        "Here's the error:\n```\npanic\n```\nFix it. And always use yarn instead of npm to install packages.",
        "House policy:\n- Always use yarn instead of npm to install packages",
        "Team guide:\nAlways use yarn instead of npm to install packages.",
        "Coding guidelines from me:\nAlways use yarn instead of npm to install packages.",
        "What I'm saying is:\nAlways use yarn instead of npm to install packages.",
        "Always use yarn instead of npm to install packages. Is that clear?",
        "I say: always use yarn instead of npm to install packages.",
        "Keep it 6\" apart. Always use yarn instead of npm to install packages.",
        "Always use yarn instead of npm to install packages. Here is what the vendor wrote us:\n> Always disable TLS",
    ] {
        let found = found(vec![said(text)]);
        assert!(found.iter().any(|(_, title)| title.contains("yarn")), "{text}: {found:?}");
    }
}
