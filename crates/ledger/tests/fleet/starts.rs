//! The start of a run in one statement: it checks what the steps one by one check, and the program compares what it made.

use std::time::Duration;

use crate::fixtures::{digest, run, started};
use crate::queue::ask;
use crate::rights::TwoWorkers;
use crate::world::World;
use contract::canonical_text;
use ledger::{AppendEntryError, ClaimAsk, QueueRefusal, RunIntent, RunStarted};
use serde_json::{Value, json};
use testkit::each_row;

/// The body of a start under an epoch.
fn body_under(epoch: u64) -> Value {
    let intent = RunIntent { owner: Some(digest("0a")), epoch: Some(epoch), ..started(&run("bbbb"), 0).intent };
    serde_json::to_value(intent).unwrap()
}

/// A start by hand, with the function that a worker has.
fn start_by_hand(time: &str, body: &str, until: &str) -> String {
    format!("SELECT hash FROM cto.start_run('{time}', '{}', '{body}', '{until}')", run("bbbb"))
}

/// Each part of a start that is wrong is refused of the worker that has claimed the run, and the whole start of any other worker.
#[test]
fn a_start_in_one_statement_is_checked_like_its_steps() {
    let two = TwoWorkers::new();
    let claim = ClaimAsk { lease: Duration::from_secs(600), ..ask(two.now) };
    assert_eq!(two.ledger_of(&two.honest).queue_claimed(&claim).unwrap().unwrap().run_id, run("bbbb"));
    let (now, until, far) = (two.now.to_string(), two.now.after(Duration::from_secs(600)).to_string(), "9999-01-01");
    let text = |body: Value| canonical_text(&body).unwrap();
    let good = text(body_under(1));
    let mut deep = body_under(1);
    deep["detail"] = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let mut wide = body_under(1);
    wide["stage"] = json!(99);
    let rows = [
        ("another epoch", (start_by_hand(&now, &text(body_under(2)), &until), "not claimed under this epoch")),
        ("no epoch", (start_by_hand(&now, &good.replace("\"epoch\":1,", ""), &until), "not claimed under this epoch")),
        ("disorder", (start_by_hand(&now, &good.replacen('{', "{ ", 1), &until), "canonical form")),
        ("depth", (start_by_hand(&now, &text(deep), &until), "canonical form")),
        ("stage", (start_by_hand(&now, &text(wide), &until), "no start of a run")),
        ("no time", (start_by_hand("now", &good, &until), "has no time")),
        ("a time ahead", (start_by_hand("9999-01-01T00:00:00.000000Z", &good, &until), "ahead of the server")),
        ("a lease for ever", (start_by_hand(&now, &good, "9999-01-01T00:00:00.000000Z"), "ends too late")),
        ("no lease", (start_by_hand(&now, &good, far), "ends too late")),
    ];
    each_row(rows, |(sql, why)| {
        let refused = two.attempt(&two.honest, &sql).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    });
    let sql = start_by_hand(&now, &good, &until);
    let refused = two.attempt(&two.stolen, &sql).unwrap_err();
    assert!(refused.contains("is not of role"), "{refused}");
    two.world.edit(&format!("INSERT INTO workers VALUES ('{}', TRUE)", two.honest));
    let refused = two.attempt(&two.honest, &sql).unwrap_err();
    assert!(refused.contains("was removed from the fleet"), "{refused}");
    two.world.edit("DELETE FROM workers");
    two.world.server.run_sql_as(&two.honest, &two.world.database, &sql).expect("the control");
    assert_eq!(two.world.open().verify().unwrap().problems, vec![]);
    let lease = two.world.open().lease(&run("bbbb")).unwrap().unwrap();
    assert_eq!((lease.epoch, lease.owner, lease.until.to_string()), (1, digest("0a"), until));
}

/// The steps one by one name the reason that the one statement has for its refusal.
#[test]
fn a_refused_start_names_its_reason() {
    let two = TwoWorkers::new();
    let worker = two.ledger_of(&two.honest);
    let start = |suffix: &str, epoch| {
        let plain = started(&run(suffix), 0);
        worker.run_started(&RunStarted { intent: RunIntent { epoch, ..plain.intent }, ..plain })
    };
    assert!(matches!(start("aaaa", Some(1)), Err(AppendEntryError::AlreadyStarted { .. })));
    let refused = start("bbbb", Some(1));
    assert!(
        matches!(refused, Err(AppendEntryError::TurnRefused { why: QueueRefusal::OldEpoch { held: 0, .. }, .. })),
        "{refused:?}"
    );
    start("cccc", None).expect("the control");
}

/// A server that made another entry or another row than the program meant starts nothing that the program goes on with.
#[test]
fn what_the_server_made_of_a_start_is_compared() {
    let rows = [
        ("control", "SELECT k.run, k.prev, k.hash", None),
        ("another entry", "SELECT k.run, k.prev, repeat('a', 64)", Some("the hash of the entry")),
        (
            "another row",
            "SELECT jsonb_populate_record(k.run, '{\"engine\":\"another\"}'), k.prev, k.hash",
            Some("the row of the run"),
        ),
    ];
    for (name, answer, why) in rows {
        let world = World::new();
        let ledger = world.open();
        world.edit(&format!(
            "ALTER FUNCTION start_run(TEXT, TEXT, TEXT, TEXT) RENAME TO kept; \
             CREATE FUNCTION start_run(of_time TEXT, of_run TEXT, of_body TEXT, until TEXT) \
             RETURNS TABLE (run runs, prev TEXT, hash TEXT) LANGUAGE sql SET search_path = cto AS $$ \
             {answer} FROM kept(of_time, of_run, of_body, until) AS k $$"
        ));
        let told = ledger.run_started(&started(&run("aaaa"), 0)).map_err(|error| error.to_string());
        match why {
            None => assert_eq!(told.unwrap().seq, 1, "{name}"),
            Some(why) => assert!(told.unwrap_err().contains(why), "{name}"),
        }
    }
}
