//! Every rule is held to its own examples, and every part of every rule is needed by one of them.

use super::*;
use crate::path_set::PathSet;

fn set(globs: &[&str]) -> PathSet {
    PathSet::any_depth(&globs.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
}

fn exam_globs(ecosystems: &[Ecosystem]) -> Vec<&'static str> {
    rules(ecosystems).map(|rule| rule.glob).collect()
}

fn every() -> impl Iterator<Item = &'static Rule> {
    rules(Ecosystem::ALL)
}

#[test]
fn rules_match_what_they_say() {
    for rule in every() {
        let set = set(&[rule.glob]);
        for path in rule.matches {
            assert!(set.is_match(path.as_bytes()), "{} does not match {path}", rule.glob);
        }
        for path in rule.leaves {
            assert!(!set.is_match(path.as_bytes()), "{} matches {path}", rule.glob);
        }
    }
}

/// Without it, the exam set of all ecosystems lets one of the rule's own examples go.
#[test]
fn no_rule_can_be_removed_unseen() {
    for rule in every() {
        let others: Vec<&str> = exam_globs(Ecosystem::ALL).into_iter().filter(|glob| *glob != rule.glob).collect();
        let others = set(&others);
        let needed = rule.matches.iter().any(|path| !others.is_match(path.as_bytes()));
        assert!(needed, "{}: what it matches is matched without it", rule.glob);
    }
}

/// The glob without one of the choices in a brace or bracket, for each of them; a glob without choices has none.
fn without_one(glob: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (open, bracket) in glob.match_indices(['{', '[']) {
        let (closing, comma) = if bracket == "{" { ('}', ",") } else { (']', "") };
        let close = open + glob[open..].find(closing).unwrap();
        let choices: Vec<&str> = glob[open + 1..close].split(comma).filter(|choice| !choice.is_empty()).collect();
        for left_out in &choices {
            let kept: Vec<&str> = choices.iter().copied().filter(|choice| choice != left_out).collect();
            all.push(format!("{}{}{}", &glob[..=open], kept.join(comma), &glob[close..]));
        }
    }
    all
}

#[test]
fn no_part_of_a_rule_can_be_removed_unseen() {
    assert_eq!(without_one("{a,b}[_-]"), ["{b}[_-]", "{a}[_-]", "{a,b}[-]", "{a,b}[_]"]);
    for rule in every() {
        for less in without_one(rule.glob) {
            let less_set = set(&[&less]);
            // Less of what a bracket leaves out is more that the glob matches.
            let lost = rule.matches.iter().any(|path| !less_set.is_match(path.as_bytes()));
            let seen = lost || rule.leaves.iter().any(|path| less_set.is_match(path.as_bytes()));
            assert!(seen, "{}: `{less}` matches all of its examples too", rule.glob);
        }
    }
}

#[test]
fn a_glob_stands_once_and_every_reason_is_told() {
    let mut globs = exam_globs(Ecosystem::ALL);
    globs.sort_unstable();
    let count = globs.len();
    globs.dedup();
    assert_eq!(globs.len(), count);
    for rule in every() {
        assert!(!rule.why.is_empty() && !rule.why.contains(['|', '\n']), "{}", rule.glob);
    }
}

#[test]
fn an_ecosystem_adds_to_what_always_applies() {
    let always = exam_globs(&[]);
    assert_eq!(always.len(), ALWAYS.len());
    for ecosystem in Ecosystem::ALL {
        assert_eq!(
            exam_globs(&[*ecosystem]),
            [always.clone(), exam_globs(&[*ecosystem])[always.len()..].to_vec()].concat()
        );
        assert_eq!(exam_globs(&[*ecosystem]).len(), always.len() + ecosystem.rules().len());
        assert_eq!(serde_json::to_value(ecosystem).unwrap(), ecosystem.as_str());
    }
}

#[test]
fn ecosystems_are_found_by_files_and_commands() {
    let rows: &[(&[&str], &[&str], &str)] = &[
        (&[], &[], ""),
        (&["README.md", "docs/a.txt", "py", "rs", "Cargo.toml.md"], &["true"], ""),
        (&["src/a.py"], &[], "python"),
        (&["deep/er/pyproject.toml"], &[], "python"),
        (&["a.rs"], &[], "rust"),
        (&["Cargo.toml"], &[], "rust"),
        (&["package.json"], &[], "node"),
        (&["web/a.tsx", "b.go"], &[], "node go"),
        (&["Makefile"], &[], "shell"),
        (&["b.mk", "a.sh", "x.go", "y.rs"], &[], "rust go shell"),
        (&[], &["python3", "-m", "unittest"], "python"),
        (&[], &["/opt/bin/python3.12"], "python"),
        (&[], &["pytest"], "python"),
        (&[], &["uv", "run", "check"], "python"),
        (&[], &["env", "A=1", "cargo", "test"], "rust"),
        (&[], &["npx", "x"], "node"),
        (&[], &["c8", "x"], "node"),
        (&[], &["go1.25.1", "test", "./..."], "go"),
        (&[], &["make", "check"], "shell"),
        (&[], &["/bin/sh", "-c", "cd a&&(cargo test);go vet|tee x"], "rust go shell"),
        (&[], &["./tools/check.py"], "python"),
        (&[], &["--runner=node"], "node"),
        (&[], &["cargohold", "ago", "mypython", "3", "", "/"], ""),
    ];
    for (paths, argv, expected) in rows {
        let argv: Vec<String> = argv.iter().map(ToString::to_string).collect();
        let found = ecosystems_of(paths.iter().map(|path| path.as_bytes()), [argv.as_slice()].into_iter());
        let found: Vec<&str> = found.into_iter().map(Ecosystem::as_str).collect();
        assert_eq!(found.join(" "), *expected, "{paths:?} {argv:?}");
    }
    assert_eq!(ecosystems_of([b"a\xff.py".as_slice(), b"/"].into_iter(), [].into_iter()), [Ecosystem::Python]);
}

/// Every sign is a sign, and of one ecosystem only.
#[test]
fn signs_are_of_one_ecosystem() {
    let none = || [].into_iter();
    for ecosystem in Ecosystem::ALL {
        let signs = ecosystem.signs();
        let endings: Vec<String> = signs.endings.iter().map(|ending| format!("a.{ending}")).collect();
        for name in signs.names.iter().copied().chain(endings.iter().map(String::as_str)) {
            assert_eq!(ecosystems_of([name.as_bytes()].into_iter(), none()), [*ecosystem], "{name}");
        }
        for program in signs.programs {
            let argv = [(*program).to_owned()];
            let found = ecosystems_of([].into_iter(), [argv.as_slice()].into_iter());
            assert_eq!(found, [*ecosystem], "{program}");
        }
    }
}

#[test]
fn names_and_titles() {
    for ecosystem in Ecosystem::ALL {
        assert_eq!(ecosystem.to_string(), ecosystem.as_str());
        assert_eq!(serde_json::to_value(ecosystem).unwrap(), ecosystem.as_str());
        assert!(ecosystem.title().to_lowercase().starts_with(ecosystem.as_str()));
    }
    let titles: Vec<&str> = Role::ALL.iter().map(|role| role.title()).collect();
    assert_eq!(titles, ["test files", "runner configuration", "build hooks", "continuous integration"]);
}

/// A set that is read once is the same for every caller, with and without each ecosystem.
#[test]
fn sets_are_those_of_the_ecosystems() {
    for ecosystems in [&[][..], &[Ecosystem::Go], Ecosystem::ALL, &[Ecosystem::Shell, Ecosystem::Python]] {
        let sets = exam_sets(ecosystems).unwrap();
        let globs: Vec<&str> = sets.iter().flat_map(|set| set.globs()).map(String::as_str).collect();
        assert_eq!(globs, exam_globs(ecosystems));
    }
}

/// Configuration, and tests or data of tests beside it.
#[test]
fn configuration_is_told_from_tests_and_their_data() {
    for (path, expected) in [
        ("conftest.py", true),
        ("pytest.ini", true),
        ("sub/package.json", true),
        ("Makefile", true),
        ("CMakeLists.txt", true),
        (".cargo/config.toml", true),
        ("build.rs", true),
        (".github/workflows/ci.yml", true),
        ("sitecustomize.py", true),
        ("tests/test_a.py", false),
        ("tests/helpers.py", false),
        ("golden/page.txt", false),
        ("src/a.rs", false),
    ] {
        assert_eq!(is_configuration(path.as_bytes()), expected, "{path}");
    }
}
