//! A real PostgreSQL server for the tests of one process: started once, ended with the process, one database a test.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::process::program;
use crate::who::is_root;

/// Debian keeps the programs of a server out of the search path.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user that Debian's package makes: a server refuses to run as root.
const SERVER_USER: &str = "postgres";
/// The name of the database's superuser.
pub const SUPERUSER: &str = "postgres";
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    made: AtomicU32,
    settings: Vec<String>,
    #[expect(dead_code, reason = "held open for as long as the process lives")]
    warden: ChildStdin,
}

/// The data of a standby that lags.
#[derive(Debug)]
pub struct StandbyCopy(PathBuf);

impl PostgresServer {
    /// The server of this process; `None` where PostgreSQL is not installed, which is a skip.
    pub fn shared(test: &str) -> Option<&'static Self> {
        static SHARED: OnceLock<Option<PostgresServer>> = OnceLock::new();
        let server = SHARED.get_or_init(|| find_programs().map(|programs| Self::start(programs, &[])));
        if server.is_none() {
            crate::skip(
                test,
                "no PostgreSQL server; run through cargo xtask test, or install the Debian package postgresql",
            );
        }
        server.as_ref()
    }

    /// Another server of this process, with settings of its own; `prepare` may put files into its folder, which belongs to the server's user.
    pub fn start_with(test: &str, settings: &[String], prepare: impl FnOnce(&Path)) -> Option<Self> {
        Self::shared(test)?;
        let programs = find_programs()?;
        let folder = server_folder();
        prepare(&folder);
        own(&folder);
        Some(Self::start_in(programs, folder, settings))
    }

    fn start(programs: PathBuf, settings: &[String]) -> Self {
        let folder = server_folder();
        own(&folder);
        Self::start_in(programs, folder, settings)
    }

    fn start_in(programs: PathBuf, folder: PathBuf, settings: &[String]) -> Self {
        let port = free_port();
        let warden = start_warden(&programs, &folder);
        let server = Self { programs, folder, port, made: AtomicU32::new(0), settings: settings.to_vec(), warden };
        let data = server.data();
        let mut making = server.as_server("initdb");
        making.args(["-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--no-sync", "-D"]).arg(&data);
        let made = making.output().expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.launch();
        server
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn launch(&self) {
        let log = fs::File::create(self.folder.join("log")).expect("a log");
        let mut command = self.as_server("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder).args(["-p", &self.port.to_string()]);
        for setting in ["listen_addresses=127.0.0.1", "fsync=off", "full_page_writes=off", "max_connections=300"] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        let mut server = command.spawn().expect("the server");
        std::thread::spawn(move || server.wait());
        let begun = Instant::now();
        while !self.psql("postgres", "SELECT 1").status().is_ok_and(|status| status.success()) {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < START_LIMIT, "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A program of the server, as the user that may run it.
    fn as_server(&self, name: &str) -> Command {
        as_server(&self.programs.join(name), &self.folder)
    }

    /// Stops the server as a crash would and starts it again.
    pub fn crash_and_restart(&self) {
        self.crash();
        self.start_again();
    }

    /// Stops the server as a crash would.
    pub fn crash(&self) {
        self.control(&["-m", "immediate", "-w", "stop"]);
    }

    /// Starts a server that was stopped.
    pub fn start_again(&self) {
        self.launch();
    }

    /// Makes a standby of the server and promotes it: from then on it writes on another timeline.
    pub fn promote(&self) {
        self.control(&["-m", "fast", "-w", "stop"]);
        fs::write(self.data().join("standby.signal"), "").expect("a signal");
        own(&self.data());
        self.launch();
        self.control(&["-w", "promote"]);
    }

    /// Copies the running server as a standby has it that hears nothing from then on.
    pub fn copy_standby(&self) -> StandbyCopy {
        let folder = self.folder.join("standby");
        let port = self.port.to_string();
        let mut copying = self.as_server("pg_basebackup");
        copying
            .args(["-h", "127.0.0.1", "-p", &port, "-U", SUPERUSER, "-X", "stream", "-c", "fast", "-D"])
            .arg(&folder);
        let copied = copying.output().expect("pg_basebackup");
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        StandbyCopy(folder)
    }

    /// Kills the server, and promotes the standby in its place: what was committed since the copy is lost.
    pub fn fail_over(&self, standby: StandbyCopy) {
        self.control(&["-m", "immediate", "-w", "stop"]);
        fs::rename(self.data(), self.folder.join("lost")).expect("the old data");
        fs::rename(standby.0, self.data()).expect("the new data");
        fs::write(self.data().join("standby.signal"), "").expect("a signal");
        own(&self.data());
        self.launch();
        self.control(&["-w", "promote"]);
    }

    fn control(&self, words: &[&str]) {
        let done = self.as_server("pg_ctl").arg("-D").arg(self.data()).args(words).output().expect("pg_ctl");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Lets a role in by its password alone.
    pub fn demand_passwords(&self, role: &str) {
        let path = self.data().join("pg_hba.conf");
        let rest = fs::read_to_string(&path).expect("the rules");
        fs::write(&path, format!("host all {role} 127.0.0.1/32 scram-sha-256\n{rest}")).expect("the rules");
        self.run_sql("postgres", "SELECT pg_reload_conf()").expect("a reload");
    }

    /// The server's first process, whose children are all others.
    pub fn first_process(&self) -> Option<u32> {
        fs::read_to_string(self.data().join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
    }

    /// Port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new, empty database; the name of it.
    pub fn make_database(&self) -> String {
        let name = format!("test_{}", self.made.fetch_add(1, Ordering::Relaxed));
        self.run_sql("postgres", &format!("CREATE DATABASE {name}")).expect("a database");
        name
    }

    /// The address of a database for a role, as the configuration takes it.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs SQL as the superuser, who knows nothing of our rules; gives what was printed, or what was refused.
    pub fn run_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        self.run_sql_as(SUPERUSER, database, sql)
    }

    /// The same as another role.
    pub fn run_sql_as(&self, role: &str, database: &str, sql: &str) -> Result<String, String> {
        let ran = self.psql(database, sql).args(["-U", role]).output().expect("psql");
        match ran.status.success() {
            true => Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
        }
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = program(&self.programs.join("psql").to_string_lossy(), Path::new("/"));
        let port = self.port.to_string();
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", &port, "-d", database]);
        command.args(["-U", SUPERUSER, "-c", sql]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn as_server(path: &Path, folder: &Path) -> Command {
    let mut command = program("setpriv", folder);
    if is_root() {
        command.args(["--reuid", SERVER_USER, "--regid", SERVER_USER, "--init-groups"]);
    }
    command.arg("--").arg(path);
    command
}

/// A shell that waits for this process to end, however it ends, and then ends the server and removes its folder.
fn start_warden(programs: &Path, folder: &Path) -> ChildStdin {
    let mut command = as_server(Path::new("/bin/sh"), Path::new("/"));
    let script = "cat >/dev/null; \"$0/pg_ctl\" -D \"$1/data\" -m immediate stop >/dev/null 2>&1; rm -rf \"$1\"";
    command
        .args(["-c", script])
        .arg(programs)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("a shell").stdin.expect("its input")
}

/// The folder with the newest server's programs.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    versions.filter(|folder| folder.join("initdb").exists()).max()
}

/// A folder that nobody removes while the server still runs: the two end together.
fn server_folder() -> PathBuf {
    tempfile::Builder::new().prefix("cto-test-server-").tempdir().expect("a folder").keep()
}

fn own(folder: &Path) {
    if is_root() {
        let owner = program("chown", folder).arg("-R").arg(SERVER_USER).arg(folder).status().expect("chown");
        assert!(owner.success());
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}
