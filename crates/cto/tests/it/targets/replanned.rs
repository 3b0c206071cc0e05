//! Everything that a plan holds, changed after its approval: the run is refused with every field that differs, and the approval is
//! good again once the change is taken back.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Ran, each_row, git, program};

use super::{Scene, reasons};
use crate::world;

/// A change that is made after the approval and taken back again.
struct Change {
    name: &'static str,
    /// Beside the words of the run.
    words: &'static [&'static str],
    make: fn(&Approved),
    undo: fn(&Approved),
    reasons: &'static str,
    /// Fields of the plan, in its order.
    fields: &'static [&'static str],
}

/// A target with an approval that nobody has used, and what the files of the plan are.
struct Approved {
    scene: Scene,
    request: String,
    case: String,
    admission: String,
    /// Shown to the engine, and part of the plan by its digest.
    mounted: PathBuf,
}

impl Approved {
    fn new(test: &str) -> Option<Self> {
        let world = world();
        let mounted = world.path().join("mounted");
        fs::create_dir(&mounted).unwrap();
        fs::write(mounted.join("data"), "1\n").unwrap();
        let environment = format!("{{mounts: [{{source: {}, target: /opt/data}}]}}", mounted.display());
        let scene = Scene::with(test, world, Path::to_owned, &[("environment", &environment)])?;
        let request = scene.approve("5")["request"].as_str().unwrap().to_owned();
        let here = |name: &str| fs::read_to_string(scene.world.here().join(name)).unwrap();
        let (case, admission) = (here("made/case.yaml"), here("target.yaml"));
        Some(Self { scene, request, case, admission, mounted })
    }

    fn edit_case(&self, old: &str, new: &str) {
        assert!(self.case.contains(old), "{}", self.case);
        self.scene.world.write("made/case.yaml", self.case.replace(old, new));
    }

    fn restore_case(&self) {
        self.scene.world.write("made/case.yaml", &self.case);
    }

    fn edit_admission(&self, old: &str, new: &str) {
        assert!(self.admission.contains(old), "{}", self.admission);
        self.scene.world.write("target.yaml", self.admission.replace(old, new));
        self.scene.sign("target.yaml", &self.scene.key());
    }

    fn restore_admission(&self) {
        self.edit_admission("admitted", "admitted");
    }

    fn write_policy(&self, text: &str) {
        self.scene.world.write_own("trust/approval-policy.yaml", text);
    }

    fn write_config(&self, text: &str) {
        let folder = self.scene.world.user().join(".config/cto");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), text).unwrap();
    }

    /// Runs, and shows that nothing of the target was touched and that the approval is still there.
    fn refuse(&self, run: impl FnOnce() -> Ran) -> (Value, Vec<String>) {
        let before = self.scene.untouched();
        let ran = run();
        assert_eq!(ran.code, 3, "{ran:?}");
        let report = ran.json();
        assert_eq!(report["engine"]["process_started"], false, "{report:#}");
        assert_eq!((self.scene.untouched(), self.scene.branches().len()), (before, 0));
        assert_eq!(self.scene.git(&["for-each-ref", "refs/cto"]), "");
        let events = self.scene.events(&report);
        for reason in report["blocker_reasons"].as_array().unwrap() {
            let told = events.iter().any(|event| {
                event["type"] == "backend.gate.blocked" && event["data"].to_string().contains(reason.as_str().unwrap())
            });
            assert!(told, "{reason}: {events:#?}");
        }
        assert!(events.iter().any(|event| event["type"] == "approval.requested"), "{events:#?}");
        assert!(events.iter().all(|event| event["type"] != "approval.granted"), "{events:#?}");
        let decision = self.scene.proof(&report, "eligibility-decision.json");
        let differences = &decision["inputs"]["approval"]["found"]["request"]["differences"];
        let fields = differences.as_array().unwrap().iter().map(|one| one["field"].as_str().unwrap().to_owned());
        let packet = self.scene.world.cto(["packet", &self.request, "--json"]).expect(0).json();
        assert_eq!((&packet["approval_granted"], &packet["approval_consumed"]), (&true.into(), &false.into()));
        (report.clone(), fields.collect())
    }

    /// A refusal of any gate; no fields where the approval was not looked at.
    fn refuse_any(&self, words: Vec<&str>) -> (Value, Vec<String>) {
        let report = self.scene.world.cto(words).expect(3).json();
        let decision = self.scene.proof(&report, "eligibility-decision.json");
        let differences = decision["inputs"]["approval"]["found"]["request"]["differences"].as_array().cloned();
        let fields =
            differences.unwrap_or_default().iter().map(|one| one["field"].as_str().unwrap().to_owned()).collect();
        (report, fields)
    }

    /// The refusal names the first field and lists all of them, with what was approved and what is there now.
    fn check(&self, run: impl FnOnce() -> Ran, reasons_told: &str, fields: &[&str]) {
        let (report, found) = self.refuse(run);
        let told = (reasons(&report), found.join(" "));
        assert_eq!(told, (reasons_told.to_owned(), fields.join(" ")), "{:#}", report["blockers"]);
        let blockers = report["blockers"].as_array().unwrap();
        let blocker = blockers.iter().find(|blocker| blocker["reason"] == "approval_mismatch").unwrap();
        let text = blocker["text"].as_str().unwrap();
        assert!(text.contains(&format!(" is for another plan: {}: ", fields[0])), "{text}");
        for field in fields {
            assert!(text.contains(&format!("{field}: ")), "{field}: {text}");
        }
        assert_eq!(text.matches(" was approved, ").count(), fields.len(), "{text}");
        assert!(blocker["remedy"].as_str().unwrap().starts_with("cto request "), "{blocker}");
    }
}

const CHANGES: &[Change] = &[
    Change {
        name: "work",
        words: &["--work", "CTO-WORK-012"],
        make: |_| {},
        undo: |_| {},
        reasons: "approval_mismatch",
        fields: &["/work_id", "/contract_digest", "/contract/work_id"],
    },
    Change {
        name: "contract",
        words: &[],
        make: |it| it.edit_case("Make it say two.", "Make it say two, twice."),
        undo: Approved::restore_case,
        reasons: "approval_mismatch",
        fields: &["/contract_digest", "/contract/brief"],
    },
    Change {
        name: "branch policy",
        words: &[],
        make: |it| it.edit_case("allowed_paths:", "branch_policy: fix/<request>\nallowed_paths:"),
        undo: Approved::restore_case,
        reasons: "approval_mismatch",
        fields: &["/contract_digest", "/contract/branch_policy", "/branch/policy", "/branch/name"],
    },
    Change {
        name: "a commit in the repository",
        words: &[],
        make: |it| drop(git(&it.scene.target, ["commit", "-q", "--allow-empty", "-m", "theirs"])),
        undo: |it| drop(git(&it.scene.target, ["reset", "-q", "--hard", "HEAD~1"])),
        reasons: "approval_mismatch",
        fields: &["/repository/head_commit"],
    },
    Change {
        name: "a commit with another tree",
        words: &[],
        make: |it| {
            fs::write(it.scene.target.join("deep/c.txt"), "new\n").unwrap();
            git(&it.scene.target, ["add", "deep/c.txt"]);
            git(&it.scene.target, ["commit", "-q", "-m", "theirs"]);
        },
        undo: |it| drop(git(&it.scene.target, ["reset", "-q", "--hard", "HEAD~1"])),
        reasons: "approval_mismatch",
        fields: &["/repository/head_commit", "/repository/head_tree"],
    },
    Change {
        name: "another branch of the repository",
        words: &[],
        make: |it| drop(git(&it.scene.target, ["checkout", "-q", "-b", "other"])),
        undo: |it| drop(git(&it.scene.target, ["checkout", "-q", "-"])),
        reasons: "approval_mismatch",
        fields: &["/repository/checked_out"],
    },
    Change {
        name: "a file of the repository",
        words: &[],
        make: |it| fs::write(it.scene.target.join("deep/b.txt"), "other\n").unwrap(),
        undo: |it| drop(git(&it.scene.target, ["checkout", "-q", "--", "deep/b.txt"])),
        reasons: "approval_mismatch,dirty_starting_tree",
        fields: &["/repository/clean"],
    },
    Change {
        name: "another repository at the same path",
        words: &[],
        make: |it| {
            fs::rename(&it.scene.target, aside(&it.scene.target)).unwrap();
            copy_all(&aside(&it.scene.target), &it.scene.target);
        },
        undo: |it| {
            fs::remove_dir_all(&it.scene.target).unwrap();
            fs::rename(aside(&it.scene.target), &it.scene.target).unwrap();
        },
        reasons: "approval_mismatch",
        fields: &["/repository/identity"],
    },
    Change {
        name: "commands of the engine",
        words: &[],
        make: |it| it.edit_case("steps: [", "steps: [{sleep: {seconds: 0}}, "),
        undo: Approved::restore_case,
        reasons: "approval_mismatch",
        fields: &["/engine/argv_template/1"],
    },
    Change {
        name: "limits",
        words: &["--timeout", "7"],
        make: |_| {},
        undo: |_| {},
        reasons: "approval_mismatch",
        fields: &["/limits/wall_seconds"],
    },
    Change {
        name: "what is mounted",
        words: &[],
        make: |it| fs::write(it.mounted.join("data"), "2\n").unwrap(),
        undo: |it| fs::write(it.mounted.join("data"), "1\n").unwrap(),
        reasons: "approval_mismatch",
        fields: &["/sandbox/mounts/0/tree_sha256"],
    },
    Change {
        name: "words of a record",
        words: &[],
        make: |it| it.edit_admission("review_trigger: never", "review_trigger: each year"),
        undo: Approved::restore_admission,
        reasons: "approval_mismatch",
        fields: &["/records/0/sha256", "/records/0/review_trigger"],
    },
    Change {
        name: "paths of a record",
        words: &[],
        make: |it| it.edit_admission("allowed_paths: [a.txt]", "allowed_paths: [a.txt, b.txt]"),
        undo: Approved::restore_admission,
        reasons: "approval_mismatch",
        fields: &["/repository/allowed_paths/1", "/records/0/sha256"],
    },
    Change {
        name: "owner in a record",
        words: &[],
        make: |it| it.edit_admission("repository_owner: Ada", "repository_owner: Bob"),
        undo: Approved::restore_admission,
        reasons: "approval_mismatch",
        fields: &["/repository/owner", "/records/0/sha256"],
    },
    Change {
        name: "signer of a record",
        words: &[],
        make: |it| it.scene.sign("target.yaml", &it.scene.make_key("bob", &[])),
        undo: |it| it.scene.sign("target.yaml", &it.scene.key()),
        reasons: "approval_mismatch",
        fields: &["/records/0/signed_by"],
    },
    Change {
        name: "settings",
        words: &[],
        make: |it| it.write_config("engines: {case: {settle_seconds: 7}}\n"),
        undo: |it| it.write_config("{}\n"),
        reasons: "approval_mismatch",
        fields: &["/settings/2"],
    },
    Change {
        name: "policy",
        words: &[],
        make: |it| it.write_policy("max_ttl: 3600\n"),
        undo: |it| fs::remove_file(it.scene.world.home().join("trust/approval-policy.yaml")).unwrap(),
        reasons: "approval_mismatch",
        fields: &["/policy_digest"],
    },
    Change {
        name: "many at once",
        words: &["--timeout", "7", "--work", "CTO-WORK-012"],
        make: |it| {
            fs::write(it.mounted.join("data"), "2\n").unwrap();
            it.edit_admission("repository_owner: Ada", "repository_owner: Bob");
            it.write_policy("max_ttl: 3600\n");
            it.edit_case("steps: [", "steps: [{sleep: {seconds: 0}}, ");
        },
        undo: |it| {
            fs::write(it.mounted.join("data"), "1\n").unwrap();
            it.restore_admission();
            it.restore_case();
            fs::remove_file(it.scene.world.home().join("trust/approval-policy.yaml")).unwrap();
        },
        reasons: "approval_mismatch",
        fields: &[
            "/work_id",
            "/contract_digest",
            "/contract/work_id",
            "/repository/owner",
            "/engine/argv_template/1",
            "/limits/wall_seconds",
            "/sandbox/mounts/0/tree_sha256",
            "/records/0/sha256",
            "/policy_digest",
        ],
    },
];

fn aside(target: &Path) -> PathBuf {
    target.with_extension("aside")
}

fn copy_all(from: &Path, to: &Path) {
    let copied = program("cp", Path::new("/")).arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

#[test]
fn each_field_of_a_plan_is_held_to_what_was_approved() {
    let Some(approved) = Approved::new("each_field_of_a_plan_is_held_to_what_was_approved") else { return };
    each_row(CHANGES.iter().map(|row| (row.name, row)), |row| {
        (row.make)(&approved);
        let words = [approved.scene.words("run", "5"), row.words.to_vec()].concat();
        approved.check(|| approved.scene.world.cto(words), row.reasons, row.fields);
        (row.undo)(&approved);
    });
    // The harness itself: a build of another digest.
    let other = approved.scene.world.path().join("other-cto");
    let copied = program("cp", Path::new("/")).args([approved.scene.world.binary(), &other]).status().unwrap();
    assert!(copied.success());
    let appended = program("sh", Path::new("/")).args(["-c", "echo >> \"$1\"", "sh"]).arg(&other).status().unwrap();
    assert!(appended.success());
    let run = || approved.scene.with_binary(&other, approved.scene.words("run", "5"));
    approved.check(run, "approval_mismatch", &["/engine/tree_sha256", "/harness/executable_sha256"]);
    // Another profile, where this machine has one.
    let words = [approved.scene.words("run", "5"), vec!["--sandbox", "landlock"]].concat();
    let (report, fields) = approved.refuse_any(words);
    match reasons(&report).as_str() {
        "sandbox_unavailable" => testkit::not_here("sandbox profile of a plan", "profile landlock is not available"),
        found => assert_eq!((found, fields.as_slice()), ("approval_mismatch", &["/sandbox/profile".to_owned()][..])),
    }
    let elsewhere = approved.scene.run("4", 3);
    assert_eq!(reasons(&elsewhere), "approval_missing", "an approval of stage 5 is none of stage 4");
    let report = approved.scene.run("5", 0);
    assert!(report["target_commit"].is_string(), "the control: the approved plan runs");
}
