//! The table of patterns: its own examples, what happens to an entry that breaks, and the page that shows it.

use super::super::patterns::{About, ClaimPattern, PATTERNS};
use super::super::prose::{LoadPatternError, load_pattern};

#[test]
fn every_entry_keeps_its_examples() {
    let broken: Vec<String> =
        PATTERNS.iter().filter_map(|pattern| load_pattern(*pattern).err()).map(|error| error.to_string()).collect();
    assert_eq!(broken, [""; 0]);
    for pattern in PATTERNS {
        assert!(pattern.takes.len() > 1 && pattern.passes_over.len() > 2, "{} needs more examples", pattern.name);
    }
}

#[test]
fn an_entry_that_breaks_is_an_error() {
    let fine = ClaimPattern {
        name: "n",
        about: About::Success(true),
        only: None,
        says: "done",
        unless: &["not"],
        takes: &["done"],
        passes_over: &["not done"],
    };
    assert!(load_pattern(fine).is_ok());
    for (broken, wanted) in [
        (ClaimPattern { says: "(", ..fine }, LoadPatternError::Expression("n")),
        (ClaimPattern { unless: &["("], ..fine }, LoadPatternError::Expression("n")),
        (ClaimPattern { takes: &["done", "finished"], ..fine }, LoadPatternError::Misses("n", "finished")),
        (ClaimPattern { unless: &[], ..fine }, LoadPatternError::Takes("n", "not done")),
        (ClaimPattern { about: About::Commit, ..fine }, LoadPatternError::Misses("n", "done")),
    ] {
        assert_eq!(load_pattern(broken).unwrap_err(), wanted);
    }
}

/// The rows of the page, made from the table.
fn rows() -> String {
    let row = |pattern: &ClaimPattern| {
        let claim = match pattern.about {
            About::Success(true) => "success",
            About::Success(false) => "no success",
            About::TestsPassed(true) => "tests passed",
            About::TestsPassed(false) => "tests failed",
            About::Commit => "a commit",
            About::FilesTouched => "touched files",
            About::Other => "words only",
        };
        let show =
            |examples: &[&str]| examples.iter().take(3).map(|text| format!("“{text}”")).collect::<Vec<_>>().join(" ");
        format!("| `{}` | {claim} | {} | {} |\n", pattern.name, show(pattern.takes), show(pattern.passes_over))
    };
    PATTERNS.iter().map(row).collect()
}

#[test]
fn the_page_shows_the_table() {
    let page = include_str!("../../../../../docs/claims.md");
    assert!(page.contains(&rows()), "docs/claims.md has other rows than\n{}", rows());
}
