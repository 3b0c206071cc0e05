//! Rates, open files and viewers that stall: strangers use up their own share, and never that of a session, of the server's files, or of a
//! run.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use testkit::World;

use super::Served;
use super::live::{follow, lay_slow_case, live_run};
use super::pressed::count_sockets;
use crate::world;

/// Sessions of refused approvals in the ledger.
fn refused_sessions(world: &World) -> Vec<String> {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut rows = ledger.prepare("SELECT body FROM entries WHERE kind = 'operator.acted' ORDER BY seq").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let acts = bodies.map(|body| serde_json::from_str::<Value>(&body.unwrap()).unwrap());
    let refused = acts.filter(|act| act["act"] == "approve" && act["allowed"] == false);
    refused.map(|act| act["session"].as_str().unwrap().to_owned()).collect()
}

/// Strangers at the address of a session fill the rate of the address; what the session is refused is recorded all the same.
#[test]
fn refusals_of_a_session_are_recorded_however_many_strangers_ask() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let reader = served.log_in_as_reader();
    let place = "/approvals/req-1/approve";
    for number in 0..120 {
        let answer = served.ask("POST", place, "", &[("Origin", "http://evil.example")], "token=x");
        assert_eq!(answer.status, 403, "{number}");
    }
    let strangers = refused_sessions(&world);
    assert!((50..90).contains(&strangers.len()), "the control: the rate of strangers is used up: {}", strangers.len());
    assert!(strangers.iter().all(|session| session == "none"));
    assert_eq!(served.post(place, &reader, "token=x").status, 403);
    let last = refused_sessions(&world).pop().unwrap();
    assert_ne!(last, "none", "a session's refusal has its entry");
    for _ in 0..120 {
        assert_eq!(served.post(place, &reader, "token=x").status, 403);
    }
    let own = refused_sessions(&world).into_iter().filter(|session| *session == last).count();
    assert!((50..90).contains(&own), "and a rate of its own: {own}");
}

/// A connection from an address of its own.
fn connect_from(host: &str, from: [u8; 4], buffer: Option<usize>) -> TcpStream {
    let to: SocketAddr = host.parse().unwrap();
    let fd: OwnedFd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    if let Some(bytes) = buffer {
        sockopt::set_socket_recv_buffer_size(&fd, bytes).unwrap();
    }
    bind(&fd, &SocketAddrV4::new(from.into(), 0)).unwrap();
    connect(&fd, &to).unwrap();
    TcpStream::from(fd)
}

/// Statuses 200 and 429 among the answers to so many questions in a row on one connection.
fn ask_many(host: &str, from: [u8; 4], count: usize) -> (usize, usize) {
    let mut stream = connect_from(host, from, None);
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut taking = stream.try_clone().unwrap();
    let taken = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = taking.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (text.matches("HTTP/1.1 200").count(), text.matches("HTTP/1.1 429").count())
    });
    let question = |end: &str| format!("GET /health HTTP/1.1\r\nHost: {host}\r\n{end}\r\n");
    let text = question("").repeat(count - 1) + &question("Connection: close\r\n");
    let _ = stream.write_all(text.as_bytes());
    taken.join().unwrap()
}

/// An address that asks without end is told to wait, at the console and at the sidecar; another address notices nothing.
#[test]
fn an_address_that_asks_without_end_is_told_to_wait() {
    let world = world();
    world.make_home();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let served = Served::start(&world, &["--sidecar", &free]);
    testkit::wait_for("the sidecar", || TcpStream::connect(&free).ok());
    for host in [&served.host, &free] {
        let mut passed = 0;
        let began = Instant::now();
        let refused = (0..20).map(|_| ask_many(host, [127, 0, 0, 9], 3000)).inspect(|(ok, _)| passed += ok);
        let refused = refused.map(|(_, refused)| refused).find(|refused| *refused > 0);
        // Two thousand at once, then five hundred a second.
        let most = 2001 + 500 * (began.elapsed().as_secs() as usize + 1);
        assert!(refused.is_some() && (1000..=most).contains(&passed), "{host}: {passed} of at most {most}");
        assert_eq!(ask_many(host, [127, 0, 0, 10], 5), (5, 0), "{host}: another address");
        std::thread::sleep(Duration::from_millis(1200));
        assert_eq!(ask_many(host, [127, 0, 0, 9], 5), (5, 0), "{host}: and the same one later");
    }
}

/// A server of a process with a limit of open files that a shell sets.
fn serve_under(world: &World, limit: &str) -> Served {
    let command = world.command(["serve", "--listen", "127.0.0.1:0", "--json"]);
    Served::spawn(world.under(&command, &["sh", "-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]))
}

fn open_files(served: &Served) -> (u64, u64) {
    let text = std::fs::read_to_string(format!("/proc/{}/limits", served.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// However many strangers hold connections, a server keeps files for its own reading: who follows a run follows it to its end.
#[test]
fn connections_leave_files_for_those_who_look() {
    let world = world();
    world.make_home();
    let raised = serve_under(&world, "-S -n 256");
    testkit::wait_for("a limit that is raised as far as it may be", || {
        let (soft, hard) = open_files(&raised);
        (soft == hard.min(8192) && soft > 256).then_some(())
    });
    drop(raised);

    lay_slow_case(&world);
    let child = world.start(["run", "./made", "--json"]);
    let run = live_run(&world);
    let served = serve_under(&world, "-n 600");
    assert_eq!(open_files(&served), (600, 600));
    let cookie = served.log_in();
    let before = count_sockets(served.pid());
    let (lines, held) = std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&served, &cookie, &run, None, usize::MAX).0);
        testkit::wait_for("a stream", || (count_sockets(served.pid()) > before).then_some(()));
        let strangers: Vec<TcpStream> = (0..700).filter_map(|_| TcpStream::connect(&served.host).ok()).collect();
        std::thread::sleep(Duration::from_millis(300));
        let held = count_sockets(served.pid());
        let lines = following.join().unwrap();
        drop(strangers);
        (lines, held)
    });
    assert!((100..=600 - 250).contains(&held), "many connections are held, and not all: {held}");
    expect_history(&world, child, &run, &lines);
}

/// These are all events of the run, as its bundle has them.
#[track_caller]
fn expect_history(world: &World, child: std::process::Child, run: &str, lines: &[String]) {
    let ran = World::finish(child);
    let file = world.bundles().join(run).join("events.normalized.jsonl");
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {}", ran.told()));
    assert_eq!(lines, text.lines().collect::<Vec<_>>(), "the whole history");
}

/// The status of the answer to a question on a connection that is kept.
fn ask_kept(stream: &mut TcpStream, served: &Served, cookie: &str) -> u16 {
    write!(stream, "GET /api/cto/runs HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", served.host).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// For some moments the server can open no file. No client that follows a run reads that it is lost.
#[test]
fn a_stream_outlives_moments_without_open_files() {
    let world = world();
    lay_slow_case(&world);
    let child = world.start(["run", "./made", "--json"]);
    let run = live_run(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let mut kept = TcpStream::connect(&served.host).unwrap();
    kept.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(ask_kept(&mut kept, &served, &cookie), 200);
    let idle = count_sockets(served.pid());
    let lines = std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&served, &cookie, &run, None, usize::MAX).0);
        testkit::wait_for("a stream", || (count_sockets(served.pid()) > idle).then_some(()));
        std::thread::sleep(Duration::from_millis(500));
        let pid = Pid::from_raw(i32::try_from(served.pid()).unwrap());
        let limit = |current| Rlimit { current: Some(current), maximum: Some(open_files(&served).1) };
        let before = open_files(&served).0;
        prlimit(pid, Resource::Nofile, limit(3)).unwrap();
        assert_ne!(ask_kept(&mut kept, &served, &cookie), 200, "the control: nothing can be read");
        std::thread::sleep(Duration::from_millis(1500));
        prlimit(pid, Resource::Nofile, limit(before)).unwrap();
        assert_eq!(ask_kept(&mut kept, &served, &cookie), 200);
        following.join().unwrap()
    });
    expect_history(&world, child, &run, &lines);
}

/// Streams that the server sends now.
fn count_viewers(served: &Served, cookie: &str) -> u32 {
    let figures = served.get("/metrics", cookie).text();
    figures.lines().find_map(|line| line.strip_prefix("hermes_live_viewers ")).unwrap().trim().parse().unwrap()
}

/// A viewer that takes nothing of a long history is dropped; another viewer and the run notice nothing.
#[test]
fn a_viewer_that_stalls_is_dropped_and_nobody_else_notices() {
    let world = world();
    // More than the buffers between two sockets of this machine hold: lines as they are, and notes.
    let (line, note) = ("\u{1f600}".repeat(1990), "\u{1f600}".repeat(700));
    let notes = format!(r#"{{"type":"item.started","item":{{"type":"command_execution","command":"'$i' {note}"}}}}"#);
    let talk = format!(
        "for i in $(seq 190); do echo $i {line}; done; for i in $(seq 1900); do echo '{notes}'; done; sleep 20; printf 'two\\n' > a.txt"
    );
    let fake = json!({"speaks": "codex", "steps": [{"run": {"argv": ["sh", "-c", talk]}}]}).to_string();
    world.case("made", &[("fake", &fake), ("limits", "{output_bytes: 20000000}")]);
    let child = world.start(["run", "./made", "--json"]);
    let run = live_run(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let before = count_sockets(served.pid());
    let stalled: Vec<TcpStream> = (0..3)
        .map(|number| {
            let mut stream = connect_from(&served.host, [127, 0, 1, number + 1], Some(4096));
            let path = format!("/api/cto/runs/{run}/events");
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", served.host).unwrap();
            stream
        })
        .collect();
    testkit::wait_for("the control: they are viewers", || (count_viewers(&served, &cookie) == 3).then_some(()));
    let lines = std::thread::scope(|scope| {
        let following = scope.spawn(|| follow(&served, &cookie, &run, None, usize::MAX).0);
        testkit::wait_for("stalled viewers to be dropped", || (count_viewers(&served, &cookie) <= 1).then_some(()));
        testkit::wait_for("their sockets", || (count_sockets(served.pid()) <= before + 2).then_some(()));
        following.join().unwrap()
    });
    drop(stalled);
    assert!(lines.iter().map(String::len).sum::<usize>() > 5_000_000, "the history is long");
    expect_history(&world, child, &run, &lines);
}
