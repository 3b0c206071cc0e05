//! Messages of a runner about each test that failed, in one line: found in its output by
//! the name of the test.

use std::collections::BTreeMap;

use super::text;

/// Characters of one message.
const LONGEST: usize = 200;
/// Lines after the name of a test that are searched for its message.
const NEAR: usize = 60;
/// Lines of an output that are looked through, from its end.
const MOST_LINES: usize = 50_000;

/// The message of each of these tests that has one.
pub fn failure_messages<'n>(output: &[u8], names: impl IntoIterator<Item = &'n str>) -> BTreeMap<String, String> {
    let mut lines: Vec<String> = text::output_lines(output).map(|line| line.trim_end().to_owned()).collect();
    lines.drain(..lines.len().saturating_sub(MOST_LINES));
    let found = |name: &str| {
        let last = last_name(name);
        let message = pytest(&lines, name)
            .or_else(|| unittest(&lines, last))
            .or_else(|| rust(&lines, name))
            .or_else(|| go(&lines, last))
            .or_else(|| node(&lines, last))?;
        let message: String = contract::text::show_controls(message.trim()).chars().take(LONGEST).collect();
        (!message.is_empty()).then_some(message)
    };
    names.into_iter().filter_map(|name| Some((name.to_owned(), found(name)?))).collect()
}

/// The test's own name, without its file, class, binary or package.
fn last_name(identity: &str) -> &str {
    let name = identity.rsplit(" > ").next().unwrap_or(identity);
    let name = name.rsplit("::").next().unwrap_or(name);
    if name.contains(' ') { name } else { name.rsplit('.').next().unwrap_or(name) }
}

/// `FAILED a/test_b.py::test_c - assert 1 == 2`.
fn pytest<'l>(lines: &'l [String], name: &str) -> Option<&'l str> {
    let words = ["FAILED ", "ERROR "];
    lines.iter().rev().find_map(|line| {
        let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
        rest.strip_prefix(name)?.strip_prefix(" - ")
    })
}

/// The exception at the end of the traceback below `FAIL: test_c (module.Class.test_c)`.
fn unittest<'l>(lines: &'l [String], last: &str) -> Option<&'l str> {
    let heads = [format!("FAIL: {last} ("), format!("ERROR: {last} (")];
    let at = lines.iter().position(|line| heads.iter().any(|head| line.starts_with(head.as_str())))?;
    let block = lines.iter().skip(at + 2).take(NEAR);
    let block = block.take_while(|line| !line.starts_with("=====") && !line.starts_with("-----"));
    let block: Vec<&String> = block.collect();
    // Of an exception that was raised while another was handled, the last one counts.
    let last = block.iter().rposition(|line| line.starts_with("Traceback ")).map_or(0, |at| at + 1);
    let unindented = block[last..].iter().find(|line| !line.is_empty() && !line.starts_with([' ', '\t']));
    unindented.map(|line| line.as_str())
}

/// The panic below `---- tests::adds stdout ----`.
fn rust<'l>(lines: &'l [String], name: &str) -> Option<&'l str> {
    let path = name.rsplit(" > ").next()?;
    let head = format!("---- {path} stdout ----");
    let at = lines.iter().position(|line| *line == head)?;
    let block: Vec<&String> =
        lines.iter().skip(at + 1).take(NEAR).take_while(|line| !line.starts_with("---- ")).collect();
    let panic = block.iter().position(|line| line.contains(" panicked at "))?;
    // The message stands in the line below since Rust 1.73.
    match block.get(panic + 1) {
        Some(message) if block[panic].ends_with(':') => Some(message),
        _ => block[panic].split_once(" panicked at ").map(|(_, message)| message),
    }
}

/// The last line that a Go test logged before it failed.
fn go<'l>(lines: &'l [String], last: &str) -> Option<&'l str> {
    let head = format!("--- FAIL: {last} (");
    let at = lines.iter().position(|line| line.trim_start().starts_with(&head))?;
    let is_log = |line: &&String| line.starts_with("    ") && line.contains(".go:");
    let after = lines.iter().skip(at + 1).take(NEAR).take_while(|line| line.starts_with("    ")).find(is_log);
    let before = || {
        let before = lines[..at].iter().rev().take(NEAR);
        before.take_while(|line| !line.starts_with("=== RUN") && !line.starts_with("--- ")).find(is_log)
    };
    after.or_else(before).map(String::as_str)
}

/// `error:` in the details of a TAP point, or the first line below a failed test of the
/// other reporter.
fn node<'l>(lines: &'l [String], last: &str) -> Option<&'l str> {
    let is_point = |line: &str| line.trim_start().starts_with("not ok ") && line.ends_with(&format!("- {last}"));
    if let Some(at) = lines.iter().position(|line| is_point(line)) {
        let block = lines.iter().skip(at + 1).take(NEAR).take_while(|line| line.trim() != "...");
        let block: Vec<&str> = block.map(|line| line.trim()).collect();
        let error = block.iter().position(|line| line.starts_with("error:"))?;
        let value = block[error].trim_start_matches("error:").trim().trim_matches(['\'', '"']);
        return if value.starts_with('|') { block.get(error + 1).copied() } else { Some(value) };
    }
    let head = format!("✖ {last} (");
    let at = lines.iter().rposition(|line| line.trim_start().starts_with(&head))?;
    lines.get(at + 1).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, name: &str, expected: &str) {
        let found = failure_messages(output.as_bytes(), [name]);
        assert_eq!(found.get(name).map_or("", String::as_str), expected, "{output}");
    }

    #[test]
    fn each_runner() {
        check("FAILED t.py::C::test_a - assert 1 == 2\n", "t.py::C::test_a", "assert 1 == 2");
        check("FAILED t.py::test_ab - no\n", "t.py::test_a", "");
        let rule = ("=".repeat(70), "-".repeat(70));
        let words = format!(
            "{0}\nFAIL: test_a (m.A.test_a)\n{1}\nTraceback (most recent call last):\n  File \"m.py\", line 1\nAssertionError: 1 != 2\n- a\n+ b\n\n{1}\nRan 1 test\n",
            rule.0, rule.1
        );
        check(&words, "m.A.test_a", "AssertionError: 1 != 2");
        let words = "---- tests::adds stdout ----\n\nthread 'tests::adds' (7) panicked at src/lib.rs:5:9:\nassertion `left == right` failed\n  left: 1\n";
        check(words, "x (src/lib.rs) > tests::adds", "assertion `left == right` failed");
        let words = "---- adds stdout ----\nthread 'adds' panicked at 'no', src/lib.rs:5:9\n";
        check(words, "x > adds", "'no', src/lib.rs:5:9");
        let words = "=== RUN   TestA\n    a_test.go:7: got 1\n--- FAIL: TestA (0.00s)\nFAIL\n";
        check(words, "example.org/a::TestA", "a_test.go:7: got 1");
        check("--- FAIL: TestA (0.00s)\n    a_test.go:7: got 1\nFAIL\n", "a::TestA", "a_test.go:7: got 1");
        check("not ok 1 - sum\n  ---\n  error: 'got -1'\n  ...\n", "sum", "got -1");
        check("not ok 1 - sum\n  ---\n  error: |-\n    Expected values\n  ...\n", "more > sum", "Expected values");
        check("✖ sum (1.5ms)\nℹ tests 1\n✖ sum (1.5ms)\n  AssertionError: no\n", "sum", "AssertionError: no");
        check("sum is nowhere\n", "sum", "");
    }

    #[test]
    fn messages_are_short_and_plain() {
        let long = format!("FAILED t.py::test_a - \u{1b}[31m{}\u{7}\n", "é".repeat(900));
        let found = failure_messages(long.as_bytes(), ["t.py::test_a"]);
        assert_eq!(found["t.py::test_a"].chars().count(), LONGEST);
        assert!(found["t.py::test_a"].chars().all(|character| character == 'é'));
    }
}
