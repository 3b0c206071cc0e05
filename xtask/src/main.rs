//! The project's own chores, run as `cargo xtask NAME`. Nothing of this is shipped.
#![expect(
    clippy::disallowed_methods,
    reason = "the doors for processes and environment are those of the shipped crates; a chore starts programs all day"
)]

mod bench;
mod browser;
mod ci;
mod dist;
mod exam;
mod house;
mod must_not_compile;
mod process;
mod prose;
mod reverted;
mod run_files;
mod schema;
mod shots;
mod soak;
mod terminal_shots;
mod test;
#[cfg(test)]
mod tests;
mod tools;

use std::process::ExitCode;

use process::ChoreResult;

const USAGE: &str = "\
Usage: cargo xtask CHORE

  test [FILTER..] [-- ARGS] make ready what tests need, run all tests, print the counts as the last line;
                            --skip, --exact, --show-output as libtest, -p PACKAGE, --test NAME
       --durations          print the slowest, and write xtask/slow-tests.txt
       --changed [BASE]     only tests that the difference between BASE (HEAD) and the work tree can touch
  ci [--without-test]       test, then formatting, lints, documentation, drift of schemas and exam set, house and prose
  dist [--key FILE] [--try] [--debug]
                            build the program as it is shipped, one file that needs no library, and pack it into target/dist.
                            Makes archive, checksums, SBOM and signed provenance; --try runs it on a bare root file system
  schema [--check]          write docs/formats/schemas, or say where they differ from what the program says
  exam [--check]            write the tables of docs/formats/exam-set.md, or say that they differ from the program's
  prose                     hold pages, help and all other texts of the program to short sentences, plain words and grammar
  forbidden                 compile steps that the types must forbid, and expect their errors
  browser                   the tests of the console in Chromium alone, which `test` runs too
  browser shots DIR         pictures of every page of the console
  shots [DIR]               pictures of the console of `cto demo --serve` for the docs (docs/images)
  shots terminal [DIR]      pictures of the terminal for the docs, from the program's own output in tmux
  run-files                 pages of `cto export --html` from disk in Chromium, the network off: whole, changed, by a foreign key, hostile
  soak [NAME] [--times N]   what the tests take a sample of, many times:
                            kills, writes, connections, live, summary, redaction, growth, gc, answers, interrupted,
                            case, theft, capture, depth, products, approvals, at-once, take-kills, fleet, gc-kills,
                            moved
  soak honest [PACKAGE]     published versions of packages as patches: none may be refused
  house [DIR|--check|--tighten|--cycles [DIR]]
                            measure the code of a tree: sizes, names, comments, cycles; CI holds ours to its limits;
                            --cycles names the imports of every cycle
  reverted [WORD]           take out one defence at a time, in a clone, and expect its tests to fail
  bench NAME [--rounds N] [--dir DIR] [--cto FILE] [--write]
                            bridge, new, live, run, exam, health, verify, ladder, ledger,
                            records, recover, sandbox, secrets, serve, stage5, packages, workspace.
                            Measure against floors; --cto measures a build that is there, --write puts the table into docs/performance.md
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match chore(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn chore(arguments: &[&str]) -> ChoreResult {
    match arguments {
        ["test", rest @ ..] => test::run_tests_chore(rest),
        ["ci"] => ci::run_ci(true),
        ["ci", "--without-test"] => ci::run_ci(false),
        ["dist", rest @ ..] => dist::run_dist(rest),
        ["schema"] => schema::write_schemas(),
        ["schema", "--check"] => schema::check_schemas(),
        ["browser"] => test::run_tests_chore(&["-p", "cto", "--test", "browser"]),
        ["browser", "shots", folder] => browser::shoot_pages(std::path::Path::new(folder)),
        ["shots", "terminal"] => terminal_shots::draw_shots(None),
        ["shots", "terminal", folder] => terminal_shots::draw_shots(Some(std::path::Path::new(folder))),
        ["shots"] => shots::run_shots(None),
        ["shots", folder] => shots::run_shots(Some(std::path::Path::new(folder))),
        ["run-files"] => run_files::run_chore(),
        ["forbidden"] => must_not_compile::check_refused(),
        ["prose"] => prose::check_prose(),
        ["exam"] => exam::write_tables(),
        ["exam", "--check"] => exam::check_tables(),
        ["soak", rest @ ..] => soak::run_soaks(rest),
        ["house", rest @ ..] => house::run_house(rest),
        ["reverted", rest @ ..] => reverted::run_reverted(rest),
        ["bench", name, rest @ ..] => bench::run_bench(name, rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("there is no such chore\n\n{USAGE}")),
    }
}
