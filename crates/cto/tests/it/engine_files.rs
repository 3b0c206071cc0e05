//! Files that a hostile engine, check or setup leaves for the harness to read, walk and remove: links to the host, pipes, directories
//! that are too deep or that nobody may enter. As root and as an ordinary user.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::{Who, World, program, work_areas};

const SECRET: &str = "hunted-secret";

/// One thing to leave behind. `HOST` in a script stands for a folder of the host, `DEPTH` for a number of directories.
struct Row {
    name: &'static str,
    engine: &'static str,
    check: &'static str,
    setup: &'static str,
    exit: i32,
    reason: Option<&'static str>,
    /// Files of the engine's state that are named as left out, and why.
    left_out: &'static [(&'static str, &'static str)],
}

const PLAIN: Row = Row { name: "", engine: "true", check: "true", setup: "", exit: 0, reason: None, left_out: &[] };

const STATE: &str = "cd /run/cto/state; ln -s HOST/secret link; ln -s HOST folder; ln -s /proc/self/environ proc; \
    ln -s /dev/zero zero; ln -s /nonexistent dangling; mkfifo pipe; ln -s pipe to-pipe; mkdir -p d; ln -s HOST d/deeper; \
    echo own > own";

const DIG: &str = "python3 -c 'import os\nfor _ in range(DEPTH): os.mkdir(\"d\"); os.chdir(\"d\")'";
const DIG_STATE: &str =
    "cd /run/cto/state; python3 -c 'import os\nfor _ in range(DEPTH): os.mkdir(\"d\"); os.chdir(\"d\")'";

const ROWS: &[Row] = &[
    Row {
        name: "links and a pipe in its state",
        engine: STATE,
        left_out: &[
            ("link", "link"),
            ("folder", "link"),
            ("proc", "link"),
            ("zero", "link"),
            ("dangling", "link"),
            ("to-pipe", "link"),
            ("d/deeper", "link"),
            ("pipe", "pipe, socket or device"),
        ],
        ..PLAIN
    },
    Row {
        name: "a link in the place of .git",
        engine: "rm -rf .git; ln -s HOST .git",
        exit: 1,
        reason: Some("sandbox_violation"),
        ..PLAIN
    },
    Row {
        name: "links in .git",
        engine: "rm -rf .git/hooks .git/config; ln -s HOST/hooks .git/hooks; ln -s HOST/config .git/config",
        exit: 1,
        reason: Some("sandbox_violation"),
        ..PLAIN
    },
    Row {
        name: "a link in the place of a file",
        engine: "ln -sf HOST/secret a.txt",
        exit: 1,
        reason: Some("disallowed_file_change"),
        ..PLAIN
    },
    Row { name: "nested directories in the workspace", engine: DIG, exit: 3, reason: Some("budget_exceeded"), ..PLAIN },
    Row {
        name: "nested directories in its state",
        engine: DIG_STATE,
        left_out: &[("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d", "too deep")],
        ..PLAIN
    },
    Row { name: "a workspace that nobody may enter", engine: "chmod 000 .", ..PLAIN },
    Row {
        name: "a state that nobody may enter",
        engine: "echo x > /run/cto/state/x; chmod 000 /run/cto/state",
        ..PLAIN
    },
    Row {
        name: "a new directory that nobody may enter",
        engine: "mkdir x; echo y > x/y; chmod 000 x",
        exit: 1,
        reason: Some("disallowed_file_change"),
        ..PLAIN
    },
    Row {
        name: "a new directory that may be listed alone",
        engine: "mkdir x; echo y > x/y; chmod 444 x",
        exit: 1,
        reason: Some("disallowed_file_change"),
        ..PLAIN
    },
    Row {
        name: "links and a pipe among the reports of a check",
        check: "cd /run/cto/reports; ln -s HOST/secret a.xml; ln -s HOST/secret b.json; mkfifo c.xml; mkdir d.xml",
        ..PLAIN
    },
    Row { name: "reports that nobody may enter", check: "chmod 000 /run/cto/reports .", ..PLAIN },
    Row {
        name: "links and a pipe of a setup",
        setup: "mkdir built; ln -s HOST built/folder; ln -s HOST/secret built/link; mkfifo built/pipe; chmod 000 .",
        ..PLAIN
    },
];

/// Deeper than an ordinary user's descriptors go, and more in a soak.
#[expect(clippy::disallowed_methods, reason = "a soak says by the environment how deep")]
fn depth() -> String {
    std::env::var("CTO_TEST_DEPTH").unwrap_or_else(|_| "2500".to_owned())
}

/// A folder of the host with a secret, and with the names of a repository.
fn furnish(world: &World) -> PathBuf {
    let host = world.path().join("host");
    for (name, text) in [("secret", SECRET), ("config", "[core]\n\thunted-secret = 1\n"), ("hooks/hunted-secret", "")] {
        let path = host.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    world.give();
    host
}

/// Runs a case in which the good work is done too; gives its report and its bundle.
fn run(world: &World, row: &Row, host: &Path) -> (Value, PathBuf) {
    let fill = |script: &str| script.replace("HOST", host.to_str().unwrap()).replace("DEPTH", &depth());
    let steps = json!({"steps": [
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"run": {"argv": ["sh", "-c", fill(row.engine)]}},
    ]});
    let commands = json!([["sh", "-c", format!("grep -qx two a.txt && {}", fill(row.check))]]);
    let setup = if row.setup.is_empty() { json!([]) } else { json!([{"argv": ["sh", "-c", fill(row.setup)]}]) };
    let environment = json!({"setup": setup}).to_string();
    let case =
        [("fake", steps.to_string()), ("verification_commands", commands.to_string()), ("environment", environment)];
    let case: Vec<(&str, &str)> = case.iter().map(|(key, value)| (*key, value.as_str())).collect();
    world.case("made", &case);
    world.give_only(&world.here());
    world.run("./made", row.exit)
}

fn check(world: &World, row: &Row, host: &Path) {
    let (report, bundle) = run(world, row, host);
    let reasons: Vec<&str> = row.reason.into_iter().collect();
    assert_eq!(report["blocker_reasons"], json!(reasons), "{}: {:#}", row.name, report["blockers"]);
    let run_id = report["run_id"].as_str().unwrap();
    let _ = world.cto(["verify", run_id]).expect(0);
    let found = program("grep", Path::new("/")).args(["-rlF", SECRET]).arg(&bundle).output().unwrap();
    let found = String::from_utf8(found.stdout).unwrap();
    // The names that the engine itself chose stand in what it was asked to do.
    let told: Vec<&str> = found.lines().filter(|file| !file.ends_with("/baseline.tar")).collect();
    assert_eq!(told, Vec::<&str>::new(), "{}: bytes or names of the host", row.name);
    let trace = fs::read_to_string(bundle.join("trace.jsonl")).unwrap();
    for (name, why) in row.left_out {
        let line = format!("\"name\":\"backend/{name}\",\"why\":\"{why}\"");
        assert!(trace.contains(&line), "{}: {line} in {trace}", row.name);
    }
    for folder in ["work", "active"] {
        let left = fs::read_dir(world.home().join(folder)).unwrap().count();
        assert_eq!(left, 0, "{}: {folder}/ is empty", row.name);
    }
    let left = work_areas(&world.home(), run_id).into_iter().find(|area| area.exists());
    assert_eq!(left, None, "{}: nothing is left", row.name);
}

#[test]
fn what_an_engine_leaves_is_read_by_no_path() {
    for who in Who::all("engine_files::what_an_engine_leaves_is_read_by_no_path") {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
        let host = furnish(&world);
        ROWS.iter().for_each(|row| check(&world, row, &host));
        assert_eq!(fs::read_to_string(host.join("secret")).unwrap(), SECRET, "the host is as it was");
    }
}

/// Leftovers that are too deep for a path and shut to their owner are collected.
#[test]
fn leftovers_of_any_depth_are_collected() {
    const DIG: &str = "mkdir \"$0\" && cd \"$0\" && python3 -c 'import os\nfor _ in range(2500): os.mkdir(\"d\"); os.chdir(\"d\")' \
        && mkdir shut && echo x > shut/x && chmod 000 shut && touch -d '100 days ago' . && chmod 000 .";
    for who in Who::all("engine_files::leftovers_of_any_depth_are_collected") {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who);
        let _ = world.run("fail-critical-risk", 3);
        let left = world.home().join("work/probe-999999999-dead");
        assert!(world.program("sh").args(["-c", DIG]).arg(&left).status().unwrap().success());
        let _ = world.cto(["gc"]).expect(0);
        assert!(left.symlink_metadata().is_err(), "{who:?}");
    }
}
