//! The operator's answer to a run, and the rollback of what it landed.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{Ran, each_row, program};

use super::Scene;
use crate::world;

#[test]
fn a_rejection_prints_the_rollback_and_the_rollback_leaves_the_mark() {
    let Some(scene) = Scene::new("a_rejection_prints_the_rollback_and_the_rollback_leaves_the_mark") else { return };
    scene.approve("5");
    let before = scene.untouched();
    let report = scene.run("5", 0);
    let runs = |scene: &Scene| scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(runs(&scene).contains("outcome=pending"));
    let said = scene.world.cto(["outcome", "@", "reject", "--reason", "slower", "--json"]).expect(0).json();
    assert_eq!((&said["operator_outcome"], &said["source"]), (&json!("rejected"), &json!("operator")));
    let commands = said["rollback"].as_array().unwrap();
    assert!(commands[0].as_str().unwrap().starts_with("cto rollback "), "{commands:?}");
    assert!(runs(&scene).contains("outcome=rejected"));

    let file = said["statement"].as_str().unwrap();
    let public = fs::read_to_string(scene.world.home().join("keys/operator.pub")).unwrap();
    scene.world.write("signers", format!("ada {public}"));
    let verified = program("sh", &scene.world.here())
        .args(["-c", "ssh-keygen -Y verify -f signers -I ada -n cto-outcome@v1 -s \"$1.sig\" < \"$1\"", "sh", file])
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));

    let branch = report["result_branch"].as_str().unwrap();
    let back = scene.world.cto(["rollback", "@", "--reason", "slower", "--json"]).expect(0).json();
    assert_eq!((&back["act"], &back["commit"]), (&json!("branch_deleted"), &report["target_commit"]));
    assert_eq!((scene.branches().len(), scene.untouched()), (0, before));
    assert_ne!(scene.git(&["for-each-ref", "refs/cto/used"]), "", "the mark stays");
    let _ = scene.world.cto(["rollback", "@", "--reason", "again"]).expect(3);
    let _ = scene.world.cto(["verify", "@"]).expect(0);
    let _ = scene.world.cto(["ledger", "verify"]).expect(0);
    assert!(!branch.is_empty());
}

#[test]
fn a_branch_that_somebody_built_on_is_reverted_only_where_that_is_asked_for() {
    let test = "a_branch_that_somebody_built_on_is_reverted_only_where_that_is_asked_for";
    let Some(scene) = Scene::new(test) else { return };
    scene.approve("5");
    let report = scene.run("5", 0);
    let branch = report["result_branch"].as_str().unwrap();
    let tree = scene.git(&["rev-parse", &format!("{branch}^{{tree}}")]);
    let more = scene.git(&["commit-tree", "-m", "more", "-p", branch, &tree]);
    scene.git(&["update-ref", &format!("refs/heads/{branch}"), &more]);
    let refused = scene.world.cto(["rollback", "@", "--reason", "r"]).expect(3);
    assert!(refused.stderr.contains("revert --no-edit"), "{}", refused.stderr);
    assert_eq!(scene.git(&["rev-parse", branch]), more, "nothing was done");
    let _ = scene.world.cto(["rollback", "@", "--revert", "--reason", "r"]).expect(0);
    assert_eq!(scene.git(&["show", &format!("{branch}:a.txt")]), "one");
    assert_eq!(scene.git(&["rev-parse", &format!("{branch}^")]), more);
}

/// Name of a row, words for git after the landing, and whether a rollback may then say that the branch is deleted. `BRANCH` stands
/// for the run's branch.
type Merged = (&'static str, &'static [&'static [&'static str]], bool);

const MERGED: &[Merged] = &[
    ("merged, and deleted", &[&["merge", "-q", "BRANCH"], &["branch", "-q", "-d", "BRANCH"]], false),
    ("merged, and still there", &[&["merge", "-q", "BRANCH"]], false),
    ("renamed", &[&["branch", "-q", "-m", "BRANCH", "kept"]], false),
    ("tagged, and deleted", &[&["tag", "v1", "BRANCH"], &["branch", "-q", "-D", "BRANCH"]], false),
    ("deleted", &[&["branch", "-q", "-D", "BRANCH"]], true),
];

#[test]
fn a_change_that_another_branch_has_is_not_said_to_be_taken_back() {
    let test = "a_change_that_another_branch_has_is_not_said_to_be_taken_back";
    let Some(scene) = Scene::new(test) else { return };
    let head = scene.git(&["rev-parse", "HEAD"]);
    each_row(MERGED.iter().map(|row| (row.0, row)), |(_, words, is_deleted)| {
        scene.approve("5");
        let report = scene.run("5", 0);
        let branch = report["result_branch"].as_str().unwrap();
        for words in *words {
            scene.git(&words.iter().map(|word| if *word == "BRANCH" { branch } else { word }).collect::<Vec<_>>());
        }
        let refs = scene.git(&["for-each-ref"]);
        let said = scene.world.cto(["rollback", "@", "--reason", "slower"]).expect(if *is_deleted { 0 } else { 3 });
        if *is_deleted {
            assert!(said.text().contains("act branch "), "the control: {said:?}");
        } else {
            assert!(said.stderr.contains("another branch or a tag reaches its commit"), "{said:?}");
            assert!(said.stderr.contains("revert --no-edit"), "{said:?}");
        }
        assert_eq!(scene.git(&["for-each-ref"]), refs, "nothing was touched");
        let statements = scene.world.home().join("statements").join(report["run_id"].as_str().unwrap());
        assert_eq!(statements.exists(), *is_deleted, "nothing is signed of what did not happen");
        // For the next row.
        scene.git(&["reset", "-q", "--hard", &head]);
        let _ = program("git", &scene.target).args(["branch", "-q", "-D", "kept"]).output().unwrap();
        let _ = program("git", &scene.target).args(["tag", "-d", "v1"]).output().unwrap();
    });
}

/// Name of a row, words for git after the landing, and what `--revert` then does: a commit on the run's branch, the deletion of that
/// branch, or nothing.
type Reverted = (&'static str, &'static [&'static [&'static str]], Act);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Commit,
    Deletion,
    Nothing,
}

const REVERTED: &[Reverted] = &[
    ("merged, and still there", &[&["merge", "-q", "BRANCH"]], Act::Commit),
    ("tagged, and still there", &[&["tag", "v1", "BRANCH"]], Act::Commit),
    ("another branch names it", &[&["branch", "-q", "kept", "BRANCH"]], Act::Commit),
    ("merged, and deleted", &[&["merge", "-q", "BRANCH"], &["branch", "-q", "-d", "BRANCH"]], Act::Nothing),
    ("the control: nobody else has it", &[], Act::Deletion),
];

/// A branch whose deletion would leave the change elsewhere is not deleted, also not where a revert is asked for.
#[test]
fn a_revert_is_a_commit_where_the_change_is_elsewhere_too() {
    let test = "a_revert_is_a_commit_where_the_change_is_elsewhere_too";
    let Some(scene) = Scene::new(test) else { return };
    let head = scene.git(&["rev-parse", "HEAD"]);
    each_row(REVERTED.iter().map(|row| (row.0, row)), |(_, words, act)| {
        scene.approve("5");
        let report = scene.run("5", 0);
        let (branch, commit) = (report["result_branch"].as_str().unwrap(), report["target_commit"].as_str().unwrap());
        for words in *words {
            scene.git(&words.iter().map(|word| if *word == "BRANCH" { branch } else { word }).collect::<Vec<_>>());
        }
        let refs = scene.git(&["for-each-ref"]);
        let words = ["rollback", "@", "--revert", "--reason", "slower", "--json"];
        let said = scene.world.cto(words).expect(if *act == Act::Nothing { 3 } else { 0 });
        match act {
            Act::Commit => {
                let tip = scene.git(&["rev-parse", branch]);
                assert_eq!(said.json()["act"], json!({"reverted": {"commit": tip}}));
                assert_eq!(scene.git(&["rev-parse", &format!("{branch}^")]), commit, "on top of the run's commit");
                assert_eq!(scene.git(&["show", &format!("{branch}:a.txt")]), "one");
                let others = |refs: &str| refs.lines().filter(|line| !line.ends_with(branch)).collect::<String>();
                assert_eq!(others(&scene.git(&["for-each-ref"])), others(&refs), "what others have stays theirs");
            }
            Act::Deletion => assert_eq!((&said.json()["act"], scene.branches().len()), (&json!("branch_deleted"), 0)),
            Act::Nothing => {
                assert!(said.stderr.contains("another branch or a tag reaches its commit"), "{said:?}");
                assert_eq!(scene.git(&["for-each-ref"]), refs, "nothing was touched");
            }
        }
        let _ = scene.world.cto(["verify", "@"]).expect(0);
        // For the next row.
        scene.git(&["reset", "-q", "--hard", &head]);
        let _ = program("git", &scene.target).args(["branch", "-q", "-D", "kept", branch]).output().unwrap();
        let _ = program("git", &scene.target).args(["tag", "-d", "v1"]).output().unwrap();
    });
}

/// A key that refuses after the branch is gone leaves an act without a statement; saying it again signs it.
#[test]
fn a_rollback_that_nobody_signed_is_said_again() {
    let test = "a_rollback_that_nobody_signed_is_said_again";
    let Some(scene) = Scene::new(test) else { return };
    scene.approve("5");
    let report = scene.run("5", 0);
    let stub =
        "#!/bin/sh\ncase \"$*\" in *-Y*sign*) echo refused >&2; exit 1;; esac\nexec /usr/bin/ssh-keygen \"$@\"\n";
    let file = scene.world.write("bin/ssh-keygen", stub);
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", file.parent().unwrap().display());
    let words = ["rollback", "@", "--reason", "slower"];
    let refused = Ran::of(scene.world.command(words).env("PATH", path).output().unwrap()).expect(3);
    let run = report["run_id"].as_str().unwrap();
    let statements = scene.world.home().join("statements").join(run);
    assert_eq!((scene.branches().len(), statements.exists()), (0, false), "it is done, and not said");
    assert!(refused.stderr.contains("deleted, and no statement says so yet: "), "{}", refused.stderr);
    let again = format!("cto rollback {} --reason", run.rsplit('-').next().unwrap());
    assert!(refused.stderr.contains(&again), "{again}: {}", refused.stderr);
    let _ = scene.world.cto(words).expect(0);
    assert!(statements.exists(), "it is said");
    let _ = scene.world.cto(words).expect(3);
}

/// The commands that are printed can be pasted, whatever the repository and its branch are called.
#[test]
fn a_printed_command_can_be_pasted() {
    let test = "a_printed_command_can_be_pasted";
    let moved = |target: &Path| {
        let named = target.with_file_name("it's RUN; site");
        fs::rename(target, &named).unwrap();
        named
    };
    let branch = [("branch_policy", "\"odd;name/<request>\"")];
    let Some(scene) = Scene::with(test, world(), moved, &branch) else { return };
    scene.approve("5");
    let report = scene.run("5", 0);
    let branch = report["result_branch"].as_str().unwrap();
    assert!(branch.starts_with("odd;name/"), "{branch}");
    let said = scene.world.cto(["outcome", "@", "reject", "--reason", "slower", "--json"]).expect(0).json();
    let command = said["rollback"][1].as_str().unwrap();
    let (commit, name) = (report["target_commit"].as_str().unwrap(), format!("refs/heads/{branch}"));
    scene.git(&["update-ref", "refs/heads/main-2", commit]);
    let refused = scene.world.cto(["rollback", "@", "--reason", "slower"]).expect(3).stderr;
    let revert = refused.lines().find_map(|line| line.split_once("git -C ")).unwrap().1;
    let revert = format!("git -C {}", revert.split("     ").next().unwrap());
    scene.git(&["merge", "-q", branch]);
    for command in [revert.as_str(), command] {
        let pasted = scene.world.program("sh").args(["-c", command]).output().unwrap();
        assert!(pasted.status.success(), "{command}: {}", String::from_utf8_lossy(&pasted.stderr));
    }
    assert_eq!(scene.git(&["show", "HEAD:a.txt"]), "one");
    assert_eq!(scene.git(&["for-each-ref", &name]), "");
}

#[test]
fn a_word_of_the_environment_is_recorded_unsigned_and_after_the_run() {
    let test = "a_word_of_the_environment_is_recorded_unsigned_and_after_the_run";
    let Some(scene) = Scene::new(test) else { return };
    scene.approve("5");
    let words = [scene.words("run", "5"), vec!["--outcome", "accept"]].concat();
    let report = scene.world.cto(words).expect(0).json();
    assert_eq!(report["operator_outcome"], "pending", "the bundle says nothing of it");
    let listed = scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(listed.contains("outcome=accepted-unsigned"), "{listed}");
    let _ = scene.world.cto(["outcome", "@", "accept", "--reason", "read"]).expect(0);
    let listed = scene.world.cto(["runs", "--limit", "1"]).expect(0).text();
    assert!(listed.contains("outcome=accepted") && !listed.contains("unsigned"), "{listed}");
}

/// Step of the engine, and the mark that people read of it.
const MARKED: &[(&str, &str, &str)] = &[
    ("a plain edit", "{write: {path: a.txt, text: \"two\\n\"}}", ""),
    ("a deletion", "{delete: {path: a.txt}}", "deleted"),
    ("a permission", "{write: {path: a.txt, text: \"two\\n\", executable: true}}", "executable now"),
    ("a link", "{delete: {path: a.txt}}, {link: {path: a.txt, target: b.txt}}", "a symbolic link now"),
];

#[test]
fn deletions_and_permissions_are_marked_in_report_and_outcome() {
    let test = "deletions_and_permissions_are_marked_in_report_and_outcome";
    let Some(scene) = Scene::new(test) else { return };
    each_row(MARKED.iter().map(|row| (row.0, row)), |(_, steps, mark)| {
        let changes = [("fake", format!("{{steps: [{steps}]}}")), ("verification_commands", "[[\"true\"]]".to_owned())];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(key, value)| (*key, value.as_str())).collect();
        scene.world.case("marked", &changes);
        let report = scene.world.cto(["run", "./marked", "--json"]).expect(0).json();
        let bundle = scene.world.bundles().join(report["run_id"].as_str().unwrap());
        let text = fs::read_to_string(bundle.join("report.md")).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("`a.txt` ")).collect();
        assert_eq!(lines[0].contains("**"), !mark.is_empty(), "{text}");
        assert!(lines[0].contains(mark), "{text}");
        let said = scene.world.cto(["outcome", "@", "accept", "--reason", "read", "--json"]).expect(0).json();
        let marks = if mark.is_empty() { json!([]) } else { json!([{"mark": mark, "path": "a.txt"}]) };
        assert_eq!(said["marked_changes"], marks);
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    });
}

/// A work item is named from the request to the outcome, and nowhere where there is none.
#[test]
fn a_work_item_is_named_all_the_way() {
    let test = "a_work_item_is_named_all_the_way";
    for work in ["CTO-WORK-012", ""] {
        let Some(scene) = Scene::new(test) else { return };
        let expected = if work.is_empty() { json!(null) } else { json!(work) };
        let more: &[&str] = if work.is_empty() { &[] } else { &["--work", work] };
        let words = |command| [scene.words(command, "5"), more.to_vec()].concat();
        let request = scene.world.cto(words("request")).expect(0).json();
        let name = request["request"].as_str().unwrap();
        let packet = scene.world.cto(["packet", name, "--json"]).expect(0).json();
        let sentence = packet["approval_command_text"].as_str().unwrap();
        let named = if work.is_empty() { "made" } else { work };
        assert!(sentence.starts_with(&format!("I approve {named} against ")), "{sentence}");
        let _ = scene.world.cto(["approve", name, "--sentence", sentence]).expect(0);
        let document = scene.world.home().join("requests").join(name).join("request.json");
        let document: serde_json::Value = serde_json::from_slice(&fs::read(document).unwrap()).unwrap();
        assert_eq!(document["plan"]["work_id"], expected);
        let report = scene.world.cto(words("run")).expect(0).json();
        assert_eq!(report["work_id"], expected, "{report:#}");
        assert_eq!(scene.proof(&report, "stage5-owned-repo-proof.json")["work_id"], expected);
        let said = scene.world.cto(["outcome", "@", "accept", "--reason", "read", "--json"]).expect(0).json();
        assert_eq!(said["work_id"], expected);
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    }
}
