//! From nothing to a verified patch on a branch: repositories of different build systems, one agent, every typed line counted.

pub(super) mod repositories;

use std::ffi::OsString;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use fixtures::scripted::{Reply, Script, ScriptedServer, Step, When};
use serde_json::json;
use testkit::{World, git};

use self::repositories::{SYSTEMS, System};
use super::{know_operator, text};
use crate::world;

/// Commands and lines that a person may need until the branch is there.
const MOST_COMMANDS: usize = 4;
const MOST_LINES: usize = 8;

fn brief(system: &System) -> String {
    format!("add() of the {} project subtracts. Make it add.", system.name)
}

/// Solves the case of stage 2 and each repository's task, each when it is asked for.
fn answers(engine: &str) -> Script {
    let slugify = "sed -i 's/return text.lower().*/return \"-\".join(text.lower().split())/' strings.py";
    let shell = |command: &str| match engine {
        "codex" => Reply::call("exec_command", json!({"cmd": command})),
        "claude" => Reply::call("Bash", json!({"command": command, "description": "work"})),
        _ => Reply::call("bash", json!({"command": command, "description": "work"})),
    };
    let step = |contains: &str, times: Option<u64>, reply: Reply| Step {
        when: When { contains: Some(contains.to_owned()), ..When::default() },
        times,
        reply,
    };
    let own = SYSTEMS.iter().flat_map(|system| {
        [step(&brief(system), Some(1), shell(system.fix)), step(&brief(system), None, Reply::text("done"))]
    });
    let case = "Only these paths may change";
    let steps = own.chain([step(case, Some(1), shell(slugify)), step(case, None, Reply::text("done"))]).collect();
    Script { steps, otherwise: Reply::text("ready") }
}

/// A person at a shell: everything that is typed is counted.
struct Person<'w> {
    world: &'w World,
    path: &'w OsString,
    commands: usize,
    lines: usize,
}

impl Person<'_> {
    fn types(&mut self, words: &[&str], code: i32) -> testkit::Ran {
        self.commands += 1;
        self.lines += 1 + words.iter().map(|word| word.matches('\n').count()).sum::<usize>();
        let output = self.world.command(words).env("PATH", self.path).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        testkit::Ran { code: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }.expect(code)
    }
}

/// Caches as package managers leave them in a person's home: each has installed one tree of packages before.
pub(super) fn fill_caches(test: &str, world: &World) -> Option<()> {
    let filled = testkit::user_home(test)?;
    let below =
        [".npm", ".cache/pnpm", ".local/share/pnpm/store", ".cache/yarn", ".cache/pip", ".cache/pypoetry", ".cache/uv"];
    for below in below.into_iter().chain([".cargo/registry"]) {
        show(world, &filled.join(below), below);
    }
    show(world, Path::new("/usr/share/maven-repo"), ".m2/repository");
    show(world, &filled.join("bin/uv"), ".local/bin/uv");
    Some(())
}

/// Puts something into the home of a world's user.
pub(super) fn show(world: &World, place: &Path, below: &str) {
    let link = world.user().join(below);
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(place, link).unwrap();
}

/// The search path of somebody who has installed Go, and pnpm and Yarn beside a Node if a system wants them.
#[expect(clippy::disallowed_methods, reason = "a test is told by the environment which programs there are")]
pub(super) fn search_path(test: &str, wants_managers: bool) -> Option<OsString> {
    let go = testkit::go(test)?.parent()?.to_owned();
    let managers = wants_managers.then(|| testkit::node_managers(test)).flatten().map(|prefix| prefix.join("bin"));
    let usual = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([go].into_iter().chain(managers).chain(std::env::split_paths(&usual))).ok()
}

/// The first thing that a system needs and this machine does not have.
pub(super) fn find_missing(system: &System) -> Option<&'static str> {
    system.needs.iter().copied().find(|file| !Path::new(file).exists())
}

/// Connects an agent, and types for each of its repositories what a person types.
fn check(test: &str, engine: &'static str) {
    let Some(agent) = testkit::agent(test, engine) else { return };
    let (Some(path), Some(managed)) = (search_path(test, false), search_path(test, true)) else { return };
    let world = world();
    know_operator(&world);
    let Some(()) = fill_caches(test, &world) else { return };
    let server = ScriptedServer::start(TcpListener::bind("127.0.0.1:0").unwrap(), answers(engine)).unwrap();
    let endpoint = format!("http://{}/v1", server.address());
    let bin = agent.executable.display().to_string();
    let setup = ["setup", engine, "--endpoint", &endpoint, "--model", "model-x", "--bin", &bin, "--yes"];
    // An interpreter is found on the PATH.
    let beside = agent.interpreter.as_ref().and_then(|node| node.parent()).map(Path::to_owned);
    let with_interpreter = std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&path))).unwrap();
    let mut first = Person { world: &world, path: &with_interpreter, commands: 0, lines: 0 };
    let _ = first.types(&setup, 0);
    let systems = SYSTEMS.iter().filter(|system| system.engine() == engine);
    testkit::each_row(systems.map(|system| (system.name, system)), |system| {
        if let Some(missing) = find_missing(system) {
            return testkit::skip(test, &format!("no {missing} for {}", system.name));
        }
        let repository = world.repository(system.name, system.files);
        let path = if system.wants_managers() { &managed } else { &path };
        let mut person = Person { world: &world, path, ..first };
        let (brief, file) = (brief(system), format!("{}.yaml", system.name.replace(' ', "-")));
        let place = ["--allow", system.allow, "--repo", text(&repository), "--out", &file];
        let _ = person.types(&[&["new", "--from", &brief][..], &place].concat(), 0);
        let report = person.types(&["run", &file, "--engine", engine, "--json"], 0).json();
        assert_eq!(report["status"], "pass", "{}", report["blockers"]);
        let _ = person.types(&["take", "@", "--branch", "fixed"], 0);
        let (file, content) = system.fixed;
        assert!(git(&repository, ["show", &format!("fixed:{file}")]).contains(content));
        assert!(person.commands <= MOST_COMMANDS && person.lines <= MOST_LINES, "{} {}", person.commands, person.lines);
    });
}

#[test]
fn a_few_lines_to_a_branch_with_codex() {
    check("first_hour::systems::a_few_lines_to_a_branch_with_codex", "codex");
}

#[test]
fn a_few_lines_to_a_branch_with_claude() {
    check("first_hour::systems::a_few_lines_to_a_branch_with_claude", "claude");
}

#[test]
fn a_few_lines_to_a_branch_with_pi() {
    check("first_hour::systems::a_few_lines_to_a_branch_with_pi", "pi");
}

#[test]
fn a_few_lines_to_a_branch_with_opencode() {
    check("first_hour::systems::a_few_lines_to_a_branch_with_opencode", "opencode");
}

#[test]
fn there_are_ten_systems_and_each_is_wrong_in_one_place() {
    assert!(SYSTEMS.len() >= 10);
    for system in SYSTEMS {
        let (file, content) = system.fixed;
        let wrong = system.files.iter().find(|(path, _)| *path == file).expect(system.name).1;
        assert!(!wrong.contains(content), "{}: the baseline has what the patch has to bring", system.name);
    }
}
