//! The control summary of a home with many runs: small, the same each time, without anything secret, and the console's own numbers.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::{ModelPair, Purpose, Reason, Stage, Stamp, Status};
use ledger::{EngineIdentity, Ledger};
use serde_json::{Value, json};

use super::Served;
use crate::recorded_run::RecordedRun;
use crate::world;

/// Largest summary.
const LARGEST: usize = 256 << 10;
/// The shape of a cloud key, in two parts so that this file does not hold one.
const KEY: &str = concat!("AK", "IAQ3EGRIZD7KWNV2TB");
const TOKEN: &str = concat!("gh", "p_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz1a2");

/// Made-up runs of the last days, with models and sources of their own now and then.
fn fill(ledger: &Path, runs: u32) {
    let ledger = Ledger::open_file(ledger).unwrap();
    for number in 0..runs {
        let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
        let day = 1 + number / 86_400;
        let time: Stamp = format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z").parse().unwrap();
        let suffix = number.wrapping_mul(2_654_435_761);
        let id = format!("202601{day:02}T{hour:02}{minute:02}{second:02}Z-made-up-{suffix:08x}");
        let status = [Status::Pass, Status::Fail, Status::Blocked][(number % 3) as usize];
        let model: ModelPair = format!("local/model-{}", number % 7).parse().unwrap();
        RecordedRun {
            name: &id,
            task: &format!("made-up-{}", number % 500),
            engine: ["fake", "case", "codex", "pi"][(number % 4) as usize],
            stage: Stage::ARTIFICIAL_FIXTURE,
            purpose: Purpose::Governed,
            status,
            reasons: if status == Status::Pass { vec![] } else { vec![Reason::NoDiff.into()] },
            identity: Some(EngineIdentity { source_id: format!("made@{}", number % 50), model: Some(model) }),
        }
        .record_run(&ledger, time);
    }
}

fn ledger_holds(world: &testkit::World, word: &str) -> bool {
    let files = ["ledger.db", "ledger.db-wal"].map(|file| std::fs::read(world.home().join(file)).unwrap_or_default());
    files.iter().any(|bytes| bytes.windows(word.len()).any(|part| part == word.as_bytes()))
}

fn without_time(mut summary: Value) -> Value {
    summary.as_object_mut().unwrap().remove("generated_at");
    summary
}

/// A sample of the 100,000 runs of `cargo xtask soak summary`.
#[test]
fn the_summary_stays_small_and_the_same_however_many_runs_there_are() {
    let runs = testkit::times("CTO_TEST_SUMMARY_RUNS", 600);
    let world = world();
    // Secrets in what an engine says, and in what a person writes.
    let print =
        format!("{{steps: [{{write: {{path: a.txt, text: \"two\\n\"}}}}, {{print: {{text: \"{KEY} {TOKEN}\"}}}}]}}");
    world.case("made", &[("mutation_mode", "candidate-default"), ("fake", &print)]);
    let leaked = world.cto(["run", "./made", "--json"]).expect(1).json();
    assert_eq!(leaked["blocker_reasons"][0], "secret_leak", "the control: there was something to find");
    let _ = world.cto(["key", "init"]).expect(0);
    let _ = world.cto(["request", "./made", "--stage", "4"]).expect(0);
    // A request is kept in the ledger and its sentence stands in the summary, so that none is made of a contract with a secret.
    let title = format!("'rotate {KEY}'");
    world.case("titled", &[("mutation_mode", "candidate-default"), ("title", &title)]);
    let refused = world.cto(["request", "./titled", "--stage", "4"]).expect(2).told();
    assert!(refused.contains("`title` of the contract looks like a secret") && !refused.contains(KEY), "{refused}");
    fill(&world.home().join("ledger.db"), runs);

    let told = world.cto(["summary", "--json"]).expect(0);
    assert!(told.stdout.len() < LARGEST, "{} bytes", told.stdout.len());
    let again = world.cto(["summary", "--json"]).expect(0).json();
    assert_eq!(without_time(told.json()), without_time(again), "the same but for its time");
    let text = told.text();
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    for secret in [KEY, TOKEN, &STANDARD.encode(KEY), &STANDARD.encode(TOKEN), &hex] {
        assert!(!text.contains(secret), "a secret in the summary");
        assert!(!ledger_holds(&world, secret), "a secret in the ledger");
    }
    assert!(!text.contains("http://") && !text.contains("https://"), "no endpoint");
    let file = world.write("summary.json", &told.stdout);
    let _ = world.cto(["validate", "summary", file.to_str().unwrap()]).expect(0);

    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let overview = served.get("/api/cto/overview", &cookie).json();
    let summary = told.json();
    assert_eq!(summary["health"]["total_runs"], overview["total_runs"]);
    assert_eq!(overview["total_runs"], json!(runs + 1));
    let rungs = |ladders: &Value| -> Vec<Value> {
        let all = ladders.as_array().unwrap().iter();
        all.flat_map(|one| {
            one["rungs"].as_array().unwrap().iter().map(|rung| json!([one["engine"], rung["stage"], rung["status"]]))
        })
        .collect()
    };
    assert_eq!(rungs(&summary["ladder"]), rungs(&overview["ladders"]), "one truth about every rung");
    assert_eq!(without_time(summary), without_time(served.get("/api/cto/control-summary", &cookie).json()));
}

/// Ids of every page that the interface leads to, from the first on.
fn follow_pages(served: &Served, cookie: &str, words: &str) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = served.get(&format!("/api/cto/runs?q={words}{cursor}"), cookie).json();
        let ids = page["runs"].as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap().to_owned());
        pages.push(ids.collect());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

/// Every run is on exactly one page, and words find the same runs on pages, in the interface and in the terminal.
#[test]
fn pages_of_runs_are_whole_and_words_mean_the_same_everywhere() {
    let world = world();
    world.make_home();
    fill(&world.home().join("ledger.db"), 120);
    let served = Served::start(&world, &["--read-only"]);
    let cookie = served.log_in();
    let listed = |words: &[&str]| -> Vec<String> {
        let told = world.cto([&["runs", "--limit", "1000", "--json"], words].concat()).expect(0).text();
        let rows = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| row["run_id"].as_str().unwrap().to_owned()).collect()
    };
    let pages = follow_pages(&served, &cookie, "");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    assert_eq!(pages.concat(), listed(&[]));
    for (words, least) in [
        (&["engine:pi", "status:blocked"][..], 5),
        (&["reason:no_diff"], 50),
        (&["model:model-3"], 10),
        (&["model:local/model-3", "stage:2"], 10),
        (&["made-up-7"], 1),
        (&["stage:5"], 0),
    ] {
        let found = follow_pages(&served, &cookie, &words.join("%20")).concat();
        assert!(found.len() >= least && found.len() < 120, "{words:?}: {}", found.len());
        assert_eq!(found, listed(words), "{words:?}");
    }
    let _ = world.cto(["runs", "colour:red"]).expect(2);
    // The page itself leads on and back.
    let first = served.get("/runs", &cookie).text();
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    let second = served.get(&next, &cookie).text();
    assert!(second.contains(&format!("/runs/{}\"", pages[1][0])) && second.contains("First page"), "{next}");
    assert_eq!(served.get("/runs?cursor=nonsense", &cookie).status, 400);
}
