//! The table of options in docs/commands.md names each option that `decide`, `request` and `run` have, and no other.

use std::collections::BTreeSet;

use crate::world;

const PAGE: &str = include_str!("../../../../../docs/commands.md");

/// Options of every command, which another table has.
const EVERYWHERE: &[&str] = &["--help"];

fn long_options(text: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    let starts = text.match_indices("--").filter(|(at, _)| !text[..*at].ends_with(is_name));
    let name = |(at, _): (usize, &str)| text[at..].chars().take_while(|letter| is_name(*letter)).collect::<String>();
    starts.map(name).filter(|name| name.len() > 3).collect()
}

/// Options that the help of a command lists, each at the beginning of its line.
fn options_of(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| long_options(line.split("  ").next()?).into_iter().next()).collect()
}

/// First column of the table below a heading line, up to the next empty line.
fn table_options(page: &str, heading: &str) -> BTreeSet<String> {
    let rows = page.lines().skip_while(|line| *line != heading).skip(2).take_while(|line| !line.is_empty());
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(long_options).collect()
}

#[test]
fn the_table_of_options_is_that_of_the_program() {
    let world = world();
    let help = |words: &[&str]| options_of(&world.cto(words).expect(0).text());
    let everywhere = help(&["schema", "--help"]);
    let mut options: BTreeSet<String> =
        ["decide", "request", "run"].into_iter().flat_map(|name| help(&[name, "--help"])).collect();
    options.retain(|name| !everywhere.contains(name) && !EVERYWHERE.contains(&name.as_str()));
    let table = table_options(PAGE, "Options of `decide`, `request` and `run`:");
    let table: BTreeSet<String> = table.into_iter().collect();
    assert!(options.len() > 10, "{options:?}");
    assert_eq!(table.difference(&options).collect::<Vec<_>>(), Vec::<&String>::new(), "the program does not have them");
    assert_eq!(options.difference(&table).collect::<Vec<_>>(), Vec::<&String>::new(), "the page does not have them");
}

#[test]
fn options_are_read_from_help_and_from_a_table() {
    let help = "  -n, --number <N>  how many, as --jobs\n      --json        a document\n      --no-x\n";
    assert_eq!(options_of(help).into_iter().collect::<Vec<_>>(), ["--json", "--no-x", "--number"]);
    let page = "Head:\n\n| option | what |\n| --- | --- |\n| `--brief TEXT --allow PATH` | not `--this` |\n\n| `--other` | |\n";
    let found: Vec<String> = table_options(page, "Head:").into_iter().collect();
    assert_eq!(found, ["--allow", "--brief"]);
}
