//! SIGKILL at every place between a request and its outcome, and at any moment: an approval is used at most once, the target has
//! the whole commit or none of it, every run has a bundle that verifies, and recovery says which and how to go on.

mod people;

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Instant;

use contract::Digest;
use ledger::{EntryKind, Ledger};
use serde_json::{Value, json};
use testkit::{World, moment, stoppable, times, unfinished_git_files};

use super::{Scene, reasons};
use crate::world;

/// An exam that costs nothing: it is not what these tests are about.
const QUICK: &[(&str, &str)] = &[("verification_commands", "[[\"true\"]]")];

/// A scene of the binary with its stop points.
fn stoppable_scene(test: &str) -> Option<Scene> {
    let binary = stoppable(test)?;
    Scene::with(test, World::new(binary.to_str().unwrap()), |target| target.to_owned(), QUICK)
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// A scene in which commands are killed, and what must stay as it was.
struct Ordeal {
    scene: Scene,
    untouched: String,
    head: String,
    verified: BTreeSet<String>,
    /// The request that the next run rests on.
    request: Option<Value>,
}

impl Ordeal {
    fn of(scene: Scene) -> Self {
        let (untouched, head) = (scene.untouched(), scene.git(&["rev-parse", "HEAD"]));
        Self { scene, untouched, head, verified: BTreeSet::new(), request: None }
    }

    /// Digest of an approved request that no run has used.
    fn approved(&mut self) -> Digest {
        let digest = |request: &Value| request["request_digest"].as_str().unwrap().parse::<Digest>().unwrap();
        match self.request.as_ref().map(digest) {
            Some(request) if self.uses(request) == 0 => request,
            _ => digest(self.request.insert(self.scene.approve("5"))),
        }
    }

    fn uses(&self, request: Digest) -> usize {
        let ledger = Ledger::open_existing_read_only(&self.scene.world.home().join("ledger.db")).unwrap();
        let entries = ledger.request_entries(request).unwrap();
        entries.iter().filter(|entry| entry.is_kind(EntryKind::ApprovalUsed)).count()
    }

    /// The command, killed at a place.
    fn kill_at(&self, words: &[&str], place: &str) {
        let killed: Output = self.scene.world.command(words).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!(killed.status.code(), None, "{place}: it is killed there: {killed:?}");
    }

    /// The places that a command passes, in order.
    fn places(&self, words: &[&str]) -> Vec<String> {
        let list = self.scene.world.path().join("places");
        let _ = fs::remove_file(&list);
        let output = self.scene.world.command(words).env("CTO_STOP_LIST", &list).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let places: Vec<String> = fs::read_to_string(list).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(
            places.iter().collect::<BTreeSet<_>>().len(),
            places.len(),
            "each has a name of its own: {places:?}"
        );
        places
    }

    /// Recovers, checks all that must hold after any kill, and gives what recovery said.
    fn settle(&mut self, place: &str) -> Value {
        let scene = &self.scene;
        let recovered = scene.world.recover_killed();
        assert_eq!(recovered["failed"], json!([]), "{place}: {recovered}");
        for folder in ["active", "work", "reserve", "notes"] {
            assert_eq!(names_in(&scene.world.home().join(folder)), BTreeSet::new(), "{place}: {folder}/ is empty");
        }
        assert_eq!(scene.untouched(), self.untouched, "{place}: index, work tree and settings of the target");
        assert_eq!(unfinished_git_files(&scene.target.join(".git")), Vec::<String>::new(), "{place}");
        assert_eq!(scene.git(&["fsck", "--full", "--strict", "--no-dangling"]), "", "{place}");
        self.check_bundles(place);
        recovered
    }

    /// Every run of the ledger has a bundle that verifies, and every branch is the whole commit of one of them.
    fn check_bundles(&mut self, place: &str) {
        let scene = &self.scene;
        let rows = scene.world.cto(["runs", "--json", "--limit", "100000"]).expect(0).text();
        let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(rows.iter().all(|row| row["status"] != "running"), "{place}: every run is over");
        let ids: BTreeSet<String> = rows.iter().map(|row| row["run_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names_in(&scene.world.bundles()), ids, "{place}: one bundle for each run");
        let new: Vec<&str> = ids.difference(&self.verified).map(String::as_str).collect();
        let verified = scene.world.cto([&["verify"], new.as_slice()].concat());
        assert!(new.is_empty() || verified.code == 0, "{place}: {}{}", verified.text(), verified.stderr);
        let _ = scene.world.cto(["ledger", "verify"]).expect(0);
        let landed = new.iter().map(|id| self.report(id)).filter(|report| report["target_commit"] != Value::Null);
        for report in landed {
            let commit = report["target_commit"].as_str().unwrap();
            let shown = scene.git(&["show", "-s", "--format=%P %T", commit]);
            assert_eq!(shown, format!("{} {}", self.head, report["result_tree"].as_str().unwrap()), "{place}");
        }
        self.verified = ids;
    }

    fn report(&self, run: &str) -> Value {
        serde_json::from_slice(&fs::read(self.scene.world.bundles().join(run).join("report.json")).unwrap()).unwrap()
    }

    /// Branches are those of runs that passed, and no others.
    fn check_branches(&self, place: &str) {
        let reports = self.verified.iter().map(|id| self.report(id));
        let landed: BTreeSet<String> =
            reports.filter_map(|report| report["result_branch"].as_str().map(str::to_owned)).collect();
        assert_eq!(self.scene.branches().into_iter().collect::<BTreeSet<_>>(), landed, "{place}");
    }

    /// A run that was killed: used once or not at all; a second run finds it used, or uses it.
    fn settle_run(&mut self, request: Digest, place: &str) {
        let recovered = self.settle(place);
        self.check_branches(place);
        let uses = self.uses(request);
        assert!(uses <= 1, "{place}: used {uses} times");
        let is_told = |ended: &str, way_on: &str| {
            recovered[ended].as_array().unwrap().is_empty() || recovered.to_string().contains(way_on)
        };
        let way_on = is_told("sealed", "cto request") && is_told("recorded", "cto outcome");
        assert!(uses == 0 || way_on, "{place}: recovery says how to go on: {recovered:#}");
        if uses == 1 {
            let again = self.scene.run("5", 3);
            assert!(reasons(&again).starts_with("approval_consumed"), "{place}: {again:#}");
            assert_eq!(again["engine"]["process_started"], false, "{place}");
            assert_eq!(self.uses(request), 1, "{place}");
        }
    }

    /// After all kills an approval still works, once.
    fn end(mut self) {
        let request = self.approved();
        assert_eq!(self.scene.run("5", 0)["status"], "pass", "the control");
        let _ = self.settle("the control");
        self.check_branches("the control");
        assert_eq!(self.uses(request), 1);
    }
}

/// Kills a run at each of its places for which this holds.
fn kill_runs(test: &str, is_meant: fn(usize, usize) -> bool) {
    let Some(scene) = stoppable_scene(test) else { return };
    let mut ordeal = Ordeal::of(scene);
    let words = ordeal.scene.words("run", "5");
    let _ = ordeal.approved();
    let places = ordeal.places(&words);
    assert!(places.len() >= 35, "{places:?}");
    let used = places.iter().position(|place| place == "approval.used").unwrap();
    for (_, place) in places.iter().enumerate().filter(|(number, _)| is_meant(*number, used)) {
        let request = ordeal.approved();
        ordeal.kill_at(&words, place);
        ordeal.settle_run(request, place);
    }
    ordeal.end();
}

#[test]
fn before_the_use() {
    kill_runs("targets::killed::before_the_use", |number, used| number < used);
}

#[test]
fn from_the_use_to_the_ledger() {
    kill_runs("targets::killed::from_the_use_to_the_ledger", |number, used| number >= used);
}

/// Places of a landing, the words of recovery about it, and whether the change is in the target then.
const LANDINGS: &[(&str, &str, bool)] = &[
    ("engine.intended", "", false),
    ("landing.noted", "did not land", false),
    ("landing.objects", "did not land", false),
    ("landing.branch", "was undone", false),
    ("landing.looking", "was undone", false),
    ("run.completed", "was undone", false),
    ("seal.renamed", "was finished", true),
    ("ledger.telling", "was finished", true),
    ("ledger.landing", "was finished", true),
];

/// Each place of a landing, with the end that recovery gives it.
#[test]
fn recovery_says_what_became_of_a_landing() {
    let test = "targets::killed::recovery_says_what_became_of_a_landing";
    let Some(scene) = stoppable_scene(test) else { return };
    let mut ordeal = Ordeal::of(scene);
    let words = ordeal.scene.words("run", "5");
    for (place, landing, lands) in LANDINGS.iter().copied() {
        let (_, before) = (ordeal.approved(), ordeal.scene.branches().len());
        ordeal.kill_at(&words, place);
        let recovered = ordeal.settle(place);
        let said = recovered["landings"][0]["what"].as_str().unwrap_or_default();
        assert!(said.contains(landing) && said.is_empty() == landing.is_empty(), "{place}: {recovered:#}");
        assert_eq!(recovered["spent"].as_array().unwrap().len(), usize::from(landing.is_empty()), "{place}");
        assert_eq!(ordeal.scene.branches().len() - before, usize::from(lands), "{place}");
        let shown = ordeal.scene.world.cto(["show", "@", "--json"]).expect(0).json();
        assert_eq!(shown["status"], if lands { "pass" } else { "fail" }, "{place}");
        let id = shown["run_id"].as_str().unwrap().to_owned().try_into().unwrap();
        let ledger = Ledger::open_existing_read_only(&ordeal.scene.world.home().join("ledger.db")).unwrap();
        let told =
            ledger.run_entries(&id).unwrap().iter().filter(|entry| entry.is_kind(EntryKind::ChangeLanded)).count();
        assert_eq!(told, usize::from(lands), "{place}: the ledger knows of it, once");
    }
}

/// The same of a branch that was there and is moved: afterwards it names its old commit, or the new one on top of that.
#[test]
fn recovery_says_what_became_of_a_branch_that_was_moved() {
    let test = "targets::killed::recovery_says_what_became_of_a_branch_that_was_moved";
    let Some(binary) = stoppable(test) else { return };
    let current = [QUICK, &[("branch_policy", "current")]].concat();
    let Some(scene) = Scene::with(test, World::new(binary.to_str().unwrap()), super::bare, &current) else { return };
    let ordeal = Ordeal::of(scene);
    let (scene, head) = (&ordeal.scene, ordeal.head.clone());
    for (place, landing, lands) in LANDINGS.iter().copied() {
        let request = scene.approve("5");
        ordeal.kill_at(&scene.words("run", "5"), place);
        let recovered = scene.world.recover_killed();
        assert_eq!(recovered["failed"], json!([]), "{place}: {recovered}");
        let said = recovered["landings"][0]["what"].as_str().unwrap_or_default();
        assert!(said.contains(landing) && said.is_empty() == landing.is_empty(), "{place}: {recovered:#}");
        let parent = scene.git(&["rev-parse", if lands { "HEAD^" } else { "HEAD" }]);
        assert_eq!(parent, head, "{place}");
        assert_eq!(unfinished_git_files(&scene.target), Vec::<String>::new(), "{place}");
        assert_eq!(scene.git(&["fsck", "--full", "--strict", "--no-dangling"]), "", "{place}");
        let _ = scene.world.cto(["verify", "@"]).expect(0);
        assert_eq!(ordeal.uses(request["request_digest"].as_str().unwrap().parse().unwrap()), 1, "{place}");
        scene.git(&["update-ref", "HEAD", &head]);
    }
    scene.approve("5");
    let commit = scene.run("5", 0)["target_commit"].as_str().unwrap().to_owned();
    assert_eq!(scene.git(&["rev-parse", "HEAD"]), commit, "the control");
    let refused = scene.world.cto(["rollback", "@", "--reason", "slower"]).expect(3).stderr;
    assert!(refused.contains("it was there before the run") && refused.contains("revert --no-edit"), "{refused}");
    let _ = scene.world.cto(["rollback", "@", "--revert", "--reason", "slower"]).expect(0);
    assert_eq!((scene.git(&["show", "HEAD:a.txt"]), scene.git(&["rev-parse", "HEAD^"])), ("one".to_owned(), commit));
}

/// Kills a run at stage 4 at each of its places for which this holds. There a file of the home is the mark of a use: made right before
/// the ledger's entry, so that a kill between the two spends the approval, and never lets it be used twice.
fn kill_disposable(test: &str, is_meant: fn(usize, usize) -> bool) {
    let Some(scene) = stoppable_scene(test) else { return };
    let mut ordeal = Ordeal::of(scene);
    let words = ordeal.scene.words("run", "4");
    ordeal.scene.approve("4");
    let places = ordeal.places(&words);
    assert!(places.len() >= 30, "{places:?}");
    let marked = places.iter().position(|place| place == "approval.marked").unwrap();
    for (number, place) in places.iter().enumerate().filter(|(number, _)| is_meant(*number, marked)) {
        let request = ordeal.scene.approve("4");
        let digest: Digest = request["request_digest"].as_str().unwrap().parse().unwrap();
        ordeal.kill_at(&words, place);
        let recovered = ordeal.settle(place);
        assert_eq!(ordeal.uses(digest), usize::from(number > marked), "{place}");
        assert_eq!(ordeal.scene.branches(), Vec::<String>::new(), "{place}: no target is touched");
        if number < marked {
            assert_eq!(ordeal.scene.run("4", 0)["status"], "pass", "{place}: the control: nothing was spent");
            continue;
        }
        let is_sealed = !recovered["sealed"].as_array().unwrap().is_empty();
        assert!(!is_sealed || recovered.to_string().contains("cto request"), "{place}: a way on: {recovered:#}");
        let again = ordeal.scene.run("4", 3);
        assert_eq!(reasons(&again), "approval_consumed", "{place}: {again:#}");
        assert_eq!(
            (ordeal.uses(digest), &again["engine"]["process_started"]),
            (usize::from(number > marked), &json!(false))
        );
    }
    ordeal.scene.approve("4");
    assert_eq!(ordeal.scene.run("4", 0)["status"], "pass", "the control: after all kills an approval works");
}

#[test]
fn before_the_mark_of_a_disposable_repository() {
    kill_disposable("targets::killed::before_the_mark_of_a_disposable_repository", |number, marked| number < marked);
}

#[test]
fn from_the_mark_of_a_disposable_repository() {
    kill_disposable("targets::killed::from_the_mark_of_a_disposable_repository", |number, marked| number >= marked);
}

/// `CTO_TEST_APPROVAL_KILLS` says how often.
#[test]
fn at_any_moment() {
    /// Kills that one world is enough for: everything in it is looked at after each.
    const KILLS: u32 = 50;
    let (test, kills) = ("targets::killed::at_any_moment", times("CTO_TEST_APPROVAL_KILLS", 4));
    let mut spent = 0;
    for first in (0..kills).step_by(KILLS as usize) {
        // A plan names the program: it must stay the same for as long as this takes.
        let world = world().with_own_binary();
        let Some(scene) = Scene::with(test, world, |target| target.to_owned(), QUICK) else { return };
        spent += kill_at_random(Ordeal::of(scene), first..kills.min(first + KILLS));
        println!("{} of {kills} kills, {spent} of them after the use of the approval", kills.min(first + KILLS));
    }
}

/// Gives how many of the runs that were killed had used their approval.
fn kill_at_random(mut ordeal: Ordeal, rounds: Range<u32>) -> usize {
    let words = ordeal.scene.words("run", "5");
    let _ = ordeal.approved();
    let began = Instant::now();
    assert_eq!(ordeal.scene.run("5", 0)["status"], "pass");
    let (usual, mut spent) = (began.elapsed(), 0);
    for round in rounds {
        let request = ordeal.approved();
        let mut child = ordeal.scene.world.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let delay = moment(usual);
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        ordeal.settle_run(request, &format!("round {round}, after {delay:?} of {usual:?}"));
        spent += ordeal.uses(request);
    }
    ordeal.end();
    spent
}
