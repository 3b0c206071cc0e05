//! Real object stores for tests: SeaweedFS, moto, and s3rver, which overwrites what it is told to create. Each ends with its test.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::program;
use crate::tools::made;

const START_LIMIT: Duration = Duration::from_secs(120);

/// The bucket that every server has.
pub const BUCKET: &str = "cto";
/// The credential that every server takes.
pub const BUCKET_KEY: (&str, &str) = ("S3RVER", "S3RVER");

/// Makes the bucket with somebody else's client.
const MAKE_BUCKET: &str = "import boto3, sys
from botocore.config import Config
client = boto3.client('s3', endpoint_url=sys.argv[1], aws_access_key_id='S3RVER', aws_secret_access_key='S3RVER',
    region_name='us-east-1', config=Config(s3={'addressing_style': 'path'}))
client.create_bucket(Bucket='cto')
";

/// Ends the server when its input ends, however the test ends.
const WARDEN: &str = "\"$@\" >server.log 2>&1 & child=$!; cat >/dev/null; kill -9 $child";

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectServerKind {
    SeaweedFs,
    Moto,
    /// Overwrites in spite of `If-None-Match`.
    S3rver,
}

/// A running object store.
#[derive(Debug)]
pub struct ObjectServer {
    port: u16,
    #[expect(dead_code, reason = "held open for as long as the server lives")]
    warden: ChildStdin,
    folder: TempDir,
}

impl ObjectServer {
    /// `None` where it is not installed, which is a skip.
    pub fn start(test: &str, kind: ObjectServerKind) -> Option<Self> {
        let python = made(test, "CTO_TEST_OBJECTS")?;
        let (folder, port) = (tempfile::tempdir().expect("a folder"), free_port());
        let words = match kind {
            ObjectServerKind::SeaweedFs => seaweed_words(&python, folder.path(), port),
            ObjectServerKind::Moto => {
                vec![beside(&python, "moto_server"), "-H".into(), "127.0.0.1".into(), "-p".into(), port.to_string()]
            }
            ObjectServerKind::S3rver => s3rver_words(&made(test, "CTO_TEST_S3RVER")?, folder.path(), port),
        };
        let mut command = program("sh", folder.path());
        command.args(["-c", WARDEN, "sh"]).args(words).stdin(Stdio::piped());
        let warden = command.spawn().expect("a shell").stdin.expect("its input");
        let server = Self { port, warden, folder };
        server.await_port();
        if kind != ObjectServerKind::S3rver {
            server.make_bucket(&python);
        }
        Some(server)
    }

    /// Address of the server.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn await_port(&self) {
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let log = || fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default();
            assert!(begun.elapsed() < START_LIMIT, "the object store does not start: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A server that listens may not serve yet.
    fn make_bucket(&self, python: &Path) {
        let begun = Instant::now();
        loop {
            let mut command: Command = program(&python.to_string_lossy(), Path::new("/"));
            let made = command.args(["-c", MAKE_BUCKET, &self.endpoint()]).output().expect("python");
            if made.status.success() {
                return;
            }
            assert!(begun.elapsed() < START_LIMIT, "no bucket: {}", String::from_utf8_lossy(&made.stderr));
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

fn beside(python: &Path, name: &str) -> String {
    python.with_file_name(name).to_string_lossy().into_owned()
}

fn seaweed_words(python: &Path, folder: &Path, port: u16) -> Vec<String> {
    let (key, secret) = BUCKET_KEY;
    let identity = format!(
        r#"{{"identities": [{{"name": "t", "credentials": [{{"accessKey": "{key}", "secretKey": "{secret}"}}], "actions": ["Admin", "Read", "Write", "List"]}}]}}"#
    );
    let config = folder.join("s3.json");
    fs::write(&config, identity).expect("a file");
    let mut words = vec![beside(python, "weed"), "server".to_owned(), format!("-dir={}", folder.display())];
    words.extend(
        ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-volume.max=5", "-master.volumeSizeLimitMB=64"]
            .map(str::to_owned),
    );
    words.push(format!("-s3.config={}", config.display()));
    words.push(format!("-s3.port={port}"));
    // By themselves they would take a port that is higher by ten thousand, which may be none.
    let others = [
        "s3.port.grpc",
        "master.port",
        "master.port.grpc",
        "volume.port",
        "volume.port.grpc",
        "filer.port",
        "filer.port.grpc",
    ];
    words.extend(others.map(|name| format!("-{name}={}", free_port())));
    words
}

fn s3rver_words(script: &Path, folder: &Path, port: u16) -> Vec<String> {
    let words =
        ["node", &script.to_string_lossy(), "-d", &folder.to_string_lossy(), "-a", "127.0.0.1"].map(str::to_owned);
    words
        .into_iter()
        .chain(["-p".to_owned(), port.to_string(), "--configure-bucket".to_owned(), BUCKET.to_owned()])
        .collect()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A folder for an object store that goes with the value.
#[derive(Debug)]
pub struct ObjectFolder(TempDir);

impl ObjectFolder {
    /// Makes an empty folder for objects.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// Folder of the objects.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("objects")
    }

    /// Address of the folder as `evidence.url` has it.
    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }
}
