//! Hostile text wherever others can put it: it is shown as text, nothing runs, and no page scrolls sideways.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use contract::text::show_controls;
use hermes::SessionPolicy;
use serde_json::json;

use crate::hostile_source::{HostileSource, serve_source};
use crate::payloads::{Harm, payloads};
use crate::{Browser, Look, Page, Served, world};

/// Faults of a page that took text for something else: elements and attributes that no template of ours has, characters that are not
/// printed, script that ran, sideways scrolling.
const DETECT: &str = include_str!("detect.js");

/// Faults of the page as it is, and everything that the browser said.
fn detect(page: &Page<'_>) -> Vec<String> {
    let mut faults: Vec<String> = serde_json::from_value(page.evaluate(DETECT)).unwrap();
    faults.extend(page.faults().into_iter().filter(|fault| !fault.contains("a status of 4")));
    faults
}

/// A bare server of one page after the other, each exactly the bytes that it is given.
fn serve_raw(bodies: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0_u8; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let number = head.split(' ').nth(1).and_then(|path| path.strip_prefix('/')?.parse::<usize>().ok());
            let body = number.and_then(|number| bodies.get(number)).cloned().unwrap_or_default();
            let kind = "Content-Type: text/html; charset=utf-8";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(&body);
        }
    });
    format!("http://{host}")
}

/// The control: each payload in a page that does not escape it is found by the same detector.
#[test]
fn a_page_that_did_not_escape_would_be_caught() {
    let Some(browser) = Browser::start("a_page_that_did_not_escape_would_be_caught") else { return };
    let all = payloads();
    assert_eq!(all.len(), 60);
    let page_of = |(harm, text): &(Harm, String)| {
        // A page as ours is, with the payload as it came.
        let text = if *harm == Harm::Width { format!("<pre>{text}</pre>") } else { text.clone() };
        format!("<!doctype html><title>x</title><main><h1>x</h1><p>{text}</p></main>").into_bytes()
    };
    let origin = serve_raw(all.iter().map(page_of).collect());
    let page = browser.open(Look { width: 390, ..Look::at(&origin, "") });
    let mut missed = Vec::new();
    for (number, (_, text)) in all.iter().enumerate() {
        page.visit(&format!("/{number}"));
        if detect(&page).is_empty() {
            missed.push(show_controls(&text.chars().take(80).collect::<String>()));
        }
    }
    assert!(missed.is_empty(), "not found without an escape: {missed:#?}");
}

/// Pages whose facts have text of others.
const PATHS: &[&str] = &[
    "/",
    "/runs",
    "/runs/x",
    "/runs/sealed",
    "/runs/live",
    "/runs/collected",
    "/runs/x/verify",
    "/runs/sealed/verify",
    "/runs/x/log?name=x",
    "/approvals",
    "/approvals/req-1",
    "/compare?runs=x",
    "/records",
    "/queue",
    "/spend",
];

/// Every page, with payloads in every field of text that its facts have.
#[test]
fn every_field_of_every_page_is_text() {
    let Some(browser) = Browser::start("every_field_of_every_page_is_text") else { return };
    let source = Arc::new(HostileSource::default());
    serve_source(&source, SessionPolicy::default(), |origin, login| {
        let page = browser.open(Look { width: 390, ..Look::at(origin, "") });
        page.visit(login);
        page.click("main button[type=submit]");
        let mut faults = Vec::new();
        let all: Vec<String> = payloads().into_iter().map(|(_, text)| text).collect();
        for (number, some) in all.chunks(10).enumerate() {
            source.say(&some.join(" "));
            for path in PATHS {
                page.visit(path);
                if path.ends_with("/live") {
                    // Drawn by script, from the stream.
                    page.wait("document.querySelectorAll('.events li').length >= 4");
                }
                let text = page_text(&page);
                // A list of runs has no room for text; colours of a log are classes there, and their codes are not shown.
                // An event is cut after some characters, and stands in full elsewhere on the page of a sealed run.
                let is_whole = |payload: &&String| {
                    !(["/runs", "/runs/live"].contains(path) || path.contains("/log") && payload.contains("\x1b["))
                };
                let lost = some.iter().filter(is_whole).filter(|payload| !text.contains(&beginning(payload)));
                let lost = lost.map(|payload| format!("not shown: {}", beginning(payload)));
                let found: Vec<String> = detect(&page).into_iter().chain(lost).collect();
                faults.extend(found.into_iter().map(|fault| format!("{number} {path}: {fault}")));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    });
}

/// The first characters as they are shown.
fn beginning(payload: &str) -> String {
    show_controls(payload).chars().take(60).collect()
}

fn page_text(page: &Page<'_>) -> String {
    page.evaluate("document.body.textContent").as_str().unwrap().to_owned()
}

/// The real binary: an engine that puts them into names of files, contents, output, claims and the exam's log, an operator into a title and reasons.
#[test]
fn an_engine_cannot_reach_the_reader_of_its_run() {
    let Some(browser) = Browser::start("an_engine_cannot_reach_the_reader_of_its_run") else { return };
    let world = world();
    let texts: Vec<String> = payloads().into_iter().map(|(_, text)| text).collect();
    let script = "import json, os, sys
texts = json.load(open('payloads.json'))
out = sys.stdout.buffer
for text in texts + ['bytes \\udcff\\udcfe\\udc80 end']:
    out.write(text.encode('utf-8', 'surrogateescape') + b'\\n')
if len(sys.argv) > 1:
    with open('lines.txt', 'wb') as file:
        file.write(b'\\n'.join(text.encode('utf-8', 'surrogateescape') for text in texts))
    for number, text in enumerate(texts):
        name = text.replace('/', '|').replace('\\0', '')[:60]
        open('f%02d ' % number + name, 'w').write(text[:500])
";
    let claims =
        json!({"status": "success", "files_changed": texts.iter().take(40).collect::<Vec<_>>(), "message": texts[0]});
    let fake = json!({"steps": [{"run": {"argv": ["python3", "make.py", "all"]}}], "claims": claims});
    let title: String = texts[0].clone();
    world.case(
        "made",
        &[
            ("title", &json!(title).to_string()),
            ("fake", &fake.to_string()),
            ("allowed_paths", "[\"**\"]"),
            ("mutation_mode", "candidate-default"),
            ("verification_commands", "[[python3, make.py]]"),
            ("success_criteria", &json!(texts.iter().take(50).collect::<Vec<_>>()).to_string()),
        ],
    );
    world.write("made/files/make.py", script);
    world.write("made/files/payloads.json", json!(texts).to_string());
    let ran = world.cto(["run", "./made", "--json"]);
    let run = ran.json()["run_id"].as_str().unwrap_or_else(|| panic!("{}", ran.told())).to_owned();
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "./made", "--stage", "4", "--json"]);
    let request = asked.json()["request"].as_str().unwrap_or_else(|| panic!("{}", asked.told())).to_owned();
    let reason: String = texts.iter().filter(|text| text.len() < 60).take(20).cloned().collect();
    let _ = world.cto(["deny", &request, "--reason", &reason]).expect(0);
    let _ = world.cto(["halt", "--reason", &texts[4]]).expect(0);
    let served = Served::start(&world, &["--read-only"]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let log = |name: &str| format!("/runs/{run}/log?name={name}");
    let pages = [
        "/".to_owned(),
        "/runs".to_owned(),
        format!("/runs/{run}"),
        format!("/runs/{run}/verify"),
        log("test.log"),
        log("backend%2Fstdout.log"),
        log("patch.diff"),
        log("events.normalized.jsonl"),
        log("report.md"),
        "/approvals".to_owned(),
        format!("/approvals/{request}"),
        format!("/compare?runs={run}%20<img%20src=x%20onerror=window.hostileRan=1>"),
        format!("/compare?runs={run}"),
        "/runs?q=<img%20src=x%20onerror=window.hostileRan=1>".to_owned(),
        "/runs/<img%20src=x%20onerror=window.hostileRan=1>".to_owned(),
        "/<svg%20onload=window.hostileRan=1>".to_owned(),
    ];
    let mut faults = Vec::new();
    for (script, width) in [(true, 390), (false, 390), (true, 1280)] {
        let page = browser.open(Look { script, width, ..Look::at(&origin, &cookie) });
        for path in &pages {
            page.visit(path);
            faults.extend(detect(&page).into_iter().map(|fault| format!("{path} {width} script {script}: {fault}")));
        }
        page.visit(&format!("/runs/{run}"));
        let text = page_text(&page);
        for payload in texts.iter().filter(|text| text.len() < 200) {
            let part = show_controls(payload);
            assert!(text.contains(&part), "not shown on the page of the run: {part:?}");
        }
        page.leave();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for path in &pages {
        let body = served.get(path, &cookie).body;
        assert!(String::from_utf8(body).is_ok(), "{path} is not UTF-8");
    }
}
