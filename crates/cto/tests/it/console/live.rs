//! Live runs: whenever a page is opened, and however often its stream is cut, it ends with exactly the events of the bundle.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::World;

use super::Served;
use crate::world;

/// A case that takes some seconds and says something all the time.
pub(super) fn lay_slow_case(world: &World) {
    let talk = "for i in $(seq 40); do echo line $i; sleep 0.1; done; printf 'x\\n' >> a.txt";
    world.case("made", &[("fake", &json!({"steps": [{"run": {"argv": ["sh", "-c", talk]}}]}).to_string())]);
}

pub(super) fn live_run(world: &World) -> String {
    testkit::wait_for("a run that goes on", || {
        let status = world.cto(["status", "--json"]);
        // The run makes the home.
        let status = (status.code == 0).then(|| status.json())?;
        status["running"][0]["run_id"].as_str().map(str::to_owned)
    })
}

/// Reads a stream until it is sealed, or until some lines of data came. Gives the lines and the last id.
pub(super) fn follow(
    served: &Served,
    cookie: &str,
    run: &str,
    after: Option<&str>,
    most: usize,
) -> (Vec<String>, Option<String>) {
    let stream = TcpStream::connect(&served.host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let last = after.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
    let head =
        format!("GET /api/cto/runs/{run}/events HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n{last}\r\n", served.host);
    (&stream).write_all(head.as_bytes()).unwrap();
    let (mut lines, mut id) = (Vec::new(), after.map(str::to_owned));
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(text) = line.strip_prefix("data: {\"") {
            lines.push(format!("{{\"{text}"));
        }
        if let Some(text) = line.strip_prefix("id: ") {
            id = Some(text.to_owned());
        }
        if line == "event: sealed" || lines.len() >= most {
            break;
        }
    }
    (lines, id)
}

#[test]
fn every_viewer_ends_with_the_whole_history() {
    let world = world();
    lay_slow_case(&world);
    let child = world.start(["run", "./made", "--json"]);
    let run = live_run(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let page = served.get(&format!("/runs/{run}"), &cookie).text();
    assert!(page.contains("No verdict yet.") && page.contains("data-live="), "{page}");
    let viewers: Vec<Vec<String>> = std::thread::scope(|scope| {
        let follow_all = |viewer: u64| {
            let (served, cookie, run) = (&served, &cookie, &run);
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(viewer * 350));
                // Half of them are cut after a few events, again and again, and resume behind the last one.
                let most = if viewer.is_multiple_of(2) { 4 } else { usize::MAX };
                let (mut all, mut last) = (Vec::new(), None);
                loop {
                    let (lines, id) = follow(served, cookie, run, last.as_deref(), most);
                    let was_cut = lines.len() >= most;
                    all.extend(lines);
                    last = id;
                    if !was_cut {
                        return all;
                    }
                }
            })
        };
        let started: Vec<_> = (0..10).map(follow_all).collect();
        started.into_iter().map(|viewer| viewer.join().unwrap()).collect()
    });
    let ran = World::finish(child);
    let bundle = world.bundles().join(&run);
    let text = std::fs::read_to_string(bundle.join("events.normalized.jsonl"))
        .unwrap_or_else(|error| panic!("{error}: {}", ran.told()));
    let expected: Vec<&str> = text.lines().collect();
    assert!(expected.len() > 10, "{}", ran.told());
    for (number, seen) in viewers.iter().enumerate() {
        assert_eq!(seen, &expected, "viewer {number}");
    }
    // A page that begins a new stream says in the address which event it has.
    let (had, rest) = expected.split_at(expected.len() - 3);
    let had: serde_json::Value = serde_json::from_str(had.last().unwrap()).unwrap();
    let text = served.get(&format!("/api/cto/runs/{run}/events?after={}", had["seq"]), &cookie).text();
    let sent: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "{}").collect();
    assert_eq!(sent, rest, "{text}");
}

#[test]
fn a_killed_run_is_said_to_be_gone_and_its_end_is_shown() {
    let world = world();
    lay_slow_case(&world);
    let mut child = world.start(["run", "./made", "--json"]);
    let run = live_run(&world);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let began = Instant::now();
    child.kill().unwrap();
    child.wait().unwrap();
    testkit::wait_for("the page to say it", || {
        let page = served.get(&format!("/runs/{run}"), &cookie).text();
        page.contains("Its process is gone").then_some(())
    });
    assert!(began.elapsed() < Duration::from_secs(60));
    world.recover_killed();
    let page = served.get(&format!("/runs/{run}"), &cookie).text();
    assert!(!page.contains("Its process is gone") && page.contains("Verify bundle"), "{page}");
}
