//! `cto run --continue RUN`: the patch of a sealed run as the beginning of another, with everything else as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Ran, World};

use crate::world;

/// Does half of the work in a clean tree and the other half in one with changes. It prints what it sees of an earlier run on stdout.
const SCRIPT: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "toy 1.0.0"; exit 0 ;;
esac
git log --oneline | wc -l | sed 's/^/commits /'
git status --porcelain | sed 's/^/dirty /'
ls -A | sed 's/^/sees /'
grep -rlsE 'annual-report-of-198[7]|zebra-crossin[g]' . /tmp /run | sed 's/^/knows /'
grep -rls 'def slugify' . | sed 's/^/finds /'
env | grep -E 'annual-report-of-198[7]|zebra-crossin[g]' | sed 's/^/knows /'
if [ -z "$(git status --porcelain)" ]; then
  sed -i 's/return text.lower().*/return text.lower().strip()/' strings.py
else
  sed -i 's/return text.lower().strip()/return "-".join(text.lower().split())/' strings.py
fi
"#;

const ENGINE: &str = r#"engines:
  toy:
    executable: @TOY@
    definition:
      about: a small script
      program: toy
      identity:
        argv: ["--version"]
        expect: "toy 1."
      argv: ["{task}"]
"#;

const CASE: &str = "r1-string-slugify";

struct Scene {
    world: World,
    _tools: TempDir,
}

impl Scene {
    /// A workspace in which the script has earned stage 1 and its gate is open for stage 2.
    fn new() -> Self {
        Self::with_script(SCRIPT)
    }

    fn with_script(script: &str) -> Self {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        let tools = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
        let toy = tools.path().join("toy");
        fs::write(&toy, script).unwrap();
        fs::set_permissions(&toy, fs::Permissions::from_mode(0o755)).unwrap();
        world.write("harness.yaml", ENGINE.replace("@TOY@", toy.to_str().unwrap()));
        let scene = Self { world, _tools: tools };
        let _ = scene.cto(&["engine", "enable", "toy", "--stage", "1"]).expect(0);
        let _ = scene.cto(&["run", CASE, "--engine", "toy", "--stage", "1"]).expect(0);
        let _ = scene.cto(&["engine", "enable", "toy", "--stage", "2"]).expect(0);
        scene
    }

    fn cto(&self, words: &[&str]) -> Ran {
        self.world.cto(words)
    }

    fn run(&self, words: &[&str], code: i32) -> Value {
        let report = self.cto(&[&["run"], words, &["--json"]].concat()).expect(code).json();
        let _ = self.cto(&["verify", report["run_id"].as_str().unwrap()]).expect(0);
        report
    }

    /// Lines that the script printed in a run.
    fn said(&self, report: &Value) -> String {
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        fs::read_to_string(bundle.join("backend/stdout.log")).unwrap()
    }
}

#[test]
fn half_done_work_is_gone_on_with() {
    let scene = Scene::new();
    let first = scene.run(&[CASE, "--engine", "toy"], 1);
    assert!(
        scene.said(&first).contains("commits 1\n") && !scene.said(&first).contains("dirty "),
        "{}",
        scene.said(&first)
    );

    let second = scene.run(&["--continue", first["run_id"].as_str().unwrap()], 0);
    let said = scene.said(&second);
    assert!(said.contains("commits 1\n") && said.contains("dirty  M strings.py\n"), "{said}");
    // Pi sees the patch of the run before and nothing else: no log under any name, no answer of a blind check.
    let seen =
        |said: &str| said.lines().filter(|line| line.starts_with("sees ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(seen(&said), seen(&scene.said(&first)));
    assert!(!said.contains("knows "), "{said}");
    assert!(said.contains("finds ./strings.py\n"), "control: the search finds what is there: {said}");
    for same in ["baseline_commit", "baseline_tree", "contract_digest", "backend", "stage"] {
        assert_eq!(second[same], first[same], "{same}");
    }
    assert_eq!(second["continues"]["run_id"], first["run_id"]);
    assert_eq!(second["continues"]["patch_sha256"], first["artifact_digests"]["patch.diff"]);
    // The whole change is judged and stands in one patch, from the first baseline.
    assert_eq!(second["changed_files"], json!(["strings.py"]));
    let bundle = scene.world.bundles().join(second["run_id"].as_str().unwrap());
    let patch = fs::read_to_string(bundle.join("patch.diff")).unwrap();
    assert!(patch.contains("+    return \"-\".join") && !patch.contains("strip()"), "{patch}");

    // Another engine that is named is that engine, also the one that counts where none is named.
    let id = first["run_id"].as_str().unwrap();
    for (more, engine) in [(&[][..], "toy"), (&["--engine", "fake"], "fake")] {
        let words = [&["decide", "--continue", id, "--json"], more].concat();
        assert_eq!(scene.cto(&words).json()["inputs"]["engine"], engine, "{more:?}");
    }

    // Without --continue the script does its first half again.
    let again = scene.run(&[CASE, "--engine", "toy"], 1);
    assert_eq!(again["result_tree"], first["result_tree"]);
    assert!(again.get("continues").is_none());
}

/// Does all of the work in a clean tree, and nothing where there are changes already.
const WHOLE_SCRIPT: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "toy 1.0.0"; exit 0 ;;
esac
if [ -z "$(git status --porcelain)" ]; then
  sed -i 's/return text.lower().*/return "-".join(text.lower().split())/' strings.py
fi
"#;

/// The rung of stage 2, and how the newest of its runs counts.
fn rung_and_newest(scene: &Scene) -> (Value, Value) {
    let told = scene.cto(&["ladder", "explain", "2", "--engine", "toy", "--json"]).expect(0).json();
    let rung = &told["rungs"][0];
    (rung["status"].clone(), rung["runs"][0].clone())
}

#[test]
fn work_that_was_gone_on_with_earns_no_rung() {
    let scene = Scene::with_script(WHOLE_SCRIPT);
    let solved = scene.run(&[CASE, "--engine", "fake"], 0);
    let first = solved["run_id"].as_str().unwrap();
    // The engine adds nothing to what another one did, and the whole patch passes.
    let second = scene.run(&["--continue", first, "--engine", "toy"], 0);
    assert_eq!((&second["backend"], &second["result_tree"]), (&json!("toy"), &solved["result_tree"]));
    let (status, run) = rung_and_newest(&scene);
    assert_eq!((&status, &run["run_id"]), (&json!("not_started"), &second["run_id"]));
    assert_eq!(
        (&run["counts"], &run["why"]),
        (&json!("not_counted"), &json!("it began with the patch of another run"))
    );
    let decide = || {
        let _ = scene.cto(&["engine", "enable", "toy", "--stage", "3"]).expect(0);
        let told = scene.cto(&["decide", CASE, "--engine", "toy", "--stage", "3", "--json"]).text();
        let _ = scene.cto(&["engine", "enable", "toy", "--stage", "2"]).expect(0);
        told
    };
    assert!(decide().contains("stage_not_earned"), "{}", decide());

    // Control: the same engine with the same patch, all of it its own.
    let own = scene.run(&[CASE, "--engine", "toy"], 0);
    assert!(own.get("continues").is_none());
    let (status, run) = rung_and_newest(&scene);
    assert_eq!((&status, &run["counts"]), (&json!("validated"), &json!("for")));
    assert!(!decide().contains("stage_not_earned"), "control: {}", decide());
    // Nor does a run that went on take the rung away.
    let _ = scene.run(&["--continue", first, "--engine", "toy"], 0);
    assert_eq!(rung_and_newest(&scene).0, "validated");
}

#[test]
fn what_cannot_be_gone_on_from_is_refused() {
    let scene = Scene::new();
    // Stage 1 started nothing, so that there is no patch.
    let refused = scene.cto(&["run", "--continue", "@"]).expect(3);
    assert!(refused.stderr.contains("cannot be continued"), "{}", refused.stderr);
    let _ = scene.cto(&["run", "--continue", "nothing-of-this-name"]).expect(2);
    let _ = scene.cto(&["run", CASE, "--continue", "@"]).expect(2);

    // A bundle that was tampered with is nobody's beginning.
    let first = scene.run(&[CASE, "--engine", "toy"], 1);
    let patch = scene.world.bundles().join(first["run_id"].as_str().unwrap()).join("patch.diff");
    let text = fs::read_to_string(&patch).unwrap();
    fs::set_permissions(&patch, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&patch, text.replace("strip", "lower")).unwrap();
    assert_eq!(scene.cto(&["run", "--continue", first["run_id"].as_str().unwrap()]).code, 1);
}
