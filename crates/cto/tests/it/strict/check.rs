//! Checks for every row: nothing outside changes, nothing leaks, nothing is left, and the bundle says what happened.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use contract::Digest;
use serde_json::{Value, json};
use testkit::{Who, World, left_running, left_within, not_here, skip};

use super::program::REACHED;
use super::row::{Control, Row, Says};
use super::scene::Scene;
use super::sealed::Sealed;

/// Tries each row as everybody; `set` adds to the scene what the rows of a class need.
pub(super) fn check(test: &str, rows: &[Row], set: fn(&mut Scene)) {
    let everybody = Who::all(test);
    for row in rows.iter().filter(|row| !row.works_for.iter().any(|who| everybody.contains(who))) {
        skip(test, &format!("the control of \"{}\", which works as root alone", row.tries));
    }
    for who in everybody {
        let mut scene = Scene::new(who);
        set(&mut scene);
        let (rows, left_out): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| scene.has(row.needs));
        for row in left_out {
            not_here(test, &format!("\"{}\" as {who:?}: there is no {} here", row.tries, row.needs));
        }
        // The attack may destroy what it gets hold of, so the sandbox comes first.
        rows.iter().for_each(|row| confined(&scene, row));
        rows.iter().filter(|row| row.works_for.contains(&who)).for_each(|row| control(&scene, row));
        scene.close();
    }
}

fn confined(scene: &Scene, row: &Row) {
    scene.set(row, row.limits);
    let before = scene.outside();
    let sealed = scene.run_strict(row.arguments);
    let told = || format!("{} as {:?}: {}", row.tries, scene.who, sealed.told());
    assert!(sealed.says_tried(), "it was not even tried: {}", told());
    assert!(scene.told_where_to_look(&sealed), "it does not know where: {}", told());
    assert!(row.counted_afterwards || !sealed.says_reached(), "reached: {}", told());
    harmless(scene, &sealed, &before);
    verdict(scene, row.tries, &row.says, &sealed);
    recorded(&sealed);
    (row.evidence)(scene, &sealed);
}

/// Nothing outside is other than before, nothing of it is in the bundle, and nothing of the run lives.
pub(super) fn harmless(scene: &Scene, sealed: &Sealed, before: &[(&'static str, Digest)]) {
    assert_eq!(scene.outside(), before, "something is not what it was: {}", sealed.told());
    for folder in ["active", "work"] {
        assert_eq!(fs::read_dir(scene.world.home().join(folder)).unwrap().count(), 0, "{folder}/ is empty");
    }
    assert_eq!(sealed.holding(&scene.secret), Vec::<PathBuf>::new(), "the secret: {}", sealed.told());
    let left = left_within(Duration::from_secs(1), || living(&scene.world, [&sealed.run_id]));
    assert!(left.is_empty(), "{} still live: {}", in_words(&left), sealed.told());
}

/// Processes as the kernel has them now.
pub(super) fn in_words(pids: &[String]) -> String {
    let told = pids.iter().map(|pid| {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        format!("{} waiting in {}", read("stat").trim(), read("wchan"))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Processes that a run has left: what bears its mark, and what executes the binary of its world. The first process of a
/// sandbox does, and without it there is no pid namespace; the numbers of namespaces are used again at once.
pub(super) fn living<'a>(world: &World, runs: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut pids: Vec<String> = runs.into_iter().flat_map(|run| left_running(run)).collect();
    let identity = |path: &Path| path.metadata().ok().map(|stat| (stat.dev(), stat.ino()));
    let binary = identity(world.binary());
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ours = entries.filter(|entry| identity(&entry.path().join("exe")) == binary);
    pids.extend(ours.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    pids
}

/// Status, reasons and attempts are those that are expected, and no others.
pub(super) fn verdict(scene: &Scene, tries: &str, says: &Says, sealed: &Sealed) {
    let found = (&sealed.report["status"], sealed.exit, &sealed.report["blocker_reasons"]);
    let status = says.status;
    let expected = (&json!(status), i32::from(status.exit_code()), &json!(says.reasons));
    assert_eq!(found, expected, "{} as {:?}: {}", tries, scene.who, sealed.told());
    let attempts = sealed.attempts();
    let told = attempts.iter().map(|attempt| format!("{} {}", text(&attempt["judged"]), text(&attempt["what"])));
    let told: Vec<String> = told.collect();
    let fits = |(verdict, what): &(&str, &str), told: &String| {
        told.starts_with(&verdict.replace(' ', "_")) && told.contains(&scene.fill(what.trim_start_matches('*')))
    };
    let unseen = says.attempts.iter().find(|expected| !told.iter().any(|told| fits(expected, told)));
    assert_eq!(unseen, None, "{} as {:?}: {}", tries, scene.who, sealed.told());
    let unexpected = told.iter().find(|told| !says.attempts.iter().any(|expected| fits(expected, told)));
    assert_eq!(unexpected, None, "{} as {:?}: {}", tries, scene.who, sealed.told());
}

/// Events and report say of the attempts what `sandbox.json` says.
pub(super) fn recorded(sealed: &Sealed) {
    let reason = |verdict: &str| match verdict {
        "violation" => json!("sandbox_violation"),
        "forbidden_action" => json!("forbidden_action_attempted"),
        _ => Value::Null,
    };
    let mut expected = sealed.attempts().to_vec();
    for attempt in &mut expected {
        if let reason @ Value::String(_) = reason(text(&attempt["judged"])) {
            attempt["reason"] = reason;
        }
    }
    assert_eq!(sealed.events("sandbox.refused"), expected);
    let of = |verdict: &str| {
        let of = sealed.attempts().iter().filter(|attempt| attempt["judged"] == verdict);
        of.map(|attempt| format!("{}: {}", text(&attempt["cell"]), text(&attempt["what"]))).collect::<Vec<_>>()
    };
    assert_eq!(sealed.report["sandbox"]["violations"], json!(of("violation")));
    assert_eq!(sealed.report["forbidden_actions_attempted"], json!(of("forbidden_action")));
}

/// The same program gets through where the sandbox is not.
fn control(scene: &Scene, row: &Row) {
    scene.set(row, "");
    let before = scene.outside();
    let (reached, told) = match row.control {
        Control::Own(control) => (control(scene, row), String::new()),
        Control::Direct => directly(scene, row),
        Control::Unconfined => got_through(scene, &scene.run_unconfined(&[]), &before),
        Control::Unlimited => got_through(scene, &scene.run_strict(&[]), &before),
    };
    assert!(reached, "control: {} as {:?}: {told}", row.tries, scene.who);
}

fn directly(scene: &Scene, row: &Row) -> (bool, String) {
    let output = scene.direct(row, "control").output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    (told.lines().any(|line| line == REACHED), format!("{told}{}", String::from_utf8_lossy(&output.stderr)))
}

fn got_through(scene: &Scene, sealed: &Sealed, before: &[(&'static str, Digest)]) -> (bool, String) {
    let changed = scene.outside() != before;
    let read = !sealed.holding(&scene.secret).is_empty();
    (sealed.says_reached() || changed || read, sealed.told())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
