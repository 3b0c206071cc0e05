//! An operator's machine in small: a home with secrets, a source repository, earlier runs, a victim's folder and a process
//! beside, all of one user's; and the binary, started with a secret in its environment and one open.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use contract::Digest;
use serde_json::{Value, json};
use testkit::{CtoCommand, MARKER, Ran, Who, World, content_digest, git};

use super::row::Row;
use super::sealed::Sealed;

/// Holds a secret in its environment and in its user's keyring for as long as its standard input is open.
const BYSTANDER: &str = "
import ctypes, os, sys
numbers = {'x86_64': (248, 250), 'aarch64': (217, 219)}[os.uname().machine]
libc = ctypes.CDLL(None)
secret = os.environ['SECRET'].encode()
key = libc.syscall(numbers[0], b'user', os.environ['KEY_NAME'].encode(), secret, len(secret), -4)
print('ready', flush=True)
sys.stdin.read()
libc.syscall(numbers[1], 9, key, -4)";

/// Secrets of the operator, below the home.
const SECRETS: &[&str] = &[".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml"];

pub(super) struct Scene {
    pub(super) who: Who,
    pub(super) world: World,
    /// Must appear nowhere.
    pub(super) secret: String,
    /// Paths of everything, which the program gets as variables.
    pub(super) variables: BTreeMap<&'static str, String>,
    bystander: Child,
    /// Files on the host, beside the world.
    planted: Vec<PathBuf>,
}

impl Scene {
    pub(super) fn new(who: Who) -> Self {
        let world = World::of(env!("CARGO_BIN_EXE_cto"), who).with_own_binary();
        let unique = world.path().file_name().unwrap().to_str().unwrap().rsplit('-').next().unwrap().to_owned();
        let secret = format!("hunted-{unique}");
        furnish(&world, &secret);
        // Makes the home, and is the other run that nothing may happen to.
        let (other, _) = world.run("fail-critical-risk", 3);
        fs::create_dir(world.home().join("records")).unwrap();
        fs::write(world.home().join("records/admission.json"), "{}\n").unwrap();
        world.give();
        let key_name = format!("key-{unique}");
        let bystander = stand_by(&world, &secret, &key_name);
        let text = |path: PathBuf| path.display().to_string();
        let variables = BTreeMap::from([
            ("OPERATOR", text(world.user())),
            ("SOURCE", text(world.path().join("source"))),
            ("VICTIM", text(world.path().join("victim"))),
            ("HARNESS", text(world.home())),
            ("OTHER", text(world.bundles().join(other["run_id"].as_str().unwrap()))),
            ("BYSTANDER", bystander.id().to_string()),
            ("KEY_NAME", key_name),
            // Attacks are programs of Python, which then loads its library from bytecode.
            ("PYTHONPYCACHEPREFIX", String::new()),
        ]);
        Self { who, world, secret, variables, bystander, planted: Vec::new() }
    }

    /// A place in the victim's folder.
    pub(super) fn victim(&self, name: &str) -> PathBuf {
        self.world.path().join("victim").join(name)
    }

    /// Has a file that lies outside the world removed when the scene is over.
    pub(super) fn remove_at_end(&mut self, path: PathBuf) {
        self.planted.push(path);
    }

    /// Writes the case of a row. Its engine does good work first, so that a run fails of nothing but the attack.
    pub(super) fn set(&self, row: &Row, limits: &str) {
        let steps =
            json!({"steps": [{"write": {"path": "a.txt", "text": "two\n"}}, {"run": {"argv": row.argv}}]}).to_string();
        self.set_case(&[("fake", &steps), ("limits", limits)]);
    }

    /// Writes a case with some keys of its own.
    pub(super) fn set_case(&self, changes: &[(&str, &str)]) {
        let environment = json!({"variables": self.variables}).to_string();
        let mut all = changes.to_vec();
        if changes.iter().all(|(key, _)| *key != "environment") {
            all.push(("environment", &environment));
        }
        self.world.case("made", &all);
        self.world.write("made/files/.gitignore", IGNORED);
    }

    /// The binary as a careless operator starts it.
    pub(super) fn command(&self, args: &[&str]) -> CtoCommand {
        let mut command = self.world.program("/bin/sh");
        command.args(["-c", "exec 9< \"$0\"; exec \"$@\""]).arg(self.world.user().join(SECRETS[0]));
        command.arg(self.world.binary()).args(args).env("OPERATOR_TOKEN", &self.secret);
        command
    }

    pub(super) fn cto(&self, args: &[&str]) -> Ran {
        let child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        World::finish(child)
    }

    /// A governed run of the case, on the source repository and in the sandbox.
    pub(super) fn run_strict(&self, more: &[&str]) -> Sealed {
        let args = [&["run", "./made", "--json", "--repo", "../source"], more].concat();
        Sealed::read(&self.world, &self.cto(&args))
    }

    /// A run of the case without a sandbox, which is not to be had for a repository.
    pub(super) fn run_unconfined(&self, more: &[&str]) -> Sealed {
        let args = [&["run", "./made", "--json", "--sandbox", "none"], more].concat();
        Sealed::read(&self.world, &self.cto(&args))
    }

    /// The program of a row as the user starts it, in an empty folder and marked like a run.
    pub(super) fn direct(&self, row: &Row, marker: &str) -> CtoCommand {
        let place = self.world.path().join("direct");
        let _ = fs::remove_dir_all(&place);
        fs::create_dir(&place).unwrap();
        self.world.give_only(&place);
        let mut command = self.world.program(&row.argv[0]);
        command.current_dir(&place);
        command.args(&row.argv[1..]).envs(&self.variables).env(MARKER, marker);
        command
    }

    /// True if the program has the variables with all paths.
    pub(super) fn told_where_to_look(&self, sealed: &Sealed) -> bool {
        let given = sealed.sandbox["variables"].as_array().unwrap();
        self.variables.keys().all(|name| given.contains(&json!(name)))
    }

    /// True if the needs of a row exist: nothing, a variable, or a path of the host.
    pub(super) fn has(&self, needed: &str) -> bool {
        needed.is_empty()
            || self.variables.contains_key(needed)
            || needed.starts_with('/') && Path::new(needed).exists()
    }

    /// A text with the variables filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        // Backwards, so that a name comes before those it begins with.
        let variables = self.variables.iter().rev();
        variables.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    /// Everything that a run may not change, as digests. What only the harness writes grows with every run; that no bundle
    /// was touched is seen at the end, when all are verified.
    pub(super) fn outside(&self) -> Vec<(&'static str, Digest)> {
        let grows = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "cache", "active", "work", "harness-runs"];
        let world = &self.world;
        vec![
            ("the operator's home", content_digest(&world.user(), &[])),
            ("the source repository", content_digest(&world.path().join("source"), &[])),
            ("the victim", content_digest(&world.path().join("victim"), &[])),
            ("the case", content_digest(&world.here(), &[])),
            ("the temporary directory", content_digest(&world.tmp(), &[])),
            ("keys and records", content_digest(&world.home(), &grows)),
            ("another run", content_digest(Path::new(&self.variables["OTHER"]), &[])),
        ]
    }

    /// Checks what can be checked of all runs at once.
    pub(super) fn close(self) {
        all_verify(&self.world);
    }
}

/// Every bundle verifies, no run is called running, and the ledger's chain holds.
pub(super) fn all_verify(world: &World) {
    let runs = fs::read_dir(world.bundles()).unwrap().flatten().map(|entry| entry.file_name());
    let runs: Vec<String> = runs.map(|name| name.into_string().unwrap()).collect();
    let verified = world.cto(["verify", "--json"].into_iter().chain(runs.iter().map(String::as_str)));
    let verified = verified.expect(0).json();
    assert_eq!(verified.as_array().map_or(1, Vec::len), runs.len());
    let listed = world.cto(["runs", "--json", "--limit", "100000"]).expect(0).text();
    let rows: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((rows.len(), rows.iter().find(|row| row["status"] == "running")), (runs.len(), None));
    let doctor = world.cto(["doctor"]).expect(0).text();
    assert!(doctor.contains("ledger entries, chain holds"), "{doctor}");
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.bystander.stdin.take());
        let _ = self.bystander.wait();
        self.planted.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// In the baseline, so that what a program leaves there is litter and no change.
const IGNORED: &str = "junk\n.env\n";

fn furnish(world: &World, secret: &str) {
    for name in SECRETS {
        let path = world.user().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{secret}\n")).unwrap();
    }
    let source = world.repository("source", &[("a.txt", "one\n"), (".gitignore", IGNORED)]);
    fs::write(source.join(".env"), format!("TOKEN={secret}\n")).unwrap();
    let victim = world.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "untouched\n").unwrap();
    git(&victim, ["init", "-q", "--bare", "remote.git"]);
    world.give();
}

fn stand_by(world: &World, secret: &str, key_name: &str) -> Child {
    let mut command = world.program("/usr/bin/python3");
    command.args(["-c", BYSTANDER]).env("SECRET", secret).env("KEY_NAME", key_name);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}
