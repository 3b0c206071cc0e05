//! Figures of the docs: `docs/figures.toml` names the sentence of each and the constant that it comes from.

use std::fs;

use serde::Deserialize;

use super::documented::{DocumentedPage, join_lines, read_page, read_pages};
use crate::process::repository_root;
use crate::prose::sentences::split_page;

/// Number of `[[unchecked]]` rows. Lower it with each that goes; it never rises.
const UNCHECKED: usize = 20;

/// Words behind a number that make it a figure.
const UNITS: [&str; 33] = [
    "KB",
    "KiB",
    "MB",
    "MiB",
    "GB",
    "GiB",
    "bytes",
    "ms",
    "s",
    "seconds",
    "minutes",
    "hours",
    "days",
    "characters",
    "files",
    "lines",
    "entries",
    "events",
    "requests",
    "tokens",
    "commits",
    "connections",
    "bundles",
    "notes",
    "attempts",
    "claims",
    "directories",
    "times",
    "arguments",
    "passes",
    "runs",
    "levels",
    "keys",
];

/// Words before a number that is a name: a stage, an RFC, a process.
const NAMED: [&str; 4] = ["stage", "stages", "rfc", "process"];

/// Pages whose figures are measured by `cargo xtask bench`, or written by the program.
const MEASURED: [&str; 2] = ["docs/performance.md", "docs/formats/secret-rules.md"];

#[derive(Debug, Deserialize)]
struct FigureTable {
    figure: Vec<DocumentedFigure>,
    unchecked: Vec<UncheckedFigure>,
}

/// Figure without a constant.
#[derive(Debug, Deserialize)]
struct UncheckedFigure {
    page: String,
    figure: String,
    reason: String,
}

#[derive(Debug, Clone, Deserialize)]
struct DocumentedFigure {
    page: String,
    words: String,
    figure: String,
    source: String,
    constant: String,
}

/// Value of a figure such as `20,000`, `4 KiB`, `512 MiB` or `200 files`; a time in milliseconds.
fn read_figure(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number: u64 = digits.replace(',', "").parse().ok()?;
    let unit = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "s" | "seconds" => 1000,
        _ if UNITS.contains(&unit) => 1,
        _ => return None,
    };
    Some(number * unit)
}

/// Value of a constant: a number, a product, a number that is shifted, or a duration.
fn read_constant(code: &str, name: &str) -> Option<u64> {
    let (_, rest) = code.split_once(&format!("const {name}: "))?;
    let value = rest.split_once(" = ")?.1.split_once(';')?.0;
    let value = value.split_once(" + ").map_or(value, |(value, _)| value);
    let value = value.replace("Duration::from_secs(", "1000 * ").replace("Duration::from_millis(", "");
    value.trim_end_matches(')').split('*').map(read_factor).product()
}

fn read_factor(text: &str) -> Option<u64> {
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    match text.split_once("<<") {
        Some((base, shift)) => Some(number(base)? << number(shift)?),
        None => number(text),
    }
}

/// Difference between a figure of a page and its constant.
fn figure_problem(figure: &DocumentedFigure) -> Option<String> {
    let DocumentedFigure { page, words, figure: text, source, constant } = figure;
    if !words.contains(text) || !join_lines(&read_page(&repository_root().join(page)).text).contains(words) {
        return Some(format!("{page} does not say `{words}` with {text}"));
    }
    let code = fs::read_to_string(repository_root().join(source)).unwrap_or_default();
    let (told, value) = (read_figure(text), read_constant(&code, constant));
    (told.is_none() || told != value).then(|| format!("{page}: {text}, and {constant} in {source} is {value:?}"))
}

/// Figures with a unit in the prose of a page.
fn find_figures(page: &DocumentedPage) -> Vec<String> {
    let sentences = split_page(&page.text);
    sentences.iter().flat_map(|sentence| figures_of(&sentence.text)).collect()
}

fn figures_of(sentence: &str) -> Vec<String> {
    let words: Vec<&str> = std::iter::once("").chain(sentence.split_whitespace()).collect();
    let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_owned();
    let figure = |three: &[&str]| {
        let (number, unit) = (bare(three[1]), bare(three[2]));
        let is_number = number.starts_with(|first: char| first.is_ascii_digit() && first != '0')
            && number.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, ',' | '.'));
        let is_figure = is_number && !three[1].ends_with([',', '.', ';', ':', '`']) && UNITS.contains(&unit.as_str());
        (is_figure && !NAMED.contains(&bare(three[0]).to_lowercase().as_str())).then(|| format!("{number} {unit}"))
    };
    words.windows(3).filter_map(figure).collect()
}

/// True if the row is about this figure: it has it with its unit, or as the number of its words.
fn covers_figure(row: &DocumentedFigure, page: &str, figure: &str) -> bool {
    let number = figure.split(' ').next().unwrap_or_default();
    row.page == page && (row.figure == figure || row.figure == number && row.words.contains(figure))
}

fn read_table() -> FigureTable {
    let table = fs::read_to_string(repository_root().join("docs/figures.toml")).unwrap();
    toml::from_str(&table).unwrap()
}

#[test]
fn every_figure_of_a_page_is_listed() {
    let table = read_table();
    let pages: Vec<_> = read_pages().into_iter().filter(|page| page.name.starts_with("docs/")).collect();
    let pages = pages.iter().filter(|page| !MEASURED.contains(&page.name.as_str()));
    let all: Vec<(&str, String)> =
        pages.flat_map(|page| find_figures(page).into_iter().map(|figure| (page.name.as_str(), figure))).collect();
    let is_checked = |page: &str, figure: &str| table.figure.iter().any(|row| covers_figure(row, page, figure));
    let is_unchecked = |page: &str, figure: &str| {
        table.unchecked.iter().any(|row| row.page == page && row.figure == figure && !row.reason.is_empty())
    };
    let unlisted = all.iter().filter(|(page, figure)| !is_checked(page, figure) && !is_unchecked(page, figure));
    let unlisted: Vec<String> = unlisted.map(|(page, figure)| format!("{page}: {figure}")).collect();
    assert!(unlisted.is_empty(), "no row of docs/figures.toml:\n{}", unlisted.join("\n"));
    let stale = table.unchecked.iter().filter(|row| {
        is_checked(&row.page, &row.figure)
            || !all.iter().any(|(page, figure)| *page == row.page && *figure == row.figure)
    });
    assert_eq!(stale.map(|row| &row.figure).collect::<Vec<_>>(), Vec::<&String>::new(), "not needed");
    assert_eq!(table.unchecked.len(), UNCHECKED, "may only fall");
    assert!(all.len() > 70, "{}", all.len());
}

#[test]
fn a_figure_is_a_number_with_a_unit() {
    assert_eq!(
        figures_of("At most 20,000 files (4 KiB each), and 10 seconds."),
        ["20,000 files", "4 KiB", "10 seconds"]
    );
    assert!(figures_of("Stage 2 runs it; RFC 8785 bytes, in 3, files and version 1.2 of it").is_empty(), "control");
    let row = DocumentedFigure {
        page: "docs/a.md".to_owned(),
        words: "at most 5 files".to_owned(),
        figure: "5".to_owned(),
        source: String::new(),
        constant: String::new(),
    };
    assert!(covers_figure(&row, "docs/a.md", "5 files"));
    assert!(!covers_figure(&row, "docs/a.md", "5 KiB") && !covers_figure(&row, "docs/b.md", "5 files"));
    assert_eq!(read_constant("const A: Duration = Duration::from_secs(10);", "A"), read_figure("10 seconds"));
    assert_eq!(read_constant("const A: Duration = Duration::from_millis(100);", "A"), read_figure("100 ms"));
}

#[test]
fn every_listed_figure_is_its_constant() {
    let table = read_table();
    assert!(table.figure.len() > 20, "{}", table.figure.len());
    let lost: Vec<String> = table.figure.iter().filter_map(figure_problem).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_figure_that_changed_is_found() {
    let table = read_table();
    let honest = &table.figure[0];
    assert_eq!(figure_problem(honest), None, "control");
    let changes: [fn(&mut DocumentedFigure); 4] = [
        |it| it.words.push_str(" and more"),
        |it| it.figure = "7".to_owned(),
        |it| it.constant = "NO_SUCH".to_owned(),
        |it| it.source = "crates/contract/src/source/text.rs".to_owned(),
    ];
    for change in changes {
        let mut figure = honest.clone();
        change(&mut figure);
        assert!(figure_problem(&figure).is_some(), "{figure:?}");
    }
    assert_eq!(read_constant("const A: u64 = 64 << 10;", "A"), read_figure("64 KiB"));
    assert_eq!(read_constant("const A: usize = 2 * 1_024;", "A"), read_figure("2,048"));
}
