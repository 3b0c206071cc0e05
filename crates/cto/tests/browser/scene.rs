//! A home with something of everything to show, made by real runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Child;

use serde_json::json;
use testkit::World;

use crate::world;

/// A target that nobody has signed.
const TARGET: &str = "admission_status: admitted
target_repository_path: /srv/site
repository_owner: the operator
ownership_evidence: records/site.md
risk_classification: low_risk_noncritical
noncritical_rationale: a page that nobody depends on
allowed_paths: [src/]
forbidden_paths: []
forbidden_actions: [push, merge, deploy, close, pr_open, issue_close, public_publication, credential_change, vendor_source_mutation, cortex_core_mutation]
approval_source: the operator
approval_timestamp: 2026-11-01
operator_outcome_required: true
review_trigger: every change
";

/// A home with runs in every state.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) passed: String,
    pub(crate) failed: String,
    pub(crate) blocked: String,
    pub(crate) broken: String,
    /// Its bundle was removed by `cto gc`.
    pub(crate) collected: String,
    /// Its process is gone, and nobody has sealed it.
    pub(crate) dead: String,
    pub(crate) request: String,
    pub(crate) live: String,
    running: Child,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let world = world();
        let _ = world.cto(["init", "."]).expect(0);
        world.write("admissions/target/site.yaml", TARGET);
        let run = |case: &str, code: i32| {
            let (report, bundle) = world.run(case, code);
            (report["run_id"].as_str().unwrap().to_owned(), bundle)
        };
        let (collected, _) = run("r1-string-slugify", 0);
        let _ = world.cto(["gc", "--older-than", "0s", "--keep", "0", "--json"]).expect(0);
        let (passed, _) = run("r1-string-slugify", 0);
        let (failed, _) = run("fail-cheat-edits-tests", 1);
        let (blocked, _) = run("fail-missing-test-command", 3);
        let (broken, bundle) = run("fail-no-diff", 1);
        append_byte(&bundle.join("test.log"));
        let request = open_request(&world);
        // Goes on until the scene ends, however long the machine takes for the looks at it: a run that ends makes its pages load anew
        // while somebody looks.
        let talk = "i=0; while :; do echo line $i; i=$((i+1)); sleep 0.5; done";
        let fake = json!({"steps": [{"run": {"argv": ["sh", "-c", talk]}}]}).to_string();
        world.case("live", &[("fake", &fake), ("limits", "{wall_seconds: 86400}")]);
        let mut killed = world.start(["run", "./live", "--json"]);
        let dead = find_live(&world);
        let running = world.start(["run", "./live", "--json"]);
        let live = testkit::wait_for("a second run that goes on", || {
            let status = world.cto(["status", "--json"]).json();
            let runs = status["running"].as_array()?.iter().filter_map(|run| run["run_id"].as_str());
            runs.map(str::to_owned).find(|run| *run != dead)
        });
        // The last: whatever starts a run seals the dead ones first.
        killed.kill().unwrap();
        killed.wait().unwrap();
        Self { world, passed, failed, blocked, broken, collected, dead, request, live, running }
    }
}

/// A request at stage 4 by a key that may decide.
pub(crate) fn open_request(world: &World) -> String {
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]);
    asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned()
}

/// The run that goes on.
pub(crate) fn find_live(world: &World) -> String {
    testkit::wait_for("a run that goes on", || {
        let status = world.cto(["status", "--json"]);
        // The run makes the home.
        let status = (status.code == 0).then(|| status.json())?;
        status["running"][0]["run_id"].as_str().map(str::to_owned)
    })
}

/// Changes a sealed file.
fn append_byte(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes.push(b'x');
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(file, bytes).unwrap();
}
