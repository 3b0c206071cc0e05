//! Bundles by way of an object store: sealed in one home, looked at from another on the same ledger.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::time::Duration;

use serde_json::Value;
use testkit::{ObjectDouble, ObjectFolder, StoreManner, World, each_row};

use crate::world;

/// Two homes on one ledger and one object store, the second of which trusts what the first has signed.
struct SharedHomes {
    ours: World,
    theirs: World,
    ledger: tempfile::TempDir,
}

impl SharedHomes {
    fn on(evidence: &str) -> Self {
        let homes = Self { ours: world(), theirs: world(), ledger: tempfile::tempdir().unwrap() };
        for world in [&homes.ours, &homes.theirs] {
            homes.configure(world, evidence);
        }
        homes
    }

    fn configure(&self, world: &World, evidence: &str) {
        let folder = world.path().join("user/.config/cto");
        fs::create_dir_all(&folder).unwrap();
        let ledger = self.ledger.path().join("ledger.db");
        fs::write(folder.join("config.yaml"), format!("store:\n  url: sqlite://{}\n{evidence}", ledger.display()))
            .unwrap();
    }

    /// Runs a case in the first home, whose key the second comes to trust.
    fn run(&self, case: &str, code: i32) -> String {
        let (ran, _) = self.ours.run(case, code);
        let key = self.ours.home().join("keys/harness.pub");
        let _ = self.theirs.cto(["trust", "key", "add", key.to_str().unwrap(), "--bundles", "--name", "ours"]);
        ran["run_id"].as_str().unwrap().to_owned()
    }
}

fn on_folder(folder: &ObjectFolder) -> String {
    format!("evidence:\n  url: {}\n", folder.url())
}

fn on_double(double: &ObjectDouble) -> String {
    let endpoint = double.endpoint();
    format!("evidence:\n  url: s3://cto/fleet\n  endpoint: {endpoint}\n  timeout_seconds: 3\n")
}

#[test]
fn a_bundle_of_another_home_is_shown_verified_and_compared() {
    let folder = ObjectFolder::new();
    let homes = SharedHomes::on(&on_folder(&folder));
    let run = homes.run("r1-string-slugify", 0);
    let verified = homes.theirs.cto(["verify", &run]);
    assert_eq!(verified.code, 0, "{verified:?}");
    for words in [&["show", &run][..], &["diff", &run], &["logs", &run], &["show", &run, "--json"]] {
        let (here, there) = (homes.ours.cto(words.iter().copied()), homes.theirs.cto(words.iter().copied()));
        assert_eq!((there.code, here.code), (0, 0), "{words:?}: {there:?}");
        assert!(there.text().contains(&run) || here.text() == there.text(), "{words:?}: {there:?}");
    }
    assert_eq!(homes.ours.cto(["diff", &run]).text(), homes.theirs.cto(["diff", &run]).text());
    assert!(!homes.theirs.home().join("harness-runs").join(&run).exists(), "it is kept apart from own ones");
    let _ = homes.theirs.cto(["ledger", "verify"]).expect(0);

    // A cached copy that somebody changed is not believed, and neither is a store that has other bytes.
    let cached = homes.theirs.home().join("cache/bundles").join(&run).join("bundle/patch.diff");
    fs::write(&cached, "other").unwrap();
    let _ = homes.theirs.cto(["verify", &run]).expect(0);
    assert_ne!(fs::read(&cached).unwrap(), b"other");
}

/// The control: without an object store the second home says where the bundle lies, and has none.
#[test]
fn without_a_store_the_bundle_stays_in_its_home() {
    let homes = SharedHomes::on("");
    let run = homes.run("r1-string-slugify", 0);
    let refused = homes.theirs.cto(["verify", &run]).expect(1);
    assert!(refused.stderr.contains("lies in another home"), "{}", refused.stderr);
}

#[test]
fn a_bundle_from_a_store_that_lies_is_not_shown() {
    let double = ObjectDouble::start(StoreManner::Guarded);
    let homes = SharedHomes::on(&on_double(&double));
    let run = homes.run("r1-string-slugify", 0);
    let rows = [
        ("wrong bytes", (StoreManner::WrongBytes, 1, "is not what was handed in")),
        ("truncated", (StoreManner::Truncated, 3, "ends in the middle")),
        ("endless", (StoreManner::Endless, 3, "bytes")),
        ("slow", (StoreManner::Slow, 3, "does not answer in time")),
        ("a storm", (StoreManner::Storm(1000), 3, "status 503")),
        ("redirects", (StoreManner::Redirects, 3, "sends us elsewhere")),
        ("garbled", (StoreManner::Garbled, 3, "cannot be understood")),
        ("forgetful", (StoreManner::Forgetful, 1, "lies in another home")),
    ];
    each_row(rows, |(manner, code, expected)| {
        double.behave(manner);
        let before = double.asked();
        let refused = homes.theirs.cto(["show", &run]);
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(double.asked() - before <= 6, "{} requests", double.asked() - before);
        assert!(!homes.theirs.home().join("cache/bundles").join(&run).exists(), "nothing of it is kept");
    });
    double.behave(StoreManner::Guarded);
    let _ = homes.theirs.cto(["verify", &run]).expect(0);
}

/// The check of the ledger reads every bundle that was handed in.
#[test]
fn a_damaged_object_fails_the_check_of_the_ledger() {
    let folder = ObjectFolder::new();
    let homes = SharedHomes::on(&on_folder(&folder));
    let run = homes.run("r1-string-slugify", 0);
    let verify = |words: &[&str], code: i32| homes.theirs.cto(["ledger", "verify"].iter().chain(words)).expect(code);
    assert!(verify(&[], 0).text().contains("objects bundles=1 absent=0 witnesses=0"));
    let object = fs::read_dir(folder.path().join("bundles")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&object).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&object, damaged).unwrap();
    let said = verify(&[], 1).text();
    assert!(said.contains(&run) && said.contains("is not what was handed in"), "{said}");
    let _ = verify(&["--local"], 0);
    fs::write(&object, whole).unwrap();
    let _ = verify(&[], 0);
    fs::remove_file(&object).unwrap();
    let said = verify(&["--json"], 0).json();
    assert_eq!(said["objects"], serde_json::json!({"absent": 1, "bundles": 0, "witnesses": 0}));
}

/// Another bundle under the name of this one is not this one, however well it is signed.
#[test]
fn another_bundle_in_its_place_is_not_taken() {
    let double = ObjectDouble::start(StoreManner::Guarded);
    let homes = SharedHomes::on(&on_double(&double));
    let [one, two] = [homes.run("r1-string-slugify", 0), homes.run("r1-string-slugify", 0)];
    let objects: Vec<String> = double.names().into_iter().filter(|name| name.contains("/bundles/")).collect();
    let [first, second] = objects.as_slice() else { panic!("{objects:?}") };
    double.put(first, &double.content(second).unwrap());
    let codes: Vec<i32> = [&one, &two].map(|run| homes.theirs.cto(["verify", run]).code).to_vec();
    assert!(codes == [0, 1] || codes == [1, 0], "one of them is the control: {codes:?}");
}

/// A run whose bundle cannot be handed in is not called sealed; the next command hands it in.
#[test]
fn a_bundle_that_could_not_be_handed_in_is_handed_in_later() {
    let double = ObjectDouble::start(StoreManner::Guarded);
    let homes = SharedHomes::on(&on_double(&double));
    homes.ours.case(
        "made",
        &[("fake", r#"{"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": ["sleep", "2"]}}]}"#)],
    );
    let child = homes.ours.start(["run", "./made", "--json"]);
    testkit::wait_for("the probe", || (double.asked() >= 7).then_some(()));
    double.behave(StoreManner::Storm(u32::MAX));
    let ran = World::finish(child);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("status 503"), "{}", ran.stderr);
    let rows = |world: &World| -> Vec<Value> {
        let listed = world.cto(["runs", "--json"]).text();
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    double.behave(StoreManner::Guarded);
    let recovered = homes.ours.cto(["recover"]).expect(0);
    let run = rows(&homes.ours)[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(rows(&homes.ours)[0]["status"], "pass", "{recovered:?}");
    homes.run("fail-no-diff", 1);
    let _ = homes.theirs.cto(["verify", &run]).expect(0);
}

/// The store is away for longer than a lease when a run is sealed. The worker that made it keeps it, and hands it in when the store is
/// back; one that was killed keeps nothing, which is the control.
#[test]
fn a_finished_run_is_kept_while_the_store_is_away() {
    let rows = [("the worker lives", (true, "pass")), ("control: the worker was killed", (false, "fail"))];
    each_row(rows, |(lives, status)| {
        let double = ObjectDouble::start(StoreManner::Guarded);
        let homes = SharedHomes::on(&format!("  lease_seconds: 4\n{}", on_double(&double)));
        let steps = r#"{"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": ["sleep", "2"]}}]}"#;
        homes.ours.case("made", &[("fake", steps), ("verification_commands", "[[\"true\"]]")]);
        let run =
            homes.ours.cto(["submit", "./made", "--json"]).expect(0).json()["run_id"].as_str().unwrap().to_owned();
        let mut worker = homes.ours.start(["worker", "--json"]);
        testkit::wait_for("the probe", || (double.asked() >= 7).then_some(()));
        double.behave(StoreManner::Storm(u32::MAX));
        testkit::wait_for("the bundle", || homes.ours.home().join("harness-runs").join(&run).is_dir().then_some(()));
        if !lives {
            worker.kill().unwrap();
        }
        std::thread::sleep(Duration::from_secs(10));
        if lives {
            let looked = homes.theirs.cto(["recover", "--json"]).expect(0).json();
            assert_eq!(
                (&looked["alive"][0], &looked["sealed"]),
                (&Value::from(run.as_str()), &Value::Array(vec![])),
                "{looked}"
            );
        }
        double.behave(StoreManner::Guarded);
        let status_of = || {
            let shown = homes.theirs.cto(["runs", "--json"]).text();
            let row: Value = serde_json::from_str(shown.lines().next()?).ok()?;
            row["status"].as_str().filter(|status| *status != "running").map(str::to_owned)
        };
        if !lives {
            let _ = homes.theirs.cto(["recover"]).expect(0);
        }
        assert_eq!(testkit::wait_for("the seal", status_of), status);
        let _ = worker.kill();
        let _ = worker.wait();
    });
}
