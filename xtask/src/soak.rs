//! `cargo xtask soak`: what the everyday suite takes a sample of, done thousands of times. Run before a release, and before an
//! issue about crashes is called resolved.

use crate::Outcome;
use crate::process::{cargo, run};
use crate::tools;

/// A test that takes its number of repetitions, or its seconds, from a variable.
struct Soak {
    name: &'static str,
    /// Package and test program.
    program: (&'static str, &'static str),
    test: &'static str,
    variable: &'static str,
    times: u32,
}

const IT: (&str, &str) = ("cto", "it");

const SOAKS: &[Soak] = &[
    Soak {
        name: "kills",
        program: IT,
        test: "strict::survive::a_killed_harness_leaves_nothing",
        variable: "CTO_TEST_KILLS",
        times: 2000,
    },
    Soak {
        name: "writes",
        program: IT,
        test: "stops::a_broken_disk_at_every_write",
        variable: "CTO_TEST_WRITES",
        times: 1,
    },
    Soak {
        name: "gc",
        program: IT,
        test: "gc::of_many_runs_the_latest_stay",
        variable: "CTO_TEST_RUNS",
        times: 10_000,
    },
    Soak {
        name: "capture",
        program: ("tree", "tree"),
        test: "random::random_hostile_trees",
        variable: "CTO_TEST_CAPTURE_SECONDS",
        times: 600,
    },
    Soak {
        name: "depth",
        program: IT,
        test: "engine_files::what_an_engine_leaves_is_read_by_no_path",
        variable: "CTO_TEST_DEPTH",
        times: 19_000,
    },
];

pub(crate) fn chore(wanted: &[&str]) -> Outcome {
    if let Some(unknown) = wanted.iter().find(|name| SOAKS.iter().all(|soak| soak.name != **name)) {
        let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
        return Err(format!("there is no soak `{unknown}`; there are: {}", names.join(", ")));
    }
    for soak in SOAKS.iter().filter(|soak| wanted.is_empty() || wanted.contains(&soak.name)) {
        println!("soak {}: {} = {}", soak.name, soak.variable, soak.times);
        let (package, program) = soak.program;
        let words = ["test", "-p", package, "--test", program, "--", "--nocapture", "--exact", soak.test];
        let mut command = cargo(&words);
        command.env(soak.variable, soak.times.to_string());
        for (variable, made) in tools::made() {
            command.env(variable, made?);
        }
        run(&mut command)?;
    }
    Ok(())
}
