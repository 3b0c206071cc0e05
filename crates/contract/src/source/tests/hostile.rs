//! Whatever the bytes: an answer, soon, without a panic.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::sample::{JSON, Sample, YAML};
use crate::source::{Problems, SourceRule, Style, load};

fn attempt(file: &str, bytes: &[u8]) -> Result<(), Problems> {
    let problems = match load::<Sample>(file, bytes) {
        Ok(_) => return Ok(()),
        Err(problems) => problems,
    };
    assert!(!problems.problems.is_empty());
    for problem in &problems.problems {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty());
        assert!(!problem.plain().contains(char::is_control), "{}", problem.plain());
    }
    assert!(!problems.render_all(Style::default()).contains('\x1b'));
    Err(problems)
}

fn both(bytes: &[u8]) {
    let _ = attempt("a.yaml", bytes);
    let _ = attempt("a.json", bytes);
}

fn refused_quickly(file: &str, text: &str) -> Problems {
    let start = Instant::now();
    let problems = attempt(file, text.as_bytes()).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}: {:.60}", start.elapsed(), text);
    problems
}

#[test]
fn bombs() {
    let laughs = (1..9).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9)));
    let laughs = format!("a0: &a0 [lol]\n{}", laughs.collect::<String>());
    assert!(refused_quickly("a.yaml", &laughs).problems.iter().any(|p| p.rule == SourceRule::YamlFeature));

    for (file, text) in [
        ("a.yaml", "- ".repeat(500_000)),
        ("a.yaml", "? ".repeat(500_000)),
        ("a.yaml", "[".repeat(1_000_000)),
        ("a.yaml", "{a: ".repeat(200_000)),
        ("a.json", "[".repeat(1_000_000)),
        ("a.json", format!("{}1{}", "[".repeat(33), "]".repeat(33))),
    ] {
        let problems = refused_quickly(file, &text);
        assert_eq!(problems.problems[0].rule, SourceRule::TooLarge, "{:.60}", problems.to_string());
    }
}

#[test]
fn large_and_wrong() {
    let names = |between: &str| (0..20_000).map(|n| format!("\"k{n}\":1{between}")).collect::<String>();
    for (file, text) in [
        ("a.yaml", format!("{}: 1\n", "k".repeat(1_000_000))),
        ("a.yaml", format!("? {}\n: 1\n", "k".repeat(1_000_000))),
        ("a.yaml", "title: b\n".repeat(20_000)),
        ("a.yaml", names("\n").replace(':', ": ")),
        ("a.yaml", format!("allowed_paths: [{}]", "a,".repeat(50_000))),
        ("a.yaml", format!("forbidden_actions: [{}]", "deploi,".repeat(20_000))),
        ("a.json", format!("{{{}\"z\":1}}", names(","))),
        ("a.json", format!("{{\"slots\":[{}1]}}", "1.5,".repeat(50_000))),
        ("a.json", format!("{{\"{}\":1}}", "k".repeat(1_000_000))),
    ] {
        let problems = refused_quickly(file, &text);
        assert!(problems.problems.len() <= 201);
    }
}

fn mutated(document: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let bit = prop_oneof![
        "[-:,?&*!|>'\"%@`{}\\[\\]#~\\\\ \t\n]{1,4}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 1..3),
        "\\PC{1,3}".prop_map(String::into_bytes),
    ];
    let edit = (any::<prop::sample::Index>(), 0..6usize, bit);
    prop::collection::vec(edit, 1..5).prop_map(move |edits| {
        let mut bytes = document.as_bytes().to_vec();
        for (at, removed, inserted) in edits {
            let start = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (start + removed).min(bytes.len());
            bytes.splice(start..end, inserted);
        }
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        both(&bytes);
    }

    #[test]
    fn any_markup(text in "[-:,?&*!|>'\"%{}\\[\\]#~\\\\a1. \t\r\n]{0,60}") {
        both(text.as_bytes());
    }

    #[test]
    fn any_mutation(bytes in prop_oneof![mutated(YAML), mutated(JSON)]) {
        both(&bytes);
    }
}
