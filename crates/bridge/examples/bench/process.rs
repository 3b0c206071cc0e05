//! The processes that are measured.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// LiteLLM reads a lot before it takes connections.
const LONGEST_START: Duration = Duration::from_secs(120);

/// A proxy at work.
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: SocketAddr,
    directory: Option<PathBuf>,
}

/// Binds a port and tells the parent which.
pub(crate) fn listen() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    listener
}

/// The core of the proxy that is measured, and that of everything else.
pub(crate) const PROXY: usize = 0;
pub(crate) const OTHERS: usize = 1;

/// One thread, or this one and all it starts, on one core.
pub(crate) fn pin(thread: Option<rustix::process::Pid>, core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    // A machine with one core has nothing to choose.
    let _ = rustix::thread::sched_setaffinity(thread, &set);
}

#[expect(clippy::disallowed_methods, reason = "the measurement starts its own processes")]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

impl Proxy {
    /// This program again, in another role.
    pub(crate) fn own(role: &str, upstream: &str) -> Self {
        let mut child = command(std::env::current_exe().unwrap())
            .args(["--role", role, upstream])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let proxy = Self { child, address: line.trim().parse().unwrap(), directory: None };
        proxy.pin(if role == "upstream" { OTHERS } else { PROXY });
        proxy
    }

    /// nginx with one worker and unbuffered proxying.
    pub(crate) fn nginx(path: &str, upstream: SocketAddr) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let directory = std::env::temp_dir().join(format!("bridge-bench-{}", std::process::id()));
        fs::create_dir_all(directory.join("logs")).unwrap();
        let text = format!(
            "daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log stderr crit;\n\
             events {{ worker_connections 4096; }}\n\
             http {{ access_log off; keepalive_requests 10000000;\n\
             client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
             upstream model {{ server {upstream}; keepalive 64; keepalive_requests 10000000; }}\n\
             server {{ listen {address}; location / {{ proxy_pass http://model; proxy_http_version 1.1;\n\
             proxy_set_header Connection \"\"; proxy_buffering off; }} }} }}\n"
        );
        let file = directory.join("nginx.conf");
        fs::write(&file, text).unwrap();
        let child = command(path).arg("-p").arg(&directory).arg("-c").arg(&file).spawn().unwrap();
        let mut proxy = Self { child, address, directory: Some(directory) };
        proxy.wait();
        proxy.pin(PROXY);
        proxy
    }

    /// LiteLLM's proxy with one worker, for the one model.
    pub(crate) fn litellm(path: &str, upstream: SocketAddr) -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let directory = std::env::temp_dir().join(format!("bridge-bench-litellm-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let text = format!(
            "model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/m\n      \
             api_base: http://{upstream}/v1\n      api_key: {}\nlitellm_settings:\n  telemetry: false\n",
            crate::KEY
        );
        let file = directory.join("config.yaml");
        fs::write(&file, text).unwrap();
        let port = address.port().to_string();
        let child = command(path)
            .args(["--host", "127.0.0.1", "--port", &port, "--num_workers", "1", "--telemetry", "False", "--config"])
            .arg(&file)
            .current_dir(&directory)
            .env("LITELLM_LOG", "ERROR")
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_MASTER_KEY", crate::TOKEN)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut proxy = Self { child, address, directory: Some(directory) };
        proxy.wait();
        proxy.pin(PROXY);
        proxy
    }

    /// Until it takes connections.
    fn wait(&mut self) {
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert!(self.child.try_wait().unwrap().is_none(), "the proxy ended before it took a connection");
            assert!(began.elapsed() < LONGEST_START, "the proxy takes no connections");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// All of its threads on one core.
    fn pin(&self, core: usize) {
        for task in self.tasks() {
            let id = task.file_name().and_then(|name| name.to_str()?.parse().ok());
            pin(id.and_then(rustix::process::Pid::from_raw), core);
        }
    }

    fn tasks(&self) -> Vec<PathBuf> {
        let directory = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        directory.map(|entry| entry.unwrap().path()).collect()
    }

    /// CPU time of all its threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let nanos = self.tasks().into_iter().filter_map(|task| {
            let text = fs::read_to_string(task.join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }

    pub(crate) fn memory_kb(&self) -> i64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}
