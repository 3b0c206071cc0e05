//! The panel in another host: installed beside another extension, asked for through that host's proxy, and right about every way in which
//! there is no answer.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::json;
use testkit::World;

use crate::host::{WebuiFolders, WebuiHost};
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
