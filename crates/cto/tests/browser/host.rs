//! A stand-in for hermes-webui that keeps its rules towards an extension and its sidecar: a login, consent, a token file, a proxy that
//! buffers, bounds and strips, and its content security policy.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
     connect-src 'self' http://127.0.0.1:* http://localhost:*; frame-src 'self'; frame-ancestors 'none'";
const SESSION: &str = "webui=logged-in";
/// Largest answer of a sidecar that is passed on.
const LARGEST: usize = 512 << 10;
const ID: &str = "cto-panel";

/// A host that runs until it is dropped.
pub(crate) struct WebuiHost {
    pub(crate) origin: String,
    port: u16,
    stop: Arc<AtomicBool>,
}

/// Folders that a host keeps between two starts.
#[derive(Debug, Clone)]
pub(crate) struct WebuiFolders {
    pub(crate) extensions: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) manifest: &'static str,
}

impl WebuiFolders {
    pub(crate) fn token_file(&self) -> PathBuf {
        self.state.join(format!("sidecar-auth/{ID}.token"))
    }

    fn consent_file(&self) -> PathBuf {
        self.state.join("consent")
    }

    /// While this file is there, the login at the host has lapsed.
    pub(crate) fn lapsed_file(&self) -> PathBuf {
        self.state.join("lapsed")
    }

    /// While this file is there, the host asks nobody for a login, and so passes nothing on to a sidecar with a token.
    pub(crate) fn open_file(&self) -> PathBuf {
        self.state.join("open")
    }

    /// Milliseconds that the host waits for a sidecar, where a test has no time for the ten seconds of the real one.
    pub(crate) fn patience_file(&self) -> PathBuf {
        self.state.join("patience")
    }

    /// An answer that the host passes on in the place of the sidecar's.
    pub(crate) fn answer_file(&self) -> PathBuf {
        self.state.join("answer")
    }

    fn entry(&self) -> Option<Value> {
        let text = fs::read(self.extensions.join(self.manifest)).ok().filter(|text| text.len() <= 64 << 10)?;
        let manifest: Value = serde_json::from_slice(&text).ok()?;
        manifest["extensions"].as_array()?.iter().find(|entry| entry["id"] == ID).cloned()
    }
}

/// A request: method, path, headers and body.
struct Asked {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Asked {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).ok()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, size)| size.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        lines.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }

    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }
}

impl Drop for WebuiHost {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl WebuiHost {
    /// Starts on a port, 0 for any.
    pub(crate) fn start(folders: &WebuiFolders, port: u16) -> Self {
        let listener = testkit::wait_for("the host's port", || TcpListener::bind(("127.0.0.1", port)).ok());
        let port = listener.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let (folders, ended, origin) = (folders.clone(), Arc::clone(&stop), format!("http://127.0.0.1:{port}"));
        let own = origin.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (folders, own) = (folders.clone(), own.clone());
                std::thread::spawn(move || answer(&stream, &folders, &own));
            }
        });
        Self { origin, port, stop }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn cookie() -> &'static str {
        SESSION
    }
}

fn reply(mut stream: &TcpStream, status: u16, kind: &str, more: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}\r\nConnection: close\r\n{more}\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

fn answer(stream: &TcpStream, folders: &WebuiFolders, origin: &str) {
    let Some(asked) = Asked::read(stream) else { return };
    let plain = |status: u16, text: &str| reply(stream, status, "text/plain", "", text.as_bytes());
    if !asked.header("cookie").contains(SESSION) && !folders.open_file().exists() {
        return plain(401, "log in");
    }
    if folders.lapsed_file().exists() && asked.path.starts_with("/api/") {
        return plain(401, "log in");
    }
    let prefix = format!("/api/extensions/{ID}/sidecar");
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/") => reply(stream, 200, "text/html", "", index(folders).as_bytes()),
        ("GET", "/static/ext.js") => {
            let script = "window.hermesExt = { register: (id) => { (window.registered ||= []).push(id); return { id, settings: {}, storage: {}, events: {} }; } };";
            reply(stream, 200, "text/javascript", "", script.as_bytes());
        }
        ("GET", path) if path.starts_with("/extensions/") => serve_asset(stream, folders, path),
        ("POST", "/api/extensions/sidecar-proxy-consent") => give_consent(stream, folders, &asked),
        ("GET", path) if path.starts_with(&prefix) => proxy(stream, folders, &asked, &path[prefix.len()..], origin),
        _ => plain(404, "nothing"),
    }
}

/// The page with the extension's files, which load deferred.
fn index(folders: &WebuiFolders) -> String {
    let entry = folders.entry().unwrap_or(json!({}));
    let base = Path::new(folders.manifest).parent().unwrap().display().to_string();
    let list = |key: &str| entry[key].as_array().cloned().unwrap_or_default();
    let scripts = list("scripts")
        .into_iter()
        .map(|file| format!("<script defer src=\"/extensions/{base}/{}\"></script>", file.as_str().unwrap()));
    let styles = list("stylesheets")
        .into_iter()
        .map(|file| format!("<link rel=\"stylesheet\" href=\"/extensions/{base}/{}\">", file.as_str().unwrap()));
    let head: String = styles.chain(["<script src=\"/static/ext.js\"></script>".to_owned()]).chain(scripts).collect();
    format!("<!doctype html><html lang=en><title>webui</title>{head}<main><h1>webui</h1></main>")
}

fn serve_asset(stream: &TcpStream, folders: &WebuiFolders, path: &str) {
    let below = path.trim_start_matches("/extensions/");
    let kind = if below.ends_with(".css") { "text/css" } else { "text/javascript" };
    match fs::read(folders.extensions.join(below)).ok().filter(|_| !below.contains("..")) {
        Some(bytes) => reply(stream, 200, kind, "", &bytes),
        None => reply(stream, 404, "text/plain", "", b"no such asset"),
    }
}

/// Consent makes a new token; taking it back removes it.
fn give_consent(stream: &TcpStream, folders: &WebuiFolders, asked: &Asked) {
    let wish: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    let token = folders.token_file();
    fs::create_dir_all(token.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&token);
    let _ = fs::remove_file(folders.consent_file());
    if wish["id"] == ID && wish["approved"] == true {
        fs::write(folders.consent_file(), "yes").unwrap();
        let count = fs::read_to_string(folders.state.join("count")).map_or(0, |text| text.len());
        fs::write(folders.state.join("count"), "x".repeat(count + 1)).unwrap();
        let text = format!("{:A<43}", format!("token-{count}-"));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&token).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    reply(stream, 200, "application/json", "", b"{}");
}

/// Passes a question on to the sidecar: whole answers only, bounded, and without headers that are nobody's business there.
fn proxy(stream: &TcpStream, folders: &WebuiFolders, asked: &Asked, path: &str, origin: &str) {
    let plain = |status: u16, text: &str| reply(stream, status, "text/plain", "", text.as_bytes());
    let is_same_origin = asked.header("sec-fetch-site") == "same-origin" || asked.header("origin") == origin;
    if folders.open_file().exists() {
        return plain(403, "a sidecar with a token needs a host with a login");
    }
    let (consent, token) = (folders.consent_file().exists(), fs::read_to_string(folders.token_file()));
    let (true, true, Ok(token)) = (is_same_origin, consent, token) else { return plain(403, "no consent") };
    if let Ok(answer) = fs::read(folders.answer_file()) {
        return match answer.len() <= LARGEST {
            true => reply(stream, 200, "application/json", "", &answer),
            false => plain(502, "too large"),
        };
    }
    let sidecar = folders.entry().and_then(|entry| Some(entry["sidecar"]["origin"].as_str()?.to_owned()));
    let Some(host) = sidecar.as_deref().and_then(|origin| origin.strip_prefix("http://")) else {
        return plain(404, "none");
    };
    let Ok(mut upstream) = TcpStream::connect(host) else { return plain(502, "the sidecar does not answer") };
    let patience = fs::read_to_string(folders.patience_file()).ok().and_then(|text| text.parse().ok());
    let _ = upstream.set_read_timeout(Some(Duration::from_millis(patience.unwrap_or(10_000))));
    let is_passed = |name: &str| {
        !matches!(name, "host" | "connection" | "cookie" | "authorization" | "origin" | "referer")
            && !name.starts_with("x-csrf")
            && !name.starts_with("x-hermes-")
    };
    let passed = asked.headers.iter().filter(|(name, _)| is_passed(name));
    let passed: String = passed.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Hermes-Sidecar-Token: {token}\r\n{passed}\r\n"
    );
    let mut whole = Vec::new();
    if upstream.write_all(head.as_bytes()).is_err() || upstream.read_to_end(&mut whole).is_err() {
        return plain(504, "the sidecar is too slow");
    }
    let Some(at) = whole.windows(4).position(|part| part == b"\r\n\r\n") else { return plain(502, "no answer") };
    let (head, body) = (String::from_utf8_lossy(&whole[..at]).into_owned(), &whole[at + 4..]);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(502);
    if body.len() > LARGEST {
        return plain(502, "too large");
    }
    let tag = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("etag: "))
        .map_or_else(String::new, |tag| format!("{tag}\r\n"));
    reply(stream, status, "application/json", &tag, body);
}
