//! Random edits of a valid workspace of three hundred documents: no panic, and no required fact is broken in silence.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::{TODAY, check, document, fresh_texts};

const DOCUMENTS: usize = 300;

static VALID: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let mut texts = fresh_texts();
    texts.retain(|(path, _)| path != "WORKBOARD.yaml");
    let item = |number: usize| {
        let blocked = if number == 0 { String::new() } else { format!("DEMO-WORK-{:03}", number - 1) };
        format!(
            "  - id: DEMO-WORK-{number:03}\n    title: item {number}\n    type: AFK\n    status: validated\n    blocked_by: [{blocked}]\n    evidence:\n      - {{kind: document, ref: DEMO-WORK-{number:03}-PRD.md}}\n"
        )
    };
    texts.push(("WORKBOARD.yaml".to_owned(), format!("items:\n{}", (0..DOCUMENTS).map(item).collect::<String>())));
    let path = |number: usize| format!(".sot/03-PROTOCOLS/DEMO-WORK-{number:03}-PRD.md");
    texts.extend((0..DOCUMENTS).map(|number| (path(number), document(&format!("What item {number} is for.")))));
    texts
});

/// Facts without which a document or an item is broken: a missing one must be reported.
const REQUIRED: [&str; 8] = [
    "name: a document\n",
    "status: draft\n",
    "owner: op1\n",
    "created: 2026-03-01\n",
    "last_reviewed: 2026-03-02\n",
    "lifecycle_classification: planning\n",
    "core_promotion_status: not-promoted\n",
    "Local planning SOT only. Not a Core Protocol. Not active Core authority.\n",
];
const REQUIRED_OF_ITEMS: [&str; 4] =
    ["    type: AFK\n", "    status: validated\n", "    evidence:\n", "    title: item "];

/// A value, and the number of its item.
type IsRight = fn(&str, usize) -> bool;

/// Facts of an item by their labels, and values that leave it right. An id, a status, a type, a document and a blocker have to be
/// such as the board and the folder have.
const FACTS_OF_ITEMS: [(&str, IsRight); 5] = [
    ("- id:", |value, at| value == format!("DEMO-WORK-{at:03}")),
    ("    type:", |value, _| ["AFK", "HITL"].contains(&value)),
    ("    status:", |value, at| {
        value == "validated" || (at + 1 == DOCUMENTS && ["draft", "candidate", "blocked"].contains(&value))
    }),
    ("{kind: document, ref:", |value, _| {
        let name = value.trim_end_matches('}').trim();
        (0..DOCUMENTS).any(|number| name == format!("DEMO-WORK-{number:03}-PRD.md"))
    }),
    ("    blocked_by:", |value, at| {
        let id = value.trim_start_matches('[').trim_end_matches(']');
        // Without one, or one that comes before it, nothing is a circle.
        id.is_empty() || (0..at).any(|number| id == format!("DEMO-WORK-{number:03}"))
    }),
];

/// Reads a document anew, as plainly as its format can be read: true if a required fact is missing or has no right value.
fn lacks_a_fact(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    if lines.next() != Some("---") {
        return true;
    }
    let front: Vec<&str> = lines.by_ref().take_while(|line| *line != "---").collect();
    let value = |key: &str| {
        let of_key = |line: &&str| line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')).map(str::to_owned);
        let mut found = front.iter().filter_map(of_key).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        let value = found.next().map(|rest| rest.trim().trim_matches(['"', '\'']).to_owned());
        value.filter(|value| !value.is_empty() && found.next().is_none())
    };
    let is = |key: &str, words: &[&str]| value(key).is_some_and(|value| words.contains(&value.as_str()));
    let is_day = |key: &str| {
        value(key).is_some_and(|day| {
            let parts: Vec<usize> = day.split('-').filter_map(|part| part.parse().ok()).collect();
            day.len() == 10 && matches!(parts[..], [_, 1..=12, 1..=31])
        })
    };
    let is_whole = (value("name").is_some() || value("title").is_some())
        && value("owner").is_some()
        && is("status", &["draft", "candidate", "validated", "blocked"])
        && is("lifecycle_classification", &["planning", "sot"])
        && is("core_promotion_status", &["not-promoted"])
        && is_day("created")
        && is_day("last_reviewed")
        && value("created") <= value("last_reviewed")
        && value("last_reviewed").is_some_and(|day| day.as_str() <= TODAY);
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    !(is_whole && words.join(" ").contains(DISCLAIMER))
}

const DISCLAIMER: &str = "Local planning SOT only. Not a Core Protocol. Not active Core authority.";
const INTENT: &str = ".sot/03-PROTOCOLS/WORKSPACE-INTENT.md";

fn text_of<'t>(texts: &'t [(String, String)], path: &str) -> &'t str {
    &texts.iter().find(|(known, _)| known == path).unwrap().1
}

/// Terms that CONTEXT.md has to keep.
const TERMS: [&str; 2] = ["Core Promotion Decision Packet", "Core Route Admission Guard"];

#[test]
fn the_second_reader_tells_whole_documents_from_broken_ones() {
    let whole = document("Words.");
    assert!(!lacks_a_fact(&whole));
    for fact in REQUIRED {
        assert!(lacks_a_fact(&whole.replacen(fact, "", 1)), "{fact}");
    }
    assert!(!lacks_a_fact(text_of(&VALID, INTENT)));
    for (from, to) in [
        ("Not a Core Protocol. ", ""),
        ("Core authority.", "Core authorit."),
        ("last_reviewed: 2026-03-02", "last_reviewed: 2026-02-28"),
        ("last_reviewed: 2026-03-02", "last_reviewed: 2026-03-05"),
    ] {
        assert!(whole.contains(from) && lacks_a_fact(&whole.replacen(from, to, 1)), "{from}");
    }
    assert!(!lacks_a_fact(&whole.replacen("Not a Core", "Not a\nCore", 1)));
}

#[test]
fn the_control_is_valid() {
    assert!(check(&VALID).is_valid());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::times("CTO_TEST_MUTATIONS", 24), ..ProptestConfig::default() })]

    #[test]
    fn a_required_fact_is_never_lost_in_silence(at in 0..DOCUMENTS, fact in 0..REQUIRED.len()) {
        let mut texts = VALID.clone();
        let (_, text) = texts.iter_mut().find(|(path, _)| path.ends_with(&format!("{at:03}-PRD.md"))).unwrap();
        prop_assert!(text.contains(REQUIRED[fact]));
        *text = text.replacen(REQUIRED[fact], "", 1);
        prop_assert!(!check(&texts).is_valid());
    }

    #[test]
    fn a_required_fact_of_an_item_is_never_lost_in_silence(at in 0..DOCUMENTS, fact in 0..REQUIRED_OF_ITEMS.len()) {
        let mut texts = VALID.clone();
        let (_, board) = texts.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
        let item = board.find(&format!("- id: DEMO-WORK-{at:03}")).unwrap();
        let from = item + board[item..].find(REQUIRED_OF_ITEMS[fact]).unwrap();
        let length = board[from..].find('\n').unwrap() + 1;
        board.replace_range(from..from + length, "");
        prop_assert!(!check(&texts).is_valid());
    }

    #[test]
    fn any_edit_of_any_file_is_judged_without_a_panic(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), length in 0_usize..40, with in "[\\PC\n\t|#`:\\-]{0,40}") {
        let mut texts = VALID.clone();
        let text = file.get(&texts).1.clone();
        let chars: Vec<char> = text.chars().collect();
        let start = at.index(chars.len() + 1);
        let end = (start + length).min(chars.len());
        let edited: String = chars[..start].iter().copied().chain(with.chars()).chain(chars[end..].iter().copied()).collect();
        let index = texts.iter().position(|(_, known)| *known == text).unwrap();
        texts[index].1 = edited;
        let _ = check(&texts);
    }

    /// Edits of an item of the board; a second, plainer reader says whether a fact of it was broken.
    #[test]
    fn no_edit_of_the_board_breaks_a_fact_in_silence(at in 0..DOCUMENTS, fact in 0..FACTS_OF_ITEMS.len(), place in any::<prop::sample::Index>(), length in 0_usize..6, with in "[a-zA-Z0-9:\\[\\]-]{0,6}") {
        let mut texts = VALID.clone();
        let (_, board) = texts.iter_mut().find(|(path, _)| path == "WORKBOARD.yaml").unwrap();
        let item = board.find(&format!("- id: DEMO-WORK-{at:03}")).unwrap();
        let (label, is_right) = FACTS_OF_ITEMS[fact];
        let from = item + board[item..].find(label).unwrap() + label.len();
        let line = board[from..].find('\n').unwrap();
        let start = from + place.index(line + 1);
        board.replace_range(start..(start + length).min(from + line), &with);
        let value = board[from..].lines().next().unwrap_or_default().trim().to_owned();
        let is_broken = !is_right(&value, at);
        prop_assert!(!(is_broken && check(&texts).is_valid()), "{label}{value}");
    }

    /// Edits of the workspace's intent, of which there is one.
    #[test]
    fn no_edit_of_the_intent_breaks_a_fact_in_silence(place in any::<prop::sample::Index>(), length in 0_usize..12, with in "[a-z0-9: \n|\\-]{0,12}") {
        let mut texts = VALID.clone();
        let (_, text) = texts.iter_mut().find(|(path, _)| path == INTENT).unwrap();
        let last = text.find(DISCLAIMER).unwrap() + DISCLAIMER.len();
        let start = place.index(last);
        text.replace_range(start..(start + length).min(last), &with);
        let is_broken = lacks_a_fact(text);
        let edited = text.clone();
        prop_assert!(!(is_broken && check(&texts).is_valid()), "{edited}");
    }

    /// Edits of the terms, each of which CONTEXT.md may have more than once.
    #[test]
    fn no_edit_of_a_term_is_silent(term in 0..TERMS.len(), place in any::<prop::sample::Index>(), length in 0_usize..4, with in "[a-zA-Z #\n]{0,4}") {
        let mut texts = VALID.clone();
        let (_, text) = texts.iter_mut().find(|(path, _)| path == "CONTEXT.md").unwrap();
        let mut from = 0;
        while let Some(at) = text[from..].find(TERMS[term]).map(|at| from + at) {
            let start = at + place.index(TERMS[term].len());
            text.replace_range(start..(start + length).min(at + TERMS[term].len()), &with);
            from = at + 1;
        }
        let is_broken = !text.contains(TERMS[term]);
        prop_assert!(!(is_broken && check(&texts).is_valid()), "{with:?} in {}", TERMS[term]);
    }

    /// Edits where the required facts stand; a second, plainer reader says whether one of them was broken.
    #[test]
    fn no_edit_breaks_a_required_fact_in_silence(at in 0..DOCUMENTS, place in any::<prop::sample::Index>(), length in 0_usize..12, with in "[a-z0-9: \n|\\-]{0,12}") {
        let mut texts = VALID.clone();
        let (_, text) = texts.iter_mut().find(|(path, _)| path.ends_with(&format!("{at:03}-PRD.md"))).unwrap();
        let last = text.find(DISCLAIMER).unwrap() + DISCLAIMER.len();
        let start = place.index(last);
        text.replace_range(start..(start + length).min(last), &with);
        let is_broken = lacks_a_fact(text);
        let edited = text.clone();
        prop_assert!(!(is_broken && check(&texts).is_valid()), "{edited}");
    }
}
