//! Projects with dependencies: an admitted agent changes each in a copy of the operator's own repository, at stage 3, and the
//! patch is taken to a branch.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{content_digest, contract_text, git, left_running, left_within};

use super::cases::FIX;
use super::scene::{CASE, Scene, doing};
use crate::environment::governed::suggest;
use crate::environment::project::{GO, NODE, PYTHON, Project, RUST};

/// The ladder of these runs is their own: others of the same home may fail on purpose.
const PAIR: &str = "prov/model-z";

const PROJECTS: [&Project; 4] = [&NODE, &PYTHON, &RUST, &GO];

/// The cache of a project: its path below the home, and its place on this machine.
fn cache(test: &str, project: &Project) -> Option<(&'static str, PathBuf)> {
    match project.name {
        "node" => testkit::npm_cache(test).map(|cache| (".npm", cache)),
        "python" => testkit::wheels(test).map(|wheels| (".cache/wheels", wheels)),
        _ => testkit::cargo_home(test).map(|home| (".cargo/registry", home.join("registry"))),
    }
}

/// The environment of the contract, as it is suggested. Go's is given: compiling its library anew would take minutes.
fn environment(test: &str, scene: &Scene, project: &Project, repository: &Path) -> Option<String> {
    if project.name == "go" {
        return testkit::go_environment(test).map(|environment| format!("environment: {environment}\n"));
    }
    let (below, place) = cache(test, project)?;
    let link = scene.world.user().join(below);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(place, link).unwrap();
    Some(suggest(&scene.world, repository, None))
}

/// Drafts the admission of the agent's source and signs it off, as its operator would.
fn admit(scene: &Scene) {
    let _ = scene.cto(&["admit", "source", scene.engine]).expect(0);
    let file = scene.world.here().join(format!("admissions/source/{}.yaml", scene.engine));
    let draft = fs::read_to_string(&file).unwrap();
    let admitted = testkit::fill_in(&draft)
        .replace("status: \"draft\"", "status: admitted")
        .replace("license_status: \"unresolved\"", "license_status: resolved");
    assert_ne!(admitted, draft);
    fs::write(&file, admitted).unwrap();
}

fn changes_each(engine: &'static str) {
    let test = "agents::projects";
    let Some(mut scene) = Scene::new(test, engine, doing(engine, &[FIX], "Done.")) else { return };
    scene.pair = PAIR;
    scene.furnish();
    for stage in [1, 2] {
        let _ = scene.run(CASE, stage, &[], 0);
    }
    admit(&scene);
    for project in PROJECTS {
        let repository = scene.world.repository(project.name, project.files);
        let Some(environment) = environment(test, &scene, project, &repository) else { continue };
        changes(&mut scene, project, &repository, &environment);
    }
}

fn changes(scene: &mut Scene, project: &Project, repository: &Path, environment: &str) {
    let (path, text) = project.honest;
    let paths = json!([path]).to_string();
    let (exam, commands) = project.exam();
    let task = contract_text(&[
        ("task_id", project.name),
        ("allowed_paths", &paths),
        ("exam_may_change", &paths),
        (exam, &commands.to_string()),
    ]);
    let task = scene.world.write(&format!("{}.yaml", project.name), task + environment);
    scene.follow(doing(scene.engine, &[&format!("cat > {path} <<'END'\n{text}END")], "Done."));
    scene.open(3);
    let before = (scene.outside(), content_digest(repository, &[]));
    let place = repository.to_str().unwrap();
    let (report, bundle) = scene.run(task.to_str().unwrap(), 3, &["--repo", place], 0);
    let run_id = report["run_id"].as_str().unwrap();
    let told = || format!("{} {}: {}", scene.engine, project.name, testkit::outcome_of(&report));
    assert_eq!((&report["changed_files"], &report["source_admission_status"]), (&json!([path]), &json!("admitted")));
    let (provider, model) = PAIR.split_once('/').unwrap();
    let pair = json!({"provider": provider, "model": model});
    assert_eq!(report["model"]["requested"], pair, "{}", told());
    assert_eq!(scene.asked_models(), [model]);
    assert!(report["coverage"].as_array().unwrap().contains(&json!("model_scripted")), "{}", told());
    let exam = &report["verification"]["passes"][0]["tests"]["result"]["executed"];
    assert_eq!(*exam, json!(project.tests), "{}", told());
    let proof: Value =
        serde_json::from_slice(&fs::read(bundle.join("stage3-copied-repo-proof.json")).unwrap()).unwrap();
    assert_eq!(proof["passed"], true, "{proof}");
    assert_eq!((scene.outside(), content_digest(repository, &[])), before, "nothing outside is written");
    let left = left_within(Duration::from_secs(1), || left_running(run_id));
    assert!(left.is_empty(), "{left:?} are left: {}", told());

    let _ = scene.cto(&["take", run_id, "--branch", "change", "--author", "Me <me@example.org>"]).expect(0);
    assert_eq!(git(repository, ["rev-parse", "change^{tree}"]), report["result_tree"].as_str().unwrap());
    assert_eq!(git(repository, ["show", &format!("change:{path}")]), text.trim_end());
}

#[test]
fn codex_changes_each() {
    changes_each("codex");
}

#[test]
fn pi_changes_each() {
    changes_each("pi");
}

#[test]
fn claude_changes_each() {
    changes_each("claude");
}
