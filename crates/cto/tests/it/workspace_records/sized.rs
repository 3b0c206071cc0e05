//! A large board and many documents: everything still answers within its memory, and one edit keeps every other byte.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{World, program, skip};

use super::workspace;

pub(crate) const ITEMS: usize = 10_000;
const DOCUMENTS: usize = 3_000;
/// Most memory that a command may have at once, in KiB.
pub(crate) const MOST_KIB: u64 = 256 << 10;

/// Runs a command and writes down the most memory that it had.
pub(super) const PEAK: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)";

/// A workspace with a chain of items and many documents; the text of its board.
pub(crate) fn large_workspace() -> (World, String) {
    let world = workspace();
    let item = |number: usize| {
        let blocked = number.checked_sub(1).map(|before| format!("DEMO-WORK-{before:05}")).unwrap_or_default();
        format!(
            "  - id: DEMO-WORK-{number:05}\n    title: item {number}\n    type: AFK\n    status: draft\n    blocked_by: [{blocked}]\n    evidence: [{{kind: document, ref: CONTEXT.md}}]\n"
        )
    };
    let board = format!("items:\n{}", (0..ITEMS).map(item).collect::<String>());
    world.write("WORKBOARD.yaml", &board);
    let intent = fs::read_to_string(world.here().join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).unwrap();
    for number in 0..DOCUMENTS {
        fs::write(world.here().join(format!(".sot/03-PROTOCOLS/DEMO-{number:04}-BRIEF.md")), &intent).unwrap();
    }
    (world, board)
}

/// Output of a command that may have no more than so much memory.
fn bounded(world: &World, words: &[&str]) -> Value {
    let file = world.path().join("peak");
    let wrapper = ["python3", "-c", PEAK, file.to_str().unwrap()];
    let output = world.under(&world.command(words), &wrapper).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let peak: u64 = fs::read_to_string(&file).unwrap().parse().unwrap();
    println!("{words:?}: {peak} KiB");
    assert!(peak < MOST_KIB, "{words:?}: {peak} KiB");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn ten_thousand_items_and_three_thousand_documents() {
    if program("python3", Path::new("/")).arg("-V").output().is_err() {
        return skip("the memory of a large workspace", "there is no python3");
    }
    let (world, board) = large_workspace();
    let found = bounded(&world, &["validate", "workspace", "--json"]);
    assert_eq!(
        (&found["ok"], &found["errors"], &found["advice"]),
        (&true.into(), &Value::Array(vec![]), &Value::Array(vec![]))
    );
    let next = bounded(&world, &["work", "next", "--json"]);
    assert_eq!(next["afk"].as_array().unwrap().len(), 1);
    let graph = bounded(&world, &["work", "graph", "--json"]);
    assert_eq!(graph["nodes"].as_array().unwrap().len(), ITEMS);
    bounded(&world, &["work", "status", "DEMO-WORK-05000", "candidate", "--json"]);
    let after = fs::read_to_string(world.here().join("WORKBOARD.yaml")).unwrap();
    let changed: Vec<(usize, &str)> =
        after.lines().enumerate().zip(board.lines()).filter(|((_, new), old)| new != old).map(|(new, _)| new).collect();
    assert_eq!(changed, [(1 + 5000 * 6 + 3, "    status: candidate")]);
    assert_eq!(after.len(), board.len() + "candidate".len() - "draft".len());
}
