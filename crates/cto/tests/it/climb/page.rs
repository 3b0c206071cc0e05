//! `docs/change-a-repository.md` and the page of two people in `docs/approve.md`, word for word: their commands are run as they
//! stand, in a home that is new.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::{World, git};

use crate::climb::has_keygen;
use crate::world;

const PAGE: &str = include_str!("../../../../../docs/change-a-repository.md");
const TWO_PEOPLE: &str = include_str!("../../../../../docs/approve.md");

/// The commands of a page that are to be typed, a block each.
fn blocks_of(page: &str) -> Vec<&str> {
    page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Types the commands, and gives what they say.
fn type_commands(world: &World, commands: &str) -> String {
    fs::write(world.user().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.invalid\n").unwrap();
    let programs = world.path().join("programs");
    fs::create_dir(&programs).unwrap();
    symlink(world.binary(), programs.join("cto")).unwrap();
    let mut bash = world.program("bash");
    let path = std::iter::once(programs).chain(["/usr/local/bin", "/usr/bin", "/bin"].map(Into::into));
    bash.args(["-c", &format!("set -eu\n{commands}")]).env("PATH", std::env::join_paths(path).unwrap());
    let output = bash.env_remove("CTO_HOME").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn the_worked_example_works_as_it_stands() {
    if !has_keygen("climb::page") {
        return;
    }
    let world = world();
    let commands = blocks_of(PAGE).join("\n");
    assert!(commands.contains("cto rollback @"), "the page has changed its shape");
    let said = type_commands(&world, &commands);
    for says in ["Cto-Patch: ", "greeting.py | 2 +-", "outcome=accepted,rolled-back"] {
        assert!(said.contains(says), "{says}: {said}");
    }
    let target = world.user().join("greeter");
    assert_eq!(git(&target, ["for-each-ref", "refs/heads/cto"]), "", "rolled back");
    assert_eq!(git(&target, ["for-each-ref", "refs/cto/used"]).lines().count(), 1);
    assert_eq!(
        (git(&target, ["status", "--short"]), git(&target, ["log", "--oneline"]).lines().count()),
        (String::new(), 1)
    );
}

#[test]
fn two_people_approve_as_the_page_says() {
    if !has_keygen("climb::page::two_people") {
        return;
    }
    let world = world();
    let commands = [&blocks_of(PAGE)[..3], &blocks_of(TWO_PEOPLE)].concat();
    assert!(commands.len() >= 6 && commands[2].contains("cto run ./cases/greet"), "the pages have changed their shape");
    // What the page says is refused is tried before the run.
    let refused = |key: &str| {
        format!(
            "if cto approve req-9 --key ~/.ssh/{key} --sentence \"I approve greet against a disposable copy of greet for \
             the greeting by name.\"; then exit 9; fi\n"
        )
    };
    let commands = commands.join("\n");
    let run = "cto run ./cases/greet --stage 4\n";
    let said =
        type_commands(&world, &commands.replace(run, &[refused("ann"), refused("bob"), run.to_owned()].concat()));
    for says in
        ["approvals 1 of 2", "approvals 2 of 2", "asked for this; somebody else approves", "has approved it already"]
    {
        assert!(said.contains(says), "{says}: {said}");
    }
    assert!(said.contains("\nlanded ") && !said.contains("solo_operator"), "{said}");
}
