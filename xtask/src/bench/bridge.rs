//! Cost of the bridge beside a bare hyper pass-through, nginx and LiteLLM: CPU for each
//! request and each stream, and memory for each open stream. Measured by an example of the
//! bridge's own crate, each proxy alone on one core.

use serde_json::Value;

use super::Bench;
use crate::ChoreResult;
use crate::process::{cargo, command_output, program, run_command, target};
use crate::tools::{self, models};

/// The rounds of other benches stand here for so many requests.
const REQUESTS: usize = 20_000;

const ROWS: [(&str, &str); 4] = [
    ("bridge", "the bridge, everything on"),
    ("nginx", "nginx, unbuffered"),
    ("hyper", "a bare hyper pass-through"),
    ("litellm", "LiteLLM's proxy"),
];

/// Builds the example, measures every proxy and returns the table.
pub(super) fn measure_bridge(bench: &Bench) -> ChoreResult<String> {
    tools::need("nginx", "nginx-light")?;
    let litellm = models::litellm()?;
    run_command(&mut cargo(&["build", "--quiet", "--release", "--package", "bridge", "--example", "bench"]))?;
    let requests = bench.rounds.unwrap_or(REQUESTS);
    let (streams, open) = ((requests / 10).max(20), (requests / 20).clamp(20, 1000));
    let counts = [requests, streams, open].map(|count| count.to_string());
    let mut command = program(target().join("release/examples/bench"), ["--nginx", "nginx", "--litellm"]);
    command.arg(litellm).args(["--requests", &counts[0], "--streams", &counts[1], "--open", &counts[2]]);
    let said = command_output(command.env("TMPDIR", &bench.place))?;
    table(&said)
}

fn table(said: &str) -> ChoreResult<String> {
    let rows: Vec<Value> = said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let value = |name: &str, key: &str| -> ChoreResult<f64> {
        let row = rows.iter().find(|row| row["name"] == name);
        row.and_then(|row| row[key].as_f64()).ok_or_else(|| format!("the measurement says nothing of {name} {key}"))
    };
    let mut text =
        String::from("| | CPU a request | / hyper | CPU a stream of 200 frames | / nginx | memory an open stream |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for (name, words) in ROWS {
        let (request, stream, open) = (value(name, "request_us")?, value(name, "stream_us")?, value(name, "open_kb")?);
        let (request_ratio, stream_ratio) =
            (request / value("hyper", "request_us")?, stream / value("nginx", "stream_us")?);
        text.push_str(&format!(
            "| {words} | {request:.1} us | {request_ratio:.2} | {stream:.0} us | {stream_ratio:.2} | {open:.1} KiB |\n"
        ));
    }
    let times = value("litellm", "request_us")? / value("bridge", "request_us")?;
    text.push_str(&format!("\nA request costs LiteLLM {times:.0} times what it costs the bridge.\n"));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_must_be_there() {
        let line =
            |name: &str| format!("{{\"name\":\"{name}\",\"request_us\":20.0,\"stream_us\":400.0,\"open_kb\":10.0}}\n");
        let all: String = ROWS.iter().map(|(name, _)| line(name)).collect();
        let said = table(&all).unwrap();
        assert!(said.contains("| nginx, unbuffered | 20.0 us | 1.00 | 400 us | 1.00 | 10.0 KiB |"), "{said}");
        assert!(said.ends_with("LiteLLM 1 times what it costs the bridge.\n"), "{said}");
        assert!(table(&line("bridge")).is_err());
    }
}
