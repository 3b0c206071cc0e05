//! A run that is stopped dead, or whose disk is full, before and after each of its effects: whatever happened, every run that
//! started has a bundle that verifies, nothing is left lying about, and the next run works.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{World, left_running, skip, stoppable};

mod migrated;

/// A run that passes every place and takes no longer than it must.
const QUICK: &[(&str, &str)] = &[("verification_commands", "[[\"true\"]]")];

/// The places a run passes, in order.
fn places(world: &World, case: &Path) -> Vec<String> {
    let list = world.path().join("places");
    let output = world.command(["run".as_ref(), case.as_os_str()]).env("CTO_STOP_LIST", &list).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let places: Vec<String> = fs::read_to_string(list).unwrap().lines().map(str::to_owned).collect();
    assert!(places.len() >= 30, "{places:?}");
    assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), places.len(), "each has a name of its own");
    places
}

fn names_in(home: &Path, folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(home.join(folder)).expect("a folder");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn rows(world: &World) -> Vec<Value> {
    let rows = world.cto(["runs", "--json", "--limit", "1000"]).expect(0).text();
    rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Checks the state after any stop and a recovery.
fn check(world: &World, place: &str) -> BTreeSet<String> {
    let _ = world.cto(["recover"]).expect(0);
    let rows = rows(world);
    let ids: BTreeSet<String> = rows.iter().map(|row| row["run_id"].as_str().unwrap().to_owned()).collect();
    assert!(rows.iter().all(|row| row["status"] != "running"), "{place}: every run is over");
    assert_eq!(names_in(&world.home(), "harness-runs"), ids, "{place}: one bundle for each run of the ledger");
    for folder in ["active", "work", "reserve"] {
        assert_eq!(names_in(&world.home(), folder), BTreeSet::new(), "{place}: {folder}/ is empty");
    }
    let left: Vec<String> = ids.iter().flat_map(|run| left_running(run)).collect();
    assert_eq!(left, Vec::<String>::new(), "{place}: no process is left");
    ids
}

#[test]
fn killed_at_every_place() {
    let Some(binary) = stoppable("stops::killed_at_every_place") else { return };
    let world = World::new(binary.to_str().unwrap());
    let case = world.case("case", QUICK);
    let mut known = BTreeSet::new();
    for place in places(&world, &case) {
        let output = world.command(["run".as_ref(), case.as_os_str()]).env("CTO_STOP_AT", &place).output().unwrap();
        assert_eq!(output.status.code(), None, "{place}: it is killed there: {output:?}");
        let ids = check(&world, &place);
        let new: Vec<&String> = ids.difference(&known).collect();
        let verified = world.cto(["verify"].into_iter().chain(new.iter().map(|id| id.as_str())));
        assert!(new.is_empty() || verified.code == 0, "{place}: {}{}", verified.text(), verified.stderr);
        let intended = !["run.claimed", "run.reserved"].contains(&place.as_str());
        assert!(!intended || !new.is_empty(), "{place}: a run that was intended is accounted for");
        known = ids;
    }
    let _ = world.cto(["run".as_ref(), case.as_os_str()]).expect(0);
    let ids = check(&world, "the next run");
    let _ = world.cto(["verify"].into_iter().chain(ids.iter().map(String::as_str))).expect(0);
    let doctor = world.cto(["doctor"]).expect(0).text();
    assert!(doctor.contains("chain holds"), "{doctor}");
}

/// In a mount namespace of its own, with a home of a few megabytes that is filled to the last byte at the place.
const FULL: &str = r#"
set -u
mount -t tmpfs -o size=24m,mode=700 none "$CTO_HOME" || exit 90
"$CTO" run "$CASE" >/dev/null 2>&1 || exit 91
CTO_STOP_AT="$PLACE" CTO_STOP_DO="fill:$CTO_HOME" "$CTO" run "$CASE" > "$OUT/run.out" 2> "$OUT/run.err"
echo $? > "$OUT/run.code"
rm -f "$CTO_HOME/filler"
"$CTO" recover > "$OUT/recover.out" 2>&1 || { cat "$OUT/recover.out"; exit 92; }
"$CTO" runs --status running --json > "$OUT/running"
test -s "$OUT/running" && exit 93
for run in "$CTO_HOME"/harness-runs/*; do "$CTO" verify "$run" > "$OUT/verify.out" 2>&1 || { cat "$OUT/verify.out"; exit 94; }; done
test "$(ls "$CTO_HOME/harness-runs" | wc -l)" = "$("$CTO" runs --json | wc -l)" || exit 95
test -z "$(ls "$CTO_HOME/active" "$CTO_HOME/reserve" 2>/dev/null | grep -v :$ | grep .)" || exit 96
"$CTO" doctor | grep -q "chain holds" || exit 97
"$CTO" run "$CASE" >/dev/null 2>&1 || exit 98
"#;

#[test]
fn a_full_disk_at_every_place() {
    const TEST: &str = "stops::a_full_disk_at_every_place";
    let Some(binary) = stoppable(TEST) else { return };
    if !rustix::process::geteuid().is_root() {
        return skip(TEST, "only root may mount a small file system");
    }
    let world = World::new(binary.to_str().unwrap());
    let case = world.case("case", QUICK);
    let (mut failed, mut felt) = (Vec::new(), 0);
    for place in places(&world, &case) {
        let out = world.path().join("out").join(&place);
        fs::create_dir_all(&out).unwrap();
        let mut command = world.program("unshare");
        command.args(["--mount", "--", "sh", "-c", FULL]);
        command.env("CTO", world.binary()).env("CASE", &case).env("PLACE", &place).env("OUT", &out);
        let output = command.output().unwrap();
        let said = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
        if !output.status.success() {
            failed.push(format!(
                "{place}: {:?}\n{}{}\nrun: {} {}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr),
                said("run.code"),
                said("run.err")
            ));
        }
        felt += usize::from(said("run.code").trim() != "0");
        assert!(!said("run.err").contains("panicked"), "{place}: {}", said("run.err"));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(felt >= 20, "control: a full disk is felt at most places: {felt}");
}

/// A library of this folder that changes what the system does, built by the compiler that Rust itself links with.
fn preload(world: &World, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/stops/{name}.c"));
    let library = world.path().join(format!("{name}.so"));
    let mut command = testkit::program("cc", world.path());
    let output =
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).args(["-ldl"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// By its name and its folder: a space in LD_PRELOAD begins another library.
fn load<'a>(command: &'a mut Command, library: &Path) -> &'a mut Command {
    command.env("LD_PRELOAD", library.file_name().unwrap()).env("LD_LIBRARY_PATH", library.parent().unwrap())
}

/// Everything a run writes and flushes below its home fails once, and from some point on for good.
#[test]
fn a_broken_disk_at_every_write() {
    let world = crate::world();
    let (case, library) = (world.case("case", QUICK), preload(&world, "eio"));
    let run = |at: u64, stays: bool| {
        let mut command = world.command(["run".as_ref(), case.as_os_str()]);
        load(&mut command, &library).env("EIO_BELOW", world.home()).env("EIO_AT", at.to_string());
        command.env("EIO_COUNT", world.path().join("count"));
        if stays {
            command.env("EIO_STAYS", "1");
        }
        command.output().unwrap()
    };
    let _ = world.cto(["run".as_ref(), case.as_os_str()]).expect(0);
    assert!(run(0, false).status.success(), "control: it only counts");
    let writes: u64 = fs::read_to_string(world.path().join("count")).unwrap().trim().parse().unwrap();
    assert!(writes > 50, "{writes}");
    let step = if testkit::times("CTO_TEST_WRITES", 0) > 0 { 1 } else { 7 };
    let mut felt = 0;
    for at in (1..=writes).step_by(step) {
        for stays in [false, true] {
            let output = run(at, stays);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains("panicked"), "write {at}: {said}");
            felt += u64::from(!output.status.success());
            let place = format!("write {at} of {writes}, stays: {stays}: {said}");
            let ids = check(&world, &place);
            let last = ids.iter().next_back().unwrap();
            let verified = world.cto(["verify", last]);
            assert_eq!(verified.code, 0, "{place}: {}", verified.text());
        }
    }
    assert!(felt > 10, "control: it is felt: {felt}");
    let _ = world.cto(["run".as_ref(), case.as_os_str()]).expect(0);
    let ids = check(&world, "the next run");
    let _ = world.cto(["verify"].into_iter().chain(ids.iter().map(String::as_str))).expect(0);
}

/// Somebody sets the clock: while a run goes on, between its death and its recovery, and between runs.
#[test]
fn a_clock_that_jumps() {
    const DAY: i64 = 86_400;
    let Some(binary) = stoppable("stops::a_clock_that_jumps") else { return };
    let world = World::new(binary.to_str().unwrap());
    let (case, library) = (world.case("case", QUICK), preload(&world, "clock"));
    let at = |words: &[&str], shift: i64, jump: i64, place: Option<&str>| {
        let mut command = world.command(words);
        load(&mut command, &library).env("CLOCK_SHIFT", shift.to_string()).env("CLOCK_JUMP", jump.to_string());
        command.env("CLOCK_AFTER", "1");
        place.map(|place| command.env("CTO_STOP_AT", place));
        command.output().unwrap()
    };
    let run = ["run", case.to_str().unwrap(), "--json"];
    let started = |output: &std::process::Output| -> String {
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["run_started_at"].as_str().unwrap().to_owned()
    };
    let now = started(&at(&run, 0, 0, None));
    let tomorrow = started(&at(&run, DAY, 0, None));
    assert!(tomorrow[..10] > now[..10], "control: the clock is set: {now}, {tomorrow}");
    for (shift, jump) in [(0, -DAY), (0, DAY), (-DAY, 0), (DAY, -2 * DAY), (-DAY, 0)] {
        let what = format!("{shift} s off, then {jump} s more");
        let output = at(&run, shift, jump, None);
        assert!(output.status.success(), "{what}: {output:?}");
        for place in ["run.intended", "engine.collected", "seal.renamed"] {
            let killed = at(&run, shift, jump, Some(place));
            assert_eq!(killed.status.code(), None, "{what}: it is killed: {killed:?}");
            let recovered = at(&["recover"], -shift, -jump, None);
            assert!(recovered.status.success(), "{what}: {recovered:?}");
        }
    }
    let ids = check(&world, "after all jumps");
    let _ = world.cto(["verify"].into_iter().chain(ids.iter().map(String::as_str))).expect(0);
    let doctor = world.cto(["doctor"]).expect(0).text();
    assert!(doctor.contains("ledger entries, chain holds"), "{doctor}");
}
