//! `cto replay`: what was seen of a run is seen again, from its bundle alone.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testkit::{World, copy_bundle, wait_for};

use crate::world;

const SLEEPS: &str = "{steps: [{sleep: {seconds: 600}}]}";

/// On a pipe and with --json, stdout is what the run printed, byte for byte.
fn check_pipe(world: &World, task: &str, code: i32) {
    let ran = world.cto(["run", task]).expect(code);
    let again = world.cto(["replay", "@"]).expect(0);
    assert_eq!((again.text(), again.stderr.as_str()), (ran.text(), ""), "{task}");
    let json = world.cto(["run", task, "--json"]).expect(code);
    assert_eq!(world.cto(["replay", "@", "--json"]).expect(0).stdout, json.stdout, "{task}");
}

#[test]
fn a_pipe_gets_what_the_run_printed() {
    let world = world();
    for (task, code) in [("shell-script-rotate-logs", 0), ("fail-no-diff", 1), ("fail-critical-risk", 3)] {
        check_pipe(&world, task, code);
    }
}

#[test]
fn a_terminal_shows_the_same_again() {
    let world = world();
    for (task, code) in [("shell-script-rotate-logs", 0), ("fail-critical-risk", 3)] {
        let live = world.on_terminal(["run", task]);
        let again = world.on_terminal(["replay", "@"]);
        assert_eq!((live.code, again.code), (code, 0), "{task}");
        let text = |shown: &testkit::Shown| String::from_utf8_lossy(&shown.bytes).into_owned();
        assert_eq!(again.screen(), live.screen(), "{task}: what is left in the end");
        let first = &live.screen()[0];
        assert!(first.starts_with(if code == 0 { "pass  " } else { "blocked  " }), "progress is gone: {first}");
        for shown in [&live, &again] {
            assert!(shown.redrawn() >= 1, "{task}: what was drawn was wiped");
            assert!(text(shown).contains("running"), "{task}: something was drawn");
        }
    }
}

/// The earlier place of a bundle is part of the printed output.
#[test]
fn a_bundle_that_moved_is_played_too() {
    let world = world();
    let ran = world.cto(["run", "fail-critical-risk"]).expect(3);
    let bundle = world.bundles().join(ran.text().lines().next().unwrap().strip_prefix("blocked ").unwrap());
    let moved = world.here().join("moved");
    copy_bundle(&bundle, &moved);
    assert_eq!(world.cto(["replay", "./moved"]).expect(0).stdout, ran.stdout);
    let key = world.home().join("keys/harness.pub");
    let other = World::new(env!("CARGO_BIN_EXE_cto"));
    copy_bundle(&bundle, &other.here().join("moved"));
    let unknown = other.cto(["replay", "./moved"]).expect(1);
    assert!(unknown.stdout.is_empty() && unknown.stderr.contains("attestation.dsse.json signer"), "{unknown:?}");
    let words = ["replay", "./moved", "--key", key.to_str().unwrap()];
    assert_eq!(other.cto(words).expect(0).stdout, ran.stdout);
    assert!(!other.home().exists(), "looking makes no home");
}

#[test]
fn what_does_not_verify_is_not_played() {
    let world = world();
    let (_, bundle) = world.run("fail-critical-risk", 3);
    let copy = world.here().join("copy");
    copy_bundle(&bundle, &copy);
    let trace = copy.join("trace.jsonl");
    let text = fs::read_to_string(&trace).unwrap();
    fs::write(&trace, text.replacen("began", "ended", 1)).unwrap();
    let ran = world.cto(["replay", "./copy"]).expect(1);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("does not verify: trace.jsonl digest"), "{ran:?}");
    let ran = world.on_terminal(["replay", "./copy"]);
    assert!(ran.code == 1 && ran.redrawn() == 0, "{ran:?}");
    for (what, code) in [(".", 2), ("./nowhere", 2), ("nothing-of-that-name", 2)] {
        assert!(world.cto(["replay", what]).expect(code).stdout.is_empty(), "{what}");
    }
}

#[test]
fn bundles_from_before_steps_were_recorded_end_as_they_did() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.0");
    let (bundle, key) = (golden.join("pass"), golden.join("harness.pub"));
    let words = ["replay".as_ref(), bundle.as_os_str(), "--key".as_ref(), key.as_os_str()];
    let world = world();
    let piped = world.cto(words).expect(0);
    assert!(piped.text().starts_with("pass ") && piped.stderr.is_empty(), "{piped:?}");
    let shown = world.on_terminal(words);
    assert_eq!((shown.code, shown.redrawn()), (0, 0));
    assert!(shown.screen()[0].contains("before steps were recorded"), "{:?}", shown.screen());
}

#[test]
fn an_interrupted_run_is_played_to_where_it_was_stopped() {
    let world = world();
    world.case("made", &[("fake", SLEEPS)]);
    let child = world.start(["run", "./made"]);
    wait_for("a sleeping engine", || {
        let active = fs::read_dir(world.home().join("active")).ok()?.flatten();
        let mut events = active.map(|entry| fs::read_to_string(entry.path().join("events.normalized.jsonl")));
        events.any(|events| events.is_ok_and(|it| it.contains(r#"\"do\":\"sleep\""#))).then_some(())
    });
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let ran = World::finish(child).expect(130);
    assert_eq!(world.cto(["replay", "@"]).expect(0).text(), ran.text());
    let shown = world.on_terminal(["replay", "@", "--speed", "1000", "--color", "never"]);
    let text = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert!(text.contains("✓ gates") && text.contains("• engine") && !text.contains("✓ engine"), "{text}");
}

#[test]
fn the_speed_is_what_was_asked_for() {
    let world = world();
    world.case("made", &[("fake", "{steps: [{sleep: {seconds: 2}}, {write: {path: a.txt, text: \"two\\n\"}}]}")]);
    let (report, _) = world.run("./made", 0);
    let recorded = Duration::from_millis(report["duration_ms"].as_u64().unwrap());
    let took = |words: &[&str]| {
        let began = Instant::now();
        assert_eq!(world.on_terminal(words).code, 0);
        began.elapsed()
    };
    assert!(recorded > Duration::from_secs(2), "control: {recorded:?}");
    assert!(took(&["replay", "@", "--speed", "1"]) >= recorded - Duration::from_millis(50));
    assert!(took(&["replay", "@", "--speed", "50"]) < Duration::from_secs(1) + recorded / 50);
    for wrong in ["0", "-1", "NaN", "inf", "fast", ""] {
        let refused = world.cto(["replay", "@", "--speed", wrong]);
        assert!(refused.code == 2 && refused.stdout.is_empty(), "{wrong}: {refused:?}");
    }
}
