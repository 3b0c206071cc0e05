//! A source repository that is copied is never an admitted target, by whatever name it is called; a draft admits nothing, and a clone is
//! a repository of its own.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Ran, World, each_row, git};

use super::FILES;
use crate::world;

/// A repository that is copied, and one that a record names.
struct Pair {
    source: PathBuf,
    target: PathBuf,
}

/// Name of a row, and what makes its pair of one repository.
type PairRow = (&'static str, fn(&World, &Path) -> Pair);

fn pair(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Pair {
    Pair { source: source.into(), target: target.into() }
}

/// A world with a workspace, a case, and the pair that `make` makes of one repository.
fn scene(make: fn(&World, &Path) -> Pair) -> (World, Pair) {
    let world = world();
    fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
    let _ = world.cto(["init", "."]).expect(0);
    let _ = world.case("made", &[("mutation_mode", "candidate-default")]);
    let pair = make(&world, &world.repository("target", FILES));
    (world, pair)
}

const RECORD: &str = "admissions/target/site.yaml";

/// Writes a record that says little: it is a target all the same.
fn write_record(world: &World, file: &str, status: &str, target: &Path) {
    let target = json!(target);
    world.write(file, format!("admission_status: {status}\ntarget_repository_path: {target}\nforbidden_paths: []\n"));
}

fn run(world: &World, stage: &str, source: &Path, environment: &[(&str, &str)]) -> Ran {
    let mut command = world.command(["run", "./made", "--json", "--stage", stage, "--repo", source.to_str().unwrap()]);
    World::finish(command.envs(environment.iter().copied()).stdout(std::process::Stdio::piped()).spawn().unwrap())
}

fn reasons(ran: &Ran) -> Value {
    ran.json()["blocker_reasons"].clone()
}

/// The command of a refusal, and the folder that it makes.
fn read_remedy(report: &Value) -> (String, String) {
    let remedy = report["blockers"][0]["remedy"].as_str().unwrap();
    let (command, rest) = remedy.split_once("     and --repo ").unwrap();
    (command.to_owned(), rest.split_once("; or ").unwrap().0.to_owned())
}

/// Refused before anything is copied; what the refusal says to type leads to a pass.
fn check_refused(world: &World, ran: Ran) {
    let report = ran.expect(3).json();
    assert_eq!(report["blocker_reasons"], json!(["gate_missing"]), "{:#}", report["blockers"]);
    assert_eq!((&report["engine"]["process_started"], &report["baseline_commit"]), (&json!(false), &Value::Null));
    let bundle = world.bundles().join(report["run_id"].as_str().unwrap());
    let decision = fs::read_to_string(bundle.join("eligibility-decision.json")).unwrap();
    let decision: Value = serde_json::from_str(&decision).unwrap();
    assert_eq!(decision["missing_gates"], json!(["target_admission"]));
    assert_eq!(decision["inputs"]["target"], Value::Null, "nothing was looked at");
    let _ = world.cto(["verify", "@"]).expect(0);
    let (command, clone) = read_remedy(&report);
    let pasted = world.program("sh").args(["-c", &command]).output().unwrap();
    assert!(pasted.status.success(), "{command}: {}", String::from_utf8_lossy(&pasted.stderr));
    let line = format!("'{}' run ./made --json --stage 3 --repo {clone}", world.binary().display());
    let passed = world.program("sh").args(["-c", &line]).output().unwrap();
    assert!(passed.status.success(), "{line}: {}", String::from_utf8_lossy(&passed.stdout));
}

/// Names of one repository.
const NAMES: &[PairRow] = &[
    ("itself", |_, it| pair(it, it)),
    ("another spelling", |_, it| pair(format!("{0}/../target//", it.display()), it)),
    ("a link to it", |world, it| pair(link(world, it), it)),
    ("its record names a link", |world, it| pair(it, link(world, it))),
    ("a folder above is a link", |world, it| {
        let above = world.user().join("above");
        symlink(world.path(), &above).unwrap();
        pair(it, above.join("target"))
    }),
    ("a work tree of it", |world, it| pair(linked_worktree(world, it), it)),
    ("its work tree is the target", |world, it| pair(it, linked_worktree(world, it))),
    ("two work trees of a bare repository", |world, it| {
        let bare = world.path().join("bare.git");
        git(it, ["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        pair(linked_worktree(world, &bare), bare)
    }),
    ("its record names its git directory", |_, it| pair(it, it.join(".git"))),
    ("a repository in a sub-folder of it", |_, it| {
        git(it, ["clone", "-q", ".", "part"]);
        pair(it.join("part"), it)
    }),
    ("its record names a sub-folder", |_, it| pair(it, it.join("deep"))),
    ("a name with spaces", |world, it| {
        let named = world.path().join("it's my site");
        fs::rename(it, &named).unwrap();
        pair(&named, &named)
    }),
];

fn link(world: &World, to: &Path) -> PathBuf {
    let link = world.path().join("link");
    symlink(to, &link).unwrap();
    link
}

fn linked_worktree(world: &World, of: &Path) -> PathBuf {
    let root = world.path().join("linked");
    git(of, ["worktree", "add", "-q", "--detach", root.to_str().unwrap()]);
    root
}

#[test]
fn an_admitted_target_is_copied_by_none_of_its_names() {
    each_row(NAMES.iter().copied(), |make| {
        let (world, Pair { source, target }) = scene(make);
        let _ = run(&world, "3", &source, &[]).expect(0);
        write_record(&world, RECORD, "not_admitted", &target);
        let _ = run(&world, "3", &source, &[]).expect(0);
        write_record(&world, RECORD, "admitted", &target);
        check_refused(&world, run(&world, "3", &source, &[]));
    });
}

#[test]
fn a_record_that_the_environment_names_counts_at_stages_3_and_4() {
    let (world, Pair { source, target }) = scene(|_, it| pair(it, it));
    let file = world.here().join("elsewhere.yaml");
    let named = [("CTO_HARNESS_CODEX_STAGE5_TARGET_ADMISSION_FILE", file.to_str().unwrap())];
    write_record(&world, "elsewhere.yaml", "admitted", &target);
    for (stage, without) in [("3", json!([])), ("4", json!(["approval_missing"]))] {
        assert_eq!(reasons(&run(&world, stage, &source, &[])), without, "control: nobody names the record");
        let refused = reasons(&run(&world, stage, &source, &named));
        assert!(refused.as_array().unwrap().contains(&json!("gate_missing")), "{stage}: {refused}");
    }
    let words = ["decide", "./made", "--stage", "4", "--json", "--repo", source.to_str().unwrap()];
    let decided = world.command(words).envs(named).output().unwrap();
    assert_eq!(decided.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&decided.stdout).contains("copies no admitted target"));
}

/// Repositories that are near a target, and none.
const NEIGHBOURS: &[PairRow] = &[
    ("a clone", |world, it| {
        let clone = world.path().join("clone");
        git(it, ["clone", "-q", ".", clone.to_str().unwrap()]);
        pair(clone, it)
    }),
    ("a folder whose name begins like it", |world, it| pair(world.repository("target-2", FILES), it)),
    ("a target in a sub-folder of the source", |world, it| {
        let files = [FILES, &[(".gitignore", "part/\n")]].concat();
        let outer = world.repository("outer", &files);
        git(it, ["clone", "-q", ".", outer.join("part").to_str().unwrap()]);
        pair(&outer, outer.join("part"))
    }),
    ("a target that is gone", |_, it| pair(it, it.with_file_name("gone"))),
];

#[test]
fn a_neighbour_of_a_target_is_copied() {
    each_row(NEIGHBOURS.iter().copied(), |make| {
        let (world, Pair { source, target }) = scene(make);
        write_record(&world, RECORD, "admitted", &target);
        let _ = run(&world, "3", &source, &[]).expect(0);
    });
}

#[test]
fn a_record_that_cannot_be_read_could_be_for_the_source() {
    let (world, Pair { source, .. }) = scene(|_, it| pair(it, it));
    world.write("admissions/target/broken.json", "{");
    let report = run(&world, "3", &source, &[]).expect(3).json();
    assert_eq!(report["blocker_reasons"], json!(["target_not_admitted"]), "{:#}", report["blockers"]);
    assert_eq!(report["baseline_commit"], Value::Null, "nothing was copied");
    let remedy = report["blockers"][0]["remedy"].as_str().unwrap();
    let file = remedy.strip_prefix("cto record check ").unwrap();
    let checked = world.cto(["record", "check", file]).expect(1);
    assert!(checked.text().contains("not valid JSON"), "{}", checked.text());
}
