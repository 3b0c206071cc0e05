//! Model use.

use contract::RunId;
use ledger::EntryKind;
use serde_json::json;

use crate::world::{World, at, now, run};

fn tell(world: &World, kind: EntryKind, day: &str, run: &str, tokens: Option<u64>) {
    let body = json!({"day": day, "pair": "p/m", "run": run, "requests": 1, "tokens": tokens, "money_micros": 5});
    world.ledger().append(kind, None, at(&format!("{day}T10:00:00Z")), &body).unwrap();
}

#[test]
fn model_use_is_summed_up_by_day_engine_and_pair() {
    let (reserved, settled) = (EntryKind::ModelReserved, EntryKind::ModelSettled);
    let world = World::new();
    let (one, two): (RunId, RunId) = (run("aaaa"), run("bbbb"));
    for run_id in [&one, &two] {
        world.start(run_id, at("2026-11-16T07:00:00Z"), None, None);
    }
    tell(&world, reserved, "2026-11-15", one.as_str(), Some(900));
    for (kind, run, tokens) in [
        (reserved, one.as_str(), Some(500)),
        (settled, one.as_str(), Some(41)),
        (settled, one.as_str(), Some(40)),
        (reserved, two.as_str(), Some(300)),
        (reserved, "unknown", None),
    ] {
        tell(&world, kind, "2026-11-16", run, tokens);
    }
    let rows = world.views().view_spend(at("2026-11-16T00:00:00Z")).unwrap();
    let sums: Vec<_> = rows.iter().map(|row| (row.engine.as_deref(), row.runs, row.open_runs, row.tokens)).collect();
    assert_eq!(sums, [(None, 1, 1, 0), (Some("fake"), 2, 1, 340)]);
    assert_eq!(rows[1].money_micros, 10);
    let all = world.views().view_spend(at("2026-11-01T00:00:00Z")).unwrap();
    let days: Vec<_> = all.iter().map(|row| (row.day.as_str(), row.tokens)).collect();
    assert_eq!(days, [("2026-11-15", 900), ("2026-11-16", 0), ("2026-11-16", 340)]);
    assert!(world.views().view_spend(now()).unwrap().is_empty());
}
