//! Completions know what lies in the home: runs, engines, cases and reasons.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use testkit::{World, program};

use crate::world;

/// The replies of bash for a line whose last word is being typed.
fn complete(world: &World, line: &[&str]) -> Vec<String> {
    let words: Vec<String> = line.iter().map(|word| format!("'{word}'")).collect();
    let cto = world.binary().display();
    let script = format!(
        "source <('{cto}' completions bash); cto() {{ '{cto}' \"$@\"; }}; COMP_WORDS=(cto {}); COMP_CWORD={}; _cto_known cto '{}' cto; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        line.len(),
        line.last().unwrap_or(&"")
    );
    let mut bash = program("bash", &world.here());
    for (name, value) in world.command(["x"]).get_envs() {
        if let Some(value) = value {
            bash.env(name, value);
        }
    }
    let output = bash.args(["-c", &script]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// The replies of zsh. A function of the completion system is called as zsh calls it, and what it adds is printed.
fn complete_in_zsh(world: &World, line: &[&str]) -> Vec<String> {
    let cto = world.binary().display();
    // `compadd -V known -a known`: the last word names the array.
    let script = format!(
        "cto() {{ '{cto}' \"$@\"; }}; compdef() {{ :; }}; _cto() {{ :; }}; compadd() {{ print -rl -- \"${{(@P)argv[-1]}}\"; }}; \
         eval \"$('{cto}' completions zsh | sed -n '/^_cto_known()/,$p')\"; words=(cto {words}); CURRENT={current}; _cto_known",
        words = line.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        current = line.len() + 1,
    );
    run_shell(world, "zsh", &["-f", "-c", &script])
}

/// The replies of fish to a whole line, without their descriptions.
fn complete_in_fish(world: &World, line: &[&str]) -> Vec<String> {
    let cto = world.binary().display();
    let typed = format!("cto {}", line.join(" "));
    let script = format!("function cto; '{cto}' $argv; end; cto completions fish | source; complete -C '{typed}'");
    let replies = run_shell(world, "fish", &["--no-config", "-c", &script]);
    replies.into_iter().map(|reply| reply.split('\t').next().unwrap_or_default().to_owned()).collect()
}

fn run_shell(world: &World, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = program(shell, &world.here());
    command.envs(world.command(["x"]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.args(words).output().unwrap();
    let replies = String::from_utf8_lossy(&output.stdout).into_owned();
    replies.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

type Completer = fn(&World, &[&str]) -> Vec<String>;

/// Shells with the way in which each is asked.
const SHELLS: [(&str, Completer); 3] = [("bash", complete), ("zsh", complete_in_zsh), ("fish", complete_in_fish)];

#[test]
fn a_shell_is_offered_what_there_is() {
    let test = "completions::a_shell_is_offered_what_there_is";
    let world = world();
    let (report, _) = world.run("shell-script-rotate-logs", 0);
    let suffix = report["run_id"].as_str().unwrap().rsplit('-').next().unwrap().to_owned();
    let _ = world.cto(["init", "."]).expect(0);
    world.write("WORKBOARD.yaml", BOARD);
    let _ = world.cto(["key", "init"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "ada"]).expect(0);
    world.case("made", &[("mutation_mode", "sandbox-repo")]);
    let request = world.cto(["request", "./made", "--stage", "4", "--json"]).expect(0).json();
    let request = request["request"].as_str().unwrap();
    let queued = world.cto(["submit", "shell-script-rotate-logs", "--json"]).expect(0).text();
    let rows: Vec<(&[&str], Vec<&str>)> = vec![
        (&["show", ""], vec!["@", &suffix]),
        (&["run", "x", "--engine", "cl"], vec!["claude"]),
        (&["run", "shell-script-r"], vec!["shell-script-rotate-logs"]),
        (&["explain", "no_d"], vec!["no_diff"]),
        (&["approve", "req"], vec![request]),
        (&["trust", "key", "retire", "a"], vec!["ada"]),
        (&["work", "show", "DEMO"], vec!["DEMO-WORK-001"]),
    ];
    for (shell, completer) in SHELLS {
        if program(shell, &world.here()).arg("--version").output().is_err() {
            testkit::not_here(test, &format!("{shell} is not installed"));
            continue;
        }
        for (line, expected) in &rows {
            // zsh and fish filter by themselves: a completer of fish gives what begins with the word, zsh is asked for all.
            let replies = completer(&world, line);
            let begins = line.last().copied().unwrap_or_default();
            let fitting: Vec<&str> = replies.iter().map(String::as_str).filter(|it| it.starts_with(begins)).collect();
            assert_eq!(fitting, *expected, "{shell}: {line:?}");
        }
        let waiting: Vec<String> = completer(&world, &["watch", ""]);
        assert!(waiting.iter().any(|word| word != "@" && queued.contains(word.as_str())), "{shell}: {waiting:?}");
    }
    assert_eq!(complete(&world, &["expl"]), ["explain"], "commands are those of clap");
}

/// A board with one item.
const BOARD: &str = "items:\n  - id: DEMO-WORK-001\n    title: the first\n    type: AFK\n    status: draft\n";
