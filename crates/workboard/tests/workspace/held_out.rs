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

/// Ways to write a claim that a reader of the page sees as plainly as any other.
const MARKED_UP: [&str; 37] = [
    "Case is the _default_ backend.",
    "Case is __the__ *default* **backend**.",
    "Case is the de*fau*lt backend.",
    "Case is the ~~default~~ backend.",
    "Case is the [default backend](CONTEXT.md).",
    "Case is the [default][d] backend.\n\n[d]: CONTEXT.md",
    "Case is the [default] backend.",
    "Case is the [default backend](not a target).",
    "![Case](CONTEXT.md) is the default backend.",
    "Case is the default[^1] backend.",
    "Case\u{a0}is\u{2009}the\u{202f}default\u{a0}backend.",
    "Case is the def\u{200b}ault back\u{2060}end.",
    "Case is the de\u{ad}fault backend.",
    "Case is the default&nbsp;backend.",
    "Case is the &#100;efault back&#x65;nd.",
    "Case is the d&shy;efault backend.",
    "Case is the <b>default</b> backend.",
    "Case is the def<i class=\"x\">ault</i> backend.",
    "Case is the default<br>backend.",
    "Case is the default<br/>\nbackend.",
    "<p>Case is the default backend.</p>",
    "Case is the de<!-- and. so on -->fault backend.",
    "Case is the <!-- not the. --> default backend.",
    "Case is the default\\\nbackend.",
    "Case is the default  \nbackend.",
    "Case is the\r\ndefault backend.",
    "CASE IS THE DEFAULT BACKEND.",
    "cAsE iS tHe DeFaUlT bAcKeNd.",
    "Case is the \\_default\\_ backend.",
    "Case is the `default backend`.",
    "Case is the `default` backend.",
    "Case \"is\" the \"default backend\".",
    "Case is the “default backend”.",
    "# Case is the **default** backend #",
    "- Case is the [_default_ backend](CONTEXT.md)",
    "| Case is the <b>default</b> backend |",
    "Ｃase is the ｄｅｆault backend.",
];

/// The same markup around what claims nothing, or where no reader sees the claim.
const MARKED_HONEST: [&str; 12] = [
    "Case is **not** the _default_ backend.",
    "Case is <b>not</b> the default&nbsp;backend.",
    "Do\u{a0}not activate Case as [default backend](CONTEXT.md).",
    "Case isn’t the default backend.",
    "<!-- Case is the default backend. -->",
    "<!--\nCase is the default backend.\n\n-->",
    "The sentence `Case is the default backend.` is refused.",
    "The sentence \"Case is the _default_ backend.\" is refused.",
    "> Case is the default backend.",
    "The `default backend` is chosen later.",
    "The \"default\" of the board is [draft](CONTEXT.md).",
    "A path such as `default_backend.md` is no claim.",
];

#[test]
fn a_claim_is_found_however_it_is_marked_up() {
    let claims = |text: &&str| rules_of(text).contains(&"default_claimed".to_owned());
    let missed: Vec<&str> = MARKED_UP.into_iter().filter(|text| !claims(text)).collect();
    let wronged: Vec<&str> = MARKED_HONEST.into_iter().filter(claims).collect();
    assert_eq!((missed, wronged), (Vec::new(), Vec::new()), "missed, wronged");
    // Values of the board are read in the same way.
    for (title, expected) in [("Case is the [default](x) _backend_", 1), ("Case is **not** the default backend", 0)] {
        let found = check(&edited("WORKBOARD.yaml", "title: two", &format!("title: '{title}'")));
        assert_eq!(found.findings.iter().filter(|one| one.rule == "default_claimed").count(), expected, "{title}");
    }
}

/// A sentence that a document has to keep is kept where a reader sees it.
#[test]
fn a_comment_keeps_no_sentence_and_no_disclaimer() {
    let disclaimer = "Local planning SOT only. Not a Core Protocol. Not active Core authority.";
    let marked = "**Local planning SOT only.** _Not a Core Protocol._ Not active <b>Core</b>&nbsp;authority.";
    for (to, rules) in [
        (disclaimer.to_owned(), vec![]),
        (marked.to_owned(), vec![]),
        (format!("A subtitle.\n\n{disclaimer}"), vec![]),
        (format!("A subtitle.\n\nAnother.\n\n{disclaimer}"), vec!["disclaimer_missing"]),
        (format!("Text.\n\nMore.\n\n## Non-Authority Notice\n\nRead this.\n\n{disclaimer}\n\n## On"), vec![]),
        (format!("Text.\n\nMore.\n\n## Another Notice\n\n{disclaimer}\n\n## On"), vec!["disclaimer_missing"]),
        (format!("<!-- {disclaimer} -->"), vec!["disclaimer_missing"]),
        (format!("<!--\n{disclaimer}\n-->"), vec!["disclaimer_missing"]),
        (format!("<!--\n\n{disclaimer}\n"), vec!["disclaimer_missing"]),
        (format!("```text\n{disclaimer}\n```"), vec!["disclaimer_missing"]),
    ] {
        let found = check(&edited(DOCUMENT, disclaimer, &to));
        let told: Vec<&str> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(told, rules, "{to}");
    }
    let kept = "Runtime default activation remains false. Do not activate Case as default backend. No Core promotion occurs. This document authorises no further run.";
    for (body, count) in
        [(kept.to_owned(), 0), (kept.replace("remains", "_remains_"), 0), (format!("<!-- {kept} -->"), 4)]
    {
        let mut texts = crate::fresh_texts();
        let text = crate::document(&body).replace("2026-03-01", crate::TODAY).replace("2026-03-02", crate::TODAY);
        texts.push((".sot/03-PROTOCOLS/DEMO-CLOSEOUT.md".to_owned(), text));
        assert_eq!(check(&texts).errors().count(), count, "{body}");
    }
}
