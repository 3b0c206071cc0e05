//! `fill LEDGER N`: appends N made-up runs, started and sealed in 2020, so that any real run is newer.
//! For `cargo xtask bench ledger`.

use std::error::Error;
use std::path::Path;

use contract::{Digest, Purpose, Reason, RunId, Stage, Stamp, Status};
use ledger::{Ledger, RunIntent, RunSeal, RunSealed, RunStarted};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, number] = arguments.as_slice() else {
        return Err("usage: fill LEDGER N".into());
    };
    let ledger = Ledger::open(Path::new(path))?;
    for number in 0..number.parse()? {
        add(&ledger, number)?;
    }
    Ok(())
}

fn add(ledger: &Ledger, number: u32) -> Result<(), Box<dyn Error>> {
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
            engine: ["fake", "case", "codex"][(number % 3) as usize].to_owned(),
            stage: Stage::ARTIFICIAL_FIXTURE,
            purpose: Purpose::Governed,
            owner: None,
            detail: serde_json::Value::Null,
        },
    })?;
    let status = [Status::Pass, Status::Pass, Status::Fail, Status::Blocked][(number % 4) as usize];
    let seal = RunSeal {
        status,
        finished_at: time,
        duration_ms: u64::from(number % 9000),
        reasons: if status == Status::Pass { vec![] } else { vec![Reason::NoDiff] },
        tests_passed: Some(7),
        tests_executed: Some(7),
        attestation_sha256: Digest::of(&number.to_le_bytes()),
        bundle: format!("harness-runs/{run_id}"),
        owner: None,
    };
    ledger.run_sealed(&RunSealed { run_id, time, epoch: None, seal })?;
    Ok(())
}
