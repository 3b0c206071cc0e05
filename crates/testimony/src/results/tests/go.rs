use super::{check, out};

const PRINTED: &str = "=== RUN   TestOk
--- PASS: TestOk (0.00s)
=== RUN   TestBad
    a_test.go:4: x
        --- PASS: TestForged (0.00s)
--- FAIL: TestBad (0.00s)
=== RUN   TestSkip
    a_test.go:5: why
--- SKIP: TestSkip (0.00s)
=== RUN   TestPrint
no newline--- PASS: TestPrint (0.00s)
=== RUN   TestSub
words=== RUN   TestSub/a_b
=== RUN   TestSub/#00
=== RUN   TestSub/par
=== PAUSE TestSub/par
=== CONT  TestSub/par
--- FAIL: TestSub (0.00s)
    --- PASS: TestSub/a_b (0.00s)
    --- FAIL: TestSub/#00 (0.00s)
    --- PASS: TestSub/par (0.00s)
=== RUN   Example
--- PASS: Example (0.00s)
FAIL
FAIL\texample.com/gg\t0.005s
?   \texample.com/gg/nt\t[no test files]
=== RUN   TestOk
--- PASS: TestOk (0.00s)
PASS
ok  \texample.com/gg/sub\t(cached)
FAIL\texample.com/gg/bf [build failed]
FAIL
";

#[test]
fn printed() {
    check(
        &out(PRINTED),
        &[
            "go 9/3/1",
            "+ example.com/gg/sub::TestOk",
            "+ example.com/gg::Example",
            "- example.com/gg::TestBad",
            "+ example.com/gg::TestOk",
            "+ example.com/gg::TestPrint",
            ". example.com/gg::TestSkip",
            "- example.com/gg::TestSub",
            "- example.com/gg::TestSub/#00",
            "+ example.com/gg::TestSub/a_b",
            "+ example.com/gg::TestSub/par",
        ],
    );
}

/// A panic, an exit, a process that is killed.
#[test]
fn cut_off() {
    let words = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\nok  \tx\t0.003s\n=== RUN   TestC\n";
    check(&out(words), &["go 3/2/0", "+ x::TestA"]);
}

#[test]
fn events() {
    let event = |package: &str, test: &str, action: &str| {
        let test = if test.is_empty() { String::new() } else { format!(",\"Test\":\"{test}\"") };
        format!("{{\"Time\":\"2026-11-15T05:57:50Z\",\"Action\":\"{action}\",\"Package\":\"{package}\"{test}}}\n")
    };
    let words = [
        "{\"ImportPath\":\"x\",\"Action\":\"build-fail\"}\n".to_owned(),
        event("x", "", "start"),
        event("x", "TestA", "run"),
        event("y", "TestA", "run"),
        "{\"Action\":\"output\",\"Package\":\"x\",\"Test\":\"TestA\",\"Output\":\"--- PASS: TestForged (0.00s)\\n\"}\n"
            .to_owned(),
        event("x", "TestA", "pass"),
        event("y", "TestA", "skip"),
        event("x", "TestNever", "pass"),
        event("x", "Test\\u001b/é", "run"),
        event("x", "Test\\u001b/é", "fail"),
        event("y", "TestCut", "run"),
        event("x", "", "fail"),
    ];
    check(&out(&words.concat()), &["go 3/2/1", "+ x::TestA", "- x::Test␛/é", ". y::TestA"]);
    check(&out(&event("x", "", "skip")), &["go 0/0/0"]);
    check(&out("{\"Action\":\"pass\"}\n{\"Action\":3,\"Package\":\"x\"}\n{\"a\":1}\n{\n"), &[]);
}

#[test]
fn none_and_unknown() {
    for (words, expected) in [
        ("testing: warning: no tests to run\nPASS\nok  \tx\t0.006s [no tests to run]\n", &["go 0/0/0"][..]),
        ("?   \tx\t[no test files]\n", &["go 0/0/0"]),
        ("# x\nx.go:2:23: no\nFAIL\tx [build failed]\nFAIL\n", &["go 0/0/0"]),
        // Without `-v` nothing says how many there are.
        ("ok  \tx\t0.008s\n", &[]),
        ("ok  \tx\t0.008s\n?   \ty\t[no test files]\n", &[]),
        ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tx\t0.003s\nFAIL\n", &[]),
        ("ok\nFAIL\n", &[]),
    ] {
        check(&out(words), expected);
    }
}

/// `-count=2`.
#[test]
fn equal_names() {
    let one = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n";
    check(&out(&format!("{one}{one}PASS\nok  \tx\t0.1s\n")), &["go 2/0/0", "+ x::TestA", "+ x::TestA ⟨2⟩"]);
}
