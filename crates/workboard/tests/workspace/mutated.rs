//! Random edits of a valid workspace of three hundred documents: no panic, and no required fact is broken in silence.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::{check, document, fresh_texts};

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

/// Facts without which a document or an item is broken: taking one out has to be told.
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

#[test]
fn the_control_is_valid() {
    assert!(check(&VALID).is_valid());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

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
}
