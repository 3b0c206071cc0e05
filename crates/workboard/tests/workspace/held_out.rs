//! Sentences that nobody looked at while the shapes of the rules were written: how many of the claims among them are refused,
//! and how many of the honest ones pass.

use workboard::RuleBook;

use crate::broken::{DOCUMENT, edited};
use crate::check;

/// Rule, claims, how many of them it refuses, and honest sentences, all of which pass.
type HeldOut = (&'static str, [&'static str; 10], usize, [&'static str; 10]);

const HELD_OUT: [HeldOut; 3] = [
    (
        "default_claimed",
        [
            "From Monday on, Codex serves as our default backend.",
            "The team has adopted Case as the default engine.",
            "Opencode is hereby the default runner for all work items.",
            "Everyone now uses Case as their default agent.",
            "At last Codex was chosen as our default agent.",
            "Default engine = Case",
            "Runtime default activation: on.",
            "The board agreed to it: Case acts as the default runner.",
            "Claude, tested for months, became the default engine.",
            "Pi is selected by default for every run.",
        ],
        10,
        [
            "Case would be the default backend only after a signed decision.",
            "The default branch of the repository is main.",
            "Colours are off by default.",
            "Nobody may describe Case as the default backend.",
            "Until the guard passes, Case stays a candidate for the default backend.",
            "The default limits are enough for this case.",
            "Reviewers asked whether Codex is the default engine now.",
            "Case runs in the default sandbox profile.",
            "We did not make Case the default backend in this sequence.",
            "Whatever the comparison says, no engine becomes the default backend by it.",
        ],
    ),
    (
        "promotion_claimed",
        [
            "As of today the harness contract is part of Core.",
            "The Case protocol was promoted to Core last week.",
            "Core promotion was granted by the reviewers.",
            "This packet has been promoted.",
            "Core has adopted our workspace.",
            "We hereby promote the evidence contract to Core.",
            "Core promotion status: promoted",
            "The promotion to Core is now complete.",
            "The workspace now belongs to Core.",
            "The issue sequence became an active Core protocol.",
        ],
        9,
        [
            "Whether this contract is promoted to Core is decided in Core.",
            "Core promotion remains a matter of the governed route.",
            "The packet lists what must happen before the protocol is promoted.",
            "None of these documents is part of Core.",
            "A request for Core promotion was deferred.",
            "The deployment was promoted from staging to production.",
            "Core has its own review for such a request.",
            "We would promote the contract to Core only through its route.",
            "Core promotion has not occurred.",
            "The maintainers never accepted this workspace into Core.",
        ],
    ),
    (
        "authority_claimed",
        [
            "This plan permits a second run against the target.",
            "The agent is allowed to push its branch.",
            "This contract itself grants execution.",
            "Codex may promote the result on its own.",
            "Stage 5 is approved by this record.",
            "The console grants approvals.",
            "This brief gives full authority to the engine.",
            "Pi may approve what it wrote.",
            "The present report overrides the older admission.",
            "Hermes has the final authority over runs.",
        ],
        10,
        [
            "This document describes how a run is approved.",
            "An approval is signed by a person, never by the engine.",
            "The engine may read the files below src/.",
            "This plan allows time for a review.",
            "Hermes shows approvals and grants nothing.",
            "The agent cannot approve its own result.",
            "This record names the approval that authorised the run.",
            "No document in this folder gives authority to an agent.",
            "The runner decides how many tests run at once.",
            "This closeout refers to the admission of the target.",
        ],
    ),
];

/// Rules about words that a sentence breaks, in a document that is valid without it.
fn rules_of(sentence: &str) -> Vec<String> {
    let found = check(&edited(DOCUMENT, "See [", &format!("{sentence}\n\nSee [")));
    found.findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn claims_that_were_held_out_are_refused_and_honest_sentences_pass() {
    for (rule, claims, refused, honest) in HELD_OUT {
        let missed: Vec<&str> =
            claims.into_iter().filter(|claim| !rules_of(claim).contains(&rule.to_owned())).collect();
        println!("{rule}: {} of {} claims refused; missed: {missed:?}", claims.len() - missed.len(), claims.len());
        assert_eq!(claims.len() - missed.len(), refused, "{rule}: {missed:?}");
        let wronged: Vec<&str> = honest.into_iter().filter(|sentence| !rules_of(sentence).is_empty()).collect();
        assert_eq!(wronged, Vec::<&str>::new(), "{rule}");
    }
}

/// None of them is an example of a rule, by which it would have been looked at.
#[test]
fn no_example_of_a_rule_is_held_out() {
    let book = RuleBook::built_in().unwrap();
    for rule in book.rules() {
        let examples = rule.must_match.iter().chain(&rule.must_not_match);
        for example in examples {
            let is_held_out = HELD_OUT
                .iter()
                .any(|(_, claims, _, honest)| claims.iter().chain(honest).any(|sentence| sentence == example));
            assert!(!is_held_out, "{example}");
        }
    }
}

/// Places beside prose, and what surrounds a claim without denying it.
#[test]
fn a_claim_is_found_wherever_it_stands() {
    let claim = "Case is the default backend.";
    for (name, file, from, to, rule) in [
        ("prose", DOCUMENT, "See [", format!("{claim}\n\nSee ["), Some("default_claimed")),
        ("an honest clause", DOCUMENT, "See [", "Not today: the review is open.\n\nSee [".to_owned(), None),
        ("a value", DOCUMENT, "owner: op1", format!("owner: op1\nsource: {claim}"), Some("default_claimed")),
        ("a quoted value", DOCUMENT, "owner: op1", format!("owner: op1\nsource: \"{claim}\""), Some("default_claimed")),
        (
            "a continued value",
            DOCUMENT,
            "owner: op1",
            "owner: op1\nsource: >\n  Case is the\n  default backend.".to_owned(),
            Some("default_claimed"),
        ),
        (
            "a list of values",
            DOCUMENT,
            "owner: op1",
            format!("owner: op1\nsource:\n- {claim}"),
            Some("default_claimed"),
        ),
        ("an honest value", DOCUMENT, "owner: op1", "owner: op1\nsource: the review of Case".to_owned(), None),
        ("a fence", DOCUMENT, "See [", format!("```text\n{claim}\n```\n\nSee ["), None),
        ("a fence in a list", DOCUMENT, "See [", format!("- one\n\n    ```text\n    {claim}\n    ```\n\nSee ["), None),
        (
            "a span of three ticks",
            DOCUMENT,
            "See [",
            format!("```x``` is code.\n\n{claim}\n\nSee ["),
            Some("default_claimed"),
        ),
        ("an indented fence", DOCUMENT, "See [", format!("    ```\n\n{claim}\n\nSee ["), Some("default_claimed")),
        (
            "a row",
            DOCUMENT,
            "See [",
            "| runtime_default_activation | true |\n\nSee [".to_owned(),
            Some("constant_changed"),
        ),
        ("an honest row", DOCUMENT, "See [", "| runtime_default_activation | false |\n\nSee [".to_owned(), None),
        (
            "a heading row",
            DOCUMENT,
            "See [",
            "| runtime_default_activation |\n| --- |\n| false |\n\nSee [".to_owned(),
            None,
        ),
        (
            "a field",
            DOCUMENT,
            "owner: op1",
            "owner: op1\nruntime_default_activation: true".to_owned(),
            Some("constant_changed"),
        ),
        ("a title", "WORKBOARD.yaml", "title: two", format!("title: {claim}"), Some("default_claimed")),
        (
            "a flow map",
            "WORKBOARD.yaml",
            "title: two",
            format!("title: two\n    x: {{status: candidate, note: {claim}}}"),
            Some("default_claimed"),
        ),
        (
            "a block",
            "WORKBOARD.yaml",
            "title: two",
            "title: two\n    note: |\n      Case is\n      the default backend.".to_owned(),
            Some("default_claimed"),
        ),
        (
            "a key of the board",
            "WORKBOARD.yaml",
            "title: two",
            "title: two\n    runtime_default_activation: true".to_owned(),
            Some("constant_changed"),
        ),
        (
            "an honest key",
            "WORKBOARD.yaml",
            "title: two",
            "title: two\n    runtime_default_activation: false".to_owned(),
            None,
        ),
    ] {
        let found = check(&edited(file, from, &to));
        let rules: Vec<&str> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, Vec::from_iter(rule), "{name}");
    }
}
