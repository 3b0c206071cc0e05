//! The console under pressure: many connections, heads without end, ranges, and sessions that share what is cached. Runs notice nothing,
//! memory stays bounded.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::Served;
use crate::world;

/// Connections that one server holds, as `serve.rs` of `hermes` has it.
const MOST_CONNECTIONS: usize = 2048;
/// Time after which a head that does not come ends a connection, and some more.
const HEADS_END: Duration = Duration::from_secs(25);

/// Resident memory of a process in KiB, the most it ever had.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// True if the other end has closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

/// A sample of the 10,000 connections that `cargo xtask soak connections` makes.
#[test]
fn connections_without_end_are_bounded_and_disturb_no_run() {
    let wanted = testkit::times("CTO_TEST_CONNECTIONS", 2300);
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    assert_eq!(served.get("/", &cookie).status, 200, "the control");
    let mut held = Vec::new();
    for number in 0..wanted {
        let Ok(mut stream) = TcpStream::connect(&served.host) else { continue };
        // Half of them begin a head and never end it.
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
        }
        held.push(stream);
    }
    std::thread::sleep(Duration::from_millis(500));
    let open = held.iter_mut().filter_map(|stream| (!is_closed(stream)).then_some(())).count();
    assert!(open <= MOST_CONNECTIONS, "{open} of {} connections are held", held.len());
    let (report, _) = world.run("r1-string-slugify", 0);
    assert_eq!(report["status"], "pass", "a run notices nothing");
    assert!(peak_memory(served.pid()) < 128 << 10, "{} KiB", peak_memory(served.pid()));

    // A silent connection is dropped, so that others are served while strangers hold theirs open.
    let began = Instant::now();
    loop {
        let text = format!("GET /health HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", served.host);
        if served.send(text.as_bytes()).is_some_and(|answer| answer.status == 200) {
            break;
        }
        assert!(began.elapsed() < HEADS_END, "nobody gets in any more");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(served.get("/runs/@", &cookie).status, 200);
}

/// Sockets that a process holds.
pub(super) fn count_sockets(pid: u32) -> usize {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    all.filter(|one| std::fs::read_link(one.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))).count()
}

/// Forms that never come and answers that nobody takes hold a place for some seconds, and not for ever.
#[test]
fn whoever_sends_or_takes_nothing_gives_its_place_back() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let form = |length: usize| {
        let host = &served.host;
        let head = format!("POST /logout HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n");
        format!("{head}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n")
    };
    let before = count_sockets(served.pid());
    let mut held: Vec<TcpStream> = (0..123).map(|_| TcpStream::connect(&served.host).unwrap()).collect();
    for (number, stream) in held.iter_mut().enumerate() {
        match number {
            // Questions for a style of many KiB, one behind the other, and no answer is read: more than the buffers between them hold.
            0..3 => {
                let text = format!("GET /assets/console.css HTTP/1.1\r\nHost: {}\r\n\r\n", served.host).repeat(500);
                stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
                let _ = stream.write_all(text.as_bytes());
            }
            number if number % 2 == 0 => stream.write_all(form(40).as_bytes()).unwrap(),
            _ => stream.write_all(format!("{}token=", form(40)).as_bytes()).unwrap(),
        }
    }
    testkit::wait_for("the control: they are held", || (count_sockets(served.pid()) >= before + 100).then_some(()));
    // A slow and honest client gets an answer all the while.
    let mut slow = TcpStream::connect(&served.host).unwrap();
    slow.write_all(form(10).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    slow.write_all(b"token=0000").unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403", "the form came late and whole, and has a wrong token");
    drop(slow);
    let began = Instant::now();
    while count_sockets(served.pid()) > before + 1 {
        assert!(began.elapsed() < HEADS_END * 2, "{} sockets are held", count_sockets(served.pid()) - before);
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(served.get("/", &cookie).status, 200);
    drop(held);
}

#[test]
fn large_heads_leave_memory_as_it_was() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let fits = format!(
        "GET /health HTTP/1.1\r\nHost: {}\r\nX: {}\r\nConnection: close\r\n\r\n",
        served.host,
        "x".repeat(16 << 10)
    );
    assert_eq!(served.send(fits.as_bytes()).unwrap().status, 200, "the control: a head that fits");
    let before = peak_memory(served.pid());
    let large = format!("GET /health HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", served.host, "x".repeat(10 << 20));
    for _ in 0..8 {
        let answer = served.send(large.as_bytes());
        assert!(answer.is_none_or(|answer| matches!(answer.status, 400 | 413 | 431)));
    }
    let many = "A: b\r\n".repeat(2000);
    let answer = served.send(format!("GET /health HTTP/1.1\r\nHost: {}\r\n{many}\r\n", served.host).as_bytes());
    assert!(answer.is_none_or(|answer| matches!(answer.status, 400 | 431)), "headers without end");
    let after = peak_memory(served.pid());
    assert!(after < before + (4 << 10), "{before} KiB became {after} KiB");
}

#[test]
fn ranges_are_not_served_and_make_no_part_of_an_answer() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let path = "/api/cto/runs/@/log?name=report.json";
    let whole = served.get(path, &cookie);
    let many: Vec<String> = (0..500).map(|number| format!("{number}-{}", number + 1)).collect();
    for range in ["bytes=0-0", "bytes=-1", "bytes=99999999-", "bytes=5-1", &format!("bytes={}", many.join(","))] {
        let answer = served.ask("GET", path, &cookie, &[("Range", range), ("If-Range", "\"x\"")], "");
        assert_eq!((answer.status, answer.body.len()), (200, whole.body.len()), "{range}");
        assert!(answer.header("content-range").is_none() && answer.header("accept-ranges").is_none());
    }
}

/// Bytes that one reader takes for one request and another for two: each ends the connection, and the second is never answered.
#[test]
fn a_request_inside_of_a_request_is_not_answered() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let host = &served.host;
    let inner = format!("GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let answers = |bytes: String| {
        let mut stream = TcpStream::connect(&served.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(bytes.as_bytes());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).matches("HTTP/1.1 200").count()
    };
    let first = format!("GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n");
    assert_eq!(answers(format!("{first}{inner}")), 2, "the control: one after the other");
    let post = |heads: &str, body: &str| format!("POST /logout HTTP/1.1\r\nHost: {host}\r\n{heads}\r\n{body}{inner}");
    for (what, bytes) in [
        ("both lengths", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
        ("two lengths", post("Content-Length: 0\r\nContent-Length: 3\r\n", "")),
        ("a length with a sign", post("Content-Length: +0\r\n", "")),
        ("chunked and then not", post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n")),
        ("another coding", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")),
        ("a folded header", post("X: a\r\n Content-Length: 9\r\n", "")),
        ("a space before the colon", post("Content-Length : 0\r\n", "")),
        ("a bare carriage return", post("X: a\rContent-Length: 0\r\n", "")),
        ("a chunk with a bad size", post("Transfer-Encoding: chunked\r\n", "0x0\r\n\r\n")),
    ] {
        assert_eq!(answers(bytes), 0, "{what}");
    }
}

/// The part of a page that is kept is nobody's own: roles, form tokens and tags stay those of the session that asks.
#[test]
fn a_kept_page_never_shows_another_session() {
    let world = world();
    let (report, bundle) = world.run("r1-string-slugify", 0);
    let path = format!("/runs/{}", report["run_id"].as_str().unwrap());
    let served = Served::start(&world, &[]);
    let operator = served.log_in();
    // A home that just changed is not trusted to be at rest.
    std::thread::sleep(Duration::from_millis(700));
    let pages: Vec<_> = (0..3).map(|_| served.get(&path, &operator)).collect();
    assert!(pages.iter().all(|page| page.status == 200 && page.body == pages[0].body));
    let tag = pages[0].header("etag").unwrap().to_owned();
    assert_eq!(served.ask("GET", &path, &operator, &[("If-None-Match", &tag)], "").status, 304, "the control");
    let outside = served.get(&path, "");
    assert_eq!((outside.status, outside.text().contains("slugify")), (302, false), "nothing without a login");
    assert_eq!(served.ask("GET", &path, "", &[("If-None-Match", &tag)], "").status, 302);

    // The same server, and so the same cache.
    let reader = served.log_in_as_reader();
    for _ in 0..3 {
        let page = served.get(&path, &reader);
        assert!(page.text().contains("<span>read-only</span>") && !page.text().contains("<span>operator</span>"));
        assert_ne!(page.header("etag"), Some(tag.as_str()));
        assert_eq!(served.ask("GET", &path, &reader, &[("If-None-Match", &tag)], "").status, 200);
        assert_eq!(served.get(&path, &operator).body, pages[0].body);
    }
    let token = |page: &super::Answer| page.token("/logout");
    let gone = served.post("/logout", &operator, &format!("token={}", token(&pages[2])));
    assert_eq!(gone.status, 303, "the token on a kept page is the session's own");
    assert_eq!(served.get(&path, &operator).status, 302, "and the page is gone with the session");

    // What is kept is kept only while nothing changed.
    let text = std::fs::read_to_string(bundle.join("test.log")).unwrap();
    std::fs::write(bundle.join("test.log"), text.replace('o', "0")).unwrap();
    assert!(served.get(&path, &reader).text().contains("verdict-broken"), "a changed bundle has no verdict");
}
