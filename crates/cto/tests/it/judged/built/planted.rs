//! Files of the exam that a setup or a build of the patch makes, rewrites or removes.

use serde_json::{Value, json};

use super::{EXERCISED, GOOD_PY, Row, check_all, python};

/// Gives the answer that the test wants, where Python finds it when it starts.
const HOOK: &str = "import answer\\nanswer.answer = lambda: 42\\n";

/// A crate that is right only as a configuration of cargo has it compiled, which setup makes by a script of the patch.
fn cargo<'a>(name: &'a str, environment: Value, status: &'a str, says: &'a str) -> Row<'a> {
    Row {
        name,
        files: &[
            ("Cargo.toml", "[package]\nname = \"sub\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"sub\"\nversion = \"0.1.0\"\n"),
            (".gitignore", "/target\n"),
            ("plugins/a.sh", "true\n"),
            ("src/lib.rs", "pub fn answer() -> u8 {\n    if cfg!(right) { 42 } else { 41 }\n}\n"),
            ("tests/answer.rs", "#[test]\nfn answers() {\n    assert_eq!(sub::answer(), 42);\n}\n"),
        ],
        environment,
        commands: json!([["cargo", "test", "--offline"]]),
        does: r#"echo "mkdir -p .cargo; echo 'build.rustflags = [\"--cfg\", \"right\"]' > .cargo/config.toml" > plugins/b.sh"#,
        status,
        says,
        ..Row::default()
    }
}

#[test]
fn files_of_the_exam_that_setup_or_build_make_count_for_nothing() {
    let variables = json!({"PYTHONPATH": "."});
    let globs = json!(["sh", "-c", "for plugin in plugins/*.sh; do sh $plugin; done"]);
    let whole = json!({"setup": [globs], "variables": variables});
    let planted = format!("echo \"printf '{HOOK}' > sitecustomize.py\" > plugins/b.sh");
    let tells = "setup made `sitecustomize.py`, which belongs to the exam";
    // Control: released from the exam, the hook is as good as any file.
    let hook = &[("exam_may_change", "[sitecustomize.py]")][..];
    // A setup that names its inputs never sees the file that only the patch has.
    let inputs = json!({"setup": [globs], "variables": variables, "setup_inputs": ["plugins/a.sh"]});
    let honest = [("answer.py", EXERCISED)];
    let configured = "setup made `.cargo/config.toml`, which belongs to the exam";
    let config = &[("exam_may_change", "[.cargo/config.toml]")][..];

    let build = json!({"build": [["sh", "build.sh"]], "variables": variables});
    let rewrites = "echo 'sed -i s/42/41/ test_answer.py; touch conftest.py' > build.sh";
    let test_of_build = "the build wrote `test_answer.py`, which belongs to the exam";
    let test = &[("exam_may_change", "[test_answer.py]")][..];
    let removes = "echo 'rm test_answer.py; mkdir test_answer.py' > build.sh";
    check_all([
        python("setup plants a hook", whole.clone(), &planted, "fail", tells),
        Row {
            more: hook,
            poisoned: &[("plugins/b.sh", EXERCISED)],
            ..python("setup plants a hook, released", whole.clone(), &planted, "pass", "")
        },
        Row { more: hook, ..python("setup does not see it", inputs, &planted, "fail", "") },
        cargo("setup configures cargo", whole.clone(), "fail", configured),
        Row {
            more: config,
            poisoned: &[("plugins/b.sh", EXERCISED)],
            ..cargo("setup configures cargo, released", whole.clone(), "pass", "")
        },
        Row { poisoned: &honest, ..python("honest", whole, GOOD_PY, "pass", "") },
        python("build rewrites a test", build.clone(), rewrites, "fail", test_of_build),
        Row {
            more: test,
            poisoned: &[("build.sh", EXERCISED)],
            ..python("build rewrites a test, released", build.clone(), rewrites, "pass", "`conftest.py`, which belongs")
        },
        python("build removes a test", build.clone(), removes, "fail", "which belongs to the exam"),
        Row { poisoned: &honest, ..python("honest build", build, GOOD_PY, "pass", "") },
    ]);
}
