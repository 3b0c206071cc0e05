//! `cto export` and `cto import`: a run on another machine is the run it was, and nothing else gets in.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

pub(crate) mod craft;
mod hostile;
mod said;

use std::fs;
use std::path::{Path, PathBuf};

use evidence::HarnessKey;
use serde_json::{Value, json};
use testkit::{Forger, World, content_digest, copy_bundle, git, stoppable};

use crate::world;

/// Exports a run and gives the archive.
fn export(world: &World, run: &str, name: &str) -> PathBuf {
    let to = world.path().join(name);
    let _ = world.cto(["export", run, "-o", to.to_str().unwrap()]).expect(0);
    to
}

fn key(world: &World) -> String {
    world.home().join("keys/harness.pub").display().to_string()
}

fn import<'a>(archive: &'a Path, key: &'a str) -> [&'a str; 4] {
    ["import", archive.to_str().unwrap(), "--key", key]
}

fn run_id(report: &Value) -> &str {
    report["run_id"].as_str().unwrap()
}

#[test]
fn a_run_goes_to_another_home_and_is_the_same_there() {
    let (here, there) = (world(), world());
    let ran = here.cto(["run", "shell-script-rotate-logs"]).expect(0);
    let (report, bundle) = {
        let report = here.cto(["show", "@", "--json"]).expect(0).json();
        let bundle = here.bundles().join(run_id(&report));
        (report, bundle)
    };
    let _ = here.cto(["reverify", "@"]).expect(0);
    let (archive, key) = (export(&here, "@", "first.tar.zst"), key(&here));

    let taken = there.cto(import(&archive, &key).iter().chain(&["--json"])).expect(0).json();
    assert_eq!(
        (&taken["run_id"], &taken["status"], &taken["statements"]),
        (&report["run_id"], &json!("pass"), &json!(1))
    );
    assert_eq!(taken["was_here"], false);
    let arrived = PathBuf::from(taken["bundle"].as_str().unwrap());
    assert_eq!(content_digest(&arrived.join("report.json"), &[]), content_digest(&bundle.join("report.json"), &[]));

    // By id, by its last part and by a beginning of either.
    let id = run_id(&report);
    let suffix = id.rsplit('-').next().unwrap();
    for name in [id, &id[..20], suffix, &suffix[..3]] {
        let _ = there.cto(["verify", name]).expect(0);
    }
    assert_eq!(there.cto(["show", id, "--json"]).expect(0).json(), report);
    assert_eq!(there.cto(["replay", suffix]).expect(0).stdout, ran.stdout);
    assert_eq!(there.cto(["reverify", suffix, "--json"]).expect(0).json()["holds"], true);
    let runs = there.cto(["runs"]).expect(0).text();
    assert_eq!(runs, "", "an imported run is not a run of this home");

    let again = there.cto(import(&archive, &key)).expect(0).text();
    assert!(again.starts_with(&format!("here {id} ")), "{again}");
    let ledger = there.cto(["ledger", "verify", "--json"]).expect(0).json();
    assert_eq!(ledger["entries"], 2, "imported once and reverified once");
}

#[test]
fn two_archives_of_a_run_are_the_same_bytes() {
    let (here, there) = (world(), world());
    let (report, bundle) = here.run("shell-script-rotate-logs", 0);
    let first = export(&here, "@", "first.tar.zst");
    // Times and modes of the files are nothing that is handed over.
    for file in fs::read_dir(&bundle).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let mut mode = file.metadata().unwrap().permissions();
        mode.set_readonly(true);
        fs::set_permissions(file.path(), mode).unwrap();
    }
    let second = export(&here, run_id(&report), "second.tar.zst");
    assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
    let _ = there.cto(import(&first, &key(&here))).expect(0);
    let third = export(&there, run_id(&report), "third.tar.zst");
    assert_eq!(fs::read(&first).unwrap(), fs::read(&third).unwrap(), "also from where it was imported");
    let named = here.cto(["export", "@", "--json"]).expect(0).json();
    assert_eq!(named["path"], format!("{}.cto.tar.zst", run_id(&report)));
    assert_eq!(fs::read(here.here().join(named["path"].as_str().unwrap())).unwrap(), fs::read(&first).unwrap());
}

/// A reader without cto unpacks it with tar and checks it with standard tools.
#[test]
fn any_tar_unpacks_a_bundle_that_verifies() {
    let world = world();
    let _ = world.run("fail-critical-risk", 3);
    let archive = export(&world, "@", "a.tar.zst");
    let out = world.here().join("out");
    tar::Archive::new(zstd::Decoder::new(fs::File::open(archive).unwrap()).unwrap()).unpack(&out).unwrap();
    let _ = world.cto(["verify".as_ref(), out.join("bundle").as_os_str()]).expect(0);
    assert_eq!(fs::read(out.join("harness.pub")).unwrap(), fs::read(key(&world)).unwrap());
}

/// A run on a repository, handed to somebody who does not have it.
#[test]
fn a_baseline_goes_along_and_is_the_one_that_was_signed() {
    let (here, there) = (world(), world());
    let long = "d/".repeat(120) + "a.txt";
    let repository = here.repository("source", &[("a.txt", "one\n"), (&long, "deep\n")]);
    std::os::unix::fs::symlink("./a.txt//", repository.join("link")).unwrap();
    git(&repository, ["add", "--all"]);
    git(&repository, ["commit", "-q", "-m", "a link"]);
    let case = here.case("case", &[]);
    let _ = here.cto(["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap()]).expect(0);
    let bare = export(&here, "@", "bare.tar.zst");
    let with = |name: &str| {
        let to = here.path().join(name);
        let words = ["export", "@", "--with-baseline", "-o", to.to_str().unwrap(), "--json"];
        assert_eq!(here.cto(words).expect(0).json()["with_baseline"], true);
        to
    };
    let whole = with("whole.tar.zst");
    assert_eq!(fs::read(&whole).unwrap(), fs::read(with("again.tar.zst")).unwrap());
    fs::rename(&repository, here.path().join("gone")).unwrap();
    let refused = here.cto(["export", "@", "--with-baseline"]).expect(3);
    assert!(refused.stderr.contains("bring the repository back"), "{refused:?}");

    let key = key(&here);
    let without = World::new(env!("CARGO_BIN_EXE_cto"));
    let _ = without.cto(import(&bare, &key)).expect(0);
    let _ = without.cto(["reverify", "20"]).expect(3);
    let _ = there.cto(import(&whole, &key)).expect(0);
    assert_eq!(there.cto(["reverify", "20", "--json"]).expect(0).json()["holds"], true);
    // The copy can be handed on, repository or not.
    let on = there.path().join("on.tar.zst");
    let _ = there.cto(["export", "20", "--with-baseline", "-o", on.to_str().unwrap()]).expect(0);
    let kept = |archive: &Path| craft::unpack(archive)["baseline.tar"].clone();
    assert_eq!(kept(&on), kept(&whole));

    let mut files = craft::unpack(&whole);
    let other = kept(&whole);
    let at = other.windows(4).position(|bytes| bytes == b"one\n").unwrap();
    files.get_mut("baseline.tar").unwrap()[at] = b'0';
    let forged = here.path().join("forged.tar.zst");
    fs::write(&forged, craft::compress(&craft::tar_of(&files))).unwrap();
    let third = World::new(env!("CARGO_BIN_EXE_cto"));
    let ran = third.cto(import(&forged, &key)).expect(1);
    assert!(ran.stderr.contains("`baseline.tar` is another tree than the run began with"), "{ran:?}");
    assert!(!third.home().exists());
}

#[test]
fn an_unknown_signer_is_nobody() {
    let (here, there, third) = (world(), world(), world());
    let _ = here.run("fail-critical-risk", 3);
    let archive = export(&here, "@", "a.tar.zst");
    let ran = there.cto(["import", archive.to_str().unwrap()]).expect(1);
    assert!(ran.stderr.contains("signer") && ran.stderr.contains("--key FILE"), "{ran:?}");
    assert!(!there.home().exists(), "not even a home is left");
    // Somebody's key is not anybody's; and the one in the archive is nobody's.
    let _ = third.run("fail-critical-risk", 3);
    // SQLite's memory of its readers holds no entry.
    let state = || content_digest(&third.home(), &["ledger.db-shm"]);
    let before = state();
    let _ = third.cto(["import", archive.to_str().unwrap()]).expect(1);
    let _ = third.cto(import(&archive, &key(&third))).expect(1);
    assert_eq!(state(), before);
}

/// The same name and another content, by somebody who can sign.
#[test]
fn another_run_of_the_same_name_is_refused() {
    let (here, there) = (world(), world());
    let (_, bundle) = here.run("fail-critical-risk", 3);
    let archive = export(&here, "@", "a.tar.zst");
    let forged = craft::forged_twin(&here, &bundle);
    let forger = forged.key.to_str().unwrap();
    let _ = there.cto(import(&archive, &key(&here))).expect(0);
    // A reader of the ledger makes files beside it; its entries are compared by its head.
    let state = || (content_digest(&there.home().join("imported"), &[]), there.cto(["ledger", "verify"]).text());
    let before = state();
    let ran = there.cto(import(&forged.archive, forger)).expect(1);
    assert!(ran.stderr.contains("is here already, and it is another"), "{ran:?}");
    assert_eq!(state(), before);
    // Where it was made, too; also when its bundle is gone and only the ledger knows it.
    let ran = here.cto(import(&forged.archive, forger)).expect(1);
    assert!(ran.stderr.contains("the ledger has it with another attestation"), "{ran:?}");
    assert!(here.cto(import(&archive, &key(&here))).expect(0).text().starts_with("here "));
    fs::remove_dir_all(&bundle).unwrap();
    let _ = here.cto(import(&forged.archive, forger)).expect(1);
    let back = here.cto(import(&archive, &key(&here))).expect(0);
    assert!(back.text().starts_with("imported "), "{back:?}");
    let _ = here.cto(["verify", "@"]).expect(0);
}

/// Killed anywhere, an import is not there or there whole, and can be made again; what it left goes with the next collection.
#[test]
fn killed_at_every_place() {
    let Some(binary) = stoppable("archive::killed_at_every_place") else { return };
    let here = World::new(binary.to_str().unwrap());
    let _ = here.run("fail-critical-risk", 3);
    let words = ["export", "@", "-o", "a.tar.zst"];
    let killed = here.command(words).env("CTO_STOP_AT", "export.written").output().unwrap();
    assert_eq!((killed.status.code(), here.here().join("a.tar.zst").exists()), (None, false));
    let _ = here.cto(words).expect(0);
    let archive = here.here().join("a.tar.zst");
    for place in ["import.laid_out", "import.checked", "import.said", "import.placed"] {
        let there = World::new(binary.to_str().unwrap());
        let killed = there.command(import(&archive, &key(&here))).env("CTO_STOP_AT", place).output().unwrap();
        assert_eq!(killed.status.code(), None, "{place}: it is killed there: {killed:?}");
        let visible = there.cto(["show", "20"]).code == 0;
        assert_eq!(visible, place == "import.placed", "{place}");
        let _ = there.cto(import(&archive, &key(&here))).expect(0);
        let _ = there.cto(["gc"]).expect(0);
        let names = fs::read_dir(there.home().join("imported")).unwrap();
        assert_eq!(names.count(), 1, "{place}: one run, and nothing half-done");
        let _ = there.cto(["verify", "20"]).expect(0);
        let _ = there.cto(["ledger", "verify"]).expect(0);
    }
}

/// Makes the ledger know the bundle as it lies there now, as if it had been sealed like that.
fn seal_as_it_is(world: &World, bundle: &Path) {
    let digest = contract::Digest::of_bytes(&fs::read(bundle.join("attestation.dsse.json")).unwrap()).to_string();
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let run = bundle.file_name().unwrap().to_str().unwrap();
    ledger.execute("UPDATE runs SET attestation_sha256 = ?1 WHERE run_id = ?2", (&digest, run)).unwrap();
}

#[test]
fn what_cannot_be_exported_says_why() {
    let world = world();
    let (report, bundle) = world.run("fail-critical-risk", 3);
    let to = world.path().join("there.tar.zst");
    fs::write(&to, "something else").unwrap();
    let words = ["export", "@", "-o", to.to_str().unwrap()];
    let ran = world.cto(words).expect(2);
    assert!(ran.stderr.contains("exists already"), "{ran:?}");
    assert_eq!(fs::read(&to).unwrap(), b"something else");
    let nowhere = world.path().join("nowhere/a.tar.zst").display().to_string();
    let ran = world.cto(["export", "@", "-o", &nowhere]).expect(2);
    assert!(ran.stderr.contains(&format!("cannot write {nowhere}")), "{ran:?}");
    let _ = world.cto(["export", "nothing-of-that-name"]).expect(2);

    // A name that other systems may take for another one: signed, whole, and nothing an archive can carry.
    let home_key = HarnessKey::open_file(&world.home().join("keys/harness.pem")).unwrap();
    let keep = world.path().join("keep");
    copy_bundle(&bundle, &keep);
    for (name, why) in [("é.txt", "plain ASCII"), ("ENGINE-NOT-STARTED.TXT", "only in capital letters")] {
        let forger = Forger::new(&bundle, &home_key);
        let name = format!("backend/{name}");
        forger.write(&name, b"x");
        forger.report(|report| {
            report["artifact_paths"][&name] = json!(name);
            report["freshness"][&name] = report["freshness"]["patch.diff"].clone();
        });
        forger.sign(|_| {});
        seal_as_it_is(&world, &bundle);
        let ran = world.cto(["export", "@"]).expect(3);
        assert!(ran.stderr.contains(why) && ran.stderr.contains("as a directory"), "{name}: {ran:?}");
        fs::remove_dir_all(&bundle).unwrap();
        copy_bundle(&keep, &bundle);
        seal_as_it_is(&world, &bundle);
    }
    // What was stated about it by nobody knows whom.
    let statements = world.home().join("statements").join(run_id(&report));
    fs::create_dir_all(&statements).unwrap();
    fs::write(statements.join("made-up.dsse.json"), "{}").unwrap();
    let ran = world.cto(["export", "@"]).expect(1);
    assert!(ran.stderr.contains("made-up.dsse.json"), "{ran:?}");
    fs::remove_dir_all(&statements).unwrap();

    fs::write(bundle.join("patch.diff"), "x").unwrap();
    let ran = world.cto(["export", "@"]).expect(1);
    assert!(ran.stderr.contains("does not verify: patch.diff digest"), "{ran:?}");
    let left: Vec<_> = fs::read_dir(world.here()).unwrap().collect();
    assert!(left.is_empty(), "nothing half-written is left: {left:?}");
}
