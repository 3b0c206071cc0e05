//! Limits hold for the run as a whole, however many requests are under way.

use std::sync::Arc;
use std::thread;

use bridge::{Outcome, PriceTable, RefusalCode, UseLimits};
use fixtures::scripted::Reply;

use crate::world::{World, always};

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":10}"#;

/// Sends many requests at once; gives how many were answered and how many refused.
fn storm(world: &Arc<World>, count: usize) -> (usize, usize) {
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let world = Arc::clone(world);
            thread::spawn(move || world.post("/v1/chat/completions", BODY).status)
        })
        .collect();
    let statuses: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(statuses.iter().all(|status| *status == 200 || *status == 429), "{statuses:?}");
    (statuses.iter().filter(|status| **status == 200).count(), statuses.iter().filter(|status| **status == 429).count())
}

fn world(limits: UseLimits, reply: Reply) -> World {
    World::with(always(reply), |config| {
        config.limits = limits;
        config.prices = PriceTable::read_table(
            br#"{"prices":[{"provider":"prov","model":"m","prompt":1000000,"completion":1000000}]}"#,
        )
        .unwrap();
        config.deadlines.total = std::time::Duration::from_secs(30);
    })
}

#[test]
fn requests_are_limited_exactly_across_parallel_ones() {
    let world = Arc::new(world(
        UseLimits { requests: Some(5), ..UseLimits::default() },
        Reply { delay_head_ms: 50, ..Reply::text("x") },
    ));
    assert_eq!(storm(&world, 24), (5, 19));
    assert_eq!(world.asked().len(), 5);
    assert_eq!(world.bridge().exceeded(), Some(RefusalCode::RequestLimit));
    let mut world = Arc::into_inner(world).unwrap();
    let refused = world.records().iter().filter(|record| record.refusal == Some(RefusalCode::RequestLimit)).count();
    assert_eq!(refused, 19);
}

/// Eighteen tokens each: the limit of 40 is crossed by the third request and no other starts.
#[test]
fn tokens_are_limited_across_parallel_ones() {
    let world = Arc::new(world(
        UseLimits { tokens: Some(40), ..UseLimits::default() },
        Reply { delay_head_ms: 20, ..Reply::text("x") },
    ));
    assert_eq!(storm(&world, 12), (3, 9));
    assert_eq!(world.bridge().spent().tokens, 54);
    assert_eq!(world.bridge().exceeded(), Some(RefusalCode::TokenLimit));
}

#[test]
fn money_is_limited_across_parallel_ones() {
    let limits = UseLimits { money_micros: Some(40), ..UseLimits::default() };
    let world = Arc::new(world(limits, Reply { delay_head_ms: 20, ..Reply::text("x") }));
    assert_eq!(storm(&world, 12), (3, 9));
    assert_eq!(world.bridge().spent().money_micros, 54);
}

#[test]
fn usage_that_is_not_reported_is_charged_as_estimated() {
    let mut world =
        world(UseLimits { tokens: Some(20), ..UseLimits::default() }, Reply { usage: None, ..Reply::text("x") });
    assert_eq!(world.post("/v1/chat/completions", BODY).status, 200);
    let got = world.post("/v1/chat/completions", BODY);
    assert_eq!((got.status, got.code().as_str()), (429, "token_limit"));
    assert_eq!(got.header("x-should-retry"), Some("false"));
    assert_eq!(world.stop().exceeded, Some(RefusalCode::TokenLimit));
}

#[test]
fn a_money_limit_refuses_a_model_without_a_price() {
    let mut world = World::with(always(Reply::text("x")), |config| config.limits.money_micros = Some(1_000_000));
    let got = world.post("/v1/messages", r#"{"model":"m","messages":[]}"#);
    assert_eq!((got.status, got.json()["error"]["type"].as_str().unwrap()), (429, "rate_limit_error"));
    assert!(world.asked().is_empty());
    let record = world.record();
    assert_eq!((record.outcome, record.refusal), (Outcome::Refused, Some(RefusalCode::ModelUnpriced)));
}
