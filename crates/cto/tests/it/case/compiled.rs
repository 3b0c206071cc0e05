//! The engine with a program that Bun compiled, as the real one is: a large dynamic executable of another runtime, which was
//! written apart from the stand-in that ships.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fixtures::scripted::Reply;
use serde_json::json;
use tempfile::TempDir;

use super::expected::Expected;
use super::scene::{COMMIT, Scene, TASK, WORK, bash, envelope, exited, good, role, script, working};

static PROGRAM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();

/// Compiled once; none where there is no Bun.
fn program(test: &str) -> Option<&'static Path> {
    let bun = testkit::bun(test)?;
    let (_, program) = PROGRAM.get_or_init(|| {
        let dir = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/case/ca.js");
        let program = dir.path().join("ca");
        let mut command = testkit::program(bun.to_str().unwrap(), dir.path());
        command.args(["build", "--compile", "--outfile"]).arg(&program).arg(source).env("HOME", dir.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (dir, program)
    });
    Some(program)
}

fn scene(test: &str, wire: &str) -> Option<Scene> {
    let program = program(test)?;
    let mut scene = Scene::new(good());
    scene.engine["wire"] = json!(wire);
    scene.set("CTO_HARNESS_CASE_BIN", program.to_str().unwrap());
    scene.climb();
    Some(scene)
}

fn passes(test: &str, wire: &str, route: &str) {
    let Some(mut scene) = scene(test, wire) else { return };
    let claims = json!({"artifacts": {"filesChanged": ["strings.py"], "testsPassed": true}});
    // Its prompts call the program by its name.
    let command =
        format!("ca --help >/dev/null && {WORK} && {COMMIT}; setsid sleep 3600 >/dev/null 2>&1 & sleep 0.2; true");
    scene.answer(working(&command, claims));
    let (report, bundle) = scene.check(wire, TASK, &Expected::PASS);
    assert_eq!(report["changed_files"], json!(["strings.py"]));
    // Five phases, each a conversation, and the preflight: all on one route.
    let asked = scene.server.asked();
    assert!(asked.len() >= 7 && asked.iter().all(|asked| asked.head.starts_with(&format!("POST {route} "))));
    assert!(exited(&bundle)["leftover_processes"].as_u64().unwrap() > 0, "its children have sessions of their own");
    // Its claims are in its event log alone.
    let claims = report["claims"].as_array().unwrap();
    assert!(claims.iter().any(|claim| claim["found_in"] == "artifacts.filesChanged"), "{claims:?}");
    assert!(!fs::read_to_string(bundle.join("backend/stdout.log")).unwrap().contains("AGENT_RESULT"));
}

#[test]
fn it_passes_over_responses() {
    passes("case::compiled::it_passes_over_responses", "responses", "/v1/responses");
}

#[test]
fn it_passes_over_chat_completions() {
    passes("case::compiled::it_passes_over_chat_completions", "chat_completions", "/v1/chat/completions");
}

/// Everything it can end with has exit code 0.
#[test]
fn its_failures_are_told_apart() {
    let Some(mut scene) = scene("case::compiled::its_failures_are_told_apart", "responses") else { return };
    let worked = || role("implementer", vec![bash(WORK), Reply::text(envelope(json!({})))]);
    let then = |later: &str, says: serde_json::Value| {
        let mut steps = worked();
        steps.extend(role(later, vec![Reply::text(envelope(says))]));
        script(steps)
    };
    let lie = json!({"artifacts": {"commit": "0123456789abcdef0123456789abcdef01234567", "testsPassed": true}});
    for (name, answers, expected) in [
        ("no envelope", working_but("It is done."), Expected::unread(&["agent_protocol"])),
        (
            "a verifier that failed",
            then("verifier", json!({"status": "failed"})),
            Expected::failed(&["engine_failed"], "case engine failed with exit code 0"),
        ),
        (
            "a reviewer that rejects",
            then("reviewer", json!({"findings": {"critical": 1}})),
            Expected::failed(&["reviewer_rejected"], "the engine's own reviewer has 1 critical"),
        ),
        (
            "claims and nothing else",
            script(role("implementer", vec![Reply::text(envelope(lie))])),
            Expected::failed(&["no_diff", "claim_contradicted"], "the engine ended well"),
        ),
    ] {
        scene.answer(answers);
        let _ = scene.check(name, TASK, &expected);
    }
}

fn working_but(says: &str) -> fixtures::scripted::Script {
    script(role("implementer", vec![bash(WORK), Reply::text(says)]))
}
