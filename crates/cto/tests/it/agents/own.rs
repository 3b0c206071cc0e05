//! An engine of one's own, in ten lines of YAML around a small script: its gate, its rungs, and everything that is not it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Ran, World};

use crate::world;

const SCRIPT: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "toy 1.0.0"; exit 0 ;;
esac
grep -q "Only these paths may change" "$1" || exit 7
sed -i 's/return text.lower().*/return "-".join(text.lower().split())/' strings.py
"#;

/// Ten lines.
const ENGINE: &str = r#"engines:
  toy:
    executable: tools/toy
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
    /// Folder of the script.
    tools: TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Scene {
    fn new() -> Self {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        let tools = testkit::lasting_dir(env!("CARGO_TARGET_TMPDIR"));
        let scene = Self { world, tools, environment: Vec::new() };
        scene.script(SCRIPT);
        scene.world.write("harness.yaml", scene.engine());
        scene
    }

    fn place(&self) -> PathBuf {
        self.tools.path().join("toy")
    }

    /// The ten lines.
    fn engine(&self) -> String {
        ENGINE.replace("tools/toy", self.place().to_str().unwrap())
    }

    fn script(&self, text: &str) {
        fs::write(self.place(), text).unwrap();
        fs::set_permissions(self.place(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Looked for by name.
    fn unplaced(&self, program: &str) {
        let line = "    executable: tools/toy\n";
        let engine = ENGINE
            .replace(line, "    enabled: true\n    stage: 1\n")
            .replace("program: toy", &format!("program: {program}"));
        self.world.write("harness.yaml", engine);
    }

    fn cto(&self, arguments: &[&str]) -> Ran {
        let mut command = self.world.command(arguments.iter().copied());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        Ran::of(command.output().unwrap())
    }

    /// A run, whose bundle must verify.
    fn run(&self, stage: &str, code: i32) -> (Value, PathBuf) {
        self.run_task(CASE, stage, &[], code)
    }

    fn run_task(&self, task: &str, stage: &str, more: &[&str], code: i32) -> (Value, PathBuf) {
        let mut arguments = vec!["run", task, "--engine", "toy", "--stage", stage, "--json"];
        arguments.extend_from_slice(more);
        let report = self.cto(&arguments).expect(code).json();
        let bundle = self.world.bundles().join(report["run_id"].as_str().unwrap());
        let verified = self.world.cto(["verify", bundle.to_str().unwrap()]);
        assert_eq!(verified.code, 0, "{}{}", verified.text(), verified.stderr);
        (report, bundle)
    }

    fn enable(&self, stage: &str) {
        let _ = self.cto(&["engine", "enable", "toy", "--stage", stage]).expect(0);
    }

    fn climb_to(&self, stage: &str) {
        self.enable(stage);
        let _ = self.run(stage, 0);
    }

    /// Stages 1 and 2, so that only what is tried stands in the way of a third.
    fn climb(&self) {
        for stage in ["1", "2"] {
            self.climb_to(stage);
        }
    }
}

fn reasons(report: &Value) -> Vec<&str> {
    report["blocker_reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect()
}

/// Blocked before anything was copied, looked at or started, with the whole set of artifacts and the way out in words.
fn refused(scene: &Scene, stage: &str, reason: &str, says: &str) {
    let (report, bundle) = scene.run(stage, 3);
    assert_eq!(reasons(&report), [reason], "{says}");
    let blocker = &report["blockers"][0];
    assert!(blocker["text"].as_str().unwrap().contains(says), "{says}: {blocker}");
    assert!(!blocker["remedy"].as_str().unwrap().is_empty(), "{says}");
    assert_eq!((&report["engine"]["process_started"], &report["backend_exit_code"]), (&json!(false), &Value::Null));
    assert!(bundle.join("backend/toy-gate.log").is_file() && fs::read(bundle.join("patch.diff")).unwrap().is_empty());
    assert_eq!(report["baseline_commit"], Value::Null, "nothing was looked at: {says}");
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    assert!(events.contains("\"backend.gate.blocked\"") && !events.contains("\"engine.started\""), "{says}");
}

/// The proof of a stage, which obeys its schema.
fn proved(scene: &Scene, bundle: &Path, name: &str) -> Value {
    let proof: Value = serde_json::from_slice(&fs::read(bundle.join(format!("{name}.json"))).unwrap()).unwrap();
    let schema = scene.cto(&["schema", name]).expect(0).json();
    assert!(jsonschema::is_valid(&schema, &proof), "{proof:#}");
    assert!(!jsonschema::is_valid(&schema, &json!({"passed": true})), "the control");
    proof
}

#[test]
fn ten_lines_make_an_engine() {
    let scene = Scene::new();
    scene.enable("1");
    let (report, _) = scene.run("1", 0);
    assert_eq!(report["engine"]["process_started"], false);
    assert!(report["engine"]["source_id"].as_str().unwrap().starts_with("toy@1.0.0+"));
    scene.enable("2");
    let (report, bundle) = scene.run("2", 0);
    assert_eq!((&report["status"], &report["changed_files"]), (&json!("pass"), &json!(["strings.py"])));
    assert_eq!(report["source_admission_status"], "not_admitted");
    let coverage = report["coverage"].as_array().unwrap();
    assert!(["engine_without_bridge", "source_not_admitted"].iter().all(|code| coverage.contains(&json!(code))));
    // The proof of stage 2, with the fake engine's run of the same invocation.
    let proof = proved(&scene, &bundle, "stage2-no-target-inspection");
    assert_eq!((&proof["passed"], &proof["compared_with"]["engine"]), (&json!(true), &json!("fake")));
    for (part, compared) in proof["comparison"].as_object().unwrap() {
        assert_eq!(compared["same"], true, "{part}: {compared}");
    }
    let other = scene.world.bundles().join(proof["compared_with"]["run_id"].as_str().unwrap());
    let other: Value = serde_json::from_slice(&fs::read(other.join("report.json")).unwrap()).unwrap();
    assert_eq!((&other["purpose"], &other["status"]), (&json!("validation"), &json!("pass")));
    // `@` is the run that was asked for, not the one it is compared with, which started later.
    for (command, says) in [(&["show", "@", "--json"][..], "\"backend\":\"toy\""), (&["diff", "@"], "strings.py")] {
        assert!(scene.cto(command).expect(0).text().contains(says), "{command:?}");
    }
}

/// An engine that gets a model and names no protocol is refused when its description is read.
#[test]
fn names_of_a_model_are_refused_where_there_is_none() {
    let mut scene = Scene::new();
    let rows = [
        (r#"argv: ["{task}"]"#, r#"argv: ["{task}", "{model}"]"#, ":10:"),
        (r#"argv: ["{task}"]"#, "argv: [\"{task}\"]\n      variables: {KEY: \"{token}\"}", ":11:"),
        (r#"argv: ["{task}"]"#, "argv: [\"{task}\"]\n      stdin: \"{base_url}\"", ":11:"),
    ];
    for (from, to, line) in rows {
        let engine = scene.engine().replace(from, to);
        scene.world.write("harness.yaml", engine.clone());
        let refused = scene.cto(&["run", CASE, "--engine", "toy"]).expect(2).stderr;
        assert!(refused.contains(&format!("harness.yaml{line}")), "{refused}");
        assert!(refused.contains("stands for nothing: an engine without `wire` gets no model"), "{refused}");
        // The controls: a protocol, from the description or from the environment.
        scene.environment = vec![("CTO_HARNESS_TOY_WIRE", "responses".to_owned())];
        let _ = scene.cto(&["engine", "list"]).expect(0);
        scene.environment.clear();
        scene.world.write("harness.yaml", engine.replace("program: toy", "program: toy\n      wire: responses"));
        let _ = scene.cto(&["engine", "list"]).expect(0);
    }
}

/// Notes of its own beside its work.
const NOTES: &str = r#"mkdir -p .toy/logs && echo thinking > .toy/logs/a.txt
"#;

#[test]
fn what_an_engine_is_known_to_leave_is_no_part_of_its_work() {
    let scene = Scene::new();
    scene.script(&format!("{SCRIPT}{NOTES}"));
    scene.climb_to("1");
    scene.enable("2");
    // The control: notes that nobody spoke of are a change outside the allowed paths.
    let (report, _) = scene.run("2", 1);
    assert_eq!(reasons(&report), ["disallowed_file_change"]);
    let text = fs::read_to_string(scene.world.here().join("harness.yaml")).unwrap();
    scene.world.write("harness.yaml", text.replace("      program: toy", "      litter: [.toy/]\n      program: toy"));
    let (report, bundle) = scene.run("2", 0);
    assert_eq!((&report["litter"], &report["changed_files"]), (&json!([".toy/logs/a.txt"]), &json!(["strings.py"])));
    assert_eq!(fs::read_to_string(bundle.join("backend/litter/.toy/logs/a.txt")).unwrap(), "thinking\n");
}

/// Output about an engine that sleeps, and about one that prints while it waits.
#[test]
fn doing_nothing_is_told_while_it_goes_on() {
    for (meanwhile, told) in [
        ("sleep 3", true),
        ("for i in 1 2 3 4 5 6; do sleep 0.5; echo $i; done", false),
        (
            "for i in 1 2 3 4 5 6; do sleep 0.5; echo $i > /tmp/a; echo $i >> strings.py; git checkout -q strings.py; done",
            false,
        ),
    ] {
        let scene = Scene::new();
        scene.script(&SCRIPT.replace("grep -q", &format!("{meanwhile}\ngrep -q")));
        scene
            .world
            .write("harness.yaml", scene.engine().replace("    definition:", "    idle_seconds: 1\n    definition:"));
        scene.climb();
        let trace = fs::read_to_string(scene.run("2", 0).1.join("trace.jsonl")).unwrap();
        let words = "no output, no model request, no changed file";
        assert_eq!(trace.contains(words), told, "{meanwhile}: {trace}");
    }
}

#[test]
fn a_gate_is_opened_by_settings_alone_and_for_one_stage() {
    let mut scene = Scene::new();
    refused(&scene, "1", "gate_missing", "is not enabled");
    scene.environment = vec![("CTO_HARNESS_ALLOW_TOY", "1".to_owned())];
    let _ = scene.run("1", 0);
    refused(&scene, "2", "gate_missing", "stage 2 is not enabled");
    let stage =
        |stage: &str| vec![("CTO_HARNESS_ALLOW_TOY", "1".to_owned()), ("CTO_HARNESS_TOY_STAGE", stage.to_owned())];
    scene.environment = stage("3");
    refused(&scene, "2", "gate_missing", "opens stage 3");
    scene.environment = stage("2");
    let _ = scene.run("2", 0);
    // Two who speak must agree.
    scene.world.write("harness.yaml", scene.engine().replace("    executable", "    enabled: false\n    executable"));
    refused(&scene, "2", "gate_missing", "harness.yaml shuts the gate");
    scene.world.write("harness.yaml", scene.engine().replace("    executable", "    stage: 1\n    executable"));
    refused(&scene, "2", "gate_missing", "harness.yaml opens stage 1");
    scene.environment = vec![("CTO_HARNESS_ALLOW_TOY", "0".to_owned())];
    refused(&scene, "1", "gate_missing", "the environment shuts the gate");
    for (name, value) in
        [("CTO_HARNESS_TOY_STAGE", "9"), ("CTO_HARNESS_TOY_STAGE", "x"), ("CTO_HARNESS_TOY_TIMEOUT_SECONDS", "0")]
    {
        scene.environment = vec![(name, value.to_owned())];
        assert!(scene.cto(&["run", CASE, "--engine", "toy"]).expect(2).stderr.contains(name));
    }
}

#[test]
fn a_rung_is_earned_and_lost() {
    let scene = Scene::new();
    scene.enable("2");
    let (report, _) = scene.run("2", 3);
    assert_eq!(reasons(&report), ["stage_not_earned"]);
    assert!(
        report["blockers"][0]["remedy"].as_str().unwrap().contains("cto engine enable toy --stage 1"),
        "{}",
        testkit::outcome_of(&report)
    );
    scene.climb();
    // Another program is another source, and its ladder starts over.
    scene.script(&SCRIPT.replace("exit 7", "exit 8"));
    let (report, _) = scene.run("2", 3);
    assert_eq!(reasons(&report), ["stage_not_earned"]);
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("another source"));
    scene.script(SCRIPT);
    let _ = scene.run("2", 0);
    // A failed run at a stage blocks what rests on it, until a newer pass.
    scene.script(BROKEN);
    scene.enable("1");
    let _ = scene.run("1", 0);
    scene.enable("2");
    let (report, _) = scene.run("2", 1);
    assert_eq!(reasons(&report), ["engine_failed"]);
    scene.enable("3");
    let (repository, contract) = repository(&scene);
    let (report, _) = scene.run_task(contract.to_str().unwrap(), "3", &["--repo", repository.to_str().unwrap()], 3);
    let text = report["blockers"][0]["text"].as_str().unwrap();
    assert!(
        reasons(&report).contains(&"stage_not_earned") && text.contains("stage 2"),
        "{}",
        testkit::outcome_of(&report)
    );
    // The failure blocks nobody else: the rung of the other source stands.
    scene.script(SCRIPT);
    let (report, _) = scene.run_task(contract.to_str().unwrap(), "3", &["--repo", repository.to_str().unwrap()], 3);
    assert_eq!(reasons(&report), ["source_not_admitted"], "{}", testkit::outcome_of(&report));
}

/// Knows its name and fails.
const BROKEN: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'toy 1.0.1' && exit\nexit 5\n";

/// A program with another identity than expected, and the error for it.
struct Wrong {
    make: fn(&Scene),
    reason: &'static str,
    says: &'static str,
}

const WRONG: &[Wrong] = &[
    Wrong {
        make: |scene| fs::remove_file(scene.place()).unwrap(),
        reason: "provider_unavailable",
        says: "cannot be used",
    },
    Wrong {
        make: |scene| fs::set_permissions(scene.place(), fs::Permissions::from_mode(0o644)).unwrap(),
        reason: "provider_unavailable",
        says: "is not executable",
    },
    Wrong {
        make: |scene| {
            fs::remove_file(scene.place()).unwrap();
            fs::create_dir(scene.place()).unwrap();
        },
        reason: "provider_unavailable",
        says: "is not a file",
    },
    Wrong {
        make: |scene| scene.script("#!/bin/sh\necho 'tin 3.2, a news reader'\n"),
        reason: "provider_unavailable",
        says: "it is another program",
    },
    Wrong {
        make: |scene| scene.script("#!/bin/sh\necho toy 1.0; exit 3\n"),
        reason: "provider_unavailable",
        says: "fails with 3",
    },
    Wrong {
        make: |scene| scene.script("#!/no/such/interpreter\n"),
        reason: "provider_unavailable",
        says: "it is another program",
    },
    Wrong {
        make: |scene| {
            let mut other = fs::read("/bin/true").unwrap();
            // The kernel's number of a machine that is none of ours.
            other[18..20].copy_from_slice(&243_u16.to_le_bytes());
            fs::write(scene.place(), other).unwrap();
        },
        reason: "provider_unavailable",
        says: "built for another machine",
    },
    Wrong { make: |scene| scene.unplaced("case"), reason: "provider_unavailable", says: "is a word of the shell" },
    Wrong {
        make: |scene| scene.unplaced("cto-no-such-program"),
        reason: "provider_unavailable",
        says: "there is no program `cto-no-such-program` on the PATH",
    },
];

#[test]
fn another_program_is_not_started() {
    for Wrong { make, reason, says } in WRONG {
        let scene = Scene::new();
        scene.enable("1");
        // The control: the right one is let through.
        let _ = scene.run("1", 0);
        make(&scene);
        refused(&scene, "1", reason, says);
    }
}

fn admitted(scene: &Scene) -> PathBuf {
    let file = scene.world.here().join("admissions/source/toy.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text = testkit::fill_in(&text)
        .replace("status: \"draft\"", "status: admitted")
        .replace("license_status: \"unresolved\"", "license_status: resolved");
    fs::write(&file, text).unwrap();
    file
}

/// A repository of one's own with the case's files, and a contract for it.
fn repository(scene: &Scene) -> (PathBuf, PathBuf) {
    let repository = scene.world.repository("mine", &[("strings.py", STRINGS), ("test_strings.py", TESTS)]);
    let contract = json!({
        "schema_version": "1", "task_id": "mine", "title": "Whitespace in slugs", "brief": "Make repeated spaces one hyphen.",
        "risk_class": "low", "source_owner": "me", "source_classification": "owned_local", "allowed_paths": ["strings.py"],
        "forbidden_actions": ["push"], "mutation_mode": "copied-fixture",
        "verification_commands": [{"argv": ["python3", "-m", "unittest"]}],
    });
    (repository, scene.world.write("mine.yaml", contract.to_string()))
}

const STRINGS: &str = "def slugify(text):\n    return text.lower().replace(\" \", \"-\")\n";
const TESTS: &str = "import unittest\nfrom strings import slugify\n\n\nclass Slugs(unittest.TestCase):\n    def test_plain(self):\n        self.assertEqual(slugify(\"A B\"), \"a-b\")\n";

/// A program in a temporary folder is named by the harness's copy, which lasts.
#[test]
fn an_engine_in_a_temporary_folder_climbs_all_rungs() {
    let mut scene = Scene::new();
    scene.tools = tempfile::Builder::new().prefix("cto-test-ü b-").tempdir_in("/tmp").unwrap();
    scene.script(SCRIPT);
    scene.world.write("harness.yaml", scene.engine());
    scene.climb();
    scene.enable("3");
    let _ = scene.cto(&["admit", "source", "toy"]).expect(0);
    let file = admitted(&scene);
    let (repository, contract) = repository(&scene);
    let (contract, repo) = (contract.to_str().unwrap(), ["--repo", repository.to_str().unwrap()]);
    let (report, _) = scene.run_task(contract, "3", &repo, 0);
    assert_eq!(report["source_admission_status"], "admitted", "{}", testkit::outcome_of(&report));
    // The control: a record that names a place where nothing lasts is none.
    let good = fs::read_to_string(&file).unwrap();
    let named = good.lines().find_map(|line| line.strip_prefix("executable_path: ")).unwrap();
    assert!(named.contains("CTO_HOME/engines/"), "{named}");
    fs::write(&file, good.replace(named, &format!("{:?}", scene.place()))).unwrap();
    let (report, _) = scene.run_task(contract, "3", &repo, 3);
    assert_eq!(reasons(&report)[0], "source_not_admitted", "{}", testkit::outcome_of(&report));
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("lies in a temporary directory"));
}

#[test]
fn an_admitted_engine_works_on_a_copy_of_ones_own_repository() {
    let scene = Scene::new();
    scene.climb();
    scene.enable("3");
    let (repository, contract) = repository(&scene);
    let (contract, repo) = (contract.to_str().unwrap(), ["--repo", repository.to_str().unwrap()]);
    let (report, _) = scene.run_task(contract, "3", &repo, 3);
    assert_eq!(reasons(&report), ["source_not_admitted"]);
    paste_first(&scene, &report);
    let (report, _) = scene.run_task(contract, "3", &repo, 3);
    assert_eq!(reasons(&report), ["source_not_admitted"], "a draft admits nothing");
    // What only a person knows is still to be said: the word alone admits nothing.
    let draft = fs::read_to_string(scene.world.here().join("admissions/source/toy.yaml")).unwrap();
    let file = admitted(&scene);
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, draft.replace("status: \"draft\"", "status: admitted")).unwrap();
    let (report, _) = scene.run_task(contract, "3", &repo, 3);
    assert!(reasons(&report).contains(&"source_not_admitted"), "{}", report["blockers"]);
    assert!(
        report["blockers"].to_string().contains("still holds the placeholder of a draft"),
        "{}",
        report["blockers"]
    );
    assert!(
        scene.cto(&["admit", "source", "--check", file.to_str().unwrap()]).expect(1).text().contains("placeholder")
    );
    fs::write(&file, good).unwrap();
    assert!(scene.cto(&["records"]).expect(0).text().contains("admitted"));
    let (report, bundle) = scene.run_task(contract, "3", &repo, 0);
    assert_eq!((&report["status"], &report["source_admission_status"]), (&json!("pass"), &json!("admitted")));
    let proof = proved(&scene, &bundle, "stage3-copied-repo-proof");
    assert_eq!((&proof["passed"], &proof["never_writable"]), (&json!(true), &json!(true)), "{proof}");
    assert_eq!(proof["before"], proof["after"]);
    let proof = proved(&scene, &bundle, "stage2-no-target-inspection");
    assert_eq!((&proof["passed"], &proof["compared_with"]["stage"]), (&json!(true), &json!(2)), "{proof}");
    // An engine gets no repository: its task is in its prompts.
    let told =
        fs::read_to_string(contract).unwrap().replace("Make repeated", &format!("In {}: make repeated", repo[1]));
    let told = scene.world.write("told.yaml", told);
    let (report, _) = scene.run_task(told.to_str().unwrap(), "3", &repo, 3);
    assert_eq!((reasons(&report), &report["engine"]["process_started"]), (vec!["target_not_admitted"], &json!(false)));
    // The copy runs, whatever becomes of what was copied.
    scene.script(BROKEN);
    let _ = scene.run_task(contract, "3", &repo, 3);
    scene.world.write("harness.yaml", scene.engine().replace("executable: ", "enabled: true\n    stage: 3\n    # "));
    let _ = scene.run_task(contract, "3", &repo, 0);
    // With a note of internal use an unresolved licence is enough at stage 3, without one it is not.
    let noted = fs::read_to_string(&file).unwrap();
    fs::write(&file, noted.replace("license_status: resolved", "license_status: unresolved")).unwrap();
    let _ = scene.run_task(contract, "3", &repo, 0);
    let silent: String = noted.split_inclusive('\n').filter(|line| !line.starts_with("internal_use_note:")).collect();
    assert_ne!(silent, noted);
    fs::write(&file, silent).unwrap();
    for (from, to, expected) in [
        ("license_status: resolved", "license_status: unresolved", &["license_unresolved"][..]),
        ("\nstatus: admitted", "\nstatus: withdrawn", &["source_not_admitted"][..]),
        ("\"copied-fixture\"", "\"sandbox-repo\"", &["source_not_admitted"][..]),
        ("review_trigger: ", "max_stage: 2\nreview_trigger: ", &["source_not_admitted"][..]),
        ("review_trigger: ", "expires_at: 2026-01-01T00:00:00.000000Z\nreview_trigger: ", &["source_not_admitted"][..]),
        ("engine: \"toy\"", "engine: \"other\"", &["source_not_admitted"][..]),
        ("review_trigger: \"", "review_trigger: \"<FILL IN: when>", &["source_not_admitted", "provider_unavailable"]),
        ("version: \"1.0.0\"", "version: \"main\"", &["source_not_admitted", "provider_unavailable"]),
        ("[\"{task}\"]", "[\"{brief}\"]", &["executable_digest_mismatch"][..]),
    ] {
        let good = fs::read_to_string(&file).unwrap();
        assert!(good.contains(from), "{from}: {good}");
        fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let (report, _) = scene.run_task(contract, "3", &repo, 3);
        assert_eq!(reasons(&report), expected, "{to}: {}", report["blockers"]);
        fs::write(&file, good).unwrap();
    }
    tampered(&scene, contract, &repo);
}

/// A kept copy that somebody wrote to is not run.
fn tampered(scene: &Scene, contract: &str, repo: &[&str]) {
    let kept = scene.world.home().join("engines");
    let copies = fs::read_dir(&kept).unwrap().map(|entry| entry.unwrap().path().join("tree"));
    let copy = copies.filter(|tree| tree.is_file()).find(|tree| fs::read(tree).unwrap() == SCRIPT.as_bytes()).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&copy, SCRIPT.replace("exit 7", "exit 9")).unwrap();
    let (report, _) = scene.run_task(contract, "3", repo, 3);
    assert_eq!(reasons(&report), ["executable_digest_mismatch"]);
    assert!(
        report["blockers"][0]["text"].as_str().unwrap().contains("was changed"),
        "{}",
        testkit::outcome_of(&report)
    );
    // Nor is one that is gone replaced by anything else, and no provider is blamed for it.
    let (folder, aside) = (copy.parent().unwrap(), kept.join("aside"));
    fs::rename(folder, &aside).unwrap();
    let (report, bundle) = scene.run_task(contract, "3", repo, 3);
    assert_eq!(reasons(&report), ["engine_copy_missing"]);
    assert_eq!(report["blockers"][0]["remedy"], "admit it again: cto admit source toy --replace");
    assert!(!bundle.join("backend/provider-unavailable.txt").exists());
    let events = fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap();
    assert!(events.contains(r#""gate":"identity","mutation_mode":"copied-fixture","reason":"engine_copy_missing""#));
    // Control: the copy as it was.
    fs::write(aside.join("tree"), SCRIPT).unwrap();
    fs::rename(&aside, folder).unwrap();
    let _ = scene.run_task(contract, "3", repo, 0);
}

/// Types the remedy of the first blocker as it is printed.
fn paste_first(scene: &Scene, report: &Value) {
    let text = |key: &str| report["blockers"][0][key].as_str().unwrap().to_owned();
    let printed = crate::advice::PrintedRemedy { reason: text("reason"), remedy: text("remedy") };
    let shell = crate::advice::Shell { cto: &|words| scene.cto(words), repository: &scene.world.here() };
    assert_eq!(shell.paste(&printed), Some(true));
}

/// Records and configuration that name repositories, by what is looked for because of them.
const NAMED: &[(&str, &str, &str)] = &[
    ("admissions/target/site.yaml", "target_repository_path: /srv/site/\n", "/srv/site"),
    ("admissions/target/shop.json", r#"{"target_repository_path": "/srv/shop"}"#, "/srv/shop"),
    ("elsewhere/blog.yaml", "target_repository_path: /srv/blog\n", "/srv/blog"),
    ("harness.yaml", "protected_roots: [/srv/core]\n", "/srv/core"),
];

/// The proof of stage 2 looks for every repository that the operator's records and configuration name.
#[test]
fn an_engine_is_told_of_no_repository_that_is_named_anywhere() {
    let mut scene = Scene::new();
    scene.climb_to("1");
    scene.enable("2");
    let case = scene.world.here().join("told");
    let tell = |of: &str| {
        super::scene::copy(&super::scene::case_folder(), &case);
        let text = fs::read_to_string(case.join("case.yaml")).unwrap();
        fs::write(case.join("case.yaml"), text.replacen("brief: |\n", &format!("brief: |\n  As in {of}/a.py.\n"), 1))
            .unwrap();
    };
    let looked_for = |bundle: &Path| {
        let proof = proved(&scene, bundle, "stage2-no-target-inspection");
        assert_eq!(proof["passed"], true);
        proof["looked_for"].as_array().unwrap().len()
    };
    // Control: nobody knows of the repository, so nothing is looked for.
    tell("/srv/site");
    let (_, bundle) = scene.run_task("./told", "2", &[], 0);
    assert_eq!(looked_for(&bundle), 0);
    let gate = fs::read_to_string(scene.world.here().join("harness.yaml")).unwrap();
    for (file, text, _) in NAMED {
        let text = if *file == "harness.yaml" { format!("{gate}{text}") } else { (*text).to_owned() };
        scene.world.write(file, text);
    }
    let blog = scene.world.here().join("elsewhere/blog.yaml").display().to_string();
    scene.environment = vec![("CTO_HARNESS_TOY_STAGE5_TARGET_ADMISSION_FILE", blog)];
    for (_, _, path) in NAMED {
        tell(path);
        let (report, _) = scene.run_task("./told", "2", &[], 3);
        assert_eq!(reasons(&report), ["target_not_admitted"], "{path}");
        assert_eq!(report["engine"]["process_started"], false, "{path}");
    }
    tell("/srv/other");
    let (_, bundle) = scene.run_task("./told", "2", &[], 0);
    let looked_for = |bundle: &Path| {
        let proof = proved(&scene, bundle, "stage2-no-target-inspection");
        assert!(!proof.to_string().contains("/srv/"), "the proof names none either: {proof}");
        proof["looked_for"].as_array().unwrap().len()
    };
    assert_eq!(looked_for(&bundle), NAMED.len());
    // A record that nobody can read names nobody knows what.
    scene.world.write("admissions/target/broken.json", "{");
    let (report, _) = scene.run_task("./told", "2", &[], 3);
    assert_eq!(reasons(&report), ["target_not_admitted"]);
    assert!(report["blockers"][0]["text"].as_str().unwrap().contains("broken.json cannot be read"), "{report:#}");
}

/// A run that another is compared with and that did not pass is named as what it is, never as a provider.
#[test]
fn a_run_to_compare_with_that_did_not_pass_blocks_as_what_it_is() {
    let scene = Scene::new();
    scene.climb_to("1");
    scene.enable("2");
    let rows = [
        (
            "fake",
            r#"{"steps": [{"write": {"path": "a.txt", "text": "three\n"}}]}"#,
            "stage_not_earned",
            "(verification_failed)",
        ),
        ("environment", r#"{"setup": [{"argv": ["false"]}]}"#, "environment_broken", "(environment_broken)"),
    ];
    for (key, value, reason, says) in rows {
        scene.world.case("made", &[(key, value)]);
        let (report, bundle) = scene.run_task("./made", "2", &[], 3);
        assert_eq!(reasons(&report), [reason], "{report:#}");
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(says), "{report:#}");
        assert!(!bundle.join("backend/provider-unavailable.txt").exists());
        assert_eq!(report["failure_reason"], report["blockers"][0]["text"]);
    }
}

/// Status and proof of the rung of stage 2, as the engine's newest source has it.
fn second_rung(scene: &Scene) -> (String, Value) {
    let ladder = scene.cto(&["ladder", "--engine", "toy", "--json"]).expect(0).json();
    let rung = ladder["rungs"].as_array().unwrap().iter().find(|rung| rung["stage"] == 2).unwrap().clone();
    (rung["status"].as_str().unwrap().to_owned(), rung["proof_for"].clone())
}

#[test]
fn another_build_starts_over_and_a_collection_keeps_the_proof_of_both() {
    let scene = Scene::new();
    scene.climb();
    let source = |stage| scene.run(stage, 0).0["engine"]["source_id"].clone();
    let old = source("2");
    assert_eq!(second_rung(&scene).0, "validated", "control");
    scene.script(&SCRIPT.replace("toy 1.0.0", "toy 1.0.1"));
    scene.enable("1");
    assert_ne!(source("1"), old);
    assert_eq!(second_rung(&scene), ("stale".to_owned(), old.clone()));
    let _ = scene.cto(&["gc", "--older-than", "0s", "--keep", "0"]).expect(0);
    assert_eq!(second_rung(&scene), ("stale".to_owned(), old.clone()), "the proof of another build stays");
    scene.enable("2");
    let new = source("2");
    assert_eq!(second_rung(&scene).0, "validated", "earned again");
    let _ = scene.cto(&["gc", "--older-than", "0s", "--keep", "0"]).expect(0);
    scene.script(SCRIPT);
    scene.enable("1");
    assert_eq!(source("1"), old, "back to the first build");
    assert_eq!(second_rung(&scene), ("validated".to_owned(), Value::Null), "whose proof is {old}, not {new}");
}
