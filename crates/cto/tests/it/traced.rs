//! Every file that the harness opens where an engine could have written, seen by the kernel: none by a path that follows links.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::{World, program, skip, work_areas};

use crate::world;

/// One opened file, as strace tells of it.
#[derive(Debug)]
struct Opened {
    /// Joined from the directory and the name.
    path: String,
    how: String,
}

/// A finished system call and the process that made it.
type Call = (String, String);

/// The calls in the order of their ends; strace splits one that another process interrupts.
fn calls(text: &str) -> Vec<Call> {
    let mut unfinished = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(begun) = call.strip_suffix("<unfinished ...>") {
            unfinished.insert(pid, begun);
        } else if let Some((_, rest)) = call.strip_prefix("<... ").and_then(|rest| rest.split_once("resumed>")) {
            let begun = unfinished.remove(pid).unwrap_or_default();
            calls.push((pid.to_owned(), format!("{begun}{rest}")));
        } else {
            calls.push((pid.to_owned(), call.to_owned()));
        }
    }
    calls
}

/// The harness's first process and all that come of it outside of a pid namespace of their own.
fn harness_processes(calls: &[Call]) -> HashSet<&str> {
    let mut ours: HashSet<&str> = calls.first().map(|(pid, _)| pid.as_str()).into_iter().collect();
    // A child may be heard of before the call that made it ends.
    loop {
        let before = ours.len();
        for (pid, call) in calls.iter().filter(|(_, call)| call.starts_with("clone") || call.starts_with("vfork")) {
            if ours.contains(pid.as_str()) && !call.contains("CLONE_NEWPID") {
                ours.extend(call.rsplit_once(" = ").map(|(_, made)| made));
            }
        }
        if ours.len() == before {
            return ours;
        }
    }
}

/// Files that the harness opened after the first program was started in a sandbox; none if no such start was seen.
fn opened_after_start(text: &str) -> Option<Vec<Opened>> {
    let calls = calls(text);
    let ours = harness_processes(&calls);
    let is_start = |(pid, call): &Call| call.starts_with("execve(") && !ours.contains(pid.as_str());
    let start = calls.iter().position(is_start)?;
    let opens = calls[start..].iter().filter(|(pid, call)| call.starts_with("open") && ours.contains(pid.as_str()));
    Some(opens.filter_map(|(_, call)| Opened::read(call.split_once('(')?.1)).collect())
}

impl Opened {
    /// Reads `FD</directory>, "name", flags...) = ...`, or the same without a directory.
    fn read(arguments: &str) -> Option<Self> {
        let (before, rest) = arguments.split_once('"')?;
        let (name, how) = rest.split_once('"')?;
        let directory = before.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>')).map_or("", |(path, _)| path);
        let path = if name.starts_with('/') { name.to_owned() } else { format!("{directory}/{name}") };
        Some(Self { path, how: how.to_owned() })
    }

    fn follows_no_link(&self) -> bool {
        self.how.contains("O_NOFOLLOW") || self.how.contains("RESOLVE_NO_SYMLINKS")
    }
}

/// Folders of a run that only the harness and its git write to.
const OWN: &[&str] = &["store.git", "linger", "ignore-", "scratch-", "engine/script.json", "engine/task.md"];

/// Folders in which the harness makes those that setup works in.
const OWN_PARENTS: &[&str] = &["setup-trees", "setup-layers"];

/// True if an engine, a check or a setup could have made what is opened.
fn is_foreign(path: &str, home: &str, run_id: &str) -> bool {
    let [work, memory] = work_areas(Path::new(home), run_id).map(|area| format!("{}/", area.display()));
    let layers = format!("{home}/cache/layers/");
    if path.starts_with("/upper") || path.starts_with("/above") {
        return true;
    }
    let below = [&memory, &work, &layers].into_iter().find_map(|root| path.strip_prefix(root.as_str()));
    let is_own = |below: &str| OWN.iter().any(|own| below.starts_with(own)) || OWN_PARENTS.contains(&below);
    below.is_some_and(|below| !is_own(below) && !below.ends_with("/layer.json"))
}

/// Files opened where others could have written, in one run that must succeed. None, with the reason said, where strace is
/// missing.
pub(crate) struct Trace {
    name: String,
    opened: Vec<Opened>,
}

impl Trace {
    /// Runs `command`, a `cto run --json` with this home, under strace.
    pub(crate) fn of(name: &str, world: &World, home: &Path, command: &Command) -> Option<Self> {
        let there = program("strace", Path::new("/")).arg("-V").output().is_ok_and(|output| output.status.success());
        if !there {
            skip(&format!("traced: {name}"), "there is no strace");
            return None;
        }
        let file = world.path().join("trace");
        let calls = "trace=open,openat,openat2,clone,clone3,vfork,execve";
        let wrapper = ["strace", "-f", "-y", "-qq", "-s", "65536", "-e", calls, "-o", file.to_str().unwrap()];
        let output = world.under(command, &wrapper).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let run_id = report["run_id"].as_str().unwrap();
        let opened = opened_after_start(&fs::read_to_string(&file).unwrap());
        let opened = opened.unwrap_or_else(|| panic!("{name}: control: the start of a program inside is not seen"));
        let foreign = |opened: &Opened| is_foreign(&opened.path, home.to_str().unwrap(), run_id);
        Some(Self { name: name.to_owned(), opened: opened.into_iter().filter(foreign).collect() })
    }

    /// The control is a part of a path that must be among them.
    pub(crate) fn follows_no_link(&self, control: &str) {
        let Self { name, opened } = self;
        let seen = opened.iter().any(|opened| opened.path.contains(control));
        assert!(seen, "{name}: control: {control} was opened: {opened:#?}");
        let follows: Vec<&Opened> = opened.iter().filter(|opened| !opened.follows_no_link()).collect();
        assert!(follows.is_empty(), "{name}: {follows:#?}");
    }
}

#[test]
fn nothing_that_an_engine_made_is_opened_by_a_path_that_follows() {
    let world = world();
    let engine = "mkdir -p d /run/cto/state/e; echo x > /run/cto/state/e/own; ln -s /etc/passwd /run/cto/state/link";
    let steps = json!({"steps": [
        {"write": {"path": "a.txt", "text": "two\n"}},
        {"run": {"argv": ["sh", "-c", engine]}},
    ]});
    let environment =
        json!({"setup": [{"argv": ["sh", "-c", "mkdir built && echo x > built/made && ln -s /etc built/etc"]}]});
    for (name, environment, repository) in [
        ("a copy", "{}".to_owned(), false),
        ("layers", environment.to_string(), false),
        ("a repository", "{}".to_owned(), true),
    ] {
        world.case("made", &[("fake", &steps.to_string()), ("environment", &environment)]);
        let mut args = vec!["run", "./made", "--json"];
        if repository {
            world.repository("source", &[("a.txt", "one\n")]);
            args.extend(["--repo", "../source"]);
        }
        let Some(trace) = Trace::of(name, &world, &world.home(), &world.command(args)) else { return };
        trace.follows_no_link("/e/own");
    }
}
