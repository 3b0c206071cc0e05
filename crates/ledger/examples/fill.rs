//! `fill LEDGER N`: appends N made-up runs, started and sealed in 2020, so that any real run is newer.
//! For `cargo xtask bench ledger`.

use std::error::Error;
use std::path::Path;

use ledger::{Ledger, RunSealed, RunStarted, Verdict};

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
    let run_id = format!("202001{day:02}T{hour:02}{minute:02}{second:02}Z-made-up-{suffix:08x}");
    ledger.run_started(&RunStarted {
        run_id: run_id.clone(),
        time: time.clone(),
        task_id: format!("made-up-{}", number % 50),
        engine: ["fake", "case", "codex"][(number % 3) as usize].to_owned(),
        stage: 2,
        purpose: "governed".to_owned(),
        detail: serde_json::Value::Null,
    })?;
    let verdict = [Verdict::Pass, Verdict::Pass, Verdict::Fail, Verdict::Blocked][(number % 4) as usize];
    ledger.run_sealed(&RunSealed {
        bundle: format!("harness-runs/{run_id}"),
        run_id,
        time: time.clone(),
        verdict,
        finished_at: time,
        duration_ms: u64::from(number % 9000),
        reasons: if verdict == Verdict::Pass { vec![] } else { vec!["no_diff".to_owned()] },
        tests_passed: Some(7),
        tests_executed: Some(7),
        attestation_sha256: format!("{number:064x}"),
    })?;
    Ok(())
}
