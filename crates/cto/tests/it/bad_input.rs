//! Wrong input of every class: refused with a place, a value, a rule and a remedy, and nothing is written.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use testkit::{Ran, World, content_digest, contract_text};

use crate::world;

/// One call that must be refused.
struct Row<'a> {
    name: &'a str,
    exit: i32,
    args: Vec<&'a str>,
    /// Variables set, or taken away.
    env: Vec<(&'a str, Option<&'a str>)>,
}

fn row<'a>(name: &'a str, exit: i32, args: &[&'a str]) -> Row<'a> {
    Row { name, exit, args: args.to_vec(), env: Vec::new() }
}

impl<'a> Row<'a> {
    fn env(mut self, name: &'a str, value: Option<&'a str>) -> Self {
        self.env.push((name, value));
        self
    }

    fn call(&self, world: &World, more: &[&str]) -> Ran {
        let mut command = world.command(self.args.iter().chain(more));
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        World::finish(child.expect("the binary starts"))
    }
}

/// Makes each call twice, plain and with `--json`; gives what was said to a person.
fn check(world: &World, rows: &[Row<'_>]) -> String {
    let mut said = String::new();
    for row in rows {
        let name = row.name;
        let before = outside(world);
        let plain = row.call(world, &[]);
        assert_eq!(plain.code, row.exit, "{name}: {plain:?}");
        assert_eq!(plain.text(), "", "{name}: only diagnostics");
        let json = row.call(world, &["--json"]);
        assert_eq!(json.code, row.exit, "{name}: the same with --json: {json:?}");
        let document: Value = json.json();
        let errors = document["errors"].as_array().unwrap_or_else(|| panic!("{name}: no errors in {document}"));
        assert!(!errors.is_empty() && document["status"].is_string(), "{name}: {document}");
        for word in ["panicked", "RUST_BACKTRACE", "\u{1b}"] {
            assert!(!plain.stderr.contains(word), "{name}: {word:?} in {}", plain.stderr);
        }
        assert_eq!(outside(world), before, "{name}: something was written");
        let _ = write!(said, "{name}: {}\n{}\n", row.exit, redact(world, &plain.stderr));
    }
    said
}

/// SQLite keeps its place in the log in a side file, also when it only reads.
fn outside(world: &World) -> contract::Digest {
    content_digest(world.path(), &["home/ledger.db-shm", "home/ledger.db-wal"])
}

fn redact(world: &World, text: &str) -> String {
    text.replace(world.path().to_str().expect("UTF-8"), "<world>")
}

/// Makes a named pipe that nobody writes to: who opens it waits for ever.
fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// What is said of contract files with these texts; each name is also the name of its file.
fn check_contracts(texts: &[(&str, &[u8])]) -> String {
    let world = world();
    world.repository("source", &[("a.txt", "one\n")]);
    let files: Vec<String> = texts.iter().map(|(name, _)| format!("{name}.yaml")).collect();
    files.iter().zip(texts).for_each(|(file, (_, text))| drop(world.write(file, text)));
    let rows: Vec<Row<'_>> =
        texts.iter().zip(&files).map(|((name, _), file)| row(name, 2, &["run", file, "--repo", "../source"])).collect();
    check(&world, &rows)
}

/// The same for good contracts with one key changed or added.
fn check_keys(changes: &[(&str, &[(&str, &str)])]) -> String {
    let texts: Vec<(&str, String)> = changes.iter().map(|(name, changes)| (*name, contract_text(changes))).collect();
    check_contracts(&texts.iter().map(|(name, text)| (*name, text.as_bytes())).collect::<Vec<_>>())
}

#[test]
fn contracts_that_cannot_be_read() {
    let large = contract_text(&[("success_criteria", &format!("[\"{}\"]", "x".repeat(2 << 20)))]);
    let twice = contract_text(&[]) + "title: again\n";
    insta::assert_snapshot!(check_contracts(&[
        ("not-utf-8", b"title: \xff\n"),
        ("empty", b""),
        ("syntax", b"title: [a\nbrief: b\n"),
        ("tabs", b"title:\n\t- a\n"),
        ("large", large.as_bytes()),
        ("duplicate-key", twice.as_bytes()),
        ("missing-keys", b"schema_version: \"1\"\ntask_id: a\n"),
    ]), @"
    not-utf-8: 2
    not-utf-8.yaml:1:8: error: the file is not UTF-8
    1 error in not-utf-8.yaml. Nothing ran.
    next  cto schema contract     every field

    empty: 2
    empty.yaml:1:1: error: the document must be a map, found nothing
    1 error in empty.yaml. Nothing ran.
    next  cto schema contract     every field

    syntax: 2
    syntax.yaml:2:6: error: not valid YAML: illegal placement of ':' indicator
    1 error in syntax.yaml. Nothing ran.
    next  cto schema contract     every field

    tabs: 2
    tabs.yaml:2:1: error: a tab is used as indentation; indent with spaces
    1 error in tabs.yaml. Nothing ran.
    next  cto schema contract     every field

    large: 2
    large.yaml:1:1: error: the file is larger than 1 MiB
    1 error in large.yaml. Nothing ran.
    next  cto schema contract     every field

    duplicate-key: 2
    duplicate-key.yaml:12:1: error: duplicate key `title`, first given on line 3
    1 error in duplicate-key.yaml. Nothing ran.
    next  cto schema contract     every field

    missing-keys: 2
    missing-keys.yaml:1:1: error: `title` is missing
    missing-keys.yaml:1:1: error: `brief` is missing; What the engine gets to read.
    missing-keys.yaml:1:1: error: `risk_class` is missing
    missing-keys.yaml:1:1: error: `mutation_mode` is missing
    4 errors in missing-keys.yaml. Nothing ran.
    next  cto schema contract     every field
    ");
}

#[test]
fn contracts_with_wrong_keys_and_values() {
    insta::assert_snapshot!(check_keys(&[
        ("unknown-key", &[("titel", "a"), ("title", "")]),
        ("wrong-type", &[("allowed_paths", "a.txt")]),
        ("enum", &[("risk_class", "critcal")]),
        ("glob", &[("allowed_paths", "[\"a[\"]")]),
        ("absolute", &[("allowed_paths", "[/etc/passwd]")]),
        ("parent", &[("allowed_paths", "[../a]")]),
        ("alias", &[("allowed_paths", "&paths [a]"), ("forbidden_paths", "*paths")]),
        ("tag", &[("title", "!!str a")]),
        ("no-control-patch", &[("control_patch", "gone.patch")]),
        ("control-patch-elsewhere", &[("control_patch", "../../etc/passwd")]),
        ("shell-with-argv", &[("verification_commands", "[{argv: [a], shell: true}]")]),
        ("negative", &[("limits", "{wall_seconds: -1}")]),
        ("huge", &[("limits", "{wall_seconds: 99999999999999999999}")]),
        ("approval", &[("mutation_mode", "sandbox-repo"), ("approval_required", "false")]),
        ("task-id", &[("task_id", "../x")]),
        ("control-characters", &[("risk_class", "\"\\e[31mlow\"")]),
    ]), @r#"
    unknown-key: 2
    unknown-key.yaml:11:1: error: unknown key `titel`; did you mean `title`?
    1 error in unknown-key.yaml. Nothing ran.
    next  cto schema contract     every field

    wrong-type: 2
    wrong-type.yaml:8:16: error: `allowed_paths` must be a list, found text
    1 error in wrong-type.yaml. Nothing ran.
    next  cto schema contract     every field

    enum: 2
    enum.yaml:5:13: error: `critcal` is not a risk class; did you mean `critical`?
    1 error in enum.yaml. Nothing ran.
    next  cto schema contract     every field

    glob: 2
    glob.yaml:8:17: error: `a[` is not a glob: a bracket, brace or backslash is left open
    1 error in glob.yaml. Nothing ran.
    next  cto schema contract     every field

    absolute: 2
    absolute.yaml:8:17: error: `/etc/passwd` is not a glob: paths are relative to the repository root
    1 error in absolute.yaml. Nothing ran.
    next  cto schema contract     every field

    parent: 2
    parent.yaml:8:17: error: `../a` is not a glob: `.`, `..` and NUL are not allowed
    1 error in parent.yaml. Nothing ran.
    next  cto schema contract     every field

    alias: 2
    alias.yaml:8:16: error: an anchor (`&name`) is not accepted
    alias.yaml:12:18: error: an alias (`*name`) is not accepted
    2 errors in alias.yaml. Nothing ran.
    next  cto schema contract     every field

    tag: 2
    tag.yaml:3:8: error: a tag (`!name`) is not accepted
    1 error in tag.yaml. Nothing ran.
    next  cto schema contract     every field

    no-control-patch: 2
    no-control-patch.yaml:12:16: error: `gone.patch` cannot be read: No such file or directory (os error 2)
    1 error in no-control-patch.yaml. Nothing ran.
    next  cto schema contract     every field

    control-patch-elsewhere: 2
    control-patch-elsewhere.yaml:12:16: error: `../../etc/passwd` is not a plain relative path
    1 error in control-patch-elsewhere.yaml. Nothing ran.
    next  cto schema contract     every field

    shell-with-argv: 2
    shell-with-argv.yaml:11:25: error: `shell: true` goes with `command`, not with `argv` ["a"]
    1 error in shell-with-argv.yaml. Nothing ran.
    next  cto schema contract     every field

    negative: 2
    negative.yaml:12:24: error: `wall_seconds` must be at least 1, found -1
    1 error in negative.yaml. Nothing ran.
    next  cto schema contract     every field

    huge: 2
    huge.yaml:12:24: error: `wall_seconds` must be within ±9007199254740991, found 99999999999999999999
    1 error in huge.yaml. Nothing ran.
    next  cto schema contract     every field

    approval: 2
    approval.yaml:12:20: error: `sandbox-repo` always needs an approval; leave the key out or say true
    1 error in approval.yaml. Nothing ran.
    next  cto schema contract     every field

    task-id: 2
    task-id.yaml:2:10: error: `../x` does not have the form of `task_id`; 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or digit
    1 error in task-id.yaml. Nothing ran.
    next  cto schema contract     every field

    control-characters: 2
    control-characters.yaml:5:13: error: `␛[31mlow` is not a risk class; one of: low, medium, high, critical
    1 error in control-characters.yaml. Nothing ran.
    next  cto schema contract     every field
    "#);
}

#[test]
fn contracts_that_are_no_files() {
    let world = world();
    world.repository("source", &[("a.txt", "one\n")]);
    let here = world.here();
    world.write("trailing-comma.json", "{\n  \"schema_version\": \"1\",\n}\n");
    world.write("task.yaml", contract_text(&[]));
    world.write("patch-is-a-pipe.yaml", contract_text(&[("control_patch", "pipe.yaml")]));
    fs::create_dir(here.join("folder.yaml")).unwrap();
    pipe(&here.join("pipe.yaml"));
    symlink("pipe.yaml", here.join("to-pipe.yaml")).unwrap();
    symlink("loop.yaml", here.join("loop.yaml")).unwrap();
    let run = |name, file| row(name, 2, &["run", file, "--repo", "../source"]);
    insta::assert_snapshot!(check(&world, &[
        run("trailing comma in JSON", "trailing-comma.json"),
        run("directory", "folder.yaml"),
        run("pipe", "pipe.yaml"),
        run("link to a pipe", "to-pipe.yaml"),
        run("control patch is a pipe", "patch-is-a-pipe.yaml"),
        run("link to itself", "loop.yaml"),
        run("missing", "gone.yaml"),
        run("control characters in a name", "a\u{1b}[31m/gone.yaml"),
        row("no repository", 2, &["run", "task.yaml"]),
        run("almost a case", "r1-string-slugfy"),
        run("no case", "zzz"),
        run("no name", ""),
    ]), @"
    trailing comma in JSON: 2
    trailing-comma.json:2:24: error: not valid JSON: trailing commas are not allowed
    1 error in trailing-comma.json. Nothing ran.
    next  cto schema contract     every field

    directory: 2
    error: cannot read folder.yaml/case.yaml: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    pipe: 2
    error: cannot read pipe.yaml: it is not a regular file
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    link to a pipe: 2
    error: cannot read to-pipe.yaml: it is not a regular file
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    control patch is a pipe: 2
    patch-is-a-pipe.yaml:12:16: error: `pipe.yaml` cannot be read: it is not a regular file
    1 error in patch-is-a-pipe.yaml. Nothing ran.
    next  cto schema contract     every field

    link to itself: 2
    error: cannot read loop.yaml: Too many levels of symbolic links (os error 40)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    missing: 2
    error: cannot read gone.yaml: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    control characters in a name: 2
    error: cannot read a␛[31m/gone.yaml: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    no repository: 2
    error: task.yaml names no repository to work on
    next  add --repo DIR, or source_repository to the contract

    almost a case: 2
    error: there is no case or contract file `r1-string-slugfy`; did you mean `r1-string-slugify`?
    next  cto case list

    no case: 2
    error: there is no case or contract file `zzz`
    next  cto case list

    no name: 2
    error: there is no case or contract file ``
    next  cto case list
    ");
}

#[test]
fn cases() {
    let world = world();
    let made: &[(&str, &[(&str, &str)])] = &[
        ("patch-and-steps", &[("fake", "{patch: files/a.txt, steps: [{exit: {code: 1}}]}")]),
        ("unknown-step", &[("fake", "{steps: [{wait: {seconds: 1}}]}")]),
        ("almost-a-step", &[("fake", "{steps: [{slep: {seconds: 1}}]}")]),
        ("two-in-one-step", &[("fake", "{steps: [{exit: {code: 1}, sleep: {seconds: 1}}]}")]),
        ("wrong-in-a-step", &[("fake", "{steps: [{sleep: {second: 1}}]}")]),
        ("no-patch", &[("fake", "{patch: gone.patch}")]),
        ("reason", &[("expect", "{status: fail, reasons: [no_dif]}")]),
        ("event", &[("required_events", "[run.start]")]),
        ("both-names", &[("allowed_writes", "[a.txt]")]),
        ("no-files", &[]),
        ("link-inside", &[]),
        ("pipe-inside", &[]),
    ];
    made.iter().for_each(|(name, changes)| drop(world.case(name, changes)));
    fs::remove_dir_all(world.here().join("no-files/files")).unwrap();
    symlink("/etc/passwd", world.here().join("link-inside/files/b.txt")).unwrap();
    pipe(&world.here().join("pipe-inside/files/pipe"));
    fs::create_dir(world.here().join("empty")).unwrap();
    let paths: Vec<String> = made.iter().map(|(name, _)| format!("./{name}")).collect();
    let rows: Vec<Row<'_>> = made.iter().zip(&paths).map(|((name, _), path)| row(name, 2, &["run", path])).collect();
    insta::assert_snapshot!(check(&world, &rows), @"
    patch-and-steps: 2
    ./patch-and-steps/case.yaml:12:1: error: `fake` has either `patch` or `steps`
    1 error in ./patch-and-steps/case.yaml. Nothing ran.
    next  cto schema case     every field

    unknown-step: 2
    ./unknown-step/case.yaml:12:17: error: unknown key `wait`; one of: write, append, delete, apply, link, mkdir, init_repository, socket, state, print, sleep, exit, signal, spawn, run, commit, start_dirty
    1 error in ./unknown-step/case.yaml. Nothing ran.
    next  cto schema case     every field

    almost-a-step: 2
    ./almost-a-step/case.yaml:12:17: error: unknown key `slep`; did you mean `sleep`?
    1 error in ./almost-a-step/case.yaml. Nothing ran.
    next  cto schema case     every field

    two-in-one-step: 2
    ./two-in-one-step/case.yaml:12:16: error: entry 1 of `steps` must have exactly one key, found 2; one of: write, append, delete, apply, link, mkdir, init_repository, socket, state, print, sleep, exit, signal, spawn, run, commit, start_dirty
    1 error in ./two-in-one-step/case.yaml. Nothing ran.
    next  cto schema case     every field

    wrong-in-a-step: 2
    ./wrong-in-a-step/case.yaml:12:25: error: unknown key `second`; did you mean `seconds`?
    1 error in ./wrong-in-a-step/case.yaml. Nothing ran.
    next  cto schema case     every field

    no-patch: 2
    ./no-patch/case.yaml:12:1: error: `gone.patch` cannot be read: No such file or directory (os error 2)
    1 error in ./no-patch/case.yaml. Nothing ran.
    next  cto schema case     every field

    reason: 2
    ./reason/case.yaml:13:34: error: `no_dif` is not a reason; did you mean `no_diff`?
    1 error in ./reason/case.yaml. Nothing ran.
    next  cto schema case     every field

    event: 2
    ./event/case.yaml:13:19: error: `run.start` is not an event; did you mean `run.started`?
    1 error in ./event/case.yaml. Nothing ran.
    next  cto schema case     every field

    both-names: 2
    ./both-names/case.yaml:13:1: error: `allowed_writes` is the older name of `allowed_paths`; say one of them
    1 error in ./both-names/case.yaml. Nothing ran.
    next  cto schema case     every field

    no-files: 2
    error: cannot read ./no-files/files/: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    link-inside: 2
    error: ./link-inside/files/b.txt cannot be part of a case: it is not a regular file
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    pipe-inside: 2
    error: ./pipe-inside/files/pipe cannot be part of a case: it is not a regular file
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file
    ");
    insta::assert_snapshot!(check(&world, &[
        row("empty folder", 2, &["run", "./empty"]),
        row("check: missing", 2, &["case", "check", "./gone"]),
        row("decide: missing", 2, &["decide", "./gone"]),
        row("new: id", 2, &["case", "new", "../x", "--dir", "."]),
        row("new: built-in", 2, &["case", "new", "fail-no-diff", "--dir", "."]),
        row("new: there already", 2, &["case", "new", "reason", "--dir", "."]),
        row("new: no workspace", 2, &["case", "new", "mine"]),
    ]), @"
    empty folder: 2
    error: cannot read ./empty/case.yaml: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    check: missing: 2
    error: cannot read ./gone: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    decide: missing: 2
    error: cannot read ./gone: No such file or directory (os error 2)
    next  a task is a case id (cto case list), a folder with case.yaml and files/, or a contract file

    new: id: 2
    error: `../x` is not a task id: 1 to 64 of letters, digits, `.`, `_`, `-`, beginning with a letter or digit
    next  cto case new my-case

    new: built-in: 2
    error: `fail-no-diff` is a built-in case
    next  choose another id

    new: there already: 2
    error: cannot make ./reason: File exists (os error 17)
    next  choose another id, or another place with --dir DIR

    new: no workspace: 2
    error: there is no workspace to put a case in
    next  cto init, or say --dir DIR
    ");
}

#[test]
fn bundles() {
    let world = world();
    world.write("file", "text\n");
    world.write("key.pub", "not a key\n");
    world.write("almost/report.json", "{}");
    fs::create_dir(world.here().join("empty")).unwrap();
    pipe(&world.here().join("pipe"));
    let verify = |name, args: &[&'static str]| row(name, 2, &[&["verify"], args].concat());
    insta::assert_snapshot!(check(&world, &[
        verify("missing", &["./gone"]),
        verify("file", &["./file"]),
        verify("empty", &["./empty"]),
        verify("pipe", &["./pipe"]),
        verify("a run, without a home", &["abcd"]),
        verify("no key", &["./almost", "--key", "gone.pub"]),
        verify("not a key", &["./almost", "--key", "key.pub"]),
        verify("expectation", &["./almost", "--expect", "colour=red"]),
        verify("digest", &["./almost", "--expect", "contract=xyz"]),
        verify("age", &["./almost", "--expect", "max-age=5y"]),
    ]), @"
    missing: 2
    error: ./gone does not exist
    next  give a run id, or the directory that holds report.json

    file: 2
    error: ./file is not a bundle: it is not a directory
    next  give a run id, or the directory that holds report.json

    empty: 2
    error: ./empty is not a bundle: it has neither report.json nor attestation.dsse.json
    next  give a run id, or the directory that holds report.json

    pipe: 2
    error: ./pipe is not a bundle: it is not a directory
    next  give a run id, or the directory that holds report.json

    a run, without a home: 2
    error: there is no home at <world>/home
    next  run something first (cto demo), or name another with --home

    no key: 2
    error: cannot read or write the key gone.pub: No such file or directory (os error 2)
    next  cto key show     names the files

    not a key: 2
    error: key.pub is not an ed25519 key: expected an OpenSSH line (`ssh-ed25519 AAAA...`) or PEM
    next  cto key show     names the files

    expectation: 2
    error: invalid value 'colour=red' for '--expect <KEY=VALUE>': `colour=red` is not an expectation: contract=<digest>, baseline=<commit>, signer=<key id>, max-age=<N>(s|m|h|d), coverage=empty

    For more information, try '--help'.

    digest: 2
    error: invalid value 'contract=xyz' for '--expect <KEY=VALUE>': `contract=xyz` is not an expectation: contract=<digest>, baseline=<commit>, signer=<key id>, max-age=<N>(s|m|h|d), coverage=empty

    For more information, try '--help'.

    age: 2
    error: invalid value 'max-age=5y' for '--expect <KEY=VALUE>': `max-age=5y` is not an expectation: contract=<digest>, baseline=<commit>, signer=<key id>, max-age=<N>(s|m|h|d), coverage=empty

    For more information, try '--help'.
    ");
}

#[test]
fn runs() {
    let world = world();
    let ids = [0, 1].map(|_| world.run("fail-critical-risk", 3).0["run_id"].as_str().unwrap().to_owned());
    let said = check(
        &world,
        &[
            row("unknown", 2, &["show", "nope"]),
            row("empty", 2, &["show", ""]),
            row("too far back", 2, &["show", "@-99"]),
            row("not a number", 2, &["show", "@x"]),
            row("path", 2, &["show", "../.."]),
            row("wildcard", 2, &["show", "%"]),
            row("control characters", 2, &["show", "a\u{1b}[31mb"]),
            row("ambiguous", 2, &["show", "2"]),
            row("logs", 2, &["logs", "nope"]),
            row("diff", 2, &["diff", "nope"]),
            row("verify", 2, &["verify", "nope"]),
        ],
    );
    fs::remove_dir_all(world.bundles().join(&ids[0])).unwrap();
    let said = said + &check(&world, &[row("its bundle is gone", 1, &["show", &ids[0]])]);
    insta::assert_snapshot!(said.replace(&ids[0], "<run 1>").replace(&ids[1], "<run 2>"), @"
    unknown: 2
    error: no run matches `nope`
    next  cto runs

    empty: 2
    error: no run matches ``
    next  cto runs

    too far back: 2
    error: no run matches `@-99`
    next  cto runs

    not a number: 2
    error: no run matches `@x`
    next  cto runs

    path: 2
    error: no run matches `../..`
    next  cto runs

    wildcard: 2
    error: no run matches `%`
    next  cto runs

    control characters: 2
    error: no run matches `a␛[31mb`
    next  cto runs

    ambiguous: 2
    error: `2` stands for 2 runs: <run 2>, <run 1>
    next  use more of the id

    logs: 2
    error: no run matches `nope`
    next  cto runs

    diff: 2
    error: no run matches `nope`
    next  cto runs

    verify: 2
    error: no run matches `nope`
    next  cto runs

    its bundle is gone: 1
    error: the bundle of <run 1> is gone: <world>/home/harness-runs/<run 1> does not exist
    next  restore it from a backup; the ledger still knows its digest
    ");
}

#[test]
fn flags() {
    let world = world();
    let run = |name, args: &[&'static str]| row(name, 2, &[&["run", "fail-no-diff"], args].concat());
    insta::assert_snapshot!(check(&world, &[
        row("no such command", 2, &["race"]),
        row("almost a command", 2, &["verfy"]),
        row("no task", 2, &["run"]),
        run("unknown flag", &["--fast"]),
        run("engine", &["--engine", "claude"]),
        run("stage 0", &["--stage", "0"]),
        run("stage seven", &["--stage", "seven"]),
        run("sandbox", &["--sandbox", "weak"]),
        run("timeout 0", &["--timeout", "0"]),
        run("timeout without end", &["--timeout", "99999999999999999999"]),
        run("control characters", &["--stage", "\u{1b}[31m2"]),
        row("jobs", 2, &["matrix", "--jobs", "0"]),
        row("quiet and verbose", 2, &["-q", "-v", "runs"]),
        row("colour", 2, &["--color", "blue", "runs"]),
        row("status", 2, &["runs", "--status", "good"]),
        row("since", 2, &["runs", "--since", "yesterday"]),
        row("limit", 2, &["runs", "--limit=-1"]),
        row("reason", 2, &["explain", "no_dif"]),
        row("schema", 2, &["schema", "nope"]),
        row("shell", 2, &["completions", "tcsh"]),
    ]), @"
    no such command: 2
    error: unrecognized subcommand 'race'

    Usage: cto [OPTIONS] <COMMAND>

    For more information, try '--help'.

    almost a command: 2
    error: unrecognized subcommand 'verfy'

      tip: a similar subcommand exists: 'verify'

    Usage: cto [OPTIONS] <COMMAND>

    For more information, try '--help'.

    no task: 2
    error: the following required arguments were not provided:
      <TASK>

    Usage: cto run <TASK>

    For more information, try '--help'.

    unknown flag: 2
    error: unexpected argument '--fast' found

      tip: to pass '--fast' as a value, use '-- --fast'

    Usage: cto run <TASK>

    For more information, try '--help'.

    engine: 2
    error: there is no engine `claude`
    next  engines: fake

    stage 0: 2
    error: invalid value '0' for '--stage <N>': 0 is not in 1..=6

    For more information, try '--help'.

    stage seven: 2
    error: invalid value 'seven' for '--stage <N>': invalid digit found in string

    For more information, try '--help'.

    sandbox: 2
    error: invalid value 'weak' for '--sandbox <P>'
      [possible values: strict, landlock, none]

    For more information, try '--help'.

    timeout 0: 2
    error: invalid value '0' for '--timeout <S>': 0 is not in 1..=604800

    For more information, try '--help'.

    timeout without end: 2
    error: invalid value '99999999999999999999' for '--timeout <S>': number too large to fit in target type

    For more information, try '--help'.

    control characters: 2
    error: invalid value '2' for '--stage <N>': invalid digit found in string

    For more information, try '--help'.

    jobs: 2
    error: invalid value '0' for '--jobs <N>': 0 is not in 1..=256

    For more information, try '--help'.

    quiet and verbose: 2
    error: the argument '--quiet' cannot be used with '--verbose'

    Usage: cto --quiet <COMMAND>

    For more information, try '--help'.

    colour: 2
    error: invalid value 'blue' for '--color <WHEN>'
      [possible values: auto, always, never]

    For more information, try '--help'.

    status: 2
    error: invalid value 'good' for '--status <STATUS>'
      [possible values: running, pass, fail, blocked]

    For more information, try '--help'.

    since: 2
    error: `yesterday` is not a time
    next  --since today, --since 2026-11-15, or an RFC 3339 time

    limit: 2
    error: invalid value '-1' for '--limit <N>': -1 is not in 1..=1000000

    For more information, try '--help'.

    reason: 2
    error: `no_dif` is not a reason
    next  did you mean `no_diff`? cto explain lists them all

    schema: 2
    error: there is no schema `nope`
    next  one of: case, config, contract, eligibility-decision, envelope, event, matrix, report, sandbox, statement, task-contract

    shell: 2
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}

#[test]
fn homes_and_workspaces() {
    let world = world();
    world.write("file", "text\n");
    symlink("gone", world.here().join("dangling")).unwrap();
    let run = |name, home| row(name, 2, &["run", "fail-no-diff", "--home", home]);
    insta::assert_snapshot!(check(&world, &[
        row("missing", 2, &["runs"]),
        row("missing: a run", 2, &["show", "@"]),
        row("missing: keys", 2, &["key", "show"]),
        run("file", "file"),
        row("file: looking", 2, &["runs", "--home", "file"]),
        run("below a file", "file/below"),
        row("below a file: looking", 2, &["runs", "--home", "file/below"]),
        run("where nothing can be made", "/proc/cto"),
        run("no name", ""),
        run("dangling link", "dangling"),
        row("no HOME", 2, &["run", "fail-no-diff"]).env("CTO_HOME", None).env("HOME", None),
        row("workspace: not registered", 2, &["case", "list", "--workspace", "."]),
        row("workspace: missing", 2, &["case", "list", "--workspace", "gone"]),
        row("workspace: from the environment", 2, &["case", "list"]).env("CTO_WORKSPACE", Some("gone")),
        row("init: a file", 2, &["init", "file"]),
    ]), @"
    missing: 2
    error: there is no home at <world>/home
    next  run something first (cto demo), or name another with --home

    missing: a run: 2
    error: there is no home at <world>/home
    next  run something first (cto demo), or name another with --home

    missing: keys: 2
    error: there is no home at <world>/home
    next  run something first (cto demo), or name another with --home

    file: 2
    error: <world>/here/file is not a directory, so it cannot be the home
    next  name a directory you can write with --home DIR or CTO_HOME

    file: looking: 2
    error: <world>/here/file is not a directory, so it cannot be the home
    next  name a directory you can write with --home DIR or CTO_HOME

    below a file: 2
    error: cannot use <world>/here/file/below as the home: Not a directory (os error 20)
    next  name a directory you can write with --home DIR or CTO_HOME

    below a file: looking: 2
    error: cannot use <world>/here/file/below as the home: Not a directory (os error 20)
    next  name a directory you can write with --home DIR or CTO_HOME

    where nothing can be made: 2
    error: cannot use /proc/cto as the home: No such file or directory (os error 2)
    next  name a directory you can write with --home DIR or CTO_HOME

    no name: 2
    error: a value is required for '--home <DIR>' but none was supplied

    For more information, try '--help'.

    dangling link: 2
    error: cannot use <world>/here/dangling as the home: File exists (os error 17)
    next  name a directory you can write with --home DIR or CTO_HOME

    no HOME: 2
    error: there is no HOME to keep runs in
    next  name a directory with --home DIR or CTO_HOME

    workspace: not registered: 2
    error: <world>/here is not a registered workspace
    next  cto init <world>/here

    workspace: missing: 2
    error: cannot use gone as the workspace: No such file or directory (os error 2)
    next  cto init gone

    workspace: from the environment: 2
    error: cannot use gone as the workspace: No such file or directory (os error 2)
    next  cto init gone

    init: a file: 2
    error: cannot make a workspace in file: Not a directory (os error 20)
    next  name a directory you can write: cto init DIR
    ");
}

/// Odd, and good: they are used as they stand.
#[test]
fn homes_with_odd_names() {
    let world = world();
    fs::create_dir(world.here().join("real")).unwrap();
    symlink("real", world.here().join("link")).unwrap();
    for home in ["\u{fc} s'p\"ace", "relative/deep", "link", "-dash"] {
        let home = format!("--home={home}");
        let report = world.cto(["run", "fail-no-diff", "--json", &home]).expect(1).json();
        let verified = world.cto(["verify", "@", "--json", &home]).expect(0).json();
        assert_eq!(verified["run_id"], report["run_id"]);
        let listed = world.cto(["runs", "--json", &home]).expect(0).json();
        assert_eq!(listed["run_id"], report["run_id"]);
    }
    assert!(world.here().join("real/ledger.db").is_file(), "the link was followed");
}

#[test]
fn configuration() {
    let world = world();
    let file = world.user().join(".config/cto/config.yaml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut said = String::new();
    for (name, text) in [
        ("unknown key", "sandbx: strict\n"),
        ("value", "sandbox: none?\n"),
        ("syntax", "sandbox: [\n"),
        ("list", "- sandbox\n"),
    ] {
        fs::write(&file, text).unwrap();
        said += &check(&world, &[row(name, 2, &["run", "fail-no-diff"])]);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    said += &check(&world, &[row("directory", 2, &["config"])]);
    insta::assert_snapshot!(said, @"
    unknown key: 2
    <world>/user/.config/cto/config.yaml:1:1: error: unknown key `sandbx`; did you mean `sandbox`?
    1 error in <world>/user/.config/cto/config.yaml. Nothing ran.
    next  cto schema config     every field

    value: 2
    <world>/user/.config/cto/config.yaml:1:10: error: `none?` is not a sandbox profile; did you mean `none`?
    1 error in <world>/user/.config/cto/config.yaml. Nothing ran.
    next  cto schema config     every field

    syntax: 2
    <world>/user/.config/cto/config.yaml:1:11: error: not valid YAML: while parsing a node, did not find expected node content
    1 error in <world>/user/.config/cto/config.yaml. Nothing ran.
    next  cto schema config     every field

    list: 2
    <world>/user/.config/cto/config.yaml:1:1: error: the document must be a map, found a list
    1 error in <world>/user/.config/cto/config.yaml. Nothing ran.
    next  cto schema config     every field

    directory: 2
    error: cannot read <world>/user/.config/cto/config.yaml: Is a directory (os error 21)
    next  mend it or move it away; without the file its layer is empty
    ");
}

/// Every command that needs the ledger stops, and leaves the file as it is.
#[test]
fn ledgers_and_keys() {
    let world = world();
    world.run("fail-critical-risk", 3);
    let ledger = world.home().join("ledger.db");
    let settle = |sql: &str| {
        let connection = rusqlite::Connection::open(&ledger).unwrap();
        connection
            .execute_batch(&format!("{sql}; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE"))
            .unwrap();
    };
    settle("PRAGMA user_version");
    let good = fs::read(&ledger).unwrap();
    let mut said = String::new();
    let mut stops = |name: &str| {
        said += &check(
            &world,
            &[
                row(&format!("{name}: runs"), 3, &["runs"]),
                row(&format!("{name}: run"), 3, &["run", "fail-no-diff"]),
                row(&format!("{name}: recover"), 3, &["recover"]),
            ],
        );
    };
    let mut damaged = good.clone();
    damaged[100..].fill(b'x');
    fs::write(&ledger, damaged).unwrap();
    stops("damaged");
    fs::write(&ledger, "hello\n".repeat(1000)).unwrap();
    stops("something else");
    fs::write(&ledger, &good).unwrap();
    settle("PRAGMA user_version = 99");
    stops("newer");
    fs::remove_file(&ledger).unwrap();
    fs::create_dir(&ledger).unwrap();
    stops("directory");
    fs::remove_dir(&ledger).unwrap();
    fs::write(&ledger, good).unwrap();
    fs::write(world.home().join("keys/harness.pem"), "garbage\n").unwrap();
    said += &check(&world, &[row("key: run", 3, &["run", "fail-no-diff"]), row("key: verify", 3, &["verify", "@"])]);
    insta::assert_snapshot!(said, @"
    damaged: runs: 3
    blocked: the ledger <world>/home/ledger.db is damaged
    next  Keep the file, restore a copy, or move it away to start a new ledger; sealed bundles do not depend on it.

    damaged: run: 3
    blocked: the ledger <world>/home/ledger.db is damaged
    next  Keep the file, restore a copy, or move it away to start a new ledger; sealed bundles do not depend on it.

    damaged: recover: 3
    blocked: the ledger <world>/home/ledger.db is damaged
    next  Keep the file, restore a copy, or move it away to start a new ledger; sealed bundles do not depend on it.

    something else: runs: 3
    blocked: <world>/home/ledger.db is not a ledger
    next  Move the file away, or give another home; it is left as it is.

    something else: run: 3
    blocked: <world>/home/ledger.db is not a ledger
    next  Move the file away, or give another home; it is left as it is.

    something else: recover: 3
    blocked: <world>/home/ledger.db is not a ledger
    next  Move the file away, or give another home; it is left as it is.

    newer: runs: 3
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 1
    next  Use the newer program that wrote it, or give another home.

    newer: run: 3
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 1
    next  Use the newer program that wrote it, or give another home.

    newer: recover: 3
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 1
    next  Use the newer program that wrote it, or give another home.

    directory: runs: 3
    blocked: the ledger <world>/home/ledger.db is a directory
    next  Move the folder away, or give another home.

    directory: run: 3
    blocked: the ledger <world>/home/ledger.db is a directory
    next  Move the folder away, or give another home.

    directory: recover: 3
    blocked: the ledger <world>/home/ledger.db is a directory
    next  Move the folder away, or give another home.

    key: run: 3
    blocked: <world>/home/keys/harness.pem is not an ed25519 key: expected an OpenSSH line (`ssh-ed25519 AAAA...`) or PEM
    next  restore the key from a backup, or move it away to have a new one made

    key: verify: 3
    blocked: <world>/home/keys/harness.pem is not an ed25519 key: expected an OpenSSH line (`ssh-ed25519 AAAA...`) or PEM
    next  restore the key from a backup, or move it away to have a new one made
    ");
}
