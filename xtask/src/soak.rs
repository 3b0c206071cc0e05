//! `cargo xtask soak`: what the everyday suite takes a sample of, done thousands of times. Run before a release, and before an
//! issue about crashes is called resolved.

use crate::Outcome;
use crate::process::{cargo, run};
use crate::tools;

/// A test that takes its number of repetitions from a variable.
struct Soak {
    name: &'static str,
    test: &'static str,
    variable: &'static str,
    times: u32,
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "kills",
        test: "strict::survive::a_killed_harness_leaves_nothing",
        variable: "CTO_TEST_KILLS",
        times: 2000,
    },
    Soak { name: "take-kills", test: "take::killed::at_any_moment", variable: "CTO_TEST_TAKE_KILLS", times: 300 },
    Soak {
        name: "gc-kills",
        test: "gc::interrupted::a_collection_may_be_killed_at_any_time",
        variable: "CTO_TEST_GC_KILLS",
        times: 300,
    },
    Soak { name: "writes", test: "stops::a_broken_disk_at_every_write", variable: "CTO_TEST_WRITES", times: 1 },
    Soak { name: "gc", test: "gc::of_many_runs_the_latest_stay", variable: "CTO_TEST_RUNS", times: 10_000 },
];

pub(crate) fn chore(wanted: &[&str]) -> Outcome {
    if let Some(unknown) = wanted.iter().find(|name| SOAKS.iter().all(|soak| soak.name != **name)) {
        let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        return Err(format!("there is no soak `{unknown}`; there are: {}", names.join(", ")));
    }
    for soak in SOAKS.iter().filter(|soak| wanted.is_empty() || wanted.contains(&soak.name)) {
        println!("soak {}: {} times", soak.name, soak.times);
        let mut command = cargo(&["test", "-p", "cto", "--test", "it", "--", "--nocapture", "--exact", soak.test]);
        command.env(soak.variable, soak.times.to_string());
        for (variable, made) in tools::made() {
            command.env(variable, made?);
        }
        run(&mut command)?;
    }
    Ok(())
}
