//! Each rule finds its own examples, and none that it must not.

use std::collections::BTreeSet;

use regex_automata::dfa::onepass;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;

use crate::marker::NAME_MAX;
use crate::{RuleSet, Scanner};

fn found(text: &str) -> Vec<String> {
    let scanner = Scanner::new(&[], RuleSet::standard());
    scanner.scan(text.as_bytes()).iter().map(|hit| hit.rule.to_string()).collect()
}

#[test]
fn every_example_is_judged_as_its_rule_says() {
    let mut wrong = Vec::new();
    for rule in RuleSet::standard().rules() {
        assert!(rule.yes.len() + rule.no.len() >= 2, "{} has too few examples", rule.id);
        for (examples, expected) in [(rule.yes, true), (rule.no, false)] {
            for text in examples.iter().map(|pieces| pieces.concat()) {
                let found = found(&text);
                if found.iter().any(|id| id == rule.id) != expected {
                    wrong.push(format!("{}: {expected} expected, {found:?} found in {text:?}", rule.id));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_can_be_used() {
    let rules = RuleSet::standard();
    let mut ids = BTreeSet::new();
    for (number, rule) in rules.rules().enumerate() {
        let id = rule.id;
        assert!(ids.insert(id), "{id} is there twice");
        assert!(
            id.len() <= NAME_MAX && id.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')),
            "{id}"
        );
        assert!(rules.regex(number).is_some(), "{id}: the pattern is none");
        assert!(rule.span <= crate::SPAN && !rule.yes.is_empty(), "{id}");
        for literal in rule.literals {
            assert!(literal.len() >= 3, "{id}: {literal:?} is too short");
        }
    }
    assert!(ids.len() >= 60);
}

/// One way to read a text, decided character by character: such a pattern costs the same whatever comes, and sees the
/// same in the text that is left when something else was taken out.
#[test]
fn every_pattern_with_a_group_is_deterministic() {
    let bytes = |fold| syntax::Config::new().unicode(false).utf8(false).case_insensitive(fold);
    let mut wrong = Vec::new();
    let nfa = thompson::Config::new().utf8(false);
    for rule in RuleSet::standard().rules().filter(|rule| rule.pattern.contains("([")) {
        let built = onepass::Builder::new().syntax(bytes(rule.fold)).thompson(nfa.clone()).build(rule.pattern);
        if let Err(error) = built {
            wrong.push(format!("{}: {error}", rule.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A host's own scanner would refuse a file that holds a whole secret.
#[test]
fn no_example_stands_whole_in_the_tables() {
    let tables = [
        include_str!("assigned.rs"),
        include_str!("business.rs"),
        include_str!("cloud.rs"),
        include_str!("commands.rs"),
        include_str!("hosting.rs"),
        include_str!("inference.rs"),
        include_str!("places.rs"),
        include_str!("code.rs"),
        include_str!("keys.rs"),
        include_str!("models.rs"),
        include_str!("operations.rs"),
        include_str!("payments.rs"),
        include_str!("platforms.rs"),
        include_str!("services.rs"),
    ];
    for rule in RuleSet::standard().rules() {
        for pieces in rule.yes {
            let text = pieces.concat();
            assert!(pieces.len() > 1 && !tables.iter().any(|table| table.contains(&text)), "{}: {text}", rule.id);
        }
    }
}
