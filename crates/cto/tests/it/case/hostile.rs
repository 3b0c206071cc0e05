//! A repository that means harm to who looks whether the work stands: nothing of it is executed, nothing blocks, and the harness
//! goes on as if it were any other.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{git, run_git};

use super::scene::{COMMIT, Scene, WORK, good};
use super::stayer::{Stayed, Stayer};

/// A change to `.git` after the work is committed. `$TRAP` makes a file that would show that somebody ran it.
struct Row {
    name: &'static str,
    command: &'static str,
    /// True if the commit can still be seen.
    seen: bool,
}

const ROWS: &[Row] = &[
    // The control: an honest repository.
    Row { name: "nothing", command: "true", seen: true },
    Row {
        name: "programs in its configuration, hooks, filters and other stores",
        command: "printf '[core]\\n\\tfsmonitor = $TRAP\\n\\thooksPath = .git/hooks\\n\\tpager = $TRAP\\n[filter \"x\"]\\n\\tclean = $TRAP\\n\
            \\tsmudge = $TRAP\\n' >> .git/config; mkdir -p .git/hooks .git/info; printf '#!/bin/sh\\n$TRAP\\n' > .git/hooks/post-index-change; \
            chmod +x .git/hooks/*; echo '* filter=x' > .git/info/attributes; echo /proc/self/root > .git/objects/info/alternates",
        seen: true,
    },
    Row { name: "HEAD is a pipe", command: "rm .git/HEAD; mkfifo .git/HEAD", seen: false },
    Row { name: "HEAD is a link", command: "mv .git/HEAD .git/H; ln -s H .git/HEAD", seen: false },
    Row { name: "HEAD is a link to outside", command: "ln -sf /etc/passwd .git/HEAD", seen: false },
    Row { name: "HEAD is very large", command: "truncate -s 1G .git/HEAD", seen: false },
    Row {
        name: "references in a file that is very large",
        command: "git pack-refs --all; truncate -s 1G .git/packed-refs",
        seen: false,
    },
    Row {
        name: "references that name each other",
        command: "echo 'ref: refs/heads/a' > .git/HEAD; echo 'ref: refs/heads/b' > .git/refs/heads/a; echo 'ref: refs/heads/a' > .git/refs/heads/b",
        seen: false,
    },
    Row { name: "no repository at all", command: "rm -rf .git", seen: false },
];

#[test]
fn a_repository_cannot_harm_who_looks_at_it() {
    let mut stayer = Stayer::new();
    let trap = stayer.scene.world.path().join("trap");
    let set = format!("touch {}", trap.display());
    for Row { name, command, seen } in ROWS {
        let task = stayer.told(&format!("{WORK} && {COMMIT}\n{}", command.replace("$TRAP", &set)));
        let began = Instant::now();
        let (report, _) = stayer.check(&[&task, "--stage", "2"], &Stayed { name, by_harness: *seen, reasons: None });
        let took = began.elapsed();
        assert_eq!(report["changed_files"], json!(["strings.py"]), "{name}: the result is taken all the same");
        assert!(took < Duration::from_secs(40), "{name}: {took:?}");
        assert!(!trap.exists(), "{name}: something of the repository was executed");
    }
}

/// The control: git itself, asked in such a repository, runs what it says.
#[test]
fn git_would_have_executed_it() {
    let scene = Scene::new(good());
    let (repository, trap) = (scene.world.path().join("trapped"), scene.world.path().join("trap"));
    fs::create_dir_all(&repository).unwrap();
    let _ = git(&repository, ["init", "-q"]);
    let _ = git(&repository, ["config", "core.fsmonitor", &format!("touch {}; false", trap.display())]);
    let _ = run_git(&repository, ["status"]);
    assert!(trap.exists());
}
