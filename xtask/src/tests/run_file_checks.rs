//! The verifier in the page of a run compared with `cto verify`: which checks each of them makes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::process::repository_root;

/// Checks that the page leaves out, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("admission_status", "it judges the decision's model facts again"),
    ("allowed_writes_passed", "it matches globs"),
    ("approval_event", "it weighs approvals and their signatures"),
    ("attempts", "it judges conduct by the tables of the recorders"),
    ("base64", "text that is no base64 is a broken envelope there"),
    ("candidate", "a document about other bundles"),
    ("changed_files", "it reads the patch by the rules of git"),
    ("claims", "it judges claims again"),
    ("comparison_status", "a document about other bundles"),
    ("directory", "the page has no folders"),
    ("ecosystems", "it classifies the contract's commands"),
    ("expect_baseline", "asked for on the command line"),
    ("expect_contract", "asked for on the command line"),
    ("expect_coverage", "asked for on the command line"),
    ("expect_max_age", "asked for on the command line"),
    ("expect_signer", "asked for on the command line"),
    ("forbidden_paths_passed", "it matches globs"),
    ("header", "it reads the patch by the rules of git"),
    ("judged_again", "it makes the decision again"),
    ("listed", "the page says artifact_digest, which also finds what is missing"),
    ("model", "it judges the decision's model facts again"),
    ("model_evidence", "it judges the decision's model facts again"),
    ("model_requested", "it judges the decision's model facts again"),
    ("model_use", "it adds up the use of models"),
    ("path_verdict", "it matches globs"),
    ("paths", "it matches globs"),
    ("readable", "the page has every byte"),
    ("refresh_status", "a document about other bundles"),
    ("refusal", "it judges refusals of models again"),
    ("rendered", "it renders report.md; the page compares its own first words"),
    ("size", "the page has every byte"),
];

/// Checks of the page alone.
const OF_THE_PAGE: &[(&str, &str)] = &[
    ("approval", "a request in a pass of its stage, where the command weighs approvals"),
    ("lines", "the command names the line"),
    ("subject", "the shape of a signed subject, where the command reads a type"),
];

/// Texts of the arguments of a call, from behind its bracket.
fn arguments_of(text: &str) -> Vec<String> {
    let (mut all, mut one, mut depth, mut quote) = (Vec::new(), String::new(), 0_u32, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                one.push(character);
                one.extend(characters.next());
                continue;
            }
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => break,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                all.push(std::mem::take(&mut one).trim().to_owned());
                continue;
            }
            (None, _) => {}
        }
        one.push(character);
    }
    all.push(one.trim().to_owned());
    all
}

/// Arguments that name a check, in every call of these functions: each with the place of the name.
fn named_in(text: &str, calls: &[(&str, usize)]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (call, place) in calls {
        for rest in text.split(call).skip(1) {
            names.extend(arguments_of(rest).get(*place).cloned());
        }
    }
    names
}

fn bare(name: &str) -> Option<&str> {
    let quote = |text: &char| matches!(text, '"' | '\'');
    let inner = name.strip_prefix(|c| quote(&c))?.strip_suffix(|c| quote(&c))?;
    inner.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_').then_some(inner)
}

fn sources_below(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text.push_str(&sources_below(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(std::fs::read_to_string(&path).unwrap().split("#[cfg(test)]").next().unwrap());
        }
    }
    text
}

/// A check of `cto verify` that the page neither makes nor leaves out with a reason would be missing unseen.
#[test]
fn the_page_of_a_run_makes_each_check_of_the_command_or_says_why_not() {
    let source = sources_below(&repository_root().join("crates/evidence/src/verify"));
    let calls = [("count_check(", 2), ("check_same(", 1), (".fail(", 1)];
    let command: BTreeSet<String> =
        named_in(&source, &calls).iter().filter_map(|name| bare(name)).map(str::to_owned).collect();
    assert!(command.len() > 100 && command.contains("signed_verdict") && command.contains("rendered"), "{command:?}");

    let script = std::fs::read_to_string(repository_root().join("crates/hermes/assets/run_file/checks.js")).unwrap();
    let in_script = named_in(&script, &[("this.check(", 2), ("this.same(", 1)]);
    let made: BTreeSet<&str> = in_script.iter().filter_map(|name| bare(name)).collect();
    let prefixes: Vec<&str> =
        in_script.iter().filter_map(|name| name.strip_suffix(" + name")?.trim_matches('\'').into()).collect();
    assert_eq!(prefixes, ["decision_", "signed_"]);
    // Names that are put together of a prefix and a key of a table.
    let is_joined = |name: &str| {
        let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
        rest.is_some_and(|rest| script.contains(&format!(" {rest}: ")) || script.contains(&format!("['{rest}', ")))
    };
    let is_left_out = |name: &str| LEFT_OUT.iter().any(|(left, _)| *left == name);
    let missing: Vec<&String> =
        command.iter().filter(|name| !made.contains(name.as_str()) && !is_joined(name) && !is_left_out(name)).collect();
    assert!(missing.is_empty(), "neither made nor left out: {missing:?}");
    let stale: Vec<&str> = LEFT_OUT
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !command.contains(*name) || made.contains(name) || is_joined(name))
        .collect();
    assert!(stale.is_empty(), "left out, and made or unknown: {stale:?}");
    let own: Vec<&&str> = made
        .iter()
        .filter(|name| **name != "format_version" && !command.contains(**name))
        .filter(|name| !OF_THE_PAGE.iter().any(|(known, _)| known == *name))
        .collect();
    assert!(own.is_empty(), "under another name than the command's: {own:?}");
}
