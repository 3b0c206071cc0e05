//! Refused patches: each with a reason and a remedy, and with an unchanged repository.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{World, content_digest, git};

use super::{FILES, Scene, know_operator};
use crate::world;

/// Nothing was written and nothing was said.
fn refused(world: &World, repository: &Path, words: &[&str], code: i32, said: &[&str]) {
    let before = content_digest(repository, &[]);
    let ran = world.cto(words.iter().chain(&["--json"])).expect(code);
    let text = ran.json().to_string();
    assert!(said.iter().all(|said| text.contains(said)), "{words:?}: {text}");
    assert_eq!(content_digest(repository, &[]), before, "{words:?}");
    assert!(!world.home().join("statements").exists(), "{words:?}");
}

#[test]
fn only_a_pass_on_a_repository_is_taken() {
    let wrong = r#"{steps: [{write: {path: a.txt, text: "three\n"}}]}"#;
    let dirty: &[(&str, &str)] = &[];
    let nothing = [("diff_required", "false"), ("verification_commands", "[[\"true\"]]"), ("fake", "{steps: []}")];
    for (changes, spoil, code, said) in [
        (&[("fake", wrong)][..], false, 1, "the verdict of the run is fail: verification_failed"),
        (dirty, true, 3, "the verdict of the run is blocked: dirty_starting_tree"),
        (&nothing[..], false, 0, "there is nothing to take"),
    ] {
        let world = world();
        know_operator(&world);
        let repository = world.repository("source", FILES);
        if spoil {
            fs::write(repository.join("a.txt"), "dirty\n").unwrap();
        }
        let case = world.case("case", changes);
        let _ = world.cto(["run", case.to_str().unwrap(), "--repo", repository.to_str().unwrap()]).expect(code);
        refused(&world, &repository, &["take", "@"], 3, &[said, "hint"]);
    }
}

#[test]
fn a_case_has_no_repository_to_take_into() {
    let world = world();
    know_operator(&world);
    let repository = world.repository("source", FILES);
    let (_, _) = world.run("r1-string-slugify", 0);
    refused(&world, &repository, &["take", "@"], 3, &["of stage 2", "cto run TASK --repo DIR"]);
    refused(&world, &repository, &["take", "@", "--repo", repository.to_str().unwrap()], 3, &["of stage 2"]);
    refused(&world, &repository, &["take", "nothing-of-that-name"], 2, &["no run matches"]);
}

#[test]
fn a_bundle_that_does_not_verify_is_not_taken() {
    let scene = Scene::new();
    let patch = scene.bundle().join("patch.diff");
    let whole = fs::read(&patch).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    fs::write(&patch, text.replace("+two", "+six")).unwrap();
    refused(&scene.world, &scene.repository, &["take", "@"], 1, &["does not verify", "cto verify"]);
    // Control: the same bundle, whole again.
    fs::write(&patch, whole).unwrap();
    assert_eq!(scene.take(&[], 0)["was_there"], json!(false));
}

#[test]
fn a_repository_that_is_gone_or_another_is_not_taken_into() {
    let scene = Scene::new();
    let words = ["take", "@"];
    let away = scene.world.path().join("away");
    fs::rename(&scene.repository, &away).unwrap();
    refused(&scene.world, &away, &words, 3, &["the repository cannot be used", "--repo DIR"]);
    let other = scene.world.repository("source", &[("a.txt", "another\n")]);
    refused(&scene.world, &other, &words, 3, &["does not give the baseline commit", "--repo DIR"]);
    fs::rename(&other, scene.world.path().join("other")).unwrap();
    fs::rename(&away, &scene.repository).unwrap();
    // Formats that nothing is written into here; each is named.
    for (setting, value) in
        [("extensions.refStorage", "reftable"), ("extensions.objectFormat", "sha256"), ("extensions.new", "1")]
    {
        git(&scene.repository, ["config", "--file", ".git/config", setting, value]);
        refused(&scene.world, &scene.repository, &words, 3, &[&setting.to_lowercase()]);
        git(&scene.repository, ["config", "--file", ".git/config", "--unset", setting]);
    }
    assert_eq!(scene.take(&[], 0)["was_there"], json!(false), "and as it was, it is");
}

#[test]
fn nobody_is_no_author() {
    let scene = Scene::new();
    let file = scene.world.user().join(".gitconfig");
    for text in ["", "[user]\n\temail = a@example.invalid\n", "[user]\n\tname = Ada\n", "[user]\n\tname = \"  \"\n"] {
        fs::write(&file, text).unwrap();
        let said = ["git does not know who you are", "git config --global user.name", "git config --global user.email"];
        refused(&scene.world, &scene.repository, &["take", "@"], 3, &said);
    }
    // What the repository includes is a file of somebody's choice, and is not read.
    let evil = scene.world.write("evil", "[user]\n\tname = Mallory\n\temail = m@example.invalid\n");
    git(&scene.repository, ["config", "include.path", evil.to_str().unwrap()]);
    refused(&scene.world, &scene.repository, &["take", "@"], 3, &["git does not know who you are"]);
    assert_eq!(
        git(&scene.repository, ["config", "--local", "--includes", "user.name"]),
        "Mallory",
        "control: git reads it"
    );
    let author = |branch: &str, more: &[&str]| {
        let words: Vec<&str> = ["--branch", branch].iter().chain(more).copied().collect();
        scene.take(&words, 0)["author"].clone()
    };
    assert_eq!(author("one", &["--author", "Eve <e@x.invalid>"]), json!({"name": "Eve", "email": "e@x.invalid"}));
    let config = scene.world.user().join(".config/git/config");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(config, "[user]\n\tname = Xdg\n\temail = x@x.invalid\n").unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!(author("two", &[]), json!({"name": "Xdg", "email": "x@x.invalid"}));
    fs::write(&file, "[user]\n\tname = Ada\n").unwrap();
    assert_eq!(author("three", &[]), json!({"name": "Ada", "email": "x@x.invalid"}), "each part by itself");
    git(&scene.repository, ["config", "--file", ".git/config", "user.email", "own@x.invalid"]);
    assert_eq!(author("four", &[]), json!({"name": "Ada", "email": "own@x.invalid"}), "the repository's own first");
    for wrong in ["Eve", "<e@x>", "Eve <>", "Eve <e@x> y", "E\nve <e@x>", "E<ve <e@x>"] {
        let _ = scene.world.cto(["take", "@", "--author", wrong]).expect(2);
    }
}
