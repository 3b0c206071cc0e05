//! The rules behind a pass: each rule of the judgement, with honest work beside every refusal.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod agreement;
mod baseline;
mod built;
mod contract;
mod data;
mod names;
mod poison;
mod premises;
mod products;
mod shipped;
mod silenced;

use serde_json::json;
use testkit::World;

use crate::world;

/// A small repository and how it is judged.
struct Project {
    files: &'static [(&'static str, &'static str)],
    allowed: &'static str,
    commands: &'static str,
}

/// Shell commands of an engine, and the verdict that must follow.
struct Row {
    project: &'static Project,
    does: String,
    /// The reasons of the blockers; none of them for a pass.
    reasons: &'static [&'static str],
    /// Paths that must be listed as litter and not be part of the patch.
    litter: &'static [&'static str],
    /// Codes that the coverage must have; `product_not_rebuilt` stands there only if it is among them.
    coverage: &'static [&'static str],
}

/// A case of the project in which the engine runs a shell script.
fn world_with(project: &Project, does: &str) -> World {
    let world = world();
    // A script that does not do what it says leaves a file that no contract allows.
    let script = ["sh", "-c", "sh -ec \"$1\" || touch FAILED", "sh", does];
    let fake = json!({"steps": [{"run": {"argv": script}}]});
    let changes = [
        ("allowed_paths", project.allowed),
        ("verification_commands", project.commands),
        ("fake", &fake.to_string()),
        ("environment", &testkit::quick(json!({})).to_string()),
    ];
    world.case("made", &changes);
    for (path, text) in project.files {
        world.write(&format!("made/files/{path}"), text);
    }
    world
}

/// Control: somebody who looks at the exit code in the tree that the engine left is content.
fn naive_is_content(project: &Project, does: &str, looks: &str) {
    let world = world();
    let tree = world.path().join("left");
    for (path, text) in project.files {
        let path = tree.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let command = world.command(["--version"]);
    let known = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let known: Vec<_> = known.filter(|(name, _)| *name == "PATH" || *name == "RUSTUP_HOME").collect();
    for script in [does, looks] {
        let ran = testkit::program("sh", &tree).args(["-ec", script]).envs(known.clone()).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

fn check(row: &Row) -> World {
    let world = world_with(row.project, &row.does);
    let (report, _) = world.run("./made", i32::from(!row.reasons.is_empty()));
    assert_eq!(report["blocker_reasons"], json!(row.reasons), "{}\n{:#}", row.does, report["blockers"]);
    for path in row.litter {
        assert!(report["litter"].as_array().unwrap().contains(&json!(path)), "{}: {}", row.does, report["litter"]);
        assert!(!report["changed_files"].as_array().unwrap().contains(&json!(path)), "{}", row.does);
    }
    let says = |code: &str| report["coverage"].as_array().unwrap().contains(&json!(code));
    for code in row.coverage {
        assert!(says(code), "{}: {}", row.does, report["coverage"]);
    }
    assert_eq!(says("product_not_rebuilt"), row.coverage.contains(&"product_not_rebuilt"), "{}", row.does);
    let _ = world.cto(["verify", "@"]).expect(0);
    world
}
