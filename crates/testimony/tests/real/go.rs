use std::path::Path;

use testimony::results::Runner;

use crate::project::{Change, Files, Project, Setting, Trial};

const TESTS: &str = "\
// Words.

/* More words. */
package one

import (
\t\"fmt\"
\t\"testing\"
)

func TestOne(t *testing.T) { fmt.Print(\"no newline\") }

func TestLater(t *testing.T) { t.Skip(\"why\") }

func TestMany(t *testing.T) {
\tfor _, name := range []string{\"a b\", \"c\"} {
\t\tt.Run(name, func(t *testing.T) {})
\t}
}

func Example() {
\tfmt.Println(\"x\")
\t// Output: x
}
";

const FILES: Files<'_> = &[
    ("in/go.mod", "module example.org/one // words\n\ngo 1.19\n"),
    ("in/one.go", "package one\n"),
    ("in/one_test.go", TESTS),
    ("in/two/two.go", "package two\n"),
    ("in/two/two_test.go", "package two_test\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {}"),
    ("in/none/none.go", "package none\n"),
];

fn setting(test: &str) -> Option<Setting> {
    let go = testkit::go(test)?;
    let cache = testkit::go_cache().unwrap_or_else(|| std::env::temp_dir().join("testimony-go-build"));
    let mut setting = Setting::with(&go);
    setting.variables = vec![
        ("GOCACHE", cache.to_string_lossy().into_owned()),
        ("GOPROXY", "off".to_owned()),
        ("GOTOOLCHAIN", "local".to_owned()),
        ("GOTELEMETRY", "off".to_owned()),
    ];
    assert!(Path::new(&setting.path[0]).is_dir());
    Some(setting)
}

fn change<'a>(from: &'a str, to: &'a str, exact: &'a str, by_function: &'a str) -> Change<'a> {
    Change { path: "in/one_test.go", from, to, exact, by_function }
}

#[test]
fn names_changes_and_control() {
    let Some(setting) = setting("go names") else { return };
    let one = "example.org/one::TestOne";
    let [missing, skipped] = ["missing", "skipped"].map(|word| format!("{word} {one}"));
    let changes = [
        change("func TestOne", "func testOne", &missing, &missing),
        change("fmt.Print(\"no newline\")", "t.SkipNow()", &skipped, &skipped),
        change("\"a b\", \"c\"", "\"a b\", \"d\"", "missing example.org/one::TestMany/c", ""),
        change(
            "fmt.Print(\"no newline\")",
            "panic(1)",
            "missing example.org/one::Example example.org/one::TestMany example.org/one::TestMany/a_b example.org/one::TestMany/c",
            "missing example.org/one::Example example.org/one::TestMany",
        ),
        change(
            "func Example() {",
            "func TestMain(m *testing.M) {}\n\nfunc Example() {",
            "missing example.org/one::Example example.org/one::TestMany example.org/one::TestMany/a_b example.org/one::TestMany/c example.org/one::TestOne",
            "missing example.org/one::Example example.org/one::TestMany example.org/one::TestOne",
        ),
    ];
    for argv in [["sh", "-c", "cd in && go test ./..."], ["sh", "-c", "cd in && go test -json ./..."]] {
        Trial {
            setting: setting.clone(),
            runner: Runner::Go,
            argv: &argv,
            files: FILES,
            named: &[
                "+ example.org/one/two::TestTwo",
                "+ example.org/one::Example",
                ". example.org/one::TestLater",
                "+ example.org/one::TestMany",
                "+ example.org/one::TestMany/a_b",
                "+ example.org/one::TestMany/c",
                "+ example.org/one::TestOne",
            ],
            numbers: [6, 0, 1],
            changes: &changes,
        }
        .hold();
    }
}

#[test]
fn controls_by_command() {
    let Some(setting) = setting("go controls") else { return };
    let project = Project::new(&setting, FILES);
    for argv in [
        &["go", "test", "./..."][..],
        &["go", "test"],
        &["go", "test", "-v", "./two"],
        &["go", "test", "-run", "TestTwo", "./..."],
    ] {
        project.control(argv, "in");
    }
    project.control(&["go", "test"], "in/two");
}

#[test]
fn nothing_to_run() {
    let Some(setting) = setting("go nothing") else { return };
    let project = Project::new(&setting, FILES);
    for argv in [&["go", "test", "./none"][..], &["go", "test", "-run", "Nothing", "./..."]] {
        let none = project.run(argv, "in");
        assert_eq!((none.exit, none.numbers()), (Some(0), [0, 0, 0]), "{}", none.output);
    }
    project.write("in/one_test.go", b"package one\n\nfunc broken {");
    let broken = project.run(&["go", "test", "."], "in");
    assert_eq!(broken.numbers(), [0, 0, 0], "{}", broken.output);
}
