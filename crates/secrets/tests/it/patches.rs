//! A patch stays a patch, whatever is taken out of it.

#![expect(clippy::disallowed_methods, reason = "git is the judge of what a patch is, and only tests ask it")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use secrets::{Allowance, Class, Keep, RuleSet, Scanner};
use testkit::secret_set::planted;

fn scanner() -> Scanner {
    Scanner::new(&[], RuleSet::standard())
}

const KEY: [&str; 2] = ["AK", "IAQ3EGZXV7TIOPLK2M"];
const BODY: [&str; 2] =
    ["CIIEpAIBAAKCAQEAq7Xv0ZrT2mB9cKfW4hNjL5sD8gY1uE3oR6tI0pA2wQ9xC7vB", "bV5nM4kJ8hG3fD1sA6qW2eR9tY7uI0oP5lK=="];

/// A file with these lines, each with its mark, as git would show it.
fn file_diff(name: &str, lines: &[(char, &str)]) -> String {
    let count = |without: char| lines.iter().filter(|(mark, _)| *mark != without).count();
    let (old, new) = (count('+'), count('-'));
    let (old_name, mode) = match old {
        0 => ("/dev/null".to_owned(), "new file mode 100644\n"),
        _ => (format!("a/{name}"), ""),
    };
    let mut text = format!(
        "diff --git a/{name} b/{name}\n{mode}index 83db48f..bf269f4\n--- {old_name}\n+++ b/{name}\n@@ -{},{old} +1,{new} @@\n",
        usize::from(old > 0)
    );
    for (mark, line) in lines {
        text.push(*mark);
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Numbers that git counts in a patch: lines added, lines removed, file.
fn numstat(patch: &[u8]) -> Result<String, String> {
    let mut git = Command::new("git")
        .args(["apply", "--numstat", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    git.stdin.take().unwrap().write_all(patch).map_err(|error| error.to_string())?;
    let told = git.wait_with_output().map_err(|error| error.to_string())?;
    match told.status.success() {
        true => Ok(String::from_utf8_lossy(&told.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&told.stderr).into_owned()),
    }
}

/// True if the line is the other one with markers in the place of some of it.
fn is_line_with_markers(line: &str, original: &str) -> bool {
    let mut rest = original;
    let mut pieces = line.split("[redacted:").enumerate();
    pieces.all(|(number, piece)| match number {
        0 => rest.strip_prefix(piece).inspect(|left| rest = left).is_some(),
        _ => {
            let kept = piece.split_once(']').map_or("", |(_, kept)| kept);
            rest.find(kept).map(|at| rest = &rest[at + kept.len()..]).is_some()
        }
    })
}

fn check_stays_a_patch(patch: &str) -> Result<(), TestCaseError> {
    let scanner = scanner();
    let (clean, hits) = scanner.redact_patch(patch.as_bytes(), Keep::Baseline);
    let clean = String::from_utf8_lossy(&clean).into_owned();
    let (lines, originals): (Vec<_>, Vec<_>) = (clean.split('\n').collect(), patch.split('\n').collect());
    prop_assert_eq!(lines.len(), originals.len());
    for (line, original) in lines.iter().zip(&originals) {
        prop_assert!(is_line_with_markers(line, original), "{line:?} is not {original:?}");
        prop_assert_eq!(line.chars().next(), original.chars().next(), "the mark stays");
    }
    prop_assert!(hits.iter().all(|hit| hit.offset + hit.len <= patch.len() as u64), "{hits:?}");
    prop_assert_eq!(numstat(clean.as_bytes()), numstat(patch.as_bytes()));
    let (again, more) = scanner.redact_patch(clean.as_bytes(), Keep::Baseline);
    prop_assert!(more.is_empty() && again == clean.as_bytes(), "{more:?} in {clean}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_patch_stays_one(
        seed in any::<u64>(),
        files in prop::collection::vec(
            prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec!['+', '-', ' '])), 1..5), 1..4),
    ) {
        let planted = planted::all(seed, 1);
        let mut patch = String::new();
        for (number, file) in files.iter().enumerate() {
            let texts = file.iter().map(|(index, mark)| (*mark, &planted[index.index(planted.len())].text));
            let lines: Vec<_> =
                texts.flat_map(|(mark, text)| text.lines().map(move |line| (mark, line.trim_end_matches('\r')))).collect();
            patch += &file_diff(&format!("dir/file-{number}.txt"), &lines);
        }
        check_stays_a_patch(&patch)?;
    }
}

/// Rows of a file that ends where a value could go on, and the file after it.
#[test]
fn a_value_never_reaches_into_the_next_file() {
    let begin = ["-----BEGIN RSA PRIV", "ATE KEY-----"].concat();
    let assigned = ["pass", "word:"].concat();
    for lines in [
        vec![begin.as_str(), BODY[0], BODY[1]],
        vec!["QUtJQVEzRUdaWFY3VElPUExLMk0gYW5kIG1vcmUgb2YgdGhlIHNhbWUgYmxv"],
        vec!["414b4941513345475a58563754494f504c4b324d"],
        vec![assigned.as_str()],
    ] {
        let marked: Vec<_> = lines.iter().map(|line| ('+', *line)).collect();
        let patch = file_diff("a.txt", &marked) + &file_diff("index0b5f3c2d9e8a7164", &[('+', "x")]);
        check_stays_a_patch(&patch).unwrap();
    }
}

#[test]
fn a_key_is_taken_out_line_by_line() {
    let begin = ["-----BEGIN RSA PRIV", "ATE KEY-----"].concat();
    let end = ["-----END RSA PRIV", "ATE KEY-----"].concat();
    let marker = "[redacted:private-key]";
    for (before, after) in [("", ""), ("    ", ""), ("  \"", "\\n\" +"), ("# ", "")] {
        let line = |text: &str| format!("{before}{text}{after}");
        let all = [&begin, BODY[0], BODY[1], &end].map(line);
        let marked: Vec<_> = all.iter().map(|line| ('+', line.as_str())).collect();
        let expected = [&begin, marker, marker, &end].map(line);
        let expected: Vec<_> = expected.iter().map(|line| ('+', line.as_str())).collect();
        let (clean, hits) = scanner().redact_patch(file_diff("k", &marked).as_bytes(), Keep::Baseline);
        assert_eq!(String::from_utf8_lossy(&clean), file_diff("k", &expected));
        assert_eq!(hits.len(), 1, "{hits:?}");
    }
}

/// An allowance is for one rule, one file and one value.
#[test]
fn what_is_allowed_stays_at_its_path_alone() {
    let key = KEY.concat();
    let line = format!("id = {key}");
    let digest = scanner().scan(key.as_bytes())[0].value_sha256.unwrap();
    let patch = file_diff("a.txt", &[('+', &line)]) + &file_diff("b.txt", &[('+', &line)]);
    let rows = [
        ("aws-access-key-id", "a.txt", digest, [Class::Allowed, Class::Shape]),
        ("aws-access-key-id", "*.txt", digest, [Class::Shape, Class::Shape]),
        ("jwt", "a.txt", digest, [Class::Shape, Class::Shape]),
        ("aws-access-key-id", "a.txt", [7; 32], [Class::Shape, Class::Shape]),
    ];
    for (rule, path, value_sha256, expected) in rows {
        let allowance = Allowance { rule: rule.to_owned(), path: path.to_owned(), value_sha256 };
        let scanner = scanner().with_allowances(vec![allowance]);
        let (clean, hits) = scanner.redact_patch(patch.as_bytes(), Keep::Baseline);
        let classes: Vec<Class> = hits.iter().map(|hit| hit.class).collect();
        assert_eq!(classes, expected, "{rule} {path}");
        let kept = String::from_utf8_lossy(&clean).matches(&key).count();
        assert_eq!(kept, expected.iter().filter(|class| **class == Class::Allowed).count(), "{rule} {path}");
        // Elsewhere it is taken out.
        assert!(!String::from_utf8_lossy(&scanner.redact(line.as_bytes()).0).contains(&key));
    }
}
