//! The page that verifies a bundle shows each check that `cto verify` makes, for bundles that are broken in different ways.

use std::fs;
use std::path::Path;

use contract::text::show_controls;
use testkit::{copy_bundle, each_row};

use super::Served;
use crate::world;

/// A way to break a bundle, and a check that finds it.
type BreakRow = (&'static str, fn(&Path), &'static str);

const BREAKS: &[BreakRow] = &[
    ("a byte of the patch", |bundle| change(bundle, "patch.diff"), "digest"),
    ("a byte of the report", |bundle| change(bundle, "report.json"), "digest"),
    ("a byte of the decision", |bundle| change(bundle, "eligibility-decision.json"), "digest"),
    ("the attestation", |bundle| write_over(&bundle.join("attestation.dsse.json"), b"{}"), "envelope"),
    ("a file is gone", |bundle| fs::remove_file(bundle.join("test.log")).unwrap(), "present"),
    ("a file is added", |bundle| fs::write(bundle.join("more <b>.txt"), "x").unwrap(), "signed"),
    ("a folder is added", |bundle| fs::create_dir(bundle.join("empty")).unwrap(), "directory"),
    ("a link is added", |bundle| std::os::unix::fs::symlink("/etc/passwd", bundle.join("link")).unwrap(), "kind"),
    ("events end early", shorten_events, "event_count"),
    ("an event in the middle", |bundle| change(bundle, "events.normalized.jsonl"), "digest"),
];

fn change(bundle: &Path, name: &str) {
    let mut bytes = fs::read(bundle.join(name)).unwrap();
    let at = (bytes.len() / 2..bytes.len()).find(|at| bytes[*at].is_ascii_alphanumeric()).unwrap();
    bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
    write_over(&bundle.join(name), &bytes);
}

/// Files of a bundle are read-only.
fn write_over(file: &Path, bytes: &[u8]) {
    fs::remove_file(file).unwrap();
    fs::write(file, bytes).unwrap();
}

fn shorten_events(bundle: &Path) {
    let file = bundle.join("events.normalized.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    write_over(&file, format!("{}\n", lines[..lines.len() - 2].join("\n")).as_bytes());
}

fn escaped(text: &str) -> String {
    let parts = show_controls(text).replace('&', "&#38;").replace('<', "&#60;").replace('>', "&#62;");
    parts.replace('"', "&#34;").replace('\'', "&#39;")
}

#[test]
fn the_page_says_each_check_that_the_command_says() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    let run = report["run_id"].as_str().unwrap();
    let whole = world.path().join("whole");
    copy_bundle(&bundle, &whole);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let told = world.cto(["verify", run, "--json"]).expect(0).json();
    let page = served.get(&format!("/runs/{run}/verify"), &cookie).text();
    assert!(page.contains(&format!("{} checks were made now", told["checked"])), "the control: {page}");
    each_row(BREAKS.iter().map(|(name, work, check)| (*name, (work, check))), |(work, check)| {
        fs::remove_dir_all(&bundle).unwrap();
        copy_bundle(&whole, &bundle);
        work(&bundle);
        let told = world.cto(["verify", run, "--json"]).expect(1).json();
        let errors = told["errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["check"] == **check), "{told:#}");
        let facts = served.get(&format!("/api/cto/runs/{run}/verification"), &cookie).json();
        for key in ["ok", "checked", "errors", "signer"] {
            assert_eq!(facts[key], told[key], "{key}");
        }
        let page = served.get(&format!("/runs/{run}/verify"), &cookie).text();
        assert!(page.contains("does not verify") && !page.contains("Every one holds"), "{page}");
        assert_eq!(page.matches("<div class=\"code\">").count(), errors.len(), "{page}");
        for error in errors {
            let text = |key: &str| escaped(error[key].as_str().unwrap());
            assert!(page.contains(&format!("<div class=\"code\">{}</div>", text("check"))), "{error}: {page}");
            let line = error["line"].as_u64().map_or_else(String::new, |line| format!(", line {line}"));
            let said = format!("{}{line}: expected {}, found {}", text("file"), text("expected"), text("found"));
            assert!(page.contains(&said), "{said}: {page}");
        }
        let of_run = served.get(&format!("/runs/{run}"), &cookie).text();
        assert!(of_run.contains("verdict-broken") && !of_run.contains("verdict-pass"), "{of_run}");
    });
}
