//! The command line itself: help, plumbing, colour, settings, and what a reader of its output can rely on.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on must stop")]

use std::fs;
use std::process::Stdio;

use contract::Reason;
use serde_json::{Value, json};
use testkit::{Ran, World, program};

use crate::world;

/// A call with some variables set, or taken away.
fn call(world: &World, args: &[&str], env: &[(&str, Option<&str>)]) -> Ran {
    let mut command = world.command(args);
    for (name, value) in env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    World::finish(child.expect("the binary starts"))
}

/// The names under `Commands:` in a help text.
pub(crate) fn commands_in(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A long explanation goes on below itself.
    listed
        .filter(|line| !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().expect("a name").to_owned())
        .collect()
}

/// Checks the help of a command and of those below it; gives their names.
fn check_help(world: &World, path: &[&str]) -> Vec<String> {
    let words: Vec<&str> = path.iter().chain(&["--help"]).copied().collect();
    let ran = call(world, &words, &[("COLUMNS", Some("80"))]).expect(0);
    let help = ran.text();
    assert_eq!(ran.stderr, "");
    assert!(help.lines().next().is_some_and(|line| line.len() > 5), "{path:?} says what it is for: {help}");
    let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{path:?}: wider than the terminal: {wide:?}");
    let lines = help.lines().zip(help.lines().skip(1).chain([""]));
    let named = lines.filter(|(line, _)| line.starts_with("  ") && !line.starts_with("   "));
    for (line, next) in named.filter(|(line, _)| line.trim_start().starts_with(['<', '[', '-'])) {
        // Behind its name, or below it if the name is long.
        let text = line.trim().split_once("  ").map_or(next, |(_, text)| text);
        assert!(text.trim().chars().next().is_some_and(char::is_alphabetic), "{path:?}: {line:?} is not explained");
    }
    let mut names = vec![path.join(" ")];
    for name in commands_in(&help) {
        names.extend(check_help(world, &[path, &[name.as_str()]].concat()));
    }
    names
}

/// There is no command for a feature that is not built.
#[test]
fn every_command_is_explained_and_built() {
    let names = check_help(&world(), &[]);
    insta::assert_snapshot!(names.join("\n"), @"

    demo
    init
    setup
    doctor
    health
    validate
    validate workspace
    validate summary
    validate stage
    sandbox
    new
    decide
    run
    request
    packet
    approve
    deny
    hold
    revoke
    approvals
    matrix
    race
    repeat
    compare
    take
    outcome
    rollback
    status
    top
    serve
    hermes
    hermes smoke
    hermes install
    hermes uninstall
    hermes status
    summary
    ladder
    ladder explain
    refresh
    runs
    show
    diff
    logs
    verify
    scan
    reverify
    attach
    replay
    export
    import
    recover
    gc
    stop
    submit
    queue
    watch
    cancel
    worker
    drain
    halt
    resume
    ledger
    ledger verify
    ledger rebuild
    ledger migrate
    ledger continue
    case
    case list
    case new
    case check
    environment
    environment suggest
    key
    key init
    key show
    schema
    explain
    engine
    engine list
    engine probe
    engine enable
    admit
    admit source
    admit target
    admit model
    records
    records draft
    work
    work list
    work show
    work next
    work status
    work graph
    work closeout
    guard
    audit
    pack
    unpack
    record
    record sign
    record check
    trust
    trust workspace
    trust workspace list
    trust workspace remove
    trust key
    trust key add
    trust key list
    trust key retire
    trust key compromised
    trust worker
    trust worker add
    trust worker remove
    trust worker list
    bridge
    config
    completions
    man
    ");
}

#[test]
fn the_help_of_the_program() {
    let world = world();
    let help = world.cto(["--help"]).expect(0);
    assert_eq!(world.cto(["-h"]).expect(0).stdout, help.stdout);
    let help = help.text();
    assert!(help.starts_with("Let coding agents change real code without handing over authority"), "{help}");
    let examples: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Examples:")
        .filter_map(|line| line.trim().strip_prefix("cto "))
        .collect();
    assert!(
        examples.len() >= 3
            && examples.iter().all(|example| commands_in(&help).iter().any(|it| example.starts_with(it.as_str())))
    );
    let without = world.cto::<&str>([]);
    assert_eq!((without.code, without.text()), (2, String::new()));
    assert!(without.stderr.contains("Usage: cto"));
    assert_eq!(world.cto(["--version"]).expect(0).text(), format!("cto {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_manual_pages() {
    let world = world();
    for shell in ["bash", "zsh", "fish"] {
        let script = world.cto(["completions", shell]).expect(0).text();
        for word in ["verify", "matrix", "keep-workspace"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // As a word of its own: subcommands of subcommands are joined by two underlines.
        let words = |name: &str| [' ', '"', '\''].map(|before| format!("{before}{name}"));
        assert!(words("matrix").iter().any(|word| script.contains(word)), "{shell}: the control");
        for hidden in ["__fake", "__model"] {
            assert!(!words(hidden).iter().any(|word| script.contains(word)), "{shell}: hidden roles stay hidden");
        }
        let file = world.write(&format!("cto.{shell}"), script);
        if let Ok(checked) = program(shell, &world.here()).arg("-n").arg(file).output() {
            assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    assert!(world.cto(["man"]).expect(0).text().contains(".TH cto 1"));
    let _ = world.cto(["man", "--out", "pages"]).expect(0);
    let mut pages: Vec<String> = fs::read_dir(world.here().join("pages"))
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert!(pages.contains(&"cto.1".to_owned()) && pages.contains(&"cto-run.1".to_owned()), "{pages:?}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let world = world();
    let _ = world.run("fail-cheat-edits-tests", 1);
    let set = |name| [(name, Some("1"))];
    for (args, env, coloured) in [
        (&[][..], &[][..], false),
        (&["--color", "auto"], &[], false),
        (&["--color", "never"], &[], false),
        (&[], &set("NO_COLOR"), false),
        (&[], &set("CLICOLOR_FORCE"), false),
        (&["--color", "always"], &[], true),
        (&["--color", "always"], &set("NO_COLOR"), true),
        (&["--color", "always", "--json"], &[], false),
    ] {
        // The plain form for pipes has no colour at all, whatever is asked for.
        for command in [&["show", "@"][..], &["runs"], &["diff", "@"], &["verify", "@"], &["case", "list"], &["doctor"]]
        {
            let ran = call(&world, &[command, args].concat(), env);
            assert!(!ran.text().contains('\u{1b}') && ran.stderr.is_empty(), "{command:?} {args:?} {env:?}: {ran:?}");
        }
        let refused = call(&world, &[&["show", "nope"][..], args].concat(), env);
        assert!(!refused.text().contains('\u{1b}'), "{args:?}: {refused:?}");
        let wanted = coloured || args == ["--color", "always", "--json"];
        assert_eq!(refused.stderr.contains("\u{1b}[1;31merror\u{1b}[0m"), wanted, "{args:?} {env:?}: {refused:?}");
        let made = call(&world, &[&["init", "."][..], args].concat(), env).text();
        assert_eq!(made.contains('\u{1b}'), coloured, "{args:?} {env:?}: {made:?}");
    }
}

#[test]
fn the_plain_form_begins_with_status_and_run() {
    let world = world();
    for (case, code, status) in
        [("shell-script-rotate-logs", 0, "pass"), ("fail-no-diff", 1, "fail"), ("fail-critical-risk", 3, "blocked")]
    {
        let ran = world.cto(["run", case]).expect(code);
        assert_eq!(ran.stderr, "", "a run on a pipe has nothing to say but its result");
        let (first, _) = ran.text().split_once('\n').map(|(first, rest)| (first.to_owned(), rest.to_owned())).unwrap();
        let row: Value = world.cto(["runs", "--json", "--limit", "1"]).expect(0).json();
        assert_eq!(first, format!("{status} {}", row["run_id"].as_str().unwrap()));
        assert_eq!(world.cto(["show", "@"]).expect(0).text(), ran.text(), "show says the same");
        let report = fs::read(world.bundles().join(row["run_id"].as_str().unwrap()).join("report.json")).unwrap();
        assert_eq!(world.cto(["show", "@", "--json"]).expect(0).stdout, report);
    }
    let json = world.cto(["run", "fail-no-diff", "--json"]).expect(1);
    let bundle = world.bundles().join(json.json()["run_id"].as_str().unwrap());
    assert_eq!(json.stdout, fs::read(bundle.join("report.json")).unwrap(), "--json prints the report's own bytes");
    assert_eq!(json.stderr, "");
}

#[test]
fn every_reason_is_explained() {
    let world = world();
    let all = world.cto(["explain", "--json"]).expect(0).json();
    let list = world.cto(["explain"]).expect(0).text();
    assert_eq!(all.as_array().unwrap().len(), Reason::ALL.len());
    for (reason, listed) in Reason::ALL.iter().zip(all.as_array().unwrap()) {
        let text = world.cto(["explain", reason.code()]).expect(0).text();
        for part in [reason.code(), reason.sentence(), reason.remedy(), reason.event().name()] {
            assert!(text.contains(part), "{reason}: {part:?} in {text}");
        }
        assert_eq!(world.cto(["explain", reason.code(), "--json"]).expect(0).json(), *listed);
        assert!(list.lines().any(|line| line.starts_with(&format!("{reason} "))), "{reason} in {list}");
        // A remedy that names a command names one that is there.
        for command in reason.remedy().split("cto ").skip(1).filter_map(|rest| rest.split([' ', ';']).next()) {
            let _ = world.cto([command, "--help"]).expect(0);
        }
    }
}

/// The settings as `name: (value, source)`.
fn settings(world: &World, args: &[&str], env: &[(&str, Option<&str>)]) -> Vec<(String, String, String)> {
    let ran = call(world, &[&["config", "--json"][..], args].concat(), env).expect(0);
    let text = |value: &Value| value.as_str().unwrap().replace(world.path().to_str().unwrap(), "");
    let settings = ran.json();
    let rows = settings.as_array().unwrap().iter();
    rows.map(|row| (text(&row["name"]), text(&row["value"]), text(&row["source"]))).collect()
}

#[test]
fn the_home_comes_from_the_strongest_layer() {
    let world = world();
    fs::create_dir_all(world.user().join("hermes/profiles/cto-planb")).unwrap();
    let path = |name: &str| world.path().join(name).display().to_string();
    let (data, hermes, bare) = (path("data"), path("user/hermes"), path("user/bare"));
    let no_home = ("CTO_HOME", None);
    for (args, env, value, source) in [
        (&["--home", "/x"][..], &[][..], "/x", "--home"),
        (&[], &[], "/home", "CTO_HOME"),
        (
            &[],
            &[no_home, ("HERMES_HOME", Some(hermes.as_str()))],
            "/user/hermes/profiles/cto-planb",
            "the Hermes profile",
        ),
        (&[], &[no_home, ("HERMES_HOME", Some(bare.as_str()))], "/user/.local/share/cto", "built-in"),
        (&[], &[no_home, ("XDG_DATA_HOME", Some(data.as_str()))], "/data/cto", "built-in"),
        (&[], &[no_home], "/user/.local/share/cto", "built-in"),
        (&[], &[("CTO_HOME", Some("")), ("XDG_DATA_HOME", Some(data.as_str()))], "/data/cto", "built-in"),
    ] {
        let home = settings(&world, args, env).remove(0);
        assert_eq!((home.0.as_str(), home.1.as_str(), home.2.as_str()), ("home", value, source), "{args:?} {env:?}");
    }
}

#[test]
fn a_sandbox_setting_only_gets_stricter() {
    let world = world();
    let _ = world.cto(["init", "."]).expect(0);
    let xdg = world.path().join("xdg").display().to_string();
    let env = [("XDG_CONFIG_HOME", Some(xdg.as_str()))];
    let sandbox = |world: &World| {
        let all = settings(world, &[], &env);
        let (_, value, source) = all.into_iter().find(|(name, ..)| name == "sandbox").unwrap();
        format!("{value} {source}")
    };
    assert_eq!(sandbox(&world), "strict built-in");
    fs::create_dir_all(world.path().join("xdg/cto")).unwrap();
    let user = |text: &str| fs::write(world.path().join("xdg/cto/config.yaml"), text).unwrap();
    let workspace = |text: &str| fs::write(world.here().join("harness.yaml"), text).unwrap();
    user("sandbox: strict\n");
    assert_eq!(sandbox(&world), "strict /xdg/cto/config.yaml");
    workspace("sandbox: none\n");
    assert_eq!(sandbox(&world), "strict /xdg/cto/config.yaml", "a workspace cannot widen it");
    user("sandbox: none\n");
    workspace("sandbox: landlock\n");
    assert_eq!(sandbox(&world), "landlock /here/harness.yaml");

    let weaker = call(&world, &["run", "fail-no-diff", "--sandbox", "none"], &env).expect(2);
    insta::assert_snapshot!(weaker.stderr, @"
    error: --sandbox none is weaker than `landlock`, which the configuration demands
    next  cto config
    ");
    assert!(!world.bundles().exists() || fs::read_dir(world.bundles()).unwrap().next().is_none(), "nothing ran");
    let report = call(&world, &["run", "fail-no-diff", "--json"], &env).expect(3).json();
    assert_eq!(report["blocker_reasons"], json!(["sandbox_unavailable"]), "it is asked for, and not there");
    let report = call(&world, &["run", "fail-no-diff", "--sandbox", "strict", "--json"], &env).expect(1).json();
    assert_eq!((&report["sandbox"]["asked"], &report["sandbox"]["profile"]), (&json!("strict"), &json!("strict")));
}

#[test]
fn a_workspace_and_a_case_of_its_own() {
    let world = world();
    let made = world.cto(["init", "site"]).expect(0).text();
    assert_eq!(made.lines().filter(|line| line.starts_with("made ")).count(), 8, "{made}");
    let site = world.here().join("site");
    fs::write(site.join("harness.yaml"), "# mine\n").unwrap();
    let again = world.cto(["init", "site", "--json"]).expect(0).json();
    assert_eq!(again["files"], json!([]), "what is there is left alone");
    assert_eq!(fs::read_to_string(site.join("harness.yaml")).unwrap(), "# mine\n");
    let registered = fs::read_to_string(world.home().join("trust/workspaces")).unwrap();
    assert_eq!(registered, format!("{}\n", site.display()), "it is registered once");

    let source = world.repository("source", &[("src/a", "one\n")]);
    let asked = ["decide", "site/contracts/example.yaml", "--json", "--repo", source.to_str().unwrap()];
    let decision = world.cto(asked).expect(3).json();
    assert_eq!(decision["reasons"], json!(["provider_unavailable"]), "the example is good, and is for a real engine");

    let inside = |args: &[&str]| {
        let output = world.command(args).current_dir(&site).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = inside(&["case", "new", "mine"]);
    assert_eq!(
        (code, said.lines().next()),
        (Some(0), Some(format!("made {}", site.join("cases/mine").display()).as_str()))
    );
    let (code, said) = inside(&["case", "check", "mine"]);
    assert_eq!((code, said.as_str()), (Some(0), "pass mine ended pass \n"));
    let (code, said) = inside(&["run", "mine", "--json"]);
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &report["status"]), (Some(0), &json!("pass")));
    let coverage = report["coverage"].as_array().unwrap().iter();
    let coverage: Vec<&Value> = coverage.filter(|code| **code != "limits_by_rlimit").collect();
    assert_eq!(coverage, [&json!("tests_not_compared")], "exam, control and blind are all there");
    assert!(inside(&["case", "list"]).1.lines().any(|line| line.starts_with("mine ")));
    assert_eq!(world.cto(["run", "mine"]).code, 2, "outside the workspace the name means nothing");

    fs::write(
        site.join("cases/mine/good.patch"),
        "--- a/greet.sh\n+++ b/greet.sh\n@@ -1 +1,2 @@\n+#\n if [ -n \"$1\" ]; then\n",
    )
    .unwrap();
    let (code, said) = inside(&["case", "check", "mine"]);
    assert_eq!((code, said.as_str()), (Some(1), "fail mine ended fail verification_failed,claim_contradicted\n"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = world();
    let _ = world.run("fail-no-diff", 1);
    for args in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", "@"],
        &["show", "@", "--json"],
        &["logs", "@", "--events"],
        &["diff", "@"],
        &["verify", "@"],
        &["explain"],
        &["schema", "contract"],
        &["completions", "bash"],
        &["man"],
        &["config"],
        &["doctor"],
        &["case", "list"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = World::finish_output(world.command(args).stdout(writer).stderr(Stdio::piped()).spawn().unwrap());
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""), "{args:?}");
    }
    // The same for the verdict of a run, which is sealed all the same.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = world.command(["run", "fail-no-diff"]).stdout(writer).status().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(world.cto(["runs"]).expect(0).text().lines().count(), 2);
}

#[test]
fn a_full_disk_is_a_failure() {
    let world = world();
    let _ = world.run("fail-disallowed-file", 1);
    for args in [&["diff", "@"][..], &["show", "@", "--json"], &["runs"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = World::finish_output(world.command(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{args:?}: {said}");
        assert!(said.starts_with("error: cannot write the answer: "), "{args:?}: {said}");
    }
}
