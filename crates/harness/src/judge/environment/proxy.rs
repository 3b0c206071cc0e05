//! The way out that setup alone has: a proxy on the one listener inside its sandbox, to the
//! hosts the contract names, with a record of every host that was asked for.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope};
use std::time::Duration;

use contract::sandbox::NetworkUse;

/// Port of the proxy inside the sandbox.
pub(super) const PORT: u16 = 3128;

const LARGEST_HEAD: usize = 16 << 10;
const MOST_CONNECTIONS: usize = 128;
/// Number of hosts that the record lists separately; the rest are counted together.
const MOST_HOSTS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(30);
const IDLE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// The variables by which programs find it.
pub(super) fn proxy_variables() -> Vec<(String, String)> {
    let url = format!("http://127.0.0.1:{PORT}");
    let names = [
        "http_proxy",
        "https_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "npm_config_proxy",
        "npm_config_https_proxy",
    ];
    names.iter().map(|name| ((*name).to_owned(), url.clone())).collect()
}

/// Serves until it is stopped, and remembers.
pub(super) struct SetupProxy<'a> {
    allowed: &'a [String],
    used: Mutex<BTreeMap<(String, u16), NetworkUse>>,
    open: AtomicUsize,
    stop: AtomicBool,
}

/// Destination of a client's request.
struct Wanted {
    host: String,
    port: u16,
    /// Bytes to send first: nothing for a tunnel, the changed head for a plain request.
    first: Vec<u8>,
    tunnel: bool,
}

impl<'a> SetupProxy<'a> {
    /// Proxy to the hosts that the contract names.
    pub(super) fn new(allowed: &'a [String]) -> Self {
        Self { allowed, used: Mutex::default(), open: AtomicUsize::new(0), stop: AtomicBool::new(false) }
    }

    /// Tells the proxy's threads to end.
    pub(super) fn stop_threads(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Record of every host that was asked for, allowed or not.
    pub(super) fn into_record(self) -> Vec<NetworkUse> {
        self.used.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// Accepts until it is stopped; every connection ends with the scope.
    pub(super) fn serve_listener<'scope>(&'scope self, listener: &TcpListener, scope: &'scope Scope<'scope, '_>) {
        if listener.set_nonblocking(true).is_err() {
            return;
        }
        while !self.stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((client, _)) if self.open.load(Ordering::Relaxed) < MOST_CONNECTIONS => {
                    self.open.fetch_add(1, Ordering::Relaxed);
                    scope.spawn(move || {
                        let _ = self.connection(client);
                        self.open.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                Ok(_) | Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn connection(&self, mut client: TcpStream) -> io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_read_timeout(Some(PATIENCE))?;
        client.set_write_timeout(Some(PATIENCE))?;
        let (head, rest) = read_head(&mut client)?;
        let Some(wanted) = parse(&head) else { return refuse(&mut client, 400, "this is no request to a proxy") };
        if !self.allows(&wanted) {
            self.note(&wanted, |used| used.refused += 1);
            return refuse(&mut client, 403, "environment.setup_network does not name this host");
        }
        let upstream = match connect(&wanted) {
            Ok(upstream) => upstream,
            Err(error) => {
                self.note(&wanted, |used| used.failed += 1);
                return refuse(&mut client, 502, &error.to_string());
            }
        };
        self.note(&wanted, |used| used.connections += 1);
        if wanted.tunnel {
            client.write_all(b"HTTP/1.1 200 connected\r\n\r\n")?;
        }
        let (sent, received) = self.carry(&client, &upstream, &[&wanted.first[..], &rest].concat())?;
        self.note(&wanted, |used| {
            used.bytes_sent += sent;
            used.bytes_received += received;
        });
        Ok(())
    }

    /// Both ways until both have ended.
    fn carry(&self, client: &TcpStream, upstream: &TcpStream, first: &[u8]) -> io::Result<(u64, u64)> {
        let mut to = upstream;
        to.write_all(first)?;
        let (sent, received) = thread::scope(|scope| {
            let up = scope.spawn(|| self.copy(client, upstream));
            let down = self.copy(upstream, client);
            (up.join().unwrap_or(0), down)
        });
        Ok((sent + first.len() as u64, received))
    }

    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream) -> u64 {
        let mut total = 0;
        let mut buffer = vec![0; 32 << 10];
        let _ = from.set_read_timeout(Some(Duration::from_millis(200)));
        let mut idle = Duration::ZERO;
        while !self.stop.load(Ordering::Relaxed) && idle < IDLE {
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    idle = Duration::ZERO;
                    total += count as u64;
                    if to.write_all(buffer.get(..count).unwrap_or_default()).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    idle += Duration::from_millis(200);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
        total
    }

    fn allows(&self, wanted: &Wanted) -> bool {
        self.allowed.iter().any(|entry| match entry.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => {
                host.eq_ignore_ascii_case(&wanted.host) && port.parse() == Ok(wanted.port)
            }
            _ => entry.eq_ignore_ascii_case(&wanted.host) && matches!(wanted.port, 80 | 443),
        })
    }

    fn note(&self, wanted: &Wanted, change: impl FnOnce(&mut NetworkUse)) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (wanted.host.clone(), wanted.port);
        let key = if used.len() < MOST_HOSTS || used.contains_key(&key) { key } else { ("other hosts".to_owned(), 0) };
        let (host, port) = key.clone();
        change(used.entry(key).or_insert_with(|| NetworkUse { host, port, ..NetworkUse::default() }));
    }
}

/// The head of a request and what came with it.
fn read_head(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((bytes, rest));
        }
        if bytes.len() > LARGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
}

fn parse(head: &[u8]) -> Option<Wanted> {
    let text = std::str::from_utf8(head).ok()?;
    let (line, headers) = text.split_once("\r\n")?;
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return None };
    if !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = host_and_port(target, None)?;
        return Some(Wanted { host, port, first: Vec::new(), tunnel: true });
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let (host, port) = host_and_port(authority, Some(80))?;
    let kept = headers.split("\r\n").filter(|header| {
        let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !name.starts_with("proxy-") && name != "connection"
    });
    let kept: String = kept.filter(|header| !header.is_empty()).map(|header| format!("{header}\r\n")).collect();
    let first = format!("{method} {path} {version}\r\n{kept}Connection: close\r\n\r\n");
    Some(Wanted { host, port, first: first.into_bytes(), tunnel: false })
}

fn host_and_port(authority: &str, default: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, default?),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!host.is_empty() && host.len() < 256 && host.bytes().all(plain)).then(|| (host.to_ascii_lowercase(), port))
}

fn connect(wanted: &Wanted) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (wanted.host.as_str(), wanted.port).to_socket_addrs()?.take(8) {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn refuse(client: &mut TcpStream, code: u16, why: &str) -> io::Result<()> {
    let body = format!("cto: {why}\n");
    write!(client, "HTTP/1.1 {code} refused\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_what_they_ask_for() {
        let cases = [
            ("CONNECT Example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", Some(("example.org", 443, ""))),
            ("CONNECT example.org HTTP/1.1\r\n\r\n", None),
            (
                "GET http://a.b/c?d HTTP/1.1\r\nHost: a.b\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n",
                Some(("a.b", 80, "GET /c?d HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n")),
            ),
            (
                "GET http://a.b:81 HTTP/1.1\r\nHost: a.b\r\n\r\n",
                Some(("a.b", 81, "GET / HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n")),
            ),
            ("GET http://a.b/ HTTP/1.0\r\n\r\n", Some(("a.b", 80, "GET / HTTP/1.0\r\nConnection: close\r\n\r\n"))),
            ("GET /c HTTP/1.1\r\n\r\n", None),
            ("GET http://a b/ HTTP/1.1\r\n\r\n", None),
            ("GET http://user@host/ HTTP/1.1\r\n\r\n", None),
            ("GET http://a.b/ HTTP/2\r\n\r\n", None),
            ("\u{0}\r\n\r\n", None),
        ];
        for (head, expected) in cases {
            let found = parse(head.as_bytes())
                .map(|wanted| (wanted.host, wanted.port, String::from_utf8(wanted.first).unwrap()));
            let expected = expected.map(|(host, port, first)| (host.to_owned(), port, first.to_owned()));
            assert_eq!(found, expected, "{head}");
        }
    }

    #[test]
    fn only_named_hosts_are_allowed() {
        let allowed = ["Registry.example".to_owned(), "127.0.0.1:8080".to_owned()];
        let proxy = SetupProxy::new(&allowed);
        for (host, port, expected) in [
            ("registry.example", 443, true),
            ("registry.example", 80, true),
            ("registry.example", 22, false),
            ("evil.registry.example", 443, false),
            ("127.0.0.1", 8080, true),
            ("127.0.0.1", 8081, false),
        ] {
            let wanted = Wanted { host: host.to_owned(), port, first: Vec::new(), tunnel: true };
            assert_eq!(proxy.allows(&wanted), expected, "{host}:{port}");
        }
    }
}
