//! Looking changes nothing, whatever state a home is in.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::approval::PolicyTerms;
use contract::signer::SignerStanding;
use contract::{CollectionKind, Stage};
use ledger::{EntryKind, TaskRuns};
use serde::Serialize;
use serde_json::{Value, json};
use views::{
    RefusedAct, RequestQuery, RequestRules, RunQuery, RunTally, RungIdentity, SummaryFacts, Transcript, Views,
    compare_runs,
};

use crate::world::{World, at, golden_key, now, run, terms};

/// SQLite's memory of locks and of where the log's pages are. It holds no entry, and readers write into it.
const SHARED_MEMORY: &str = "ledger.db-shm";

fn document(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

const ONE_APPROVAL: PolicyTerms = PolicyTerms {
    approvals_required: 1,
    distinct_from_requester: false,
    max_ttl: 60,
    require_hardware_key: false,
    break_glass: false,
};

/// Nobody may sign, and a single approval is enough.
fn rules() -> RequestRules<'static> {
    RequestRules { standing: &|_, _, _| SignerStanding::NotListed, terms: &|_, _| ONE_APPROVAL }
}

fn identity() -> RungIdentity<'static> {
    RungIdentity { engine: "fake", source_id: "fake@0.1.0", pair: None }
}

/// Text of an answer that is no document; errors are answers too.
fn words(value: impl fmt::Debug) -> Value {
    json!(format!("{value:?}"))
}

/// Each query of `Views` by its name, some with a word for the state of the run that is asked for.
fn ask(views: &Views, query: &str, sealed: &str) -> Value {
    let page = || RunQuery { limit: 2, ..RunQuery::default() };
    let bound = || views.find_run(sealed, now()).unwrap().bind_bundle(&[golden_key()]).unwrap();
    match query {
        "list_runs" => document(views.list_runs(&page(), now()).unwrap()),
        "count_runs" => json!(views.count_runs().unwrap()),
        "find_document" => {
            let task_id = "run-all-fake".to_owned().try_into().unwrap();
            let matrices = TaskRuns { task_id: &task_id, engine: None };
            words(views.find_document(matrices, CollectionKind::Matrix, now()).unwrap())
        }
        "find_run" => words(views.find_run(sealed, now()).unwrap()),
        "find_at" => words(views.find_at(&views.bundles().bundle_dir(&sealed.to_owned().try_into().unwrap())).unwrap()),
        "find_row" => words(views.find_row(sealed).unwrap()),
        "view_run" => document(views.view_run(sealed, now()).unwrap()),
        "view_run imported" => document(views.view_run("jsyc", now()).unwrap()),
        "view_run collected" => document(views.view_run("n8ts", now()).unwrap()),
        "view_run dead" => json!(views.view_run("dead", now()).unwrap_err().to_string()),
        "view_run alive" => json!(views.view_run("live", now()).unwrap_err().to_string()),
        "read_events" => words(views.read_events(sealed, 0, now()).unwrap()),
        "read_events dead" => words(views.read_events("dead", 0, now())),
        "compare_runs" => {
            let found = [views.find_run(sealed, now()).unwrap(), views.find_run("jsyc", now()).unwrap()];
            document(compare_runs(&found, &[golden_key()]).unwrap())
        }
        "transcript" => words((Transcript::of_bundle(&bound()).unwrap(), RefusedAct::list_refused(&bound()).unwrap())),
        "view_answer" => words(views.view_answer(&sealed.to_owned().try_into().unwrap()).unwrap()),
        "list_imported" => words(views.list_imported(now()).unwrap()),
        "view_ladder" => document(views.view_ladder(identity(), terms()).unwrap()),
        "explain_rung" => document(views.explain_rung(identity(), last_stage(), terms()).unwrap()),
        "list_run_engines" => words(views.list_run_engines().unwrap()),
        "read_workers" => words(views.read_workers(&|_, _, _| SignerStanding::NotListed).is_ok()),
        "list_models" => words(views.list_models("fake").unwrap()),
        "find_older_identity" => words(views.find_older_identity("fake").unwrap()),
        "list_unanswered" => words(views.list_unanswered(9).unwrap()),
        "count_proven" => json!(views.count_proven()),
        "recall_verification" => document(Arc::as_ref(&views.recall_verification(sealed, now()).unwrap())),
        "verify_again" => document(Arc::as_ref(&views.verify_again(sealed, now()).unwrap())),
        "view_spend" => document(views.view_spend(at("2026-01-01T00:00:00Z")).unwrap()),
        "count_sealed" => {
            let mut tally = RunTally::default();
            views.count_sealed(&mut tally).unwrap();
            words(tally)
        }
        "list_open" => document(views.list_open().unwrap()),
        "list_live" => document(views.list_live(now()).unwrap()),
        "list_requests" => words(views.list_requests(&RequestQuery::default(), &rules(), now()).unwrap()),
        "find_key_use" => words(views.find_key_use("SHA256:none", at("2026-01-01T00:00:00Z")).unwrap()),
        "compose_summary" => {
            let facts = SummaryFacts { climbers: Vec::new(), rules: &rules(), halted: None, now: now() };
            document(views.compose_summary(&facts).unwrap())
        }
        other => panic!("there is no query {other}"),
    }
}

const QUERIES: &[&str] = &[
    "list_runs",
    "count_runs",
    "find_document",
    "find_run",
    "find_at",
    "find_row",
    "view_run",
    "view_run imported",
    "view_run collected",
    "view_run dead",
    "view_run alive",
    "read_events",
    "read_events dead",
    "compare_runs",
    "transcript",
    "view_answer",
    "list_imported",
    "view_ladder",
    "explain_rung",
    "list_run_engines",
    "read_workers",
    "list_models",
    "find_older_identity",
    "list_unanswered",
    "count_proven",
    "recall_verification",
    "verify_again",
    "view_spend",
    "count_sealed",
    "list_open",
    "list_live",
    "list_requests",
    "find_key_use",
    "compose_summary",
];

/// Functions that make a value of `Views` or hand out a part of it, and ask nothing.
const NO_QUERIES: &[&str] = &["new", "trusting_keys", "sharing_memo", "bundles"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Public functions in the blocks `impl Views` of a source.
fn public_queries(source: &str) -> Vec<String> {
    let blocks = source.split("\nimpl Views {\n").skip(1);
    let bodies = blocks.map(|rest| rest.split("\n}\n").next().unwrap_or(rest));
    let heads = bodies.flat_map(|body| body.lines().filter_map(|line| line.strip_prefix("    pub fn ")));
    heads.map(|head| head.split(['(', '<']).next().unwrap_or(head).to_owned()).collect()
}

#[test]
fn every_query_of_the_crate_is_asked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let texts = sources(&folder).into_iter().map(|path| fs::read_to_string(path).unwrap());
    let all: Vec<String> = texts.flat_map(|text| public_queries(&text)).collect();
    assert!(all.len() > 20, "{all:?}");
    let asked: BTreeSet<&str> = QUERIES.iter().filter_map(|query| query.split(' ').next()).collect();
    let is_unasked = |name: &&String| !asked.contains(name.as_str()) && !NO_QUERIES.contains(&name.as_str());
    assert_eq!(all.iter().filter(is_unasked).collect::<Vec<_>>(), [""; 0], "each needs a row in QUERIES");
    let control = "\nimpl Views {\n    pub fn ask_more(&self) {\n    }\n    fn own(&self) {}\n}\n\nimpl Other {\n    pub fn not(&self) {}\n}\n";
    assert_eq!(public_queries(control), ["ask_more"]);
}

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
    assert_eq!(views.view_ladder(identity(), terms()).unwrap().rungs.len(), usize::from(last_stage().number()));
    assert!(!root.exists());
}

fn last_stage() -> Stage {
    (1..=u8::MAX).map_while(|number| Stage::try_from(number).ok()).last().unwrap()
}
