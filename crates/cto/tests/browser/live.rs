//! A live run in the browser: opened at any moment and cut at any moment, a page ends with exactly the history of the bundle.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use contract::Digest;
use serde_json::{Value, json};
use testkit::{World, moment};

use crate::scene::find_live;
use crate::{Browser, Look, Page, Served, world};

/// A case that says something all the time, in an agent's own protocol: of plain lines only the first 200 become events.
fn lay_case(world: &World, name: &str, lines: u32, pause: &str) {
    let note = r#"{"type":"item.started","item":{"type":"command_execution","command":"step '$i'"}}"#;
    let talk = format!("for i in $(seq {lines}); do echo '{note}'; sleep {pause}; done; printf 'two\\n' > a.txt");
    let fake = json!({"speaks": "codex", "steps": [{"run": {"argv": ["sh", "-c", talk]}}]});
    world.case(name, &[("fake", &fake.to_string())]);
}

/// Passes bytes on between browser and server, and can cut every connection.
struct Relay {
    host: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// A relay on a port of its own, to a server whose address is set later.
    fn start() -> (Self, std::sync::mpsc::Sender<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (tell, told) = std::sync::mpsc::channel::<String>();
        let kept = Arc::clone(&open);
        std::thread::spawn(move || {
            let Ok(server) = told.recv() else { return };
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(&server) else { continue };
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend([client.try_clone().unwrap(), upstream.try_clone().unwrap()]);
                pass_on(client.try_clone().unwrap(), upstream.try_clone().unwrap());
                pass_on(upstream, client);
            }
        });
        (Self { host, open }, tell)
    }

    fn cut(&self) -> usize {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        let count = open.len();
        open.clear();
        count
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// Keeps what the list on the page has when the page goes, because it loads itself anew at the end.
const KEEP_LIST: &str = "(() => { const keep = () => sessionStorage.setItem('list', JSON.stringify([...document.querySelectorAll('.events li')].map((li) => [li.querySelector('.seq').textContent, li.querySelector('.type').textContent]))); \
    if (document.querySelector('.events[data-live]')) addEventListener('pagehide', keep); else keep(); })()";

/// Keeps when each event came to stand on the page.
const KEEP_MOMENTS: &str = "(() => { const drawn = []; \
    new MutationObserver((changes) => { for (const change of changes) for (const li of change.addedNodes) drawn.push([Date.now(), Number(li.id.slice(6))]); }) \
      .observe(document.querySelector('.events[data-live]'), { childList: true }); \
    const opened = Date.now(); \
    addEventListener('pagehide', () => sessionStorage.setItem('drawn', JSON.stringify({ opened, drawn }))); })()";

/// Follows the stream by itself, as any page may, and keeps lines with the time at which each came.
fn follow_code(run: &str) -> String {
    format!(
        "(() => {{ window.got = []; window.opened = Date.now(); window.ended = ''; const s = new EventSource('/api/cto/runs/{run}/events'); \
         s.onmessage = (e) => window.got.push([Date.now(), e.data]); s.addEventListener('sealed', () => {{ s.close(); window.ended = 'sealed'; }}); }})()"
    )
}

#[test]
fn ten_pages_that_are_cut_again_and_again_end_with_the_same_history() {
    let Some(browser) = Browser::start("ten_pages_that_are_cut_again_and_again_end_with_the_same_history") else {
        return;
    };
    let world = world();
    let seconds = testkit::times("CTO_TEST_LIVE_SECONDS", 18);
    lay_case(&world, "made", seconds * 10, "0.1");
    let (relay, tell) = Relay::start();
    let served = Served::start(&world, &["--read-only", "--name", &relay.host]);
    tell.send(served.host.clone()).unwrap();
    let (origin, cookie) = (format!("http://{}", relay.host), served.log_in());
    let child = world.start(["run", "./made", "--json"]);
    let run = find_live(&world);
    let first = browser.open(Look::at(&origin, &cookie));
    let direct = format!("http://{}", served.host);
    let uncut = browser.open(Look::at(&direct, &cookie));
    uncut.visit("/spend");
    uncut.evaluate(&follow_code(&run));
    let drawn = uncut.another();
    drawn.visit(&format!("/runs/{run}"));
    drawn.evaluate(KEEP_MOMENTS);
    let (mut lists, mut streams): (Vec<Page<'_>>, Vec<Page<'_>>) = (Vec::new(), Vec::new());
    for number in 0..10 {
        std::thread::sleep(moment(Duration::from_secs(seconds.into()) / 12));
        let page = first.another();
        if number % 2 == 0 {
            page.visit(&format!("/runs/{run}"));
            page.evaluate(KEEP_LIST);
            lists.push(page);
        } else {
            page.visit("/spend");
            page.evaluate(&follow_code(&run));
            streams.push(page);
        }
        if number % 3 == 2 {
            assert!(relay.cut() > 0, "something was cut");
        }
    }
    let ran = World::finish(child);
    let bundle = world.bundles().join(&run);
    let text =
        std::fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap_or_else(|_| panic!("{}", ran.told()));
    let expected: Vec<&str> = text.lines().collect();
    assert!(expected.len() > seconds as usize * 8, "{}", ran.told());
    for (number, page) in streams.iter().enumerate() {
        page.wait("window.ended === 'sealed'");
        let got: Vec<(i64, String)> = serde_json::from_value(page.evaluate("window.got")).unwrap();
        let lines: Vec<&str> = got.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(lines, expected, "stream {number}");
    }
    let names: Vec<(String, String)> = expected.iter().map(|line| name_of(line)).collect();
    for (number, page) in lists.iter().enumerate() {
        page.wait("sessionStorage.getItem('list') !== null");
        let list = page.evaluate("sessionStorage.getItem('list')");
        let list: Vec<(String, String)> = serde_json::from_str(list.as_str().unwrap()).unwrap();
        assert_eq!(list, names, "page {number}");
        page.wait(
            "document.querySelector('.verdict-word') !== null && document.querySelector('.verdict-running') === null",
        );
    }
    let replayed = world.cto(["replay", &run, "--json"]).expect(0).json();
    assert_eq!(replayed["run_id"], json!(run));
    // The report that is replayed is signed over this history, byte for byte.
    let history = format!("{}\n", expected.join("\n"));
    let digest = &replayed["artifact_digests"]["events.normalized.jsonl"];
    assert_eq!(
        *digest,
        json!(Digest::of_bytes(history.as_bytes()).to_string()),
        "what was streamed is what is replayed"
    );
    drawn.wait("sessionStorage.getItem('drawn') !== null");
    for (what, late) in [("came", delays(&uncut)), ("stood on the page", drawn_delays(&drawn, &expected))] {
        let at = |percent: usize| late.get(late.len() * percent / 100).copied().unwrap_or_default();
        println!("{} events {what}: p50 {} ms, p95 {} ms after their time", late.len(), at(50), at(95));
        assert!(late.len() > seconds as usize * 4, "{} events {what} live", late.len());
        // In the suite the machine has other work; a soak has the machine.
        assert!(seconds < 60 || at(95) <= 100, "95 of 100 events {what} within {} ms, and not within 100", at(95));
    }
}

/// The same delays of events that a live page has drawn.
fn drawn_delays(page: &Page<'_>, events: &[&str]) -> Vec<i64> {
    let kept = page.evaluate("sessionStorage.getItem('drawn')");
    let kept: Value = serde_json::from_str(kept.as_str().unwrap()).unwrap();
    let opened = kept["opened"].as_i64().unwrap();
    let drawn: Vec<(i64, u64)> = serde_json::from_value(kept["drawn"].clone()).unwrap();
    let times: BTreeMap<u64, i64> = events.iter().filter_map(|line| Some((seq_of(line), millis_of(line)?))).collect();
    let timed = drawn.into_iter().filter_map(|(came, seq)| Some((came, *times.get(&seq)?)));
    let mut late: Vec<i64> = timed.filter(|(_, time)| *time > opened).map(|(came, time)| came - time).collect();
    late.sort_unstable();
    late
}

/// Milliseconds between the time of an event and its arrival in a page that was never cut, sorted, of events since the page was opened.
fn delays(page: &Page<'_>) -> Vec<i64> {
    let opened = page.evaluate("window.opened").as_i64().unwrap();
    let got: Vec<(i64, String)> = serde_json::from_value(page.evaluate("window.got")).unwrap();
    let timed = got.iter().filter_map(|(came, line)| Some((*came, millis_of(line)?)));
    let mut late: Vec<i64> = timed.filter(|(_, time)| *time > opened).map(|(came, time)| came - time).collect();
    late.sort_unstable();
    late
}

fn millis_of(line: &str) -> Option<i64> {
    let event: Value = serde_json::from_str(line).ok()?;
    let time: jiff::Timestamp = event["time"].as_str()?.parse().ok()?;
    Some(time.as_millisecond())
}

fn seq_of(line: &str) -> u64 {
    let event: Value = serde_json::from_str(line).unwrap();
    event["seq"].as_u64().unwrap()
}

fn name_of(line: &str) -> (String, String) {
    let event: Value = serde_json::from_str(line).unwrap();
    (event["seq"].to_string(), event["type"].as_str().unwrap().to_owned())
}

/// Makes a page think that another tab lies over it, or no longer.
fn set_hidden(page: &Page<'_>, hidden: bool) {
    page.evaluate(&format!(
        "(() => {{ Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {hidden}}}); \
         document.dispatchEvent(new Event('visibilitychange')); }})()"
    ));
}

/// Streams that the server sends now.
fn count_streams(served: &Served, cookie: &str) -> Option<u32> {
    let figures = served.get("/metrics", cookie).text();
    figures.lines().find_map(|line| line.strip_prefix("hermes_live_viewers "))?.trim().parse().ok()
}

#[test]
fn hidden_pages_hold_no_connection_and_catch_up_when_they_are_shown() {
    const PAGES: usize = 9;
    let Some(browser) = Browser::start("hidden_pages_hold_no_connection_and_catch_up_when_they_are_shown") else {
        return;
    };
    let world = world();
    // The run is stopped when every page is there, however long they take.
    lay_case(&world, "made", 1200, "0.1");
    let child = world.start(["run", "./made", "--json"]);
    let run = find_live(&world);
    let served = Served::start(&world, &["--read-only"]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let first = browser.open(Look::at(&origin, &cookie));
    let follow = |page: &Page<'_>| {
        page.visit(&format!("/runs/{run}"));
        page.wait("document.querySelector('.events').dataset.seen !== undefined");
        page.evaluate(KEEP_LIST);
    };
    follow(&first);
    testkit::wait_for("control: a page that is shown holds a stream", || {
        (count_streams(&served, &cookie)? == 1).then_some(())
    });
    set_hidden(&first, true);
    // More pages than a browser has connections to one server; each is covered by the next.
    let others: Vec<Page<'_>> = (1..PAGES)
        .map(|number| {
            let page = first.another();
            follow(&page);
            set_hidden(&page, number + 1 < PAGES);
            page
        })
        .collect();
    testkit::wait_for("one stream of all pages", || (count_streams(&served, &cookie)? == 1).then_some(()));
    let kept = first.evaluate("document.querySelectorAll('.events li').length").as_u64().unwrap();
    set_hidden(&first, false);
    first.wait(&format!("document.querySelectorAll('.events li').length > {kept}"));
    let _ = world.cto(["stop", &run]).expect(0);
    let ran = World::finish(child);
    let bundle = world.bundles().join(&run);
    let text =
        std::fs::read_to_string(bundle.join("events.normalized.jsonl")).unwrap_or_else(|_| panic!("{}", ran.told()));
    let expected: Vec<(String, String)> = text.lines().map(name_of).collect();
    others.iter().for_each(|page| set_hidden(page, false));
    for (number, page) in std::iter::once(&first).chain(&others).enumerate() {
        page.wait("sessionStorage.getItem('list') !== null");
        let list = page.evaluate("sessionStorage.getItem('list')");
        let list: Vec<(String, String)> = serde_json::from_str(list.as_str().unwrap()).unwrap();
        assert_eq!(list, expected, "page {number}");
    }
}

/// For longer than a stream bears it, the server can open no file. The page says so, asks again, and goes on.
#[test]
fn a_page_asks_again_after_its_server_could_read_nothing() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let Some(browser) = Browser::start("a_page_asks_again_after_its_server_could_read_nothing") else { return };
    let world = world();
    lay_case(&world, "made", 1500, "0.1");
    let mut child = world.start(["run", "./made", "--json"]);
    let run = find_live(&world);
    let served = Served::start(&world, &["--read-only"]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let page = browser.open(Look::at(&origin, &cookie));
    page.visit(&format!("/runs/{run}"));
    let says = |word: &str| format!("document.querySelector('#live-state').textContent.includes('{word}')");
    page.wait(&says("live"));
    let pid = Pid::from_raw(i32::try_from(served.pid()).unwrap());
    let before = prlimit(pid, Resource::Nofile, Rlimit { current: Some(3), maximum: Some(4096) }).unwrap();
    page.wait(&says("Trying again"));
    let count = "document.querySelectorAll('.events li').length";
    let kept = page.evaluate(count).as_u64().unwrap();
    prlimit(pid, Resource::Nofile, Rlimit { current: before.current.map(|most| most.min(4096)), maximum: Some(4096) })
        .unwrap();
    page.wait(&format!("{} && {count} > {kept} + 20", says("live")));
    let seqs = page.evaluate("[...document.querySelectorAll('.events li')].map((li) => Number(li.id.slice(6)))");
    let seqs: Vec<usize> = serde_json::from_value(seqs).unwrap();
    assert_eq!(seqs, (seqs[0]..seqs[0] + seqs.len()).collect::<Vec<_>>(), "no event is missing, none stands twice");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_page_says_that_its_run_was_killed_and_then_shows_the_sealed_end() {
    let Some(browser) = Browser::start("a_page_says_that_its_run_was_killed_and_then_shows_the_sealed_end") else {
        return;
    };
    let world = world();
    lay_case(&world, "made", 600, "0.2");
    let mut child = world.start(["run", "./made", "--json"]);
    let run = find_live(&world);
    let served = Served::start(&world, &["--read-only"]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let page = browser.open(Look::at(&origin, &cookie));
    page.visit(&format!("/runs/{run}"));
    page.wait("document.querySelector('#live-state').textContent.includes('live')");
    // The list, the lanes above it and the number beside them go on together.
    page.wait("document.querySelectorAll('.lanes .track .ev').length === document.querySelectorAll('.events li').length && document.querySelectorAll('.events li').length > 12");
    page.wait(
        "document.querySelector('.tabs a span').textContent === String(document.querySelectorAll('.events li').length)",
    );
    child.kill().unwrap();
    child.wait().unwrap();
    page.wait("document.querySelector('#live-state').textContent.includes('is gone')");
    assert!(page.text("#live-state").contains("cto recover"), "and what seals it");
    world.recover_killed();
    page.wait(
        "document.querySelector('.verdict-running') === null && document.body.textContent.includes('Verify bundle')",
    );
    assert!(page.text(".reasons").contains("interrupted"), "{}", page.text("main"));
    assert!(page.faults().is_empty());
}

#[test]
fn an_operator_stops_one_run_and_no_other() {
    let Some(browser) = Browser::start("an_operator_stops_one_run_and_no_other") else { return };
    let world = world();
    for name in ["one", "other"] {
        lay_case(&world, name, 600, "0.2");
    }
    let one = world.start(["run", "./one", "--json"]);
    let first = find_live(&world);
    let other = world.start(["run", "./other", "--json"]);
    let second = testkit::wait_for("two runs", || {
        let running = world.cto(["status", "--json"]).json()["running"].take();
        let ids = running.as_array()?.iter().filter_map(|run| Some(run["run_id"].as_str()?.to_owned()));
        ids.into_iter().find(|id| *id != first)
    });
    let reader = Served::start(&world, &["--read-only"]);
    let reading = browser.open(Look::at(&format!("http://{}", reader.host), &reader.log_in()));
    reading.visit(&format!("/runs/{first}"));
    assert!(
        !reading.has("form[action$=stop]") && reading.text(".next").contains("cto stop "),
        "a reader has the command"
    );
    let served = Served::start(&world, &[]);
    let (origin, cookie) = (format!("http://{}", served.host), served.log_in());
    let page = browser.open(Look::at(&origin, &cookie));
    page.visit(&format!("/runs/{first}"));
    assert!(page.text(".next").contains("cto stop "), "the command stands beside the button");
    page.click("form[action$=stop] button");
    let ended = World::finish(one).expect(130);
    assert_eq!(ended.json()["blocker_reasons"], json!(["harness_interrupted"]), "{}", ended.told());
    page.wait(
        "document.querySelector('.verdict-running') === null && document.body.textContent.includes('Verify bundle')",
    );
    let running = world.cto(["status", "--json"]).expect(0).json()["running"].take();
    assert_eq!(running[0]["run_id"], json!(second), "the other goes on");
    assert_eq!(served.post(&format!("/runs/{first}/stop"), &cookie, "token=x").status, 409);
    let stopped = world.cto(["stop", &second, "--json"]).expect(0).json();
    assert_eq!(stopped["stopping"], true);
    let _ = World::finish(other).expect(130);
    let _ = world.cto(["stop", &second]).expect(3);
    let _ = world.cto(["verify", &second]).expect(0);
    let _ = world.cto(["stop", "nothing"]).expect(2);
    assert_eq!(std::fs::read_dir(world.home().join("stops")).unwrap().count(), 0, "nothing is left behind");
}
