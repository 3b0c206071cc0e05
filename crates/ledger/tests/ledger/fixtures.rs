//! Short ways to fill a ledger.

use std::sync::LazyLock;

use contract::{Digest, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{RunIntent, RunSeal, RunSealed, RunStarted};

/// As it is stored, and as it is given.
pub(crate) const TIME_TEXT: &str = "2026-03-01T10:00:00.000000Z";
pub(crate) static TIME: LazyLock<Stamp> = LazyLock::new(|| at(TIME_TEXT));

/// The run with this suffix.
pub(crate) fn run(suffix: &str) -> RunId {
    id(&format!("20260301T100000Z-r1-{suffix}"))
}

pub(crate) fn id(text: &str) -> RunId {
    text.to_owned().try_into().unwrap()
}

pub(crate) fn at(text: &str) -> Stamp {
    text.parse().unwrap()
}

pub(crate) fn digest(pair: &str) -> Digest {
    pair.repeat(32).parse().unwrap()
}

pub(crate) fn started(run_id: &RunId, second: u32) -> RunStarted {
    RunStarted {
        run_id: run_id.clone(),
        time: at(&format!("2026-03-01T10:{:02}:{:02}.000000Z", second / 60, second % 60)),
        lease_until: None,
        intent: RunIntent {
            task_id: "r1".to_owned().try_into().unwrap(),
            engine: "fake".to_owned(),
            stage: Stage::ARTIFICIAL_FIXTURE,
            purpose: Purpose::Governed,
            owner: None,
            epoch: None,
            detail: serde_json::Value::Null,
        },
    }
}

pub(crate) fn sealed(run_id: &RunId) -> RunSealed {
    RunSealed {
        run_id: run_id.clone(),
        time: at("2026-03-01T11:00:00.000000Z"),
        epoch: None,
        seal: RunSeal {
            status: Status::Fail,
            finished_at: at("2026-03-01T10:59:59.000000Z"),
            duration_ms: 1200,
            reasons: vec![Reason::NoDiff.into()],
            tests_passed: Some(3),
            tests_executed: Some(4),
            attestation_sha256: digest("ab"),
            bundle: format!("harness-runs/{run_id}"),
            owner: None,
            identity: None,
        },
    }
}
