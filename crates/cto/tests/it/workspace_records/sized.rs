//! A large board and many documents: everything still answers within its memory, and one edit keeps every other byte.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::{World, git, program, skip};

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

/// Record of before `cto init` without the sentences that a closeout keeps; advice, because the history had it.
const EARLIER_CLOSEOUT: &str = ".sot/03-PROTOCOLS/EARLIER-CLOSEOUT.md";

/// A workspace in git with a chain of items and many documents; the text of its board. Its history had the documents before the first
/// `cto init`, and each item names a commit of its own.
pub(crate) fn large_workspace() -> (World, String) {
    let world = workspace();
    let here = world.here();
    let intent = fs::read_to_string(here.join(".sot/03-PROTOCOLS/WORKSPACE-INTENT.md")).unwrap();
    let created = intent.lines().find(|line| line.starts_with("created: ")).unwrap();
    let earlier = intent.replacen(created, "created: 2020-01-01", 1);
    for number in 0..DOCUMENTS {
        fs::write(here.join(format!(".sot/03-PROTOCOLS/DEMO-{number:04}-BRIEF.md")), &earlier).unwrap();
    }
    fs::write(here.join(EARLIER_CLOSEOUT), &earlier).unwrap();
    git(&here, ["init", "-q", "-b", "main"]);
    git(&here, ["add", ".sot/03-PROTOCOLS"]);
    git(&here, ["commit", "-q", "-m", "records"]);
    add_commits(&here, ITEMS);
    let commits = git(&here, ["rev-list", "--reverse", "HEAD"]);
    let item = |(number, commit): (usize, &str)| {
        let blocked = number.checked_sub(1).map(|before| format!("DEMO-WORK-{before:05}")).unwrap_or_default();
        format!(
            "  - id: DEMO-WORK-{number:05}\n    title: item {number}\n    type: AFK\n    status: draft\n    blocked_by: [{blocked}]\n    evidence: [{{kind: document, ref: CONTEXT.md}}, {{kind: commit, ref: '{commit}'}}]\n"
        )
    };
    let board = format!("items:\n{}", commits.lines().take(ITEMS).enumerate().map(item).collect::<String>());
    world.write("WORKBOARD.yaml", &board);
    git(&here, ["add", "-A"]);
    git(&here, ["commit", "-q", "-m", "cto init"]);
    (world, board)
}

/// Adds so many commits without a change to the branch.
fn add_commits(here: &Path, count: usize) {
    let mut input = String::new();
    for number in 0..count {
        let from = if number == 0 { "from refs/heads/main^0\n" } else { "" };
        let message = format!("commit {number}");
        let who = "committer Ada <ada@example.invalid> 1577836800 +0000";
        input.push_str(&format!("commit refs/heads/main\n{who}\ndata {}\n{message}\n{from}\n", message.len()));
    }
    let mut import = program("git", here).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
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
    assert_eq!((&found["ok"], &found["errors"]), (&true.into(), &Value::Array(vec![])));
    // Every commit was found, and the history has the earlier closeout: the sentences that it lacks are advice.
    let advice = found["advice"].as_array().unwrap();
    assert!(advice.iter().all(|one| one["file"] == EARLIER_CLOSEOUT), "{advice:?}");
    assert_eq!(advice.len(), 4);
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
