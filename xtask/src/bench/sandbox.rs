//! Cost of a start in the sandbox beside bubblewrap with the same namespaces, and of
//! working inside beside working outside. Measured by an example of the sandbox's own
//! crate, with its stage and with our program's.

use serde_json::Value;

use super::Bench;
use super::world::{World, bench_case};
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};
use crate::tools;

const ROUNDS: usize = 40;

/// Rows as the example names them, their words in the table, and the row they are compared
/// with.
const ROWS: [(&str, &str, &str); 14] = [
    ("direct", "`true`, directly", "bwrap"),
    ("bwrap", "`true` in bubblewrap, `--unshare-all`", "bwrap"),
    ("none", "`true`, profile `none`", "bwrap"),
    ("strict", "`true`, `strict`, the sandbox's crate alone", "bwrap"),
    ("ahead", "the same, stage started ahead", "bwrap"),
    ("product", "`true`, `strict`, `cto`", "bwrap"),
    ("product ahead", "the same, stage started ahead", "bwrap"),
    ("status outside", "100 times `git status`, 1,000 files, outside, on one core", "status outside"),
    ("status bwrap", "the same in bubblewrap", "status outside"),
    ("status inside", "the same in `strict`", "status outside"),
    ("pytest outside", "`pytest`, outside, on one core", "pytest outside"),
    ("pytest inside", "the same in `strict`", "pytest outside"),
    ("run none", "`cto run`, `fake`, no sandbox", "run none"),
    ("run strict", "the same in `strict`: engine and verification", "run none"),
];

struct Row {
    p50: f64,
    min: f64,
    cpu: f64,
}

/// Builds the example, measures and returns the tables.
pub(super) fn measure_sandbox(bench: &Bench) -> ChoreResult<String> {
    tools::need("bwrap", "bubblewrap")?;
    run_command(&mut cargo(&["build", "--quiet", "--release", "--package", "sandbox", "--example", "start"]))?;
    let world = World::new(&bench.place, "sandbox")?;
    let case = world.path_of("case");
    bench_case(&case)?;
    let rounds = bench.rounds.unwrap_or(ROUNDS).to_string();
    let mut start = program(target().join("release/examples/start"), ["--rounds", &rounds, "--product"]);
    start.arg(&bench.cto).arg("--case").arg(&case).arg("--python").arg(tools::python()?);
    let said = command_output(start.env("TMPDIR", &bench.place))?;
    let mut text = String::from(
        "| | p50 | min | CPU | compared with | p50 | CPU |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, words, base) in ROWS {
        let (row, base_row) = (find(&said, name)?, find(&said, base)?);
        let [p50, min, cpu] = [row.p50, row.min, row.cpu].map(|micros| format!("{:.2} ms", micros / 1000.0));
        let (times, cpus) = (row.p50 / base_row.p50, row.cpu / base_row.cpu);
        text.push_str(&format!("| {words} | {p50} | {min} | {cpu} | {base} | {times:.2} | {cpus:.2} |\n"));
    }
    let p50 = |name: &str| find(&said, name).map(|row| row.p50);
    let added = p50("run strict")? - p50("run none")?;
    let starts = added / p50("bwrap")?;
    text.push_str(&format!(
        "| time that `strict` adds to a run | {:.2} ms | | | bwrap | {starts:.2} | |\n",
        added / 1000.0
    ));
    Ok(text)
}

fn find(said: &str, name: &str) -> ChoreResult<Row> {
    let rows = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let row = rows.into_iter().find(|row| row["row"] == name).ok_or_else(|| format!("{name} was not measured"))?;
    let micros = |key: &str| row[key].as_f64().filter(|micros| *micros > 0.0);
    let found = || Some(Row { p50: micros("p50_us")?, min: micros("min_us")?, cpu: micros("cpu_us")? });
    found().ok_or_else(|| format!("{name} has no time that means anything: {row}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_name_and_must_mean_something() {
        let said =
            "noise\n{\"row\":\"a\",\"p50_us\":2000,\"min_us\":1000,\"cpu_us\":3000}\n{\"row\":\"b\",\"p50_us\":0}\n";
        let row = find(said, "a").unwrap();
        assert_eq!((row.p50, row.min, row.cpu), (2000.0, 1000.0, 3000.0));
        assert!(find(said, "b").is_err() && find(said, "c").is_err());
    }
}
