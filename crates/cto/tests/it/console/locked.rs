//! Access to the console: nobody enters without a login, under another name or from another origin, and no head or body is endless. No
//! route starts a run.

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
    "/queue",
    "/compare?runs=@",
    "/records",
    "/spend",
    "/api/cto/overview",
    "/api/cto/runs",
    "/api/cto/runs/@",
    "/api/cto/runs/@/verification",
    "/api/cto/runs/@/log?name=test.log",
    "/api/cto/approvals",
    "/api/cto/queue",
    "/api/cto/compare?runs=@",
    "/api/cto/records",
    "/api/cto/board",
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
    let name = format!("hermes_session_{}", served.host.rsplit_once(':').unwrap().1);
    assert_eq!(served.get("/runs", &format!("{name}=guess")).status, 302);

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

/// Acts in the ledger: act and whether it was allowed.
fn acts(world: &testkit::World) -> Vec<(String, bool)> {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut rows = ledger.prepare("SELECT body FROM entries WHERE kind = 'operator.acted' ORDER BY seq").unwrap();
    let bodies = rows.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let act = |body: String| {
        let body: Value = serde_json::from_str(&body).unwrap();
        (body["act"].as_str().unwrap().to_owned(), body["allowed"].as_bool().unwrap())
    };
    bodies.map(|body| act(body.unwrap())).collect()
}

/// Somebody who guesses links is refused each time, and cannot fill the ledger with it.
#[test]
fn guessed_links_are_refused_and_recorded_at_a_rate() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    let began = std::time::Instant::now();
    for number in 0..300 {
        let answer = served.post(&format!("/login/guess-{number}"), "", "");
        assert_eq!((answer.status, answer.header("set-cookie")), (410, None), "{number}");
    }
    let failed = acts(&world).iter().filter(|act| **act == ("login".to_owned(), false)).count();
    // Fifty at once, then one in five seconds.
    let most = 51 + began.elapsed().as_secs() as usize / 5;
    assert!((50..=most).contains(&failed), "{failed} of 300 are recorded, at most {most} may be");
    let cookie = served.log_in();
    assert_eq!(served.get("/", &cookie).status, 200, "the control: the link itself still works");
    assert_eq!(acts(&world).last(), Some(&("login".to_owned(), true)));
}

/// An operator's acts are recorded from the login on, so that without a ledger no operator gets in. A reader does.
#[test]
fn an_operator_who_cannot_be_recorded_does_not_get_in() {
    let world = world();
    world.make_home();
    let served = Served::start(&world, &[]);
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(world.home().join(file));
    }
    std::fs::write(world.home().join("ledger.db"), b"this is no ledger").unwrap();
    let refused = served.post(&served.login, "", "");
    assert_eq!((refused.status, refused.header("set-cookie")), (503, None), "{}", refused.text());
    assert_eq!(served.post(&served.reader_login, "", "").status, 303, "the control");
}

/// A stream that is sent when its session ends is cut with it, and the one of another session goes on.
#[test]
fn a_stream_ends_with_its_session() {
    let world = world();
    let talk = "for i in $(seq 200); do echo line $i; sleep 0.1; done";
    let fake = serde_json::json!({"steps": [{"run": {"argv": ["sh", "-c", talk]}}]}).to_string();
    world.case("made", &[("fake", &fake), ("verification_commands", "[[\"true\"]]")]);
    let mut child = world.start(["run", "./made", "--json"]);
    let run = super::live::live_run(&world);
    let served = Served::start(&world, &[]);
    let (one, other) = (served.log_in(), served.log_in_as_reader());
    let open = |cookie: &str| {
        let stream = TcpStream::connect(&served.host).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        let head = format!(
            "GET /api/cto/runs/{run}/events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n",
            served.host
        );
        (&stream).write_all(head.as_bytes()).unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("data: ")), "it is sent");
        lines
    };
    let (first, mut second) = (open(&one), open(&other));
    let token = served.get("/", &one).token("/logout");
    assert_eq!(served.post("/logout", &one, &format!("token={token}")).status, 303);
    let out = std::time::Instant::now();
    let _ = first.map_while(Result::ok).count();
    assert!(out.elapsed() < std::time::Duration::from_secs(5), "the stream went on for {:?}", out.elapsed());
    assert!(
        second.by_ref().map_while(Result::ok).filter(|line| line.starts_with("data: ")).nth(5).is_some(),
        "the control"
    );
    child.kill().unwrap();
    child.wait().unwrap();
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
    assert!(text.contains("beyond loopback the console needs TLS"), "{text}");
    assert!(refused["errors"][0]["hint"].as_str().unwrap().contains("--tls-cert"));
    let _ = world.cto(["serve", "--tls-cert", "only.pem"]).expect(2);
}

/// Everything of a home that a run, a decision or an outcome would change: entries of the ledger but for acts, requests, bundles, active runs.
fn state_of_home(world: &testkit::World) -> String {
    let ledger = rusqlite::Connection::open(world.home().join("ledger.db")).unwrap();
    let mut rows =
        ledger.prepare("SELECT kind, body FROM entries WHERE kind != 'operator.acted' ORDER BY seq").unwrap();
    let entries = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
    let entries: Vec<_> = entries.map(Result::unwrap).collect();
    let requests = content_digest(&world.home().join("requests"), &[]);
    let mut active: Vec<String> = std::fs::read_dir(world.home().join("active"))
        .map(|all| all.map(|one| one.unwrap().file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    active.sort();
    format!("{entries:?} {requests} {} {active:?}", content_digest(&world.bundles(), &[]))
}

/// A home with a sealed run, a request that is approved and waits for its run, and a run that goes on.
fn lay_tempting_home(world: &testkit::World) -> (String, String, std::process::Child) {
    let (report, _) = world.run("r1-string-slugify", 0);
    let sealed = report["run_id"].as_str().unwrap().to_owned();
    world.case("made", &[("mutation_mode", "candidate-default")]);
    let _ = world.cto(["key", "init", "--json"]).expect(0);
    let key = world.home().join("keys/operator.pub");
    let _ = world.cto(["trust", "key", "add", key.to_str().unwrap(), "--name", "operator"]).expect(0);
    let asked = world.cto(["request", "./made", "--stage", "4", "--json"]).expect(0).json();
    let request = asked["request"].as_str().unwrap().to_owned();
    let packet = world.cto(["packet", &request, "--json"]).expect(0).json();
    let sentence = packet["approval_command_text"].as_str().unwrap();
    let approved = world.cto(["approve", &request, "--sentence", sentence, "--json"]);
    assert_eq!(approved.code, 0, "{}", approved.told());
    let fake = serde_json::json!({"steps": [{"run": {"argv": ["sh", "-c", "while :; do echo on; sleep 1; done"]}}]});
    world.case("long", &[("fake", &fake.to_string())]);
    let child = world.start(["run", "./long", "--json"]);
    super::live::live_run(world);
    // The run's own entries until its engine works are there before anybody looks.
    testkit::wait_for("the engine of the run that goes on", || {
        (state_of_home(world).matches("\"engine.starting\"").count() == 2).then_some(())
    });
    (sealed, request, child)
}

/// Every route of the description, with every method, in both roles of one server: but for acts the home stays as it is, also where an
/// approved request only waits for its run.
#[test]
fn no_route_starts_a_run() {
    let world = world();
    let (sealed, request, mut child) = lay_tempting_home(&world);
    let before = state_of_home(&world);
    let live = super::live::live_run(&world);
    let served = Served::start(&world, &[]);
    let (operator, reader) = (served.log_in(), served.log_in_as_reader());
    // A token that the session has been given and not sent yet.
    let fresh_token = |cookie: &String| {
        let action = if *cookie == operator { format!("/runs/{live}/stop") } else { "/logout".to_owned() };
        served.get(&format!("/runs/{live}"), cookie).token(&action)
    };
    for cookie in [&reader, &operator] {
        let described: Value = served.get("/api/openapi.json", cookie).json();
        let paths: Vec<String> = described["paths"].as_object().unwrap().keys().cloned().collect();
        assert!(paths.len() > 30, "{paths:?}");
        for path in &paths {
            let place = path.replace("{run}", &sealed).replace("{request}", &request).replace("{token}", "x");
            for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
                let origin = format!("http://{}", served.host);
                let is_decision = ["/deny", "/approve", "/stop"].iter().any(|end| place.ends_with(end));
                // With its own token an operator's denial and stop do what they are for: that comes last.
                let is_act = place.ends_with("/logout") || place.ends_with("/deny") && *cookie == operator;
                let valid = (method == "POST" && !is_act).then(|| fresh_token(cookie));
                for token in valid.as_deref().into_iter().chain(["x"]) {
                    let form = format!("token={token}&reason=y&sentence=z&packet_digest=0");
                    let answer = served.ask(method, &place, cookie, &[("Origin", &origin)], &form);
                    if is_decision && method == "POST" && *cookie == reader {
                        assert_eq!(answer.status, 403, "a reader decides nothing: {place}");
                    }
                    assert!(answer.status < 500, "{method} {place}: {}", answer.status);
                }
            }
        }
    }
    assert_eq!(served.get("/", &operator).status, 200, "the control: these are sessions");
    assert_eq!(state_of_home(&world), before);
    assert_eq!(world.cto(["packet", &request, "--json"]).expect(0).json()["state"], "approved");
    refuse_runs_by_acts(&world, &served, (operator.as_str(), reader.as_str()), &live);
    // It was stopped above.
    child.wait().unwrap();
    let runs = started_runs(&world);
    let _ = world.cto(["run", "./made", "--stage", "4", "--json"]).expect(0);
    assert_eq!(started_runs(&world), runs + 1, "the control: a run would have been seen");
}

/// Number of runs that were ever started.
fn started_runs(world: &testkit::World) -> usize {
    state_of_home(world).matches("(\"run.started\"").count()
}

/// A denial, a stop and a logout, each with its own token, start no run either; and the control: they do what they are for.
fn refuse_runs_by_acts(world: &testkit::World, served: &Served, (operator, reader): (&str, &str), live: &str) {
    let runs = started_runs(world);
    let asked = world.cto(["request", "r1-string-slugify", "--stage", "4", "--json"]).expect(0).json();
    let request = asked["request"].as_str().unwrap();
    let act = |page: &str, action: &str, cookie: &str| {
        let token = served.get(page, cookie).token(action);
        served.post(action, cookie, &format!("token={token}&reason=too+wide"))
    };
    let place = format!("/approvals/{request}");
    assert_eq!(act(&place, &format!("{place}/deny"), operator).status, 303);
    assert_eq!(world.cto(["packet", request, "--json"]).expect(0).json()["state"], "denied");
    let place = format!("/runs/{live}");
    assert_eq!(act(&place, &format!("{place}/stop"), operator).status, 303);
    for cookie in [reader, operator] {
        assert_eq!(act("/", "/logout", cookie).status, 303);
        assert_eq!(served.get("/api/cto/overview", cookie).status, 401);
    }
    assert_eq!(started_runs(world), runs);
}
