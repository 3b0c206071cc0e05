//! Who gets in: nobody without a login, no other name, no other origin, no head or body without end; and no route starts a run.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::Value;
use testkit::content_digest;

use super::{Answer, Served};
use crate::world;

/// Every page that a reader may see.
const PAGES: &[&str] = &[
    "/",
    "/runs",
    "/runs/@",
    "/runs/@/verify",
    "/runs/@/log?name=report.json",
    "/approvals",
    "/compare?runs=@",
    "/records",
    "/spend",
    "/api/cto/overview",
    "/api/cto/runs",
    "/api/cto/runs/@",
    "/api/cto/runs/@/verification",
    "/api/cto/runs/@/log?name=test.log",
    "/api/cto/approvals",
    "/api/cto/compare?runs=@",
    "/api/cto/records",
    "/api/cto/spend",
    "/api/cto/control-summary",
    "/api/openapi.json",
    "/metrics",
];

#[test]
fn nothing_is_shown_without_a_login() {
    let world = world();
    let (report, _) = world.run("r1-string-slugify", 0);
    let run = report["run_id"].as_str().unwrap();
    let served = Served::start(&world, &[]);
    for page in PAGES {
        let answer = served.get(page, "");
        let expected = if page.starts_with("/api/") { 401 } else { 302 };
        assert_eq!(answer.status, expected, "{page}");
        assert!(!answer.text().contains(run), "{page}");
    }
    assert_eq!(served.get("/nothing/such", "").status, 302, "what exists is not told either");
    assert_eq!(served.get("/runs", "hermes_session=guess").status, 302);

    let opened = served.get(&served.login, "");
    assert_eq!((opened.status, served.get(&served.login, "").status), (200, 200), "opening a link uses nothing up");
    let cookie = served.log_in();
    for page in PAGES {
        let answer = served.get(page, &cookie);
        assert_eq!(answer.status, 200, "{page}: {}", answer.text());
    }
    assert_eq!(served.post(&served.login, "", "").status, 410, "the link works once");
    assert!(ledger_holds(&world, "operator.acted"), "a login is an act");
}

/// True if the ledger's files hold a word, wherever the database has put it by now.
fn ledger_holds(world: &testkit::World, word: &str) -> bool {
    ["ledger.db", "ledger.db-wal"].iter().any(|file| {
        let bytes = std::fs::read(world.home().join(file)).unwrap_or_default();
        bytes.windows(word.len()).any(|part| part == word.as_bytes())
    })
}

#[test]
fn the_session_ends_with_the_logout() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let page = served.get("/", &cookie);
    let wrong = served.post("/logout", &cookie, "token=0000");
    assert_eq!((wrong.status, served.get("/", &cookie).status), (403, 200));
    let gone = served.post("/logout", &cookie, &format!("token={}", page.token("/logout")));
    assert_eq!((gone.status, gone.header("clear-site-data")), (303, Some("\"cache\"")));
    assert_eq!(served.get("/", &cookie).status, 302);
}

#[test]
fn a_cookie_and_a_page_are_of_one_session_alone() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let answer = served.post(&served.login.clone(), "", "");
    let cookie = answer.header("set-cookie").unwrap();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let page = served.get("/", cookie);
    assert_eq!((page.header("cache-control"), page.header("vary")), (Some("private, no-cache"), Some("Cookie")));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"), "else forms have the origin null");
    let policy = page.header("content-security-policy").unwrap();
    for word in ["default-src 'none'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"] {
        assert!(policy.contains(word) && !policy.contains("unsafe"), "{policy}");
    }
    let tag = page.header("etag").unwrap();
    let again = served.ask("GET", "/", cookie, &[("If-None-Match", tag)], "");
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn another_name_or_origin_gets_nothing() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let host = |name: &str| served.ask("GET", "/", &cookie, &[("Host", name)], "").status;
    let port = served.host.rsplit_once(':').unwrap().1;
    assert_eq!(host(&format!("localhost:{port}")), 200, "the control");
    for name in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", ""] {
        assert_eq!(host(name), 421, "{name}");
    }
    let twice = [("Host", served.host.as_str()), ("Host", "evil.example")];
    assert!(matches!(served.ask("GET", "/", &cookie, &twice, "").status, 400 | 421));
    let post = |headers: &[(&str, &str)]| served.ask("POST", "/logout", &cookie, headers, "token=x").status;
    assert_eq!(post(&[]), 403, "without an origin");
    for origin in ["http://evil.example", "null", "https://127.0.0.1", &format!("https://{}", served.host)] {
        assert_eq!(post(&[("Origin", origin)]), 403, "{origin}");
    }
}

#[test]
fn no_path_leads_out_of_a_bundle() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let name = |name: &str| served.get(&format!("/api/cto/runs/@/log?name={name}"), &cookie).status;
    assert_eq!(name("report.json"), 200, "the control");
    for out in [
        "..%2F..%2Fkeys%2Fharness.pem",
        "%2Fetc%2Fpasswd",
        "backend%2F..%2F..%2F..%2Fledger.db",
        "report.json%00",
        "",
        ".",
        "keys",
        "..",
    ] {
        assert_eq!(name(out), 404, "{out}");
    }
    for path in ["/runs/..%2F..%2Fetc", "/assets/..%2F..%2FCargo.toml", "/assets/../../etc/passwd", "/runs/%FF%FE"] {
        let status = served.get(path, &cookie).status;
        assert!(matches!(status, 400 | 404), "{path} gave {status}");
    }
}

#[test]
fn heads_bodies_and_slow_clients_are_bounded() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let cookie = served.log_in();
    let large = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}\r\n\r\n", served.host, "x".repeat(10 << 20));
    let refused = |answer: Option<Answer>| answer.is_none_or(|answer| matches!(answer.status, 400 | 413 | 431));
    assert!(refused(served.send(large.as_bytes())));
    let body = format!("token={}", "x".repeat(1 << 20));
    assert_eq!(served.post("/logout", &cookie, &body).status, 413);
    for smuggled in [
        format!(
            "POST /logout HTTP/1.1\r\nHost: {}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            served.host
        ),
        format!(
            "GET / HTTP/1.1\r\nHost: {}\r\nContent-Length: 5\r\nContent-Length: 6\r\nConnection: close\r\n\r\nxxxxxx",
            served.host
        ),
        format!("GET / HTTP/1.1\nHost: {}\n\n", served.host),
        "NOTHING\r\n\r\n".to_owned(),
    ] {
        let shown = served.send(smuggled.as_bytes()).is_some_and(|answer| answer.status == 200);
        assert!(!shown, "{smuggled:?}");
    }
    let mut slow: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&served.host).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    }
    assert_eq!(served.get("/", &cookie).status, 200, "slow clients keep nobody out");
}

#[test]
fn beyond_loopback_tls_is_demanded() {
    let world = world();
    let refused = world.cto(["serve", "--listen", "0.0.0.0:0", "--json"]).expect(2).json();
    let text = refused["errors"][0]["message"].as_str().unwrap();
    assert!(text.contains("without TLS"), "{text}");
    assert!(refused["errors"][0]["hint"].as_str().unwrap().contains("--tls-cert"));
    let _ = world.cto(["serve", "--tls-cert", "only.pem"]).expect(2);
}

/// Every route of the description, with every method, in both roles: the home stays as it is but for acts, and no run is added.
#[test]
fn no_route_starts_a_run() {
    let world = world();
    world.run("r1-string-slugify", 0);
    let runs = |world: &testkit::World| world.cto(["runs", "--json"]).expect(0).text();
    let (before, bundles) = (runs(&world), content_digest(&world.bundles(), &[]));
    for more in [&["--read-only"][..], &[]] {
        let served = Served::start(&world, more);
        let cookie = served.log_in();
        let described: Value = served.get("/api/openapi.json", &cookie).json();
        let paths: Vec<String> = described["paths"].as_object().unwrap().keys().cloned().collect();
        assert!(paths.len() > 30, "{paths:?}");
        for path in paths.iter().filter(|path| !path.contains("/events") && *path != "/logout") {
            let place = path.replace("{run}", "@").replace("{request}", "req-1").replace("{token}", "x");
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
                let origin = format!("http://{}", served.host);
                let answer = served.ask(
                    method,
                    &place,
                    &cookie,
                    &[("Origin", &origin)],
                    "token=x&reason=y&sentence=z&packet_digest=0",
                );
                let is_decision = ["/deny", "/approve", "/stop"].iter().any(|end| place.ends_with(end));
                if is_decision && method == "POST" && !more.is_empty() {
                    assert_eq!(answer.status, 403, "a reader decides nothing: {place}");
                }
                assert!(answer.status < 500, "{method} {place}: {}", answer.status);
            }
        }
    }
    assert_eq!((runs(&world), content_digest(&world.bundles(), &[])), (before, bundles));
}
