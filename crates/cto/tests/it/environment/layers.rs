//! Setup layers below other files: a layer only adds files to a tree, is older than all of them, and never gets in the way of the patch.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::{Who, World};

use super::{Ended, write_case};

/// Shell commands of setup and engine, and the exam, which must pass.
struct Row {
    name: &'static str,
    setup: &'static str,
    engine: &'static str,
    exam: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        name: "adds",
        setup: "mkdir lib && echo made > lib/made",
        engine: "cat lib/made > a.txt",
        exam: "test \"$(cat a.txt lib/made)\" = \"made\nmade\"",
    },
    Row {
        name: "covers-a-file",
        setup: "echo set up > a.txt",
        engine: "cp a.txt seen && echo two > a.txt && rm seen",
        exam: "test \"$(cat a.txt)\" = two",
    },
    Row {
        name: "removes-a-file",
        setup: "rm a.txt",
        engine: "grep -qx one a.txt && echo two > a.txt",
        exam: "test \"$(cat a.txt)\" = two",
    },
    Row {
        name: "makes-a-folder-anew",
        setup: "rm -r d && mkdir d && echo set up > d/new",
        engine: "grep -qx kept d/kept && echo two > a.txt",
        exam: "test \"$(cat d/kept d/new)\" = \"kept\nset up\"",
    },
    Row {
        name: "puts-a-folder-in-place-of-a-file",
        setup: "rm a.txt && mkdir a.txt && echo x > a.txt/x",
        engine: "echo two > a.txt",
        exam: "test \"$(cat a.txt)\" = two",
    },
    Row {
        name: "changes-the-repository",
        setup: "git config core.hooksPath .githooks; mkdir -p .git/hooks && echo x > .git/hooks/pre-push",
        engine: "test -z \"$(git config core.hooksPath)\" && test ! -e .git/hooks/pre-push && echo two > a.txt",
        exam: "test ! -e .git && test \"$(cat a.txt)\" = two",
    },
    Row {
        name: "compiles",
        setup: "cp a.txt product && mkdir out && cp a.txt out/product",
        engine: "echo two > a.txt",
        // What make and cargo ask: is the source newer.
        exam: "test a.txt -nt product && test a.txt -nt out/product && test d/kept -nt product",
    },
    Row {
        name: "locks-what-it-made",
        setup: "mkdir -p cache/deep && echo x > cache/deep/x && chmod -R a-w cache",
        engine: "if echo y > cache/deep/y; then exit 1; fi; echo two > a.txt",
        exam: "cat cache/deep/x",
    },
];

fn run(world: &World, row: &Row, seconds: u64, more: &[(&str, Value)]) -> Ended {
    let keys = [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["sh", "-c", row.exam]]))];
    let environment = json!({"setup": [{"argv": ["sh", "-c", row.setup], "timeout_seconds": seconds}]});
    let steps = json!([{"run": {"argv": ["sh", "-c", row.engine]}}]);
    let case =
        write_case(world, row.name, &[&keys[..], more].concat(), &steps, &format!("environment: {environment}\n"));
    world.write(&format!("{}/files/d/kept", row.name), "kept\n");
    world.give();
    Ended::of(world, &case, None)
}

#[test]
fn a_layer_is_never_in_the_way_of_the_patch() {
    for who in Who::all("environment::layers") {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
        for row in ROWS {
            for cached in [false, true] {
                let ended = run(&world, row, 60, &[]).expect("pass", &[]);
                assert_eq!(ended.setup()[0]["cached"], cached, "{} as {who:?}: {}", row.name, ended.told());
                assert_eq!(ended.report["changed_files"], json!(["a.txt"]), "{} as {who:?}", row.name);
            }
        }
    }
}

/// Two checks and their controls stand on the layer of the patched tree; it is reported once, with its origin.
#[test]
fn a_layer_of_the_patched_tree_is_told_of_once() {
    let world = crate::world();
    let exam = |word: &str| json!(["sh", "-c", format!("grep -qx {word} lock made")]);
    let keys = [("allowed_paths", json!(["lock"])), ("verification_commands", json!([exam("two"), exam("two")]))];
    let environment = json!({"setup": [{"argv": ["cp", "lock", "made"]}], "setup_inputs": ["lock"]});
    let steps = json!([{"write": {"path": "lock", "text": "two\n"}}]);
    let case = write_case(&world, "locked", &keys, &steps, &format!("environment: {environment}\n"));
    world.write("locked/files/lock", "one\n");
    for cached in [false, true] {
        let ended = Ended::of(&world, &case, None).expect("pass", &[]);
        let [baseline, patched] = ended.setup().as_slice() else { panic!("{}", ended.told()) };
        assert_ne!(baseline["key"], patched["key"]);
        // What bytes of a patch made is gone with its run.
        assert_eq!((&baseline["cached"], &patched["cached"]), (&json!(cached), &json!(false)), "{}", ended.told());
    }
}

/// A link that setup makes on the baseline too stays on a judged tree, also where the exam set protects its name; one that leads
/// elsewhere than the baseline's does not.
#[test]
fn a_link_that_the_baseline_has_stays() {
    let world = crate::world();
    for (name, setup, status, reasons) in [
        ("same-link", "ln -s d node_modules", "pass", &[][..]),
        ("other-link", "ln -s \"$(cat lock)\" node_modules", "fail", &["verification_failed"]),
    ] {
        let exam = json!([["sh", "-c", "test -e node_modules/kept"]]);
        let keys = [("allowed_paths", json!(["lock"])), ("verification_commands", exam)];
        let environment = json!({"setup": [["sh", "-c", setup]], "setup_inputs": ["lock"]});
        let steps = json!([{"write": {"path": "lock", "text": "e\n"}}]);
        let case = write_case(&world, name, &keys, &steps, &format!("environment: {environment}\n"));
        for (path, text) in [("package.json", "{}\n"), ("lock", "d\n"), ("d/kept", "kept\n"), ("e/kept", "kept\n")] {
            world.write(&format!("{name}/files/{path}"), text);
        }
        let ended = Ended::of(&world, &case, None).expect(status, reasons);
        let tells = ended.told().contains("setup made `node_modules`, which belongs to the exam");
        assert_eq!(tells, status == "fail", "{}", ended.told());
    }
}

/// A failed setup leaves nothing, even if it made folders that cannot be written to; the cause is reported.
#[test]
fn a_failed_setup_leaves_nothing_and_is_told() {
    for who in Who::all("environment::failed_setup") {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
        for (name, setup, seconds, exits, why) in [
            ("fails", "mkdir -p c/d && chmod -R a-w c && exit 7", 60, &[7][..], "ended with exit 7"),
            ("sleeps", "sleep 60", 1, &[124], "did not end within 1 s"),
            ("fills", "for n in 1 2; do head -c 99M /dev/zero > $n; done; sleep 50", 60, &[137], "(limits.disk_bytes)"),
        ] {
            let keys = [("limits", json!({"disk_bytes": 150 << 20}))];
            let row = Row { name, setup, engine: "true", exam: "true" };
            let ended = run(&world, &row, seconds, &keys).expect("blocked", &["environment_broken"]);
            assert!(ended.why().ends_with(why), "{name} as {who:?}: {}", ended.told());
            let exit = ended.setup()[0]["commands"][0]["exit"].as_i64().unwrap();
            assert!(exits.contains(&exit), "{name} as {who:?}: {}", ended.told());
            assert_eq!(fs::read_dir(world.home().join("cache/layers")).unwrap().count(), 0, "{name} as {who:?}");
        }
    }
}

fn mounted(world: &World, name: &str, source: &PathBuf) -> Ended {
    let keys = [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["cat", "/opt/given/x"]]))];
    let environment = json!({"mounts": [{"source": source, "target": "/opt/given"}]});
    let steps = json!([{"write": {"path": "a.txt", "text": "two\n"}}]);
    let case = write_case(world, name, &keys, &steps, &format!("environment: {environment}\n"));
    Ended::of(world, &case, None)
}

#[test]
fn a_mount_is_recorded_by_what_it_shows() {
    let world = crate::world();
    let folder = world.path().join("given");
    fs::create_dir(&folder).unwrap();
    let link = world.path().join("link");
    symlink(&folder, &link).unwrap();
    let digest = |content: &str, source: &PathBuf| -> Value {
        fs::write(folder.join("x"), content).unwrap();
        let ended = mounted(&world, "mount", source).expect("pass", &[]);
        assert!(ended.test_log.contains(content), "{}", ended.told());
        ended.environment["mounts"][0].clone()
    };
    let first = digest("first", &folder);
    assert_eq!((&first["files"], &first["bytes"]), (&json!(1), &json!(5)));
    assert_eq!(digest("first", &link), first, "a link to it is the same");
    assert_ne!(digest("other", &link)["tree_sha256"], first["tree_sha256"]);
}

#[test]
fn a_mount_that_cannot_be_read_is_told() {
    let world = World::of(env!("CARGO_BIN_EXE_cto"), Who::Ordinary);
    let folder = world.path().join("given");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("x"), "x").unwrap();
    world.give();
    fs::set_permissions(folder.join("x"), fs::Permissions::from_mode(0o000)).unwrap();
    let ended = mounted(&world, "mount", &folder).expect("blocked", &["environment_broken"]);
    assert!(ended.why().contains("Permission denied"), "{}", ended.told());
}
