//! Looking changes nothing, whatever state a home is in.

use std::sync::Arc;

use contract::Stage;
use ledger::EntryKind;
use serde::Serialize;
use serde_json::{Value, json};
use views::{RunQuery, RungIdentity, Views, compare_runs};

use crate::world::{World, at, golden_key, now, run, terms};

/// SQLite's memory of locks and of where the log's pages are. It holds no entry, and readers write into it.
const SHARED_MEMORY: &str = "ledger.db-shm";

fn document(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Every query, each by its name.
fn ask(views: &Views, query: &str, sealed: &str) -> Value {
    let page = || RunQuery { limit: 2, ..RunQuery::default() };
    match query {
        "runs" => document(views.list_runs(&page(), now()).unwrap()),
        "run" => document(views.view_run(sealed, now()).unwrap()),
        "imported" => document(views.view_run("jsyc", now()).unwrap()),
        "collected" => document(views.view_run("n8ts", now()).unwrap()),
        "dead" => json!(views.view_run("dead", now()).unwrap_err().to_string()),
        "alive" => json!(views.view_run("live", now()).unwrap_err().to_string()),
        "compare" => {
            let found = [views.find_run(sealed, now()).unwrap(), views.find_run("jsyc", now()).unwrap()];
            document(compare_runs(&found, &[golden_key()]).unwrap())
        }
        "ladder" => {
            let identity = RungIdentity { engine: "fake", source_id: "fake@0.1.0", pair: None };
            document(views.view_ladder(identity, terms()).unwrap())
        }
        "verify" => document(Arc::as_ref(&views.recall_verification(sealed, now()).unwrap())),
        "verify again" => document(Arc::as_ref(&views.verify_again(sealed, now()).unwrap())),
        "spend" => document(views.view_spend(at("2026-01-01T00:00:00Z")).unwrap()),
        "live" => document(views.list_live(now()).unwrap()),
        other => panic!("there is no query {other}"),
    }
}

const QUERIES: &[&str] = &[
    "runs",
    "run",
    "imported",
    "collected",
    "dead",
    "alive",
    "compare",
    "ladder",
    "verify",
    "verify again",
    "spend",
    "live",
];

#[test]
fn a_home_is_the_same_byte_for_byte_after_every_query() {
    let world = World::new();
    let sealed = world.seal("pass");
    world.import("fail");
    world.collect("blocked");
    let (dead, live) = (run("dead"), run("live"));
    for run_id in [&dead, &live] {
        world.start(run_id, at("2026-11-16T07:00:00Z"), None, None);
    }
    drop(world.draft(&dead, 3));
    let _lock = world.draft(&live, 3);
    let account =
        json!({"day": "2026-11-16", "pair": "p/m", "run": sealed, "requests": 1, "tokens": 2, "money_micros": 3});
    world.ledger().append(EntryKind::ModelSettled, None, now(), &account).unwrap();
    for query in QUERIES {
        let before = testkit::contents(world.root(), &[SHARED_MEMORY]);
        assert!(before.keys().any(|path| path.starts_with("active/") && path.contains("dead")), "the control");
        let answer = ask(&world.views(), query, sealed.as_str());
        assert!(!answer.is_null(), "{query}");
        assert_eq!(testkit::contents(world.root(), &[SHARED_MEMORY]), before, "{query}");
    }
}

#[test]
fn a_home_in_which_nothing_was_ever_run_is_empty_and_stays_so() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("missing");
    let bundles = ledger::Bundles::in_home(&root);
    let home = views::ViewedHome { ledger: None, bundles, active: root.join("active"), shared_as: None };
    let views = Views::new(home);
    let page = views.list_runs(&RunQuery { limit: 9, ..RunQuery::default() }, now()).unwrap();
    assert!(page.runs.is_empty() && page.next.is_none() && page.total == 0);
    assert_eq!(views.view_run("@", now()).unwrap_err().to_string(), "no run matches `@`");
    assert!(views.list_live(now()).unwrap().is_empty());
    assert!(views.view_spend(at("2026-01-01T00:00:00Z")).unwrap().is_empty());
    let identity = RungIdentity { engine: "fake", source_id: "fake@0.1.0", pair: None };
    assert_eq!(views.view_ladder(identity, terms()).unwrap().rungs.len(), usize::from(last_stage().number()));
    assert!(!root.exists());
}

fn last_stage() -> Stage {
    (1..=u8::MAX).map_while(|number| Stage::try_from(number).ok()).last().unwrap()
}
