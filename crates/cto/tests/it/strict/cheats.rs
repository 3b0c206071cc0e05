//! Process cheats: an engine that does the work wrong, or not at all, and leaves something behind that makes who looks next
//! content. Each is played against a naive verifier too, which is.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use contract::Status;
use serde_json::{Value, json};
use testkit::{CtoCommand, MARKER, Who, end_marked, git, not_here, wait_for};

use super::check::{harmless, recorded, verdict};
use super::row::{NOTHING, Says};
use super::scene::Scene;
use super::sealed::Sealed;

pub(super) const CLASS: &str = "Cheating by process";

/// Files that an engine leaves, and the verifier that accepts them.
pub(super) struct Cheat {
    pub(super) tries: &'static str,
    pub(super) stopped_by: &'static str,
    pub(super) says: Says,
    /// Verdict if the patch has the content that should not be there.
    or: Option<Says>,
    steps: fn() -> Value,
    exam: &'static [&'static str],
    limits: &'static str,
    /// A program without which it cannot be played.
    needs: &'static str,
    /// True if the naive verifier wrongly accepts.
    fools: fn(&Naive<'_>) -> bool,
    evidence: fn(&Sealed),
}

const WRONG: Says = Says { status: Status::Fail, reasons: &["verification_failed"], attempts: &[], besides: "" };
const FRESH: &str = "every check has a fresh tree, home and `PATH`";

/// Replaces the file once the engine is gone.
const REWRITE: &str = "echo evil > junk; (while kill -0 $PPID; do sleep 0.01; done; mv junk a.txt) > /dev/null 2>&1 &";
/// Says that it is done while a child goes on, which holds the output open.
const FORK_AWAY: &str =
    "echo evil > junk; (while kill -0 $PPID 2> /dev/null; do sleep 0.01; done; mv junk a.txt; sleep 600) &";
/// A process that waits for the engine's end may act before its own end. The result then includes that act.
const AS_IT_WAS: Says = Says { besides: "the patch has the files as they were when the last process died", ..NOTHING };
/// A library that ends every program well before it begins.
const PRELOAD: &str =
    "printf '#include <unistd.h>\\n__attribute__((constructor)) static void win(void) { _exit(0); }\\n' > ~/win.c
    cc -shared -fPIC -o ~/win.so ~/win.c
    for file in .bashrc .profile .bash_profile; do echo \"export LD_PRELOAD=$HOME/win.so\" > ~/$file; done";
const VERDICT: &str = r#"{"blockers":[],"status":"pass","tests_passed":true,"verification":{"result":"pass"}}"#;

fn writes(text: &str) -> Value {
    json!({"write": {"path": "a.txt", "text": text}})
}

fn runs(script: &str) -> Value {
    json!({"run": {"argv": ["sh", "-c", script]}})
}

const CHEAT: Cheat = Cheat {
    tries: "",
    stopped_by: FRESH,
    says: WRONG,
    or: None,
    steps: || json!([]),
    exam: &["grep", "-qx", "two", "a.txt"],
    limits: "",
    needs: "",
    fools: |naive| naive.is_content(),
    evidence: |_| (),
};

pub(super) const CHEATS: &[Cheat] = &[
    Cheat {
        tries: "a daemon that rewrites files after the diff",
        stopped_by: "the result is taken after every process is dead",
        says: AS_IT_WAS,
        or: Some(WRONG),
        steps: || json!([writes("two\n"), runs(REWRITE)]),
        fools: |naive| naive.finds_later("evil\n"),
        ..CHEAT
    },
    Cheat {
        tries: "an engine that ends while its child continues",
        stopped_by: "the end of process 1 of its pid namespace, which kills the child",
        says: AS_IT_WAS,
        or: Some(WRONG),
        steps: || json!([writes("two\n"), runs(FORK_AWAY)]),
        fools: |naive| naive.finds_later("evil\n"),
        evidence: |sealed| assert_ne!(sealed.sandbox["leftover_processes"], json!([])),
        ..CHEAT
    },
    Cheat {
        tries: "`python3` replaced on the search path",
        steps: || {
            let python = "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/bin/python3; chmod +x ~/bin/python3";
            json!([writes("wrong\n"), runs(python)])
        },
        exam: &["python3", "-c", "assert open('a.txt').read() == 'two\\n'"],
        ..CHEAT
    },
    Cheat {
        tries: "`git` replaced on the search path, so that it shows no change",
        stopped_by: "the harness never runs the engine's git",
        says: Says { reasons: &["disallowed_file_change"], ..WRONG },
        steps: || {
            let git = "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/bin/git; chmod +x ~/bin/git";
            json!([writes("two\n"), {"write": {"path": "backdoor", "text": "evil\n"}}, runs(git)])
        },
        fools: |naive| naive.is_content() && naive.says("git status --porcelain -- backdoor").is_empty(),
        evidence: |sealed| assert_eq!(sealed.report["changed_files"], json!(["a.txt", "backdoor"])),
        ..CHEAT
    },
    Cheat {
        tries: "`LD_PRELOAD` in the start-up files of shells",
        steps: || json!([writes("wrong\n"), runs(PRELOAD)]),
        needs: "/usr/bin/cc",
        fools: |naive| naive.is_content_in_a_shell(),
        ..CHEAT
    },
    Cheat {
        tries: "a link out of the workspace, to a file with the right content",
        stopped_by: "links that leave the repository are refused",
        says: Says { reasons: &["disallowed_file_change"], ..WRONG },
        steps: || json!([{"delete": {"path": "a.txt"}}, runs("ln -s $VICTIM/good a.txt")]),
        evidence: |sealed| {
            let text = sealed.report["blockers"][0]["text"].as_str().unwrap();
            assert!(text.contains("`a.txt` is a link that leaves the repository"), "{text}");
        },
        ..CHEAT
    },
    Cheat {
        tries: "a printed verdict, and a verdict among its files",
        stopped_by: "the harness computes the verdict from its own observations",
        says: Says { reasons: &["verification_failed", "claim_contradicted"], ..WRONG },
        steps: || {
            let claims = json!({"type": "result", "claims": {"status": "success", "tests_passed": true}}).to_string();
            let verdict = json!({"state": {"path": "report.json", "text": VERDICT}});
            json!([writes("wrong\n"), verdict, {"print": {"text": VERDICT}}, {"print": {"text": claims}}, {"exit": {"code": 0}}])
        },
        fools: |naive| naive.says("cat ../engine.log").contains(VERDICT),
        ..CHEAT
    },
    Cheat {
        tries: "a disk that is full when `cto` writes the verdict",
        stopped_by: "disk limits, and space reserved for the seal",
        says: Says { status: Status::Blocked, reasons: &["budget_exceeded"], attempts: &[], besides: "" },
        steps: || json!([writes("two\n"), runs("mkdir junk; for i in 1 2 3; do head -c 2M /dev/zero > junk/$i; done")]),
        limits: "{disk_bytes: 4194304}",
        fools: |naive| naive.is_full(),
        ..CHEAT
    },
];

/// A verifier that lets the engine work in a plain folder with a separate home, and then looks there.
pub(super) struct Naive<'a> {
    scene: &'a Scene,
    cheat: &'a Cheat,
    tree: PathBuf,
    script: PathBuf,
    marker: String,
}

impl<'a> Naive<'a> {
    fn new(scene: &'a Scene, cheat: &'a Cheat) -> Self {
        let root = scene.world.path().join("naive");
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("tree")).unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::write(root.join("tree/a.txt"), "one\n").unwrap();
        let script = json!({"steps": (cheat.steps)(), "claims": {}, "state_dir": root.join("state")});
        fs::write(root.join("script.json"), script.to_string()).unwrap();
        let tree = root.join("tree");
        scene.world.give_only(&root);
        git(&tree, ["init", "-q"]);
        scene.world.give_only(&root);
        Self { scene, cheat, tree, script: root.join("script.json"), marker: format!("naive-{}", scene.secret) }
    }

    /// A program in the tree, with the engine's home and its search path.
    fn command(&self, name: &str) -> CtoCommand {
        let home = self.tree.with_file_name("home");
        let mut command = self.scene.world.program(name);
        command.current_dir(&self.tree).envs(&self.scene.variables).env(MARKER, &self.marker);
        command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", home.join("bin").display())).env("HOME", home);
        command
    }

    /// Lets the engine work and takes its exit code for a verdict.
    fn engine(&self) {
        let log = fs::File::create(self.tree.with_file_name("engine.log")).unwrap();
        let mut engine = self.command(self.scene.world.binary().to_str().unwrap());
        let ended = engine.arg("__fake").arg(&self.script).stdout(log).status().unwrap();
        assert!(ended.success(), "{ended}");
    }

    /// The exam passes where the engine worked.
    fn is_content(&self) -> bool {
        let mut exam = self.command("/usr/bin/env");
        exam.args(self.cheat.exam).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    /// The same for who runs it the way people run commands.
    fn is_content_in_a_shell(&self) -> bool {
        let mut exam = self.command("/bin/bash");
        exam.args(["-lc", "exec \"$@\"", "bash"])
            .args(self.cheat.exam)
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    fn says(&self, command: &str) -> String {
        let output = self.command("/bin/sh").args(["-c", command]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The engine is done and the file is good, and then it is something else.
    fn finds_later(&self, text: &str) -> bool {
        wait_for("the cheat", || {
            fs::read_to_string(self.tree.join("a.txt")).is_ok_and(|now| now == text).then_some(())
        });
        end_marked(&self.marker);
        true
    }

    /// On a small disk of its own the engine leaves no room for a verdict.
    fn is_full(&self) -> bool {
        let script = "mount -t tmpfs -o size=4m none \"$0\" && cd \"$0\" && \"$@\" > /dev/null 2>&1; echo pass > verdict || echo full";
        let mut command = self.command("/usr/bin/unshare");
        command.args(["-Urm", "/bin/sh", "-c", script]).arg(&self.tree);
        command.arg(self.scene.world.binary()).arg("__fake").arg(&self.script);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim() == "full"
    }
}

#[test]
fn every_process_cheat_is_refused_or_comes_to_nothing() {
    let test = "every_process_cheat_is_refused_or_comes_to_nothing";
    for who in Who::all(test) {
        let scene = Scene::new(who);
        fs::write(scene.victim("good"), "two\n").unwrap();
        scene.world.give();
        for cheat in CHEATS {
            if !scene.has(cheat.needs) {
                not_here(test, &format!("\"{}\" as {who:?}: there is no {} here", cheat.tries, cheat.needs));
                continue;
            }
            play(&scene, cheat);
            let naive = Naive::new(&scene, cheat);
            naive.engine();
            assert!((cheat.fools)(&naive), "control: nobody is fooled by {} as {who:?}", cheat.tries);
        }
        scene.close();
    }
}

fn play(scene: &Scene, cheat: &Cheat) {
    let fake = json!({"steps": (cheat.steps)()}).to_string();
    let exam = json!([cheat.exam]).to_string();
    scene.set_case(&[("fake", &fake), ("verification_commands", &exam), ("limits", cheat.limits)]);
    let before = scene.outside();
    let sealed = scene.run_strict(&[]);
    harmless(scene, &sealed, &before);
    let says = cheat.or.as_ref().filter(|_| sealed.text("patch.diff").contains("+evil")).unwrap_or(&cheat.says);
    verdict(scene, cheat.tries, says, &sealed);
    recorded(&sealed);
    (cheat.evidence)(&sealed);
}
