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

#[test]
fn a_shell_is_offered_what_there_is() {
    let world = world();
    let (report, _) = world.run("shell-script-rotate-logs", 0);
    let suffix = report["run_id"].as_str().unwrap().rsplit('-').next().unwrap().to_owned();
    assert_eq!(complete(&world, &["show", ""]), ["@", &suffix]);
    assert_eq!(complete(&world, &["run", "x", "--engine", "cl"]), ["claude"]);
    assert_eq!(complete(&world, &["run", "shell-script-r"]), ["shell-script-rotate-logs"]);
    assert_eq!(complete(&world, &["explain", "no_d"]), ["no_diff"]);
    assert_eq!(complete(&world, &["expl"]), ["explain"], "commands are those of clap");
    for shell in ["zsh", "fish"] {
        let script = world.cto(["completions", shell]).expect(0).text();
        assert!(script.contains("cto __complete -- "), "{shell}");
    }
}
