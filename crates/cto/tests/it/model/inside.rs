//! The model as seen from inside the engine's sandbox, while the engine works and afterwards.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::{World, wait_for};

use super::leaks::{authority, python};
use super::scene::{KEY, Scene, ask, asking};

/// Prints its own arguments and environment and what `/proc` shows of every process and of the network; backwards and in
/// base64, so that nothing in it is recognised and redacted.
const DUMP: &str = r#"import base64, glob, os, sys
seen = [repr(sys.argv), repr(dict(os.environ))]
paths = [path for name in ("cmdline", "environ", "status", "mountinfo") for path in glob.glob("/proc/[0-9]*/" + name)]
for path in paths + ["/proc/net/tcp", "/proc/net/unix", "/proc/mounts", "/etc/hosts", "/etc/resolv.conf"]:
    try:
        seen.append(path + open(path, "rb").read(200000).decode("latin-1"))
    except OSError as error:
        seen.append(path + str(error))
print("dump", base64.b64encode("\n".join(seen)[::-1].encode()).decode())"#;

/// Asks once with the token it is given, wherever it is started, and prints the status or that nobody is there.
const KNOCK: &str = r#"import sys, urllib.error, urllib.request
body = b'{"model": "m", "messages": [{"role": "user", "content": "hello"}]}'
request = urllib.request.Request("http://127.0.0.1:4180/v1/chat/completions", body, {"Authorization": "Bearer " + sys.argv[1]})
try:
    print(urllib.request.urlopen(request, timeout=20).status)
except urllib.error.HTTPError as error:
    print(error.code)
except urllib.error.URLError as error:
    print(type(error.reason).__name__)"#;

/// Content of the dump in a text.
fn dumped(text: &str) -> String {
    let dump = text.lines().find_map(|line| line.strip_prefix("dump ")).unwrap();
    String::from_utf8(STANDARD.decode(dump).unwrap()).unwrap().chars().rev().collect()
}

#[test]
fn neither_key_nor_endpoint_is_to_be_seen_inside() {
    let scene = Scene::new();
    scene.settle();
    let place = authority(&scene);
    let port = place.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let values = [KEY.to_owned(), place.clone(), format!(":{port:04X} ")];
    let mut steps = asking(&[ask("m", "hello")]);
    steps.push(python(DUMP, &[]));
    // A work area in memory, and one in the home: of that the kernel tells the path, and of the run nothing but its mark.
    for (more, home) in [(&[][..], false), (&["--keep-workspace"], true)] {
        let (report, bundle) = scene.run(&scene.case(&[], &steps), more, 0);
        let seen = dumped(&fs::read_to_string(bundle.join("backend/stdout.log")).unwrap());
        assert!(seen.contains("OPENAI_API_KEY") && seen.contains("/proc/1/environ"), "{seen}");
        let run_id = report["run_id"].as_str().unwrap().to_owned();
        for value in values.iter().chain([&run_id]) {
            assert!(!seen.contains(value), "{value}: {seen}");
        }
        // The kernel tells it from the root of its file system on.
        let tail = Path::new(scene.world.path().file_name().unwrap()).join("home");
        assert_eq!(seen.contains(tail.to_str().unwrap()), home, "{seen}");
    }
    // The control: outside, the same program sees all three.
    let outside = testkit::program("/usr/bin/python3", Path::new("/"))
        .args(["-c", DUMP, &place])
        .env("UPSTREAM_KEY", KEY)
        .output()
        .unwrap();
    let seen = dumped(&String::from_utf8(outside.stdout).unwrap());
    for value in &values {
        assert!(seen.contains(value), "{value}");
    }
}

/// The engine's own process, recognised by a word in its arguments.
fn process(word: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        let mut arguments = arguments.split(|byte| *byte == 0);
        arguments.next() == Some(b"/usr/bin/python3")
            && arguments.next_back() == Some(b"")
            && arguments.next_back() == Some(word.as_bytes())
    })
}

/// Works until somebody connects.
const STAY: &str = r#"import socket
socket.create_server(("127.0.0.1", 4999)).accept()"#;

const CONNECT: &str = r#"import socket, time
while True:
    try:
        socket.create_connection(("127.0.0.1", 4999))
        break
    except ConnectionRefusedError:
        time.sleep(0.02)"#;

/// A program inside a network that is held open.
fn enter(network: &fs::File, script: &str, argument: &str) -> String {
    let place = format!("--net=/proc/{}/fd/{}", id(), network.as_raw_fd());
    let mut command: Command = testkit::program("nsenter", Path::new("/"));
    let ran = command.arg(place).args(["/usr/bin/python3", "-c", script, argument]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

fn knock(network: &fs::File, token: &str) -> String {
    enter(network, KNOCK, token)
}

fn variable(process: &Path, name: &str) -> Option<String> {
    let environment = fs::read(process.join("environ")).ok()?;
    let prefix = format!("{name}=");
    let value = environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    String::from_utf8(value.to_vec()).ok()
}

/// Somebody who has the token and even the engine's network: good while the engine works, and good for nothing after it.
#[test]
fn the_token_opens_nothing_after_the_run() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("the_token_opens_nothing_after_the_run", "only root can enter the network of an engine");
    }
    let scene = Scene::new();
    scene.settle();
    let word = format!("stay-{}", id());
    let mut steps = asking(&[ask("m", "hello")]);
    steps.push(python(STAY, &[&word]));
    let case = scene.case(&[], &steps);
    let arguments: Vec<OsString> =
        ["run", case.to_str().unwrap(), "--json", "--model", "prov/m"].iter().map(OsString::from).collect();
    let mut command = scene.world.command(&arguments);
    command.envs(scene.environment.iter().map(|(name, value)| (name, value)));
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();

    let engine = wait_for("the engine", || process(&word));
    let token = wait_for("its token", || variable(&engine, "OPENAI_API_KEY"));
    let network = fs::File::open(engine.join("ns/net")).unwrap();
    assert_eq!(knock(&network, &token), "200", "the control: while the engine works, the token is good");
    assert_eq!(knock(&network, "another-token-0123456789"), "401");
    enter(&network, CONNECT, "");

    let ran = World::finish(child).expect(0);
    assert_eq!(ran.json()["model"]["answered"], 2, "the engine's own and the one beside it");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(knock(&network, &token), "ConnectionRefusedError");
    assert_eq!(scene.asked(), 3, "the probe and two questions");
}
