//! Pages of runs.

use contract::RunId;
use ledger::RunStatus;
use views::{ListRunsError, RunQuery, Views};

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
