//! `fill LEDGER N [SHAPE [HOME]]`: appends N made-up runs, started and sealed in 2020. Where the shape keeps
//! bundles, HOME gets an empty folder in the place of each.
//! For `cargo xtask bench ledger` and `cargo xtask bench ladder`.

use std::error::Error;
use std::path::Path;

use contract::{Digest, ModelPair, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{Collection, EngineIdentity, EntryKind, Ledger, RunCollected, RunIntent, RunSeal, RunSealed, RunStarted};
use serde_json::json;

/// The kind of runs that a ledger is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Runs of three engines at stage 2, passed, failed and blocked.
    Mixed,
    /// Failed runs of one engine at stage 2.
    Failed,
    /// Passes at stage 2 whose bundles were collected.
    Collected,
    /// Passes at stage 5 that nobody answered.
    Waiting,
    /// Passes at stage 5 that somebody answered.
    Answered,
    /// Passes at stage 2, each of another source.
    Sources,
    /// Outages at stage 2 whose bundles were collected.
    CollectedOutages,
    /// Outages at stage 2 whose bundles are there.
    KeptOutages,
    /// The same of the fake engine of this build, which needs no model.
    OwnOutages,
}

impl Shape {
    const ALL: [(&'static str, Self); 9] = [
        ("mixed", Self::Mixed),
        ("failed", Self::Failed),
        ("collected", Self::Collected),
        ("waiting", Self::Waiting),
        ("answered", Self::Answered),
        ("sources", Self::Sources),
        ("collected_outages", Self::CollectedOutages),
        ("kept_outages", Self::KeptOutages),
        ("own_outages", Self::OwnOutages),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, shape)| *shape)
    }

    fn engine(self, number: u32) -> &'static str {
        match self {
            Self::Mixed => ["fake", "case", "codex"][(number % 3) as usize],
            Self::OwnOutages => "fake",
            _ => "codex",
        }
    }

    fn is_outage(self) -> bool {
        matches!(self, Self::CollectedOutages | Self::KeptOutages | Self::OwnOutages)
    }

    fn keeps_bundles(self) -> bool {
        matches!(self, Self::KeptOutages | Self::OwnOutages)
    }

    fn stage(self) -> Stage {
        match self {
            Self::Waiting | Self::Answered => Stage::OWNED_REPOSITORY,
            _ => Stage::ARTIFICIAL_FIXTURE,
        }
    }

    fn status(self, number: u32) -> Status {
        match self {
            Self::Mixed => [Status::Pass, Status::Pass, Status::Fail, Status::Blocked][(number % 4) as usize],
            Self::Failed => Status::Fail,
            _ if self.is_outage() => Status::Blocked,
            _ => Status::Pass,
        }
    }

    /// Reasons of a run that did not pass.
    fn reasons(self, status: Status) -> Vec<Reason> {
        match (status, self) {
            (Status::Pass, _) => vec![],
            (_, shape) if shape.is_outage() => vec![Reason::ProviderUnavailable],
            _ => vec![Reason::NoDiff],
        }
    }

    fn source(self, number: u32) -> String {
        let engine = self.engine(number);
        match self {
            Self::Sources => format!("{engine}@made-up-{number}"),
            Self::OwnOutages => format!("{engine}@{}", env!("CARGO_PKG_VERSION")),
            _ => format!("{engine}@made-up"),
        }
    }

    fn model(self) -> Option<ModelPair> {
        "made/up".parse().ok().filter(|_| self != Self::OwnOutages)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, number, shape, home) = match arguments.as_slice() {
        [path, number] => (path, number, Some(Shape::Mixed), None),
        [path, number, shape] => (path, number, Shape::named(shape), None),
        [path, number, shape, home] => (path, number, Shape::named(shape), Some(Path::new(home))),
        _ => return Err("usage: fill LEDGER N [SHAPE [HOME]]".into()),
    };
    let shape = shape.ok_or("there is no such shape")?;
    let ledger = Ledger::open_file(Path::new(path))?;
    for number in 0..number.parse()? {
        let bundle = add(&ledger, number, shape)?;
        if let Some(home) = home.filter(|_| shape.keeps_bundles()) {
            std::fs::create_dir_all(home.join(bundle))?;
        }
    }
    Ok(())
}

/// Adds one run, and gives the place of its bundle in the home.
fn add(ledger: &Ledger, number: u32, shape: Shape) -> Result<String, Box<dyn Error>> {
    let (day, hour, minute, second) = (number / 86_400 + 1, number / 3600 % 24, number / 60 % 60, number % 60);
    let time = format!("2020-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z");
    // An odd multiplier gives every number a suffix of its own that looks random.
    let suffix = number.wrapping_mul(2_654_435_761);
    let run_id = RunId::try_from(format!("202001{day:02}T{hour:02}{minute:02}{second:02}Z-made-up-{suffix:08x}"))?;
    let time: Stamp = time.parse()?;
    ledger.run_started(&RunStarted {
        run_id: run_id.clone(),
        time,
        lease_until: None,
        intent: RunIntent {
            task_id: format!("made-up-{}", number % 50).try_into()?,
            engine: shape.engine(number).to_owned(),
            stage: shape.stage(),
            purpose: Purpose::Governed,
            owner: None,
            epoch: None,
            detail: serde_json::Value::Null,
        },
    })?;
    let bundle = format!("harness-runs/{run_id}");
    let (status, attestation_sha256) = (shape.status(number), Digest::of_bytes(&number.to_le_bytes()));
    let seal = RunSeal {
        status,
        finished_at: time,
        duration_ms: u64::from(number % 9000),
        reasons: shape.reasons(status).into_iter().map(Into::into).collect(),
        tests_passed: Some(7),
        tests_executed: Some(7),
        attestation_sha256,
        bundle: bundle.clone(),
        owner: None,
        identity: Some(EngineIdentity { source_id: shape.source(number), model: shape.model() }),
    };
    ledger.run_sealed(&RunSealed { run_id: run_id.clone(), time, epoch: None, seal })?;
    match shape {
        Shape::Collected | Shape::CollectedOutages => {
            let collection = Collection { attestation_sha256, reason: "made up".to_owned(), bytes: 1 };
            ledger.runs_collected(&[RunCollected { run_id, time, collection }])?;
        }
        Shape::Answered => {
            let body = json!({"operator_outcome": "accepted", "signature": "made up"});
            ledger.append(EntryKind::OutcomeRecorded, Some(&run_id), time, &body)?;
        }
        _ => {}
    }
    Ok(bundle)
}
