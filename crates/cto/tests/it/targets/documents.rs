//! Every document of a governed change, as other people's programs see it: schemas, signatures, and the published script.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{World, copy_bundle, each_row, program, python};

use super::Scene;

/// Runs a stage 5 change to its rollback, beside a denial, a hold and a revocation; every document that people and the harness made.
struct Filed {
    scene: Scene,
    bundles: Vec<PathBuf>,
    outcome: PathBuf,
    rollback: PathBuf,
    unsigned: PathBuf,
    used: String,
    denied: String,
    /// Output of commands about requests and their packets.
    printed: Vec<(&'static str, Value)>,
}

impl Filed {
    fn new(test: &str) -> Option<Self> {
        let scene = Scene::new(test)?;
        let say = |words: &[&str]| scene.world.cto(words.iter().copied()).expect(0).json();
        let name = |request: &Value| request["request"].as_str().unwrap().to_owned();
        let denied = name(&say(&scene.words("request", "5")));
        let _ = say(&["deny", &denied, "--reason", "no", "--json"]);
        let revoked = name(&scene.approve("5"));
        let _ = say(&["hold", &revoked, "--reason", "wait", "--json"]);
        let _ = say(&["hold", &revoked, "--release", "--reason", "go on", "--json"]);
        let _ = say(&["revoke", &revoked, "--reason", "no", "--json"]);
        let blocked = scene.run("5", 3);
        scene.approve("4");
        let disposable = scene.run("4", 0);
        let used = name(&scene.approve("5"));
        let words = [scene.words("run", "5"), vec!["--outcome", "accept"]].concat();
        let landed = scene.world.cto(words).expect(0).json();
        let bundle = |report: &Value| scene.world.bundles().join(report["run_id"].as_str().unwrap());
        let statements = scene.world.home().join("statements");
        let unsigned =
            testkit::files_of(&statements).into_iter().find(|file| file.extension().is_some_and(|it| it == "json"));
        let unsigned = statements.join(unsigned.unwrap());
        let outcome = say(&["outcome", "@", "reject", "--reason", "slower", "--json"]);
        let rollback = say(&["rollback", "@", "--reason", "slower", "--json"]);
        let file = |said: &Value| PathBuf::from(said["statement"].as_str().unwrap());
        let packets = [&denied, &revoked, &used].map(|name| ("packet", say(&["packet", name, "--json"])));
        let open = name(&say(&scene.words("request", "5")));
        let others = [("packet", say(&["packet", &open, "--json"])), ("approvals", say(&["approvals", "--json"]))];
        let printed = packets.into_iter().chain(others).collect();
        let bundles = [&blocked, &disposable, &landed].map(bundle).to_vec();
        let (outcome, rollback) = (file(&outcome), file(&rollback));
        Some(Self { bundles, outcome, rollback, unsigned, used, denied, printed, scene }.with_revoked(&revoked))
    }

    /// Keeps the documents of the request that was revoked beside those of the one that was used.
    fn with_revoked(self, revoked: &str) -> Self {
        let folder = |name: &str| self.scene.world.home().join("requests").join(name);
        for file in ["hold-1.json", "hold-2.json", "revocation.json"] {
            for name in [file.to_owned(), format!("{file}.sig")] {
                fs::copy(folder(revoked).join(&name), folder(&self.used).join(&name)).unwrap();
            }
        }
        self
    }

    fn paper(&self, request: &str, name: &str) -> PathBuf {
        self.scene.world.home().join("requests").join(request).join(name)
    }

    /// File, schema, and namespace of its signature.
    fn signed(&self) -> Vec<(PathBuf, &'static str, &'static str)> {
        vec![
            (self.paper(&self.used, "request.json"), "request", "cto-request@v1"),
            (self.paper(&self.used, "approval-1.json"), "approval", "cto-approval@v1"),
            (self.paper(&self.denied, "denial.json"), "denial", "cto-approval@v1"),
            (self.paper(&self.used, "hold-1.json"), "hold", "cto-approval@v1"),
            (self.paper(&self.used, "hold-2.json"), "hold", "cto-approval@v1"),
            (self.paper(&self.used, "revocation.json"), "revocation", "cto-approval@v1"),
            (self.outcome.clone(), "outcome", "cto-outcome@v1"),
            (self.rollback.clone(), "rollback", "cto-outcome@v1"),
            (self.scene.world.here().join("target.yaml"), "target-admission", "cto-record@v1"),
        ]
    }

    /// Records that people write: the operator's own, a policy, and the list of compromised keys.
    fn records(&self) -> Vec<(&'static str, PathBuf)> {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
        let (world, lost) = (&self.scene.world, self.scene.make_key("lost", &[]));
        let since = ["trust", "key", "compromised", "lost", "--since", "2026-01-01", "--reason", "lost"];
        let _ = world.cto(since).expect(0);
        assert!(lost.exists());
        let policy = "approvals_required: 2\nrules:\n  - {stage: 5, target: /srv/shop, require_hardware_key: true}\n";
        vec![
            ("provider-decision", examples.join("decisions/provider.yaml")),
            ("model-admission", examples.join("admissions/model/qwen-local__qwen3.6-35b-a3b.json")),
            ("approval-policy", world.write("approval-policy.yaml", policy)),
            ("compromised-keys", world.home().join("trust/compromised.json")),
        ]
    }

    /// Schema and value of everything that was written.
    fn documents(&self) -> Vec<(&'static str, String, Value)> {
        let mut all: Vec<(&'static str, PathBuf)> =
            self.signed().into_iter().map(|(file, schema, _)| (schema, file)).collect();
        all.push(("outcome", self.unsigned.clone()));
        for bundle in &self.bundles {
            all.extend([
                ("report", bundle.join("report.json")),
                ("eligibility-decision", bundle.join("eligibility-decision.json")),
            ]);
        }
        all.push(("stage4-disposable-sandbox-proof", self.bundles[1].join("stage4-disposable-sandbox-proof.json")));
        all.push(("stage5-owned-repo-proof", self.bundles[2].join("stage5-owned-repo-proof.json")));
        all.extend(self.records());
        let read = |(schema, file): (&'static str, PathBuf)| {
            let text = fs::read_to_string(&file).unwrap();
            let value = contract::source::read("document", &text).node.unwrap().to_value();
            (schema, file.display().to_string(), value)
        };
        let mut all: Vec<_> = all.into_iter().map(read).collect();
        let plan = all[0].2["plan"].clone();
        all.push(("plan", "plan of the request".to_owned(), plan));
        all.extend(self.printed.iter().map(|(schema, value)| (*schema, format!("cto {schema}"), value.clone())));
        all
    }
}

/// Every document without each of its required keys, and a strict one with a key too many, must not validate.
fn spoiled(schema: &Value, value: &Value) -> Vec<Value> {
    // A policy may leave every key out.
    let required = schema["required"].as_array().into_iter().flatten().map(|key| key.as_str().unwrap());
    let without = required.map(|key| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove(key);
        value
    });
    let mut more = value.clone();
    more["a key that nobody knows"] = json!(1);
    let is_strict = schema["additionalProperties"] == false;
    without.chain(is_strict.then_some(more)).collect()
}

#[test]
fn jsonschema_of_python_takes_each_document_and_none_that_is_spoiled() {
    let test = "jsonschema_of_python_takes_each_document_and_none_that_is_spoiled";
    let Some(python) = python(test) else { return };
    let Some(filed) = Filed::new(test) else { return };
    validate_documents(&filed.scene.world, &python, &filed.documents());
}

/// Holds documents to their schemas by jsonschema of Python: each is taken, and none that is spoiled.
pub(crate) fn validate_documents(world: &World, python: &Path, documents: &[(&str, String, Value)]) {
    let mut schemas = serde_json::Map::new();
    let mut rows = Vec::new();
    for (name, place, value) in documents {
        let schema = world.cto(["schema", name]).expect(0).json();
        rows.push(json!([name, place, value, true]));
        rows.extend(spoiled(&schema, value).into_iter().map(|spoiled| json!([name, place, spoiled, false])));
        schemas.insert((*name).to_owned(), schema);
    }
    let work = world.write("work.json", json!({"documents": rows, "schemas": schemas}).to_string());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats/schemas.py");
    let ran = program(python.to_str().unwrap(), Path::new("/")).args([&script, &work]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()));
}

/// True if `ssh-keygen -Y verify` takes the signature beside a file for one of these bytes.
fn verifies(scene: &Scene, file: &Path, signature: &Path, namespace: &str) -> bool {
    program("ssh-keygen", &scene.world.here())
        .args(["-Y", "verify", "-n", namespace, "-I", "ada", "-f"])
        .arg(scene.world.home().join("trust/allowed_signers"))
        .arg("-s")
        .arg(signature)
        .stdin(Stdio::from(fs::File::open(file).unwrap()))
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn ssh_keygen_takes_each_signed_document_and_none_after_an_edit() {
    let test = "ssh_keygen_takes_each_signed_document_and_none_after_an_edit";
    let Some(filed) = Filed::new(test) else { return };
    let signed = filed.signed();
    let signature = |file: &Path| PathBuf::from(format!("{}.sig", file.display()));
    each_row(signed.iter().map(|row| (row.0.display().to_string(), row)), |(file, _, namespace)| {
        assert!(verifies(&filed.scene, file, &signature(file), namespace), "the control");
        let bytes = fs::read(file).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            let mut edited = bytes.clone();
            edited[at] ^= 1;
            let edited = filed.scene.world.write("edited", edited);
            assert!(!verifies(&filed.scene, &edited, &signature(file), namespace), "byte {at}");
        }
        for other in ["cto-record@v1", "cto-approval@v1", "cto-request@v1", "cto-outcome@v1"] {
            let takes = verifies(&filed.scene, file, &signature(file), other);
            assert_eq!(takes, other == *namespace, "{other}");
        }
        for (moved, ..) in signed.iter().filter(|(other, ..)| other != file) {
            assert!(!verifies(&filed.scene, file, &signature(moved), namespace), "a signature of {}", moved.display());
        }
    });
    assert!(!signature(&filed.unsigned).exists(), "what a variable said is signed by nobody");
}

/// Verdict of the published script on a bundle and a statement about it.
fn judge(filed: &Filed, bundle: &Path, statements: &[&Path], signer: &Path) -> (i32, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let mut python = program("python3", Path::new("/"));
    python.arg(script).arg(bundle).arg("--key").arg(filed.scene.world.home().join("keys/harness.pub"));
    python.args(statements.iter().flat_map(|file| [Path::new("--statement"), file]));
    let ran = python.arg("--signer").arg(signer).output().unwrap();
    let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    (ran.status.code().unwrap(), said)
}

/// A change of a statement, of its signature or of both.
type Tampering = (&'static str, fn(&mut Value, &mut String));

const TAMPERED: &[Tampering] = &[
    ("reason", |it, _| it["reason"] = json!("other")),
    ("bundle", |it, _| it["attestation_sha256"] = json!("0".repeat(64))),
    ("run", |it, _| it["run_id"] = json!("20260101T000000Z-made-aaaa")),
    ("task", |it, _| it["task_id"] = json!("other")),
    ("work", |it, _| it["work_id"] = json!("CTO-WORK-001")),
    ("schema", |it, _| it["schema"] = json!("cto-approval@v1")),
    ("key", |it, _| it["key_fingerprint"] = json!("SHA256:other")),
    ("time", |it, _| it["recorded_at"] = json!("2026-01-01T00:00:00Z")),
    ("a further key", |it, _| it["more"] = json!(1)),
    ("a key less", |it, _| drop(it.as_object_mut().unwrap().remove("reason"))),
    ("said by a variable", |it, _| it["source"] = json!("environment")),
    ("signature", |_, sig| *sig = sig.replacen('A', "B", 1)),
    ("no signature", |_, sig| sig.clear()),
];

#[test]
fn the_published_script_checks_bundles_and_statements_about_them() {
    let test = "the_published_script_checks_bundles_and_statements_about_them";
    let Some(filed) = Filed::new(test) else { return };
    let ada = filed.scene.key().with_extension("pub");
    for bundle in &filed.bundles {
        let (code, said) = judge(&filed, bundle, &[], &ada);
        assert_eq!(code, 0, "the control: {said}");
        let copied = filed.scene.world.path().join("copied");
        for name in testkit::files_of(bundle) {
            copy_bundle(bundle, &copied);
            let mut bytes = fs::read(copied.join(&name)).unwrap();
            match bytes.len() {
                0 => bytes.push(b'x'),
                length => bytes[length / 2] ^= 1,
            }
            fs::write(copied.join(&name), bytes).unwrap();
            assert_eq!(judge(&filed, &copied, &[], &ada).0, 1, "{}", name.display());
            fs::remove_dir_all(&copied).unwrap();
        }
    }
    let landed = &filed.bundles[2];
    let all = [filed.outcome.as_path(), &filed.rollback, &filed.unsigned];
    let (code, said) = judge(&filed, landed, &all, &ada);
    assert_eq!(code, 0, "the control: {said}");
    for words in ["rejected by SHA256:", "rolled back by SHA256:", "accepted, signed by nobody"] {
        assert!(said.contains(words), "{said}");
    }
    let stranger = filed.scene.make_unlisted_key("stranger").with_extension("pub");
    for statement in [&filed.outcome, &filed.rollback] {
        assert_eq!(judge(&filed, landed, &[statement], &stranger).0, 1, "another person's key");
        assert_eq!(judge(&filed, &filed.bundles[1], &[statement], &ada).0, 1, "about another bundle");
        let text: Value = serde_json::from_slice(&fs::read(statement).unwrap()).unwrap();
        let signature = fs::read_to_string(format!("{}.sig", statement.display())).unwrap();
        each_row(TAMPERED.iter().map(|row| (row.0, row)), |(name, tamper)| {
            for signed_again in [false, true] {
                let (mut edited, mut armour) = (text.clone(), signature.clone());
                tamper(&mut edited, &mut armour);
                let file = filed.scene.world.write("edited.json", contract::canonical_bytes(&edited).unwrap());
                let is_about_signature = edited == text;
                // The holder of the key can state other things about this bundle, and never the same about another.
                if signed_again && (is_about_signature || *name == "reason") {
                    continue;
                }
                match signed_again {
                    true => filed.scene.sign_for("cto-outcome@v1", "edited.json", &filed.scene.key()),
                    false => drop(filed.scene.world.write("edited.json.sig", armour)),
                }
                let (code, said) = judge(&filed, landed, &[&file], &ada);
                assert_eq!(code, 1, "signed again: {signed_again}: {said}");
            }
        });
    }
}
