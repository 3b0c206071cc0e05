//! Figures of the docs: `docs/figures.toml` names the sentence of each and the constant that it comes from.

use std::fs;

use serde::Deserialize;

use super::documented::{join_lines, read_page};
use crate::process::repository_root;

#[derive(Debug, Deserialize)]
struct FigureTable {
    figure: Vec<DocumentedFigure>,
}

#[derive(Debug, Clone, Deserialize)]
struct DocumentedFigure {
    page: String,
    words: String,
    figure: String,
    source: String,
    constant: String,
}

/// Value of a figure such as `20,000`, `4 KiB` or `512 MiB`.
fn read_figure(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number: u64 = digits.replace(',', "").parse().ok()?;
    let unit = match unit {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    Some(number * unit)
}

/// Value of a constant: a number, a product, or a number that is shifted.
fn read_constant(code: &str, name: &str) -> Option<u64> {
    let (_, rest) = code.split_once(&format!("const {name}: "))?;
    let value = rest.split_once(" = ")?.1.split_once(';')?.0;
    value.split('*').map(read_factor).product()
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

#[test]
fn every_listed_figure_is_its_constant() {
    let table = fs::read_to_string(repository_root().join("docs/figures.toml")).unwrap();
    let table: FigureTable = toml::from_str(&table).unwrap();
    assert!(table.figure.len() > 20, "{}", table.figure.len());
    let lost: Vec<String> = table.figure.iter().filter_map(figure_problem).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

#[test]
fn a_figure_that_changed_is_found() {
    let table = fs::read_to_string(repository_root().join("docs/figures.toml")).unwrap();
    let table: FigureTable = toml::from_str(&table).unwrap();
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
