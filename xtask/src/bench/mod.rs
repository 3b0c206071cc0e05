//! `cargo xtask bench NAME`: our program beside floors, in turns, in one process, so that a
//! loaded machine slows all of them alike. Ratios are what counts; times differ from
//! machine to machine.

mod bridge;
mod draft;
mod exam;
mod fleet;
mod health;
mod ladder;
mod ledger;
mod live;
mod records;
mod recover;
mod rounds;
mod run;
mod sandbox;
mod secrets;
mod serve;
mod stage5;
mod table;
mod verify;
mod workspace;
mod world;

use std::path::PathBuf;

use crate::process::{repository_root, target};
use crate::{ChoreResult, dist};
use table::{Bench, bench_table, format_millis};

/// Runs one bench by name and prints its table.
pub(crate) fn run_bench(name: &str, arguments: &[&str]) -> ChoreResult {
    let measure: fn(&Bench) -> ChoreResult<String> = match name {
        "bridge" => bridge::measure_bridge,
        "new" => draft::measure_drafts,
        "live" => live::measure_live,
        "run" => run::measure_run,
        "exam" => exam::measure_exam,
        "fleet" => fleet::measure_fleet,
        "health" => health::measure_health,
        "verify" => verify::measure_verify,
        "ladder" => ladder::measure_ladder,
        "ledger" => ledger::measure_ledger,
        "records" => records::measure_records,
        "recover" => recover::measure_recover,
        "sandbox" => sandbox::measure_sandbox,
        "secrets" => secrets::measure_secrets,
        "serve" => serve::measure_serve,
        "stage5" => stage5::measure_stage5,
        "packages" => secrets::packages::measure_packages,
        "workspace" => workspace::measure_workspace,
        _ => {
            return Err(format!(
                "there is no bench {name:?}: run, new, live, stage5, exam, health, verify, ladder, ledger, records, recover, sandbox, secrets, packages, serve, workspace, fleet or bridge"
            ));
        }
    };
    let mut bench = Bench {
        cto: target().join("release/cto"),
        rounds: None,
        place: std::env::temp_dir(),
        is_trial: false,
        runs: None,
        viewers: None,
    };
    let (mut write, mut is_built) = (false, false);
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] => break,
            ["--write", rest @ ..] => {
                write = true;
                rest
            }
            ["--rounds", number, rest @ ..] => {
                bench.rounds = Some(read_number("--rounds", number)?);
                rest
            }
            ["--runs", number, rest @ ..] => {
                bench.runs = Some(read_number("--runs", number)?);
                rest
            }
            ["--viewers", number, rest @ ..] => {
                bench.viewers = Some(read_number("--viewers", number)?);
                rest
            }
            ["--trial", rest @ ..] => {
                bench.is_trial = true;
                rest
            }
            ["--dir", folder, rest @ ..] => {
                bench.place = PathBuf::from(folder);
                rest
            }
            // A build of somebody's own, to compare changes without waiting for the one
            // that ships.
            ["--cto", program, rest @ ..] => {
                (bench.cto, is_built) = (repository_root().join(program), true);
                rest
            }
            [other, ..] => return Err(format!("bench does not know {other:?}")),
        };
    }
    // A workspace, the scanner and the bridge are measured in the crates that have them.
    if bench.is_trial && !is_built {
        crate::test::build_plain_program()?;
        bench.cto = target().join("debug/cto");
    } else if !is_built && !["secrets", "packages", "workspace", "bridge"].contains(&name) {
        bench.cto = dist::build_program()?;
    }
    let table = measure(&bench)?;
    println!("{table}");
    let is_kept = write && !bench.is_trial;
    if is_kept { put(name, &table) } else { Ok(()) }
}

fn read_number<T: std::str::FromStr>(flag: &str, number: &str) -> ChoreResult<T> {
    number.parse().map_err(|_| format!("{flag} {number} is not a number"))
}

/// Puts the table between its markers in docs/performance.md, and touches nothing else there.
fn put(name: &str, table: &str) -> ChoreResult {
    let path = repository_root().join("docs/performance.md");
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    let page = std::fs::read_to_string(&path).map_err(fail)?;
    let page =
        spliced(&page, name, table).ok_or_else(|| format!("{} has no place for bench:{name}", path.display()))?;
    std::fs::write(&path, page).map_err(fail)
}

fn spliced(page: &str, name: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(&format!("<!-- bench:{name} -->"))?;
    let (_, after) = rest.split_once("<!-- /bench -->")?;
    Some(format!("{before}<!-- bench:{name} -->\n\n{table}\n<!-- /bench -->{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_only_what_is_between_its_markers() {
        let page = "a\n<!-- bench:x -->\nold\n<!-- /bench -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench -->\n";
        let new = spliced(page, "x", "new\n").unwrap();
        assert_eq!(new, "a\n<!-- bench:x -->\n\nnew\n\n<!-- /bench -->\nb\n<!-- bench:y -->\nkept\n<!-- /bench -->\n");
        assert_eq!(spliced(&new, "x", "new\n").as_ref(), Some(&new));
        assert_eq!(spliced(page, "z", ""), None);
    }
}
