//! One of each kind of tampering, through the real binary and through `docs/formats/verify.py`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use contract::canonical_bytes;
use evidence::names::{ATTESTATION, CONTRACT, DECISION, EVENTS, PATCH, REPORT, REPORT_MD, TEST_LOG, TRACE};
use serde_json::{Value, json};
use testkit::{program, resign};

use super::{Corpus, Scene, all_hold, corpus, fresh_key, refusal};

/// A change to a copy of a passed run's bundle, and the file and any of the checks that must be named.
struct Edit {
    name: &'static str,
    apply: fn(&Scene, &Corpus),
    file: &'static str,
    checks: &'static [&'static str],
}

#[rustfmt::skip]
const EDITS: &[Edit] = &[
    edit("a bit flipped in the patch", |scene, _| flip(scene, PATCH), PATCH, &["digest"]),
    edit("a bit flipped in the report", |scene, _| flip(scene, REPORT), REPORT, &["digest"]),
    edit("a bit flipped in the report for people", |scene, _| flip(scene, REPORT_MD), REPORT_MD, &["digest"]),
    edit("a bit flipped in the events", |scene, _| flip(scene, EVENTS), EVENTS, &["digest"]),
    edit("a bit flipped in the test log", |scene, _| flip(scene, TEST_LOG), TEST_LOG, &["digest"]),
    edit("a bit flipped in the baseline", |scene, _| flip(scene, "baseline.tar"), "baseline.tar", &["digest"]),
    edit("a bit flipped in a raw log", |scene, _| flip(scene, STDOUT), STDOUT, &["digest"]),
    edit("a bit flipped in the attestation", |scene, _| flip(scene, ATTESTATION), ATTESTATION, &["envelope", "base64", "signature"]),
    edit("a byte inserted", |scene, _| bytes(scene, PATCH, |bytes| bytes.insert(7, b'x')), PATCH, &["digest"]),
    edit("a byte deleted", |scene, _| { bytes(scene, DECISION, |bytes| { bytes.remove(7); }) }, DECISION, &["digest"]),
    edit("a file emptied", |scene, _| bytes(scene, TEST_LOG, Vec::clear), TEST_LOG, &["digest"]),
    edit("an empty file filled", |scene, _| bytes(scene, STDERR, |bytes| bytes.push(b'\n')), STDERR, &["digest"]),
    edit("an event dropped", |scene, _| lines(scene, |lines| drop(lines.remove(2))), EVENTS, &["chain"]),
    edit("two events swapped", |scene, _| lines(scene, |lines| lines.swap(2, 3)), EVENTS, &["chain"]),
    edit("an event twice", |scene, _| lines(scene, |lines| lines.insert(2, lines[2].clone())), EVENTS, &["chain"]),
    edit("an event appended", append_event, EVENTS, &["event_count"]),
    edit("the last event cut off", |scene, _| lines(scene, |lines| drop(lines.pop())), EVENTS, &["event_count"]),
    edit("the last newline cut off", |scene, _| { bytes(scene, EVENTS, |bytes| { bytes.pop(); }) }, EVENTS, &["newline"]),
    edit("a file replaced by a link to a copy", link_outside, PATCH, &["kind"]),
    edit("a raw log replaced by a link", |scene, _| link(scene, STDOUT, "stderr.log"), STDOUT, &["kind"]),
    edit("the attestation replaced by a link", |scene, corpus| link_to(scene, corpus, ATTESTATION), ATTESTATION, &["kind"]),
    edit("a folder replaced by a link", link_folder, "backend", &["kind"]),
    edit("a file replaced by a folder", |scene, _| into_folder(scene, TEST_LOG), TEST_LOG, &["present"]),
    edit("a file replaced by a FIFO", |scene, _| into_fifo(scene, TEST_LOG), TEST_LOG, &["kind"]),
    edit("the attestation replaced by a FIFO", |scene, _| into_fifo(scene, ATTESTATION), ATTESTATION, &["kind"]),
    edit("a FIFO added", |scene, _| fifo(&scene.bundle.join("pipe")), "pipe", &["kind"]),
    edit("a file renamed", |scene, _| rename(scene, PATCH, "patch.old"), PATCH, &["present"]),
    edit("a file renamed, its new name", |scene, _| rename(scene, PATCH, "patch.old"), "patch.old", &["signed"]),
    edit("a file added", |scene, _| add(scene, "stage4-approval.json", b"{}"), "stage4-approval.json", &["signed"]),
    edit("an empty file added", |scene, _| add(scene, "approved", b""), "approved", &["signed"]),
    edit("a hidden file added", |scene, _| add(scene, ".note", b"x"), ".note", &["signed"]),
    edit("a raw log added", |scene, _| add(scene, "backend/more.log", b"x"), "backend/more.log", &["signed"]),
    edit("a file in a new folder", |scene, _| add(scene, "more/x", b"x"), "more/x", &["signed"]),
    edit("a file whose name is no text", |scene, _| fs::write(scene.bundle.join(OsStr::from_bytes(b"bad\xff")), "").unwrap(), "bad\u{fffd}", &["name"]),
    edit("a file too deep down", |scene, _| add(scene, &format!("{DEEP}/x"), b""), DEEP, &["limit"]),
    edit("a file removed", |scene, _| remove(scene, TRACE), TRACE, &["present"]),
    edit("the report removed", |scene, _| remove(scene, REPORT), REPORT, &["present"]),
    edit("a raw log removed", |scene, _| remove(scene, STDOUT), STDOUT, &["present"]),
    edit("the raw logs removed", |scene, _| fs::remove_dir_all(scene.bundle.join("backend")).unwrap(), "backend", &["present"]),
    edit("the attestation removed", |scene, _| remove(scene, ATTESTATION), ATTESTATION, &["present"]),
    edit("a key twice in the report", |scene, _| twice(scene, REPORT), REPORT, &["canonical"]),
    edit("a key twice in the contract", |scene, _| twice(scene, CONTRACT), CONTRACT, &["canonical"]),
    edit("a key twice in the attestation", |scene, _| twice(scene, ATTESTATION), ATTESTATION, &["envelope"]),
    edit("a space in the report", |scene, _| bytes(scene, REPORT, |bytes| bytes.insert(1, b' ')), REPORT, &["canonical"]),
    edit("a newline after the report", |scene, _| bytes(scene, REPORT, |bytes| bytes.push(b'\n')), REPORT, &["canonical"]),
    edit("a newline after the attestation", |scene, _| bytes(scene, ATTESTATION, |bytes| bytes.push(b'\n')), ATTESTATION, &["envelope"]),
    edit("a space in the trace", |scene, _| bytes(scene, TRACE, |bytes| bytes.insert(1, b' ')), TRACE, &["canonical"]),
    edit("keys of the report in another order", |scene, _| reorder(scene, REPORT), REPORT, &["canonical"]),
    edit("keys of the attestation in another order", |scene, _| reorder(scene, ATTESTATION), ATTESTATION, &["envelope"]),
    edit("a second signature", |scene, _| envelope(scene, second_signature), ATTESTATION, &["signature_count"]),
    edit("the signature removed", |scene, _| envelope(scene, |envelope| envelope["signatures"] = json!([])), ATTESTATION, &["signature_count"]),
    edit("the signature emptied", |scene, _| envelope(scene, |envelope| envelope["signatures"][0]["sig"] = json!("")), ATTESTATION, &["signature"]),
    edit("the signature without padding", |scene, _| envelope(scene, unpad), ATTESTATION, &["base64"]),
    edit("the same signature in other base64", |scene, _| envelope(scene, other_base64), ATTESTATION, &["base64"]),
    edit("another payload type", |scene, _| envelope(scene, |envelope| envelope["payloadType"] = json!("text/plain")), ATTESTATION, &["payload_type"]),
    edit("another signer named", |scene, _| envelope(scene, |envelope| envelope["signatures"][0]["keyid"] = json!("SHA256:x")), ATTESTATION, &["signer"]),
    edit("an unknown key in the envelope", |scene, _| envelope(scene, |envelope| envelope["note"] = json!("x")), ATTESTATION, &["envelope"]),
    edit("the verdict edited in the statement", edit_statement, ATTESTATION, &["signature"]),
    edit("the attestation of another run", |scene, corpus| borrow(scene, corpus, "blocked"), REPORT, &["signed_run"]),
    edit("the attestation of another run, a file", |scene, corpus| borrow(scene, corpus, "fail"), PATCH, &["digest"]),
    edit("rewritten whole and signed by another", rewrite, ATTESTATION, &["signer"]),
    edit("rewritten whole under the name of the key", rewrite_in_our_name, ATTESTATION, &["signature"]),
    edit("a key put into the bundle", bring_a_key, ATTESTATION, &["signer"]),
];

/// One folder more than any bundle has below each other.
const DEEP: &str = "0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2/3/4/5/6/7/8/9/0/1/2";
const STDOUT: &str = "backend/stdout.log";
const STDERR: &str = "backend/stderr.log";

const fn edit(
    name: &'static str,
    apply: fn(&Scene, &Corpus),
    file: &'static str,
    checks: &'static [&'static str],
) -> Edit {
    Edit { name, apply, file, checks }
}

fn bytes(scene: &Scene, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = scene.bundle.join(file);
    let mut content = fs::read(&path).unwrap();
    change(&mut content);
    fs::write(path, content).unwrap();
}

fn flip(scene: &Scene, file: &str) {
    bytes(scene, file, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
}

fn lines(scene: &Scene, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
    bytes(scene, EVENTS, |bytes| {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        change(&mut lines);
        *bytes = lines.concat();
    });
}

/// A line that continues the chain as it should.
fn append_event(scene: &Scene, _: &Corpus) {
    lines(scene, |lines| {
        let last = lines.last().unwrap();
        let last = &last[..last.len() - 1];
        let mut next: Value = serde_json::from_slice(last).unwrap();
        next["seq"] = json!(next["seq"].as_u64().unwrap() + 1);
        next["prev"] = json!(contract::Digest::of_bytes(last));
        let mut line = canonical_bytes(&next).unwrap();
        line.push(b'\n');
        lines.push(line);
    });
}

fn outside(scene: &Scene) -> PathBuf {
    scene.bundle.with_file_name("outside")
}

fn link(scene: &Scene, file: &str, target: &str) {
    let path = scene.bundle.join(file);
    fs::remove_file(&path).unwrap();
    symlink(target, path).unwrap();
}

fn link_outside(scene: &Scene, _: &Corpus) {
    fs::rename(scene.bundle.join(PATCH), outside(scene)).unwrap();
    symlink(outside(scene), scene.bundle.join(PATCH)).unwrap();
}

fn link_to(scene: &Scene, corpus: &Corpus, file: &str) {
    link(scene, file, corpus.bundle("pass").join(file).to_str().unwrap());
}

fn link_folder(scene: &Scene, _: &Corpus) {
    fs::rename(scene.bundle.join("backend"), outside(scene)).unwrap();
    symlink(outside(scene), scene.bundle.join("backend")).unwrap();
}

fn into_folder(scene: &Scene, file: &str) {
    remove(scene, file);
    fs::create_dir(scene.bundle.join(file)).unwrap();
}

fn into_fifo(scene: &Scene, file: &str) {
    remove(scene, file);
    fifo(&scene.bundle.join(file));
}

fn fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
}

fn rename(scene: &Scene, from: &str, to: &str) {
    fs::rename(scene.bundle.join(from), scene.bundle.join(to)).unwrap();
}

fn add(scene: &Scene, file: &str, content: &[u8]) {
    let path = scene.bundle.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn remove(scene: &Scene, file: &str) {
    fs::remove_file(scene.bundle.join(file)).unwrap();
}

/// The first key again, in front, with another value.
fn twice(scene: &Scene, file: &str) {
    bytes(scene, file, |bytes| {
        let value: Value = serde_json::from_slice(bytes).unwrap();
        let key = value.as_object().unwrap().keys().next().unwrap().clone();
        bytes.splice(1..1, format!("{}:null,", json!(key)).into_bytes());
    });
}

fn reorder(scene: &Scene, file: &str) {
    bytes(scene, file, |bytes| {
        let value: Value = serde_json::from_slice(bytes).unwrap();
        let reversed: serde_json::Map<String, Value> = value.as_object().unwrap().clone().into_iter().rev().collect();
        *bytes = serde_json::to_vec(&reversed).unwrap();
    });
}

fn envelope(scene: &Scene, change: fn(&mut Value)) {
    bytes(scene, ATTESTATION, |bytes| {
        let mut envelope = serde_json::from_slice(bytes).unwrap();
        change(&mut envelope);
        *bytes = canonical_bytes(&envelope).unwrap();
    });
}

fn second_signature(envelope: &mut Value) {
    let first = envelope["signatures"][0].clone();
    envelope["signatures"].as_array_mut().unwrap().push(first);
}

fn unpad(envelope: &mut Value) {
    let sig = STANDARD.decode(envelope["signatures"][0]["sig"].as_str().unwrap()).unwrap();
    envelope["signatures"][0]["sig"] = json!(STANDARD_NO_PAD.encode(sig));
}

/// 64 bytes leave four bits of the last digit unused: other digits decode, to a careless reader, to the same bytes.
fn other_base64(envelope: &mut Value) {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sig = envelope["signatures"][0]["sig"].as_str().unwrap().as_bytes().to_vec();
    let last = sig.len() - 3;
    let digit = DIGITS.iter().position(|known| *known == sig[last]).unwrap();
    sig[last] = DIGITS[digit | 1];
    envelope["signatures"][0]["sig"] = json!(String::from_utf8(sig).unwrap());
}

fn edit_statement(scene: &Scene, _: &Corpus) {
    envelope(scene, |envelope| {
        let payload = STANDARD.decode(envelope["payload"].as_str().unwrap()).unwrap();
        let mut statement: Value = serde_json::from_slice(&payload).unwrap();
        statement["predicate"]["coverage"] = json!([]);
        envelope["payload"] = json!(STANDARD.encode(canonical_bytes(&statement).unwrap()));
    });
}

fn borrow(scene: &Scene, corpus: &Corpus, kind: &str) {
    fs::copy(corpus.bundle(kind).join(ATTESTATION), scene.bundle.join(ATTESTATION)).unwrap();
}

fn rewrite(scene: &Scene, _: &Corpus) {
    resign(&scene.bundle, &fresh_key(scene.bundle.parent().unwrap()).0, |_| {});
}

fn rewrite_in_our_name(scene: &Scene, corpus: &Corpus) {
    let ours = corpus.key.public().key_id();
    resign(&scene.bundle, &fresh_key(scene.bundle.parent().unwrap()).0, |statement| {
        statement["predicate"]["key"] = json!(ours);
    });
    bytes(scene, ATTESTATION, |bytes| {
        let mut envelope: Value = serde_json::from_slice(bytes).unwrap();
        envelope["signatures"][0]["keyid"] = json!(ours);
        *bytes = canonical_bytes(&envelope).unwrap();
    });
}

/// A key inside the bundle is never used, also where the bundle says that it is the one.
fn bring_a_key(scene: &Scene, _: &Corpus) {
    let (key, public) = fresh_key(scene.bundle.parent().unwrap());
    add(scene, "keys/harness.pub", public.openssh("cto-harness").as_bytes());
    resign(&scene.bundle, &key, |_| {});
}

fn check(edit: &Edit) -> Result<(), String> {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    (edit.apply)(&scene, corpus);
    refusal(&corpus.verify(&scene.bundle), edit.name, edit.file, edit.checks)?;
    let path = scene.bundle.to_str().unwrap();
    let ran = corpus.world.cto(["verify", path, "--json"]).expect(1);
    let document = ran.json();
    let said = document["errors"].as_array().unwrap().iter().any(|error| {
        let text = |key: &str| error[key].as_str().unwrap();
        text("file") == edit.file && edit.checks.contains(&text("check")) && text("expected") != text("found")
    });
    let no_verdict = document["ok"] == false && document["status"].is_null() && document["run_id"].is_null();
    if said && no_verdict { Ok(()) } else { Err(format!("{}: {document:#}", edit.name)) }
}

#[test]
fn every_kind_of_tampering_is_refused_and_named() {
    all_hold(EDITS.iter().map(check));
}

/// People get the same: a line for the bundle, a line a failure, and no verdict.
#[test]
fn people_are_told_which_check_does_not_hold() {
    let corpus = corpus();
    let scene = corpus.copy("pass");
    flip(&scene, PATCH);
    let text = corpus.world.cto(["verify", scene.bundle.to_str().unwrap()]).expect(1).text();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("fail "), "{text}");
    assert!(lines.all(|line| line.starts_with("failed ")), "{text}");
    assert!(text.contains("failed patch.diff digest expected="), "{text}");
    assert!(!text.contains("verdict"), "{text}");
}

/// `docs/formats/verify.py` is another reader of the same format: it must refuse what we refuse.
#[test]
fn the_published_script_agrees() {
    let corpus = corpus();
    let untouched = corpus.kinds().map(|kind| agreement(corpus, kind, corpus.bundle(kind)));
    let edited = EDITS.iter().map(|edit| {
        let scene = corpus.copy("pass");
        (edit.apply)(&scene, corpus);
        agreement(corpus, edit.name, &scene.bundle)
    });
    let nothing = corpus.world.path().join("nothing");
    fs::create_dir_all(&nothing).unwrap();
    let no_bundles = [nothing, corpus.public_key(), corpus.world.path().join("nowhere")];
    let no_bundles = no_bundles.iter().map(|path| agreement(corpus, "no bundle", path));
    all_hold(untouched.chain(edited).chain(no_bundles));
}

/// The exit codes of `cto verify` and of the published script are the same.
pub(super) fn agreement(corpus: &Corpus, name: &str, bundle: &Path) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/verify.py");
    let mut python = program("python3", corpus.world.path());
    let theirs = python.args([&script, bundle, Path::new("--key"), &corpus.public_key()]).output().unwrap();
    let ours = corpus.world.cto(["verify", bundle.to_str().unwrap()]);
    if Some(ours.code) == theirs.status.code() {
        return Ok(());
    }
    let said = [theirs.stdout, theirs.stderr].concat();
    Err(format!("{name}: cto {}\n{}verify.py: {}", ours.code, ours.text(), String::from_utf8_lossy(&said)))
}
