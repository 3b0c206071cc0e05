//! A server of the real binary, and a client that sends bytes as a test has them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{CtoCommand, World};

/// A running `cto serve`, ended with the test.
pub(super) struct Served {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(super) host: String,
    /// Path of the login link.
    pub(super) login: String,
    /// Path of the reader's link beside an operator's; empty where there is none.
    pub(super) reader_login: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer: status, head and body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).map_err(|error| format!("not JSON ({error}): {}", self.text())).unwrap()
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The value of a hidden field of a form with this action.
    pub(super) fn token(&self, action: &str) -> String {
        let text = self.text();
        let form = text.split("<form").find(|form| form.contains(&format!("action=\"{action}\""))).unwrap();
        form.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    }
}

impl Served {
    pub(super) fn start(world: &World, more: &[&str]) -> Self {
        let words = ["serve", "--listen", "127.0.0.1:0", "--json"].iter().chain(more);
        Self::spawn(world.command(words))
    }

    /// A server that is started by this command.
    pub(super) fn spawn(mut command: CtoCommand) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let host = told["address"].as_str().unwrap().split_once("://").unwrap().1.to_owned();
        let path =
            |key: &str| told[key].as_str().map(|link| format!("/login/{}", link.rsplit_once("/login/").unwrap().1));
        let (login, reader_login) = (path("login").unwrap(), path("login_read_only").unwrap_or_default());
        Self { child, host, login, reader_login }
    }

    /// The most memory that the server ever had, in KiB.
    pub(super) fn peak_kib(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Ends the server as a person does, and gives its exit code.
    pub(super) fn end(mut self) -> Option<i32> {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM)
            .unwrap();
        self.child.wait().unwrap().code()
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are and reads the answer to its end.
    pub(super) fn send(&self, bytes: &[u8]) -> Option<Answer> {
        Self::send_to(&self.host, bytes)
    }

    /// The same at another address.
    pub(super) fn send_to(host: &str, bytes: &[u8]) -> Option<Answer> {
        Self::send_within(host, bytes, Duration::from_secs(30))
    }

    /// The same, with a patience of its own.
    pub(super) fn send_within(host: &str, bytes: &[u8], patience: Duration) -> Option<Answer> {
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(patience)).unwrap();
        // A server that has heard enough closes before everything is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        testkit::search_bytes("served", &answer);
        let at = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&answer[..at]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = answer[at + 4..].to_vec();
        let body = if head.to_lowercase().contains("transfer-encoding: chunked") { unchunk(&body) } else { body };
        Some(Answer { status, head, body })
    }

    /// Asks with a cookie and further headers.
    pub(super) fn ask(&self, method: &str, path: &str, cookie: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text.push_str(&format!("Host: {}\r\n", self.host));
        }
        if !cookie.is_empty() {
            text.push_str(&format!("Cookie: {cookie}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if method != "GET" {
            let kind = "application/x-www-form-urlencoded";
            text.push_str(&format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len()));
        }
        self.send(format!("{text}\r\n{body}").as_bytes()).unwrap()
    }

    pub(super) fn get(&self, path: &str, cookie: &str) -> Answer {
        self.ask("GET", path, cookie, &[], "")
    }

    /// A form as this server's own page sends it.
    pub(super) fn post(&self, path: &str, cookie: &str, body: &str) -> Answer {
        self.ask("POST", path, cookie, &[("Origin", &format!("http://{}", self.host))], body)
    }

    /// Logs in; gives the cookie.
    pub(super) fn log_in(&self) -> String {
        self.log_in_by(&self.login)
    }

    /// Logs in as a reader of a server that admits operators.
    pub(super) fn log_in_as_reader(&self) -> String {
        self.log_in_by(&self.reader_login)
    }

    fn log_in_by(&self, link: &str) -> String {
        let answer = self.post(link, "", "");
        assert_eq!(answer.status, 303, "{}", answer.head);
        answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(at) = body.windows(2).position(|part| part == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..at]).unwrap_or("0").trim(), 16).unwrap_or(0);
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&body[at + 2..(at + 2 + size).min(body.len())]);
        body = body.get(at + 4 + size..).unwrap_or_default();
    }
    whole
}
