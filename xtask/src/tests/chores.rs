//! Chores, soaks and benches that a page or the usage names are there, and the usage leaves none out.

use std::fs;
use std::path::Path;

use crate::USAGE;
use crate::process::repository_root;

const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

fn read(file: &str) -> String {
    fs::read_to_string(repository_root().join(file)).unwrap()
}

/// Texts in quotes that come directly after one mark and directly before another.
fn quoted_between(text: &str, before: &str, after: &str) -> Vec<String> {
    let quoted = |line: &str| {
        let (_, rest) = line.split_once(&format!("{before}\""))?;
        let (name, rest) = rest.split_once('"')?;
        rest.trim_start().starts_with(after).then(|| name.to_owned())
    };
    text.lines().filter_map(quoted).collect()
}

fn soaks() -> Vec<String> {
    quoted_between(&read("xtask/src/soak.rs"), "name: ", ",")
}

fn benches() -> Vec<String> {
    let source = read("xtask/src/bench/mod.rs");
    let lines = source.lines().filter(|line| line.contains("measure_")).collect::<Vec<_>>().join("\n");
    quoted_between(&lines, "", "=>")
}

fn chores() -> Vec<String> {
    let source = read("xtask/src/main.rs");
    quoted_between(&source, "[", "").into_iter().filter(|name| !name.starts_with('-')).collect()
}

/// True for a word of the usage.
fn is_in_usage(word: &str) -> bool {
    USAGE.split(|letter: char| !letter.is_alphanumeric() && letter != '-').any(|known| known == word)
}

#[test]
fn the_usage_names_every_chore_soak_and_bench() {
    let (chores, soaks, benches) = (chores(), soaks(), benches());
    assert!(chores.len() > 10 && soaks.len() > 15 && benches.len() > 15, "{chores:?} {soaks:?} {benches:?}");
    for word in chores.iter().chain(&soaks).chain(&benches) {
        assert!(word == "help" || is_in_usage(word), "the usage of xtask does not name `{word}`");
    }
    assert!(!is_in_usage("chaos"), "control");
}

fn pages(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

/// Chores of a text that there are none of. A word in capitals stands for any.
fn find_unknown(text: &str) -> Vec<String> {
    let (chores, mut seconds) = (chores(), soaks());
    seconds.extend(benches());
    seconds.push("honest".to_owned());
    let mut unknown = Vec::new();
    for after in text.split("cargo xtask ").skip(1) {
        let is_inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let word = |text: &str| text.chars().take_while(|letter| is_inner(*letter)).collect::<String>();
        let first = word(after);
        let second = after.get(first.len()..).and_then(|rest| rest.strip_prefix(' ')).map(word).unwrap_or_default();
        if !first.is_empty() && !chores.contains(&first) {
            unknown.push(first);
        } else if matches!(first.as_str(), "soak" | "bench") && !second.is_empty() && !second.starts_with('-') {
            unknown.extend(Some(second).filter(|second| !seconds.contains(second)));
        }
    }
    unknown
}

#[test]
fn a_page_names_chores_that_are_there() {
    let mut texts: Vec<String> = PAGES.map(read).to_vec();
    pages(&repository_root().join("docs"), &mut texts);
    for text in &texts {
        assert_eq!(find_unknown(text), Vec::<String>::new());
    }
    let control =
        "`cargo xtask tidy`, `cargo xtask soak naps`, `cargo xtask bench X`, cargo xtask soak kills --times 3";
    assert_eq!(find_unknown(control), ["tidy", "naps"]);
}
