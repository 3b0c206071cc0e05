//! A second use of an approval, tried with the clock set back, an old ledger, a copied home, a rollback in between and copies
//! that are gone: refused each time, and by what.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ledger::{EntryKind, Ledger};
use serde_json::{Value, json};
use testkit::{World, program, stoppable, wait_for};

use super::{Scene, reasons};
use crate::world;

/// A scene at one stage.
struct Second {
    scene: Scene,
    stage: &'static str,
    backup: PathBuf,
}

impl Second {
    fn new(test: &str, stage: &'static str, world: World) -> Option<Self> {
        let quick = [("verification_commands", "[[\"true\"]]")];
        let scene = Scene::with(test, world, |target| target.to_owned(), &quick)?;
        let backup = scene.world.path().join("backup");
        Some(Self { scene, stage, backup })
    }

    /// Approves, puts the home aside as a backup would, and uses the approval.
    fn use_once(&self) -> Value {
        let request = self.scene.approve(self.stage);
        let _ = fs::remove_dir_all(&self.backup);
        copy(&self.scene.world.home(), &self.backup);
        assert_eq!(self.scene.run(self.stage, 0)["status"], "pass", "the first use");
        request
    }

    /// The reasons and sentences of a run that is refused without its engine, and the target left as it was.
    fn refusal(&self, offset: i64) -> (String, String) {
        let (before, branches) = (self.scene.untouched(), self.scene.branches());
        let mut command = self.scene.world.command(self.scene.words("run", self.stage));
        let output = command.env("CTO_CLOCK_OFFSET", offset.to_string()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["engine"]["process_started"], false, "{report:#}");
        assert_eq!((self.scene.untouched(), self.scene.branches()), (before, branches));
        let events =
            self.scene.world.bundles().join(report["run_id"].as_str().unwrap()).join("events.normalized.jsonl");
        let events = fs::read_to_string(events).unwrap();
        assert!(events.contains("backend.gate.blocked") && !events.contains("\"engine.started\""), "{events}");
        let _ = self.scene.world.cto(["verify", report["run_id"].as_str().unwrap()]).expect(0);
        (reasons(&report), report["blockers"].to_string())
    }

    /// Refused, first of all for this reason, with this in its sentences.
    fn refuses(&self, what: &str, offset: i64, reason: &str, sentence: &str) {
        let (reasons, said) = self.refusal(offset);
        assert!(reasons.split(',').any(|found| found == reason), "{what}: {reasons}: {said}");
        assert!(said.contains(sentence), "{what}: {said}");
    }

    /// Puts the ledger back to what it was before the use; everything else of the home stays.
    fn restore_ledger(&self) {
        for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            let (from, to) = (self.backup.join(name), self.scene.world.home().join(name));
            let _ = fs::remove_file(&to);
            if from.exists() {
                fs::copy(from, to).unwrap();
            }
        }
    }

    fn vouch(&self) {
        let _ = self.scene.world.cto(["ledger", "continue", "--reason", "there is no other copy"]).expect(0);
    }

    /// The mark that says at this stage, without the ledger, that an approval was used.
    fn mark(&self, request: &Value) -> String {
        let folder = if self.stage == "4" { "used" } else { "refs/cto/used" };
        format!("{folder}/{}", request["request_digest"].as_str().unwrap())
    }

    fn check_all(&self) {
        let home = self.scene.world.home();
        let _ = self.use_once();
        self.refuses("nothing in between", 0, "approval_consumed", "was used by run");
        fs::remove_dir_all(home.join("requests")).unwrap();
        self.refuses("the copies of the request are gone", 0, "approval_consumed", "was used by run");
        let _ = fs::remove_dir_all(home.join("used"));
        self.refuses("the home's mark is gone", 0, "approval_consumed", "was used by run");

        let request = self.use_once();
        self.restore_ledger();
        self.refuses("an older ledger", 0, "ledger_continuity_unknown", "restored from a backup");
        self.vouch();
        self.refuses("an older ledger that the operator vouches for", 0, "approval_consumed", &self.mark(&request));
        self.check_next(&request);

        let _ = self.use_once();
        let aside = self.scene.world.path().join("aside");
        fs::rename(&home, &aside).unwrap();
        copy(&self.backup, &home);
        self.refuses("a copy of the home from before", 0, "ledger_continuity_unknown", "is a copy");
        self.vouch();
        self.refuses("a copy that the operator vouches for", 0, "approval_mismatch", "instance");
        fs::remove_dir_all(&home).unwrap();
        fs::rename(&aside, &home).unwrap();
        self.refuses("the home itself again", 0, "approval_consumed", "was used by run");
    }

    /// An approval whose end the ledger has seen is over, whatever the clock says.
    fn check_ledger_time(&self) {
        let _ = self.use_once();
        self.scene.approve(self.stage);
        let now = harness::RunClock::start_clock().unwrap().started();
        let ledger = Ledger::open_file(&self.scene.world.home().join("ledger.db")).unwrap();
        ledger.append(EntryKind::HaltSet, None, now.after(Duration::from_secs(86_400)), &json!({})).unwrap();
        drop(ledger);
        self.refuses("an entry of tomorrow", 0, "approval_expired", "an entry of the ledger is dated");
        self.check_way_on();
    }

    /// A clock that was ahead has a way on: an act of its own, after which nothing from before counts, and what is requested does.
    fn check_way_on(&self) {
        let cto = |words: &[&str], code: i32| self.scene.world.cto(words.iter().copied()).expect(code);
        let request = self.scene.world.cto(self.scene.words("request", self.stage)).expect(3);
        let said = request.stderr;
        assert!(said.contains("would be over at once") && said.contains("--time-went-back"), "{said}");
        self.vouch();
        self.refuses("the operator vouches for the home alone", 0, "approval_expired", "");
        let set_back = ["ledger", "continue", "--time-went-back", "--reason", "the clock was a day ahead"];
        let _ = cto(&set_back, 0);
        self.refuses("time went back", 0, "approval_expired", "by which the ledger's time went back");
        let said = cto(&set_back, 3).stderr;
        assert!(said.contains("no entry of the ledger is dated after"), "{said}");
        let next = self.scene.approve(self.stage);
        assert_eq!(self.scene.run(self.stage, 0)["status"], "pass", "the control: {next:#}");
        self.refuses("after that", 0, "approval_consumed", "was used by run");
    }

    /// A clock that was ahead once has shown the end of an approval; setting it back does not bring it to life.
    fn check_clock(&self) {
        let _ = self.use_once();
        self.refuses("the clock set back", -3600, "approval_consumed", "was used by run");
        self.scene.approve(self.stage);
        self.refuses("a day later", 86_400, "approval_expired", "");
        self.refuses("the clock set back from there", 0, "approval_expired", "");
        self.refuses("the clock set back further", -3600, "approval_expired", "");
        self.check_way_on();
    }

    /// A request that has lapsed does not stand before a newer one, though it was approved and that is not.
    fn check_lapsed(&self) {
        self.scene.approve(self.stage);
        let later = 9 * 3600;
        let request = || {
            let mut command = self.scene.world.command(self.scene.words("request", self.stage));
            let output = command.env("CTO_CLOCK_OFFSET", later.to_string()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            serde_json::from_slice::<Value>(&output.stdout).unwrap()["request"].as_str().unwrap().to_owned()
        };
        let name = request();
        self.refuses("requested anew", later, "approval_missing", &format!("{name} is requested and not granted"));
        assert_eq!(request(), name, "asking twice is asking once");
    }

    /// A key that was lost an hour ago answers for no run, though the clock says that it is two hours ago.
    fn check_lost_key(&self) {
        let lost = self.scene.make_key("lost", &[]);
        let hour_ago = harness::RunClock::start_clock().unwrap().started().unix_seconds() - 3600;
        let since = contract::Stamp::from_unix(Duration::from_secs(hour_ago.try_into().unwrap())).unwrap().to_string();
        let _ = self.scene.world.cto(["trust", "key", "compromised", "lost", "--since", &since]).expect(0);
        let passed = self.scene.world.cto(["runs", "--status", "pass", "--limit", "1", "--json"]).expect(0).json();
        let run = passed["run_id"].as_str().unwrap();
        for (key, code) in [(lost, 3), (self.scene.key(), 0)] {
            let words = ["outcome", run, "accept", "--reason", "read", "--key", key.to_str().unwrap()];
            let output = self.scene.world.command(words).env("CTO_CLOCK_OFFSET", "-7200").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{said}");
            assert_eq!(said.contains("compromised"), code == 3, "{said}");
        }
    }

    /// The control: a request that is made since is another one, and its approval works.
    fn check_next(&self, request: &Value) {
        let next = self.scene.approve(self.stage);
        assert_ne!(next["request_digest"], request["request_digest"], "what is over is not offered again");
        assert_eq!(self.scene.run(self.stage, 0)["status"], "pass", "the control");
    }
}

/// As `cp -a` does.
fn copy(from: &Path, to: &Path) {
    let made = program("cp", Path::new("/")).arg("-a").args([from, to]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn in_a_disposable_repository() {
    let Some(second) = Second::new("targets::again::in_a_disposable_repository", "4", world()) else { return };
    second.check_all();
    second.check_ledger_time();
}

#[test]
fn in_a_target() {
    let Some(second) = Second::new("targets::again::in_a_target", "5", world()) else { return };
    second.check_all();
    let rollback = || {
        let _ = second.scene.world.cto(["rollback", "@", "--reason", "slower"]).expect(0);
    };
    let _ = second.use_once();
    rollback();
    second.refuses("a rollback in between", 0, "approval_consumed", "was used by run");
    let request = second.use_once();
    rollback();
    second.restore_ledger();
    second.refuses("a rollback and an older ledger", 0, "ledger_continuity_unknown", "restored from a backup");
    second.vouch();
    second.refuses("a rollback and an older ledger, vouched for", 0, "approval_consumed", &second.mark(&request));
    second.check_ledger_time();
}

#[test]
fn with_the_clock_set_back() {
    let test = "targets::again::with_the_clock_set_back";
    let Some(binary) = stoppable(test) else { return };
    for stage in ["4", "5"] {
        let world = World::new(binary.to_str().unwrap());
        let Some(second) = Second::new(test, stage, world) else { return };
        second.check_clock();
        let _ = second.scene.world.cto(["ledger", "verify"]).expect(0);
        second.check_lapsed();
        if stage == "5" {
            second.check_lost_key();
        }
    }
}

/// One word of a person while a run gets ready; `packet` says nothing.
fn take_back(scene: &Scene, command: &str, request: &str) {
    let since = "2026-01-01T00:00:00Z";
    let words: &[&str] = match command {
        "trust" => &["trust", "key", "compromised", "ada", "--since", since, "--reason", "lost"],
        "packet" => &["packet", request],
        "policy" => return scene.world.write_own("trust/approval-policy.yaml", "max_ttl: 3600\n"),
        "the home's mark" => return mark_used(scene),
        "an older ledger" => return forget_entry(scene),
        _ => &[command, request, "--reason", "not today"],
    };
    let _ = scene.world.cto(words.iter().copied()).expect(0);
}

/// The mark that another run leaves when it uses the approval, whose use the ledger does not know.
fn mark_used(scene: &Scene) {
    let ledger = Ledger::open_existing_read_only(&scene.world.home().join("ledger.db")).unwrap();
    let request = ledger.requests_recent(None, 1).unwrap().remove(0).request;
    fs::create_dir_all(scene.world.home().join("used")).unwrap();
    scene.world.write_own(&format!("used/{request}"), "another run\n");
}

/// The home remembers an entry that this ledger does not have.
fn forget_entry(scene: &Scene) {
    const HASH: &str = "\"hash\":\"";
    let mut text = fs::read_to_string(scene.world.home().join("trust/continuity.json")).unwrap();
    let places: Vec<usize> = text.match_indices(HASH).map(|(at, _)| at + HASH.len()).collect();
    assert!(!places.is_empty(), "{text}");
    places.into_iter().for_each(|at| text.replace_range(at..at + 16, "0000000000000000"));
    scene.world.write_own("trust/continuity.json", text);
}

/// The transaction that starts the engine looks once more at what people took back while the run got ready.
#[test]
fn what_is_said_before_the_start_counts() {
    let test = "targets::again::what_is_said_before_the_start_counts";
    let said = [
        ("revoke", "approval_revoked"),
        ("hold", "approval_held"),
        ("trust", "approval_missing"),
        ("policy", "approval_mismatch"),
        ("packet", ""),
    ];
    check_before_start(test, "4", &said);
}

/// The same in a target: its own mark is made only with the commit.
#[test]
fn what_is_found_before_the_start_counts() {
    let test = "targets::again::what_is_found_before_the_start_counts";
    let found =
        [("the home's mark", "approval_consumed"), ("an older ledger", "ledger_continuity_unknown"), ("packet", "")];
    check_before_start(test, "5", &found);
}

fn check_before_start(test: &str, stage: &str, said: &[(&str, &str)]) {
    for (command, reason) in said {
        let slow = [("verification_commands", "[[sleep, \"4\"]]")];
        let Some(scene) = Scene::with(test, world(), |target| target.to_owned(), &slow) else { return };
        let request = scene.approve(stage);
        let name = request["request"].as_str().unwrap();
        let child = scene.world.start(scene.words("run", stage));
        let traces = || {
            let active = fs::read_dir(scene.world.home().join("active")).into_iter().flatten().flatten();
            let texts = active.filter_map(|run| fs::read_to_string(run.path().join("trace.jsonl")).ok());
            texts.collect::<String>()
        };
        wait_for("the look for the approval", || traces().contains("approval.found").then_some(()));
        take_back(&scene, command, name);
        assert!(!traces().contains("approval.used"), "{command}: it was said in time");
        let ran = World::finish(child);
        let report = ran.json();
        assert_eq!(
            (ran.code, reasons(&report).as_str()),
            (if reason.is_empty() { 0 } else { 3 }, *reason),
            "{command}"
        );
        assert_eq!(report["engine"]["process_started"], reason.is_empty(), "{command}");
        assert!(
            !scene.world.home().join("used").join(request["request_digest"].as_str().unwrap()).exists()
                || reason.is_empty()
                || *command == "the home's mark"
        );
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    }
}

/// A run that fails leaves nothing in the target, not even a mark: the home's own says that its approval is spent.
#[test]
fn a_run_that_landed_nothing_has_used_its_approval_too() {
    let test = "targets::again::a_run_that_landed_nothing_has_used_its_approval_too";
    let Some(second) = Second::new(test, "5", world()) else { return };
    let case = fs::read_to_string(second.scene.world.here().join("made/case.yaml")).unwrap();
    second.scene.world.write("made/case.yaml", case.replace("path: a.txt", "path: c.txt"));
    let request = second.scene.approve("5");
    copy(&second.scene.world.home(), &second.backup);
    assert_eq!(reasons(&second.scene.run("5", 1)), "disallowed_file_change");
    assert_eq!(second.scene.git(&["for-each-ref", "refs/cto"]), "", "nothing of it is in the target");
    second.refuses("nothing in between", 0, "approval_consumed", "was used by run");
    second.restore_ledger();
    second.vouch();
    let mark = format!("the mark used/{}", request["request_digest"].as_str().unwrap());
    second.refuses("an older ledger that the operator vouches for", 0, "approval_consumed", &mark);
    second.scene.world.write("made/case.yaml", case);
    second.check_next(&request);
}
