use super::{check, out};

const TAP: &str = r"TAP version 13
# printed
# ok 1 - forged
# Subtest: ok one
ok 1 - ok one
  ---
  duration_ms: 1.558519
  ...
# Subtest: bad
not ok 2 - bad
  ---
  error: |-
    multi
    ok 7 - forged
  stack: |-
    TestContext.<anonymous> (/tmp/x/test/a.test.js:3:28)
  ...
ok 3 - skipped # SKIP why \# not
ok 4 - skip2 # SKIP
not ok 5 - todo # TODO later
ok 6 - todo ok # TODO
# Subtest: hash \# and \\ back
ok 7 - hash \# and \\ back
# Subtest: parent
    # Subtest: child
    ok 1 - child
      ---
      duration_ms: 0.179242
      ...
    # Subtest: child
    ok 2 - child
    # Subtest: inner
        # Subtest: deep
        not ok 1 - deep
          ---
          error: 'x'
          ...
        1..1
    not ok 3 - inner
    1..3
not ok 8 - parent
# Subtest: own failure
    # Subtest: child
    ok 1 - child
    1..1
not ok 9 - own failure
# Subtest: suite
    # Subtest: in
    ok 1 - in
    # Subtest: sk
    ok 2 - sk # SKIP
    1..2
ok 10 - suite
  ---
  type: 'suite'
  ...
# Subtest: /tmp/x/test/empty.test.js
ok 11 - /tmp/x/test/empty.test.js
";

const TAP_SUMMARY: &str = "1..11
# tests 16
# suites 1
# pass 7
# fail 5
# cancelled 0
# skipped 3
# todo 2
# duration_ms 906.541933
ok  \texample.com/x\t0.1s
";

const TAP_TESTS: [&str; 14] = [
    "- bad",
    "+ empty.test.js",
    "+ hash # and \\ back",
    "+ ok one",
    "- own failure",
    "+ own failure > child",
    "+ parent > child",
    "+ parent > child ⟨2⟩",
    "- parent > inner > deep",
    ". skip2",
    ". skipped",
    "+ suite > in",
    ". suite > sk",
    ". todo",
];

fn expected(head: &'static str) -> Vec<&'static str> {
    [head].into_iter().chain(TAP_TESTS).chain([". todo ok"]).collect()
}

#[test]
fn tap() {
    check(&out(TAP), &expected("node 10/3/5"));
    check(&out(&format!("{TAP}{TAP_SUMMARY}")), &expected("node 10/5/5"));
    check(&out(&format!("{TAP}{}", TAP_SUMMARY.replace("pass 7", "pass 1"))), &expected("node 6/5/5"));
}

/// Versions 18 and before: a file is a test that holds others.
#[test]
fn files_are_no_part_of_a_name() {
    let words = "TAP version 13\n# Subtest: /tmp/x/a.test.js\n    # Subtest: one\n    ok 1 - one\n    1..1\nok 1 - /tmp/x/a.test.js\n\
        # Subtest: test/b.test.mjs\nnot ok 2 - test/b.test.mjs\n1..2\n# tests 2\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 0\n\
        # todo 0\n# duration_ms 5\n";
    check(&out(words), &["node 2/1/0", "+ one", "- test/b.test.mjs"]);
}

#[test]
fn tap_of_others() {
    let tape = "TAP version 14\n# group\nok 1 should be equal\nnot ok 2 should be equal\nok 3\n1..3\n# pass 1\n";
    check(&out(tape), &["node 3/1/0", "+ 3", "+ should be equal", "- should be equal ⟨2⟩"]);
    for summary in ["# tests 2\n# pass  2\n\n# ok\n", "# tests 2\n# pass  1\n# fail  1\n", "# tests 2\n"] {
        let failed = u8::from(summary.contains("fail"));
        let aligned = format!("TAP version 13\n# group\nok 1 one\nok 2 two\n\n1..2\n{summary}");
        check(&out(&aligned), &[&format!("node 2/{failed}/0"), "+ one", "+ two"]);
    }
    let buffered = "TAP version 14\nok 1 - a.js # time=3.1ms {\n    ok 1 - x\n    1..1\n}\n1..1\n";
    check(&out(buffered), &["node 1/0/0", "+ x"]);
    check(&out("ok 1 - nobody said TAP\n"), &[]);
}

#[test]
fn no_tests() {
    let words = "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# duration_ms 4.1\n";
    check(&out(words), &["node 0/0/0"]);
    let spec = "ℹ tests 0\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 4.1\n";
    check(&out(spec), &["node 0/0/0"]);
    // An empty suite looks like a test, and is none.
    check(&out(&format!("✔ empty (0.1ms)\n{}", spec.replace("suites 0", "suites 1"))), &["node 0/0/0", "+ empty"]);
}

const SPEC: &str = "\
printed
✔ ok one (1.896827ms)
✖ bad (1.587469ms)
  AssertionError [ERR_ASSERTION]: 1 == 2
      at TestContext.<anonymous> (/tmp/x/test/a.test.js:3:28)

﹣ skipped (0.181809ms) # why # not (1ms)
﹣ skip2 (0.137651ms) # SKIP
✖ todo (0.12034ms) # later
✔ todo ok (0.109195ms) # TODO
✔ hash # and \\ back (6.155446ms)
▶ parent
  ✔ child (0.312764ms)
  ✔ child (6.020887ms)
  ▶ inner
    ✖ deep (0.409734ms)
      Error: multi
  ✖ inner (0.841852ms)
✖ parent (8.505986ms)
▶ own failure
  ✔ child (0.1ms)
✖ own failure (1.5ms)
▶ suite
  ✔ in (0.385641ms)
  ﹣ sk (0.232186ms) # SKIP
✔ suite (1.339756ms)
✔ /tmp/x/test/empty.test.js (208.602451ms)
ℹ tests 16
ℹ suites 1
ℹ pass 7
ℹ fail 5
ℹ cancelled 0
ℹ skipped 3
ℹ todo 2
ℹ duration_ms 655.534107

✖ failing tests:

test at test/a.test.js:3:1
✖ bad (1.587469ms)
  AssertionError [ERR_ASSERTION]: 1 == 2

test at test/a.test.js:9:143
✖ deep (0.409734ms)
  Error: multi
";

#[test]
fn spec() {
    check(&out(SPEC), &expected("node 10/5/5"));
    // Version 18 ends what it opened with the same sign, and does not say how it ended.
    let old = SPEC
        .replace("✖ parent (", "▶ parent (")
        .replace("  ✖ inner (", "  ▶ inner (")
        .replace("✔ suite (", "▶ suite (");
    check(&out(&old), &expected("node 10/5/5"));
    check(&out(&SPEC.replace("✖ todo (", "⚠ todo (")), &expected("node 10/5/5"));
}

#[test]
fn names_with_breaks_and_durations() {
    let words = "✔ two\nlines (0.1ms)\n✔ takes (2ms) at most (0.1ms)\n✔ lost\n✔ kept (0.1ms)\nℹ tests 3\nℹ pass 3\nℹ duration_ms 1\n";
    check(&out(words), &["node 3/0/0", "+ kept", "+ takes (2ms) at most", "+ two␊lines"]);
}

#[test]
fn two_runs() {
    let run = |name: &str| format!("✔ {name} (0.1ms)\nℹ tests 1\nℹ pass 1\nℹ duration_ms 1\n");
    check(&out(&format!("{}{}", run("a"), run("b"))), &["node 2/0/0", "+ a", "+ b"]);
    // The first tells its failures twice, before the second begins.
    let failed = run("a").replace('✔', "✖").replace("pass", "fail");
    let again = "\n✖ failing tests:\n\ntest at a.test.js:3:1\n✖ a (0.1ms)\n  Error: x\n";
    check(&out(&format!("{failed}{again}{}", run("b"))), &["node 2/1/0", "- a", "+ b"]);
}

/// Another tool's signs.
#[test]
fn words_that_only_look_alike() {
    check(&out("  ✔ adds (45ms)\n  ✖ fails (3ms)\n\n  1 passing (50ms)\n"), &["mocha 1/0/0", "+ adds"]);
    check(&out("  ✔ adds (45ms)\n  ✖ fails (3ms)\n"), &[]);
}
