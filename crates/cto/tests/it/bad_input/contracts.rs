//! Contracts and cases that cannot be meant.

use super::*;

/// Errors of contract files with these texts; each name is also the name of its file.
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
    missing-keys.yaml:1:1: error: `brief` is missing; Text for the engine.
    missing-keys.yaml:1:1: error: `risk_class` is missing
    2 errors in missing-keys.yaml. Nothing ran.
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
