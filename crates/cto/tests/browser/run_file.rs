//! A run as one file, opened from disk with the network off: its own verifier agrees with `cto verify` on every bundle.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::World;

use crate::payloads::payloads;
use crate::{Browser, Look, Page, world};

/// Cases that end as each verdict.
const CASES: [(&str, &str, i32); 3] =
    [("r1-string-slugify", "pass", 0), ("fail-failed-tests", "fail", 1), ("fail-missing-test-command", "blocked", 3)];

/// A check that does not hold: file and name.
type Failed = BTreeSet<(String, String)>;

/// The file of a run, and its text.
fn export(world: &World, run: &str, name: &str) -> (PathBuf, String) {
    let _ = world.cto(["export", "--html", run, "-o", name, "--json"]).expect(0);
    let file = world.here().join(name);
    let text = fs::read_to_string(&file).unwrap();
    (file, text)
}

fn open_file<'a>(browser: &'a Browser, file: &Path) -> Page<'a> {
    let page = browser.open(Look { width: 390, ..Look::at("file://", "") });
    page.visit(file.to_str().unwrap());
    page.wait("document.querySelector('#verifier').dataset.holds !== undefined");
    page
}

/// The verdict of the verifier, and the checks that do not hold.
fn read_box(page: &Page<'_>) -> (bool, Failed) {
    let code =
        "[...document.querySelectorAll('#verifier-failures li')].map((li) => [li.dataset.file, li.dataset.check])";
    let failed = serde_json::from_value(page.evaluate(code)).unwrap();
    (page.evaluate("document.querySelector('#verifier').dataset.holds") == json!("true"), failed)
}

#[test]
fn a_file_says_of_its_bundle_what_verify_says() {
    let Some(browser) = Browser::start("a_file_says_of_its_bundle_what_verify_says") else { return };
    let world = world();
    for (case, status, code) in CASES {
        let (report, bundle) = world.run(case, code);
        let checked = world.cto(["verify", "@", "--json"]).expect(0).json();
        let (file, text) = export(&world, report["run_id"].as_str().unwrap(), &format!("{status}.html"));
        let page = open_file(&browser, &file);
        assert_eq!(read_box(&page), (true, Failed::new()), "{status}");
        let said = page.text("#verifier-say");
        assert!(said.contains(&format!("verdict {status}.")) && said.contains("compare this fingerprint"), "{said}");
        assert!(said.contains(checked["signer"].as_str().unwrap()), "the signer of `cto verify`: {said}");
        assert!(!page.text("main").to_lowercase().contains("trusted"));
        assert_eq!(page.faults(), [""; 0], "{status}");
        page.leave();
        change_every_file(&browser, &world, &bundle, (status, &text));
    }
}

/// True of a file of which both say every check alike: no check reads its text. In a document each stops at its own place, as a byte of
/// its middle has changed its shape or not.
fn is_plain(name: &str) -> bool {
    [".log", ".tar", ".md"].iter().any(|end| name.ends_with(end)) || name.starts_with("backend/")
}

/// One byte of each file in turn: page and command name that file, and the page no check of it that the command does not name.
fn change_every_file(browser: &Browser, world: &World, bundle: &Path, (status, text): (&str, &str)) {
    let files = testkit::files_of(bundle).into_iter();
    let names = files.map(|file| file.to_str().unwrap().to_owned());
    // A file without a byte has none to change.
    let names: Vec<String> = names.filter(|name| fs::metadata(bundle.join(name)).unwrap().len() > 0).collect();
    assert!(names.len() > 6 && (status == "blocked" || names.iter().any(|name| name.contains('/'))), "{names:?}");
    for (number, name) in names.iter().enumerate() {
        let changed = change_byte(&fs::read(bundle.join(name)).unwrap());
        let folder = world.here().join(format!("{status}-{number}"));
        testkit::copy_bundle(bundle, &folder);
        fs::remove_file(folder.join(name)).unwrap();
        fs::write(folder.join(name), &changed).unwrap();
        let told = world.cto(["verify", folder.to_str().unwrap(), "--json"]).expect(1).json();
        let errors = told["errors"].as_array().unwrap().iter();
        let named: Failed = errors
            .map(|one| (one["file"].as_str().unwrap().to_owned(), one["check"].as_str().unwrap().to_owned()))
            .collect();
        let (before, after) = (fs::read(bundle.join(name)).unwrap(), changed);
        // Files with the same bytes stay as they are.
        let embedded = |bytes: Vec<u8>| json!([name, STANDARD.encode(bytes)]).to_string();
        let page_text = text.replace(&embedded(before), &embedded(after));
        assert_ne!(page_text, text, "{name}");
        let file = world.write(&format!("{status}-{number}.html"), &page_text);
        let page = open_file(browser, &file);
        let (holds, failed) = read_box(&page);
        assert!(!holds && failed.iter().any(|(file, _)| file == name), "{name}: {failed:?}");
        assert!(named.iter().any(|(file, _)| file == name), "{name}: {named:?}");
        // The command tries no further check of a document that it cannot read.
        let is_shapeless = |file: &String| named.contains(&(file.clone(), "shape".to_owned()));
        let more: Failed = failed.difference(&named).filter(|(file, _)| !is_shapeless(file)).cloned().collect();
        // The command names the field of a broken line, and judges a decision again where the page compares its digest.
        let is_other_name = |(file, check): &(String, String)| match file.as_str() {
            "events.normalized.jsonl" => check.starts_with("line "),
            "eligibility-decision.json" => check == "decision_id",
            // The page names the whole bundle where the command names the file that has another shape.
            "." => check == "shape" && named.iter().any(|(_, check)| check == "shape"),
            _ => false,
        };
        let more: Vec<_> = more.iter().filter(|one| !is_other_name(one)).collect();
        assert!(more.is_empty(), "{status} {name}: the page says {failed:?}, the command {named:?}");
        // The page renders no report.md.
        let less: Vec<_> = named.difference(&failed).filter(|(_, check)| check != "rendered").collect();
        assert!(less.is_empty() || !is_plain(name), "{status} {name}: the page leaves out {less:?}");
        page.leave();
    }
}

/// Another digit or letter in the middle.
fn change_byte(bytes: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let half = changed.len() / 2;
    let at = (half..changed.len()).find(|at| changed[*at].is_ascii_alphanumeric()).unwrap_or(half);
    changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
    changed
}

/// Another key than the signer's is never believed, no matter who wrote the file.
#[test]
fn a_foreign_key_is_never_trusted() {
    let Some(browser) = Browser::start("a_foreign_key_is_never_trusted") else { return };
    let (ours, theirs) = (world(), world());
    let mut keys = Vec::new();
    for world in [&ours, &theirs] {
        world.case("made", &[("verification_commands", "[[\"true\"]]")]);
        let _ = world.cto(["run", "./made", "--json"]);
        keys.push(fs::read_to_string(world.home().join("keys/harness.pub")).unwrap().trim().to_owned());
    }
    let (file, _) = export(&theirs, "@", "theirs.html");
    let page = open_file(&browser, &file);
    assert!(page.text("#verifier-say").contains("compare this fingerprint"), "whole, by a key that nobody gave");
    for (key, holds) in [(&keys[0], false), (&keys[1], true)] {
        page.evaluate("delete document.querySelector('#verifier').dataset.holds");
        page.fill("#verifier-key", key);
        page.click("#verifier-again");
        page.wait("document.querySelector('#verifier').dataset.holds !== undefined");
        assert_eq!(read_box(&page).0, holds, "{}", page.text("#verifier-say"));
        assert!(!page.text("main").to_lowercase().contains("trusted"));
    }
}

/// All payloads in title, names of files, claims and output, in a page that no server guards.
#[test]
fn a_file_shows_hostile_text_as_text() {
    let Some(browser) = Browser::start("a_file_shows_hostile_text_as_text") else { return };
    let world = world();
    let texts: Vec<String> = payloads().into_iter().map(|(_, text)| text.chars().take(3000).collect()).collect();
    let script = "import json, sys
texts = json.load(open('payloads.json'))
for number, text in enumerate(texts):
    sys.stdout.buffer.write(text.encode('utf-8', 'surrogateescape') + b'\\n')
    open('f%02d ' % number + text.replace('/', '|').replace('\\0', '')[:50], 'w').write(text)
";
    let claims =
        json!({"status": "success", "files_changed": texts.iter().take(40).collect::<Vec<_>>(), "message": texts[0]});
    let fake = json!({"steps": [{"run": {"argv": ["python3", "make.py"]}}], "claims": claims});
    world.case(
        "made",
        &[
            ("title", &json!(texts[0]).to_string()),
            ("fake", &fake.to_string()),
            ("allowed_paths", "[\"**\"]"),
            ("verification_commands", "[[\"true\"]]"),
        ],
    );
    world.write("made/files/make.py", script);
    world.write("made/files/payloads.json", json!(texts).to_string());
    let ran = world.cto(["run", "./made", "--json"]);
    let run = ran.json()["run_id"].as_str().unwrap_or_else(|| panic!("{}", ran.told())).to_owned();
    let (file, _) = export(&world, &run, "hostile.html");
    let page = open_file(&browser, &file);
    let links = page.evaluate(
        "[...document.querySelectorAll('#artifacts a[href^=\"#file:\"]')].map((a) => a.getAttribute('href'))",
    );
    let links: Vec<String> = serde_json::from_value(links).unwrap();
    assert!(links.len() > 8, "{links:?}");
    for link in std::iter::once("#timeline".to_owned()).chain(links) {
        page.evaluate(&format!("location.hash = {}", json!(link)));
        if link.starts_with("#file:") {
            page.wait("document.querySelector('#file-name').textContent !== ''");
        }
        let found: Value = page.evaluate(DETECT_IN_FILE);
        assert_eq!(found, json!([]), "{link}");
        page.evaluate("document.querySelector('#file-name').textContent = ''");
    }
    assert_eq!(page.faults(), [""; 0]);
}

/// Text that became something else, in a page that has its style and scripts inside.
const DETECT_IN_FILE: &str = r#"(() => {
  const faults = [];
  for (const e of document.querySelectorAll('img,iframe,object,embed,video,math,template,base,foreignObject,form[action],dialog[open],a[href^="javascript:"],[style],i,u,x')) faults.push('element: ' + e.outerHTML.slice(0, 60));
  for (const e of document.querySelectorAll('*')) for (const a of e.attributes) if (a.name.startsWith('on') || a.name === 'srcdoc') faults.push('attribute: ' + a.name);
  const text = [...document.body.children].filter((e) => e.tagName !== 'SCRIPT').map((e) => e.textContent).join('') + document.title;
  const bare = text.match(/[\u0001-\u0008\u000b\u000c\u000d\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff]|\udb40[\udc00-\udc7f]/);
  if (bare) faults.push('a character that is not printed: ' + bare[0].codePointAt(0).toString(16));
  if (window.hostileRan) faults.push('script ran');
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('scrolls sideways: ' + root.scrollWidth);
  return [...new Set(faults)].slice(0, 8);
})()"#;
