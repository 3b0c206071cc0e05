//! Things of the host that lie where a sandbox has something of its own, and worlds whose paths hold spaces and umlauts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Who, World};

use super::{Ended, write_case};

const ODD: &str = "cto-test-ü b-";

/// A tool that finds its word by its own path, and one that has the path written into it when it is installed.
struct Tools {
    _folder: TempDir,
    own: PathBuf,
}

impl Tools {
    fn install(world: &World) -> Self {
        let folder = tempfile::Builder::new().prefix(ODD).tempdir_in("/tmp").unwrap();
        let own = folder.path().join("deep/tools");
        for below in ["bin", "share"] {
            fs::create_dir_all(own.join(below)).unwrap();
        }
        fs::write(own.join("share/word"), "the word\n").unwrap();
        for (name, place) in [("relative", "${0%/*}/..".to_owned()), ("absolute", own.display().to_string())] {
            let file = own.join("bin").join(name);
            fs::write(&file, format!("#!/bin/sh\ncat \"{place}/share/word\"\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        world.give_only(folder.path());
        Self { _folder: folder, own }
    }

    /// Text with the places of the tools in it.
    fn fill(&self, text: &str) -> String {
        let own = self.own.display().to_string();
        let above = self.own.parent().unwrap().display().to_string();
        let top = self.own.parent().unwrap().parent().unwrap().display().to_string();
        text.replace("{own}", &own).replace("{above}", &above).replace("{top}", &top)
    }
}

/// A mount of the tools, and an exam that must hold.
struct Row {
    name: &'static str,
    target: Option<&'static str>,
    path: &'static str,
    exam: &'static [&'static str],
    /// The place that is recorded.
    recorded: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        name: "without-a-target",
        target: None,
        path: "{own}/bin",
        exam: &["sh", "-c", "test \"$(command -v relative)\" = '/opt/cto{own}/bin/relative' && relative && absolute"],
        recorded: "/opt/cto{own}",
    },
    Row {
        name: "by-the-new-place",
        target: None,
        path: "/opt/cto{own}/bin",
        exam: &["sh", "-c", "relative && absolute && ! touch '{own}/new' && ! touch '/opt/cto{own}/new'"],
        recorded: "/opt/cto{own}",
    },
    Row {
        name: "by-the-whole-path",
        target: None,
        path: ".",
        exam: &["{own}/bin/absolute"],
        recorded: "/opt/cto{own}",
    },
    Row {
        name: "by-a-variable",
        target: None,
        path: ".",
        exam: &["sh", "-c", "\"$TOOLS/bin/absolute\""],
        recorded: "/opt/cto{own}",
    },
    // The folders above are the program's own, and stay where they are.
    Row {
        name: "not-to-be-moved",
        target: None,
        path: "{own}/bin",
        exam: &[
            "sh",
            "-c",
            "touch '{above}/beside' && ! mv '{above}' /tmp/a && ! mv '{top}' /tmp/b && ! rm -r '{top}'; absolute",
        ],
        recorded: "/opt/cto{own}",
    },
    Row {
        name: "with-a-target-in-tmp",
        target: Some("/tmp/else where/tools"),
        path: "/tmp/else where/tools/bin",
        exam: &["sh", "-c", "relative && ! absolute && touch /tmp/mine"],
        recorded: "/tmp/else where/tools",
    },
    Row {
        name: "with-its-own-path",
        target: Some("{own}"),
        path: "{own}/bin",
        exam: &["sh", "-c", "test \"$(command -v relative)\" = '{own}/bin/relative' && relative && absolute"],
        recorded: "{own}",
    },
    Row {
        name: "in-the-private-home",
        target: Some("/home/user/.cache/tools"),
        path: "/home/user/.cache/tools/bin",
        exam: &["sh", "-c", "relative && touch ~/.cache/mine ~/mine"],
        recorded: "/home/user/.cache/tools",
    },
    Row {
        name: "outside-of-all",
        target: Some("/my tools/ü"),
        path: "/my tools/ü/bin",
        exam: &["sh", "-c", "relative"],
        recorded: "/my tools/ü",
    },
];

fn run(world: &World, name: &str, environment: &Value, exam: &Value) -> Ended {
    let keys = [("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([exam]))];
    let steps = json!([{"write": {"path": "a.txt", "text": "two\n"}}]);
    let case = write_case(world, name, &keys, &steps, &format!("environment: {environment}\n"));
    world.give_only(&world.here());
    Ended::of(world, &case, None)
}

fn check(world: &World, tools: &Tools, row: &Row) {
    let mut mount = json!({"source": tools.own});
    if let Some(target) = row.target {
        mount["target"] = json!(tools.fill(target));
    }
    let environment =
        json!({"mounts": [mount], "path": [tools.fill(row.path)], "variables": {"TOOLS": tools.fill("{own}")}});
    let exam = row.exam.iter().map(|word| tools.fill(word)).collect::<Value>();
    let ended = run(world, row.name, &environment, &exam).expect("pass", &[]);
    assert_eq!(ended.environment["mounts"][0]["target"], tools.fill(row.recorded), "{}: {}", row.name, ended.told());
}

#[test]
fn a_mount_may_lie_in_a_temporary_folder() {
    for who in Who::all("environment::a_mount_may_lie_in_a_temporary_folder") {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
        let tools = Tools::install(&world);
        // The control: unmounted, the tool is not there.
        let exam = json!(["sh", "-c", tools.fill("! test -e '{own}' && ! test -e '/opt/cto{own}'")]);
        let _ = run(&world, "unmounted", &json!({}), &exam).expect("pass", &[]);
        for row in ROWS {
            check(&world, &tools, row);
        }
    }
}

/// Mounts that are refused before anything is looked at, and the sentence.
const REFUSED: &[(&str, &str, &str)] = &[
    ("all-of-tmp", r#"[{"source": "{own}", "target": "/tmp"}]"#, "has something of its own: /tmp"),
    ("above-the-home", r#"[{"source": "{own}", "target": "/home"}]"#, "has something of its own: /home/user"),
    ("over-a-decoy", r#"[{"source": "{own}", "target": "/home/user/.ssh"}]"#, "its own: /home/user/.ssh/id_ed25519"),
    ("in-the-tree", r#"[{"source": "{own}", "target": "/workspace/a"}]"#, "has something of its own: /workspace"),
    ("in-the-system", r#"[{"source": "{own}", "target": "/usr/local/a"}]"#, "has something of its own: /usr"),
    ("in-etc", r#"[{"source": "{own}", "target": "/etc/a"}]"#, "has something of its own: /etc"),
    ("not-plain", r#"[{"source": "{own}/../tools"}]"#, "needs absolute paths"),
    ("not-there", r#"[{"source": "{own}/nope"}]"#, "has a source that is not there"),
    ("the-whole-host", r#"[{"source": "/"}]"#, "has a source that no sandbox shows"),
    ("the-kernel", r#"[{"source": "/proc/self"}]"#, "has a source that no sandbox shows"),
    (
        "one-place-for-two",
        r#"[{"source": "{own}", "target": "/opt/a"}, {"source": "{own}/bin", "target": "/opt/a"}]"#,
        "has the same target as",
    ),
    (
        "in-another-mount",
        r#"[{"source": "{own}", "target": "/opt/a"}, {"source": "{own}/bin", "target": "/opt/a/nope"}]"#,
        "lies in the mount at `/opt/a`",
    ),
    (
        "named-elsewhere",
        r#"[{"source": "/etc/alternatives"}]"#,
        "names `/etc/alternatives`, which the sandbox shows elsewhere",
    ),
];

#[test]
fn a_mount_hides_nothing_of_the_sandboxs_own() {
    let world = crate::world();
    let tools = Tools::install(&world);
    let passing = json!({"mounts": [{"source": tools.own, "target": "/opt/a"}, {"source": "/etc/alternatives"}]});
    let _ = run(&world, "control", &passing, &json!(["ls", "/opt/cto/etc/alternatives"])).expect("pass", &[]);
    for (name, mounts, says) in REFUSED {
        let mounts: Value = serde_json::from_str(&tools.fill(mounts)).unwrap();
        let environment = json!({"mounts": mounts, "variables": {"PLACE": "/etc/alternatives/x"}});
        let case = write_case(
            &world,
            name,
            &[("allowed_paths", json!(["a.txt"])), ("verification_commands", json!([["true"]]))],
            &json!([{"write": {"path": "a.txt", "text": "two\n"}}]),
            &format!("environment: {environment}\n"),
        );
        let ran = world.cto(["run", "--json", case.to_str().unwrap()]).expect(3);
        let report = ran.json();
        assert_eq!(report["blocker_reasons"], json!(["sandbox_unavailable"]), "{name}: {}", ran.told());
        assert!(report["blockers"][0]["text"].as_str().unwrap().contains(says), "{name}: {}", ran.told());
        assert_eq!(report["baseline_commit"], Value::Null, "{name}: nothing was looked at");
    }
}

/// Home, repository, temporary folder and binary below a folder of this name, through all that a person does.
#[test]
fn a_world_may_lie_anywhere() {
    for prefix in [ODD, "cto-test 'q\" $x\\ "] {
        let world = World::named(env!("CARGO_BIN_EXE_cto"), prefix).with_own_binary();
        fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
        let repository = world.repository("the source", &[("a.txt", "one\n")]);
        let case = world.case("a case", &[]);
        let words = ["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap(), "--json"];
        let report = world.cto(words).expect(0).json();
        let run_id = report["run_id"].as_str().unwrap();
        let _ = world.cto(["verify", run_id]).expect(0);
        let taken = world.cto(["take", run_id, "--json"]).expect(0).json();
        assert!(taken.to_string().contains("cto/"), "{prefix}: {taken}");
        let archive = world.here().join("an archive.tar.zst");
        let _ = world.cto(["export", run_id, "--output", archive.to_str().unwrap()]).expect(0);
        assert!(archive.is_file() && Path::new(report["artifacts_dir"].as_str().unwrap()).is_dir(), "{prefix}");
    }
}
