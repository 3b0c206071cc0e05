//! Projects with dependencies, governed end to end and offline in a draft's environment, pasted as it was printed.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::World;

use super::project::{File, GO, NODE, PYTHON, Project, RUST, writes};
use super::{Ended, write_case};

/// A project in a repository, an operator who has what it needs, and the draft they got.
struct Scene {
    world: World,
    project: &'static Project,
    repository: PathBuf,
    environment: String,
}

impl Scene {
    /// `has` are folders of the operator's home and where they lead; `path` comes before all others on PATH.
    fn new(project: &'static Project, has: &[(&str, &Path)], path: Option<&Path>) -> Self {
        let world = crate::world();
        for (below, place) in has {
            let link = world.user().join(below);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(place, link).unwrap();
        }
        let repository = world.repository(project.name, project.files);
        let environment = suggest(&world, &repository, path);
        Self { world, project, repository, environment }
    }

    /// Runs a patch that may change its own files and nothing else.
    fn run(&self, name: &str, patch: &[File], environment: &str) -> Ended {
        self.run_with(name, patch, environment, &[self.project.exam()])
    }

    fn run_with(&self, name: &str, patch: &[File], environment: &str, keys: &[(&str, Value)]) -> Ended {
        let paths: Vec<&str> = patch.iter().map(|(path, _)| *path).collect();
        let scope = [("allowed_paths", json!(paths)), ("exam_may_change", json!(paths))];
        let case = write_case(&self.world, name, &[&scope[..], keys].concat(), &writes(patch), environment);
        Ended::of(&self.world, &case, Some(&self.repository))
    }

    fn names_inputs(&self) -> bool {
        self.environment.contains("  setup_inputs:")
    }

    /// All tests ran, before and after.
    fn all_ran(&self, ended: &Ended) {
        let passes = ended.report["verification"]["passes"].as_array().unwrap();
        let exam = &passes[0]["tests"];
        let executed = (&exam["baseline"]["executed"], &exam["result"]["executed"]);
        assert_eq!(executed, (&json!(self.project.tests), &json!(self.project.tests)), "{}", ended.told());
        assert!(ended.test_log.contains(self.project.breaks), "{}", ended.told());
    }
}

/// The draft as it is printed, which must be what the program form says too.
pub(crate) fn suggest(world: &World, repository: &Path, path: Option<&Path>) -> String {
    let call = |json: bool| {
        let mut command = world.command(["environment", "suggest"]);
        command.arg(repository).args(json.then_some("--json"));
        let paths =
            command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value.map(OsString::from));
        let paths = paths.unwrap_or_default();
        let first = path.map(Path::to_owned).into_iter();
        command.env("PATH", std::env::join_paths(first.chain(std::env::split_paths(&paths))).unwrap());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let document: Value = serde_json::from_str(&call(true)).unwrap();
    assert_eq!(document["notes"], json!([]), "nothing is missing");
    call(false)
}

/// One after the other: what is made in one run is there for the next.
fn govern(scene: &Scene) {
    let first = scene.run("first", &[scene.project.honest], &scene.environment).expect("pass", &[]);
    scene.all_ran(&first);
    assert!(!first.covers("tests_not_compared") && !first.covers("exam_without_control"), "{}", first.told());
    // A setup that sees the whole tree runs again on every tree that is judged.
    assert_eq!(first.setup().len() == 1, scene.names_inputs(), "{}", first.told());
    assert_eq!(first.setup()[0]["cached"], false, "{}", first.told());
    assert_eq!(first.setup()[0]["tree"], first.report["baseline_tree"], "{}", first.told());

    let second = scene.run("second", &[scene.project.honest], &scene.environment).expect("pass", &[]);
    scene.all_ran(&second);
    assert_eq!(second.setup()[0]["cached"], true, "{}", second.told());
    assert_eq!(second.setup()[0]["key"], first.setup()[0]["key"], "{}", second.told());
    assert!(second.setup_log.starts_with("== setup: known from an earlier run as "), "{}", second.told());

    let broken =
        scene.run("broken", &[scene.project.broken], &scene.environment).expect("fail", &["verification_failed"]);
    assert_eq!(broken.report["verification"]["passes"][0]["tests"]["result"]["failed"], 1, "{}", broken.told());
    assert!(broken.test_log.contains(scene.project.breaks), "{}", broken.told());
}

/// A patch that asks for another version is verified with what it asks for.
fn update(scene: &Scene, environment: &str, keys: &[(&str, Value)]) -> Ended {
    let patch = [&[scene.project.honest], scene.project.update].concat();
    let updated = scene.run_with("update", &patch, environment, keys).expect("pass", &[]);
    scene.all_ran(&updated);
    let baseline = &updated.setup()[0];
    let again = updated.setup().iter().find(|made| made["tree"] != baseline["tree"]).unwrap();
    assert_ne!(again["key"], baseline["key"], "{}", updated.told());
    assert_eq!(
        (&again["cached"], &again["tree"]),
        (&json!(false), &updated.report["result_tree"]),
        "{}",
        updated.told()
    );
    updated
}

#[test]
fn node() {
    let Some(cache) = testkit::npm_cache("environment::node") else { return };
    let scene = Scene::new(&NODE, &[(".npm", &cache)], None);
    govern(&scene);
    update(&scene, &scene.environment, &[NODE.exam()]);

    let bare = scene.run("bare", &[NODE.honest], "").expect("blocked", &["environment_broken"]);
    assert!(bare.test_log.contains("Cannot find module 'is-number'"), "{}", bare.told());

    let patch = [&[NODE.honest], NODE.update].concat();
    let inputs = scene.environment.find("  setup_inputs:").unwrap();
    let whole = scene.run("whole", &patch, &scene.environment[..inputs]).expect("pass", &[]);
    assert!(whole.setup().len() > 1, "without its inputs setup runs again on every tree: {}", whole.told());
}

/// Lock files can leave addresses out; npm then goes by its index.
#[test]
fn node_without_addresses() {
    let Some(cache) = testkit::npm_cache("environment::node_without_addresses") else { return };
    let address = "\n    \"resolved\": \"https://registry.npmjs.org/is-number/-/is-number-7.0.0.tgz\",";
    let lock = NODE.files.iter().find(|(path, _)| *path == "package-lock.json").unwrap().1.replace(address, "");
    let scene = Scene::new(&NODE, &[(".npm", &cache)], None);
    std::fs::write(scene.repository.join("package-lock.json"), lock).unwrap();
    testkit::git(&scene.repository, ["commit", "-qam", "second"]);
    let environment = suggest(&scene.world, &scene.repository, None);
    assert_ne!(environment, scene.environment);
    let ended = scene.run("addresses", &[NODE.honest], &environment).expect("pass", &[]);
    scene.all_ran(&ended);
}

#[test]
fn python() {
    let Some(wheels) = testkit::wheels("environment::python") else { return };
    let scene = Scene::new(&PYTHON, &[(".cache/wheels", &wheels)], None);
    govern(&scene);
    update(&scene, &scene.environment, &[PYTHON.exam()]);
    let bare = scene.run("bare", &[PYTHON.honest], "").expect("blocked", &["environment_broken"]);
    assert!(bare.test_log.contains("No module named 'inflection'"), "{}", bare.told());
}

#[test]
fn rust() {
    let Some(home) = testkit::cargo_home("environment::rust") else { return };
    let scene = Scene::new(&RUST, &[(".cargo/registry", &home.join("registry"))], None);
    govern(&scene);
    let updated = update(&scene, &scene.environment, &[RUST.exam()]);
    assert!(updated.test_log.contains("Compiling itoa v1.0.10"), "{}", updated.told());
    let bare = scene.run("bare", &[RUST.honest], "").expect("blocked", &["environment_broken"]);
    assert!(bare.test_log.contains("itoa"), "{}", bare.told());
}

#[test]
fn go() {
    let Some(go) = testkit::go_apart("environment::go") else { return };
    let scene = Scene::new(&GO, &[], go.parent());
    govern(&scene);
    // By its whole path, because the system may have a Go of its own.
    let named = json!([[&go, "test", "./..."]]);
    let keys = [("verification_commands", named)];
    let bare = scene.run_with("bare", &[GO.honest], "", &keys).expect("blocked", &["provider_unavailable"]);
    assert!(bare.why().contains(go.to_str().unwrap()), "{}", bare.told());
}

/// With a build cache that is there already, as compiling Go's library again and again would take minutes.
#[test]
fn go_update() {
    let Some(mut environment) = testkit::go_environment("environment::go_update") else { return };
    environment["setup_inputs"] = json!(["go.mod", "vendor/modules.txt"]);
    let version = "mkdir .cto && go list -mod=vendor -m -f {{.Version}} example.org/round > .cto/version";
    environment["setup"] = json!([{"argv": ["sh", "-c", version]}]);
    let world = crate::world();
    let repository = world.repository(GO.name, GO.files);
    let scene = Scene { world, project: &GO, repository, environment: format!("environment: {environment}\n") };
    let same = "test \"$(cat .cto/version)\" = \"$(sed -n 's/^# example.org.round //p' vendor/modules.txt)\"";
    let exam = json!([["go", "test", "-vet=off", "-v", "./..."], ["sh", "-c", same]]);
    let keys = [("verification_commands", exam)];
    let first = scene.run_with("first", &[GO.honest], &scene.environment, &keys).expect("pass", &[]);
    assert_eq!(first.setup()[0]["cached"], false, "{}", first.told());
    update(&scene, &scene.environment, &keys);
}
