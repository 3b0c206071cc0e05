//! `cargo xtask run-files`: pages of `cto export --html`, opened from disk in Chromium with
//! the network off.
//!
//! Each row is a page and the words that its own verifier must say. Rows that must fail are
//! the pages that hold, changed in one place.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::ChoreResult;
use crate::browser::modules;
use crate::process::{program, repository_root, run_command, target};
use crate::tools::need;

/// Cases that end as each verdict.
const CASES: [(&str, &str); 3] =
    [("r1-string-slugify", "pass"), ("fail-failed-tests", "fail"), ("fail-missing-test-command", "blocked")];
/// Files of a bundle of which one byte is changed.
const CHANGED: [&str; 4] = ["patch.diff", "test.log", "report.json", "events.normalized.jsonl"];
/// Script that says that it ran.
const HOSTILE: &str = "</script><script>window.hostileRan=1</script><img src=x onerror=window.hostileRan=1>";

/// Opens every page and fails if one says something else than its row.
pub(crate) fn run_chore() -> ChoreResult {
    need("chromium", "chromium")?;
    let modules = modules()?;
    crate::test::build_plain_program()?;
    let folder = std::env::temp_dir().join(format!("cto-run-files-{}", std::process::id()));
    let tried = try_files(&RunFileWorld { folder: folder.clone() }, &modules);
    let _ = std::fs::remove_dir_all(&folder);
    tried
}

/// Two homes, each with a key of its own, and the pages made of their runs.
struct RunFileWorld {
    folder: PathBuf,
}

impl RunFileWorld {
    fn cto(&self, home: &str) -> Command {
        let mut command = program(target().join("debug/cto"), std::iter::empty::<&str>());
        command.env("CTO_HOME", self.folder.join(home)).env("HOME", self.folder.join("user"));
        command.current_dir(&self.folder);
        command
    }

    fn json(&self, home: &str, words: &[&str]) -> ChoreResult<Value> {
        let out = self.cto(home).args(words).arg("--json").output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&out.stdout).map_err(|error| format!("cto {words:?}: {error}"))
    }

    /// Runs a task and gives its page.
    fn make_page(&self, home: &str, task: &str) -> ChoreResult<(String, Value)> {
        let _ = self.json(home, &["run", task])?;
        let checked = self.json(home, &["verify", "@"])?;
        let name = format!("{home}-{}.html", checked["status"].as_str().unwrap_or_default());
        let _ = std::fs::remove_file(self.folder.join(&name));
        let _ = self.json(home, &["export", "--html", "@", "-o", &name])?;
        Ok((self.read(&name)?, checked))
    }

    fn read(&self, name: &str) -> ChoreResult<String> {
        std::fs::read_to_string(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    fn write(&self, name: &str, text: &str) -> ChoreResult<String> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{name}: {error}"))?;
        Ok(path.display().to_string())
    }
}

fn try_files(world: &RunFileWorld, modules: &Path) -> ChoreResult {
    std::fs::create_dir_all(world.folder.join("user")).map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    let mut pages = Vec::new();
    for (case, status) in CASES {
        let (page, checked) = world.make_page("ours", case)?;
        if checked["status"] != status {
            return Err(format!("{case} ended as {}", checked["status"]));
        }
        rows.extend(whole_rows(world, status, &page)?);
        pages.push(page);
    }
    let page = &pages[0];
    rows.extend(changed_rows(world, page)?);
    rows.extend(foreign_rows(world, page)?);
    rows.extend(hostile_rows(world, page)?);
    let script = repository_root().join("xtask/browser/run_file.mjs");
    let mut node = program("node", [script.as_os_str()]);
    let rows = world.write("rows.json", &Value::Array(rows).to_string())?;
    run_command(node.arg(rows).env("BROWSER_MODULES", modules))
}

/// A page as it was written: every check holds, with the browser's digests and without
/// them, and the key is to be compared.
fn whole_rows(world: &RunFileWorld, status: &str, page: &str) -> ChoreResult<Vec<Value>> {
    let file = world.write(&format!("whole-{status}.html"), page)?;
    let says = "compare this fingerprint";
    let row = |plain: bool, width: u64| {
        json!({
            "name": format!("{status}, plain {plain}, {width}"), "file": file, "holds": true, "status": status,
            "says": says, "plain": plain, "width": width, "open": "report.md", "opened": status,
        })
    };
    Ok(vec![row(false, 1280), row(true, 1280), row(false, 390)])
}

/// One byte changed in each file: the page names that file, with the checks that `cto
/// verify` names.
fn changed_rows(world: &RunFileWorld, page: &str) -> ChoreResult<Vec<Value>> {
    let mut rows = Vec::new();
    for name in CHANGED {
        let changed = change_embedded(page, name)?;
        let file = world.write(&format!("changed-{name}.html"), &changed)?;
        rows.push(json!({
            "name": format!("one byte of {name}"), "file": file, "holds": false, "files": [name], "checks": [[name, "digest"]],
        }));
    }
    // The rendering is signed by nobody, so its verdict is compared with the signed one.
    let forged = page.replacen("<span>pass</span></h1>", "<span>fail</span></h1>", 1);
    let file = world.write("changed-verdict.html", &forged)?;
    rows.push(json!({"name": "another verdict on the page", "file": file, "holds": false, "files": ["this page"]}));
    Ok(rows)
}

/// The page with one character of a file's base64 exchanged for another.
fn change_embedded(page: &str, name: &str) -> ChoreResult<String> {
    let start = page.find(&format!("[\"{name}\",\"")).ok_or(format!("{name} is not in the page"))? + name.len() + 5;
    let length = page[start..].find('"').ok_or("the page ends")?;
    let at = start + length / 2;
    let other = if &page[at..=at] == "A" { "B" } else { "A" };
    Ok(format!("{}{other}{}", &page[..at], &page[at + 1..]))
}

/// Keys: the reader's own, another one, and a file that brings a key of somebody else.
fn foreign_rows(world: &RunFileWorld, page: &str) -> ChoreResult<Vec<Value>> {
    let ours = world.read("ours/keys/harness.pub")?;
    let (foreign_page, _) = world.make_page("theirs", CASES[0].0)?;
    let theirs = world.read("theirs/keys/harness.pub")?;
    let fingerprint = world.json("ours", &["verify", "@"])?["signer"].clone();
    let file = world.write("key-ours.html", page)?;
    let foreign = world.write("key-theirs.html", &foreign_page)?;
    let swapped = page.replace(embedded_key(page)?, embedded_key(&foreign_page)?);
    let swapped = world.write("key-swapped.html", &swapped)?;
    let signer = json!([["attestation.dsse.json", "signer"]]);
    let given = "Signed by the key you gave";
    Ok(vec![
        json!({"name": "the right key", "file": file, "key": ours.trim(), "holds": true, "status": "pass", "says": given}),
        json!({"name": "the fingerprint", "file": file, "key": fingerprint, "holds": true, "status": "pass", "says": given}),
        json!({"name": "another key", "file": file, "key": theirs.trim(), "holds": false, "checks": signer}),
        json!({"name": "the key of the file exchanged", "file": swapped, "holds": false, "checks": signer}),
        json!({"name": "a foreign file", "file": foreign, "holds": true, "says": "compare this fingerprint"}),
        json!({"name": "a foreign file, our key", "file": foreign, "key": ours.trim(), "holds": false, "checks": signer}),
    ])
}

fn embedded_key(page: &str) -> ChoreResult<&str> {
    let key = page.split("\"key\":\"").nth(1).and_then(|rest| rest.split('"').next());
    key.ok_or_else(|| "the page has no key".to_owned())
}

/// Hostile words of a contract, and script that somebody adds: nothing runs. Without the
/// policy it does, which is the control.
fn hostile_rows(world: &RunFileWorld, page: &str) -> ChoreResult<Vec<Value>> {
    let case = repository_root().join("crates/fixtures/cases/r1-string-slugify");
    let copy = world.folder.join("hostile");
    run_command(program("cp", ["-r"]).arg(&case).arg(&copy))?;
    let text = std::fs::read_to_string(copy.join("case.yaml")).map_err(|error| error.to_string())?;
    let title = text.lines().find(|line| line.starts_with("title:")).ok_or("the case has no title")?;
    let text = text.replace(title, &format!("title: '{HOSTILE}'"));
    std::fs::write(copy.join("case.yaml"), text).map_err(|error| error.to_string())?;
    let (hostile, _) = world.make_page("hostile-home", "./hostile")?;
    let hostile = world.write("hostile.html", &hostile)?;
    let added = page.replacen("</main>", "<script>window.hostileRan=1</script></main>", 1);
    let refused = world.write("added.html", &added)?;
    let meta = added.lines().find(|line| line.contains("Content-Security-Policy")).unwrap_or_default().to_owned();
    let open = world.write("added-without-policy.html", &added.replace(&meta, ""))?;
    Ok(vec![
        json!({"name": "hostile words", "file": hostile, "holds": true, "status": "pass", "width": 390}),
        json!({"name": "script added", "file": refused, "holds": true, "refused": true}),
        json!({"name": "script added, no policy", "file": open, "holds": true, "ran": true}),
    ])
}
