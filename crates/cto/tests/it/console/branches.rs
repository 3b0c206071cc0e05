//! Hostile names of branches: of a target's work tree, and of the branch that a run moves.

use std::path::Path;

use contract::text::show_controls;
use testkit::git;

use super::Served;
use crate::targets::Scene;
use crate::world;

/// Parts of a name that git takes for a branch.
const PARTS: &[&str] = &[
    "<script>alert(1)</script>",
    "\"><img/src=x/onerror=alert(1)>",
    "'onmouseover='alert(1)",
    "&lt;b&gt;<svg/onload=alert(1)>",
    "\u{202e}gnp.exe",
    "a\u{200b}b\u{ad}c",
];

/// Text that no page may hold as it stands.
const BAD: &[&str] = &["<script>alert", "<img/src", "<svg/onload", "'onmouseover='", "\u{202e}", "\u{200b}", "\u{ad}"];

fn escaped(text: &str) -> String {
    let parts = text.replace('&', "&#38;").replace('<', "&#60;").replace('>', "&#62;");
    parts.replace('"', "&#34;").replace('\'', "&#39;")
}

/// The target is a bare repository whose only branch has a hostile name; a run is requested, approved, and moves it.
#[test]
fn the_name_of_a_branch_stays_text() {
    let name = PARTS.join("-");
    let prepare = |target: &Path| {
        git(target, ["branch", "-q", "-m", &name]);
        let bare = target.with_extension("git");
        git(target, ["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        bare
    };
    let changes = [("branch_policy", "current")];
    let Some(scene) = Scene::with("the_name_of_a_branch_stays_text", world(), prepare, &changes) else { return };
    let request = scene.approve("5")["request"].as_str().unwrap().to_owned();
    let served = Served::start(&scene.world, &["--read-only"]);
    let cookie = served.log_in();
    let get = |path: &str| {
        let answer = served.get(path, &cookie);
        assert_eq!(answer.status, 200, "{path}");
        String::from_utf8(answer.body).unwrap()
    };
    let packet = get(&format!("/approvals/{request}"));
    let report = scene.run("5", 0);
    assert_eq!(report["result_branch"], name.as_str(), "the control: the run moved this branch");
    let place = format!("/runs/{}", report["run_id"].as_str().unwrap());
    let run = get(&place);
    for (page, text) in [("packet", &packet), ("run", &run)] {
        assert!(text.contains(&escaped(PARTS[0])), "the page of the {page} shows no branch: {text}");
    }
    assert!(run.contains(&format!("on branch {}", escaped(&show_controls(&name)))), "{run}");
    let mut pages = vec![packet, run];
    let files = ["report.json", "report.md", "events.normalized.jsonl", "stage5-owned-repo-proof.json"];
    let logs = files.map(|file| format!("{place}/log?name={file}"));
    let others = ["/", "/runs", "/approvals"].map(str::to_owned);
    pages.extend(others.iter().chain(&logs).map(|path| get(path)));
    for text in &pages {
        for bad in BAD {
            assert!(!text.contains(bad), "{bad:?} is in {text}");
        }
    }
}
