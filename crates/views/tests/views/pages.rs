//! Pages of runs.

use contract::{Digest, RunId};
use ledger::RunStatus;
use views::{ListRunsError, RunOrder, RunQuery, Views};

use crate::world::{World, at, now, run};

/// Ids in the order of pages of this size; `between` is called before each page but the first.
fn walk(views: &Views, query: &RunQuery, limit: usize, mut between: impl FnMut(usize)) -> Vec<RunId> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    for page in 0.. {
        if page > 0 {
            between(page);
        }
        let found = views.list_runs(&RunQuery { cursor, limit, ..query.clone() }, now()).unwrap();
        assert!(found.runs.len() <= limit, "a page holds no more than was asked for");
        ids.extend(found.runs.into_iter().map(|run| run.row.run_id));
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    ids
}

/// Eleven runs, several of them started in the same microsecond; newest first.
fn fill(world: &World) -> Vec<RunId> {
    let mut ids: Vec<RunId> = (0..11).map(|number| run(&format!("r{number:03}"))).collect();
    for (number, id) in ids.iter().enumerate() {
        world.start(id, at(&format!("2026-11-16T08:00:{:02}Z", number / 4)), None, None);
    }
    ids.reverse();
    ids
}

#[test]
fn pages_of_any_size_give_every_run_once_and_in_order() {
    let world = World::new();
    let ids = fill(&world);
    for limit in 1..=ids.len() + 1 {
        assert_eq!(walk(&world.views(), &RunQuery::default(), limit, |_| {}), ids, "{limit}");
    }
}

#[test]
fn runs_that_are_started_meanwhile_neither_hide_nor_repeat_one() {
    for limit in 1..6 {
        let world = World::new();
        let ids = fill(&world);
        let found = walk(&world.views(), &RunQuery::default(), limit, |page| {
            world.start(&run(&format!("n{page:03}")), at(&format!("2026-11-16T09:00:{page:02}Z")), None, None);
        });
        assert_eq!(found, ids, "{limit}");
        let all = world.views().list_runs(&RunQuery { limit: 99, ..RunQuery::default() }, now()).unwrap();
        assert_eq!(all.runs.len() as u64, all.total, "the control: the list has grown");
        assert!(all.runs.len() > ids.len());
    }
}

#[test]
fn filters_hold_on_every_page() {
    let world = World::new();
    let ids = fill(&world);
    let since = RunQuery { since: Some(at("2026-11-16T08:00:01Z")), ..RunQuery::default() };
    assert_eq!(walk(&world.views(), &since, 2, |_| {}), ids[..7]);
    let status = |status| RunQuery { status: Some(status), ..RunQuery::default() };
    assert_eq!(walk(&world.views(), &status(RunStatus::Running), 3, |_| {}), ids);
    assert!(walk(&world.views(), &status(RunStatus::Pass), 3, |_| {}).is_empty());
    let engine = |engine: &str| RunQuery { engine: Some(engine.to_owned()), ..RunQuery::default() };
    assert_eq!(walk(&world.views(), &engine("fake"), 4, |_| {}), ids);
    assert!(walk(&world.views(), &engine("other"), 4, |_| {}).is_empty());
}

#[test]
fn a_cursor_that_is_none_is_refused() {
    let query = RunQuery { cursor: Some("@".to_owned()), limit: 1, ..RunQuery::default() };
    let refused = World::new().views().list_runs(&query, now()).unwrap_err();
    assert!(
        matches!(&refused, ListRunsError::Cursor(error) if error.to_string() == "`@` is not a cursor"),
        "{refused}"
    );
}

/// Milliseconds that a sealed run took; two of them took equally long.
fn took(number: usize) -> u64 {
    (number * 7 % 5) as u64
}

/// Runs of three engines, every second one sealed; in the order that they were started.
fn fill_mixed(world: &World) -> Vec<(RunId, &'static str, bool)> {
    let engines = ["pi", "case", "fake"];
    let runs: Vec<_> =
        (0..11).map(|number| (run(&format!("m{number:03}")), engines[number % 3], number % 2 == 0)).collect();
    for (number, (id, engine, is_sealed)) in runs.iter().enumerate() {
        world.start_engine(engine, id, at(&format!("2026-11-16T08:00:{:02}Z", number / 2)));
        if *is_sealed {
            world.seal_bare(id, took(number));
        }
    }
    runs
}

#[test]
fn every_order_gives_every_run_once_on_pages_of_any_size() {
    let world = World::new();
    let runs = fill_mixed(&world);
    let ids = |keep: &dyn Fn(&(RunId, &str, bool)) -> bool| -> Vec<RunId> {
        runs.iter().rev().filter(|run| keep(run)).map(|(id, ..)| id.clone()).collect()
    };
    let by_engine: Vec<RunId> = ["case", "fake", "pi"].into_iter().flat_map(|name| ids(&|run| run.1 == name)).collect();
    let by_status = [ids(&|run| !run.2), ids(&|run| run.2)].concat();
    let oldest: Vec<RunId> = ids(&|_| true).into_iter().rev().collect();
    let mut sealed: Vec<(u64, usize)> = (0..runs.len()).step_by(2).map(|number| (took(number), number)).collect();
    sealed.sort_by_key(|run| std::cmp::Reverse(*run));
    assert!(sealed.windows(2).any(|two| two[0].0 == two[1].0), "two took equally long");
    let longest = sealed.into_iter().map(|(_, number)| runs[number].0.clone());
    let by_time: Vec<RunId> = ids(&|run| !run.2).into_iter().chain(longest).collect();
    for (order, expected) in [
        (RunOrder::Newest, ids(&|_| true)),
        (RunOrder::Oldest, oldest),
        (RunOrder::Status, by_status),
        (RunOrder::Engine, by_engine),
        (RunOrder::Stage, ids(&|_| true)),
        (RunOrder::Took, by_time),
    ] {
        let asked = RunQuery { order, ..RunQuery::default() };
        for limit in 1..=runs.len() + 1 {
            assert_eq!(walk(&world.views(), &asked, limit, |_| {}), expected, "{order:?} {limit}");
        }
        let one = RunQuery { engine: Some("case".to_owned()), ..asked };
        let of_case: Vec<RunId> = expected.into_iter().filter(|id| ids(&|run| run.1 == "case").contains(id)).collect();
        assert_eq!(walk(&world.views(), &one, 2, |_| {}), of_case, "{order:?} of one engine");
    }
    assert_eq!(world.views().list_run_engines().unwrap(), ["case", "fake", "pi"]);
}

#[test]
fn a_cursor_of_another_order_is_refused() {
    let world = World::new();
    fill_mixed(&world);
    let views = world.views();
    let page = |order, cursor| views.list_runs(&RunQuery { order, cursor, limit: 2, ..RunQuery::default() }, now());
    for (order, other) in [
        (RunOrder::Status, RunOrder::Newest),
        (RunOrder::Newest, RunOrder::Engine),
        (RunOrder::Engine, RunOrder::Status),
        (RunOrder::Stage, RunOrder::Took),
        (RunOrder::Took, RunOrder::Stage),
    ] {
        let next = page(order, None).unwrap().next;
        assert!(page(order, next.clone()).is_ok(), "control: {order:?}");
        assert!(matches!(page(other, next), Err(ListRunsError::Cursor(_))), "{order:?}");
    }
}

/// A digest is looked for in rows, and a search that ends early says where it goes on.
#[test]
fn a_run_is_found_by_the_digest_of_its_attestation() {
    let world = World::new();
    let runs = fill_mixed(&world);
    let (wanted, ..) = &runs[4];
    let digest = Digest::of_bytes(wanted.as_str().as_bytes()).to_string();
    let asked = |digest: &str| RunQuery { digest: Some(digest.to_owned()), ..RunQuery::default() };
    for limit in [1, 99] {
        for text in [&digest[..12], &digest] {
            assert_eq!(walk(&world.views(), &asked(text), limit, |_| {}), std::slice::from_ref(wanted), "{text}");
        }
        assert!(walk(&world.views(), &asked("ffffffff0000"), limit, |_| {}).is_empty());
    }
}
