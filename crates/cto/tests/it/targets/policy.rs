//! Approval policies with rules, of the home and of a workspace. A rule is about a repository, whatever path leads there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use testkit::{each_row, git};

use super::{Scene, reasons};

/// Requests a run, approves it with one key that is not the requester's, and gives the reasons of the run.
fn run_with_one_approval(scene: &Scene, stage: &str, more: &[&str], approver: &Path) -> String {
    let words = |command| [scene.words(command, stage), more.to_vec()].concat();
    let request = scene.world.cto(words("request")).expect(0).json();
    let name = request["request"].as_str().unwrap();
    let packet = scene.world.cto(["packet", name, "--json"]).expect(0).json();
    let sentence = packet["approval_command_text"].as_str().unwrap();
    let key = approver.to_str().unwrap();
    let _ = scene.world.cto(["approve", name, "--key", key, "--sentence", sentence]).expect(0);
    let ran = scene.world.cto(words("run"));
    if ran.code == 3 {
        let _ = scene.world.cto(["revoke", name, "--reason", "next"]).expect(0);
    }
    let report = ran.json();
    assert_eq!(report["engine"]["process_started"], ran.code == 0, "{report:#}");
    reasons(&report)
}

/// Name of a row, and another path to the repository of a rule.
type Alias = (&'static str, fn(&Path) -> PathBuf);

fn link(to: &Path, at: PathBuf) -> PathBuf {
    symlink(to, &at).unwrap();
    at
}

const ALIASES: &[Alias] = &[
    ("its own path", Path::to_owned),
    ("with a slash", |target| PathBuf::from(format!("{}/", target.display()))),
    ("a link", |target| link(target, target.with_extension("link"))),
    ("through a linked folder", |target| link(target.parent().unwrap(), target.with_extension("up")).join("target")),
    ("a linked work tree", |target| {
        let tree = target.with_extension("tree");
        git(target, ["worktree", "add", "-q", "-b", "beside", tree.to_str().unwrap()]);
        tree
    }),
];

#[test]
fn a_rule_holds_for_its_repository_by_any_path() {
    let Some(mut scene) = Scene::new("a_rule_holds_for_its_repository_by_any_path") else { return };
    let second = scene.make_key("second", &[]);
    let target = scene.target.clone();
    let rule = |path: &Path| format!("rules:\n  - {{target: {}, approvals_required: 2}}\n", path.display());
    scene.world.write_own("trust/approval-policy.yaml", rule(&target));
    each_row(ALIASES.iter().copied(), |alias| {
        scene.target = alias(&target);
        scene.admit("admitted");
        assert_eq!(run_with_one_approval(&scene, "5", &[], &second), "approval_missing");
    });
    // The rule names the link, and the admission the repository.
    scene.world.write_own("trust/approval-policy.yaml", rule(&target.with_extension("link")));
    scene.admit("admitted");
    assert_eq!(run_with_one_approval(&scene, "5", &[], &second), "approval_missing");
    scene.target = scene.world.repository("target-2", super::FILES);
    scene.admit("admitted");
    assert_eq!(run_with_one_approval(&scene, "5", &[], &second), "", "the control: a neighbour");
}

#[test]
fn a_rule_holds_for_a_copied_source_by_any_path() {
    let Some(scene) = Scene::new("a_rule_holds_for_a_copied_source_by_any_path") else { return };
    let second = scene.make_key("second", &[]);
    let source = scene.world.repository("source", super::FILES);
    let alias = link(&source, source.with_extension("link"));
    let repo = ["--repo", alias.to_str().unwrap()];
    for (ruled, expected) in [(source.as_path(), "approval_missing"), (scene.target.as_path(), "")] {
        let rule = format!("rules:\n  - {{target: {}, approvals_required: 2}}\n", ruled.display());
        scene.world.write_own("trust/approval-policy.yaml", rule);
        assert_eq!(run_with_one_approval(&scene, "4", &repo, &second), expected, "{}", ruled.display());
    }
}

/// Name of a row, the policies of home and workspace, and the refusal of a run with one approval.
const LAYERS: &[(&str, &str, &str, &str)] = &[
    ("a rule of the home for the stage", "rules: [{stage: 4, approvals_required: 2}]", "", "approval_missing"),
    ("a rule of the home for another stage", "rules: [{stage: 5, approvals_required: 2}]", "", ""),
    ("a workspace that tightens", "{}", "approvals_required: 2", "approval_missing"),
    ("a rule of a workspace for the stage", "{}", "rules: [{stage: 4, approvals_required: 2}]", "approval_missing"),
    ("a rule of a workspace for another stage", "{}", "rules: [{stage: 5, approvals_required: 2}]", ""),
    (
        "a workspace that tries to loosen",
        "approvals_required: 2",
        "{approvals_required: 1, distinct_from_requester: false, rules: [{stage: 4, approvals_required: 1}]}",
        "approval_missing",
    ),
];

#[test]
fn rules_tighten_through_every_layer() {
    let Some(scene) = Scene::new("rules_tighten_through_every_layer") else { return };
    let _ = scene.world.cto(["init", "."]).expect(0);
    let second = scene.make_key("second", &[]);
    each_row(LAYERS.iter().map(|row| (row.0, row)), |(_, home, workspace, expected)| {
        scene.world.write_own("trust/approval-policy.yaml", home);
        let file = scene.world.write("approval-policy.yaml", workspace);
        if workspace.is_empty() {
            fs::remove_file(file).unwrap();
        }
        assert_eq!(run_with_one_approval(&scene, "4", &[], &second), *expected);
    });
}

/// A policy that cannot be read in full; none where it is a folder.
const UNREADABLE: &[(&str, Option<&str>)] = &[
    ("a key that nobody knows", Some("approvals_needed: 2\n")),
    ("nobody approves", Some("approvals_required: 0\n")),
    ("said twice", Some("approvals_required: 1\napprovals_required: 2\n")),
    ("a list", Some("- approvals_required: 2\n")),
    ("a rule of nothing", Some("rules: [{stage: 9, approvals_required: 2}]\n")),
    ("a word for a number", Some("approvals_required: two\n")),
    ("empty", Some("")),
    ("a folder", None),
];

/// Nobody asks, approves or runs by a policy that cannot be read, and none of it is spent.
#[test]
fn a_policy_that_cannot_be_read_stops_everything() {
    let Some(scene) = Scene::new("a_policy_that_cannot_be_read_stops_everything") else { return };
    let _ = scene.world.cto(["init", "."]).expect(0);
    let places =
        [scene.world.home().join("trust/approval-policy.yaml"), scene.world.here().join("approval-policy.yaml")];
    for place in &places {
        let clear = || drop((fs::remove_file(place), fs::remove_dir(place)));
        clear();
        each_row(UNREADABLE.iter().copied(), |text| {
            let request = scene.approve("4");
            let name = request["request"].as_str().unwrap();
            let open = scene.world.cto(scene.words("request", "5")).expect(0).json();
            let open = open["request"].as_str().unwrap();
            let packet = scene.world.cto(["packet", open, "--json"]).expect(0).json();
            let sentence = packet["approval_command_text"].as_str().unwrap();
            match text {
                Some(text) => fs::write(place, text).unwrap(),
                None => fs::create_dir(place).unwrap(),
            }
            for words in
                [scene.words("request", "4"), vec!["approve", open, "--sentence", sentence], scene.words("run", "4")]
            {
                let refused = scene.world.cto(words.iter());
                let told = refused.told();
                assert!(matches!(refused.code, 2 | 3) && told.contains("approval-policy.yaml"), "{words:?}: {told}");
                assert!(words[0] != "run" || !told.contains("\"process_started\":true"), "{told}");
            }
            clear();
            let packet = scene.world.cto(["packet", open, "--json"]).expect(0).json();
            assert_eq!(packet["state"], "open", "nobody approved it");
            let packet = scene.world.cto(["packet", name, "--json"]).expect(0).json();
            assert_eq!(packet["approval_consumed"], false, "nothing was spent");
            assert_eq!(
                scene.run("4", 0)["status"],
                "pass",
                "the control: the same approval, with a policy that can be read"
            );
        });
    }
}
