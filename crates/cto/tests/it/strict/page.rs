//! `docs/hostile-engines.md` lists the rows as they are.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::row::Row;
use super::{cheats, escape, exhaust, network, read, survive, theft, unavailable, useful, write};

/// The attack, the defence, and the statement of the bundle.
type Line = [String; 3];

fn of(rows: &[Row]) -> Vec<Line> {
    rows.iter().map(|row| [row.tries.to_owned(), row.stopped_by.to_owned(), row.says.in_words()]).collect()
}

fn killed() -> Line {
    [
        "killing the harness, at any moment",
        "every process ends with the harness",
        "`cto recover` seals the run: `harness_interrupted`",
    ]
    .map(str::to_owned)
}

/// Each class as the page has it.
fn tables() -> Vec<String> {
    let cheats =
        cheats::CHEATS.iter().map(|cheat| [cheat.tries.into(), cheat.stopped_by.into(), cheat.says.in_words()]);
    let says = "blocked: `sandbox_unavailable`, with cause and remedy";
    let lacks = unavailable::LACKS.iter().map(|lack| [lack.of, "nothing is started", says].map(str::to_owned));
    let tools = useful::TOOLS.iter().map(|tool| [tool.name, "nothing", "pass"].map(str::to_owned));
    let mut survive = of(&survive::rows());
    survive.push(killed());
    let tried = "what is tried";
    let theft = theft::LINES.iter().map(|line| line.map(str::to_owned)).collect::<Vec<_>>();
    vec![
        table(write::CLASS, tried, &of(&write::rows())),
        table(read::CLASS, tried, &of(&read::rows())),
        table(escape::CLASS, tried, &of(&escape::rows())),
        table(network::CLASS, tried, &of(&network::rows())),
        table(survive::CLASS, tried, &survive),
        table(theft::CLASS, tried, &theft),
        table(exhaust::CLASS, tried, &of(&exhaust::rows())),
        table(cheats::CLASS, tried, &cheats.collect::<Vec<_>>()),
        table(unavailable::CLASS, "what is missing", &lacks.collect::<Vec<_>>()),
        table(useful::CLASS, "what is done", &tools.collect::<Vec<_>>()),
    ]
}

fn table(class: &str, tried: &str, lines: &[Line]) -> String {
    let mut text = format!("## {class}\n\n| {tried} | what stops it | what the bundle says |\n| --- | --- | --- |\n");
    for line in lines {
        let _ = writeln!(text, "| {} |", line.join(" | "));
    }
    text
}

/// On failure, what is to stand there is printed.
#[test]
fn the_page_is_in_step() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hostile-engines.md")).unwrap();
    let tables = tables();
    let missing: Vec<&str> = tables.iter().map(String::as_str).filter(|table| !page.contains(table)).collect();
    assert!(missing.is_empty(), "docs/hostile-engines.md lacks:\n{}", missing.join("\n"));
    let rows = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(rows(&page), tables.iter().map(|table| rows(table)).sum::<usize>(), "rows that are gone");
}
