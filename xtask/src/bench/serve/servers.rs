//! Servers to measure, ended with their values.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::client::connect_from;
use crate::ChoreResult;
use crate::bench::Bench;
use crate::bench::world::World;
use crate::process::{cache, command_output, program};

/// A server that listens on loopback.
pub(in crate::bench) struct BenchServer {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(in crate::bench) host: String,
    /// Cookie of a session that can read; empty for servers without any.
    pub(in crate::bench) cookie: String,
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl BenchServer {
    /// Process id of the server.
    pub(in crate::bench) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one request and reads the whole answer.
    pub(in crate::bench) fn send_request(&self, method: &str, path: &str, more: &str) -> ChoreResult<String> {
        let mut stream = connect_from(&self.host, 9800)?;
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{more}\r\n", self.host);
        stream.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Id of the newest run.
    pub(in crate::bench) fn newest_run(&self) -> ChoreResult<String> {
        let answer = self.send_request("GET", "/api/cto/runs", &format!("Cookie: {}\r\n", self.cookie))?;
        let id = answer.split("\"run_id\":\"").nth(1).and_then(|rest| rest.split('"').next());
        id.map(str::to_owned).ok_or_else(|| "the server lists no run".to_owned())
    }
}

/// Starts a console on a free port, in a workspace where one is given, and waits until it listens.
pub(in crate::bench) fn start_console(
    bench: &Bench,
    home: &Path,
    workspace: Option<&Path>,
) -> ChoreResult<BenchServer> {
    let mut command = program(&bench.cto, ["--home".as_ref(), home.as_os_str()]);
    if let Some(workspace) = workspace {
        command.arg("--workspace").arg(workspace);
    }
    command.args(["serve", "--listen", "127.0.0.1:0", "--read-only", "--json"]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start the console: {error}"))?;
    let mut line = String::new();
    let stdout = child.stdout.take().ok_or("the console says nothing")?;
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    let told: Value = serde_json::from_str(&line).map_err(|_| format!("the console said {line:?}"))?;
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    let host = text("address").replace("http://", "");
    let login = text("login").replace(&text("address"), "");
    let mut server = BenchServer { child, host, cookie: String::new() };
    let more = format!("Origin: http://{}\r\nContent-Length: 0\r\n", server.host);
    let answer = server.send_request("POST", &login, &more)?;
    let cookie = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"));
    let cookie = cookie.and_then(|line| line.split_once(": ")?.1.split(';').next()).ok_or("nobody could log in")?;
    server.cookie = cookie.to_owned();
    Ok(server)
}

/// The least that axum can do, on one thread as the console.
pub(super) fn start_hello(bench: &Bench) -> ChoreResult<BenchServer> {
    let mut command = program(bench.example("hermes", "hello")?, std::iter::empty::<&str>());
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start hello: {error}"))?;
    let mut line = String::new();
    let stdout = child.stdout.take().ok_or("hello says nothing")?;
    BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
    Ok(BenchServer { child, host: line.trim().to_owned(), cookie: String::new() })
}

/// Debian's nginx: the installed one, or else the package laid out among the caches; none where neither can be had.
fn find_nginx() -> Option<PathBuf> {
    let folder = cache().ok()?.join("nginx");
    let places = [PathBuf::from("/usr/sbin/nginx"), folder.join("usr/sbin/nginx")];
    let is_there = |places: &[PathBuf]| places.iter().find(|place| place.is_file()).cloned();
    is_there(&places).or_else(|| {
        std::fs::create_dir_all(&folder).ok()?;
        command_output(program("apt-get", ["download", "--quiet", "nginx"]).current_dir(&folder)).ok()?;
        command_output(program("sh", ["-c", "dpkg -x nginx_*.deb ."]).current_dir(&folder)).ok()?;
        is_there(&places)
    })
}

/// nginx with one file of a size.
pub(super) fn start_nginx(world: &World, size: usize) -> ChoreResult<Option<BenchServer>> {
    let folder = world.path_of("nginx");
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    std::fs::write(folder.join("page.html"), vec![b'x'; size]).map_err(fail)?;
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(fail)?.port();
    let place = folder.display();
    let text = format!(
        "daemon off; master_process off; pid {place}/pid; error_log {place}/error; worker_processes 1;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; sendfile on; keepalive_requests 1000000; types {{ text/html html; }}\n\
         client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;\n\
         uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;\n\
         server {{ listen 127.0.0.1:{port}; root {place}; }} }}\n"
    );
    std::fs::write(folder.join("nginx.conf"), text).map_err(fail)?;
    let Some(nginx) = find_nginx() else { return Ok(None) };
    let mut command = program(nginx, ["-c".as_ref(), folder.join("nginx.conf").as_os_str()]);
    let child = command.stderr(Stdio::null()).spawn().map_err(|error| format!("cannot start nginx: {error}"))?;
    let server = BenchServer { child, host: format!("127.0.0.1:{port}"), cookie: String::new() };
    for _ in 0..100 {
        if connect_from(&server.host, 9700).is_ok() {
            return Ok(Some(server));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Err("nginx does not listen".to_owned())
}
