//! The formats as others see them: published schemas, other people's implementations, bundles of earlier versions.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

mod golden;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::names::{ATTESTATION, CONTRACT, DECISION, EVENTS, REPORT, SANDBOX};
use serde_json::{Value, json};
use testkit::{World, program, python};

use crate::{tamper, world};

/// Every built-in case, run once by `cto matrix`.
fn matrix() -> &'static World {
    static MATRIX: OnceLock<World> = OnceLock::new();
    MATRIX.get_or_init(|| {
        let world = World::shared(env!("CARGO_BIN_EXE_cto"));
        // How the cases end is not judged here.
        let _ = world.cto(["matrix", "--json"]);
        world
    })
}

fn bundles() -> Vec<PathBuf> {
    let corpus = tamper::corpus();
    let matrix = fs::read_dir(matrix().bundles()).unwrap().flatten().map(|entry| entry.path());
    matrix.chain(corpus.kinds().map(|kind| corpus.bundle(kind).to_owned())).collect()
}

/// A document, the schema it must obey and where it was found.
#[derive(Clone)]
struct Document {
    schema: &'static str,
    place: String,
    value: Value,
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn documents_of(bundle: &Path) -> Vec<Document> {
    let place = |name: &str| format!("{}/{name}", bundle.file_name().unwrap().to_str().unwrap());
    let mut found = Vec::new();
    for (schema, name) in [
        ("report", REPORT),
        ("eligibility-decision", DECISION),
        ("task-contract", CONTRACT),
        ("sandbox", SANDBOX),
        ("envelope", ATTESTATION),
        ("matrix", "matrix.json"),
    ] {
        let Ok(bytes) = fs::read(bundle.join(name)) else {
            assert_eq!(name, "matrix.json", "{}: only this one is not in every bundle", place(name));
            continue;
        };
        let value = parsed(&bytes);
        if schema == "envelope" {
            let payload = STANDARD.decode(value["payload"].as_str().unwrap()).unwrap();
            found.push(Document { schema: "statement", place: place("payload"), value: parsed(&payload) });
        }
        found.push(Document { schema, place: place(name), value });
    }
    let events = fs::read_to_string(bundle.join(EVENTS)).unwrap();
    found.extend(events.lines().enumerate().map(|(at, line)| Document {
        schema: "event",
        place: format!("{}:{}", place(EVENTS), at + 1),
        value: parsed(line.as_bytes()),
    }));
    found
}

/// `case.yaml` of every built-in case, as its JSON twin.
fn cases() -> impl Iterator<Item = Document> {
    fixtures::builtin().iter().map(|case| {
        let text = std::str::from_utf8(case.file("case.yaml").unwrap().bytes).unwrap();
        let reading = contract::source::read("case.yaml", text);
        Document { schema: "case", place: format!("{}/case.yaml", case.id), value: reading.node.unwrap().to_value() }
    })
}

/// The statement of `cto reverify` about one of the runs.
fn reverification() -> Document {
    let world = world();
    let (_, bundle) = world.run("r1-string-slugify", 0);
    let done = world.cto(["reverify", "@", "--json"]).expect(0).json();
    let envelope = parsed(&fs::read(done["statement"].as_str().unwrap()).unwrap());
    let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
    Document { schema: "reverification", place: bundle.display().to_string(), value: parsed(&payload) }
}

/// The first file of `cto export`, and the file of `cto halt`.
fn of_the_home() -> [Document; 2] {
    let world = world();
    let _ = world.run("fail-critical-risk", 3);
    let _ = world.cto(["export", "@", "-o", "a.tar.zst"]).expect(0);
    let mut archive =
        tar::Archive::new(zstd::Decoder::new(fs::File::open(world.here().join("a.tar.zst")).unwrap()).unwrap());
    let mut manifest = Vec::new();
    archive.entries().unwrap().next().unwrap().unwrap().read_to_end(&mut manifest).unwrap();
    let _ = world.cto(["halt"]).expect(0);
    let halt = fs::read(world.home().join("halt.json")).unwrap();
    [("archive", manifest), ("halt", halt)].map(|(schema, bytes)| Document {
        schema,
        place: schema.to_owned(),
        value: parsed(&bytes),
    })
}

fn documents() -> Vec<Document> {
    let of_bundles = bundles().into_iter().flat_map(|bundle| documents_of(&bundle));
    of_bundles.chain(cases()).chain([reverification()]).chain(of_the_home()).collect()
}

/// Documents that must not validate: one of each schema without each of its required keys, and with a key of another type.
fn spoiled(documents: &[Document], schemas: &[(String, Value)]) -> Vec<Document> {
    let mut all = Vec::new();
    for (name, schema) in schemas {
        let Some(sample) = documents.iter().find(|document| document.schema == name) else { continue };
        for key in schema["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()) {
            let mut without = sample.clone();
            without.value.as_object_mut().unwrap().remove(key);
            without.place = format!("{} without {key}", sample.place);
            all.push(without);
            let mut other = sample.clone();
            other.value[key] = json!([[[0.5]]]);
            other.place = format!("{} with another {key}", sample.place);
            all.push(other);
        }
    }
    all
}

fn schemas() -> Vec<(String, Value)> {
    let world = world();
    let names = world.cto(["schema"]).expect(0).text();
    names.lines().map(|name| (name.to_owned(), world.cto(["schema", name]).expect(0).json())).collect()
}

#[test]
fn schemas_are_listed_and_printed() {
    let world = world();
    let schemas = schemas();
    let names: Vec<&str> = schemas.iter().map(|(name, _)| name.as_str()).collect();
    insta::assert_snapshot!(names.join(" "), @"approval approval-policy approvals archive audit case comparison compromised-keys config continuity contract control-summary core-promotion-decision countersignature decision-packet denial eligibility-decision engine envelope event front-matter guard halt hold matrix model-admission model-usage outcome pack packed packet patch-taken plan provider-decision records repeat report request reverification revocation rollback rules sandbox source-admission stage2-no-target-inspection stage3-copied-repo-proof stage4-disposable-sandbox-proof stage5-owned-repo-proof stage6-candidate-default-comparison stage6-owned-repo-proof stage6-real-governed-refresh-comparison statement target-admission task-contract unpacked workboard worker workspace-validation");
    assert_eq!(world.cto(["schema", "--json"]).expect(0).json(), json!(names));
    for (name, schema) in &schemas {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
        assert!(schema["title"].is_string(), "{name}");
        jsonschema::meta::validate(schema).unwrap();
    }
    let ran = world.cto(["schema", "nothing"]).expect(2);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("one of: approval, "), "{ran:?}");
}

#[test]
fn every_document_of_every_bundle_obeys_its_schema() {
    let (documents, schemas) = (documents(), schemas());
    let validator = |name: &str| {
        let (_, schema) = schemas.iter().find(|(known, _)| known == name).unwrap();
        jsonschema::draft202012::new(schema).unwrap()
    };
    let spoiled = spoiled(&documents, &schemas);
    let mut seen = BTreeSet::new();
    for (name, _) in &schemas {
        let validator = validator(name);
        for document in documents.iter().filter(|document| document.schema == name) {
            seen.insert(document.schema);
            if let Err(error) = validator.validate(&document.value) {
                panic!("{}: {name}: {error} at {}", document.place, error.instance_path());
            }
        }
        for document in spoiled.iter().filter(|document| document.schema == name) {
            assert!(!validator.is_valid(&document.value), "{}: {name} takes it", document.place);
        }
    }
    let unseen: Vec<&str> = schemas.iter().map(|(name, _)| name.as_str()).filter(|name| !seen.contains(name)).collect();
    let tried_elsewhere = [
        "approval",
        "approval-policy",
        "approvals",
        "audit",
        "comparison",
        "compromised-keys",
        "config",
        "continuity",
        "contract",
        "control-summary",
        "core-promotion-decision",
        "countersignature",
        "decision-packet",
        "denial",
        "engine",
        "front-matter",
        "guard",
        "hold",
        "model-admission",
        "model-usage",
        "outcome",
        "pack",
        "packed",
        "packet",
        "patch-taken",
        "plan",
        "provider-decision",
        "records",
        "repeat",
        "request",
        "revocation",
        "rollback",
        "rules",
        "source-admission",
        "stage2-no-target-inspection",
        "stage3-copied-repo-proof",
        "stage4-disposable-sandbox-proof",
        "stage5-owned-repo-proof",
        "stage6-candidate-default-comparison",
        "stage6-owned-repo-proof",
        "stage6-real-governed-refresh-comparison",
        "target-admission",
        "unpacked",
        "workboard",
        "worker",
        "workspace-validation",
    ];
    assert_eq!(
        unseen, tried_elsewhere,
        "what people write, and what only some commands and runs leave, has tests of its own"
    );
    let statuses: BTreeSet<String> = documents
        .iter()
        .filter(|document| document.schema == "report")
        .map(|document| document.value["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), ["blocked", "fail", "pass"]);
}

fn run_python(python: &Path, script: &str, args: &[&Path]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats").join(script);
    let ran = program(python.to_str().unwrap(), Path::new("/")).arg(script).args(args).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn jsonschema_of_python_agrees() {
    let Some(python) = python("jsonschema_of_python_agrees") else { return };
    let (documents, schemas) = (documents(), schemas());
    let row = |valid: bool| move |document: &Document| json!([document.schema, document.place, document.value, valid]);
    let spoiled = spoiled(&documents, &schemas);
    let rows: Vec<Value> = documents.iter().map(row(true)).chain(spoiled.iter().map(row(false))).collect();
    let work = json!({"documents": rows, "schemas": schemas.into_iter().collect::<serde_json::Map<_, _>>()});
    let world = world();
    run_python(&python, "schemas.py", &[&world.write("work.json", work.to_string())]);
}

#[test]
fn securesystemslib_agrees_with_the_signature() {
    let Some(python) = python("securesystemslib_agrees_with_the_signature") else { return };
    let corpus = tamper::corpus();
    run_python(&python, "dsse.py", &[&corpus.bundle("pass").join(ATTESTATION), &corpus.public_key()]);
}
