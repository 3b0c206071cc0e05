//! A target that a run is not admitted to is named nowhere in what the run writes and says: not by its path, and not by its name.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Ran, World, each_row, stoppable};

use super::{Scene, reasons};
use crate::world;

/// Nothing else is called that.
const NAME: &str = "zebra quagga\u{e4} \"1\"";

fn renamed(target: &Path) -> PathBuf {
    let named = target.with_file_name(NAME);
    fs::rename(target, &named).unwrap();
    named
}

/// The path and its last part, as they are and as JSON writes them.
fn forms(scene: &Scene) -> Vec<String> {
    let path = scene.target.display().to_string();
    let escaped = |text: &str| Value::from(text).to_string().trim_matches('"').to_owned();
    let ascii = |text: &str| escaped(text).replace('\u{e4}', "\\u00e4");
    [path.as_str(), NAME].iter().flat_map(|text| [(*text).to_owned(), escaped(text), ascii(text)]).collect()
}

/// Places of a run that have one of the texts.
fn places(scene: &Scene, ran: &Ran, run: &str) -> Vec<String> {
    let bundle = scene.world.bundles().join(run);
    let files = testkit::files_of(&bundle)
        .into_iter()
        .map(|file| (file.display().to_string(), fs::read(bundle.join(file)).unwrap()));
    let said = [("stdout".to_owned(), ran.stdout.clone()), ("stderr".to_owned(), ran.stderr.clone().into_bytes())];
    let forms = forms(scene);
    let holds =
        |bytes: &[u8]| forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()));
    files.chain(said).filter(|(_, bytes)| holds(bytes)).map(|(name, _)| name).collect()
}

/// Ways in which a run comes to know of a target that it is not admitted to: the words of the run, and what is done before.
type Way = (&'static str, fn(&Scene), &'static [&'static str], &'static str);

const BY_FILE: &[&str] = &["run", "./made", "--stage", "5", "--json", "--target", "target.yaml"];
const BY_CONTRACT: &[&str] = &["run", "./made", "--stage", "5", "--json"];

fn name_in_contract(scene: &Scene, path: &str) {
    let file = scene.world.here().join("made/case.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}target_repository: {}\n", Value::from(path))).unwrap();
}

const WAYS: &[Way] = &[
    ("its record says no", |it| it.admit("not_admitted"), BY_FILE, "target_not_admitted"),
    (
        "nobody signed its record",
        |it| fs::remove_file(it.world.here().join("target.yaml.sig")).unwrap(),
        BY_FILE,
        "target_not_admitted",
    ),
    (
        "its record is critical",
        |it| {
            let text = fs::read_to_string(it.world.here().join("target.yaml")).unwrap();
            it.world.write("target.yaml", text.replace("low_risk_noncritical", "critical"));
            it.sign("target.yaml", &it.key());
        },
        BY_FILE,
        "critical_repository",
    ),
    (
        "the contract names it",
        |it| name_in_contract(it, &it.target.display().to_string()),
        BY_CONTRACT,
        "target_not_admitted",
    ),
    (
        "the contract names it, with a slash",
        |it| name_in_contract(it, &format!("{}/", it.target.display())),
        BY_CONTRACT,
        "target_not_admitted",
    ),
    (
        "the contract names it by a link",
        |it| {
            let link = it.world.path().join("link");
            std::os::unix::fs::symlink(&it.target, &link).unwrap();
            name_in_contract(it, &link.display().to_string());
        },
        BY_CONTRACT,
        "target_not_admitted",
    ),
    (
        "the contract names it, at stage 4",
        |it| name_in_contract(it, &it.target.display().to_string()),
        &["run", "./made", "--stage", "4", "--json"],
        "target_not_admitted",
    ),
];

#[test]
fn a_target_that_is_not_admitted_stands_nowhere() {
    let test = "a_target_that_is_not_admitted_stands_nowhere";
    each_row(WAYS.iter().map(|row| (row.0, row)), |(_, make, words, reason)| {
        let Some(scene) = Scene::with(test, world(), renamed, &[]) else { return };
        let control = scene.world.cto(scene.words("run", "5")).expect(3);
        let run = control.json()["run_id"].as_str().unwrap().to_owned();
        assert!(!places(&scene, &control, &run).is_empty(), "the control: an admitted target is named");
        make(&scene);
        let before = scene.untouched();
        let ran = scene.world.cto(words.iter().copied()).expect(3);
        let report = ran.json();
        assert_eq!(reasons(&report), *reason, "{:#}", report["blockers"]);
        let run = report["run_id"].as_str().unwrap();
        assert_eq!(places(&scene, &ran, run), Vec::<String>::new(), "{report:#}");
        assert!(report["coverage"].as_array().unwrap().contains(&"target_redacted".into()));
        assert_eq!(scene.untouched(), before);
        let told = scene.world.cto(["show", "@"]);
        assert_eq!(places(&scene, &told, run), Vec::<String>::new());
        let _ = scene.world.cto(["verify", "@"]).expect(0);
        let plain = scene.world.cto(words.iter().copied().filter(|word| *word != "--json")).expect(3);
        assert_eq!(places(&scene, &plain, run), Vec::<String>::new(), "what people read");
    });
}

#[test]
fn a_run_that_is_killed_names_it_nowhere_either() {
    let test = "a_run_that_is_killed_names_it_nowhere_either";
    let Some(binary) = stoppable(test) else { return };
    let rows = WAYS.iter().filter(|row| ["its record says no", "the contract names it"].contains(&row.0));
    let stops =
        rows.flat_map(|row| ["decision.made", "decision.recorded"].map(|at| (format!("{}: {at}", row.0), (row, at))));
    each_row(stops, |((_, make, words, _), at)| {
        let Some(scene) = Scene::with(test, World::new(binary.to_str().unwrap()), renamed, &[]) else { return };
        make(&scene);
        let killed = scene.world.command(words.iter().copied()).env("CTO_STOP_AT", at).output().unwrap();
        assert_eq!(killed.status.code(), None, "it is killed there: {killed:?}");
        let recovered = scene.world.cto(["recover", "--json"]).expect(0);
        let shown = scene.world.cto(["show", "@", "--json"]).expect(0);
        let run = shown.json()["run_id"].as_str().unwrap().to_owned();
        for said in [&recovered, &shown] {
            assert_eq!(places(&scene, said, &run), Vec::<String>::new(), "{said:?}");
        }
        let _ = scene.world.cto(["verify", "@"]).expect(0);
    });
}
