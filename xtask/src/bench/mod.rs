//! `cargo xtask bench NAME`: our program beside floors, in turns, in one process, so that a loaded machine slows all of them
//! alike. Ratios are what counts; times differ from machine to machine.

mod bridge;
mod draft;
mod exam;
mod ladder;
mod ledger;
mod records;
mod recover;
mod rounds;
mod run;
mod sandbox;
mod secrets;
mod stage5;
mod table;
mod verify;
mod workspace;
mod world;

use std::path::PathBuf;

use crate::process::{root, target};
use crate::{Outcome, dist};
use table::{Bench, millis, table};

pub(crate) fn chore(name: &str, arguments: &[&str]) -> Outcome {
    let measure: fn(&Bench) -> Outcome<String> = match name {
        "bridge" => bridge::measure,
        "new" => draft::measure,
        "run" => run::measure,
        "exam" => exam::measure,
        "verify" => verify::measure,
        "ladder" => ladder::measure,
        "ledger" => ledger::measure,
        "records" => records::measure,
        "recover" => recover::measure,
        "sandbox" => sandbox::measure,
        "secrets" => secrets::measure,
        "stage5" => stage5::measure,
        "packages" => secrets::packages::measure,
        "workspace" => workspace::measure,
        _ => {
            return Err(format!(
                "there is no bench {name:?}: run, new, stage5, exam, verify, ladder, ledger, records, recover, sandbox, secrets, packages, workspace or bridge"
            ));
        }
    };
    let mut bench = Bench { cto: target().join("release/cto"), rounds: None, place: std::env::temp_dir() };
    let mut write = false;
    let mut rest = arguments;
    loop {
        rest = match rest {
            [] => break,
            ["--write", rest @ ..] => {
                write = true;
                rest
            }
            ["--rounds", number, rest @ ..] => {
                bench.rounds = Some(number.parse().map_err(|_| format!("--rounds {number} is not a number"))?);
                rest
            }
            ["--dir", folder, rest @ ..] => {
                bench.place = PathBuf::from(folder);
                rest
            }
            [other, ..] => return Err(format!("bench does not know {other:?}")),
        };
    }
    // A workspace, the scanner and the bridge are measured in the crates that have them.
    if !["secrets", "packages", "workspace", "bridge"].contains(&name) {
        bench.cto = dist::build()?;
    }
    let table = measure(&bench)?;
    println!("{table}");
    if write { put(name, &table) } else { Ok(()) }
}

/// Puts the table between its markers in docs/performance.md, and touches nothing else there.
fn put(name: &str, table: &str) -> Outcome {
    let path = root().join("docs/performance.md");
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
