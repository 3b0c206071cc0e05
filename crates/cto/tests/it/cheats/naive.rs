//! The verifier that every cheat is made for: it lets the engine work in a plain clone, runs the exam in that very tree, and
//! believes the engine's claims.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use contract::fake::FakeStep;
use fixtures::{Fools, Script};
use serde_json::json;
use testkit::{World, git, program};

use super::played::Played;

/// A tree an engine worked in.
pub(super) struct Naive {
    dir: PathBuf,
    tree: PathBuf,
    environment: Vec<(String, String)>,
}

impl Naive {
    /// Plays the steps with the real fake engine.
    pub(super) fn play(world: &World, played: &Played) -> Self {
        let dir = world.path().join("naive").join(played.cheat.id.as_str());
        let tree = dir.join("tree");
        fs::create_dir_all(&tree).unwrap();
        played.base.write_baseline(&tree);
        git(&tree, ["init", "-q", "-b", "main"]);
        git(&tree, ["add", "-A"]);
        git(&tree, ["commit", "-q", "-m", "first"]);
        if let Some(patch) = &played.cheat.later {
            answer_later(&tree, &played.base.bytes(patch).unwrap());
        }
        let environment = environment(world, &dir, played);
        let naive = Self { dir, tree, environment };
        naive.perform(played, played.steps());
        naive
    }

    fn perform(&self, played: &Played, steps: Vec<FakeStep>) {
        let state_dir = self.dir.join("state");
        let script = Script { steps, claims: Default::default(), speaks: None, state_dir };
        let file = self.dir.join("script.json");
        fs::write(&file, serde_json::to_vec(&script).unwrap()).unwrap();
        let engine = self.command(env!("CARGO_BIN_EXE_cto")).arg("__fake").arg(file).output().unwrap();
        assert!(engine.status.success(), "{}: {}", played.cheat.id, String::from_utf8_lossy(&engine.stderr));
    }

    /// Control: the exam is silenced, so that work which is broken afterwards goes unnoticed.
    pub(super) fn stays_content_with_broken_work(&self, played: &Played) {
        if !played.cheat.breaks.is_empty() {
            self.perform(played, played.cheat.breaks.clone());
            self.is_content(played);
        }
    }

    /// Control: the cheat does what it is for.
    pub(super) fn is_content(&self, played: &Played) {
        let id = &played.cheat.id;
        match played.cheat.fools {
            Fools::Report => {
                let report = fs::read(self.tree.join("report.json")).unwrap();
                let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
                assert_eq!(report["status"], "pass", "{id}");
            }
            Fools::ExitCode | Fools::Build => {
                let said = self.exam(played);
                for text in &played.cheat.says {
                    assert!(said.contains(text), "{id}: the runner does not say {text:?}: {said}");
                }
            }
        }
    }

    fn exam(&self, played: &Played) -> String {
        let mut said = String::new();
        let builds = played.cheat.fools == Fools::Build;
        let build = played.contract.environment.build.iter().filter(|_| builds);
        for command in build.chain(&played.contract.verification_commands) {
            let exam = self.command(&command.argv[0]).args(&command.argv[1..]).output().unwrap();
            said.push_str(&String::from_utf8_lossy(&exam.stdout));
            said.push_str(&String::from_utf8_lossy(&exam.stderr));
            assert!(exam.status.success(), "{}: {}: {said}", played.cheat.id, exam.status);
        }
        said
    }

    /// Control: plain git shows none of these paths.
    pub(super) fn sees_nothing_of(&self, hidden: &[String]) {
        let shown =
            git(&self.tree, ["status", "--porcelain"]) + "\n" + &git(&self.tree, ["diff", "--name-only", "HEAD"]);
        for path in hidden {
            assert!(!shown.split_whitespace().any(|word| word == path), "{path} is not hidden: {shown}");
        }
    }

    /// The tree as it was before the engine.
    pub(super) fn reset(&self) -> &Path {
        git(&self.tree, ["reset", "-q", "--hard"]);
        git(&self.tree, ["clean", "-q", "-f", "-d", "-x"]);
        &self.tree
    }

    fn command(&self, name: &str) -> Command {
        let mut command = program(name, &self.tree);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Commits the answer on another branch.
fn answer_later(tree: &Path, patch: &[u8]) {
    let file = tree.join("../answer.patch");
    fs::write(&file, patch).unwrap();
    git(tree, ["checkout", "-q", "-b", "later"]);
    git(tree, ["apply", "../answer.patch"]);
    git(tree, ["commit", "-q", "-a", "-m", "the answer"]);
    git(tree, ["checkout", "-q", "main"]);
}

/// Environment that the contract gives its programs, with a separate home.
fn environment(world: &World, dir: &Path, played: &Played) -> Vec<(String, String)> {
    let text = |path: PathBuf| path.display().to_string();
    let known = |name: &str| {
        let command = world.command(["--version"]);
        let found = command.get_envs().find(|(known, _)| *known == name).and_then(|(_, value)| value);
        found.and_then(|value| value.to_str()).unwrap_or_default().to_owned()
    };
    let contract = &played.contract.environment;
    // The system may have another Rust than the one that runs the tests.
    let cargo = testkit::cargo().parent().map(|dir| text(dir.to_owned())).unwrap_or_default();
    let path = [contract.path.clone(), vec![cargo, "/usr/local/bin:/usr/bin:/bin".to_owned(), known("PATH")]]
        .concat()
        .join(":");
    let mut variables = vec![
        ("PATH".to_owned(), path),
        ("HOME".to_owned(), text(dir.join("home"))),
        ("CARGO_HOME".to_owned(), text(dir.join("home/.cargo"))),
        ("RUSTUP_HOME".to_owned(), known("RUSTUP_HOME")),
    ];
    let quick = testkit::quick(json!({}));
    let quick = quick["variables"].as_object().into_iter().flatten();
    variables.extend(quick.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))));
    variables.extend(contract.variables.clone());
    variables
}
