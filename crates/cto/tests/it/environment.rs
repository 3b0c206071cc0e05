//! A repository's environment through the real binary: drafted, set up once and kept, and what engine and verification see
//! of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod anywhere;
mod bytecode;
pub(crate) mod governed;
mod layers;
mod network;
pub(crate) mod project;
mod suggest;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::World;

/// The end of a run.
struct Ended {
    report: Value,
    /// Content of `sandbox.json` about the environment.
    environment: Value,
    setup_log: String,
    test_log: String,
}

impl Ended {
    /// Runs a case, on a repository where one is given.
    fn of(world: &World, case: &Path, repository: Option<&Path>) -> Self {
        let mut args = vec!["run".as_ref(), "--json".as_ref(), case.as_os_str()];
        args.extend(repository.into_iter().flat_map(|path| ["--repo".as_ref(), path.as_os_str()]));
        let report = world.cto(args).json();
        let run_id = report["run_id"].as_str().unwrap();
        let _ = world.cto(["verify", run_id]).expect(0);
        let bundle = world.bundles().join(run_id);
        let text = |name: &str| fs::read_to_string(bundle.join(name)).unwrap_or_default();
        let sandbox: Value = serde_json::from_str(&text("sandbox.json")).unwrap();
        let environment = sandbox["environment"].clone();
        let ended = Self { report, environment, setup_log: text("setup.log"), test_log: text("test.log") };
        assert_eq!(ended.report["sandbox"]["asked"], "strict");
        ended
    }

    /// Panics with what was printed unless the run ended so, for these reasons.
    fn expect(self, status: &str, reasons: &[&str]) -> Self {
        let found = (&self.report["status"], &self.report["blocker_reasons"]);
        assert_eq!(found, (&json!(status), &json!(reasons)), "{}", self.told());
        self
    }

    fn told(&self) -> String {
        format!("{:#}\n{}\n{}\n{}", self.report["blockers"], self.environment, self.setup_log, self.test_log)
    }

    fn setup(&self) -> &Vec<Value> {
        self.environment["setup"].as_array().unwrap()
    }

    fn covers(&self, code: &str) -> bool {
        self.report["coverage"].as_array().unwrap().contains(&json!(code))
    }

    /// Reason why the run did not pass.
    fn why(&self) -> &str {
        self.report["blockers"][0]["text"].as_str().unwrap()
    }
}

/// A case whose engine does these steps; `environment` is the block as a person would paste it.
fn write_case(
    world: &World,
    name: &str,
    keys: &[(&str, Value)],
    steps: &Value,
    environment: &str,
) -> std::path::PathBuf {
    let good = [
        ("schema_version", json!("1")),
        ("task_id", json!(name)),
        ("title", json!("change it")),
        ("brief", json!("Change it.")),
        ("risk_class", json!("low")),
        ("source_owner", json!("tests")),
        ("source_classification", json!("owned_local")),
        ("forbidden_actions", json!(["push", "merge"])),
        ("mutation_mode", json!("copied-fixture")),
        ("fake", json!({"steps": steps})),
    ];
    let lines: String = good.iter().chain(keys).map(|(key, value)| format!("{key}: {value}\n")).collect();
    world.write(&format!("{name}/case.yaml"), lines + environment);
    world.write(&format!("{name}/files/a.txt"), "one\n");
    world.here().join(name)
}
