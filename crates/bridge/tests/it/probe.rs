//! The response-shape probe, against models that speak and models that only think.

use bridge::{Outcome, ProbeResult, Purpose, RefusalCode, Wire};
use fixtures::scripted::{Raw, Reply};

use crate::world::{World, always};

fn check(reply: &Reply, expected: &ProbeResult) {
    for wire in Wire::ALL {
        let mut world = World::new(always(reply.clone()));
        assert_eq!(world.bridge().probe_model(wire), *expected, "{wire:?}");
        let asked = world.asked().remove(0).json();
        let budget = if wire == Wire::Responses { &asked["max_output_tokens"] } else { &asked["max_tokens"] };
        assert_eq!(*budget, 1024);
        let record = world.record();
        assert_eq!(record.purpose, Purpose::Probe);
        assert!(!record.is_evidence(), "a probe is no evidence of the run's own work");
    }
}

#[test]
fn shapes_are_told_apart() {
    check(&Reply::text("ready"), &ProbeResult::Content);
    check(&Reply { reasoning: Some("hm".to_owned()), ..Reply::text("ready") }, &ProbeResult::Content);
    check(&Reply { reasoning: Some("only thoughts".to_owned()), ..Reply::default() }, &ProbeResult::ReasoningOnly);
    check(&Reply::default(), &ProbeResult::Empty);
    check(&Reply::error(500, "down"), &ProbeResult::UpstreamError(500));
    check(
        &Reply { model: Some("other".to_owned()), ..Reply::text("x") },
        &ProbeResult::Refused(RefusalCode::OtherModelAnswered),
    );
    check(&Reply { cut_after: Some(1), ..Reply::default() }, &ProbeResult::Refused(RefusalCode::UpstreamCut));
    check(&Reply::raw(vec![Raw::Hang]), &ProbeResult::Refused(RefusalCode::UpstreamTimeout));
}

/// Content that comes late is fine, and what follows it is not waited for.
#[test]
fn it_passes_as_soon_as_content_arrives() {
    let reply =
        Reply { reasoning: Some("a".repeat(20)), frames: 20, delay_frame_ms: 20, ..Reply::text("ready".repeat(20)) };
    let mut world = World::new(always(reply));
    let began = std::time::Instant::now();
    assert_eq!(world.bridge().probe_model(Wire::ChatCompletions), ProbeResult::Content);
    assert!(began.elapsed() < std::time::Duration::from_millis(750), "{:?}", began.elapsed());
    let record = world.record();
    assert_eq!((record.outcome, record.tokens.completion), (Outcome::Answered, None));
}
