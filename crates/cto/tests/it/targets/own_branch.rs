//! The branch that a run would make, made by somebody else between the approval and the run.

use testkit::each_row;

use super::{Scene, reasons};

/// Found loose, packed and as a symbolic one; a branch with another last digit is in nobody's way.
#[test]
fn a_branch_of_the_very_name_is_found_before_the_engine_starts() {
    let test = "a_branch_of_the_very_name_is_found_before_the_engine_starts";
    let Some(scene) = Scene::new(test) else { return };
    let request = scene.approve("5");
    let branch = format!("cto/made/{}", &request["request_digest"].as_str().unwrap()[..12]);
    let (start, last) = branch.split_at(branch.len() - 1);
    let other = format!("{start}{}", if last == "0" { "1" } else { "0" });
    scene.git(&["branch", &other]);
    let rows: [(&str, &[&str]); 3] = [
        ("loose", &["branch", &branch]),
        ("packed", &["pack-refs", "--all"]),
        ("a symbolic one", &["symbolic-ref", &format!("refs/heads/{branch}"), "refs/heads/elsewhere"]),
    ];
    each_row(rows, |words| {
        scene.git(words);
        let (before, refs) = (scene.untouched(), scene.git(&["for-each-ref"]));
        let report = scene.run("5", 3);
        assert_eq!(reasons(&report), "dirty_starting_tree", "{:#}", report["blockers"]);
        let told = report["blockers"][0]["text"].as_str().unwrap();
        let is_told = |how: &str| told.contains(&format!("branch {branch} {how}"));
        assert!(is_told("is there, at") || is_told("exists and is not a plain commit"), "{told}");
        assert_eq!(report["engine"]["process_started"], false);
        assert_eq!((scene.untouched(), scene.git(&["for-each-ref"])), (before, refs));
    });
    scene.git(&["symbolic-ref", "--delete", &format!("refs/heads/{branch}")]);
    let _ = scene.git(&["update-ref", "-d", &format!("refs/heads/{branch}")]);
    let report = scene.run("5", 0);
    assert_eq!(report["result_branch"], branch.as_str(), "the control: it is gone, and the approval is still there");
}
