//! Homes, workspaces, settings, ledgers and keys.

use super::*;

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
    next  fix it or move it away; without the file its layer is empty
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
    world.write_own("ledger.db", good);
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
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 8
    next  Use the newer program that wrote it, or give another home.

    newer: run: 3
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 8
    next  Use the newer program that wrote it, or give another home.

    newer: recover: 3
    blocked: the ledger <world>/home/ledger.db has schema version 99; this program knows 8
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
