//! The forms in which ladders are shown.

use super::{lay_case, run_case};
use crate::world;

#[test]
fn every_form_says_the_same() {
    let world = world();
    lay_case(&world, true);
    let run = run_case(&world, 0)["run_id"].as_str().unwrap().to_owned();
    let lines = world.cto(["ladder", "--engine", "fake"]).expect(0).text();
    let version = env!("CARGO_PKG_VERSION");
    assert!(lines.contains(&format!("fake fake@{version} - 2 validated bundles=1\n")), "{lines}");
    assert_eq!(lines.lines().count(), 6);
    let told = world.cto(["ladder", "explain", "2", "--engine", "fake"]).expect(0).text();
    assert!(told.contains(&format!("proven_by {run}\n")), "{told}");
    let told = world.cto(["ladder", "explain", "3", "--engine", "fake"]).expect(0).text();
    assert!(told.contains("next cto run TASK --repo DIR --engine fake --stage 3\n"), "{told}");
    let picture = world.cto(["ladder", "--engine", "fake", "--svg", "-"]).expect(0).text();
    assert!(picture.starts_with("<svg ") && picture.contains(">validated</text>"), "{picture}");
    assert_eq!(picture.matches(">not started</text>").count(), 5);
    let _ = world.cto(["ladder", "--svg", "ladder.svg"]).expect(0);
    assert!(std::fs::read_to_string(world.here().join("ladder.svg")).unwrap().contains(">codex</text>"));
    let all = world.cto(["ladder", "--json"]).expect(0).json();
    assert!(all["rungs"].as_array().unwrap().iter().all(|rung| rung["engine"] != "fake"), "it climbs nothing");
}

#[test]
fn engines_and_stages_that_do_not_exist_are_refused() {
    let world = world();
    world.make_home();
    for words in
        [&["ladder", "--engine", "nobody"][..], &["ladder", "explain", "7"], &["ladder", "--svg", "no/such/file"]]
    {
        let _ = world.cto(words.iter().copied()).expect(2);
    }
    let empty = world.cto(["ladder", "--json"]).expect(0).json();
    assert_eq!(empty["verified_bundles"], 0, "looking makes no ledger");
    assert!(!world.home().join("ledger.db").exists());
}

/// `docs/images/ladder.svg` is drawn by the program: two stages earned, a third lost.
#[test]
fn the_picture_of_the_page_is_the_programs_own() {
    let world = world();
    lay_case(&world, true);
    for stage in ["1", "2"] {
        let _ = world.cto(["run", "./made", "--stage", stage]).expect(0);
    }
    let source = world.repository("source", &[("a.txt", "one\n")]);
    lay_case(&world, false);
    let _ = world.cto(["run", "./made", "--stage", "3", "--repo", source.to_str().unwrap()]).expect(1);
    let drawn = world.cto(["ladder", "--engine", "fake", "--svg", "-"]).expect(0).text();
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images/ladder.svg");
    assert_eq!(drawn, std::fs::read_to_string(page).unwrap(), "cto ladder --engine fake --svg docs/images/ladder.svg");
}
