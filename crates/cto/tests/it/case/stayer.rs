//! An engine without an event log that stays after its work: it is ended once a commit stands, or when its time is over.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Ran;

use super::expected::{COMPLETED, TIMEOUT};
use super::scene::{COMMIT, Scene, TASK, WORK, exited, good, reasons};

/// Runs the commands of its brief and stays.
const SCRIPT: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'stayer 1.0.0' && exit 0\n\
    sed -n 's/^STAYER: //p' \"$1\" > /tmp/do && sh /tmp/do\nsleep 3600\n";

/// The engine in a scene, with its gate open.
pub(super) struct Stayer {
    pub(super) scene: Scene,
}

/// Expected end of a run of it.
pub(super) struct Stayed<'a> {
    pub(super) name: &'a str,
    pub(super) by_harness: bool,
    /// None if there is another reason against it, which this test does not look at.
    pub(super) reasons: Option<&'a [&'a str]>,
}

impl Stayer {
    pub(super) fn new() -> Self {
        let mut scene = Scene::new(good());
        let file = scene.world.write("other/stayer", SCRIPT);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        scene.engines = json!({"stayer": {
            "executable": file, "settle_seconds": 1,
            "definition": {
                "about": "a script that stays", "program": "stayer", "argv": ["{task}"], "lingers": true,
                "identity": {"argv": ["--version"], "expect": "stayer 1."}, "litter": [".stayer/"],
            },
        }});
        scene.set("CTO_HARNESS_ALLOW_STAYER", "1");
        let mut stayer = Self { scene };
        stayer.set_stage("1");
        let _ = stayer.run(&[TASK, "--stage", "1"]).expect(0);
        stayer.set_stage("2");
        stayer
    }

    pub(super) fn set_stage(&mut self, stage: &str) {
        self.scene.set("CTO_HARNESS_STAYER_STAGE", stage);
    }

    pub(super) fn run(&self, what: &[&str]) -> Ran {
        self.scene.cto(&[&["run", "--engine", "stayer", "--json"], what].concat())
    }

    /// A run whose bundle must verify and whose end must be this.
    pub(super) fn check(&mut self, what: &[&str], stayed: &Stayed<'_>) -> (Value, PathBuf) {
        let name = stayed.name;
        let seconds = if stayed.by_harness { "60" } else { "5" };
        self.scene.set("CTO_HARNESS_STAYER_TIMEOUT_SECONDS", seconds);
        let report = self.run(what).json();
        let bundle = self.scene.world.bundles().join(report["run_id"].as_str().unwrap());
        let _ = self.scene.cto(&["verify", bundle.to_str().unwrap()]).expect(0);
        let told = reasons(&report);
        assert_eq!(told, stayed.reasons.unwrap_or(&told), "{name}: {}", testkit::outcome_of(&report));
        let (by, code, marker) =
            if stayed.by_harness { ("harness", 0, COMPLETED) } else { ("time limit", 124, TIMEOUT) };
        assert_eq!(
            (&exited(&bundle)["stopped_by"], &report["backend_exit_code"]),
            (&json!(by), &json!(code)),
            "{name}"
        );
        assert!(bundle.join("backend").join(marker).is_file(), "{name}");
        let says = report["coverage"].as_array().unwrap().contains(&json!("engine_ended_by_harness"));
        let why = report["engine"]["ended_by_harness"].as_str().unwrap_or_default();
        assert_eq!((says, why.contains("committed")), (stayed.by_harness, stayed.by_harness), "{name}: {why}");
        (report, bundle)
    }

    /// The case with commands for the engine in its brief.
    pub(super) fn told(&self, commands: &str) -> String {
        let words = format!("none\n  STAYER: {}", commands.replace('\n', "\n  STAYER: "));
        self.scene.told(&words)
    }
}

#[test]
fn without_a_log_a_commit_that_stands_is_the_end() {
    let mut stayer = Stayer::new();
    let late = ["lifecycle_timeout_after_valid_patch"];
    let orphan = "git checkout -q --orphan other && git add strings.py test_strings.py && git commit -qm other";
    for (name, commands, reasons) in [
        ("a commit", format!("{WORK} && {COMMIT}"), None),
        (
            "two, and litter",
            format!("{WORK} && {COMMIT}\ngit commit -q --allow-empty -m x\nmkdir .stayer && touch .stayer/x"),
            None,
        ),
        ("the work without a commit", WORK.to_owned(), Some(&late[..])),
        ("a commit, and a change beside it", format!("{COMMIT} --allow-empty; {WORK}"), Some(&late[..])),
        ("nothing at all", "true".to_owned(), Some(&["timeout"][..])),
        ("the commit that was there before", "git checkout -q --detach HEAD".to_owned(), Some(&["timeout"][..])),
        ("a commit that does not rest on the baseline", format!("{WORK} && {orphan}"), Some(&late[..])),
    ] {
        let task = stayer.told(&commands);
        let stayed = Stayed { name, by_harness: reasons.is_none(), reasons: Some(reasons.unwrap_or_default()) };
        let _ = stayer.check(&[&task, "--stage", "2"], &stayed);
    }
}
