//! Lines of CI files that run tests. They are shown beside a draft and never become part of it.

use crate::repository::ProjectFolder;

/// Workflows that are read, and lines that are shown.
const MOST_FILES: usize = 10;
const MOST_LINES: usize = 5;
const LONGEST: usize = 120;

/// Words of a command that tests something.
const WORDS: [&str; 13] = [
    "pytest",
    "unittest",
    "tox",
    "nox",
    "cargo test",
    "nextest",
    "go test",
    "npm test",
    "npm run test",
    "pnpm test",
    "yarn test",
    "ctest",
    "make check",
];

/// Test commands in CI files, without duplicates and bounded in number. They are text for
/// people: nothing runs them.
pub(super) fn find_ci_tests(root: &ProjectFolder<'_>) -> Vec<String> {
    let workflows = root.names_below(".github/workflows", MOST_FILES);
    let files = workflows.iter().map(|name| format!(".github/workflows/{name}")).chain([".gitlab-ci.yml".to_owned()]);
    let mut found = Vec::new();
    for text in files.filter_map(|file| root.read_text(&file)) {
        for command in text.lines().filter_map(test_command) {
            if found.len() < MOST_LINES && !found.contains(&command) {
                found.push(command);
            }
        }
    }
    found
}

/// The command of a line, without the marks of YAML.
fn test_command(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches("- ").trim_start_matches("run:").trim();
    let is_test = !line.starts_with('#') && line.len() <= LONGEST && WORDS.iter().any(|word| has_word(line, word));
    (is_test && !line.starts_with("name:") && !line.contains("install")).then(|| line.to_owned())
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_other_lines() {
        for (line, command) in [
            ("      - run: cargo test --all", Some("cargo test --all")),
            ("        run: tox -e py", Some("tox -e py")),
            ("    - pytest -x", Some("pytest -x")),
            ("      - name: run pytest", None),
            ("      # pytest", None),
            ("        run: pip install pytest", None),
            ("        run: ./mypytest.sh", None),
        ] {
            assert_eq!(test_command(line).as_deref(), command, "{line}");
        }
    }
}
