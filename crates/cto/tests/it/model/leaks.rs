//! Token, key and endpoint of a model-backed run: nowhere in what is kept, whatever the engine prints.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::secret_set::encode::{base64, hex, json_full, url_full};

use super::scene::{KEY, PAIR, Scene, ask, asking};

/// Prints its argument in five encodings.
const SHOUT: &str = r#"import base64, sys
value = sys.argv[1].encode()
escaped = "".join("\\u%04x" % byte for byte in value)
print(sys.argv[1], base64.b64encode(value).decode(), value.hex(), "".join("%%%02x" % byte for byte in value), escaped, sep="\n")"#;

/// Prints its token, and leaves it in a file of the result.
const SHOUT_TOKEN: &str = r#"import base64, os, sys
key = os.environ["OPENAI_API_KEY"]
open("b.txt", "w").write(key + "\n")
print(key, base64.b64encode(key.encode()).decode(), key.encode().hex())
print(key, file=sys.stderr)"#;

pub(super) fn python(script: &str, arguments: &[&str]) -> Value {
    let mut argv = vec!["/usr/bin/python3", "-c", script];
    argv.extend_from_slice(arguments);
    json!({"run": {"argv": argv}})
}

fn spellings(value: &str) -> [String; 5] {
    let bytes = value.as_bytes();
    [value.to_owned(), base64(bytes, true), hex(bytes), url_full(value), json_full(value)]
}

/// Every file below a folder that holds the value in one of the five encodings.
fn holding(folder: &Path, value: &str) -> Vec<PathBuf> {
    let needles = spellings(value);
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap();
        needles.iter().any(|needle| bytes.windows(needle.len()).any(|part| part == needle.as_bytes()))
    };
    files(folder).into_iter().filter(holds).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = paths.filter(|path| path.is_dir() || path.is_file());
    kept.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The token, as the client showed it.
fn token(bundle: &Path) -> String {
    let text = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("backwards ")).unwrap().to_owned();
    line.chars().rev().collect()
}

pub(super) fn authority(scene: &Scene) -> String {
    let endpoint = scene.config["models"][PAIR]["endpoint"].as_str().unwrap();
    endpoint.trim_start_matches("http://").trim_end_matches("/v1").to_owned()
}

/// Places in the engine's output where something of this name was redacted.
fn redacted(report: &Value, rule: &str) -> usize {
    let hits = report["secret_scan"]["hits"].as_array().unwrap().iter();
    hits.filter(|hit| hit["rule"] == rule && hit["class"] == "leak" && hit["file"] == "backend/stdout.log").count()
}

/// A run whose engine prints a value in five encodings after it was answered.
fn shouting(scene: &Scene, value: &str, code: i32) -> (Value, PathBuf) {
    let mut steps = asking(&[ask("m", "hello")]);
    steps.push(python(SHOUT, &[value]));
    scene.run(&scene.case(&[], &steps), &[], code)
}

#[test]
fn a_key_or_an_endpoint_that_the_engine_prints_is_a_leak() {
    let scene = Scene::new();
    scene.settle();
    let place = authority(&scene);
    let other = place.replacen("127.", "126.", 1);
    let rows = [
        ("the key", KEY.to_owned(), "credential", 5, KEY.replace("key", "yek")),
        ("the endpoint's authority", place.clone(), "endpoint", 5, other.clone()),
        // The endpoint is named twice: as a whole, and for the authority in it.
        ("the endpoint", format!("http://{place}/v1"), "endpoint", 10, format!("http://{other}/v1")),
    ];
    for (name, value, rule, places, like) in rows {
        let (report, _) = shouting(&scene, &value, 1);
        assert_eq!(report["blocker_reasons"], json!(["secret_leak"]), "{name}: {}", report["blockers"]);
        assert_eq!(redacted(&report, rule), places, "{name}: {}", report["secret_scan"]);
        assert_eq!(holding(&scene.world.home(), &value), Vec::<PathBuf>::new(), "{name}");
        // The control: another value of the same shape is kept, in every encoding, and there is no reason against the run.
        let (report, bundle) = shouting(&scene, &like, 0);
        assert_eq!(report["secret_scan"]["status"], "clean", "{name}: {}", report["secret_scan"]);
        let said = fs::read_to_string(bundle.join("backend/stdout.log")).unwrap();
        assert!(spellings(&like).iter().all(|spelling| said.contains(spelling)), "{name}: {said}");
    }
}

/// A command that gives another key each time: each is known before it is used.
#[test]
fn a_key_that_changed_during_the_run_is_known_too() {
    let mut scene = Scene::new();
    let count = scene.world.write("count", "0");
    let script = r#"n=$(($(cat "$0") + 1)); echo $n > "$0"; echo upstream-key-number-$n"#;
    scene.config["credential_sources"]["key"] = json!({"command": ["sh", "-c", script, count]});
    scene.settle();
    // Asked for at the gate, at the bridge's start, for the probe, and for the engine's own request.
    let (report, _) = shouting(&scene, "upstream-key-number-4", 1);
    assert_eq!(scene.header("authorization").pop().unwrap().unwrap(), "Bearer upstream-key-number-4");
    assert_eq!(report["blocker_reasons"], json!(["secret_leak"]), "{}", report["blockers"]);
    assert_eq!(redacted(&report, "credential"), 5, "{}", report["secret_scan"]);
    assert_eq!(holding(&scene.world.home(), "upstream-key-number-4"), Vec::<PathBuf>::new());
    // The control: one that was never used is no key.
    let (report, _) = shouting(&scene, "upstream-key-number-9", 0);
    assert_eq!(report["secret_scan"]["status"], "clean", "{}", report["secret_scan"]);
}

/// The engine can print its token anywhere; what it prints is not what is kept, and is no leak.
#[test]
fn neither_token_nor_key_nor_endpoint_is_kept() {
    let scene = Scene::new();
    scene.settle();
    let mut steps = asking(&[ask("m", "hello")]);
    steps.push(python(SHOUT_TOKEN, &[]));
    let case = scene.case(&[("allowed_paths", "[a.txt, b.txt]")], &steps);
    let (report, bundle) = scene.run(&case, &[], 0);
    let token = token(&bundle);
    assert_eq!(token.len(), 40);
    for value in [token.as_str(), KEY, &authority(&scene)] {
        assert_eq!(holding(&scene.world.home(), value), Vec::<PathBuf>::new(), "{value}");
    }
    assert!(report["coverage"].to_string().contains("patch_redacted"));
    let again = scene.cto(&["reverify", bundle.to_str().unwrap()]).expect(3);
    let said = format!("{}{}", again.stderr, again.text());
    assert!(said.contains("patch is redacted"), "{said}");
    // The control: what is looked for in this way is found where it stands.
    let backwards: String = token.chars().rev().collect();
    assert!(!holding(&bundle, &backwards).is_empty());
}
