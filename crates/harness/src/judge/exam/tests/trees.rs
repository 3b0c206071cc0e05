//! Trees that checks are held on: the exam's, with data that the patch adds and without what builds make.

use contract::Coverage;
use contract::product::generator_of;
use contract::sandbox::SetupCommand;
use sandbox::Spec;
use serde_json::{Value, json};
use tree::FileAge;

use super::super::{Examined, Examiner, Furnished};
use super::exam_trial::{ExamTrial, Files, blocks, log, made_by_build, passes, pytest};
use super::reasons::{BASELINE, TESTS};
use crate::judge::environment::Layer;

fn with_examiner<T>(more: Value, trees: (Files<'_>, Files<'_>), ask: impl FnOnce(&mut Examiner<'_>) -> T) -> T {
    let play = |_: &str, spec: &Spec| pytest(&spec.cwd);
    ExamTrial::new(more).ask(trees, Furnished::default(), &play, |mut examiner| ask(&mut examiner))
}

fn paths(listing: &tree::Listing) -> Vec<String> {
    listing.0.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[test]
fn the_exam_has_protected_files_as_the_baseline_has_them() {
    let baseline: Files<'_> = &[("app.py", "one\n"), ("tests/test_a.py", "old\n"), ("tests/test_gone.py", "gone\n")];
    let result: Files<'_> =
        &[("app.py", "two\n"), ("new.py", "n\n"), ("tests/test_a.py", "new\n"), ("tests/test_b.py", "b\n")];
    let (exam, changed) = with_examiner(json!({}), (baseline, result), |examiner| {
        let exam = examiner.exam_listing().unwrap();
        let same = |path: &str| exam.0[path.as_bytes()] == examiner.trees.result.0[path.as_bytes()];
        (paths(&exam), ["app.py", "tests/test_a.py"].map(same))
    });
    assert_eq!(exam, ["app.py", "new.py", "tests/test_a.py", "tests/test_gone.py"]);
    assert_eq!(changed, [true, false], "the patch's own and the baseline's");
}

/// A patch that adds a test file of Rust inside `src` adds source.
#[test]
fn a_new_unit_test_file_of_rust_stays_in_the_exam() {
    let baseline: Files<'_> = &[("src/lib.rs", "a\n")];
    let result: Files<'_> = &[("src/lib.rs", "a\n"), ("src/deep/tests.rs", "b\n"), ("tests/it.rs", "c\n")];
    let rust = with_examiner(json!({"protected_paths": []}), (baseline, result), |examiner| {
        paths(&examiner.exam_listing().unwrap())
    });
    assert_eq!(rust, ["src/deep/tests.rs", "src/lib.rs"]);
}

const DATA: (&str, &str) = ("tests/fixtures/app.txt", "one\n");

/// The test reads data that only the patch brings.
fn with_data(result: Files<'_>, more: Value) -> Examined {
    ExamTrial::new(more).examine(BASELINE, result)
}

#[test]
fn an_exam_that_lacks_added_data_is_held_once_more_with_it() {
    let moved: Files<'_> = &[("app.py", "two\n"), DATA, TESTS];
    let held = with_data(moved, json!({}));
    assert_eq!(blocks(&held), [""; 0], "{}", log(&held));
    assert_eq!(passes(&held)[0], "exam 1 holds");
    assert!(held.coverage.contains(&Coverage::ExamChangeNotControlled));
    assert!(log(&held).contains("the patch adds test data: the exam runs once more with it"));
    let enough = with_data(&[("app.py", "one two\n"), DATA, TESTS], json!({}));
    assert!(!enough.coverage.contains(&Coverage::ExamChangeNotControlled), "control: it passes without");
    let none = with_data(&[("app.py", "two\n"), TESTS], json!({}));
    assert!(!none.coverage.contains(&Coverage::ExamChangeNotControlled), "control: nothing is added");
    assert_eq!(passes(&none), ["exam 1 fails"]);
}

#[test]
fn only_new_plain_data_that_nothing_makes_is_lacking() {
    let baseline: Files<'_> = &[("app.py", "one\n"), ("tests/fixtures/old.txt", "old\n")];
    let result: Files<'_> = &[
        ("app.py", "one\n"),
        ("tests/fixtures/made/x.txt", "m\n"),
        ("tests/fixtures/new.txt", "n\n"),
        ("tests/fixtures/old.txt", "changed\n"),
        ("tests/fixtures/run.sh", "r\n"),
        ("tests/test_b.py", "b\n"),
    ];
    let added = with_examiner(json!({}), (baseline, result), |examiner| {
        let exam = examiner.exam_listing().unwrap();
        let made = json!({"exit": 0, "timed_out": false, "tests": null, "runners": [], "collected": 0, "missing_tool": null,
            "last_lines": "", "tried": [], "hooks": {}, "made": ["tests/fixtures/made"]});
        examiner.before.commands = vec![serde_json::from_value(made).unwrap()];
        let with = examiner.with_added_data(&exam);
        let before = paths(&exam);
        paths(&with).into_iter().filter(|path| !before.contains(path)).collect::<Vec<_>>()
    });
    assert_eq!(added, ["tests/fixtures/new.txt"]);
}

/// Files that a patch adds where the build of the baseline makes some.
#[test]
fn what_the_build_makes_is_absent_from_the_exam_and_compared() {
    let held = |carried: &str, made: &'static [(&'static str, &'static str)]| {
        let result: Files<'_> = &[("app.py", "one two\n"), ("out/lib.txt", carried), ("out/Cargo.lock", "l\n"), TESTS];
        ExamTrial::new(json!({"environment": {"build": [["build"]]}})).examine_with(BASELINE, result, &|name, spec| {
            if name.contains("build") {
                made_by_build(spec, if name.starts_with("baseline") { &[("out/lib.txt", "m\n")] } else { made });
            }
            pytest(&spec.cwd)
        })
    };
    let sentence =
        |how: &str| format!("`out/lib.txt` is where setup or build make a file, {how}; the exam runs without it");
    for (carried, made, how, is_rebuilt) in [
        ("m\n", &[("out/lib.txt", "m\n")][..], "and make it the same", true),
        ("other\n", &[("out/lib.txt", "m\n")], "and make it otherwise", false),
        ("m\n", &[], "but not this file", false),
    ] {
        let examined = held(carried, made);
        assert!(log(&examined).contains(&sentence(how)), "{how}: {}", log(&examined));
        assert_eq!(examined.coverage.contains(&Coverage::ProductNotRebuilt), !is_rebuilt, "{how}");
        assert!(!log(&examined).contains("`out/Cargo.lock`"), "a lock file stays");
    }
}

#[test]
fn changed_text_is_new_and_products_are_old() {
    let (source, made) = ("g.less", "g.css");
    let baseline: Files<'_> = &[("app.py", "one\n"), ("same.py", "s\n"), (source, "s\n"), (made, "old\n")];
    let result: Files<'_> =
        &[("app.py", "two\n"), ("same.py", "s\n"), ("lib.bin", "\0\u{1}"), (source, "t\n"), (made, "new\n")];
    let ages = |bin: Option<&str>, layer: Option<&std::path::Path>| {
        let mut desk = ExamTrial::new(json!({}));
        desk.contract.environment.path.extend(bin.map(str::to_owned));
        let play = |_: &str, spec: &Spec| pytest(&spec.cwd);
        let layer = layer.map(|files| Layer::of_files(files.to_owned()));
        desk.ask((baseline, result), Furnished { layer, ..Furnished::default() }, &play, |mut examiner| {
            let root = examiner.setting.dir("t").unwrap();
            let program_view = examiner.setting.make_mounts("t", root).unwrap();
            let ages = examiner.ages(examiner.trees.result, &program_view).unwrap();
            let all = ["app.py", "same.py", "lib.bin", made].map(|path| ages.age_of(path.as_bytes()));
            (all, examiner.found.coverage.contains(&Coverage::ProductNotRebuilt))
        })
    };
    let (changed, old) = (FileAge::Changed, FileAge::Product);
    assert_eq!(
        ages(None, None),
        ([changed, FileAge::Unchanged, old, FileAge::Settled], true),
        "its generator is not there"
    );
    let folder = tempfile::tempdir().unwrap();
    let generator = generator_of(made.as_bytes(), |path| path == source.as_bytes()).unwrap();
    let program = folder.path().join(generator.programs[0]);
    untrusted_fs::own_files::write_file(&program, "").unwrap();
    rustix::fs::chmod(&program, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
    assert_eq!(ages(folder.path().to_str(), None), ([changed, FileAge::Unchanged, old, old], false));
    let layer = |name: &str| {
        let layer = tempfile::tempdir().unwrap();
        let bin = layer.path().join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        untrusted_fs::own_files::write_file(bin.join(name), "").unwrap();
        layer
    };
    let (other, installed) = (layer("other"), layer(generator.programs[0]));
    assert_eq!(ages(None, Some(other.path())).0[3], FileAge::Settled);
    assert_eq!(ages(None, Some(installed.path())).0[3], old, "setup installs it");
}

#[test]
fn what_setup_makes_of_the_baseline_is_made() {
    let layer = tempfile::tempdir().unwrap();
    for path in ["gen/deep/x.txt", "src/made.txt", "src/app.py"] {
        std::fs::create_dir_all(layer.path().join(path).parent().unwrap()).unwrap();
        untrusted_fs::own_files::write_file(layer.path().join(path), "").unwrap();
    }
    let trees: Files<'_> = &[("src/app.py", "one\n")];
    let furnished = || Furnished { layer: Some(Layer::of_files(layer.path().to_owned())), ..Furnished::default() };
    let is_made = |path: &str, furnished: Furnished| {
        let play = |_: &str, spec: &Spec| pytest(&spec.cwd);
        ExamTrial::new(json!({})).ask((trees, trees), furnished, &play, |examiner| examiner.is_made(path.as_bytes()))
    };
    for (path, expected) in [
        ("gen/deep/x.txt", true),
        ("gen/other.txt", true),
        ("src/made.txt", true),
        ("src/other.txt", false),
        ("src/app.py", false),
        ("other/x.txt", false),
    ] {
        assert_eq!(is_made(path, furnished()), expected, "{path}");
    }
    assert!(!is_made("gen/deep/x.txt", Furnished::default()), "control: no setup");
}

/// Times of setups count once, and not where a layer was there from an earlier run.
#[test]
fn a_setup_is_told_once() {
    let record = |key: u8, cached: bool| {
        let mut record = Layer::of_files("/nowhere".into()).record;
        let argv = vec!["x".to_owned()];
        record.commands =
            [5, 6].map(|duration_ms| SetupCommand { argv: argv.clone(), exit: Some(0), duration_ms }).into();
        (record.key, record.cached) = (contract::Digest::of_bytes(&[key]), cached);
        record
    };
    with_examiner(json!({}), (BASELINE, BASELINE), |examiner| {
        for (key, cached, told, spent_ms) in [(1, false, 1, 11), (1, false, 1, 11), (2, true, 2, 11), (3, false, 3, 22)]
        {
            examiner.tell_setup(&record(key, cached));
            assert_eq!((examiner.found.setup.len(), examiner.spent_ms), (told, spent_ms), "{key} {cached}");
        }
    });
}

#[test]
fn changes_of_the_exam_that_no_control_covers_are_said_where_something_was_verified() {
    let paths = [b"tests/a.py".to_vec()];
    let mut none = Examined::default();
    none.note_altered(&paths);
    assert!(none.coverage.is_empty() && none.log.is_empty(), "nothing was verified");
    let mut held = ExamTrial::new(json!({})).examine(BASELINE, BASELINE);
    held.log.clear();
    held.note_altered(&[]);
    assert!(!held.coverage.contains(&Coverage::ExamChangeNotControlled), "nothing was altered");
    held.note_altered(&paths);
    assert!(held.coverage.contains(&Coverage::ExamChangeNotControlled));
    assert_eq!(log(&held), "tests/a.py: the patch changes a file of the exam in another way than by adding tests\n");
}
