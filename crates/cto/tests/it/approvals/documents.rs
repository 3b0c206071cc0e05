//! Documents beside the ledger, as other tools read them.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use testkit::{each_row, program};

use super::{Scene, text};

/// True if `ssh-keygen -Y verify` takes the signature of a file.
fn verifies(scene: &Scene, file: &Path, namespace: &str) -> bool {
    let allowed = scene.world.home().join("trust/allowed_signers");
    let signature = format!("{}.sig", file.display());
    let ran = program("ssh-keygen", &scene.world.here())
        .args(["-Y", "verify", "-n", namespace, "-I", "me", "-f"])
        .arg(allowed)
        .args(["-s", &signature])
        .stdin(Stdio::from(fs::File::open(file).unwrap()))
        .output()
        .unwrap();
    ran.status.success()
}

#[test]
fn each_document_verifies_and_obeys_its_schema() {
    let Some(scene) = Scene::new("each_document_verifies_and_obeys_its_schema") else { return };
    let first = text(&scene.request()["request"]);
    let _ = scene.cto(&["hold", &first, "--reason", "wait"]).expect(0);
    let _ = scene.cto(&["hold", &first, "--release", "--reason", "go on"]).expect(0);
    let _ = scene.approve(&first, &[]).expect(0);
    let _ = scene.cto(&["revoke", &first, "--reason", "no"]).expect(0);
    let second = text(&scene.request()["request"]);
    let _ = scene.cto(&["deny", &second, "--reason", "no"]).expect(0);
    let rows = [
        ("request.json", &first, "request", "cto-request@v1"),
        ("hold-1.json", &first, "hold", "cto-approval@v1"),
        ("hold-2.json", &first, "hold", "cto-approval@v1"),
        ("approval-1.json", &first, "approval", "cto-approval@v1"),
        ("revocation.json", &first, "revocation", "cto-approval@v1"),
        ("denial.json", &second, "denial", "cto-approval@v1"),
    ];
    each_row(rows.map(|row| (row.0, row)), |(file, request, schema, namespace)| {
        let path = scene.document(request, file);
        assert!(verifies(&scene, &path, namespace), "{file}");
        assert!(!verifies(&scene, &path, "cto-record@v1"), "{file} is signed for nothing else");
        let bytes = fs::read(&path).unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let schema = scene.cto(&["schema", schema]).expect(0).json();
        assert!(jsonschema::is_valid(&schema, &document), "{document:#}");
        let edited = String::from_utf8(bytes.clone()).unwrap().replacen("2026", "2027", 1);
        let edited = if edited.as_bytes() == bytes { format!("{edited} ") } else { edited };
        fs::write(&path, edited).unwrap();
        assert!(!verifies(&scene, &path, namespace), "{file} was edited");
        fs::write(&path, bytes).unwrap();
    });
    let packet = fs::read_to_string(scene.document(&first, "packet.txt")).unwrap();
    assert_eq!(scene.packet(&first)["packet"], packet);
}

#[test]
fn a_lost_or_edited_copy_changes_nothing() {
    let Some(scene) = Scene::new("a_lost_or_edited_copy_changes_nothing") else { return };
    let name = text(&scene.request()["request"]);
    let before = scene.packet(&name);
    fs::write(scene.document(&name, "request.json"), "{}").unwrap();
    assert_eq!(scene.packet(&name), before);
    fs::remove_dir_all(scene.world.home().join("requests")).unwrap();
    assert_eq!(scene.packet(&name)["packet"], before["packet"]);
    let _ = scene.approve(&name, &[]).expect(0);
    assert_eq!(scene.run(0)["status"], "pass");
}
