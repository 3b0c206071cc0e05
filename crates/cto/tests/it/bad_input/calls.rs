//! Bundles, run ids and flags.

use super::*;

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
    error: ./file is not an archive of a run: it is not compressed with zstd. Nothing was kept.
    next  give a file that `cto export` wrote

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
    error: ../.. is not a bundle: it has neither report.json nor attestation.dsse.json
    next  give a run id, or the directory that holds report.json

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
        row("no such command", 2, &["fly"]),
        row("almost a command", 2, &["verfy"]),
        row("no task", 2, &["run"]),
        run("unknown flag", &["--fast"]),
        run("engine", &["--engine", "nobody"]),
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
    error: unrecognized subcommand 'fly'

    Usage: cto [OPTIONS] <COMMAND>

    For more information, try '--help'.

    almost a command: 2
    error: unrecognized subcommand 'verfy'

      tip: some similar subcommands exist: 'reverify', 'verify'

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
    error: there is no engine `nobody`
    next  engines: fake, case, claude, codex, opencode, pi

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
    next  --since today, --since 2d, --since 2026-11-15, or an RFC 3339 time

    limit: 2
    error: invalid value '-1' for '--limit <N>': -1 is not in 1..=1000000

    For more information, try '--help'.

    reason: 2
    error: `no_dif` is not a reason; did you mean `no_diff`?
    next  cto explain no_diff     cto explain lists them all

    schema: 2
    error: there is no schema `nope`
    next  one of: approval, approval-policy, approvals, archive, audit, case, comparison, compromised-keys, config, continuity, contract, control-summary, core-promotion-decision, countersignature, decision-packet, denial, eligibility-decision, engine, envelope, event, front-matter, guard, halt, hold, matrix, model-admission, model-usage, outcome, pack, packed, packet, patch-taken, plan, provider-decision, records, repeat, report, request, reverification, revocation, rollback, rules, sandbox, source-admission, stage2-no-target-inspection, stage3-copied-repo-proof, stage4-disposable-sandbox-proof, stage5-owned-repo-proof, stage6-candidate-default-comparison, stage6-owned-repo-proof, stage6-real-governed-refresh-comparison, statement, target-admission, task-contract, unpacked, workboard, worker, workspace-validation

    shell: 2
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}
