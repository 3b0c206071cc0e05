//! The console beside a bare axum and nginx: time of pages with few and many runs, requests
//! a second of a run's page, and many viewers of one live run.

mod aims;
mod client;
pub(super) mod servers;
mod viewers;

use std::time::Duration;

use super::ledger::{FEW, MANY, home};
use super::world::World;
use super::{Bench, format_millis};
use crate::ChoreResult;
use aims::Aim;
use client::{KeptClient, count_rate};
use servers::{BenchServer, start_console, start_hello, start_nginx};

/// Requests of each page and home.
const ROUNDS: usize = 500;
/// Time for which requests are counted, and how often.
const COUNTED: Duration = Duration::from_millis(1200);
const TURNS: usize = 5;

/// Sorted times of one page.
struct PageTimes {
    name: String,
    times: Vec<Duration>,
}

impl PageTimes {
    fn at(&self, part: f64) -> Duration {
        let place = ((self.times.len() as f64 - 1.0) * part).round() as usize;
        self.times.get(place).copied().unwrap_or_default()
    }

    /// The time at this part of all, in those of another page.
    fn ratio(&self, measure: &Self, part: f64) -> f64 {
        self.at(part).as_secs_f64() / measure.at(part).as_secs_f64()
    }
}

/// Measures pages, rates and viewers and returns the tables.
pub(super) fn measure_serve(bench: &Bench) -> ChoreResult<String> {
    let world = World::new(&bench.place, "serve")?;
    let few = start_console(bench, &home(bench, &world, "few", FEW)?, None)?;
    let many_runs = bench.runs.unwrap_or(MANY);
    let many = start_console(bench, &home(bench, &world, "many", many_runs)?, None)?;
    let pages = time_pages(&[(&few, FEW), (&many, many_runs)], bench.rounds.unwrap_or(ROUNDS))?;
    let rates = count_rates(bench, &world, &few)?;
    let (viewers, of_viewers) = viewers::follow_many(bench, &world)?;
    let aims = [aims::of_pages(&pages), vec![rates.1], of_viewers].concat();
    Ok(format!("{}\n{}\n{viewers}\n{}", page_table(&pages), rates.0, aims::aim_table(&aims)))
}

/// Each page of each home in turns, one request at a time.
fn time_pages(servers: &[(&BenchServer, u32); 2], rounds: usize) -> ChoreResult<Vec<PageTimes>> {
    let mut asked = Vec::new();
    for (number, (name, path)) in [("overview", "/"), ("runs", "/runs")].into_iter().enumerate() {
        for (place, (server, runs)) in servers.iter().enumerate() {
            let source = 9000 + (number * 2 + place) as u16;
            let client = KeptClient::connect_from(&server.host, path, &server.cookie, source)?;
            asked.push((client, PageTimes { name: format!("{name}, {runs} runs"), times: Vec::new() }));
        }
    }
    for round in 0..rounds + 5 {
        for (client, times) in &mut asked {
            let (took, _) = client.ask_once()?;
            // The first look counts what is counted once, and warms up.
            if round >= 5 {
                times.times.push(took);
            }
        }
        // No address is asked faster than is let in.
        std::thread::sleep(Duration::from_millis(4));
    }
    for (_, times) in &mut asked {
        times.times.sort();
    }
    Ok(asked.into_iter().map(|(_, times)| times).collect())
}

fn page_table(pages: &[PageTimes]) -> String {
    let mut text =
        String::from("| page | p50 | p99 | p50 / 100 runs | p99 / 100 runs |\n| --- | --- | --- | --- | --- |\n");
    for (number, page) in pages.iter().enumerate() {
        let measure = &pages[number - number % 2];
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {:.2} |\n",
            page.name,
            format_millis(page.at(0.5)),
            format_millis(page.at(0.99)),
            page.ratio(measure, 0.5),
            page.ratio(measure, 0.99)
        ));
    }
    text
}

/// Requests a second: bare axum, nginx with a file of the same size, the page of a finished run.
fn count_rates(bench: &Bench, world: &World, console: &BenchServer) -> ChoreResult<(String, Aim)> {
    let run = console.newest_run()?;
    let path = format!("/runs/{run}");
    let (_, size) = KeptClient::connect_from(&console.host, &path, &console.cookie, 9900)?.ask_once()?;
    let hello = start_hello(bench)?;
    let nginx = start_nginx(world, size)?;
    let mut counted = vec![Vec::new(); 3];
    for turn in 0..if bench.is_trial { 1 } else { TURNS } {
        let first = 100 + turn as u16 * 400;
        counted[0].push(count_rate(&hello.host, "/", "", first, COUNTED)?);
        if let Some(nginx) = &nginx {
            counted[1].push(count_rate(&nginx.host, "/page.html", "", first + 100, COUNTED)?);
        }
        counted[2].push(count_rate(&console.host, &path, &console.cookie, first + 200, COUNTED)?);
    }
    let middle = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let bare = middle(&mut counted[0]).unwrap_or(1.0);
    let mut text = String::from("| server | requests a second | / bare axum |\n| --- | --- | --- |\n");
    let names =
        ["bare axum, `hello`".to_owned(), format!("nginx, a file of {size} bytes"), format!("run page, {size} bytes")];
    for (name, rates) in names.iter().zip(&mut counted) {
        match middle(rates) {
            Some(rate) => text.push_str(&format!("| {name} | {rate:.0} | {:.2} |\n", rate / bare)),
            None => text.push_str(&format!("| {name} | not installed | |\n")),
        }
    }
    let share = middle(&mut counted[2]).unwrap_or_default() / bare;
    Ok((text, Aim::at_least("run page, of bare axum", share, 0.25)))
}
