//! The panel in another host: installed beside another extension, asked for through that host's proxy, and right about every way in which
//! there is no answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use contract::text::show_controls;
use serde_json::{Value, json};
use testkit::World;

use crate::host::{WebuiFolders, WebuiHost};
use crate::payloads::payloads;
use crate::{Browser, Look, Page, world};

const OTHER: &str = "{ \"extensions\" : [\n  {\"id\":\"clock\",  \"scripts\": [ ], \"enabled\": false}\n] }\n";
const MANIFEST: &str = "bundle/manifest.json";

/// `cto serve` with a sidecar on this port.
struct SidecarProcess(Child);

impl Drop for SidecarProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(world: &World, folders: &WebuiFolders, host: &str) -> SidecarProcess {
    let mut command = world.command(["serve", "--listen", "127.0.0.1:0", "--sidecar", host, "--json"]);
    command.env("HERMES_WEBUI_STATE_DIR", &folders.state).stdout(Stdio::null()).stderr(Stdio::null());
    let child = SidecarProcess(command.spawn().unwrap());
    testkit::wait_for("the sidecar", || std::net::TcpStream::connect(host).ok());
    child
}

fn ask_raw(host: &str, path: &str, token: &str) -> (u16, String) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let token = if token.is_empty() { String::new() } else { format!("X-Hermes-Sidecar-Token: {token}\r\n") };
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

/// Asks again, as the page does when it is looked at.
#[track_caller]
fn expect_state(page: &Page<'_>, state: &str) {
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    page.wait(&format!("document.querySelector('#cto-panel [data-state]').dataset.state === '{state}'"));
}

fn consent(page: &Page<'_>, approved: bool) {
    let body = json!({"id": "cto-panel", "approved": approved}).to_string();
    page.evaluate(&format!(
        "fetch('/api/extensions/sidecar-proxy-consent', {{ method: 'POST', body: {} }}).then((a) => a.status)",
        json!(body)
    ));
}

#[test]
fn the_panel_is_right_about_consent_tokens_and_absence() {
    let Some(browser) = Browser::start("the_panel_is_right_about_consent_tokens_and_absence") else { return };
    let world = world();
    world.run("r1-string-slugify", 0);
    let folders =
        WebuiFolders { extensions: world.here().join("ext"), state: world.here().join("state"), manifest: MANIFEST };
    fs::create_dir_all(folders.extensions.join("bundle")).unwrap();
    fs::create_dir_all(&folders.state).unwrap();
    let manifest = folders.extensions.join(MANIFEST);
    fs::write(&manifest, OTHER).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let place = ["--dir", "ext", "--manifest", MANIFEST];
    let cto = |words: &[&str]| world.cto([words, &place].concat());
    let _ = cto(&["hermes", "status"]).expect(3);
    let origin = format!("http://{free}");
    let installed = cto(&["hermes", "install", "--sidecar", &origin, "--json"]).expect(0).json();
    assert_eq!(installed["other_extensions"], json!(["clock"]));
    let again = fs::read(&manifest).unwrap();
    let _ = cto(&["hermes", "install", "--sidecar", &origin]).expect(0);
    assert_eq!(fs::read(&manifest).unwrap(), again, "a second time changes nothing");
    let status = cto(&["hermes", "status", "--json"]).expect(0).json();
    assert_eq!((&status["installed"], &status["sidecar_answers"]), (&json!(true), &json!(false)));

    let host = WebuiHost::start(&folders, 0);
    let page = browser.open(Look::at(&host.origin, WebuiHost::cookie()));
    page.visit("/");
    expect_state(&page, "consent");
    assert_eq!(page.evaluate("window.registered"), json!(["cto-panel"]));
    consent(&page, true);
    expect_state(&page, "down");
    let sidecar = serve(&world, &folders, &free);
    expect_state(&page, "fresh");
    let text = page.text("#cto-panel");
    for word in ["Refresh", "Runtime default activation", "Next operator action", "Approval", "Packet", "Codex", "Pi"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!page.has("#cto-panel button, #cto-panel input, #cto-panel form, #cto-panel a"), "nothing to press");
    expect_state(&page, "fresh");

    let token = fs::read_to_string(folders.token_file()).unwrap();
    let summary = "/api/cto/control-summary";
    assert_eq!(ask_raw(&free, summary, &token).0, 200, "the control");
    let (status, alive) = ask_raw(&free, "/health", "");
    assert!(status == 200 && alive.to_lowercase().contains("access-control-allow-origin: *") && !alive.contains("run"));
    for wrong in ["", "short", &token.replace('A', "B"), &format!("{token}A")] {
        assert_eq!(ask_raw(&free, summary, wrong).0, 401, "{wrong:?}");
    }
    for path in ["/", "/runs", "/api/cto/overview", "/login", "/metrics", "/api/openapi.json"] {
        assert_eq!(ask_raw(&free, path, &token).0, 404, "{path} is not the sidecar's");
    }
    let set_mode = |mode| fs::set_permissions(folders.token_file(), fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o644);
    assert_eq!(ask_raw(&free, summary, &token).0, 503, "a token that others can read is none");
    set_mode(0o600);
    assert_eq!(ask_raw(&free, summary, &token).0, 200);
    for (theme, width) in [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)] {
        let look = Look { theme, width, ..Look::at(&host.origin, WebuiHost::cookie()) };
        let own = browser.open(look);
        own.visit("/");
        expect_state(&own, "fresh");
        let barriers: Vec<String> =
            own.find_barriers().into_iter().filter(|barrier| barrier.contains("cto-panel")).collect();
        assert_eq!(barriers, [""; 0], "{theme} {width}");
        assert_eq!(detect(&own), [""; 0], "{theme} {width}");
        own.leave();
    }
    consent(&page, true);
    assert_ne!(fs::read_to_string(folders.token_file()).unwrap(), token, "a new token");
    assert_eq!(ask_raw(&free, summary, &token).0, 401, "the old one is worth nothing at once");
    expect_state(&page, "fresh");
    consent(&page, false);
    assert_eq!(ask_raw(&free, summary, &token).0, 503, "no token file");
    expect_state(&page, "consent");
    consent(&page, true);
    expect_state(&page, "fresh");
    drop(sidecar);
    expect_state(&page, "down");
    let sidecar = serve(&world, &folders, &free);
    expect_state(&page, "fresh");
    let port = host.port();
    drop(host);
    expect_state(&page, "host");
    let host = WebuiHost::start(&folders, port);
    expect_state(&page, "fresh");
    assert_eq!(page.evaluate("document.querySelectorAll('#cto-panel').length"), json!(1));
    drop((sidecar, host));

    let _ = cto(&["hermes", "uninstall"]).expect(0);
    assert_eq!(fs::read_to_string(&manifest).unwrap(), OTHER, "the other extension is as it was, byte for byte");
    assert_eq!(fs::read_dir(folders.extensions.join("bundle")).unwrap().count(), 1, "and nothing of ours is left");
    refused_installs(&world);
}

/// A host with the panel and consent, whose sidecar is at this address.
fn lay_host(world: &World) -> (WebuiFolders, String) {
    let folders =
        WebuiFolders { extensions: world.here().join("ext"), state: world.here().join("state"), manifest: MANIFEST };
    fs::create_dir_all(&folders.extensions).unwrap();
    fs::create_dir_all(&folders.state).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let origin = format!("http://{free}");
    let words = ["hermes", "install", "--dir", "ext", "--manifest", MANIFEST, "--sidecar", &origin];
    let _ = world.cto(words).expect(0);
    (folders, free)
}

/// Everything that the browser said but for answers that are refusals, which it always tells.
fn faults_of(page: &Page<'_>) -> Vec<String> {
    page.faults().into_iter().filter(|fault| !fault.contains("Failed to load resource")).collect()
}

#[test]
fn the_panel_tells_apart_who_refused_it() {
    let Some(browser) = Browser::start("the_panel_tells_apart_who_refused_it") else { return };
    let world = world();
    world.make_home();
    let (folders, free) = lay_host(&world);
    let host = WebuiHost::start(&folders, 0);
    let page = browser.open(Look::at(&host.origin, WebuiHost::cookie()));
    page.visit("/");
    consent(&page, true);
    let said = || page.text("#cto-panel [data-state]");

    // A sidecar that reads the token of another host.
    let other = WebuiFolders { state: world.here().join("other"), ..folders.clone() };
    fs::create_dir_all(other.token_file().parent().unwrap()).unwrap();
    fs::write(other.token_file(), "Z".repeat(43)).unwrap();
    fs::set_permissions(other.token_file(), fs::Permissions::from_mode(0o600)).unwrap();
    let sidecar = serve(&world, &other, &free);
    expect_state(&page, "token");
    assert!(said().contains("Give consent again"), "{}", said());
    drop(sidecar);
    // A sidecar that takes the question and never answers.
    fs::write(folders.patience_file(), "700").unwrap();
    let hanging = std::net::TcpListener::bind(&free).unwrap();
    let asked = std::thread::spawn(move || hanging.accept().map(|(stream, _)| (hanging, stream)).unwrap());
    expect_state(&page, "down");
    assert!(said().contains("cto serve does not answer"), "{}", said());
    drop(asked.join().unwrap());
    fs::remove_file(folders.patience_file()).unwrap();
    let _sidecar = serve(&world, &folders, &free);
    expect_state(&page, "fresh");

    // The host's own login has lapsed: that is no matter of tokens.
    fs::write(folders.lapsed_file(), "").unwrap();
    expect_state(&page, "login");
    assert!(said().contains("Log in there again") && !said().contains("onsent"), "{}", said());
    fs::remove_file(folders.lapsed_file()).unwrap();
    expect_state(&page, "fresh");

    // Nothing new: the sidecar sends no document again, and the panel says so.
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    page.wait("document.querySelector('#cto-panel [data-state]').textContent.startsWith('Unchanged since 2')");
    world.run("fail-no-diff", 1);
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    page.wait("document.querySelector('#cto-panel [data-state]').textContent.startsWith('As of 2')");

    // A page that nobody looks at asks nothing, and asks when it is looked at again.
    let count = "(() => { window.asked = 0; const real = window.fetch; window.fetch = (...a) => { window.asked += 1; return real(...a); }; })()";
    page.evaluate(count);
    for (hidden, asked) in [(true, 0), (false, 1)] {
        page.evaluate(&format!("Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }})"));
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
        assert_eq!(page.evaluate("window.asked"), json!(asked), "hidden: {hidden}");
    }
    expect_state(&page, "fresh");

    // A host that asks nobody for a login passes nothing on, whatever consent it has.
    fs::write(folders.open_file(), "").unwrap();
    expect_state(&page, "consent");
    assert!(said().contains("without a login"), "{}", said());
    fs::remove_file(folders.open_file()).unwrap();
    expect_state(&page, "fresh");

    // More than the host passes on.
    fs::write(folders.answer_file(), "x".repeat(600 << 10)).unwrap();
    expect_state(&page, "down");
    fs::remove_file(folders.answer_file()).unwrap();
    expect_state(&page, "fresh");
    assert_eq!(faults_of(&page), [""; 0]);
    page.evaluate("fetch('http://elsewhere.invalid/').catch(() => 0)");
    testkit::wait_for("the control: the policy of the host is told", || {
        faults_of(&page).iter().any(|fault| fault.contains("Content Security Policy")).then_some(())
    });
}

/// Elements, attributes and characters of the panel that no text may make, and a page that scrolls sideways.
const DETECT: &str = r#"(() => {
  const panel = document.querySelector('#cto-panel'), faults = [];
  if (!panel) return ['the page is another one'];
  const elements = ['SECTION', 'H2', 'P', 'DIV', 'DL', 'DT', 'DD', 'UL', 'LI', 'CODE', 'PRE'];
  const attributes = ['class', 'id', 'aria-label', 'data-state', 'role'];
  for (const e of [panel, ...panel.querySelectorAll('*')]) {
    if (!elements.includes(e.tagName)) faults.push('element: ' + e.outerHTML.slice(0, 60));
    for (const a of e.attributes) if (!attributes.includes(a.name)) faults.push('attribute: ' + a.name);
  }
  const bare = panel.textContent.match(/[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff]|\udb40[\udc00-\udc7f]/);
  if (bare) faults.push('a character that is not printed: ' + bare[0].codePointAt(0).toString(16));
  if (window.hostileRan) faults.push('script ran');
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('scrolls sideways: ' + root.scrollWidth);
  return faults.slice(0, 8);
})()"#;

fn detect(page: &Page<'_>) -> Vec<String> {
    serde_json::from_value(page.evaluate(DETECT)).unwrap()
}

/// The summary with each text exchanged for this one, and one in each list.
fn fill_texts(summary: &mut Value, text: &str) {
    match summary {
        Value::String(old) => text.clone_into(old),
        Value::Null => *summary = json!(text),
        Value::Array(items) if items.is_empty() => items.push(json!(text)),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_texts(item, text)),
        Value::Object(map) => map.values_mut().for_each(|value| fill_texts(value, text)),
        Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The host of the panel has no Trusted Types and lets inline script run: the panel itself takes everything for text.
#[test]
fn every_text_of_the_summary_is_text_in_the_panel() {
    let Some(browser) = Browser::start("every_text_of_the_summary_is_text_in_the_panel") else { return };
    let world = world();
    world.make_home();
    let (folders, _) = lay_host(&world);
    let host = WebuiHost::start(&folders, 0);
    let page = browser.open(Look { width: 390, ..Look::at(&host.origin, WebuiHost::cookie()) });
    page.visit("/");
    consent(&page, true);
    let summary = world.cto(["summary", "--json"]).expect(0).json();
    let mut faults = Vec::new();
    for (number, (_, text)) in payloads().into_iter().enumerate() {
        // The host passes 512 KiB on, and each text stands in many places.
        let text: String = text.chars().take(400).collect();
        let mut hostile = summary.clone();
        fill_texts(&mut hostile, &text);
        for lane in ["codex", "pi"] {
            let lanes = hostile["blocked_lanes"].as_array_mut().unwrap();
            lanes.push(json!({"engine": lane, "rationale": text}));
        }
        fs::write(folders.answer_file(), hostile.to_string()).unwrap();
        page.visit("/");
        page.wait("document.querySelector('#cto-panel [data-state]').dataset.state === 'fresh'");
        // Lines of a packet stay lines.
        let shown: String = show_controls(&text).replace('\u{240a}', "\n").chars().take(60).collect();
        let count = page.text("#cto-panel dl").matches(&shown).count();
        faults.extend((count < 12).then(|| format!("{number}: {shown:?} is shown {count} times")));
        faults.extend(detect(&page).into_iter().chain(faults_of(&page)).map(|fault| format!("{number}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The control: the same texts where they are not taken for text.
    for (number, (_, text)) in payloads().into_iter().enumerate() {
        page.visit("/");
        page.wait("document.querySelector('#cto-panel [data-state]').dataset.state === 'fresh'");
        let text = if number < 57 {
            text
        } else {
            format!("<pre style=\"overflow-wrap:normal;white-space:pre\">{text}</pre>")
        };
        page.evaluate(&format!("document.querySelector('#cto-panel').innerHTML = {}", json!(text)));
        assert!(
            !detect(&page).is_empty(),
            "not found without care: {}",
            show_controls(&text.chars().take(80).collect::<String>())
        );
    }
}

/// Whatever is not ours is left as it is.
fn refused_installs(world: &World) {
    for (name, file, text, code) in [
        ("not a manifest", "bad/manifest.json", "[]", 3),
        ("a script of others", "own/cto_control_panel.js", "alert(1)\n", 3),
    ] {
        let path = world.write(&format!("ext/{file}"), text);
        let manifest = format!("{}/manifest.json", file.split('/').next().unwrap());
        let _ = world.cto(["hermes", "install", "--dir", "ext", "--manifest", &manifest]).expect(code);
        assert_eq!(fs::read_to_string(path).unwrap(), text, "{name}");
    }
    let out = world.cto(["hermes", "install", "--dir", "ext", "--manifest", "../out/manifest.json"]).expect(2);
    assert!(out.stderr.contains("below the folder"), "{}", out.told());
    let _ = world.cto(["hermes", "install", "--dir", "nowhere"]).expect(2);
    let _ = world.cto(["hermes", "install", "--dir", "ext", "--sidecar", "http://models.example:80"]).expect(2);
    let _ = world.cto(["serve", "--sidecar", "0.0.0.0:4171"]).expect(2);
}
